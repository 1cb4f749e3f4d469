//! `ferrocm patch`.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use shared_commands::patch::{self, Options};

use crate::output;

const EXAMPLES: &str = "\
Examples:
  ferrocm patch --checkout ~/ferrocm my-engine           have my-engine use HIP where it would use CUDA
  ferrocm patch --checkout ~/ferrocm --remove my-engine  have it use CUDA again

Exit status: 0 if all is well, 1 if something failed, and then the program is as it was, 2 for a malformed command line.";

/// Puts this project's crates in the place of those through which a Rust program reaches CUDA
///
/// Writes a line for each of cudarc, cudaforge and bindgen_cuda that the program depends on into its [patch.crates-io]: candle and the like
/// then run on AMD GPUs, with no source edited. The crates are those of a checkout of this project's repository.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: Options,
    /// The checkout
    #[arg(long, value_name = "DIR")]
    checkout: PathBuf,
}

/// Changes the program's manifest, and says what that does.
pub(crate) fn run(Arguments { options, checkout }: &Arguments) -> anyhow::Result<()> {
    // Cargo would look a relative path up in the folder of the program.
    let checkout = checkout.canonicalize().with_context(|| format!("cannot find {}", checkout.display()))?;
    for line in patch::patch(options, &checkout)? {
        output::print(&format!("{line}\n"))?;
    }
    Ok(())
}
