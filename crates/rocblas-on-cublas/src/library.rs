//! The cuBLAS of the process.

use std::fmt;
use std::sync::OnceLock;

use cuda_sys::cublas::{Table, cublasHandle_t, cublasStatus_t};
use rocblas_sys::{rocblas_handle, rocblas_status};

use crate::convert::To;

/// [`table`](crate::table) was called with another cuBLAS before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OtherLibrary;

impl fmt::Display for OtherLibrary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("rocBLAS is already on top of another cuBLAS")
    }
}

impl std::error::Error for OtherLibrary {}

static CUBLAS: OnceLock<&'static Table> = OnceLock::new();

/// Says which cuBLAS there is.
pub(crate) fn start(cublas: &'static Table) -> Result<(), OtherLibrary> {
    if std::ptr::eq(*CUBLAS.get_or_init(|| cublas), cublas) { Ok(()) } else { Err(OtherLibrary) }
}

/// cuBLAS, once [`start`] has named it.
pub(crate) fn cublas() -> Option<&'static Table> {
    CUBLAS.get().copied()
}

/// Calls cuBLAS with a handle. An argument that it has nothing for ends the call before.
pub(crate) fn call(
    handle: rocblas_handle,
    work: impl FnOnce(&Table, cublasHandle_t) -> Result<cublasStatus_t, rocblas_status>,
) -> rocblas_status {
    let Some(cublas) = cublas() else { return rocblas_status::rocblas_status_internal_error };
    if handle.is_null() {
        return rocblas_status::rocblas_status_invalid_handle;
    }
    work(cublas, handle.cast()).and_then(To::to).unwrap_or_else(|status| status)
}
