//! The one error type of this crate.

use std::fmt;
use std::path::PathBuf;

use hip_sys::hipError_t;
#[cfg(feature = "rtc")]
use hip_sys::rtc::hiprtcResult;

use crate::graph::GraphError;
use crate::ipc::IpcError;
use crate::launch::LaunchError;
use crate::memory::{ExternalMemoryError, VirtualMemoryError};
use crate::quirks::Quirk;
#[cfg(feature = "rtc")]
use crate::rtc::{CompileError, Unavailable};
use crate::uri::UriError;

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
    #[error(
        "{operation} has a known fault: {quirk}; {}=ignore uses it all the same",
        crate::KNOWN_FAULTS_VARIABLE
    )]
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
        address: crate::DeviceAddress,
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

/// Whether a status means that a kernel ended abnormally.
pub(crate) fn is_fault(code: hipError_t) -> bool {
    [
        hipError_t::hipErrorIllegalAddress,
        hipError_t::hipErrorLaunchFailure,
        hipError_t::hipErrorLaunchTimeOut,
        hipError_t::hipErrorAssert,
    ]
    .contains(&code)
}

impl From<variables::Error> for Error {
    fn from(error: variables::Error) -> Self {
        Self::Environment {
            variable: error.variable,
            problem: format!("`{}`: {}", error.value, error.problem),
        }
    }
}

/// A launch of compiled host code that has failed: `kernel<<<…>>>(…)`, which has no result of its own.
///
/// Whoever waits for the stream next is told, unless the host code has asked for its last error (`hipGetLastError`). The launch has done
/// nothing; what the stream was given before and after is done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{operation}: a launch of compiled host code had failed: {text}")]
pub struct HostLaunchError {
    /// The HIP function that has told.
    pub(crate) operation: &'static str,
    pub(crate) code: hipError_t,
    pub(crate) text: String,
}

impl HostLaunchError {
    /// What the library says: which kernel was not launched, and why.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl Error {
    /// Whether a call that waits or asks for work returns this when the work is over.
    pub(crate) fn tells_the_end(&self) -> bool {
        // What follows a fault is dropped; a launch that has failed is told of when everything else is done.
        matches!(self, Self::Fault(_) | Self::HostLaunch(_))
    }
}

impl From<LaunchError> for Error {
    fn from(error: LaunchError) -> Self {
        Self::Launch(Box::new(error))
    }
}

/// What is known about a kernel that ended abnormally.
///
/// The virtual GPU's report names the kernel, the program counter, the instruction, and the workgroup, wave and lane that
/// executed it. Where a library has no such report, the text says so.
#[derive(Clone, Debug)]
pub struct FaultReport {
    pub(crate) operation: &'static str,
    pub(crate) code: hipError_t,
    pub(crate) text: String,
    pub(crate) contained: bool,
    pub(crate) details: Option<Box<gpu_report::Fault>>,
}

impl FaultReport {
    /// The HIP function that returned the fault.
    pub fn operation(&self) -> &'static str {
        self.operation
    }

    /// The HIP status that it returned.
    pub fn code(&self) -> hipError_t {
        self.code
    }

    /// Whether the fault has ended its stream and nothing else: other streams and new ones work. If not, the library gives no
    /// such promise, and [`Error::is_sticky`] is true.
    pub fn is_contained(&self) -> bool {
        self.contained
    }

    /// What the virtual GPU knows of the fault: what went wrong with which address and allocation, the kernel, its source lines,
    /// the program counter, the instruction, and who executed it. None from other libraries, and where a stream failed for
    /// another reason than a kernel.
    pub fn details(&self) -> Option<&gpu_report::Fault> {
        self.details.as_deref()
    }

    /// The report's text, of one or several lines.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for FaultReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} found a device fault ({:?}): {}", self.operation, self.code, self.text)
    }
}

impl std::error::Error for FaultReport {}

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

/// The `names` most like `wanted`, the nearest first: for "did you mean".
pub(crate) fn near_names<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    const SHOWN: usize = 3;
    let mut ranked: Vec<(usize, &str)> = names
        .into_iter()
        .filter_map(|name| {
            let distance = edit_distance(wanted, name);
            let close = distance <= wanted.len().max(name.len()) / 3;
            let contained = !wanted.is_empty() && (name.contains(wanted) || wanted.contains(name));
            (close || contained).then_some((distance, name))
        })
        .collect();
    ranked.sort_unstable();
    ranked.into_iter().take(SHOWN).map(|(_, name)| name.to_owned()).collect()
}

/// Levenshtein distance over bytes.
fn edit_distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let substituted = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_come_nearest_first() {
        let names = ["fill_f32", "fill_f16", "softmax_f32", "saxpy"];
        assert_eq!(near_names("fill_f3", names), ["fill_f32", "fill_f16"]);
        assert_eq!(near_names("saxpi", names), ["saxpy"]);
        assert_eq!(near_names("softmax", names), ["softmax_f32"]);
        assert!(near_names("gemm", names).is_empty());
        assert!(near_names("", names).is_empty());
    }

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
    fn edit_distance_counts_edits() {
        for (a, b, distance) in [("", "", 0), ("", "abc", 3), ("abc", "", 3), ("kitten", "sitting", 3)] {
            assert_eq!(edit_distance(a, b), distance);
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
