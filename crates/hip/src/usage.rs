//! Which streams still use a thing: orders them, and lets the thing be released only when they are done.
//!
//! Work on one stream runs in order, work on two streams does not. Each allocation therefore remembers the stream
//! that last wrote it and the streams that read it since. A use on the same stream costs one atomic load; a use on
//! another stream makes that stream wait for what went before, on the device and without blocking the host.
//!
//! A use is registered just before it is enqueued. Borrows keep another thread from using the same memory in between,
//! except for the parts of a split buffer: two threads may register writes of theirs at once. While an allocation is
//! split, streams are therefore never forgotten, and nothing counts as waited for.
//!
//! Neither do borrows keep graphs from the memory that they share with a buffer. Who wins if two threads use both at once is not said,
//! but a stream that a write has been ordered after may get its work only then. As long as a graph has the memory, such a stream is
//! therefore remembered, as a past one, for whoever waits until nothing uses the memory any more.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::call::leaked;
use crate::error::{Error, Result};
use crate::stream::{Stream, WeakStream, in_host_function};

/// The uses of one allocation or module.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    /// The only stream that uses it, or 0: the fast path. See [`only`].
    only: AtomicU64,
    /// What used the memory for its owner before may still run, and nothing has been ordered after that.
    inherited: AtomicBool,
    /// Exclusive views of parts of it may exist.
    split: AtomicBool,
    state: Mutex<State>,
}

/// Streams that a former owner used memory on, and whose work on it may not be done yet.
///
/// Whoever gets the memory next is ordered after them, and gets none of their errors.
#[derive(Clone, Debug, Default)]
pub(crate) struct PriorUses(Vec<WeakStream>);

/// The fast path of a stream: taken by its reads, and by its writes if it `wrote` before.
fn only(stream: &Stream, wrote: bool) -> u64 {
    stream.id() << 1 | u64::from(wrote)
}

#[derive(Debug, Default)]
struct State {
    /// How often it was written.
    writes: u64,
    /// All streams with uses that a later write has to wait for.
    users: Vec<User>,
}

#[derive(Debug)]
struct User {
    stream: WeakStream,
    /// It has written, and nothing has waited for all users since.
    wrote: bool,
    /// The stream comes after this many writes.
    seen: u64,
    /// A write has been ordered after everything that was registered: only the end of all uses has to wait for it.
    past: bool,
}

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
        if !split && state.users.iter().any(|user| user.seen == writes && user.stream.is(stream)) {
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
        state.wait(stream, |_| true, reads)?;
        state.writes += 1;
        let writes = state.writes;
        if !split {
            if shared {
                state.users.iter_mut().for_each(|user| (user.wrote, user.past) = (false, true));
            } else {
                state.users.clear();
            }
            self.inherited.store(false, Ordering::Release);
        }
        let user = state.user(stream);
        (user.wrote, user.seen) = (true, writes);
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
        let others = state.users.iter().filter(|user| user.wrote && !user.stream.is(stream));
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
        let users: Vec<WeakStream> = self.lock().users.iter().map(|user| user.stream.clone()).collect();
        PriorUses(users).wait()
    }

    /// Blocks until the writes registered so far are done. A failed one is the error.
    pub(crate) fn wait_for_writes(&self) -> Result<()> {
        self.wait_for(|user| user.wrote)
    }

    /// Blocks until everything registered so far is done. A failed write is the error.
    pub(crate) fn wait_for_all(&self) -> Result<()> {
        self.wait_for(|_| true)
    }

    fn wait_for(&self, which: impl Fn(&User) -> bool) -> Result<()> {
        let users: Vec<(WeakStream, bool)> = {
            let state = self.lock();
            let users = state.users.iter().filter(|user| user.past || which(user));
            users.map(|user| (user.stream.clone(), user.wrote)).collect()
        };
        for (stream, wrote) in users {
            let waited = match stream.upgrade() {
                Some(stream) => stream.synchronize(),
                None => stream.last_fault()?.map_or(Ok(()), Err),
            };
            match waited {
                // A stream that has failed runs nothing any more, and what it has only read is as it was.
                Err(Error::Fault(_)) if !wrote => {}
                waited => waited?,
            }
        }
        Ok(())
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
        state.users.retain(|user| !user.stream.is_over());
        PriorUses(state.users.drain(..).map(|user| user.stream).collect())
    }

    /// A thing whose former owner used it so.
    pub(crate) fn after(prior: PriorUses) -> Self {
        let id = if let [stream] = &prior.0[..] { stream.id() } else { 0 };
        let inherited = AtomicBool::new(!prior.0.is_empty());
        let users =
            prior.0.into_iter().map(|stream| User { stream, wrote: false, seen: 0, past: false }).collect();
        Self {
            only: AtomicU64::new(id << 1),
            inherited,
            state: Mutex::new(State { writes: 0, users }),
            ..Self::default()
        }
    }

    /// Blocks until the former owner's work is done, unless something has been ordered after it.
    pub(crate) fn finish_inherited(&self) {
        // In a host function nothing can be waited for.
        if self.inherited.load(Ordering::Acquire) && !in_host_function() {
            let prior = PriorUses(self.lock().users.iter().map(|user| user.stream.clone()).collect());
            match prior.wait() {
                Ok(()) => self.inherited.store(false, Ordering::Release),
                Err(error) => {
                    tracing::error!(%error, "work of a former owner of memory cannot be waited for")
                }
            }
        }
    }

    /// Whether the stream uses it, and no other does: a read by it needs no more, now or later.
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
        let mut present = state.users.iter().filter(|user| !user.past);
        let path = match (present.next(), present.next()) {
            (Some(user), None) if !split => only(stream, user.wrote),
            _ => 0,
        };
        self.only.store(path, Ordering::Release);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is consistent between any two statements that could panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PriorUses {
    /// Blocks until the streams are done. How their work ended does not matter here: that belongs to whoever waits for the stream. An
    /// error means that some of it may still run.
    pub(crate) fn wait(&self) -> Result<()> {
        let mut waited = Ok(());
        for user in &self.0 {
            match user.finish() {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    tracing::debug!(%error, "a stream had failed before what it used was released")
                }
                Err(error) => waited = waited.and(Err(error)),
            }
        }
        waited
    }

    /// The streams.
    pub(crate) fn streams(&self) -> &[WeakStream] {
        &self.0
    }

    /// Adds those of memory that becomes one with this.
    pub(crate) fn merge(&mut self, other: Self) {
        for stream in other.0 {
            if !self.0.iter().any(|known| known.id() == stream.id()) {
                self.0.push(stream);
            }
        }
    }

    /// Forgets the streams whose ids `keep` does not agree to.
    pub(crate) fn retain(&mut self, keep: impl Fn(u64) -> bool) {
        self.0.retain(|stream| keep(stream.id()));
    }
}

impl State {
    /// Makes `stream` wait for the other users that `which` picks. With `reads`, a failed write of one is an error.
    fn wait(&mut self, stream: &Stream, which: impl Fn(&User) -> bool, reads: bool) -> Result<()> {
        // A stream that is gone finished its work first.
        self.users.retain(|user| !user.stream.is_gone() && (!user.past || !user.stream.is_over()));
        let others = self.users.iter().filter(|user| !user.past && !user.stream.is(stream));
        for user in others.filter(|user| which(user)) {
            let failure = match user.stream.upgrade() {
                Some(other) => stream.wait_for(&other)?,
                None => user.stream.last_fault()?,
            };
            match failure {
                Some(error) if reads && user.wrote => return Err(error),
                // A stream that has failed runs nothing any more.
                _ => {}
            }
        }
        Ok(())
    }

    /// The entry of `stream`, made if there is none, for a use that is being registered.
    fn user(&mut self, stream: &Stream) -> &mut User {
        let index = self.users.iter().position(|user| user.stream.is(stream)).unwrap_or_else(|| {
            self.users.push(User { stream: stream.downgrade(), wrote: false, seen: 0, past: false });
            self.users.len() - 1
        });
        self.users[index].past = false;
        &mut self.users[index]
    }
}

#[cfg(test)]
mod tests {
    use super::Usage;
    use crate::{DeviceBuffer, Error, fake};

    #[test]
    fn one_stream_never_waits() {
        let stream = fake::device(0).stream().unwrap();
        let mut buffer = DeviceBuffer::from_slice(&stream, &[1_u32, 2]).unwrap();
        buffer.fill(&stream, 3).unwrap();
        assert_eq!(buffer.to_vec(&stream).unwrap(), [3, 3]);
        let calls = fake::calls(&stream);
        assert_eq!(calls, ["copy", "synchronize", "set32", "copy", "synchronize"]);
    }

    #[test]
    fn a_write_after_a_read_on_the_same_stream_is_seen_by_other_streams() {
        let device = fake::device(0);
        let (a, b) = (device.stream().unwrap(), device.stream().unwrap());
        let mut buffer = DeviceBuffer::<u32>::uninit(&device, 2).unwrap();
        buffer.to_vec(&a).unwrap();
        buffer.fill(&a, 1).unwrap();
        buffer.to_vec(&b).unwrap();
        assert_eq!(fake::calls(&b), ["wait", "copy", "synchronize"]);
    }

    #[test]
    fn a_new_owner_is_ordered_after_the_former_one_and_gets_none_of_its_errors() {
        let device = fake::device(0);
        let (a, b) = (device.stream().unwrap(), device.stream().unwrap());
        let handed_over = || {
            let mut usage = Usage::default();
            usage.write(&a).unwrap();
            Usage::after(usage.retire())
        };
        let same = handed_over();
        same.write(&a).unwrap();
        assert!(fake::calls(&a).is_empty());
        same.read(&b).unwrap();
        assert_eq!((fake::calls(&a), fake::calls(&b)), (vec!["record"], vec!["wait"]));
        // What is in it is unspecified: reading that waits for nobody, writing it does.
        let other = handed_over();
        other.read(&b).unwrap();
        assert!(fake::calls(&b).is_empty());
        other.write(&b).unwrap();
        assert_eq!((fake::calls(&a), fake::calls(&b)), (vec!["record"], vec!["wait"]));
        // An address that leaves this crate is nobody else's: the host waits, once, unless a write was ordered.
        let address = handed_over();
        address.finish_inherited();
        address.finish_inherited();
        other.finish_inherited();
        assert_eq!(fake::calls(&a), ["synchronize"]);
        let faulted = handed_over();
        fake::fault(&a, "kernel `k`");
        faulted.change(&b, true, false).unwrap();
        faulted.read(&b).unwrap();
        assert!(faulted.sources(&b).is_empty());
    }

    #[test]
    fn a_read_on_another_stream_waits_once_for_the_write() {
        let device = fake::device(0);
        let (a, b) = (device.stream().unwrap(), device.stream().unwrap());
        let buffer = DeviceBuffer::<u32>::zeroed(&a, 2).unwrap();
        fake::calls(&a);
        buffer.to_vec(&b).unwrap();
        buffer.to_vec(&b).unwrap();
        assert_eq!(fake::calls(&a), ["record"]);
        assert_eq!(fake::calls(&b), ["wait", "copy", "synchronize", "copy", "synchronize"]);
        // The writer itself may go on reading without waiting for the other readers.
        buffer.to_vec(&a).unwrap();
        assert_eq!(fake::calls(&a), ["copy", "synchronize"]);
    }

    #[test]
    fn a_write_waits_for_the_write_and_all_reads_before() {
        let device = fake::device(0);
        let streams: Vec<_> = (0..3).map(|_| device.stream().unwrap()).collect();
        let mut buffer = DeviceBuffer::<u32>::zeroed(&streams[0], 2).unwrap();
        buffer.to_vec(&streams[1]).unwrap();
        streams.iter().for_each(|stream| drop(fake::calls(stream)));
        buffer.fill(&streams[2], 1).unwrap();
        assert_eq!(fake::calls(&streams[0]), ["record"]);
        assert_eq!(fake::calls(&streams[1]), ["record"]);
        assert_eq!(fake::calls(&streams[2]), ["wait", "wait", "set32"]);
        buffer.fill(&streams[2], 2).unwrap();
        assert_eq!(fake::calls(&streams[2]), ["set32"]);
    }

    #[test]
    fn streams_of_two_devices_are_ordered_too() {
        let (first, second) = (fake::device(0).stream().unwrap(), fake::device(1).stream().unwrap());
        let usage = Usage::default();
        usage.write(&first).unwrap();
        usage.read(&second).unwrap();
        assert_eq!(fake::calls(&first), ["record"]);
        assert_eq!(fake::calls(&second), ["wait"]);
        usage.write(&first).unwrap();
        assert_eq!(fake::calls(&second), ["record"]);
        assert_eq!(fake::calls(&first), ["wait"]);
    }

    #[test]
    fn a_stream_that_is_gone_is_not_waited_for() {
        let device = fake::device(0);
        let a = device.stream().unwrap();
        let b = device.stream().unwrap();
        let buffer = DeviceBuffer::<u32>::zeroed(&a, 2).unwrap();
        drop(a);
        buffer.to_vec(&b).unwrap();
        assert_eq!(fake::calls(&b), ["copy", "synchronize"]);
    }

    #[test]
    fn a_buffer_is_freed_after_its_streams_are_done() {
        let device = fake::device(0);
        let (a, b) = (device.stream().unwrap(), device.stream().unwrap());
        let mut buffer = DeviceBuffer::<u32>::zeroed(&a, 2).unwrap();
        buffer.fill(&b, 1).unwrap();
        let address = buffer.address();
        fake::calls(&b);
        drop(buffer);
        assert_eq!(fake::calls(&b), ["synchronize"]);
        assert!(!fake::is_allocated(address));
    }

    #[test]
    fn what_a_faulted_stream_used_can_be_used_and_freed() {
        let device = fake::device(0);
        let (a, b) = (device.stream().unwrap(), device.stream().unwrap());
        let mut buffer = DeviceBuffer::<u32>::zeroed(&a, 2).unwrap();
        fake::fault(&a, "kernel `k`, lane 3");
        assert!(matches!(buffer.fill(&a, 1), Err(Error::Fault(report)) if report.text().contains("lane 3")));
        assert!(matches!(buffer.to_vec(&b), Err(Error::Fault(report)) if report.text().contains("lane 3")));
        buffer.fill(&b, 7).unwrap();
        assert_eq!(buffer.to_vec(&b).unwrap(), [7, 7]);
        let address = buffer.address();
        drop(buffer);
        assert!(!fake::is_allocated(address));
    }

    #[test]
    fn streams_that_are_over_are_not_remembered_where_nothing_is_ordered() {
        let device = fake::device(0);
        let usage = Usage::default();
        for _ in 0..10 {
            usage.note(&device.stream().unwrap());
        }
        let stream = device.stream().unwrap();
        usage.note(&stream);
        assert_eq!(usage.lock().users.len(), 1);
        assert!(usage.is_only(&stream));
    }

    #[test]
    fn a_use_that_a_graph_overtakes_is_waited_for_before_the_memory_is_the_hosts() {
        let device = fake::device(0);
        let (a, b) = (device.stream().unwrap(), device.stream().unwrap());
        let mut buffer = DeviceBuffer::<u32>::zeroed(&a, 2).unwrap();
        let exec = device.capture(|stream| buffer.fill(stream, 1)).unwrap().instantiate().unwrap();
        // What a fill does first; another thread launches the graph before the fill is enqueued.
        buffer.allocation().write_on(&b).unwrap();
        exec.launch(&a).unwrap();
        fake::calls(&a);
        fake::calls(&b);
        // The graph's stream need not wait again, nor does anybody for the one that is past.
        exec.launch(&a).unwrap();
        assert_eq!(buffer.to_vec(&a).unwrap(), [1, 1]);
        assert_eq!((fake::calls(&a), fake::calls(&b)), (vec!["graph", "copy", "synchronize"], vec![]));
        drop(exec);
        fake::calls(&a);
        buffer.allocation().finish_uses().unwrap();
        assert_eq!((fake::calls(&a), fake::calls(&b)), (vec!["synchronize"], vec!["synchronize"]));
        // Without a graph, what a write comes after is over and done with.
        buffer.fill(&b, 2).unwrap();
        fake::calls(&a);
        drop(buffer);
        assert_eq!(fake::calls(&a), Vec::<&str>::new());
    }

    #[test]
    fn reads_alone_wait_for_nothing() {
        let device = fake::device(0);
        let (a, b) = (device.stream().unwrap(), device.stream().unwrap());
        let buffer = DeviceBuffer::<u32>::uninit(&device, 2).unwrap();
        buffer.to_vec(&a).unwrap();
        buffer.to_vec(&b).unwrap();
        assert_eq!(fake::calls(&b), ["copy", "synchronize"]);
    }

    #[test]
    fn parts_written_on_two_streams_are_both_waited_for_once() {
        let device = fake::device(0);
        let streams: Vec<_> = (0..3).map(|_| device.stream().unwrap()).collect();
        let mut buffer = DeviceBuffer::<u32>::uninit(&device, 4).unwrap();
        let (mut low, mut high) = buffer.split_at_mut(2).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| low.fill(&streams[0], 1).unwrap());
            scope.spawn(|| high.fill(&streams[1], 2).unwrap());
        });
        streams.iter().for_each(|stream| drop(fake::calls(stream)));
        assert_eq!(buffer.to_vec(&streams[2]).unwrap(), [1, 1, 2, 2]);
        assert_eq!(fake::calls(&streams[2]), ["wait", "wait", "copy", "synchronize"]);
        // The writers have to wait for each other as well, and nobody has to wait again.
        buffer.to_vec(&streams[0]).unwrap();
        assert_eq!(fake::calls(&streams[0]), ["record", "wait", "copy", "synchronize"]);
        for stream in [&streams[2], &streams[0]] {
            buffer.to_vec(stream).unwrap();
            assert_eq!(fake::calls(stream), ["copy", "synchronize"]);
        }
        fake::calls(&streams[1]);
        drop(buffer);
        streams.iter().for_each(|stream| assert_eq!(fake::calls(stream), ["synchronize"]));
    }

    #[test]
    fn what_a_part_is_used_for_in_turn_is_ordered() {
        let device = fake::device(0);
        let (a, b) = (device.stream().unwrap(), device.stream().unwrap());
        let mut buffer = DeviceBuffer::<u32>::uninit(&device, 4).unwrap();
        let (mut low, mut high) = buffer.split_at_mut(2).unwrap();
        high.fill(&b, 2).unwrap();
        low.fill(&a, 1).unwrap();
        fake::calls(&b);
        low.fill(&b, 3).unwrap();
        assert_eq!(fake::calls(&b), ["wait", "set32"]);
        low.as_slice().to_vec(&a).unwrap();
        assert_eq!(buffer.to_vec(&a).unwrap(), [3, 3, 2, 2]);
    }

    #[test]
    fn a_fault_of_the_writer_is_found_by_whoever_reads() {
        let device = fake::device(0);
        let fault = |result: crate::Result<()>| match result {
            Err(Error::Fault(report)) => assert_eq!(report.text(), "kernel `k`"),
            other => panic!("{other:?}"),
        };
        let (a, b) = (device.stream().unwrap(), device.stream().unwrap());
        let buffer = DeviceBuffer::<u32>::zeroed(&a, 2).unwrap();
        let host = || crate::HostBuffer::zeroed(&device, 2).unwrap();
        // The fault comes after the second stream has been ordered behind the first.
        buffer.to_vec(&b).unwrap();
        let pending = buffer.download(&b, host()).unwrap();
        fake::fault(&a, "kernel `k`");
        fault(pending.wait().map(drop));
        fault(buffer.to_vec(&b).map(drop));
        fault(buffer.copy_to_host(&b, &mut [0; 2]));
        fault(buffer.to_vec(&device.stream().unwrap()).map(drop));
        // Also when the writer is gone.
        drop(a);
        fault(buffer.to_vec(&b).map(drop));
        let mut copy = DeviceBuffer::<u32>::zeroed(&b, 2).unwrap();
        fault(copy.copy_from(&device.stream().unwrap(), &buffer));
        b.synchronize().unwrap();
    }
}
