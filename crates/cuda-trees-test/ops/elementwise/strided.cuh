#pragma once
#include "../core/types.cuh"
// The position of an element in a strided tensor; the last dimension is the fastest.
template <int Rank> __device__ __forceinline__ unsigned offset_of(unsigned i, const Strides<Rank> &s) {
    unsigned offset = 0;
#pragma unroll
    for (int d = Rank - 1; d >= 0; --d) {
        offset += i % s.sizes[d] * s.steps[d];
        i /= s.sizes[d];
    }
    return offset;
}
template <typename T, typename F> __device__ void map_strided(unsigned n, const T *__restrict__ x, T *__restrict__ y, Strides<3> s, F f) {
    GRID_STRIDE(i, n)
        y[i] = to<T>(f(to<compute_t<T>>(__ldg(x + offset_of(i, s)))));
}
