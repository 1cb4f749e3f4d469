// Every kernel error, one line each. The tests find the lines by the words after "HERE".
#include <hip/hip_runtime.h>

// Only the work-item selected by the test is faulty.
#define ONLY(n) if (blockIdx.x == 2 && threadIdx.x == (n))

extern "C" __global__ void store_byte(char *p, long at) {
    ONLY(37)
        p[at] = 1; // HERE store_byte
}

extern "C" __global__ void load_byte(const char *p, long at, char *out) {
    ONLY(37)
        out[0] = p[at]; // HERE load_byte
}

struct __attribute__((packed)) Loose {
    int value;
};

extern "C" __global__ void load_across(const Loose *p, long at, int *out) {
    ONLY(37)
        out[0] = ((const Loose *)((const char *)p + at))->value; // HERE load_across
}

extern "C" __global__ void load_wide(const float4 *p, long at, float4 *out) {
    ONLY(37)
        out[0] = p[at]; // HERE load_wide
}

// All lanes read the same address, by a scalar load.
extern "C" __global__ void load_scalar(const int *__restrict p, long at, int *__restrict out) {
    out[threadIdx.x] = p[at]; // HERE load_scalar
}

extern "C" __global__ void add_at(int *p, long at) {
    ONLY(37)
        atomicAdd((int *)((char *)p + at), 1); // HERE add_at
}

extern "C" __global__ void add_wide_at(unsigned long long *p, long at) {
    ONLY(37)
        atomicMax((unsigned long long *)((char *)p + at), 1ull); // HERE add_wide_at
}

// The compiler does not know the memory of the pointer: FLAT instructions.
extern "C" __global__ void flat_store(int *p, long at, int local) {
    __shared__ int words[64];
    int *volatile chosen = local ? words : p;
    ONLY(37)
        chosen[at] = 1; // HERE flat_store
}

__constant__ int fixed[16] = {1, 2, 3};

extern "C" __global__ void store_constant(int at) {
    ONLY(37)
        ((volatile int *)fixed)[at] = 9; // HERE store_constant
}

extern "C" __global__ void lds_store(int at, int *out) {
    extern __shared__ int dynamic[];
    ONLY(37)
        dynamic[at] = 1; // HERE lds_store
    __syncthreads();
    out[threadIdx.x] = dynamic[threadIdx.x];
}

extern "C" __global__ void lds_add(int at, int *out) {
    extern __shared__ int dynamic[];
    ONLY(37)
        atomicAdd((int *)((char *)dynamic + at), 1); // HERE lds_add
    __syncthreads();
    out[threadIdx.x] = dynamic[threadIdx.x];
}

template <typename T> struct Checker {
    T *place;
    __device__ void store(long at, T value) const {
        place[at] = value; // HERE inlined
    }
};

__device__ inline void through(int *p, long at) {
    Checker<int>{p}.store(at, 7); // HERE caller
}

extern "C" __global__ void inlined(int *p, long at) {
    ONLY(37)
        through(p, at); // HERE kernel
}

__device__ __noinline__ void apart(int *p, long at) {
    p[at] = 3; // HERE apart
}

extern "C" __global__ void called(int *p, long at) {
    ONLY(37)
        apart(p, at);
}

template <int N> __global__ void templated(int *p, long at) {
    ONLY(37)
        p[at + N] = N; // HERE templated
}
template __global__ void templated<5>(int *, long);

extern "C" __global__ void trapped(int *p) {
    ONLY(37)
        __builtin_trap(); // HERE trapped
    p[0] = 1;
}

extern "C" __global__ void aborted(int *p) {
    ONLY(37)
        abort(); // HERE aborted
    p[0] = 1;
}

extern "C" __global__ void illegal_here(int *p) {
    if (blockIdx.x == 2)
        asm volatile(".long 0xffffffff\n.long 0xffffffff"); // HERE illegal_here
    p[0] = 1;
}

extern "C" __global__ void jump_away(unsigned long to) {
    if (blockIdx.x == 2)
        asm volatile("s_setpc_b64 %0" ::"s"(to)); // HERE jump_away
}

__device__ __noinline__ int deep(int n, volatile int *p) {
    volatile int local[64];
    local[n & 63] = n; // HERE deep
    int rest = n == 0 ? 0 : deep(n - 1, local);
    return rest + local[n & 63] + p[0];
}

extern "C" __global__ void overflow(int depth, int *out) {
    volatile int begin = 1;
    out[threadIdx.x] = deep(depth, &begin);
}

extern "C" __global__ void scratch_store(int at, int *out) {
    volatile int local[16];
    local[threadIdx.x & 15] = 1;
    ONLY(37)
        local[at] = 1; // HERE scratch_store
    out[threadIdx.x] = local[threadIdx.x & 15];
}

// The first wave of a workgroup never reaches the barrier.
extern "C" __global__ void stuck(volatile int *flag) {
    if (threadIdx.x < warpSize) {
        while (flag[0] == 0) { // HERE stuck
        }
    }
    __syncthreads(); // HERE barrier
    flag[1] = 1;
}
