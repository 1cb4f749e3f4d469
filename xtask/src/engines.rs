//! Unmodified engines with their CUDA backends, on this project's crates: a workspace in the target folder.
//!
//! It contains packages from the registry with their own tests, and `examples/candle`, which runs models. Two
//! lines of [`patch`] replace cudarc and cudaforge by this project's crates, without source changes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use setup::run;
use shared_commands::patch;
use toml_edit::{DocumentMut, Item};

use crate::{registry, tools};

/// Whether programs contain the virtual GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VirtualGpu {
    With,
    Without,
}

impl VirtualGpu {
    /// Cargo's resolver of features. The first one gives programs and build scripts the same features, so
    /// that the virtual GPU is compiled once for both. It also takes features of other platforms, and so the
    /// virtual GPU even where `ferrocm_no_virtual` leaves it out.
    fn resolver(self) -> &'static str {
        match self {
            Self::With => "1",
            Self::Without => "2",
        }
    }
}

/// The version of candle that the tests are for.
pub(crate) const CANDLE_VERSION: &str = "0.11.1";

/// A package from the registry with its own GPU tests.
#[derive(Debug)]
pub(crate) struct Package {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    /// The feature that enables CUDA, if it is optional.
    pub(crate) feature: Option<&'static str>,
    /// The tests to run, as a nextest filter for names, if not all.
    tests: Option<&'static str>,
    /// Versions of dependencies from its own `Cargo.lock` whose later versions do not build with it.
    locked: &'static [(&'static str, &'static str)],
}

pub(crate) const PACKAGES: [Package; 3] = [
    Package { name: "candle-core", version: CANDLE_VERSION, feature: Some("cuda"), tests: None, locked: &[] },
    Package { name: "candle-nn", version: CANDLE_VERSION, feature: Some("cuda"), tests: None, locked: &[] },
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
pub(crate) const CUDA_VARIABLE: &str = "CUDA_PATH";
/// The package that runs models, below the workspace.
pub(crate) const MODELS: &str = "examples/candle";
/// The build folder, below the target folder.
const FOLDER: &str = "engines";
/// Tests of candle that fail for reasons outside this project, by nextest's names.
const NOT_RUN: [(&str, &str); 0] = [];

/// The folder of everything about engines.
pub(crate) fn folder() -> PathBuf {
    tools::target_folder().join(FOLDER)
}

/// The workspace's build folder.
pub(crate) fn target() -> PathBuf {
    folder().join("target")
}

/// The features of these packages that enable CUDA.
fn features(packages: &[&Package]) -> String {
    let feature = |package: &&Package| Some(format!("{}/{}", package.name, package.feature?));
    packages.iter().filter_map(feature).collect::<Vec<_>>().join(",")
}

/// Makes a Cargo command build these packages of the workspace, always in the same place and with CUDA.
pub(crate) fn place(cargo: &mut Command, manifest: &Path, packages: &[&Package]) {
    cargo.arg("--manifest-path").arg(manifest).arg("--target-dir").arg(target());
    // Cargo refuses features of packages that it does not build.
    let features = features(packages);
    if !features.is_empty() {
        cargo.arg("--features").arg(features);
    }
}

/// All packages.
pub(crate) fn all() -> Vec<&'static Package> {
    PACKAGES.iter().collect()
}

/// The integration tests of a package, by name, that open a CUDA device.
pub(crate) fn tests_of_devices(package: &Path) -> Result<Vec<String>> {
    let folder = package.join("tests");
    let Ok(entries) = fs::read_dir(&folder) else { return Ok(Vec::new()) };
    let mut names = Vec::new();
    for entry in entries {
        let path = entry.with_context(|| format!("read {}", folder.display()))?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".rs")) else {
            continue;
        };
        let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
        // The macro is candle's own, for tests on each of its devices.
        if text.contains("test_device!(") || text.contains("new_cuda(") {
            names.push(name.to_owned());
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// Fetches the packages and writes the workspace; returns its manifest.
pub(crate) fn workspace(virtual_gpu: VirtualGpu) -> Result<PathBuf> {
    let workspace = folder().join("workspace");
    for Package { name, version, .. } in PACKAGES {
        copy(&registry::fetch(name, version)?, &workspace.join(name))?;
    }
    let example = tools::workspace().join(MODELS);
    copy(&example, &workspace.join("models"))?;
    let manifest = workspace.join("models/Cargo.toml");
    let text = fs::read_to_string(&manifest).with_context(|| format!("read {}", manifest.display()))?;
    let (member, root) = split(&text, tools::workspace(), virtual_gpu)?;
    write(&manifest, member.as_bytes())?;
    let manifest = workspace.join("Cargo.toml");
    write(&manifest, root.as_bytes())?;
    for (name, version) in PACKAGES.iter().flat_map(|package| package.locked) {
        let mut cargo = tools::cargo();
        cargo.args(["update", "--quiet", "--package", name, "--precise", version]);
        run::run(cargo.arg("--manifest-path").arg(&manifest))?;
    }
    Ok(manifest)
}

/// The nextest filter of the tests of these packages to run. nextest refuses names of packages that it does
/// not build.
pub(crate) fn filter(packages: &[&Package]) -> String {
    let chosen = packages.iter().filter_map(|Package { name, tests, .. }| {
        tests.map(|tests| format!("(not package({name}) | test({tests}))"))
    });
    let not_run = NOT_RUN.iter().map(|(name, _)| format!("not test(={name})"));
    let all = chosen.chain(not_run).collect::<Vec<_>>().join(" & ");
    if all.is_empty() { "all()".to_owned() } else { all }
}

/// Splits the manifest of `examples/candle` into a member's manifest and a workspace's with its profiles and
/// patches.
fn split(text: &str, workspace: &Path, virtual_gpu: VirtualGpu) -> Result<(String, String)> {
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
    // cubecl's build script also depends on cudarc. What is below it is compiled once for both if both have
    // the same debug information.
    let debug = root["profile"]["dev"]["debug"].clone();
    root["profile"]["dev"]["build-override"]["debug"] = debug;
    let mut members = toml_edit::Array::new();
    members.extend(PACKAGES.iter().map(|package| package.name).chain(["models"]));
    let mut table = toml_edit::Table::new();
    table.insert("members", toml_edit::value(members));
    table.insert("resolver", toml_edit::value(virtual_gpu.resolver()));
    root.insert("workspace", Item::Table(table));
    let root = patch::with(&root.to_string(), &["cudarc", "cudaforge"].into(), workspace)?;
    let mut root: DocumentMut = root.parse().context("read what has been written")?;
    // Dependents of a package use the copy whose tests run.
    for Package { name, .. } in PACKAGES {
        root["patch"]["crates-io"][name]["path"] = toml_edit::value(name);
    }
    Ok((member.to_string(), root.to_string()))
}

/// Copies the changed files of a package. Unchanged files keep their time, so that they are not rebuilt.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
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
pub(crate) fn write(path: &Path, content: &[u8]) -> Result<()> {
    if fs::read(path).ok().as_deref() == Some(content) {
        return Ok(());
    }
    fs::write(path, content).with_context(|| format!("write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn the_workspace_has_the_profiles_and_the_patches_of_the_example() {
        let text = fs::read_to_string(tools::workspace().join(MODELS).join("Cargo.toml")).unwrap();
        for Package { name, version, .. } in
            PACKAGES.into_iter().filter(|package| package.name.starts_with("candle"))
        {
            assert!(text.contains(&format!("\n{name} = {{ version = \"={version}\"")), "{name}");
        }
        let (member, root) = split(&text, Path::new("/here"), VirtualGpu::With).unwrap();
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
        assert_eq!(root["workspace"]["resolver"].as_str(), Some("1"));
        let (_, root) = split(&text, Path::new("/here"), VirtualGpu::Without).unwrap();
        assert!(root.contains("resolver = \"2\""), "{root}");
    }

    #[test]
    fn a_part_of_the_packages_is_asked_for_by_its_own_names_alone() {
        let (candle, cubecl) = ([&PACKAGES[0], &PACKAGES[1]], [&PACKAGES[2]]);
        let arguments = |packages: &[&Package]| {
            let mut command = Command::new("cargo");
            place(&mut command, Path::new("Cargo.toml"), packages);
            run::describe(&command)
        };
        let (some, none) = (arguments(&candle), arguments(&cubecl));
        assert!(some.ends_with("--features candle-core/cuda,candle-nn/cuda"), "{some}");
        assert!(!none.contains("--features"), "{none}");
        assert_eq!(filter(&candle), "all()");
        assert_eq!(filter(&cubecl), "(not package(cubecl-cuda) | test(/^tests::f32_ty::/))");
        assert_eq!(filter(&all()), filter(&cubecl));
    }

    #[test]
    fn tests_of_devices_are_those_whose_source_opens_one() {
        let folder = TempDir::new().unwrap();
        assert_eq!(tests_of_devices(folder.path()).unwrap(), [""; 0]);
        fs::create_dir(folder.path().join("tests")).unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join("tests").join(name), text).unwrap();
        write("pool.rs", "test_device!(avg, avg_cpu, avg_gpu, avg_metal);");
        write("cpu.rs", "let device = Device::Cpu;");
        write("data.npz", "new_cuda(0)");
        write("gpus.rs", "Device::new_cuda(0)?");
        assert_eq!(tests_of_devices(folder.path()).unwrap(), ["gpus", "pool"]);
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
