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

constexpr unsigned WARP = 32;
// Steps of a sum over a warp that are one piece of code.
constexpr int WARP_STEPS = NVIDIA ? 5 : 1;

// The value that lane `lane ^ mask` has.
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
#pragma unroll
    for (int mask = WARP / 2; mask > 0; mask /= 2)
        x = Op::apply(x, from_lane_xor(x, mask));
    return x;
}

// Combines `x` over the first `lanes` lanes of the warp; every lane receives the first one's result.
template <typename Op, typename T> __device__ __forceinline__ T warp_combine(T x, unsigned lanes) {
    const unsigned lane = block_thread() % WARP;
#pragma unroll WARP_STEPS
    for (int mask = WARP / 2; mask > 0; mask /= 2) {
        const T other = from_lane_xor(x, mask);
        if ((lane ^ mask) < lanes)
            x = Op::apply(x, other);
    }
    return from_first_lane(x);
}

// Combines `x` over a workgroup of any shape and up to MAX_BLOCK threads; every thread receives the same result. May be called repeatedly.
template <typename Op, typename T> __device__ __forceinline__ T block_combine(T x) {
    __shared__ T partial[MAX_WARPS];
    const unsigned threads = block_threads(), lane = block_thread() % WARP, warp = block_thread() / WARP;
    const unsigned in_warp = threads - warp * WARP, warps = (threads + WARP - 1) / WARP;
    if (NVIDIA && threads % WARP == 0)
        x = warp_reduce<Op>(x);
    else
        x = warp_combine<Op>(x, in_warp < WARP ? in_warp : WARP);
    if (threads <= WARP)
        return NVIDIA ? from_first_lane(x) : x;
    __syncthreads(); // a previous call's readers are done
    if (lane == 0)
        partial[warp] = x;
    __syncthreads();
    if (NVIDIA) // every warp combines them, and none waits for the first
        return warp_combine<Op>(partial[lane < warps ? lane : 0], warps);
    if (warp == 0) {
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

// As one access: NVIDIA's compiler makes several of an assignment in a loop. What is read again soon stays in the L2 cache rather than this.
template <typename T> __device__ __forceinline__ void store_pack(T *p, const Pack<T> &pack) {
#if defined(__CUDA_ARCH__) && !defined(__AMDGCN__)
    uint4 words;
    memcpy(&words, &pack, sizeof words);
    asm volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(p)), "r"(words.x), "r"(words.y), "r"(words.z),
                 "r"(words.w)
                 : "memory");
#else
    pack_at(p) = pack;
#endif
}

// Calls `packs(i)` for packs of a row of `n` elements and `single(i)` for elements, each for what is this thread's: packs first, as many as
// there are if `wide`, then the rest.
template <typename T, typename P, typename S> __device__ __forceinline__ void split_row(size_t n, bool wide, P packs, S single) {
    const size_t in_packs = wide ? n / PACK<T> * PACK<T> : 0;
    for (size_t i = static_cast<size_t>(block_thread()) * PACK<T>; i < in_packs; i += static_cast<size_t>(block_threads()) * PACK<T>)
        packs(i);
    for (size_t i = in_packs + block_thread(); i < n; i += block_threads())
        single(i);
}

// Calls `f(i, pack at x + i)` for the packs of `n` elements that are this thread's, of which AHEAD are on the way at a time. With ONCE, nobody
// reads them again soon.
template <unsigned AHEAD, bool ONCE, typename T, typename F> __device__ __forceinline__ void packs_ahead(const T *x, size_t n, F f) {
    constexpr unsigned SPAN = 1u << 30; // what is counted in 32 bits
    const unsigned step = block_threads() * PACK<T>;
#pragma unroll 1
    for (size_t begin = 0; begin < n; begin += SPAN) {
        const unsigned end = n - begin < SPAN ? static_cast<unsigned>(n - begin) : SPAN;
        const T *at = x + begin;
#pragma unroll 1
        for (unsigned first = block_thread() * PACK<T>; first < end; first += AHEAD * step) {
            Pack<T> packs[AHEAD];
#pragma unroll
            for (unsigned k = 0; k < AHEAD; ++k)
                if (first + k * step < end) {
                    const Pack<T> *pack = &pack_at(at + (first + k * step));
                    packs[k] = ONCE ? load_once(pack) : *pack;
                }
#pragma unroll
            for (unsigned k = 0; k < AHEAD; ++k)
                if (first + k * step < end)
                    f(begin + (first + k * step), packs[k]);
        }
    }
}

// Calls `f(i, x[i])` for the elements of a row that are this thread's.
template <bool ONCE = false, typename T, typename F> __device__ __forceinline__ void for_each_in_row(const T *x, size_t n, F f) {
    const size_t in_packs = is_wide(x) ? n / PACK<T> * PACK<T> : 0;
    packs_ahead<ONCE ? 4 : 2, ONCE>(x, in_packs, [&](size_t i, const Pack<T> &pack) {
#pragma unroll
        for (unsigned j = 0; j < PACK<T>; ++j)
            f(i + j, load(&pack.at[j]));
    });
    for (size_t i = in_packs + block_thread(); i < n; i += block_threads())
        f(i, load(x + i));
}

// y[i] = f(i, x[i]) for this thread's elements of a row, which on NVIDIA are not kept in the cache for later.
template <typename T, typename F> __device__ __forceinline__ void map_row(const T *x, T *y, size_t n, F f) {
    const size_t in_packs = is_wide(x) && is_wide(y) ? n / PACK<T> * PACK<T> : 0;
    packs_ahead<2, NVIDIA>(x, in_packs, [&](size_t i, Pack<T> &pack) {
#pragma unroll
        for (unsigned j = 0; j < PACK<T>; ++j)
            pack.at[j] = convert<T>(f(i + j, load(&pack.at[j])));
        store_pack(y + i, pack);
    });
    for (size_t i = in_packs + block_thread(); i < n; i += block_threads())
        y[i] = convert<T>(f(i, load(x + i)));
}

// Numbers that belong to the elements of a row, such as those by which they are multiplied; the neutral one, where there are none. As one of the
// operands of a row's passes: `at(i)` is one number, `several(k, i)` those of the thread's pack `k`, which begins at `i`.
template <typename T> struct Weights {
    const T *p;
    compute_t<T> neutral;

    __device__ __forceinline__ compute_t<T> at(size_t i) const { return p ? load(p + i) : neutral; }
    // As many as a pack has.
    struct Several {
        compute_t<T> at[PACK<T>];
    };
    __device__ __forceinline__ Several several(unsigned, size_t i) const {
        Several found;
        if (p && is_wide(p)) {
            const Pack<T> pack = pack_at(p + i);
#pragma unroll
            for (unsigned j = 0; j < PACK<T>; ++j)
                found.at[j] = load(&pack.at[j]);
        } else {
#pragma unroll
            for (unsigned j = 0; j < PACK<T>; ++j)
                found.at[j] = at(i + j);
        }
        return found;
    }
};

// The positions of the elements of a row, as an operand.
template <typename T> struct Positions {
    __device__ __forceinline__ size_t at(size_t i) const { return i; }
    struct Several {
        size_t at[PACK<T>];
    };
    __device__ __forceinline__ Several several(unsigned, size_t i) const {
        Several found;
#pragma unroll
        for (unsigned j = 0; j < PACK<T>; ++j)
            found.at[j] = i + j;
        return found;
    }
};

// A row that is read again for each pass over it.
template <typename T> struct RowInMemory {
    static constexpr bool KEPT = false, IN_REGISTERS = false;
    const T *x;
    T *y;
    size_t n;

    __device__ __forceinline__ compute_t<T> at(size_t i) const { return load(x + i); }
    // Calls `f(i, x[i], operands of i)` for the elements that are this thread's.
    template <typename F, typename... W> __device__ __forceinline__ void for_each(F f, W... operands) const {
        for_each_in_row(x, n, [=, &f](size_t i, compute_t<T> value) { f(i, value, operands.at(i)...); });
    }
    // y[i] = f(x[i], operands of i) for these.
    template <typename F, typename... W> __device__ __forceinline__ void map(F f, W... operands) const {
        map_row(x, y, n, [=](size_t i, compute_t<T> value) { return f(value, operands.at(i)...); });
    }
};

// A row of which each thread has up to COUNT packs in registers; as numbers of the type that is computed in, if these are not too many.
template <typename T, unsigned COUNT> struct RowInRegisters {
    static constexpr bool IN_REGISTERS = true;
    static constexpr bool KEPT = COUNT * PACK<T> * sizeof(compute_t<T>) <= 64;
    alignas(16) std::conditional_t<KEPT, compute_t<T>, T> values[COUNT][PACK<T>];
    T *y;
    unsigned n, first, step;

    __device__ __forceinline__ RowInRegisters(const T *x, T *y, unsigned n)
        : y(y), n(n), first(block_thread() * PACK<T>), step(block_threads() * PACK<T>) {
        Pack<T> packs[COUNT];
#pragma unroll
        for (unsigned k = 0; k < COUNT; ++k)
            if (first + k * step < n)
                packs[k] = pack_at(x + first + k * step);
#pragma unroll
        for (unsigned k = 0; k < COUNT; ++k)
#pragma unroll
            for (unsigned j = 0; j < PACK<T>; ++j)
                if constexpr (KEPT)
                    values[k][j] = load(&packs[k].at[j]);
                else
                    values[k][j] = packs[k].at[j];
    }
    struct Several {
        compute_t<T> at[PACK<T>];
    };
    __device__ __forceinline__ Several several(unsigned k, size_t) const {
        Several found;
#pragma unroll
        for (unsigned j = 0; j < PACK<T>; ++j)
            found.at[j] = convert<compute_t<T>>(values[k][j]);
        return found;
    }
    template <typename F, typename... W> __device__ __forceinline__ void each_of_pack(unsigned k, F f, const W &...operands) {
#pragma unroll
        for (unsigned j = 0; j < PACK<T>; ++j) {
            if constexpr (KEPT)
                f(first + k * step + j, values[k][j], operands.at[j]...);
            else
                f(first + k * step + j, load(&values[k][j]), operands.at[j]...);
        }
    }
    template <typename F, typename... W> __device__ __forceinline__ void map_pack(unsigned k, F f, const W &...operands) {
        Pack<T> pack;
#pragma unroll
        for (unsigned j = 0; j < PACK<T>; ++j)
            pack.at[j] = convert<T>(f(convert<compute_t<T>>(values[k][j]), operands.at[j]...));
        pack_at(y + first + k * step) = pack;
    }
    __device__ __forceinline__ void convert_again() {
#if defined(__CUDA_ARCH__) && !defined(__AMDGCN__)
        for (auto &pack : values) {
            uint4 &words = reinterpret_cast<uint4 &>(pack);
            asm volatile("" : "+r"(words.x), "+r"(words.y), "+r"(words.z), "+r"(words.w));
        }
#endif
    }
    template <typename F, typename... W> __device__ __forceinline__ void for_each(F f, W... operands) {
        if constexpr (!KEPT) // else the compiler would keep what they are converted to
            convert_again();
#pragma unroll
        for (unsigned k = 0; k < COUNT; ++k)
            if (first + k * step < n)
                each_of_pack(k, f, operands.several(k, first + k * step)...);
    }
    template <typename F, typename... W> __device__ __forceinline__ void map(F f, W... operands) {
        if constexpr (!KEPT)
            convert_again();
#pragma unroll
        for (unsigned k = 0; k < COUNT; ++k)
            if (first + k * step < n)
                map_pack(k, f, operands.several(k, first + k * step)...);
    }
};

// Calls `f` with a row: in registers if it fits, so that it is read once, and all of it at once. Not if other operands are not `wide`.
template <typename T, typename F> __device__ __forceinline__ void with_row(const T *x, T *y, size_t n, F f, bool wide = true) {
    constexpr unsigned MOST = 4;
    const size_t step = static_cast<size_t>(block_threads()) * PACK<T>;
    if (wide && n % PACK<T> == 0 && n <= MOST * step && is_wide(x) && is_wide(y)) {
        // AMD's targets have one piece of code for all rows that fit.
        if (NVIDIA && n <= step)
            return f(RowInRegisters<T, 1>(x, y, n));
        if (NVIDIA && n <= 2 * step)
            return f(RowInRegisters<T, 2>(x, y, n));
        return f(RowInRegisters<T, MOST>(x, y, n));
    }
    f(RowInMemory<T>{x, y, n});
}

// The same with two rows, of which the second one is an operand of the first one's passes.
template <typename T, typename F> __device__ __forceinline__ void with_rows(const T *x, const T *other, T *y, size_t n, F f) {
    const auto both = [=](auto row) {
        if constexpr (row.IN_REGISTERS)
            f(row, decltype(row)(other, nullptr, static_cast<unsigned>(n)));
        else
            f(row, RowInMemory<T>{other, nullptr, n});
    };
    with_row(x, y, n, both, is_wide(other));
}
