//! The table on top of a fake cuBLAS that notes what arrives, and the order of the crate's modules.

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use cuda_sys::cublas::{
    Builder, cuDoubleComplex, cublasAtomicsMode_t, cublasComputeType_t, cublasDiagType_t, cublasFillMode_t,
    cublasGemmAlgo_t, cublasHandle_t, cublasMath_t, cublasOperation_t, cublasPointerMode_t, cublasSideMode_t,
    cublasStatus_t, cudaDataType, cudaStream_t,
};
use rocblas_sys::*;

/// The lowest first. Those of one row know each other.
const LAYERS: &[&[&str]] = &[
    &["convert", "device"],
    &["library"],
    &["calls", "factors", "separate"],
    &["forward", "general", "products"],
    &["made"],
];

#[test]
fn no_module_uses_a_higher_one() {
    layers_test::check_modules(env!("CARGO_MANIFEST_DIR"), LAYERS);
}

const OK: rocblas_status = rocblas_status::rocblas_status_success;
const DONE: cublasStatus_t = cublasStatus_t::CUBLAS_STATUS_SUCCESS;

/// The calls that have arrived, as text, and the settings of the one handle.
struct Fake {
    calls: Vec<String>,
    mode: cublasPointerMode_t,
    atomics: cublasAtomicsMode_t,
    math: cublasMath_t,
}

impl Fake {
    const NEW: Self = Self {
        calls: Vec::new(),
        mode: cublasPointerMode_t::CUBLAS_POINTER_MODE_HOST,
        atomics: cublasAtomicsMode_t::CUBLAS_ATOMICS_NOT_ALLOWED,
        math: cublasMath_t::CUBLAS_DEFAULT_MATH,
    };
}

static FAKE: Mutex<Fake> = Mutex::new(Fake::NEW);
/// Tests take turns: the fake is one for all of them.
static TURN: Mutex<()> = Mutex::new(());

fn fake() -> MutexGuard<'static, Fake> {
    FAKE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Notes a call: pointers by their address, everything else as it prints.
macro_rules! note {
    ($name:literal $($argument:expr),*) => {{
        let list: Vec<String> = vec![$(format!("{:?}", $argument)),*];
        fake().calls.push(format!("{} {}", $name, list.join(" ")));
        DONE
    }};
}

unsafe extern "C" fn create(handle: *mut cublasHandle_t) -> cublasStatus_t {
    // SAFETY: the caller passes a place.
    unsafe { handle.write(HANDLE.cast()) };
    note!("create")
}

unsafe extern "C" fn destroy(handle: cublasHandle_t) -> cublasStatus_t {
    note!("destroy" handle)
}

unsafe extern "C" fn set_stream(_: cublasHandle_t, stream: cudaStream_t) -> cublasStatus_t {
    note!("stream" stream)
}

unsafe extern "C" fn set_mode(_: cublasHandle_t, mode: cublasPointerMode_t) -> cublasStatus_t {
    fake().mode = mode;
    DONE
}

unsafe extern "C" fn get_mode(_: cublasHandle_t, mode: *mut cublasPointerMode_t) -> cublasStatus_t {
    // SAFETY: the caller passes a place.
    unsafe { mode.write(fake().mode) };
    DONE
}

unsafe extern "C" fn set_atomics(_: cublasHandle_t, mode: cublasAtomicsMode_t) -> cublasStatus_t {
    fake().atomics = mode;
    DONE
}

unsafe extern "C" fn get_atomics(_: cublasHandle_t, mode: *mut cublasAtomicsMode_t) -> cublasStatus_t {
    // SAFETY: the caller passes a place.
    unsafe { mode.write(fake().atomics) };
    DONE
}

unsafe extern "C" fn set_math(_: cublasHandle_t, mode: cublasMath_t) -> cublasStatus_t {
    fake().math = mode;
    DONE
}

unsafe extern "C" fn get_math(_: cublasHandle_t, mode: *mut cublasMath_t) -> cublasStatus_t {
    // SAFETY: the caller passes a place.
    unsafe { mode.write(fake().math) };
    DONE
}

unsafe extern "C" fn sgemm(
    handle: cublasHandle_t,
    trans_a: cublasOperation_t,
    trans_b: cublasOperation_t,
    m: i32,
    n: i32,
    k: i32,
    alpha: *const f32,
    a: *const f32,
    lda: i32,
    b: *const f32,
    ldb: i32,
    beta: *const f32,
    c: *mut f32,
    ldc: i32,
) -> cublasStatus_t {
    note!("sgemm" handle, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
}

unsafe extern "C" fn dtrsm(
    _: cublasHandle_t,
    side: cublasSideMode_t,
    uplo: cublasFillMode_t,
    trans: cublasOperation_t,
    diag: cublasDiagType_t,
    m: i64,
    n: i64,
    alpha: *const f64,
    a: *const f64,
    lda: i64,
    b: *mut f64,
    ldb: i64,
) -> cublasStatus_t {
    note!("dtrsm" side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb)
}

unsafe extern "C" fn gemm_ex(
    _: cublasHandle_t,
    trans_a: cublasOperation_t,
    trans_b: cublasOperation_t,
    m: i32,
    n: i32,
    k: i32,
    alpha: *const c_void,
    a: *const c_void,
    a_type: cudaDataType,
    lda: i32,
    b: *const c_void,
    b_type: cudaDataType,
    ldb: i32,
    _beta: *const c_void,
    c: *mut c_void,
    c_type: cudaDataType,
    ldc: i32,
    compute: cublasComputeType_t,
    algorithm: cublasGemmAlgo_t,
) -> cublasStatus_t {
    note!("gemm_ex" trans_a, trans_b, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, c, c_type, ldc, compute, algorithm.0)
}

unsafe extern "C" fn gemm_strided_ex(
    _: cublasHandle_t,
    trans_a: cublasOperation_t,
    trans_b: cublasOperation_t,
    m: i32,
    n: i32,
    k: i32,
    _alpha: *const c_void,
    a: *const c_void,
    a_type: cudaDataType,
    lda: i32,
    stride_a: i64,
    b: *const c_void,
    b_type: cudaDataType,
    ldb: i32,
    stride_b: i64,
    _beta: *const c_void,
    c: *mut c_void,
    c_type: cudaDataType,
    ldc: i32,
    stride_c: i64,
    batch: i32,
    compute: cublasComputeType_t,
    _algorithm: cublasGemmAlgo_t,
) -> cublasStatus_t {
    note!("gemm_strided" trans_a, trans_b, m, n, k, a, a_type, lda, stride_a, b, b_type, ldb, stride_b, c, c_type, ldc,
        stride_c, batch, compute)
}

unsafe extern "C" fn cher(
    _: cublasHandle_t,
    uplo: cublasFillMode_t,
    n: i32,
    alpha: *const f32,
    x: *const cuda_sys::cublas::cuComplex,
    incx: i32,
    a: *mut cuda_sys::cublas::cuComplex,
    lda: i32,
) -> cublasStatus_t {
    let _ = note!("cher" uplo, n, alpha, x, incx, a, lda);
    cublasStatus_t::CUBLAS_STATUS_ARCH_MISMATCH
}

unsafe extern "C" fn zscal(
    _: cublasHandle_t,
    _n: i32,
    alpha: *const cuDoubleComplex,
    _x: *mut cuDoubleComplex,
    _incx: i32,
) -> cublasStatus_t {
    // SAFETY: the caller passes a factor on the host.
    let value = unsafe { alpha.read() };
    note!("zscal" alpha.addr() % 16, value.x, value.y)
}

unsafe extern "C" fn zdotu(
    _: cublasHandle_t,
    _n: i32,
    _x: *const cuDoubleComplex,
    _incx: i32,
    _y: *const cuDoubleComplex,
    _incy: i32,
    result: *mut cuDoubleComplex,
) -> cublasStatus_t {
    if fake().mode == cublasPointerMode_t::CUBLAS_POINTER_MODE_HOST {
        // SAFETY: the caller passes a place on the host.
        unsafe { result.write(cuDoubleComplex { x: 3.0, y: 4.0 }) };
    }
    note!("zdotu" result.addr() % 16)
}

static ONE: f32 = 1.0;
static ONE_WIDE: f64 = 1.0;
const HANDLE: *mut c_void = std::ptr::without_provenance_mut(0x77);

/// A pointer that nothing reads.
fn at<T>(address: usize) -> *mut T {
    std::ptr::without_provenance_mut(address)
}

/// The table, whose fake has no calls yet, and the turn of the test.
fn table() -> (&'static Table, MutexGuard<'static, ()>) {
    static CUBLAS: LazyLock<&'static cuda_sys::cublas::Table> = LazyLock::new(|| {
        let mut builder = Builder::new("fake", "1.0");
        builder
            .cublasCreate_v2(create)
            .cublasDestroy_v2(destroy)
            .cublasSetStream_v2(set_stream)
            .cublasSetPointerMode_v2(set_mode)
            .cublasGetPointerMode_v2(get_mode)
            .cublasSetAtomicsMode(set_atomics)
            .cublasGetAtomicsMode(get_atomics)
            .cublasSetMathMode(set_math)
            .cublasGetMathMode(get_math)
            .cublasSgemm_v2(sgemm)
            .cublasDtrsm_v2_64(dtrsm)
            .cublasGemmEx(gemm_ex)
            .cublasGemmStridedBatchedEx(gemm_strided_ex)
            .cublasZscal_v2(zscal)
            .cublasZdotu_v2(zdotu)
            .cublasCher_v2(cher);
        // SAFETY: the functions only note their arguments.
        unsafe { builder.finish() }
    });
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    *fake() = Fake::NEW;
    (crate::table(*CUBLAS).unwrap(), turn)
}

fn calls() -> Vec<String> {
    std::mem::take(&mut fake().calls)
}

const NONE: rocblas_operation = rocblas_operation::rocblas_operation_none;
const TRANSPOSE: rocblas_operation = rocblas_operation::rocblas_operation_transpose;
const CONJUGATE: rocblas_operation = rocblas_operation::rocblas_operation_conjugate_transpose;

#[test]
fn handles_and_settings_are_cublass() {
    let (table, _turn) = table();
    let mut handle = null_mut();
    // SAFETY: the fake only notes its arguments, and every place is one to write to.
    unsafe {
        assert_eq!((table.rocblas_create_handle)(&mut handle), OK);
        assert_eq!(handle.addr(), HANDLE.addr());
        assert_eq!((table.rocblas_set_stream)(handle, at(0x50)), OK);
        let device = rocblas_pointer_mode::rocblas_pointer_mode_device;
        let mut mode = rocblas_pointer_mode::rocblas_pointer_mode_host;
        assert_eq!((table.rocblas_set_pointer_mode)(handle, device), OK);
        assert_eq!((table.rocblas_get_pointer_mode)(handle, &mut mode), OK);
        assert_eq!(mode, device);
        let (mut mode, allowed) = (
            rocblas_atomics_mode::rocblas_atomics_not_allowed,
            rocblas_atomics_mode::rocblas_atomics_allowed,
        );
        assert_eq!((table.rocblas_set_atomics_mode)(handle, allowed), OK);
        assert_eq!((table.rocblas_get_atomics_mode)(handle, &mut mode), OK);
        assert_eq!(mode, allowed);
        let (mut mode, xf32) =
            (rocblas_math_mode::rocblas_default_math, rocblas_math_mode::rocblas_xf32_xdl_math_op);
        assert_eq!((table.rocblas_set_math_mode)(handle, xf32), OK);
        assert_eq!(fake().math, cublasMath_t::CUBLAS_TF32_TENSOR_OP_MATH);
        assert_eq!((table.rocblas_get_math_mode)(handle, &mut mode), OK);
        assert_eq!(mode, xf32);
        assert_eq!((table.rocblas_destroy_handle)(handle), OK);
    }
    assert_eq!(calls(), ["create ", "stream 0x50", "destroy 0x77"]);
}

#[test]
fn arguments_arrive_in_their_order_and_under_cublass_names() {
    let (table, _turn) = table();
    let (handle, alpha, solved) = (HANDLE.cast(), &raw const ONE, &raw const ONE_WIDE);
    // SAFETY: the fake only notes its arguments, and the factor is on the host.
    unsafe {
        let status = (table.rocblas_sgemm)(
            handle,
            TRANSPOSE,
            CONJUGATE,
            1,
            2,
            3,
            alpha,
            at(5),
            6,
            at(7),
            8,
            at(9),
            at(10),
            11,
        );
        assert_eq!(status, OK);
        let status = (table.rocblas_dtrsm_64)(
            handle,
            rocblas_side::rocblas_side_right,
            rocblas_fill::rocblas_fill_lower,
            NONE,
            rocblas_diagonal::rocblas_diagonal_unit,
            1 << 40,
            2,
            solved,
            at(4),
            5,
            at(6),
            7,
        );
        assert_eq!(status, OK);
    }
    assert_eq!(
        calls(),
        [
            format!("sgemm 0x77 CUBLAS_OP_T CUBLAS_OP_C 1 2 3 {alpha:?} 0x5 6 0x7 8 0x9 0xa 11"),
            format!(
                "dtrsm CUBLAS_SIDE_RIGHT CUBLAS_FILL_MODE_LOWER CUBLAS_OP_N CUBLAS_DIAG_UNIT 1099511627776 2 {solved:?} 0x4 5 0x6 7"
            ),
        ]
    );
}

#[test]
fn statuses_are_translated_and_wrong_values_do_not_arrive() {
    let (table, _turn) = table();
    let (handle, upper) = (HANDLE.cast(), rocblas_fill::rocblas_fill_upper);
    // SAFETY: the fake only notes its arguments.
    unsafe {
        let status = (table.rocblas_cher)(handle, upper, 1, at(2), at(3), 4, at(5), 6);
        assert_eq!(status, rocblas_status::rocblas_status_arch_mismatch);
        assert_eq!(calls(), ["cher CUBLAS_FILL_MODE_UPPER 1 0x2 0x3 4 0x5 6"]);
        let status = (table.rocblas_cher)(handle, rocblas_fill(99), 1, at(2), at(3), 4, at(5), 6);
        assert_eq!(status, rocblas_status::rocblas_status_invalid_value);
        let status = (table.rocblas_cher)(null_mut(), upper, 1, at(2), at(3), 4, at(5), 6);
        assert_eq!(status, rocblas_status::rocblas_status_invalid_handle);
        // cuBLAS may lack a function.
        let status = (table.rocblas_sscal)(handle, 1, at(2), at(3), 4);
        assert_eq!(status, rocblas_status::rocblas_status_not_implemented);
        let text = std::ffi::CStr::from_ptr((table.rocblas_status_to_string)(status));
        assert_eq!(text, c"rocblas_status_not_implemented");
    }
    assert!(calls().is_empty());
    assert!(!table.has("rocblas_strtri") && table.has("rocblas_sscal"));
    for name in crate::functions() {
        assert!(table.has(name), "{name}");
    }
    assert!(crate::functions().count() > 700);
}

/// `gemm_ex` of halves into singles, computed in singles.
///
/// # Safety
/// `beta` is on the host.
unsafe fn product(table: &Table, beta: *const f32, c: usize, d: usize) -> rocblas_status {
    let (half, single) = (rocblas_datatype::rocblas_datatype_f16_r, rocblas_datatype::rocblas_datatype_f32_r);
    let algorithm = rocblas_gemm_algo::rocblas_gemm_algo_standard;
    // SAFETY: the fake only notes its arguments.
    unsafe {
        (table.rocblas_gemm_ex)(
            HANDLE.cast(),
            NONE,
            TRANSPOSE,
            1,
            2,
            3,
            (&raw const ONE).cast(),
            at::<c_void>(5),
            half,
            6,
            at::<c_void>(7),
            half,
            8,
            beta.cast(),
            at::<c_void>(c),
            single,
            11,
            at(d),
            single,
            11,
            single,
            algorithm,
            0,
            0,
        )
    }
}

#[test]
fn products_by_type_write_where_they_read_unless_nothing_counts() {
    let (table, _turn) = table();
    let expected = format!(
        "gemm_ex CUBLAS_OP_N CUBLAS_OP_T 1 2 3 {:?} 0x5 CUDA_R_16F 6 0x7 CUDA_R_16F 8 0xd CUDA_R_32F 11 \
         CUBLAS_COMPUTE_32F -1",
        &raw const ONE
    );
    // SAFETY: the factors are on the host, or not read.
    unsafe {
        assert_eq!(product(table, &1.0, 13, 13), OK);
        assert_eq!(product(table, &0.0, 10, 13), OK);
        // cuBLASLt would compute it, if it had something to do.
        assert_eq!(product(table, &1.0, 10, 13), rocblas_status::rocblas_status_not_implemented);
        fake().mode = cublasPointerMode_t::CUBLAS_POINTER_MODE_DEVICE;
        assert_eq!(product(table, null(), 10, 13), rocblas_status::rocblas_status_not_implemented);
        assert_eq!(product(table, null(), 13, 13), OK);
    }
    assert_eq!(calls(), vec![expected; 3]);
}

#[test]
fn halves_times_a_vector_are_a_product_of_rows() {
    let (table, _turn) = table();
    let vector = |trans, incx| {
        // SAFETY: the fake only notes its arguments.
        unsafe {
            (table.rocblas_hssgemv_strided_batched)(
                HANDLE.cast(),
                trans,
                20,
                30,
                at(1),
                at(2),
                21,
                3,
                at(4),
                incx,
                5,
                at(6),
                at(7),
                8,
                9,
                10,
            )
        }
    };
    assert_eq!(vector(NONE, 2), OK);
    assert_eq!(vector(TRANSPOSE, 2), OK);
    assert_eq!(vector(NONE, -2), rocblas_status::rocblas_status_not_implemented);
    let rest = "0x4 CUDA_R_16F 2 5 0x2 CUDA_R_16F 21 3 0x7 CUDA_R_32F 8 9 10 CUBLAS_COMPUTE_32F";
    assert_eq!(
        calls(),
        [
            format!("gemm_strided CUBLAS_OP_N CUBLAS_OP_T 1 20 30 {rest}"),
            format!("gemm_strided CUBLAS_OP_N CUBLAS_OP_N 1 30 20 {rest}"),
        ]
    );
}

#[test]
fn a_strided_batch_of_solves_is_one_call_each() {
    let (table, _turn) = table();
    // SAFETY: the fake only notes its arguments.
    let status = unsafe {
        (table.rocblas_dtrsm_strided_batched_64)(
            HANDLE.cast(),
            rocblas_side::rocblas_side_left,
            rocblas_fill::rocblas_fill_upper,
            NONE,
            rocblas_diagonal::rocblas_diagonal_non_unit,
            2,
            3,
            &raw const ONE_WIDE,
            at(0x100),
            5,
            16,
            at(0x1000),
            6,
            -1,
            2,
        )
    };
    assert_eq!(status, OK);
    let alpha = &raw const ONE_WIDE;
    let before = format!(
        "dtrsm CUBLAS_SIDE_LEFT CUBLAS_FILL_MODE_UPPER CUBLAS_OP_N CUBLAS_DIAG_NON_UNIT 2 3 {alpha:?}"
    );
    assert_eq!(calls(), [format!("{before} 0x100 5 0x1000 6"), format!("{before} 0x180 5 0xff8 6")]);
}

#[test]
fn each_member_of_a_strided_batch_has_its_operands_and_its_result() {
    let (table, _turn) = table();
    let mut results = [rocblas_double_complex { x: 0.0, y: 0.0 }; 2];
    // SAFETY: the fake writes one result for each call.
    let status = unsafe {
        (table.rocblas_zdotu_strided_batched)(
            HANDLE.cast(),
            1,
            at(0x100),
            3,
            4,
            at(0x200),
            5,
            6,
            2,
            results.as_mut_ptr(),
        )
    };
    assert_eq!(status, OK);
    assert!(results.iter().all(|result| (result.x, result.y) == (3.0, 4.0)));
    // SAFETY: there is nothing to call.
    let status =
        unsafe { (table.rocblas_zscal_strided_batched)(HANDLE.cast(), 1, at(0x10), at(2), 3, 4, -1) };
    assert_eq!(status, rocblas_status::rocblas_status_invalid_size);
    assert_eq!(calls(), ["zdotu 0", "zdotu 0"]);
}

#[test]
fn without_a_factor_on_the_host_products_have_no_depth() {
    let (table, _turn) = table();
    let zero = -0.0_f32;
    let product = |alpha| {
        // SAFETY: the fake only notes its arguments; a factor on the host is one.
        unsafe {
            (table.rocblas_sgemm)(
                HANDLE.cast(),
                NONE,
                NONE,
                1,
                2,
                3,
                alpha,
                at(5),
                6,
                at(7),
                8,
                at(9),
                at(10),
                11,
            )
        }
    };
    assert_eq!(product(&raw const zero), OK);
    fake().mode = cublasPointerMode_t::CUBLAS_POINTER_MODE_DEVICE;
    assert_eq!(product(at(4)), OK);
    let rest = "0x5 6 0x7 8 0x9 0xa 11";
    assert_eq!(
        calls(),
        [
            format!("sgemm 0x77 CUBLAS_OP_N CUBLAS_OP_N 1 2 0 {:?} {rest}", &raw const zero),
            format!("sgemm 0x77 CUBLAS_OP_N CUBLAS_OP_N 1 2 3 0x4 {rest}"),
        ]
    );
}

#[test]
fn a_triangle_of_a_product_is_its_parts() {
    let (table, _turn) = table();
    fake().mode = cublasPointerMode_t::CUBLAS_POINTER_MODE_DEVICE;
    let upper = rocblas_fill::rocblas_fill_upper;
    // SAFETY: the fake only notes its arguments.
    let status = unsafe {
        (table.rocblas_sgemmt)(
            HANDLE.cast(),
            upper,
            NONE,
            TRANSPOSE,
            66,
            3,
            at(4),
            at(0x1000),
            70,
            at(0x2000),
            80,
            at(9),
            at(0x4000),
            90,
        )
    };
    assert_eq!(status, OK);
    let calls = calls();
    // 64 columns of the first block; then the rectangle above the second, and its two columns.
    assert_eq!(calls.len(), 67);
    let column = "sgemm 0x77 CUBLAS_OP_N CUBLAS_OP_T";
    assert_eq!(calls[1], format!("{column} 2 1 3 0x4 0x1000 70 0x2004 80 0x9 0x4168 90"));
    assert_eq!(calls[64], format!("{column} 64 2 3 0x4 0x1000 70 0x2100 80 0x9 0x9a00 90"));
    assert_eq!(calls[66], format!("{column} 2 1 3 0x4 0x1100 70 0x2104 80 0x9 0x9c68 90"));
}

#[test]
fn complex_numbers_of_f64_on_the_host_are_aligned_for_cublas() {
    #[repr(align(16))]
    struct Places([f64; 4]);
    let (table, _turn) = table();
    let mut places = Places([0.0, 1.0, 2.0, 0.0]);
    let place = places.0[1..].as_mut_ptr().cast::<rocblas_double_complex>();
    // SAFETY: the fake reads and writes the one number, on the host only.
    unsafe {
        assert_eq!((table.rocblas_zscal)(HANDLE.cast(), 1, place, at(2), 3), OK);
        assert_eq!((table.rocblas_zdotu)(HANDLE.cast(), 1, at(2), 3, at(4), 5, place), OK);
        assert_eq!(places.0, [0.0, 3.0, 4.0, 0.0]);
        fake().mode = cublasPointerMode_t::CUBLAS_POINTER_MODE_DEVICE;
        assert_eq!((table.rocblas_zdotu)(HANDLE.cast(), 1, at(2), 3, at(4), 5, at(0x28)), OK);
    }
    assert_eq!(calls(), ["zscal 0 1.0 2.0", "zdotu 0", "zdotu 8"]);
}
