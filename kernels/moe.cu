// Routing of a mixture of experts.
//
// moe_gate_T(logits, tokens, experts, k, renormalise, weights, ids)     T = f32, f16, bf16
//   logits    tokens × experts, at most 1024; a warp for each token
//   ids       tokens × k, u32: the k ≤ 32 experts with the largest logits, from the largest on; of equal ones the first come first. A NaN counts
//             as larger than every number, so that a token's experts are always different and always there.
//   weights   tokens × k, f32: their softmax(logits); over the sum of the k if `renormalise`
// moe_sort(ids, pairs, experts, counts, offsets, permutation)
//   A workgroup for each expert, and one more. Pair p is token p / k and its choice p % k.
//   counts        experts: how many pairs have the expert
//   offsets       experts + 1: where an expert's pairs begin; the last one is where they all end
//   permutation   pairs: the numbers of the pairs, by experts, each expert's in order. Pairs whose id is no expert are left out, and what is
//                 left at the end is 2³² - 1.
#include "select.cuh"

template <typename T>
__device__ __forceinline__ void gate(const T *logits, size_t tokens, unsigned experts, unsigned k, bool renormalise, float *weights,
                                     uint32_t *ids) {
    const unsigned lane = threadIdx.x % warpSize;
    const size_t warps = blockDim.x / warpSize;
    for (size_t token = blockIdx.x * warps + threadIdx.x / warpSize; token < tokens; token += gridDim.x * warps) {
        const T *row = logits + token * experts;
        uint32_t taken = 0; // of this lane's experts, lane + 32 · j
        uint64_t mine = 0;  // this lane's choice
        float largest = 0, sum = 0, chosen = 0;
        for (unsigned choice = 0; choice < k; ++choice) {
            uint64_t best = 0;
            for (unsigned e = lane, j = 0; e < experts; e += warpSize, ++j) {
                const uint64_t rank = rank_at(load(row + e), e);
                if ((taken >> j & 1) == 0 && rank > best)
                    best = rank;
            }
            best = warp_combine<Max>(best, warpSize);
            const uint32_t expert = index_of(best);
            if (expert % warpSize == lane)
                taken |= 1u << expert / warpSize;
            if (choice == lane)
                mine = best;
            if (choice == 0) {
                largest = of_rank(best >> 32);
                for (unsigned e = lane; e < experts; e += warpSize)
                    sum += expf(load(row + e) - largest);
                sum = warp_combine<Sum>(sum, warpSize);
            }
            chosen += expf(of_rank(best >> 32) - largest);
        }
        if (lane < k) {
            ids[token * k + lane] = index_of(mine);
            weights[token * k + lane] = expf(of_rank(mine >> 32) - largest) / (renormalise ? chosen : sum);
        }
    }
}

extern "C" __global__ __launch_bounds__(MAX_BLOCK) void moe_sort(const uint32_t *ids, const size_t pairs, const unsigned experts, uint32_t *counts,
                                                                 uint32_t *offsets, uint32_t *permutation) {
    __shared__ uint32_t in_warps[MAX_WARPS];
    const uint32_t expert = blockIdx.x;
    const unsigned lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize;
    uint32_t before = 0, count = 0;
    for (size_t p = threadIdx.x; p < pairs; p += blockDim.x) {
        before += ids[p] < expert;
        count += ids[p] == expert;
    }
    before = block_combine<Sum>(before);
    count = block_combine<Sum>(count);
    if (threadIdx.x == 0) {
        offsets[expert] = before;
        if (expert < experts)
            counts[expert] = count;
    }
    if (expert == experts) {
        for (size_t p = before + threadIdx.x; p < pairs; p += blockDim.x)
            permutation[p] = 0xffffffffu;
        return;
    }
    // in order: a workgroup's width at a time, each pair behind those of the warps and lanes before
    for (size_t start = 0; start < pairs && count > 0; start += blockDim.x) {
        const size_t p = start + threadIdx.x;
        const bool here = p < pairs && ids[p] == expert;
        const unsigned lanes = __ballot_sync(0xffffffffu, here);
        __syncthreads(); // those before have been read
        if (lane == 0)
            in_warps[warp] = __popc(lanes);
        __syncthreads();
        uint32_t at = before + __popc(lanes & ((1u << lane) - 1));
        for (unsigned w = 0; w < blockDim.x / warpSize; ++w) {
            at += w < warp ? in_warps[w] : 0;
            before += in_warps[w];
        }
        if (here)
            permutation[at] = static_cast<uint32_t>(p);
    }
}

#define GATE(T, NAME)                                                                                                  \
    extern "C" __global__ void moe_gate_##NAME(const T *logits, const size_t tokens, const unsigned experts, const unsigned k, \
                                               const unsigned renormalise, float *weights, uint32_t *ids) {            \
        gate(logits, tokens, experts, k, renormalise != 0, weights, ids);                                              \
    }
GATE(float, f32)
GATE(__half, f16)
GATE(__nv_bfloat16, bf16)
