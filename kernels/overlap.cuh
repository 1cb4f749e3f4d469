// Kernels that begin while the one in front of them in the stream ends: programmatic dependent launch, on NVIDIA's sm_90 and later.
//
// Such a kernel may be launched before the one in front has ended. All of its workgroups that access global memory call `wait_for_previous` before
// they do: it returns when the kernel in front has ended and all of its writes are seen. So a kernel ends after all in front of it, as without
// overlapping.
//
// One thing is read before that: products with one to eight vectors begin to load their quantised matrix. So a kernel that writes blocks of such a
// matrix does not call `let_next_begin`, and the product behind it begins when it has ended. None in this folder does both.
//
// OVERLAPS(kernel) says so of a kernel of the module, in whose place launchers look for the symbol `overlaps_kernel`. Launched in the usual way, it
// does just the same.
#pragma once
#include "target.cuh"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900 && !defined(__AMDGCN__)
#define OVERLAPPING
#define OVERLAPS(KERNEL) extern "C" { __device__ char overlaps_##KERNEL; }
#else
#define OVERLAPS(KERNEL)
#endif

// The next kernel may begin as soon as all workgroups have called this or have ended.
__device__ __forceinline__ void let_next_begin() {
#if defined(OVERLAPPING)
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

__device__ __forceinline__ void wait_for_previous() {
#if defined(OVERLAPPING)
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
