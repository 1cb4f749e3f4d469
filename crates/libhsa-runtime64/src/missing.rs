//! Logs which missing functions a program calls.

use hsa_sys::hsa_status_t;

/// The result of a function of HSA.
pub(crate) trait Returned {
    /// Whether it means that the function is missing.
    fn is_unsupported(&self) -> bool {
        false
    }
}

impl Returned for hsa_status_t {
    fn is_unsupported(&self) -> bool {
        *self == hsa_status_t::HSA_STATUS_ERROR_NOT_SUPPORTED
    }
}

impl Returned for () {}
impl Returned for i64 {}
impl Returned for u32 {}
impl Returned for u64 {}

/// Observes every call of an exported function, and passes its result on.
pub(crate) fn observe<R: Returned>(name: &str, returned: R) -> R {
    if returned.is_unsupported() {
        tracing::warn!("{name} is not supported by the virtual GPU");
    }
    returned
}
