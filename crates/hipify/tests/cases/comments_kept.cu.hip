// OPTIONS: keep-comments
#include "mine.h"  // not cuda.h
// cudaMalloc here, <cuda_runtime.h> there \
   and cudaFree on the next line
/* cudaMemcpy(a,
   b); CUoccupancyB2DSize/ stays */
const char* a = "hipMalloc failed: \"hipFree\" \n hipFree\nhipFree";
char c = '"'; // cudaDeviceReset "
const char* d = "hipMalloc\
hipFree";
int separated = 1'000'000; hipDeviceReset();
const wchar_t* e = L"hipMalloc"; auto f = u8R"-(hipMalloc )" hipFree)-"; hipDeviceReset();
#error don't use hipMalloc
#if 0
it's hipMalloc
#endif
const char* open = "hipMalloc
hipFree();
