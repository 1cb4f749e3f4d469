//! Queues: packets for a GPU, and their completion.

use std::ffi::c_void;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use hsa_sys::*;

use crate::error::{Named, Result, call, note};
use crate::raw::{self, Calls, Packet, PacketRing, SCOPE_SYSTEM};
use crate::{Agent, Allocation, Condition, Error, Kernel, Signal, WaitHint};

/// What a queue is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
#[non_exhaustive]
pub enum QueueKind {
    /// Any number of threads.
    #[default]
    Multi,
    /// As [`QueueKind::Multi`], for kernels whose workgroups wait for each other.
    Cooperative,
}

/// A queue of an agent. Clones are the same queue. It is destroyed once the last clone and its
/// [`Completion`]s are dropped.
#[derive(Clone, Debug)]
pub struct Queue {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    agent: Agent,
    raw: *mut hsa_queue_t,
    /// Locked while a packet is written, so that slots become visible in order.
    ring: Mutex<PacketRing>,
    state: Arc<State>,
}

/// Written by the queue's callback, which may run on another thread.
#[derive(Debug, Default)]
struct State {
    fault: OnceLock<hsa_status_t>,
    /// Resources of packets that the queue did not complete. They are released after the queue is destroyed,
    /// because before that the device may still use them.
    unfinished: Mutex<Vec<Held>>,
}

// SAFETY: the queue is used through C functions that any thread may call, and its ring only under the
// producers' lock.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

unsafe extern "C" fn failed(status: hsa_status_t, _queue: *mut hsa_queue_t, state: *mut c_void) {
    // SAFETY: `state` is the one that the queue was created with. It is freed after the queue, or never if
    // the queue cannot be destroyed.
    let state = unsafe { &*state.cast::<State>() };
    // Only the first fault counts: it ended the queue.
    let _ = state.fault.set(status);
}

impl Drop for Inner {
    fn drop(&mut self) {
        // SAFETY: the queue was made here and is destroyed once; nothing else holds it.
        let destroyed = unsafe { call!(self.agent.runtime().table(), hsa_queue_destroy(self.raw)) };
        if destroyed.is_err() {
            // The queue may still run and call back, so its state is never freed.
            std::mem::forget(Arc::clone(&self.state));
        }
        note(destroyed);
    }
}

/// A kernel to launch.
#[derive(Clone, Debug)]
pub struct Dispatch<'a> {
    /// The kernel.
    pub kernel: &'a Kernel,
    /// Work-items per dimension.
    pub grid: [u32; 3],
    /// Work-items of a workgroup per dimension.
    pub workgroup: [u32; 3],
    /// LDS that the kernel gets besides its own, bytes.
    pub dynamic_lds: u32,
    /// The arguments, in memory that the agent can access. At least the kernel's
    /// [`kernarg_size`](Kernel::kernarg_size) bytes.
    pub kernarg: &'a Arc<Allocation>,
}

/// The times at which something began and ended, in the runtime's ticks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Times {
    /// Begin.
    pub start: u64,
    /// End.
    pub end: u64,
}

/// A pending packet or copy, which can be waited for. It holds everything that the work uses; dropping it
/// waits.
///
/// If the queue stops first, the packet's resources are held until the queue is destroyed.
#[derive(Debug)]
#[must_use = "dropping a completion waits for it"]
pub struct Completion {
    signal: Signal,
    agent: Agent,
    queue: Option<Queue>,
    held: Held,
}

/// Resources that must live until the end of the work.
#[derive(Debug, Default)]
#[expect(dead_code, reason = "memory and kernel are held, never looked at")]
pub(crate) struct Held {
    pub(crate) signals: Vec<Signal>,
    pub(crate) memory: Vec<Arc<Allocation>>,
    pub(crate) kernel: Option<Kernel>,
}

impl Queue {
    /// Makes a queue of `size` packets, a power of two (`hsa_queue_create`).
    ///
    /// # Errors
    /// The runtime's error: the size is invalid, or the agent has no queues.
    #[doc(alias = "hsa_queue_create")]
    pub fn new(agent: &Agent, size: u32, kind: QueueKind) -> Result<Queue> {
        let state: Arc<State> = Arc::default();
        let data = Arc::as_ptr(&state).cast_mut().cast();
        let kind = match kind {
            QueueKind::Multi => hsa_queue_type_t::HSA_QUEUE_TYPE_MULTI,
            QueueKind::Cooperative => hsa_queue_type_t::HSA_QUEUE_TYPE_COOPERATIVE,
        };
        let mut raw = std::ptr::null_mut();
        let (table, handle) = (agent.runtime().table(), agent.raw());
        // SAFETY: the callback gets the state, which `Inner` drops after destroying the queue.
        unsafe {
            call!(
                table,
                hsa_queue_create(handle, size, kind.0, Some(failed), data, u32::MAX, u32::MAX, &mut raw)
            )
        }?;
        // SAFETY: the queue was just made and lives as long as its ring, and only this object writes packets
        // to it.
        match unsafe { PacketRing::of(table, raw) } {
            Some(ring) => {
                let ring = Mutex::new(ring);
                Ok(Queue { inner: Arc::new(Inner { agent: agent.clone(), raw, ring, state }) })
            }
            None => {
                // The invalid queue may still call back.
                std::mem::forget(state);
                Err(Error::Status {
                    operation: "hsa_queue_create",
                    status: hsa_status_t::HSA_STATUS_ERROR_INVALID_QUEUE,
                    text: "success without a queue".to_owned(),
                })
            }
        }
    }

    /// The agent of the queue.
    pub fn agent(&self) -> &Agent {
        &self.inner.agent
    }

    /// The C queue, valid while a clone of this one exists.
    pub fn raw(&self) -> *mut hsa_queue_t {
        self.inner.raw
    }

    fn calls(&self) -> Calls<Named> {
        self.inner.agent.runtime().calls()
    }

    /// The error that ended the queue, if any.
    pub fn fault(&self) -> Option<Error> {
        let status = *self.inner.state.fault.get()?;
        let report = self.calls().fault_report(self.raw()).unwrap_or_default();
        Some(Error::QueueFault { status, report })
    }

    /// Submits a packet that completes when all of the signals are 0 and everything before it has completed.
    ///
    /// # Errors
    /// The queue has stopped, there are more than five signals, or the runtime cannot make a signal for the
    /// completion.
    #[doc(alias = "hsa_barrier_and_packet_t")]
    pub fn barrier(&self, after: &[&Signal]) -> Result<Completion> {
        self.barrier_packet(after, raw::barrier_packet)
    }

    /// Submits a packet that completes when any of the signals is 0 and everything before it has completed.
    ///
    /// # Errors
    /// The queue has stopped, there are more than five signals, or the runtime cannot make a signal for the
    /// completion.
    #[doc(alias = "hsa_barrier_or_packet_t")]
    pub fn barrier_any(&self, after: &[&Signal]) -> Result<Completion> {
        self.barrier_packet(after, raw::barrier_any_packet)
    }

    fn barrier_packet(
        &self,
        after: &[&Signal],
        packet: fn(&[hsa_signal_t], hsa_signal_t, u32) -> Packet,
    ) -> Result<Completion> {
        if after.len() > 5 {
            return Err(Error::TooManyDependencies(after.len()));
        }
        for signal in after {
            self.agent().runtime().is_same(signal.runtime())?;
        }
        let handles: Vec<hsa_signal_t> = after.iter().map(|signal| signal.raw()).collect();
        let signals = after.iter().map(|&signal| signal.clone()).collect();
        let completion = self.completion(Held { signals, ..Held::default() })?;
        // SAFETY: the packet is a barrier, and the completion holds its signals.
        unsafe { self.submit(packet(&handles, completion.signal.raw(), SCOPE_SYSTEM)) }?;
        Ok(completion)
    }

    /// Launches a kernel after everything before it in the queue.
    ///
    /// # Errors
    /// The queue has stopped, or no device accepts the sizes or arguments.
    ///
    /// # Safety
    /// The arguments must match the kernel. Until it has completed, nothing may free the memory that they
    /// point to, or access it in a way that races with the kernel.
    #[doc(alias = "hsa_kernel_dispatch_packet_t")]
    pub unsafe fn dispatch(&self, dispatch: &Dispatch<'_>) -> Result<Completion> {
        let kernel = dispatch.kernel;
        let bad = |what, sizes, reason| {
            Err(Error::BadDispatch { what, sizes, kernel: kernel.name().to_owned(), reason })
        };
        if dispatch.grid.contains(&0) {
            return bad("grid", dispatch.grid, "a size is zero");
        }
        if dispatch.workgroup.contains(&0) {
            return bad("workgroup", dispatch.workgroup, "a size is zero");
        }
        if dispatch.workgroup.iter().any(|&size| size > u16::MAX.into()) {
            return bad("workgroup", dispatch.workgroup, "a size is more than 65535");
        }
        dispatch.kernarg.range(0, kernel.kernarg_size() as usize)?;
        self.agent().runtime().is_same(kernel.runtime())?;
        let held = Held {
            memory: vec![Arc::clone(dispatch.kernarg)],
            kernel: Some(kernel.clone()),
            ..Held::default()
        };
        let completion = self.completion(held)?;
        let shape = raw::Dispatch {
            grid: dispatch.grid,
            block: dispatch.workgroup,
            private: kernel.private_segment_size(),
            group: kernel.group_segment_size().saturating_add(dispatch.dynamic_lds),
            kernel: kernel.object(),
        };
        let arguments = dispatch.kernarg.as_ptr() as u64;
        let packet = raw::completing_packet(&shape, arguments, completion.signal.raw());
        // SAFETY: the completion holds kernel, arguments and signal; the caller vouches for the rest.
        unsafe { self.submit(packet) }?;
        Ok(completion)
    }

    fn completion(&self, held: Held) -> Result<Completion> {
        let signal = Signal::new(self.agent().runtime(), 1)?;
        Ok(Completion { signal, agent: self.agent().clone(), queue: Some(self.clone()), held })
    }

    /// Writes a packet into the ring and rings the doorbell.
    ///
    /// # Safety
    /// The packet may be processed at any time from now on. Everything that it names must exist until then.
    unsafe fn submit(&self, packet: Packet) -> Result<()> {
        let mut ring = self.inner.ring.lock().unwrap_or_else(PoisonError::into_inner);
        let fault = || self.fault().map_or(Ok(()), Err);
        fault()?;
        let slot = ring.reserve(1);
        while !ring.has_room(slot, 1) {
            // A stopped queue accepts no more packets: the slot stays empty for ever.
            fault()?;
            std::thread::yield_now();
        }
        // SAFETY: the slot was just reserved and has room; the caller vouches for what the packet names.
        unsafe { ring.write(slot, &[packet]) };
        Ok(())
    }
}

impl Completion {
    pub(crate) fn of_copy(signal: Signal, agent: Agent, held: Held) -> Completion {
        Completion { signal, agent, queue: None, held }
    }

    /// The signal: 1 until the end, then 0, or negative if a copy failed. Other packets and copies can wait
    /// for it.
    pub fn signal(&self) -> &Signal {
        &self.signal
    }

    /// Whether the work has ended.
    pub fn is_done(&self) -> bool {
        self.signal.load() < 1
    }

    /// Waits for the end of the work.
    ///
    /// # Errors
    /// [`Error::QueueFault`] if the queue stopped first, or [`Error::Status`] if a copy failed.
    pub fn wait(&self) -> Result<()> {
        loop {
            // A stopping queue does not change the signals of its packets, so check the queue regularly.
            let timeout = self.queue.as_ref().map(|_| Duration::from_millis(10));
            match self.signal.wait(Condition::Less(1), timeout, WaitHint::Blocked) {
                Some(0) => return Ok(()),
                Some(_) => {
                    return Err(Error::Status {
                        operation: "hsa_amd_memory_async_copy",
                        status: hsa_status_t::HSA_STATUS_ERROR,
                        text: "the copy failed".to_owned(),
                    });
                }
                None => {
                    if let Some(fault) = self.queue.as_ref().and_then(Queue::fault) {
                        return if self.is_done() { Ok(()) } else { Err(fault) };
                    }
                }
            }
        }
    }

    /// When the work began and ended; call it after the end. Some implementations always record times of
    /// packets, others only after `hsa_amd_profiling_set_profiler_enabled`.
    ///
    /// # Errors
    /// The runtime's error, for example that the work has not ended.
    pub fn times(&self) -> Result<Times> {
        let (table, signal) = (self.agent.runtime().table(), self.signal.raw());
        if self.queue.is_some() {
            let mut time = hsa_amd_profiling_dispatch_time_t::default();
            let agent = self.agent.raw();
            // SAFETY: agent and signal exist, the out pointer is valid.
            unsafe { call!(table, hsa_amd_profiling_get_dispatch_time(agent, signal, &mut time)) }?;
            Ok(Times { start: time.start, end: time.end })
        } else {
            let mut time = hsa_amd_profiling_async_copy_time_t::default();
            // SAFETY: the signal exists, the out pointer is valid.
            unsafe { call!(table, hsa_amd_profiling_get_async_copy_time(signal, &mut time)) }?;
            Ok(Times { start: time.start, end: time.end })
        }
    }
}

impl Drop for Completion {
    fn drop(&mut self) {
        if self.is_done() {
            return;
        }
        note(self.wait());
        // After a wait, a copy has ended with some result. A stopped queue, however, may have left its packet
        // unfinished.
        if let Some(queue) = &self.queue
            && !self.is_done()
        {
            let mut held = std::mem::take(&mut self.held);
            held.signals.push(self.signal.clone());
            queue.inner.state.unfinished.lock().unwrap_or_else(PoisonError::into_inner).push(held);
        }
    }
}
