//! `cargo xtask bench <what>`: figures for the documentation.

mod blas;
mod models;
mod rccl;

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};
use clap::Subcommand;
use setup::run;

use crate::engines::CANDLE_VERSION;
use crate::rocm::sysroot;
use crate::test::{candle, engines};
use crate::{dropin, registry, test_devices, tools};

/// The benchmarks.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum Benchmark {
    /// Calls through a function table, compared with linked calls and a symbol look-up per call; also loading
    /// a library. Needs a C compiler, no GPU
    Sys,
    /// A build script that compiles CUDA sources, by default candle's eleven core modules: cold, warm and
    /// after edits, compared with a plain loop of the same compiler; --help after it lists its options
    #[command(disable_help_flag = true)]
    Build {
        /// Options of the benchmark
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
        options: Vec<OsString>,
    },
    /// The safe API, compared with raw calls of the same HIP library: launches, copies, allocations, events,
    /// graphs; --help after it lists its options
    #[command(disable_help_flag = true)]
    Hip {
        /// Options of the benchmark
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
        options: Vec<OsString>,
    },
    /// Recorded work of `hal`, compared with streams and graphs of `hip` on the same virtual GPU, and of
    /// AMD's HIP library, which is fetched, on another one
    Hal {
        /// AMD's release
        #[arg(long, value_name = "RELEASE", default_value = "7.2")]
        rocm: String,
        /// The virtual GPU
        #[arg(long, value_name = "URI", default_value = "vgpu:gfx1100?cus=2")]
        device: String,
        /// Options of the benchmark: --kernels, --repeat
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
        options: Vec<OsString>,
    },
    /// The translation of CUDA sources, compared with hipify-perl if installed; --help after it lists its
    /// options
    #[command(disable_help_flag = true)]
    Hipify {
        /// Options of the benchmark
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
        options: Vec<OsString>,
    },
    /// Raw calls of hip-on-hsa over the virtual GPU, compared with AMD's HIP library, which is fetched, over
    /// the same virtual GPU
    HipOnHsa {
        /// AMD's release
        #[arg(long, value_name = "RELEASE", default_value = "7.2")]
        rocm: String,
        /// The virtual GPU
        #[arg(long, value_name = "URI", default_value = "vgpu:gfx1100")]
        device: String,
        /// Options of `cargo xtask bench hip`, such as --repeat, --batch and --case
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
        options: Vec<OsString>,
    },
    /// Matrix products on virtual GPUs, by this project's rocBLAS and by AMD's, which is fetched; needs a C
    /// compiler
    Blas(blas::Options),
    /// Language models on the CPU and on virtual GPUs, beside llama.cpp and candle on the same CPU, which are
    /// fetched and compiled
    Models(models::Options),
    /// Collectives between virtual GPUs by size, by this project's RCCL, by AMD's, which is fetched, and a
    /// plain copy; needs a C compiler
    Rccl(rccl::Options),
    /// Instructions and bytes of this project's kernels on virtual GPUs, compared with the minimum of their
    /// operations, and an estimate for real GPUs; --help after it lists its options
    #[command(disable_help_flag = true)]
    Kernels {
        /// Options of the benchmark
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
        options: Vec<OsString>,
    },
    /// candle's operations through its CUDA backend, compared with launches of the same kernels by `hip`; on
    /// an NVIDIA GPU, compared with the real cudarc, which takes CUDA's toolkit
    Engines {
        /// The GPU
        #[arg(long, value_name = "URI", default_value = "vgpu:gfx1100")]
        device: String,
    },
    /// The virtual GPU on seven kernels, per target and number of threads, compared with PoCL if installed;
    /// --help after it lists its options
    #[command(disable_help_flag = true)]
    Vgpu {
        /// Options of the benchmark
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
        options: Vec<OsString>,
    },
}

impl Benchmark {
    /// The package of the benchmark, and its folder in `benches`.
    fn package(&self) -> (&'static str, &'static str) {
        match self {
            Benchmark::Blas(_) | Benchmark::Models(_) | Benchmark::Rccl(_) | Benchmark::Engines { .. } => {
                ("xtask", "../xtask")
            }
            Benchmark::Sys => ("sys-call", "sys-call"),
            Benchmark::Build { .. } => ("build-bench", "build"),
            Benchmark::Hip { .. } | Benchmark::HipOnHsa { .. } => ("hip-bench", "hip"),
            Benchmark::Hal { .. } => ("hal-bench", "hal"),
            Benchmark::Hipify { .. } => ("hipify-bench", "hipify"),
            Benchmark::Kernels { .. } => ("kernels-bench", "kernels"),
            Benchmark::Vgpu { .. } => ("vgpu-bench", "vgpu"),
        }
    }
}

/// Builds and runs a benchmark, which prints its figures.
pub(crate) fn bench(what: &Benchmark) -> Result<()> {
    if let Benchmark::Blas(options) = what {
        return blas::bench(options);
    }
    if let Benchmark::Models(options) = what {
        return models::bench(options);
    }
    if let Benchmark::Rccl(options) = what {
        return rccl::bench(options);
    }
    if let Benchmark::Engines { device } = what {
        return engines::bench(device);
    }
    let mut command = command(what);
    match what {
        Benchmark::Hal { rocm, device, .. } | Benchmark::HipOnHsa { rocm, device, .. } => {
            on_amd_hip(&mut command, rocm, device)?;
        }
        Benchmark::Build { options } if !names_sources(options) => {
            let options = candle_modules(&registry::fetch(candle::KERNELS, CANDLE_VERSION)?, options);
            run::run(&mut told(command, &Benchmark::Build { options }))?;
            return Ok(());
        }
        Benchmark::Kernels { options } => {
            run::run(&mut built_with_tests(options))?;
            command = tools::built(what.package().0);
        }
        _ => {}
    }
    run::run(&mut told(command, what))?;
    Ok(())
}

/// Builds the benchmark of kernels like the tests. Their profile also optimises the virtual GPU, which is all
/// that matters, and tests and benchmark share one build. Cargo builds a program for the tests of its
/// package.
fn built_with_tests(options: &[OsString]) -> Command {
    let mut command = tools::cargo();
    command.args(["test", "--quiet", "--no-run"]).args(tools::WHOLE);
    command.args(["--test", "runs", "--manifest-path"]);
    command.arg(tools::workspace().join("Cargo.toml"));
    if !options.iter().any(|option| option.to_string_lossy().starts_with("--target")) {
        test_devices::for_all_test_devices(&mut command);
    }
    command
}

/// Whether the arguments of the build benchmark name sources, or only ask for its options.
fn names_sources(options: &[OsString]) -> bool {
    let own = options.iter().map(|option| option.to_string_lossy()).take_while(|option| option != "--");
    own.into_iter()
        .any(|option| ["--source", "--help", "-h"].contains(&&*option) || option.starts_with("--source="))
}

/// The modules that candle loads, with candle's compiler options as far as clang supports them.
fn candle_modules(candle: &Path, options: &[OsString]) -> Vec<OsString> {
    let mut all = vec!["--source".into(), candle.join("src").into_os_string()];
    for module in candle::MODULES {
        all.extend(["--only".into(), format!("{module}.cu").into()]);
    }
    let (own, flags) =
        options.split_at(options.iter().position(|option| option == "--").unwrap_or(options.len()));
    all.extend(own.iter().cloned().chain(["--".into(), "-std=c++17".into()]));
    all.extend(flags.iter().skip(1).cloned());
    all
}

/// The benchmark runs in the caller's folder, because files on its command line are relative to it.
fn command(what: &Benchmark) -> Command {
    let mut command = tools::cargo();
    // For builds, the time of an unoptimised build script matters.
    let profile = if matches!(what, Benchmark::Build { .. }) { "build-script" } else { "release" };
    command.args(["run", "--quiet", "--profile", profile, "--manifest-path"]);
    command.arg(tools::workspace().join("Cargo.toml")).args(["--package", what.package().0]);
    command
}

/// The command with the benchmark's own arguments, after which cargo takes no options.
fn told(mut command: Command, what: &Benchmark) -> Command {
    match what {
        Benchmark::Sys
        | Benchmark::Blas(_)
        | Benchmark::Models(_)
        | Benchmark::Rccl(_)
        | Benchmark::Engines { .. } => {}
        Benchmark::Build { options }
        | Benchmark::Hip { options }
        | Benchmark::Hipify { options }
        | Benchmark::Vgpu { options } => {
            command.arg("--").args(options);
        }
        // It runs without Cargo.
        Benchmark::Kernels { options } => {
            command.args(options);
        }
        Benchmark::Hal { device, options, .. } | Benchmark::HipOnHsa { device, options, .. } => {
            command.args(["--", "--device", device, "--against", "amdgpu:0"]).args(options);
        }
    }
    command
}

/// Makes a command run with AMD's HIP library of a release, which finds the virtual GPU in place of AMD's HSA
/// library.
fn on_amd_hip(command: &mut Command, release: &str, device: &str) -> Result<()> {
    let &[release] = &sysroot::releases(&[release.to_owned()])?[..] else {
        bail!("`{release}` is more than one release: name one with --rocm");
    };
    let hsa = dropin::hsa(true)?;
    sysroot::apply(&sysroot::make(release, &sysroot::folder())?, command, Some(&hsa))?;
    command.env(variables::HSA_DEVICE.name, device);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hal() -> Benchmark {
        let options = ["--kernels", "5"].map(OsString::from).to_vec();
        Benchmark::Hal { rocm: "7.2".to_owned(), device: "vgpu:gfx90a".to_owned(), options }
    }

    fn hip_on_hsa() -> Benchmark {
        let options = ["--repeat", "3"].map(OsString::from).to_vec();
        Benchmark::HipOnHsa { rocm: "7.2".to_owned(), device: "vgpu:gfx90a".to_owned(), options }
    }

    #[test]
    fn every_benchmark_is_a_package_of_this_workspace() {
        let options = Vec::new;
        for what in [
            Benchmark::Sys,
            Benchmark::Build { options: options() },
            hal(),
            Benchmark::Hip { options: options() },
            Benchmark::Hipify { options: options() },
            Benchmark::Kernels { options: options() },
            Benchmark::Vgpu { options: options() },
            hip_on_hsa(),
        ] {
            let (package, folder) = what.package();
            let manifest = tools::workspace().join("benches").join(folder).join("Cargo.toml");
            let text = std::fs::read_to_string(&manifest).expect("its manifest");
            assert!(text.contains(&format!("name = \"{package}\"")), "{}", manifest.display());
            assert!(run::describe(&command(&what)).contains(package));
        }
    }

    #[test]
    fn builds_are_of_candles_modules_unless_told_otherwise() {
        let options = |texts: &[&str]| texts.iter().map(OsString::from).collect::<Vec<_>>();
        let all = candle_modules(Path::new("/candle"), &options(&["--targets", "gfx1100", "--", "-O1"]));
        let text: Vec<_> = all.iter().map(|option| option.to_string_lossy()).collect();
        let text = text.join(" ");
        assert!(text.starts_with("--source /candle/src --only affine.cu --only binary.cu "), "{text}");
        assert!(text.ends_with(" --only unary.cu --targets gfx1100 -- -std=c++17 -O1"), "{text}");
        assert_eq!(text.matches("--only").count(), 11);
        for named in [&["--source", "a"][..], &["--source=a"], &["--repeat", "1", "--help"]] {
            assert!(names_sources(&options(named)), "{named:?}");
        }
        assert!(!names_sources(&options(&["--repeat", "1", "--", "--help"])));
        // Not optimised, like Cargo's build scripts.
        let command = run::describe(&command(&Benchmark::Build { options: Vec::new() }));
        assert!(command.contains("--profile build-script") && !command.contains("release"), "{command}");
        let workspace =
            std::fs::read_to_string(tools::workspace().join("Cargo.toml")).expect("the workspace");
        let (_, profile) = workspace.split_once("[profile.build-script").expect("the profile");
        assert!(profile.contains("inherits = \"dev\"") && profile.contains("\nopt-level = 0"), "{profile}");
    }

    #[test]
    fn the_kernels_are_those_of_the_tests_unless_targets_are_named() {
        let built =
            |options: &[&str]| built_with_tests(&options.iter().map(OsString::from).collect::<Vec<_>>());
        assert!(run::describe(&built(&[])).contains("ferrocm/models --test runs"));
        let tests = tools::workspace().join("benches/kernels/tests/runs.rs");
        assert!(tests.is_file(), "{}", tests.display());
        let names = |command: &Command| command.get_envs().any(|(name, _)| name == tools::TARGETS);
        assert_eq!(names(&built(&["--repeat", "1"])), tools::variable(tools::TARGETS).is_none());
        assert!(!names(&built(&["--target", "gfx950"])) && !names(&built(&["--target=gfx950"])));
    }

    #[test]
    fn options_reach_the_benchmark() {
        let text = |what: &Benchmark| run::describe(&told(command(what), what));
        let options = ["--threads", "1", "--help"].map(OsString::from).to_vec();
        let vgpu = text(&Benchmark::Vgpu { options: options.clone() });
        assert!(vgpu.ends_with("-- --threads 1 --help"), "{vgpu}");
        let kernels = told(Command::new("kernels-bench"), &Benchmark::Kernels { options });
        assert_eq!(run::describe(&kernels), "kernels-bench --threads 1 --help");
        let hip = text(&hip_on_hsa());
        assert!(hip.ends_with("-- --device vgpu:gfx90a --against amdgpu:0 --repeat 3"), "{hip}");
        let hal = text(&hal());
        assert!(hal.ends_with("-- --device vgpu:gfx90a --against amdgpu:0 --kernels 5"), "{hal}");
    }
}
