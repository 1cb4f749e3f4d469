//! A device can write any bytes: only types for which all are valid lie in its memory.
use hip::{DeviceBuffer, Stream};

fn booleans(stream: &Stream) {
    DeviceBuffer::from_slice(stream, &[true]).unwrap();
}

fn references(stream: &Stream) {
    DeviceBuffer::from_slice(stream, &["text"]).unwrap();
}

fn main() {}
