// Atomic operations of every width, each on its own histogram-like array.
#pragma once
#include "../core/types.cuh"
#include <cuda/atomic>

// Maximum and minimum of floats as integers, whose order is the same for equal signs.
OPS_INLINE float atomic_max_float(float *at, float value) {
    return value >= 0 ? __int_as_float(atomicMax(reinterpret_cast<int *>(at), __float_as_int(value)))
                      : __uint_as_float(atomicMin(reinterpret_cast<unsigned *>(at), __float_as_uint(value)));
}
OPS_INLINE double atomic_max_double(double *at, double value) {
    unsigned long long *bits = reinterpret_cast<unsigned long long *>(at), old = *bits, assumed;
    do {
        assumed = old;
        old = atomicCAS(bits, assumed, __double_as_longlong(fmax(value, __longlong_as_double(assumed))));
    } while (assumed != old);
    return __longlong_as_double(old);
}
// A half's sum by 16 bits of compare-and-swap.
OPS_INLINE void atomic_add_16(half_t *at, half_t value) {
    unsigned short *bits = reinterpret_cast<unsigned short *>(at), old = *bits, assumed;
    do {
        assumed = old;
        old = atomicCAS(bits, assumed, __half_as_ushort(__hadd(__ushort_as_half(assumed), value)));
    } while (assumed != old);
}
extern "C" __global__ void atomics_all(const int *bins, const float *x, unsigned n, float *f32_sum, double *f64_sum, half_t *f16_sum, __half2 *f16x2_sum,
                                       bfloat_t *bf16_sum, __nv_bfloat162 *bf16x2_sum, float *f32_max, double *f64_max, half_t *cas_sum,
                                       unsigned long long *u64_sum, unsigned *wrapped, unsigned char *bytes) {
    GRID_STRIDE(i, n) {
        const int bin = bins[i];
        const float value = x[i];
        atomicAdd(f32_sum + bin, value);
        atomicAdd(f64_sum + bin, static_cast<double>(value));
        atomicAdd(f16_sum + bin, __float2half(1.0f));
        atomicAdd(f16x2_sum + bin, __floats2half2_rn(1.0f, 2.0f));
        atomicAdd(bf16_sum + bin, __float2bfloat16(1.0f));
        atomicAdd(bf16x2_sum + bin, __floats2bfloat162_rn(2.0f, 1.0f));
        atomic_max_float(f32_max + bin, value);
        atomic_max_double(f64_max + bin, value);
        atomic_add_16(cas_sum + bin, __float2half(1.0f));
        ::cuda::atomic_ref<unsigned long long, ::cuda::thread_scope_device> sum(u64_sum[bin]);
        sum.fetch_add(1ull << 33, ::cuda::std::memory_order_relaxed);
        atomicInc(wrapped + bin, 4);
        // The low byte of a word of four counters.
        atomicAdd(reinterpret_cast<unsigned *>(bytes) + bin / 4, 1u << (8 * (bin % 4)));
    }
}
