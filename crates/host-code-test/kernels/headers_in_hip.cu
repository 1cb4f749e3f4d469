// Every kind of CUDA's headers in a source of HIP's dialect.
#include <hip/hip_runtime.h>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuComplex.h>
#include <cub/cub.cuh>
#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda/annotated_ptr>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/semaphore>
#include <cuda/std/cmath>
#include <cuda/stream_ref>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp8.h>
#include <cuda_pipeline.h>
#include <curand_kernel.h>
#include <math_constants.h>
#include <mma.h>
#include <nv/target>
#include <nvtx3/nvToolsExt.h>
#include <thrust/sort.h>
#if !defined(__HIP_PLATFORM_AMD__) || defined(__CUDACC__)
#error "not HIP's dialect"
#endif
__global__ void in_hip(half *x) { x[0] = __hadd(x[1], __float2half(1.0f)); }
