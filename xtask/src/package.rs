//! `cargo xtask package` and `cargo xtask release`: build the contents of packages, and run the program
//! `xtask-package` to make and check them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use kernel_build::report::Report;
use kernel_build::{Build, Builder, CudaArch, Nvidia};
use setup::run;

use crate::{dropin, tools};

/// A kind of package, by `xtask-package`'s name.
// NEW-PACKAGE: a variant, and its place in `EACH`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// All of them
    All,
    /// Crates for the registry, checked by `cargo publish --dry-run`
    Crates,
    /// An archive to unpack anywhere
    Tar,
    /// A package for Debian 12 and later
    Deb,
    /// A package for pip
    Wheel,
    /// A container image, and a recipe for one
    Container,
    /// The bill of materials, in CycloneDX format
    Sbom,
}

impl Kind {
    const EACH: [Kind; 6] = [Kind::Crates, Kind::Tar, Kind::Deb, Kind::Wheel, Kind::Container, Kind::Sbom];

    fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

/// What to make or check.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// What to make
    #[arg(value_name = "WHAT", default_value = "all")]
    what: Vec<Kind>,
    /// Folder for the packages [default: packages in the target folder]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Package the tests' build instead of an optimised one, for a trial: programs are the same but slower
    #[arg(long)]
    debug: bool,
    /// File with a secret key of minisign, which signs everything [default: the key in FERROCM_SIGNING_KEY,
    /// if there is one]. The password of an encrypted one is in FERROCM_SIGNING_PASSWORD
    #[arg(long, value_name = "FILE", conflicts_with = "check")]
    key: Option<PathBuf>,
    /// Who maintains the packages: a name, and an address in angle brackets
    #[arg(long, value_name = "TEXT", conflicts_with = "check")]
    maintainer: Option<String>,
    /// Make nothing: install existing packages in a bare Debian 12, in a fresh virtual environment and in
    /// fresh folders, and run their programs. Needs root, for chroot
    #[arg(long)]
    check: bool,
}

/// Options of the release check.
#[derive(Debug, Args)]
pub(crate) struct ReleaseOptions {
    /// Publish nothing. Required: publishing is manual, with the commands that this prints
    #[arg(long, required = true)]
    dry_run: bool,
    /// Folder for the notes [default: packages in the target folder]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Makes or checks packages.
pub(crate) fn package(options: &Options) -> Result<()> {
    let out = options.out.clone().unwrap_or_else(default_folder);
    let kinds = kinds(&options.what);
    if options.check {
        return run_program("check", &out, &kinds, |_| ());
    }
    let inputs =
        tools::target_folder().join("package-inputs").join(if options.debug { "debug" } else { "release" });
    let cuda_archs = build_kernels(&inputs)?;
    compress(&inputs)?;
    if kinds.iter().any(|kind| !matches!(kind, Kind::Crates | Kind::Sbom)) || !inputs.join("bin").is_dir() {
        dropin::packaged(!options.debug, &inputs.join(PREBUILT), &cuda_archs, &inputs)?;
    }
    run_program("make", &out, &kinds, |command| {
        command.arg("--inputs").arg(&inputs);
        if let Some(key) = &options.key {
            command.arg("--key").arg(key);
        }
        if let Some(maintainer) = &options.maintainer {
            command.arg("--maintainer").arg(maintainer);
        }
    })
}

/// Writes the checksums of a fleet component's files, its bill of materials if it is a Cargo workspace, and
/// signatures if the environment has a key, with the same mechanism as for a release.
pub(crate) fn seal(
    name: &str,
    commit: &str,
    seconds: u64,
    workspace: Option<&Path>,
    files: &Path,
) -> Result<()> {
    run_program("component", files, &[], |command| {
        command.args(["--name", name, "--version", commit]).env("SOURCE_DATE_EPOCH", seconds.to_string());
        if let Some(workspace) = workspace {
            command.arg("--workspace").arg(workspace);
        }
    })
}

/// Checks whether a release can be made.
pub(crate) fn release(ReleaseOptions { dry_run: _, out }: &ReleaseOptions) -> Result<()> {
    run_program("release", &out.clone().unwrap_or_else(default_folder), &[], |_| ())
}

fn default_folder() -> PathBuf {
    tools::target_folder().join("packages")
}

/// Each selected kind, once.
fn kinds(what: &[Kind]) -> Vec<Kind> {
    let is_meant = |kind: &Kind| what.contains(kind) || what.contains(&Kind::All);
    Kind::EACH.into_iter().filter(is_meant).collect()
}

/// The program's manifest. It is a separate workspace, like `fuzz`.
pub(crate) const PROGRAM: &str = "xtask/package/Cargo.toml";
/// Its build folder, below the target folder.
pub(crate) const TARGET: &str = "xtask-package";

/// The commands that test it: format, lints, unit tests.
pub(crate) fn tests() -> [Command; 3] {
    [&["fmt", "--check"][..], &["clippy", "--all-targets", "--locked"], &["test", "--locked"]].map(
        |arguments| {
            let mut command = tools::cargo();
            command.args(arguments).args(["--manifest-path", PROGRAM]).current_dir(tools::workspace());
            if arguments[0] != "fmt" {
                command.arg("--quiet").arg("--target-dir").arg(tools::target_folder().join(TARGET));
            }
            if arguments[0] == "clippy" {
                command.args(["--", "-D", "warnings"]);
            }
            command
        },
    )
}

/// Packs the compiled kernels as tightly as possible, which takes too long for a build script.
fn compress(inputs: &Path) -> Result<()> {
    Ok(run::run(program("compress").arg(inputs.join(PREBUILT)).current_dir(tools::workspace()))?)
}

/// The program with a task.
fn program(task: &str) -> Command {
    let mut command = tools::cargo();
    command.args(["run", "--quiet", "--locked", "--manifest-path", PROGRAM, "--target-dir"]);
    command.arg(tools::target_folder().join(TARGET)).args(["--", task]);
    command
}

fn run_program(task: &str, out: &Path, kinds: &[Kind], more: impl FnOnce(&mut Command)) -> Result<()> {
    let mut command = program(task);
    command.arg("--out").arg(out);
    more(&mut command);
    command.args(kinds.iter().map(|kind| kind.name())).current_dir(tools::workspace());
    Ok(run::run(&mut command)?)
}

/// A package with compiled kernels: its folder in `crates`, the folder of its sources from there, its part of
/// them, and the path of types for its generated code, as in its build script.
struct Shipped {
    name: &'static str,
    sources: &'static str,
    part: Part,
    types: &'static str,
    /// Architectures of NVIDIA GPUs with code, too. That is in a package of its own, `…-nvidia`, because of
    /// the registry's limit.
    nvidia: &'static [&'static str],
}

/// The folder for compiled kernels, with a folder for each package.
const PREBUILT: &str = "prebuilt";

/// A part of the sources, by a pattern.
enum Part {
    All,
    Source(&'static str),
    Exclude(&'static str),
}

static SHIPPED: [Shipped; 3] = [
    Shipped {
        name: "kernels",
        sources: "../../kernels",
        part: Part::Exclude("blas/**"),
        types: "::hip::code_object::embedded",
        nvidia: &["sm_80", "sm_90a", "sm_100"],
    },
    // NVIDIA GPUs have cuBLAS.
    Shipped {
        name: "blas-on-kernels",
        sources: "../../kernels",
        part: Part::Source("blas/**"),
        types: "::code_object::embedded",
        nvidia: &[],
    },
    Shipped {
        name: "hal-library",
        sources: "device",
        part: Part::All,
        types: "::code_object::embedded",
        nvidia: &[],
    },
];

/// Compiles the kernels for all targets, or those in `FERROCM_TARGETS`, without source lines, because no
/// package contains the sources. Returns the architectures of NVIDIA GPUs among them: none without nvcc.
fn build_kernels(inputs: &Path) -> Result<Vec<CudaArch>> {
    let mut cuda_archs = Vec::new();
    for shipped in &SHIPPED {
        let folder = tools::workspace().join("crates").join(shipped.name).join(shipped.sources);
        let builder = Builder::new(folder);
        let builder = match shipped.part {
            Part::All => builder,
            Part::Source(pattern) => builder.source(pattern),
            Part::Exclude(pattern) => builder.exclude(pattern),
        };
        let builder = match shipped.nvidia {
            [] => builder,
            archs => {
                let nvidia = Nvidia::ptx_and_cubin().default_archs(archs.iter().copied()).compress(true);
                builder.nvidia(nvidia.if_nvcc_is_found())
            }
        };
        let build = builder.offload_compress(true).source_lines(false).build()?;
        if let Some(error) = &build.without_nvcc {
            eprintln!(
                "The packages have no code for NVIDIA GPUs, because no nvcc was found. To get one, {}.",
                error.remedy
            );
        }
        for warning in build.warnings() {
            eprintln!("{warning}");
        }
        let prebuilt = fresh(&inputs.join(PREBUILT).join(shipped.name))?;
        build.write_prebuilt(&prebuilt, "kernels.rs", shipped.types)?;
        write_files(&build, &fresh(&inputs.join("kernels").join(shipped.name))?)?;
        cuda_archs.extend(build.cuda_archs);
    }
    Ok(cuda_archs)
}

/// The code of each module, and its metadata, for programs that load it themselves.
fn write_files(build: &Build, folder: &Path) -> Result<()> {
    for module in &build.modules {
        let bundle = module.bundle.as_ref().context("the code objects are compressed")?;
        let path = folder.join(format!("{}.hipfb", module.ident));
        fs::write(&path, &bundle.bytes).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(Report::new(build).write(&folder.join("kernels.json"))?)
}

/// The folder, emptied.
fn fresh(folder: &Path) -> Result<PathBuf> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(error).with_context(|| format!("cannot empty {}", folder.display()));
        }
        _ => fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?,
    }
    Ok(folder.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_kinds_are_meant_by_all_and_each_once() {
        assert_eq!(kinds(&[Kind::All]), Kind::EACH);
        assert_eq!(kinds(&[Kind::Deb, Kind::Tar, Kind::Deb]), [Kind::Tar, Kind::Deb]);
        assert_eq!(Kind::Container.name(), "container");
    }

    #[test]
    fn what_is_shipped_is_what_the_build_scripts_embed() {
        for Shipped { name, sources, part, types, nvidia } in &SHIPPED {
            let script = tools::workspace().join("crates").join(name).join("build.rs");
            let script = fs::read_to_string(script).expect("a build script");
            // The same folder for all, and for `build_kernels`, because the cache key contains the names of
            // sources below it.
            let part = match part {
                Part::All => String::new(),
                Part::Source(pattern) => format!(".source(\"{pattern}\")"),
                Part::Exclude(pattern) => format!(".exclude(\"{pattern}\")"),
            };
            assert!(script.contains(&format!("Builder::new(\"{sources}\"){part}")), "{name}: {part}");
            assert!(script.contains("embed_prebuilt_or_exit(\"prebuilt\")"), "{name}");
            let archs = format!("[&str; {}] = {nvidia:?};", nvidia.len());
            let has_nvidia = script.contains("Nvidia");
            assert_eq!(script.contains(&archs), has_nvidia, "{name}: {archs}");
            let own = format!("prebuilt_nvidia({}_nvidia::PREBUILT)", name.replace('-', "_"));
            assert_eq!(script.contains(&own), has_nvidia, "{name}: {own}");
            let package = tools::workspace().join("crates").join(format!("{name}-nvidia"));
            assert_eq!(package.is_dir(), has_nvidia, "{}", package.display());
            let is_default = *types == "::hip::code_object::embedded";
            assert_eq!(!is_default, script.contains(&format!(".types(\"{types}\")")), "{name}");
        }
        let mut embedding = Vec::new();
        for entry in fs::read_dir(tools::workspace().join("crates")).expect("the crates") {
            let entry = entry.expect("a crate");
            let script = fs::read_to_string(entry.path().join("build.rs")).unwrap_or_default();
            if script.contains("embed_prebuilt") {
                embedding.push(entry.file_name().into_string().expect("a name in UTF-8"));
            }
        }
        embedding.sort_unstable();
        let mut shipped = SHIPPED.each_ref().map(|shipped| shipped.name);
        shipped.sort_unstable();
        assert_eq!(embedding, shipped, "each crate that embeds prebuilt code is in the table");
    }
}
