// Calls with invalid kernels, streams, grids and configurations: each is an error with its own code. The library of
// AMD ends the process on most of them, because it reads what the addresses point to.
#include "check.h"
#include <hip/hip_ext.h>

__device__ unsigned factor = 3;

__global__ void spread(unsigned* data) { data[threadIdx.x] = factor * threadIdx.x; }

int main() {
    unsigned *data, seen[64];
    OK(hipMalloc(&data, sizeof seen));
    void* arguments[] = {&data};

    // An address that is not a kernel.
    static int nothing;
    EXPECT_CODE(hipLaunchKernel(&nothing, dim3(1), dim3(1), nullptr, 0, nullptr), hipErrorInvalidDeviceFunction);
    hipFunction_t function;
    EXPECT_CODE(hipGetFuncBySymbol(&function, &nothing), hipErrorInvalidDeviceFunction);
    hipGraph_t graph;
    hipGraphNode_t node;
    hipKernelNodeParams parameters = {};
    parameters.func = &nothing;
    parameters.gridDim = dim3(1);
    parameters.blockDim = dim3(64);
    parameters.kernelParams = arguments;
    OK(hipGraphCreate(&graph, 0));
    EXPECT_CODE(hipGraphAddKernelNode(&node, graph, nullptr, 0, &parameters), hipErrorInvalidDeviceFunction);
    OK(hipGraphDestroy(graph));

    // A grid of work-items with a partial block, for a kernel that is compiled for whole blocks.
    OK(hipGetFuncBySymbol(&function, (const void*)spread));
    EXPECT_CODE(hipExtModuleLaunchKernel(function, 5, 1, 1, 4, 1, 1, 0, nullptr, arguments, nullptr, nullptr, nullptr, 0),
                hipErrorInvalidValue);

    // A launch without configuration.
    EXPECT_CODE(hipLaunchByPtr((const void*)spread), hipErrorMissingConfiguration);

    // Streams that were destroyed, or ended by a reset, which the program survives.
    hipStream_t stream, other;
    OK(hipStreamCreate(&stream));
    OK(hipStreamCreate(&other));
    OK(hipStreamDestroy(stream));
    EXPECT_CODE(hipStreamSynchronize(stream), hipErrorContextIsDestroyed);
    OK(hipDeviceReset());
    EXPECT_CODE(hipStreamSynchronize(other), hipErrorContextIsDestroyed);
    OK(hipMalloc(&data, sizeof seen));
    spread<<<1, 64>>>(data);
    OK(hipMemcpy(seen, data, sizeof seen, hipMemcpyDeviceToHost));
    EXPECT(seen[9] == 27);
    return 0;
}
