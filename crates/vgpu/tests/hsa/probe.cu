// Kernels of the HSA tests: each exercises one way that a dispatch can go.

static __device__ unsigned index() {
    return __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
}

__device__ unsigned scale = 3;
__constant__ unsigned shift_by = 1;

extern "C" __global__ void number(unsigned* out, unsigned first) { out[index()] = first + index(); }

extern "C" __global__ void use_variables(unsigned* out) { out[index()] = (out[index()] * scale) << shift_by; }

extern "C" __global__ void write_at(unsigned* out, unsigned long offset) { out[offset + index()] = 1; }

extern "C" __global__ void give_up() { __builtin_trap(); }

extern "C" __global__ void count_down(long* value) {
    if (index() == 0) {
        __hip_atomic_fetch_add(value, -1L, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
    }
}

// Traps once the value has changed.
extern "C" __global__ void give_up_after(long* value) {
    while (__hip_atomic_load(value, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM) == 0) __builtin_amdgcn_s_sleep(1);
    __builtin_trap();
}

// Takes a number of the clock, takes so many turns, and takes another one.
extern "C" __global__ void stay(long* clock, long* times, long turns) {
    if (index() != 0) return;
    times[0] = __hip_atomic_fetch_add(clock, 1L, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_SYSTEM);
    for (long turn = 0; turn < turns; ++turn) __hip_atomic_load(clock, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM);
    times[1] = __hip_atomic_fetch_add(clock, 1L, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_SYSTEM);
}

// Ends when so many have begun.
extern "C" __global__ void meet(long* begun, long count) {
    if (index() != 0) return;
    __hip_atomic_fetch_add(begun, 1L, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_SYSTEM);
    while (__hip_atomic_load(begun, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM) < count) __builtin_amdgcn_s_sleep(1);
}

extern "C" __global__ void read_at(unsigned* out, const unsigned* in, unsigned long offset) {
    out[index()] = in[offset + index()];
}

#define HARDWARE(id, first, bits) __builtin_amdgcn_s_getreg((bits - 1) << 11 | first << 6 | id)

// The number of the compute unit that runs the work-item, within the first shader engine.
extern "C" __global__ void compute_unit(unsigned* out) {
#ifdef __GFX9__
    out[index()] = HARDWARE(4, 8, 5);
#else
    // Two units form a workgroup processor, and each has two of its SIMDs.
    out[index()] = HARDWARE(23, 10, 4) << 1 | HARDWARE(23, 9, 1);
#endif
}
