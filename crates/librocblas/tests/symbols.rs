//! The drop-in exports the C functions of the newest rocBLAS, and nothing else.

mod support;

use std::collections::BTreeSet;

use rocblas_sys::{SYMBOLS, VERSIONS};
use support::ROCBLAS;
use test_support::elf::{Shared, script};

#[test]
fn the_library_exports_the_functions_of_the_newest_version() {
    let shared = Shared::read(&ROCBLAS.library());
    let newest = 1 << (VERSIONS.len() - 1);
    let functions = SYMBOLS.iter().filter(|symbol| symbol.versions & newest != 0);
    let expected: BTreeSet<_> = functions.map(|symbol| symbol.name.to_str().unwrap()).collect();
    let exported: BTreeSet<_> = shared.functions.keys().map(String::as_str).collect();
    assert_eq!(exported, expected);
    assert!(shared.functions.values().all(String::is_empty), "AMD's has no versions");
    assert_eq!(shared.soname, ROCBLAS.soname);
    let (listed, _) = script(&ROCBLAS.version_script());
    assert_eq!(listed.keys().collect::<Vec<_>>(), ["rocblas_*"]);
}
