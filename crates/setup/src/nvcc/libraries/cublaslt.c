// cuBLASLt over rocBLAS: products with a bias and an activation by the function that this project's rocBLAS has for them, others by those of
// any rocBLAS.
#include "shim_types.h"
#include "find.c"
#define cublasContext handle
#define cublasLtContext handle
#include "ferrocm_cublas.h"
#include "ferrocm_cublaslt.h"
#include "cublas_calls.h"
#include "rocblas.h"

#define TRY(call)                                                                                                                          \
    do {                                                                                                                                   \
        cublasStatus_t tried = call;                                                                                                       \
        if (tried != CUBLAS_STATUS_SUCCESS) return tried;                                                                                  \
    } while (0)

// What is in the opaque structures.
struct layout {
    cudaDataType type;
    cublasLtOrder_t order;
    uint64_t rows, cols;
    int64_t ld, stride, plane;
    int batch;
    cublasLtBatchMode_t mode;
};
struct product {
    cublasComputeType_t compute;
    cudaDataType scale;
    cublasLtPointerMode_t pointers;
    cublasOperation_t transa, transb, transc;
    cublasFillMode_t fill;
    cublasLtEpilogue_t epilogue;
    int processors, aux_type, bias_type, modes[6], chunks[2];
    const void *bias, *aux, *scales[4], *amax, *aux_scale, *aux_amax, *out_scale, *counters[2];
    int64_t bias_stride, aux_ld, aux_stride, alpha_stride;
    int8_t fast;
};
struct preference {
    uint32_t search, reductions, alignments[4];
    uint64_t workspace, implementations;
    float waves;
};
struct transform {
    cudaDataType scale;
    cublasLtPointerMode_t pointers;
    cublasOperation_t transa, transb;
};
_Static_assert(sizeof(struct layout) <= sizeof(cublasLtMatrixLayoutOpaque_t), "a layout");
_Static_assert(sizeof(struct product) <= sizeof(cublasLtMatmulDescOpaque_t), "a product");
_Static_assert(sizeof(struct preference) <= sizeof(cublasLtMatmulPreferenceOpaque_t), "a preference");
_Static_assert(sizeof(struct transform) <= sizeof(cublasLtMatrixTransformDescOpaque_t), "a transformation");

// Where an attribute is.
struct field {
    unsigned attribute;
    unsigned short at, size;
};
#define FIELD(attribute, in, name) {attribute, offsetof(struct in, name), sizeof(((struct in *)0)->name)}
static const struct field layout_fields[] = {
    FIELD(CUBLASLT_MATRIX_LAYOUT_TYPE, layout, type),
    FIELD(CUBLASLT_MATRIX_LAYOUT_ORDER, layout, order),
    FIELD(CUBLASLT_MATRIX_LAYOUT_ROWS, layout, rows),
    FIELD(CUBLASLT_MATRIX_LAYOUT_COLS, layout, cols),
    FIELD(CUBLASLT_MATRIX_LAYOUT_LD, layout, ld),
    FIELD(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, layout, batch),
    FIELD(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, layout, stride),
    FIELD(CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET, layout, plane),
    FIELD(CUBLASLT_MATRIX_LAYOUT_BATCH_MODE, layout, mode),
    {0, 0, 0},
};
static const struct field product_fields[] = {
    FIELD(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, product, compute),
    FIELD(CUBLASLT_MATMUL_DESC_SCALE_TYPE, product, scale),
    FIELD(CUBLASLT_MATMUL_DESC_POINTER_MODE, product, pointers),
    FIELD(CUBLASLT_MATMUL_DESC_TRANSA, product, transa),
    FIELD(CUBLASLT_MATMUL_DESC_TRANSB, product, transb),
    FIELD(CUBLASLT_MATMUL_DESC_TRANSC, product, transc),
    FIELD(CUBLASLT_MATMUL_DESC_FILL_MODE, product, fill),
    FIELD(CUBLASLT_MATMUL_DESC_EPILOGUE, product, epilogue),
    FIELD(CUBLASLT_MATMUL_DESC_BIAS_POINTER, product, bias),
    FIELD(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, product, bias_stride),
    FIELD(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, product, aux),
    FIELD(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, product, aux_ld),
    FIELD(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, product, aux_stride),
    FIELD(CUBLASLT_MATMUL_DESC_ALPHA_VECTOR_BATCH_STRIDE, product, alpha_stride),
    FIELD(CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, product, processors),
    FIELD(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, product, scales[0]),
    FIELD(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, product, scales[1]),
    FIELD(CUBLASLT_MATMUL_DESC_C_SCALE_POINTER, product, scales[2]),
    FIELD(CUBLASLT_MATMUL_DESC_D_SCALE_POINTER, product, scales[3]),
    FIELD(CUBLASLT_MATMUL_DESC_AMAX_D_POINTER, product, amax),
    FIELD(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, product, aux_type),
    FIELD(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_POINTER, product, aux_scale),
    FIELD(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_AMAX_POINTER, product, aux_amax),
    FIELD(CUBLASLT_MATMUL_DESC_FAST_ACCUM, product, fast),
    FIELD(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, product, bias_type),
    FIELD(CUBLASLT_MATMUL_DESC_ATOMIC_SYNC_NUM_CHUNKS_D_ROWS, product, chunks[0]),
    FIELD(CUBLASLT_MATMUL_DESC_ATOMIC_SYNC_NUM_CHUNKS_D_COLS, product, chunks[1]),
    FIELD(CUBLASLT_MATMUL_DESC_ATOMIC_SYNC_IN_COUNTERS_POINTER, product, counters[0]),
    FIELD(CUBLASLT_MATMUL_DESC_ATOMIC_SYNC_OUT_COUNTERS_POINTER, product, counters[1]),
    FIELD(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, product, modes[0]),
    FIELD(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, product, modes[1]),
    FIELD(CUBLASLT_MATMUL_DESC_C_SCALE_MODE, product, modes[2]),
    FIELD(CUBLASLT_MATMUL_DESC_D_SCALE_MODE, product, modes[3]),
    FIELD(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_MODE, product, modes[4]),
    FIELD(CUBLASLT_MATMUL_DESC_D_OUT_SCALE_MODE, product, modes[5]),
    FIELD(CUBLASLT_MATMUL_DESC_D_OUT_SCALE_POINTER, product, out_scale),
    {0, 0, 0},
};
static const struct field preference_fields[] = {
    FIELD(CUBLASLT_MATMUL_PREF_SEARCH_MODE, preference, search),
    FIELD(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, preference, workspace),
    FIELD(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, preference, reductions),
    FIELD(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, preference, alignments[0]),
    FIELD(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, preference, alignments[1]),
    FIELD(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, preference, alignments[2]),
    FIELD(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, preference, alignments[3]),
    FIELD(CUBLASLT_MATMUL_PREF_MAX_WAVES_COUNT, preference, waves),
    FIELD(CUBLASLT_MATMUL_PREF_IMPL_MASK, preference, implementations),
    {0, 0, 0},
};
static const struct field transform_fields[] = {
    FIELD(CUBLASLT_MATRIX_TRANSFORM_DESC_SCALE_TYPE, transform, scale),
    FIELD(CUBLASLT_MATRIX_TRANSFORM_DESC_POINTER_MODE, transform, pointers),
    FIELD(CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSA, transform, transa),
    FIELD(CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSB, transform, transb),
    {0, 0, 0},
};
static const struct field *find(const struct field *fields, unsigned attribute) {
    for (; fields->size; fields++)
        if (fields->attribute == attribute) return fields;
    return 0;
}
static cublasStatus_t set(const struct field *fields, void *in, unsigned attribute, const void *from, size_t bytes) {
    const struct field *field = find(fields, attribute);
    if (!in || !field || !from || bytes != field->size) return CUBLAS_STATUS_INVALID_VALUE;
    memcpy((char *)in + field->at, from, bytes);
    return CUBLAS_STATUS_SUCCESS;
}
static cublasStatus_t get(const struct field *fields, const void *in, unsigned attribute, void *to, size_t bytes, size_t *written) {
    const struct field *field = find(fields, attribute);
    if (!in || !field || (!bytes && !written)) return CUBLAS_STATUS_INVALID_VALUE;
    if (written) *written = field->size;
    if (!bytes) return CUBLAS_STATUS_SUCCESS;
    if (!to || bytes < field->size) return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(to, (const char *)in + field->at, field->size);
    return CUBLAS_STATUS_SUCCESS;
}
// A new object, or an object in the caller's memory.
#define OBJECT(Name, type, in, fields)                                                                                      \
    cublasStatus_t cublasLt##Name##SetAttribute(cublasLt##type##_t object, cublasLt##in##_t attribute, const void *from, size_t bytes) {     \
        return set(fields, object, attribute, from, bytes);                                                                                \
    }                                                                                                                                      \
    cublasStatus_t cublasLt##Name##GetAttribute(cublasLt##type##_t object, cublasLt##in##_t attribute, void *to, size_t bytes,              \
                                                size_t *written) {                                                                         \
        return get(fields, object, attribute, to, bytes, written);                                                                         \
    }                                                                                                                                      \
    cublasStatus_t cublasLt##Name##Destroy(cublasLt##type##_t object) {                                                                     \
        free(object);                                                                                                                      \
        return CUBLAS_STATUS_SUCCESS;                                                                                                      \
    }
OBJECT(MatrixLayout, MatrixLayout, MatrixLayoutAttribute, layout_fields)
OBJECT(MatmulDesc, MatmulDesc, MatmulDescAttributes, product_fields)
OBJECT(MatmulPreference, MatmulPreference, MatmulPreferenceAttributes, preference_fields)
OBJECT(MatrixTransformDesc, MatrixTransformDesc, MatrixTransformDescAttributes, transform_fields)

cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t object, size_t bytes, cudaDataType type, uint64_t rows,
                                                 uint64_t cols, int64_t ld) {
    if (!object || bytes < sizeof(struct layout)) return CUBLAS_STATUS_INVALID_VALUE;
    *(struct layout *)object = (struct layout){.type = type, .order = CUBLASLT_ORDER_COL, .rows = rows, .cols = cols, .ld = ld, .batch = 1};
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t object, size_t bytes, cublasComputeType_t compute, cudaDataType_t scale) {
    if (!object || bytes < sizeof(struct product)) return CUBLAS_STATUS_INVALID_VALUE;
    *(struct product *)object = (struct product){.compute = compute, .scale = scale, .fill = CUBLAS_FILL_MODE_FULL,
                                                 .epilogue = CUBLASLT_EPILOGUE_DEFAULT, .aux_type = -1, .bias_type = -1};
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreference_t object, size_t bytes) {
    if (!object || bytes < sizeof(struct preference)) return CUBLAS_STATUS_INVALID_VALUE;
    *(struct preference *)object = (struct preference){.reductions = CUBLASLT_REDUCTION_SCHEME_MASK, .alignments = {256, 256, 256, 256},
                                                       .implementations = ~0ull};
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixTransformDescInit_internal(cublasLtMatrixTransformDesc_t object, size_t bytes, cudaDataType scale) {
    if (!object || bytes < sizeof(struct transform)) return CUBLAS_STATUS_INVALID_VALUE;
    *(struct transform *)object = (struct transform){.scale = scale};
    return CUBLAS_STATUS_SUCCESS;
}
#define CREATE(type, ...)                                                                                                                  \
    if (!object) return CUBLAS_STATUS_INVALID_VALUE;                                                                                       \
    type made = calloc(1, sizeof *made);                                                                                                   \
    if (!made) return CUBLAS_STATUS_ALLOC_FAILED;                                                                                          \
    *object = made;                                                                                                                        \
    return __VA_ARGS__
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *object, cudaDataType type, uint64_t rows, uint64_t cols, int64_t ld) {
    CREATE(cublasLtMatrixLayout_t, cublasLtMatrixLayoutInit_internal(made, sizeof *made, type, rows, cols, ld));
}
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *object, cublasComputeType_t compute, cudaDataType_t scale) {
    CREATE(cublasLtMatmulDesc_t, cublasLtMatmulDescInit_internal(made, sizeof *made, compute, scale));
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *object) {
    CREATE(cublasLtMatmulPreference_t, cublasLtMatmulPreferenceInit_internal(made, sizeof *made));
}
cublasStatus_t cublasLtMatrixTransformDescCreate(cublasLtMatrixTransformDesc_t *object, cudaDataType scale) {
    CREATE(cublasLtMatrixTransformDesc_t, cublasLtMatrixTransformDescInit_internal(made, sizeof *made, scale));
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) { return create((void **)handle); }
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) { return destroy(handle); }
const char *cublasLtGetStatusName(cublasStatus_t of) { return status_name(of); }
const char *cublasLtGetStatusString(cublasStatus_t of) { return status_text(of); }
size_t cublasLtGetVersion(void) { return MAJOR * 10000 + MINOR * 100 + PATCH; }
size_t cublasLtGetCudartVersion(void) { return RUNTIME; }
cublasStatus_t cublasLtGetProperty(libraryPropertyType type, int *value) { return property(type, value); }
// There is nothing to cache.
static size_t capacity;
cublasStatus_t cublasLtHeuristicsCacheGetCapacity(size_t *to) {
    if (!to) return CUBLAS_STATUS_INVALID_VALUE;
    *to = capacity;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtHeuristicsCacheSetCapacity(size_t to) {
    capacity = to;
    return CUBLAS_STATUS_SUCCESS;
}
unsigned cublasLtDisableCpuInstructionsSetMask(unsigned mask) {
    (void)mask;
    return 0;
}

// A product, as rocBLAS computes it: by columns.
struct operand {
    const void *at;
    int type, pad;
    int64_t ld, stride;
};
// `Fused` of librocblas.
struct fused {
    int transa, transb;
    int64_t m, n, k;
    const void *alpha;
    struct operand a;
    struct operand b;
    const void *beta;
    struct operand c;
    struct operand d;
    const void *bias;
    int bias_type, activation;
    int64_t batch;
};
enum { NO_ACTIVATION, RELU, GELU };
// The parts of an epilogue.
enum { WITH_RELU = 2, WITH_BIAS = 4, WITH_GELU = 32, WITH_AUX = 128 };
typedef int fused_t(void *, const struct fused *);
static fused_t *fused_function(void) {
    static fused_t *found;
    fused_t *now = __atomic_load_n(&found, __ATOMIC_RELAXED);
    if (!now) {
        void *library = open_library("librocblas.so.5", "FERROCM_ROCBLAS_LIBRARY", rocblas_places);
        now = library ? (fused_t *)dlsym(library, "ferrocm_fused_gemm") : 0;
        __atomic_store_n(&found, now, __ATOMIC_RELAXED);
    }
    return now;
}

static int is_by_rows(const struct layout *of) { return of->order == CUBLASLT_ORDER_ROW; }
static int is_plain(const struct layout *of) {
    return (of->order == CUBLASLT_ORDER_COL || of->order == CUBLASLT_ORDER_ROW) && !of->plane && of->mode == CUBLASLT_BATCH_MODE_STRIDED;
}
// A matrix by rows is the transpose of one by columns.
static int read_by_columns(cublasOperation_t op, const struct layout *of) {
    if (!is_by_rows(of)) return operation(op);
    return op == CUBLAS_OP_N ? 112 : op == CUBLAS_OP_T || datatype(of->type) < 153 || datatype(of->type) == 168 ? 111 : 0;
}
static struct operand operand(const void *at, const struct layout *of) {
    return (struct operand){at, datatype(of->type), 0, of->ld, of->stride};
}

// Checks a product. D = A B by rows is D = B A by columns.
static cublasStatus_t plan(const struct product *of, const struct layout *A, const struct layout *B, const struct layout *C,
                           const struct layout *D, struct fused *to, int *compute) {
    if (!of || !A || !B || !C || !D) return CUBLAS_STATUS_INVALID_VALUE;
    if (!is_plain(A) || !is_plain(B) || !is_plain(C) || !is_plain(D) || C->order != D->order) return CUBLAS_STATUS_NOT_SUPPORTED;
    if ((unsigned)of->transa > CUBLAS_OP_C || (unsigned)of->transb > CUBLAS_OP_C) return CUBLAS_STATUS_INVALID_VALUE;
    if (of->transc != CUBLAS_OP_N || of->fill != CUBLAS_FILL_MODE_FULL || of->pointers > CUBLASLT_POINTER_MODE_DEVICE)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (of->scales[0] || of->scales[1] || of->scales[2] || of->scales[3] || of->amax || of->aux_scale || of->aux_amax || of->out_scale ||
        of->counters[0] || of->counters[1])
        return CUBLAS_STATUS_NOT_SUPPORTED;
    const uint64_t k = of->transa == CUBLAS_OP_N ? A->cols : A->rows;
    if ((of->transa == CUBLAS_OP_N ? A->rows : A->cols) != D->rows || (of->transb == CUBLAS_OP_N ? B->cols : B->rows) != D->cols ||
        (of->transb == CUBLAS_OP_N ? B->rows : B->cols) != k || C->rows != D->rows || C->cols != D->cols)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (A->batch != D->batch || B->batch != D->batch || C->batch != D->batch) return CUBLAS_STATUS_INVALID_VALUE;
    if (datatype(A->type) == 255 || datatype(B->type) == 255 || datatype(C->type) == 255 || datatype(D->type) == 255)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    *compute = compute_type(of->compute, D->type);
    if (*compute == 255 || datatype(of->scale) != *compute) return CUBLAS_STATUS_NOT_SUPPORTED;
    const int swap = is_by_rows(D), ta = read_by_columns(of->transa, A), tb = read_by_columns(of->transb, B);
    if (!ta || !tb) return CUBLAS_STATUS_NOT_SUPPORTED;
    // 111 and 112 are each other's transpose; 113 by columns has none.
    if (swap && (ta == 113 || tb == 113)) return CUBLAS_STATUS_NOT_SUPPORTED;
    to->transa = swap ? 111 + 112 - tb : ta;
    to->transb = swap ? 111 + 112 - ta : tb;
    to->m = (int64_t)(swap ? D->cols : D->rows);
    to->n = (int64_t)(swap ? D->rows : D->cols);
    to->k = (int64_t)k;
    to->a = operand(0, swap ? B : A);
    to->b = operand(0, swap ? A : B);
    to->c = operand(0, C);
    to->d = operand(0, D);
    to->batch = D->batch;
    to->bias_type = of->bias_type < 0 ? to->d.type : datatype((cudaDataType)of->bias_type);
    to->activation = of->epilogue & WITH_RELU ? RELU : of->epilogue & WITH_GELU ? GELU : NO_ACTIVATION;
    if (of->epilogue == CUBLASLT_EPILOGUE_DEFAULT) return CUBLAS_STATUS_SUCCESS;
    // ReLU's second result is a mask of bits.
    const unsigned known = WITH_BIAS | (of->epilogue & WITH_GELU ? WITH_GELU | WITH_AUX : WITH_RELU);
    if ((unsigned)of->epilogue & ~known) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (*compute != 151 || to->a.type != to->b.type || to->c.type != to->d.type || !fused_function()) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (of->epilogue & WITH_BIAS && (swap || of->bias_stride)) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (of->epilogue & WITH_AUX && (swap || (of->aux_type >= 0 && datatype((cudaDataType)of->aux_type) != to->d.type)))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    for (int type, i = 0; i < 3; i++) {
        type = i == 0 ? to->a.type : i == 1 ? to->d.type : to->bias_type;
        if (type != 150 && type != 151 && type != 168) return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    return CUBLAS_STATUS_SUCCESS;
}

// Does the product with the stream and the factors' place set.
static cublasStatus_t compute(struct handle *handle, const struct product *of, struct fused *work, int compute) {
    if (of->epilogue == CUBLASLT_EPILOGUE_DEFAULT) {
        const struct operand *a = &work->a, *b = &work->b, *c = &work->c, *d = &work->d;
        return status(ROC(rocblas_gemm_strided_batched_ex_64)(handle->roc, work->transa, work->transb, work->m, work->n, work->k, work->alpha,
                                                              a->at, a->type, a->ld, a->stride, b->at, b->type, b->ld, b->stride, work->beta,
                                                              c->at, c->type, c->ld, c->stride, d->at, d->type, d->ld, d->stride,
                                                              work->batch, compute, 0, 0, 0));
    }
    fused_t *const function = fused_function();
    if (of->epilogue & WITH_BIAS && !of->bias) return CUBLAS_STATUS_INVALID_VALUE;
    work->bias = of->epilogue & WITH_BIAS ? of->bias : 0;
    if (!(of->epilogue & WITH_AUX)) return status(function(handle->roc, work));
    // The numbers before the activation, rounded as D is, and then the activation of them.
    if (!of->aux || of->aux_ld < work->m) return CUBLAS_STATUS_INVALID_VALUE;
    struct fused first = *work, second = *work;
    const struct operand aux = {of->aux, work->d.type, 0, of->aux_ld, of->aux_stride};
    first.d = aux;
    first.activation = NO_ACTIVATION;
    TRY(status(function(handle->roc, &first)));
    const float zero = 0, one = 1;
    second.k = 0;
    second.alpha = &zero;
    second.beta = &one;
    second.c = aux;
    second.bias = 0;
    TRY(status(ROC(rocblas_set_pointer_mode)(handle->roc, 0)));
    return status(function(handle->roc, &second));
}

// A handle may be used by several threads, and it may be cuBLAS's, whose stream and mode stay.
struct before {
    void *stream;
    int mode;
};
static cublasStatus_t enter(struct handle *handle, cudaStream_t stream, cublasLtPointerMode_t mode, struct before *before) {
    while (__atomic_exchange_n(&handle->lock, 1, __ATOMIC_ACQUIRE)) sched_yield();
    *before = (struct before){0};
    TRY(status(ROC(rocblas_get_stream)(handle->roc, &before->stream)));
    TRY(status(ROC(rocblas_get_pointer_mode)(handle->roc, &before->mode)));
    TRY(status(ROC(rocblas_set_stream)(handle->roc, stream)));
    return status(ROC(rocblas_set_pointer_mode)(handle->roc, mode == CUBLASLT_POINTER_MODE_DEVICE));
}
static void leave(struct handle *handle, const struct before *before) {
    ROC(rocblas_set_pointer_mode)(handle->roc, before->mode);
    ROC(rocblas_set_stream)(handle->roc, before->stream);
    __atomic_store_n(&handle->lock, 0, __ATOMIC_RELEASE);
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void *alpha, const void *A,
                              cublasLtMatrixLayout_t Adesc, const void *B, cublasLtMatrixLayout_t Bdesc, const void *beta, const void *C,
                              cublasLtMatrixLayout_t Cdesc, void *D, cublasLtMatrixLayout_t Ddesc, const cublasLtMatmulAlgo_t *algo,
                              void *workspace, size_t bytes, cudaStream_t stream) {
    (void)algo, (void)workspace, (void)bytes;
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    struct fused work = {.alpha = alpha, .beta = beta};
    const struct product *of = (const struct product *)desc;
    int type;
    TRY(plan(of, (void *)Adesc, (void *)Bdesc, (void *)Cdesc, (void *)Ddesc, &work, &type));
    if (!alpha || !beta) return CUBLAS_STATUS_INVALID_VALUE;
    const int swap = is_by_rows((const struct layout *)Ddesc);
    work.a.at = swap ? B : A;
    work.b.at = swap ? A : B;
    // Without C, beta is 0.
    if (!C) work.c = work.d;
    work.c.at = C ? C : D;
    work.d.at = D;
    struct before before;
    cublasStatus_t done = enter(handle, stream, of->pointers, &before);
    if (done == CUBLAS_STATUS_SUCCESS) done = compute(handle, of, &work, type);
    leave(handle, &before);
    return done;
}

// There is one way to compute a product; rocBLAS chooses its kernels itself.
enum { ALGORITHM = 0, CONFIGURATIONS = 9 };
static void fill_result(cublasLtMatmulHeuristicResult_t *to) {
    *to = (cublasLtMatmulHeuristicResult_t){.state = CUBLAS_STATUS_SUCCESS, .wavesCount = 1};
}
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t A,
                                              cublasLtMatrixLayout_t B, cublasLtMatrixLayout_t C, cublasLtMatrixLayout_t D,
                                              cublasLtMatmulPreference_t preference, int wanted, cublasLtMatmulHeuristicResult_t *results,
                                              int *count) {
    (void)preference;
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (wanted < 1 || !results || !count) return CUBLAS_STATUS_INVALID_VALUE;
    struct fused work = {0};
    int type;
    *count = 0;
    TRY(plan((void *)desc, (void *)A, (void *)B, (void *)C, (void *)D, &work, &type));
    fill_result(results);
    *count = 1;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoGetHeuristicForStream(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t A,
                                                       cublasLtMatrixLayout_t B, cublasLtMatrixLayout_t C, cublasLtMatrixLayout_t D,
                                                       cublasLtMatmulPreference_t preference, int wanted,
                                                       cublasLtMatmulHeuristicResult_t *results, int *count, cudaStream_t stream) {
    (void)stream;
    return cublasLtMatmulAlgoGetHeuristic(handle, desc, A, B, C, D, preference, wanted, results, count);
}
cublasStatus_t cublasLtMatmulAlgoGetIds(cublasLtHandle_t handle, cublasComputeType_t compute, cudaDataType_t scale, cudaDataType_t A,
                                        cudaDataType_t B, cudaDataType_t C, cudaDataType_t D, int wanted, int *ids, int *count) {
    (void)compute, (void)scale, (void)A, (void)B, (void)C, (void)D;
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (wanted < 1 || !ids || !count) return CUBLAS_STATUS_INVALID_VALUE;
    ids[0] = ALGORITHM;
    *count = 1;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoInit(cublasLtHandle_t handle, cublasComputeType_t compute, cudaDataType_t scale, cudaDataType_t A,
                                      cudaDataType_t B, cudaDataType_t C, cudaDataType_t D, int id, cublasLtMatmulAlgo_t *algo) {
    (void)compute, (void)scale, (void)A, (void)B, (void)C, (void)D;
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!algo || id != ALGORITHM) return CUBLAS_STATUS_INVALID_VALUE;
    *algo = (cublasLtMatmulAlgo_t){{0}};
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t A,
                                       cublasLtMatrixLayout_t B, cublasLtMatrixLayout_t C, cublasLtMatrixLayout_t D,
                                       const cublasLtMatmulAlgo_t *algo, cublasLtMatmulHeuristicResult_t *result) {
    int count;
    if (!algo || !result) return CUBLAS_STATUS_INVALID_VALUE;
    const cublasLtMatmulAlgo_t kept = *algo;
    TRY(cublasLtMatmulAlgoGetHeuristic(handle, desc, A, B, C, D, 0, 1, result, &count));
    result->algo = kept;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoCheckForStream(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t A,
                                                cublasLtMatrixLayout_t B, cublasLtMatrixLayout_t C, cublasLtMatrixLayout_t D,
                                                const cublasLtMatmulAlgo_t *algo, cublasLtMatmulHeuristicResult_t *result,
                                                cudaStream_t stream) {
    (void)stream;
    return cublasLtMatmulAlgoCheck(handle, desc, A, B, C, D, algo, result);
}
cublasStatus_t cublasLtMatmulAlgoCapGetAttribute(const cublasLtMatmulAlgo_t *algo, cublasLtMatmulAlgoCapAttributes_t attribute, void *to,
                                                 size_t bytes, size_t *written) {
    if (!algo || (!bytes && !written)) return CUBLAS_STATUS_INVALID_VALUE;
    uint64_t value = 0;
    size_t size = 4;
    switch (attribute) {
    // Lists without an element.
    case CUBLASLT_ALGO_CAP_TILE_IDS: case CUBLASLT_ALGO_CAP_STAGES_IDS: size = 0; break;
    case CUBLASLT_ALGO_CAP_STRIDED_BATCH_SUPPORT: case CUBLASLT_ALGO_CAP_OUT_OF_PLACE_RESULT_SUPPORT:
    case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_A_BYTES: case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_B_BYTES:
    case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_C_BYTES: case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_D_BYTES: value = 1; break;
    case CUBLASLT_ALGO_CAP_POINTER_MODE_MASK: value = CUBLASLT_POINTER_MODE_MASK_HOST | CUBLASLT_POINTER_MODE_MASK_DEVICE; break;
    case CUBLASLT_ALGO_CAP_EPILOGUE_MASK: value = 1 | WITH_RELU | WITH_BIAS | WITH_GELU | WITH_AUX; break;
    case CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS: size = 8; break;
    case CUBLASLT_ALGO_CAP_SPLITK_SUPPORT: case CUBLASLT_ALGO_CAP_REDUCTION_SCHEME_MASK: case CUBLASLT_ALGO_CAP_CTA_SWIZZLING_SUPPORT:
    case CUBLASLT_ALGO_CAP_UPLO_SUPPORT: case CUBLASLT_ALGO_CAP_CUSTOM_OPTION_MAX: case CUBLASLT_ALGO_CAP_CUSTOM_MEMORY_ORDER:
    case CUBLASLT_ALGO_CAP_LD_NEGATIVE: break;
    default: return CUBLAS_STATUS_INVALID_VALUE;
    }
    if (written) *written = size;
    if (!bytes) return CUBLAS_STATUS_SUCCESS;
    if (!to || bytes < size) return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(to, &value, size);
    return CUBLAS_STATUS_SUCCESS;
}
// What is configured is kept, and changes nothing.
static size_t configuration_size(cublasLtMatmulAlgoConfigAttributes_t of) {
    return of == CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID || of == CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID ? 2 : 4;
}
cublasStatus_t cublasLtMatmulAlgoConfigSetAttribute(cublasLtMatmulAlgo_t *algo, cublasLtMatmulAlgoConfigAttributes_t attribute,
                                                    const void *from, size_t bytes) {
    if (!algo || !from || (unsigned)attribute >= CONFIGURATIONS || bytes != configuration_size(attribute)) return CUBLAS_STATUS_INVALID_VALUE;
    memcpy((uint32_t *)algo->data + attribute, from, bytes);
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t *algo, cublasLtMatmulAlgoConfigAttributes_t attribute,
                                                    void *to, size_t bytes, size_t *written) {
    if (!algo || (unsigned)attribute >= CONFIGURATIONS || (!bytes && !written)) return CUBLAS_STATUS_INVALID_VALUE;
    if (written) *written = configuration_size(attribute);
    if (!bytes) return CUBLAS_STATUS_SUCCESS;
    if (!to || bytes < configuration_size(attribute)) return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(to, (const uint32_t *)algo->data + attribute, configuration_size(attribute));
    return CUBLAS_STATUS_SUCCESS;
}

// C = alpha op(A) + beta op(B).
cublasStatus_t cublasLtMatrixTransform(cublasLtHandle_t handle, cublasLtMatrixTransformDesc_t desc, const void *alpha, const void *A,
                                       cublasLtMatrixLayout_t Adesc, const void *beta, const void *B, cublasLtMatrixLayout_t Bdesc, void *C,
                                       cublasLtMatrixLayout_t Cdesc, cudaStream_t stream) {
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    const struct transform *of = (const struct transform *)desc;
    const struct layout *a = (const struct layout *)Adesc, *c = (const struct layout *)Cdesc;
    const struct layout *b = B ? (const struct layout *)Bdesc : a;
    if (!of || !a || !b || !c || !alpha || !A || !C) return CUBLAS_STATUS_INVALID_VALUE;
    const double zero = 0;
    if (!B && of->pointers == CUBLASLT_POINTER_MODE_HOST) beta = &zero;
    if (!beta) return CUBLAS_STATUS_INVALID_VALUE;
    const int is_wide = c->type == CUDA_R_64F;
    if ((c->type != CUDA_R_32F && !is_wide) || a->type != c->type || b->type != c->type || of->scale != c->type || !is_plain(a) ||
        !is_plain(b) || !is_plain(c) || of->pointers > CUBLASLT_POINTER_MODE_DEVICE || a->batch != c->batch || b->batch != c->batch)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    const int swap = is_by_rows(c);
    int ta = read_by_columns(of->transa, a), tb = B ? read_by_columns(of->transb, b) : ta;
    if (!ta || !tb) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (ta == 113) ta = 112;
    if (tb == 113) tb = 112;
    if (swap) ta = 111 + 112 - ta, tb = 111 + 112 - tb;
    const int64_t m = (int64_t)(swap ? c->cols : c->rows), n = (int64_t)(swap ? c->rows : c->cols);
    struct before before;
    cublasStatus_t done = enter(handle, stream, of->pointers, &before);
    if (done == CUBLAS_STATUS_SUCCESS) {
        const void *second = B ? B : A;
        done = is_wide ? status(ROC(rocblas_dgeam_strided_batched_64)(handle->roc, ta, tb, m, n, alpha, A, a->ld, a->stride, beta, second, b->ld,
                                                                      b->stride, C, c->ld, c->stride, c->batch))
                       : status(ROC(rocblas_sgeam_strided_batched_64)(handle->roc, ta, tb, m, n, alpha, A, a->ld, a->stride, beta, second, b->ld,
                                                                      b->stride, C, c->ld, c->stride, c->batch));
    }
    leave(handle, &before);
    return done;
}

// Groups of matrices of different sizes, and emulated precision, are not supported.
cublasStatus_t cublasLtGroupedMatrixLayoutInit_internal(cublasLtMatrixLayout_t object, size_t bytes, cudaDataType type, int groups,
                                                        const void *rows, const void *cols, const void *ld) {
    return (void)object, (void)bytes, (void)type, (void)groups, (void)rows, (void)cols, (void)ld, CUBLAS_STATUS_NOT_SUPPORTED;
}
cublasStatus_t cublasLtGroupedMatrixLayoutCreate(cublasLtMatrixLayout_t *object, cudaDataType type, int groups, const void *rows,
                                                 const void *cols, const void *ld) {
    return (void)object, (void)type, (void)groups, (void)rows, (void)cols, (void)ld, CUBLAS_STATUS_NOT_SUPPORTED;
}
cublasStatus_t cublasLtEmulationDescInit_internal(cublasLtEmulationDesc_t object, size_t bytes) { return (void)object, (void)bytes, CUBLAS_STATUS_NOT_SUPPORTED; }
cublasStatus_t cublasLtEmulationDescCreate(cublasLtEmulationDesc_t *object) { return (void)object, CUBLAS_STATUS_NOT_SUPPORTED; }
cublasStatus_t cublasLtEmulationDescDestroy(cublasLtEmulationDesc_t object) { return (void)object, CUBLAS_STATUS_NOT_SUPPORTED; }
cublasStatus_t cublasLtEmulationDescSetAttribute(cublasLtEmulationDesc_t object, cublasLtEmulationDescAttributes_t attribute, const void *from, size_t bytes) {
    return (void)object, (void)attribute, (void)from, (void)bytes, CUBLAS_STATUS_NOT_SUPPORTED;
}
cublasStatus_t cublasLtEmulationDescGetAttribute(cublasLtEmulationDesc_t object, cublasLtEmulationDescAttributes_t attribute, void *to, size_t bytes, size_t *written) {
    return (void)object, (void)attribute, (void)to, (void)bytes, (void)written, CUBLAS_STATUS_NOT_SUPPORTED;
}

// Nothing is logged.
cublasStatus_t cublasLtLoggerSetCallback(cublasLtLoggerCallback_t callback) { return (void)callback, CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtLoggerSetFile(FILE *file) { return (void)file, CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtLoggerOpenFile(const char *file) { return (void)file, CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtLoggerSetLevel(int level) { return (void)level, CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtLoggerSetMask(int mask) { return (void)mask, CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtLoggerForceDisable(void) { return CUBLAS_STATUS_SUCCESS; }
