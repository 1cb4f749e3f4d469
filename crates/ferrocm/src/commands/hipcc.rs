//! `ferrocm hipcc` and `ferrocm hipconfig`.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use device_compiler::toolchain::Toolchain;
use hip::Device;
use setup::hipcc::{self, BUNDLER, Hipcc, Mode, Parts, bundler};

use crate::commands::run::{own_libraries, this_program};
use crate::{PROGRAM, output};

const EXAMPLES: &str = "\
Examples:
  ferrocm hipcc saxpy.hip -o saxpy && ./saxpy
                                       compile for this machine's GPU, or the virtual one, and run there
  ferrocm hipcc --offload-arch=gfx1100 --offload-arch=gfx90a -c saxpy.hip
  ferrocm hipcc --genco kernels.hip -o kernels.co
                                       only code objects, for hipModuleLoad
  cmake -DCMAKE_PREFIX_PATH=$(ferrocm hipconfig --path) -DCMAKE_CXX_COMPILER=$(ferrocm hipconfig --path)/bin/hipcc ..

Environment: HIPCC_VERBOSE (1 shows the command, 2 places, 4 the arguments; add them up), HIPCC_COMPILE_FLAGS_APPEND,
HIPCC_LINK_FLAGS_APPEND, HCC_AMDGPU_TARGET (targets if none are named), HIP_COMPILE_CXX_AS_HIP (0 compiles C++ sources as C++).

Exit status: clang's; 1 if it cannot be started or there is no library to link with.";

/// Compiles and links HIP programs, as AMD's hipcc does
///
/// Runs clang from the toolchain that `ferrocm setup` finds or installs. .hip, .cu and C++ sources are
/// compiled as HIP. Programs are linked with this project's libamdhip64.so.7, or with that of a ROCm if this
/// project's is not installed, and find it when they run. Without --offload-arch, kernels are compiled for
/// the default device, real or virtual. All other options are clang's.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Options and files
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    pub(crate) arguments: Vec<OsString>,
}

const CONFIG_EXAMPLES: &str = "\
Examples:
  ferrocm hipconfig                    all settings
  ferrocm hipconfig --path             a folder for CMAKE_PREFIX_PATH, where find_package(hip) finds HIP
  cmake -DCMAKE_HIP_COMPILER=$(ferrocm hipconfig --hipclangpath)/clang++ ..
                                       CMake's own language HIP

Options: --path and --rocmpath (a folder laid out like ROCm's, which this makes in the cache folder), --hipclangpath (the folder of clang++),
--version, --cpp_config, --platform, --compiler, --runtime, --targets (those of the default device); without an option or with --full, all of them.";

/// Says where HIP is and how to use it, as AMD's hipconfig does
#[derive(Debug, Args)]
#[command(after_help = CONFIG_EXAMPLES)]
pub(crate) struct ConfigArguments {
    /// What to print
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
    options: Vec<OsString>,
}

/// Precedes clang's arguments if a build system calls clang by its own name.
const AS: &str = "--as-";

/// Compiles. Returns the status to exit with.
pub(crate) fn run(arguments: &[OsString]) -> anyhow::Result<u8> {
    let (mode, arguments) = match arguments.split_first() {
        Some((first, rest)) => match first.to_str().and_then(|first| first.strip_prefix(AS)) {
            Some("clang") => (Mode::Clang, rest),
            Some("clang++") => (Mode::ClangCxx, rest),
            Some(BUNDLER) => {
                bundler::run(rest)?;
                return Ok(0);
            }
            _ => (Mode::Hipcc, arguments),
        },
        None => anyhow::bail!("nothing to compile: `ferrocm hipcc --help` shows examples"),
    };
    let machine = Machine::new(Hipcc::needs_targets(mode, arguments))?;
    let hipcc = machine.hipcc()?;
    let task = hipcc.task(mode, arguments)?;
    if mode == Mode::Hipcc {
        hipcc::tell(&hipcc, arguments, &task);
    }
    Ok(task.perform()?)
}

/// Prints the requested settings.
pub(crate) fn config(ConfigArguments { options }: &ConfigArguments) -> anyhow::Result<()> {
    const ALL: [&str; 8] = [
        "--version",
        "--path",
        "--rocmpath",
        "--hipclangpath",
        "--cpp_config",
        "--platform",
        "--compiler",
        "--runtime",
    ];
    let options: Vec<&str> = options.iter().map(|option| option.to_str().unwrap_or_default()).collect();
    let is_full = |option: &&str| ["--full", "-f"].contains(option);
    // Called as rocm_agent_enumerator, the program gets `-t GPU`, which limits it to GPUs. It prints only
    // GPUs anyway.
    let options: Vec<&str> = match options.as_slice() {
        ["--targets", ..] => vec!["--targets"],
        [] => ALL.to_vec(),
        _ if options.iter().any(is_full) => ALL.to_vec(),
        _ => options,
    };
    let machine = Machine::new(options.contains(&"--targets"))?;
    let hipcc = machine.hipcc()?;
    for option in &options {
        let answer = hipcc::config(&hipcc, option);
        let answer = answer.with_context(|| {
            format!("hipconfig has no option {option}: `ferrocm hipconfig --help` lists them")
        })?;
        match options.len() {
            1 => output::print(&format!("{answer}\n"))?,
            _ => output::print(&format!("{:13} {answer}\n", option.trim_start_matches('-')))?,
        }
    }
    Ok(())
}

/// Toolchain, library and target for programs.
#[derive(Debug)]
pub(crate) struct Machine {
    toolchain: Toolchain,
    library: Option<PathBuf>,
    program: PathBuf,
    targets: Vec<String>,
}

impl Machine {
    /// Finds the toolchain, the library and, if wanted, the default device's target.
    pub(crate) fn new(with_target: bool) -> anyhow::Result<Self> {
        let toolchain = PROGRAM.search().find()?;
        let library = hipcc::library(own_libraries()?.as_deref(), &toolchain);
        let targets = match with_target {
            true => vec![Device::open_default()?.target().processor.clone()],
            false => Vec::new(),
        };
        Ok(Self { toolchain, library, program: this_program()?, targets })
    }

    /// A hipcc that uses this setup.
    pub(crate) fn hipcc(&self) -> anyhow::Result<Hipcc<'_>> {
        let Self { toolchain, library, program, targets } = self;
        let parts = Parts { toolchain, library: library.as_deref(), program, targets };
        Ok(Hipcc::new(parts, &setup::toolchain::cache_folder()?)?)
    }
}
