//! Limits of a device that programs can set.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use hip_sys::{hipError_t, hipLimit_t};

use crate::error::Result;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;

/// The limits of one device.
#[derive(Debug)]
pub(crate) struct Limits {
    stack: AtomicUsize,
    heap: AtomicUsize,
    /// Whether the program has set the heap's limit; until then the heap grows as needed, as AMD's does.
    pub(crate) heap_is_set: AtomicBool,
}

impl Default for Limits {
    fn default() -> Self {
        // AMD's defaults.
        Self {
            stack: AtomicUsize::new(1 << 10),
            heap: AtomicUsize::new(8 << 20),
            heap_is_set: AtomicBool::new(false),
        }
    }
}

impl Limits {
    /// Bytes of stack for a work-item if the compiler could not determine how much it needs.
    pub(crate) fn stack(&self) -> u32 {
        self.stack.load(Ordering::Relaxed) as u32
    }

    /// Bytes that `malloc` in device code may hold at once, if the program has set a limit.
    pub(crate) fn heap(&self) -> Option<u64> {
        let limit = || self.heap.load(Ordering::Relaxed) as u64;
        self.heap_is_set.load(Ordering::Acquire).then(limit)
    }

    /// Resets everything to the initial values.
    pub(crate) fn reset(&self) {
        let fresh = Self::default();
        self.stack.store(fresh.stack.into_inner(), Ordering::Relaxed);
        self.heap.store(fresh.heap.into_inner(), Ordering::Relaxed);
        self.heap_is_set.store(false, Ordering::Release);
    }

    pub(crate) fn of(&self, limit: hipLimit_t) -> Result<&AtomicUsize> {
        match limit {
            hipLimit_t::hipLimitStackSize => Ok(&self.stack),
            hipLimit_t::hipLimitMallocHeapSize => Ok(&self.heap),
            // Numbers beyond those of limits; AMD's runtime compares them as signed numbers.
            hipLimit_t(number) if number as i32 >= hipLimit_t::hipLimitRange.0 as i32 => Err(INVALID_VALUE),
            _ => Err(hipError_t::hipErrorUnsupportedLimit),
        }
    }
}
