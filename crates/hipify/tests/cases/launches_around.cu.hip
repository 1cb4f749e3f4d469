// OPTIONS: hip-launches
#include <hip/hip_runtime.h>
#define FOR_EACH(T) hipLaunchKernelGGL(HIP_KERNEL_NAME(k<T, 2>), dim3(grid), dim3(block), 0, 0, static_cast<T*>(p));
#define NAMED(name, suffix) hipLaunchKernelGGL(name##suffix, dim3(1), dim3(1), 0, 0)
namespace a { namespace b { template <class T, int N> __global__ void k(T*); } }
// a::b::k<float, 1><<<1, 1>>>(p);
/* k<<<grid,
   block>>>(p); */
const char* source = R"(extern "C" __global__ void g() { hipLaunchKernelGGL(k, dim3(1), dim3(1), 0, 0, hipSuccess); })";
const char* arrow = "<<<";
void f() {
  FOR_EACH(float) NAMED(k, 1);
  hipLaunchKernelGGL(HIP_KERNEL_NAME(a::b::k<std::map<int, float>, 1>), dim3(grid.x > 1 ? grid : dim3{1, 1}), dim3(128), 0, 0, p);
  hipLaunchKernelGGL(HIP_KERNEL_NAME(::a::b::k<float, (1 << 3)>), dim3(n >> 2), dim3(1 << 5), 0, 0, p);
  hipLaunchKernelGGL(k, dim3(x, y), dim3(std::min(x, 32), 1), sizeof(T) * 4, streams[i], p[0], q->r, {1, 2});
  hipLaunchKernelGGL(k, dim3(blocks(n)), dim3([&] { return 128; }()), 0, nullptr, p);
  for (auto& s : streams) hipLaunchKernelGGL(k, dim3(1), dim3(1), 0, s, p), hipLaunchKernelGGL(k, dim3(2), dim3(2), 0, s, q);
  x = a <<< b;
}
