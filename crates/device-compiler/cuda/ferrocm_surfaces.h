// CUDA's forms of surface functions that HIP lacks: reads that return the value, layers, and the mode for what is outside. There, AMD's GPUs
// read 0 and write nothing, as in `cudaBoundaryModeZero`. HIP's functions for layers take another level of detail instead of a layer.
#pragma once
#include "ferrocm_letters_begin.h"
#if !defined(__HIPCC_RTC__)
extern "C" {
__device__ int __ockl_image_width_1D(unsigned int ADDRESS_SPACE_CONSTANT *);
__device__ int __ockl_image_height_2D(unsigned int ADDRESS_SPACE_CONSTANT *);
__device__ int __ockl_image_depth_3D(unsigned int ADDRESS_SPACE_CONSTANT *);
__device__ int __ockl_image_array_size_2Da(unsigned int ADDRESS_SPACE_CONSTANT *);
}
#define __CUDA_SURFACE static __device__ __attribute__((always_inline, unused)) inline
namespace __cuda_surface {
using words = unsigned int ADDRESS_SPACE_CONSTANT *;
using two = int2::Native_vec_;
using four = int4::Native_vec_;
__CUDA_SURFACE words of(hipSurfaceObject_t surface) { return (words)surface; }
// The nearest place inside, if the mode asks for it. The size is read only then.
#define __CUDA_SURFACE_INSIDE(NAME, SIZE)                                                           \
    __CUDA_SURFACE int NAME(hipSurfaceObject_t surface, int at, hipSurfaceBoundaryMode mode) {      \
        if (mode != hipBoundaryModeClamp)                                                           \
            return at;                                                                              \
        int last = __ockl_image_##SIZE(of(surface)) - 1;                                            \
        return at < 0 ? 0 : at < last ? at : last;                                                  \
    }
__CUDA_SURFACE_INSIDE(column, width_1D)
__CUDA_SURFACE_INSIDE(row, height_2D)
__CUDA_SURFACE_INSIDE(plane, depth_3D)
__CUDA_SURFACE_INSIDE(layer, array_size_2Da)
#undef __CUDA_SURFACE_INSIDE
// The element of a byte in a row.
__CUDA_SURFACE int element(hipSurfaceObject_t surface, int byte, hipSurfaceBoundaryMode mode) {
    words image = of(surface);
    return column(surface, __hipGetPixelAddr(byte, __ockl_image_channel_data_type_1D(image), __ockl_image_channel_order_1D(image)), mode);
}
} // namespace __cuda_surface
#define __CUDA_SURFACE_LIST(...) __VA_ARGS__
// Functions with these parameters, by the functions of AMD's device library with these coordinates. `MODE` has the default of the mode, where
// there is no such function of HIP without it.
#define __CUDA_SURFACE_FORMS(NAME, FUNCTION, PARAMETERS, ARGUMENTS, COORDINATES, MODE)                                                               \
    template <typename T, typename __hip_internal::enable_if<__hip_is_tex_surf_channel_type<T>::value>::type * = nullptr>                          \
    __CUDA_SURFACE __hip_img_chk__ void NAME##write(T value, hipSurfaceObject_t surface, PARAMETERS, MODE) {                                                       \
        using namespace __cuda_surface;                                                                                                            \
        auto element_of = [&](int byte) { return element(surface, byte, mode); };                                                                  \
        __ockl_image_store_##FUNCTION(of(surface), COORDINATES, __hipMapTo<float4::Native_vec_>(value));                                           \
    }                                                                                                                                              \
    template <typename T, typename __hip_internal::enable_if<__hip_is_tex_surf_channel_type<T>::value>::type * = nullptr>                          \
    __CUDA_SURFACE __hip_img_chk__ void NAME##read(T *value, hipSurfaceObject_t surface, PARAMETERS, MODE) {                                                       \
        using namespace __cuda_surface;                                                                                                            \
        auto element_of = [&](int byte) { return element(surface, byte, mode); };                                                                  \
        *value = __hipMapFrom<T>(__ockl_image_load_##FUNCTION(of(surface), COORDINATES));                                                          \
    }                                                                                                                                              \
    template <typename T> __CUDA_SURFACE __hip_img_chk__ T NAME##read(hipSurfaceObject_t surface, PARAMETERS, hipSurfaceBoundaryMode mode = hipBoundaryModeTrap) { \
        T value;                                                                                                                                   \
        NAME##read(&value, surface, ARGUMENTS, mode);                                                                                              \
        return value;                                                                                                                              \
    }
__CUDA_SURFACE_FORMS(surf1D, 1D, int x, x, element_of(x), hipSurfaceBoundaryMode mode)
__CUDA_SURFACE_FORMS(surf2D, 2D, __CUDA_SURFACE_LIST(int x, int y), __CUDA_SURFACE_LIST(x, y),
                     __CUDA_SURFACE_LIST(two{element_of(x), row(surface, y, mode)}), hipSurfaceBoundaryMode mode)
__CUDA_SURFACE_FORMS(surf3D, 3D, __CUDA_SURFACE_LIST(int x, int y, int z), __CUDA_SURFACE_LIST(x, y, z),
                     __CUDA_SURFACE_LIST(four{element_of(x), row(surface, y, mode), plane(surface, z, mode), 0}), hipSurfaceBoundaryMode mode)
// Layers of rows have their number where others have it.
__CUDA_SURFACE_FORMS(surf1DLayered, 1Da, __CUDA_SURFACE_LIST(int x, int number), __CUDA_SURFACE_LIST(x, number),
                     __CUDA_SURFACE_LIST(two{element_of(x), layer(surface, number, mode)}), hipSurfaceBoundaryMode mode = hipBoundaryModeTrap)
__CUDA_SURFACE_FORMS(surf2DLayered, 2Da, __CUDA_SURFACE_LIST(int x, int y, int number), __CUDA_SURFACE_LIST(x, y, number),
                     __CUDA_SURFACE_LIST(four{element_of(x), row(surface, y, mode), layer(surface, number, mode), 0}),
                     hipSurfaceBoundaryMode mode = hipBoundaryModeTrap)
#undef __CUDA_SURFACE_FORMS
#undef __CUDA_SURFACE_LIST
#undef __CUDA_SURFACE
#endif
#include "ferrocm_letters_end.h"
