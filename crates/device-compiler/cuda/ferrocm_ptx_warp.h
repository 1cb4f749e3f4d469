// Blocks and warps for inline PTX: barriers, copies, exchanges, special registers. Included by ferrocm_ptx.h, whose types and registers it uses.
#pragma once
#include "ferrocm_letters_begin.h"
namespace __cuda_ptx {
#define __PTX static __device__ __attribute__((always_inline, unused)) inline
// A barrier of all threads of the block is the block's, whatever its number.
template <typename A> __PTX void bar_sync(A) { __syncthreads(); }
__PTX void bar_sync() { __syncthreads(); }
template <typename D, typename A, typename P> __PTX void bar_red_popc(D &d, A, P p) { set(d, static_cast<u32>(__syncthreads_count(as<bool>(p)))); }
template <typename D, typename A, typename P> __PTX void bar_red_and(D &d, A, P p) { set(d, __syncthreads_and(as<bool>(p)) != 0); }
template <typename D, typename A, typename P> __PTX void bar_red_or(D &d, A, P p) { set(d, __syncthreads_or(as<bool>(p)) != 0); }

// Barriers of some of a block's threads: a word in shared memory each, with the count of threads that have arrived (11 bits), the number
// of times that it was passed (13 bits), and a key. Nothing initialises the words: one without this block's key is new.
__PTX u32 threads_of_block() { return blockDim.x * blockDim.y * blockDim.z; }
__PTX u32 thread_of_block() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
__PTX u64 *named_barrier(u32 number) {
    static __shared__ u64 words[16];
    return &words[number & 15];
}
__PTX u64 block_key() {
    // Of the launch's packet, with its place, arguments and signal, and the block, well mixed. One of 2^40 other words looks like that.
    const auto packet = (const __attribute__((address_space(4))) u64 *)__builtin_amdgcn_dispatch_ptr();
    u64 key = (u64)packet * 0x9e3779b97f4a7c15ull + packet[5] + packet[7] * 0xd6e8feb86659fd93ull;
    key ^= ((static_cast<u64>(blockIdx.z) * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x + 1) * 0xbf58476d1ce4e5b9ull;
    key = (key ^ key >> 29) * 0x94d049bb133111ebull;
    return (key ^ key >> 32) << 24;
}
// Adds a warp's threads; returns the number of times that the barrier was passed before.
__PTX u32 named_add(u64 *at, u32 arriving, u32 expected) {
    const u64 key = block_key();
    u64 seen = __hip_atomic_load(at, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
    for (;;) {
        const u64 known = (seen & ~0xffffffull) == key ? seen : key;
        const u32 count = static_cast<u32>(known & 0x7ff) + arriving, passed = static_cast<u32>(known >> 11 & 0x1fff);
        const u64 next = count >= expected ? key | ((passed + 1) & 0x1fff) << 11 : key | passed << 11 | count;
        if (__hip_atomic_compare_exchange_strong(at, &seen, next, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP))
            return passed;
    }
}
// The threads of a warp that arrive together, with those that the last warp of a block lacks.
__PTX u32 named_arriving(u32 active) {
    const u32 end = (threads_of_block() + 31) & ~31u;
    const bool is_last = (thread_of_block() | 31) + 1 == end;
    return __builtin_popcount(active) + (is_last && (active & 1) != 0 ? end - threads_of_block() : 0);
}
template <typename A, typename N> __PTX void named_arrive(A number, N threads) {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    const u32 active = __cuda_activemask();
    if (__cuda_lane() == static_cast<u32>(__builtin_ctz(active)))
        named_add(named_barrier(as<u32>(number)), named_arriving(active), as<u32>(threads));
}
// Waits at a barrier until so many threads have arrived.
__PTX void sync_at(u64 *at, u32 threads) {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    const u32 active = __cuda_activemask();
    if (__cuda_lane() == static_cast<u32>(__builtin_ctz(active))) {
        const u32 before = named_add(at, named_arriving(active), threads);
        while ((__hip_atomic_load(at, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP) >> 11 & 0x1fff) == before)
            __builtin_amdgcn_s_sleep(1);
    }
    __builtin_amdgcn_wave_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
template <typename A, typename N> __PTX void named_sync(A number, N threads) {
    // Two warps of one wave run in step, so that one cannot wait while the other goes on: both must come here.
    if (__builtin_amdgcn_wavefrontsize() == 64) {
        const u32 other = (thread_of_block() ^ 32) & ~31u;
        const u64 here = __ballot(1);
        const bool alone = other < threads_of_block() && (here >> 32 == 0 || (here & 0xffffffffull) == 0);
        if (alone || __ballot(as<u32>(number) != static_cast<u32>(__builtin_amdgcn_readfirstlane(as<int>(as<u32>(number))))) != 0)
            __builtin_trap();
    }
    sync_at(named_barrier(as<u32>(number)), as<u32>(threads));
}

// Barriers that are objects of the program in shared memory: the phase (bit 63), the counts of arrivals that are missing in this phase
// (20 bits at 40) and in each (20 bits at 20), and the bytes that are missing (20 bits at 0, modulo 2^20). A phase ends when both are 0.
template <bool Shared, typename A> __PTX u64 *mbarrier_at(A at) { return place<u64, Shared>(at); }
__PTX u64 mbarrier_next(u64 state) {
    const u64 missing = state >> 40 & 0xfffff, all = state >> 20 & 0xfffff, bytes = state & 0xfffff;
    return missing == 0 && bytes == 0 ? ((state ^ 1ull << 63) & 1ull << 63) | all << 40 | all << 20 : state;
}
// Changes a barrier: arrivals, further arrivals in each phase (modulo 2^20), and bytes. Returns the state before.
template <bool Shared, typename A> __PTX u64 mbarrier_change(A address, u32 arrivals, u32 fewer, u32 bytes) {
    u64 *at = mbarrier_at<Shared>(address);
    u64 seen = __hip_atomic_load(at, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
    for (;;) {
        const u64 missing = (seen >> 40) - arrivals & 0xfffff, all = (seen >> 20) - fewer & 0xfffff, left = seen + bytes & 0xfffff;
        const u64 next = mbarrier_next((seen & 1ull << 63) | missing << 40 | all << 20 | left);
        if (__hip_atomic_compare_exchange_strong(at, &seen, next, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP))
            return seen;
    }
}
template <bool Shared, typename A, typename N> __PTX void mbarrier_init(A at, N count) {
    const u64 all = as<u32>(count) & 0xfffff;
    __hip_atomic_store(mbarrier_at<Shared>(at), all << 40 | all << 20, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
}
template <bool Shared, typename A> __PTX void mbarrier_inval(A) {}
template <bool Shared, typename A> __PTX void mbarrier_arrive(A at) { mbarrier_change<Shared>(at, 1, 0, 0); }
template <bool Shared, typename A, typename D> __PTX void mbarrier_arrive(A at, D &d) { set(d, mbarrier_change<Shared>(at, 1, 0, 0)); }
template <bool Shared, typename A, typename D, typename N> __PTX void mbarrier_arrive(A at, D &d, N count) {
    set(d, mbarrier_change<Shared>(at, as<u32>(count), 0, 0));
}
template <bool Shared, typename A, typename D, typename N> __PTX void mbarrier_arrive_expect(A at, D &d, N bytes) {
    set(d, mbarrier_change<Shared>(at, 1, 0, as<u32>(bytes)));
}
template <bool Shared, typename A, typename D> __PTX void mbarrier_arrive_drop(A at, D &d) { set(d, mbarrier_change<Shared>(at, 1, 1, 0)); }
template <bool Shared, typename A, typename D, typename N> __PTX void mbarrier_arrive_drop(A at, D &d, N count) {
    set(d, mbarrier_change<Shared>(at, as<u32>(count), as<u32>(count), 0));
}
template <bool Shared, typename A, typename N> __PTX void mbarrier_expect(A at, N bytes) { mbarrier_change<Shared>(at, 0, 0, as<u32>(bytes)); }
template <bool Shared, typename A, typename N> __PTX void mbarrier_complete(A at, N bytes) { mbarrier_change<Shared>(at, 0, 0, 0 - as<u32>(bytes)); }
template <bool Shared, typename A> __PTX bool mbarrier_is_past(A at, u32 phase) {
    return __hip_atomic_load(mbarrier_at<Shared>(at), __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_WORKGROUP) >> 63 != phase;
}
// A time limit is a hint.
template <bool Shared, typename A, typename P, typename S, typename... N> __PTX void mbarrier_test(A at, P &p, S state, N...) {
    set(p, mbarrier_is_past<Shared>(at, static_cast<u32>(as<u64>(state) >> 63)));
}
template <bool Shared, typename A, typename P, typename S, typename... N> __PTX void mbarrier_test_parity(A at, P &p, S parity, N...) {
    set(p, mbarrier_is_past<Shared>(at, as<u32>(parity) & 1));
}
template <typename D, typename S> __PTX void mbarrier_pending(D &d, S state) { set(d, static_cast<u32>(as<u64>(state) >> 40 & 0xfffff)); }

// The block's place in its cluster, which is the block.
template <typename D, typename A, typename N> __PTX void mapa(D &d, A a, N) { set(d, a); }
template <typename D, typename A> __PTX void getctarank(D &d, A) { set(d, 0u); }
template <typename A> __PTX void bar_warp_sync(A mask) { __cuda_syncwarp(as<u32>(mask)); }
template <typename A> __PTX void nanosleep(A) { __builtin_amdgcn_s_sleep(1); }
__PTX void trap() { __builtin_trap(); }
// A wave ends as a whole. Some of its lanes cannot, so that is an error.
__PTX void exit_() {
    const u32 wave = __builtin_amdgcn_wavefrontsize(), first = thread_of_block() & ~(wave - 1);
    const u32 rest = threads_of_block() - first;
    if (static_cast<u32>(__builtin_popcountll(__ballot(1))) != (rest < wave ? rest : wave))
        __builtin_trap();
    __builtin_amdgcn_endpgm();
}
template <typename... A> __PTX void nothing(A...) {}
// Cache policies are ignored.
template <typename D, typename... A> __PTX void policy(D &d, A...) { set(d, u64(0)); }
template <typename P, typename A> __PTX void is_shared(P &p, A at) { set(p, __isShared(generic<void>(at)) != 0); }
template <typename P, typename A> __PTX void is_local(P &p, A at) { set(p, __isLocal(generic<void>(at)) != 0); }
template <typename P, typename A> __PTX void is_global(P &p, A at) { set(p, __isGlobal(generic<void>(at)) != 0); }

// Copies from global to shared memory. They are synchronous, so nothing has to wait. `size` bytes are read from the source; the
// rest is zero.
template <typename S, typename G, typename N> __PTX void cp_async(S to, G from, N size) {
    if (as<u32>(size) == 16)
        *shared<vector<u32, 4>>(to) = *generic<vector<u32, 4>>(from);
    else if (as<u32>(size) == 8)
        *shared<u64>(to) = *generic<u64>(from);
    else
        *shared<u32>(to) = *generic<u32>(from);
}
template <typename S, typename G, typename N, typename M> __PTX void cp_async(S to, G from, N size, M have) {
    if (as<u32>(have) >= as<u32>(size)) {
        cp_async(to, from, size);
        return;
    }
    unsigned char *bytes = shared<unsigned char>(to);
    for (u32 i = 0; i < as<u32>(size); i++)
        bytes[i] = i < as<u32>(have) ? generic<unsigned char>(from)[i] : 0;
}

// Warps. An instruction's last operand is the mask.
template <typename D, typename A> __PTX void ballot(D &d, A p, u32 mask) { set(d, __cuda_ballot_sync(mask, p)); }
template <typename D, typename A> __PTX void any(D &d, A p, u32 mask) { set(d, __cuda_any_sync(mask, p) != 0); }
template <typename D, typename A> __PTX void all(D &d, A p, u32 mask) { set(d, __cuda_all_sync(mask, p) != 0); }
template <typename D, typename A> __PTX void uni(D &d, A p, u32 mask) { set(d, __cuda_all_sync(mask, p) != 0 || __cuda_any_sync(mask, p) == 0); }
template <typename D> __PTX void activemask(D &d) { set(d, __cuda_activemask()); }
// The control word has the segment mask and the clamp.
template <int Kind, typename D, typename P> __PTX void shuffle(D &d, P &p, u32 a, u32 by, u32 control) {
    const u32 lane = __cuda_lane(), segment = control >> 8 & 31, clamp = control & 31;
    const u32 least = lane & segment, most = (lane & segment) | (clamp & ~segment);
    u32 from;
    bool inside;
    if constexpr (Kind == 0) // up
        from = lane - (by & 31), inside = static_cast<int>(lane) - static_cast<int>(by & 31) >= static_cast<int>(most);
    else if constexpr (Kind == 1) // down
        from = lane + (by & 31), inside = from <= most;
    else if constexpr (Kind == 2) // bfly
        from = lane ^ (by & 31), inside = from <= most;
    else // idx
        from = least | (by & ~segment & 31), inside = from <= most;
    if (!inside)
        from = lane;
    set(d, __cuda_from_lane(a, from & 31));
    set(p, inside);
}
// Without `sync`, as before Volta: of all lanes. Sources keep it in branches for other architectures, which host code reads.
template <int Kind, typename D, typename A, typename B, typename C> __PTX void shfl(D &d, A a, B b, C c) {
    sink none;
    shuffle<Kind>(d, none, as<u32>(a), as<u32>(b), as<u32>(c));
}
template <int Kind, typename D, typename A, typename B, typename C, typename M> __PTX void shfl(D &d, A a, B b, C c, M) {
    sink none;
    shuffle<Kind>(d, none, as<u32>(a), as<u32>(b), as<u32>(c));
}
template <int Kind, typename D, typename P, typename A, typename B, typename C, typename M> __PTX void shfl(D &d, P &p, A a, B b, C c, M) {
    shuffle<Kind>(d, p, as<u32>(a), as<u32>(b), as<u32>(c));
}
template <typename T, typename D, typename A, typename M> __PTX void match_any(D &d, A a, M mask) { set(d, __cuda_match_any_sync(as<u32>(mask), as<T>(a))); }
template <typename T, typename D, typename P, typename A, typename M> __PTX void match_all(D &d, P &p, A a, M mask) {
    int same;
    set(d, __cuda_match_all_sync(as<u32>(mask), as<T>(a), &same));
    set(p, same != 0);
}
template <typename T, typename D, typename A, typename M> __PTX void match_all(D &d, A a, M mask) {
    sink none;
    match_all<T>(d, none, a, mask);
}
// The first lane of the mask.
template <typename D, typename P, typename M> __PTX void elect(D &d, P &p, M mask) {
    const u32 first = __builtin_ctz(as<u32>(mask) | 0x80000000u);
    set(d, first), set(p, __cuda_lane() == first);
}
#define __PTX_REDUX(NAME, OP)                                                                                                 \
    template <typename T, typename D, typename A, typename M> __PTX void NAME(D &d, A a, M mask) {                            \
        set(d, __cuda_reduce<__cuda_op_##OP>(as<u32>(mask), as<T>(a)));                                                       \
    }
__PTX_REDUX(redux_add, add)
__PTX_REDUX(redux_min, min)
__PTX_REDUX(redux_max, max)
__PTX_REDUX(redux_and, and)
__PTX_REDUX(redux_or, or)
__PTX_REDUX(redux_xor, xor)

// Special registers
// All shared memory of a block, by the packet that launched it.
__PTX u32 shared_size() { return ((const u32 *)__builtin_amdgcn_dispatch_ptr())[7]; }
__PTX u32 laneid() { return __cuda_lane(); }
__PTX u32 lanemask_eq() { return 1u << __cuda_lane(); }
__PTX u32 lanemask_lt() { return lanemask_eq() - 1; }
__PTX u32 lanemask_le() { return lanemask_lt() | lanemask_eq(); }
__PTX u32 lanemask_gt() { return ~lanemask_le(); }
__PTX u32 lanemask_ge() { return ~lanemask_lt(); }
__PTX u32 warpid() { return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) / 32; }
#undef __PTX_REDUX
#undef __PTX
} // namespace __cuda_ptx
#include "ferrocm_letters_end.h"
