//! Operations of queues until their work begins, and the one way in which failures reach what waits for them.
//!
//! An operation is refused for a wrong argument, before anything happens, or accepted. From then on, each of
//! its semaphores gets its value or an error, whatever fails first: what it waits for, its queue, or its
//! work.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::core::{Core, Point};
use crate::dependants::Dependant;
use crate::error::{Error, Result};
use crate::events;
use crate::semaphore::{Awaited, Semaphore, Value, When, when_all};

/// What an operation signals.
pub(crate) struct Signals(Vec<(Semaphore, u64)>);

impl Signals {
    pub(crate) fn of(values: &[Value<'_>]) -> Self {
        Self(values.iter().map(|&(semaphore, value)| (semaphore.clone(), value)).collect())
    }

    pub(crate) fn values(&self) -> &[(Semaphore, u64)] {
        &self.0
    }

    fn borrowed(&self) -> impl Iterator<Item = Value<'_>> {
        self.0.iter().map(|(semaphore, value)| (semaphore, *value))
    }

    pub(crate) fn fail(&self, error: &Error) {
        fail_all(self.borrowed(), error);
    }

    /// The host has done the work, or could not.
    pub(crate) fn done(&self, done: Result<()>) {
        let signal = |(semaphore, value): Value<'_>| semaphore.signal(value);
        if let Err(error) = done.and_then(|()| self.borrowed().try_for_each(signal)) {
            self.fail(&error);
        }
    }

    /// The device does the work until a point, or it could not be submitted.
    pub(crate) fn submitted(&self, end: Result<Point>) {
        submitted(self.borrowed(), end);
    }
}

/// As [`Signals::submitted`], for work that is submitted at once.
pub(crate) fn submitted<'a>(signals: impl Iterator<Item = Value<'a>>, end: Result<Point>) {
    match end {
        Ok(end) => signals.for_each(|(semaphore, value)| semaphore.promise(value, end.clone())),
        Err(error) => fail_all(signals, &error),
    }
}

pub(crate) fn fail_all<'a>(signals: impl Iterator<Item = Value<'a>>, error: &Error) {
    signals.for_each(|(semaphore, _)| semaphore.fail(error.clone()));
}

/// An operation whose work has not begun. Whoever takes it first has it: what begins the work, or a failure.
pub(crate) struct Held<T>(Mutex<Option<(Signals, T)>>);

impl<T: Send + 'static> Held<T> {
    /// What is to be done now, unless the operation has failed.
    pub(crate) fn begin(&self) -> Option<(Signals, T)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Ends it with an error, unless it has begun.
    pub(crate) fn fail(&self, error: &Error) {
        if let Some((signals, work)) = self.begin() {
            // This may be HSA's own thread, which must not destroy a queue.
            events::let_go(work);
            signals.fail(error);
        }
    }
}

impl<T: Send + 'static> Dependant for Held<T> {
    fn queue_failed(self: Arc<Self>, error: &Error) {
        self.fail(error);
    }
}

/// Holds an operation of a queue, with what it works on, until what it waits for is promised or reached. If
/// that or the queue fails first, so do its semaphores, and `then` is not called.
pub(crate) fn hold<T: Send + 'static>(
    core: &Core,
    waits: Vec<Awaited>,
    when: When,
    (signals, work): (Signals, T),
    then: impl FnOnce(Arc<Held<T>>) + Send + 'static,
) {
    let held = Arc::new(Held(Mutex::new(Some((signals, work)))));
    let dependant: Weak<dyn Dependant> = Arc::<Held<T>>::downgrade(&held);
    core.dependants.add(dependant);
    // It may have failed before it knew of the operation.
    if let Some(error) = core.failure() {
        held.fail(&error);
    }
    when_all(waits, when, move |ready| match ready {
        Ok(()) => then(held),
        Err(error) => held.fail(&error),
    });
}
