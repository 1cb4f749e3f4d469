//! Streams.

use std::sync::Arc;

use super::super::result::stream::StreamKind;
use super::super::result::{self, DriverError};
use super::super::sys;
use super::{CudaContext, CudaEvent};

/// The handle of the calling thread's own default stream.
const PER_THREAD: usize = 2;

/// A queue of work, which is executed in order while the host continues.
#[derive(Debug)]
pub struct CudaStream {
    handle: sys::CUstream,
    context: Arc<CudaContext>,
    owned: bool,
}

// SAFETY: CUDA handles may be used on any thread.
unsafe impl Send for CudaStream {}
// SAFETY: as above.
unsafe impl Sync for CudaStream {}

impl PartialEq for CudaStream {
    fn eq(&self, other: &Self) -> bool {
        self.handle == other.handle && self.context == other.context
    }
}

impl Eq for CudaStream {}

impl Drop for CudaStream {
    fn drop(&mut self) {
        if self.owned {
            self.context.stream_ends();
            self.context.record_err(self.context.bind());
            // SAFETY: the stream was created for this object, and is destroyed once; its work is done first.
            self.context.record_err(unsafe { result::stream::destroy(self.handle) });
        }
    }
}

impl CudaContext {
    fn not_owned(self: &Arc<Self>, handle: sys::CUstream) -> Arc<CudaStream> {
        Arc::new(CudaStream { handle, context: self.clone(), owned: false })
    }

    /// The device's default stream.
    pub fn default_stream(self: &Arc<Self>) -> Arc<CudaStream> {
        self.not_owned(std::ptr::null_mut())
    }

    /// The default stream of the thread that uses this.
    pub fn per_thread_stream(self: &Arc<Self>) -> Arc<CudaStream> {
        self.not_owned(std::ptr::without_provenance_mut(PER_THREAD))
    }

    /// A stream that other code owns.
    ///
    /// # Safety
    /// It must be a stream of this context and must outlive every user of this object, and its owner must
    /// order its own work with the work submitted here.
    pub unsafe fn wrap_borrowed_stream(self: &Arc<Self>, cu_stream: sys::CUstream) -> Arc<CudaStream> {
        self.not_owned(cu_stream)
    }

    /// Creates a stream. The first one waits for the device, because earlier work has no events that signal
    /// its end.
    pub fn new_stream(self: &Arc<Self>) -> Result<Arc<CudaStream>, DriverError> {
        self.make_stream(|| result::stream::create(StreamKind::NonBlocking))
    }

    /// Creates a stream with a priority; lower numbers mean higher priority:
    /// [`get_priority_range`](result::stream::get_priority_range) returns the range.
    pub fn new_stream_with_priority(self: &Arc<Self>, priority: i32) -> Result<Arc<CudaStream>, DriverError> {
        self.make_stream(|| result::stream::create_with_priority(StreamKind::NonBlocking, priority))
    }

    fn make_stream(
        self: &Arc<Self>,
        create: impl FnOnce() -> Result<sys::CUstream, DriverError>,
    ) -> Result<Arc<CudaStream>, DriverError> {
        self.bind_to_thread()?;
        let first = self.stream_begins();
        let waited = if first && self.is_event_tracking() { self.synchronize() } else { Ok(()) };
        match waited.and_then(|()| create()) {
            Ok(handle) => Ok(Arc::new(CudaStream { handle, context: self.clone(), owned: true })),
            Err(error) => {
                self.stream_ends();
                Err(error)
            }
        }
    }
}

impl CudaStream {
    /// Creates a stream whose work begins once the present work of this one is done.
    pub fn fork(&self) -> Result<Arc<Self>, DriverError> {
        let stream = self.context.make_stream(|| result::stream::create(StreamKind::NonBlocking))?;
        stream.join(self)?;
        Ok(stream)
    }

    /// CUDA's handle, which this object still owns.
    pub fn cu_stream(&self) -> sys::CUstream {
        self.handle
    }

    /// The context that it was created on.
    pub fn context(&self) -> &Arc<CudaContext> {
        &self.context
    }

    /// Waits until all submitted work is done.
    pub fn synchronize(&self) -> Result<(), DriverError> {
        self.context.bind_to_thread()?;
        // SAFETY: the stream lives.
        unsafe { result::stream::synchronize(self.handle) }
    }

    /// An event of the work submitted so far.
    pub fn record_event(&self, flags: Option<sys::CUevent_flags>) -> Result<CudaEvent, DriverError> {
        let event = self.context.new_event(flags)?;
        event.record(self)?;
        Ok(event)
    }

    /// Makes work submitted from now on wait for the event's present recording.
    pub fn wait(&self, event: &CudaEvent) -> Result<(), DriverError> {
        self.context.bind_to_thread()?;
        let flags = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
        // SAFETY: stream and event live.
        unsafe { result::stream::wait_event(self.handle, event.cu_event(), flags) }
    }

    /// Makes work submitted from now on wait for the present work of the other stream.
    pub fn join(&self, other: &CudaStream) -> Result<(), DriverError> {
        self.wait(&other.record_event(None)?)
    }
}
