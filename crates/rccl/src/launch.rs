//! Processes that a launcher has started: which rank each is, and how they find each other.
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
//! The first launcher in this order whose rank is set counts. A program that `mpirun` or `srun` starts may itself set torchrun's variables, as
//! is usual; they go first for that reason. `FERROCM_RCCL_ADDRESS`, a host and a port, overrides where rank 0 is.
//!
//! # Who is believed
//! Rank 0 and the others prove to each other that they know the same: the name that the launcher has given the job, and
//! `FERROCM_RCCL_SECRET` if it is set (also Open MPI's own key, `OMPI_MCA_orte_precondition_transports`). The proofs and the id itself are
//! of no use to those who listen on the network. The names of jobs can be guessed (torchrun's is `none` by default): against attackers only
//! a secret helps, which has to be long and random. Rank 0 of a job whose ranks are all on one host listens on the loopback interface only.
//!
//! Without a port in the environment, it depends on the name that the launcher has given the job, so that two jobs on one host do not meet. torchrun's
//! own store listens on `MASTER_PORT` if `TORCHELASTIC_USE_AGENT_STORE` is `True`; then the port behind it is used.

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

/// The variable that says where rank 0 listens: a host and a port.
pub const ADDRESS_VARIABLE: &str = variables::RCCL_ADDRESS.name;
/// The variable that has what only the job's processes know. Who does not know it learns no id, and gives none to a rank.
pub const SECRET_VARIABLE: &str = variables::RCCL_SECRET.name;

/// What a launcher says of this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    launcher: Launcher,
    rank: usize,
    size: usize,
    local_rank: usize,
    local_size: Option<usize>,
    /// Where rank 0 listens.
    address: (String, u16),
    /// What the ranks of the job know each other by.
    key: greeting::Key,
}

impl Launch {
    /// What the environment says.
    ///
    /// # Errors
    /// [`LaunchError::NoLauncher`], [`LaunchError::Missing`], [`LaunchError::Value`], [`LaunchError::Contradiction`].
    pub fn from_env() -> Result<Self, LaunchError> {
        let own = variables::RCCL_ADDRESS;
        let address = own.text().map_err(|error| LaunchError::Value {
            variable: ADDRESS_VARIABLE,
            value: error.value,
            problem: error.problem,
        })?;
        // What a launcher has set and is no text is not as good as nothing: it fails where it is read.
        let other = |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
        Self::from_variables(|name| if name == own.name { address.clone() } else { other(name) })
    }

    /// What variables say that are not the environment's.
    ///
    /// # Errors
    /// As [`from_env`](Self::from_env).
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Self, LaunchError> {
        env::read(&|name| variable(name).filter(|value| !value.trim().is_empty()))
    }

    /// Who has started the process.
    pub fn launcher(&self) -> Launcher {
        self.launcher
    }

    /// Which of all processes this is.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// How many processes there are.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Which of the processes on this host this is: the ordinal of its GPU, usually.
    pub fn local_rank(&self) -> usize {
        self.local_rank
    }

    /// How many processes are on this host, if the launcher says so.
    pub fn local_size(&self) -> Option<usize> {
        self.local_size
    }

    /// Whether all processes are known to be on one host.
    fn is_one_host(&self) -> bool {
        self.size == 1 || self.local_size == Some(self.size)
    }

    /// Where rank 0 listens while the ranks find each other: host and port.
    pub fn address(&self) -> (&str, u16) {
        (&self.address.0, self.address.1)
    }

    /// Makes this process's rank of a communicator of all processes: rank 0 makes an id, and gives it to the others over TCP.
    ///
    /// # Errors
    /// [`Error::Launch`](crate::Error::Launch) if the ranks do not find each other within a minute, else as [`Communicator::new`].
    pub fn communicator(&self, device: &Device) -> Result<Communicator> {
        self.communicator_with(device, Options::default(), Duration::from_secs(60))
    }

    /// As [`communicator`](Self::communicator), with options, and a limit for the exchange of the id.
    ///
    /// # Errors
    /// As there.
    pub fn communicator_with(
        &self,
        device: &Device,
        options: Options,
        limit: Duration,
    ) -> Result<Communicator> {
        let id = self.exchange(device, limit)?;
        Communicator::with(device, &id, self.rank, self.size, options)
    }

    /// The id of a communicator of all processes, for [`Communicator::with`]: rank 0 makes it, and gives it to the others over TCP.
    ///
    /// # Errors
    /// [`Error::Launch`](crate::Error::Launch) if the ranks do not find each other within the limit; at rank 0 also what
    /// [`UniqueId::new`] returns.
    pub fn exchange(&self, device: &Device, limit: Duration) -> Result<UniqueId> {
        let own = if self.rank == 0 { Some(UniqueId::new(device)?) } else { None };
        let bytes = exchange::exchange(self, own.map(|id| id.to_bytes()), limit)?;
        Ok(UniqueId::from_bytes(bytes))
    }
}
