//! The functions of the table, by subject.

pub(crate) mod collective;
pub(crate) mod communicator;
pub(crate) mod general;
pub(crate) mod table;

use std::sync::OnceLock;

use crate::error::{Failure, Result};

/// The HIP table in use.
pub(crate) static HIP: OnceLock<&'static hip_sys::Table> = OnceLock::new();

pub(crate) fn hip_table() -> Result<&'static hip_sys::Table> {
    HIP.get().copied().ok_or_else(|| Failure::usage("no HIP table was set"))
}

/// The place for a result.
///
/// # Safety
/// The pointer is null or valid for writing.
pub(crate) unsafe fn place<'a, T>(pointer: *mut T, name: &str) -> Result<&'a mut T> {
    // SAFETY: the caller's promise.
    unsafe { pointer.as_mut() }.ok_or_else(|| Failure::argument(format!("{name} is null")))
}
