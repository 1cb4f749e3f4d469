//! `tracing` spans: `hal::device` for devices, `hal::queue` for operations of queues, `hal::submission` for
//! packets that are written. A disabled span costs a comparison.

use crate::error::Result;

/// Runs an operation in its span, which has an empty field `error`.
pub(crate) fn within<T>(span: tracing::Span, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let result = span.in_scope(work);
    if let Err(error) = &result {
        span.record("error", tracing::field::display(error));
    }
    result
}
