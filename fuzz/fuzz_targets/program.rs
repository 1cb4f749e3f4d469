//! Any bytes as a program: the virtual GPU runs it to its end, or to a fault.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/vgpu/tests/machine/random_program.rs"]
mod random_program;
#[path = "../../crates/code-object/tests/support/mod.rs"]
mod synthetic;

fuzz_target!(|bytes: &[u8]| {
    _ = random_program::run(bytes);
});
