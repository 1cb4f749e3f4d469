// Comparisons and conversions of inline PTX as functions. Included by ferrocm_ptx.h, whose types and registers it uses.
#pragma once
#include "ferrocm_letters_begin.h"
namespace __cuda_ptx {
#define __PTX static __device__ __attribute__((always_inline, unused)) inline
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
__PTX_COMPARE(setp_equ, !(a < b || b < a))
__PTX_COMPARE(setp_ltu, !(a >= b))
__PTX_COMPARE(setp_leu, !(a > b))
__PTX_COMPARE(setp_gtu, !(a <= b))
__PTX_COMPARE(setp_geu, !(a < b))
__PTX_COMPARE(setp_num, a == a && b == b)
__PTX_COMPARE(setp_nan, a != a || b != b)
// A test as a type, for its variants: with the opposite result, too; combined with another predicate; as ones or zeros.
#define __PTX_TEST(NAME)                                                                                                      \
    struct is_setp_##NAME {                                                                                                   \
        template <typename T, typename A, typename B> static __device__ __attribute__((always_inline)) bool of(A a, B b) {    \
            bool result;                                                                                                      \
            setp_##NAME<T>(result, a, b);                                                                                     \
            return result;                                                                                                    \
        }                                                                                                                     \
    };
__PTX_TEST(eq)
__PTX_TEST(ne)
__PTX_TEST(lt)
__PTX_TEST(le)
__PTX_TEST(gt)
__PTX_TEST(ge)
__PTX_TEST(equ)
__PTX_TEST(neu)
__PTX_TEST(ltu)
__PTX_TEST(leu)
__PTX_TEST(gtu)
__PTX_TEST(geu)
__PTX_TEST(num)
__PTX_TEST(nan)
#undef __PTX_TEST
struct join_none { static __device__ bool of(bool a, bool) { return a; } };
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
template <typename T, typename Test, typename Join, typename P, typename Q, typename A, typename B, typename C>
__PTX void setp_both_joined(P &p, Q &q, A a, B b, C c) {
    const bool holds = Test::template of<T>(a, b);
    set(p, Join::of(holds, as<bool>(c))), set(q, Join::of(!holds, as<bool>(c)));
}
// Of two halves in a word: a predicate for each.
template <typename T, typename Test, typename P, typename Q, typename A, typename B> __PTX void setp_pair(P &p, Q &q, A ra, B rb) {
    const T a = as<T>(ra), b = as<T>(rb);
    set(p, Test::template of<float>(static_cast<float>(a[0]), static_cast<float>(b[0])));
    set(q, Test::template of<float>(static_cast<float>(a[1]), static_cast<float>(b[1])));
}
// As ones of a type of floating-point numbers, or as masks. For two halves in a word, half a word each.
template <typename U, typename T, typename Test, typename Join, typename D, typename A, typename B> __PTX void set_(D &d, A ra, B rb, bool other = false) {
    const T a = as<T>(ra), b = as<T>(rb);
    if constexpr (parts<T>::count > 1) {
        U numbers = as<U>(0u);
        u32 mask = 0;
        for (int i = 0; i < 2; i++) {
            const bool holds = Join::of(Test::template of<float>(static_cast<float>(a[i]), static_cast<float>(b[i])), other);
            mask |= holds ? 0xffffu << (16 * i) : 0;
            if constexpr (parts<U>::count > 1)
                numbers[i] = holds ? 1.0f : 0.0f;
        }
        if constexpr (parts<U>::count > 1)
            set(d, numbers);
        else
            set(d, mask);
    } else {
        const bool holds = Join::of(Test::template of<T>(a, b), other);
        if constexpr (__is_integral(U))
            set(d, static_cast<U>(holds ? ~U(0) : U(0)));
        else
            set(d, static_cast<U>(holds ? 1.0f : 0.0f));
    }
}
template <typename T, typename D, typename A, typename B, typename P> __PTX void selp(D &d, A a, B b, P p) { set(d, p ? as<T>(a) : as<T>(b)); }

// Conversions. Modes: rn rounds to the nearest, rz towards zero, rm down, rp up.
enum mode { rn, rz, rm, rp, rna };
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
// What a NaN becomes: zero, but of or to 64 bits only the highest bit is set.
template <typename T, typename F> __PTX T not_a_number() {
    return sizeof(F) == 8 || sizeof(T) == 8 ? static_cast<T>(bits<sizeof(T)>(1) << (8 * sizeof(T) - 1)) : T(0);
}
template <typename T, typename F> __PTX T narrowed(F a) {
    if constexpr (sizeof(F) == 2)
        return narrowed<T>(static_cast<float>(a));
    else {
        // The limits of the type, as numbers inside or just above its range.
        const F least = static_cast<F>(lowest<T>()), above = static_cast<F>(highest<T>() / 2 + 1) * F(2);
        return a != a ? not_a_number<T, F>() : a < least ? lowest<T>() : a >= above ? highest<T>() : static_cast<T>(a);
    }
}
// Floating point to integer: a value that does not fit becomes the nearest that does.
template <mode M, typename T, typename F, typename D, typename A> __PTX void cvt_to_int(D &d, A a) { set(d, narrowed<T>(rounded<F, M>(as<F>(a)))); }
// Rounds to an integer of the same type.
template <mode M, typename T, typename F, typename D, typename A> __PTX void cvt_round(D &d, A a) { set(d, rounded<F, M>(as<F>(a))); }
template <mode M, typename T, typename F, typename D, typename A> __PTX void cvt_round_sat(D &d, A a) { set(d, unit<F>(rounded<F, M>(as<F>(a)))); }
// A number as f32; if it does not fit, the nearer to zero of its neighbours, made odd. Rounding that to fewer bits is rounding once.
template <typename F> __PTX float odd(F a) {
    if constexpr (__is_same(F, double)) {
        const float near = static_cast<float>(a);
        if (a != a || static_cast<double>(near) == a)
            return near;
        const u32 bits = as<u32>(near) - (__builtin_fabs(static_cast<double>(near)) > __builtin_fabs(a));
        return as<float>(bits | 1);
    } else if constexpr (__is_integral(F) && sizeof(F) >= 4) {
        const bool negative = a < F(0);
        const u64 size = negative ? 0 - static_cast<u64>(a) : static_cast<u64>(a);
        if (size < 1u << 24)
            return negative ? -static_cast<float>(size) : static_cast<float>(size);
        const int shift = 40 - __builtin_clzll(size);
        const u64 kept = size >> shift;
        const float value = __builtin_ldexpf(static_cast<float>(kept | (kept << shift != size)), shift);
        return negative ? -value : value;
    } else
        return static_cast<float>(a);
}
template <typename T, typename F> __PTX T converted(F a) {
    if constexpr (sizeof(T) == 2 && !__is_integral(T) && !__is_same(F, T))
        return static_cast<T>(odd(a));
    else
        return static_cast<T>(a);
}
template <typename T, typename F, typename D, typename A> __PTX void cvt(D &d, A a) { set(d, converted<T>(as<F>(a))); }
template <typename T, typename F, typename D, typename A> __PTX void cvt_sat(D &d, A ra) {
    const F a = as<F>(ra);
    if constexpr (__is_integral(T) && __is_integral(F)) {
        if constexpr (static_cast<F>(-1) < 0)
            set(d, static_cast<long long>(a) < (static_cast<T>(-1) < 0 ? static_cast<long long>(lowest<T>()) : 0) ? lowest<T>()
                   : a > 0 && static_cast<u64>(a) > static_cast<u64>(highest<T>())                                ? highest<T>()
                                                                                                                   : static_cast<T>(a));
        else
            set(d, static_cast<u64>(a) > static_cast<u64>(highest<T>()) ? highest<T>() : static_cast<T>(a));
    } else if constexpr (sizeof(F) == 2)
        set(d, static_cast<T>(unit<float>(static_cast<float>(a))));
    else if constexpr (__is_integral(F))
        set(d, static_cast<T>(a > F(0) ? 1.0f : 0.0f));
    else
        set(d, converted<T>(unit<F>(a)));
}
// The next number up or down, by the bits: `away` from zero or towards it.
template <typename T> __PTX T step(T a, bool away) {
    typedef bits<sizeof(T)> word;
    return as<T>(static_cast<word>(away ? as<word>(a) + 1 : as<word>(a) - 1));
}
// The nearest, moved to the side that the mode says.
template <mode M, typename T, typename F> __PTX T directed_from(T near, F back, F exact) {
    if (exact != exact || back == exact)
        return near;
    const bool negative = __builtin_signbit(static_cast<float>(near));
    if constexpr (M == rz)
        return (negative ? back < exact : back > exact) ? step(near, false) : near;
    else if constexpr (M == rm)
        return back > exact ? step(near, negative) : near;
    else if constexpr (M == rp)
        return back < exact ? step(near, !negative) : near;
    else
        return near;
}
template <mode M, typename T, typename F> __PTX T directed(F a) {
    if constexpr (M == rn)
        return converted<T>(a);
    else if constexpr (sizeof(T) == 2) {
        const float exact = odd(a);
        const T near = static_cast<T>(exact);
        return directed_from<M>(near, static_cast<float>(near), exact);
    } else if constexpr (__is_integral(F)) {
        // Whole numbers are compared as such.
        const T near = static_cast<T>(a);
        const __int128 back = static_cast<__int128>(static_cast<double>(near) >= 18446744073709551616.0 ? 0 : static_cast<u64>(near < 0 ? -near : near));
        const __int128 size = static_cast<double>(near) >= 18446744073709551616.0 ? static_cast<__int128>(1) << 64 : back;
        const __int128 value = near < 0 ? -size : size, exact = a;
        if (value == exact)
            return near;
        const bool above = value > exact;
        if constexpr (M == rz)
            return (near < 0 ? !above : above) ? step(near, false) : near;
        else if constexpr (M == rm)
            return above ? step(near, near < 0) : near;
        else
            return above ? near : step(near, near >= 0);
    } else {
        const T near = static_cast<T>(a);
        return directed_from<M>(near, static_cast<F>(near), a);
    }
}
template <mode M, typename T, typename F, typename D, typename A> __PTX void cvt_directed(D &d, A a) { set(d, directed<M, T>(as<F>(a))); }
// Halves, without negative numbers, and with the largest number instead of infinity.
template <mode M, typename T, bool Relu, bool Finite> __PTX T half_of(float a) {
    if (Relu && a < 0)
        a = 0;
    T result = directed<M, T>(a);
    if (Finite) {
        constexpr unsigned short infinity = __is_same(T, f16) ? 0x7c00 : 0x7f80;
        const unsigned short all = as<unsigned short>(result);
        if ((all & 0x7fff) == infinity)
            result = as<T>(static_cast<unsigned short>(all - 1));
    }
    return result;
}
template <mode M, typename T, typename F, bool Relu, bool Finite, typename D, typename A> __PTX void cvt_half(D &d, A a) {
    set(d, half_of<M, T, Relu, Finite>(as<F>(a)));
}
// Two numbers in a word. The first operand is the upper one.
template <mode M, typename T, typename F, bool Relu = false, bool Finite = false, typename D, typename A, typename B>
__PTX void cvt_pair(D &d, A high, B low) {
    typedef typename either<__is_same(T, f16x2), f16, bf16>::type half;
    set(d, T{half_of<M, half, Relu, Finite>(as<F>(low)), half_of<M, half, Relu, Finite>(as<F>(high))});
}
// To the nearest, ties away from zero or to the even one, or towards zero.
template <mode M, bool Relu = false, typename D, typename A> __PTX void cvt_tf32(D &d, A a) {
    u32 from = as<u32>(a);
    if (Relu && as<float>(from) < 0)
        from = 0;
    const u32 half = M == rna ? 0x1000u : M == rn ? 0xfffu + (from >> 13 & 1) : 0;
    const u32 size = from & 0x7fffffffu;
    set(d, size > 0x7f800000u ? 0x7fffffffu : size == 0x7f800000u ? from : (from + half) & ~0x1fffu);
}
// Two whole numbers, clamped to fewer bits; below a third operand, the rest of the word.
template <u32 Bits, bool Signed> __PTX u32 packed(int a) {
    const int least = Signed ? -(1 << (Bits - 1)) : 0, most = (1 << (Bits - Signed)) - 1;
    return static_cast<u32>(a < least ? least : a > most ? most : a) & ((1u << Bits) - 1);
}
template <u32 Bits, bool Signed, typename D, typename A, typename B> __PTX void cvt_pack(D &d, A a, B b) {
    set(d, packed<Bits, Signed>(as<int>(a)) << Bits | packed<Bits, Signed>(as<int>(b)));
}
template <u32 Bits, bool Signed, typename D, typename A, typename B, typename C> __PTX void cvt_pack(D &d, A a, B b, C c) {
    set(d, as<u32>(c) << (2 * Bits) | packed<Bits, Signed>(as<int>(a)) << Bits | packed<Bits, Signed>(as<int>(b)));
}

// Numbers of eight bits and fewer: the bits of their mantissa, the bias of their exponent, the code of the largest, and of a NaN if
// there is one. Magnitudes are rounded to the nearest, ties to even, and saturate at the largest.
template <u32 Mantissa, int Bias, u32 Largest, u32 Sign, u32 Nan> struct narrow_number {
    static constexpr int mantissa = Mantissa, bias = Bias;
    static constexpr u32 largest = Largest, sign = Sign, nan = Nan;
};
template <typename F> struct narrow_of;
template <> struct narrow_of<e4m3> { typedef narrow_number<3, 7, 0x7e, 0x80, 0x7f> type; };
template <> struct narrow_of<e5m2> { typedef narrow_number<2, 15, 0x7b, 0x80, 0x7f> type; };
template <> struct narrow_of<e2m3> { typedef narrow_number<3, 1, 0x1f, 0x20, 0x1f> type; };
template <> struct narrow_of<e3m2> { typedef narrow_number<2, 3, 0x1f, 0x20, 0x1f> type; };
template <> struct narrow_of<e2m1> { typedef narrow_number<1, 1, 0x7, 0x8, 0x7> type; };
template <typename F> __PTX u32 to_narrow(float x) {
    typedef typename narrow_of<F>::type number;
    constexpr int mantissa = number::mantissa, bias = number::bias;
    const u32 bits = as<u32>(x), sign = bits >> 31 ? number::sign : 0, size = bits & 0x7fffffff;
    if (size > 0x7f800000)
        return number::nan;
    // Below the smallest normal number, all steps have the same size. Adding a number whose last bit has that size does the rounding.
    const float step = __builtin_ldexpf(1.0f, 23 + 1 - bias - mantissa);
    if (size < static_cast<u32>(127 + 1 - bias) << 23)
        return sign | (as<u32>(as<float>(size) + step) - as<u32>(step));
    const u32 rounded = (size + ((1u << (22 - mantissa)) - 1) + (size >> (23 - mantissa) & 1)) >> (23 - mantissa);
    const u32 code = rounded - (static_cast<u32>(127 - bias) << mantissa);
    return sign | (code > number::largest ? number::largest : code);
}
template <typename F> __PTX f16 from_narrow(u32 code) {
    typedef typename narrow_of<F>::type number;
    const u32 size = code & (number::sign - 1);
    const unsigned short sign = (code & number::sign) != 0 ? 0x8000 : 0;
    if constexpr (__is_same(F, e5m2))
        return as<f16>(static_cast<unsigned short>(sign | size << 8));
    if (__is_same(F, e4m3) && size == 0x7f)
        return as<f16>(static_cast<unsigned short>(0x7e00 | sign));
    // Read as a half's exponent, the number is too small by the difference of the biases.
    const f16 scale = as<f16>(static_cast<unsigned short>((15 + 15 - number::bias) << 10));
    return as<f16>(static_cast<unsigned short>(sign | size << (10 - number::mantissa))) * scale;
}
// The bits of one number in the operand: of a byte each, except for four bits.
template <typename F> __PTX u32 narrow_width() { return __is_same(F, e2m1) ? 4 : 8; }
template <typename T, typename F, bool Relu = false, typename D, typename A, typename B> __PTX void cvt_to_narrow(D &d, A ra, B rb) {
    float high = as<F>(ra), low = as<F>(rb);
    if (Relu)
        high = not_negative(high), low = not_negative(low);
    const u32 both = to_narrow<T>(high) << narrow_width<T>() | to_narrow<T>(low);
    if constexpr (__is_same(T, e2m1))
        set(d, static_cast<unsigned char>(both));
    else
        set(d, static_cast<unsigned short>(both));
}
template <typename T, typename F, bool Relu = false, typename D, typename A> __PTX void cvt_to_narrow(D &d, A ra) {
    const F a = as<F>(ra);
    cvt_to_narrow<T, float, Relu>(d, static_cast<float>(a[1]), static_cast<float>(a[0]));
}
template <typename F> __PTX float narrow_value(u32 code) {
    if constexpr (__is_same(F, ue8m0))
        return code == 0xff ? as<float>(0x7fc00000u) : code == 0 ? as<float>(0x00400000u) : as<float>(code << 23);
    else
        return static_cast<float>(from_narrow<F>(code));
}
template <typename T, typename F, bool Relu = false, typename D, typename A> __PTX void cvt_from_narrow(D &d, A ra) {
    const u32 a = as<unsigned short>(ra), width = narrow_width<F>(), mask = (1u << width) - 1;
    float low = narrow_value<F>(a & mask), high = narrow_value<F>(a >> width & mask);
    if (Relu)
        high = not_negative(high), low = not_negative(low);
    typedef typename either<__is_same(T, f16x2), f16, bf16>::type half;
    set(d, T{static_cast<half>(low), static_cast<half>(high)});
}
// Powers of two: the magnitude, rounded down or up.
template <mode M> __PTX u32 to_ue8m0(float a) {
    const u32 size = as<u32>(a) & 0x7fffffff, exponent = size >> 23, rest = size & 0x7fffff;
    if (size > 0x7f800000)
        return 0xff;
    // Of a subnormal number, more than a half of the smallest normal one is nearer to that.
    const bool up = M == rp && rest != 0 && (exponent != 0 || rest > 0x400000);
    const u32 code = exponent + up;
    return code > 0xfe ? 0xfe : code;
}
template <mode M, typename F, typename D, typename A, typename B> __PTX void cvt_to_ue8m0(D &d, A high, B low) {
    set(d, static_cast<unsigned short>(to_ue8m0<M>(as<F>(high)) << 8 | to_ue8m0<M>(as<F>(low))));
}
template <mode M, typename F, typename D, typename A> __PTX void cvt_to_ue8m0(D &d, A ra) {
    const F a = as<F>(ra);
    cvt_to_ue8m0<M, float>(d, static_cast<float>(a[1]), static_cast<float>(a[0]));
}
#undef __PTX_COMPARE
#undef __PTX
} // namespace __cuda_ptx
#include "ferrocm_letters_end.h"
