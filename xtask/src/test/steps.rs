//! The steps of a run: executed in order up to the first failure, with a table of their outcomes.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use setup::debian::Reach;
use setup::run;
use setup::table::{Align, Table};

use super::skips::Skips;
use crate::tools;

/// The outcome of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    Passed,
    Failed(String),
    /// It was not requested, or it is impossible here.
    Skipped(String),
    /// The machine lacks something that it could have; continuous integration treats this as a failure.
    Lacking(String),
    NotReached,
}

impl Outcome {
    /// A step that finds something missing.
    pub(super) fn without(missing: &Missing) -> Self {
        match missing.reach {
            Reach::Never => Self::Skipped(missing.reason.clone()),
            Reach::NotNow => Self::Lacking(missing.reason.clone()),
        }
    }
}

/// Something that the machine lacks.
#[derive(Debug, Clone)]
pub(super) struct Missing {
    pub(super) reach: Reach,
    pub(super) reason: String,
}

/// One step of the test run: its heading and its action.
pub(super) struct Step<'a> {
    pub(super) name: String,
    action: Box<dyn FnOnce() -> Result<Outcome> + 'a>,
}

impl<'a> Step<'a> {
    pub(super) fn new(name: impl Into<String>, action: impl FnOnce() -> Result<Outcome> + 'a) -> Self {
        Self { name: name.into(), action: Box::new(action) }
    }

    /// A step that only reports why it does nothing.
    pub(super) fn skipped(name: impl Into<String>, reason: String) -> Self {
        Self::new(name, || Ok(Outcome::Skipped(reason)))
    }
}

/// Which of the steps run.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct Only {
    /// Run only steps whose names contain this text
    #[arg(long = "only", value_name = "TEXT")]
    text: Option<String>,
}

impl Only {
    /// The chosen ones.
    fn of<'a>(&self, mut steps: Vec<Step<'a>>) -> Result<Vec<Step<'a>>> {
        let Some(only) = &self.text else { return Ok(steps) };
        let names: Vec<_> = steps.iter().map(|step| step.name.clone()).collect();
        steps.retain(|step| step.name.contains(only.as_str()));
        if steps.is_empty() {
            bail!("no step has \"{only}\" in its name: {}", names.join(", "));
        }
        Ok(steps)
    }
}

/// Runs the chosen steps up to the first failure and prints a summary.
pub(super) fn run(steps: Vec<Step<'_>>, only: &Only, skips: &Skips) -> Result<()> {
    let started = Instant::now();
    let results = results(only.of(steps)?, is_continuous_integration());
    println!("\n{}", summary(&results));
    if let Some(skipped) = skips.summary()? {
        println!("{skipped}");
    }
    let total = started.elapsed().as_secs();
    match results.iter().find(|(_, outcome, _)| matches!(outcome, Outcome::Failed(_))) {
        Some((name, ..)) => {
            let room = full_disks([tools::target_folder(), std::env::temp_dir()], free);
            bail!("failed at: {name} (after {total} s){room}")
        }
        None => {
            println!("All passed in {total} s.");
            Ok(())
        }
    }
}

/// Below this, programs are likely to have failed because a disk was full, whatever they say.
const LITTLE: u64 = 1 << 30;

/// Bytes that can still be written to a folder's disk.
fn free(folder: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    disk.f_bavail.checked_mul(disk.f_frsize)
}

/// Which folders have little room, for the end of an error; empty if none has.
fn full_disks<const N: usize>(folders: [PathBuf; N], free: impl Fn(&Path) -> Option<u64>) -> String {
    let full =
        folders.iter().filter_map(|folder| Some((folder, free(folder).filter(|free| *free < LITTLE)?)));
    full.map(|(folder, free)| {
        let place = folder.display();
        format!(
            "\nThe disk of {place} has only {} MiB left, which may be the reason: a run of everything writes 13 GiB",
            free >> 20
        )
    })
    .collect()
}

/// Whether missing things fail the run. A user sees what is skipped, but nobody reads the log of a green
/// build.
fn is_continuous_integration() -> bool {
    tools::variable("CI").is_some_and(|value| value != "false" && value != "0")
}

fn results(steps: Vec<Step<'_>>, strict: bool) -> Vec<(String, Outcome, Duration)> {
    let mut results = Vec::new();
    let mut failed = false;
    for Step { name, action } in steps {
        if failed {
            results.push((name, Outcome::NotReached, Duration::ZERO));
            continue;
        }
        println!("\n== {name}");
        let started = Instant::now();
        let outcome = match action() {
            Ok(Outcome::Lacking(reason)) if strict => Outcome::Failed(format!(
                "in continuous integration nothing that a machine can have is skipped: {reason}"
            )),
            Ok(outcome) => outcome,
            Err(error) => Outcome::Failed(with_causes(&error)),
        };
        let elapsed = started.elapsed();
        match &outcome {
            Outcome::Passed => println!("-- {name}: passed in {:.1} s", elapsed.as_secs_f64()),
            Outcome::Failed(reason) => println!("-- {name}: FAILED: {reason}"),
            Outcome::Skipped(reason) | Outcome::Lacking(reason) => println!("-- {name}: skipped: {reason}"),
            Outcome::NotReached => {}
        }
        failed = matches!(outcome, Outcome::Failed(_));
        results.push((name, outcome, elapsed));
    }
    results
}

/// An error's text, with its causes if not already included.
fn with_causes(error: &anyhow::Error) -> String {
    error.chain().fold(String::new(), |text, cause| match cause.to_string() {
        cause if text.is_empty() => cause,
        cause if text.contains(&cause) => text,
        cause => format!("{text}: {cause}"),
    })
}

fn summary(results: &[(String, Outcome, Duration)]) -> String {
    let mut table = Table::new(&[("step", Align::Left), ("seconds", Align::Right), ("result", Align::Left)]);
    for (name, outcome, elapsed) in results {
        let seconds = match outcome {
            Outcome::Passed | Outcome::Failed(_) => format!("{:.1}", elapsed.as_secs_f64()),
            Outcome::Skipped(_) | Outcome::Lacking(_) | Outcome::NotReached => String::new(),
        };
        let result = match outcome {
            Outcome::Passed => "passed".to_owned(),
            Outcome::Failed(reason) => format!("FAILED: {}", run::headline(reason)),
            Outcome::Skipped(reason) | Outcome::Lacking(reason) => {
                format!("skipped: {}", run::headline(reason))
            }
            Outcome::NotReached => "not reached".to_owned(),
        };
        table.row([name.clone(), seconds, result]);
    }
    table.render()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_runs_after_the_first_failure() {
        let ran = std::cell::RefCell::new(Vec::new());
        let step = |name: &'static str, outcome: Outcome| {
            let ran = &ran;
            Step::new(name, move || {
                ran.borrow_mut().push(name);
                Ok(outcome)
            })
        };
        let results = results(
            vec![
                step("a", Outcome::Passed),
                step("b", Outcome::Skipped("no reason".to_owned())),
                Step::new("c", || bail!("broken")),
                step("d", Outcome::Passed),
            ],
            false,
        );
        assert_eq!(*ran.borrow(), ["a", "b"]);
        let outcomes: Vec<&Outcome> = results.iter().map(|(_, outcome, _)| outcome).collect();
        assert_eq!(
            outcomes,
            [
                &Outcome::Passed,
                &Outcome::Skipped("no reason".to_owned()),
                &Outcome::Failed("broken".to_owned()),
                &Outcome::NotReached,
            ]
        );
    }

    #[test]
    fn a_full_disk_is_told_where_a_run_failed() {
        let folders = || [PathBuf::from("/build"), PathBuf::from("/tmp")];
        assert_eq!(full_disks(folders(), |_| Some(5 << 30)), "");
        assert_eq!(full_disks(folders(), |_| None), "");
        let one =
            full_disks(folders(), |folder| Some(if folder.ends_with("tmp") { 3 << 20 } else { LITTLE }));
        assert!(one.starts_with("\nThe disk of /tmp has only 3 MiB left"), "{one}");
        assert!(free(Path::new("/")).is_some(), "this machine's own disk");
    }

    #[test]
    fn steps_are_chosen_by_a_part_of_their_names() {
        let steps = || ["format", "lints", "doc tests"].map(|name| Step::new(name, || Ok(Outcome::Passed)));
        let chosen = |only: &str| {
            let only = Only { text: (!only.is_empty()).then(|| only.to_owned()) };
            let steps = only.of(steps().into()).map_err(|error| error.to_string())?;
            Ok::<_, String>(steps.into_iter().map(|step| step.name).collect::<Vec<_>>().join(", "))
        };
        assert_eq!(chosen("").as_deref(), Ok("format, lints, doc tests"));
        assert_eq!(chosen("nt").as_deref(), Ok("lints"));
        assert_eq!(chosen("miri").unwrap_err(), "no step has \"miri\" in its name: format, lints, doc tests");
    }

    #[test]
    fn what_a_machine_can_have_is_not_skipped_in_continuous_integration() {
        let missing = |reach| Missing { reach, reason: "no mirror".to_owned() };
        for (reach, passes) in [(Reach::Never, [true, true]), (Reach::NotNow, [true, false])] {
            for (strict, passes) in [false, true].into_iter().zip(passes) {
                let step = Step::new("headers", move || Ok(Outcome::without(&missing(reach))));
                let results = results(vec![step], strict);
                let (_, outcome, _) = &results[0];
                assert_eq!(!matches!(outcome, Outcome::Failed(_)), passes, "{reach:?} {strict}: {outcome:?}");
                assert!(summary(&results).contains("no mirror"), "{}", summary(&results));
            }
        }
    }

    #[test]
    fn causes_are_told_once() {
        let silent = anyhow::anyhow!("disk full").context("cannot write");
        assert_eq!(with_causes(&silent), "cannot write: disk full");
        let telling = anyhow::anyhow!("disk full").context("cannot write: disk full");
        assert_eq!(with_causes(&telling), "cannot write: disk full");
    }

    #[test]
    fn the_summary_says_what_was_not_run_and_why() {
        let seconds = Duration::from_millis(1234);
        let text = summary(&[
            ("format".to_owned(), Outcome::Passed, seconds),
            ("bindings".to_owned(), Outcome::Skipped("no headers".to_owned()), seconds),
            ("lints".to_owned(), Outcome::Failed("clippy failed\n  details".to_owned()), seconds),
            ("doc tests".to_owned(), Outcome::NotReached, Duration::ZERO),
        ]);
        let expected = "\
step       seconds  result
---------  -------  -------------------
format         1.2  passed
bindings            skipped: no headers
lints          1.2  FAILED: clippy failed
doc tests           not reached
";
        assert_eq!(text.lines().skip(2).collect::<Vec<_>>(), expected.lines().skip(2).collect::<Vec<_>>());
    }
}
