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
//
// rope_append_T(shape, q, k, v, q_weight, k_weight, cos, sin, slots, k_cache, v_cache)
// rope_append_T_f8(…, inverse_scale)
// rope_append_T_i8(…, k_scales, v_scales)
//   Between the product that makes queries, keys and values, and attention: norms of each head of queries and keys (where there is a weight), the
//   rotation of `rope_rotate_T`, and the append of keys and values. Queries stay in place; keys and values where they came from stay as they are. Each
//   step rounds as a kernel of its own would.
#include "overlap.cuh"
#include "reduce.cuh"
#include "rotation.cuh"

struct Heads {
    size_t tokens, heads, size, token_stride, head_stride;
};
struct Pages {
    size_t size, count, stride, position_stride, head_stride;
};

// Calls `f(from, to, slot * heads + head)` for the heads of this warp, with offsets in the source and in the cache.
template <typename F> __device__ __forceinline__ void for_each_head(const Heads &in, const Pages &pages, const int64_t *slots, F f) {
    let_next_begin();
    wait_for_previous();
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

// Where heads are: a token's are `head` apart.
struct Strides {
    size_t token, head;
};
struct RopeShape {
    size_t tokens, size, rotary, heads, kv_heads;
    Strides q, k, v;
    Pages keys, values;
    float eps;
    unsigned interleaved;
};

// A head of queries, keys or values of a token, which a warp has: its numbers behind the norm and the rotation. Without cosines, there is none.
template <typename T> struct Head {
    const T *from, *weight;
    const float *cos, *sin;
    size_t size, half;
    float factor; // of the norm
    bool interleaved;

    __device__ __forceinline__ float normed(size_t i) const {
        const float x = load(from + i);
        if (!weight)
            return x;
        const T rounded = convert<T>(x * factor * load(weight + i));
        return load(&rounded);
    }
    __device__ __forceinline__ void norm(float eps) {
        if (!weight)
            return;
        float squares = 0;
        for (size_t i = threadIdx.x % WARP; i < size; i += WARP)
            squares += load(from + i) * load(from + i);
        factor = 1.0f / sqrtf(warp_reduce<Sum>(squares) / static_cast<float>(size) + eps);
    }
    // Calls `f(i, element i)` for this lane's elements: those of a pair are both read before either of them is given.
    template <typename F> __device__ __forceinline__ void for_each(F f) const {
        for (size_t item = threadIdx.x % WARP; item < size - half; item += WARP) {
            if (item >= half) {
                f(half + item, convert<T>(normed(half + item)));
                continue;
            }
            const size_t first = interleaved ? 2 * item : item, second = interleaved ? first + 1 : first + half;
            const Rotated rotated(normed(first), normed(second), cos[item], sin[item]);
            f(first, convert<T>(rotated.first));
            f(second, convert<T>(rotated.second));
        }
    }
};

// How elements are stored in a cache: `put(head, to, place, number)` stores a head from `to + place` on, which is the slots' head of that number.
struct AsTheyAre {
    template <typename T> __device__ __forceinline__ void put(const Head<T> &head, T *to, size_t place, size_t, float *) const {
        head.for_each([&](size_t i, T x) { to[place + i] = x; });
    }
};
struct AsF8 {
    float inverse_scale;
    template <typename T> __device__ __forceinline__ void put(const Head<T> &head, f8_e4m3 *to, size_t place, size_t, float *) const {
        head.for_each([&](size_t i, T x) { to[place + i] = float_to_f8(load(&x) * inverse_scale); });
    }
};
struct AsI8 {
    template <typename T> __device__ __forceinline__ void put(const Head<T> &head, int8_t *to, size_t place, size_t number, float *scales) const {
        float largest = 0;
        head.for_each([&](size_t, T x) { largest = Max::apply(largest, fabsf(load(&x))); });
        const float scale = warp_reduce<Max>(largest) / 127.0f, inverse = scale > 0.0f ? 1.0f / scale : 0.0f;
        if (threadIdx.x % WARP == 0)
            scales[number] = scale;
        head.for_each([&](size_t i, T x) { to[place + i] = static_cast<int8_t>(fminf(fmaxf(rintf(load(&x) * inverse), -127.0f), 127.0f)); });
    }
};

template <typename T, typename Out> struct RopeAppend {
    const RopeShape &shape;
    T *q;
    const T *k, *v, *q_weight, *k_weight;
    const float *cos, *sin;
    const int64_t *slots;
    Out *k_cache, *v_cache;
    float *k_scales, *v_scales;

    template <typename Put> __device__ __forceinline__ void run(Put how) const {
        let_next_begin();
        wait_for_previous();
        const size_t warps = blockDim.x / WARP, of_token = shape.heads + 2 * shape.kv_heads, half = shape.rotary / 2;
        for (size_t i = blockIdx.x * warps + threadIdx.x / WARP; i < shape.tokens * of_token; i += gridDim.x * warps) {
            const Division at = divide(i, of_token);
            const size_t token = at.quotient, number = at.remainder;
            const bool is_query = number < shape.heads, is_value = number >= shape.heads + shape.kv_heads;
            const size_t h = is_query ? number : number - shape.heads - (is_value ? shape.kv_heads : 0);
            const Strides &strides = is_query ? shape.q : is_value ? shape.v : shape.k;
            const size_t from = token * strides.token + h * strides.head;
            Head<T> head = {(is_query ? q : is_value ? v : k) + from,
                            is_query ? q_weight : is_value ? nullptr : k_weight,
                            cos + token * half,
                            sin + token * half,
                            shape.size,
                            is_value ? 0 : half,
                            1.0f,
                            shape.interleaved != 0};
            if (is_query) {
                head.norm(shape.eps);
                head.for_each([&](size_t j, T x) { q[from + j] = x; });
                continue;
            }
            const Pages &pages = is_value ? shape.values : shape.keys;
            const uint64_t slot = static_cast<uint64_t>(slots[token]);
            if (slot >= pages.count * pages.size) // negative ones, too
                continue;
            head.norm(shape.eps);
            const Division in_page = divide(slot, pages.size);
            const size_t place = in_page.quotient * pages.stride + in_page.remainder * pages.position_stride + h * pages.head_stride;
            how.put(head, is_value ? v_cache : k_cache, place, slot * shape.kv_heads + h, is_value ? v_scales : k_scales);
        }
    }
};

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
    }                                                                                                                  \
    OVERLAPS(kv_append_##NAME)                                                                                         \
    OVERLAPS(kv_append_##NAME##_f8)                                                                                    \
    OVERLAPS(kv_append_##NAME##_i8)
APPEND(float, f32)
APPEND(__half, f16)
APPEND(__nv_bfloat16, bf16)

#define ROPE_ARGUMENTS(T, OUT)                                                                                         \
    const RopeShape shape, T *q, const T *k, const T *v, const T *q_weight, const T *k_weight, const float *cos, const float *sin, \
        const int64_t *slots, OUT *k_cache, OUT *v_cache
#define ROPE_APPEND(T, NAME)                                                                                           \
    extern "C" __global__ void rope_append_##NAME(ROPE_ARGUMENTS(T, T)) {                                              \
        RopeAppend<T, T>{shape, q, k, v, q_weight, k_weight, cos, sin, slots, k_cache, v_cache, nullptr, nullptr}.run(AsTheyAre{}); \
    }                                                                                                                  \
    extern "C" __global__ void rope_append_##NAME##_f8(ROPE_ARGUMENTS(T, f8_e4m3), const float inverse_scale) {        \
        RopeAppend<T, f8_e4m3>{shape, q, k, v, q_weight, k_weight, cos, sin, slots, k_cache, v_cache, nullptr, nullptr}.run( \
            AsF8{inverse_scale});                                                                                      \
    }                                                                                                                  \
    extern "C" __global__ void rope_append_##NAME##_i8(ROPE_ARGUMENTS(T, int8_t), float *k_scales, float *v_scales) {  \
        RopeAppend<T, int8_t>{shape, q, k, v, q_weight, k_weight, cos, sin, slots, k_cache, v_cache, k_scales, v_scales}.run(AsI8{}); \
    }                                                                                                                  \
    OVERLAPS(rope_append_##NAME)                                                                                       \
    OVERLAPS(rope_append_##NAME##_f8)                                                                                  \
    OVERLAPS(rope_append_##NAME##_i8)
ROPE_APPEND(float, f32)
ROPE_APPEND(__half, f16)
ROPE_APPEND(__nv_bfloat16, bf16)
