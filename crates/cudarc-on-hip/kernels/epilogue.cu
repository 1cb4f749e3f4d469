// The epilogue of a matrix product: adds a bias for each row and applies an activation, in f32.
//
// Matrices are stored by columns, `distance` elements from one to the next. Activations: 0 none, 1 max(x, 0), 2 the tanh approximation of
// GELU.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

static __device__ float widen(float x) { return x; }
static __device__ float widen(__half x) { return __half2float(x); }
static __device__ float widen(__nv_bfloat16 x) { return __bfloat162float(x); }
static __device__ void narrow(float x, float *to) { *to = x; }
static __device__ void narrow(float x, __half *to) { *to = __float2half(x); }
static __device__ void narrow(float x, __nv_bfloat16 *to) { *to = __float2bfloat16(x); }

template <typename T>
static __device__ void epilogue(T *d, const T *bias, unsigned long long rows, unsigned long long columns,
                                unsigned long long leading, unsigned long long batches, long long distance,
                                long long bias_distance, unsigned activation) {
    const unsigned long long threads = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
    unsigned long long index = static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    for (; index < rows * columns * batches; index += threads) {
        const unsigned long long row = index % rows, column = index / rows % columns, batch = index / rows / columns;
        T *place = d + static_cast<long long>(batch) * distance + column * leading + row;
        float x = widen(*place);
        if (bias) x += widen(bias[static_cast<long long>(batch) * bias_distance + row]);
        if (activation == 1) x = fmaxf(x, 0.0f);
        if (activation == 2) x = 0.5f * x * (1.0f + tanhf(0.7978845608028654f * (x + 0.044715f * x * x * x)));
        narrow(x, place);
    }
}

#define EPILOGUE(NAME, TYPE)                                                                                                  \
    extern "C" __global__ void NAME(TYPE *d, const TYPE *bias, unsigned long long rows, unsigned long long columns,          \
                                    unsigned long long leading, unsigned long long batches, long long distance,              \
                                    long long bias_distance, unsigned activation) {                                          \
        epilogue<TYPE>(d, bias, rows, columns, leading, batches, distance, bias_distance, activation);                       \
    }

EPILOGUE(epilogue_f32, float)
EPILOGUE(epilogue_f16, __half)
EPILOGUE(epilogue_bf16, __nv_bfloat16)
