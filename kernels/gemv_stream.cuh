// The product of a matrix with one vector on NVIDIA's sm_90 and later. Rows pass through shared memory, where copies of whole rows are on the way that one
// thread begins. A thread has the vector's numbers at its places of a row in registers, and multiplies all rows of the workgroup there.
//
// What costs time is where nothing is on the way. So if the matrix is settled, which the launcher says, its first rows are copied before the kernel in
// front has ended (`overlap.cuh`). The vector is read after that.
#pragma once
#include "nvidia.cuh"
#include "overlap.cuh"
#include "reduce.cuh"

__device__ __forceinline__ float multiply_add(float a, float b, float c) { return fmaf(a, b, c); }
__device__ __forceinline__ int multiply_add(int a, int b, int c) { return a * b + c; }

namespace row_stream {
// Threads that multiply, and a warp more, which copies.
constexpr unsigned THREADS = 256, WARPS = THREADS / 32, ALL_THREADS = THREADS + 32;
} // namespace row_stream

#if defined(NVIDIA_BULK)
namespace row_stream {
// Bytes of a step, if a row is not longer, and how many steps are copied before the kernel in front has ended. `STEP`, `LEAST_ROW`, `MOST_VALUES` and
// `ALL_THREADS` are also in `crates/kernels/src/nvidia.rs`, which has the bytes of shared memory, too.
constexpr unsigned STEP = 32 << 10, EARLY = 2, MOST_STAGES = 8;
// Bytes of the shortest row, which keeps half of the threads busy, and numbers of the longest one, for which there are registers.
constexpr unsigned LEAST_ROW = 2048, MOST_VALUES = 16 << 10;
// Rows whose sums are kept at a time.
constexpr unsigned KEPT = 64;
static_assert(STEP / LEAST_ROW <= KEPT && MOST_STAGES <= 32);

// Waits for the threads that multiply.
__device__ __forceinline__ void meet() { asm volatile("bar.sync 1, %0;" ::"n"(THREADS) : "memory"); }

// The vector's numbers at a thread's places: 16 bytes in each of PARTS parts of a row.
template <typename T, unsigned PARTS> struct Places {
    static constexpr unsigned COUNT = 16 / sizeof(T), PART = THREADS * COUNT;
    uint4 x[PARTS];

    __device__ __forceinline__ void load(const T *from, unsigned depth) {
#pragma unroll
        for (unsigned p = 0; p < PARTS; ++p) {
            const unsigned at = p * PART + threadIdx.x * COUNT;
            x[p] = at < depth ? *reinterpret_cast<const uint4 *>(from + at) : uint4{};
        }
    }
    // The sum of this thread's products with a row.
    __device__ __forceinline__ sum_t<T> product(const T *row, unsigned depth) const {
        sum_t<T> sum = 0;
#pragma unroll
        for (unsigned p = 0; p < PARTS; ++p) {
            const unsigned at = p * PART + threadIdx.x * COUNT;
            if (at >= depth)
                break;
            const uint4 words = *reinterpret_cast<const uint4 *>(row + at);
            T w[COUNT], factors[COUNT];
            memcpy(w, &words, 16);
            memcpy(factors, &x[p], 16);
#pragma unroll
            for (unsigned i = 0; i < COUNT; ++i)
                sum = multiply_add(convert<sum_t<T>>(w[i]), convert<sum_t<T>>(factors[i]), sum);
        }
        return sum;
    }
};

// What a workgroup has in shared memory besides rows.
template <typename T> struct Kept {
    uint64_t barriers[2 * MOST_STAGES];
    // Twice, so that a thread adds some of them while others write the next.
    sum_t<T> sums[2][WARPS][KEPT];
};

// Calls `store(row, product)`. Steps take turns in the workgroups, which have as many rows each, and pass through as many stages as have room.
template <unsigned PARTS, typename T, typename F>
__device__ __forceinline__ void product(const T *w, const T *x, unsigned rows, unsigned depth, bool settled, Kept<T> &shared, F store) {
    extern __shared__ __align__(128) char ring[];
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, row_bytes = depth * sizeof(T);
    const unsigned of_workgroup = (rows - 1) / gridDim.x + 1, most = max(1u, STEP / row_bytes);
    const unsigned of_step = (of_workgroup - 1) / ((of_workgroup - 1) / most + 1) + 1, step_bytes = of_step * row_bytes, steps = (rows - 1) / of_step + 1;
    const unsigned stages = min(MOST_STAGES, nvidia::launched_shared_bytes() / step_bytes);
    const unsigned arrived = nvidia::shared_address(shared.barriers), used = arrived + 8 * MOST_STAGES, ring_at = nvidia::shared_address(ring);
    let_next_begin();
    if (warp == WARPS) {
        if (lane < stages) {
            nvidia::begin_barrier(arrived + 8 * lane, 1);
            nvidia::begin_barrier(used + 8 * lane, WARPS);
            nvidia::show_barriers();
        }
        __syncthreads();
        if (!settled)
            wait_for_previous();
        if (lane > 0)
            return;
        unsigned stage = 0, phase = 1, filled = 0;
#pragma unroll 1
        for (unsigned step = blockIdx.x; step < steps; step += gridDim.x, ++filled) {
            // More of them would be in the way of what the kernel in front reads.
            if (settled && filled == EARLY)
                wait_for_previous();
            // The first phase that is waited for is over before it began.
            nvidia::wait_for_phase(used + 8 * stage, phase);
            const unsigned first = step * of_step, bytes = min(of_step, rows - first) * row_bytes;
            nvidia::arrive_and_expect(arrived + 8 * stage, bytes);
            nvidia::copy_bytes_once(ring_at + stage * step_bytes, w + static_cast<size_t>(first) * depth, bytes, arrived + 8 * stage);
            if (++stage == stages)
                stage = 0, phase ^= 1;
        }
        return;
    }
    __syncthreads();
    wait_for_previous();
    Places<T, PARTS> places;
    places.load(x, depth);

    unsigned stage = 0, phase = 0, which = 0;
    const unsigned at_once = KEPT / of_step * gridDim.x;
#pragma unroll 1
    for (unsigned begin = blockIdx.x; begin < steps; begin += at_once, which ^= 1) {
        unsigned kept = 0;
#pragma unroll 1
        for (unsigned step = begin; step < min(steps, begin + at_once); step += gridDim.x, kept += of_step) {
            nvidia::wait_for_phase(arrived + 8 * stage, phase);
            const T *row = reinterpret_cast<const T *>(ring + stage * step_bytes);
            // Behind the last row is what was there before.
#pragma unroll 2
            for (unsigned r = 0; r < of_step; ++r, row += depth) {
                const sum_t<T> sum = warp_reduce<Sum>(places.product(row, depth));
                if (lane == 0)
                    shared.sums[which][warp][kept + r] = sum;
            }
            __syncwarp();
            if (lane == 0)
                nvidia::arrive(used + 8 * stage);
            if (++stage == stages)
                stage = 0, phase ^= 1;
        }
        meet();
        if (threadIdx.x < kept) {
            const unsigned row = (begin + threadIdx.x / of_step * gridDim.x) * of_step + threadIdx.x % of_step;
            sum_t<T> sum = 0;
#pragma unroll
            for (unsigned from = 0; from < WARPS; ++from)
                sum += shared.sums[which][from][threadIdx.x];
            if (row < rows)
                store(row, sum);
        }
    }
}
} // namespace row_stream

// Whether the launch has room for a step of such rows, which are copied in pieces of 16 bytes.
template <typename T> __device__ __forceinline__ bool can_stream_rows(const T *w, const T *x, unsigned depth) {
    const unsigned room = nvidia::launched_shared_bytes(), row_bytes = depth * static_cast<unsigned>(sizeof(T));
    const bool in_pieces = (reinterpret_cast<size_t>(w) | reinterpret_cast<size_t>(x) | row_bytes) % 16 == 0;
    return depth <= row_stream::MOST_VALUES && in_pieces && row_bytes >= row_stream::LEAST_ROW && max(row_bytes, row_stream::STEP) <= room;
}

template <typename T, typename F>
__device__ __forceinline__ void stream_rows(const T *w, const T *x, unsigned rows, unsigned depth, bool settled, F store) {
    using namespace row_stream;
    constexpr unsigned PART = THREADS * 16 / sizeof(T), MOST = MOST_VALUES / PART;
    __shared__ Kept<T> kept;
    if (depth <= PART)
        product<1>(w, x, rows, depth, settled, kept, store);
    else if (depth <= 2 * PART)
        product<2>(w, x, rows, depth, settled, kept, store);
    else if (depth <= 4 * PART)
        product<4>(w, x, rows, depth, settled, kept, store);
    else if constexpr (MOST > 4) {
        if (depth <= 8 * PART)
            product<8>(w, x, rows, depth, settled, kept, store);
        else if constexpr (MOST > 8)
            product<MOST>(w, x, rows, depth, settled, kept, store);
    }
}
#else
template <typename T> __device__ __forceinline__ bool can_stream_rows(const T *, const T *, unsigned) { return false; }
template <typename T, typename F> __device__ __forceinline__ void stream_rows(const T *, const T *, unsigned, unsigned, bool, F) {}
#endif
