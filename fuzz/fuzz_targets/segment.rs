//! Any bytes in the memory that ranks share, as another rank may write them: operations end, with success or
//! an error.
#![no_main]

use std::sync::OnceLock;

use hip::Device;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    static DEVICE: OnceLock<Device> = OnceLock::new();
    let device = DEVICE.get_or_init(|| Device::open("vgpu:gfx1100?cus=1&memory=64MiB").expect("a device"));
    rccl_on_hip::fuzzing::segment(device.table(), bytes);
});
