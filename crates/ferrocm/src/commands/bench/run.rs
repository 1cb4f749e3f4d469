//! `ferrocm bench run`. What measures needs compiled kernels, and so the device compiler when this program is built: it is behind the
//! feature `measure`, for people who install this program to get that compiler.

use std::process::ExitCode;

#[cfg(feature = "measure")]
pub(crate) use measure::command::Arguments;

/// Measures a GPU (not part of this program: it is built without the feature `measure`)
///
/// `cargo install ferrocm --features measure` builds it in, once `ferrocm setup` has found or installed the device compiler.
#[cfg(not(feature = "measure"))]
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Those of a program that has it
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _arguments: Vec<String>,
}

/// Measures and prints; the exit status says whether it was a result, a failure or a malformed argument.
#[cfg(feature = "measure")]
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    match measure::command::execute(arguments) {
        Ok(text) => crate::output::print(&text).map(|()| ExitCode::SUCCESS),
        // The caller says which status a malformed command line or device URI has.
        Err(error) if error.is_usage() => Err(error.into()),
        Err(error) => {
            crate::output::tell_error(&error.into());
            Ok(ExitCode::FAILURE)
        }
    }
}

/// Says what is missing.
#[cfg(not(feature = "measure"))]
pub(crate) fn run(_: &Arguments) -> anyhow::Result<ExitCode> {
    crate::output::tell_error(&anyhow::anyhow!(
        "this program is built without what measures; `ferrocm setup` and then `cargo install ferrocm --features measure` \
         build it in. Results of GPUs also come from the logs of training programs: `ferrocm bench extract LOG…`"
    ));
    Ok(ExitCode::FAILURE)
}
