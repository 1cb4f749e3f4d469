#include <cuda.h>
#include <cuda_runtime.h>

int f() {
  // cudaFree
  return cudaDeviceSynchronize();
}
