// OPTIONS: hip-launches
#include <hip/hip_runtime.h>
template <typename T, int N> __global__ void k(T*);
__global__ void plain();
void f() {
  hipLaunchKernelGGL(plain, dim3(1), dim3(2), 0, 0);
  hipLaunchKernelGGL(plain, dim3(1), dim3(2), 0, 0);
  hipLaunchKernelGGL(HIP_KERNEL_NAME(k<float, 4>), dim3(grid), dim3(block), 0, stream, pointer);
  hipLaunchKernelGGL(HIP_KERNEL_NAME(k<float, 4>), dim3(1, 2, 3), dim3{4, 5}, 0, 0, pointer, (a, b));
  hipLaunchKernelGGL(HIP_KERNEL_NAME(k<float, 4>), dim3(grid[0]), dim3(n == 1 ? 2 : 1), shared + 4, 0, pointer);
  k<std::pair<int, std::array<float, 3>>, (4 > 3)><<<std::max(a, b), f<int, 2>(c), size<T, 2>(), s<1, 2>>>>(pointer);
  hipLaunchKernelGGL(HIP_KERNEL_NAME(k<std::pair<int, std::array<float, 3>>, (4 > 3)>), dim3(std::max(a, b)), dim3(f<int, 2>(c)), (size<T, 2>()), (s<1, 2>()), pointer);
  hipLaunchKernelGGL(ns::inner::plain, dim3(1), dim3(2), 0, 0);
  hipLaunchKernelGGL(::plain, dim3(1), dim3(2), 0, 0);
  hipLaunchKernelGGL(object.kernel, dim3(1), dim3(2), 0, 0, x);
  hipLaunchKernelGGL(HIP_KERNEL_NAME(pointer->template kernel<int>), dim3(1), dim3(2), 0, 0, x);
  hipLaunchKernelGGL(table[i + 1], dim3(1), dim3(2), 0, 0, x);
  hipLaunchKernelGGL((*function), dim3(1), dim3(2), 0, 0, x);
  hipLaunchKernelGGL(get(1), dim3(1), dim3(2), 0, 0, x);
  if (x) hipLaunchKernelGGL(plain, dim3(1), dim3(2), 0, 0); else hipLaunchKernelGGL(plain, dim3(3), dim3(4), 0, 0);
  return hipLaunchKernelGGL(plain, dim3(1), dim3(2), 0, 0, outer(hipSuccess), [&] { hipLaunchKernelGGL(plain, dim3(3), dim3(4), 0, 0); });
}
