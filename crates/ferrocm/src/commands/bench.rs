//! `ferrocm bench`: one file per subcommand.

mod compare;
mod extract;
mod run;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::{USAGE, output};

const EXAMPLES: &str = "\
Examples:
  ferrocm bench run --output here.json                  measure the GPU of this machine
  ferrocm bench extract train.log --output h100.json    speed, memory and loss from a training log
  ferrocm bench compare h100.json mi300x.json           which is faster, by how much, and the cost

Exit status: 0 if all is well, 1 if something failed or a figure has regressed, 2 for a malformed command line or device URI, and
for `compare` also if a file cannot be read or written.";

/// Measures GPUs; extracts records of training runs of both vendors from logs, and compares them
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

// Each has its own file, with its help.
#[derive(Debug, Subcommand)]
enum Command {
    Run(Box<run::Arguments>),
    Extract(extract::Arguments),
    Compare(Box<compare::Arguments>),
}

/// Runs the subcommand.
pub(crate) fn run(Arguments { command }: Arguments) -> anyhow::Result<ExitCode> {
    let judged = match command {
        Command::Extract(arguments) => return extract::run(arguments).map(|()| ExitCode::SUCCESS),
        Command::Run(arguments) => run::run(&arguments),
        Command::Compare(arguments) => compare::run(&arguments),
    };
    // Status 1 means that a check failed or a figure regressed. Other errors use another status.
    Ok(judged.unwrap_or_else(|error| {
        output::tell_error(&error);
        ExitCode::from(USAGE)
    }))
}
