//! `cargo xtask test mpi`: tests of ranks started by Open MPI's `mpirun`.

use super::shared::{Shared, execute};
use super::steps::{Outcome, Step};
use crate::rocm::{openmpi, sysroot};
use crate::tools::WHOLE;

/// The tests, and the variable that names `mpirun` for them.
const TESTS: &str = "package(ferrocm-rccl) and test(/^mpirun::/)";
const MPIRUN_VARIABLE: &str = "FERROCM_TEST_MPIRUN";

/// Fetches Open MPI, and runs the tests of ranks started by it.
pub(super) fn steps(shared: &Shared) -> Vec<Step<'_>> {
    let fetch = || {
        println!("{}", openmpi::mpirun(&sysroot::folder())?.display());
        Ok(Outcome::Passed)
    };
    let test = || {
        let mut command = shared.nextest()?;
        command.arg("run").args(WHOLE).args(["--test", "processes", "--filterset", TESTS]);
        command.args(["--run-ignored", "only", "--no-fail-fast", "--test-threads", "1"]);
        command.env(MPIRUN_VARIABLE, openmpi::mpirun(&sysroot::folder())?).env_remove("FERROCM_DEVICE");
        execute(command)
    };
    vec![Step::new("Open MPI", fetch), Step::new("ranks under mpirun", test)]
}
