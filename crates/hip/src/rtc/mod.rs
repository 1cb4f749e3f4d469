//! Compiling kernels at run time (`hiprtc`).
//!
//! A [`Compiler`] is AMD's `libhiprtc` if there is one, else the device compiler that
//! [`kernel-build`](https://docs.rs/ferrocm-kernel-build) finds. It makes code of a [`Program`] for a device's target id. What it has
//! made once is found again in a cache on disk.
//!
//! ```no_run
//! use hip::Device;
//! use hip::rtc::{Compiler, Program};
//!
//! # fn main() -> hip::Result<()> {
//! let device = Device::open("auto")?;
//! let program = Program::new("template <typename T> __global__ void fill(T* x, T v) { x[threadIdx.x] = v; }")
//!     .name("fill.hip")
//!     .expression("fill<float>");
//! let compiled = Compiler::open()?.compile(&program, device.target())?;
//! let module = compiled.load(&device)?;
//! let fill = module.function(compiled.lowered_name("fill<float>").expect("was asked for"))?;
//! # Ok(())
//! # }
//! ```
//!
//! For the simple case there is [`Device::compile`](crate::Device::compile).
//!
//! Programs are CUDA's unless they include a header of HIP's: CUDA's headers and names are there, and warps have 32 lanes on every
//! device. [`Dialect`] says more.
//!
//! # What launches know of the code
//! This machine's device compiler tells what each kernel takes and writes, which launches then [check](crate::launch), and holds
//! source lines for [faults](crate::FaultReport), unless the options say `-g0`. AMD's library tells neither:
//! [`Function::parameters`](crate::Function::parameters) shows what is known.
//!
//! # The cache
//! Code is found again by a hash of source, name, headers, options, name expressions, target id and compiler: its version and its
//! file, or what it says of itself. It is in `rtc` in the folder that `FERROCM_CACHE` names, else in `ferrocm` in the user's cache
//! folder, or where [`Compiler::cache`] says. Files appear complete or not at all and are verified when they are read, so that any
//! number of processes may use it at once. A program whose options make the compiler read files of its own (`-I`, `-include`, …)
//! is compiled each time, and so is one that includes a file by its path, or by a name in quotes that is none of its headers: the hash
//! does not tell whether those have changed.

mod compiler;
mod error;
mod program;

pub use compiler::Compiler;
pub use error::{CompileError, Unavailable};
pub use kernel_build::cuda::Dialect;
pub use kernel_build::{Diagnostic, Place, Severity};
pub use program::{Compiled, Program};
