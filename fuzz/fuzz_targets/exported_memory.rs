//! Any bytes as the header of memory that Vulkan has exported: it is refused, or the memory is where it says.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/vgpu/tests/hsa/exported_memory.rs"]
mod exported_memory;
#[path = "../../crates/vgpu/tests/hsa/small_gpu.rs"]
mod small_gpu;

fuzz_target!(|bytes: &[u8]| exported_memory::run(bytes));
