//! HIP's functions for compiled HIP and CUDA host code that is linked into a Rust program.
//!
//! A `.cu` file with kernels and host code that launches them (`<<<>>>` in an `extern "C"` function) becomes a static library through
//! `kernel_build::Builder::build_lib`. Its code calls HIP's functions by their C names, and hands its kernels to HIP before `main`.
//! This crate exports those names. Nothing is linked: the calls go on to the function table that the program uses, AMD's library or
//! the virtual GPU.
//!
//! ```ignore
//! use hip_host as _; // links the functions
//!
//! unsafe extern "C" {
//!     fn launch_saxpy(n: i32, a: f32, x: *const f32, y: *mut f32, stream: hip::hip_sys::hipStream_t);
//! }
//!
//! device.make_current()?;
//! let from = x.as_slice().address_on(&stream)?.0 as usize as *const f32;
//! let to = y.as_mut_slice().address_on(&stream)?.0 as usize as *mut f32;
//! // SAFETY: both buffers have n elements, and are borrowed until the launch has been made.
//! unsafe { launch_saxpy(n, 2.0, from, to, stream.as_raw()) };
//! ```
//! `docs/use/own-crate.md` shows the whole of such a crate.
//!
//! # Which table
//! 1. That of [`set_table`], if it has been called.
//! 2. That of the calling thread's current device: [`hip::Device::make_current`], which all of `hip` calls by itself.
//! 3. That of the device that `hip` opened first.
//! 4. The one that [`hip::Device::open_default`] opens, by `FERROCM_DEVICE`. [`failure`] says why there is none.
//!
//! Until the first call, nothing is loaded; kernels and variables that host code has registered are kept for then. Without a table, functions
//! return `hipErrorNoDevice`. Once the process has begun to exit they do, too.
//!
//! # What differs from HIP linked in
//! * Texture and surface references are not there.
//! * On virtual GPUs, a launch that fails and that the host code does not look at (`hipGetLastError`) is an error of whoever waits for its
//!   stream next: [`hip::Error::HostLaunch`].
//! * A managed variable is that of the first table that is used. Before that it is ordinary memory with its first value.
//! * Libraries of HIP before 6.4 get compressed code objects unpacked, as long as they are registered: that of 5.7 cannot read them.
//! * A program that loads AMD's libraries beside this crate does not have them call these functions, as long as it does not export
//!   them itself (`-rdynamic`, or a `cdylib` in the global scope).
#![warn(missing_docs)]

#[rustfmt::skip]
#[allow(
    non_snake_case,
    clippy::too_many_arguments,
    clippy::type_complexity,
    clippy::undocumented_unsafe_blocks,
    clippy::allow_attributes_without_reason,
    reason = "generated: each function passes its arguments on, and its caller keeps the contract of the headers"
)]
mod exports;
mod host_code;
mod missing;
#[rustfmt::skip]
#[allow(
    non_snake_case,
    clippy::too_many_arguments,
    clippy::type_complexity,
    clippy::undocumented_unsafe_blocks,
    clippy::allow_attributes_without_reason,
    reason = "generated: each function passes its arguments on, and its caller keeps the contract of the headers"
)]
mod other_names;
mod registered;
mod table;
mod unpacked;

use hip_sys::{Table, hipError_t};

pub use table::{failure, set_table};

/// Calls a function of the table in use; without one, the status says so.
pub(crate) fn call(function: impl FnOnce(&'static Table) -> hipError_t) -> hipError_t {
    table::find().map_or(missing::STATUS, function)
}

/// The table in use, or one for those who ask nevertheless.
pub(crate) fn table() -> &'static Table {
    table::find().unwrap_or_else(missing::table)
}
