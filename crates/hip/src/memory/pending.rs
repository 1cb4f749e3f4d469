//! Copies that run while the host goes on.

use crate::call::dropped;
use crate::error::Result;
use crate::event::Event;
use crate::stream::{Stream, WeakStream};

/// What an operation on a stream uses until it is done: host memory that must neither move nor go away.
///
/// [`wait`](Self::wait) gives it back. Dropping waits too; forgetting leaks it. Either way the device never copies to
/// memory that somebody else has.
#[derive(Debug)]
#[must_use = "dropping this waits for the copy; `wait` gives the buffer back"]
pub struct Pending<B> {
    // Fields are dropped in this order: the guard waits before the buffer is released.
    guard: Guard,
    buffer: B,
}

/// Waits, at the latest when dropped.
#[derive(Debug)]
struct Guard {
    stream: Stream,
    /// Marks the end of the work; without it, the end of the stream counts.
    done: Option<Event>,
    /// Streams that wrote what is read: the result is only worth something if they have not failed.
    sources: Vec<WeakStream>,
    finished: bool,
}

impl<B> Pending<B> {
    /// Guards `buffer`, which the work that was just enqueued on `stream` uses.
    pub(crate) fn new(stream: &Stream, buffer: B, sources: Vec<WeakStream>) -> Result<Self> {
        let guard = Guard { stream: stream.clone(), done: None, sources, finished: false };
        let mut pending = Self { guard, buffer };
        // If this fails, `pending` is dropped here and waits for the whole stream.
        let event = Event::without_timing(stream.device())?;
        event.record(stream)?;
        pending.guard.done = Some(event);
        Ok(pending)
    }

    /// Blocks until the copy is done, and gives the buffer back.
    ///
    /// # Errors
    /// [`Error::Fault`](crate::Error::Fault) if work before the copy faulted, else [`Error::Hip`](crate::Error::Hip). The
    /// buffer is then released.
    pub fn wait(mut self) -> Result<B> {
        self.guard.finish()?;
        self.guard.sources.iter().try_for_each(WeakStream::check)?;
        Ok(self.buffer)
    }

    /// Whether the copy is done, without waiting.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub fn is_done(&self) -> Result<bool> {
        match &self.guard.done {
            Some(event) => self.guard.stream.check(event.is_done()),
            None => self.guard.stream.is_done(),
        }
    }

    /// The stream that runs the copy.
    pub fn stream(&self) -> &Stream {
        &self.guard.stream
    }
}

impl Guard {
    fn finish(&mut self) -> Result<()> {
        self.finished = true;
        let waited = match &self.done {
            Some(event) => self.stream.check(event.synchronize()),
            None => return self.stream.synchronize(),
        };
        if waited.is_err() {
            // What failed may have been the wait alone: nothing may run any more when the buffer is released.
            self.stream.synchronize()?;
        }
        waited
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if !self.finished {
            let finished = self.finish();
            dropped("pending copy", finished);
        }
    }
}
