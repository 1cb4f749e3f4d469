//! The order in which a program enqueues a communicator's operations and launches graphs with captured ones.
//!
//! Only HIP knows when a graph is launched. So from the first captured operation on, each operation that is enqueued waits on the device for
//! an *event*, which the one before has recorded behind itself. A graph does so by nodes: its first operation waits for what the event stands
//! for at the launch, and each records it anew. Within a graph, the operations of a communicator follow each other. So at most one of
//! them has come at a time, in the order of the program's calls, which is the same on all ranks.

use std::ptr::null_mut;
use std::sync::{Mutex, PoisonError};

use hip_sys::{Table, hipEvent_t, hipStream_t};

use crate::captured::Capture;
use crate::device::Relaxed;
use crate::error::{Result, hip};

/// Events that nobody has now, each with its device. They are never destroyed: a graph may run after its communicator is gone.
static FREE: Mutex<Vec<Event>> = Mutex::new(Vec::new());

#[derive(Clone, Copy)]
struct Event {
    handle: usize,
    device: i32,
}

impl Event {
    /// Of a device, which is current.
    fn take(hip: &'static Table, device: i32) -> Result<Self> {
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = free.iter().position(|event| event.device == device) {
            return Ok(free.swap_remove(index));
        }
        let mut event: hipEvent_t = null_mut();
        // SAFETY: the handle is a place to write to.
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
    /// Behind the last operation.
    last: Event,
    /// Within captures: behind the last captured operation, and what joins streams.
    tail: Event,
    join: Event,
    /// The capture that `tail` is part of.
    capture: Mutex<Option<u64>>,
    /// For what takes its turn and is on no stream of the program's; 0 until there is something.
    stream: Mutex<usize>,
}

impl Order {
    /// For a device, which is current.
    pub(crate) fn new(hip: &'static Table, device: i32) -> Result<Self> {
        let event = || Event::take(hip, device);
        let (last, tail, join) = (event()?, event()?, event()?);
        Ok(Self { hip, last, tail, join, capture: Mutex::new(None), stream: Mutex::new(0) })
    }

    /// # Safety
    /// The stream is a live one, and the communicator's device is current.
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

    /// Has what follows on a stream wait for the operations before.
    ///
    /// # Safety
    /// The stream is a live one that is not captured, and the communicator's device is current.
    pub(crate) unsafe fn wait(&self, stream: hipStream_t) -> Result {
        // SAFETY: the caller's promise.
        unsafe { self.wait_for(self.last, stream, hip_sys::hipEventWaitDefault) }
    }

    /// Has the next operation wait for what a stream has come to.
    ///
    /// # Safety
    /// As [`wait`](Self::wait).
    pub(crate) unsafe fn note(&self, stream: hipStream_t) -> Result {
        // SAFETY: the caller's promise.
        unsafe { self.record(self.last, stream) }
    }

    /// Has the first of captured streams wait for the others, and for the operations before in the graph, or before the graph.
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

    /// Has the others wait for the first of captured streams, and so the next operation.
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

    /// A stream of the communicator's own. Its device is current.
    pub(crate) fn stream(&self) -> Result<hipStream_t> {
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        if *stream == 0 {
            let _relaxed = Relaxed::set(self.hip)?;
            let mut made: hipStream_t = null_mut();
            // SAFETY: the handle is a place to write to.
            unsafe {
                hip!(self.hip, hipStreamCreateWithFlags(&raw mut made, hip_sys::hipStreamNonBlocking))?;
            }
            *stream = made as usize;
        }
        Ok(*stream as hipStream_t)
    }

    /// Destroys that stream: the communicator ends, and nothing takes its turn any more.
    pub(crate) fn end(&self) {
        let stream = std::mem::take(&mut *self.stream.lock().unwrap_or_else(PoisonError::into_inner));
        if stream != 0 {
            // SAFETY: the stream is this one's, and nobody gets it any more.
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
