//! Statuses as errors.

use std::ffi::{CStr, c_char};
use std::fmt;

use super::super::sys::{self, CUresult};

/// A status of CUDA other than success.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct DriverError(pub CUresult);

impl CUresult {
    /// An error, unless this is success.
    #[inline]
    pub fn result(self) -> Result<(), DriverError> {
        match self {
            Self::CUDA_SUCCESS => Ok(()),
            other => Err(DriverError(other)),
        }
    }
}

impl DriverError {
    /// CUDA's name for it (`cuGetErrorName`).
    pub fn error_name(&self) -> Result<&CStr, DriverError> {
        // SAFETY: the function writes the one pointer.
        self.text(|place| unsafe { sys::cuGetErrorName(self.0, place) })
    }

    /// Its meaning, as text (`cuGetErrorString`).
    pub fn error_string(&self) -> Result<&CStr, DriverError> {
        // SAFETY: the function writes the one pointer.
        self.text(|place| unsafe { sys::cuGetErrorString(self.0, place) })
    }

    fn text(&self, get: impl FnOnce(*mut *const c_char) -> CUresult) -> Result<&CStr, DriverError> {
        let mut text = c"".as_ptr();
        get(&raw mut text).result()?;
        // SAFETY: the text ends in NUL and is never freed.
        Ok(unsafe { CStr::from_ptr(text) })
    }
}

impl fmt::Debug for DriverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.error_string().unwrap_or(c"unknown");
        f.debug_tuple("DriverError").field(&self.0).field(&text).finish()
    }
}

impl fmt::Display for DriverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl std::error::Error for DriverError {}
