// Device code without CUDA's header, as nvcc accepts it.
#include <vector>

namespace a {

__global__ void k() {}
}
