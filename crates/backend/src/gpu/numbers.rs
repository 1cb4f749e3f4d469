//! Numbers of quantised matrices that are kept between products.
//!
//! A matrix's memory has its numbers, so that they are freed with it, and forgotten when it is written to.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use hip::{DeviceBuffer, DeviceCopy, DeviceSlice, Stream};

use super::lock;
use crate::DType;
use crate::error::{Error, Result};

/// The numbers of one matrix in one type.
#[derive(Debug)]
pub(super) struct Kept {
    /// The matrix's bytes in its memory.
    blocks: Range<usize>,
    dtype: DType,
    buffer: DeviceBuffer<u8>,
    /// The matrix has been written to since.
    stale: Arc<AtomicBool>,
    room: Arc<Room>,
}

impl Kept {
    /// The numbers, row by row.
    pub(super) fn numbers<T: DeviceCopy>(&self) -> Result<DeviceSlice<'_, T>> {
        Ok(self.buffer.as_slice().cast()?)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.room.give_back(self.buffer.len());
    }
}

/// What all kept numbers of a backend may take.
#[derive(Debug, Default)]
pub(super) struct Room {
    bytes: AtomicU64,
    used: AtomicU64,
}

impl Room {
    /// From now on. Numbers that are kept already stay.
    pub(super) fn set(&self, bytes: u64) {
        self.bytes.store(bytes, Ordering::Relaxed);
    }

    /// What kept numbers take.
    pub(super) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Whether so many bytes are left.
    pub(super) fn has(&self, bytes: usize) -> bool {
        self.with(self.used(), bytes).is_some()
    }

    /// Takes so many bytes, if they are left.
    fn take(&self, bytes: usize) -> bool {
        let taken = |used| self.with(used, bytes);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken).is_ok()
    }

    /// What is used with so many bytes more.
    fn with(&self, used: u64, bytes: usize) -> Option<u64> {
        used.checked_add(bytes as u64).filter(|all| *all <= self.bytes.load(Ordering::Relaxed))
    }

    fn give_back(&self, bytes: usize) {
        self.used.fetch_sub(bytes as u64, Ordering::Relaxed);
    }
}

/// The numbers of all matrices in one piece of memory.
#[derive(Debug, Default)]
pub(super) struct Numbers(Mutex<Vec<Arc<Kept>>>);

impl Numbers {
    /// Those of one matrix.
    pub(super) fn find(&self, blocks: &Range<usize>, dtype: DType) -> Option<Arc<Kept>> {
        let is_it = |kept: &&Arc<Kept>| kept.blocks == *blocks && kept.dtype == dtype;
        lock(&self.0).iter().find(is_it).cloned()
    }

    /// Keeps what `write` computes, if there is room for it.
    pub(super) fn keep(
        &self,
        (stream, room): (&Stream, &Arc<Room>),
        (blocks, dtype): (Range<usize>, DType),
        bytes: usize,
        write: impl FnOnce(&mut DeviceBuffer<u8>) -> Result<()>,
    ) -> Result<Option<Arc<Kept>>> {
        if !room.take(bytes) {
            return Ok(None);
        }
        let buffer = match DeviceBuffer::uninit_on(stream, bytes) {
            Ok(buffer) => buffer,
            Err(error) => {
                room.give_back(bytes);
                // Products need no kept numbers. What is free now may not be in a moment, so nothing is tried
                // again.
                return match error {
                    hip::Error::OutOfMemory { .. } => {
                        room.set(0);
                        Ok(None)
                    }
                    error => Err(error.into()),
                };
            }
        };
        let mut kept = Kept { blocks, dtype, buffer, stale: Arc::default(), room: room.clone() };
        write(&mut kept.buffer)?;
        let kept = Arc::new(kept);
        lock(&self.0).push(kept.clone());
        Ok(Some(kept))
    }

    /// The memory is about to be written to.
    pub(super) fn forget(&self) {
        for kept in lock(&self.0).drain(..) {
            kept.stale.store(true, Ordering::Relaxed);
        }
    }
}

/// Whether kept numbers that captured work reads are still those of their matrices.
#[derive(Debug, Default)]
pub(super) struct Reads(Vec<Arc<AtomicBool>>);

impl Reads {
    /// Captured work reads these.
    pub(super) fn add(&mut self, kept: &Kept) {
        self.0.push(kept.stale.clone());
    }

    /// Refuses work that would read the numbers of a matrix as it was.
    pub(super) fn check(&self) -> Result<()> {
        if self.0.iter().any(|stale| stale.load(Ordering::Relaxed)) {
            return Err(Error::Stale { operation: "launch" });
        }
        Ok(())
    }
}
