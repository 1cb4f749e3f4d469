#include <hip/hip_runtime.h>
void f(hipGraph_t graph, hipGraphExec_t* exec, hipGraphNode_t* from, hipGraphNode_t* to, void* p, hipStream_t s) {
  hipMemLocation here = {hipMemLocationTypeDevice, 0};
  hipMemPrefetchAsync_v2(p, 4, here, 0, s);
  hipMemPrefetchAsync_v2(p, 4, here, 0);
  hipMemPrefetchAsync(p, 4, 0, s);
  hipMemPrefetchAsync(p, 4, 0);
  hipMemAdvise_v2(p, 4, hipMemAdviseSetReadMostly, here);
  hipMemAdvise_v2(p, 4, hipMemAdviseSetReadMostly, hipMemLocation{hipMemLocationTypeHost, 0});
  hipMemAdvise(p, 4, hipMemAdviseSetReadMostly, 0);
  hipGraphInstantiateWithFlags(exec, graph, 0);
  hipGraphInstantiateWithFlags(exec, graph, 0);
  hipGraphInstantiate(exec, graph, nullptr, nullptr, 0);
  hipGraphAddDependencies(graph, from, to, 2);
  hipGraphAddDependencies(graph, from, to, 2);
  cudaGraphAddDependencies_v2(graph, from, to, edges, 2);
  hipGraphGetEdges(graph, from, to,
                    
                    &count);
  hipStreamGetCaptureInfo_v2(s, &status, &id, &graph, &nodes, &count);
  hipStreamGetCaptureInfo_v2(s, &status, &id, &graph, &nodes, &count);
  hipStreamGetCaptureInfo(s, &status, &id);
  hipMemcpyBatchAsync(to, from, sizes, n, attributes, indices, 1, nullptr, s);
  hipCtxCreate(&context, 0, device);
  hipCtxCreate(&context, 0, device);
}
