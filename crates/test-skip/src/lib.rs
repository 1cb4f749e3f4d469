//! How a test reports that it does not run here.
//!
//! A test that skips itself passes, so nobody would notice if it had not run for months. Every such test
//! therefore calls [`skip`] with what it [lacks](Lack). The line goes to stderr and to the file that
//! [`LIST_VARIABLE`] names, which `cargo xtask test` counts. If [`REQUIRED_VARIABLE`] lists the lack, the
//! test fails instead.
#![warn(missing_docs)]

pub mod devices;

use std::fmt::{self, Display};
use std::io::Write as _;

/// Names the file that gets a line for each test that skipped itself or part of itself.
pub const LIST_VARIABLE: &str = "FERROCM_TEST_SKIPS";
/// The names of [`Lack`]s that fail a test, separated by commas.
pub const REQUIRED_VARIABLE: &str = "FERROCM_TEST_REQUIRES";

/// With the value `all`, tests with very many cases run all of them; otherwise a share of them.
pub const CASES_VARIABLE: &str = "FERROCM_TEST_CASES";

/// What a test would need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lack {
    /// A program, library or header that `cargo xtask test` installs if it can.
    Tool,
    /// A program that checks the results of a few tests; only its own suite installs it: `cargo xtask test
    /// judges`.
    Judge,
    /// Files that another command fetches before it runs the test.
    Suite,
    /// Reference data that is not part of a checkout.
    Data,
    /// A property of the device under test, or of the library behind it.
    Device,
    /// A property of the machine: its operating system, a privilege, hardware, or something installed that is
    /// in the way.
    Machine,
}

impl Lack {
    /// All of them.
    pub const ALL: [Lack; 6] =
        [Lack::Tool, Lack::Judge, Lack::Suite, Lack::Data, Lack::Device, Lack::Machine];

    /// Its name in lists and in [`REQUIRED_VARIABLE`].
    pub fn name(self) -> &'static str {
        match self {
            Lack::Tool => "tool",
            Lack::Judge => "judge",
            Lack::Suite => "suite",
            Lack::Data => "data",
            Lack::Device => "device",
            Lack::Machine => "machine",
        }
    }

    /// The lack of this name.
    pub fn of_name(name: &str) -> Option<Lack> {
        Lack::ALL.into_iter().find(|lack| lack.name() == name)
    }
}

impl Display for Lack {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

/// An entry of the list: a test that skipped itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// What it lacks.
    pub lack: Lack,
    /// The test's name, with its program if nextest runs it.
    pub test: String,
    /// The reason, in one line.
    pub reason: String,
}

impl Skipped {
    /// A line of the list, without its end.
    pub fn line(&self) -> String {
        let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        format!("{}\t{}\t{}", self.lack, one_line(&self.test), one_line(&self.reason))
    }

    /// Reads a line of the list.
    pub fn parse(line: &str) -> Option<Skipped> {
        let mut fields = line.splitn(3, '\t');
        let lack = Lack::of_name(fields.next()?)?;
        Some(Skipped { lack, test: fields.next()?.to_owned(), reason: fields.next()?.to_owned() })
    }
}

/// Reports that the running test, or part of it, does not run here. The caller then returns.
///
/// # Panics
/// If [`REQUIRED_VARIABLE`] lists `lack` or an unknown name, or if the file that [`LIST_VARIABLE`] names
/// cannot be written.
#[track_caller]
pub fn skip(lack: Lack, reason: impl Display) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("?");
    let test = match std::env::var("NEXTEST_BINARY_ID") {
        Ok(program) => format!("{program} {test}"),
        Err(_) => test.to_owned(),
    };
    let skipped = Skipped { lack, test, reason: reason.to_string() };
    assert!(
        !is_required(lack, &std::env::var(REQUIRED_VARIABLE).unwrap_or_default()),
        "this run does not skip tests that lack a {lack} ({REQUIRED_VARIABLE}): {reason}"
    );
    eprintln!("skipped: {reason}");
    if let Some(list) = std::env::var_os(LIST_VARIABLE).filter(|list| !list.is_empty()) {
        let line = skipped.line() + "\n";
        // One write, so that tests that skip themselves at the same time do not mix.
        let written = std::fs::OpenOptions::new().append(true).create(true).open(&list);
        let written = written.and_then(|mut file| file.write_all(line.as_bytes()));
        written.unwrap_or_else(|error| panic!("{}: {error}", list.display()));
    }
}

/// The cases that this run executes: one of `share`, or all of them if [`CASES_VARIABLE`] says so, as `cargo
/// xtask test devices` has it.
pub fn cases<T>(all: impl IntoIterator<Item = T>, share: usize) -> impl Iterator<Item = T> {
    let is_whole = std::env::var(CASES_VARIABLE).is_ok_and(|cases| cases == "all");
    all.into_iter().step_by(if is_whole { 1 } else { share })
}

fn is_required(lack: Lack, list: &str) -> bool {
    let names = list.split(',').map(str::trim).filter(|name| !name.is_empty());
    let mut lacks = names.map(|name| {
        Lack::of_name(name)
            .unwrap_or_else(|| panic!("{REQUIRED_VARIABLE}: \"{name}\" is not the name of a lack"))
    });
    lacks.any(|required| required == lack)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_were_written() {
        for lack in Lack::ALL {
            let skipped = Skipped { lack, test: "a::b c".to_owned(), reason: "no tool: d".to_owned() };
            assert_eq!(Skipped::parse(&skipped.line()), Some(skipped));
        }
        let ragged = Skipped { lack: Lack::Tool, test: "a\tb".to_owned(), reason: "no\n\ttool".to_owned() };
        assert_eq!(ragged.line(), "tool\ta b\tno tool");
        assert_eq!(Skipped::parse("no line of it"), None);
        assert_eq!(Skipped::parse("luck\ta\tb"), None);
    }

    #[test]
    fn what_a_run_requires_is_told_by_name() {
        assert!(is_required(Lack::Tool, "tool"));
        assert!(is_required(Lack::Judge, "tool, judge"));
        assert!(!is_required(Lack::Device, "tool,judge"));
        assert!(!is_required(Lack::Tool, ""));
    }

    #[test]
    #[should_panic(expected = "\"tols\" is not the name of a lack")]
    fn a_misspelt_requirement_is_not_passed_over() {
        is_required(Lack::Tool, "tols");
    }
}
