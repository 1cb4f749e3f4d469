#include <hip/hip_runtime.h>
__constant__ float table[4];
void f() {
  hipMemcpyToSymbol(HIP_SYMBOL(table), host, sizeof(table));
  hipMemcpyToSymbolAsync( HIP_SYMBOL(array<int, 2>[1]) , g(host, 1), 4, 0, hipMemcpyHostToDevice, stream);
  hipMemcpyFromSymbol(
      host,
      HIP_SYMBOL(table), sizeof(table));
  hipGetSymbolAddress((void**)&p, HIP_SYMBOL(table));
  hipGetSymbolSize(&size, HIP_SYMBOL(table));
  hipFuncSetAttribute(reinterpret_cast<const void*>(kernel<float, 2>), hipFuncAttributeMaxDynamicSharedMemorySize, 1024);
  hipFuncSetCacheConfig(reinterpret_cast<const void*>(kernel), hipFuncCachePreferL1);
  hipFuncGetAttributes(&attributes, reinterpret_cast<const void*>(kernel<int, 3>));
  hipLaunchKernel((void*)kernel, grid, block, args, 0, stream);
  hipLaunchCooperativeKernel(reinterpret_cast<const void*>(kernel), grid, block, args);
  hipGraphAddMemcpyNodeToSymbol(&node, graph, deps, 1, HIP_SYMBOL(table), host, 4, 0, kind);
  hipGraphMemcpyNodeSetParamsFromSymbol(node, host, HIP_SYMBOL(table), 4, 0, kind);
  hipMemcpyToSymbol(already, host, 4);
}
// hipMemcpyToSymbol(table, host, 4) in a comment
#define hipMemcpyToSymbol(a, b, c) wrapper(a, b, c)
