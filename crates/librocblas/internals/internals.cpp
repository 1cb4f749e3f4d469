// The C++ functions of AMD's librocblas.so.5 that AMD's rocblas-test needs, and that no public header declares, implemented with the C
// functions of the loaded librocblas.so.5. `cargo xtask test amd-tests rocblas --own-blas` compiles this, and preloads it.
//
// The compiled program determines names, arguments, the layout of rocblas_internal_ostream, and the fields of a handle that it reads.
//
// Checks of numbers (rocblas_internal_check_numerics_*) are missing and return rocblas_status_not_implemented: this project's
// library has no such mode.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <memory>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

#define EXPORT __attribute__((visibility("default")))

struct _rocblas_handle;
enum rocblas_status_ : int {
    rocblas_status_success = 0,
    rocblas_status_invalid_handle = 1,
    rocblas_status_not_implemented = 2,
    rocblas_status_invalid_pointer = 3,
    rocblas_status_memory_error = 5,
    rocblas_status_internal_error = 6,
};
enum rocblas_operation_ : int {};
enum rocblas_fill_ : int {};
enum rocblas_diagonal_ : int {};
enum rocblas_side_ : int {};
enum rocblas_math_mode_ : int {};
enum rocblas_check_matrix_type_ : int {};
enum hipError_t : int {};
struct EXPORT rocblas_bfloat16;
template <typename T>
struct EXPORT rocblas_complex_num {
    T x, y;
};

using Handle = _rocblas_handle*;
using Status = rocblas_status_;
using Float = rocblas_complex_num<float>;
using Double = rocblas_complex_num<double>;

// --- Text -------------------------------------------------------------------------------------------------------------------------

/// A stream that collects the output of its inlined operators, and writes it to a file in one piece.
class EXPORT rocblas_internal_ostream {
    std::ostringstream text;
    // The destination of the text; AMD's has a thread for it.
    std::shared_ptr<int> file;
    [[maybe_unused]] bool yaml = false;
    [[maybe_unused]] bool csv = false;

public:
    explicit rocblas_internal_ostream(int descriptor);
    virtual ~rocblas_internal_ostream();
    void flush();
};
static_assert(sizeof(rocblas_internal_ostream) == 408, "the program has inlined its members");

rocblas_internal_ostream::rocblas_internal_ostream(int descriptor) : file(std::make_shared<int>(descriptor)) {}

rocblas_internal_ostream::~rocblas_internal_ostream() {
    flush();
}

void rocblas_internal_ostream::flush() {
    const std::string whole = text.str();
    text.clear();
    text.str({});
    size_t done = 0;
    while (file && done < whole.size()) {
        const ssize_t written = write(*file, whole.data() + done, whole.size() - done);
        if (written <= 0)
            break;
        done += static_cast<size_t>(written);
    }
}

extern "C" EXPORT void rocblas_abort() {
    std::fflush(nullptr);
    std::abort();
}

// --- The device -------------------------------------------------------------------------------------------------------------------

extern "C" hipError_t hipGetDevice(int*);
extern "C" hipError_t hipGetDevicePropertiesR0600(void*, int);
extern "C" hipError_t hipMalloc(void**, size_t);
extern "C" hipError_t hipFree(void*);
extern "C" hipError_t hipMemcpy(void*, const void*, size_t, int);

EXPORT std::string rocblas_internal_get_arch_name() {
    // Of hipDeviceProp_tR0600.
    constexpr size_t size = 1472, gcnArchName = 1160;
    alignas(16) char properties[2 * size] = {};
    int device = 0;
    if (hipGetDevice(&device) != 0 || hipGetDevicePropertiesR0600(properties, device) != 0)
        return {};
    const std::string name = properties + gcnArchName;
    return name.substr(0, name.find(':'));
}

/// The program reads one field of its handles: the major number of the architecture. For 11, it allows for the precision that sums of
/// 16-bit products lose in gfx11's matrix instructions.
extern "C" EXPORT Status rocblas_create_handle(Handle* handle) {
    constexpr size_t archMajor = 0x660;
    using Create = Status(Handle*);
    const auto create = reinterpret_cast<Create*>(dlsym(RTLD_NEXT, "rocblas_create_handle"));
    const Status status = create(handle);
    // gfx90a is 9.0.10, gfx1100 is 11.0.0.
    const std::string name = rocblas_internal_get_arch_name();
    if (status == rocblas_status_success && name.size() > 5)
        *reinterpret_cast<int*>(reinterpret_cast<char*>(*handle) + archMajor) = std::atoi(name.substr(3, name.size() - 5).c_str());
    return status;
}

/// Nothing has to be loaded before a matrix product.
EXPORT bool rocblas_internal_tensile_is_initialized() {
    return true;
}

/// No product is computed in xf32.
EXPORT bool rocblas_internal_tensile_supports_xdl_math_op(rocblas_math_mode_) {
    return false;
}

EXPORT Status rocblas_internal_convert_hip_to_rocblas_status(hipError_t error) {
    switch (static_cast<int>(error)) {
    case 0:
        return rocblas_status_success;
    case 2:   // hipErrorOutOfMemory
    case 701: // hipErrorLaunchOutOfResources
        return rocblas_status_memory_error;
    case 17: // hipErrorInvalidDevicePointer
        return rocblas_status_invalid_pointer;
    case 101: // hipErrorInvalidDevice
    case 400: // hipErrorInvalidHandle
        return rocblas_status_invalid_handle;
    default:
        return rocblas_status_internal_error;
    }
}

EXPORT Status rocblas_internal_convert_hip_to_rocblas_status_and_log(hipError_t error) {
    return rocblas_internal_convert_hip_to_rocblas_status(error);
}

// --- Routines, which take an offset with every pointer ----------------------------------------------------------------------------

// The C functions behind each routine, under one name for all types.
#define ROUTINES(letter, type)                                                                                                     \
    extern "C" Status rocblas_##letter##axpy_strided_batched(Handle, int, const type*, const type*, int, int64_t, type*, int,     \
                                                             int64_t, int);                                                       \
    extern "C" Status rocblas_##letter##gemm_strided_batched(Handle, rocblas_operation_, rocblas_operation_, int, int, int,       \
                                                             const type*, const type*, int, int64_t, const type*, int, int64_t,   \
                                                             const type*, type*, int, int64_t, int);                              \
    extern "C" Status rocblas_##letter##gemm_batched(Handle, rocblas_operation_, rocblas_operation_, int, int, int, const type*,  \
                                                     const type* const*, int, const type* const*, int, const type*, type* const*, \
                                                     int, int);                                                                   \
    constexpr auto axpy(type) { return rocblas_##letter##axpy_strided_batched; }                                                  \
    constexpr auto gemm(type) { return rocblas_##letter##gemm_strided_batched; }                                                  \
    constexpr auto gemm_batched(type) { return rocblas_##letter##gemm_batched; }

#define TRIANGULAR(letter, type)                                                                                                   \
    extern "C" Status rocblas_##letter##trsm_strided_batched(Handle, rocblas_side_, rocblas_fill_, rocblas_operation_,            \
                                                             rocblas_diagonal_, int, int, const type*, const type*, int, int64_t, \
                                                             type*, int, int64_t, int);                                           \
    extern "C" Status rocblas_##letter##trsm_batched(Handle, rocblas_side_, rocblas_fill_, rocblas_operation_, rocblas_diagonal_, \
                                                     int, int, const type*, const type* const*, int, type* const*, int, int);     \
    extern "C" Status rocblas_##letter##trtri_strided_batched(Handle, rocblas_fill_, rocblas_diagonal_, int, const type*, int,    \
                                                              int64_t, type*, int, int64_t, int);                                 \
    extern "C" Status rocblas_##letter##trtri_batched(Handle, rocblas_fill_, rocblas_diagonal_, int, const type* const*, int,     \
                                                      type* const*, int, int);                                                    \
    constexpr auto trsm(type) { return rocblas_##letter##trsm_strided_batched; }                                                  \
    constexpr auto trsm_batched(type) { return rocblas_##letter##trsm_batched; }                                                  \
    constexpr auto trtri(type) { return rocblas_##letter##trtri_strided_batched; }                                                \
    constexpr auto trtri_batched(type) { return rocblas_##letter##trtri_batched; }

#define SCALE(letters, type, factor)                                                                                               \
    extern "C" Status rocblas_##letters##scal_strided_batched(Handle, int, const factor*, type*, int, int64_t, int);              \
    constexpr auto scal(type, factor) { return rocblas_##letters##scal_strided_batched; }

ROUTINES(h, _Float16)
ROUTINES(s, float)
ROUTINES(d, double)
ROUTINES(c, Float)
ROUTINES(z, Double)
TRIANGULAR(s, float)
TRIANGULAR(d, double)
TRIANGULAR(c, Float)
TRIANGULAR(z, Double)
SCALE(s, float, float)
SCALE(d, double, double)
SCALE(c, Float, Float)
SCALE(z, Double, Double)
SCALE(cs, Float, float)
SCALE(zd, Double, double)
extern "C" Status rocblas_sdot_strided_batched(Handle, int, const float*, int, int64_t, const float*, int, int64_t, int, float*);

// Forms that the C functions lack: a factor for each element of a batch, parts of a batch.
constexpr Status has_no_form = rocblas_status_not_implemented;

/// An array of pointers in device memory, each at an offset in elements from that of another array.
template <typename T>
class Moved {
    T* const* pointers;
    void* own = nullptr;

public:
    Moved(T* const* from, long by, int count) : pointers(from) {
        constexpr int to_device = 1, to_host = 2;
        if (by == 0 || from == nullptr || count <= 0)
            return;
        std::vector<T*> all(static_cast<size_t>(count));
        const size_t size = all.size() * sizeof(T*);
        bool done = hipMemcpy(all.data(), from, size, to_host) == 0;
        for (T*& pointer : all)
            pointer += by;
        done = done && hipMalloc(&own, size) == 0 && hipMemcpy(own, all.data(), size, to_device) == 0;
        pointers = done ? static_cast<T* const*>(own) : nullptr;
    }
    Moved(const Moved&) = delete;
    /// Waits for the work that uses them.
    ~Moved() {
        hipFree(own);
    }
    operator T* const*() const {
        return pointers;
    }
};

template <typename T, typename W>
EXPORT Status rocblas_internal_dot_template(Handle handle, int n, const T* x, long at_x, int step_x, long stride_x, const T* y,
                                            long at_y, int step_y, long stride_y, int count, T* results, W*) {
    return rocblas_sdot_strided_batched(handle, n, x + at_x, step_x, stride_x, y + at_y, step_y, stride_y, count, results);
}
template Status rocblas_internal_dot_template<float, float>(Handle, int, const float*, long, int, long, const float*, long, int, long,
                                                            int, float*, float*);

template <typename T>
EXPORT Status rocblas_internal_axpy_template(Handle handle, int n, const T* alpha, long stride_alpha, const T* x, long at_x, int step_x,
                                             long stride_x, T* y, long at_y, int step_y, long stride_y, int count) {
    if (stride_alpha != 0)
        return has_no_form;
    return axpy(T())(handle, n, alpha, x + at_x, step_x, stride_x, y + at_y, step_y, stride_y, count);
}

template <typename T, typename A>
EXPORT Status rocblas_internal_scal_template(Handle handle, int n, const A* alpha, long stride_alpha, T* x, long at_x, int step_x,
                                             long stride_x, int count) {
    if (stride_alpha != 0)
        return has_no_form;
    return scal(T(), A())(handle, n, alpha, x + at_x, step_x, stride_x, count);
}

template <typename T>
EXPORT Status rocblas_internal_gemm_template(Handle handle, rocblas_operation_ trans_a, rocblas_operation_ trans_b, int m, int n, int k,
                                             const T* alpha, const T* a, long at_a, int lda, long stride_a, const T* b, long at_b,
                                             int ldb, long stride_b, const T* beta, T* c, long at_c, int ldc, long stride_c,
                                             int count) {
    return gemm(T())(handle, trans_a, trans_b, m, n, k, alpha, a + at_a, lda, stride_a, b + at_b, ldb, stride_b, beta, c + at_c, ldc,
                     stride_c, count);
}

template <typename T>
EXPORT Status rocblas_internal_gemm_batched_template(Handle handle, rocblas_operation_ trans_a, rocblas_operation_ trans_b, int m,
                                                     int n, int k, const T* alpha, const T* const* a, long at_a, int lda, long,
                                                     const T* const* b, long at_b, int ldb, long, const T* beta, T* const* c,
                                                     long at_c, int ldc, long, int count) {
    const Moved<const T> moved_a(a, at_a, count), moved_b(b, at_b, count);
    const Moved<T> moved_c(c, at_c, count);
    return gemm_batched(T())(handle, trans_a, trans_b, m, n, k, alpha, moved_a, lda, moved_b, ldb, beta, moved_c, ldc, count);
}

template <typename T>
EXPORT Status rocblas_internal_trsm_template(Handle handle, rocblas_side_ side, rocblas_fill_ fill, rocblas_operation_ trans,
                                             rocblas_diagonal_ diag, int m, int n, const T* alpha, const T* a, long at_a, int lda,
                                             long stride_a, T* b, long at_b, int ldb, long stride_b, int count, bool, void*, void*,
                                             void*, void*, const T*, int, long, long) {
    return trsm(T())(handle, side, fill, trans, diag, m, n, alpha, a + at_a, lda, stride_a, b + at_b, ldb, stride_b, count);
}

template <typename T>
EXPORT Status rocblas_internal_trsm_batched_template(Handle handle, rocblas_side_ side, rocblas_fill_ fill, rocblas_operation_ trans,
                                                     rocblas_diagonal_ diag, int m, int n, const T* alpha, const T* const* a,
                                                     long at_a, int lda, long, T* const* b, long at_b, int ldb, long, int count, bool,
                                                     void*, void*, void*, void*, const T* const*, int, long, long) {
    const Moved<const T> moved_a(a, at_a, count);
    const Moved<T> moved_b(b, at_b, count);
    return trsm_batched(T())(handle, side, fill, trans, diag, m, n, alpha, moved_a, lda, moved_b, ldb, count);
}

/// The routines here take their memory from the handle, so the caller provides at most one element of each kind.
static Status little(std::initializer_list<size_t*> sizes) {
    for (size_t* size : sizes)
        if (size != nullptr)
            *size = 64;
    return rocblas_status_success;
}

template <typename T>
EXPORT Status rocblas_internal_trsm_workspace_size(rocblas_side_, rocblas_operation_, int, int, int, int, size_t* a, size_t* b,
                                                   size_t* c, size_t* d, size_t* e) {
    return little({a, b, c, d, e});
}

template <typename T>
EXPORT Status rocblas_internal_trsm_batched_workspace_size(rocblas_side_, rocblas_operation_, int, int, int, int, size_t* a, size_t* b,
                                                           size_t* c, size_t* d, size_t* e) {
    return little({a, b, c, d, e});
}

template <typename T>
EXPORT Status rocblas_internal_trsm_workspace_max_size_64(rocblas_side_, long, long, long, size_t* a, size_t* b, size_t* c) {
    return little({a, b, c});
}

template <typename T>
EXPORT Status rocblas_internal_trsm_batched_workspace_max_size_64(rocblas_side_, long, long, long, size_t* a, size_t* b, size_t* c,
                                                                  size_t* d, size_t* e) {
    return little({a, b, c, d, e});
}

EXPORT size_t rocblas_internal_trtri_temp_elements(int, int) {
    return 1;
}

template <typename T>
EXPORT Status rocblas_internal_trtri_template(Handle handle, rocblas_fill_ fill, rocblas_diagonal_ diag, int n, const T* a, long at_a,
                                              int lda, long stride_a, long, T* inverse, long at_inverse, int ld_inverse,
                                              long stride_inverse, long, int count, int parts, T*) {
    if (parts != 1)
        return has_no_form;
    return trtri(T())(handle, fill, diag, n, a + at_a, lda, stride_a, inverse + at_inverse, ld_inverse, stride_inverse, count);
}

template <typename T>
EXPORT Status rocblas_internal_trtri_batched_template(Handle handle, rocblas_fill_ fill, rocblas_diagonal_ diag, int n,
                                                      const T* const* a, long at_a, int lda, long, long, T* const* inverse,
                                                      long at_inverse, int ld_inverse, long, long, int count, int parts, T* const*) {
    if (parts != 1)
        return has_no_form;
    const Moved<const T> moved_a(a, at_a, count);
    const Moved<T> moved_inverse(inverse, at_inverse, count);
    return trtri_batched(T())(handle, fill, diag, n, moved_a, lda, moved_inverse, ld_inverse, count);
}

#define WITH_SCALARS(type)                                                                                                         \
    template Status rocblas_internal_axpy_template<type>(Handle, int, const type*, long, const type*, long, int, long, type*, long, \
                                                         int, long, int);                                                         \
    template Status rocblas_internal_gemm_template<type>(Handle, rocblas_operation_, rocblas_operation_, int, int, int,           \
                                                         const type*, const type*, long, int, long, const type*, long, int, long, \
                                                         const type*, type*, long, int, long, int);                               \
    template Status rocblas_internal_gemm_batched_template<type>(                                                                 \
        Handle, rocblas_operation_, rocblas_operation_, int, int, int, const type*, const type* const*, long, int, long,          \
        const type* const*, long, int, long, const type*, type* const*, long, int, long, int);

#define WITH_TRIANGLES(type)                                                                                                       \
    template Status rocblas_internal_trsm_template<type>(Handle, rocblas_side_, rocblas_fill_, rocblas_operation_,                \
                                                         rocblas_diagonal_, int, int, const type*, const type*, long, int, long,  \
                                                         type*, long, int, long, int, bool, void*, void*, void*, void*,           \
                                                         const type*, int, long, long);                                           \
    template Status rocblas_internal_trsm_batched_template<type>(                                                                 \
        Handle, rocblas_side_, rocblas_fill_, rocblas_operation_, rocblas_diagonal_, int, int, const type*, const type* const*,   \
        long, int, long, type* const*, long, int, long, int, bool, void*, void*, void*, void*, const type* const*, int, long,     \
        long);                                                                                                                    \
    template Status rocblas_internal_trsm_workspace_size<type>(rocblas_side_, rocblas_operation_, int, int, int, int, size_t*,    \
                                                               size_t*, size_t*, size_t*, size_t*);                               \
    template Status rocblas_internal_trsm_batched_workspace_size<type>(rocblas_side_, rocblas_operation_, int, int, int, int,     \
                                                                       size_t*, size_t*, size_t*, size_t*, size_t*);              \
    template Status rocblas_internal_trsm_workspace_max_size_64<type>(rocblas_side_, long, long, long, size_t*, size_t*,          \
                                                                      size_t*);                                                   \
    template Status rocblas_internal_trsm_batched_workspace_max_size_64<type>(rocblas_side_, long, long, long, size_t*, size_t*,  \
                                                                              size_t*, size_t*, size_t*);                         \
    template Status rocblas_internal_trtri_template<type>(Handle, rocblas_fill_, rocblas_diagonal_, int, const type*, long, int,  \
                                                          long, long, type*, long, int, long, long, int, int, type*);             \
    template Status rocblas_internal_trtri_batched_template<type>(Handle, rocblas_fill_, rocblas_diagonal_, int,                  \
                                                                  const type* const*, long, int, long, long, type* const*, long,  \
                                                                  int, long, long, int, int, type* const*);

WITH_SCALARS(_Float16)
WITH_SCALARS(float)
WITH_SCALARS(double)
WITH_SCALARS(Float)
WITH_SCALARS(Double)
WITH_TRIANGLES(float)
WITH_TRIANGLES(double)
WITH_TRIANGLES(Float)
WITH_TRIANGLES(Double)

#define WITH_FACTOR(type, factor)                                                                                                  \
    template Status rocblas_internal_scal_template<type, factor>(Handle, int, const factor*, long, type*, long, int, long, int);
WITH_FACTOR(float, float)
WITH_FACTOR(double, double)
WITH_FACTOR(Float, Float)
WITH_FACTOR(Double, Double)
WITH_FACTOR(Float, float)
WITH_FACTOR(Double, double)

// --- Checks of numbers ------------------------------------------------------------------------------------------------------------

template <typename P>
EXPORT Status rocblas_internal_check_numerics_vector_template(const char*, Handle, long, P, long, long, long, long, int, bool) {
    return rocblas_status_not_implemented;
}

template <typename P>
EXPORT Status rocblas_internal_check_numerics_matrix_template(const char*, Handle, rocblas_operation_, rocblas_fill_,
                                                              rocblas_check_matrix_type_, long, long, P, long, long, long, long, int,
                                                              bool) {
    return rocblas_status_not_implemented;
}

#define WITH_CHECKS(pointer)                                                                                                       \
    template Status rocblas_internal_check_numerics_vector_template<pointer>(const char*, Handle, long, pointer, long, long, long, \
                                                                             long, int, bool);                                    \
    template Status rocblas_internal_check_numerics_matrix_template<pointer>(                                                     \
        const char*, Handle, rocblas_operation_, rocblas_fill_, rocblas_check_matrix_type_, long, long, pointer, long, long,      \
        long, long, int, bool);
#define WITH_BOTH_CHECKS(type)                                                                                                     \
    WITH_CHECKS(type*)                                                                                                            \
    WITH_CHECKS(type* const*)
WITH_BOTH_CHECKS(_Float16)
WITH_BOTH_CHECKS(rocblas_bfloat16)
WITH_BOTH_CHECKS(float)
WITH_BOTH_CHECKS(double)
WITH_BOTH_CHECKS(Float)
WITH_BOTH_CHECKS(Double)
