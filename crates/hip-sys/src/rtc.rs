//! HIP's run-time compiler: types, constants and a function table of its own.
//!
//! From HIP 7 its functions are in `libhiprtc.so` only; before, the HIP runtime has them too, and where there is no
//! `libhiprtc.so` the table is filled from there. A compiler that comes with the HIP runtime in the process is taken
//! before any other, so that the one can load what the other makes.

pub use bindings::*;
pub use sys_load::{Attempt, Availability, LoadError, Source, Version};
pub use table::{SYMBOLS, Table, VERSIONS};

#[rustfmt::skip]
#[allow(
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    clippy::all,
    clippy::undocumented_unsafe_blocks,
    clippy::allow_attributes_without_reason,
    rustdoc::all,
    reason = "generated: names, comments and layout tests are the headers' and bindgen's"
)]
pub mod bindings;
#[rustfmt::skip]
#[allow(
    non_snake_case,
    clippy::too_many_arguments,
    clippy::doc_lazy_continuation,
    clippy::doc_overindented_list_items,
    clippy::type_complexity,
    clippy::missing_safety_doc,
    rustdoc::all,
    reason = "generated: names, arguments and comments are the headers'"
)]
mod table;

/// Functions that AMD's run-time compiler does not have and that implementations inside the process may offer.
#[derive(Debug, Clone, Copy, Default)]
pub struct Extensions {
    /// Copies a text that is another one for every compiler that may compile otherwise into a buffer, NUL-terminated and cut to
    /// its size, and returns its full length in bytes without the NUL. For caches of what was compiled.
    pub compiler_identity: Option<unsafe extern "C" fn(*mut std::ffi::c_char, usize) -> usize>,
    /// Sets how many milliseconds the compiler of a program may run, and how many bytes of memory it may have; 0 is no limit.
    pub set_limits: Option<unsafe extern "C" fn(hiprtcProgram, u64, u64) -> hiprtcResult>,
    /// Copies a text that says which of the machine's files the last compilation of a program depends on into a buffer, as
    /// `compiler_identity` does; of no length where that is not known. For caches of what was compiled.
    pub dependencies: Option<unsafe extern "C" fn(hiprtcProgram, *mut std::ffi::c_char, usize) -> usize>,
}

impl Extensions {
    /// None of them.
    pub const NONE: Extensions = Extensions { compiler_identity: None, set_limits: None, dependencies: None };
}

sys_load::table_api! {
    builder;
    // SAFETY: `cargo xtask bindgen` makes the table from the vendor's headers, and the names are those of the vendor's files.
    unsafe library: "the HIP run-time compiler",
    variable: "FERROCM_HIPRTC_LIBRARY",
    names: if cfg!(windows) {
        &["hiprtc0702.dll", "hiprtc0701.dll", "hiprtc0700.dll", "hiprtc0604.dll", "hiprtc.dll"]
    } else {
        &[
            "libhiprtc.so.7",
            "libhiprtc.so.6",
            "libhiprtc.so.5",
            "libhiprtc.so",
            "libamdhip64.so.6",
            "libamdhip64.so.5",
            "libamdhip64.so",
        ]
    },
    required: c"hiprtcVersion",
    // `hiprtcVersion` says 9.0 whatever the release.
    versioning: sys_load::Versioning::FileName { otherwise: Some(crate::runtime_version) },
    unsupported: "returns `HIPRTC_ERROR_INTERNAL_ERROR`: hiprtc has no code for \"not supported\"",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stubs_report_an_error_and_are_not_had() {
        let table = Table::unsupported();
        assert!(!table.has("hiprtcVersion"));
        // SAFETY: a stub reads none of its arguments.
        let status = unsafe { (table.hiprtcVersion)(std::ptr::null_mut(), std::ptr::null_mut()) };
        assert_eq!(status, hiprtcResult::HIPRTC_ERROR_INTERNAL_ERROR);
    }
}
