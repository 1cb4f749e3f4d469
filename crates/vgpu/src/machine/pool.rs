//! The threads that run workgroups.
//!
//! The thread that dispatches a kernel runs workgroups itself. Helpers join only if the remaining work is
//! worth waking them, so a small kernel costs no thread switch.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::dispatch::now_ns;
use super::group::{Group, Turn};
use super::launch::Launch;
use super::memory::{Memory, MemoryError, Reader};
use gpu_report::Fault;

/// The amount of remaining work that justifies waking helpers.
const WORTH_WAKING: Duration = Duration::from_micros(20);
/// After all workgroups of a thread have waited this long, it may start more than its share.
const STUCK: Duration = Duration::from_micros(500);
/// The maximum number of threads that run workgroups.
pub(super) const MAX_THREADS: usize = 1024;
/// How many workgroups run between two looks at the clock while helpers sleep.
const LOOK_EVERY: u64 = 4;
/// How often the dispatching thread looks up while it waits for helpers.
const LAST: Duration = Duration::from_millis(1);

/// The time since then.
fn since(then_ns: u64) -> Duration {
    Duration::from_nanos(now_ns().saturating_sub(then_ns))
}

/// A dispatch in progress.
pub(super) struct Job {
    launch: Launch,
    /// The number of threads that may work on it, including the dispatching one.
    threads: usize,
    total: u64,
    chunk: u64,
    next: AtomicU64,
    /// The number of further workgroups that may run at once, beyond those that threads have claimed.
    unclaimed: AtomicU64,
    stop: AtomicBool,
    /// Set by the caller to end the dispatch early.
    abort: Option<Arc<AtomicBool>>,
    deadline: Option<(Instant, Duration)>,
    /// When it began.
    start_ns: u64,
    outcome: Mutex<Outcome>,
    left: Condvar,
}

#[derive(Default)]
struct Outcome {
    helpers: usize,
    fault: Option<Box<Fault>>,
    error: Option<MemoryError>,
}

impl Job {
    pub(super) fn new(
        launch: Launch,
        threads: usize,
        deadline: Option<(Instant, Duration)>,
        abort: Option<Arc<AtomicBool>>,
        start_ns: u64,
    ) -> Self {
        let total = launch.workgroups();
        // Each thread runs one workgroup at a time.
        let threads = threads.min(launch.resident as usize).max(1);
        // Small enough that threads finish together, large enough that they rarely contend for the counter.
        let chunk = (total / (threads as u64 * 16)).clamp(1, 64);
        Job {
            threads,
            total,
            chunk,
            next: AtomicU64::new(0),
            unclaimed: AtomicU64::new(u64::from(launch.resident.max(1))),
            stop: AtomicBool::new(false),
            abort,
            deadline,
            start_ns,
            outcome: Mutex::default(),
            left: Condvar::new(),
            launch,
        }
    }

    /// Claims up to `wanted` of the workgroups that may run; returns the number claimed.
    fn claim(&self, wanted: u64) -> u64 {
        let mut claimed = 0;
        let _ = self.unclaimed.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            claimed = left.min(wanted);
            Some(left - claimed)
        });
        claimed
    }

    fn outcome(&self) -> MutexGuard<'_, Outcome> {
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> std::ops::Range<u64> {
        if !self.has_more() {
            return 0..0;
        }
        let first = self.next.fetch_add(self.chunk, Ordering::Relaxed);
        first.min(self.total)..(first + self.chunk).min(self.total)
    }

    fn fail(&self, fault: Box<Fault>) {
        self.stop.store(true, Ordering::Relaxed);
        self.outcome().fault.get_or_insert(fault);
    }

    pub(super) fn launch(&self) -> &Launch {
        &self.launch
    }

    /// Whether the dispatch stops now, because of a fault or a request.
    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
            || self.abort.as_ref().is_some_and(|abort| abort.load(Ordering::Acquire))
    }

    /// Whether some workgroups have not been taken by any thread.
    fn has_more(&self) -> bool {
        self.next.load(Ordering::Relaxed) < self.total
    }

    /// Whether there is work to start and another thread may do it.
    fn wants_help(&self) -> bool {
        self.has_more()
            && self.unclaimed.load(Ordering::Relaxed) != 0
            && self.outcome().helpers + 1 < self.threads
    }

    /// Whether the time limit has passed.
    fn overdue(&self) -> bool {
        self.deadline.is_some_and(|(deadline, _)| Instant::now() >= deadline)
    }

    /// Ends the dispatch because of its time limit.
    fn time_out(&self, group: &mut Group) {
        let limit = self.deadline.map_or(0, |(_, limit)| limit.as_millis() as u64);
        self.fail(group.timed_out(&self.launch, limit));
    }
}

/// The initial number of threads that run workgroups: the number of cores that this process may use.
fn default_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS)
}

/// Threads and workers, shared by all dispatches.
pub(super) struct Pool {
    shared: Arc<Shared>,
    threads: AtomicUsize,
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").field("threads", &self.threads()).finish_non_exhaustive()
    }
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Arc<Job>>,
    idle: Vec<Worker>,
    helpers: usize,
    sleeping: usize,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pool {
    pub(super) fn new() -> Self {
        Pool { shared: Arc::default(), threads: AtomicUsize::new(default_threads()) }
    }

    /// The number of threads that run the workgroups of a dispatch.
    pub(super) fn threads(&self) -> usize {
        self.threads.load(Ordering::Relaxed)
    }

    /// Sets the number of threads for dispatches that begin from now on, within sensible limits.
    pub(super) fn set_threads(&self, count: usize) {
        self.threads.store(count.clamp(1, MAX_THREADS), Ordering::Relaxed);
    }

    /// Runs all workgroups of a job and returns its first fault. Calls `meanwhile` again and again.
    pub(super) fn run(
        &self,
        memory: &Arc<Memory>,
        job: &Arc<Job>,
        meanwhile: &dyn Fn(),
    ) -> Result<Option<Fault>, MemoryError> {
        let mut worker = self.shared.lock().idle.pop().unwrap_or_else(|| Worker::new(memory));
        let shared = &self.shared;
        let mut called = false;
        let progress = &mut |spent, done| {
            if !called && job.threads > 1 && worth_waking(spent, done, job.total) {
                called = true;
                shared.call_helpers(memory, job);
            }
        };
        worker.work(job, progress, meanwhile);
        let mut state = shared.lock();
        if called {
            state.jobs.retain(|other| !Arc::ptr_eq(other, job));
        }
        state.idle.push(worker);
        drop(state);
        if !called && !job.stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let mut outcome = job.outcome();
        while outcome.helpers != 0 {
            outcome = job.left.wait_timeout(outcome, LAST).unwrap_or_else(PoisonError::into_inner).0;
            meanwhile();
        }
        match (outcome.fault.take(), outcome.error.take()) {
            (Some(fault), _) => Ok(Some(*fault)),
            (None, Some(error)) => Err(error),
            (None, None) => Ok(None),
        }
    }
}

/// Whether the rest of a job is worth waking helpers for, judging by the time of the first workgroups.
fn worth_waking(spent: Duration, done: u64, total: u64) -> bool {
    let rest = total.saturating_sub(done);
    rest > 0 && spent.as_nanos() * u128::from(rest) > WORTH_WAKING.as_nanos() * u128::from(done.max(1))
}

impl Shared {
    fn call_helpers(self: &Arc<Self>, memory: &Arc<Memory>, job: &Arc<Job>) {
        let mut state = self.lock();
        state.jobs.push_back(Arc::clone(job));
        let wanted = job.threads - 1;
        while state.helpers < wanted {
            let shared = Arc::clone(self);
            let memory = Arc::clone(memory);
            let name = format!("vgpu-{}", state.helpers);
            // If no thread can be started, the dispatching thread does all the work.
            let Ok(_) = std::thread::Builder::new().name(name).spawn(move || shared.help(&memory)) else {
                break;
            };
            state.helpers += 1;
        }
        if state.sleeping != 0 {
            self.wake.notify_all();
        }
    }

    /// Helps with one job after another.
    fn help(&self, memory: &Arc<Memory>) {
        let mut worker = Worker::new(memory);
        loop {
            let helping = self.wait_for_job();
            worker.work(&helping.0, &mut |_, _| {}, &|| ());
        }
    }

    fn wait_for_job(&self) -> Helping {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.jobs.iter().find(|job| job.wants_help()) {
                return Helping::new(Arc::clone(job));
            }
            state.sleeping += 1;
            state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.sleeping -= 1;
        }
    }
}

/// Counts a helper of a job while it exists, so that the job never waits for a helper that is gone.
///
/// It may hold the last reference to the job, and so to its code, which must not be dropped while the pool is
/// locked. Unloading code waits for all running workgroups, and these may wait for the pool in order to call
/// helpers.
struct Helping(Arc<Job>);

impl Helping {
    fn new(job: Arc<Job>) -> Self {
        job.outcome().helpers += 1;
        Helping(job)
    }
}

impl Drop for Helping {
    fn drop(&mut self) {
        let mut outcome = self.0.outcome();
        outcome.helpers -= 1;
        if outcome.helpers == 0 {
            self.0.left.notify_all();
        }
    }
}

/// The parked workgroups of a thread, which take turns. Turns alternate between front to back and back to
/// front. So a chain of workgroups, each waiting for its neighbour, ends in few rounds, from whichever end it
/// starts.
#[derive(Default)]
struct Parked {
    /// A round takes from one end; those that have had their turn are put at the other.
    groups: VecDeque<Box<Group>>,
    backward: bool,
    /// Remaining turns of this round.
    left: usize,
}

impl Parked {
    fn len(&self) -> usize {
        self.groups.len()
    }

    /// The workgroup whose turn it is.
    fn next(&mut self) -> Option<Box<Group>> {
        if self.left == 0 {
            self.backward = !self.backward;
            self.left = self.groups.len();
        }
        self.left = self.left.saturating_sub(1);
        if self.backward { self.groups.pop_back() } else { self.groups.pop_front() }
    }

    /// Puts a workgroup back; its next turn is in the next round.
    fn put(&mut self, group: Box<Group>) {
        if self.backward { self.groups.push_front(group) } else { self.groups.push_back(group) }
    }
}

/// The registers, LDS and scratch memory that a thread uses to run workgroups, again and again.
struct Worker {
    memory: Arc<Memory>,
    reader: Arc<Reader>,
    #[expect(clippy::vec_box, reason = "they are large, and change hands for each workgroup")]
    spare: Vec<Box<Group>>,
}

// SAFETY: the pointers in a worker's groups point to buffers that the groups own, and only one thread has the
// worker.
unsafe impl Send for Worker {}

impl Worker {
    fn new(memory: &Arc<Memory>) -> Self {
        Worker { memory: Arc::clone(memory), reader: memory.reader(), spare: Vec::new() }
    }

    /// Runs workgroups of the job until there are none left to start. `progress` receives numbers of
    /// workgroups and the time that they took; `meanwhile` is called again and again.
    fn work(&mut self, job: &Job, progress: &mut dyn FnMut(Duration, u64), meanwhile: &dyn Fn()) {
        let mut done = 0u64;
        let mut chunk = 0..0;
        let mut parked = Parked::default();
        let mut claimed = job.claim((u64::from(job.launch.resident) / job.threads as u64).max(1));
        // When a workgroup last began or ended, and the number of useless turns since then.
        let mut changed = job.start_ns;
        let mut in_vain = 0;
        while claimed != 0 && !job.is_stopped() {
            if in_vain > parked.len() && since(changed) > STUCK {
                // Its workgroups may wait for others that no other thread will start.
                if !chunk.is_empty() || job.has_more() {
                    claimed += job.claim(1);
                }
                (changed, in_vain) = (now_ns(), 0);
            }
            let room = (parked.len() as u64) < claimed;
            if chunk.is_empty() && room {
                chunk = job.take();
                if chunk.is_empty() {
                    // Another thread may have workgroups left that it is not allowed to start.
                    job.unclaimed.fetch_add(claimed - parked.len() as u64, Ordering::Relaxed);
                    claimed = parked.len() as u64;
                }
            }
            let mut group = if room && let Some(number) = chunk.next() {
                let mut group = self.spare.pop().unwrap_or_else(|| Box::new(Group::new(&self.memory)));
                if let Err(error) = group.begin(&job.launch, number) {
                    job.stop.store(true, Ordering::Relaxed);
                    job.outcome().error.get_or_insert(error);
                    break;
                }
                group
            } else if let Some(group) = parked.next() {
                group
            } else {
                break;
            };
            let stop = || {
                meanwhile();
                job.is_stopped() || job.overdue()
            };
            let turn = catch_unwind(AssertUnwindSafe(|| group.turn(&job.launch, &self.reader, &stop)));
            match turn {
                Ok(Turn::Done) => {
                    // Short workgroups never park, so a grid of them is cut off here, after the last
                    // workgroup that ended in time.
                    if (!chunk.is_empty() || job.has_more()) && job.overdue() {
                        job.time_out(&mut group);
                    }
                    self.spare.push(group);
                    done += 1;
                    in_vain = 0;
                    if (done == 1 || done.is_multiple_of(LOOK_EVERY)) && done < job.total {
                        progress(since(job.start_ns), done);
                    }
                }
                Ok(Turn::Parked) => {
                    progress(since(job.start_ns).max(WORTH_WAKING * 2), done.max(1));
                    if job.overdue() {
                        job.time_out(&mut group);
                    }
                    parked.put(group);
                    if in_vain == 0 {
                        changed = now_ns();
                    }
                    in_vain += 1;
                    if in_vain % parked.len() == 0 {
                        // The wave that all of them wait for may need this thread's core.
                        std::thread::yield_now();
                    }
                }
                Ok(Turn::Fault(fault)) => {
                    job.fail(fault);
                    self.spare.push(group);
                }
                Err(panic) => {
                    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
                    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
                    job.fail(group.panicked(&job.launch, text.unwrap_or_else(|| "panic".to_owned())));
                }
            }
        }
        self.reader.leave();
        // Workgroups of a dispatch that was stopped.
        parked.groups.iter_mut().for_each(|group| group.unwatch());
        job.unclaimed.fetch_add(claimed, Ordering::Relaxed);
        self.spare.extend(parked.groups);
        // A dispatch that parked workgroups may leave many. A few are enough to start the next dispatch
        // quickly.
        self.spare.truncate(2);
    }
}
