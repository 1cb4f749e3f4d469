// CUDA's <mma.h> for AMD targets: nvcuda::wmma's fragments of a warp of 32 lanes, with matrix instructions where they fit.
//
// A lane has a whole row of A, a whole column of B, and a part of a column of the accumulator (shape 32x8: of a row). Programs
// may change `x[0..num_elements)` one by one, as in CUDA, and must not assume which matrix element each one is.
//
// The matrix instructions round like their target: gfx11's sums of f16 and bf16 may be off by one unit in the last place even if
// the sum is a small integer. FERROCM_NO_WMMA disables them and uses f32 multiply-adds instead.
#pragma once
#define __CUDA_MMA_H__
#include "ferrocm_letters_begin.h"
#include "cuda_runtime.h"
#include "cuda_fp16.h"
#include "cuda_bf16.h"

#define __CUDA_MMA_INLINE static __device__ __attribute__((always_inline, unused)) inline

// The available matrix instructions: gfx11's, gfx12's, or those of gfx90a and newer with waves of 64.
#if defined(__HIP_DEVICE_COMPILE__) && !defined(FERROCM_NO_WMMA)
#if defined(__GFX11__) && __has_builtin(__builtin_amdgcn_wmma_f32_16x16x16_f16_w32)
#define __CUDA_MMA_GFX11 1
#elif defined(__GFX12__) && __has_builtin(__builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12)
#define __CUDA_MMA_GFX12 1
#elif defined(__GFX9__) && __has_builtin(__builtin_amdgcn_mfma_f32_16x16x16bf16_1k)
#define __CUDA_MMA_GFX9 1
#endif
#endif

namespace nvcuda {
namespace wmma {
struct row_major {};
struct col_major {};
struct matrix_a {};
struct matrix_b {};
struct accumulator {};
enum layout_t { mem_row_major, mem_col_major };

namespace precision {
// A float with ten bits of mantissa.
struct tf32 {};
} // namespace precision

// Rounds to ten bits of mantissa, ties away from zero. The other bits become 0.
static __host__ __device__ __attribute__((always_inline, unused)) inline float __float_to_tf32(float value) {
    unsigned bits;
    __builtin_memcpy(&bits, &value, 4);
    if ((bits & 0x7f800000u) != 0x7f800000u)
        bits = (bits + 0x1000u) & 0xffffe000u;
    __builtin_memcpy(&value, &bits, 4);
    return value;
}

namespace __cuda_mma {
template <typename T> struct storage { typedef T type; };
template <> struct storage<precision::tf32> { typedef float type; };

// The types whose products accumulate in f32, and those that accumulate in i32.
template <typename T> struct kind { static constexpr bool matrix = false; };
template <> struct kind<__half> { static constexpr bool matrix = true; };
template <> struct kind<__nv_bfloat16> { static constexpr bool matrix = true; };
template <> struct kind<signed char> { static constexpr bool matrix = true; };
template <> struct kind<unsigned char> { static constexpr bool matrix = true; };

template <typename T> struct sum { typedef float type; };
template <> struct sum<signed char> { typedef int type; };
template <> struct sum<unsigned char> { typedef int type; };
template <> struct sum<double> { typedef double type; };

template <typename To, typename From> struct convert {
    static __device__ __attribute__((always_inline)) To from(const From &value) { return static_cast<To>(value); }
};
template <typename T> struct convert<T, T> {
    static __device__ __attribute__((always_inline)) T from(const T &value) { return value; }
};
template <> struct convert<float, __half> {
    static __device__ __attribute__((always_inline)) float from(const __half &value) { return __half2float(value); }
};
template <> struct convert<float, __nv_bfloat16> {
    static __device__ __attribute__((always_inline)) float from(const __nv_bfloat16 &value) { return __bfloat162float(value); }
};
template <typename From> struct convert<__half, From> {
    static __device__ __attribute__((always_inline)) __half from(const From &value) { return __float2half(static_cast<float>(value)); }
};
template <> struct convert<__half, __half> {
    static __device__ __attribute__((always_inline)) __half from(const __half &value) { return value; }
};
template <typename From> struct convert<__nv_bfloat16, From> {
    static __device__ __attribute__((always_inline)) __nv_bfloat16 from(const From &value) {
        return __float2bfloat16(static_cast<float>(value));
    }
};
template <> struct convert<__nv_bfloat16, __nv_bfloat16> {
    static __device__ __attribute__((always_inline)) __nv_bfloat16 from(const __nv_bfloat16 &value) { return value; }
};

// The row of A or column of B that a lane has. Some instructions distribute the rows of their result over the lanes in their own way.
// The left operand's rows are then permuted to compensate, so that the accumulator's elements have the same rows on
// every target. `Left` is the left operand of the instruction, which is B for the shape 32x8.
template <int Lines, bool Left, typename T> __CUDA_MMA_INLINE unsigned line_of(unsigned lane) {
#if defined(__CUDA_MMA_GFX11)
    if (Left && kind<T>::matrix && Lines == 16)
        return ((lane & 15u) >> 1) | (lane & 1u) << 3;
    if (Left && kind<T>::matrix && Lines == 8)
        return (lane & 15u) >> 1;
#elif defined(__CUDA_MMA_GFX9)
    if (Left && kind<T>::matrix && Lines == 16)
        return (lane & 3u) | (lane & 4u) << 1 | (lane & 8u) >> 1;
#endif
    return lane & (Lines - 1u);
}
// The first lane with it.
template <int Lines, bool Left, typename T> __CUDA_MMA_INLINE unsigned lane_of(unsigned line) {
#if defined(__CUDA_MMA_GFX11)
    if (Left && kind<T>::matrix && Lines == 16)
        return (line & 7u) << 1 | line >> 3;
    if (Left && kind<T>::matrix && Lines == 8)
        return line << 1;
#elif defined(__CUDA_MMA_GFX9)
    if (Left && kind<T>::matrix && Lines == 16)
        return (line & 3u) | (line & 4u) << 1 | (line & 8u) >> 1;
#endif
    return line;
}

// A line of K elements as words.
template <typename T, int K> struct line {
    static constexpr unsigned count = K * sizeof(T) / 4;
    int word[count];
    __device__ __attribute__((always_inline)) explicit line(const T (&x)[K]) {
        __builtin_memcpy(static_cast<void *>(word), static_cast<const void *>(x), sizeof(word));
    }
    __device__ __attribute__((always_inline)) line() {}
    __device__ __attribute__((always_inline)) line of_lane(unsigned lane) const {
        line result;
        for (unsigned i = 0; i < count; i++)
            result.word[i] = __builtin_amdgcn_ds_bpermute(static_cast<int>(((__lane_id() & 32u) + lane) << 2), word[i]);
        return result;
    }
    __device__ __attribute__((always_inline)) void get(T (&x)[K]) const {
        __builtin_memcpy(static_cast<void *>(x), static_cast<const void *>(word), sizeof(word));
    }
};

typedef float float4v __attribute__((ext_vector_type(4)));
typedef float float8v __attribute__((ext_vector_type(8)));
typedef int int2v __attribute__((ext_vector_type(2)));
typedef int int4v __attribute__((ext_vector_type(4)));
typedef int int8v __attribute__((ext_vector_type(8)));
typedef _Float16 half4v __attribute__((ext_vector_type(4)));
typedef _Float16 half8v __attribute__((ext_vector_type(8)));
typedef _Float16 half16v __attribute__((ext_vector_type(16)));
typedef short short4v __attribute__((ext_vector_type(4)));
typedef short short8v __attribute__((ext_vector_type(8)));
typedef short short16v __attribute__((ext_vector_type(16)));

// A 16x16x16 product by an instruction: a lane's part of the operands has `Words` words.
template <typename Vector, int Words> __CUDA_MMA_INLINE Vector as_vector(const int (&words)[Words]) {
    Vector result;
    static_assert(sizeof(result) == sizeof(words), "");
    __builtin_memcpy(&result, words, sizeof(result));
    return result;
}
template <typename T> struct instruction;
#if defined(__CUDA_MMA_GFX11)
template <> struct instruction<__half> {
    static __device__ __attribute__((always_inline)) float8v apply(const int (&a)[8], const int (&b)[8], float8v c) {
        return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(as_vector<half16v>(a), as_vector<half16v>(b), c);
    }
};
template <> struct instruction<__nv_bfloat16> {
    static __device__ __attribute__((always_inline)) float8v apply(const int (&a)[8], const int (&b)[8], float8v c) {
        return __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(as_vector<short16v>(a), as_vector<short16v>(b), c);
    }
};
template <> struct instruction<signed char> {
    static __device__ __attribute__((always_inline)) int8v apply(const int (&a)[4], const int (&b)[4], int8v c) {
        return __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, as_vector<int4v>(a), true, as_vector<int4v>(b), c, false);
    }
};
template <> struct instruction<unsigned char> {
    static __device__ __attribute__((always_inline)) int8v apply(const int (&a)[4], const int (&b)[4], int8v c) {
        return __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(false, as_vector<int4v>(a), false, as_vector<int4v>(b), c, false);
    }
};
#elif defined(__CUDA_MMA_GFX12)
template <> struct instruction<__half> {
    static __device__ __attribute__((always_inline)) float8v apply(const int (&a)[4], const int (&b)[4], float8v c) {
        return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(as_vector<half8v>(a), as_vector<half8v>(b), c);
    }
};
template <> struct instruction<__nv_bfloat16> {
    static __device__ __attribute__((always_inline)) float8v apply(const int (&a)[4], const int (&b)[4], float8v c) {
        return __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(as_vector<short8v>(a), as_vector<short8v>(b), c);
    }
};
template <> struct instruction<signed char> {
    static __device__ __attribute__((always_inline)) int8v apply(const int (&a)[2], const int (&b)[2], int8v c) {
        return __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(true, as_vector<int2v>(a), true, as_vector<int2v>(b), c, false);
    }
};
template <> struct instruction<unsigned char> {
    static __device__ __attribute__((always_inline)) int8v apply(const int (&a)[2], const int (&b)[2], int8v c) {
        return __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(false, as_vector<int2v>(a), false, as_vector<int2v>(b), c, false);
    }
};
#elif defined(__CUDA_MMA_GFX9)
template <> struct instruction<__half> {
    static __device__ __attribute__((always_inline)) float4v apply(const int (&a)[2], const int (&b)[2], float4v c) {
        return __builtin_amdgcn_mfma_f32_16x16x16f16(as_vector<half4v>(a), as_vector<half4v>(b), c, 0, 0, 0);
    }
};
template <> struct instruction<__nv_bfloat16> {
    static __device__ __attribute__((always_inline)) float4v apply(const int (&a)[2], const int (&b)[2], float4v c) {
        return __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(as_vector<short4v>(a), as_vector<short4v>(b), c, 0, 0, 0);
    }
};
#endif

// Takes values: choosing between references would force them into memory.
__CUDA_MMA_INLINE int select(bool first, int a, int b) { return first ? a : b; }

// A product with the right operand's lines in the lanes: `sum[e]` combines the left operand's line e + (lane / Right) * Elements and
// the right operand's line lane % Right.
template <int LeftLines, int RightLines, typename T, typename S, int K, int Elements>
__CUDA_MMA_INLINE void by_lanes(const line<S, K> &left, const line<S, K> &right, typename sum<T>::type (&total)[Elements]) {
    const unsigned lane = __lane_id() & 31u;
    S own[K], other[K];
    right.get(own);
#pragma unroll
    for (int e = 0; e < Elements; e++) {
        left.of_lane(lane_of<LeftLines, true, T>(e + lane / RightLines * Elements)).get(other);
#pragma unroll
        for (int k = 0; k < K; k++) {
            typedef typename sum<T>::type Sum;
            total[e] += convert<Sum, S>::from(other[k]) * convert<Sum, S>::from(own[k]);
        }
    }
}

template <int LeftLines, int RightLines, typename T, bool Matrix> struct product {
    template <typename S, int K, int Elements>
    static __device__ __attribute__((always_inline)) void add(const line<S, K> &left, const line<S, K> &right,
                                                              typename sum<T>::type (&total)[Elements]) {
        by_lanes<LeftLines, RightLines, T>(left, right, total);
    }
};
#if defined(__CUDA_MMA_GFX11) || defined(__CUDA_MMA_GFX12)
template <typename T> struct product<16, 16, T, true> {
    typedef typename sum<T>::type Sum;
    static __device__ __attribute__((always_inline)) void add(const line<T, 16> &left, const line<T, 16> &right, Sum (&total)[8]) {
        typedef Sum Vector __attribute__((ext_vector_type(8)));
        Vector c = {total[0], total[1], total[2], total[3], total[4], total[5], total[6], total[7]};
#if defined(__CUDA_MMA_GFX11)
        c = instruction<T>::apply(left.word, right.word, c);
#else
        // The lower lanes provide the first half of the line, the upper ones the second.
        constexpr unsigned half = line<T, 16>::count / 2;
        const bool upper = __lane_id() & 16u;
        int a[half], b[half];
        for (unsigned i = 0; i < half; i++) {
            a[i] = select(upper, left.word[half + i], left.word[i]);
            b[i] = select(upper, right.word[half + i], right.word[i]);
        }
        c = instruction<T>::apply(a, b, c);
#endif
        for (int e = 0; e < 8; e++)
            total[e] = c[e];
    }
};
// Eight lines on the left, each twice, and two products for the 32 on the right. A lane keeps the results of its own column.
template <typename T> struct product<8, 32, T, true> {
    typedef typename sum<T>::type Sum;
    static __device__ __attribute__((always_inline)) void add(const line<T, 16> &left, const line<T, 16> &right, Sum (&total)[8]) {
        typedef Sum Vector __attribute__((ext_vector_type(8)));
        const Vector c = {total[0], total[1], total[2], total[3], total[4], total[5], total[6], total[7]};
        const bool upper = __lane_id() & 16u;
        const int partner = static_cast<int>((__lane_id() ^ 16u) << 2);
#if defined(__CUDA_MMA_GFX11)
        constexpr unsigned count = line<T, 16>::count;
        int first[count], second[count];
        for (unsigned i = 0; i < count; i++) {
            const int other = __builtin_amdgcn_ds_bpermute(partner, right.word[i]);
            first[i] = upper ? other : right.word[i];
            second[i] = upper ? right.word[i] : other;
        }
        const Vector low = instruction<T>::apply(left.word, first, c), high = instruction<T>::apply(left.word, second, c);
#else
        constexpr unsigned half = line<T, 16>::count / 2;
        int a[half], first[half], second[half];
        for (unsigned i = 0; i < half; i++) {
            const int low_word = right.word[i], high_word = right.word[half + i];
            const int other = __builtin_amdgcn_ds_bpermute(partner, upper ? low_word : high_word);
            a[i] = select(upper, left.word[half + i], left.word[i]);
            first[i] = upper ? other : low_word;
            second[i] = upper ? high_word : other;
        }
        const Vector low = instruction<T>::apply(a, first, c), high = instruction<T>::apply(a, second, c);
#endif
        for (int e = 0; e < 8; e++)
            total[e] = upper ? high[e] : low[e];
    }
};
#elif defined(__CUDA_MMA_GFX9)
// An instruction uses the whole wave for one product. With both warps active, there are two products, one per warp:
// each warp lends its lanes to half of the other's sum, and gets half of its own result back.
template <typename T> __CUDA_MMA_INLINE void both_warps(const line<T, 16> &left, const line<T, 16> &right, float (&total)[8]) {
    const bool upper_warp = __lane_id() & 32u, upper = __lane_id() & 16u;
    const int partner = static_cast<int>((__lane_id() ^ 32u) << 2);
    int a[2], b[2], other_a[2], other_b[2];
    for (int i = 0; i < 2; i++) {
        a[i] = select(upper, left.word[2 + i], left.word[i]);
        b[i] = select(upper, right.word[2 + i], right.word[i]);
        other_a[i] = __builtin_amdgcn_ds_bpermute(partner, select(upper, left.word[6 + i], left.word[4 + i]));
        other_b[i] = __builtin_amdgcn_ds_bpermute(partner, select(upper, right.word[6 + i], right.word[4 + i]));
    }
    int first_a[2], first_b[2], second_a[2], second_b[2];
    for (int i = 0; i < 2; i++) {
        first_a[i] = upper_warp ? other_a[i] : a[i];
        first_b[i] = upper_warp ? other_b[i] : b[i];
        second_a[i] = upper_warp ? a[i] : other_a[i];
        second_b[i] = upper_warp ? b[i] : other_b[i];
    }
    const float4v zero = {0, 0, 0, 0};
    const float4v low = instruction<T>::apply(first_a, first_b, zero), high = instruction<T>::apply(second_a, second_b, zero);
    for (int i = 0; i < 4; i++) {
        const float own = upper_warp ? high[i] : low[i];
        const float other = __int_as_float(__builtin_amdgcn_ds_bpermute(partner, __float_as_int(upper_warp ? low[i] : high[i])));
        total[i] += upper_warp ? other : own;
        total[4 + i] += upper_warp ? own : other;
    }
}
template <typename T> __CUDA_MMA_INLINE void by_wave(const line<T, 16> &left, const line<T, 16> &right, float (&total)[8]) {
    if (__builtin_amdgcn_ballot_w64(true) == ~0ull)
        both_warps(left, right, total);
    else
        by_lanes<16, 16, T>(left, right, total);
}
template <> struct product<16, 16, __half, true> {
    static __device__ __attribute__((always_inline)) void add(const line<__half, 16> &left, const line<__half, 16> &right, float (&total)[8]) {
        by_wave(left, right, total);
    }
};
template <> struct product<16, 16, __nv_bfloat16, true> {
    static __device__ __attribute__((always_inline)) void add(const line<__nv_bfloat16, 16> &left, const line<__nv_bfloat16, 16> &right,
                                                              float (&total)[8]) {
        by_wave(left, right, total);
    }
};
#endif

// The effect of satf: results are finite numbers.
__CUDA_MMA_INLINE float finite(float value, float largest) { return value != value ? 0.0f : value > largest ? largest : value < -largest ? -largest : value; }
template <typename D> struct rounded {
    static __device__ __attribute__((always_inline)) D of(float value, bool satf) { return satf ? finite(value, 3.402823466e38f) : value; }
};
template <> struct rounded<__half> {
    static __device__ __attribute__((always_inline)) __half of(float value, bool satf) { return __float2half(satf ? finite(value, 65504.0f) : value); }
};
template <> struct rounded<double> {
    static __device__ __attribute__((always_inline)) double of(double value, bool) { return value; }
};

template <int N, typename T> struct elements {
    typedef T element_type;
    typedef typename storage<T>::type storage_element_type;
    static constexpr int num_elements = N;
    static constexpr int num_storage_elements = N;
    storage_element_type x[N];
};

// The available shapes for an operand's type.
template <int M, int N, int K, typename T> struct shape {
    static constexpr bool is = (kind<T>::matrix && K == 16 && (M * N == 256) && (M == 16 || M == 8 || M == 32)) ||
                               (__is_same(T, precision::tf32) && M == 16 && N == 16 && K == 8) ||
                               (__is_same(T, double) && M == 8 && N == 8 && K == 4);
};
} // namespace __cuda_mma

template <typename Use, int M, int N, int K, typename T, typename Layout = void> class fragment;
template <int M, int N, int K, typename T, typename Layout>
class fragment<matrix_a, M, N, K, T, Layout> : public __cuda_mma::elements<K, T> {
    static_assert(__cuda_mma::shape<M, N, K, T>::is, "no such shape");
};
template <int M, int N, int K, typename T, typename Layout>
class fragment<matrix_b, M, N, K, T, Layout> : public __cuda_mma::elements<K, T> {
    static_assert(__cuda_mma::shape<M, N, K, T>::is, "no such shape");
};
template <int M, int N, int K, typename T> class fragment<accumulator, M, N, K, T, void> : public __cuda_mma::elements<M * N / 32, T> {};

template <typename Use, int M, int N, int K, typename T, typename Layout, typename V>
__CUDA_MMA_INLINE void fill_fragment(fragment<Use, M, N, K, T, Layout> &f, const V &value) {
    typedef typename __cuda_mma::storage<T>::type S;
    const S element = __cuda_mma::convert<S, V>::from(value);
    for (int i = 0; i < f.num_elements; i++)
        f.x[i] = element;
}

namespace __cuda_mma {
// A line of K elements, contiguous or `stride` apart. CUDA requires each row to be aligned to 16 bytes.
template <int K, typename S> __CUDA_MMA_INLINE void load_line(S (&x)[K], const S *from) {
    if constexpr (K * sizeof(S) >= 16)
        __builtin_memcpy(static_cast<void *>(x), __builtin_assume_aligned(from, 16), sizeof(x));
    else
        __builtin_memcpy(static_cast<void *>(x), from, sizeof(x));
}
template <int K, typename S> __CUDA_MMA_INLINE void load_strided(S (&x)[K], const S *from, unsigned stride) {
    for (int k = 0; k < K; k++)
        x[k] = from[static_cast<size_t>(k) * stride];
}
template <int M, int N> __CUDA_MMA_INLINE unsigned row(unsigned lane, int e) { return M == 32 ? lane : e + lane / N * (M * N / 32); }
template <int M, int N> __CUDA_MMA_INLINE unsigned column(unsigned lane, int e) { return M == 32 ? e : lane % N; }
} // namespace __cuda_mma

template <int M, int N, int K, typename T>
__CUDA_MMA_INLINE void load_matrix_sync(fragment<matrix_a, M, N, K, T, row_major> &a, const typename __cuda_mma::storage<T>::type *from, unsigned ldm) {
    __cuda_mma::load_line<K>(a.x, from + static_cast<size_t>(__cuda_mma::line_of<M, M != 32, T>(__lane_id() & 31u)) * ldm);
}
template <int M, int N, int K, typename T>
__CUDA_MMA_INLINE void load_matrix_sync(fragment<matrix_a, M, N, K, T, col_major> &a, const typename __cuda_mma::storage<T>::type *from, unsigned ldm) {
    __cuda_mma::load_strided<K>(a.x, from + __cuda_mma::line_of<M, M != 32, T>(__lane_id() & 31u), ldm);
}
template <int M, int N, int K, typename T>
__CUDA_MMA_INLINE void load_matrix_sync(fragment<matrix_b, M, N, K, T, col_major> &b, const typename __cuda_mma::storage<T>::type *from, unsigned ldm) {
    __cuda_mma::load_line<K>(b.x, from + static_cast<size_t>(__cuda_mma::line_of<N, M == 32, T>(__lane_id() & 31u)) * ldm);
}
template <int M, int N, int K, typename T>
__CUDA_MMA_INLINE void load_matrix_sync(fragment<matrix_b, M, N, K, T, row_major> &b, const typename __cuda_mma::storage<T>::type *from, unsigned ldm) {
    __cuda_mma::load_strided<K>(b.x, from + __cuda_mma::line_of<N, M == 32, T>(__lane_id() & 31u), ldm);
}
template <int M, int N, int K, typename T>
__CUDA_MMA_INLINE void load_matrix_sync(fragment<accumulator, M, N, K, T> &c, const T *from, unsigned ldm, layout_t layout) {
    const unsigned lane = __lane_id() & 31u;
    for (int e = 0; e < c.num_elements; e++) {
        const size_t row = __cuda_mma::row<M, N>(lane, e), column = __cuda_mma::column<M, N>(lane, e);
        c.x[e] = from[layout == mem_row_major ? row * ldm + column : column * ldm + row];
    }
}
template <int M, int N, int K, typename T>
__CUDA_MMA_INLINE void store_matrix_sync(T *to, const fragment<accumulator, M, N, K, T> &c, unsigned ldm, layout_t layout) {
    const unsigned lane = __lane_id() & 31u;
    for (int e = 0; e < c.num_elements; e++) {
        const size_t row = __cuda_mma::row<M, N>(lane, e), column = __cuda_mma::column<M, N>(lane, e);
        to[layout == mem_row_major ? row * ldm + column : column * ldm + row] = c.x[e];
    }
}

// d = a * b + c. Floating-point sums use f32, or f64 for f64; half-precision results are rounded once, at the end.
template <int M, int N, int K, typename T, typename LayoutA, typename LayoutB, typename D, typename C>
__CUDA_MMA_INLINE void mma_sync(fragment<accumulator, M, N, K, D> &d, const fragment<matrix_a, M, N, K, T, LayoutA> &a,
                                const fragment<matrix_b, M, N, K, T, LayoutB> &b, const fragment<accumulator, M, N, K, C> &c,
                                bool satf = false) {
    using namespace __cuda_mma;
    typedef typename storage<T>::type S;
    typedef typename sum<T>::type Sum;
    constexpr int count = M * N / 32;
    const line<S, K> rows(a.x), columns(b.x);
    Sum total[count];
    constexpr bool integers = __is_same(Sum, int);
    for (int e = 0; e < count; e++)
        total[e] = integers && satf ? Sum(0) : convert<Sum, C>::from(c.x[e]);
    if constexpr (M == 32)
        product<N, M, T, kind<T>::matrix>::add(columns, rows, total);
    else
        product<M, N, T, kind<T>::matrix>::add(rows, columns, total);
    for (int e = 0; e < count; e++) {
        if constexpr (integers) {
            if (satf) {
                const long long exact = static_cast<long long>(c.x[e]) + total[e];
                d.x[e] = exact > 2147483647ll ? 2147483647 : exact < -2147483648ll ? static_cast<int>(-2147483648ll) : static_cast<int>(exact);
            } else {
                d.x[e] = total[e];
            }
        } else {
            d.x[e] = rounded<D>::of(total[e], satf);
        }
    }
}

#if defined(__FERROCM_CUDA__)
// Elements of fewer than eight bits, in words whose place PTX specifies: programs exchange them with the registers of `mma`.
namespace experimental {
namespace precision {
struct u4 {};
struct s4 {};
struct b1 {};
} // namespace precision
enum bmmaBitOp { bmmaBitOpXOR = 1, bmmaBitOpAND = 2 };
enum bmmaAccumulateOp { bmmaAccumulateOpPOPC = 1 };
} // namespace experimental

namespace __cuda_mma {
// How many elements of a line of K are in a word of a lane, and the element of `mma`.
template <typename T> struct packed;
template <> struct packed<experimental::precision::u4> {
    typedef __cuda_ptx::u4 element;
    static constexpr int count = 8;
};
template <> struct packed<experimental::precision::s4> {
    typedef __cuda_ptx::s4 element;
    static constexpr int count = 8;
};
template <> struct packed<experimental::precision::b1> { static constexpr int count = 32; };
// One word of each lane.
struct word {
    typedef int element_type;
    typedef int storage_element_type;
    static constexpr int num_elements = 1;
    static constexpr int num_storage_elements = 1;
    int x[1];
};
// Row `lane / 4` of A, column `lane / 4` of B: four lanes have a line.
template <typename T> __CUDA_MMA_INLINE void load_word(word &w, const void *from, unsigned ldm) {
    const unsigned lane = __lane_id() & 31u;
    w.x[0] = static_cast<const int *>(from)[static_cast<size_t>(lane / 4) * (ldm / packed<T>::count) + lane % 4];
}
} // namespace __cuda_mma

#define __CUDA_MMA_PACKED(K, T)                                                                                                  \
    template <> class fragment<matrix_a, 8, 8, K, experimental::precision::T, row_major> : public __cuda_mma::word {};           \
    template <> class fragment<matrix_b, 8, 8, K, experimental::precision::T, col_major> : public __cuda_mma::word {};           \
    __CUDA_MMA_INLINE void load_matrix_sync(fragment<matrix_a, 8, 8, K, experimental::precision::T, row_major> &a, const void *from, unsigned ldm) { \
        __cuda_mma::load_word<experimental::precision::T>(a, from, ldm);                                                         \
    }                                                                                                                            \
    __CUDA_MMA_INLINE void load_matrix_sync(fragment<matrix_b, 8, 8, K, experimental::precision::T, col_major> &b, const void *from, unsigned ldm) { \
        __cuda_mma::load_word<experimental::precision::T>(b, from, ldm);                                                         \
    }
__CUDA_MMA_PACKED(32, u4)
__CUDA_MMA_PACKED(32, s4)
__CUDA_MMA_PACKED(128, b1)
#undef __CUDA_MMA_PACKED

// Their accumulators: columns `lane % 4 * 2` and the next one of row `lane / 4`.
#define __CUDA_MMA_PACKED_SUM(K)                                                                                                 \
    template <> class fragment<accumulator, 8, 8, K, int, void> : public __cuda_mma::elements<2, int> {};                        \
    __CUDA_MMA_INLINE void load_matrix_sync(fragment<accumulator, 8, 8, K, int> &c, const int *from, unsigned ldm, layout_t layout) { \
        const unsigned lane = __lane_id() & 31u;                                                                                 \
        const size_t row = lane / 4, column = lane % 4 * 2, by_row = layout == mem_row_major;                                    \
        c.x[0] = from[by_row ? row * ldm + column : column * ldm + row];                                                         \
        c.x[1] = from[by_row ? row * ldm + column + 1 : (column + 1) * ldm + row];                                               \
    }                                                                                                                            \
    __CUDA_MMA_INLINE void store_matrix_sync(int *to, const fragment<accumulator, 8, 8, K, int> &c, unsigned ldm, layout_t layout) { \
        const unsigned lane = __lane_id() & 31u;                                                                                 \
        const size_t row = lane / 4, column = lane % 4 * 2, by_row = layout == mem_row_major;                                    \
        to[by_row ? row * ldm + column : column * ldm + row] = c.x[0];                                                           \
        to[by_row ? row * ldm + column + 1 : (column + 1) * ldm + row] = c.x[1];                                                 \
    }
__CUDA_MMA_PACKED_SUM(32)
__CUDA_MMA_PACKED_SUM(128)
#undef __CUDA_MMA_PACKED_SUM

template <typename T>
__CUDA_MMA_INLINE void mma_sync(fragment<accumulator, 8, 8, 32, int> &d, const fragment<matrix_a, 8, 8, 32, T, row_major> &a,
                                const fragment<matrix_b, 8, 8, 32, T, col_major> &b, const fragment<accumulator, 8, 8, 32, int> &c,
                                bool satf = false) {
    typedef typename __cuda_mma::packed<T>::element E;
    typedef __cuda_ptx::both<E, E> Both;
    if (satf)
        __cuda_ptx::mma_8_1_saturated<Both, int>(d.x[0], d.x[1], a.x[0], b.x[0], c.x[0], c.x[1]);
    else
        __cuda_ptx::mma_8_1<Both, int>(d.x[0], d.x[1], a.x[0], b.x[0], c.x[0], c.x[1]);
}
// Counts bits of both lines: those that differ, or those that are set in both.
__CUDA_MMA_INLINE void bmma_sync(fragment<accumulator, 8, 8, 128, int> &d,
                                 const fragment<matrix_a, 8, 8, 128, experimental::precision::b1, row_major> &a,
                                 const fragment<matrix_b, 8, 8, 128, experimental::precision::b1, col_major> &b,
                                 const fragment<accumulator, 8, 8, 128, int> &c,
                                 experimental::bmmaBitOp operation = experimental::bmmaBitOpXOR,
                                 experimental::bmmaAccumulateOp = experimental::bmmaAccumulateOpPOPC) {
    if (operation == experimental::bmmaBitOpXOR)
        __cuda_ptx::mma_8_1<__cuda_ptx::bits_xor, int>(d.x[0], d.x[1], a.x[0], b.x[0], c.x[0], c.x[1]);
    else
        __cuda_ptx::mma_8_1<__cuda_ptx::bits_and, int>(d.x[0], d.x[1], a.x[0], b.x[0], c.x[0], c.x[1]);
}
#endif
} // namespace wmma
} // namespace nvcuda

#undef __CUDA_MMA_INLINE
#include "ferrocm_letters_end.h"
