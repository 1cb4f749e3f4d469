//! `ferrocm completions` and `ferrocm man`: shell completions and manual pages, generated from the command
//! line's definition.

use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::{Cli, PROGRAM, output};

const COMPLETIONS: &str = "\
Examples:
  ferrocm completions bash > ~/.local/share/bash-completion/completions/ferrocm
  ferrocm completions zsh > ~/.zfunc/_ferrocm
  ferrocm completions fish > ~/.config/fish/completions/ferrocm.fish

The packages install them.";

/// Prints the completions for a shell
#[derive(Debug, Args)]
#[command(after_help = COMPLETIONS)]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

const MAN: &str = "\
Examples:
  ferrocm man ~/.local/share/man/man1
                              write ferrocm.1, ferrocm-run.1 and so on

The packages install them.";

/// Writes the manual pages, one per command
#[derive(Debug, Args)]
#[command(after_help = MAN)]
pub(crate) struct Man {
    /// Folder for the pages; created if missing
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Prints the completions.
pub(crate) fn completions(Completions { shell }: Completions) -> anyhow::Result<()> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), PROGRAM.name, &mut text);
    output::print(&String::from_utf8(text).context("completions are text")?)
}

/// Writes the pages.
pub(crate) fn man(Man { folder }: &Man) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    clap_mangen::generate_to(Cli::command(), folder)
        .with_context(|| format!("cannot write the pages to {}", folder.display()))
}
