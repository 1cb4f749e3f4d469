// CUDA's <cooperative_groups.h> for AMD targets: groups of a grid, a block, and a warp of 32 lanes. In HIP's dialect, these are HIP's,
// whose tiles and coalesced groups belong to a wave.
#pragma once
#define _COOPERATIVE_GROUPS_H_
#include "ferrocm_letters_begin.h"
#include "cuda_runtime.h"
#if !defined(__FERROCM_CUDA__)
#include <hip/hip_cooperative_groups.h>
#else
// HIP's groups under another name, for everything larger than a block.
#include "ferrocm_hip_begin.h"
#define cooperative_groups __cuda_hip_groups
// HIP's is an object, for which a program's operators of vectors may be meant as well.
#define warpSize static_cast<int>(__builtin_amdgcn_wavefrontsize())
#include <hip/hip_cooperative_groups.h>
#undef warpSize
#undef cooperative_groups
#include "ferrocm_hip_end.h"

#define __CUDA_GROUP_INLINE __device__ __attribute__((always_inline, unused)) inline
namespace cooperative_groups {
using __cuda_hip_groups::multi_grid_group;
using __cuda_hip_groups::this_multi_grid;

namespace __cuda_groups {
__CUDA_GROUP_INLINE unsigned block_rank() { return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }
__CUDA_GROUP_INLINE unsigned block_size() { return blockDim.x * blockDim.y * blockDim.z; }
__CUDA_GROUP_INLINE unsigned lanes_before() { return (1u << __cuda_lane()) - 1; }
// The lane with a given rank in a mask.
__CUDA_GROUP_INLINE unsigned lane_of(unsigned mask, unsigned rank) {
    if (mask == 0xffffffffu)
        return rank & 31;
    for (; rank > 0 && (mask & (mask - 1)) != 0; rank--)
        mask &= mask - 1;
    return __builtin_ctz(mask | 0x80000000u);
}
// The bits of a mask's lanes, packed in rank order.
__CUDA_GROUP_INLINE unsigned by_rank(unsigned mask, unsigned bits) {
    if (mask == 0xffffffffu)
        return bits;
    unsigned result = 0;
    for (unsigned rank = 0; mask != 0; rank++, mask &= mask - 1)
        result |= (bits >> __builtin_ctz(mask) & 1) << rank;
    return result;
}
} // namespace __cuda_groups

// Any group: tiles, blocks and grids convert to this for functions that take all of them.
class thread_group {
  public:
    enum __cuda_kind { __cuda_lanes, __cuda_block, __cuda_grid };
    typedef unsigned long long size_type;
    __CUDA_GROUP_INLINE size_type size() const {
        return kind == __cuda_lanes   ? __builtin_popcount(lanes)
               : kind == __cuda_block ? __cuda_groups::block_size()
                                      : static_cast<size_type>(gridDim.x) * gridDim.y * gridDim.z * __cuda_groups::block_size();
    }
    __CUDA_GROUP_INLINE size_type num_threads() const { return size(); }
    __CUDA_GROUP_INLINE size_type thread_rank() const {
        if (kind == __cuda_lanes)
            return __builtin_popcount(lanes & __cuda_groups::lanes_before());
        const size_type block = (static_cast<size_type>(blockIdx.z) * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
        return (kind == __cuda_grid ? block * __cuda_groups::block_size() : 0) + __cuda_groups::block_rank();
    }
    __CUDA_GROUP_INLINE void sync() const {
        if (kind == __cuda_lanes)
            __cuda_syncwarp(lanes);
        else if (kind == __cuda_block)
            __syncthreads();
        else
            __cuda_hip_groups::this_grid().sync();
    }
    __CUDA_GROUP_INLINE bool is_valid() const { return kind != __cuda_grid || __cuda_hip_groups::this_grid().is_valid(); }
    __CUDA_GROUP_INLINE thread_group(__cuda_kind kind, unsigned lanes) : kind(kind), lanes(lanes) {}

  protected:
    __cuda_kind kind;
    // The group's lanes in the warp.
    unsigned lanes;
};

template <unsigned MaxBlockSize = 1> struct block_tile_memory {};

class thread_block : public thread_group {
  public:
    struct arrival_token {};
    __CUDA_GROUP_INLINE thread_block() : thread_group(__cuda_block, 0) {}
    static __CUDA_GROUP_INLINE void sync() { __syncthreads(); }
    static __CUDA_GROUP_INLINE unsigned thread_rank() { return __cuda_groups::block_rank(); }
    static __CUDA_GROUP_INLINE unsigned size() { return __cuda_groups::block_size(); }
    static __CUDA_GROUP_INLINE unsigned num_threads() { return __cuda_groups::block_size(); }
    static __CUDA_GROUP_INLINE dim3 group_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
    static __CUDA_GROUP_INLINE dim3 thread_index() { return dim3(threadIdx.x, threadIdx.y, threadIdx.z); }
    static __CUDA_GROUP_INLINE dim3 group_dim() { return dim3(blockDim.x, blockDim.y, blockDim.z); }
    static __CUDA_GROUP_INLINE dim3 dim_threads() { return group_dim(); }
    // The wait does all the work of the barrier: every thread that has arrived gets to it.
    static __CUDA_GROUP_INLINE arrival_token barrier_arrive() { return arrival_token(); }
    static __CUDA_GROUP_INLINE void barrier_wait(arrival_token &&) { __syncthreads(); }
};
__CUDA_GROUP_INLINE thread_block this_thread_block() { return thread_block(); }
template <unsigned MaxBlockSize> __CUDA_GROUP_INLINE thread_block this_thread_block(block_tile_memory<MaxBlockSize> &) { return thread_block(); }

class grid_group : public thread_group {
  public:
    __CUDA_GROUP_INLINE grid_group() : thread_group(__cuda_grid, 0) {}
    static __CUDA_GROUP_INLINE dim3 group_dim() { return dim3(gridDim.x, gridDim.y, gridDim.z); }
    static __CUDA_GROUP_INLINE dim3 dim_blocks() { return group_dim(); }
    static __CUDA_GROUP_INLINE size_type num_blocks() { return static_cast<size_type>(gridDim.x) * gridDim.y * gridDim.z; }
    static __CUDA_GROUP_INLINE dim3 block_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
    static __CUDA_GROUP_INLINE size_type block_rank() {
        return (static_cast<size_type>(blockIdx.z) * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    }
};
__CUDA_GROUP_INLINE grid_group this_grid() { return grid_group(); }

// The common part of tiles and coalesced groups: lanes of a warp. `Group` maps ranks to lanes.
template <typename Group> class __cuda_lane_group : public thread_group {
    unsigned meta_rank, meta_size;

  protected:
    __CUDA_GROUP_INLINE __cuda_lane_group(unsigned lanes, unsigned meta_rank, unsigned meta_size)
        : thread_group(__cuda_lanes, lanes), meta_rank(meta_rank), meta_size(meta_size) {}
    __CUDA_GROUP_INLINE const Group &self() const { return static_cast<const Group &>(*this); }
    // The group's part of a warp's bits, in rank order.
    __CUDA_GROUP_INLINE unsigned own(unsigned bits) const { return self().by_rank(bits & lanes); }

  public:
    __CUDA_GROUP_INLINE unsigned size() const { return __builtin_popcount(lanes); }
    __CUDA_GROUP_INLINE unsigned num_threads() const { return size(); }
    __CUDA_GROUP_INLINE unsigned thread_rank() const { return __builtin_popcount(lanes & __cuda_groups::lanes_before()); }
    __CUDA_GROUP_INLINE unsigned meta_group_rank() const { return meta_rank; }
    __CUDA_GROUP_INLINE unsigned meta_group_size() const { return meta_size; }
    __CUDA_GROUP_INLINE void sync() const { __cuda_syncwarp(lanes); }
    __CUDA_GROUP_INLINE unsigned __cuda_mask() const { return lanes; }

    template <typename T> __CUDA_GROUP_INLINE T shfl(T value, unsigned rank) const { return __cuda_from_lane(value, self().lane(rank)); }
    // A thread without a partner keeps its value.
    template <typename T> __CUDA_GROUP_INLINE T shfl_up(T value, unsigned delta) const {
        const unsigned rank = self().thread_rank();
        return shfl(value, rank < delta ? rank : rank - delta);
    }
    template <typename T> __CUDA_GROUP_INLINE T shfl_down(T value, unsigned delta) const {
        const unsigned rank = self().thread_rank();
        return shfl(value, rank + delta < self().size() ? rank + delta : rank);
    }
    __CUDA_GROUP_INLINE int any(int predicate) const { return (__cuda_ballot(predicate) & lanes) != 0; }
    __CUDA_GROUP_INLINE int all(int predicate) const { return (__cuda_ballot(!predicate) & lanes) == 0; }
    __CUDA_GROUP_INLINE unsigned ballot(int predicate) const { return own(__cuda_ballot(predicate)); }
    template <typename T> __CUDA_GROUP_INLINE unsigned match_any(T value) const { return own(__cuda_match_any_sync(lanes, value)); }
    template <typename T> __CUDA_GROUP_INLINE unsigned match_all(T value, int &same) const {
        return own(__cuda_match_all_sync(lanes, value, &same));
    }
};

template <unsigned Size, typename Parent = void, bool Wide = (Size > 32)>
class thread_block_tile : public __cuda_lane_group<thread_block_tile<Size, Parent, Wide>> {
    static_assert(Size >= 1 && (Size & (Size - 1)) == 0, "a tile has 1, 2, 4 … threads");
    typedef __cuda_lane_group<thread_block_tile> base;

  public:
    static constexpr __CUDA_GROUP_INLINE unsigned size() { return Size; }
    static constexpr __CUDA_GROUP_INLINE unsigned num_threads() { return Size; }
    static __CUDA_GROUP_INLINE unsigned thread_rank() { return __cuda_lane() & (Size - 1); }
    static __CUDA_GROUP_INLINE unsigned by_rank(unsigned bits) { return bits >> (__cuda_lane() & ~(Size - 1) & 31); }
    static __CUDA_GROUP_INLINE unsigned lane(unsigned rank) { return (__cuda_lane() & ~(Size - 1)) | (rank & (Size - 1)); }
    template <typename T> __CUDA_GROUP_INLINE T shfl_xor(T value, unsigned mask) const { return this->shfl(value, thread_rank() ^ mask); }
    __CUDA_GROUP_INLINE thread_block_tile(unsigned meta_rank, unsigned meta_size)
        : base((Size == 32 ? 0xffffffffu : (1u << (Size & 31)) - 1) << (__cuda_lane() & ~(Size - 1) & 31), meta_rank, meta_size) {}
    template <typename Other>
    __CUDA_GROUP_INLINE thread_block_tile(const thread_block_tile<Size, Other> &other)
        : thread_block_tile(other.meta_group_rank(), other.meta_group_size()) {}
};

// A tile of several warps. They wait for each other at a barrier in shared memory, and exchange values of up to 32 bytes there: a place for
// each warp.
template <unsigned Size, typename Parent> class thread_block_tile<Size, Parent, true> {
    static_assert(Size <= 1024 && (Size & (Size - 1)) == 0, "a tile has 64, 128, 256, 512 or 1024 threads, at most a block");
    static constexpr unsigned warps = Size / 32;
    unsigned meta_rank, meta_size;

    static __CUDA_GROUP_INLINE unsigned first_warp() { return __cuda_groups::block_rank() / Size * warps; }
    static __CUDA_GROUP_INLINE unsigned warp() { return __cuda_groups::block_rank() / 32; }
    template <typename T> static __CUDA_GROUP_INLINE T &place(unsigned warp) {
        static_assert(sizeof(T) <= 32, "groups of several warps exchange values of up to 32 bytes");
        static __shared__ __attribute__((aligned(16))) unsigned char places[32][32];
        return *reinterpret_cast<T *>(places[warp]);
    }

  public:
    static constexpr __CUDA_GROUP_INLINE unsigned size() { return Size; }
    static constexpr __CUDA_GROUP_INLINE unsigned num_threads() { return Size; }
    static __CUDA_GROUP_INLINE unsigned thread_rank() { return __cuda_groups::block_rank() % Size; }
    __CUDA_GROUP_INLINE unsigned meta_group_rank() const { return meta_rank; }
    __CUDA_GROUP_INLINE unsigned meta_group_size() const { return meta_size; }
    __CUDA_GROUP_INLINE thread_block_tile(unsigned meta_rank, unsigned meta_size) : meta_rank(meta_rank), meta_size(meta_size) {}
    template <typename Other>
    __CUDA_GROUP_INLINE thread_block_tile(const thread_block_tile<Size, Other, true> &other)
        : thread_block_tile(other.meta_group_rank(), other.meta_group_size()) {}

    static __CUDA_GROUP_INLINE void sync() {
        const unsigned threads = __cuda_groups::block_size(), first = first_warp() * 32;
        if (threads <= Size)
            return __syncthreads();
        // Tiles of each size have words of their own: 16 for 64 threads, 8 for 128 …
        static __shared__ unsigned long long words[31];
        const unsigned missing = threads - first < Size ? (Size - (threads - first)) / 32 * 32 : 0;
        __cuda_ptx::sync_at(reinterpret_cast<__cuda_ptx::u64 *>(&words[32 - 2048 / Size + first / Size]), Size - missing);
    }
    // All threads name the same rank.
    template <typename T> __CUDA_GROUP_INLINE T shfl(T value, unsigned rank) const {
        const unsigned from = rank % Size;
        if (thread_rank() == from)
            place<T>(warp()) = value;
        sync();
        const T result = place<T>(first_warp() + from / 32);
        sync();
        return result;
    }
    __CUDA_GROUP_INLINE int any(int predicate) const {
        return __cuda_reduce(__cuda_ballot(predicate), [](unsigned a, unsigned b) { return a | b; }, false) != 0;
    }
    __CUDA_GROUP_INLINE int all(int predicate) const { return !any(!predicate); }

    // The reduction of all values, or of one from each warp.
    template <typename T, typename Op> __CUDA_GROUP_INLINE T __cuda_reduce(T value, Op op, bool within = true) const {
        for (unsigned distance = 16; within && distance > 0; distance /= 2)
            value = op(value, __cuda_from_lane(value, __cuda_lane() ^ distance));
        return __cuda_fold(value, op, warps);
    }
    template <typename T, typename Op> __CUDA_GROUP_INLINE T __cuda_inclusive_scan(T value, Op op) const {
        const unsigned lane = __cuda_lane();
        for (unsigned distance = 1; distance < 32; distance *= 2) {
            const T before = __cuda_from_lane(value, lane >= distance ? lane - distance : lane);
            if (lane >= distance)
                value = op(before, value);
        }
        // The last lane's is the warp's.
        const unsigned own = warp() - first_warp();
        const T before = __cuda_fold(__cuda_from_lane(value, 31), op, own > 0 ? own : 1);
        return own > 0 ? op(before, value) : value;
    }
    // The value in the last lane of the warp before, for all warps but the first.
    template <typename T> __CUDA_GROUP_INLINE T __cuda_last_of_warp_before(T value) const {
        if (__cuda_lane() == 31)
            place<T>(warp()) = value;
        sync();
        const T result = place<T>(warp() > first_warp() ? warp() - 1 : warp());
        sync();
        return result;
    }

  private:
    // Of the values of the tile's first warps; the block's last tile may have fewer.
    template <typename T, typename Op> __CUDA_GROUP_INLINE T __cuda_fold(T value, Op op, unsigned count) const {
        if (__cuda_lane() == 0)
            place<T>(warp()) = value;
        sync();
        const unsigned first = first_warp(), end = (__cuda_groups::block_size() + 31) / 32;
        T total = place<T>(first);
        for (unsigned other = 1; other < count && first + other < end; other++)
            total = op(total, place<T>(first + other));
        sync();
        return total;
    }
};

class coalesced_group : public __cuda_lane_group<coalesced_group> {
  public:
    __CUDA_GROUP_INLINE unsigned lane(unsigned rank) const { return __cuda_groups::lane_of(lanes, rank); }
    __CUDA_GROUP_INLINE unsigned by_rank(unsigned bits) const { return __cuda_groups::by_rank(lanes, bits); }
    __CUDA_GROUP_INLINE explicit coalesced_group(unsigned lanes, unsigned meta_rank = 0, unsigned meta_size = 1)
        : __cuda_lane_group(lanes, meta_rank, meta_size) {}
    template <unsigned Size, typename Parent>
    __CUDA_GROUP_INLINE coalesced_group(const thread_block_tile<Size, Parent> &tile) : coalesced_group(tile.__cuda_mask()) {}
};
// The active lanes of the warp.
__CUDA_GROUP_INLINE coalesced_group coalesced_threads() { return coalesced_group(__cuda_activemask()); }
__CUDA_GROUP_INLINE thread_block_tile<1> this_thread() { return thread_block_tile<1>(0, 1); }

template <unsigned Size, unsigned ParentSize, typename Parent>
__CUDA_GROUP_INLINE thread_block_tile<Size, thread_block_tile<ParentSize, Parent>> tiled_partition(const thread_block_tile<ParentSize, Parent> &parent) {
    static_assert(Size <= ParentSize, "a part is no larger than the whole");
    return thread_block_tile<Size, thread_block_tile<ParentSize, Parent>>(parent.thread_rank() / Size, ParentSize / Size);
}
template <unsigned Size, typename Parent> __CUDA_GROUP_INLINE thread_block_tile<Size, Parent> tiled_partition(const Parent &parent) {
    return thread_block_tile<Size, Parent>(static_cast<unsigned>(parent.thread_rank()) / Size, (static_cast<unsigned>(parent.size()) + Size - 1) / Size);
}
// Sizes that are known only at run time.
__CUDA_GROUP_INLINE thread_group tiled_partition(const thread_group &, unsigned size) {
    return thread_group(thread_group::__cuda_lanes, (size >= 32 ? 0xffffffffu : (1u << size) - 1) << (__cuda_lane() & ~(size - 1) & 31));
}
__CUDA_GROUP_INLINE coalesced_group tiled_partition(const coalesced_group &parent, unsigned size) {
    const unsigned first = parent.thread_rank() / size * size;
    unsigned part = 0;
    for (unsigned rank = first; rank < first + size && rank < parent.size(); rank++)
        part |= 1u << parent.lane(rank);
    return coalesced_group(part, first / size, (parent.size() + size - 1) / size);
}
// The threads with the same label. Parts are numbered in the order of their first threads.
template <typename Group, typename Label> __CUDA_GROUP_INLINE coalesced_group labeled_partition(const Group &group, Label label) {
    const unsigned part = __cuda_match_any_sync(group.__cuda_mask(), label), first = part & (0u - part);
    const unsigned leaders = __cuda_ballot(first == 1u << __cuda_lane()) & group.__cuda_mask();
    return coalesced_group(part, __builtin_popcount(leaders & (first - 1)), __builtin_popcount(leaders));
}
// Part 1 has the threads whose predicate holds, part 0 the others.
template <typename Group> __CUDA_GROUP_INLINE coalesced_group binary_partition(const Group &group, bool predicate) {
    const unsigned yes = __cuda_ballot(predicate) & group.__cuda_mask();
    return coalesced_group(predicate ? yes : group.__cuda_mask() & ~yes, predicate ? 1 : 0, 2);
}

template <typename Group> __CUDA_GROUP_INLINE void sync(const Group &group) { group.sync(); }
template <typename Group> __CUDA_GROUP_INLINE auto thread_rank(const Group &group) { return group.thread_rank(); }
template <typename Group> __CUDA_GROUP_INLINE auto group_size(const Group &group) { return group.size(); }
// One thread calls the function.
template <typename Group, typename F, typename... A> __CUDA_GROUP_INLINE void invoke_one(const Group &group, F &&f, A &&...arguments) {
    if (group.thread_rank() == 0)
        f(static_cast<A &&>(arguments)...);
}
template <typename Group, typename F, typename... A>
__CUDA_GROUP_INLINE auto invoke_one_broadcast(const Group &group, F &&f, A &&...arguments) -> decltype(f(static_cast<A &&>(arguments)...)) {
    decltype(f(static_cast<A &&>(arguments)...)) result{};
    if (group.thread_rank() == 0)
        result = f(static_cast<A &&>(arguments)...);
    return group.shfl(result, 0);
}
} // namespace cooperative_groups
#undef __CUDA_GROUP_INLINE
#endif
#include "ferrocm_letters_end.h"
