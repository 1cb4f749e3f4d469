//! The crate of `docs/own-crate.md`, built and run where a stranger has it: outside of this workspace.
//!
//! An engine takes minutes to compile, whatever the profile. The steps of every test run therefore make the debug build with the engine that
//! the tests have ([`beside_the_tests`]), and the release build without the virtual GPU ([`without_virtual`]); [`whole`] leaves nothing
//! out.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, bail, ensure};
use tempfile::TempDir;

use crate::tools;

/// Its name, that of its folder below `examples`.
const NAME: &str = "own-crate";
/// Its files.
const FILES: [&str; 4] = ["Cargo.toml", "build.rs", "kernels/vectors.cu", "src/main.rs"];
/// Where it finds the crates of this workspace.
const CRATES: &str = "path = \"../../crates/";
/// What the program prints last.
const RESULT: &str = ": 25000";
/// The virtual devices that it runs on: one for each size of waves.
const DEVICES: [&str; 2] = ["vgpu:gfx1100", "vgpu:gfx90a"];
/// What a program without the virtual GPU says when it is asked for one.
const WITHOUT: &str = "built without the virtual GPU";
/// What a virtual GPU says that was compiled without optimisation.
const SLOW: &str = "compiled with opt-level";

/// A profile of Cargo's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Profile {
    Debug,
    Release,
}

impl Profile {
    /// The folder below the target folder.
    fn folder(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Release => "release",
        }
    }
}

/// The debug build with the virtual GPU, with the engine that the tests have been built with, and its run.
///
/// Cargo tells builds apart by the path of a crate below its workspace, by profile and by features. So the crate becomes a member of a
/// temporary workspace that is otherwise this one, by links, and is built with the tests' features.
pub(crate) fn beside_the_tests() -> Result<()> {
    let folder = TempDir::new().context("a folder for the workspace")?;
    let (root, from) = (folder.path(), tools::workspace());
    for name in ["benches", "crates", "kernels", "xtask"] {
        symlink(from.join(name), root.join(name)).with_context(|| format!("link {name}"))?;
    }
    let workspace = read(&from.join("Cargo.toml"))?;
    write(
        &root.join("Cargo.toml"),
        &replaced(&workspace, "members = [", &format!("members = [\"{NAME}\", "))?,
    )?;
    fs::copy(from.join("Cargo.lock"), root.join("Cargo.lock")).context("copy Cargo.lock")?;
    copy(&root.join(NAME), "path = \"../crates/")?;

    let mut build = cargo(root, &tools::target_folder());
    // Of the whole workspace, with a test, as in the other steps: else dependencies have other features.
    build.args(["build", "--workspace", "--bin", NAME, "--test", "device"]);
    succeed(&mut build)?;
    run_with_virtual(&tools::target_folder(), Profile::Debug)
}

/// The release build without the virtual GPU, and its run, which says that there is none: by itself, with its own features. Without
/// optimisation, which takes least time.
pub(crate) fn without_virtual() -> Result<()> {
    let copy = Standalone::new()?;
    succeed(copy.build(Profile::Release, false).env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0"))?;
    copy.run_without_virtual(Profile::Release)
}

/// Debug and release, with and without default features, as people build it: the engine twice.
pub(crate) fn whole() -> Result<()> {
    let copy = Standalone::new()?;
    for profile in [Profile::Debug, Profile::Release] {
        succeed(&mut copy.build(profile, false))?;
        copy.run_without_virtual(profile)?;
        succeed(&mut copy.build(profile, true))?;
        run_with_virtual(&copy.target, profile)?;
    }
    Ok(())
}

/// A copy that is a workspace of its own.
struct Standalone {
    folder: TempDir,
    target: PathBuf,
}

impl Standalone {
    fn new() -> Result<Self> {
        let folder = TempDir::new().context("a folder for the crate")?;
        let crates = tools::workspace().join("crates");
        let crates = crates.to_str().context("the workspace's path is not UTF-8")?;
        copy(folder.path(), &format!("path = \"{crates}/"))?;
        // The versions that are at hand; what the crate does not need is dropped.
        fs::copy(tools::workspace().join("Cargo.lock"), folder.path().join("Cargo.lock"))
            .context("copy Cargo.lock")?;
        Ok(Self { folder, target: tools::target_folder().join(NAME) })
    }

    fn build(&self, profile: Profile, with_virtual: bool) -> Command {
        let mut build = cargo(self.folder.path(), &self.target);
        build.arg("build");
        if profile == Profile::Release {
            build.arg("--release");
        }
        if !with_virtual {
            build.arg("--no-default-features");
        }
        build
    }

    fn run_without_virtual(&self, profile: Profile) -> Result<()> {
        let output = start(&self.target, profile, DEVICES[0])?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.code() == Some(1) && said.contains(WITHOUT),
            "without the virtual GPU the program ends with {} and says: {said}",
            output.status
        );
        Ok(())
    }
}

/// Runs the program on virtual GPUs, where it computes the right sum, and does not say that it is slow.
fn run_with_virtual(target: &Path, profile: Profile) -> Result<()> {
    for device in DEVICES {
        let output = start(target, profile, device)?;
        let (printed, said) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        ensure!(
            output.status.success() && printed.trim_end().ends_with(RESULT) && !said.contains(SLOW),
            "on {device} the program ends with {}, prints {printed} and says {said}",
            output.status
        );
        print!("{printed}");
    }
    Ok(())
}

fn start(target: &Path, profile: Profile, device: &str) -> Result<Output> {
    let program = target.join(profile.folder()).join(NAME);
    let mut command = Command::new(&program);
    command.env("FERROCM_DEVICE", device).env_remove("FERROCM_VGPU_SLOW").stdin(Stdio::null());
    command.output().with_context(|| format!("start {}", program.display()))
}

/// Copies the crate, and leads it to this workspace's crates.
fn copy(to: &Path, crates: &str) -> Result<()> {
    let from = tools::workspace().join("examples").join(NAME);
    for file in FILES {
        let text = read(&from.join(file))?;
        let text = if file == "Cargo.toml" { replaced(&text, CRATES, crates)? } else { text };
        let path = to.join(file);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
        }
        write(&path, &text)?;
    }
    Ok(())
}

fn replaced(text: &str, what: &str, by: &str) -> Result<String> {
    if !text.contains(what) {
        bail!("`{what}` is no longer in Cargo.toml");
    }
    Ok(text.replace(what, by))
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("read {}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("write {}", path.display()))
}

/// Cargo in a folder. Everything that it needs has been downloaded by the steps before.
fn cargo(folder: &Path, target: &Path) -> Command {
    let mut command = tools::cargo();
    command.current_dir(folder).env("CARGO_TARGET_DIR", target).env("CARGO_NET_OFFLINE", "true");
    command
}

fn succeed(command: &mut Command) -> Result<()> {
    let status = command.stdin(Stdio::null()).status().context("start cargo")?;
    ensure!(status.success(), "cargo {:?} failed ({status})", command.get_args().collect::<Vec<_>>());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str) -> String {
        read(&tools::workspace().join(name)).unwrap()
    }

    #[test]
    fn the_page_shows_the_files_of_the_crate() {
        let page = file("docs/own-crate.md");
        let mut shown = page.split("\n```").skip(1).step_by(2);
        for name in FILES {
            let block = shown.next().unwrap_or_else(|| panic!("{name} is not shown"));
            let (_, text) = block.split_once('\n').unwrap();
            assert_eq!(format!("{text}\n"), file(&format!("examples/{NAME}/{name}")), "{name}");
            let before = page.split(block).next().unwrap();
            assert!(before.contains(&format!("\n`{name}`")), "{name} is named before it is shown");
        }
        // The result, which the steps compare with what the program prints.
        assert!(shown.next().unwrap().ends_with(RESULT));
    }

    #[test]
    fn the_crate_has_the_engine_s_profile_of_this_workspace() {
        let settings = |text: &str, package: &str| -> Vec<String> {
            let (_, section) = text.split_once(&format!("[profile.dev.package.{package}]\n")).unwrap();
            let section = section.split("\n[").next().unwrap();
            section
                .lines()
                .filter(|line| line.contains(" = ") && !line.starts_with('#'))
                .map(str::to_owned)
                .collect()
        };
        for package in ["ferrocm-vgpu", "ferrocm-vgpu-exec"] {
            let own = settings(&file(&format!("examples/{NAME}/Cargo.toml")), package);
            assert!(own.contains(&"opt-level = 3".to_owned()));
            assert_eq!(own, settings(&file("Cargo.toml"), package));
        }
    }

    #[test]
    fn a_line_that_is_gone_is_an_error() {
        assert_eq!(replaced("a b", "b", "c").unwrap(), "a c");
        assert!(replaced("a b", "c", "d").is_err());
    }
}
