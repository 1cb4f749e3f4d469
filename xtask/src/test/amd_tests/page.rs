//! `docs/generated/suites.md`: the latest results of each suite. The page stores its own data: a run replaces
//! its rows and keeps the others.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::gtest::Outcome;
use super::table::SUITES;
use crate::test::rows::{cell, cells};

const INTRODUCTION: &str = "\
# AMD's own test programs on the virtual GPU

Written by `cargo xtask test amd-tests`; edits are lost. The programs are those of Debian's packages of ROCm 7.2, run in a sysroot of that
release over virtual GPUs ([amd-hip.md](../use/amd-hip.md)): with AMD's HIP, with this project's (`hip-on-hsa`) where a program needs nothing but HIP, and
with this project's rocBLAS (`blas-on-kernels`) or RCCL (`rccl-on-hip`) where it uses that. Each test has a time limit, and one that fails without being expected to is the last one of its process. *Left out* are tests that need what no virtual
GPU has, with the reasons below. Where the tests are \"some of all\", these are a sample with tests of every function and type; of rocBLAS, all are the
descriptions that tests are made of, some for types that a function does not have.

";
const RESULTS: &str = "## Results\n\n";
const RESULT_HEAD: &str = "| suite | libraries | target | tests | pass | fail | out of time | skip themselves | left out | seconds for a test | date |\n\
|---|---|---|---|---|---|---|---|---|---|---|\n";
const LEFT_OUT: &str = "\n## Tests that are left out\n\n";
const LEFT_OUT_HEAD: &str = "| suite | tests | why |\n|---|---|---|\n";
const FAILURES: &str = "\n## Tests that do not pass\n\n";
const FAILURE_HEAD: &str =
    "| suite | libraries | target | test | outcome | why |\n|---|---|---|---|---|---|\n";

/// The results of a suite in one place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Summary {
    pub(super) passed: usize,
    pub(super) failed: usize,
    pub(super) out_of_time: usize,
    pub(super) skipped: usize,
    pub(super) left_out: usize,
    /// The number of tests, without those left out.
    pub(super) listed: usize,
}

impl Summary {
    pub(super) fn count(&mut self, outcome: Outcome) {
        *match outcome {
            Outcome::Passed => &mut self.passed,
            Outcome::Skipped => &mut self.skipped,
            Outcome::OutOfTime => &mut self.out_of_time,
            Outcome::Failed | Outcome::Crashed => &mut self.failed,
        } += 1;
    }

    pub(super) fn tests(&self) -> usize {
        self.passed + self.failed + self.out_of_time + self.skipped
    }
}

/// Where a suite ran: its name, the origin of the libraries, and the target. Rows are sorted by it.
pub(super) type Place = [String; 3];

/// A run to write.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) place: Place,
    pub(super) summary: Summary,
    /// The limit of a test, in seconds.
    pub(super) seconds: u64,
    pub(super) date: String,
    /// The tests that do not pass.
    pub(super) failures: Vec<Failure>,
}

/// A test that does not pass, or several with the same reason.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Failure {
    /// Its name, or the pattern for their names.
    pub(super) tests: String,
    pub(super) outcome: Outcome,
    pub(super) why: String,
}

/// The page with a run's rows replaced.
pub(super) fn with(page: &str, run: &Run) -> String {
    let mut results: BTreeMap<Place, String> = BTreeMap::new();
    let mut failures: BTreeMap<Place, Vec<String>> = BTreeMap::new();
    let (before, after) = page.split_once(FAILURES).unwrap_or((page, ""));
    let place = |cells: &[String]| [cells[0].clone(), cells[1].clone(), cells[2].clone()];
    for row in before.lines() {
        if let Some(cells) = cells(row, "suite", 6) {
            results.insert(place(&cells), row.to_owned());
        }
    }
    for row in after.lines() {
        if let Some(cells) = cells(row, "suite", 6) {
            failures.entry(place(&cells)).or_default().push(row.to_owned());
        }
    }
    let [suite, libraries, target] = &run.place;
    let Summary { passed, failed, out_of_time, skipped, left_out, listed } = run.summary;
    let tests = match run.summary.tests() {
        tests if tests == listed => tests.to_string(),
        tests => format!("{tests} of {listed}"),
    };
    let row = format!(
        "| {suite} | {libraries} | {target} | {tests} | {passed} | {failed} | {out_of_time} | {skipped} | {left_out} | {} | {} |",
        run.seconds, run.date
    );
    results.insert(run.place.clone(), row);
    let mut counts: BTreeMap<&Failure, usize> = BTreeMap::new();
    run.failures.iter().for_each(|failure| *counts.entry(failure).or_default() += 1);
    let rows = counts.into_iter().map(|(Failure { tests, outcome, why }, count)| {
        let outcome = match outcome {
            Outcome::OutOfTime => "out of time",
            Outcome::Crashed => "process ended",
            _ => "fails",
        };
        let many = if tests.contains('*') { format!(" ({count})") } else { String::new() };
        format!("| {suite} | {libraries} | {target} | `{}`{many} | {outcome} | {} |", cell(tests), cell(why))
    });
    failures.insert(run.place.clone(), rows.collect());

    let mut text = format!("{INTRODUCTION}{RESULTS}{RESULT_HEAD}");
    for row in results.values() {
        let _ = writeln!(text, "{row}");
    }
    let _ = write!(text, "{LEFT_OUT}{LEFT_OUT_HEAD}");
    for suite in SUITES {
        for (tests, why) in suite.left_out {
            let _ = writeln!(text, "| {} | `{tests}` | {why} |", suite.name);
        }
    }
    let _ = write!(text, "{FAILURES}{FAILURE_HEAD}");
    for row in failures.values().flatten() {
        let _ = writeln!(text, "{row}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(suite: &str, target: &str, passed: usize, failures: &[&str]) -> Run {
        let failure = |test: &&str| Failure {
            tests: (*test).to_owned(),
            outcome: Outcome::Failed,
            why: "a | b\nc".to_owned(),
        };
        let failures: Vec<_> = failures.iter().map(failure).collect();
        let listed = 7;
        let summary = Summary { passed, failed: failures.len(), left_out: 3, listed, ..Summary::default() };
        Run {
            place: [suite, "AMD's", target].map(str::to_owned),
            summary,
            seconds: 60,
            date: "1 May 2030".to_owned(),
            failures,
        }
    }

    #[test]
    fn a_run_replaces_its_rows_and_leaves_the_others() {
        let page = with("", &run("b", "gfx90a", 5, &["B.one", "B.two"]));
        let page = with(&page, &run("a", "gfx90a", 1, &["A.one"]));
        assert!(page.contains("| a | AMD's | gfx90a | 2 of 7 | 1 | 1 |"), "{page}");
        assert!(
            page.contains("| b | AMD's | gfx90a | 7 | 5 | 2 | 0 | 0 | 3 | 60 | 1 May 2030 |\n"),
            "{page}"
        );
        assert!(page.contains("| b | AMD's | gfx90a | `B.two` | fails | a \\| b c |\n"), "{page}");
        assert!(page.find("| a |").expect("a") < page.find("| b |").expect("b"));
        let several = with(&page, &run("b", "gfx90a", 4, &["B.t*", "B.one", "B.t*"]));
        assert!(
            several.contains("| `B.one` | fails |") && several.contains("| `B.t*` (2) | fails |"),
            "{several}"
        );
        let page = with(&page, &run("b", "gfx90a", 7, &[]));
        assert!(page.contains("| b | AMD's | gfx90a | 7 | 7 | 0 |"), "{page}");
        assert!(!page.contains("B.one") && page.contains("`A.one`"), "{page}");
        assert_eq!(with(&page, &run("b", "gfx90a", 7, &[])), page);
    }
}
