// NVTX's <nvtx3/nvToolsExtCuda.h> for AMD targets: names for a profiler, which do nothing.
#pragma once
#include "../ferrocm_letters_begin.h"
#include "../cuda_runtime.h"
#include "nvToolsExt.h"

NVTX_INLINE void nvtxNameCuDeviceA(hipDevice_t object, const char *name) { (void)object; (void)name; }
NVTX_INLINE void nvtxNameCuDeviceW(hipDevice_t object, const wchar_t *name) { (void)object; (void)name; }
NVTX_INLINE void nvtxNameCuContextA(hipCtx_t object, const char *name) { (void)object; (void)name; }
NVTX_INLINE void nvtxNameCuContextW(hipCtx_t object, const wchar_t *name) { (void)object; (void)name; }
NVTX_INLINE void nvtxNameCuStreamA(hipStream_t object, const char *name) { (void)object; (void)name; }
NVTX_INLINE void nvtxNameCuStreamW(hipStream_t object, const wchar_t *name) { (void)object; (void)name; }
NVTX_INLINE void nvtxNameCuEventA(hipEvent_t object, const char *name) { (void)object; (void)name; }
NVTX_INLINE void nvtxNameCuEventW(hipEvent_t object, const wchar_t *name) { (void)object; (void)name; }
#define nvtxNameCuDevice nvtxNameCuDeviceA
#define nvtxNameCuContext nvtxNameCuContextA
#define nvtxNameCuStream nvtxNameCuStreamA
#define nvtxNameCuEvent nvtxNameCuEventA
#include "../ferrocm_letters_end.h"
