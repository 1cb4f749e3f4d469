//! AQL queues: real `amd_queue_t` structs and packets in memory that kernels can access. Each queue is served
//! by threads of its own.

use std::collections::{HashMap, VecDeque};
use std::ffi::{c_char, c_void};
use std::mem::offset_of;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use hsa_sys::*;

use super::agent::{Agent, QUEUE_MAX_SIZE};
use super::event::{Event, POLL, lock};
use super::mask::Units;
use super::processors::Processors;
use super::signal::{Doorbell, Signal};
use super::timeline::Arrows;
use super::{S, call, fatal, machine, packet, waiters, write};
use crate::machine::{Counters, Device, Fault, MemoryKind, PRIVATE_APERTURE, SHARED_APERTURE};

/// Bytes of a packet.
pub(super) const PACKET: u64 = 64;
/// The maximum number of kernels of a queue that run concurrently.
pub(super) const PLACES: usize = 16;
/// The offset of the packets that are being processed, for kernels that read them. They follow the queue's
/// struct.
const CURRENT_PACKET: u64 = (size_of::<amd_queue_v2_t>() as u64).next_multiple_of(PACKET);
/// The offset of the word to which kernels store to ring the queue's doorbell.
const RUNG: u64 = CURRENT_PACKET + PLACES as u64 * PACKET;
const BLOCK: u64 = RUNG + PACKET;
/// No kernel has rung the doorbell since the last look.
const SILENT: u64 = u64::MAX;
/// How long a recently used queue polls frequently for packets that no doorbell announced.
const ATTENTIVE: Duration = Duration::from_millis(100);
const OFTEN: Duration = Duration::from_millis(1);
const SELDOM: Duration = Duration::from_millis(20);

type Callback = unsafe extern "C" fn(S, *mut hsa_queue_t, *mut c_void);

/// A queue, as its packet processor and the functions of this module use it.
pub(super) struct Queue {
    pub(super) device: Arc<Device>,
    id: u64,
    /// The address of the `amd_queue_v2_t`, which is also the handle.
    pub(super) address: u64,
    ring: u64,
    size: u64,
    doorbell: &'static Doorbell,
    doorbell_signal: Signal,
    callback: Option<Callback>,
    /// The callback's data, as a number, because only the callback knows what it points to.
    data: usize,
    /// No more packets start, and running kernels are stopped.
    pub(super) stop: Arc<AtomicBool>,
    /// The places of the packets that are being processed, a bit each.
    places: AtomicU32,
    /// Notified when a packet is no longer being processed.
    left: Event,
    /// The next packet to process. Kernels may write the struct's field for it, so this copy is
    /// authoritative.
    read: AtomicU64,
    /// The packet that the processor waits for, when all earlier ones are processed or run concurrently;
    /// [`BUSY`] if there is none.
    awaited: AtomicU64,
    failure: Mutex<Option<Failure>>,
    /// The queue's creator has fetched the report and will show it.
    report_taken: AtomicBool,
    /// Whether kernels collect counters.
    counting: AtomicBool,
    /// The counters of kernels that have ended, oldest first, with the numbers of their packets.
    counted: Mutex<VecDeque<(u64, Arc<Counters>)>>,
    /// The compute units of its kernels.
    pub(super) units: Mutex<Units>,
    pub(super) processors: Processors,
}

/// The packet processor is not waiting for a packet.
const BUSY: u64 = u64::MAX;

static QUEUES: LazyLock<RwLock<HashMap<u64, Arc<Queue>>>> = LazyLock::new(RwLock::default);
static NEXT_ID: AtomicU64 = AtomicU64::new(0);
/// Doorbells of destroyed queues. Signals point to them for ever, so they are reused instead of freed.
static SPARE_DOORBELLS: Mutex<Vec<&'static Doorbell>> = Mutex::new(Vec::new());

/// One of the two indices of a queue.
#[derive(Clone, Copy)]
enum Index {
    Read,
    Write,
}

/// # Safety
/// `queue` is the address of an `amd_queue_v2_t` that lives for `'a`.
unsafe fn index<'a>(queue: u64, which: Index) -> &'a AtomicU64 {
    let offset = match which {
        Index::Read => offset_of!(amd_queue_v2_t, read_dispatch_id),
        Index::Write => offset_of!(amd_queue_v2_t, write_dispatch_id),
    };
    // SAFETY: the field is 8 aligned bytes of the struct, and every access to it is atomic.
    unsafe { AtomicU64::from_ptr((queue + offset as u64) as *mut u64) }
}

/// A queue's failure and its report; see [`Queue::fail`].
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) status: S,
    pub(super) report: String,
    /// The kernel's fault, if there was one.
    pub(super) fault: Option<Box<Fault>>,
}

impl Failure {
    fn log(&self, queue: u64) {
        tracing::error!(queue, status = ?self.status, "{}", self.report);
    }
}

impl Queue {
    /// Its unique number.
    pub(super) fn id(&self) -> u64 {
        self.id
    }

    /// The arrows to its packets.
    pub(super) fn arrows(&self) -> &Arrows {
        &self.doorbell.arrows
    }

    /// Whether a kernel that starts now collects counters.
    pub(super) fn counts(&self) -> bool {
        self.counting.load(Ordering::Relaxed)
    }

    /// Stores the counters of a packet's kernel.
    pub(super) fn keep(&self, packet: u64, counters: Arc<Counters>) {
        let mut counted = lock(&self.counted);
        if counted.len() == COUNTED_DISPATCHES {
            counted.pop_front();
        }
        counted.push_back((packet, counters));
    }

    fn new(
        device: Arc<Device>,
        size: u32,
        kind: hsa_queue_type32_t,
        callback: Option<Callback>,
        data: usize,
    ) -> Result<Arc<Queue>, S> {
        let units = Units::of(&device)?;
        let memory = machine().memory();
        let no_memory = |_| S::HSA_STATUS_ERROR_OUT_OF_RESOURCES;
        let ring_size = u64::from(size) * PACKET;
        let address = memory.allocate(BLOCK, 4096, MemoryKind::Host, None).map_err(no_memory)?;
        let ring = match memory.allocate(ring_size, 4096, MemoryKind::Host, None) {
            Ok(ring) => ring,
            Err(error) => {
                // SAFETY: nobody else knows the address.
                let freed = unsafe { memory.free(address) };
                debug_assert!(freed.is_ok());
                return Err(no_memory(error));
            }
        };
        let doorbell = lock(&SPARE_DOORBELLS).pop().unwrap_or_else(|| Box::leak(Box::default()));
        doorbell.index.store(u64::MAX, Ordering::Relaxed);
        doorbell.arrows.clear();
        let queue = Signal::doorbell(doorbell, address + RUNG).map(|doorbell_signal| {
            Arc::new(Queue {
                device,
                id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
                address,
                ring,
                size: u64::from(size),
                doorbell,
                doorbell_signal,
                callback,
                data,
                stop: Arc::default(),
                places: AtomicU32::new(0),
                left: Event::new(),
                read: AtomicU64::new(0),
                awaited: AtomicU64::new(BUSY),
                failure: Mutex::new(None),
                report_taken: AtomicBool::new(false),
                counting: AtomicBool::new(false),
                counted: Mutex::default(),
                units: Mutex::new(units),
                processors: Processors::default(),
            })
        });
        let queue = match queue {
            Ok(queue) => queue,
            Err(status) => {
                lock(&SPARE_DOORBELLS).push(doorbell);
                for block in [address, ring] {
                    // SAFETY: nobody else knows the addresses.
                    let freed = unsafe { memory.free(block) };
                    debug_assert!(freed.is_ok());
                }
                return Err(status);
            }
        };
        queue.initialise(kind);
        Ok(queue)
    }

    /// Fills in the struct and marks every packet as not yet written.
    fn initialise(&self, kind: hsa_queue_type32_t) {
        let target = self.device.target();
        let slots = self.device.compute_units();
        let structure = amd_queue_v2_t {
            hsa_queue: hsa_queue_t {
                type_: kind,
                features: hsa_queue_feature_t::HSA_QUEUE_FEATURE_KERNEL_DISPATCH.0,
                base_address: self.ring as *mut c_void,
                doorbell_signal: self.doorbell_signal.handle(),
                size: self.size as u32,
                reserved1: 0,
                id: self.id,
            },
            group_segment_aperture_base_hi: (SHARED_APERTURE >> 32) as u32,
            private_segment_aperture_base_hi: (PRIVATE_APERTURE >> 32) as u32,
            max_cu_id: slots - 1,
            max_wave_id: target.limits.unit.waves() - 1,
            read_dispatch_id_field_base_byte_offset: offset_of!(amd_queue_v2_t, read_dispatch_id) as u32,
            queue_properties: amd_queue_properties_t::AMD_QUEUE_PROPERTIES_IS_PTR64.0 as u32,
            ..Default::default()
        };
        // SAFETY: the block was just allocated, is page-aligned and larger than the struct, and nobody else
        // knows it.
        unsafe { (self.address as *mut amd_queue_v2_t).write(structure) };
        self.rung().store(SILENT, Ordering::Relaxed);
        for slot in 0..self.size {
            self.header(slot).store(packet::INVALID, Ordering::Relaxed);
        }
    }

    /// The number of the next packet to be processed, for kernels to read.
    fn read_index(&self) -> &AtomicU64 {
        // SAFETY: the block is freed when the queue is dropped.
        unsafe { index(self.address, Index::Read) }
    }

    /// Where kernels store to ring the doorbell.
    fn rung(&self) -> &AtomicU64 {
        // SAFETY: the word is 8 aligned bytes of the block, which is freed when the queue is dropped, and
        // every access by the host is atomic.
        unsafe { AtomicU64::from_ptr((self.address + RUNG) as *mut u64) }
    }

    /// The address of a packet.
    pub(super) fn slot(&self, id: u64) -> u64 {
        self.ring + id % self.size * PACKET
    }

    /// The header of a packet.
    pub(super) fn header(&self, id: u64) -> &AtomicU16 {
        // SAFETY: the address is that of a packet in the ring, which is freed when the queue is dropped.
        // Producers publish the header with an atomic store.
        unsafe { AtomicU16::from_ptr(self.slot(id) as *mut u16) }
    }

    /// Where kernels can read the packet in a place.
    pub(super) fn current_packet(&self, place: u32) -> u64 {
        self.address + CURRENT_PACKET + u64::from(place) * PACKET
    }

    /// Whether a producer has reserved the slot of this packet, not of an earlier one.
    fn has_reserved(&self, id: u64) -> bool {
        // SAFETY: the block is freed when the queue is dropped.
        let write = unsafe { index(self.address, Index::Write) };
        let read = self.read.load(Ordering::Acquire);
        write.load(Ordering::Acquire) > id && id.wrapping_sub(read) < self.size
    }

    /// Releases a packet's slot to the producers.
    pub(super) fn release(&self, id: u64) {
        self.header(id).store(packet::INVALID, Ordering::Release);
        self.read.store(id + 1, Ordering::Release);
        self.read_index().store(id + 1, Ordering::Release);
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// Waits for a packet. Returns false when the queue stops.
    pub(super) fn wait_for_packet(&self, id: u64) -> bool {
        // Whoever sees this also sees the effects of all earlier packets, above all their signals.
        self.awaited.store(id, Ordering::Release);
        let written = self.wait_until_written(id);
        self.awaited.store(BUSY, Ordering::Release);
        written
    }

    /// The missing packet: all earlier ones are complete, and it has not been written. None while the queue
    /// works or after it has ended.
    fn missing(&self) -> Option<u64> {
        let awaited = self.awaited.load(Ordering::Acquire);
        let missing = awaited != BUSY
            && !self.is_stopped()
            && self.places.load(Ordering::Acquire) == 0
            && !packet::is_written(self.header(awaited).load(Ordering::Acquire));
        // The processor waits for each packet only once, so it had not taken the packet when the header was
        // read.
        (missing && self.awaited.load(Ordering::Acquire) == awaited).then_some(awaited)
    }

    fn wait_until_written(&self, id: u64) -> bool {
        let ready = || self.is_stopped() || packet::is_written(self.header(id).load(Ordering::Acquire));
        for _ in 0..200 {
            if ready() {
                return !self.is_stopped();
            }
            std::hint::spin_loop();
        }
        let event = &self.doorbell.event;
        if !event.wait_until(Some(Instant::now() + ATTENTIVE), OFTEN, ready) {
            event.wait_until(None, SELDOM, ready);
        }
        !self.is_stopped()
    }

    /// The header of a packet, if its producer has written it.
    pub(super) fn written(&self, id: u64) -> Option<u16> {
        let header = self.has_reserved(id).then(|| self.header(id).load(Ordering::Acquire));
        header.filter(|&header| packet::is_written(header))
    }

    /// Gives a packet a place while it is being processed, until the result is dropped; none if the queue has
    /// stopped. Only the packet processor calls this.
    pub(super) fn enter(&self) -> Option<Entered<'_>> {
        // Others leave places meanwhile, and take none.
        let place = self.places.load(Ordering::Relaxed).trailing_ones();
        self.places.fetch_or(1 << place, Ordering::SeqCst);
        let entered = Entered { queue: self, place };
        // Whoever stops the queue looks at the places afterwards.
        (!self.stop.load(Ordering::SeqCst)).then_some(entered)
    }

    /// Ends the queue: no further packet is processed, and the queue's creator is told the reason.
    pub(super) fn fail(&self, failure: Failure) {
        if let Some(status) = self.end(failure) {
            self.tell(status);
        }
    }

    /// Ends the queue: no further packet is processed. Returns the status to [report](Self::tell), if this
    /// was the first failure.
    pub(super) fn end(&self, failure: Failure) -> Option<S> {
        let mut known = lock(&self.failure);
        // If the report is what ends the process, it is written there. If a callback gets it, it is written
        // after the callback.
        if known.is_some() || (failure.fault.is_none() && self.callback.is_none()) {
            failure.log(self.id);
        }
        let status = failure.status;
        let is_first = known.is_none();
        known.get_or_insert(failure);
        drop(known);
        self.halt();
        is_first.then_some(status)
    }

    /// Reports the queue's failure to its creator, once none of its packets is being processed. Afterwards,
    /// memory that its kernels use may be freed. The caller's own packet must have been processed.
    pub(super) fn tell(&self, status: S) {
        self.settle();
        if let Some(callback) = self.callback {
            // SAFETY: whoever created the queue allowed this call of the callback from another thread. No
            // lock is held here, because callbacks call HSA functions.
            unsafe { callback(status, self.address as *mut hsa_queue_t, self.data as *mut c_void) };
            let failure = lock(&self.failure);
            if let Some(failure) = failure.as_ref().filter(|_| !self.report_taken.load(Ordering::Acquire)) {
                failure.log(self.id);
            }
            return;
        }
        let failure = lock(&self.failure);
        let fault = failure.as_ref().and_then(|failure| Some((failure.fault.as_ref()?, &failure.report)));
        // As in AMD's runtime, a malformed packet only ends the queue.
        let Some((fault, report)) = fault else { return };
        let event = fatal::event_of(Agent::device_handle(self.device.index()), fault);
        let report = report.clone();
        drop(failure);
        if fatal::is_handled(&event) {
            tracing::error!(queue = self.id, ?status, "{report}");
        } else {
            fatal::abort(&report);
        }
    }

    /// Prevents new packets from starting, and stops those in progress.
    fn halt(&self) {
        self.stop.store(true, Ordering::SeqCst);
        self.doorbell.event.notify();
        self.processors.dismiss();
        waiters::notify();
    }

    /// Waits until no packet is being processed. Kernels of a stopped queue react within a time slice,
    /// whatever they do.
    pub(super) fn settle(&self) {
        self.left.wait_until(None, POLL, || self.places.load(Ordering::SeqCst) == 0);
    }
}

/// A packet that is being processed; see [`Queue::enter`].
pub(super) struct Entered<'a> {
    queue: &'a Queue,
    /// Concurrent packets have different places, of which each takes the first that is free.
    pub(super) place: u32,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.queue.places.fetch_and(!(1 << self.place), Ordering::SeqCst);
        self.queue.left.notify();
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.doorbell_signal.destroy();
        lock(&SPARE_DOORBELLS).push(self.doorbell);
        for block in [self.ring, self.address] {
            // SAFETY: the blocks belong to the queue, and its users have destroyed it.
            if let Err(error) = unsafe { self.device.memory().free(block) } {
                tracing::error!(%error, "a queue's memory could not be freed");
            }
        }
    }
}

/// Wakes the packet processors whose doorbells kernels have rung. A kernel's store tells nobody, so whoever
/// has run one looks; doorbells of a kernel that goes on are noticed when their processors poll.
pub(super) fn hear_kernels() {
    for queue in QUEUES.read().unwrap_or_else(PoisonError::into_inner).values() {
        if queue.rung().load(Ordering::Acquire) != SILENT {
            let index = queue.rung().swap(SILENT, Ordering::AcqRel);
            queue.doorbell.index.store(index, Ordering::SeqCst);
            queue.doorbell.event.notify();
        }
    }
}

fn find(queue: *const hsa_queue_t) -> Result<Arc<Queue>, S> {
    find_or(queue, S::HSA_STATUS_ERROR_INVALID_ARGUMENT)
}

/// The queue behind a pointer. The error names an invalid queue; for the null pointer it is `null`.
pub(super) fn find_or(queue: *const hsa_queue_t, null: S) -> Result<Arc<Queue>, S> {
    if queue.is_null() {
        return Err(null);
    }
    let queues = QUEUES.read().unwrap_or_else(PoisonError::into_inner);
    queues.get(&(queue as u64)).cloned().ok_or(S::HSA_STATUS_ERROR_INVALID_QUEUE)
}

unsafe extern "C" fn create(
    agent: hsa_agent_t,
    size: u32,
    kind: hsa_queue_type32_t,
    callback: Option<Callback>,
    data: *mut c_void,
    _private_segment_size: u32,
    _group_segment_size: u32,
    queue: *mut *mut hsa_queue_t,
) -> S {
    call(|| {
        let agent = Agent::from_handle(agent)?;
        if queue.is_null() || !size.is_power_of_two() || size > QUEUE_MAX_SIZE {
            return Err(S::HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        if kind > hsa_queue_type_t::HSA_QUEUE_TYPE_COOPERATIVE.0 {
            return Err(S::HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        let Agent::Gpu(device) = agent else { return Err(S::HSA_STATUS_ERROR_INVALID_QUEUE_CREATION) };
        let made = Queue::new(device, size, kind, callback, data as usize)?;
        if !Processors::start(&made) {
            return Err(S::HSA_STATUS_ERROR_OUT_OF_RESOURCES);
        }
        let address = made.address;
        QUEUES.write().unwrap_or_else(PoisonError::into_inner).insert(address, made);
        // SAFETY: checked for null above; the caller's pointer is valid for a write.
        unsafe { write(queue, address as *mut hsa_queue_t) }
    })
}

unsafe extern "C" fn destroy(queue: *mut hsa_queue_t) -> S {
    call(|| {
        let found = find(queue)?;
        let removed = QUEUES.write().unwrap_or_else(PoisonError::into_inner).remove(&(queue as u64));
        if removed.is_none() {
            return Err(S::HSA_STATUS_ERROR_INVALID_QUEUE);
        }
        found.halt();
        // A queue's callback may destroy it; its thread then ends by itself.
        let current = std::thread::current().id();
        for thread in found.processors.take().into_iter().filter(|thread| thread.thread().id() != current) {
            if thread.join().is_err() {
                tracing::error!("a thread of a queue panicked");
            }
        }
        Ok(())
    })
}

/// Running kernels are aborted, as HSA specifies: none is running on return.
unsafe extern "C" fn inactivate(queue: *mut hsa_queue_t) -> S {
    call(|| {
        let found = find(queue)?;
        found.halt();
        found.settle();
        Ok(())
    })
}

/// Copies a queue's text to the caller's buffer, NUL-terminated and truncated to its size. Returns the full
/// length, or 0 if there is no text.
///
/// # Safety
/// `buffer` is null or has `size` bytes.
unsafe fn copy_text(
    queue: *const hsa_queue_t,
    buffer: *mut c_char,
    size: usize,
    text: impl FnOnce(&Queue) -> Option<String>,
) -> usize {
    let mut length = 0;
    let status = super::call_always(|| {
        let found = find(queue)?;
        let Some(text) = text(&found) else { return Ok(()) };
        length = text.len();
        if !buffer.is_null() && size > 0 {
            let bytes = length.min(size - 1);
            // SAFETY: the caller's buffer has `size` bytes.
            unsafe {
                std::ptr::copy_nonoverlapping(text.as_ptr(), buffer.cast(), bytes);
                buffer.add(bytes).write(0);
            }
        }
        Ok(())
    });
    if status == S::HSA_STATUS_SUCCESS { length } else { 0 }
}

/// Copies the report of the fault that ended the queue; see [`Extensions::queue_fault_report`].
pub(super) unsafe extern "C" fn fault_report(
    queue: *const hsa_queue_t,
    buffer: *mut c_char,
    size: usize,
) -> usize {
    let report = |queue: &Queue| {
        let report = lock(&queue.failure).as_ref()?.report.clone();
        queue.report_taken.store(true, Ordering::Release);
        Some(report)
    };
    // SAFETY: the caller's promise.
    unsafe { copy_text(queue, buffer, size, report) }
}

/// Copies the fault that ended the queue as JSON; see [`Extensions::queue_fault_json`].
pub(super) unsafe extern "C" fn fault_json(
    queue: *const hsa_queue_t,
    buffer: *mut c_char,
    size: usize,
) -> usize {
    let json = |queue: &Queue| Some(lock(&queue.failure).as_ref()?.fault.as_ref()?.to_json());
    // SAFETY: the caller's promise.
    unsafe { copy_text(queue, buffer, size, json) }
}

/// See [`Extensions::queue_set_counters`].
pub(super) unsafe extern "C" fn set_counters(queue: *const hsa_queue_t, on: bool) -> S {
    call(|| {
        find(queue)?.counting.store(on, Ordering::Relaxed);
        Ok(())
    })
}

/// See [`Extensions::queue_take_counters`].
pub(super) unsafe extern "C" fn take_counters(
    queue: *const hsa_queue_t,
    buffer: *mut c_char,
    size: usize,
) -> usize {
    let json = |queue: &Queue| {
        let mut counted = lock(&queue.counted);
        let all: Vec<String> = counted
            .iter()
            .map(|(packet, counters)| {
                // An object with at least one field.
                format!("{{\"packet\":{packet},{}", counters.to_json().trim_start_matches('{'))
            })
            .collect();
        let text = (!all.is_empty()).then(|| format!("[{}]", all.join(",")))?;
        if !buffer.is_null() && text.len() < size {
            counted.clear();
        }
        Some(text)
    };
    // SAFETY: the caller's promise.
    unsafe { copy_text(queue, buffer, size, json) }
}

/// See [`Extensions::queue_guard`].
pub(super) unsafe extern "C" fn guard(queue: *const hsa_queue_t) -> S {
    call(|| {
        let found = find(queue)?;
        for block in [found.address, found.ring] {
            found.device.memory().guard(block).map_err(|_| S::HSA_STATUS_ERROR)?;
        }
        Ok(())
    })
}

/// See [`Extensions::queue_missing_packet`].
pub(super) unsafe extern "C" fn missing_packet(queue: *const hsa_queue_t) -> u64 {
    find(queue).ok().and_then(|found| found.missing()).unwrap_or(u64::MAX)
}

unsafe extern "C" fn set_profiler_enabled(queue: *mut hsa_queue_t, enable: i32) -> S {
    call(|| {
        let found = find_or(queue, S::HSA_STATUS_ERROR_INVALID_QUEUE)?;
        let bit = amd_queue_properties_t::AMD_QUEUE_PROPERTIES_ENABLE_PROFILING.0 as u32;
        let field = found.address + offset_of!(amd_queue_v2_t, queue_properties) as u64;
        // SAFETY: the field is 4 aligned bytes of the queue's struct, which `found` keeps alive.
        let properties = unsafe { std::sync::atomic::AtomicU32::from_ptr(field as *mut u32) };
        // Packets always record their times. The bit is set for programs that read it.
        if enable != 0 {
            properties.fetch_or(bit, Ordering::Relaxed);
        } else {
            properties.fetch_and(!bit, Ordering::Relaxed);
        }
        Ok(())
    })
}

unsafe extern "C" fn set_priority(queue: *mut hsa_queue_t, priority: hsa_amd_queue_priority_t) -> S {
    call(|| {
        find(queue)?;
        priority.name().map(|_| ()).ok_or(S::HSA_STATUS_ERROR_INVALID_ARGUMENT)
    })
}

unsafe extern "C" fn get_info(
    queue: *mut hsa_queue_t,
    attribute: hsa_queue_info_attribute_t,
    value: *mut c_void,
) -> S {
    use hsa_queue_info_attribute_t as I;
    call(|| {
        let found = find(queue)?;
        // SAFETY: the caller's pointer is null or valid for a write of the attribute's type.
        unsafe {
            match attribute {
                I::HSA_AMD_QUEUE_INFO_AGENT => {
                    write(value.cast(), Agent::device_handle(found.device.index()))
                }
                I::HSA_AMD_QUEUE_INFO_DOORBELL_ID => write(value.cast(), found.id),
                _ => Err(S::HSA_STATUS_ERROR_INVALID_ARGUMENT),
            }
        }
    })
}

/// The index functions cannot report an error, so an invalid queue has indices of 0.
macro_rules! index_function {
    ($name:ident($($argument:ident),*) -> u64, $which:expr, $index:ident => $body:expr) => {
        unsafe extern "C" fn $name(queue: *const hsa_queue_t, $($argument: u64),*) -> u64 {
            let Ok(found) = find(queue) else { return 0 };
            // SAFETY: `found` keeps the queue's block alive.
            let $index = unsafe { index(found.address, $which) };
            $body
        }
    };
}
index_function!(load_write_index() -> u64, Index::Write, index => index.load(Ordering::Acquire));
index_function!(add_write_index(value) -> u64, Index::Write, index => index.fetch_add(value, Ordering::AcqRel));
index_function!(cas_write_index(expected, value) -> u64, Index::Write, index => index
.compare_exchange(expected, value, Ordering::AcqRel, Ordering::Acquire)
.unwrap_or_else(|seen| {
    // The thread whose turn it is may need this thread's core.
    std::thread::yield_now();
    seen
}));

/// The processor's own count. The struct's field is for kernels, and they can overwrite it.
unsafe extern "C" fn load_read_index(queue: *const hsa_queue_t) -> u64 {
    find(queue).map_or(0, |found| found.read.load(Ordering::Acquire))
}

unsafe extern "C" fn store_write_index(queue: *const hsa_queue_t, value: u64) {
    if let Ok(found) = find(queue) {
        // SAFETY: `found` keeps the queue's block alive.
        unsafe { index(found.address, Index::Write) }.store(value, Ordering::Release);
    }
}

/// Uses one function for all names of an operation, which differ in the requested memory order.
macro_rules! orders {
    ($builder:ident, $function:expr, $($name:ident)*) => {
        $($builder.$name($function);)*
    };
}

pub(super) fn provide(builder: &mut Builder) {
    builder.hsa_queue_create(create).hsa_queue_destroy(destroy).hsa_queue_inactivate(inactivate);
    builder.hsa_amd_profiling_set_profiler_enabled(set_profiler_enabled);
    builder.hsa_amd_queue_set_priority(set_priority);
    builder.hsa_amd_queue_get_info(get_info);
    orders!(builder, load_read_index, hsa_queue_load_read_index_relaxed hsa_queue_load_read_index_scacquire
        hsa_queue_load_read_index_acquire);
    orders!(builder, load_write_index, hsa_queue_load_write_index_relaxed hsa_queue_load_write_index_scacquire
        hsa_queue_load_write_index_acquire);
    orders!(builder, store_write_index, hsa_queue_store_write_index_relaxed
        hsa_queue_store_write_index_screlease hsa_queue_store_write_index_release);
    orders!(builder, add_write_index, hsa_queue_add_write_index_relaxed hsa_queue_add_write_index_scacquire
        hsa_queue_add_write_index_acquire hsa_queue_add_write_index_screlease hsa_queue_add_write_index_release
        hsa_queue_add_write_index_scacq_screl hsa_queue_add_write_index_acq_rel);
    orders!(builder, cas_write_index, hsa_queue_cas_write_index_relaxed hsa_queue_cas_write_index_scacquire
        hsa_queue_cas_write_index_acquire hsa_queue_cas_write_index_screlease hsa_queue_cas_write_index_release
        hsa_queue_cas_write_index_scacq_screl hsa_queue_cas_write_index_acq_rel);
}
