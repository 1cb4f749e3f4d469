// CUDA's conversions and roundings, for comparison with a model: every function of two tables on every number, as bits.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

typedef unsigned long long bits;
typedef __half f16;
typedef __nv_bfloat16 b16;
typedef float f32;
typedef double f64;
typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned u32;
typedef long long i64;
typedef unsigned long long u64;

template <typename T> static __host__ __device__ T of(bits from) {
    T to;
    memcpy(static_cast<void *>(&to), &from, sizeof to);
    return to;
}
template <typename T> static __host__ __device__ bits bits_of(T from) {
    bits to = 0;
    memcpy(&to, static_cast<const void *>(&from), sizeof from);
    return to;
}

// Row after row, the results of all numbers.
static __global__ void convert_all(const bits *in, int n, bits *out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int row = 0;
#define BOTH(NAME, FROM, TO, MODE) out[row++ * n + i] = bits_of<TO>(NAME(of<FROM>(in[i])));
#define DEVICE BOTH
#include "conversions.inc"
#undef DEVICE
#undef BOTH
}

extern "C" int launch_conversions(const bits *in, int n, bits *out, cudaStream_t stream) {
    convert_all<<<(n + 63) / 64, 64, 0, stream>>>(in, n, out);
    return cudaGetLastError();
}

// The same in host code, which has only a part of the functions.
extern "C" void convert_on_host(const bits *in, int n, bits *out) {
    for (int i = 0; i < n; i++) {
        int row = 0;
#define BOTH(NAME, FROM, TO, MODE) out[row++ * n + i] = bits_of<TO>(NAME(of<FROM>(in[i])));
#define DEVICE(NAME, FROM, TO, MODE) ++row;
#include "conversions.inc"
#undef DEVICE
#undef BOTH
    }
}

static __global__ void compute_all(const bits *a, const bits *b, const bits *c, int n, bits *out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int row = 0;
#define ONE(NAME, TYPE, OP, MODE) out[row++ * n + i] = bits_of<TYPE>(NAME(static_cast<TYPE>(of<f64>(a[i]))));
#define TWO(NAME, TYPE, OP, MODE) \
    out[row++ * n + i] = bits_of<TYPE>(NAME(static_cast<TYPE>(of<f64>(a[i])), static_cast<TYPE>(of<f64>(b[i]))));
#define THREE(NAME, TYPE, OP, MODE) \
    out[row++ * n + i] =            \
        bits_of<TYPE>(NAME(static_cast<TYPE>(of<f64>(a[i])), static_cast<TYPE>(of<f64>(b[i])), static_cast<TYPE>(of<f64>(c[i]))));
#include "arithmetic.inc"
#undef THREE
#undef TWO
#undef ONE
}

extern "C" int launch_arithmetic(const bits *a, const bits *b, const bits *c, int n, bits *out, cudaStream_t stream) {
    compute_all<<<(n + 63) / 64, 64, 0, stream>>>(a, b, c, n, out);
    return cudaGetLastError();
}

// Values of mathematics and of functions of integers.
static __global__ void values_of_all(double *out) {
    int row = 0;
#define BOTH(EXPRESSION, VALUE) out[row++] = EXPRESSION;
#define DEVICE BOTH
#include "values.inc"
#undef DEVICE
#undef BOTH
}

extern "C" int launch_values(double *out, cudaStream_t stream) {
    values_of_all<<<1, 1, 0, stream>>>(out);
    return cudaGetLastError();
}

extern "C" void values_on_host(double *out) {
    int row = 0;
#define BOTH(EXPRESSION, VALUE) out[row++] = EXPRESSION;
#define DEVICE(EXPRESSION, VALUE) ++row;
#include "values.inc"
#undef DEVICE
#undef BOTH
}
