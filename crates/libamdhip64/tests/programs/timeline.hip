// Kernels, copies and waits on two streams, as many as the test counts. With an argument, the program kills itself at the end.
#include "check.h"
#include <csignal>

template <typename T>
__global__ void scale(T* values, T factor, unsigned count) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count && threadIdx.y == 0) values[i] *= factor;
}

__global__ void sum_up(const float* values, float* sum, unsigned count) {
    float total = 0;
    for (unsigned i = 0; i < count; i++) total += values[i];
    *sum = total;
}

int main(int arguments, char**) {
    const unsigned count = 64 * 1024;
    const size_t bytes = count * sizeof(float);
    hipStream_t first, second;
    hipEvent_t between;
    OK(hipStreamCreateWithFlags(&first, hipStreamNonBlocking));
    OK(hipStreamCreateWithFlags(&second, hipStreamNonBlocking));
    OK(hipEventCreateWithFlags(&between, hipEventDisableTiming));
    float *host, *values, *copied, *sum;
    OK(hipHostMalloc(&host, bytes));
    OK(hipMalloc(&values, bytes));
    OK(hipMalloc(&copied, bytes));
    OK(hipMalloc(&sum, sizeof(float)));
    for (unsigned i = 0; i < count; i++) host[i] = 1;

    OK(hipMemcpyAsync(values, host, bytes, hipMemcpyHostToDevice, first));
    for (int i = 0; i < 5; i++) scale<float><<<count / 256, 256, 0, first>>>(values, 2, count);
    OK(hipEventRecord(between, first));
    OK(hipStreamWaitEvent(second, between, 0));
    OK(hipMemcpyAsync(copied, values, bytes, hipMemcpyDeviceToDevice, second));
    for (int i = 0; i < 3; i++) scale<float><<<dim3(count / 128), dim3(32, 4), 64, second>>>(copied, 2, count);
    sum_up<<<1, 1, 0, first>>>(values, sum, count);
    OK(hipStreamSynchronize(first));
    OK(hipStreamSynchronize(second));
    OK(hipMemcpyAsync(host, copied, bytes, hipMemcpyDeviceToHost, second));
    OK(hipStreamSynchronize(second));
    float total;
    OK(hipMemcpy(&total, sum, sizeof total, hipMemcpyDeviceToHost));
    EXPECT(total == 32.0f * count);
    // Blocks of 32 by 4 scale a quarter, three times more.
    EXPECT(host[0] == 256 && host[count - 1] == 32);
    EXPECT_CODE(hipEventQuery(nullptr), hipErrorInvalidHandle);
    if (arguments > 1) raise(SIGKILL);
    return 0;
}
