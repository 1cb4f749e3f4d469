// Launches by <<<>>>, their results, and the errors of impossible launches.
#include "check.h"
#include <cstring>

__global__ void saxpy(int n, float a, const float* x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}

__global__ void geometry(unsigned* out) {
    unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    out[block * blockDim.x * blockDim.y * blockDim.z + thread] = block << 16 | thread;
}

int main() {
    const int n = 10007;
    static float x[n], y[n], out[n];
    for (int i = 0; i < n; i++) {
        x[i] = i * 0.25f;
        y[i] = 7.0f - i;
    }
    float *dx, *dy;
    OK(hipMalloc(&dx, sizeof x));
    OK(hipMalloc(&dy, sizeof y));
    OK(hipMemcpy(dx, x, sizeof x, hipMemcpyHostToDevice));
    OK(hipMemcpy(dy, y, sizeof y, hipMemcpyHostToDevice));
    saxpy<<<(n + 255) / 256, 256>>>(n, 2.0f, dx, dy);
    OK(hipGetLastError());
    OK(hipMemcpy(out, dy, sizeof out, hipMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) EXPECT(out[i] == 2.0f * x[i] + y[i]);

    unsigned *cells, seen[3 * 2 * 2 * 4 * 2 * 3];
    OK(hipMalloc(&cells, sizeof seen));
    geometry<<<dim3(3, 2, 2), dim3(4, 2, 3)>>>(cells);
    OK(hipMemcpy(seen, cells, sizeof seen, hipMemcpyDeviceToHost));
    for (unsigned i = 0; i < sizeof seen / sizeof *seen; i++) EXPECT(seen[i] == (i / 24 << 16 | i % 24));

    // An impossible launch leaves an error code, which can be read once.
    hipError_t expected = too_large();
    saxpy<<<1, 4096>>>(n, 2.0f, dx, dy);
    EXPECT_CODE(hipPeekAtLastError(), expected);
    EXPECT_CODE(hipGetLastError(), expected);
    OK(hipGetLastError());
    EXPECT(strcmp(hipGetErrorString(hipErrorInvalidConfiguration), "invalid configuration argument") == 0);
    EXPECT(strcmp(hipGetErrorName(hipErrorInvalidConfiguration), "hipErrorInvalidConfiguration") == 0);
    OK(hipFree(dx));
    OK(hipFree(dy));
    OK(hipFree(cells));
    EXPECT_CODE(hipFree(dx), hipErrorInvalidValue);
    return 0;
}
