// OPTIONS: keep-comments
#include "mine.h"  // not cuda.h
// cudaMalloc here, <cuda_runtime.h> there \
   and cudaFree on the next line
/* cudaMemcpy(a,
   b); CUoccupancyB2DSize/ stays */
const char* a = "cudaMalloc failed: \"cudaFree\" \n cudaFree\ncudaFree";
char c = '"'; // cudaDeviceReset "
const char* d = "cudaMalloc\
cudaFree";
int separated = 1'000'000; cudaDeviceReset();
const wchar_t* e = L"cudaMalloc"; auto f = u8R"-(cudaMalloc )" cudaFree)-"; cudaDeviceReset();
#error don't use cudaMalloc
#if 0
it's cudaMalloc
#endif
const char* open = "cudaMalloc
cudaFree();
