//! Handles: rocBLAS handles with their device.

use std::sync::atomic::{AtomicU32, Ordering};

use hip::Device;
use rocblas::rocblas_sys::{Table, rocblas_handle, rocblas_math_mode, rocblas_status};

use super::{cublasComputeType_t, cublasMath_t, cublasStatus_t, cudaStream_t};
use crate::backend;

/// The outcome of a call, before it becomes a C status.
pub(crate) type Outcome<T = ()> = Result<T, cublasStatus_t>;

/// What a `cublasHandle_t` points to.
pub(crate) struct Blas {
    pub(crate) table: &'static Table,
    pub(crate) handle: rocblas_handle,
    pub(crate) math: AtomicU32,
    /// Whether products may be in TF32: only with cuBLAS behind the table.
    takes_tf32: bool,
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
        let takes_tf32 = device.table().ext.driver_code.is_some();
        Ok(Box::into_raw(Box::new(Self { table, handle, math, takes_tf32, blas })))
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

    /// Sets whether products of `f32` may be in TF32. Without cuBLAS they never are.
    pub(crate) fn allow_tf32(&self, allow: bool) -> Outcome {
        if !self.takes_tf32 {
            return Ok(());
        }
        let mode = match allow {
            true => rocblas_math_mode::rocblas_xf32_xdl_math_op,
            false => rocblas_math_mode::rocblas_default_math,
        };
        // SAFETY: the handle lives.
        check(unsafe { (self.table.rocblas_set_math_mode)(self.handle, mode) })
    }

    /// Runs a product that may be in TF32 if its type of sums says so, or the handle's mode.
    pub(crate) fn product(&self, compute: cublasComputeType_t, run: impl FnOnce() -> Outcome) -> Outcome {
        let is_fast = compute == cublasComputeType_t::CUBLAS_COMPUTE_32F_FAST_TF32;
        let is_mode = || self.math.load(Ordering::Relaxed) == cublasMath_t::CUBLAS_TF32_TENSOR_OP_MATH as u32;
        if !self.takes_tf32 || !is_fast || is_mode() {
            return run();
        }
        self.allow_tf32(true)?;
        let outcome = run();
        self.allow_tf32(false)?;
        outcome
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
