//! Streams whose kernels run on some of the device's multiprocessors only.

use hip_sys::{hipError_t, hipStream_t};

use crate::caller;
use crate::device::{Device, current_device};
use crate::error::entry;
use crate::runtime::active;
use crate::stream::{create, resolve};

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;
const BITS: u32 = u32::BITS;

/// A bit for each multiprocessor of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CuMask(Box<[u32]>);

impl CuMask {
    /// All of them.
    fn all(device: &Device) -> Self {
        let count = device.multiprocessors();
        let word = |first: u32| match count - first {
            left if left < BITS => (1 << left) - 1,
            _ => u32::MAX,
        };
        Self((0..count).step_by(BITS as usize).map(word).collect())
    }

    /// Those of a program's list that the device has; nothing if it has none of them, which restricts nothing, as with AMD's runtime.
    fn of(device: &Device, words: &[u32]) -> Option<Self> {
        let mut mask = Self::all(device);
        let words = words.iter().copied().chain(std::iter::repeat(0));
        mask.0.iter_mut().zip(words).for_each(|(bits, wanted)| *bits &= wanted);
        mask.0.iter().any(|&bits| bits != 0).then_some(mask)
    }

    /// The same for HSA, which counts compute units, of which a multiprocessor may have two.
    pub(crate) fn compute_units(&self, device: &Device) -> Vec<u32> {
        let each = device.units_per_multiprocessor();
        let mut units = vec![0; self.0.len() * each as usize];
        for unit in 0..device.multiprocessors() * each {
            let of = unit / each;
            if self.0[(of / BITS) as usize] >> (of % BITS) & 1 == 1 {
                units[(unit / BITS) as usize] |= 1 << (unit % BITS);
            }
        }
        units
    }
}

/// `hipExtStreamCreateWithCUMask`: a blocking stream of normal priority; a bit for each multiprocessor. A mask without any of the device's
/// restricts nothing. Launches of graphs on the stream do not heed it for what they run beside it.
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
        // No device has more; what a list says beyond is not looked at.
        let words = (count as usize).min(CuMask::all(device).0.len());
        // SAFETY: the caller passes null or a list of so many words.
        let mask = CuMask::of(device, unsafe { caller::list(mask, words) }?);
        // SAFETY: the caller passes a valid place for a handle.
        unsafe { create(stream, hip_sys::hipStreamDefault, 0, mask) }
    })
}

/// `hipExtStreamGetCUMask`: all multiprocessors for streams without a mask; `hipErrorInvalidValue` if the list is too short.
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
        // SAFETY: the caller passes null or a list of so many words.
        unsafe { caller::places(mask, found.0.len()) }?.copy_from_slice(&found.0);
        Ok(())
    })
}
