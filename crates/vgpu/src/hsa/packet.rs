//! The packet processor of a queue.
//!
//! Packets are processed in order, one at a time. Only kernels can run concurrently: while one runs, a
//! following one without the barrier bit may begin. A packet is copied before its slot is released, so
//! producers never wait for a kernel to end.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use hsa_sys::*;

use super::S;
use super::event::lock;
use super::queue::{Failure, PACKET, Queue, hear_kernels};
use super::signal::{Condition, Signal, wait_for_signals};
use crate::machine::{Dispatch, DispatchError, FaultKind, now_ns};

/// Header of a packet that is not yet written.
pub(super) const INVALID: u16 = hsa_packet_type_t::HSA_PACKET_TYPE_INVALID.0 as u16;

/// The type in a header.
fn packet_type(header: u16) -> hsa_packet_type_t {
    hsa_packet_type_t(u32::from(header & 0xff))
}

/// Whether a header marks its packet as ready to be processed.
pub(super) fn is_written(header: u16) -> bool {
    packet_type(header) != hsa_packet_type_t::HSA_PACKET_TYPE_INVALID
}

/// Whether a packet waits until all earlier packets have completed.
fn is_ordered(header: u16) -> bool {
    header >> hsa_packet_header_t::HSA_PACKET_HEADER_BARRIER.0 & 1 != 0
}

/// Whether a packet is a kernel.
fn is_kernel(header: u16) -> bool {
    packet_type(header) == hsa_packet_type_t::HSA_PACKET_TYPE_KERNEL_DISPATCH
}

/// How long a kernel runs, with one behind it that may begin, before another thread processes the rest: about
/// as long as it takes to wake that thread.
const SHORT: Duration = Duration::from_micros(20);

/// A copied packet.
pub(super) struct Packet([u8; PACKET as usize]);

impl Packet {
    fn u16(&self, offset: usize) -> u16 {
        u16::from_le_bytes([self.0[offset], self.0[offset + 1]])
    }

    fn u32(&self, offset: usize) -> u32 {
        u32::from(self.u16(offset)) | u32::from(self.u16(offset + 2)) << 16
    }

    fn u64(&self, offset: usize) -> u64 {
        u64::from(self.u32(offset)) | u64::from(self.u32(offset + 4)) << 32
    }

    fn signal(&self, offset: usize) -> Result<Option<Signal>, Failure> {
        let handle = hsa_signal_t { handle: self.u64(offset) };
        Signal::optional(handle).map_err(|status| Failure {
            status,
            report: format!("a packet names signal {:#x}, which does not exist", handle.handle),
            fault: None,
        })
    }

    /// The signals that a barrier packet waits for.
    fn dependencies(&self) -> Result<Vec<Signal>, Failure> {
        let mut signals = Vec::new();
        for slot in 0..5 {
            signals.extend(self.signal(8 + 8 * slot)?);
        }
        Ok(signals)
    }

    /// The kernel of a dispatch packet with a nonzero number of dimensions; `place` is where kernels can read
    /// the packet.
    fn dispatch(&self, queue: &Queue, id: u64, place: u64) -> Dispatch {
        let dimensions = self.u16(2) & 3;
        // Sizes in dimensions that the dispatch does not have count as 1, whatever the packet says.
        let size = |dimension: u16, value: u32| if dimension < dimensions { value } else { 1 };
        Dispatch {
            kernel_object: self.u64(32),
            grid: [size(0, self.u32(12)), size(1, self.u32(16)), size(2, self.u32(20))],
            workgroup: [
                size(0, self.u16(4).into()),
                size(1, self.u16(6).into()),
                size(2, self.u16(8).into()),
            ],
            kernarg: self.u64(40),
            private_segment_size: self.u32(24),
            group_segment_size: self.u32(28),
            packet: place,
            queue: queue.address,
            id,
            timeout: None,
            counters: queue.counts(),
            checks: None,
            units: lock(&queue.units).selected(),
        }
    }
}

/// The offset of the completion signal in every type of packet.
const COMPLETION: usize = 56;

/// Processes packets, from one on, until the queue stops or fails, or another thread is its processor. A
/// panic in this code also fails the queue, so nobody waits for packets for ever.
pub(super) fn run_processor(queue: &Arc<Queue>, id: u64) {
    if catch_unwind(AssertUnwindSafe(|| serve(queue, id))).is_err() {
        let report = "the packet processor of the queue panicked".to_owned();
        queue.fail(Failure { status: S::HSA_STATUS_ERROR, report, fault: None });
    }
}

fn serve(queue: &Arc<Queue>, first: u64) {
    let mut id = first;
    while queue.wait_for_packet(id) {
        let header = queue.header(id).load(Ordering::Acquire);
        let mut packet = Packet([0; PACKET as usize]);
        // SAFETY: the slot is in the ring, which the queue keeps; the header shows that its producer is done
        // with it.
        unsafe {
            std::ptr::copy_nonoverlapping(
                queue.slot(id) as *const u8,
                packet.0.as_mut_ptr(),
                PACKET as usize,
            );
        }
        if is_ordered(header) {
            queue.settle();
            if queue.is_stopped() {
                return;
            }
        }
        queue.release(id);
        let kernel = Running { queue, id, seen: Cell::default(), replaced: Cell::new(false) };
        match complete(queue, id, header, &packet, &|| kernel.look()) {
            Ok(true) if !kernel.replaced.get() => id += 1,
            Ok(_) => return,
            Err(failure) => return queue.fail(failure),
        }
    }
}

/// A kernel that the packet processor runs.
struct Running<'a> {
    queue: &'a Arc<Queue>,
    id: u64,
    /// Since when the kernel behind it could run, too.
    seen: Cell<Seen>,
    /// Another thread is the processor.
    replaced: Cell<bool>,
}

#[derive(Clone, Copy, Default)]
enum Seen {
    #[default]
    Nothing,
    /// At the last look. A look at the clock takes longer than many kernels go on.
    Once,
    Since(Instant),
}

impl Running<'_> {
    /// Gives the packets behind the kernel to another thread, if the next one may run concurrently and this
    /// one takes long. Called before each time slice of its waves.
    fn look(&self) {
        let (queue, next) = (self.queue, self.id + 1);
        let is_joined = |header| is_kernel(header) && !is_ordered(header);
        if self.replaced.get() || !queue.written(next).is_some_and(is_joined) {
            return;
        }
        match self.seen.get() {
            Seen::Nothing => self.seen.set(Seen::Once),
            Seen::Once => self.seen.set(Seen::Since(Instant::now())),
            Seen::Since(then) if then.elapsed() < SHORT => {}
            Seen::Since(_) => self.replaced.set(queue.processors.appoint(queue, next)),
        }
    }
}

/// Processes a packet and completes its signal. Returns false if the queue was stopped first. The caller
/// reports errors, so that the packet is no longer in progress when the callback runs.
fn complete(
    queue: &Queue,
    id: u64,
    header: u16,
    packet: &Packet,
    meanwhile: &dyn Fn(),
) -> Result<bool, Failure> {
    let Some(entered) = queue.enter() else { return Ok(false) };
    let shown_from = timeline::is_on().then(now_ns);
    let processed = process(queue, id, header, packet, entered.place, meanwhile);
    if let Some(start) = shown_from {
        show(queue, id, header, packet, entered.place, start, &processed);
    }
    let processed = processed?;
    let completion = packet.signal(COMPLETION)?;
    let (start, end) = match processed {
        Processed::Stopped => return Ok(false),
        Processed::Done { start, end } => (start, end),
    };
    if let Some(completion) = completion {
        completion.complete(start, end);
    }
    Ok(true)
}

/// Writes a packet to the timeline, before anyone who waits for it continues.
fn show(
    queue: &Queue,
    id: u64,
    header: u16,
    packet: &Packet,
    place: u32,
    start: u64,
    processed: &Result<Processed, Failure>,
) {
    let (start, end) = match processed {
        Ok(Processed::Done { start, end }) => (*start, *end),
        _ => (start, now_ns()),
    };
    let problem = match processed {
        Ok(Processed::Stopped) => Some(S::HSA_STATUS_ERROR),
        Ok(_) => None,
        Err(failure) => Some(failure.status),
    };
    let dispatch = is_kernel(header).then(|| packet.dispatch(queue, id, queue.current_packet(place)));
    let kind = packet_type(header);
    let shown = super::timeline::Processed { queue, id, kind, place, start, end, problem };
    shown.write(dispatch.as_ref());
}

enum Processed {
    /// The packet was processed between these times.
    Done { start: u64, end: u64 },
    /// The queue was stopped before the packet was done.
    Stopped,
}

fn process(
    queue: &Queue,
    id: u64,
    header: u16,
    packet: &Packet,
    place: u32,
    meanwhile: &dyn Fn(),
) -> Result<Processed, Failure> {
    use hsa_packet_type_t as T;
    match packet_type(header) {
        T::HSA_PACKET_TYPE_KERNEL_DISPATCH => dispatch(queue, id, packet, place, meanwhile),
        T::HSA_PACKET_TYPE_BARRIER_AND => {
            let signals = packet.dependencies()?;
            Ok(wait(queue, &signals, || signals.iter().all(|signal| signal.load() == 0)))
        }
        T::HSA_PACKET_TYPE_BARRIER_OR => {
            let signals = packet.dependencies()?;
            Ok(wait(queue, &signals, || {
                signals.is_empty() || signals.iter().any(|signal| signal.load() == 0)
            }))
        }
        T::HSA_PACKET_TYPE_VENDOR_SPECIFIC
            if u32::from(packet.0[2]) == hsa_amd_packet_type_t::HSA_AMD_PACKET_TYPE_BARRIER_VALUE.0 =>
        {
            let signal = packet.signal(8)?;
            let mask = packet.u64(24) as i64;
            let condition = Condition::new(hsa_signal_condition_t(packet.u32(32)), packet.u64(16) as i64);
            let condition =
                condition.ok_or_else(|| malformed(id, "a barrier-value packet with an unknown condition"))?;
            Ok(wait(queue, signal.as_slice(), || {
                signal.is_none_or(|signal| condition.holds(signal.load() & mask))
            }))
        }
        T::HSA_PACKET_TYPE_VENDOR_SPECIFIC => {
            Err(malformed(id, &format!("a vendor packet of the unknown format {}", packet.0[2])))
        }
        T::HSA_PACKET_TYPE_AGENT_DISPATCH => {
            Err(malformed(id, "an agent dispatch packet, which GPUs do not process"))
        }
        other => Err(malformed(id, &format!("a packet of the unknown type {}", other.0))),
    }
}

fn malformed(id: u64, what: &str) -> Failure {
    Failure {
        status: S::HSA_STATUS_ERROR_INVALID_PACKET_FORMAT,
        report: format!("packet {id} of the queue is {what}"),
        fault: None,
    }
}

/// How long a processor looks at signals before it sleeps: waking a thread takes about as long, and most
/// waits are for another queue's next packet, whose processor may need the same core.
const AWAKE: Duration = Duration::from_micros(50);

fn wait(queue: &Queue, signals: &[Signal], ready: impl Fn() -> bool) -> Processed {
    let start = now_ns();
    if !ready() {
        let is_over = || queue.is_stopped() || ready();
        let end = Instant::now() + AWAKE;
        while !is_over() && Instant::now() < end {
            std::thread::yield_now();
        }
        wait_for_signals(signals.iter().copied(), None, is_over);
        if !ready() {
            return Processed::Stopped;
        }
    }
    Processed::Done { start, end: now_ns() }
}

fn dispatch(
    queue: &Queue,
    id: u64,
    packet: &Packet,
    place: u32,
    meanwhile: &dyn Fn(),
) -> Result<Processed, Failure> {
    let dimensions = packet.u16(2) & 3;
    if dimensions == 0 {
        let report = format!("packet {id} of the queue is a kernel dispatch of 0 dimensions");
        return Err(Failure { status: S::HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS, report, fault: None });
    }
    let place = queue.current_packet(place);
    let dispatch = packet.dispatch(queue, id, place);
    // SAFETY: the place is in the queue's block, aligned, and of no other packet that is being processed.
    unsafe {
        std::ptr::copy_nonoverlapping(packet.0.as_ptr(), place as *mut u8, PACKET as usize);
    }
    // SAFETY: whoever wrote the packet vouches for the kernel, its arguments and the memory that it uses.
    let ran = unsafe { queue.device.dispatch_until(&dispatch, &queue.stop, meanwhile) };
    hear_kernels();
    match ran {
        Ok(stats) => {
            if let Some(counters) = stats.counters.filter(|_| dispatch.counters) {
                queue.keep(id, counters);
            }
            Ok(Processed::Done { start: stats.start_ns, end: stats.end_ns })
        }
        Err(DispatchError::Stopped) => Ok(Processed::Stopped),
        Err(error) => {
            let (status, report) = (status_of(&error), error.to_string());
            let fault = match error {
                DispatchError::Fault(fault) => Some(fault),
                _ => None,
            };
            Err(Failure { status, report, fault })
        }
    }
}

/// The status that the queue's callback gets for a kernel that could not run or failed.
fn status_of(error: &DispatchError) -> S {
    match error {
        DispatchError::NoKernel(_) | DispatchError::BadDescriptor { .. } => {
            S::HSA_STATUS_ERROR_INVALID_CODE_OBJECT
        }
        DispatchError::WrongDevice { .. } => S::HSA_STATUS_ERROR_INVALID_ISA,
        DispatchError::ZeroSize { .. } | DispatchError::WorkgroupTooLarge { .. } => {
            S::HSA_STATUS_ERROR_INVALID_ARGUMENT
        }
        DispatchError::WorkgroupMismatch { .. } | DispatchError::TooManyWorkgroups { .. } => {
            S::HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS
        }
        DispatchError::LdsTooLarge { .. } | DispatchError::ScratchTooLarge { .. } => {
            S::HSA_STATUS_ERROR_INVALID_ALLOCATION
        }
        DispatchError::NoMemory(_) => S::HSA_STATUS_ERROR_OUT_OF_RESOURCES,
        // Nothing is reported: whoever stops a queue knows it.
        DispatchError::Stopped => S::HSA_STATUS_ERROR,
        DispatchError::Fault(fault) => match fault.kind {
            FaultKind::OutOfBounds { .. }
            | FaultKind::UseAfterFree { .. }
            | FaultKind::ReadOnly { .. }
            | FaultKind::BeyondArguments { .. }
            | FaultKind::BeyondLimit { .. }
            | FaultKind::Misaligned { .. } => S::HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION,
            FaultKind::IllegalInstruction { .. } | FaultKind::Unsupported { .. } => {
                S::HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION
            }
            _ => S::HSA_STATUS_ERROR_EXCEPTION,
        },
    }
}
