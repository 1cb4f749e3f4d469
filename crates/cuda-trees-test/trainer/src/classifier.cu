// Softmax, cross entropy and its gradient in one kernel; then the sum of the losses in a kernel whose size the runtime chooses.
#include "check.h"
#include "packed.cuh"
#include "reduce.cuh"
#include <cub/block/block_reduce.cuh>

using namespace trainer;

// Logits are divided by it.
__constant__ float temperature = 1.0f;
static __constant__ const float class_weight[4] = {1.0f, 0.5f, 0.25f, 2.0f};
__device__ unsigned int rows_done;

struct Softmax {
    float Scale;
    float Offset;
};

template <int kThreads, bool kWriteGradients>
__global__ void __launch_bounds__(kThreads, CEIL_DIV(1024, kThreads))
    classifier_kernel(float *__restrict__ logits, float *__restrict__ losses, const int *__restrict__ targets, int V, int P) {
    using BlockReduce = cub::BlockReduce<float, kThreads, cub::BLOCK_REDUCE_RAKING>;
    __shared__ union {
        typename BlockReduce::TempStorage reduce;
        float pad[2];
    } temp;
    __shared__ Softmax shared;
    float *row = logits + static_cast<int64_t>(blockIdx.x) * P;

    float thread_max = -INFINITY;
    for (int i = threadIdx.x; i < V; i += kThreads)
        thread_max = max(thread_max, row[i] / temperature);
    const float block_max = BlockReduce(temp.reduce).Reduce(thread_max, cub::Max());
    if (threadIdx.x == 0)
        shared.Offset = block_max;
    __syncthreads();
    float thread_sum = 0.0f;
    for (int i = threadIdx.x; i < V; i += kThreads)
        thread_sum += __expf(row[i] / temperature - shared.Offset);
    const float block_sum = BlockReduce(temp.reduce).Sum(thread_sum);
    if (threadIdx.x == 0) {
        shared.Scale = 1.0f / block_sum;
        const int ix = targets[blockIdx.x];
        const float weight = class_weight[ix & 3];
        losses[blockIdx.x] = -weight * logf(expf(row[ix] / temperature - shared.Offset) * shared.Scale);
        atomicInc(&rows_done, 0xffffffffu);
    }
    __syncthreads();
    if constexpr (kWriteGradients) {
        const int ix = targets[blockIdx.x];
        for (int i = threadIdx.x; i < P; i += kThreads) {
            const float prob = i < V ? expf(row[i] / temperature - shared.Offset) * shared.Scale : 0.0f;
            const float indicator = i == ix ? 1.0f : 0.0f;
            row[i] = i < V ? (prob - indicator) * class_weight[ix & 3] / temperature : 0.0f;
        }
    }
}

__global__ void sum_kernel(double *total, const float *values, int n) {
    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        sum += values[i];
    sum = block_reduce<warp_sum>(sum, true);
    const float largest = block_reduce<warp_max>(threadIdx.x, false, -FLT_MAX);
    if (threadIdx.x == static_cast<unsigned>(largest))
        atomicAdd(total, static_cast<double>(sum));
}

// Rows of P elements, of which V are used. `gradients` says whether the logits become gradients.
extern "C" int trainer_classifier(float *logits, float *losses, const int *targets, int rows, int V, int P, float heat, bool gradients,
                                  cudaStream_t stream) {
    CUDA_CHECK(cudaMemcpyToSymbolAsync(temperature, &heat, sizeof heat, 0, cudaMemcpyHostToDevice, stream));
    constexpr int kThreads = 256;
    if (gradients) {
        classifier_kernel<kThreads, true><<<rows, kThreads, 0, stream>>>(logits, losses, targets, V, P);
    } else {
        classifier_kernel<kThreads, false>
            <<<rows, kThreads, 0, stream>>>(
                logits, losses, targets, V, P);
    }
    CUDA_CHECK(cudaGetLastError());
    return 0;
}

// Waits; returns the sum of the losses and the number of rows since the last call.
extern "C" int trainer_total(const float *losses, int n, double *total, unsigned *rows, cudaStream_t stream) {
    double *device_total = nullptr;
    int min_grid = 0, block = 0;
    cudaEvent_t begin, end;
    CUDA_CHECK(cudaEventCreate(&begin));
    CUDA_CHECK(cudaEventCreateWithFlags(&end, cudaEventDefault));
    CUDA_CHECK(cudaMallocAsync(reinterpret_cast<void **>(&device_total), sizeof(double), stream));
    CUDA_CHECK(cudaMemsetAsync(device_total, 0, sizeof(double), stream));
    CUDA_CHECK(cudaOccupancyMaxPotentialBlockSize(&min_grid, &block, sum_kernel, 0, 512));
    if (min_grid < 1 || block < 32 || block > 512)
        return static_cast<int>(cudaErrorInvalidConfiguration);
    block = block / static_cast<int>(WARP_SIZE) * static_cast<int>(WARP_SIZE);
    CUDA_CHECK(cudaEventRecord(begin, stream));
    sum_kernel<<<CEIL_DIV(n, block), block, 0, stream>>>(device_total, losses, n);
    CUDA_CHECK(cudaEventRecord(end, stream));
    CUDA_CHECK(cudaMemcpyAsync(total, device_total, sizeof(double), cudaMemcpyDeviceToHost, stream));
    CUDA_CHECK(cudaMemcpyFromSymbolAsync(rows, rows_done, sizeof *rows, 0, cudaMemcpyDeviceToHost, stream));
    CUDA_CHECK(cudaStreamSynchronize(stream));
    float milliseconds = -1.0f;
    CUDA_CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
    CUDA_CHECK(cudaFreeAsync(device_total, stream));
    const unsigned none = 0;
    CUDA_CHECK(cudaMemcpyToSymbol(rows_done, &none, sizeof none));
    CUDA_CHECK(cudaEventDestroy(begin));
    CUDA_CHECK(cudaEventDestroy(end));
    return milliseconds >= 0.0f ? 0 : static_cast<int>(cudaErrorUnknown);
}
