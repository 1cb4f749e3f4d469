//! The program that a person runs.

use device_compiler::toolchain::Search;

/// The program that the user runs, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Program {
    /// The text before a subcommand: `ferrocm`.
    pub name: &'static str,
    /// What this program needs besides the toolchain on a machine without packages, one line each.
    pub also_needs: &'static [&'static str],
}

impl Program {
    /// A command of this program, as typed.
    #[must_use]
    pub fn command(&self, subcommand: &str) -> String {
        format!("{} {subcommand}", self.name)
    }

    /// The toolchain search of the environment, with messages that name this program.
    #[must_use]
    pub fn search(&self) -> Search {
        Search { setup: Some(self.command("setup")), ..Search::from_env() }
    }
}
