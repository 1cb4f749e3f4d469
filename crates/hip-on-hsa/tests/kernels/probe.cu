// Kernels that report what the runtime passed and did.

struct Mixed {
    char a;
    double b;
};

// y[i] += a * x[i]
extern "C" __global__ void saxpy(float a, const float *x, float *y, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}

// Sizes of grid and workgroup, as a kernel sees them.
extern "C" __global__ void geometry(unsigned *out) {
    if (threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0 && blockIdx.x == 0 && blockIdx.y == 0 && blockIdx.z == 0) {
        out[0] = gridDim.x;
        out[1] = gridDim.y;
        out[2] = gridDim.z;
        out[3] = blockDim.x;
        out[4] = blockDim.y;
        out[5] = blockDim.z;
    }
}

// Arguments of all sizes, with and without gaps.
extern "C" __global__ void mixed(char a, short b, int c, long long d, Mixed e, double *out) {
    out[0] = a;
    out[1] = b;
    out[2] = c;
    out[3] = static_cast<double>(d);
    out[4] = e.a;
    out[5] = e.b;
}

// Every word of the dynamic LDS is written and read back by another work-item.
extern "C" __global__ void reverse(const int *in, int *out) {
    extern __shared__ int words[];
    words[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = words[blockDim.x - 1 - threadIdx.x];
}

__device__ unsigned counter = 7;

extern "C" __global__ void bump() {
    if (threadIdx.x == 0) atomicAdd(&counter, 1u);
}

// Writes to a given address.
extern "C" __global__ void poke(unsigned *address) { *address = 1; }

extern "C" __global__ void stop() { __builtin_trap(); }

// Keeps the device busy, then sets a flag.
extern "C" __global__ void work(unsigned rounds, unsigned *out) {
    unsigned value = threadIdx.x;
    for (unsigned i = 0; i < rounds; i++) value = value * 1664525u + 1013904223u;
    if (threadIdx.x == 0) {
        out[0] = 1;
        out[1] = value;
    }
}

extern "C" __global__ void empty() {}

__launch_bounds__(64) extern "C" __global__ void narrow(unsigned *out) { out[0] = blockDim.x; }

// Announces itself, waits for another one, and reports whether it came.
extern "C" __global__ void meet(unsigned *here, unsigned *there, unsigned *met) {
    __hip_atomic_store(here, 1u, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
    unsigned seen = 0;
    for (unsigned i = 0; i < 20000000u && seen == 0; i++)
        seen = __hip_atomic_load(there, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM);
    *met = seen;
}

// Counts for many rounds while it runs.
extern "C" __global__ void count_up(unsigned *count, unsigned rounds) {
    for (unsigned i = 0; i < rounds; i++) __hip_atomic_fetch_add(count, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}

// Traps once the counter has changed.
extern "C" __global__ void stop_after(unsigned *count) {
    while (__hip_atomic_load(count, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM) == 0) __builtin_amdgcn_s_sleep(1);
    __builtin_trap();
}
