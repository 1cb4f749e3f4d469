// CUDA's runtime and driver API for C. There are the names of types, values and functions only.
#pragma once
#include "ferrocm_values_begin.h"
#include <hip/hip_runtime_api.h>
#include "ferrocm_values_end.h"
// What HIP's headers name for C++ only.
typedef enum hipComputeMode hipComputeMode;
typedef enum hipFlushGPUDirectRDMAWritesOptions hipFlushGPUDirectRDMAWritesOptions;
typedef enum hipGPUDirectRDMAWritesOrdering hipGPUDirectRDMAWritesOrdering;
typedef enum hipGraphDebugDotFlags hipGraphDebugDotFlags;
typedef enum hipLimit_t hipLimit_t;
typedef enum hipSurfaceBoundaryMode hipSurfaceBoundaryMode;
typedef enum hipTextureAddressMode hipTextureAddressMode;
typedef enum hipTextureFilterMode hipTextureFilterMode;
typedef enum hipTextureReadMode hipTextureReadMode;
typedef struct textureReference *hipTexRef;
typedef struct hipResourceViewDesc hipResourceViewDesc;
typedef struct hipArray hipArray;
#include "ferrocm_runtime_names.h"
#include "ferrocm_driver_table.h"
#include "ferrocm_library_names.h"
#include "ferrocm_guards.h"
#if !defined(CUDA_VERSION)
#define CUDA_VERSION 12080
#endif
#if !defined(CUDART_VERSION)
#define CUDART_VERSION CUDA_VERSION
#endif
#include "ferrocm_aligned_vectors.h"
#include "ferrocm_runtime_types.h"
#include "ferrocm_launch.h"
#include "ferrocm_runtime_composed.h"
#include "ferrocm_entries.h"
#include "ferrocm_runtime_refused.h"
#include "ferrocm_driver_addresses.h"
#include "ferrocm_driver_types.h"
#include "ferrocm_driver_composed.h"
#include "ferrocm_driver_refused.h"
