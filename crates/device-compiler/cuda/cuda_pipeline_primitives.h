// CUDA's <cuda_pipeline_primitives.h> for AMD targets: copies to shared memory, which are synchronous.
#pragma once
#include "ferrocm_letters_begin.h"
#include "cuda_runtime.h"

#define __CUDA_PIPELINE_INLINE static __device__ __attribute__((always_inline, unused)) inline
// Copies `size` bytes (4, 8 or 16), of which the last `zfill` are set to 0.
__CUDA_PIPELINE_INLINE void __pipeline_memcpy_async(void *to, const void *from, size_t size, size_t zfill = 0) {
    if (zfill == 0 && size == 16) {
        *static_cast<uint4 *>(to) = *static_cast<const uint4 *>(from);
    } else if (zfill == 0 && size == 8) {
        *static_cast<uint2 *>(to) = *static_cast<const uint2 *>(from);
    } else if (zfill == 0 && size == 4) {
        *static_cast<unsigned *>(to) = *static_cast<const unsigned *>(from);
    } else {
        for (size_t i = 0; i < size; i++)
            static_cast<unsigned char *>(to)[i] = i + zfill < size ? static_cast<const unsigned char *>(from)[i] : 0;
    }
}
__CUDA_PIPELINE_INLINE void __pipeline_commit() {}
__CUDA_PIPELINE_INLINE void __pipeline_wait_prior(size_t) {}
#undef __CUDA_PIPELINE_INLINE
#include "ferrocm_letters_end.h"
