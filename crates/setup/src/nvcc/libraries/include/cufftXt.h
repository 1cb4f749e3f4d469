// CUDA's <cufftXt.h> for AMD targets: plans of any types, and callbacks, of hipFFT. Plans over several GPUs are not there.
#pragma once
#define CUFFTXT_H_
#include "cufft.h"
typedef enum cufftXtCallbackType_t {
    CUFFT_CB_LD_COMPLEX = 0x0,
    CUFFT_CB_LD_COMPLEX_DOUBLE = 0x1,
    CUFFT_CB_LD_REAL = 0x2,
    CUFFT_CB_LD_REAL_DOUBLE = 0x3,
    CUFFT_CB_ST_COMPLEX = 0x4,
    CUFFT_CB_ST_COMPLEX_DOUBLE = 0x5,
    CUFFT_CB_ST_REAL = 0x6,
    CUFFT_CB_ST_REAL_DOUBLE = 0x7,
    CUFFT_CB_UNDEFINED = 0x8
} cufftXtCallbackType;
typedef cufftComplex (*cufftCallbackLoadC)(void *data, size_t offset, void *info, void *shared);
typedef cufftDoubleComplex (*cufftCallbackLoadZ)(void *data, size_t offset, void *info, void *shared);
typedef cufftReal (*cufftCallbackLoadR)(void *data, size_t offset, void *info, void *shared);
typedef cufftDoubleReal (*cufftCallbackLoadD)(void *data, size_t offset, void *info, void *shared);
typedef void (*cufftCallbackStoreC)(void *data, size_t offset, cufftComplex value, void *info, void *shared);
typedef void (*cufftCallbackStoreZ)(void *data, size_t offset, cufftDoubleComplex value, void *info, void *shared);
typedef void (*cufftCallbackStoreR)(void *data, size_t offset, cufftReal value, void *info, void *shared);
typedef void (*cufftCallbackStoreD)(void *data, size_t offset, cufftDoubleReal value, void *info, void *shared);
#if defined(__cplusplus)
extern "C" {
#endif
cufftResult cufftXtMakePlanMany(cufftHandle plan, int rank, long long *n, long long *inembed, long long istride, long long idist,
                                cudaDataType from, long long *onembed, long long ostride, long long odist, cudaDataType to, long long batch,
                                size_t *size, cudaDataType compute);
cufftResult cufftXtGetSizeMany(cufftHandle plan, int rank, long long *n, long long *inembed, long long istride, long long idist,
                               cudaDataType from, long long *onembed, long long ostride, long long odist, cudaDataType to, long long batch,
                               size_t *size, cudaDataType compute);
cufftResult cufftXtExec(cufftHandle plan, void *from, void *to, int direction);
cufftResult cufftXtSetCallback(cufftHandle plan, void **callbacks, cufftXtCallbackType type, void **infos);
cufftResult cufftXtClearCallback(cufftHandle plan, cufftXtCallbackType type);
cufftResult cufftXtSetCallbackSharedSize(cufftHandle plan, cufftXtCallbackType type, size_t size);
#if defined(__cplusplus)
}
#endif
