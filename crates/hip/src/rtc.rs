//! Compiling kernels at run time (`hiprtc`).
//!
//! A [`Compiler`] is AMD's `libhiprtc` if there is one, else the device compiler that
//! [`device-compiler`](https://docs.rs/ferrocm-device-compiler) finds. It makes code of a [`Program`] for a device's target id. What it has
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
//! Code is found again by a hash of source, name, headers, options, name expressions, target id and compiler (what it says of itself),
//! and by the machine's files: those that the compiler has read, by their content, and those that it looked for and did not find. The
//! compiler tells them, whatever way the source names them. Where it cannot tell, a program is compiled each time: where a macro makes
//! the name that `__has_include` asks for, where inline assembly may read a file (`.incbin`), and where an option names a file that is
//! no header. AMD's library tells nothing, and compiles each time ([`Compiler::is_caching`]); it may have a cache of its own.
//!
//! It is in `rtc` in the folder that `FERROCM_CACHE` names, else in `ferrocm` in the user's cache folder, or where [`Compiler::cache`]
//! says. Files appear complete or not at all and are verified when they are read, so that any number of processes of a user may use it
//! at once. A cache is the user's alone: a folder of somebody else's, or that others may write to, is refused, and so is a file in it.
//!
//! # Limits
//! A few lines of templates keep a compiler busy for ever. One that takes five minutes, or 2 GiB of memory, is ended, and the program is an
//! error that says so; [`Compiler::time_limit`] and [`Compiler::memory_limit`] set other limits, and so do the variables
//! `FERROCM_RTC_TIMEOUT` (seconds) and `FERROCM_RTC_MEMORY` (`4GiB`), `none` for no limit. AMD's library compiles inside of the
//! process, and has none.

mod compiler;
mod program;

pub use crate::error::{CompileError, Unavailable};
pub use compiler::Compiler;
pub use device_compiler::cuda::Dialect;
pub use device_compiler::{Diagnostic, Place, Severity};
pub use program::{Compiled, Program};
