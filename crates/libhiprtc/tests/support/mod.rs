//! The drop-ins that the tests load.
#![allow(dead_code, unreachable_pub, reason = "each test file is a crate of its own and uses a part of it")]

use test_support::program::{DropIn, Place};

pub const PLACE: Place = Place { krate: env!("CARGO_MANIFEST_DIR"), scratch: env!("CARGO_TARGET_TMPDIR") };
pub const HIPRTC: DropIn =
    DropIn { place: PLACE, archive: "hiprtc_drop_in", soname: "libhiprtc.so.7", script: "symbols.map" };
pub const HIP: DropIn = DropIn {
    place: Place {
        krate: concat!(env!("CARGO_MANIFEST_DIR"), "/../libamdhip64"),
        scratch: env!("CARGO_TARGET_TMPDIR"),
    },
    archive: "amdhip64",
    soname: "libamdhip64.so.7",
    script: "symbols.map",
};
