//! A launch that is checked once and enqueued many times, with an argument that changes.

#[path = "common/kernels.rs"]
mod common;

use std::error::Error;
use std::time::Instant;

use hip::{Device, DeviceBuffer};

fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::open_default()?;
    let stream = device.stream()?;
    let saxpy = common::module(&device)?.function("saxpy")?;

    // A launch that does not match its kernel is refused before anything reaches the device.
    let wrong = saxpy.launch(&stream).elements(4, 64).arg(4_u64).prepare();
    println!("refused: {}", wrong.unwrap_err());

    let n = 1000;
    let x = DeviceBuffer::from_slice(&stream, &vec![1.0_f32; n])?;
    let mut y = DeviceBuffer::<f32>::zeroed(&stream, n)?;
    let launch = saxpy.launch(&stream).elements(n, 256).arg(n as u32).arg(0.0_f32).arg(&x).arg(&mut y);
    let mut launch = launch.prepare()?;
    let start = Instant::now();
    for step in 1..=100 {
        launch.set(1, step as f32)?;
        // SAFETY: `saxpy` reads x[0..n], and reads and writes y[0..n].
        unsafe { launch.enqueue()? };
    }
    println!("100 launches enqueued in {:?}", start.elapsed());
    drop(launch);
    assert_eq!(y.to_vec(&stream)?, vec![5050.0; n]);
    Ok(())
}
