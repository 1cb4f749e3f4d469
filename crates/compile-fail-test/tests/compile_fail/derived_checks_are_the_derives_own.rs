//! A macro of the program cannot replace the check that a struct has no padding.
#[allow(unused_macros)]
macro_rules! assert {
    ($($anything:tt)*) => {};
}

#[repr(C)]
#[derive(Clone, Copy, hip::DeviceCopy)]
struct Padded {
    small: u8,
    large: u32,
}

fn main() {}
