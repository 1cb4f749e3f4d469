// Several devices: each has its own code and variables. The argument says how many there must be.
#include "check.h"

__constant__ int offset;
__device__ int runs;

__global__ void add(int* data) {
    data[threadIdx.x] += offset;
    if (threadIdx.x == 0) runs++;
}

int main(int, char** arguments) {
    int count = -1, expected = atoi(arguments[1]);
    if (expected == 0) {
        EXPECT_CODE(hipGetDeviceCount(&count), hipErrorNoDevice);
        EXPECT(count == 0);
        EXPECT_CODE(hipSetDevice(0), hipErrorNoDevice);
        return 0;
    }
    OK(hipGetDeviceCount(&count));
    EXPECT(count == expected);
    EXPECT_CODE(hipSetDevice(count), hipErrorInvalidDevice);
    EXPECT_CODE(hipGetLastError(), hipErrorInvalidDevice);
    int* memory[16];
    hipStream_t streams[16];
    for (int device = 0; device < count; device++) {
        OK(hipSetDevice(device));
        OK(hipStreamCreate(&streams[device]));
        OK(hipMalloc(&memory[device], 64 * sizeof(int)));
        OK(hipMemset(memory[device], 0, 64 * sizeof(int)));
        int value = 100 * (device + 1);
        OK(hipMemcpyToSymbol(HIP_SYMBOL(offset), &value, sizeof value));
    }
    for (int device = count - 1; device >= 0; device--) {
        OK(hipSetDevice(device));
        for (int round = 0; round <= device; round++) add<<<1, 64, 0, streams[device]>>>(memory[device]);
        OK(hipGetLastError());
    }
    for (int device = 0; device < count; device++) {
        OK(hipSetDevice(device));
        OK(hipDeviceSynchronize());
        int data[64], ran;
        OK(hipMemcpy(data, memory[device], sizeof data, hipMemcpyDeviceToHost));
        for (int i = 0; i < 64; i++) EXPECT(data[i] == 100 * (device + 1) * (device + 1));
        OK(hipMemcpyFromSymbol(&ran, HIP_SYMBOL(runs), sizeof ran));
        EXPECT(ran == device + 1);
        int current = -1;
        OK(hipGetDevice(&current));
        EXPECT(current == device && hipGetStreamDeviceId(streams[device]) == device);
    }
    if (count > 1) {
        OK(hipMemcpyPeer(memory[0], 0, memory[1], 1, 64 * sizeof(int)));
        int data[64];
        OK(hipMemcpy(data, memory[0], sizeof data, hipMemcpyDeviceToHost));
        EXPECT(data[63] == 400);
    }
    return 0;
}
