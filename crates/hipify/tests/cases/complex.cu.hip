#include <hip/hip_complex.h>
hipDoubleComplex f(hipFloatComplex a) {
  return hipCmul(make_hipDoubleComplex(1, 2), hipComplexFloatToDouble(a));
}
