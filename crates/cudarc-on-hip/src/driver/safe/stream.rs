//! Streams.

use std::sync::Arc;

use super::super::result::stream::StreamKind;
use super::super::result::{self, DriverError};
use super::super::sys;
use super::{CudaContext, CudaEvent};

/// What stands for the calling thread's own default stream.
const PER_THREAD: usize = 2;

/// What work is submitted to, which is done in order and without the host waiting.
#[derive(Debug)]
pub struct CudaStream {
    handle: sys::CUstream,
    context: Arc<CudaContext>,
    owned: bool,
}

// SAFETY: handles of CUDA may be used on any thread.
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
            // SAFETY: the stream was made for this, and is ended once; its work is done first.
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

    /// The default stream of whichever thread uses this.
    pub fn per_thread_stream(self: &Arc<Self>) -> Arc<CudaStream> {
        self.not_owned(std::ptr::without_provenance_mut(PER_THREAD))
    }

    /// A stream that stays somebody else's.
    ///
    /// # Safety
    /// It is a stream of this context, lives as long as anything that has this object, and its owner orders what he submits with what is
    /// submitted here.
    pub unsafe fn wrap_borrowed_stream(self: &Arc<Self>, cu_stream: sys::CUstream) -> Arc<CudaStream> {
        self.not_owned(cu_stream)
    }

    /// Makes a stream beside the default one. The first one waits for the device, as what was done before has no events that tell when
    /// it ends.
    pub fn new_stream(self: &Arc<Self>) -> Result<Arc<CudaStream>, DriverError> {
        self.make_stream(|| result::stream::create(StreamKind::NonBlocking))
    }

    /// Makes a stream with a priority, which is higher the lower the number:
    /// [`get_priority_range`](result::stream::get_priority_range) says which there are.
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
    /// Makes a stream whose work begins when what this one has by now is done.
    pub fn fork(&self) -> Result<Arc<Self>, DriverError> {
        let stream = self.context.make_stream(|| result::stream::create(StreamKind::NonBlocking))?;
        stream.join(self)?;
        Ok(stream)
    }

    /// CUDA's handle, which stays this object's.
    pub fn cu_stream(&self) -> sys::CUstream {
        self.handle
    }

    /// Where it was made.
    pub fn context(&self) -> &Arc<CudaContext> {
        &self.context
    }

    /// Waits until all that was submitted is done.
    pub fn synchronize(&self) -> Result<(), DriverError> {
        self.context.bind_to_thread()?;
        // SAFETY: the stream lives.
        unsafe { result::stream::synchronize(self.handle) }
    }

    /// An event of what was submitted by now.
    pub fn record_event(&self, flags: Option<sys::CUevent_flags>) -> Result<CudaEvent, DriverError> {
        let event = self.context.new_event(flags)?;
        event.record(self)?;
        Ok(event)
    }

    /// Has what is submitted from now on wait for what is recorded in the event by now.
    pub fn wait(&self, event: &CudaEvent) -> Result<(), DriverError> {
        self.context.bind_to_thread()?;
        let flags = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
        // SAFETY: stream and event live.
        unsafe { result::stream::wait_event(self.handle, event.cu_event(), flags) }
    }

    /// Has what is submitted from now on wait for what the other stream has by now.
    pub fn join(&self, other: &CudaStream) -> Result<(), DriverError> {
        self.wait(&other.record_event(None)?)
    }
}
