//! Which streams still use a thing: orders them, and lets the thing be released only when they are done.
//!
//! Work on one stream runs in order, work on two streams does not. Each allocation therefore remembers the stream
//! that last wrote it and the streams that read it since: the *present* users. A use on the same stream costs one atomic load; a use on
//! another stream makes that stream wait for what went before, on the device and without blocking the host.
//!
//! A stream that fails gives up what it was given, its waits included. Its end therefore tells nothing of the streams that it was to
//! wait for: they may still run. So a user is forgotten when nothing of its own runs any more, and never because a later one was ordered
//! after it. A write makes all users before it *past* ones, each with the [`Point`] where its work ends. Whoever comes later is ordered
//! after every such point as well, unless it has been reached by then, and whoever waits for all uses waits for them. There is one entry
//! for each stream.
//!
//! A use is registered just before it is enqueued. Borrows keep another thread from using the same memory in between,
//! except for the parts of a split buffer: two threads may register writes of theirs at once. While an allocation is
//! split, users therefore stay present ones, and nothing counts as waited for.
//!
//! What a stream has written is there if the stream was waited for since, without an error, whatever it fails with later: each wait
//! begins a new *era* of the stream, and a user knows in which one it wrote last. The fast path is one of an era.
//!
//! Neither do borrows keep graphs from the memory that they share with a buffer. Who wins if two threads use both at once is not said,
//! but a stream that a write has been ordered after may get its work only then. As long as a graph has the memory, no point is where the
//! work of such a stream ends: it is *overtaken*, and the whole stream is waited for.

mod prior;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use smallvec::SmallVec;

use crate::call::leaked;
use crate::error::Result;
use crate::stream::{Before, Point, Stream, WeakStream, in_host_function};

pub(crate) use prior::{Prior, PriorUses};

/// The uses of one allocation or module.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    /// The only present user, or 0: the fast path. See [`only`].
    only: AtomicU64,
    /// What used the memory for its owner before may still run, and nothing has been ordered after that.
    inherited: AtomicBool,
    /// Exclusive views of parts of it may exist.
    split: AtomicBool,
    state: Mutex<State>,
}

/// The fast path of a stream in its present [era](Stream::era): taken by its reads, and by its writes if it `wrote` before.
fn only(stream: &Stream, wrote: bool) -> u64 {
    stream.era() << 1 | u64::from(wrote)
}

#[derive(Debug, Default)]
struct State {
    /// How often it was written.
    writes: u64,
    /// All streams with uses that may not be over, each once.
    users: Vec<User>,
}

#[derive(Debug)]
struct User {
    stream: WeakStream,
    /// It has written, and nothing has been written over that since: whoever reads depends on it.
    wrote: bool,
    /// The stream's [era](Stream::era) when it wrote last.
    wrote_in: u64,
    /// The stream comes after this many writes.
    seen: u64,
    place: Place,
}

/// Where the work of a user ends.
#[derive(Debug)]
enum Place {
    /// At the end of the stream: no write has been ordered after it.
    Present,
    /// A write has been ordered after all that was enqueued by then, and some may have been enqueued since.
    Overtaken,
    /// A write has been ordered after it, and there it ends.
    Past(Arc<Point>),
}

/// What a stream waits for before a new use, in the order of the users; none for users that it need not wait for or has points of.
type Waits = SmallVec<[Option<Before>; 4]>;

impl Usage {
    /// Orders a read on `stream` after the writes before it. If one of those is known to have failed, that is the error:
    /// what is to be read was not written.
    #[inline]
    pub(crate) fn read(&self, stream: &Stream) -> Result<()> {
        if self.is_only(stream) { Ok(()) } else { self.read_among(stream) }
    }

    #[inline(never)]
    fn read_among(&self, stream: &Stream) -> Result<()> {
        let mut state = self.lock();
        let split = self.split.load(Ordering::Acquire);
        let writes = state.writes;
        if !split && state.users.iter().any(|user| user.seen == writes && user.is_present_on(stream)) {
            // It may have begun a new era.
            self.set_only(&state, stream, split);
            return Ok(());
        }
        state.wait(stream, |user| user.wrote, true)?;
        state.user(stream).seen = writes;
        self.set_only(&state, stream, split);
        Ok(())
    }

    /// Orders a write on `stream` after every use before it.
    #[inline]
    pub(crate) fn write(&self, stream: &Stream) -> Result<()> {
        self.change(stream, false, false)
    }

    /// As [`write`](Self::write). Work that also `reads` has the error that a read has. What is `shared` with graphs may be used by
    /// another thread at the same time.
    #[inline]
    pub(crate) fn change(&self, stream: &Stream, reads: bool, shared: bool) -> Result<()> {
        if self.wrote_last(stream) { Ok(()) } else { self.change_among(stream, reads, shared) }
    }

    #[inline(never)]
    fn change_among(&self, stream: &Stream, reads: bool, shared: bool) -> Result<()> {
        let mut state = self.lock();
        let split = self.split.load(Ordering::Acquire);
        let waits = state.wait(stream, |_| true, reads)?;
        state.writes += 1;
        let writes = state.writes;
        if !split {
            if stream.capture().is_some() {
                // The nodes of a graph fail together.
                state.users.clear();
            } else {
                state.overtake(waits, shared);
            }
            self.inherited.store(false, Ordering::Release);
        }
        let user = state.user(stream);
        (user.wrote, user.wrote_in, user.seen) = (true, stream.era(), writes);
        self.set_only(&state, stream, split);
        Ok(())
    }

    /// The other streams whose writes a read on `stream` depends on: the read is only worth something if they
    /// have not failed by the time it is done.
    pub(crate) fn sources(&self, stream: &Stream) -> Vec<WeakStream> {
        if self.is_only(stream) {
            return Vec::new();
        }
        let state = self.lock();
        let others = state.users.iter().filter(|user| user.may_fail_readers() && !user.stream.is(stream));
        others.map(|user| user.stream.clone()).collect()
    }

    /// Remembers a use on `stream` that needs no order.
    #[inline]
    pub(crate) fn note(&self, stream: &Stream) {
        if !self.is_only(stream) {
            self.note_among(stream);
        }
    }

    #[inline(never)]
    fn note_among(&self, stream: &Stream) {
        let mut state = self.lock();
        state.users.retain(|user| !user.stream.is_over());
        state.user(stream);
        self.set_only(&state, stream, self.split.load(Ordering::Acquire));
    }

    /// Exclusive views of parts are about to be made, by whoever has the only one of the whole.
    pub(crate) fn split(&self) {
        self.split.store(true, Ordering::Release);
        self.only.store(0, Ordering::Release);
    }

    /// There are no exclusive views: every registered use has been enqueued.
    pub(crate) fn settle(&self) {
        if self.split.load(Ordering::Acquire) {
            let mut state = self.lock();
            if self.split.swap(false, Ordering::AcqRel) {
                // What was waited for until now may have missed a write that had not been enqueued yet.
                state.writes += 1;
            }
        }
    }

    /// Blocks until everything registered so far is done. An error means that some of it may still run.
    pub(crate) fn wait(&self) -> Result<()> {
        self.uses().wait()
    }

    /// Blocks until the writes registered so far are done. A failed one is the error.
    pub(crate) fn wait_for_writes(&self) -> Result<()> {
        self.wait_for(|user| user.wrote)
    }

    /// Blocks until everything registered so far is done. A failed write is the error.
    pub(crate) fn wait_for_all(&self) -> Result<()> {
        self.wait_for(|_| true)
    }

    /// Waits for the present users that `which` picks, and unless one of them has failed for the others.
    fn wait_for(&self, which: impl Fn(&User) -> bool) -> Result<()> {
        let (present, others): (Vec<_>, Vec<_>) = {
            let state = self.lock();
            let users = state.users.iter().filter(|user| !user.is_present() || which(user));
            users
                .map(|user| (user.prior(), user.may_fail_readers()))
                .partition(|(user, _)| user.point.is_none())
        };
        for (user, fails) in present.into_iter().chain(others) {
            match user.finish()? {
                Err(error) if fails => return Err(error),
                // What a failed stream has only read, or had written before, or what was written over since, is as it was.
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether everything registered so far is done, without waiting for it. Where that cannot be told, it is not.
    pub(crate) fn is_over(&self) -> bool {
        self.uses().iter().all(Prior::is_over)
    }

    /// Releases what streams may use, when none does any more. What could not be waited for is kept for good.
    pub(crate) fn finish<T>(&mut self, what: &'static str, things: T, release: impl FnOnce(T)) {
        match self.retire().wait() {
            Ok(()) => release(things),
            Err(error) => {
                leaked(what, &error);
                std::mem::forget(things);
            }
        }
    }

    /// The thing's owner is gone: what may still use it.
    pub(crate) fn retire(&mut self) -> PriorUses {
        *self.only.get_mut() = 0;
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        let users = std::mem::take(&mut state.users);
        users.iter().filter(|user| !user.stream.is_over() && !user.is_reached()).map(User::prior).collect()
    }

    /// A thing whose former owner used it so.
    pub(crate) fn after(prior: PriorUses) -> Self {
        let inherited = AtomicBool::new(!prior.is_empty());
        let only = AtomicU64::new(prior.only().map_or(0, WeakStream::era) << 1);
        let users = prior.into_iter().map(|Prior { stream, point }| {
            let place = point.map_or(Place::Present, Place::Past);
            User { stream, wrote: false, wrote_in: 0, seen: 0, place }
        });
        let state = Mutex::new(State { writes: 0, users: users.collect() });
        Self { only, inherited, state, ..Self::default() }
    }

    /// Blocks until the former owner's work is done, unless something has been ordered after it.
    pub(crate) fn finish_inherited(&self) {
        // In a host function nothing can be waited for.
        if self.inherited.load(Ordering::Acquire) && !in_host_function() {
            match self.wait() {
                Ok(()) => self.inherited.store(false, Ordering::Release),
                Err(error) => {
                    tracing::error!(%error, "work of a former owner of memory cannot be waited for")
                }
            }
        }
    }

    /// Whether the stream uses it, and no other does but in the past: a read by it needs no more, now or later.
    #[inline]
    pub(crate) fn is_only(&self, stream: &Stream) -> bool {
        self.only.load(Ordering::Acquire) | 1 == only(stream, true)
    }

    /// Whether, besides, it has written: a write by it needs no more, now or later.
    #[inline]
    pub(crate) fn wrote_last(&self, stream: &Stream) -> bool {
        self.only.load(Ordering::Acquire) == only(stream, true)
    }

    /// Opens the fast path if `stream` is alone, and closes it otherwise.
    fn set_only(&self, state: &State, stream: &Stream, split: bool) {
        let mut present = state.users.iter().filter(|user| user.is_present());
        let path = match (present.next(), present.next()) {
            // A write in a new era is to be known as one of it.
            (Some(user), None) if !split => only(stream, user.wrote && user.wrote_in == stream.era()),
            _ => 0,
        };
        self.only.store(path, Ordering::Release);
    }

    fn uses(&self) -> PriorUses {
        self.lock().users.iter().map(User::prior).collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is consistent between any two statements that could panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl User {
    fn is_present(&self) -> bool {
        matches!(self.place, Place::Present)
    }

    fn is_present_on(&self, stream: &Stream) -> bool {
        self.is_present() && self.stream.is(stream)
    }

    /// Whether a failure of its stream means that what it has written last may not be there: it was not known to be done before.
    fn may_fail_readers(&self) -> bool {
        self.wrote && !self.stream.has_done(self.wrote_in)
    }

    /// Whether it is a past one whose point has been reached.
    fn is_reached(&self) -> bool {
        matches!(&self.place, Place::Past(point) if point.is_reached())
    }

    fn prior(&self) -> Prior {
        let point = match &self.place {
            Place::Present | Place::Overtaken => None,
            Place::Past(point) => Some(point.clone()),
        };
        Prior { stream: self.stream.clone(), point }
    }
}

impl State {
    /// Makes `stream` wait for the past users, and for the present ones that `which` picks. With `reads`, a failed write of one is an
    /// error.
    fn wait(&mut self, stream: &Stream, which: impl Fn(&User) -> bool, reads: bool) -> Result<Waits> {
        self.users.retain(|user| match &user.place {
            // A stream that is gone finished its work first. Its fault is the error of those who read what it wrote.
            Place::Present if user.wrote => !user.stream.is_gone(),
            Place::Present | Place::Overtaken => !user.stream.is_over(),
            Place::Past(point) => !point.is_reached(),
        });
        let wait = |user: &User| {
            if user.stream.is(stream) {
                return Ok(None);
            }
            match &user.place {
                Place::Past(point) => return stream.wait_for_point(point).map(|()| None),
                Place::Present if !which(user) => return Ok(None),
                Place::Present | Place::Overtaken => {}
            }
            let before = match user.stream.upgrade() {
                Some(other) => stream.wait_for(&other)?,
                None => Before::Over(user.stream.last_fault()?),
            };
            match before {
                Before::Over(Some(error)) if reads && user.may_fail_readers() => Err(error),
                before => Ok(Some(before)),
            }
        };
        self.users.iter().map(wait).collect()
    }

    /// A write has been ordered after all users, each of which was waited for so. What is `shared` may have uses that are registered and
    /// not yet enqueued.
    fn overtake(&mut self, waits: Waits, shared: bool) {
        let mut waits = waits.into_iter();
        self.users.retain_mut(|user| {
            user.wrote = false;
            match waits.next().flatten() {
                None => true,
                Some(_) if shared => {
                    user.place = Place::Overtaken;
                    true
                }
                Some(Before::Point(point)) => {
                    user.place = Place::Past(point);
                    true
                }
                Some(Before::Over(_)) => false,
            }
        });
    }

    /// The entry of `stream`, made if there is none, for a use that is being registered.
    fn user(&mut self, stream: &Stream) -> &mut User {
        let index = self.users.iter().position(|user| user.stream.is(stream)).unwrap_or_else(|| {
            let stream = stream.downgrade();
            self.users.push(User { stream, wrote: false, wrote_in: 0, seen: 0, place: Place::Present });
            self.users.len() - 1
        });
        let user = &mut self.users[index];
        user.place = Place::Present;
        user
    }
}

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
