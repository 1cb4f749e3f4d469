// Warp-level habits: votes, matches, shuffles of part of a warp, ordered appends, segmented sums.
#include "../core/types.cuh"
#include "../core/stamp.cuh"

namespace {
constexpr unsigned full = 0xffffffffu;
__device__ __forceinline__ unsigned lane_id() {
    unsigned lane;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
    return lane;
}
__device__ __forceinline__ unsigned lanes_before() {
    unsigned mask;
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(mask));
    return mask;
}
template <unsigned Width, typename T, typename Op> __device__ __forceinline__ T sub_warp(T v, Op op) {
    static_assert((Width & (Width - 1)) == 0 && Width <= 32);
    for (unsigned offset = Width / 2; offset; offset >>= 1)
        v = op(v, __shfl_xor_sync(full, v, offset, Width));
    return v;
}
} // namespace

// Elements that satisfy a condition go to the output, with one atomic operation per group of active lanes.
extern "C" __global__ void append_positive(const int *in, unsigned n, int *out, unsigned *count) {
    GRID_STRIDE(i, n) {
        if (in[i] > 0) {
            const unsigned active = __activemask();
            const unsigned leader = __ffs(active) - 1;
            unsigned first = 0;
            if (lane_id() == leader)
                first = atomicAdd(count, __popc(active));
            first = __shfl_sync(active, first, leader);
            out[first + __popc(active & lanes_before())] = in[i];
        }
    }
}

// The sum of equal keys in a warp, by the lowest lane of each.
extern "C" __global__ void sum_equal_keys(const int *keys, const float *values, float *sums, int *sizes) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    const int key = keys[i];
    const unsigned peers = __match_any_sync(full, key);
    const unsigned leader = __ffs(peers) - 1;
    float sum = 0.0f;
    for (unsigned left = peers; left; left &= left - 1)
        sum += __shfl_sync(peers, values[i], __ffs(left) - 1);
    if (lane_id() == leader) {
        atomicAdd(sums + key, sum);
        atomicAdd(sizes + key, __popc(peers));
    }
}

// Several reductions at once: integers with the instruction for them, floats with exchanges in sub-warps.
extern "C" __global__ void reductions(const int *in, int *out) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
    const int v = in[i];
    int *o = out + i * 12;
    o[0] = __reduce_add_sync(full, v);
    o[1] = __reduce_max_sync(full, v);
    o[2] = static_cast<int>(__reduce_or_sync(full, 1u << (v & 31)));
    o[3] = sub_warp<8>(v, [](int a, int b) { return a + b; });
    o[4] = static_cast<int>(sub_warp<16>(static_cast<double>(v), [](double a, double b) { return fmax(a, b); }));
    const half2 pair = sub_warp<4>(__floats2half2_rn(v % 8, 1.0f), [](half2 a, half2 b) { return __hadd2(a, b); });
    o[5] = static_cast<int>(__low2float(pair) * 10.0f + __high2float(pair));
    o[6] = static_cast<int>(__ballot_sync(full, v & 1));
    o[7] = __any_sync(full, v == 77) * 2 + __all_sync(full, v < 1000);
    int same = 0;
    o[8] = static_cast<int>(__match_all_sync(full, v >> 10, &same)) + 3 * same;
    // An inclusive sum.
    int sum = v;
#pragma unroll
    for (int offset = 1; offset < 32; offset *= 2) {
        const int other = __shfl_up_sync(full, sum, offset);
        if (lane >= offset)
            sum += other;
    }
    o[9] = sum;
    o[10] = static_cast<int>(__shfl_down_sync(full, static_cast<long long>(v) << 33, 7, 32) >> 33);
    o[11] = __popc(__brev(v)) + __clz(v) + __ffs(v) + static_cast<int>(__funnelshift_l(v, ~v, 5) & 15) + static_cast<int>(__byte_perm(v, 0x01020304, 0x4567) & 15);
}

// Sorts a block's numbers by their digits: a stable counting sort by votes.
template <int Bits> static __device__ void counting_sort(unsigned (&shared_)[256], unsigned (&counts)[8][1 << Bits], unsigned *data, int shift) {
    const unsigned t = threadIdx.x, lane = t % 32, warp = t / 32;
    const unsigned key = data[blockIdx.x * 256 + t], digit = key >> shift & ((1 << Bits) - 1);
    if (lane < (1 << Bits))
        counts[warp][lane] = 0;
    __syncwarp();
    unsigned peers = full;
#pragma unroll
    for (int bit = 0; bit < Bits; bit++) {
        const unsigned vote = __ballot_sync(full, digit >> bit & 1);
        peers &= digit >> bit & 1 ? vote : ~vote;
    }
    if ((peers & lanes_before()) == 0)
        counts[warp][digit] = __popc(peers);
    __syncthreads();
    unsigned before = 0;
    for (int d = 0; d < (1 << Bits); d++)
        for (unsigned w = 0; w < 8; w++)
            if (d < static_cast<int>(digit) || (d == static_cast<int>(digit) && w < warp))
                before += counts[w][d];
    shared_[before + __popc(peers & lanes_before())] = key;
    __syncthreads();
    data[blockIdx.x * 256 + t] = shared_[t];
    __syncthreads();
}
extern "C" __global__ void __launch_bounds__(256) sort_blocks(unsigned *data) {
    __shared__ unsigned shared_[256], counts[8][16];
    for (int shift = 0; shift < 32; shift += 4)
        counting_sort<4>(shared_, counts, data, shift);
}
