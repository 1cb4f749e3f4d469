// Selection in a row by a workgroup, without sorting: ranks of numbers, and the rank from which elements weigh enough.
#pragma once
#include "reduce.cuh"

// Larger numbers have larger ranks. A NaN has the largest, and both zeros have the same.
__device__ __forceinline__ uint32_t rank_of(float x) {
    if (x != x)
        return 0xffffffffu;
    const uint32_t bits = __float_as_uint(x + 0.0f); // -0 + 0 is 0
    return bits >> 31 ? ~bits : bits | 0x80000000u;
}
__device__ __forceinline__ float of_rank(uint32_t rank) { return __uint_as_float(rank >> 31 ? rank & 0x7fffffffu : ~rank); }

// Distinct ranks: of equal numbers, the first has the larger rank.
__device__ __forceinline__ uint64_t rank_at(uint32_t rank, size_t i) {
    return static_cast<uint64_t>(rank) << 32 | static_cast<uint32_t>(~static_cast<uint32_t>(i));
}
__device__ __forceinline__ uint64_t rank_at(float x, size_t i) { return rank_at(rank_of(x), i); }
__device__ __forceinline__ uint32_t index_of(uint64_t rank) { return ~static_cast<uint32_t>(rank); }

// The largest r for which elements of ranks r and above weigh `target` or more; zero if all weigh less. Works byte by byte from `shift`,
// the highest byte in which ranks may differ: a pass over the row sums the weights in the bucket of the bytes found so far, by the next
// byte. Sums are of integers, so their order does not matter.
//   rough       the result may be any r that selects the same elements, so the search ends early when a whole bucket is needed.
//               Otherwise it is the rank of an element with a weight, if all together weigh `target` or more.
//   rank(i)     of element i
//   weight(i)   of element i
//   unit(r, w)  called once the upper 32 bits are found: the weight of one element of that bucket; all together weigh w
template <typename Rank, typename Weight, typename Unit>
__device__ __forceinline__ uint64_t select_rank(size_t n, int shift, bool rough, uint64_t target, Rank rank, Weight weight, Unit unit) {
    __shared__ unsigned long long buckets[256];
    __shared__ uint64_t found[3]; // the byte, the weight still to be found in its bucket, and the weight of the bucket
    const unsigned thread = block_thread(), threads = block_threads();
    uint64_t prefix = 0;
    for (bool first = true; shift >= 0; shift -= 8, first = false) {
        for (unsigned b = thread; b < 256; b += threads)
            buckets[b] = 0;
        __syncthreads();
        for (size_t i = thread; i < n; i += threads) {
            const uint64_t r = rank(i);
            if (first || (r ^ prefix) >> (shift + 8) == 0) {
                const uint64_t w = weight(i);
                if (w > 0)
                    atomicAdd(&buckets[r >> shift & 255], static_cast<unsigned long long>(w));
            }
        }
        __syncthreads();
        if (thread < warpSize) {
            // a lane's eight buckets; the first lane has the highest
            uint64_t sum = 0;
            for (unsigned j = 0; j < 8; ++j)
                sum += buckets[255 - 8 * thread - j];
            uint64_t before = sum;
#pragma unroll 1
            for (unsigned distance = 1; distance < warpSize; distance *= 2) {
                const uint64_t other = __shfl_up_sync(0xffffffffu, before, distance);
                before += thread >= distance ? other : 0;
            }
            before -= sum;
            const bool here = before < target && target <= before + sum;
            if (here) {
                unsigned bucket = 255 - 8 * thread;
                while (before + buckets[bucket] < target)
                    before += buckets[bucket--];
                found[0] = bucket, found[1] = target - before, found[2] = buckets[bucket];
            }
            if (thread == warpSize - 1 && before + sum < target)
                found[0] = 0, found[1] = 0, found[2] = 0; // all weigh less
        }
        __syncthreads();
        prefix |= found[0] << shift;
        target = found[1];
        const uint64_t all = found[2];
        if ((rough && target == all) || (shift == 32 && target > all - unit(prefix, all)))
            break;
    }
    // `found` is written again two barriers later
    return prefix;
}
