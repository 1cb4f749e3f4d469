#include <cuda_runtime.h>
void f(cudaGraph_t graph, cudaGraphExec_t* exec, cudaGraphNode_t* from, cudaGraphNode_t* to, void* p, cudaStream_t s) {
  cudaMemLocation here = {cudaMemLocationTypeDevice, 0};
  cudaMemPrefetchAsync(p, 4, here, 0, s);
  cudaMemPrefetchAsync(p, 4, here, 0);
  cudaMemPrefetchAsync(p, 4, 0, s);
  cudaMemPrefetchAsync(p, 4, 0);
  cudaMemAdvise(p, 4, cudaMemAdviseSetReadMostly, here);
  cudaMemAdvise(p, 4, cudaMemAdviseSetReadMostly, cudaMemLocation{cudaMemLocationTypeHost, 0});
  cudaMemAdvise(p, 4, cudaMemAdviseSetReadMostly, 0);
  cudaGraphInstantiate(exec, graph);
  cudaGraphInstantiate(exec, graph, 0);
  cudaGraphInstantiate(exec, graph, nullptr, nullptr, 0);
  cudaGraphAddDependencies(graph, from, to, nullptr, 2);
  cudaGraphAddDependencies(graph, from, to, 2);
  cudaGraphAddDependencies_v2(graph, from, to, edges, 2);
  cudaGraphGetEdges(graph, from, to,
                    nullptr,
                    &count);
  cudaStreamGetCaptureInfo(s, &status, &id, &graph, &nodes, nullptr, &count);
  cudaStreamGetCaptureInfo(s, &status, &id, &graph, &nodes, &count);
  cudaStreamGetCaptureInfo(s, &status, &id);
  cudaMemcpyBatchAsync(to, from, sizes, n, attributes, indices, 1, s);
  cuCtxCreate(&context, nullptr, 0, device);
  cuCtxCreate(&context, 0, device);
}
