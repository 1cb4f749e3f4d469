//! `ferrocm hipify`.

use std::process::ExitCode;

use clap::Args;
use hipify::command;

const EXAMPLES: &str = "\
Examples:
  ferrocm hipify kernel.cu             print the translation
  ferrocm hipify --check src           report what does not translate, for people and for CI
  ferrocm hipify --check --format sarif src
                                       the same for code hosts; --format json for other programs
  ferrocm hipify --diff src            show what would change
  ferrocm hipify --in-place src        translate every source below src, and keep the originals as FILE.prehip
  ferrocm hipify --output hip src      write the translations below hip
  ferrocm hipify --examine src         count by family, kind and name

Exit status: 0 if all is well, 1 if --check finds an error (with --strict: or a warning), 2 if a file cannot be read or
written, or for a malformed command line.";

/// Translates CUDA sources to HIP, line by line, or reports what does not translate
///
/// Renames everything that has a HIP equivalent, in code, strings and comments. Reports the rest with line
/// and advice. Every line keeps its number. Needs neither CUDA nor HIP nor a compiler.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: command::Options,
}

/// Translates or reports.
pub(crate) fn run(Arguments { options }: &Arguments) -> ExitCode {
    command::run_program(options)
}
