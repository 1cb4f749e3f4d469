// Drawing a token from the logits of each row, and the penalties that come before it. For f32, f16 and bf16.
//
// count_tokens(tokens, rows, length, columns, counts)
//   counts[row, token] += 1 for each of a row's `length` tokens; tokens without a column are not counted. counts is rows × columns, u32.
// penalize_T(logits, counts, rows, columns, penalties)
//   For each counted token of the row, in this order: a logit above zero is divided by `repetition`, any other multiplied by it;
//   then `frequency` times the count, and `presence`, are subtracted. penalties has a set for each row.
// sample_T(logits, columns, settings, uniforms, tokens)
//   A workgroup for each row, of `columns` < 2³² logits. tokens[row] is
//     temperature 0 or less     the first of the largest logits
//     otherwise                 a token drawn by the probabilities softmax(logit / temperature), from those that remain after these rules in turn:
//                               the top_k most probable (0: all); the most probable of the rest that together reach top_p; those with
//                               at least min_p times the largest probability.
//                               It is the first whose probability, added to those of all tokens before it, exceeds uniforms[row] in [0, 1);
//                               for 1 and more it is the last of them, for less than 0 and for NaN the first.
//   Of equal logits, the first are taken first. A row with a NaN or +∞, or without a number above -∞, gives 2³² - 1.
//   Probabilities are counted in 2⁻⁴⁰ of the largest, so sums are exact, and the token depends only on the arguments, not on the order of
//   additions or the size of a workgroup. Tokens less probable than that are not drawn.
#include "select.cuh"

struct Penalties {
    float repetition, frequency, presence;
};
struct Settings {
    float temperature, top_p, min_p;
    uint32_t top_k;
};

extern "C" __global__ void count_tokens(const uint32_t *tokens, const size_t rows, const size_t length, const size_t columns, uint32_t *counts) {
    FOR_EACH_ELEMENT(i, rows * length) {
        const uint32_t token = tokens[i];
        if (token < columns)
            atomicAdd(counts + divide(i, length).quotient * columns + token, 1u);
    }
}

template <typename T>
__device__ __forceinline__ void penalize(T *logits, const uint32_t *counts, size_t rows, size_t columns, const Penalties *penalties) {
    FOR_EACH_ELEMENT(i, rows * columns) {
        const uint32_t count = counts[i];
        if (count == 0)
            continue;
        const Penalties by = penalties[divide(i, columns).quotient];
        float x = load(logits + i);
        x = x > 0.0f ? x / by.repetition : x * by.repetition;
        logits[i] = convert<T>(x - by.frequency * static_cast<float>(count) - by.presence);
    }
}

template <typename T>
__device__ __forceinline__ void sample(const T *logits, size_t columns, const Settings *settings, const float *uniforms, uint32_t *tokens) {
    constexpr uint32_t NONE = 0xffffffffu;
    constexpr float ONE = 0x1p40f;
    const Settings by = settings[blockIdx.x];
    logits += blockIdx.x * columns;
    Candidate<float> best = {Largest::neutral<float>(), NONE};
    for_each_in_row(logits, columns, [&](size_t i, float x) {
        x = x != x ? Limits<float>::highest() : x;
        if (x > best.value)
            best = {x, static_cast<uint32_t>(i)};
    });
    best = block_combine<First<Largest>>(best);
    if (best.value == Limits<float>::highest())
        best.index = NONE;
    if (best.index == NONE || !(by.temperature > 0.0f)) {
        if (block_thread() == 0)
            tokens[blockIdx.x] = best.index;
        return;
    }

    const auto logit = [=](size_t i) { return load(logits + i); };
    const auto mass = [=](float x) {
        if (x == best.value)
            return static_cast<uint64_t>(ONE);
        const float below = x - best.value; // -∞ where x is, also at an infinite temperature
        return below > Largest::neutral<float>() ? static_cast<uint64_t>(expf(below / by.temperature) * ONE) : 0;
    };
    enum { TOP_K, TOP_P, DRAW };
    const uint64_t least_mass = static_cast<uint64_t>(fminf(fmaxf(by.min_p, 0.0f), 1.0f) * ONE);
    uint64_t least = 0; // the rank of the last that is kept
    for (int step = by.top_k > 0 && by.top_k < columns ? TOP_K : TOP_P; step <= DRAW; ++step) {
        if (step == TOP_P && !(by.top_p < 1.0f))
            continue;
        const auto weight = [=](size_t i) {
            if (step == TOP_K)
                return uint64_t(1);
            const float x = logit(i);
            const uint64_t m = rank_at(x, i) >= least ? mass(x) : 0;
            return step == DRAW && m < least_mass ? 0 : m;
        };
        uint64_t target = by.top_k;
        int shift = 56;
        if (step != TOP_K) {
            uint64_t sum = 0;
            for (size_t i = block_thread(); i < columns; i += block_threads())
                sum += weight(i);
            const uint64_t all = block_combine<Sum>(sum);
            const double part = fmin(fmax(static_cast<double>(step == TOP_P ? by.top_p : uniforms[blockIdx.x]), 0.0), 1.0);
            const double wanted = static_cast<double>(all) * part;
            target = step == TOP_P ? static_cast<uint64_t>(ceil(wanted)) : static_cast<uint64_t>(wanted) + 1;
            target = target < 1 ? 1 : target > all ? all : target;
        }
        if (step == DRAW) // ranks by index, from the first on
            shift = 32 + (31 - __clz(static_cast<int>(columns))) / 8 * 8;
        const auto rank = [=](size_t i) { return step == DRAW ? static_cast<uint64_t>(columns - 1 - i) << 32 : rank_at(logit(i), i); };
        const auto unit = [=](uint64_t prefix, uint64_t all) {
            return step == TOP_K ? 1 : step == TOP_P ? mass(of_rank(prefix >> 32)) : all;
        };
        least = select_rank(columns, shift, step != DRAW, target, rank, weight, unit);
    }
    if (block_thread() == 0)
        tokens[blockIdx.x] = static_cast<uint32_t>(columns - 1 - (least >> 32));
}

#define SAMPLING(T, NAME)                                                                                              \
    extern "C" __global__ void penalize_##NAME(T *logits, const uint32_t *counts, const size_t rows, const size_t columns, \
                                               const Penalties *penalties) {                                           \
        penalize(logits, counts, rows, columns, penalties);                                                            \
    }                                                                                                                  \
    extern "C" __global__ __launch_bounds__(MAX_BLOCK) void sample_##NAME(                                             \
        const T *logits, const size_t columns, const Settings *settings, const float *uniforms, uint32_t *tokens) {    \
        sample(logits, columns, settings, uniforms, tokens);                                                           \
    }
SAMPLING(float, f32)
SAMPLING(__half, f16)
SAMPLING(__nv_bfloat16, bf16)
