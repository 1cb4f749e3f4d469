//! The archive's programs and tests, and which of them a device cannot run.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use test_skip::devices::Exception;

/// The part of `cargo nextest list --message-format json` that is used here.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Listing {
    rust_suites: BTreeMap<String, Suite>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Suite {
    package_name: String,
    binary_name: String,
    testcases: BTreeMap<String, Case>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Case {
    ignored: bool,
    filter_match: Match,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "status", rename_all = "kebab-case")]
enum Match {
    Matches,
    Mismatch { reason: Reason },
}

/// Why a test does not run. Others than these are about how it would run.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Reason {
    Expression,
    DefaultFilter,
    #[serde(other)]
    Other,
}

impl Case {
    /// Whether the archive has this test for a run of all tests.
    fn is_meant(&self) -> bool {
        let is_outside = |reason: &Reason| matches!(reason, Reason::Expression | Reason::DefaultFilter);
        let is_filtered = matches!(&self.filter_match, Match::Mismatch { reason } if is_outside(reason));
        !self.ignored && !is_filtered
    }
}

/// A test.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Test {
    /// cargo-nextest's name of the program.
    pub(crate) program: String,
    /// Its own name.
    pub(crate) name: String,
    package: String,
    is_device_test: bool,
}

/// The programs, with their tests.
#[derive(Debug)]
pub(crate) struct Programs {
    folder: PathBuf,
    tests: Vec<Test>,
}

impl Programs {
    /// Lists the tests of the archive's programs, all or those of an expression.
    pub(crate) fn list(folder: &Path, mut nextest: Command, filter: Option<&str>) -> Result<Self> {
        let mut programs = Self { folder: folder.to_owned(), tests: Vec::new() };
        programs.name(&mut nextest);
        if let Some(filter) = filter {
            nextest.args(["--filterset", filter]);
        }
        let output = nextest.args(["--message-format", "json"]).stderr(Stdio::piped()).output();
        let output = output.context("cargo-nextest, which belongs to the archive")?;
        if !output.status.success() {
            bail!("the tests cannot be listed:\n{}", String::from_utf8_lossy(&output.stderr));
        }
        programs.tests = tests(&String::from_utf8(output.stdout).context("the list of tests")?)?;
        Ok(programs)
    }

    /// All tests but those that only other tests start.
    pub(crate) fn tests(&self) -> &[Test] {
        &self.tests
    }

    /// Names the programs to cargo-nextest.
    pub(crate) fn name(&self, command: &mut Command) {
        command.arg("--binaries-metadata").arg(self.folder.join("binaries.json"));
        command.arg("--cargo-metadata").arg(self.folder.join("cargo.json"));
        command.arg("--target-dir-remap").arg(self.folder.join("target"));
    }

    /// The tests that a device cannot run, and rows about tests that do not exist.
    pub(crate) fn left_out<'a>(&self, rows: Vec<Exception<'a>>) -> LeftOut<'a> {
        let mut all = LeftOut::default();
        for row in rows {
            let is_about = |test: &&Test| test.is_device_test && row.is_about(&test.package, &test.name);
            let about: Vec<_> = self.tests.iter().filter(is_about).cloned().collect();
            let has_package =
                self.tests.iter().any(|test| test.is_device_test && test.package == row.package);
            // cargo-nextest refuses expressions about programs that are not there.
            let to = if about.is_empty() { &mut all.stale } else { &mut all.rows };
            if has_package {
                to.push(row.clone());
            }
            all.tests.extend(about.into_iter().map(|test| (test, row.reason)));
        }
        all
    }

    /// A line for each test, with the reason if it is left out.
    pub(crate) fn text(&self, left_out: &LeftOut<'_>) -> String {
        self.tests.iter().fold(String::new(), |mut text, test| {
            let _ = match left_out.tests.get(test) {
                Some(reason) => writeln!(text, "{} {}: left out: {reason}", test.program, test.name),
                None => writeln!(text, "{} {}", test.program, test.name),
            };
            text
        })
    }
}

fn tests(text: &str) -> Result<Vec<Test>> {
    let listing: Listing = serde_json::from_str(text).context("the list of tests")?;
    let mut tests: Vec<Test> = Vec::new();
    for (program, suite) in listing.rust_suites {
        for (name, _) in suite.testcases.into_iter().filter(|(_, case)| case.is_meant()) {
            tests.push(Test {
                program: program.clone(),
                name,
                package: suite.package_name.clone(),
                is_device_test: suite.binary_name.starts_with("device"),
            });
        }
    }
    tests.sort_unstable();
    Ok(tests)
}

/// What does not run on a device.
#[derive(Debug, Default)]
pub(crate) struct LeftOut<'a> {
    /// The tests, with the reasons.
    pub(crate) tests: BTreeMap<Test, &'a str>,
    /// Rows about tests that do not exist.
    pub(crate) stale: Vec<Exception<'a>>,
    rows: Vec<Exception<'a>>,
}

impl LeftOut<'_> {
    /// cargo-nextest's expression for the tests to run: those that the user wants, without these.
    pub(crate) fn filter(&self, wanted: Option<&str>) -> String {
        let wanted = wanted.unwrap_or("all()");
        let rows: Vec<_> = self.rows.iter().map(|row| row.filter()).collect();
        if rows.is_empty() { wanted.to_owned() } else { format!("({wanted}) - ({})", rows.join(" | ")) }
    }
}

#[cfg(test)]
pub(crate) mod examples {
    use super::*;

    /// Programs with a few tests.
    pub(crate) fn programs() -> Programs {
        let text = r#"{"rust-build-meta": {}, "test-count": 3, "rust-suites": {
            "p::device": {"package-name": "p", "binary-name": "device", "kind": "test", "testcases": {
                "m::one": {"ignored": false, "filter-match": {"status": "matches"}},
                "m::other_process":
                    {"ignored": true, "filter-match": {"status": "mismatch", "reason": "ignored"}},
                "other_type": {"ignored": false, "filter-match": {"status": "mismatch", "reason": "expression"}},
                "two": {"ignored": false, "filter-match": {"status": "matches"}}}},
            "p::nvidia": {"package-name": "p", "binary-name": "nvidia", "kind": "test", "testcases": {
                "m::one": {"ignored": false, "filter-match": {"status": "matches"}}}}}}"#;
        Programs { folder: PathBuf::new(), tests: tests(text).unwrap() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_tests_are_those_that_others_start_and_filtered_ones_do_not_belong_to_the_archive() {
        let programs = examples::programs();
        let names: Vec<_> =
            programs.tests().iter().map(|test| format!("{} {}", test.program, test.name)).collect();
        assert_eq!(names, ["p::device m::one", "p::device two", "p::nvidia m::one"]);
    }

    #[test]
    fn the_rest_runs() {
        let row =
            |test| Exception { package: "p", test, at: test_skip::devices::Where::Nvidia, reason: "no" };
        let mut left_out = LeftOut::default();
        assert_eq!(left_out.filter(None), "all()");
        assert_eq!(left_out.filter(Some("test(a)")), "test(a)");
        left_out.rows = vec![row("m::"), row("two")];
        let rows = "(package(=p) & binary(/^device/) & test(/^m::/)) | (package(=p) & binary(/^device/) & test(=two))";
        assert_eq!(left_out.filter(Some("test(a) | test(b)")), format!("(test(a) | test(b)) - ({rows})"));
    }

    #[test]
    fn rows_are_about_device_tests_and_those_about_none_are_told() {
        let programs = examples::programs();
        let row =
            |package, test| Exception { package, test, at: test_skip::devices::Where::Nvidia, reason: "no" };
        let left_out = programs.left_out(vec![row("p", "m::"), row("p", "three"), row("q", "two")]);
        let names: Vec<_> =
            left_out.tests.keys().map(|test| format!("{} {}", test.program, test.name)).collect();
        assert_eq!(names, ["p::device m::one"]);
        // Packages that are not in the archive are not missed.
        assert_eq!(left_out.stale, [row("p", "three")]);
        assert_eq!(left_out.rows, [row("p", "m::")]);
    }

    #[test]
    fn a_list_says_what_is_left_out_and_why() {
        let programs = examples::programs();
        let mut left_out = LeftOut::default();
        left_out.tests.insert(programs.tests()[1].clone(), "no");
        let text = programs.text(&left_out);
        assert_eq!(text, "p::device m::one\np::device two: left out: no\np::nvidia m::one\n");
    }
}
