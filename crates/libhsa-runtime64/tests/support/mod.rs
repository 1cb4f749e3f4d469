//! The drop-in.
#![allow(dead_code, unreachable_pub, reason = "each test file is a crate of its own and uses a part of it")]

use test_support::program::{DropIn, Place};

pub const PLACE: Place = Place { krate: env!("CARGO_MANIFEST_DIR"), scratch: env!("CARGO_TARGET_TMPDIR") };
pub const DROP_IN: DropIn =
    DropIn { place: PLACE, archive: "hsa_runtime64", soname: "libhsa-runtime64.so.1", script: "symbols.map" };
/// The version of all its symbols.
pub const VERSION: &str = "ROCR_1";
