//! Events of several processes: `hipIpcGetEventHandle` and similar functions.

use std::sync::Arc;

use hip_sys::{hipError_t, hipEvent_t, hipIpcEventHandle_t};

use crate::caller;
use crate::devices::device::current_device;
use crate::error::entry;
use crate::object::event::{Event, events, find};
use crate::object::shared_event::SharedEvent;
use crate::runtime::active;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;
const OUT_OF_MEMORY: hipError_t = hipError_t::hipErrorOutOfMemory;

/// `hipIpcGetEventHandle`: for an event that was created for several processes, else
/// `hipErrorInvalidConfiguration`.
pub(crate) unsafe extern "C" fn hipIpcGetEventHandle(
    out: *mut hipIpcEventHandle_t,
    event: hipEvent_t,
) -> hipError_t {
    entry(|| {
        if event.is_null() {
            return Err(INVALID_VALUE);
        }
        let event = find(active()?, event)?;
        // SAFETY: the caller passes null or a valid place.
        let out = unsafe { caller::place(out) }?;
        let shared = event.shared().ok_or(hipError_t::hipErrorInvalidConfiguration)?;
        *out = shared.encode().ok_or(hipError_t::hipErrorOperatingSystem)?;
        Ok(())
    })
}

/// `hipIpcOpenEventHandle`: an event of another process, for streams of every device;
/// `hipErrorInvalidContext` for one of this process.
pub(crate) unsafe extern "C" fn hipIpcOpenEventHandle(
    out: *mut hipEvent_t,
    handle: hipIpcEventHandle_t,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        // SAFETY: the caller passes null or a valid place.
        let out = unsafe { caller::place(out) }?;
        let event = Event::of_processes(current_device(runtime)?, SharedEvent::open(&handle)?);
        *out = events(runtime).insert(Arc::new(event)).ok_or(OUT_OF_MEMORY)? as hipEvent_t;
        Ok(())
    })
}
