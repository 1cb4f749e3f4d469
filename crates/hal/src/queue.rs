//! Queue operations: each waits for values of semaphores, and signals others when it is done.

use std::sync::Arc;

use crate::block::Submission as Packets;
use crate::command::{CommandBuffer, Place};
use crate::context::Context;
use crate::core::{Core, Kept, Point};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::events;
use crate::file::{FileRange, Transfer, Way};
use crate::memory::import::Memory;
use crate::memory::{Buffer, MemoryKind, RingStatistics};
use crate::operation::{Signals, fail_all, hold, submitted};
use crate::semaphore::{Awaited, Need, Shared, Value, When, awaited, when_all};
use crate::spans::within;
use crate::worker::{self, Job};

/// The span of a queue's operation.
macro_rules! span {
    ($queue:expr, $name:literal $(, $($field:tt)*)?) => {
        tracing::trace_span!(
            target: "hal::queue",
            $name,
            queue = $queue.number(),
            error = tracing::field::Empty,
            $($($field)*)?
        )
    };
}

/// A queue of one GPU of a device. Clones are the same.
///
/// Operations on one queue begin in the order in which they are given, once what they wait for is known to
/// come. Only semaphores order them otherwise.
///
/// # Errors
/// An operation is refused for a wrong argument, and then nothing happens. Whatever fails otherwise fails the
/// semaphores that the operation signals, with the same error: a semaphore that it waits for, before or after
/// the call; its queue, unless the operation has begun; its own work. If the queue has stopped already, the
/// call returns that error, too.
#[derive(Clone, Debug)]
pub struct Queue {
    pub(crate) device: Device,
    pub(crate) member: usize,
    pub(crate) core: Arc<Core>,
}

/// What a submission does on the device.
enum Work {
    Nothing,
    Commands(CommandBuffer, Vec<(Buffer, u64)>),
}

/// Work for the device.
struct Submission {
    queue: Queue,
    waits: Vec<Awaited>,
    work: Work,
}

impl Queue {
    /// The number of the queue, unique in the process.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.core.number()
    }

    /// Its GPU, as a number among those of the device.
    #[must_use]
    pub fn member(&self) -> usize {
        self.member
    }

    /// Its device.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    fn context(&self) -> &Arc<Context> {
        self.device.context()
    }

    /// The error that ended the queue, if any.
    #[must_use]
    pub fn failure(&self) -> Option<Error> {
        self.core.failure()
    }

    /// What its ring of arguments has, if a submission has needed it. It is made when a command buffer with
    /// bindings or indirect dispatches is first submitted; without [`Options::ring`](crate::Options::ring),
    /// there is none.
    ///
    /// # Errors
    /// Why HSA could not map the ring's memory. Arguments then come from the pool.
    pub fn ring(&self) -> Result<Option<RingStatistics>> {
        self.core.arguments.statistics()
    }

    /// Begins an operation, which the caller has checked. `go` cannot refuse it any more.
    fn accept<T>(&self, signals: &[Value<'_>], go: impl FnOnce() -> T) -> Result<T> {
        match self.failure() {
            Some(error) => {
                fail_all(signals.iter().copied(), &error);
                Err(error)
            }
            None => Ok(go()),
        }
    }

    /// Submits work for the device: at once, or when it can wait for everything before it. Nothing is kept of
    /// what can run at once.
    fn submit(
        &self,
        waits: &[Value<'_>],
        signals: &[Value<'_>],
        at_once: impl FnOnce(&[Point]) -> Result<Point>,
        later: impl FnOnce() -> Work,
    ) -> Result<()> {
        self.accept(signals, || {
            let values = waits.iter().map(|(semaphore, value)| (semaphore.shared(), *value));
            match points(&self.core, values) {
                Ok(Before::Points(points)) => submitted(signals.iter().copied(), at_once(&points)),
                _ => Submission::new(self, waits, later()).start(Signals::of(signals)),
            }
        })
    }

    /// Signals once everything that it waits for has come, and all earlier work of this queue is done.
    ///
    /// # Errors
    /// The queue has stopped.
    pub fn barrier(&self, waits: &[Value<'_>], signals: &[Value<'_>]) -> Result<()> {
        let span = span!(self, "barrier");
        within(span, || self.submit(waits, signals, |points| self.mark(points), || Work::Nothing))
    }

    /// Runs recorded commands, with a buffer for each slot, from an offset on.
    ///
    /// # Errors
    /// The commands are of another GPU, or one-shot and submitted before, the binding table does not fit, or
    /// the queue has stopped.
    pub fn execute(
        &self,
        commands: &CommandBuffer,
        bindings: &[(Buffer, u64)],
        waits: &[Value<'_>],
        signals: &[Value<'_>],
    ) -> Result<()> {
        let span = span!(self, "execute");
        within(span, || {
            commands.check(self.context(), self.member, bindings)?;
            let at_once = |points: &[Point]| self.run(commands, bindings, points);
            self.submit(waits, signals, at_once, || Work::Commands(commands.clone(), bindings.to_vec()))
        })
    }

    /// Calls a function on the device's host thread, once everything that it waits for has come. If it
    /// returns an error or panics, the semaphores fail.
    ///
    /// # Errors
    /// The queue has stopped.
    pub fn call(
        &self,
        waits: &[Value<'_>],
        signals: &[Value<'_>],
        function: impl FnOnce() -> Result<()> + Send + 'static,
    ) -> Result<()> {
        let span = span!(self, "call");
        within(span, || {
            let device = self.device.clone();
            self.on_host(waits, signals, function, move |job| device.on_host(job), guarded)
        })
    }

    /// Reads a part of a file to a place of a buffer, on the device's thread for files.
    ///
    /// If the file ends before the part does, or the system has an error, the semaphores fail with
    /// [`Error::File`]; what was read until then is in the buffer.
    ///
    /// # Errors
    /// A range is outside its buffer or of no possible file, the place is a binding, the buffer belongs to
    /// another device, or the queue has stopped.
    pub fn read(
        &self,
        from: FileRange<'_>,
        to: Place<'_>,
        waits: &[Value<'_>],
        signals: &[Value<'_>],
    ) -> Result<()> {
        let span = span!(self, "read");
        within(span, || self.transfer(Transfer::new(self.context(), Way::Read, from, to)?, waits, signals))
    }

    /// Writes a part of a file from a place of a buffer, on the device's thread for files. The file grows if
    /// it has to. When the semaphores have their values, the system has the bytes, but perhaps not the disk.
    ///
    /// If the system has an error, the semaphores fail with [`Error::File`].
    ///
    /// # Errors
    /// As for [`read`](Self::read).
    pub fn write(
        &self,
        from: Place<'_>,
        to: FileRange<'_>,
        waits: &[Value<'_>],
        signals: &[Value<'_>],
    ) -> Result<()> {
        let span = span!(self, "write");
        within(span, || self.transfer(Transfer::new(self.context(), Way::Write, to, from)?, waits, signals))
    }

    fn transfer(&self, transfer: Transfer, waits: &[Value<'_>], signals: &[Value<'_>]) -> Result<()> {
        let device = self.device.clone();
        let run = |transfer: Transfer| {
            let done = transfer.run();
            worker::let_go(transfer);
            done
        };
        self.on_host(waits, signals, transfer, move |job| device.on_files(job), run)
    }

    /// Does something on a thread of the host, once everything that it waits for has come.
    fn on_host<T: Send + 'static>(
        &self,
        waits: &[Value<'_>],
        signals: &[Value<'_>],
        work: T,
        on_thread: impl FnOnce(Job) + Send + 'static,
        run: impl FnOnce(T) -> Result<()> + Send + 'static,
    ) -> Result<()> {
        self.accept(signals, || {
            let owed = (Signals::of(signals), work);
            hold(&self.core, awaited(waits), When::Reached, owed, move |held| {
                on_thread(Box::new(move || {
                    if let Some((signals, work)) = held.begin() {
                        signals.done(run(work));
                    }
                }));
            });
        })
    }

    /// Gives a buffer that later work can use before its memory is free: it takes memory once everything that
    /// it waits for is promised, and signals when its memory may be used. If the pool is at its limit, that
    /// is when [`deallocate`](Self::deallocate) has given enough back.
    ///
    /// # Errors
    /// The size is 0, or the queue has stopped.
    pub fn allocate(
        &self,
        kind: MemoryKind,
        size: u64,
        waits: &[Value<'_>],
        signals: &[Value<'_>],
    ) -> Result<Pending> {
        let span = span!(self, "allocate", ?kind, size,);
        within(span, || {
            self.device.check_size(size)?;
            self.accept(signals, || {
                let slot: Pending = Pending::default();
                let pool = self.device.pool(kind, self.member).clone();
                let submission = Submission::new(self, waits, Work::Nothing);
                let owed = (Signals::of(signals), (submission, slot.clone()));
                hold(&self.core, awaited(waits), When::Promised, owed, move |held| {
                    pool.take_later(size, move |piece| {
                        let Some((signals, (submission, slot))) = held.begin() else { return };
                        let context = submission.queue.context();
                        let member = submission.queue.member;
                        let buffer =
                            piece.and_then(|piece| Buffer::new(context, kind, member, Memory::Piece(piece)));
                        match buffer {
                            Ok(buffer) => {
                                slot.set(buffer);
                                submission.start(signals);
                            }
                            Err(error) => signals.fail(&error),
                        }
                    });
                });
                slot
            })
        })
    }

    /// Lets go of a buffer once everything that it waits for has come. Its memory is free when no other clone
    /// of it is left.
    ///
    /// # Errors
    /// The buffer belongs to another device, or the queue has stopped.
    pub fn deallocate(&self, buffer: Buffer, waits: &[Value<'_>], signals: &[Value<'_>]) -> Result<()> {
        let span = span!(self, "deallocate");
        within(span, || {
            self.context().is_same(buffer.context(), "the buffer")?;
            when_all(awaited(waits), When::Reached, move |come| match come {
                Ok(()) => worker::let_go(buffer),
                // This may be HSA's own thread.
                Err(_) => events::let_go(buffer),
            });
            self.submit(waits, signals, |points| self.mark(points), || Work::Nothing)
        })
    }

    /// The end of everything so far, and of what is before it.
    fn mark(&self, points: &[Point]) -> Result<Point> {
        // SAFETY: the packet names nothing.
        unsafe { self.core.submit(points, Packets::of(&[]), None, Box::new(())) }
    }

    /// Writes the packets of recorded commands.
    fn run(&self, commands: &CommandBuffer, bindings: &[(Buffer, u64)], points: &[Point]) -> Result<Point> {
        let prepared = Arc::new(commands.prepare(bindings, Some(&self.core))?);
        let kept = prepared.clone();
        // SAFETY: this is the only call. The command buffer holds code, buffers and arguments of its packets,
        // and is kept until they have been processed; who recorded a kernel has vouched for what it does.
        let end = unsafe {
            let submission = prepared.submission();
            self.core.submit(points, submission, prepared.recorded.described(), Box::new(kept))
        }?;
        if let Some(log) = &self.context().log {
            log.executed(prepared.recorded.number, bindings);
        }
        Ok(end)
    }
}

/// What is before a submission.
enum Before {
    /// The device can wait for it.
    Points(Vec<Point>),
    /// Work that another HSA implementation has: the host waits until it has ended.
    Elsewhere,
    /// A value that nobody has promised.
    Unknown,
}

fn points<'a>(core: &Core, waits: impl Iterator<Item = (&'a Arc<Shared>, u64)>) -> Result<Before> {
    let mut found = Before::Points(Vec::new());
    for (semaphore, value) in waits {
        match (semaphore.need(value)?, &mut found) {
            (Need::Nothing, _) => {}
            (Need::Unknown, _) => return Ok(Before::Unknown),
            (Need::Point(point), Before::Points(points)) if core.knows(point.core()) => points.push(point),
            (Need::Point(_), found) => *found = Before::Elsewhere,
        }
    }
    Ok(found)
}

impl Submission {
    fn new(queue: &Queue, waits: &[Value<'_>], work: Work) -> Self {
        Self { queue: queue.clone(), waits: awaited(waits), work }
    }

    /// Submits the work, once the device can wait for everything before it.
    fn start(self, signals: Signals) {
        let values = self.waits.iter().map(|(semaphore, value)| (semaphore, *value));
        match points(&self.queue.core, values) {
            Ok(Before::Points(points)) => signals.submitted(self.issue(&points)),
            Ok(Before::Elsewhere) => self.keep(signals, When::Reached),
            Ok(Before::Unknown) => match self.schedule(&signals) {
                Ok(true) => {}
                Ok(false) => self.keep(signals, When::Promised),
                Err(error) => signals.fail(&error),
            },
            Err(error) => signals.fail(&error),
        }
    }

    /// Starts it when everything before it is known to come, or has.
    fn keep(self, signals: Signals, when: When) {
        let (core, waits) = (self.queue.core.clone(), self.waits.clone());
        hold(&core, waits, when, (signals, self), |held| {
            if let Some((signals, submission)) = held.begin() {
                submission.start(signals);
            }
        });
    }

    /// Gives the work to the device's scheduler. Returns false if the host has to keep it.
    fn schedule(&self, signals: &Signals) -> Result<bool> {
        let Some(scheduler) = self.queue.device.scheduler(self.queue.member) else { return Ok(false) };
        let (core, waits, signals) = (&self.queue.core, &self.waits, signals.values());
        match &self.work {
            Work::Nothing => {
                // SAFETY: the packets name nothing.
                unsafe {
                    scheduler.schedule(core, waits, signals, 0, |finish| {
                        Ok((finish(Packets::of(&[])), Box::new(()) as Kept))
                    })
                }
            }
            Work::Commands(commands, bindings) => {
                // SAFETY: this is the only call for what is prepared, which holds code, buffers and arguments
                // of the packets; who recorded a kernel has vouched for what it does.
                unsafe {
                    scheduler.schedule(core, waits, signals, commands.packets(), |finish| {
                        let prepared = Arc::new(commands.prepare(bindings, None)?);
                        Ok((finish(prepared.submission()), Box::new(prepared) as Kept))
                    })
                }
            }
        }
    }

    fn issue(&self, points: &[Point]) -> Result<Point> {
        match &self.work {
            Work::Nothing => self.queue.mark(points),
            Work::Commands(commands, bindings) => self.queue.run(commands, bindings, points),
        }
    }
}

/// Runs foreign code; a panic is an error.
fn guarded(function: impl FnOnce() -> Result<()>) -> Result<()> {
    let _span = timeline::Span::enter("hal", "host call");
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(function))
        .unwrap_or_else(|_| Err(Error::Failed("a host call panicked".into())))
}

/// A buffer that [`Queue::allocate`] will have.
#[derive(Clone, Default, Debug)]
pub struct Pending {
    buffer: Arc<std::sync::OnceLock<Buffer>>,
}

impl Pending {
    fn set(&self, buffer: Buffer) {
        let _ = self.buffer.set(buffer);
    }

    /// The buffer, if it has memory: at the latest when a semaphore of its allocation has its value.
    #[must_use]
    pub fn get(&self) -> Option<Buffer> {
        self.buffer.get().cloned()
    }
}
