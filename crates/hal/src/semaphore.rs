//! Timeline semaphores.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use crate::core::{Core, Point, PointState};
use crate::error::{Error, Result};
use crate::scheduler::{Cell, Entry, Scheduled, Scheduler};

/// How long a host waits for a device before it looks whether the semaphore has failed.
const SLICE: Duration = Duration::from_millis(5);

/// A number of 64 bits that only grows. Host and device wait until it has a value, and signal values.
///
/// Clones are the same semaphore. A semaphore fails if the work that should have signalled it fails: then all
/// waits for values that it has not reached end with that error. Operations that are to signal it have
/// clones, and those that wait for it have none: if the last clone is dropped, waits for values that no
/// submitted work will signal fail with [`Error::Abandoned`].
#[derive(Clone, Debug)]
pub struct Semaphore {
    handle: Arc<Handle>,
}

/// The right to signal.
#[derive(Debug)]
struct Handle {
    shared: Arc<Shared>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        let mut state = self.shared.polled();
        state.is_abandoned = true;
        self.shared.changed(state);
    }
}

#[derive(Debug)]
pub(crate) struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
pub(crate) struct State {
    value: u64,
    failure: Option<Error>,
    /// Values that submitted work will signal, in ascending order.
    promises: VecDeque<Promise>,
    /// What work of schedulers will signal, and the semaphore in their memory.
    scheduled: Scheduled,
    waiters: Vec<Waiter>,
    /// Nobody can signal it any more, but what has promised to.
    is_abandoned: bool,
    /// To be dropped without the lock: the last user of a queue ends it.
    gone: Vec<Point>,
}

/// The lock, and what is dropped when it is free.
pub(crate) struct Locked<'a>(Option<MutexGuard<'a, State>>);

impl<'a> Locked<'a> {
    /// The guard alone.
    fn guard(mut self) -> MutexGuard<'a, State> {
        self.0.take().unwrap_or_else(|| unreachable!("it is there until the end"))
    }
}

impl Deref for Locked<'_> {
    type Target = State;

    fn deref(&self) -> &State {
        self.0.as_ref().unwrap_or_else(|| unreachable!("it is there until the end"))
    }
}

impl DerefMut for Locked<'_> {
    fn deref_mut(&mut self) -> &mut State {
        self.0.as_mut().unwrap_or_else(|| unreachable!("it is there until the end"))
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        if let Some(mut state) = self.0.take() {
            let gone = (std::mem::take(&mut state.gone), state.scheduled.gone());
            drop(state);
            drop(gone);
        }
    }
}

#[derive(Debug)]
struct Promise {
    value: u64,
    point: Point,
}

/// What a waiter waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum When {
    /// Submitted work will signal the value: a device can wait for it.
    Promised,
    /// The value is reached.
    Reached,
    /// The semaphore fails first. Nobody looks at the device for it.
    Failed,
}

type Work = Box<dyn FnOnce(Result<()>) + Send>;

struct Waiter {
    value: u64,
    when: When,
    /// A handler tells when the device has reached the value.
    is_armed: bool,
    /// Who waits, if it may stop waiting.
    by: Option<Weak<()>>,
    work: Work,
}

impl Waiter {
    fn has_left(&self) -> bool {
        self.by.as_ref().is_some_and(|by| by.strong_count() == 0)
    }
}

impl std::fmt::Debug for Waiter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} {}", self.when, self.value)
    }
}

/// What a submission has to do about a value before it runs.
pub(crate) enum Need {
    /// Nothing.
    Nothing,
    /// Wait on the device.
    Point(Point),
    /// Wait on the host until some work promises it.
    Unknown,
}

/// What scheduled work has to do about a value before it runs.
pub(crate) enum NeedOnDevice {
    /// Nothing.
    Nothing,
    /// Wait for work that the host has issued.
    Point(Point),
    /// Wait until the cell has the value.
    Cell(Arc<Cell>),
}

impl Default for Semaphore {
    fn default() -> Self {
        Self::new(0)
    }
}

impl Semaphore {
    /// A semaphore with a first value.
    #[must_use]
    pub fn new(value: u64) -> Self {
        let state = State {
            value,
            failure: None,
            promises: VecDeque::new(),
            scheduled: Scheduled::default(),
            waiters: Vec::new(),
            is_abandoned: false,
            gone: Vec::new(),
        };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() });
        Self { handle: Arc::new(Handle { shared }) }
    }

    /// The semaphore without the right to signal.
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.handle.shared
    }

    /// The value now.
    ///
    /// # Errors
    /// The semaphore has failed.
    pub fn value(&self) -> Result<u64> {
        let state = self.shared().polled();
        state.failure.clone().map_or(Ok(state.value), Err)
    }

    /// Raises the value from the host.
    ///
    /// # Errors
    /// [`Error::Backwards`] if the value is not above what the semaphore has or submitted work will signal,
    /// or the semaphore has failed.
    pub fn signal(&self, value: u64) -> Result<()> {
        let mut state = self.shared().polled();
        if let Some(failure) = &state.failure {
            return Err(failure.clone());
        }
        let known = state.known();
        if value <= known {
            drop(state);
            return Err(Error::Backwards { value: known, asked: value });
        }
        state.value = value;
        // Values below it that work promised are passed.
        state.forget_promises();
        state.scheduled.raise(value);
        self.shared().changed(state);
        Ok(())
    }

    /// Fails the semaphore: every wait for a value that it has not reached ends with the error. A semaphore
    /// fails once; later errors are dropped.
    pub fn fail(&self, error: Error) {
        self.shared().fail(error);
    }

    /// Waits on the host until the value is at least this.
    ///
    /// # Errors
    /// [`Error::TimedOut`], or the semaphore has failed.
    pub fn wait(&self, value: u64, limit: Option<Duration>) -> Result<()> {
        let end = limit.and_then(|limit| Instant::now().checked_add(limit));
        loop {
            let state = self.shared().polled();
            if state.value >= value {
                return Ok(());
            }
            if let Some(failure) = &state.failure {
                return Err(failure.clone());
            }
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            if let (Some(left), Some(limit)) = (left, limit)
                && left.is_zero()
            {
                return Err(Error::TimedOut(limit));
            }
            match state.promise_of(value) {
                Some(point) => {
                    drop(state);
                    point.wait(left.unwrap_or(SLICE).min(SLICE));
                }
                None => {
                    if let Some(entry) = state.scheduled.entry_of(value) {
                        drop(state);
                        entry.wait(left.unwrap_or(SLICE).min(SLICE));
                        continue;
                    }
                    if !state.gone.is_empty() {
                        continue;
                    }
                    let changed = &self.shared().changed;
                    match left {
                        Some(left) => drop(changed.wait_timeout(state.guard(), left)),
                        None => drop(changed.wait(state.guard())),
                    }
                }
            }
        }
    }

    /// Waits on the host until all values are reached.
    ///
    /// # Errors
    /// As for [`wait`](Self::wait), with the first error.
    pub fn wait_all(values: &[(&Semaphore, u64)], limit: Option<Duration>) -> Result<()> {
        let end = limit.and_then(|limit| Instant::now().checked_add(limit));
        for (semaphore, value) in values {
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            semaphore.wait(*value, left).map_err(|error| match (error, limit) {
                (Error::TimedOut(_), Some(limit)) => Error::TimedOut(limit),
                (error, _) => error,
            })?;
        }
        Ok(())
    }

    /// Waits on the host until one of the values is reached, and returns its place in the list.
    ///
    /// # Errors
    /// [`Error::TimedOut`], or the error of the first semaphore that fails before one of the values is
    /// reached. An empty list times out, or never ends.
    pub fn wait_any(values: &[(&Semaphore, u64)], limit: Option<Duration>) -> Result<usize> {
        let (sender, receiver) = std::sync::mpsc::channel();
        let this = Arc::new(());
        for (place, (semaphore, value)) in values.iter().enumerate() {
            let sender = sender.clone();
            let work = move |result: Result<()>| {
                // Nobody listens once another one was first.
                let _ = sender.send(result.map(|()| place));
            };
            semaphore.shared().add(*value, When::Reached, Some(Arc::downgrade(&this)), Box::new(work));
        }
        match limit {
            Some(limit) => receiver.recv_timeout(limit).unwrap_or(Err(Error::TimedOut(limit))),
            // This function has a sender, so the channel stays open.
            None => receiver.recv().unwrap_or_else(|_| unreachable!("a sender is here")),
        }
    }

    /// Records that submitted work will signal a value.
    pub(crate) fn promise(&self, value: u64, point: Point) {
        let core = point.core().clone();
        let mut state = self.shared().polled();
        let known = state.known();
        if value <= known {
            drop(state);
            self.fail(Error::Backwards { value: known, asked: value });
            return;
        }
        let cells = state.scheduled.cells();
        let told = (!cells.is_empty()).then(|| point.clone());
        state.promises.push_back(Promise { value, point });
        self.shared().changed(state);
        core.has_promised(self.shared());
        for (cell, point) in cells.iter().zip(told.iter().cycle()) {
            match cell.promised(value, point) {
                Ok(true) => {}
                // The host tells the device when the value is there.
                Ok(false) => self.shared().when(value, When::Reached, |_| {}),
                Err(error) => self.fail(error),
            }
        }
    }

    /// The cell that scheduled work will raise to a value.
    ///
    /// # Errors
    /// [`Error::Backwards`], the semaphore has failed, or there is no memory for a cell.
    pub(crate) fn cell_for(&self, value: u64, scheduler: &Arc<Scheduler>) -> Result<Arc<Cell>> {
        let mut state = self.shared().polled();
        if let Some(failure) = &state.failure {
            return Err(failure.clone());
        }
        let known = state.known();
        if value <= known {
            return Err(Error::Backwards { value: known, asked: value });
        }
        let known = state.value;
        state.scheduled.cell(scheduler, known)
    }

    /// Records that scheduled work will signal a value.
    pub(crate) fn expect(&self, value: u64, entry: &Arc<Entry>) {
        let mut state = self.shared().polled();
        state.scheduled.expect(value, entry.clone());
        let has_others = state.scheduled.has_others();
        self.shared().changed(state);
        if has_others {
            self.shared().when(value, When::Reached, |_| {});
        }
    }
}

impl State {
    /// The largest value that it has or that work will signal.
    fn known(&self) -> u64 {
        self.promises.back().map_or(self.value, |last| last.value.max(self.value))
    }

    /// The point at which a value will be reached.
    fn promise_of(&self, value: u64) -> Option<Point> {
        self.promises.iter().find(|promise| promise.value >= value).map(|promise| promise.point.clone())
    }

    /// Takes over what the device has done.
    fn poll(&mut self) {
        let before = self.value;
        self.poll_promises();
        if let Some(error) = self.scheduled.poll(&mut self.value) {
            self.fail(error);
        }
        if self.value != before {
            self.scheduled.raise(self.value);
        }
    }

    fn poll_promises(&mut self) {
        while let Some(first) = self.promises.front() {
            match first.point.state() {
                PointState::Pending => return,
                PointState::Done => {
                    self.value = first.value.max(self.value);
                    self.gone.extend(self.promises.pop_front().map(|promise| promise.point));
                }
                PointState::Failed(error) => self.fail(error),
            }
        }
    }

    /// The first error stays. Nothing is expected any more.
    fn fail(&mut self, error: Error) {
        self.failure.get_or_insert(error);
        self.forget_promises();
        self.scheduled.clear();
    }

    fn forget_promises(&mut self) {
        self.gone.extend(self.promises.drain(..).map(|promise| promise.point));
    }

    /// Whether nobody can signal a value any more.
    fn is_out_of_reach(&self, value: u64) -> bool {
        self.is_abandoned && self.promise_of(value).is_none() && self.scheduled.entry_of(value).is_none()
    }
}

impl Shared {
    /// The state, as of now.
    fn polled(&self) -> Locked<'_> {
        let mut state = Locked(Some(self.state.lock().unwrap_or_else(PoisonError::into_inner)));
        state.poll();
        state
    }

    /// Looks at the device, and lets waiters go on.
    pub(crate) fn poll(self: &Arc<Self>) {
        let state = self.polled();
        self.changed(state);
    }

    pub(crate) fn fail(self: &Arc<Self>, error: Error) {
        let mut state = self.polled();
        if state.failure.is_none() {
            tracing::debug!(%error, value = state.value, "a semaphore failed");
            state.fail(error);
        }
        self.changed(state);
    }

    /// Does something once a value is promised or reached, or the semaphore fails: at once, or later on
    /// another thread, which it must not block for long.
    pub(crate) fn when(
        self: &Arc<Self>,
        value: u64,
        when: When,
        work: impl FnOnce(Result<()>) + Send + 'static,
    ) {
        self.add(value, when, None, Box::new(work));
    }

    /// The same, unless whoever waits is gone.
    fn add(self: &Arc<Self>, value: u64, when: When, by: Option<Weak<()>>, work: Work) {
        let mut state = self.polled();
        state.waiters.push(Waiter { value, when, is_armed: false, by, work });
        self.changed(state);
    }

    /// What a submission has to do before it may run behind a value.
    ///
    /// # Errors
    /// The semaphore has failed.
    pub(crate) fn need(&self, value: u64) -> Result<Need> {
        let state = self.polled();
        if state.value >= value {
            return Ok(Need::Nothing);
        }
        if let Some(failure) = &state.failure {
            return Err(failure.clone());
        }
        Ok(state.promise_of(value).map_or(Need::Unknown, Need::Point))
    }

    /// What scheduled work has to wait for before it runs behind a value; the device reads a cell.
    ///
    /// # Errors
    /// The semaphore has failed, or there is no memory for a cell.
    pub(crate) fn need_on_device(
        self: &Arc<Self>,
        value: u64,
        scheduler: &Arc<Scheduler>,
    ) -> Result<NeedOnDevice> {
        let mut state = self.polled();
        if state.value >= value {
            return Ok(NeedOnDevice::Nothing);
        }
        if let Some(failure) = &state.failure {
            return Err(failure.clone());
        }
        let promise = state.promise_of(value);
        if let Some(point) = promise.as_ref().filter(|point| scheduler.knows(point.core())) {
            return Ok(NeedOnDevice::Point(point.clone()));
        }
        let known = state.value;
        let cell = state.scheduled.cell(scheduler, known)?;
        let has_others = promise.is_some() || state.scheduled.has_others();
        drop(state);
        if has_others {
            // What the device cannot see signals it, or may do so: the host then tells.
            self.when(value, When::Reached, |_| {});
        }
        Ok(NeedOnDevice::Cell(cell))
    }

    /// Lets waiters go on whose value is there, without the lock.
    fn changed(self: &Arc<Self>, mut state: Locked<'_>) {
        let (mut ready, mut armed, mut scheduled) = (Vec::new(), Vec::new(), Vec::new());
        let mut left = Vec::new();
        for mut waiter in std::mem::take(&mut state.waiters) {
            let promise = state.promise_of(waiter.value);
            if waiter.has_left() {
                left.push(waiter);
            } else if state.value >= waiter.value {
                ready.push((waiter.work, Ok(())));
            } else if let Some(failure) = &state.failure {
                ready.push((waiter.work, Err(failure.clone())));
            } else if waiter.when == When::Promised && promise.is_some() {
                ready.push((waiter.work, Ok(())));
            } else if state.is_out_of_reach(waiter.value) {
                ready.push((waiter.work, Err(Error::Abandoned { asked: waiter.value })));
            } else {
                let is_new = waiter.when != When::Failed && !waiter.is_armed;
                if is_new && promise.is_none() {
                    scheduled.extend(state.scheduled.arm(waiter.value));
                }
                if let Some(point) = promise.filter(|_| is_new) {
                    waiter.is_armed = true;
                    armed.push(point);
                }
                state.waiters.push(waiter);
            }
        }
        drop(state);
        drop(left);
        self.changed.notify_all();
        let notified = armed.iter().map(|point| point.notify(Arc::downgrade(self)));
        let notified = notified.chain(scheduled.iter().map(|entry| entry.notify(Arc::downgrade(self))));
        for error in notified.filter_map(Result::err) {
            self.fail(error);
        }
        do_in_turn(ready);
    }
}

type Ready = (Work, Result<()>);

thread_local! {
    /// What this thread does next, while it does something.
    static NEXT: RefCell<Option<VecDeque<Ready>>> = const { RefCell::new(None) };
}

/// Does what has become ready, one after the other: what that makes ready comes next, and not inside of it,
/// so that the stack does not grow with the length of a chain.
fn do_in_turn(ready: Vec<Ready>) {
    /// Lets the next call begin anew.
    struct Turn;

    impl Drop for Turn {
        fn drop(&mut self) {
            // After a panic, nothing is lost.
            let left = NEXT.with_borrow_mut(Option::take).into_iter().flatten();
            left.for_each(|(work, result)| work(result));
        }
    }

    if ready.is_empty() {
        return;
    }
    let mut ready = Some(ready);
    let is_first = NEXT.try_with(|next| {
        let mut next = next.borrow_mut();
        let is_first = next.is_none();
        next.get_or_insert_default().extend(ready.take().into_iter().flatten());
        is_first
    });
    match is_first {
        Ok(true) => {
            let _turn = Turn;
            while let Some((work, result)) = NEXT.with_borrow_mut(|next| next.as_mut()?.pop_front()) {
                work(result);
            }
        }
        Ok(false) => {}
        // The thread ends.
        Err(_) => ready.into_iter().flatten().for_each(|(work, result)| work(result)),
    }
}

/// Does something once all values are promised or reached, or when one of the semaphores fails before that.
pub(crate) fn when_all(values: Vec<Awaited>, when: When, then: impl FnOnce(Result<()>) + Send + 'static) {
    if values.is_empty() {
        then(Ok(()));
        return;
    }
    let then: Work = Box::new(then);
    let join = Arc::new(Mutex::new((values.len(), Some(then))));
    // The last value that comes, or the first failure, does it.
    let come = |join: &Mutex<(usize, Option<Work>)>, result: Result<()>| {
        let mut state = join.lock().unwrap_or_else(PoisonError::into_inner);
        state.0 -= usize::from(result.is_ok());
        if state.0 != 0 && result.is_ok() {
            return;
        }
        let then = state.1.take();
        drop(state);
        if let Some(then) = then {
            then(result);
        }
    };
    for (semaphore, value) in values {
        let (first, second) = (join.clone(), join.clone());
        // It holds the semaphore, whose value comes, or which fails.
        let held = semaphore.clone();
        semaphore.when(value, when, move |result| {
            come(&first, result);
            drop(held);
        });
        if when == When::Promised {
            // A promise may be broken while the others are awaited.
            semaphore.when(value, When::Failed, move |result| {
                if result.is_err() {
                    come(&second, result);
                }
            });
        }
    }
}

/// A value of a semaphore that work waits for or signals.
pub type Value<'a> = (&'a Semaphore, u64);

/// A value that an operation waits for.
pub(crate) type Awaited = (Arc<Shared>, u64);

/// The values that an operation waits for, without the right to signal them.
pub(crate) fn awaited(values: &[Value<'_>]) -> Vec<Awaited> {
    values.iter().map(|&(semaphore, value)| (semaphore.shared().clone(), value)).collect()
}

/// For the queue, which fails the semaphores that it promised.
impl Core {
    pub(crate) fn fail_promised(promised: Vec<Weak<Shared>>) {
        for semaphore in promised.iter().filter_map(Weak::upgrade) {
            semaphore.poll();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_only_grow() {
        let semaphore = Semaphore::new(3);
        assert_eq!(semaphore.signal(3), Err(Error::Backwards { value: 3, asked: 3 }));
        semaphore.signal(7).unwrap();
        assert_eq!(semaphore.value(), Ok(7));
        assert_eq!(semaphore.wait(7, Some(Duration::ZERO)), Ok(()));
        let limit = Duration::from_millis(1);
        assert_eq!(semaphore.wait(8, Some(limit)), Err(Error::TimedOut(limit)));
    }

    #[test]
    fn a_failure_reaches_every_waiter_and_leaves_reached_values() {
        let semaphore = Semaphore::new(1);
        let waiter = std::thread::spawn({
            let semaphore = semaphore.clone();
            move || semaphore.wait(2, None)
        });
        let (sender, receiver) = std::sync::mpsc::channel();
        semaphore.shared().when(2, When::Promised, move |result| sender.send(result).unwrap());
        let failure = Error::Failed("no luck".into());
        semaphore.fail(failure.clone());
        semaphore.fail(Error::Failed("again".into()));
        assert_eq!(waiter.join().unwrap(), Err(failure.clone()));
        assert_eq!(receiver.recv().unwrap(), Err(failure.clone()));
        assert_eq!(semaphore.wait(1, None), Ok(()));
        assert_eq!(semaphore.value(), Err(failure.clone()));
        assert_eq!(semaphore.signal(9), Err(failure));
    }

    #[test]
    fn any_and_all() {
        let (one, two) = (Semaphore::new(0), Semaphore::new(5));
        assert_eq!(Semaphore::wait_any(&[(&one, 1), (&two, 5)], None), Ok(1));
        let limit = Some(Duration::from_millis(2));
        let timed_out = Err(Error::TimedOut(Duration::from_millis(2)));
        assert_eq!(Semaphore::wait_all(&[(&two, 5), (&one, 1)], limit), timed_out);
        assert_eq!(Semaphore::wait_any(&[(&one, 1)], limit), timed_out.map(|()| 0));
        let signaller = std::thread::spawn({
            let one = one.clone();
            move || one.signal(1)
        });
        assert_eq!(Semaphore::wait_all(&[(&two, 5), (&one, 1)], None), Ok(()));
        assert_eq!(Semaphore::wait_any(&[(&one, 1), (&two, 6)], None), Ok(0));
        signaller.join().unwrap().unwrap();
        one.fail(Error::Failed("x".into()));
        assert_eq!(Semaphore::wait_any(&[(&one, 9), (&two, 6)], None), Err(Error::Failed("x".into())));
    }
}
