//! Tells in the log which functions a program misses.

use hsa_sys::hsa_status_t;

/// What a function of HSA returns.
pub(crate) trait Returned {
    /// Whether it says that the function is not there.
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

/// Sees every call of an exported function, and passes on what it returned.
pub(crate) fn observe<R: Returned>(name: &str, returned: R) -> R {
    if returned.is_unsupported() {
        tracing::warn!("{name} is not supported by the virtual GPU");
    }
    returned
}
