//! What is needed of HIP: the current device, a stream for copies, and words that streams wait for.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use hip_sys::{Table, hipMemcpyKind, hipStream_t, hipStreamCaptureMode};

use crate::error::{Failure, Result, hip};

/// Makes a device current on this thread until this is dropped.
pub(crate) struct Current {
    hip: &'static Table,
    before: i32,
}

impl Current {
    pub(crate) fn device(hip: &'static Table) -> Result<i32> {
        let mut device = 0;
        // SAFETY: the number is a place to write to.
        unsafe { hip!(hip, hipGetDevice(&raw mut device))? };
        Ok(device)
    }

    pub(crate) fn set(hip: &'static Table, device: i32) -> Result<Self> {
        let before = Self::device(hip)?;
        if before != device {
            // SAFETY: the call takes a number.
            unsafe { hip!(hip, hipSetDevice(device))? };
        }
        Ok(Self { hip, before })
    }
}

impl Drop for Current {
    fn drop(&mut self) {
        // SAFETY: the call takes a number.
        if let Err(failure) = unsafe { hip!(self.hip, hipSetDevice(self.before)) } {
            tracing::warn!("cannot make the former device current again: {}", failure.text);
        }
    }
}

/// Keeps captures of the program from refusing what this thread does, until this is dropped: none of it is to be captured.
pub(crate) struct Relaxed {
    hip: &'static Table,
    before: hipStreamCaptureMode,
}

impl Relaxed {
    pub(crate) fn set(hip: &'static Table) -> Result<Self> {
        let mut before = hipStreamCaptureMode::hipStreamCaptureModeRelaxed;
        // SAFETY: the mode is a place to read from and to write to.
        unsafe { hip!(hip, hipThreadExchangeStreamCaptureMode(&raw mut before))? };
        Ok(Self { hip, before })
    }
}

impl Drop for Relaxed {
    fn drop(&mut self) {
        // SAFETY: as above.
        let set = unsafe { hip!(self.hip, hipThreadExchangeStreamCaptureMode(&raw mut self.before)) };
        if let Err(failure) = set {
            tracing::warn!("cannot set the former mode of captures again: {}", failure.text);
        }
    }
}

/// Copies between a device and the host, on a stream of their own, each done when the call returns.
pub(crate) struct Copies {
    hip: &'static Table,
    stream: hipStream_t,
}

impl Copies {
    /// For the device that is current on the thread that uses them.
    pub(crate) fn new(hip: &'static Table) -> Result<Self> {
        let mut stream = null_mut();
        // SAFETY: the handle is a place to write to.
        unsafe { hip!(hip, hipStreamCreateWithFlags(&raw mut stream, hip_sys::hipStreamNonBlocking))? };
        Ok(Self { hip, stream })
    }

    /// # Safety
    /// Both sides hold so many bytes, and what of them is the host's stays there during the call.
    pub(crate) unsafe fn copy(&self, to: *mut u8, from: *const u8, bytes: usize) -> Result {
        if bytes == 0 {
            return Ok(());
        }
        let kind = hipMemcpyKind::hipMemcpyDefault;
        // SAFETY: the caller's promise; the stream is this one's.
        unsafe { hip!(self.hip, hipMemcpyWithStream(to.cast(), from.cast(), bytes, kind, self.stream)) }
    }

    /// As [`copy`](Self::copy), inside the device's memory. AMD's HIP does not wait for such copies by itself.
    ///
    /// # Safety
    /// Both sides hold so many bytes.
    pub(crate) unsafe fn copy_inside(&self, to: *mut u8, from: *const u8, bytes: usize) -> Result {
        // SAFETY: the caller's promise; the stream is this one's.
        unsafe {
            self.copy(to, from, bytes)?;
            hip!(self.hip, hipStreamSynchronize(self.stream))
        }
    }
}

impl Drop for Copies {
    fn drop(&mut self) {
        // SAFETY: the stream is this one's, and every copy on it is done.
        if let Err(failure) = unsafe { hip!(self.hip, hipStreamDestroy(self.stream)) } {
            tracing::warn!("{}", failure.text);
        }
    }
}

/// Memory of the program that devices reach until this is dropped. Copies from and to it need not ask the system whether it is there, nor go
/// through other memory.
pub(crate) struct Pinned {
    hip: &'static Table,
    start: *mut c_void,
}

// SAFETY: the address only goes back to HIP.
unsafe impl Send for Pinned {}

impl Pinned {
    /// # Safety
    /// The memory stays where it is as long as the result.
    pub(crate) unsafe fn new(hip: &'static Table, start: *mut u8, bytes: usize) -> Result<Self> {
        let (start, flags) = (start.cast(), hip_sys::hipHostRegisterPortable);
        // SAFETY: the caller's promise.
        unsafe { hip!(hip, hipHostRegister(start, bytes, flags))? };
        Ok(Self { hip, start })
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // SAFETY: the memory was registered, and every copy is done.
        if let Err(failure) = unsafe { hip!(self.hip, hipHostUnregister(self.start)) } {
            tracing::warn!("{}", failure.text);
        }
    }
}

/// Host memory of HIP's.
pub(crate) struct HostMemory {
    hip: &'static Table,
    start: *mut c_void,
}

// SAFETY: it is memory; whoever reaches into it says how.
unsafe impl Send for HostMemory {}

impl HostMemory {
    pub(crate) fn new(hip: &'static Table, bytes: usize) -> Result<Self> {
        let mut start = null_mut();
        // SAFETY: the pointer is a place to write to.
        unsafe { hip!(hip, hipHostMalloc(&raw mut start, bytes, hip_sys::hipHostMallocPortable))? };
        Ok(Self { hip, start })
    }

    /// Where it begins, aligned for any element.
    pub(crate) fn start(&self) -> *mut u8 {
        self.start.cast()
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        // SAFETY: the memory is this one's, and every copy is done.
        if let Err(failure) = unsafe { hip!(self.hip, hipHostFree(self.start)) } {
            tracing::warn!("{}", failure.text);
        }
    }
}

/// Words are a cache line apart.
const APART: usize = 64;
const PAGE: usize = 4096;

/// Words that nobody has now. Their memory is never freed: a stream may look at one after its communicator is gone.
static FREE: Mutex<Vec<Line>> = Mutex::new(Vec::new());

#[derive(Clone, Copy)]
struct Line(*const AtomicU64);

// SAFETY: it points to an atomic that lives until the process ends.
unsafe impl Send for Line {}
// SAFETY: as above.
unsafe impl Sync for Line {}

/// A number in memory of the host that streams of every device wait on. It is a counter, which only grows, or a gate, which is open or
/// closed. Who has the memory next goes on from its value, and never goes below that: nobody ever waits for a number that has been.
pub(crate) struct Word {
    line: Line,
    /// The value that it was taken with.
    first: u64,
}

impl Word {
    pub(crate) fn take(hip: &'static Table) -> Result<Self> {
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        if free.is_empty() {
            let mut page: *mut c_void = null_mut();
            let flags = hip_sys::hipHostMallocPortable | hip_sys::hipHostMallocMapped;
            // SAFETY: the pointer is a place to write to.
            unsafe { hip!(hip, hipHostMalloc(&raw mut page, PAGE, flags))? };
            for at in (0..PAGE).step_by(APART) {
                // SAFETY: the page was just allocated, is larger, and is aligned; it is never freed.
                unsafe {
                    let word = page.cast::<u8>().add(at).cast::<AtomicU64>();
                    word.write(AtomicU64::new(0));
                    free.push(Line(word));
                }
            }
        }
        let line = free.pop().ok_or_else(|| Failure::usage("no word"))?;
        let mut word = Self { line, first: 0 };
        word.first = word.value();
        Ok(word)
    }

    fn atomic(&self) -> &AtomicU64 {
        // SAFETY: as `Line` says.
        unsafe { &*self.line.0 }
    }

    pub(crate) fn value(&self) -> u64 {
        self.atomic().load(Ordering::Acquire)
    }

    /// Lets all streams go on that wait for at most this.
    pub(crate) fn reach(&self, value: u64) {
        self.atomic().fetch_max(value, Ordering::Release);
    }

    /// Opens or closes a gate.
    pub(crate) fn set_open(&self, is_open: bool) {
        self.atomic().store(self.first + u64::from(is_open), Ordering::Release);
    }

    /// Has what follows on a stream wait until the word has the value.
    ///
    /// # Safety
    /// The stream is one of the current device.
    pub(crate) unsafe fn wait_on(&self, hip: &'static Table, stream: hipStream_t, value: u64) -> Result {
        let (address, kind) = (self.line.0.cast_mut().cast(), hip_sys::hipStreamWaitValueGte);
        // SAFETY: the word lives until the process ends; the caller vouches for the stream.
        unsafe { hip!(hip, hipStreamWaitValue64(stream, address, value, kind, u64::MAX)) }
    }

    /// Has what follows on a stream wait until the gate is open.
    ///
    /// # Safety
    /// The stream is one of the current device.
    pub(crate) unsafe fn wait_open(&self, hip: &'static Table, stream: hipStream_t) -> Result {
        // SAFETY: the caller's promise.
        unsafe { self.wait_on(hip, stream, self.first + 1) }
    }
}

impl Drop for Word {
    fn drop(&mut self) {
        // Streams that still wait for a gate find it open, with whatever value its next owner has.
        self.reach(self.first + 1);
        FREE.lock().unwrap_or_else(PoisonError::into_inner).push(self.line);
    }
}
