//! Any bytes as handles of memory and events of other processes: they are refused, or open something that
//! exists.
#![no_main]

use std::sync::OnceLock;

use hip::Device;
use libfuzzer_sys::fuzz_target;

#[path = "../../crates/hip-on-hsa/tests/device/any_handle.rs"]
mod any_handle;

fuzz_target!(|bytes: &[u8]| {
    static DEVICE: OnceLock<Device> = OnceLock::new();
    let device = DEVICE.get_or_init(|| Device::open("vgpu:gfx1100?cus=1&memory=64MiB").expect("a device"));
    any_handle::run(device.table(), bytes);
});
