//! Communicators: one rank each, with a thread that does what is enqueued, in that order.
//!
//! An operation takes its turn in a stream like this:
//! 1. a callback, which tells the worker that everything before it on the stream is done;
//! 2. a wait for the communicator's [`Word`] to reach the operation's number.
//!
//! The worker copies to and from the device on a stream of its own, and raises the word when the operation is done, or will never be.
//! Nothing that waits for another rank runs on a thread of HIP's, so that ranks of one process never keep each other from running.
//!
//! An operation of a graph does the same by nodes, each time that the graph runs; see [`captured`](crate::captured). Its turn is when it
//! comes, which is in the order of the program's calls by [`Order`].

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

/// How long ranks wait for each other when a communicator is made, where the environment does not say.
const LIMIT: Duration = Duration::from_secs(60);

fn limit() -> Result<Duration> {
    let named = variables::RCCL_TIMEOUT.time().map_err(|error| Failure::argument(error.to_string()))?;
    Ok(named.unwrap_or(LIMIT))
}

/// What a rank is in a new communicator.
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
            return Err(Failure::argument(format!("{ranks} ranks; there are 1 to {MOST_RANKS}")));
        };
        match usize::try_from(rank) {
            Ok(rank) if rank < count => Ok(Self { id, rank, ranks: count }),
            _ => Err(Failure::argument(format!("rank {rank} of {count}"))),
        }
    }
}

/// How far a communicator is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The group that it is made in has not ended.
    Deferred,
    /// Its ranks come together.
    Starting,
    Ready,
    /// The worker does no more jobs.
    Leaving,
    /// The other ranks know that this one has left, and nothing uses the program's memory any more.
    Ended,
    /// HIP has released what the worker had.
    Released,
}

/// How a program has registered memory. Each is given back as it was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Registered {
    Buffer,
    Window,
}

/// A reduction that the program has made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scaled {
    pub(crate) element: crate::number::Type,
    pub(crate) scale: crate::batch::Scale,
}

/// What the worker does in its turn.
pub(crate) enum Job {
    /// Work that was enqueued once.
    Batch(Arc<Batch>),
    Split {
        turn: Arc<Batch>,
        color: i32,
        key: i32,
        child: Option<Arc<Comm>>,
    },
    /// Work of a graph that runs.
    Run(Arc<Captured>),
}

impl Job {
    /// Whether what it waits for is there.
    fn is_ready(&self, word: &Word) -> bool {
        match self {
            Self::Batch(batch) | Self::Split { turn: batch, .. } => batch.is_ready().is_some(),
            Self::Run(captured) => word.value() >= captured.after,
        }
    }
}

struct State {
    phase: Phase,
    /// What it is to be, until it starts.
    place: Option<Place>,
    /// What was enqueued, each with its number.
    jobs: VecDeque<(u64, Job)>,
    /// Runs of graphs that have come. They go first: what was enqueued after them has not come.
    runs: VecDeque<Arc<Captured>>,
    /// A job is being done.
    is_busy: bool,
    /// Jobs that were enqueued so far, counted on from the word's first value.
    sequence: u64,
    failure: Option<Failure>,
    /// There will be no more jobs.
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
    /// 8-bit floats are those without a negative zero.
    pub(crate) fnuz: bool,
    pub(crate) blocking: bool,
    word: Word,
    state: Mutex<State>,
    changed: Condvar,
    /// Once an operation has been captured.
    order: OnceLock<Order>,
    /// Once it is known.
    place: OnceLock<Place>,
    segment: OnceLock<Arc<Segment>>,
}

/// All communicators by their handles.
struct Registry {
    next: usize,
    live: HashMap<usize, Arc<Comm>>,
}

static REGISTRY: LazyLock<Mutex<Registry>> =
    LazyLock::new(|| Mutex::new(Registry { next: 0x1000, live: HashMap::new() }));

fn registry() -> MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Jobs of all communicators of this process that have been accepted and are not done: streams wait for them.
static PENDING: AtomicUsize = AtomicUsize::new(0);
/// How often a thread that ends a communicator looks whether one of those has come.
const LOOK: Duration = Duration::from_millis(5);

impl State {
    fn has_jobs(&self) -> bool {
        self.is_busy || !self.jobs.is_empty() || !self.runs.is_empty()
    }

    /// A job is done, or will never be.
    fn is_done(&mut self) {
        self.is_busy = false;
        PENDING.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Comm {
    /// A communicator of the current device, which begins when it has a place: by [`assign`](Self::assign). Until then it is in progress.
    pub(crate) fn start(
        hip: &'static hip_sys::Table,
        device: i32,
        blocking: bool,
    ) -> Result<(ncclComm_t, Arc<Self>)> {
        Self::start_in(Phase::Starting, hip, device, blocking)
    }

    /// As [`start`](Self::start); until it has a place, nothing of it is in progress.
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

    /// Takes a handle away.
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

    /// Its rank and how many there are, once it knows.
    pub(crate) fn place(&self) -> Result<&Place> {
        self.place.get().ok_or_else(|| Failure::usage("the communicator is not ready"))
    }

    /// Says what a communicator is that was started without a place.
    pub(crate) fn assign(&self, place: Place) {
        let mut state = self.lock();
        state.place = Some(place);
        if state.phase == Phase::Deferred {
            state.phase = Phase::Starting;
        }
        self.changed.notify_all();
    }

    /// Blocks until all ranks have come, or will not.
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

    /// What has become of it: `ncclInProgress` while it starts, or ends without blocking.
    pub(crate) fn status(&self) -> Result<ncclResult_t> {
        let state = self.lock();
        if let Some(failure) = self.failure_of(&state) {
            return Err(failure);
        }
        let ends = state.is_closed && state.has_jobs();
        let in_progress = state.phase == Phase::Starting || ends;
        Ok(if in_progress { ncclResult_t::ncclInProgress } else { ncclResult_t::ncclSuccess })
    }

    /// The communicator is of no more use.
    pub(crate) fn fail(&self, failure: Failure, reason: Reason) {
        tracing::warn!(code = ?failure.code, "a communicator has failed: {}", failure.text);
        self.lock().failure.get_or_insert(failure);
        if let Some(segment) = self.segment.get() {
            segment.break_up(reason, segment.rank);
        }
        self.changed.notify_all();
    }

    /// Takes no more operations. Graphs that have been launched before are waited for in the order of operations.
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

    /// Takes no more operations. With `wait`, blocks until those that there are are done.
    pub(crate) fn finalize(self: &Arc<Self>, wait: bool) -> Result {
        self.close();
        let mut state = self.lock();
        while wait && state.failure.is_none() && state.has_jobs() {
            state = self.wait(state);
        }
        self.failure_of(&state).map_or(Ok(()), Err)
    }

    /// Takes no more operations, and blocks until the other ranks know that this one has left, and nothing uses the program's memory any
    /// more.
    ///
    /// HIP then releases the worker's memory, once no stream of the device has anything to do. That is waited for as well, unless an
    /// operation of this process is pending: its stream waits for other ranks, one of which may be this very thread's to serve.
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

    /// Gives up everything that is not done. What has ended the communicator before stays its failure, whether or not the worker has seen
    /// that.
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

    /// Remembers memory, and returns a handle, which is never 0.
    pub(crate) fn register(&self, how: Registered) -> usize {
        let mut state = self.lock();
        let handle = state.registered.keys().max().map_or(1, |last| last + 1);
        state.registered.insert(handle, how);
        handle
    }

    /// Forgets it. False if it was not registered so.
    pub(crate) fn deregister(&self, handle: usize, how: Registered) -> bool {
        let mut state = self.lock();
        let is_there = state.registered.get(&handle) == Some(&how);
        if is_there {
            state.registered.remove(&handle);
        }
        is_there
    }

    /// The id of what the same ranks make next by `ncclCommShrink`.
    pub(crate) fn shrunk_id(&self, id: &Id, rest: u64) -> Id {
        let mut state = self.lock();
        state.shrinks += 1;
        id.part(&[2, state.shrinks, rest])
    }

    /// Enqueues the making of parts of this communicator.
    pub(crate) fn split(self: &Arc<Self>, color: i32, key: i32, child: Option<Arc<Self>>) {
        self.take_turn(|turn| Job::Split { turn, color, key, child });
    }

    /// Enqueues what is on no stream of the program's: its turn is after the launches of graphs so far.
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

    /// Gives the worker a job, which begins when its streams have come. Its number is what streams wait for.
    pub(crate) fn push(&self, job: Job) -> u64 {
        let mut state = self.lock();
        state.sequence += 1;
        let number = state.sequence;
        if state.is_closed {
            // Another thread has ended the communicator meanwhile: nobody would do it.
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

    /// The number of the last job that was enqueued.
    pub(crate) fn sequence(&self) -> u64 {
        self.lock().sequence
    }

    /// Gives the worker a run of a graph. False if there is no worker any more.
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

    /// The order of operations, which begins now if it has not.
    ///
    /// The communicator's device is current, and this thread's mode of captures is relaxed.
    pub(crate) fn start_order(&self) -> Result {
        if self.order.get().is_none() {
            let order = Order::new(self.hip, self.device)?;
            self.order.get_or_init(|| order);
        }
        Ok(())
    }

    /// The order of operations, if any has been captured.
    pub(crate) fn order(&self) -> Option<&Order> {
        self.order.get()
    }

    /// Has a stream tell when it comes to a batch.
    ///
    /// # Safety
    /// The stream is null or a live one, and the communicator's device is current.
    pub(crate) unsafe fn announce(self: &Arc<Self>, batch: &Arc<Batch>, stream: hipStream_t) -> Result {
        let data = Box::into_raw(Box::new((self.clone(), batch.clone()))).cast();
        // SAFETY: the caller vouches for the stream; the callback takes what the pointer is, once.
        let added = unsafe { hip!(self.hip, hipStreamAddCallback(stream, Some(arrived), data, 0)) };
        if added.is_err() {
            // SAFETY: HIP has refused the pointer, which is this function's again.
            drop(unsafe { Box::from_raw(data.cast::<(Arc<Self>, Arc<Batch>)>()) });
        }
        added
    }

    /// Has what follows on a stream wait for a batch.
    ///
    /// # Safety
    /// As [`announce`](Self::announce).
    pub(crate) unsafe fn hold(&self, number: u64, stream: hipStream_t) -> Result {
        // SAFETY: the caller's promise.
        unsafe { self.word.wait_on(self.hip, stream, number) }
    }

    /// The worker's thread.
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
        // The others have to know before HIP is asked for anything that waits for streams: theirs may wait for this rank.
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
            // What the program captures meanwhile is no reason to refuse copies. The mode is this thread's, which ends with it.
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
            // It came before there was anything that others could see it in.
            segment.break_up(Reason::Aborted, segment.rank);
        }
        segment.wait_for_all(role, deadline)?;
        Machine::new(self.hip, segment.clone(), copies)
    }

    /// Does one job after the other, until the communicator is closed. Without a machine, all of them fail.
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

    /// The next job that can be done, and what the word reaches with it; none if there will be none.
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
        machine.ok_or_else(|| Failure::usage("the communicator has not come together"))
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
        // SAFETY: the program has passed the addresses for this, and leaves the memory alone until its streams have gone on.
        unsafe { machine.run(work) }
    }

    /// Finds out what this rank is among those of its color, in the order of their keys.
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
            return Err(Failure::remote("another rank has written over what this one has said"));
        };
        let id = place.id.part(&[1, machine.operations(), color as u64]);
        Ok(Some(Place { id, rank, ranks: same.len() }))
    }
}

/// What a stream calls when it comes to a batch, or has failed before.
unsafe extern "C" fn arrived(_stream: hipStream_t, status: hipError_t, data: *mut c_void) {
    // SAFETY: `announce` has passed such a box, and HIP calls this once for it.
    let (comm, batch) = *unsafe { Box::from_raw(data.cast::<(Arc<Comm>, Arc<Batch>)>()) };
    let failure = check("a stream has failed before the operation's turn", status).err();
    batch.arrive(failure);
    // The worker looks with the lock held: it has either seen the arrival, or waits.
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

/// Keeps this thread's current device as it is while the communicator's is.
pub(crate) fn current(comm: &Comm) -> Result<Current> {
    Current::set(comm.hip, comm.device)
}
