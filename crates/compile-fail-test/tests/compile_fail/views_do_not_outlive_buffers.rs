//! A view borrows its buffer.
use hip::{DeviceBuffer, DeviceSlice, Stream};

fn outlive(stream: &Stream) -> DeviceSlice<'static, f32> {
    let buffer = DeviceBuffer::<f32>::zeroed(stream, 4).unwrap();
    buffer.as_slice()
}

fn free_too_early(mut buffer: DeviceBuffer<f32>) -> usize {
    let (low, high) = buffer.split_at_mut(2).unwrap();
    drop(buffer);
    low.len() + high.len()
}

fn main() {}
