//! Symbols of AMD's library that its headers lack but AMD's unit tests link to.

use std::ffi::c_void;

/// `latency_profiler::CollTrace::~CollTrace()`: `rccl-UnitTests` does not start without it, because a header
/// compiled into it destroys one. This library never makes one, and ignores those of others.
#[unsafe(no_mangle)]
extern "C" fn _ZN16latency_profiler9CollTraceD1Ev(_trace: *mut c_void) {
    tracing::warn!("the program destroyed a trace of collectives, but this library makes none");
}
