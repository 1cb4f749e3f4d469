//! `cargo xtask bench <what>`: figures for the documentation.

use std::process::Command;

use anyhow::Result;
use clap::ValueEnum;

use crate::{run, tools};

/// What can be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Benchmark {
    /// A call through a function table against a linked call and a symbol look-up per call, and loading a library;
    /// needs a C compiler, no GPU
    Sys,
}

impl Benchmark {
    /// The package that measures it.
    fn package(self) -> &'static str {
        match self {
            Benchmark::Sys => "sys-call",
        }
    }
}

/// Builds and runs a benchmark, which prints its figures.
pub(crate) fn bench(what: Benchmark) -> Result<()> {
    run::run(&mut command(what))?;
    Ok(())
}

fn command(what: Benchmark) -> Command {
    let mut command = tools::cargo();
    command.args(["run", "--quiet", "--release", "--package", what.package()]);
    command.current_dir(tools::workspace());
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_benchmark_is_a_package_of_this_workspace() {
        for what in Benchmark::value_variants() {
            let manifest = tools::workspace().join("benches").join(what.package()).join("Cargo.toml");
            assert!(manifest.is_file(), "{} is missing", manifest.display());
            assert!(run::describe(&command(*what)).ends_with(what.package()));
        }
    }
}
