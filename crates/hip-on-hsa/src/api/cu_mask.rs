//! Streams whose kernels run only on some of the device's multiprocessors.

use hip_sys::{hipError_t, hipStream_t};

use crate::api::stream::create;
use crate::caller;
use crate::devices::cu_mask::CuMask;
use crate::devices::device::current_device;
use crate::devices::stream::resolve;
use crate::error::entry;
use crate::runtime::active;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;

/// `hipExtStreamCreateWithCUMask`: a blocking stream of normal priority; a bit for each multiprocessor. A
/// mask without any of the device's multiprocessors restricts nothing. Graph launches on the stream ignore it
/// for work on other streams.
pub(crate) unsafe extern "C" fn hipExtStreamCreateWithCUMask(
    stream: *mut hipStream_t,
    count: u32,
    mask: *const u32,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        if stream.is_null() {
            return Err(hipError_t::hipErrorInvalidHandle);
        }
        if count == 0 {
            return Err(INVALID_VALUE);
        }
        let device = current_device(runtime)?;
        // No device has more; the rest of a list is ignored.
        let words = (count as usize).min(CuMask::all(device).0.len());
        // SAFETY: the caller passes null or a list of this many words.
        let mask = CuMask::of(device, unsafe { caller::list(mask, words) }?);
        // SAFETY: the caller passes a valid place for a handle.
        unsafe { create(stream, hip_sys::hipStreamDefault, 0, mask) }
    })
}

/// `hipExtStreamGetCUMask`: all multiprocessors for streams without a mask; `hipErrorInvalidValue` if the
/// list is too short.
pub(crate) unsafe extern "C" fn hipExtStreamGetCUMask(
    stream: hipStream_t,
    count: u32,
    mask: *mut u32,
) -> hipError_t {
    entry(|| {
        let stream = resolve(active()?, stream)?;
        let found = stream.cu_mask().cloned().unwrap_or_else(|| CuMask::all(stream.device));
        if (count as usize) < found.0.len() {
            return Err(INVALID_VALUE);
        }
        // SAFETY: the caller passes null or a list of this many words.
        unsafe { caller::places(mask, found.0.len()) }?.copy_from_slice(&found.0);
        Ok(())
    })
}
