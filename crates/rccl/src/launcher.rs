//! Who starts the processes of a job.

use std::fmt;

/// A program that starts the processes of a job, each with variables that say which one it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Launcher {
    /// PyTorch's `torchrun`, or whoever sets its variables.
    Torchrun,
    /// Open MPI's `mpirun`.
    OpenMpi,
    /// MPICH's, Intel's and MVAPICH's `mpiexec`, or Slurm with PMI.
    Pmi,
    /// Slurm's `srun`.
    Slurm,
}

impl fmt::Display for Launcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Torchrun => "torchrun",
            Self::OpenMpi => "Open MPI",
            Self::Pmi => "an MPI with PMI",
            Self::Slurm => "Slurm",
        })
    }
}
