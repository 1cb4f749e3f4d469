// Grids in work-items whose last workgroup is smaller than the others, for a kernel that is compiled for this; and grids that are smaller
// than a workgroup. Compiled with -fno-offload-uniform-block.
#include "check.h"
#include <hip/hip_ext.h>
#include <vector>

__global__ void sizes(unsigned *out) {
    unsigned i = blockIdx.x * 64 + threadIdx.x;
    out[2 * i] = blockDim.x;
    out[2 * i + 1] = gridDim.x;
}

int main() {
    hipFunction_t function;
    OK(hipGetFuncBySymbol(&function, reinterpret_cast<const void *>(sizes)));
    constexpr unsigned MOST = 256;
    unsigned *out;
    OK(hipMalloc(&out, 2 * MOST * sizeof *out));
    void *arguments[] = {&out};
    for (unsigned items : {64u, 65u, 100u, 191u, 192u, 256u, 40u, 1u}) {
        OK(hipMemset(out, 0xff, 2 * MOST * sizeof *out));
        OK(hipExtModuleLaunchKernel(function, items, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr, nullptr, nullptr, 0));
        std::vector<unsigned> seen(2 * MOST);
        OK(hipMemcpy(seen.data(), out, 2 * MOST * sizeof *out, hipMemcpyDeviceToHost));
        for (unsigned i = 0; i < MOST; i++) {
            unsigned block = i / 64 < items / 64 ? 64 : items % 64;
            EXPECT(seen[2 * i] == (i < items ? block : ~0u));
            EXPECT(seen[2 * i + 1] == (i < items ? (items + 63) / 64 : ~0u));
        }
    }
    OK(hipFree(out));
}
