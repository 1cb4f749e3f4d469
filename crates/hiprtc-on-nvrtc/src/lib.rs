//! HIP's run-time compiler (`hiprtc`) for NVIDIA GPUs, over NVRTC.
//!
//! [`table`] returns a `hip_sys::rtc::Table` whose functions call NVIDIA's own compiler. It compiles CUDA as
//! NVIDIA defines it, and needs no GPU, no driver and no toolkit beside `libnvrtc`.
//!
//! ```no_run
//! let nvrtc = cuda_sys::nvrtc::Table::load()?;
//! let rtc = hiprtc_on_nvrtc::table(nvrtc)?;
//! let (mut major, mut minor) = (0, 0);
//! // SAFETY: the pointers are valid.
//! let status = unsafe { (rtc.hiprtcVersion)(&mut major, &mut minor) };
//! println!("{status:?}: NVRTC {major}.{minor}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # How it works
//! | hiprtc | NVRTC |
//! |---|---|
//! | program | NVRTC's own, under hiprtc's name |
//! | code | the cubin; PTX if the options name a virtual architecture (`compute_90`), or one that this NVRTC is too old for |
//! | bitcode (`-fgpu-rdc`) | LTO IR (`-dlto`) |
//! | options | those of clang in NVRTC's words ([`option`]); all others as they are |
//! | log, lowered names | NVRTC's |
//!
//! Programs may include `cuda_runtime.h`, `hip/hip_runtime.h`, `stdint.h` and `stddef.h`, which NVRTC does
//! not have: this crate gives small ones unless the program brings its own. CUDA's other headers, such as
//! `cuda_fp16.h`, are taken from the toolkit or the Python packages beside `libnvrtc`.
//!
//! # Differences from AMD's hiprtc
//! * Linking (`hiprtcLink*`) is not there: the functions return `HIPRTC_ERROR_INTERNAL_ERROR`.
//! * It compiles inside the process, without limits of time and memory.
//!
//! There is one NVRTC in a process.
#![warn(missing_docs)]
#![allow(non_snake_case, reason = "the functions of the table have their C names")]

mod calls;
mod error;
mod includes;
pub mod option;
mod runtime;
#[cfg(test)]
mod tests;

use std::sync::OnceLock;

use hip_sys::rtc::{Builder, Extensions, Table};

pub use error::OtherCompiler;

/// The hiprtc table over NVRTC. Later calls with the same NVRTC return the same result.
///
/// # Errors
/// [`OtherCompiler`].
pub fn table(nvrtc: &'static cuda_sys::nvrtc::Table) -> Result<&'static Table, OtherCompiler> {
    static TABLE: OnceLock<&'static Table> = OnceLock::new();
    runtime::start(nvrtc)?;
    Ok(TABLE.get_or_init(|| {
        let version = nvrtc.version().map_or_else(|| "?".to_owned(), |version| version.to_string());
        let mut builder = Builder::new(env!("CARGO_PKG_NAME"), &version);
        builder
            .hiprtcAddNameExpression(calls::hiprtcAddNameExpression)
            .hiprtcCompileProgram(calls::hiprtcCompileProgram)
            .hiprtcCreateProgram(calls::hiprtcCreateProgram)
            .hiprtcDestroyProgram(calls::hiprtcDestroyProgram)
            .hiprtcGetBitcode(calls::hiprtcGetBitcode)
            .hiprtcGetBitcodeSize(calls::hiprtcGetBitcodeSize)
            .hiprtcGetCode(calls::hiprtcGetCode)
            .hiprtcGetCodeSize(calls::hiprtcGetCodeSize)
            .hiprtcGetErrorString(calls::hiprtcGetErrorString)
            .hiprtcGetLoweredName(calls::hiprtcGetLoweredName)
            .hiprtcGetProgramLog(calls::hiprtcGetProgramLog)
            .hiprtcGetProgramLogSize(calls::hiprtcGetProgramLogSize)
            .hiprtcVersion(calls::hiprtcVersion);
        builder.extensions(Extensions {
            compiler_identity: Some(calls::compiler_identity),
            takes_cuda: true,
            ..Extensions::NONE
        });
        // SAFETY: the functions pass on what they get to NVRTC's, whose contract is hiprtc's, may be called
        // from any thread, and live as long as the process.
        unsafe { builder.finish() }
    }))
}
