//! Kernels that ended abnormally, and launches of compiled host code that failed.

use std::fmt;

use hip_sys::hipError_t;

/// What is known about a kernel that ended abnormally.
///
/// The virtual GPU's report names the kernel, the program counter, the instruction, and the workgroup, wave
/// and lane that executed it. If the library has no such report, the text says so.
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

    /// Whether the fault has ended only its stream, so that other and new streams work. If not, the library
    /// does not promise that, and [`Error::is_sticky`](super::Error::is_sticky) is true.
    pub fn is_contained(&self) -> bool {
        self.contained
    }

    /// What the virtual GPU knows about the fault: what went wrong, the address and its allocation, the
    /// kernel, its source lines, the program counter, the instruction, and which lane executed it. `None`
    /// from other libraries, and if the stream failed for a reason other than a kernel.
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

/// A failed launch in compiled host code: `kernel<<<…>>>(…)`, which returns no status.
///
/// The next call that waits for the stream returns this error, unless the host code has fetched it with
/// `hipGetLastError`. The launch did nothing; the stream's work before and after it is done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{operation}: an earlier launch by compiled host code failed: {text}")]
pub struct HostLaunchError {
    /// The HIP function that returned the error.
    pub(crate) operation: &'static str,
    pub(crate) code: hipError_t,
    pub(crate) text: String,
}

impl HostLaunchError {
    /// The library's message: which kernel was not launched, and why.
    pub fn text(&self) -> &str {
        &self.text
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
