//! Bytes allocated from a device.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts things for diagnostics.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, value: u64) {
        self.0.fetch_add(value, Ordering::Relaxed);
    }

    pub(crate) fn subtract(&self, value: u64) {
        self.0.fetch_sub(value, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
