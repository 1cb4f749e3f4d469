//! Modules.

use std::ffi::CString;
use std::sync::Arc;

use super::super::result::{self, DriverError};
use super::super::sys;
use super::uses::UNTRACKED;
use super::{CudaContext, CudaFunction, CudaStream, CudaViewMut};

/// Code on a device.
#[derive(Debug)]
pub struct CudaModule {
    handle: sys::CUmodule,
    context: Arc<CudaContext>,
}

// SAFETY: CUDA handles may be used on any thread.
unsafe impl Send for CudaModule {}
// SAFETY: as above.
unsafe impl Sync for CudaModule {}

impl Drop for CudaModule {
    fn drop(&mut self) {
        self.context.record_err(self.context.bind());
        // SAFETY: the module was loaded for this object, and is unloaded once, when none of its functions is
        // left.
        self.context.record_err(unsafe { result::module::unload(self.handle) });
    }
}

impl CudaContext {
    /// Loads code: the result of [`nvrtc`](crate::nvrtc), or a code object or a bundle of them, as a file, as
    /// bytes, or as text. PTX of NVIDIA's compilers gives `CUDA_ERROR_INVALID_PTX`.
    #[cfg(feature = "nvrtc")]
    pub fn load_module(self: &Arc<Self>, ptx: crate::nvrtc::Ptx) -> Result<Arc<CudaModule>, DriverError> {
        self.bind_to_thread()?;
        let bytes = ptx.into_bytes().map_err(|error| {
            tracing::error!(%error, "a module cannot be read");
            DriverError(sys::CUresult::CUDA_ERROR_FILE_NOT_FOUND)
        })?;
        let handle = sys::load_bytes(&bytes).map_err(DriverError)?;
        Ok(Arc::new(CudaModule { handle, context: self.clone() }))
    }
}

impl CudaModule {
    /// A kernel by its name in the code; `CUDA_ERROR_NOT_FOUND` if there is none.
    pub fn load_function(self: &Arc<Self>, fn_name: &str) -> Result<CudaFunction, DriverError> {
        self.context.bind_to_thread()?;
        // SAFETY: the module is loaded.
        let handle = unsafe { result::module::get_function(self.handle, name(fn_name)?) }?;
        Ok(CudaFunction::of_parts(handle, self.clone()))
    }

    /// A variable by its name in the code, as bytes. Streams do not wait for its uses.
    pub fn get_global<'a>(
        self: &'a Arc<Self>,
        name: &str,
        stream: &'a Arc<CudaStream>,
    ) -> Result<CudaViewMut<'a, u8>, DriverError> {
        self.context.bind_to_thread()?;
        // SAFETY: the module is loaded.
        let (address, bytes) = unsafe { result::module::get_global(self.handle, self::name(name)?) }?;
        Ok(CudaViewMut::of_parts(address, bytes, &UNTRACKED, stream))
    }

    pub(super) fn context(&self) -> &Arc<CudaContext> {
        &self.context
    }
}

/// A name as a C string. No code contains a name with a NUL.
fn name(name: &str) -> Result<CString, DriverError> {
    CString::new(name).map_err(|_| DriverError(sys::CUresult::CUDA_ERROR_INVALID_VALUE))
}
