#include <cuda_runtime.h>
template <int N, int M> __global__ void t(int* p) { *p = N + M; }
__global__ void k(int* p) { *p = 1; }
void f(int* p, int n) {
  k << <1, 1 >> >(p);
  k << < dim3(n), 32, 0, 0 >> > (p);
  k < << 1, 32 >>>(p);
  k<<<1, 32>> >(p);
  t<1, 2> << <(n >> 1), n << 2 >> >(p);
  std::vector<std::vector<std::vector<int> > > v(n);
  std::cout << " << <1, 1>> >(" << n;
}
#define LAUNCH(p) k << <1, 1 >> >(p)
