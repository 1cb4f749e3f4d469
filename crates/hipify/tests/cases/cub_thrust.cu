#include <cub/cub.cuh>
#include <cub/block/block_reduce.cuh>
#include <thrust/device_vector.h>
#include <thrust/system/cuda/execution_policy.h>

using namespace cub;
namespace c = cub;
struct S { int cub; };
int f(S s) { return s.cub + mycub::x + cubic; }
void sum(void* temp, size_t& bytes, cudaStream_t stream) {
  cub::DeviceReduce::Sum(temp, bytes, in, out, n, stream);
  ::cub::CountingInputIterator<int> it(0);
  thrust::sort(thrust::cuda::par.on(stream), v.begin(), v.end());
  thrust::system::cuda::vector<int> w;
  CubDebugExit(cub::DeviceScan::ExclusiveSum(temp, bytes, in, out, n));
}
