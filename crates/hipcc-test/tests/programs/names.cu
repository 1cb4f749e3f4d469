// Functions of CUDA's API that are made of HIP's, against what CUDA's documentation says of them.
#include <cuda.h>
#include <cuda_profiler_api.h>
#include <cstdio>
#include <cstring>

static int failures;
#define CHECK(CONDITION)                                       \
    do {                                                       \
        if (!(CONDITION)) {                                    \
            std::printf("%d: %s\n", __LINE__, #CONDITION);    \
            ++failures;                                        \
        }                                                      \
    } while (false)
#define FINE(CALL) CHECK((CALL) == cudaSuccess)

__global__ void set(int *out, int value) { *out = value; }

// A switch may have errors that only CUDA has, each once.
static const char *said(cudaError_t status) {
    switch (status) {
    case cudaErrorInvalidHostPointer: return "host";
    case cudaErrorInvalidTexture: return "texture";
    case cudaErrorInvalidClusterSize: return "cluster";
    case cudaErrorApiFailureBase: return "base";
    default: return "other";
    }
}

static void devices() {
    int device = -1, value = -1;
    FINE(cudaInitDevice(0, 0, 0));
    CHECK(cudaInitDevice(1000, 0, 0) != cudaSuccess);
    FINE(cudaGetDevice(&device));
    CHECK(device == 0);
    FINE(cudaDeviceGetAttribute(&value, cudaDevAttrClusterLaunch, 0));
    CHECK(value == 0);
    CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrHostNumaId, 0) == cudaErrorNotSupported);
    FINE(cudaDeviceGetAttribute(&value, cudaDevAttrComputeCapabilityMajor, 0));
    CHECK(value == 8);
    FINE(cudaProfilerStart());
    FINE(cudaProfilerStop());
    CHECK(std::strcmp(said(cudaErrorInvalidClusterSize), "cluster") == 0);
}

static void kernels() {
    const char *name = nullptr;
    FINE(cudaFuncGetName(&name, set));
    CHECK(name != nullptr && std::strstr(name, "set") != nullptr);
    CHECK(cudaFuncSetAttribute(set, cudaFuncAttributeNonPortableClusterSizeAllowed, 1) == cudaErrorNotSupported);
    cudaKernel_t kernel = nullptr;
    FINE(cudaGetKernel(&kernel, set));
    const char *driver = nullptr;
    FINE(cuFuncGetName(&driver, reinterpret_cast<CUfunction>(kernel)));
    CHECK(driver != nullptr && name != nullptr && std::strcmp(driver, name) == 0);
}

static void launches() {
    int *at = nullptr, seen = 0;
    FINE(cudaMalloc(&at, 4));
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = config.blockDim = dim3(1);
    config.attrs = &attribute;
    config.numAttrs = 1;
    FINE(cudaLaunchKernelEx(&config, set, at, 7));
    FINE(cudaMemcpy(&seen, at, 4, cudaMemcpyDeviceToHost));
    CHECK(seen == 7);
    // One block is no cluster; several are refused, and nothing runs.
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    FINE(cudaLaunchKernelEx(&config, set, at, 8));
    attribute.val.clusterDim.x = 2;
    CHECK(cudaLaunchKernelEx(&config, set, at, 9) == cudaErrorNotSupported);
    FINE(cudaMemcpy(&seen, at, 4, cudaMemcpyDeviceToHost));
    CHECK(seen == 8);
    FINE(cudaFree(at));
}

static void entries() {
    void *at = nullptr;
    cudaDriverEntryPointQueryResult answer;
    FINE(cudaGetDriverEntryPointByVersion("cuMemAlloc", &at, 12000, cudaEnableDefault, &answer));
    CHECK(answer == cudaDriverEntryPointSuccess && at != nullptr);
    CUdeviceptr memory = 0;
    if (at != nullptr)
        FINE(reinterpret_cast<cudaError_t (*)(CUdeviceptr *, size_t)>(at)(&memory, 16));
    CHECK(memory != 0);
    FINE(cuMemFree(memory));
    FINE(cudaGetDriverEntryPointByVersion("cuNoSuchFunction", &at, 12000, cudaEnableDefault, &answer));
    CHECK(answer == cudaDriverEntryPointSymbolNotFound && at == nullptr);
    // A name's second form is another function.
    void *older = nullptr, *newer = nullptr;
    FINE(cudaGetDriverEntryPointByVersion("cuMemAdvise", &older, 8000, cudaEnableDefault, &answer));
    FINE(cudaGetDriverEntryPointByVersion("cuMemAdvise", &newer, 12020, cudaEnableDefault, &answer));
    CHECK(older != nullptr && newer != nullptr && older != newer);
    CUdriverProcAddressQueryResult status;
    FINE(cuGetProcAddress("cuDeviceGetAttribute", &at, CUDA_VERSION, CU_GET_PROC_ADDRESS_DEFAULT, &status));
    CHECK(status == CU_GET_PROC_ADDRESS_SUCCESS && at != nullptr);
}

static void memory() {
    int *at = nullptr;
    FINE(cudaMallocManaged(&at, 8));
    cudaStream_t stream;
    FINE(cudaStreamCreate(&stream));
    int device = -1;
    FINE(cudaStreamGetDevice(stream, &device));
    CHECK(device == 0);
    CUgreenCtx green = reinterpret_cast<CUgreenCtx>(1);
    FINE(cuStreamGetGreenCtx(stream, &green));
    CHECK(green == nullptr);
    int from[2] = {3, 4};
    FINE(cuMemcpy(reinterpret_cast<CUdeviceptr>(at), reinterpret_cast<CUdeviceptr>(from), 4));
    FINE(cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(at + 1), reinterpret_cast<CUdeviceptr>(from + 1), 4, stream));
    FINE(cudaStreamSynchronize(stream));
    CHECK(at[0] == 3 && at[1] == 4);
    cudaMemLocation place = {};
    place.type = cudaMemLocationTypeDevice;
    cudaMemPool_t pool = nullptr, same = nullptr;
    FINE(cudaMemGetDefaultMemPool(&pool, &place, cudaMemAllocationTypePinned));
    FINE(cudaDeviceGetDefaultMemPool(&same, 0));
    CHECK(pool == same);
    place.type = cudaMemLocationTypeHost;
    CHECK(cudaMemGetDefaultMemPool(&pool, &place, cudaMemAllocationTypePinned) == cudaErrorNotSupported);
    FINE(cudaStreamDestroy(stream));
    FINE(cudaFree(at));
}

static void graphs() {
    cudaGraph_t graph;
    FINE(cudaGraphCreate(&graph, 0));
    cudaGraphConditionalHandle handle = 0;
    CHECK(cudaGraphConditionalHandleCreate(&handle, graph) == cudaErrorNotSupported);
    cudaGraphNodeParams parameters = {};
    parameters.type = cudaGraphNodeTypeConditional;
    parameters.conditional.type = cudaGraphCondTypeWhile;
    cudaGraphNode_t node;
    CHECK(cudaGraphAddNode(&node, graph, nullptr, 0, &parameters) == cudaErrorNotSupported);
    FINE(cudaGraphDestroy(graph));
    CUgreenCtx green;
    CHECK(cuGreenCtxCreate(&green, nullptr, 0, CU_GREEN_CTX_DEFAULT_STREAM) == CUDA_ERROR_NOT_SUPPORTED);
}

int main() {
    FINE(cuInit(0));
    devices();
    kernels();
    launches();
    entries();
    memory();
    graphs();
    std::puts(failures ? "FAILED" : "PASSED");
}
