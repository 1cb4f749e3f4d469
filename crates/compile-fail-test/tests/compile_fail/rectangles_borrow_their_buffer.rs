//! A rectangle borrows its buffer, exclusively if it may be written.
use hip::{DeviceBuffer, DeviceRect, RectLayout, Stream};

fn outlive(stream: &Stream) -> DeviceRect<'static, f32> {
    let buffer = DeviceBuffer::<f32>::zeroed(stream, 4).unwrap();
    buffer.as_rect(RectLayout::plane([2, 2], 2)).unwrap()
}

fn both(buffer: &mut DeviceBuffer<f32>) -> usize {
    let first = buffer.as_mut_rect(RectLayout::plane([1, 2], 2)).unwrap();
    let second = buffer.as_rect(RectLayout::plane([2, 2], 2)).unwrap();
    first.len() + second.len()
}

fn main() {}
