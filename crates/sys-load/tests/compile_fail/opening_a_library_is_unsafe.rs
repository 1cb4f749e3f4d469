//! A file runs code as soon as it is opened, and may hold other functions than those expected.
use sys_load::{Functions, Library, Places, Search, Versioning};

const ANY: Search = Search {
    what: "any library",
    variable: "ANY",
    names: &["libm.so.6"],
    required: c"cos",
    versioning: Versioning::FileName { otherwise: None }, stack: sys_load::Stack::Rocm,
};

fn find() {
    let _ = Library::find(&ANY);
    let _ = Library::find_in(&ANY, &Places::of_process());
    let _ = Library::open(&ANY, "/tmp/any.so".as_ref());
}

fn table<T: Functions>(library: &Library) -> &'static T {
    let _ = sys_load::table::load_from::<T>("/tmp/any.so".as_ref());
    sys_load::table::of_library(library)
}

fn stubs<T: Functions>() -> T {
    T::stubs()
}

fn main() {}
