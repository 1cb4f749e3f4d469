//! Tracks which streams use an allocation or module: orders them, and delays its release until they are done.
//!
//! Work on one stream runs in order, but work on two streams does not. So each allocation remembers the
//! stream that last wrote it and the streams that have read it since: the *present* users. A use on the same
//! stream costs one atomic load. A use on another stream makes that stream wait for earlier uses, on the
//! device and without blocking the host.
//!
//! A stream that fails drops its work, including its waits. So the end of a stream says nothing about the
//! streams that it should have waited for: they may still run. A user is therefore forgotten only when it
//! runs nothing any more, not when a later user is ordered after it. A write turns all earlier users into
//! *past* ones, each with the [`Point`] where its work ends. Later users are also ordered after every such
//! point that has not been reached yet, and a wait for all uses includes them. There is one entry for each
//! stream.
//!
//! A use is registered just before it is enqueued. Borrows prevent another thread from using the same memory
//! in between. The exception is a split buffer, to whose parts two threads may register writes at once. So
//! while an allocation is split, users stay present, and nothing counts as waited for.
//!
//! If a stream has been waited for without an error, what it wrote before is valid, even if the stream fails
//! later. So each wait begins a new *era* of the stream, and a user records the era of its last write. The
//! fast path is valid for one era.
//!
//! Borrows also do not keep a graph away from memory that it shares with a buffer. If two threads use both at
//! once, the order is unspecified, but a stream may get its work only after a write has been ordered after
//! it. So while a graph has the memory, no point marks the end of such a stream's work: the user is
//! *overtaken*, and waits cover the whole stream.

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
    /// Work of a former owner may still use the memory, and nothing has been ordered after it yet.
    inherited: AtomicBool,
    /// Exclusive views of parts may exist.
    split: AtomicBool,
    state: Mutex<State>,
}

/// The key of a stream's fast path in its present [era](Stream::era). Its reads can take the fast path, and
/// its writes, too, if it `wrote` before.
fn only(stream: &Stream, wrote: bool) -> u64 {
    stream.era() << 1 | u64::from(wrote)
}

#[derive(Debug, Default)]
struct State {
    /// The number of writes.
    writes: u64,
    /// All streams whose uses may not be over, each once.
    users: Vec<User>,
}

#[derive(Debug)]
struct User {
    stream: WeakStream,
    /// Whether its write is still the current contents, so that readers depend on it.
    wrote: bool,
    /// The stream's [era](Stream::era) at its last write.
    wrote_in: u64,
    /// The stream is ordered after this many writes.
    seen: u64,
    place: Place,
}

/// Where the work of a user ends.
#[derive(Debug)]
enum Place {
    /// At the end of the stream: no write has been ordered after it.
    Present,
    /// A write has been ordered after the work enqueued by then, but more may have been enqueued since.
    Overtaken,
    /// A write has been ordered after it, and its work ends at this point.
    Past(Arc<Point>),
}

/// The waits of a stream before a new use, in the order of the users. `None` for users that need no wait or
/// already have a point.
type Waits = SmallVec<[Option<Before>; 4]>;

impl Usage {
    /// Orders a read on `stream` after earlier writes. If one of those is known to have failed, returns its
    /// error, because the contents are invalid.
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
            // The stream may have begun a new era.
            self.set_only(&state, stream, split);
            return Ok(());
        }
        state.wait(stream, |user| user.wrote, true)?;
        state.user(stream).seen = writes;
        self.set_only(&state, stream, split);
        Ok(())
    }

    /// Orders a write on `stream` after every earlier use.
    #[inline]
    pub(crate) fn write(&self, stream: &Stream) -> Result<()> {
        self.change(stream, false, false)
    }

    /// As [`write`](Self::write). If the work also `reads`, returns the same errors as a read. If the memory
    /// is `shared` with graphs, another thread may use it at the same time.
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
                // All nodes of a graph fail together.
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

    /// The other streams whose writes a read on `stream` depends on. The result of the read is only valid if
    /// they have not failed by the time it is done.
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

    /// Called before the only exclusive view is split into exclusive views of parts.
    pub(crate) fn split(&self) {
        self.split.store(true, Ordering::Release);
        self.only.store(0, Ordering::Release);
    }

    /// Called when there are no exclusive views: every registered use has been enqueued.
    pub(crate) fn settle(&self) {
        if self.split.load(Ordering::Acquire) {
            let mut state = self.lock();
            if self.split.swap(false, Ordering::AcqRel) {
                // Earlier waits may have missed a write that was not enqueued yet.
                state.writes += 1;
            }
        }
    }

    /// Blocks until all uses registered so far are done. An error means that some may still run.
    pub(crate) fn wait(&self) -> Result<()> {
        self.uses().wait()
    }

    /// Blocks until the writes registered so far are done. Returns the error of a failed one.
    pub(crate) fn wait_for_writes(&self) -> Result<()> {
        self.wait_for(|user| user.wrote)
    }

    /// Blocks until all uses registered so far are done. Returns the error of a failed write.
    pub(crate) fn wait_for_all(&self) -> Result<()> {
        self.wait_for(|_| true)
    }

    /// Waits for the present users that `which` selects and, unless one of them has failed, for the others.
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
                // The failure does not matter if the stream only read the memory, wrote it in an earlier era,
                // or its write was overwritten since.
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether all uses registered so far are done, without waiting. `false` if that is unknown.
    pub(crate) fn is_over(&self) -> bool {
        self.uses().iter().all(Prior::is_over)
    }

    /// Releases objects once no stream uses them. If waiting fails, they are never released.
    pub(crate) fn finish<T>(&mut self, what: &'static str, things: T, release: impl FnOnce(T)) {
        match self.retire().wait() {
            Ok(()) => release(things),
            Err(error) => {
                leaked(what, &error);
                std::mem::forget(things);
            }
        }
    }

    /// Called when the owner is gone: returns the uses that may still run.
    pub(crate) fn retire(&mut self) -> PriorUses {
        *self.only.get_mut() = 0;
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        let users = std::mem::take(&mut state.users);
        users.iter().filter(|user| !user.stream.is_over() && !user.is_reached()).map(User::prior).collect()
    }

    /// The usage of memory with a former owner's uses.
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

    /// Blocks until the former owner's work is done, unless other work has already been ordered after it.
    pub(crate) fn finish_inherited(&self) {
        // A host function cannot wait.
        if self.inherited.load(Ordering::Acquire) && !in_host_function() {
            match self.wait() {
                Ok(()) => self.inherited.store(false, Ordering::Release),
                Err(error) => {
                    tracing::error!(%error, "waiting for work of a former owner of memory failed")
                }
            }
        }
    }

    /// Whether the stream is the only present user: its reads then need no ordering, now or later.
    #[inline]
    pub(crate) fn is_only(&self, stream: &Stream) -> bool {
        self.only.load(Ordering::Acquire) | 1 == only(stream, true)
    }

    /// Whether it has also written: its writes then need no ordering, now or later.
    #[inline]
    pub(crate) fn wrote_last(&self, stream: &Stream) -> bool {
        self.only.load(Ordering::Acquire) == only(stream, true)
    }

    /// Opens the fast path if `stream` is the only user, and closes it otherwise.
    fn set_only(&self, state: &State, stream: &Stream, split: bool) {
        let mut present = state.users.iter().filter(|user| user.is_present());
        let path = match (present.next(), present.next()) {
            // A write in a new era must be recorded with that era.
            (Some(user), None) if !split => only(stream, user.wrote && user.wrote_in == stream.era()),
            _ => 0,
        };
        self.only.store(path, Ordering::Release);
    }

    fn uses(&self) -> PriorUses {
        self.lock().users.iter().map(User::prior).collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is consistent at every point that could panic.
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

    /// Whether a failure of its stream may invalidate its last write, because that was not known to be done
    /// before.
    fn may_fail_readers(&self) -> bool {
        self.wrote && !self.stream.has_done(self.wrote_in)
    }

    /// Whether it is a past user whose point has been reached.
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
    /// Makes `stream` wait for the past users, and for the present ones that `which` selects. With `reads`, a
    /// failed write is an error.
    fn wait(&mut self, stream: &Stream, which: impl Fn(&User) -> bool, reads: bool) -> Result<Waits> {
        self.users.retain(|user| match &user.place {
            // A destroyed stream has finished its work. Readers of its writes get its fault.
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

    /// Records that a write has been ordered after all users by these waits. If the memory is `shared`, some
    /// registered uses may not be enqueued yet.
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

    /// The entry of `stream`, created if there is none, for a use that is being registered.
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
