//! Counters of a kernel: instructions, lanes, memory traffic, LDS bank conflicts, occupancy. Only virtual
//! GPUs count.

#[path = "common/kernels.rs"]
mod common;

use std::error::Error;

use hip::{Device, DeviceBuffer};

fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::open("vgpu:gfx90a")?;
    let stream = device.stream()?;
    let saxpy = common::module(&device)?.function("saxpy")?;
    let n = 10_000;
    let x = DeviceBuffer::<f32>::zeroed(&stream, n)?;
    let mut y = DeviceBuffer::<f32>::zeroed(&stream, n)?;

    stream.set_counters(true)?;
    let launch = saxpy.launch(&stream).elements(n, 256).arg(n as u32).arg(1.0_f32).arg(&x).arg(&mut y);
    // SAFETY: `saxpy` reads x[0..n], and reads and writes y[0..n].
    unsafe { launch.enqueue()? };
    stream.synchronize()?;
    for counters in stream.take_counters()? {
        println!("{counters}");
    }
    Ok(())
}
