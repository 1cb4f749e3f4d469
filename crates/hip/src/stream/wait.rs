//! Waiting for another stream or an event.

use super::Stream;
use crate::error::Result;
use crate::event::Event;

/// What a stream can wait for: an [`Event`], or all work submitted to another [`Stream`] so far.
#[diagnostic::on_unimplemented(
    message = "a stream cannot wait for `{Self}`",
    label = "neither a `Stream` nor an `Event`"
)]
pub trait Awaited: sealed::Awaited {}

impl<W: sealed::Awaited> Awaited for W {}

mod sealed {
    use super::{Result, Stream};

    pub trait Awaited {
        fn hold(&self, stream: &Stream) -> Result<()>;
    }
}

impl sealed::Awaited for Stream {
    fn hold(&self, stream: &Stream) -> Result<()> {
        stream.wait_stream(self)
    }
}

impl sealed::Awaited for Event {
    fn hold(&self, stream: &Stream) -> Result<()> {
        stream.wait_event(self)
    }
}

impl Stream {
    /// Makes work enqueued from now on wait on the device; does not block the host (`hipStreamWaitEvent`). It
    /// waits for an event, like [`wait_event`](Self::wait_event), or for all work enqueued so far on another
    /// stream, like [`wait_stream`](Self::wait_stream). Both may belong to another device of the same
    /// runtime.
    ///
    /// ```no_run
    /// # fn main() -> hip::Result<()> {
    /// # let device = hip::Device::open("auto")?;
    /// let (copies, kernels) = (device.stream()?, device.stream()?);
    /// let uploaded = copies.record()?;
    /// kernels.wait(&uploaded)?;
    /// copies.wait(&kernels)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As there.
    #[doc(alias = "hipStreamWaitEvent")]
    #[doc(alias = "cudaStreamWaitEvent")]
    #[doc(alias = "cuStreamWaitEvent")]
    pub fn wait(&self, what: &impl Awaited) -> Result<()> {
        what.hold(self)
    }
}

#[cfg(test)]
mod tests {
    use crate::error::Error;
    use crate::fake;

    #[test]
    fn a_stream_waits_for_streams_and_events() {
        let device = fake::device(0);
        let (first, second) = (device.stream().unwrap(), device.stream().unwrap());
        let event = second.record().unwrap();
        first.wait(&event).unwrap();
        first.wait(&second).unwrap();
        first.wait(&first).unwrap();
        assert_eq!((fake::calls(&first), fake::calls(&second)), (vec!["wait"; 2], vec!["record"; 2]));
        fake::fault(&second, "kernel `k`");
        assert!(matches!(first.wait(&second), Err(Error::Fault(_))));
    }
}
