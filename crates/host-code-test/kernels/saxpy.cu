#include <cuda_runtime.h>

#include <stdexcept>
#include <string>
#include <vector>

// The other file also has a kernel of this name.
static __constant__ float factor;
__device__ int written;

static __global__ void kernel(int n, float a, const float *x, float *y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] += a * factor * x[i];
        atomicAdd(&written, 1);
    }
}

// y += a factor x
extern "C" int set_factor(float value, cudaStream_t stream) {
    return cudaMemcpyToSymbolAsync(factor, &value, sizeof value, 0, cudaMemcpyHostToDevice, stream);
}

extern "C" int launch_saxpy(int n, float a, const float *x, float *y, cudaStream_t stream) {
    kernel<<<(n + 255) / 256, 256, 0, stream>>>(n, a, x, y);
    return cudaGetLastError();
}

// Returns the number of elements that `launch_saxpy` has written, and resets it.
extern "C" int take_written(cudaStream_t stream) {
    int count = -1, zero = 0;
    if (cudaStreamSynchronize(stream) != cudaSuccess || cudaMemcpyFromSymbol(&count, written, sizeof count) != cudaSuccess ||
        cudaMemcpyToSymbol(written, &zero, sizeof zero) != cudaSuccess)
        return -1;
    return count;
}

// Self-contained, in C++ style: 1 + ... + n, or a CUDA error as a negative number.
extern "C" int sum_to(int n) {
    try {
        std::vector<float> ones(n, 1.0f), sums(n, 0.0f);
        auto check = [](cudaError_t code) {
            if (code != cudaSuccess)
                throw std::runtime_error(std::to_string(static_cast<int>(code)));
        };
        const float one = 1.0f;
        check(cudaMemcpyToSymbol(factor, &one, sizeof one));
        float *x, *y;
        check(cudaMalloc(&x, n * sizeof(float)));
        check(cudaMalloc(&y, n * sizeof(float)));
        check(cudaMemcpy(x, ones.data(), n * sizeof(float), cudaMemcpyHostToDevice));
        check(cudaMemcpy(y, sums.data(), n * sizeof(float), cudaMemcpyHostToDevice));
        for (int i = 0; i < n; i++)
            kernel<<<1, n - i>>>(n - i, 1.0f, x, y);
        check(cudaGetLastError());
        check(cudaMemcpy(sums.data(), y, n * sizeof(float), cudaMemcpyDeviceToHost));
        check(cudaFree(x));
        check(cudaFree(y));
        float sum = 0.0f;
        for (float value : sums)
            sum += value;
        return static_cast<int>(sum);
    } catch (const std::exception &error) {
        return -std::stoi(error.what());
    }
}

extern "C" int count_devices() {
    int count = -1;
    (void)cudaGetDeviceCount(&count);
    return count;
}

extern "C" const char *describe(int code) { return cudaGetErrorString(static_cast<cudaError_t>(code)); }

static __global__ void set(int *to) { *to = 1; }

// Does not check whether the launch failed.
extern "C" void set_unchecked(int *to, int threads, size_t shared, cudaStream_t stream) {
    set<<<1, threads, shared, stream>>>(to);
}

extern "C" int last_error() { return cudaGetLastError(); }
