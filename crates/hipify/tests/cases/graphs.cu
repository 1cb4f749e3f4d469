#include <cuda_runtime.h>
#define cudaGraphInstantiate(a, b, c) own(a, b, c)
void f() {
  cudaGraphInstantiate(&exec, graph, 0);
  cudaGraphInstantiate(&exec, graph, &error, log, sizeof(log));
  cuGraphInstantiate(&exec, graph,
                     f(CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD, 1));
  auto instantiate = &cudaGraphInstantiate;
  cudaGraphLaunch(exec, stream);
  cudaGraphExecUpdate(exec, graph, &node, &result);
}
