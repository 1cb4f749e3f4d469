//! Tests on AMD's own libraries of one release, in a sysroot; `cargo xtask test rocm` runs these.

mod hip;
mod rtc;
