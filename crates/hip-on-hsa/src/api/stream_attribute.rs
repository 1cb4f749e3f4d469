//! Data that a program attaches to its streams: numbers that name them, and attributes.

use std::sync::{Arc, PoisonError};

use hip_sys::{hipError_t, hipLaunchAttributeID, hipLaunchAttributeValue, hipStream_t};

use crate::caller;
use crate::devices::attributes::Attributes;
use crate::devices::attributes::Window;
use crate::devices::stream::{Stream, resolve};
use crate::error::{Result, entry};
use crate::runtime::{Runtime, active};

type A = hipLaunchAttributeID;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;

/// The stream of a handle. AMD's library has a different code for invalid handles here than elsewhere.
fn stream(runtime: &'static Runtime, handle: hipStream_t) -> Result<Arc<Stream>> {
    resolve(runtime, handle).map_err(|_| hipError_t::hipErrorInvalidHandle)
}

fn attributes(stream: &Stream) -> std::sync::MutexGuard<'_, Attributes> {
    stream.attributes.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `hipStreamGetId`: unique in the process.
pub(crate) unsafe extern "C" fn hipStreamGetId(handle: hipStream_t, out: *mut u64) -> hipError_t {
    entry(|| {
        let stream = stream(active()?, handle)?;
        // SAFETY: the caller passes null or a valid place.
        *unsafe { caller::place(out) }? = stream.id;
        Ok(())
    })
}

/// `hipStreamGetAttribute`: the access policy, the policy of waiting, the priority.
pub(crate) unsafe extern "C" fn hipStreamGetAttribute(
    handle: hipStream_t,
    attribute: A,
    out: *mut hipLaunchAttributeValue,
) -> hipError_t {
    entry(|| {
        let stream = stream(active()?, handle)?;
        // SAFETY: the caller passes null or a valid place.
        let out = unsafe { caller::place(out) }?;
        let found = *attributes(&stream);
        let mut value = hipLaunchAttributeValue { pad: [0; 64] };
        match attribute {
            A::hipLaunchAttributeAccessPolicyWindow => value.accessPolicyWindow = found.window.0,
            A::hipLaunchAttributeSynchronizationPolicy => value.syncPolicy = found.policy,
            A::hipLaunchAttributePriority => value.priority = stream.priority,
            _ => return Err(INVALID_VALUE),
        }
        *out = value;
        Ok(())
    })
}

/// # Safety
/// The value has the member of the attribute.
unsafe fn set(stream: &Stream, attribute: A, value: &hipLaunchAttributeValue) -> Result {
    let mut attributes = attributes(stream);
    // SAFETY: as this function's contract.
    unsafe {
        match attribute {
            A::hipLaunchAttributeAccessPolicyWindow => attributes.window = Window(value.accessPolicyWindow),
            A::hipLaunchAttributeSynchronizationPolicy => attributes.policy = value.syncPolicy,
            // A queue keeps its original priority.
            A::hipLaunchAttributePriority if value.priority == stream.priority => {}
            A::hipLaunchAttributePriority => return Err(hipError_t::hipErrorNotSupported),
            _ => return Err(INVALID_VALUE),
        }
    }
    Ok(())
}

/// `hipStreamSetAttribute`: the access policy and the policy of waiting, which have no effect. A stream's
/// priority is fixed at its creation; another one gives `hipErrorNotSupported`.
pub(crate) unsafe extern "C" fn hipStreamSetAttribute(
    handle: hipStream_t,
    attribute: A,
    value: *const hipLaunchAttributeValue,
) -> hipError_t {
    entry(|| {
        let stream = stream(active()?, handle)?;
        // SAFETY: the caller passes null or a value of the attribute.
        unsafe { set(&stream, attribute, caller::value(value)?) }
    })
}

/// `hipStreamCopyAttributes`: between streams of one device.
pub(crate) unsafe extern "C" fn hipStreamCopyAttributes(to: hipStream_t, from: hipStream_t) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        let (to, from) = (stream(runtime, to)?, stream(runtime, from)?);
        if !std::ptr::eq(to.device, from.device) {
            return Err(INVALID_VALUE);
        }
        let found = *attributes(&from);
        *attributes(&to) = found;
        Ok(())
    })
}
