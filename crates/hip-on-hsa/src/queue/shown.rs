//! Records kernels and copies in the timeline, for HSA implementations that do not do it themselves.
//!
//! A kernel then has its own completion signal, as copies always have. When it has completed, HSA knows when
//! it ran. This is queried at the end of each HIP call, so that all work that a call has waited for is in the
//! timeline when it returns.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ffi::{CStr, c_char};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use hsa::raw::{ClockDifference, Packet};
use hsa_sys::*;
use timeline::{Lanes, Layer, Slice, Track, Value};

use crate::error;
use crate::gpu::Gpu;
use crate::queue::marker::Signal;
use crate::runtime::{Runtime, runtime};

/// Prefix of the build version of an HSA that records its queues' work itself.
const WRITES_ITSELF: &str = "ferrocm virtual GPU";
/// Tracks of a queue: kernels of a graph may run concurrently.
const LANES: usize = 16;
/// The index of the completion signal in a packet's words.
const COMPLETION: usize = 14;

/// Whether this crate has to record the queues' work.
#[inline]
pub(crate) fn is_needed(runtime: &Runtime) -> bool {
    timeline::is_on() && is_left_to_us(runtime)
}

#[cold]
fn is_left_to_us(runtime: &Runtime) -> bool {
    static LEFT: OnceLock<bool> = OnceLock::new();
    *LEFT.get_or_init(|| {
        error::after_calls(write_finished);
        let mut version: *const c_char = std::ptr::null();
        let attribute = hsa_system_info_t::HSA_AMD_SYSTEM_INFO_BUILD_VERSION;
        // SAFETY: the attribute is a pointer to a string, and there is room for it.
        let status = unsafe { (runtime.hsa.table.hsa_system_get_info)(attribute, (&raw mut version).cast()) };
        let is_known = status == hsa_status_t::HSA_STATUS_SUCCESS && !version.is_null();
        // SAFETY: the string that HSA gives is static.
        if is_known && unsafe { CStr::from_ptr(version) }.to_bytes().starts_with(WRITES_ITSELF.as_bytes()) {
            return false;
        }
        // SAFETY: the call takes a number. Copies without times are missing from the timeline.
        let _ = unsafe { (runtime.hsa.table.hsa_amd_profiling_async_copy_enable)(true) };
        true
    })
}

/// An enqueued operation.
enum What {
    Kernel { object: u64, grid: [u32; 3], block: [u32; 3], lds: u32 },
    Copy { bytes: usize, name: &'static str },
}

struct Pending {
    what: What,
    agent: hsa_agent_t,
    /// Less than 1 when it has ended, negative when it has failed.
    signal: Arc<Signal>,
    /// The thread that enqueued it, and when.
    from: (Track, u64),
}

/// A queue's part of the timeline.
struct Queue {
    device: u32,
    device_name: String,
    pending: VecDeque<Pending>,
    kernels: Lanes<LANES>,
    /// When the last copy has ended.
    copied: u64,
}

static QUEUES: Mutex<BTreeMap<u64, Queue>> = Mutex::new(BTreeMap::new());
/// The names of kernels, by their objects.
static NAMES: Mutex<Option<HashMap<u64, String>>> = Mutex::new(None);

fn queues() -> MutexGuard<'static, BTreeMap<u64, Queue>> {
    QUEUES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Records a kernel's name.
pub(crate) fn know(runtime: &Runtime, object: u64, name: &CStr) {
    if is_needed(runtime) {
        let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
        let name = || gpu_report::demangle(&name.to_string_lossy());
        names.get_or_insert_default().entry(object).or_insert_with(name);
    }
}

/// Gives the kernels among some packets completion signals, and records them. The packets must then be
/// written at once to the queue with this number.
pub(crate) fn kernels(runtime: &Runtime, gpu: &Gpu, queue: u64, packets: &mut [Packet]) {
    let from = (Track::host(), timeline::now());
    let is_kernel =
        |packet: &&mut Packet| packet[0] & 0xff == hsa_packet_type_t::HSA_PACKET_TYPE_KERNEL_DISPATCH.0;
    for packet in packets.iter_mut().filter(is_kernel) {
        // Without a signal, the kernel is missing from the timeline.
        let Ok(signal) = Signal::new(runtime, 1).map(Arc::new) else { continue };
        let handle = signal.raw().handle;
        (packet[COMPLETION], packet[COMPLETION + 1]) = (handle as u32, (handle >> 32) as u32);
        let what = What::Kernel {
            object: u64::from(packet[8]) | u64::from(packet[9]) << 32,
            grid: [packet[3], packet[4], packet[5]],
            block: [packet[1] & 0xffff, packet[1] >> 16, packet[2] & 0xffff],
            lds: packet[7],
        };
        remember(gpu, queue, Pending { what, agent: gpu.agent, signal, from });
    }
}

/// Records a copy that was submitted.
pub(crate) fn copy(
    runtime: &Runtime,
    gpu: &Gpu,
    queue: u64,
    [dst, src]: [hsa_agent_t; 2],
    bytes: usize,
    signal: &Arc<Signal>,
) {
    let is_host = |agent: hsa_agent_t| agent.handle == runtime.cpu.handle;
    let name = match (is_host(dst), is_host(src)) {
        (false, false) => "copy device to device",
        (false, true) => "copy host to device",
        (true, _) => "copy device to host",
    };
    let from = (Track::host(), timeline::now());
    let what = What::Copy { bytes, name };
    remember(gpu, queue, Pending { what, agent: gpu.agent, signal: signal.clone(), from });
}

fn remember(gpu: &Gpu, queue: u64, pending: Pending) {
    let new = || Queue {
        device: gpu.ordinal as u32,
        device_name: format!("GPU {} ({})", gpu.ordinal, gpu.info.name),
        pending: VecDeque::new(),
        kernels: Lanes::default(),
        copied: 0,
    };
    queues().entry(queue).or_insert_with(new).pending.push_back(pending);
}

/// Forgets a destroyed queue: nothing completes its signals any more.
pub(crate) fn forget(queue: u64) {
    write_finished();
    drop(queues().remove(&queue));
}

/// Writes completed operations.
fn write_finished() {
    let Some(runtime) = runtime() else { return };
    for (number, queue) in queues().iter_mut() {
        let has_ended = |pending: &Pending| runtime.hsa.signal_load(pending.signal.raw()) < 1;
        while queue.pending.front().is_some_and(has_ended) {
            if let Some(pending) = queue.pending.pop_front() {
                queue.write(runtime, *number, &pending);
            }
        }
    }
}

impl Queue {
    fn write(&mut self, runtime: &Runtime, number: u64, pending: &Pending) {
        let Some((start, end)) = pending.times(runtime) else { return };
        let (category, lane, start) = match pending.what {
            What::Copy { .. } => ("copy", LANES, start.max(self.copied)),
            // Kernels of one track must not overlap. If more run concurrently than there are tracks, the rest
            // are left out.
            What::Kernel { .. } => match self.kernels.take(start, end) {
                Some(lane) => ("kernel", lane, start),
                None => return,
            },
        };
        let end = end.max(start);
        if lane == LANES {
            self.copied = end;
        }
        let track = Track::of_device(
            Layer::HipOnHsa,
            self.device,
            || self.device_name.clone(),
            (number * (LANES as u64 + 1) + lane as u64) as u32,
            || match lane {
                0 => format!("queue {number}"),
                LANES => format!("queue {number}, copies"),
                lane => format!("queue {number}, beside ({lane})"),
            },
        );
        match &pending.what {
            What::Kernel { object, grid, block, lds } => {
                let names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
                let name =
                    names.as_ref().and_then(|names| names.get(object)).map_or("unknown kernel", |name| name);
                let size = |sizes: [u32; 3]| sizes.map(|size| size.to_string()).join("x");
                let groups = std::array::from_fn(|axis| grid[axis].div_ceil(block[axis].max(1)));
                let (groups, block, grid) = (size(groups), size(*block), size(*grid));
                let values = [
                    ("workgroups", Value::Text(&groups)),
                    ("workgroup size", Value::Text(&block)),
                    ("work-items", Value::Text(&grid)),
                    ("LDS bytes", Value::Number((*lds).into())),
                ];
                timeline::slice(&Slice { track, category, name, start, end, values: &values });
            }
            What::Copy { bytes, name } => {
                // Bytes in a nanosecond are GB in a second.
                let speed = *bytes as f64 / (end - start) as f64;
                let values = [("bytes", Value::Number(*bytes as u64)), ("GB/s", Value::Real(speed))];
                timeline::slice(&Slice { track, category, name, start, end, values: &values });
            }
        }
        static ARROWS: AtomicU64 = AtomicU64::new(0);
        let arrow = 1 << 51 | ARROWS.fetch_add(1, Ordering::Relaxed);
        let (host, time) = pending.from;
        timeline::flow(arrow, (host, time.min(start)), (track, start + (end - start).min(1000) / 2));
    }
}

impl Pending {
    /// When it ran, on the timeline's clock; `None` if HSA does not know.
    fn times(&self, runtime: &Runtime) -> Option<(u64, u64)> {
        let hsa = runtime.hsa;
        let (start, end) = match self.what {
            What::Kernel { .. } => hsa.packet_time(self.agent, self.signal.raw())?,
            What::Copy { .. } => {
                let mut time = hsa_amd_profiling_async_copy_time_t::default();
                // SAFETY: the signal lives; the out pointer is valid.
                let status = unsafe {
                    (hsa.table.hsa_amd_profiling_get_async_copy_time)(self.signal.raw(), &mut time)
                };
                let is_known = status == hsa_status_t::HSA_STATUS_SUCCESS && time.end != 0;
                is_known.then_some((time.start, time.end))?
            }
        };
        let [start, end] = [start, end].map(|ticks| nanoseconds(runtime, ticks));
        Some((start, end))
    }
}

/// Converts a time of HSA's clock to the timeline's.
fn nanoseconds(runtime: &Runtime, ticks: u64) -> u64 {
    static CLOCK: OnceLock<ClockDifference> = OnceLock::new();
    CLOCK.get_or_init(|| ClockDifference::new(runtime.hsa, timeline::now)).nanoseconds(ticks)
}
