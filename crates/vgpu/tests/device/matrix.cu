// One wave computes D = A * B + C with matrix instructions. A, B, C and D are row-major; B has as many columns as A has rows.
// The positions of elements are written out here, following AMD's instruction set documents.
#include <hip/hip_runtime.h>
#include <stdint.h>

extern "C" __global__ void nothing() {}

#define VECTOR(type, count, name) typedef type name __attribute__((ext_vector_type(count)))

#if defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
VECTOR(float, 2, float_2);
VECTOR(float, 4, float_4);
VECTOR(float, 16, float_16);
VECTOR(float, 32, float_32);
VECTOR(double, 4, double_4);
VECTOR(_Float16, 4, half_4);
VECTOR(short, 2, short_2);
VECTOR(short, 4, short_4);
VECTOR(int, 16, int_16);

// Row of register `r` in products of 16 and 32 rows.
#define ROW_16(r) (4 * (lane / 16) + (r))
#define ROW_32(r) (8 * ((r) / 4) + 4 * (lane / 32) + (r) % 4)

extern "C" __global__ void mfma_f32_16(const float *a, const float *b, const float *c, float *d, int k) {
    int lane = threadIdx.x;
    float_4 sum;
    for (int r = 0; r < 4; r++)
        sum[r] = c[ROW_16(r) * 16 + lane % 16];
    for (int first = 0; first < k; first += 4) {
        int l = first + lane / 16;
        sum = __builtin_amdgcn_mfma_f32_16x16x4f32(a[lane % 16 * k + l], b[l * 16 + lane % 16], sum, 0, 0, 0);
    }
    for (int r = 0; r < 4; r++)
        d[ROW_16(r) * 16 + lane % 16] = sum[r];
}

extern "C" __global__ void mfma_f32_32(const float *a, const float *b, const float *c, float *d, int k) {
    int lane = threadIdx.x;
    float_16 sum;
    for (int r = 0; r < 16; r++)
        sum[r] = c[ROW_32(r) * 32 + lane % 32];
    for (int first = 0; first < k; first += 2) {
        int l = first + lane / 32;
        sum = __builtin_amdgcn_mfma_f32_32x32x2f32(a[lane % 32 * k + l], b[l * 32 + lane % 32], sum, 0, 0, 0);
    }
    for (int r = 0; r < 16; r++)
        d[ROW_32(r) * 32 + lane % 32] = sum[r];
}

// Two products with the first A: it is broadcast.
extern "C" __global__ void mfma_f32_broadcast(const float *a, const float *b, const float *c, float *d, int k) {
    int lane = threadIdx.x;
    float_32 sum;
    for (int r = 0; r < 32; r++)
        sum[r] = c[r / 16 * 1024 + ROW_32(r % 16) * 32 + lane % 32];
    for (int l = 0; l < k; l++) {
        float of_a = lane < 32 ? a[lane * k + l] : -1e30f;
        float of_b = b[lane / 32 * 32 * k + l * 32 + lane % 32];
        sum = __builtin_amdgcn_mfma_f32_32x32x1f32(of_a, of_b, sum, 1, 0, 0);
    }
    for (int r = 0; r < 32; r++)
        d[r / 16 * 1024 + ROW_32(r % 16) * 32 + lane % 32] = sum[r];
}

// Sixteen products of 4 by 4.
extern "C" __global__ void mfma_f32_4(const float *a, const float *b, const float *c, float *d, int k) {
    int lane = threadIdx.x, block = lane / 4;
    float_4 sum;
    for (int r = 0; r < 4; r++)
        sum[r] = c[block * 16 + r * 4 + lane % 4];
    for (int l = 0; l < k; l++)
        sum = __builtin_amdgcn_mfma_f32_4x4x1f32(a[block * 4 * k + lane % 4 * k + l],
                                                 b[block * 4 * k + l * 4 + lane % 4], sum, 0, 0, 0);
    for (int r = 0; r < 4; r++)
        d[block * 16 + r * 4 + lane % 4] = sum[r];
}

extern "C" __global__ void mfma_f16_16(const _Float16 *a, const _Float16 *b, const float *c, float *d, int k) {
    int lane = threadIdx.x;
    float_4 sum;
    for (int r = 0; r < 4; r++)
        sum[r] = c[ROW_16(r) * 16 + lane % 16];
    for (int first = 0; first < k; first += 16) {
        half_4 x, y;
        for (int e = 0; e < 4; e++) {
            int l = first + 4 * (lane / 16) + e;
            x[e] = a[lane % 16 * k + l];
            y[e] = b[l * 16 + lane % 16];
        }
        sum = __builtin_amdgcn_mfma_f32_16x16x16f16(x, y, sum, 0, 0, 0);
    }
    for (int r = 0; r < 4; r++)
        d[ROW_16(r) * 16 + lane % 16] = sum[r];
}

extern "C" __global__ void mfma_f16_32(const _Float16 *a, const _Float16 *b, const float *c, float *d, int k) {
    int lane = threadIdx.x;
    float_16 sum;
    for (int r = 0; r < 16; r++)
        sum[r] = c[ROW_32(r) * 32 + lane % 32];
    for (int first = 0; first < k; first += 8) {
        half_4 x, y;
        for (int e = 0; e < 4; e++) {
            int l = first + 4 * (lane / 32) + e;
            x[e] = a[lane % 32 * k + l];
            y[e] = b[l * 32 + lane % 32];
        }
        sum = __builtin_amdgcn_mfma_f32_32x32x8f16(x, y, sum, 0, 0, 0);
    }
    for (int r = 0; r < 16; r++)
        d[ROW_32(r) * 32 + lane % 32] = sum[r];
}

extern "C" __global__ void mfma_bf16_16(const short *a, const short *b, const float *c, float *d, int k) {
    int lane = threadIdx.x;
    float_4 sum;
    for (int r = 0; r < 4; r++)
        sum[r] = c[ROW_16(r) * 16 + lane % 16];
    for (int first = 0; first < k; first += 16) {
        short_4 x, y;
        for (int e = 0; e < 4; e++) {
            int l = first + 4 * (lane / 16) + e;
            x[e] = a[lane % 16 * k + l];
            y[e] = b[l * 16 + lane % 16];
        }
        sum = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(x, y, sum, 0, 0, 0);
    }
    for (int r = 0; r < 4; r++)
        d[ROW_16(r) * 16 + lane % 16] = sum[r];
}

#ifdef __gfx90a__
// The instruction of the previous generation.
extern "C" __global__ void mfma_bf16_32(const short *a, const short *b, const float *c, float *d, int k) {
    int lane = threadIdx.x;
    float_16 sum;
    for (int r = 0; r < 16; r++)
        sum[r] = c[ROW_32(r) * 32 + lane % 32];
    for (int first = 0; first < k; first += 4) {
        short_2 x, y;
        for (int e = 0; e < 2; e++) {
            int l = first + 2 * (lane / 32) + e;
            x[e] = a[lane % 32 * k + l];
            y[e] = b[l * 32 + lane % 32];
        }
        sum = __builtin_amdgcn_mfma_f32_32x32x4bf16(x, y, sum, 0, 0, 0);
    }
    for (int r = 0; r < 16; r++)
        d[ROW_32(r) * 32 + lane % 32] = sum[r];
}

#elif defined(__gfx942__)
extern "C" __global__ void mfma_xf32_16(const float *a, const float *b, const float *c, float *d, int k) {
    int lane = threadIdx.x;
    float_4 sum;
    for (int r = 0; r < 4; r++)
        sum[r] = c[ROW_16(r) * 16 + lane % 16];
    for (int first = 0; first < k; first += 8) {
        float_2 x, y;
        for (int e = 0; e < 2; e++) {
            int l = first + 2 * (lane / 16) + e;
            x[e] = a[lane % 16 * k + l];
            y[e] = b[l * 16 + lane % 16];
        }
        sum = __builtin_amdgcn_mfma_f32_16x16x8_xf32(x, y, sum, 0, 0, 0);
    }
    for (int r = 0; r < 4; r++)
        d[ROW_16(r) * 16 + lane % 16] = sum[r];
}
#endif

// Each instruction of gfx942 and gfx950 uses twice as many columns of A as those of gfx90a.
#ifdef __gfx90a__
#define BYTES 4
#define MFMA_I8_32(x, y, sum)                                                                                        \
    __builtin_amdgcn_mfma_i32_32x32x8i8(__builtin_bit_cast(int, x), __builtin_bit_cast(int, y), sum, 0, 0, 0)
#else
#define BYTES 8
#define MFMA_I8_32(x, y, sum)                                                                                        \
    __builtin_amdgcn_mfma_i32_32x32x16_i8(__builtin_bit_cast(long, x), __builtin_bit_cast(long, y), sum, 0, 0, 0)
#endif
VECTOR(char, BYTES, bytes);

extern "C" __global__ void mfma_i8_32(const char *a, const char *b, const int *c, int *d, int k) {
    int lane = threadIdx.x;
    int_16 sum;
    for (int r = 0; r < 16; r++)
        sum[r] = c[ROW_32(r) * 32 + lane % 32];
    for (int first = 0; first < k; first += 2 * BYTES) {
        bytes x, y;
        for (int e = 0; e < BYTES; e++) {
            int l = first + BYTES * (lane / 32) + e;
            x[e] = a[lane % 32 * k + l];
            y[e] = b[l * 32 + lane % 32];
        }
        sum = MFMA_I8_32(x, y, sum);
    }
    for (int r = 0; r < 16; r++)
        d[ROW_32(r) * 32 + lane % 32] = sum[r];
}

extern "C" __global__ void mfma_f64_16(const double *a, const double *b, const double *c, double *d, int k) {
    int lane = threadIdx.x;
    double_4 sum;
    for (int r = 0; r < 4; r++)
        sum[r] = c[(4 * r + lane / 16) * 16 + lane % 16];
    for (int first = 0; first < k; first += 4) {
        int l = first + lane / 16;
        sum = __builtin_amdgcn_mfma_f64_16x16x4f64(a[lane % 16 * k + l], b[l * 16 + lane % 16], sum, 0, 0, 0);
    }
    for (int r = 0; r < 4; r++)
        d[(4 * r + lane / 16) * 16 + lane % 16] = sum[r];
}

// Four products of 4 by 4.
extern "C" __global__ void mfma_f64_4(const double *a, const double *b, const double *c, double *d, int k) {
    int lane = threadIdx.x, block = lane / 4 % 4;
    double sum = c[block * 16 + lane / 16 * 4 + lane % 4];
    for (int first = 0; first < k; first += 4) {
        int l = first + lane / 16;
        sum = __builtin_amdgcn_mfma_f64_4x4x4f64(a[block * 4 * k + lane % 4 * k + l],
                                                 b[block * 4 * k + l * 4 + lane % 4], sum, 0, 0, 0);
    }
    d[block * 16 + lane / 16 * 4 + lane % 4] = sum;
}
#endif

#ifdef __gfx1100__
VECTOR(float, 8, float_8);
VECTOR(_Float16, 16, half_16);
VECTOR(short, 16, short_16);
VECTOR(int, 2, int_2);
VECTOR(int, 4, int_4);
VECTOR(int, 8, int_8);
VECTOR(signed char, 16, char_16);

#define ROW(r) (2 * (r) + lane / 16)

extern "C" __global__ void wmma_f32_f16(const _Float16 *a, const _Float16 *b, const float *c, float *d, int k) {
    int lane = threadIdx.x;
    float_8 sum;
    for (int r = 0; r < 8; r++)
        sum[r] = c[ROW(r) * 16 + lane % 16];
    for (int first = 0; first < k; first += 16) {
        half_16 x, y;
        for (int e = 0; e < 16; e++) {
            x[e] = a[lane % 16 * k + first + e];
            y[e] = b[(first + e) * 16 + lane % 16];
        }
        sum = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(x, y, sum);
    }
    for (int r = 0; r < 8; r++)
        d[ROW(r) * 16 + lane % 16] = sum[r];
}

extern "C" __global__ void wmma_f32_bf16(const short *a, const short *b, const float *c, float *d, int k) {
    int lane = threadIdx.x;
    float_8 sum;
    for (int r = 0; r < 8; r++)
        sum[r] = c[ROW(r) * 16 + lane % 16];
    for (int first = 0; first < k; first += 16) {
        short_16 x, y;
        for (int e = 0; e < 16; e++) {
            x[e] = a[lane % 16 * k + first + e];
            y[e] = b[(first + e) * 16 + lane % 16];
        }
        sum = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(x, y, sum);
    }
    for (int r = 0; r < 8; r++)
        d[ROW(r) * 16 + lane % 16] = sum[r];
}

// Two products with sums in the low and in the high halves of the same registers: of A, and of A with the sign of C changed.
extern "C" __global__ void wmma_f16(const _Float16 *a, const _Float16 *b, const _Float16 *c, _Float16 *d, int k) {
    int lane = threadIdx.x;
    half_16 sum;
    for (int r = 0; r < 8; r++) {
        sum[2 * r] = c[ROW(r) * 16 + lane % 16];
        sum[2 * r + 1] = -sum[2 * r];
    }
    for (int first = 0; first < k; first += 16) {
        half_16 x, y;
        for (int e = 0; e < 16; e++) {
            x[e] = a[lane % 16 * k + first + e];
            y[e] = b[(first + e) * 16 + lane % 16];
        }
        sum = __builtin_amdgcn_wmma_f16_16x16x16_f16_tied_w32(x, y, sum, false);
        sum = __builtin_amdgcn_wmma_f16_16x16x16_f16_tied_w32(x, y, sum, true);
    }
    for (int r = 0; r < 8; r++) {
        d[ROW(r) * 16 + lane % 16] = sum[2 * r];
        d[256 + ROW(r) * 16 + lane % 16] = sum[2 * r + 1];
    }
}

extern "C" __global__ void wmma_i8(const signed char *a, const signed char *b, const int *c, int *d, int k) {
    int lane = threadIdx.x;
    int_8 sum;
    for (int r = 0; r < 8; r++)
        sum[r] = c[ROW(r) * 16 + lane % 16];
    for (int first = 0; first < k; first += 16) {
        char_16 x, y;
        for (int e = 0; e < 16; e++) {
            x[e] = a[lane % 16 * k + first + e];
            y[e] = b[(first + e) * 16 + lane % 16];
        }
        sum = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, __builtin_bit_cast(int_4, x), true,
                                                         __builtin_bit_cast(int_4, y), sum, false);
    }
    for (int r = 0; r < 8; r++)
        d[ROW(r) * 16 + lane % 16] = sum[r];
}

// The low nibbles of A are signed, those of B are not.
extern "C" __global__ void wmma_i4(const signed char *a, const signed char *b, const int *c, int *d, int k) {
    int lane = threadIdx.x;
    int_8 sum;
    for (int r = 0; r < 8; r++)
        sum[r] = c[ROW(r) * 16 + lane % 16];
    for (int first = 0; first < k; first += 16) {
        uint64_t x = 0, y = 0;
        for (int e = 0; e < 16; e++) {
            x |= (uint64_t)(a[lane % 16 * k + first + e] & 15) << 4 * e;
            y |= (uint64_t)(b[(first + e) * 16 + lane % 16] & 15) << 4 * e;
        }
        sum = __builtin_amdgcn_wmma_i32_16x16x16_iu4_w32(true, __builtin_bit_cast(int_2, x), false,
                                                         __builtin_bit_cast(int_2, y), sum, false);
    }
    for (int r = 0; r < 8; r++)
        d[ROW(r) * 16 + lane % 16] = sum[r];
}
#endif

#ifdef __gfx1201__
VECTOR(float, 8, float_8);
VECTOR(_Float16, 8, half_8);
VECTOR(short, 8, short_8);
VECTOR(int, 2, int_2);
VECTOR(int, 8, int_8);
VECTOR(signed char, 8, char_8);

#define ROW(r) (8 * (lane / 16) + (r))

extern "C" __global__ void wmma_f32_f16(const _Float16 *a, const _Float16 *b, const float *c, float *d, int k) {
    int lane = threadIdx.x;
    float_8 sum;
    for (int r = 0; r < 8; r++)
        sum[r] = c[ROW(r) * 16 + lane % 16];
    for (int first = 0; first < k; first += 16) {
        half_8 x, y;
        for (int e = 0; e < 8; e++) {
            int l = first + 8 * (lane / 16) + e;
            x[e] = a[lane % 16 * k + l];
            y[e] = b[l * 16 + lane % 16];
        }
        sum = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(x, y, sum);
    }
    for (int r = 0; r < 8; r++)
        d[ROW(r) * 16 + lane % 16] = sum[r];
}

extern "C" __global__ void wmma_f32_bf16(const short *a, const short *b, const float *c, float *d, int k) {
    int lane = threadIdx.x;
    float_8 sum;
    for (int r = 0; r < 8; r++)
        sum[r] = c[ROW(r) * 16 + lane % 16];
    for (int first = 0; first < k; first += 16) {
        short_8 x, y;
        for (int e = 0; e < 8; e++) {
            int l = first + 8 * (lane / 16) + e;
            x[e] = a[lane % 16 * k + l];
            y[e] = b[l * 16 + lane % 16];
        }
        sum = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(x, y, sum);
    }
    for (int r = 0; r < 8; r++)
        d[ROW(r) * 16 + lane % 16] = sum[r];
}

extern "C" __global__ void wmma_f16(const _Float16 *a, const _Float16 *b, const _Float16 *c, _Float16 *d, int k) {
    int lane = threadIdx.x;
    half_8 sum;
    for (int r = 0; r < 8; r++)
        sum[r] = c[ROW(r) * 16 + lane % 16];
    for (int first = 0; first < k; first += 16) {
        half_8 x, y;
        for (int e = 0; e < 8; e++) {
            int l = first + 8 * (lane / 16) + e;
            x[e] = a[lane % 16 * k + l];
            y[e] = b[l * 16 + lane % 16];
        }
        sum = __builtin_amdgcn_wmma_f16_16x16x16_f16_w32_gfx12(x, y, sum);
    }
    for (int r = 0; r < 8; r++)
        d[ROW(r) * 16 + lane % 16] = sum[r];
}

extern "C" __global__ void wmma_i8(const signed char *a, const signed char *b, const int *c, int *d, int k) {
    int lane = threadIdx.x;
    int_8 sum;
    for (int r = 0; r < 8; r++)
        sum[r] = c[ROW(r) * 16 + lane % 16];
    for (int first = 0; first < k; first += 16) {
        char_8 x, y;
        for (int e = 0; e < 8; e++) {
            int l = first + 8 * (lane / 16) + e;
            x[e] = a[lane % 16 * k + l];
            y[e] = b[l * 16 + lane % 16];
        }
        sum = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(true, __builtin_bit_cast(int_2, x), true,
                                                               __builtin_bit_cast(int_2, y), sum, false);
    }
    for (int r = 0; r < 8; r++)
        d[ROW(r) * 16 + lane % 16] = sum[r];
}
#endif
