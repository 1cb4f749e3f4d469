//! Devices, streams, memory and kernels, in three levels.
//!
//! [`CudaContext`] is a device, [`CudaStream`] executes work, [`CudaSlice`] is memory, [`CudaModule`] is
//! code, and [`CudaFunction`] is a kernel in it:
//!
//! ```no_run
//! use cudarc::driver::{CudaContext, LaunchConfig, PushKernelArg};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let context = CudaContext::new(0)?;
//! let stream = context.default_stream();
//! let source = r#"extern "C" __global__ void twice(float* x, int n) {
//!     int i = blockIdx.x * blockDim.x + threadIdx.x;
//!     if (i < n) x[i] *= 2;
//! }"#;
//! let twice = context.load_module(cudarc::nvrtc::compile_ptx(source)?)?.load_function("twice")?;
//! let mut numbers = stream.clone_htod(&[1.0_f32, 2.0, 3.0])?;
//! let mut launch = stream.launch_builder(&twice);
//! launch.arg(&mut numbers).arg(&3_i32);
//! // SAFETY: the kernel takes these arguments, and stays within the three numbers.
//! unsafe { launch.launch(LaunchConfig::for_num_elems(3))? };
//! assert_eq!(stream.clone_dtoh(&numbers)?, [2.0, 4.0, 6.0]);
//! # Ok(())
//! # }
//! ```
//!
//! - [`safe`] keeps objects in use alive, and orders their uses: each [`CudaSlice`] has events of its last
//!   reads and writes, which streams wait for.
//! - [`result`] has CUDA's functions, returning a `Result`.
//! - [`sys`] has CUDA's functions.

pub mod result;
pub mod safe;
pub mod sys;

pub use safe::*;
