//! What is in the list, as the host has it.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use hsa_sys::hsa_signal_t;

use super::Scheduler;
use super::cell::Cell;
use crate::core::{Core, Kept, PointState};
use crate::dependants::Dependant;
use crate::error::{Error, Result};
use crate::events;
use crate::memory::pool::Piece;
use crate::semaphore::{Awaited, Semaphore, Shared};

/// Work that the device issues, or a promise of work that the host has issued.
pub(crate) struct Entry {
    pub(super) scheduler: Arc<Scheduler>,
    pub(super) number: u64,
    /// The queue of the work.
    pub(super) core: Arc<Core>,
    /// The work, unless this is a promise.
    pub(super) work: Option<Work>,
    /// The cells that the device reads and writes.
    pub(super) _cells: Vec<Arc<Cell>>,
    /// What the slot leads to.
    pub(super) _memory: Piece,
}

/// The host's part of work.
pub(super) struct Work {
    /// Its last packet decrements it from 1 to 0.
    pub(super) end: hsa_signal_t,
    /// Semaphores that it waits for.
    pub(super) _waits: Vec<Awaited>,
    pub(super) signals: Vec<(Semaphore, u64)>,
    /// What its packets use.
    pub(super) kept: Mutex<Option<Kept>>,
    /// Why it never ends.
    pub(super) failure: OnceLock<Error>,
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "entry {}", self.number)
    }
}

/// The value of `end` when the work never ends.
const FAILED: i64 = -1;

impl Entry {
    /// Whether the work has ended.
    pub(crate) fn state(&self) -> PointState {
        let Some(work) = &self.work else { return PointState::Done };
        match work.failure.get() {
            Some(error) => PointState::Failed(error.clone()),
            None if self.scheduler.calls.signal_load(work.end) == 0 => PointState::Done,
            None => PointState::Pending,
        }
    }

    /// Waits until it has ended or failed, or the time has passed.
    pub(crate) fn wait(&self, limit: Duration) {
        let Some(work) = &self.work else { return };
        let calls = self.scheduler.calls;
        let frequency = calls.timestamp_frequency().max(1);
        let ticks = (limit.as_nanos() * u128::from(frequency) / 1_000_000_000) as u64;
        calls.signal_wait_less(work.end, 1, ticks, false);
    }

    /// Has a semaphore looked at once the work has ended or failed.
    pub(crate) fn notify(self: &Arc<Self>, semaphore: Weak<Shared>) -> Result<()> {
        let entry = self.clone();
        self.when_ended(move || events::look(semaphore, entry))
    }

    /// Does something on HSA's thread once the work has ended or failed. It holds the entry, whose signal
    /// that is.
    pub(super) fn when_ended(&self, then: impl FnOnce() + Send + 'static) -> Result<()> {
        match &self.work {
            Some(work) => self.scheduler.calls.when_less(work.end, 1, Box::new(then)),
            None => Ok(()),
        }
    }

    /// Something that it waits for has failed: if the device has not issued it, it never will.
    pub(crate) fn cancel(self: &Arc<Self>, error: &Error) {
        if self.scheduler.withdraw(self) {
            self.fail(error, false);
        }
    }

    /// Ends it with an error, unless it has ended.
    fn fail(&self, error: &Error, is_issued: bool) {
        let calls = self.scheduler.calls;
        if let Some(work) = &self.work
            && calls.signal_load(work.end) > 0
            && work.failure.set(error.clone()).is_ok()
        {
            if is_issued {
                // The stopped queue may still use it.
                let kept = work.kept.lock().unwrap_or_else(PoisonError::into_inner).take();
                self.core.keep(Box::new(kept));
            }
            calls.signal_store(work.end, FAILED);
            work.signals.iter().for_each(|(semaphore, _)| semaphore.fail(error.clone()));
        }
        self.scheduler.kicks.kick();
    }

    /// Takes over into its semaphores what it has done.
    pub(super) fn settle(&self) {
        for (semaphore, _) in self.work.iter().flat_map(|work| &work.signals) {
            semaphore.shared().poll();
        }
    }
}

impl Dependant for Entry {
    fn queue_failed(self: Arc<Self>, error: &Error) {
        // Withdrawn or issued, it does not end: the queue processes no more packets.
        let is_issued = !self.scheduler.withdraw(&self);
        self.fail(error, is_issued);
    }
}
