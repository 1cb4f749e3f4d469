//! Whoever uses the memory would be left with an address where nothing is.
#![forbid(unsafe_code)]

fn main() {
    let memory = vgpu::machine::Machine::global().memory();
    memory.free(0x1000).unwrap();
}
