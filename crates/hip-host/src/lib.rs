//! HIP's functions for compiled HIP and CUDA host code that is linked into a Rust program.
//!
//! `kernel_build::Builder::build_lib` compiles a `.cu` file with kernels and host code that launches them
//! (`<<<>>>` in an `extern "C"` function) to a static library. Its code calls HIP's functions by their C
//! names, and registers its kernels with HIP before `main`. This crate exports those names. No HIP library is
//! linked: the calls go to the function table that the program uses, AMD's library or the virtual GPU.
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
//! `docs/use/own-crate.md` shows a complete crate.
//! # Which table is called
//! 1. The table passed to [`set_table`], if it has been called.
//! 2. The table of the calling thread's current device ([`hip::Device::make_current`]; all of `hip` calls it
//!    automatically).
//! 3. The table of the device that `hip` opened first.
//! 4. The table of the device that [`hip::Device::open_default`] opens, by `FERROCM_DEVICE`. If that fails,
//!    [`failure`] says why.
//!
//! Nothing is loaded before the first call; until then, registered kernels and variables are only recorded.
//! Without a table, functions return `hipErrorNoDevice`. They also do so once the process has begun to exit.
//! # Differences from a linked HIP
//! * Texture and surface references are not supported.
//! * On virtual GPUs, if a launch fails and the host code does not check it (`hipGetLastError`), the next
//!   call that waits for its stream returns [`hip::Error::HostLaunch`].
//! * A managed variable belongs to the first table that is used. Before that, it is ordinary memory with its
//!   initial value.
//! * For HIP libraries before 6.4, compressed code objects are unpacked while they are registered, because
//!   the library of 5.7 cannot read them.
//! * If the program also loads AMD's libraries, these do not call this crate's functions, unless the program
//!   exports them (`-rdynamic`, or a `cdylib` in the global scope).
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

/// Calls a function of the table in use. Without a table, returns the status for that.
pub(crate) fn call(function: impl FnOnce(&'static Table) -> hipError_t) -> hipError_t {
    table::find().map_or(missing::STATUS, function)
}

/// The table in use, or a substitute if there is none.
pub(crate) fn table() -> &'static Table {
    table::find().unwrap_or_else(missing::table)
}
