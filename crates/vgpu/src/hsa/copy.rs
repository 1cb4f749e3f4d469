//! Copies and fills of memory: immediately, or in the background once other work is done.

use std::cell::OnceCell;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Once};

use hsa_sys::*;
use vgpu_exec::GlobalMemory as _;

use super::agent::Agent;
use super::event::lock;
use super::pool::PAGE;
use super::signal::{Signal, wait_as_service};
use super::timeline::{self, Enqueued};
use super::waiters::{self, Waits};
use super::{S, call, call_always, machine, vmem, write};
use crate::machine::{AccessKind, FaultKind, MemoryKind, Reader, now_ns};

/// Copies check this many bytes at a time against the machine's memory, so that freeing memory never waits
/// long.
const CHUNK: u64 = 1 << 20;
/// The copy engines that a device reports.
const ENGINES: u32 = 0b11;

thread_local! {
    /// Makes the machine wait for the copying thread before it unmaps pages.
    static READER: OnceCell<Arc<Reader>> = const { OnceCell::new() };
}

/// Runs `access` while the machine does not unmap any memory that `access` checks.
fn guarded<T>(access: impl FnOnce() -> T) -> T {
    READER.with(|reader| {
        let reader = reader.get_or_init(|| machine().memory().reader());
        machine().memory().enter(reader);
        let result = access();
        reader.leave();
        result
    })
}

/// Whether the whole range is memory of the machine, in one allocation or in adjacent mappings.
fn is_known(address: u64, size: u64) -> bool {
    let memory = machine().memory();
    memory.find(address, size).is_some() || memory.spans(address, size)
}

/// Checks that the host may access the range: it must be in one allocation or in adjacent mappings, or
/// outside all of them, as the program's own memory.
fn check(address: u64, size: u64) -> Result<(), S> {
    let invalid = S::HSA_STATUS_ERROR_INVALID_ARGUMENT;
    // The first page is never mapped.
    if address < PAGE as u64 || address.checked_add(size).is_none() {
        return Err(invalid);
    }
    if is_known(address, size) {
        return Ok(());
    }
    let memory = machine().memory();
    if vmem::is_reserved(address, size) {
        return Err(S::HSA_STATUS_ERROR_INVALID_ALLOCATION);
    }
    match memory.explain(AccessKind::Read, address, size) {
        // The machine reserves the addresses of its own freed allocations. Those of other memory may belong
        // to the program by now.
        FaultKind::UseAfterFree { freed, .. }
            if matches!(
                freed.kind,
                MemoryKind::Coarse
                    | MemoryKind::Fine
                    | MemoryKind::Host
                    | MemoryKind::Kernarg
                    | MemoryKind::Guarded
            ) =>
        {
            Err(S::HSA_STATUS_ERROR_INVALID_ALLOCATION)
        }
        FaultKind::OutOfBounds { nearest: Some(near), .. }
            if address < near.end() && address + size > near.start =>
        {
            Err(invalid)
        }
        _ => Ok(()),
    }
}

/// Whether the host may access the range; see [`Extensions::host_can_access`].
pub(super) unsafe extern "C" fn host_can_access(pointer: *const c_void, size: usize) -> bool {
    let known = call_always(|| guarded(|| check(pointer as u64, size as u64)));
    known == S::HSA_STATUS_SUCCESS
}

/// Records a write by the host; see [`Extensions::host_wrote`].
pub(super) unsafe extern "C" fn host_wrote(pointer: *const c_void, size: usize) {
    // Nothing here can fail.
    let _ = call_always(|| {
        machine().memory().wrote(pointer as u64, size as u64);
        Ok(())
    });
}

/// Copies bytes; the ranges may overlap.
///
/// # Safety
/// Memory outside the machine belongs to the program. It must be mapped, and nothing else may use it during
/// this copy.
pub(super) unsafe fn copy_bytes(to: u64, from: u64, size: u64) -> Result<(), S> {
    if size == 0 {
        return Ok(());
    }
    guarded(|| {
        check(to, size)?;
        check(from, size)
    })?;
    // Overlapping ranges are copied starting at the end that is not overwritten first.
    let backward = to > from && to - from < size;
    let chunks = size.div_ceil(CHUNK);
    for step in 0..chunks {
        let chunk = if backward { chunks - 1 - step } else { step };
        let offset = chunk * CHUNK;
        let length = CHUNK.min(size - offset);
        let (to, from) = (to + offset, from + offset);
        guarded(|| {
            check(to, length)?;
            check(from, length)?;
            // SAFETY: both ranges were just found in live memory, which stays mapped while this thread is a
            // reader, or belong to the program, as the caller promises. Kernels may access them at the same
            // time, as on hardware.
            unsafe { std::ptr::copy(from as *const u8, to as *mut u8, length as usize) };
            machine().memory().wrote(to, length);
            Ok(())
        })?;
    }
    Ok(())
}

unsafe extern "C" fn memory_copy(to: *mut c_void, from: *const c_void, size: usize) -> S {
    call(|| {
        if to.is_null() || from.is_null() {
            return Err(S::HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        let _span = timeline::by_host("copy by the host", size as u64);
        // SAFETY: as this function's contract.
        unsafe { copy_bytes(to as u64, from as u64, size as u64) }
    })
}

unsafe extern "C" fn memory_fill(pointer: *mut c_void, value: u32, count: usize) -> S {
    call(|| {
        let address = pointer as u64;
        if pointer.is_null() || !address.is_multiple_of(4) {
            return Err(S::HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        if count == 0 {
            return Ok(());
        }
        let size = (count as u64).checked_mul(4).ok_or(S::HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
        if address.checked_add(size).is_none() || !guarded(|| is_known(address, size)) {
            return Err(S::HSA_STATUS_ERROR_INVALID_ALLOCATION);
        }
        let _span = timeline::by_host("fill by the host", size);
        for offset in (0..size).step_by(CHUNK as usize) {
            let length = CHUNK.min(size - offset);
            guarded(|| {
                if !is_known(address + offset, length) {
                    return Err(S::HSA_STATUS_ERROR_INVALID_ALLOCATION);
                }
                let start = (address + offset) as *mut u32;
                for index in 0..(length / 4) as usize {
                    // SAFETY: the range is aligned and was just found in live memory, which stays mapped
                    // while this thread is a reader.
                    unsafe { start.add(index).write(value) };
                }
                machine().memory().wrote(address + offset, length);
                Ok(())
            })?;
        }
        Ok(())
    })
}

/// The operation of a background copy.
#[derive(Clone, Copy)]
enum Work {
    Linear { to: u64, from: u64, size: u64 },
    Rectangle { to: Place, from: Place, range: [u64; 3] },
}

/// The address of a rectangle's first byte, and the pitches of its rows and slices.
#[derive(Clone, Copy)]
struct Place {
    address: u64,
    pitch: u64,
    slice: u64,
}

impl Work {
    fn bytes(self) -> u64 {
        match self {
            Work::Linear { size, .. } => size,
            Work::Rectangle { range, .. } => range.iter().product(),
        }
    }

    /// # Safety
    /// As for [`copy_bytes`].
    unsafe fn run(self) -> Result<(), S> {
        match self {
            // SAFETY: the caller's promise.
            Work::Linear { to, from, size } => unsafe { copy_bytes(to, from, size) },
            Work::Rectangle { to, from, range: [width, height, depth] } => {
                for z in 0..depth {
                    for y in 0..height {
                        let to = to.address + z * to.slice + y * to.pitch;
                        let from = from.address + z * from.slice + y * from.pitch;
                        // SAFETY: the caller's promise.
                        unsafe { copy_bytes(to, from, width) }?;
                    }
                }
                Ok(())
            }
        }
    }
}

/// A copy engine: the handle of its device, and its bit among the device's engines.
type Engine = (u64, u32);

struct Job {
    work: Work,
    after: Vec<Signal>,
    completion: Signal,
    /// The owners of destination and source.
    ends: [Agent; 2],
    /// The engine that the caller chose. Copies on one engine run in the order in which they were submitted:
    /// AMD's runtime names no dependency for a copy behind another one on the same engine.
    engine: Option<Engine>,
    enqueued: Option<Enqueued>,
}

impl Job {
    /// Writes the copy to the timeline, if there is one, before anyone who waits for it continues.
    fn show(&self, start: u64, end: u64, status: Option<S>) {
        if let Some(enqueued) = self.enqueued {
            let ends = self.ends.each_ref().map(|agent| match agent {
                Agent::Gpu(device) => Some(device.as_ref()),
                Agent::Host => None,
            });
            enqueued.done(ends, self.work.bytes(), start, end, status);
        }
    }
}

static JOBS: Mutex<Vec<Job>> = Mutex::new(Vec::new());
/// How many copies there have been.
static SUBMITTED: AtomicU64 = AtomicU64::new(0);
static THREAD: Once = Once::new();

fn submit(job: Job) -> Result<(), S> {
    let mut started = true;
    THREAD.call_once(|| {
        started = std::thread::Builder::new().name("vgpu-copies".to_owned()).spawn(serve).is_ok();
    });
    if !started {
        return Err(S::HSA_STATUS_ERROR_OUT_OF_RESOURCES);
    }
    lock(&JOBS).push(job);
    SUBMITTED.fetch_add(1, Ordering::SeqCst);
    waiters::notify();
    Ok(())
}

/// Removes the first copy whose dependencies are met and which is the first on its engine.
fn take_ready() -> Option<Job> {
    let mut jobs = lock(&JOBS);
    // There are as many engines as bits, for each of a few devices.
    let mut busy = Vec::new();
    let ready = jobs.iter().position(|job| {
        let is_first = job.engine.is_none_or(|engine| !busy.contains(&engine));
        if is_first {
            busy.extend(job.engine);
        }
        is_first && job.after.iter().all(|signal| signal.load() == 0)
    })?;
    Some(jobs.remove(ready))
}

fn serve() {
    loop {
        let mut ready = None;
        let submitted = SUBMITTED.load(Ordering::SeqCst);
        let signals: Vec<Signal> = lock(&JOBS).iter().flat_map(|job| &job.after).copied().collect();
        // Ends when there is another copy, whose signals are to be waited for, too.
        wait_as_service(Waits::SignalsAndEvents, &signals, || {
            ready = take_ready();
            ready.is_some() || SUBMITTED.load(Ordering::SeqCst) != submitted
        });
        let Some(job) = ready else { continue };
        let start = now_ns();
        // SAFETY: whoever asked for the copy keeps the program's own memory until the completion signal
        // changes.
        match unsafe { job.work.run() } {
            Ok(()) => {
                let end = now_ns();
                job.show(start, end, None);
                job.completion.complete(start, end);
            }
            Err(status) => {
                job.show(start, now_ns(), Some(status));
                tracing::error!(?status, "an asynchronous copy failed: its memory was freed before it ran");
                job.completion.fail();
            }
        }
    }
}

/// # Safety
/// `list` is null or has `count` entries.
unsafe fn dependencies(count: u32, list: *const hsa_signal_t) -> Result<Vec<Signal>, S> {
    if count > 0 && list.is_null() {
        return Err(S::HSA_STATUS_ERROR_INVALID_ARGUMENT);
    }
    let mut signals = Vec::new();
    for index in 0..count as usize {
        // SAFETY: the caller's promise.
        if let Some(signal) = Signal::optional(unsafe { list.add(index).read_unaligned() })? {
            signals.push(signal);
        }
    }
    Ok(signals)
}

unsafe extern "C" fn async_copy(
    to: *mut c_void,
    to_agent: hsa_agent_t,
    from: *const c_void,
    from_agent: hsa_agent_t,
    size: usize,
    num_dependencies: u32,
    dependency_list: *const hsa_signal_t,
    completion: hsa_signal_t,
) -> S {
    call(|| {
        let ends = [(to as u64, to_agent), (from as u64, from_agent)];
        // SAFETY: as this function's contract.
        unsafe { linear(ends, size as u64, num_dependencies, dependency_list, completion, None) }
    })
}

unsafe extern "C" fn async_copy_on_engine(
    to: *mut c_void,
    to_agent: hsa_agent_t,
    from: *const c_void,
    from_agent: hsa_agent_t,
    size: usize,
    num_dependencies: u32,
    dependency_list: *const hsa_signal_t,
    completion: hsa_signal_t,
    engine: hsa_amd_sdma_engine_id_t,
    _force: bool,
) -> S {
    call(|| {
        if !engine.0.is_power_of_two() {
            return Err(S::HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        let ends = [(to as u64, to_agent), (from as u64, from_agent)];
        // SAFETY: as this function's contract.
        unsafe { linear(ends, size as u64, num_dependencies, dependency_list, completion, Some(engine.0)) }
    })
}

/// Submits a copy from the second of the two places to the first.
///
/// # Safety
/// As for [`dependencies`] and [`copy_bytes`].
unsafe fn linear(
    [(to, to_agent), (from, from_agent)]: [(u64, hsa_agent_t); 2],
    size: u64,
    num_dependencies: u32,
    dependency_list: *const hsa_signal_t,
    completion: hsa_signal_t,
    engine: Option<u32>,
) -> Result<(), S> {
    if to == 0 || from == 0 {
        return Err(S::HSA_STATUS_ERROR_INVALID_ARGUMENT);
    }
    let ends = [Agent::from_handle(to_agent)?, Agent::from_handle(from_agent)?];
    // SAFETY: as this function's contract.
    let after = unsafe { dependencies(num_dependencies, dependency_list) }?;
    let completion = Signal::required(completion)?;
    if size > 0 {
        check(to, size)?;
        check(from, size)?;
    }
    // The engines are those of the source's device, or else of the destination's.
    let device = ends.iter().rev().find(|agent| matches!(agent, Agent::Gpu(_)));
    let engine = engine.map(|bit| (device.map_or(0, |agent| agent.handle().handle), bit));
    let work = Work::Linear { to, from, size };
    submit(Job { work, after, completion, ends, engine, enqueued: Enqueued::now() })
}

unsafe extern "C" fn async_copy_rect(
    to: *const hsa_pitched_ptr_t,
    to_offset: *const hsa_dim3_t,
    from: *const hsa_pitched_ptr_t,
    from_offset: *const hsa_dim3_t,
    range: *const hsa_dim3_t,
    agent: hsa_agent_t,
    direction: hsa_amd_copy_direction_t,
    num_dependencies: u32,
    dependency_list: *const hsa_signal_t,
    completion: hsa_signal_t,
) -> S {
    call(|| {
        let invalid = S::HSA_STATUS_ERROR_INVALID_ARGUMENT;
        if to.is_null() || from.is_null() || to_offset.is_null() || from_offset.is_null() || range.is_null() {
            return Err(invalid);
        }
        // Devices make the copy, so one end must belong to them.
        if direction.name().is_none() || direction == hsa_amd_copy_direction_t::hsaHostToHost {
            return Err(invalid);
        }
        let agent = Agent::from_handle(agent)?;
        agent.clone().gpu()?;
        // SAFETY: checked for null above; the caller's structures are valid for reads.
        let (to, from, to_offset, from_offset, range) = unsafe {
            (
                to.read_unaligned(),
                from.read_unaligned(),
                to_offset.read_unaligned(),
                from_offset.read_unaligned(),
                range.read_unaligned(),
            )
        };
        // SAFETY: as this function's contract.
        let after = unsafe { dependencies(num_dependencies, dependency_list) }?;
        let completion = Signal::required(completion)?;
        let range = [u64::from(range.x), u64::from(range.y), u64::from(range.z)];
        let to = place(&to, &to_offset, range).ok_or(invalid)?;
        let from = place(&from, &from_offset, range).ok_or(invalid)?;
        let work = if range.contains(&0) {
            Work::Linear { to: to.address, from: from.address, size: 0 }
        } else {
            Work::Rectangle { to, from, range }
        };
        use hsa_amd_copy_direction_t as D;
        let ends = match direction {
            D::hsaHostToDevice => [agent, Agent::Host],
            D::hsaDeviceToHost => [Agent::Host, agent],
            _ => [agent.clone(), agent],
        };
        submit(Job { work, after, completion, ends, engine: None, enqueued: Enqueued::now() })
    })
}

/// The address of a rectangle, if all of it is addressable.
fn place(base: &hsa_pitched_ptr_t, offset: &hsa_dim3_t, range: [u64; 3]) -> Option<Place> {
    let (pitch, slice) = (base.pitch as u64, base.slice as u64);
    if base.base.is_null() || range[0] > pitch.max(range[0] * u64::from(range[1] <= 1)) {
        return None;
    }
    let at = |z: u64, y: u64, x: u64| {
        slice
            .checked_mul(z)?
            .checked_add(pitch.checked_mul(y)?)?
            .checked_add(x)?
            .checked_add(base.base as u64)
    };
    let (x, y, z) = (u64::from(offset.x), u64::from(offset.y), u64::from(offset.z));
    at(z + range[2], y + range[1], x + range[0])?;
    Some(Place { address: at(z, y, x)?, pitch, slice })
}

unsafe extern "C" fn copy_engine_status(to: hsa_agent_t, from: hsa_agent_t, engines: *mut u32) -> S {
    call(|| {
        Agent::from_handle(to)?;
        Agent::from_handle(from)?;
        // SAFETY: the caller's pointer is null or valid for a write.
        unsafe { write(engines, ENGINES) }
    })
}

unsafe extern "C" fn profiling_async_copy_enable(_enable: bool) -> S {
    // Copies always record their times.
    call(|| Ok(()))
}

pub(super) fn provide(builder: &mut Builder) {
    builder.hsa_memory_copy(memory_copy).hsa_amd_memory_fill(memory_fill);
    builder.hsa_amd_memory_async_copy(async_copy).hsa_amd_memory_async_copy_on_engine(async_copy_on_engine);
    builder.hsa_amd_memory_async_copy_rect(async_copy_rect);
    builder.hsa_amd_memory_copy_engine_status(copy_engine_status);
    builder.hsa_amd_memory_get_preferred_copy_engine(copy_engine_status);
    builder.hsa_amd_profiling_async_copy_enable(profiling_async_copy_enable);
}
