//! Calls for NVIDIA's profilers, which have no effect.

use super::super::result::DriverError;
use super::super::sys;

/// Profiling while this object lives.
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

/// Tells a profiler to start (`cuProfilerStart`). AMD's profilers do not support this, so it does nothing.
pub fn profiler_start() -> Result<(), DriverError> {
    // SAFETY: the call takes no arguments.
    unsafe { sys::cuProfilerStart() }.result()
}

/// Tells a profiler to stop (`cuProfilerStop`). This does nothing, too.
pub fn profiler_stop() -> Result<(), DriverError> {
    // SAFETY: the call takes no arguments.
    unsafe { sys::cuProfilerStop() }.result()
}
