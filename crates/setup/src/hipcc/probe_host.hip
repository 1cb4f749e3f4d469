// Compiled, linked and run by `ferrocm doctor`.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <vector>

__global__ void square(int* numbers, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) numbers[i] *= numbers[i];
}

int main() {
    constexpr int count = 1000;
    std::vector<int> numbers(count);
    for (int i = 0; i < count; ++i) numbers[i] = i;
    int* device = nullptr;
    const size_t bytes = count * sizeof(int);
    hipError_t error = hipMalloc(&device, bytes);
    if (error == hipSuccess) error = hipMemcpy(device, numbers.data(), bytes, hipMemcpyHostToDevice);
    if (error == hipSuccess) {
        square<<<(count + 255) / 256, 256>>>(device, count);
        error = hipGetLastError();
    }
    if (error == hipSuccess) error = hipMemcpy(numbers.data(), device, bytes, hipMemcpyDeviceToHost);
    if (error == hipSuccess) error = hipFree(device);
    if (error != hipSuccess) {
        std::fprintf(stderr, "%s\n", hipGetErrorString(error));
        return 1;
    }
    for (int i = 0; i < count; ++i) {
        if (numbers[i] != i * i) {
            std::fprintf(stderr, "%d squared is %d\n", i, numbers[i]);
            return 1;
        }
    }
    std::puts("ok");
}
