//! Host memory of an asynchronous copy belongs to the copy until it is done.
use hip::{DeviceBuffer, HostBuffer, Stream};

fn reuse(stream: &Stream, buffer: &mut DeviceBuffer<f32>, host: HostBuffer<f32>) {
    let pending = buffer.upload(stream, host).unwrap();
    println!("{}", host[0]);
    drop(pending);
}

fn main() {}
