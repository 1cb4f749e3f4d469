//! At most one exclusive view of an element exists.
use hip::{DeviceBuffer, DeviceSliceMut};

fn twice(buffer: &mut DeviceBuffer<f32>) -> (DeviceSliceMut<'_, f32>, DeviceSliceMut<'_, f32>) {
    let view = buffer.as_mut_slice();
    (view, view)
}

fn both(buffer: &mut DeviceBuffer<f32>) -> usize {
    let first = buffer.slice_mut(..2).unwrap();
    let second = buffer.slice_mut(2..).unwrap();
    first.len() + second.len()
}

fn main() {}
