//! Limits of a device that a program can read and set.

use hip_sys::hipLimit_t;

use super::Device;
use crate::call::call;
use crate::error::Result;

/// A limit that a program can set on a device (`hipLimit_t`). All are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Limit {
    /// The stack of a work-item, for kernels whose stack size the compiler does not know.
    #[doc(alias = "hipLimitStackSize")]
    Stack,
    /// The buffer of `printf` in device code.
    #[doc(alias = "hipLimitPrintfFifoSize")]
    PrintBuffer,
    /// The heap of `malloc` in device code.
    #[doc(alias = "hipLimitMallocHeapSize")]
    Heap,
}

impl Limit {
    fn raw(self) -> hipLimit_t {
        match self {
            Self::Stack => hipLimit_t::hipLimitStackSize,
            Self::PrintBuffer => hipLimit_t::hipLimitPrintfFifoSize,
            Self::Heap => hipLimit_t::hipLimitMallocHeapSize,
        }
    }
}

impl Device {
    /// Reads a limit of the device, in bytes (`hipDeviceGetLimit`).
    ///
    /// # Errors
    /// [`Error::Hip`](crate::Error::Hip): `hipErrorUnsupportedLimit` where the library has no such limit.
    #[doc(alias = "hipDeviceGetLimit")]
    #[doc(alias = "cudaDeviceGetLimit")]
    #[doc(alias = "cuCtxGetLimit")]
    pub fn limit(&self, limit: Limit) -> Result<usize> {
        self.make_current()?;
        let mut bytes = 0;
        // SAFETY: the result is a place to write to.
        unsafe { call!(self.table(), hipDeviceGetLimit(&raw mut bytes, limit.raw()))? };
        Ok(bytes)
    }

    /// Sets a limit of the device for the whole process (`hipDeviceSetLimit`).
    ///
    /// # Errors
    /// [`Error::Hip`](crate::Error::Hip): `hipErrorUnsupportedLimit` where the library has no such limit,
    /// `hipErrorInvalidValue` if the value is too large.
    #[doc(alias = "hipDeviceSetLimit")]
    #[doc(alias = "cudaDeviceSetLimit")]
    #[doc(alias = "cuCtxSetLimit")]
    pub fn set_limit(&self, limit: Limit, bytes: usize) -> Result<()> {
        self.make_current()?;
        // SAFETY: the call takes no memory of ours.
        unsafe { call!(self.table(), hipDeviceSetLimit(limit.raw(), bytes)) }
    }
}
