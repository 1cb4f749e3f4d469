// cuBLASLt: products with bias and activation by columns and rows, against the same in f64. Prints PASSED, or what is wrong.
#include <cublasLt.h>

#include <cmath>
#include <cstdio>
#include <vector>

static int failures;
#define CHECK(condition)                                                                                                                   \
    do {                                                                                                                                   \
        if (!(condition)) std::printf("line %d: %s\n", __LINE__, #condition), failures++;                                                   \
    } while (0)
#define OK(call)                                                                                                                           \
    do {                                                                                                                                   \
        const cublasStatus_t said = call;                                                                                                  \
        if (said != CUBLAS_STATUS_SUCCESS) std::printf("line %d: %s is %s\n", __LINE__, #call, cublasLtGetStatusName(said)), failures++;     \
    } while (0)

static double number(size_t i, int seed) { return (static_cast<int>((i * 7 + seed * 13) % 17) - 8) / 8.0; }
template <typename T> static T *device(size_t count, int seed) {
    std::vector<T> all(count);
    for (size_t i = 0; i < count; i++) all[i] = static_cast<T>(static_cast<float>(number(i, seed)));
    T *to;
    cudaMalloc(&to, count * sizeof(T));
    cudaMemcpy(to, all.data(), count * sizeof(T), cudaMemcpyHostToDevice);
    return to;
}
template <typename T> static std::vector<T> host(const T *from, size_t count) {
    std::vector<T> to(count);
    cudaMemcpy(to.data(), from, count * sizeof(T), cudaMemcpyDeviceToHost);
    return to;
}
static double gelu(double x) { return x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))) / 2; }

// A product of an m by k and a k by n matrix with an epilogue. By rows, every matrix is.
template <typename T>
static cublasStatus_t run(cublasLtHandle_t handle, cudaDataType type, cublasLtEpilogue_t epilogue, bool by_rows, double tolerance) {
    const int m = 40, n = 24, k = 48;
    T *a = device<T>(m * k, 1), *b = device<T>(k * n, 2), *d = device<T>(m * n, 3), *bias = device<T>(m, 4), *aux = device<T>(m * n, 5);
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t la, lb, ld;
    const cublasOperation_t transpose = CUBLAS_OP_T;
    OK(cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    // A is stored transposed.
    OK(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSA, &transpose, sizeof(transpose)));
    OK(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof(epilogue)));
    OK(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof(bias)));
    OK(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, &aux, sizeof(aux)));
    const int64_t aux_leading = m;
    OK(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, &aux_leading, sizeof(aux_leading)));
    CHECK(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, 1) == CUBLAS_STATUS_INVALID_VALUE);
    OK(cublasLtMatrixLayoutCreate(&la, type, k, m, by_rows ? m : k));
    OK(cublasLtMatrixLayoutCreate(&lb, type, k, n, by_rows ? n : k));
    OK(cublasLtMatrixLayoutCreate(&ld, type, m, n, by_rows ? n : m));
    const cublasLtOrder_t order = by_rows ? CUBLASLT_ORDER_ROW : CUBLASLT_ORDER_COL;
    for (const auto layout : {la, lb, ld}) OK(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_ORDER, &order, sizeof(order)));
    cublasLtMatmulPreference_t preference;
    const size_t bytes = 1 << 20;
    OK(cublasLtMatmulPreferenceCreate(&preference));
    OK(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof(bytes)));
    cublasLtMatmulHeuristicResult_t result = {};
    int count = 0;
    const float alpha = 2, beta = -1;
    cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(handle, desc, la, lb, ld, ld, preference, 1, &result, &count);
    CHECK((status == CUBLAS_STATUS_SUCCESS) == (count == 1));
    const cublasStatus_t done = cublasLtMatmul(handle, desc, &alpha, a, la, b, lb, &beta, d, ld, d, ld, &result.algo, nullptr, 0, nullptr);
    CHECK(done == status);
    const bool has_bias = epilogue & 4, has_gelu = epilogue & 32, has_relu = epilogue & 2, has_aux = epilogue & 128;
    const auto found = host(d, m * n), kept = host(aux, m * n);
    int wrong = 0;
    if (done == CUBLAS_STATUS_SUCCESS)
        for (int row = 0; row < m; row++)
            for (int column = 0; column < n; column++) {
                const int at = by_rows ? row * n + column : row + column * m;
                double sum = -number(at, 3) + (has_bias ? number(row, 4) : 0);
                for (int i = 0; i < k; i++)
                    sum += 2 * number(by_rows ? i * m + row : i + row * k, 1) * number(by_rows ? i * n + column : i + column * k, 2);
                const double expected = has_gelu ? gelu(sum) : has_relu ? std::fmax(sum, 0) : sum;
                wrong += !(std::fabs(static_cast<float>(found[at]) - expected) <= tolerance * (1 + std::fabs(sum)));
                wrong += has_aux && !(std::fabs(static_cast<float>(kept[at]) - sum) <= tolerance * (1 + std::fabs(sum)));
            }
    CHECK(wrong == 0);
    OK(cublasLtMatmulPreferenceDestroy(preference));
    OK(cublasLtMatmulDescDestroy(desc));
    for (const auto layout : {la, lb, ld}) OK(cublasLtMatrixLayoutDestroy(layout));
    for (T *memory : {a, b, d, bias, aux}) cudaFree(memory);
    return done;
}

int main() {
    cublasLtHandle_t handle;
    OK(cublasLtCreate(&handle));
    for (const auto epilogue : {CUBLASLT_EPILOGUE_DEFAULT, CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_RELU, CUBLASLT_EPILOGUE_RELU_BIAS,
                                CUBLASLT_EPILOGUE_GELU, CUBLASLT_EPILOGUE_GELU_BIAS, CUBLASLT_EPILOGUE_GELU_AUX_BIAS}) {
        OK(run<float>(handle, CUDA_R_32F, epilogue, false, 1e-5));
        OK(run<__half>(handle, CUDA_R_16F, epilogue, false, 2e-3));
        OK(run<__nv_bfloat16>(handle, CUDA_R_16BF, epilogue, false, 1.6e-2));
    }
    OK(run<float>(handle, CUDA_R_32F, CUBLASLT_EPILOGUE_DEFAULT, true, 1e-5));
    OK(run<float>(handle, CUDA_R_32F, CUBLASLT_EPILOGUE_GELU, true, 1e-5));
    // By rows, a bias for each row is one for each column of what is computed.
    CHECK(run<float>(handle, CUDA_R_32F, CUBLASLT_EPILOGUE_BIAS, true, 1e-5) == CUBLAS_STATUS_NOT_SUPPORTED);
    CHECK(run<float>(handle, CUDA_R_32F, CUBLASLT_EPILOGUE_DGELU, false, 1e-5) == CUBLAS_STATUS_NOT_SUPPORTED);
    OK(cublasLtDestroy(handle));
    if (!failures) std::puts("PASSED");
    return failures != 0;
}
