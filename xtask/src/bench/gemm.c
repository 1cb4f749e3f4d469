// Products of matrices by whichever rocBLAS and HIP the loader finds, as `cargo xtask bench blas` runs it: cc -o gemm gemm.c -ldl
//
// gemm TYPE M N K BATCH A B REPEAT     C = A B by rows; A and B are `n`, or `t` for a matrix that is stored transposed
//
// TYPE is f64, f32, or f16 or bf16 with sums in f32. Prints the seconds that each of REPEAT products took. Elements are zeros: what is
// counted does not depend on them.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { OPERATION_NONE = 111, OPERATION_TRANSPOSE = 112, ALGORITHM_STANDARD = 160, TO_DEVICE = 1 };

static const struct {
    const char *name;
    int type, compute;
    size_t size;
} TYPES[] = {{"f64", 152, 152, 8}, {"f32", 151, 151, 4}, {"f16", 150, 151, 2}, {"bf16", 168, 151, 2}};

typedef int (*Malloc)(void **, size_t);
typedef int (*Copy)(void *, const void *, size_t, int);
typedef int (*Synchronize)(void);
typedef int (*CreateHandle)(void **);
typedef int (*Gemm)(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a, int a_type, int lda,
                    int64_t stride_a, const void *b, int b_type, int ldb, int64_t stride_b, const void *beta, const void *c, int c_type,
                    int ldc, int64_t stride_c, void *d, int d_type, int ldd, int64_t stride_d, int batch, int compute_type, int algorithm,
                    int solution, unsigned flags);

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

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

int main(int count, char **arguments) {
    if (count != 9) {
        fprintf(stderr, "gemm TYPE M N K BATCH A B REPEAT\n");
        return 2;
    }
    size_t type = 0;
    while (strcmp(TYPES[type].name, arguments[1]) != 0)
        if (++type == sizeof TYPES / sizeof *TYPES) {
            fprintf(stderr, "%s is no type\n", arguments[1]);
            return 2;
        }
    const int m = atoi(arguments[2]), n = atoi(arguments[3]), k = atoi(arguments[4]), batch = atoi(arguments[5]);
    const int transposed_a = arguments[6][0] == 't', transposed_b = arguments[7][0] == 't', repeat = atoi(arguments[8]);
    void *hip = dlopen("libamdhip64.so.7", RTLD_NOW | RTLD_GLOBAL), *blas = dlopen("librocblas.so.5", RTLD_NOW | RTLD_GLOBAL);
    Malloc allocate = (Malloc)symbol(hip, "hipMalloc");
    Copy copy = (Copy)symbol(hip, "hipMemcpy");
    Synchronize synchronize = (Synchronize)symbol(hip, "hipDeviceSynchronize");
    Gemm gemm = (Gemm)symbol(blas, "rocblas_gemm_strided_batched_ex");
    void *matrices[3], *handle;
    const int64_t sizes[3] = {(int64_t)m * k, (int64_t)k * n, (int64_t)m * n};
    for (int i = 0; i < 3; ++i) {
        const size_t bytes = (size_t)(sizes[i] * batch) * TYPES[type].size;
        void *zeros = calloc(1, bytes);
        expect(allocate(&matrices[i], bytes), "hipMalloc");
        expect(copy(matrices[i], zeros, bytes, TO_DEVICE), "hipMemcpy");
        free(zeros);
    }
    expect(((CreateHandle)symbol(blas, "rocblas_create_handle"))(&handle), "rocblas_create_handle");
    const float one = 1, zero = 0;
    const double wide_one = 1, wide_zero = 0;
    const void *alpha = TYPES[type].size == 8 ? (const void *)&wide_one : &one;
    const void *beta = TYPES[type].size == 8 ? (const void *)&wide_zero : &zero;
    const int t = TYPES[type].type;
    for (int i = 0; i < repeat; ++i) {
        const double begin = now();
        // By rows C = A B is, by columns, C = B A.
        expect(gemm(handle, transposed_b ? OPERATION_TRANSPOSE : OPERATION_NONE, transposed_a ? OPERATION_TRANSPOSE : OPERATION_NONE, n, m, k,
                    alpha, matrices[1], t, transposed_b ? k : n, sizes[1], matrices[0], t, transposed_a ? m : k, sizes[0], beta, matrices[2], t,
                    n, sizes[2], matrices[2], t, n, sizes[2], batch, TYPES[type].compute, ALGORITHM_STANDARD, 0, 0),
               "rocblas_gemm_strided_batched_ex");
        expect(synchronize(), "hipDeviceSynchronize");
        printf("%.9f\n", now() - begin);
    }
    return 0;
}
