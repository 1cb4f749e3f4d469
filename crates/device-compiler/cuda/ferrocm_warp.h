// CUDA's warps on waves of 32 and 64 lanes.
//
// A warp has 32 lanes here too. A wave of 32 is one warp; a wave of 64 is two, its lower and its upper half. Lanes, masks and
// ballots are those of the warp: the upper half's lane 0 is the wave's lane 32. No function moves a value between the halves.
//
// A mask selects the lanes whose values count. It does not make lanes wait for each other: AMD's lanes run in step and reconverge where
// the control flow does. So the lanes of a mask must arrive together, as in CUDA programs before Volta.
#pragma once
#include "ferrocm_letters_begin.h"
#define __CUDA_WARP_INLINE static __device__ __attribute__((always_inline, unused)) inline
// A lane that does not take part may pass an uninitialised value.
#if __has_attribute(maybe_undef)
#define __CUDA_MAYBE_UNDEF __attribute__((maybe_undef))
#else
#define __CUDA_MAYBE_UNDEF
#endif

static constexpr int __cuda_warp_size = 32;

// The warp's first lane in its wave: 0 or 32.
__CUDA_WARP_INLINE unsigned __cuda_warp_base() { return __lane_id() & 32u; }
__CUDA_WARP_INLINE unsigned __cuda_lane() { return __lane_id() & 31u; }

// The warp's part of a wave's mask.
__CUDA_WARP_INLINE unsigned __cuda_of_warp(unsigned long long wave) { return static_cast<unsigned>(wave >> __cuda_warp_base()); }

__CUDA_WARP_INLINE unsigned __cuda_ballot(int predicate) { return __cuda_of_warp(__ballot(predicate)); }
__CUDA_WARP_INLINE int __cuda_any(int predicate) { return __cuda_ballot(predicate) != 0; }
__CUDA_WARP_INLINE int __cuda_all(int predicate) { return __cuda_ballot(!predicate) == 0; }
__CUDA_WARP_INLINE unsigned __cuda_activemask() { return __cuda_ballot(1); }

__CUDA_WARP_INLINE unsigned __cuda_ballot_sync(unsigned mask, int predicate) { return __cuda_ballot(predicate) & mask; }
__CUDA_WARP_INLINE int __cuda_any_sync(unsigned mask, int predicate) { return __cuda_ballot_sync(mask, predicate) != 0; }
__CUDA_WARP_INLINE int __cuda_all_sync(unsigned mask, int predicate) { return __cuda_ballot_sync(mask, !predicate) == 0; }

// Makes earlier writes of the lanes visible to later reads.
__CUDA_WARP_INLINE void __cuda_syncwarp(unsigned = 0xffffffffu) {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
    __builtin_amdgcn_wave_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}

// A value as 32-bit words; the last may be partial.
template <typename T> struct __cuda_words {
    static constexpr unsigned count = (sizeof(T) + 3) / 4;
    int word[count];
    __device__ __attribute__((always_inline)) explicit __cuda_words(const T &value) {
        word[count - 1] = 0;
        __builtin_memcpy(static_cast<void *>(word), static_cast<const void *>(&value), sizeof(T));
    }
    __device__ __attribute__((always_inline)) T value() const {
        union Storage {
            char none;
            T value;
            __device__ Storage() : none(0) {}
        } storage;
        __builtin_memcpy(static_cast<void *>(&storage.value), static_cast<const void *>(word), sizeof(T));
        return storage.value;
    }
};

// The value of one lane of the warp.
template <typename T> __CUDA_WARP_INLINE T __cuda_from_lane(__CUDA_MAYBE_UNDEF T value, unsigned lane) {
    __cuda_words<T> words(value);
    const int address = static_cast<int>((__cuda_warp_base() + lane) << 2);
    for (unsigned i = 0; i < __cuda_words<T>::count; i++)
        words.word[i] = __builtin_amdgcn_ds_bpermute(address, words.word[i]);
    return words.value();
}

// The source lane of each shuffle. A lane whose source is outside its group of `width` lanes reads its own value.
__CUDA_WARP_INLINE unsigned __cuda_source(int lane, int width) {
    return (static_cast<unsigned>(lane) & (width - 1u)) | (__cuda_lane() & ~(width - 1u));
}
__CUDA_WARP_INLINE unsigned __cuda_source_up(unsigned delta, int width) {
    const unsigned lane = __cuda_lane();
    return delta > (lane & (width - 1u)) ? lane : lane - delta;
}
__CUDA_WARP_INLINE unsigned __cuda_source_down(unsigned delta, int width) {
    const unsigned lane = __cuda_lane(), room = width - 1u - (lane & (width - 1u));
    return delta > room ? lane : lane + delta;
}
// A lane can read from groups before its own, but not from later ones.
__CUDA_WARP_INLINE unsigned __cuda_source_xor(int mask, int width) {
    const unsigned lane = __cuda_lane(), source = lane ^ static_cast<unsigned>(mask);
    return source >= ((lane + width) & ~(width - 1u)) ? lane : source;
}

template <typename T> __CUDA_WARP_INLINE T __cuda_shfl(__CUDA_MAYBE_UNDEF T value, int lane, int width = 32) {
    return __cuda_from_lane(value, __cuda_source(lane, width));
}
template <typename T> __CUDA_WARP_INLINE T __cuda_shfl_up(__CUDA_MAYBE_UNDEF T value, unsigned delta, int width = 32) {
    return __cuda_from_lane(value, __cuda_source_up(delta, width));
}
template <typename T> __CUDA_WARP_INLINE T __cuda_shfl_down(__CUDA_MAYBE_UNDEF T value, unsigned delta, int width = 32) {
    return __cuda_from_lane(value, __cuda_source_down(delta, width));
}
template <typename T> __CUDA_WARP_INLINE T __cuda_shfl_xor(__CUDA_MAYBE_UNDEF T value, int mask, int width = 32) {
    return __cuda_from_lane(value, __cuda_source_xor(mask, width));
}
template <typename T> __CUDA_WARP_INLINE T __cuda_shfl_sync(unsigned, __CUDA_MAYBE_UNDEF T value, int lane, int width = 32) {
    return __cuda_shfl(value, lane, width);
}
template <typename T> __CUDA_WARP_INLINE T __cuda_shfl_up_sync(unsigned, __CUDA_MAYBE_UNDEF T value, unsigned delta, int width = 32) {
    return __cuda_shfl_up(value, delta, width);
}
template <typename T> __CUDA_WARP_INLINE T __cuda_shfl_down_sync(unsigned, __CUDA_MAYBE_UNDEF T value, unsigned delta, int width = 32) {
    return __cuda_shfl_down(value, delta, width);
}
template <typename T> __CUDA_WARP_INLINE T __cuda_shfl_xor_sync(unsigned, __CUDA_MAYBE_UNDEF T value, int mask, int width = 32) {
    return __cuda_shfl_xor(value, mask, width);
}

// The lanes of the warp with the same bits, in one round per distinct value in the wave. All lanes stay in the loop until the
// last is done: the active mask of a lane that left could otherwise be computed after the loop, together with other lanes.
template <typename T> __CUDA_WARP_INLINE unsigned __cuda_match_any_sync(unsigned mask, T value) {
    const __cuda_words<T> words(value);
    unsigned same = 0;
    bool done = false;
    while (__ballot(!done) != 0) {
        if (!done) {
            bool first = true;
            for (unsigned i = 0; i < __cuda_words<T>::count; i++)
                first = first && __builtin_amdgcn_readfirstlane(words.word[i]) == words.word[i];
            if (first) {
                same = __cuda_activemask();
                done = true;
            }
        }
    }
    return same & mask;
}

template <typename T> __CUDA_WARP_INLINE unsigned __cuda_match_all_sync(unsigned mask, T value, int *all) {
    const unsigned present = __cuda_activemask() & mask;
    const __cuda_words<T> own(value), first(__cuda_from_lane(value, __builtin_ctz(present | 0x80000000u)));
    bool same = true;
    for (unsigned i = 0; i < __cuda_words<T>::count; i++)
        same = same && own.word[i] == first.word[i];
    *all = __cuda_all_sync(mask, same);
    return *all ? mask : 0;
}

// Reductions. With all lanes of the wave and full masks, five exchanges are enough. Otherwise each lane loops over its mask's lanes.
template <typename Op, typename T> __CUDA_WARP_INLINE T __cuda_reduce(unsigned mask, T value) {
    const unsigned present = __cuda_activemask() & mask;
    if (__ballot(present != 0xffffffffu) == 0) {
        for (int distance = 16; distance > 0; distance /= 2)
            value = Op::apply(value, __cuda_from_lane(value, __cuda_lane() ^ distance));
        return value;
    }
    T total = value;
    bool empty = true;
    for (unsigned lane = 0; lane < 32; lane++) {
        const T other = __cuda_from_lane(value, lane);
        if (present >> lane & 1) {
            total = empty ? other : Op::apply(total, other);
            empty = false;
        }
    }
    return total;
}
#define __CUDA_REDUCTION(NAME, EXPRESSION)                                                                              \
    struct __cuda_op_##NAME {                                                                                           \
        template <typename T> static __device__ __attribute__((always_inline)) T apply(T a, T b) { return EXPRESSION; } \
    };
__CUDA_REDUCTION(add, a + b)
__CUDA_REDUCTION(min, b < a ? b : a)
__CUDA_REDUCTION(max, a < b ? b : a)
__CUDA_REDUCTION(and, a & b)
__CUDA_REDUCTION(or, a | b)
__CUDA_REDUCTION(xor, a ^ b)
#undef __CUDA_REDUCTION
// Sums wrap modulo 2^32.
__CUDA_WARP_INLINE unsigned __cuda_reduce_add_sync(unsigned mask, unsigned value) { return __cuda_reduce<__cuda_op_add>(mask, value); }
__CUDA_WARP_INLINE int __cuda_reduce_add_sync(unsigned mask, int value) {
    return static_cast<int>(__cuda_reduce<__cuda_op_add>(mask, static_cast<unsigned>(value)));
}
__CUDA_WARP_INLINE unsigned __cuda_reduce_min_sync(unsigned mask, unsigned value) { return __cuda_reduce<__cuda_op_min>(mask, value); }
__CUDA_WARP_INLINE int __cuda_reduce_min_sync(unsigned mask, int value) { return __cuda_reduce<__cuda_op_min>(mask, value); }
__CUDA_WARP_INLINE unsigned __cuda_reduce_max_sync(unsigned mask, unsigned value) { return __cuda_reduce<__cuda_op_max>(mask, value); }
__CUDA_WARP_INLINE int __cuda_reduce_max_sync(unsigned mask, int value) { return __cuda_reduce<__cuda_op_max>(mask, value); }
__CUDA_WARP_INLINE unsigned __cuda_reduce_and_sync(unsigned mask, unsigned value) { return __cuda_reduce<__cuda_op_and>(mask, value); }
__CUDA_WARP_INLINE unsigned __cuda_reduce_or_sync(unsigned mask, unsigned value) { return __cuda_reduce<__cuda_op_or>(mask, value); }
__CUDA_WARP_INLINE unsigned __cuda_reduce_xor_sync(unsigned mask, unsigned value) { return __cuda_reduce<__cuda_op_xor>(mask, value); }

#undef __CUDA_WARP_INLINE
#undef __CUDA_MAYBE_UNDEF
#include "ferrocm_letters_end.h"
