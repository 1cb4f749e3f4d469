// The product of a quantised matrix with one vector on NVIDIA's sm_90 and later. Rows pass through shared memory, where copies of whole steps are on
// the way that one thread begins. A thread has the vector's numbers at its place of a row in registers, and multiplies all rows of the workgroup there.
//
// What costs time here is where nothing is on the way: until a kernel has begun, and has its vector. So it begins while the one in front ends
// (`overlap.cuh`), and then copies its first rows at once.
#pragma once
#include "nvidia.cuh"
#include "overlap.cuh"
#include "quant_warp.cuh"

#if defined(NVIDIA_BULK)
// A warp has four rows if a unit has no more bytes than this, or else two.
constexpr unsigned SHORT_UNIT = 20;

// A workgroup of THREADS. In a step, a warp multiplies ROWS rows; if there are few columns, several groups of warps have rows of their own. There is
// room for STAGES steps. If a row has more units than a workgroup has threads, one part of all rows is multiplied, then the next.
template <typename Q, unsigned THREADS_OF> struct Stream {
    static constexpr unsigned THREADS = THREADS_OF, WARPS = THREADS / 32, LOG_WARPS = WARPS == 4 ? 2 : 3;
    static_assert(WARPS == 1u << LOG_WARPS);
    static constexpr unsigned PER_BLOCK = Unit<Q>::PER_BLOCK, UNIT_BYTES = (sizeof(Q) + PER_BLOCK - 1) / PER_BLOCK;
    // 8 workgroups of 128 threads have 25 KiB each.
    static constexpr unsigned LOG_ROWS = UNIT_BYTES <= SHORT_UNIT ? 2 : 1, ROWS = 1 << LOG_ROWS, STAGES = UNIT_BYTES > 20 && UNIT_BYTES <= 28 ? 3 : 2;
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
        if constexpr (P::TWO_SCALES) {
            total[0] *= d[0], total[1] *= d[1];
            // as many times too much are the second group's products
            d[1] *= P::NIBBLES ? 1.0f / 16.0f : 1.0f;
        }
    }
    // The products with a group's halves of bytes, 16 times of them for the second one, whose upper halves stay where they are.
    __device__ __forceinline__ int dot_of_nibbles(const P &part, unsigned k) const {
        int dot = 0;
#pragma unroll
        for (unsigned i = 0; i < QUADS; ++i)
            dot = nvidia::dot4_unsigned(part.low[i] & (k == 0 ? 0x0f0f0f0fu : 0xf0f0f0f0u), a[k][i], dot);
        return dot;
    }
    // `product`, where both groups share what their scales are multiplied with.
    __device__ __forceinline__ float product_of_two(const P &part, const Unit<Q> &at) const {
        float sum = 0.0f, of_minima = 0.0f;
#pragma unroll
        for (unsigned k = 0; k < GROUPS; ++k) {
            int dot = 0;
            if constexpr (P::NIBBLES)
                dot = dot_of_nibbles(part, k);
            else
#pragma unroll
                for (unsigned i = 0; i < QUADS; ++i)
                    dot = dot4(part.quad(at, k, i), a[k][i], dot);
            sum = fmaf(part.scales.factor(k), d[k] * static_cast<float>(dot), sum);
            of_minima = fmaf(part.scales.minimum(k), total[k], of_minima);
        }
        return fmaf(part.scales.d(), sum, -part.scales.m() * of_minima);
    }
    // The sum of the products with a unit.
    __device__ __forceinline__ float product(const P &part, const Unit<Q> &at) const {
        if constexpr (P::TWO_SCALES)
            return product_of_two(part, at);
        float sum = 0.0f;
        int dot = first[0];
#pragma unroll
        for (unsigned k = 0; k < GROUPS; ++k) {
            if constexpr (P::NIBBLES) {
                const int of_group = dot_of_nibbles(part, k);
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
    // What is to be copied next. One thread knows it, and keeps it in shared memory, where it takes no registers of the others.
    struct Ahead {
        unsigned step, part, begin;
        __device__ __forceinline__ void advance(unsigned steps, unsigned parts, unsigned workgroups) {
            step += workgroups;
            if (step >= steps || step >= begin + S::KEPT * workgroups) {
                if (++part == parts)
                    part = 0, begin += S::KEPT * workgroups;
                step = begin;
            }
        }
    };
    __shared__ Ahead next_copy;

    // The first steps are copied by a lane each. The first of all does so while the kernel in front ends. More of them would be in its way, so that
    // the others are behind the vector in the queue.
    Ahead ahead = {workgroup, 0, workgroup};
    const bool early = !begun && lane == 0;
    if (warp == 0) {
#pragma unroll 1
        for (unsigned i = 0; i < min(lane, S::STAGES) && ahead.step < steps; ++i)
            ahead.advance(steps, parts, workgroups);
        if (lane < S::STAGES) {
            nvidia::begin_barrier(arrived + 8 * lane, 1);
            nvidia::begin_barrier(used + 8 * lane, S::WARPS);
            nvidia::show_barriers();
            if (early && ahead.step < steps)
                fill(lane, ahead.step, ahead.part);
        }
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
        if (!early && lane < S::STAGES && ahead.step < steps)
            fill(lane, ahead.step, ahead.part);
        // The first lane goes on behind them. Who has no more to copy lets the next kernel begin.
        if (lane == 0) {
#pragma unroll 1
            for (unsigned i = 0; i < S::STAGES && ahead.step < steps; ++i)
                ahead.advance(steps, parts, workgroups);
            next_copy = ahead;
            if (ahead.step >= steps)
                let_next_begin();
        }
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
                if (thread == 0 && next_copy.step < steps) {
                    Ahead next = next_copy;
                    nvidia::wait_for_phase(used + 8 * stage, phase);
                    fill(stage, next.step, next.part);
                    next.advance(steps, parts, workgroups);
                    next_copy = next;
                    if (next.step >= steps)
                        let_next_begin();
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
    // one row at a time, for which there are registers beside those of the stream
    warp_product<Q, 1>(x, y, columns, rows, share, reinterpret_cast<Stage &>(shared), store);
}
