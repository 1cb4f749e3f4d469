//! Memory of graphics APIs.

use std::fs::File;
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::sync::Arc;

use super::super::result::{self, DriverError};
use super::super::sys;
use super::{CudaContext, CudaEvent, CudaStream, DevicePtr, DeviceSlice, SyncOnDrop};

/// Memory that another API has allocated.
#[derive(Debug)]
pub struct ExternalMemory {
    handle: sys::CUexternalMemory,
    bytes: u64,
    context: Arc<CudaContext>,
}

impl Drop for ExternalMemory {
    fn drop(&mut self) {
        self.context.record_err(self.context.bind());
        // SAFETY: the memory was imported for this, and is ended once.
        self.context.record_err(unsafe { result::external_memory::destroy_external_memory(self.handle) });
    }
}

impl CudaContext {
    /// Imports memory by a file descriptor that another API has exported.
    ///
    /// # Safety
    /// The memory must have this many bytes.
    #[cfg(unix)]
    pub unsafe fn import_external_memory(
        self: &Arc<Self>,
        file: File,
        size: u64,
    ) -> Result<ExternalMemory, DriverError> {
        use std::os::fd::AsRawFd as _;

        self.bind_to_thread()?;
        let file = ManuallyDrop::new(file);
        // SAFETY: the descriptor is open, and the caller vouches for the size.
        let imported =
            unsafe { result::external_memory::import_external_memory_opaque_fd(file.as_raw_fd(), size) };
        match imported {
            // The implementation now owns the descriptor.
            Ok(handle) => Ok(ExternalMemory { handle, bytes: size, context: self.clone() }),
            Err(error) => {
                drop(ManuallyDrop::into_inner(file));
                Err(error)
            }
        }
    }
}

impl ExternalMemory {
    /// Maps all of it.
    pub fn map_all(self) -> Result<MappedBuffer, DriverError> {
        let bytes = usize::try_from(self.bytes);
        let bytes = bytes.map_err(|_| DriverError(sys::CUresult::CUDA_ERROR_INVALID_VALUE))?;
        self.map_range(0..bytes)
    }

    /// Maps a part of it.
    ///
    /// # Panics
    /// If the range exceeds the memory.
    pub fn map_range(self, range: Range<usize>) -> Result<MappedBuffer, DriverError> {
        assert!(
            range.start as u64 <= self.bytes && range.end as u64 <= self.bytes,
            "a range within the memory"
        );
        self.context.bind_to_thread()?;
        let (event, stream) = (self.context.new_event(None)?, self.context.default_stream());
        let (start, len) = (range.start as u64, range.len());
        // SAFETY: the memory is imported, and the range is within.
        let address = unsafe { result::external_memory::get_mapped_buffer(self.handle, start, len as u64) }?;
        Ok(MappedBuffer { address, len, event, stream, memory: self })
    }
}

/// Memory of another API, mapped for reading.
#[derive(Debug)]
pub struct MappedBuffer {
    address: sys::CUdeviceptr,
    len: usize,
    event: CudaEvent,
    stream: Arc<CudaStream>,
    memory: ExternalMemory,
}

impl Drop for MappedBuffer {
    fn drop(&mut self) {
        let context = &self.memory.context;
        context.record_err(self.event.synchronize());
        // SAFETY: the memory was mapped for this, and is unmapped once, when the last read is done.
        context.record_err(unsafe { result::memory_free(self.address) });
    }
}

impl DeviceSlice<u8> for MappedBuffer {
    fn len(&self) -> usize {
        self.len
    }

    fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }
}

impl DevicePtr<u8> for MappedBuffer {
    fn device_ptr<'a>(&'a self, stream: &'a CudaStream) -> (sys::CUdeviceptr, SyncOnDrop<'a>) {
        // Nothing writes it.
        (self.address, SyncOnDrop::Record(Some((&self.event, stream))))
    }
}
