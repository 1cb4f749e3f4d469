// What NVIDIA's hardware has of its own, each as a small function: copies into shared memory that do not wait, products by one warp
// (`mma`, sm_80 and later), copies of any size by one thread (sm_90 and later), and products by four warps that read shared memory themselves
// (`wgmma`, sm_90a).
#pragma once
#include "matrix.cuh"

#if defined(NVIDIA_MMA) && __CUDA_ARCH__ >= 900
#define NVIDIA_BULK
#endif
#if defined(NVIDIA_MMA) && defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define NVIDIA_WGMMA
#endif

#if defined(NVIDIA_MMA)
namespace nvidia {
// Bytes of shared memory that the launch gave beside what the kernel declares.
__device__ __forceinline__ unsigned launched_shared_bytes() {
    unsigned bytes;
    asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(bytes));
    return bytes;
}

// Copies the first `bytes` of 16 from global to shared memory, zeros for the others, without waiting.
__device__ __forceinline__ void copy_chunk(unsigned to, const void *from, unsigned bytes) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}
// Ends a group of copies.
__device__ __forceinline__ void end_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits until at most `PENDING` groups of this thread's copies are under way.
template <unsigned PENDING> __device__ __forceinline__ void wait_for_copies() { asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory"); }

__device__ __forceinline__ void store_chunk(unsigned to, const Chunk &chunk) {
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(chunk.x[0]), "r"(chunk.x[1]), "r"(chunk.x[2]), "r"(chunk.x[3]) : "memory");
}

// c plus the products of four bytes by four signed ones.
__device__ __forceinline__ int dot4_unsigned(uint32_t a, uint32_t b, int c) {
    asm("dp4a.u32.s32 %0, %1, %2, %0;" : "+r"(c) : "r"(a), "r"(b));
    return c;
}

__device__ __forceinline__ float exp2_of(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// The lower, or upper, halves of two dwords side by side.
__device__ __forceinline__ unsigned lower_halves(unsigned low, unsigned high) { return __byte_perm(low, high, 0x5410); }
__device__ __forceinline__ unsigned upper_halves(unsigned low, unsigned high) { return __byte_perm(low, high, 0x7632); }

// Transposes 8 by 8 numbers of 16 bits, of which each lane holds two neighbours of row `lane / 4`.
__device__ __forceinline__ unsigned transposed(unsigned two) {
    unsigned result;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(result) : "r"(two));
    return result;
}

// `read_matrices` of the transposed matrices.
__device__ __forceinline__ void read_transposed_matrices(unsigned (&to)[4], unsigned row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(row) : "memory");
}
} // namespace nvidia
#endif

#if defined(NVIDIA_BULK)
namespace nvidia {
// A barrier in shared memory, whose phases end when `count` threads have arrived and all bytes that they expect. It alternates between the phases 0
// and 1.
__device__ __forceinline__ void begin_barrier(unsigned barrier, unsigned count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}
// What this thread has begun is seen by copies, and after a barrier of all by the others.
__device__ __forceinline__ void show_barriers() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
__device__ __forceinline__ void arrive(unsigned barrier) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory"); }
// For so many threads.
__device__ __forceinline__ void arrive(unsigned barrier, unsigned count) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}
__device__ __forceinline__ void arrive_and_expect(unsigned barrier, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
// Waits until the phase has ended.
__device__ __forceinline__ void wait_for_phase(unsigned barrier, unsigned phase) {
    asm volatile("{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra again;\n}" ::"r"(barrier), "r"(phase)
                 : "memory");
}
// Copies from global to shared memory without waiting; the barrier is told of the bytes. All are multiples of 16. The L2 cache forgets them first.
__device__ __forceinline__ void copy_bytes_once(unsigned to, const void *from, unsigned bytes, unsigned barrier) {
    uint64_t first;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(first));
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;" ::"r"(to), "l"(from),
                 "r"(bytes), "r"(barrier), "l"(first)
                 : "memory");
}

// All workgroups of the cluster have come here, and see what the others have written to shared memory.
__device__ __forceinline__ void cluster_barrier() {
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
__device__ __forceinline__ unsigned cluster_rank() {
    unsigned rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
// The number that is at this address in the shared memory of a workgroup of the cluster.
__device__ __forceinline__ float load_from(unsigned address, unsigned workgroup) {
    float x;
    asm volatile("{\n.reg .u32 there;\nmapa.shared::cluster.u32 there, %1, %2;\nld.shared::cluster.f32 %0, [there];\n}" : "=f"(x) : "r"(address), "r"(workgroup) : "memory");
    return x;
}
} // namespace nvidia
#endif

#if defined(NVIDIA_WGMMA)
namespace nvidia {
// Warps that multiply together, and their rows of C: a warp has 16 of them, of which a lane has, for every 8 columns, the elements that `mma`
// gives it.
constexpr unsigned WARPGROUP = 128, WARPGROUP_ROWS = 64;
// A line of a tile in shared memory: 64 numbers of 16 bits. The 16-byte chunks of a line are exchanged among each other, by the line's number,
// so that the same chunk of 8 lines is in different banks; tiles begin at multiples of 1024 bytes.
constexpr unsigned LINE = 128, LINE_NUMBERS = 64, TILE_ALIGN = 1024;

__device__ __forceinline__ void store_two(unsigned to, float x, float y) { asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(to), "f"(x), "f"(y) : "memory"); }
// Two numbers that are at this address in the shared memory of a workgroup of the cluster.
__device__ __forceinline__ float2 load_two(unsigned from, unsigned workgroup) {
    float2 x;
    asm volatile("{\n.reg .u32 there;\nmapa.shared::cluster.u32 there, %2, %3;\nld.shared::cluster.v2.f32 {%0, %1}, [there];\n}"
                 : "=f"(x.x), "=f"(x.y)
                 : "r"(from), "r"(workgroup)
                 : "memory");
    return x;
}

// Where a chunk is in a tile.
__device__ __forceinline__ unsigned chunk_place(unsigned line, unsigned chunk) { return line * LINE + ((chunk ^ line % 8) * 16); }

// A matrix of lines in shared memory as `wgmma` is told of it. Lines that run along the depth: 8 of them are followed by the next 8, and
// `next_block` has no meaning. Lines that run along rows of A (columns of B): each is one depth, and `next_block` bytes further are the next
// 64 rows.
__device__ __forceinline__ uint64_t described(unsigned address, unsigned next_block) {
    constexpr uint64_t SWIZZLE_128 = uint64_t(1) << 62, NEXT_8_LINES = uint64_t(8 * LINE >> 4) << 32;
    return SWIZZLE_128 | NEXT_8_LINES | static_cast<uint64_t>(next_block >> 4) << 16 | (address & 0x3ffff) >> 4;
}

// What this thread has written to shared memory is there for `wgmma`, after a barrier in other threads', too.
__device__ __forceinline__ void show_to_wgmma() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
// Before the first of some products, whose registers have been written.
__device__ __forceinline__ void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
// Ends a group of products.
__device__ __forceinline__ void end_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Waits until at most `PENDING` groups are under way. Sums may be read, and shared memory written, of those that are not.
template <unsigned PENDING> __device__ __forceinline__ void wait_for_products() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory"); }

// clang-format off
#define SUMS_16(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7]), \
    "+f"(d[i + 8]), "+f"(d[i + 9]), "+f"(d[i + 10]), "+f"(d[i + 11]), "+f"(d[i + 12]), "+f"(d[i + 13]), "+f"(d[i + 14]), "+f"(d[i + 15])
#define NAMES_16 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define NAMES_32 NAMES_16 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define SUMS_32(d, i) SUMS_16(d, i), SUMS_16(d, i + 16)
#define NAMES_64 NAMES_32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47" ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define SUMS_64(d, i) SUMS_32(d, i), SUMS_32(d, i + 32)
#define NAMES_128 NAMES_64 ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79" ", %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95" ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111" ", %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define SUMS_128(d, i) SUMS_64(d, i), SUMS_64(d, i + 64)
// C (+)= A * B, 64 by N of them, 16 deep; A in shared memory. `count` is N / 2, `a`, `b`, `add` and so on name the operands behind the sums.
#define WGMMA(TYPE, N, COUNT, A, B, ADD, TURN_A, TURN_B)                                                                \
    asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %" #ADD ", 0;\n"                                                 \
                 "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." TYPE "." TYPE " {" NAMES_##COUNT "}, %" #A ", %" #B ", add, 1, 1, %" #TURN_A ", %" #TURN_B ";\n}" \
                 : SUMS_##COUNT(sums, 0)                                                                                \
                 : "l"(a), "l"(b), "r"(static_cast<int>(add)), "n"(BY_ROWS_A ? 0 : 1), "n"(BY_ROWS_B ? 0 : 1))
// The same with A in registers, as `mma` has it.
#define WGMMA_HELD(TYPE, N, COUNT, A0, A1, A2, A3, B, ADD, TURN_B)                                                      \
    asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %" #ADD ", 0;\n"                                                 \
                 "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." TYPE "." TYPE " {" NAMES_##COUNT "}, {%" #A0 ", %" #A1 ", %" #A2 ", %" #A3 "}, %" #B ", add, 1, 1, %" #TURN_B ";\n}" \
                 : SUMS_##COUNT(sums, 0)                                                                                \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(add)), "n"(BY_ROWS_B ? 0 : 1))
// clang-format on

// Lines of operands that run along the depth are `BY_ROWS`. Without `add`, C is not read.
template <typename T, unsigned N, bool BY_ROWS_A, bool BY_ROWS_B>
__device__ __forceinline__ void wgmma(float (&sums)[N / 2], uint64_t a, uint64_t b, bool add) {
    constexpr bool HALF = std::is_same_v<T, __half>;
    if constexpr (N == 32 && HALF)
        WGMMA("f16", 32, 16, 16, 17, 18, 19, 20);
    else if constexpr (N == 32)
        WGMMA("bf16", 32, 16, 16, 17, 18, 19, 20);
    else if constexpr (N == 64 && HALF)
        WGMMA("f16", 64, 32, 32, 33, 34, 35, 36);
    else if constexpr (N == 64)
        WGMMA("bf16", 64, 32, 32, 33, 34, 35, 36);
    else if constexpr (N == 128 && HALF)
        WGMMA("f16", 128, 64, 64, 65, 66, 67, 68);
    else if constexpr (N == 128)
        WGMMA("bf16", 128, 64, 64, 65, 66, 67, 68);
    else if constexpr (N == 256 && HALF)
        WGMMA("f16", 256, 128, 128, 129, 130, 131, 132);
    else if constexpr (N == 256)
        WGMMA("bf16", 256, 128, 128, 129, 130, 131, 132);
    else
        static_assert(N == 0, "no such product here");
}
template <typename T, unsigned N, bool BY_ROWS_B>
__device__ __forceinline__ void wgmma(float (&sums)[N / 2], const unsigned (&a)[4], uint64_t b, bool add) {
    constexpr bool HALF = std::is_same_v<T, __half>;
    if constexpr (N == 64 && HALF)
        WGMMA_HELD("f16", 64, 32, 32, 33, 34, 35, 36, 37, 38);
    else if constexpr (N == 64)
        WGMMA_HELD("bf16", 64, 32, 32, 33, 34, 35, 36, 37, 38);
    else if constexpr (N == 128 && HALF)
        WGMMA_HELD("f16", 128, 64, 64, 65, 66, 67, 68, 69, 70);
    else if constexpr (N == 128)
        WGMMA_HELD("bf16", 128, 64, 64, 65, 66, 67, 68, 69, 70);
    else if constexpr (N == 256 && HALF)
        WGMMA_HELD("f16", 256, 128, 128, 129, 130, 131, 132, 133, 134);
    else if constexpr (N == 256)
        WGMMA_HELD("bf16", 256, 128, 128, 129, 130, 131, 132, 133, 134);
    else
        static_assert(N == 0, "no such product here");
}
#undef WGMMA
#undef WGMMA_HELD
#undef SUMS_16
#undef SUMS_32
#undef SUMS_64
#undef SUMS_128
#undef NAMES_16
#undef NAMES_32
#undef NAMES_64
#undef NAMES_128
} // namespace nvidia
#endif
