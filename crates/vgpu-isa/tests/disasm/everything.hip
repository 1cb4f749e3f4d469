// Some of everything that the compiler emits. It is only compiled and disassembled, never run.
#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

extern "C" {

__device__ unsigned index_of_item() { return blockIdx.x * blockDim.x + threadIdx.x; }

__global__ void integers(const int *a, const unsigned *b, long *c, unsigned long *d) {
    unsigned i = index_of_item();
    long x = (long)a[i] * b[i] + c[i];
    unsigned long y = d[i] / (b[i] | 1) + d[i] % (a[i] | 1);
    c[i] = x << (b[i] & 31) | x >> 3;
    d[i] = __popcll(y) + __clzll(y) + __ffsll((unsigned long long)y) + __brevll(y) + __umulhi(a[i], b[i]) +
           __mul64hi(x, y) + (unsigned)a[i] / 7 + a[i] % 13;
}

__global__ void bytes_and_shorts(const unsigned char *a, signed char *b, short *s, unsigned short *u, int n) {
    __shared__ unsigned char shared_bytes[300];
    __shared__ short shared_shorts[100];
    unsigned i = index_of_item();
    b[i] = a[i] * 3 + b[i + 1];
    s[i] = s[i] * u[i] + b[i];
    u[i] = (u[i] >> 2) + min((int)s[i], (int)u[i + 1]);
    uchar4 quad = ((uchar4 *)a)[i];
    ((int *)s)[i + n] = quad.x + quad.y * 256 + quad.z - quad.w;
    shared_bytes[i & 255] = a[i];
    shared_shorts[i % 100] = s[i];
    __syncthreads();
    u[i + 7] = shared_bytes[(i * 3) & 255] + shared_shorts[i % 99];
}

__global__ void floats(const float *a, const float *b, float *c) {
    unsigned i = index_of_item();
    float x = a[i], y = b[i];
    c[i] = sinf(x) + cosf(y) + expf(x) * logf(y) + powf(x, y) + sqrtf(x) / y + fmaf(x, y, 1.5f) + fminf(x, y) +
           fmaxf(x, y) + floorf(x) + rintf(y) + truncf(x) + atan2f(x, y) + tanhf(x) + erff(y) + ldexpf(x, 3) +
           (isnan(x) ? 1.f : 2.f) + copysignf(x, y) + fmodf(x, y) + rsqrtf(x) + cbrtf(y);
    c[i + 1] = __builtin_amdgcn_rcpf(x) + __builtin_amdgcn_fmed3f(x, 1.f, y);
}

__global__ void doubles(const double *a, const double *b, double *c, int *e) {
    unsigned i = index_of_item();
    double x = a[i], y = b[i];
    c[i] = sin(x) + exp(y) + log(x) + x / y + sqrt(x) + fma(x, y, 2.25) + fmin(x, y) + floor(y) + (double)(long)x +
           (double)(int)y + (float)x + pow(x, y) + ldexp(x, 5) + frexp(y, e) + rint(x) + fmod(x, y);
}

__global__ void halves(const __half *a, const __half *b, __half *c, __half2 *d, int n) {
    unsigned i = index_of_item();
    __half x = a[i], y = b[i];
    c[i] = __hfma(x, y, __float2half(0.75f)) + hsqrt(x) / y + hexp(x) * hlog(y) + hsin(x) + __hmax(x, y) + __hneg(x) +
           __int2half_rn(i) + hfloor(x) + hrcp(y);
    d[i] = __hfma2(d[i], __hadd2(d[i + 1], d[i + 2]), __hmul2(d[i + 3], d[i])) + __halves2half2(x, y);
    c[i + n] = __ushort2half_rn(__half2ushort_rn(x));
    if (x > y) c[i] = __float2half(1.0f);
}

__global__ void brain_floats(const __hip_bfloat16 *a, __hip_bfloat16 *b, float *f) {
    unsigned i = index_of_item();
    b[i] = __float2bfloat16(__bfloat162float(a[i]) * f[i] + 1);
    f[i] = __bfloat162float(a[i] + b[i]);
}

__global__ void mixed(const __half *a, const __half *b, float *c, int n) {
    float sum = 0;
    for (int k = 0; k < n; k++) sum += (float)a[threadIdx.x * n + k] * (float)b[k * n + threadIdx.x];
    c[threadIdx.x] = sum;
}

__global__ void conversions(const float *a, const double *d, int *i32, long *i64, unsigned *u32, unsigned long *u64,
                            __half *h) {
    int i = threadIdx.x;
    i32[i] = a[i];
    u32[i] = a[i + 1];
    i64[i] = a[i + 2];
    u64[i] = d[i];
    i32[i + 64] = d[i + 1];
    ((float *)d)[i] = i64[i + 3];
    ((double *)a)[i] = u64[i + 4];
    h[i] = (__half)a[i];
    ((float *)i64)[i] = (float)h[i + 1];
    ((double *)u64)[i] = u32[i + 1];
    i32[i + 3] = __float_as_int(a[i]) + __float2int_rd(a[i]) + __float2int_ru(a[i + 1]);
}

__global__ void shared(const float *a, float *b) {
    __shared__ float tile[64][65];
    __shared__ double wide[256];
    int t = threadIdx.x;
    for (int k = 0; k < 16; k++) tile[t & 63][k + (t >> 6) * 16] = a[t * 64 + k];
    wide[t & 255] = a[t];
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < 64; k++) sum += tile[k][t & 63] * tile[t & 63][k];
    b[t] = sum + wide[(t * 7) & 255];
}

__global__ void dynamic_shared(float *a) {
    extern __shared__ float values[];
    values[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    for (int k = blockDim.x / 2; k > 0; k >>= 1) {
        if (threadIdx.x < k) values[threadIdx.x] += values[threadIdx.x + k];
        __syncthreads();
    }
    if (!threadIdx.x) a[blockIdx.x] = values[0];
}

__global__ void atomics(int *a, unsigned *u, float *f, double *d, unsigned long long *l) {
    __shared__ int s;
    __shared__ float sf;
    __shared__ unsigned long long sl;
    int i = threadIdx.x;
    if (i == 0) s = 0, sf = 0, sl = 0;
    __syncthreads();
    atomicAdd(&s, i);
    atomicAdd(&sf, f[i]);
    atomicMax(&sl, l[i]);
    int old = atomicAdd(&a[i], 1);
    atomicSub(a + 1, 2);
    atomicMin(a + 2, i);
    atomicMax(u + 2, old);
    atomicAnd(u + 3, i);
    atomicOr(u + 4, i);
    atomicXor(u + 5, i);
    old += atomicExch(a + 6, i) + atomicCAS(a + 7, 1, 2);
    atomicInc(u + 8, 100);
    atomicDec(u + 9, 100);
    atomicAdd(f, f[i]);
    atomicAdd(d, d[i]);
    atomicAdd(l, l[i]);
    l[9] = atomicCAS(l + 1, 1ull, old);
    unsafeAtomicAdd(f + 2, 1.f);
    unsafeAtomicAdd(d + 2, 1.0);
    atomicMin(f + 5, 2.f);
    atomicMin(l + 7, l[i]);
    __syncthreads();
    a[i + 100] = s + old + atomicAdd(&s, 3);
    f[100 + i] = sf;
    l[200 + i] = sl;
}

__global__ void lanes(int *a) {
    int i = threadIdx.x;
    int v = a[i];
    for (int k = 1; k < 32; k *= 2) v += __shfl_xor(v, k);
    v += __shfl(v, 3) + __shfl_down(v, 5) + __shfl_up(v, 7);
    a[i] = v + __popcll(__ballot(v > 3)) + __any(v > 2) + __all(v > 1) + __builtin_amdgcn_readfirstlane(v) +
           __builtin_amdgcn_update_dpp(0, v, 0x111, 0xf, 0xf, false) +
           __builtin_amdgcn_mov_dpp(v, 0xb1, 0xf, 0xf, true) + __builtin_amdgcn_ds_swizzle(v, 0x401f) +
           __builtin_amdgcn_ds_bpermute(v, i) + __builtin_amdgcn_ds_permute(v, i) +
           __builtin_amdgcn_readlane(v, 5);
}

__device__ __attribute__((noinline)) float helper(float *p, int k) {
    float values[40];
    for (int j = 0; j < 40; j++) values[j] = p[j] * k;
    float sum = 0;
    for (int j = 0; j < 40; j++) sum += values[(j * k) % 40];
    return sum;
}

__global__ void scratch(float *a, int n) {
    float values[64];
    for (int j = 0; j < 64; j++) values[j] = a[j + threadIdx.x];
    float sum = 0;
    for (int j = 0; j < n; j++) sum += values[(j * n) & 63] + helper(a + j, n);
    a[threadIdx.x] = sum;
}

typedef float (*Function)(float);
__device__ float twice(float x) { return x * 2; }
__device__ float more(float x) { return x + 3; }
__device__ Function table[2] = {twice, more};

__global__ void branches(int *a, float *f, int n) {
    int i = threadIdx.x;
    switch (a[i]) {
    case 0: a[i] = 3; break;
    case 1: a[i] = n * i; break;
    case 2: a[i] += 7; break;
    case 3: a[i] ^= 5; break;
    case 4: a[i] = -a[i]; break;
    case 5: a[i] *= a[i + 1]; break;
    case 6: return;
    default: a[i] = ~a[i];
    }
    switch (n) {
    case 0: a[i] += 1; break;
    case 1: a[i] -= n * i; break;
    case 2: a[i] += 17; break;
    case 3: a[i] ^= 15; break;
    case 4: a[i] *= 31; break;
    case 5: a[i] |= 3;
    }
    f[i] = table[a[i] & 1](f[i]);
}

__global__ void vectors_and_clocks(float4 *a, float2 *b, int n) {
    unsigned i = index_of_item();
    float4 x = a[i];
    x.x *= 2;
    x.w += x.y;
    a[i + n] = x;
    b[i] = {x.x, x.z};
    __threadfence();
    __syncthreads();
    a[i].x = clock64() + wall_clock64();
    __builtin_amdgcn_s_sleep(3);
    if (n < 0) abort();
}
}
