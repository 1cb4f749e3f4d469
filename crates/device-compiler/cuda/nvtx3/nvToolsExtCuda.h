// NVTX's <nvtx3/nvToolsExtCuda.h> for AMD targets: names of the driver's objects for a profiler, which do nothing.
#pragma once
#include "../ferrocm_letters_begin.h"
#include "../cuda.h"
#include "nvToolsExt.h"

NVTX_INLINE void nvtxNameCuDeviceA(CUdevice device, const char *name) { (void)device; (void)name; }
NVTX_INLINE void nvtxNameCuContextA(CUcontext context, const char *name) { (void)context; (void)name; }
NVTX_INLINE void nvtxNameCuStreamA(CUstream stream, const char *name) { (void)stream; (void)name; }
NVTX_INLINE void nvtxNameCuEventA(CUevent event, const char *name) { (void)event; (void)name; }
#define nvtxNameCuDevice nvtxNameCuDeviceA
#define nvtxNameCuContext nvtxNameCuContextA
#define nvtxNameCuStream nvtxNameCuStreamA
#define nvtxNameCuEvent nvtxNameCuEventA
#include "../ferrocm_letters_end.h"
