// Launches by <<<>>> captured into a graph, and nodes that name kernels and variables by their host side.
#include "check.h"

__device__ unsigned seed = 3;

__global__ void spread(unsigned* data) { data[threadIdx.x] = seed * threadIdx.x; }

__global__ void increase(unsigned* data, unsigned by) { data[threadIdx.x] += by; }

int main() {
    hipStream_t stream;
    hipGraph_t graph;
    hipGraphExec_t exec;
    unsigned *data, seen[64];
    OK(hipStreamCreate(&stream));
    OK(hipMalloc(&data, sizeof seen));
    OK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    spread<<<1, 64, 0, stream>>>(data);
    increase<<<1, 64, 0, stream>>>(data, 10);
    OK(hipMemcpyAsync(seen, data, sizeof seen, hipMemcpyDeviceToHost, stream));
    OK(hipStreamEndCapture(stream, &graph));
    size_t count = 0;
    OK(hipGraphGetNodes(graph, nullptr, &count));
    EXPECT(count == 3);
    OK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
    for (unsigned round = 1; round < 4; round++) {
        OK(hipMemcpyToSymbol(HIP_SYMBOL(seed), &round, sizeof round));
        OK(hipGraphLaunch(exec, stream));
        OK(hipStreamSynchronize(stream));
        for (unsigned i = 0; i < 64; i++) EXPECT(seen[i] == round * i + 10);
    }
    OK(hipGraphExecDestroy(exec));
    OK(hipGraphDestroy(graph));

    OK(hipGraphCreate(&graph, 0));
    unsigned fresh = 7, by = 100, back = 0;
    hipGraphNode_t set, first, second, get;
    OK(hipGraphAddMemcpyNodeToSymbol(&set, graph, nullptr, 0, &seed, &fresh, sizeof fresh, 0,
                                     hipMemcpyHostToDevice));
    void* spread_arguments[] = {&data};
    void* increase_arguments[] = {&data, &by};
    hipKernelNodeParams parameters = {};
    parameters.func = (void*)spread;
    parameters.gridDim = dim3(1);
    parameters.blockDim = dim3(64);
    parameters.kernelParams = spread_arguments;
    OK(hipGraphAddKernelNode(&first, graph, &set, 1, &parameters));
    parameters.func = (void*)increase;
    parameters.kernelParams = increase_arguments;
    OK(hipGraphAddKernelNode(&second, graph, &first, 1, &parameters));
    OK(hipGraphAddMemcpyNodeFromSymbol(&get, graph, &first, 1, &back, &seed, sizeof back, 0,
                                       hipMemcpyDeviceToHost));
    OK(hipGraphKernelNodeGetParams(second, &parameters));
    EXPECT(parameters.func == (void*)increase);
    OK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
    OK(hipGraphLaunch(exec, stream));
    OK(hipStreamSynchronize(stream));
    EXPECT(back == 7);
    OK(hipMemcpy(seen, data, sizeof seen, hipMemcpyDeviceToHost));
    for (unsigned i = 0; i < 64; i++) EXPECT(seen[i] == 7 * i + 100);
    OK(hipGraphExecDestroy(exec));
    OK(hipGraphDestroy(graph));
    return 0;
}
