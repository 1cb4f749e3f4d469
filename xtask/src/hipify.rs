//! `cargo xtask hipify`: translates CUDA sources to HIP and reports what does not translate.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use hipify::command;
use hipify::perl::Facts;
use hipify::{Error, files};

use crate::tools;

/// The options of the translation, and one for this workspace.
#[derive(Debug, Args)]
pub(crate) struct HipifyArguments {
    /// Only regenerate the tables of names, from the installed hipify-perl or from this one
    #[arg(long, value_name = "HIPIFY-PERL", num_args = 0..=1, exclusive = true)]
    update_tables: Option<Option<PathBuf>>,
    #[command(flatten)]
    command: Option<command::Options>,
}

/// Translates, or updates the tables.
pub(crate) fn hipify(options: HipifyArguments) -> Result<ExitCode> {
    if let Some(hipify_perl) = options.update_tables {
        let installed = || kernel_build::toolchain::find().ok().and_then(|toolchain| toolchain.hipify);
        let Some(path) = hipify_perl.or_else(installed) else {
            anyhow::bail!("there is no hipify-perl; `cargo xtask setup` installs it");
        };
        update_tables(&path)?;
        return Ok(ExitCode::SUCCESS);
    }
    let Some(options) = options.command else { return Ok(ExitCode::SUCCESS) };
    Ok(command::run_program(&options))
}

fn update_tables(hipify_perl: &Path) -> Result<()> {
    let text = files::read(hipify_perl)?;
    let facts = Facts::read(&String::from_utf8_lossy(&text));
    if facts.names.is_empty() {
        return Err(Error::NoFacts(hipify_perl.to_owned()).into());
    }
    let folder = tools::workspace().join("crates/hipify/src/tables");
    for (name, text) in facts.tables() {
        files::write(&folder.join(&name), text.as_bytes())?;
        println!("{name:16} {:>5} names", text.lines().count());
    }
    Ok(())
}
