//! A small HSA in memory: one CPU agent, one GPU agent, queues whose kernels are only recorded, copies by the
//! host.
//!
//! It shows how the runtime calls HSA and lets a test decide how HSA answers.

use std::alloc::Layout;
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU16, AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use code_object::{CodeObject, SymbolKind};
use hsa_sys::hsa_status_t as S;
use hsa_sys::*;

const CPU: hsa_agent_t = hsa_agent_t { handle: 1 };
pub(super) const GPU: hsa_agent_t = hsa_agent_t { handle: 2 };
const HOST_POOL: u64 = 10;
const KERNARG_POOL: u64 = 11;
const DEVICE_POOL: u64 = 20;
const GROUP_POOL: u64 = 21;

/// Memory of the fake device, and the largest allocation.
pub(super) const DEVICE_BYTES: usize = 1 << 30;

/// A dispatched kernel, from its packet and argument segment.
#[derive(Debug, Clone)]
pub(super) struct Dispatched {
    pub(super) kernel: String,
    /// It waited for the packets before it.
    pub(super) ordered: bool,
    pub(super) packet: hsa_kernel_dispatch_packet_t_copy,
    pub(super) arguments: Vec<u8>,
}

/// The parts of a dispatch packet that tests look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(non_camel_case_types, reason = "named after the packet")]
pub(super) struct hsa_kernel_dispatch_packet_t_copy {
    pub(super) workgroup: [u16; 3],
    pub(super) grid: [u32; 3],
    pub(super) private: u32,
    pub(super) group: u32,
    pub(super) kernarg: u64,
    pub(super) completion: u64,
}

struct Kernel {
    name: String,
    kernarg_size: usize,
    group: u32,
    private: u32,
}

#[derive(Default)]
struct State {
    allocations: HashMap<usize, Layout>,
    readers: HashMap<u64, Vec<u8>>,
    executables: HashMap<u64, Vec<u64>>,
    symbols: HashMap<u64, Symbol>,
    queues: HashMap<usize, &'static Queue>,
    dispatched: Vec<Dispatched>,
    live_signals: usize,
}

struct Symbol {
    name: String,
    kernel: Option<&'static Kernel>,
    variable: Option<(u64, u32)>,
}

struct Queue {
    structure: usize,
    callback: unsafe extern "C" fn(S, *mut hsa_queue_t, *mut c_void),
    data: usize,
    stop: AtomicBool,
    /// The packet that the processor waits for; all before it have completed.
    awaited: AtomicU64,
    /// A packet is being processed.
    busy: AtomicBool,
}

struct FakeSignal {
    value: AtomicI64,
    begin: AtomicU64,
    end: AtomicU64,
}

static STATE: LazyLock<Mutex<State>> = LazyLock::new(Mutex::default);
static NEXT: AtomicU64 = AtomicU64::new(1 << 40);
/// The masks of compute units set for queues, the newest last.
pub(super) static CU_MASKS: Mutex<Vec<Vec<u32>>> = Mutex::new(Vec::new());
/// The next copies end with an error.
pub(super) static FAIL_COPIES: AtomicBool = AtomicBool::new(false);
/// The next copy that begins ends with an error at once.
pub(super) static FAIL_ONE_COPY: AtomicBool = AtomicBool::new(false);
/// How many more copies are accepted; the next one is refused.
pub(super) static REFUSE_COPY_AFTER: AtomicU64 = AtomicU64::new(u64::MAX);
/// Copies that were accepted and have not ended.
pub(super) static COPIES: AtomicU64 = AtomicU64::new(0);
/// Fills fail.
pub(super) static FAIL_FILLS: AtomicBool = AtomicBool::new(false);
/// Queues are not destroyed until [`fire`].
pub(super) static KEEP_QUEUES: AtomicBool = AtomicBool::new(false);
/// Copies that are due wait until this is false.
pub(super) static HOLD_COPIES: AtomicBool = AtomicBool::new(false);
/// How many of the next allocations fail.
pub(super) static FAIL_ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
/// Packets do not complete their signals, as if the signals had been overwritten.
pub(super) static LOSE_SIGNALS: AtomicBool = AtomicBool::new(false);
/// Kernels named `work` wait until this is false.
pub(super) static HOLD: AtomicBool = AtomicBool::new(false);
/// How many kernels have been held so far.
pub(super) static HELD: AtomicU64 = AtomicU64::new(0);
/// Aborted kernels continue until this is false.
pub(super) static HOLD_ABORTED: AtomicBool = AtomicBool::new(false);

/// How many signals can still be created.
pub(super) static SIGNALS_LEFT: AtomicU64 = AtomicU64::new(u64::MAX);
/// The next queue is invalid: 1 for a null pointer, 2 for a ring of 0 packets, 3 for one of 3.
pub(super) static BAD_QUEUE: AtomicU64 = AtomicU64::new(0);
/// The virtual memory of this fake refuses: bits of [`Refused`].
pub(super) static REFUSE: AtomicU64 = AtomicU64::new(0);
/// How many of the calls in [`REFUSE`] still succeed.
pub(super) static REFUSE_AFTER: AtomicU64 = AtomicU64::new(0);

/// A call that a test has refused.
#[derive(Clone, Copy)]
#[repr(u64)]
pub(super) enum Refused {
    Unmap = 1,
    SetAccess = 2,
    Unlock = 4,
    Detach = 8,
}

fn refuses(call: Refused) -> bool {
    let less = |left: u64| left.checked_sub(1);
    REFUSE.load(Ordering::Acquire) & call as u64 != 0
        && REFUSE_AFTER.fetch_update(Ordering::AcqRel, Ordering::Acquire, less).is_err()
}

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn fresh() -> u64 {
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Kernels dispatched since the last call.
pub(super) fn take_dispatched() -> Vec<Dispatched> {
    std::mem::take(&mut state().dispatched)
}

/// Allocations of the size of a staging buffer.
pub(super) fn staging_buffers() -> usize {
    state().allocations.values().filter(|layout| layout.size() == crate::gpu::STAGING_BYTES).count()
}

/// Live queues.
pub(super) fn queues() -> usize {
    state().queues.len()
}

/// Allocations and signals that are live.
pub(super) fn live() -> (usize, usize) {
    let state = state();
    (state.allocations.len(), state.live_signals)
}

unsafe fn put<T>(out: *mut c_void, value: T) -> S {
    // SAFETY: the runtime passes a place of the attribute's type.
    unsafe { out.cast::<T>().write_unaligned(value) };
    S::HSA_STATUS_SUCCESS
}

unsafe extern "C" fn set_cu_mask(_queue: *const hsa_queue_t, bits: u32, mask: *const u32) -> hsa_status_t {
    // SAFETY: the caller's list has as many bits.
    let mask = unsafe { std::slice::from_raw_parts(mask, bits as usize / 32) };
    CU_MASKS.lock().unwrap().push(mask.to_vec());
    hsa_status_t::HSA_STATUS_SUCCESS
}

unsafe extern "C" fn init() -> S {
    S::HSA_STATUS_SUCCESS
}

unsafe extern "C" fn system_get_info(attribute: hsa_system_info_t, value: *mut c_void) -> S {
    match attribute {
        // SAFETY: the attribute's type is u64.
        hsa_system_info_t::HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY => unsafe { put(value, 1_000_000_000u64) },
        // SAFETY: as above.
        hsa_system_info_t::HSA_SYSTEM_INFO_TIMESTAMP => unsafe { put(value, now()) },
        _ => S::HSA_STATUS_ERROR_INVALID_ARGUMENT,
    }
}

type AgentCallback = Option<unsafe extern "C" fn(hsa_agent_t, *mut c_void) -> S>;

unsafe extern "C" fn iterate_agents(callback: AgentCallback, data: *mut c_void) -> S {
    for agent in [CPU, GPU] {
        // SAFETY: the runtime's callback takes its own data.
        let _ = unsafe { callback.unwrap()(agent, data) };
    }
    S::HSA_STATUS_SUCCESS
}

unsafe extern "C" fn agent_get_info(
    agent: hsa_agent_t,
    attribute: hsa_agent_info_t,
    value: *mut c_void,
) -> S {
    use hsa_agent_info_t as A;
    // SAFETY: the types are the headers' for these attributes.
    unsafe {
        match (agent, attribute) {
            (CPU, A::HSA_AGENT_INFO_DEVICE) => put(value, hsa_device_type_t::HSA_DEVICE_TYPE_CPU),
            (_, A::HSA_AGENT_INFO_DEVICE) => put(value, hsa_device_type_t::HSA_DEVICE_TYPE_GPU),
            (_, A::HSA_AGENT_INFO_WAVEFRONT_SIZE) => put(value, 32u32),
            (_, A::HSA_AGENT_INFO_WORKGROUP_MAX_SIZE) => put(value, 1024u32),
            (_, A::HSA_AGENT_INFO_WORKGROUP_MAX_DIM) => put(value, [1024u16; 3]),
            (_, A::HSA_AGENT_INFO_QUEUE_MAX_SIZE) => put(value, 64u32),
            (_, A::HSA_AGENT_INFO_EXTENSIONS) => {
                let mut bits = [0u8; 128];
                bits[0] = 1 << hsa_extension_t::HSA_EXTENSION_IMAGES.0;
                put(value, bits)
            }
            // As in AMD's runtime, in words of 32 bits. All differ, so that no test passes with another one.
            (_, A::HSA_EXT_AGENT_INFO_IMAGE_1DB_MAX_ELEMENTS) => put(value, 1u32 << 27),
            (_, A::HSA_EXT_AGENT_INFO_IMAGE_1D_MAX_ELEMENTS) => put(value, 4096u32),
            (_, A::HSA_EXT_AGENT_INFO_IMAGE_2D_MAX_ELEMENTS) => put(value, [4097u32, 4098]),
            (_, A::HSA_EXT_AGENT_INFO_IMAGE_3D_MAX_ELEMENTS) => put(value, [1024u32, 1025, 1026]),
            (_, A::HSA_EXT_AGENT_INFO_IMAGE_1DA_MAX_ELEMENTS) => put(value, 4099u32),
            (_, A::HSA_EXT_AGENT_INFO_IMAGE_2DA_MAX_ELEMENTS) => put(value, [4100u32, 4101]),
            (_, A::HSA_EXT_AGENT_INFO_IMAGE_ARRAY_MAX_LAYERS) => put(value, 512u32),
            (_, other) => match hsa_amd_agent_info_t(other.0) {
                hsa_amd_agent_info_t::HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT => put(value, 4u32),
                hsa_amd_agent_info_t::HSA_AMD_AGENT_INFO_NUM_SIMDS_PER_CU => put(value, 2u32),
                hsa_amd_agent_info_t::HSA_AMD_AGENT_INFO_MAX_WAVES_PER_CU => put(value, 32u32),
                hsa_amd_agent_info_t::HSA_AMD_AGENT_INFO_BDFID => put(value, 0xc308u32),
                hsa_amd_agent_info_t::HSA_AMD_AGENT_INFO_UUID => put(value, *b"GPU-0123456789abcdef\0"),
                _ => S::HSA_STATUS_ERROR_INVALID_ARGUMENT,
            },
        }
    }
}

type IsaCallback = Option<unsafe extern "C" fn(hsa_isa_t, *mut c_void) -> S>;

unsafe extern "C" fn agent_iterate_isas(_: hsa_agent_t, callback: IsaCallback, data: *mut c_void) -> S {
    // SAFETY: the runtime's callback takes its own data.
    unsafe { callback.unwrap()(hsa_isa_t { handle: 1 }, data) }
}

unsafe extern "C" fn isa_get_info_alt(_: hsa_isa_t, attribute: hsa_isa_info_t, value: *mut c_void) -> S {
    let name = b"amdgcn-amd-amdhsa--gfx1100";
    // SAFETY: the runtime asks for the length before the name.
    unsafe {
        match attribute {
            hsa_isa_info_t::HSA_ISA_INFO_NAME_LENGTH => put(value, name.len() as u32),
            hsa_isa_info_t::HSA_ISA_INFO_NAME => put(value, *name),
            _ => S::HSA_STATUS_ERROR_INVALID_ARGUMENT,
        }
    }
}

type PoolCallback = Option<unsafe extern "C" fn(hsa_amd_memory_pool_t, *mut c_void) -> S>;

unsafe extern "C" fn iterate_pools(agent: hsa_agent_t, callback: PoolCallback, data: *mut c_void) -> S {
    let pools = if agent == CPU { [HOST_POOL, KERNARG_POOL] } else { [DEVICE_POOL, GROUP_POOL] };
    for handle in pools {
        // SAFETY: the runtime's callback takes its own data.
        let _ = unsafe { callback.unwrap()(hsa_amd_memory_pool_t { handle }, data) };
    }
    S::HSA_STATUS_SUCCESS
}

unsafe extern "C" fn pool_get_info(
    pool: hsa_amd_memory_pool_t,
    attribute: hsa_amd_memory_pool_info_t,
    value: *mut c_void,
) -> S {
    use hsa_amd_memory_pool_info_t as I;
    // SAFETY: the types are the headers' for these attributes.
    unsafe {
        match attribute {
            I::HSA_AMD_MEMORY_POOL_INFO_SEGMENT if pool.handle == GROUP_POOL => {
                put(value, hsa_amd_segment_t::HSA_AMD_SEGMENT_GROUP)
            }
            I::HSA_AMD_MEMORY_POOL_INFO_SEGMENT => put(value, hsa_amd_segment_t::HSA_AMD_SEGMENT_GLOBAL),
            I::HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS => put(
                value,
                match pool.handle {
                    HOST_POOL => 2u32,
                    KERNARG_POOL => 3,
                    _ => 4,
                },
            ),
            I::HSA_AMD_MEMORY_POOL_INFO_SIZE if pool.handle == GROUP_POOL => put(value, 65536usize),
            I::HSA_AMD_MEMORY_POOL_INFO_SIZE | I::HSA_AMD_MEMORY_POOL_INFO_ALLOC_MAX_SIZE => {
                put(value, DEVICE_BYTES)
            }
            I::HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED => put(value, pool.handle != GROUP_POOL),
            _ => S::HSA_STATUS_ERROR_INVALID_ARGUMENT,
        }
    }
}

unsafe extern "C" fn agent_pool_info(
    agent: hsa_agent_t,
    pool: hsa_amd_memory_pool_t,
    attribute: hsa_amd_agent_memory_pool_info_t,
    value: *mut c_void,
) -> S {
    use hsa_amd_memory_pool_access_t as A;
    // The host cannot access the device's memory, as on a GPU without a large BAR.
    let access = if agent == CPU && pool.handle == DEVICE_POOL {
        A::HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED
    } else {
        A::HSA_AMD_MEMORY_POOL_ACCESS_ALLOWED_BY_DEFAULT
    };
    match attribute {
        // SAFETY: the attribute's type is hsa_amd_memory_pool_access_t.
        hsa_amd_agent_memory_pool_info_t::HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS => unsafe {
            put(value, access)
        },
        _ => S::HSA_STATUS_ERROR_INVALID_ARGUMENT,
    }
}

fn allocate_bytes(size: usize) -> usize {
    let layout = Layout::from_size_align(size.max(1), 4096).unwrap();
    // SAFETY: the size is not 0.
    let pointer = unsafe { std::alloc::alloc_zeroed(layout) } as usize;
    state().allocations.insert(pointer, layout);
    pointer
}

unsafe extern "C" fn pool_allocate(
    _: hsa_amd_memory_pool_t,
    size: usize,
    _: u32,
    out: *mut *mut c_void,
) -> S {
    let fails = |left: u64| left.checked_sub(1);
    if size > DEVICE_BYTES
        || FAIL_ALLOCATIONS.fetch_update(Ordering::AcqRel, Ordering::Acquire, fails).is_ok()
    {
        return S::HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    }
    // SAFETY: the runtime passes a valid place.
    unsafe { *out = allocate_bytes(size) as *mut c_void };
    S::HSA_STATUS_SUCCESS
}

unsafe extern "C" fn pool_free(pointer: *mut c_void) -> S {
    let Some(layout) = state().allocations.remove(&(pointer as usize)) else {
        return S::HSA_STATUS_ERROR_INVALID_ALLOCATION;
    };
    // SAFETY: the memory was allocated with this layout and is forgotten now.
    unsafe { std::alloc::dealloc(pointer.cast(), layout) };
    S::HSA_STATUS_SUCCESS
}

unsafe extern "C" fn allow_access(_: u32, _: *const hsa_agent_t, _: *const u32, pointer: *const c_void) -> S {
    match state().allocations.contains_key(&(pointer as usize)) {
        true => S::HSA_STATUS_SUCCESS,
        false => S::HSA_STATUS_ERROR_INVALID_ALLOCATION,
    }
}

unsafe extern "C" fn memory_lock(
    host: *mut c_void,
    _: usize,
    _: *mut hsa_agent_t,
    _: i32,
    out: *mut *mut c_void,
) -> S {
    // SAFETY: the runtime passes a valid place.
    unsafe { *out = host };
    S::HSA_STATUS_SUCCESS
}

unsafe extern "C" fn memory_unlock(_: *mut c_void) -> S {
    if refuses(Refused::Unlock) { S::HSA_STATUS_ERROR } else { S::HSA_STATUS_SUCCESS }
}

unsafe extern "C" fn address_reserve(out: *mut *mut c_void, size: usize, _: u64, _: u64) -> S {
    // SAFETY: the runtime passes a valid place.
    unsafe { *out = allocate_bytes(size) as *mut c_void };
    S::HSA_STATUS_SUCCESS
}

unsafe extern "C" fn address_free(pointer: *mut c_void, _: usize) -> S {
    // SAFETY: reserved addresses are memory of this fake's.
    unsafe { pool_free(pointer) }
}

unsafe extern "C" fn physical_create(
    _: hsa_amd_memory_pool_t,
    _: usize,
    _: hsa_amd_memory_type_t,
    _: u64,
    out: *mut hsa_amd_vmem_alloc_handle_t,
) -> S {
    // SAFETY: the runtime passes a valid place.
    unsafe { *out = hsa_amd_vmem_alloc_handle_t { handle: fresh() } };
    S::HSA_STATUS_SUCCESS
}

unsafe extern "C" fn physical_release(_: hsa_amd_vmem_alloc_handle_t) -> S {
    S::HSA_STATUS_SUCCESS
}

unsafe extern "C" fn physical_map(
    _: *mut c_void,
    _: usize,
    _: usize,
    _: hsa_amd_vmem_alloc_handle_t,
    _: u64,
) -> S {
    S::HSA_STATUS_SUCCESS
}

unsafe extern "C" fn physical_unmap(_: *mut c_void, _: usize) -> S {
    if refuses(Refused::Unmap) { S::HSA_STATUS_ERROR } else { S::HSA_STATUS_SUCCESS }
}

unsafe extern "C" fn physical_access(
    _: *mut c_void,
    _: usize,
    _: *const hsa_amd_memory_access_desc_t,
    _: usize,
) -> S {
    if refuses(Refused::SetAccess) { S::HSA_STATUS_ERROR } else { S::HSA_STATUS_SUCCESS }
}

unsafe extern "C" fn ipc_create(_: *mut c_void, _: usize, out: *mut hsa_amd_ipc_memory_t) -> S {
    // SAFETY: the runtime passes a valid place.
    unsafe { *out = hsa_amd_ipc_memory_t { handle: [7; 8] } };
    S::HSA_STATUS_SUCCESS
}

unsafe extern "C" fn ipc_attach(
    _: *const hsa_amd_ipc_memory_t,
    size: usize,
    _: u32,
    _: *const hsa_agent_t,
    out: *mut *mut c_void,
) -> S {
    // SAFETY: the runtime passes a valid place.
    unsafe { *out = allocate_bytes(size) as *mut c_void };
    S::HSA_STATUS_SUCCESS
}

unsafe extern "C" fn ipc_detach(pointer: *mut c_void) -> S {
    if refuses(Refused::Detach) {
        return S::HSA_STATUS_ERROR;
    }
    // SAFETY: what was attached is memory of this fake's.
    unsafe { pool_free(pointer) }
}

unsafe extern "C" fn memory_fill(pointer: *mut c_void, value: u32, count: usize) -> S {
    if FAIL_FILLS.load(Ordering::Acquire) {
        return S::HSA_STATUS_ERROR;
    }
    // SAFETY: the runtime fills its own allocations only.
    unsafe { std::slice::from_raw_parts_mut(pointer.cast::<u32>(), count) }.fill(value);
    S::HSA_STATUS_SUCCESS
}

unsafe extern "C" fn memory_copy(dst: *mut c_void, src: *const c_void, size: usize) -> S {
    // SAFETY: the runtime copies between valid places only.
    unsafe { dst.cast::<u8>().copy_from(src.cast(), size) };
    S::HSA_STATUS_SUCCESS
}

unsafe extern "C" fn async_copy(
    dst: *mut c_void,
    _: hsa_agent_t,
    src: *const c_void,
    _: hsa_agent_t,
    size: usize,
    count: u32,
    after: *const hsa_signal_t,
    done: hsa_signal_t,
) -> S {
    // SAFETY: the list has that many signals.
    let after: Vec<hsa_signal_t> = (0..count as usize).map(|index| unsafe { *after.add(index) }).collect();
    let (dst, src) = (dst as usize, src as usize);
    let taken =
        REFUSE_COPY_AFTER.fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| left.checked_sub(1));
    if taken.is_err() {
        REFUSE_COPY_AFTER.store(u64::MAX, Ordering::Release);
        return S::HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    }
    COPIES.fetch_add(1, Ordering::AcqRel);
    std::thread::spawn(move || {
        for signal in after {
            while at(signal).value.load(Ordering::Acquire) != 0 {
                std::thread::yield_now();
            }
        }
        let fails = FAIL_ONE_COPY.swap(false, Ordering::AcqRel);
        while !fails && HOLD_COPIES.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        COPIES.fetch_sub(1, Ordering::AcqRel);
        if fails || FAIL_COPIES.load(Ordering::Acquire) {
            at(done).value.store(-1, Ordering::Release);
            return;
        }
        at(done).begin.store(now(), Ordering::Release);
        // SAFETY: the runtime keeps both places until the copy is done.
        unsafe { (dst as *mut u8).copy_from(src as *const u8, size) };
        at(done).end.store(now(), Ordering::Release);
        at(done).value.fetch_sub(1, Ordering::AcqRel);
    });
    S::HSA_STATUS_SUCCESS
}

fn at(signal: hsa_signal_t) -> &'static FakeSignal {
    // SAFETY: signals are leaked boxes.
    unsafe { &*(signal.handle as *const FakeSignal) }
}

fn new_signal(value: i64) -> hsa_signal_t {
    let signal = Box::leak(Box::new(FakeSignal {
        value: AtomicI64::new(value),
        begin: AtomicU64::new(0),
        end: AtomicU64::new(0),
    }));
    hsa_signal_t { handle: &raw const *signal as u64 }
}

unsafe extern "C" fn signal_create(value: i64, _: u32, _: *const hsa_agent_t, out: *mut hsa_signal_t) -> S {
    let less = |left: u64| if left == u64::MAX { Some(left) } else { left.checked_sub(1) };
    if SIGNALS_LEFT.fetch_update(Ordering::AcqRel, Ordering::Acquire, less).is_err() {
        return S::HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    }
    state().live_signals += 1;
    // SAFETY: the runtime passes a valid place.
    unsafe { *out = new_signal(value) };
    S::HSA_STATUS_SUCCESS
}

unsafe extern "C" fn signal_destroy(_: hsa_signal_t) -> S {
    state().live_signals -= 1;
    S::HSA_STATUS_SUCCESS
}

unsafe extern "C" fn signal_load(signal: hsa_signal_t) -> i64 {
    at(signal).value.load(Ordering::Acquire)
}

unsafe extern "C" fn signal_store(signal: hsa_signal_t, value: i64) {
    at(signal).value.store(value, Ordering::Release);
}

unsafe extern "C" fn signal_wait(
    signal: hsa_signal_t,
    _: hsa_signal_condition_t,
    value: i64,
    ticks: u64,
    _: hsa_wait_state_t,
) -> i64 {
    let end = Instant::now() + Duration::from_nanos(ticks);
    loop {
        let seen = at(signal).value.load(Ordering::Acquire);
        if seen < value || Instant::now() > end {
            return seen;
        }
        std::thread::yield_now();
    }
}

fn now() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64 + 1
}

unsafe extern "C" fn dispatch_time(
    _: hsa_agent_t,
    signal: hsa_signal_t,
    time: *mut hsa_amd_profiling_dispatch_time_t,
) -> S {
    let [start, end] = [&at(signal).begin, &at(signal).end].map(|time| time.load(Ordering::Acquire));
    // SAFETY: the runtime passes a valid place.
    unsafe { *time = hsa_amd_profiling_dispatch_time_t { start, end } };
    S::HSA_STATUS_SUCCESS
}

unsafe extern "C" fn copy_time(signal: hsa_signal_t, time: *mut hsa_amd_profiling_async_copy_time_t) -> S {
    let [start, end] = [&at(signal).begin, &at(signal).end].map(|time| time.load(Ordering::Acquire));
    // SAFETY: the runtime passes a valid place.
    unsafe { *time = hsa_amd_profiling_async_copy_time_t { start, end } };
    S::HSA_STATUS_SUCCESS
}

type QueueCallback = Option<unsafe extern "C" fn(S, *mut hsa_queue_t, *mut c_void)>;

unsafe extern "C" fn queue_create(
    _: hsa_agent_t,
    size: u32,
    kind: hsa_queue_type32_t,
    callback: QueueCallback,
    data: *mut c_void,
    _: u32,
    _: u32,
    out: *mut *mut hsa_queue_t,
) -> S {
    let bad = BAD_QUEUE.swap(0, Ordering::AcqRel);
    if bad == 1 {
        // SAFETY: the runtime passes a valid place.
        unsafe { *out = std::ptr::null_mut() };
        return S::HSA_STATUS_SUCCESS;
    }
    let ring = allocate_bytes(size as usize * 64);
    for slot in 0..size as usize {
        // SAFETY: the slot lies within the ring. 1 is the header of a packet that is not yet written.
        unsafe { ((ring + slot * 64) as *mut u16).write(1) };
    }
    let structure = allocate_bytes(size_of::<amd_queue_v2_t>()) as *mut amd_queue_v2_t;
    // SAFETY: the memory was just allocated for the structure and is zero, which is valid for all of it.
    unsafe {
        (*structure).hsa_queue = hsa_queue_t {
            type_: kind,
            features: 1,
            base_address: ring as *mut c_void,
            doorbell_signal: new_signal(-1),
            size: if bad == 0 { size } else { [0, 3][bad as usize - 2] },
            reserved1: 0,
            id: fresh(),
        };
        (*structure).group_segment_aperture_base_hi = 0x1111;
        (*structure).private_segment_aperture_base_hi = 0x2222;
        *out = structure.cast();
    }
    let queue: &'static Queue = Box::leak(Box::new(Queue {
        structure: structure as usize,
        callback: callback.unwrap(),
        data: data as usize,
        stop: AtomicBool::new(false),
        awaited: AtomicU64::new(u64::MAX),
        busy: AtomicBool::new(false),
    }));
    state().queues.insert(structure as usize, queue);
    if bad == 0 {
        std::thread::spawn(move || serve(queue));
    }
    S::HSA_STATUS_SUCCESS
}

unsafe extern "C" fn queue_destroy(queue: *mut hsa_queue_t) -> S {
    if KEEP_QUEUES.load(Ordering::Acquire) {
        return S::HSA_STATUS_ERROR;
    }
    let removed = state().queues.remove(&(queue as usize));
    stop(removed)
}

unsafe extern "C" fn queue_inactivate(queue: *mut hsa_queue_t) -> S {
    let found = state().queues.get(&(queue as usize)).copied();
    stop(found)
}

/// Aborts the queue's work, and waits for its end.
fn stop(queue: Option<&'static Queue>) -> S {
    let Some(queue) = queue else { return S::HSA_STATUS_ERROR_INVALID_QUEUE };
    queue.stop.store(true, Ordering::SeqCst);
    while queue.busy.load(Ordering::SeqCst) {
        std::thread::yield_now();
    }
    S::HSA_STATUS_SUCCESS
}

/// Reports an error to the owners of queues whose destruction was refused, and destroys the queues.
pub(super) fn fire() -> usize {
    KEEP_QUEUES.store(false, Ordering::Release);
    let kept: Vec<&'static Queue> =
        state().queues.values().copied().filter(|queue| queue.stop.load(Ordering::Acquire)).collect();
    for queue in &kept {
        let raw = queue.structure as *mut hsa_queue_t;
        // SAFETY: the queue has not been destroyed, so that the callback's data is there.
        unsafe { (queue.callback)(S::HSA_STATUS_ERROR_EXCEPTION, raw, queue.data as *mut c_void) };
        state().queues.remove(&queue.structure);
    }
    kept.len()
}

fn indices(queue: usize) -> (&'static AtomicU64, &'static AtomicU64) {
    let queue = queue as *mut amd_queue_v2_t;
    // SAFETY: queues are never freed by this fake, and these words are only used atomically.
    unsafe {
        (
            AtomicU64::from_ptr(&raw mut (*queue).read_dispatch_id),
            AtomicU64::from_ptr(&raw mut (*queue).write_dispatch_id),
        )
    }
}

unsafe extern "C" fn add_write_index(queue: *const hsa_queue_t, count: u64) -> u64 {
    indices(queue as usize).1.fetch_add(count, Ordering::AcqRel)
}

unsafe extern "C" fn load_read_index(queue: *const hsa_queue_t) -> u64 {
    indices(queue as usize).0.load(Ordering::Acquire)
}

unsafe extern "C" fn set_profiler(_: *mut hsa_queue_t, _: i32) -> S {
    S::HSA_STATUS_SUCCESS
}

/// The packet processor.
fn serve(queue: &'static Queue) {
    // SAFETY: the structure is never freed.
    let fields = unsafe { &*(queue.structure as *const hsa_queue_t) };
    let read = indices(queue.structure).0;
    loop {
        let id = read.load(Ordering::Acquire);
        let slot = fields.base_address as usize + (id % u64::from(fields.size)) as usize * 64;
        // SAFETY: the slot lies within the ring and headers are only used atomically.
        let header = unsafe { AtomicU16::from_ptr(slot as *mut u16) };
        queue.awaited.store(id, Ordering::Release);
        let mut looks = 0u32;
        while header.load(Ordering::Acquire) & 0xff == 1 && !queue.stop.load(Ordering::Acquire) {
            looks = looks.saturating_add(1);
            match looks {
                0..200 => std::thread::yield_now(),
                // The queues of lanes outlive the tests.
                _ => std::thread::sleep(Duration::from_micros(100)),
            }
        }
        queue.awaited.store(u64::MAX, Ordering::Release);
        queue.busy.store(true, Ordering::SeqCst);
        let busy = Busy(queue);
        if queue.stop.load(Ordering::SeqCst) {
            return;
        }
        let ordered = header.load(Ordering::Acquire) & 0x100 != 0;
        assert!(
            ordered || header.load(Ordering::Acquire) & 0xff == 2,
            "every packet but a graph's kernels has the barrier bit"
        );
        let begin = now();
        // SAFETY: the packet has been published; its type says what it is.
        let done = unsafe {
            match header.load(Ordering::Acquire) & 0xff {
                2 => kernel(queue, &*(slot as *const hsa_kernel_dispatch_packet_t), ordered),
                3 => barrier(queue, &*(slot as *const hsa_barrier_and_packet_t)),
                other => panic!("packet type {other}"),
            }
        };
        let Some(completion) = done else { return };
        if completion.handle != 0 && !LOSE_SIGNALS.load(Ordering::Acquire) {
            at(completion).begin.store(begin, Ordering::Release);
            at(completion).end.store(now(), Ordering::Release);
            at(completion).value.fetch_sub(1, Ordering::AcqRel);
        }
        header.store(1, Ordering::Release);
        read.store(id + 1, Ordering::Release);
        drop(busy);
    }
}

/// A packet that is being processed, as long as it lives.
struct Busy(&'static Queue);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy.store(false, Ordering::SeqCst);
    }
}

fn barrier(queue: &Queue, packet: &hsa_barrier_and_packet_t) -> Option<hsa_signal_t> {
    for signal in packet.dep_signal {
        while signal.handle != 0 && at(signal).value.load(Ordering::Acquire) != 0 {
            if queue.stop.load(Ordering::Acquire) {
                return None;
            }
            std::thread::yield_now();
        }
    }
    Some(packet.completion_signal)
}

fn kernel(queue: &Queue, packet: &hsa_kernel_dispatch_packet_t, ordered: bool) -> Option<hsa_signal_t> {
    // SAFETY: kernel objects of this fake are addresses of leaked kernels.
    let kernel = unsafe { &*(packet.kernel_object as *const Kernel) };
    let status = match kernel.name.as_str() {
        "poke" => Some(hsa_status_t(S::HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION.0)),
        "stop" => Some(S::HSA_STATUS_ERROR_EXCEPTION),
        _ => None,
    };
    if let Some(status) = status {
        // The kernel has ended, and nothing else runs.
        queue.busy.store(false, Ordering::SeqCst);
        // SAFETY: the callback's data is valid while the queue exists.
        unsafe { (queue.callback)(status, queue.structure as *mut hsa_queue_t, queue.data as *mut c_void) };
        return None;
    }
    let held = kernel.name == "work" && HOLD.load(Ordering::Acquire);
    HELD.fetch_add(held.into(), Ordering::AcqRel);
    while held && HOLD.load(Ordering::Acquire) {
        if queue.stop.load(Ordering::Acquire) {
            while HOLD_ABORTED.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
            return None;
        }
        std::thread::yield_now();
    }
    let arguments = match kernel.kernarg_size {
        0 => Vec::new(),
        // SAFETY: the segment has as many bytes as the kernel's metadata says.
        size => unsafe { std::slice::from_raw_parts(packet.kernarg_address.cast::<u8>(), size) }.to_vec(),
    };
    state().dispatched.push(Dispatched {
        kernel: kernel.name.clone(),
        ordered,
        packet: hsa_kernel_dispatch_packet_t_copy {
            workgroup: [packet.workgroup_size_x, packet.workgroup_size_y, packet.workgroup_size_z],
            grid: [packet.grid_size_x, packet.grid_size_y, packet.grid_size_z],
            private: packet.private_segment_size,
            group: packet.group_segment_size,
            kernarg: packet.kernarg_address as u64,
            completion: packet.completion_signal.handle,
        },
        arguments,
    });
    Some(packet.completion_signal)
}

unsafe extern "C" fn executable_create(
    _: hsa_profile_t,
    _: hsa_default_float_rounding_mode_t,
    _: *const c_char,
    out: *mut hsa_executable_t,
) -> S {
    let handle = fresh();
    state().executables.insert(handle, Vec::new());
    // SAFETY: the runtime passes a valid place.
    unsafe { *out = hsa_executable_t { handle } };
    S::HSA_STATUS_SUCCESS
}

unsafe extern "C" fn executable_destroy(executable: hsa_executable_t) -> S {
    match state().executables.remove(&executable.handle) {
        Some(_) => S::HSA_STATUS_SUCCESS,
        None => S::HSA_STATUS_ERROR_INVALID_EXECUTABLE,
    }
}

unsafe extern "C" fn reader_create(
    bytes: *const c_void,
    size: usize,
    out: *mut hsa_code_object_reader_t,
) -> S {
    let handle = fresh();
    // SAFETY: the runtime passes its copy of the code object.
    let bytes = unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), size) }.to_vec();
    state().readers.insert(handle, bytes);
    // SAFETY: the runtime passes a valid place.
    unsafe { *out = hsa_code_object_reader_t { handle } };
    S::HSA_STATUS_SUCCESS
}

unsafe extern "C" fn reader_destroy(reader: hsa_code_object_reader_t) -> S {
    state().readers.remove(&reader.handle);
    S::HSA_STATUS_SUCCESS
}

unsafe extern "C" fn load_agent_code_object(
    executable: hsa_executable_t,
    _: hsa_agent_t,
    reader: hsa_code_object_reader_t,
    _: *const c_char,
    _: *mut hsa_loaded_code_object_t,
) -> S {
    let bytes = state().readers[&reader.handle].clone();
    let object = CodeObject::parse(&bytes).unwrap();
    let mut found = Vec::new();
    for kernel in object.kernels() {
        let leaked: &'static Kernel = Box::leak(Box::new(Kernel {
            name: kernel.name.clone(),
            kernarg_size: kernel.kernarg_size as usize,
            group: kernel.group_segment_size,
            private: kernel.private_segment_size,
        }));
        found.push(Symbol { name: kernel.symbol.clone(), kernel: Some(leaked), variable: None });
    }
    for symbol in object.symbols() {
        if symbol.kind == SymbolKind::Object && !symbol.undefined {
            let address = allocate_bytes(symbol.size as usize) as u64;
            found.push(Symbol {
                name: symbol.name.clone(),
                kernel: None,
                variable: Some((address, symbol.size as u32)),
            });
        }
    }
    let mut state = state();
    for symbol in found {
        let handle = fresh();
        state.symbols.insert(handle, symbol);
        state.executables.get_mut(&executable.handle).unwrap().push(handle);
    }
    S::HSA_STATUS_SUCCESS
}

unsafe extern "C" fn freeze(_: hsa_executable_t, _: *const c_char) -> S {
    S::HSA_STATUS_SUCCESS
}

unsafe extern "C" fn get_symbol(
    executable: hsa_executable_t,
    name: *const c_char,
    _: *const hsa_agent_t,
    out: *mut hsa_executable_symbol_t,
) -> S {
    // SAFETY: the runtime passes a text.
    let name = unsafe { CStr::from_ptr(name) }.to_str().unwrap();
    let state = state();
    let found =
        state.executables[&executable.handle].iter().find(|handle| state.symbols[handle].name == name);
    match found {
        Some(&handle) => {
            // SAFETY: the runtime passes a valid place.
            unsafe { *out = hsa_executable_symbol_t { handle } };
            S::HSA_STATUS_SUCCESS
        }
        None => S::HSA_STATUS_ERROR_INVALID_SYMBOL_NAME,
    }
}

unsafe extern "C" fn symbol_info(
    symbol: hsa_executable_symbol_t,
    attribute: hsa_executable_symbol_info_t,
    value: *mut c_void,
) -> S {
    use hsa_executable_symbol_info_t as I;
    let state = state();
    let symbol = &state.symbols[&symbol.handle];
    // SAFETY: the types are the headers' for these attributes.
    unsafe {
        match (attribute, symbol.kernel, symbol.variable) {
            (I::HSA_EXECUTABLE_SYMBOL_INFO_TYPE, Some(_), _) => {
                put(value, hsa_symbol_kind_t::HSA_SYMBOL_KIND_KERNEL)
            }
            (I::HSA_EXECUTABLE_SYMBOL_INFO_TYPE, None, _) => {
                put(value, hsa_symbol_kind_t::HSA_SYMBOL_KIND_VARIABLE)
            }
            (I::HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, Some(kernel), _) => {
                put(value, &raw const *kernel as u64)
            }
            (I::HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE, Some(kernel), _) => {
                put(value, kernel.group)
            }
            (I::HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE, Some(kernel), _) => {
                put(value, kernel.private)
            }
            (I::HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS, _, Some((address, _))) => put(value, address),
            (I::HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE, _, Some((_, size))) => put(value, size),
            _ => S::HSA_STATUS_ERROR_INVALID_ARGUMENT,
        }
    }
}

unsafe extern "C" fn fault_report(queue: *const hsa_queue_t, buffer: *mut c_char, size: usize) -> usize {
    let text = format!("a fake fault on queue {:#x}", queue as usize);
    let length = text.len().min(size.saturating_sub(1));
    // SAFETY: the buffer has `size` bytes.
    unsafe {
        buffer.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), length);
        buffer.add(length).write(0);
    }
    text.len()
}

unsafe extern "C" fn missing_packet(queue: *const hsa_queue_t) -> u64 {
    let Some(queue) = state().queues.get(&(queue as usize)).copied() else { return u64::MAX };
    let id = queue.awaited.load(Ordering::Acquire);
    if id == u64::MAX || queue.stop.load(Ordering::Acquire) {
        return u64::MAX;
    }
    // SAFETY: the structure is never freed.
    let fields = unsafe { &*(queue.structure as *const hsa_queue_t) };
    let slot = fields.base_address as usize + (id % u64::from(fields.size)) as usize * 64;
    // SAFETY: the slot lies within the ring and headers are only used atomically.
    let written = unsafe { AtomicU16::from_ptr(slot as *mut u16) }.load(Ordering::Acquire) & 0xff != 1;
    if written || queue.awaited.load(Ordering::Acquire) != id { u64::MAX } else { id }
}

/// Removes all packets that are not processed yet from all queues; returns how many.
pub(super) fn erase_packets() -> usize {
    let queues: Vec<&'static Queue> = state().queues.values().copied().collect();
    let mut erased = 0;
    for queue in queues {
        // SAFETY: the structure is never freed.
        let fields = unsafe { &*(queue.structure as *const hsa_queue_t) };
        let (read, write) = indices(queue.structure);
        // The one that is being processed stays.
        for id in read.load(Ordering::Acquire) + 1..write.load(Ordering::Acquire) {
            let slot = fields.base_address as usize + (id % u64::from(fields.size)) as usize * 64;
            // SAFETY: the slot lies within the ring and headers are only used atomically.
            unsafe { AtomicU16::from_ptr(slot as *mut u16) }.store(1, Ordering::Release);
            erased += 1;
        }
    }
    erased
}

/// An image as the runtime has described it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Image {
    pub(super) descriptor: hsa_ext_image_descriptor_t,
    pub(super) data: usize,
    pub(super) row_pitch: usize,
    pub(super) slice_pitch: usize,
}

/// Live images and samplers. Their handles are the addresses of words that begin with 1 for images and with 2
/// for samplers.
#[derive(Default)]
struct Images {
    words: HashMap<u64, Box<[u32; 12]>>,
    last: Option<Image>,
    last_sampler: Option<hsa_ext_sampler_descriptor_v2_t>,
}

static IMAGES: LazyLock<Mutex<Images>> = LazyLock::new(Mutex::default);
/// Makes the next sampler fail.
pub(super) static REFUSE_SAMPLER: AtomicBool = AtomicBool::new(false);

fn images() -> MutexGuard<'static, Images> {
    IMAGES.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Images {
    fn keep(&mut self, first: u32) -> u64 {
        let words = Box::new([first; 12]);
        let handle = &raw const *words as u64;
        self.words.insert(handle, words);
        handle
    }
}

/// The last image and sampler that were made, and how many live.
pub(super) fn last_image() -> (Option<Image>, Option<hsa_ext_sampler_descriptor_v2_t>, usize) {
    let images = images();
    (images.last, images.last_sampler, images.words.len())
}

unsafe extern "C" fn image_create(
    _: hsa_agent_t,
    descriptor: *const hsa_ext_image_descriptor_t,
    data: *const c_void,
    _: hsa_access_permission_t,
    layout: hsa_ext_image_data_layout_t,
    row_pitch: usize,
    slice_pitch: usize,
    image: *mut hsa_ext_image_t,
) -> S {
    assert_eq!(layout, hsa_ext_image_data_layout_t::HSA_EXT_IMAGE_DATA_LAYOUT_LINEAR);
    // SAFETY: the runtime passes a description.
    let descriptor = unsafe { *descriptor };
    let mut images = images();
    images.last = Some(Image { descriptor, data: data as usize, row_pitch, slice_pitch });
    let handle = images.keep(1);
    // SAFETY: the runtime passes a place.
    unsafe { put(image.cast(), handle) }
}

unsafe extern "C" fn sampler_create(
    _: hsa_agent_t,
    descriptor: *const hsa_ext_sampler_descriptor_v2_t,
    sampler: *mut hsa_ext_sampler_t,
) -> S {
    if REFUSE_SAMPLER.load(Ordering::Acquire) {
        return S::HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    }
    let mut images = images();
    // SAFETY: the runtime passes a description.
    images.last_sampler = Some(unsafe { *descriptor });
    let handle = images.keep(2);
    // SAFETY: the runtime passes a place.
    unsafe { put(sampler.cast(), handle) }
}

fn end_image(handle: u64) -> S {
    assert!(images().words.remove(&handle).is_some(), "it is destroyed once");
    S::HSA_STATUS_SUCCESS
}

unsafe extern "C" fn image_destroy(_: hsa_agent_t, image: hsa_ext_image_t) -> S {
    end_image(image.handle)
}

unsafe extern "C" fn sampler_destroy(_: hsa_agent_t, sampler: hsa_ext_sampler_t) -> S {
    end_image(sampler.handle)
}

/// The table of this HSA.
pub(super) fn table() -> &'static Table {
    static TABLE: OnceLock<&'static Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut builder = Builder::new("fake", "0");
        builder
            .hsa_amd_queue_cu_set_mask(set_cu_mask)
            .hsa_init(init)
            .hsa_system_get_info(system_get_info)
            .hsa_iterate_agents(iterate_agents)
            .hsa_agent_get_info(agent_get_info)
            .hsa_agent_iterate_isas(agent_iterate_isas)
            .hsa_isa_get_info_alt(isa_get_info_alt)
            .hsa_amd_agent_iterate_memory_pools(iterate_pools)
            .hsa_amd_memory_pool_get_info(pool_get_info)
            .hsa_amd_agent_memory_pool_get_info(agent_pool_info)
            .hsa_amd_memory_pool_allocate(pool_allocate)
            .hsa_amd_memory_pool_free(pool_free)
            .hsa_amd_agents_allow_access(allow_access)
            .hsa_amd_memory_lock(memory_lock)
            .hsa_amd_memory_unlock(memory_unlock)
            .hsa_amd_vmem_address_reserve(address_reserve)
            .hsa_amd_vmem_address_free(address_free)
            .hsa_amd_vmem_handle_create(physical_create)
            .hsa_amd_vmem_handle_release(physical_release)
            .hsa_amd_vmem_map(physical_map)
            .hsa_amd_vmem_unmap(physical_unmap)
            .hsa_amd_vmem_set_access(physical_access)
            .hsa_amd_ipc_memory_create(ipc_create)
            .hsa_amd_ipc_memory_attach(ipc_attach)
            .hsa_amd_ipc_memory_detach(ipc_detach)
            .hsa_amd_memory_fill(memory_fill)
            .hsa_memory_copy(memory_copy)
            .hsa_amd_memory_async_copy(async_copy)
            .hsa_signal_create(signal_create)
            .hsa_signal_destroy(signal_destroy)
            .hsa_signal_load_scacquire(signal_load)
            .hsa_signal_store_screlease(signal_store)
            .hsa_signal_wait_scacquire(signal_wait)
            .hsa_amd_profiling_get_dispatch_time(dispatch_time)
            .hsa_amd_profiling_get_async_copy_time(copy_time)
            .hsa_amd_profiling_set_profiler_enabled(set_profiler)
            .hsa_queue_create(queue_create)
            .hsa_queue_destroy(queue_destroy)
            .hsa_queue_inactivate(queue_inactivate)
            .hsa_queue_add_write_index_screlease(add_write_index)
            .hsa_queue_load_read_index_scacquire(load_read_index)
            .hsa_executable_create_alt(executable_create)
            .hsa_executable_destroy(executable_destroy)
            .hsa_code_object_reader_create_from_memory(reader_create)
            .hsa_code_object_reader_destroy(reader_destroy)
            .hsa_executable_load_agent_code_object(load_agent_code_object)
            .hsa_executable_freeze(freeze)
            .hsa_executable_get_symbol_by_name(get_symbol)
            .hsa_executable_symbol_get_info(symbol_info)
            .hsa_ext_image_create_with_layout(image_create)
            .hsa_ext_image_destroy(image_destroy)
            .hsa_ext_sampler_create_v2(sampler_create)
            .hsa_ext_sampler_destroy(sampler_destroy)
            .extensions(Extensions {
                queue_fault_report: Some(fault_report),
                queue_missing_packet: Some(missing_packet),
                ..Extensions::NONE
            });
        // SAFETY: the functions do what the runtime's tests need of them.
        unsafe { builder.finish() }
    })
}
