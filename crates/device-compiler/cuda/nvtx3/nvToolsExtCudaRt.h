// NVTX's <nvtx3/nvToolsExtCudaRt.h> for AMD targets: names for a profiler, which do nothing.
#pragma once
#include "../ferrocm_letters_begin.h"
#include "../cuda_runtime.h"
#include "nvToolsExt.h"

NVTX_INLINE void nvtxNameCudaDeviceA(int object, const char *name) { (void)object; (void)name; }
NVTX_INLINE void nvtxNameCudaDeviceW(int object, const wchar_t *name) { (void)object; (void)name; }
NVTX_INLINE void nvtxNameCudaStreamA(hipStream_t object, const char *name) { (void)object; (void)name; }
NVTX_INLINE void nvtxNameCudaStreamW(hipStream_t object, const wchar_t *name) { (void)object; (void)name; }
NVTX_INLINE void nvtxNameCudaEventA(hipEvent_t object, const char *name) { (void)object; (void)name; }
NVTX_INLINE void nvtxNameCudaEventW(hipEvent_t object, const wchar_t *name) { (void)object; (void)name; }
#define nvtxNameCudaDevice nvtxNameCudaDeviceA
#define nvtxNameCudaStream nvtxNameCudaStreamA
#define nvtxNameCudaEvent nvtxNameCudaEventA
#include "../ferrocm_letters_end.h"
