//! Devices: the GPU agents of HSA, what is known about them, and each thread's current one.

use std::cell::Cell;
use std::ffi::c_char;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::Instant;

use code_object::TargetId;
use hip_sys::{hipError_t, hipUUID};
use hsa_sys::*;

use crate::caller;
use crate::devices;
use crate::error::{Result, entry};
use crate::graph::{SpareLanes, Usage};
use crate::heap::Heap;
use crate::hsa::{Counter, HdpFlush, Hsa};
use crate::limits::Limits;
use crate::mem_pool::DevicePools;
use crate::memory::StagingBuffers;
use crate::release;
use crate::runtime::{Runtime, active, global_flags};
use crate::stream::{Role, Stream};

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;
/// `0000:c3:00.0` with its NUL.
const PCI_ID_BYTES: i32 = 13;

/// `hipRuntimeGetVersion` and `hipDriverGetVersion`: HIP 7.2.4, whose behaviour this follows.
pub(crate) const VERSION: i32 = 7 * 10_000_000 + 2 * 100_000 + 53_211;

/// What an agent says about itself.
#[derive(Debug, Clone)]
pub(crate) struct Info {
    /// Marketing name, else the processor's.
    pub(crate) name: String,
    /// Target id, for example `gfx90a:sramecc+:xnack-`.
    pub(crate) arch: String,
    pub(crate) target: TargetId,
    /// The parts of the processor's name: `gfx1100` is 11, 0, 0.
    pub(crate) gfx: [u32; 3],
    pub(crate) uuid: [u8; 16],
    pub(crate) pci: Pci,
    pub(crate) chip_id: u32,
    pub(crate) asic_revision: u32,
    pub(crate) wave_size: u32,
    pub(crate) compute_units: u32,
    pub(crate) simds_per_cu: u32,
    pub(crate) waves_per_cu: u32,
    pub(crate) xccs: u32,
    pub(crate) clock_mhz: u32,
    pub(crate) memory_clock_mhz: u32,
    pub(crate) memory_width_bits: u32,
    pub(crate) l2_bytes: u32,
    pub(crate) wall_clock_hz: u64,
    pub(crate) memory_bytes: u64,
    pub(crate) max_allocation: u64,
    pub(crate) lds_bytes: u32,
    pub(crate) max_block: u32,
    pub(crate) max_block_dim: [u32; 3],
    pub(crate) copy_engines: u32,
    /// The most elements of an image that is a buffer; 0 if there are no images.
    pub(crate) max_texels: usize,
    pub(crate) is_apu: bool,
    pub(crate) hdp_mem_flush: HdpFlush,
    pub(crate) hdp_reg_flush: HdpFlush,
}

/// Where a device is on the PCI bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pci {
    pub(crate) domain: u32,
    pub(crate) bus: u32,
    pub(crate) device: u32,
    pub(crate) function: u32,
}

/// A GPU agent. Devices are never removed.
pub(crate) struct Device {
    pub(crate) ordinal: i32,
    pub(crate) agent: hsa_agent_t,
    pub(crate) info: Info,
    pub(crate) max_packets: u32,
    /// Coarse-grained device memory.
    pub(crate) pool: hsa_amd_memory_pool_t,
    /// Fine-grained device memory, where there is any.
    pub(crate) fine_pool: Option<hsa_amd_memory_pool_t>,
    /// The host can read and write device memory directly.
    pub(crate) host_visible: bool,
    /// Whether the host reads device memory about as fast as its own; see [`host_near`](Self::host_near).
    near: OnceLock<bool>,
    pub(crate) allocated: Counter,
    /// What `malloc` in device code allocates from.
    pub(crate) heap: Heap,
    pub(crate) limits: Limits,
    /// What allocation nodes of graphs have.
    pub(crate) graph_memory: Usage,
    /// What the program set by `hipSetDeviceFlags`.
    pub(crate) flags: AtomicU32,
    /// Global wave sync works without a kernel that initialises it.
    wave_sync: bool,
    pub(crate) staging: StagingBuffers,
    /// What stream-ordered allocations come from.
    pub(crate) pools: DevicePools,
    /// Devices whose memory this one has been given access to.
    pub(crate) peers: Mutex<Vec<i32>>,
    null: OnceLock<Arc<Stream>>,
    streams: RwLock<Vec<Arc<Stream>>>,
    /// Streams for parts of graphs.
    pub(crate) lanes: SpareLanes,
    /// How many of `streams` wait for the null stream and are waited for by it.
    blocking: AtomicUsize,
}

impl Device {
    /// Asks an agent everything that the runtime wants to know.
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
            graph_memory: Usage::default(),
            flags: AtomicU32::new(hip_sys::hipDeviceScheduleAuto),
            wave_sync: hsa.table.ext.global_wave_sync,
            staging: StagingBuffers::default(),
            pools: DevicePools::default(),
            peers: Mutex::default(),
            null: OnceLock::new(),
            streams: RwLock::default(),
            lanes: SpareLanes::default(),
            blocking: AtomicUsize::new(0),
        })
    }

    /// Whether the host reads and writes device memory about as fast as its own, so that copies by the host are best.
    ///
    /// What HSA says about links does not tell: reads over PCI Express take fifty times as long as those of memory that is
    /// the host's in fact. So it is measured, once, when first asked.
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
            // SAFETY: the memory was just allocated for the host to reach, and nobody else knows it.
            unsafe { memory.cast::<u8>().write_bytes(0, BYTES) };
            for _ in 0..8 {
                let start = Instant::now();
                // SAFETY: as above.
                unsafe { copy.as_mut_ptr().copy_from_nonoverlapping(memory.cast(), BYTES) };
                std::hint::black_box(&mut copy);
                best = best.min(start.elapsed().as_secs_f64());
            }
        }
        // SAFETY: the memory was allocated here and is used by nobody else.
        let _ = unsafe { runtime.hsa.free(memory) };
        best < BYTES as f64 / BYTES_PER_SECOND
    }

    /// The default stream.
    pub(crate) fn null_stream(&'static self) -> &'static Arc<Stream> {
        self.null.get_or_init(|| Stream::new(self, hip_sys::hipStreamDefault, 0, Role::Null))
    }

    /// The default stream, if it has ever been asked for.
    #[inline]
    pub(crate) fn null_stream_if_used(&self) -> Option<&Arc<Stream>> {
        self.null.get()
    }

    fn is_ordered_with_null(stream: &Stream) -> bool {
        stream.role != Role::Null && stream.is_blocking()
    }

    pub(crate) fn add_stream(&self, stream: Arc<Stream>) {
        if Self::is_ordered_with_null(&stream) {
            self.blocking.fetch_add(1, Ordering::AcqRel);
        }
        self.streams.write().unwrap_or_else(PoisonError::into_inner).push(stream);
    }

    pub(crate) fn remove_stream(&self, stream: &Stream) {
        let mut streams = self.streams.write().unwrap_or_else(PoisonError::into_inner);
        let Some(index) = streams.iter().position(|other| std::ptr::eq(&**other, stream)) else { return };
        let removed = streams.swap_remove(index);
        drop(streams);
        if Self::is_ordered_with_null(&removed) {
            self.blocking.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// All streams, the default ones included.
    pub(crate) fn streams(&self) -> Vec<Arc<Stream>> {
        self.streams.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Calls `visit` for each stream that the null stream waits for, until it fails.
    pub(crate) fn visit_blocking(&self, mut visit: impl FnMut(&Arc<Stream>) -> Result) -> Result {
        if self.blocking.load(Ordering::Acquire) == 0 {
            return Ok(());
        }
        // Visits may look after all streams: the lock is not for taking twice.
        let streams = self.streams();
        streams.iter().filter(|stream| Self::is_ordered_with_null(stream)).try_for_each(&mut visit)
    }

    /// Waits for all streams. Each failure is returned once.
    pub(crate) fn synchronize(&self, runtime: &'static Runtime) -> Result {
        let mut result = Ok(());
        for stream in self.streams() {
            result = result.and(stream.settle(runtime));
        }
        result
    }

    /// Waits until no stream uses the device any more, whatever became of the work.
    pub(crate) fn quiesce(&self, runtime: &'static Runtime) {
        for stream in self.streams() {
            stream.drain(runtime);
        }
    }

    /// As [`quiesce`](Self::quiesce), before something is released, unless the thread has vouched that nothing uses it.
    pub(crate) fn quiesce_for_release(&self, runtime: &'static Runtime) {
        if release::waits() {
            self.quiesce(runtime);
        }
    }

    pub(crate) fn fail_streams(&self, code: hipError_t, report: &str) {
        for stream in self.streams() {
            stream.fail(code, report);
        }
    }

    pub(crate) fn check_health(&self) {
        for stream in self.streams() {
            stream.check_health();
        }
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

    /// Whether all workgroups of a grid can wait for each other by the device libraries' means.
    ///
    /// They use counters in memory from gfx11 on and on gfx942 and gfx950. Elsewhere they use global wave sync, which a
    /// kernel has to initialise on hardware; this runtime has no kernels.
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

impl Info {
    /// The most bytes of a texture over linear memory: elements have up to 16.
    pub(crate) fn max_linear_texture(&self) -> usize {
        self.max_texels.saturating_mul(16).min(i32::MAX as usize)
    }

    fn ask(
        hsa: Hsa,
        agent: hsa_agent_t,
        pool: hsa_amd_memory_pool_t,
        pools: &[hsa_amd_memory_pool_t],
    ) -> std::result::Result<Self, &'static str> {
        type A = hsa_agent_info_t;
        type X = hsa_amd_agent_info_t;
        type P = hsa_amd_memory_pool_info_t;
        let isa = hsa.isa_name(agent).ok_or("it has no instruction set name")?;
        let target: TargetId = isa.parse().map_err(|_| "its instruction set name is no target id")?;
        // SAFETY: the types are the headers' for these attributes; texts get at least the lengths stated there.
        unsafe {
            let word = |attribute: u32| hsa.agent_info(agent, attribute, 0u32);
            let some = |attribute: u32| word(attribute).unwrap_or(0);
            let text = |attribute: u32| hsa.agent_text(agent, attribute);
            let bdf = some(X::HSA_AMD_AGENT_INFO_BDFID.0);
            let mut uuid = [0u8; 16];
            if let Some(id) = hsa.uuid(agent) {
                let id = id.as_bytes();
                let length = id.len().min(uuid.len());
                uuid[..length].copy_from_slice(&id[..length]);
            }
            let hdp = hsa.agent_info(
                agent,
                X::HSA_AMD_AGENT_INFO_HDP_FLUSH.0,
                hsa_amd_hdp_flush_t {
                    HDP_MEM_FLUSH_CNTL: std::ptr::null_mut(),
                    HDP_REG_FLUSH_CNTL: std::ptr::null_mut(),
                },
            );
            let lds = pools
                .iter()
                .find(|&&pool| {
                    hsa.pool_info(pool, P::HSA_AMD_MEMORY_POOL_INFO_SEGMENT, hsa_amd_segment_t(u32::MAX))
                        == Some(hsa_amd_segment_t::HSA_AMD_SEGMENT_GROUP)
                })
                .and_then(|&pool| hsa.pool_info(pool, P::HSA_AMD_MEMORY_POOL_INFO_SIZE, 0usize));
            let memory_bytes =
                hsa.pool_info(pool, P::HSA_AMD_MEMORY_POOL_INFO_SIZE, 0usize).unwrap_or(0) as u64;
            let max_allocation = hsa.pool_info(pool, P::HSA_AMD_MEMORY_POOL_INFO_ALLOC_MAX_SIZE, 0usize);
            let dims =
                hsa.agent_info(agent, A::HSA_AGENT_INFO_WORKGROUP_MAX_DIM.0, [0u16; 3]).unwrap_or([1024; 3]);
            let caches = hsa.agent_info(agent, A::HSA_AGENT_INFO_CACHE_SIZE.0, [0u32; 4]).unwrap_or([0; 4]);
            let properties =
                hsa.agent_info(agent, X::HSA_AMD_AGENT_INFO_MEMORY_PROPERTIES.0, [0u8; 8]).unwrap_or([0; 8]);
            let extensions =
                hsa.agent_info(agent, A::HSA_AGENT_INFO_EXTENSIONS.0, [0u8; 128]).unwrap_or([0; 128]);
            let has_images = extensions[0] & 1 << hsa_extension_t::HSA_EXTENSION_IMAGES.0 != 0;
            let apu = hsa_amd_agent_memory_properties_t::HSA_AMD_MEMORY_PROPERTY_AGENT_IS_APU.0;
            Ok(Self {
                name: text(X::HSA_AMD_AGENT_INFO_PRODUCT_NAME.0).unwrap_or_else(|| target.processor.clone()),
                arch: target.to_string(),
                gfx: gfx_version(&target.processor),
                target,
                uuid,
                pci: Pci {
                    domain: some(X::HSA_AMD_AGENT_INFO_DOMAIN.0),
                    bus: bdf >> 8 & 0xff,
                    device: bdf >> 3 & 0x1f,
                    function: bdf & 7,
                },
                chip_id: some(X::HSA_AMD_AGENT_INFO_CHIP_ID.0),
                asic_revision: some(X::HSA_AMD_AGENT_INFO_ASIC_REVISION.0),
                wave_size: word(A::HSA_AGENT_INFO_WAVEFRONT_SIZE.0).filter(|&size| size != 0).unwrap_or(64),
                compute_units: some(X::HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT.0).max(1),
                simds_per_cu: some(X::HSA_AMD_AGENT_INFO_NUM_SIMDS_PER_CU.0).max(1),
                waves_per_cu: some(X::HSA_AMD_AGENT_INFO_MAX_WAVES_PER_CU.0).max(1),
                xccs: some(X::HSA_AMD_AGENT_INFO_NUM_XCC.0).max(1),
                clock_mhz: some(X::HSA_AMD_AGENT_INFO_MAX_CLOCK_FREQUENCY.0),
                memory_clock_mhz: some(X::HSA_AMD_AGENT_INFO_MEMORY_MAX_FREQUENCY.0),
                memory_width_bits: some(X::HSA_AMD_AGENT_INFO_MEMORY_WIDTH.0),
                l2_bytes: caches[1],
                wall_clock_hz: hsa
                    .agent_info(agent, X::HSA_AMD_AGENT_INFO_TIMESTAMP_FREQUENCY.0, 0u64)
                    .unwrap_or(100_000_000),
                memory_bytes,
                max_allocation: max_allocation.map_or(memory_bytes, |size| size as u64),
                lds_bytes: lds.and_then(|size| u32::try_from(size).ok()).unwrap_or(64 << 10),
                max_block: word(A::HSA_AGENT_INFO_WORKGROUP_MAX_SIZE.0)
                    .filter(|&size| size != 0)
                    .unwrap_or(1024),
                max_block_dim: dims.map(u32::from),
                copy_engines: some(X::HSA_AMD_AGENT_INFO_NUM_SDMA_ENG.0),
                max_texels: if has_images {
                    // AMD's runtime writes 32 bits, where the header says `size_t`.
                    hsa.agent_info(agent, A::HSA_EXT_AGENT_INFO_IMAGE_1DB_MAX_ELEMENTS.0, 0usize).unwrap_or(0)
                } else {
                    0
                },
                is_apu: properties[(apu / 8) as usize % 8] & 1 << (apu % 8) != 0,
                hdp_mem_flush: HdpFlush(hdp.map_or(std::ptr::null_mut(), |hdp| hdp.HDP_MEM_FLUSH_CNTL)),
                hdp_reg_flush: HdpFlush(hdp.map_or(std::ptr::null_mut(), |hdp| hdp.HDP_REG_FLUSH_CNTL)),
            })
        }
    }
}

/// Major, minor and stepping of a processor's name; the last two are one hexadecimal digit each.
fn gfx_version(processor: &str) -> [u32; 3] {
    let digits = processor.strip_prefix("gfx").unwrap_or_default();
    let (Some(split), true) = (digits.len().checked_sub(2), digits.is_ascii()) else { return [0; 3] };
    let (major, rest) = digits.split_at(split);
    let digit = |index: usize| u32::from_str_radix(&rest[index..=index], 16).unwrap_or(0);
    [major.parse().unwrap_or(0), digit(0), digit(1)]
}

thread_local! {
    static CURRENT: Cell<Option<&'static Device>> = const { Cell::new(None) };
    /// Whether the program has chosen it.
    static CHOSEN: Cell<bool> = const { Cell::new(false) };
}

/// The thread's current device: the one it set, else the first.
#[inline]
pub(crate) fn current_device(runtime: &'static Runtime) -> Result<&'static Device> {
    if let Some(device) = CURRENT.get() {
        return Ok(device);
    }
    if devices::count(runtime) == 0 {
        devices::refresh(runtime)?;
    }
    let device = devices::get(runtime, 0).map_err(|_| hipError_t::hipErrorNoDevice)?;
    CURRENT.set(Some(device));
    Ok(device)
}

/// Makes a device the thread's current one.
pub(crate) fn set_current(device: &'static Device) {
    CHOSEN.set(true);
    CURRENT.set(Some(device));
}

/// The device with an ordinal; agents that have appeared in the meantime are found.
fn device(ordinal: i32) -> Result<&'static Device> {
    let runtime = active()?;
    match devices::get(runtime, ordinal) {
        Ok(device) => Ok(device),
        Err(code) if ordinal < 0 => Err(code),
        Err(_) => {
            devices::refresh(runtime)?;
            if devices::count(runtime) == 0 {
                return Err(hipError_t::hipErrorNoDevice);
            }
            devices::get(runtime, ordinal)
        }
    }
}

/// # Safety
/// `out` is null or valid for writing.
unsafe fn set<T>(out: *mut T, value: T) -> Result {
    // SAFETY: as this function's contract.
    *unsafe { caller::place(out) }? = value;
    Ok(())
}

/// Copies a text into a caller's buffer, NUL-terminated and cut to its length.
///
/// # Safety
/// `out` is null or valid for `length` bytes.
unsafe fn set_text(out: *mut c_char, length: i32, text: &str) -> Result {
    let room =
        usize::try_from(length).ok().filter(|&room| room != 0 && !out.is_null()).ok_or(INVALID_VALUE)?;
    // SAFETY: as this function's contract.
    unsafe { caller::put_text(out, room, text) }
}

/// `hipInit`.
pub(crate) unsafe extern "C" fn hipInit(flags: u32) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        if flags != 0 {
            return Err(INVALID_VALUE);
        }
        devices::refresh(runtime)?;
        if devices::count(runtime) == 0 { Err(hipError_t::hipErrorNoDevice) } else { Ok(()) }
    })
}

/// `hipDriverGetVersion`.
pub(crate) unsafe extern "C" fn hipDriverGetVersion(version: *mut i32) -> hipError_t {
    // SAFETY: the caller passes null or a valid place.
    entry(|| unsafe { set(version, VERSION) })
}

/// `hipRuntimeGetVersion`.
pub(crate) unsafe extern "C" fn hipRuntimeGetVersion(version: *mut i32) -> hipError_t {
    // SAFETY: the caller passes null or a valid place.
    entry(|| unsafe { set(version, VERSION) })
}

/// `hipGetDeviceCount`: looks for agents that have appeared since the last look.
pub(crate) unsafe extern "C" fn hipGetDeviceCount(count: *mut i32) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        devices::refresh(runtime)?;
        let found = i32::try_from(devices::count(runtime)).map_err(|_| hipError_t::hipErrorUnknown)?;
        // SAFETY: the caller passes null or a valid place.
        unsafe { set(count, found)? };
        if found == 0 { Err(hipError_t::hipErrorNoDevice) } else { Ok(()) }
    })
}

/// `hipSetDevice`: the thread's current device.
pub(crate) unsafe extern "C" fn hipSetDevice(ordinal: i32) -> hipError_t {
    entry(|| {
        set_current(device(ordinal)?);
        Ok(())
    })
}

/// `hipSetValidDevices`: the first of the list is current for a thread that has not chosen one. An empty list changes nothing.
pub(crate) unsafe extern "C" fn hipSetValidDevices(list: *mut i32, count: i32) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        if count == 0 {
            return Ok(());
        }
        devices::refresh(runtime)?;
        let count = usize::try_from(count).map_err(|_| hipError_t::hipErrorInvalidValue)?;
        if list.is_null() || count > devices::count(runtime) {
            return Err(hipError_t::hipErrorInvalidValue);
        }
        // SAFETY: the caller's list has as many entries.
        let list = unsafe { caller::list(list, count) }?;
        let devices =
            list.iter().map(|&ordinal| devices::get(runtime, ordinal)).collect::<Result<Vec<_>>>()?;
        if !CHOSEN.get() {
            CURRENT.set(Some(devices[0]));
        }
        Ok(())
    })
}

/// `hipGetDevice`.
pub(crate) unsafe extern "C" fn hipGetDevice(ordinal: *mut i32) -> hipError_t {
    entry(|| {
        let current = current_device(active()?)?;
        // SAFETY: the caller passes null or a valid place.
        unsafe { set(ordinal, current.ordinal) }
    })
}

/// `hipDeviceGet`: the handle of a device is its ordinal.
pub(crate) unsafe extern "C" fn hipDeviceGet(out: *mut i32, ordinal: i32) -> hipError_t {
    entry(|| {
        let device = device(ordinal)?;
        // SAFETY: the caller passes null or a valid place.
        unsafe { set(out, device.ordinal) }
    })
}

/// `hipDeviceGetName`.
pub(crate) unsafe extern "C" fn hipDeviceGetName(name: *mut c_char, length: i32, ordinal: i32) -> hipError_t {
    entry(|| {
        let device = device(ordinal)?;
        // SAFETY: the caller's buffer has `length` bytes.
        unsafe { set_text(name, length, &device.info.name) }
    })
}

/// `hipDeviceGetUuid`: the sixteen digits that follow `GPU-` in the UUID's text, as AMD's runtime returns them.
pub(crate) unsafe extern "C" fn hipDeviceGetUuid(uuid: *mut hipUUID, ordinal: i32) -> hipError_t {
    entry(|| {
        let device = device(ordinal)?;
        let bytes = device.info.uuid.map(|byte| byte as c_char);
        // SAFETY: the caller passes null or a valid place.
        unsafe { set(uuid, hipUUID { bytes }) }
    })
}

/// `hipDeviceTotalMem`.
pub(crate) unsafe extern "C" fn hipDeviceTotalMem(bytes: *mut usize, ordinal: i32) -> hipError_t {
    entry(|| {
        let device = device(ordinal)?;
        // SAFETY: the caller passes null or a valid place.
        unsafe { set(bytes, device.info.memory_bytes as usize) }
    })
}

/// `hipDeviceComputeCapability`.
pub(crate) unsafe extern "C" fn hipDeviceComputeCapability(
    major: *mut i32,
    minor: *mut i32,
    ordinal: i32,
) -> hipError_t {
    entry(|| {
        let [first, second, _] = device(ordinal)?.info.gfx;
        // SAFETY: the caller passes null or valid places.
        unsafe {
            set(major, first as i32)?;
            set(minor, second as i32)
        }
    })
}

/// `hipDeviceGetPCIBusId`: `domain:bus:device.function`, hexadecimal.
pub(crate) unsafe extern "C" fn hipDeviceGetPCIBusId(
    out: *mut c_char,
    length: i32,
    ordinal: i32,
) -> hipError_t {
    entry(|| {
        let Pci { domain, bus, device: slot, function } = device(ordinal)?.info.pci;
        // What would be cut short is refused.
        if length < PCI_ID_BYTES {
            return Err(INVALID_VALUE);
        }
        // SAFETY: the caller's buffer has `length` bytes.
        unsafe { set_text(out, length, &format!("{domain:04x}:{bus:02x}:{slot:02x}.{function:x}")) }
    })
}

/// `hipDeviceGetByPCIBusId`.
pub(crate) unsafe extern "C" fn hipDeviceGetByPCIBusId(ordinal: *mut i32, id: *const c_char) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        // SAFETY: the caller passes a NUL-terminated text.
        let text = unsafe { caller::text(id) }?.to_str().map_err(|_| INVALID_VALUE)?;
        let wanted = parse_pci(text).ok_or(INVALID_VALUE)?;
        devices::refresh(runtime)?;
        let found = devices::all(runtime).into_iter().find(|device| {
            let pci = device.info.pci;
            Pci { function: wanted.function, ..pci } == wanted
        });
        // SAFETY: the caller passes null or a valid place.
        unsafe { set(ordinal, found.ok_or(INVALID_VALUE)?.ordinal) }
    })
}

/// Reads `domain:bus:device.function`, of which domain and function may be missing.
fn parse_pci(text: &str) -> Option<Pci> {
    let (place, function) = text.split_once('.').unwrap_or((text, "0"));
    let mut parts = place.rsplit(':');
    let hex = |text: &str| u32::from_str_radix(text, 16).ok();
    let device = hex(parts.next()?)?;
    let bus = hex(parts.next()?)?;
    let domain = parts.next().map_or(Some(0), hex)?;
    if parts.next().is_some() {
        return None;
    }
    Some(Pci { domain, bus, device, function: hex(function)? })
}

/// `hipMemGetInfo`: of the current device.
pub(crate) unsafe extern "C" fn hipMemGetInfo(free: *mut usize, total: *mut usize) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        let (available, size) = current_device(runtime)?.memory_info(runtime);
        // SAFETY: the caller passes null or valid places.
        unsafe {
            caller::store_optional(free, available as usize)?;
            caller::store_optional(total, size as usize)
        }
    })
}

/// The device with an ordinal, for other entry points.
pub(crate) fn by_ordinal(ordinal: i32) -> Result<&'static Device> {
    device(ordinal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_names_have_three_parts() {
        assert_eq!(gfx_version("gfx1100"), [11, 0, 0]);
        assert_eq!(gfx_version("gfx90a"), [9, 0, 10]);
        assert_eq!(gfx_version("gfx1036"), [10, 3, 6]);
        assert_eq!(gfx_version("gfx942"), [9, 4, 2]);
        assert_eq!(gfx_version("gfx"), [0; 3]);
        assert_eq!(gfx_version("gfxé"), [0; 3]);
    }

    #[test]
    fn pci_ids_are_read_with_and_without_a_domain() {
        let pci = |domain, bus, device, function| Some(Pci { domain, bus, device, function });
        assert_eq!(parse_pci("0000:c3:00.0"), pci(0, 0xc3, 0, 0));
        assert_eq!(parse_pci("1a:1f.7"), pci(0, 0x1a, 0x1f, 7));
        assert_eq!(parse_pci("0001:02:03"), pci(1, 2, 3, 0));
        for bad in ["", "3", "x:y", "1:2:3:4", "0:0.z"] {
            assert_eq!(parse_pci(bad), None, "{bad}");
        }
    }
}
