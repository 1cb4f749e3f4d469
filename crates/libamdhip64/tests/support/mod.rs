//! The drop-in, and the programs of its tests.
#![allow(dead_code, unreachable_pub, reason = "each test file is a crate of its own and uses a part of it")]

pub mod calls;

use std::path::{Path, PathBuf};

use test_support::program::{DropIn, Place, Program};

pub const PLACE: Place = Place { krate: env!("CARGO_MANIFEST_DIR"), scratch: env!("CARGO_TARGET_TMPDIR") };
pub const DROP_IN: DropIn =
    DropIn { place: PLACE, archive: "amdhip64", soname: "libamdhip64.so.7", script: "symbols.map" };
/// The virtual GPU below AMD's HIP, in a folder that may also hold other libraries.
pub const HSA_DROP_IN: DropIn = DropIn {
    place: Place {
        krate: concat!(env!("CARGO_MANIFEST_DIR"), "/../libhsa-runtime64"),
        scratch: concat!(env!("CARGO_TARGET_TMPDIR"), "/answers"),
    },
    archive: "hsa_runtime64",
    soname: "libhsa-runtime64.so.1",
    script: "symbols.map",
};

/// A file in `programs`.
pub fn source(file: &str) -> PathBuf {
    Path::new(PLACE.krate).join("tests/programs").join(file)
}

/// Compiles `programs/<name>.hip` for these targets, linked with the drop-in.
pub fn compile(name: &str, targets: &[&str], options: &[&str]) -> Program {
    let library = DROP_IN.library();
    Program::link(&source(&format!("{name}.hip")), PLACE, targets, options, &library, library.clone())
}
