//! Limits of a device that programs can set.

use std::sync::atomic::Ordering;

use hip_sys::{hipError_t, hipLimit_t};

use crate::caller;
use crate::devices::device::current_device;
use crate::error::entry;
use crate::runtime::active;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;

/// The maximum stack of a work-item, as documented in the header.
const MAX_STACK: usize = (128 << 10) - 16;

/// `hipDeviceGetLimit`: of the current device.
///
/// `hipErrorUnsupportedLimit` for limits other than those of stack and heap.
pub(crate) unsafe extern "C" fn hipDeviceGetLimit(out: *mut usize, limit: hipLimit_t) -> hipError_t {
    entry(|| {
        let device = current_device(active()?)?;
        // SAFETY: the caller passes null or a valid place.
        let out = unsafe { caller::place(out) }?;
        *out = device.limits.of(limit)?.load(Ordering::Relaxed);
        Ok(())
    })
}

/// `hipDeviceSetLimit`: takes effect from now on. If the program sets the heap's limit, `malloc` in device
/// code returns null beyond it. The limit counts the memory that the heap takes from the device, in slabs of
/// 2 MiB; one slab is always allowed. Until then the heap grows as needed, as AMD's does.
///
/// `hipErrorInvalidValue` for a stack of more than 128 KiB - 16, `hipErrorUnsupportedLimit` for limits other
/// than those of stack and heap.
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
