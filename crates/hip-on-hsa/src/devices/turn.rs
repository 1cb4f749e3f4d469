//! Decides what an operation of a stream waits for; no other code does.
//!
//! An operation comes after all earlier work of its stream. The null stream and the blocking streams of a
//! device are also ordered with each other, and if their copies and fills use another device's memory, they
//! are ordered with the work of that device's null stream, too.
//!
//! There are two ways to do an operation, and both lead through [`Order`]: write it to the stream's queue
//! ([`Order::submit`] and functions built on it), behind packets that wait; or let the host do it at once.
//! For the latter, code that uses a program's memory takes a [`Turn`], which exists only when nothing is left
//! to wait for.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hip_sys::hipError_t;

use crate::devices::device::Device;
use crate::devices::stream::{Role, Stream};
use crate::error::Result;
use crate::queue::marker::Marker;
use crate::queue::progress::Progress;
use crate::queue::submitter::Submitter;
use crate::queue::worker::{Job, Worker};
use crate::runtime::Runtime;

/// Proof that everything before an operation has ended. Code that does an operation on the host requires it.
#[must_use]
pub(crate) struct Turn(());

/// The number of a stream's submissions, and how much of other streams' work it is ordered behind.
#[derive(Default)]
pub(super) struct Submissions {
    /// Submissions so far.
    count: AtomicU64,
    /// `count` of the null stream that this stream is ordered behind.
    seen_null: AtomicU64,
    /// `count` of this stream that the null stream is ordered behind.
    seen_by_null: AtomicU64,
}

/// Unfinished work of another stream that an operation has to wait for.
struct Predecessor {
    marker: Arc<Marker>,
    /// What to record once the wait is written.
    seen: Option<Seen>,
}

/// Records that one stream is ordered behind a number of submissions of another.
struct Seen {
    /// The stream that keeps the number, if that is not the stream of the operation.
    keeper: Option<Arc<Stream>>,
    count: u64,
}

impl Seen {
    fn note(&self, own: &Stream) {
        let place = match &self.keeper {
            Some(keeper) => &keeper.submissions.seen_by_null,
            None => &own.submissions.seen_null,
        };
        place.fetch_max(self.count, Ordering::AcqRel);
    }
}

/// The position of an operation that is submitted now.
pub(crate) struct Order<'s> {
    stream: &'s Stream,
    /// Other devices whose memory it uses.
    foreign: [Option<&'static Device>; 2],
}

impl Stream {
    /// The position of a copy or fill that uses memory of these devices.
    pub(crate) fn order_with(&self, memory: [Option<&'static Device>; 2]) -> Order<'_> {
        let is_foreign = |device: &&'static Device| !std::ptr::eq(*device, self.device);
        // Non-blocking streams are not ordered with null streams.
        let foreign = memory.map(|device| device.filter(|_| self.is_blocking()).filter(is_foreign));
        Order { stream: self, foreign }
    }

    /// The position of an operation that uses no other device's memory.
    pub(crate) fn order(&self) -> Order<'_> {
        self.order_with([None; 2])
    }

    /// See [`Order::submit`].
    pub(crate) fn submit<T>(
        &self,
        runtime: &'static Runtime,
        work: impl FnOnce(&mut Submitter) -> Result<T>,
    ) -> Result<T> {
        self.order().submit(runtime, work)
    }

    /// See [`Order::run_on_host`].
    pub(crate) fn run_on_host(
        &self,
        runtime: &'static Runtime,
        blocks: bool,
        run: impl FnOnce(Result<Turn>) + Send + 'static,
    ) -> Result {
        self.order().run_on_host(runtime, blocks, run)
    }

    /// See [`Order::run_in_turn`].
    pub(crate) fn run_in_turn(
        &self,
        runtime: &'static Runtime,
        blocks: bool,
        run: impl FnOnce(Result<Turn>, &Arc<Progress>) + Send + 'static,
    ) -> Result {
        self.order().run_in_turn(runtime, blocks, run)
    }

    /// Waits for everything submitted so far; on the null stream, also for the work of blocking streams.
    pub(super) fn wait_for_work(&self, runtime: &'static Runtime) -> Result {
        match self.role {
            Role::Null => self.order().wait(runtime),
            _ => self.wait_for_own_work(runtime),
        }
    }

    /// Whether [`wait_for_work`](Self::wait_for_work) had nothing to wait for.
    pub(super) fn has_done_work(&self, runtime: &'static Runtime) -> Result<bool> {
        match self.role {
            Role::Null => self.order().has_come(runtime),
            _ => self.has_done_own_work(runtime),
        }
    }
}

impl Order<'_> {
    /// The unfinished work of other streams that the operation comes after.
    fn predecessors(&self, runtime: &'static Runtime) -> Result<Vec<Predecessor>> {
        let own = self.stream;
        let mut found = Vec::new();
        let mut add = |other: &Stream, seen: Option<Seen>| -> Result {
            match (other.tail(runtime)?, seen) {
                (Some(marker), seen) => found.push(Predecessor { marker, seen }),
                (None, Some(seen)) => seen.note(own),
                (None, None) => {}
            }
            Ok(())
        };
        if own.role == Role::Null {
            own.device.visit_blocking(|stream| {
                // Read the number first: work submitted in between is then waited for once more than
                // necessary.
                let count = stream.submissions.count.load(Ordering::Acquire);
                if count == stream.submissions.seen_by_null.load(Ordering::Acquire) {
                    return Ok(());
                }
                add(stream, Some(Seen { keeper: Some(stream.clone()), count }))
            })?;
        } else if own.is_blocking()
            && let Some(null) = own.device.null_stream_if_used()
        {
            let count = null.submissions.count.load(Ordering::Acquire);
            if count != own.submissions.seen_null.load(Ordering::Acquire) {
                add(null, Some(Seen { keeper: None, count }))?;
            }
        }
        for device in self.foreign.iter().flatten() {
            if let Some(null) = device.null_stream_if_used() {
                add(null, None)?;
            }
        }
        Ok(found)
    }

    /// Writes the operation to the stream's queue, behind what it comes after.
    pub(crate) fn submit<T>(
        &self,
        runtime: &'static Runtime,
        work: impl FnOnce(&mut Submitter) -> Result<T>,
    ) -> Result<T> {
        self.submit_with(runtime, |submitter, _| work(submitter))
    }

    fn submit_with<T>(
        &self,
        runtime: &'static Runtime,
        work: impl FnOnce(&mut Submitter, &mut Option<Worker>) -> Result<T>,
    ) -> Result<T> {
        // Query other streams before locking this one: no thread ever holds two of these locks.
        let predecessors = self.predecessors(runtime)?;
        let submitted = self.submit_behind(runtime, predecessors, work);
        if submitted.is_ok() {
            self.precede_foreign(runtime)?;
        }
        submitted
    }

    fn submit_behind<T>(
        &self,
        runtime: &'static Runtime,
        predecessors: Vec<Predecessor>,
        work: impl FnOnce(&mut Submitter, &mut Option<Worker>) -> Result<T>,
    ) -> Result<T> {
        self.stream.with_submitter(runtime, |submitter, worker| {
            for Predecessor { marker, seen } in predecessors {
                submitter.wait_for(marker)?;
                if let Some(seen) = seen {
                    seen.note(self.stream);
                }
            }
            self.stream.submissions.count.fetch_add(1, Ordering::AcqRel);
            work(submitter, worker)
        })
    }

    /// Lets null streams of other devices whose memory the operation uses wait for it.
    fn precede_foreign(&self, runtime: &'static Runtime) -> Result {
        for device in self.foreign.iter().flatten() {
            let Some(end) = self.stream.tail(runtime)? else { return Ok(()) };
            let null = device.null_stream();
            null.with_submitter(runtime, |submitter, _| {
                null.submissions.count.fetch_add(1, Ordering::AcqRel);
                submitter.wait_for(end)
            })
            // The failed null stream's own calls report its failure.
            .or_else(|code| if null.failure().is_some() { Ok(()) } else { Err(code) })?;
        }
        Ok(())
    }

    /// Runs host code behind everything submitted so far. With `blocks`, later work waits for it.
    ///
    /// If the stream has failed, the code runs early and gets the failure instead of its turn.
    pub(crate) fn run_on_host(
        &self,
        runtime: &'static Runtime,
        blocks: bool,
        run: impl FnOnce(Result<Turn>) + Send + 'static,
    ) -> Result {
        self.run_in_turn(runtime, blocks, |turn, _| run(turn))
    }

    /// As [`run_on_host`](Self::run_on_host) for code that may fail the stream, or that ends early if the
    /// stream fails meanwhile.
    pub(crate) fn run_in_turn(
        &self,
        runtime: &'static Runtime,
        blocks: bool,
        run: impl FnOnce(Result<Turn>, &Arc<Progress>) + Send + 'static,
    ) -> Result {
        self.submit_with(runtime, |submitter, worker| {
            let worker = match worker {
                Some(worker) => worker,
                None => worker.insert(Worker::start()?),
            };
            let after = submitter.tail()?;
            let done =
                if blocks { Some(Arc::new(Marker::new(runtime, self.stream.device.agent)?)) } else { None };
            // The code comes last: once it may run, the call has succeeded.
            if let Some(done) = &done {
                submitter.wait_for_host(done.clone())?;
            }
            let progress = submitter.progress.clone();
            let run = move |failure: Option<hipError_t>| run(failure.map_or(Ok(Turn(())), Err), &progress);
            worker.send(Job { after, done: done.clone(), run: Box::new(run) }).inspect_err(|_| {
                if let Some(done) = &done {
                    done.complete(runtime);
                }
            })
        })
    }

    /// Submits the operation and waits for it. The work returns the fence that covers it.
    pub(crate) fn run(
        &self,
        runtime: &'static Runtime,
        work: impl FnOnce(&mut Submitter) -> Result<u64>,
    ) -> Result {
        let submitted = self.submit(runtime, |submitter| {
            let fence = work(submitter)?;
            Ok((submitter.progress.clone(), fence))
        });
        let done = submitted.and_then(|(progress, fence)| progress.wait(runtime, fence));
        self.stream.tell(runtime, done)
    }

    /// Waits for the turn of an operation that the host does. Returns a failure of the stream.
    pub(crate) fn await_turn(&self, runtime: &'static Runtime) -> Result<Turn> {
        self.stream.tell(runtime, self.wait(runtime)).map(Turn)
    }

    /// The turn of an operation that the host does, if there is nothing left to wait for.
    pub(crate) fn turn_now(&self, runtime: &'static Runtime) -> Option<Turn> {
        matches!(self.has_come(runtime), Ok(true)).then_some(Turn(()))
    }

    fn wait(&self, runtime: &'static Runtime) -> Result {
        let predecessors = self.predecessors(runtime)?;
        if predecessors.is_empty() {
            return self.stream.wait_for_own_work(runtime);
        }
        let (progress, fence) = self.submit_behind(runtime, predecessors, |submitter, _| {
            Ok((submitter.progress.clone(), submitter.fence()?))
        })?;
        progress.wait(runtime, fence)
    }

    fn has_come(&self, runtime: &'static Runtime) -> Result<bool> {
        Ok(self.predecessors(runtime)?.is_empty() && self.stream.has_done_own_work(runtime)?)
    }
}
