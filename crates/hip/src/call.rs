//! Calls into the HIP table. Every status becomes a `Result`, the timeline records every library call, and
//! failures in `Drop` are traced and counted.

use std::sync::atomic::{AtomicU64, Ordering};

use hip_sys::hipError_t;

use crate::error::{Error, Result};

/// Calls one function of a table and turns its status into a `Result` that names the function.
///
/// Expands to a call of a foreign function. The caller's `unsafe` block says why it is sound.
#[cfg(not(any(test, feature = "trace-calls")))]
macro_rules! call {
    ($table:expr, $function:ident($($argument:expr),* $(,)?)) => {
        $crate::call::check_within(
            $crate::call::shown($table.ext.records_calls, stringify!($function)),
            stringify!($function),
            ($table.$function)($($argument),*),
        )
    };
}

/// The same, in a span of the target `hip::calls` with the function's name. Unit tests always use this
/// version.
///
/// Each argument is bound to a variable, because it is evaluated once and used twice.
#[cfg(any(test, feature = "trace-calls"))]
macro_rules! call {
    ($table:expr, $function:ident($($argument:expr),* $(,)?)) => {
        $crate::call::call!(@bind $table, $function, [] $($argument,)*)
    };
    (@bind $table:expr, $function:ident, [$($bound:ident)*] $next:expr, $($rest:expr,)*) => {{
        let argument = $next;
        $crate::call::call!(@bind $table, $function, [$($bound)* argument] $($rest,)*)
    }};
    (@bind $table:expr, $function:ident, [$($bound:ident)*]) => {{
        let span = ::tracing::trace_span!(
            target: "hip::calls",
            stringify!($function),
            device = ::tracing::field::Empty,
            stream = ::tracing::field::Empty,
            arguments = ::tracing::field::Empty,
            error = ::tracing::field::Empty,
        );
        $crate::call::traced::describe(&span, &[$(&$bound as &dyn $crate::call::traced::Argument),*]);
        let entered = span.enter();
        let shown = $crate::call::shown($table.ext.records_calls, stringify!($function));
        let result = $crate::call::check(stringify!($function), ($table.$function)($($bound),*));
        drop(shown);
        drop(entered);
        $crate::call::traced::finish(&span, &result);
        result
    }};
}

#[cfg(any(test, feature = "trace-calls"))]
pub(crate) mod traced;

pub(crate) use call;

/// A timeline slice for a call of an implementation that does not record its own.
#[inline]
pub(crate) fn shown(records_calls: bool, function: &'static str) -> Option<timeline::Span> {
    let is_shown = timeline::is_on() && !records_calls;
    is_shown.then(|| timeline::Span::enter("hip call", function))
}

/// [`check`], then ends the slice.
#[cfg(not(any(test, feature = "trace-calls")))]
#[inline]
pub(crate) fn check_within(
    slice: Option<timeline::Span>,
    operation: &'static str,
    code: hipError_t,
) -> Result<()> {
    drop(slice);
    check(operation, code)
}

#[inline]
pub(crate) fn check(operation: &'static str, code: hipError_t) -> Result<()> {
    if code == hipError_t::hipSuccess { Ok(()) } else { Err(Error::Hip { operation, code }) }
}

/// Converts a query's status to whether the work is done.
pub(crate) fn is_ready(queried: Result<()>) -> Result<bool> {
    match queried {
        Ok(()) => Ok(true),
        Err(Error::Hip { code: hipError_t::hipErrorNotReady, .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

static DROP_FAILURES: AtomicU64 = AtomicU64::new(0);

/// How often releasing something has failed in this process, mostly in `Drop`. An object that is never
/// released because the device may still use it counts, too.
///
/// Each failure is also a `tracing` event of level `ERROR`. No later, unrelated call returns it.
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

/// Traces and counts an object that is never released: waiting for its streams failed, so the device may
/// still use it.
#[cold]
pub(crate) fn leaked(what: &'static str, error: &Error) {
    DROP_FAILURES.fetch_add(1, Ordering::Relaxed);
    tracing::error!(%error, "a {what} is never released, because the device may still use it");
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
