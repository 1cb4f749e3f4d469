//! Devices of this crate keep track of who uses what memory, which nobody does for the machine behind them.
#![forbid(unsafe_code)]

use hip::vgpu::machine::Machine;

fn main() {
    Machine::global().memory().free(0x1000).unwrap();
}
