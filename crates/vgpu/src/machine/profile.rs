//! What a kernel did: counters, occupancy and instruction traces, implemented as observers of dispatches.
//!
//! | module | holds |
//! |---|---|
//! | `count` | the counting |
//! | `banks` | cache lines and LDS banks that an access touches |
//! | `flight` | loads on the way when waves wait for them |
//! | `trace` | the instructions of chosen waves as text |
//! | `settings` | the environment variables that switch these on |

mod banks;
mod count;
mod flight;
mod settings;
mod trace;

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

pub(super) use count::Profiler;
pub(super) use settings::Settings;
pub(super) use trace::Tracer;

/// The destination of text: stderr or a file.
#[derive(Debug, Default)]
struct Sink(Option<Mutex<File>>);

impl Sink {
    /// Creates a file; an existing one is truncated.
    fn create(path: &Path) -> std::io::Result<Sink> {
        Ok(Sink(Some(Mutex::new(File::create(path)?))))
    }

    /// Writes all of it, without mixing it with other threads' output.
    fn write(&self, text: &str) {
        let result = match &self.0 {
            Some(file) => file.lock().unwrap_or_else(PoisonError::into_inner).write_all(text.as_bytes()),
            None => std::io::stderr().lock().write_all(text.as_bytes()),
        };
        if let Err(error) = result {
            tracing::warn!("cannot write counters or a trace: {error}");
        }
    }
}
