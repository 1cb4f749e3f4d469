// OPTIONS: hip-launches
#include <cuda_runtime.h>
#define FOR_EACH(T) k<T, 2><<<grid, block>>>(static_cast<T*>(p));
#define NAMED(name, suffix) name##suffix<<<1, 1>>>()
namespace a { namespace b { template <class T, int N> __global__ void k(T*); } }
// a::b::k<float, 1><<<1, 1>>>(p);
/* k<<<grid,
   block>>>(p); */
const char* source = R"(extern "C" __global__ void g() { k<<<1, 1>>>(cudaSuccess); })";
const char* arrow = "<<<";
void f() {
  FOR_EACH(float) NAMED(k, 1);
  a::b::k<std::map<int, float>, 1><<<grid.x > 1 ? grid : dim3{1, 1}, 128>>>(p);
  ::a::b::k<float, (1 << 3)><<<n >> 2, 1 << 5>>>(p);
  k<<<dim3(x, y), dim3(std::min(x, 32), 1), sizeof(T) * 4, streams[i]>>>(p[0], q->r, {1, 2});
  k<<<blocks(n), [&] { return 128; }(), 0, nullptr>>>(p);
  for (auto& s : streams) k<<<1, 1, 0, s>>>(p), k<<<2, 2, 0, s>>>(q);
  x = a <<< b;
}
