//! The drop-in exports the C functions of the newest hiprtc and those of NVRTC, and nothing else.

mod support;

use std::collections::BTreeSet;

use hip_sys::rtc::{SYMBOLS, VERSIONS};
use support::HIPRTC;
use test_support::elf::{Shared, script};

#[test]
fn the_library_exports_the_functions_of_the_newest_version() {
    let shared = Shared::read(&HIPRTC.library());
    let newest = 1 << (VERSIONS.len() - 1);
    let functions = SYMBOLS.iter().filter(|symbol| symbol.versions & newest != 0);
    let expected: BTreeSet<_> = functions.map(|symbol| symbol.name.to_str().unwrap()).collect();
    let (nvidias, exported): (BTreeSet<_>, BTreeSet<_>) =
        shared.functions.keys().map(String::as_str).partition(|name| name.starts_with("nvrtc"));
    assert_eq!(exported, expected);
    // NVRTC's, as the toolkit's libnvrtc jumps to them.
    let jumps = include_str!("../../setup/src/nvcc/libraries/nvrtc.txt");
    assert_eq!(nvidias, jumps.lines().filter_map(|line| line.split(' ').next()).collect());
    assert!(shared.functions.values().all(String::is_empty), "AMD's has no versions");
    assert_eq!(shared.soname, HIPRTC.soname);
    let (listed, _) = script(&HIPRTC.version_script());
    assert_eq!(listed.keys().map(String::as_str).collect::<Vec<_>>(), ["hiprtc*", "nvrtc*"]);
}
