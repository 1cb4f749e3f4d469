// cuRAND: random numbers, computed on the host in CUDA's documented orders and copied to the device on the generator's stream.
#include "shim_types.h"
#include "find.c"
#define __device__
// Without declarations, and without CUDA's runtime, of which the header of that name here is empty.
#define __HIPCC_RTC__ 1
#include "curand.h"
#undef __HIPCC_RTC__
#include "ferrocm_mrg.h"
#include "ferrocm_xorwow.h"

// The first dimensions of Joe and Kuo's direction numbers (new-joe-kuo-6): degree and coefficients of a primitive polynomial, first numbers.
enum { DIMENSIONS = 21, CHUNK = 1 << 20, XORWOW_LANES = 4096, MRG_LANES = 81920, MT_WORDS = 624 };
static const struct {
    unsigned degree, coefficients, first[7];
} sobol[DIMENSIONS] = {
    {0, 0, {0}}, {1, 0, {1}}, {2, 1, {1, 3}}, {3, 1, {1, 3, 1}}, {3, 2, {1, 1, 1}}, {4, 1, {1, 1, 3, 3}}, {4, 4, {1, 3, 5, 13}},
    {5, 2, {1, 1, 5, 5, 17}}, {5, 4, {1, 1, 5, 5, 5}}, {5, 7, {1, 1, 7, 11, 19}}, {5, 11, {1, 1, 5, 1, 1}}, {5, 13, {1, 1, 1, 3, 11}},
    {5, 14, {1, 3, 5, 5, 31}}, {6, 1, {1, 3, 3, 9, 7, 49}}, {6, 13, {1, 1, 1, 15, 21, 21}}, {6, 16, {1, 3, 1, 13, 27, 49}},
    {6, 19, {1, 1, 1, 15, 7, 5}}, {6, 22, {1, 3, 1, 15, 13, 25}}, {6, 25, {1, 1, 5, 5, 19, 61}}, {7, 1, {1, 3, 7, 11, 23, 15, 103}},
    {7, 4, {1, 3, 7, 13, 13, 15, 69}},
};
static void direction_vectors(unsigned dimension, int bits, unsigned long long *to) {
    unsigned long long m[64];
    const unsigned degree = sobol[dimension].degree;
    for (int i = 0; i < bits; i++) {
        if (dimension == 0) m[i] = 1;
        else if ((unsigned)i < degree) m[i] = sobol[dimension].first[i];
        else {
            m[i] = m[i - degree] ^ m[i - degree] << degree;
            for (unsigned k = 1; k < degree; k++)
                if (sobol[dimension].coefficients >> (degree - 1 - k) & 1) m[i] ^= m[i - k] << k;
        }
        to[i] = m[i] << (bits - 1 - i);
    }
}

struct xorwow { unsigned v[5], d; };
struct mrg { unsigned s[2][3]; };
struct curandGenerator_st {
    curandRngType_t type;
    int on_host;
    void *stream;
    unsigned long long seed, offset;
    unsigned dimensions;
    // What has been used of the sequence since the states were made; they are made when they are needed.
    unsigned long long at;
    int is_ready;
    union {
        struct xorwow *xorwow;
        struct mrg *mrg;
        unsigned *mt;
    };
};

// The mathematics of the system's library, and HIP's copies.
static double (*log_of)(double), (*exp_of)(double), (*sin_of)(double), (*cos_of)(double), (*erfc_of)(double), (*floor_of)(double),
    (*lgamma_of)(double);
static int (*copy_to_device)(void *, const void *, size_t, int, void *);
static int (*wait_for)(void *);
static int need_mathematics(void) {
    static int is_there;
    if (__atomic_load_n(&is_there, __ATOMIC_ACQUIRE)) return 1;
    void *library = dlopen("libm.so.6", 2);
    if (!library) return 0;
#define FIND(name) *(void **)&name##_of = dlsym(library, #name)
    FIND(log), FIND(exp), FIND(sin), FIND(cos), FIND(erfc), FIND(floor), FIND(lgamma);
#undef FIND
    __atomic_store_n(&is_there, log_of && exp_of && sin_of && cos_of && erfc_of && floor_of && lgamma_of, __ATOMIC_RELEASE);
    return is_there;
}
static int need_device(void) {
    static const char *const places[] = {@HIP_PLACES@ ""};
    static int is_there;
    if (__atomic_load_n(&is_there, __ATOMIC_ACQUIRE)) return 1;
    void *library = open_library("@HIP@", "FERROCM_HIP_LIBRARY", places);
    if (!library) return 0;
    *(void **)&copy_to_device = dlsym(library, "hipMemcpyAsync");
    *(void **)&wait_for = dlsym(library, "hipStreamSynchronize");
    __atomic_store_n(&is_there, copy_to_device && wait_for, __ATOMIC_RELEASE);
    return is_there;
}

static int is_quasi(const struct curandGenerator_st *of) { return of->type >= CURAND_RNG_QUASI_DEFAULT; }
static int bits_of(const struct curandGenerator_st *of) { return of->type >= CURAND_RNG_QUASI_SOBOL64 ? 64 : 32; }

// XORWOW.
static unsigned xorwow_next(struct xorwow *state) {
    const unsigned t = state->v[0] ^ state->v[0] >> 2;
    for (int i = 0; i < 4; i++) state->v[i] = state->v[i + 1];
    state->v[4] = state->v[4] ^ state->v[4] << 4 ^ t ^ t << 1;
    state->d += 362437;
    return state->v[4] + state->d;
}
static void xorwow_skip(struct xorwow *state, unsigned long long n, const unsigned (*table)[15][5]) {
    for (int digit = 0; n > 0; digit++, n >>= 4) {
        if (!(n & 15)) continue;
        const unsigned *steps = table[digit][(n & 15) - 1], d = state->d;
        unsigned sum[5] = {0};
        for (int i = 0; i < 160; i++) {
            if (steps[i / 32] >> i % 32 & 1)
                for (int j = 0; j < 5; j++) sum[j] ^= state->v[j];
            xorwow_next(state);
        }
        for (int j = 0; j < 5; j++) state->v[j] = sum[j];
        state->d = d;
    }
}
static int xorwow_ready(struct curandGenerator_st *of) {
    if (!of->xorwow && !(of->xorwow = malloc(XORWOW_LANES * sizeof *of->xorwow))) return 0;
    const unsigned low = 1099087573u * ((unsigned)of->seed ^ 0xaad26b49u), high = 2591861531u * ((unsigned)(of->seed >> 32) ^ 0xf7dcefddu);
    struct xorwow state = {{123456789u + low, 362436069u ^ low, 521288629u + high, 88675123u ^ high, 5783321u + low}, 6615241u + high + low};
    for (unsigned lane = 0; lane < XORWOW_LANES; lane++) {
        of->xorwow[lane] = state;
        const unsigned long long skip = of->offset / XORWOW_LANES + (lane < of->offset % XORWOW_LANES);
        xorwow_skip(&of->xorwow[lane], skip, __cuda_xorwow_steps);
        of->xorwow[lane].d += 362437 * (unsigned)skip;
        xorwow_skip(&state, 1, __cuda_xorwow_sequences);
    }
    return 1;
}

// MRG32k3a.
static const unsigned long long primes[2] = {4294967087ull, 4294944443ull};
static double mrg_next(struct mrg *state) {
    unsigned(*s)[3] = state->s;
    const unsigned a = (unsigned)((4294156359ull * s[0][0] % primes[0] + 1403580ull * s[0][1]) % primes[0]);
    const unsigned b = (unsigned)((4293573854ull * s[1][0] % primes[1] + 527612ull * s[1][2]) % primes[1]);
    s[0][0] = s[0][1], s[0][1] = s[0][2], s[0][2] = a;
    s[1][0] = s[1][1], s[1][1] = s[1][2], s[1][2] = b;
    return a > b ? (double)(a - b) : (double)((long long)a - b + 4294967087ll);
}
static void mrg_skip(struct mrg *state, unsigned long long n, const unsigned (*table)[2][9]) {
    for (int digit = 0; n > 0; digit++, n >>= 4)
        for (int times = (int)(n & 15); times > 0; times--)
            for (int half = 0; half < 2; half++) {
                unsigned to[3];
                for (int row = 0; row < 3; row++) {
                    unsigned long long sum = 0;
                    for (int i = 0; i < 3; i++) sum += (unsigned long long)table[digit][half][3 * row + i] * state->s[half][i] % primes[half];
                    to[row] = (unsigned)(sum % primes[half]);
                }
                for (int row = 0; row < 3; row++) state->s[half][row] = to[row];
            }
}
static int mrg_ready(struct curandGenerator_st *of) {
    if (!of->mrg && !(of->mrg = malloc(MRG_LANES * sizeof *of->mrg))) return 0;
    struct mrg state;
    const unsigned long long low = (unsigned)of->seed ^ 0x55555555u, high = (unsigned)(of->seed >> 32) ^ 0xaaaaaaaau;
    for (int i = 0; i < 3; i++) {
        state.s[0][i] = of->seed ? (unsigned)((i == 1 ? high : low) * 12345 % primes[0]) : 12345;
        state.s[1][i] = of->seed ? (unsigned)((i == 1 ? low : high) * 12345 % primes[1]) : 12345;
    }
    for (unsigned lane = 0; lane < MRG_LANES; lane++) {
        of->mrg[lane] = state;
        mrg_skip(&of->mrg[lane], of->offset / MRG_LANES + (lane < of->offset % MRG_LANES), __cuda_mrg_steps);
        mrg_skip(&state, 1, __cuda_mrg_subsequences);
    }
    return 1;
}

// Philox 4x32-10.
static unsigned philox(unsigned long long seed, unsigned long long at) {
    unsigned c[4] = {(unsigned)(at / 4), (unsigned)(at / 4 >> 32), 0, 0}, k[2] = {(unsigned)seed, (unsigned)(seed >> 32)};
    for (int round = 0; round < 10; round++) {
        const unsigned long long a = 0xd2511f53ull * c[0], b = 0xcd9e8d57ull * c[2];
        const unsigned next[4] = {(unsigned)(b >> 32) ^ c[1] ^ k[0], (unsigned)b, (unsigned)(a >> 32) ^ c[3] ^ k[1], (unsigned)a};
        memcpy(c, next, sizeof c);
        k[0] += 0x9e3779b9u, k[1] += 0xbb67ae85u;
    }
    return c[at % 4];
}

// The Mersenne Twister MT19937: its words, and behind them the place among them.
static unsigned mt_next(unsigned *mt) {
    if (mt[MT_WORDS] == MT_WORDS) {
        for (int i = 0; i < MT_WORDS; i++) {
            const unsigned y = (mt[i] & 0x80000000u) | (mt[(i + 1) % MT_WORDS] & 0x7fffffffu);
            mt[i] = mt[(i + 397) % MT_WORDS] ^ y >> 1 ^ (y & 1 ? 0x9908b0dfu : 0);
        }
        mt[MT_WORDS] = 0;
    }
    unsigned y = mt[mt[MT_WORDS]++];
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680u;
    y ^= y << 15 & 0xefc60000u;
    return y ^ y >> 18;
}
static int mt_ready(struct curandGenerator_st *of) {
    if (!of->mt && !(of->mt = malloc((MT_WORDS + 1) * sizeof *of->mt))) return 0;
    of->mt[0] = (unsigned)of->seed ^ (unsigned)(of->seed >> 32);
    for (unsigned i = 1; i < MT_WORDS; i++) of->mt[i] = 1812433253u * (of->mt[i - 1] ^ of->mt[i - 1] >> 30) + i;
    of->mt[MT_WORDS] = MT_WORDS;
    for (unsigned long long i = 0; i < of->offset; i++) mt_next(of->mt);
    return 1;
}

static int ready(struct curandGenerator_st *of) {
    if (of->is_ready) return 1;
    of->at = of->offset;
    switch (of->type) {
    case CURAND_RNG_PSEUDO_XORWOW: of->is_ready = xorwow_ready(of); break;
    case CURAND_RNG_PSEUDO_MRG32K3A: of->is_ready = mrg_ready(of); break;
    case CURAND_RNG_PSEUDO_MT19937: case CURAND_RNG_PSEUDO_MTGP32: of->is_ready = mt_ready(of); break;
    default: of->is_ready = 1;
    }
    return of->is_ready;
}
// The next number: 32 random bits, and as a double.
static unsigned next_bits(struct curandGenerator_st *of) {
    const unsigned long long at = of->at++;
    switch (of->type) {
    case CURAND_RNG_PSEUDO_XORWOW: return xorwow_next(&of->xorwow[at % XORWOW_LANES]);
    case CURAND_RNG_PSEUDO_MRG32K3A: return (unsigned)(mrg_next(&of->mrg[at % MRG_LANES]) * 1.000000048662);
    case CURAND_RNG_PSEUDO_PHILOX4_32_10: return philox(of->seed, at);
    default: return mt_next(of->mt);
    }
}
static float next_float(struct curandGenerator_st *of) {
    if (of->type == CURAND_RNG_PSEUDO_MRG32K3A) return (float)(mrg_next(&of->mrg[of->at++ % MRG_LANES]) * 2.3283065498378288e-10);
    return next_bits(of) * 2.3283064e-10f + 2.3283064e-10f / 2;
}
static double next_double(struct curandGenerator_st *of) {
    if (of->type == CURAND_RNG_PSEUDO_MRG32K3A) return mrg_next(&of->mrg[of->at++ % MRG_LANES]) * 2.3283065498378288e-10;
    const unsigned long long x = next_bits(of), y = next_bits(of);
    return (x ^ y << 21) * 1.1102230246251565e-16 + 1.1102230246251565e-16 / 2;
}

// The number at an index of a dimension of Sobol's sequence.
static unsigned long long sobol_at(const unsigned long long *vectors, unsigned long long index) {
    unsigned long long x = 0;
    for (unsigned long long gray = index ^ index >> 1, bit = 0; gray; gray >>= 1, bit++)
        if (gray & 1) x ^= vectors[bit];
    return x;
}
// Where the distribution of normal numbers has this value, by Newton's method.
static double normal_of(double u) {
    const double mirrored = u > 0.5 ? 1 - u : u;
    double x = -__builtin_sqrt(-2 * log_of(2 * mirrored)) * 0.9;
    for (int i = 0; i < 40; i++) {
        const double error = erfc_of(-x * 0.70710678118654752) / 2 - mirrored;
        const double slope = exp_of(-x * x / 2) * 0.3989422804014327;
        const double step = error / (slope - error * -x / 2);
        x -= step;
        if (step < 1e-15 && step > -1e-15) break;
    }
    return u > 0.5 ? -x : x;
}
static unsigned poisson_of(double u, double lambda) {
    double log_term = -lambda, sum = exp_of(-lambda);
    unsigned count = 0;
    while (sum < u && count < lambda + 20 * __builtin_sqrt(lambda) + 100) {
        count++;
        log_term += log_of(lambda / count);
        sum += exp_of(log_term);
    }
    return count;
}
static unsigned next_poisson(struct curandGenerator_st *of, double lambda) {
    if (lambda < 64) {
        const double least = exp_of(-lambda);
        unsigned count = 0;
        for (double product = next_double(of); product > least; product *= next_double(of)) count++;
        return count;
    }
    // Hoermann's transformed rejection, PTRS.
    const double root = __builtin_sqrt(lambda), b = 0.931 + 2.53 * root, a = -0.059 + 0.02483 * b, alpha = 1.1239 + 1.1328 / (b - 3.4);
    for (;;) {
        const double u = next_double(of) - 0.5, v = next_double(of), us = 0.5 - (u < 0 ? -u : u);
        const double k = floor_of((2 * a / us + b) * u + lambda + 0.43);
        if (us >= 0.07 && v <= 0.9277 - 3.6224 / (b - 2)) return (unsigned)k;
        if (k < 0 || (us < 0.013 && v > us)) continue;
        if (log_of(v) + log_of(alpha) - log_of(a / (us * us) + b) <= k * log_of(lambda) - lambda - lgamma_of(k + 1)) return (unsigned)k;
    }
}

// What is generated.
enum kind { BITS, WIDE_BITS, UNIFORM, UNIFORM_DOUBLE, NORMAL, NORMAL_DOUBLE, LOG_NORMAL, LOG_NORMAL_DOUBLE, POISSON };
struct wanted {
    enum kind kind;
    double mean, deviation;
};
static size_t size_of(enum kind kind) { return kind == BITS || kind == UNIFORM || kind == NORMAL || kind == LOG_NORMAL || kind == POISSON ? 4 : 8; }
static void store(void *to, size_t at, const struct wanted *wanted, double value) {
    if (wanted->kind == LOG_NORMAL || wanted->kind == LOG_NORMAL_DOUBLE) value = exp_of(value);
    if (size_of(wanted->kind) == 4) ((float *)to)[at] = (float)value;
    else ((double *)to)[at] = value;
}
static void pseudo(struct curandGenerator_st *of, const struct wanted *wanted, void *to, size_t count) {
    for (size_t i = 0; i < count; i++) switch (wanted->kind) {
        case BITS: ((unsigned *)to)[i] = next_bits(of); break;
        case WIDE_BITS: {
            const unsigned long long low = next_bits(of);
            ((unsigned long long *)to)[i] = low | (unsigned long long)next_bits(of) << 32;
            break;
        }
        case UNIFORM: ((float *)to)[i] = next_float(of); break;
        case UNIFORM_DOUBLE: ((double *)to)[i] = next_double(of); break;
        case POISSON: ((unsigned *)to)[i] = next_poisson(of, wanted->mean); break;
        default: {
            // Box and Muller's pairs.
            const int is_wide = size_of(wanted->kind) == 8;
            const double u = is_wide ? next_double(of) : next_float(of), angle = 6.283185307179586 * (is_wide ? next_double(of) : next_float(of));
            const double radius = wanted->deviation * __builtin_sqrt(-2 * log_of(u));
            store(to, i++, wanted, wanted->mean + radius * sin_of(angle));
            store(to, i, wanted, wanted->mean + radius * cos_of(angle));
        }
    }
}
// The numbers `first` to `first + count` of `whole`, which has one dimension behind the other.
static void quasi(struct curandGenerator_st *of, const struct wanted *wanted, void *to, size_t first, size_t count, size_t whole) {
    const size_t each = whole / of->dimensions;
    const int bits = bits_of(of);
    unsigned long long vectors[64];
    for (size_t i = 0; i < count; i++) {
        const size_t dimension = (first + i) / each, index = (first + i) % each;
        if (i == 0 || index == 0) direction_vectors((unsigned)dimension, bits, vectors);
        const unsigned long long x = sobol_at(vectors, of->at + index);
        const double u = bits == 32 ? x * 2.3283064365386963e-10 + 1.1641532182693481e-10
                                    : (x >> 11) * 1.1102230246251565e-16 + 1.1102230246251565e-16 / 2;
        switch (wanted->kind) {
        case BITS: ((unsigned *)to)[i] = (unsigned)x; break;
        case WIDE_BITS: ((unsigned long long *)to)[i] = x; break;
        case POISSON: ((unsigned *)to)[i] = poisson_of(u, wanted->mean); break;
        case UNIFORM: case UNIFORM_DOUBLE: store(to, i, wanted, u); break;
        default: store(to, i, wanted, wanted->mean + wanted->deviation * normal_of(u));
        }
    }
}
static curandStatus_t generate(struct curandGenerator_st *of, const struct wanted wanted, void *to, size_t count) {
    if (!of) return CURAND_STATUS_NOT_INITIALIZED;
    const int is_normal = wanted.kind >= NORMAL && wanted.kind <= LOG_NORMAL_DOUBLE;
    if (is_quasi(of) ? count % of->dimensions : is_normal && count % 2) return CURAND_STATUS_LENGTH_NOT_MULTIPLE;
    if (count && !to) return CURAND_STATUS_OUT_OF_RANGE;
    if (!need_mathematics()) return CURAND_STATUS_INITIALIZATION_FAILED;
    if (!ready(of)) return CURAND_STATUS_ALLOCATION_FAILED;
    const size_t size = size_of(wanted.kind);
    void *work = of->on_host || !count ? 0 : malloc(CHUNK * size);
    if (!of->on_host && count && !work) return CURAND_STATUS_ALLOCATION_FAILED;
    curandStatus_t done = CURAND_STATUS_SUCCESS;
    for (size_t first = 0; first < count && done == CURAND_STATUS_SUCCESS; first += CHUNK) {
        const size_t part = count - first < CHUNK ? count - first : CHUNK;
        char *const place = (char *)to + first * size;
        void *const target = work ? work : place;
        if (is_quasi(of)) quasi(of, &wanted, target, first, part, count);
        else pseudo(of, &wanted, target, part);
        // Host to device.
        if (work && (copy_to_device(place, work, part * size, 1, of->stream) || wait_for(of->stream))) done = CURAND_STATUS_LAUNCH_FAILURE;
    }
    if (is_quasi(of)) of->at += count / of->dimensions;
    free(work);
    return done;
}

static curandStatus_t make(curandGenerator_t *generator, curandRngType_t type, int on_host) {
    if (!generator) return CURAND_STATUS_OUT_OF_RANGE;
    switch (type) {
    case CURAND_RNG_PSEUDO_DEFAULT: type = CURAND_RNG_PSEUDO_XORWOW; break;
    case CURAND_RNG_QUASI_DEFAULT: type = CURAND_RNG_QUASI_SOBOL32; break;
    case CURAND_RNG_PSEUDO_XORWOW: case CURAND_RNG_PSEUDO_MRG32K3A: case CURAND_RNG_PSEUDO_MTGP32: case CURAND_RNG_PSEUDO_MT19937:
    case CURAND_RNG_PSEUDO_PHILOX4_32_10: case CURAND_RNG_QUASI_SOBOL32: case CURAND_RNG_QUASI_SOBOL64: break;
    // Their constants are NVIDIA's.
    default: return CURAND_STATUS_TYPE_ERROR;
    }
    if (!on_host && !need_device()) return CURAND_STATUS_INITIALIZATION_FAILED;
    struct curandGenerator_st *made = calloc(1, sizeof *made);
    if (!made) return CURAND_STATUS_ALLOCATION_FAILED;
    made->type = type;
    made->on_host = on_host;
    made->dimensions = 1;
    *generator = made;
    return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandCreateGenerator(curandGenerator_t *generator, curandRngType_t type) { return make(generator, type, 0); }
curandStatus_t curandCreateGeneratorHost(curandGenerator_t *generator, curandRngType_t type) { return make(generator, type, 1); }
curandStatus_t curandDestroyGenerator(curandGenerator_t generator) {
    if (!generator) return CURAND_STATUS_NOT_INITIALIZED;
    free(generator->xorwow);
    free(generator);
    return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandGetVersion(int *version) {
    if (!version) return CURAND_STATUS_OUT_OF_RANGE;
    *version = CURAND_VERSION;
    return CURAND_STATUS_SUCCESS;
}
#define GENERATOR if (!generator) return CURAND_STATUS_NOT_INITIALIZED
curandStatus_t curandSetStream(curandGenerator_t generator, void *stream) {
    GENERATOR;
    generator->stream = stream;
    return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t generator, unsigned long long seed) {
    GENERATOR;
    if (is_quasi(generator)) return CURAND_STATUS_TYPE_ERROR;
    generator->seed = seed;
    generator->is_ready = 0;
    return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetGeneratorOffset(curandGenerator_t generator, unsigned long long offset) {
    GENERATOR;
    generator->offset = offset;
    generator->is_ready = 0;
    return CURAND_STATUS_SUCCESS;
}
// There is one order.
curandStatus_t curandSetGeneratorOrdering(curandGenerator_t generator, curandOrdering_t order) {
    GENERATOR;
    const int is_pseudo = order >= CURAND_ORDERING_PSEUDO_BEST && order <= CURAND_ORDERING_PSEUDO_DYNAMIC;
    if (!is_pseudo && order != CURAND_ORDERING_QUASI_DEFAULT) return CURAND_STATUS_OUT_OF_RANGE;
    return is_pseudo == is_quasi(generator) ? CURAND_STATUS_TYPE_ERROR : CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetQuasiRandomGeneratorDimensions(curandGenerator_t generator, unsigned dimensions) {
    GENERATOR;
    if (!is_quasi(generator)) return CURAND_STATUS_TYPE_ERROR;
    if (dimensions < 1 || dimensions > DIMENSIONS) return CURAND_STATUS_OUT_OF_RANGE;
    generator->dimensions = dimensions;
    generator->is_ready = 0;
    return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandGenerateSeeds(curandGenerator_t generator) {
    GENERATOR;
    return ready(generator) ? CURAND_STATUS_SUCCESS : CURAND_STATUS_ALLOCATION_FAILED;
}
curandStatus_t curandGenerate(curandGenerator_t generator, unsigned *to, size_t count) {
    GENERATOR;
    if (bits_of(generator) == 64) return CURAND_STATUS_TYPE_ERROR;
    return generate(generator, (struct wanted){BITS, 0, 0}, to, count);
}
curandStatus_t curandGenerateLongLong(curandGenerator_t generator, unsigned long long *to, size_t count) {
    GENERATOR;
    if (bits_of(generator) == 32) return CURAND_STATUS_TYPE_ERROR;
    return generate(generator, (struct wanted){WIDE_BITS, 0, 0}, to, count);
}
curandStatus_t curandGenerateUniform(curandGenerator_t generator, float *to, size_t count) {
    return generate(generator, (struct wanted){UNIFORM, 0, 0}, to, count);
}
curandStatus_t curandGenerateUniformDouble(curandGenerator_t generator, double *to, size_t count) {
    return generate(generator, (struct wanted){UNIFORM_DOUBLE, 0, 0}, to, count);
}
curandStatus_t curandGenerateNormal(curandGenerator_t generator, float *to, size_t count, float mean, float deviation) {
    return generate(generator, (struct wanted){NORMAL, mean, deviation}, to, count);
}
curandStatus_t curandGenerateNormalDouble(curandGenerator_t generator, double *to, size_t count, double mean, double deviation) {
    return generate(generator, (struct wanted){NORMAL_DOUBLE, mean, deviation}, to, count);
}
curandStatus_t curandGenerateLogNormal(curandGenerator_t generator, float *to, size_t count, float mean, float deviation) {
    return generate(generator, (struct wanted){LOG_NORMAL, mean, deviation}, to, count);
}
curandStatus_t curandGenerateLogNormalDouble(curandGenerator_t generator, double *to, size_t count, double mean, double deviation) {
    return generate(generator, (struct wanted){LOG_NORMAL_DOUBLE, mean, deviation}, to, count);
}
curandStatus_t curandGeneratePoisson(curandGenerator_t generator, unsigned *to, size_t count, double lambda) {
    if (!(lambda > 0)) return CURAND_STATUS_OUT_OF_RANGE;
    return generate(generator, (struct wanted){POISSON, lambda, 0}, to, count);
}
// Direction vectors for kernels; those of the scrambled sequences are NVIDIA's.
curandStatus_t curandGetDirectionVectors32(curandDirectionVectors32_t *vectors[], curandDirectionVectorSet_t set) {
    static curandDirectionVectors32_t all[DIMENSIONS];
    if (!vectors || set != CURAND_DIRECTION_VECTORS_32_JOEKUO6) return CURAND_STATUS_OUT_OF_RANGE;
    unsigned long long wide[64];
    for (unsigned dimension = 0; dimension < DIMENSIONS; dimension++) {
        direction_vectors(dimension, 32, wide);
        for (int i = 0; i < 32; i++) all[dimension][i] = (unsigned)wide[i];
    }
    *vectors = all;
    return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandGetDirectionVectors64(curandDirectionVectors64_t *vectors[], curandDirectionVectorSet_t set) {
    static curandDirectionVectors64_t all[DIMENSIONS];
    if (!vectors || set != CURAND_DIRECTION_VECTORS_64_JOEKUO6) return CURAND_STATUS_OUT_OF_RANGE;
    for (unsigned dimension = 0; dimension < DIMENSIONS; dimension++) direction_vectors(dimension, 64, all[dimension]);
    *vectors = all;
    return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandGetScrambleConstants32(unsigned **constants) { return (void)constants, CURAND_STATUS_TYPE_ERROR; }
curandStatus_t curandGetScrambleConstants64(unsigned long long **constants) { return (void)constants, CURAND_STATUS_TYPE_ERROR; }
