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

// SAFETY: handles of CUDA may be used on any thread.
unsafe impl Send for CudaEvent {}
// SAFETY: as above.
unsafe impl Sync for CudaEvent {}

impl Drop for CudaEvent {
    fn drop(&mut self) {
        self.context.record_err(self.context.bind());
        // SAFETY: the event was made for this, and is ended once.
        self.context.record_err(unsafe { result::event::destroy(self.handle) });
    }
}

impl CudaContext {
    /// Makes an event that nothing is recorded in. Without flags it measures no time.
    pub fn new_event(self: &Arc<Self>, flags: Option<sys::CUevent_flags>) -> Result<CudaEvent, DriverError> {
        self.bind_to_thread()?;
        let flags = flags.unwrap_or(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING);
        Ok(CudaEvent { handle: result::event::create(flags)?, context: self.clone() })
    }
}

impl CudaEvent {
    /// CUDA's handle, which stays this object's.
    pub fn cu_event(&self) -> sys::CUevent {
        self.handle
    }

    /// Where it was made.
    pub fn context(&self) -> &Arc<CudaContext> {
        &self.context
    }

    /// Records what the stream has to do by now. Who waits already goes on waiting for what was recorded before.
    ///
    /// A stream of another context is `CUDA_ERROR_INVALID_CONTEXT`.
    pub fn record(&self, stream: &CudaStream) -> Result<(), DriverError> {
        self.same_context(stream.context())?;
        self.context.bind_to_thread()?;
        // SAFETY: event and stream live, and are of one context.
        unsafe { result::event::record(self.handle, stream.cu_stream()) }
    }

    /// Waits until what was recorded is done.
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
        // SAFETY: both events live, and are of one context.
        unsafe { result::event::elapsed(self.handle, end.handle) }
    }

    /// Whether what was recorded is done. An error is no as well.
    pub fn is_complete(&self) -> bool {
        matches!(self.try_is_complete(), Ok(true))
    }

    /// Whether what was recorded is done, or nothing was.
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
