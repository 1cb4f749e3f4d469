#include <hip/hip_runtime.h>


int f() {
  // hipFree
  return hipDeviceSynchronize();
}
