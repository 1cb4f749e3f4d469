//! `cargo xtask bench <what>`: figures for the documentation.

use std::ffi::OsString;
use std::process::Command;

use anyhow::Result;
use clap::Subcommand;

use crate::{run, tools};

/// What can be measured.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum Benchmark {
    /// A call through a function table against a linked call and a symbol look-up per call, and loading a library;
    /// needs a C compiler, no GPU
    Sys,
    /// The safe API against raw calls of the same HIP library: launches, copies, allocations, events, graphs; --help after it
    /// lists its options
    #[command(disable_help_flag = true)]
    Hip {
        /// Options of the benchmark
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
        options: Vec<OsString>,
    },
    /// The virtual GPU on seven kernels, per target and number of threads, against PoCL if that is installed; --help after
    /// it lists its options
    #[command(disable_help_flag = true)]
    Vgpu {
        /// Options of the benchmark
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
        options: Vec<OsString>,
    },
}

impl Benchmark {
    /// The package that measures it, and its folder in `benches`.
    fn package(&self) -> (&'static str, &'static str) {
        match self {
            Benchmark::Sys => ("sys-call", "sys-call"),
            Benchmark::Hip { .. } => ("hip-bench", "hip"),
            Benchmark::Vgpu { .. } => ("vgpu-bench", "vgpu"),
        }
    }
}

/// Builds and runs a benchmark, which prints its figures.
pub(crate) fn bench(what: &Benchmark) -> Result<()> {
    run::run(&mut command(what))?;
    Ok(())
}

/// The benchmark runs in the caller's folder, which the files on its command line are relative to.
fn command(what: &Benchmark) -> Command {
    let mut command = tools::cargo();
    command.args(["run", "--quiet", "--release", "--manifest-path"]);
    command.arg(tools::workspace().join("Cargo.toml")).args(["--package", what.package().0]);
    if let Benchmark::Vgpu { options } | Benchmark::Hip { options } = what {
        command.arg("--").args(options);
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_benchmark_is_a_package_of_this_workspace() {
        let options = Vec::new;
        for what in
            [Benchmark::Sys, Benchmark::Hip { options: options() }, Benchmark::Vgpu { options: options() }]
        {
            let (package, folder) = what.package();
            let manifest = tools::workspace().join("benches").join(folder).join("Cargo.toml");
            let text = std::fs::read_to_string(&manifest).expect("its manifest");
            assert!(text.contains(&format!("name = \"{package}\"")), "{}", manifest.display());
            assert!(run::describe(&command(&what)).contains(package));
        }
    }

    #[test]
    fn options_reach_the_benchmark() {
        let options = ["--threads", "1", "--help"].map(OsString::from).to_vec();
        let text = run::describe(&command(&Benchmark::Vgpu { options }));
        assert!(text.ends_with("-- --threads 1 --help"), "{text}");
    }
}
