// The product of a quantised matrix with one vector on NVIDIA's sm_90 and later. Rows pass through shared memory, where copies of whole steps are on
// the way that one thread begins. A thread has the vector's numbers at its place of a row in registers, and multiplies all rows of the workgroup there.
//
// What costs time here is where nothing is on the way: until a kernel has begun, and has its vector. So it begins while the one in front ends
// (`overlap.cuh`), and then reads its first rows into the L2 cache; later writes to them would be seen.
#pragma once
#include "nvidia.cuh"
#include "overlap.cuh"
#include "quant_warp.cuh"

#if defined(NVIDIA_BULK)
// A workgroup of THREADS. In a step, a warp multiplies ROWS rows; if there are few columns, several groups of warps have rows of their own. There is
// room for STAGES steps. If a row has more units than a workgroup has threads, one part of all rows is multiplied, then the next.
template <typename Q, unsigned THREADS_OF> struct Stream {
    static constexpr unsigned THREADS = THREADS_OF, WARPS = THREADS / 32, LOG_WARPS = WARPS == 4 ? 2 : 3;
    static_assert(WARPS == 1u << LOG_WARPS);
    static constexpr unsigned PER_BLOCK = Unit<Q>::PER_BLOCK, UNIT_BYTES = (sizeof(Q) + PER_BLOCK - 1) / PER_BLOCK;
    // 8 workgroups of 128 threads have 25 KiB each.
    static constexpr unsigned LOG_ROWS = UNIT_BYTES <= 20 ? 2 : 1, ROWS = 1 << LOG_ROWS, STAGES = UNIT_BYTES > 20 && UNIT_BYTES <= 28 ? 3 : 2;
    static constexpr unsigned BLOCKS_OF_PART = THREADS / PER_BLOCK, PART = BLOCKS_OF_PART * sizeof(Q), STAGE = ROWS * PART;
    static_assert(PART % 16 == 0);
    // The words behind the last block are read.
    static constexpr unsigned RING = STAGES * STAGE + 16;
    // Steps whose sums are kept at a time.
    static constexpr unsigned KEPT = 32;
};

// Shared memory of a product, whichever way it takes.
template <typename Q, unsigned THREADS> constexpr unsigned SHARED = Stream<Q, THREADS>::RING > sizeof(Stage) ? Stream<Q, THREADS>::RING : sizeof(Stage);

// Whether there is something to copy, all copies are multiples of 16, and all rows begin at words.
template <typename Q, unsigned THREADS> __device__ __forceinline__ bool can_stream(const Q *x, unsigned columns, unsigned rows) {
    using S = Stream<Q, THREADS>;
    const unsigned row_bytes = columns / Q::VALUES * sizeof(Q);
    const bool in_parts = columns / Q::VALUES > S::BLOCKS_OF_PART;
    return row_bytes > 0 && reinterpret_cast<size_t>(x) % 16 == 0 && row_bytes % (in_parts ? 16 : 4) == 0 && S::ROWS * row_bytes % 16 == 0 &&
           rows * row_bytes % 16 == 0;
}

// What a thread has of the vector: the numbers of its unit, their blocks' scales, and sums of the numbers.
template <typename Q> struct UnitActivations {
    using P = Part<Q, InShared>;
    static constexpr unsigned GROUPS = Unit<Q>::GROUPS;
    // Both groups of a block have one scale.
    static constexpr bool TOGETHER = Q::VALUES == 32;
    uint32_t a[GROUPS][QUADS], scales[GROUPS];
    float d[GROUPS], total[GROUPS];
    int first[GROUPS];

    // Begins to read from the blocks of a matrix's block, or takes zeros.
    __device__ __forceinline__ void load(const Q8_1 *blocks, const Unit<Q> &at, bool there) {
#pragma unroll
        for (unsigned k = 0; k < GROUPS; ++k) {
            const uint32_t *block = reinterpret_cast<const uint32_t *>(blocks + at.group(k) / 2);
            scales[k] = there ? block[0] : 0;
#pragma unroll
            for (unsigned i = 0; i < QUADS; ++i)
                a[k][i] = there ? block[1 + at.group(k) % 2 * QUADS + i] : 0;
        }
    }
    __device__ __forceinline__ void finish() {
#pragma unroll
        for (unsigned k = 0; k < GROUPS; ++k) {
            d[k] = half_at(scales[k] & 0xffff);
            int sum = 0;
#pragma unroll
            for (unsigned i = 0; i < QUADS; ++i)
                sum = dot4(0x01010101u, a[k][i], sum);
            total[k] = static_cast<float>(sum);
            first[k] = -static_cast<int>(P::CENTRE) * sum;
        }
        if (TOGETHER)
            total[0] += total[1], first[0] += first[1];
    }
    // The sum of the products with a unit.
    __device__ __forceinline__ float product(const P &part, const Unit<Q> &at) const {
        float sum = 0.0f;
        int dot = first[0];
#pragma unroll
        for (unsigned k = 0; k < GROUPS; ++k) {
            if constexpr (P::NIBBLES) {
                // The upper halves of bytes stay where they are, which is 16 times of them.
                int of_group = 0;
#pragma unroll
                for (unsigned i = 0; i < QUADS; ++i)
                    of_group = nvidia::dot4_unsigned(part.low[i] & (k == 0 ? 0x0f0f0f0fu : 0xf0f0f0f0u), a[k][i], of_group);
                dot += k == 0 ? of_group : of_group >> 4;
            } else {
#pragma unroll
                for (unsigned i = 0; i < QUADS; ++i)
                    dot = dot4(part.quad(at, k, i), a[k][i], dot);
            }
            if (TOGETHER && k + 1 < GROUPS)
                continue;
            const Scale scale = part.scale(at, k);
            float product = scale.d * static_cast<float>(dot);
            if (Q::OFFSET && P::CENTRE == 0)
                product = fmaf(scale.m, total[TOGETHER ? 0 : k], product);
            sum = fmaf(d[k], product, sum);
            dot = first[k + 1 < GROUPS ? k + 1 : k];
        }
        return sum;
    }
};

// Each lane's sum of one of the rows over all lanes: that of the row `lane / (32 / ROWS)`.
template <unsigned ROWS> __device__ __forceinline__ float sum_of_row(float (&products)[ROWS], unsigned lane) {
    unsigned mask = 16;
    // A lane keeps the sums of half of the rows, then of half of these.
#pragma unroll
    for (unsigned half = ROWS / 2; half > 0; half /= 2, mask /= 2) {
        const bool upper = lane & mask;
#pragma unroll
        for (unsigned r = 0; r < half; ++r) {
            const float given = upper ? products[r] : products[r + half];
            products[r] = (upper ? products[r + half] : products[r]) + __shfl_xor_sync(0xffffffffu, given, mask);
        }
    }
#pragma unroll
    for (; mask > 0; mask /= 2)
        products[0] += __shfl_xor_sync(0xffffffffu, products[0], mask);
    return products[0];
}

// The product by some workgroups; calls `store(row, product)`. Steps take turns in the workgroups. `begun` says that the kernel in front has ended.
template <typename Q, unsigned THREADS, typename F>
__device__ __forceinline__ void stream_product(const Q *x, const Q8_1 *y, unsigned columns, unsigned rows, unsigned workgroup, unsigned workgroups, bool begun,
                                               char (&ring)[SHARED<Q, THREADS>], F store) {
    using S = Stream<Q, THREADS>;
    static_assert(S::RING <= sizeof ring);
    __shared__ alignas(8) uint64_t barriers[2 * S::STAGES];
    __shared__ float sums[S::WARPS][S::KEPT * S::ROWS];
    const unsigned lane = threadIdx.x, warp = threadIdx.y, thread = warp * 32 + lane;
    const unsigned blocks = columns / Q::VALUES, row_bytes = blocks * sizeof(Q), units = blocks * S::PER_BLOCK;
    const unsigned parts = (units + THREADS - 1) / THREADS;
    // Warps that share a row, and rows of a step.
    const unsigned log_shared = units <= 32 ? 0 : min(32 - __clz((units - 1) / 32), S::LOG_WARPS), log_step = S::LOG_ROWS + S::LOG_WARPS - log_shared;
    const unsigned steps = ((rows - 1) >> log_step) + 1;
    const unsigned arrived = nvidia::shared_address(barriers), used = arrived + 8 * S::STAGES, ring_at = nvidia::shared_address(ring);
    if (workgroup >= steps)
        return;

    // Calls for each piece of memory that a part of a step has with its place in a stage.
    const auto each_piece = [&](unsigned step, unsigned part, auto apply) {
        const unsigned first = step << log_step, count = min(rows - first, 1u << log_step);
        const char *from = reinterpret_cast<const char *>(x) + static_cast<size_t>(first) * row_bytes;
        if (parts == 1)
            return apply(from, 0u, count * row_bytes);
#pragma unroll 1
        for (unsigned r = 0; r < count; ++r)
            apply(from + static_cast<size_t>(r) * row_bytes + part * S::PART, r * S::PART, min(row_bytes - part * S::PART, S::PART));
    };
    const auto fill = [&](unsigned stage, unsigned step, unsigned part) {
        const unsigned count = min(rows - (step << log_step), 1u << log_step);
        nvidia::arrive_and_expect(arrived + 8 * stage, count * min(row_bytes - part * S::PART, S::PART));
        each_piece(step, part, [&](const char *from, unsigned to, unsigned bytes) {
            nvidia::copy_bytes_once(ring_at + stage * S::STAGE + to, from, bytes, arrived + 8 * stage);
        });
    };
    // What is to be copied next, and where to. Who has no more to copy lets the next kernel begin.
    unsigned step_ahead = workgroup, part_ahead = 0, begin_ahead = workgroup, stage_ahead = 0, phase_ahead = 0;
    const auto advance = [&] {
        if (++stage_ahead == S::STAGES)
            stage_ahead = 0, phase_ahead ^= 1;
        step_ahead += workgroups;
        if (step_ahead >= steps || step_ahead >= begin_ahead + S::KEPT * workgroups) {
            if (++part_ahead == parts)
                part_ahead = 0, begin_ahead += S::KEPT * workgroups;
            step_ahead = begin_ahead;
            if (step_ahead >= steps)
                let_next_begin();
        }
    };

    // The first steps are copied by a lane each, which are behind the vector in the queue.
    if (warp == 0) {
#pragma unroll 1
        for (unsigned i = 0; i < min(lane, S::STAGES) && step_ahead < steps; ++i)
            advance();
        if (lane < S::STAGES) {
            // More of them would be in the way of the kernel in front.
            if (lane == 0 && !begun)
                each_piece(step_ahead, part_ahead, [&](const char *from, unsigned, unsigned bytes) { nvidia::prefetch_bytes(from, bytes); });
            nvidia::begin_barrier(arrived + 8 * lane, 1);
            nvidia::begin_barrier(used + 8 * lane, S::WARPS);
        }
        nvidia::show_barriers();
    }
    const unsigned of_part = (warp & ((1u << log_shared) - 1)) * 32 + lane, group = warp >> log_shared;
    const Unit<Q> at(of_part < units ? of_part : 0);
    UnitActivations<Q> activations;
    const auto load_activations = [&](unsigned part) {
        const Q8_1 *of_block = y + (part * S::BLOCKS_OF_PART + at.block) * (Q::VALUES / Q8_1::VALUES);
        activations.load(of_block, at, part * THREADS + of_part < units);
    };
    wait_for_previous();
    load_activations(0);
    __syncthreads();
    if (warp == 0) {
        if (lane < S::STAGES && step_ahead < steps)
            fill(lane, step_ahead, part_ahead);
        // The first lane goes on behind them.
        if (lane == 0)
#pragma unroll 1
            for (unsigned i = 0; i < S::STAGES && step_ahead < steps; ++i)
                advance();
        phase_ahead = 0;
        __syncwarp();
    }
    activations.finish();
    bool present = of_part < units;

    // The thread's unit of the first row of its group.
    const unsigned pitch = parts == 1 ? row_bytes : S::PART, offset = at.block * sizeof(Q), odd = sizeof(Q) % 4 == 0 ? 0 : offset % 4;
    const char *place = ring + (offset - odd) + (group << S::LOG_ROWS) * pitch;
    unsigned stage = 0, phase = 0;
#pragma unroll 1
    for (unsigned begin = workgroup; begin < steps; begin += S::KEPT * workgroups) {
        const unsigned end = min(steps, begin + S::KEPT * workgroups);
#pragma unroll 1
        for (unsigned part = 0; part < parts; ++part) {
            if (parts > 1 && (part > 0 || begin > workgroup)) {
                load_activations(part), activations.finish();
                present = part * THREADS + of_part < units;
            }
            float *to = &sums[warp][lane / (32 / S::ROWS)];
#pragma unroll 1
            for (unsigned step = begin; step < end; step += workgroups, to += S::ROWS) {
                nvidia::wait_for_phase(arrived + 8 * stage, phase);
                const char *from = place + stage * S::STAGE;
                Part<Q, InShared> of_row[S::ROWS];
                float products[S::ROWS];
#pragma unroll
                for (unsigned r = 0; r < S::ROWS; ++r)
                    of_row[r].load(InShared{from + r * pitch, odd}, at);
#pragma unroll
                for (unsigned r = 0; r < S::ROWS; ++r) {
                    of_row[r].align(at);
                    // where there is no unit, shared memory may hold anything, NaN included
                    const float product = activations.product(of_row[r], at);
                    products[r] = present ? product : 0.0f;
                }
                __syncwarp();
                if (lane == 0)
                    nvidia::arrive(used + 8 * stage);
                if (thread == 0 && step_ahead < steps) {
                    nvidia::wait_for_phase(used + 8 * stage_ahead, phase_ahead);
                    fill(stage_ahead, step_ahead, part_ahead);
                    advance();
                }
                const float sum = sum_of_row(products, lane);
                if (lane % (32 / S::ROWS) == 0)
                    *to = part == 0 ? sum : *to + sum;
                if (++stage == S::STAGES)
                    stage = 0, phase ^= 1;
            }
        }
        __syncthreads();
#pragma unroll 1
        for (unsigned i = thread; i < S::KEPT << log_step; i += THREADS) {
            const unsigned kept = i >> log_step, step = begin + kept * workgroups, of_step = i & ((1u << log_step) - 1), row = (step << log_step) + of_step;
            if (step >= end)
                break;
            const unsigned first = (of_step >> S::LOG_ROWS) << log_shared;
            float sum = 0.0f;
#pragma unroll 1
            for (unsigned w = first; w < first + (1u << log_shared); ++w)
                sum += sums[w][(kept << S::LOG_ROWS) + of_step % S::ROWS];
            if (row < rows)
                store(row, sum);
        }
        __syncthreads();
    }
}
#else
template <typename Q, unsigned THREADS> constexpr unsigned SHARED = sizeof(Stage);
#endif

// The product by some workgroups of THREADS of an NVIDIA GPU. Where rows cannot be streamed, warps read them themselves.
template <typename Q, unsigned THREADS, typename F>
__device__ __forceinline__ void product_by_some(const Q *x, const Q8_1 *y, unsigned columns, unsigned rows, const Share &share, bool begun, F store) {
    __shared__ alignas(128) char shared[SHARED<Q, THREADS>];
#if defined(NVIDIA_BULK)
    if (can_stream<Q, THREADS>(x, columns, rows))
        return stream_product<Q, THREADS>(x, y, columns, rows, share.block, share.blocks, begun, shared, store);
#endif
    let_next_begin();
    wait_for_previous();
    warp_product(x, y, columns, rows, share, reinterpret_cast<Stage &>(shared), store);
}
