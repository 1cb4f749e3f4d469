// Gated activations: out = f(gate) * up, for f32, f16 and bf16, computed in f32 and rounded once.
//
// NAME_T(rows, columns, gate, gate_row, up, up_row, out)
//   gate, up   rows of `columns` elements that begin `gate_row` and `up_row` elements apart; of one packed tensor of rows × 2·columns, `up` is
//              `gate + columns`, and both distances are 2·columns
//   up         null: out = f(gate)
//   out        rows × columns, contiguous
//
// | NAME | f(x) |
// | silu_mul | x / (1 + exp(-x)) |
// | gelu_mul | x/2 · (1 + tanh(sqrt(2/π) · (x + 0.044715·x³))) |
// | gelu_erf_mul | x · Φ(x), Φ the normal distribution |
// | relu2_mul | max(x, 0)², NaN for NaN |
#include "reduce.cuh"

template <typename T, typename F>
__device__ __forceinline__ void gated(size_t rows, size_t columns, const T *gate, size_t gate_row, const T *up, size_t up_row, T *out, F f) {
    const bool wide = is_wide(gate) && is_wide(up) && is_wide(out) && (columns | gate_row | up_row) % PACK<T> == 0;
    const auto one = [&](T x, T y) { return convert<T>(up ? f(load(&x)) * load(&y) : f(load(&x))); };
    if (wide) {
        const size_t packs = columns / PACK<T>;
        FOR_EACH_ELEMENT(i, rows * packs) {
            const Division at = divide(i, packs);
            Pack<T> x = pack_at(gate + at.quotient * gate_row + at.remainder * PACK<T>), y = x;
            if (up)
                y = pack_at(up + at.quotient * up_row + at.remainder * PACK<T>);
#pragma unroll
            for (unsigned j = 0; j < PACK<T>; ++j)
                x.at[j] = one(x.at[j], y.at[j]);
            pack_at(out + i * PACK<T>) = x;
        }
        return;
    }
    FOR_EACH_ELEMENT(i, rows * columns) {
        const Division at = divide(i, columns);
        const T x = gate[at.quotient * gate_row + at.remainder];
        out[i] = one(x, up ? up[at.quotient * up_row + at.remainder] : x);
    }
}

__device__ __forceinline__ float silu(float x) { return x / (1.0f + expf(-x)); }
__device__ __forceinline__ float gelu(float x) {
    const float sqrt_2_over_pi = 0.79788456080286535588f;
    return 0.5f * x * (1.0f + tanhf(sqrt_2_over_pi * x * (1.0f + 0.044715f * x * x)));
}
__device__ __forceinline__ float gelu_erf(float x) { return x * normcdff(x); }
__device__ __forceinline__ float relu2(float x) { return x < 0.0f ? 0.0f : x * x; }

#define GATED(T, NAME, F)                                                                                              \
    extern "C" __global__ void NAME(const size_t rows, const size_t columns, const T *gate, const size_t gate_row, const T *up, \
                                    const size_t up_row, T *out) {                                                     \
        gated(rows, columns, gate, gate_row, up, up_row, out, [](float x) { return F(x); });                           \
    }
#define ALL(T, NAME)                                                                                                   \
    GATED(T, silu_mul_##NAME, silu)                                                                                    \
    GATED(T, gelu_mul_##NAME, gelu)                                                                                    \
    GATED(T, gelu_erf_mul_##NAME, gelu_erf)                                                                            \
    GATED(T, relu2_mul_##NAME, relu2)
ALL(float, f32)
ALL(__half, f16)
ALL(__nv_bfloat16, bf16)
