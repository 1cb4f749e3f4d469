// Host code that nvcc accepts without a header.
#include <hip/hip_runtime.h>
#include <cstdio>

int main() {
  void* p;
  return hipMalloc(&p, 4) == hipSuccess ? 0 : 1;
}
