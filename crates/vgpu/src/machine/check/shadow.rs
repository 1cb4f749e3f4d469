//! Tracks which bits of device memory were written since its allocation.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use crate::machine::memory::Mapping;
use gpu_report::{Allocation, MemoryKind};

/// The shadow of one allocation.
#[derive(Debug)]
pub(super) struct Shadow {
    /// The allocation.
    pub allocation: Allocation,
    /// One byte for each byte of the allocation; ones mark known bits. Pages are allocated as they are
    /// written.
    known: u64,
    _mapping: Mapping,
}

impl Shadow {
    fn bytes(&self) -> &[AtomicU8] {
        // SAFETY: the mapping has at least as many bytes as the allocation, lives as long as `self`, and is
        // only accessed here.
        unsafe { std::slice::from_raw_parts(self.known as *const AtomicU8, self.allocation.size as usize) }
    }

    fn holds(&self, address: u64) -> bool {
        address.wrapping_sub(self.allocation.start) < self.allocation.size
    }

    /// The known bits of the byte at an address in the allocation.
    ///
    /// The host may write with plain stores, which are not observed. Fresh memory is zero, so a nonzero byte
    /// without a recorded write was written by the host.
    pub(super) fn known(&self, address: u64) -> u8 {
        let Some(shadow) = self.bytes().get(address.wrapping_sub(self.allocation.start) as usize) else {
            return 0xff;
        };
        let known = shadow.load(Ordering::Relaxed);
        if known != 0 {
            return known;
        }
        // SAFETY: the byte lies in a live allocation: it is not unmapped before the wave that is checked ends
        // its time slice.
        let byte = unsafe { (address as *const u8).read_volatile() };
        if byte != 0 { 0xff } else { 0 }
    }

    /// Sets which bits of a byte are known.
    pub(super) fn set(&self, address: u64, known: u8) {
        if let Some(shadow) = self.bytes().get(address.wrapping_sub(self.allocation.start) as usize) {
            shadow.store(known, Ordering::Relaxed);
        }
    }

    fn written(&self, address: u64, size: u64) {
        let start = address.max(self.allocation.start) - self.allocation.start;
        let end =
            address.saturating_add(size).min(self.allocation.end()).saturating_sub(self.allocation.start);
        for shadow in self.bytes().get(start as usize..end as usize).unwrap_or_default() {
            shadow.store(0xff, Ordering::Relaxed);
        }
    }
}

/// The shadows of all tracked allocations.
#[derive(Default, Debug)]
pub(super) struct Shadows {
    on: AtomicBool,
    /// Whether an allocation has ever been tracked.
    tracked: AtomicBool,
    all: RwLock<BTreeMap<u64, Arc<Shadow>>>,
}

impl Shadows {
    /// Starts tracking new allocations, or stops and forgets all.
    pub(super) fn switch(&self, on: bool) {
        self.on.store(on, Ordering::Relaxed);
        if !on {
            self.forget();
        }
    }

    /// Treats all existing memory as written.
    pub(super) fn forget(&self) {
        if self.tracked.load(Ordering::Acquire)
            && !self.all.read().unwrap_or_else(PoisonError::into_inner).is_empty()
        {
            self.all.write().unwrap_or_else(PoisonError::into_inner).clear();
        }
    }

    /// Tracks an allocation. Only device memory that the host accesses through API functions is tracked; the
    /// host may write other memory at any time.
    pub(super) fn allocated(&self, allocation: &Allocation) {
        if !self.on.load(Ordering::Relaxed) || allocation.kind != MemoryKind::Coarse {
            return;
        }
        // If the shadow cannot be allocated, the allocation is not checked.
        if let Ok((mapping, known)) = Mapping::new(allocation.size, 1) {
            let shadow = Shadow { allocation: allocation.clone(), known, _mapping: mapping };
            let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
            self.tracked.store(true, Ordering::Release);
            all.insert(allocation.start, Arc::new(shadow));
        }
    }

    pub(super) fn freed(&self, allocation: &Allocation) {
        if self.on.load(Ordering::Relaxed) {
            self.all.write().unwrap_or_else(PoisonError::into_inner).remove(&allocation.start);
        }
    }

    pub(super) fn written(&self, address: u64, size: u64) {
        if self.on.load(Ordering::Relaxed) {
            let all = self.all.read().unwrap_or_else(PoisonError::into_inner);
            let end = address.saturating_add(size);
            // Allocations do not overlap, so only the last one before the range may reach into it.
            let first = all.range(..=address).next_back().map_or(address, |(start, _)| *start);
            all.range(first..end).for_each(|(_, shadow)| shadow.written(address, size));
        }
    }

    /// The tracked allocation that contains an address, if any. `last` is the caller's previous result.
    pub(super) fn find(&self, address: u64, last: &mut Option<Arc<Shadow>>) -> Option<Arc<Shadow>> {
        if !last.as_ref().is_some_and(|shadow| shadow.holds(address)) {
            let all = self.all.read().unwrap_or_else(PoisonError::into_inner);
            let found = all.range(..=address).next_back().map(|(_, shadow)| shadow);
            *last = found.filter(|shadow| shadow.holds(address)).cloned();
        }
        last.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_known_as_they_are_written() {
        let host = [0u8; 64];
        let start = host.as_ptr() as u64;
        let allocation = |kind| Allocation { start, size: 64, kind, device: None, serial: 1 };
        let shadows = Shadows::default();
        let known = |at: u64| shadows.find(start + at, &mut None).map(|shadow| shadow.known(start + at));
        shadows.allocated(&allocation(MemoryKind::Coarse));
        assert_eq!(known(0), None, "off");
        shadows.switch(true);
        shadows.allocated(&allocation(MemoryKind::Host));
        assert_eq!(known(0), None, "the host's");
        shadows.allocated(&allocation(MemoryKind::Coarse));
        assert_eq!((known(0), known(63), known(64)), (Some(0), Some(0), None));
        shadows.written(start - 10, 12);
        shadows.written(start + 62, 100);
        assert_eq!([0, 1, 2, 61, 62, 63].map(known), [255, 255, 0, 0, 255, 255].map(Some));
        shadows.find(start + 5, &mut None).unwrap().set(start + 5, 0x0f);
        assert_eq!(known(5), Some(0x0f));
        shadows.freed(&allocation(MemoryKind::Coarse));
        assert_eq!(known(0), None);
    }
}
