//! `ferrocm patch`.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use shared_commands::patch::{self, Options};

use crate::output;

const EXAMPLES: &str = "\
Examples:
  ferrocm patch --checkout ~/ferrocm my-engine           make my-engine use HIP instead of CUDA
  ferrocm patch --checkout ~/ferrocm --remove my-engine  make it use CUDA again

Exit status: 0 if all is well, 1 if something failed (the program is then unchanged), 2 for a malformed command line.";

/// Replaces the crates through which a Rust program uses CUDA by this project's
///
/// Adds a line to the program's [patch.crates-io] for each of cudarc, cudaforge and bindgen_cuda that it
/// depends on. Programs such as candle then run on AMD GPUs without source changes. The crates come from a
/// checkout of this project's repository.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: Options,
    /// The checkout
    #[arg(long, value_name = "DIR")]
    checkout: PathBuf,
}

/// Changes the program's manifest and prints the effect.
pub(crate) fn run(Arguments { options, checkout }: &Arguments) -> anyhow::Result<()> {
    // Cargo would resolve a relative path against the program's folder.
    let checkout = checkout.canonicalize().with_context(|| format!("cannot find {}", checkout.display()))?;
    for line in patch::patch(options, &checkout)? {
        output::print(&format!("{line}\n"))?;
    }
    Ok(())
}
