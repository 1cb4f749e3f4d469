//! The programs that start the processes of a job.

use std::fmt;

/// A program that starts the processes of a job, and tells each its rank in environment variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Launcher {
    /// PyTorch's `torchrun`, or another program that sets its variables.
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
