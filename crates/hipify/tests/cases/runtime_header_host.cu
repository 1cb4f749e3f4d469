// Host code that nvcc accepts without a header.

#include <cstdio>

int main() {
  void* p;
  return cudaMalloc(&p, 4) == cudaSuccess ? 0 : 1;
}
