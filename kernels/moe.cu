// Routing of a mixture of experts.
//
// moe_gate_T(logits, bias, tokens, experts, k, scores, groups, top_groups, sum_of_two, renormalise, scale, weights, ids)     T = f32, f16, bf16
//   logits    tokens × experts, at most 1024; a warp for each token, four in a workgroup
//   bias      experts, f32, or null: added to scores for the choice only
//   scores    0: softmax of the token's logits; 1: the logits, and weights are the softmax of the chosen ones; 2: sigmoid of each logit
//   groups    at most 32, of as many experts each, one after the other; only those of the `top_groups` best can be chosen. A group's score
//             is the largest of its experts' scores with bias, or the sum of the two largest if `sum_of_two`
//   ids       tokens × k, u32: the k ≤ 32 experts with the largest sum of score and bias, in descending order; of equal ones, the first come
//             first. A NaN counts as larger than every number, so a token's experts always differ and always exist. Without a bias and
//             sums, logits are compared instead of scores: they have the same order, and rounding makes none equal.
//   weights   tokens × k, f32: scores without bias, times `scale`; divided by the sum of the k if `renormalise`
// moe_sort(ids, pairs, experts, keep, counts, offsets, permutation, inverse)
//   A workgroup for each expert, and one more. Pair p is token p / k and its choice p % k.
//   counts        experts: the number of pairs of each expert
//   offsets       experts + 1: where an expert's pairs begin; the last element is where the last ones end
//   permutation   pairs: the numbers of the pairs, sorted by expert, in order for each. Pairs whose id is not an expert follow if `keep`;
//                 otherwise they are left out, and the rest of the array is 2³² - 1.
//   inverse       pairs, or null: where a pair is in `permutation`; 2³² - 1 for one that is left out
// moe_gather(x, permutation, out, pairs, k, row_bytes, tokens)
//   out           pairs × row_bytes: the row of `x` of each pair's token; zeros if `permutation` has no pair
// moe_combine_T(y, weights, places, out, tokens, k, width, rows)     T = f32, f16, bf16
//   y             rows × width; places   tokens × k, u32: the row of each pair, or null: pair p has row p. A pair without a row adds nothing.
//   out           tokens × width: the sums of a token's rows times their weights, in the order of choices, in f32
#include "rows.cuh"
#include "select.cuh"

constexpr unsigned GATE_WARPS = 4;
constexpr unsigned MOST_EXPERTS = 1024;

enum Scores : unsigned { SOFTMAX, SOFTMAX_OF_CHOSEN, SIGMOID };

struct Gate {
    unsigned experts, k;
    Scores scores;
    unsigned groups, top_groups;
    bool sum_of_two, renormalise;
    float scale;
};

// Removes the ranks of the warp's experts that are not in the best groups.
__device__ __forceinline__ void choose_groups(const Gate &gate, uint32_t *ranks) {
    const unsigned lane = threadIdx.x % warpSize, size = gate.experts / gate.groups;
    __syncwarp(); // ranks of other lanes' experts
    uint64_t mine = 0;
    if (lane < gate.groups) {
        uint32_t first = 0, second = 0;
        const unsigned begin = lane * size, end = begin + size;
        // Lanes whose groups begin in the same bank of LDS start at different experts.
        unsigned e = begin + lane * min(size, 32u) / 32;
        for (unsigned i = 0; i < size; ++i) {
            const uint32_t rank = ranks[e];
            second = rank > first ? first : rank > second ? rank : second;
            first = rank > first ? rank : first;
            e = e + 1 < end ? e + 1 : begin;
        }
        mine = rank_at(gate.sum_of_two ? rank_of(of_rank(first) + of_rank(second)) : first, lane);
    }
    unsigned better = 0;
    for (unsigned group = 0; group < gate.groups; ++group)
        better += __shfl_sync(0xffffffffu, mine, group) > mine;
    const unsigned chosen = __ballot_sync(0xffffffffu, lane < gate.groups && better < gate.top_groups);
    __syncwarp();
    for (unsigned e = lane; e < gate.experts; e += warpSize)
        if ((chosen >> e / size & 1) == 0)
            ranks[e] = 0;
}

template <typename T>
__device__ __forceinline__ void route(const T *logits, const float *bias, size_t tokens, const Gate &gate, float *weights, uint32_t *ids) {
    // The ranks that experts are chosen by. Only experts that cannot be chosen, or already have been, have rank zero.
    __shared__ uint32_t ranks_of_warps[GATE_WARPS][MOST_EXPERTS];
    const unsigned lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize;
    uint32_t *const ranks = ranks_of_warps[warp];
    const bool in_groups = gate.top_groups < gate.groups;
    const bool by_scores = bias != nullptr || (in_groups && gate.sum_of_two);
    const bool of_chosen = gate.scores == SOFTMAX_OF_CHOSEN || (gate.scores == SOFTMAX && gate.renormalise);
    for (size_t token = blockIdx.x * static_cast<size_t>(GATE_WARPS) + warp; token < tokens;
         token += gridDim.x * static_cast<size_t>(GATE_WARPS)) {
        const T *row = logits + token * gate.experts;
        float largest = Limits<float>::lowest(), sum = 0;
        if (gate.scores == SOFTMAX) {
            for (unsigned e = lane; e < gate.experts; e += warpSize)
                largest = Max::apply(largest, load(row + e));
            largest = warp_combine<Max>(largest, warpSize);
            for (unsigned e = lane; e < gate.experts; e += warpSize)
                sum += expf(load(row + e) - largest);
            sum = warp_combine<Sum>(sum, warpSize);
        }
        const auto score = [&](float logit) {
            return gate.scores == SOFTMAX ? expf(logit - largest) / sum : gate.scores == SIGMOID ? 1.0f / (1.0f + expf(-logit)) : logit;
        };
        for (unsigned e = lane; e < gate.experts; e += warpSize) {
            const float logit = load(row + e);
            ranks[e] = rank_of(by_scores ? score(logit) + (bias ? bias[e] : 0.0f) : logit);
        }
        if (in_groups)
            choose_groups(gate, ranks);
        uint32_t mine = 0; // this lane's choice
        for (unsigned choice = 0; choice < gate.k; ++choice) {
            uint64_t best = 0;
            for (unsigned e = lane; e < gate.experts; e += warpSize) {
                const uint32_t rank = ranks[e];
                const uint64_t at = rank_at(rank, e);
                best = rank != 0 && at > best ? at : best;
            }
            const uint32_t expert = index_of(warp_combine<Max>(best, warpSize));
            if (expert % warpSize == lane)
                ranks[expert] = 0;
            if (choice == lane)
                mine = expert;
        }
        const bool has_choice = lane < gate.k;
        const float logit = has_choice ? load(row + mine) : Limits<float>::lowest();
        float weight = 0;
        if (of_chosen) // not the largest of all: that may be in another group, and so much larger that all here would be zeros
            largest = warp_combine<Max>(logit, warpSize);
        if (has_choice)
            weight = of_chosen ? expf(logit - largest) : score(logit);
        if (of_chosen)
            weight /= warp_combine<Sum>(weight, warpSize);
        else if (gate.renormalise)
            weight /= warp_combine<Sum>(weight, warpSize) + 1e-20f; // zeros stay zeros
        if (has_choice) {
            ids[token * gate.k + lane] = mine;
            weights[token * gate.k + lane] = weight * gate.scale;
        }
    }
}

extern "C" __global__ __launch_bounds__(MAX_BLOCK) void moe_sort(const uint32_t *ids, const size_t pairs, const unsigned experts, const unsigned keep,
                                                                 uint32_t *counts, uint32_t *offsets, uint32_t *permutation, uint32_t *inverse) {
    __shared__ uint32_t in_warps[MAX_WARPS];
    const uint32_t expert = blockIdx.x;
    const unsigned lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize;
    const bool is_rest = expert == experts;
    const auto is_mine = [=](uint32_t id) { return is_rest ? id >= experts : id == expert; };
    // Each warp has neighbouring pairs; the next warp has the next ones.
    const size_t part = (pairs + blockDim.x - 1) / blockDim.x * warpSize;
    const size_t begin = min(warp * part, pairs), end = min(begin + part, pairs);
    // Which of the lane's first pairs have the expert; these are not read again.
    constexpr unsigned KEPT = 64;
    uint64_t kept = 0;
    uint32_t before = 0, count = 0;
    unsigned step = 0;
    for (size_t p = begin + lane; p < end; p += warpSize, ++step) {
        const uint32_t id = ids[p];
        before += id < expert;
        count += is_mine(id);
        if (step < KEPT)
            kept |= static_cast<uint64_t>(is_mine(id)) << step;
    }
    before = block_combine<Sum>(before);
    count = warp_combine<Sum>(count, warpSize);
    if (lane == 0)
        in_warps[warp] = count;
    __syncthreads();
    uint32_t at = before, all = 0; // of this warp's, of the workgroup
    for (unsigned w = 0; w < blockDim.x / warpSize; ++w) {
        at += w < warp ? in_warps[w] : 0;
        all += in_warps[w];
    }
    if (threadIdx.x == 0) {
        offsets[expert] = before;
        if (!is_rest)
            counts[expert] = all;
    }
    const bool left_out = is_rest && !keep;
    if (left_out)
        for (size_t p = static_cast<size_t>(before) + threadIdx.x; p < pairs; p += blockDim.x)
            permutation[p] = 0xffffffffu;
    // In order: each pair comes after those of the preceding lanes.
    const uint32_t stop = at + count;
    step = 0;
    for (size_t start = begin; start < end && at < stop; start += warpSize, ++step) {
        const size_t p = start + lane;
        const bool here = p < end && (step < KEPT ? (kept >> step & 1) != 0 : is_mine(ids[p]));
        const unsigned lanes = __ballot_sync(0xffffffffu, here);
        const uint32_t place = at + __popc(lanes & ((1u << lane) - 1));
        at += __popc(lanes);
        if (here && !left_out)
            permutation[place] = static_cast<uint32_t>(p);
        if (here && inverse)
            inverse[p] = left_out ? 0xffffffffu : place;
    }
}

extern "C" __global__ void moe_gather(const uint8_t *x, const uint32_t *permutation, uint8_t *out, const size_t pairs, const unsigned k,
                                      const size_t row_bytes, const size_t tokens) {
    gather_rows(x, out, pairs, row_bytes, tokens, [=](size_t i) { return static_cast<size_t>(permutation[i] / k); });
}

// N elements at a time.
template <unsigned N, typename T>
__device__ __forceinline__ void combine(const T *y, const float *weights, const uint32_t *places, T *out, size_t tokens, unsigned k,
                                        size_t width, size_t rows) {
    struct alignas(N * sizeof(T)) Elements {
        T at[N];
    };
    const size_t units = width / N;
    FOR_EACH_ELEMENT(i, tokens * units) {
        const Division token = divide(i, units);
        float sums[N] = {};
        for (size_t pair = token.quotient * k; pair < (token.quotient + 1) * k; ++pair) {
            const size_t row = places ? places[pair] : pair;
            if (row >= rows)
                continue;
            const float weight = weights[pair];
            const Elements from = reinterpret_cast<const Elements *>(y)[row * units + token.remainder];
#pragma unroll
            for (unsigned j = 0; j < N; ++j)
                sums[j] += weight * load(&from.at[j]);
        }
        Elements to;
#pragma unroll
        for (unsigned j = 0; j < N; ++j)
            to.at[j] = convert<T>(sums[j]);
        reinterpret_cast<Elements *>(out)[i] = to;
    }
}

#define GATE(T, NAME)                                                                                                  \
    extern "C" __global__ __launch_bounds__(GATE_WARPS * 32) void moe_gate_##NAME(                                     \
        const T *logits, const float *bias, const size_t tokens, const unsigned experts, const unsigned k, const unsigned scores, \
        const unsigned groups, const unsigned top_groups, const unsigned sum_of_two, const unsigned renormalise, const float scale, \
        float *weights, uint32_t *ids) {                                                                               \
        const Gate gate = {experts, k, static_cast<Scores>(scores), groups, top_groups, sum_of_two != 0, renormalise != 0, scale}; \
        route(logits, bias, tokens, gate, weights, ids);                                                               \
    }
#define COMBINE(T, NAME)                                                                                               \
    extern "C" __global__ void moe_combine_##NAME(const T *y, const float *weights, const uint32_t *places, T *out, const size_t tokens, \
                                                  const unsigned k, const size_t width, const size_t rows) {           \
        if (is_wide(y) && is_wide(out) && width % PACK<T> == 0)                                                        \
            combine<PACK<T>>(y, weights, places, out, tokens, k, width, rows);                                         \
        else                                                                                                           \
            combine<1>(y, weights, places, out, tokens, k, width, rows);                                               \
    }
#define ALL(T, NAME) GATE(T, NAME) COMBINE(T, NAME)
ALL(float, f32)
ALL(__half, f16)
ALL(__nv_bfloat16, bf16)
