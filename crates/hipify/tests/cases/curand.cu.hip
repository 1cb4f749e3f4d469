#include <hip/hip_runtime.h>
#include <hiprand/hiprand.h>
#include <hiprand/hiprand_kernel.h>


__global__ void init(hiprandState* states, hiprandStatePhilox4_32_10_t* philox) {
  hiprand_init(1234, threadIdx.x, 0, &states[threadIdx.x]);
  float x = hiprand_uniform(&states[threadIdx.x]) + hiprand_normal(&states[threadIdx.x]);
}
void host() {
  hiprandGenerator_t generator;
  hiprandCreateGenerator(&generator, HIPRAND_RNG_PSEUDO_PHILOX4_32_10);
  hiprandGenerateUniform(generator, data, 128);
}
