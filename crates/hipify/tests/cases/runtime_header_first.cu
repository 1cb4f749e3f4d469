// What is included may need HIP's header.
#include "kernels.cuh"
#include <cub/cub.cuh>

__global__ void k() {}
