// CUDA's functions of numbers, for comparison with models: every row of a table on every sample, as bits. The samples of a row's arguments
// are those of their types and positions.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp8.h>

typedef unsigned long long bits;
typedef __half f16;
typedef __nv_bfloat16 b16;
typedef __half2 h2;
typedef __nv_bfloat162 b2;
typedef float f32;
typedef double f64;
typedef float2 f2;
typedef char4 c4;
typedef uchar4 uc4;
typedef short2 s2;
typedef ushort2 us2;
typedef cudaRoundMode mode;
typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned u32;
typedef long il;
typedef unsigned long ul;
typedef long long i64;
typedef unsigned long long u64;

namespace {
// The place of a type's samples. tests/nvcc/functions.rs has the same list.
template <typename T> struct place;
#define PLACE(T, AT) \
    template <> struct place<T> { static constexpr int at = AT; };
PLACE(f16, 0)
PLACE(b16, 1)
PLACE(h2, 2)
PLACE(b2, 3)
PLACE(f32, 4)
PLACE(f64, 5)
PLACE(f2, 6)
PLACE(i16, 7)
PLACE(u16, 8)
PLACE(i32, 9)
PLACE(u32, 10)
PLACE(i64, 11)
PLACE(u64, 12)
PLACE(mode, 13)
PLACE(il, 11)
PLACE(ul, 12)
PLACE(c4, 10)
PLACE(uc4, 10)
PLACE(s2, 10)
PLACE(us2, 10)
#undef PLACE
constexpr int types = 14;

template <typename T> __host__ __device__ T of(bits from) {
    T to;
    memcpy(static_cast<void *>(&to), &from, sizeof to);
    return to;
}
template <typename T> __host__ __device__ bits bits_of(T from) {
    bits to = 0;
    memcpy(&to, static_cast<const void *>(&from), sizeof from);
    return to;
}

template <int... I> struct positions {};
template <int N, int... I> struct count : count<N - 1, N - 1, I...> {};
template <int... I> struct count<0, I...> { typedef positions<I...> all; };
template <typename R, typename... P, int... I, typename F> __host__ __device__ bits apply(F function, const bits *in, int n, int i, positions<I...>) {
    return bits_of<R>(static_cast<R>(function(of<P>(in[(I * types + place<P>::at) * n + i])...)));
}
template <typename R, typename... P, typename F> __host__ __device__ void row(F function, const bits *in, int n, int i, bits *&out) {
    out[i] = apply<R, P...>(function, in, n, i, typename count<sizeof...(P)>::all());
    out += n;
}

// How functions are called that are operators, or have several results, or take addresses.
#define BINARY(NAME, OPERATOR) \
    template <typename T> __host__ __device__ auto NAME(T a, T b) { return a OPERATOR b; }
BINARY(plus, +)
BINARY(minus, -)
BINARY(times, *)
BINARY(over, /)
BINARY(plus_is, +=)
BINARY(minus_is, -=)
BINARY(times_is, *=)
BINARY(over_is, /=)
BINARY(equals, ==)
BINARY(differs, !=)
BINARY(below, <)
BINARY(above, >)
BINARY(at_most, <=)
BINARY(at_least, >=)
#undef BINARY
template <typename T> __host__ __device__ T same(T a) { return +a; }
template <typename T> __host__ __device__ T negated(T a) { return -a; }
template <typename T> __host__ __device__ T next(T a) { return ++a; }
template <typename T> __host__ __device__ T previous(T a) { return --a; }
// What comes after an operator behind the number; the number itself is compared here.
template <typename T> __host__ __device__ T next_after(T a) {
    const T before = a, result = a++;
    return bits_of(result) == bits_of(before) ? a : T(a.x, a.x);
}
template <> __host__ __device__ f16 next_after(f16 a) {
    const f16 before = a, result = a++;
    return bits_of(result) == bits_of(before) ? a : f16(-1.0f);
}
template <> __host__ __device__ b16 next_after(b16 a) {
    const b16 before = a, result = a++;
    return bits_of(result) == bits_of(before) ? a : b16(-1.0f);
}
template <typename T> __host__ __device__ T previous_after(T a) {
    const T before = a, result = a--;
    return bits_of(result) == bits_of(before) ? a : T(a.x, a.x);
}
template <> __host__ __device__ f16 previous_after(f16 a) {
    const f16 before = a, result = a--;
    return bits_of(result) == bits_of(before) ? a : f16(-1.0f);
}
template <> __host__ __device__ b16 previous_after(b16 a) {
    const b16 before = a, result = a--;
    return bits_of(result) == bits_of(before) ? a : b16(-1.0f);
}

#define LOAD(NAME) \
    template <typename T> __device__ T with_##NAME(T a) { return __##NAME(&a); }
LOAD(ldg)
LOAD(ldca)
LOAD(ldcg)
LOAD(ldcs)
LOAD(ldcv)
LOAD(ldlu)
#undef LOAD
#define STORE(NAME)                             \
    template <typename T> __device__ T with_##NAME(T a) { \
        T to;                                   \
        __##NAME(&to, a);                       \
        return to;                              \
    }
STORE(stcg)
STORE(stcs)
STORE(stwb)
STORE(stwt)
#undef STORE
// There and back.
template <typename T> __device__ T with_shfl_xor_sync(T a) { return __shfl_xor_sync(~0u, __shfl_xor_sync(~0u, a, 5), 5); }
template <typename T> __device__ T with_shfl_sync(T a) {
    const int lane = threadIdx.x % 32;
    return __shfl_sync(~0u, __shfl_sync(~0u, a, lane ^ 3), lane ^ 3);
}
template <typename T> __device__ T with_shfl_down_sync(T a) {
    const T down = __shfl_down_sync(~0u, a, 2), back = __shfl_up_sync(~0u, down, 2);
    return threadIdx.x % 32 < 2 ? a : back;
}
template <typename T> __device__ T with_shfl_up_sync(T a) {
    const T up = __shfl_up_sync(~0u, a, 3), back = __shfl_down_sync(~0u, up, 3);
    return threadIdx.x % 32 > 28 ? a : back;
}

// With the rounding as an argument: the function that has it in its name.
#define NAMED(NAME, ARGUMENTS, CALL, FUNCTION)                                                       \
    __device__ i32 NAME##_agrees ARGUMENTS {                                                         \
        const auto named = m == cudaRoundZero     ? FUNCTION##_rz CALL                               \
                           : m == cudaRoundPosInf ? FUNCTION##_ru CALL                               \
                           : m == cudaRoundMinInf ? FUNCTION##_rd CALL                               \
                                                  : FUNCTION##_rn CALL;                              \
        return bits_of(named)
#define WITH_MODE(RESULT) == bits_of(RESULT); }
NAMED(dadd, (f64 a, f64 b, mode m), (a, b), __dadd) WITH_MODE(dadd(a, b, m))
NAMED(dsub, (f64 a, f64 b, mode m), (a, b), __dsub) WITH_MODE(dsub(a, b, m))
NAMED(dmul, (f64 a, f64 b, mode m), (a, b), __dmul) WITH_MODE(dmul(a, b, m))
NAMED(fma, (f64 a, f64 b, f64 c, mode m), (a, b, c), __fma) WITH_MODE(fma(a, b, c, m))
NAMED(double2int, (f64 a, mode m), (a), __double2int) WITH_MODE(double2int(a, m))
NAMED(double2uint, (f64 a, mode m), (a), __double2uint) WITH_MODE(double2uint(a, m))
NAMED(double2ll, (f64 a, mode m), (a), __double2ll) WITH_MODE(double2ll(a, m))
NAMED(double2ull, (f64 a, mode m), (a), __double2ull) WITH_MODE(double2ull(a, m))
NAMED(ll2double, (i64 a, mode m), (a), __ll2double) WITH_MODE(ll2double(a, m))
NAMED(ull2double, (u64 a, mode m), (a), __ull2double) WITH_MODE(ull2double(a, m))
#undef WITH_MODE
#undef NAMED
__device__ i32 int2double_agrees(i32 a, mode m) { return int2double(a, m) == static_cast<f64>(a); }
__device__ i32 uint2double_agrees(u32 a, mode m) { return uint2double(a, m) == static_cast<f64>(a); }
__device__ i32 float2double_agrees(f32 a, mode m) { return a != a || float2double(a, m) == static_cast<f64>(a); }

// The chosen number, and the predicates.
#define CHOICE(NAME, T)                                  \
    __host__ __device__ T NAME##_value(T a, T b) {       \
        bool first;                                      \
        return __##NAME(a, b, &first);                   \
    }                                                    \
    __host__ __device__ i32 NAME##_first(T a, T b) {     \
        bool first;                                      \
        __##NAME(a, b, &first);                          \
        return first;                                    \
    }
CHOICE(vibmax_s32, i32)
CHOICE(vibmin_s32, i32)
CHOICE(vibmax_u32, u32)
CHOICE(vibmin_u32, u32)
#undef CHOICE
#define CHOICES(NAME)                                      \
    __host__ __device__ u32 NAME##_value(u32 a, u32 b) {   \
        bool upper, lower;                                 \
        return __##NAME(a, b, &upper, &lower);             \
    }                                                      \
    __host__ __device__ i32 NAME##_upper(u32 a, u32 b) {   \
        bool upper, lower;                                 \
        __##NAME(a, b, &upper, &lower);                    \
        return upper;                                      \
    }                                                      \
    __host__ __device__ i32 NAME##_lower(u32 a, u32 b) {   \
        bool upper, lower;                                 \
        __##NAME(a, b, &upper, &lower);                    \
        return lower;                                      \
    }
CHOICES(vibmax_s16x2)
CHOICES(vibmin_s16x2)
CHOICES(vibmax_u16x2)
CHOICES(vibmin_u16x2)
#undef CHOICES

// Conversions to 8 and 4 bits, of which cuda-trees-test compares those of one float with a model: those of other types and of pairs give the
// same. With both kinds of saturation, formats and roundings.
#define EACH_E8M0(EXPRESSION)                                          \
    i32 agrees = 1;                                                    \
    for (const auto saturate : {__NV_NOSAT, __NV_SATFINITE})           \
        for (const auto rounding : {cudaRoundZero, cudaRoundPosInf})   \
            agrees &= (EXPRESSION);                                    \
    return agrees;
#define EACH_FP8(EXPRESSION)                                           \
    i32 agrees = 1;                                                    \
    for (const auto saturate : {__NV_NOSAT, __NV_SATFINITE})           \
        for (const auto kind : {__NV_E4M3, __NV_E5M2})                 \
            agrees &= (EXPRESSION);                                    \
    return agrees;
__host__ __device__ unsigned pair_of(unsigned low, unsigned high) { return low | high << 8; }
__host__ __device__ unsigned fp4_of(f32 x) { return __nv_cvt_float_to_fp4(x, __NV_E2M1, cudaRoundNearest); }
__host__ __device__ i32 e8m0_of_b16(b16 x) {
    EACH_E8M0(__nv_cvt_bfloat16raw_to_e8m0(x, saturate, rounding) == __nv_cvt_float_to_e8m0(__bfloat162float(x), saturate, rounding))
}
__host__ __device__ i32 e8m0x2_of_b2(b2 x) {
    EACH_E8M0(__nv_cvt_bfloat162raw_to_e8m0x2(x, saturate, rounding) ==
              pair_of(__nv_cvt_bfloat16raw_to_e8m0(x.x, saturate, rounding), __nv_cvt_bfloat16raw_to_e8m0(x.y, saturate, rounding)))
}
__host__ __device__ i32 e8m0x2_of_f2(f2 x) {
    EACH_E8M0(__nv_cvt_float2_to_e8m0x2(x, saturate, rounding) ==
              pair_of(__nv_cvt_float_to_e8m0(x.x, saturate, rounding), __nv_cvt_float_to_e8m0(x.y, saturate, rounding)))
}
__host__ __device__ i32 e8m0x2_of_f64(f64 x, f64 y) {
    EACH_E8M0(__nv_cvt_double2_to_e8m0x2(make_double2(x, y), saturate, rounding) ==
              pair_of(__nv_cvt_double_to_e8m0(x, saturate, rounding), __nv_cvt_double_to_e8m0(y, saturate, rounding)))
}
__host__ __device__ i32 e8m0x2_to_b2(u16 x) {
    const __nv_bfloat162_raw both = __nv_cvt_e8m0x2_to_bf162raw(x);
    return both.x == __nv_cvt_e8m0_to_bf16raw(x & 0xff).x && both.y == __nv_cvt_e8m0_to_bf16raw(x >> 8).x;
}
__host__ __device__ i32 fp8x2_of_b2(b2 x) {
    EACH_FP8(__nv_cvt_bfloat16raw2_to_fp8x2(x, saturate, kind) ==
             pair_of(__nv_cvt_bfloat16raw_to_fp8(x.x, saturate, kind), __nv_cvt_bfloat16raw_to_fp8(x.y, saturate, kind)))
}
__host__ __device__ i32 fp8x2_of_f2(f2 x) {
    EACH_FP8(__nv_cvt_float2_to_fp8x2(x, saturate, kind) ==
             pair_of(__nv_cvt_float_to_fp8(x.x, saturate, kind), __nv_cvt_float_to_fp8(x.y, saturate, kind)))
}
__host__ __device__ i32 fp8x2_to_h2(u16 x) {
    EACH_FP8(__nv_cvt_fp8x2_to_halfraw2(x, kind).x == __nv_cvt_fp8_to_halfraw(x & 0xff, kind).x &&
             __nv_cvt_fp8x2_to_halfraw2(x, kind).y == __nv_cvt_fp8_to_halfraw(x >> 8, kind).x && (saturate || true))
}
__host__ __device__ i32 fp4_of_f32(f32 x) { return __nv_cvt_double_to_fp4(x, __NV_E2M1, cudaRoundNearest) == fp4_of(x); }
__host__ __device__ i32 fp4_of_f16(f16 x) { return __nv_cvt_halfraw_to_fp4(x, __NV_E2M1, cudaRoundNearest) == fp4_of(__half2float(x)); }
__host__ __device__ i32 fp4_of_b16(b16 x) { return __nv_cvt_bfloat16raw_to_fp4(x, __NV_E2M1, cudaRoundNearest) == fp4_of(__bfloat162float(x)); }
__host__ __device__ i32 fp4x2_of_h2(h2 x) {
    return __nv_cvt_halfraw2_to_fp4x2(x, __NV_E2M1, cudaRoundNearest) == (fp4_of(__low2float(x)) | fp4_of(__high2float(x)) << 4);
}
__host__ __device__ i32 fp4x2_of_b2(b2 x) {
    return __nv_cvt_bfloat16raw2_to_fp4x2(x, __NV_E2M1, cudaRoundNearest) == (fp4_of(__low2float(x)) | fp4_of(__high2float(x)) << 4);
}
__host__ __device__ i32 fp4x2_of_f2(f2 x) {
    return __nv_cvt_double2_to_fp4x2(make_double2(x.x, x.y), __NV_E2M1, cudaRoundNearest) == __nv_cvt_float2_to_fp4x2(x, __NV_E2M1, cudaRoundNearest) &&
           __nv_cvt_float2_to_fp4x2(x, __NV_E2M1, cudaRoundNearest) == (fp4_of(x.x) | fp4_of(x.y) << 4);
}
// Back, each of the 16 numbers is itself.
__host__ __device__ i32 fp4_to_f16(u16 x) {
    const unsigned low = x & 15, high = x >> 4 & 15;
    const __half2_raw both = __nv_cvt_fp4x2_to_halfraw2(x & 0xff, __NV_E2M1);
    return fp4_of(__half2float(__half(__nv_cvt_fp4_to_halfraw(low, __NV_E2M1)))) == low && both.x == __nv_cvt_fp4_to_halfraw(low, __NV_E2M1).x &&
           both.y == __nv_cvt_fp4_to_halfraw(high, __NV_E2M1).x;
}
#undef EACH_E8M0
#undef EACH_FP8

#define BOTH_RESULTS(PLACE, NAME, FUNCTION, T)  \
    PLACE T NAME##_sine(T x) {                  \
        T sine, cosine;                         \
        FUNCTION(x, &sine, &cosine);            \
        return sine;                            \
    }                                           \
    PLACE T NAME##_cosine(T x) {                \
        T sine, cosine;                         \
        FUNCTION(x, &sine, &cosine);            \
        return cosine;                          \
    }
BOTH_RESULTS(__host__ __device__, sincos, sincos, f64)
BOTH_RESULTS(__host__ __device__, sincos, sincos, f32)
BOTH_RESULTS(__host__ __device__, sincosf, sincosf, f32)
BOTH_RESULTS(__host__ __device__, sincospi, sincospi, f64)
BOTH_RESULTS(__host__ __device__, sincospi, sincospi, f32)
BOTH_RESULTS(__host__ __device__, sincospif, sincospif, f32)
BOTH_RESULTS(__device__, fast, __sincosf, f32)
#undef BOTH_RESULTS
#define PARTS(END, T)                                              \
    __host__ __device__ T frexp##END##_fraction(T x) {             \
        int exponent;                                              \
        return frexp##END(x, &exponent);                           \
    }                                                              \
    __host__ __device__ i32 frexp##END##_exponent(T x) {           \
        int exponent;                                              \
        frexp##END(x, &exponent);                                  \
        return x - x == 0 ? exponent : 0;                          \
    }                                                              \
    __host__ __device__ T modf##END##_fraction(T x) {              \
        T whole;                                                   \
        return modf##END(x, &whole);                               \
    }                                                              \
    __host__ __device__ T modf##END##_whole(T x) {                 \
        T whole;                                                   \
        modf##END(x, &whole);                                      \
        return whole;                                              \
    }                                                              \
    __host__ __device__ T remquo##END##_rest(T x, T y) {           \
        int quotient;                                              \
        return remquo##END(x, y, &quotient);                       \
    }                                                              \
    /* Three bits and the sign count. */                           \
    __host__ __device__ i32 remquo##END##_quotient(T x, T y) {     \
        int quotient = 0;                                          \
        const T rest = remquo##END(x, y, &quotient);               \
        return rest == rest ? (quotient < 0 ? -(-quotient & 7) : quotient & 7) : 0; \
    }
PARTS(, f64)
PARTS(, f32)
PARTS(f, f32)
#undef PARTS
// Orders that take no long time.
#define OF_ORDERS(END, T)                                                                    \
    __host__ __device__ T jn##END##_of(i32 n, T x) { return jn##END(n % 40, x); }            \
    __host__ __device__ T yn##END##_of(i32 n, T x) { return yn##END(n % 40, x); }
OF_ORDERS(, f64)
OF_ORDERS(, f32)
OF_ORDERS(f, f32)
#undef OF_ORDERS
#define OF_ARRAYS(END, T)                            \
    __host__ __device__ T norm##END##_of(T x, T y, T z) {  \
        const T all[] = {x, y, z};                   \
        return norm##END(3, all);                    \
    }                                                \
    __host__ __device__ T rnorm##END##_of(T x, T y, T z) { \
        const T all[] = {x, y, z};                   \
        return rnorm##END(3, all);                   \
    }                                                \
    __host__ __device__ T nan##END##_of(T) { return nan##END(""); }
OF_ARRAYS(, f64)
OF_ARRAYS(f, f32)
#undef OF_ARRAYS
} // namespace

#define ROW(NAME, CALL, RESULT, MODEL, ...) row<RESULT, __VA_ARGS__>([](auto... x) { return CALL(x...); }, in, n, i, out);
#define SKIP(NAME, CALL, RESULT, MODEL, ...) out += n;

static __global__ void functions(const bits *in, int n, bits *out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
#define BOTH ROW
#define DEVICE ROW
#include "functions.inc"
}
static __global__ void mathematics(const bits *in, int n, bits *out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
#include "mathematics.inc"
#undef DEVICE
}

// For n samples, a multiple of 64.
extern "C" int launch_functions(const bits *in, int n, bits *out, bits *of_mathematics, cudaStream_t stream) {
    functions<<<n / 64, 64, 0, stream>>>(in, n, out);
    mathematics<<<n / 64, 64, 0, stream>>>(in, n, of_mathematics);
    return cudaGetLastError();
}

// The same in host code, which has only a part of the functions.
extern "C" void functions_on_host(const bits *in, int n, bits *results, bits *of_mathematics) {
#define DEVICE SKIP
    for (int i = 0; i < n; i++) {
        bits *out = results;
#include "functions.inc"
        out = of_mathematics;
#include "mathematics.inc"
    }
}
