// Shared by the headers of cuda/std: the names of std in cuda::std. The compiler lets the device call constexpr functions. Functions
// that need another version have it here, and it hides std's.
#pragma once
#include "../../ferrocm_letters_begin.h"
#include "../../cuda_runtime.h"
#include <cstddef>

#define __CUDA_STD_INLINE __host__ __device__ __attribute__((always_inline)) inline
#if !defined(_CCCL_HOST_DEVICE)
#define _CCCL_HOST __host__
#define _CCCL_DEVICE __device__
#define _CCCL_HOST_DEVICE __host__ __device__
#define _CCCL_FORCEINLINE __attribute__((always_inline)) inline
#define _LIBCUDACXX_INLINE_VISIBILITY __host__ __device__
#define CCCL_VERSION 2008000
#define _LIBCUDACXX_CUDA_API_VERSION 2008000
#endif

// What a thread does that waits for another one.
__CUDA_STD_INLINE void __cuda_pause() {
#if defined(__HIP_DEVICE_COMPILE__)
    __builtin_amdgcn_s_sleep(1);
#endif
}

namespace cuda {
namespace std {
using namespace ::std;
} // namespace std
} // namespace cuda
#include "../../ferrocm_letters_end.h"
