// The operations of generated programs, for the device and for the CPU. They are defined for every input and exact:
// IEEE arithmetic is rounded once, and all NaNs become the same NaN before they are used as bits.
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;
typedef _Float16 f16;
typedef float f32;
typedef double f64;
typedef u16 u16x2 __attribute__((ext_vector_type(2)));
typedef i16 i16x2 __attribute__((ext_vector_type(2)));
typedef f16 f16x2 __attribute__((ext_vector_type(2)));

#ifdef __HIP__
#define ANY __device__
#else
#define ANY
#endif
#define INLINE ANY static inline __attribute__((always_inline))
#define CALLED ANY static __attribute__((noinline))

template <class T> INLINE T div_of(T a, T b) {
    if (b == T(0) || (T(-1) < T(0) && b == T(-1)))
        return T(0) - a;
    return a / b;
}
template <class T> INLINE T rem_of(T a, T b) {
    if (b == T(0) || (T(-1) < T(0) && b == T(-1)))
        return a;
    return a % b;
}
template <class T> INLINE T shl_of(T a, T b) { return a << (b & T(sizeof(T) * 8 - 1)); }
template <class T> INLINE T shr_of(T a, T b) { return a >> (b & T(sizeof(T) * 8 - 1)); }
template <class T> INLINE T min_of(T a, T b) { return a < b ? a : b; }
template <class T> INLINE T max_of(T a, T b) { return a > b ? a : b; }
template <class T> INLINE T median_of(T a, T b, T c) { return max_of(min_of(a, b), min_of(max_of(a, b), c)); }
template <class T> INLINE T add_sat(T a, T b) { return __builtin_elementwise_add_sat(a, b); }
template <class T> INLINE T sub_sat(T a, T b) { return __builtin_elementwise_sub_sat(a, b); }
template <class T> INLINE T distance(T a, T b) { return a < b ? b - a : a - b; }
template <class T> INLINE T extract(T a, T at, T count) {
    at &= T(sizeof(T) * 8 - 1);
    count &= T(sizeof(T) * 8 - 1);
    return (a >> at) & ((T(1) << count) - T(1));
}
template <class T> INLINE T choose_bits(T mask, T a, T b) { return (mask & a) | (~mask & b); }

INLINE u32 rotate(u32 a, u32 by) { return a << (by & 31) | a >> (-by & 31); }
INLINE u64 rotate(u64 a, u64 by) { return a << (by & 63) | a >> (-by & 63); }
INLINE u32 funnel(u32 high, u32 low, u32 by) { return u32(((u64)high << 32 | low) >> (by & 31)); }
INLINE u32 zeros_above(u32 a) { return a == 0 ? 32 : __builtin_clz(a); }
INLINE u64 zeros_above(u64 a) { return a == 0 ? 64 : __builtin_clzll(a); }
INLINE u32 zeros_below(u32 a) { return a == 0 ? 32 : __builtin_ctz(a); }
INLINE u64 zeros_below(u64 a) { return a == 0 ? 64 : __builtin_ctzll(a); }
INLINE u32 count_ones(u32 a) { return __builtin_popcount(a); }
INLINE u64 count_ones(u64 a) { return __builtin_popcountll(a); }
INLINE u32 reverse_bits(u32 a) { return __builtin_bitreverse32(a); }
INLINE u64 reverse_bits(u64 a) { return __builtin_bitreverse64(a); }
INLINE u32 reverse_bytes(u32 a) { return __builtin_bswap32(a); }
INLINE u64 reverse_bytes(u64 a) { return __builtin_bswap64(a); }
INLINE u32 multiply_high(u32 a, u32 b) { return u32((u64)a * b >> 32); }
INLINE i32 multiply_high(i32 a, i32 b) { return i32((i64)a * b >> 32); }
INLINE u64 multiply_high(u64 a, u64 b) { return u64((unsigned __int128)a * b >> 64); }
INLINE i64 multiply_high(i64 a, i64 b) { return i64((__int128)a * b >> 64); }
INLINE u32 bytes_of(u32 a, u32 b, u32 pick) {
    u64 both = (u64)a << 32 | b;
    u32 result = 0;
    for (int i = 0; i < 4; i++)
        result |= u32(u8(both >> (8 * (pick >> 4 * i & 7)))) << 8 * i;
    return result;
}
INLINE u32 dot_unsigned(u32 a, u32 b, u32 c) {
    for (int i = 0; i < 4; i++)
        c += u32(u8(a >> 8 * i)) * u32(u8(b >> 8 * i));
    return c;
}
INLINE i32 dot_signed(i32 a, i32 b, i32 c) {
    for (int i = 0; i < 4; i++)
        c += i32(i8(a >> 8 * i)) * i32(i8(b >> 8 * i));
    return c;
}

template <class To, class From> INLINE To bits(From from) {
    static_assert(sizeof(To) == sizeof(From), "");
    return __builtin_bit_cast(To, from);
}
#define PACKED(name, type, expression)                                                                                         \
    INLINE u32 name(u32 x, u32 y) {                                                                                            \
        type a = bits<type>(x), b = bits<type>(y);                                                                             \
        return bits<u32>((type)(expression));                                                                                  \
    }
PACKED(packed_add, u16x2, a + b)
PACKED(packed_sub, u16x2, a - b)
PACKED(packed_mul, u16x2, a *b)
PACKED(packed_mad, u16x2, a *b + a)
PACKED(packed_shl, u16x2, a << (b & (u16)15))
PACKED(packed_shr, u16x2, a >> (b & (u16)15))
PACKED(packed_sar, i16x2, a >> (b & (i16)15))
PACKED(packed_min, i16x2, __builtin_elementwise_min(a, b))
PACKED(packed_max, u16x2, __builtin_elementwise_max(a, b))
PACKED(packed_add_sat, i16x2, __builtin_elementwise_add_sat(a, b))

// All NaNs become one NaN.
template <class T> INLINE T plain(T a) { return a == a ? a : T(__builtin_nanf("")); }
INLINE u16 bits_of(f16 a) { return a == a ? bits<u16>(a) : u16(0x7e00); }
INLINE u32 bits_of(f32 a) { return a == a ? bits<u32>(a) : 0x7fc00000u; }
INLINE u64 bits_of(f64 a) { return a == a ? bits<u64>(a) : 0x7ff8000000000000ull; }
template <class T> INLINE u64 bits_of(T a) { return (u64)a; }

INLINE u32 packed_half(u32 x, u32 y, u32 what) {
    f16x2 a = bits<f16x2>(x), b = bits<f16x2>(y);
    f16x2 r = what == 0 ? a + b : what == 1 ? a - b : a * b;
    return (u32)bits_of((f16)r.x) | (u32)bits_of((f16)r.y) << 16;
}

template <class T> INLINE T fused(T a, T b, T c) { return __builtin_elementwise_fma(a, b, c); }
template <class T> INLINE T root(T a) { return __builtin_elementwise_sqrt(a); }
template <class T> INLINE T down(T a) { return __builtin_elementwise_floor(a); }
template <class T> INLINE T up(T a) { return __builtin_elementwise_ceil(a); }
template <class T> INLINE T toward_zero(T a) { return __builtin_elementwise_trunc(a); }
template <class T> INLINE T nearest(T a) { return __builtin_elementwise_roundeven(a); }
template <class T> INLINE T size_of(T a) { return __builtin_elementwise_abs(a); }
template <class T> INLINE T with_sign(T a, T b) { return __builtin_elementwise_copysign(a, plain(b)); }

// To integers if the value fits, otherwise zero. The bounds are powers of two, which all formats except f16 can hold.
template <class To, class From> INLINE To whole(From a) {
    const bool is_signed = To(-1) < To(0);
    const f64 high = f64(To(1) << (sizeof(To) * 8 - 2)) * (is_signed ? 2.0 : 4.0), low = is_signed ? -high : -1.0;
    f64 wide = (f64)(f32)a;
    if (sizeof(From) == 8)
        wide = (f64)a;
    return wide > low && wide < high ? (To)a : To(0);
}

#ifdef __HIP__
#define ATOMIC(name, builtin)                                                                                                   \
    template <class T> INLINE T name(T *at, T value) {                                                                          \
        return builtin(at, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);                                                  \
    }
ATOMIC(atomic_add, __hip_atomic_fetch_add)
ATOMIC(atomic_sub, __hip_atomic_fetch_sub)
ATOMIC(atomic_and, __hip_atomic_fetch_and)
ATOMIC(atomic_or, __hip_atomic_fetch_or)
ATOMIC(atomic_xor, __hip_atomic_fetch_xor)
ATOMIC(atomic_min, __hip_atomic_fetch_min)
ATOMIC(atomic_max, __hip_atomic_fetch_max)
ATOMIC(atomic_swap, __hip_atomic_exchange)
template <class T> INLINE T atomic_swap_if(T *at, T expected, T value) {
    __hip_atomic_compare_exchange_strong(at, &expected, value, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    return expected;
}
#else
#define ATOMIC(name, expression)                                                                                                \
    template <class T> INLINE T name(T *at, T value) {                                                                          \
        T old = *at;                                                                                                            \
        *at = (expression);                                                                                                     \
        return old;                                                                                                             \
    }
ATOMIC(atomic_add, old + value)
ATOMIC(atomic_sub, old - value)
ATOMIC(atomic_and, old &value)
ATOMIC(atomic_or, old | value)
ATOMIC(atomic_xor, old ^ value)
ATOMIC(atomic_min, old < value ? old : value)
ATOMIC(atomic_max, old > value ? old : value)
ATOMIC(atomic_swap, value)
template <class T> INLINE T atomic_swap_if(T *at, T expected, T value) {
    T old = *at;
    if (old == expected)
        *at = value;
    return old;
}
#endif
