//! Any bytes in a queue's packets, its structure and signals, as a kernel may write them: the queue fails or
//! goes on.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/vgpu/tests/hsa/queue_memory.rs"]
mod queue_memory;
#[path = "../../crates/vgpu/tests/hsa/small_gpu.rs"]
mod small_gpu;

fuzz_target!(|bytes: &[u8]| queue_memory::run(bytes));
