//! One HSA queue: its packets, its epoch, and what happens when it fails.
//!
//! A submission ends with a *fence*: its last packet decrements the queue's one epoch signal. So a number
//! says how far the queue is, and another queue waits for a submission with one packet, or with none if it
//! has passed. If a queue fails, every queue that has a packet waiting for it is stopped first, because the
//! signal's last value lets all packets pass; then the semaphores that these queues promised fail.

use std::collections::VecDeque;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use hsa::raw::{PacketRing, ProgressSignal, SCOPE_SYSTEM, barrier_less_packet};
use hsa::{Agent, Runtime};
use hsa_sys::*;

use crate::block::Submission;
use crate::dependants::Dependants;
use crate::error::{Calls, Codes, Error, Result};
use crate::events;
use crate::memory::mirror::Arguments;
use crate::profile::{Described, Watch};
use crate::semaphore::Shared;

/// Above this number of submissions in flight, resources of finished ones are released.
const MANY: usize = 64;

/// A queue.
pub(crate) struct Core {
    /// Unique in the process.
    number: u64,
    calls: Calls,
    queue: *mut hsa_queue_t,
    link: *const Link,
    writer: Mutex<Writer>,
    epoch: Option<ProgressSignal<Codes>>,
    /// HSA has stopped it, and may be waiting for its callback.
    has_stopped: AtomicBool,
    /// The failure, and the fences that had completed before it.
    failure: OnceLock<(Error, u64)>,
    /// Packets of other queues that wait for this one.
    awaited_by: Mutex<Vec<Awaiting>>,
    /// Semaphores that this queue will signal.
    promised: Mutex<Vec<Weak<Shared>>>,
    /// Where its submissions have their arguments.
    pub(crate) arguments: Arguments,
    /// Its slots.
    pub(crate) capacity: u64,
    /// What stays as long as the queue.
    for_ever: Mutex<Vec<Kept>>,
    /// What ends with it besides.
    pub(crate) dependants: Dependants,
    /// Its part in the profile, if there is one.
    watch: Option<Watch>,
    /// Ends the runtime after everything else.
    runtime: Runtime,
}

// SAFETY: the queue is used through C functions that any thread may call, and its ring under a lock.
unsafe impl Send for Core {}
// SAFETY: as above.
unsafe impl Sync for Core {}

impl std::fmt::Debug for Core {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "queue {}", self.number)
    }
}

/// What the queue's callback gets.
#[derive(Debug, Default)]
struct Link(OnceLock<Weak<Core>>);

struct Writer {
    ring: PacketRing,
    fences: u64,
    /// What submissions use, until their fence has completed.
    kept: VecDeque<(u64, Kept)>,
}

/// Resources of a submission.
pub(crate) type Kept = Box<dyn Send + Sync>;

struct Awaiting {
    /// The fence of this queue that is waited for.
    fence: u64,
    by: Weak<Core>,
    /// The submission of the other queue that waits.
    its_fence: u64,
}

/// The end of a submission.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    core: Arc<Core>,
    fence: u64,
}

/// Whether a submission has ended.
pub(crate) enum PointState {
    /// Not yet.
    Pending,
    /// Yes.
    Done,
    /// Never: its queue has stopped.
    Failed(Error),
}

unsafe extern "C" fn on_error(status: hsa_status_t, queue: *mut hsa_queue_t, link: *mut c_void) {
    // SAFETY: the link lives until the queue is destroyed.
    let link = unsafe { &*link.cast::<Link>() };
    let Some(core) = link.0.get().and_then(Weak::upgrade) else { return };
    let report = core.calls.fault_report(queue).unwrap_or_else(|| format!("{status:?}"));
    core.has_stopped.store(true, Ordering::Release);
    core.fail(Error::QueueLost { queue: core.number, report: report.into() });
    events::let_go(core);
}

impl Core {
    /// Makes a queue of `packets` slots, a power of two. `watch` gives the part of a queue with a number in a
    /// profile.
    pub(crate) fn new(
        agent: &Agent,
        packets: u32,
        watch: impl FnOnce(u64) -> Option<Watch>,
    ) -> Result<Arc<Self>> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let runtime = agent.runtime().clone();
        // SAFETY: the runtime is initialised as long as this object exists, and signals and queues are its
        // own.
        let calls = unsafe { Calls::new(runtime.table()) };
        let epoch = ProgressSignal::new(calls)?;
        let link = Arc::into_raw(Arc::new(Link::default()));
        let mut queue: *mut hsa_queue_t = std::ptr::null_mut();
        // SAFETY: the callback's data lives until the queue is destroyed; the out pointer is valid.
        let status = unsafe {
            (calls.table.hsa_queue_create)(
                agent.raw(),
                packets,
                hsa_queue_type_t::HSA_QUEUE_TYPE_MULTI.0,
                Some(on_error),
                link.cast_mut().cast(),
                u32::MAX,
                u32::MAX,
                &mut queue,
            )
        };
        // SAFETY: the queue was just made, if it was, and only this object writes to it.
        let ring = unsafe { PacketRing::of(calls.table, queue) };
        let (true, Some(ring)) = (hsa::raw::is_success(status), ring) else {
            // An invalid queue may still call back, so the link stays for ever, which is a few bytes.
            return Err(Error::Status { operation: "hsa_queue_create", status });
        };
        let core = Arc::new(Self {
            capacity: ring.capacity(),
            number,
            calls,
            queue,
            link,
            writer: Mutex::new(Writer { ring, fences: 0, kept: VecDeque::new() }),
            epoch: Some(epoch),
            has_stopped: AtomicBool::new(false),
            failure: OnceLock::new(),
            awaited_by: Mutex::default(),
            promised: Mutex::default(),
            arguments: Arguments::default(),
            for_ever: Mutex::default(),
            dependants: Dependants::default(),
            watch: watch(number),
            runtime,
        });
        // SAFETY: the link was just made.
        let _ = unsafe { &*link }.0.set(Arc::downgrade(&core));
        if let Some(watch) = &core.watch {
            // SAFETY: the queue is live. If it is refused, the profile has no times, which it says.
            let _ = unsafe { (calls.table.hsa_amd_profiling_set_profiler_enabled)(queue, 1) };
            watch.begin(queue);
        }
        Ok(core)
    }

    /// The number of the queue, unique in the process.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// HSA's queue, which lives as long as this object.
    pub(crate) fn raw(&self) -> *mut hsa_queue_t {
        self.queue
    }

    /// Whether both queues are of one HSA implementation, so that packets of one may name signals of the
    /// other.
    pub(crate) fn knows(&self, other: &Self) -> bool {
        std::ptr::eq(self.calls.table, other.calls.table)
    }

    /// Keeps something as long as the queue.
    pub(crate) fn keep(&self, kept: Kept) {
        self.for_ever.lock().unwrap_or_else(PoisonError::into_inner).push(kept);
    }

    /// Writes the first packets, after which somebody else writes to the queue.
    ///
    /// # Safety
    /// Everything that the packets name is valid as long as the queue.
    pub(crate) unsafe fn begin(&self, packets: &[hsa::raw::Packet]) {
        let ring = &mut self.writer().ring;
        let first = ring.reserve(packets.len() as u64);
        // SAFETY: the slots are reserved, and the queue is empty; the caller vouches for the packets.
        unsafe { ring.write(first, packets) };
    }

    /// The failure, if the queue has stopped.
    pub(crate) fn failure(&self) -> Option<Error> {
        self.failure.get().map(|(error, _)| error.clone())
    }

    fn epoch(&self) -> &ProgressSignal<Codes> {
        self.epoch.as_ref().unwrap_or_else(|| unreachable!("the epoch ends with the queue"))
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Submits packets behind those of other queues, which it [knows](Self::knows).
    ///
    /// # Errors
    /// The queue has stopped, or one that it would wait for. If it stops while its ring is full, a part of
    /// the packets is written; `kept` then stays as long as the queue.
    ///
    /// # Safety
    /// Everything that the packets name is valid until they have been processed; `kept` holds it.
    pub(crate) unsafe fn submit(
        self: &Arc<Self>,
        after: &[Point],
        mut submission: Submission<'_>,
        described: Option<&Arc<[Described]>>,
        kept: Kept,
    ) -> Result<Point> {
        let _shown = timeline::Span::enter("hal", "submit");
        let span = tracing::trace_span!(
            target: "hal::submission",
            "submit",
            queue = self.number,
            submission = tracing::field::Empty,
            packets = tracing::field::Empty,
        )
        .entered();
        let mut writer = self.writer();
        if let Some(error) = self.failure() {
            return Err(error);
        }
        let fence = writer.fences + 1;
        let running = match &self.watch {
            Some(watch) => Some((watch, watch.prepare(fence, described)?)),
            None => None,
        };
        let mut foreign: Vec<&Point> = Vec::new();
        for point in after.iter().filter(|point| !Arc::ptr_eq(&point.core, self)) {
            match point.state() {
                PointState::Done => continue,
                PointState::Failed(error) => return Err(error),
                PointState::Pending => {}
            }
            match foreign.iter_mut().find(|known| Arc::ptr_eq(&known.core, &point.core)) {
                Some(known) if known.fence >= point.fence => {}
                Some(known) => *known = point,
                None => foreign.push(point),
            }
        }
        for point in &foreign {
            assert!(self.knows(&point.core), "HSA has no other implementation's signals");
            let value = ProgressSignal::<Codes>::value_after(point.fence);
            submission.add_before(barrier_less_packet(point.core.epoch().raw(), value));
            point.core.awaited_by().push(Awaiting {
                fence: point.fence,
                by: Arc::downgrade(self),
                its_fence: fence,
            });
        }
        submission.acquire(SCOPE_SYSTEM);
        if let Some((_, running)) = &running {
            running.mark(&mut submission);
        }
        submission.complete(self.epoch().raw());
        span.record("submission", fence).record("packets", submission.count());
        // If the queue stops before all packets are written, it may still use what the others name.
        writer.fences = fence;
        writer.kept.push_back((fence, kept));
        // SAFETY: the caller vouches for what the packets name; the lock is held until all are written.
        let mut writing = unsafe { submission.begin(&mut writer.ring) };
        let is_due = running.is_some_and(|(watch, running)| watch.submitted(running, writing.first()));
        while !writing.advance(&mut writer.ring) {
            // A stopped queue takes no more packets: the slots stay empty for ever.
            if let Some(error) = self.failure() {
                return Err(error);
            }
            std::thread::yield_now();
        }
        let done = if writer.kept.len() > MANY { self.finished(&mut writer) } else { Vec::new() };
        drop(writer);
        // Without the lock, as releasing memory may take long.
        if is_due || !done.is_empty() {
            self.collect();
        }
        drop(done);
        for point in &foreign {
            // It may have failed before it knew that this queue waits.
            if let PointState::Failed(error) = point.state() {
                self.fail(error);
            }
        }
        Ok(Point { core: self.clone(), fence })
    }

    /// Takes what has ended over into the profile.
    pub(crate) fn collect(&self) {
        if let Some(watch) = &self.watch {
            // In this order: a queue that fails first records what it had completed.
            let completed = self.epoch().completed();
            match self.failure.get() {
                Some((_, before)) => watch.collect(self.queue, *before, true),
                None => watch.collect(self.queue, completed, false),
            }
        }
    }

    /// The resources of submissions that have ended.
    fn finished(&self, writer: &mut Writer) -> Vec<Kept> {
        let mut done = Vec::new();
        let completed = match self.failure.get() {
            // The device may still use what a stopped queue had.
            Some((_, completed)) => *completed,
            None => self.epoch().completed(),
        };
        while writer.kept.front().is_some_and(|(fence, _)| *fence <= completed) {
            done.extend(writer.kept.pop_front().map(|(_, kept)| kept));
        }
        done
    }

    /// Releases the resources of submissions that have ended.
    pub(crate) fn release_finished(&self) {
        let mut writer = self.writer();
        let done = self.finished(&mut writer);
        drop(writer);
        drop(done);
        self.collect();
    }

    fn awaited_by(&self) -> MutexGuard<'_, Vec<Awaiting>> {
        let mut list = self.awaited_by.lock().unwrap_or_else(PoisonError::into_inner);
        if list.len() > MANY {
            let completed = self.epoch().completed();
            list.retain(|awaiting| awaiting.fence > completed);
        }
        list
    }

    /// Remembers a semaphore that work of this queue will signal.
    pub(crate) fn has_promised(&self, semaphore: &Arc<Shared>) {
        let mut promised = self.promised.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = |known: &Weak<Shared>| std::ptr::eq(known.as_ptr(), Arc::as_ptr(semaphore));
        if !promised.iter().any(is_known) {
            promised.retain(|known| known.strong_count() != 0);
            promised.push(Arc::downgrade(semaphore));
        }
        drop(promised);
        if self.failure.get().is_some() {
            semaphore.poll();
        }
    }

    /// Stops the queue, unless it already has, and everything that waits for it.
    pub(crate) fn fail(&self, error: Error) {
        let mut others: Vec<Arc<Self>> = Vec::new();
        if !self.stop(&error, &mut others) {
            return;
        }
        let all = || std::iter::once(self).chain(others.iter().map(|core| &**core));
        // All queues are stopped, so nobody passes a packet that waits for one of them.
        for core in all() {
            core.epoch().fail();
        }
        for core in all() {
            let promised = std::mem::take(&mut *core.promised.lock().unwrap_or_else(PoisonError::into_inner));
            Self::fail_promised(promised);
            core.dependants.fail(&error);
        }
        // This may be HSA's own thread, which must not destroy a queue.
        others.into_iter().for_each(events::let_go);
    }

    /// Stops the queue and those whose packets wait for it, which it adds to a list. Returns false if it has
    /// stopped before.
    fn stop(&self, error: &Error, others: &mut Vec<Arc<Self>>) -> bool {
        if !self.has_stopped.load(Ordering::Acquire) {
            self.calls.inactivate(self.queue);
        }
        let completed = self.epoch().completed();
        if self.failure.set((error.clone(), completed)).is_err() {
            return false;
        }
        let awaiting = std::mem::take(&mut *self.awaited_by());
        for awaiting in awaiting.into_iter().filter(|awaiting| awaiting.fence > completed) {
            let Some(other) = awaiting.by.upgrade() else { continue };
            let is_behind = other.epoch().completed() < awaiting.its_fence;
            if is_behind && other.failure.get().is_none() && other.stop(error, others) {
                others.push(other);
            } else {
                events::let_go(other);
            }
        }
        true
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        let fences = self.writer().fences;
        let value = ProgressSignal::<Codes>::value_after(fences);
        if fences != 0 && self.failure.get().is_none() {
            self.calls.signal_wait_less(self.epoch().raw(), value, u64::MAX, false);
        }
        self.collect();
        // SAFETY: the queue was made here and is destroyed once; all of its work has ended, or it was
        // stopped.
        let status = unsafe { (self.calls.table.hsa_queue_destroy)(self.queue) };
        if hsa::raw::is_success(status) {
            // SAFETY: the queue, which alone used the reference, is gone.
            drop(unsafe { Arc::from_raw(self.link) });
        } else {
            // The queue may still run: its epoch and what its packets name stay for ever.
            tracing::error!(?status, "a queue could not be destroyed");
            std::mem::forget(self.epoch.take());
            if let Some(watch) = &self.watch {
                watch.forget();
            }
            std::mem::forget(std::mem::take(&mut self.writer().kept));
            std::mem::forget(std::mem::take(
                &mut *self.for_ever.lock().unwrap_or_else(PoisonError::into_inner),
            ));
            std::mem::forget(self.runtime.clone());
        }
    }
}

impl Point {
    /// Its queue.
    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    /// The signal that is less than a value once it is reached, and not negative as long as its queue lives.
    pub(crate) fn signal(&self) -> (hsa_signal_t, i64) {
        (self.core.epoch().raw(), ProgressSignal::<Codes>::value_after(self.fence))
    }

    /// Whether it is reached.
    pub(crate) fn state(&self) -> PointState {
        // In this order: a queue that fails first records what it had completed.
        let completed = self.core.epoch().completed();
        match self.core.failure.get() {
            Some((_, before)) if self.fence <= *before => PointState::Done,
            Some((error, _)) => PointState::Failed(error.clone()),
            None if self.fence <= completed => PointState::Done,
            None => PointState::Pending,
        }
    }

    /// Waits until it is reached, its queue fails, or the time has passed.
    pub(crate) fn wait(&self, limit: Duration) {
        let frequency = self.core.calls.timestamp_frequency().max(1);
        let ticks = (limit.as_nanos() * u128::from(frequency) / 1_000_000_000) as u64;
        let value = ProgressSignal::<Codes>::value_after(self.fence);
        self.core.calls.signal_wait_less(self.core.epoch().raw(), value, ticks, false);
    }

    /// Has a semaphore looked at once the point is reached or its queue has failed.
    pub(crate) fn notify(&self, semaphore: Weak<Shared>) -> Result<()> {
        let value = ProgressSignal::<Codes>::value_after(self.fence);
        // The handler holds the queue, whose epoch is the signal, and lets go of it on the other thread.
        let core = self.core.clone();
        let work = move || events::look(semaphore, core);
        self.core.calls.when_less(self.core.epoch().raw(), value, Box::new(work))
    }
}
