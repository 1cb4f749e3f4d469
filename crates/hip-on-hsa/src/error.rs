//! Error codes: their names and texts, the last error of each thread, and the frame around every entry point.

use std::cell::Cell;
use std::ffi::CStr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use hip_sys::hipError_t;
use hsa::raw::{Calls, Errors, Failure, Kind, is_success};
use hsa_sys::hsa_status_t;

use crate::unseen;

/// The result of the runtime's own functions; the error is the code that HIP's caller will see.
pub(crate) type Result<T = ()> = std::result::Result<T, hipError_t>;

thread_local! {
    /// The last failure, kept until `hipGetLastError` takes it.
    pub(crate) static LAST_ERROR: Cell<hipError_t> = const { Cell::new(hipError_t::hipSuccess) };
    /// The code of the last call, success included.
    pub(crate) static LAST_CODE: Cell<hipError_t> = const { Cell::new(hipError_t::hipSuccess) };
}

static AFTER_CALLS: OnceLock<fn()> = OnceLock::new();

/// Sets a function to call at the end of each call that is in a timeline.
pub(crate) fn after_calls(function: fn()) {
    let _ = AFTER_CALLS.set(function);
}

/// Runs an entry point: turns its result into a code, remembers the code for this thread, and keeps a panic
/// from unwinding into C.
///
/// In a [timeline], it is a slice with the name of the function that the closure is in.
pub(crate) fn entry<F: FnOnce() -> Result>(call: F) -> hipError_t {
    let mut span = timeline::is_on()
        .then(|| timeline::Span::enter("hip", function_name(timeline::function_around::<F>())));
    unseen::begin();
    let code = match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(())) => hipError_t::hipSuccess,
        Ok(Err(code)) => code,
        Err(_) => {
            tracing::error!("a HIP call panicked");
            hipError_t::hipErrorUnknown
        }
    };
    if let Some(span) = &mut span {
        if code != hipError_t::hipSuccess {
            span.text("error", code.name().unwrap_or("unknown"));
        }
        if let Some(after) = AFTER_CALLS.get() {
            after();
        }
    }
    LAST_CODE.set(code);
    // "Not ready" is an answer rather than a failure.
    if code != hipError_t::hipSuccess && code != hipError_t::hipErrorNotReady {
        LAST_ERROR.set(code);
    }
    code
}

/// The last part of a path.
fn function_name(path: &'static str) -> &'static str {
    path.rsplit("::").next().unwrap_or(path)
}

/// Converts the code of a nested call to a result.
pub(crate) fn succeed(code: hipError_t) -> Result {
    if code == hipError_t::hipSuccess { Ok(()) } else { Err(code) }
}

/// HSA's calls, with HIP's codes.
pub(crate) type Hsa = Calls<Codes>;

/// HIP's codes for HSA's failures.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Codes;

impl Errors for Codes {
    type Error = hipError_t;

    fn error(failure: Failure) -> hipError_t {
        let Failure { operation, kind, status, is_there, .. } = failure;
        let other = match kind {
            _ if !is_there => hipError_t::hipErrorNotSupported,
            Kind::Memory => hipError_t::hipErrorRuntimeMemory,
            Kind::Share | Kind::Virtual | Kind::Map => hipError_t::hipErrorInvalidValue,
            Kind::Attach => hipError_t::hipErrorInvalidHandle,
            Kind::Export => hipError_t::hipErrorNotSupported,
            _ => hipError_t::hipErrorRuntimeOther,
        };
        tracing::debug!(operation, ?status, ?other, "an HSA call failed");
        match (kind, status) {
            // An address without an allocation is the caller's mistake here.
            (Kind::Virtual, hsa_status_t::HSA_STATUS_ERROR_INVALID_ALLOCATION) => {
                hipError_t::hipErrorInvalidValue
            }
            _ => from_hsa(status, other),
        }
    }
}

/// The HIP code for a failed HSA call, `other` for those that HSA does not explain.
pub(crate) fn from_hsa(status: hsa_status_t, other: hipError_t) -> hipError_t {
    match status {
        hsa_status_t::HSA_STATUS_ERROR_OUT_OF_RESOURCES
        | hsa_status_t::HSA_STATUS_ERROR_INVALID_ALLOCATION => hipError_t::hipErrorOutOfMemory,
        hsa_status_t::HSA_STATUS_ERROR_NOT_INITIALIZED => hipError_t::hipErrorNotInitialized,
        _ => other,
    }
}

/// `Ok` for success and HSA's informational codes, else the HIP code of the failure.
pub(crate) fn check(status: hsa_status_t, other: hipError_t) -> Result {
    if is_success(status) {
        Ok(())
    } else {
        tracing::debug!(?status, ?other, "an HSA call failed");
        Err(from_hsa(status, other))
    }
}

/// The HIP code for what a queue's error callback reports.
pub(crate) fn from_queue_fault(status: hsa_status_t) -> hipError_t {
    match status {
        hsa_status_t::HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION
        | hsa_status_t::HSA_STATUS_ERROR_MEMORY_FAULT => hipError_t::hipErrorIllegalAddress,
        hsa_status_t::HSA_STATUS_ERROR_OUT_OF_REGISTERS | hsa_status_t::HSA_STATUS_ERROR_OUT_OF_RESOURCES => {
            hipError_t::hipErrorLaunchOutOfResources
        }
        // HIP has no code for an illegal instruction or a trap; AMD's headers name this one for device
        // exceptions.
        _ => hipError_t::hipErrorLaunchFailure,
    }
}

macro_rules! codes {
    ($($name:ident => $text:literal,)*) => {
        /// Name and text of a code.
        pub(crate) fn describe(code: hipError_t) -> Option<(&'static CStr, &'static CStr)> {
            const fn c(text: &'static str) -> &'static CStr {
                match CStr::from_bytes_with_nul(text.as_bytes()) {
                    Ok(text) => text,
                    Err(_) => panic!("a text with an inner NUL"),
                }
            }
            match code {
                $(hipError_t::$name => Some(const {
                    (c(concat!(stringify!($name), "\0")), c(concat!($text, "\0")))
                }),)*
                _ => None,
            }
        }

        #[cfg(test)]
        const ALL: &[hipError_t] = &[$(hipError_t::$name,)*];
    };
}

codes! {
    hipSuccess => "no error",
    hipErrorInvalidValue => "invalid argument",
    hipErrorOutOfMemory => "out of memory",
    hipErrorNotInitialized => "initialization error",
    hipErrorDeinitialized => "driver shutting down",
    hipErrorProfilerDisabled => "profiler disabled while using external profiling tool",
    hipErrorProfilerNotInitialized => "profiler is not initialized",
    hipErrorProfilerAlreadyStarted => "profiler already started",
    hipErrorProfilerAlreadyStopped => "profiler already stopped",
    hipErrorInvalidConfiguration => "invalid configuration argument",
    hipErrorInvalidPitchValue => "invalid pitch argument",
    hipErrorInvalidSymbol => "invalid device symbol",
    hipErrorInvalidDevicePointer => "invalid device pointer",
    hipErrorInvalidMemcpyDirection => "invalid copy direction for memcpy",
    hipErrorInsufficientDriver => "driver version is insufficient for runtime version",
    hipErrorMissingConfiguration => "launch has no configuration",
    hipErrorPriorLaunchFailure => "unspecified launch failure in a prior launch",
    hipErrorInvalidDeviceFunction => "invalid device function",
    hipErrorNoDevice => "no GPU is available",
    hipErrorInvalidDevice => "invalid device ordinal",
    hipErrorInvalidImage => "device kernel image is invalid",
    hipErrorInvalidContext => "invalid device context",
    hipErrorContextAlreadyCurrent => "context is already current",
    hipErrorMapFailed => "mapping of buffer object failed",
    hipErrorUnmapFailed => "unmapping of buffer object failed",
    hipErrorArrayIsMapped => "array is mapped",
    hipErrorAlreadyMapped => "resource already mapped",
    hipErrorNoBinaryForGpu => "no kernel image is available for execution on the device",
    hipErrorAlreadyAcquired => "resource already acquired",
    hipErrorNotMapped => "resource not mapped",
    hipErrorNotMappedAsArray => "resource not mapped as array",
    hipErrorNotMappedAsPointer => "resource not mapped as pointer",
    hipErrorECCNotCorrectable => "uncorrectable ECC error encountered",
    hipErrorUnsupportedLimit => "limit is not supported on this architecture",
    hipErrorContextAlreadyInUse => "exclusive-thread device already in use by a different thread",
    hipErrorPeerAccessUnsupported => "peer access is not supported between these two devices",
    hipErrorInvalidKernelFile => "invalid kernel file",
    hipErrorInvalidGraphicsContext => "invalid graphics context",
    hipErrorInvalidSource => "device kernel image is invalid",
    hipErrorFileNotFound => "file not found",
    hipErrorSharedObjectSymbolNotFound => "shared object symbol not found",
    hipErrorSharedObjectInitFailed => "shared object initialization failed",
    hipErrorOperatingSystem => "OS call failed or operation not supported on this OS",
    hipErrorInvalidHandle => "invalid resource handle",
    hipErrorIllegalState => "the operation cannot be performed in the present state",
    hipErrorNotFound => "named symbol not found",
    hipErrorNotReady => "device not ready",
    hipErrorIllegalAddress => "an illegal memory access was encountered",
    hipErrorLaunchOutOfResources => "too many resources requested for launch",
    hipErrorLaunchTimeOut => "the launch timed out and was terminated",
    hipErrorPeerAccessAlreadyEnabled => "peer access is already enabled",
    hipErrorPeerAccessNotEnabled => "peer access has not been enabled",
    hipErrorSetOnActiveProcess => "cannot set while device is active in this process",
    hipErrorContextIsDestroyed => "context is destroyed",
    hipErrorAssert => "device-side assert triggered",
    hipErrorHostMemoryAlreadyRegistered => "part or all of the requested memory range is already mapped",
    hipErrorHostMemoryNotRegistered => "pointer does not correspond to a registered memory region",
    hipErrorLaunchFailure => "unspecified launch failure",
    hipErrorCooperativeLaunchTooLarge => "too many blocks in cooperative launch",
    hipErrorNotSupported => "operation not supported",
    hipErrorStreamCaptureUnsupported => "operation not permitted when stream is capturing",
    hipErrorStreamCaptureInvalidated => "operation failed due to a previous error during capture",
    hipErrorStreamCaptureMerge => "operation would result in a merge of separate capture sequences",
    hipErrorStreamCaptureUnmatched => "capture was not ended in the same stream as it began",
    hipErrorStreamCaptureUnjoined => "capturing stream has unjoined work",
    hipErrorStreamCaptureIsolation => "dependency created on uncaptured work in another stream",
    hipErrorStreamCaptureImplicit => "operation would make the legacy stream depend on a capturing blocking stream",
    hipErrorCapturedEvent => "operation not permitted on an event last recorded in a capturing stream",
    hipErrorStreamCaptureWrongThread => "attempt to terminate a thread-local capture sequence from another thread",
    hipErrorGraphExecUpdateFailure => "the graph update was not performed because it violates constraints",
    hipErrorInvalidChannelDescriptor => "invalid channel descriptor",
    hipErrorInvalidTexture => "invalid texture",
    hipErrorUnknown => "unknown error",
    hipErrorRuntimeMemory => "a memory call of the HSA runtime returned an error",
    hipErrorRuntimeOther => "a call of the HSA runtime returned an error",
    hipErrorTbd => "marker that more error codes are needed",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_of_the_bindings_has_a_name_and_a_text() {
        for value in 0..2000 {
            let code = hipError_t(value);
            let Some(name) = code.name() else {
                assert!(describe(code).is_none(), "{value} has no name in the headers");
                continue;
            };
            let (ours, text) = describe(code).unwrap_or_else(|| panic!("{name} is missing"));
            // The headers give some codes two names; ours is one that stands for the same value.
            assert!(ALL.contains(&code) && ours.to_str().is_ok() && !text.is_empty(), "{name}");
        }
    }

    #[test]
    fn a_panic_becomes_an_unknown_error() {
        let code = entry(|| panic!("expected by this test"));
        assert_eq!(code, hipError_t::hipErrorUnknown);
    }
}
