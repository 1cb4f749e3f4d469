//! Any bytes as a code object, or as the descriptor of a kernel in one, for a virtual GPU: it is refused, or
//! it is loaded and its kernels are started.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/vgpu/tests/machine/corrupt_object.rs"]
mod corrupt_object;
#[path = "../../crates/code-object/tests/support/mod.rs"]
mod synthetic;

fuzz_target!(|bytes: &[u8]| corrupt_object::run(bytes));
