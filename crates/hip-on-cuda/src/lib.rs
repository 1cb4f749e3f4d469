//! The HIP function table implemented over the function table of NVIDIA's CUDA driver.
//!
//! [`table`] takes the driver and gives HIP on top of it: devices, memory, copies, streams, events, modules,
//! launches, graphs. [`FUNCTIONS`] lists what is there; every other function of the table returns
//! `hipErrorNotSupported`, and `Table::has` tells the two apart.
//!
//! ```no_run
//! let cuda = cuda_sys::Table::load()?;
//! let hip = hip_on_cuda::table(cuda)?;
//! let mut count = 0;
//! // SAFETY: the pointer is valid.
//! let status = unsafe { (hip.hipGetDeviceCount)(&mut count) };
//! println!("{status:?}: {count} devices");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # How it works
//! | HIP | CUDA |
//! |---|---|
//! | device | the device of the same ordinal, in its primary context, which is never released |
//! | stream, event, module, function, graph, pool, pointer | the driver's own, under HIP's name: they may be handed to other code and taken from it |
//! | error | the driver's, by [one table](error::TABLE) |
//! | `gcnArchName` | `sm_90`: compute capability 9.0 |
//! | LDS of a block | all that a kernel can have with permission, which launches ask for |
//! | code object | cubin, fatbin or PTX |
//!
//! A module may say of a kernel that it waits itself for the kernel in front of it in the stream, by a
//! variable `overlaps_` with the kernel's name behind it. On drivers of CUDA 12.3 and later, such a kernel
//! may begin before that one has ended (programmatic dependent launch). The order of memory is the same as
//! without, unless other code launches kernels into the same stream that begin early, too, and end without
//! having waited.
//!
//! # What differs from AMD's HIP
//! * A kernel that faults ends its context: every later call of the process on that device returns the same
//!   error.
//! * Flags of coherence are accepted and mean nothing. Memory that is "uncached" or "fine-grained" on the
//!   device is not supported.
//! * Arrays, textures and surfaces are not there.
//! * Kernels of compiled host code (`<<<>>>`) run if its fat binary has an entry for NVIDIA's GPUs, as
//!   `kernel-build` makes them. Managed variables of such code do not work.
//!
//! There is one driver in a process. It is never shut down.
#![warn(missing_docs)]
#![allow(non_snake_case, reason = "the functions of the table have their C names")]

#[cfg(not(target_pointer_width = "64"))]
compile_error!("addresses of CUDA's devices have 64 bits");

mod api;
mod call;
pub mod error;
mod names;
mod runtime;
mod symbols;
#[cfg(test)]
mod tests;

pub use api::table::FUNCTIONS;
pub use error::OtherDriver;

/// The HIP table over a driver. Later calls with the same driver return the same result. No device is needed.
///
/// # Errors
/// [`OtherDriver`].
pub fn table(cuda: &'static cuda_sys::Table) -> Result<&'static hip_sys::Table, OtherDriver> {
    runtime::start(cuda)?;
    Ok(api::table::table())
}
