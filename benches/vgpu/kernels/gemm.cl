__kernel void gemm_naive(uint n, __global const float *a, __global const float *b, __global float *c) {
    const uint column = get_global_id(0);
    const uint row = get_global_id(1);
    float sum = 0.0f;
    for (uint k = 0; k < n; ++k)
        sum = fma(a[row * n + k], b[k * n + column], sum);
    c[row * n + column] = sum;
}

#define SIDE 16

__kernel void gemm_lds(uint n, __global const float *a, __global const float *b, __global float *c) {
    __local float a_tile[SIDE][SIDE];
    __local float b_tile[SIDE][SIDE];
    const uint tx = get_local_id(0), ty = get_local_id(1);
    const uint column = get_group_id(0) * SIDE + tx;
    const uint row = get_group_id(1) * SIDE + ty;
    float sum = 0.0f;
    for (uint k0 = 0; k0 < n; k0 += SIDE) {
        a_tile[ty][tx] = a[row * n + k0 + tx];
        b_tile[ty][tx] = b[(k0 + ty) * n + column];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint k = 0; k < SIDE; ++k)
            sum = fma(a_tile[ty][k], b_tile[k][tx], sum);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[row * n + column] = sum;
}

#define TILE 64
#define DEPTH 16
#define PER_ITEM (TILE / SIDE)

__kernel void gemm_register(uint n, __global const float *a, __global const float *b, __global float *c) {
    __local float a_tile[DEPTH][TILE];
    __local float b_tile[DEPTH][TILE];
    const uint tx = get_local_id(0), ty = get_local_id(1);
    const uint item = ty * SIDE + tx;
    const uint column0 = get_group_id(0) * TILE, row0 = get_group_id(1) * TILE;
    float sum[PER_ITEM][PER_ITEM] = {{0.0f}};
    for (uint k0 = 0; k0 < n; k0 += DEPTH) {
        for (uint i = item; i < TILE * DEPTH; i += SIDE * SIDE) {
            a_tile[i % DEPTH][i / DEPTH] = a[(row0 + i / DEPTH) * n + k0 + i % DEPTH];
            b_tile[i / TILE][i % TILE] = b[(k0 + i / TILE) * n + column0 + i % TILE];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint k = 0; k < DEPTH; ++k) {
            float x[PER_ITEM], y[PER_ITEM];
            for (uint i = 0; i < PER_ITEM; ++i) {
                x[i] = a_tile[k][ty * PER_ITEM + i];
                y[i] = b_tile[k][tx * PER_ITEM + i];
            }
            for (uint i = 0; i < PER_ITEM; ++i)
                for (uint j = 0; j < PER_ITEM; ++j)
                    sum[i][j] = fma(x[i], y[j], sum[i][j]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (uint i = 0; i < PER_ITEM; ++i)
        for (uint j = 0; j < PER_ITEM; ++j)
            c[(row0 + ty * PER_ITEM + i) * n + column0 + tx * PER_ITEM + j] = sum[i][j];
}
