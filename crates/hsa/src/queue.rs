//! Queues: packets for a GPU, and what comes of them.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use hsa_sys::*;

use crate::error::{Result, call, note};
use crate::{Agent, Allocation, Condition, Error, Kernel, Signal, WaitHint};

/// How many producers a queue has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
#[non_exhaustive]
pub enum QueueKind {
    /// Any number of threads.
    #[default]
    Multi,
    /// As [`QueueKind::Multi`], for kernels whose workgroups wait for each other.
    Cooperative,
}

/// A queue of an agent. Clones are the same queue; it is destroyed with the last one and its [`Completion`]s.
#[derive(Clone, Debug)]
pub struct Queue {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    agent: Agent,
    raw: *mut hsa_queue_t,
    state: Arc<State>,
}

/// What the queue's callback writes; it may run on another thread.
#[derive(Debug, Default)]
struct State {
    fault: OnceLock<hsa_status_t>,
    /// Held while a packet is written, so that slots become visible in order.
    producer: Mutex<()>,
    /// What packets used that the queue did not get to the end of. It goes when the queue has been destroyed: before, nobody says that
    /// the device has let go of it.
    unfinished: Mutex<Vec<Held>>,
}

// SAFETY: the queue is used through C functions that any thread may call, and its ring under the producers' lock.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

unsafe extern "C" fn failed(status: hsa_status_t, _queue: *mut hsa_queue_t, state: *mut c_void) {
    // SAFETY: `state` is the one that the queue was created with. It goes after the queue, or never if the queue cannot be destroyed.
    let state = unsafe { &*state.cast::<State>() };
    // The first fault ended the queue.
    let _ = state.fault.set(status);
}

impl Drop for Inner {
    fn drop(&mut self) {
        // SAFETY: the queue was made here and is destroyed once; nobody else holds it.
        let destroyed = unsafe { call!(self.agent.runtime().table(), hsa_queue_destroy(self.raw)) };
        if destroyed.is_err() {
            // The queue may still run and call back: what it uses is never freed.
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
    /// LDS in bytes that the kernel gets beside its own.
    pub dynamic_lds: u32,
    /// The arguments, in memory that the agent can access: of the kernel's
    /// [`kernarg_size`](Kernel::kernarg_size) bytes or more.
    pub kernarg: &'a Arc<Allocation>,
}

/// When something began and ended, in the runtime's ticks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Times {
    /// Begin.
    pub start: u64,
    /// End.
    pub end: u64,
}

/// The end of a packet or copy, which can be waited for. Holds everything that is in use until then; dropping it waits.
///
/// If the queue stops before that, what the packet uses is held until the queue is destroyed.
#[derive(Debug)]
#[must_use = "dropping a completion waits for it"]
pub struct Completion {
    signal: Signal,
    agent: Agent,
    queue: Option<Queue>,
    held: Held,
}

/// What must not go before the end.
#[derive(Debug, Default)]
#[expect(dead_code, reason = "memory and kernel are held, never looked at")]
pub(crate) struct Held {
    pub(crate) signals: Vec<Signal>,
    pub(crate) memory: Vec<Arc<Allocation>>,
    pub(crate) kernel: Option<Kernel>,
}

impl Queue {
    /// Makes a queue of `size` packets, a power of two. (`hsa_queue_create`)
    ///
    /// # Errors
    /// What the runtime says: a size that is none, or an agent that has no queues.
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
        // SAFETY: the callback gets the state, which `Inner` drops after it has destroyed the queue.
        unsafe {
            call!(
                table,
                hsa_queue_create(handle, size, kind.0, Some(failed), data, u32::MAX, u32::MAX, &mut raw)
            )
        }?;
        Ok(Queue { inner: Arc::new(Inner { agent: agent.clone(), raw, state }) })
    }

    /// The agent whose queue it is.
    pub fn agent(&self) -> &Agent {
        &self.inner.agent
    }

    /// The C queue, valid while a clone of this one exists.
    pub fn raw(&self) -> *mut hsa_queue_t {
        self.inner.raw
    }

    fn table(&self) -> &'static Table {
        self.inner.agent.runtime().table()
    }

    /// The error that ended the queue, if one has.
    pub fn fault(&self) -> Option<Error> {
        let status = *self.inner.state.fault.get()?;
        let report = self.table().ext.queue_fault_report.map_or_else(String::new, |report| {
            // SAFETY: the queue exists; a null buffer asks for the length, and the buffer has that length and one byte.
            unsafe {
                let length = report(self.raw(), std::ptr::null_mut(), 0);
                let mut buffer = vec![0u8; length + 1];
                report(self.raw(), buffer.as_mut_ptr().cast(), buffer.len());
                buffer.truncate(length);
                String::from_utf8_lossy(&buffer).into_owned()
            }
        });
        Some(Error::QueueFault { status, report })
    }

    /// Submits a packet that completes when all of the signals are 0 and everything before it has completed.
    ///
    /// # Errors
    /// The queue has stopped, there are more than five signals, or the runtime has no signal for the completion.
    #[doc(alias = "hsa_barrier_and_packet_t")]
    pub fn barrier(&self, after: &[&Signal]) -> Result<Completion> {
        self.barrier_packet(hsa_packet_type_t::HSA_PACKET_TYPE_BARRIER_AND, after)
    }

    /// Submits a packet that completes when any of the signals is 0 and everything before it has completed.
    ///
    /// # Errors
    /// The queue has stopped, there are more than five signals, or the runtime has no signal for the completion.
    #[doc(alias = "hsa_barrier_or_packet_t")]
    pub fn barrier_any(&self, after: &[&Signal]) -> Result<Completion> {
        self.barrier_packet(hsa_packet_type_t::HSA_PACKET_TYPE_BARRIER_OR, after)
    }

    fn barrier_packet(&self, kind: hsa_packet_type_t, after: &[&Signal]) -> Result<Completion> {
        if after.len() > 5 {
            return Err(Error::TooManyDependencies(after.len()));
        }
        let mut packet = hsa_barrier_and_packet_t::default();
        for (slot, signal) in packet.dep_signal.iter_mut().zip(after) {
            self.agent().runtime().is_same(signal.runtime())?;
            *slot = signal.raw();
        }
        let signals = after.iter().map(|&signal| signal.clone()).collect();
        let completion = self.completion(Held { signals, ..Held::default() })?;
        packet.completion_signal = completion.signal.raw();
        // SAFETY: the packet is a barrier, and the completion holds its signals.
        unsafe { self.submit(packet_header(kind), 0, packet) }?;
        Ok(completion)
    }

    /// Launches a kernel after everything before it in the queue.
    ///
    /// # Errors
    /// The queue has stopped, or sizes or arguments that no device takes.
    ///
    /// # Safety
    /// The arguments must be what the kernel expects, and the memory they point to must not be freed or accessed by anyone
    /// else in a way that races with the kernel, until it has completed.
    #[doc(alias = "hsa_kernel_dispatch_packet_t")]
    pub unsafe fn dispatch(&self, dispatch: &Dispatch<'_>) -> Result<Completion> {
        let kernel = dispatch.kernel;
        let bad = |what, sizes, reason| {
            Err(Error::BadDispatch { what, sizes, kernel: kernel.name().to_owned(), reason })
        };
        if dispatch.grid.contains(&0) {
            return bad("grid", dispatch.grid, "a size is zero");
        }
        let mut workgroup = [0u16; 3];
        for (narrow, &wide) in workgroup.iter_mut().zip(&dispatch.workgroup) {
            *narrow = match u16::try_from(wide) {
                Ok(0) => return bad("workgroup", dispatch.workgroup, "a size is zero"),
                Ok(narrow) => narrow,
                Err(_) => return bad("workgroup", dispatch.workgroup, "a size is more than 65535"),
            };
        }
        dispatch.kernarg.range(0, kernel.kernarg_size() as usize)?;
        self.agent().runtime().is_same(kernel.runtime())?;
        let held = Held {
            memory: vec![Arc::clone(dispatch.kernarg)],
            kernel: Some(kernel.clone()),
            ..Held::default()
        };
        let completion = self.completion(held)?;
        let packet = hsa_kernel_dispatch_packet_t {
            workgroup_size_x: workgroup[0],
            workgroup_size_y: workgroup[1],
            workgroup_size_z: workgroup[2],
            grid_size_x: dispatch.grid[0],
            grid_size_y: dispatch.grid[1],
            grid_size_z: dispatch.grid[2],
            private_segment_size: kernel.private_segment_size(),
            group_segment_size: kernel.group_segment_size().saturating_add(dispatch.dynamic_lds),
            kernel_object: kernel.object(),
            kernarg_address: dispatch.kernarg.as_ptr(),
            completion_signal: completion.signal.raw(),
            ..Default::default()
        };
        // SAFETY: the completion holds kernel, arguments and signal; the rest is the caller's promise.
        unsafe { self.submit(packet_header(hsa_packet_type_t::HSA_PACKET_TYPE_KERNEL_DISPATCH), 3, packet) }?;
        Ok(completion)
    }

    fn completion(&self, held: Held) -> Result<Completion> {
        let signal = Signal::new(self.agent().runtime(), 1)?;
        Ok(Completion { signal, agent: self.agent().clone(), queue: Some(self.clone()), held })
    }

    /// Writes a packet into the ring and rings the doorbell.
    ///
    /// # Safety
    /// The packet may be processed at any time from now on: what it names must exist until it has been.
    unsafe fn submit<T>(&self, header: u16, setup: u16, packet: T) -> Result<u64> {
        const { assert!(size_of::<T>() == 64) };
        let _producer = self.inner.state.producer.lock().unwrap_or_else(PoisonError::into_inner);
        let table = self.table();
        // SAFETY: the queue exists; size, address and doorbell do not change.
        let queue = unsafe { &*self.raw() };
        // SAFETY: the queue exists.
        let index = unsafe { (table.hsa_queue_load_write_index_relaxed)(self.raw()) };
        loop {
            if let Some(fault) = self.fault() {
                return Err(fault);
            }
            // SAFETY: the queue exists.
            let read = unsafe { (table.hsa_queue_load_read_index_scacquire)(self.raw()) };
            if index.wrapping_sub(read) < u64::from(queue.size) {
                break;
            }
            std::thread::yield_now();
        }
        let slot =
            queue.base_address.wrapping_byte_add((index % u64::from(queue.size)) as usize * 64).cast::<u8>();
        let first = u32::from(header) | u32::from(setup) << 16;
        // SAFETY: the slot is in the ring, and ours: the GPU is done with it, and other producers wait for the lock. The
        // header makes the packet visible, so it is written last and as one.
        unsafe {
            std::ptr::copy_nonoverlapping((&raw const packet).cast::<u8>().add(4), slot.add(4), 60);
            (table.hsa_queue_store_write_index_screlease)(self.raw(), index + 1);
            AtomicU32::from_ptr(slot.cast()).store(first, Ordering::Release);
            (table.hsa_signal_store_screlease)(queue.doorbell_signal, index as i64);
        }
        Ok(index)
    }
}

/// The header of a packet that waits for those before it and whose memory is coherent with everyone's.
fn packet_header(kind: hsa_packet_type_t) -> u16 {
    const BARRIER: u32 = 1 << 8;
    const SYSTEM_SCOPE: u32 = 2 << 9 | 2 << 11;
    (kind.0 | BARRIER | SYSTEM_SCOPE) as u16
}

impl Completion {
    pub(crate) fn of_copy(signal: Signal, agent: Agent, held: Held) -> Completion {
        Completion { signal, agent, queue: None, held }
    }

    /// The signal: 1 until the end, then 0; less if a copy failed. Others may wait for it.
    pub fn signal(&self) -> &Signal {
        &self.signal
    }

    /// Whether the end has come.
    pub fn is_done(&self) -> bool {
        self.signal.load() < 1
    }

    /// Waits for the end.
    ///
    /// # Errors
    /// [`Error::QueueFault`] if the queue stopped before, or [`Error::Status`] if a copy failed.
    pub fn wait(&self) -> Result<()> {
        loop {
            // A queue that stops leaves the signals of its packets as they are, so it is asked now and then.
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

    /// When it began and ended; call it after the end. Queues record times if their implementation does so always, or after
    /// `hsa_amd_profiling_set_profiler_enabled`.
    ///
    /// # Errors
    /// What the runtime says, for example that it has not ended.
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
        // A copy whose wait has returned has ended, with whatever result. A queue that has stopped may have left its packet halfway.
        if let Some(queue) = &self.queue
            && !self.is_done()
        {
            let mut held = std::mem::take(&mut self.held);
            held.signals.push(self.signal.clone());
            queue.inner.state.unfinished.lock().unwrap_or_else(PoisonError::into_inner).push(held);
        }
    }
}
