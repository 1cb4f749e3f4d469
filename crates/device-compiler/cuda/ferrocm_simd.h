// CUDA's SIMD intrinsics on two halves (__vadd2 …) and four bytes (__vadd4 …) of a word.
#pragma once
#include "ferrocm_letters_begin.h"
namespace __cuda_simd {
#define __CUDA_SIMD static __device__ __attribute__((always_inline, unused)) inline

// Calls a function on each part of two words, and packs the results.
template <typename Part, typename Op> __CUDA_SIMD unsigned each(unsigned a, unsigned b, Op op) {
    constexpr int bits = 8 * sizeof(Part);
    constexpr unsigned mask = bits == 8 ? 0xffu : 0xffffu;
    unsigned result = 0;
    for (int at = 0; at < 32; at += bits)
        result |= (static_cast<unsigned>(op(static_cast<Part>(a >> at), static_cast<Part>(b >> at))) & mask) << at;
    return result;
}
// The sum of a function's results for each part.
template <typename Part, typename Op> __CUDA_SIMD unsigned sum(unsigned a, unsigned b, Op op) {
    unsigned result = 0;
    for (int at = 0; at < 32; at += 8 * static_cast<int>(sizeof(Part)))
        result += static_cast<unsigned>(op(static_cast<Part>(a >> at), static_cast<Part>(b >> at)));
    return result;
}
// The nearest value that a part can hold.
template <typename Part> __CUDA_SIMD int saturated(int value) {
    constexpr bool is_signed = static_cast<Part>(-1) < 0;
    constexpr int bits = 8 * sizeof(Part);
    constexpr int least = is_signed ? -(1 << (bits - 1)) : 0;
    constexpr int most = is_signed ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;
    return value < least ? least : value > most ? most : value;
}
} // namespace __cuda_simd

#define __CUDA_SIMD_BINARY(NAME, PART, EXPRESSION)                                                                           \
    __CUDA_SIMD unsigned NAME(unsigned x, unsigned y) {                                                                      \
        return __cuda_simd::each<PART>(x, y, [](PART pa, PART pb) __attribute__((always_inline)) {                           \
            const int a = pa, b = pb;                                                                                        \
            (void)a, (void)b;                                                                                                \
            return static_cast<int>(EXPRESSION);                                                                             \
        });                                                                                                                  \
    }
#define __CUDA_SIMD_SUM(NAME, PART, EXPRESSION)                                                                              \
    __CUDA_SIMD unsigned NAME(unsigned x, unsigned y) {                                                                      \
        return __cuda_simd::sum<PART>(x, y, [](PART pa, PART pb) __attribute__((always_inline)) {                            \
            const int a = pa, b = pb;                                                                                        \
            return static_cast<int>(EXPRESSION);                                                                             \
        });                                                                                                                  \
    }
#define __CUDA_SIMD_UNARY(NAME, PART, EXPRESSION)                                                                            \
    __CUDA_SIMD unsigned NAME(unsigned x) {                                                                                  \
        return __cuda_simd::each<PART>(x, 0, [](PART pa, PART) __attribute__((always_inline)) {                              \
            const int a = pa;                                                                                                \
            return static_cast<int>(EXPRESSION);                                                                             \
        });                                                                                                                  \
    }
// S and U are the signed and unsigned part.
#define __CUDA_SIMD_ALL(N, S, U)                                                                                             \
    __CUDA_SIMD_BINARY(__vadd##N, U, a + b)                                                                                  \
    __CUDA_SIMD_BINARY(__vsub##N, U, a - b)                                                                                  \
    __CUDA_SIMD_BINARY(__vaddss##N, S, __cuda_simd::saturated<S>(a + b))                                                     \
    __CUDA_SIMD_BINARY(__vaddus##N, U, __cuda_simd::saturated<U>(a + b))                                                     \
    __CUDA_SIMD_BINARY(__vsubss##N, S, __cuda_simd::saturated<S>(a - b))                                                     \
    __CUDA_SIMD_BINARY(__vsubus##N, U, __cuda_simd::saturated<U>(a - b))                                                     \
    __CUDA_SIMD_BINARY(__vavgs##N, S, (a + b + (a + b >= 0)) >> 1)                                                           \
    __CUDA_SIMD_BINARY(__vavgu##N, U, (a + b + 1) >> 1)                                                                      \
    __CUDA_SIMD_BINARY(__vhaddu##N, U, (a + b) >> 1)                                                                         \
    __CUDA_SIMD_BINARY(__vmaxs##N, S, a > b ? a : b)                                                                         \
    __CUDA_SIMD_BINARY(__vmaxu##N, U, a > b ? a : b)                                                                         \
    __CUDA_SIMD_BINARY(__vmins##N, S, a < b ? a : b)                                                                         \
    __CUDA_SIMD_BINARY(__vminu##N, U, a < b ? a : b)                                                                         \
    __CUDA_SIMD_BINARY(__vabsdiffs##N, S, a > b ? a - b : b - a)                                                             \
    __CUDA_SIMD_BINARY(__vabsdiffu##N, U, a > b ? a - b : b - a)                                                             \
    __CUDA_SIMD_BINARY(__vcmpeq##N, U, a == b ? -1 : 0)                                                                      \
    __CUDA_SIMD_BINARY(__vcmpne##N, U, a != b ? -1 : 0)                                                                      \
    __CUDA_SIMD_BINARY(__vcmpges##N, S, a >= b ? -1 : 0)                                                                     \
    __CUDA_SIMD_BINARY(__vcmpgeu##N, U, a >= b ? -1 : 0)                                                                     \
    __CUDA_SIMD_BINARY(__vcmpgts##N, S, a > b ? -1 : 0)                                                                      \
    __CUDA_SIMD_BINARY(__vcmpgtu##N, U, a > b ? -1 : 0)                                                                      \
    __CUDA_SIMD_BINARY(__vcmples##N, S, a <= b ? -1 : 0)                                                                     \
    __CUDA_SIMD_BINARY(__vcmpleu##N, U, a <= b ? -1 : 0)                                                                     \
    __CUDA_SIMD_BINARY(__vcmplts##N, S, a < b ? -1 : 0)                                                                      \
    __CUDA_SIMD_BINARY(__vcmpltu##N, U, a < b ? -1 : 0)                                                                      \
    __CUDA_SIMD_BINARY(__vseteq##N, U, a == b)                                                                               \
    __CUDA_SIMD_BINARY(__vsetne##N, U, a != b)                                                                               \
    __CUDA_SIMD_BINARY(__vsetges##N, S, a >= b)                                                                              \
    __CUDA_SIMD_BINARY(__vsetgeu##N, U, a >= b)                                                                              \
    __CUDA_SIMD_BINARY(__vsetgts##N, S, a > b)                                                                               \
    __CUDA_SIMD_BINARY(__vsetgtu##N, U, a > b)                                                                               \
    __CUDA_SIMD_BINARY(__vsetles##N, S, a <= b)                                                                              \
    __CUDA_SIMD_BINARY(__vsetleu##N, U, a <= b)                                                                              \
    __CUDA_SIMD_BINARY(__vsetlts##N, S, a < b)                                                                               \
    __CUDA_SIMD_BINARY(__vsetltu##N, U, a < b)                                                                               \
    __CUDA_SIMD_SUM(__vsads##N, S, a > b ? a - b : b - a)                                                                    \
    __CUDA_SIMD_SUM(__vsadu##N, U, a > b ? a - b : b - a)                                                                    \
    __CUDA_SIMD_UNARY(__vabs##N, S, a < 0 ? -a : a)                                                                          \
    __CUDA_SIMD_UNARY(__vabsss##N, S, __cuda_simd::saturated<S>(a < 0 ? -a : a))                                             \
    __CUDA_SIMD_UNARY(__vneg##N, S, -a)                                                                                      \
    __CUDA_SIMD_UNARY(__vnegss##N, S, __cuda_simd::saturated<S>(-a))
__CUDA_SIMD_ALL(2, short, unsigned short)
__CUDA_SIMD_ALL(4, signed char, unsigned char)
#undef __CUDA_SIMD_ALL
#undef __CUDA_SIMD_UNARY
#undef __CUDA_SIMD_SUM
#undef __CUDA_SIMD_BINARY

// DPX: the largest or smallest of numbers and of sums, in whole words and in two halves; for host code, too. `_relu`: at least 0.
#define __CUDA_DPX static __host__ __device__ __attribute__((always_inline, unused)) inline
namespace __cuda_simd {
template <typename T> __CUDA_DPX T choose_max(T a, T b) { return a < b ? b : a; }
template <typename T> __CUDA_DPX T choose_min(T a, T b) { return b < a ? b : a; }
__CUDA_DPX unsigned pack(unsigned low, unsigned high) { return (low & 0xffffu) | high << 16; }
template <typename Part> __CUDA_DPX unsigned choose_max2(unsigned a, unsigned b) {
    return pack(choose_max(static_cast<Part>(a), static_cast<Part>(b)), choose_max(static_cast<Part>(a >> 16), static_cast<Part>(b >> 16)));
}
template <typename Part> __CUDA_DPX unsigned choose_min2(unsigned a, unsigned b) {
    return pack(choose_min(static_cast<Part>(a), static_cast<Part>(b)), choose_min(static_cast<Part>(a >> 16), static_cast<Part>(b >> 16)));
}
__CUDA_DPX unsigned sum2(unsigned a, unsigned b) { return pack(a + b, (a >> 16) + (b >> 16)); }
template <typename T> __CUDA_DPX T sum(T a, T b) { return static_cast<T>(static_cast<unsigned>(a) + static_cast<unsigned>(b)); }
} // namespace __cuda_simd
#define __CUDA_DPX_WORD(MIN, END, TYPE)                                                                                    \
    __CUDA_DPX TYPE __vi##MIN##3_##END(TYPE a, TYPE b, TYPE c) {                                                           \
        return __cuda_simd::choose_##MIN(__cuda_simd::choose_##MIN(a, b), c);                                              \
    }                                                                                                                      \
    __CUDA_DPX TYPE __viadd##MIN##_##END(TYPE a, TYPE b, TYPE c) { return __cuda_simd::choose_##MIN(__cuda_simd::sum(a, b), c); } \
    /* The predicate says whether the first was chosen. */                                                                 \
    __CUDA_DPX TYPE __vib##MIN##_##END(TYPE a, TYPE b, bool *first) {                                                      \
        const TYPE chosen = __cuda_simd::choose_##MIN(a, b);                                                               \
        *first = chosen == a;                                                                                              \
        return chosen;                                                                                                     \
    }
__CUDA_DPX_WORD(max, s32, int)
__CUDA_DPX_WORD(min, s32, int)
__CUDA_DPX_WORD(max, u32, unsigned)
__CUDA_DPX_WORD(min, u32, unsigned)
#undef __CUDA_DPX_WORD
#define __CUDA_DPX_PAIR(MIN, END, PART)                                                                                    \
    __CUDA_DPX unsigned __vi##MIN##3_##END(unsigned a, unsigned b, unsigned c) {                                           \
        return __cuda_simd::choose_##MIN##2<PART>(__cuda_simd::choose_##MIN##2<PART>(a, b), c);                            \
    }                                                                                                                      \
    __CUDA_DPX unsigned __viadd##MIN##_##END(unsigned a, unsigned b, unsigned c) {                                         \
        return __cuda_simd::choose_##MIN##2<PART>(__cuda_simd::sum2(a, b), c);                                             \
    }                                                                                                                      \
    /* One predicate for the upper half, and one for the lower. */                                                         \
    __CUDA_DPX unsigned __vib##MIN##_##END(unsigned a, unsigned b, bool *upper, bool *lower) {                             \
        const unsigned chosen = __cuda_simd::choose_##MIN##2<PART>(a, b);                                                  \
        *upper = chosen >> 16 == a >> 16;                                                                                  \
        *lower = (chosen & 0xffff) == (a & 0xffff);                                                                        \
        return chosen;                                                                                                     \
    }
__CUDA_DPX_PAIR(max, s16x2, short)
__CUDA_DPX_PAIR(min, s16x2, short)
__CUDA_DPX_PAIR(max, u16x2, unsigned short)
__CUDA_DPX_PAIR(min, u16x2, unsigned short)
#undef __CUDA_DPX_PAIR
#define __CUDA_DPX_RELU(MIN)                                                                                                                     \
    __CUDA_DPX int __vi##MIN##_s32_relu(int a, int b) { return __cuda_simd::choose_max(__cuda_simd::choose_##MIN(a, b), 0); }                    \
    __CUDA_DPX int __vi##MIN##3_s32_relu(int a, int b, int c) { return __cuda_simd::choose_max(__vi##MIN##3_s32(a, b, c), 0); }                  \
    __CUDA_DPX int __viadd##MIN##_s32_relu(int a, int b, int c) { return __cuda_simd::choose_max(__viadd##MIN##_s32(a, b, c), 0); }              \
    __CUDA_DPX unsigned __vi##MIN##_s16x2_relu(unsigned a, unsigned b) {                                                                         \
        return __cuda_simd::choose_max2<short>(__cuda_simd::choose_##MIN##2<short>(a, b), 0);                                                    \
    }                                                                                                                                            \
    __CUDA_DPX unsigned __vi##MIN##3_s16x2_relu(unsigned a, unsigned b, unsigned c) {                                                            \
        return __cuda_simd::choose_max2<short>(__vi##MIN##3_s16x2(a, b, c), 0);                                                                  \
    }                                                                                                                                            \
    __CUDA_DPX unsigned __viadd##MIN##_s16x2_relu(unsigned a, unsigned b, unsigned c) {                                                          \
        return __cuda_simd::choose_max2<short>(__viadd##MIN##_s16x2(a, b, c), 0);                                                                \
    }
__CUDA_DPX_RELU(max)
__CUDA_DPX_RELU(min)
#undef __CUDA_DPX_RELU
#undef __CUDA_DPX

// Sums of products: bytes by bytes, and bytes by halves (the lower and the upper two bytes of b).
__CUDA_SIMD int __dp4a(int a, int b, int c) {
#if __has_builtin(__builtin_amdgcn_sudot4) && (defined(__GFX11__) || defined(__GFX12__))
    return __builtin_amdgcn_sudot4(true, a, true, b, c, false);
#elif defined(__gfx906__) || defined(__gfx908__) || defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__) ||       \
    defined(__gfx1011__) || defined(__gfx1012__) || defined(__gfx1030__) || defined(__gfx1031__) || defined(__gfx1032__) ||    \
    defined(__gfx1034__) || defined(__gfx1035__) || defined(__gfx1036__)
    return __builtin_amdgcn_sdot4(a, b, c, false);
#else
    for (int at = 0; at < 32; at += 8)
        c += static_cast<signed char>(a >> at) * static_cast<signed char>(b >> at);
    return c;
#endif
}
__CUDA_SIMD unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
    for (int at = 0; at < 32; at += 8)
        c += (a >> at & 0xff) * (b >> at & 0xff);
    return c;
}
__CUDA_SIMD int __dp2a_lo(int a, int b, int c) {
    return c + static_cast<short>(a) * static_cast<signed char>(b) + (a >> 16) * static_cast<signed char>(b >> 8);
}
__CUDA_SIMD unsigned __dp2a_lo(unsigned a, unsigned b, unsigned c) {
    return c + (a & 0xffff) * (b & 0xff) + (a >> 16) * (b >> 8 & 0xff);
}
__CUDA_SIMD int __dp2a_hi(int a, int b, int c) { return __dp2a_lo(a, b >> 16, c); }
__CUDA_SIMD unsigned __dp2a_hi(unsigned a, unsigned b, unsigned c) { return __dp2a_lo(a, b >> 16, c); }
#define __CUDA_DOT_VECTORS(INT, CHAR4, SHORT2)                                                                                       \
    __CUDA_SIMD INT __dp4a(CHAR4 a, CHAR4 b, INT c) { return __dp4a(__builtin_bit_cast(INT, a), __builtin_bit_cast(INT, b), c); }          \
    __CUDA_SIMD INT __dp2a_lo(SHORT2 a, CHAR4 b, INT c) { return __dp2a_lo(__builtin_bit_cast(INT, a), __builtin_bit_cast(INT, b), c); }   \
    __CUDA_SIMD INT __dp2a_hi(SHORT2 a, CHAR4 b, INT c) { return __dp2a_hi(__builtin_bit_cast(INT, a), __builtin_bit_cast(INT, b), c); }
__CUDA_DOT_VECTORS(int, char4, short2)
__CUDA_DOT_VECTORS(unsigned, uchar4, ushort2)
#undef __CUDA_DOT_VECTORS
// HIP's counts are unsigned.
__CUDA_SIMD int __cuda_popc(unsigned x) { return __builtin_popcount(x); }
__CUDA_SIMD int __cuda_popcll(unsigned long long x) { return __builtin_popcountll(x); }
__CUDA_SIMD unsigned short __nv_bswap16(unsigned short x) { return __builtin_bswap16(x); }
__CUDA_SIMD unsigned __nv_bswap32(unsigned x) { return __builtin_bswap32(x); }
__CUDA_SIMD unsigned long long __nv_bswap64(unsigned long long x) { return __builtin_bswap64(x); }
// HIP's is signed.
__CUDA_SIMD unsigned __cuda_umul24(unsigned a, unsigned b) { return (a & 0xffffffu) * (b & 0xffffffu); }
// The difference of signed numbers, which may not fit in a signed number.
__CUDA_SIMD unsigned __cuda_sad(int a, int b, unsigned c) {
    const unsigned ua = static_cast<unsigned>(a), ub = static_cast<unsigned>(b);
    return (a > b ? ua - ub : ub - ua) + c;
}
#undef __CUDA_SIMD
#include "ferrocm_letters_end.h"
