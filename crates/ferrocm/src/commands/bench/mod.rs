//! `ferrocm bench`: a file per subcommand.

mod extract;

use clap::{Args, Subcommand};

const EXAMPLES: &str = "\
Examples:
  ferrocm bench extract train.log        what a training log says of speed, memory and loss";

/// Records of training runs of both vendors: extracted from logs
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Extract(extract::Arguments),
}

/// Does what the subcommand says.
pub(crate) fn run(Arguments { command }: Arguments) -> anyhow::Result<()> {
    match command {
        Command::Extract(arguments) => extract::run(arguments),
    }
}
