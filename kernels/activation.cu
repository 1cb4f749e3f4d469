// Gated activations: out = f(gate) * up, for f32, f16 and bf16, computed in f32 and rounded once.
//
// NAME_T(rows, columns, gate, gate_row, up, up_row, out)
//   gate, up   rows of `columns` elements that begin `gate_row` and `up_row` elements apart; of one packed tensor of rows × 2·columns, `up` is
//              `gate + columns`, and both distances are 2·columns
//   up         null: out = f(gate)
//   out        rows × columns, contiguous
// swiglu_oai_mul_T(rows, columns, gate, gate_row, up, up_row, out, alpha, limit)
//   out = g / (1 + exp(-alpha · g)) · (u + 1) with g = min(gate, limit) and u = up, limited to [-limit, limit]
// add_rows_T, mul_rows_T(rows, columns, a, a_row, b, b_row, out)
//   out = a + b, a · b; with a distance of 0, all rows are the first
// softcap_T(rows, columns, x, x_row, null, 0, out, cap)
//   out = cap · tanh(x / cap)
//
// | NAME | f(x) |
// | silu_mul | x / (1 + exp(-x)) |
// | gelu_mul | x/2 · (1 + tanh(sqrt(2/π) · (x + 0.044715·x³))) |
// | gelu_erf_mul | x · Φ(x), Φ the normal distribution |
// | relu2_mul | max(x, 0)², NaN for NaN |
#include "reduce.cuh"

// Without `up`, the second argument of `f` is the first.
template <typename T, typename F>
__device__ __forceinline__ void pairs(size_t rows, size_t columns, const T *gate, size_t gate_row, const T *up, size_t up_row, T *out, F f) {
    const bool wide = is_wide(gate) && is_wide(up) && is_wide(out) && (columns | gate_row | up_row) % PACK<T> == 0;
    const auto one = [&](T x, T y) { return convert<T>(f(load(&x), load(&y))); };
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
// A NaN stays one.
__device__ __forceinline__ float swiglu_oai(float gate, float up, float alpha, float limit) {
    const float x = gate > limit ? limit : gate, y = up > limit ? limit : up < -limit ? -limit : up;
    return x / (1.0f + expf(-alpha * x)) * (y + 1.0f);
}
__device__ __forceinline__ float relu2(float x) { return x < 0.0f ? 0.0f : x * x; }

#define GATED(T, NAME, F)                                                                                              \
    extern "C" __global__ void NAME(const size_t rows, const size_t columns, const T *gate, const size_t gate_row, const T *up, \
                                    const size_t up_row, T *out) {                                                     \
        pairs(rows, columns, gate, gate_row, up, up_row, out, [=](float x, float y) { return up ? F(x) * y : F(x); }); \
    }
#define ROWS(T, NAME, RESULT)                                                                                          \
    extern "C" __global__ void NAME(const size_t rows, const size_t columns, const T *a, const size_t a_row, const T *b, const size_t b_row, T *out) { \
        pairs(rows, columns, a, a_row, b, b_row, out, [](float x, float y) { return RESULT; });                        \
    }
#define ALL(T, NAME)                                                                                                   \
    GATED(T, silu_mul_##NAME, silu)                                                                                    \
    GATED(T, gelu_mul_##NAME, gelu)                                                                                    \
    GATED(T, gelu_erf_mul_##NAME, gelu_erf)                                                                            \
    GATED(T, relu2_mul_##NAME, relu2)                                                                                  \
    ROWS(T, add_rows_##NAME, x + y)                                                                                    \
    ROWS(T, mul_rows_##NAME, x *y)                                                                                     \
    extern "C" __global__ void swiglu_oai_mul_##NAME(const size_t rows, const size_t columns, const T *gate, const size_t gate_row, const T *up, \
                                                     const size_t up_row, T *out, const float alpha, const float limit) { \
        pairs(rows, columns, gate, gate_row, up, up_row, out, [=](float x, float y) { return swiglu_oai(x, y, alpha, limit); }); \
    }                                                                                                                  \
    extern "C" __global__ void softcap_##NAME(const size_t rows, const size_t columns, const T *x, const size_t x_row, const T *up, \
                                              const size_t up_row, T *out, const float cap) {                          \
        pairs(rows, columns, x, x_row, up, up_row, out, [=](float y, float) { return cap * tanhf(y / cap); });      \
    }
ALL(float, f32)
ALL(__half, f16)
ALL(__nv_bfloat16, bf16)
