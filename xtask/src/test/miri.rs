//! `cargo xtask test miri`: the tests without foreign code, under Miri.

use std::process::Command;

use anyhow::{Result, bail};
use setup::run;

use super::shared::execute;
use super::steps::{Outcome, Step};

/// The toolchain that includes Miri.
const TOOLCHAIN: &str = "nightly";

/// The command that installs it.
const INSTALL: &str = "rustup toolchain install nightly --component miri --component rust-src";

/// Some tests of some packages.
#[derive(Debug, Clone, Copy)]
struct Group {
    /// The step's name.
    name: &'static str,
    packages: &'static [&'static str],
    /// Their Cargo targets.
    targets: &'static [&'static str],
}

/// The tests under Miri, from the bottom up.
const GROUPS: [Group; 4] = [
    Group {
        name: "Miri: tables of functions",
        packages: &[
            "ferrocm-sys-load",
            "ferrocm-hsa-sys",
            "ferrocm-hip-sys",
            "ferrocm-rocblas-sys",
            "ferrocm-rccl-sys",
        ],
        targets: &["--lib", "--tests"],
    },
    Group { name: "Miri: code objects", packages: &["ferrocm-code-object"], targets: &["--lib"] },
    Group { name: "Miri: hal", packages: &["ferrocm-hal"], targets: &["--lib"] },
    // Unit tests run over a table of Rust functions.
    Group { name: "Miri: hip", packages: &["ferrocm-hip"], targets: &["--lib"] },
];

/// Checks for Miri, and runs the tests without foreign code.
pub(super) fn steps<'a>() -> Vec<Step<'a>> {
    let installed = Step::new("Miri", || check().map(|()| Outcome::Passed));
    let groups = GROUPS.map(|group| Step::new(group.name, move || execute(command(group))));
    std::iter::once(installed).chain(groups).collect()
}

/// Fails with advice unless Miri is installed.
fn check() -> Result<()> {
    if run::find_program("rustup").is_none() {
        bail!("Miri comes with rustup's nightly toolchain, and there is no rustup here (https://rustup.rs)");
    }
    match run::capture(rustup().args(["cargo", "miri", "--version"])) {
        Ok(version) => {
            println!("{}", version.trim());
            Ok(())
        }
        Err(error) => bail!("Miri is not installed; `{INSTALL}` does it\n{error}"),
    }
}

/// The command that runs a group's tests.
fn command(group: Group) -> Command {
    let mut command = rustup();
    command.args(["cargo", "miri", "test"]);
    group.packages.iter().for_each(|package| {
        command.args(["--package", package]);
    });
    command.args(group.targets);
    // Tables and devices live as long as the process. Tests create files and use real time. Device addresses
    // are integers.
    command.env("MIRIFLAGS", "-Zmiri-ignore-leaks -Zmiri-disable-isolation -Zmiri-permissive-provenance");
    // A case with some compressed kilobytes takes a minute.
    command.env("PROPTEST_CASES", "4");
    command
}

/// Runs a program of the toolchain, regardless of the environment.
fn rustup() -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", TOOLCHAIN]);
    for variable in ["CARGO", "RUSTC", "RUSTC_WRAPPER", "RUSTDOC", "RUSTUP_TOOLCHAIN", "RUSTFLAGS"] {
        command.env_remove(variable);
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_its_packages_and_targets() {
        let text = run::describe(&command(GROUPS[3]));
        assert_eq!(text, "rustup run nightly cargo miri test --package ferrocm-hip --lib");
    }

    #[test]
    fn the_packages_are_there() {
        let crates = crate::tools::workspace().join("crates");
        for package in GROUPS.iter().flat_map(|group| group.packages) {
            let folder = package.strip_prefix("ferrocm-").unwrap_or(package);
            assert!(crates.join(folder).join("Cargo.toml").is_file(), "{package}");
        }
    }
}
