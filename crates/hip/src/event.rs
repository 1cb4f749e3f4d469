//! Events: points in a stream's work, to wait for and to measure time between.

use std::time::Duration;

use hip_sys::{hipError_t, hipEvent_t};

use crate::call::{call, check, dropped};
use crate::device::Device;
use crate::error::Result;
use crate::stream::Stream;

/// A point in a stream's work.
///
/// ```no_run
/// # fn main() -> hip::Result<()> {
/// let device = hip::Device::open("auto")?;
/// let stream = device.stream()?;
/// let start = stream.record()?;
/// // … enqueue work on the stream …
/// let end = stream.record()?;
/// println!("took {:?}", end.elapsed_since(&start)?);
/// # Ok(())
/// # }
/// ```
#[doc(alias = "hipEvent_t")]
#[doc(alias = "cudaEvent_t")]
#[derive(Debug)]
pub struct Event {
    device: Device,
    handle: hipEvent_t,
}

// SAFETY: HIP's event handles may be used by any thread.
unsafe impl Send for Event {}
// SAFETY: HIP's functions on an event may be called by several threads at once.
unsafe impl Sync for Event {}

impl Event {
    /// Makes an event that measures time; it is done until it is recorded (`hipEventCreateWithFlags`).
    ///
    /// # Errors
    /// [`Error::Hip`](crate::Error::Hip).
    #[doc(alias = "hipEventCreate")]
    pub fn new(device: &Device) -> Result<Self> {
        Self::with_flags(device, hip_sys::hipEventDefault)
    }

    /// Makes an event that cannot measure time, which costs less to record.
    ///
    /// # Errors
    /// [`Error::Hip`](crate::Error::Hip).
    pub fn without_timing(device: &Device) -> Result<Self> {
        Self::with_flags(device, hip_sys::hipEventDisableTiming)
    }

    fn with_flags(device: &Device, flags: u32) -> Result<Self> {
        device.make_current()?;
        let mut handle: hipEvent_t = std::ptr::null_mut();
        // SAFETY: the handle is a place to write to, and the device is current on this thread.
        unsafe { call!(device.table(), hipEventCreateWithFlags(&raw mut handle, flags))? };
        Ok(Self { device: device.clone(), handle })
    }

    /// The device that the event belongs to.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Puts the event at the end of what is enqueued on `stream`, instead of where it was before (`hipEventRecord`).
    ///
    /// # Errors
    /// [`Error::OtherDevice`](crate::Error::OtherDevice) if the stream is another device's,
    /// [`Error::Fault`](crate::Error::Fault) if it has faulted, else [`Error::Hip`](crate::Error::Hip).
    #[doc(alias = "hipEventRecord")]
    pub fn record(&self, stream: &Stream) -> Result<()> {
        stream.device().same(&self.device, "hipEventRecord", "event")?;
        stream.make_current()?;
        // SAFETY: both handles are valid during the call.
        stream.check(unsafe { call!(self.device.table(), hipEventRecord(self.handle, stream.handle())) })
    }

    /// Blocks until the event is done (`hipEventSynchronize`).
    ///
    /// # Errors
    /// [`Error::Hip`](crate::Error::Hip), also if the work before the event failed; the report of a fault comes from
    /// [`Stream::synchronize`].
    #[doc(alias = "hipEventSynchronize")]
    pub fn synchronize(&self) -> Result<()> {
        self.device.make_current()?;
        // SAFETY: the handle is valid as long as `self` is.
        unsafe { call!(self.device.table(), hipEventSynchronize(self.handle)) }
    }

    /// Whether the event is done, without waiting (`hipEventQuery`).
    ///
    /// # Errors
    /// As [`synchronize`](Self::synchronize).
    #[doc(alias = "hipEventQuery")]
    pub fn is_done(&self) -> Result<bool> {
        self.device.make_current()?;
        // SAFETY: the handle is valid as long as `self` is.
        let status = unsafe { (self.device.table().hipEventQuery)(self.handle) };
        if status == hipError_t::hipErrorNotReady {
            return Ok(false);
        }
        check("hipEventQuery", status).map(|()| true)
    }

    /// The device's time from `start` to this event; waits for both (`hipEventElapsedTime`).
    ///
    /// Zero if `start` is the later one.
    ///
    /// # Errors
    /// [`Error::OtherDevice`](crate::Error::OtherDevice) if the events are of two devices;
    /// [`Error::Hip`](crate::Error::Hip) if one was not recorded or cannot measure time.
    #[doc(alias = "hipEventElapsedTime")]
    pub fn elapsed_since(&self, start: &Self) -> Result<Duration> {
        self.device.same(&start.device, "hipEventElapsedTime", "event")?;
        start.synchronize()?;
        self.synchronize()?;
        let mut milliseconds = 0.0_f32;
        // SAFETY: the handles are valid and the result is a place to write to.
        unsafe {
            call!(
                self.device.table(),
                hipEventElapsedTime(&raw mut milliseconds, start.handle, self.handle)
            )?;
        }
        Ok(Duration::try_from_secs_f64(f64::from(milliseconds) * 1e-3).unwrap_or_default())
    }

    /// The raw handle, for calls that this crate does not wrap; valid as long as this event.
    pub fn as_raw(&self) -> hipEvent_t {
        self.handle
    }

    pub(crate) fn handle(&self) -> hipEvent_t {
        self.handle
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: the event was made by `with_flags` and is destroyed once; HIP keeps what pending work needs of it.
        dropped("event", unsafe { call!(self.device.table(), hipEventDestroy(self.handle)) });
    }
}
