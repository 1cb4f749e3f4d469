// The functions that CUDA has for both of its 16-bit types, for the type __CUDA_T and its pair __CUDA_T2. No guard: cuda_fp16.h and cuda_bf16.h
// include it. With __CUDA_T_PARTS, it has only what HIP's run-time compiler lacks or has otherwise for its own half.
#if !defined(__CUDA_T_PARTS)
// Sums, products and quotients. `_rn`: never part of a fused operation.
__CUDA_HALF __CUDA_T __hadd(__CUDA_T a, __CUDA_T b) { return __cuda_half::from_number<__CUDA_T>(__cuda_half::number(a) + __cuda_half::number(b)); }
__CUDA_HALF __CUDA_T __hsub(__CUDA_T a, __CUDA_T b) { return __cuda_half::from_number<__CUDA_T>(__cuda_half::number(a) - __cuda_half::number(b)); }
__CUDA_HALF __CUDA_T __hmul(__CUDA_T a, __CUDA_T b) { return __cuda_half::from_number<__CUDA_T>(__cuda_half::number(a) * __cuda_half::number(b)); }
__CUDA_HALF __CUDA_T __hdiv(__CUDA_T a, __CUDA_T b) { return __cuda_half::from_number<__CUDA_T>(__cuda_half::number(a) / __cuda_half::number(b)); }
__CUDA_HALF __CUDA_T __hadd_rn(__CUDA_T a, __CUDA_T b) {
#pragma clang fp contract(off)
    return __cuda_half::from_number<__CUDA_T>(__cuda_half::number(a) + __cuda_half::number(b));
}
__CUDA_HALF __CUDA_T __hsub_rn(__CUDA_T a, __CUDA_T b) {
#pragma clang fp contract(off)
    return __cuda_half::from_number<__CUDA_T>(__cuda_half::number(a) - __cuda_half::number(b));
}
__CUDA_HALF __CUDA_T __hmul_rn(__CUDA_T a, __CUDA_T b) {
#pragma clang fp contract(off)
    return __cuda_half::from_number<__CUDA_T>(__cuda_half::number(a) * __cuda_half::number(b));
}
__CUDA_HALF __CUDA_T __hneg(__CUDA_T a) { return __cuda_half::of_bits<__CUDA_T>(__cuda_half::bits_of(a) ^ 0x8000); }
__CUDA_HALF __CUDA_T __habs(__CUDA_T a) { return __cuda_half::of_bits<__CUDA_T>(__cuda_half::bits_of(a) & 0x7fff); }
__CUDA_HALF __CUDA_T __hfma(__CUDA_T a, __CUDA_T b, __CUDA_T c) { return __cuda_half::fused(a, b, c); }
__CUDA_HALF bool __hisnan(__CUDA_T a) { return __cuda_half::is_nan(a); }
__CUDA_HALF int __hisinf(__CUDA_T a) {
    const unsigned short bits = __cuda_half::bits_of(a);
    return (bits & 0x7fff) != __cuda_half::format<__CUDA_T>::infinity ? 0 : bits >> 15 ? -1 : 1;
}

// Comparisons. Those that end in `u` are true if an operand is NaN.
#define __CUDA_COMPARE(NAME, EXPRESSION)              \
    __CUDA_HALF bool NAME(__CUDA_T pa, __CUDA_T pb) { \
        const auto a = __cuda_half::number(pa), b = __cuda_half::number(pb); \
        return EXPRESSION;                            \
    }
__CUDA_COMPARE(__heq, a == b)
__CUDA_COMPARE(__hne, a < b || a > b)
__CUDA_COMPARE(__hle, a <= b)
__CUDA_COMPARE(__hge, a >= b)
__CUDA_COMPARE(__hlt, a < b)
__CUDA_COMPARE(__hgt, a > b)
__CUDA_COMPARE(__hequ, !(a < b || a > b))
__CUDA_COMPARE(__hneu, a != b)
__CUDA_COMPARE(__hleu, !(a > b))
__CUDA_COMPARE(__hgeu, !(a < b))
__CUDA_COMPARE(__hltu, !(a >= b))
__CUDA_COMPARE(__hgtu, !(a <= b))
#undef __CUDA_COMPARE
#endif

// A NaN counts for nothing, or (`_nan`) makes the result one. -0 is less than 0.
__CUDA_HALF __CUDA_T __hmax(__CUDA_T a, __CUDA_T b) { return __cuda_half::maximum(a, b); }
__CUDA_HALF __CUDA_T __hmin(__CUDA_T a, __CUDA_T b) { return __cuda_half::minimum(a, b); }
__CUDA_HALF __CUDA_T __hmax_nan(__CUDA_T a, __CUDA_T b) {
    return __hisnan(a) || __hisnan(b) ? __cuda_half::of_bits<__CUDA_T>(0x7fff) : __cuda_half::larger(a, b);
}
__CUDA_HALF __CUDA_T __hmin_nan(__CUDA_T a, __CUDA_T b) {
    return __hisnan(a) || __hisnan(b) ? __cuda_half::of_bits<__CUDA_T>(0x7fff) : __cuda_half::smaller(a, b);
}
__CUDA_HALF __CUDA_T __hadd_sat(__CUDA_T a, __CUDA_T b) { return __cuda_half::unit(__hadd(a, b)); }
__CUDA_HALF __CUDA_T __hsub_sat(__CUDA_T a, __CUDA_T b) { return __cuda_half::unit(__hsub(a, b)); }
__CUDA_HALF __CUDA_T __hmul_sat(__CUDA_T a, __CUDA_T b) { return __cuda_half::unit(__hmul(a, b)); }
__CUDA_HALF_DEVICE __CUDA_T __hfma_sat(__CUDA_T a, __CUDA_T b, __CUDA_T c) { return __cuda_half::unit(__hfma(a, b, c)); }
__CUDA_HALF_DEVICE __CUDA_T __hfma_relu(__CUDA_T a, __CUDA_T b, __CUDA_T c) { return __cuda_half::positive(__hfma(a, b, c)); }

// Mathematics.
#if !defined(__CUDA_T_PARTS)
#define __CUDA_MATH(NAME, EXPRESSION)                                                                           \
    __CUDA_HALF_DEVICE __CUDA_T h##NAME(__CUDA_T a) {                                                           \
        const float x = __cuda_half::wide(a);                                                                   \
        return __cuda_half::narrow<__CUDA_T>(EXPRESSION);                                                       \
    }                                                                                                           \
    __CUDA_HALF_DEVICE __CUDA_T2 h2##NAME(__CUDA_T2 a) { return __CUDA_T2(h##NAME(a.x), h##NAME(a.y)); }
__CUDA_MATH(ceil, __builtin_ceilf(x))
__CUDA_MATH(floor, __builtin_floorf(x))
__CUDA_MATH(trunc, __builtin_truncf(x))
__CUDA_MATH(rint, __builtin_rintf(x))
__CUDA_MATH(rcp, 1.0f / x)
__CUDA_MATH(sqrt, ::sqrtf(x))
__CUDA_MATH(rsqrt, ::rsqrtf(x))
__CUDA_MATH(sin, ::sinf(x))
__CUDA_MATH(cos, ::cosf(x))
__CUDA_MATH(exp, ::expf(x))
__CUDA_MATH(exp2, ::exp2f(x))
__CUDA_MATH(exp10, ::exp10f(x))
__CUDA_MATH(log, ::logf(x))
__CUDA_MATH(log2, ::log2f(x))
__CUDA_MATH(log10, ::log10f(x))
#undef __CUDA_MATH
#endif
__CUDA_HALF_DEVICE __CUDA_T htanh(__CUDA_T a) { return __cuda_half::narrow<__CUDA_T>(::tanhf(__cuda_half::wide(a))); }
__CUDA_HALF_DEVICE __CUDA_T htanh_approx(__CUDA_T a) { return htanh(a); }
__CUDA_HALF_DEVICE __CUDA_T2 h2tanh(__CUDA_T2 a) { return __CUDA_T2(htanh(a.x), htanh(a.y)); }
__CUDA_HALF_DEVICE __CUDA_T2 h2tanh_approx(__CUDA_T2 a) { return h2tanh(a); }

// Pairs: each number by itself.
#define __CUDA_PAIR_1(PLACE, NAME, FUNCTION) \
    PLACE __CUDA_T2 NAME(__CUDA_T2 a) { return __CUDA_T2(FUNCTION(a.x), FUNCTION(a.y)); }
#define __CUDA_PAIR_2(PLACE, NAME, FUNCTION) \
    PLACE __CUDA_T2 NAME(__CUDA_T2 a, __CUDA_T2 b) { return __CUDA_T2(FUNCTION(a.x, b.x), FUNCTION(a.y, b.y)); }
#define __CUDA_PAIR_3(PLACE, NAME, FUNCTION) \
    PLACE __CUDA_T2 NAME(__CUDA_T2 a, __CUDA_T2 b, __CUDA_T2 c) { return __CUDA_T2(FUNCTION(a.x, b.x, c.x), FUNCTION(a.y, b.y, c.y)); }
#if !defined(__CUDA_T_PARTS)
#if defined(__CUDA_T_VECTOR) && defined(__HIP_DEVICE_COMPILE__)
// In one instruction for both numbers.
#define __CUDA_VECTOR_OF(A) __cuda_bits<__CUDA_T_VECTOR>(A)
#define __CUDA_PACKED(NAME, OPERATOR) \
    __CUDA_HALF __CUDA_T2 NAME##2(__CUDA_T2 a, __CUDA_T2 b) { return __cuda_bits<__CUDA_T2>(__CUDA_VECTOR_OF(a) OPERATOR __CUDA_VECTOR_OF(b)); } \
    __CUDA_HALF __CUDA_T2 NAME##2_rn(__CUDA_T2 a, __CUDA_T2 b) {                                                                         \
        _Pragma("clang fp contract(off)") return __cuda_bits<__CUDA_T2>(__CUDA_VECTOR_OF(a) OPERATOR __CUDA_VECTOR_OF(b));               \
    }
__CUDA_PACKED(__hadd, +)
__CUDA_PACKED(__hsub, -)
__CUDA_PACKED(__hmul, *)
#undef __CUDA_PACKED
__CUDA_HALF __CUDA_T2 __hfma2(__CUDA_T2 a, __CUDA_T2 b, __CUDA_T2 c) {
    return __cuda_bits<__CUDA_T2>(__builtin_elementwise_fma(__CUDA_VECTOR_OF(a), __CUDA_VECTOR_OF(b), __CUDA_VECTOR_OF(c)));
}
#else
__CUDA_PAIR_2(__CUDA_HALF, __hadd2, __hadd)
__CUDA_PAIR_2(__CUDA_HALF, __hsub2, __hsub)
__CUDA_PAIR_2(__CUDA_HALF, __hmul2, __hmul)
__CUDA_PAIR_2(__CUDA_HALF, __hadd2_rn, __hadd_rn)
__CUDA_PAIR_2(__CUDA_HALF, __hsub2_rn, __hsub_rn)
__CUDA_PAIR_2(__CUDA_HALF, __hmul2_rn, __hmul_rn)
__CUDA_PAIR_3(__CUDA_HALF, __hfma2, __hfma)
#endif
__CUDA_PAIR_2(__CUDA_HALF, __h2div, __hdiv)
__CUDA_HALF __CUDA_T2 __hneg2(__CUDA_T2 a) { return __cuda_bits<__CUDA_T2>(__cuda_bits<unsigned>(a) ^ 0x80008000u); }
__CUDA_HALF __CUDA_T2 __habs2(__CUDA_T2 a) { return __cuda_bits<__CUDA_T2>(__cuda_bits<unsigned>(a) & 0x7fff7fffu); }
__CUDA_HALF __CUDA_T2 __hisnan2(__CUDA_T2 a) { return __CUDA_T2(__cuda_half::truth<__CUDA_T>(__hisnan(a.x)), __cuda_half::truth<__CUDA_T>(__hisnan(a.y))); }
#endif
#if defined(__CUDA_T_VECTOR) && defined(__HIP_DEVICE_COMPILE__)
__CUDA_HALF __CUDA_T2 __hmax2(__CUDA_T2 a, __CUDA_T2 b) {
    return __cuda_bits<__CUDA_T2>(__builtin_elementwise_max(__CUDA_VECTOR_OF(a), __CUDA_VECTOR_OF(b)));
}
__CUDA_HALF __CUDA_T2 __hmin2(__CUDA_T2 a, __CUDA_T2 b) {
    return __cuda_bits<__CUDA_T2>(__builtin_elementwise_min(__CUDA_VECTOR_OF(a), __CUDA_VECTOR_OF(b)));
}
#undef __CUDA_VECTOR_OF
#else
__CUDA_PAIR_2(__CUDA_HALF, __hmax2, __hmax)
__CUDA_PAIR_2(__CUDA_HALF, __hmin2, __hmin)
#endif
__CUDA_PAIR_2(__CUDA_HALF, __hmax2_nan, __hmax_nan)
__CUDA_PAIR_2(__CUDA_HALF, __hmin2_nan, __hmin_nan)
__CUDA_PAIR_2(__CUDA_HALF, __hadd2_sat, __hadd_sat)
__CUDA_PAIR_2(__CUDA_HALF, __hsub2_sat, __hsub_sat)
__CUDA_PAIR_2(__CUDA_HALF, __hmul2_sat, __hmul_sat)
__CUDA_PAIR_3(__CUDA_HALF_DEVICE, __hfma2_sat, __hfma_sat)
__CUDA_PAIR_3(__CUDA_HALF_DEVICE, __hfma2_relu, __hfma_relu)
#undef __CUDA_PAIR_1
#undef __CUDA_PAIR_2
#undef __CUDA_PAIR_3
// Complex numbers: a b + c.
__CUDA_HALF_DEVICE __CUDA_T2 __hcmadd(__CUDA_T2 a, __CUDA_T2 b, __CUDA_T2 c) {
    return __CUDA_T2(__hfma(__hneg(a.y), b.y, __hfma(a.x, b.x, c.x)), __hfma(a.y, b.x, __hfma(a.x, b.y, c.y)));
}

// Comparisons of pairs: 1 or 0 in each number; all bits or none in each half of a word; whether both are true.
#if defined(__CUDA_T_PARTS)
#define __CUDA_COMPARE_EACH(NAME)
#else
#define __CUDA_COMPARE_EACH(NAME)                                                                                                      \
    __CUDA_HALF __CUDA_T2 NAME##2(__CUDA_T2 a, __CUDA_T2 b) {                                                                          \
        return __CUDA_T2(__cuda_half::truth<__CUDA_T>(NAME(a.x, b.x)), __cuda_half::truth<__CUDA_T>(NAME(a.y, b.y)));                  \
    }
#endif
#define __CUDA_COMPARE(NAME, BOTH)                                                                                                     \
    __CUDA_COMPARE_EACH(NAME)                                                                                                          \
    __CUDA_HALF unsigned NAME##2_mask(__CUDA_T2 a, __CUDA_T2 b) { return (NAME(a.x, b.x) ? 0xffffu : 0u) | (NAME(a.y, b.y) ? 0xffff0000u : 0u); } \
    __CUDA_HALF bool BOTH(__CUDA_T2 a, __CUDA_T2 b) { return NAME(a.x, b.x) && NAME(a.y, b.y); }
__CUDA_COMPARE(__heq, __hbeq2)
__CUDA_COMPARE(__hne, __hbne2)
__CUDA_COMPARE(__hle, __hble2)
__CUDA_COMPARE(__hge, __hbge2)
__CUDA_COMPARE(__hlt, __hblt2)
__CUDA_COMPARE(__hgt, __hbgt2)
__CUDA_COMPARE(__hequ, __hbequ2)
__CUDA_COMPARE(__hneu, __hbneu2)
__CUDA_COMPARE(__hleu, __hbleu2)
__CUDA_COMPARE(__hgeu, __hbgeu2)
__CUDA_COMPARE(__hltu, __hbltu2)
__CUDA_COMPARE(__hgtu, __hbgtu2)
#undef __CUDA_COMPARE
#undef __CUDA_COMPARE_EACH

// Operators.
#if !defined(__CUDA_T_PARTS)
#define __CUDA_OPERATORS(TYPE, ADD, SUB, MUL, DIV, NEG, ONE, EQ, NE, LT, GT, LE, GE)                    \
    __CUDA_HALF TYPE operator+(const TYPE &a, const TYPE &b) { return ADD(a, b); }                      \
    __CUDA_HALF TYPE operator-(const TYPE &a, const TYPE &b) { return SUB(a, b); }                      \
    __CUDA_HALF TYPE operator*(const TYPE &a, const TYPE &b) { return MUL(a, b); }                      \
    __CUDA_HALF TYPE operator/(const TYPE &a, const TYPE &b) { return DIV(a, b); }                      \
    __CUDA_HALF TYPE &operator+=(TYPE &a, const TYPE &b) { return a = ADD(a, b); }                      \
    __CUDA_HALF TYPE &operator-=(TYPE &a, const TYPE &b) { return a = SUB(a, b); }                      \
    __CUDA_HALF TYPE &operator*=(TYPE &a, const TYPE &b) { return a = MUL(a, b); }                      \
    __CUDA_HALF TYPE &operator/=(TYPE &a, const TYPE &b) { return a = DIV(a, b); }                      \
    __CUDA_HALF TYPE &operator++(TYPE &a) { return a = ADD(a, ONE); }                                   \
    __CUDA_HALF TYPE &operator--(TYPE &a) { return a = SUB(a, ONE); }                                   \
    __CUDA_HALF TYPE operator++(TYPE &a, int) {                                                         \
        const TYPE before = a;                                                                          \
        a = ADD(a, ONE);                                                                                \
        return before;                                                                                  \
    }                                                                                                   \
    __CUDA_HALF TYPE operator--(TYPE &a, int) {                                                         \
        const TYPE before = a;                                                                          \
        a = SUB(a, ONE);                                                                                \
        return before;                                                                                  \
    }                                                                                                   \
    __CUDA_HALF TYPE operator+(const TYPE &a) { return a; }                                             \
    __CUDA_HALF TYPE operator-(const TYPE &a) { return NEG(a); }                                        \
    __CUDA_HALF bool operator==(const TYPE &a, const TYPE &b) { return EQ(a, b); }                      \
    __CUDA_HALF bool operator!=(const TYPE &a, const TYPE &b) { return NE(a, b); }                      \
    __CUDA_HALF bool operator<(const TYPE &a, const TYPE &b) { return LT(a, b); }                       \
    __CUDA_HALF bool operator>(const TYPE &a, const TYPE &b) { return GT(a, b); }                       \
    __CUDA_HALF bool operator<=(const TYPE &a, const TYPE &b) { return LE(a, b); }                      \
    __CUDA_HALF bool operator>=(const TYPE &a, const TYPE &b) { return GE(a, b); }
#if defined(__CUDA_T_OPERATORS)
__CUDA_OPERATORS(__CUDA_T, __hadd, __hsub, __hmul, __hdiv, __hneg, __cuda_half::truth<__CUDA_T>(true), __heq, __hneu, __hlt, __hgt, __hle, __hge)
#endif
#if defined(__CUDA_T2_OPERATORS)
__CUDA_OPERATORS(__CUDA_T2, __hadd2, __hsub2, __hmul2, __h2div, __hneg2,
                 __CUDA_T2(__cuda_half::truth<__CUDA_T>(true), __cuda_half::truth<__CUDA_T>(true)), __hbeq2, __hbneu2, __hblt2, __hbgt2, __hble2, __hbge2)
#endif
#undef __CUDA_OPERATORS

// Halves of pairs, and bits.
__CUDA_HALF float __low2float(__CUDA_T2 a) { return __cuda_half::wide(a.x); }
__CUDA_HALF float __high2float(__CUDA_T2 a) { return __cuda_half::wide(a.y); }
__CUDA_HALF __CUDA_T2 __lowhigh2highlow(__CUDA_T2 a) { return __CUDA_T2(a.y, a.x); }
#define __CUDA_MOVES(NAME, NAME2)                                                                                          \
    __CUDA_HALF __CUDA_T2 make_##NAME2(__CUDA_T x, __CUDA_T y) { return __CUDA_T2(x, y); }                                 \
    __CUDA_HALF __CUDA_T2 __halves2##NAME2(__CUDA_T x, __CUDA_T y) { return __CUDA_T2(x, y); }                             \
    __CUDA_HALF __CUDA_T2 __##NAME##2##NAME2(__CUDA_T x) { return __CUDA_T2(x, x); }                                       \
    __CUDA_HALF __CUDA_T __low2##NAME(__CUDA_T2 a) { return a.x; }                                                         \
    __CUDA_HALF __CUDA_T __high2##NAME(__CUDA_T2 a) { return a.y; }                                                        \
    __CUDA_HALF __CUDA_T2 __low2##NAME2(__CUDA_T2 a) { return __CUDA_T2(a.x, a.x); }                                       \
    __CUDA_HALF __CUDA_T2 __high2##NAME2(__CUDA_T2 a) { return __CUDA_T2(a.y, a.y); }                                      \
    __CUDA_HALF __CUDA_T2 __lows2##NAME2(__CUDA_T2 a, __CUDA_T2 b) { return __CUDA_T2(a.x, b.x); }                         \
    __CUDA_HALF __CUDA_T2 __highs2##NAME2(__CUDA_T2 a, __CUDA_T2 b) { return __CUDA_T2(a.y, b.y); }                        \
    __CUDA_HALF short __##NAME##_as_short(__CUDA_T a) { return static_cast<short>(__cuda_half::bits_of(a)); }              \
    __CUDA_HALF unsigned short __##NAME##_as_ushort(__CUDA_T a) { return __cuda_half::bits_of(a); }                        \
    __CUDA_HALF __CUDA_T __short_as_##NAME(short a) { return __cuda_half::of_bits<__CUDA_T>(static_cast<unsigned short>(a)); } \
    __CUDA_HALF __CUDA_T __ushort_as_##NAME(unsigned short a) { return __cuda_half::of_bits<__CUDA_T>(a); }                \
    __CUDA_HALF float __##NAME##2float(__CUDA_T a) { return __cuda_half::wide(a); }                                        \
    __CUDA_HALF float2 __##NAME2##2float2(__CUDA_T2 a) { return make_float2(__cuda_half::wide(a.x), __cuda_half::wide(a.y)); } \
    __CUDA_HALF __CUDA_T __float2##NAME(float a) { return __cuda_half::narrow<__CUDA_T>(a); }                              \
    __CUDA_HALF __CUDA_T __float2##NAME##_rn(float a) { return __cuda_half::narrow<__CUDA_T>(a); }                         \
    __CUDA_HALF __CUDA_T2 __float2##NAME2##_rn(float a) { return __CUDA_T2(__float2##NAME(a), __float2##NAME(a)); }        \
    __CUDA_HALF __CUDA_T2 __floats2##NAME2##_rn(float a, float b) { return __CUDA_T2(__float2##NAME(a), __float2##NAME(b)); } \
    __CUDA_HALF __CUDA_T2 __float22##NAME2##_rn(float2 a) { return __CUDA_T2(__float2##NAME(a.x), __float2##NAME(a.y)); }
__CUDA_T_NAMES(__CUDA_MOVES)
#undef __CUDA_MOVES
#endif

// To and from integers, and from floats and doubles, with every rounding.
#define __CUDA_ROUNDED(NAME, MODE, INTEGER, TYPE)                                                                          \
    __CUDA_HALF TYPE __##NAME##2##INTEGER##_##MODE(__CUDA_T a) {                                                           \
        return __cuda_convert::integer<TYPE, __cuda_convert::MODE>(__cuda_half::wide(a));                                  \
    }                                                                                                                      \
    __CUDA_HALF __CUDA_T __##INTEGER##2##NAME##_##MODE(TYPE a) {                                                           \
        return __cuda_half::of_bits<__CUDA_T>(__CUDA_T_FORMAT::rounded<__cuda_convert::MODE>(__cuda_convert::sticky(a)));  \
    }
#define __CUDA_INTEGERS(NAME, MODE)                       \
    __CUDA_ROUNDED(NAME, MODE, int, int)                  \
    __CUDA_ROUNDED(NAME, MODE, uint, unsigned)            \
    __CUDA_ROUNDED(NAME, MODE, ll, long long)             \
    __CUDA_ROUNDED(NAME, MODE, ull, unsigned long long)   \
    __CUDA_ROUNDED(NAME, MODE, short, short)              \
    __CUDA_ROUNDED(NAME, MODE, ushort, unsigned short)
#define __CUDA_DIRECTED(NAME, MODE) \
    __CUDA_HALF __CUDA_T __float2##NAME##_##MODE(float a) { return __cuda_half::of_bits<__CUDA_T>(__CUDA_T_FORMAT::directed<__cuda_convert::MODE>(a)); }
#define __CUDA_CONVERSIONS(NAME, NAME2)                                                                                                    \
    __CUDA_INTEGERS(NAME, rn)                                                                                                              \
    __CUDA_INTEGERS(NAME, rz)                                                                                                              \
    __CUDA_INTEGERS(NAME, rd)                                                                                                              \
    __CUDA_INTEGERS(NAME, ru)                                                                                                              \
    __CUDA_DIRECTED(NAME, rz)                                                                                                              \
    __CUDA_DIRECTED(NAME, rd)                                                                                                              \
    __CUDA_DIRECTED(NAME, ru)                                                                                                              \
    __CUDA_HALF __CUDA_T __double2##NAME(double a) { return __cuda_half::of_bits<__CUDA_T>(__CUDA_T_FORMAT::from_double(a)); }             \
    __CUDA_HALF signed char __##NAME##2char_rz(__CUDA_T a) { return __cuda_convert::integer<signed char, __cuda_convert::rz>(__cuda_half::wide(a)); } \
    __CUDA_HALF unsigned char __##NAME##2uchar_rz(__CUDA_T a) { return __cuda_convert::integer<unsigned char, __cuda_convert::rz>(__cuda_half::wide(a)); }
__CUDA_T_NAMES(__CUDA_CONVERSIONS)
#undef __CUDA_CONVERSIONS
#undef __CUDA_DIRECTED
#undef __CUDA_INTEGERS
#undef __CUDA_ROUNDED
