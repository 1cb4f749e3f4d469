// One kernel on two devices with one call: the grids know which one they are, and wait for each other.
#include "check.h"
#include <hip/hip_cooperative_groups.h>

namespace cg = cooperative_groups;

constexpr unsigned BLOCKS = 3, THREADS = 64, ROUNDS = 5;

// In every round, each grid increments its counter, and must then see all increments of the other grid.
__global__ void rounds(unsigned *counts, unsigned *places, unsigned *wrong) {
    cg::multi_grid_group all = cg::this_multi_grid();
    unsigned grid = all.grid_rank(), grids = all.num_grids();
    if (all.thread_rank() % (BLOCKS * THREADS) == 0) {
        places[3 * grid] = grids;
        places[3 * grid + 1] = all.size();
        places[3 * grid + 2] = all.thread_rank();
    }
    for (unsigned round = 0; round < ROUNDS; round++) {
        __hip_atomic_fetch_add(&counts[grid], 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
        all.sync();
        unsigned seen =
            __hip_atomic_load(&counts[(grid + 1) % grids], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
        if (seen != (round + 1) * BLOCKS * THREADS)
            __hip_atomic_fetch_add(wrong, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
        all.sync();
    }
}

__global__ void plain(unsigned *counts, unsigned *, unsigned *) {
    __hip_atomic_fetch_add(&counts[0], 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}

int main() {
    int devices = 0, has = 0;
    OK(hipGetDeviceCount(&devices));
    EXPECT(devices == 2);
    OK(hipDeviceGetAttribute(&has, hipDeviceAttributeCooperativeMultiDeviceLaunch, 0));
    EXPECT(has == 1);
    unsigned *shared;
    OK(hipHostMalloc(reinterpret_cast<void **>(&shared), 16 * sizeof *shared, hipHostMallocPortable));
    for (int i = 0; i < 16; i++) shared[i] = 0;
    unsigned *counts = shared, *places = shared + 4, *wrong = shared + 12;
    void *arguments[] = {&counts, &places, &wrong};
    hipLaunchParams parts[2];
    hipStream_t streams[2], second_of_first;
    for (int i = 0; i < 2; i++) {
        OK(hipSetDevice(i));
        OK(hipStreamCreate(&streams[i]));
        if (i == 0) OK(hipStreamCreate(&second_of_first));
        parts[i] = {reinterpret_cast<void *>(rounds), dim3(BLOCKS), dim3(THREADS), arguments, 0, streams[i]};
    }
    for (unsigned flags = 0; flags < 4; flags++) {
        for (int i = 0; i < 16; i++) shared[i] = 0;
        OK(hipLaunchCooperativeKernelMultiDevice(parts, 2, flags));
        if (flags & hipCooperativeLaunchMultiDeviceNoPostSync)
            for (auto stream : streams) OK(hipStreamSynchronize(stream));
        unsigned each = BLOCKS * THREADS;
        EXPECT(*wrong == 0 && counts[0] == ROUNDS * each && counts[1] == ROUNDS * each);
        for (unsigned i = 0; i < 2; i++)
            EXPECT(places[3 * i] == 2 && places[3 * i + 1] == 2 * each && places[3 * i + 2] == i * each);
    }

    for (auto &part : parts) part.func = reinterpret_cast<void *>(plain);
    counts[0] = 0;
    OK(hipExtLaunchMultiKernelMultiDevice(parts, 2, 0));
    EXPECT(counts[0] == 2 * BLOCKS * THREADS);

    auto refused = [&](hipError_t code) {
        EXPECT_CODE(hipLaunchCooperativeKernelMultiDevice(parts, 2, 0), code);
    };
    EXPECT_CODE(hipLaunchCooperativeKernelMultiDevice(nullptr, 2, 0), hipErrorInvalidValue);
    EXPECT_CODE(hipLaunchCooperativeKernelMultiDevice(parts, 3, 0), hipErrorInvalidDevice);
    EXPECT_CODE(hipLaunchCooperativeKernelMultiDevice(parts, 2, 4), hipErrorInvalidValue);
    parts[1].func = reinterpret_cast<void *>(rounds);
    refused(hipErrorInvalidValue);
    parts[1].func = parts[0].func;
    parts[1].stream = second_of_first;
    refused(hipErrorInvalidDevice);
    parts[1].stream = nullptr;
    refused(hipErrorInvalidResourceHandle);
    parts[1].stream = streams[1];
    parts[1].gridDim.x++;
    refused(hipErrorInvalidValue);
    parts[1].gridDim.x--;
    parts[1].blockDim.x = 0;
    refused(hipErrorInvalidConfiguration);
}
