//! Two GPUs as one logical device: the second works on the first one's memory.

#[path = "common/kernels.rs"]
mod common;

use std::error::Error;

use hip::{Device, DeviceBuffer};

fn main() -> Result<(), Box<dyn Error>> {
    let (mut devices, _) = Device::list();
    if devices.len() < 2 {
        devices = Device::open_all(&"vgpu:gfx1100?count=2".parse()?)?;
    }
    devices.truncate(2);
    let logical = Device::logical(&devices)?;
    println!("{} members: {:?}", logical.members().len(), logical.members());

    let (first, second) = (&logical.members()[0], &logical.members()[1]);
    let (a, b) = (first.stream()?, second.stream()?);
    let saxpy = common::module(second)?.function("saxpy")?;
    let n = 1000;
    let x = DeviceBuffer::from_slice(&a, &vec![2.0_f32; n])?;
    let mut y = DeviceBuffer::from_slice(&a, &vec![1.0_f32; n])?;
    let launch = saxpy.launch(&b).elements(n, 256).arg(n as u32).arg(3.0_f32).arg(&x).arg(&mut y);
    // SAFETY: `saxpy` reads x[0..n], and reads and writes y[0..n].
    unsafe { launch.enqueue()? };
    // The first device's stream waits for the second device's.
    assert_eq!(y.to_vec(&a)?, vec![7.0; n]);
    logical.synchronize()?;
    Ok(())
}
