// Matrix products by AMD's rocBLAS and its own kernels: all types, all transpositions, batches. The declarations follow its
// documentation. Elements are small whole numbers, so that every order of adding gives the same sum. The exception are 16-bit numbers:
// the matrix instructions of some targets truncate their sums.
#include <complex.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int hipMalloc(void**, size_t);
int hipFree(void*);
int hipMemcpy(void*, const void*, size_t, int);
int rocblas_create_handle(void**);
int rocblas_destroy_handle(void*);
const char* rocblas_status_to_string(int);
int rocblas_sgemm(void*, int, int, int, int, int, const void*, const void*, int, const void*, int, const void*, void*, int);
int rocblas_dgemm(void*, int, int, int, int, int, const void*, const void*, int, const void*, int, const void*, void*, int);
int rocblas_hgemm(void*, int, int, int, int, int, const void*, const void*, int, const void*, int, const void*, void*, int);
int rocblas_cgemm(void*, int, int, int, int, int, const void*, const void*, int, const void*, int, const void*, void*, int);
int rocblas_zgemm(void*, int, int, int, int, int, const void*, const void*, int, const void*, int, const void*, void*, int);
int rocblas_gemm_strided_batched_ex(void*, int, int, int, int, int, const void*, const void*, int, int, ptrdiff_t, const void*,
                                    int, int, ptrdiff_t, const void*, const void*, int, int, ptrdiff_t, void*, int, int,
                                    ptrdiff_t, int, int, int, int, uint32_t);
int rocblas_gemm_batched_ex(void*, int, int, int, int, int, const void*, const void*, int, int, const void*, int, int, const void*,
                            const void*, int, int, void*, int, int, int, int, int, int, uint32_t);

enum { HOST_TO_DEVICE = 1, DEVICE_TO_HOST = 2, NONE = 111, TRANSPOSE = 112, CONJUGATE = 113 };
enum Type { F16 = 150, F32 = 151, F64 = 152, C32 = 154, C64 = 155, I8 = 160, I32 = 162, BF16 = 168 };
typedef int Plain(void*, int, int, int, int, int, const void*, const void*, int, const void*, int, const void*, void*, int);

static size_t size_of(int type) {
    switch (type) {
        case I8: return 1;
        case F16: case BF16: return 2;
        case F32: case I32: return 4;
        case F64: case C32: return 8;
        default: return 16;
    }
}

// Exact for numbers of up to 11 bits; larger ones do not occur.
static uint16_t to_half(double value) {
    _Float16 half = (_Float16)value;
    uint16_t bits;
    return memcpy(&bits, &half, 2), bits;
}

static double from_half(uint16_t bits) {
    _Float16 half;
    return memcpy(&half, &bits, 2), (double)half;
}

static void put(void* array, int type, size_t at, double complex value) {
    float f = (float)creal(value);
    uint32_t bits;
    switch (type) {
        case F16: ((uint16_t*)array)[at] = to_half(creal(value)); break;
        case BF16: memcpy(&bits, &f, 4), ((uint16_t*)array)[at] = (uint16_t)(bits >> 16); break;
        case F32: ((float*)array)[at] = f; break;
        case F64: ((double*)array)[at] = creal(value); break;
        case C32: ((float complex*)array)[at] = (float complex)value; break;
        case C64: ((double complex*)array)[at] = value; break;
        case I8: ((int8_t*)array)[at] = (int8_t)creal(value); break;
        default: ((int32_t*)array)[at] = (int32_t)creal(value); break;
    }
}

static double complex get(const void* array, int type, size_t at) {
    float f;
    uint32_t bits;
    switch (type) {
        case F16: return from_half(((const uint16_t*)array)[at]);
        case BF16: bits = (uint32_t)((const uint16_t*)array)[at] << 16; return memcpy(&f, &bits, 4), f;
        case F32: return ((const float*)array)[at];
        case F64: return ((const double*)array)[at];
        case C32: return ((const float complex*)array)[at];
        case C64: return ((const double complex*)array)[at];
        case I8: return ((const int8_t*)array)[at];
        default: return ((const int32_t*)array)[at];
    }
}

static int failures;

static void check(int status, const char* what) {
    if (status) fprintf(stderr, "%s: %s\n", what, rocblas_status_to_string(status)), failures++;
}

// The allowed error of a result, as a fraction of the sum of all magnitudes.
static double tolerance(int in, int compute) {
    if (in != F16 && in != BF16) return 0;
    return compute == F16 ? 0x1p-11 : 0x1p-20;
}

static void need(int status, int line) {
    if (status) fprintf(stderr, "line %d: %d\n", line, status), exit(1);
}

// A matrix of small whole numbers, with extra rows that are not used.
typedef struct { int rows, columns, stride, count, type; char* host; char* device; } Matrix;

static Matrix matrix(int rows, int columns, int count, int type, int seed) {
    Matrix m = {rows, columns, rows + 3, count, type, NULL, NULL};
    size_t elements = (size_t)m.stride * columns * count;
    m.host = malloc(elements * size_of(type));
    for (size_t i = 0; i < elements; i++) {
        int real = (int)((i * 7 + i / 5 * 3 + seed) % 5) - 2, imaginary = (int)((i * 3 + seed) % 3) - 1;
        put(m.host, type, i, real + (type == C32 || type == C64 ? imaginary * I : 0));
    }
    // Whole pages: some kernels read past the end of a matrix, which hardware notices only beyond the page.
    need(hipMalloc((void**)&m.device, (elements * size_of(type) + 4095) & ~(size_t)4095), __LINE__);
    need(hipMemcpy(m.device, m.host, elements * size_of(type), HOST_TO_DEVICE), __LINE__);
    return m;
}

static size_t elements_of(Matrix m) { return (size_t)m.stride * m.columns; }

static double complex element(Matrix m, int operation, int batch, int i, int j) {
    size_t at = operation == NONE ? (size_t)j * m.stride + i : (size_t)i * m.stride + j;
    double complex value = get(m.host, m.type, elements_of(m) * batch + at);
    return operation == CONJUGATE ? conj(value) : value;
}

static void release(Matrix m) {
    free(m.host);
    need(hipFree(m.device), __LINE__);
}

// alpha * op(A) * op(B) + beta * C, compared with this program's own result.
static void product(void* handle, const char* name, Plain* plain, int in, int out, int compute, int pointers, int ta, int tb, int m,
                    int n, int k, int batches) {
    Matrix a = ta == NONE ? matrix(m, k, batches, in, 1) : matrix(k, m, batches, in, 1);
    Matrix b = tb == NONE ? matrix(k, n, batches, in, 2) : matrix(n, k, batches, in, 2);
    Matrix c = matrix(m, n, batches, out, 3);
    double complex alpha[2] = {0}, beta[2] = {0};
    put(alpha, compute, 0, 2), put(beta, compute, 0, 3);
    char what[128];
    snprintf(what, sizeof what, "%s, operations %d and %d, %dx%dx%d, %d of them", name, ta, tb, m, n, k, batches);
    if (plain) {
        check(plain(handle, ta, tb, m, n, k, alpha, a.device, a.stride, b.device, b.stride, beta, c.device, c.stride), what);
    } else if (pointers) {
        char *lists[3][8], **devices[3];
        Matrix of[3] = {a, b, c};
        for (int i = 0; i < 3; i++) {
            for (int batch = 0; batch < batches; batch++)
                lists[i][batch] = of[i].device + elements_of(of[i]) * batch * size_of(of[i].type);
            need(hipMalloc((void**)&devices[i], sizeof lists[i]), __LINE__);
            need(hipMemcpy(devices[i], lists[i], sizeof lists[i], HOST_TO_DEVICE), __LINE__);
        }
        check(rocblas_gemm_batched_ex(handle, ta, tb, m, n, k, alpha, devices[0], in, a.stride, devices[1], in, b.stride, beta,
                                      devices[2], out, c.stride, devices[2], out, c.stride, batches, compute, 0, 0, 0), what);
        for (int i = 0; i < 3; i++) need(hipFree(devices[i]), __LINE__);
    } else {
        check(rocblas_gemm_strided_batched_ex(handle, ta, tb, m, n, k, alpha, a.device, in, a.stride, elements_of(a), b.device, in,
                                              b.stride, elements_of(b), beta, c.device, out, c.stride, elements_of(c), c.device,
                                              out, c.stride, elements_of(c), batches, compute, 0, 0, 0), what);
    }
    char* found = malloc(elements_of(c) * batches * size_of(out));
    need(hipMemcpy(found, c.device, elements_of(c) * batches * size_of(out), DEVICE_TO_HOST), __LINE__);
    int wrong = 0;
    for (int batch = 0; batch < batches; batch++)
        for (int j = 0; j < n; j++)
            for (int i = 0; i < c.stride; i++) {
                size_t at = elements_of(c) * batch + (size_t)j * c.stride + i;
                double complex expected = get(c.host, out, at), is = get(found, out, at);
                double magnitude = 0;
                if (i < m) {
                    double complex sum = 0;
                    magnitude = cabs(3 * expected);
                    for (int l = 0; l < k; l++) {
                        double complex each = element(a, ta, batch, i, l) * element(b, tb, batch, l, j);
                        sum += each, magnitude += 2 * cabs(each);
                    }
                    expected = 2 * sum + 3 * expected;
                }
                if (!(cabs(expected - is) <= magnitude * tolerance(in, compute)) && wrong++ == 0)
                    fprintf(stderr, "%s: batch %d, row %d, column %d: %g%+gi, not %g%+gi\n", what, batch, i, j, creal(is),
                            cimag(is), creal(expected), cimag(expected));
            }
    if (wrong) fprintf(stderr, "%s: %d of %zu are wrong\n", what, wrong, elements_of(c) * batches), failures++;
    free(found);
    release(a), release(b), release(c);
}

int main(void) {
    static const int operations[] = {NONE, TRANSPOSE};
    // A tile or less, and several tiles plus a part of one.
    static const int sizes[][3] = {{16, 16, 16}, {70, 45, 33}, {129, 130, 64}};
    static const struct { const char* name; int in, out, compute; Plain* plain; } types[] = {
        {"sgemm", F32, F32, F32, rocblas_sgemm}, {"dgemm", F64, F64, F64, rocblas_dgemm}, {"hgemm", F16, F16, F16, rocblas_hgemm},
        {"cgemm", C32, C32, C32, rocblas_cgemm}, {"zgemm", C64, C64, C64, rocblas_zgemm}, {"f16 in f32", F16, F16, F32, NULL},
        {"f16 to f32", F16, F32, F32, NULL},     {"bf16 in f32", BF16, BF16, F32, NULL},  {"i8 to i32", I8, I32, I32, NULL},
    };
    void* handle;
    need(rocblas_create_handle(&handle), __LINE__);
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        for (int ta = 0; ta < 2; ta++)
            for (int tb = 0; tb < 2; tb++)
                for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
                    const int* size = sizes[s];
                    // Sums stay small enough to be exact in 11 bits, and in 8 of bf16.
                    int k = types[t].in == BF16 || types[t].out == BF16 ? 8 : size[2];
                    product(handle, types[t].name, types[t].plain, types[t].in, types[t].out, types[t].compute, 0, operations[ta],
                            operations[tb], size[0], size[1], k, 1);
                }
        product(handle, types[t].name, NULL, types[t].in, types[t].out, types[t].compute, 0, NONE, TRANSPOSE, 40, 24, 8, 3);
        product(handle, types[t].name, NULL, types[t].in, types[t].out, types[t].compute, 1, TRANSPOSE, NONE, 24, 40, 8, 4);
    }
    product(handle, "cgemm", rocblas_cgemm, C32, C32, C32, 0, CONJUGATE, NONE, 33, 20, 17, 1);
    product(handle, "zgemm", rocblas_zgemm, C64, C64, C64, 0, NONE, CONJUGATE, 33, 20, 17, 1);
    need(rocblas_destroy_handle(handle), __LINE__);
    if (failures) return fprintf(stderr, "%d products failed\n", failures), 1;
    return 0;
}
