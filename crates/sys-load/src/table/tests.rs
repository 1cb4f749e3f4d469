use std::ffi::{c_char, c_int};

use super::*;
use crate::Versioning;

/// A table like a generated one, for a library whose second version renamed a function.
#[derive(Debug)]
struct Fake {
    fake_count: unsafe extern "C" fn() -> c_int,
    fake_init: unsafe extern "C" fn(flags: u32) -> c_int,
    fake_name: unsafe extern "C" fn() -> *const c_char,
    fake_total: unsafe extern "C" fn() -> c_int,
    origin: Origin,
}

mod stubs {
    use super::*;
    pub(super) unsafe extern "C" fn fake_count() -> c_int {
        -1
    }
    pub(super) unsafe extern "C" fn fake_init(_: u32) -> c_int {
        -1
    }
    pub(super) unsafe extern "C" fn fake_name() -> *const c_char {
        std::ptr::null()
    }
    pub(super) unsafe extern "C" fn fake_total() -> c_int {
        -1
    }
}

const STUBS: Fake = Fake {
    fake_count: stubs::fake_count,
    fake_init: stubs::fake_init,
    fake_name: stubs::fake_name,
    fake_total: stubs::fake_total,
    origin: Origin::NONE,
};
static UNSUPPORTED: Fake = STUBS;
static SYMBOLS: [Symbol; 4] = [
    Symbol { name: c"fake_count", offset: std::mem::offset_of!(Fake, fake_count), versions: 0b01 },
    Symbol { name: c"fake_init", offset: std::mem::offset_of!(Fake, fake_init), versions: 0b11 },
    Symbol { name: c"fake_name", offset: std::mem::offset_of!(Fake, fake_name), versions: 0b11 },
    Symbol { name: c"fake_total", offset: std::mem::offset_of!(Fake, fake_total), versions: 0b10 },
];

// SAFETY: the offsets are those of the fields of the symbols' names, which are sorted.
unsafe impl Functions for Fake {
    const SEARCH: Search = Search {
        what: "the fake library",
        variable: "SYS_LOAD_TEST_FAKE",
        names: &["libsys-load-fake.so.2"],
        required: c"fake_init",
        versioning: Versioning::FileName { otherwise: None },
        stack: crate::Stack::Rocm,
    };
    const VERSIONS: &'static [&'static str] = &["1.0", "2.0"];

    fn symbols() -> &'static [Symbol] {
        &SYMBOLS
    }
    fn unsupported() -> &'static Fake {
        &UNSUPPORTED
    }
    unsafe fn stubs() -> Fake {
        STUBS
    }
    fn origin(&self) -> &Origin {
        &self.origin
    }
    fn origin_mut(&mut self) -> &mut Origin {
        &mut self.origin
    }
    fn bridge(_: &mut Fake, _: &Library) {}
}

unsafe extern "C" fn real_count() -> c_int {
    42
}
unsafe extern "C" fn real_init(flags: u32) -> c_int {
    flags.cast_signed()
}

/// The symbols of "version 1".
fn version_1(name: &CStr) -> Option<NonNull<c_void>> {
    match name.to_bytes() {
        b"fake_count" => NonNull::new(real_count as *mut c_void),
        b"fake_init" => NonNull::new(real_init as *mut c_void),
        _ => None,
    }
}

fn has(table: &Fake, name: &str) -> Option<bool> {
    Availability::of(table, name).map(|availability| availability.provided)
}

#[test]
fn what_the_library_has_is_filled_and_the_rest_stays_a_stub() {
    // SAFETY: the two functions are of the fields' types.
    let table: Box<Fake> = unsafe { fill(version_1, |_| {}) };
    // SAFETY: neither has a precondition.
    assert_eq!(unsafe { ((table.fake_count)(), (table.fake_init)(7)) }, (42, 7));
    // SAFETY: stubs read nothing.
    assert!(unsafe { (table.fake_total)() } == -1 && unsafe { (table.fake_name)() }.is_null());
    assert_eq!(has(&table, "fake_count"), Some(true));
    assert_eq!(has(&table, "fake_total"), Some(false));
    assert_eq!(has(&table, "fake_else"), None);
    assert_eq!(table.origin.provided.len(), 2);
}

#[test]
fn a_bridge_adds_functions_and_takes_them_away() {
    let bridge = |table: &mut Fake| {
        table.fake_total = table.fake_count;
        table.fake_count = Fake::unsupported().fake_count;
    };
    // SAFETY: the functions are of the fields' types.
    let table: Box<Fake> = unsafe { fill(version_1, bridge) };
    assert_eq!(has(&table, "fake_total"), Some(true), "bridged");
    assert_eq!(has(&table, "fake_count"), Some(false), "taken away");
    assert_eq!(has(&table, "fake_init"), Some(true), "untouched");
    // SAFETY: none has a precondition.
    assert_eq!(unsafe { ((table.fake_total)(), (table.fake_count)()) }, (42, -1));
}

#[test]
fn stubs_have_nothing() {
    assert!(SYMBOLS.iter().all(|symbol| has(&UNSUPPORTED, symbol.name.to_str().unwrap()) == Some(false)));
}

#[test]
fn availability_names_versions() {
    // SAFETY: the functions are of the fields' types.
    let table: Box<Fake> = unsafe { fill(version_1, |_| {}) };
    let total = Availability::of(&*table, "fake_total").unwrap();
    assert_eq!(total.versions().collect::<Vec<_>>(), ["2.0"]);
    assert_eq!(total.to_string(), "not provided; exported by 2.0");
    let init = Availability::of(&*table, "fake_init").unwrap();
    assert_eq!(init.to_string(), "provided; exported by 1.0, 2.0");
    let none = Availability { provided: false, known: Fake::VERSIONS, versions: 0 };
    assert_eq!(none.to_string(), "not provided; no known version exports it");
}

#[test]
#[cfg_attr(miri, ignore = "Miri cannot open libraries")]
fn a_failed_load_is_an_error_each_time() {
    let loaded: Loaded<Fake> = Loaded::new();
    for _ in 0..2 {
        let error = loaded.get_or_load().unwrap_err();
        assert!(error.to_string().contains("the fake library"), "{error}");
    }
}

#[test]
fn sets_remember_what_was_put_in() {
    let mut set = Set::EMPTY;
    assert!(set.is_empty());
    set.insert(3);
    set.insert(200);
    assert!(set.contains(3) && set.contains(200) && !set.contains(4) && !set.contains(10_000));
    assert_eq!(set.len(), 2);
}
