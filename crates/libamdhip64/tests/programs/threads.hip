// Threads that load the code at the same time, and use streams, variables and launches in parallel.
#include "check.h"
#include <pthread.h>

__device__ unsigned total;

__global__ void fill(unsigned* data, unsigned seed, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] = i * seed + 1;
    if (i == 0) atomicAdd(&total, seed);
}

static const unsigned threads = 8, rounds = 5, n = 3000;
static pthread_barrier_t together;

static void* work(void* argument) {
    unsigned seed = (unsigned)(size_t)argument;
    pthread_barrier_wait(&together);
    hipStream_t stream;
    OK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    unsigned *data, *host = (unsigned*)malloc(n * sizeof(unsigned));
    OK(hipMalloc(&data, n * sizeof(unsigned)));
    for (unsigned round = 0; round < rounds; round++) {
        OK(hipMemsetAsync(data, 0, n * sizeof(unsigned), stream));
        fill<<<(n + 63) / 64, 64, 0, stream>>>(data, seed, n);
        OK(hipGetLastError());
        OK(hipMemcpyAsync(host, data, n * sizeof(unsigned), hipMemcpyDeviceToHost, stream));
        OK(hipStreamSynchronize(stream));
        for (unsigned i = 0; i < n; i++) EXPECT(host[i] == i * seed + 1);
    }
    // The last error is per thread.
    if (seed % 2) {
        fill<<<0, 64, 0, stream>>>(data, seed, n);
        EXPECT_CODE(hipGetLastError(), too_large());
    }
    pthread_barrier_wait(&together);
    OK(hipGetLastError());
    OK(hipFree(data));
    OK(hipStreamDestroy(stream));
    free(host);
    return nullptr;
}

int main() {
    pthread_t all[threads];
    pthread_barrier_init(&together, nullptr, threads);
    for (unsigned i = 0; i < threads; i++) EXPECT(pthread_create(&all[i], nullptr, work, (void*)(size_t)(i + 1)) == 0);
    for (unsigned i = 0; i < threads; i++) EXPECT(pthread_join(all[i], nullptr) == 0);
    unsigned sum;
    OK(hipMemcpyFromSymbol(&sum, HIP_SYMBOL(total), sizeof sum));
    EXPECT(sum == rounds * threads * (threads + 1) / 2);
    return 0;
}
