// cuBLAS: functions of each level, against the same in f64. Prints PASSED, or what is wrong.
#include <cublas_v2.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

static int failures;
#define CHECK(condition)                                                                                                                   \
    do {                                                                                                                                   \
        if (!(condition)) std::printf("line %d: %s\n", __LINE__, #condition), failures++;                                                   \
    } while (0)
#define OK(call)                                                                                                                           \
    do {                                                                                                                                   \
        const cublasStatus_t said = call;                                                                                                  \
        if (said != CUBLAS_STATUS_SUCCESS) std::printf("line %d: %s is %s\n", __LINE__, #call, cublasGetStatusName(said)), failures++;       \
    } while (0)

// Numbers that f16 and bf16 have exactly.
static double number(size_t i, int seed) { return static_cast<int>((i * 7 + seed * 13) % 17) - 8; }
template <typename T> static T *device(const std::vector<T> &from) {
    T *to;
    cudaMalloc(&to, from.size() * sizeof(T));
    cudaMemcpy(to, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice);
    return to;
}
template <typename T> static std::vector<T> host(const T *from, size_t count) {
    std::vector<T> to(count);
    cudaMemcpy(to.data(), from, count * sizeof(T), cudaMemcpyDeviceToHost);
    return to;
}
template <typename T> static std::vector<T> numbers(size_t count, int seed) {
    std::vector<T> all(count);
    for (size_t i = 0; i < count; i++) all[i] = static_cast<T>(static_cast<float>(number(i, seed)));
    return all;
}
// alpha op(A) op(B) + beta C at a row and a column.
static double product(cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, int row, int column) {
    double sum = 0;
    for (int i = 0; i < k; i++)
        sum += number(ta == CUBLAS_OP_N ? row + size_t(i) * m : i + size_t(row) * k, 1) *
               number(tb == CUBLAS_OP_N ? i + size_t(column) * k : column + size_t(i) * n, 2);
    return 2 * sum - number(row + size_t(column) * m, 3);
}
template <typename T, typename R> static void general(cublasHandle_t handle, cudaDataType type, cudaDataType result, double tolerance) {
    const int m = 33, n = 17, k = 29;
    const float alpha = 2, beta = -1;
    for (const auto ta : {CUBLAS_OP_N, CUBLAS_OP_T})
        for (const auto tb : {CUBLAS_OP_N, CUBLAS_OP_T}) {
            T *a = device(numbers<T>(m * k, 1)), *b = device(numbers<T>(k * n, 2));
            R *c = device(numbers<R>(m * n, 3));
            OK(cublasGemmEx(handle, ta, tb, m, n, k, &alpha, a, type, ta == CUBLAS_OP_N ? m : k, b, type, tb == CUBLAS_OP_N ? k : n, &beta, c,
                            result, m, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
            const auto found = host(c, m * n);
            int wrong = 0;
            for (int i = 0; i < m * n; i++) {
                const double expected = product(ta, tb, m, n, k, i % m, i / m);
                wrong += !(std::fabs(static_cast<float>(found[i]) - expected) <= tolerance * (1 + std::fabs(expected)));
            }
            CHECK(wrong == 0);
            cudaFree(a), cudaFree(b), cudaFree(c);
        }
}

int main() {
    cublasHandle_t handle = nullptr;
    float one = 1;
    CHECK(cublasSscal(nullptr, 1, &one, nullptr, 1) == CUBLAS_STATUS_NOT_INITIALIZED);
    OK(cublasCreate(&handle));
    int version = 0;
    OK(cublasGetVersion(handle, &version));
    CHECK(version == CUBLAS_VERSION);
    CHECK(!std::strcmp(cublasGetStatusString(CUBLAS_STATUS_NOT_SUPPORTED), "the functionality requested is not supported"));
    cudaStream_t stream, set = nullptr;
    cudaStreamCreate(&stream);
    OK(cublasSetStream(handle, stream));
    OK(cublasGetStream(handle, &set));
    CHECK(set == stream);
    cublasMath_t math;
    OK(cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH));
    OK(cublasGetMathMode(handle, &math));
    CHECK(math == CUBLAS_TF32_TENSOR_OP_MATH);

    // Products of every type. Matrix instructions round their sums.
    general<float, float>(handle, CUDA_R_32F, CUDA_R_32F, 0);
    general<__half, __half>(handle, CUDA_R_16F, CUDA_R_16F, 1e-3);
    general<__half, float>(handle, CUDA_R_16F, CUDA_R_32F, 1e-4);
    general<__nv_bfloat16, __nv_bfloat16>(handle, CUDA_R_16BF, CUDA_R_16BF, 8e-3);
    general<__nv_bfloat16, float>(handle, CUDA_R_16BF, CUDA_R_32F, 1e-4);

    const int m = 8, n = 5, k = 6, batch = 3;
    const float alpha = 2, beta = -1;
    {
        const double wide_alpha = 2, wide_beta = -1;
        double *a = device(numbers<double>(m * k, 1)), *b = device(numbers<double>(k * n, 2)), *c = device(numbers<double>(m * n, 3));
        OK(cublasDgemm_64(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &wide_alpha, a, m, b, k, &wide_beta, c, m));
        const auto found = host(c, m * n);
        for (int i = 0; i < m * n; i++) CHECK(found[i] == product(CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, i % m, i / m));
    }
    {
        // Batches: the same product three times, with strides and with pointers, and factors in device memory.
        std::vector<float> a, b, c;
        for (int i = 0; i < batch; i++)
            for (const auto &[to, count, seed] : {std::make_tuple(&a, m * k, 1), {&b, k * n, 2}, {&c, m * n, 3}}) {
                const auto part = numbers<float>(count, seed);
                to->insert(to->end(), part.begin(), part.end());
            }
        float *da = device(a), *db = device(b), *dc = device(c), *dd = device(c), *factors = device(std::vector<float>{alpha, beta});
        OK(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE));
        OK(cublasSgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, factors, da, m, m * k, db, k, k * n, factors + 1, dc, m, m * n,
                                     batch));
        OK(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST));
        std::vector<float *> pa, pb, pd;
        for (int i = 0; i < batch; i++) pa.push_back(da + i * m * k), pb.push_back(db + i * k * n), pd.push_back(dd + i * m * n);
        float **dpa = device(pa), **dpb = device(pb), **dpd = device(pd);
        OK(cublasSgemmBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &alpha, dpa, m, dpb, k, &beta, dpd, m, batch));
        const auto strided = host(dc, m * n * batch), pointed = host(dd, m * n * batch);
        for (int i = 0; i < m * n * batch; i++) {
            const double expected = product(CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, i % m, i / m % n);
            CHECK(strided[i] == expected && pointed[i] == expected);
        }
        // Two groups of one and two.
        const cublasOperation_t ops[] = {CUBLAS_OP_N, CUBLAS_OP_N};
        const int ms[] = {m, m}, ns[] = {n, n}, ks[] = {k, k}, ldas[] = {m, m}, ldbs[] = {k, k}, sizes[] = {1, 2};
        const float alphas[] = {2, 2}, betas[] = {0, 0};
        OK(cublasSgemmGroupedBatched(handle, ops, ops, ms, ns, ks, alphas, dpa, ldas, dpb, ldbs, betas, dpd, ldas, 2, sizes));
        const auto grouped = host(dd, m * n * batch);
        for (int i = 0; i < m * n * batch; i++)
            CHECK(grouped[i] == product(CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, i % m, i / m % n) + number(i % (m * n), 3));
    }
    {
        // Vectors, and a matrix and a vector.
        const int count = 1000;
        float *x = device(numbers<float>(count, 1)), *y = device(numbers<float>(count, 2));
        float dot = 0, sum = 0, norm = 0;
        int at = 0;
        double dots = 0, sums = 0, squares = 0;
        int first = 0;
        for (int i = 0; i < count; i++) {
            dots += number(i, 1) * number(i, 2), sums += std::fabs(number(i, 1)), squares += number(i, 1) * number(i, 1);
            if (std::fabs(number(i, 1)) > std::fabs(number(first, 1))) first = i;
        }
        OK(cublasSdot(handle, count, x, 1, y, 1, &dot));
        OK(cublasSasum(handle, count, x, 1, &sum));
        OK(cublasSnrm2(handle, count, x, 1, &norm));
        OK(cublasIsamax(handle, count, x, 1, &at));
        CHECK(dot == dots && sum == sums && std::fabs(norm - std::sqrt(squares)) < 1e-4 && at == first + 1);
        int64_t wide = 0;
        OK(cublasIamaxEx_64(handle, count, x, CUDA_R_32F, 1, &wide));
        CHECK(wide == first + 1);
        OK(cublasSaxpy(handle, count, &alpha, x, 1, y, 1));
        OK(cublasSscal(handle, count, &beta, x, 1));
        const auto changed = host(y, count), negative = host(x, count);
        for (int i = 0; i < count; i++)
            CHECK(changed[i] == 2 * number(i, 1) + number(i, 2) && negative[i] == -number(i, 1));
        float *a = device(numbers<float>(m * n, 1)), *v = device(numbers<float>(m, 2)), *to = device(numbers<float>(n, 3));
        OK(cublasSgemv(handle, CUBLAS_OP_T, m, n, &alpha, a, m, v, 1, &beta, to, 1));
        const auto moved = host(to, n);
        for (int i = 0; i < n; i++) {
            double expected = -number(i, 3);
            for (int j = 0; j < m; j++) expected += 2 * number(j + i * m, 1) * number(j, 2);
            CHECK(moved[i] == expected);
        }
        // A triangular system: its solution times the matrix is the right side.
        std::vector<float> lower(n * n);
        for (int i = 0; i < n * n; i++) lower[i] = i % n == i / n ? 4 : i % n > i / n ? static_cast<float>(number(i, 1)) / 8 : NAN;
        float *l = device(lower), *right = device(numbers<float>(n, 3));
        OK(cublasStrsm(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, n, 1, &one, l, n, right, n));
        const auto solved = host(right, n);
        for (int i = 0; i < n; i++) {
            double sum = 0;
            for (int j = 0; j <= i; j++) sum += double(lower[i + j * n]) * solved[j];
            CHECK(std::fabs(sum - number(i, 3)) < 1e-4);
        }
        // The transpose, by geam.
        float *turned = device(std::vector<float>(m * n)), zero = 0;
        OK(cublasSgeam(handle, CUBLAS_OP_T, CUBLAS_OP_N, n, m, &one, a, m, &zero, turned, n, turned, n));
        const auto across = host(turned, m * n);
        for (int i = 0; i < m * n; i++) CHECK(across[i] == number(i / n + i % n * m, 1));
    }
    {
        // Matrices to the device and back, with gaps.
        const auto from = numbers<float>(m * n, 1);
        float *to = device(std::vector<float>((m + 2) * n));
        std::vector<float> back(m * n);
        OK(cublasSetMatrix(m, n, sizeof(float), from.data(), m, to, m + 2));
        OK(cublasGetMatrix(m, n, sizeof(float), to, m + 2, back.data(), m));
        CHECK(back == from);
    }
    {
        // Half precision by its own name.
        const __half half_alpha = __float2half(2), half_beta = __float2half(-1);
        __half *a = device(numbers<__half>(m * k, 1)), *b = device(numbers<__half>(k * n, 2)), *c = device(numbers<__half>(m * n, 3));
        OK(cublasHgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &half_alpha, a, m, b, k, &half_beta, c, m));
        const auto found = host(c, m * n);
        for (int i = 0; i < m * n; i++) {
            const double expected = product(CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, i % m, i / m);
            CHECK(std::fabs(__half2float(found[i]) - expected) <= 1e-3 * (1 + std::fabs(expected)));
        }
    }
    // What there is not, and what is wrong.
    CHECK(cublasSgetrfBatched(handle, 2, nullptr, 2, nullptr, nullptr, 1) == CUBLAS_STATUS_NOT_SUPPORTED);
    CHECK(cublasSgemm(handle, static_cast<cublasOperation_t>(9), CUBLAS_OP_N, 1, 1, 1, &one, &one, 1, &one, 1, &one, &one, 1) ==
          CUBLAS_STATUS_INVALID_VALUE);
    CHECK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, -1, 1, 1, &one, &one, 1, &one, 1, &one, &one, 1) == CUBLAS_STATUS_INVALID_VALUE);
    OK(cublasDestroy(handle));
    if (!failures) std::puts("PASSED");
    return failures != 0;
}
