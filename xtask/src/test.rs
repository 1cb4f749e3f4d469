//! `cargo xtask test`: everything that has to hold, in one command.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::bindgen::Inputs;
use crate::table::{Align, Table};
use crate::tools::{self, DENY, NEXTEST, Tool};
use crate::{build_kernels, run, setup, toolchain};

/// The virtual devices that the device tests run on: one with waves of 32 lanes, one with waves of 64.
const VIRTUAL_DEVICES: [&str; 2] = ["vgpu:gfx1100", "vgpu:gfx90a"];
/// Integration tests in files named so need a device; nextest runs them once per device.
const DEVICE_TESTS: &str = "binary(/^device/)";

/// What the driver of AMD GPUs offers to programs.
const AMD_DRIVER: &str = "/dev/kfd";

/// How the tests are to run.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Options {
    /// Run the device tests on the AMD GPU of this machine too.
    pub(crate) gpu: bool,
}

/// What became of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Outcome {
    Passed,
    Failed(String),
    Skipped(String),
    NotReached,
}

/// One step of the test run: its heading, and what it does.
struct Step<'a> {
    name: String,
    action: Box<dyn FnOnce() -> Result<Outcome> + 'a>,
}

impl<'a> Step<'a> {
    fn new(name: impl Into<String>, action: impl FnOnce() -> Result<Outcome> + 'a) -> Self {
        Self { name: name.into(), action: Box::new(action) }
    }
}

/// Runs all steps up to the first failure and sums up.
pub(crate) fn test(options: Options) -> Result<()> {
    let started = Instant::now();
    let cache = toolchain::cache_folder()?;
    let results = run_steps(steps(options, &cache));
    println!("\n{}", summary(&results));
    let total = started.elapsed().as_secs();
    match results.iter().find(|(_, outcome, _)| matches!(outcome, Outcome::Failed(_))) {
        Some((name, ..)) => bail!("failed at: {name} (after {total} s)"),
        None => {
            println!("All passed in {total} s.");
            Ok(())
        }
    }
}

fn steps(options: Options, cache: &Path) -> Vec<Step<'_>> {
    let mut steps = vec![
        Step::new("toolchain", || {
            setup::setup(setup::Options { yes: true, ..setup::Options::default() })?;
            Ok(Outcome::Passed)
        }),
        Step::new("kernels", || {
            build_kernels::build(&build_kernels::Options::default())?;
            Ok(Outcome::Passed)
        }),
        Step::new("format", || cargo(["fmt", "--all", "--check"])),
        Step::new("lints", || {
            cargo(["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"])
        }),
        Step::new("dependencies", || dependencies(cache)),
        Step::new("documentation", || {
            let mut command = tools::cargo();
            command.args(["doc", "--workspace", "--no-deps", "--quiet"]).env("RUSTDOCFLAGS", "-D warnings");
            execute(command)
        }),
        Step::new("bindings", || match Inputs::find() {
            Ok(inputs) => execute(inputs.check_command()),
            Err(reason) => Ok(Outcome::Skipped(reason)),
        }),
        Step::new("doc tests", || cargo(["test", "--doc", "--workspace", "--quiet"])),
        Step::new("unit, integration and compile-fail tests", || {
            nextest(cache, &format!("not {DEVICE_TESTS}"), None)
        }),
    ];
    for device in VIRTUAL_DEVICES {
        steps.push(Step::new(format!("device tests on {device}"), || {
            nextest(cache, DEVICE_TESTS, Some(device))
        }));
    }
    steps.push(Step::new("device tests on amdgpu:0", move || match options.gpu {
        true if !Path::new(AMD_DRIVER).exists() => bail!("no AMD GPU here: {AMD_DRIVER} does not exist"),
        true => nextest(cache, DEVICE_TESTS, Some("amdgpu:0")),
        false => Ok(Outcome::Skipped("only with --gpu".to_owned())),
    }));
    steps
}

fn run_steps(steps: Vec<Step<'_>>) -> Vec<(String, Outcome, Duration)> {
    let mut results = Vec::new();
    let mut failed = false;
    for Step { name, action } in steps {
        if failed {
            results.push((name, Outcome::NotReached, Duration::ZERO));
            continue;
        }
        println!("\n== {name}");
        let started = Instant::now();
        let outcome = action().unwrap_or_else(|error| Outcome::Failed(format!("{error:#}")));
        let elapsed = started.elapsed();
        match &outcome {
            Outcome::Passed => println!("-- {name}: passed in {:.1} s", elapsed.as_secs_f64()),
            Outcome::Failed(reason) => println!("-- {name}: FAILED: {reason}"),
            Outcome::Skipped(reason) => println!("-- {name}: skipped: {reason}"),
            Outcome::NotReached => {}
        }
        failed = matches!(outcome, Outcome::Failed(_));
        results.push((name, outcome, elapsed));
    }
    results
}

fn summary(results: &[(String, Outcome, Duration)]) -> String {
    let mut table = Table::new(&[("step", Align::Left), ("seconds", Align::Right), ("result", Align::Left)]);
    for (name, outcome, elapsed) in results {
        let seconds = match outcome {
            Outcome::Passed | Outcome::Failed(_) => format!("{:.1}", elapsed.as_secs_f64()),
            Outcome::Skipped(_) | Outcome::NotReached => String::new(),
        };
        let result = match outcome {
            Outcome::Passed => "passed".to_owned(),
            Outcome::Failed(reason) => format!("FAILED: {}", run::headline(reason)),
            Outcome::Skipped(reason) => format!("skipped: {}", run::headline(reason)),
            Outcome::NotReached => "not reached".to_owned(),
        };
        table.row([name.clone(), seconds, result]);
    }
    table.render()
}

fn cargo<const N: usize>(arguments: [&str; N]) -> Result<Outcome> {
    let mut command = tools::cargo();
    command.args(arguments);
    execute(command)
}

/// Runs a command in the workspace, away from the terminal's input and from a device chosen for something else.
fn execute(mut command: Command) -> Result<Outcome> {
    command.current_dir(tools::workspace()).stdin(Stdio::null());
    run::run(&mut command)?;
    Ok(Outcome::Passed)
}

fn dependencies(cache: &Path) -> Result<Outcome> {
    let deny = match DENY.find_or_install(cache) {
        Ok(deny) => deny,
        Err(error) => {
            println!("{error}");
            let reason = "cargo-deny is not here and could not be installed (see above)";
            return Ok(Outcome::Skipped(reason.to_owned()));
        }
    };
    // Advisories change by the day and need the network: they are no property of a commit.
    let mut command = Command::new(deny);
    command.args(["--log-level", "error", "check", "--hide-inclusion-graph", "licenses", "bans", "sources"]);
    execute(command)
}

fn nextest(cache: &Path, filter: &str, device: Option<&str>) -> Result<Outcome> {
    let program =
        NEXTEST.find_or_install(cache).context("cargo-nextest is needed and could not be installed")?;
    let mut command = Command::new(program);
    command.args(["nextest", "run", "--workspace", "--filterset", filter]);
    match device {
        Some(device) => command.env("FERROCM_DEVICE", device),
        None => command.env_remove("FERROCM_DEVICE"),
    };
    execute(command)
}

/// Whether the tools that `test` needs are there, for `doctor`.
pub(crate) fn tools() -> [Tool; 2] {
    [NEXTEST, DENY]
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
        let results = run_steps(vec![
            step("a", Outcome::Passed),
            step("b", Outcome::Skipped("no reason".to_owned())),
            Step::new("c", || bail!("broken")),
            step("d", Outcome::Passed),
        ]);
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
