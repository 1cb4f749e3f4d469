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

#[cfg(test)]
mod tests {
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
        buffer.fill(&b, 7).unwrap();
        assert_eq!(buffer.to_vec(&b).unwrap(), [7, 7]);
        let address = buffer.address();
        drop(buffer);
        assert!(!fake::is_allocated(address));
    }
}
