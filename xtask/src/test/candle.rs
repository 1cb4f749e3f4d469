//! `cargo xtask test candle`: candle's unmodified kernels on virtual GPUs.
//!
//! `examples/candle-kernels` compiles them and compares their results with candle's CPU backend. It is a
//! separate workspace, because nothing else here needs candle.

use std::cell::OnceCell;
use std::path::Path;
use std::process::Command;
use std::rc::Rc;

use anyhow::Context;

use super::results;
use super::shared::{Shared, execute};
use super::steps::{Outcome, Step};
use crate::engines::CANDLE_VERSION;
use crate::test_devices::WAVE_SIZE_DEVICES;
use crate::{registry, tools};

/// The crate with the kernels' sources.
pub(crate) const KERNELS: &str = "candle-kernels";
/// The sources that candle loads as modules.
pub(crate) const MODULES: [&str; 11] = [
    "affine",
    "binary",
    "cast",
    "conv",
    "fill",
    "indexing",
    "quantized",
    "reduce",
    "sort",
    "ternary",
    "unary",
];
/// The package with the tests, below the workspace.
pub(super) const PACKAGE: &str = "examples/candle-kernels/Cargo.toml";
/// Passes the sources' folder to that package.
const SOURCES_VARIABLE: &str = "CANDLE_KERNELS";
/// Its value for this project's own kernels.
const OWN: &str = "own";
/// Its build folder, below the target folder.
const TARGET: &str = "candle-kernels";

/// Fetches the kernels of candle, and runs their tests on virtual GPUs.
pub(super) fn steps(shared: &Shared) -> Vec<Step<'_>> {
    let sources = Rc::new(OnceCell::new());
    let fetch = {
        let sources = Rc::clone(&sources);
        Step::new("sources of candle's kernels", move || {
            let fetched = registry::fetch(KERNELS, CANDLE_VERSION)?;
            println!("They are in {}", sources.get_or_init(|| fetched).display());
            Ok(Outcome::Passed)
        })
    };
    let tests = WAVE_SIZE_DEVICES.map(|device| {
        let sources = Rc::clone(&sources);
        Step::new(format!("candle's kernels on {device}"), move || {
            let sources = sources.get().context("the sources have not been fetched")?;
            execute(command(shared.nextest()?, Kernels::Candle(sources), device))
        })
    });
    std::iter::once(fetch).chain(tests).collect()
}

/// What the package tests.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kernels<'a> {
    /// candle's kernels, from these sources.
    Candle(&'a Path),
    /// This project's kernels with the same names. The tests record the executed kernels and their errors in
    /// this folder.
    Own(&'a Path),
}

/// Builds the package and runs its tests on a device, with `nextest`.
pub(super) fn command(mut nextest: Command, kernels: Kernels<'_>, device: &str) -> Command {
    nextest.args(["run", "--locked", "--manifest-path", PACKAGE]);
    nextest.arg("--target-dir").arg(tools::target_folder().join(TARGET));
    match kernels {
        Kernels::Candle(sources) => nextest.env(SOURCES_VARIABLE, sources),
        Kernels::Own(results) => nextest.env(SOURCES_VARIABLE, OWN).env(results::FOLDER_VARIABLE, results),
    };
    nextest.env("FERROCM_DEVICE", device);
    nextest
}

#[cfg(test)]
mod tests {
    use std::fs;

    use setup::run;

    use super::*;

    #[test]
    fn the_package_is_there_and_is_for_this_version() {
        let text = fs::read_to_string(tools::workspace().join(PACKAGE)).unwrap();
        for candle in ["candle-core", "candle-nn"] {
            assert!(text.contains(&format!("{candle} = {{ version = \"={CANDLE_VERSION}\"")), "{candle}");
        }
        let script = tools::workspace().join(PACKAGE).with_file_name("build.rs");
        let script = fs::read_to_string(script).unwrap();
        assert!(script.contains(&format!("\"{SOURCES_VARIABLE}\"")) && script.contains(CANDLE_VERSION));
    }

    #[test]
    fn the_tests_are_run_by_nextest() {
        let nextest = || Command::new("cargo-nextest");
        let command = |kernels| command(nextest(), kernels, WAVE_SIZE_DEVICES[0]);
        let candle = command(Kernels::Candle(Path::new("/sources")));
        let text = run::describe(&candle);
        assert!(text.starts_with(&format!("cargo-nextest run --locked --manifest-path {PACKAGE}")), "{text}");
        let variable = |command: &Command, name: &str| {
            let found = command.get_envs().find(|(key, _)| *key == name)?;
            Some(found.1?.to_string_lossy().into_owned())
        };
        assert_eq!(variable(&candle, SOURCES_VARIABLE).as_deref(), Some("/sources"));
        assert_eq!(variable(&candle, results::FOLDER_VARIABLE), None);
        let own = command(Kernels::Own(Path::new("/results")));
        assert_eq!(variable(&own, SOURCES_VARIABLE).as_deref(), Some(OWN));
        assert_eq!(variable(&own, results::FOLDER_VARIABLE).as_deref(), Some("/results"));
    }
}
