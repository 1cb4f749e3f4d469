// Gated delta nets: a linear attention with a state of fixed size for each sequence. For f32, f16 and bf16; states are f32.
//
// causal_conv_T(x, x_row, weight, states, slots, states_there_are, sequences, tokens, channels, width, out)
//   out[s, t, c] = sum over i of weight[c, i] · x[s, t - width + 1 + i, c]; what comes before the first token is in the sequence's state,
//   which then gets the last width - 1 of x. width is at most 4.
//   x         sequences × tokens rows of `channels` elements that begin `x_row` elements apart; weight   channels × width
//   states    states_there_are × channels × (width - 1); slots   the state of each sequence; without a state, all before is 0, and nothing is kept
// gated_delta_T(q, k, v, strides, gates, betas, states, slots, states_there_are, sizes, scale, out)
//   A workgroup for each sequence and head. For each token in turn, with the state S of `key` × `value` numbers:
//     S *= exp(gate); d = (v - Sᵀ k) · beta; S += k dᵀ; out = scale · Sᵀ q
//   q, k      heads of `key` elements; neighbouring heads of values share one; v   heads of `value` elements
//   strides   from a token to the next and from a head to the next, of q, k and v; sequences follow each other
//   gates, betas   sequences × tokens × heads, f32; out   sequences × tokens × heads × value
//   states    states_there_are × heads × key × value; without a state, the results are 0
#include "common.cuh"

constexpr unsigned WIDTH = 4;

template <typename T>
__device__ __forceinline__ void conv(const T *x, size_t x_row, const T *weight, float *states, const uint32_t *slots, unsigned states_there_are,
                                     size_t sequences, size_t tokens, size_t channels, unsigned width, T *out) {
    FOR_EACH_ELEMENT(i, sequences * channels) {
        const Division at = divide(i, channels);
        const size_t sequence = at.quotient, channel = at.remainder;
        const uint32_t slot = slots[sequence];
        float *const state = slot < states_there_are ? states + (slot * channels + channel) * (width - 1) : nullptr;
        // The newest is last; those before the width count as zeros.
        float weights[WIDTH], window[WIDTH];
#pragma unroll
        for (unsigned j = 0; j < WIDTH; ++j) {
            const bool is_used = j + width >= WIDTH;
            weights[j] = is_used ? load(weight + channel * width + (j + width - WIDTH)) : 0.0f;
            window[j] = is_used && j + 1 < WIDTH && state != nullptr ? state[j + width - WIDTH] : 0.0f;
        }
        // `window` has the inputs before the token in its first places.
        for (size_t t = 0; t < tokens; ++t) {
            const size_t row = sequence * tokens + t;
            window[WIDTH - 1] = load(x + row * x_row + channel);
            float sum = 0.0f;
#pragma unroll
            for (unsigned j = 0; j < WIDTH; ++j)
                sum += weights[j] * window[j];
            out[row * channels + channel] = convert<T>(sum);
#pragma unroll
            for (unsigned j = 0; j + 1 < WIDTH; ++j)
                window[j] = window[j + 1];
        }
        if (state != nullptr) {
#pragma unroll
            for (unsigned j = 0; j + 1 < WIDTH; ++j)
                if (j + width >= WIDTH)
                    state[j + width - WIDTH] = window[j];
        }
    }
}

struct DeltaStrides {
    size_t q_token, q_head, k_token, k_head, v_token, v_head;
};
struct DeltaSizes {
    unsigned tokens, heads, group, key, value;
};

template <typename T>
__device__ __forceinline__ void delta(const T *q, const T *k, const T *v, const DeltaStrides &strides, const float *gates, const float *betas,
                                      float *states, const uint32_t *slots, unsigned states_there_are, const DeltaSizes &sizes, float scale, T *out) {
    const unsigned sequence = blockIdx.x / sizes.heads, head = blockIdx.x % sizes.heads, key_head = head / sizes.group;
    const uint32_t slot = slots[sequence];
    float *const state = slot < states_there_are ? states + (static_cast<size_t>(slot) * sizes.heads + head) * sizes.key * sizes.value : nullptr;
    // A work-item has some columns of the state, and nobody else reads or writes them.
    for (unsigned column = threadIdx.x; column < sizes.value; column += blockDim.x) {
        for (unsigned t = 0; t < sizes.tokens; ++t) {
            const size_t token = static_cast<size_t>(sequence) * sizes.tokens + t, place = token * sizes.heads + head;
            float result = 0.0f;
            if (state != nullptr) {
                const T *const query = q + token * strides.q_token + key_head * strides.q_head;
                const T *const key = k + token * strides.k_token + key_head * strides.k_head;
                const float decay = expf(gates[place]);
                float known = 0.0f;
                for (unsigned i = 0; i < sizes.key; ++i)
                    known += state[static_cast<size_t>(i) * sizes.value + column] * decay * load(key + i);
                const float change = (load(v + token * strides.v_token + head * strides.v_head + column) - known) * betas[place];
                for (unsigned i = 0; i < sizes.key; ++i) {
                    float &s = state[static_cast<size_t>(i) * sizes.value + column];
                    s = s * decay + load(key + i) * change;
                    result += s * load(query + i);
                }
            }
            out[place * sizes.value + column] = convert<T>(result * scale);
        }
    }
}

#define DELTA(T, NAME)                                                                                                 \
    extern "C" __global__ void causal_conv_##NAME(const T *x, const size_t x_row, const T *weight, float *states, const uint32_t *slots, \
                                                  const unsigned states_there_are, const size_t sequences, const size_t tokens, \
                                                  const size_t channels, const unsigned width, T *out) {               \
        conv(x, x_row, weight, states, slots, states_there_are, sequences, tokens, channels, width, out);              \
    }                                                                                                                  \
    extern "C" __global__ void gated_delta_##NAME(const T *q, const T *k, const T *v, const DeltaStrides strides, const float *gates, \
                                                  const float *betas, float *states, const uint32_t *slots, const unsigned states_there_are, \
                                                  const DeltaSizes sizes, const float scale, T *out) {                 \
        delta(q, k, v, strides, gates, betas, states, slots, states_there_are, sizes, scale, out);                     \
    }
DELTA(float, f32)
DELTA(__half, f16)
DELTA(__nv_bfloat16, bf16)
