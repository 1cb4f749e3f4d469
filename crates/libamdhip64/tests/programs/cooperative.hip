// Cooperative launches, and the resources of a kernel, queried through its host side.
#include "check.h"
#include <hip/hip_cooperative_groups.h>

namespace cg = cooperative_groups;

__global__ void rounds(unsigned* cells, unsigned count) {
    cg::grid_group grid = cg::this_grid();
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    for (unsigned round = 0; round < count; round++) {
        unsigned other = cells[(round % 2) * n + (i + blockDim.x) % n];
        cells[(1 - round % 2) * n + i] = other + 1;
        grid.sync();
    }
}

int main() {
    hipDeviceProp_t properties;
    OK(hipGetDeviceProperties(&properties, 0));
    int per_unit = 0;
    OK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&per_unit, rounds, 64, 0));
    EXPECT(per_unit > 0);
    int grid = 0, block = 0;
    OK(hipOccupancyMaxPotentialBlockSize(&grid, &block, rounds, 0, 0));
    EXPECT(grid >= properties.multiProcessorCount && block >= 64 && block <= 1024);
    size_t room = 0;
    OK(hipOccupancyAvailableDynamicSMemPerBlock(&room, rounds, 1, 64));
    EXPECT(room == properties.sharedMemPerBlock);
    hipFuncAttributes attributes;
    OK(hipFuncGetAttributes(&attributes, (const void*)rounds));
    EXPECT(attributes.maxThreadsPerBlock == 1024 && attributes.numRegs > 0);
    if (!properties.cooperativeLaunch) return 0;

    const unsigned blocks = 3, threads = 64, n = blocks * threads;
    unsigned *cells, host[2 * n], count = 6;
    for (unsigned i = 0; i < 2 * n; i++) host[i] = i < n ? i * 10 : 0;
    OK(hipMalloc(&cells, sizeof host));
    OK(hipMemcpy(cells, host, sizeof host, hipMemcpyHostToDevice));
    void* arguments[] = {&cells, &count};
    OK(hipLaunchCooperativeKernel((const void*)rounds, dim3(blocks), dim3(threads), arguments, 0, nullptr));
    OK(hipMemcpy(host, cells, sizeof host, hipMemcpyDeviceToHost));
    // Each of six rounds takes a value from the next block, so that after six rounds it is back.
    for (unsigned i = 0; i < n; i++) EXPECT(host[i] == i * 10 + 6);

    dim3 many(per_unit * properties.multiProcessorCount + 1);
    EXPECT_CODE(hipLaunchCooperativeKernel((const void*)rounds, many, dim3(threads), arguments, 0, nullptr),
                hipErrorCooperativeLaunchTooLarge);
    OK(hipFree(cells));
    return 0;
}
