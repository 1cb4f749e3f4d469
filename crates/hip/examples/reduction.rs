//! A sum over all elements: workgroups with LDS, then the host.

#[path = "common/kernels.rs"]
mod common;

use std::error::Error;

use hip::{Device, DeviceBuffer};

fn main() -> Result<(), Box<dyn Error>> {
    const BLOCK: u32 = 256;
    let device = Device::open_default()?;
    let stream = device.stream()?;
    let partial_sums = common::module(&device)?.function("partial_sums")?;
    println!("{partial_sums}: {:?}", partial_sums.attributes());

    // Whole numbers, so that the sums are exact.
    let values: Vec<f32> = (0..100_000).map(|i| (i % 17) as f32).collect();
    let expected: f32 = values.iter().sum();
    let x = DeviceBuffer::from_slice(&stream, &values)?;
    let blocks = 2 * device.properties().compute_units;
    let mut sums = DeviceBuffer::<f32>::uninit(&device, blocks as usize)?;

    let launch = partial_sums.launch(&stream).grid(blocks).block(BLOCK).dynamic_lds(4 * BLOCK);
    let launch = launch.arg(values.len() as u32).arg(&x).arg(&mut sums);
    // SAFETY: `partial_sums` reads x[0..n] and writes one element of `sums` for each workgroup.
    unsafe { launch.enqueue()? };
    let sum: f32 = sums.to_vec(&stream)?.iter().sum();
    println!("{blocks} workgroups: {sum}");
    assert_eq!(sum, expected);
    Ok(())
}
