// CUB's <cub/block/block_radix_sort.cuh> for AMD targets: a stable sort of a block's keys, with values or without.
#pragma once
#include "../../ferrocm_letters_begin.h"
#include "block_exchange.cuh"
#include "block_scan.cuh"
#include "../../cuda/std/tuple"

namespace cub {
// Bit by bit: keys with 0 go before keys with 1, both in their previous order.
template <typename KeyT, int BLOCK_DIM_X, int ITEMS, typename ValueT = NullType, int RADIX_BITS = 4, bool MEMOIZE_OUTER_SCAN = true,
          BlockScanAlgorithm INNER_SCAN_ALGORITHM = BLOCK_SCAN_WARP_SCANS, hipSharedMemConfig SMEM_CONFIG = hipSharedMemBankSizeFourByte,
          int BLOCK_DIM_Y = 1, int BLOCK_DIM_Z = 1, int LEGACY_PTX_ARCH = 0>
class BlockRadixSort {
    static constexpr int THREADS = BLOCK_DIM_X * BLOCK_DIM_Y * BLOCK_DIM_Z;
    static constexpr bool KEYS_ONLY = std::is_same<ValueT, NullType>::value;
    typedef BlockScan<int, BLOCK_DIM_X, INNER_SCAN_ALGORITHM, BLOCK_DIM_Y, BLOCK_DIM_Z> Scan;
    typedef BlockExchange<KeyT, BLOCK_DIM_X, ITEMS, false, BLOCK_DIM_Y, BLOCK_DIM_Z> ExchangeKeys;
    typedef BlockExchange<ValueT, BLOCK_DIM_X, ITEMS, false, BLOCK_DIM_Y, BLOCK_DIM_Z> ExchangeValues;
    template <typename D> using IsDecomposer = typename std::enable_if<std::is_class<D>::value, int>::type;

  public:
    union TempStorage {
        typename Scan::TempStorage scan;
        typename ExchangeKeys::TempStorage keys;
        typename ExchangeValues::TempStorage values;
    };
    CUB_INLINE BlockRadixSort() : storage(__cuda_private_storage<BlockRadixSort>()) {}
    CUB_INLINE explicit BlockRadixSort(TempStorage &storage) : storage(storage) {}

    CUB_INLINE void Sort(KeyT (&keys)[ITEMS], int begin_bit = 0, int end_bit = sizeof(KeyT) * 8) {
        NullType none[ITEMS];
        All<false, false>(keys, none, Number(), begin_bit, end_bit);
    }
    template <typename V>
    CUB_INLINE void Sort(KeyT (&keys)[ITEMS], V (&values)[ITEMS], int begin_bit = 0, int end_bit = sizeof(KeyT) * 8) {
        All<false, false>(keys, values, Number(), begin_bit, end_bit);
    }
    // Keys that a function decomposes into a tuple of references, the most significant first.
    template <typename D, IsDecomposer<D> = 0> CUB_INLINE void Sort(KeyT (&keys)[ITEMS], D decomposer) {
        Sort(keys, decomposer, 0, BitsOf(decomposer, keys[0]));
    }
    template <typename D, IsDecomposer<D> = 0>
    CUB_INLINE void Sort(KeyT (&keys)[ITEMS], D decomposer, int begin_bit, int end_bit) {
        NullType none[ITEMS];
        All<false, false>(keys, none, Fields<D>{decomposer}, begin_bit, end_bit);
    }
    template <typename V, typename D, IsDecomposer<D> = 0>
    CUB_INLINE void Sort(KeyT (&keys)[ITEMS], V (&values)[ITEMS], D decomposer) {
        Sort(keys, values, decomposer, 0, BitsOf(decomposer, keys[0]));
    }
    template <typename V, typename D, IsDecomposer<D> = 0>
    CUB_INLINE void Sort(KeyT (&keys)[ITEMS], V (&values)[ITEMS], D decomposer, int begin_bit, int end_bit) {
        All<false, false>(keys, values, Fields<D>{decomposer}, begin_bit, end_bit);
    }
    CUB_INLINE void SortDescending(KeyT (&keys)[ITEMS], int begin_bit = 0, int end_bit = sizeof(KeyT) * 8) {
        NullType none[ITEMS];
        All<true, false>(keys, none, Number(), begin_bit, end_bit);
    }
    template <typename V>
    CUB_INLINE void SortDescending(KeyT (&keys)[ITEMS], V (&values)[ITEMS], int begin_bit = 0, int end_bit = sizeof(KeyT) * 8) {
        All<true, false>(keys, values, Number(), begin_bit, end_bit);
    }
    // Keys that a function decomposes into a tuple of references, the most significant first.
    template <typename D, IsDecomposer<D> = 0> CUB_INLINE void SortDescending(KeyT (&keys)[ITEMS], D decomposer) {
        SortDescending(keys, decomposer, 0, BitsOf(decomposer, keys[0]));
    }
    template <typename D, IsDecomposer<D> = 0>
    CUB_INLINE void SortDescending(KeyT (&keys)[ITEMS], D decomposer, int begin_bit, int end_bit) {
        NullType none[ITEMS];
        All<true, false>(keys, none, Fields<D>{decomposer}, begin_bit, end_bit);
    }
    template <typename V, typename D, IsDecomposer<D> = 0>
    CUB_INLINE void SortDescending(KeyT (&keys)[ITEMS], V (&values)[ITEMS], D decomposer) {
        SortDescending(keys, values, decomposer, 0, BitsOf(decomposer, keys[0]));
    }
    template <typename V, typename D, IsDecomposer<D> = 0>
    CUB_INLINE void SortDescending(KeyT (&keys)[ITEMS], V (&values)[ITEMS], D decomposer, int begin_bit, int end_bit) {
        All<true, false>(keys, values, Fields<D>{decomposer}, begin_bit, end_bit);
    }
    CUB_INLINE void SortBlockedToStriped(KeyT (&keys)[ITEMS], int begin_bit = 0, int end_bit = sizeof(KeyT) * 8) {
        NullType none[ITEMS];
        All<false, true>(keys, none, Number(), begin_bit, end_bit);
    }
    template <typename V>
    CUB_INLINE void SortBlockedToStriped(KeyT (&keys)[ITEMS], V (&values)[ITEMS], int begin_bit = 0, int end_bit = sizeof(KeyT) * 8) {
        All<false, true>(keys, values, Number(), begin_bit, end_bit);
    }
    // Keys that a function decomposes into a tuple of references, the most significant first.
    template <typename D, IsDecomposer<D> = 0> CUB_INLINE void SortBlockedToStriped(KeyT (&keys)[ITEMS], D decomposer) {
        SortBlockedToStriped(keys, decomposer, 0, BitsOf(decomposer, keys[0]));
    }
    template <typename D, IsDecomposer<D> = 0>
    CUB_INLINE void SortBlockedToStriped(KeyT (&keys)[ITEMS], D decomposer, int begin_bit, int end_bit) {
        NullType none[ITEMS];
        All<false, true>(keys, none, Fields<D>{decomposer}, begin_bit, end_bit);
    }
    template <typename V, typename D, IsDecomposer<D> = 0>
    CUB_INLINE void SortBlockedToStriped(KeyT (&keys)[ITEMS], V (&values)[ITEMS], D decomposer) {
        SortBlockedToStriped(keys, values, decomposer, 0, BitsOf(decomposer, keys[0]));
    }
    template <typename V, typename D, IsDecomposer<D> = 0>
    CUB_INLINE void SortBlockedToStriped(KeyT (&keys)[ITEMS], V (&values)[ITEMS], D decomposer, int begin_bit, int end_bit) {
        All<false, true>(keys, values, Fields<D>{decomposer}, begin_bit, end_bit);
    }
    CUB_INLINE void SortDescendingBlockedToStriped(KeyT (&keys)[ITEMS], int begin_bit = 0, int end_bit = sizeof(KeyT) * 8) {
        NullType none[ITEMS];
        All<true, true>(keys, none, Number(), begin_bit, end_bit);
    }
    template <typename V>
    CUB_INLINE void SortDescendingBlockedToStriped(KeyT (&keys)[ITEMS], V (&values)[ITEMS], int begin_bit = 0, int end_bit = sizeof(KeyT) * 8) {
        All<true, true>(keys, values, Number(), begin_bit, end_bit);
    }
    // Keys that a function decomposes into a tuple of references, the most significant first.
    template <typename D, IsDecomposer<D> = 0> CUB_INLINE void SortDescendingBlockedToStriped(KeyT (&keys)[ITEMS], D decomposer) {
        SortDescendingBlockedToStriped(keys, decomposer, 0, BitsOf(decomposer, keys[0]));
    }
    template <typename D, IsDecomposer<D> = 0>
    CUB_INLINE void SortDescendingBlockedToStriped(KeyT (&keys)[ITEMS], D decomposer, int begin_bit, int end_bit) {
        NullType none[ITEMS];
        All<true, true>(keys, none, Fields<D>{decomposer}, begin_bit, end_bit);
    }
    template <typename V, typename D, IsDecomposer<D> = 0>
    CUB_INLINE void SortDescendingBlockedToStriped(KeyT (&keys)[ITEMS], V (&values)[ITEMS], D decomposer) {
        SortDescendingBlockedToStriped(keys, values, decomposer, 0, BitsOf(decomposer, keys[0]));
    }
    template <typename V, typename D, IsDecomposer<D> = 0>
    CUB_INLINE void SortDescendingBlockedToStriped(KeyT (&keys)[ITEMS], V (&values)[ITEMS], D decomposer, int begin_bit, int end_bit) {
        All<true, true>(keys, values, Fields<D>{decomposer}, begin_bit, end_bit);
    }

  private:
    // A bit of a key that is a number, in the order of such keys.
    struct Number {
        __device__ bool operator()(KeyT &key, int bit) const {
            static_assert(Traits<KeyT>::PRIMITIVE, "keys must be numbers, or have a decomposer");
            return static_cast<typename Traits<KeyT>::UnsignedBits>(Traits<KeyT>::Ordered(key) >> bit) & 1;
        }
    };
    // A bit of the numbers that a key consists of; the last has the lowest bits.
    template <typename D> struct Fields {
        D decomposer;
        __device__ bool operator()(KeyT &key, int bit) { return BitOf<std::tuple_size<decltype(decomposer(key))>::value>(decomposer(key), bit); }
    };
    template <std::size_t N, typename Tuple> static __device__ bool BitOf(Tuple fields, int bit) {
        using Field = typename std::remove_cv<typename std::remove_reference<decltype(std::get<N - 1>(fields))>::type>::type;
        constexpr int width = sizeof(Field) * 8;
        if constexpr (N > 1)
            if (bit >= width)
                return BitOf<N - 1>(fields, bit - width);
        return static_cast<typename Traits<Field>::UnsignedBits>(Traits<Field>::Ordered(std::get<N - 1>(fields)) >> bit) & 1;
    }
    template <typename... Ts> static __device__ constexpr int WidthOf(cuda::std::tuple<Ts...>) { return (0 + ... + int(sizeof(Ts) * 8)); }
    template <typename D> static __device__ int BitsOf(D decomposer, KeyT &key) { return WidthOf(decomposer(key)); }
    TempStorage &storage;
    template <bool DESCENDING, bool STRIPED, typename V, typename Bit>
    __device__ void All(KeyT (&keys)[ITEMS], V (&values)[ITEMS], Bit bit_of, int begin_bit, int end_bit) {
        for (int bit = begin_bit; bit < end_bit; bit++) {
            int zeros[ITEMS], before[ITEMS], ranks[ITEMS], total;
            for (int i = 0; i < ITEMS; i++) {
                const bool set = bit_of(keys[i], bit);
                zeros[i] = set == DESCENDING;
            }
            Scan(storage.scan).ExclusiveSum(zeros, before, total);
            const int first = __cuda_thread<BLOCK_DIM_X, BLOCK_DIM_Y, BLOCK_DIM_Z>() * ITEMS;
            for (int i = 0; i < ITEMS; i++)
                ranks[i] = zeros[i] ? before[i] : total + first + i - before[i];
            __syncthreads();
            ExchangeKeys(storage.keys).ScatterToBlocked(keys, ranks);
            __syncthreads();
            if constexpr (!std::is_same<V, NullType>::value) {
                ExchangeValues(storage.values).ScatterToBlocked(values, ranks);
                __syncthreads();
            }
        }
        if constexpr (STRIPED) {
            ExchangeKeys(storage.keys).BlockedToStriped(keys);
            __syncthreads();
            if constexpr (!std::is_same<V, NullType>::value)
                ExchangeValues(storage.values).BlockedToStriped(values);
        }
    }
};
} // namespace cub
#include "../../ferrocm_letters_end.h"
