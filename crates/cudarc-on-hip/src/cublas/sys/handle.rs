//! Handles: rocBLAS handles with their device.

use std::sync::atomic::AtomicU32;

use hip::Device;
use rocblas::rocblas_sys::{Table, rocblas_handle, rocblas_status};

use super::{cublasMath_t, cublasStatus_t, cudaStream_t};
use crate::backend;

/// The outcome of a call, before it becomes a C status.
pub(crate) type Outcome<T = ()> = Result<T, cublasStatus_t>;

/// What a `cublasHandle_t` points to.
pub(crate) struct Blas {
    pub(crate) table: &'static Table,
    pub(crate) handle: rocblas_handle,
    pub(crate) math: AtomicU32,
    /// Destroys the handle.
    blas: rocblas::Blas,
}

impl Blas {
    /// A handle for the calling thread's device.
    pub(crate) fn create() -> Outcome<*mut Self> {
        let (device, _) = backend::current().map_err(|_| cublasStatus_t::CUBLAS_STATUS_NOT_INITIALIZED)?;
        let blas = rocblas::Blas::new(device.default_stream()).map_err(|error| {
            tracing::error!(%error, "there is no BLAS");
            match error {
                rocblas::Error::NoLibrary { .. } => cublasStatus_t::CUBLAS_STATUS_NOT_INITIALIZED,
                _ => cublasStatus_t::CUBLAS_STATUS_ALLOC_FAILED,
            }
        })?;
        let (table, handle) = (blas.table(), blas.as_raw());
        let math = AtomicU32::new(cublasMath_t::CUBLAS_DEFAULT_MATH as u32);
        Ok(Box::into_raw(Box::new(Self { table, handle, math, blas })))
    }

    /// Destroys a handle.
    ///
    /// # Safety
    /// The handle must be null, or come from `create` and be destroyed only once.
    pub(crate) unsafe fn destroy(handle: *mut Self) -> Outcome {
        if handle.is_null() {
            return Err(cublasStatus_t::CUBLAS_STATUS_NOT_INITIALIZED);
        }
        // SAFETY: the caller vouches for it.
        drop(unsafe { Box::from_raw(handle) });
        Ok(())
    }

    fn device(&self) -> &Device {
        self.blas.device()
    }

    /// Makes the handle's device the calling thread's, as in cuBLAS.
    pub(crate) fn on_its_device(&self) -> Outcome {
        self.device().make_current().map_err(|error| {
            tracing::error!(%error, "a call failed");
            cublasStatus_t::CUBLAS_STATUS_EXECUTION_FAILED
        })
    }

    /// # Safety
    /// The stream must belong to the handle's device.
    pub(crate) unsafe fn set_stream(&self, stream: cudaStream_t) -> Outcome {
        self.on_its_device()?;
        // SAFETY: the handle lives, and the caller vouches for the stream.
        check(unsafe { (self.table.rocblas_set_stream)(self.handle, stream.cast()) })
    }
}

/// A rocBLAS status as a cuBLAS status.
pub(crate) fn check(status: rocblas_status) -> Outcome {
    Err(match status {
        rocblas_status::rocblas_status_success
        | rocblas_status::rocblas_status_size_unchanged
        | rocblas_status::rocblas_status_size_increased
        | rocblas_status::rocblas_status_continue => return Ok(()),
        rocblas_status::rocblas_status_invalid_handle => cublasStatus_t::CUBLAS_STATUS_NOT_INITIALIZED,
        rocblas_status::rocblas_status_invalid_pointer
        | rocblas_status::rocblas_status_invalid_size
        | rocblas_status::rocblas_status_invalid_value => cublasStatus_t::CUBLAS_STATUS_INVALID_VALUE,
        rocblas_status::rocblas_status_memory_error => cublasStatus_t::CUBLAS_STATUS_ALLOC_FAILED,
        rocblas_status::rocblas_status_arch_mismatch => cublasStatus_t::CUBLAS_STATUS_ARCH_MISMATCH,
        rocblas_status::rocblas_status_not_implemented
        | rocblas_status::rocblas_status_excluded_from_build => cublasStatus_t::CUBLAS_STATUS_NOT_SUPPORTED,
        _ => cublasStatus_t::CUBLAS_STATUS_INTERNAL_ERROR,
    })
}
