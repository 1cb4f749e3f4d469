//! HIP's run-time compiler (`hiprtc`) over this machine's device compiler.
//!
//! [`table`] returns a `hip_sys::rtc::Table` whose functions run the clang that `device-compiler` finds:
//! ROCm's, the distribution's, or the one that `ferrocm setup` installs. With it, a machine without AMD's
//! `libhiprtc` can compile for the virtual GPU and for real ones.
//!
//! It supports programs, headers, options, logs, code, bitcode (`-fgpu-rdc`), name expressions and linking
//! (`hiprtcLink*`). The linker accepts LLVM bitcode, textual IR, and bundles of either, from files and from
//! memory. Archives of bundles and SPIR-V give `HIPRTC_ERROR_INVALID_INPUT`.
//!
//! # Differences from AMD's hiprtc
//! * Code objects record the name, type and access of each kernel's arguments ([`device_compiler::facts`]),
//!   and source lines unless an option such as `-g0` turns them off.
//! * Every compilation is a process. A few lines of templates could keep the machine busy for ever, so a
//!   compilation that takes more than five minutes or 2 GiB of memory is ended; the log of the error says so.
//!   `FERROCM_RTC_TIMEOUT` (seconds) and `FERROCM_RTC_MEMORY` (`4GiB`) set other limits, `none` removes them.
//!   The table's extension `set_limits` sets the limits of one program.
//! * The options must name the target (`--offload-arch=` or `--gpu-architecture=`), unless [`ask_for_target`]
//!   has registered a function that knows the current device. Linked code is for the target that its bitcode
//!   was compiled for.
//! * An unknown target is an error with a log. A stale or invented program handle is an error too.
//! * The table has two extensions for caches: `compiler_identity` names the compiler and its libraries, and
//!   `dependencies` lists the files that a compilation depends on.
#![warn(missing_docs)]
#![allow(non_snake_case, reason = "the functions of the table have their C names")]

mod calls;
mod link;
mod program;

use std::sync::OnceLock;

use code_object::TargetId;
use device_compiler::limits::Limits;
use device_compiler::toolchain::{self, NotFound};
use hip_sys::rtc::{Builder, Extensions, Table};

use crate::program::Compiler;

/// Why the table cannot be made.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// No device compiler was found.
    Toolchain(NotFound),
    /// The compiler's libraries cannot be read.
    Identity(device_compiler::Error),
    /// A variable for the compiler's limits of time or memory is invalid.
    Limits(variables::Error),
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Toolchain(error) => error.fmt(f),
            Self::Identity(error) => error.fmt(f),
            Self::Limits(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

static COMPILER: OnceLock<Compiler> = OnceLock::new();

/// Returns the table over the device compiler that is found now. The process keeps the first compiler found.
///
/// # Errors
/// [`Error`] lists every place that was searched.
pub fn table() -> Result<&'static Table, Error> {
    static TABLE: OnceLock<&'static Table> = OnceLock::new();
    if let Some(table) = TABLE.get() {
        return Ok(table);
    }
    let toolchain = toolchain::find().map_err(Error::Toolchain)?;
    let identity = toolchain.identity().map_err(Error::Identity)?;
    let version = toolchain.version.to_string();
    let identity = format!("{} {}", identity.to_hex(), device_compiler::facts::SCHEME);
    let limits = Limits::from_env().map_err(Error::Limits)?;
    let _ = COMPILER.set(Compiler { toolchain, identity, limits });
    Ok(TABLE.get_or_init(|| {
        let mut builder = Builder::new(env!("CARGO_PKG_NAME"), &version);
        provide(&mut builder);
        builder.extensions(Extensions {
            compiler_identity: Some(calls::compiler_identity),
            set_limits: Some(calls::set_limits),
            dependencies: Some(calls::dependencies),
            takes_cuda: false,
        });
        // SAFETY: the functions keep hiprtc's contract: they check handles, require only what is documented
        // of the caller, may be called from any thread, and live as long as the process.
        unsafe { builder.finish() }
    }))
}

/// The function that knows the target of the current device.
static CURRENT: OnceLock<fn() -> Option<TargetId>> = OnceLock::new();

/// Registers a function that returns the target of the current device, for programs whose options name none.
/// Only the first call has an effect.
pub fn ask_for_target(current: fn() -> Option<TargetId>) {
    let _ = CURRENT.set(current);
}

pub(crate) fn current_target() -> Option<TargetId> {
    CURRENT.get().and_then(|current| current())
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
        .hiprtcLinkAddData(calls::hiprtcLinkAddData)
        .hiprtcLinkAddFile(calls::hiprtcLinkAddFile)
        .hiprtcLinkComplete(calls::hiprtcLinkComplete)
        .hiprtcLinkCreate(calls::hiprtcLinkCreate)
        .hiprtcLinkDestroy(calls::hiprtcLinkDestroy)
        .hiprtcVersion(calls::hiprtcVersion);
}
