//! A timeline of a process and its GPUs: host calls, queues, kernels, copies and waits.
//!
//! `FERROCM_TRACE` names a file. Every part of this project in the process writes to it, as JSON trace events
//! that
//! <https://ui.perfetto.dev> opens. Without the variable nothing is written, and [`is_on`] is one relaxed load.
//!
//! | track of | shows |
//! |---|---|
//! | a thread of the host | each call of an API as a slice, the program's own spans ([`Span`], [`Spans`]) and its marks for profilers ([`ranges`]) |
//! | a queue or stream of a device | each kernel, barrier and copy as a slice, from its start to its end on the device |
//! | both | an arrow from the call that enqueued an operation to its execution |
//!
//! # One file for several libraries
//! A process can hold several copies of this crate: the program's own, one in a drop-in `libamdhip64`, and
//! one in a drop-in `libhsa-runtime64`. Each copy opens the file, sees in its first line that this process
//! created it, and appends each event with a single `write`, so that events never mix. Nothing needs to be
//! flushed, and a killed process leaves the events that it has written: a trace needs no closing bracket. If
//! the process ends normally, the last copy writes one, and the file is a complete JSON array.
//!
//! A file that belongs to another process is never written. If the named file does, this process inserts its
//! own id into the name (`trace.json`, `trace.4711.json`) and reports this on standard error. `%p` in the
//! name stands for the process id.
#![warn(missing_docs)]

mod event;
mod file;
mod lanes;
pub mod ranges;
mod span;
mod spans;
mod track;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

pub use event::{Slice, Value, flow, slice};
pub use lanes::Lanes;
pub use span::{Span, function_around};
pub use spans::Spans;
pub use track::{Layer, Track};

use file::File;

const UNKNOWN: u8 = 0;
const OFF: u8 = 1;
const ON: u8 = 2;

static STATE: AtomicU8 = AtomicU8::new(UNKNOWN);

/// Whether a timeline is written. The first call reads the environment.
#[inline]
#[must_use]
pub fn is_on() -> bool {
    match STATE.load(Ordering::Relaxed) {
        OFF => false,
        ON => true,
        _ => start().is_ok_and(|on| on),
    }
}

/// Reads the environment and opens the file, once. Returns whether a timeline is written.
///
/// # Errors
/// The file cannot be written. Then there is no timeline.
pub fn start() -> Result<bool, variables::Error> {
    let opened = opened();
    let is_on = matches!(opened, Ok(Some(_)));
    STATE.store(if is_on { ON } else { OFF }, Ordering::Relaxed);
    opened.as_ref().map(Option::is_some).map_err(Clone::clone)
}

fn opened() -> &'static Result<Option<File>, variables::Error> {
    static FILE: OnceLock<Result<Option<File>, variables::Error>> = OnceLock::new();
    FILE.get_or_init(|| {
        let variable = variables::TRACE;
        let open = |path: std::path::PathBuf| {
            File::open(&path).map_err(|problem| variable.error(&path.to_string_lossy(), problem))
        };
        let file = variable.path().map(open).transpose()?;
        #[cfg(unix)]
        if file.is_some() {
            // If there is no room for one more function, the file has no end.
            // SAFETY: the function takes nothing, and its code stays as long as it is registered.
            unsafe { libc::atexit(at_exit) };
        }
        Ok(file)
    })
}

/// The process ends normally, or unloads the library that this copy is part of.
#[cfg(unix)]
extern "C" fn at_exit() {
    if let Ok(Some(file)) = opened() {
        file.close();
    }
}

/// Appends an event if there is a file.
fn write(event: &event::Text) {
    if let Ok(Some(file)) = opened() {
        file.append(event);
    }
}

/// The current time of the system's monotonic clock, which all events use, in nanoseconds.
#[must_use]
pub fn now() -> u64 {
    #[cfg(unix)]
    {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the pointer is to a live `timespec`.
        unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    }
    #[cfg(not(unix))]
    {
        static BEGIN: OnceLock<std::time::Instant> = OnceLock::new();
        BEGIN.get_or_init(std::time::Instant::now).elapsed().as_nanos() as u64
    }
}
