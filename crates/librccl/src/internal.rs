//! Symbols of AMD's library that are not in its headers, and that AMD's unit tests are linked with.

use std::ffi::c_void;

/// `latency_profiler::CollTrace::~CollTrace()`: `rccl-UnitTests` does not start without it, because its copy of a header destroys one.
/// This library makes none, and does nothing with somebody else's.
#[unsafe(no_mangle)]
extern "C" fn _ZN16latency_profiler9CollTraceD1Ev(_trace: *mut c_void) {
    tracing::warn!("a program destroys a trace of collectives, which this library does not make");
}
