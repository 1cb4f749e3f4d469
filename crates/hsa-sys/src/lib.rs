//! Raw bindings to AMD's HSA runtime: generated types, and a function table that is filled at run time.
//!
//! [`bindings`] holds the types and constants of the ROCm 7.2 headers, [`Table`] every function they declare. Nothing
//! is linked: [`Table::load`] opens the vendor's library when the program runs, and an implementation inside the process
//! fills a table through [`Builder`]. A function that the implementation lacks is a stub that returns
//! `HSA_STATUS_ERROR_NOT_SUPPORTED`, so that a call through the table has no branch; [`Table::has`] tells.
//!
//! C enums are newtypes with associated constants, because a library newer than the headers may return any value.
//!
//! This crate makes nothing safe: each function's contract is the one in the vendor's documentation.
#![warn(missing_docs)]

use std::path::Path;
use std::sync::Mutex;

use sys_load::{Library, Origin, Search};

pub use bindings::*;
pub use sys_load::{Attempt, LoadError};
pub use table::Table;

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


/// Functions that AMD's HSA does not have and that this project's own implementations may offer.
#[derive(Debug, Clone, Copy, Default)]
pub struct Extensions {
    /// Copies the report of the fault that made a queue inactive into a buffer, NUL-terminated and cut to its size, and
    /// returns the report's full length in bytes without the NUL; 0 if the queue has not faulted.
    pub queue_fault_report:
        Option<unsafe extern "C" fn(*const hsa_queue_t, *mut std::ffi::c_char, usize) -> usize>,
}

impl Extensions {
    /// None of them.
    pub const NONE: Extensions = Extensions { queue_fault_report: None };
}

const SEARCH: Search = Search {
    what: "the HSA runtime",
    variable: "FERROCM_HSA_LIBRARY",
    names: if cfg!(windows) {
        &["hsa-runtime64.dll"]
    } else {
        &["libhsa-runtime64.so.1", "libhsa-runtime64.so"]
    },
    required: c"hsa_init",
};

static UNSUPPORTED: Table = Table::STUBS;
static LOADED: Mutex<Option<&'static Table>> = Mutex::new(None);

impl Table {
    /// A table in which every function is a stub.
    pub fn unsupported() -> &'static Table {
        &UNSUPPORTED
    }

    /// Opens the vendor's library, once; later calls return the same table.
    ///
    /// Looks at the file that `FERROCM_HSA_LIBRARY` names, and at no other if it is set; else for a library that is already in
    /// the process, what the system's loader finds, `ROCM_PATH`, `HIP_PATH` and `/opt/rocm*`, newest version first. A
    /// failure is not remembered: a later call looks again.
    ///
    /// # Errors
    /// [`LoadError`] lists every place that was tried and why it did not serve.
    pub fn load() -> Result<&'static Table, LoadError> {
        let mut loaded = LOADED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(table) = *loaded {
            return Ok(table);
        }
        let table = Table::of(&Library::find(&SEARCH)?);
        *loaded = Some(table);
        Ok(table)
    }

    /// Opens exactly the library at `path`, whatever [`Table::load`] finds.
    ///
    /// # Errors
    /// [`LoadError`] if the file cannot be opened or is another library.
    ///
    /// # Safety
    /// The file must be an implementation of the HSA runtime; opening it runs its initialisers.
    pub unsafe fn load_from(path: &Path) -> Result<&'static Table, LoadError> {
        // SAFETY: the caller vouches for the file.
        let library = unsafe { Library::open(&SEARCH, path) }?;
        Ok(Table::of(&library))
    }

    fn of(library: &Library) -> &'static Table {
        let mut table = Box::new(Table::STUBS);
        // SAFETY: the generated list pairs each C name with the offset of the field of that name, and the library has
        // the symbol that every version of the runtime has.
        let provided = unsafe { sys_load::fill(&mut *table, &table::SYMBOLS, library) };
        table.origin = Origin { provided, ..Origin::of_library(library) };
        Box::leak(table)
    }

    /// Whether `symbol` is a real function here; false for a stub and for a name the headers do not have.
    pub fn has(&self, symbol: &str) -> bool {
        sys_load::index_of(&table::SYMBOLS, symbol).is_some_and(|index| self.origin.provided.contains(index))
    }

    /// The names of all functions of the table, sorted.
    pub fn symbols() -> impl Iterator<Item = &'static str> {
        table::SYMBOLS.iter().filter_map(|symbol| symbol.name.to_str().ok())
    }

    /// The file that the functions come from; `None` for implementations inside the process.
    pub fn path(&self) -> Option<&Path> {
        self.origin.path.as_deref()
    }

    /// The version: of a file, what its name says after `.so.`; of an implementation inside the process, its own.
    pub fn version(&self) -> Option<&str> {
        self.origin.version.as_deref()
    }

    /// The name of the implementation, if it is one inside the process.
    pub fn implementation(&self) -> Option<&str> {
        self.origin.implementation.as_deref()
    }
}

/// Makes a table of functions of this process: those given to it, and stubs for the rest.
///
/// ```
/// use hsa_sys::{Builder, Table, hsa_status_t};
///
/// unsafe extern "C" fn hsa_init() -> hsa_status_t {
///     hsa_status_t::HSA_STATUS_SUCCESS
/// }
///
/// let mut builder = Builder::new("example", "1.0");
/// builder.hsa_init(hsa_init);
/// // SAFETY: the one function given does what the headers say, as far as an example can.
/// let table: &'static Table = unsafe { builder.finish() };
/// assert!(table.has("hsa_init"));
/// assert_eq!(table.implementation(), Some("example"));
/// ```
#[derive(Debug)]
pub struct Builder {
    table: Box<Table>,
}

impl Builder {
    /// Starts with stubs only.
    pub fn new(implementation: &str, version: &str) -> Builder {
        let mut table = Box::new(Table::STUBS);
        table.origin.implementation = Some(implementation.to_owned());
        table.origin.version = Some(version.to_owned());
        Builder { table }
    }

    /// Sets the functions that are not the vendor's.
    pub fn extensions(&mut self, extensions: Extensions) -> &mut Self {
        self.table.ext = extensions;
        self
    }

    /// The finished table, which lives as long as the process.
    ///
    /// # Safety
    /// Safe code will call the functions and trust what they return: each must keep the contract that the vendor's
    /// documentation gives it, for as long as the process lives and from any thread.
    pub unsafe fn finish(self) -> &'static Table {
        Box::leak(self.table)
    }
}

impl From<hsa_amd_agent_info_t> for hsa_agent_info_t {
    fn from(attribute: hsa_amd_agent_info_t) -> Self {
        Self(attribute.0)
    }
}

impl From<hsa_amd_agent_memory_pool_info_t> for hsa_agent_info_t {
    fn from(attribute: hsa_amd_agent_memory_pool_info_t) -> Self {
        Self(attribute.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_library_is_an_error_that_lists_every_attempt() {
        let search = Search { names: &["libferrocm-no-such.so.1"], ..SEARCH };
        let error = Library::find(&search).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("the HSA runtime") && text.contains(SEARCH.variable), "{text}");
        assert!(text.contains("libferrocm-no-such.so.1") && text.contains("/opt/rocm/lib"), "{text}");
    }

    #[test]
    fn loading_never_panics_and_says_what_it_has() {
        match Table::load() {
            Ok(table) => assert!(table.has("hsa_init") && table.path().is_some()),
            Err(error) => assert!(!error.attempts.is_empty()),
        }
    }

    #[test]
    fn a_file_that_is_another_library_is_refused() {
        // SAFETY: the file is not loadable at all, so no initialiser runs.
        let error = unsafe { Table::load_from(Path::new("/dev/null")) }.unwrap_err();
        assert_eq!(error.attempts.len(), 1);
        assert!(error.attempts[0].place.contains("/dev/null"));
    }

    #[test]
    fn stubs_report_not_supported_and_are_not_had() {
        let table = Table::unsupported();
        assert!(!table.has("hsa_init") && !table.has("no_such_function"));
        assert!(table.path().is_none() && table.implementation().is_none());
        // SAFETY: a stub reads none of its arguments.
        let status = unsafe { (table.hsa_init)() };
        assert_eq!(status, hsa_status_t::HSA_STATUS_ERROR_NOT_SUPPORTED);
    }

    #[test]
    fn symbols_are_sorted_and_unique() {
        let names: Vec<_> = Table::symbols().collect();
        assert!(names.len() > 200);
        assert!(names.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn unknown_values_print_their_number() {
        assert_eq!(format!("{:?}", hsa_status_t(0)), "HSA_STATUS_SUCCESS");
        assert_eq!(format!("{:?}", hsa_status_t(47)), "HSA_STATUS_ERROR_NOT_SUPPORTED");
        assert_eq!(format!("{:?}", hsa_status_t(0xabcd)), "hsa_status_t(43981)");
    }

    #[test]
    fn packets_and_signals_are_one_cache_line() {
        assert_eq!(size_of::<hsa_kernel_dispatch_packet_t>(), 64);
        assert_eq!(size_of::<hsa_barrier_and_packet_t>(), 64);
        assert_eq!(size_of::<amd_signal_t>(), 64);
        assert_eq!(size_of::<amd_queue_t>() % 64, 0);
    }
}
