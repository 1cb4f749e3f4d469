//! Options for making a stream.

use std::sync::Arc;

use hip_sys::hipStream_t;

use super::Stream;
use crate::call::call;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::graph::Capture;

/// Options for a new stream, which [`Device::stream_with`] makes.
///
/// ```no_run
/// # fn main() -> hip::Result<()> {
/// let device = hip::Device::open("auto")?;
/// let urgent = device.stream_priorities()?.greatest;
/// let stream = device.stream_with(hip::StreamOptions::new().priority(urgent))?;
/// # Ok(())
/// # }
/// ```
#[doc(alias = "hipStreamCreateWithPriority")]
#[doc(alias = "cudaStreamCreateWithPriority")]
#[doc(alias = "cuStreamCreateWithPriority")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use = "options alone do not make a stream"]
pub struct StreamOptions {
    priority: Option<i32>,
    blocking: bool,
}

/// The range of stream priorities: see [`StreamOptions::priority`].
#[doc(alias = "hipDeviceGetStreamPriorityRange")]
#[doc(alias = "cuCtxGetStreamPriorityRange")]
#[doc(alias = "cudaDeviceGetStreamPriorityRange")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamPriorities {
    /// The least urgent, the largest number.
    pub least: i32,
    /// The most urgent, the smallest number.
    pub greatest: i32,
}

impl StreamOptions {
    /// Options for a stream of default priority that does not synchronise with the default stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the priority of the stream's work compared with other streams; smaller numbers are more urgent.
    /// [`Device::stream_priorities`] gives the device's range.
    pub fn priority(self, priority: i32) -> Self {
        Self { priority: Some(priority), ..self }
    }

    /// Sets whether the stream's work and that of the default stream wait for each other; by default they do
    /// not (`hipStreamDefault`, `hipStreamNonBlocking`).
    #[doc(alias = "hipStreamNonBlocking")]
    #[doc(alias = "cudaStreamNonBlocking")]
    pub fn blocking(self, blocking: bool) -> Self {
        Self { blocking, ..self }
    }

    pub(crate) fn create(self, device: &Device, capture: Option<Arc<Capture>>) -> Result<Stream> {
        Ok(Stream::from_handle(device.clone(), self.create_handle(device)?, true, capture))
    }

    /// Makes a stream that lives until the process ends and is not counted as the program's.
    pub(crate) fn create_lasting(self, device: &Device) -> Result<Stream> {
        Ok(Stream::from_handle(device.clone(), self.create_handle(device)?, false, None))
    }

    fn create_handle(self, device: &Device) -> Result<hipStream_t> {
        let flags = if self.blocking { hip_sys::hipStreamDefault } else { hip_sys::hipStreamNonBlocking };
        if let Some(priority) = self.priority {
            let StreamPriorities { least, greatest } = device.stream_priorities()?;
            if !(greatest..=least).contains(&priority) {
                return Err(Error::Priority { priority, least, greatest });
            }
        }
        device.make_current()?;
        let table = device.table();
        let mut handle: hipStream_t = std::ptr::null_mut();
        // SAFETY: the handle is a place to write to, and the device is current on this thread.
        unsafe {
            match self.priority {
                Some(priority) => {
                    call!(table, hipStreamCreateWithPriority(&raw mut handle, flags, priority))?;
                }
                None => call!(table, hipStreamCreateWithFlags(&raw mut handle, flags))?,
            }
        }
        Ok(handle)
    }
}

impl Device {
    /// Makes a stream of default priority that does not synchronise with the default stream
    /// (`hipStreamCreateWithFlags`).
    ///
    /// # Errors
    /// [`Error::Hip`].
    #[doc(alias = "hipStreamCreate")]
    #[doc(alias = "cudaStreamCreate")]
    pub fn stream(&self) -> Result<Stream> {
        self.stream_with(StreamOptions::new())
    }

    /// Makes a stream (`hipStreamCreateWithFlags`, `hipStreamCreateWithPriority`).
    ///
    /// # Errors
    /// [`Error::Priority`] if the device has no such priority, else [`Error::Hip`].
    #[doc(alias = "hipStreamCreateWithPriority")]
    #[doc(alias = "cuStreamCreateWithPriority")]
    #[doc(alias = "cudaStreamCreateWithPriority")]
    pub fn stream_with(&self, options: StreamOptions) -> Result<Stream> {
        options.create(self, None)
    }

    /// The range of stream priorities of the device (`hipDeviceGetStreamPriorityRange`); both ends are 0 if
    /// it has no priorities.
    ///
    /// # Errors
    /// [`Error::Hip`].
    #[doc(alias = "hipDeviceGetStreamPriorityRange")]
    #[doc(alias = "cudaDeviceGetStreamPriorityRange")]
    #[doc(alias = "cuCtxGetStreamPriorityRange")]
    pub fn stream_priorities(&self) -> Result<StreamPriorities> {
        self.make_current()?;
        let (mut least, mut greatest) = (0, 0);
        // SAFETY: both results are places to write to.
        unsafe {
            call!(self.table(), hipDeviceGetStreamPriorityRange(&raw mut least, &raw mut greatest))?;
        }
        Ok(StreamPriorities { least, greatest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake;

    #[test]
    fn streams_are_what_they_were_asked_to_be() {
        let device = fake::device(0);
        let priorities = device.stream_priorities().unwrap();
        assert_eq!(priorities, StreamPriorities { least: 1, greatest: -1 });
        let usual = device.stream().unwrap();
        assert_eq!((usual.priority().unwrap(), usual.is_blocking().unwrap()), (0, false));
        for priority in [-1, 0, 1] {
            for blocking in [false, true] {
                let options = StreamOptions::new().priority(priority).blocking(blocking);
                let stream = device.stream_with(options).unwrap();
                assert_eq!((stream.priority().unwrap(), stream.is_blocking().unwrap()), (priority, blocking));
            }
        }
        let blocking = device.stream_with(StreamOptions::new().blocking(true)).unwrap();
        assert_eq!((blocking.priority().unwrap(), blocking.is_blocking().unwrap()), (0, true));
    }

    #[test]
    fn a_priority_that_the_device_does_not_have_is_refused() {
        let device = fake::device(0);
        for priority in [-2, 2, i32::MIN, i32::MAX] {
            let error = device.stream_with(StreamOptions::new().priority(priority)).unwrap_err();
            assert!(matches!(error, Error::Priority { least: 1, greatest: -1, .. }), "{error}");
        }
    }
}
