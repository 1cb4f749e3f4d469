// CUDA's <cuda.h> for AMD targets: the driver's names, mapped to HIP's. A CUdeviceptr is a pointer, as in HIP.
#pragma once
#define __cuda_cuda_h__
#include "ferrocm_letters_begin.h"
#include "cuda_runtime.h"
#include "ferrocm_driver_table.h"
#if defined(__cplusplus) && !defined(__HIPCC_RTC__)
// The driver's status is another type than the runtime's: programs overload functions for both.
#undef CUresult
struct CUresult {
    hipError_t status;
    CUresult() = default;
    constexpr CUresult(hipError_t status) : status(status) {}
    constexpr explicit CUresult(int status) : status(static_cast<hipError_t>(status)) {}
    constexpr operator hipError_t() const { return status; }
};
#endif
// Names that HIP does not have: the first is an older one. No GPU has compressible memory.
#define CU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
#define CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED ((hipDeviceAttribute_t)0x7fff)
#define CU_MEM_ALLOCATION_COMP_NONE 0x0
#define CU_MEM_ALLOCATION_COMP_GENERIC 0x1
#if defined(__FERROCM_CUDA__) && !defined(__HIPCC_RTC__)
// The driver tells the same of the GPU as the runtime.
#undef cuDeviceGetAttribute
static __attribute__((unused)) inline hipError_t cuDeviceGetAttribute(int *value, hipDeviceAttribute_t attribute, hipDevice_t device) {
    if (attribute == CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED && value) {
        *value = 0;
        return hipSuccess;
    }
    return cudaDeviceGetAttribute(value, attribute, device);
}
#undef cuDeviceComputeCapability
static __attribute__((unused)) inline hipError_t cuDeviceComputeCapability(int *major, int *minor, hipDevice_t device) {
    const hipError_t status = (hipDeviceComputeCapability)(major, minor, device);
    if (status == hipSuccess) {
        *major = 8;
        *minor = 9;
    }
    return status;
}
#undef cuDriverGetVersion
static __attribute__((unused)) inline hipError_t cuDriverGetVersion(int *version) { return cudaDriverGetVersion(version); }
#undef cuFuncGetAttribute
static __attribute__((unused)) inline hipError_t cuFuncGetAttribute(int *value, hipFunction_attribute attribute, hipFunction_t function) {
    const hipError_t status = (hipFuncGetAttribute)(value, attribute, function);
    if (status == hipSuccess && (attribute == HIP_FUNC_ATTRIBUTE_BINARY_VERSION || attribute == HIP_FUNC_ATTRIBUTE_PTX_VERSION))
        *value = 89;
    return status;
}
#endif
#include "ferrocm_letters_end.h"
