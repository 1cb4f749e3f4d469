// Uses every part of NVIDIA's compiler: device headers, libcu++, the optimiser and the assembler.
#include <cooperative_groups.h>
#include <cuda/std/cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void probe(float *sums, const __half *a, const __nv_bfloat16 *b) {
    __shared__ float shared[64];
    cuda::std::uint32_t lane = threadIdx.x % 64;
    shared[lane] = expf(__half2float(a[lane])) + __bfloat162float(b[lane]);
    cooperative_groups::this_thread_block().sync();
    atomicAdd(sums + blockIdx.x, shared[63 - lane]);
}
