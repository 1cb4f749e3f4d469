// The stream decides where a kernel runs, whatever the current device is. AMD's library refuses such a launch.
#include "check.h"

__constant__ int offset;

__global__ void add(int* data) { data[threadIdx.x] += offset; }

int main() {
    int* memory[2];
    hipStream_t streams[2];
    for (int device = 0; device < 2; device++) {
        OK(hipSetDevice(device));
        OK(hipStreamCreate(&streams[device]));
        OK(hipMalloc(&memory[device], 64 * sizeof(int)));
        OK(hipMemset(memory[device], 0, 64 * sizeof(int)));
        int value = 100 * (device + 1);
        OK(hipMemcpyToSymbol(HIP_SYMBOL(offset), &value, sizeof value));
        OK(hipDeviceSynchronize());
    }
    OK(hipSetDevice(0));
    add<<<1, 64, 0, streams[1]>>>(memory[1]);
    OK(hipGetLastError());
    OK(hipStreamSynchronize(streams[1]));
    int data[64];
    OK(hipMemcpy(data, memory[1], sizeof data, hipMemcpyDeviceToHost));
    EXPECT(data[0] == 200 && data[63] == 200);
    return 0;
}
