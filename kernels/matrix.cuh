// Products of small matrices by one wave, with the instructions that the target has: MFMA on gfx90a, gfx942 and gfx950, WMMA on
// gfx11 and gfx12, multiply-add and dot instructions elsewhere and for the types that these lack.
//
// A wave computes blocks of C = A * B of `ROWS` by `COLUMNS` elements, `DEPTH` products at a time. Both operands are read in pieces
// that run along the depth: A by its rows, B by its columns. In which order the products of a step are summed is the target's, and the
// same for both operands. An element of C is in one lane; `row` and `column` say which one a lane's sum is.
#pragma once
#include "common.cuh"

#if defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
#define MATRIX_MFMA
#elif defined(__GFX11__)
#define MATRIX_WMMA
#elif defined(__GFX12__)
#define MATRIX_WMMA
#define MATRIX_WMMA_GFX12
#endif

#if defined(__GFX9__)
constexpr unsigned WAVE = 64;
#else
constexpr unsigned WAVE = 32;
#endif

// The wave's number in its workgroup, and that it is the same in all its lanes.
__device__ __forceinline__ unsigned wave_index() {
#if defined(__AMDGCN__)
    return __builtin_amdgcn_readfirstlane(threadIdx.x / WAVE);
#else
    return threadIdx.x / WAVE;
#endif
}

template <typename To, typename From> __device__ __forceinline__ To bits_as(const From &from) {
    static_assert(sizeof(To) == sizeof(From), "all bits");
    To to;
    memcpy(&to, &from, sizeof(To));
    return to;
}

// 16 bytes along the depth.
struct alignas(16) Chunk {
    unsigned x[4];
};
// What a lane holds of an operand's row or column: neighbours along the depth.
template <unsigned CHUNKS> struct Piece {
    Chunk chunk[CHUNKS];
};

// The type that products are summed in.
template <typename T> struct SumOf {
    using type = float;
};
template <> struct SumOf<int8_t> {
    using type = int;
};
template <typename T> using sum_t = typename SumOf<T>::type;

// Every lane multiplies `ROWS_PER_LANE` rows of A by `COLUMNS_PER_LANE` columns of B.
template <typename T, unsigned ROWS_PER_LANE, unsigned COLUMNS_PER_LANE> struct LaneMatrix {
    static constexpr unsigned COLUMN_LANES = 8, ROW_LANES = WAVE / COLUMN_LANES;
    static constexpr unsigned ROWS = ROW_LANES * ROWS_PER_LANE, COLUMNS = COLUMN_LANES * COLUMNS_PER_LANE;
    static constexpr unsigned DEPTH = 16 / sizeof(T);
    static constexpr unsigned SUMS = ROWS_PER_LANE * COLUMNS_PER_LANE;
    // Sums of one lane that are in different columns.
    static constexpr unsigned LANE_COLUMNS = COLUMNS_PER_LANE;
    struct A {
        Chunk row[ROWS_PER_LANE];
    };
    struct B {
        Chunk column[COLUMNS_PER_LANE];
    };
    struct Sums {
        sum_t<T> x[SUMS];
    };

    static __device__ __forceinline__ unsigned lane_row(unsigned lane) { return lane / COLUMN_LANES; }
    static __device__ __forceinline__ unsigned lane_column(unsigned lane) { return lane % COLUMN_LANES; }
    static constexpr __device__ unsigned step_row(unsigned i) { return i / COLUMNS_PER_LANE * ROW_LANES; }
    static constexpr __device__ unsigned step_column(unsigned i) { return i % COLUMNS_PER_LANE * COLUMN_LANES; }
    // Where a lane's piece is in A, B.
    static __device__ __forceinline__ unsigned a_row(unsigned lane) { return lane_row(lane); }
    static __device__ __forceinline__ unsigned b_column(unsigned lane) { return lane_column(lane); }
    static __device__ __forceinline__ unsigned depth(unsigned) { return 0; }

    static __device__ __forceinline__ A load_a(const T *piece, unsigned pitch) {
        A a;
        for (unsigned i = 0; i < ROWS_PER_LANE; ++i)
            a.row[i] = *reinterpret_cast<const Chunk *>(piece + i * ROW_LANES * pitch);
        return a;
    }
    static __device__ __forceinline__ B load_b(const T *piece, unsigned pitch) {
        B b;
        for (unsigned i = 0; i < COLUMNS_PER_LANE; ++i)
            b.column[i] = *reinterpret_cast<const Chunk *>(piece + i * COLUMN_LANES * pitch);
        return b;
    }
    static __device__ __forceinline__ void multiply(Sums &sums, const A &a, const B &b);
};

// Products of two pieces of a row and a column, added to a sum.
template <typename T> struct Dot;
template <> struct Dot<float> {
    static __device__ __forceinline__ float apply(unsigned a, unsigned b, float sum) {
        return fmaf(bits_as<float>(a), bits_as<float>(b), sum);
    }
};
template <> struct Dot<__half> {
    static __device__ __forceinline__ float apply(unsigned a, unsigned b, float sum) {
#if defined(__AMDGCN__) && __has_builtin(__builtin_amdgcn_fdot2)
        typedef _Float16 Pair __attribute__((ext_vector_type(2)));
        return __builtin_amdgcn_fdot2(bits_as<Pair>(a), bits_as<Pair>(b), sum, false);
#else
        const float2 x = __half22float2(bits_as<__half2>(a)), y = __half22float2(bits_as<__half2>(b));
        return fmaf(x.y, y.y, fmaf(x.x, y.x, sum));
#endif
    }
};
template <> struct Dot<__nv_bfloat16> {
    static __device__ __forceinline__ float apply(unsigned a, unsigned b, float sum) {
        sum = fmaf(bits_as<float>(a << 16), bits_as<float>(b << 16), sum);
        return fmaf(bits_as<float>(a & 0xffff0000u), bits_as<float>(b & 0xffff0000u), sum);
    }
};
template <> struct Dot<int8_t> {
    static __device__ __forceinline__ int apply(unsigned a, unsigned b, int sum) {
        return __dp4a(static_cast<int>(a), static_cast<int>(b), sum);
    }
};

template <typename T, unsigned ROWS_PER_LANE, unsigned COLUMNS_PER_LANE>
__device__ __forceinline__ void LaneMatrix<T, ROWS_PER_LANE, COLUMNS_PER_LANE>::multiply(Sums &sums, const A &a, const B &b) {
#pragma unroll
    for (unsigned d = 0; d < 4; ++d)
#pragma unroll
        for (unsigned i = 0; i < SUMS; ++i)
            sums.x[i] = Dot<T>::apply(a.row[i / COLUMNS_PER_LANE].x[d], b.column[i % COLUMNS_PER_LANE].x[d], sums.x[i]);
}

#if defined(MATRIX_MFMA) || defined(MATRIX_WMMA)
// What the blocks of the matrix instructions have in common: a lane has one row of A, one column of B, and sums of one column.
template <typename T, unsigned SIDE, unsigned GROUPS, unsigned CHUNKS> struct Block {
    static constexpr unsigned ROWS = SIDE, COLUMNS = SIDE;
    // Lanes side by side along the depth.
    static constexpr unsigned PIECE = CHUNKS * 16 / sizeof(T), DEPTH = GROUPS * PIECE;
    static constexpr unsigned SUMS = SIDE * SIDE / WAVE;
    static constexpr unsigned COLUMN_LANES = SIDE, LANE_COLUMNS = 1;
    using A = Piece<CHUNKS>;
    using B = Piece<CHUNKS>;
    typedef sum_t<T> Sum __attribute__((ext_vector_type(SUMS)));
    struct Sums {
        Sum x;
    };

    static __device__ __forceinline__ unsigned lane_column(unsigned lane) { return lane % SIDE; }
    static constexpr __device__ unsigned step_column(unsigned) { return 0; }
    static __device__ __forceinline__ unsigned a_row(unsigned lane) { return lane % SIDE; }
    static __device__ __forceinline__ unsigned b_column(unsigned lane) { return lane % SIDE; }
    static __device__ __forceinline__ unsigned depth(unsigned lane) { return GROUPS == 1 ? 0 : lane / SIDE * PIECE; }
    static __device__ __forceinline__ A load_a(const T *piece, unsigned) {
        A a;
        for (unsigned i = 0; i < CHUNKS; ++i)
            a.chunk[i] = reinterpret_cast<const Chunk *>(piece)[i];
        return a;
    }
    static __device__ __forceinline__ B load_b(const T *piece, unsigned pitch) { return load_a(piece, pitch); }
};

typedef float Float8 __attribute__((ext_vector_type(8)));
typedef float Float16 __attribute__((ext_vector_type(16)));
typedef int Int2 __attribute__((ext_vector_type(2)));
typedef int Int4 __attribute__((ext_vector_type(4)));
typedef _Float16 Half4 __attribute__((ext_vector_type(4)));
typedef _Float16 Half8 __attribute__((ext_vector_type(8)));
typedef _Float16 Half16 __attribute__((ext_vector_type(16)));
typedef short Short4 __attribute__((ext_vector_type(4)));
typedef short Short8 __attribute__((ext_vector_type(8)));
typedef short Short16 __attribute__((ext_vector_type(16)));
typedef __bf16 Bf16x8 __attribute__((ext_vector_type(8)));

// The part of a chunk that one instruction takes.
template <typename Operand, typename Whole> __device__ __forceinline__ Operand part(const Whole &piece, unsigned index) {
    Operand operand;
    memcpy(&operand, reinterpret_cast<const char *>(&piece) + index * sizeof(Operand), sizeof(Operand));
    return operand;
}
#endif

#if defined(MATRIX_MFMA)
// 32 by 32 elements; the lanes of the wave's halves are side by side along the depth.
template <typename T> struct MatrixBlock : Block<T, 32, 2, 1> {
    using Base = Block<T, 32, 2, 1>;
    using Sum = typename Base::Sum;
    static __device__ __forceinline__ unsigned lane_row(unsigned lane) { return lane / 32 * 4; }
    static constexpr __device__ unsigned step_row(unsigned i) { return i / 4 * 8 + i % 4; }
    static __device__ __forceinline__ Sum step(const Chunk &a, const Chunk &b, Sum c);
    static __device__ __forceinline__ void multiply(typename Base::Sums &sums, const Piece<1> &a, const Piece<1> &b) {
        sums.x = step(a.chunk[0], b.chunk[0], sums.x);
    }
};
// The operand type of the instruction, and the instruction, once for each part of a chunk.
#define MFMA(T, OPERAND, INSTRUCTION)                                                                                   \
    template <> __device__ __forceinline__ MatrixBlock<T>::Sum MatrixBlock<T>::step(const Chunk &a, const Chunk &b, Sum c) { \
        _Pragma("unroll") for (unsigned i = 0; i < 16 / sizeof(OPERAND); ++i)                                           \
            c = __builtin_amdgcn_mfma_##INSTRUCTION(part<OPERAND>(a, i), part<OPERAND>(b, i), c, 0, 0, 0);              \
        return c;                                                                                                      \
    }
MFMA(float, float, f32_32x32x2f32)
#if defined(__gfx950__)
MFMA(__half, Half8, f32_32x32x16_f16)
MFMA(__nv_bfloat16, Bf16x8, f32_32x32x16_bf16)
MFMA(int8_t, Int4, i32_32x32x32_i8)
#else
MFMA(__half, Half4, f32_32x32x8f16)
MFMA(__nv_bfloat16, Short4, f32_32x32x8bf16_1k)
#if defined(__gfx942__)
MFMA(int8_t, long, i32_32x32x16_i8)
#else
MFMA(int8_t, int, i32_32x32x8i8)
#endif
#endif

#elif defined(MATRIX_WMMA)
#if defined(MATRIX_WMMA_GFX12)
// 16 by 16 elements; the lanes of the wave's halves are side by side along the depth.
template <typename T> struct MatrixBlock : Block<T, 16, 2, 1> {
    using Base = Block<T, 16, 2, 1>;
    static __device__ __forceinline__ unsigned lane_row(unsigned lane) { return lane / 16 * 8; }
    static constexpr __device__ unsigned step_row(unsigned i) { return i; }
#else
// 16 by 16 elements; both halves of the wave hold the whole operands.
template <typename T> struct MatrixBlock : Block<T, 16, 1, sizeof(T)> {
    using Base = Block<T, 16, 1, sizeof(T)>;
    static __device__ __forceinline__ unsigned lane_row(unsigned lane) { return lane / 16; }
    static constexpr __device__ unsigned step_row(unsigned i) { return 2 * i; }
#endif
    using A = typename Base::A;
    static __device__ __forceinline__ void multiply(typename Base::Sums &sums, const A &a, const A &b);
};
#define WMMA(T, OPERAND, INSTRUCTION)                                                                                   \
    template <> __device__ __forceinline__ void MatrixBlock<T>::multiply(Base::Sums &sums, const A &a, const A &b) {    \
        sums.x = __builtin_amdgcn_wmma_##INSTRUCTION(part<OPERAND>(a, 0), part<OPERAND>(b, 0), sums.x);                 \
    }
#if defined(MATRIX_WMMA_GFX12)
WMMA(__half, Half8, f32_16x16x16_f16_w32_gfx12)
WMMA(__nv_bfloat16, Short8, f32_16x16x16_bf16_w32_gfx12)
template <> __device__ __forceinline__ void MatrixBlock<int8_t>::multiply(Base::Sums &sums, const A &a, const A &b) {
    for (unsigned i = 0; i < 2; ++i)
        sums.x = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(true, part<Int2>(a, i), true, part<Int2>(b, i), sums.x, false);
}
#else
WMMA(__half, Half16, f32_16x16x16_f16_w32)
WMMA(__nv_bfloat16, Short16, f32_16x16x16_bf16_w32)
template <> __device__ __forceinline__ void MatrixBlock<int8_t>::multiply(Base::Sums &sums, const A &a, const A &b) {
    sums.x = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, part<Int4>(a, 0), true, part<Int4>(b, 0), sums.x, false);
}
#endif
#endif

// The product of a type on this target. The numbers of rows and columns of a lane are those without matrix instructions.
template <typename T, unsigned ROWS_PER_LANE, unsigned COLUMNS_PER_LANE> struct MatrixOf {
#if defined(MATRIX_MFMA) || defined(MATRIX_WMMA)
    using type = MatrixBlock<T>;
#else
    using type = LaneMatrix<T, ROWS_PER_LANE, COLUMNS_PER_LANE>;
#endif
};
#if defined(MATRIX_WMMA)
template <unsigned ROWS_PER_LANE, unsigned COLUMNS_PER_LANE> struct MatrixOf<float, ROWS_PER_LANE, COLUMNS_PER_LANE> {
    using type = LaneMatrix<float, ROWS_PER_LANE, COLUMNS_PER_LANE>;
};
#endif
template <typename T, unsigned ROWS_PER_LANE, unsigned COLUMNS_PER_LANE>
using Matrix = typename MatrixOf<T, ROWS_PER_LANE, COLUMNS_PER_LANE>::type;
