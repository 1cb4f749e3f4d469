// A wave's tile of a product of matrices.
#pragma once
#include "../staging.cuh"
#include "float8.cuh"

constexpr unsigned ADDERS = 256;

// `Activation` of crates/blas-on-kernels/src/gemm/matmul.rs.
enum Activation : unsigned { NONE, RELU, GELU, SILU, SIGMOID };

// `Shape` of crates/blas-on-kernels/src/gemm/matmul.rs.
struct Shape {
    unsigned rows, columns, depth, batches;
    // The number of waves that share the depth, and the depth of their parts. The parts of all batches are counted in 32 bits.
    unsigned parts, part;
    Memory a, b, c, d;
    // The distance from one row of A or column of B to the next, or, where they lie `across`, from one place in the depth to the next; and
    // from one column of C and D to the next.
    size_t a_stride, b_stride, c_stride, d_stride;
    unsigned a_across, b_across;
    Factor alpha, beta;
    // Sums of each part of the depth and product of the batch, by columns, instead of D.
    void *partial;
    // The bias added to D's columns, of `bias_type`, and the function then applied to each element.
    const void *bias;
    unsigned bias_type, activation;
};

template <typename T> struct Epilogue {
    T alpha, beta;

    __device__ __forceinline__ explicit Epilogue(const Shape &shape) : alpha(value<T>(shape.alpha)), beta(value<T>(shape.beta)) {}

    static __device__ __forceinline__ bool plain(const Shape &shape) { return shape.bias == nullptr && shape.activation == NONE; }

    // Whether D is C unchanged: then nothing is read or written.
    __device__ __forceinline__ bool changes_nothing(const Shape &shape) const {
        return alpha == 0 && beta == 1 && shape.c.at == shape.d.at && plain(shape);
    }

    // Writes an element of D from its sum.
    __device__ __forceinline__ void finish(const Shape &shape, const void *c, void *d, size_t row, size_t column, T sum) const {
        T x = alpha * sum;
        // beta = 0 must not read C: it may hold anything, NaN included
        if (beta != 0)
            x += beta * read_any<T>(c, shape.c.type, column * shape.c_stride + row);
        if constexpr (std::is_same_v<T, float>) {
            if (shape.bias != nullptr)
                x += read<float>(shape.bias, shape.bias_type, row);
            if (shape.activation != NONE)
                x = activated(shape.activation, x);
        }
        write_any<T>(d, shape.d.type, column * shape.d_stride + row, x);
    }

    static __device__ __forceinline__ float activated(unsigned activation, float x) {
        if (activation == RELU)
            return x > 0 || x != x ? x : 0;
        // 2 sqrt(2 / pi): the tanh of GELU, expressed with the logistic function
        const float at = activation == GELU ? 1.5957691216057308f * (x + 0.044715f * x * x * x) : x;
        const float logistic = 1 / (1 + expf(-at));
        return activation == SIGMOID ? logistic : x * logistic;
    }
};

// A product of the batch, and a part of its depth.
struct DepthPart {
    unsigned product, batch, first, last;

    __device__ __forceinline__ DepthPart(const Shape &shape, unsigned depth) : product(blockIdx.z), batch(product), first(0), last(depth) {
        if (shape.parts == 1)
            return;
        batch = product / shape.parts;
        first = min((product - batch * shape.parts) * shape.part, depth);
        last = min(first + shape.part, depth);
    }
    // Where the sums of this part go, if others have parts, too.
    template <typename Number> __device__ __forceinline__ Number *partial(const Shape &shape) const {
        return uniform(static_cast<Number *>(shape.partial)) + static_cast<size_t>(product) * shape.columns * shape.rows;
    }
};

template <typename Number> struct Two {
    Number first, second;
};

// Stores neighbours of a column to memory with the elements' alignment.
template <typename Out, typename Number, unsigned COUNT> __device__ __forceinline__ void write_run(Out *at, const Number (&x)[COUNT]) {
    constexpr unsigned CHUNK = 16 / sizeof(Out);
    static_assert(COUNT % CHUNK == 0, "whole chunks");
#pragma unroll
    for (unsigned i = 0; i < COUNT; i += CHUNK) {
        Chunk chunk;
        if constexpr (sizeof(Out) == 8)
            chunk = bits_as<Chunk>(Two<Number>{x[i], x[i + 1]});
        else if constexpr (sizeof(Out) == sizeof(Number))
            chunk = {bits_as<unsigned>(x[i]), bits_as<unsigned>(x[i + 1]), bits_as<unsigned>(x[i + 2]), bits_as<unsigned>(x[i + 3])};
        else
            chunk = packed_chunk<Out>(x + i);
#if defined(__AMDGCN__)
        typedef unsigned Dwords __attribute__((ext_vector_type(4), aligned(1)));
        *reinterpret_cast<Dwords *>(at + i) = Dwords{chunk.x[0], chunk.x[1], chunk.x[2], chunk.x[3]};
#else
        memcpy(at + i, chunk.x, 16);
#endif
    }
}

// Four neighbours, of a type that is known at run time.
template <typename Number> __device__ __forceinline__ void write_four(void *d, unsigned type, size_t at, const Number (&x)[4]) {
    if constexpr (sizeof(Number) == 8) {
        write_run(static_cast<Number *>(d) + at, x);
    } else {
        unsigned dwords[4] = {bits_as<unsigned>(x[0]), bits_as<unsigned>(x[1]), bits_as<unsigned>(x[2]), bits_as<unsigned>(x[3])};
        if constexpr (std::is_same_v<Number, float>) {
            if (type == F16 || type == BF16) {
                dwords[0] = type == F16 ? packed<__half>(x[0], x[1]) : packed<__nv_bfloat16>(x[0], x[1]);
                dwords[1] = type == F16 ? packed<__half>(x[2], x[3]) : packed<__nv_bfloat16>(x[2], x[3]);
                memcpy(static_cast<__half *>(d) + at, dwords, 8);
                return;
            }
            if (type == F8 || type == BF8) {
                for (unsigned i = 0; i < 4; ++i)
                    write_any<Number>(d, type, at + i, x[i]);
                return;
            }
        }
        memcpy(static_cast<Number *>(d) + at, dwords, 16);
    }
}

// The type in which unconverted sums are written.
template <typename Number> constexpr unsigned TYPE_OF = F32;
template <> constexpr unsigned TYPE_OF<int> = I32;
template <> constexpr unsigned TYPE_OF<double> = F64;

template <unsigned WANTED, unsigned LEAST> constexpr unsigned AT_LEAST = WANTED < LEAST ? LEAST : WANTED;
template <unsigned X, unsigned Y> constexpr unsigned LESSER = X < Y ? X : Y;

// The row within its block of `SIDE` that a lane's row of A has, chosen so that the lane's elements of a column of D
// are neighbours.
template <typename M> __device__ __forceinline__ unsigned row_of(unsigned lane) {
#if defined(MATRIX_MFMA)
    if constexpr (M::ROWS == 16)
        return lane % 4 * 4 + lane % 16 / 4;
    return lane / 4 % 2 * 16 + lane % 32 / 8 * 4 + lane % 4;
#elif defined(MATRIX_WMMA_GFX12)
    return lane % 16;
#else
    return lane % 2 * 8 + lane % 16 / 2;
#endif
}

template <typename T, unsigned WANTED_ROWS, unsigned WANTED_COLUMNS, bool A_DIRECT, bool B_DIRECT> struct Tile {
    using M = Matrix<T, 8, WANTED_COLUMNS / 8>;
    using Number = sum_t<T>;
    // Whether the target has matrix instructions for it, so that a lane sums one column of each block.
    static constexpr bool BLOCKS = M::LANE_COLUMNS == 1;
    static constexpr bool A_READ = A_DIRECT && BLOCKS, B_READ = B_DIRECT && BLOCKS;
    static constexpr unsigned ROWS = AT_LEAST<WANTED_ROWS, M::ROWS>, COLUMNS = AT_LEAST<WANTED_COLUMNS, M::COLUMNS>;
    static constexpr unsigned DOWN = ROWS / M::ROWS, ACROSS = COLUMNS / M::COLUMNS;
    static constexpr unsigned CHUNK = 16 / sizeof(T);
    // The depth that passes through LDS at once: at least four chunks for each lane, and for each row.
    static constexpr unsigned DEPTH = AT_LEAST<4 * WAVE * CHUNK / LESSER<ROWS, COLUMNS>, 4 * CHUNK>;
    using AStage = Staging<T, ROWS, DEPTH, WAVE>;
    using BStage = Staging<T, COLUMNS, DEPTH, WAVE>;
    // The remaining depth.
    static constexpr unsigned REST_PITCH = M::DEPTH + CHUNK;
    static constexpr unsigned A_PITCH = A_READ ? REST_PITCH : AStage::PITCH, B_PITCH = B_READ ? REST_PITCH : BStage::PITCH;
    static constexpr unsigned STAGED = (ROWS * A_PITCH + COLUMNS * B_PITCH) * sizeof(T);
    // Sums about to be finished: the columns of a block.
    static constexpr unsigned SUMS_PITCH = M::ROWS + 4;
    static constexpr unsigned BYTES = AT_LEAST<STAGED, M::COLUMNS * SUMS_PITCH * sizeof(Number)>;

    typename M::Sums sums[DOWN][ACROSS];

    static __device__ __forceinline__ unsigned a_row(unsigned lane) {
        if constexpr (BLOCKS)
            return row_of<M>(lane);
        else
            return M::a_row(lane);
    }

    // An operand that lies along the depth: where the lane's row of each block begins.
    template <unsigned COUNT, unsigned SIDE> struct Read {
        const char *at;
        unsigned offset[COUNT];

        __device__ __forceinline__ Read(const Operand<T> &from, unsigned row0, unsigned row, unsigned depth, unsigned lane_depth)
            : at(reinterpret_cast<const char *>(from.at + row0 * from.stride + depth)) {
#pragma unroll
            for (unsigned i = 0; i < COUNT; ++i)
                offset[i] = ((min(row0 + i * SIDE + row, from.rows - 1) - row0) * static_cast<unsigned>(from.stride) + lane_depth) * sizeof(T);
        }
        // Where the lane's row of a block is.
        __device__ __forceinline__ const T *row(unsigned i) const { return reinterpret_cast<const T *>(at + lane_offset(offset[i])); }
        __device__ __forceinline__ void go(unsigned depth) { at += depth * sizeof(T); }
    };

    static __device__ __forceinline__ typename M::B piece_at(const T *at) {
        typename M::B piece;
        M::read_b(piece, 0, at);
#pragma unroll
        for (unsigned d = 0; d < sizeof(piece) / 4; ++d)
            piece[d] = as_operand<T>(piece[d]);
        return piece;
    }

    // Multiplies the data read, in this many steps.
    template <unsigned STEPS, typename A, typename B> __device__ __forceinline__ void read_steps(A &a, B &b) {
        const T *rows[DOWN], *columns[ACROSS];
#pragma unroll
        for (unsigned i = 0; i < DOWN; ++i)
            rows[i] = a.row(i);
#pragma unroll
        for (unsigned j = 0; j < ACROSS; ++j)
            columns[j] = b.row(j);
#pragma unroll
        for (unsigned step = 0; step < STEPS; ++step) {
            typename M::A left[DOWN];
            typename M::B right[ACROSS];
#pragma unroll
            for (unsigned i = 0; i < DOWN; ++i)
                left[i] = piece_at(rows[i] + step * M::DEPTH);
#pragma unroll
            for (unsigned j = 0; j < ACROSS; ++j)
                right[j] = piece_at(columns[j] + step * M::DEPTH);
            multiply(left, right);
        }
        a.go(STEPS * M::DEPTH), b.go(STEPS * M::DEPTH);
    }

    // Copies the rest of an operand; zeros stand for elements beyond it.
    static __device__ __forceinline__ void rest(const Operand<T> &from, unsigned row0, unsigned rows, unsigned depth0, T *tile, unsigned pitch) {
        using Bits = typename BitsOf<sizeof(T)>::type;
        Bits *target = reinterpret_cast<Bits *>(tile);
#pragma unroll 1
        for (unsigned i = threadIdx.x; i < rows * M::DEPTH; i += WAVE) {
            const unsigned row = from.by_columns ? i % rows : i / M::DEPTH, depth = from.by_columns ? i / rows : i % M::DEPTH;
            const size_t at = from.by_columns ? (depth0 + depth) * from.stride + (row0 + row) : (row0 + row) * from.stride + (depth0 + depth);
            target[row * pitch + depth] = row0 + row < from.rows && depth0 + depth < from.depth ? element<T>(from.at[at]) : Bits(0);
        }
    }

    __device__ __forceinline__ void multiply(const T *a_piece, const T *b_piece, unsigned depth) {
        typename M::A left[DOWN];
        typename M::B right[ACROSS];
#pragma unroll
        for (unsigned i = 0; i < DOWN; ++i)
            left[i] = M::load_a(a_piece + i * M::ROWS * A_PITCH + depth, A_PITCH);
#pragma unroll
        for (unsigned j = 0; j < ACROSS; ++j)
            right[j] = M::load_b(b_piece + j * M::COLUMNS * B_PITCH + depth, B_PITCH);
        multiply(left, right);
    }
    __device__ __forceinline__ void multiply(const typename M::A (&left)[DOWN], const typename M::B (&right)[ACROSS]) {
#pragma unroll
        for (unsigned i = 0; i < DOWN; ++i)
#pragma unroll
            for (unsigned j = 0; j < ACROSS; ++j)
                M::multiply(sums[i][j], left[i], right[j]);
    }

    // Sums the products of the depth from `first` to `last`, which is the operands' end or a multiple of DEPTH after `first`.
    __device__ __forceinline__ void sum(const Operand<T> &a, const Operand<T> &b, unsigned row0, unsigned column0, unsigned first, unsigned last,
                                        T *tiles) {
        const unsigned lane = threadIdx.x;
        T *a_tile = tiles, *b_tile = tiles + ROWS * A_PITCH;
        const T *a_piece = a_tile + a_row(lane) * A_PITCH + M::depth(lane), *b_piece = b_tile + M::b_column(lane) * B_PITCH + M::depth(lane);
        unsigned depth = first;
        if constexpr (BLOCKS) {
            Read<DOWN, M::ROWS> a_read(a, row0, a_row(lane), first, M::depth(lane));
            Read<ACROSS, M::COLUMNS> b_read(b, column0, M::b_column(lane), first, M::depth(lane));
            if constexpr (A_READ && B_READ) {
                constexpr unsigned STEPS = DOWN * ACROSS < 4 ? 4 : 2;
#pragma unroll 1
                for (; last - depth >= STEPS * M::DEPTH; depth += STEPS * M::DEPTH)
                    read_steps<STEPS>(a_read, b_read);
#pragma unroll 1
                for (; last - depth >= M::DEPTH; depth += M::DEPTH)
                    read_steps<1>(a_read, b_read);
            } else if (AStage::whole(a, row0) && (B_READ || BStage::whole(b, column0))) {
                AStage a_stage(a, row0);
                BStage b_stage(b, column0);
#pragma unroll 1
                for (; depth + DEPTH <= last; depth += DEPTH) {
                    a_stage.fetch(a, row0, depth);
                    if constexpr (!B_READ)
                        b_stage.fetch(b, column0, depth);
                    a_stage.store(a, a_tile);
                    if constexpr (!B_READ)
                        b_stage.store(b, b_tile);
                    wave_fence();
                    const T *columns[ACROSS];
#pragma unroll
                    for (unsigned j = 0; j < ACROSS; ++j)
                        columns[j] = b_read.row(j);
#pragma unroll
                    for (unsigned d = 0; d < DEPTH; d += M::DEPTH) {
                        if constexpr (B_READ) {
                            typename M::A left[DOWN];
                            typename M::B right[ACROSS];
#pragma unroll
                            for (unsigned i = 0; i < DOWN; ++i)
                                left[i] = M::load_a(a_piece + i * M::ROWS * A_PITCH + d, A_PITCH);
#pragma unroll
                            for (unsigned j = 0; j < ACROSS; ++j)
                                right[j] = piece_at(columns[j] + d);
                            multiply(left, right);
                        } else {
                            multiply(a_piece, b_piece, d);
                        }
                    }
                    b_read.go(DEPTH);
                    wave_fence();
                }
            }
        } else if (AStage::whole(a, row0) && BStage::whole(b, column0)) {
            AStage a_stage(a, row0);
            BStage b_stage(b, column0);
#pragma unroll 1
            for (; depth + DEPTH <= last; depth += DEPTH) {
                a_stage.fetch(a, row0, depth);
                b_stage.fetch(b, column0, depth);
                a_stage.store(a, a_tile);
                b_stage.store(b, b_tile);
                wave_fence();
#pragma unroll 2
                for (unsigned d = 0; d < DEPTH; d += M::DEPTH)
                    multiply(a_piece, b_piece, d);
                wave_fence();
            }
        }
#pragma unroll 1
        for (; depth < last; depth += M::DEPTH) {
            rest(a, row0, ROWS, depth, a_tile, A_PITCH);
            rest(b, column0, COLUMNS, depth, b_tile, B_PITCH);
            wave_fence();
            multiply(a_piece, b_piece, 0);
            wave_fence();
        }
    }

    // Writes a tile that has all its rows; elements without a column are left out.
    template <typename Out>
    __device__ __forceinline__ void write_rows(Out *at, size_t stride, unsigned columns, Number alpha) const {
        const unsigned lane = threadIdx.x;
#pragma unroll
        for (unsigned j = 0; j < ACROSS; ++j) {
            if constexpr (BLOCKS) {
                const unsigned column = j * M::COLUMNS + M::lane_column(lane);
                if (column >= columns)
                    continue;
                Out *run = at + column * stride + lane / M::COLUMN_LANES * M::SUMS;
#pragma unroll
                for (unsigned i = 0; i < DOWN; ++i) {
                    Number x[M::SUMS];
#pragma unroll
                    for (unsigned s = 0; s < M::SUMS; ++s)
                        x[s] = alpha * of_operands<T>(sums[i][j].x[s]);
                    write_run(run + i * M::ROWS, x);
                }
            } else {
#pragma unroll
                for (unsigned c = 0; c < M::LANE_COLUMNS; ++c) {
                    const unsigned column = j * M::COLUMNS + M::lane_column(lane) + M::step_column(c);
                    if (column >= columns)
                        continue;
                    Out *run = at + column * stride + M::lane_row(lane);
#pragma unroll
                    for (unsigned i = 0; i < DOWN; ++i)
#pragma unroll
                        for (unsigned s = c; s < M::SUMS; s += M::LANE_COLUMNS)
                            run[i * M::ROWS + M::step_row(s)] = convert<Out>(alpha * sums[i][j].x[s]);
                }
            }
        }
    }

    // Calls `finish` with the row, the column and the sum of each element. Sums pass through LDS so that neighbours are together.
    template <typename Finish> __device__ __forceinline__ void each(unsigned rows, unsigned columns, Number *scratch, Finish finish) const {
        const unsigned lane = threadIdx.x;
#pragma unroll 1
        for (unsigned block = 0; block < DOWN * ACROSS; ++block) {
            const unsigned row0 = block % DOWN * M::ROWS, column0 = block / DOWN * M::COLUMNS;
            if (row0 >= rows || column0 >= columns)
                continue;
#pragma unroll
            for (unsigned known = 0; known < DOWN * ACROSS; ++known) {
                if (known != block)
                    continue;
                // Where all blocks are made one, selecting among their sums costs more than they do.
#ifdef __AMDGCN__
                asm volatile("; block %0" ::"i"(known));
#endif
#pragma unroll
                for (unsigned s = 0; s < M::SUMS; ++s) {
                    const unsigned row = BLOCKS ? lane / M::COLUMN_LANES * M::SUMS + s : M::lane_row(lane) + M::step_row(s);
                    scratch[(M::lane_column(lane) + M::step_column(s)) * SUMS_PITCH + row] = of_operands<T>(sums[known % DOWN][known / DOWN].x[s]);
                }
            }
            wave_fence();
#pragma unroll 1
            for (unsigned e = lane; e < M::ROWS * M::COLUMNS; e += WAVE) {
                const unsigned row = e % M::ROWS, column = e / M::ROWS;
                if (row0 + row < rows && column0 + column < columns)
                    finish(row0 + row, column0 + column, scratch[column * SUMS_PITCH + row]);
            }
            wave_fence();
        }
    }
};

template <typename T, unsigned ROWS, unsigned COLUMNS, bool A_DIRECT, bool B_DIRECT> __device__ __forceinline__ void matmul(const Shape &shape) {
    using Number = sum_t<T>;
    using Of = Tile<T, ROWS, COLUMNS, A_DIRECT, B_DIRECT>;
    __shared__ alignas(16) unsigned char tiles[Of::BYTES];
    const Epilogue<Number> epilogue(shape);
    if (epilogue.changes_nothing(shape))
        return;
    // alpha = 0 must not read A and B
    const unsigned depth = epilogue.alpha == 0 ? 0 : shape.depth;
    const unsigned row0 = blockIdx.x * Of::ROWS, column0 = blockIdx.y * Of::COLUMNS;
    const DepthPart of(shape, depth);
    const unsigned batch = of.batch, first = of.first, last = of.last;
    Of tile = {};
    if (first < last) {
        const Operand<T> a = {uniform(static_cast<const T *>(shape.a.of(batch))), shape.rows, depth, shape.a_stride, shape.a_across != 0};
        const Operand<T> b = {uniform(static_cast<const T *>(shape.b.of(batch))), shape.columns, depth, shape.b_stride, shape.b_across != 0};
        tile.sum(a, b, row0, column0, first, last, reinterpret_cast<T *>(tiles));
    }
    const unsigned rows = min(shape.rows - row0, Of::ROWS), columns = min(shape.columns - column0, Of::COLUMNS);
    const size_t at = column0 * shape.d_stride + row0;
    const bool whole = rows == Of::ROWS;
    Number *scratch = reinterpret_cast<Number *>(tiles);
    if (shape.partial != nullptr) {
        Number *partial = of.partial<Number>(shape) + static_cast<size_t>(column0) * shape.rows + row0;
        if (whole)
            tile.write_rows(partial, shape.rows, columns, Number(1));
        else
            tile.each(rows, columns, scratch, [&](unsigned row, unsigned column, Number sum) {
                partial[static_cast<size_t>(column) * shape.rows + row] = sum;
            });
        return;
    }
    void *d = uniform(static_cast<char *>(shape.d.of(batch)));
    const bool plain = whole && epilogue.beta == 0 && Epilogue<Number>::plain(shape);
    if (plain && shape.d.type == TYPE_OF<Number>) {
        tile.write_rows(static_cast<Number *>(d) + at, shape.d_stride, columns, epilogue.alpha);
    } else if (sizeof(T) == 2 && plain && shape.d.type == shape.a.type) {
        if constexpr (sizeof(T) == 2)
            tile.write_rows(static_cast<T *>(d) + at, shape.d_stride, columns, epilogue.alpha);
    } else {
        const void *c = epilogue.beta == 0 ? nullptr : uniform(static_cast<char *>(shape.c.of(batch)));
        tile.each(rows, columns, scratch, [&](unsigned row, unsigned column, Number sum) {
            epilogue.finish(shape, c, d, row0 + row, column0 + column, sum);
        });
    }
}

// Rows and maximum columns of a wave's thin tile: `THIN` of crates/blas-on-kernels/src/gemm/matmul.rs.
constexpr unsigned THIN = 4;

// The first `count` elements of a chunk, followed by zeros.
template <typename T> __device__ __forceinline__ Chunk part_of_chunk(const T *at, unsigned count) {
    constexpr unsigned EACH = 4 / sizeof(T);
    Chunk chunk = {};
#pragma unroll
    for (unsigned i = 0; i < 4 * EACH; ++i)
        if (i < count)
            chunk.x[i / EACH] |= static_cast<unsigned>(bits_as<typename BitsOf<sizeof(T)>::type>(at[i])) << i % EACH * 8 * sizeof(T);
    return chunk;
}

// A few rows times a few columns, for targets without matrix instructions. Both lie along the depth, and the wave's lanes are side by side
// in it.
template <typename T> __device__ __forceinline__ void thin(const Shape &shape) {
    using Number = sum_t<T>;
    constexpr unsigned CHUNK = 16 / sizeof(T);
    __shared__ Number scratch[THIN * THIN];
    const Epilogue<Number> epilogue(shape);
    if (epilogue.changes_nothing(shape))
        return;
    const unsigned depth = epilogue.alpha == 0 ? 0 : shape.depth, lane = threadIdx.x, row0 = blockIdx.x * THIN;
    const DepthPart of(shape, depth);
    const unsigned batch = of.batch, first = of.first, last = of.last;
    Number sums[THIN][THIN] = {};
    if (first < last) {
        const T *a = uniform(static_cast<const T *>(shape.a.of(batch))), *b = uniform(static_cast<const T *>(shape.b.of(batch)));
        const T *rows[THIN];
#pragma unroll
        for (unsigned r = 0; r < THIN; ++r)
            rows[r] = a + min(row0 + r, shape.rows - 1) * shape.a_stride;
#pragma unroll 1
        for (unsigned at = first + lane * CHUNK; at < last; at += WAVE * CHUNK) {
            const unsigned count = last - at;
            const auto read = [&](const T *from) {
                Chunk chunk;
                if (count >= CHUNK)
                    read_dwords<4>(chunk.x, from + at);
                else
                    chunk = part_of_chunk(from + at, count);
                return chunk;
            };
            Chunk left[THIN];
#pragma unroll
            for (unsigned r = 0; r < THIN; ++r)
                left[r] = read(rows[r]);
#pragma unroll
            for (unsigned c = 0; c < THIN; ++c) {
                if (c >= shape.columns)
                    break;
                const Chunk right = read(b + c * shape.b_stride);
#pragma unroll
                for (unsigned r = 0; r < THIN; ++r)
#pragma unroll
                    for (unsigned d = 0; d < 4; ++d)
                        sums[c][r] = Dot<T>::apply(left[r].x[d], right.x[d], sums[c][r]);
            }
        }
    }
#pragma unroll
    for (unsigned c = 0; c < THIN; ++c) {
        if (c >= shape.columns)
            break;
#pragma unroll
        for (unsigned r = 0; r < THIN; ++r) {
            Number sum = sums[c][r];
#pragma unroll
            for (unsigned mask = WAVE / 2; mask > 0; mask /= 2)
                sum += bits_as<Number>(from_lane_xor(bits_as<float>(sum), mask));
            if (lane == 0)
                scratch[c * THIN + r] = sum;
        }
    }
    wave_fence();
    const unsigned row = row0 + lane % THIN, column = lane / THIN;
    if (row >= shape.rows || column >= min(shape.columns, THIN))
        return;
    if (shape.partial != nullptr) {
        of.partial<Number>(shape)[static_cast<size_t>(column) * shape.rows + row] = scratch[lane];
        return;
    }
    const void *c = epilogue.beta == 0 ? nullptr : shape.c.of(batch);
    epilogue.finish(shape, c, shape.d.of(batch), row, column, scratch[lane]);
}

// Rows of a thread that adds parts: `ADDED` of crates/blas-on-kernels/src/gemm/matmul.rs.
constexpr unsigned ADDED = 4;

// Adds the parts of the depth.
template <typename Number> __device__ __forceinline__ void add(const Shape &shape) {
    const Epilogue<Number> epilogue(shape);
    if (epilogue.changes_nothing(shape))
        return;
    const unsigned row = (blockIdx.x * ADDERS + threadIdx.x) * ADDED, column = blockIdx.y, batch = blockIdx.z;
    if (row >= shape.rows)
        return;
    const size_t all = static_cast<size_t>(shape.rows) * shape.columns;
    const Number *partial = uniform(static_cast<const Number *>(shape.partial)) + batch * shape.parts * all + static_cast<size_t>(column) * shape.rows;
    void *d = uniform(static_cast<char *>(shape.d.of(batch)));
    if (row + ADDED <= shape.rows) {
        Number sums[ADDED] = {};
#pragma unroll 1
        for (unsigned part = 0; part < shape.parts; ++part, partial += all) {
            constexpr unsigned EACH = sizeof(Number) / 4;
            unsigned x[ADDED * EACH];
            read_dwords<ADDED * EACH>(x, partial + row);
#pragma unroll
            for (unsigned i = 0; i < ADDED; ++i) {
                if constexpr (EACH == 2)
                    sums[i] += bits_as<Number>(Two<unsigned>{x[i * 2], x[i * 2 + 1]});
                else
                    sums[i] += bits_as<Number>(x[i]);
            }
        }
        if (epilogue.beta == 0 && Epilogue<Number>::plain(shape)) {
#pragma unroll
            for (unsigned i = 0; i < ADDED; ++i)
                sums[i] *= epilogue.alpha;
            write_four(d, shape.d.type, column * shape.d_stride + row, sums);
            return;
        }
        const void *c = epilogue.beta == 0 ? nullptr : uniform(static_cast<char *>(shape.c.of(batch)));
#pragma unroll
        for (unsigned i = 0; i < ADDED; ++i)
            epilogue.finish(shape, c, d, row + i, column, sums[i]);
        return;
    }
    const void *c = epilogue.beta == 0 ? nullptr : uniform(static_cast<char *>(shape.c.of(batch)));
#pragma unroll 1
    for (unsigned at = row; at < shape.rows; ++at) {
        Number sum = 0;
        for (unsigned part = 0; part < shape.parts; ++part)
            sum += partial[part * all + at];
        epilogue.finish(shape, c, d, at, column, sum);
    }
}
