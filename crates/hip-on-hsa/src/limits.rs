//! Limits of a device that programs can set.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use hip_sys::{hipError_t, hipLimit_t};

use crate::caller;
use crate::device::current_device;
use crate::error::{Result, entry};
use crate::runtime::active;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;

/// The most that a work-item's stack can be: what the header documents.
const MAX_STACK: usize = (128 << 10) - 16;

/// The limits of one device.
#[derive(Debug)]
pub(crate) struct Limits {
    stack: AtomicUsize,
    heap: AtomicUsize,
    /// Whether the program has set the heap's limit; until then the heap grows as needed, as AMD's does.
    heap_is_set: AtomicBool,
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
    /// Bytes of stack that a work-item gets where the compiler could not tell how much it needs.
    pub(crate) fn stack(&self) -> u32 {
        self.stack.load(Ordering::Relaxed) as u32
    }

    /// Bytes that `malloc` in device code may hold at once, if the program has set a limit.
    pub(crate) fn heap(&self) -> Option<u64> {
        let limit = || self.heap.load(Ordering::Relaxed) as u64;
        self.heap_is_set.load(Ordering::Acquire).then(limit)
    }

    /// Sets everything back to what it is at first.
    pub(crate) fn reset(&self) {
        let fresh = Self::default();
        self.stack.store(fresh.stack.into_inner(), Ordering::Relaxed);
        self.heap.store(fresh.heap.into_inner(), Ordering::Relaxed);
        self.heap_is_set.store(false, Ordering::Release);
    }

    fn of(&self, limit: hipLimit_t) -> Result<&AtomicUsize> {
        match limit {
            hipLimit_t::hipLimitStackSize => Ok(&self.stack),
            hipLimit_t::hipLimitMallocHeapSize => Ok(&self.heap),
            // Numbers beyond those of limits; AMD's runtime compares them with signs.
            hipLimit_t(number) if number as i32 >= hipLimit_t::hipLimitRange.0 as i32 => Err(INVALID_VALUE),
            _ => Err(hipError_t::hipErrorUnsupportedLimit),
        }
    }
}

/// `hipDeviceGetLimit`: of the current device.
///
/// `hipErrorUnsupportedLimit` for others than those of stack and heap.
pub(crate) unsafe extern "C" fn hipDeviceGetLimit(out: *mut usize, limit: hipLimit_t) -> hipError_t {
    entry(|| {
        let device = current_device(active()?)?;
        // SAFETY: the caller passes null or a valid place.
        let out = unsafe { caller::place(out) }?;
        *out = device.limits.of(limit)?.load(Ordering::Relaxed);
        Ok(())
    })
}

/// `hipDeviceSetLimit`: from now on. A program that sets the heap's limit has `malloc` in device code return null beyond it: what
/// the heap takes from the device counts, in slabs of 2 MiB, of which there may always be one. Until then the heap grows as
/// needed, as AMD's does.
///
/// `hipErrorInvalidValue` for a stack of more than 128 KiB - 16, `hipErrorUnsupportedLimit` for others than those of stack and
/// heap.
pub(crate) unsafe extern "C" fn hipDeviceSetLimit(limit: hipLimit_t, value: usize) -> hipError_t {
    entry(|| {
        let device = current_device(active()?)?;
        let place = device.limits.of(limit)?;
        if limit == hipLimit_t::hipLimitStackSize && value > MAX_STACK {
            return Err(INVALID_VALUE);
        }
        place.store(value, Ordering::Relaxed);
        if limit == hipLimit_t::hipLimitMallocHeapSize {
            device.limits.heap_is_set.store(true, Ordering::Release);
        }
        Ok(())
    })
}
