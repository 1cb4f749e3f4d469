//! BLAS on a stream.

mod asum;
mod gemm;
mod gemv;
mod grouped_gemm;

use std::sync::Arc;

use super::result::{self, CublasError};
use super::sys;
use crate::driver::CudaStream;

pub use asum::*;
pub use gemm::*;
pub use gemv::*;
pub use grouped_gemm::*;

/// BLAS that submits to a stream.
#[derive(Debug)]
pub struct CudaBlas {
    handle: sys::cublasHandle_t,
    stream: Arc<CudaStream>,
}

// SAFETY: handles of rocBLAS may be used on any thread.
unsafe impl Send for CudaBlas {}
// SAFETY: this project's rocBLAS serialises calls on one handle. AMD's does not, and neither does cuBLAS;
// there, as with cudarc, the caller must order the unsafe calls below.
unsafe impl Sync for CudaBlas {}

impl CudaBlas {
    /// BLAS for a stream and its device.
    pub fn new(stream: Arc<CudaStream>) -> Result<Self, CublasError> {
        let context = stream.context();
        context.record_err(context.bind_to_thread());
        let blas = Self { handle: result::create_handle()?, stream };
        // SAFETY: both live, and are of one device.
        unsafe { result::set_stream(blas.handle, blas.stream.cu_stream())? };
        Ok(blas)
    }

    /// cuBLAS's handle, which this object still owns.
    pub fn handle(&self) -> &sys::cublasHandle_t {
        &self.handle
    }

    /// From now on, submits to another stream of the same device.
    ///
    /// # Safety
    /// The work submitted to the previous stream must be done, or the stream must wait for it: both use the
    /// handle's own memory.
    pub unsafe fn set_stream(&mut self, stream: Arc<CudaStream>) -> Result<(), CublasError> {
        // SAFETY: both live, and the caller vouches for the rest.
        unsafe { result::set_stream(self.handle, stream.cu_stream())? };
        self.stream = stream;
        Ok(())
    }

    /// Sets whether factors and results are in memory of the host or of the device.
    pub fn set_pointer_mode(&self, pointer_mode: sys::cublasPointerMode_t) -> Result<(), CublasError> {
        // SAFETY: the handle lives.
        unsafe { sys::cublasSetPointerMode_v2(self.handle, pointer_mode) }.result()
    }

    /// Whether factors and results are in memory of the host or of the device.
    pub fn get_pointer_mode(&self) -> Result<sys::cublasPointerMode_t, CublasError> {
        let mut mode = sys::cublasPointerMode_t::CUBLAS_POINTER_MODE_HOST;
        // SAFETY: the handle lives, and the result is writable.
        unsafe { sys::cublasGetPointerMode_v2(self.handle, &raw mut mode) }.result()?;
        Ok(mode)
    }

    pub(super) fn stream(&self) -> &CudaStream {
        &self.stream
    }
}

impl Drop for CudaBlas {
    fn drop(&mut self) {
        // SAFETY: the handle was created for this object, and is destroyed once.
        if let Err(error) = unsafe { result::destroy_handle(self.handle) } {
            tracing::error!(%error, "a handle of cuBLAS did not end");
        }
    }
}
