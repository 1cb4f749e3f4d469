//! `cargo xtask rocm`: runs a program on AMD's own libraries, over virtual GPUs built from this checkout.

use std::path::PathBuf;

use anyhow::Result;
use shared_commands::rocm::run;

use crate::dropin;
use crate::rocm::{self, sysroot};

/// What to run, and where.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: run::Options,
    /// Optimise all drop-in libraries, not only the virtual GPU
    #[arg(long)]
    release: bool,
    /// Folder of the sysroots [default: rocm in the target folder]
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
}

/// Creates what is missing, and becomes the program. Returns if no program is given.
pub(crate) fn run(Arguments { options, release, folder }: &Arguments) -> Result<()> {
    let folder = folder.clone().unwrap_or_else(sysroot::folder);
    options.run(&folder, rocm::FOR_OWN_KERNELS, |own| dropin::before_amds(*release, own))
}
