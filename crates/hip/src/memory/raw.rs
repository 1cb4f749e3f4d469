//! An allocation of device memory without its type.

use std::ffi::c_void;

use crate::call::{call, dropped};
use crate::device::{Device, MemoryInfo};
use crate::error::{Error, Result};
use crate::usage::Usage;
use hip_sys::hipError_t;

/// An address in device memory; on the host a number, and nothing to read through.
///
/// As a kernel argument it stands for a pointer of which nothing is known: it is checked neither for its device nor for
/// what the kernel does with it, and streams are not ordered by it. That is for the few cases that borrows cannot
/// say, such as one buffer passed twice, or a null pointer ([`DeviceAddress::NULL`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[doc(alias = "hipDeviceptr_t")]
pub struct DeviceAddress(pub u64);

impl DeviceAddress {
    /// The null pointer.
    pub const NULL: Self = Self(0);

    pub(crate) fn pointer(self) -> *mut c_void {
        // The address was exposed to the device, not to this program: it is never read through here.
        std::ptr::with_exposed_provenance_mut(self.0 as usize)
    }

    pub(crate) fn offset(self, bytes: usize) -> Self {
        Self(self.0 + bytes as u64)
    }
}

impl std::fmt::Display for DeviceAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// Owns an allocation, and knows which streams use it.
#[derive(Debug)]
pub(crate) struct RawBuffer {
    device: Device,
    /// Null if and only if there are no bytes.
    address: DeviceAddress,
    usage: Usage,
}

impl RawBuffer {
    pub(crate) fn allocate(device: &Device, bytes: usize) -> Result<Self> {
        let mut pointer: *mut c_void = std::ptr::null_mut();
        if bytes > 0 {
            device.make_current()?;
            // SAFETY: the result is a place to write to, and the device is current on this thread.
            let status = unsafe { call!(device.table(), hipMalloc(&raw mut pointer, bytes)) };
            status.map_err(|error| explain(error, device, bytes))?;
        }
        let address = DeviceAddress(pointer.expose_provenance() as u64);
        Ok(Self { device: device.clone(), address, usage: Usage::default() })
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    pub(crate) fn address(&self) -> DeviceAddress {
        self.address
    }

    pub(crate) fn usage(&self) -> &Usage {
        &self.usage
    }
}

impl Drop for RawBuffer {
    fn drop(&mut self) {
        if self.address == DeviceAddress::NULL {
            return;
        }
        self.usage.finish();
        let freed = self.device.make_current().and_then(|()| {
            // SAFETY: the memory came from `hipMalloc` and is freed once; no stream uses it any more.
            unsafe { call!(self.device.table(), hipFree(self.address.pointer())) }
        });
        dropped("device buffer", freed);
    }
}

/// Says how much memory there is where there was too little.
#[cold]
fn explain(error: Error, device: &Device, requested: usize) -> Error {
    if error.code() != Some(hipError_t::hipErrorOutOfMemory) {
        return error;
    }
    let MemoryInfo { free, total } = device.memory_info().unwrap_or(MemoryInfo { free: 0, total: 0 });
    Error::OutOfMemory { device: device.to_string(), requested, free, total }
}
