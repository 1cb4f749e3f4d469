// C = A B for square row-major matrices whose side is a multiple of 64, in three ways. Each element's products are summed
// in the same order in all of them.

// One element per work-item, operands from global memory.
extern "C" __global__ __launch_bounds__(256) void gemm_naive(unsigned n, const float *a, const float *b, float *c) {
    const unsigned column = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned row = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0.0f;
    for (unsigned k = 0; k < n; ++k)
        sum = fmaf(a[row * n + k], b[k * n + column], sum);
    c[row * n + column] = sum;
}

constexpr unsigned SIDE = 16;

// One element per work-item, operands from a tile in LDS.
extern "C" __global__ __launch_bounds__(256) void gemm_lds(unsigned n, const float *a, const float *b, float *c) {
    __shared__ float a_tile[SIDE][SIDE];
    __shared__ float b_tile[SIDE][SIDE];
    const unsigned tx = threadIdx.x, ty = threadIdx.y;
    const unsigned column = blockIdx.x * SIDE + tx;
    const unsigned row = blockIdx.y * SIDE + ty;
    float sum = 0.0f;
    for (unsigned k0 = 0; k0 < n; k0 += SIDE) {
        a_tile[ty][tx] = a[row * n + k0 + tx];
        b_tile[ty][tx] = b[(k0 + ty) * n + column];
        __syncthreads();
        for (unsigned k = 0; k < SIDE; ++k)
            sum = fmaf(a_tile[ty][k], b_tile[k][tx], sum);
        __syncthreads();
    }
    c[row * n + column] = sum;
}

constexpr unsigned TILE = 64;
constexpr unsigned DEPTH = 16;
constexpr unsigned PER_ITEM = TILE / SIDE;

// A block of 4 by 4 elements per work-item in registers, operands from a tile in LDS.
extern "C" __global__ __launch_bounds__(256) void gemm_register(unsigned n, const float *a, const float *b, float *c) {
    __shared__ float a_tile[DEPTH][TILE];
    __shared__ float b_tile[DEPTH][TILE];
    const unsigned tx = threadIdx.x, ty = threadIdx.y;
    const unsigned item = ty * SIDE + tx;
    const unsigned column0 = blockIdx.x * TILE, row0 = blockIdx.y * TILE;
    float sum[PER_ITEM][PER_ITEM] = {};
    for (unsigned k0 = 0; k0 < n; k0 += DEPTH) {
        for (unsigned i = item; i < TILE * DEPTH; i += SIDE * SIDE) {
            a_tile[i % DEPTH][i / DEPTH] = a[(row0 + i / DEPTH) * n + k0 + i % DEPTH];
            b_tile[i / TILE][i % TILE] = b[(k0 + i / TILE) * n + column0 + i % TILE];
        }
        __syncthreads();
        for (unsigned k = 0; k < DEPTH; ++k) {
            float x[PER_ITEM], y[PER_ITEM];
            for (unsigned i = 0; i < PER_ITEM; ++i) {
                x[i] = a_tile[k][ty * PER_ITEM + i];
                y[i] = b_tile[k][tx * PER_ITEM + i];
            }
            for (unsigned i = 0; i < PER_ITEM; ++i)
                for (unsigned j = 0; j < PER_ITEM; ++j)
                    sum[i][j] = fmaf(x[i], y[j], sum[i][j]);
        }
        __syncthreads();
    }
    for (unsigned i = 0; i < PER_ITEM; ++i)
        for (unsigned j = 0; j < PER_ITEM; ++j)
            c[(row0 + ty * PER_ITEM + i) * n + column0 + tx * PER_ITEM + j] = sum[i][j];
}
