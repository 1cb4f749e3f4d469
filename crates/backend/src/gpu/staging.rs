//! Copies between host and device through pinned memory.

use std::collections::{HashMap, VecDeque};

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

/// Pinned buffers: free ones by size, and those that are being copied from.
#[derive(Debug, Default)]
pub(super) struct Staging {
    free: HashMap<usize, Vec<HostBuffer<u8>>>,
    busy: VecDeque<Pending<HostBuffer<u8>>>,
}

impl Staging {
    /// A buffer of so many bytes.
    fn take(&mut self, backend: &GpuBackend, bytes: usize) -> Result<HostBuffer<u8>> {
        while self.busy.front().is_some_and(|copy| copy.is_done().unwrap_or(true)) {
            self.finish_first()?;
        }
        match self.free.get_mut(&bytes).and_then(Vec::pop) {
            Some(buffer) => Ok(buffer),
            None => Ok(HostBuffer::zeroed(&backend.device, bytes)?),
        }
    }

    /// Keeps a buffer for the next use.
    fn give(&mut self, buffer: HostBuffer<u8>) {
        let same = self.free.entry(buffer.len()).or_default();
        if same.len() < KEPT {
            same.push(buffer);
        }
        // Sizes that occur once, such as the ends of weights, must not add up.
        if self.free.len() > 64 {
            self.free.retain(|bytes, _| *bytes == PIECE || *bytes <= 4096);
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
struct Copying(Pending<HostBuffer<u8>>);

impl Readback for Copying {
    fn wait(self: Box<Self>) -> Result<Vec<u8>> {
        Ok(self.0.wait()?.to_vec())
    }
}

pub(super) fn read_back(backend: &GpuBackend, from: &Tensor) -> Result<Box<dyn Readback>> {
    check::dense("read_back", "from", from)?;
    let source = bytes_view(from)?;
    let buffer = lock(&backend.staging).take(backend, source.elements())?;
    let work = backend.work()?;
    Ok(Box::new(Copying(work.read::<u8>("read_back", &source)?.download(&work.stream, buffer)?)))
}
