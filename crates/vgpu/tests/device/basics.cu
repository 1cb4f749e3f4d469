// What ordinary kernels do: arithmetic, LDS, barriers, lane exchange, private arrays, atomics, ids.
#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>
#include <stdint.h>

extern "C" __global__ void saxpy(float a, const float *x, float *y, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}

extern "C" __global__ void block_sum(const int *x, int *sums, unsigned n) {
    __shared__ int partial[1024];
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    partial[threadIdx.x] = i < n ? x[i] : 0;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        sums[blockIdx.x] = partial[0];
}

extern "C" __global__ void wave_sum(const float *x, float *sums) {
    float value = x[blockIdx.x * blockDim.x + threadIdx.x];
    for (int mask = warpSize / 2; mask > 0; mask /= 2)
        value += __shfl_xor(value, mask);
    if (threadIdx.x % warpSize == 0)
        sums[(blockIdx.x * blockDim.x + threadIdx.x) / warpSize] = value;
}

extern "C" __global__ void shuffles(const int *x, int *out) {
    int lane = threadIdx.x % warpSize;
    int value = x[threadIdx.x];
    int up = __shfl_up(value, 3), down = __shfl_down(value, 5), any = __shfl(value, (lane * 7 + 1) % warpSize);
    unsigned long long votes = __ballot(value % 3 == 0);
    out[4 * threadIdx.x] = up;
    out[4 * threadIdx.x + 1] = down;
    out[4 * threadIdx.x + 2] = any;
    out[4 * threadIdx.x + 3] = __popcll(votes);
}

extern "C" __global__ void private_array(const int *x, int *out, int rounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int local[40];
    for (int j = 0; j < 40; j++)
        local[j] = x[(i + j) % 64];
    for (int j = 0; j < rounds; j++) {
        int at = (local[j % 40] + i) % 40;
        if (at < 0)
            at += 40;
        local[at] = local[at] * 3 + j;
    }
    int sum = 0;
    for (int j = 0; j < 40; j++)
        sum = sum * 31 + local[(j + i) % 40];
    out[i] = sum;
}

static __device__ __attribute__((noinline)) int sum_of(const int *p, int n) {
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum = sum * 5 + p[i];
    return sum;
}

// One function, called with pointers to LDS, to private memory and to global memory.
extern "C" __global__ void generic_pointers(const int *x, int *out, int n, int which) {
    __shared__ int shared[64];
    int local[8];
    for (int i = 0; i < 8; i++)
        local[i] = x[(threadIdx.x + i * n) % 64];
    shared[threadIdx.x % 64] = x[threadIdx.x % 64] + 1;
    __syncthreads();
    int kind = (which + threadIdx.x) % 3;
    const int *p = kind == 0 ? shared : kind == 1 ? local : x;
    out[threadIdx.x] = sum_of(p, n);
}

extern "C" __global__ void ids(unsigned *out) {
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned y = blockIdx.y * blockDim.y + threadIdx.y;
    unsigned z = blockIdx.z * blockDim.z + threadIdx.z;
    unsigned width = gridDim.x * blockDim.x, height = gridDim.y * blockDim.y;
    out[(z * height + y) * width + x] = x | y << 8 | z << 16 | blockIdx.z << 24;
}

extern "C" __global__ void atomics(int *i32, unsigned *u32, unsigned long long *u64, float *f32, double *f64) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&i32[0], i);
    atomicMin(&i32[1], -i);
    atomicMax(&i32[2], i);
    atomicAnd(&u32[0], ~(1u << (i % 32)));
    atomicOr(&u32[1], 1u << (i % 32));
    atomicXor(&u32[2], i);
    atomicInc(&u32[3], 1000);
    u32[8 + i] = atomicAdd(&u32[4], 1);
    atomicAdd(&u64[0], (unsigned long long)i << 30);
    atomicMax(&u64[1], (unsigned long long)i * 0x1000000001ull);
    atomicAdd(&f32[0], 0.5f);
    atomicAdd(&f64[0], 0.25);
    unsigned old = u32[5], assumed;
    do {
        assumed = old;
        old = atomicCAS(&u32[5], assumed, assumed + 3);
    } while (old != assumed);
}

extern "C" __global__ void histogram(const unsigned char *x, unsigned *bins, unsigned n) {
    __shared__ unsigned local[256];
    for (unsigned i = threadIdx.x; i < 256; i += blockDim.x)
        local[i] = 0;
    __syncthreads();
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&local[x[i]], 1u);
    __syncthreads();
    for (unsigned i = threadIdx.x; i < 256; i += blockDim.x)
        atomicAdd(&bins[i], local[i]);
}

extern "C" __global__ void wide_integers(const uint64_t *a, const uint64_t *b, uint64_t *out) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    uint64_t x = a[i], y = b[i] | 1;
    int64_t s = (int64_t)x, t = (int64_t)y;
    out[8 * i] = x * y;
    out[8 * i + 1] = x / y;
    out[8 * i + 2] = x % y;
    out[8 * i + 3] = (uint64_t)(s / t);
    out[8 * i + 4] = (x << (y & 63)) ^ (x >> (y % 61)) ^ (uint64_t)(s >> (y % 37));
    out[8 * i + 5] = __umul64hi(x, y);
    out[8 * i + 6] = x - y + (s < t) + 2 * (x < y);
    out[8 * i + 7] = (uint64_t)__popcll(x) | (uint64_t)__clzll(y) << 8 | (uint64_t)__ffsll((long long)(x & y)) << 16;
}

extern "C" __global__ void halves(const __half *a, const __half *b, __half *out) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    out[4 * i] = __hadd(a[i], b[i]);
    out[4 * i + 1] = __hmul(a[i], b[i]);
    out[4 * i + 2] = __hfma(a[i], b[i], a[i]);
    out[4 * i + 3] = __float2half_rn(__half2float(a[i]) - __half2float(b[i]));
}

extern "C" __global__ void brain_halves(const __hip_bfloat16 *a, const __hip_bfloat16 *b, __hip_bfloat16 *out) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    out[2 * i] = __float2bfloat16(__bfloat162float(a[i]) * __bfloat162float(b[i]));
    out[2 * i + 1] = __float2bfloat16(__bfloat162float(a[i]) + __bfloat162float(b[i]));
}

extern "C" __global__ void doubles(const double *a, const double *b, double *out) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    out[4 * i] = a[i] + b[i];
    out[4 * i + 1] = a[i] / b[i];
    out[4 * i + 2] = __fma_rn(a[i], b[i], a[i]);
    out[4 * i + 3] = sqrt(fabs(a[i]));
}

extern "C" __global__ void narrow(const int8_t *a, const uint8_t *b, const int16_t *c, const uint16_t *d, int8_t *e, uint16_t *f,
                                  float4 *g, int64_t *h) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = a[i] + b[i] + c[i] + d[i];
    e[i] = (int8_t)sum;
    f[i] = (uint16_t)(sum * 3);
    float4 v = g[i];
    g[i] = make_float4(v.w, v.x + 1, v.y, (float)sum);
    h[i] = (int64_t)sum << 20;
}

struct Parameters {
    int scale[5];
    short shift;
    char sign;
    double factor;
};

extern "C" __global__ void by_value(Parameters p, int *out) {
    out[threadIdx.x] = (p.scale[threadIdx.x % 5] + p.shift) * p.sign + (int)p.factor;
}

extern "C" __global__ void dynamic_lds(const int *x, int *out) {
    extern __shared__ int dynamic[];
    dynamic[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = dynamic[blockDim.x - 1 - threadIdx.x];
}

__device__ int counter = 40;
__constant__ int table[4] = {3, 5, 7, 11};

extern "C" __global__ void globals(int *out) {
    int old = atomicAdd(&counter, 1);
    out[threadIdx.x] = table[threadIdx.x % 4] + (old >= 40 ? 0 : 1000);
}

extern "C" __global__ void nothing() {}

// Workgroups take tiles one after another and count the work-items that reach each tile. A barrier is missing: the first wave
// overwrites the number of the tile after a load from memory.
extern "C" __global__ void overwritten_tiles(const unsigned *other, unsigned *next, unsigned *counts, unsigned tiles) {
    __shared__ unsigned shared;
    for (;;) {
        if (threadIdx.x == 0)
            shared = atomicAdd(next, 1);
        __syncthreads();
        unsigned tile = shared;
        if (tile >= tiles)
            return;
        if (threadIdx.x == 0)
            shared = *(const volatile unsigned *)other;
        __syncthreads();
        if (shared == 7)
            atomicAdd(&counts[tile], 1);
        __syncthreads();
    }
}

// The sum of the squares of the workgroups' ids in y.
extern "C" __global__ void sum_of_y(unsigned *sum) { atomicAdd(sum, blockIdx.y * blockIdx.y); }

#ifdef __gfx1201__
// The first wave arrives at the barrier, and waits there only after the second one has passed it.
extern "C" __global__ void split_barrier(int *out) {
    __shared__ volatile int passed;
    if (threadIdx.x == 0)
        passed = 0;
    __syncthreads();
    __builtin_amdgcn_s_barrier_signal(-1);
    if (threadIdx.x < 32)
        while (!passed)
            __builtin_amdgcn_s_sleep(1);
    __builtin_amdgcn_s_barrier_wait(-1);
    if (threadIdx.x >= 32)
        passed = 1;
    out[threadIdx.x] = passed;
}

// The first of the workgroup's waves to arrive at each of two barriers, and the state of the barrier before.
extern "C" __global__ void first_at_barrier(int *first, int *state) {
    for (int round = 0; round < 2; ++round) {
        int before = __builtin_amdgcn_s_get_barrier_state(-1);
        bool is_first = __builtin_amdgcn_s_barrier_signal_isfirst(-1);
        __builtin_amdgcn_s_barrier_wait(-1);
        first[round * blockDim.x + threadIdx.x] = is_first;
        if (threadIdx.x == 0)
            state[round] = before;
    }
}

// Waits for arrivals that never come.
extern "C" __global__ void unsignalled_barrier() { __builtin_amdgcn_s_barrier_wait(-1); }
#endif

// Assembly labels are symbols of the code object, and disassemblies of branches show them.
extern "C" __global__ void labels() {
    asm volatile("s_branch over_%=\nbefore_%=:\ns_nop 0\nover_%=:\ns_cbranch_scc0 after_%=\nafter_%=:" ::);
}

// Functions that other modules call through their addresses.
static __device__ unsigned thrice(unsigned x) { return x > 1000 ? 7 : 3 * x; }
static __device__ unsigned read_nothing(unsigned x) { return *(volatile unsigned *)(size_t)(16 + 4 * x); }
__device__ unsigned (*address_of_thrice)(unsigned) = thrice;
__device__ unsigned (*address_of_read_nothing)(unsigned) = read_nothing;
