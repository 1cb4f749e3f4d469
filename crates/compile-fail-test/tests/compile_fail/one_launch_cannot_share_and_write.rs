//! Memory that a kernel writes is passed to it once.
use hip::{DeviceBuffer, Function, Stream};

fn alias(function: &Function, stream: &Stream, mut data: DeviceBuffer<f32>) {
    let _ = function.launch(stream).arg(&data).arg(&mut data);
}

fn main() {}
