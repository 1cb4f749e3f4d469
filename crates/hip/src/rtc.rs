//! Compiling kernels at run time (`hiprtc`).
//!
//! A [`Compiler`] is AMD's `libhiprtc` if it is installed, else the device compiler that
//! [`device-compiler`](https://docs.rs/ferrocm-device-compiler) finds. It compiles a [`Program`] for a
//! device's target id. Results are cached on disk. For NVIDIA GPUs it is NVIDIA's NVRTC
//! ([`Compiler::open_for`]), which reports no files, so that nothing is cached.
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
//! For simple cases, use [`Device::compile`](crate::Device::compile).
//!
//! Programs are CUDA unless they include a HIP header. In CUDA, CUDA's headers and names are available, and
//! warps have 32 lanes on every device. [`Dialect`] explains more.
//! # Checks of launches
//! This machine's device compiler records what each kernel takes and writes, so that launches can
//! [check](crate::launch) it, and source lines for [faults](crate::FaultReport), unless the options contain
//! `-g0`. AMD's library records neither. [`Function::parameters`](crate::Function::parameters) shows what is
//! recorded.
//!
//! # The cache
//! The key is a hash of source, name, headers, options, name expressions, target id and compiler identity. An
//! entry also records the machine's files: those that the compiler read, by content, and those that it looked
//! for and did not find. The compiler reports them, however the source names them. If it cannot, the program
//! is compiled each time: when a macro forms the name in `__has_include`, when inline assembly may read a
//! file (`.incbin`), and when an option names a file that is not a header. AMD's library reports nothing and
//! compiles each time ([`Compiler::is_caching`]); it may have its own cache.
//!
//! The cache is in the subfolder `rtc` of the folder that `FERROCM_CACHE` names, else of `ferrocm` in the
//! user's cache folder. [`Compiler::cache`] chooses another place. Files appear complete or not at all and
//! are verified when they are read, so any number of a user's processes can share the cache. It must belong
//! to the user alone: a folder or file that belongs to somebody else, or that others may write to, is
//! refused.
//!
//! # Limits
//! A few lines of templates can keep a compiler busy for ever. A compiler that takes more than five minutes,
//! or 2 GiB of memory, is stopped, and the error says so. [`Compiler::time_limit`] and
//! [`Compiler::memory_limit`] change the limits, and so do the variables `FERROCM_RTC_TIMEOUT` (seconds) and
//! `FERROCM_RTC_MEMORY` (`4GiB`); `none` removes a limit. AMD's library compiles inside the process, without
//! limits.

mod compiler;
mod program;

pub use crate::error::{CompileError, Unavailable};
pub use compiler::Compiler;
pub use device_compiler::cuda::Dialect;
pub use device_compiler::{Diagnostic, Place, Severity};
pub use program::{Compiled, Program};
