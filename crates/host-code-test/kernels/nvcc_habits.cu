// What programs expect of nvcc without asking for it. What is checked at compile time fails the build.
#if defined(__HIP__) || defined(__HIPCC__) || defined(__HIP_PLATFORM_AMD__)
#error "a CUDA source sees itself compiled as HIP"
#endif
#if !defined(__NVCC__) || !defined(__CUDACC__) || __CUDACC_VER_MAJOR__ * 1000 + __CUDACC_VER_MINOR__ * 10 != CUDART_VERSION
#error "not nvcc"
#endif
#if !defined(__CUDA_RUNTIME_H__) || !defined(__CUDA_RUNTIME_API_H__) || !defined(__DRIVER_TYPES_H__) || !defined(__VECTOR_TYPES_H__) || \
    !defined(__HOST_DEFINES_H__) || !defined(__MATH_FUNCTIONS_H__)
#error "an include guard of CUDA's headers is missing"
#endif
// An include that is not taken says nothing of the dialect.
#if defined(USE_HIP)
#include <hip/hip_runtime.h>
#endif
#include <cuComplex.h>
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_profiler_api.h>
#include <math_constants.h>
#if defined(__HIP__) || defined(__HIPCC__) || defined(__HIP_PLATFORM_AMD__) || !defined(__cuda_cuda_h__) || !defined(__CUDA_FP16_H__)
#error "a header leaves HIP's macros"
#endif

template <typename A, typename B> struct same {
    static constexpr bool value = false;
};
template <typename A> struct same<A, A> {
    static constexpr bool value = true;
};
#define TYPE(T, A, B)                                               \
    static_assert(same<T, decltype(min(A, B))>::value, #T " min"); \
    static_assert(same<T, decltype(max(A, B))>::value, #T " max");
#define TYPES                                            \
    TYPE(int, 1, 2)                                      \
    TYPE(int, (short)1, 2)                               \
    TYPE(int, 'a', (short)2)                             \
    TYPE(unsigned, 1, 2u)                                \
    TYPE(long, 1l, 2l)                                   \
    TYPE(unsigned long, 1l, 2ul)                         \
    TYPE(long long, 1ll, 2ll)                            \
    TYPE(unsigned long long, 1ull, 2ll)                  \
    TYPE(float, 1.f, 2.f)                                \
    TYPE(double, 1.f, 2.)

// Vectors: aggregates of CUDA's alignment, to which programs bring operators.
static inline __host__ __device__ float4 operator*(float4 a, float4 b) { return make_float4(a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w); }
static inline __host__ __device__ float2 operator/(float2 a, float2 b) { return make_float2(a.x / b.x, a.y / b.y); }
static inline __host__ __device__ void operator+=(float4 &a, float4 b) { a.x += b.x, a.y += b.y, a.z += b.z, a.w += b.w; }
template <typename T> static inline __host__ __device__ T operator-(T a, T b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
// The indices of threads are vectors of three, and sizes of grids.
static inline __device__ unsigned thread_of_block() {
    uint3 at = threadIdx, first = {};
    dim3 size = blockDim;
    const dim3 copy = at;
    first = size;
    return at.x + copy.y + first.z - 1;
}
// A call of a class template's member template needs no `template`.
template <typename T> struct shifted {
    template <int N> static __host__ __device__ T by(T x) { return x + N; }
};
template <typename T> static __host__ __device__ T shifted_by_two(T x) { return shifted<T>::by<2>(x); }
static_assert(alignof(float2) == 8 && alignof(float3) == 4 && alignof(float4) == 16 && alignof(double4) == 16, "CUDA's alignment");

// What a kernel calls need not be there for the host.
template <typename T> struct on_device {
#if defined(__CUDA_ARCH__)
    static __device__ T doubled(T x) { return 2 * x; }
#endif
};
template <typename T> static __global__ void double_on_device(T *at) { *at = on_device<T>::doubled(*at); }

static __global__ void habits(unsigned long long *out, float4 *v, int minus, unsigned five, long long big, unsigned long long small, float half) {
    TYPES
    assert(out != nullptr && thread_of_block() == 0);
    char text[8];
    memset(text, 0, sizeof text);
    memcpy(text, "abc", 4);
    float4 one = {1.0f}, sum = {};
    sum += v[0] * v[1];
    sum += one;
    v[2] = sum;
    const float3 difference = make_float3(3, 2, 1) - make_float3(1, 1, 1);
    const float2 quotient = make_float2(6, 8) / make_float2(2, 4);
    unsigned long long values[] = {
        min(minus, five),
        max((long long)minus, small),
        (unsigned long long)max(big, (long long)small),
        max(minus, five),
        (unsigned long long)(4 * min(half, 0.75f)),
        (unsigned long long)(4 * max(half, 0.75)),
        (unsigned long long)isfinite(half) + isnan(half) + isinf(half),
        shifted_by_two((unsigned long long)text[2] - 2),
        (unsigned long long)(difference.x + difference.y),
        (unsigned long long)(quotient.x + quotient.y),
        (unsigned long long)warpSize,
#if defined(__CUDA_ARCH__)
        __CUDA_ARCH__,
#endif
    };
    for (int i = 0; i < int(sizeof values / sizeof *values); i++)
        out[i] = values[i];
}

extern "C" int launch_habits(unsigned long long *out, float *vectors, cudaStream_t stream) {
    // A kernel and a configuration without casts.
    cudaLaunchAttribute attributes[2];
    attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[0].val.programmaticStreamSerializationAllowed = 1;
    attributes[1].id = cudaLaunchAttributeClusterDimension;
    attributes[1].val.clusterDim.x = attributes[1].val.clusterDim.y = attributes[1].val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = 1;
    config.blockDim = 1;
    config.stream = stream;
    config.attrs = attributes;
    config.numAttrs = 2;
    const int code = cudaLaunchKernelEx(&config, habits, out, reinterpret_cast<float4 *>(vectors), -1, 5u, 9007199254740993ll, 7ull, 0.5f);
    double_on_device<<<1, 1, 0, stream>>>(out + 8);
    attributes[1].val.clusterDim.x = 2;
    const int refused =
        cudaLaunchKernelEx(&config, habits, out, reinterpret_cast<float4 *>(vectors), -1, 5u, 9007199254740993ll, 7ull, 0.5f);
    return code != cudaSuccess ? code : refused == cudaErrorNotSupported ? 0 : -1;
}

// The same functions in host code.
extern "C" void habits_of_host(unsigned long long *out) {
    TYPES
    volatile int minus = -1;
    volatile unsigned five = 5;
    volatile float half = 0.5f;
    volatile long long big = 9007199254740993ll;
    volatile unsigned long long small = 7;
    out[0] = min((int)minus, (unsigned)five);
    out[1] = max((long long)(int)minus, (unsigned long long)small);
    out[2] = max((long long)big, (long long)small);
    out[3] = max((int)minus, (unsigned)five);
    out[4] = static_cast<unsigned long long>(4 * min((float)half, 0.75f));
    out[5] = static_cast<unsigned long long>(4 * max((float)half, 0.75));
    out[6] = isfinite((float)half) + isnan((float)half) + isinf((float)half);
    out[7] = shifted_by_two(strlen("abc")) + 'c' - 5;
}

// What host code is told of the GPU.
extern "C" int host_view(int *out) {
    cudaDeviceProp properties;
    cudaFuncAttributes attributes;
    CUdevice device;
    int current;
    int code = cudaGetDevice(&current);
    code = code ? code : cudaGetDeviceProperties(&properties, current);
    code = code ? code : cudaDeviceGetAttribute(out + 3, cudaDevAttrWarpSize, current);
    code = code ? code : cudaDeviceGetAttribute(out + 4, cudaDevAttrComputeCapabilityMajor, current);
    code = code ? code : cudaDeviceGetAttribute(out + 5, cudaDevAttrComputeCapabilityMinor, current);
    code = code ? code : cudaFuncGetAttributes(&attributes, habits);
    code = code ? code : cudaRuntimeGetVersion(out + 8);
    code = code ? code : cuDeviceGet(&device, current);
    code = code ? code : cuDeviceComputeCapability(out + 9, out + 10, device);
    // What HIP has no attribute for.
    code = code ? code : cuDeviceGetAttribute(out + 11, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_LAYERS, device);
    out[11] -= properties.maxTexture2DLayered[2];
    code = code ? code : cudaDeviceGetAttribute(out + 12, cudaDevAttrHostRegisterReadOnlySupported, current);
    out[12] -= properties.hostRegisterReadOnlySupported;
    code = code ? code : cudaDeviceGetAttribute(out + 13, cudaDevAttrNumaConfig, current);
    code = code ? code : cudaDeviceGetAttribute(out + 14, cudaDevAttrNumaId, current);
    code = code ? code : cudaProfilerStart();
    code = code ? code : cudaProfilerStop();
    out[0] = properties.warpSize;
    out[1] = properties.major;
    out[2] = properties.minor;
    out[6] = attributes.binaryVersion;
    out[7] = attributes.ptxVersion;
    return code;
}

static __device__ float symbol[4];
static void CUDART_CB done(cudaStream_t, cudaError_t, void *) {}
template <typename T, int N> static __global__ void templated(T *) {}

// Overloads and defaults that are only compiled, in each form of CUDA 12 and 13.
extern "C" int overloads(cudaStream_t s, cudaGraph_t g, cudaMemPool_t pool) {
    float *p = nullptr;
    const float *q = nullptr;
    cudaEvent_t e;
    cudaGraphExec_t x;
    cudaGraphNode_t node;
    cudaFuncAttributes at;
    void *arguments[1] = {&p};
    size_t size;
    int n, b;
    cudaStreamCaptureStatus status;
    unsigned long long id;
    const cudaGraphNode_t *after;
    cudaMemLocation place = {};
    const char *name;
    int code = cudaMallocHost(&p, 4) + cudaMallocHost(&q, 4, cudaHostAllocPortable) + cudaMallocHost((void **)&p, 4) + cudaHostAlloc(&p, 4, 0);
    code += cudaHostGetDevicePointer(&p, p, 0) + cudaMallocManaged(&p, 4) + cudaStreamAttachMemAsync(s, p) + cudaMallocAsync(&p, 4, pool, s);
    code += cudaEventCreate(&e) + cudaEventCreate(&e, cudaEventDisableTiming) + cudaStreamAddCallback(s, done, nullptr, 0);
    code += cudaGetSymbolAddress((void **)&p, symbol) + cudaGetSymbolAddress(&p, symbol) + cudaGetSymbolSize(&size, symbol);
    code += cudaGraphAddMemcpyNodeToSymbol(&node, g, nullptr, 0, symbol, p, 4, 0, cudaMemcpyHostToDevice);
    code += cudaGraphAddMemcpyNodeFromSymbol(&node, g, nullptr, 0, p, symbol, 4, 0, cudaMemcpyDeviceToHost);
    code += cudaFuncSetAttribute(templated<float, 3>, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared);
    code += cudaFuncSetCacheConfig(habits, cudaFuncCachePreferL1) + cudaFuncGetAttributes(&at, templated<int, 1>);
    code += cudaFuncSetSharedMemConfig(habits, cudaSharedMemBankSizeDefault) + cudaFuncGetName(&name, habits);
    code += cudaLaunchKernel(habits, 1, 1, arguments) + cudaLaunchCooperativeKernel(habits, 2, 32, arguments);
    code += cudaOccupancyMaxPotentialBlockSize(&n, &b, habits) + cudaOccupancyAvailableDynamicSMemPerBlock(&size, habits, 1, 64);
    code += cudaStreamGetCaptureInfo(s, &status) + cudaStreamGetCaptureInfo(s, &status, &id);
    code += cudaStreamGetCaptureInfo(s, &status, &id, &g, &after, &size) + cudaStreamGetCaptureInfo(s, &status, &id, &g, &after, nullptr, &size);
    code += cudaGraphInstantiate(&x, g) + cudaGraphInstantiate(&x, g, 0) + cudaGraphInstantiate(&x, g, nullptr, nullptr, 0);
    cudaGraphExecUpdateResultInfo info;
    cudaGraphExecUpdateResult result;
    code += cudaGraphExecUpdate(x, g, &info) + cudaGraphExecUpdate(x, g, &node, &result);
    code += cudaMemPrefetchAsync(p, 4, 0) + cudaMemPrefetchAsync(p, 4, 0, s) + cudaMemPrefetchAsync(p, 4, place, 0, s) + cudaMemPrefetchAsync_v2(p, 4, place, 0);
    code += cudaMemAdvise(p, 4, cudaMemAdviseSetReadMostly, 0) + cudaMemAdvise(p, 4, cudaMemAdviseSetReadMostly, place);
    code += cudaStreamUpdateCaptureDependencies(s, nullptr, 0, 0) + cudaGraphAddDependencies(g, nullptr, nullptr, nullptr, 0) + cudaInitDevice(0, 0, 0);
    code += (int)__bfloat162float((__nv_bfloat16)(__bf16)(float)code);
    return code;
}
