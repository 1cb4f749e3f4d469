// CUDA's <curand_kernel.h> for AMD targets: random numbers in kernels, XORWOW and Philox 4x32-10.
//
// Philox is the generator of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", with the seed as key, the sequence as the
// upper half of the counter and a quarter of the offset as its lower half. Its numbers are the same as CUDA's. XORWOW is Marsaglia's.
// Its initial state is mixed from seed and sequence here, so its numbers differ from CUDA's.
#pragma once
#define CURAND_KERNEL_H_
#include "ferrocm_letters_begin.h"
#include "cuda_runtime.h"

#define __CUDA_RAND_INLINE static __device__ __attribute__((always_inline, unused)) inline
#define CURAND_2POW32_INV (2.3283064e-10f)
#define CURAND_2POW32_INV_DOUBLE (2.3283064365386963e-10)
#define CURAND_2POW53_INV_DOUBLE (1.1102230246251565e-16)
#define CURAND_2PI (6.2831855f)

struct curandStateXORWOW {
    unsigned d, v[5];
    int boxmuller_flag, boxmuller_flag_double;
    float boxmuller_extra;
    double boxmuller_extra_double;
};
struct curandStatePhilox4_32_10 {
    uint4 ctr, output;
    uint2 key;
    unsigned STATE;
    int boxmuller_flag, boxmuller_flag_double;
    float boxmuller_extra;
    double boxmuller_extra_double;
};
typedef curandStateXORWOW curandStateXORWOW_t;
typedef curandStateXORWOW curandState;
typedef curandStateXORWOW curandState_t;
typedef curandStatePhilox4_32_10 curandStatePhilox4_32_10_t;

// Philox: ten rounds on the counter.
__CUDA_RAND_INLINE uint4 curand_Philox4x32_10(uint4 c, uint2 k) {
    for (int round = 0; round < 10; round++) {
        const unsigned high0 = __umulhi(0xd2511f53u, c.x), low0 = 0xd2511f53u * c.x;
        const unsigned high1 = __umulhi(0xcd9e8d57u, c.z), low1 = 0xcd9e8d57u * c.z;
        c = make_uint4(high1 ^ c.y ^ k.x, low1, high0 ^ c.w ^ k.y, low0);
        k.x += 0x9e3779b9u;
        k.y += 0xbb67ae85u;
    }
    return c;
}
__CUDA_RAND_INLINE void __cuda_philox_count(curandStatePhilox4_32_10 *state, unsigned long long n) {
    const unsigned long long low = (static_cast<unsigned long long>(state->ctr.y) << 32 | state->ctr.x), next = low + n;
    state->ctr.x = static_cast<unsigned>(next);
    state->ctr.y = static_cast<unsigned>(next >> 32);
    if (next < low && ++state->ctr.z == 0)
        ++state->ctr.w;
}
__CUDA_RAND_INLINE void skipahead(unsigned long long n, curandStatePhilox4_32_10 *state) {
    const unsigned long long place = state->STATE + (n & 3);
    __cuda_philox_count(state, n / 4 + place / 4);
    state->STATE = static_cast<unsigned>(place & 3);
    state->output = curand_Philox4x32_10(state->ctr, state->key);
}
__CUDA_RAND_INLINE void skipahead_sequence(unsigned long long n, curandStatePhilox4_32_10 *state) {
    const unsigned long long high = (static_cast<unsigned long long>(state->ctr.w) << 32 | state->ctr.z) + n;
    state->ctr.z = static_cast<unsigned>(high);
    state->ctr.w = static_cast<unsigned>(high >> 32);
    state->output = curand_Philox4x32_10(state->ctr, state->key);
}
__CUDA_RAND_INLINE void curand_init(unsigned long long seed, unsigned long long sequence, unsigned long long offset,
                                    curandStatePhilox4_32_10 *state) {
    state->key = make_uint2(static_cast<unsigned>(seed), static_cast<unsigned>(seed >> 32));
    state->ctr = make_uint4(0, 0, 0, 0);
    state->STATE = 0;
    state->boxmuller_flag = state->boxmuller_flag_double = 0;
    state->boxmuller_extra = 0;
    state->boxmuller_extra_double = 0;
    skipahead_sequence(sequence, state);
    skipahead(offset, state);
}
__CUDA_RAND_INLINE unsigned curand(curandStatePhilox4_32_10 *state) {
    const unsigned place = state->STATE;
    const unsigned result = place == 0 ? state->output.x : place == 1 ? state->output.y : place == 2 ? state->output.z : state->output.w;
    state->STATE = place + 1;
    if (state->STATE == 4) {
        __cuda_philox_count(state, 1);
        state->output = curand_Philox4x32_10(state->ctr, state->key);
        state->STATE = 0;
    }
    return result;
}
// The next four numbers from the position of the state.
__CUDA_RAND_INLINE uint4 curand4(curandStatePhilox4_32_10 *state) {
    const uint4 old = state->output;
    __cuda_philox_count(state, 1);
    state->output = curand_Philox4x32_10(state->ctr, state->key);
    switch (state->STATE) {
    case 0: return old;
    case 1: return make_uint4(old.y, old.z, old.w, state->output.x);
    case 2: return make_uint4(old.z, old.w, state->output.x, state->output.y);
    default: return make_uint4(old.w, state->output.x, state->output.y, state->output.z);
    }
}

// XORWOW.
__CUDA_RAND_INLINE unsigned curand(curandStateXORWOW *state) {
    const unsigned t = state->v[0] ^ state->v[0] >> 2;
    state->v[0] = state->v[1];
    state->v[1] = state->v[2];
    state->v[2] = state->v[3];
    state->v[3] = state->v[4];
    state->v[4] = state->v[4] ^ state->v[4] << 4 ^ t ^ t << 1;
    state->d += 362437;
    return state->v[4] + state->d;
}
__CUDA_RAND_INLINE void skipahead(unsigned long long n, curandStateXORWOW *state) {
    for (; n > 0; n--)
        (void)curand(state);
}
// Each sequence has its own start: Philox of its number, with the seed as key.
__CUDA_RAND_INLINE void curand_init(unsigned long long seed, unsigned long long sequence, unsigned long long offset, curandStateXORWOW *state) {
    const uint2 key = make_uint2(static_cast<unsigned>(seed), static_cast<unsigned>(seed >> 32));
    const unsigned low = static_cast<unsigned>(sequence), high = static_cast<unsigned>(sequence >> 32);
    const uint4 first = curand_Philox4x32_10(make_uint4(low, high, 0, 0), key), second = curand_Philox4x32_10(make_uint4(low, high, 1, 0), key);
    state->v[0] = first.x;
    state->v[1] = first.y;
    state->v[2] = first.z;
    state->v[3] = first.w;
    // The words must not all be 0.
    state->v[4] = second.x | 1;
    state->d = second.y;
    state->boxmuller_flag = state->boxmuller_flag_double = 0;
    state->boxmuller_extra = 0;
    state->boxmuller_extra_double = 0;
    skipahead(offset, state);
}

// In (0, 1].
__CUDA_RAND_INLINE float _curand_uniform(unsigned x) { return x * 2.3283064365386963e-10f + 1.16415321826934815e-10f; }
__CUDA_RAND_INLINE double _curand_uniform_double_hq(unsigned x, unsigned y) {
    const unsigned long long z = static_cast<unsigned long long>(x) ^ static_cast<unsigned long long>(y) << 21;
    return z * CURAND_2POW53_INV_DOUBLE + CURAND_2POW53_INV_DOUBLE / 2;
}
// Two normal numbers from two uniform ones.
__CUDA_RAND_INLINE float2 _curand_box_muller(unsigned x, unsigned y) {
    const float u = _curand_uniform(x), angle = y * (2.3283064365386963e-10f * 6.2831855f) + 1.16415321826934815e-10f * 6.2831855f;
    const float radius = sqrtf(-2.0f * logf(u));
    float2 result;
    sincosf(angle, &result.x, &result.y);
    result.x *= radius;
    result.y *= radius;
    return result;
}
__CUDA_RAND_INLINE double2 _curand_box_muller_double(unsigned x0, unsigned x1, unsigned y0, unsigned y1) {
    const double u = _curand_uniform_double_hq(x0, x1), half_turns = 2 * _curand_uniform_double_hq(y0, y1);
    const double radius = sqrt(-2.0 * log(u));
    double2 result;
    sincospi(half_turns, &result.x, &result.y);
    result.x *= radius;
    result.y *= radius;
    return result;
}

template <typename State> __CUDA_RAND_INLINE float curand_uniform(State *state) { return _curand_uniform(curand(state)); }
template <typename State> __CUDA_RAND_INLINE double curand_uniform_double(State *state) {
    const unsigned x = curand(state), y = curand(state);
    return _curand_uniform_double_hq(x, y);
}
template <typename State> __CUDA_RAND_INLINE float2 curand_normal2(State *state) {
    const unsigned x = curand(state), y = curand(state);
    return _curand_box_muller(x, y);
}
template <typename State> __CUDA_RAND_INLINE float curand_normal(State *state) {
    if (state->boxmuller_flag) {
        state->boxmuller_flag = 0;
        return state->boxmuller_extra;
    }
    const float2 pair = curand_normal2(state);
    state->boxmuller_extra = pair.y;
    state->boxmuller_flag = 1;
    return pair.x;
}
template <typename State> __CUDA_RAND_INLINE double2 curand_normal2_double(State *state) {
    const unsigned x0 = curand(state), x1 = curand(state), y0 = curand(state), y1 = curand(state);
    return _curand_box_muller_double(x0, x1, y0, y1);
}
template <typename State> __CUDA_RAND_INLINE double curand_normal_double(State *state) {
    if (state->boxmuller_flag_double) {
        state->boxmuller_flag_double = 0;
        return state->boxmuller_extra_double;
    }
    const double2 pair = curand_normal2_double(state);
    state->boxmuller_extra_double = pair.y;
    state->boxmuller_flag_double = 1;
    return pair.x;
}
template <typename State> __CUDA_RAND_INLINE float curand_log_normal(State *state, float mean, float deviation) {
    return expf(mean + deviation * curand_normal(state));
}
template <typename State> __CUDA_RAND_INLINE double curand_log_normal_double(State *state, double mean, double deviation) {
    return exp(mean + deviation * curand_normal_double(state));
}
__CUDA_RAND_INLINE float4 curand_uniform4(curandStatePhilox4_32_10 *state) {
    const uint4 x = curand4(state);
    return make_float4(_curand_uniform(x.x), _curand_uniform(x.y), _curand_uniform(x.z), _curand_uniform(x.w));
}
__CUDA_RAND_INLINE double2 curand_uniform2_double(curandStatePhilox4_32_10 *state) {
    const uint4 x = curand4(state);
    return make_double2(_curand_uniform_double_hq(x.x, x.y), _curand_uniform_double_hq(x.z, x.w));
}
__CUDA_RAND_INLINE float4 curand_normal4(curandStatePhilox4_32_10 *state) {
    const uint4 x = curand4(state);
    const float2 a = _curand_box_muller(x.x, x.y), b = _curand_box_muller(x.z, x.w);
    return make_float4(a.x, a.y, b.x, b.y);
}
#undef __CUDA_RAND_INLINE
#include "ferrocm_letters_end.h"
