//! cudarc's API on the device that `FERROCM_DEVICE` names, checked against the documentation of cudarc and
//! CUDA.

mod blas;
mod blaslt;
mod context;
mod graph;
mod launch;
mod memory;
mod module;
#[cfg(feature = "nccl")]
mod nccl;
mod random;
mod stream;
mod unified;

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaFunction, CudaStream};

/// The first device, and its default stream.
fn device() -> (Arc<CudaContext>, Arc<CudaStream>) {
    let context = CudaContext::new(0).unwrap();
    let stream = context.default_stream();
    (context, stream)
}

/// The source of the kernels.
const KERNELS: &str = include_str!("kernels.cu");

/// A kernel of [`KERNELS`].
fn kernel(context: &Arc<CudaContext>, name: &str) -> CudaFunction {
    let code = cudarc::nvrtc::compile_ptx(KERNELS).unwrap();
    context.load_module(code).unwrap().load_function(name).unwrap()
}

/// Makes a virtual device in the environment two devices, for a test that has its own process.
fn with_two_devices() {
    if let Ok(uri) = std::env::var("FERROCM_DEVICE")
        && uri.starts_with("vgpu:")
        && !uri.contains('?')
    {
        // SAFETY: no other thread of this test's process reads the environment.
        unsafe { std::env::set_var("FERROCM_DEVICE", format!("{uri}?count=2")) };
    }
}
