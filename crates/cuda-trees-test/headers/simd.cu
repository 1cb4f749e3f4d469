// The functions on four bytes and two halves of a word, one column each. The test has the same list.
#include <cuda_runtime.h>

#define FAMILY(N, X)                                                                                                                  \
    X(__vadd##N) X(__vsub##N) X(__vaddss##N) X(__vaddus##N) X(__vsubss##N) X(__vsubus##N) X(__vavgs##N) X(__vavgu##N) X(__vhaddu##N)  \
    X(__vmaxs##N) X(__vmaxu##N) X(__vmins##N) X(__vminu##N) X(__vabsdiffs##N) X(__vabsdiffu##N) X(__vcmpeq##N) X(__vcmpne##N)         \
    X(__vcmpges##N) X(__vcmpgeu##N) X(__vcmpgts##N) X(__vcmpgtu##N) X(__vcmples##N) X(__vcmpleu##N) X(__vcmplts##N) X(__vcmpltu##N)   \
    X(__vseteq##N) X(__vsetne##N) X(__vsetges##N) X(__vsetgeu##N) X(__vsetgts##N) X(__vsetgtu##N) X(__vsetles##N) X(__vsetleu##N)     \
    X(__vsetlts##N) X(__vsetltu##N) X(__vsads##N) X(__vsadu##N)
#define BINARY(NAME) *out++ = NAME(a, b);
#define UNARY(NAME) *out++ = NAME(a);

extern "C" __global__ void parts(const uint2 *in, unsigned *out) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned a = in[i].x, b = in[i].y;
    out += i * 82;
    FAMILY(4, BINARY)
    UNARY(__vabs4) UNARY(__vabsss4) UNARY(__vneg4) UNARY(__vnegss4)
    FAMILY(2, BINARY)
    UNARY(__vabs2) UNARY(__vabsss2) UNARY(__vneg2) UNARY(__vnegss2)
}

// Largest and smallest of sums, of whole words and of halves.
extern "C" __global__ void extremes(const int *in, int *out) {
    const int a = in[threadIdx.x * 3], b = in[threadIdx.x * 3 + 1], c = in[threadIdx.x * 3 + 2];
    const unsigned ua = a, ub = b, uc = c;
    out += threadIdx.x * 21;
    bool first, second;
    out[0] = __vimax3_s32(a, b, c), out[1] = __vimin3_s32(a, b, c);
    out[2] = __vimax3_u32(ua, ub, uc), out[3] = __vimin3_u32(ua, ub, uc);
    out[4] = __viaddmax_s32(a, b, c), out[5] = __viaddmin_u32(ua, ub, uc);
    out[6] = __viaddmax_s32_relu(a, b, c), out[7] = __vimin3_s32_relu(a, b, c);
    out[8] = __vibmax_s32(a, b, &first), out[9] = __vibmin_u32(ua, ub, &second), out[10] = first * 2 + second;
    out[11] = __vimax3_s16x2(ua, ub, uc), out[12] = __vimin3_u16x2(ua, ub, uc);
    out[13] = __viaddmax_s16x2(ua, ub, uc), out[14] = __viaddmin_s16x2_relu(ua, ub, uc), out[15] = __vimax_s16x2_relu(ua, ub);
    bool upper[4], lower[4];
    out[16] = __vibmax_s16x2(ua, ub, upper, lower), out[17] = __vibmin_s16x2(ua, ub, upper + 1, lower + 1);
    out[18] = __vibmax_u16x2(ua, ub, upper + 2, lower + 2), out[19] = __vibmin_u16x2(ua, ub, upper + 3, lower + 3);
    out[20] = 0;
    for (int i = 0; i < 4; i++)
        out[20] = out[20] * 4 + upper[i] * 2 + lower[i];
}

// Sums of products of bytes and halves.
extern "C" __global__ void dots(const int *in, int *out) {
    const int a = in[threadIdx.x * 3], b = in[threadIdx.x * 3 + 1], c = in[threadIdx.x * 3 + 2];
    const unsigned ua = a, ub = b, uc = c;
    out += threadIdx.x * 8;
    out[0] = __dp4a(a, b, c), out[1] = __dp4a(ua, ub, uc);
    out[2] = __dp2a_lo(a, b, c), out[3] = __dp2a_lo(ua, ub, uc), out[4] = __dp2a_hi(a, b, c), out[5] = __dp2a_hi(ua, ub, uc);
    out[6] = __sad(a, b, uc), out[7] = __usad(ua, ub, uc);
}

// Functions on whole numbers.
extern "C" __global__ void integers(const int *in, long long *out) {
    const int a = in[threadIdx.x * 3], b = in[threadIdx.x * 3 + 1], c = in[threadIdx.x * 3 + 2];
    const unsigned ua = a, ub = b, uc = c;
    const long long la = static_cast<long long>(a) << 32 | ub, lb = static_cast<long long>(b) << 32 | uc;
    const unsigned long long ula = la, ulb = lb;
    long long *o = out + threadIdx.x * 32;
    *o++ = __hadd(a, b), *o++ = __rhadd(a, b), *o++ = __uhadd(ua, ub), *o++ = __urhadd(ua, ub);
    *o++ = __mul24(a, b), *o++ = __umul24(ua, ub), *o++ = __mulhi(a, b), *o++ = __umulhi(ua, ub);
    *o++ = __mul64hi(la, lb), *o++ = __umul64hi(ula, ulb);
    *o++ = __brev(ua), *o++ = __brevll(ula), *o++ = __clz(a), *o++ = __clzll(la), *o++ = __ffs(a), *o++ = __ffsll(la), *o++ = __ffsll(a);
    *o++ = __popc(ua), *o++ = __popcll(ula);
    *o++ = __funnelshift_l(ua, ub, uc), *o++ = __funnelshift_r(ua, ub, uc), *o++ = __funnelshift_lc(ua, ub, uc & 63), *o++ = __funnelshift_rc(ua, ub, uc & 63);
    *o++ = __byte_perm(ua, ub, uc & 0x7777), *o++ = __fns(ua, uc & 31, 3);
    *o++ = umax(ua, ub), *o++ = umin(ua, ub), *o++ = llmax(la, lb), *o++ = ullmin(ula, ulb);
    *o++ = __float_as_int(__int_as_float(a & 0x3fffffff)), *o++ = __double_as_longlong(__hiloint2double(a & 0x3fffffff, b)), *o++ = abs(b >> 1);
}
