//! Which streams still use a thing: orders them, and lets the thing be released only when they are done.
//!
//! Work on one stream runs in order, work on two streams does not. Each allocation therefore remembers the stream
//! that last wrote it and the streams that read it since. A use on the same stream costs one atomic load; a use on
//! another stream makes that stream wait for what went before, on the device and without blocking the host.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::Result;
use crate::stream::{Stream, WeakStream};

/// The uses of one allocation or module.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    /// Id of the only stream that uses it, or 0: the fast path.
    only: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Every use that is not a plain read by one of `readers` is ordered on this stream.
    writer: Option<WeakStream>,
    /// Streams that have read since, and have been made to wait for `writer`.
    readers: Vec<WeakStream>,
}

impl Usage {
    /// Orders a read on `stream` after the last write.
    pub(crate) fn read(&self, stream: &Stream) -> Result<()> {
        if self.only.load(Ordering::Acquire) == stream.id() {
            return Ok(());
        }
        let mut state = self.lock();
        let State { writer, readers } = &mut *state;
        let Some(last) = writer.as_ref() else {
            // Nobody has used it yet: this stream now has it alone.
            *writer = Some(stream.downgrade());
            self.only.store(stream.id(), Ordering::Release);
            return Ok(());
        };
        readers.retain(|reader| !reader.is_gone());
        if last.is(stream) || readers.iter().any(|reader| reader.is(stream)) {
            return Ok(());
        }
        // A stream that is gone has finished its work first.
        if let Some(last) = last.upgrade() {
            stream.wait_for(&last)?;
        }
        readers.push(stream.downgrade());
        self.only.store(0, Ordering::Release);
        Ok(())
    }

    /// Orders a write on `stream` after every earlier use.
    pub(crate) fn write(&self, stream: &Stream) -> Result<()> {
        if self.only.load(Ordering::Acquire) == stream.id() {
            return Ok(());
        }
        let mut state = self.lock();
        for user in state.users() {
            if user.id() != stream.id() {
                stream.wait_for(&user)?;
            }
        }
        state.readers.clear();
        state.writer = Some(stream.downgrade());
        self.only.store(stream.id(), Ordering::Release);
        Ok(())
    }

    /// Remembers a use on `stream` that needs no order.
    pub(crate) fn note(&self, stream: &Stream) {
        if self.only.load(Ordering::Acquire) == stream.id() {
            return;
        }
        let mut state = self.lock();
        let State { writer, readers } = &mut *state;
        match writer {
            None => {
                *writer = Some(stream.downgrade());
                self.only.store(stream.id(), Ordering::Release);
            }
            Some(last) if last.is(stream) => {}
            Some(_) => {
                readers.retain(|reader| !reader.is_gone());
                if !readers.iter().any(|reader| reader.is(stream)) {
                    readers.push(stream.downgrade());
                }
                self.only.store(0, Ordering::Release);
            }
        }
    }

    /// Blocks until no stream uses the thing. A stream that has failed runs nothing any more, so its error, which
    /// belongs to whoever waits for that stream, does not matter here.
    pub(crate) fn finish(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        for user in state.users() {
            if let Err(error) = user.synchronize() {
                tracing::debug!(%error, "a stream had failed before what it used was released");
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is consistent between any two statements that could panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn users(&self) -> impl Iterator<Item = Stream> {
        self.writer.iter().chain(&self.readers).filter_map(WeakStream::upgrade)
    }
}
