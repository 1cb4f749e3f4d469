//! The drop-in exports the C functions of the newest RCCL, the symbol that AMD's unit tests need, and nothing
//! else.

mod support;

use std::collections::BTreeSet;

use rccl_sys::{SYMBOLS, VERSIONS};
use support::RCCL;
use test_support::elf::{Shared, script};

/// See `src/internal.rs`.
const INTERNAL: &str = "_ZN16latency_profiler9CollTraceD1Ev";

#[test]
fn the_library_exports_the_functions_of_the_newest_version() {
    let shared = Shared::read(&RCCL.library());
    let newest = 1 << (VERSIONS.len() - 1);
    let functions = SYMBOLS.iter().filter(|symbol| symbol.versions & newest != 0);
    let functions = functions.map(|symbol| symbol.name.to_str().unwrap());
    let expected: BTreeSet<_> = functions.chain([INTERNAL]).collect();
    let exported: BTreeSet<_> = shared.functions.keys().map(String::as_str).collect();
    assert_eq!(exported, expected);
    assert!(shared.functions.values().all(String::is_empty), "AMD's has no versions");
    assert_eq!(shared.soname, RCCL.soname);
    let (listed, _) = script(&RCCL.version_script());
    let listed: Vec<_> = listed.keys().map(String::as_str).collect();
    assert_eq!(listed, [INTERNAL, "mscclLoadAlgo", "mscclRunAlgo", "mscclUnloadAlgo", "nccl*"]);
}
