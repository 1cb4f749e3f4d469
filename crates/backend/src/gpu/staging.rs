//! Copies between host and device through pinned memory.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use hip::{HostBuffer, Pending};

use super::{GpuBackend, bytes_view, lock};
use crate::backend::Readback;
use crate::error::{Error, Result};
use crate::{Tensor, check};

/// Bytes of a piece of a large copy: while one is copied, the next one is read.
const PIECE: usize = 8 << 20;
/// Pieces under way, at most.
const PIECES: usize = 3;
/// Buffers of each size that are kept for reuse.
const KEPT: usize = 4;
/// Bytes of all that are kept.
const KEPT_BYTES: usize = 64 << 20;
/// Buffers of the numbers of steps: they are kept when others make way.
const SMALL: usize = 4096;

/// Pinned buffers: free ones by size, and those that are being copied from.
#[derive(Debug, Default)]
pub(super) struct Staging {
    free: HashMap<usize, Vec<HostBuffer<u8>>>,
    /// The bytes of the free ones.
    free_bytes: usize,
    busy: VecDeque<Pending<HostBuffer<u8>>>,
}

impl Staging {
    /// A buffer of so many bytes.
    fn take(&mut self, backend: &GpuBackend, bytes: usize) -> Result<HostBuffer<u8>> {
        while self.busy.front().is_some_and(|copy| copy.is_done().unwrap_or(true)) {
            self.finish_first()?;
        }
        match self.free.get_mut(&bytes).and_then(Vec::pop) {
            Some(buffer) => {
                self.free_bytes -= bytes;
                Ok(buffer)
            }
            None => Ok(HostBuffer::zeroed(&backend.device, bytes)?),
        }
    }

    /// Keeps a buffer for the next use.
    fn give(&mut self, buffer: HostBuffer<u8>) {
        let bytes = buffer.len();
        // Sizes that occur once, such as the ends of weights, must not add up.
        if self.free.len() > 64 || self.free_bytes + bytes > KEPT_BYTES {
            self.free.retain(|bytes, _| *bytes == PIECE || *bytes <= SMALL);
            self.free_bytes = self.free.iter().map(|(bytes, buffers)| bytes * buffers.len()).sum();
        }
        let same = self.free.entry(bytes).or_default();
        if same.len() < KEPT && self.free_bytes + bytes <= KEPT_BYTES {
            same.push(buffer);
            self.free_bytes += bytes;
        }
    }

    fn finish_first(&mut self) -> Result<()> {
        if let Some(copy) = self.busy.pop_front() {
            let buffer = copy.wait()?;
            self.give(buffer);
        }
        Ok(())
    }
}

pub(super) fn upload(
    backend: &GpuBackend,
    to: &Tensor,
    read: &mut dyn FnMut(usize, &mut [u8]) -> std::io::Result<()>,
) -> Result<()> {
    check::dense("upload", "to", to)?;
    let target = bytes_view(to)?;
    let bytes = target.elements();
    for at in (0..bytes).step_by(PIECE) {
        let len = PIECE.min(bytes - at);
        let mut staging = lock(&backend.staging);
        let mut buffer = staging.take(backend, len)?;
        read(at, &mut buffer).map_err(|error| Error::Read { bytes: len, error })?;
        let part = target.narrow(0, at, len)?;
        let work = backend.work()?;
        let copy = work.write::<u8>("upload", &part)?.upload(&work.stream, buffer)?;
        drop(work);
        staging.busy.push_back(copy);
        if staging.busy.len() > PIECES {
            staging.finish_first()?;
        }
    }
    Ok(())
}

/// A copy to pinned memory under way.
struct Copying {
    copy: Pending<HostBuffer<u8>>,
    staging: Arc<Mutex<Staging>>,
}

impl Readback for Copying {
    fn wait(self: Box<Self>) -> Result<Vec<u8>> {
        let buffer = self.copy.wait()?;
        let bytes = buffer.to_vec();
        // Pinning memory takes longer than a small copy.
        lock(&self.staging).give(buffer);
        Ok(bytes)
    }
}

pub(super) fn read_back(backend: &GpuBackend, from: &Tensor) -> Result<Box<dyn Readback>> {
    check::dense("read_back", "from", from)?;
    let source = bytes_view(from)?;
    let buffer = lock(&backend.staging).take(backend, source.elements())?;
    let work = backend.work()?;
    let copy = work.read::<u8>("read_back", &source)?.download(&work.stream, buffer)?;
    Ok(Box::new(Copying { copy, staging: backend.staging.clone() }))
}
