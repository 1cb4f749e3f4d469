//! Events.

use std::sync::Arc;

use super::super::result::{self, DriverError};
use super::super::sys;
use super::{CudaContext, CudaStream};

/// A point in a stream's work, which other streams and the host can wait for.
#[derive(Debug)]
pub struct CudaEvent {
    handle: sys::CUevent,
    context: Arc<CudaContext>,
}

// SAFETY: CUDA handles may be used on any thread.
unsafe impl Send for CudaEvent {}
// SAFETY: as above.
unsafe impl Sync for CudaEvent {}

impl Drop for CudaEvent {
    fn drop(&mut self) {
        self.context.record_err(self.context.bind());
        // SAFETY: the event was created for this object, and is destroyed once.
        self.context.record_err(unsafe { result::event::destroy(self.handle) });
    }
}

impl CudaContext {
    /// Creates an event without a recording. Without flags, it does not measure time.
    pub fn new_event(self: &Arc<Self>, flags: Option<sys::CUevent_flags>) -> Result<CudaEvent, DriverError> {
        self.bind_to_thread()?;
        let flags = flags.unwrap_or(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING);
        Ok(CudaEvent { handle: result::event::create(flags)?, context: self.clone() })
    }
}

impl CudaEvent {
    /// CUDA's handle, which this object still owns.
    pub fn cu_event(&self) -> sys::CUevent {
        self.handle
    }

    /// The context that it was created on.
    pub fn context(&self) -> &Arc<CudaContext> {
        &self.context
    }

    /// Records the work enqueued on the stream so far. Existing waits still wait for the previous recording.
    ///
    /// A stream of another context gives `CUDA_ERROR_INVALID_CONTEXT`.
    pub fn record(&self, stream: &CudaStream) -> Result<(), DriverError> {
        self.same_context(stream.context())?;
        self.context.bind_to_thread()?;
        // SAFETY: event and stream live, and have the same context.
        unsafe { result::event::record(self.handle, stream.cu_stream()) }
    }

    /// Waits until the recorded work is done.
    pub fn synchronize(&self) -> Result<(), DriverError> {
        self.context.bind_to_thread()?;
        // SAFETY: the event lives.
        unsafe { result::event::synchronize(self.handle) }
    }

    /// The milliseconds from this event to `end`, after waiting for both.
    pub fn elapsed_ms(&self, end: &Self) -> Result<f32, DriverError> {
        self.same_context(&end.context)?;
        self.synchronize()?;
        end.synchronize()?;
        // SAFETY: both events live, and have the same context.
        unsafe { result::event::elapsed(self.handle, end.handle) }
    }

    /// Whether the recorded work is done; `false` on errors.
    pub fn is_complete(&self) -> bool {
        matches!(self.try_is_complete(), Ok(true))
    }

    /// Whether the recorded work is done, or nothing was recorded.
    pub fn try_is_complete(&self) -> Result<bool, DriverError> {
        // SAFETY: the event lives.
        match unsafe { result::event::query(self.handle) } {
            Ok(()) => Ok(true),
            Err(DriverError(sys::CUresult::CUDA_ERROR_NOT_READY)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn same_context(&self, other: &CudaContext) -> Result<(), DriverError> {
        match *self.context == *other {
            true => Ok(()),
            false => Err(DriverError(sys::CUresult::CUDA_ERROR_INVALID_CONTEXT)),
        }
    }
}
