//! `ferrocm setup`.

use clap::Args;

use crate::PROGRAM;

const EXAMPLES: &str = "\
Examples:
  ferrocm setup --dry-run            list every package that would be installed
  ferrocm setup --yes                install without asking
  ferrocm setup --cuda               find or install NVIDIA's compiler
  FERROCM_CACHE=/srv/ferrocm ferrocm setup
                                     install somewhere else; builds need the same variable";

/// Finds the device compiler, or installs it into a folder of its own in the user's cache
///
/// Looks for an installed ROCm, then for clang 22 or later in PATH. If there is neither, Debian's packages of
/// clang, lld, the ROCm device libraries and the HIP headers are fetched from the mirror that this machine's
/// apt uses, verified with its key, and unpacked into toolchain/ in the cache folder (FERROCM_CACHE, else
/// ferrocm in the user's cache): on Debian 12, about 95 MB of downloads and 400 MB on disk. No root is
/// needed, and the system's packages and apt configuration stay as they are. On other systems it installs
/// nothing and lists what is needed.
///
/// With --cuda, looks for nvcc: NVCC, CUDA_HOME, PATH, /usr/local/cuda. If there is none, pip downloads
/// NVIDIA's packages of it, and they are unpacked into toolchain/cuda/ in the cache folder: 104 MB of
/// downloads and 285 MB on disk. That takes Python 3 with pip.
///
/// On a terminal, asks before it installs.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: setup::Options,
}

/// Makes sure that there is a device compiler.
pub(crate) fn run(Arguments { options }: Arguments) -> anyhow::Result<()> {
    Ok(setup::install(&PROGRAM, options)?)
}
