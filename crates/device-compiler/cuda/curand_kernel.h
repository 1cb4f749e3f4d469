// CUDA's <curand_kernel.h> for AMD targets: random numbers in kernels.
//
// XORWOW is Marsaglia's, MRG32k3a is L'Ecuyer's, and Philox 4x32-10 is that of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3".
// Seeds, sequences and offsets choose the same numbers as in CUDA. Sobol's sequences take the caller's direction vectors.
#pragma once
#define CURAND_KERNEL_H_
#include "ferrocm_letters_begin.h"
#include "cuda_runtime.h"
#include "curand.h"
#include "ferrocm_mrg.h"
#include "ferrocm_xorwow.h"

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
struct curandStateMRG32k3a {
    unsigned s1[3], s2[3];
    int boxmuller_flag, boxmuller_flag_double;
    float boxmuller_extra;
    double boxmuller_extra_double;
};
struct curandStateSobol32 {
    unsigned i, x, c, direction_vectors[32];
};
struct curandStateScrambledSobol32 {
    unsigned i, x, c, direction_vectors[32];
};
struct curandStateSobol64 {
    unsigned long long i, x, c, direction_vectors[64];
};
struct curandStateScrambledSobol64 {
    unsigned long long i, x, c, direction_vectors[64];
};
typedef curandStateMRG32k3a curandStateMRG32k3a_t;
typedef curandStateSobol32 curandStateSobol32_t;
typedef curandStateScrambledSobol32 curandStateScrambledSobol32_t;
typedef curandStateSobol64 curandStateSobol64_t;
typedef curandStateScrambledSobol64 curandStateScrambledSobol64_t;
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
// As many steps as a number's digits of base 16 say with the polynomials of a table.
__CUDA_RAND_INLINE void __cuda_xorwow_skip(unsigned long long n, const unsigned (*table)[15][5], curandStateXORWOW *state) {
    for (int digit = 0; n > 0; digit++, n >>= 4) {
        if ((n & 15) == 0)
            continue;
        const unsigned *const steps = table[digit][(n & 15) - 1];
        const unsigned d = state->d;
        unsigned sum[5] = {0, 0, 0, 0, 0};
        for (int i = 0; i < 160; i++) {
            const unsigned mask = 0u - (steps[i / 32] >> i % 32 & 1);
            for (int j = 0; j < 5; j++)
                sum[j] ^= state->v[j] & mask;
            (void)curand(state);
        }
        for (int j = 0; j < 5; j++)
            state->v[j] = sum[j];
        state->d = d;
    }
}
__CUDA_RAND_INLINE void skipahead(unsigned long long n, curandStateXORWOW *state) {
    if (n < 160) {
        for (; n > 0; n--)
            (void)curand(state);
        return;
    }
    __cuda_xorwow_skip(n, __cuda_xorwow_steps, state);
    state->d += 362437 * static_cast<unsigned>(n);
}
// 2^67 steps change d by a multiple of 2^32.
__CUDA_RAND_INLINE void skipahead_sequence(unsigned long long n, curandStateXORWOW *state) {
    __cuda_xorwow_skip(n, __cuda_xorwow_sequences, state);
}
__CUDA_RAND_INLINE void curand_init(unsigned long long seed, unsigned long long sequence, unsigned long long offset, curandStateXORWOW *state) {
    const unsigned low = 1099087573u * (static_cast<unsigned>(seed) ^ 0xaad26b49u);
    const unsigned high = 2591861531u * (static_cast<unsigned>(seed >> 32) ^ 0xf7dcefddu);
    state->v[0] = 123456789u + low;
    state->v[1] = 362436069u ^ low;
    state->v[2] = 521288629u + high;
    state->v[3] = 88675123u ^ high;
    state->v[4] = 5783321u + low;
    state->d = 6615241u + high + low;
    state->boxmuller_flag = state->boxmuller_flag_double = 0;
    state->boxmuller_extra = 0;
    state->boxmuller_extra_double = 0;
    skipahead_sequence(sequence, state);
    skipahead(offset, state);
}

// MRG32k3a.
#define MRG32K3A_NORM (2.3283065498378288e-10)
#define MRG32K3A_BITS_NORM (1.000000048662)
__CUDA_RAND_INLINE unsigned __cuda_mrg_of(unsigned long long x, int half) {
    return static_cast<unsigned>(half == 0 ? x % 4294967087ull : x % 4294944443ull);
}
// A number of 1 to 4294967087.
__CUDA_RAND_INLINE double curand_MRG32k3a(curandStateMRG32k3a *state) {
    // -810728 and -1370589 modulo the primes.
    const unsigned a = __cuda_mrg_of(static_cast<unsigned long long>(__cuda_mrg_of(4294156359ull * state->s1[0], 0)) + 1403580ull * state->s1[1], 0);
    const unsigned b = __cuda_mrg_of(static_cast<unsigned long long>(__cuda_mrg_of(4293573854ull * state->s2[0], 1)) + 527612ull * state->s2[2], 1);
    state->s1[0] = state->s1[1];
    state->s1[1] = state->s1[2];
    state->s1[2] = a;
    state->s2[0] = state->s2[1];
    state->s2[1] = state->s2[2];
    state->s2[2] = b;
    return a > b ? static_cast<double>(a - b) : static_cast<double>(static_cast<long long>(a) - b + 4294967087ll);
}
__CUDA_RAND_INLINE unsigned curand(curandStateMRG32k3a *state) {
    return static_cast<unsigned>(curand_MRG32k3a(state) * MRG32K3A_BITS_NORM);
}
__CUDA_RAND_INLINE void __cuda_mrg_multiply(unsigned *by, const unsigned *matrix, int half) {
    unsigned to[3];
    for (int row = 0; row < 3; row++) {
        unsigned long long sum = 0;
        for (int i = 0; i < 3; i++)
            sum += __cuda_mrg_of(static_cast<unsigned long long>(matrix[3 * row + i]) * by[i], half);
        to[row] = __cuda_mrg_of(sum, half);
    }
    for (int row = 0; row < 3; row++)
        by[row] = to[row];
}
__CUDA_RAND_INLINE void __cuda_mrg_skip(unsigned long long n, const unsigned (*table)[2][9], curandStateMRG32k3a *state) {
    for (int digit = 0; n > 0; digit++, n >>= 4)
        for (int i = static_cast<int>(n & 15); i > 0; i--) {
            __cuda_mrg_multiply(state->s1, table[digit][0], 0);
            __cuda_mrg_multiply(state->s2, table[digit][1], 1);
        }
}
__CUDA_RAND_INLINE void skipahead(unsigned long long n, curandStateMRG32k3a *state) { __cuda_mrg_skip(n, __cuda_mrg_steps, state); }
__CUDA_RAND_INLINE void skipahead_subsequence(unsigned long long n, curandStateMRG32k3a *state) {
    __cuda_mrg_skip(n, __cuda_mrg_subsequences, state);
}
__CUDA_RAND_INLINE void skipahead_sequence(unsigned long long n, curandStateMRG32k3a *state) { __cuda_mrg_skip(n, __cuda_mrg_sequences, state); }
__CUDA_RAND_INLINE void curand_init(unsigned long long seed, unsigned long long sequence, unsigned long long offset, curandStateMRG32k3a *state) {
    for (int i = 0; i < 3; i++)
        state->s1[i] = state->s2[i] = 12345;
    if (seed != 0) {
        const unsigned long long low = static_cast<unsigned>(seed) ^ 0x55555555u, high = static_cast<unsigned>(seed >> 32) ^ 0xaaaaaaaau;
        for (int i = 0; i < 3; i++) {
            state->s1[i] = __cuda_mrg_of((i == 1 ? high : low) * 12345, 0);
            state->s2[i] = __cuda_mrg_of((i == 1 ? low : high) * 12345, 1);
        }
    }
    state->boxmuller_flag = state->boxmuller_flag_double = 0;
    state->boxmuller_extra = 0;
    state->boxmuller_extra_double = 0;
    skipahead_subsequence(sequence, state);
    skipahead(offset, state);
}

// Sobol's sequences: each number differs from the last by the direction vector of the lowest zero bit of its index.
#define __CUDA_SOBOL(State, Word, ones, bits)                                                                                              \
    __CUDA_RAND_INLINE Word curand(State *state) {                                                                                         \
        const Word now = state->x;                                                                                                         \
        const Word clear = ~state->i;                                                                                                      \
        state->x ^= state->direction_vectors[clear == 0 ? 0 : ones(clear) - 1];                                                            \
        state->i++;                                                                                                                        \
        return now;                                                                                                                        \
    }                                                                                                                                      \
    __CUDA_RAND_INLINE void __cuda_sobol_at(Word index, State *state) {                                                                    \
        state->i = index;                                                                                                                  \
        state->x = state->c;                                                                                                               \
        const Word gray = index ^ index >> 1;                                                                                              \
        for (int bit = 0; bit < bits; bit++)                                                                                               \
            if (gray >> bit & 1)                                                                                                           \
                state->x ^= state->direction_vectors[bit];                                                                                 \
    }                                                                                                                                      \
    template <typename N> __CUDA_RAND_INLINE void skipahead(N n, State *state) { __cuda_sobol_at(state->i + static_cast<Word>(n), state); }   \
    __CUDA_RAND_INLINE void __cuda_sobol_init(const Word *vectors, Word scramble, Word offset, State *state) {                               \
        for (int bit = 0; bit < bits; bit++)                                                                                               \
            state->direction_vectors[bit] = vectors[bit];                                                                                  \
        state->c = scramble;                                                                                                               \
        __cuda_sobol_at(offset, state);                                                                                                    \
    }
__CUDA_SOBOL(curandStateSobol32, unsigned, __ffs, 32)
__CUDA_SOBOL(curandStateScrambledSobol32, unsigned, __ffs, 32)
__CUDA_SOBOL(curandStateSobol64, unsigned long long, __ffsll, 64)
__CUDA_SOBOL(curandStateScrambledSobol64, unsigned long long, __ffsll, 64)
#undef __CUDA_SOBOL
template <typename N> __CUDA_RAND_INLINE void curand_init(curandDirectionVectors32_t vectors, N offset, curandStateSobol32 *state) {
    __cuda_sobol_init(vectors, 0u, static_cast<unsigned>(offset), state);
}
template <typename C, typename N>
__CUDA_RAND_INLINE void curand_init(curandDirectionVectors32_t vectors, C scramble, N offset, curandStateScrambledSobol32 *state) {
    __cuda_sobol_init(vectors, static_cast<unsigned>(scramble), static_cast<unsigned>(offset), state);
}
template <typename N> __CUDA_RAND_INLINE void curand_init(curandDirectionVectors64_t vectors, N offset, curandStateSobol64 *state) {
    __cuda_sobol_init(vectors, 0ull, static_cast<unsigned long long>(offset), state);
}
template <typename C, typename N>
__CUDA_RAND_INLINE void curand_init(curandDirectionVectors64_t vectors, C scramble, N offset, curandStateScrambledSobol64 *state) {
    __cuda_sobol_init(vectors, static_cast<unsigned long long>(scramble), static_cast<unsigned long long>(offset), state);
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

// A float and a double of a state.
template <typename State> __CUDA_RAND_INLINE float curand_uniform(State *state) { return _curand_uniform(curand(state)); }
__CUDA_RAND_INLINE float curand_uniform(curandStateMRG32k3a *state) { return static_cast<float>(curand_MRG32k3a(state) * MRG32K3A_NORM); }
__CUDA_RAND_INLINE float __cuda_uniform64(unsigned long long x) { return (x >> 40) * 5.9604645e-08f + 2.9802322e-08f; }
__CUDA_RAND_INLINE float curand_uniform(curandStateSobol64 *state) { return __cuda_uniform64(curand(state)); }
__CUDA_RAND_INLINE float curand_uniform(curandStateScrambledSobol64 *state) { return __cuda_uniform64(curand(state)); }
template <typename State> __CUDA_RAND_INLINE double curand_uniform_double(State *state) {
    const unsigned x = curand(state), y = curand(state);
    return _curand_uniform_double_hq(x, y);
}
__CUDA_RAND_INLINE double curand_uniform_double(curandStateMRG32k3a *state) { return curand_MRG32k3a(state) * MRG32K3A_NORM; }
// A quasirandom number must not use two of the sequence.
__CUDA_RAND_INLINE double __cuda_uniform_double(unsigned x) { return x * CURAND_2POW32_INV_DOUBLE + CURAND_2POW32_INV_DOUBLE / 2; }
__CUDA_RAND_INLINE double __cuda_uniform_double(unsigned long long x) {
    return (x >> 11) * CURAND_2POW53_INV_DOUBLE + CURAND_2POW53_INV_DOUBLE / 2;
}
__CUDA_RAND_INLINE double curand_uniform_double(curandStateSobol32 *state) { return __cuda_uniform_double(curand(state)); }
__CUDA_RAND_INLINE double curand_uniform_double(curandStateScrambledSobol32 *state) { return __cuda_uniform_double(curand(state)); }
__CUDA_RAND_INLINE double curand_uniform_double(curandStateSobol64 *state) { return __cuda_uniform_double(curand(state)); }
__CUDA_RAND_INLINE double curand_uniform_double(curandStateScrambledSobol64 *state) { return __cuda_uniform_double(curand(state)); }

// Normal numbers: two of two, by Box and Muller, or one of one, by the inverse of their distribution.
template <typename State> __CUDA_RAND_INLINE float2 curand_normal2(State *state) {
    const unsigned x = curand(state), y = curand(state);
    return _curand_box_muller(x, y);
}
__CUDA_RAND_INLINE float2 curand_normal2(curandStateMRG32k3a *state) {
    const float u = curand_uniform(state), angle = curand_uniform(state) * CURAND_2PI, radius = sqrtf(-2.0f * logf(u));
    float2 result;
    sincosf(angle, &result.x, &result.y);
    return make_float2(result.x * radius, result.y * radius);
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
__CUDA_RAND_INLINE double2 curand_normal2_double(curandStateMRG32k3a *state) {
    const double u = curand_uniform_double(state), half_turns = 2 * curand_uniform_double(state), radius = sqrt(-2.0 * log(u));
    double2 result;
    sincospi(half_turns, &result.x, &result.y);
    return make_double2(result.x * radius, result.y * radius);
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
// Numbers above a half are mirrored, which keeps their precision.
__CUDA_RAND_INLINE float _curand_normal_icdf(unsigned x) {
    const bool is_high = x > 0x80000000u;
    const float v = 1.4142135f * erfcinvf(2 * _curand_uniform(is_high ? 0xffffffffu - x : x));
    return is_high ? v : -v;
}
__CUDA_RAND_INLINE double _curand_normal_icdf_double(unsigned x) {
    const bool is_high = x > 0x80000000u;
    const double v = 1.4142135623730951 * erfcinv(2 * __cuda_uniform_double(is_high ? 0xffffffffu - x : x));
    return is_high ? v : -v;
}
__CUDA_RAND_INLINE double _curand_normal_icdf_double(unsigned long long x) {
    const bool is_high = x > 0x8000000000000000ull;
    const double v = 1.4142135623730951 * erfcinv(2 * __cuda_uniform_double(is_high ? 0xffffffffffffffffull - x : x));
    return is_high ? v : -v;
}
#define __CUDA_SOBOL_NORMAL(State, word)                                                                                                   \
    __CUDA_RAND_INLINE float curand_normal(State *state) { return _curand_normal_icdf(static_cast<unsigned>(word)); }                       \
    __CUDA_RAND_INLINE double curand_normal_double(State *state) { return _curand_normal_icdf_double(curand(state)); }
__CUDA_SOBOL_NORMAL(curandStateSobol32, curand(state))
__CUDA_SOBOL_NORMAL(curandStateScrambledSobol32, curand(state))
__CUDA_SOBOL_NORMAL(curandStateSobol64, curand(state) >> 32)
__CUDA_SOBOL_NORMAL(curandStateScrambledSobol64, curand(state) >> 32)
#undef __CUDA_SOBOL_NORMAL
template <typename State> __CUDA_RAND_INLINE float curand_log_normal(State *state, float mean, float deviation) {
    return expf(mean + deviation * curand_normal(state));
}
template <typename State> __CUDA_RAND_INLINE double curand_log_normal_double(State *state, double mean, double deviation) {
    return exp(mean + deviation * curand_normal_double(state));
}
template <typename State> __CUDA_RAND_INLINE float2 curand_log_normal2(State *state, float mean, float deviation) {
    const float2 x = curand_normal2(state);
    return make_float2(expf(mean + deviation * x.x), expf(mean + deviation * x.y));
}
template <typename State> __CUDA_RAND_INLINE double2 curand_log_normal2_double(State *state, double mean, double deviation) {
    const double2 x = curand_normal2_double(state);
    return make_double2(exp(mean + deviation * x.x), exp(mean + deviation * x.y));
}

// Numbers of events: for few, how many uniform numbers can be multiplied until e^-lambda; for many, Hoermann's transformed rejection (PTRS).
template <typename State> __CUDA_RAND_INLINE unsigned curand_poisson(State *state, double lambda) {
    if (!(lambda > 0))
        return 0;
    if (lambda < 64) {
        const double least = exp(-lambda);
        unsigned count = 0;
        for (double product = curand_uniform_double(state); product > least; product *= curand_uniform_double(state))
            count++;
        return count;
    }
    const double root = sqrt(lambda), b = 0.931 + 2.53 * root, a = -0.059 + 0.02483 * b, alpha = 1.1239 + 1.1328 / (b - 3.4);
    const double limit = 0.9277 - 3.6224 / (b - 2), log_lambda = log(lambda);
    for (;;) {
        const double u = curand_uniform_double(state) - 0.5, v = curand_uniform_double(state), us = 0.5 - fabs(u);
        const double k = floor((2 * a / us + b) * u + lambda + 0.43);
        if (us >= 0.07 && v <= limit)
            return static_cast<unsigned>(k);
        if (k < 0 || (us < 0.013 && v > us))
            continue;
        if (log(v) + log(alpha) - log(a / (us * us) + b) <= k * log_lambda - lambda - lgamma(k + 1))
            return static_cast<unsigned>(k);
    }
}
// Of a quasirandom number, the smallest count whose distribution reaches it.
#define __CUDA_SOBOL_POISSON(State)                                                                                                        \
    __CUDA_RAND_INLINE unsigned curand_poisson(State *state, double lambda) {                                                               \
        const double u = curand_uniform_double(state);                                                                                     \
        double log_term = -lambda, sum = exp(-lambda);                                                                                     \
        unsigned count = 0;                                                                                                                \
        while (lambda > 0 && sum < u && count < lambda + 20 * sqrt(lambda) + 100) {                                                         \
            count++;                                                                                                                       \
            log_term += log(lambda / count);                                                                                               \
            sum += exp(log_term);                                                                                                          \
        }                                                                                                                                  \
        return count;                                                                                                                      \
    }
__CUDA_SOBOL_POISSON(curandStateSobol32)
__CUDA_SOBOL_POISSON(curandStateScrambledSobol32)
__CUDA_SOBOL_POISSON(curandStateSobol64)
__CUDA_SOBOL_POISSON(curandStateScrambledSobol64)
#undef __CUDA_SOBOL_POISSON

// Four of Philox.
__CUDA_RAND_INLINE float4 curand_uniform4(curandStatePhilox4_32_10 *state) {
    const uint4 x = curand4(state);
    return make_float4(_curand_uniform(x.x), _curand_uniform(x.y), _curand_uniform(x.z), _curand_uniform(x.w));
}
__CUDA_RAND_INLINE double2 curand_uniform2_double(curandStatePhilox4_32_10 *state) {
    const uint4 x = curand4(state);
    return make_double2(_curand_uniform_double_hq(x.x, x.y), _curand_uniform_double_hq(x.z, x.w));
}
__CUDA_RAND_INLINE double4 curand_uniform4_double(curandStatePhilox4_32_10 *state) {
    const double2 a = curand_uniform2_double(state), b = curand_uniform2_double(state);
    return make_double4(a.x, a.y, b.x, b.y);
}
__CUDA_RAND_INLINE float4 curand_normal4(curandStatePhilox4_32_10 *state) {
    const uint4 x = curand4(state);
    const float2 a = _curand_box_muller(x.x, x.y), b = _curand_box_muller(x.z, x.w);
    return make_float4(a.x, a.y, b.x, b.y);
}
__CUDA_RAND_INLINE double4 curand_normal4_double(curandStatePhilox4_32_10 *state) {
    const uint4 x = curand4(state), y = curand4(state);
    const double2 a = _curand_box_muller_double(x.x, x.y, x.z, x.w), b = _curand_box_muller_double(y.x, y.y, y.z, y.w);
    return make_double4(a.x, a.y, b.x, b.y);
}
__CUDA_RAND_INLINE float4 curand_log_normal4(curandStatePhilox4_32_10 *state, float mean, float deviation) {
    const float4 x = curand_normal4(state);
    return make_float4(expf(mean + deviation * x.x), expf(mean + deviation * x.y), expf(mean + deviation * x.z), expf(mean + deviation * x.w));
}
__CUDA_RAND_INLINE double4 curand_log_normal4_double(curandStatePhilox4_32_10 *state, double mean, double deviation) {
    const double4 x = curand_normal4_double(state);
    return make_double4(exp(mean + deviation * x.x), exp(mean + deviation * x.y), exp(mean + deviation * x.z), exp(mean + deviation * x.w));
}
__CUDA_RAND_INLINE uint4 curand_poisson4(curandStatePhilox4_32_10 *state, double lambda) {
    const unsigned a = curand_poisson(state, lambda), b = curand_poisson(state, lambda), c = curand_poisson(state, lambda);
    return make_uint4(a, b, c, curand_poisson(state, lambda));
}
#undef __CUDA_RAND_INLINE
#include "ferrocm_letters_end.h"
