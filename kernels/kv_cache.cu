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
//   step rounds as a kernel of its own would. The launcher says in the shape whether lanes may have whole packs of heads; the kernel adds that addresses
//   must be multiples of them.
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
    unsigned lanes; // of a head, if each has two packs of it; 0: a warp has a head, an element at a time
    unsigned at_once; // heads of so many lanes that a workgroup has at a time
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

// As many elements as a pack of `T` has, of a type that is as wide or narrower: stored at once.
template <typename Out, unsigned N> struct alignas(N * sizeof(Out)) Several {
    Out at[N];

    __device__ __forceinline__ void store(Out *p) const {
#if defined(__CUDA_ARCH__) && !defined(__AMDGCN__)
        // The compiler makes several accesses of an assignment.
        unsigned words[sizeof(Several) / sizeof(unsigned)];
        memcpy(words, at, sizeof words);
        const size_t to = __cvta_generic_to_global(p);
        if constexpr (sizeof words == 16)
            asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3]) : "memory");
        else if constexpr (sizeof words == 8)
            asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(to), "r"(words[0]), "r"(words[1]) : "memory");
        else
            asm volatile("st.global.u32 [%0], %1;" ::"l"(to), "r"(words[0]) : "memory");
#else
        *reinterpret_cast<Several *>(p) = *this;
#endif
    }
};

// A lane's two packs of a head: N pairs.
template <typename T> struct TwoPacks {
    static constexpr unsigned N = PACK<T>;
    alignas(16) T first[N];
    alignas(16) T second[N];

    __device__ __forceinline__ void rotate(const float *cos, const float *sin, bool interleaved) {
        if (interleaved) {
#pragma unroll
            for (unsigned j = 0; j < N; j += 2) {
                rotate(first[j], first[j + 1], cos[j / 2], sin[j / 2]);
                rotate(second[j], second[j + 1], cos[(N + j) / 2], sin[(N + j) / 2]);
            }
        } else {
#pragma unroll
            for (unsigned j = 0; j < N; ++j)
                rotate(first[j], second[j], cos[j], sin[j]);
        }
    }
    // As `Head` gives elements that are not rotated: a NaN may change.
    __device__ __forceinline__ void keep() {
#pragma unroll
        for (unsigned j = 0; j < N; ++j) {
            first[j] = convert<T>(load(first + j));
            second[j] = convert<T>(load(second + j));
        }
    }
    __device__ __forceinline__ float largest() const {
        float most = 0;
#pragma unroll
        for (unsigned j = 0; j < N; ++j)
            most = Max::apply(Max::apply(most, fabsf(load(first + j))), fabsf(load(second + j)));
        return most;
    }

  private:
    static __device__ __forceinline__ void rotate(T &x, T &y, float cos, float sin) {
        const Rotated rotated(load(&x), load(&y), cos, sin);
        x = convert<T>(rotated.first);
        y = convert<T>(rotated.second);
    }
};

// How an element is stored in a cache. With SCALED, each head has a scale of its own, whose inverse is `inverse`.
struct AsTheyAre {
    static constexpr bool SCALED = false;
    template <typename T> __device__ __forceinline__ T operator()(T x, float) const { return x; }
};
struct AsF8 {
    static constexpr bool SCALED = false;
    float inverse_scale;
    template <typename T> __device__ __forceinline__ f8_e4m3 operator()(T x, float) const { return float_to_f8(load(&x) * inverse_scale); }
};
struct AsI8 {
    static constexpr bool SCALED = true;
    template <typename T> __device__ __forceinline__ int8_t operator()(T x, float inverse) const {
        return static_cast<int8_t>(fminf(fmaxf(rintf(load(&x) * inverse), -127.0f), 127.0f));
    }
};
struct Scale {
    float scale, inverse;
    // The largest element's absolute value becomes 127.
    __device__ __forceinline__ explicit Scale(float largest) : scale(largest / 127.0f), inverse(scale > 0.0f ? 1.0f / scale : 0.0f) {}
};

// What a head is of its token: the queries' heads are first, then those of keys, then those of values.
struct Part {
    bool is_query, is_value;
    size_t head; // of its kind

    __device__ __forceinline__ Part(const RopeShape &shape, size_t number)
        : is_query(number < shape.heads), is_value(number >= shape.heads + shape.kv_heads),
          head(is_query ? number : number - shape.heads - (is_value ? shape.kv_heads : 0)) {}
    template <typename X> __device__ __forceinline__ X of(X query, X key, X value) const { return is_query ? query : is_value ? value : key; }
    __device__ __forceinline__ size_t from(const RopeShape &shape, size_t token) const {
        const Strides &strides = is_query ? shape.q : is_value ? shape.v : shape.k;
        return token * strides.token + head * strides.head;
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

    template <typename How> __device__ __forceinline__ void run(How how) const {
        let_next_begin();
        wait_for_previous();
        // AMD's compiler has too few scalar registers for the strides of both ways.
        if constexpr (NVIDIA) {
            const auto address = [](const void *p) { return static_cast<unsigned>(reinterpret_cast<size_t>(p)); };
            const bool wide = (address(q) | address(k) | address(v) | address(cos) | address(sin)) % 16 == 0 &&
                              (address(k_cache) | address(v_cache)) % (PACK<T> * sizeof(Out)) == 0;
            if (shape.lanes != 0 && wide)
                return in_packs(how);
        }
        by_warps(how);
    }

  private:
    // The place in a cache of a slot that exists.
    static __device__ __forceinline__ size_t place(const Pages &pages, uint64_t slot) {
        const Division in_page = divide(slot, pages.size);
        return in_page.quotient * pages.stride + in_page.remainder * pages.position_stride;
    }
    template <typename How> __device__ __forceinline__ void by_warps(How how) const {
        const size_t warps = blockDim.x / WARP, of_token = shape.heads + 2 * shape.kv_heads, half = shape.rotary / 2;
        // Grids for packs have two dimensions, and those for AMD's targets one.
        // Those have no scalar registers to spare, so that the pages' strides are read again.
        const size_t block = NVIDIA ? static_cast<size_t>(blockIdx.y) * gridDim.x + blockIdx.x : blockIdx.x;
        const size_t blocks = NVIDIA ? static_cast<size_t>(gridDim.y) * gridDim.x : gridDim.x;
        for (size_t i = block * warps + threadIdx.x / WARP; i < shape.tokens * of_token; i += blocks * warps) {
            const Division at = divide(i, of_token);
            const size_t token = at.quotient;
            const Part part(shape, at.remainder);
            const size_t from = part.from(shape, token);
            Head<T> head = {part.of<const T *>(q, k, v) + from,
                            part.of<const T *>(q_weight, k_weight, nullptr),
                            cos + token * half,
                            sin + token * half,
                            shape.size,
                            part.is_value ? 0 : half,
                            1.0f,
                            shape.interleaved != 0};
            if (part.is_query) {
                head.norm(shape.eps);
                head.for_each([&](size_t j, T x) { q[from + j] = x; });
                continue;
            }
            const Pages &pages = part.is_value ? read_again(shape).values : read_again(shape).keys;
            const uint64_t slot = static_cast<uint64_t>(slots[token]);
            if (slot >= pages.count * pages.size) // negative ones, too
                continue;
            head.norm(shape.eps);
            Out *const to = part.is_value ? v_cache : k_cache;
            const size_t first = place(pages, slot) + part.head * pages.head_stride;
            const size_t number = slot * shape.kv_heads + part.head;
            float inverse = 0;
            if constexpr (How::SCALED) {
                float largest = 0;
                head.for_each([&](size_t, T x) { largest = Max::apply(largest, fabsf(load(&x))); });
                const Scale scale(warp_reduce<Max>(largest));
                inverse = scale.inverse;
                if (threadIdx.x % WARP == 0)
                    (part.is_value ? v_scales : k_scales)[number] = scale.scale;
            }
            head.for_each([&](size_t j, T x) { to[first + j] = how(x, inverse); });
        }
    }
    // Without norms: a lane has two packs of a head, whose pairs are between them or in each, and the same ones of AHEAD heads of a token at a time, for
    // which it reads cosines and sines once. All strides and dimensions are multiples of packs.
    template <typename How> __device__ __forceinline__ void in_packs(How how) const {
        constexpr unsigned N = PACK<T>, AHEAD = 2;
        const unsigned number = threadIdx.x / shape.lanes, begin = (threadIdx.x - number * shape.lanes) * N;
        const unsigned half = static_cast<unsigned>(shape.rotary) / 2, of_token = static_cast<unsigned>(shape.heads + 2 * shape.kv_heads);
        const unsigned at_once = shape.at_once, step = at_once * gridDim.x;
        const bool is_rotated = begin < half, interleaved = shape.interleaved != 0;
        const unsigned first = is_rotated && !interleaved ? begin : 2 * begin, second = is_rotated && !interleaved ? begin + half : first + N;
        for (size_t token = blockIdx.y; token < shape.tokens; token += gridDim.y) {
            const uint64_t slot = static_cast<uint64_t>(slots[token]);
            alignas(16) float c[N];
            alignas(16) float s[N];
            if (is_rotated) {
#pragma unroll
                for (unsigned j = 0; j < N; j += 4) {
                    *reinterpret_cast<float4 *>(c + j) = *reinterpret_cast<const float4 *>(cos + token * half + begin + j);
                    *reinterpret_cast<float4 *>(s + j) = *reinterpret_cast<const float4 *>(sin + token * half + begin + j);
                }
            }
            const bool kept = slot < shape.keys.count * shape.keys.size; // so are those of values
            // All lanes of a warp go on as long.
            for (unsigned base = at_once * blockIdx.x; base < of_token; base += AHEAD * step) {
                TwoPacks<T> packs[AHEAD];
#pragma unroll
                for (unsigned i = 0; i < AHEAD; ++i) {
                    const unsigned h = base + i * step + number;
                    if (number >= at_once || h >= of_token)
                        continue;
                    const Part part(shape, h);
                    const T *from = part.of<const T *>(q, k, v) + part.from(shape, token);
                    *reinterpret_cast<Pack<T> *>(packs[i].first) = pack_at(from + first);
                    *reinterpret_cast<Pack<T> *>(packs[i].second) = pack_at(from + second);
                }
#pragma unroll
                for (unsigned i = 0; i < AHEAD; ++i) {
                    const unsigned h = base + i * step + number;
                    const bool there = number < at_once && h < of_token;
                    const Part part(shape, h);
                    if (is_rotated && !part.is_value)
                        packs[i].rotate(c, s, interleaved);
                    else
                        packs[i].keep();
                    float inverse = 0;
                    if constexpr (How::SCALED) {
                        // A power of two of lanes has a head.
                        float largest = packs[i].largest();
                        for (unsigned mask = shape.lanes / 2; mask > 0; mask /= 2)
                            largest = Max::apply(largest, from_lane_xor(largest, mask));
                        const Scale scale(largest);
                        inverse = scale.inverse;
                        if (there && kept && !part.is_query && begin == 0)
                            (part.is_value ? v_scales : k_scales)[slot * shape.kv_heads + part.head] = scale.scale;
                    }
                    if (there && part.is_query)
                        store(q + part.from(shape, token), packs[i], first, second, [](T x) { return x; });
                    else if (there && kept) {
                        const Pages &pages = part.is_value ? shape.values : shape.keys;
                        Out *to = (part.is_value ? v_cache : k_cache) + place(pages, slot) + part.head * pages.head_stride;
                        store(to, packs[i], first, second, [=](T x) { return how(x, inverse); });
                    }
                }
            }
        }
    }
    template <typename X, typename F>
    static __device__ __forceinline__ void store(X *to, const TwoPacks<T> &packs, unsigned first, unsigned second, F f) {
        constexpr unsigned N = PACK<T>;
        Several<X, N> a, b;
#pragma unroll
        for (unsigned j = 0; j < N; ++j) {
            a.at[j] = f(packs.first[j]);
            b.at[j] = f(packs.second[j]);
        }
        a.store(to + first);
        b.store(to + second);
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
