//! A table made by `table_api!`, loaded from libraries compiled for the test.

use sys_load::{Functions as _, Library, Source, Version, Versioning};

use self::table::Table;
use crate::workshop::Workshop;

/// Like generated code.
mod table {
    use std::ffi::c_int;
    use std::mem::offset_of;

    use sys_load::{Origin, Symbol};

    use super::{Builder, Extensions};

    #[derive(Debug)]
    pub(super) struct Table {
        pub(super) st_init: unsafe extern "C" fn(flags: u32) -> c_int,
        pub(super) st_new: unsafe extern "C" fn() -> c_int,
        pub(super) st_other: unsafe extern "C" fn(argument: c_int) -> c_int,
        pub(super) ext: Extensions,
        pub(super) origin: Origin,
    }

    impl Table {
        pub(super) const STUBS: Table = Table {
            st_init: stubs::st_init,
            st_new: stubs::st_new,
            st_other: stubs::st_other,
            ext: Extensions::NONE,
            origin: Origin::NONE,
        };
    }

    pub(super) const VERSIONS: [&str; 2] = ["1.0", "2.0"];
    pub(super) static SYMBOLS: [Symbol; 3] = [
        Symbol { name: c"st_init", offset: offset_of!(Table, st_init), versions: 0b11 },
        Symbol { name: c"st_new", offset: offset_of!(Table, st_new), versions: 0b10 },
        Symbol { name: c"st_other", offset: offset_of!(Table, st_other), versions: 0b11 },
    ];

    impl Builder {
        pub(super) fn st_init(&mut self, function: unsafe extern "C" fn(flags: u32) -> c_int) -> &mut Self {
            self.table.st_init = function;
            self.table.origin.provided.insert(0);
            self
        }
    }

    mod stubs {
        use std::ffi::c_int;

        pub(super) unsafe extern "C" fn st_init(_: u32) -> c_int {
            -1
        }
        pub(super) unsafe extern "C" fn st_new() -> c_int {
            -1
        }
        pub(super) unsafe extern "C" fn st_other(_: c_int) -> c_int {
            -1
        }
    }
}

/// One non-vendor function.
#[derive(Debug, Clone, Copy, Default)]
struct Extensions {
    extra: Option<fn() -> i32>,
}

impl Extensions {
    const NONE: Extensions = Extensions { extra: None };
}

sys_load::table_api! {
    builder;
    // SAFETY: the table is that of the libraries below, and no file has the name.
    unsafe library: "the table library",
    variable: "ST_LIBRARY",
    names: &["libst_none.so.1"],
    required: c"st_init",
    stack: Rocm,
    versioning: Versioning::FileName { otherwise: None },
    unsupported: "returns -1",
    bridge: bridge,
}

/// Version 1 lacks `st_new`, which `st_init` can replace, and has another `st_other`, which must not be
/// called.
fn bridge(table: &mut Table, library: &Library) {
    unsafe extern "C" fn st_new() -> i32 {
        100
    }
    if library.version().is_some_and(|version| version.major < 2) {
        table.st_new = st_new;
        table.st_other = Table::unsupported().st_other;
    }
}

const VERSION_1: &str = "int st_init(unsigned f) { return f; } int st_other(void) { return 5; }";
const VERSION_2: &str = "int st_init(unsigned f) { return f; } int st_new(void) { return 200; } \
                         int st_other(int a) { return a; }";

#[test]
fn tables_of_two_versions_differ_only_in_what_is_bridged() {
    let Some(workshop) = Workshop::open() else { return };
    let old = workshop.library("libst_table.so.1.4.0", VERSION_1);
    let new = workshop.library("libst_table.so.2.0.1", VERSION_2);
    // SAFETY: the libraries were made by this test, with the functions' types or bridged.
    let (old_table, new_table) =
        unsafe { (Table::load_from(&old).unwrap(), Table::load_from(&new).unwrap()) };

    assert_eq!(old_table.path(), Some(&*old));
    assert_eq!(old_table.source(), Some(Source::Caller));
    assert_eq!(old_table.version(), Some(Version::new(1, 4, 0)));
    assert_eq!(new_table.version(), Some(Version::new(2, 0, 1)));
    assert!(old_table.passed_over().is_empty() && old_table.implementation().is_none());

    let had = |table: &Table| ["st_init", "st_new", "st_other", "st_no"].map(|name| table.has(name));
    assert_eq!(had(old_table), [true, true, false, false]);
    assert_eq!(had(new_table), [true, true, true, false]);
    assert_eq!(had(Table::unsupported()), [false; 4]);
    // SAFETY: as above.
    unsafe {
        assert_eq!(((old_table.st_init)(3), (old_table.st_new)(), (old_table.st_other)(7)), (3, 100, -1));
        assert_eq!(((new_table.st_init)(3), (new_table.st_new)(), (new_table.st_other)(7)), (3, 200, 7));
    }
    assert_eq!(old_table.availability("st_new").unwrap().to_string(), "provided; exported by 2.0");
    assert_eq!(Table::symbols().collect::<Vec<_>>(), ["st_init", "st_new", "st_other"]);
}

#[test]
#[cfg_attr(miri, ignore = "Miri cannot open libraries")]
fn a_library_that_is_not_there_is_an_error_and_no_panic_through_c() {
    extern "C" fn from_c() -> i32 {
        match Table::load() {
            Ok(_) => 0,
            Err(error) => i32::try_from(error.attempts.len()).unwrap_or(i32::MAX),
        }
    }
    assert!(from_c() > 0);
    assert_eq!(from_c(), from_c(), "a failure is not remembered");
    assert_eq!(Table::SEARCH.variable, "ST_LIBRARY");
}

#[test]
fn built_tables_have_what_they_were_given() {
    unsafe extern "C" fn st_init(flags: u32) -> i32 {
        flags.cast_signed() + 1
    }
    let mut builder = Builder::new("the test", "0.9-beta");
    builder.st_init(st_init).extensions(Extensions { extra: Some(|| 9) });
    // SAFETY: the function has no precondition.
    let table = unsafe { builder.finish() };
    assert!(table.has("st_init") && !table.has("st_new"));
    assert_eq!(
        (table.implementation(), table.implementation_version()),
        (Some("the test"), Some("0.9-beta"))
    );
    assert_eq!((table.version(), table.path(), table.source()), (None, None, None));
    assert_eq!(table.ext.extra.map(|extra| extra()), Some(9));
    // SAFETY: as above.
    assert_eq!(unsafe { (table.st_init)(1) }, 2);
}
