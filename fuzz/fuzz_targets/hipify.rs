//! Any bytes as a CUDA source: its translation has the same lines, and translating that changes nothing.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/hipify/tests/any_source/mod.rs"]
mod any_source;

fuzz_target!(|bytes: &[u8]| any_source::run(bytes));
