//! One HSA queue and everything in flight on it.
//!
//! Packets run in order: each has the barrier bit, except kernels of a graph that may run concurrently.
//! Kernels carry no completion signal; instead a *fence*, a barrier packet with a system-scope release,
//! decrements the queue's one *progress* signal, so that a number gives the queue's progress. Fences are
//! written where progress matters: before a wait, at the end of a part of the argument ring, and after each
//! copy. A *marker* is a barrier packet with its own signal that others can wait for.

use std::collections::VecDeque;
use std::ffi::{c_char, c_void};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use hal::block::Submission;
use hip_sys::hipError_t;
use hsa::raw::{
    ArgumentRing, Dispatch, NO_SIGNAL, Packet, PacketRing, Room, SCOPE_AGENT, SCOPE_NONE, SCOPE_SYSTEM,
    barrier_packet, dispatch_packet,
};
use hsa_sys::*;

use crate::error::{Result, check};
use crate::gpu::{Gpu, Staging};
use crate::queue::arguments::{KernargBlock, Services};
use crate::queue::hostcall::{Hostcalls, Registered};
use crate::queue::marker::{Marker, Point, Signal};
use crate::queue::order;
use crate::queue::print_buffer::PrintBuffer;
use crate::queue::progress::{Outside, Owner, Progress, UnderWay, on_queue_error};
use crate::queue::shown;
use crate::runtime::Runtime;

/// Packets that a queue holds; fewer if the agent says so.
const PACKETS: u32 = 4096;
/// How often a thread looks for room in a full queue before it lets others run.
const SPINS: u32 = 200;
/// How often it then looks whether the queue can still make room.
const HEALTH: Duration = Duration::from_millis(5);
/// Above this number of things in flight, finished ones are released.
const MANY: usize = 64;

/// Something that has to live until a fence has completed.
enum Kept {
    /// Work outside of the queue.
    Outside(Outside),
    /// A point of this stream, which ends when the stream fails.
    Marker(Arc<Marker>),
    /// Kept for its `Drop`, which returns the memory.
    Staging(#[allow(dead_code, reason = "held for its Drop")] Arc<Staging>),
    /// Arguments that the packets of a graph point to.
    Arguments(Arc<KernargBlock>),
}

/// A plain copy in the form that the copy engines take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CopyOp {
    pub(crate) dst: *mut c_void,
    pub(crate) dst_agent: hsa_agent_t,
    pub(crate) src: *const c_void,
    pub(crate) src_agent: hsa_agent_t,
    pub(crate) size: usize,
}

/// A queue with its argument ring and the things in flight.
pub(crate) struct Submitter {
    runtime: &'static Runtime,
    agent: hsa_agent_t,
    queue: *mut hsa_queue_t,
    packets: PacketRing,
    pub(crate) progress: Arc<Progress>,
    /// The reference that the error callback uses.
    callback_data: *const Progress,
    fences: u64,
    /// Packets were written after the last fence.
    unfenced: bool,
    /// The next kernel must see writes of others: the host, a copy, another stream.
    acquire: bool,
    /// A marker after which nothing was written.
    tail: Option<Arc<Marker>>,
    /// The signal of copies after which nothing was written.
    tail_copy: Option<Arc<Signal>>,
    /// Created with the first kernel that has arguments.
    ring: Option<ArgumentRing>,
    kept: VecDeque<(u64, Kept)>,
    geometry: (u64, u32, u32),
    gpu: &'static Gpu,
    /// Calls from this queue's kernels to the host.
    hostcalls: Option<Registered>,
    print_buffer: Option<Arc<PrintBuffer>>,
}

// SAFETY: the pointers are to the queue and the ring, which belong to this object alone and are tied to no
// thread.
unsafe impl Send for Submitter {}

impl Submitter {
    /// Creates the queue.
    pub(crate) fn new(
        runtime: &'static Runtime,
        gpu: &'static Gpu,
        priority: i32,
        owner: Weak<dyn Owner>,
    ) -> Result<Self> {
        let agent = gpu.agent;
        let hsa = runtime.hsa;
        let progress = Progress::new(hsa, owner)?;
        let callback_data = Arc::into_raw(progress.clone());
        let mut queue: *mut hsa_queue_t = std::ptr::null_mut();
        // SAFETY: the callback's data lives until the queue is destroyed; the out pointer is valid.
        let status = unsafe {
            (hsa.table.hsa_queue_create)(
                agent,
                // A power of two, as HSA demands.
                1 << PACKETS.min(gpu.max_packets).max(1).ilog2(),
                hsa_queue_type_t::HSA_QUEUE_TYPE_MULTI.0,
                Some(on_queue_error),
                callback_data.cast_mut().cast(),
                u32::MAX,
                u32::MAX,
                &mut queue,
            )
        };
        if let Err(code) = check(status, hipError_t::hipErrorRuntimeOther) {
            // SAFETY: no queue has taken the reference.
            drop(unsafe { Arc::from_raw(callback_data) });
            return Err(code);
        }
        // SAFETY: the queue, if there is one, was just created, and only this submitter writes to it.
        let Some(packets) = (unsafe { PacketRing::of(hsa.table, queue) }) else {
            tracing::error!("HSA returned an invalid queue");
            if !queue.is_null() {
                // SAFETY: nothing uses the queue. Its callback's reference is leaked, because the invalid
                // queue may still use it.
                let _ = unsafe { (hsa.table.hsa_queue_destroy)(queue) };
            }
            return Err(hipError_t::hipErrorRuntimeOther);
        };
        hsa.guard(queue);
        progress.set_queue(queue);
        // SAFETY: AMD's queues are this structure, whose first part is HSA's; these words do not change.
        let (shared_base, private_base) = unsafe {
            let amd = queue.cast::<amd_queue_v2_t>();
            ((*amd).group_segment_aperture_base_hi, (*amd).private_segment_aperture_base_hi)
        };
        let submitter = Self {
            runtime,
            agent,
            queue,
            packets,
            progress,
            callback_data,
            fences: 0,
            unfenced: false,
            acquire: true,
            tail: None,
            tail_copy: None,
            ring: None,
            kept: VecDeque::new(),
            geometry: (queue as u64, shared_base, private_base),
            gpu,
            hostcalls: None,
            print_buffer: None,
        };
        // Event times come from the packets, which have times only while this is on.
        // SAFETY: the queue is live.
        let status = unsafe { (hsa.table.hsa_amd_profiling_set_profiler_enabled)(queue, 1) };
        if status != hsa_status_t::HSA_STATUS_SUCCESS {
            tracing::debug!(?status, "no packet times on this queue");
        }
        if priority != 0 {
            let level = if priority < 0 {
                hsa_amd_queue_priority_t::HSA_AMD_QUEUE_PRIORITY_HIGH
            } else {
                hsa_amd_queue_priority_t::HSA_AMD_QUEUE_PRIORITY_LOW
            };
            // SAFETY: the queue is live.
            let status = unsafe { (hsa.table.hsa_amd_queue_set_priority)(queue, level) };
            if status != hsa_status_t::HSA_STATUS_SUCCESS {
                tracing::debug!(?status, "the queue keeps its normal priority");
            }
        }
        Ok(submitter)
    }

    /// Restricts kernels to compute units, a bit for each.
    pub(crate) fn set_cu_mask(&mut self, mask: &[u32]) -> Result {
        let bits = mask.len() as u32 * u32::BITS;
        // SAFETY: the queue is live, and the list has as many bits.
        let status =
            unsafe { (self.runtime.hsa.table.hsa_amd_queue_cu_set_mask)(self.queue, bits, mask.as_ptr()) };
        // HSA's own environment variables may have reduced the mask.
        match status {
            hsa_status_t::HSA_STATUS_CU_MASK_REDUCED => Ok(()),
            status => check(status, hipError_t::hipErrorInvalidValue),
        }
    }

    /// Address of the queue and high halves of the LDS and scratch apertures, for hidden arguments.
    pub(crate) fn geometry(&self) -> (u64, u32, u32) {
        self.geometry
    }

    /// The buffers of the services that a kernel needs, created on first use.
    pub(crate) fn services(&mut self, wanted: Services<bool>) -> Result<Services<u64>> {
        let mut found = Services::default();
        if wanted.hostcall {
            let calls = match &self.hostcalls {
                Some(calls) => calls,
                None => {
                    self.hostcalls.insert(Hostcalls::register(self.runtime, self.gpu, self.progress.clone())?)
                }
            };
            found.hostcall = calls.address();
        }
        if wanted.print_buffer {
            found.print_buffer = self.print_buffer()?.address();
        }
        if wanted.heap {
            found.heap = self.gpu.heap.state(self.runtime, self.gpu)?;
        }
        Ok(found)
    }

    /// The buffer that kernels of this queue print into.
    pub(crate) fn print_buffer(&mut self) -> Result<Arc<PrintBuffer>> {
        let buffer = match &self.print_buffer {
            Some(buffer) => buffer,
            None => self.print_buffer.insert(PrintBuffer::new(self.runtime, self.gpu)?),
        };
        Ok(buffer.clone())
    }

    /// See [`Hsa::set_counters`](crate::error::Hsa::set_counters).
    pub(crate) fn set_counters(&self, on: bool) -> Result {
        self.runtime.hsa.set_counters(self.queue, on)
    }

    /// See [`Hsa::take_counters`](crate::error::Hsa::take_counters).
    ///
    /// # Safety
    /// The buffer is null or has as many bytes.
    pub(crate) unsafe fn take_counters(&self, buffer: *mut c_char, size: usize) -> usize {
        // SAFETY: the caller's promise.
        unsafe { self.runtime.hsa.take_counters(self.queue, buffer, size) }
    }

    /// The failure, if the queue has failed.
    pub(crate) fn check(&self) -> Result {
        self.progress.fault().map_or(Ok(()), Err)
    }

    /// Writes packets, and rings the doorbell; waits while the queue is full.
    fn push(&mut self, packets: &[Packet]) -> Result {
        self.check()?;
        self.write(Submission::of(packets))
    }

    fn write(&mut self, packets: Submission<'_>) -> Result {
        // SAFETY: what packets name is kept until the fence behind them has completed. Only this submitter
        // writes to the ring, and the loop ends when all are written or the queue has failed.
        let mut writing = unsafe { packets.begin(&mut self.packets) };
        let (mut looks, mut looked) = (0u32, None);
        while !writing.advance(&mut self.packets) {
            // A failed queue takes no more packets: the slots stay empty for ever.
            self.check()?;
            looks = looks.saturating_add(1);
            if looks < SPINS {
                std::hint::spin_loop();
                continue;
            }
            std::thread::yield_now();
            // By the clock: on a busy machine, yielding takes long.
            if looked.get_or_insert_with(Instant::now).elapsed() > HEALTH {
                looked = None;
                self.check_health();
                self.runtime.look_after_streams();
            }
        }
        self.tail = None;
        self.tail_copy = None;
        self.unfenced = true;
        Ok(())
    }

    /// Records kernels in the timeline, if this crate has to do that.
    #[inline]
    fn show(&self, packets: &mut [Packet]) {
        if shown::is_needed(self.runtime) {
            shown::kernels(self.runtime, self.gpu, self.progress.submitter, packets);
        }
    }

    /// The end of everything written so far.
    pub(crate) fn point(&self) -> Point {
        Point { submitter: self.progress.submitter, packets: self.packets.written() }
    }

    /// Whether everything written so far has completed.
    pub(crate) fn is_idle(&self) -> bool {
        if let Some(tail) = &self.tail {
            return tail.is_done(self.runtime);
        }
        !self.unfenced && self.progress.completed() >= self.fences
    }

    /// Makes sure that a fence follows everything written so far; returns its number.
    pub(crate) fn fence(&mut self) -> Result<u64> {
        if self.unfenced {
            self.push(&[barrier_packet(&[], self.progress.signal(), SCOPE_SYSTEM)])?;
            self.fenced();
        }
        self.reap();
        Ok(self.fences)
    }

    /// Records that the packet just written was a fence.
    fn fenced(&mut self) {
        self.fences += 1;
        self.unfenced = false;
        self.acquire = true;
    }

    fn keep(&mut self, thing: Kept) {
        let fence = self.fences + u64::from(self.unfenced);
        self.kept.push_back((fence, thing));
    }

    /// Keeps memory alive that the last dispatch uses.
    pub(crate) fn hold(&mut self, block: Arc<KernargBlock>) {
        self.keep(Kept::Arguments(block));
    }

    /// Releases objects whose fences have completed.
    fn reap(&mut self) {
        if self.kept.is_empty() || self.progress.fault().is_some() {
            return;
        }
        let completed = self.progress.completed();
        while self.kept.front().is_some_and(|(fence, _)| *fence <= completed) {
            self.kept.pop_front();
        }
    }

    /// Releases finished things when there are many.
    fn tidy(&mut self) -> Result {
        if self.kept.len() >= MANY {
            self.fence()?;
        }
        Ok(())
    }

    /// A new marker behind everything written so far.
    pub(crate) fn marker(&mut self) -> Result<Arc<Marker>> {
        self.tidy()?;
        let point = Point { packets: self.packets.written() + 1, ..self.point() };
        let marker = Arc::new(Marker::at(self.runtime, self.agent, point)?);
        self.push(&[barrier_packet(&[], marker.signal(), SCOPE_SYSTEM)])?;
        self.keep(Kept::Marker(marker.clone()));
        self.tail = Some(marker.clone());
        self.acquire = true;
        Ok(marker)
    }

    /// A marker behind everything written so far, an existing one if nothing was written after it.
    pub(crate) fn tail(&mut self) -> Result<Arc<Marker>> {
        match &self.tail {
            Some(tail) => Ok(tail.clone()),
            None => self.marker(),
        }
    }

    /// Makes later work wait for a point of another stream.
    pub(crate) fn wait_for(&mut self, marker: Arc<Marker>) -> Result {
        let before = marker.point();
        if !marker.is_done(self.runtime) {
            self.wait_for_signal(marker.signal())?;
            self.keep(Kept::Outside(Outside::Foreign(marker)));
        }
        if let Some(before) = before {
            order::follows(before, self.point());
        }
        Ok(())
    }

    /// Makes later work wait for a point that the host must complete on behalf of this stream.
    pub(crate) fn wait_for_host(&mut self, marker: Arc<Marker>) -> Result {
        self.wait_for_signal(marker.signal())?;
        self.keep(Kept::Outside(Outside::Host(marker)));
        Ok(())
    }

    fn wait_for_signal(&mut self, signal: hsa_signal_t) -> Result {
        self.tidy()?;
        self.push(&[barrier_packet(&[signal], NO_SIGNAL, SCOPE_NONE)])?;
        self.acquire = true;
        Ok(())
    }

    /// Enqueues copies behind everything written so far, one after the other; later work waits for them.
    /// Returns the fence that covers them. After an error none of them is done, unless the queue has failed.
    ///
    /// # Safety
    /// The memory stays valid for the agents until that fence has completed or, if the queue fails, until the
    /// submitter is gone.
    pub(crate) unsafe fn copy(
        &mut self,
        copies: &[CopyOp],
        staging: impl IntoIterator<Item = Arc<Staging>>,
    ) -> Result<u64> {
        self.check()?;
        self.tidy()?;
        // Copies that follow copies wait for those directly, others for a marker in the queue.
        let (after, previous) = match self.tail_copy.clone() {
            _ if self.is_idle() => (None, None),
            Some(copies) => (Some(copies.raw()), Some(copies)),
            None => (Some(self.tail()?.signal()), None),
        };
        // A signal for each: only its own signal shows that a copy has failed, and the others continue.
        let signals = copies.iter().map(|_| Signal::new(self.runtime, 1).map(Arc::new));
        let ends = signals.collect::<Result<Vec<_>>>()?;
        let Some(last) = ends.last() else { return self.fence() };
        // Make later work wait first: if that is refused, no copy has begun.
        self.push(&[barrier_packet(&[last.raw()], self.progress.signal(), SCOPE_SYSTEM)])?;
        self.fenced();
        // A signal must not be reused before its waiters have seen it.
        for end in previous.iter().chain(&ends) {
            self.keep(Kept::Outside(Outside::Copy(end.clone())));
        }
        for piece in staging {
            self.keep(Kept::Staging(piece));
        }
        let mut after = after;
        for (index, (copy, end)) in copies.iter().zip(&ends).enumerate() {
            // SAFETY: as this function's contract.
            let result = unsafe {
                self.runtime.hsa.async_copy(
                    (copy.dst, copy.dst_agent),
                    (copy.src, copy.src_agent),
                    copy.size,
                    after.as_slice(),
                    end.raw(),
                )
            };
            if let Err(code) = result {
                if index != 0 {
                    // Earlier copies cannot be cancelled.
                    let report = format!("HSA refused copy {index} of a group of {}", copies.len());
                    self.progress.fail(hipError_t::hipErrorLaunchFailure, report.into());
                    self.progress.end_soon();
                }
                ends[index..].iter().for_each(|end| self.runtime.hsa.signal_store(end.raw(), 0));
                return Err(code);
            }
            if shown::is_needed(self.runtime) {
                let agents = [copy.dst_agent, copy.src_agent];
                shown::copy(self.runtime, self.gpu, self.progress.submitter, agents, copy.size, end);
            }
            after = Some(end.raw());
        }
        self.tail_copy = Some(last.clone());
        Ok(self.fences)
    }

    /// Dispatches a kernel; `fill` writes its argument segment of `size` bytes, and `before` bytes in front
    /// of it, a multiple of the alignment.
    pub(crate) fn dispatch(
        &mut self,
        dispatch: &Dispatch,
        before: usize,
        size: usize,
        align: usize,
        fill: impl FnOnce(&mut [u8], &mut [u8]),
    ) -> Result {
        self.check()?;
        let start = self.arguments(before + size, align)?;
        let mut arguments = start as u64;
        if !start.is_null() {
            // SAFETY: the bytes belong to this dispatch until its part of the ring is used again.
            let bytes = unsafe { std::slice::from_raw_parts_mut(start, before + size) };
            let (front, segment) = bytes.split_at_mut(before);
            arguments = segment.as_ptr() as u64;
            fill(front, segment);
        }
        let acquire = if self.acquire { SCOPE_SYSTEM } else { SCOPE_AGENT };
        let mut packets = [dispatch_packet(dispatch, arguments, acquire)];
        self.show(&mut packets);
        self.push(&packets)?;
        self.acquire = false;
        Ok(())
    }

    /// Dispatches kernels of a graph, whose arguments are in a block of its own.
    pub(crate) fn replay(&mut self, mut kernels: Submission<'_>, arguments: &Arc<KernargBlock>) -> Result {
        self.tidy()?;
        self.check()?;
        kernels.acquire(if self.acquire { SCOPE_SYSTEM } else { SCOPE_AGENT });
        if shown::is_needed(self.runtime) {
            shown::kernels(self.runtime, self.gpu, self.progress.submitter, kernels.packets_mut());
        }
        // If the queue fails before all packets are written, the others still name the arguments. A graph
        // that is launched repeatedly needs only one entry.
        let fence = self.fences + 1;
        match self.kept.back_mut() {
            Some((last, Kept::Arguments(kept))) if Arc::ptr_eq(kept, arguments) => *last = fence,
            _ => self.kept.push_back((fence, Kept::Arguments(arguments.clone()))),
        }
        self.write(kernels)?;
        self.acquire = false;
        Ok(())
    }

    /// Room for an argument segment.
    fn arguments(&mut self, size: usize, align: usize) -> Result<*mut u8> {
        if size == 0 {
            return Ok(std::ptr::null_mut());
        }
        if !ArgumentRing::takes(size, align) {
            return Err(hipError_t::hipErrorInvalidValue);
        }
        if self.ring.is_none() {
            let memory = self.runtime.allocate_kernarg(&[self.agent], ArgumentRing::BYTES)?;
            // SAFETY: the memory was just allocated, with as many bytes, and is freed when the queue is gone.
            self.ring = Some(unsafe { ArgumentRing::new(memory.cast()) });
        }
        loop {
            let Some(ring) = &mut self.ring else { return Err(hipError_t::hipErrorUnknown) };
            match ring.take(size, align) {
                Room::At(address) => return Ok(address),
                Room::Never => return Err(hipError_t::hipErrorInvalidValue),
                Room::Next => {}
            }
            let value = Progress::value_after(ring.awaited());
            let fence = self.fence()?;
            let (runtime, signal) = (self.runtime, self.progress.signal());
            runtime.wait_less_and(signal, value, || {
                self.check_health();
                runtime.look_after_streams();
            });
            self.check()?;
            if let Some(ring) = &mut self.ring {
                ring.leave(fence);
            }
        }
    }

    /// Fails the queue if nothing can end the waits for it any more: a copy has ended with an error, which
    /// HSA reports only by a negative signal, or packets or signals were overwritten.
    pub(crate) fn check_health(&mut self) {
        if self.progress.fault().is_some() {
            return;
        }
        let copy_failed = self.kept.iter().any(|(_, kept)| match kept {
            Kept::Outside(Outside::Copy(signal)) => self.runtime.hsa.signal_load(signal.raw()) < 0,
            _ => false,
        });
        let report =
            if copy_failed { Some("a copy engine reported an error".to_owned()) } else { self.lost() };
        if let Some(report) = report {
            self.progress.fail(hipError_t::hipErrorLaunchFailure, report.into());
            self.progress.end_soon();
        }
    }

    /// What the queue has lost, if its waits can never end. Only this submitter writes packets, and only
    /// packets complete fences and markers. So whatever is outstanding while the queue is idle will never
    /// complete.
    fn lost(&self) -> Option<String> {
        let hsa = self.runtime.hsa;
        let missing = hsa.missing_packet(self.queue)?;
        if missing < self.packets.written() {
            return Some(format!("packet {missing} of the queue was overwritten before it was processed"));
        }
        let marker_lost = self.kept.iter().any(|(_, kept)| match kept {
            Kept::Marker(marker) => hsa.signal_load(marker.signal()) > 0,
            _ => false,
        });
        (marker_lost || self.progress.completed() < self.fences).then(|| {
            format!(
                "the queue has processed all of its {missing} packets, and a signal of them was overwritten"
            )
        })
    }

    /// Ends the markers of a failed queue, in order, up to the first unfinished work, which is returned: code
    /// that waits for a later marker may release the memory that this work uses. Points of other streams
    /// count only if the streams run parts of the same work, or if copies come after the points: ending the
    /// markers starts the copies.
    pub(crate) fn release_waiters(&mut self) -> Option<UnderWay> {
        let code = self.progress.fault()?;
        if let Some(running) = self.progress.still_running() {
            return Some(UnderWay::Kernels(running));
        }
        let hsa = self.runtime.hsa;
        let last_copy = self.kept.iter().rposition(|(_, kept)| match kept {
            Kept::Outside(Outside::Copy(signal)) => hsa.signal_load(signal.raw()) != 0,
            _ => false,
        });
        let mut unreached = Vec::new();
        for (index, (_, kept)) in self.kept.iter().enumerate() {
            match kept {
                Kept::Marker(marker) => marker.fail(self.runtime, code, &unreached),
                Kept::Outside(outside) => match (hsa.signal_load(outside.signal()), outside) {
                    (0, Outside::Foreign(marker)) if !marker.is_over(self.runtime) => {
                        unreached.push(marker.clone());
                    }
                    (0, _) => {}
                    (1.., Outside::Foreign(marker))
                        if last_copy.is_none_or(|last| last < index)
                            && !self.progress.shares_work_with(marker.point()) =>
                    {
                        unreached.push(marker.clone());
                    }
                    (1.., _) => return Some(UnderWay::Outside(outside.clone())),
                    // Copies behind a failed copy wait for 0.
                    (..0, _) => hsa.signal_store(outside.signal(), 0),
                },
                Kept::Staging(_) | Kept::Arguments(_) => {}
            }
        }
        None
    }

    /// The unreached points of other streams that the packets written so far should have waited for.
    pub(crate) fn unreached(&self) -> Vec<Arc<Marker>> {
        let foreign = self.kept.iter().filter_map(|(_, kept)| match kept {
            Kept::Outside(Outside::Foreign(marker)) => Some(marker),
            _ => None,
        });
        foreign.filter(|marker| !marker.is_done(self.runtime)).cloned().collect()
    }
}

impl Drop for Submitter {
    fn drop(&mut self) {
        if self.progress.fault().is_none() {
            // Code that drops a submitter has waited for it, unless something went wrong.
            if let Ok(fence) = self.fence() {
                let _ = self.progress.wait(self.runtime, fence);
            }
        }
        self.progress.set_queue(std::ptr::null_mut());
        // SAFETY: nothing submits any more: the caller is the only owner of the submitter.
        let status = unsafe { (self.runtime.hsa.table.hsa_queue_destroy)(self.queue) };
        let is_gone = status == hsa_status_t::HSA_STATUS_SUCCESS;
        if !is_gone {
            self.runtime.hsa.inactivate(self.queue);
        }
        self.progress.has_stopped();
        // Copies in progress use memory and signals until they end, even if the queue has failed.
        let code = self.progress.fault().unwrap_or(hipError_t::hipErrorContextIsDestroyed);
        for (_, kept) in &self.kept {
            match kept {
                Kept::Marker(marker) | Kept::Outside(Outside::Host(marker)) => {
                    marker.fail(self.runtime, code, &[])
                }
                Kept::Outside(Outside::Copy(end)) => {
                    self.runtime.wait_less(end.raw(), 1);
                    // Copies behind a failed copy wait for 0.
                    self.runtime.hsa.signal_store(end.raw(), 0);
                }
                Kept::Outside(Outside::Foreign(_)) | Kept::Staging(_) | Kept::Arguments(_) => {}
            }
        }
        if !is_gone {
            // It may still use its memory and signals, and call back.
            tracing::error!(?status, "a queue could not be destroyed; its memory and signals are leaked");
            std::mem::forget((std::mem::take(&mut self.kept), self.tail.take(), self.tail_copy.take()));
            std::mem::forget((self.hostcalls.take(), self.print_buffer.take()));
            return;
        }
        if shown::is_needed(self.runtime) {
            shown::forget(self.progress.submitter);
        }
        // SAFETY: the queue is gone, so that its callback cannot run any more.
        drop(unsafe { Arc::from_raw(self.callback_data) });
        if let Some(ring) = &self.ring {
            // SAFETY: the ring came from the kernarg pool and no kernel reads it any more.
            let _ = unsafe { self.runtime.hsa.free(ring.start().cast()) };
        }
    }
}
