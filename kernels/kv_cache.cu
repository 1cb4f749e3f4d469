// Appending keys or values to a cache, contiguous or paged, in the elements' own type or quantised.
//
// kv_append_T(src, slots, cache, tokens, heads, size, token_stride, head_stride, page, pages, page_stride, position_stride, cache_head_stride)
// kv_append_T_f8(…, inverse_scale)
// kv_append_T_i8(…, scales)
//   src      heads of `size` contiguous elements of type T (f32, f16, bf16) at token · token_stride + head · head_stride
//   slots    i64, a token's place: page · its size + position in the page; in a contiguous cache, each sequence has one page.
//            A token whose slot is negative or beyond the last page is dropped.
//   cache    heads of `size` contiguous elements at page · page_stride + position · position_stride + head · cache_head_stride
//   _f8      e4m3: the element times `inverse_scale`, to nearest; numbers too large become the largest number
//   _i8      the element over the head's scale, to nearest; scales (f32, slots × heads) receive max |element| / 127
// Of two tokens with the same slot, either may be kept.
#include "reduce.cuh"

struct Heads {
    size_t tokens, heads, size, token_stride, head_stride;
};
struct Pages {
    size_t size, count, stride, position_stride, head_stride;
};

// Calls `f(from, to, slot * heads + head)` for the heads of this warp, with offsets in the source and in the cache.
template <typename F> __device__ __forceinline__ void for_each_head(const Heads &in, const Pages &pages, const int64_t *slots, F f) {
    const size_t warps = blockDim.x / warpSize, count = in.tokens * in.heads;
    for (size_t i = blockIdx.x * warps + threadIdx.x / warpSize; i < count; i += gridDim.x * warps) {
        const Division at = divide(i, in.heads);
        const uint64_t slot = static_cast<uint64_t>(slots[at.quotient]);
        if (slot >= pages.count * pages.size) // negative ones, too
            continue;
        const Division in_page = divide(slot, pages.size);
        f(at.quotient * in.token_stride + at.remainder * in.head_stride,
          in_page.quotient * pages.stride + in_page.remainder * pages.position_stride + at.remainder * pages.head_stride,
          slot * in.heads + at.remainder);
    }
}

template <typename T, typename Out, typename F>
__device__ __forceinline__ void append(const T *src, const int64_t *slots, Out *cache, const Heads &in, const Pages &pages, F to) {
    for_each_head(in, pages, slots, [&](size_t from, size_t at, size_t) {
        for (size_t i = threadIdx.x % warpSize; i < in.size; i += warpSize)
            cache[at + i] = to(src[from + i]);
    });
}

template <typename T>
__device__ __forceinline__ void append_i8(const T *src, const int64_t *slots, int8_t *cache, const Heads &in, const Pages &pages, float *scales) {
    for_each_head(in, pages, slots, [&](size_t from, size_t at, size_t of_scale) {
        float largest = 0;
        for (size_t i = threadIdx.x % warpSize; i < in.size; i += warpSize)
            largest = Max::apply(largest, fabsf(load(src + from + i)));
        const float scale = warp_combine<Max>(largest, warpSize) / 127.0f;
        const float inverse = scale > 0.0f ? 1.0f / scale : 0.0f;
        if (threadIdx.x % warpSize == 0)
            scales[of_scale] = scale;
        for (size_t i = threadIdx.x % warpSize; i < in.size; i += warpSize)
            cache[at + i] = static_cast<int8_t>(fminf(fmaxf(rintf(load(src + from + i) * inverse), -127.0f), 127.0f));
    });
}

#define ARGUMENTS(T, OUT)                                                                                              \
    const T *src, const int64_t *slots, OUT *cache, const size_t tokens, const size_t heads, const size_t size, const size_t token_stride, \
        const size_t head_stride, const size_t page, const size_t pages, const size_t page_stride, const size_t position_stride, \
        const size_t cache_head_stride
#define SHAPES {tokens, heads, size, token_stride, head_stride}, {page, pages, page_stride, position_stride, cache_head_stride}
#define APPEND(T, NAME)                                                                                                \
    extern "C" __global__ void kv_append_##NAME(ARGUMENTS(T, T)) {                                                     \
        append(src, slots, cache, SHAPES, [](T x) { return x; });                                                      \
    }                                                                                                                  \
    extern "C" __global__ void kv_append_##NAME##_f8(ARGUMENTS(T, f8_e4m3), const float inverse_scale) {               \
        append(src, slots, cache, SHAPES, [=](T x) { return float_to_f8(load(&x) * inverse_scale); });                 \
    }                                                                                                                  \
    extern "C" __global__ void kv_append_##NAME##_i8(ARGUMENTS(T, int8_t), float *scales) {                            \
        append_i8(src, slots, cache, SHAPES, scales);                                                                  \
    }
APPEND(float, f32)
APPEND(__half, f16)
APPEND(__nv_bfloat16, bf16)
