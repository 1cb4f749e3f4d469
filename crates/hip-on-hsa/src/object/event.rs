//! Events: points in streams that a program waits for and measures time between.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hip_sys::{hipError_t, hipEvent_t};

use crate::devices::device::Device;
use crate::devices::stream::Stream;
use crate::error::Result;
use crate::object::shared_event::SharedEvent;
use crate::queue::marker::Marker;
use crate::registry::{Kind, Registry};
use crate::runtime::Runtime;
use crate::unseen::Launches;

const INVALID_HANDLE: hipError_t = hipError_t::hipErrorInvalidHandle;

/// All events by their handles.
pub(crate) fn events(_started: &Runtime) -> &'static Registry<Event> {
    static EVENTS: Registry<Event> = Registry::new(Kind::Event);
    &EVENTS
}

/// An event of a device.
pub(crate) struct Event {
    pub(crate) device: &'static Device,
    pub(crate) flags: u32,
    recorded: Mutex<Recorded>,
    /// The part shared with other processes; its records are there.
    pub(crate) shared: Option<Arc<SharedEvent>>,
}

/// The place of an event's last record.
#[derive(Default)]
pub(crate) struct Recorded {
    /// In a stream.
    pub(crate) marker: Option<Arc<Marker>>,
    /// Failed launches without a result before it.
    pub(crate) launches: Launches,
    /// In a later capture; valid while the capture lasts.
    pub(crate) captured: Option<CapturedPoint>,
}

/// A point of a captured stream, recorded by an event.
#[derive(Clone)]
pub(crate) struct CapturedPoint {
    /// The capture's number.
    pub(crate) capture: u64,
    /// The nodes that later work waits for, by number.
    pub(crate) tips: Vec<u64>,
}

impl Event {
    pub(crate) fn new(device: &'static Device, flags: u32, shared: Option<Arc<SharedEvent>>) -> Self {
        Self { device, flags, recorded: Mutex::default(), shared }
    }

    /// An event shared by several processes.
    pub(crate) fn of_processes(device: &'static Device, shared: Arc<SharedEvent>) -> Self {
        let flags = hip_sys::hipEventInterprocess | hip_sys::hipEventDisableTiming;
        Self::new(device, flags, Some(shared))
    }

    /// The part shared with other processes.
    pub(crate) fn shared(&self) -> Option<&Arc<SharedEvent>> {
        self.shared.as_ref()
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Recorded> {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The device on whose streams the event can be recorded; `None` for any device.
    pub(crate) fn device_of_records(&self) -> Option<&'static Device> {
        self.shared.is_none().then_some(self.device)
    }

    /// Whether the event can be recorded on this stream.
    pub(crate) fn suits(&self, stream: &Stream) -> Result {
        let suits = self.device_of_records().is_none_or(|device| std::ptr::eq(device, stream.device));
        if suits { Ok(()) } else { Err(INVALID_HANDLE) }
    }

    /// Records the event behind everything submitted to the stream.
    pub(crate) fn record(&self, runtime: &'static Runtime, stream: &Stream) -> Result {
        self.suits(stream)?;
        if let Some(shared) = &self.shared {
            return shared.record(runtime, stream);
        }
        let launches = stream.unseen.launches();
        let marker = stream.submit(runtime, |submitter| submitter.marker())?;
        *self.lock() = Recorded { marker: Some(marker), launches, captured: None };
        Ok(())
    }

    /// Makes later work of the stream wait for the event's last record.
    pub(crate) fn wait(&self, runtime: &'static Runtime, stream: &Stream) -> Result {
        if let Some(shared) = &self.shared {
            return shared.hold(runtime, stream);
        }
        let marker = self.lock().marker.clone();
        match marker {
            Some(marker) => stream.submit(runtime, |submitter| submitter.wait_for(marker)),
            None => Ok(()),
        }
    }
}

/// The event of a program's handle.
pub(crate) fn find(runtime: &Runtime, event: hipEvent_t) -> Result<Arc<Event>> {
    events(runtime).get(event as usize).ok_or(INVALID_HANDLE)
}
