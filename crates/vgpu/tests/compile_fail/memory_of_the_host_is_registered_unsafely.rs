//! Kernels write it while the program has references to it.
#![forbid(unsafe_code)]

fn main() {
    let data = [0u8; 64];
    vgpu::machine::Machine::global().memory().register(data.as_ptr().addr() as u64, 64).unwrap();
}
