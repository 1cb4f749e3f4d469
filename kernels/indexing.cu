// Selection, gathering, scattering and addition by index along one dimension. Tensors are contiguous, seen as left × dimension × right.
//
// The largest value of the index type means "no index": reads give zero, writes are left out. Any other index outside the dimension ends
// the kernel with a trap.
//
// Scattering and adding use a thread for each (left, right), which walks along the dimension in order. So the result does not depend
// on scheduling: of equal indices, the last one wins, and sums are computed in order, each rounded to the element type.
#include "elementwise.cuh"

template <typename I> constexpr I NONE = static_cast<I>(~uint64_t(0) >> (64 - 8 * sizeof(I) + std::is_signed_v<I>));

// The index as a number below `limit`.
template <typename I> __device__ __forceinline__ size_t checked(I index, size_t limit) {
    const size_t position = static_cast<size_t>(index); // negative ones are too large
    if (position >= limit)
        __trap();
    return position;
}

// out[l, i, r] = inp[l, ids[i], r]; `info` is the layout of `ids`.
template <typename I, typename T>
__device__ __forceinline__ void index_select(size_t numel, const Layout &layout, const I *ids, const T *inp, T *out, size_t source_size, size_t ids_size,
                                             size_t right_size) {
    FOR_EACH_ELEMENT(i, numel) {
        const Division right = divide(i, right_size), at = divide(right.quotient, ids_size);
        const I id = ids[layout.offset(at.remainder)];
        out[i] = id == NONE<I> ? T() : inp[(at.quotient * source_size + checked(id, source_size)) * right_size + right.remainder];
    }
}
// Rows that consist of whole 16-byte units, such as those of an embedding, are copied in such units.
template <typename I, typename T>
__device__ __forceinline__ void select_rows(size_t numel, const Layout &layout, const I *__restrict__ ids, const T *__restrict__ inp, T *__restrict__ out,
                                            size_t source_size, size_t ids_size, size_t right_size) {
    constexpr unsigned N = 16 / sizeof(T);
    if (right_size % N == 0 && Lanes<T, N>::aligned(inp) && Lanes<T, N>::aligned(out))
        index_select(numel / N, layout, ids, reinterpret_cast<const uint4 *>(inp), reinterpret_cast<uint4 *>(out), source_size, ids_size,
                     right_size / N);
    else
        index_select(numel, layout, ids, inp, out, source_size, ids_size, right_size);
}
#define INDEX_SELECT(I, T, NAME)                                                                                       \
    extern "C" __global__ void is_##NAME(const size_t numel, const size_t num_dims, const size_t *__restrict__ info, const I *ids, \
                                         const T *inp, T *out, const size_t left_size, const size_t src_dim_size,      \
                                         const size_t ids_dim_size, const size_t right_size) {                         \
        select_rows(numel, Layout(num_dims, info), ids, bits(inp), bits(out), src_dim_size, ids_dim_size, right_size); \
    }

// out[l, i, r] = inp[l, ids[l, i, r], r]
template <typename I, typename T>
__device__ __forceinline__ void gather(size_t numel, const I *__restrict__ ids, const T *__restrict__ inp, T *__restrict__ out, size_t source_size,
                                       size_t ids_size, size_t right_size) {
    FOR_EACH_ELEMENT(i, numel) {
        const Division right = divide(i, right_size);
        const size_t left = divide(right.quotient, ids_size).quotient;
        const I id = ids[i];
        out[i] = id == NONE<I> ? T() : inp[(left * source_size + checked(id, source_size)) * right_size + right.remainder];
    }
}
#define GATHER(I, T, NAME)                                                                                             \
    extern "C" __global__ void gather_##NAME(const size_t numel, const I *ids, const T *inp, T *out, const size_t left_size, \
                                             const size_t src_dim_size, const size_t ids_dim_size, const size_t right_size) { \
        gather(numel, ids, bits(inp), bits(out), src_dim_size, ids_dim_size, right_size);                              \
    }

// Combines inp[l, j, r] into out[l, index(j), r] with `op`, for each j in order. The index is ids[j], or ids[l, j, r].
template <bool SHARED_IDS, typename I, typename T, typename Op>
__device__ __forceinline__ void scatter(const I *__restrict__ ids, const T *__restrict__ inp, T *__restrict__ out, size_t left_size, size_t source_size,
                                        size_t target_size, size_t right_size, Op op) {
    FOR_EACH_ELEMENT(i, left_size *right_size) {
        const Division at = divide(i, right_size);
        size_t from = at.quotient * source_size * right_size + at.remainder;
        T *const to = out + at.quotient * target_size * right_size + at.remainder;
#pragma unroll 1
        for (size_t j = 0; j < source_size; ++j, from += right_size) {
            const I id = ids[SHARED_IDS ? j : from];
            if (id != NONE<I>) {
                T *const element = to + checked(id, target_size) * right_size;
                *element = op(*element, inp[from]);
            }
        }
    }
}
struct Replace {
    template <typename T> __device__ __forceinline__ T operator()(T, T x) const { return x; }
};
struct Accumulate {
    template <typename T> __device__ __forceinline__ T operator()(T sum, T x) const {
        return convert<T>(Add::apply(convert<compute_t<T>>(sum), convert<compute_t<T>>(x)));
    }
};
#define SCATTER(I, T, NAME)                                                                                            \
    extern "C" __global__ void s_##NAME(const I *ids, const T *inp, T *out, const size_t left_size, const size_t src_dim_size, \
                                        const size_t dst_dim_size, const size_t right_size) {                          \
        scatter<false>(ids, bits(inp), bits(out), left_size, src_dim_size, dst_dim_size, right_size, Replace());       \
    }
#define SCATTER_ADD(I, T, NAME)                                                                                        \
    extern "C" __global__ void sa_##NAME(const I *ids, const T *inp, T *out, const size_t left_size, const size_t src_dim_size, \
                                         const size_t dst_dim_size, const size_t right_size) {                         \
        scatter<false>(ids, inp, out, left_size, src_dim_size, dst_dim_size, right_size, Accumulate());                \
    }
#define INDEX_ADD(I, T, NAME)                                                                                          \
    extern "C" __global__ void ia_##NAME(const I *ids, const size_t ids_dim_size, const T *inp, T *out, const size_t left_size, \
                                         const size_t src_dim_size, const size_t dst_dim_size, const size_t right_size) { \
        scatter<true>(ids, inp, out, left_size, ids_dim_size, dst_dim_size, right_size, Accumulate());                 \
    }

#define READS(I, T, NAME) INDEX_SELECT(I, T, NAME) GATHER(I, T, NAME)
#define ADDITIONS(I, T, NAME) SCATTER_ADD(I, T, NAME) INDEX_ADD(I, T, NAME)
#define ALL(I, T, NAME) READS(I, T, NAME) SCATTER(I, T, NAME) ADDITIONS(I, T, NAME)
#define ALL_TYPES(I, NAME)                                                                                             \
    ALL(I, float, NAME##_f32)                                                                                          \
    ALL(I, double, NAME##_f64)                                                                                         \
    ALL(I, __half, NAME##_f16)                                                                                         \
    ALL(I, __nv_bfloat16, NAME##_bf16)                                                                                 \
    ALL(I, f8_e4m3, NAME##_f8_e4m3)                                                                                    \
    ALL(I, uint8_t, NAME##_u8)                                                                                         \
    ALL(I, uint32_t, NAME##_u32)                                                                                       \
    ALL(I, int64_t, NAME##_i64)
ALL_TYPES(int64_t, i64)
ALL_TYPES(uint32_t, u32)
ALL_TYPES(uint8_t, u8)
READS(int16_t, f8_e4m3, i16_f8_e4m3)
READS(int32_t, f8_e4m3, i32_f8_e4m3)
ADDITIONS(int16_t, f8_e4m3, i16_f8_e4m3)
ADDITIONS(int32_t, f8_e4m3, i32_f8_e4m3)
