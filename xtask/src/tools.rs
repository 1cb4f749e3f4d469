//! The cargo subcommands that the tests use, installed into the cache if the machine lacks them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Result;
use setup::{Program, run};

/// This program's name in messages.
pub(crate) const PROGRAM: Program = Program {
    name: "cargo xtask",
    also_needs: &[
        "to regenerate the bindings only: libclang, and the headers of all ROCm releases in FERROCM_ROCM_HEADERS\n    \
         (docs/use/setup.md says how they lie there)",
    ],
};

/// Installs the device compiler if there is none; `yes` does not ask before.
pub(crate) fn install_toolchain(yes: bool) -> Result<()> {
    Ok(setup::install(&PROGRAM, setup::Options { yes, ..setup::Options::default() })?)
}

/// A cargo subcommand in a separate program.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tool {
    /// Program and crate name.
    pub(crate) name: &'static str,
    /// The version to install if there is none.
    version: &'static str,
    /// Features; the defaults include updaters and clients that are not used here.
    features: &'static str,
}

/// The targets that build scripts compile kernels for.
pub(crate) const TARGETS: &str = "FERROCM_TARGETS";

/// The device file of AMD's driver.
pub(crate) const AMD_DRIVER: &str = "/dev/kfd";

/// Runs each test in a separate process.
pub(crate) const NEXTEST: Tool =
    Tool { name: "cargo-nextest", version: "0.9.151", features: "default-no-update" };

impl Tool {
    /// Where it is: in `PATH`, in cargo's own folder, or in the cache.
    pub(crate) fn find(&self, cache: Option<&Path>) -> Option<PathBuf> {
        let cargo_bin = std::env::var_os("CARGO_HOME")
            .map(PathBuf::from)
            .or_else(|| std::env::home_dir().map(|home| home.join(".cargo")))
            .map(|home| home.join("bin"));
        run::find_program(self.name).or_else(|| {
            let folders = cargo_bin.into_iter().chain(cache.map(|cache| cache.join("tools/bin")));
            folders.map(|folder| folder.join(self.name)).find(|path| path.is_file())
        })
    }

    /// Its own version output.
    pub(crate) fn version_of(path: &Path) -> Option<String> {
        let line = run::capture(Command::new(path).arg("--version")).ok()?;
        line.split_whitespace().nth(1).map(str::to_owned)
    }

    /// The command that installs it by hand.
    pub(crate) fn install_hint(&self) -> String {
        format!("cargo install {}@{} --locked (`cargo xtask test` does it)", self.name, self.version)
    }

    /// Finds it, or builds its published source into the cache: unoptimised, which takes a quarter of the
    /// time, because the tool mostly waits for others.
    pub(crate) fn find_or_install(&self, cache: &Path) -> Result<PathBuf, run::Error> {
        if let Some(found) = self.find(Some(cache)) {
            return Ok(found);
        }
        let root = cache.join("tools");
        let build = root.join(format!("build-{}", self.name));
        println!(
            "Installing {} {} into {} (once, a minute or two) …",
            self.name,
            self.version,
            root.display()
        );
        let mut command = cargo();
        command.args([
            "install",
            self.name,
            "--version",
            &format!("={}", self.version),
            "--locked",
            "--debug",
        ]);
        command.args([
            "--quiet",
            "--no-default-features",
            "--features",
            self.features,
            "--no-track",
            "--force",
        ]);
        command.arg("--root").arg(&root).arg("--target-dir").arg(&build);
        // The workspace's settings must not apply to it.
        command.current_dir(std::env::temp_dir()).env_remove("RUSTFLAGS").env_remove("CARGO_BUILD_TARGET");
        let result = run::run(command.stdin(Stdio::null()));
        let _ = std::fs::remove_dir_all(&build);
        result.map(|()| root.join("bin").join(self.name))
    }
}

/// The cargo that runs this program.
pub(crate) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// An environment variable, if it is not empty.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The folder that cargo builds into.
pub(crate) fn target_folder() -> PathBuf {
    workspace().join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// The optional features of the installed program. The step without the virtual GPU tests the program without
/// them.
pub(crate) const FEATURES: &str = "ferrocm/measure,ferrocm/models";

/// The selection that Cargo builds in every step: all members with their features. With another one, some
/// dependency has other features, and Cargo compiles all that is above it once more, the executor too.
pub(crate) const WHOLE: [&str; 3] = ["--workspace", "--features", FEATURES];

/// Builds a program of the workspace like the tests, with their profile and the features of all members, so
/// that nothing is compiled twice. `kind` is Cargo's option, `--bin` or `--example`.
pub(crate) fn build(kind: &str, name: &str) -> Command {
    let mut command = cargo();
    command.args(["build", "--quiet"]).args(WHOLE).args([kind, name]);
    command.current_dir(workspace());
    command
}

/// A program that was built like the tests, by its path in the folder of their profile.
pub(crate) fn built(path: &str) -> Command {
    Command::new(target_folder().join(format!("debug/{path}{}", std::env::consts::EXE_SUFFIX)))
}

/// The workspace's folder.
pub(crate) fn workspace() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}
