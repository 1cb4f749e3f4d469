//! A derived `DeviceCopy` is checked: layout, fields, padding, parameters.
use hip::DeviceCopy;

#[derive(Clone, Copy, DeviceCopy)]
struct NoLayout {
    value: f32,
}

#[repr(C)]
#[derive(Clone, Copy, DeviceCopy)]
struct Flagged {
    value: f32,
    flag: bool,
}

#[repr(C)]
#[derive(Clone, Copy, DeviceCopy)]
struct Padded {
    small: u8,
    large: u32,
}

#[repr(C)]
#[derive(Clone, Copy, DeviceCopy)]
enum Choice {
    One,
    Two,
}

#[repr(C)]
#[derive(Clone, Copy, DeviceCopy)]
struct Generic<T> {
    value: T,
}

#[repr(C)]
#[derive(DeviceCopy)]
struct Moved {
    value: f32,
}

fn main() {}
