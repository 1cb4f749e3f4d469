//! `ferrocm bench`: a file per subcommand.

mod compare;
mod extract;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::{USAGE, output};

const EXAMPLES: &str = "\
Examples:
  ferrocm bench extract train.log --output h100.json    what a training log says of speed, memory and loss
  ferrocm bench compare h100.json mi300x.json           which is faster, by how much, at what cost

Exit status: 0 if all is well, 1 if something failed or a figure has regressed, 2 for a malformed command line; of `compare`, 2 also if a file
cannot be read or written.";

/// Records of training runs of both vendors: extracted from logs, compared
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

// Each has a file beside this one, with its help.
#[derive(Debug, Subcommand)]
enum Command {
    Extract(extract::Arguments),
    Compare(Box<compare::Arguments>),
}

/// Does what the subcommand says.
pub(crate) fn run(Arguments { command }: Arguments) -> anyhow::Result<ExitCode> {
    match command {
        Command::Extract(arguments) => extract::run(arguments).map(|()| ExitCode::SUCCESS),
        // Its status 1 says that a figure has regressed, so what failed has another.
        Command::Compare(arguments) => Ok(compare::run(&arguments).unwrap_or_else(|error| {
            output::tell_error(&error);
            ExitCode::from(USAGE)
        })),
    }
}
