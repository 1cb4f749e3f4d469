// CUDA's forms of surface functions that HIP lacks: reads that return the value, and the mode for what is outside. There, AMD's GPUs read 0
// and write nothing, as in `cudaBoundaryModeZero`; a program that relies on `cudaBoundaryModeClamp` stops.
#pragma once
#include "ferrocm_letters_begin.h"
#if !defined(__HIPCC_RTC__)
#define __CUDA_SURFACE static __device__ __attribute__((always_inline, unused)) inline
namespace __cuda_surface {
__CUDA_SURFACE void outside(hipSurfaceBoundaryMode mode) {
    if (mode == hipBoundaryModeClamp)
        __builtin_trap();
}
} // namespace __cuda_surface
#define __CUDA_SURFACE_LIST(...) __VA_ARGS__
#define __CUDA_SURFACE_FORMS(NAME, PARAMETERS, ARGUMENTS)                                                                                          \
    template <typename T> __CUDA_SURFACE void NAME##write(T value, hipSurfaceObject_t surface, PARAMETERS, hipSurfaceBoundaryMode mode) {          \
        __cuda_surface::outside(mode);                                                                                                             \
        NAME##write(value, surface, ARGUMENTS);                                                                                                    \
    }                                                                                                                                              \
    template <typename T> __CUDA_SURFACE void NAME##read(T *value, hipSurfaceObject_t surface, PARAMETERS, hipSurfaceBoundaryMode mode) {          \
        __cuda_surface::outside(mode);                                                                                                             \
        NAME##read(value, surface, ARGUMENTS);                                                                                                     \
    }                                                                                                                                              \
    template <typename T> __CUDA_SURFACE T NAME##read(hipSurfaceObject_t surface, PARAMETERS, hipSurfaceBoundaryMode mode = hipBoundaryModeTrap) { \
        T value;                                                                                                                                   \
        __cuda_surface::outside(mode);                                                                                                             \
        NAME##read(&value, surface, ARGUMENTS);                                                                                                    \
        return value;                                                                                                                              \
    }
__CUDA_SURFACE_FORMS(surf1D, int x, x)
__CUDA_SURFACE_FORMS(surf2D, __CUDA_SURFACE_LIST(int x, int y), __CUDA_SURFACE_LIST(x, y))
__CUDA_SURFACE_FORMS(surf3D, __CUDA_SURFACE_LIST(int x, int y, int z), __CUDA_SURFACE_LIST(x, y, z))
__CUDA_SURFACE_FORMS(surf1DLayered, __CUDA_SURFACE_LIST(int x, int layer), __CUDA_SURFACE_LIST(x, layer))
__CUDA_SURFACE_FORMS(surf2DLayered, __CUDA_SURFACE_LIST(int x, int y, int layer), __CUDA_SURFACE_LIST(x, y, layer))
#undef __CUDA_SURFACE_FORMS
#undef __CUDA_SURFACE_LIST
#undef __CUDA_SURFACE
#endif
#include "ferrocm_letters_end.h"
