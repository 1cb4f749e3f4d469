// CUDA's <cuda_runtime.h> for AMD targets. Every source in CUDA's dialect (marked by __FERROCM_CUDA__) includes it first, as with nvcc.
// For a source in HIP's dialect, it only adds names that HIP lacks.
#pragma once
// Included by its path, which would make it and what it includes the program's own, with its warnings.
#pragma clang system_header
#include "ferrocm_letters_begin.h"
// What a pragma in a macro with parameters becomes.
#define __ferrocm_pragma(...) _Pragma(#__VA_ARGS__)
#if !defined(__HIPCC_RTC__)
#if defined(__FERROCM_CUDA__)
// nvcc's header brings these.
#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmath>
#include <cstdlib>
#include <initializer_list>
#include <new>
#include <utility>
#include "ferrocm_vectors.h"
// The field of cudaDeviceProp with the same name as the variable.
#define warpSize __cuda_warp_size
// CUDA's programs may ignore a status.
#pragma push_macro("nodiscard")
#undef nodiscard
#define nodiscard maybe_unused
#include "ferrocm_hip_api.h"
#pragma pop_macro("nodiscard")
#undef warpSize
// HIP's functions of synchronised warps are for waves, and include <functional>, which takes long.
#define HIP_DISABLE_WARP_SYNC_BUILTINS
// HIP has these for floats, too, which CUDA's programs define themselves.
#define atomicMin __cuda_hip_atomicMin
#define atomicMax __cuda_hip_atomicMax
// These take a level of detail where CUDA's have a layer.
#define surf1DLayeredread __cuda_hip_surf1DLayeredread
#define surf1DLayeredwrite __cuda_hip_surf1DLayeredwrite
#define surf2DLayeredread __cuda_hip_surf2DLayeredread
#define surf2DLayeredwrite __cuda_hip_surf2DLayeredwrite
#elif !defined(__HIPCC__)
// A compiler of plain C++.
#include "ferrocm_hip_api.h"
#endif
#include <hip/hip_runtime.h>
#undef atomicMin
#undef atomicMax
#undef surf1DLayeredread
#undef surf1DLayeredwrite
#undef surf2DLayeredread
#undef surf2DLayeredwrite
#if defined(__FERROCM_CUDA__)
// Left over in HIP's headers.
#undef MASK1
#undef MASK2
// The function for devices came after std's header.
namespace std {
using ::printf;
} // namespace std
#endif
#endif
#if defined(__FERROCM_CUDA__)
#if !defined(__HIPCC_RTC__)
__host__ __device__ inline HIP_vector_type<unsigned, 3>::operator dim3() const { return dim3(x, y, z); }
#endif
#include "ferrocm_guards.h"
#endif
#include "ferrocm_runtime_names.h"
#if !defined(cudaError)
// Here, the table's name is no more than another name of the type.
#undef cudaError_enum
#define cudaError_enum cudaError
#endif
#include "ferrocm_device.h"
#if !defined(__HIPCC_RTC__) && (defined(__FERROCM_CUDA__) || !defined(__HIPCC__))
#include "ferrocm_aligned_vectors.h"
#include "ferrocm_runtime_types.h"
#include "ferrocm_launch.h"
#include "ferrocm_runtime_composed.h"
#include "ferrocm_entries.h"
#include "ferrocm_runtime_refused.h"
#include "ferrocm_runtime_functions.h"
#endif
#if defined(__FERROCM_CUDA__)
// nvcc accepts narrowing in braces, such as an int for a bool, with a warning.
#pragma clang diagnostic warning "-Wc++11-narrowing"
#include "ferrocm_warp.h"
#if !defined(__HIPCC_RTC__)
#include "ferrocm_host_math.h"
#endif
#include "ferrocm_minmax.h"
#include "ferrocm_scoped_atomics.h"
#include "ferrocm_simd.h"
#include "ferrocm_math.h"
#include "ferrocm_corrected.h"
#include "ferrocm_ptx.h"
#include "ferrocm_surfaces.h"
#include "ferrocm_warp_names.h"
#include "ferrocm_convert.h"
#include "ferrocm_arch.h"
#if !defined(__HIPCC_RTC__)
#include "ferrocm_wrapped.h"
#endif
#endif
#include "ferrocm_letters_end.h"
