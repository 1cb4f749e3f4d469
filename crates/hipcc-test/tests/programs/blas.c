/* cuBLAS from C, whose compiler is the host's. Prints PASSED, or what is wrong. */
#include <cublas_v2.h>
#include <stdio.h>

int main(void) {
    const double x[] = {1, 2, 3}, alpha = 2;
    double y[3] = {0, 0, 1};
    void *on_device[2];
    cublasHandle_t handle;
    if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS) return 1;
    for (int i = 0; i < 2; i++)
        if (cudaMalloc(&on_device[i], sizeof x) != cudaSuccess) return 2;
    if (cublasSetVector(3, sizeof *x, x, 1, on_device[0], 1) || cublasSetVector(3, sizeof *y, y, 1, on_device[1], 1)) return 3;
    if (cublasDaxpy(handle, 3, &alpha, (double *)on_device[0], 1, (double *)on_device[1], 1)) return 4;
    if (cublasGetVector(3, sizeof *y, on_device[1], 1, y, 1) || cublasDestroy(handle)) return 5;
    if (y[0] != 2 || y[1] != 4 || y[2] != 7) return printf("%f %f %f\n", y[0], y[1], y[2]), 6;
    puts("PASSED");
    return 0;
}
