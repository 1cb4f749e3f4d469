#include <hip/hip_runtime.h>  // What is included may need HIP's header.
#include "kernels.cuh"
#include <hipcub/hipcub.hpp>

__global__ void k() {}
