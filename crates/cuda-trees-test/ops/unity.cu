// All elementwise kernels in one translation unit.
#include "core/types.cuh"
#include "core/stamp.cuh"
#include "elementwise/strided.cuh"
#include "elementwise/unary/activations.cuh"
#include "elementwise/convert.cuh"
#include "elementwise/atomics.cuh"

#define UNARY(T, NAME, ...)                                                                             \
    extern "C" __global__ void NAME(const unsigned n, const T *x, T *y, const Strides<3> strides) {    \
        map_strided(n, x, y, strides, __VA_ARGS__{});                                                   \
    }
OPS_FOR_TYPE(UNARY, silu, act::Silu)
OPS_FOR_TYPE(UNARY, gelu, act::GeluErf)
OPS_FOR_TYPE(UNARY, soft, act::Chain<act::Softplus, act::Leaky<1, 10>>)

// A compile-time table.
namespace {
struct Powers {
    float at[16];
    __host__ __device__ constexpr Powers() : at{} {
        float p = 1.0f;
        for (int i = 0; i < 16; i++, p *= 0.5f)
            at[i] = p;
    }
};
__device__ constexpr Powers powers;
__device__ constexpr std_::array<int, 4> order{2, 0, 3, 1};
} // namespace

#define LIMITS(T, NAME, ...)                                                                                                          \
    extern "C" __global__ void NAME(float *out) {                                                                                     \
        const auto scaled = [out] __device__(int i) { return powers.at[i] * order[i % 4]; };                                          \
        if (threadIdx.x < 16)                                                                                                         \
            out[threadIdx.x] = scaled(threadIdx.x);                                                                                   \
        if (threadIdx.x == 16) {                                                                                                      \
            out[16] = static_cast<float>(std_::numeric_limits<compute_t<T>>::epsilon());                                              \
            out[17] = std_::is_same_v<compute_t<T>, double> ? 2.0f : 1.0f;                                                            \
            out[18] = static_cast<float>(sizeof(T)) + (OPS_ARCH >= 890 ? 100.0f : 0.0f);                                              \
        }                                                                                                                             \
    }
OPS_FOR_TYPE(LIMITS, limits, )
#undef LIMITS
#undef UNARY
