// Philox's generator of CUDA's library for random numbers: words, floats and normal numbers.
#include <curand_kernel.h>

extern "C" __global__ void philox(unsigned *words, float *uniform, float *normal) {
    const int i = threadIdx.x;
    curandStatePhilox4_32_10_t state, later;
    curand_init(0, i, 0, &state);
    const uint4 four = curand4(&state);
    curand_init(0, i, 5, &later);
    unsigned *to = words + i * 6;
    to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
    // The sixth word, which is the second of the next four.
    const uint4 next = curand4(&state);
    to[4] = next.y, to[5] = curand(&later);
    curand_init(0, i, 0, &state);
    uniform[i] = curand_uniform(&state);
    normal[i] = curand_normal(&state);
}
