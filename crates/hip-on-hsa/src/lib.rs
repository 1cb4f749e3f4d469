//! The HIP function table implemented over any HSA function table.
//!
//! [`table`] takes an HSA implementation, AMD's own runtime or the virtual GPU, and implements HIP on top of
//! it: devices, memory, copies, streams, events, modules and launches. [`FUNCTIONS`] lists the implemented
//! functions; every other function of the table returns `hipErrorNotSupported`, and `Table::has` is false for
//! it.
//!
//! ```no_run
//! let hsa = hsa_sys::Table::load()?;
//! let hip = hip_on_hsa::table(hsa)?;
//! let mut count = 0;
//! // SAFETY: the pointer is valid.
//! let status = unsafe { (hip.hipGetDeviceCount)(&mut count) };
//! println!("{status:?}: {count} devices");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # How it works
//! | HIP | HSA |
//! |---|---|
//! | device | GPU agent, in HSA's order; `hipInit` and `hipGetDeviceCount` append new agents |
//! | stream | AQL queue, created with the stream's first work; packets run in order |
//! | event | barrier packet with a signal; its time is the packet's |
//! | copy | copy engine, ordered by signals; staging buffers for pageable memory |
//! | callback, large fill, ordered free of plain memory | one thread per stream that uses them, ordered by signals |
//! | graph | operations in the order of their levels; kernels as packets made once |
//! | module, function | executable, kernel symbol and the code object's metadata |
//!
//! # What differs from AMD's HIP
//! * A kernel that faults fails *its stream*, not the process: the calls on that stream return
//!   `hipErrorIllegalAddress` or
//!   `hipErrorLaunchFailure`, events recorded on it complete with that error, and other streams continue. A
//!   default stream works again once a synchronising call has returned the error; any other stream must be
//!   destroyed. The table's extension `stream_fault_report` returns the text of the fault.
//! * Handles are checked: a stale, foreign or invented one is an error, not undefined behaviour.
//! * Memory pools reuse freed blocks only at exactly their size, so that bounds stay those that the program
//!   asked for.
//! * Arrays are in linear order. Arrays of several levels, cubes and references to textures are not
//!   supported.
//!
//! There is one runtime per process, over one HSA implementation. It is never shut down.
#![warn(missing_docs)]
#![allow(non_snake_case, reason = "the functions of the table have their C names")]

#[cfg(not(target_pointer_width = "64"))]
compile_error!("HSA's large machine model needs 64-bit addresses");

mod api;
mod caller;
mod devices;
mod error;
mod gpu;
mod graph;
mod memory;
mod object;
mod output;
mod patience;
mod queue;
mod registry;
mod release;
mod runtime;
mod start;
#[cfg(test)]
mod tests;
mod unseen;
mod visible;

/// Entry points for the fuzz targets: the host's side of memory shared with kernels, with arbitrary contents.
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing {
    /// See `hostcall`.
    pub fn hostcall(bytes: &[u8]) {
        crate::queue::hostcall::fuzz(bytes);
    }

    /// See `print_buffer`.
    pub fn print_buffer(bytes: &[u8]) {
        crate::queue::print_buffer::fuzz(bytes);
    }
}

pub use api::stub;
pub use api::table::FUNCTIONS;
pub use start::Error;
pub use visible::Visible;

/// The HIP table over an HSA table. Later calls with the same table return the same result.
///
/// All GPUs of an implementation inside the process are devices; for a library, the environment can select
/// some ([`Visible::from_env`]). Calls `hsa_init` once. No device is needed: without one, `hipGetDeviceCount`
/// reports that, and finds agents that appear later.
///
/// # Errors
/// See [`Error`]; a second, different HSA table is an error.
pub fn table(hsa: &'static hsa_sys::Table) -> Result<&'static hip_sys::Table, Error> {
    let is_library = hsa.implementation().is_none();
    table_of(hsa, if is_library { Visible::from_env(hsa) } else { Visible::all() })
}

/// As [`table`], with a choice of devices. The first call in a process chooses.
///
/// # Errors
/// As [`table`].
pub fn table_of(hsa: &'static hsa_sys::Table, visible: Visible) -> Result<&'static hip_sys::Table, Error> {
    devices::start(hsa, visible, memory::allocation::share_host_memory)?;
    Ok(api::table::table())
}

/// The HIP table, without starting the runtime. Until [`table`] or [`table_of`] has succeeded, functions that
/// need a device return `hipErrorNotInitialized`.
pub fn unstarted() -> &'static hip_sys::Table {
    api::table::table()
}

/// Whether an HSA implementation has a GPU. Calls `hsa_init`, but starts nothing.
///
/// # Errors
/// [`Error::Hsa`] if HSA does not start (AMD's does not without a GPU), and [`Error::Enumeration`].
pub fn has_gpu(hsa: &'static hsa_sys::Table) -> Result<bool, Error> {
    runtime::has_gpu(hsa)
}
