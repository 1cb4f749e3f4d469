#include <hipcub/hipcub.hpp>
#include <hip/hip_runtime.h>
#include <thrust/device_vector.h>
#include <thrust/system/hip/execution_policy.h>

using namespace hipcub;
namespace c = hipcub;
struct S { int cub; };
int f(S s) { return s.cub + mycub::x + cubic; }
void sum(void* temp, size_t& bytes, hipStream_t stream) {
  hipcub::DeviceReduce::Sum(temp, bytes, in, out, n, stream);
  ::hipcub::CountingInputIterator<int> it(0);
  thrust::sort(thrust::hip::par.on(stream), v.begin(), v.end());
  thrust::system::hip::vector<int> w;
  CubDebugExit(hipcub::DeviceScan::ExclusiveSum(temp, bytes, in, out, n));
}
