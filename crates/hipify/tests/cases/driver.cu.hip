#include <hip/hip_runtime.h>

int main() {
  hipError_t result = hipInit(0);
  if (result != hipSuccess) return 1;
  hipDevice_t device;
  hipDeviceGet(&device, 0);
  hipCtx_t context;
  hipCtxCreate(&context, 0, device);
  hipModule_t module;
  hipFunction_t function;
  hipModuleLoadData(&module, image);
  hipModuleGetFunction(&function, module, "kernel");
  hipDeviceptr_t pointer;
  hipMalloc(&pointer, 4096);
  hipMemcpyHtoD(pointer, host, 4096);
  hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, hipStreamPerThread, args, nullptr);
  int grid, block;
  hipModuleOccupancyMaxPotentialBlockSize(&grid, &block, function, 0, 0);
  hipModuleOccupancyMaxPotentialBlockSizeWithFlags(&grid, &block, function
,
                                            0, 0, hipOccupancyDefault);
  hipFree(pointer);
}
