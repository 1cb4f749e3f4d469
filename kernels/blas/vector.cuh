// Vectors with increments.
#pragma once
#include "number.cuh"

constexpr unsigned THREADS = 256;

// `Vector` of crates/blas-on-kernels/src/vector.rs.
struct Vector {
    Memory operand;
    int64_t step; // from one element to the next
};
template <typename T> struct Elements {
    void *p;
    int64_t step;
    unsigned type;

    __device__ __forceinline__ Elements(const Vector &v, size_t batch) : p(v.operand.of(batch)), step(v.step), type(v.operand.type) {}
    __device__ __forceinline__ T get(int64_t i) const { return read<T>(p, type, i * step); }
    __device__ __forceinline__ void set(int64_t i, T x) const { write<T>(p, type, i * step, x); }
};
