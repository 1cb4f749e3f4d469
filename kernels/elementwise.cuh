// Element-wise operations of up to three strided tensors, written to a contiguous one.
#pragma once
#include <utility>

#include "common.cuh"

// N elements of T in registers, 4 to 32 bytes. A loop that is unrolled has them by number; another one takes them from the front and puts
// them in at the back: so its body exists once, however many elements there are, and no register is indexed by a variable.
template <typename T, unsigned N> struct Lanes {
    static constexpr unsigned WORDS = N * sizeof(T) / 4;
    static constexpr unsigned ALIGNMENT = N * sizeof(T) < 16 ? N * sizeof(T) : 16;
    static_assert(WORDS * 4 == N * sizeof(T), "whole words");
    uint32_t words[WORDS];

    static __device__ __forceinline__ bool aligned(const T *p) { return reinterpret_cast<uintptr_t>(p) % ALIGNMENT == 0; }

    // All N, with the widest possible accesses.
    __device__ __forceinline__ void load_all(const T *from) { copy(words, reinterpret_cast<const uint32_t *>(from)); }
    __device__ __forceinline__ void store_all(T *to) const { copy(reinterpret_cast<uint32_t *>(to), words); }
    static __device__ __forceinline__ void copy(uint32_t *to, const uint32_t *from) {
        if constexpr (WORDS >= 4)
            for (unsigned i = 0; i < WORDS / 4; ++i)
                reinterpret_cast<uint4 *>(to)[i] = reinterpret_cast<const uint4 *>(from)[i];
        else if constexpr (WORDS == 2)
            *reinterpret_cast<uint2 *>(to) = *reinterpret_cast<const uint2 *>(from);
        else
            *to = *from;
    }

    // Element i, which the compiler knows.
    __device__ __forceinline__ T get(unsigned i) const {
        T x;
        if constexpr (sizeof(T) >= 4) {
            memcpy(&x, words + i * sizeof(T) / 4, sizeof(T));
        } else {
            const uint32_t bits = words[i * sizeof(T) / 4] >> 8 * (i * sizeof(T) % 4);
            memcpy(&x, &bits, sizeof(T));
        }
        return x;
    }
    // The same, which is all zeros.
    __device__ __forceinline__ void set(unsigned i, T x) {
        if constexpr (sizeof(T) >= 4) {
            memcpy(words + i * sizeof(T) / 4, &x, sizeof(T));
        } else {
            uint32_t bits = 0;
            memcpy(&bits, &x, sizeof(T));
            words[i * sizeof(T) / 4] |= bits << 8 * (i * sizeof(T) % 4);
        }
    }
    __device__ __forceinline__ T front() const {
        T x;
        memcpy(&x, words, sizeof(T));
        return x;
    }
    __device__ __forceinline__ void set_front(T x) { memcpy(words, &x, sizeof(T)); }
    // Drops the front.
    __device__ __forceinline__ void pop() {
        if constexpr (sizeof(T) >= 4)
            for (unsigned i = 0; i + sizeof(T) / 4 < WORDS; ++i)
                words[i] = words[i + sizeof(T) / 4];
        else
            for (unsigned i = 0; i < WORDS; ++i)
                words[i] = words[i] >> 8 * sizeof(T) | (i + 1 < WORDS ? words[i + 1] << (32 - 8 * sizeof(T)) : 0);
    }
    // Drops the front and appends `x` at the back.
    __device__ __forceinline__ void push(T x) {
        pop();
        if constexpr (sizeof(T) >= 4) {
            memcpy(words + WORDS - sizeof(T) / 4, &x, sizeof(T));
        } else {
            uint32_t bits = 0;
            memcpy(&bits, &x, sizeof(T));
            words[WORDS - 1] = words[WORDS - 1] & ~uint32_t(0) >> 8 * sizeof(T) | bits << (32 - 8 * sizeof(T));
        }
    }
    __device__ __forceinline__ T back() const {
        T x;
        if constexpr (sizeof(T) >= 4) {
            memcpy(&x, words + WORDS - sizeof(T) / 4, sizeof(T));
        } else {
            const uint32_t bits = words[WORDS - 1] >> (32 - 8 * sizeof(T));
            memcpy(&x, &bits, sizeof(T));
        }
        return x;
    }
};

// Elements that a thread takes at once: 16 bytes of the largest type, and at least a word of the smallest.
template <typename... T> __host__ __device__ constexpr unsigned lanes() {
    constexpr size_t sizes[] = {sizeof(T)...};
    size_t largest = 1, smallest = 16;
    for (size_t size : sizes) {
        largest = size > largest ? size : largest;
        smallest = size < smallest ? size : smallest;
    }
    return static_cast<unsigned>(16 / largest > 4 / smallest ? 16 / largest : 4 / smallest);
}

template <unsigned N, typename T> __device__ __forceinline__ Lanes<T, N> load_lanes(bool whole, const T *from) {
    Lanes<T, N> lanes = {};
    if (whole)
        lanes.load_all(from);
    else
        lanes.set_front(*from);
    return lanes;
}

template <unsigned N, typename Out, typename Op, typename... In>
__device__ __forceinline__ void map_lanes(bool whole, Out *out, Op op, Lanes<In, N>... in) {
    Lanes<Out, N> results = {};
    if constexpr (NVIDIA && N <= 8) {
#pragma unroll
        for (unsigned i = 0; i < N; ++i) {
            results.set(i, op(in.get(i)...));
            if (i == 0 && !whole) {
                *out = results.get(0);
                return;
            }
        }
        results.store_all(out);
    } else {
#pragma unroll 1
        for (unsigned left = whole ? N : 1; left > 0; --left) {
            results.push(op(in.front()...));
            (in.pop(), ...);
        }
        if (whole)
            results.store_all(out);
        else
            *out = results.back();
    }
}

template <typename Out, typename Op, typename... In, size_t... K>
__device__ __forceinline__ void map(std::index_sequence<K...>, size_t numel, const Layouts<sizeof...(In)> &layouts, Out *out, Op op,
                                    const In *...in) {
    constexpr unsigned N = lanes<Out, In...>();
    const bool wide = layouts.contiguous && Lanes<Out, N>::aligned(out) && (Lanes<In, N>::aligned(in) && ...);
    const size_t vectors = wide ? numel / N : 0;
    FOR_EACH_ELEMENT(i, numel - vectors * (N - 1)) {
        const bool whole = i < vectors;
        const size_t first = whole ? i * N : i + vectors * (N - 1);
        const auto from = layouts.offsets(first);
        map_lanes<N>(whole, out + first, op, load_lanes<N>(whole, in + from.at[K])...);
    }
}
// out[i] = op(in[i], …) for `numel` elements. Contiguous tensors are read and written with wide accesses if they are aligned for them.
template <typename Out, typename Op, typename... In>
__device__ __forceinline__ void map(size_t numel, size_t num_dims, const size_t *info, Out *out, Op op, const In *...in) {
    map(std::index_sequence_for<In...>(), numel, Layouts<sizeof...(In)>(num_dims, info), out, op, in...);
}
// The same for an operand that may be missing: then the operation is in place, for any layout.
template <typename T, typename Op>
__device__ __forceinline__ void map_or_in_place(size_t numel, size_t num_dims, const size_t *info, T *out, Op op, const T *inp) {
    map(numel, num_dims, inp ? info : nullptr, out, op, inp ? inp : static_cast<const T *>(out));
}

// The unsigned integer of a type's size: copies depend only on the size, and share their code.
template <size_t SIZE> struct BitsOf;
template <> struct BitsOf<1> {
    using type = uint8_t;
};
template <> struct BitsOf<2> {
    using type = uint16_t;
};
template <> struct BitsOf<4> {
    using type = uint32_t;
};
template <> struct BitsOf<8> {
    using type = uint64_t;
};
template <typename T> using bits_t = typename BitsOf<sizeof(T)>::type;
template <typename T> __device__ __forceinline__ const bits_t<T> *bits(const T *p) { return reinterpret_cast<const bits_t<T> *>(p); }
template <typename T> __device__ __forceinline__ bits_t<T> *bits(T *p) { return reinterpret_cast<bits_t<T> *>(p); }

// Integer arithmetic wraps around; unsigned arithmetic does so by definition.
template <typename T> struct Wrapping {
    using type = T;
};
template <> struct Wrapping<uint8_t> {
    using type = uint32_t;
};
template <> struct Wrapping<int16_t> {
    using type = uint32_t;
};
template <> struct Wrapping<int32_t> {
    using type = uint32_t;
};
template <> struct Wrapping<int64_t> {
    using type = uint64_t;
};
template <typename T> using wrapping_t = typename Wrapping<T>::type;

struct Add {
    template <typename T> static __device__ __forceinline__ T apply(T x, T y) { return static_cast<T>(wrapping_t<T>(x) + wrapping_t<T>(y)); }
};
struct Subtract {
    template <typename T> static __device__ __forceinline__ T apply(T x, T y) { return static_cast<T>(wrapping_t<T>(x) - wrapping_t<T>(y)); }
};
struct Multiply {
    template <typename T> static __device__ __forceinline__ T apply(T x, T y) { return static_cast<T>(wrapping_t<T>(x) * wrapping_t<T>(y)); }
};
// An integer divided by zero is all ones; the smallest one divided by -1 is itself.
struct Divide {
    template <typename T> static __device__ __forceinline__ T apply(T x, T y) {
        if constexpr (std::is_integral_v<T>) {
            if (y == 0)
                return static_cast<T>(~T(0));
            if (std::is_signed_v<T> && y == static_cast<T>(-1))
                return Subtract::apply(T(0), x);
        }
        return x / y;
    }
};
