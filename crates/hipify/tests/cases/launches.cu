// OPTIONS: hip-launches
#include <cuda_runtime.h>
template <typename T, int N> __global__ void k(T*);
__global__ void plain();
void f() {
  plain<<<1, 2>>>();
  plain <<< 1 , 2 >>> ( );
  k<float, 4><<<grid, block, 0, stream>>>(pointer);
  k<float, 4><<<dim3(1, 2, 3), dim3{4, 5}>>>(pointer, (a, b));
  k<float, 4><<<grid[0], n == 1 ? 2 : 1, shared + 4>>>(pointer);
  k<std::pair<int, std::array<float, 3>>, (4 > 3)><<<std::max(a, b), f<int, 2>(c), size<T, 2>(), s<1, 2>>>>(pointer);
  k<std::pair<int, std::array<float, 3>>, (4 > 3)><<<std::max(a, b), f<int, 2>(c), size<T, 2>(), s<1, 2>()>>>(pointer);
  ns::inner::plain<<<1, 2>>>();
  ::plain<<<1, 2>>>();
  object.kernel<<<1, 2>>>(x);
  pointer->template kernel<int><<<1, 2>>>(x);
  table[i + 1]<<<1, 2>>>(x);
  (*function)<<<1, 2>>>(x);
  get(1)<<<1, 2>>>(x);
  if (x) plain<<<1, 2>>>(); else plain<<<3, 4>>>();
  return plain<<<1, 2>>>(outer(cudaSuccess), [&] { plain<<<3, 4>>>(); });
}
