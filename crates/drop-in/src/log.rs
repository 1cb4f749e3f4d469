//! What a drop-in library has to say besides codes: errors, fault reports among them, on standard error.
//!
//! `FERROCM_LOG` says what is written: `off`, `error` (the default), `warn`, `info`, `debug` or `trace`. A program that takes reports by
//! itself ([`leave_reports`]) tells of them by itself, so they are only written where the variable is set.

use std::fmt::{self, Write as _};
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// The program takes reports by itself.
static REPORTS_ARE_LEFT: AtomicBool = AtomicBool::new(false);

/// Says that the program takes reports by itself, and tells of them: they are not written as well, unless the variable asks for it.
pub fn leave_reports() {
    REPORTS_ARE_LEFT.store(true, Ordering::Relaxed);
}

/// Has messages of the level that the variable names, and of more serious ones, written as lines that begin with the
/// library's name. The first call of a process, or rather of one copy of this crate in it, holds.
pub fn start(library: &'static str) {
    let named = variables::LOG.word().unwrap_or_else(|error| {
        to_standard_error(&format!("{library}: {error}"));
        None
    });
    let asked_for = named.is_some();
    // The words of the table are the names of levels.
    let level = named.and_then(|name| name.parse().ok()).unwrap_or(LevelFilter::ERROR);
    // The subscriber is this library's own, which nothing else can have set.
    let log = Log { library, level, asked_for, write: to_standard_error };
    let _ = tracing::subscriber::set_global_default(log);
}

fn to_standard_error(line: &str) {
    // Standard error that is closed has no reader.
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// Hands each message on as a line.
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

/// One message: the text, what belongs to it, and the report if there is one, which has lines of its own.
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
        // Whoever takes reports is told twice only if that is asked for.
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
