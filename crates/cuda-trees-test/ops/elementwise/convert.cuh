// Conversions by pairs: half2, bf16x2, fp8x2 and x4.
#pragma once
#include "../core/types.cuh"
extern "C" __global__ void convert_pairs(const float2 *in, __half2 *halves, __nv_bfloat162 *bfloats, __nv_fp8x2_storage_t *e4m3,
                                         __nv_fp8x4_e5m2 *e5m2, unsigned pairs) {
    GRID_STRIDE(i, pairs) {
        const float2 x = in[i];
        halves[i] = __float22half2_rn(x);
        bfloats[i] = __floats2bfloat162_rn(x.x, x.y);
        e4m3[i] = __nv_cvt_float2_to_fp8x2(x, __NV_SATFINITE, __NV_E4M3);
        if (i % 2 == 0 && i + 1 < pairs)
            e5m2[i / 2] = __nv_fp8x4_e5m2(make_float4(x.x, x.y, in[i + 1].x, in[i + 1].y));
    }
}
// And back, scaled in the narrow types.
extern "C" __global__ void scale_pairs(const __half2 *halves, const __nv_bfloat162 *bfloats, const __nv_fp8x2_storage_t *e4m3, float2 *out,
                                       unsigned pairs) {
    const __half2 two = __float2half2_rn(2.0f), one = __half2half2(__float2half(1.0f));
    const __nv_bfloat162 half_ = __float2bfloat162_rn(0.5f);
    GRID_STRIDE(i, pairs) {
        const __half2 h = __hfma2(halves[i], two, one);
        const __nv_bfloat162 b = __hmul2(bfloats[i], half_);
        const __half2_raw raw = __nv_cvt_fp8x2_to_halfraw2(e4m3[i], __NV_E4M3);
        const __half2 small = raw;
        const float2 a = __half22float2(h), c = __bfloat1622float2(b), d = __half22float2(small);
        out[i * 4] = a;
        out[i * 4 + 1] = c;
        out[i * 4 + 2] = d;
        // The raw bits, for code that packs them into words.
        out[i * 4 + 3] = make_float2(static_cast<float>(raw.x), static_cast<float>(raw.y));
    }
}
