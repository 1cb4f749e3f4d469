//! HIP's run-time compiler: types, constants and a function table of its own.
//!
//! Since HIP 6.4 its functions are in `libhiprtc.so`; before, the HIP runtime had them too.

use std::path::Path;
use std::sync::Mutex;

use sys_load::{Library, LoadError, Origin, Search};

pub use bindings::*;
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

/// Functions that AMD's run-time compiler does not have; there are none yet.
#[derive(Debug, Clone, Copy, Default)]
pub struct Extensions {}

impl Extensions {
    /// None of them.
    pub const NONE: Extensions = Extensions {};
}

const SEARCH: Search = Search {
    what: "the HIP run-time compiler",
    variable: "FERROCM_HIPRTC_LIBRARY",
    names: if cfg!(windows) {
        &["hiprtc0702.dll", "hiprtc0604.dll", "hiprtc.dll"]
    } else {
        &["libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5", "libhiprtc.so"]
    },
    required: c"hiprtcVersion",
};

static UNSUPPORTED: Table = Table::STUBS;
static LOADED: Mutex<Option<&'static Table>> = Mutex::new(None);

impl Table {
    /// A table in which every function is a stub that returns `HIPRTC_ERROR_INTERNAL_ERROR`: hiprtc has no code for
    /// "not supported".
    pub fn unsupported() -> &'static Table {
        &UNSUPPORTED
    }

    /// Opens the vendor's library, once; later calls return the same table. `FERROCM_HIPRTC_LIBRARY` names a file.
    ///
    /// # Errors
    /// [`LoadError`] lists every place that was tried and why it did not serve.
    pub fn load() -> Result<&'static Table, LoadError> {
        let mut loaded = LOADED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(table) = *loaded {
            return Ok(table);
        }
        let library = Library::find(&SEARCH)?;
        let mut table = Box::new(Table::STUBS);
        // SAFETY: the generated list pairs each C name with the offset of the field of that name, and the library has
        // the symbol that every version of the compiler has.
        let provided = unsafe { sys_load::fill(&mut *table, &table::SYMBOLS, &library) };
        table.origin = Origin { provided, ..Origin::of_library(&library) };
        let table: &'static Table = Box::leak(table);
        *loaded = Some(table);
        Ok(table)
    }

    /// Whether `symbol` is a real function here; false for a stub and for a name the headers do not have.
    pub fn has(&self, symbol: &str) -> bool {
        sys_load::index_of(&table::SYMBOLS, symbol).is_some_and(|index| self.origin.provided.contains(index))
    }

    /// The file that the functions come from; `None` for stubs and for implementations inside the process.
    pub fn path(&self) -> Option<&Path> {
        self.origin.path.as_deref()
    }

    /// The version that the file's name says after `.so.`, or that the implementation gave.
    pub fn version(&self) -> Option<&str> {
        self.origin.version.as_deref()
    }
}

/// Makes a table of functions of this process: those given to it, and stubs for the rest.
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

    /// The finished table, which lives as long as the process.
    ///
    /// # Safety
    /// Safe code will call the functions and trust what they return: each must keep the contract that the vendor's
    /// documentation gives it, for as long as the process lives and from any thread.
    pub unsafe fn finish(self) -> &'static Table {
        Box::leak(self.table)
    }
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
