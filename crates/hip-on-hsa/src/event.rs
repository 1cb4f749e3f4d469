//! Events: points in streams that a program waits for and measures time between.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hip_sys::{hipError_t, hipEvent_t, hipStream_t};

use crate::caller;
use crate::device::{Device, current_device};
use crate::error::{Result, entry};
use crate::graph::{CapturedPoint, Capturing};
use crate::ipc_event::SharedEvent;
use crate::mem_pool::pools;
use crate::op::{EventOp, Op};
use crate::registry::{Kind, Registry};
use crate::runtime::{Runtime, active};
use crate::signal::Marker;
use crate::stream::{Stream, resolve};

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;
const INVALID_HANDLE: hipError_t = hipError_t::hipErrorInvalidHandle;

/// All events by their handles.
pub(crate) fn events(_started: &Runtime) -> &'static Registry<Event> {
    static EVENTS: Registry<Event> = Registry::new(Kind::Event);
    &EVENTS
}

/// An event of a device.
pub(crate) struct Event {
    device: &'static Device,
    flags: u32,
    recorded: Mutex<Recorded>,
    /// What other processes have of it; its records are there.
    shared: Option<Arc<SharedEvent>>,
}

/// Where an event was last recorded.
#[derive(Default)]
struct Recorded {
    /// In a stream.
    marker: Option<Arc<Marker>>,
    /// In a capture since then; counts as long as that goes on.
    captured: Option<CapturedPoint>,
}

impl Event {
    /// An event that several processes have.
    pub(crate) fn of_processes(device: &'static Device, shared: Arc<SharedEvent>) -> Self {
        let flags = hip_sys::hipEventInterprocess | hip_sys::hipEventDisableTiming;
        Self { device, flags, recorded: Mutex::default(), shared: Some(shared) }
    }

    /// What other processes have of it.
    pub(crate) fn shared(&self) -> Option<&Arc<SharedEvent>> {
        self.shared.as_ref()
    }

    fn lock(&self) -> MutexGuard<'_, Recorded> {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The point of a stream, for calls that a captured event does not permit.
    fn marker(&self) -> Result<Option<Arc<Marker>>> {
        let recorded = self.lock();
        if let Some(point) = &recorded.captured {
            point.refuse()?;
        }
        Ok(recorded.marker.clone())
    }

    /// The device on whose streams the event can be recorded, none if on any.
    pub(crate) fn device_of_records(&self) -> Option<&'static Device> {
        self.shared.is_none().then_some(self.device)
    }

    /// Whether events of this stream can be recorded.
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
        let marker = stream.submit(runtime, |engine| engine.marker())?;
        *self.lock() = Recorded { marker: Some(marker), captured: None };
        Ok(())
    }

    /// Lets what is submitted to the stream from now on wait for the event's last record.
    pub(crate) fn wait(&self, runtime: &'static Runtime, stream: &Stream) -> Result {
        if let Some(shared) = &self.shared {
            return shared.hold(runtime, stream);
        }
        let marker = self.lock().marker.clone();
        match marker {
            Some(marker) => stream.submit(runtime, |engine| engine.wait_for(marker)),
            None => Ok(()),
        }
    }
}

/// The event that a program's handle names.
pub(crate) fn find(runtime: &Runtime, event: hipEvent_t) -> Result<Arc<Event>> {
    events(runtime).get(event as usize).ok_or(INVALID_HANDLE)
}

/// # Safety
/// `out` is null or valid for writing.
unsafe fn create(out: *mut hipEvent_t, flags: u32) -> Result {
    use hip_sys::*;
    let runtime = active()?;
    // SAFETY: as this function's contract.
    let out = unsafe { caller::place(out) }?;
    let known = hipEventBlockingSync
        | hipEventDisableTiming
        | hipEventDisableSystemFence
        | hipEventReleaseToDevice
        | hipEventReleaseToSystem;
    let interprocess = flags & hipEventInterprocess != 0;
    if interprocess && flags & hipEventDisableTiming == 0 {
        return Err(INVALID_VALUE);
    }
    let known = known | hipEventInterprocess;
    if flags & !known != 0 || (flags & hipEventReleaseToDevice != 0 && flags & hipEventReleaseToSystem != 0) {
        return Err(INVALID_VALUE);
    }
    let device = current_device(runtime)?;
    let shared = if interprocess { Some(SharedEvent::new()?) } else { None };
    let event = Arc::new(Event { device, flags, recorded: Mutex::default(), shared });
    *out = events(runtime).insert(event).ok_or(hipError_t::hipErrorOutOfMemory)? as hipEvent_t;
    Ok(())
}

/// `hipEventCreate`.
pub(crate) unsafe extern "C" fn hipEventCreate(event: *mut hipEvent_t) -> hipError_t {
    // SAFETY: the caller passes null or a valid place for a handle.
    entry(|| unsafe { create(event, hip_sys::hipEventDefault) })
}

/// `hipEventCreateWithFlags`: waits are the same whatever the flags say, and releases are to the system.
pub(crate) unsafe extern "C" fn hipEventCreateWithFlags(event: *mut hipEvent_t, flags: u32) -> hipError_t {
    // SAFETY: the caller passes null or a valid place for a handle.
    entry(|| unsafe { create(event, flags) })
}

/// `hipEventDestroy`: what waits for the event is not disturbed.
pub(crate) unsafe extern "C" fn hipEventDestroy(event: hipEvent_t) -> hipError_t {
    entry(|| events(active()?).remove(event as usize).map(drop).ok_or(INVALID_HANDLE))
}

fn record(event: hipEvent_t, stream: hipStream_t, external: bool) -> Result {
    let runtime = active()?;
    let handle = event as usize;
    let event = find(runtime, event)?;
    let stream = resolve(runtime, stream)?;
    event.suits(&stream)?;
    match Capturing::of(&stream)? {
        None => event.record(runtime, &stream),
        Some(capture) if external => capture.add(Op::Record(EventOp { event, handle })),
        Some(capture) => {
            let point = capture.point()?;
            event.lock().captured = Some(point);
            Ok(())
        }
    }
}

/// `hipEventRecord`.
pub(crate) unsafe extern "C" fn hipEventRecord(event: hipEvent_t, stream: hipStream_t) -> hipError_t {
    entry(|| record(event, stream, false))
}

/// `hipEventRecordWithFlags`.
pub(crate) unsafe extern "C" fn hipEventRecordWithFlags(
    event: hipEvent_t,
    stream: hipStream_t,
    flags: u32,
) -> hipError_t {
    entry(|| match flags {
        hip_sys::hipEventRecordDefault => record(event, stream, false),
        hip_sys::hipEventRecordExternal => record(event, stream, true),
        _ => Err(INVALID_VALUE),
    })
}

/// `hipEventSynchronize`: an event that was never recorded is complete. `hipErrorIllegalState` where another process has ended before
/// it completed its record.
pub(crate) unsafe extern "C" fn hipEventSynchronize(event: hipEvent_t) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        let event = find(runtime, event)?;
        if let Some(shared) = &event.shared {
            shared.wait()?;
        }
        let result = match event.marker()? {
            Some(marker) => marker.wait(runtime),
            None => Ok(()),
        };
        pools(runtime).synchronized(runtime);
        result
    })
}

/// `hipEventQuery`: an event that was never recorded is complete.
pub(crate) unsafe extern "C" fn hipEventQuery(event: hipEvent_t) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        let event = find(runtime, event)?;
        if let Some(shared) = &event.shared
            && !shared.is_done()?
        {
            return Err(hipError_t::hipErrorNotReady);
        }
        match event.marker()? {
            Some(marker) if !marker.is_done(runtime) => {
                runtime.look_after_streams();
                Err(hipError_t::hipErrorNotReady)
            }
            Some(marker) => marker.failure().map_or(Ok(()), Err),
            None => Ok(()),
        }
    })
}

/// `hipEventElapsedTime`: milliseconds between two recorded events, from the times at which the device reached them.
pub(crate) unsafe extern "C" fn hipEventElapsedTime(
    milliseconds: *mut f32,
    start: hipEvent_t,
    stop: hipEvent_t,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        // SAFETY: the caller passes null or a valid place.
        let out = unsafe { caller::place(milliseconds) }?;
        let (start, stop) = (find(runtime, start)?, find(runtime, stop)?);
        if (start.flags | stop.flags) & hip_sys::hipEventDisableTiming != 0
            || !std::ptr::eq(start.device, stop.device)
        {
            return Err(INVALID_HANDLE);
        }
        let (Some(start), Some(stop)) = (start.marker()?, stop.marker()?) else { return Err(INVALID_HANDLE) };
        for marker in [&start, &stop] {
            if !marker.is_done(runtime) {
                return Err(hipError_t::hipErrorNotReady);
            }
            marker.failure().map_or(Ok(()), Err)?;
        }
        let (Some(from), Some(to)) = (start.time(runtime), stop.time(runtime)) else {
            return Err(hipError_t::hipErrorNotSupported);
        };
        let ticks = to as i64 - from as i64;
        *out = (ticks as f64 * 1000.0 / runtime.frequency as f64) as f32;
        Ok(())
    })
}

/// `hipStreamWaitEvent`: waiting for an event of a capture makes the stream a part of the capture. An event that was never recorded, or whose stream has failed, is not waited for.
pub(crate) unsafe extern "C" fn hipStreamWaitEvent(
    stream: hipStream_t,
    event: hipEvent_t,
    flags: u32,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        let handle = event as usize;
        let event = find(runtime, event)?;
        let stream = resolve(runtime, stream)?;
        let external = match flags {
            hip_sys::hipEventWaitDefault => false,
            hip_sys::hipEventWaitExternal => true,
            _ => return Err(INVALID_VALUE),
        };
        let capture = Capturing::of(&stream)?;
        if external && let Some(capture) = capture {
            return capture.add(Op::Wait(EventOp { event, handle }));
        }
        // A point of a capture that has ended is none.
        let point = event.lock().captured.clone().filter(CapturedPoint::is_live);
        match (capture, point) {
            (_, Some(point)) => point.join(&stream),
            (Some(capture), None) => capture.fail(hipError_t::hipErrorStreamCaptureIsolation),
            (None, None) => event.wait(runtime, &stream),
        }
    })
}
