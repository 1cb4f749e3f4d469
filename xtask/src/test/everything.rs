//! A plain `cargo xtask test`: the steps of every run.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Result, bail};
use setup::run;

use super::judges::ALL_BY_NVCC;
use super::models::REAL_MODELS;
use super::shared::{DEVICE_TESTS, Shared, execute};
use super::steps::{Outcome, Step};
use super::{candle, cmake, devices, real_gpus, template};
use crate::bindgen::Inputs;
use crate::test_devices::{WAVE_SIZE_DEVICES, targets_of};
use crate::tools::{self, TARGETS, WHOLE};
use crate::{build_kernels, comments, conflicts, dependencies, dropin};

/// Arguments for Clippy.
const LINTS: [&str; 2] = ["-D", "warnings"];

/// The device tests of code that is compiled differently for each target. The others test host code and
/// translations.
const TARGET_TESTS: &str = "binary(/^device/) & (package(ferrocm-kernels) | package(ferrocm-blas-on-kernels) | \
     package(ferrocm-rocblas) | package(cuda-trees-test))";

/// The packages of the virtual GPU.
const VIRTUAL_GPU: [&str; 5] =
    ["ferrocm-vgpu", "ferrocm-vgpu-exec", "ferrocm-vgpu-isa", "ferrocm-vgpu-jit", "ferrocm-hip-on-hsa"];

/// All steps, optionally those on this machine's real GPUs, and a line for each of the other suites.
pub(super) fn steps(shared: &Shared, gpu: bool) -> Vec<Step<'_>> {
    let mut steps = vec![
        Step::new("toolchain", || {
            tools::install_toolchain(true)?;
            shared.fetch_ahead();
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
            Ok(match shared.tools()? {
                Ok(folder) => {
                    println!("They are in {}", folder.display());
                    Outcome::Passed
                }
                Err(missing) => Outcome::without(missing),
            })
        }),
        Step::new("conflict markers", conflict_markers),
        Step::new("width of comments", || comments::check().map(|()| Outcome::Passed)),
        Step::new("format", || cargo(["fmt", "--all", "--check"])),
        Step::new("lints", || {
            let mut command = tools::cargo();
            command.arg("clippy").args(WHOLE).args(["--all-targets", "--quiet", "--"]).args(LINTS);
            execute(command)
        }),
        Step::new("dependencies", check_dependencies),
        Step::new("documentation", documentation),
        Step::new("bindings", || bindings(shared)),
        Step::new("doc tests", || {
            let mut command = tools::cargo();
            command.args(["test", "--doc", "--quiet"]).args(WHOLE);
            execute(command)
        }),
        Step::new("unit, integration and compile-fail tests", || {
            let filter = format!("not {DEVICE_TESTS} & not {REAL_MODELS} & not test({ALL_BY_NVCC})");
            execute(shared.tests(&filter, None)?)
        }),
        Step::new("small CMake projects", || cmake::run(shared)),
        Step::new("hip without the virtual GPU", || without_virtual_gpu(shared)),
        Step::new("own crate", || template::beside_the_tests().map(|()| Outcome::Passed)),
    ];
    let [first, second] = WAVE_SIZE_DEVICES;
    steps.push(devices::step(shared, first));
    steps.push(Step::new(format!("device tests of compiled code on {second}"), move || {
        execute(shared.tests(TARGET_TESTS, Some(second))?)
    }));
    steps.push(Step::new("device tests on real GPUs", move || match gpu {
        true => real_gpus::run(shared),
        false => Ok(Outcome::Skipped("only with --gpu".to_owned())),
    }));
    steps.extend(super::suites().iter().map(|suite| {
        Step::skipped(format!("suite {suite}"), format!("only with `cargo xtask test {suite}`"))
    }));
    steps
}

fn cargo<const N: usize>(arguments: [&str; N]) -> Result<Outcome> {
    let mut command = tools::cargo();
    command.args(arguments);
    execute(command)
}

fn fetch_headers(shared: &Shared) -> Result<Outcome> {
    match shared.headers()? {
        Ok(found) => {
            found.tell_differences();
            println!("The headers of all releases are in {}", found.folder.display());
            Ok(Outcome::Passed)
        }
        Err(missing) => Ok(Outcome::without(missing)),
    }
}

fn conflict_markers() -> Result<Outcome> {
    match conflicts::find(tools::workspace()) {
        Ok(Some(found)) if found.is_empty() => Ok(Outcome::Passed),
        Ok(Some(found)) => bail!("conflict markers in tracked files:\n{}", found.join("\n")),
        Ok(None) => Ok(Outcome::Skipped("not a git checkout".to_owned())),
        Err(error) => Err(error),
    }
}

fn bindings(shared: &Shared) -> Result<Outcome> {
    let headers = match shared.headers()? {
        Ok(headers) => headers,
        Err(missing) => return Ok(Outcome::without(missing)),
    };
    let inputs = match Inputs::new(headers.clone()) {
        Ok(inputs) => inputs,
        Err(reason) => return Ok(Outcome::Lacking(reason.to_string())),
    };
    match execute(inputs.check_command()?) {
        // A mirror with newer packages is not a fault of the checked-in files; `cargo xtask bindgen --check`
        // still reports it.
        Err(error) if !headers.differences.is_empty() => {
            println!("{error}");
            headers.tell_differences();
            Ok(Outcome::Skipped(
                "the headers differ from those of the checked-in bindings (see above)".to_owned(),
            ))
        }
        result => result,
    }
}

/// Documents all crates. Cargo first checks them. If it uses Clippy with the same arguments for that, it
/// reuses the results of the lint step.
fn documentation() -> Result<Outcome> {
    let mut command = tools::cargo();
    command.arg("doc").args(WHOLE).args(["--no-deps", "--quiet"]);
    command.env("RUSTDOCFLAGS", "-D warnings");
    if let Some(clippy) = clippy()? {
        command.env("RUSTC_WORKSPACE_WRAPPER", clippy);
        command.env("CLIPPY_ARGS", LINTS.map(|lint| format!("{lint}__CLIPPY_HACKERY__")).concat());
    }
    execute(command)
}

/// The program that `cargo clippy` runs instead of the compiler.
fn clippy() -> Result<Option<PathBuf>> {
    let mut rustc = Command::new(tools::variable("RUSTC").unwrap_or_else(|| "rustc".to_owned()));
    rustc.args(["--print", "sysroot"]).current_dir(tools::workspace());
    let driver = format!("bin/clippy-driver{}", std::env::consts::EXE_SUFFIX);
    let path = Path::new(run::capture(&mut rustc)?.trim()).join(driver);
    Ok(path.is_file().then_some(path))
}

fn check_dependencies() -> Result<Outcome> {
    // A separate workspace, which no other step covers.
    let mut command = tools::cargo();
    command.args(["metadata", "--locked", "--quiet", "--format-version", "1"]);
    command.args(["--manifest-path", "fuzz/Cargo.toml"]).stdout(Stdio::null());
    execute(command)?;
    // Another separate workspace. Its crates are fetched only for its own tests, so Cargo just resolves them.
    let mut command = tools::cargo();
    command.args(["update", "--workspace", "--locked", "--quiet", "--manifest-path", candle::PACKAGE]);
    execute(command)?;
    dependencies::check().map(|()| Outcome::Passed)
}

/// Builds and tests `hip` as used by a program for real GPUs, with its small features, and checks that no
/// part of the virtual GPU is included.
fn without_virtual_gpu(shared: &Shared) -> Result<Outcome> {
    let features = ["--no-default-features", "--features", "ferrocm-hip/bytemuck"];
    let packages = [&["-p", "ferrocm-hip", "-p", "ferrocm-kernels", "-p", "ferrocm"][..], &features].concat();
    let tree = dependencies::tree(&[&["--edges", "normal,build"], &packages[..]].concat())?;
    let is_virtual = |line: &&str| VIRTUAL_GPU.iter().any(|package| line.split(' ').next() == Some(*package));
    if let Some(found) = tree.lines().find(is_virtual) {
        bail!("`hip` without its default features depends on {found}");
    }
    // A process for each test, because tests in the same process could affect tracing. No target of `xtask`
    // is built, but with its features, most dependencies of these packages are the same as in all other
    // tests.
    let mut command = shared.nextest()?;
    command.args(["run", "--lib", "--test", "cli", "-p", "xtask"]).args(&packages);
    execute(command)?;
    // The same program on this project's library has a virtual GPU, with its name and all its properties.
    let [library, _] = dropin::hip_and_hsa()?;
    let mut command = shared.nextest()?;
    command.args(["run", "--test", "device", "-p", "xtask"]).args(packages);
    command.args(["--filterset", "package(ferrocm-hip) and test(/^(library|faults|launch|memory)::/)"]);
    command.env("FERROCM_HIP_LIBRARY", library.join(shared_commands::libraries::HIP.soname));
    command.env("FERROCM_DEVICE", WAVE_SIZE_DEVICES[0]);
    execute(command)
}
