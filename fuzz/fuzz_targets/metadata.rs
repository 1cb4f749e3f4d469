//! Any bytes as the metadata of an otherwise valid code object.
#![no_main]

use code_object::CodeObject;
use libfuzzer_sys::fuzz_target;

#[path = "../../crates/code-object/tests/support/mod.rs"]
mod synthetic;

fuzz_target!(|bytes: &[u8]| {
    let mut object = synthetic::Synthetic { raw_metadata: Some(bytes.to_vec()), ..Default::default() };
    let Ok(object) = CodeObject::parse(&object.build()) else { return };
    for kernel in object.kernels() {
        assert!(kernel.args.iter().all(|arg| arg.offset + arg.size <= kernel.kernarg_size));
        assert_eq!(object.kernel(&kernel.name).map(|found| &found.name), Some(&kernel.name));
    }
});
