// NVTX's <nvtx3/nvToolsExtCuda.h> for AMD targets: names of objects, for a tool. This project's own timeline has no place for them.
#pragma once
#include "../ferrocm_letters_begin.h"
#include "../cuda_runtime.h"
#include "nvToolsExt.h"

#ifdef __cplusplus
extern "C" {
#endif
FERROCM_NVTX_VOID(cuda, 1, nvtxNameCuDeviceA, (hipDevice_t object, const char *name), (object, name))
FERROCM_NVTX_VOID(cuda, 2, nvtxNameCuDeviceW, (hipDevice_t object, const wchar_t *name), (object, name))
FERROCM_NVTX_VOID(cuda, 3, nvtxNameCuContextA, (hipCtx_t object, const char *name), (object, name))
FERROCM_NVTX_VOID(cuda, 4, nvtxNameCuContextW, (hipCtx_t object, const wchar_t *name), (object, name))
FERROCM_NVTX_VOID(cuda, 5, nvtxNameCuStreamA, (hipStream_t object, const char *name), (object, name))
FERROCM_NVTX_VOID(cuda, 6, nvtxNameCuStreamW, (hipStream_t object, const wchar_t *name), (object, name))
FERROCM_NVTX_VOID(cuda, 7, nvtxNameCuEventA, (hipEvent_t object, const char *name), (object, name))
FERROCM_NVTX_VOID(cuda, 8, nvtxNameCuEventW, (hipEvent_t object, const wchar_t *name), (object, name))
#ifdef __cplusplus
}
#endif
#ifndef UNICODE
#define nvtxNameCuDevice nvtxNameCuDeviceA
#define nvtxNameCuContext nvtxNameCuContextA
#define nvtxNameCuStream nvtxNameCuStreamA
#define nvtxNameCuEvent nvtxNameCuEventA
#else
#define nvtxNameCuDevice nvtxNameCuDeviceW
#define nvtxNameCuContext nvtxNameCuContextW
#define nvtxNameCuStream nvtxNameCuStreamW
#define nvtxNameCuEvent nvtxNameCuEventW
#endif
#include "../ferrocm_letters_end.h"
