//! `cargo xtask test amd-tests`: AMD's own test programs over virtual GPUs.

mod data;
mod gtest;
mod page;
mod run;
mod table;

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use shared_commands::libraries::Own;
use shared_commands::rocm::program::Place;
use shared_commands::rocm::run::variables;

use self::gtest::Outcome;
use self::page::{Failure, Summary};
use self::run::Ran;
use self::table::{EXPECTED, SUITES, Suite, TARGETS};
use crate::rocm::{self, additions, sysroot};
use crate::{dropin, tools};

/// The release of the suites.
const RELEASE: &str = "7.2";
/// The page with the results, in the workspace.
const PAGE: &str = "docs/generated/suites.md";
/// The number of parallel processes.
const PARALLEL: usize = 2;

/// What to run.
#[derive(Debug, clap::Args)]
pub(super) struct Options {
    /// Suites, such as hsa, rccl or rocblas, separated by commas or spaces, or all
    #[arg(value_name = "NAME", value_delimiter = ',', required = true)]
    names: Vec<String>,
    /// Target to run on; may be repeated [default: gfx1100 and gfx90a]
    #[arg(long = "target", value_name = "TARGET", value_delimiter = ',')]
    targets: Vec<String>,
    // Suites that do not use such a library are left out.
    #[command(flatten)]
    own: Own,
    /// Run only tests whose names match (* for anything, : between several), and do not change the page
    #[arg(long, value_name = "PATTERN")]
    filter: Option<String>,
}

/// The suites that a command line names; `all` is all of them.
fn named(names: &[String]) -> Result<Vec<&'static Suite>> {
    let known = || SUITES.iter().map(|suite| suite.name).collect::<Vec<_>>().join(", ");
    if let Some(name) =
        names.iter().find(|name| *name != "all" && SUITES.iter().all(|suite| suite.name != **name))
    {
        bail!("\"{name}\" is no suite: {}, or all", known());
    }
    let all = names.iter().any(|name| name == "all");
    Ok(SUITES.iter().filter(|suite| all || names.iter().any(|name| name == suite.name)).collect())
}

/// Runs the suites and writes the page. The error lists unexpected failures and unexpected passes.
pub(super) fn run(options: &Options) -> Result<()> {
    let suites = named(&options.names)?;
    let targets: Vec<&str> = match options.targets.is_empty() {
        true => TARGETS.to_vec(),
        false => options.targets.iter().map(String::as_str).collect(),
    };
    let release = sysroot::releases(&[RELEASE.to_owned()])?;
    let release = release.first().context("the table of releases has it")?;
    let sysroot = sysroot::make(release, &sysroot::folder())?;
    // With the tests' profile, whose executor is also optimised, so nothing is compiled just for this.
    let first = dropin::before_amds(false, options.own)?;
    let mut surprises = Vec::new();
    for suite in suites {
        if options.own.hip && !suite.only_hip {
            println!("{}: needs more than HIP", suite.name);
            continue;
        }
        if options.own.blas && !suite.blas {
            println!("{}: does not use rocBLAS", suite.name);
            continue;
        }
        if options.own.rccl && !suite.rccl {
            println!("{}: does not use RCCL", suite.name);
            continue;
        }
        let addition = additions::named(&[suite.name.to_owned()], RELEASE)?;
        let addition = addition.first().context("every suite is an addition")?;
        let tree = addition.make(&sysroot)?;
        let place = rocm::place(sysroot.clone(), vec![tree.clone()], first.clone());
        for target in &targets {
            surprises.extend(one(suite, target, &place, &tree, options)?);
        }
    }
    match surprises.is_empty() {
        true => Ok(()),
        false => bail!("not as expected:\n  {}", surprises.join("\n  ")),
    }
}

/// A program of a suite, on one device.
struct Program<'a> {
    suite: &'a Suite,
    path: PathBuf,
    folder: PathBuf,
    place: &'a Place,
    device: String,
    own: Own,
    /// The sample of its descriptions.
    data: Option<PathBuf>,
}

impl Program<'_> {
    fn command(&self) -> Result<Command> {
        let mut command = self.place.command(&self.path)?;
        command.args(self.suite.arguments);
        if let Some(data) = &self.data {
            command.arg("--data").arg(data);
        }
        command.envs(variables(Some(&self.device), self.own));
        command.envs(self.suite.variables.iter().copied()).current_dir(&self.folder);
        Ok(command)
    }
}

/// Consecutive tests of one program.
struct Batch<'a> {
    program: &'a Program<'a>,
    tests: Vec<String>,
}

/// Runs a suite on a target. Returns the unexpected results.
fn one(suite: &Suite, target: &str, place: &Place, tree: &Path, options: &Options) -> Result<Vec<String>> {
    let libraries = options.own.name();
    let logs = tools::target_folder().join("suites").join(format!("{}-{libraries}-{target}", suite.name));
    fs::create_dir_all(&logs).with_context(|| logs.display().to_string())?;
    let mut programs = programs(suite, target, place, tree, options)?;
    let mut described = None;
    if let Some(data) = &suite.data {
        let sample = logs.join("descriptions.data");
        described = Some(data.sample(tree, &sample)?);
        programs.iter_mut().for_each(|program| program.data = Some(sample.clone()));
    }
    println!(
        "{} on {target}, {libraries}: {} programs; logs in {}",
        suite.name,
        programs.len(),
        logs.display()
    );
    let (mut left_out, mut listed_in_all) = (0, 0);
    let mut batches = VecDeque::new();
    for program in &programs {
        let log = logs.join(format!("{}.list", name_of(program)));
        let mut listed = run::list(program.command()?, suite.filter, &log, run::AROUND)?;
        if !suite.arguments.contains(&table::WITH_DISABLED) {
            listed.retain(|test| !gtest::is_disabled(test));
        }
        if listed.is_empty() {
            println!("  {} has no tests", name_of(program));
        }
        let (out, mut tests): (Vec<String>, _) =
            listed.into_iter().partition(|test| is_left_out(suite, test));
        left_out += out.len();
        listed_in_all += tests.len();
        if let Some(sample) = suite.sample {
            tests = gtest::sample(tests, sample.most, |test| sample.groups.of(test));
        }
        if let Some(pattern) = &options.filter {
            tests.retain(|test| pattern.split(':').any(|pattern| gtest::matches(pattern, test)));
        }
        batches.extend(tests.chunks(suite.batch).map(|tests| Batch { program, tests: tests.to_vec() }));
    }
    if batches.is_empty() {
        bail!("{}: no test is of that form", suite.name);
    }
    let known = |test: &str| {
        let here = |known: &&table::Expected| {
            known.suite == suite.name
                && gtest::matches(known.tests, test)
                && gtest::matches(known.target, target)
                && options.own.has(known.own)
        };
        EXPECTED.iter().find(here)
    };
    let started = Instant::now();
    let ran = all(batches, suite, |test| known(test).is_some(), &logs)?;
    let listed = described.unwrap_or(listed_in_all);
    let mut summary = Summary { left_out, listed, ..Summary::default() };
    ran.iter().for_each(|ran| summary.count(ran.outcome));
    println!(
        "{} on {target}, {libraries}: {} of {} pass in {} s",
        suite.name,
        summary.passed,
        summary.tests(),
        started.elapsed().as_secs()
    );
    let mut surprises = Vec::new();
    let mut failures = Vec::new();
    for Ran { test, outcome, detail } in ran {
        let expected = known(&test);
        match (outcome > Outcome::Skipped, expected) {
            (true, None) => surprises.push(format!("{} {target}: {test}: {outcome:?}", suite.name)),
            (false, Some(_)) if outcome == Outcome::Passed => {
                surprises.push(format!("{} {target}: {test} passes, and is listed as failing", suite.name));
            }
            _ => {}
        }
        if outcome > Outcome::Skipped {
            let (tests, why) =
                expected.map_or((test, detail), |known| (known.tests.to_owned(), known.reason.to_owned()));
            failures.push(Failure { tests, outcome, why });
        }
    }
    if options.filter.is_none() {
        let run = page::Run {
            place: [suite.name, &libraries, target].map(str::to_owned),
            summary,
            seconds: suite.seconds,
            date: setup::run::capture(Command::new("date").arg("+%-d %B %Y"))
                .unwrap_or_default()
                .trim()
                .to_owned(),
            failures,
        };
        let path = tools::workspace().join(PAGE);
        let page = page::with(&fs::read_to_string(&path).unwrap_or_default(), &run);
        fs::write(&path, page).with_context(|| path.display().to_string())?;
    }
    Ok(surprises)
}

fn is_left_out(suite: &Suite, test: &str) -> bool {
    suite.left_out.iter().any(|(pattern, _)| gtest::matches(pattern, test))
}

fn name_of(program: &Program<'_>) -> String {
    program.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The programs of a suite, sorted by name.
fn programs<'a>(
    suite: &'a Suite,
    target: &str,
    place: &'a Place,
    tree: &Path,
    options: &Options,
) -> Result<Vec<Program<'a>>> {
    let mut found = Vec::new();
    let folders = tree.join("usr/libexec/rocm");
    let folders = fs::read_dir(&folders).with_context(|| folders.display().to_string())?.flatten();
    for folder in folders.map(|entry| entry.path()).filter(|path| path.is_dir()) {
        for path in fs::read_dir(&folder)?.flatten().map(|entry| entry.path()) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if path.is_file() && name.starts_with(suite.programs) {
                found.push(Program {
                    suite,
                    folder: folder.join(suite.folder.replace("{target}", target)),
                    path,
                    place,
                    device: format!("vgpu:{target}{}", suite.device),
                    own: options.own,
                    data: None,
                });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    match found.is_empty() {
        true => bail!("{} holds no program whose name begins with {}", tree.display(), suite.programs),
        false => Ok(found),
    }
}

/// Runs all batches, some in parallel. Returns all tests in the order of the batches. `known` ones may fail.
fn all(
    batches: VecDeque<Batch<'_>>,
    suite: &Suite,
    known: impl Fn(&str) -> bool + Sync,
    logs: &Path,
) -> Result<Vec<Ran>> {
    let count = batches.len();
    let queue = Mutex::new(batches.into_iter().enumerate().collect::<VecDeque<_>>());
    let done = Mutex::new(Vec::new());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    std::thread::scope(|scope| {
        for _ in 0..PARALLEL {
            scope.spawn(|| {
                while let Some((index, batch)) = next() {
                    let log = logs.join(format!("{}-{index:04}.log", name_of(batch.program)));
                    let ran = run::run(|| batch.program.command(), &batch.tests, suite, &known, &log);
                    if let Ok(ran) = &ran {
                        let failed = ran.iter().filter(|ran| ran.outcome > Outcome::Skipped);
                        for Ran { test, outcome, .. } in failed {
                            println!("  {test}: {outcome:?} ({})", log.display());
                        }
                        println!("  {} of {count}: {} tests", index + 1, ran.len());
                    }
                    done.lock().unwrap_or_else(PoisonError::into_inner).push((index, ran));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, ran)| ran).collect::<Result<Vec<_>>>().map(|ran| ran.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suites_are_named_once_each_or_all() {
        let names = |given: &[&str]| {
            let given: Vec<String> = given.iter().map(|name| (*name).to_owned()).collect();
            named(&given).map(|found| found.iter().map(|suite| suite.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&["rocrand", "hsa", "rocrand"]).expect("known"), ["hsa", "rocrand"]);
        assert_eq!(names(&["all"]).expect("all").len(), SUITES.len());
        let error = names(&["miopen"]).expect_err("unknown").to_string();
        assert!(
            error.starts_with("\"miopen\" is no suite: hipcub, ") && error.ends_with(", or all"),
            "{error}"
        );
    }
}
