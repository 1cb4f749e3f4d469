// Bits, sums of products, and video instructions of inline PTX as functions. Included by ferrocm_ptx.h, whose types and registers it uses.
#pragma once
#include "ferrocm_letters_begin.h"
namespace __cuda_ptx {
#define __PTX static __device__ __attribute__((always_inline, unused)) inline
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
// With a predicate: whether any bit is set, joined with another.
template <typename Join, typename D, typename P, typename A, typename B, typename C, typename L, typename Q>
__PTX void lop3_joined(D &d, P &p, A a, B b, C c, L lut, Q q) {
    u32 result;
    lop3(result, a, b, c, lut);
    set(d, result), set(p, Join::of(result != 0, as<bool>(q)));
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
// Modes: four bytes forwards and backwards, one byte or half for all, and the edge of all that are higher or lower. Only two bits of
// the selector count.
#define __PTX_PRMT(NAME, BYTE)                                                                                                \
    template <typename D, typename A, typename B, typename S> __PTX void prmt_##NAME(D &d, A a, B b, S select) {              \
        const u64 both = static_cast<u64>(as<u32>(b)) << 32 | as<u32>(a);                                                     \
        const u32 by = as<u32>(select) & 3;                                                                                   \
        u32 result = 0;                                                                                                       \
        for (u32 i = 0; i < 4; i++)                                                                                           \
            result |= (static_cast<u32>(both >> (8 * (BYTE))) & 0xff) << (8 * i);                                             \
        set(d, result);                                                                                                       \
    }
__PTX_PRMT(f4e, by + i)
__PTX_PRMT(b4e, (by - i) & 7)
__PTX_PRMT(rc8, by)
__PTX_PRMT(ecl, i < by ? by : i)
__PTX_PRMT(ecr, i < by ? i : by)
__PTX_PRMT(rc16, (by & 1) * 2 + (i & 1))
#undef __PTX_PRMT
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
// How far the highest bit that counts is from the highest.
template <typename T, typename D, typename A> __PTX void bfind_shiftamt(D &d, A a) {
    u32 at;
    bfind<T>(at, a);
    set(d, at == 0xffffffffu ? at : static_cast<u32>(8 * sizeof(T) - 1 - at));
}
// A mask of `c` bits at `b`.
__PTX u32 ones(u32 at, u32 length) { return static_cast<u32>(((1ull << length) - 1) << at); }
template <typename D, typename A, typename B> __PTX void bmsk_clamp(D &d, A a, B b) {
    const u32 at = as<u32>(a), length = as<u32>(b) < 32 ? as<u32>(b) : 32;
    set(d, at < 32 ? ones(at, length) : 0u);
}
template <typename D, typename A, typename B> __PTX void bmsk_wrap(D &d, A a, B b) { set(d, ones(as<u32>(a) & 31, as<u32>(b) & 31)); }
// The lowest bits, with the sign of the highest of them.
template <typename T, typename D, typename A> __PTX void szext(D &d, A ra, u32 length) {
    const u32 a = as<u32>(ra), shift = 32 - length;
    set(d, length == 0 ? 0u : length >= 32 ? a : static_cast<u32>(static_cast<T>(a << shift) >> shift));
}
template <typename T, typename D, typename A, typename B> __PTX void szext_clamp(D &d, A a, B b) { szext<T>(d, a, as<u32>(b) < 32 ? as<u32>(b) : 32); }
template <typename T, typename D, typename A, typename B> __PTX void szext_wrap(D &d, A a, B b) { szext<T>(d, a, as<u32>(b) & 31); }
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
// Two halves of the first and two bytes of the second.
template <bool High, typename T, typename U, typename D, typename A, typename B, typename C> __PTX void dp2a(D &d, A ra, B rb, C c) {
    const u32 a = as<u32>(ra), b = as<u32>(rb) >> (High ? 16 : 0);
    typedef typename either<(static_cast<T>(-1) < 0), short, unsigned short>::type left;
    typedef typename either<(static_cast<U>(-1) < 0), signed char, unsigned char>::type right;
    const u32 low = static_cast<u32>(static_cast<int>(static_cast<left>(a)) * static_cast<int>(static_cast<right>(b)));
    const u32 high = static_cast<u32>(static_cast<int>(static_cast<left>(a >> 16)) * static_cast<int>(static_cast<right>(b >> 8)));
    set(d, as<u32>(c) + low + high);
}
template <typename T, typename U, typename D, typename A, typename B, typename C> __PTX void dp2a_lo(D &d, A a, B b, C c) { dp2a<false, T, U>(d, a, b, c); }
template <typename T, typename U, typename D, typename A, typename B, typename C> __PTX void dp2a_hi(D &d, A a, B b, C c) { dp2a<true, T, U>(d, a, b, c); }

// Video instructions. A part of a register has a place and a width.
template <u32 At, u32 Width> struct part { static constexpr u32 at = At, width = Width; };
typedef part<0, 32> part_all;
typedef part<0, 8> part_b0;
typedef part<8, 8> part_b1;
typedef part<16, 8> part_b2;
typedef part<24, 8> part_b3;
typedef part<0, 16> part_h0;
typedef part<16, 16> part_h1;
template <bool Signed> __PTX long long extended(u32 value, u32 width) {
    const u32 shift = 32 - width;
    return Signed ? static_cast<long long>(static_cast<int>(value << shift) >> shift) : static_cast<long long>(value << shift >> shift);
}
template <bool Signed, typename P, typename A> __PTX long long video_part(A a) { return extended<Signed>(as<u32>(a) >> P::at, P::width); }
template <bool Signed> __PTX long long clamped(long long a, u32 width) {
    const long long least = Signed ? -(1ll << (width - 1)) : 0, most = (1ll << (width - Signed)) - 1;
    return a < least ? least : a > most ? most : a;
}
// The result as a register, clamped to the type of the part to which it goes.
template <bool Signed, bool Saturated, typename P> __PTX long long video_result(long long a) { return Saturated ? clamped<Signed>(a, P::width) : a; }
template <typename P, typename D, typename C> __PTX void video_merge(D &d, long long value, C c) {
    const u32 mask = static_cast<u32>(((1ull << P::width) - 1) << P::at);
    set(d, (as<u32>(c) & ~mask) | (static_cast<u32>(value) << P::at & mask));
}
template <bool Signed, typename D, typename C> __PTX void video_add(D &d, long long value, C c) { set(d, static_cast<u32>(value) + as<u32>(c)); }
template <bool Signed, typename D, typename C> __PTX void video_min(D &d, long long value, C c) {
    const long long a = extended<Signed>(static_cast<u32>(value), 32), b = extended<Signed>(as<u32>(c), 32);
    set(d, static_cast<u32>(b < a ? b : a));
}
template <bool Signed, typename D, typename C> __PTX void video_max(D &d, long long value, C c) {
    const long long a = extended<Signed>(static_cast<u32>(value), 32), b = extended<Signed>(as<u32>(c), 32);
    set(d, static_cast<u32>(a < b ? b : a));
}
#define __PTX_VIDEO(NAME, EXPRESSION)                                                                                         \
    __PTX long long NAME(long long a, long long b) { return EXPRESSION; }                                                     \
    struct is_##NAME { static __device__ __attribute__((always_inline)) long long of(long long a, long long b) { return NAME(a, b); } };
__PTX_VIDEO(vadd, a + b)
__PTX_VIDEO(vsub, a - b)
__PTX_VIDEO(vabsdiff, a < b ? b - a : a - b)
__PTX_VIDEO(vmin, b < a ? b : a)
__PTX_VIDEO(vmax, a < b ? b : a)
// Rounded away from zero for positive sums.
__PTX_VIDEO(vavrg, (a + b + (a + b >= 0)) >> 1)
__PTX_VIDEO(vset_eq, a == b)
__PTX_VIDEO(vset_ne, a != b)
__PTX_VIDEO(vset_lt, a < b)
__PTX_VIDEO(vset_le, a <= b)
__PTX_VIDEO(vset_gt, a > b)
__PTX_VIDEO(vset_ge, a >= b)
// By 32, all but the sign of what does not fit into a register is gone.
__PTX_VIDEO(vshl_clamp, b < 32 ? a << b : a > 1ll << 30 ? 1ll << 62 : a << 32)
__PTX_VIDEO(vshl_wrap, a << (b & 31))
__PTX_VIDEO(vshr_clamp, a >> (b > 32 ? 32 : b))
__PTX_VIDEO(vshr_wrap, a >> (b & 31))
#undef __PTX_VIDEO
template <bool Signed, bool Saturated, u32 Shift, bool One, bool Minus, bool MinusC, typename D, typename C>
__PTX void vmad(D &d, long long a, long long b, C c) {
    __int128 sum = static_cast<__int128>(a) * b, third = extended<Signed>(as<u32>(c), 32);
    sum = (Minus ? -sum : sum) + (MinusC ? -third : third) + (One ? 1 : 0);
    sum >>= Shift;
    if (Saturated) {
        const __int128 least = Signed ? -0x80000000ll : 0, most = Signed ? 0x7fffffffll : 0xffffffffll;
        sum = sum < least ? least : sum > most ? most : sum;
    }
    set(d, static_cast<u32>(sum));
}
// Two or four numbers in each register: their sum is added to the third operand, or they are the result.
template <u32 Lanes, bool SignedD, bool SignedA, bool SignedB, bool Saturated, bool Add, typename Operation, typename D, typename A, typename B, typename C>
__PTX void video_lanes(D &d, A ra, B rb, C c) {
    constexpr u32 width = 32 / Lanes, mask = static_cast<u32>((1ull << width) - 1);
    u32 result = Add ? as<u32>(c) : 0;
    for (u32 at = 0; at < 32; at += width) {
        long long value = Operation::of(extended<SignedA>(as<u32>(ra) >> at, width), extended<SignedB>(as<u32>(rb) >> at, width));
        if (Saturated)
            value = clamped<SignedD>(value, width);
        if (Add)
            result += static_cast<u32>(value);
        else
            result |= (static_cast<u32>(value) & mask) << at;
    }
    set(d, result);
}
#undef __PTX
} // namespace __cuda_ptx
#include "ferrocm_letters_end.h"
