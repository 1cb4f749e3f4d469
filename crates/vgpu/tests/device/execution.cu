// Calls that are only known at run time, stacks, and waves and workgroups that wait for each other.
#include <hip/hip_runtime.h>

__device__ __noinline__ unsigned fibonacci(unsigned n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

// Recursion to a different depth in each lane.
extern "C" __global__ void recursion(unsigned *out) { out[threadIdx.x] = fibonacci(threadIdx.x % 11); }

__device__ __noinline__ unsigned depth(unsigned n) {
    volatile unsigned frame[16];
    frame[n % 16] = n;
    return n == 0 ? 0 : depth(n - 1) + (frame[n % 16] == n);
}

extern "C" __global__ void deep(unsigned n, unsigned *out) { out[threadIdx.x] = depth(n); }

// Uses as much stack as each lane requests.
extern "C" __global__ void allocas(const unsigned *sizes, unsigned *out) {
    const unsigned size = sizes[threadIdx.x];
    unsigned *words = static_cast<unsigned *>(__builtin_alloca(size * sizeof(unsigned)));
    for (unsigned i = 0; i < size; i++) words[i] = i * size + threadIdx.x;
    unsigned sum = 0;
    for (unsigned i = size; i-- > 0;) sum = sum * 3 + words[i];
    out[threadIdx.x] = sum;
}

typedef unsigned (*Step)(unsigned);
__device__ __noinline__ unsigned doubled(unsigned x) { return 2 * x; }
__device__ __noinline__ unsigned squared(unsigned x) { return x * x; }
__device__ __noinline__ unsigned summed(unsigned x) { return fibonacci(x % 8) + x; }
__device__ Step steps[3] = {doubled, squared, summed};

// A function called by its address, a different one in each lane.
extern "C" __global__ void indirect(const unsigned *which, unsigned *out) {
    out[threadIdx.x] = steps[which[threadIdx.x]](threadIdx.x);
}

struct Shape {
    unsigned side;
    __device__ virtual unsigned area() const { return side; }
};
struct Square : Shape {
    __device__ unsigned area() const override { return side * side; }
};
struct Cube : Square {
    __device__ unsigned area() const override { return 6 * Square::area(); }
};

extern "C" __global__ void virtual_calls(unsigned *out) {
    Shape shape;
    Square square;
    Cube cube;
    shape.side = square.side = cube.side = threadIdx.x;
    Shape *shapes[3] = {&shape, &square, &cube};
    Shape *volatile *choice = shapes;
    out[threadIdx.x] = choice[threadIdx.x % 3]->area();
}

// Uses all of a workgroup's LDS.
extern "C" __global__ void fill_lds(unsigned words, unsigned *out) {
    extern __shared__ unsigned dynamic[];
    for (unsigned i = threadIdx.x; i < words; i += blockDim.x) dynamic[i] = i * 7 + blockIdx.x;
    __syncthreads();
    for (unsigned i = threadIdx.x; i < words; i += blockDim.x) {
        const unsigned other = words - 1 - i;
        if (dynamic[other] != other * 7 + blockIdx.x) atomicAdd(out, 1u);
    }
}

// Waves of a workgroup take a lock in LDS, one lane each.
extern "C" __global__ void lds_lock(unsigned rounds, unsigned *out) {
    __shared__ unsigned lock;
    __shared__ volatile unsigned count;
    if (threadIdx.x == 0) lock = count = 0;
    __syncthreads();
    if (threadIdx.x % warpSize == 0) {
        for (unsigned i = 0; i < rounds; i++) {
            while (atomicCAS(&lock, 0u, 1u) != 0u) {
            }
            count = count + 1;
            __threadfence_block();
            atomicExch(&lock, 0u);
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = count;
}

// Workgroups take a lock in the order of their tickets.
extern "C" __global__ void ticket_lock(unsigned *ticket, unsigned *serving, volatile unsigned *count, unsigned *order) {
    if (threadIdx.x == 0) {
        const unsigned mine = atomicAdd(ticket, 1u);
        while (__atomic_load_n(serving, __ATOMIC_ACQUIRE) != mine) __builtin_amdgcn_s_sleep(2);
        order[mine] = blockIdx.x;
        *count = *count + 1;
        __atomic_store_n(serving, mine + 1, __ATOMIC_RELEASE);
    }
}

// Each workgroup waits for the one before it (1) or after it (-1), and stores how many it has waited for.
extern "C" __global__ void relay(int direction, unsigned *flags, unsigned *out) {
    if (threadIdx.x != 0) return;
    const unsigned first = direction > 0 ? 0 : gridDim.x - 1;
    unsigned value = 0;
    if (blockIdx.x != first) {
        while ((value = __atomic_load_n(&flags[static_cast<int>(blockIdx.x) - direction], __ATOMIC_ACQUIRE)) == 0) {
        }
    }
    out[blockIdx.x] = value;
    __atomic_store_n(&flags[blockIdx.x], value + 1, __ATOMIC_RELEASE);
}

// Every workgroup works on a part, and the first of each four adds up the results of the others.
extern "C" __global__ void fix_up(const unsigned *in, unsigned *partial, unsigned *ready, unsigned *out) {
    __shared__ unsigned sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    atomicAdd(&sum, in[blockIdx.x * blockDim.x + threadIdx.x]);
    __syncthreads();
    if (threadIdx.x != 0) return;
    if (blockIdx.x % 4 != 0) {
        partial[blockIdx.x] = sum;
        __threadfence();
        __atomic_store_n(&ready[blockIdx.x], 1u, __ATOMIC_RELEASE);
        return;
    }
    unsigned all = sum;
    for (unsigned other = blockIdx.x + 1; other < blockIdx.x + 4; other++) {
        while (__atomic_load_n(&ready[other], __ATOMIC_ACQUIRE) == 0) {
        }
        all += partial[other];
    }
    out[blockIdx.x / 4] = all;
}

// Workgroups synchronise by global wave sync, if the target has it.
extern "C" __global__ void wave_sync(unsigned rounds, unsigned *values, unsigned *failures) {
#if defined(__gfx90a__) || defined(__gfx1030__)
    for (unsigned round = 1; round <= rounds; round++) {
        if (threadIdx.x == 0) {
            __atomic_store_n(&values[blockIdx.x], round, __ATOMIC_RELAXED);
            __builtin_amdgcn_ds_gws_barrier(gridDim.x - 1, 3);
            for (unsigned block = 0; block < gridDim.x; block++)
                if (__atomic_load_n(&values[block], __ATOMIC_RELAXED) < round) atomicAdd(failures, 1u);
            __builtin_amdgcn_ds_gws_barrier(gridDim.x - 1, 3);
        }
        __syncthreads();
    }
#endif
}

// Each workgroup sends one interrupt, with its own number.
extern "C" __global__ void interrupts(unsigned first) {
    if (threadIdx.x == 0) __builtin_amdgcn_s_sendmsg(1, first + blockIdx.x);
}

// Calls a function of an unknown module for some lanes, twice each.
extern "C" __global__ void call_by_address(unsigned (*function)(unsigned), unsigned *values) {
    unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at % 3 == 1) return;
    unsigned value = function(values[at]);
    values[at] = function(value) + 1;
}

// On hardware, the waves of a workgroup stay roughly in step, and some kernels accidentally rely on that. The next three have data races.

// Cholesky factorisation of a matrix in LDS, column by column. One work-item replaces the number on the diagonal that all have just
// read, after a barrier at the end of the previous round.
extern "C" __global__ void cholesky(int n, float *matrix) {
    extern __shared__ float a[];
    for (int at = threadIdx.x; at < n * n; at += blockDim.x) a[at] = matrix[at];
    __syncthreads();
    for (int k = 0; k < n; k++) {
        float square = a[k * n + k];
        if (!(square > 0)) break;
        float root = sqrtf(square);
        if (threadIdx.x == 0) a[k * n + k] = root;
        __syncthreads();
        for (int i = k + 1 + threadIdx.x; i < n; i += blockDim.x) a[i * n + k] /= root;
        __syncthreads();
        for (int at = threadIdx.x; at < n * n; at += blockDim.x) {
            int i = at / n, j = at % n;
            if (j > k && i >= j) a[i * n + j] -= a[i * n + k] * a[j * n + k];
        }
        __syncthreads();
    }
    for (int at = threadIdx.x; at < n * n; at += blockDim.x) matrix[at] = a[at];
}

// All waves add up a row of LDS, which takes many loads and waits; the next round starts by writing to it.
extern "C" __global__ void sums_of_rows(int rounds, const unsigned *factors, unsigned *out) {
    __shared__ unsigned row[256];
    unsigned value = threadIdx.x;
    for (int round = 0; round < rounds; round++) {
        row[threadIdx.x] = value;
        __syncthreads();
        unsigned sum = 0;
#pragma unroll 8
        for (int i = 0; i < 96; i++) sum += factors[i] * row[(threadIdx.x + i) & 255];
        value = sum ^ round;
    }
    out[threadIdx.x] = value;
}

// A program with two words per step. 0: a barrier. 1 and 2: reads and writes the word of LDS given by the second word, counted from
// the work-item's own, in a region of 256. 3: some waves are busy for a while.
extern "C" __global__ void in_step(int steps, const unsigned *program, unsigned *out) {
    __shared__ unsigned words[4 * 256];
    unsigned value = threadIdx.x * 2654435761u;
    for (int region = 0; region < 4; region++) words[256 * region + threadIdx.x] = value + region;
    __syncthreads();
    for (int step = 0; step < steps; step++) {
        unsigned operand = program[2 * step + 1];
        unsigned at = (operand & ~255u) | ((operand + threadIdx.x) & 255);
        switch (program[2 * step]) {
        case 0: __syncthreads(); break;
        case 1: value = value * 31 + words[at]; break;
        case 2: words[at] = value ^ step; break;
        default:
            for (unsigned i = 0; i < (operand & 7) * (threadIdx.x / 32); i++) value = value * 5 + i;
        }
    }
    out[threadIdx.x] = value;
}
