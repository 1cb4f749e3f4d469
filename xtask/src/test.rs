//! `cargo xtask test`: everything that has to hold, in one command; and suites of their own, a file each, for what takes long, fetches much, or
//! needs what few machines have.

mod amd_tests;
pub(crate) mod candle;
mod cmake;
mod devices;
pub(crate) mod engines;
mod everything;
mod fuzz;
mod judges;
mod kernels;
mod miri;
mod mpi;
mod opencl;
mod overflow_checks;
mod packages;
mod related;
mod results;
mod rocblas_kernels;
mod rocm;
mod shared;
mod skips;
mod steps;
mod template;
mod vulkan;

use anyhow::Result;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, Subcommand};

use self::shared::Shared;
use self::skips::Skips;
use self::steps::Only;

/// What is to run.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_value_name = "SUITE",
    subcommand_help_heading = "Suites"
)]
pub(crate) struct Arguments {
    /// Run the device tests on the AMD GPU of this machine, too
    #[arg(long)]
    gpu: bool,
    #[command(flatten)]
    only: Only,
    #[command(subcommand)]
    suite: Option<Suite>,
}

/// What no plain run holds. Each is a run of its own.
#[derive(Debug, Subcommand)]
enum Suite {
    /// The tests that load AMD's own libraries, on those of ROCm releases, which are fetched into the target folder
    Rocm(rocm::Options),
    /// The test that decodes all kernels in Debian's rocBLAS of ROCm releases, which are fetched into the target folder
    RocblasKernels(rocblas_kernels::Options),
    /// AMD's own test programs over virtual GPUs; they are fetched into the target folder, and docs/generated/suites.md is written
    AmdTests(amd_tests::Options),
    /// pyopencl's own tests on AMD's OpenCL over virtual GPUs
    ///
    /// Both are fetched into the target folder, with AMD's libraries, which is 0.9 GB to download.
    Opencl(Only),
    /// The device tests, all of them on virtual GPUs of all generations
    ///
    /// A plain run has them on one virtual GPU of each size of waves.
    Devices(Only),
    /// The device tests of the kernels on the other targets of builds, which differ little from those of other runs
    ///
    /// The kernels are compiled for them. Listings of much compiled code are compared with LLVM's as well.
    Related(Only),
    /// The device tests on one virtual GPU, whose executor is compiled with overflow checks for it
    OverflowChecks(Only),
    /// This project's kernels one by one, on virtual GPUs of five targets, and docs/generated/kernels-checked.md is written
    ///
    /// Those of candle's names run candle's tests, against its CPU backend, and all their own tests, with all checks. Cargo fetches candle's
    /// crates, and the executor is compiled once more.
    Kernels(Only),
    /// The kernels of candle, as they are, on virtual GPUs, against candle's CPU backend
    ///
    /// Cargo fetches its crates, and the executor is compiled once more.
    Candle(Only),
    /// candle and cubecl as they are, with their CUDA backends, on virtual GPUs: their own tests, and models against candle's CPU backend
    ///
    /// Cargo fetches the crates and pip the models; kernels and the executor are compiled, which takes a quarter of an hour the first time.
    Engines(Only),
    /// The tests of ranks that `mpirun` starts; Debian's Open MPI is fetched into the target folder
    Mpi(Only),
    /// The tests of memory that Vulkan and HIP share, on a virtual GPU and Mesa's Vulkan on the CPU
    ///
    /// Debian's packages of two versions of Mesa are fetched into the target folder.
    Vulkan(Only),
    /// The tests that are judged by debuggers, GnuPG and nvcc; one of these that is not installed is a failure
    Judges(Only),
    /// The tests that need no foreign code, under Miri, which looks for undefined behaviour; rustup's nightly toolchain has it
    Miri(Only),
    /// examples/own-crate outside of this workspace: debug and release, with and without default features
    ///
    /// The executor is compiled twice for that.
    Template(Only),
    /// The fuzz targets, a workspace of its own: whether they compile
    ///
    /// cargo-fuzz runs them.
    Fuzz(Only),
    /// The tests of what makes packages, xtask/package, which is a workspace of its own
    ///
    /// `cargo xtask package --check` tests packages.
    Packages(Only),
}

/// The names of all suites.
fn suites() -> Vec<String> {
    let command = Suite::augment_subcommands(clap::Command::new("test"));
    command.get_subcommands().map(|suite| suite.get_name().to_owned()).collect()
}

/// Runs a suite, or everything that has to hold.
pub(crate) fn test(Arguments { gpu, only, suite }: &Arguments) -> Result<()> {
    let shared = Shared::new(Skips::new()?)?;
    let (steps, only) = match suite {
        None => (everything::steps(&shared, *gpu), only),
        // They go on after a failure.
        Some(Suite::AmdTests(options)) => return amd_tests::run(options),
        Some(Suite::Rocm(options)) => (rocm::steps(options, &shared)?, &options.only),
        Some(Suite::RocblasKernels(options)) => (rocblas_kernels::steps(options, &shared)?, &options.only),
        Some(Suite::Opencl(only)) => (opencl::steps(), only),
        Some(Suite::Devices(only)) => (devices::steps(&shared), only),
        Some(Suite::Related(only)) => (related::steps(&shared), only),
        Some(Suite::OverflowChecks(only)) => (overflow_checks::steps(&shared), only),
        Some(Suite::Kernels(only)) => (kernels::steps(&shared), only),
        Some(Suite::Candle(only)) => (candle::steps(&shared), only),
        Some(Suite::Engines(only)) => (engines::steps(&shared), only),
        Some(Suite::Mpi(only)) => (mpi::steps(&shared), only),
        Some(Suite::Vulkan(only)) => (vulkan::steps(&shared), only),
        Some(Suite::Judges(only)) => (judges::steps(&shared), only),
        Some(Suite::Miri(only)) => (miri::steps(), only),
        Some(Suite::Template(only)) => (template::steps(), only),
        Some(Suite::Fuzz(only)) => (fuzz::steps(), only),
        Some(Suite::Packages(only)) => (packages::steps(&shared), only),
    };
    steps::run(steps, only, &shared.skips)
}

/// Has an error about an option with the name of a suite say that a suite is a word.
pub(crate) fn with_suite(mut error: clap::Error) -> clap::Error {
    let option = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(option)) if error.kind() == ErrorKind::UnknownArgument => option.clone(),
        _ => return error,
    };
    if let Some(suite) = suites().iter().find(|suite| option.strip_prefix("--") == Some(suite.as_str())) {
        let tip = format!("a suite is a word: `cargo xtask test {suite}`");
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::{Cli, tools};

    /// The page that tells of all this.
    const PAGE: &str = "docs/contribute/testing.md";

    /// What a command line gives, or the first line of what it says.
    fn parse(line: &str) -> Result<Cli, String> {
        let words = ["xtask", "test"].into_iter().chain(line.split_whitespace());
        crate::parse(words.map(Into::into)).map_err(|error| error.to_string())
    }

    #[test]
    fn each_suite_is_a_word() {
        for suite in suites() {
            let takes_names = ["rocm", "rocblas-kernels", "amd-tests"].contains(&suite.as_str());
            assert_eq!(parse(&suite).is_ok(), !takes_names, "{suite}");
            parse(&format!("{suite} {}", if takes_names { "all" } else { "" })).expect("a run");
        }
        for line in [
            "",
            "--gpu",
            "--gpu --only amdgpu",
            "rocm 7.2 --only rccl",
            "rocm 5.7,6.4 7.2",
            "amd-tests hsa,rccl rocblas --target gfx90a --own-hip --own-rccl --filter A.*:B.c",
            "miri --only hip",
        ] {
            parse(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        }
    }

    #[test]
    fn what_makes_no_sense_together_is_refused() {
        for (line, says) in [
            ("vulkan devices", "unexpected argument 'devices' found"),
            ("engines kernels", "unexpected argument 'kernels' found"),
            ("--gpu vulkan", "the subcommand 'vulkan' cannot be used with '--gpu'"),
            ("--only hip vulkan", "the subcommand 'vulkan' cannot be used with '--only <TEXT>'"),
            ("vulkan --gpu", "unexpected argument '--gpu' found"),
            ("vulkan 7.2", "unexpected argument '7.2' found"),
            ("vulkan --own-hip", "unexpected argument '--own-hip' found"),
            ("--own-hip", "unexpected argument '--own-hip' found"),
            ("amd-tests hsa --only gfx90a", "unexpected argument '--only' found"),
            ("rocm", "required arguments were not provided"),
            ("vulcan", "unrecognized subcommand 'vulcan'"),
        ] {
            let error = parse(line).expect_err(line);
            assert!(error.contains(says), "{line}: {error}");
        }
    }

    #[test]
    fn an_option_with_the_name_of_a_suite_is_told_to_be_a_word() {
        for suite in suites() {
            for line in [format!("--{suite}"), format!("vulkan --{suite}"), format!("--{suite}=all")] {
                let error = parse(&line).expect_err("no option");
                let tip = format!("a suite is a word: `cargo xtask test {suite}`");
                assert!(error.contains(&tip), "{line}: {error}");
            }
        }
        let error = parse("--other").expect_err("no option");
        assert!(!error.contains("a suite is a word"), "{error}");
    }

    #[test]
    fn the_page_has_the_steps_of_every_run_and_all_suites() {
        let folder = tempfile::tempdir().unwrap();
        let shared = Shared::new(Skips::at(folder.path().join("skipped.tsv")).unwrap()).unwrap();
        let steps: Vec<_> = everything::steps(&shared, false).into_iter().map(|step| step.name).collect();
        let text = fs::read_to_string(tools::workspace().join(PAGE)).unwrap();
        let table = text.split("| step | what it runs |\n|---|---|\n").nth(1).expect("a table of steps");
        let rows: Vec<_> =
            table.lines().map_while(|line| line.strip_prefix("| ")?.split(" | ").next()).collect();
        for step in &steps {
            assert!(rows.iter().any(|row| row.contains(step.as_str())), "{PAGE} lacks the step {step}");
        }
        for row in rows {
            assert!(
                steps.iter().any(|step| row.contains(step.as_str())),
                "{PAGE} has {row}, which is no step"
            );
        }
        for suite in suites() {
            assert!(text.contains(&format!("\ncargo xtask test {suite}")), "{PAGE} lacks the suite {suite}");
        }
    }
}
