//! Copies that run in the background.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use hip_sys::hipError_t;

use crate::call::dropped;
use crate::completion::Completion;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::stream::{Stream, WeakStream, release};

/// A copy in progress, which owns its host memory.
///
/// [`wait`](Self::wait) returns the memory, and so does `.await`. Dropping also waits; `mem::forget` leaks
/// the memory. In no case does the device copy to memory that something else uses.
///
/// ```no_run
/// # async fn example() -> hip::Result<()> {
/// # let device = hip::Device::open("auto")?;
/// # let stream = device.stream()?;
/// let buffer = hip::DeviceBuffer::from_slice(&stream, &[1, 2, 3])?;
/// let host = buffer.download(&stream, hip::HostBuffer::zeroed(&device, 3)?)?.await?;
/// assert_eq!(*host, [1, 2, 3]);
/// # Ok(())
/// # }
/// ```
#[must_use = "dropping this waits for the copy; `wait` gives the buffer back"]
pub struct Pending<B: Send + 'static> {
    guard: Guard,
    /// `Some` until it is returned.
    buffer: Option<B>,
}

/// The work that uses the buffer.
struct Guard {
    stream: Stream,
    /// Marks the end of the work; if `None`, the end of the stream counts.
    done: Option<Event>,
    /// Streams that wrote the source: the result is only valid if they have not failed.
    sources: Vec<WeakStream>,
}

impl<B: Send + 'static> Pending<B> {
    /// Guards `buffer`, which the work just enqueued on `stream` uses.
    pub(crate) fn new(stream: &Stream, buffer: B, sources: Vec<WeakStream>) -> Result<Self> {
        let guard = Guard { stream: stream.clone(), done: None, sources };
        let mut pending = Self { guard, buffer: Some(buffer) };
        // If this fails, `pending` is dropped here and waits for the whole stream.
        let event = Event::without_timing(stream.device())?;
        event.record(stream)?;
        pending.guard.done = Some(event);
        Ok(pending)
    }

    /// Blocks until the copy is done, and returns the buffer.
    ///
    /// # Errors
    /// [`Error::Fault`] if work before the copy faulted, else [`Error::Hip`]. The buffer is then released.
    pub fn wait(mut self) -> Result<B> {
        match self.guard.finish() {
            Ok(result) => {
                let buffer = self.buffer.take();
                result?;
                self.guard.sources.iter().try_for_each(WeakStream::check)?;
                buffer.ok_or(Error::Hip { operation: "wait", code: hipError_t::hipErrorUnknown })
            }
            // Dropping `self` handles a copy that may still run.
            Err(error) => Err(error),
        }
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
    /// Blocks until the work is over, and returns how it ended. The outer error means that it may still run.
    fn finish(&self) -> Result<Result<()>> {
        let Some(event) = &self.done else { return self.stream.finish() };
        match self.stream.check(event.synchronize()) {
            Ok(()) => Ok(Ok(())),
            // Perhaps only the wait failed, but nothing may be running when the buffer is released.
            Err(error) => self.stream.finish().map(|over| over.and(Err(error))),
        }
    }
}

impl<B: Send + 'static> Drop for Pending<B> {
    fn drop(&mut self) {
        let Some(buffer) = self.buffer.take() else { return };
        let guard = Guard {
            stream: self.guard.stream.clone(),
            done: self.guard.done.as_ref().map(Event::share),
            sources: Vec::new(),
        };
        release("pending copy", move || {
            let finished = guard.finish();
            if finished.is_err() {
                // The copy may still run.
                std::mem::forget(buffer);
            } else {
                drop(buffer);
            }
            dropped("pending copy", finished.and_then(|result| result));
        });
    }
}

impl<B: fmt::Debug + Send + 'static> fmt::Debug for Pending<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The device may write the buffer right now.
        f.debug_struct("Pending").field("stream", &self.guard.stream).finish_non_exhaustive()
    }
}

impl<B: Send + 'static> IntoFuture for Pending<B> {
    type Output = Result<B>;
    type IntoFuture = PendingFuture<B>;

    fn into_future(self) -> PendingFuture<B> {
        let completion = match &self.guard.done {
            Some(event) => event.completion(),
            None => self.guard.stream.completion(),
        };
        PendingFuture { completion, pending: Some(self) }
    }
}

/// The future of a [`Pending`], which returns the buffer.
///
/// Dropping it before it is ready waits for the copy, like dropping the [`Pending`].
#[must_use = "futures do nothing unless they are polled"]
pub struct PendingFuture<B: Send + 'static> {
    completion: Completion,
    pending: Option<Pending<B>>,
}

// The buffer is never pinned by this.
impl<B: Send + 'static> Unpin for PendingFuture<B> {}

impl<B: Send + 'static> Future for PendingFuture<B> {
    type Output = Result<B>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<B>> {
        let completed = ready!(Pin::new(&mut self.completion).poll(context));
        match (completed, self.pending.take()) {
            (Err(error @ Error::Thread { .. }), _) => Poll::Ready(Err(error)),
            // The copy is over, so this does not block, and its errors are more precise.
            (_, Some(pending)) => Poll::Ready(pending.wait()),
            (_, None) => Poll::Pending,
        }
    }
}

impl<B: Send + 'static> fmt::Debug for PendingFuture<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingFuture").field("completion", &self.completion).finish_non_exhaustive()
    }
}
