//! The threads that run workgroups.
//!
//! The thread that dispatches a kernel runs workgroups itself; helpers join in when what is left to do is worth waking them.
//! So a small kernel costs no thread switch.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::group::{Group, Turn};
use super::launch::Launch;
use super::memory::{Memory, MemoryError, Reader};
use gpu_report::Fault;

/// Work that is worth waking helpers for.
const WORTH_WAKING: Duration = Duration::from_micros(20);
/// A thread whose workgroups have all waited for that long may start more of them than its share.
const STUCK: Duration = Duration::from_micros(500);
/// The most threads that run workgroups.
pub(super) const MAX_THREADS: usize = 1024;
/// Workgroups between two looks at the clock while helpers sleep.
const LOOK_EVERY: u64 = 4;

/// A dispatch in progress.
pub(super) struct Job {
    launch: Launch,
    /// How many threads may work on it, the dispatching one included.
    threads: usize,
    total: u64,
    chunk: u64,
    next: AtomicU64,
    /// How many workgroups more may be in progress at once than those that threads have claimed for themselves.
    unclaimed: AtomicU64,
    stop: AtomicBool,
    /// Set by whoever wants the dispatch to end before its time.
    abort: Option<Arc<AtomicBool>>,
    deadline: Option<(Instant, Duration)>,
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
    ) -> Self {
        let total = launch.workgroups();
        // Each thread has a workgroup in progress.
        let threads = threads.min(launch.resident as usize).max(1);
        // Small enough that threads end together, large enough that they rarely meet at the counter.
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
            outcome: Mutex::default(),
            left: Condvar::new(),
            launch,
        }
    }

    /// Claims up to `wanted` of the workgroups that may be in progress; returns how many.
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

    /// Whether the dispatch ends where it is, because of a fault or by somebody's wish.
    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
            || self.abort.as_ref().is_some_and(|abort| abort.load(Ordering::Acquire))
    }

    /// Whether there are workgroups that no thread has taken.
    fn has_more(&self) -> bool {
        self.next.load(Ordering::Relaxed) < self.total
    }

    /// Whether there is work to start and a thread more may do it.
    fn wants_help(&self) -> bool {
        self.has_more()
            && self.unclaimed.load(Ordering::Relaxed) != 0
            && self.outcome().helpers + 1 < self.threads
    }

    /// Whether time is up. It is asked once for each time slice of a wave.
    fn overdue(&self) -> bool {
        self.deadline.is_some_and(|(deadline, _)| Instant::now() >= deadline)
    }

    /// Ends the dispatch because time is up.
    fn time_out(&self, group: &mut Group) {
        let limit = self.deadline.map_or(0, |(_, limit)| limit.as_millis() as u64);
        self.fail(group.timed_out(&self.launch, limit));
    }
}

/// How many threads run workgroups at first: as many as the host has cores for this process.
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

    /// How many threads run the workgroups of a dispatch.
    pub(super) fn threads(&self) -> usize {
        self.threads.load(Ordering::Relaxed)
    }

    /// Dispatches that begin from now on have that many threads, within what is sensible.
    pub(super) fn set_threads(&self, count: usize) {
        self.threads.store(count.clamp(1, MAX_THREADS), Ordering::Relaxed);
    }

    /// Runs all workgroups of a job and returns its first fault.
    pub(super) fn run(&self, memory: &Arc<Memory>, job: &Arc<Job>) -> Result<Option<Fault>, MemoryError> {
        let mut worker = self.shared.lock().idle.pop().unwrap_or_else(|| Worker::new(memory));
        let shared = &self.shared;
        let mut called = false;
        worker.work(job, &mut |spent, done| {
            if !called && job.threads > 1 && worth_waking(spent, done, job.total) {
                called = true;
                shared.call_helpers(memory, job);
            }
        });
        let mut state = shared.lock();
        if called {
            state.jobs.retain(|other| !Arc::ptr_eq(other, job));
        }
        state.idle.push(worker);
        drop(state);
        let mut outcome = job.outcome();
        while outcome.helpers != 0 {
            outcome = job.left.wait(outcome).unwrap_or_else(PoisonError::into_inner);
        }
        match (outcome.fault.take(), outcome.error.take()) {
            (Some(fault), _) => Ok(Some(*fault)),
            (None, Some(error)) => Err(error),
            (None, None) => Ok(None),
        }
    }
}

/// Whether the rest of a job, going by what the first workgroups took, is worth waking helpers for.
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
            // Without threads the dispatching thread does all the work.
            let Ok(_) = std::thread::Builder::new().name(name).spawn(move || shared.help(&memory)) else {
                break;
            };
            state.helpers += 1;
        }
        if state.sleeping != 0 {
            self.wake.notify_all();
        }
    }

    /// Helps with one job after the other.
    fn help(&self, memory: &Arc<Memory>) {
        let mut worker = Worker::new(memory);
        loop {
            let helping = self.wait_for_job();
            worker.work(&helping.0, &mut |_, _| {});
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

/// Counts a helper of a job for as long as it lives, so that the job is never left waiting for one.
///
/// It may be the last one to have the job, and with that the code: it must not be dropped while the pool is locked. Unloading code
/// waits for all workgroups that run, and those may wait for the pool, to call helpers.
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

/// Workgroups of a thread that others get a turn before. Turns go from the first to the last and back, so that a row of
/// workgroups of which each waits for its neighbour ends in few rounds, whichever end it begins at.
#[derive(Default)]
struct Parked {
    /// A round takes from one end; those that had their turn are at the other.
    groups: VecDeque<Box<Group>>,
    backward: bool,
    /// Turns left of this round.
    left: usize,
}

impl Parked {
    fn len(&self) -> usize {
        self.groups.len()
    }

    /// Whose turn it is.
    fn next(&mut self) -> Option<Box<Group>> {
        if self.left == 0 {
            self.backward = !self.backward;
            self.left = self.groups.len();
        }
        self.left = self.left.saturating_sub(1);
        if self.backward { self.groups.pop_back() } else { self.groups.pop_front() }
    }

    /// Its next turn is in the next round.
    fn put(&mut self, group: Box<Group>) {
        if self.backward { self.groups.push_front(group) } else { self.groups.push_back(group) }
    }
}

/// What a thread needs to run workgroups: registers, LDS and scratch memory that are used again and again.
struct Worker {
    memory: Arc<Memory>,
    reader: Arc<Reader>,
    #[expect(clippy::vec_box, reason = "they are large, and change hands for each workgroup")]
    spare: Vec<Box<Group>>,
}

// SAFETY: the pointers in a worker's groups are to buffers that the groups own, and only one thread has the worker.
unsafe impl Send for Worker {}

impl Worker {
    fn new(memory: &Arc<Memory>) -> Self {
        Worker { memory: Arc::clone(memory), reader: memory.reader(), spare: Vec::new() }
    }

    /// Runs workgroups of the job until none is left to start. `progress` hears how long how many took.
    fn work(&mut self, job: &Job, progress: &mut dyn FnMut(Duration, u64)) {
        let began = Instant::now();
        let mut done = 0u64;
        let mut chunk = 0..0;
        let mut parked = Parked::default();
        let mut claimed = job.claim((u64::from(job.launch.resident) / job.threads as u64).max(1));
        // When a workgroup began or ended last, and how many turns since then were for nothing.
        let mut changed = began;
        let mut in_vain = 0;
        while claimed != 0 && !job.is_stopped() {
            if in_vain > parked.len() && changed.elapsed() > STUCK {
                // They may wait for workgroups that no other thread will start.
                if !chunk.is_empty() || job.has_more() {
                    claimed += job.claim(1);
                }
                (changed, in_vain) = (Instant::now(), 0);
            }
            let room = (parked.len() as u64) < claimed;
            if chunk.is_empty() && room {
                chunk = job.take();
                if chunk.is_empty() {
                    // Another thread may have workgroups left that it cannot start.
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
            let stop = || job.is_stopped() || job.overdue();
            let turn = catch_unwind(AssertUnwindSafe(|| group.turn(&job.launch, &self.reader, &stop)));
            match turn {
                Ok(Turn::Done) => {
                    // Short workgroups never park: the last one that ended in time is where a grid of them is cut off.
                    if (!chunk.is_empty() || job.has_more()) && job.overdue() {
                        job.time_out(&mut group);
                    }
                    self.spare.push(group);
                    done += 1;
                    in_vain = 0;
                    if done == 1 || done.is_multiple_of(LOOK_EVERY) {
                        progress(began.elapsed(), done);
                    }
                }
                Ok(Turn::Parked) => {
                    progress(began.elapsed().max(WORTH_WAKING * 2), done.max(1));
                    if job.overdue() {
                        job.time_out(&mut group);
                    }
                    parked.put(group);
                    if in_vain == 0 {
                        changed = Instant::now();
                    }
                    in_vain += 1;
                    if in_vain % parked.len() == 0 {
                        // Whoever all of them wait for may need this thread's core.
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
        // Of a dispatch that was stopped.
        parked.groups.iter_mut().for_each(|group| group.unwatch());
        job.unclaimed.fetch_add(claimed, Ordering::Relaxed);
        self.spare.extend(parked.groups);
        // A dispatch that parked workgroups may have left many; a few are enough to start the next one quickly.
        self.spare.truncate(2);
    }
}
