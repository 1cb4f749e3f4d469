// cuBLAS over rocBLAS, which is found when a program creates a handle.
#include "shim_types.h"
#include "find.c"
#define cublasContext handle
#include "ferrocm_cublas.h"
#include "cublas_calls.h"
#include "rocblas.h"

static int fill(cublasFillMode_t of) { return of == CUBLAS_FILL_MODE_LOWER ? 122 : of == CUBLAS_FILL_MODE_UPPER ? 121 : 0; }
static int diagonal(cublasDiagType_t of) { return of == CUBLAS_DIAG_NON_UNIT ? 131 : of == CUBLAS_DIAG_UNIT ? 132 : 0; }
static int side_of(cublasSideMode_t of) { return of == CUBLAS_SIDE_LEFT ? 141 : of == CUBLAS_SIDE_RIGHT ? 142 : 0; }
#include "cublas_wrappers.h"

#define HANDLE if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle) { return create((void **)handle); }
cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) { return destroy(handle); }
cublasStatus_t cublasGetVersion_v2(cublasHandle_t handle, int *version) {
    (void)handle;
    if (!version) return CUBLAS_STATUS_INVALID_VALUE;
    *version = MAJOR * 10000 + MINOR * 100 + PATCH;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetProperty(libraryPropertyType type, int *value) { return property(type, value); }
size_t cublasGetCudartVersion(void) { return RUNTIME; }
const char *cublasGetStatusName(cublasStatus_t of) { return status_name(of); }
const char *cublasGetStatusString(cublasStatus_t of) { return status_text(of); }
// rocBLAS grows its own memory, so that a small one of the program's fails nothing.
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace, size_t size) {
    HANDLE;
    return (uintptr_t)workspace % 256 && size ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
    HANDLE;
    return status(ROC(rocblas_set_stream)(handle->roc, stream));
}
cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t *mode) {
    HANDLE;
    return status(ROC(rocblas_get_pointer_mode)(handle->roc, mode));
}
cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode) {
    HANDLE;
    if ((unsigned)mode > CUBLAS_POINTER_MODE_DEVICE) return CUBLAS_STATUS_INVALID_VALUE;
    return status(ROC(rocblas_set_pointer_mode)(handle->roc, mode));
}
cublasStatus_t cublasGetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t *mode) {
    HANDLE;
    return status(ROC(rocblas_get_atomics_mode)(handle->roc, mode));
}
cublasStatus_t cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t mode) {
    HANDLE;
    if ((unsigned)mode > CUBLAS_ATOMICS_ALLOWED) return CUBLAS_STATUS_INVALID_VALUE;
    return status(ROC(rocblas_set_atomics_mode)(handle->roc, mode));
}
cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t *mode) {
    HANDLE;
    if (!mode) return CUBLAS_STATUS_INVALID_VALUE;
    *mode = handle->math;
    return CUBLAS_STATUS_SUCCESS;
}
// Products stay as exact as they are: rocBLAS's mode for fewer bits is for some of AMD's GPUs only.
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
    HANDLE;
    if ((mode & ~CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION) > CUBLAS_TF32_TENSOR_OP_MATH) return CUBLAS_STATUS_INVALID_VALUE;
    handle->math = mode;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetSmCountTarget(cublasHandle_t handle, int *count) {
    HANDLE;
    if (!count) return CUBLAS_STATUS_INVALID_VALUE;
    *count = handle->processors;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetSmCountTarget(cublasHandle_t handle, int count) {
    HANDLE;
    if (count < 0) return CUBLAS_STATUS_INVALID_VALUE;
    handle->processors = count;
    return CUBLAS_STATUS_SUCCESS;
}
// Nothing is logged.
cublasStatus_t cublasLoggerConfigure(int is_on, int to_out, int to_error, const char *file) {
    (void)is_on, (void)to_out, (void)to_error, (void)file;
    return CUBLAS_STATUS_SUCCESS;
}
static cublasLogCallback logger;
cublasStatus_t cublasSetLoggerCallback(cublasLogCallback callback) {
    logger = callback;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetLoggerCallback(cublasLogCallback *callback) {
    if (!callback) return CUBLAS_STATUS_INVALID_VALUE;
    *callback = logger;
    return CUBLAS_STATUS_SUCCESS;
}
void cublasXerbla(const char *function, int argument) {
    char number[] = "00";
    if (argument >= 0 && argument < 100) number[0] += (char)(argument / 10), number[1] += (char)(argument % 10);
    tell("** On entry to "), tell(function), tell(" parameter number "), tell(number), tell(" had an illegal value\n");
}

// The functions with the type of their numbers as an argument, for both sizes of integers.
#define INT int
#define CU(name) name
#define SIZED(name) ROC(name)
#include "cublas_sized.h"
#undef INT
#undef CU
#undef SIZED
#define INT int64_t
#define CU(name) name##_64
#define SIZED(name) (*(name##_64_t *)slots[name##_64_at])
#include "cublas_sized.h"

// Rotations by numbers of a type.
cublasStatus_t cublasRotgEx(cublasHandle_t handle, void *a, void *b, cudaDataType abType, void *c, void *s, cudaDataType csType,
                            cudaDataType executiontype) {
    HANDLE;
    if (executiontype != abType) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (abType == CUDA_R_32F && csType == CUDA_R_32F) return status(ROC(rocblas_srotg)(handle->roc, a, b, c, s));
    if (abType == CUDA_R_64F && csType == CUDA_R_64F) return status(ROC(rocblas_drotg)(handle->roc, a, b, c, s));
    if (abType == CUDA_C_32F && csType == CUDA_R_32F) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (abType == CUDA_C_32F && csType == CUDA_C_32F) return status(ROC(rocblas_crotg)(handle->roc, a, b, c, s));
    if (abType == CUDA_C_64F && csType == CUDA_C_64F) return status(ROC(rocblas_zrotg)(handle->roc, a, b, c, s));
    return CUBLAS_STATUS_NOT_SUPPORTED;
}
cublasStatus_t cublasRotmgEx(cublasHandle_t handle, void *d1, cudaDataType d1Type, void *d2, cudaDataType d2Type, void *x1,
                             cudaDataType x1Type, const void *y1, cudaDataType y1Type, void *param, cudaDataType paramType,
                             cudaDataType executiontype) {
    HANDLE;
    if (d2Type != d1Type || x1Type != d1Type || y1Type != d1Type || paramType != d1Type || executiontype != d1Type)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (d1Type == CUDA_R_32F) return status(ROC(rocblas_srotmg)(handle->roc, d1, d2, x1, y1, param));
    if (d1Type == CUDA_R_64F) return status(ROC(rocblas_drotmg)(handle->roc, d1, d2, x1, y1, param));
    return CUBLAS_STATUS_NOT_SUPPORTED;
}
