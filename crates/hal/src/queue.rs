//! Queue operations: each waits for values of semaphores, and signals others when it is done.

use std::sync::Arc;

use crate::block::Submission as Packets;
use crate::command::{CommandBuffer, Place};
use crate::context::Context;
use crate::core::{Core, Kept, Point};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::file::{FileRange, Transfer, Way};
use crate::memory::import::Memory;
use crate::memory::{Buffer, MemoryKind, RingStatistics};
use crate::semaphore::{Need, Semaphore, Value, When, fail_all, owned, when_all};
use crate::spans::within;

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

struct Submission {
    queue: Queue,
    waits: Vec<(Semaphore, u64)>,
    signals: Vec<(Semaphore, u64)>,
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

    /// Signals once everything that it waits for has come, and all earlier work of this queue is done.
    ///
    /// # Errors
    /// The queue has stopped. Later failures are those of the semaphores.
    pub fn barrier(&self, waits: &[Value<'_>], signals: &[Value<'_>]) -> Result<()> {
        let span = span!(self, "barrier");
        within(span, || self.submit(waits, signals, Work::Nothing))
    }

    /// Runs recorded commands, with a buffer for each slot, from an offset on.
    ///
    /// # Errors
    /// The commands are of another GPU, the binding table does not fit, or the queue has stopped. Later
    /// failures are those of the semaphores.
    pub fn execute(
        &self,
        commands: &CommandBuffer,
        bindings: &[(Buffer, u64)],
        waits: &[Value<'_>],
        signals: &[Value<'_>],
    ) -> Result<()> {
        let span = span!(self, "execute");
        within(span, || {
            let recorded = commands.recorded();
            self.context().is_same(&recorded.context, "the command buffer")?;
            if recorded.member != self.member {
                return Err(Error::OtherDevice("the command buffer"));
            }
            // Nothing has to be kept of what can run at once.
            let submission = |points: &[Point]| self.run(commands, bindings, points);
            if let Some(points) = points(waits)? {
                let end = submission(&points)?;
                promise(signals.iter().copied(), &end);
                return Ok(());
            }
            self.submit(waits, signals, Work::Commands(commands.clone(), bindings.to_vec()))
        })
    }

    /// Calls a function on the device's host thread, once everything that it waits for has come. If it
    /// returns an error, the semaphores fail with it.
    ///
    /// # Errors
    /// The device has no host thread.
    pub fn call(
        &self,
        waits: &[Value<'_>],
        signals: &[Value<'_>],
        function: impl FnOnce() -> Result<()> + Send + 'static,
    ) -> Result<()> {
        let span = span!(self, "call");
        within(span, || {
            let (waits, signals) = (owned(waits), owned(signals));
            let device = self.device.clone();
            when_all(waits, When::Reached, move |ready| {
                device.on_host(Box::new(move || end(&signals, ready.and_then(|()| guarded(function)))));
            });
            Ok(())
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
        if let Some(error) = self.failure() {
            return Err(error);
        }
        let (signals, device) = (owned(signals), self.device.clone());
        when_all(owned(waits), When::Reached, move |ready| match ready {
            Ok(()) => device.on_files(Box::new(move || end(&signals, transfer.run()))),
            Err(error) => fail_all(&signals, &error),
        });
        Ok(())
    }

    /// Gives a buffer that later work can use before its memory is free: it takes memory once everything that
    /// it waits for is promised, and signals when its memory may be used. If the pool is at its limit, that
    /// is when [`deallocate`](Self::deallocate) has given enough back.
    ///
    /// # Errors
    /// The size is 0. Later failures are those of the semaphores.
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
            let slot: Pending = Pending::default();
            let (queue, all, signals) = (self.clone(), owned(waits), owned(signals));
            let pool = self.device.pool(kind, self.member).clone();
            let place = slot.clone();
            when_all(owned(waits), When::Promised, move |ready| {
                if let Err(error) = ready {
                    fail_all(&signals, &error);
                    return;
                }
                let context = queue.context().clone();
                pool.take_later(size, move |piece| match piece {
                    Ok(piece) => {
                        match Buffer::new(&context, kind, queue.member, Memory::Piece(piece)) {
                            Ok(buffer) => place.set(buffer),
                            Err(error) => return fail_all(&signals, &error),
                        }
                        let submission = Submission { queue, waits: all, signals, work: Work::Nothing };
                        submission.start();
                    }
                    Err(error) => fail_all(&signals, &error),
                });
            });
            Ok(slot)
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
            when_all(owned(waits), When::Reached, move |_| drop(buffer));
            self.submit(waits, signals, Work::Nothing)
        })
    }

    fn submit(&self, waits: &[Value<'_>], signals: &[Value<'_>], work: Work) -> Result<()> {
        if let Some(error) = self.failure() {
            return Err(error);
        }
        let submission =
            Submission { queue: self.clone(), waits: owned(waits), signals: owned(signals), work };
        submission.start();
        Ok(())
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

/// The points that a submission has to wait for on the device; `None` if one of its values is unknown yet.
fn points(waits: &[Value<'_>]) -> Result<Option<Vec<Point>>> {
    let mut found = Vec::new();
    for (semaphore, value) in waits {
        match semaphore.need(*value)? {
            Need::Nothing => {}
            Need::Point(point) => found.push(point),
            Need::Unknown => return Ok(None),
        }
    }
    Ok(Some(found))
}

/// Promises values at the end of a submission.
fn promise<'a>(signals: impl Iterator<Item = Value<'a>>, end: &Point) {
    for (semaphore, value) in signals {
        semaphore.promise(value, end.clone());
    }
}

impl Submission {
    /// Submits the work, once the device can wait for everything before it.
    fn start(self) {
        let waits: Vec<Value<'_>> = self.waits.iter().map(|(semaphore, value)| (semaphore, *value)).collect();
        let done = match points(&waits) {
            Ok(Some(points)) => self.issue(&points),
            Ok(None) => {
                match self.schedule() {
                    Ok(true) => return,
                    Ok(false) => {}
                    Err(error) => return fail_all(&self.signals, &error),
                }
                let waits = self.waits.clone();
                when_all(waits, When::Promised, move |result| match result {
                    Ok(()) => self.start(),
                    Err(error) => fail_all(&self.signals, &error),
                });
                return;
            }
            Err(error) => Err(error),
        };
        if let Err(error) = done {
            fail_all(&self.signals, &error);
        }
    }

    /// Gives the work to the device's scheduler. Returns false if the host has to keep it.
    fn schedule(&self) -> Result<bool> {
        let Some(scheduler) = self.queue.device.scheduler(self.queue.member) else { return Ok(false) };
        let (core, waits, signals) = (&self.queue.core, &self.waits, &self.signals);
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
                // SAFETY: this is the only call for what is prepared, which holds code, buffers and arguments of
                // the packets; who recorded a kernel has vouched for what it does.
                unsafe {
                    scheduler.schedule(core, waits, signals, commands.packets(), |finish| {
                        let prepared = Arc::new(commands.prepare(bindings, None)?);
                        Ok((finish(prepared.submission()), Box::new(prepared) as Kept))
                    })
                }
            }
        }
    }

    fn issue(&self, points: &[Point]) -> Result<()> {
        let end = match &self.work {
            Work::Nothing => {
                // SAFETY: the packet names nothing.
                unsafe { self.queue.core.submit(points, Packets::of(&[]), None, Box::new(())) }?
            }
            Work::Commands(commands, bindings) => self.queue.run(commands, bindings, points)?,
        };
        promise(self.signals.iter().map(|(semaphore, value)| (semaphore, *value)), &end);
        Ok(())
    }
}

/// Signals the end of work of the host, or its failure.
fn end(signals: &[(Semaphore, u64)], done: Result<()>) {
    let signal = |(semaphore, value): &(Semaphore, u64)| semaphore.signal(*value);
    if let Err(error) = done.and_then(|()| signals.iter().try_for_each(signal)) {
        fail_all(signals, &error);
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
