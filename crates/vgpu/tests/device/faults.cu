// Faulty kernels, and kernels that must be stopped.
#include <hip/hip_runtime.h>

extern "C" __global__ void write_at(int *p, long at) {
    if (threadIdx.x == 5)
        p[at] = 1;
}

extern "C" __global__ void read_at(const int *p, long at, int *out) { out[threadIdx.x] = p[at + threadIdx.x]; }

extern "C" __global__ void write_lds(int at, int *out) {
    extern __shared__ int dynamic[];
    dynamic[threadIdx.x + at] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = dynamic[threadIdx.x];
}

extern "C" __global__ void trap_at(int group) {
    if (blockIdx.x == group && threadIdx.x == 0)
        __builtin_trap();
}

extern "C" __global__ void illegal() { asm volatile(".long 0xffffffff\n.long 0xffffffff"); }

// One wave waits in LDS for a value that another would write after a barrier that the first never reaches.
extern "C" __global__ void endless(int *out) {
    __shared__ volatile int flag;
    if (threadIdx.x == 0)
        flag = 0;
    __syncthreads();
    if (threadIdx.x < warpSize) {
        while (flag == 0) {
        }
    }
    __syncthreads();
    if (threadIdx.x >= warpSize)
        flag = 1;
    out[threadIdx.x] = flag;
}

// The waves of a workgroup take turns.
extern "C" __global__ void turns(int *out) {
    __shared__ volatile int turn;
    if (threadIdx.x == 0)
        turn = 0;
    __syncthreads();
    int wave = threadIdx.x / warpSize, waves = blockDim.x / warpSize;
    while (turn != waves - 1 - wave)
        __builtin_amdgcn_s_sleep(1);
    if (threadIdx.x % warpSize == 0) {
        out[blockIdx.x * waves + wave] = turn;
        __threadfence_block();
        turn = turn + 1;
    }
}

// All workgroups wait for each other.
extern "C" __global__ void grid_barrier(unsigned *arrived, unsigned *out) {
    if (threadIdx.x == 0) {
        atomicAdd(arrived, 1u);
        while (__atomic_load_n(arrived, __ATOMIC_RELAXED) < gridDim.x) {
        }
    }
    __syncthreads();
    if (threadIdx.x == 0)
        out[blockIdx.x] = __atomic_load_n(arrived, __ATOMIC_RELAXED);
}

// Runs until the host stops it.
extern "C" __global__ void wait_for_host(const volatile int *stop, int *out) {
    int rounds = 0;
    while (*stop == 0)
        rounds++;
    out[threadIdx.x] = rounds >= 0;
}

// An ended wave counts as arrived at a barrier.
extern "C" __global__ void early_exit(int *out) {
    __shared__ int value;
    if (threadIdx.x >= warpSize)
        return;
    value = 42;
    __syncthreads();
    out[threadIdx.x] = value;
}

extern "C" __global__ __launch_bounds__(128) void bounded(int *out) { out[threadIdx.x] = threadIdx.x; }

// Uses so many registers that a compute unit has too few for the largest workgroup.
extern "C" __global__ __launch_bounds__(128) void greedy(int *out)
{
    asm volatile("v_mov_b32 v255, 0" ::: "v255");
    out[threadIdx.x] = threadIdx.x;
}

// Loads beyond the arguments, by the vector and by the scalar unit.
extern "C" __global__ void load_arguments(unsigned *out, unsigned at, unsigned vector) {
    const unsigned *arguments = (const unsigned *)__builtin_amdgcn_kernarg_segment_ptr();
    unsigned index = vector ? at + threadIdx.x / 64 : at;
    out[threadIdx.x] = arguments[index];
}
