//! Why a job does not come together.

use std::time::Duration;

use crate::launcher::Launcher;

/// Why the ranks of a job do not find each other.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// No launcher has said which rank this is.
    #[error(
        "no launcher has started this process: none of {} is set; start it with mpirun, srun or torchrun",
        .looked_for.join(", ")
    )]
    NoLauncher {
        /// The variables that were looked for.
        looked_for: Vec<&'static str>,
    },
    /// A variable that the launcher ought to have set is not.
    #[error("{launcher} has set {given} and not {missing}")]
    Missing {
        /// The launcher.
        launcher: Launcher,
        /// The variable by which it was found.
        given: &'static str,
        /// What is missing.
        missing: String,
    },
    /// A variable's value means nothing.
    #[error("{variable} is `{value}`, {problem}")]
    Value {
        /// The variable.
        variable: &'static str,
        /// Its value.
        value: String,
        /// What is wrong with it.
        problem: String,
    },
    /// Two variables do not fit together.
    #[error("{first} is {first_value} and {second} is {second_value}: {problem}")]
    Contradiction {
        /// One variable.
        first: &'static str,
        /// Its value.
        first_value: u64,
        /// The other one.
        second: &'static str,
        /// Its value.
        second_value: u64,
        /// What does not fit.
        problem: &'static str,
    },
    /// Rank 0 cannot listen, or cannot be reached.
    #[error("rank {rank} at {address}: {problem}: {source}")]
    Network {
        /// This rank.
        rank: usize,
        /// Where rank 0 is.
        address: String,
        /// What was tried.
        problem: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// Not all ranks have come in time.
    #[error("rank 0 at {address} has waited {limit:?} in vain for the ranks {missing:?} of {size}")]
    Missed {
        /// Where rank 0 listens.
        address: String,
        /// How long.
        limit: Duration,
        /// Who has not come.
        missing: Vec<usize>,
        /// How many ranks there are.
        size: usize,
    },
    /// Who listens at rank 0's address refuses this rank.
    #[error("rank {rank} at {address}: {problem}")]
    Refused {
        /// This rank.
        rank: usize,
        /// Where rank 0 is.
        address: String,
        /// Why.
        problem: String,
    },
}
