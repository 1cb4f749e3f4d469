//! Ranks that Open MPI's `mpirun` starts: `cargo xtask test mpi` fetches it, and runs these tests.

use std::process::{Command, Output};

use crate::job::rank_command;
use crate::killed::{Phase, Plan};

/// The variable with the path of `mpirun`.
const MPIRUN: &str = "FERROCM_TEST_MPIRUN";

/// Runs a task under `mpirun`; returns the result and all output.
fn mpirun(options: &[&str], size: usize, task: &str, variables: &[(&str, String)]) -> (Output, String) {
    let mpirun = std::env::var(MPIRUN).unwrap_or_else(|_| panic!("{MPIRUN} does not name an mpirun"));
    let rank = rank_command(task);
    let mut command = Command::new(mpirun);
    command.args(["-n", &size.to_string(), "--oversubscribe"]).args(options);
    command.arg(rank.get_program()).args(rank.get_args());
    for (name, value) in rank.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    for variable in ["RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"] {
        command.env_remove(variable);
    }
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output, said)
}

#[test]
#[ignore = "needs Open MPI: cargo xtask test mpi"]
fn mpirun_starts_two_four_and_eight_ranks() {
    for size in [2, 4, 8] {
        let (output, said) = mpirun(&[], size, "everything", &[]);
        assert!(output.status.success() && said.matches("1 passed").count() == size, "{size}: {said}");
    }
}

#[test]
#[ignore = "needs Open MPI: cargo xtask test mpi"]
fn mpirun_ends_the_job_of_a_killed_rank() {
    for phase in [Phase::Exchange, Phase::Joined, Phase::Collective, Phase::Group] {
        let plan = Plan { phase, rank: 1, delay: 100, count: 50_000 };
        let (output, said) = mpirun(&[], 4, "killed", &[plan.variable()]);
        assert!(!output.status.success(), "{phase:?}: {said}");
        assert!(said.contains("signal 9"), "{phase:?}: {said}");
    }
}

#[test]
#[ignore = "needs Open MPI: cargo xtask test mpi"]
fn ranks_that_mpirun_leaves_alone_notice_a_killed_one() {
    for phase in [Phase::Init, Phase::Joined, Phase::Idle, Phase::Collective, Phase::Group, Phase::Split] {
        let plan = Plan { phase, rank: 2, delay: 100, count: 50_000 };
        let (_, said) = mpirun(&["--enable-recovery"], 4, "killed", &[plan.variable()]);
        assert_eq!(said.matches("noticed: ").count(), 3, "{phase:?}: {said}");
        assert_eq!(said.matches("1 passed").count(), 3, "{phase:?}: {said}");
    }
}
