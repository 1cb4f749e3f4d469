//! Which kernels have run on which target, and the largest difference of each, for a page of the
//! documentation.
//!
//! With `FERROCM_KERNEL_RESULTS`, the name of a folder, each process writes a file there with a line for each
//! comparison: kernel, target, difference.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::path::PathBuf;

use candle_core::WithDType;

use crate::common::gpu;

thread_local! {
    static RECORD: RefCell<Record> = RefCell::default();
}

/// What a test has launched and compared.
#[derive(Default)]
struct Record {
    test: String,
    /// Launched, and not yet compared.
    pending: Vec<String>,
    /// Launched and compared.
    compared: Vec<String>,
    lines: String,
}

fn folder() -> Option<PathBuf> {
    std::env::var_os("FERROCM_KERNEL_RESULTS").filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Remembers that a kernel has been launched.
pub fn launched(name: &str) {
    if folder().is_some() {
        RECORD.with_borrow_mut(|record| {
            if record.test.is_empty() {
                record.test = std::thread::current().name().unwrap_or("test").replace("::", "-");
            }
            record.pending.push(name.to_owned());
        });
    }
}

/// The largest difference, relative to the expected number where that is larger than one.
fn difference<T: WithDType>(found: &[T], expected: &[T]) -> f64 {
    let one = |(found, expected): (&T, &T)| {
        let (found, expected) = (found.to_f64(), expected.to_f64());
        if found == expected || found.is_nan() && expected.is_nan() {
            0.0
        } else {
            (found - expected).abs() / expected.abs().max(1.0)
        }
    };
    found.iter().zip(expected).map(one).fold(0.0, f64::max)
}

/// Remembers how far what was launched since the last comparison is from what is expected: of the kernel that
/// `what` begins with, if one of them is that, else of all. One more comparison of a kernel alone, as with
/// what other arithmetic gives, counts for none.
pub fn compared<T: WithDType>(what: &str, found: &[T], expected: &[T]) {
    if folder().is_none() {
        return;
    }
    let target = gpu().device.target().processor.clone();
    RECORD.with_borrow_mut(|record| {
        let named = |name: &String| what.strip_prefix(name.as_str()).is_some_and(|rest| !rest.starts_with('_'));
        if !record.pending.iter().any(named) && record.compared.iter().any(named) {
            return;
        }
        let (now, later): (Vec<_>, Vec<_>) = match record.pending.iter().any(named) {
            true => record.pending.drain(..).partition(named),
            false => (record.pending.drain(..).collect(), Vec::new()),
        };
        record.pending = later;
        let difference = difference(found, expected);
        for name in &now {
            let _ = writeln!(record.lines, "{name}\t{target}\t{difference:e}");
        }
        record.compared.extend(now);
    });
}

impl Drop for Record {
    fn drop(&mut self) {
        let Some(folder) = folder().filter(|_| !self.lines.is_empty() && !std::thread::panicking()) else { return };
        let file = folder.join(format!("{}-{}.tsv", self.test, std::process::id()));
        if let Err(error) = std::fs::write(&file, &self.lines) {
            panic!("{}: {error}", file.display());
        }
    }
}
