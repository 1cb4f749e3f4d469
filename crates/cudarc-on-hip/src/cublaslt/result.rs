//! cuBLASLt's functions, each with a `Result`.
#![allow(clippy::missing_safety_doc, reason = "the contract is the one of cuBLASLt's function of that name")]
#![allow(clippy::too_many_arguments, reason = "the arguments are cuBLASLt's")]

use std::ffi::c_void;
use std::fmt;

use super::sys::{self, cublasStatus_t};

/// A status of cuBLASLt other than success.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CublasError(pub cublasStatus_t);

impl cublasStatus_t {
    /// An error, unless this is success.
    pub fn result(self) -> Result<(), CublasError> {
        match self {
            Self::CUBLAS_STATUS_SUCCESS => Ok(()),
            other => Err(CublasError(other)),
        }
    }
}

impl fmt::Display for CublasError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl std::error::Error for CublasError {}

/// Makes a handle for the calling thread's device (`cublasLtCreate`).
pub fn create_handle() -> Result<sys::cublasLtHandle_t, CublasError> {
    let mut handle = std::ptr::null_mut();
    // SAFETY: the handle is writable.
    unsafe { sys::cublasLtCreate(&raw mut handle) }.result()?;
    Ok(handle)
}

/// Creates the layout of a matrix (`cublasLtMatrixLayoutCreate`).
pub fn create_matrix_layout(
    matrix_type: sys::cudaDataType,
    rows: u64,
    cols: u64,
    ld: i64,
) -> Result<sys::cublasLtMatrixLayout_t, CublasError> {
    let mut layout = std::ptr::null_mut();
    // SAFETY: the layout is writable.
    unsafe { sys::cublasLtMatrixLayoutCreate(&raw mut layout, matrix_type, rows, cols, ld) }.result()?;
    Ok(layout)
}

/// Creates the description of a product (`cublasLtMatmulDescCreate`).
pub fn create_matmul_desc(
    compute_type: sys::cublasComputeType_t,
    scale_type: sys::cudaDataType,
) -> Result<sys::cublasLtMatmulDesc_t, CublasError> {
    let mut description = std::ptr::null_mut();
    // SAFETY: the description is writable.
    unsafe { sys::cublasLtMatmulDescCreate(&raw mut description, compute_type, scale_type) }.result()?;
    Ok(description)
}

/// Creates preferences (`cublasLtMatmulPreferenceCreate`).
pub fn create_matmul_pref() -> Result<sys::cublasLtMatmulPreference_t, CublasError> {
    let mut preference = std::ptr::null_mut();
    // SAFETY: the preference is writable.
    unsafe { sys::cublasLtMatmulPreferenceCreate(&raw mut preference) }.result()?;
    Ok(preference)
}

macro_rules! calls {
    ($($(#[$attribute:meta])* fn $name:ident = $function:ident($($argument:ident: $type:ty),* $(,)?);)+) => {
        $(
            $(#[$attribute])*
            pub unsafe fn $name($($argument: $type),*) -> Result<(), CublasError> {
                // SAFETY: the caller vouches for the arguments.
                unsafe { sys::$function($($argument),*) }.result()
            }
        )+
    };
}

calls! {
    /// Destroys a handle (`cublasLtDestroy`).
    fn destroy_handle = cublasLtDestroy(handle: sys::cublasLtHandle_t);

    /// Sets an attribute of a layout (`cublasLtMatrixLayoutSetAttribute`).
    fn set_matrix_layout_attribute = cublasLtMatrixLayoutSetAttribute(
        matrix_layout: sys::cublasLtMatrixLayout_t,
        attr: sys::cublasLtMatrixLayoutAttribute_t,
        buf: *const c_void,
        buf_size: usize,
    );

    /// Destroys a layout (`cublasLtMatrixLayoutDestroy`).
    fn destroy_matrix_layout = cublasLtMatrixLayoutDestroy(matrix_layout: sys::cublasLtMatrixLayout_t);

    /// Sets an attribute of a product (`cublasLtMatmulDescSetAttribute`).
    fn set_matmul_desc_attribute = cublasLtMatmulDescSetAttribute(
        matmul_desc: sys::cublasLtMatmulDesc_t,
        attr: sys::cublasLtMatmulDescAttributes_t,
        buf: *const c_void,
        buf_size: usize,
    );

    /// Destroys the description of a product (`cublasLtMatmulDescDestroy`).
    fn destroy_matmul_desc = cublasLtMatmulDescDestroy(matmul_desc: sys::cublasLtMatmulDesc_t);

    /// Sets a preference (`cublasLtMatmulPreferenceSetAttribute`).
    fn set_matmul_pref_attribute = cublasLtMatmulPreferenceSetAttribute(
        matmul_pref: sys::cublasLtMatmulPreference_t,
        attr: sys::cublasLtMatmulPreferenceAttributes_t,
        buf: *const c_void,
        buf_size: usize,
    );

    /// Destroys preferences (`cublasLtMatmulPreferenceDestroy`).
    fn destroy_matmul_pref = cublasLtMatmulPreferenceDestroy(matmul_pref: sys::cublasLtMatmulPreference_t);
}

/// The algorithm for a product (`cublasLtMatmulAlgoGetHeuristic`).
pub unsafe fn get_matmul_algo_heuristic(
    handle: sys::cublasLtHandle_t,
    matmul_desc: sys::cublasLtMatmulDesc_t,
    a_layout: sys::cublasLtMatrixLayout_t,
    b_layout: sys::cublasLtMatrixLayout_t,
    c_layout: sys::cublasLtMatrixLayout_t,
    d_layout: sys::cublasLtMatrixLayout_t,
    matmul_pref: sys::cublasLtMatmulPreference_t,
) -> Result<sys::cublasLtMatmulHeuristicResult_t, CublasError> {
    let mut found = sys::cublasLtMatmulHeuristicResult_t {
        algo: sys::cublasLtMatmulAlgo_t { data: [0; 8] },
        workspaceSize: 0,
        state: cublasStatus_t::CUBLAS_STATUS_NOT_SUPPORTED,
        wavesCount: 0.0,
        reserved: [0; 4],
    };
    let mut count = 0;
    // SAFETY: the results are writable; the caller vouches for the rest.
    unsafe {
        sys::cublasLtMatmulAlgoGetHeuristic(
            handle,
            matmul_desc,
            a_layout,
            b_layout,
            c_layout,
            d_layout,
            matmul_pref,
            1,
            &raw mut found,
            &raw mut count,
        )
    }
    .result()?;
    if count == 0 {
        return Err(CublasError(cublasStatus_t::CUBLAS_STATUS_NOT_SUPPORTED));
    }
    found.state.result()?;
    Ok(found)
}

/// Multiplies matrices (`cublasLtMatmul`).
pub unsafe fn matmul(
    handle: sys::cublasLtHandle_t,
    matmul_desc: sys::cublasLtMatmulDesc_t,
    alpha: *const c_void,
    beta: *const c_void,
    a: *const c_void,
    a_layout: sys::cublasLtMatrixLayout_t,
    b: *const c_void,
    b_layout: sys::cublasLtMatrixLayout_t,
    c: *const c_void,
    c_layout: sys::cublasLtMatrixLayout_t,
    d: *mut c_void,
    d_layout: sys::cublasLtMatrixLayout_t,
    algo: *const sys::cublasLtMatmulAlgo_t,
    workspace: *mut c_void,
    workspace_size: usize,
    stream: sys::cudaStream_t,
) -> Result<(), CublasError> {
    // SAFETY: the caller vouches for the arguments.
    unsafe {
        sys::cublasLtMatmul(
            handle,
            matmul_desc,
            alpha,
            a,
            a_layout,
            b,
            b_layout,
            beta,
            c,
            c_layout,
            d,
            d_layout,
            algo,
            workspace,
            workspace_size,
            stream,
        )
    }
    .result()
}
