// Rotary embeddings with positions of any kind: a table of cosines and sines for the positions of a batch's tokens, and its application.
//
// rope_table_I(positions, frequencies, tokens, half, scale, cos, sin)     I = u32, i64: the type of positions
//   frequencies   half numbers in f64, radians per position, scaled as the variant requires (linear, NTK, YaRN, Llama 3)
//   cos, sin      tokens × half in f32: scale · cos(position · frequency); angles are in f64, so late positions are as exact as early ones
// rope_rotate_T(src, dst, cos, sin, tokens, heads, size, rotary, token_stride, head_stride, out_token_stride, out_head_stride, interleaved)
//   src, dst      heads of `size` elements, contiguous, at token · token_stride + head · head_stride; a null src is dst
//   rotary        the number of rotated elements of each head, an even number; the others are copied
//   interleaved   0: element i is rotated with i + rotary/2; 1: element 2i with 2i + 1
#include "common.cuh"
#include "overlap.cuh"
#include "rotation.cuh"

template <typename I>
__device__ __forceinline__ void rope_table(const I *positions, const double *frequencies, size_t tokens, size_t half, float scale, float *cos,
                                           float *sin) {
    constexpr double TURN = 6.283185307179586476925286766559;
    let_next_begin();
    wait_for_previous();
    FOR_EACH_ELEMENT(i, tokens * half) {
        const Division at = divide(i, half);
        const double angle = static_cast<double>(positions[at.quotient]) * frequencies[at.remainder];
        const float rest = static_cast<float>(angle - rint(angle / TURN) * TURN);
        cos[i] = scale * cosf(rest);
        sin[i] = scale * sinf(rest);
    }
}

template <typename T>
__device__ __forceinline__ void rotate(const T *src, T *dst, const float *cos, const float *sin, size_t tokens, size_t heads, size_t size,
                                       size_t rotary, size_t token_stride, size_t head_stride, size_t out_token_stride, size_t out_head_stride,
                                       bool interleaved) {
    let_next_begin();
    wait_for_previous();
    src = src ? src : dst;
    const size_t half = rotary / 2, items = half + (size - rotary); // a pair each, then a single element each
    FOR_EACH_ELEMENT(i, tokens * heads * items) {
        const Division of_head = divide(i, items), of_token = divide(of_head.quotient, heads);
        const T *from = src + of_token.quotient * token_stride + of_token.remainder * head_stride;
        T *to = dst + of_token.quotient * out_token_stride + of_token.remainder * out_head_stride;
        const size_t item = of_head.remainder;
        if (item >= half) {
            if (from != to)
                to[half + item] = from[half + item];
            continue;
        }
        const size_t first = interleaved ? 2 * item : item, second = interleaved ? first + 1 : first + half;
        const float x = load(from + first), y = load(from + second);
        const float c = cos[of_token.quotient * half + item], s = sin[of_token.quotient * half + item];
        const Rotated rotated(x, y, c, s);
        to[first] = convert<T>(rotated.first);
        to[second] = convert<T>(rotated.second);
    }
}

#define TABLE(I, NAME)                                                                                                 \
    extern "C" __global__ void rope_table_##NAME(const I *positions, const double *frequencies, const size_t tokens, const size_t half, \
                                                 const float scale, float *cos, float *sin) {                          \
        rope_table(positions, frequencies, tokens, half, scale, cos, sin);                                             \
    }                                                                                                                  \
    OVERLAPS(rope_table_##NAME)
#define ROTATE(T, NAME)                                                                                                \
    extern "C" __global__ void rope_rotate_##NAME(                                                                     \
        const T *src, T *dst, const float *cos, const float *sin, const size_t tokens, const size_t heads, const size_t size, \
        const size_t rotary, const size_t token_stride, const size_t head_stride, const size_t out_token_stride,       \
        const size_t out_head_stride, const unsigned interleaved) {                                                    \
        rotate(src, dst, cos, sin, tokens, heads, size, rotary, token_stride, head_stride, out_token_stride, out_head_stride, \
               interleaved != 0);                                                                                      \
    }                                                                                                                  \
    OVERLAPS(rope_rotate_##NAME)
TABLE(uint32_t, u32)
TABLE(int64_t, i64)
ROTATE(float, f32)
ROTATE(__half, f16)
ROTATE(__nv_bfloat16, bf16)
