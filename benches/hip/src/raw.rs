//! Raw calls with their status looked at, as a careful C program would.

use std::ffi::c_void;

use anyhow::{Result, bail};
use hip::hip_sys::{Table, hipError_t};

/// An error unless the status is success.
#[inline]
pub(crate) fn check(status: hipError_t) -> Result<()> {
    if status == hipError_t::hipSuccess { Ok(()) } else { failed(status) }
}

#[cold]
fn failed(status: hipError_t) -> Result<()> {
    bail!("a raw call failed: {status:?}")
}

/// Device memory of a C program.
#[derive(Debug)]
pub(crate) struct Memory {
    table: &'static Table,
    pub(crate) pointer: *mut c_void,
}

impl Memory {
    /// `hipMalloc`, on the current device.
    pub(crate) fn new(table: &'static Table, bytes: usize) -> Result<Self> {
        let mut pointer = std::ptr::null_mut();
        // SAFETY: the result is a place to write to.
        check(unsafe { (table.hipMalloc)(&raw mut pointer, bytes) })?;
        Ok(Self { table, pointer })
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the memory came from `hipMalloc` and is freed once; whoever used it has waited.
        if let Err(error) = check(unsafe { (self.table.hipFree)(self.pointer) }) {
            eprintln!("{error}");
        }
    }
}
