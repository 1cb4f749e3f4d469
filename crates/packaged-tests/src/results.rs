//! The results of a run: cargo-nextest's, the tests that skipped themselves, and those that were left out.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use fleet::junit::{Case, Outcome, Suite};
use test_skip::Skipped;

use crate::list::{LeftOut, Programs, Test};

/// A run.
#[derive(Debug, Default)]
pub(crate) struct Run {
    /// What it ran on.
    pub(crate) name: String,
    /// Every test, with its outcome.
    pub(crate) cases: Vec<Case>,
}

impl Run {
    /// Reads what cargo-nextest and the tests have written. Of a run of all tests, each test of the archive
    /// has an outcome: one without is a failure.
    pub(crate) fn read(
        junit: &Path,
        skips: &Path,
        programs: &Programs,
        left_out: &LeftOut<'_>,
        is_whole: bool,
    ) -> Result<Self> {
        let suite = if junit.is_file() { Suite::read(junit)? } else { Suite::default() };
        let skips = std::fs::read_to_string(skips).with_context(|| skips.display().to_string())?;
        let expected = if is_whole { programs.tests() } else { &[] };
        Ok(Self::of(suite.cases, &skips, expected, left_out))
    }

    fn of(cases: Vec<Case>, skips: &str, expected: &[Test], left_out: &LeftOut<'_>) -> Self {
        let mut run = Self { name: String::new(), cases };
        // A test that was killed while writing leaves a malformed line.
        let mut reasons = BTreeMap::<String, Vec<String>>::new();
        for skipped in skips.lines().filter_map(Skipped::parse) {
            let reasons = reasons.entry(skipped.test).or_default();
            let reason = format!("{}: {}", skipped.lack, skipped.reason);
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
        for case in &mut run.cases {
            if let (Outcome::Passed, Some(reasons)) =
                (&case.outcome, reasons.get(&format!("{} {}", case.class, case.name)))
            {
                case.outcome = Outcome::Skipped(reasons.join("; "));
            }
        }
        let case = |class: &str, name: &str, outcome| Case {
            class: class.to_owned(),
            name: name.to_owned(),
            time: 0.0,
            outcome,
            output: String::new(),
            error: String::new(),
        };
        for (test, reason) in &left_out.tests {
            run.cases.push(case(&test.program, &test.name, Outcome::Skipped((*reason).to_owned())));
        }
        for row in &left_out.stale {
            let reason =
                format!("xtask/src/device_tests.rs has a row about no test; its reason: {}", row.reason);
            run.cases.push(case(row.package, row.test, Outcome::Failed(reason)));
        }
        for test in expected {
            let has = |case: &Case| case.class == test.program && case.name == test.name;
            if !run.cases.iter().any(has) {
                let reason = "it has not run: the time was up, or the run ended early";
                run.cases.push(case(&test.program, &test.name, Outcome::Failed(reason.to_owned())));
            }
        }
        run
    }

    /// Adds a failure of the run itself.
    pub(crate) fn problem(&mut self, what: &str) {
        self.cases.push(Case {
            class: "run-tests".to_owned(),
            name: "the run".to_owned(),
            time: 0.0,
            outcome: Outcome::Failed(what.to_owned()),
            output: String::new(),
            error: String::new(),
        });
    }

    /// For JUnit.
    pub(crate) fn suite(&self) -> Suite {
        Suite { name: self.name.clone(), cases: self.cases.clone() }
    }

    /// Whether something passed and nothing failed.
    pub(crate) fn has_passed(&self) -> bool {
        let counts = self.suite().counts();
        counts.failed == 0 && counts.tests > counts.skipped
    }

    /// How many tests were skipped for each reason, most first.
    pub(crate) fn reasons(&self) -> Vec<(String, usize)> {
        let mut counts = BTreeMap::<&str, usize>::new();
        for case in &self.cases {
            if let Outcome::Skipped(reason) = &case.outcome {
                *counts.entry(reason).or_default() += 1;
            }
        }
        let mut all: Vec<_> = counts.into_iter().map(|(reason, count)| (reason.to_owned(), count)).collect();
        all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        all
    }

    /// The counts, the failures and the reasons, as text.
    pub(crate) fn summary(&self) -> String {
        let counts = self.suite().counts();
        let passed = counts.tests - counts.failed - counts.skipped;
        let mut text = format!("{passed} passed, {} failed, {} skipped\n", counts.failed, counts.skipped);
        for case in &self.cases {
            if let Outcome::Failed(how) = &case.outcome {
                let first = how.lines().next().unwrap_or_default();
                let _ = writeln!(text, "FAILED {} {}: {first}", case.class, case.name);
            }
        }
        for (reason, count) in self.reasons() {
            let _ = writeln!(text, "{count:5} skipped, in whole or in part: {reason}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::examples::programs;

    fn passed(class: &str, name: &str) -> Case {
        Case {
            class: class.to_owned(),
            name: name.to_owned(),
            time: 0.5,
            outcome: Outcome::Passed,
            output: String::new(),
            error: String::new(),
        }
    }

    #[test]
    fn a_test_that_skipped_itself_has_not_passed() {
        let skips =
            "machine\tp::device two\tno A\ndevice\tp::device two\tno B\nmachine\tp::device two\tno A\ncut";
        let mut run = Run::of(vec![passed("p::device", "two")], skips, &[], &LeftOut::default());
        assert_eq!(run.cases[0].outcome, Outcome::Skipped("machine: no A; device: no B".to_owned()));
        assert_eq!(run.reasons(), [("machine: no A; device: no B".to_owned(), 1)]);
        assert!(!run.has_passed(), "nothing has");
        run.cases.push(passed("p::device", "three"));
        assert!(run.has_passed());
    }

    #[test]
    fn a_test_that_never_ran_has_failed() {
        let programs = programs();
        let mut left_out = LeftOut::default();
        left_out.tests.insert(programs.tests()[1].clone(), "no C");
        let run = Run::of(vec![passed("p::device", "m::one")], "", programs.tests(), &left_out);
        let text = run.summary();
        assert!(text.starts_with("1 passed, 1 failed, 1 skipped\n"), "{text}");
        assert!(text.contains("FAILED p::nvidia m::one: it has not run"), "{text}");
        assert!(text.contains("    1 skipped, in whole or in part: no C"), "{text}");
        assert!(!run.has_passed());
    }

    #[test]
    fn nothing_is_no_success() {
        assert!(!Run::default().has_passed());
        let mut run = Run::of(vec![passed("p::device", "two")], "", &[], &LeftOut::default());
        assert!(run.has_passed());
        run.problem("killed");
        assert!(!run.has_passed() && run.summary().contains("FAILED run-tests the run: killed"));
    }
}
