//! Profilers of NVIDIA's, to which nobody listens here.

use super::super::result::DriverError;
use super::super::sys;

/// [`profiler_start`] for as long as it lives.
#[derive(Default)]
pub struct Profiler;

impl Profiler {
    /// Calls [`profiler_start`].
    pub fn new() -> Result<Self, DriverError> {
        profiler_start().map(|()| Self)
    }
}

impl Drop for Profiler {
    fn drop(&mut self) {
        if let Err(error) = profiler_stop() {
            tracing::debug!(%error, "a profiler was not stopped");
        }
    }
}

/// Tells a profiler to begin (`cuProfilerStart`). AMD's do not ask, so that this does nothing.
pub fn profiler_start() -> Result<(), DriverError> {
    // SAFETY: the call takes no arguments.
    unsafe { sys::cuProfilerStart() }.result()
}

/// Tells a profiler to end (`cuProfilerStop`), which does nothing, too.
pub fn profiler_stop() -> Result<(), DriverError> {
    // SAFETY: the call takes no arguments.
    unsafe { sys::cuProfilerStop() }.result()
}
