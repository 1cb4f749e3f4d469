//! Messages of a drop-in library on standard error: errors, including fault reports.
//!
//! `FERROCM_LOG` sets the level: `off`, `error` (the default), `warn`, `info`, `debug` or `trace`. A program
//! that handles fault reports itself ([`leave_reports`]) also shows them, so they are written only if the
//! variable is set.

use std::fmt::{self, Write as _};
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// The program handles fault reports itself.
static REPORTS_ARE_LEFT: AtomicBool = AtomicBool::new(false);

/// Declares that the program handles and shows fault reports itself. They are then not written here, unless
/// the variable asks for it.
pub fn leave_reports() {
    REPORTS_ARE_LEFT.store(true, Ordering::Relaxed);
}

/// Starts writing messages of the variable's level and above, as lines that begin with the library's name.
/// Only the first call counts, per copy of this crate in the process.
pub fn start(library: &'static str) {
    let named = variables::LOG.word().unwrap_or_else(|error| {
        to_standard_error(&format!("{library}: {error}"));
        None
    });
    let asked_for = named.is_some();
    // The words in the variable's table are level names.
    let level = named.and_then(|name| name.parse().ok()).unwrap_or(LevelFilter::ERROR);
    // The subscriber belongs to this library; nothing else can have set it.
    let log = Log { library, level, asked_for, write: to_standard_error };
    let _ = tracing::subscriber::set_global_default(log);
}

fn to_standard_error(line: &str) {
    // If standard error is closed, nobody reads it.
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// Writes each message as a line.
struct Log<W> {
    library: &'static str,
    level: LevelFilter,
    /// The variable is set.
    asked_for: bool,
    write: W,
}

impl<W: Fn(&str) + 'static> Subscriber for Log<W> {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= self.level
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.level)
    }

    fn event(&self, event: &Event<'_>) {
        let mut text = Text::default();
        event.record(&mut text);
        if !text.report.is_empty() && !self.asked_for && REPORTS_ARE_LEFT.load(Ordering::Relaxed) {
            return;
        }
        (self.write)(&text.line(self.library, event.metadata()));
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// One message: the text, its fields, and the report, if any, on separate lines.
#[derive(Default)]
struct Text {
    message: String,
    fields: String,
    report: String,
}

impl Text {
    fn line(&self, library: &str, metadata: &Metadata<'_>) -> String {
        let level = metadata.level().as_str().to_ascii_lowercase();
        let mut line = format!("{library}: {level}: {}", self.message);
        if !self.fields.is_empty() {
            line.push_str(" (");
            line.push_str(&self.fields);
            line.push(')');
        }
        if !self.report.is_empty() {
            line.push('\n');
            line.push_str(self.report.trim_end());
        }
        line
    }
}

impl Visit for Text {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "report" => self.report.push_str(value),
            _ => self.record_debug(field, &value),
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a string does not fail.
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => {
                let separator = if self.fields.is_empty() { "" } else { ", " };
                write!(self.fields, "{separator}{name}: {value:?}")
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[test]
    fn messages_are_lines_and_reports_follow_them() {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let kept = lines.clone();
        let write = move |line: &str| kept.lock().unwrap().push(line.to_owned());
        let told = |asked_for| {
            let log = Log { library: "liba", level: LevelFilter::TRACE, asked_for, write: write.clone() };
            tracing::subscriber::with_default(log, || {
                tracing::error!(code = 700, report = "first\nsecond\n", "a stream has failed");
                tracing::warn!("left out");
            });
            std::mem::take(&mut *lines.lock().unwrap())
        };
        let (report, other) =
            ("liba: error: a stream has failed (code: 700)\nfirst\nsecond", "liba: warn: left out");
        assert_eq!(told(false), [report, other]);
        // A program that handles reports gets them twice only on request.
        leave_reports();
        assert_eq!((told(false), told(true)), (vec![other.to_owned()], vec![report.into(), other.into()]));
    }

    #[test]
    fn a_level_lets_more_serious_messages_through() {
        let log = |level: &str| {
            let level = level.parse().unwrap();
            Log { library: "liba", level, asked_for: true, write: to_standard_error }.max_level_hint()
        };
        assert_eq!(log("off"), Some(LevelFilter::OFF));
        assert_eq!(log("info"), Some(LevelFilter::INFO));
        assert!("loud".parse::<LevelFilter>().is_err());
    }
}
