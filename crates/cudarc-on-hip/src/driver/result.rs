//! CUDA's functions, each with a `Result`.
//!
//! They are grouped as in CUDA's documentation: `cuStreamCreate` is [`stream::create`]. Functions are unsafe
//! where CUDA's documentation has requirements for their handles and addresses.
#![allow(clippy::missing_safety_doc, reason = "the contract is the one of CUDA's function of that name")]

mod error;
mod memory;

pub mod ctx;
pub mod device;
pub mod event;
pub mod external_memory;
pub mod function;
pub mod graph;
pub mod mem_pool;
pub mod module;
pub mod occupancy;
pub mod primary_ctx;
pub mod stream;

use std::ffi::{c_uint, c_void};

use super::sys;

pub use error::DriverError;
pub use memory::*;

/// Calls a CUDA function that writes one result.
macro_rules! returning {
    ($initial:expr, |$place:ident| $call:expr) => {{
        let mut value = $initial;
        let $place = &raw mut value;
        // SAFETY: the result is writable; the caller vouches for the rest.
        unsafe { $call }.result()?;
        Ok(value)
    }};
}
pub(crate) use returning;

/// Calls a CUDA function that only returns its status.
macro_rules! doing {
    ($call:expr) => {
        // SAFETY: the caller vouches for the arguments.
        unsafe { $call }.result()
    };
}
pub(crate) use doing;

/// Finds the devices (`cuInit`).
pub fn init() -> Result<(), DriverError> {
    doing!(sys::cuInit(0))
}

/// Launches a kernel (`cuLaunchKernel`).
#[inline]
pub unsafe fn launch_kernel(
    f: sys::CUfunction,
    grid_dim: (c_uint, c_uint, c_uint),
    block_dim: (c_uint, c_uint, c_uint),
    shared_mem_bytes: c_uint,
    stream: sys::CUstream,
    kernel_params: &mut [*mut c_void],
) -> Result<(), DriverError> {
    doing!(sys::cuLaunchKernel(
        f,
        grid_dim.0,
        grid_dim.1,
        grid_dim.2,
        block_dim.0,
        block_dim.1,
        block_dim.2,
        shared_mem_bytes,
        stream,
        kernel_params.as_mut_ptr(),
        std::ptr::null_mut(),
    ))
}

/// Launches a kernel whose blocks may wait for each other (`cuLaunchCooperativeKernel`).
#[inline]
pub unsafe fn launch_cooperative_kernel(
    f: sys::CUfunction,
    grid_dim: (c_uint, c_uint, c_uint),
    block_dim: (c_uint, c_uint, c_uint),
    shared_mem_bytes: c_uint,
    stream: sys::CUstream,
    kernel_params: &mut [*mut c_void],
) -> Result<(), DriverError> {
    doing!(sys::cuLaunchCooperativeKernel(
        f,
        grid_dim.0,
        grid_dim.1,
        grid_dim.2,
        block_dim.0,
        block_dim.1,
        block_dim.2,
        shared_mem_bytes,
        stream,
        kernel_params.as_mut_ptr(),
    ))
}
