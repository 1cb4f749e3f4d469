//! The parts of HIP that are needed: the current device, a stream for copies, and words that streams wait
//! for.

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
        // SAFETY: the number is valid for writes.
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
            tracing::warn!("cannot restore the current device: {}", failure.text);
        }
    }
}

/// Until this is dropped, captures of the program do not make HIP refuse calls of this thread. None of them
/// is to be captured.
pub(crate) struct Relaxed {
    hip: &'static Table,
    before: hipStreamCaptureMode,
}

impl Relaxed {
    pub(crate) fn set(hip: &'static Table) -> Result<Self> {
        let mut before = hipStreamCaptureMode::hipStreamCaptureModeRelaxed;
        // SAFETY: the mode is valid for reads and writes.
        unsafe { hip!(hip, hipThreadExchangeStreamCaptureMode(&raw mut before))? };
        Ok(Self { hip, before })
    }
}

impl Drop for Relaxed {
    fn drop(&mut self) {
        // SAFETY: as above.
        let set = unsafe { hip!(self.hip, hipThreadExchangeStreamCaptureMode(&raw mut self.before)) };
        if let Err(failure) = set {
            tracing::warn!("cannot restore the capture mode: {}", failure.text);
        }
    }
}

/// Synchronous copies between a device and the host, on their own stream.
pub(crate) struct Copies {
    hip: &'static Table,
    stream: hipStream_t,
}

impl Copies {
    /// For the current device of the calling thread.
    pub(crate) fn new(hip: &'static Table) -> Result<Self> {
        let mut stream = null_mut();
        // SAFETY: the handle is valid for writes.
        unsafe { hip!(hip, hipStreamCreateWithFlags(&raw mut stream, hip_sys::hipStreamNonBlocking))? };
        Ok(Self { hip, stream })
    }

    /// # Safety
    /// Both sides hold this many bytes, and host memory stays valid during the call.
    pub(crate) unsafe fn copy(&self, to: *mut u8, from: *const u8, bytes: usize) -> Result {
        if bytes == 0 {
            return Ok(());
        }
        let kind = hipMemcpyKind::hipMemcpyDefault;
        // SAFETY: the caller's promise; this value owns the stream.
        unsafe { hip!(self.hip, hipMemcpyWithStream(to.cast(), from.cast(), bytes, kind, self.stream)) }
    }

    /// Like [`copy`](Self::copy), within the device's memory. AMD's HIP does not wait for such copies by
    /// itself.
    ///
    /// # Safety
    /// Both sides hold this many bytes.
    pub(crate) unsafe fn copy_inside(&self, to: *mut u8, from: *const u8, bytes: usize) -> Result {
        // SAFETY: the caller's promise; this value owns the stream.
        unsafe {
            self.copy(to, from, bytes)?;
            hip!(self.hip, hipStreamSynchronize(self.stream))
        }
    }
}

impl Drop for Copies {
    fn drop(&mut self) {
        // SAFETY: this value owns the stream, and every copy on it is done.
        if let Err(failure) = unsafe { hip!(self.hip, hipStreamDestroy(self.stream)) } {
            tracing::warn!("{}", failure.text);
        }
    }
}

/// Memory of the program that devices can access until this is dropped. Copies from and to it do not have to
/// check with the system that it is mapped, or go through other memory.
pub(crate) struct Pinned {
    hip: &'static Table,
    start: *mut c_void,
}

// SAFETY: the address only goes back to HIP.
unsafe impl Send for Pinned {}

impl Pinned {
    /// # Safety
    /// The memory stays valid as long as the result.
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

/// Host memory allocated by HIP.
pub(crate) struct HostMemory {
    hip: &'static Table,
    start: *mut c_void,
}

// SAFETY: it is only memory; each access has its own justification.
unsafe impl Send for HostMemory {}

impl HostMemory {
    pub(crate) fn new(hip: &'static Table, bytes: usize) -> Result<Self> {
        let mut start = null_mut();
        // SAFETY: the pointer is valid for writes.
        unsafe { hip!(hip, hipHostMalloc(&raw mut start, bytes, hip_sys::hipHostMallocPortable))? };
        Ok(Self { hip, start })
    }

    /// Its start, aligned for any element.
    pub(crate) fn start(&self) -> *mut u8 {
        self.start.cast()
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        // SAFETY: this value owns the memory, and every copy is done.
        if let Err(failure) = unsafe { hip!(self.hip, hipHostFree(self.start)) } {
            tracing::warn!("{}", failure.text);
        }
    }
}

/// The distance between words: a cache line.
const APART: usize = 64;
const PAGE: usize = 4096;

/// Unused words. Their memory is never freed: a stream may read a word after its communicator is gone.
static FREE: Mutex<Vec<Line>> = Mutex::new(Vec::new());

#[derive(Clone, Copy)]
struct Line(*const AtomicU64);

// SAFETY: it points to an atomic that lives until the process ends.
unsafe impl Send for Line {}
// SAFETY: as above.
unsafe impl Sync for Line {}

/// A number in host memory that streams of every device wait on. It is either a counter, which only grows, or
/// a gate, which is open or closed. The next owner of the memory continues from its value and never goes
/// below it, so nobody waits for a value that has passed.
pub(crate) struct Word {
    line: Line,
    /// Its value when it was taken.
    first: u64,
}

impl Word {
    pub(crate) fn take(hip: &'static Table) -> Result<Self> {
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        if free.is_empty() {
            let mut page: *mut c_void = null_mut();
            let flags = hip_sys::hipHostMallocPortable | hip_sys::hipHostMallocMapped;
            // SAFETY: the pointer is valid for writes.
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

    /// Releases all streams that wait for at most this value.
    pub(crate) fn reach(&self, value: u64) {
        self.atomic().fetch_max(value, Ordering::Release);
    }

    /// Opens or closes a gate.
    pub(crate) fn set_open(&self, is_open: bool) {
        self.atomic().store(self.first + u64::from(is_open), Ordering::Release);
    }

    /// Makes later work on a stream wait until the word has the value.
    ///
    /// # Safety
    /// The stream belongs to the current device.
    pub(crate) unsafe fn wait_on(&self, hip: &'static Table, stream: hipStream_t, value: u64) -> Result {
        let (address, kind) = (self.line.0.cast_mut().cast(), hip_sys::hipStreamWaitValueGte);
        // SAFETY: the word lives until the process ends; the caller vouches for the stream.
        unsafe { hip!(hip, hipStreamWaitValue64(stream, address, value, kind, u64::MAX)) }
    }

    /// Makes later work on a stream wait until the gate is open.
    ///
    /// # Safety
    /// The stream belongs to the current device.
    pub(crate) unsafe fn wait_open(&self, hip: &'static Table, stream: hipStream_t) -> Result {
        // SAFETY: the caller's promise.
        unsafe { self.wait_on(hip, stream, self.first + 1) }
    }
}

impl Drop for Word {
    fn drop(&mut self) {
        // Leave a gate open for streams that still wait, whatever the next owner's values are.
        self.reach(self.first + 1);
        FREE.lock().unwrap_or_else(PoisonError::into_inner).push(self.line);
    }
}
