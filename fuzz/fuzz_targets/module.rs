//! Any bytes as a module of the safe API, over the virtual GPU: it is refused, or it is loaded and its
//! kernels are found. Nothing beyond the bytes is read; the address sanitizer checks this, because the
//! library gets their address but no length. Bytes that do not begin a code file change a valid one, three
//! bytes for each change.
#![no_main]

use std::sync::LazyLock;

use hip::{Device, Module};
use libfuzzer_sys::fuzz_target;

#[path = "../../crates/code-object/tests/support/mod.rs"]
mod synthetic;

static DEVICE: LazyLock<Device> =
    LazyLock::new(|| Device::open("vgpu:gfx1100?cus=2&memory=64MiB").expect("a virtual GPU"));

fuzz_target!(|bytes: &[u8]| {
    let begins = |magic: &&[u8]| bytes.starts_with(magic);
    let file = if [&b"\x7fELF"[..], b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB"].iter().any(begins) {
        bytes.to_vec()
    } else {
        let mut file = synthetic::Synthetic::default().build();
        for change in bytes.chunks_exact(3) {
            let at = usize::from(u16::from_le_bytes([change[0], change[1]])) % file.len();
            file[at] = change[2];
        }
        file
    };
    match Module::load(&DEVICE, &file.into_boxed_slice()) {
        Ok(module) => {
            for kernel in module.kernels() {
                let found = module.function(kernel);
                assert!(found.is_ok() || !found.unwrap_err().to_string().is_empty());
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
