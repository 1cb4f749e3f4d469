// Thrust's <thrust/sort.h> for AMD targets: stable sorts, of keys and with values.
#pragma once
#if !defined(__HIPCC_RTC__) && __has_include_next(<thrust/sort.h>)
#include "../ferrocm_letters_begin.h"
#include_next <thrust/sort.h>
#include "../ferrocm_letters_end.h"
#else
#include "../ferrocm_letters_begin.h"
#include "functional.h"
#include <algorithm>

namespace thrust {
namespace __ferrocm {
struct no_values {};
// Merges sorted runs of `width` into runs of twice the size: an item's position is its index in its run plus the number of items in
// the other run that come before it.
template <typename K, typename V, typename F> struct merge_one {
    const K *keys;
    K *to_keys;
    const V *values;
    V *to_values;
    size_t n, width;
    F less;
    __host__ __device__ void operator()(size_t i) {
        const size_t start = i / (2 * width) * (2 * width), middle = start + width < n ? start + width : n;
        const size_t last = start + 2 * width < n ? start + 2 * width : n;
        const bool left = i < middle;
        size_t low = left ? middle : start, high = left ? last : middle;
        const size_t other = low, own = i - (left ? start : middle);
        const K key = keys[i];
        while (low < high) {
            const size_t half = low + (high - low) / 2;
            if (left ? less(keys[half], key) : !less(key, keys[half]))
                low = half + 1;
            else
                high = half;
        }
        const size_t to = start + own + (low - other);
        to_keys[to] = key;
        if constexpr (!std::is_same<V, no_values>::value)
            to_values[to] = values[i];
    }
};
template <typename I, typename T> struct load_one {
    I from;
    T *to;
    __host__ __device__ void operator()(size_t i) const { to[i] = from[i]; }
};
template <typename T, typename O> struct store_one {
    const T *from;
    O to;
    __host__ __device__ void operator()(size_t i) const { to[i] = from[i]; }
};
// An insertion sort, for a kernel's few items.
template <typename I, typename F> __host__ __device__ inline void sort(const seq_policy &, I first, I last, F less) {
    for (ptrdiff_t i = 1; i < last - first; i++) {
        const value_of<I> key = first[i];
        ptrdiff_t j = i;
        for (; j > 0 && less(key, first[j - 1]); j--)
            first[j] = first[j - 1];
        first[j] = key;
    }
}
template <typename I, typename J, typename F> __host__ __device__ inline void sort_by_key(const seq_policy &, I first, I last, J values, F less) {
    for (ptrdiff_t i = 1; i < last - first; i++) {
        const value_of<I> key = first[i];
        const value_of<J> value = values[i];
        ptrdiff_t j = i;
        for (; j > 0 && less(key, first[j - 1]); j--) {
            first[j] = first[j - 1];
            values[j] = values[j - 1];
        }
        first[j] = key;
        values[j] = value;
    }
}
template <typename P, typename I, typename F> inline void sort(const P &policy, I first, I last, F less) {
    typedef value_of<I> K;
    const size_t n = static_cast<size_t>(last - first);
    if constexpr (on_device<P>::value) {
        if (n > 1) {
            typedef typename iterator<I>::raw R;
            scratch<K> one(n), two(n);
            K *from = one.at, *to = two.at;
            launch(policy, n, load_one<R, K>{raw(first), from});
            for (size_t width = 1; width < n; width *= 2) {
                launch(policy, n, merge_one<K, no_values, F>{from, to, nullptr, nullptr, n, width, less});
                std::swap(from, to);
            }
            launch(policy, n, store_one<K, R>{from, raw(first)});
            // The memory is used up to here.
            check((hipStreamSynchronize)(policy.stream));
        }
        end(policy);
    } else {
        std::stable_sort(first, last, less);
    }
}
template <typename P, typename I, typename J, typename F> inline void sort_by_key(const P &policy, I first, I last, J values, F less) {
    typedef value_of<I> K;
    typedef value_of<J> V;
    const size_t n = static_cast<size_t>(last - first);
    if constexpr (on_device<P>::value) {
        if (n > 1) {
            typedef typename iterator<I>::raw R;
            typedef typename iterator<J>::raw S;
            scratch<K> one(n), two(n);
            scratch<V> three(n), four(n);
            K *from = one.at, *to = two.at;
            V *from_values = three.at, *to_values = four.at;
            launch(policy, n, load_one<R, K>{raw(first), from});
            launch(policy, n, load_one<S, V>{raw(values), from_values});
            for (size_t width = 1; width < n; width *= 2) {
                launch(policy, n, merge_one<K, V, F>{from, to, from_values, to_values, n, width, less});
                std::swap(from, to);
                std::swap(from_values, to_values);
            }
            launch(policy, n, store_one<K, R>{from, raw(first)});
            launch(policy, n, store_one<V, S>{from_values, raw(values)});
            check((hipStreamSynchronize)(policy.stream));
        }
        end(policy);
    } else {
        std::vector<size_t> order(n);
        std::vector<K> keys(first, last);
        std::vector<V> old(values, values + static_cast<ptrdiff_t>(n));
        for (size_t i = 0; i < n; i++)
            order[i] = i;
        std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return less(keys[a], keys[b]); });
        for (size_t i = 0; i < n; i++) {
            first[i] = keys[order[i]];
            values[i] = old[order[i]];
        }
    }
}
template <typename P, typename I> __host__ __device__ inline void sort(const P &policy, I first, I last) {
    __ferrocm::sort(policy, first, last, thrust::less<>());
}
template <typename P, typename I, typename J> __host__ __device__ inline void sort_by_key(const P &policy, I first, I last, J values) {
    __ferrocm::sort_by_key(policy, first, last, values, thrust::less<>());
}
template <typename P, typename... A> __host__ __device__ inline void stable_sort(const P &policy, A... arguments) { __ferrocm::sort(policy, arguments...); }
template <typename P, typename... A> __host__ __device__ inline void stable_sort_by_key(const P &policy, A... arguments) {
    __ferrocm::sort_by_key(policy, arguments...);
}
} // namespace __ferrocm
__CUDA_THRUST_ALGORITHM(sort, (typename I), (I first, I last), (first, last), (I), I)
__CUDA_THRUST_ALGORITHM(sort, (typename I, typename F), (I first, I last, F less), (first, last, less), (I), I)
__CUDA_THRUST_ALGORITHM(stable_sort, (typename I), (I first, I last), (first, last), (I), I)
__CUDA_THRUST_ALGORITHM(stable_sort, (typename I, typename F), (I first, I last, F less), (first, last, less), (I), I)
__CUDA_THRUST_ALGORITHM(sort_by_key, (typename I, typename J), (I first, I last, J values), (first, last, values), (I, J), I)
__CUDA_THRUST_ALGORITHM(sort_by_key, (typename I, typename J, typename F), (I first, I last, J values, F less), (first, last, values, less), (I, J), I)
__CUDA_THRUST_ALGORITHM(stable_sort_by_key, (typename I, typename J), (I first, I last, J values), (first, last, values), (I, J), I)
__CUDA_THRUST_ALGORITHM(stable_sort_by_key, (typename I, typename J, typename F), (I first, I last, J values, F less), (first, last, values, less), (I, J), I)
} // namespace thrust
#include "../ferrocm_letters_end.h"
#endif
