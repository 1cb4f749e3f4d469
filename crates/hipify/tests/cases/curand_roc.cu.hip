#include <hip/hip_runtime.h>  // OPTIONS: roc
#include <rocrand/rocrand.h>
#include <rocrand/rocrand_kernel.h>
#include <rocrand/rocrand_uniform.h>

__global__ void init(hiprandState* states, rocrand_state_philox4x32_10* philox) {
  rocrand_init(1234, threadIdx.x, 0, &states[threadIdx.x]);
  float x = rocrand_uniform(&states[threadIdx.x]) + rocrand_normal(&states[threadIdx.x]);
}
void host() {
  rocrand_generator generator;
  rocrand_create_generator(&generator, ROCRAND_RNG_PSEUDO_PHILOX4_32_10);
  rocrand_generate_uniform(generator, data, 128);
}
