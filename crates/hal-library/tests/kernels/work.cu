// Kernels of the conformance tests.

// Adds to every number.
extern "C" __global__ void add(int *values, int n, int step) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) values[i] += step;
}

// What a work-item sees of its grid.
extern "C" __global__ void shape(unsigned *seen) {
    const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    if (threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0) seen[4 + block] = block + 1;
    if (block == 0 && threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0) {
        seen[0] = gridDim.x;
        seen[1] = gridDim.y;
        seen[2] = gridDim.z;
        seen[3] = blockDim.x;
    }
}

// Doubles the last number for the next: a chain whose order shows.
extern "C" __global__ void step(unsigned long long *value, unsigned long long add) { *value = *value * 3 + add; }

// Writes far outside of its memory.
extern "C" __global__ void stray(int *values) { values[1ll << 40] = 1; }

// Waits until the host writes, so that a test decides when it ends.
extern "C" __global__ void hold(volatile int *gate) {
    while (*gate == 0) {
    }
}

// Prints, which recorded work cannot.
extern "C" __global__ void talk(int *values) { printf("%d\n", values[0]); }
