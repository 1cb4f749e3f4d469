// Inline PTX as functions: kernel-build replaces each instruction by a call of one of these.
//
// Registers are bits: a function reads an argument as its instruction's type, and writes its result as bits, too.
// Results come first, after the addresses.
#pragma once
#include "ferrocm_letters_begin.h"
namespace __cuda_ptx {
#define __PTX static __device__ __attribute__((always_inline, unused)) inline

typedef _Float16 f16;
typedef __bf16 bf16;
typedef f16 f16x2 __attribute__((ext_vector_type(2)));
typedef bf16 bf16x2 __attribute__((ext_vector_type(2)));
typedef short s16x2 __attribute__((ext_vector_type(2)));
typedef unsigned short u16x2 __attribute__((ext_vector_type(2)));
// Numbers of eight and four bits. An operand has several.
struct e4m3 {};
struct e5m2 {};
struct s4 {};
struct u4 {};
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
template <unsigned N> using bits = typename bits_of<N>::type;
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

// Addresses
template <typename T, typename A> __PTX T *generic(A at) { return reinterpret_cast<T *>(as<u64>(at)); }
template <typename T, typename A> __PTX T *shared(A at) {
    return (T *)reinterpret_cast<__attribute__((address_space(3))) T *>(as<u32>(at));
}

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
__PTX_UNARY(bnot, ~a)
__PTX_UNARY(mov, a)
template <typename T, typename D, typename A, typename B> __PTX void mul24(D &d, A a, B b) {
    const int shift = 8;
    set(d, static_cast<T>((static_cast<T>(as<T>(a) << shift) >> shift) * (static_cast<T>(as<T>(b) << shift) >> shift)));
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
template <typename T, typename D, typename A, typename B, typename C> __PTX void mad_wide(D &d, A a, B b, C c) {
    u64 product;
    mul_wide<T>(product, a, b);
    set(d, static_cast<bits<sizeof(D)>>(product + as<u64>(c)));
}
template <typename T, typename D, typename A, typename B, typename C> __PTX void fma(D &d, A a, B b, C c) {
    set(d, __builtin_elementwise_fma(as<T>(a), as<T>(b), as<T>(c)));
}
template <typename T, typename D, typename A, typename B, typename C> __PTX void fma_relu(D &d, A a, B b, C c) {
    const T sum = __builtin_elementwise_fma(as<T>(a), as<T>(b), as<T>(c));
    set(d, __builtin_elementwise_max(sum, static_cast<T>(0)));
}
template <typename T, typename D, typename A, typename B> __PTX void min_(D &d, A a, B b) { set(d, __builtin_elementwise_min(as<T>(a), as<T>(b))); }
template <typename T, typename D, typename A, typename B, typename C> __PTX void min_(D &d, A a, B b, C c) {
    set(d, __builtin_elementwise_min(__builtin_elementwise_min(as<T>(a), as<T>(b)), as<T>(c)));
}
template <typename T, typename D, typename A, typename B> __PTX void max_(D &d, A a, B b) { set(d, __builtin_elementwise_max(as<T>(a), as<T>(b))); }
template <typename T, typename D, typename A, typename B, typename C> __PTX void max_(D &d, A a, B b, C c) {
    set(d, __builtin_elementwise_max(__builtin_elementwise_max(as<T>(a), as<T>(b)), as<T>(c)));
}
// A NaN operand makes the result a NaN.
template <typename T, typename D, typename A, typename B> __PTX void min_nan(D &d, A a, B b) { set(d, __builtin_elementwise_minimum(as<T>(a), as<T>(b))); }
template <typename T, typename D, typename A, typename B> __PTX void max_nan(D &d, A a, B b) { set(d, __builtin_elementwise_maximum(as<T>(a), as<T>(b))); }
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
template <typename T> __PTX T unit(T a) { return a > T(0) ? (a < T(1) ? a : T(1)) : T(0); }
template <typename T, typename D, typename A, typename B> __PTX void add_sat(D &d, A a, B b) {
    if constexpr (__is_integral(T))
        set(d, __builtin_elementwise_add_sat(as<T>(a), as<T>(b)));
    else
        set(d, unit<T>(as<T>(a) + as<T>(b)));
}
template <typename T, typename D, typename A, typename B> __PTX void sub_sat(D &d, A a, B b) {
    if constexpr (__is_integral(T))
        set(d, __builtin_elementwise_sub_sat(as<T>(a), as<T>(b)));
    else
        set(d, unit<T>(as<T>(a) - as<T>(b)));
}
template <typename T, typename D, typename A, typename B> __PTX void mul_sat(D &d, A a, B b) { set(d, unit<T>(as<T>(a) * as<T>(b))); }
template <typename T, typename D, typename A, typename B, typename C> __PTX void fma_sat(D &d, A a, B b, C c) {
    set(d, unit<T>(__builtin_elementwise_fma(as<T>(a), as<T>(b), as<T>(c))));
}
template <typename T, typename D, typename A, typename B, typename C> __PTX void sad(D &d, A ra, B rb, C c) {
    const T a = as<T>(ra), b = as<T>(rb);
    set(d, static_cast<T>(as<T>(c) + (a < b ? b - a : a - b)));
}

// Approximations: the hardware's instruction, or the library's function if there is none.
template <typename T, typename D, typename A> __PTX void ex2(D &d, A ra) {
    const T a = as<T>(ra);
    if constexpr (__is_same(T, f16x2) || __is_same(T, bf16x2)) {
        T result;
        for (int i = 0; i < 2; i++)
            result[i] = __builtin_amdgcn_exp2f(static_cast<float>(a[i]));
        set(d, result);
    } else
        set(d, static_cast<T>(__builtin_amdgcn_exp2f(static_cast<float>(a))));
}
__PTX_UNARY(lg2, static_cast<T>(__builtin_amdgcn_logf(a)))
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
__PTX_TEST(infinite, __builtin_isinf(a))
__PTX_TEST(number, a == a)
__PTX_TEST(notanumber, a != a)
#undef __PTX_TEST

// Bits
template <typename T, typename D, typename A, typename B> __PTX void shl(D &d, A a, B b) {
    const u32 by = as<u32>(b);
    set(d, static_cast<T>(by >= 8 * sizeof(T) ? 0 : as<bits<sizeof(T)>>(a) << by));
}
template <typename T, typename D, typename A, typename B> __PTX void shr(D &d, A ra, B b) {
    const T a = as<T>(ra);
    const u32 by = as<u32>(b), most = 8 * sizeof(T) - 1;
    set(d, static_cast<T>(by > most ? (a < T(0) ? T(-1) : T(0)) : a >> by));
}
template <typename D, typename A, typename B, typename C> __PTX void shf_l_wrap(D &d, A a, B b, C c) {
    set(d, static_cast<u32>((static_cast<u64>(as<u32>(b)) << 32 | as<u32>(a)) << (as<u32>(c) & 31) >> 32));
}
template <typename D, typename A, typename B, typename C> __PTX void shf_r_wrap(D &d, A a, B b, C c) {
    set(d, static_cast<u32>((static_cast<u64>(as<u32>(b)) << 32 | as<u32>(a)) >> (as<u32>(c) & 31)));
}
template <typename D, typename A, typename B, typename C> __PTX void shf_l_clamp(D &d, A a, B b, C c) {
    const u32 by = as<u32>(c) < 32 ? as<u32>(c) : 32;
    set(d, static_cast<u32>((static_cast<u64>(as<u32>(b)) << 32 | as<u32>(a)) << by >> 32));
}
template <typename D, typename A, typename B, typename C> __PTX void shf_r_clamp(D &d, A a, B b, C c) {
    const u32 by = as<u32>(c) < 32 ? as<u32>(c) : 32;
    set(d, static_cast<u32>((static_cast<u64>(as<u32>(b)) << 32 | as<u32>(a)) >> by));
}
template <typename D, typename A, typename B, typename C, typename L> __PTX void lop3(D &d, A ra, B rb, C rc, L lut) {
    const u32 a = as<u32>(ra), b = as<u32>(rb), c = as<u32>(rc), table = as<u32>(lut);
    u32 result = 0;
    for (u32 row = 0; row < 8; row++)
        if (table >> row & 1)
            result |= (row & 4 ? a : ~a) & (row & 2 ? b : ~b) & (row & 1 ? c : ~c);
    set(d, result);
}
template <typename D, typename A, typename B, typename S> __PTX void prmt(D &d, A a, B b, S select) {
    const u64 both = static_cast<u64>(as<u32>(b)) << 32 | as<u32>(a);
    u32 result = 0;
    for (u32 i = 0; i < 4; i++) {
        const u32 nibble = as<u32>(select) >> (4 * i) & 15;
        u32 byte = static_cast<u32>(both >> (8 * (nibble & 7))) & 0xff;
        if (nibble & 8)
            byte = byte & 0x80 ? 0xff : 0;
        result |= byte << (8 * i);
    }
    set(d, result);
}
template <typename T, typename D, typename A, typename B, typename C> __PTX void bfe(D &d, A ra, B rb, C rc) {
    const u32 width = 8 * sizeof(T), at = as<u32>(rb) & 0xff, length = as<u32>(rc) & 0xff;
    const T a = as<T>(ra);
    const bits<sizeof(T)> sign = length == 0 ? 0 : as<bits<sizeof(T)>>(a) >> (at + length - 1 < width - 1 ? at + length - 1 : width - 1) & 1;
    bits<sizeof(T)> result = at >= width ? 0 : as<bits<sizeof(T)>>(a) >> at;
    const u32 have = at >= width ? 0 : (length < width - at ? length : width - at);
    const bits<sizeof(T)> mask = have >= width ? ~bits<sizeof(T)>(0) : (bits<sizeof(T)>(1) << have) - 1;
    result &= mask;
    if (static_cast<T>(-1) < 0 && sign)
        result |= length >= width ? (have >= width ? 0 : ~mask) : ~((bits<sizeof(T)>(1) << length) - 1) | (~mask);
    set(d, static_cast<T>(result));
}
template <typename T, typename D, typename A, typename B, typename P, typename L> __PTX void bfi(D &d, A a, B b, P at_, L length_) {
    const u32 width = 8 * sizeof(T), at = as<u32>(at_) & 0xff, length = as<u32>(length_) & 0xff;
    const bits<sizeof(T)> ones = length >= width ? ~bits<sizeof(T)>(0) : (bits<sizeof(T)>(1) << length) - 1;
    const bits<sizeof(T)> mask = at >= width ? 0 : ones << at, from = at >= width ? 0 : as<bits<sizeof(T)>>(a) << at;
    set(d, static_cast<bits<sizeof(T)>>((as<bits<sizeof(T)>>(b) & ~mask) | (from & mask)));
}
template <typename T, typename D, typename A> __PTX void bfind(D &d, A ra) {
    T a = as<T>(ra);
    if (static_cast<T>(-1) < 0 && a < T(0))
        a = ~a;
    set(d, a == 0 ? 0xffffffffu : static_cast<u32>(8 * sizeof(T) - 1 - (sizeof(T) == 8 ? __clzll(a) : __clz(a))));
}
template <typename T, typename D, typename A> __PTX void brev(D &d, A a) { set(d, static_cast<T>(__builtin_elementwise_bitreverse(as<T>(a)))); }
template <typename T, typename D, typename A> __PTX void popc(D &d, A a) { set(d, static_cast<u32>(__builtin_popcountll(as<T>(a)))); }
template <typename T, typename D, typename A> __PTX void clz(D &d, A a) { set(d, static_cast<u32>(sizeof(T) == 8 ? __clzll(as<T>(a)) : __clz(as<T>(a)))); }
template <typename T, typename U, typename D, typename A, typename B, typename C> __PTX void dp4a(D &d, A ra, B rb, C c) {
    const u32 a = as<u32>(ra), b = as<u32>(rb);
    typedef typename either<(static_cast<T>(-1) < 0), signed char, unsigned char>::type left;
    typedef typename either<(static_cast<U>(-1) < 0), signed char, unsigned char>::type right;
    u32 sum = as<u32>(c);
    if constexpr (static_cast<T>(-1) < 0 && static_cast<U>(-1) < 0)
        sum = static_cast<u32>(::__dp4a(static_cast<int>(a), static_cast<int>(b), static_cast<int>(sum)));
    else
        for (int at = 0; at < 32; at += 8)
            sum += static_cast<u32>(static_cast<left>(a >> at) * static_cast<right>(b >> at));
    set(d, sum);
}

// Comparisons and selections. A comparison with a NaN is false, except for those that end in `u`, and `nan`.
#define __PTX_COMPARE(NAME, EXPRESSION)                                                                                       \
    template <typename T, typename D, typename A, typename B> __PTX void NAME(D &d, A ra, B rb) {                             \
        const T a = as<T>(ra), b = as<T>(rb);                                                                                 \
        set(d, static_cast<bool>(EXPRESSION));                                                                                \
    }
__PTX_COMPARE(setp_eq, a == b)
__PTX_COMPARE(setp_ne, a != b && a == a && b == b)
__PTX_COMPARE(setp_lt, a < b)
__PTX_COMPARE(setp_le, a <= b)
__PTX_COMPARE(setp_gt, a > b)
__PTX_COMPARE(setp_ge, a >= b)
__PTX_COMPARE(setp_neu, a != b)
__PTX_COMPARE(setp_num, a == a && b == b)
__PTX_COMPARE(setp_nan, a != a || b != b)
// The same for two numbers in a word: ones and zeros of their type, or bits.
template <typename U, typename T, typename Test, typename D> __PTX void set_pair(D &d, T a, T b) {
    T numbers;
    u32 mask = 0;
    for (int i = 0; i < 2; i++) {
        const bool holds = Test::template of<float>(static_cast<float>(a[i]), static_cast<float>(b[i]));
        numbers[i] = holds ? 1.0f : 0.0f;
        mask |= holds ? 0xffffu << (16 * i) : 0;
    }
    if constexpr (__is_same(U, T))
        set(d, numbers);
    else
        set(d, mask);
}
// A test as a type, for its variants: with the opposite result, too; combined with another predicate; as ones or zeros.
#define __PTX_TEST(NAME)                                                                                                      \
    struct is_setp_##NAME {                                                                                                   \
        template <typename T, typename A, typename B> static __device__ __attribute__((always_inline)) bool of(A a, B b) {    \
            bool result;                                                                                                      \
            setp_##NAME<T>(result, a, b);                                                                                     \
            return result;                                                                                                    \
        }                                                                                                                     \
    };                                                                                                                        \
    template <typename U, typename T, typename D, typename A, typename B> __PTX void set_##NAME(D &d, A a, B b) {             \
        if constexpr (__is_same(T, f16x2) || __is_same(T, bf16x2))                                                            \
            set_pair<U, T, is_setp_##NAME>(d, as<T>(a), as<T>(b));                                                            \
        else if constexpr (__is_same(U, float))                                                                               \
            set(d, is_setp_##NAME::of<T>(a, b) ? 1.0f : 0.0f);                                                                \
        else                                                                                                                  \
            set(d, is_setp_##NAME::of<T>(a, b) ? ~0u : 0u);                                                                   \
    }
__PTX_TEST(eq)
__PTX_TEST(ne)
__PTX_TEST(lt)
__PTX_TEST(le)
__PTX_TEST(gt)
__PTX_TEST(ge)
__PTX_TEST(neu)
__PTX_TEST(num)
__PTX_TEST(nan)
#undef __PTX_TEST
struct join_and { static __device__ bool of(bool a, bool b) { return a && b; } };
struct join_or { static __device__ bool of(bool a, bool b) { return a || b; } };
struct join_xor { static __device__ bool of(bool a, bool b) { return a != b; } };
template <typename T, typename Test, typename P, typename Q, typename A, typename B> __PTX void setp_both(P &p, Q &q, A a, B b) {
    const bool holds = Test::template of<T>(a, b);
    set(p, holds), set(q, !holds);
}
template <typename T, typename Test, typename Join, typename P, typename A, typename B, typename C> __PTX void setp_joined(P &p, A a, B b, C c) {
    set(p, Join::of(Test::template of<T>(a, b), as<bool>(c)));
}
template <typename D, typename A, typename B> __PTX void setp_and(D &d, A a, B b) { set(d, as<bool>(a) && as<bool>(b)); }
template <typename T, typename D, typename A, typename B, typename P> __PTX void selp(D &d, A a, B b, P p) { set(d, p ? as<T>(a) : as<T>(b)); }

// Conversions. Modes: rn rounds to the nearest, rz towards zero, rm down, rp up.
enum mode { rn, rz, rm, rp };
template <typename T, mode M> __PTX T rounded(T a) {
    if constexpr (M == rz)
        return __builtin_elementwise_trunc(a);
    else if constexpr (M == rm)
        return __builtin_elementwise_floor(a);
    else if constexpr (M == rp)
        return __builtin_elementwise_ceil(a);
    else
        return __builtin_elementwise_roundeven(a);
}
template <typename T> __PTX T lowest() { return static_cast<T>(-1) < 0 ? static_cast<T>(bits<sizeof(T)>(1) << (8 * sizeof(T) - 1)) : T(0); }
template <typename T> __PTX T highest() { return static_cast<T>(~lowest<T>()); }
template <typename T, typename F> __PTX T narrowed(F a) {
    if constexpr (sizeof(F) == 2)
        return narrowed<T>(static_cast<float>(a));
    else {
        // The limits of the type, as numbers inside or just above its range.
        const F least = static_cast<F>(lowest<T>()), above = static_cast<F>(highest<T>() / 2 + 1) * F(2);
        return a != a ? T(0) : a < least ? lowest<T>() : a >= above ? highest<T>() : static_cast<T>(a);
    }
}
// Floating point to integer: a value that does not fit becomes the nearest that does, and NaN becomes zero.
template <mode M, typename T, typename F, typename D, typename A> __PTX void cvt_to_int(D &d, A a) { set(d, narrowed<T>(rounded<F, M>(as<F>(a)))); }
// Rounds to an integer of the same type.
template <mode M, typename T, typename F, typename D, typename A> __PTX void cvt_round(D &d, A a) { set(d, rounded<F, M>(as<F>(a))); }
template <typename T, typename F, typename D, typename A> __PTX void cvt(D &d, A a) { set(d, static_cast<T>(as<F>(a))); }
template <typename T, typename F, typename D, typename A> __PTX void cvt_sat(D &d, A ra) {
    const F a = as<F>(ra);
    if constexpr (__is_integral(T) && __is_integral(F)) {
        if constexpr (static_cast<F>(-1) < 0)
            set(d, static_cast<long long>(a) < (static_cast<T>(-1) < 0 ? static_cast<long long>(lowest<T>()) : 0) ? lowest<T>()
                   : a > 0 && static_cast<u64>(a) > static_cast<u64>(highest<T>())                                ? highest<T>()
                                                                                                                   : static_cast<T>(a));
        else
            set(d, static_cast<u64>(a) > static_cast<u64>(highest<T>()) ? highest<T>() : static_cast<T>(a));
    } else
        set(d, static_cast<T>(unit<F>(a)));
}
// Two numbers in a word. The first operand is the upper one.
template <typename T, typename F, typename D, typename A, typename B> __PTX void cvt_pair(D &d, A high, B low) {
    T both;
    both[0] = static_cast<decltype(both[0] + both[0])>(as<F>(low));
    both[1] = static_cast<decltype(both[0] + both[0])>(as<F>(high));
    set(d, both);
}
template <typename T, typename F, typename D, typename A, typename B> __PTX void cvt_pair_relu(D &d, A high, B low) {
    const F h = as<F>(high), l = as<F>(low);
    cvt_pair<T, F>(d, h > F(0) ? h : F(0), l > F(0) ? l : F(0));
}
template <typename D, typename A> __PTX void cvt_tf32(D &d, A a) {
    const u32 from = as<u32>(a);
    set(d, (from & 0x7fffffffu) > 0x7f800000u ? from : (from + 0x1000u) & ~0x1fffu);
}

// Numbers of eight bits. Magnitudes are rounded to the nearest, ties to even, and saturate at the largest.
template <typename F> __PTX u32 to_fp8(float x) {
    constexpr bool small = __is_same(F, e4m3);
    constexpr int mantissa = small ? 3 : 2, bias = small ? 7 : 15;
    constexpr u32 largest = small ? 0x7e : 0x7b;
    const u32 bits = as<u32>(x), sign = bits >> 24 & 0x80, size = bits & 0x7fffffff;
    if (size > 0x7f800000)
        return 0x7f;
    // Below the smallest normal number, all steps have the same size. Adding a number whose last bit has that size does the rounding.
    const float step = __builtin_ldexpf(1.0f, 23 + 1 - bias - mantissa);
    if (size < static_cast<u32>(127 + 1 - bias) << 23)
        return sign | (as<u32>(as<float>(size) + step) - as<u32>(step));
    const u32 rounded = (size + ((1u << (22 - mantissa)) - 1) + (size >> (23 - mantissa) & 1)) >> (23 - mantissa);
    const u32 code = rounded - (static_cast<u32>(127 - bias) << mantissa);
    return sign | (code > largest ? largest : code);
}
template <typename F> __PTX f16 from_fp8(u32 code) {
    if constexpr (__is_same(F, e5m2))
        return as<f16>(static_cast<unsigned short>(code << 8));
    // Read as a half's exponent, E4M3's makes the number 256 times too small.
    if ((code & 0x7f) == 0x7f)
        return as<f16>(static_cast<unsigned short>(0x7e00 | (code & 0x80) << 8));
    return as<f16>(static_cast<unsigned short>((code & 0x80) << 8 | (code & 0x7f) << 7)) * f16(256.0f);
}
template <typename T, typename F, typename D, typename A, typename B> __PTX void cvt_to_fp8(D &d, A high, B low) {
    set(d, static_cast<unsigned short>(to_fp8<T>(as<F>(high)) << 8 | to_fp8<T>(as<F>(low))));
}
template <typename T, typename F, typename D, typename A> __PTX void cvt_to_fp8(D &d, A ra) {
    const F a = as<F>(ra);
    set(d, static_cast<unsigned short>(to_fp8<T>(static_cast<float>(a[1])) << 8 | to_fp8<T>(static_cast<float>(a[0]))));
}
template <typename F, typename D, typename A> __PTX void cvt_from_fp8(D &d, A ra) {
    const u32 a = as<unsigned short>(ra);
    set(d, f16x2{from_fp8<F>(a & 0xff), from_fp8<F>(a >> 8)});
}

// Words from parts
template <typename D, typename A, typename B> __PTX void pack(D &d, A low, B high) {
    constexpr unsigned half = sizeof(D) / 2;
    set(d, static_cast<bits<sizeof(D)>>(static_cast<bits<sizeof(D)>>(as<bits<half>>(high)) << (8 * half) | as<bits<half>>(low)));
}
template <typename D, typename A, typename B, typename C, typename E> __PTX void pack(D &d, A a, B b, C c, E e) {
    u32 low, high;
    if constexpr (sizeof(D) == 8) {
        pack(low, a, b), pack(high, c, e);
        pack(d, low, high);
    } else {
        set(d, as<u32>(as<unsigned char>(a)) | as<u32>(as<unsigned char>(b)) << 8 | as<u32>(as<unsigned char>(c)) << 16 | as<u32>(as<unsigned char>(e)) << 24);
    }
}
template <typename L, typename H, typename A> __PTX void unpack(L &low, H &high, A a) {
    constexpr unsigned half = sizeof(A) / 2;
    set(low, static_cast<bits<half>>(as<bits<sizeof(A)>>(a)));
    set(high, static_cast<bits<half>>(as<bits<sizeof(A)>>(a) >> (8 * half)));
}
template <typename L, typename M, typename N, typename H, typename A> __PTX void unpack(L &a, M &b, N &c, H &e, A from) {
    constexpr unsigned part = sizeof(A) / 4;
    const u64 all = as<bits<sizeof(A)>>(from);
    set(a, static_cast<bits<part>>(all));
    set(b, static_cast<bits<part>>(all >> (8 * part)));
    set(c, static_cast<bits<part>>(all >> (16 * part)));
    set(e, static_cast<bits<part>>(all >> (24 * part)));
}

// Memory. A vector is one access.
template <typename T, unsigned N> struct alignas(sizeof(T) * N) vector { T x[N]; };
template <typename T, typename D> __PTX void load(const T *at, D &d) { set(d, *at); }
template <typename T, typename A, typename B> __PTX void load(const T *at, A &a, B &b) {
    const vector<T, 2> all = *reinterpret_cast<const vector<T, 2> *>(at);
    set(a, all.x[0]), set(b, all.x[1]);
}
template <typename T, typename A, typename B, typename C, typename D> __PTX void load(const T *at, A &a, B &b, C &c, D &d) {
    const vector<T, 4> all = *reinterpret_cast<const vector<T, 4> *>(at);
    set(a, all.x[0]), set(b, all.x[1]), set(c, all.x[2]), set(d, all.x[3]);
}
template <typename T, typename A> __PTX void store(T *at, A a) { *at = as<T>(a); }
template <typename T, typename A, typename B> __PTX void store(T *at, A a, B b) {
    *reinterpret_cast<vector<T, 2> *>(at) = {{as<T>(a), as<T>(b)}};
}
template <typename T, typename A, typename B, typename C, typename D> __PTX void store(T *at, A a, B b, C c, D d) {
    *reinterpret_cast<vector<T, 4> *>(at) = {{as<T>(a), as<T>(b), as<T>(c), as<T>(d)}};
}
template <typename T, typename A, typename... D> __PTX void ld(A at, D &...d) { load<T>(generic<T>(at), d...); }
template <typename T, typename A, typename... D> __PTX void ld_shared(A at, D &...d) { load<T>(shared<T>(at), d...); }
template <typename T, typename A, typename... D> __PTX void st(A at, D... d) { store<T>(generic<T>(at), d...); }
template <typename T, typename A, typename... D> __PTX void st_shared(A at, D... d) { store<T>(shared<T>(at), d...); }
template <typename T, typename A, typename... D> __PTX void ld_volatile(A address, D &...d) {
    const volatile T *at = generic<T>(address);
    (set(d, *at++), ...);
}
template <typename T, typename A, typename... D> __PTX void ld_volatile_shared(A address, D &...d) {
    const volatile T *at = shared<T>(address);
    (set(d, *at++), ...);
}
template <typename T, typename A, typename... D> __PTX void st_volatile(A address, D... d) {
    volatile T *at = generic<T>(address);
    ((*at++ = as<T>(d)), ...);
}
template <typename T, typename A, typename... D> __PTX void st_volatile_shared(A address, D... d) {
    volatile T *at = shared<T>(address);
    ((*at++ = as<T>(d)), ...);
}

// Orders and scopes come from an instruction's name.
template <int Order, int Scope, typename T, typename A, typename D> __PTX void ld_ordered(A at, D &d) {
    set(d, __hip_atomic_load(generic<bits<sizeof(T)>>(at), Order, Scope));
}
template <int Order, int Scope, typename T, typename A, typename D> __PTX void st_ordered(A at, D d) {
    __hip_atomic_store(generic<bits<sizeof(T)>>(at), as<bits<sizeof(T)>>(d), Order, Scope);
}
template <typename T, bool Shared, typename A> __PTX T *place(A at) {
    if constexpr (Shared)
        return shared<T>(at);
    else
        return generic<T>(at);
}
#define __PTX_ATOMIC(NAME, BUILTIN)                                                                                           \
    template <int Order, int Scope, typename T, bool Shared = false, typename A, typename D, typename B>                      \
    __PTX void atom_##NAME(A at, D &d, B b) {                                                                                 \
        set(d, BUILTIN((place<T, Shared>(at)), as<T>(b), Order, Scope));                                                      \
    }                                                                                                                         \
    template <int Order, int Scope, typename T, bool Shared = false, typename A, typename B> __PTX void red_##NAME(A at, B b) { \
        (void)BUILTIN((place<T, Shared>(at)), as<T>(b), Order, Scope);                                                        \
    }
__PTX_ATOMIC(add, __hip_atomic_fetch_add)
__PTX_ATOMIC(min, __hip_atomic_fetch_min)
__PTX_ATOMIC(max, __hip_atomic_fetch_max)
__PTX_ATOMIC(and, __hip_atomic_fetch_and)
__PTX_ATOMIC(or, __hip_atomic_fetch_or)
__PTX_ATOMIC(xor, __hip_atomic_fetch_xor)
__PTX_ATOMIC(exch, __hip_atomic_exchange)
template <int Order, int Scope, typename T, bool Shared = false, typename A, typename D, typename B, typename C>
__PTX void atom_cas(A at, D &d, B compare, C value) {
    T expected = as<T>(compare);
    __hip_atomic_compare_exchange_strong((place<T, Shared>(at)), &expected, as<T>(value), Order, __ATOMIC_RELAXED, Scope);
    set(d, expected);
}
// A counter that wraps to 0 above its limit, and one that wraps to its limit below 0.
template <int Order, int Scope, typename T, bool Up, typename P, typename D> __PTX void count(P at, D &d, T limit) {
    T seen = *at, before;
    do {
        before = seen;
        const T next = Up ? (before >= limit ? T(0) : T(before + 1)) : (before == 0 || before > limit ? limit : T(before - 1));
        __hip_atomic_compare_exchange_strong(at, &seen, next, Order, __ATOMIC_RELAXED, Scope);
    } while (seen != before);
    set(d, before);
}
template <int Order, int Scope, typename T, bool Shared = false, typename A, typename D, typename B> __PTX void atom_inc(A at, D &d, B b) {
    count<Order, Scope, T, true>(place<T, Shared>(at), d, as<T>(b));
}
template <int Order, int Scope, typename T, bool Shared = false, typename A, typename D, typename B> __PTX void atom_dec(A at, D &d, B b) {
    count<Order, Scope, T, false>(place<T, Shared>(at), d, as<T>(b));
}
template <int Order, int Scope, typename T, bool Shared = false, typename A, typename B> __PTX void red_inc(A at, B b) {
    sink none;
    atom_inc<Order, Scope, T, Shared>(at, none, b);
}
template <int Order, int Scope, typename T, bool Shared = false, typename A, typename B> __PTX void red_dec(A at, B b) {
    sink none;
    atom_dec<Order, Scope, T, Shared>(at, none, b);
}
// Each element by itself.
template <int Order, int Scope, typename T, typename A, typename... B> __PTX void red_add_vector(A address, B... values) {
    T *at = generic<T>(address);
    ((void)__hip_atomic_fetch_add(at++, as<T>(values), Order, Scope), ...);
}
// Pairs of halves, in one word.
template <int Order, int Scope, typename T, bool Shared = false, typename A, typename D, typename B> __PTX void atom_add_pair(A address, D &d, B b) {
    u32 *at = place<u32, Shared>(address), seen = *at, before;
    do {
        before = seen;
        const T sum = as<T>(before) + as<T>(b);
        __hip_atomic_compare_exchange_strong(at, &seen, as<u32>(sum), Order, __ATOMIC_RELAXED, Scope);
    } while (seen != before);
    set(d, before);
}

template <int Order, int Scope, typename T, bool Shared = false, typename A, typename B> __PTX void red_add_pair(A at, B b) {
    sink none;
    atom_add_pair<Order, Scope, T, Shared>(at, none, b);
}

template <int Scope> __PTX void fence() {
    if constexpr (Scope == __HIP_MEMORY_SCOPE_WORKGROUP)
        __threadfence_block();
    else if constexpr (Scope == __HIP_MEMORY_SCOPE_AGENT)
        __threadfence();
    else
        __threadfence_system();
}
// Barrier 0 is the block's. Other barriers, and barriers of a part of the block, are not supported.
template <typename A> __PTX void bar_sync(A) { __syncthreads(); }
__PTX void bar_sync() { __syncthreads(); }
template <typename A> __PTX void bar_warp_sync(A mask) { __cuda_syncwarp(as<u32>(mask)); }
template <typename A> __PTX void nanosleep(A) { __builtin_amdgcn_s_sleep(1); }
__PTX void trap() { __builtin_trap(); }
__PTX void exit_() { __builtin_amdgcn_endpgm(); }
template <typename... A> __PTX void nothing(A...) {}
// Cache policies are ignored.
template <typename D, typename... A> __PTX void policy(D &d, A...) { set(d, u64(0)); }
template <typename P, typename A> __PTX void is_shared(P &p, A at) { set(p, __isShared(generic<void>(at)) != 0); }
template <typename P, typename A> __PTX void is_local(P &p, A at) { set(p, __isLocal(generic<void>(at)) != 0); }
template <typename P, typename A> __PTX void is_global(P &p, A at) { set(p, __isGlobal(generic<void>(at)) != 0); }

// Copies from global to shared memory. They are synchronous, so nothing has to wait. `size` bytes are read from the source; the
// rest is zero.
template <typename S, typename G, typename N> __PTX void cp_async(S to, G from, N size) {
    if (as<u32>(size) == 16)
        *shared<vector<u32, 4>>(to) = *generic<vector<u32, 4>>(from);
    else if (as<u32>(size) == 8)
        *shared<u64>(to) = *generic<u64>(from);
    else
        *shared<u32>(to) = *generic<u32>(from);
}
template <typename S, typename G, typename N, typename M> __PTX void cp_async(S to, G from, N size, M have) {
    if (as<u32>(have) >= as<u32>(size)) {
        cp_async(to, from, size);
        return;
    }
    unsigned char *bytes = shared<unsigned char>(to);
    for (u32 i = 0; i < as<u32>(size); i++)
        bytes[i] = i < as<u32>(have) ? generic<unsigned char>(from)[i] : 0;
}

// Warps. An instruction's last operand is the mask.
template <typename D, typename A> __PTX void ballot(D &d, A p, u32 mask) { set(d, __cuda_ballot_sync(mask, p)); }
template <typename D, typename A> __PTX void any(D &d, A p, u32 mask) { set(d, __cuda_any_sync(mask, p) != 0); }
template <typename D, typename A> __PTX void all(D &d, A p, u32 mask) { set(d, __cuda_all_sync(mask, p) != 0); }
template <typename D> __PTX void activemask(D &d) { set(d, __cuda_activemask()); }
// The control word has the segment mask and the clamp.
template <int Kind, typename D, typename P> __PTX void shuffle(D &d, P &p, u32 a, u32 by, u32 control) {
    const u32 lane = __cuda_lane(), segment = control >> 8 & 31, clamp = control & 31;
    const u32 least = lane & segment, most = (lane & segment) | (clamp & ~segment);
    u32 from;
    bool inside;
    if constexpr (Kind == 0) // up
        from = lane - (by & 31), inside = static_cast<int>(lane) - static_cast<int>(by & 31) >= static_cast<int>(most);
    else if constexpr (Kind == 1) // down
        from = lane + (by & 31), inside = from <= most;
    else if constexpr (Kind == 2) // bfly
        from = lane ^ (by & 31), inside = from <= most;
    else // idx
        from = least | (by & ~segment & 31), inside = from <= most;
    if (!inside)
        from = lane;
    set(d, __cuda_from_lane(a, from & 31));
    set(p, inside);
}
template <int Kind, typename D, typename A, typename B, typename C, typename M> __PTX void shfl(D &d, A a, B b, C c, M) {
    sink none;
    shuffle<Kind>(d, none, as<u32>(a), as<u32>(b), as<u32>(c));
}
template <int Kind, typename D, typename P, typename A, typename B, typename C, typename M> __PTX void shfl(D &d, P &p, A a, B b, C c, M) {
    shuffle<Kind>(d, p, as<u32>(a), as<u32>(b), as<u32>(c));
}
template <typename T, typename D, typename A, typename M> __PTX void match_any(D &d, A a, M mask) { set(d, __cuda_match_any_sync(as<u32>(mask), as<T>(a))); }
template <typename T, typename D, typename P, typename A, typename M> __PTX void match_all(D &d, P &p, A a, M mask) {
    int same;
    set(d, __cuda_match_all_sync(as<u32>(mask), as<T>(a), &same));
    set(p, same != 0);
}
template <typename T, typename D, typename A, typename M> __PTX void match_all(D &d, A a, M mask) {
    sink none;
    match_all<T>(d, none, a, mask);
}
// The first lane of the mask.
template <typename D, typename P, typename M> __PTX void elect(D &d, P &p, M mask) {
    const u32 first = __builtin_ctz(as<u32>(mask) | 0x80000000u);
    set(d, first), set(p, __cuda_lane() == first);
}
#define __PTX_REDUX(NAME, OP)                                                                                                 \
    template <typename T, typename D, typename A, typename M> __PTX void NAME(D &d, A a, M mask) {                            \
        set(d, __cuda_reduce<__cuda_op_##OP>(as<u32>(mask), as<T>(a)));                                                       \
    }
__PTX_REDUX(redux_add, add)
__PTX_REDUX(redux_min, min)
__PTX_REDUX(redux_max, max)
__PTX_REDUX(redux_and, and)
__PTX_REDUX(redux_or, or)
__PTX_REDUX(redux_xor, xor)

// Special registers
__PTX u32 laneid() { return __cuda_lane(); }
__PTX u32 lanemask_eq() { return 1u << __cuda_lane(); }
__PTX u32 lanemask_lt() { return lanemask_eq() - 1; }
__PTX u32 lanemask_le() { return lanemask_lt() | lanemask_eq(); }
__PTX u32 lanemask_gt() { return ~lanemask_le(); }
__PTX u32 lanemask_ge() { return ~lanemask_lt(); }
__PTX u32 warpid() { return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) / 32; }
__PTX u32 nwarpid() { return (blockDim.x * blockDim.y * blockDim.z + 31) / 32; }
#undef __PTX_ROUNDED
#undef __PTX_REDUX
#undef __PTX_ATOMIC
#undef __PTX_COMPARE
#undef __PTX_UNARY
#undef __PTX_BINARY
#undef __PTX
} // namespace __cuda_ptx
#include "ferrocm_ptx_matrix.h"
#include "ferrocm_letters_end.h"
