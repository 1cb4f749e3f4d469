// Device variables by the address of their host side: constant, plain, static and managed ones.
#include "check.h"
#include <cstring>

__constant__ float weights[16];
__device__ int counters[8] = {1, 2, 3, 4, 5, 6, 7, 8};
static __device__ long hidden = -5;
__managed__ int shared_total = 40;
__managed__ double shared_list[3] = {0.5, 1.5, 2.5};

__global__ void use(float* out) {
    int i = threadIdx.x;
    if (i < 16) out[i] = weights[i] * 2;
    if (i < 8) atomicAdd(&counters[i], 100);
    if (i == 0) {
        hidden *= 3;
        shared_total += 2;
        shared_list[1] = shared_list[0] + shared_list[2];
    }
}

int main() {
    // The host uses managed variables before any call.
    EXPECT(shared_total == 40 && shared_list[2] == 2.5);
    shared_list[2] = 10;

    float host[16], *out, seen[16];
    for (int i = 0; i < 16; i++) host[i] = i + 0.5f;
    OK(hipMalloc(&out, sizeof seen));
    OK(hipMemcpyToSymbol(HIP_SYMBOL(weights), host, sizeof host));
    float patch[2] = {-1, -2};
    OK(hipMemcpyToSymbol(HIP_SYMBOL(weights), patch, sizeof patch, 3 * sizeof(float), hipMemcpyHostToDevice));
    host[3] = -1;
    host[4] = -2;
    use<<<1, 32>>>(out);
    OK(hipDeviceSynchronize());
    OK(hipMemcpy(seen, out, sizeof seen, hipMemcpyDeviceToHost));
    for (int i = 0; i < 16; i++) EXPECT(seen[i] == host[i] * 2);
    EXPECT(shared_total == 42 && shared_list[1] == 10.5);

    int counted[8];
    OK(hipMemcpyFromSymbol(counted, HIP_SYMBOL(counters), sizeof counted));
    for (int i = 0; i < 8; i++) EXPECT(counted[i] == 101 + i);
    long value;
    OK(hipMemcpyFromSymbol(&value, HIP_SYMBOL(hidden), sizeof value));
    EXPECT(value == -15);

    hipStream_t stream;
    OK(hipStreamCreate(&stream));
    int fresh[2] = {70, 80};
    OK(hipMemcpyToSymbolAsync(HIP_SYMBOL(counters), fresh, sizeof fresh, 4, hipMemcpyHostToDevice, stream));
    OK(hipMemcpyFromSymbolAsync(counted, HIP_SYMBOL(counters), sizeof counted, 0, hipMemcpyDeviceToHost, stream));
    OK(hipStreamSynchronize(stream));
    EXPECT(counted[0] == 101 && counted[1] == 70 && counted[2] == 80 && counted[3] == 104);

    void* address;
    size_t size;
    OK(hipGetSymbolAddress(&address, HIP_SYMBOL(counters)));
    OK(hipGetSymbolSize(&size, HIP_SYMBOL(counters)));
    EXPECT(size == sizeof counters);
    OK(hipMemcpy(&counted[0], (int*)address + 2, sizeof(int), hipMemcpyDeviceToHost));
    EXPECT(counted[0] == 80);

    static int stranger;
    EXPECT_CODE(hipGetSymbolSize(&size, &stranger), hipErrorInvalidSymbol);
    EXPECT_CODE(hipMemcpyToSymbol(&stranger, host, 4), hipErrorInvalidSymbol);
    EXPECT_CODE(hipMemcpyToSymbol(HIP_SYMBOL(weights), host, sizeof host, 4, hipMemcpyHostToDevice), hipErrorInvalidValue);
    OK(hipStreamDestroy(stream));
    OK(hipFree(out));
    return 0;
}
