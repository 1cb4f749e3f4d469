//! Memory of a GPU's tensors.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hip::{DeviceBuffer, Stream};

use crate::error::Result;
use crate::tensor::Storage;

/// Device memory that tensors share. It is freed once no work uses it.
#[derive(Debug)]
pub(super) struct GpuMemory {
    owner: u64,
    pub(super) buffer: DeviceBuffer<u8>,
    in_use: Arc<AtomicU64>,
}

impl GpuMemory {
    /// Unspecified bytes.
    pub(super) fn uninit(owner: u64, stream: &Stream, bytes: usize, in_use: &Arc<AtomicU64>) -> Result<Self> {
        let buffer = DeviceBuffer::uninit_on(stream, bytes)?;
        in_use.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(Self { owner, buffer, in_use: in_use.clone() })
    }
}

impl Drop for GpuMemory {
    fn drop(&mut self) {
        self.in_use.fetch_sub(self.buffer.len() as u64, Ordering::Relaxed);
    }
}

impl Storage for GpuMemory {
    fn size_in_bytes(&self) -> usize {
        self.buffer.len()
    }

    fn backend(&self) -> u64 {
        self.owner
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
