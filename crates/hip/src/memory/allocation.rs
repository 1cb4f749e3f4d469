//! An allocation of device memory without its type.

use std::ffi::c_void;
use std::sync::Arc;

use hip_sys::hipError_t;

use super::DeviceAddress;
use crate::call::{call, dropped};
use crate::device::{Device, MemoryInfo};
use crate::error::{Error, Result};
use crate::stream::{Stream, WeakStream};
use crate::usage::Usage;

/// Owns device memory, and knows which streams use it.
///
/// A buffer holds one, and so does everything that may use the memory after the buffer is gone.
#[derive(Debug)]
pub(crate) struct Allocation {
    device: Device,
    /// Null if and only if there are no bytes.
    address: DeviceAddress,
    usage: Usage,
}

impl Allocation {
    pub(crate) fn allocate(device: &Device, bytes: usize) -> Result<Arc<Self>> {
        let mut pointer: *mut c_void = std::ptr::null_mut();
        if bytes > 0 {
            device.make_current()?;
            // SAFETY: the result is a place to write to, and the device is current on this thread.
            let status = unsafe { call!(device.table(), hipMalloc(&raw mut pointer, bytes)) };
            status.map_err(|error| explain(error, device, bytes))?;
        }
        let address = DeviceAddress(pointer.expose_provenance() as u64);
        Ok(Arc::new(Self { device: device.clone(), address, usage: Usage::default() }))
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    pub(crate) fn address(&self) -> DeviceAddress {
        self.address
    }

    /// Work that reads the memory is about to be enqueued: orders it after the writes before it. If one of those is known
    /// to have failed, that is the error.
    pub(crate) fn read_on(self: &Arc<Self>, stream: &Stream) -> Result<()> {
        self.usage.read(stream)
    }

    /// Work that writes the memory is about to be enqueued: orders it after every use before it.
    pub(crate) fn write_on(self: &Arc<Self>, stream: &Stream) -> Result<()> {
        self.usage.write(stream)
    }

    /// As [`write_on`](Self::write_on), for work that may also read: with the error that a read has.
    pub(crate) fn update_on(self: &Arc<Self>, stream: &Stream) -> Result<()> {
        self.usage.update(stream)
    }

    /// The other streams whose writes a read on `stream` depends on.
    pub(crate) fn sources(&self, stream: &Stream) -> Vec<WeakStream> {
        self.usage.sources(stream)
    }

    /// Exclusive views of parts are about to be made, by whoever has the only one of the whole.
    pub(crate) fn split(&self) {
        self.usage.split();
    }

    /// There are no exclusive views.
    pub(crate) fn settle(&self) {
        self.usage.settle();
    }
}

impl Drop for Allocation {
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
