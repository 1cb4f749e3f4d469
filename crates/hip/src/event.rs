//! Events: points in a stream's work to wait for, and to measure time between.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hip_sys::hipEvent_t;

use crate::call::{call, dropped, is_ready};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::live::{Counted, Kind};
use crate::stream::{Stream, release};

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
pub struct Event(Arc<EventInner>);

#[derive(Debug)]
struct EventInner {
    device: Device,
    handle: EventHandle,
    timing: bool,
    recorded: AtomicBool,
    /// `None` for an event of other code.
    owned: Option<Counted>,
}

/// HIP's handle of the event.
#[derive(Clone, Copy, Debug)]
struct EventHandle(hipEvent_t);

impl EventHandle {
    fn get(self) -> hipEvent_t {
        self.0
    }
}

// SAFETY: HIP's event handles may be used by any thread.
unsafe impl Send for EventHandle {}
// SAFETY: HIP's functions on an event may be called by several threads at once.
unsafe impl Sync for EventHandle {}

/// Options for a new event: see [`Event::with`].
#[doc(alias = "hipEventCreateWithFlags")]
#[doc(alias = "cudaEventCreateWithFlags")]
#[doc(alias = "cuEventCreate")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use = "options alone do not make an event"]
pub struct EventOptions {
    untimed: bool,
    blocking_sync: bool,
    interprocess: bool,
}

impl EventOptions {
    /// An event for this process that measures time.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether the event measures time, which is the default. Without timing, recording costs less
    /// (`hipEventDisableTiming`).
    #[doc(alias = "hipEventDisableTiming")]
    #[doc(alias = "cudaEventDisableTiming")]
    pub fn timing(self, timing: bool) -> Self {
        Self { untimed: !timing, ..self }
    }

    /// Whether a host thread that waits for the event sleeps instead of spinning (`hipEventBlockingSync`).
    #[doc(alias = "hipEventBlockingSync")]
    #[doc(alias = "cudaEventBlockingSync")]
    pub fn blocking_sync(self, blocking_sync: bool) -> Self {
        Self { blocking_sync, ..self }
    }

    /// Whether other processes can use the event, through [`Event::ipc_handle`]. Such an event does not
    /// measure time (`hipEventInterprocess`).
    #[doc(alias = "hipEventInterprocess")]
    #[doc(alias = "cudaEventInterprocess")]
    pub fn interprocess(self, interprocess: bool) -> Self {
        Self { interprocess, ..self }
    }

    fn measures_time(self) -> bool {
        !self.untimed && !self.interprocess
    }

    fn flags(self) -> u32 {
        let mut flags = hip_sys::hipEventDefault;
        for (set, flag) in [
            (!self.measures_time(), hip_sys::hipEventDisableTiming),
            (self.blocking_sync, hip_sys::hipEventBlockingSync),
            (self.interprocess, hip_sys::hipEventInterprocess),
        ] {
            if set {
                flags |= flag;
            }
        }
        flags
    }
}

impl Event {
    /// Makes an event that measures time. Until it is recorded, it counts as done
    /// (`hipEventCreateWithFlags`).
    ///
    /// # Errors
    /// [`Error::Hip`].
    #[doc(alias = "hipEventCreate")]
    #[doc(alias = "cudaEventCreate")]
    pub fn new(device: &Device) -> Result<Self> {
        Self::with(device, EventOptions::new())
    }

    /// Makes an event that does not measure time, which costs less to record.
    ///
    /// # Errors
    /// [`Error::Hip`].
    pub fn without_timing(device: &Device) -> Result<Self> {
        Self::with(device, EventOptions::new().timing(false))
    }

    /// Makes an event. Until it is recorded, it counts as done (`hipEventCreateWithFlags`).
    ///
    /// # Errors
    /// [`Error::Hip`], with `hipErrorNotSupported` where the library has no such events.
    #[doc(alias = "hipEventCreateWithFlags")]
    #[doc(alias = "cudaEventCreateWithFlags")]
    #[doc(alias = "cuEventCreate")]
    pub fn with(device: &Device, options: EventOptions) -> Result<Self> {
        device.make_current()?;
        let mut handle: hipEvent_t = std::ptr::null_mut();
        // SAFETY: the handle is a place to write to, and the device is current on this thread.
        unsafe { call!(device.table(), hipEventCreateWithFlags(&raw mut handle, options.flags()))? };
        Ok(Self(Arc::new(EventInner {
            device: device.clone(),
            handle: EventHandle(handle),
            timing: options.measures_time(),
            recorded: AtomicBool::new(false),
            owned: Some(Counted::new(Kind::Event)),
        })))
    }

    /// Wraps an event of other code without owning it: dropping the result does not destroy the event. HIP
    /// knows whether it measures time and whether it was recorded.
    ///
    /// # Safety
    /// The handle belongs to an event of this device, made by the library behind [`Device::table`]. The event
    /// is not destroyed before the result has been dropped and the [completions](Self::completion) and graphs
    /// that use it are gone.
    pub unsafe fn from_raw(device: &Device, handle: hipEvent_t) -> Self {
        Self(Arc::new(EventInner {
            device: device.clone(),
            handle: EventHandle(handle),
            timing: true,
            recorded: AtomicBool::new(true),
            owned: None,
        }))
    }

    /// Wraps an event of another process, opened for this wrapper.
    pub(crate) fn opened(device: &Device, handle: hipEvent_t) -> Self {
        Self(Arc::new(EventInner {
            device: device.clone(),
            handle: EventHandle(handle),
            timing: false,
            recorded: AtomicBool::new(true),
            owned: Some(Counted::new(Kind::Event)),
        }))
    }

    /// Gives up ownership: the caller destroys the event with `hipEventDestroy`, unless it was wrapped by
    /// [`from_raw`](Self::from_raw).
    ///
    /// # Errors
    /// The event itself, if a completion waits for it or a graph uses it.
    pub fn into_raw(self) -> Result<hipEvent_t, Self> {
        let handle = self.handle();
        let mut inner = Arc::try_unwrap(self.0).map_err(Self)?;
        inner.owned = None;
        Ok(handle)
    }

    /// The device that the event belongs to.
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// Moves the event to the end of the work enqueued on `stream` (`hipEventRecord`).
    ///
    /// # Errors
    /// [`Error::OtherDevice`] if the stream belongs to another device, [`Error::Fault`] if it has faulted,
    /// else [`Error::Hip`].
    #[doc(alias = "hipEventRecord")]
    #[doc(alias = "cuEventRecord")]
    #[doc(alias = "cudaEventRecord")]
    pub fn record(&self, stream: &Stream) -> Result<()> {
        stream.device().same(&self.0.device, "hipEventRecord", "event")?;
        stream.make_current()?;
        // SAFETY: both handles are valid during the call.
        let recorded =
            unsafe { call!(self.0.device.table(), hipEventRecord(self.handle(), stream.handle())) };
        stream.check(recorded)?;
        self.set_recorded();
        Ok(())
    }

    /// From now on, the event has a time.
    pub(crate) fn set_recorded(&self) {
        self.0.recorded.store(true, Ordering::Relaxed);
    }

    /// Blocks until the event is done (`hipEventSynchronize`).
    ///
    /// # Errors
    /// [`Error::Fault`] if a kernel before the event ended abnormally ([`Stream::synchronize`] returns its
    /// report); else [`Error::Hip`].
    #[doc(alias = "hipEventSynchronize")]
    #[doc(alias = "cuEventSynchronize")]
    #[doc(alias = "cudaEventSynchronize")]
    pub fn synchronize(&self) -> Result<()> {
        self.0.device.make_current()?;
        // SAFETY: the handle is valid as long as `self` is.
        self.0.device.check(unsafe { call!(self.0.device.table(), hipEventSynchronize(self.handle())) })
    }

    /// Whether the event is done, without waiting (`hipEventQuery`).
    ///
    /// # Errors
    /// As [`synchronize`](Self::synchronize).
    #[doc(alias = "hipEventQuery")]
    #[doc(alias = "cuEventQuery")]
    #[doc(alias = "cudaEventQuery")]
    pub fn is_done(&self) -> Result<bool> {
        self.0.device.make_current()?;
        // SAFETY: the handle is valid as long as `self` is.
        let queried = unsafe { call!(self.0.device.table(), hipEventQuery(self.handle())) };
        self.0.device.check(is_ready(queried))
    }

    /// Waits for both events and returns the time on the device from `start` to this event
    /// (`hipEventElapsedTime`).
    ///
    /// Zero if `start` is later.
    ///
    /// # Errors
    /// [`Error::OtherDevice`] if the events belong to different devices, [`Error::EventWithoutTiming`] and
    /// [`Error::EventNotRecorded`] if one of them has no time, else [`Error::Hip`].
    #[doc(alias = "hipEventElapsedTime")]
    #[doc(alias = "cudaEventElapsedTime")]
    #[doc(alias = "cuEventElapsedTime")]
    pub fn elapsed_since(&self, start: &Self) -> Result<Duration> {
        const OPERATION: &str = "hipEventElapsedTime";
        self.0.device.same(&start.0.device, OPERATION, "event")?;
        for event in [start, self] {
            if !event.0.timing {
                return Err(Error::EventWithoutTiming { operation: OPERATION });
            }
            if !event.0.recorded.load(Ordering::Relaxed) {
                return Err(Error::EventNotRecorded { operation: OPERATION });
            }
            event.synchronize()?;
        }
        let mut milliseconds = 0.0_f32;
        // SAFETY: the handles are valid and the result is a place to write to.
        unsafe {
            call!(
                self.0.device.table(),
                hipEventElapsedTime(&raw mut milliseconds, start.handle(), self.handle())
            )?;
        }
        Ok(Duration::try_from_secs_f64(f64::from(milliseconds) * 1e-3).unwrap_or_default())
    }

    /// The raw handle, for calls that this crate does not wrap; valid as long as this event.
    pub fn as_raw(&self) -> hipEvent_t {
        self.0.handle.get()
    }

    /// Another handle of the event, for a thread that waits for it.
    pub(crate) fn share(&self) -> Self {
        Self(self.0.clone())
    }

    pub(crate) fn handle(&self) -> hipEvent_t {
        self.0.handle.get()
    }
}

impl Drop for EventInner {
    fn drop(&mut self) {
        let Some(counted) = self.owned.take() else { return };
        let (device, handle) = (self.device.clone(), self.handle);
        release("event", move || {
            // SAFETY: the event was made by `with` or opened, and is destroyed once; HIP keeps what pending
            // work needs.
            dropped("event", unsafe { call!(device.table(), hipEventDestroy(handle.get())) });
            drop(counted);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake;

    #[test]
    fn only_events_with_a_time_tell_how_long_it_took() {
        let device = fake::device(0);
        let stream = device.stream().unwrap();
        let start = stream.record().unwrap();
        let end = Event::new(&device).unwrap();
        assert!(matches!(end.elapsed_since(&start), Err(Error::EventNotRecorded { .. })));
        assert!(matches!(start.elapsed_since(&end), Err(Error::EventNotRecorded { .. })));
        end.record(&stream).unwrap();
        assert_eq!(end.elapsed_since(&start).unwrap(), Duration::from_micros(1500));
        let options = [EventOptions::new().timing(false), EventOptions::new().interprocess(true)];
        for options in options {
            let untimed = Event::with(&device, options).unwrap();
            untimed.record(&stream).unwrap();
            assert!(matches!(untimed.elapsed_since(&start), Err(Error::EventWithoutTiming { .. })));
        }
        let elsewhere = fake::device(1).stream().unwrap().record().unwrap();
        assert!(matches!(elsewhere.elapsed_since(&start), Err(Error::OtherDevice { .. })));
    }

    #[test]
    fn an_event_is_done_until_it_is_recorded_and_when_its_stream_is() {
        let device = fake::device(0);
        let stream = device.stream().unwrap();
        let event = Event::new(&device).unwrap();
        assert!(event.is_done().unwrap());
        let hold = fake::hold(&stream);
        event.record(&stream).unwrap();
        assert!(!event.is_done().unwrap());
        drop(hold);
        event.synchronize().unwrap();
        assert!(event.is_done().unwrap());
    }

    #[test]
    fn options_are_the_flags_of_hip() {
        let all = EventOptions::new().blocking_sync(true).interprocess(true);
        assert_eq!(EventOptions::new().flags(), 0);
        assert_eq!(EventOptions::new().timing(true), EventOptions::new());
        assert_eq!(EventOptions::new().timing(false).flags(), 2);
        assert_eq!(all.flags(), 1 | 2 | 4);
    }
}
