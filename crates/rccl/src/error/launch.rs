//! Errors of starting a job.

use std::time::Duration;

use crate::launcher::Launcher;

/// Why the ranks of a job did not find each other.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// No launcher has set this process's rank.
    #[error(
        "no launcher started this process: none of {} is set; start it with mpirun, srun or torchrun",
        .looked_for.join(", ")
    )]
    NoLauncher {
        /// The variables that were looked for.
        looked_for: Vec<&'static str>,
    },
    /// The launcher did not set a variable that it should have set.
    #[error("{launcher} has set {given} but not {missing}")]
    Missing {
        /// The launcher.
        launcher: Launcher,
        /// The variable that identified it.
        given: &'static str,
        /// What is missing.
        missing: String,
    },
    /// The value of a variable is invalid.
    #[error("{variable} is `{value}`, {problem}")]
    Value {
        /// The variable.
        variable: &'static str,
        /// Its value.
        value: String,
        /// What is wrong with it.
        problem: String,
    },
    /// Two variables contradict each other.
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
        /// What must hold.
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
        /// The error of the system.
        source: std::io::Error,
    },
    /// Not all ranks connected in time.
    #[error("rank 0 at {address} waited {limit:?} for {size} ranks; missing: {missing:?}")]
    Missed {
        /// Where rank 0 listens.
        address: String,
        /// How long it waited.
        limit: Duration,
        /// The ranks that did not connect.
        missing: Vec<usize>,
        /// How many ranks there are.
        size: usize,
    },
    /// Rank 0 refused this rank.
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
