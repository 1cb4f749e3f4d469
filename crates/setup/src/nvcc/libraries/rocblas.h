// rocBLAS for the code of cuBLAS and cuBLASLt: what both need. `places` are the library's.
#pragma once
static const char *const rocblas_places[] = {@ROCBLAS_PLACES@ ""};
static const char *const hip_places[] = {@HIP_PLACES@ ""};
static void *slots[SLOTS];
#define ROC(name) (*(name##_t *)slots[name##_at])

// A handle of either library; cuBLASLt takes cuBLAS's, too.
struct handle {
    void *roc;
    int lock;
    cublasMath_t math;
    int processors;
};

// What a function returns that rocBLAS lacks: rocblas_status_not_implemented.
static int missing(void) { return 2; }

// Finds rocBLAS once. Returns whether it is there.
static int need(void) {
    // 0 untried, 1 in progress, 2 absent, 3 present.
    static int state;
    int now = 0;
    if (__atomic_compare_exchange_n(&state, &now, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
        // rocBLAS works on the HIP library of the process.
        (void)open_library("@HIP@", "FERROCM_HIP_LIBRARY", hip_places);
        void *library = open_library("librocblas.so.5", "FERROCM_ROCBLAS_LIBRARY", rocblas_places);
        if (!library) tell("cuBLAS cannot load librocblas.so.5, on which it works\n");
        for (int i = 0; i < SLOTS; i++) {
            void *found = library ? dlsym(library, slot_names[i]) : 0;
            slots[i] = found ? found : (void *)missing;
        }
        now = library ? 3 : 2;
        __atomic_store_n(&state, now, __ATOMIC_RELEASE);
        return now == 3;
    }
    while ((now = __atomic_load_n(&state, __ATOMIC_ACQUIRE)) == 1) sched_yield();
    return now == 3;
}

static cublasStatus_t status(int of) {
    switch (of) {
    case 0: return CUBLAS_STATUS_SUCCESS;
    case 1: return CUBLAS_STATUS_NOT_INITIALIZED;
    case 2: return CUBLAS_STATUS_NOT_SUPPORTED;
    case 3: case 4: case 11: return CUBLAS_STATUS_INVALID_VALUE;
    case 5: return CUBLAS_STATUS_ALLOC_FAILED;
    case 15: return CUBLAS_STATUS_ARCH_MISMATCH;
    default: return CUBLAS_STATUS_INTERNAL_ERROR;
    }
}

// Values of rocBLAS. An invalid one stays invalid.
static int operation(cublasOperation_t of) { return of >= 0 && of <= 2 ? 111 + (int)of : 0; }
static int datatype(cudaDataType of) {
    switch (of) {
    case CUDA_R_16F: return 150;
    case CUDA_R_32F: return 151;
    case CUDA_R_64F: return 152;
    case CUDA_C_16F: return 153;
    case CUDA_C_32F: return 154;
    case CUDA_C_64F: return 155;
    case CUDA_R_8I: return 160;
    case CUDA_R_8U: return 161;
    case CUDA_R_32I: return 162;
    case CUDA_R_32U: return 163;
    case CUDA_C_8I: return 164;
    case CUDA_C_8U: return 165;
    case CUDA_C_32I: return 166;
    case CUDA_C_32U: return 167;
    case CUDA_R_16BF: return 168;
    case CUDA_C_16BF: return 169;
    default: return 255;
    }
}
// In what a product is computed, which depends on whether its numbers are complex.
static int compute_type(cublasComputeType_t of, cudaDataType result) {
    int complex = result == CUDA_C_32F || result == CUDA_C_64F;
    switch (of) {
    case CUBLAS_COMPUTE_16F: case CUBLAS_COMPUTE_16F_PEDANTIC: return 150;
    case CUBLAS_COMPUTE_32F: case CUBLAS_COMPUTE_32F_PEDANTIC: case CUBLAS_COMPUTE_32F_FAST_16F: case CUBLAS_COMPUTE_32F_FAST_16BF:
    case CUBLAS_COMPUTE_32F_FAST_TF32: return complex ? 154 : 151;
    case CUBLAS_COMPUTE_64F: case CUBLAS_COMPUTE_64F_PEDANTIC: return complex ? 155 : 152;
    case CUBLAS_COMPUTE_32I: case CUBLAS_COMPUTE_32I_PEDANTIC: return 162;
    default: return 255;
    }
}
static const char *status_name(cublasStatus_t of) {
    switch (of) {
#define NAME(name) case name: return #name;
    NAME(CUBLAS_STATUS_SUCCESS) NAME(CUBLAS_STATUS_NOT_INITIALIZED) NAME(CUBLAS_STATUS_ALLOC_FAILED) NAME(CUBLAS_STATUS_INVALID_VALUE)
    NAME(CUBLAS_STATUS_ARCH_MISMATCH) NAME(CUBLAS_STATUS_MAPPING_ERROR) NAME(CUBLAS_STATUS_EXECUTION_FAILED)
    NAME(CUBLAS_STATUS_INTERNAL_ERROR) NAME(CUBLAS_STATUS_NOT_SUPPORTED) NAME(CUBLAS_STATUS_LICENSE_ERROR)
#undef NAME
    default: return "<unknown>";
    }
}
static const char *status_text(cublasStatus_t of) {
    switch (of) {
    case CUBLAS_STATUS_SUCCESS: return "success";
    case CUBLAS_STATUS_NOT_INITIALIZED: return "the library was not initialized";
    case CUBLAS_STATUS_ALLOC_FAILED: return "the resource allocation failed";
    case CUBLAS_STATUS_INVALID_VALUE: return "an unsupported value or parameter was passed to the function";
    case CUBLAS_STATUS_ARCH_MISMATCH: return "the function requires a feature absent from the device architecture";
    case CUBLAS_STATUS_MAPPING_ERROR: return "an access to GPU memory space failed";
    case CUBLAS_STATUS_EXECUTION_FAILED: return "the GPU program failed to execute";
    case CUBLAS_STATUS_INTERNAL_ERROR: return "an internal operation failed";
    case CUBLAS_STATUS_NOT_SUPPORTED: return "the functionality requested is not supported";
    case CUBLAS_STATUS_LICENSE_ERROR: return "the functionality requested requires some license";
    default: return "unknown error";
    }
}
// The version of CUDA 12.8's library.
enum { MAJOR = 12, MINOR = 8, PATCH = 4, RUNTIME = 12080 };
static cublasStatus_t property(libraryPropertyType of, int *value) {
    const int parts[] = {MAJOR, MINOR, PATCH};
    if (!value || (unsigned)of > PATCH_LEVEL) return CUBLAS_STATUS_INVALID_VALUE;
    *value = parts[of];
    return CUBLAS_STATUS_SUCCESS;
}
static cublasStatus_t create(void **result) {
    if (!result) return CUBLAS_STATUS_INVALID_VALUE;
    if (!need()) return CUBLAS_STATUS_NOT_INITIALIZED;
    struct handle *made = calloc(1, sizeof *made);
    if (!made) return CUBLAS_STATUS_ALLOC_FAILED;
    cublasStatus_t done = status(ROC(rocblas_create_handle)(&made->roc));
    if (done == CUBLAS_STATUS_SUCCESS) *result = made;
    else free(made);
    return done;
}
static cublasStatus_t destroy(struct handle *handle) {
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    cublasStatus_t done = status(ROC(rocblas_destroy_handle)(handle->roc));
    if (done == CUBLAS_STATUS_SUCCESS) free(handle);
    return done;
}
