//! Two streams that wait for each other by themselves, and events that measure time.

mod common;

use std::error::Error;

use hip::{Device, DeviceBuffer, StreamOptions};

fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::open_default()?;
    let saxpy = common::module(&device)?.function("saxpy")?;
    let priorities = device.stream_priorities()?;
    let first = device.stream()?;
    let second = device.stream_with(StreamOptions::new().priority(priorities.greatest))?;

    let n = 1 << 20;
    let x = DeviceBuffer::from_slice(&first, &vec![1.0_f32; n])?;
    let mut y = DeviceBuffer::from_slice(&first, &vec![0.0_f32; n])?;

    let start = first.record()?;
    for stream in [&first, &second, &first, &second] {
        let launch = saxpy.launch(stream).elements(n, 256).arg(n as u32).arg(0.5_f32).arg(&x).arg(&mut y);
        // SAFETY: `saxpy` reads x[0..n], and reads and writes y[0..n].
        unsafe { launch.enqueue()? };
    }
    // `y` was used on both streams: each launch has waited for the one before, on the device.
    let end = second.record()?;
    println!("four launches took {:?} on the device", end.elapsed_since(&start)?);
    assert!(y.to_vec(&first)?.iter().all(|value| *value == 2.0));
    Ok(())
}
