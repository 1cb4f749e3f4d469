//! This crate's own kernels.

use std::ffi::c_void;

use hip::{Device, LazyModule};

use crate::backend::{Outcome, hip_call, result_of};
use crate::driver::sys::CUstream;

#[allow(dead_code, unreachable_pub, reason = "generated")]
mod modules {
    include!(concat!(env!("OUT_DIR"), "/kernels.rs"));
}

#[cfg(feature = "curand")]
pub(crate) static RANDOM: LazyModule = LazyModule::new(&modules::RANDOM);
#[cfg(feature = "cublaslt")]
pub(crate) static EPILOGUE: LazyModule = LazyModule::new(&modules::EPILOGUE);

/// Threads of a block.
const BLOCK: u32 = 256;
/// Blocks for each multiprocessor; the kernels loop over the rest.
const BLOCKS_PER_UNIT: u64 = 32;

/// Launches a kernel for this many threads, or for fewer that loop.
///
/// # Safety
/// The arguments must be the kernel's, and the stream must belong to the device.
pub(crate) unsafe fn launch(
    device: &Device,
    module: &'static LazyModule,
    name: &str,
    threads: u64,
    stream: CUstream,
    arguments: &mut [*mut c_void],
) -> Outcome {
    device.make_current().map_err(|error| result_of(&error))?;
    let function = module.function(device, name).map_err(|error| result_of(&error))?;
    let most = u64::from(device.properties().compute_units.max(1)) * BLOCKS_PER_UNIT;
    let blocks = threads.div_ceil(u64::from(BLOCK)).clamp(1, most) as u32;
    // SAFETY: the function is never unloaded; the caller vouches for the rest.
    unsafe {
        hip_call!(
            device.table(),
            hipModuleLaunchKernel(
                function.as_raw(),
                blocks,
                1,
                1,
                BLOCK,
                1,
                1,
                0,
                stream.cast(),
                arguments.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        )
    }
}
