//! GPU agents of HSA: their properties, and memory that this runtime needs from each for its own work.

mod counter;
pub(crate) mod heap;
mod info;
pub(crate) mod limits;
mod staging;

use std::sync::OnceLock;
use std::time::Instant;

use hsa_sys::*;

pub(crate) use counter::Counter;
use heap::Heap;
pub(crate) use info::{ImageLimits, Info, Pci};
use limits::Limits;
use staging::StagingBuffers;
pub(crate) use staging::{STAGING_BYTES, Staging};

use crate::runtime::{Runtime, global_flags};

/// A GPU agent.
pub(crate) struct Gpu {
    pub(crate) ordinal: i32,
    pub(crate) agent: hsa_agent_t,
    pub(crate) info: Info,
    pub(crate) max_packets: u32,
    /// Coarse-grained device memory.
    pub(crate) pool: hsa_amd_memory_pool_t,
    /// Fine-grained device memory, if there is any.
    pub(crate) fine_pool: Option<hsa_amd_memory_pool_t>,
    /// The host can read and write device memory directly.
    pub(crate) host_visible: bool,
    /// Whether the host reads device memory about as fast as its own; see [`host_near`](Self::host_near).
    near: OnceLock<bool>,
    pub(crate) allocated: Counter,
    /// The heap of `malloc` in device code.
    pub(crate) heap: Heap,
    pub(crate) limits: Limits,
    /// Global wave sync works without a kernel that initialises it.
    wave_sync: bool,
    /// Every access outside of an allocation is a fault.
    pub(crate) exact_bounds: bool,
    staging: StagingBuffers,
}

impl Gpu {
    /// Queries everything that the runtime needs to know of an agent.
    pub(crate) fn discover(
        runtime: &Runtime,
        agent: hsa_agent_t,
        ordinal: usize,
    ) -> std::result::Result<Self, &'static str> {
        type Flag = hsa_amd_memory_pool_global_flag_t;
        let hsa = runtime.hsa;
        let pools = hsa.pools(agent).map_err(|_| "its memory pools cannot be listed")?;
        let with_flag = |flag: Flag| {
            pools
                .iter()
                .copied()
                .find(|&pool| global_flags(hsa, pool).is_some_and(|flags| flags & flag.0 != 0))
        };
        let fine_pool = with_flag(Flag::HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED);
        let pool = with_flag(Flag::HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED)
            .or(fine_pool)
            .ok_or("it has no device memory")?;
        let info = Info::ask(hsa, agent, pool, &pools)?;
        let host_visible = hsa.can_access(runtime.cpu, pool);
        // SAFETY: the attribute's type is u32.
        let max_packets =
            unsafe { hsa.agent_info(agent, hsa_agent_info_t::HSA_AGENT_INFO_QUEUE_MAX_SIZE.0, 0u32) };
        Ok(Self {
            ordinal: i32::try_from(ordinal).map_err(|_| "there are too many devices")?,
            agent,
            info,
            max_packets: max_packets.filter(|&size| size >= 64).unwrap_or(64),
            pool,
            fine_pool,
            host_visible,
            near: OnceLock::new(),
            allocated: Counter::default(),
            heap: Heap::default(),
            limits: Limits::default(),
            wave_sync: hsa.table.ext.global_wave_sync,
            exact_bounds: hsa.table.ext.exact_bounds,
            staging: StagingBuffers::default(),
        })
    }

    /// Whether the host reads and writes device memory about as fast as its own, so that copies by the host
    /// are best.
    ///
    /// HSA's link information does not tell: reads over PCI Express take fifty times as long as reads of
    /// memory that is really the host's. So it is measured, once, on first use.
    pub(crate) fn host_near(&self, runtime: &Runtime) -> bool {
        *self.near.get_or_init(|| self.host_visible && self.host_reads_fast(runtime))
    }

    fn host_reads_fast(&self, runtime: &Runtime) -> bool {
        const BYTES: usize = 16 << 10;
        const BYTES_PER_SECOND: f64 = 2e9;
        let Ok(memory) = runtime.hsa.allocate(self.pool, BYTES) else { return false };
        let mut best = f64::INFINITY;
        if runtime.hsa.allow_access(&[self.agent, runtime.cpu], memory).is_ok() {
            let mut copy = vec![0u8; BYTES];
            // SAFETY: the memory was just allocated for host access, and is not shared yet.
            unsafe { memory.cast::<u8>().write_bytes(0, BYTES) };
            for _ in 0..8 {
                let start = Instant::now();
                // SAFETY: as above.
                unsafe { copy.as_mut_ptr().copy_from_nonoverlapping(memory.cast(), BYTES) };
                std::hint::black_box(&mut copy);
                best = best.min(start.elapsed().as_secs_f64());
            }
        }
        // SAFETY: the memory was allocated here and has no other user.
        let _ = unsafe { runtime.hsa.free(memory) };
        best < BYTES as f64 / BYTES_PER_SECOND
    }

    /// Free and total memory, bytes.
    pub(crate) fn memory_info(&self, runtime: &Runtime) -> (u64, u64) {
        let total = self.info.memory_bytes;
        // SAFETY: the attribute's type is u64.
        let free = unsafe {
            runtime.hsa.agent_info(self.agent, hsa_amd_agent_info_t::HSA_AMD_AGENT_INFO_MEMORY_AVAIL.0, 0u64)
        };
        (free.unwrap_or_else(|| total.saturating_sub(self.allocated.get())).min(total), total)
    }

    /// Whether kernels run on pairs of compute units by default, which HIP then counts as one multiprocessor.
    pub(crate) fn units_per_multiprocessor(&self) -> u32 {
        if self.info.gfx[0] >= 10 { 2 } else { 1 }
    }

    /// Whether all workgroups of a grid can wait for each other with the device libraries' functions.
    ///
    /// They use counters in memory from gfx11 on and on gfx942 and gfx950. Elsewhere they use global wave
    /// sync, which a kernel has to initialise on hardware; this runtime has no kernels.
    pub(crate) fn has_grid_barriers(&self) -> bool {
        let by_memory = match self.info.gfx {
            [9, minor, _] => minor >= 4,
            [major, ..] => major >= 11,
        };
        by_memory || self.wave_sync
    }

    pub(crate) fn multiprocessors(&self) -> u32 {
        (self.info.compute_units / self.units_per_multiprocessor()).max(1)
    }
}
