//! Raw bindings to AMD's rocBLAS: generated types, and a function table that is filled at run time.
//!
//! [`bindings`] merges the types and constants of the headers of rocBLAS 5.5 to 7.2 (by ROCm release), with
//! the newest layouts and values; [`legacy`] has the older forms. [`Table`] has every function that any of
//! these headers declares. Nothing is linked: [`Table::load`] opens the vendor's library at run time, and an
//! implementation in the process fills a table through [`Builder`]. Functions that the implementation lacks
//! are stubs that return `rocblas_status_not_implemented`, so calls through the table need no branch;
//! [`Table::has`] tells the two apart.
//!
//! C enums are newtypes with associated constants, because a library newer than the headers may return any
//! value. HIP's types are those of [`hip_sys`].
//!
//! This crate adds no safety: each function has the contract of the vendor's documentation.
#![warn(missing_docs)]

use std::ffi::{CStr, c_char, c_void};
use std::ptr::NonNull;

use sys_load::Library;

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
pub mod legacy;
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
mod bridge;

/// Functions that AMD's rocBLAS lacks and implementations in the process may offer. There are none yet.
#[derive(Debug, Clone, Copy, Default)]
pub struct Extensions {}

impl Extensions {
    /// No extensions.
    pub const NONE: Extensions = Extensions {};
}

sys_load::table_api! {
    ///
    /// ```
    /// use rocblas_sys::{Builder, Table, rocblas_handle, rocblas_status};
    ///
    /// unsafe extern "C" fn rocblas_destroy_handle(_handle: rocblas_handle) -> rocblas_status {
    ///     rocblas_status::rocblas_status_success
    /// }
    ///
    /// let mut builder = Builder::new("example", "1.0");
    /// builder.rocblas_destroy_handle(rocblas_destroy_handle);
    /// // SAFETY: the one function given does what the headers say, as far as an example can.
    /// let table: &'static Table = unsafe { builder.finish() };
    /// assert!(table.has("rocblas_destroy_handle"));
    /// assert_eq!(table.implementation(), Some("example"));
    /// ```
    builder;
    // SAFETY: `cargo xtask bindgen` makes the table from the vendor's headers, and the names are those of the
    // vendor's files.
    unsafe library: "rocBLAS",
    variable: "FERROCM_ROCBLAS_LIBRARY",
    names: if cfg!(windows) {
        &["rocblas.dll", "librocblas.dll"]
    } else {
        &["librocblas.so.5", "librocblas.so.4", "librocblas.so.3", "librocblas.so.0", "librocblas.so"]
    },
    required: c"rocblas_create_handle",
    stack: Rocm,
    versioning: sys_load::Versioning::Ask(library_version),
    unsupported: "returns `rocblas_status_not_implemented`",
    bridge: bridge::apply,
}

/// Asks rocBLAS for its version. It is a constant, so this needs no GPU.
fn library_version(library: &Library) -> Option<Version> {
    let function = library.symbol(c"rocblas_get_version_string")?;
    // SAFETY: the symbol has had this signature in every version.
    let get = unsafe {
        std::mem::transmute::<NonNull<c_void>, unsafe extern "C" fn(*mut c_char, usize) -> rocblas_status>(
            function,
        )
    };
    let mut text = [0u8; 256];
    // SAFETY: the function writes a NUL-terminated string of at most this many bytes, or nothing and returns
    // an error.
    let status = unsafe { get(text.as_mut_ptr().cast(), text.len()) };
    if status != rocblas_status::rocblas_status_success {
        return None;
    }
    Version::at_start_of(CStr::from_bytes_until_nul(&text).ok()?.to_str().ok()?)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use sys_load::{Functions as _, Library, Search};

    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "Miri cannot open libraries")]
    fn a_missing_library_is_an_error_that_lists_every_attempt() {
        let search = Search { names: &["libferrocm-no-such.so.1"], ..Table::SEARCH };
        // SAFETY: no library has the name, so none is opened.
        let error = unsafe { Library::find(&search) }.unwrap_err();
        let text = error.to_string();
        assert!(text.contains("rocBLAS") && text.contains("FERROCM_ROCBLAS_LIBRARY"), "{text}");
        assert!(text.contains("libferrocm-no-such.so.1") && text.contains("/opt/rocm/lib"), "{text}");
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri cannot open libraries")]
    fn loading_never_panics_and_says_what_it_has() {
        match Table::load() {
            Ok(table) => assert!(table.has("rocblas_create_handle") && table.path().is_some()),
            Err(error) => assert!(!error.attempts.is_empty()),
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri cannot open libraries")]
    fn a_file_that_is_another_library_is_refused() {
        // SAFETY: the file is not loadable at all, so no initialiser runs.
        let error = unsafe { Table::load_from(Path::new("/dev/null")) }.unwrap_err();
        assert_eq!(error.attempts.len(), 1);
        assert!(error.attempts[0].place.contains("/dev/null"));
    }

    #[test]
    fn stubs_report_not_implemented_and_are_not_had() {
        let table = Table::unsupported();
        assert!(!table.has("rocblas_create_handle") && !table.has("no_such_function"));
        assert!(table.path().is_none() && table.implementation().is_none());
        // SAFETY: a stub reads none of its arguments.
        let status = unsafe { (table.rocblas_create_handle)(std::ptr::null_mut()) };
        assert_eq!(status, rocblas_status::rocblas_status_not_implemented);
    }

    #[test]
    fn symbols_are_sorted_and_unique() {
        let names: Vec<_> = Table::symbols().collect();
        assert!(names.len() > 500);
        assert!(names.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
