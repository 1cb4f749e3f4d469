//! HIP's run-time compiler: types, constants and its own function table.
//!
//! In HIP 7 and later, its functions are only in `libhiprtc.so`. Before, the HIP runtime has them too, and
//! fills the table if there is no `libhiprtc.so`. A compiler that comes with the HIP runtime in the process
//! is preferred, so that the runtime can load what the compiler makes.

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

/// Functions that AMD's run-time compiler lacks and implementations in the process may offer.
#[derive(Debug, Clone, Copy, Default)]
pub struct Extensions {
    /// Copies a text into a buffer, NUL-terminated and truncated to its size, and returns its full length in
    /// bytes without the NUL. The text differs for any two compilers whose output may differ. For caches of
    /// compiled code.
    pub compiler_identity: Option<unsafe extern "C" fn(*mut std::ffi::c_char, usize) -> usize>,
    /// Sets the limits of a program's compiler: time in milliseconds, and memory in bytes; 0 means no limit.
    pub set_limits: Option<unsafe extern "C" fn(hiprtcProgram, u64, u64) -> hiprtcResult>,
    /// Copies a text with the files of the machine on which the last compilation of a program depends, in the
    /// way of `compiler_identity`. The length is 0 if they are not known. For caches of compiled code.
    pub dependencies: Option<unsafe extern "C" fn(hiprtcProgram, *mut std::ffi::c_char, usize) -> usize>,
    /// Whether programs are CUDA as NVIDIA defines it: the compiler has CUDA's own headers and inline PTX,
    /// and needs no replacement for them.
    pub takes_cuda: bool,
}

impl Extensions {
    /// No extensions.
    pub const NONE: Extensions =
        Extensions { compiler_identity: None, set_limits: None, dependencies: None, takes_cuda: false };
}

sys_load::table_api! {
    builder;
    // SAFETY: `cargo xtask bindgen` makes the table from the vendor's headers, and the names are those of the
    // vendor's files.
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
    stack: Rocm,
    // `hiprtcVersion` returns 9.0 in every release.
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
