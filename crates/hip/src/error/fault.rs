//! Kernels that ended abnormally, and launches of compiled host code that failed.

use std::fmt;

use hip_sys::hipError_t;

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
    /// such promise, and [`Error::is_sticky`](super::Error::is_sticky) is true.
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
