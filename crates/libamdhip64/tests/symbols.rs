//! The drop-in exports the symbols of AMD's library, with their versions, and nothing else.

mod support;

use hip_sys::{SYMBOLS, VERSIONS};
use support::DROP_IN;
use test_support::elf::{Shared, script};

#[test]
fn the_library_exports_what_is_listed_in_its_versions() {
    let shared = Shared::read(&DROP_IN.library());
    let (functions, versions) = script(&DROP_IN.version_script());
    let missing: Vec<_> =
        functions.iter().filter(|(name, _)| !shared.functions.contains_key(*name)).collect();
    let more: Vec<_> = shared.functions.iter().filter(|(name, _)| !functions.contains_key(*name)).collect();
    assert!(missing.is_empty() && more.is_empty(), "missing: {missing:?}\nnot listed: {more:?}");
    for (name, version) in &functions {
        assert_eq!(shared.functions[name], *version, "{name}");
    }
    assert_eq!(shared.versions, versions);
    assert_eq!(shared.soname, DROP_IN.soname);
}

#[test]
fn the_library_needs_nothing_but_the_c_library() {
    let mut needed = Shared::read(&DROP_IN.library()).needed;
    needed.retain(|name| {
        ![
            "libc.so.",
            "libm.so.",
            "libgcc_s.so.",
            "libdl.so.",
            "libpthread.so.",
            "librt.so.",
            "libutil.so.",
            "ld-linux",
        ]
        .iter()
        .any(|system| name.starts_with(system))
    });
    assert_eq!(needed, Vec::<String>::new());
}

#[test]
fn every_function_of_the_newest_version_is_listed() {
    let (functions, _) = script(&DROP_IN.version_script());
    let newest = 1 << (VERSIONS.len() - 1);
    for symbol in SYMBOLS.iter().filter(|symbol| symbol.versions & newest != 0) {
        let name = symbol.name.to_str().unwrap();
        assert!(functions.contains_key(name), "{name}");
    }
}
