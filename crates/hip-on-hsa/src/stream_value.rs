//! Waits for values in memory and writes of values, in a stream's order.
//!
//! The host does both: a thread of the stream reads the memory until it has the value. So they are there for memory that the
//! host reaches, which is all but the memory of devices behind a small window.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use hip_sys::{hipError_t, hipStream_t};

use crate::device::Device;
use crate::error::{Result, entry};
use crate::graph;
use crate::runtime::{Runtime, active};
use crate::stream::{Stream, resolve};

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;

/// Looks before a waiting thread sleeps between them, and how long it does then.
const SPINS: u32 = 1000;
const SLEEP: Duration = Duration::from_micros(50);

/// A word in memory that the host reaches.
#[derive(Clone, Copy)]
struct Word {
    address: usize,
    is_long: bool,
    /// Whose memory it is.
    device: Option<&'static Device>,
}

impl Word {
    /// Finds out whether the address is that of an aligned word in known memory.
    fn of(runtime: &Runtime, pointer: *mut c_void, is_long: bool) -> Result<Self> {
        let size = if is_long { 8 } else { 4 };
        let (found, offset) = runtime.memory.find(pointer as usize).ok_or(INVALID_VALUE)?;
        if size > found.size - offset || !(pointer as usize).is_multiple_of(size) {
            return Err(INVALID_VALUE);
        }
        let device = found.memory_of();
        if device.is_some_and(|device| !device.host_visible) {
            return Err(hipError_t::hipErrorNotSupported);
        }
        Ok(Self { address: found.base + offset, is_long, device })
    }

    /// # Safety
    /// The memory is still there.
    unsafe fn load(self) -> u64 {
        // SAFETY: as this function's contract; the word is aligned, and everybody uses it by atomic accesses of its size.
        unsafe {
            if self.is_long {
                AtomicU64::from_ptr(self.address as *mut u64).load(Ordering::Acquire)
            } else {
                AtomicU32::from_ptr(self.address as *mut u32).load(Ordering::Acquire).into()
            }
        }
    }

    /// # Safety
    /// The memory is still there.
    unsafe fn store(self, value: u64) {
        // SAFETY: as this function's contract; the word is aligned, and everybody uses it by atomic accesses of its size.
        unsafe {
            if self.is_long {
                AtomicU64::from_ptr(self.address as *mut u64).store(value, Ordering::Release);
            } else {
                AtomicU32::from_ptr(self.address as *mut u32).store(value as u32, Ordering::Release);
            }
        }
        if let Some(device) = self.device {
            device.info.hdp_mem_flush.flush();
        }
    }
}

/// What a wait waits for.
#[derive(Clone, Copy)]
struct Condition {
    kind: u32,
    value: u64,
    mask: u64,
}

impl Condition {
    fn new(kind: u32, value: u64, mask: u64) -> Result<Self> {
        if kind > hip_sys::hipStreamWaitValueNor {
            Err(INVALID_VALUE)
        } else {
            Ok(Self { kind, value, mask })
        }
    }

    /// `width` has the bits of the word.
    fn holds(self, word: u64, width: u64) -> bool {
        let Self { kind, value, mask } = self;
        match kind {
            hip_sys::hipStreamWaitValueGte => word & mask >= value,
            hip_sys::hipStreamWaitValueEq => word & mask == value,
            hip_sys::hipStreamWaitValueAnd => word & mask & value != 0,
            _ => !((word & mask) | (value & mask)) & width != 0,
        }
    }
}

fn wait(stream: &Arc<Stream>, runtime: &'static Runtime, word: Word, condition: Condition) -> Result {
    let width = if word.is_long { u64::MAX } else { u32::MAX.into() };
    let owner = Arc::downgrade(stream);
    stream.run_on_host(runtime, true, move |failure| {
        let mut looks = 0u32;
        // A stream that fails meanwhile waits no longer.
        let goes_on = || owner.upgrade().is_some_and(|stream| stream.failure().is_none());
        // SAFETY: the memory's free waits for the device, or for the stream, which this is part of.
        while failure.is_none() && !condition.holds(unsafe { word.load() }, width) {
            looks = looks.saturating_add(1);
            if looks < SPINS {
                std::hint::spin_loop();
            } else if goes_on() {
                std::thread::sleep(SLEEP);
            } else {
                break;
            }
        }
    })
}

fn write(stream: &Stream, runtime: &'static Runtime, word: Word, value: u64) -> Result {
    stream.run_on_host(runtime, true, move |failure| {
        if failure.is_none() {
            // SAFETY: the memory's free waits for the device, or for the stream, which this is part of.
            unsafe { word.store(value) };
        }
    })
}

fn start_wait(
    stream: hipStream_t,
    pointer: *mut c_void,
    is_long: bool,
    (kind, value, mask): (u32, u64, u64),
) -> Result {
    let runtime = active()?;
    let stream = resolve(runtime, stream)?;
    graph::permit_stream_wait(&stream)?;
    let condition = Condition::new(kind, value, mask)?;
    wait(&stream, runtime, Word::of(runtime, pointer, is_long)?, condition)
}

fn start_write(stream: hipStream_t, pointer: *mut c_void, is_long: bool, value: u64, flags: u32) -> Result {
    let runtime = active()?;
    let stream = resolve(runtime, stream)?;
    graph::permit_stream_wait(&stream)?;
    if flags != 0 {
        return Err(INVALID_VALUE);
    }
    write(&stream, runtime, Word::of(runtime, pointer, is_long)?, value)
}

/// `hipStreamWaitValue32`: what follows on the stream waits until the word is, masked, as the flags say of the value.
pub(crate) unsafe extern "C" fn hipStreamWaitValue32(
    stream: hipStream_t,
    pointer: *mut c_void,
    value: u32,
    flags: u32,
    mask: u32,
) -> hipError_t {
    entry(|| start_wait(stream, pointer, false, (flags, value.into(), mask.into())))
}

/// `hipStreamWaitValue64`.
pub(crate) unsafe extern "C" fn hipStreamWaitValue64(
    stream: hipStream_t,
    pointer: *mut c_void,
    value: u64,
    flags: u32,
    mask: u64,
) -> hipError_t {
    entry(|| start_wait(stream, pointer, true, (flags, value, mask)))
}

/// `hipStreamWriteValue32`: once everything before it on the stream has completed.
pub(crate) unsafe extern "C" fn hipStreamWriteValue32(
    stream: hipStream_t,
    pointer: *mut c_void,
    value: u32,
    flags: u32,
) -> hipError_t {
    entry(|| start_write(stream, pointer, false, value.into(), flags))
}

/// `hipStreamWriteValue64`.
pub(crate) unsafe extern "C" fn hipStreamWriteValue64(
    stream: hipStream_t,
    pointer: *mut c_void,
    value: u64,
    flags: u32,
) -> hipError_t {
    entry(|| start_write(stream, pointer, true, value, flags))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_those_of_the_header() {
        use hip_sys::*;
        let holds =
            |kind, value, mask, word| Condition::new(kind, value, mask).unwrap().holds(word, u32::MAX.into());
        assert!(holds(hipStreamWaitValueGte, 5, !0, 5) && holds(hipStreamWaitValueGte, 5, !0, 9));
        assert!(!holds(hipStreamWaitValueGte, 5, !0, 4) && !holds(hipStreamWaitValueGte, 5, 3, 8));
        assert!(holds(hipStreamWaitValueEq, 5, 7, 13) && !holds(hipStreamWaitValueEq, 5, !0, 13));
        assert!(holds(hipStreamWaitValueAnd, 6, !0, 2) && !holds(hipStreamWaitValueAnd, 6, 1, 7));
        assert!(!holds(hipStreamWaitValueNor, 0, u64::MAX, u32::MAX.into()));
        assert!(holds(hipStreamWaitValueNor, 0, u64::MAX, 0xffff_fffe));
        assert!(Condition::new(4, 0, 0).is_err());
    }
}
