//! The results of the table's functions, and their texts.

use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use hip_sys::hipError_t;
use rccl_sys::ncclResult_t;

/// A failure: the code for C, and the text for `ncclGetLastError`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) code: ncclResult_t,
    pub(crate) text: String,
}

pub(crate) type Result<T = (), E = Failure> = std::result::Result<T, E>;

impl Failure {
    pub(crate) fn new(code: ncclResult_t, text: impl Into<String>) -> Self {
        Self { code, text: text.into() }
    }

    pub(crate) fn argument(text: impl Into<String>) -> Self {
        Self::new(ncclResult_t::ncclInvalidArgument, text)
    }

    pub(crate) fn usage(text: impl Into<String>) -> Self {
        Self::new(ncclResult_t::ncclInvalidUsage, text)
    }

    pub(crate) fn remote(text: impl Into<String>) -> Self {
        Self::new(ncclResult_t::ncclRemoteError, text)
    }

    /// A bug in this library.
    pub(crate) fn panic() -> Self {
        Self::new(ncclResult_t::ncclInternalError, "a panic inside this library")
    }

    /// A failed system call, with the system's text.
    pub(crate) fn system(what: impl std::fmt::Display, error: std::io::Error) -> Self {
        Self::new(ncclResult_t::ncclSystemError, format!("{what}: {error}"))
    }
}

/// Turns the code of a HIP call into a result.
pub(crate) fn check(function: &str, code: hipError_t) -> Result {
    if code == hipError_t::hipSuccess {
        return Ok(());
    }
    Err(Failure::new(ncclResult_t::ncclUnhandledCudaError, format!("{function}: {code:?}")))
}

/// Calls a function of a HIP table: `hip!(table, hipSetDevice(0))`.
macro_rules! hip {
    ($table:expr, $function:ident($($argument:expr),* $(,)?)) => {
        $crate::error::check(stringify!($function), ($table.$function)($($argument),*))
    };
}
pub(crate) use hip;

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// Keeps a text for `ncclGetLastError` on this thread. The returned pointer is valid until the next text.
pub(crate) fn keep_text(text: &str) -> *const c_char {
    let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
    LAST.try_with(|last| {
        *last.borrow_mut() = text;
        last.borrow().as_ptr()
    })
    .unwrap_or(c"".as_ptr())
}

/// The text of this thread's last failure.
pub(crate) fn last_text() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

/// Runs the body of a function of the table: a failure is kept and becomes its code, a panic becomes
/// `ncclInternalError`.
pub(crate) fn entry(body: impl FnOnce() -> Result<ncclResult_t>) -> ncclResult_t {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(code)) => code,
        Ok(Err(failure)) => {
            tracing::debug!(code = ?failure.code, "{}", failure.text);
            keep_text(&failure.text);
            failure.code
        }
        Err(_) => {
            let failure = Failure::panic();
            keep_text(&failure.text);
            failure.code
        }
    }
}

/// Like [`entry`], for a function that only succeeds or fails.
pub(crate) fn plain(body: impl FnOnce() -> Result) -> ncclResult_t {
    entry(|| body().map(|()| ncclResult_t::ncclSuccess))
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;

    #[test]
    fn a_failure_leaves_its_text_and_a_panic_is_a_code() {
        let code = plain(|| Err(Failure::usage("so not\0here")));
        assert_eq!(code, ncclResult_t::ncclInvalidUsage);
        // SAFETY: the text was just kept on this thread.
        assert_eq!(unsafe { CStr::from_ptr(last_text()) }, c"so not here");
        let silent = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        assert_eq!(plain(|| panic!("on purpose")), ncclResult_t::ncclInternalError);
        std::panic::set_hook(silent);
    }
}
