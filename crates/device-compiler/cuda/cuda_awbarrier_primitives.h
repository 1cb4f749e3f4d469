// CUDA's <cuda_awbarrier_primitives.h> for AMD targets: barriers in shared memory.
#pragma once
#include "ferrocm_letters_begin.h"
#include "cuda_runtime.h"
#include <cstdint>

// The number of threads still to arrive, the number of a whole phase, and the phase.
typedef uint64_t __mbarrier_t;
typedef uint64_t __mbarrier_token_t;

#define __CUDA_AWBARRIER_INLINE static __device__ __attribute__((always_inline, unused)) inline
// Bits 0-19: threads still to arrive. Bits 20-39: threads of a phase. Bits 40-63: the phase.
__CUDA_AWBARRIER_INLINE void __mbarrier_init(__mbarrier_t *barrier, uint32_t count) {
    __hip_atomic_store(barrier, static_cast<uint64_t>(count) | static_cast<uint64_t>(count) << 20, __ATOMIC_RELEASE,
                       __HIP_MEMORY_SCOPE_WORKGROUP);
}
__CUDA_AWBARRIER_INLINE void __mbarrier_inval(__mbarrier_t *) {}
__CUDA_AWBARRIER_INLINE constexpr uint32_t __mbarrier_maximum_count() { return (1u << 20) - 1; }
__CUDA_AWBARRIER_INLINE __mbarrier_token_t __cuda_mbarrier_arrive(__mbarrier_t *barrier, uint64_t drop) {
    uint64_t old = __hip_atomic_load(barrier, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP), next;
    do {
        const uint64_t count = (old >> 20 & 0xfffff) - drop;
        uint64_t phase = old >> 40, left = (old & 0xfffff) - 1;
        if (left == 0) {
            left = count;
            phase++;
        }
        next = left | count << 20 | phase << 40;
    } while (!__hip_atomic_compare_exchange_strong(barrier, &old, next, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP));
    return old >> 40;
}
__CUDA_AWBARRIER_INLINE __mbarrier_token_t __mbarrier_arrive(__mbarrier_t *barrier) { return __cuda_mbarrier_arrive(barrier, 0); }
__CUDA_AWBARRIER_INLINE __mbarrier_token_t __mbarrier_arrive_and_drop(__mbarrier_t *barrier) { return __cuda_mbarrier_arrive(barrier, 1); }
__CUDA_AWBARRIER_INLINE bool __mbarrier_test_wait(__mbarrier_t *barrier, __mbarrier_token_t token) {
    return __hip_atomic_load(barrier, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_WORKGROUP) >> 40 != token;
}
__CUDA_AWBARRIER_INLINE bool __mbarrier_try_wait(__mbarrier_t *barrier, __mbarrier_token_t token, uint32_t) {
    return __mbarrier_test_wait(barrier, token);
}
#undef __CUDA_AWBARRIER_INLINE
#include "ferrocm_letters_end.h"
