// Code behind guards: kernels for bf16 and fp8 are kept, and NVIDIA's instructions in unreachable code are not.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

template <bool Newer> __device__ void only_on_hopper() {
    if constexpr (Newer)
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

#if __CUDA_ARCH__ >= 800
extern "C" __global__ void largest(const __nv_bfloat16 *in, __nv_bfloat16 *out) {
    only_on_hopper<(__CUDA_ARCH__ >= 900)>();
    out[threadIdx.x] = __hmax_nan(in[threadIdx.x], __float2bfloat16_rn(0.5f));
}
#endif
#if __CUDA_ARCH__ >= 890
extern "C" __global__ void from_fp8(const __nv_fp8_e4m3 *in, float *out) {
    out[threadIdx.x] = __half2float(__nv_cvt_fp8_to_halfraw(in[threadIdx.x].__x, __NV_E4M3));
}
#endif

extern "C" __global__ void sums(__half *at, __nv_bfloat16 *other) {
    atomicAdd(at, __float2half(1));
    atomicAdd(other + 1, __float2bfloat16(0.5f));
}

extern "C" __global__ void parts(const unsigned *in, unsigned *out) {
    const unsigned a = in[threadIdx.x * 2], b = in[threadIdx.x * 2 + 1];
    unsigned *to = out + threadIdx.x * 12;
    to[0] = __vsubss4(a, b), to[1] = __vaddus4(a, b), to[2] = __vcmpne4(a, b), to[3] = __vsub4(a, b), to[4] = __vabsdiffs4(a, b);
    to[5] = __vsads4(a, b), to[6] = __vmaxs2(a, b), to[7] = __vaddss2(a, b), to[8] = __vavgu2(a, b), to[9] = __dp4a((int)a, (int)b, 5);
    to[10] = __dp4a(a, b, 5u), to[11] = __dp2a_lo((int)a, (int)b, 5);
}
