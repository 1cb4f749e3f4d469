// Inline PTX of engines and libraries that is not in other tests' `ptx.cu`.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

// Sums, differences and products of 256-bit numbers: each statement has its own carry.
extern "C" __global__ void long_numbers(const unsigned *in, unsigned *out) {
    const unsigned *a = in + threadIdx.x * 16, *b = a + 8;
    unsigned *sum = out + threadIdx.x * 32, *difference = sum + 8, *product = sum + 16;
    asm("add.cc.u32 %0, %8, %16;\n\taddc.cc.u32 %1, %9, %17;\n\taddc.cc.u32 %2, %10, %18;\n\taddc.cc.u32 %3, %11, %19;\n\t"
        "addc.cc.u32 %4, %12, %20;\n\taddc.cc.u32 %5, %13, %21;\n\taddc.cc.u32 %6, %14, %22;\n\taddc.u32 %7, %15, %23;"
        : "=r"(sum[0]), "=r"(sum[1]), "=r"(sum[2]), "=r"(sum[3]), "=r"(sum[4]), "=r"(sum[5]), "=r"(sum[6]), "=r"(sum[7])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]), "r"(a[5]), "r"(a[6]), "r"(a[7]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]), "r"(b[4]), "r"(b[5]), "r"(b[6]), "r"(b[7]));
    asm("sub.cc.u32 %0, %8, %16;\n\tsubc.cc.u32 %1, %9, %17;\n\tsubc.cc.u32 %2, %10, %18;\n\tsubc.cc.u32 %3, %11, %19;\n\t"
        "subc.cc.u32 %4, %12, %20;\n\tsubc.cc.u32 %5, %13, %21;\n\tsubc.cc.u32 %6, %14, %22;\n\tsubc.u32 %7, %15, %23;"
        : "=r"(difference[0]), "=r"(difference[1]), "=r"(difference[2]), "=r"(difference[3]), "=r"(difference[4]), "=r"(difference[5]), "=r"(difference[6]),
          "=r"(difference[7])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]), "r"(a[5]), "r"(a[6]), "r"(a[7]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]), "r"(b[4]), "r"(b[5]), "r"(b[6]), "r"(b[7]));
    // 64 bits by 32, row by row.
    unsigned long long wide = (static_cast<unsigned long long>(a[1]) << 32) | a[0];
    unsigned r0, r1, r2;
    asm("{ .reg .u32 t;\n\t"
        "mul.lo.u32 %0, %3, %5;\n\tmul.hi.u32 %1, %3, %5;\n\t"
        "mad.lo.cc.u32 %1, %4, %5, %1;\n\tmadc.hi.u32 %2, %4, %5, 0;\n\t"
        "mad.lo.cc.u32 %0, %3, %6, %0;\n\tmadc.hi.cc.u32 %1, %3, %6, %1;\n\taddc.u32 %2, %2, 0; }"
        : "=&r"(r0), "=&r"(r1), "=&r"(r2)
        : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(b[1]));
    product[0] = r0, product[1] = r1, product[2] = r2;
    unsigned long long low, high;
    asm("add.cc.u64 %0, %2, %3; addc.u64 %1, %2, 0;" : "=l"(low), "=l"(high) : "l"(wide), "l"(~wide + b[2]));
    product[3] = static_cast<unsigned>(low), product[4] = static_cast<unsigned>(high) - a[0];
}

// Conversions of pairs to eight bits and back.
extern "C" __global__ void narrow(const float2 *in, unsigned short *out, unsigned *back) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float2 x = in[i];
    unsigned pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(x.y), "f"(x.x));
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(out[i * 4]) : "f"(x.y), "f"(x.x));
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(out[i * 4 + 1]) : "f"(x.y), "f"(x.x));
    asm("cvt.rn.satfinite.e4m3x2.f16x2 %0, %1;" : "=h"(out[i * 4 + 2]) : "r"(pair));
    asm("cvt.rn.satfinite.e5m2x2.f16x2 %0, %1;" : "=h"(out[i * 4 + 3]) : "r"(pair));
    if (i < 256) {
        const unsigned short both = static_cast<unsigned short>(i | (255 - i) << 8);
        asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(back[i * 2]) : "h"(both));
        asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(back[i * 2 + 1]) : "h"(both));
    }
}

// Products of narrow fragments; a warp's words of A and B in PTX's layout.
extern "C" __global__ void products(const unsigned *in_a, const unsigned *in_b, int *out, float *floats) {
    const unsigned lane = threadIdx.x, *a = in_a + lane * 4, *b = in_b + lane * 2;
    int d[3][4] = {};
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+r"(d[0][0]), "+r"(d[0][1]), "+r"(d[0][2]), "+r"(d[0][3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    asm volatile("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+r"(d[1][0]), "+r"(d[1][1]), "+r"(d[1][2]), "+r"(d[1][3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    asm volatile("mma.sync.aligned.m16n8k64.row.col.s32.s4.u4.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+r"(d[2][0]), "+r"(d[2][1]), "+r"(d[2][2]), "+r"(d[2][3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    for (int i = 0; i < 12; i++)
        out[lane * 12 + i] = d[i / 4][i % 4];
    // Without the largest exponents, so that all are numbers.
    unsigned e[4], g[2];
    for (int i = 0; i < 4; i++)
        e[i] = a[i] & 0xbfbfbfbf;
    for (int i = 0; i < 2; i++)
        g[i] = b[i] & 0xbfbfbfbf;
    float f[4] = {};
    asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3]) : "r"(e[0]), "r"(e[1]), "r"(e[2]), "r"(e[3]), "r"(g[0]), "r"(g[1]));
    for (int i = 0; i < 4; i++)
        floats[lane * 4 + i] = f[i];
}

// Matrices go to shared memory and come back; a copy has a policy for the cache.
extern "C" __global__ void matrices(const unsigned *in, unsigned *out) {
    __shared__ __align__(16) unsigned tile[32][4];
    const unsigned lane = threadIdx.x, at = static_cast<unsigned>(__cvta_generic_to_shared(&tile[lane][0]));
    const unsigned *w = in + lane * 4;
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]) : "memory");
    __syncthreads();
    for (int i = 0; i < 4; i++)
        out[lane * 8 + i] = tile[lane][i];
    __syncthreads();
    asm volatile("{\n"
                 "   .reg .b64 p;\n"
                 "   createpolicy.fractional.L2::evict_first.b64 p, 1.0;"
                 "   cp.async.cg.shared.global.L2::cache_hint [%0], [%1], %2, p;\n"
                 "}\n" ::"r"(at), "l"(w), "n"(16));
    asm volatile("cp.async.wait_all;");
    __syncthreads();
    unsigned r[4];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared::cta.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at));
    for (int i = 0; i < 4; i++)
        out[lane * 8 + 4 + i] = r[i];
}

// Comparisons, choices, pairs, votes and atomic operations.
extern "C" __global__ void others(const int *in, unsigned *out, unsigned *counters, float *sums) {
    const int a = in[threadIdx.x * 2], b = in[threadIdx.x * 2 + 1];
    const float f = a * 0.25f, g = b * 0.5f;
    unsigned *o = out + threadIdx.x * 20;
    asm("{ .reg .pred p, q; setp.lt.s32 p|q, %2, %3; selp.u32 %0, 1, 0, p; selp.u32 %1, 1, 0, q; }" : "=r"(o[0]), "=r"(o[1]) : "r"(a), "r"(b));
    asm("{ .reg .pred p, q; setp.gt.s32 p, %1, 0; setp.lt.and.s32 q, %1, %2, p; selp.u32 %0, 1, 0, q; }" : "=r"(o[2]) : "r"(a), "r"(b));
    asm("{ .reg .pred p, q; setp.gt.s32 p, %1, 0; setp.lt.xor.f32 q, %2, %3, p; selp.u32 %0, 1, 0, q; }" : "=r"(o[3]) : "r"(a), "f"(f), "f"(g));
    asm("set.gt.u32.f32 %0, %1, %2;" : "=r"(o[4]) : "f"(f), "f"(g));
    float one;
    asm("set.le.f32.s32 %0, %1, %2;" : "=f"(one) : "r"(a), "r"(b));
    o[5] = static_cast<unsigned>(one * 7);
    asm("set.ge.u32.f16x2 %0, %1, %2;" : "=r"(o[6]) : "r"(0x3c004000u), "r"(0x40003c00u));
    asm("slct.s32.s32 %0, %1, %2, %3;" : "=r"(o[7]) : "r"(11), "r"(22), "r"(a));
    float signed_;
    asm("copysign.f32 %0, %1, %2;" : "=f"(signed_) : "f"(f), "f"(3.0f));
    o[8] = __float_as_uint(signed_);
    asm("{ .reg .pred p; testp.infinite.f32 p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(o[9]) : "f"(f / (b - b)));
    asm("min.s16x2 %0, %1, %2;" : "=r"(o[10]) : "r"(a), "r"(b));
    asm("add.u16x2 %0, %1, %2;" : "=r"(o[11]) : "r"(a), "r"(b));
    asm("ex2.approx.ftz.f16x2 %0, %1;" : "=r"(o[12]) : "r"(0x40003c00u));
    float down, up;
    asm("add.rm.f32 %0, %1, %2;" : "=f"(down) : "f"(1.0f), "f"(1e-10f));
    asm("fma.rp.f32 %0, %1, %1, %2;" : "=f"(up) : "f"(1.0f), "f"(1e-10f));
    o[13] = __float_as_uint(down), o[14] = __float_as_uint(up);
    asm volatile("{ .reg .pred p; match.all.sync.b32 %0|p, %1, 0xffffffff; @!p mov.u32 %0, 5; }" : "=r"(o[15]) : "r"(a >> 31));
    asm volatile("{ .reg .pred p; elect.sync _|p, 0xfffffff0; selp.u32 %0, 1, 0, p; }" : "=r"(o[16]));
    __shared__ unsigned local[2];
    if (threadIdx.x < 2)
        local[threadIdx.x] = threadIdx.x;
    __syncthreads();
    const unsigned place = static_cast<unsigned>(__cvta_generic_to_shared(local));
    unsigned before;
    asm volatile("atom.shared.inc.u32 %0, [%1], %2;" : "=r"(before) : "r"(place), "r"(9) : "memory");
    asm volatile("atom.shared.add.u32 %0, [%1], %2;" : "=r"(before) : "r"(place + 4), "r"(2) : "memory");
    __syncthreads();
    o[17] = local[0], o[18] = local[1];
    asm volatile("red.global.add.v2.f32 [%0], {%1, %2};" ::"l"(sums), "f"(f), "f"(g) : "memory");
    asm volatile("atom.global.dec.u32 %0, [%1], 6;" : "=r"(before) : "l"(counters) : "memory");
    asm("{ .reg .pred p, q; isspacep.shared p, %1; isspacep.global q, %2; and.pred p, p, q; selp.u32 %0, 1, 0, p; }" : "=r"(o[19]) : "l"(local), "l"(in));
}

// Macros with a definition in each branch, of which the compiler chooses: for an instruction's hint, and for whole functions.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define HINT(size) ".L2::" #size "B"
#define WITH_OTHER(name, type, reg, c_type, op)                                                                                              \
    static __device__ inline c_type name(c_type x, int mask) {                                                                               \
        c_type result = x;                                                                                                                   \
        asm("{.reg ." #type " r0;"                                                                                                           \
            ".reg .pred p;"                                                                                                                  \
            "shfl.sync.bfly.b32 r0|p, %1, %2, 31, -1;"                                                                                       \
            "@p " #op "." #type " r0, r0, %1;"                                                                                               \
            "mov." #type " %0, r0; }"                                                                                                        \
            : "=" #reg(result) : #reg(x), "r"(mask));                                                                                        \
        return result;                                                                                                                       \
    }
#define NAMED "not.b32"
#else
#define HINT(size)
#define WITH_OTHER(name, type, reg, c_type, op)                                                                                              \
    static __device__ inline c_type name(c_type x, int mask) {                                                                               \
        asm("shfl.bfly.b32 %0, %0, 7, 31;" : "+" #reg(x));                                                                                   \
        return x;                                                                                                                            \
    }
#define NAMED "neg.s32"
#endif
WITH_OTHER(add_other, s32, r, int, add)
WITH_OTHER(max_other, f32, f, float, max)
#undef WITH_OTHER
extern "C" __global__ void chosen(const int *in, int *out) {
    extern __shared__ int dynamic[];
    __shared__ int fixed[4];
    int x, *o = out + threadIdx.x * 6;
    asm volatile("ld.global.nc" HINT(128) ".s32 %0, [%1];" : "=r"(x) : "l"(in + threadIdx.x));
    o[0] = add_other(x, 1), o[1] = static_cast<int>(max_other(static_cast<float>(x), 2));
    asm(NAMED " %0, %1;" : "=r"(o[2]) : "r"(x));
    uint3 blocks;
    asm("mov.v4.u32 {%0, %1, %2, _}, %%nctaid;" : "=r"(blocks.x), "=r"(blocks.y), "=r"(blocks.z));
    o[3] = static_cast<int>(blocks.x * 100 + blocks.y * 10 + blocks.z);
    if (threadIdx.x < 4)
        fixed[threadIdx.x] = dynamic[threadIdx.x] = x;
    __syncthreads();
    asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(o[4]));
    asm("mov.u32 %0, %%total_smem_size;" : "=r"(o[5]));
    if (fixed[threadIdx.x % 4] != dynamic[threadIdx.x % 4])
        o[5] = -1;
}
