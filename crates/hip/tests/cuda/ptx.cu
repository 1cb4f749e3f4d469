// Inline PTX as in CUDA's libraries. Each kernel is one warp of 32 lanes; the test computes the results by
// PTX's manual.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

// Loads that bypass the cache, special registers, predicates and declared registers.
extern "C" __global__ void scalars(const unsigned *in, unsigned *out) {
    const unsigned x = in[threadIdx.x];
    unsigned *to = out + threadIdx.x * 16;
    unsigned lane, permuted, logic, wide_high, selected, bits, shifted, inserted;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
    asm("prmt.b32 %0, %1, %2, 0x9140;" : "=r"(permuted) : "r"(x), "r"(~x));
    asm("lop3.b32 %0, %1, %2, %3, 0xe8;" : "=r"(logic) : "r"(x), "r"(x >> 3), "r"(x << 5));
    asm("{\n\t"
        ".reg .u64 t;\n\t" // the whole product
        "mul.wide.u32 t, %1, %2;\n\t"
        "shr.u64 t, t, 32;\n\t"
        "cvt.u32.u64 %0, t;\n\t"
        "}"
        : "=r"(wide_high)
        : "r"(x), "r"(0x9e3779b9u));
    asm("{ .reg .pred p; setp.gt.s32 p, %1, 0; selp.b32 %0, 7, 9, p; @p add.u32 %0, %0, 100; }" : "=r"(selected) : "r"((int)x));
    asm("bfe.s32 %0, %1, 5, 9;" : "=r"(bits) : "r"(x));
    asm("shf.l.wrap.b32 %0, %1, %2, 11;" : "=r"(shifted) : "r"(x), "r"(~x));
    asm("bfi.b32 %0, %1, %2, 8, 12;" : "=r"(inserted) : "r"(x), "r"(0xffffffffu));
    unsigned long long packed;
    unsigned low, high;
    asm("mov.b64 %0, {%1, %2};" : "=l"(packed) : "r"(x), "r"(lane));
    asm("mov.b64 {%0, %1}, %2;" : "=r"(low), "=r"(high) : "l"(packed));
    unsigned short half;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"((float)(int)x));
    int whole;
    asm("cvt.rzi.s32.f32 %0, %1;" : "=r"(whole) : "f"((float)(int)x * -0.37f));
    unsigned pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(1.5f), "f"((float)lane));
    unsigned loaded;
    asm volatile("ld.global.nc.L1::no_allocate.b32 %0, [%1+4];" : "=r"(loaded) : "l"(in + (threadIdx.x & 30)) : "memory");
    unsigned values[15] = {lane, permuted, logic, wide_high, selected, bits, shifted, inserted, low, high, half, (unsigned)whole, pair, loaded, 0};
    for (int i = 0; i < 15; i++)
        to[i] = values[i];
}

// Copies a tile to shared memory asynchronously, and loads it transposed.
extern "C" __global__ void matrices(const unsigned short *in, unsigned *out) {
    __shared__ __align__(16) unsigned short tile[32][8];
    const unsigned lane = threadIdx.x, at = (unsigned)__cvta_generic_to_shared(&tile[lane][0]);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(in + lane * 8));
    asm volatile("cp.async.commit_group;");
    asm volatile("cp.async.wait_group %0;" ::"n"(0));
    __syncthreads();
    unsigned a[4], b[4], moved;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "r"(at));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3]) : "r"(at));
    asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(moved) : "r"(a[0]));
    for (int i = 0; i < 4; i++)
        out[lane * 9 + i] = a[i], out[lane * 9 + 4 + i] = b[i];
    out[lane * 9 + 8] = moved;
}

// Products of fragments as PTX lays them out: 16 x 16 halves by 16 x 8, and 16 x 32 bytes by 32 x 8.
extern "C" __global__ void products(const unsigned *a, const unsigned *b, float *halves, int *bytes) {
    const unsigned lane = threadIdx.x;
    float d[4] = {1, 2, 3, 4};
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\n"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[lane * 4]), "r"(a[lane * 4 + 1]), "r"(a[lane * 4 + 2]), "r"(a[lane * 4 + 3]), "r"(b[lane * 2]), "r"(b[lane * 2 + 1]));
    int e[4] = {-1, -2, -3, -4};
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\n"
                 : "+r"(e[0]), "+r"(e[1]), "+r"(e[2]), "+r"(e[3])
                 : "r"(a[lane * 4]), "r"(a[lane * 4 + 1]), "r"(a[lane * 4 + 2]), "r"(a[lane * 4 + 3]), "r"(b[lane * 2]), "r"(b[lane * 2 + 1]));
    for (int i = 0; i < 4; i++)
        halves[lane * 4 + i] = d[i], bytes[lane * 4 + i] = e[i];
}

// Atomic operations and exchanges between lanes.
extern "C" __global__ void exchanges(unsigned *counter, unsigned *out) {
    const unsigned lane = threadIdx.x;
    unsigned before, other, votes, total;
    asm volatile("atom.global.add.u32 %0, [%1], %2;" : "=r"(before) : "l"(counter), "r"(lane) : "memory");
    asm volatile("red.release.gpu.global.add.s32 [%0], %1;" ::"l"(counter + 1), "r"(1) : "memory");
    asm volatile("shfl.sync.bfly.b32 %0, %1, 5, 0x1f, 0xffffffff;" : "=r"(other) : "r"(lane * 3));
    asm volatile("{ .reg .pred p, q; setp.lt.u32 p, %1, 9; vote.sync.ballot.b32 %0, p, 0xffffffff; }" : "=r"(votes) : "r"(lane));
    unsigned inside;
    asm volatile("{ .reg .pred p; shfl.sync.down.b32 %0|p, %2, 3, 0x1f, 0xffffffff; selp.u32 %1, 1, 0, p; }" : "=r"(total), "=r"(inside) : "r"(lane));
    unsigned *to = out + lane * 4;
    to[0] = other, to[1] = votes, to[2] = total, to[3] = inside;
    (void)before;
}
