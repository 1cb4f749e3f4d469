// AMD's rocBLAS, which calls HIP and has its own kernels. The declarations follow its documentation.
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

int hipMalloc(void**, size_t);
int hipFree(void*);
int hipMemcpy(void*, const void*, size_t, int);
int hipDeviceSynchronize(void);
int rocblas_create_handle(void**);
int rocblas_destroy_handle(void*);
int rocblas_saxpy(void*, int, const float*, const float*, int, float*, int);
int rocblas_sdot(void*, int, const float*, int, const float*, int, float*);
int rocblas_sgemv(void*, int, int, int, const float*, const float*, int, const float*, int, const float*, float*, int);

enum { HOST_TO_DEVICE = 1, DEVICE_TO_HOST = 2, NO_TRANSPOSE = 111 };

#define OK(call)                                                                     \
    do {                                                                             \
        int status_ = (call);                                                        \
        if (status_) fprintf(stderr, "%d: %s: %d\n", __LINE__, #call, status_), exit(1); \
    } while (0)

// Small whole numbers, so that every order of adding gives the same sum.
static float x[1000], y[1000], out[1000], matrix[20 * 30];

int main(void) {
    const int n = 1000, rows = 20, columns = 30;
    float alpha = 3, beta = 2, dot = 0;
    void *handle, *dx, *dy, *dm;
    for (int i = 0; i < n; i++) x[i] = i % 7, y[i] = i % 5 - 2;
    for (int i = 0; i < rows * columns; i++) matrix[i] = i % 11 - 5;
    OK(rocblas_create_handle(&handle));
    OK(hipMalloc(&dx, sizeof x));
    OK(hipMalloc(&dy, sizeof y));
    OK(hipMalloc(&dm, sizeof matrix));
    OK(hipMemcpy(dx, x, sizeof x, HOST_TO_DEVICE));
    OK(hipMemcpy(dy, y, sizeof y, HOST_TO_DEVICE));
    OK(hipMemcpy(dm, matrix, sizeof matrix, HOST_TO_DEVICE));

    OK(rocblas_saxpy(handle, n, &alpha, dx, 1, dy, 1));
    OK(hipMemcpy(out, dy, sizeof out, DEVICE_TO_HOST));
    for (int i = 0; i < n; i++) {
        y[i] += alpha * x[i];
        if (out[i] != y[i]) return fprintf(stderr, "saxpy: %d: %f, not %f\n", i, out[i], y[i]), 1;
    }

    float expected = 0;
    for (int i = 0; i < n; i++) expected += x[i] * y[i];
    OK(rocblas_sdot(handle, n, dx, 1, dy, 1, &dot));
    if (dot != expected) return fprintf(stderr, "sdot: %f, not %f\n", dot, expected), 1;

    OK(rocblas_sgemv(handle, NO_TRANSPOSE, rows, columns, &alpha, dm, rows, dx, 1, &beta, dy, 1));
    OK(hipMemcpy(out, dy, sizeof out, DEVICE_TO_HOST));
    for (int i = 0; i < rows; i++) {
        float sum = beta * y[i];
        for (int j = 0; j < columns; j++) sum += alpha * matrix[j * rows + i] * x[j];
        if (out[i] != sum) return fprintf(stderr, "sgemv: %d: %f, not %f\n", i, out[i], sum), 1;
    }
    OK(hipDeviceSynchronize());
    OK(hipFree(dx));
    OK(hipFree(dy));
    OK(hipFree(dm));
    OK(rocblas_destroy_handle(handle));
    return 0;
}
