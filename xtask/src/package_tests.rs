//! `cargo xtask package-tests`: one archive of test programs, with all kernels inside, for machines that have
//! a GPU and neither Rust nor a compiler nor a network.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use fleet::archive::{self, Item};
use kernel_build::{Builder, CudaArch, Nvidia};
use serde_json::{Value, json};
use setup::{run, toolchain};

use crate::device_tests::EXCEPTIONS;
use crate::engines;
use crate::test_devices::WAVE_SIZE_DEVICES;
use crate::tools::{self, NEXTEST, TARGETS};

/// What to put into the archive.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Options {
    /// AMD targets and NVIDIA architectures to compile all kernels for, such as gfx90a,sm_90a; may be
    /// repeated
    #[arg(long, value_name = "TARGET", value_delimiter = ',', default_values = DEFAULT_TARGETS)]
    target: Vec<String>,
    /// The archive [default: ferrocm-tests.tar.gz in the target folder]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Crates whose tests to include; may be repeated [default: all that have tests of a device]
    #[arg(long = "crate", value_name = "NAME", value_delimiter = ',')]
    crates: Vec<String>,
    /// Instead of this project's tests, those of candle and cubecl with their CUDA backends, without those
    /// that need models
    #[arg(long, conflicts_with = "with_virtual")]
    engines: bool,
    /// Leave out the program `ferrocm` with its benchmarks
    #[arg(long)]
    no_bench: bool,
    /// Include the virtual GPU, with the programs as `cargo xtask test` builds them, for a run without a GPU;
    /// targets are then those of the virtual GPUs of every run
    #[arg(long, conflicts_with = "target")]
    with_virtual: bool,
}

/// One GPU of each kind that is common.
const DEFAULT_TARGETS: [&str; 6] = ["gfx90a", "gfx942", "gfx1100", "gfx1201", "sm_80", "sm_90a"];

/// A crate with tests of a device.
#[derive(Debug, PartialEq, Eq)]
struct Part {
    /// Its folder below `crates`.
    folder: &'static str,
    package: &'static str,
    /// The features that its tests need, none of which is the virtual GPU.
    features: &'static [&'static str],
}

const PARTS: [Part; 8] = [
    Part { folder: "hip", package: "ferrocm-hip", features: &["rtc"] },
    Part { folder: "kernels", package: "ferrocm-kernels", features: &[] },
    Part { folder: "rocblas", package: "ferrocm-rocblas", features: &["kernels"] },
    Part { folder: "rccl", package: "ferrocm-rccl", features: &["on-hip"] },
    Part { folder: "cudarc-on-hip", package: "cudarc", features: &["default"] },
    Part { folder: "measure", package: "ferrocm-measure", features: &[] },
    Part { folder: "backend", package: "ferrocm-backend", features: &["rccl"] },
    Part { folder: "llm", package: "ferrocm-llm", features: &["rccl"] },
];

/// The packages whose device tests are about GPUs of every vendor.
pub(crate) fn packages() -> impl Iterator<Item = &'static str> {
    PARTS.iter().map(|part| part.package)
}

/// Sources that tests compile, in folders below `crates/hip/tests`.
struct Sources {
    folder: &'static str,
    /// With counters.
    metrics: bool,
    /// For NVIDIA's GPUs, too.
    for_nvidia: bool,
    /// Targets whose code is also loaded where it does not belong.
    also: &'static [&'static str],
}

const SOURCES: [Sources; 5] = [
    Sources { folder: "kernels", metrics: false, for_nvidia: true, also: &["gfx1030", "gfx1100"] },
    Sources { folder: "cuda", metrics: false, for_nvidia: true, also: &[] },
    Sources { folder: "hip_dialect", metrics: false, for_nvidia: false, also: &[] },
    Sources { folder: "metrics", metrics: true, for_nvidia: false, also: &[] },
    Sources { folder: "arguments", metrics: false, for_nvidia: false, also: &[] },
];

/// The profile of programs that travel, and the flag that keeps the virtual GPU out of `cudarc`.
const PROFILE: &str = "package-tests";
const NO_VIRTUAL: &str = "--cfg ferrocm_no_virtual";

/// How the tests of engines travel. Those of a real GPU compute little on the CPU, and small programs that
/// are built soon count more.
const ENGINES_PROFILE: [&str; 3] =
    ["profile.dev.debug=false", "profile.dev.strip=true", "profile.dev.package.\"*\".opt-level=0"];

/// The archive's folder, and what it says of itself.
const TOP: &str = "ferrocm-tests";
const README: &str = "\
Tests of ferrocm for a machine with an AMD or NVIDIA GPU and its driver. Nothing else is needed.

  ./run-tests            runs everything; results/index.html and results/junit.xml have the results
  ./run-tests --help     devices, a part of the tests, time limits
  ./ferrocm bench run    measures the GPU, if the archive has this program

The exit code of run-tests is 0 if all tests passed, 1 if some failed, and 2 if they did not run.
";
const NEXTEST_SETTINGS: &str = include_str!("../../crates/packaged-tests/nextest.toml");

/// The rows of a table with these names, all if there are none.
fn chosen<T>(table: &'static [T], name: fn(&T) -> &str, wanted: &[String]) -> Result<Vec<&'static T>> {
    if wanted.is_empty() {
        return Ok(table.iter().collect());
    }
    let find = |wanted: &String| {
        let known = || table.iter().map(name).collect::<Vec<_>>().join(", ");
        let found = table.iter().find(|row| name(row) == wanted);
        found.with_context(|| format!("no tests of `{wanted}` can be packed; there are {}", known()))
    };
    wanted.iter().map(find).collect()
}

fn parts(wanted: &[String]) -> Result<Vec<&'static Part>> {
    chosen(&PARTS, |part| part.folder, wanted)
}

fn engines_named(wanted: &[String]) -> Result<Vec<&'static engines::Package>> {
    chosen(&engines::PACKAGES, |package| package.name, wanted)
}

/// The targets of an archive, by vendor.
#[derive(Debug, Default, PartialEq, Eq)]
struct Targets {
    amd: Vec<String>,
    nvidia: Vec<String>,
}

impl Targets {
    fn of(names: &[String]) -> Result<Self> {
        let mut targets = Self::default();
        for name in names {
            match name.starts_with("gfx") {
                // The builds check it.
                true => targets.amd.push(name.clone()),
                false => targets.nvidia.push(name.parse::<CudaArch>()?.to_string()),
            }
        }
        Ok(targets)
    }

    /// Makes build scripts compile for exactly these.
    fn choose(&self, command: &mut Command) {
        match self.amd.is_empty() {
            // No AMD target is named by an empty list, which means the usual ones.
            true => command.env(TARGETS, "gfx1100").env(variables::TARGETS_FOR.name, "**=none"),
            false => command.env(TARGETS, self.amd.join(",")),
        };
        match self.nvidia.is_empty() {
            true => command.env_remove(variables::CUDA_ARCHS.name),
            false => command.env(variables::CUDA_ARCHS.name, self.nvidia.join(",")),
        };
    }

    fn all(&self) -> Vec<&str> {
        self.amd.iter().chain(&self.nvidia).map(String::as_str).collect()
    }
}

/// Makes an archive with the virtual GPU, and runs some of its tests as on another machine.
pub(crate) fn try_out() -> Result<()> {
    let folder = tempfile::tempdir().context("a temporary folder")?;
    let out = folder.path().join("tests.tar.gz");
    let crates = vec!["hip".to_owned()];
    package_tests(&Options { out: Some(out.clone()), crates, with_virtual: true, ..Options::default() })?;
    archive::unpack(&out, folder.path())?;
    let mut command = Command::new(folder.path().join(TOP).join("run-tests"));
    // Nothing of this checkout but what is in the archive.
    command.env_clear().env("PATH", "/usr/bin:/bin").current_dir(folder.path());
    command.args(["--device", WAVE_SIZE_DEVICES[0], "--filter", "test(/^(launch|memory|alone)::/)"]);
    run::run(&mut command)?;
    let page = fs::read_to_string(folder.path().join("results/index.html")).context("the page")?;
    let junit = fleet::junit::Suite::read(&folder.path().join("results/junit.xml"))?;
    let counts = junit.counts();
    // Those of NVIDIA's GPUs skip themselves.
    if counts.tests < 20 || counts.failed > 0 || counts.skipped < 3 || !page.contains("no NVIDIA GPU") {
        bail!("the results are {counts:?}");
    }
    let mut command = Command::new(folder.path().join(TOP).join("run-tests"));
    let output = command.args(["--device", "amdgpu:77"]).current_dir(folder.path()).output()?;
    let told = String::from_utf8_lossy(&output.stderr);
    if output.status.code() != Some(2) || !told.contains("amdgpu:77 cannot be opened") {
        bail!("a device that is not there: {}, {told}", output.status);
    }
    Ok(())
}

/// Makes the archive.
pub(crate) fn package_tests(options: &Options) -> Result<()> {
    let nextest = NEXTEST.find_or_install(&toolchain::cache_folder()?)?;
    let targets = match options.with_virtual {
        true => Targets::of(&crate::test_devices::targets_of(&WAVE_SIZE_DEVICES))?,
        false => Targets::of(&options.target)?,
    };
    let (parts, engines) = match options.engines {
        true => (Vec::new(), engines_named(&options.crates)?),
        false => (parts(&options.crates)?, Vec::new()),
    };
    let out = options.out.clone().unwrap_or_else(|| tools::target_folder().join("ferrocm-tests.tar.gz"));
    let folder = tempfile::tempdir().context("a temporary folder")?;
    let folder = folder.path();

    let mut items = match options.engines {
        true => programs_of_engines(&nextest, &engines, &targets, folder)?,
        false => programs_of_tests(&nextest, &parts, &targets, options.with_virtual, folder)?,
    };
    if !options.no_bench && !options.with_virtual {
        // Measured times include those of the host, so all of it is optimised.
        items.push(optimised("ferrocm", "ferrocm", "release", &["--features", "measure"], &targets)?);
    }
    items.push(match options.with_virtual {
        true => {
            println!("Building run-tests …");
            build(tools::build("--bin", "run-tests"), &targets, true)?;
            item("run-tests", tools::target_folder().join("debug/run-tests"))
        }
        false => optimised("run-tests", "packaged-tests", PROFILE, &[], &targets)?,
    });
    if parts.iter().any(|part| part.folder == "hip") {
        items.extend(sources_of_tests(&targets, &folder.join("kernels"))?);
    }
    items.push(written(folder, "archive.json", &about(&targets, &engines, options)?)?);
    items.push(written(folder, "README.txt", README)?);
    items.push(written(folder, "nextest.toml", NEXTEST_SETTINGS)?);
    items.push(item("cargo-nextest", nextest));
    archive::write(&out, TOP, &items, 0)?;
    let size = fs::metadata(&out).with_context(|| out.display().to_string())?.len();
    println!(
        "{} ({:.1} MiB), for {}",
        out.display(),
        size as f64 / f64::from(1 << 20),
        targets.all().join(", ")
    );
    Ok(())
}

/// Builds the tests: their programs, and what cargo-nextest knows of them.
fn programs_of_tests(
    nextest: &Path,
    parts: &[&Part],
    targets: &Targets,
    with_virtual: bool,
    folder: &Path,
) -> Result<Vec<Item>> {
    let names: Vec<_> = parts.iter().map(|part| part.folder).collect();
    println!("Building the tests of {} …", names.join(", "));
    let mut command = Command::new(nextest);
    command.args(tests_arguments(parts, with_virtual));
    settle(&mut command, targets, with_virtual);
    let mut list: Value =
        serde_json::from_str(&output(&mut command)?).context("cargo-nextest's list of programs")?;
    let mut items = tests(&mut list, parts)?;
    let mut command = tools::cargo();
    command.args(["metadata", "--format-version", "1", "--all-features", "--locked"]);
    let metadata = output(command.current_dir(tools::workspace()))?;
    items.push(written(folder, "programs/binaries.json", &list.to_string())?);
    items.push(written(folder, "programs/cargo.json", &metadata)?);
    // Each test runs in the folder of its package, and cargo-nextest looks for the workspace's manifest.
    items.push(item("workspace/Cargo.toml", tools::workspace().join("Cargo.toml")));
    for part in parts {
        let name = format!("crates/{}/Cargo.toml", part.folder);
        items.push(item(&format!("workspace/{name}"), tools::workspace().join(&name)));
    }
    Ok(items)
}

/// Builds the tests of engines, with the files that they read.
fn programs_of_engines(
    nextest: &Path,
    packages: &[&engines::Package],
    targets: &Targets,
    folder: &Path,
) -> Result<Vec<Item>> {
    let manifest = engines::workspace(engines::VirtualGpu::Without)?;
    let workspace = manifest.parent().context("the workspace's folder")?;
    let names: Vec<_> = packages.iter().map(|package| package.name).collect();
    println!("Building the tests of {} …", names.join(", "));
    let mut command = Command::new(nextest);
    command.args(["nextest", "list", "--list-type", "binaries-only", "--message-format", "json", "--lib"]);
    for name in &names {
        command.args(["--package", name]);
        for test in engines::tests_of_devices(&workspace.join(name))? {
            command.args(["--test", &test]);
        }
    }
    for setting in ENGINES_PROFILE {
        command.args(["--config", setting]);
    }
    engines::place(&mut command, &manifest, packages);
    settle(&mut command, targets, false);
    if tools::variable(engines::CUDA_VARIABLE).is_none() {
        command.env(engines::CUDA_VARIABLE, engines::target());
    }
    let list: Value =
        serde_json::from_str(&output(&mut command)?).context("cargo-nextest's list of programs")?;
    let mut items = programs(&list)?;
    let mut command = tools::cargo();
    command.args(["metadata", "--format-version", "1", "--locked", "--manifest-path"]).arg(&manifest);
    items.push(written(folder, "programs/binaries.json", &list.to_string())?);
    items.push(written(folder, "programs/cargo.json", &output(&mut command)?)?);
    items.push(item("workspace/Cargo.toml", manifest.clone()));
    for name in &names {
        items.extend(read_by_tests(name, &workspace.join(name))?);
    }
    Ok(items)
}

/// What the tests of a package read in its folder, where they run: settings, such as cubecl's, and their
/// data.
fn read_by_tests(name: &str, package: &Path) -> Result<Vec<Item>> {
    let is_read = |file: &Item| {
        let path = file.name.strip_prefix(name).unwrap_or_default();
        let is_data = path.starts_with("/tests/") && !path.ends_with(".rs");
        is_data || path.rfind('/') == Some(0) && path.ends_with(".toml")
    };
    let files = below(name, package)?.into_iter().filter(is_read);
    Ok(files.map(|file| Item { name: format!("workspace/{}", file.name), ..file }).collect())
}

/// Builds a program without the virtual GPU.
fn optimised(name: &str, package: &str, profile: &str, features: &[&str], targets: &Targets) -> Result<Item> {
    println!("Building {name} …");
    let mut command = tools::cargo();
    command.args(["build", "--quiet", "--profile", profile, "--no-default-features", "-p", package]);
    command.args(["--bin", name]).args(features);
    // Line tables are most of a program.
    for setting in ["profile.release.debug=false", "profile.release.strip=true"] {
        command.args(["--config", setting]);
    }
    build(command, targets, false)?;
    Ok(item(name, tools::target_folder().join(profile).join(name)))
}

/// The sources that tests compile, and the same compiled.
fn sources_of_tests(targets: &Targets, out: &Path) -> Result<Vec<Item>> {
    println!("Compiling the kernels of tests …");
    for sources in &SOURCES {
        compile(sources, targets, &out.join(sources.folder))?;
    }
    let mut items = below("kernels", out)?;
    for sources in &SOURCES {
        let name = format!("crates/hip/tests/{}", sources.folder);
        items.extend(below(&format!("workspace/{name}"), &tools::workspace().join(&name))?);
    }
    Ok(items)
}

/// What an archive says of itself, for `run-tests`.
fn about(targets: &Targets, engines: &[&engines::Package], options: &Options) -> Result<String> {
    let rows = EXCEPTIONS.iter().map(
        |row| json!({ "package": row.package, "test": row.test, "at": row.at.name(), "reason": row.reason }),
    );
    let about = json!({
        "left_out": rows.collect::<Vec<_>>(),
        "commit": commit()?,
        "targets": targets.all(),
        "has_virtual": options.with_virtual,
        "filter": options.engines.then(|| engines::filter(engines)),
        "rustc": run::capture(Command::new("rustc").arg("--version"))?.trim(),
    });
    Ok(format!("{about:#}\n"))
}

/// A file of the archive with this text.
fn written(folder: &Path, name: &str, text: &str) -> Result<Item> {
    let path = folder.join(name.replace('/', "-"));
    fs::write(&path, text).with_context(|| path.display().to_string())?;
    Ok(item(name, path))
}

/// The programs of tests in cargo-nextest's list, for the archive; the list loses all others.
fn tests(list: &mut Value, parts: &[&Part]) -> Result<Vec<Item>> {
    let all = list["rust-binaries"].as_object_mut().context("the programs")?;
    all.retain(|id, program| {
        let name = program["binary-name"].as_str().unwrap_or_default();
        let package = id.split("::").next().unwrap_or_default();
        (name.starts_with("device") || name == "nvidia") && parts.iter().any(|part| part.package == package)
    });
    programs(list)
}

/// The programs of cargo-nextest's list, for the archive.
fn programs(list: &Value) -> Result<Vec<Item>> {
    let target = list["rust-build-meta"]["target-directory"].as_str().context("the target folder")?;
    let mut items = Vec::new();
    for (id, program) in list["rust-binaries"].as_object().context("the programs")? {
        let path = Path::new(program["binary-path"].as_str().with_context(|| format!("the path of {id}"))?);
        let below =
            path.strip_prefix(target).with_context(|| format!("{} is in {target}", path.display()))?;
        items.push(item(&format!("programs/target/{}", below.display()), path.to_owned()));
    }
    if items.is_empty() {
        bail!("there are no tests of devices");
    }
    Ok(items)
}

/// Arguments of cargo-nextest that build the tests and list their programs.
fn tests_arguments(parts: &[&Part], with_virtual: bool) -> Vec<String> {
    let list = ["nextest", "list", "--list-type", "binaries-only", "--message-format", "json"];
    let mut arguments: Vec<_> = list.map(str::to_owned).into();
    if with_virtual {
        arguments.extend(tools::WHOLE.map(str::to_owned));
        return arguments;
    }
    arguments.extend(["--cargo-profile", PROFILE, "--no-default-features"].map(str::to_owned));
    arguments.extend(["--test", "device*"].map(str::to_owned));
    if parts.iter().any(|part| part.folder == "hip") {
        arguments.extend(["--test", "nvidia"].map(str::to_owned));
    }
    let features = parts
        .iter()
        .flat_map(|part| part.features.iter().map(move |feature| format!("{}/{feature}", part.package)));
    let features: BTreeSet<String> = features.collect();
    if !features.is_empty() {
        arguments.push("--features".to_owned());
        arguments.push(features.into_iter().collect::<Vec<_>>().join(","));
    }
    for part in parts {
        arguments.extend(["--package".to_owned(), part.package.to_owned()]);
    }
    arguments
}

/// Sets the environment of a build.
fn settle(command: &mut Command, targets: &Targets, with_virtual: bool) {
    targets.choose(command);
    if !with_virtual {
        let flags = tools::variable("RUSTFLAGS").unwrap_or_default();
        command.env("RUSTFLAGS", format!("{flags} {NO_VIRTUAL}").trim());
    }
    command.current_dir(tools::workspace()).stdin(Stdio::null());
}

/// Runs a build.
fn build(mut command: Command, targets: &Targets, with_virtual: bool) -> Result<()> {
    settle(&mut command, targets, with_virtual);
    run::run(&mut command)?;
    Ok(())
}

/// What a command prints, while its messages are shown.
fn output(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output().context(name.clone())?;
    if !output.status.success() {
        bail!("{name} ended with {}", output.status);
    }
    String::from_utf8(output.stdout).with_context(|| format!("what {name} prints"))
}

/// Compiles the sources of a folder of tests for all targets.
fn compile(sources: &Sources, targets: &Targets, out: &Path) -> Result<()> {
    fs::create_dir_all(out).with_context(|| out.display().to_string())?;
    let mut amd: BTreeSet<&str> = targets.amd.iter().map(String::as_str).collect();
    amd.extend(sources.also);
    let nvidia = if sources.for_nvidia { &targets.nvidia[..] } else { &[] };
    if amd.is_empty() && nvidia.is_empty() {
        return Ok(());
    }
    // A build is always for an AMD target.
    let some = if amd.is_empty() { BTreeSet::from(["gfx1100"]) } else { amd };
    let folder = tools::workspace().join("crates/hip/tests").join(sources.folder);
    let mut builder = Builder::new(folder).targets(&some).metrics(sources.metrics);
    if !nvidia.is_empty() {
        builder = builder.nvidia(Nvidia::cubin().archs(nvidia));
    }
    let build = builder.build()?;
    let write = |name: String, bytes: &[u8]| {
        let path = out.join(name);
        fs::write(&path, bytes).with_context(|| path.display().to_string())
    };
    for module in &build.modules {
        let stem = module.relative.strip_suffix(".cu").unwrap_or(&module.relative);
        for object in &module.objects {
            write(format!("{stem}.{}", object.target), &object.bytes)?;
        }
        for image in &module.images {
            write(format!("{stem}.{}", image.arch), &image.bytes)?;
        }
    }
    Ok(())
}

fn item(name: &str, path: PathBuf) -> Item {
    Item { name: name.to_owned(), path }
}

/// The files below a folder, under a name in the archive.
fn below(name: &str, folder: &Path) -> Result<Vec<Item>> {
    let items = archive::items(folder)?;
    Ok(items.into_iter().map(|found| Item { name: format!("{name}/{}", found.name), ..found }).collect())
}

/// The commit, with a mark if files differ from it.
fn commit() -> Result<String> {
    let mut git = Command::new("git");
    git.args(["describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]);
    match run::capture(git.current_dir(tools::workspace())) {
        Ok(text) => Ok(text.trim().to_owned()),
        // A source archive has none.
        Err(run::Error::Failed { .. }) => Ok("no commit".to_owned()),
        Err(error) => bail!(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn targets_of_both_vendors_are_told_apart() {
        let targets = Targets::of(&names(&["gfx90a", "sm_90a", "8.0"])).unwrap();
        assert_eq!(targets, Targets { amd: names(&["gfx90a"]), nvidia: names(&["sm_90a", "sm_80"]) });
        let error = Targets::of(&names(&["hopper"])).unwrap_err().to_string();
        assert!(error.contains("bad architecture `hopper`"), "{error}");
    }

    #[test]
    fn builds_are_for_exactly_the_named_targets() {
        let chosen = |list: &[&str]| {
            let mut command = Command::new("cargo");
            Targets::of(&names(list)).unwrap().choose(&mut command);
            let value = |name: &str| {
                let found = command.get_envs().find(|(found, _)| *found == name)?.1?;
                Some(found.to_str().unwrap().to_owned())
            };
            [TARGETS, variables::TARGETS_FOR.name, variables::CUDA_ARCHS.name].map(value)
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(chosen(&["gfx90a", "gfx942"]), [some("gfx90a,gfx942"), None, None]);
        assert_eq!(chosen(&["gfx90a", "sm_90a"]), [some("gfx90a"), None, some("sm_90a")]);
        assert_eq!(chosen(&["sm_80", "sm_90a"]), [some("gfx1100"), some("**=none"), some("sm_80,sm_90a")]);
    }

    #[test]
    fn every_crate_with_device_tests_is_a_part_or_has_a_reason() {
        // The others test the virtual GPU's own layers, and code for AMD GPUs.
        const OTHERS: [&str; 4] = ["blas-on-kernels", "cuda-trees-test", "hip-on-hsa", "vgpu"];
        for entry in fs::read_dir(tools::workspace().join("crates")).unwrap() {
            let folder = entry.unwrap().path();
            let Ok(tests) = fs::read_dir(folder.join("tests")) else { continue };
            let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
            let has = tests.flatten().any(|test| test.file_name().to_str().unwrap().starts_with("device"));
            let is_known = parts(&names(&[&name])).is_ok() || OTHERS.contains(&name.as_str());
            assert!(!has || is_known, "{name} has device tests");
        }
    }

    #[test]
    fn crates_and_engines_are_chosen_by_name() {
        assert_eq!(parts(&[]).unwrap().len(), PARTS.len());
        assert_eq!(parts(&names(&["kernels"])).unwrap(), [&PARTS[1]]);
        let error = parts(&names(&["hip", "vgpu"])).unwrap_err().to_string();
        assert!(
            error.starts_with("no tests of `vgpu` can be packed; there are hip, kernels, rocblas"),
            "{error}"
        );
        let chosen = engines_named(&names(&["cubecl-cuda"])).unwrap();
        assert_eq!(chosen.iter().map(|package| package.name).collect::<Vec<_>>(), ["cubecl-cuda"]);
        let error = engines_named(&names(&["hip"])).unwrap_err().to_string();
        assert!(error.ends_with("there are candle-core, candle-nn, cubecl-cuda"), "{error}");
    }

    #[test]
    fn rows_of_left_out_tests_are_about_parts() {
        for row in EXCEPTIONS {
            assert!(PARTS.iter().any(|part| part.package == row.package), "{row:?}");
        }
    }

    #[test]
    fn all_tests_are_built_at_once_without_the_virtual_gpu() {
        let parts = parts(&[]).unwrap();
        let line = tests_arguments(&parts, false).join(" ");
        assert!(line.contains("--no-default-features") && line.contains("--test nvidia"), "{line}");
        let features =
            "cudarc/default,ferrocm-backend/rccl,ferrocm-hip/rtc,ferrocm-llm/rccl,ferrocm-rccl/on-hip";
        assert!(line.contains(features), "{line}");
        assert!(line.ends_with("--package ferrocm-backend --package ferrocm-llm"), "{line}");
        assert!(!line.contains("/virtual"), "{line}");
        let line = tests_arguments(&parts[..1], true).join(" ");
        assert!(line.ends_with("json --workspace --features ferrocm/measure,ferrocm/models"), "{line}");
    }

    #[test]
    fn tests_find_settings_and_data_of_their_package() {
        let folder = tempfile::tempdir().unwrap();
        for file in ["Cargo.toml", "a.toml", "README.md", "src/b.toml", "tests/c.npz", "tests/d.rs"] {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let items = read_by_tests("p", folder.path()).unwrap();
        let names: Vec<_> = items.iter().map(|item| item.name.as_str()).collect();
        assert_eq!(names, ["workspace/p/Cargo.toml", "workspace/p/a.toml", "workspace/p/tests/c.npz"],);
    }

    #[test]
    fn only_programs_of_device_tests_are_packed() {
        let mut list = json!({
            "rust-build-meta": { "target-directory": "/a/target" },
            "rust-binaries": {
                "ferrocm-hip::device":
                    { "binary-name": "device", "binary-path": "/a/target/p/deps/device-1" },
                "ferrocm-hip::nvidia":
                    { "binary-name": "nvidia", "binary-path": "/a/target/p/deps/nvidia-2" },
                "ferrocm-hip::host": { "binary-name": "host", "binary-path": "/a/target/p/deps/host-3" },
                "ferrocm-kernels::device":
                    { "binary-name": "device", "binary-path": "/a/target/p/deps/device-4" },
            },
        });
        let items = tests(&mut list, &[&PARTS[0]]).unwrap();
        let names: Vec<_> = items.iter().map(|item| item.name.as_str()).collect();
        assert_eq!(names, ["programs/target/p/deps/device-1", "programs/target/p/deps/nvidia-2"]);
        assert_eq!(list["rust-binaries"].as_object().unwrap().len(), 2);
        assert!(tests(&mut list, &[&PARTS[1]]).is_err());
    }
}
