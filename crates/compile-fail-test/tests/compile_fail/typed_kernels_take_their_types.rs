//! A typed kernel takes only the types of its signature.
use hip::{DeviceBuffer, LaunchConfig, Stream};

hip::kernels! {
    struct Blas {
        unsafe fn saxpy(n: u32, a: f32, x: &[f32], y: &mut [f32]);
    }
}

fn another_element(blas: &Blas, stream: &Stream, x: &DeviceBuffer<f64>, y: &mut DeviceBuffer<f32>) {
    let _ = unsafe { blas.saxpy(stream, LaunchConfig::new(1, 1), 1, 2.0, x, y) };
}

fn another_value(blas: &Blas, stream: &Stream, x: &DeviceBuffer<f32>, y: &mut DeviceBuffer<f32>) {
    let _ = unsafe { blas.saxpy(stream, LaunchConfig::new(1, 1), 1.5, 2.0, x, y) };
}

fn missing(blas: &Blas, stream: &Stream, x: &DeviceBuffer<f32>) {
    let _ = unsafe { blas.saxpy(stream, LaunchConfig::new(1, 1), 1, 2.0, x) };
}

fn shared(blas: &Blas, stream: &Stream, x: &DeviceBuffer<f32>, y: &DeviceBuffer<f32>) {
    let _ = unsafe { blas.saxpy(stream, LaunchConfig::new(1, 1), 1, 2.0, x, y) };
}

fn main() {}
