//! The order in which a program enqueues a communicator's operations and launches graphs with captured ones.
//!
//! Only HIP knows when a graph is launched. So from the first captured operation on, each enqueued operation
//! waits on the device for an *event* that the previous operation recorded after itself. A graph does the
//! same with nodes: its first operation waits for the event as it is at the launch, and each operation
//! records it again. Within a graph, the operations of a communicator follow each other. So at most one
//! operation at a time is running, in the order of the program's calls, which is the same on all ranks.

use std::ptr::null_mut;
use std::sync::{Mutex, PoisonError};

use hip_sys::{Table, hipEvent_t, hipStream_t};

use crate::captured::Capture;
use crate::device::Relaxed;
use crate::error::{Result, hip};

/// Unused events, each with its device. They are never destroyed: a graph may run after its communicator is
/// gone.
static FREE: Mutex<Vec<Event>> = Mutex::new(Vec::new());

#[derive(Clone, Copy)]
struct Event {
    handle: usize,
    device: i32,
}

impl Event {
    /// Takes an event of a device, which must be current.
    fn take(hip: &'static Table, device: i32) -> Result<Self> {
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = free.iter().position(|event| event.device == device) {
            return Ok(free.swap_remove(index));
        }
        let mut event: hipEvent_t = null_mut();
        // SAFETY: the handle is valid for writes.
        unsafe { hip!(hip, hipEventCreateWithFlags(&raw mut event, hip_sys::hipEventDisableTiming))? };
        Ok(Self { handle: event as usize, device })
    }

    fn raw(self) -> hipEvent_t {
        self.handle as hipEvent_t
    }
}

/// The order of one communicator's operations.
pub(crate) struct Order {
    hip: &'static Table,
    /// Recorded after the last operation.
    last: Event,
    /// Within captures: recorded after the last captured operation, and used to join streams.
    tail: Event,
    join: Event,
    /// The capture to which `tail` belongs.
    capture: Mutex<Option<u64>>,
    /// For work that takes its turn but is on no stream of the program; 0 until needed.
    stream: Mutex<usize>,
}

impl Order {
    /// For a device, which must be current.
    pub(crate) fn new(hip: &'static Table, device: i32) -> Result<Self> {
        let event = || Event::take(hip, device);
        let (last, tail, join) = (event()?, event()?, event()?);
        Ok(Self { hip, last, tail, join, capture: Mutex::new(None), stream: Mutex::new(0) })
    }

    /// # Safety
    /// The stream is live, and the communicator's device is current.
    unsafe fn record(&self, event: Event, stream: hipStream_t) -> Result {
        // SAFETY: the caller's promise; the event is never destroyed.
        unsafe { hip!(self.hip, hipEventRecord(event.raw(), stream)) }
    }

    /// # Safety
    /// As [`record`](Self::record).
    unsafe fn wait_for(&self, event: Event, stream: hipStream_t, flags: u32) -> Result {
        // SAFETY: the caller's promise; the event is never destroyed.
        unsafe { hip!(self.hip, hipStreamWaitEvent(stream, event.raw(), flags)) }
    }

    /// Makes later work on a stream wait for the operations so far.
    ///
    /// # Safety
    /// The stream is live and not captured, and the communicator's device is current.
    pub(crate) unsafe fn wait(&self, stream: hipStream_t) -> Result {
        // SAFETY: the caller's promise.
        unsafe { self.wait_for(self.last, stream, hip_sys::hipEventWaitDefault) }
    }

    /// Makes the next operation wait for the work on a stream so far.
    ///
    /// # Safety
    /// As [`wait`](Self::wait).
    pub(crate) unsafe fn note(&self, stream: hipStream_t) -> Result {
        // SAFETY: the caller's promise.
        unsafe { self.record(self.last, stream) }
    }

    /// Makes the first of captured streams wait for the others, and for the earlier operations in the graph
    /// or before it.
    ///
    /// # Safety
    /// All are live streams of the capture, and the communicator's device is current.
    pub(crate) unsafe fn enter(&self, first: hipStream_t, others: &[usize], capture: Capture) -> Result {
        let mut known = self.capture.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the caller's promise.
        unsafe {
            for other in others {
                self.record(self.join, *other as hipStream_t)?;
                self.wait_for(self.join, first, hip_sys::hipEventWaitDefault)?;
            }
            match *known == Some(capture.id) {
                true => self.wait_for(self.tail, first, hip_sys::hipEventWaitDefault)?,
                false => self.wait_for(self.last, first, hip_sys::hipEventWaitExternal)?,
            }
        }
        *known = Some(capture.id);
        Ok(())
    }

    /// Makes the other captured streams, and so the next operation, wait for the first.
    ///
    /// # Safety
    /// As [`enter`](Self::enter).
    pub(crate) unsafe fn leave(&self, first: hipStream_t, others: &[usize]) -> Result {
        let external = hip_sys::hipEventRecordExternal;
        // SAFETY: the caller's promise; the events are never destroyed.
        unsafe {
            hip!(self.hip, hipEventRecordWithFlags(self.last.raw(), first, external))?;
            self.record(self.tail, first)?;
            others.iter().try_for_each(|other| {
                self.wait_for(self.tail, *other as hipStream_t, hip_sys::hipEventWaitDefault)
            })
        }
    }

    /// The communicator's own stream. Its device must be current.
    pub(crate) fn stream(&self) -> Result<hipStream_t> {
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        if *stream == 0 {
            let _relaxed = Relaxed::set(self.hip)?;
            let mut made: hipStream_t = null_mut();
            // SAFETY: the handle is valid for writes.
            unsafe {
                hip!(self.hip, hipStreamCreateWithFlags(&raw mut made, hip_sys::hipStreamNonBlocking))?;
            }
            *stream = made as usize;
        }
        Ok(*stream as hipStream_t)
    }

    /// Destroys that stream, because the communicator ends and nothing will take a turn any more.
    pub(crate) fn end(&self) {
        let stream = std::mem::take(&mut *self.stream.lock().unwrap_or_else(PoisonError::into_inner));
        if stream != 0 {
            // SAFETY: this value owns the stream, and no longer gives it out.
            if let Err(failure) = unsafe { hip!(self.hip, hipStreamDestroy(stream as hipStream_t)) } {
                tracing::warn!("{}", failure.text);
            }
        }
    }
}

impl Drop for Order {
    fn drop(&mut self) {
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        free.extend([self.last, self.tail, self.join]);
    }
}
