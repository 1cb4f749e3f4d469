// CUB in a namespace of the program's, by the macro of the file, and in another by the older macros.
#define CUB_WRAPPED_NAMESPACE outer
#define CUB_NS_PREFIX namespace older {
#define CUB_NS_POSTFIX }
#include <cub/cub.cuh>

// The program adds to it.
namespace outer {
namespace cub {
struct Own {
    __device__ int operator()(int a, int b) const { return a * b; }
};
} // namespace cub
} // namespace outer

extern "C" __global__ void __launch_bounds__(64) wrapped(const int *in, int *out) {
    using Reduce = outer::cub::BlockReduce<int, 64>;
    using Scan = older::cub::BlockScan<int, 64>;
    __shared__ union {
        Reduce::TempStorage reduce;
        Scan::TempStorage scan;
    } temp;
    const int t = threadIdx.x, product = Reduce(temp.reduce).Reduce(in[t], outer::cub::Own());
    __syncthreads();
    Scan(temp.scan).InclusiveSum(in[t], out[1 + t]);
    if (t == 0)
        out[0] = product;
}
