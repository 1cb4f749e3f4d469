//! `cargo xtask hipcc`, `cargo xtask hipconfig` and `cargo xtask nvcc`: like `ferrocm`'s commands, with the
//! HIP library of this checkout.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};
use setup::hipcc::LIBRARIES_VARIABLE;

use crate::dropin;

/// Arguments for the program.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Options and files; see `ferrocm hipcc --help`, `ferrocm hipconfig --help` and `ferrocm nvcc --help`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    arguments: Vec<OsString>,
}

/// Builds library and program, and becomes the program's `command`.
pub(crate) fn run(command: &str, Options { arguments }: &Options) -> Result<ExitCode> {
    let (folder, program) = dropin::libraries_and_program()?;
    let mut ferrocm = Command::new(&program);
    ferrocm.arg(command).args(arguments);
    if std::env::var_os(LIBRARIES_VARIABLE).is_none_or(|value| value.is_empty()) {
        ferrocm.env(LIBRARIES_VARIABLE, folder);
    }
    Err(ferrocm.exec()).with_context(|| format!("cannot start {}", program.display()))
}
