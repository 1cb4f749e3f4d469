//! The one runtime of the process: the HSA implementation and the host's memory pools. It does not know
//! devices or objects; they use it.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use hip_sys::hipError_t;
use hsa_sys::*;

use crate::error::Hsa;
use crate::error::Result;
use crate::start::Error;
use crate::visible::Visible;

/// HSA functions that are always required. Others are required only by the calls that use them.
const REQUIRED: &[&str] = &[
    "hsa_init",
    "hsa_system_get_info",
    "hsa_iterate_agents",
    "hsa_agent_get_info",
    "hsa_amd_agent_iterate_memory_pools",
    "hsa_amd_memory_pool_get_info",
    "hsa_amd_memory_pool_allocate",
    "hsa_amd_memory_pool_free",
    "hsa_amd_agents_allow_access",
    "hsa_signal_create",
    "hsa_signal_destroy",
    "hsa_signal_load_scacquire",
    "hsa_signal_store_screlease",
    "hsa_signal_wait_scacquire",
    "hsa_queue_create",
    "hsa_queue_destroy",
    "hsa_queue_inactivate",
    "hsa_queue_add_write_index_screlease",
    "hsa_queue_load_read_index_scacquire",
    "hsa_amd_memory_async_copy",
];

static RUNTIME: OnceLock<Runtime> = OnceLock::new();
static STARTING: Mutex<()> = Mutex::new(());

/// The process's runtime.
pub(crate) struct Runtime {
    pub(crate) hsa: Hsa,
    pub(crate) cpu: hsa_agent_t,
    /// Fine-grained host memory.
    pub(crate) host_pool: hsa_amd_memory_pool_t,
    /// Host memory for kernel arguments.
    kernarg_pool: hsa_amd_memory_pool_t,
    /// Ticks of the system clock per second.
    pub(crate) frequency: u64,
    /// When the health of all streams was last checked, in ticks of [`LOOKS_APART`] since the start.
    looked: AtomicU64,
    started: Instant,
    check_health: fn(&Runtime),
    devices_found: fn(&Runtime, &[hsa_agent_t]),
    visible: Visible,
}

/// How often polling threads check the health of all streams.
const LOOKS_APART: Duration = Duration::from_millis(10);

/// The runtime, once [`start`] has succeeded.
#[inline]
pub(crate) fn runtime() -> Option<&'static Runtime> {
    RUNTIME.get()
}

/// The runtime for an entry point.
#[inline]
pub(crate) fn active() -> Result<&'static Runtime> {
    runtime().ok_or(hipError_t::hipErrorNotInitialized)
}

/// Starts the runtime over an HSA implementation, or returns it if it runs over the same one. `begin` is
/// called once it runs. Waiting threads call `check_health` from time to time. `devices_found` is called with
/// all GPUs when there are new ones.
pub(crate) fn start(
    table: &'static Table,
    visible: Visible,
    check_health: fn(&Runtime),
    devices_found: fn(&Runtime, &[hsa_agent_t]),
    begin: impl FnOnce(&'static Runtime) -> std::result::Result<(), Error>,
) -> std::result::Result<&'static Runtime, Error> {
    let _starting = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(runtime) = RUNTIME.get() {
        return if std::ptr::eq(runtime.hsa.table, table) { Ok(runtime) } else { Err(Error::OtherTable) };
    }
    let missing: Vec<&'static str> = REQUIRED.iter().copied().filter(|name| !table.has(name)).collect();
    if !missing.is_empty() {
        return Err(Error::MissingFunctions(missing));
    }
    let hsa = init(table)?;
    let (cpu, host_pool, kernarg_pool) = host(hsa)?;
    let runtime = Runtime {
        hsa,
        cpu,
        host_pool,
        kernarg_pool,
        // The specification fixes no frequency; AMD's is 100 MHz if it cannot be queried.
        frequency: match hsa.timestamp_frequency() {
            0 => 100_000_000,
            frequency => frequency,
        },
        looked: AtomicU64::new(0),
        started: Instant::now(),
        check_health,
        devices_found,
        visible,
    };
    let runtime = RUNTIME.get_or_init(|| runtime);
    begin(runtime)?;
    Ok(runtime)
}

fn init(table: &'static Table) -> std::result::Result<Hsa, Error> {
    // SAFETY: the next call initialises it; this crate passes its own signals and queues only.
    let hsa = unsafe { Hsa::new(table) };
    match hsa.init() {
        hsa_status_t::HSA_STATUS_SUCCESS => Ok(hsa),
        status => Err(Error::Hsa { call: "hsa_init", status }),
    }
}

/// Whether an HSA implementation has a GPU.
pub(crate) fn has_gpu(table: &'static Table) -> std::result::Result<bool, Error> {
    let hsa = init(table)?;
    let agents = hsa.agents().map_err(|_| Error::Enumeration)?;
    Ok(agents.into_iter().any(|agent| is_gpu(hsa, agent)))
}

fn is_gpu(hsa: Hsa, agent: hsa_agent_t) -> bool {
    device_type(hsa, agent) == Some(hsa_device_type_t::HSA_DEVICE_TYPE_GPU)
}

/// The first CPU agent with its fine-grained and kernarg pools.
fn host(hsa: Hsa) -> std::result::Result<(hsa_agent_t, hsa_amd_memory_pool_t, hsa_amd_memory_pool_t), Error> {
    let agents = hsa.agents().map_err(|_| Error::Enumeration)?;
    let cpu = agents
        .into_iter()
        .find(|&agent| device_type(hsa, agent) == Some(hsa_device_type_t::HSA_DEVICE_TYPE_CPU))
        .ok_or(Error::NoCpuAgent)?;
    let pools = hsa.pools(cpu).map_err(|_| Error::Enumeration)?;
    let with_flag = |flag: hsa_amd_memory_pool_global_flag_t| {
        pools.iter().copied().find(|&pool| global_flags(hsa, pool).is_some_and(|flags| flags & flag.0 != 0))
    };
    let kernarg = with_flag(hsa_amd_memory_pool_global_flag_t::HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT)
        .ok_or(Error::NoHostPool("kernel arguments"))?;
    // A separate pool for fine-grained memory if there is one, else the kernarg pool, which is fine-grained
    // too.
    let fine = hsa_amd_memory_pool_global_flag_t::HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED;
    let host = pools
        .iter()
        .copied()
        .find(|&pool| {
            pool.handle != kernarg.handle && global_flags(hsa, pool).is_some_and(|flags| flags & fine.0 != 0)
        })
        .or_else(|| with_flag(fine))
        .ok_or(Error::NoHostPool("fine-grained host memory"))?;
    Ok((cpu, host, kernarg))
}

/// The kind of an agent.
pub(crate) fn device_type(hsa: Hsa, agent: hsa_agent_t) -> Option<hsa_device_type_t> {
    // SAFETY: the attribute's type is hsa_device_type_t.
    unsafe {
        hsa.agent_info(
            agent,
            hsa_agent_info_t::HSA_AGENT_INFO_DEVICE.0,
            hsa_device_type_t::HSA_DEVICE_TYPE_CPU,
        )
    }
}

/// The flags of a pool of the global segment, `None` for other pools and those that cannot be allocated from.
pub(crate) fn global_flags(hsa: Hsa, pool: hsa_amd_memory_pool_t) -> Option<u32> {
    type Info = hsa_amd_memory_pool_info_t;
    // SAFETY: the types are the headers' for these attributes.
    unsafe {
        let segment =
            hsa.pool_info(pool, Info::HSA_AMD_MEMORY_POOL_INFO_SEGMENT, hsa_amd_segment_t(u32::MAX))?;
        let allowed = hsa.pool_info(pool, Info::HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED, true);
        if segment != hsa_amd_segment_t::HSA_AMD_SEGMENT_GLOBAL || allowed == Some(false) {
            return None;
        }
        hsa.pool_info(pool, Info::HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, 0u32)
    }
}

impl Runtime {
    /// The agents that are GPUs and that the program may see.
    pub(crate) fn gpus(&self) -> Result<Vec<hsa_agent_t>> {
        let mut gpus = self.hsa.agents()?;
        gpus.retain(|&agent| is_gpu(self.hsa, agent));
        Ok(self.visible.select(gpus, |&agent| self.hsa.uuid(agent).unwrap_or_default()))
    }

    /// Announces that these are the GPUs from now on.
    pub(crate) fn devices_found(&self, gpus: &[hsa_agent_t]) {
        (self.devices_found)(self, gpus);
    }

    /// Memory for kernel arguments that the agents can read.
    pub(crate) fn allocate_kernarg(&self, agents: &[hsa_agent_t], size: usize) -> Result<*mut c_void> {
        self.allocate_for(self.kernarg_pool, agents, size)
    }

    /// Host memory through which host and agent talk while kernels run.
    pub(crate) fn allocate_shared(&self, agent: hsa_agent_t, size: usize) -> Result<*mut c_void> {
        self.allocate_for(self.host_pool, &[agent], size)
    }

    fn allocate_for(
        &self,
        pool: hsa_amd_memory_pool_t,
        agents: &[hsa_agent_t],
        size: usize,
    ) -> Result<*mut c_void> {
        let pointer = self.hsa.allocate(pool, size)?;
        if let Err(code) = self.hsa.allow_access(agents, pointer) {
            // SAFETY: the memory was just allocated.
            let _ = unsafe { self.hsa.free(pointer) };
            return Err(code);
        }
        Ok(pointer)
    }

    /// A time on the system clock.
    pub(crate) fn ticks(&self, time: Duration) -> u64 {
        (time.as_nanos() * u128::from(self.frequency) / 1_000_000_000) as u64
    }

    /// For polling threads: checks the health of all streams from time to time, because the condition may
    /// depend on any of them. Locked streams are skipped, so that code that has locked a stream can call
    /// this.
    pub(crate) fn look_after_streams(&self) {
        let now = (self.started.elapsed().as_nanos() / LOOKS_APART.as_nanos()) as u64;
        if self.looked.swap(now, Ordering::Relaxed) != now {
            (self.check_health)(self);
        }
    }

    /// Waits until a signal is less than a value: first awake, as most waits are short, then asleep.
    ///
    /// Nothing that this runtime waits for can stay away for ever: a failed queue ends its waits itself, and
    /// copies that fail without ending are looked for while waiting, as are queues whose packets or signals
    /// were overwritten.
    pub(crate) fn wait_less(&self, signal: hsa_signal_t, value: i64) {
        self.wait_less_and(signal, value, || (self.check_health)(self));
    }

    /// As [`wait_less`](Self::wait_less) with something else to do now and then while asleep.
    pub(crate) fn wait_less_and(&self, signal: hsa_signal_t, value: i64, mut now_and_then: impl FnMut()) {
        let spin = self.frequency / 20_000;
        let sleep = self.frequency / 10;
        if self.hsa.signal_load(signal) < value
            || self.hsa.signal_wait_less(signal, value, spin, true) < value
        {
            return;
        }
        while self.hsa.signal_wait_less(signal, value, sleep, false) >= value {
            now_and_then();
        }
    }
}
