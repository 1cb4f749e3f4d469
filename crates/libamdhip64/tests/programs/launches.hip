// Every way to launch a kernel by its host side, and by its handle.
#include "check.h"
#include <hip/hip_ext.h>
#include <cstring>

__global__ void put(int* out, int index, long value) { out[index] = (int)(value + blockIdx.x * blockDim.x + threadIdx.x); }

int main() {
    int *out, seen[16] = {};
    OK(hipMalloc(&out, sizeof seen));
    OK(hipMemset(out, 0, sizeof seen));
    int index = 0;
    long value = 100;
    void* arguments[] = {&out, &index, &value};
    OK(hipLaunchKernel((const void*)put, dim3(1), dim3(1), arguments, 0, nullptr));
    index = 1, value = 200;
    hipEvent_t start, stop;
    OK(hipEventCreate(&start));
    OK(hipEventCreate(&stop));
    OK(hipExtLaunchKernel((const void*)put, dim3(1), dim3(1), arguments, 0, nullptr, start, stop, 0));
    OK(hipEventSynchronize(stop));
    float milliseconds = -1;
    OK(hipEventElapsedTime(&milliseconds, start, stop));
    EXPECT(milliseconds >= 0);

    index = 2, value = 300;
    OK(hipConfigureCall(dim3(1), dim3(1), 0, nullptr));
    OK(hipSetupArgument(&out, sizeof out, 0));
    OK(hipSetupArgument(&index, sizeof index, 8));
    OK(hipSetupArgument(&value, sizeof value, 16));
    OK(hipLaunchByPtr((const void*)put));

    index = 3, value = 400;
    hipLaunchAttribute attribute = {};
    attribute.id = hipLaunchAttributeCooperative;
    attribute.val.cooperative = 1;
    hipLaunchConfig_t config = {};
    config.gridDim = dim3(1);
    config.blockDim = dim3(1);
    config.attrs = &attribute;
    config.numAttrs = 1;
    OK(hipLaunchKernelExC(&config, (const void*)put, arguments));

    hipFunction_t function;
    OK(hipGetFuncBySymbol(&function, (const void*)put));
    index = 4, value = 500;
    OK(hipModuleLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr));
    index = 5, value = 600;
    // In C++ and in C, under two names. The grid is counted in work-items, and the last one writes.
    OK(hipExtModuleLaunchKernel(function, 4, 1, 1, 4, 1, 1, 0, nullptr, arguments, nullptr, nullptr, nullptr, 0));
    index = 6, value = 700;
    OK(hipLaunchKernel(function, dim3(1), dim3(1), arguments, 0, nullptr));

    OK(hipMemcpy(seen, out, sizeof seen, hipMemcpyDeviceToHost));
    for (int i = 0; i < 7; i++) EXPECT(i == 5 ? seen[i] >= 600 && seen[i] < 604 : seen[i] == 100 * (i + 1));
    EXPECT(strstr(hipKernelNameRef(function), "put"));
    EXPECT(strcmp(hipKernelNameRef(function), hipKernelNameRefByPtr((const void*)put, nullptr)) == 0);
    return 0;
}
