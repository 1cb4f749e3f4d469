//! Calls into the HIP table: every status becomes a `Result`, every failure in `Drop` is traced and counted.

use std::sync::atomic::{AtomicU64, Ordering};

use hip_sys::hipError_t;

use crate::error::{Error, Result};

/// Calls one function of a table and turns its status into a `Result` that names the function.
///
/// Expands to a call of a foreign function: the place of use is the `unsafe` block that says why it is sound.
macro_rules! call {
    ($table:expr, $function:ident($($argument:expr),* $(,)?)) => {
        $crate::call::check(stringify!($function), ($table.$function)($($argument),*))
    };
}
pub(crate) use call;

pub(crate) fn check(operation: &'static str, code: hipError_t) -> Result<()> {
    if code == hipError_t::hipSuccess { Ok(()) } else { Err(Error::Hip { operation, code }) }
}

static DROP_FAILURES: AtomicU64 = AtomicU64::new(0);

/// How many times in this process releasing something in `Drop` has failed.
///
/// Such a failure is also a `tracing` event of level `ERROR`; it is never returned by a later, unrelated call.
pub fn drop_failures() -> u64 {
    DROP_FAILURES.load(Ordering::Relaxed)
}

/// Traces and counts a failure that `Drop` cannot return.
pub(crate) fn dropped(what: &'static str, result: Result<()>) {
    if let Err(error) = result {
        DROP_FAILURES.fetch_add(1, Ordering::Relaxed);
        tracing::error!(%error, "releasing a {what} failed");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_in_drop_is_counted() {
        let before = drop_failures();
        dropped("test", Ok(()));
        dropped("test", check("hipFree", hipError_t::hipErrorInvalidValue));
        assert!(drop_failures() > before);
    }

    #[test]
    fn an_error_names_operation_and_code() {
        let error = check("hipMalloc", hipError_t::hipErrorInvalidValue).unwrap_err();
        assert_eq!(error.to_string(), "hipMalloc failed: hipErrorInvalidValue (1)");
        assert!(check("hipMalloc", hipError_t::hipSuccess).is_ok());
    }
}
