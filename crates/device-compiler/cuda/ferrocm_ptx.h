// Inline PTX as functions: kernel-build replaces each instruction by a call of one of these.
//
// Registers are bits: a function reads an argument as its instruction's type, and writes its result as bits, too.
// Results come first, after the addresses.
#pragma once
// What a use of a macro with several definitions becomes: see `ptx::macros`.
#define __cuda_ptx_select_this(...) __VA_ARGS__
#include "ferrocm_letters_begin.h"
namespace __cuda_ptx {
#define __PTX static __device__ __attribute__((always_inline, unused)) inline

typedef _Float16 f16;
typedef __bf16 bf16;
typedef f16 f16x2 __attribute__((ext_vector_type(2)));
typedef bf16 bf16x2 __attribute__((ext_vector_type(2)));
typedef short s16x2 __attribute__((ext_vector_type(2)));
typedef unsigned short u16x2 __attribute__((ext_vector_type(2)));
typedef signed char s8x4 __attribute__((ext_vector_type(4)));
typedef unsigned char u8x4 __attribute__((ext_vector_type(4)));
typedef float f32x2 __attribute__((ext_vector_type(2)));
// Numbers of eight and four bits. An operand has several.
struct e4m3 {};
struct e5m2 {};
struct e2m1 {};
struct e2m3 {};
struct e3m2 {};
struct ue8m0 {};
struct s4 {};
struct u4 {};
struct b1 {};
template <typename A, typename B> struct both {};
typedef unsigned long long u64;
typedef unsigned u32;
// An unused result.
struct sink {};

template <unsigned N> struct bits_of;
template <> struct bits_of<1> { typedef unsigned char type; };
template <> struct bits_of<2> { typedef unsigned short type; };
template <> struct bits_of<4> { typedef unsigned type; };
template <> struct bits_of<8> { typedef unsigned long long type; };
template <> struct bits_of<16> { typedef unsigned __int128 type; };
template <unsigned N> using bits = typename bits_of<N>::type;
// Registers by the last character of an operand's constraint, which may be a macro.
template <unsigned N> constexpr __host__ __device__ char last(const char (&constraint)[N]) { return constraint[N - 2]; }
template <unsigned N> constexpr __host__ __device__ bool is_read(const char (&constraint)[N]) { return constraint[0] == '+'; }
// Whether two texts are the same; a statement's may be a macro.
template <unsigned N, unsigned M> constexpr __host__ __device__ bool is_text(const char (&a)[N], const char (&b)[M]) {
    if (N != M)
        return false;
    for (unsigned i = 0; i < N && i < M; i++)
        if (a[i] != b[i])
            return false;
    return true;
}
template <char C> struct register_of { static_assert(C < 0, "PTX has no operands with this constraint"); };
template <> struct register_of<'h'> { typedef unsigned short type; };
template <> struct register_of<'r'> { typedef unsigned type; };
template <> struct register_of<'l'> { typedef unsigned long long type; };
template <> struct register_of<'q'> { typedef unsigned __int128 type; };
template <> struct register_of<'f'> { typedef float type; };
template <> struct register_of<'d'> { typedef double type; };
template <> struct register_of<'n'> { typedef long long type; };
template <char C> using register_for = typename register_of<C>::type;

template <bool B, typename T, typename F> struct either { typedef T type; };
template <typename T, typename F> struct either<false, T, F> { typedef F type; };

// A register's contents as another type: its lower bits, or extended according to its own type.
template <typename T, typename R> __PTX T as(R value) {
    if constexpr (sizeof(T) == sizeof(R))
        return __builtin_bit_cast(T, value);
    else if constexpr (__is_pointer(R))
        return as<T>(reinterpret_cast<u64>(value));
    else if constexpr (sizeof(T) < sizeof(R))
        return __builtin_bit_cast(T, static_cast<bits<sizeof(T)>>(__builtin_bit_cast(bits<sizeof(R)>, value)));
    else if constexpr (__is_integral(R))
        return __builtin_bit_cast(T, static_cast<bits<sizeof(T)>>(value));
    else
        return __builtin_bit_cast(T, static_cast<bits<sizeof(T)>>(__builtin_bit_cast(bits<sizeof(R)>, value)));
}
// Writes a value to a register, which may be wider. Integers are extended according to their type.
template <typename R, typename T> __PTX void set(R &to, T value) {
    if constexpr (__is_same(R, sink))
        return;
    else if constexpr (sizeof(R) == sizeof(T))
        __builtin_memcpy(&to, &value, sizeof(T));
    else if constexpr (__is_integral(T) && __is_integral(R))
        to = static_cast<R>(value);
    else if constexpr (sizeof(R) > sizeof(T)) {
        const bits<sizeof(R)> wide = __builtin_bit_cast(bits<sizeof(T)>, value);
        __builtin_memcpy(&to, &wide, sizeof(R));
    } else
        __builtin_memcpy(&to, &value, sizeof(R));
}

// A value that the compiler must have in a register, and may have changed. Host code has such statements, too.
template <typename T> static __host__ __device__ __attribute__((always_inline, unused)) inline void keep(T &&value) {
#ifdef __HIP_DEVICE_COMPILE__
    u32 words[(sizeof(value) + 3) / 4] = {};
    __builtin_memcpy(words, &value, sizeof(value));
    for (u32 &word : words)
        __asm__ volatile("" : "+v"(word));
    if constexpr (__is_assignable(T, decltype(value)))
        __builtin_memcpy(&value, words, sizeof(value));
#else
    __asm__ volatile("" : : "g"(&value) : "memory");
#endif
}

// Addresses
template <typename T, typename A> __PTX T *generic(A at) { return reinterpret_cast<T *>(as<u64>(at)); }
template <typename T, typename A> __PTX T *shared(A at) {
    return (T *)reinterpret_cast<__attribute__((address_space(3))) T *>(as<u32>(at));
}

// Numbers of a type that may be a vector, one by one.
template <typename T> struct parts { static constexpr unsigned count = 1; };
template <> struct parts<f16x2> { static constexpr unsigned count = 2; };
template <> struct parts<bf16x2> { static constexpr unsigned count = 2; };
template <> struct parts<f32x2> { static constexpr unsigned count = 2; };
template <> struct parts<s16x2> { static constexpr unsigned count = 2; };
template <> struct parts<u16x2> { static constexpr unsigned count = 2; };
template <> struct parts<s8x4> { static constexpr unsigned count = 4; };
template <> struct parts<u8x4> { static constexpr unsigned count = 4; };
#define __PTX_EACH(NAME, OPERATION)                                                                                           \
    template <typename T> __PTX T NAME(T a, T b) {                                                                            \
        if constexpr (parts<T>::count == 1)                                                                                   \
            return OPERATION(a, b);                                                                                           \
        else {                                                                                                                \
            T result;                                                                                                         \
            for (unsigned i = 0; i < parts<T>::count; i++) {                                                                  \
                const auto x = a[i], y = b[i];                                                                                \
                result[i] = OPERATION(x, y);                                                                                  \
            }                                                                                                                 \
            return result;                                                                                                    \
        }                                                                                                                     \
    }

// Subnormal numbers become zeros with their sign.
template <typename T> __PTX T flush(T a) {
    if constexpr (parts<T>::count > 1) {
        for (unsigned i = 0; i < parts<T>::count; i++)
            a[i] = flush(static_cast<decltype(a[0] + a[0])>(a[i]));
        return a;
    } else if constexpr (sizeof(T) == 2)
        return (as<unsigned short>(a) & 0x7c00) == 0 ? as<T>(static_cast<unsigned short>(as<unsigned short>(a) & 0x8000)) : a;
    else
        return (as<u32>(a) & 0x7f800000) == 0 ? as<T>(as<u32>(a) & 0x80000000u) : a;
}
template <typename T, typename A> __PTX T flushed(A a) { return flush(as<T>(a)); }

// Arithmetic
#define __PTX_BINARY(NAME, EXPRESSION)                                                                                        \
    template <typename T, typename D, typename A, typename B> __PTX void NAME(D &d, A ra, B rb) {                             \
        const T a = as<T>(ra), b = as<T>(rb);                                                                                 \
        set(d, static_cast<T>(EXPRESSION));                                                                                   \
    }
#define __PTX_UNARY(NAME, EXPRESSION)                                                                                         \
    template <typename T, typename D, typename A> __PTX void NAME(D &d, A ra) {                                               \
        const T a = as<T>(ra);                                                                                                \
        set(d, static_cast<T>(EXPRESSION));                                                                                   \
    }
// Signed sums and products wrap, so they are computed as unsigned ones.
template <typename T> struct wrapping_of { typedef typename either<__is_integral(T), bits<sizeof(T)>, T>::type type; };
template <typename T> using wrapping = typename wrapping_of<T>::type;
__PTX_BINARY(add, static_cast<wrapping<T>>(a) + static_cast<wrapping<T>>(b))
__PTX_BINARY(sub, static_cast<wrapping<T>>(a) - static_cast<wrapping<T>>(b))
__PTX_BINARY(mul, static_cast<wrapping<T>>(a) * static_cast<wrapping<T>>(b))
__PTX_BINARY(div, a / b)
__PTX_BINARY(rem, a % b)
__PTX_BINARY(band, a & b)
__PTX_BINARY(bor, a | b)
__PTX_BINARY(bxor, a ^ b)
__PTX_UNARY(cnot, a == 0 ? 1 : 0)
template <typename T, typename D, typename A> __PTX void bnot(D &d, A ra) {
    const T a = as<T>(ra);
    if constexpr (__is_same(T, bool))
        set(d, !a);
    else
        set(d, static_cast<T>(~a));
}
__PTX_UNARY(mov, a)
// The product of the lower 24 bits of each.
template <typename T, typename A, typename B> __PTX u64 product24(A a, B b) {
    typedef typename either<(static_cast<T>(-1) < 0), long long, u64>::type wide;
    return static_cast<u64>(static_cast<wide>(static_cast<T>(as<u32>(a) << 8) >> 8) * static_cast<wide>(static_cast<T>(as<u32>(b) << 8) >> 8));
}
template <typename T, typename D, typename A, typename B> __PTX void mul24_lo(D &d, A a, B b) { set(d, static_cast<u32>(product24<T>(a, b))); }
template <typename T, typename D, typename A, typename B> __PTX void mul24_hi(D &d, A a, B b) { set(d, static_cast<u32>(product24<T>(a, b) >> 16)); }
template <typename T, typename D, typename A, typename B, typename C> __PTX void mad24_lo(D &d, A a, B b, C c) {
    set(d, static_cast<u32>(product24<T>(a, b)) + as<u32>(c));
}
template <typename T, typename D, typename A, typename B, typename C> __PTX void mad24_hi(D &d, A a, B b, C c) {
    set(d, static_cast<u32>(product24<T>(a, b) >> 16) + as<u32>(c));
}
template <typename T, typename D, typename A, typename B, typename C> __PTX void mad24_hi_sat(D &d, A a, B b, C c) {
    set(d, __builtin_elementwise_add_sat(static_cast<int>(product24<int>(a, b) >> 16), as<int>(c)));
}
template <typename T, typename D, typename A, typename B> __PTX void mul_hi(D &d, A a, B b) {
    if constexpr (sizeof(T) == 8 && static_cast<T>(-1) < 0)
        set(d, static_cast<T>(__mul64hi(as<T>(a), as<T>(b))));
    else if constexpr (sizeof(T) == 8)
        set(d, static_cast<T>(__umul64hi(as<T>(a), as<T>(b))));
    else
        set(d, static_cast<T>((static_cast<typename either<(static_cast<T>(-1) < 0), long long, u64>::type>(as<T>(a)) * as<T>(b)) >> (8 * sizeof(T))));
}
template <typename T, typename D, typename A, typename B> __PTX void mul_wide(D &d, A a, B b) {
    typedef typename either<(static_cast<T>(-1) < 0), long long, u64>::type wide;
    set(d, static_cast<typename either<sizeof(T) == 2, typename either<(static_cast<T>(-1) < 0), int, u32>::type, wide>::type>(
               static_cast<wide>(as<T>(a)) * static_cast<wide>(as<T>(b))));
}
template <typename T, typename D, typename A, typename B, typename C> __PTX void mad(D &d, A a, B b, C c) {
    set(d, static_cast<T>(static_cast<wrapping<T>>(as<T>(a)) * static_cast<wrapping<T>>(as<T>(b)) + static_cast<wrapping<T>>(as<T>(c))));
}
template <typename T, typename D, typename A, typename B, typename C> __PTX void mad_hi(D &d, A a, B b, C c) {
    T high;
    mul_hi<T>(high, a, b);
    set(d, static_cast<T>(static_cast<wrapping<T>>(high) + static_cast<wrapping<T>>(as<T>(c))));
}
template <typename T, typename D, typename A, typename B, typename C> __PTX void mad_hi_sat(D &d, A a, B b, C c) {
    T high;
    mul_hi<T>(high, a, b);
    set(d, __builtin_elementwise_add_sat(high, as<T>(c)));
}
template <typename T, typename D, typename A, typename B, typename C> __PTX void mad_wide(D &d, A a, B b, C c) {
    u64 product;
    mul_wide<T>(product, a, b);
    set(d, static_cast<bits<sizeof(D)>>(product + as<u64>(c)));
}
// A product and a sum, rounded once. For bf16, f32 has too few bits: its result is made odd if it is not exact.
__PTX float odd_fma(float a, float b, float c) {
    const float product = a * b, sum = product + c;
    const float back = sum - product, rest = (product - (sum - back)) + (c - back);
    const u32 bits = as<u32>(sum);
    if (rest != rest || rest == 0 || (bits & 1) != 0)
        return sum;
    // Towards the exact sum, if that is nearer to zero.
    return as<float>((rest < 0) == (sum < 0) ? bits + 1 : bits - 1);
}
template <typename T> __PTX T fused(T a, T b, T c) {
    if constexpr (__is_same(T, bf16))
        return static_cast<bf16>(odd_fma(static_cast<float>(a), static_cast<float>(b), static_cast<float>(c)));
    else if constexpr (__is_same(T, bf16x2))
        return bf16x2{fused<bf16>(a[0], b[0], c[0]), fused<bf16>(a[1], b[1], c[1])};
    else
        return __builtin_elementwise_fma(a, b, c);
}
template <typename T, typename D, typename A, typename B, typename C> __PTX void fma(D &d, A a, B b, C c) {
    set(d, fused<T>(as<T>(a), as<T>(b), as<T>(c)));
}

// The smaller and the larger: -0 is below 0, and a NaN counts only if both are.
template <typename T> __PTX T smaller(T a, T b) {
    if constexpr (__is_integral(T))
        return b < a ? b : a;
    else
        return a != a ? b : b != b ? a : b < a || (b == a && __builtin_signbit(static_cast<float>(b))) ? b : a;
}
template <typename T> __PTX T larger(T a, T b) {
    if constexpr (__is_integral(T))
        return a < b ? b : a;
    else
        return a != a ? b : b != b ? a : a < b || (b == a && __builtin_signbit(static_cast<float>(a))) ? b : a;
}
// Or a NaN counts if one is.
template <typename T> __PTX T smaller_nan(T a, T b) { return a != a ? a : b != b ? b : smaller(a, b); }
template <typename T> __PTX T larger_nan(T a, T b) { return a != a ? a : b != b ? b : larger(a, b); }
// The magnitude of the result, with the sign that the product would have.
template <typename T> __PTX T with_sign(T magnitude, T a, T b) {
    typedef bits<sizeof(T)> word;
    constexpr word sign = static_cast<word>(word(1) << (8 * sizeof(T) - 1));
    return as<T>(static_cast<word>((as<word>(magnitude) & ~sign) | ((as<word>(a) ^ as<word>(b)) & sign)));
}
template <typename T> __PTX T magnitude(T a) { return with_sign(a, a, a); }
template <typename T> __PTX T smaller_xorsign(T a, T b) { return with_sign(smaller(magnitude(a), magnitude(b)), a, b); }
template <typename T> __PTX T larger_xorsign(T a, T b) { return with_sign(larger(magnitude(a), magnitude(b)), a, b); }
template <typename T> __PTX T smaller_nan_xorsign(T a, T b) { return with_sign(smaller_nan(magnitude(a), magnitude(b)), a, b); }
template <typename T> __PTX T larger_nan_xorsign(T a, T b) { return with_sign(larger_nan(magnitude(a), magnitude(b)), a, b); }
__PTX_EACH(each_smaller, smaller)
__PTX_EACH(each_larger, larger)
__PTX_EACH(each_smaller_nan, smaller_nan)
__PTX_EACH(each_larger_nan, larger_nan)
__PTX_EACH(each_smaller_xorsign, smaller_xorsign)
__PTX_EACH(each_larger_xorsign, larger_xorsign)
__PTX_EACH(each_smaller_nan_xorsign, smaller_nan_xorsign)
__PTX_EACH(each_larger_nan_xorsign, larger_nan_xorsign)
// For f32 of one operand more, too.
#define __PTX_CHOICE(NAME, FUNCTION)                                                                                          \
    template <typename T, typename D, typename A, typename B> __PTX void NAME(D &d, A a, B b) { set(d, FUNCTION<T>(as<T>(a), as<T>(b))); } \
    template <typename T, typename D, typename A, typename B, typename C> __PTX void NAME(D &d, A a, B b, C c) {              \
        set(d, FUNCTION<T>(FUNCTION<T>(as<T>(a), as<T>(b)), as<T>(c)));                                                       \
    }
__PTX_CHOICE(min_, each_smaller)
__PTX_CHOICE(max_, each_larger)
__PTX_CHOICE(min_nan, each_smaller_nan)
__PTX_CHOICE(max_nan, each_larger_nan)
__PTX_CHOICE(min_xorsign_abs, each_smaller_xorsign)
__PTX_CHOICE(max_xorsign_abs, each_larger_xorsign)
__PTX_CHOICE(min_nan_xorsign_abs, each_smaller_nan_xorsign)
__PTX_CHOICE(max_nan_xorsign_abs, each_larger_nan_xorsign)
#undef __PTX_CHOICE
// Negative results become zero, a NaN stays.
template <typename T> __PTX T not_negative(T a) { return a < T(0) ? T(0) : a; }
template <typename T> __PTX T not_negative_of(T a, T) { return not_negative(a); }
__PTX_EACH(each_not_negative, not_negative_of)
template <typename T, typename D, typename A, typename B> __PTX void min_relu(D &d, A a, B b) {
    const T least = each_smaller<T>(as<T>(a), as<T>(b));
    set(d, each_not_negative(least, least));
}
template <typename T, typename D, typename A, typename B> __PTX void max_relu(D &d, A a, B b) {
    const T most = each_larger<T>(as<T>(a), as<T>(b));
    set(d, each_not_negative(most, most));
}
template <typename T, typename D, typename A, typename B, typename C> __PTX void fma_relu(D &d, A a, B b, C c) {
    const T sum = fused<T>(as<T>(a), as<T>(b), as<T>(c));
    set(d, each_not_negative(sum, sum));
}
template <typename T, typename D, typename A> __PTX void neg(D &d, A ra) {
    const T a = as<T>(ra);
    if constexpr (__is_integral(T))
        set(d, static_cast<T>(0 - static_cast<wrapping<T>>(a)));
    else
        set(d, -a);
}
template <typename T, typename D, typename A> __PTX void abs_(D &d, A ra) {
    const T a = as<T>(ra);
    if constexpr (__is_integral(T))
        set(d, static_cast<T>(a < 0 ? 0 - static_cast<wrapping<T>>(a) : a));
    else
        set(d, __builtin_elementwise_abs(a));
}
// Numbers are clamped to 0 to 1; NaN becomes 0.
template <typename T> __PTX T clamped_unit(T a, T) { return a > T(0) ? (a < T(1) ? a : T(1)) : T(0); }
__PTX_EACH(each_unit, clamped_unit)
template <typename T> __PTX T unit(T a) { return each_unit(a, a); }
// Whole numbers saturate at the ends of their type.
template <typename T> struct is_whole { static constexpr bool value = __is_integral(T); };
template <> struct is_whole<s16x2> { static constexpr bool value = true; };
template <> struct is_whole<u16x2> { static constexpr bool value = true; };
template <> struct is_whole<s8x4> { static constexpr bool value = true; };
template <> struct is_whole<u8x4> { static constexpr bool value = true; };
template <typename T, typename D, typename A, typename B> __PTX void add_sat(D &d, A a, B b) {
    if constexpr (is_whole<T>::value)
        set(d, __builtin_elementwise_add_sat(as<T>(a), as<T>(b)));
    else
        set(d, unit<T>(as<T>(a) + as<T>(b)));
}
template <typename T, typename D, typename A, typename B> __PTX void sub_sat(D &d, A a, B b) {
    if constexpr (is_whole<T>::value)
        set(d, __builtin_elementwise_sub_sat(as<T>(a), as<T>(b)));
    else
        set(d, unit<T>(as<T>(a) - as<T>(b)));
}
template <typename T, typename D, typename A, typename B> __PTX void mul_sat(D &d, A a, B b) { set(d, unit<T>(as<T>(a) * as<T>(b))); }
template <typename T, typename D, typename A, typename B, typename C> __PTX void fma_sat(D &d, A a, B b, C c) {
    set(d, unit<T>(fused<T>(as<T>(a), as<T>(b), as<T>(c))));
}
template <typename T, typename D, typename A, typename B, typename C> __PTX void sad(D &d, A ra, B rb, C c) {
    const T a = as<T>(ra), b = as<T>(rb);
    typedef bits<sizeof(T)> word;
    // The difference may need all bits, without a sign.
    const word distance = static_cast<word>(a < b ? static_cast<word>(b) - static_cast<word>(a) : static_cast<word>(a) - static_cast<word>(b));
    set(d, static_cast<word>(as<word>(c) + distance));
}

// Approximations: the hardware's instruction, or the library's function if there is none.
template <bool Flush> __PTX float power_of_2(float a) {
    if constexpr (Flush)
        return __builtin_amdgcn_exp2f(a);
    else
        return __builtin_exp2f(a);
}
template <bool Flush, typename T, typename D, typename A> __PTX void ex2_of(D &d, A ra) {
    const T a = as<T>(ra);
    // Of halves, the exponent's small numbers are large enough for the hardware's instruction.
    if constexpr (parts<T>::count > 1) {
        T result;
        for (int i = 0; i < 2; i++)
            result[i] = power_of_2<__is_same(T, f16x2)>(static_cast<float>(a[i]));
        set(d, result);
    } else
        set(d, static_cast<T>(power_of_2<(Flush || __is_same(T, f16))>(static_cast<float>(a))));
}
template <typename T, typename D, typename A> __PTX void ex2(D &d, A a) { ex2_of<false, T>(d, a); }
template <typename T, typename D, typename A> __PTX void ex2_ftz(D &d, A a) { ex2_of<true, T>(d, a); }
__PTX_UNARY(lg2, static_cast<T>(__builtin_log2f(a)))
__PTX_UNARY(lg2_ftz, static_cast<T>(__builtin_amdgcn_logf(a)))
__PTX_UNARY(rcp, T(1) / a)
__PTX_UNARY(sqrt_, __builtin_elementwise_sqrt(a))
__PTX_UNARY(rsqrt_, T(1) / __builtin_elementwise_sqrt(a))
__PTX_UNARY(sin_, static_cast<T>(__sinf(a)))
__PTX_UNARY(cos_, static_cast<T>(__cosf(a)))
template <typename T, typename D, typename A> __PTX void tanh_(D &d, A ra) {
    if constexpr (__is_same(T, f16x2) || __is_same(T, bf16x2)) {
        const T a = as<T>(ra);
        T result;
        for (int i = 0; i < 2; i++)
            result[i] = ::tanhf(static_cast<float>(a[i]));
        set(d, result);
    } else
        set(d, static_cast<T>(::tanhf(static_cast<float>(as<T>(ra)))));
}

// Other rounding modes, for f32.
#define __PTX_ROUNDED(END, D)                                                                                                                   \
    template <typename T> __PTX void add_##END(float &d, float a, float b) { static_assert(__is_same(T, float)); d = __f##add_##D(a, b); }       \
    template <typename T> __PTX void sub_##END(float &d, float a, float b) { static_assert(__is_same(T, float)); d = __f##sub_##D(a, b); }       \
    template <typename T> __PTX void mul_##END(float &d, float a, float b) { static_assert(__is_same(T, float)); d = __f##mul_##D(a, b); }       \
    template <typename T> __PTX void div_##END(float &d, float a, float b) { static_assert(__is_same(T, float)); d = __f##div_##D(a, b); }       \
    template <typename T> __PTX void fma_##END(float &d, float a, float b, float c) { static_assert(__is_same(T, float)); d = __fmaf_##D(a, b, c); } \
    template <typename T> __PTX void rcp_##END(float &d, float a) { static_assert(__is_same(T, float)); d = __frcp_##D(a); }                     \
    template <typename T> __PTX void sqrt_##END(float &d, float a) { static_assert(__is_same(T, float)); d = __fsqrt_##D(a); }
__PTX_ROUNDED(rz, rz)
__PTX_ROUNDED(rm, rd)
__PTX_ROUNDED(rp, ru)

// Sums of several words. Each statement has its own carry.
template <bool Set, typename T, typename D, typename A, typename B> __PTX void add_with(bool &carry, bool in, D &d, A ra, B rb) {
    typedef bits<sizeof(T)> word;
    const word a = as<word>(ra), b = as<word>(rb), partial = a + b, sum = partial + in;
    if constexpr (Set)
        carry = partial < a || sum < partial;
    set(d, sum);
}
template <bool Set, typename T, typename D, typename A, typename B> __PTX void sub_with(bool &carry, bool in, D &d, A ra, B rb) {
    typedef bits<sizeof(T)> word;
    const word a = as<word>(ra), b = as<word>(rb);
    if constexpr (Set)
        carry = a < b || (in && a == b);
    set(d, static_cast<word>(a - b - in));
}
template <bool High, bool Set, typename T, typename D, typename A, typename B, typename C>
__PTX void mad_with(bool &carry, bool in, D &d, A a, B b, C c) {
    bits<sizeof(T)> product;
    if constexpr (High)
        mul_hi<T>(product, a, b);
    else
        mul<T>(product, a, b);
    add_with<Set, T>(carry, in, d, product, c);
}
template <bool Set, typename T, typename... A> __PTX void mad_low_with(bool &carry, bool in, A &&...all) { mad_with<false, Set, T>(carry, in, all...); }
template <bool Set, typename T, typename... A> __PTX void mad_high_with(bool &carry, bool in, A &&...all) { mad_with<true, Set, T>(carry, in, all...); }
#define __PTX_CARRY(NAME, IN, CALL, SET)                                                                                           \
    template <typename T, typename D, typename A, typename B> __PTX void NAME(D &d, A a, B b, bool &carry) { CALL<SET, T>(carry, IN, d, a, b); }
#define __PTX_CARRY_3(NAME, IN, CALL, SET)                                                                                         \
    template <typename T, typename D, typename A, typename B, typename C> __PTX void NAME(D &d, A a, B b, C c, bool &carry) { CALL<SET, T>(carry, IN, d, a, b, c); }
__PTX_CARRY(add_cc, false, add_with, true)
__PTX_CARRY(addc, carry, add_with, false)
__PTX_CARRY(addc_cc, carry, add_with, true)
__PTX_CARRY(sub_cc, false, sub_with, true)
__PTX_CARRY(subc, carry, sub_with, false)
__PTX_CARRY(subc_cc, carry, sub_with, true)
__PTX_CARRY_3(mad_lo_cc, false, mad_low_with, true)
__PTX_CARRY_3(mad_hi_cc, false, mad_high_with, true)
__PTX_CARRY_3(madc_lo, carry, mad_low_with, false)
__PTX_CARRY_3(madc_hi, carry, mad_high_with, false)
__PTX_CARRY_3(madc_lo_cc, carry, mad_low_with, true)
__PTX_CARRY_3(madc_hi_cc, carry, mad_high_with, true)
#undef __PTX_CARRY
#undef __PTX_CARRY_3

// The sign of the first, the magnitude of the second.
__PTX_BINARY(copysign_, __builtin_copysign(b, a))
template <typename D, typename A, typename B, typename C> __PTX void fns(D &d, A mask, B base, C offset) {
    set(d, ::__fns(as<u32>(mask), as<u32>(base), as<int>(offset)));
}
template <typename T, typename S, typename D, typename A, typename B, typename C> __PTX void slct(D &d, A a, B b, C c) {
    set(d, as<S>(c) >= S(0) ? as<T>(a) : as<T>(b));
}
#define __PTX_TEST(NAME, EXPRESSION)                                                                                          \
    template <typename T, typename D, typename A> __PTX void testp_##NAME(D &d, A ra) {                                       \
        const T a = as<T>(ra);                                                                                                \
        set(d, static_cast<bool>(EXPRESSION));                                                                                \
    }
__PTX_TEST(finite, a - a == 0)
__PTX_TEST(normal, __builtin_isnormal(a))
__PTX_TEST(subnormal, a - a == 0 && a != 0 && !__builtin_isnormal(a))
__PTX_TEST(infinite, __builtin_isinf(a))
__PTX_TEST(number, a == a)
__PTX_TEST(notanumber, a != a)
#undef __PTX_TEST
#undef __PTX_ROUNDED
#undef __PTX_EACH
#undef __PTX_UNARY
#undef __PTX_BINARY
#undef __PTX
} // namespace __cuda_ptx
#include "ferrocm_letters_end.h"
#include "ferrocm_ptx_bits.h"
#include "ferrocm_ptx_convert.h"
#include "ferrocm_ptx_memory.h"
#include "ferrocm_ptx_warp.h"
#include "ferrocm_ptx_matrix.h"
