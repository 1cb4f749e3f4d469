// Uninitialised values and data races in LDS: each kernel in a correct and a faulty version. The tests find the lines by the words after
// "HERE".
#include <hip/hip_runtime.h>

extern "C" __global__ void branch_on_memory(const int *p, int *out) {
    int value = p[threadIdx.x]; // HERE load
    if (value > 3)              // HERE branch
        out[threadIdx.x] = 1;
}

// Both halves of an uninitialised register, one after the other; and only one of them.
extern "C" __global__ void mixed_halves(const int *p, int *out) {
    int pair;
    asm volatile("v_fma_mixlo_f16 v78, %1, %1, 0\n\tv_fma_mixhi_f16 v78, %1, %1, 0\n\tv_mov_b32 %0, v78"
                 : "=v"(pair)
                 : "v"(p[threadIdx.x])
                 : "v78");
    if (pair > 3)
        out[threadIdx.x] = 1;
}

extern "C" __global__ void mixed_half(const int *p, int *out) {
    int pair;
    asm volatile("v_fma_mixlo_f16 v78, %1, %1, 0\n\tv_mov_b32 %0, v78" : "=v"(pair) : "v"(p[threadIdx.x]) : "v78");
    if (pair > 3)
        out[threadIdx.x] = 1;
}

extern "C" __global__ void other_mixed_half(const int *p, int *out) {
    int pair;
    asm volatile("v_fma_mixhi_f16 v78, %1, %1, 0\n\tv_mov_b32 %0, v78" : "=v"(pair) : "v"(p[threadIdx.x]) : "v78");
    if (pair & 0xffff)
        out[threadIdx.x] = 1;
}

extern "C" __global__ void address_from_memory(const int *p, int *out) {
    int value = p[threadIdx.x]; // HERE index
    out[value & 31] = 1;        // HERE indexed
}

extern "C" __global__ void uniform_branch(const int *__restrict p, int *__restrict out) {
    if (p[0] > 3) // HERE uniform
        out[threadIdx.x] = 1;
}

// Only moves the value that it reads.
extern "C" __global__ void copy(const int *from, int *to) { to[threadIdx.x] = from[threadIdx.x]; }

struct Padded {
    char tag;
    int value;
};

extern "C" __global__ void copy_padded(const Padded *from, Padded *to) { to[threadIdx.x] = from[threadIdx.x]; }

// Reads a word of which only a byte was written, and uses only that byte.
extern "C" __global__ void masked(const unsigned *p, int *out) {
    if ((p[threadIdx.x] & 0xff) > 3)
        out[threadIdx.x] = 1;
}

extern "C" __global__ void shifted(const unsigned *p, int *out) {
    if ((p[threadIdx.x] >> 24) > 3)
        out[threadIdx.x] = 1;
}

// Another kernel wrote it before.
extern "C" __global__ void fill(int *p, int value) { p[threadIdx.x] = value; }

extern "C" __global__ void lds_unwritten(int *out, int written) {
    __shared__ int words[256];
    if ((int)threadIdx.x < written)
        words[threadIdx.x] = threadIdx.x;
    __syncthreads();
    int value = words[255 - threadIdx.x]; // HERE lds load
    if (value > 3)                         // HERE lds branch
        out[threadIdx.x] = 1;
}

extern "C" __global__ void scratch_unwritten(int *out, int written, int at) {
    volatile int local[32];
    for (int i = 0; i < written; i++)
        local[i] = i;
    int value = local[at]; // HERE scratch load
    if (value > 3)         // HERE scratch branch
        out[threadIdx.x] = 1;
}

extern "C" __global__ void counted(int *counters, int *out) {
    int before = atomicAdd(&counters[threadIdx.x & 7], 1); // HERE atomic
    if (before == 5)                                       // HERE atomic branch
        out[threadIdx.x] = 1;
}

extern "C" __global__ void register_unwritten(int *out) {
    int value;
    asm volatile("v_mov_b32 %0, v77" : "=v"(value)::"v77");
    if (value > 3) // HERE register
        out[threadIdx.x] = 1;
}

// Each wave reads what another one wrote.
extern "C" __global__ void neighbours(int *out, int with_barrier) {
    __shared__ int words[256];
    words[threadIdx.x] = threadIdx.x; // HERE write
    if (with_barrier)
        __syncthreads();
    out[threadIdx.x] = words[(threadIdx.x + 64) & 255]; // HERE read
}

// The next round overwrites what others may still be reading.
extern "C" __global__ void rounds(int *out, int with_barrier) {
    __shared__ int words[256];
    int sum = 0;
    for (int round = 0; round < 3; round++) {
        words[threadIdx.x] = threadIdx.x + round; // HERE next write
        __syncthreads();
        sum += words[(threadIdx.x + 64) & 255]; // HERE last read
        if (with_barrier)
            __syncthreads();
    }
    out[threadIdx.x] = sum;
}

extern "C" __global__ void same_byte(int *out, int same) {
    __shared__ int word;
    word = same ? 1 : threadIdx.x; // HERE same
    __syncthreads();
    out[threadIdx.x] = word;
}

extern "C" __global__ void counted_in_lds(int *out, int atomic) {
    __shared__ int count;
    if (threadIdx.x == 0)
        count = 0;
    __syncthreads();
    if (atomic)
        atomicAdd(&count, 1);
    else if (threadIdx.x % warpSize == 0)
        *(volatile int *)&count = count + 1; // HERE count
    __syncthreads();
    out[threadIdx.x] = count;
}

// A lock orders accesses to the data that it guards.
extern "C" __global__ void locked(int *out, int lock_it) {
    __shared__ int lock, guarded;
    if (threadIdx.x == 0)
        lock = 0, guarded = 0;
    __syncthreads();
    if (threadIdx.x % warpSize == 0) {
        if (lock_it)
            while (atomicCAS(&lock, 0, 1) != 0)
                __builtin_amdgcn_s_sleep(1);
        __threadfence_block();
        *(volatile int *)&guarded += 1; // HERE guarded
        __threadfence_block();
        if (lock_it)
            atomicExch(&lock, 0);
    }
    __syncthreads();
    out[threadIdx.x] = guarded;
}

// Three waves read a word that a fourth writes once it knows that two of them, or all, have read it.
extern "C" __global__ void read_by_many(int *out, int all) {
    __shared__ int word, count;
    int wave = threadIdx.x / warpSize;
    bool first = threadIdx.x % warpSize == 0;
    if (threadIdx.x == 0)
        word = 0, count = 0;
    __syncthreads();
    if (wave < 3) {
        out[threadIdx.x] = *(volatile int *)&word; // HERE one of many
        if (first && (all || wave > 0))
            atomicAdd(&count, 1);
    } else if (wave == 3 && first) {
        while (atomicAdd(&count, 0) < (all ? 3 : 2))
            __builtin_amdgcn_s_sleep(1);
        *(volatile int *)&word = 1; // HERE after many
    }
}

// Waves meet at a resource of global wave sync.
#if defined(__gfx90a__) || defined(__gfx1030__)
extern "C" __global__ void met_by_wave_sync(int *out, int rounds) {
    __shared__ int words[256];
    int sum = 0;
    for (int round = 0; round < rounds; round++) {
        words[threadIdx.x] = threadIdx.x + round;
        __builtin_amdgcn_ds_gws_barrier(blockDim.x / warpSize - 1, 5);
        sum += words[(threadIdx.x + 64) & 255];
        __builtin_amdgcn_ds_gws_barrier(blockDim.x / warpSize - 1, 5);
    }
    out[threadIdx.x] = sum;
}
#endif

#ifdef __gfx1201__
// A wave is late at the second half of a barrier, after another one has written and ended.
extern "C" __global__ void late_at_barrier(int *out, int late) {
    __shared__ int word;
    if (threadIdx.x == 0)
        word = 0;
    __syncthreads();
    __builtin_amdgcn_s_barrier_signal(-1);
    if (threadIdx.x / 32 == 1)
        for (int i = 0; i < late; i++)
            __builtin_amdgcn_s_sleep(1);
    __builtin_amdgcn_s_barrier_wait(-1);
    if (threadIdx.x == 0)
        *(volatile int *)&word = 1; // HERE past the barrier
    else if (threadIdx.x / 32 == 1)
        out[threadIdx.x] = *(volatile int *)&word; // HERE late
}

// A signal to a barrier other than the workgroup's orders nothing, and is not an arrival at the workgroup's.
extern "C" __global__ void other_barrier(int *out, int) {
    __shared__ int words[256];
    if (threadIdx.x < 32)
        asm volatile("s_barrier_signal -2");
    words[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = words[(threadIdx.x + 64) & 255];
}
#endif

// A tree of sums, as in textbooks.
extern "C" __global__ void reduce(const int *p, int *out) {
    __shared__ int words[256];
    words[threadIdx.x] = p[threadIdx.x];
    __syncthreads();
    for (int step = 128; step != 0; step /= 2) {
        if ((int)threadIdx.x < step)
            words[threadIdx.x] += words[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        out[0] = words[0];
}

// Uninitialised values from another lane: by a permute of LDS, by DPP, by a lane's broadcast.
extern "C" __global__ void through_permute(const int *p, int *out) {
    int value = __shfl(p[threadIdx.x], (threadIdx.x + 5) & 31, 32); // HERE permuted load
    if (value > 3)                                                   // HERE permute
        out[threadIdx.x] = 1;
}

extern "C" __global__ void through_dpp(const int *p, int *out) {
    int value = __builtin_amdgcn_mov_dpp(p[threadIdx.x], 0xb1, 0xf, 0xf, false); // HERE dpp load
    if (value > 3)                                                                // HERE dpp
        out[threadIdx.x] = 1;
}

// Lanes 0 and 1 of each four take part; the values of 2 and 3 are uninitialised.
extern "C" __global__ void dpp_of_known(const int *p, int *out) {
    int known = threadIdx.x;
    int value = (threadIdx.x & 2) ? p[threadIdx.x] : known;
    int other = __builtin_amdgcn_mov_dpp(value, 0xb1, 0xf, 0xf, false);
    if (!(threadIdx.x & 2) && other > 3)
        out[threadIdx.x] = 1;
}

// A byte of a register whose other bytes are uninitialised.
extern "C" __global__ void byte_to_float(const unsigned *p, int *out) {
    float value;
    asm volatile("v_cvt_f32_ubyte0 %0, %1" : "=v"(value) : "v"(p[threadIdx.x]));
    if (value > 3)
        out[threadIdx.x] = 1;
}

#if defined(__gfx90a__) || defined(__gfx942__)
typedef float tile __attribute__((ext_vector_type(4)));
__device__ tile product(float a, float b) { return __builtin_amdgcn_mfma_f32_16x16x4f32(a, b, (tile)0.0f, 0, 0, 0); }
#elif defined(__gfx1100__)
typedef float tile __attribute__((ext_vector_type(8)));
typedef _Float16 row __attribute__((ext_vector_type(16)));
__device__ tile product(float a, float b) {
    return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32((row)(_Float16)a, (row)(_Float16)b, (tile)0.0f);
}
#elif defined(__gfx1201__)
typedef float tile __attribute__((ext_vector_type(8)));
typedef _Float16 row __attribute__((ext_vector_type(8)));
__device__ tile product(float a, float b) {
    return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12((row)(_Float16)a, (row)(_Float16)b, (tile)0.0f);
}
#else
typedef float tile __attribute__((ext_vector_type(4)));
__device__ tile product(float a, float b) { return (tile)(a * b); }
#endif

extern "C" __global__ void through_matrix(const float *p, int *out) {
    tile d = product(p[threadIdx.x], 1.0f); // HERE matrix load
    float sum = d.x + d.y + d.z + d.w;
    if (sum > 3) // HERE matrix
        out[threadIdx.x] = 1;
}

// All waves load before any of them uses its value.
extern "C" __global__ void used_after_barrier(const int *p, int *out) {
    int value = p[255 - threadIdx.x]; // HERE many load
    asm volatile("" : "+v"(value));
    __syncthreads();
    if (value > 3) // HERE many branch
        out[threadIdx.x] = 1;
}

extern "C" __global__ void lds_used_after_barrier(int *out, int written) {
    __shared__ int words[256];
    if ((int)threadIdx.x < written)
        words[threadIdx.x] = 1;
    int value = words[255 - threadIdx.x]; // HERE many lds load
    asm volatile("" : "+v"(value));
    __syncthreads();
    if (value > 3) // HERE many lds branch
        out[threadIdx.x] = 1;
}

// Waves of the last 64 work-items end without reaching the barrier.
extern "C" __global__ void early_end(int *out, int early) {
    __shared__ int words[256];
    words[threadIdx.x] = threadIdx.x;
    if (early && __builtin_amdgcn_readfirstlane(threadIdx.x) >= 192)
        return;
    __syncthreads(); // HERE barrier of some
    out[threadIdx.x] = words[255 - threadIdx.x];
}

extern "C" __global__ void two_barriers(int *out, int apart) {
    int first = __builtin_amdgcn_readfirstlane(threadIdx.x);
    if (first < 128 || !apart) {
        asm volatile("s_nop 1");
        __syncthreads(); // HERE one barrier
    } else {
        asm volatile("s_nop 2");
        __syncthreads(); // HERE another barrier
    }
    out[threadIdx.x] = 1;
}

extern "C" __global__ void unequal_rounds(int *out, int more) {
    int rounds = 2 + (__builtin_amdgcn_readfirstlane(threadIdx.x) >= 128 ? more : 0);
    for (int round = 0; round < rounds; round++)
        __syncthreads(); // HERE unequal
    out[threadIdx.x] = rounds;
}

// Some lanes of each wave take part in a barrier, and the others do not, but store afterwards.
extern "C" __global__ void odd_lanes(int *out, int apart) {
    if (!apart || threadIdx.x % 2) {
        asm volatile("s_nop 3");
        __syncthreads(); // HERE odd barrier
    }
    out[threadIdx.x] = 1; // HERE after odd barrier
}

// The lanes of each wave meet at two barriers, some at each.
extern "C" __global__ void both_ways(int *out, int apart) {
    if (apart && threadIdx.x % 2) {
        asm volatile("s_nop 4");
        __syncthreads(); // HERE one way
    } else {
        asm volatile("s_nop 5");
        __syncthreads(); // HERE other way
    }
    out[threadIdx.x] = 1;
}

// Lanes leave a loop with a barrier one after the other.
extern "C" __global__ void lanes_leave(int *out, int apart) {
    int rounds = apart ? threadIdx.x % 4 : 3;
    int round = 0;
    for (; round < rounds; round++)
        __syncthreads(); // HERE left barrier
    out[threadIdx.x] = round; // HERE after loop
}

// Lanes of every wave return before the barrier. On all hardware, it does not wait for them.
extern "C" __global__ void lanes_return(int *out, int) {
    __shared__ int words[256];
    words[threadIdx.x] = threadIdx.x;
    if (threadIdx.x % 8 > 5)
        return;
    __syncthreads();
    out[threadIdx.x] = words[threadIdx.x ^ 1];
}

extern "C" __global__ void doubled(const int *from, int *to) {
    int value = from[threadIdx.x]; // HERE doubled load
    to[threadIdx.x] = 2 * value;   // HERE doubled store
}

extern "C" __global__ void copied(const int *from, int *to) {
    int value = from[threadIdx.x]; // HERE copied load
    to[threadIdx.x] = value;       // HERE copied store
}

extern "C" __global__ void through_lds(const int *from, int *to) {
    __shared__ int words[256];
    words[threadIdx.x] = from[threadIdx.x];
    __syncthreads();
    int value = words[255 - threadIdx.x]; // HERE passed load
    to[threadIdx.x] = value;              // HERE passed store
}

// Values that are not stored do not matter.
extern "C" __global__ void selected(const int *from, int *to) {
    int value = from[threadIdx.x];
    to[threadIdx.x] = threadIdx.x < 100 ? value : 7;
}

extern "C" __global__ void counts(int *counters) {
    atomicAdd(&counters[threadIdx.x & 7], 1); // HERE counts
}
