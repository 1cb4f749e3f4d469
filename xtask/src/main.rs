//! Drives the workspace: `cargo xtask <command>`.

mod bench;
mod bindgen;
#[cfg(test)]
mod book;
mod build_kernels;
mod candle;
mod ci;
mod conflicts;
mod cudarc;
mod demo;
mod dependencies;
mod doctor;
mod dropin;
mod engines;
mod hip_python;
mod hipcc;
mod hipify;
mod images;
mod miri;
mod package;
#[cfg(test)]
mod packages;
mod patch;
mod registry;
mod results;
mod rocm;
mod rocm_run;
mod suites;
mod template;
mod test;
mod tools;
mod tune;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use setup::Program;

use crate::build_kernels::Detail;
use crate::rocm::sysroot;

/// This program, as texts call it.
pub(crate) const PROGRAM: Program = Program {
    name: "cargo xtask",
    also_needs: &[
        "to regenerate the bindings only: libclang, and the headers of all ROCm releases in FERROCM_ROCM_HEADERS\n    \
         (docs/use/setup.md says how they lie there)",
    ],
};

/// Drives this workspace: sets up the device toolchain, builds kernels, runs the demo and the tests.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Finds the device toolchain, or installs it into a folder of its own in the user's cache
    ///
    /// Looks for an installed ROCm, then for clang 22 or later in PATH. Where there is neither, the packages are taken
    /// from Debian's suites and unpacked into the cache folder (FERROCM_CACHE, else ferrocm in the user's cache): no
    /// root is needed, and the system's packages and apt configuration stay as they are. docs/use/setup.md says more.
    Setup(setup::Options),
    /// Shows every tool and library: where it is, its version, what to do about what is missing
    Doctor,
    /// Compiles the sources in kernels/ and prints what was built
    BuildKernels(BuildKernelsArguments),
    /// Sets up, builds the kernels and runs the demo program on a device
    Demo(demo::Options),
    /// Runs everything that has to hold: format, lints, documentation, unit, compile-fail and device tests
    ///
    /// The device tests run on virtual GPUs of all targets; docs/contribute/testing.md lists the steps.
    Test(TestArguments),
    /// Builds libamdhip64.so.7, HIP for C++ programs over AMD's HSA runtime or virtual GPUs, librocblas.so.5, rocBLAS on this project's
    /// kernels, librccl.so.1, RCCL between GPUs of one host, libhiprtc.so.7, the run-time compiler, and libhsa-runtime64.so.1, virtual GPUs for AMD's own HIP
    Dropin(DropinArguments),
    /// Runs the examples of AMD's hip-python on this project's HIP and run-time compiler
    ///
    /// The package is installed below the target folder. Those that need other libraries are left out, and named.
    HipPython(hip_python::Options),
    /// Runs a program on AMD's own ROCm libraries, over virtual GPUs: `cargo xtask rocm --with rocminfo -- rocminfo`
    ///
    /// The libraries of the release and all that they need are fetched from Debian into the target folder, once; this machine's own
    /// have no say. The virtual GPU takes the place of AMD's HSA runtime. The exit code is the program's. docs/use/amd-hip.md says
    /// more.
    Rocm(rocm_run::Options),
    /// Compiles, links and so makes run host programs with HIP in them, with the HIP library of this checkout, as `ferrocm hipcc` does
    ///
    /// Library and program are built first, as the tests have them. docs/use/hip-programs.md shows how to use it.
    Hipcc(hipcc::Options),
    /// Says where the HIP of this checkout is and how to use it, as `ferrocm hipconfig` does
    Hipconfig(hipcc::Options),
    /// Translates CUDA sources to HIP, line by line, or reports what does not translate
    ///
    /// A single source is written to the standard output; --in-place, --output, --diff, --check and --examine do otherwise.
    /// docs/use/hipify.md says more.
    Hipify(Box<hipify::HipifyArguments>),
    /// Puts this project's crates in the place of those through which a Rust program reaches CUDA: candle and the like then run on AMD
    /// GPUs, with no source edited
    ///
    /// Writes a line for each of cudarc, cudaforge and bindgen_cuda that the program depends on into its [patch.crates-io].
    /// docs/use/engines.md says more.
    Patch(patch::Options),
    /// Makes packages: for the registry, for Debian, for pip, archives and images for containers, with checksums, signatures and a bill of
    /// materials; or installs them as people do and runs what is in them
    ///
    /// docs/use/packages.md says what is in each.
    Package(package::Options),
    /// Checks whether everything is ready for a release, and writes its notes
    Release(package::ReleaseOptions),
    /// Generates the checked-in bindings of the -sys crates from the ROCm headers
    Bindgen(BindgenArguments),
    /// Compares crates/cudarc-on-hip with cudarc and writes docs/generated/cudarc.md: which of its items are there
    Cudarc(cudarc::Options),
    /// Pipelines for many repositories with GPU code, written from ci/fleet.toml, and run on this machine
    ///
    /// docs/use/fleet.md says more.
    #[command(subcommand)]
    Ci(ci::Task),
    /// Measures something and prints the figures
    #[command(subcommand)]
    Bench(bench::Benchmark),
    /// Measures which kernel of blas-on-kernels computes a product, by its sizes, and writes the table that the library reads
    Tune(tune::Options),
}

#[derive(Debug, Args)]
struct BuildKernelsArguments {
    /// Target to build for, such as gfx1100 or gfx90a:sramecc+:xnack-; may be repeated [default: FERROCM_TARGETS, else
    /// gfx90a, gfx942, gfx950, gfx1030, gfx1100, gfx1151, gfx1200 and gfx1201]
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
    /// Compress the code objects of each source into one file, as Builder::offload_compress embeds them, and show what that saves
    #[arg(long)]
    offload_compress: bool,
    /// Write what each kernel uses as JSON, to a file or the standard output, without tables there; equal builds give equal files
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = build_kernels::STDOUT)]
    json: Option<PathBuf>,
    /// Compare with the report of an earlier build, a file that --json wrote, or with `last`, the build before this one; the exit code is
    /// 2 if registers, LDS, scratch, spills or code rose or occupancy fell
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// What kernels may use, such as vgprs=64,spills=0 or 'gemm_*:vgprs=128'; may be repeated, and of several for the same figure the
    /// last one holds. Figures are code, vgprs, sgprs, agprs, lds, scratch, spills, and occupancy, which is a minimum; the exit code is
    /// 2 if a kernel exceeds a limit
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
struct TestArguments {
    /// Run the device tests on the AMD GPU of this machine, too
    #[arg(long)]
    gpu: bool,
    /// Run only the tests that load AMD's own libraries, on those of this ROCm release (5.2, 5.7, 6.4, 7.2, or all),
    /// which are fetched into the target folder; may be repeated
    #[arg(long, value_name = "RELEASE", value_delimiter = ',', conflicts_with = "gpu")]
    rocm: Vec<String>,
    /// Run only the test that decodes all kernels in Debian's rocBLAS of this ROCm release (5.7, 6.4, 7.2, or all), which are
    /// fetched into the target folder; may be repeated
    #[arg(long, value_name = "RELEASE", value_delimiter = ',', conflicts_with_all = ["gpu", "rocm"])]
    rocblas_kernels: Vec<String>,
    /// Run only the tests that need no foreign code, under Miri, which looks for undefined behaviour; rustup's nightly toolchain
    /// has it
    #[arg(long, conflicts_with_all = ["gpu", "rocm", "rocblas_kernels"])]
    miri: bool,
    /// Only build and run examples/own-crate, outside of this workspace: debug and release, with and without default features. The engine
    /// is compiled twice for that
    #[arg(long, conflicts_with_all = ["gpu", "rocm", "rocblas_kernels", "miri"])]
    template: bool,
    /// Run only the kernels of candle, as they are, on virtual GPUs, against candle's CPU backend. Cargo fetches its crates, and the
    /// engine is compiled once more
    #[arg(long, conflicts_with_all = ["gpu", "rocm", "rocblas_kernels", "miri", "template"])]
    candle: bool,
    /// Run only candle as it is, with its CUDA backend, on virtual GPUs: its own tests, and models against its CPU backend. Cargo fetches its
    /// crates and pip the models, its kernels and the engine are compiled, which takes a quarter of an hour the first time
    #[arg(long, conflicts_with_all = ["gpu", "rocm", "rocblas_kernels", "miri", "template", "candle"])]
    engines: bool,
    /// Run only this project's kernels, on virtual GPUs of five targets: those of candle's names with candle's tests, against its CPU backend,
    /// and all with their own tests, with all checks; and write docs/generated/kernels-checked.md. Cargo fetches candle's crates, and
    /// the engine is compiled once more
    #[arg(long, conflicts_with_all = ["gpu", "rocm", "rocblas_kernels", "miri", "template", "candle"])]
    kernels: bool,
    /// Run only AMD's own test programs of this suite (such as hsa, rccl or rocblas; all of them with `all`), which are fetched into the
    /// target folder, and write docs/generated/suites.md; may be repeated
    #[arg(long, value_name = "NAME", value_delimiter = ',', conflicts_with_all = ["gpu", "rocm", "rocblas_kernels", "miri", "template", "candle"])]
    suites: Vec<String>,
    /// With --suites: a target to run on; may be repeated [default: gfx1100 and gfx90a]
    #[arg(long, value_name = "TARGET", value_delimiter = ',', requires = "suites")]
    target: Vec<String>,
    /// With --suites: run on this project's HIP in the place of AMD's, those that need nothing but HIP
    #[arg(long, requires = "suites")]
    own_hip: bool,
    /// With --suites: run on this project's rocBLAS in the place of AMD's, those that use rocBLAS
    #[arg(long, requires = "suites")]
    own_blas: bool,
    /// With --suites: run on this project's RCCL in the place of AMD's, those that use RCCL
    #[arg(long, requires = "suites")]
    own_rccl: bool,
    /// With --suites: run on this project's run-time compiler in the place of AMD's, those that compile kernels
    #[arg(long, requires = "suites")]
    own_hiprtc: bool,
    /// With --suites: run only tests with names of this form (* for anything, : between several), and leave the page as it is
    #[arg(long, value_name = "PATTERN", requires = "suites")]
    filter: Option<String>,
    /// Run only the device tests on one virtual GPU, whose engine is compiled with overflow checks for it
    #[arg(long, conflicts_with_all = ["gpu", "rocm", "rocblas_kernels", "miri", "template", "candle"])]
    overflow_checks: bool,
    /// Run only the tests of ranks that `mpirun` starts: Debian's Open MPI is fetched into the target folder
    #[arg(long, conflicts_with_all = ["gpu", "rocm", "rocblas_kernels", "miri", "template", "candle", "overflow_checks"])]
    mpi: bool,
    /// Run only the device tests, all of them on virtual GPUs of all targets. Without it, tests of host code run on one of each size of
    /// waves
    #[arg(long, conflicts_with_all = ["gpu", "rocm", "rocblas_kernels", "miri", "template", "candle", "overflow_checks", "mpi"])]
    devices: bool,
    /// Run only the tests of memory that Vulkan and HIP share, on a virtual GPU and Mesa's Vulkan on the CPU: Debian's packages of two
    /// versions of Mesa are fetched into the target folder
    #[arg(long, conflicts_with_all = ["gpu", "rocm", "rocblas_kernels", "miri", "template", "candle", "overflow_checks", "mpi"])]
    vulkan: bool,
    /// Run only the tests that are judged by debuggers, GnuPG and nvcc, and fail where one of these is not installed
    #[arg(long, conflicts_with_all = ["gpu", "rocm", "rocblas_kernels", "miri", "template", "candle", "overflow_checks", "mpi"])]
    judges: bool,
    /// Run only pyopencl's own tests on AMD's OpenCL over virtual GPUs. Both are fetched into the target folder, with AMD's libraries, which is
    /// 0.9 GB to download
    #[arg(long, conflicts_with_all = ["gpu", "rocm", "rocblas_kernels", "miri", "template", "candle", "overflow_checks", "mpi", "vulkan"])]
    opencl: bool,
    /// Run only the tests of what makes packages, xtask/package, which is a workspace of its own. `cargo xtask package --check` tests packages
    #[arg(long, conflicts_with_all = ["gpu", "rocm", "rocblas_kernels", "miri", "template", "candle", "overflow_checks", "mpi"])]
    packages: bool,
    /// Of the steps that would run, run only those with this in their names
    #[arg(long, value_name = "TEXT", conflicts_with = "suites")]
    only: Option<String>,
    /// Run only the device tests of the kernels, on virtual gfx950, gfx1151 and gfx1200, which differ little from targets of the usual run.
    /// The kernels are compiled for them
    #[arg(long, conflicts_with_all = ["gpu", "rocm", "rocblas_kernels", "miri", "template", "candle", "overflow_checks"])]
    related: bool,
}

#[derive(Debug, Args)]
struct DropinArguments {
    /// Folder for the libraries [default: dropin in the target folder]
    #[arg(long, value_name = "DIR")]
    out: Option<std::path::PathBuf>,
    /// Optimise all of it, and leave out debug information: the virtual GPU's engine, which is always optimised, is compiled once more
    /// for this
    #[arg(long)]
    release: bool,
}

#[derive(Debug, Args)]
struct BindgenArguments {
    /// Change nothing; fail if a checked-in file differs from what the headers give
    #[arg(long)]
    check: bool,
    /// Further arguments for the generator; --help shows them
    #[arg(last = true)]
    more: Vec<String>,
}

fn main() -> ExitCode {
    match run_task(Cli::parse().task) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            // Most errors here tell their causes themselves.
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
        Task::BuildKernels(arguments) => return build_kernels::run(&arguments.into()),
        Task::Demo(options) => demo::demo(&options),
        Task::Test(TestArguments {
            suites, target, own_hip, own_blas, own_rccl, own_hiprtc, filter, ..
        }) if !suites.is_empty() => {
            let own = dropin::Own { hip: own_hip, blas: own_blas, rccl: own_rccl, hiprtc: own_hiprtc };
            suites::suites(&suites::Options { names: suites, targets: target, own, filter, folder: None })
        }
        Task::Test(TestArguments {
            gpu,
            rocm,
            rocblas_kernels,
            miri,
            template,
            candle,
            engines,
            kernels,
            overflow_checks,
            related,
            mpi,
            devices,
            vulkan,
            judges,
            opencl,
            packages,
            only,
            ..
        }) => test::test(test::Options {
            gpu,
            miri,
            template,
            candle,
            engines,
            kernels,
            overflow_checks,
            related,
            mpi,
            devices,
            vulkan,
            judges,
            opencl,
            packages,
            only,
            rocm: sysroot::releases(&rocm)?,
            rocblas_kernels: rocm::kernels::releases(&rocblas_kernels)?,
        }),
        Task::Dropin(DropinArguments { out, release }) => dropin::dropin(&dropin::Options { out, release }),
        Task::HipPython(options) => hip_python::run(&options),
        Task::Rocm(options) => return rocm_run::run(&options),
        Task::Hipcc(options) => return hipcc::run("hipcc", &options),
        Task::Hipconfig(options) => return hipcc::run("hipconfig", &options),
        Task::Patch(options) => patch::patch(&options),
        Task::Package(options) => package::package(&options),
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
