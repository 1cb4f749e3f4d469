// What the attention kernels are told, and what of it a workgroup computes.
#pragma once
#include "attention.cuh"

constexpr unsigned THREADS = 256;
// Rows of a workgroup.
constexpr unsigned ROWS = 128;
// Dimensions of a result, and of keys in LDS at a time.
constexpr unsigned DIM = 128;
constexpr float LOG2_E = 1.44269504088896340736f;

constexpr unsigned QUERY_BYTES = 128;
// The largest weight is 2 to the power of this, so that small ones are normal numbers in f16.
constexpr float WEIGHT_BITS = 15.0f;

enum Flags : unsigned { CAUSAL = 1, QUERIES_ARE_LAST = 2 };

struct Strides {
    // Elements from one sequence (block of a paged cache), head and position to the next.
    size_t batch, head, row;
};

struct Shape {
    unsigned batches, kv_heads, group, q_len, kv_len, dim;
    // Keys are shared by this many workgroups, each of which takes this many; the next as many compute the next dimensions.
    unsigned splits, split_keys;
    unsigned flags;
    // The position of the first query among the keys, unless the queries are the last positions.
    int q_position;
    // A query sees this many keys at most, its own position's included; 0: all.
    unsigned window;
    Stored stored;
    // Of a paged cache: keys of a block, blocks there are, entries of a sequence's table.
    unsigned block_size, blocks, table_length;
    float scale;
    // Scores are limited to this by a hyperbolic tangent; 0: they are not.
    float soft_cap;
    unsigned unused;
    Strides q, k, v, o, k_scales, v_scales;
};

__device__ __forceinline__ float exp2_of(float x) {
#if defined(__AMDGCN__)
    return __builtin_amdgcn_exp2f(x);
#else
    return exp2f(x);
#endif
}

__device__ __forceinline__ float reciprocal(float x) {
#if defined(__AMDGCN__)
    return __builtin_amdgcn_rcpf(x);
#else
    return 1.0f / x;
#endif
}

// The kernel's parameters, in their order.
template <typename T> struct Arguments {
    Shape shape;
    const T *q;
    const void *k, *v;
    const float *k_scales, *v_scales;
    // Of each sequence, or null.
    const unsigned *kv_lens;
    const unsigned *tables;
    // Of each head, or null.
    const float *slopes;
    T *o;
    // For each split, row by row: the row's result, and after all of them the logarithm of its sum.
    float *partial;
};

template <typename T>
__device__ __forceinline__ Cache cache_of(const Arguments<T> &from, bool values, unsigned batch, unsigned head, unsigned last) {
    const Shape &shape = from.shape;
    const void *at = values ? from.v : from.k;
    const float *scales = values ? from.v_scales : from.k_scales;
    const Strides &strides = values ? shape.v : shape.k, &scale_strides = values ? shape.v_scales : shape.k_scales;
    Cache cache;
    const unsigned bytes = shape.stored == STORED_AS_QUERIES ? sizeof(T) : 1;
    const bool paged = from.tables != nullptr;
    cache.at = static_cast<const char *>(at) + (head * strides.head + (paged ? 0 : batch * strides.batch)) * bytes;
    cache.row = strides.row;
    cache.block = strides.batch;
    cache.table = paged ? from.tables + static_cast<size_t>(batch) * shape.table_length : nullptr;
    cache.block_size = shape.block_size;
    cache.blocks = shape.blocks;
    cache.scales = scales == nullptr ? nullptr : scales + head * scale_strides.head + (paged ? 0 : batch * scale_strides.batch);
    cache.scale_row = scale_strides.row;
    cache.scale_block = scale_strides.batch;
    cache.last = last;
    return cache;
}

// A workgroup's first dimension, and its split: of 256 dimensions, those of the second half are the grid's second half.
__device__ __forceinline__ unsigned dim0_of(const Shape &shape) { return blockIdx.z < shape.splits ? 0 : DIM; }
__device__ __forceinline__ unsigned split_of(const Shape &shape) { return blockIdx.z < shape.splits ? blockIdx.z : blockIdx.z - shape.splits; }
// The dimensions that it computes.
__device__ __forceinline__ unsigned out_dims_of(const Shape &shape) { return min(shape.dim - dim0_of(shape), DIM); }
// A further score of a row's head, as an exponent of 2, that takes part in the softmax and has no value. -∞ without `sinks`.
__device__ __forceinline__ float sink_of(const Shape &shape, const float *sinks, size_t row) {
    const unsigned rows = shape.group * shape.q_len;
    return sinks == nullptr ? -INFINITY : sinks[row / rows % shape.kv_heads * shape.group + row % rows % shape.group] * LOG2_E;
}
