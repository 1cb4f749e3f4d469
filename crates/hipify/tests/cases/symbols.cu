#include <cuda_runtime.h>
__constant__ float table[4];
void f() {
  cudaMemcpyToSymbol(table, host, sizeof(table));
  cudaMemcpyToSymbolAsync( array<int, 2>[1] , g(host, 1), 4, 0, cudaMemcpyHostToDevice, stream);
  cudaMemcpyFromSymbol(
      host,
      table, sizeof(table));
  cudaGetSymbolAddress((void**)&p, table);
  cudaGetSymbolSize(&size, table);
  cudaFuncSetAttribute(kernel<float, 2>, cudaFuncAttributeMaxDynamicSharedMemorySize, 1024);
  cudaFuncSetCacheConfig(reinterpret_cast<const void*>(kernel), cudaFuncCachePreferL1);
  cudaFuncGetAttributes(&attributes, kernel<int, 3>);
  cudaLaunchKernel((void*)kernel, grid, block, args, 0, stream);
  cudaLaunchCooperativeKernel(kernel, grid, block, args);
  cudaGraphAddMemcpyNodeToSymbol(&node, graph, deps, 1, table, host, 4, 0, kind);
  cudaGraphMemcpyNodeSetParamsFromSymbol(node, host, table, 4, 0, kind);
  hipMemcpyToSymbol(already, host, 4);
}
// cudaMemcpyToSymbol(table, host, 4) in a comment
#define cudaMemcpyToSymbol(a, b, c) wrapper(a, b, c)
