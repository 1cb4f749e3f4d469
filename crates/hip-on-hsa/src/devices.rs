//! All devices of the process: finding them, and looking after their streams.

pub(crate) mod attributes;
pub(crate) mod cu_mask;
pub(crate) mod device;
pub(crate) mod per_device;
pub(crate) mod stream;
pub(crate) mod turn;

use std::ffi::c_void;
use std::sync::{PoisonError, RwLock};

use hip_sys::hipError_t;
use hsa_sys::*;

use crate::devices::device::Device;
use crate::error::Result;
use crate::gpu::Gpu;
use crate::runtime;
use crate::runtime::Runtime;
use crate::start::Error;
use crate::visible::Visible;

static DEVICES: RwLock<Vec<&'static Device>> = RwLock::new(Vec::new());

/// Starts the runtime over an HSA implementation and finds its devices, or returns it if it runs over the
/// same one. `found` is called with all GPUs when there are new ones.
pub(crate) fn start(
    table: &'static Table,
    visible: Visible,
    found: fn(&Runtime, &[hsa_agent_t]),
) -> std::result::Result<&'static Runtime, Error> {
    runtime::start(table, visible, check_health, found, |runtime| {
        register_event_handler(runtime);
        refresh(runtime).map_err(|_| Error::Enumeration)
    })
}

/// Asks HSA to report memory faults that no queue's callback reports, so that they fail streams instead of
/// the process.
fn register_event_handler(owner: &Runtime) {
    unsafe extern "C" fn on_event(event: *const hsa_amd_event_t, _data: *mut c_void) -> hsa_status_t {
        // SAFETY: HSA passes null or a valid event.
        let Some(event) = (unsafe { event.as_ref() }) else { return hsa_status_t::HSA_STATUS_ERROR };
        if event.event_type != hsa_amd_event_type_t::HSA_AMD_GPU_MEMORY_FAULT_EVENT {
            return hsa_status_t::HSA_STATUS_ERROR;
        }
        // SAFETY: the event's type says which member is valid.
        let fault = unsafe { event.__bindgen_anon_1.memory_fault };
        let done = std::panic::catch_unwind(|| {
            let Some(runtime) = runtime::runtime() else { return };
            let report = format!("memory fault at address {:#x}", fault.virtual_address);
            for device in all(runtime) {
                if device.agent.handle == fault.agent.handle {
                    device.fail_streams(hipError_t::hipErrorIllegalAddress, &report);
                }
            }
        });
        if done.is_ok() { hsa_status_t::HSA_STATUS_SUCCESS } else { hsa_status_t::HSA_STATUS_ERROR }
    }
    // SAFETY: the handler is a function of this library and needs no data.
    let status = unsafe {
        (owner.hsa.table.hsa_amd_register_system_event_handler)(Some(on_event), std::ptr::null_mut())
    };
    if status != hsa_status_t::HSA_STATUS_SUCCESS {
        tracing::debug!(?status, "only queues report memory faults");
    }
}

/// The devices found so far, in the order of their ordinals.
pub(crate) fn all(_started: &Runtime) -> Vec<&'static Device> {
    DEVICES.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// How many devices have been found so far.
pub(crate) fn count(_started: &Runtime) -> usize {
    DEVICES.read().unwrap_or_else(PoisonError::into_inner).len()
}

/// The device with an ordinal.
pub(crate) fn get(_started: &Runtime, ordinal: i32) -> Result<&'static Device> {
    let devices = DEVICES.read().unwrap_or_else(PoisonError::into_inner);
    usize::try_from(ordinal)
        .ok()
        .and_then(|index| devices.get(index).copied())
        .ok_or(hipError_t::hipErrorInvalidDevice)
}

/// The agents of all devices.
pub(crate) fn agents(_started: &Runtime) -> Vec<hsa_agent_t> {
    DEVICES.read().unwrap_or_else(PoisonError::into_inner).iter().map(|device| device.agent).collect()
}

/// Appends GPU agents that have appeared since the last call; ordinals never change.
pub(crate) fn refresh(runtime: &'static Runtime) -> Result {
    let gpus = runtime.gpus()?;
    let mut devices = DEVICES.write().unwrap_or_else(PoisonError::into_inner);
    let before = devices.len();
    for agent in gpus {
        if devices.iter().any(|device| device.agent.handle == agent.handle) {
            continue;
        }
        match Gpu::discover(runtime, agent, devices.len()) {
            Ok(gpu) => devices.push(Box::leak(Box::new(Device::new(gpu)))),
            Err(reason) => tracing::warn!(reason, "a GPU agent is left out"),
        }
    }
    if devices.len() != before {
        let gpus: Vec<hsa_agent_t> = devices.iter().map(|device| device.agent).collect();
        drop(devices);
        runtime.devices_found(&gpus);
    }
    Ok(())
}

/// Checks the health of the streams of all devices.
fn check_health(runtime: &Runtime) {
    for device in all(runtime) {
        device.check_health();
    }
}
