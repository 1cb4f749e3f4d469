//! Any bytes as a CUDA source with inline PTX, and as the text of an `asm` statement: lines are preserved,
//! and rewriting again changes nothing.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/device-compiler/tests/any_ptx/mod.rs"]
mod any_ptx;

fuzz_target!(|bytes: &[u8]| {
    any_ptx::run(bytes);
    any_ptx::run_as_template(bytes);
});
