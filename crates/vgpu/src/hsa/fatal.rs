//! Faults that cannot be reported through a queue's callback. They go to handlers of system events, or end
//! the process.

use std::ffi::c_void;
use std::io::Write;
use std::sync::Mutex;

use hsa_sys::*;

use super::event::lock;
use super::{S, call};
use crate::machine::{Fault, FaultKind};

type Callback = unsafe extern "C" fn(*const hsa_amd_event_t, *mut c_void) -> S;

/// Handlers of events, with their data. The data is stored as a number, because only the handler knows what
/// it points to.
static HANDLERS: Mutex<Vec<(Callback, usize)>> = Mutex::new(Vec::new());

/// The event for a fault: a memory access becomes a memory fault, and anything else an exception.
pub(super) fn event_of(agent: hsa_agent_t, fault: &Fault) -> hsa_amd_event_t {
    use hsa_amd_memory_fault_reason_t as R;
    let access = match fault.kind {
        FaultKind::OutOfBounds { address, .. } | FaultKind::UseAfterFree { address, .. } => {
            Some((address, R::HSA_AMD_MEMORY_FAULT_PAGE_NOT_PRESENT))
        }
        FaultKind::ReadOnly { address, .. } => Some((address, R::HSA_AMD_MEMORY_FAULT_READ_ONLY)),
        _ => None,
    };
    let mut event = hsa_amd_event_t::default();
    match access {
        Some((address, reason)) => {
            event.event_type = hsa_amd_event_type_t::HSA_AMD_GPU_MEMORY_FAULT_EVENT;
            event.__bindgen_anon_1.memory_fault = hsa_amd_gpu_memory_fault_info_t {
                agent,
                virtual_address: address,
                fault_reason_mask: reason.0,
            };
        }
        None => {
            event.event_type = hsa_amd_event_type_t::HSA_AMD_GPU_HW_EXCEPTION_EVENT;
            event.__bindgen_anon_1.hw_exception =
                hsa_amd_gpu_hw_exception_info_t { agent, ..Default::default() };
        }
    }
    event
}

/// Calls all handlers of an event. Returns whether one of them handled it.
pub(super) fn is_handled(event: &hsa_amd_event_t) -> bool {
    // The lock is not held while handlers run, because they call HSA functions.
    let handlers = lock(&HANDLERS).clone();
    let mut handled = false;
    for (callback, data) in handlers {
        // SAFETY: whoever registered the handler allowed this call from another thread.
        handled |= unsafe { callback(event, data as *mut c_void) } == S::HSA_STATUS_SUCCESS;
    }
    handled
}

/// Ends the process, as AMD's runtime does: whoever waits for the kernel would wait for ever.
pub(super) fn abort(report: &str) -> ! {
    let text =
        format!("{report}\n  the process ends, because the queue was created without an error callback\n");
    // If standard error is closed, there is nothing left to do.
    let _ = std::io::stderr().write_all(text.as_bytes());
    std::process::abort()
}

unsafe extern "C" fn register_handler(callback: hsa_amd_system_event_callback_t, data: *mut c_void) -> S {
    call(|| {
        let callback = callback.ok_or(S::HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
        lock(&HANDLERS).push((callback, data as usize));
        Ok(())
    })
}

pub(super) fn provide(builder: &mut Builder) {
    builder.hsa_amd_register_system_event_handler(register_handler);
}
