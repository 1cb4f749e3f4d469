//! What a kernel did and how: counters, occupancy and instruction traces, as observers of dispatches.
//!
//! | module | holds |
//! |---|---|
//! | `count` | the counting |
//! | `banks` | cache lines and LDS banks that an access touches |
//! | `trace` | the instructions of chosen waves as text |
//! | `settings` | the environment variables that switch these on |

mod banks;
mod count;
mod settings;
mod trace;

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

pub(super) use count::Profiler;
pub(super) use settings::Settings;
pub(super) use trace::Tracer;

/// Where text goes: stderr, or a file.
#[derive(Debug, Default)]
struct Sink(Option<Mutex<File>>);

impl Sink {
    /// A new file; what it held is lost.
    fn create(path: &Path) -> std::io::Result<Sink> {
        Ok(Sink(Some(Mutex::new(File::create(path)?))))
    }

    /// Writes all of it, not mixed with what other threads write.
    fn write(&self, text: &str) {
        let result = match &self.0 {
            Some(file) => file.lock().unwrap_or_else(PoisonError::into_inner).write_all(text.as_bytes()),
            None => std::io::stderr().lock().write_all(text.as_bytes()),
        };
        if let Err(error) = result {
            tracing::warn!("counters or a trace could not be written: {error}");
        }
    }
}
