//! `cargo xtask test`: everything that has to hold, in one command.

mod cmake;
mod libraries;
mod opencl;
mod skips;

use std::cell::{Cell, OnceCell};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use setup::debian::Reach;
use setup::table::{Align, Table};
use setup::{run, toolchain};
use test_skip::Lack;

use self::skips::Skips;
use crate::bindgen::Inputs;
use crate::rocm::Release;
use crate::rocm::headers::{self, Headers};
use crate::rocm::test_tools;
use crate::tools::{self, NEXTEST, TARGETS};
use crate::{
    PROGRAM, build_kernels, candle, conflicts, dependencies, dropin, engines, miri, package, registry,
    results, template,
};

/// The virtual devices that tests run on: one of each generation.
const VIRTUAL_DEVICES: [&str; 5] =
    ["vgpu:gfx1100", "vgpu:gfx90a", "vgpu:gfx942", "vgpu:gfx1030", "vgpu:gfx1201"];
// NEW-TARGET: here, or above if it is the first of its generation.
/// Those that only the device tests of the kernels run on, with `--related`: they differ from one of the others in a few instructions.
const RELATED_DEVICES: [&str; 3] = ["vgpu:gfx950", "vgpu:gfx1151", "vgpu:gfx1200"];
/// Of them, one for each size of waves: those of every run. The others take a suite of their own, `--devices`, as most of the time of a run
/// with them would go into compiling kernels.
pub(crate) const WAVE_SIZE_DEVICES: [&str; 2] = ["vgpu:gfx1100", "vgpu:gfx90a"];
/// Integration tests in files named so need a device; nextest runs them once per device.
const DEVICE_TESTS: &str = "binary(/^device/)";
/// Of them, those of code that is compiled otherwise for each target. The others are tests of host code and of translations.
const TARGET_TESTS: &str = "binary(/^device/) & (package(ferrocm-kernels) | package(ferrocm-blas-on-kernels) | \
     package(ferrocm-rocblas) | package(cuda-trees-test))";
/// The device tests of the kernels.
const KERNEL_DEVICE_TESTS: &str = "package(ferrocm-kernels) & binary(/^device/)";
/// Compares listings with LLVM's; with `--related` also those of kernels that nothing else compiles.
const LISTINGS: &str = "package(ferrocm-vgpu-isa) & test(/^listing::/)";
/// What people who install the program may leave out, with whose absence the step without the virtual GPU tests it.
const MEASURE: &str = "ferrocm/measure";

/// Tests that are judged by programs that neither set-up nor the steps of a run fetch: debuggers, GnuPG, nvcc.
const JUDGED_TESTS: &str = "package(fleet-images) | (package(ferrocm-kernel-build) & test(a_real_nvcc))";

/// What Clippy is told.
const LINTS: [&str; 2] = ["-D", "warnings"];

/// The packages that the virtual GPU is made of.
const VIRTUAL_GPU: [&str; 4] =
    ["ferrocm-vgpu", "ferrocm-vgpu-exec", "ferrocm-vgpu-isa", "ferrocm-hip-on-hsa"];

/// The virtual device that the device tests run on with overflow checks in the engine.
const OVERFLOW_CHECKS_DEVICE: &str = "vgpu:gfx1100";
/// What else is checked everywhere in the tests' profile, and not in the engine.
const OVERFLOW_CHECKS: &str = "profile.dev.package.ferrocm-vgpu-exec.overflow-checks=true";

/// Turns on checks of the virtual GPU, and all of them.
const CHECK_VARIABLE: &str = "FERROCM_VGPU_CHECK";
const ALL_CHECKS: &str = "all";

/// How the tests are to run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Options {
    /// Run the device tests on the AMD GPU of this machine too.
    pub(crate) gpu: bool,
    /// Run the tests on AMD's libraries of these releases, and nothing else.
    pub(crate) rocm: Vec<&'static Release>,
    /// Decode rocBLAS's kernels of these releases, and nothing else.
    pub(crate) rocblas_kernels: Vec<&'static Release>,
    /// Run what can under Miri, and nothing else.
    pub(crate) miri: bool,
    /// Build and run the crate of a stranger in every way, and nothing else.
    pub(crate) template: bool,
    /// Run the kernels of candle, and nothing else.
    pub(crate) candle: bool,
    /// Run engines as they are, and nothing else.
    pub(crate) engines: bool,
    /// Run this project's kernels as candle's tests and their own do, on all targets, and nothing else; and write which have run.
    pub(crate) kernels: bool,
    /// Run the device tests with overflow checks in the engine, and nothing else.
    pub(crate) overflow_checks: bool,
    /// Run the device tests of the kernels on the targets that no other test runs on, and nothing else.
    pub(crate) related: bool,
    /// Run the tests of ranks that `mpirun` starts, and nothing else.
    pub(crate) mpi: bool,
    /// Run all device tests on all virtual devices, and nothing else.
    pub(crate) devices: bool,
    /// Run the tests of memory that Vulkan and HIP share, and nothing else.
    pub(crate) vulkan: bool,
    /// Run the tests that are judged by debuggers, GnuPG and nvcc, none of which may be missing, and nothing else.
    pub(crate) judges: bool,
    /// Run pyopencl's tests on AMD's OpenCL over virtual GPUs, and nothing else.
    pub(crate) opencl: bool,
    /// Test the program that makes packages, and nothing else.
    pub(crate) packages: bool,
    /// Of the steps, run only those with this in their names.
    pub(crate) only: Option<String>,
}

/// What became of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Outcome {
    Passed,
    Failed(String),
    /// Nobody asked for it, or it cannot be here.
    Skipped(String),
    /// The machine lacks something that it can have, which continuous integration does not let pass.
    Lacking(String),
    NotReached,
}

impl Outcome {
    /// A step that finds something missing.
    fn without(missing: &Missing) -> Self {
        match missing.reach {
            Reach::Never => Self::Skipped(missing.reason.clone()),
            Reach::NotNow => Self::Lacking(missing.reason.clone()),
        }
    }
}

/// What the machine does not have.
#[derive(Debug, Clone)]
struct Missing {
    reach: Reach,
    reason: String,
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
    let shared = Shared {
        cache: toolchain::cache_folder()?,
        skips: Skips::new()?,
        fetched_headers: Cell::new(None),
        headers: OnceCell::new(),
        fetched_tools: Cell::new(None),
        tools: OnceCell::new(),
        candle: OnceCell::new(),
        engines: OnceCell::new(),
        results: OnceCell::new(),
    };
    let mut steps = steps(&options, &shared);
    if let Some(only) = &options.only {
        let names: Vec<_> = steps.iter().map(|step| step.name.clone()).collect();
        steps.retain(|step| step.name.contains(only.as_str()));
        if steps.is_empty() {
            bail!("no step has \"{only}\" in its name: {}", names.join(", "));
        }
    }
    let results = run_steps(steps, is_continuous_integration());
    println!("\n{}", summary(&results));
    if let Some(skipped) = shared.skips.summary()? {
        println!("{skipped}");
    }
    let total = started.elapsed().as_secs();
    match results.iter().find(|(_, outcome, _)| matches!(outcome, Outcome::Failed(_))) {
        Some((name, ..)) => bail!("failed at: {name} (after {total} s)"),
        None => {
            println!("All passed in {total} s.");
            Ok(())
        }
    }
}

/// What another thread fetches.
type Fetched<T, E> = Cell<Option<JoinHandle<Result<T, E>>>>;

/// What one step finds and others use.
struct Shared {
    cache: PathBuf,
    /// What tests say that they skip.
    skips: Skips,
    /// Fetches the headers while the kernels are compiled. Whole folders are published, so that it may be left at any time.
    fetched_headers: Fetched<Headers, headers::Error>,
    headers: OnceCell<Result<Headers, Missing>>,
    /// The same for the programs that tests are judged by.
    fetched_tools: Fetched<PathBuf, test_tools::Error>,
    tools: OnceCell<Result<PathBuf, Missing>>,
    /// Of candle's kernels.
    candle: OnceCell<PathBuf>,
    engines: OnceCell<engines::Engines>,
    /// Where tests leave what they found of the kernels.
    results: OnceCell<PathBuf>,
}

fn steps<'a>(options: &Options, shared: &'a Shared) -> Vec<Step<'a>> {
    if !options.rocm.is_empty() {
        return options.rocm.iter().flat_map(|release| libraries::library_steps(release, shared)).collect();
    }
    if !options.rocblas_kernels.is_empty() {
        return options
            .rocblas_kernels
            .iter()
            .flat_map(|release| libraries::kernel_steps(release, shared))
            .collect();
    }
    if options.miri {
        return miri_steps();
    }
    if options.overflow_checks {
        let name = format!("device tests with overflow checks on {OVERFLOW_CHECKS_DEVICE}");
        return vec![Step::new(name, || overflow_checks(shared))];
    }
    if options.candle {
        return candle_steps(shared);
    }
    if options.engines {
        return engine_steps(shared);
    }
    if options.kernels {
        return own_kernel_steps(shared);
    }
    if options.related {
        return related_steps(shared);
    }
    if options.mpi {
        return libraries::mpi_steps(shared);
    }
    if options.devices {
        return VIRTUAL_DEVICES.map(|device| device_step(shared, device)).into();
    }
    if options.vulkan {
        return libraries::vulkan_steps(shared);
    }
    if options.judges {
        return vec![Step::new("tests by other judges", || {
            let mut command = nextest_run(shared, JUDGED_TESTS, None)?;
            skips::require(&mut command, &[Lack::Tool, Lack::Judge]);
            execute(command)
        })];
    }
    if options.opencl {
        return opencl::steps();
    }
    if options.packages {
        let steps = ["format of xtask/package", "lints of xtask/package", "tests of xtask/package"]
            .into_iter()
            .zip(package::tests());
        let run = |mut command: Command| {
            shared.skips.collect(&mut command);
            skips::require(&mut command, &[Lack::Tool, Lack::Judge]);
            execute(command)
        };
        return steps.map(|(name, command)| Step::new(name, move || run(command))).collect();
    }
    if options.template {
        return vec![Step::new("own crate in every way", || template::whole().map(|()| Outcome::Passed))];
    }
    let gpu = options.gpu;
    let mut steps = vec![
        Step::new("toolchain", || {
            setup::install(&PROGRAM, setup::Options { yes: true, ..setup::Options::default() })?;
            shared.fetched_headers.set(Some(thread::spawn(headers::headers)));
            shared.fetched_tools.set(Some(thread::spawn(test_tools::folder)));
            Ok(Outcome::Passed)
        }),
        Step::new("kernels", || {
            let targets =
                if tools::variable(TARGETS).is_some() { Vec::new() } else { targets_of(&WAVE_SIZE_DEVICES) };
            build_kernels::build(&build_kernels::Options { targets, ..build_kernels::Options::default() })?;
            Ok(Outcome::Passed)
        }),
        Step::new("headers", || fetch_headers(shared)),
        Step::new("tools of the tests", || {
            Ok(match tools_of(shared)? {
                Ok(folder) => {
                    println!("They are in {}", folder.display());
                    Outcome::Passed
                }
                Err(missing) => Outcome::without(missing),
            })
        }),
        Step::new("conflict markers", conflict_markers),
        Step::new("format", || cargo(["fmt", "--all", "--check"])),
        Step::new("lints", || {
            let mut command = tools::cargo();
            command.args(["clippy", "--workspace", "--all-targets", "--features", MEASURE, "--quiet", "--"]);
            command.args(LINTS);
            execute(command)
        }),
        Step::new("dependencies", check_dependencies),
        Step::new("documentation", documentation),
        Step::new("bindings", || bindings(shared)),
        Step::new("doc tests", || cargo(["test", "--doc", "--workspace", "--quiet"])),
        Step::new("unit, integration and compile-fail tests", || {
            nextest(shared, &format!("not {DEVICE_TESTS}"), None)
        }),
        Step::new("small CMake projects", || cmake::run(shared)),
        Step::new("hip without the virtual GPU", || without_virtual_gpu(shared)),
        Step::new("own crate with the virtual GPU", || {
            template::beside_the_tests().map(|()| Outcome::Passed)
        }),
        Step::new("own crate without the virtual GPU", || {
            template::without_virtual().map(|()| Outcome::Passed)
        }),
    ];
    let [first, second] = WAVE_SIZE_DEVICES;
    steps.push(device_step(shared, first));
    steps.push(Step::new(format!("device tests of compiled code on {second}"), move || {
        nextest(shared, TARGET_TESTS, Some(second))
    }));
    steps.push(Step::new("all device tests on all devices", || {
        Ok(Outcome::Skipped("only with --devices".to_owned()))
    }));
    steps.push(Step::new("kernels on related targets", || {
        Ok(Outcome::Skipped("only with --related".to_owned()))
    }));
    steps.push(Step::new("device tests on amdgpu:0", move || match gpu {
        true if !Path::new(tools::AMD_DRIVER).exists() => {
            bail!("no AMD GPU here: {} does not exist", tools::AMD_DRIVER)
        }
        true => nextest(shared, DEVICE_TESTS, Some("amdgpu:0")),
        false => Ok(Outcome::Skipped("only with --gpu".to_owned())),
    }));
    steps.push(Step::new("tests on AMD's libraries", || Ok(Outcome::Skipped("only with --rocm".to_owned()))));
    steps.push(Step::new("ranks under mpirun", || Ok(Outcome::Skipped("only with --mpi".to_owned()))));
    steps.push(Step::new("memory shared with Vulkan", || {
        Ok(Outcome::Skipped("only with --vulkan".to_owned()))
    }));
    steps.push(Step::new("tests by other judges", || Ok(Outcome::Skipped("only with --judges".to_owned()))));
    steps.push(Step::new("AMD's OpenCL", || Ok(Outcome::Skipped("only with --opencl".to_owned()))));
    steps.push(Step::new("packages", || Ok(Outcome::Skipped("only with --packages".to_owned()))));
    steps.push(Step::new("tests under Miri", || Ok(Outcome::Skipped("only with --miri".to_owned()))));
    steps.push(Step::new("candle's kernels", || Ok(Outcome::Skipped("only with --candle".to_owned()))));
    steps.push(Step::new("candle as it is", || Ok(Outcome::Skipped("only with --engines".to_owned()))));
    steps
        .push(Step::new("all kernels one by one", || Ok(Outcome::Skipped("only with --kernels".to_owned()))));
    steps
}

fn device_step<'a>(shared: &'a Shared, device: &'static str) -> Step<'a> {
    Step::new(format!("device tests on {device}"), move || nextest(shared, DEVICE_TESTS, Some(device)))
}

/// The device tests with an engine of their own, in a target folder of its own.
fn overflow_checks(shared: &Shared) -> Result<Outcome> {
    let mut command = nextest_command(shared)?;
    command.args(["run", "--workspace", "--config", OVERFLOW_CHECKS, "--filterset", DEVICE_TESTS]);
    command.arg("--target-dir").arg(tools::target_folder().join("overflow-checks"));
    command.env("FERROCM_DEVICE", OVERFLOW_CHECKS_DEVICE).env_remove(headers::FOLDER_VARIABLE);
    execute(command)
}

/// Fetches the kernels of candle, and runs their tests on virtual GPUs.
fn candle_steps<'a>(shared: &'a Shared) -> Vec<Step<'a>> {
    let fetch = Step::new("sources of candle's kernels", || {
        let sources = registry::fetch(candle::KERNELS, candle::VERSION)?;
        println!("They are in {}", shared.candle.get_or_init(|| sources).display());
        Ok(Outcome::Passed)
    });
    let tests = WAVE_SIZE_DEVICES.map(|device| {
        Step::new(format!("candle's kernels on {device}"), move || {
            let sources = shared.candle.get().context("the sources have not been fetched")?;
            execute(candle::command(nextest_command(shared)?, candle::Kernels::Candle(sources), device))
        })
    });
    std::iter::once(fetch).chain(tests).collect()
}

/// Runs a sample of candle's tests on the libraries that take the place of AMD's; fetches engines and models, and runs their tests with the
/// virtual GPUs inside.
fn engine_steps<'a>(shared: &'a Shared) -> Vec<Step<'a>> {
    let sample = Step::new("sample of candle's tests on the drop-in libraries", || {
        execute(engines::sample::command(nextest_command(shared)?)?)
    });
    let prepare = Step::new("engines and models", || {
        let engines = engines::prepare()?;
        shared.engines.get_or_init(|| engines);
        Ok(Outcome::Passed)
    });
    let tests = WAVE_SIZE_DEVICES.map(|device| {
        Step::new(format!("engines on {device}"), move || {
            let engines = shared.engines.get().context("the engines have not been fetched")?;
            execute(engines::command(nextest_command(shared)?, engines, device))
        })
    });
    [sample, prepare].into_iter().chain(tests).collect()
}

/// Runs candle's tests on this project's kernels of the same names, and the device tests of the kernels; writes which have run.
fn own_kernel_steps<'a>(shared: &'a Shared) -> Vec<Step<'a>> {
    let results = || shared.results.get().context("there is no folder for results");
    let folder = Step::new("folder for results", || {
        let folder = results::folder()?;
        shared.results.get_or_init(|| folder);
        Ok(Outcome::Passed)
    });
    let own = VIRTUAL_DEVICES.map(|device| {
        Step::new(format!("candle's tests on own kernels on {device}"), move || {
            let nextest = nextest_command(shared)?;
            let mut command = candle::command(nextest, candle::Kernels::Own(results()?), device);
            command.env(CHECK_VARIABLE, ALL_CHECKS);
            execute(command)
        })
    });
    let others = VIRTUAL_DEVICES.map(|device| {
        Step::new(format!("device tests of the kernels on {device}"), move || {
            let mut command = nextest_run(shared, KERNEL_DEVICE_TESTS, Some(device))?;
            command.env(results::FOLDER_VARIABLE, results()?).env(CHECK_VARIABLE, ALL_CHECKS);
            execute(command)
        })
    });
    let page = Step::new("page of the kernels", move || {
        let page = results::write_page(results()?, &VIRTUAL_DEVICES.map(target_of))?;
        println!("{}", page.display());
        Ok(Outcome::Passed)
    });
    std::iter::once(folder).chain(own).chain(others).chain([page]).collect()
}

/// Compiles the kernels for the targets that nothing else runs on, and runs their tests there.
fn related_steps<'a>(shared: &'a Shared) -> Vec<Step<'a>> {
    let tests = RELATED_DEVICES.map(|device| {
        Step::new(format!("device tests of the kernels on {device}"), move || {
            let mut command = nextest_run(shared, KERNEL_DEVICE_TESTS, Some(device))?;
            command.env(TARGETS, targets_of(&RELATED_DEVICES).join(","));
            execute(command)
        })
    });
    let listings = Step::new("listings for related targets", || {
        let mut command = nextest_run(shared, LISTINGS, None)?;
        command.args(["--run-ignored", "all"]).env(TARGETS, targets_of(&RELATED_DEVICES).join(","));
        execute(command)
    });
    tests.into_iter().chain([listings]).collect()
}

pub(crate) fn targets_of(devices: &[&str]) -> Vec<String> {
    devices.iter().map(|device| target_of(device).to_owned()).collect()
}

/// The target of a virtual device.
fn target_of(device: &str) -> &str {
    device.strip_prefix("vgpu:").unwrap_or(device)
}

/// Looks for Miri, and runs the tests that need no foreign code.
fn miri_steps<'a>() -> Vec<Step<'a>> {
    let installed = Step::new("Miri", || miri::check().map(|()| Outcome::Passed));
    let groups = miri::GROUPS.map(|group| Step::new(group.name, move || execute(miri::command(group))));
    std::iter::once(installed).chain(groups).collect()
}

/// Whether what is missing fails the run: a person sees what is skipped, and nobody looks at a log that is green.
fn is_continuous_integration() -> bool {
    tools::variable("CI").is_some_and(|value| value != "false" && value != "0")
}

fn run_steps(steps: Vec<Step<'_>>, strict: bool) -> Vec<(String, Outcome, Duration)> {
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

/// What an error says, and its causes where it does not say them itself.
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

fn cargo<const N: usize>(arguments: [&str; N]) -> Result<Outcome> {
    let mut command = tools::cargo();
    command.args(arguments);
    execute(command)
}

/// Has kernels compiled for the devices of every run, or for all that tests run on if the command is for another of them, unless it or
/// somebody says otherwise: each target takes minutes, and for others than in the step before they are compiled again.
pub(crate) fn for_test_devices(command: &mut Command) {
    let others = || VIRTUAL_DEVICES.iter().filter(|device| !WAVE_SIZE_DEVICES.contains(device));
    let is_for_another = command.get_envs().any(|(name, value)| {
        [variables::DEVICE.name, dropin::HSA_DEVICE_VARIABLE].iter().any(|variable| name == *variable)
            && others().any(|device| value.is_some_and(|value| value == *device))
    });
    compile_for(command, if is_for_another { &VIRTUAL_DEVICES } else { &WAVE_SIZE_DEVICES });
}

/// Has kernels compiled for all devices that tests run on, unless the command or somebody says otherwise.
pub(crate) fn for_all_test_devices(command: &mut Command) {
    compile_for(command, &VIRTUAL_DEVICES);
}

fn compile_for(command: &mut Command, devices: &[&str]) {
    if tools::variable(TARGETS).is_none() && !command.get_envs().any(|(name, _)| name == TARGETS) {
        command.env(TARGETS, targets_of(devices).join(","));
    }
}

/// Runs a command in the workspace, away from the terminal's input and from a device chosen for something else.
fn execute(mut command: Command) -> Result<Outcome> {
    for_test_devices(&mut command);
    command.current_dir(tools::workspace()).stdin(Stdio::null());
    run::run(&mut command)?;
    Ok(Outcome::Passed)
}

fn conflict_markers() -> Result<Outcome> {
    match conflicts::find(tools::workspace()) {
        Ok(Some(found)) if found.is_empty() => Ok(Outcome::Passed),
        Ok(Some(found)) => bail!("conflict markers in tracked files:\n{}", found.join("\n")),
        Ok(None) => Ok(Outcome::Skipped("not a git checkout".to_owned())),
        Err(error) => Err(error),
    }
}

/// What another thread fetches, or this one if none was told to; or why the machine does not have it.
fn fetched<'a, T, E: std::error::Error + Send + Sync + 'static>(
    kept: &'a OnceCell<Result<T, Missing>>,
    fetching: &Fetched<T, E>,
    fetch: fn() -> Result<T, E>,
    reach: fn(&E) -> Option<Reach>,
) -> Result<Result<&'a T, &'a Missing>> {
    if kept.get().is_none() {
        let found = match fetching.take() {
            Some(fetching) => fetching.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            None => fetch(),
        };
        let found = match found {
            Ok(found) => Ok(found),
            Err(error) => match reach(&error) {
                Some(reach) => Err(Missing { reach, reason: error.to_string() }),
                None => return Err(error.into()),
            },
        };
        kept.get_or_init(|| found);
    }
    Ok(kept.get().context("it has been fetched")?.as_ref())
}

/// The headers of all releases.
fn headers_of(shared: &Shared) -> Result<Result<&Headers, &Missing>> {
    fetched(&shared.headers, &shared.fetched_headers, headers::headers, headers::Error::reach)
}

/// The folder of the programs that tests are judged by.
fn tools_of(shared: &Shared) -> Result<Result<&PathBuf, &Missing>> {
    fetched(&shared.tools, &shared.fetched_tools, test_tools::folder, test_tools::Error::reach)
}

fn fetch_headers(shared: &Shared) -> Result<Outcome> {
    match headers_of(shared)? {
        Ok(found) => {
            found.tell_differences();
            println!("The headers of all releases are in {}", found.folder.display());
            Ok(Outcome::Passed)
        }
        Err(missing) => Ok(Outcome::without(missing)),
    }
}

/// The folder of the headers of all releases.
fn headers_folder(shared: &Shared) -> Result<&Path> {
    let found = headers_of(shared)?.map(|found| found.folder.as_path());
    found.map_err(|missing| anyhow!(missing.reason.clone()))
}

fn bindings(shared: &Shared) -> Result<Outcome> {
    let headers = match headers_of(shared)? {
        Ok(headers) => headers,
        Err(missing) => return Ok(Outcome::without(missing)),
    };
    let inputs = match Inputs::new(headers.clone()) {
        Ok(inputs) => inputs,
        Err(reason) => return Ok(Outcome::Lacking(reason.to_string())),
    };
    match execute(inputs.check_command()?) {
        // A mirror that has moved on is no fault of the checked-in files; `cargo xtask bindgen --check` still tells.
        Err(error) if !headers.differences.is_empty() => {
            println!("{error}");
            headers.tell_differences();
            Ok(Outcome::Skipped(
                "the headers are not those of the checked-in bindings (see above)".to_owned(),
            ))
        }
        result => result,
    }
}

/// Documents all crates. Cargo has them checked for that; it finds that done by the step with the lints if Clippy is to be asked, and
/// told the same.
fn documentation() -> Result<Outcome> {
    let mut command = tools::cargo();
    command.args(["doc", "--workspace", "--no-deps", "--features", MEASURE, "--quiet"]);
    command.env("RUSTDOCFLAGS", "-D warnings");
    if let Some(clippy) = clippy()? {
        command.env("RUSTC_WORKSPACE_WRAPPER", clippy);
        command.env("CLIPPY_ARGS", LINTS.map(|lint| format!("{lint}__CLIPPY_HACKERY__")).concat());
    }
    execute(command)
}

/// What `cargo clippy` runs in place of the compiler.
fn clippy() -> Result<Option<PathBuf>> {
    let mut rustc = Command::new(tools::variable("RUSTC").unwrap_or_else(|| "rustc".to_owned()));
    rustc.args(["--print", "sysroot"]).current_dir(tools::workspace());
    let driver = format!("bin/clippy-driver{}", std::env::consts::EXE_SUFFIX);
    let path = Path::new(run::capture(&mut rustc)?.trim()).join(driver);
    Ok(path.is_file().then_some(path))
}

fn check_dependencies() -> Result<Outcome> {
    // A workspace of its own, which no other step looks at.
    let mut command = tools::cargo();
    command.args(["metadata", "--locked", "--quiet", "--format-version", "1"]);
    command.args(["--manifest-path", "fuzz/Cargo.toml"]).stdout(Stdio::null());
    execute(command)?;
    // Another one. Its crates are fetched for its own tests only, so Cargo just resolves them.
    let mut command = tools::cargo();
    command.args(["update", "--workspace", "--locked", "--quiet", "--manifest-path", candle::PACKAGE]);
    execute(command)?;
    dependencies::check().map(|()| Outcome::Passed)
}

/// Builds and tests `hip` as a program for real GPUs takes it, with its small features, and sees that nothing of the virtual one comes along.
fn without_virtual_gpu(shared: &Shared) -> Result<Outcome> {
    let features = ["--no-default-features", "--features", "ferrocm-hip/bytemuck"];
    let packages = [&["-p", "ferrocm-hip", "-p", "ferrocm-kernels", "-p", "ferrocm"][..], &features].concat();
    let tree = dependencies::tree(&[&["--edges", "normal,build"], &packages[..]].concat())?;
    let is_virtual = |line: &&str| VIRTUAL_GPU.iter().any(|package| line.split(' ').next() == Some(*package));
    if let Some(found) = tree.lines().find(is_virtual) {
        bail!("`hip` without its default features depends on {found}");
    }
    // A process for each test: what a test traces, others in its process could have decided. Nothing of `xtask` is built: with its
    // features, most of what these packages depend on is what all other tests have.
    let mut command = nextest_command(shared)?;
    command.args(["run", "--lib", "--test", "cli", "-p", "xtask"]).args(&packages);
    execute(command)?;
    // The same program on this project's library has a virtual GPU, by name and with all that it tells.
    let [library, _] = dropin::hip_and_hsa()?;
    let mut command = nextest_command(shared)?;
    command.args(["run", "--test", "device", "-p", "xtask"]).args(packages);
    command.args(["--filterset", "package(ferrocm-hip) and test(/^(library|faults|launch|memory)::/)"]);
    command.env("FERROCM_HIP_LIBRARY", library.join(dropin::HIP_NAME));
    command.env("FERROCM_DEVICE", WAVE_SIZE_DEVICES[0]);
    execute(command)
}

fn nextest_command(shared: &Shared) -> Result<Command> {
    let program = NEXTEST
        .find_or_install(&shared.cache)
        .context("cargo-nextest is needed and could not be installed")?;
    let mut command = Command::new(program);
    command.arg("nextest");
    shared.skips.collect(&mut command);
    Ok(command)
}

fn nextest(shared: &Shared, filter: &str, device: Option<&str>) -> Result<Outcome> {
    execute(nextest_run(shared, filter, device)?)
}

fn nextest_run(shared: &Shared, filter: &str, device: Option<&str>) -> Result<Command> {
    let mut command = nextest_command(shared)?;
    command.args(["run", "--workspace", "--features", MEASURE, "--filterset", filter]);
    match device {
        Some(device) => command.env("FERROCM_DEVICE", device),
        None => command.env_remove("FERROCM_DEVICE"),
    };
    let headers = match device {
        // Not for these: they only take what is there.
        Some(_) => shared.headers.get().and_then(|found| found.as_ref().ok()),
        None => headers_of(shared)?.ok(),
    };
    match headers {
        Some(headers) => command.env(headers::FOLDER_VARIABLE, &headers.folder),
        None => command.env_remove(headers::FOLDER_VARIABLE),
    };
    // Device tests need none of them.
    if device.is_none()
        && let Ok(tools) = tools_of(shared)?
    {
        test_tools::offer(&mut command, tools);
        if headers.is_some() {
            skips::require(&mut command, &[Lack::Tool]);
        }
    }
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_of_the_virtual_gpu_has_device_tests() {
        let mut devices = [&VIRTUAL_DEVICES[..], &RELATED_DEVICES].concat();
        devices.sort_unstable();
        let mut targets: Vec<_> =
            kernel_build::DEFAULT_TARGETS.iter().map(|target| format!("vgpu:{target}")).collect();
        targets.sort_unstable();
        assert_eq!(devices, targets);
    }

    #[test]
    fn every_size_of_waves_has_all_device_tests() {
        let is_wave64 = |device: &str| device.starts_with("vgpu:gfx9");
        for wave64 in [false, true] {
            let of = |devices: &[&str]| devices.iter().any(|device| is_wave64(device) == wave64);
            assert!(of(&VIRTUAL_DEVICES) && of(&WAVE_SIZE_DEVICES));
        }
        assert!(WAVE_SIZE_DEVICES.iter().all(|device| VIRTUAL_DEVICES.contains(device)));
    }

    #[test]
    fn kernels_are_compiled_for_the_devices_that_a_command_runs_on() {
        let compiled = |variable: Option<(&str, &str)>| {
            let mut command = Command::new("cargo");
            command.envs(variable);
            for_test_devices(&mut command);
            let found = command.get_envs().find(|(name, _)| *name == TARGETS).unwrap();
            found.1.unwrap().to_str().unwrap().to_owned()
        };
        if tools::variable(TARGETS).is_some() {
            // Somebody has said what to compile for, which stays.
            return;
        }
        let [few, all] =
            [&WAVE_SIZE_DEVICES[..], &VIRTUAL_DEVICES].map(|devices| targets_of(devices).join(","));
        for (variable, targets) in [
            (None, &few),
            (Some(("FERROCM_DEVICE", "vgpu:gfx90a")), &few),
            (Some(("FERROCM_DEVICE", "amdgpu")), &few),
            (Some(("FERROCM_DEVICE", "vgpu:gfx1201")), &all),
            (Some((dropin::HSA_DEVICE_VARIABLE, "vgpu:gfx942")), &all),
        ] {
            assert_eq!(&compiled(variable), targets, "{variable:?}");
        }
    }

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
        let results = run_steps(
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
    fn what_a_machine_can_have_is_not_skipped_in_continuous_integration() {
        let missing = |reach| Missing { reach, reason: "no mirror".to_owned() };
        for (reach, passes) in [(Reach::Never, [true, true]), (Reach::NotNow, [true, false])] {
            for (strict, passes) in [false, true].into_iter().zip(passes) {
                let step = Step::new("headers", move || Ok(Outcome::without(&missing(reach))));
                let results = run_steps(vec![step], strict);
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
