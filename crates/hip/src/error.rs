//! The one error type of this crate, and below it those of its subjects. What they say is of names and numbers: they know nothing of the
//! things that fail.

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

/// Everything that can go wrong, named by operation, code and thing.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A call into the HIP table failed.
    #[error("{operation} failed: {code:?} ({})", code.0)]
    Hip {
        /// The HIP function that was called.
        operation: &'static str,
        /// What it returned.
        code: hipError_t,
    },

    /// A kernel ended abnormally. Its stream accepts no more work; whether others do, [`Error::is_sticky`] tells.
    #[error(transparent)]
    Fault(Box<FaultReport>),

    /// Compiled host code has launched a kernel that could not be launched, and nobody has been told until now.
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
        /// Bytes that they and the cache have taken from the device.
        reserved: usize,
    },

    /// A number of elements whose size in bytes does not fit into the address space.
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

    /// A variable holds something that cannot be used; `FERROCM_DEVICE`, for example, no device URI.
    #[error("environment variable `{variable}`: {problem}")]
    Environment {
        /// The variable.
        variable: &'static str,
        /// What is wrong with its value.
        problem: String,
    },

    /// The URI is well-formed, and no such device exists.
    #[error("device `{uri}` not found: {available}")]
    NotFound {
        /// The device that was asked for.
        uri: String,
        /// What there is instead.
        available: String,
    },

    /// The library or virtual machine behind a kind of device could not be used.
    #[error("the {backend} backend is not available: {reason}")]
    BackendUnavailable {
        /// The kind of device, as the scheme of its URI.
        backend: &'static str,
        /// Why.
        reason: String,
    },

    /// Something that this version does not do.
    #[error("{what} is not supported: {instead}")]
    Unsupported {
        /// What was asked for.
        what: String,
        /// What to do instead.
        instead: String,
    },

    /// The library behind the device is known to do this wrongly.
    #[error("{operation} has a known fault: {quirk}; {}=ignore uses it all the same", KNOWN_FAULTS_VARIABLE)]
    KnownFault {
        /// The HIP function.
        operation: &'static str,
        /// What is known, and from which report.
        quirk: &'static Quirk,
    },

    /// A file that cannot be read or written.
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

    /// The cache of what the run-time compiler has made cannot be used.
    #[cfg(feature = "rtc")]
    #[error("the cache of compiled programs: {problem}")]
    CompileCache {
        /// What is wrong.
        problem: String,
    },

    /// A variable does not say how long the run-time compiler may run, or how much memory it may have.
    #[cfg(feature = "rtc")]
    #[error("{problem}")]
    CompileLimit {
        /// Which variable, and what would be right.
        problem: String,
    },

    /// The bytes are no code object that can be read.
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
        /// Names like it that the module does have, the nearest first.
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

    /// The module's kernels do not count what they do.
    #[error(
        "module `{module}` does not count what its kernels do: compile it with kernel_build's Builder::metrics(true), or with \
         FERROCM_KERNEL_METRICS=1 in the environment"
    )]
    NoMetrics {
        /// The module's name, or `<bytes>`.
        module: String,
    },

    /// A variable is not an array of what it was taken for.
    #[error(
        "variable `{global}` of module `{module}` has {bytes} bytes, which are no array of `{element}`, of {size} bytes each"
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

    /// A variable that another handle has, where one of the two is to write it.
    #[error(
        "variable `{global}` of module `{module}` is in use: another handle of it {}; drop that, or share it by reference",
        if *exclusive { "exists" } else { "may write it" }
    )]
    GlobalInUse {
        /// The module's name, or `<bytes>`.
        module: String,
        /// The variable.
        global: String,
        /// It was asked for to be written.
        exclusive: bool,
    },

    /// A launch does not fit its kernel or the device.
    #[error(transparent)]
    Launch(#[from] Box<LaunchError>),

    /// Something that cannot be done with a graph, or with a stream that is captured into one.
    #[error(transparent)]
    Graph(#[from] GraphError),

    /// Addresses and memory that cannot be put together.
    #[error(transparent)]
    VirtualMemory(#[from] VirtualMemoryError),

    /// A part of another driver's memory that cannot be had.
    #[error(transparent)]
    ExternalMemory(Box<ExternalMemoryError>),

    /// A handle of another process that cannot be opened.
    #[error(transparent)]
    Ipc(#[from] IpcError),

    /// Two things that must be of the same length are not.
    #[error("{operation}: the destination has {destination} elements and the source {source_len}")]
    LengthMismatch {
        /// The operation.
        operation: &'static str,
        /// Elements of the destination.
        destination: usize,
        /// Elements of the source.
        source_len: usize,
    },

    /// Memory that is no array of the elements that it was to be viewed as.
    #[error(
        "{bytes} bytes at {address} are no array of `{element}`, of {size} bytes each at multiples of {align}"
    )]
    Cast {
        /// The size of the memory in bytes.
        bytes: usize,
        /// Where it lies.
        address: DeviceAddress,
        /// The element that was asked for.
        element: &'static str,
        /// The size of that, bytes.
        size: usize,
        /// What its address has to be a multiple of.
        align: usize,
    },

    /// Pieces of no elements were asked for.
    #[error("a buffer is not divided into chunks of no elements")]
    ChunkSize,

    /// A range that is not inside the buffer.
    #[error("range {start}..{end} is outside of a buffer of {len} elements")]
    OutOfRange {
        /// First element of the range.
        start: usize,
        /// One past the last element of the range.
        end: usize,
        /// Elements of the buffer.
        len: usize,
    },

    /// A stream's priority that the device does not have.
    #[error(
        "stream priority {priority} is not one of the device's, which are {least} (least urgent) to {greatest}"
    )]
    Priority {
        /// The priority that was asked for.
        priority: i32,
        /// The least urgent priority of the device, its largest number.
        least: i32,
        /// The most urgent one, its smallest number.
        greatest: i32,
    },

    /// The time of an event that was not recorded.
    #[error("{operation}: the event was not recorded on a stream")]
    EventNotRecorded {
        /// The operation.
        operation: &'static str,
    },

    /// The time of an event that was made without.
    #[error("{operation}: the event was made without timing")]
    EventWithoutTiming {
        /// The operation.
        operation: &'static str,
    },

    /// A host function, or something that it called, has tried to use the device; see
    /// [`Stream::host_function`](crate::Stream::host_function).
    #[error("a host function must not use the device")]
    HostFunction,

    /// The system has refused a thread.
    #[error("a thread could not be started: {reason}")]
    Thread {
        /// What the system said.
        reason: String,
    },

    /// Devices, or things of devices, that belong to different libraries were used together.
    #[error("{operation}: the {what} belongs to {got}, which is of another library than {expected}")]
    OtherRuntime {
        /// The operation.
        operation: &'static str,
        /// What belongs to the other device.
        what: &'static str,
        /// The device that was to use it.
        expected: String,
        /// The device of the other thing.
        got: String,
    },

    /// A device that has to reach another's memory cannot.
    #[error("{device} has no link to the memory of {peer}")]
    NoPeerAccess {
        /// The device that would have access.
        device: String,
        /// The device whose memory it would be.
        peer: String,
    },

    /// Things of two devices were used together.
    #[error("{operation}: the {what} belongs to {got}, and {expected} has no access to that device's memory")]
    OtherDevice {
        /// The operation.
        operation: &'static str,
        /// What belongs to the other device.
        what: &'static str,
        /// The device that was to use it.
        expected: String,
        /// The device of the other thing.
        got: String,
    },
}

/// As its text: it is what a program prints whose `main` returns it.
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

    /// The name of that status, such as `hipErrorInvalidValue`; none for a status that the headers do not have.
    /// [`Device::describe`](crate::Device::describe) gives the library's sentence about it.
    #[doc(alias = "hipGetErrorName")]
    #[doc(alias = "cudaGetErrorName")]
    pub fn code_name(&self) -> Option<&'static str> {
        self.code()?.name()
    }

    /// Whether the device, or the whole process, can do no more GPU work after this: later calls return the same, whatever they
    /// are. A program that must go on does so in a new process.
    ///
    /// | status | AMD's and NVIDIA's library | virtual GPUs, `hip-on-hsa` |
    /// |---|---|---|
    /// | `hipErrorIllegalAddress`, `hipErrorLaunchFailure`, `hipErrorLaunchTimeOut`, `hipErrorAssert` | sticky, if AMD's runtime has not ended the process already, as it does for memory faults | [`Error::Fault`]: only the stream has failed, and [`FaultReport::is_contained`] says so |
    /// | `hipErrorECCNotCorrectable` | sticky | never |
    /// | `hipErrorDeinitialized` | sticky: the library has been shut down | never |
    /// | every other one | the one call has failed | the one call has failed |
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
    /// Whether a call that waits or asks for work returns this when the work is over.
    pub(crate) fn tells_the_end(&self) -> bool {
        // What follows a fault is dropped; a launch that has failed is told of when everything else is done.
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
            // Another thread has given memory back between the two numbers.
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
