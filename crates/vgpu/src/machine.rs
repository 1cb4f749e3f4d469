//! The machine behind the HSA API: devices, memory, code objects, dispatches, workgroups and waves.
//!
//! One [`Machine`] serves the process. [`Machine::attach`] adds devices, [`Machine::memory`] holds all
//! memory, [`Device::load`] loads kernels, and [`Device::dispatch`] runs one and returns when it is done. A
//! faulty kernel ends its dispatch with a [`Fault`]; the process and other dispatches continue.
//!
//! This layer does not track who owns memory. Its addresses are host addresses, and any kernel may write any
//! memory that the machine knows. That is why dispatching and freeing are `unsafe`. Programs use `hip` or
//! `hsa`, which track ownership.

#[doc(hidden)]
pub mod check;
mod code;
mod count;
mod dispatch;
mod engine;
mod group;
mod initial;
mod kernel;
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
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
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
pub use engine::Engine;
#[doc(hidden)]
pub use memory::Reader;
pub use memory::{Memory, MemoryError};
pub(crate) use shared::{keeps_its_size, map_fixed, memory_file};
pub use units::UnitMask;
#[doc(hidden)]
pub use vgpu_exec::Access;
pub use vgpu_exec::{PRIVATE_APERTURE, SHARED_APERTURE, WaveFault, on_interrupt};
pub use vgpu_isa::{Generation, TARGETS, Target};

/// Adds devices to the process's virtual machine and returns the index of the first among its GPU agents.
/// Attaching an equal configuration again returns the same index.
///
/// # Errors
/// The configuration is invalid.
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

/// What devices share with the machine.
#[derive(Debug)]
struct Shared {
    memory: Arc<Memory>,
    codes: Codes,
    pool: pool::Pool,
    /// In nanoseconds; [`u64::MAX`] is none.
    timeout: AtomicU64,
    executed: Arc<count::Counter>,
    profiler: Arc<profile::Profiler>,
    /// The error in the environment, if any. Then no device starts.
    environment: Result<(), ConfigError>,
    checker: Arc<check::Checker>,
}

impl Shared {
    fn timeout(&self) -> Option<Duration> {
        let limit = self.timeout.load(Ordering::Relaxed);
        (limit != u64::MAX).then(|| Duration::from_nanos(limit))
    }
}

/// A time limit in nanoseconds. One that takes centuries is none.
fn timeout_ns(limit: Option<Duration>) -> u64 {
    limit.and_then(|limit| u64::try_from(limit.as_nanos()).ok()).unwrap_or(u64::MAX)
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

    /// The code object whose image contains the address.
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
            timeout: AtomicU64::new(timeout_ns(timeout.clone().ok().flatten())),
            executed: Arc::default(),
            profiler: Arc::default(),
            checker: Arc::default(),
            environment: Ok(()),
        };
        let mut instruments: Vec<Arc<dyn observe::Instrument>> = vec![
            Arc::clone(&shared.executed) as _,
            Arc::clone(&shared.profiler) as _,
            Arc::clone(&shared.checker) as _,
        ];
        let settings = profile::Settings::from_environment();
        let environment = settings.and_then(|settings| settings.apply(&mut instruments));
        shared.memory.instruments().set(instruments);
        let environment = environment.and_then(|()| shared.checker.read_environment());
        let environment = environment.and_then(|()| Ok(timeline::start().map(drop)?));
        let environment = environment.and(timeout.map(|_| ())).and(vectors);
        let environment = environment.and_then(|()| Engine::of_environment().map(drop));
        let environment = environment.and(threads.map(|count| {
            count.into_iter().for_each(|count| shared.pool.set_threads(count as usize));
        }));
        let shared = Shared { environment, ..shared };
        Machine { shared: Arc::new(shared), devices: RwLock::default(), attached: RwLock::default() }
    }

    fn devices_mut(&self) -> RwLockWriteGuard<'_, Vec<Arc<Device>>> {
        self.devices.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds devices and returns the index of the first. Attaching an equal configuration again returns the
    /// same index.
    ///
    /// # Errors
    /// The configuration is invalid, or one of these environment variables is: `FERROCM_VGPU_TRACE`,
    /// `FERROCM_VGPU_COUNTERS`, `FERROCM_VGPU_CHECK`, `FERROCM_VGPU_TIMEOUT`, `FERROCM_VGPU_THREADS`,
    /// `FERROCM_VGPU_VECTORS`, `FERROCM_TRACE`.
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

    /// The devices in the order in which they were attached.
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

    /// The code object whose memory contains the address, such as that of a kernel object.
    pub fn code_at(&self, address: u64) -> Option<Arc<LoadedCode>> {
        self.shared.codes.find(address)
    }

    /// Sets the time limit of dispatches; none lets them run for ever. The environment variable
    /// `FERROCM_VGPU_TIMEOUT` (`30`, `1.5s`, `500ms`) sets the initial value of the process.
    pub fn set_timeout(&self, limit: Option<Duration>) {
        self.shared.timeout.store(timeout_ns(limit), Ordering::Relaxed);
    }

    /// Sets how many threads run the workgroups of each dispatch that begins from now on: 1 to 1024,
    /// including the thread that dispatches. The environment variable `FERROCM_VGPU_THREADS` sets the initial
    /// value of the process; without it, there is one thread for each core that the process may use.
    pub fn set_threads(&self, count: usize) {
        self.shared.pool.set_threads(count);
    }

    /// See [`Machine::set_threads`].
    pub fn threads(&self) -> usize {
        self.shared.pool.threads()
    }

    /// The vector extensions of the host that execute kernels: `AVX-512`, `AVX2` or `baseline`. The default
    /// is the best that the CPU has; the environment variable `FERROCM_VGPU_VECTORS` selects another:
    /// `avx512`, `avx2`, `baseline`. No device starts if the CPU lacks the selected one.
    pub fn vectors(&self) -> &'static str {
        Level::detect().name()
    }

    /// Sets the checks of dispatches that begin from now on, unless a dispatch [overrides](Dispatch::checks)
    /// them. Reads of device memory are checked if it was allocated while `uninitialised` was on. The
    /// environment variable `FERROCM_VGPU_CHECK` sets the initial value of the process.
    pub fn set_checks(&self, checks: Checks) {
        self.shared.checker.set(checks);
    }

    /// See [`Machine::set_checks`].
    pub fn checks(&self) -> Checks {
        self.shared.checker.checks()
    }

    /// Switches the counting of instructions on or off, for dispatches that begin from now on. It is off at
    /// first and then costs nothing.
    pub fn count_instructions(&self, on: bool) {
        self.shared.executed.switch(on);
    }

    /// Switches counters on or off, for dispatches that begin from now on: see [`DispatchStats::counters`].
    /// They are off at first and then cost nothing.
    pub fn set_counters(&self, on: bool) {
        self.shared.profiler.switch(on);
    }

    /// The instructions of all dispatches that ended while
    /// [`count_instructions`](Machine::count_instructions) was on. A dispatch through the HSA API is counted
    /// before its completion signal is set.
    pub fn executed(&self) -> Executed {
        self.shared.executed.total()
    }

    /// See [`Machine::set_timeout`].
    pub fn timeout(&self) -> Option<Duration> {
        self.shared.timeout()
    }
}

/// Checks that the CPU has the vector extensions that the environment selects, if any.
fn vectors() -> Result<(), ConfigError> {
    let variable = variables::VGPU_VECTORS;
    match variable.word()? {
        Some(name) if Level::named(name).is_none() => {
            Err(variable.error(name, format!("this CPU lacks it; it has {}", Level::names())).into())
        }
        _ => Ok(()),
    }
}

impl Device {
    /// Its index among the machine's devices.
    pub fn index(&self) -> usize {
        self.index
    }

    /// The kind of GPU.
    pub fn target(&self) -> &'static Target {
        self.target
    }

    /// Its target id, including features.
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

    /// Loads a code object. `resolve` returns the addresses of symbols that it uses but does not define, such
    /// as agent-global variables defined by the program.
    ///
    /// # Errors
    /// The code object is malformed or built for another target, a symbol or relocation cannot be resolved,
    /// or memory is exhausted.
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
    /// The dispatch cannot be started (then nothing has run), or its first fault.
    ///
    /// # Safety
    /// The kernel can read and write all memory that the [machine](Machine::memory) knows, whoever allocated
    /// or registered it. Until this returns, the host must hold no references to memory that the kernel
    /// writes, and no exclusive references to memory that it reads. The arguments must have the types that
    /// the kernel expects.
    pub unsafe fn dispatch(&self, dispatch: &Dispatch) -> Result<DispatchStats, DispatchError> {
        dispatch::run(self, dispatch, None, &|| ())
    }

    /// Like [`dispatch`](Self::dispatch), but the kernel is stopped soon after `stop` is set, and `meanwhile`
    /// is called again and again while it runs.
    ///
    /// # Errors
    /// As for [`dispatch`](Self::dispatch), and [`DispatchError::Stopped`] if `stop` was set before the end.
    ///
    /// # Safety
    /// As for [`dispatch`](Self::dispatch).
    pub unsafe fn dispatch_until(
        &self,
        dispatch: &Dispatch,
        stop: &Arc<AtomicBool>,
        meanwhile: &dyn Fn(),
    ) -> Result<DispatchStats, DispatchError> {
        dispatch::run(self, dispatch, Some(stop), meanwhile)
    }
}
