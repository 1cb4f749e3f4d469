#pragma once
#include "../../core/types.cuh"
namespace act {
struct Silu {
    template <typename C> __device__ C operator()(C x) const { return x / (C(1) + exp(-x)); }
};
struct GeluErf {
    template <typename C> __device__ C operator()(C x) const { return x * normcdf(x); }
    __device__ float operator()(float x) const { return x * normcdff(x); }
};
struct Softplus {
    template <typename C> __device__ C operator()(C x) const { return fmax(x, C(0)) + log1p(exp(-fabs(x))); }
};
// Parameters are part of the functor.
template <int Numerator, int Denominator> struct Leaky {
    static constexpr float slope = static_cast<float>(Numerator) / Denominator;
    template <typename C> __device__ C operator()(C x) const { return x < C(0) ? x * C(slope) : x; }
};
// One after the other.
template <typename... F> struct Chain {
    template <typename C> static __device__ C apply(C x) {
        ((x = F{}(x)), ...);
        return x;
    }
    template <typename C> __device__ C operator()(C x) const { return apply(x); }
};
} // namespace act
