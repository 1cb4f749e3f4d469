#pragma once
#include "../core/types.cuh"
// Where an element is of a tensor with strides; the last dimension is the quickest.
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
