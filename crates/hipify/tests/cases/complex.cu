#include <cuComplex.h>
cuDoubleComplex f(cuFloatComplex a) {
  return cuCmul(make_cuDoubleComplex(1, 2), cuComplexFloatToDouble(a));
}
