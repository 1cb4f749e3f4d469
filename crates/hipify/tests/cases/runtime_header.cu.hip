// Device code without CUDA's header, as nvcc accepts it.
#include <vector>
#include <hip/hip_runtime.h>
namespace a {

__global__ void k() {}
}
