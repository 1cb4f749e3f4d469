//! Processes started by a launcher: the rank of each, and how they find each other.
//!
//! ```no_run
//! use hip::Device;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // Started by `mpirun -n 4`, `srun -n 4` or `torchrun --nproc-per-node 4`.
//! let launch = rccl::Launch::from_env()?;
//! let device = Device::open(format!("amdgpu:{}", launch.local_rank()))?;
//! let rank = launch.communicator(&device)?;
//! println!("rank {} of {}", rank.rank()?, rank.size()?);
//! # Ok(())
//! # }
//! ```
//!
//! | launcher | rank and number of ranks | on this host | where rank 0 is |
//! |---|---|---|---|
//! | torchrun | `RANK`, `WORLD_SIZE` | `LOCAL_RANK`, `LOCAL_WORLD_SIZE` | `MASTER_ADDR`, `MASTER_PORT` |
//! | Open MPI | `OMPI_COMM_WORLD_RANK`, `_SIZE` | `OMPI_COMM_WORLD_LOCAL_RANK`, `_LOCAL_SIZE` | `MASTER_ADDR`, else this host if all ranks are on it |
//! | MPICH and others with PMI | `PMI_RANK`, `PMI_SIZE` | `MPI_LOCALRANKID`, `MPI_LOCALNRANKS` | as Open MPI |
//! | Slurm | `SLURM_PROCID`, `SLURM_NTASKS` | `SLURM_LOCALID` | `MASTER_ADDR`, else the first of `SLURM_STEP_NODELIST`, else `SLURM_LAUNCH_NODE_IPADDR` |
//!
//! The first launcher in this order whose rank variable is set is used. torchrun comes first because programs
//! started by `mpirun` or `srun` often set its variables themselves. `FERROCM_RCCL_ADDRESS`, a host and a
//! port, overrides where rank 0 is.
//!
//! # Authentication
//! Rank 0 and the other ranks prove to each other that they know the same key. The key is made from the job
//! name that the launcher has set and, if set, `FERROCM_RCCL_SECRET` (and Open MPI's own key,
//! `OMPI_MCA_orte_precondition_transports`). An eavesdropper on the network cannot use the proofs or the id.
//! Job names can be guessed (torchrun's is `none` by default). Only a secret, long and random, protects
//! against attackers. If all ranks of a job are on one host, rank 0 listens on the loopback interface only.
//!
//! If the environment sets no port, the port is computed from the job name, so that two jobs on one host do
//! not collide. torchrun's own store listens on `MASTER_PORT` if `TORCHELASTIC_USE_AGENT_STORE` is `True`;
//! then the next port is used.

mod address;
mod env;
mod exchange;
pub(crate) mod greeting;

use std::time::Duration;

use hip::Device;

use crate::communicator::{Communicator, Options, UniqueId};
use crate::error::Result;

pub use crate::error::LaunchError;
pub use crate::launcher::Launcher;

/// The variable with the address on which rank 0 listens: a host and a port.
pub const ADDRESS_VARIABLE: &str = variables::RCCL_ADDRESS.name;
/// The variable with a secret that only the job's processes know. Without it, a process can neither get the
/// id nor give one to a rank.
pub const SECRET_VARIABLE: &str = variables::RCCL_SECRET.name;

/// What a launcher has told this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    launcher: Launcher,
    rank: usize,
    size: usize,
    local_rank: usize,
    local_size: Option<usize>,
    /// Where rank 0 listens.
    address: (String, u16),
    /// The key with which the ranks of the job authenticate each other.
    key: greeting::Key,
}

impl Launch {
    /// Reads the environment.
    ///
    /// # Errors
    /// [`LaunchError::NoLauncher`], [`LaunchError::Missing`], [`LaunchError::Value`],
    /// [`LaunchError::Contradiction`].
    pub fn from_env() -> Result<Self, LaunchError> {
        let own = variables::RCCL_ADDRESS;
        let address = own.text().map_err(|error| LaunchError::Value {
            variable: ADDRESS_VARIABLE,
            value: error.value,
            problem: error.problem,
        })?;
        // A variable that is not UTF-8 must not count as unset, so its lossy text fails when parsed.
        let other = |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
        Self::from_variables(|name| if name == own.name { address.clone() } else { other(name) })
    }

    /// Reads variables from a function instead of the environment.
    ///
    /// # Errors
    /// As [`from_env`](Self::from_env).
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Self, LaunchError> {
        env::read(&|name| variable(name).filter(|value| !value.trim().is_empty()))
    }

    /// The program that started this process.
    pub fn launcher(&self) -> Launcher {
        self.launcher
    }

    /// This process's rank among all processes.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The number of processes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// This process's rank among those on this host; usually also the ordinal of its GPU.
    pub fn local_rank(&self) -> usize {
        self.local_rank
    }

    /// The number of processes on this host, if the launcher has set it.
    pub fn local_size(&self) -> Option<usize> {
        self.local_size
    }

    /// Whether all processes are known to be on one host.
    fn is_one_host(&self) -> bool {
        self.size == 1 || self.local_size == Some(self.size)
    }

    /// The host and port on which rank 0 listens while the ranks connect.
    pub fn address(&self) -> (&str, u16) {
        (&self.address.0, self.address.1)
    }

    /// Makes this process's rank of a communicator of all processes. Rank 0 makes an id and sends it to the
    /// others over TCP.
    ///
    /// # Errors
    /// [`Error::Launch`](crate::Error::Launch) if the ranks do not find each other within a minute, else as
    /// [`Communicator::new`].
    pub fn communicator(&self, device: &Device) -> Result<Communicator> {
        self.communicator_with(device, Options::default(), Duration::from_secs(60))
    }

    /// Like [`communicator`](Self::communicator), with options and a limit for the exchange of the id.
    ///
    /// # Errors
    /// As [`communicator`](Self::communicator).
    pub fn communicator_with(
        &self,
        device: &Device,
        options: Options,
        limit: Duration,
    ) -> Result<Communicator> {
        let id = self.exchange(device, limit)?;
        Communicator::with(device, &id, self.rank, self.size, options)
    }

    /// The id of a communicator of all processes, for [`Communicator::with`]: rank 0 makes it and sends it to
    /// the others over TCP.
    ///
    /// # Errors
    /// [`Error::Launch`](crate::Error::Launch) if the ranks do not find each other within the limit; on rank
    /// 0 also the errors of [`UniqueId::new`].
    pub fn exchange(&self, device: &Device, limit: Duration) -> Result<UniqueId> {
        let own = if self.rank == 0 { Some(UniqueId::new(device)?) } else { None };
        let bytes = exchange::exchange(self, own.map(|id| id.to_bytes()), limit)?;
        Ok(UniqueId::from_bytes(bytes))
    }
}
