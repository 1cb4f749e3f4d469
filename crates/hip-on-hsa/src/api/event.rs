//! Events: recording, waiting, querying, and the time between two.

use std::sync::Arc;

use hip_sys::{hipError_t, hipEvent_t, hipStream_t};

use crate::api::synchronized::synchronized;
use crate::caller;
use crate::devices::device::current_device;
use crate::devices::stream::resolve;
use crate::error::{Result, entry};
use crate::graph::Capturing;
use crate::graph::op::{EventOp, Op};
use crate::object::event::{CapturedPoint, Event, events, find};
use crate::object::shared_event::SharedEvent;
use crate::queue::marker::Marker;
use crate::runtime::active;
use crate::unseen::Launches;

const INVALID_HANDLE: hipError_t = hipError_t::hipErrorInvalidHandle;
const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;

/// The point of an event's last record, and the failed launches without a result before it. For calls that do
/// not accept a captured event.
fn recorded(event: &Event) -> Result<(Option<Arc<Marker>>, Launches)> {
    let recorded = event.lock();
    if let Some(point) = &recorded.captured {
        point.refuse()?;
    }
    Ok((recorded.marker.clone(), recorded.launches.clone()))
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
    let event = Arc::new(Event::new(device, flags, shared));
    *out = events(runtime).insert(event).ok_or(hipError_t::hipErrorOutOfMemory)? as hipEvent_t;
    Ok(())
}

/// `hipEventCreate`.
pub(crate) unsafe extern "C" fn hipEventCreate(event: *mut hipEvent_t) -> hipError_t {
    // SAFETY: the caller passes null or a valid place for a handle.
    entry(|| unsafe { create(event, hip_sys::hipEventDefault) })
}

/// `hipEventCreateWithFlags`: flags do not change how calls wait, and releases are to the system.
pub(crate) unsafe extern "C" fn hipEventCreateWithFlags(event: *mut hipEvent_t, flags: u32) -> hipError_t {
    // SAFETY: the caller passes null or a valid place for a handle.
    entry(|| unsafe { create(event, flags) })
}

/// `hipEventDestroy`: pending waits for the event are not affected.
pub(crate) unsafe extern "C" fn hipEventDestroy(event: hipEvent_t) -> hipError_t {
    entry(|| {
        if event.is_null() {
            return Err(INVALID_HANDLE);
        }
        events(active()?).remove(event as usize).map(drop).ok_or(hipError_t::hipErrorContextIsDestroyed)
    })
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

/// `hipEventSynchronize`: an event that was never recorded is complete. `hipErrorIllegalState` if another
/// process ended before it completed its record.
pub(crate) unsafe extern "C" fn hipEventSynchronize(event: hipEvent_t) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        let event = find(runtime, event)?;
        if let Some(shared) = &event.shared {
            shared.wait()?;
        }
        let (marker, launches) = recorded(&event)?;
        let result = marker.map_or(Ok(()), |marker| marker.wait(runtime));
        synchronized(runtime);
        result?;
        launches.report()
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
        let (marker, launches) = recorded(&event)?;
        match marker {
            Some(marker) if !marker.is_done(runtime) => {
                runtime.look_after_streams();
                Err(hipError_t::hipErrorNotReady)
            }
            Some(marker) => {
                marker.failure().map_or(Ok(()), Err)?;
                launches.look()
            }
            None => Ok(()),
        }
    })
}

/// `hipEventElapsedTime`: milliseconds between two recorded events, from the times at which the device
/// reached them.
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
        let (Some(start), Some(stop)) = (recorded(&start)?.0, recorded(&stop)?.0) else {
            return Err(INVALID_HANDLE);
        };
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

/// `hipStreamWaitEvent`: waiting for an event of a capture adds the stream to the capture. Does not wait for
/// an event that was never recorded, or whose stream has failed.
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
        // A point of an ended capture is ignored.
        let point = event.lock().captured.clone().filter(CapturedPoint::is_live);
        match (capture, point) {
            (_, Some(point)) => point.join(&stream),
            (Some(capture), None) => capture.fail(hipError_t::hipErrorStreamCaptureIsolation),
            (None, None) => event.wait(runtime, &stream),
        }
    })
}
