//! The packet processor of a queue.
//!
//! Packets are processed in order, one at a time. Only kernels can run concurrently: a kernel followed by one
//! without the barrier bit runs on its own thread. A packet is copied before its slot is released, so
//! producers never wait for a kernel to end.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use hsa_sys::*;

use super::beside::Beside;
use super::event::lock;
use super::queue::{Failure, PACKET, Queue, hear_kernels};
use super::signal::{Condition, Signal, wait_any};
use super::{S, now};
use crate::machine::{Dispatch, DispatchError, FaultKind};

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

/// How long to wait for a packet that is reserved but not written, to see whether it may run concurrently
/// with the one before it.
const RESERVED: Duration = Duration::from_millis(20);

/// Whether the next packet is a kernel that may run concurrently with this one.
fn is_joined(queue: &Queue, id: u64) -> bool {
    if !queue.has_reserved(id + 1) {
        return false;
    }
    let next = queue.header(id + 1);
    let end = Instant::now() + RESERVED;
    loop {
        let header = next.load(Ordering::Acquire);
        if is_written(header) {
            return packet_type(header) == hsa_packet_type_t::HSA_PACKET_TYPE_KERNEL_DISPATCH
                && !is_ordered(header);
        }
        if queue.is_stopped() || Instant::now() > end {
            return false;
        }
        std::thread::yield_now();
    }
}

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
            units: Some(lock(&queue.units).chosen),
        }
    }
}

/// The offset of the completion signal in every type of packet.
const COMPLETION: usize = 56;

/// Processes packets until the queue stops or fails. A panic in this code also fails the queue, so nobody
/// waits for packets for ever.
pub(super) fn run_processor(queue: &Arc<Queue>) {
    if catch_unwind(AssertUnwindSafe(|| serve(queue))).is_err() {
        let report = "the packet processor of the queue panicked".to_owned();
        queue.fail(Failure { status: S::HSA_STATUS_ERROR, report, fault: None });
    }
}

fn serve(queue: &Arc<Queue>) {
    let mut beside = Beside::default();
    let mut id = 0u64;
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
            beside.finish();
            if queue.is_stopped() {
                return;
            }
        }
        let is_kernel = packet_type(header) == hsa_packet_type_t::HSA_PACKET_TYPE_KERNEL_DISPATCH;
        let is_joined = is_kernel && is_joined(queue, id);
        queue.release(id);
        let packet = match is_joined {
            true => beside.start(queue, id, header, packet),
            false => Some(packet),
        };
        if let Some(packet) = packet
            && !run(queue, id, header, &packet)
        {
            return;
        }
        id += 1;
    }
}

/// Processes a packet on the processor's own thread. Returns false if the queue has ended.
fn run(queue: &Queue, id: u64, header: u16, packet: &Packet) -> bool {
    match complete(queue, id, header, packet, queue.current_packet(0)) {
        Ok(completed) => completed,
        Err(failure) => {
            queue.fail(failure);
            false
        }
    }
}

/// Processes a packet and completes its signal. Returns false if the queue was stopped first. The caller
/// reports errors, so that the packet is no longer in progress when the callback runs.
pub(super) fn complete(
    queue: &Queue,
    id: u64,
    header: u16,
    packet: &Packet,
    place: u64,
) -> Result<bool, Failure> {
    let Some(_entered) = queue.enter() else { return Ok(false) };
    let start = now();
    let processed = process(queue, id, header, packet, place);
    if timeline::is_on() {
        show(queue, id, header, packet, place, start, &processed);
    }
    let processed = processed?;
    let completion = packet.signal(COMPLETION)?;
    let (start, end) = match processed {
        Processed::Stopped => return Ok(false),
        Processed::Done => (start, now()),
        Processed::Ran { start, end } => (start, end),
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
    place: u64,
    start: u64,
    processed: &Result<Processed, Failure>,
) {
    let (start, end) = match processed {
        Ok(Processed::Ran { start, end }) => (*start, *end),
        _ => (start, now()),
    };
    let problem = match processed {
        Ok(Processed::Stopped) => Some(S::HSA_STATUS_ERROR),
        Ok(_) => None,
        Err(failure) => Some(failure.status),
    };
    let kind = packet_type(header);
    let is_kernel = kind == hsa_packet_type_t::HSA_PACKET_TYPE_KERNEL_DISPATCH;
    let dispatch = is_kernel.then(|| packet.dispatch(queue, id, place));
    let beside = place.wrapping_sub(queue.current_packet(0)) / PACKET;
    let shown = super::timeline::Processed { queue, id, kind, beside, start, end, problem };
    shown.write(dispatch.as_ref());
}

enum Processed {
    /// The packet ran no kernel.
    Done,
    /// The packet ran a kernel at these times.
    Ran { start: u64, end: u64 },
    /// The queue was stopped before the packet was done.
    Stopped,
}

/// `place` is where kernels can read the packet.
fn process(queue: &Queue, id: u64, header: u16, packet: &Packet, place: u64) -> Result<Processed, Failure> {
    use hsa_packet_type_t as T;
    match packet_type(header) {
        T::HSA_PACKET_TYPE_KERNEL_DISPATCH => dispatch(queue, id, packet, place),
        T::HSA_PACKET_TYPE_BARRIER_AND => {
            let signals = packet.dependencies()?;
            Ok(wait(queue, || signals.iter().all(|signal| signal.load() == 0)))
        }
        T::HSA_PACKET_TYPE_BARRIER_OR => {
            let signals = packet.dependencies()?;
            Ok(wait(queue, || signals.is_empty() || signals.iter().any(|signal| signal.load() == 0)))
        }
        T::HSA_PACKET_TYPE_VENDOR_SPECIFIC
            if u32::from(packet.0[2]) == hsa_amd_packet_type_t::HSA_AMD_PACKET_TYPE_BARRIER_VALUE.0 =>
        {
            let signal = packet.signal(8)?;
            let mask = packet.u64(24) as i64;
            let condition = Condition::new(hsa_signal_condition_t(packet.u32(32)), packet.u64(16) as i64);
            let condition =
                condition.ok_or_else(|| malformed(id, "a barrier-value packet with an unknown condition"))?;
            Ok(wait(queue, || signal.is_none_or(|signal| condition.holds(signal.load() & mask))))
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

/// How often a processor looks at signals before it lets other threads run.
const LOOKS: usize = 200;
/// How long it then looks before it sleeps: waking a thread takes about as long, and most waits are for
/// another queue's next packet.
const AWAKE: Duration = Duration::from_micros(50);

fn wait(queue: &Queue, ready: impl Fn() -> bool) -> Processed {
    if !ready() {
        let is_over = || queue.is_stopped() || ready();
        let look = |_| {
            std::hint::spin_loop();
            is_over()
        };
        if !(0..LOOKS).any(look) {
            let end = Instant::now() + AWAKE;
            while !is_over() && Instant::now() < end {
                std::thread::yield_now();
            }
            wait_any(None, is_over);
        }
        if !ready() {
            return Processed::Stopped;
        }
    }
    Processed::Done
}

fn dispatch(queue: &Queue, id: u64, packet: &Packet, place: u64) -> Result<Processed, Failure> {
    let dimensions = packet.u16(2) & 3;
    if dimensions == 0 {
        let report = format!("packet {id} of the queue is a kernel dispatch of 0 dimensions");
        return Err(Failure { status: S::HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS, report, fault: None });
    }
    let dispatch = packet.dispatch(queue, id, place);
    // SAFETY: the place is in the queue's block, aligned, and belongs to this thread while no kernel that
    // reads it runs.
    unsafe {
        std::ptr::copy_nonoverlapping(packet.0.as_ptr(), place as *mut u8, PACKET as usize);
    }
    // SAFETY: whoever wrote the packet vouches for the kernel, its arguments and the memory that it uses.
    let ran = unsafe { queue.device.dispatch_until(&dispatch, &queue.stop) };
    hear_kernels();
    match ran {
        Ok(stats) => {
            if let Some(counters) = stats.counters.filter(|_| dispatch.counters) {
                queue.keep(id, counters);
            }
            Ok(Processed::Ran { start: stats.start_ns, end: stats.end_ns })
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
