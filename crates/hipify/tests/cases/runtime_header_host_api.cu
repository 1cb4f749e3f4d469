
#include "cuda_runtime_api.h"
int main() { return cudaDeviceSynchronize(); }
