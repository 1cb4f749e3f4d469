//! Memory that a typed kernel writes is passed to it once.
use hip::{DeviceBuffer, LaunchConfig, Stream};

hip::kernels! {
    struct Blas {
        unsafe fn saxpy(n: u32, a: f32, x: &[f32], y: &mut [f32]);
    }
}

fn alias(blas: &Blas, stream: &Stream, mut data: DeviceBuffer<f32>) {
    let _ = unsafe { blas.saxpy(stream, LaunchConfig::new(1, 1), 1, 2.0, &data, &mut data) };
}

fn main() {}
