//! Drives the workspace: `cargo xtask <command>`.

mod bench;
mod bindgen;
#[cfg(test)]
mod book;
mod build_kernels;
mod ci;
mod comments;
mod conflicts;
mod cudarc;
mod demo;
mod dependencies;
mod device_tests;
mod doctor;
mod dropin;
mod engines;
mod hip_python;
mod hipcc;
mod hipify;
mod images;
#[cfg(test)]
mod layers;
mod package;
mod package_tests;
#[cfg(test)]
mod packages;
mod registry;
mod rocm;
mod rocm_run;
mod test;
mod test_devices;
mod tools;
mod tune;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use crate::build_kernels::Detail;
use crate::tools::PROGRAM;

/// Drives this workspace: sets up the device toolchain, builds kernels, runs the demo and the tests.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Finds the device toolchain, or installs it into a separate folder in the user's cache
    ///
    /// Looks for an installed ROCm, then for clang 22 or later in PATH. If there is neither, packages from
    /// Debian's suites are unpacked into the cache folder (FERROCM_CACHE, else ferrocm in the user's cache).
    /// This needs no root and does not change the system's packages and apt configuration. With --cuda, it
    /// does the same for NVIDIA's compiler, which pip fetches. docs/use/setup.md says more.
    Setup(setup::Options),
    /// Shows every tool and library: its place, its version, and what to do if it is missing
    Doctor,
    /// Wraps comments in Rust sources at the width of the code
    ///
    /// rustfmt does this on nightly toolchains only. `cargo xtask test` fails if a comment is too wide.
    Comments(comments::Options),
    /// Compiles the sources in kernels/ and prints what was built
    BuildKernels(BuildKernelsArguments),
    /// Sets up, builds the kernels and runs the demo program on a device
    Demo(demo::Options),
    /// Runs all checks: format, lints, documentation, unit, compile-fail and device tests; or a single suite
    ///
    /// The device tests run on virtual GPUs with waves of 32 and of 64 lanes; docs/contribute/testing.md
    /// lists the steps.
    Test(test::Arguments),
    /// Builds the drop-in libraries: libamdhip64.so.7 (HIP for C++ programs over AMD's HSA runtime or virtual
    /// GPUs), librocblas.so.5 (rocBLAS on this project's kernels), librccl.so.1 (RCCL between GPUs of one
    /// host), libhiprtc.so.7 (the run-time compiler) and libhsa-runtime64.so.1 (virtual GPUs for AMD's own
    /// HIP)
    Dropin(DropinArguments),
    /// Runs the examples of AMD's hip-python on this project's HIP and run-time compiler
    ///
    /// The package is installed below the target folder. Examples that need other libraries are left out and
    /// listed.
    HipPython(hip_python::Options),
    /// Runs a program on AMD's own ROCm libraries, over virtual GPUs: `cargo xtask rocm --with rocminfo --
    /// rocminfo`
    ///
    /// Fetches the libraries of the release with all their dependencies from Debian into the target folder,
    /// once. This machine's own libraries are not used. The virtual GPU replaces AMD's HSA runtime. The exit
    /// code is the program's. docs/use/amd-hip.md says more.
    Rocm(rocm_run::Arguments),
    /// Compiles and links HIP programs with the HIP library of this checkout, as `ferrocm hipcc` does
    ///
    /// Library and program are built first, like the tests. docs/use/hip-programs.md shows how to use it.
    Hipcc(hipcc::Options),
    /// Says where the HIP of this checkout is and how to use it, as `ferrocm hipconfig` does
    Hipconfig(hipcc::Options),
    /// Compiles and links CUDA programs with the HIP library of this checkout, as `ferrocm nvcc` does
    ///
    /// Library and program are built first, like the tests. docs/use/nvcc.md shows how to use it.
    Nvcc(hipcc::Options),
    /// Translates CUDA sources to HIP, line by line, or reports what does not translate
    ///
    /// A single source is written to the standard output, unless --in-place, --output, --diff, --check or
    /// --examine is given. docs/use/hipify.md says more.
    Hipify(Box<hipify::HipifyArguments>),
    /// Replaces the crates through which a Rust program uses CUDA by this project's: programs such as candle
    /// then run on AMD GPUs without source changes
    ///
    /// Adds a line to the program's [patch.crates-io] for each of cudarc, cudaforge and bindgen_cuda that it
    /// depends on. docs/use/engines.md says more.
    Patch(shared_commands::patch::Options),
    /// Makes packages: for the registry, for Debian, for pip, archives and images for containers, with
    /// checksums, signatures and a bill of materials; or installs them as users do and runs their programs
    ///
    /// docs/use/packages.md lists the contents of each.
    Package(package::Options),
    /// Makes one archive of the tests of devices, with all kernels inside, that runs on a machine with a GPU
    /// and without Rust, compilers and network, and writes JUnit and a page
    ///
    /// docs/contribute/testing.md says what is in it.
    PackageTests(package_tests::Options),
    /// Checks whether everything is ready for a release, and writes the notes
    Release(package::ReleaseOptions),
    /// Generates the checked-in bindings of the -sys crates from the ROCm headers
    Bindgen(BindgenArguments),
    /// Compares crates/cudarc-on-hip with cudarc and writes docs/generated/cudarc.md, the list of existing
    /// items
    Cudarc(cudarc::Options),
    /// Pipelines for many repositories with GPU code, generated from ci/fleet.toml or run on this machine
    ///
    /// docs/use/fleet.md says more.
    #[command(subcommand)]
    Ci(ci::Task),
    /// Measures something and prints the figures
    #[command(subcommand)]
    Bench(bench::Benchmark),
    /// Measures which kernel of blas-on-kernels is best for a product's sizes, and writes the library's table
    Tune(tune::Options),
}

#[derive(Debug, Args)]
struct BuildKernelsArguments {
    /// Target to build for, such as gfx1100 or gfx90a:sramecc+:xnack-; may be repeated [default:
    /// FERROCM_TARGETS, else the defaults that docs/generated/processors.md lists]
    #[arg(long, value_name = "TARGET", value_delimiter = ',')]
    target: Vec<String>,
    /// Folder of the sources: every .cu in it and below is compiled [default: kernels]
    #[arg(long, value_name = "DIR")]
    source: Option<PathBuf>,
    /// Sources to leave out, such as 'moe_*.cu' or 'quant/*.cu'; may be repeated
    #[arg(long, value_name = "GLOB")]
    exclude: Vec<String>,
    /// Folder of headers; may be repeated
    #[arg(long, short = 'I', value_name = "DIR")]
    include: Vec<PathBuf>,
    /// Compress the code objects of each source into one file, as Builder::offload_compress embeds them, and
    /// show what that saves
    #[arg(long)]
    offload_compress: bool,
    /// Write the resources of each kernel as JSON, to a file, or instead of the tables to the standard
    /// output; equal builds give equal files
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = build_kernels::STDOUT)]
    json: Option<PathBuf>,
    /// Compare with the report of an earlier build, a file that --json wrote, or with `last`, the build
    /// before this one; the exit code is 2 if registers, LDS, scratch, spills or code rose or occupancy fell
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// Limits for kernels, such as vgprs=64,spills=0 or 'gemm_*:vgprs=128'; may be repeated, and the last one
    /// for the same figure counts. Figures are code, vgprs, sgprs, agprs, lds, scratch, spills, and
    /// occupancy, which is a minimum; the exit code is 2 if a kernel exceeds a limit
    #[arg(long, value_name = "[GLOB:]FIGURE=NUMBER,…")]
    limit: Vec<String>,
    /// Further options for the compiler, clang's or nvcc's
    #[arg(last = true)]
    flags: Vec<String>,
}

impl From<BuildKernelsArguments> for build_kernels::Options {
    fn from(arguments: BuildKernelsArguments) -> Self {
        let BuildKernelsArguments {
            target,
            source,
            exclude,
            include,
            offload_compress,
            json,
            against,
            limit,
            flags,
        } = arguments;
        Self {
            targets: target,
            source,
            exclude,
            include,
            flags,
            compress: offload_compress,
            json,
            against,
            limits: limit,
            detail: Detail::Kernels,
        }
    }
}

#[derive(Debug, Args)]
struct DropinArguments {
    /// Folder for the libraries [default: dropin in the target folder]
    #[arg(long, value_name = "DIR")]
    out: Option<std::path::PathBuf>,
    /// Optimise everything and leave out debug information; this compiles the virtual GPU's executor, which
    /// is always optimised, once more
    #[arg(long)]
    release: bool,
}

#[derive(Debug, Args)]
struct BindgenArguments {
    /// Change nothing; fail if a checked-in file differs from the headers
    #[arg(long)]
    check: bool,
    /// Further arguments for the generator; --help shows them
    #[arg(last = true)]
    more: Vec<String>,
}

/// The command line.
fn parse(words: impl Iterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let words: Vec<_> = words.collect();
    let is_test = words.get(1).is_some_and(|word| word == "test");
    Cli::try_parse_from(words).map_err(|error| if is_test { test::with_suite(error) } else { error })
}

fn main() -> ExitCode {
    let cli = parse(std::env::args_os()).unwrap_or_else(|error| error.exit());
    match run_task(cli.task) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            // Most errors here already include their causes.
            let mut told = error.to_string();
            for cause in error.chain().skip(1).map(ToString::to_string) {
                if !told.contains(&cause) {
                    eprintln!("  because: {cause}");
                    told.push_str(&cause);
                }
            }
            ExitCode::FAILURE
        }
    }
}

fn run_task(task: Task) -> anyhow::Result<ExitCode> {
    let done = match task {
        Task::Setup(options) => Ok(setup::install(&PROGRAM, options)?),
        Task::Doctor => doctor::doctor(),
        Task::Comments(options) => comments::run(&options),
        Task::BuildKernels(arguments) => return build_kernels::run(&arguments.into()),
        Task::Demo(options) => demo::demo(&options),
        Task::Test(arguments) => test::test(&arguments),
        Task::Dropin(DropinArguments { out, release }) => dropin::dropin(&dropin::Options { out, release }),
        Task::HipPython(options) => hip_python::run(&options),
        Task::Rocm(options) => rocm_run::run(&options),
        Task::Hipcc(options) => return hipcc::run("hipcc", &options),
        Task::Hipconfig(options) => return hipcc::run("hipconfig", &options),
        Task::Nvcc(options) => return hipcc::run("nvcc", &options),
        Task::Patch(options) => shared_commands::patch::patch(&options, tools::workspace())
            .map(|lines| lines.iter().for_each(|line| println!("{line}"))),
        Task::Package(options) => package::package(&options),
        Task::PackageTests(options) => package_tests::package_tests(&options),
        Task::Release(options) => package::release(&options),
        Task::Hipify(options) => return hipify::hipify(*options),
        Task::Ci(task) => return ci::ci(task),
        Task::Bench(what) => bench::bench(&what),
        Task::Tune(options) => tune::tune(&options),
        Task::Cudarc(options) => cudarc::compare(&options),
        Task::Bindgen(BindgenArguments { check, mut more }) => {
            if check {
                more.insert(0, "--check".to_owned());
            }
            bindgen::bindgen(&more)
        }
    };
    done.map(|()| ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_benchmark_gets_its_options() {
        let cli = Cli::try_parse_from(["x", "bench", "vgpu", "--threads", "1,2", "--help"]);
        let Ok(Cli { task: Task::Bench(bench::Benchmark::Vgpu { options }) }) = cli else {
            panic!("parses: {cli:?}")
        };
        assert_eq!(options, ["--threads", "1,2", "--help"]);
    }

    #[test]
    fn targets_may_be_repeated_or_separated_by_commas() {
        let cli =
            Cli::try_parse_from(["x", "build-kernels", "--target", "gfx1100,gfx90a", "--target", "gfx1030"]);
        let Ok(Cli { task: Task::BuildKernels(arguments) }) = cli else { panic!("parses: {cli:?}") };
        assert_eq!(arguments.target, ["gfx1100", "gfx90a", "gfx1030"]);
    }

    #[test]
    fn reports_go_to_a_file_or_the_standard_output() {
        let json = |arguments: &[&str]| {
            let cli = Cli::try_parse_from(["x", "build-kernels"].iter().chain(arguments));
            let Ok(Cli { task: Task::BuildKernels(arguments) }) = cli else { panic!("parses: {cli:?}") };
            arguments.json.map(|file| file.display().to_string())
        };
        assert_eq!(json(&[]), None);
        assert_eq!(json(&["--json"]).as_deref(), Some(build_kernels::STDOUT));
        assert_eq!(json(&["--json", "--limit", "vgprs=64,spills=0"]).as_deref(), Some(build_kernels::STDOUT));
        assert_eq!(json(&["--json", "a.json", "--against", "last", "--", "-O2"]).as_deref(), Some("a.json"));
    }
}
