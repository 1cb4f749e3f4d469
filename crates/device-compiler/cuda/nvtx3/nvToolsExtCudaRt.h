// NVTX's <nvtx3/nvToolsExtCudaRt.h> for AMD targets: names of the runtime's objects for a profiler, which do nothing.
#pragma once
#include "../ferrocm_letters_begin.h"
#include "../cuda_runtime.h"
#include "nvToolsExt.h"

NVTX_INLINE void nvtxNameCudaDeviceA(int device, const char *name) { (void)device; (void)name; }
NVTX_INLINE void nvtxNameCudaStreamA(cudaStream_t stream, const char *name) { (void)stream; (void)name; }
NVTX_INLINE void nvtxNameCudaEventA(cudaEvent_t event, const char *name) { (void)event; (void)name; }
#define nvtxNameCudaDevice nvtxNameCudaDeviceA
#define nvtxNameCudaStream nvtxNameCudaStreamA
#define nvtxNameCudaEvent nvtxNameCudaEventA
#include "../ferrocm_letters_end.h"
