//! HIP's run-time compiler (`hiprtc`) over the device compiler of this machine.
//!
//! [`table`] gives a `hip_sys::rtc::Table` whose functions run the clang that `kernel-build` finds: ROCm's, the
//! distribution's, or the one that `ferrocm setup` installs. A machine without AMD's `libhiprtc` compiles with it for the
//! virtual GPU, and for real ones.
//!
//! Programs, headers, options, logs, code, bitcode (`-fgpu-rdc`) and name expressions are there. Linking (`hiprtcLink*`)
//! is not: `Table::has` says so.
//!
//! # What differs from AMD's hiprtc
//! * Code objects tell the name, type and access of each kernel's arguments, as [`kernel_build::facts`] describes, and
//!   hold source lines unless an option such as `-g0` says otherwise.
//! * Every compilation is a process.
//! * The target has to be among the options (`--offload-arch=` or `--gpu-architecture=`): there is no current device to ask.
//! * An unknown target is an error with a log. A stale or invented program handle is an error too.
//! * The table's extension `compiler_identity` names the compiler and its libraries, for caches.
#![warn(missing_docs)]
#![allow(non_snake_case, reason = "the functions of the table have their C names")]

mod calls;
mod program;

use std::sync::OnceLock;

use hip_sys::rtc::{Builder, Extensions, Table};
use kernel_build::toolchain::{self, NotFound};

use crate::program::Compiler;

/// Why there is no table.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// No device compiler was found.
    Toolchain(NotFound),
    /// The compiler's libraries cannot be read.
    Identity(kernel_build::Error),
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Toolchain(error) => error.fmt(f),
            Self::Identity(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

static COMPILER: OnceLock<Compiler> = OnceLock::new();

/// The table over the device compiler that is found now; the first success counts for the process.
///
/// # Errors
/// [`Error`] lists every place that was looked at.
pub fn table() -> Result<&'static Table, Error> {
    static TABLE: OnceLock<&'static Table> = OnceLock::new();
    if let Some(table) = TABLE.get() {
        return Ok(table);
    }
    let toolchain = toolchain::find().map_err(Error::Toolchain)?;
    let identity = toolchain.identity().map_err(Error::Identity)?;
    let version = toolchain.version.to_string();
    let identity = format!("{} {}", identity.to_hex(), kernel_build::facts::SCHEME);
    let _ = COMPILER.set(Compiler { toolchain, identity });
    Ok(TABLE.get_or_init(|| {
        let mut builder = Builder::new(env!("CARGO_PKG_NAME"), &version);
        provide(&mut builder);
        builder.extensions(Extensions { compiler_identity: Some(calls::compiler_identity) });
        // SAFETY: the functions keep hiprtc's contract: they check handles, need of the caller what is documented, may be
        // called from any thread, and live as long as the process.
        unsafe { builder.finish() }
    }))
}

fn provide(builder: &mut Builder) {
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
}
