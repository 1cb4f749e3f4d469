// Products of a matrix with a few vectors: y[j] = alpha * W * x[j] + beta * y[j], a batch of them. The aim is to read W once, 16 bytes at
// a time.
//
// If W is stored by rows, a wave takes `ROWS` of them, its lanes run along the depth, and shuffles add their sums; of few rows, a workgroup takes
// `TOGETHER` of them on NVIDIA. If it is stored by columns, a lane takes neighbouring rows, the waves share the depth, and their sums meet in LDS.
#include "gemv_stream.cuh"
#include "int4.cuh"

constexpr unsigned THREADS = 256;
constexpr unsigned WAVES = THREADS / WAVE;
constexpr unsigned ROWS = 4;
constexpr unsigned MOST_VECTORS = 4;
// On NVIDIA: rows that a workgroup takes together, and workgroups that a multiprocessor has the registers for.
constexpr unsigned TOGETHER = 2, BUSY = 3;
// Rows from which there are enough for each warp to have its own. These numbers are also in `crates/kernels/src/nvidia.rs`.
constexpr unsigned MANY = 8192;

struct Shape {
    // Rows of W, its columns, vectors.
    unsigned rows, depth, vectors, batches;
    // The distance from one row of W (or column, if it is stored by columns) to the next, from one element of a vector to the next, and
    // from one vector to the next.
    size_t w_stride, x_step, x_stride, y_step, y_stride;
    // From one matrix of the batch to the next.
    size_t w_batch, x_batch, y_batch;
    // Whether W is stored by columns, and whether all that was written to W was there before the kernel in front began.
    uint32_t by_columns, settled;
};

// The kernel's parameters, in their order.
template <typename T, typename Out> struct Arguments {
    Shape shape;
    sum_t<T> alpha;
    const T *w, *x;
    sum_t<T> beta;
    Out *y;
};

// The same where W has 4-bit numbers.
template <typename T> struct Int4Arguments {
    Shape shape;
    unsigned group_shift;
    float alpha;
    const uint8_t *w;
    const T *scales, *zeros, *x;
    float beta;
    T *y;
};

template <typename T> struct Elements {
    static constexpr unsigned COUNT = 16 / sizeof(T);
    sum_t<T> x[COUNT];

    // Neighbours; `ALIGNED` if their address is divisible by 16, of which NVIDIA's hardware makes one load, and else one for each byte.
    // Of `WEIGHTS`, as `load_weights`.
    template <bool ALIGNED = false, bool WEIGHTS = false> __device__ __forceinline__ void read(const T *from) {
        T raw[COUNT];
        if constexpr (ALIGNED && NVIDIA) {
            const uint4 *at = reinterpret_cast<const uint4 *>(from), words = WEIGHTS ? load_weights(at) : *at;
            memcpy(raw, &words, 16);
        } else
            memcpy(raw, from, 16);
#pragma unroll
        for (unsigned i = 0; i < COUNT; ++i)
            x[i] = convert<sum_t<T>>(raw[i]);
    }
    // Elements that are `step` apart.
    __device__ __forceinline__ void read(const T *from, size_t step) {
#pragma unroll
        for (unsigned i = 0; i < COUNT; ++i, from = not_kept(from + step))
            x[i] = convert<sum_t<T>>(*from);
    }
    // The first `count` neighbours, followed by arbitrary numbers.
    __device__ __forceinline__ void read_first(const T *from, unsigned count) {
#pragma unroll
        for (unsigned i = 0; i < COUNT; ++i)
            x[i] = convert<sum_t<T>>(from[min(i, count - 1)]);
    }
};

template <typename Sum, typename Out>
__device__ __forceinline__ void write(Out *at, Sum alpha, Sum sum, Sum beta) {
    // beta = 0 must not read y: it may hold anything, NaN included
    *at = convert<Out>(beta == 0 ? alpha * sum : alpha * sum + beta * load(at));
}

// Adds the sums of the wave's lanes, and writes the result.
template <typename Arguments, typename Number, unsigned VECTORS>
__device__ __forceinline__ void finish(const Arguments &given, size_t batch, const Number (&sums)[VECTORS][ROWS], size_t row0) {
#pragma unroll
    for (unsigned j = 0; j < VECTORS; ++j) {
        const Arguments &now = read_again(given);
        const Shape &shape = now.shape;
        if (j >= shape.vectors)
            break;
        auto *y = now.y + batch * shape.y_batch + j * shape.y_stride;
#pragma unroll
        for (unsigned r = 0; r < ROWS; ++r) {
            Number sum = warp_reduce<Sum>(sums[j][r]);
            if constexpr (WAVE == 64)
                sum += __shfl_xor_sync(~0ull, sum, 32, 64);
            if (threadIdx.x % WAVE == 0 && row0 + r < shape.rows)
                write(y + (row0 + r) * shape.y_step, now.alpha, sum, now.beta);
        }
    }
}

template <bool ALIGNED, unsigned VECTORS, typename T, typename Out> __device__ __forceinline__ void by_rows(const Arguments<T, Out> &given, size_t batch) {
    constexpr unsigned COUNT = Elements<T>::COUNT;
    const unsigned lane = threadIdx.x % WAVE;
    for (size_t row0 = (static_cast<size_t>(blockIdx.x) * WAVES + wave_index()) * ROWS; row0 < read_again(given).shape.rows;
         row0 += static_cast<size_t>(gridDim.x) * WAVES * ROWS) {
        const Arguments<T, Out> &from = read_again(given);
        const Shape &shape = from.shape;
        const T *x = from.x + batch * shape.x_batch, *w[ROWS];
#pragma unroll
        for (unsigned r = 0; r < ROWS; ++r)
            w[r] = from.w + batch * shape.w_batch + min(row0 + r, static_cast<size_t>(shape.rows - 1)) * shape.w_stride;
        sum_t<T> sums[VECTORS][ROWS] = {};
        const unsigned whole = shape.depth / COUNT * COUNT;
#pragma unroll 1
        for (unsigned d = lane * COUNT; d < whole; d += WAVE * COUNT) {
            Elements<T> row[ROWS];
#pragma unroll
            for (unsigned r = 0; r < ROWS; ++r)
                row[r].template read<ALIGNED, true>(w[r] + d);
#pragma unroll
            for (unsigned j = 0; j < VECTORS; ++j) {
                if (j >= shape.vectors)
                    break;
                Elements<T> vector;
                const T *at = x + j * shape.x_stride + d * shape.x_step;
                if (shape.x_step == 1)
                    vector.template read<ALIGNED>(at);
                else
                    vector.read(at, shape.x_step);
#pragma unroll
                for (unsigned r = 0; r < ROWS; ++r)
#pragma unroll
                    for (unsigned i = 0; i < COUNT; ++i)
                        sums[j][r] = multiply_add(row[r].x[i], vector.x[i], sums[j][r]);
            }
        }
        // There are fewer elements than lanes in a wave.
        const unsigned d = whole + lane;
        if (d < shape.depth) {
            sum_t<T> row[ROWS];
#pragma unroll
            for (unsigned r = 0; r < ROWS; ++r)
                row[r] = convert<sum_t<T>>(w[r][d]);
#pragma unroll
            for (unsigned j = 0; j < VECTORS; ++j) {
                if (j >= shape.vectors)
                    break;
                const sum_t<T> factor = convert<sum_t<T>>(x[j * shape.x_stride + d * shape.x_step]);
#pragma unroll
                for (unsigned r = 0; r < ROWS; ++r)
                    sums[j][r] = multiply_add(row[r], factor, sums[j][r]);
            }
        }
        finish(given, batch, sums, row0);
    }
}

// The same where all waves of the workgroup share the depth of the rows, so that small matrices occupy an NVIDIA GPU, too.
template <unsigned VECTORS, typename T, typename Out>
__device__ __forceinline__ void by_rows_together(const Arguments<T, Out> &given, size_t batch) {
    constexpr unsigned COUNT = Elements<T>::COUNT;
    __shared__ sum_t<T> partial[VECTORS][TOGETHER][WAVES];
    const Shape &shape = given.shape;
    const T *x = given.x + batch * shape.x_batch;
    const unsigned whole = shape.depth / COUNT * COUNT;
    for (size_t row0 = static_cast<size_t>(blockIdx.x) * TOGETHER; row0 < shape.rows; row0 += static_cast<size_t>(gridDim.x) * TOGETHER) {
        const T *w[TOGETHER];
#pragma unroll
        for (unsigned r = 0; r < TOGETHER; ++r)
            w[r] = given.w + batch * shape.w_batch + min(row0 + r, static_cast<size_t>(shape.rows - 1)) * shape.w_stride;
        sum_t<T> sums[VECTORS][TOGETHER] = {};
#pragma unroll 1
        for (unsigned d = threadIdx.x * COUNT; d < whole; d += THREADS * COUNT) {
            Elements<T> row[TOGETHER];
#pragma unroll
            for (unsigned r = 0; r < TOGETHER; ++r)
                row[r].template read<true, true>(w[r] + d);
#pragma unroll
            for (unsigned j = 0; j < VECTORS; ++j) {
                if (j >= shape.vectors)
                    break;
                Elements<T> vector;
                const T *at = x + j * shape.x_stride + d * shape.x_step;
                if (shape.x_step == 1)
                    vector.template read<true>(at);
                else
                    vector.read(at, shape.x_step);
#pragma unroll
                for (unsigned r = 0; r < TOGETHER; ++r)
#pragma unroll
                    for (unsigned i = 0; i < COUNT; ++i)
                        sums[j][r] = multiply_add(row[r].x[i], vector.x[i], sums[j][r]);
            }
        }
        const unsigned d = whole + threadIdx.x;
        if (d < shape.depth) {
#pragma unroll
            for (unsigned j = 0; j < VECTORS; ++j) {
                if (j >= shape.vectors)
                    break;
                const sum_t<T> factor = convert<sum_t<T>>(x[j * shape.x_stride + d * shape.x_step]);
#pragma unroll
                for (unsigned r = 0; r < TOGETHER; ++r)
                    sums[j][r] = multiply_add(convert<sum_t<T>>(w[r][d]), factor, sums[j][r]);
            }
        }
#pragma unroll
        for (unsigned j = 0; j < VECTORS; ++j) {
            if (j >= shape.vectors)
                break;
#pragma unroll
            for (unsigned r = 0; r < TOGETHER; ++r) {
                const sum_t<T> sum = warp_reduce<Sum>(sums[j][r]);
                if (threadIdx.x % WAVE == 0)
                    partial[j][r][threadIdx.x / WAVE] = sum;
            }
        }
        __syncthreads();
        if (const unsigned j = threadIdx.x / TOGETHER, r = threadIdx.x % TOGETHER; j < min(shape.vectors, VECTORS) && row0 + r < shape.rows) {
            sum_t<T> sum = 0;
#pragma unroll
            for (unsigned i = 0; i < WAVES; ++i)
                sum += partial[j][r][i];
            write(given.y + batch * shape.y_batch + j * shape.y_stride + (row0 + r) * shape.y_step, given.alpha, sum, given.beta);
        }
        // What is written next may be of the next batch.
        if (row0 + static_cast<size_t>(gridDim.x) * TOGETHER < shape.rows || batch + gridDim.y < shape.batches)
            __syncthreads();
    }
}

template <typename T, typename Out> __device__ __forceinline__ void by_columns(const Arguments<T, Out> &given, size_t batch) {
    constexpr unsigned COUNT = Elements<T>::COUNT;
    // The places of a wave's sums of the lanes' element i, and of the next one, chosen so that 32 neighbouring rows, which 32 / COUNT
    // lanes have, use all 32 banks of LDS.
    constexpr unsigned PITCH = WAVE + 32 / COUNT;
    __shared__ sum_t<T> partial[WAVES][PITCH * COUNT];
    const unsigned lane = threadIdx.x % WAVE, wave = wave_index();
    for (size_t row0 = static_cast<size_t>(blockIdx.x) * WAVE * COUNT; row0 < read_again(given).shape.rows;
         row0 += static_cast<size_t>(gridDim.x) * WAVE * COUNT) {
        const Arguments<T, Out> &from = read_again(given);
        const Shape &shape = from.shape;
        const T *w = from.w + batch * shape.w_batch, *x = from.x + batch * shape.x_batch;
        const size_t row = row0 + lane * COUNT;
        const bool aligned = NVIDIA && (reinterpret_cast<size_t>(w) | shape.w_stride * sizeof(T)) % 16 == 0;
        sum_t<T> sums[MOST_VECTORS][COUNT] = {};
        if (row < shape.rows) {
            const unsigned left = shape.rows - static_cast<unsigned>(row);
#pragma unroll 2
            for (size_t d = wave; d < shape.depth; d += WAVES) {
                Elements<T> column;
                const T *at = w + d * shape.w_stride + row;
                if (left >= COUNT && aligned)
                    column.template read<true>(at);
                else if (left >= COUNT)
                    column.read(at);
                else
                    column.read_first(at, left);
#pragma unroll
                for (unsigned j = 0; j < MOST_VECTORS; ++j) {
                    if (j >= shape.vectors)
                        break;
                    const sum_t<T> factor = convert<sum_t<T>>(x[j * shape.x_stride + d * shape.x_step]);
#pragma unroll
                    for (unsigned i = 0; i < COUNT; ++i)
                        sums[j][i] = multiply_add(column.x[i], factor, sums[j][i]);
                }
            }
        }
#pragma unroll
        for (unsigned j = 0; j < MOST_VECTORS; ++j) {
            const Arguments<T, Out> &now = read_again(given);
            const Shape &shape = now.shape;
            if (j >= shape.vectors)
                break;
            __syncthreads();
#pragma unroll
            for (unsigned i = 0; i < COUNT; ++i)
                partial[wave][i * PITCH + lane] = sums[j][i];
            __syncthreads();
            Out *y = now.y + batch * shape.y_batch + j * shape.y_stride;
            for (unsigned i = threadIdx.x; i < WAVE * COUNT && row0 + i < shape.rows; i += THREADS) {
                sum_t<T> sum = 0;
                for (unsigned from = 0; from < WAVES; ++from)
                    sum += partial[from][i % COUNT * PITCH + i / COUNT];
                write(y + (row0 + i) * shape.y_step, now.alpha, sum, now.beta);
            }
        }
    }
}

template <typename T, typename Out> __device__ __forceinline__ void gemv(const Arguments<T, Out> &given) {
    let_next_begin();
    wait_for_previous();
    // A grid has at most 65,535 blocks in its second dimension.
    for (size_t batch = blockIdx.y; batch < read_again(given).shape.batches; batch += gridDim.y) {
        if (read_again(given).shape.by_columns)
            by_columns(given, batch);
        else if constexpr (NVIDIA) {
            const Shape &shape = given.shape;
            const size_t places = reinterpret_cast<size_t>(given.w) | reinterpret_cast<size_t>(given.x) |
                                  (shape.w_stride | shape.x_stride | shape.w_batch | shape.x_batch) * sizeof(T);
            if (places % 16 != 0)
                by_rows<false, MOST_VECTORS>(given, batch);
            else if (shape.vectors == 1)
                shape.rows < MANY ? by_rows_together<1>(given, batch) : by_rows<true, 1>(given, batch);
            else
                shape.rows < MANY ? by_rows_together<MOST_VECTORS>(given, batch) : by_rows<true, MOST_VECTORS>(given, batch);
        } else
            by_rows<false, MOST_VECTORS>(given, batch);
    }
}

#define GEMV(T, OUT, NAME)                                                                                             \
    extern "C" __global__ BLOCKS_OF(THREADS, BUSY) void gemv_##NAME(const Shape shape, const sum_t<T> alpha, const T *w, const T *x, \
                                                                      const sum_t<T> beta, OUT *y) {                   \
        gemv(Arguments<T, OUT>{shape, alpha, w, x, beta, y});                                                          \
    }                                                                                                                  \
    OVERLAPS(gemv_##NAME)
// The product of one vector with a batch of one matrix by rows without gaps, for launches with shared memory on sm_90 and later.
#if !defined(__AMDGCN__)
#define GEMV_STREAM(T, OUT, NAME)                                                                                      \
    extern "C" __global__ BLOCKS_OF(row_stream::ALL_THREADS, 2) void gemv_stream_##NAME(                               \
        const Shape shape, const sum_t<T> alpha, const T *w, const T *x, const sum_t<T> beta, OUT *y) {                \
        if (can_stream_rows(w, x, shape.depth))                                                                        \
            return stream_rows(w, x, shape.rows, shape.depth, shape.settled != 0,                                      \
                               [=](unsigned row, sum_t<T> sum) { write(y + row * shape.y_step, alpha, sum, beta); });  \
        let_next_begin();                                                                                              \
        wait_for_previous();                                                                                           \
        if (threadIdx.x < THREADS)                                                                                     \
            by_rows<false, 1>(Arguments<T, OUT>{shape, alpha, w, x, beta, y}, 0);                                          \
    }                                                                                                                  \
    OVERLAPS(gemv_stream_##NAME)
#else
#define GEMV_STREAM(T, OUT, NAME)
#endif
#define GEMVS(T, OUT, NAME)                                                                                            \
    GEMV(T, OUT, NAME)                                                                                                 \
    GEMV_STREAM(T, OUT, NAME)
GEMVS(float, float, f32)
GEMVS(__half, __half, f16)
GEMVS(__nv_bfloat16, __nv_bfloat16, bf16)
GEMVS(int8_t, int, i8)
GEMVS(f8_e4m3, float, f8_e4m3)

// W has rows of 4-bit numbers: a lane reads 32 of them, which share a scale.
template <typename T> __device__ __forceinline__ void int4_rows(const Int4Arguments<T> &given) {
    constexpr unsigned COUNT = 32;
    const unsigned lane = threadIdx.x % WAVE;
    for (size_t row0 = (static_cast<size_t>(blockIdx.x) * WAVES + wave_index()) * ROWS; row0 < read_again(given).shape.rows;
         row0 += static_cast<size_t>(gridDim.x) * WAVES * ROWS) {
        const Int4Arguments<T> &from = read_again(given);
        const Shape &shape = from.shape;
        const Int4Matrix<T> w = {from.w, from.scales, from.zeros, shape.rows, shape.depth, from.group_shift};
        float sums[MOST_VECTORS][ROWS] = {};
#pragma unroll 1
        for (unsigned d = lane * COUNT; d < shape.depth; d += WAVE * COUNT) {
            unsigned numbers[ROWS][COUNT / 8];
            float scale[ROWS], zero[ROWS];
#pragma unroll
            for (unsigned r = 0; r < ROWS; ++r) {
                const unsigned row = min(static_cast<unsigned>(row0) + r, shape.rows - 1);
                const size_t group = w.group(row, d);
                read_dwords<4>(numbers[r], w.place(row, d));
                scale[r] = load(w.scales + group);
                zero[r] = w.zero(group);
            }
            float part[MOST_VECTORS][ROWS] = {};
            // Converts as many numbers to floats at once as the registers allow.
#pragma unroll
            for (unsigned half = 0; half < COUNT; half += COUNT / 2)
#pragma unroll
                for (unsigned j = 0; j < MOST_VECTORS; ++j) {
                    if (j >= shape.vectors)
                        break;
#pragma unroll
                    for (unsigned i = half; i < half + COUNT / 2; i += 8) {
                        Elements<T> vector;
                        vector.read(from.x + j * shape.x_stride + d + i);
#pragma unroll
                        for (unsigned e = 0; e < 8; ++e)
#pragma unroll
                            for (unsigned r = 0; r < ROWS; ++r)
                                part[j][r] = fmaf(static_cast<float>(numbers[r][i / 8] >> 4 * e & 15u) - zero[r], vector.x[e], part[j][r]);
                    }
                }
#pragma unroll
            for (unsigned j = 0; j < MOST_VECTORS; ++j)
#pragma unroll
                for (unsigned r = 0; r < ROWS; ++r)
                    sums[j][r] = fmaf(scale[r], part[j][r], sums[j][r]);
        }
        finish(given, 0, sums, row0);
    }
}

#define GEMV_INT4(T, NAME)                                                                                             \
    extern "C" __global__ __launch_bounds__(THREADS) void gemv_int4_##NAME(                                             \
        const Shape shape, const unsigned group_shift, const float alpha, const uint8_t *w, const T *scales, const T *zeros, const T *x, \
        const float beta, T *y) {                                                                                      \
        int4_rows(Int4Arguments<T>{shape, group_shift, alpha, w, scales, zeros, x, beta, y});                          \
    }
GEMV_INT4(__half, f16)
GEMV_INT4(__nv_bfloat16, bf16)
