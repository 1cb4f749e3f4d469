//! The crate of `docs/use/own-crate.md`, built and run as by an outside user: outside this workspace.
//!
//! The executor takes minutes to compile in any profile. So every test run makes a debug build that shares
//! the tests' build ([`beside_the_tests`]). `cargo xtask test template` tests everything.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, bail, ensure};
use tempfile::TempDir;

use super::steps::{Outcome, Step};
use crate::test_devices::for_test_devices;
use crate::tools;

/// Its name, also of its folder below `examples`.
const NAME: &str = "own-crate";
/// Its files without host launchers, in the page's order. The page shows the first two in this form before
/// the additions for launchers.
const SIMPLE: [&str; 4] = ["Cargo.toml", "build.rs", "kernels/vectors.cu", "src/main.rs"];
/// Further files.
const LAUNCHERS: [&str; 2] = ["launchers/saxpy.cu", "src/bin/launchers.rs"];
/// The page, below the workspace.
const PAGE: &str = "docs/use/own-crate.md";
/// The path prefix of this workspace's crates in its manifest.
const CRATES: &str = "path = \"../../crates/";
/// Its programs, and their last line of output.
const PROGRAMS: [(&str, &str); 2] = [(NAME, ": 25000"), ("launchers", ": 2500")];
/// The virtual devices that it runs on, one for each wave size.
const DEVICES: [&str; 2] = ["vgpu:gfx1100", "vgpu:gfx90a"];
/// The message of a program without the virtual GPU that is asked for one.
const WITHOUT: &str = "built without the virtual GPU";
/// The message of a virtual GPU compiled without optimisation.
const SLOW: &str = "compiled with opt-level";

/// A Cargo profile.
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

pub(super) fn steps<'a>() -> Vec<Step<'a>> {
    vec![
        Step::new("own crate without the virtual GPU", || without_virtual().map(|()| Outcome::Passed)),
        Step::new("own crate in every way", || whole().map(|()| Outcome::Passed)),
    ]
}

/// Builds it in debug mode with the virtual GPU, using the tests' executor, and runs it.
pub(super) fn beside_the_tests() -> Result<()> {
    let copy = Copy::beside_the_tests()?;
    let mut build = cargo(copy.folder.path(), &copy.target);
    // The whole workspace with a test, as in the other steps: otherwise dependencies would have other
    // features.
    build.arg("build").args(tools::WHOLE).args(["--test", "device"]);
    for_test_devices(&mut build);
    for (program, _) in PROGRAMS {
        build.args(["--bin", program]);
    }
    succeed(&mut build)?;
    run_with_virtual(&copy.target, Profile::Debug)
}

/// Builds it in debug mode without the virtual GPU, with its own features, and runs it, which reports that
/// there is none; then the same without launchers.
fn without_virtual() -> Result<()> {
    let copy = Copy::beside_the_tests()?;
    succeed(&mut copy.build(Profile::Debug, false))?;
    copy.run_without_virtual(Profile::Debug, &PROGRAMS)?;
    copy.leave_out_launchers()?;
    succeed(&mut copy.build(Profile::Debug, false))?;
    copy.run_without_virtual(Profile::Debug, &PROGRAMS[..1])
}

/// Debug and release, with and without default features, as built by users. This compiles the executor twice.
fn whole() -> Result<()> {
    let copy = Copy::alone()?;
    for profile in [Profile::Debug, Profile::Release] {
        succeed(&mut copy.build(profile, false))?;
        copy.run_without_virtual(profile, &PROGRAMS)?;
        succeed(&mut copy.build(profile, true))?;
        run_with_virtual(&copy.target, profile)?;
    }
    Ok(())
}

/// A copy of the crate, in a temporary workspace.
struct Copy {
    /// The workspace.
    folder: TempDir,
    /// The crate's own folder.
    root: PathBuf,
    /// The path of this workspace's crates for the crate.
    crates: String,
    target: PathBuf,
}

impl Copy {
    /// A separate workspace.
    fn alone() -> Result<Self> {
        let folder = TempDir::new().context("a folder for the crate")?;
        let crates = tools::workspace().join("crates");
        let crates = crates.to_str().context("the workspace's path is not UTF-8")?;
        let crates = format!("path = \"{crates}/");
        let root = folder.path().to_owned();
        copy(&root, &crates)?;
        // Use the available versions; Cargo drops unneeded ones.
        fs::copy(tools::workspace().join("Cargo.lock"), root.join("Cargo.lock"))
            .context("copy Cargo.lock")?;
        Ok(Self { folder, root, crates, target: tools::target_folder().join(NAME) })
    }

    /// A member of a copy of this workspace, made of links.
    ///
    /// Cargo distinguishes builds by a crate's path below its workspace, by profile and by features. So the
    /// tests' build is reused where the features are the same.
    fn beside_the_tests() -> Result<Self> {
        let folder = TempDir::new().context("a folder for the workspace")?;
        let (workspace, from) = (folder.path(), tools::workspace());
        for name in ["benches", "crates", "examples", "kernels", "xtask"] {
            symlink(from.join(name), workspace.join(name)).with_context(|| format!("link {name}"))?;
        }
        let manifest = read(&from.join("Cargo.toml"))?;
        let manifest = replaced(&manifest, "members = [", &format!("members = [\"{NAME}\", "))?;
        write(&workspace.join("Cargo.toml"), &manifest)?;
        fs::copy(from.join("Cargo.lock"), workspace.join("Cargo.lock")).context("copy Cargo.lock")?;
        let (root, crates) = (workspace.join(NAME), "path = \"../crates/".to_owned());
        copy(&root, &crates)?;
        Ok(Self { folder, root, crates, target: tools::target_folder() })
    }

    /// Turns it into the crate at the beginning of the page.
    fn leave_out_launchers(&self) -> Result<()> {
        let page = read(&tools::workspace().join(PAGE))?;
        for file in LAUNCHERS {
            let path = self.root.join(file);
            fs::remove_file(&path).with_context(|| format!("remove {}", path.display()))?;
        }
        for file in SIMPLE {
            let text = shown(&page, file).next().with_context(|| format!("{PAGE} does not show {file}"))?;
            write_file(&self.root, file, &text, &self.crates)?;
        }
        Ok(())
    }

    fn build(&self, profile: Profile, with_virtual: bool) -> Command {
        let mut build = cargo(self.folder.path(), &self.target);
        build.args(["build", "--package", NAME]);
        if profile == Profile::Release {
            build.arg("--release");
        }
        if !with_virtual {
            build.arg("--no-default-features");
        }
        build
    }

    fn run_without_virtual(&self, profile: Profile, programs: &[(&str, &str)]) -> Result<()> {
        for (name, _) in programs {
            let output = start(&self.target, profile, name, DEVICES[0])?;
            let said = String::from_utf8_lossy(&output.stderr);
            ensure!(
                output.status.code() == Some(1) && said.contains(WITHOUT),
                "without the virtual GPU {name} ends with {} and says: {said}",
                output.status
            );
        }
        Ok(())
    }
}

/// Runs the programs on virtual GPUs. They must compute the right sums and not warn that they are slow.
fn run_with_virtual(target: &Path, profile: Profile) -> Result<()> {
    for (name, result) in PROGRAMS {
        for device in DEVICES {
            let output = start(target, profile, name, device)?;
            let (printed, said) =
                (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            ensure!(
                output.status.success() && printed.trim_end().ends_with(result) && !said.contains(SLOW),
                "on {device} {name} ends with {}, prints {printed} and says {said}",
                output.status
            );
            print!("{printed}");
        }
    }
    Ok(())
}

fn start(target: &Path, profile: Profile, name: &str, device: &str) -> Result<Output> {
    let program = target.join(profile.folder()).join(name);
    let mut command = Command::new(&program);
    command.env("FERROCM_DEVICE", device).env_remove("FERROCM_VGPU_SLOW").stdin(Stdio::null());
    command.output().with_context(|| format!("start {}", program.display()))
}

/// Copies the crate, and points it to this workspace's crates.
fn copy(to: &Path, crates: &str) -> Result<()> {
    let from = tools::workspace().join("examples").join(NAME);
    for file in SIMPLE.iter().chain(&LAUNCHERS) {
        write_file(to, file, &read(&from.join(file))?, crates)?;
    }
    Ok(())
}

/// Writes a file of the crate.
fn write_file(folder: &Path, file: &str, text: &str, crates: &str) -> Result<()> {
    let text = if file == "Cargo.toml" { &replaced(text, CRATES, crates)? } else { text };
    let path = folder.join(file);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
    }
    write(&path, text)
}

/// The code blocks of a page that follow a paragraph starting with the name of this file.
fn shown<'a>(page: &'a str, file: &'a str) -> impl Iterator<Item = String> + 'a {
    let parts: Vec<&str> = page.split("\n```").collect();
    let mut blocks = Vec::new();
    for pair in parts.chunks_exact(2) {
        let paragraph = pair[0].trim_end().rsplit("\n\n").next().unwrap_or_default();
        let name = paragraph.strip_prefix('`').and_then(|rest| rest.split_once('`'));
        if let (Some((name, _)), Some((_, text))) = (name, pair[1].split_once('\n'))
            && name == file
        {
            blocks.push(format!("{text}\n"));
        }
    }
    blocks.into_iter()
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

/// Cargo in a folder. Earlier steps have downloaded everything that it needs.
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

    /// The page's code blocks of a file of the crate, and the file.
    fn of(page: &str, name: &str) -> (Vec<String>, String) {
        (shown(page, name).collect(), file(&format!("examples/{NAME}/{name}")))
    }

    #[test]
    fn the_page_shows_the_files_of_the_crate() {
        let page = file(PAGE);
        for name in ["kernels/vectors.cu", "src/main.rs", LAUNCHERS[0], LAUNCHERS[1]] {
            let (blocks, text) = of(&page, name);
            assert_eq!(blocks, [text], "{name}");
        }
        let begin =
            |name: &str| page.find(&format!("\n`{name}`")).unwrap_or_else(|| panic!("{name} is not named"));
        let order: Vec<usize> = SIMPLE.iter().chain(&LAUNCHERS).map(|name| begin(name)).collect();
        assert!(order.is_sorted(), "{order:?}");

        // First without launchers, then their additions, or the whole file.
        let (blocks, text) = of(&page, "build.rs");
        let [simple, whole] = &blocks[..] else { panic!("{blocks:?}") };
        assert_eq!(*whole, text);
        assert!(
            !simple.contains("launchers")
                && simple.lines().all(|line| text.lines().any(|other| other == line))
        );
        let (blocks, text) = of(&page, "Cargo.toml");
        let [simple, added] = &blocks[..] else { panic!("{blocks:?}") };
        let added: Vec<&str> = added.lines().filter(|line| line.contains(" = ")).collect();
        assert_eq!(added.len(), 2, "{added:?}");
        let without: String =
            text.lines().filter(|line| !added.contains(line)).map(|line| format!("{line}\n")).collect();
        assert_eq!(*simple, without);
        assert!(added.iter().all(|line| text.lines().any(|other| other == *line)), "{added:?}");

        // The results, which the steps compare with the programs' output.
        for (_, result) in PROGRAMS {
            assert!(page.contains(&format!("{result}\n```")), "{result}");
        }
    }

    #[test]
    fn a_block_is_of_the_file_that_its_paragraph_begins_with() {
        let page = "# A\n\n`a` is first.\n\n```toml\nx = 1\n\ny\n```\n\nNot `a`.\n\n```rust\nz\n```\n\n`a`\n```\nw\n```\n";
        assert_eq!(shown(page, "a").collect::<Vec<_>>(), ["x = 1\n\ny\n", "w\n"]);
        assert_eq!(shown(page, "b").count(), 0);
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
