// NCCL: a sum over all devices of a process. Prints PASSED, or what is wrong.
#include <nccl.h>

#include <cstdio>
#include <vector>

#define OK(call)                                                                                                                           \
    do {                                                                                                                                   \
        const ncclResult_t said = call;                                                                                                    \
        if (said != ncclSuccess) return std::printf("%s: %s\n", #call, ncclGetErrorString(said)), 1;                                        \
    } while (0)

int main() {
    int ranks = 0, version = 0;
    cudaGetDeviceCount(&ranks);
    OK(ncclGetVersion(&version));
    if (ranks < 2 || version < 20000) return std::printf("%d ranks, version %d\n", ranks, version), 1;
    const int count = 1000;
    std::vector<ncclComm_t> all(ranks);
    std::vector<float *> memory(ranks);
    std::vector<cudaStream_t> streams(ranks);
    OK(ncclCommInitAll(all.data(), ranks, nullptr));
    for (int rank = 0; rank < ranks; rank++) {
        std::vector<float> from(count);
        for (int i = 0; i < count; i++) from[i] = static_cast<float>(i + rank);
        cudaSetDevice(rank);
        cudaStreamCreate(&streams[rank]);
        cudaMalloc(&memory[rank], count * sizeof(float));
        cudaMemcpy(memory[rank], from.data(), count * sizeof(float), cudaMemcpyHostToDevice);
    }
    OK(ncclGroupStart());
    for (int rank = 0; rank < ranks; rank++)
        OK(ncclAllReduce(memory[rank], memory[rank], count, ncclFloat, ncclSum, all[rank], streams[rank]));
    OK(ncclGroupEnd());
    for (int rank = 0; rank < ranks; rank++) {
        std::vector<float> to(count);
        cudaSetDevice(rank);
        cudaStreamSynchronize(streams[rank]);
        cudaMemcpy(to.data(), memory[rank], count * sizeof(float), cudaMemcpyDeviceToHost);
        for (int i = 0; i < count; i++)
            if (to[i] != static_cast<float>(i * ranks + ranks * (ranks - 1) / 2)) return std::printf("rank %d: %f at %d\n", rank, to[i], i), 1;
        OK(ncclCommDestroy(all[rank]));
    }
    std::puts("PASSED");
}
