//! The HSA implementation and its devices.

use std::path::{Path, PathBuf};

use hsa::Runtime;
use hsa_sys::{LoadError, Table};

use crate::context::Context;
use crate::device::Device;
use crate::error::{Calls, Result};
use crate::options::Options;
use crate::spans::within;
use crate::topology::{LogicalDevice, Selection, Topology};

/// AMD's library in a folder.
const LIBRARY: &str = "libhsa-runtime64.so.1";

/// An initialised HSA implementation.
#[derive(Clone, Debug)]
pub struct Driver {
    runtime: Runtime,
    topology: Topology,
}

impl Driver {
    /// Finds AMD's HSA library in the environment and the usual places.
    ///
    /// # Errors
    /// No place has it, and the error lists them all; or it does not start.
    pub fn load() -> Result<Self> {
        Self::over_runtime(Runtime::load()?)
    }

    /// Takes AMD's HSA library from the first of these places that has it: files, or folders with
    /// `libhsa-runtime64.so.1`.
    ///
    /// # Errors
    /// None of them has it, and the error lists what was tried; or it does not start.
    ///
    /// # Safety
    /// Opening a library runs its initialisers. A file of that name in these places is AMD's library.
    pub unsafe fn load_from<P: AsRef<Path>>(places: impl IntoIterator<Item = P>) -> Result<Self> {
        let mut attempts = Vec::new();
        for place in places {
            let place = place.as_ref();
            let file: PathBuf = if place.is_dir() { place.join(LIBRARY) } else { place.to_owned() };
            // SAFETY: the caller vouches for the file.
            match unsafe { Table::load_from(&file) } {
                Ok(table) => return Self::over(table),
                Err(error) => attempts.extend(error.attempts),
            }
        }
        let error =
            LoadError { what: LIBRARY, variable: <Table as sys_load::Functions>::SEARCH.variable, attempts };
        Err(hsa::Error::Load(error).into())
    }

    /// Starts the implementation behind a table, such as the virtual GPU's.
    ///
    /// # Errors
    /// It does not start.
    pub fn over(table: &'static Table) -> Result<Self> {
        Self::over_runtime(Runtime::new(table)?)
    }

    fn over_runtime(runtime: Runtime) -> Result<Self> {
        let topology = Topology::read(&runtime)?;
        Ok(Self { runtime, topology })
    }

    /// The HSA runtime.
    #[must_use]
    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// The processors and GPUs, as they were when the driver was made.
    #[must_use]
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The GPU whose memory has an address, as a number of the topology; `None` if this HSA implementation
    /// has no allocation there, or if it is the host's. It tells the device of memory that others have
    /// allocated, such as HIP.
    ///
    /// # Errors
    /// HSA's error.
    pub fn gpu_at(&self, address: u64) -> Result<Option<usize>> {
        // SAFETY: the runtime is initialised as long as this object exists, and the call is over before.
        let calls = unsafe { Calls::new(self.runtime.table()) };
        let owner = calls.owner_of(address as usize)?;
        Ok(owner.and_then(|owner| self.topology.gpus.iter().position(|gpu| gpu.agent == owner.handle)))
    }

    /// Opens the device that a selection names.
    ///
    /// # Errors
    /// There is no such device, an option is outside its range, the device library has no code for it, or
    /// HSA's error.
    pub fn open(&self, selection: &Selection, options: Options) -> Result<Device> {
        let device = self.topology.select(selection)?;
        for left in &device.left_out {
            tracing::info!(gpu = %self.topology.gpus[left.gpu], reason = %left.reason, "left out");
        }
        self.open_device(&device, options)
    }

    /// Opens a logical device of this driver's topology.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn open_device(&self, device: &LogicalDevice, options: Options) -> Result<Device> {
        let span = tracing::debug_span!(
            target: "hal::device", "open", gpus = ?device.members, error = tracing::field::Empty
        );
        within(span, || Device::new(Context::new(&self.runtime, &self.topology, device, options)?))
    }
}
