//! A kernel writes any memory that the machine knows, also what another part of the program has a reference to.
#![forbid(unsafe_code)]

use vgpu::machine::{Dispatch, Machine};

fn main() {
    let index = vgpu::attach(&"gfx1100".parse().unwrap()).unwrap();
    let device = Machine::global().device(index).unwrap();
    device.dispatch(&Dispatch::default()).unwrap();
}
