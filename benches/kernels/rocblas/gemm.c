// One product of matrices of zeros by AMD's rocBLAS, for what its kernel executes: cc -o gemm gemm.c -ldl, then docs/benchmarks.md.
//
// gemm M N K [half]     C = A B by rows, in f32, or in f16 with sums in f32
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPERATION_NONE = 111, TYPE_F16 = 150, TYPE_F32 = 151, ALGORITHM_STANDARD = 160, TO_DEVICE = 1 };

typedef int (*Malloc)(void **, size_t);
typedef int (*Copy)(void *, const void *, size_t, int);
typedef int (*Synchronize)(void);
typedef int (*CreateHandle)(void **);
typedef int (*GemmEx)(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a, int a_type, int lda, const void *b,
                      int b_type, int ldb, const void *beta, const void *c, int c_type, int ldc, void *d, int d_type, int ldd, int compute_type,
                      int algorithm, int solution, unsigned flags);

static void *symbol(void *library, const char *name) {
    void *found = library ? dlsym(library, name) : NULL;
    if (!found) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return found;
}

static void expect(int status, const char *what) {
    if (status != 0) {
        fprintf(stderr, "%s: status %d\n", what, status);
        exit(1);
    }
}

int main(int count, char **arguments) {
    if (count < 4) {
        fprintf(stderr, "gemm M N K [half]\n");
        return 2;
    }
    const int m = atoi(arguments[1]), n = atoi(arguments[2]), k = atoi(arguments[3]);
    const int half = count > 4 && strcmp(arguments[4], "half") == 0, type = half ? TYPE_F16 : TYPE_F32;
    void *hip = dlopen("libamdhip64.so.7", RTLD_NOW | RTLD_GLOBAL), *blas = dlopen("librocblas.so.5", RTLD_NOW | RTLD_GLOBAL);
    Malloc allocate = (Malloc)symbol(hip, "hipMalloc");
    Copy copy = (Copy)symbol(hip, "hipMemcpy");
    void *matrices[3], *handle;
    const size_t sizes[3] = {(size_t)m * k, (size_t)k * n, (size_t)m * n};
    for (int i = 0; i < 3; ++i) {
        const size_t bytes = sizes[i] * (half ? 2 : 4);
        void *zeros = calloc(1, bytes);
        expect(allocate(&matrices[i], bytes), "hipMalloc");
        expect(copy(matrices[i], zeros, bytes, TO_DEVICE), "hipMemcpy");
        free(zeros);
    }
    expect(((CreateHandle)symbol(blas, "rocblas_create_handle"))(&handle), "rocblas_create_handle");
    const float alpha = 1, beta = 0;
    // By rows C = A B is, by columns, C = B A.
    expect(((GemmEx)symbol(blas, "rocblas_gemm_ex"))(handle, OPERATION_NONE, OPERATION_NONE, n, m, k, &alpha, matrices[1], type, n, matrices[0],
                                                    type, k, &beta, matrices[2], type, n, matrices[2], type, n, TYPE_F32, ALGORITHM_STANDARD, 0, 0),
           "rocblas_gemm_ex");
    expect(((Synchronize)symbol(hip, "hipDeviceSynchronize"))(), "hipDeviceSynchronize");
    return 0;
}
