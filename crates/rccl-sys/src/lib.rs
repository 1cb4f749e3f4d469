//! Raw bindings to AMD's RCCL: generated types, and a function table that is filled at run time.
//!
//! [`bindings`] merges the types and constants of the headers of RCCL 2.13 and 2.27; nothing that both have
//! changed its layout. [`Table`] has every function that either declares. Nothing is linked: [`Table::load`]
//! opens the vendor's library at run time, and an implementation in the process fills a table through
//! [`Builder`]. Functions that the implementation lacks are stubs that return `ncclInternalError`, because
//! RCCL has no code for "not supported". So calls through the table need no branch; [`Table::has`] tells the
//! two apart.
//!
//! C enums are newtypes with associated constants, because a library newer than the headers may return any
//! value. HIP's types are those of [`hip_sys`].
//!
//! This crate adds no safety: each function has the contract of the vendor's documentation.
#![warn(missing_docs)]

use std::ffi::{c_int, c_void};
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

/// Functions that AMD's RCCL lacks and implementations in the process may offer. There are none yet.
#[derive(Debug, Clone, Copy, Default)]
pub struct Extensions {}

impl Extensions {
    /// No extensions.
    pub const NONE: Extensions = Extensions {};
}

sys_load::table_api! {
    ///
    /// ```
    /// use rccl_sys::{Builder, Table, ncclResult_t};
    ///
    /// unsafe extern "C" fn ncclGroupStart() -> ncclResult_t {
    ///     ncclResult_t::ncclSuccess
    /// }
    ///
    /// let mut builder = Builder::new("example", "1.0");
    /// builder.ncclGroupStart(ncclGroupStart);
    /// // SAFETY: the one function given does what the headers say, as far as an example can.
    /// let table: &'static Table = unsafe { builder.finish() };
    /// assert!(table.has("ncclGroupStart"));
    /// assert_eq!(table.implementation(), Some("example"));
    /// ```
    builder;
    // SAFETY: `cargo xtask bindgen` makes the table from the vendor's headers, and the names are those of the
    // vendor's files.
    unsafe library: "RCCL",
    variable: "FERROCM_RCCL_LIBRARY",
    names: if cfg!(windows) { &["rccl.dll"] } else { &["librccl.so.1", "librccl.so"] },
    required: c"ncclCommInitRank",
    stack: Rocm,
    // The numbers in the file name count ROCm releases.
    versioning: sys_load::Versioning::Ask(library_version),
    unsupported: "returns `ncclInternalError`: RCCL has no code for \"not supported\"",
}

/// Asks RCCL for its version. It is a constant, so this needs no GPU.
fn library_version(library: &Library) -> Option<Version> {
    let function = library.symbol(c"ncclGetVersion")?;
    // SAFETY: the symbol has had this signature in every version.
    let get = unsafe {
        std::mem::transmute::<NonNull<c_void>, unsafe extern "C" fn(*mut c_int) -> ncclResult_t>(function)
    };
    let mut code = 0;
    // SAFETY: the function writes the one number.
    let status = unsafe { get(&mut code) };
    if status == ncclResult_t::ncclSuccess { version_of_code(code) } else { None }
}

/// Decodes RCCL's version number: major * 10⁴ + minor * 100 + patch, up to 2.8 with 10³ for the major
/// version.
fn version_of_code(code: c_int) -> Option<Version> {
    let code = u32::try_from(code).ok().filter(|code| *code >= 1_000)?;
    let first = if code < 10_000 { 1_000 } else { 10_000 };
    Some(Version::new(code / first, code % first / 100, code % 100))
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
        assert!(text.contains("RCCL") && text.contains("FERROCM_RCCL_LIBRARY"), "{text}");
        assert!(text.contains("libferrocm-no-such.so.1") && text.contains("/opt/rocm/lib"), "{text}");
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri cannot open libraries")]
    fn loading_never_panics_and_says_what_it_has() {
        match Table::load() {
            Ok(table) => assert!(table.has("ncclGroupStart") && table.path().is_some()),
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
    fn stubs_report_an_internal_error_and_are_not_had() {
        let table = Table::unsupported();
        assert!(!table.has("ncclGroupStart") && !table.has("no_such_function"));
        assert!(table.path().is_none() && table.implementation().is_none());
        // SAFETY: a stub reads none of its arguments.
        let status = unsafe { (table.ncclGroupStart)() };
        assert_eq!(status, ncclResult_t::ncclInternalError);
    }

    #[test]
    fn symbols_are_sorted_and_unique() {
        let names: Vec<_> = Table::symbols().collect();
        assert!(names.len() > 50);
        assert!(names.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn version_numbers_are_decoded() {
        assert_eq!(version_of_code(22_707), Some(Version::new(2, 27, 7)));
        assert_eq!(version_of_code(21_304), Some(Version::new(2, 13, 4)));
        assert_eq!(version_of_code(2_803), Some(Version::new(2, 8, 3)));
        assert_eq!(version_of_code(0), None);
        assert_eq!(version_of_code(-1), None);
    }
}
