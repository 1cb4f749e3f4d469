//! Communicators: one rank each, with a thread that does enqueued work in order.
//!
//! An operation takes its turn in a stream like this:
//! 1. a callback, which tells the worker that everything before it on the stream is done;
//! 2. a wait for the communicator's [`Word`] to reach the operation's number.
//!
//! The worker copies to and from the device on its own stream. It raises the word when the operation is done,
//! or will never be done. Nothing waits for another rank on one of HIP's threads, so ranks of one process
//! never block each other.
//!
//! An operation of a graph does the same with nodes, each time that the graph runs; see
//! [`captured`](crate::captured). Its turn is when it arrives; [`Order`] makes that follow the order of the
//! program's calls.

use std::collections::{HashMap, VecDeque};
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use hip_sys::{hipError_t, hipStream_t};
use rccl_sys::{ncclComm_t, ncclResult_t};

use crate::batch::{Batch, Kind, Work};
use crate::captured::Captured;
use crate::collective::Machine;
use crate::device::{Copies, Current, Relaxed, Word};
use crate::door::Deadline;
use crate::error::{Failure, Result, check, hip};
use crate::id::Id;
use crate::order::Order;
use crate::segment::{MOST_RANKS, Reason, Segment};

/// How long ranks wait for each other when a communicator is made, unless the environment sets it.
const LIMIT: Duration = Duration::from_secs(60);

fn limit() -> Result<Duration> {
    let named = variables::RCCL_TIMEOUT.time().map_err(|error| Failure::argument(error.to_string()))?;
    Ok(named.unwrap_or(LIMIT))
}

/// The place of a rank in a new communicator.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) id: Id,
    pub(crate) rank: usize,
    pub(crate) ranks: usize,
}

impl Place {
    pub(crate) fn new(id: Id, rank: i32, ranks: i32) -> Result<Self> {
        let count = usize::try_from(ranks).ok().filter(|ranks| (1..=MOST_RANKS).contains(ranks));
        let Some(count) = count else {
            return Err(Failure::argument(format!("{ranks} ranks; 1 to {MOST_RANKS} are allowed")));
        };
        match usize::try_from(rank) {
            Ok(rank) if rank < count => Ok(Self { id, rank, ranks: count }),
            _ => Err(Failure::argument(format!("rank {rank} of {count}"))),
        }
    }
}

/// The state of a communicator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The group in which it is made has not ended.
    Deferred,
    /// Its ranks are joining.
    Starting,
    Ready,
    /// The worker takes no more jobs.
    Leaving,
    /// The other ranks know that this one has left, and nothing uses the program's memory any more.
    Ended,
    /// HIP has released the worker's memory.
    Released,
}

/// How a program has registered memory. It must be deregistered in the same way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Registered {
    Buffer,
    Window,
}

/// An operator that the program has made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scaled {
    pub(crate) element: crate::number::Type,
    pub(crate) scale: crate::batch::Scale,
}

/// A job of the worker.
pub(crate) enum Job {
    /// Work that runs once.
    Batch(Arc<Batch>),
    Split {
        turn: Arc<Batch>,
        color: i32,
        key: i32,
        child: Option<Arc<Comm>>,
    },
    /// One run of a graph's work.
    Run(Arc<Captured>),
}

impl Job {
    /// Whether it can start.
    fn is_ready(&self, word: &Word) -> bool {
        match self {
            Self::Batch(batch) | Self::Split { turn: batch, .. } => batch.is_ready().is_some(),
            Self::Run(captured) => word.value() >= captured.after,
        }
    }
}

struct State {
    phase: Phase,
    /// Its future place, until it starts.
    place: Option<Place>,
    /// Enqueued jobs, each with its number.
    jobs: VecDeque<(u64, Job)>,
    /// Runs of graphs that have arrived. They go first: jobs enqueued after them have not arrived.
    runs: VecDeque<Arc<Captured>>,
    /// Whether a job is running.
    is_busy: bool,
    /// The number of jobs enqueued so far, counted from the word's first value.
    sequence: u64,
    failure: Option<Failure>,
    /// Whether there will be no more jobs.
    is_closed: bool,
    scaled: Vec<Option<Scaled>>,
    /// Communicators made from this one by `ncclCommShrink`.
    shrinks: u64,
    registered: HashMap<usize, Registered>,
}

/// One rank of a communicator.
pub(crate) struct Comm {
    pub(crate) hip: &'static hip_sys::Table,
    pub(crate) device: i32,
    /// Whether 8-bit floats are those without a negative zero.
    pub(crate) fnuz: bool,
    pub(crate) blocking: bool,
    word: Word,
    state: Mutex<State>,
    changed: Condvar,
    /// Set once an operation has been captured.
    order: OnceLock<Order>,
    /// Set once it is known.
    place: OnceLock<Place>,
    segment: OnceLock<Arc<Segment>>,
}

/// All communicators, by handle.
struct Registry {
    next: usize,
    live: HashMap<usize, Arc<Comm>>,
}

static REGISTRY: LazyLock<Mutex<Registry>> =
    LazyLock::new(|| Mutex::new(Registry { next: 0x1000, live: HashMap::new() }));

fn registry() -> MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The number of accepted jobs of all communicators of this process that are not done. Streams wait for them.
static PENDING: AtomicUsize = AtomicUsize::new(0);
/// How often a thread that ends a communicator polls that number.
const LOOK: Duration = Duration::from_millis(5);

impl State {
    fn has_jobs(&self) -> bool {
        self.is_busy || !self.jobs.is_empty() || !self.runs.is_empty()
    }

    /// A job is done, or will never be done.
    fn is_done(&mut self) {
        self.is_busy = false;
        PENDING.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Comm {
    /// Makes a communicator of the current device. It begins when [`assign`](Self::assign) gives it a place;
    /// until then it is in progress.
    pub(crate) fn start(
        hip: &'static hip_sys::Table,
        device: i32,
        blocking: bool,
    ) -> Result<(ncclComm_t, Arc<Self>)> {
        Self::start_in(Phase::Starting, hip, device, blocking)
    }

    /// Like [`start`](Self::start), but it is not in progress until it has a place.
    pub(crate) fn defer(
        hip: &'static hip_sys::Table,
        device: i32,
        blocking: bool,
    ) -> Result<(ncclComm_t, Arc<Self>)> {
        Self::start_in(Phase::Deferred, hip, device, blocking)
    }

    fn start_in(
        phase: Phase,
        hip: &'static hip_sys::Table,
        device: i32,
        blocking: bool,
    ) -> Result<(ncclComm_t, Arc<Self>)> {
        let word = Word::take(hip)?;
        let sequence = word.value();
        let state = State {
            phase,
            place: None,
            jobs: VecDeque::new(),
            runs: VecDeque::new(),
            is_busy: false,
            sequence,
            failure: None,
            is_closed: false,
            scaled: Vec::new(),
            shrinks: 0,
            registered: HashMap::new(),
        };
        let comm = Arc::new(Self {
            hip,
            device,
            fnuz: has_fnuz(hip, device)?,
            blocking,
            word,
            state: Mutex::new(state),
            changed: Condvar::new(),
            order: OnceLock::new(),
            place: OnceLock::new(),
            segment: OnceLock::new(),
        });
        let worker = comm.clone();
        std::thread::Builder::new()
            .name("rccl".into())
            .spawn(move || worker.work())
            .map_err(|error| Failure::system("cannot start a thread", error))?;
        let mut registry = registry();
        registry.next += 16;
        let handle = registry.next;
        registry.live.insert(handle, comm.clone());
        Ok((handle as ncclComm_t, comm))
    }

    /// The communicator that a handle names.
    pub(crate) fn of(handle: ncclComm_t) -> Result<Arc<Self>> {
        let comm = registry().live.get(&(handle as usize)).cloned();
        comm.ok_or_else(|| Failure::argument("there is no such communicator"))
    }

    /// Removes a handle.
    pub(crate) fn remove(handle: ncclComm_t) -> Result<Arc<Self>> {
        let comm = registry().live.remove(&(handle as usize));
        comm.ok_or_else(|| Failure::argument("there is no such communicator"))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// Its rank and the number of ranks, once known.
    pub(crate) fn place(&self) -> Result<&Place> {
        self.place.get().ok_or_else(|| Failure::usage("the communicator is not ready"))
    }

    /// Gives a place to a communicator that was started without one.
    pub(crate) fn assign(&self, place: Place) {
        let mut state = self.lock();
        state.place = Some(place);
        if state.phase == Phase::Deferred {
            state.phase = Phase::Starting;
        }
        self.changed.notify_all();
    }

    /// Blocks until all ranks have joined, or cannot any more.
    pub(crate) fn wait_until_ready(&self) -> Result {
        let mut state = self.lock();
        while state.phase == Phase::Starting && state.failure.is_none() {
            state = self.wait(state);
        }
        state.failure.clone().map_or(Ok(()), Err)
    }

    /// An error unless operations can be enqueued.
    pub(crate) fn check(&self) -> Result<&Place> {
        {
            let state = self.lock();
            if let Some(failure) = self.failure_of(&state) {
                return Err(failure);
            }
            if state.is_closed {
                return Err(Failure::usage("the communicator has been finalized"));
            }
            if state.phase != Phase::Ready {
                return Err(Failure::usage("the communicator is not ready: ask ncclCommGetAsyncError"));
            }
        }
        self.place()
    }

    fn failure_of(&self, state: &State) -> Option<Failure> {
        state.failure.clone().or_else(|| self.segment.get()?.broken())
    }

    /// Its status: `ncclInProgress` while it starts, or ends without blocking.
    pub(crate) fn status(&self) -> Result<ncclResult_t> {
        let state = self.lock();
        if let Some(failure) = self.failure_of(&state) {
            return Err(failure);
        }
        let ends = state.is_closed && state.has_jobs();
        let in_progress = state.phase == Phase::Starting || ends;
        Ok(if in_progress { ncclResult_t::ncclInProgress } else { ncclResult_t::ncclSuccess })
    }

    /// Marks the communicator as failed.
    pub(crate) fn fail(&self, failure: Failure, reason: Reason) {
        tracing::warn!(code = ?failure.code, "a communicator failed: {}", failure.text);
        self.lock().failure.get_or_insert(failure);
        if let Some(segment) = self.segment.get() {
            segment.break_up(reason, segment.rank);
        }
        self.changed.notify_all();
    }

    /// Takes no more operations. Waits for graphs launched before, in the order of operations.
    fn close(self: &Arc<Self>) {
        let is_last = {
            let state = self.lock();
            !state.is_closed && state.phase == Phase::Ready && state.failure.is_none()
        };
        if is_last && self.order.get().is_some() {
            self.take_turn(Job::Batch);
        }
        self.lock().is_closed = true;
        self.changed.notify_all();
    }

    /// Takes no more operations. With `wait`, blocks until the pending ones are done.
    pub(crate) fn finalize(self: &Arc<Self>, wait: bool) -> Result {
        self.close();
        let mut state = self.lock();
        while wait && state.failure.is_none() && state.has_jobs() {
            state = self.wait(state);
        }
        self.failure_of(&state).map_or(Ok(()), Err)
    }

    /// Takes no more operations, and blocks until the other ranks know that this one has left, and nothing
    /// uses the program's memory any more.
    ///
    /// HIP then releases the worker's memory, once all streams of the device are idle. This waits for that as
    /// well, unless an operation of this process is pending: its stream waits for other ranks, and this very
    /// thread may serve one of them.
    pub(crate) fn end(self: &Arc<Self>) {
        self.close();
        let mut state = self.lock();
        while !matches!(state.phase, Phase::Ended | Phase::Released) {
            state = self.wait(state);
        }
        while state.phase != Phase::Released && PENDING.load(Ordering::Acquire) == 0 {
            state = self.changed.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Drops everything that is not done. An earlier failure stays the communicator's failure, whether or not
    /// the worker has seen it.
    pub(crate) fn abort(&self) {
        let before = self.segment.get().and_then(|segment| segment.broken());
        let failure = before.unwrap_or_else(|| Failure::remote("this rank has aborted the communicator"));
        self.fail(failure, Reason::Aborted);
    }

    pub(crate) fn add_scaled(&self, scaled: Scaled) -> usize {
        let mut state = self.lock();
        match state.scaled.iter().position(Option::is_none) {
            Some(index) => {
                state.scaled[index] = Some(scaled);
                index
            }
            None => {
                state.scaled.push(Some(scaled));
                state.scaled.len() - 1
            }
        }
    }

    pub(crate) fn scaled(&self, index: usize) -> Option<Scaled> {
        self.lock().scaled.get(index).copied().flatten()
    }

    pub(crate) fn remove_scaled(&self, index: usize) -> Option<Scaled> {
        self.lock().scaled.get_mut(index)?.take()
    }

    /// Records registered memory, and returns a handle, which is never 0.
    pub(crate) fn register(&self, how: Registered) -> usize {
        let mut state = self.lock();
        let handle = state.registered.keys().max().map_or(1, |last| last + 1);
        state.registered.insert(handle, how);
        handle
    }

    /// Removes registered memory. False if it was not registered in this way.
    pub(crate) fn deregister(&self, handle: usize, how: Registered) -> bool {
        let mut state = self.lock();
        let is_there = state.registered.get(&handle) == Some(&how);
        if is_there {
            state.registered.remove(&handle);
        }
        is_there
    }

    /// The id of the communicator that the same ranks make next with `ncclCommShrink`.
    pub(crate) fn shrunk_id(&self, id: &Id, rest: u64) -> Id {
        let mut state = self.lock();
        state.shrinks += 1;
        id.part(&[2, state.shrinks, rest])
    }

    /// Enqueues a split of this communicator.
    pub(crate) fn split(self: &Arc<Self>, color: i32, key: i32, child: Option<Arc<Self>>) {
        self.take_turn(|turn| Job::Split { turn, color, key, child });
    }

    /// Enqueues work that is on no stream of the program. Its turn comes after all graphs launched so far.
    fn take_turn(self: &Arc<Self>, job: impl FnOnce(Arc<Batch>) -> Job) {
        let batch = |streams| Arc::new(Batch::new(Work { streams, ..Work::default() }));
        let Some(order) = self.order.get() else {
            self.push(job(batch(Vec::new())));
            return;
        };
        let stream = Current::set(self.hip, self.device).and_then(|_current| order.stream());
        let turn = batch(stream.iter().map(|stream| *stream as usize).collect());
        let number = self.push(job(turn.clone()));
        let enqueued = stream.and_then(|stream| {
            let _current = Current::set(self.hip, self.device)?;
            // SAFETY: the stream is the communicator's, whose device is current.
            unsafe {
                order.wait(stream)?;
                self.announce(&turn, stream)?;
                self.hold(number, stream)?;
                order.note(stream)
            }
        });
        if let Err(failure) = enqueued {
            self.fail(failure, Reason::Failed);
        }
    }

    /// Gives the worker a job, which begins when its streams have reached it. Streams wait for the returned
    /// number.
    pub(crate) fn push(&self, job: Job) -> u64 {
        let mut state = self.lock();
        state.sequence += 1;
        let number = state.sequence;
        if state.is_closed {
            // Another thread has ended the communicator meanwhile, so the job would never run.
            self.word.reach(number);
            if let Job::Split { child: Some(child), .. } = job {
                child.fail(Failure::usage("the communicator has been finalized"), Reason::Failed);
            }
        } else {
            state.jobs.push_back((number, job));
            PENDING.fetch_add(1, Ordering::AcqRel);
        }
        self.changed.notify_all();
        number
    }

    /// The number of the last enqueued job.
    pub(crate) fn sequence(&self) -> u64 {
        self.lock().sequence
    }

    /// Gives the worker a run of a graph. False if the worker has ended.
    pub(crate) fn start_run(&self, captured: &Arc<Captured>) -> bool {
        let mut state = self.lock();
        if matches!(state.phase, Phase::Leaving | Phase::Ended | Phase::Released) {
            return false;
        }
        state.runs.push_back(captured.clone());
        PENDING.fetch_add(1, Ordering::AcqRel);
        self.changed.notify_all();
        true
    }

    /// Starts the order of operations, if it has not started.
    ///
    /// The communicator's device must be current, and this thread's capture mode relaxed.
    pub(crate) fn start_order(&self) -> Result {
        if self.order.get().is_none() {
            let order = Order::new(self.hip, self.device)?;
            self.order.get_or_init(|| order);
        }
        Ok(())
    }

    /// The order of operations, if any operation has been captured.
    pub(crate) fn order(&self) -> Option<&Order> {
        self.order.get()
    }

    /// Makes a stream notify the worker when it reaches a batch.
    ///
    /// # Safety
    /// The stream is null or live, and the communicator's device is current.
    pub(crate) unsafe fn announce(self: &Arc<Self>, batch: &Arc<Batch>, stream: hipStream_t) -> Result {
        let data = Box::into_raw(Box::new((self.clone(), batch.clone()))).cast();
        // SAFETY: the caller vouches for the stream; the callback takes the pointer's value, once.
        let added = unsafe { hip!(self.hip, hipStreamAddCallback(stream, Some(arrived), data, 0)) };
        if added.is_err() {
            // SAFETY: HIP has refused the pointer, so this function owns it again.
            drop(unsafe { Box::from_raw(data.cast::<(Arc<Self>, Arc<Batch>)>()) });
        }
        added
    }

    /// Makes later work on a stream wait for a batch.
    ///
    /// # Safety
    /// As [`announce`](Self::announce).
    pub(crate) unsafe fn hold(&self, number: u64, stream: hipStream_t) -> Result {
        // SAFETY: the caller's promise.
        unsafe { self.word.wait_on(self.hip, stream, number) }
    }

    /// The body of the worker's thread.
    fn work(&self) {
        let begun = catch_unwind(AssertUnwindSafe(|| self.come_together()));
        let mut machine = match begun.unwrap_or_else(|_| Err(Failure::panic())) {
            Ok(machine) => {
                self.enter(Phase::Ready);
                Some(machine)
            }
            Err(failure) => {
                self.fail(failure, Reason::Failed);
                None
            }
        };
        self.serve(machine.as_mut());
        // Tell the other ranks before calling anything in HIP that waits for streams: their streams may wait
        // for this rank.
        if let Some(segment) = self.segment.get() {
            segment.leave();
        }
        self.enter(Phase::Ended);
        if let Some(order) = self.order.get() {
            order.end();
        }
        drop(machine);
        self.enter(Phase::Released);
    }

    fn enter(&self, phase: Phase) {
        self.lock().phase = phase;
        self.changed.notify_all();
    }

    fn come_together(&self) -> Result<Machine> {
        let mut state = self.lock();
        let place = loop {
            if let Some(failure) = &state.failure {
                return Err(failure.clone());
            }
            if state.is_closed {
                return Err(Failure::usage("the communicator was destroyed before it was ready"));
            }
            match state.place.take() {
                Some(place) => break place,
                None => state = self.wait(state),
            }
        };
        drop(state);
        let limit = limit()?;
        // SAFETY: the call takes a number. The thread ends with this one device.
        unsafe { hip!(self.hip, hipSetDevice(self.device))? };
        if self.hip.has("hipThreadExchangeStreamCaptureMode") {
            // A capture of the program must not make HIP refuse copies here. The mode belongs to this thread,
            // so it is never restored.
            std::mem::forget(Relaxed::set(self.hip)?);
        }
        let copies = Copies::new(self.hip)?;
        let (name, deadline) = (place.id.socket()?, Deadline::after(limit));
        let gives_up = || {
            let state = self.lock();
            state.failure.is_some() || state.is_closed
        };
        let (segment, role) = Segment::open(&name, place.rank, place.ranks, deadline, &gives_up)?;
        let segment = Arc::new(segment);
        let (segment, _) = (self.segment.get_or_init(|| segment), self.place.set(place));
        if self.lock().failure.is_some() {
            // The abort came before the segment in which others could see it.
            segment.break_up(Reason::Aborted, segment.rank);
        }
        segment.wait_for_all(role, deadline)?;
        Machine::new(self.hip, segment.clone(), copies)
    }

    /// Does jobs one by one until the communicator is closed. Without a machine, all jobs fail.
    fn serve(&self, mut machine: Option<&mut Machine>) {
        while let Some((number, job)) = self.next() {
            let done = catch_unwind(AssertUnwindSafe(|| self.run(machine.as_deref_mut(), &job)));
            if let Err(failure) = done.unwrap_or_else(|_| Err(Failure::panic())) {
                if let Job::Split { child: Some(child), .. } = &job {
                    child.fail(failure.clone(), Reason::Failed);
                }
                self.fail(failure, Reason::Failed);
            }
            if let Job::Run(captured) = &job {
                captured.done();
            }
            self.word.reach(number);
            self.lock().is_done();
            self.changed.notify_all();
        }
    }

    /// The next job that can start, and the word's value after it. `None` if there will be no more.
    fn next(&self) -> Option<(u64, Job)> {
        let mut state = self.lock();
        loop {
            let failed = state.failure.is_some();
            let can_go = |job: &Job| failed || job.is_ready(&self.word);
            let run = state.runs.front().map(|captured| (0, Job::Run(captured.clone())));
            let next = match run.filter(|(_, run)| can_go(run)) {
                Some(run) => {
                    state.runs.pop_front();
                    Some(run)
                }
                None if state.jobs.front().is_some_and(|(_, job)| can_go(job)) => state.jobs.pop_front(),
                None => None,
            };
            if next.is_some() {
                state.is_busy = true;
                return next;
            }
            if state.is_closed && !state.has_jobs() {
                state.phase = Phase::Leaving;
                return None;
            }
            state = self.wait(state);
        }
    }

    fn machine<'a>(&self, machine: Option<&'a mut Machine>) -> Result<&'a mut Machine> {
        if let Some(failure) = self.failure_of(&self.lock()) {
            return Err(failure);
        }
        machine.ok_or_else(|| Failure::usage("the ranks of the communicator have not all joined"))
    }

    fn run(&self, machine: Option<&mut Machine>, job: &Job) -> Result {
        let machine = self.machine(machine)?;
        let work = match job {
            Job::Batch(batch) => {
                batch.is_ready().unwrap_or(Ok(()))?;
                &batch.work
            }
            Job::Run(captured) => &captured.work,
            Job::Split { color, key, child, .. } => {
                let place = self.divide(machine, *color, *key)?;
                if let (Some(place), Some(child)) = (place, child) {
                    child.assign(place);
                }
                return Ok(());
            }
        };
        // SAFETY: the program has passed the addresses for this, and does not use the memory until its
        // streams continue.
        unsafe { machine.run(work) }
    }

    /// Finds this rank's place among the ranks of its colour, in the order of their keys.
    fn divide(&self, machine: &mut Machine, color: i32, key: i32) -> Result<Option<Place>> {
        let place = self.place()?;
        let told = machine.exchange(Kind::Split, [color as u64, key as u64])?;
        if color < 0 {
            return Ok(None);
        }
        let same = told.iter().enumerate().filter(|(_, words)| words[0] == color as u64);
        let mut same: Vec<(i32, usize)> = same.map(|(rank, words)| (words[1] as i32, rank)).collect();
        same.sort();
        let Some(rank) = same.iter().position(|(_, rank)| *rank == place.rank) else {
            return Err(Failure::remote("another rank has overwritten this rank's data"));
        };
        let id = place.id.part(&[1, machine.operations(), color as u64]);
        Ok(Some(Place { id, rank, ranks: same.len() }))
    }
}

/// A stream calls this when it reaches a batch, or has failed before.
unsafe extern "C" fn arrived(_stream: hipStream_t, status: hipError_t, data: *mut c_void) {
    // SAFETY: `announce` has passed such a box, and HIP calls this once for it.
    let (comm, batch) = *unsafe { Box::from_raw(data.cast::<(Arc<Comm>, Arc<Batch>)>()) };
    let failure = check("a stream failed before it reached the operation", status).err();
    batch.arrive(failure);
    // The worker checks under the lock, so it has either seen the arrival or is waiting.
    drop(comm.lock());
    comm.changed.notify_all();
}

/// Whether a device's 8-bit floats are AMD's own.
fn has_fnuz(hip: &'static hip_sys::Table, device: i32) -> Result<bool> {
    let mut properties = hip_sys::hipDeviceProp_tR0600::default();
    // SAFETY: the properties are a place to write to.
    unsafe { hip!(hip, hipGetDevicePropertiesR0600(&raw mut properties, device))? };
    let name: Vec<u8> = properties.gcnArchName.iter().map(|byte| *byte as u8).collect();
    Ok([&b"gfx940"[..], b"gfx941", b"gfx942"].iter().any(|target| name.starts_with(target)))
}

/// Makes the communicator's device current until the result is dropped.
pub(crate) fn current(comm: &Comm) -> Result<Current> {
    Current::set(comm.hip, comm.device)
}
