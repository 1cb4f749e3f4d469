//! HIP's run-time compiler (`hiprtc`) over the device compiler of this machine.
//!
//! [`table`] gives a `hip_sys::rtc::Table` whose functions run the clang that `device-compiler` finds: ROCm's, the
//! distribution's, or the one that `ferrocm setup` installs. A machine without AMD's `libhiprtc` compiles with it for the
//! virtual GPU, and for real ones.
//!
//! Programs, headers, options, logs, code, bitcode (`-fgpu-rdc`), name expressions and linking (`hiprtcLink*`) are there. What can be
//! linked is LLVM bitcode, IR as text and bundles of either, of files and of memory; archives of bundles and SPIR-V are
//! `HIPRTC_ERROR_INVALID_INPUT`.
//!
//! # What differs from AMD's hiprtc
//! * Code objects tell the name, type and access of each kernel's arguments, as [`device_compiler::facts`] describes, and
//!   hold source lines unless an option such as `-g0` says otherwise.
//! * Every compilation is a process. One that takes more than five minutes or 2 GiB of memory is ended, and an error whose log says so:
//!   a few lines of templates would otherwise keep the machine busy for ever. `FERROCM_RTC_TIMEOUT` (seconds) and `FERROCM_RTC_MEMORY`
//!   (`4GiB`) set other limits, `none` sets none; the table's extension `set_limits` sets those of a program.
//! * The target has to be among the options (`--offload-arch=` or `--gpu-architecture=`), unless [`ask_for_target`] names somebody who
//!   knows the current device. Linked code is for the target that its bitcode was compiled for.
//! * An unknown target is an error with a log. A stale or invented program handle is an error too.
//! * The table's extensions `compiler_identity`, which names the compiler and its libraries, and `dependencies`, which tells the files
//!   that a compilation depends on, are for caches.
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

/// Why there is no table.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// No device compiler was found.
    Toolchain(NotFound),
    /// The compiler's libraries cannot be read.
    Identity(device_compiler::Error),
    /// A variable does not say how long the compiler may run, or how much memory it may have.
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
        });
        // SAFETY: the functions keep hiprtc's contract: they check handles, need of the caller what is documented, may be
        // called from any thread, and live as long as the process.
        unsafe { builder.finish() }
    }))
}

/// Who knows the target of the current device.
static CURRENT: OnceLock<fn() -> Option<TargetId>> = OnceLock::new();

/// Says whom to ask for the target of the current device, for programs whose options name none. The first one holds.
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
