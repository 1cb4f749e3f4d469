//! The machine behind the HSA API: devices, memory, code objects, dispatches, workgroups and waves.
//!
//! One [`Machine`] serves the process. [`Machine::attach`] adds devices, [`Machine::memory`] holds all memory, kernels come
//! from [`Device::load`], and [`Device::dispatch`] runs one and returns when it is done. A kernel that does something wrong
//! ends its dispatch with a [`Fault`]; the process and other dispatches go on.
//!
//! This is the machine itself, without owners of memory: its addresses are the host's, and any kernel may write any memory that the
//! machine knows. So dispatching and freeing are `unsafe`. Programs use `hip` or `hsa`, which keep track of who uses what.

#[doc(hidden)]
pub mod check;
mod code;
mod count;
mod dispatch;
mod group;
mod initial;
mod launch;
mod memory;
#[doc(hidden)]
pub mod observe;
mod pool;
mod profile;
mod shared;
mod source;
#[cfg(test)]
mod tests;
mod units;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak};
use std::time::Duration;

use code_object::TargetId;
use gpu_report::CounterFormat;
pub use gpu_report::{
    AccessKind, Allocation, Branches, CacheLines, Checks, ChecksError, Counters, Fault, FaultKind,
    Instructions, Lanes, LdsBanks, Limit, MemoryKind, Occupancy, Origin, Resources, Site, SourceFrame,
    SourceLines, Space, Traffic, Use,
};

use crate::config::{ConfigError, DeviceConfig};
use crate::exec::Level;

pub use code::{LoadError, LoadedCode};
pub use count::Executed;
pub use dispatch::{Dispatch, DispatchError, DispatchStats, now_ns};
#[doc(hidden)]
pub use memory::Reader;
pub use memory::{Memory, MemoryError};
pub(crate) use shared::{keeps_its_size, map_fixed, memory_file};
pub use units::UnitMask;
#[doc(hidden)]
pub use vgpu_exec::Access;
pub use vgpu_exec::{PRIVATE_APERTURE, SHARED_APERTURE, WaveFault, on_interrupt};
pub use vgpu_isa::{Generation, TARGETS, Target};

/// Adds devices to the process's virtual machine and returns the index of the first among its GPU agents. An equal
/// configuration attached again returns the same index.
///
/// # Errors
/// The configuration is not usable.
pub fn attach(config: &DeviceConfig) -> Result<usize, ConfigError> {
    Machine::global().attach(config)
}

/// The virtual machine: all devices and all memory.
#[derive(Debug)]
pub struct Machine {
    shared: Arc<Shared>,
    devices: RwLock<Vec<Arc<Device>>>,
    attached: RwLock<Vec<(DeviceConfig, usize)>>,
}

/// One virtual GPU.
#[derive(Debug)]
pub struct Device {
    index: usize,
    target: &'static Target,
    target_id: TargetId,
    compute_units: u32,
    memory_size: u64,
    checks: Option<Checks>,
    counters: Option<CounterFormat>,
    machine: Arc<Shared>,
}

/// What devices need of the machine.
#[derive(Debug)]
struct Shared {
    memory: Arc<Memory>,
    codes: Codes,
    pool: pool::Pool,
    timeout: RwLock<Option<Duration>>,
    executed: Arc<count::Counter>,
    profiler: Arc<profile::Profiler>,
    /// What is wrong with the environment; no device starts then.
    environment: Result<(), ConfigError>,
    checker: Arc<check::Checker>,
}

impl Shared {
    fn timeout(&self) -> Option<Duration> {
        *self.timeout.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Loaded code by address.
#[derive(Default, Debug)]
struct Codes(RwLock<BTreeMap<u64, Weak<LoadedCode>>>);

impl Codes {
    fn read(&self) -> RwLockReadGuard<'_, BTreeMap<u64, Weak<LoadedCode>>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn insert(&self, code: &Arc<LoadedCode>) {
        let mut codes = self.0.write().unwrap_or_else(PoisonError::into_inner);
        codes.retain(|_, code| code.strong_count() > 0);
        codes.insert(code.base(), Arc::downgrade(code));
    }

    /// The code object whose image holds the address.
    fn find(&self, address: u64) -> Option<Arc<LoadedCode>> {
        let codes = self.read();
        let (_, code) = codes.range(..=address).next_back()?;
        code.upgrade().filter(|code| address < code.end())
    }
}

impl Machine {
    /// The machine of this process.
    pub fn global() -> &'static Machine {
        static MACHINE: OnceLock<Machine> = OnceLock::new();
        MACHINE.get_or_init(Machine::new)
    }

    fn new() -> Machine {
        let timeout = variables::VGPU_TIMEOUT.time().map_err(ConfigError::from);
        let threads = variables::VGPU_THREADS.count().map_err(ConfigError::from);
        let vectors = vectors();
        let shared = Shared {
            memory: Arc::new(Memory::new()),
            codes: Codes::default(),
            pool: pool::Pool::new(),
            timeout: RwLock::new(timeout.clone().ok().flatten()),
            executed: Arc::default(),
            profiler: Arc::default(),
            checker: Arc::default(),
            environment: Ok(()),
        };
        let instruments = shared.memory.instruments();
        instruments.add(Arc::clone(&shared.executed) as _);
        instruments.add(Arc::clone(&shared.profiler) as _);
        instruments.add(Arc::clone(&shared.checker) as _);
        let settings = profile::Settings::from_environment();
        let environment = settings.and_then(|settings| settings.apply(instruments));
        let environment = environment.and_then(|()| shared.checker.read_environment());
        let environment = environment.and_then(|()| Ok(timeline::start().map(drop)?));
        let environment = environment.and(timeout.map(|_| ())).and(vectors);
        let environment = environment.and(threads.map(|count| {
            count.into_iter().for_each(|count| shared.pool.set_threads(count as usize));
        }));
        let shared = Shared { environment, ..shared };
        Machine { shared: Arc::new(shared), devices: RwLock::default(), attached: RwLock::default() }
    }

    fn devices_mut(&self) -> RwLockWriteGuard<'_, Vec<Arc<Device>>> {
        self.devices.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds devices and returns the index of the first. An equal configuration attached again returns the same index.
    ///
    /// # Errors
    /// The configuration is not usable, or the value of an environment variable: `FERROCM_VGPU_TRACE`, `FERROCM_VGPU_COUNTERS`,
    /// `FERROCM_VGPU_CHECK`, `FERROCM_VGPU_TIMEOUT`, `FERROCM_VGPU_THREADS`, `FERROCM_VGPU_VECTORS`, `FERROCM_TRACE`.
    pub fn attach(&self, config: &DeviceConfig) -> Result<usize, ConfigError> {
        self.shared.environment.clone()?;
        let target = config.validated()?;
        let target_id: TargetId = target.target_id.parse()?;
        let mut attached = self.attached.write().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, index)) = attached.iter().find(|(known, _)| known == config) {
            return Ok(*index);
        }
        let mut devices = self.devices_mut();
        let first = devices.len();
        self.shared.checker.add(config.checks);
        for _ in 0..config.count {
            let index = self.shared.memory.add_device(config.memory);
            devices.push(Arc::new(Device {
                index,
                target,
                target_id: target_id.clone(),
                compute_units: config.compute_units,
                memory_size: config.memory,
                checks: config.checks,
                counters: config.counters,
                machine: Arc::clone(&self.shared),
            }));
        }
        attached.push((config.clone(), first));
        Ok(first)
    }

    /// The devices in the order they were attached.
    pub fn devices(&self) -> Vec<Arc<Device>> {
        self.devices.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The device with that index.
    pub fn device(&self, index: usize) -> Option<Arc<Device>> {
        self.devices.read().unwrap_or_else(PoisonError::into_inner).get(index).cloned()
    }

    /// All memory.
    pub fn memory(&self) -> &Memory {
        &self.shared.memory
    }

    /// The code object whose memory holds the address, such as a kernel object's.
    pub fn code_at(&self, address: u64) -> Option<Arc<LoadedCode>> {
        self.shared.codes.find(address)
    }

    /// Ends dispatches that run longer, from now on; none lets them run for ever. The environment variable
    /// `FERROCM_VGPU_TIMEOUT` (`30`, `1.5s`, `500ms`) sets the value the process starts with.
    pub fn set_timeout(&self, limit: Option<Duration>) {
        *self.shared.timeout.write().unwrap_or_else(PoisonError::into_inner) = limit;
    }

    /// How many threads run the workgroups of a dispatch that begins from now on: at least 1, at most 1024. The thread that
    /// dispatches is one of them. The environment variable `FERROCM_VGPU_THREADS` sets the value the process starts with;
    /// without it, there are as many as the host has cores for this process.
    pub fn set_threads(&self, count: usize) {
        self.shared.pool.set_threads(count);
    }

    /// See [`Machine::set_threads`].
    pub fn threads(&self) -> usize {
        self.shared.pool.threads()
    }

    /// Which of the host's vector extensions execute kernels: `AVX-512`, `AVX2` or `baseline`. That is the best that the CPU
    /// has, unless the environment variable `FERROCM_VGPU_VECTORS` names another: `avx512`, `avx2`, `baseline`. No device
    /// starts while it names any that the CPU does not have.
    pub fn vectors(&self) -> &'static str {
        Level::detect().name()
    }

    /// Runs dispatches that begin from now on with these checks, unless they [say](Dispatch::checks) otherwise. Reads of device
    /// memory are checked if it was allocated while `uninitialised` was on. The environment variable
    /// `FERROCM_VGPU_CHECK` sets the value the process starts with.
    pub fn set_checks(&self, checks: Checks) {
        self.shared.checker.set(checks);
    }

    /// See [`Machine::set_checks`].
    pub fn checks(&self) -> Checks {
        self.shared.checker.checks()
    }

    /// Counts the instructions of dispatches that begin from now on, or no longer does. Nothing is slower for it while it
    /// is off, as it is at first.
    pub fn count_instructions(&self, on: bool) {
        self.shared.executed.switch(on);
    }

    /// Has dispatches that begin from now on count what they do, or no longer: see [`DispatchStats::counters`]. Nothing is
    /// slower for it while it is off, as it is at first.
    pub fn set_counters(&self, on: bool) {
        self.shared.profiler.switch(on);
    }

    /// What all dispatches that ended executed while [`count_instructions`](Machine::count_instructions) was on. A dispatch
    /// through the HSA API is counted before its completion signal says that it is done.
    pub fn executed(&self) -> Executed {
        self.shared.executed.total()
    }

    /// See [`Machine::set_timeout`].
    pub fn timeout(&self) -> Option<Duration> {
        self.shared.timeout()
    }
}

/// Whether the CPU has the vector extensions that the environment names, if it names any.
fn vectors() -> Result<(), ConfigError> {
    let variable = variables::VGPU_VECTORS;
    match variable.word()? {
        Some(name) if Level::named(name).is_none() => {
            Err(variable.error(name, format!("this CPU has not got it; it has {}", Level::names())).into())
        }
        _ => Ok(()),
    }
}

impl Device {
    /// Its index among the machine's devices.
    pub fn index(&self) -> usize {
        self.index
    }

    /// What kind of GPU it is.
    pub fn target(&self) -> &'static Target {
        self.target
    }

    /// Its target id, features included.
    pub fn target_id(&self) -> &TargetId {
        &self.target_id
    }

    /// Compute units it reports.
    pub fn compute_units(&self) -> u32 {
        self.compute_units
    }

    /// Bytes of memory it has.
    pub fn memory_size(&self) -> u64 {
        self.memory_size
    }

    /// All memory; allocations for this device name its [`index`](Device::index).
    pub fn memory(&self) -> &Memory {
        &self.machine.memory
    }

    /// Loads a code object. `resolve` gives the addresses of symbols that it uses but does not define, such as agent-global
    /// variables defined by the program.
    ///
    /// # Errors
    /// The bytes are no sound code object, it is for another target, a symbol or relocation cannot be resolved, or there is
    /// no memory.
    pub fn load(
        &self,
        bytes: &[u8],
        resolve: &mut dyn FnMut(&str) -> Option<u64>,
    ) -> Result<Arc<LoadedCode>, LoadError> {
        let code = LoadedCode::load(&self.machine.memory, self.target, &self.target_id, bytes, resolve)?;
        let code = Arc::new(code);
        self.machine.codes.insert(&code);
        Ok(code)
    }

    /// Runs a kernel and returns when all its workgroups are done or one of them faulted.
    ///
    /// # Errors
    /// A dispatch that cannot be started, before anything runs, or the first fault.
    ///
    /// # Safety
    /// The kernel can read and write all memory that the [machine](Machine::memory) knows, whoever allocated or registered it. What
    /// it writes must be free of references on the host until this returns, and what it reads free of exclusive ones; its
    /// arguments must be what the kernel takes them for.
    pub unsafe fn dispatch(&self, dispatch: &Dispatch) -> Result<DispatchStats, DispatchError> {
        dispatch::run(self, dispatch, None)
    }

    /// As [`dispatch`](Self::dispatch), until somebody sets `stop`: then the kernel ends where it is, soon.
    ///
    /// # Errors
    /// As [`dispatch`](Self::dispatch), and [`DispatchError::Stopped`] where `stop` was set by the end.
    ///
    /// # Safety
    /// As [`dispatch`](Self::dispatch).
    pub unsafe fn dispatch_until(
        &self,
        dispatch: &Dispatch,
        stop: &Arc<AtomicBool>,
    ) -> Result<DispatchStats, DispatchError> {
        dispatch::run(self, dispatch, Some(stop))
    }
}
