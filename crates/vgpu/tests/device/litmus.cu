// What one workgroup sees of another one's concurrent writes: values that must not be torn, messages behind flags,
// stores that later loads must not overtake.
#include <hip/hip_runtime.h>

// Words of the memory that keeps the host busy.
constexpr unsigned COLD = 4 << 20;

typedef unsigned Words2 __attribute__((ext_vector_type(2)));
typedef unsigned Words4 __attribute__((ext_vector_type(4)));

__device__ unsigned look(unsigned *at) { return __hip_atomic_load(at, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); }
__device__ void add(unsigned *at, unsigned n) { __hip_atomic_fetch_add(at, n, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); }

__device__ unsigned parts(unsigned) { return 1; }
__device__ unsigned parts(Words2) { return 2; }
__device__ unsigned parts(Words4) { return 4; }
__device__ bool is_torn(unsigned) { return false; }
__device__ bool is_torn(Words2 v) { return v.x != v.y; }
__device__ bool is_torn(Words4 v) { return v.x != v.y || v.y != v.z || v.z != v.w; }

// The last word of a descriptor of plain bytes: no conversion, bounds in bytes.
#if defined(__GFX9__)
constexpr unsigned RAW = 0x00020000;
#elif defined(__GFX10__)
constexpr unsigned RAW = 0x31014000;
#else
constexpr unsigned RAW = 0x31004000;
#endif

// Global memory through a buffer descriptor. Its offsets are in bytes.
struct Buffer {
    __amdgpu_buffer_rsrc_t resource;
    __device__ Buffer(void *memory, unsigned bytes)
        : resource(__builtin_amdgcn_make_buffer_rsrc(memory, 0, bytes, RAW)) {}
};

// The places that lanes use: consecutive ones; the same one for all; separate ones, far apart; consecutive ones without every third
// lane.
enum Places { Consecutive, Same, Apart, Some };

template <int PLACES> __device__ unsigned place() {
    if (PLACES == Same) return 0;
    return PLACES == Apart ? 3 * threadIdx.x : threadIdx.x;
}

template <class T> using Global = __attribute__((address_space(1))) volatile T;

struct ToGlobal {
    template <class T> static __device__ void store(T *memory, unsigned at, T value) { ((Global<T> *)memory)[at] = value; }
    template <class T> static __device__ T load(T *memory, unsigned at) { return ((Global<T> *)memory)[at]; }
};

// With addresses whose memory is only known at run time.
struct ToFlat {
    template <class T> static __device__ void store(T *memory, unsigned at, T value) { *const_cast<volatile T *>(memory + at) = value; }
    template <class T> static __device__ T load(T *memory, unsigned at) { return *const_cast<volatile T *>(memory + at); }
};

// The first workgroup writes a number to all words of a value, then the next number, and so on; the others check whether the words of
// a value ever differ.
template <class T, int PLACES, class Access> __device__ void publish(T *memory, unsigned rounds, unsigned *state, unsigned *torn) {
    const unsigned at = place<PLACES>();
    const bool off = PLACES == Some && threadIdx.x % 3 == 2;
    if (blockIdx.x == 0) {
        while (look(&state[0]) != gridDim.x - 1) __builtin_amdgcn_s_sleep(1);
        for (unsigned i = 1; i <= rounds; i++)
            if (!off) Access::store(memory, at, T(i));
        __syncthreads();
        if (threadIdx.x == 0) add(&state[1], 1);
        return;
    }
    if (threadIdx.x == 0) add(&state[0], 1);
    unsigned bad = 0;
    while (look(&state[1]) == 0)
        for (unsigned i = 0; i < 64; i++)
            if (!off) bad += is_torn(Access::load(memory, at));
    add(torn, bad);
}

#define PUBLISH(NAME, T, ACCESS)                                                                                                  \
    extern "C" __global__ void NAME(T *memory, unsigned places, unsigned rounds, unsigned *state, unsigned *torn) {               \
        switch (places) {                                                                                                         \
        case Consecutive: return publish<T, Consecutive, ACCESS>(memory, rounds, state, torn);                                    \
        case Same: return publish<T, Same, ACCESS>(memory, rounds, state, torn);                                                  \
        case Apart: return publish<T, Apart, ACCESS>(memory, rounds, state, torn);                                                \
        default: return publish<T, Some, ACCESS>(memory, rounds, state, torn);                                                    \
        }                                                                                                                         \
    }

PUBLISH(publish_4, unsigned, ToGlobal)
PUBLISH(publish_8, Words2, ToGlobal)
PUBLISH(publish_16, Words4, ToGlobal)
PUBLISH(publish_8_flat, Words2, ToFlat)
PUBLISH(publish_16_flat, Words4, ToFlat)

struct ThroughBuffer {
    static __device__ void store(Words4 *memory, unsigned at, Words4 value) {
        __builtin_amdgcn_raw_buffer_store_b128(value, Buffer(memory, 1 << 16).resource, 16 * at, 0, 0);
        asm volatile("" ::: "memory");
    }
    static __device__ Words4 load(Words4 *memory, unsigned at) {
        asm volatile("" ::: "memory");
        return __builtin_amdgcn_raw_buffer_load_b128(Buffer(memory, 1 << 16).resource, 16 * at, 0, 0);
    }
};

PUBLISH(publish_16_buffer, Words4, ThroughBuffer)

// The waves of one workgroup, in LDS.
extern "C" __global__ void publish_16_lds(unsigned rounds, unsigned *torn) {
    __shared__ Words4 values[64];
    __shared__ unsigned done;
    const unsigned lane = threadIdx.x % 64;
    values[lane] = Words4(0);
    if (threadIdx.x == 0) done = 0;
    __syncthreads();
    if (threadIdx.x < 64) {
        for (unsigned i = 1; i <= rounds; i++) *const_cast<volatile Words4 *>(&values[lane]) = Words4(i);
        __hip_atomic_store(&done, 1u, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_WORKGROUP);
        return;
    }
    unsigned bad = 0;
    while (__hip_atomic_load(&done, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_WORKGROUP) == 0) {
        bad += is_torn(*const_cast<volatile Words4 *>(&values[lane]));
        __builtin_amdgcn_s_sleep(1);
    }
    add(torn, bad);
}

// One lane writes data and then a flag; a lane of another workgroup waits for the flag and reads the data.
template <int SCOPE> __device__ void pass(unsigned *data, unsigned *flags, unsigned rounds, unsigned *found) {
    if (threadIdx.x != 0) return;
    for (unsigned i = 0; i < rounds; i++) {
        if (blockIdx.x == 0) {
            data[i] = i + 1;
            __hip_atomic_store(&flags[i], 1u, __ATOMIC_RELEASE, SCOPE);
        } else {
            while (__hip_atomic_load(&flags[i], __ATOMIC_ACQUIRE, SCOPE) == 0) __builtin_amdgcn_s_sleep(1);
            found[i] = data[i];
        }
    }
}

extern "C" __global__ void messages_agent(unsigned *data, unsigned *flags, unsigned rounds, unsigned *found) {
    pass<__HIP_MEMORY_SCOPE_AGENT>(data, flags, rounds, found);
}

extern "C" __global__ void messages_system(unsigned *data, unsigned *flags, unsigned rounds, unsigned *found) {
    pass<__HIP_MEMORY_SCOPE_SYSTEM>(data, flags, rounds, found);
}

// The same between two waves of a workgroup, in LDS.
extern "C" __global__ void messages_lds(unsigned rounds, unsigned *found) {
    __shared__ unsigned data, flag;
    if (threadIdx.x == 0) data = flag = 0;
    __syncthreads();
    if (threadIdx.x % 64 != 0) return;
    for (unsigned i = 0; i < rounds; i++) {
        if (threadIdx.x == 0) {
            data = i + 1;
            __hip_atomic_store(&flag, 2 * i + 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_WORKGROUP);
            while (__hip_atomic_load(&flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_WORKGROUP) != 2 * i + 2) __builtin_amdgcn_s_sleep(1);
        } else {
            while (__hip_atomic_load(&flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_WORKGROUP) != 2 * i + 1) __builtin_amdgcn_s_sleep(1);
            found[i] = data;
            __hip_atomic_store(&flag, 2 * i + 2, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_WORKGROUP);
        }
    }
}

__device__ void meet(unsigned *at) {
    add(at, 1);
    while (look(at) < 2) {}
}

// Stores to as many cache lines as there are lanes, none of them in the host's caches; the next store waits behind them.
__device__ void keep_busy(unsigned *cold, unsigned round) {
    ((Global<unsigned> *)cold)[((round * 2 + blockIdx.x) * 64 + threadIdx.x) * 16 % COLD] = round;
}

// Two workgroups write one word each and read the other's: at least one must see the other's write.
template <class Write, class Read>
__device__ void cross(unsigned *words, unsigned *meetings, unsigned *cold, unsigned rounds, unsigned *found, Write write, Read read) {
    for (unsigned i = 0; i < rounds; i++) {
        // Each in its own cache line.
        unsigned *const mine = &words[64 * (i * 2 + blockIdx.x)];
        unsigned *const other = &words[64 * (i * 2 + 1 - blockIdx.x)];
        if (threadIdx.x == 0) meet(&meetings[i]);
        keep_busy(cold, i);
        if (threadIdx.x == 0) {
            write(mine);
            found[i * 2 + blockIdx.x] = read(other);
        }
    }
}

#define CROSS(NAME, WRITE, READ)                                                                                                  \
    extern "C" __global__ void NAME(unsigned *words, unsigned *meetings, unsigned *cold, unsigned rounds, unsigned *found) {      \
        cross(                                                                                                                    \
            words, meetings, cold, rounds, found, [](unsigned *mine) { WRITE; }, [](unsigned *other) { return READ; });           \
    }

CROSS(crossing_agent, __hip_atomic_store(mine, 1u, __ATOMIC_SEQ_CST, __HIP_MEMORY_SCOPE_AGENT),
      __hip_atomic_load(other, __ATOMIC_SEQ_CST, __HIP_MEMORY_SCOPE_AGENT))
CROSS(crossing_system, __hip_atomic_store(mine, 1u, __ATOMIC_SEQ_CST, __HIP_MEMORY_SCOPE_SYSTEM),
      __hip_atomic_load(other, __ATOMIC_SEQ_CST, __HIP_MEMORY_SCOPE_SYSTEM))
CROSS(crossing_fence, *const_cast<volatile unsigned *>(mine) = 1; __threadfence(), *const_cast<volatile unsigned *>(other))
