//! This crate's error type, and below it the error types of each subject. Errors hold names and numbers, not
//! the objects that failed.

#[cfg(feature = "rtc")]
mod compile;
mod external_memory;
mod fault;
mod graph;
mod ipc;
mod launch;
mod near;
mod uri;
mod virtual_memory;

use std::fmt;
use std::path::PathBuf;

use hip_sys::hipError_t;
#[cfg(feature = "rtc")]
use hip_sys::rtc::hiprtcResult;

use crate::address::DeviceAddress;
use crate::quirks::{KNOWN_FAULTS_VARIABLE, Quirk};

#[cfg(feature = "rtc")]
pub use compile::{CompileError, Unavailable};
pub use external_memory::ExternalMemoryError;
pub(crate) use fault::is_fault;
pub use fault::{FaultReport, HostLaunchError};
pub use graph::GraphError;
pub use ipc::IpcError;
pub use launch::{Argument, LaunchError};
pub(crate) use near::near_names;
pub use uri::UriError;
pub use virtual_memory::VirtualMemoryError;

/// The result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can go wrong, with the operation, the code and the object.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A call into the HIP table failed.
    #[error("{operation} failed: {code:?} ({}){}", code.0, advice(*code))]
    Hip {
        /// The HIP function that was called.
        operation: &'static str,
        /// What it returned.
        code: hipError_t,
    },

    /// A kernel ended abnormally. Its stream accepts no more work; [`Error::is_sticky`] says whether others
    /// do.
    #[error(transparent)]
    Fault(Box<FaultReport>),

    /// A kernel launch by compiled host code has failed, and this is the first call that reports it.
    #[error(transparent)]
    HostLaunch(Box<HostLaunchError>),

    /// The device has too little free memory.
    #[error(
        "out of device memory on {device}: {requested} bytes requested, {free} of {total} bytes free; this program's buffers \
         hold {allocated} bytes and its cache {} more", reserved.saturating_sub(*allocated)
    )]
    OutOfMemory {
        /// The device, as its URI.
        device: String,
        /// Bytes that were asked for.
        requested: usize,
        /// Bytes that were free just after the failure.
        free: usize,
        /// Bytes of memory that the device has.
        total: usize,
        /// Bytes that this program's buffers hold.
        allocated: usize,
        /// Bytes that they and the cache hold on the device.
        reserved: usize,
    },

    /// The size of this many elements does not fit into the address space.
    #[error("{elements} elements of {size} bytes do not fit into the address space")]
    TooLarge {
        /// How many elements were asked for.
        elements: usize,
        /// The size of each in bytes.
        size: usize,
    },

    /// The device URI is malformed.
    #[error(transparent)]
    Uri(#[from] UriError),

    /// An environment variable has an invalid value, such as `FERROCM_DEVICE` with something other than a
    /// device URI.
    #[error("environment variable `{variable}`: {problem}")]
    Environment {
        /// The variable.
        variable: &'static str,
        /// What is wrong with its value.
        problem: String,
    },

    /// The URI is well-formed, but no such device exists.
    #[error("device `{uri}` not found: {available}")]
    NotFound {
        /// The device that was asked for.
        uri: String,
        /// The devices that exist.
        available: String,
    },

    /// The library or virtual GPU behind a kind of device could not be used.
    #[error("the {backend} backend is not available: {reason}")]
    BackendUnavailable {
        /// The kind of device, as the scheme of its URI.
        backend: &'static str,
        /// Why.
        reason: String,
    },

    /// This version does not support something.
    #[error("{what} is not supported: {instead}")]
    Unsupported {
        /// What was asked for.
        what: String,
        /// What to do instead.
        instead: String,
    },

    /// The library behind the device has a known fault in this function.
    #[error("{operation} has a known fault: {quirk}; {}=ignore uses it anyway", KNOWN_FAULTS_VARIABLE)]
    KnownFault {
        /// The HIP function.
        operation: &'static str,
        /// The fault, with its public report.
        quirk: &'static Quirk,
    },

    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },

    /// The run-time compiler refused a program.
    #[cfg(feature = "rtc")]
    #[error(transparent)]
    Compile(Box<CompileError>),

    /// There is no run-time compiler.
    #[cfg(feature = "rtc")]
    #[error(transparent)]
    CompilerUnavailable(Box<Unavailable>),

    /// A call into the run-time compiler failed.
    #[cfg(feature = "rtc")]
    #[error("{operation} failed: {code:?}")]
    Rtc {
        /// The function of hiprtc that was called.
        operation: &'static str,
        /// What it returned.
        code: hiprtcResult,
    },

    /// The run-time compiler's cache cannot be used.
    #[cfg(feature = "rtc")]
    #[error("the cache of compiled programs: {problem}")]
    CompileCache {
        /// What is wrong.
        problem: String,
    },

    /// A variable that limits the run-time compiler's time or memory has an invalid value.
    #[cfg(feature = "rtc")]
    #[error("{problem}")]
    CompileLimit {
        /// Which variable, and what is valid.
        problem: String,
    },

    /// The bytes are not a readable code object.
    #[error("module `{module}` cannot be read: {source}")]
    CodeObject {
        /// The module's name, or `<bytes>`.
        module: String,
        /// What the reader found.
        source: code_object::Error,
    },

    /// The module has no code for the device.
    #[error("module `{module}` has no code for {device}: it holds {}", list(available))]
    WrongTarget {
        /// The module's name, or `<bytes>`.
        module: String,
        /// The device's target id.
        device: String,
        /// The target ids that the module has code for.
        available: Vec<String>,
    },

    /// The module has no such kernel.
    #[error("module `{module}` has no kernel `{kernel}`: {}", suggestion(near, available))]
    KernelNotFound {
        /// The module's name, or `<bytes>`.
        module: String,
        /// The kernel that was asked for.
        kernel: String,
        /// Similar names in the module, the nearest first.
        near: Vec<String>,
        /// How many kernels the module has.
        available: usize,
    },

    /// The module has no such variable.
    #[error("module `{module}` has no variable `{global}`")]
    GlobalNotFound {
        /// The module's name, or `<bytes>`.
        module: String,
        /// The variable that was asked for.
        global: String,
    },

    /// The module was compiled without counters.
    #[error(
        "module `{module}` does not count what its kernels do: compile it with kernel_build's Builder::metrics(true), or with \
         FERROCM_KERNEL_METRICS=1 in the environment"
    )]
    NoMetrics {
        /// The module's name, or `<bytes>`.
        module: String,
    },

    /// A variable is not an array of the requested element type.
    #[error(
        "variable `{global}` of module `{module}` has {bytes} bytes, which is not an array of `{element}` ({size} bytes each)"
    )]
    GlobalType {
        /// The module's name, or `<bytes>`.
        module: String,
        /// The variable.
        global: String,
        /// Its size in bytes.
        bytes: usize,
        /// The element that was asked for.
        element: &'static str,
        /// The size of that, bytes.
        size: usize,
    },

    /// Another handle of the variable exists, and one of the two may write.
    #[error(
        "variable `{global}` of module `{module}` is in use: another handle of it {}; drop that handle, or share it by reference",
        if *exclusive { "exists" } else { "may write it" }
    )]
    GlobalInUse {
        /// The module's name, or `<bytes>`.
        module: String,
        /// The variable.
        global: String,
        /// Whether the handle was requested for writing.
        exclusive: bool,
    },

    /// A launch does not fit its kernel or the device.
    #[error(transparent)]
    Launch(#[from] Box<LaunchError>),

    /// An operation on a graph, or on a stream that is captured into one, is not possible.
    #[error(transparent)]
    Graph(#[from] GraphError),

    /// Memory cannot be mapped, imported or exported.
    #[error(transparent)]
    VirtualMemory(#[from] VirtualMemoryError),

    /// Memory of another driver cannot be imported or used.
    #[error(transparent)]
    ExternalMemory(Box<ExternalMemoryError>),

    /// A handle of another process cannot be opened.
    #[error(transparent)]
    Ipc(#[from] IpcError),

    /// Source and destination have different lengths.
    #[error("{operation}: the destination has {destination} elements and the source {source_len}")]
    LengthMismatch {
        /// The operation.
        operation: &'static str,
        /// Elements of the destination.
        destination: usize,
        /// Elements of the source.
        source_len: usize,
    },

    /// The memory cannot be viewed as an array of these elements.
    #[error(
        "{bytes} bytes at {address} are not an array of `{element}` ({size} bytes each, aligned to {align})"
    )]
    Cast {
        /// The size of the memory in bytes.
        bytes: usize,
        /// Its address.
        address: DeviceAddress,
        /// The element that was asked for.
        element: &'static str,
        /// The size of that, bytes.
        size: usize,
        /// The alignment that the element needs.
        align: usize,
    },

    /// The chunk length is 0.
    #[error("the length of chunks must not be 0")]
    ChunkSize,

    /// The range is not inside the buffer.
    #[error("range {start}..{end} is outside of a buffer of {len} elements")]
    OutOfRange {
        /// First element of the range.
        start: usize,
        /// One past the last element of the range.
        end: usize,
        /// Elements of the buffer.
        len: usize,
    },

    /// The device does not have this stream priority.
    #[error(
        "stream priority {priority} is out of range: the device has {least} (least urgent) to {greatest} (most urgent)"
    )]
    Priority {
        /// The priority that was asked for.
        priority: i32,
        /// The least urgent priority of the device, its largest number.
        least: i32,
        /// The most urgent one, its smallest number.
        greatest: i32,
    },

    /// The time of an event that was never recorded.
    #[error("{operation}: the event was not recorded on a stream")]
    EventNotRecorded {
        /// The operation.
        operation: &'static str,
    },

    /// The time of an event that was made without timing.
    #[error("{operation}: the event was made without timing")]
    EventWithoutTiming {
        /// The operation.
        operation: &'static str,
    },

    /// A host function, or code that it called, tried to use the device; see
    /// [`Stream::host_function`](crate::Stream::host_function).
    #[error("a host function must not use the device")]
    HostFunction,

    /// The system could not start a thread.
    #[error("a thread could not be started: {reason}")]
    Thread {
        /// What the system said.
        reason: String,
    },

    /// Devices, or objects of devices, that belong to different libraries were used together.
    #[error("{operation}: the {what} belongs to {got}, whose HIP library is not that of {expected}")]
    OtherRuntime {
        /// The operation.
        operation: &'static str,
        /// The object that belongs to the other device.
        what: &'static str,
        /// The device that should use it.
        expected: String,
        /// The device that the object belongs to.
        got: String,
    },

    /// A device cannot reach another's memory.
    #[error("{device} has no link to the memory of {peer}")]
    NoPeerAccess {
        /// The device that needs access.
        device: String,
        /// The device whose memory it needs.
        peer: String,
    },

    /// Objects of two devices were used together.
    #[error("{operation}: the {what} belongs to {got}, and {expected} has no access to that device's memory")]
    OtherDevice {
        /// The operation.
        operation: &'static str,
        /// The object that belongs to the other device.
        what: &'static str,
        /// The device that should use it.
        expected: String,
        /// The device that the object belongs to.
        got: String,
    },
}

/// The same as `Display`: Rust prints an error that `main` returns with `Debug`.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error {
    /// The HIP status behind this error, if a HIP call made it.
    pub fn code(&self) -> Option<hipError_t> {
        match self {
            Self::Hip { code, .. } => Some(*code),
            Self::Fault(report) => Some(report.code),
            Self::HostLaunch(error) => Some(error.code),
            Self::OutOfMemory { .. } => Some(hipError_t::hipErrorOutOfMemory),
            _ => None,
        }
    }

    /// The name of that status, such as `hipErrorInvalidValue`; `None` for a status that is not in the
    /// headers. [`Device::describe`](crate::Device::describe) gives the library's description.
    #[doc(alias = "hipGetErrorName")]
    #[doc(alias = "cudaGetErrorName")]
    pub fn code_name(&self) -> Option<&'static str> {
        self.code()?.name()
    }

    /// Whether the device, or the whole process, can do no more GPU work: every later call returns the same
    /// error. A program that must continue needs a new process.
    ///
    /// | status | AMD's and NVIDIA's library | virtual GPUs, `hip-on-hsa` |
    /// |---|---|---|
    /// | `hipErrorIllegalAddress`, `hipErrorLaunchFailure`, `hipErrorLaunchTimeOut`, `hipErrorAssert` | sticky, unless AMD's runtime has already ended the process, as it does for memory faults | [`Error::Fault`]: only the stream has failed, and [`FaultReport::is_contained`] says so |
    /// | `hipErrorECCNotCorrectable` | sticky | never |
    /// | `hipErrorDeinitialized` | sticky: the library has been shut down | never |
    /// | every other status | only this call has failed | only this call has failed |
    pub fn is_sticky(&self) -> bool {
        match self {
            Self::Fault(report) => !report.contained,
            Self::Hip { code, .. } => {
                is_fault(*code)
                    || [hipError_t::hipErrorECCNotCorrectable, hipError_t::hipErrorDeinitialized]
                        .contains(code)
            }
            _ => false,
        }
    }

    /// The HIP function behind this error, if a HIP call made it.
    pub fn operation(&self) -> Option<&'static str> {
        match self {
            Self::Hip { operation, .. }
            | Self::LengthMismatch { operation, .. }
            | Self::OtherRuntime { operation, .. }
            | Self::OtherDevice { operation, .. }
            | Self::KnownFault { operation, .. } => Some(operation),
            Self::Fault(report) => Some(report.operation),
            Self::HostLaunch(error) => Some(error.operation),
            Self::OutOfMemory { .. } => Some("hipMalloc"),
            _ => None,
        }
    }

    /// The report of the kernel that ended abnormally, if this error is about one.
    pub fn fault(&self) -> Option<&FaultReport> {
        match self {
            Self::Fault(report) => Some(report),
            _ => None,
        }
    }
}

impl From<variables::Error> for Error {
    fn from(error: variables::Error) -> Self {
        Self::Environment {
            variable: error.variable,
            problem: format!("`{}`: {}", error.value, error.problem),
        }
    }
}

impl Error {
    /// Whether a call that waits for work or queries it returns this error once the work has ended.
    pub(crate) fn tells_the_end(&self) -> bool {
        // Work after a fault is dropped. A failed launch is reported once all other work is done.
        matches!(self, Self::Fault(_) | Self::HostLaunch(_))
    }
}

impl From<ExternalMemoryError> for Error {
    fn from(error: ExternalMemoryError) -> Self {
        Self::ExternalMemory(Box::new(error))
    }
}

impl From<LaunchError> for Error {
    fn from(error: LaunchError) -> Self {
        Self::Launch(Box::new(error))
    }
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
}

fn suggestion(near: &[String], available: &usize) -> String {
    if near.is_empty() {
        format!("none of its {available} kernels has a name like it")
    } else {
        format!(
            "did you mean {}?",
            near.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" or ")
        )
    }
}

/// What to do about a status that every later call returns, too.
fn advice(code: hipError_t) -> &'static str {
    match is_fault(code) {
        true => {
            ": a kernel has faulted, and the process cannot use the device any more: end the process and start \
             another"
        }
        false => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_main_prints_is_the_text() {
        let fault = FaultReport {
            operation: "hipStreamSynchronize",
            code: hipError_t::hipErrorIllegalAddress,
            text: "kernel `k`\n  wrote 4 bytes".to_owned(),
            contained: true,
            details: None,
        };
        let uri = "vgpu:gfx11OO".parse::<crate::DeviceUri>().unwrap_err();
        assert_eq!(format!("{uri:?}"), uri.to_string());
        let memory = |reserved| Error::OutOfMemory {
            device: "vgpu".to_owned(),
            requested: 100,
            free: 10,
            total: 50,
            allocated: 40,
            reserved,
        };
        for error in [
            Error::Fault(Box::new(fault)),
            Error::Uri(uri),
            Error::HostFunction,
            GraphError::NotCapturable.into(),
            memory(40),
            // Another thread frees memory between the two readings.
            memory(0),
        ] {
            assert_eq!(format!("{error:?}"), error.to_string());
            assert_eq!(format!("{:?}", Err::<(), _>(&error)), format!("Err({error})"));
        }
    }

    #[test]
    fn what_poisons_the_process_is_told_apart() {
        use hipError_t as E;
        let hip = |code| Error::Hip { operation: "hipMalloc", code };
        for code in [E::hipErrorIllegalAddress, E::hipErrorLaunchFailure, E::hipErrorECCNotCorrectable] {
            assert!(hip(code).is_sticky(), "{code:?}");
        }
        for code in [E::hipErrorInvalidValue, E::hipErrorOutOfMemory, E::hipErrorNotReady, hipError_t(12345)]
        {
            assert!(!hip(code).is_sticky(), "{code:?}");
        }
        let fault = |contained| {
            let (operation, code, text) = ("hipStreamSynchronize", E::hipErrorIllegalAddress, String::new());
            Error::Fault(Box::new(FaultReport { operation, code, text, contained, details: None }))
        };
        assert!(fault(false).is_sticky() && !fault(true).is_sticky());
        assert!(!Error::HostFunction.is_sticky());
        assert_eq!(hip(E::hipErrorNotReady).code_name(), Some("hipErrorNotReady"));
        assert_eq!(hip(hipError_t(12345)).code_name(), None);
        assert_eq!(Error::HostFunction.code_name(), None);
    }

    #[test]
    fn errors_are_small_and_cross_threads() {
        fn sendable<T: Send + Sync + 'static>() {}
        sendable::<Error>();
        assert!(size_of::<Error>() <= 120, "{}", size_of::<Error>());
    }

    #[test]
    fn a_missing_kernel_names_the_near_ones() {
        let error = Error::KernelNotFound {
            module: "fill".into(),
            kernel: "fil_f32".into(),
            near: vec!["fill_f32".into()],
            available: 4,
        };
        assert_eq!(error.to_string(), "module `fill` has no kernel `fil_f32`: did you mean `fill_f32`?");
    }
}
