//! Any bytes as a code object, or as a kernel's descriptor in one, for a virtual GPU: it is loaded, and its kernels are started,
//! or it is refused.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/vgpu/tests/machine/corrupt_object.rs"]
mod corrupt_object;
#[path = "../../crates/code-object/tests/support/mod.rs"]
mod synthetic;

fuzz_target!(|bytes: &[u8]| corrupt_object::run(bytes));
