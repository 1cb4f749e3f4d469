//! The program that a person runs.

use device_compiler::toolchain::Search;

/// The program that a person runs, as texts call it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Program {
    /// What is typed before a subcommand: `ferrocm`.
    pub name: &'static str,
    /// What this program needs besides the toolchain on a machine on which nothing can be installed: a line each.
    pub also_needs: &'static [&'static str],
}

impl Program {
    /// A command of this program, as it is typed.
    #[must_use]
    pub fn command(&self, subcommand: &str) -> String {
        format!("{} {subcommand}", self.name)
    }

    /// Where the environment says that a toolchain is, with messages that name this program.
    #[must_use]
    pub fn search(&self) -> Search {
        Search { setup: Some(self.command("setup")), ..Search::from_env() }
    }
}
