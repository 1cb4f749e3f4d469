//! `ferrocm rocm`.

use std::path::PathBuf;

use clap::Args;
use shared_commands::libraries::First;
use shared_commands::rocm::run::Options;

use crate::commands::run::libraries;

const EXAMPLES: &str = "\
Examples:
  ferrocm rocm --with rocminfo -- rocminfo          AMD's rocminfo, on a virtual GPU
  ferrocm rocm --device vgpu:gfx90a -- ./saxpy -n 8
                                                    a program on AMD's HIP 7.2, on a virtual MI200
  ferrocm rocm --version 6.4 -- ./saxpy             the same on AMD's HIP 6.4
  ferrocm rocm --own-hip -- ./saxpy                 on this project's HIP, with AMD's other libraries
  ferrocm rocm --with rocblas                       fetch AMD's tests of rocBLAS, and list the programs

Exit status: the program's; 1 if something cannot be fetched or the program cannot be started, 2 for a malformed command line.";

/// Runs a program on AMD's own ROCm libraries, over virtual GPUs
///
/// Fetches the libraries of a release with all their dependencies from Debian into the cache folder, once.
/// This machine's own libraries are not used. The virtual GPU replaces AMD's HSA runtime.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: Options,
    /// Folder of this project's libraries [default: FERROCM_LIBRARIES, else ../lib/ferrocm beside this
    /// program]
    #[arg(long, value_name = "DIR")]
    libraries: Option<PathBuf>,
    /// Folder that AMD's libraries are fetched into [default: rocm/libraries in the cache folder]
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
}

/// Fetches what is missing and becomes the program. Returns if no program is given.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let libraries = libraries(arguments.libraries.clone())?;
    let folder = match &arguments.folder {
        Some(folder) => folder.clone(),
        None => setup::toolchain::cache_folder()?.join("rocm/libraries"),
    };
    arguments.options.run(&folder, &[], |own| Ok(First::in_folder(&libraries, own)?))
}
