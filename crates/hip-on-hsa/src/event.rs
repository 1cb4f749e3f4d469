//! Events: points in streams that a program waits for and measures time between.

use std::sync::{Arc, Mutex, PoisonError};

use hip_sys::{hipError_t, hipEvent_t, hipStream_t};

use crate::device::{Device, current_device};
use crate::error::{Result, entry};
use crate::runtime::{Runtime, active};
use crate::signal::Marker;
use crate::stream::resolve;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;
const INVALID_HANDLE: hipError_t = hipError_t::hipErrorInvalidHandle;

/// An event of a device.
pub(crate) struct Event {
    device: &'static Device,
    flags: u32,
    /// The point at which it was last recorded.
    recorded: Mutex<Option<Arc<Marker>>>,
}

impl Event {
    fn marker(&self) -> Option<Arc<Marker>> {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn find(runtime: &Runtime, event: hipEvent_t) -> Result<Arc<Event>> {
    runtime.events.get(event as usize).ok_or(INVALID_HANDLE)
}

/// # Safety
/// `out` is null or valid for writing.
unsafe fn create(out: *mut hipEvent_t, flags: u32) -> Result {
    use hip_sys::*;
    let runtime = active()?;
    // SAFETY: as this function's contract.
    let out = unsafe { out.as_mut() }.ok_or(INVALID_VALUE)?;
    let known = hipEventBlockingSync
        | hipEventDisableTiming
        | hipEventDisableSystemFence
        | hipEventReleaseToDevice
        | hipEventReleaseToSystem;
    if flags & hipEventInterprocess != 0 {
        return Err(hipError_t::hipErrorNotSupported);
    }
    if flags & !known != 0 || (flags & hipEventReleaseToDevice != 0 && flags & hipEventReleaseToSystem != 0) {
        return Err(INVALID_VALUE);
    }
    let event = Arc::new(Event { device: current_device(runtime)?, flags, recorded: Mutex::default() });
    *out = runtime.events.insert(event).ok_or(hipError_t::hipErrorOutOfMemory)? as hipEvent_t;
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
    entry(|| active()?.events.remove(event as usize).map(drop).ok_or(INVALID_HANDLE))
}

fn record(event: hipEvent_t, stream: hipStream_t) -> Result {
    let runtime = active()?;
    let event = find(runtime, event)?;
    let stream = resolve(runtime, stream)?;
    if !std::ptr::eq(event.device, stream.device) {
        return Err(INVALID_HANDLE);
    }
    let marker = stream.submit(runtime, |engine| engine.marker())?;
    *event.recorded.lock().unwrap_or_else(PoisonError::into_inner) = Some(marker);
    Ok(())
}

/// `hipEventRecord`.
pub(crate) unsafe extern "C" fn hipEventRecord(event: hipEvent_t, stream: hipStream_t) -> hipError_t {
    entry(|| record(event, stream))
}

/// `hipEventRecordWithFlags`.
pub(crate) unsafe extern "C" fn hipEventRecordWithFlags(
    event: hipEvent_t,
    stream: hipStream_t,
    flags: u32,
) -> hipError_t {
    entry(|| match flags {
        hip_sys::hipEventRecordDefault | hip_sys::hipEventRecordExternal => record(event, stream),
        _ => Err(INVALID_VALUE),
    })
}

/// `hipEventSynchronize`: an event that was never recorded is complete.
pub(crate) unsafe extern "C" fn hipEventSynchronize(event: hipEvent_t) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        let result = match find(runtime, event)?.marker() {
            Some(marker) => marker.wait(runtime),
            None => Ok(()),
        };
        runtime.pools.synchronized(runtime);
        result
    })
}

/// `hipEventQuery`: an event that was never recorded is complete.
pub(crate) unsafe extern "C" fn hipEventQuery(event: hipEvent_t) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        match find(runtime, event)?.marker() {
            Some(marker) if !marker.is_done(runtime) => Err(hipError_t::hipErrorNotReady),
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
        let out = unsafe { milliseconds.as_mut() }.ok_or(INVALID_VALUE)?;
        let (start, stop) = (find(runtime, start)?, find(runtime, stop)?);
        if (start.flags | stop.flags) & hip_sys::hipEventDisableTiming != 0
            || !std::ptr::eq(start.device, stop.device)
        {
            return Err(INVALID_HANDLE);
        }
        let (Some(start), Some(stop)) = (start.marker(), stop.marker()) else { return Err(INVALID_HANDLE) };
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

/// `hipStreamWaitEvent`: an event that was never recorded, or whose stream has failed, is not waited for.
pub(crate) unsafe extern "C" fn hipStreamWaitEvent(
    stream: hipStream_t,
    event: hipEvent_t,
    flags: u32,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        let event = find(runtime, event)?;
        let stream = resolve(runtime, stream)?;
        if flags != hip_sys::hipEventWaitDefault && flags != hip_sys::hipEventWaitExternal {
            return Err(INVALID_VALUE);
        }
        match event.marker() {
            Some(marker) => stream.submit(runtime, |engine| engine.wait_for(marker)),
            None => Ok(()),
        }
    })
}
