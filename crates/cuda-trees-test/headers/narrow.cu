// Numbers of eight and sixteen bits: conversions, and CUDA's additions to HIP's headers. Floats with other rounding modes.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp8.h>

// One number to both formats of fp8, from each type that converts: columns of bytes.
extern "C" __global__ void to_fp8(const double *in, unsigned char *out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const double d = in[i];
    const float f = static_cast<float>(d);
    const __half h = __float2half(f);
    const __nv_bfloat16 b = __float2bfloat16(f);
    out += i * 15;
    out[0] = __nv_cvt_double_to_fp8(d, __NV_SATFINITE, __NV_E4M3), out[1] = __nv_cvt_double_to_fp8(d, __NV_SATFINITE, __NV_E5M2);
    out[2] = __nv_cvt_float_to_fp8(f, __NV_SATFINITE, __NV_E4M3), out[3] = __nv_cvt_float_to_fp8(f, __NV_SATFINITE, __NV_E5M2);
    out[4] = __nv_cvt_float_to_fp8(f, __NV_NOSAT, __NV_E4M3), out[5] = __nv_cvt_float_to_fp8(f, __NV_NOSAT, __NV_E5M2);
    out[6] = __nv_cvt_halfraw_to_fp8(static_cast<__half_raw>(h), __NV_SATFINITE, __NV_E4M3);
    out[7] = __nv_cvt_halfraw_to_fp8(static_cast<__half_raw>(h), __NV_SATFINITE, __NV_E5M2);
    out[8] = __nv_cvt_bfloat16raw_to_fp8(static_cast<__nv_bfloat16_raw>(b), __NV_SATFINITE, __NV_E4M3);
    out[9] = __nv_fp8_e4m3(f).__x, out[10] = __nv_fp8_e5m2(f).__x;
    const __half2_raw pair = __floats2half2_rn(1.5f, f);
    out[11] = static_cast<unsigned char>(__nv_cvt_halfraw2_to_fp8x2(pair, __NV_SATFINITE, __NV_E4M3) >> 8);
    out[12] = __nv_cvt_halfraw_to_fp8(static_cast<__half_raw>(h), __NV_NOSAT, __NV_E5M2);
    out[13] = __nv_cvt_bfloat16raw_to_fp8(static_cast<__nv_bfloat16_raw>(b), __NV_NOSAT, __NV_E4M3);
    out[14] = __nv_cvt_double2_to_fp8x2(make_double2(d, 1.0), __NV_NOSAT, __NV_E4M3) & 0xff;
}
// All conversions are explicit.
template <typename A, typename B> struct converts {
    static A one();
    static char test(...);
    static long test(B);
    static constexpr bool value = sizeof(test(one())) == sizeof(long);
};
template <typename F> struct explicit_ones {
    static_assert(!converts<F, float>::value && !converts<F, double>::value && !converts<F, int>::value && !converts<F, __half>::value, "to");
    static_assert(!converts<float, F>::value && !converts<int, F>::value && !converts<__half, F>::value, "from");
    static_assert(converts<short, float>::value, "the question");
};
template struct explicit_ones<__nv_fp8_e4m3>;
template struct explicit_ones<__nv_fp8_e5m2>;
// Integers: towards zero, and the nearest of the type.
template <typename T, typename F> static __device__ float to_integer(F x, double least, double greatest) {
    const double number = static_cast<double>(x);
    const double whole = number != number ? 0.0 : trunc(number);
    const double clamped = whole < least ? least : whole > greatest ? greatest : whole;
    // A NaN is zero, or the least number of 64 bits.
    const double expected = number != number && sizeof(T) == 8 ? (least < 0 ? least : 9223372036854775808.0) : clamped;
    return static_cast<double>(static_cast<T>(x)) == expected ? 0.0f : 1.0f;
}
template <typename F> static __device__ float to_integers(F x) {
    const double int64 = 9223372036854775807.0, uint64 = 18446744073709551615.0;
    return to_integer<char>(x, -128, 127) + to_integer<signed char>(x, -128, 127) + to_integer<unsigned char>(x, 0, 255) +
           to_integer<short>(x, -32768, 32767) + to_integer<unsigned short>(x, 0, 65535) +
           to_integer<int>(x, -2147483648.0, 2147483647.0) + to_integer<unsigned>(x, 0, 4294967295.0) +
           to_integer<long>(x, -int64, int64) + to_integer<unsigned long>(x, 0, uint64) + to_integer<long long>(x, -int64, int64) +
           to_integer<unsigned long long>(x, 0, uint64) +
           (static_cast<bool>(x) == (static_cast<float>(x) != 0.0f) ? 0.0f : 1.0f);
}
template <typename F> static __device__ float from_integers(int x) {
    const unsigned char expected = F(static_cast<float>(x)).__x;
    return (F(static_cast<short>(x)).__x == expected && F(x).__x == expected && F(static_cast<long>(x)).__x == expected &&
            F(static_cast<long long>(x)).__x == expected && F(static_cast<unsigned short>(x)).__x == expected &&
            F(static_cast<unsigned>(x)).__x == expected && F(static_cast<unsigned long>(x)).__x == expected &&
            F(static_cast<unsigned long long>(x)).__x == expected)
               ? 0.0f
               : 1.0f;
}
// And back: half, bf16, float and integers of each code of both.
extern "C" __global__ void from_fp8(float *out) {
    const unsigned char code = threadIdx.x;
    __nv_fp8_e4m3 small;
    __nv_fp8_e5m2 wide;
    small.__x = code, wide.__x = code;
    out += threadIdx.x * 8;
    out[0] = static_cast<float>(small), out[1] = static_cast<float>(wide);
    out[2] = __half2float(__half(__nv_cvt_fp8_to_halfraw(code, __NV_E4M3))), out[3] = __half2float(__half(small));
    out[4] = __half2float(__half(wide));
    __nv_fp8x4_e4m3 four;
    four.__x = code * 0x01010101u;
    const float4 all = static_cast<float4>(four);
    out[5] = all.x == all.w || (all.x != all.x && all.w != all.w) ? all.z : -1.0f;
    out[6] = to_integers(small) + to_integers(wide) + from_integers<__nv_fp8_e4m3>(code * 3) + from_integers<__nv_fp8_e5m2>(code * 120);
    out[7] = __bfloat162float(static_cast<__nv_bfloat16>(wide));
}

// Functions of both 16-bit types: results as floats.
template <typename T, typename T2> static __device__ void sixteen(T a, T b, T c, float *out, T2 (*pair)(T, T), float (*get)(T)) {
    const T2 x = pair(a, b), y = pair(b, c), z = pair(c, a);
    const unsigned masks[12] = {__heq2_mask(x, y), __hne2_mask(x, y), __hle2_mask(x, y),  __hge2_mask(x, y),  __hlt2_mask(x, y),  __hgt2_mask(x, y),
                                __hequ2_mask(x, y), __hneu2_mask(x, y), __hleu2_mask(x, y), __hgeu2_mask(x, y), __hltu2_mask(x, y), __hgtu2_mask(x, y)};
    for (int i = 0; i < 12; i++)
        out[i] = static_cast<float>((masks[i] & 1) + 2 * (masks[i] >> 31)) + (masks[i] % 0x10000 % 0xffff ? 100.0f : 0.0f);
    out[12] = get(htanh(a));
    out[13] = get(h2tanh(x).y);
    out[14] = get(__hfma_relu(a, b, c));
    out[15] = get(__hfma2_relu(x, y, z).y);
    const T2 complex = __hcmadd(x, y, z);
    out[16] = get(complex.x), out[17] = get(complex.y);
    out[18] = get(__hadd_sat(a, b)), out[19] = get(__hmul2_sat(x, y).y), out[20] = get(__hfma_sat(a, b, c));
    const T2 equal = __hleu2(x, y);
    out[21] = get(equal.x) + 2.0f * get(equal.y);
    out[22] = get(__hmax_nan(a, b)), out[23] = get(__hmin2_nan(x, y).x);
}
extern "C" __global__ void halves(const float *in, float *out) {
    const int i = threadIdx.x;
    sixteen<__half, __half2>(__float2half(in[i * 3]), __float2half(in[i * 3 + 1]), __float2half(in[i * 3 + 2]), out + i * 24,
                             [](__half a, __half b) { return __halves2half2(a, b); }, [](__half a) { return __half2float(a); });
}
extern "C" __global__ void bfloats(const float *in, float *out) {
    const int i = threadIdx.x;
    sixteen<__nv_bfloat16, __nv_bfloat162>(__float2bfloat16(in[i * 3]), __float2bfloat16(in[i * 3 + 1]), __float2bfloat16(in[i * 3 + 2]), out + i * 24,
                                           [](__nv_bfloat16 a, __nv_bfloat16 b) { return __halves2bfloat162(a, b); },
                                           [](__nv_bfloat16 a) { return __bfloat162float(a); });
}

// bf16 to integers and from them.
extern "C" __global__ void whole_bfloats(const float *in, const long long *numbers, long long *out) {
    const int i = threadIdx.x;
    const __nv_bfloat16 a = __float2bfloat16(in[i]);
    const long long n = numbers[i];
    out += i * 16;
    out[0] = __bfloat162int_rn(a), out[1] = __bfloat162int_rd(a), out[2] = __bfloat162int_ru(a), out[3] = __bfloat162uint_rz(a);
    out[4] = __bfloat162short_rn(a), out[5] = __bfloat162ll_rz(a), out[6] = static_cast<long long>(__bfloat162ull_rn(a)), out[7] = __bfloat162uchar_rz(a);
    auto bits = [](__nv_bfloat16 x) { return static_cast<long long>(__bfloat16_as_ushort(x)); };
    out[8] = bits(__ll2bfloat16_rn(n)), out[9] = bits(__ull2bfloat16_rn(n)), out[10] = bits(__int2bfloat16_rn(static_cast<int>(n)));
    out[11] = bits(__int2bfloat16_rz(static_cast<int>(n))), out[12] = bits(__uint2bfloat16_rn(static_cast<unsigned>(n)));
    out[13] = bits(__short2bfloat16_rn(static_cast<short>(n))), out[14] = bits(__float2bfloat16_ru(in[i])), out[15] = bits(__float2bfloat16_rd(in[i]));
}

// Each operation in each direction: down, up, to zero.
#define DIRECTIONS(CALL) CALL(rd) CALL(ru) CALL(rz)
extern "C" __global__ void rounded(const float *in, float *out) {
    const float a = in[threadIdx.x * 3], b = in[threadIdx.x * 3 + 1], c = in[threadIdx.x * 3 + 2];
    out += threadIdx.x * 21;
#define ALL(D)                                                                                                          \
    *out++ = __fadd_##D(a, b), *out++ = __fsub_##D(a, b), *out++ = __fmul_##D(a, b), *out++ = __fmaf_##D(a, b, c);      \
    *out++ = __fdiv_##D(a, b), *out++ = __frcp_##D(a), *out++ = __fsqrt_##D(a);
    DIRECTIONS(ALL)
}

// Numbers of four bits, from two floats and back; and scales.
extern "C" __global__ void four_bits(const float2 *in, unsigned char *out, float *back) {
    const int i = threadIdx.x;
    out[i] = __nv_cvt_float2_to_fp4x2(in[i], __NV_E2M1, cudaRoundNearest);
    const __nv_fp4x4_e2m1 four(make_float4(in[i].x, in[i].y, -in[i].x, 0.0f));
    const float4 all = static_cast<float4>(four);
    const __half2 pair = __nv_cvt_fp4x2_to_halfraw2(static_cast<__nv_fp4x2_storage_t>(i), __NV_E2M1);
    __nv_fp8_e8m0 scale;
    scale.__x = static_cast<unsigned char>(i);
    back += i * 6;
    back[0] = all.y, back[1] = all.z, back[2] = __low2float(pair), back[3] = __high2float(pair), back[4] = static_cast<float>(scale);
    back[5] = __bfloat162float(__nv_bfloat16(__nv_cvt_e8m0_to_bf16raw(static_cast<unsigned char>(i))));
}

// Scales from numbers: to zero and up, with and without saturation; and from doubles.
extern "C" __global__ void scales(const float *in, unsigned char *out) {
    const float x = in[threadIdx.x];
    out += threadIdx.x * 5;
    out[0] = __nv_cvt_float_to_e8m0(x, __NV_SATFINITE, cudaRoundZero), out[1] = __nv_cvt_float_to_e8m0(x, __NV_SATFINITE, cudaRoundPosInf);
    out[2] = __nv_cvt_float_to_e8m0(x, __NV_NOSAT, cudaRoundPosInf), out[3] = __nv_fp8_e8m0(x).__x;
    out[4] = __nv_cvt_double_to_e8m0(static_cast<double>(x), __NV_SATFINITE, cudaRoundPosInf);
}
