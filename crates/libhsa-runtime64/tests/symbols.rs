//! The drop-in exports the functions of every version of AMD's library, and nothing else.

mod support;

use std::collections::BTreeSet;

use hsa_sys::SYMBOLS;
use support::{DROP_IN, VERSION};
use test_support::elf::Shared;

#[test]
fn the_library_exports_what_any_version_of_amds_does() {
    let shared = Shared::read(&DROP_IN.library());
    let expected: BTreeSet<&str> = SYMBOLS
        .iter()
        .filter(|symbol| symbol.versions != 0)
        .map(|symbol| symbol.name.to_str().unwrap())
        .collect();
    assert_eq!(shared.functions.keys().map(String::as_str).collect::<BTreeSet<_>>(), expected);
    assert!(shared.functions.values().all(|version| version == VERSION), "{:?}", shared.functions);
    assert_eq!(shared.versions.keys().collect::<Vec<_>>(), [VERSION]);
    assert_eq!(shared.soname, DROP_IN.soname);
}

#[test]
fn the_library_needs_nothing_but_the_c_library() {
    let mut needed = Shared::read(&DROP_IN.library()).needed;
    needed.retain(|name| {
        let system =
            ["libc.", "libm.", "libgcc_s.", "libdl.", "libpthread.", "librt.", "libutil.", "ld-linux"];
        !system.iter().any(|system| name.starts_with(system))
    });
    assert_eq!(needed, Vec::<String>::new());
}
