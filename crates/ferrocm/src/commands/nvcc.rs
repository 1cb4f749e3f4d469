//! `ferrocm nvcc`.

use std::ffi::OsString;

use clap::Args;
use setup::nvcc::{self, Nvcc};

use crate::commands::hipcc::Machine;
use crate::output;

/// Compiles and links CUDA programs, as NVIDIA's nvcc does
///
/// Runs clang from the toolchain that `ferrocm setup` finds or installs. All options of nvcc 12.8 are known:
/// used, ignored or refused. Without -arch=gfx1100 or similar, kernels are compiled for the default device,
/// real or virtual; names of NVIDIA's architectures are accepted. Programs are linked with this project's
/// libamdhip64.so.7, or with that of a ROCm if this project's is not installed.
#[derive(Debug, Args)]
#[command(after_help = nvcc::EXAMPLES, disable_help_flag = true)]
pub(crate) struct Arguments {
    /// Options and files
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    pub(crate) arguments: Vec<OsString>,
}

/// Compiles. Returns the status to exit with.
pub(crate) fn run(arguments: &[OsString]) -> anyhow::Result<u8> {
    // Help needs no toolchain.
    if let Some(text) = nvcc::help(arguments) {
        output::print(&text)?;
        return Ok(0);
    }
    let machine = Machine::new(nvcc::needs_targets(arguments))?;
    let hipcc = machine.hipcc()?;
    Ok(Nvcc::new(&hipcc, &setup::toolchain::cache_folder()?)?.run(arguments))
}
