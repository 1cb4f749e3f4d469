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
// gated_q8_1_T(f, rows, columns, gate, gate_row, up, up_row, out, blocks)
//   the same by the function with the number f (0 to 3, in the table's order), and what it gives as blocks, too, as `quantize_q8_1` would make them;
//   `columns` is a multiple of 32, and workgroups have whole warps
// softcap_T(rows, columns, x, x_row, null, 0, out, cap)
//   out = cap · tanh(x / cap)
//
// | NAME | f(x) |
// | silu_mul | x / (1 + exp(-x)) |
// | gelu_mul | x/2 · (1 + tanh(sqrt(2/π) · (x + 0.044715·x³))) |
// | gelu_erf_mul | x · Φ(x), Φ the normal distribution |
// | relu2_mul | max(x, 0)², NaN for NaN |
#include "gates.cuh"
#include "overlap.cuh"
#include "q8_1.cuh"
#include "reduce.cuh"

// Without `up`, the second argument of `f` is the first.
template <typename T, typename F>
__device__ __forceinline__ void pairs(size_t rows, size_t columns, const T *gate, size_t gate_row, const T *up, size_t up_row, T *out, F f) {
    let_next_begin();
    wait_for_previous();
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

template <typename T>
__device__ __forceinline__ void gated_q8_1(unsigned f, size_t rows, size_t columns, const T *gate, size_t gate_row, const T *up, size_t up_row, T *out,
                                           Q8_1 *blocks) {
    let_next_begin();
    wait_for_previous();
    const bool wide = is_wide(gate) && is_wide(up) && is_wide(out) && (gate_row | up_row) % PACK<T> == 0;
    const size_t of_row = columns / PACK<T>, packs = rows * of_row;
    const unsigned lane = threadIdx.x % WARP;
    // All lanes of a warp go on as long.
    FOR_EACH_ELEMENT(i, packs + lane) {
        const bool there = i < packs;
        const Division at = divide(there ? i : packs - 1, of_row);
        const size_t column = at.remainder * PACK<T>;
        Pack<T> x = read_pack(gate + at.quotient * gate_row + column, wide);
        const Pack<T> y = read_pack(up + at.quotient * up_row + column, wide);
#pragma unroll
        for (unsigned j = 0; j < PACK<T>; ++j) {
            const float a = load(&x.at[j]), b = load(&y.at[j]);
            x.at[j] = convert<T>((f == 0 ? silu_as<T>(a) : f == 1 ? gelu(a) : f == 2 ? gelu_erf(a) : relu2(a)) * b);
        }
        if (there)
            write_pack(out + i * PACK<T>, x, wide);
        quantize_pack(x, there, blocks, i * PACK<T>);
    }
}

#define GATED(T, NAME, F)                                                                                              \
    extern "C" __global__ void NAME(const size_t rows, const size_t columns, const T *gate, const size_t gate_row, const T *up, \
                                    const size_t up_row, T *out) {                                                     \
        pairs(rows, columns, gate, gate_row, up, up_row, out, [=](float x, float y) { return up ? F(x) * y : F(x); }); \
    }                                                                                                                  \
    OVERLAPS(NAME)
#define ROWS(T, NAME, RESULT)                                                                                          \
    extern "C" __global__ void NAME(const size_t rows, const size_t columns, const T *a, const size_t a_row, const T *b, const size_t b_row, T *out) { \
        pairs(rows, columns, a, a_row, b, b_row, out, [](float x, float y) { return RESULT; });                        \
    }                                                                                                                  \
    OVERLAPS(NAME)
#define ALL(T, NAME)                                                                                                   \
    GATED(T, silu_mul_##NAME, silu_as<T>)                                                                              \
    GATED(T, gelu_mul_##NAME, gelu)                                                                                    \
    GATED(T, gelu_erf_mul_##NAME, gelu_erf)                                                                            \
    GATED(T, relu2_mul_##NAME, relu2)                                                                                  \
    ROWS(T, add_rows_##NAME, x + y)                                                                                    \
    ROWS(T, mul_rows_##NAME, x *y)                                                                                     \
    extern "C" __global__ __launch_bounds__(MAX_BLOCK) void gated_q8_1_##NAME(                                         \
        const unsigned f, const size_t rows, const size_t columns, const T *gate, const size_t gate_row, const T *up, const size_t up_row, T *out, \
        void *blocks) {                                                                                                \
        gated_q8_1(f, rows, columns, gate, gate_row, up, up_row, out, static_cast<Q8_1 *>(blocks));                    \
    }                                                                                                                  \
    OVERLAPS(gated_q8_1_##NAME)                                                                                        \
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
