//! The HSA function table of the virtual GPU.
//!
//! | module | holds |
//! |---|---|
//! | `system` | initialisation and shutdown, system attributes, status texts, extension tables |
//! | `agent` | agents and instruction sets |
//! | `pool` | memory pools, allocations, locked host memory |
//! | `pointer` | information about an address, callbacks when its memory is freed |
//! | `vmem`, `ipc`, `dmabuf`, `mesa` | virtual memory management; memory shared between processes and APIs |
//! | `copy` | copies and fills |
//! | `fatal` | faults that cannot be reported through a queue's callback |
//! | `signal`, `event`, `waiters`, `handler` | signals, waiting for them, callbacks |
//! | `queue`, `mask`, `packet`, `processors` | AQL queues, their packet processors, kernels that run concurrently |
//! | `image` | images and samplers |
//! | `timeline` | timeline events of all of these |
//! | `loader`, `loader_amd` | executables, code objects, their symbols; the AMD loader extension |
//!
//! Invalid handles, null pointers and wrong sizes are errors, not crashes, as far as a C interface allows: an
//! address outside the machine's allocations is assumed to be the caller's own memory. A panic in this code,
//! which is a bug, becomes `HSA_STATUS_ERROR`.

mod agent;
mod copy;
mod dmabuf;
mod event;
mod fatal;
mod handler;
mod image;
mod ipc;
mod loader;
mod loader_amd;
mod mask;
mod mesa;
mod packet;
mod pointer;
mod pool;
mod processors;
mod queue;
mod signal;
mod system;
mod timeline;
mod vmem;
mod waiters;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use hsa_sys::{Builder, Extensions, Table};

use crate::machine::Machine;

use hsa_sys::hsa_status_t as S;

/// The result of an entry point: success, or the status that the caller gets.
type Status = Result<(), S>;

fn machine() -> &'static Machine {
    Machine::global()
}

/// The HSA functions of the virtual GPU. The devices are those that [`attach`](crate::attach) added.
pub fn table() -> &'static Table {
    static TABLE: OnceLock<&'static Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut builder = Builder::new("virtual GPU", env!("CARGO_PKG_VERSION"));
        system::provide(&mut builder);
        agent::provide(&mut builder);
        pool::provide(&mut builder);
        vmem::provide(&mut builder);
        ipc::provide(&mut builder);
        pointer::provide(&mut builder);
        dmabuf::provide(&mut builder);
        copy::provide(&mut builder);
        signal::provide(&mut builder);
        handler::provide(&mut builder);
        queue::provide(&mut builder);
        image::provide(&mut builder);
        fatal::provide(&mut builder);
        mask::provide(&mut builder);
        loader::provide(&mut builder);
        loader_amd::provide(&mut builder);
        builder.extensions(Extensions {
            queue_fault_report: Some(queue::fault_report),
            queue_fault_json: Some(queue::fault_json),
            queue_set_counters: Some(queue::set_counters),
            queue_take_counters: Some(queue::take_counters),
            queue_guard: Some(queue::guard),
            queue_missing_packet: Some(queue::missing_packet),
            signal_create_guarded: Some(signal::create_guarded),
            host_can_access: Some(copy::host_can_access),
            host_wrote: Some(copy::host_wrote),
            map_descriptor: Some(dmabuf::map_descriptor),
            global_wave_sync: true,
            exact_bounds: true,
        });
        // SAFETY: each function keeps the contract of the header, from any thread; see its module.
        unsafe { builder.finish() }
    })
}

/// Makes each call of these functions a slice of the timeline, if one is written. This is for programs that
/// call HSA directly or through a library that writes no timeline.
pub fn show_calls() {
    timeline::show_calls();
}

/// Whether a table of HSA functions, such as the drop-in library's, belongs to a virtual GPU. The build
/// version tells. HSA must be initialised.
pub fn is_behind(hsa: &Table) -> bool {
    let mut version: *const std::ffi::c_char = std::ptr::null();
    let attribute = hsa_sys::hsa_system_info_t::HSA_AMD_SYSTEM_INFO_BUILD_VERSION;
    // SAFETY: the attribute is a pointer to a string, and there is room for it.
    let status = unsafe { (hsa.hsa_system_get_info)(attribute, (&raw mut version).cast()) };
    // SAFETY: the runtime returns a static string.
    status == S::HSA_STATUS_SUCCESS
        && unsafe { read_text(version) }.is_ok_and(|text| text.starts_with(system::BUILD))
}

/// Runs an entry point that may be called at any time.
fn call_always<F: FnOnce() -> Status>(body: F) -> S {
    let _span = timeline::call::<F>();
    answer(body)
}

/// The status of a body's result.
fn answer(body: impl FnOnce() -> Status) -> S {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => S::HSA_STATUS_SUCCESS,
        Ok(Err(status)) => status,
        Err(_) => {
            tracing::error!("an HSA function of the virtual GPU panicked");
            S::HSA_STATUS_ERROR
        }
    }
}

/// Runs an entry point that requires `hsa_init`.
fn call<F: FnOnce() -> Status>(body: F) -> S {
    let _span = timeline::call::<F>();
    answer(|| {
        if !system::is_initialised() {
            return Err(S::HSA_STATUS_ERROR_NOT_INITIALIZED);
        }
        body()
    })
}

/// Stores a result where the caller wants it.
///
/// # Safety
/// `place` is null or valid for a write of `T`; it need not be aligned.
unsafe fn write<T>(place: *mut T, value: T) -> Status {
    if place.is_null() {
        return Err(S::HSA_STATUS_ERROR_INVALID_ARGUMENT);
    }
    // SAFETY: the caller's promise.
    unsafe { place.write_unaligned(value) };
    Ok(())
}

/// Stores text and a NUL in the caller's field of `N` bytes; the rest of the field is filled with NUL.
///
/// # Safety
/// `place` is null or valid for a write of `N` bytes.
unsafe fn write_text<const N: usize>(place: *mut std::ffi::c_void, text: &str) -> Status {
    let mut field = [0u8; N];
    let length = text.len().min(N - 1);
    field[..length].copy_from_slice(&text.as_bytes()[..length]);
    // SAFETY: the caller's promise.
    unsafe { write(place.cast(), field) }
}

/// Text from the caller.
///
/// # Safety
/// `text` is null or a NUL-terminated string that outlives the result.
unsafe fn read_text<'a>(text: *const std::ffi::c_char) -> Result<&'a str, S> {
    if text.is_null() {
        return Err(S::HSA_STATUS_ERROR_INVALID_ARGUMENT);
    }
    // SAFETY: the caller's promise.
    unsafe { std::ffi::CStr::from_ptr(text) }.to_str().map_err(|_| S::HSA_STATUS_ERROR_INVALID_ARGUMENT)
}
