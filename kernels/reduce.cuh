// Shared by kernels that combine the elements of groups and rows: reductions over a workgroup of any shape, the first of the largest or
// smallest elements, and loads and stores of 16 bytes.
#pragma once
#include "common.cuh"

// The position in a workgroup of any shape, and its size.
__device__ __forceinline__ unsigned block_thread() { return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }
__device__ __forceinline__ unsigned block_threads() { return blockDim.x * blockDim.y * blockDim.z; }

// Mathematical functions by the type of their argument.
__device__ __forceinline__ float exponential(float x) { return expf(x); }
__device__ __forceinline__ double exponential(double x) { return exp(x); }
__device__ __forceinline__ float square_root(float x) { return sqrtf(x); }
__device__ __forceinline__ double square_root(double x) { return sqrt(x); }

// The neutral elements of max and min.
template <typename T> struct Limits {
    static constexpr bool is_signed = static_cast<T>(-1) < static_cast<T>(0);
    static __device__ constexpr T lowest() { return is_signed ? static_cast<T>(1ull << (8 * sizeof(T) - 1)) : static_cast<T>(0); }
    static __device__ constexpr T highest() { return static_cast<T>(~lowest()); }
};
template <> struct Limits<float> {
    static __device__ constexpr float lowest() { return -__builtin_huge_valf(); }
    static __device__ constexpr float highest() { return __builtin_huge_valf(); }
};
template <> struct Limits<double> {
    static __device__ constexpr double lowest() { return -__builtin_huge_val(); }
    static __device__ constexpr double highest() { return __builtin_huge_val(); }
};

// An element and where it is: the first of the best elements found. A NaN is never better than another.
template <typename T> struct Candidate {
    T value;
    uint32_t index;
};
struct Largest {
    template <typename T> static __device__ constexpr T neutral() { return Limits<T>::lowest(); }
    template <typename T> static __device__ __forceinline__ bool better(T a, T b) { return a > b; }
};
struct Smallest {
    template <typename T> static __device__ constexpr T neutral() { return Limits<T>::highest(); }
    template <typename T> static __device__ __forceinline__ bool better(T a, T b) { return a < b; }
};
template <typename Order> struct First {
    template <typename T> static __device__ __forceinline__ Candidate<T> apply(Candidate<T> a, Candidate<T> b) {
        return Order::better(b.value, a.value) || (b.value == a.value && b.index < a.index) ? b : a;
    }
};

// The value of lane `lane ^ mask`.
template <typename T> __device__ __forceinline__ T from_lane_xor(T x, int mask) { return __shfl_xor_sync(0xffffffffu, x, mask); }
template <typename T> __device__ __forceinline__ Candidate<T> from_lane_xor(Candidate<T> x, int mask) {
    return {from_lane_xor(x.value, mask), from_lane_xor(x.index, mask)};
}
template <typename T> __device__ __forceinline__ T from_first_lane(T x) { return __shfl_sync(0xffffffffu, x, 0); }
template <typename T> __device__ __forceinline__ Candidate<T> from_first_lane(Candidate<T> x) {
    return {from_first_lane(x.value), from_first_lane(x.index)};
}

// Combines `x` over all lanes of the warp, in the order of a butterfly; every lane receives the result.
template <typename Op, typename T> __device__ __forceinline__ T warp_reduce(T x) {
    for (int mask = warpSize / 2; mask > 0; mask /= 2)
        x = Op::apply(x, from_lane_xor(x, mask));
    return x;
}

// Combines `x` over the first `lanes` lanes of the warp; every lane receives the first one's result.
template <typename Op, typename T> __device__ __forceinline__ T warp_combine(T x, unsigned lanes) {
    const unsigned lane = block_thread() % warpSize;
#pragma unroll 1
    for (int mask = warpSize / 2; mask > 0; mask /= 2) {
        const T other = from_lane_xor(x, mask);
        if ((lane ^ mask) < lanes)
            x = Op::apply(x, other);
    }
    return from_first_lane(x);
}

// Combines `x` over a workgroup of any shape and up to MAX_BLOCK threads; every thread receives the same result. May be called repeatedly.
template <typename Op, typename T> __device__ __forceinline__ T block_combine(T x) {
    __shared__ T partial[MAX_WARPS];
    const unsigned threads = block_threads(), lane = block_thread() % warpSize, warp = block_thread() / warpSize;
    const unsigned in_warp = threads - warp * warpSize;
    x = warp_combine<Op>(x, in_warp < warpSize ? in_warp : warpSize);
    if (threads <= warpSize)
        return x;
    __syncthreads(); // a previous call's readers are done
    if (lane == 0)
        partial[warp] = x;
    __syncthreads();
    if (warp == 0) {
        const unsigned warps = (threads + warpSize - 1) / warpSize;
        x = warp_combine<Op>(partial[lane < warps ? lane : 0], warps);
        if (lane == 0)
            partial[0] = x;
    }
    __syncthreads();
    return partial[0];
}

// The elements that fit into 16 bytes.
template <typename T> constexpr unsigned PACK = 16 / sizeof(T);
template <typename T> struct alignas(16) Pack {
    T at[PACK<T>];
};
// Whether a pack can be accessed as a whole at an address (null counts as aligned).
template <typename T> __device__ __forceinline__ bool is_wide(const T *p) { return reinterpret_cast<size_t>(p) % 16 == 0; }

template <typename T> __device__ __forceinline__ const Pack<T> &pack_at(const T *p) { return *reinterpret_cast<const Pack<T> *>(p); }
template <typename T> __device__ __forceinline__ Pack<T> &pack_at(T *p) { return *reinterpret_cast<Pack<T> *>(p); }

// Calls `packs(i)` for packs of a row of `n` elements and `single(i)` for elements, each for this thread's share: first all packs if
// `wide`, then the remaining elements.
template <typename T, typename P, typename S> __device__ __forceinline__ void split_row(size_t n, bool wide, P packs, S single) {
    const size_t in_packs = wide ? n / PACK<T> * PACK<T> : 0;
    for (size_t i = static_cast<size_t>(block_thread()) * PACK<T>; i < in_packs; i += static_cast<size_t>(block_threads()) * PACK<T>)
        packs(i);
    for (size_t i = in_packs + block_thread(); i < n; i += block_threads())
        single(i);
}

// Calls `f(i, x[i])` for this thread's elements of a row.
template <typename T, typename F> __device__ __forceinline__ void for_each_in_row(const T *x, size_t n, F f) {
    const auto packs = [&](size_t i) {
        const Pack<T> pack = pack_at(x + i);
#pragma unroll
        for (unsigned j = 0; j < PACK<T>; ++j)
            f(i + j, load(&pack.at[j]));
    };
    split_row<T>(n, is_wide(x), packs, [&](size_t i) { f(i, load(x + i)); });
}

// y[i] = f(i, x[i]) for this thread's elements of a row.
template <typename T, typename F> __device__ __forceinline__ void map_row(const T *x, T *y, size_t n, F f) {
    const auto packs = [&](size_t i) {
        Pack<T> pack = pack_at(x + i);
#pragma unroll
        for (unsigned j = 0; j < PACK<T>; ++j)
            pack.at[j] = convert<T>(f(i + j, load(&pack.at[j])));
        pack_at(y + i) = pack;
    };
    split_row<T>(n, is_wide(x) && is_wide(y), packs, [&](size_t i) { y[i] = convert<T>(f(i, load(x + i))); });
}
