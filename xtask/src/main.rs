//! Drives the workspace: `cargo xtask <command>`.

mod run;
mod setup;
mod table;
mod toolchain;

use clap::{Parser, Subcommand};

#[derive(Debug, Parser)]
#[command(name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    Setup {
        #[arg(long, short)]
        yes: bool,
        #[arg(long)]
        dry_run: bool,
        #[arg(long)]
        prefix_only: bool,
        #[arg(long)]
        update: bool,
    },
}

fn main() -> anyhow::Result<()> {
    match Cli::parse().command {
        Task::Setup { yes, dry_run, prefix_only, update } => {
            setup::setup(setup::Options { yes, dry_run, prefix_only, update })?
        }
    }
    Ok(())
}
