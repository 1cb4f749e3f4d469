#include <cuda.h>

int main() {
  CUresult result = cuInit(0);
  if (result != CUDA_SUCCESS) return 1;
  CUdevice device;
  cuDeviceGet(&device, 0);
  CUcontext context;
  cuCtxCreate(&context, 0, device);
  CUmodule module;
  CUfunction function;
  cuModuleLoadData(&module, image);
  cuModuleGetFunction(&function, module, "kernel");
  CUdeviceptr pointer;
  cuMemAlloc_v2(&pointer, 4096);
  cuMemcpyHtoD(pointer, host, 4096);
  cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, CU_STREAM_PER_THREAD, args, nullptr);
  int grid, block;
  cuOccupancyMaxPotentialBlockSize(&grid, &block, function, nullptr, 0, 0);
  cuOccupancyMaxPotentialBlockSizeWithFlags(&grid, &block, function,
                                            sharedSize,
                                            0, 0, CU_OCCUPANCY_DEFAULT);
  cuMemFree(pointer);
}
