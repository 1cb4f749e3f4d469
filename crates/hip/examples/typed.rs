//! Kernels as typed functions: wrong types do not compile, and loading fails if a signature does not match
//! its kernel.

#[path = "common/kernels.rs"]
mod common;

use std::error::Error;

use hip::{Device, DeviceBuffer, LaunchConfig};

hip::kernels! {
    /// The kernels of `kernels/examples.cu`.
    #[derive(Clone, Debug)]
    struct Examples {
        /// `y[i] += a * x[i]` for `i < n`.
        ///
        /// # Safety
        /// `x` and `y` have `n` elements at least.
        unsafe fn saxpy(n: u32, a: f32, x: &[f32], y: &mut [f32]);
    }
}

/// A safe wrapper: it knows the kernel and checks the lengths.
fn saxpy(
    kernels: &Examples,
    stream: &hip::Stream,
    a: f32,
    x: &DeviceBuffer<f32>,
    y: &mut DeviceBuffer<f32>,
) -> Result<(), Box<dyn Error>> {
    if x.len() != y.len() {
        return Err(format!("x has {} elements, and y {}", x.len(), y.len()).into());
    }
    let n = u32::try_from(x.len())?;
    // SAFETY: both have n elements.
    unsafe { kernels.saxpy(stream, LaunchConfig::for_elements(x.len(), 256), n, a, x, y)? };
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::open_default()?;
    let stream = device.stream()?;
    let kernels = Examples::load(&common::module(&device)?)?;
    let x = DeviceBuffer::from_slice(&stream, &[1.0_f32, 2.0, 3.0])?;
    let mut y = DeviceBuffer::from_slice(&stream, &[10.0_f32, 20.0, 30.0])?;
    saxpy(&kernels, &stream, 2.0, &x, &mut y)?;
    println!("{:?}", y.to_vec(&stream)?);
    assert_eq!(y.to_vec(&stream)?, [12.0, 24.0, 36.0]);

    let long = DeviceBuffer::<f32>::zeroed(&stream, 4)?;
    println!("refused: {}", saxpy(&kernels, &stream, 2.0, &long, &mut y).unwrap_err());
    Ok(())
}
