// NVTX's <nvtx3/nvToolsExtCudaRt.h> for AMD targets: names of objects, for a tool. This project's own timeline has no place for them.
#pragma once
#include "../ferrocm_letters_begin.h"
#include "../cuda_runtime.h"
#include "nvToolsExt.h"

#ifdef __cplusplus
extern "C" {
#endif
FERROCM_NVTX_VOID(cudart, 1, nvtxNameCudaDeviceA, (int object, const char *name), (object, name))
FERROCM_NVTX_VOID(cudart, 2, nvtxNameCudaDeviceW, (int object, const wchar_t *name), (object, name))
FERROCM_NVTX_VOID(cudart, 3, nvtxNameCudaStreamA, (hipStream_t object, const char *name), (object, name))
FERROCM_NVTX_VOID(cudart, 4, nvtxNameCudaStreamW, (hipStream_t object, const wchar_t *name), (object, name))
FERROCM_NVTX_VOID(cudart, 5, nvtxNameCudaEventA, (hipEvent_t object, const char *name), (object, name))
FERROCM_NVTX_VOID(cudart, 6, nvtxNameCudaEventW, (hipEvent_t object, const wchar_t *name), (object, name))
#ifdef __cplusplus
}
#endif
#ifndef UNICODE
#define nvtxNameCudaDevice nvtxNameCudaDeviceA
#define nvtxNameCudaStream nvtxNameCudaStreamA
#define nvtxNameCudaEvent nvtxNameCudaEventA
#else
#define nvtxNameCudaDevice nvtxNameCudaDeviceW
#define nvtxNameCudaStream nvtxNameCudaStreamW
#define nvtxNameCudaEvent nvtxNameCudaEventW
#endif
#include "../ferrocm_letters_end.h"
