#include <curand.h>
#include <curand_kernel.h>
#include <curand_uniform.h>

__global__ void init(curandState* states, curandStatePhilox4_32_10_t* philox) {
  curand_init(1234, threadIdx.x, 0, &states[threadIdx.x]);
  float x = curand_uniform(&states[threadIdx.x]) + curand_normal(&states[threadIdx.x]);
}
void host() {
  curandGenerator_t generator;
  curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_PHILOX4_32_10);
  curandGenerateUniform(generator, data, 128);
}
