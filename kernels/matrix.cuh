// Products of small matrices by one wave, with the instructions that the target has: MFMA on gfx90a, gfx942 and gfx950, WMMA on
// gfx11 and gfx12, `mma` on NVIDIA from sm_80 on, multiply-add and dot instructions on other targets and for types that those lack.
//
// A wave computes blocks of C = A * B of `ROWS` by `COLUMNS` elements, `DEPTH` products at a time. Both operands are read in pieces
// that run along the depth: A by its rows, B by its columns. The target defines the order in which the products of a step are summed;
// it is the same for both operands. An element of C is in one lane. Its row is `lane_row` plus `step_row`, its column `lane_column`
// plus `step_column`.
//
// Products can be chained: C of a first product is B of a second one, and its rows are the second one's depth. Then `chained_place` gives
// the row of the first A for a place in that depth, `chained_depth` gives the place of a sum, and `chained` gives the second B.
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
#if defined(__gfx942__) || defined(__gfx950__) || defined(MATRIX_WMMA_GFX12)
#define MATRIX_F8
#endif
// AMD's compiler defines __CUDA_ARCH__, too.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800 && !defined(__AMDGCN__)
#define NVIDIA_MMA
#endif

#if defined(__GFX9__)
constexpr unsigned WAVE = 64;
#else
constexpr unsigned WAVE = 32;
#endif

// The wave's number in its workgroup; tells the compiler that it is the same in all lanes.
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

// Reads 4, 8 or 16 bytes with the elements' alignment; AMD's global memory needs no more.
template <unsigned DWORDS> __device__ __forceinline__ void read_dwords(unsigned *to, const void *from) {
#if defined(__AMDGCN__)
    typedef unsigned Dwords __attribute__((ext_vector_type(DWORDS), aligned(1)));
    const Dwords read = *reinterpret_cast<const Dwords *>(from);
#pragma unroll
    for (unsigned i = 0; i < DWORDS; ++i)
        to[i] = read[i];
#else
    // NVIDIA's global memory needs as much alignment as is read.
    constexpr unsigned AT_ONCE = DWORDS % 4 == 0 ? 4 : DWORDS;
    if (reinterpret_cast<uint64_t>(from) % (AT_ONCE * 4) != 0) {
        memcpy(to, from, DWORDS * 4);
    } else if constexpr (AT_ONCE == 4) {
#pragma unroll
        for (unsigned i = 0; i < DWORDS; i += 4) {
            const uint4 read = static_cast<const uint4 *>(from)[i / 4];
            to[i] = read.x, to[i + 1] = read.y, to[i + 2] = read.z, to[i + 3] = read.w;
        }
    } else if constexpr (DWORDS == 2) {
        const uint2 read = *static_cast<const uint2 *>(from);
        to[0] = read.x, to[1] = read.y;
    } else {
        static_assert(DWORDS == 1, "one read");
        to[0] = *static_cast<const unsigned *>(from);
    }
#endif
}

// A lane's offset from a pointer that is the same in all lanes, for an instruction that adds them. The compiler uses such an instruction
// if it sees the 32-bit offset where it is used.
__device__ __forceinline__ unsigned lane_offset(unsigned offset) {
#if defined(__AMDGCN__)
    asm volatile("" : "+v"(offset));
#endif
    return offset;
}

// Returns the same value; the compiler does not keep in registers what was read there or computed from it before.
template <typename T> __device__ __forceinline__ T not_kept(T value) {
#if defined(__AMDGCN__)
    asm volatile("" : "+v"(value));
#endif
    return value;
}

// 16 bytes along the depth.
struct alignas(16) Chunk {
    unsigned x[4];
};
// Two numbers, rounded to nearest, side by side.
template <typename T> __device__ __forceinline__ unsigned packed(float low, float high);
template <> __device__ __forceinline__ unsigned packed<__half>(float low, float high) { return bits_as<unsigned>(__floats2half2_rn(low, high)); }
// A number whose upper half is the nearest bf16, ties to even. A NaN that AMD's instructions produce stays NaN; NVIDIA's have all bits set.
__device__ __forceinline__ unsigned with_rounded_half(float x) {
    const unsigned bits = bits_as<unsigned>(x);
    return bits + 0x7fffu + (bits >> 16 & 1u);
}
template <> __device__ __forceinline__ unsigned packed<__nv_bfloat16>(float low, float high) {
#if defined(__CUDA_ARCH__) && !defined(__AMDGCN__)
    return bits_as<unsigned>(__floats2bfloat162_rn(low, high));
#else
    return with_rounded_half(low) >> 16 | (with_rounded_half(high) & 0xffff0000u);
#endif
}
// Numbers along the depth as a chunk.
template <typename T> __device__ __forceinline__ Chunk packed_chunk(const float *x) {
    Chunk chunk;
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
        if constexpr (sizeof(T) == 4)
            chunk.x[i] = bits_as<unsigned>(x[i]);
        else
            chunk.x[i] = packed<T>(x[2 * i], x[2 * i + 1]);
    }
    return chunk;
}

// The value of the lane whose number differs in the bits of `mask`.
__device__ __forceinline__ float from_lane_xor(float x, unsigned mask) {
#if defined(__AMDGCN__)
    return bits_as<float>(__builtin_amdgcn_ds_bpermute(static_cast<int>((threadIdx.x ^ mask) * 4), bits_as<int>(x)));
#else
    return __shfl_xor_sync(0xffffffffu, x, static_cast<int>(mask));
#endif
}

// After this, the wave's lanes may read what they wrote to LDS before it.
__device__ __forceinline__ void wave_fence() {
#if defined(__AMDGCN__)
    __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront");
    __builtin_amdgcn_wave_barrier();
#else
    __syncwarp();
#endif
}

// The compiler moves nothing across this. Otherwise it would read the data for all blocks of sums at once, which needs too many
// registers.
__device__ __forceinline__ void schedule_fence() {
#if defined(__AMDGCN__)
    asm volatile("" ::: "memory");
    __builtin_amdgcn_sched_barrier(0);
#endif
}

// The type that products are summed in.
template <typename T> struct SumOf {
    using type = float;
};
template <> struct SumOf<int8_t> {
    using type = int;
};
template <> struct SumOf<double> {
    using type = double;
};
template <typename T> using sum_t = typename SumOf<T>::type;

// The type that f8 are multiplied as: f8 where matrix instructions take them, otherwise f16, which represents every f8.
#if defined(MATRIX_F8)
using f8_factor = f8_e4m3;
#else
using f8_factor = __half;
#endif

// A dword of an operand as matrix instructions read it, and the value of a sum of their products.
template <typename T> __device__ __forceinline__ unsigned as_operand(unsigned dword) { return dword; }
template <typename T> __device__ __forceinline__ sum_t<T> of_operands(sum_t<T> sum) { return sum; }
#if defined(__gfx942__)
// The target reads f8 in the format "FNUZ", where the same bits mean half the number. There, only the bits of negative zero are NaN,
// and the bits of NaN here are a number.
template <> __device__ __forceinline__ unsigned as_operand<f8_e4m3>(unsigned dword) {
    const unsigned magnitudes = dword & 0x7f7f7f7fu;
    const unsigned nan = (magnitudes + 0x01010101u) >> 7 & 0x01010101u;
    const unsigned signs = dword & (magnitudes + 0x7f7f7f7fu) & 0x80808080u;
    return (magnitudes + nan) | signs;
}
template <> __device__ __forceinline__ float of_operands<f8_e4m3>(float sum) { return sum * 4; }
#endif

// Every lane multiplies `ROWS_PER_LANE` rows of A by `COLUMNS_PER_LANE` columns of B.
template <typename T, unsigned ROWS_PER_LANE, unsigned COLUMNS_PER_LANE> struct LaneMatrix {
    static constexpr unsigned COLUMN_LANES = 8, ROW_LANES = WAVE / COLUMN_LANES;
    static constexpr unsigned ROWS = ROW_LANES * ROWS_PER_LANE, COLUMNS = COLUMN_LANES * COLUMNS_PER_LANE;
    static constexpr unsigned DEPTH = 16 / sizeof(T);
    static constexpr unsigned SUMS = ROWS_PER_LANE * COLUMNS_PER_LANE;
    // Sums of a lane in different columns.
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
    // Where a lane's piece is in A and in B.
    static __device__ __forceinline__ unsigned a_row(unsigned lane) { return lane_row(lane); }
    static __device__ __forceinline__ unsigned b_column(unsigned lane) { return lane_column(lane); }
    static __device__ __forceinline__ unsigned depth(unsigned) { return 0; }
    // Makes A zero but for the first half of its depth, or the second one.
    static __device__ __forceinline__ void keep_half(A &a, unsigned, unsigned half) {
#pragma unroll
        for (unsigned r = 0; r < ROWS_PER_LANE; ++r)
#pragma unroll
            for (unsigned i = 0; i < 4; ++i)
                a.row[r].x[i] = i / 2 == half ? a.row[r].x[i] : 0;
    }

    static __device__ __forceinline__ unsigned chained_place(unsigned depth) { return depth; }
    static __device__ __forceinline__ unsigned chained_depth(unsigned lane, unsigned i) { return lane_row(lane) + step_row(i); }
    // The sums pass through the wave's own part of LDS, by columns of C, `pitch` elements apart.
    static constexpr bool CHAINED_IN_LDS = true;
    static __device__ __forceinline__ void chain(const Sums &sums, unsigned lane, T *scratch, unsigned pitch) {
#pragma unroll
        for (unsigned i = 0; i < SUMS; ++i)
            scratch[(lane_column(lane) + step_column(i)) * pitch + lane_row(lane) + step_row(i)] = convert<T>(sums.x[i]);
    }
    static __device__ __forceinline__ B chained(const Sums &, unsigned lane, unsigned part, const T *scratch, unsigned pitch) {
        return load_b(scratch + lane_column(lane) * pitch + part * DEPTH, pitch);
    }

    // The column of the lane that a sum is in, of `LANE_COLUMNS`.
    static constexpr __device__ unsigned lane_column_of(unsigned i) { return i % COLUMNS_PER_LANE; }
    // A column of B in memory.
    static __device__ __forceinline__ void read_b(B &b, unsigned column, const T *piece) { read_dwords<4>(b.column[column].x, piece); }

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
typedef unsigned Dwords2 __attribute__((ext_vector_type(2)));
typedef unsigned Dwords4 __attribute__((ext_vector_type(4)));
typedef unsigned Dwords8 __attribute__((ext_vector_type(8)));
// A lane's part of an operand's row or column: neighbours along the depth. Vectors, because the compiler splits structures into bytes.
template <unsigned CHUNKS> struct PieceOf;
template <> struct PieceOf<1> {
    using type = Dwords4;
    static __device__ __forceinline__ Dwords4 of(const Chunk *chunks) { return Dwords4{chunks[0].x[0], chunks[0].x[1], chunks[0].x[2], chunks[0].x[3]}; }
    static __device__ __forceinline__ Dwords4 load(const void *from) { return *static_cast<const Dwords4 *>(from); }
};
template <> struct PieceOf<2> {
    using type = Dwords8;
    static __device__ __forceinline__ Dwords8 of(const Chunk *chunks) { return joined(PieceOf<1>::of(chunks), PieceOf<1>::of(chunks + 1)); }
    static __device__ __forceinline__ Dwords8 load(const void *from) { return joined(static_cast<const Dwords4 *>(from)[0], static_cast<const Dwords4 *>(from)[1]); }
    static __device__ __forceinline__ Dwords8 joined(Dwords4 a, Dwords4 b) { return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7); }
};

// Common to the blocks of all matrix instructions: a lane has one row of A, one column of B, and sums of one column.
template <typename T, unsigned SIDE, unsigned GROUPS, unsigned CHUNKS> struct Block {
    static constexpr unsigned ROWS = SIDE, COLUMNS = SIDE;
    // Lanes side by side along the depth.
    static constexpr unsigned PIECE = CHUNKS * 16 / sizeof(T), DEPTH = GROUPS * PIECE;
    static constexpr unsigned SUMS = SIDE * SIDE / WAVE;
    static constexpr unsigned COLUMN_LANES = SIDE, LANE_COLUMNS = 1;
    using A = typename PieceOf<CHUNKS>::type;
    using B = A;
    typedef sum_t<T> Sum __attribute__((ext_vector_type(SUMS)));
    struct Sums {
        Sum x;
    };

    static __device__ __forceinline__ unsigned lane_column(unsigned lane) { return lane % SIDE; }
    static constexpr __device__ unsigned step_column(unsigned) { return 0; }
    static __device__ __forceinline__ unsigned a_row(unsigned lane) { return lane % SIDE; }
    static __device__ __forceinline__ unsigned b_column(unsigned lane) { return lane % SIDE; }
    static __device__ __forceinline__ unsigned depth(unsigned lane) { return GROUPS == 1 ? 0 : lane / SIDE * PIECE; }
    // Makes A zero but for the first half of its depth, or the second one; `GROUPS` is 2.
    static __device__ __forceinline__ void keep_half(A &a, unsigned lane, unsigned half) {
        if (lane / SIDE != half)
            a = {};
    }
    static constexpr bool CHAINED_IN_LDS = false;
    static __device__ __forceinline__ void chain(const Sums &, unsigned, T *, unsigned) {}
    static constexpr __device__ unsigned lane_column_of(unsigned) { return 0; }
    static __device__ __forceinline__ void read_b(B &b, unsigned, const T *piece) {
        Chunk chunks[CHUNKS];
#pragma unroll
        for (unsigned i = 0; i < CHUNKS; ++i)
            read_dwords<4>(chunks[i].x, piece + i * (16 / sizeof(T)));
        b = PieceOf<CHUNKS>::of(chunks);
    }
    static __device__ __forceinline__ A load_a(const T *piece, unsigned) { return PieceOf<CHUNKS>::load(piece); }
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

// The part of a piece that one instruction takes.
template <typename Operand, typename Whole> __device__ __forceinline__ Operand part(Whole piece, unsigned index) {
    if constexpr (sizeof(Operand) == sizeof(Whole))
        return __builtin_bit_cast(Operand, piece);
    else if constexpr (sizeof(Operand) == 8)
        return __builtin_bit_cast(Operand, Dwords2{piece[2 * index], piece[2 * index + 1]});
    else
        return __builtin_bit_cast(Operand, static_cast<unsigned>(piece[index]));
}
#endif

#if defined(MATRIX_MFMA)
// 32 by 32 elements; the lanes of the wave's halves are side by side along the depth.
template <typename T> struct MatrixBlock : Block<T, 32, 2, 1> {
    using Base = Block<T, 32, 2, 1>;
    using Sum = typename Base::Sum;
    static __device__ __forceinline__ unsigned lane_row(unsigned lane) { return lane / 32 * 4; }
    static constexpr __device__ unsigned step_row(unsigned i) { return i / 4 * 8 + i % 4; }
    // A lane has 4 of every 8 rows, like the chunks of 4-byte elements; chunks of 2-byte elements are 8 of every 16 rows.
    static constexpr unsigned PIECE = Base::PIECE;
    static __device__ __forceinline__ unsigned chained_place(unsigned depth) {
        return PIECE == 4 ? depth : (depth & ~12u) | (depth & 8) >> 1 | (depth & 4) << 1;
    }
    static __device__ __forceinline__ unsigned chained_depth(unsigned lane, unsigned i) {
        return i / PIECE * Base::DEPTH + lane / 32 * PIECE + i % PIECE;
    }
    static __device__ __forceinline__ Dwords4 chained(const typename Base::Sums &sums, unsigned, unsigned part, const T *, unsigned) {
        float x[PIECE];
#pragma unroll
        for (unsigned i = 0; i < PIECE; ++i)
            x[i] = sums.x[part * PIECE + i];
        const Chunk chunk = packed_chunk<T>(x);
        return PieceOf<1>::of(&chunk);
    }
    static __device__ __forceinline__ Sum step(Dwords4 a, Dwords4 b, Sum c);
    static __device__ __forceinline__ void multiply(typename Base::Sums &sums, Dwords4 a, Dwords4 b) {
        sums.x = step(a, b, sums.x);
    }
};
// The operand type of the instruction, and the instruction, once for each part of a chunk.
#define MFMA(T, OPERAND, INSTRUCTION)                                                                                   \
    template <> __device__ __forceinline__ MatrixBlock<T>::Sum MatrixBlock<T>::step(Dwords4 a, Dwords4 b, Sum c) { \
        _Pragma("unroll") for (unsigned i = 0; i < 16 / sizeof(OPERAND); ++i)                                           \
            c = __builtin_amdgcn_mfma_##INSTRUCTION(part<OPERAND>(a, i), part<OPERAND>(b, i), c, 0, 0, 0);              \
        return c;                                                                                                      \
    }
MFMA(float, float, f32_32x32x2f32)
#if defined(__gfx950__)
MFMA(__half, Half8, f32_32x32x16_f16)
MFMA(__nv_bfloat16, Bf16x8, f32_32x32x16_bf16)
MFMA(int8_t, Int4, i32_32x32x32_i8)
MFMA(f8_e4m3, long, f32_32x32x16_fp8_fp8)
#else
MFMA(__half, Half4, f32_32x32x8f16)
MFMA(__nv_bfloat16, Short4, f32_32x32x8bf16_1k)
#if defined(__gfx942__)
MFMA(int8_t, long, i32_32x32x16_i8)
MFMA(f8_e4m3, long, f32_32x32x16_fp8_fp8)
#else
MFMA(int8_t, int, i32_32x32x8i8)
#endif
#endif

// f64 has 16 by 16 elements; four groups of lanes are side by side along the depth.
template <> struct MatrixBlock<double> : Block<double, 16, 4, 1> {
    using Base = Block<double, 16, 4, 1>;
    static __device__ __forceinline__ unsigned lane_row(unsigned lane) { return lane / 16; }
    static constexpr __device__ unsigned step_row(unsigned i) { return 4 * i; }
    static __device__ __forceinline__ void multiply(Base::Sums &sums, Dwords4 a, Dwords4 b) {
#pragma unroll
        for (unsigned i = 0; i < 2; ++i)
            sums.x = __builtin_amdgcn_mfma_f64_16x16x4f64(part<double>(a, i), part<double>(b, i), sums.x, 0, 0, 0);
    }
};

#elif defined(MATRIX_WMMA)
#if defined(MATRIX_WMMA_GFX12)
// 16 by 16 elements; the lanes of the wave's halves are side by side along the depth.
template <typename T> struct MatrixBlock : Block<T, 16, 2, 1> {
    using Base = Block<T, 16, 2, 1>;
    static __device__ __forceinline__ unsigned lane_row(unsigned lane) { return lane / 16 * 8; }
    static constexpr __device__ unsigned step_row(unsigned i) { return i; }
    static __device__ __forceinline__ unsigned chained_place(unsigned depth) { return depth; }
    static __device__ __forceinline__ Dwords4 chained(const typename Base::Sums &sums, unsigned, unsigned, const T *, unsigned) {
        float x[8];
#pragma unroll
        for (unsigned i = 0; i < 8; ++i)
            x[i] = sums.x[i];
        const Chunk chunk = packed_chunk<T>(x);
        return PieceOf<1>::of(&chunk);
    }
#else
// 16 by 16 elements; both halves of the wave hold the whole operands.
template <typename T> struct MatrixBlock : Block<T, 16, 1, sizeof(T)> {
    using Base = Block<T, 16, 1, sizeof(T)>;
    static __device__ __forceinline__ unsigned lane_row(unsigned lane) { return lane / 16; }
    static constexpr __device__ unsigned step_row(unsigned i) { return 2 * i; }
    // A lane has every second row, and receives neighbours; the other half of the wave has the other 8.
    static __device__ __forceinline__ unsigned chained_place(unsigned depth) { return (depth & ~15u) | (depth & 7) << 1 | (depth & 8) >> 3; }
    static __device__ __forceinline__ Dwords8 chained(const typename Base::Sums &sums, unsigned lane, unsigned, const T *, unsigned) {
        float x[8];
#pragma unroll
        for (unsigned i = 0; i < 8; ++i)
            x[i] = sums.x[i];
        const Chunk own = packed_chunk<T>(x);
        Chunk other;
#pragma unroll
        for (unsigned i = 0; i < 4; ++i)
            other.x[i] = __builtin_amdgcn_permlanex16(own.x[i], own.x[i], 0x76543210, 0xfedcba98, false, false);
        Chunk both[2];
#pragma unroll
        for (unsigned i = 0; i < 4; ++i) {
            both[0].x[i] = lane < 16 ? own.x[i] : other.x[i];
            both[1].x[i] = lane < 16 ? other.x[i] : own.x[i];
        }
        return PieceOf<2>::of(both);
    }
#endif
    static __device__ __forceinline__ unsigned chained_depth(unsigned lane, unsigned i) { return lane / 16 * 8 + i; }
    using A = typename Base::A;
    static __device__ __forceinline__ void multiply(typename Base::Sums &sums, A a, A b);
};
#define WMMA(T, OPERAND, INSTRUCTION)                                                                                   \
    template <> __device__ __forceinline__ void MatrixBlock<T>::multiply(Base::Sums &sums, A a, A b) {    \
        sums.x = __builtin_amdgcn_wmma_##INSTRUCTION(part<OPERAND>(a, 0), part<OPERAND>(b, 0), sums.x);                 \
    }
#if defined(MATRIX_WMMA_GFX12)
WMMA(__half, Half8, f32_16x16x16_f16_w32_gfx12)
WMMA(__nv_bfloat16, Short8, f32_16x16x16_bf16_w32_gfx12)
template <> __device__ __forceinline__ void MatrixBlock<int8_t>::multiply(Base::Sums &sums, A a, A b) {
    for (unsigned i = 0; i < 2; ++i)
        sums.x = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(true, part<Int2>(a, i), true, part<Int2>(b, i), sums.x, false);
}
template <> __device__ __forceinline__ void MatrixBlock<f8_e4m3>::multiply(Base::Sums &sums, A a, A b) {
    for (unsigned i = 0; i < 2; ++i)
        sums.x = __builtin_amdgcn_wmma_f32_16x16x16_fp8_fp8_w32_gfx12(part<Int2>(a, i), part<Int2>(b, i), sums.x);
}
#else
WMMA(__half, Half16, f32_16x16x16_f16_w32)
WMMA(__nv_bfloat16, Short16, f32_16x16x16_bf16_w32)
template <> __device__ __forceinline__ void MatrixBlock<int8_t>::multiply(Base::Sums &sums, A a, A b) {
    sums.x = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, part<Int4>(a, 0), true, part<Int4>(b, 0), sums.x, false);
}
#endif
#endif

#if defined(NVIDIA_MMA)
namespace nvidia {
__device__ __forceinline__ unsigned shared_address(const void *p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }

// Four matrices of 8 by 8 numbers of 16 bits in shared memory: lane i says where row i % 8 of matrix i / 8 is, and gets of each two neighbours
// of row `lane / 4`.
__device__ __forceinline__ void read_matrices(unsigned (&to)[4], unsigned row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(row) : "memory");
}

// C += A * B of 16 by 16 and 16 by 8 numbers of 16 bits by a warp. With g = lane / 4 and t = lane % 4, a lane has of A: rows g, g + 8, g, g + 8 at depths
// 2t, 2t, 2t + 8, 2t + 8 and the next; of B: column g at depths 2t, 2t + 8 and the next; of C: rows g, g, g + 8, g + 8 of columns 2t, 2t + 1.
template <typename T> __device__ __forceinline__ void mma(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    if constexpr (std::is_same_v<T, __half>)
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    else
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
// The same of bytes, where the depth is twice as large, and four neighbours are where two are there.
template <typename T> __device__ __forceinline__ void mma(int (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    static_assert(std::is_same_v<T, int8_t>, "no such product here");
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
} // namespace nvidia

// 16 by 16 elements by two instructions of 16 by 8. A lane says where 16 bytes of a row are, and gets parts of others.
template <typename T> struct MatrixBlock {
    static constexpr unsigned ROWS = 16, COLUMNS = 16, DEPTH = 32 / sizeof(T), SUMS = 8;
    static constexpr unsigned COLUMN_LANES = 4, LANE_COLUMNS = 4;
    struct A {
        unsigned x[4];
    };
    using B = A;
    // Two rows of four columns.
    struct Sums {
        sum_t<T> x[SUMS];
    };

    static __device__ __forceinline__ unsigned lane_row(unsigned lane) { return lane / 4; }
    static __device__ __forceinline__ unsigned lane_column(unsigned lane) { return lane % 4 * 2; }
    static constexpr __device__ unsigned step_row(unsigned i) { return i / 4 * 8; }
    static constexpr __device__ unsigned step_column(unsigned i) { return i % 4 / 2 * 8 + i % 2; }
    static __device__ __forceinline__ unsigned a_row(unsigned lane) { return lane % 16; }
    static __device__ __forceinline__ unsigned b_column(unsigned lane) { return lane % 16; }
    static __device__ __forceinline__ unsigned depth(unsigned lane) { return lane / 16 * (DEPTH / 2); }

    static __device__ __forceinline__ A load_a(const T *piece, unsigned) {
        A a;
        nvidia::read_matrices(a.x, nvidia::shared_address(piece));
        return a;
    }
    static __device__ __forceinline__ B load_b(const T *piece, unsigned pitch) { return load_a(piece, pitch); }
    // Makes A zero but for the first half of its depth, or the second one.
    static __device__ __forceinline__ void keep_half(A &a, unsigned, unsigned half) {
        a.x[0] = half == 0 ? a.x[0] : 0, a.x[1] = half == 0 ? a.x[1] : 0;
        a.x[2] = half == 0 ? 0 : a.x[2], a.x[3] = half == 0 ? 0 : a.x[3];
    }
    static __device__ __forceinline__ void multiply(Sums &sums, const A &a, const B &b) {
#pragma unroll
        for (unsigned half = 0; half < 2; ++half) {
            sum_t<T> c[4] = {sums.x[2 * half], sums.x[2 * half + 1], sums.x[2 * half + 4], sums.x[2 * half + 5]};
            nvidia::mma<T>(c, a.x, b.x[half], b.x[half + 2]);
            sums.x[2 * half] = c[0], sums.x[2 * half + 1] = c[1], sums.x[2 * half + 4] = c[2], sums.x[2 * half + 5] = c[3];
        }
    }
};
#endif

// The product of a type on this target. The numbers of rows and columns of a lane apply without matrix instructions.
template <typename T, unsigned ROWS_PER_LANE, unsigned COLUMNS_PER_LANE> struct MatrixOf {
#if defined(MATRIX_MFMA) || defined(MATRIX_WMMA) || defined(NVIDIA_MMA)
    using type = MatrixBlock<T>;
#else
    using type = LaneMatrix<T, ROWS_PER_LANE, COLUMNS_PER_LANE>;
#endif
};
#if defined(MATRIX_WMMA) || defined(NVIDIA_MMA)
template <unsigned ROWS_PER_LANE, unsigned COLUMNS_PER_LANE> struct MatrixOf<float, ROWS_PER_LANE, COLUMNS_PER_LANE> {
    using type = LaneMatrix<float, ROWS_PER_LANE, COLUMNS_PER_LANE>;
};
#endif
template <typename T, unsigned ROWS_PER_LANE, unsigned COLUMNS_PER_LANE>
using Matrix = typename MatrixOf<T, ROWS_PER_LANE, COLUMNS_PER_LANE>::type;

// The same, for products that are chained. Those of `mma` are not: nvidia.cuh and its like do that by themselves.
template <typename T, unsigned ROWS_PER_LANE, unsigned COLUMNS_PER_LANE> struct ChainedMatrixOf {
#if defined(NVIDIA_MMA)
    using type = LaneMatrix<T, ROWS_PER_LANE, COLUMNS_PER_LANE>;
#else
    using type = Matrix<T, ROWS_PER_LANE, COLUMNS_PER_LANE>;
#endif
};
template <typename T, unsigned ROWS_PER_LANE, unsigned COLUMNS_PER_LANE>
using ChainedMatrix = typename ChainedMatrixOf<T, ROWS_PER_LANE, COLUMNS_PER_LANE>::type;
