//! `ferrocm bench run`. It has kernels, so building it needs the device compiler. It is behind the feature
//! `measure` because people install this program to get that compiler.

use std::process::ExitCode;

#[cfg(feature = "measure")]
pub(crate) use measure::command::Arguments;

/// Measures a GPU (not part of this program: it is built without the feature `measure`)
///
/// `cargo install ferrocm --features measure` builds it in, once `ferrocm setup` has found or installed the
/// device compiler.
#[cfg(not(feature = "measure"))]
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Arguments of a program built with it
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _arguments: Vec<String>,
}

/// Measures and prints. The exit status tells a result from a failure and from a malformed argument.
#[cfg(feature = "measure")]
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    match measure::command::execute(arguments) {
        Ok(text) => crate::output::print(&text).map(|()| ExitCode::SUCCESS),
        // The caller chooses the status for a malformed command line or device URI.
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
        "this program is built without the feature `measure`; run `ferrocm setup`, then `cargo install ferrocm \
         --features measure`. Results of GPUs also come from the logs of training programs: `ferrocm bench extract \
         LOG…`"
    ));
    Ok(ExitCode::FAILURE)
}
