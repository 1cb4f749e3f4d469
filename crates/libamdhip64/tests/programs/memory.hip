// Kinds of memory, and LDS whose size the launch sets.
#include "check.h"
#include <cstring>

__global__ void twice(const int* in, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2 * in[i];
}

__global__ void reversed(int* data) {
    extern __shared__ int room[];
    room[threadIdx.x] = data[blockIdx.x * blockDim.x + threadIdx.x];
    __syncthreads();
    data[blockIdx.x * blockDim.x + threadIdx.x] = room[blockDim.x - 1 - threadIdx.x];
}

int main() {
    const int n = 1000;
    int *managed, *pinned, *mapped, *device;
    OK(hipMallocManaged(&managed, n * sizeof(int)));
    OK(hipHostMalloc(&pinned, n * sizeof(int), hipHostMallocMapped));
    for (int i = 0; i < n; i++) managed[i] = i;
    OK(hipHostGetDevicePointer((void**)&mapped, pinned, 0));
    twice<<<8, 128>>>(managed, mapped, n);
    OK(hipDeviceSynchronize());
    for (int i = 0; i < n; i++) EXPECT(pinned[i] == 2 * i);

    static int plain[n];
    OK(hipHostRegister(plain, sizeof plain, hipHostRegisterDefault));
    OK(hipHostGetDevicePointer((void**)&mapped, plain, 0));
    twice<<<8, 128>>>(pinned, mapped, n);
    OK(hipDeviceSynchronize());
    for (int i = 0; i < n; i++) EXPECT(plain[i] == 4 * i);
    OK(hipHostUnregister(plain));

    OK(hipMalloc(&device, n * sizeof(int)));
    OK(hipMemset(device, 0xff, n * sizeof(int)));
    OK(hipMemcpy(device, plain, 100 * sizeof(int), hipMemcpyHostToDevice));
    reversed<<<2, 50, 50 * sizeof(int)>>>(device);
    static int back[n];
    OK(hipMemcpy(back, device, sizeof back, hipMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) EXPECT(back[i] == (i < 100 ? plain[i / 50 * 50 + 49 - i % 50] : -1));

    hipPointerAttribute_t attributes;
    OK(hipPointerGetAttributes(&attributes, device));
    EXPECT(attributes.type == hipMemoryTypeDevice && attributes.device == 0);
    OK(hipPointerGetAttributes(&attributes, pinned));
    EXPECT(attributes.type == hipMemoryTypeHost);

    hipFuncAttributes used;
    OK(hipFuncGetAttributes(&used, (const void*)reversed));
    EXPECT(used.sharedSizeBytes == 0);
    OK(hipFuncSetAttribute((const void*)reversed, hipFuncAttributeMaxDynamicSharedMemorySize, 32768));
    OK(hipFuncGetAttributes(&used, (const void*)reversed));
    EXPECT(used.maxDynamicSharedSizeBytes == 32768);
    // More LDS than the device has.
    reversed<<<1, 64, 1 << 20>>>(device);
    EXPECT_CODE(hipGetLastError(), hipErrorInvalidValue);

    size_t free, total;
    OK(hipMemGetInfo(&free, &total));
    EXPECT(free <= total && total > 0);
    OK(hipFree(device));
    OK(hipFree(managed));
    OK(hipHostFree(pinned));
    return 0;
}
