//! Work that is recorded once and launched as a whole, and how much host time that saves.

#[path = "common/kernels.rs"]
mod common;

use std::error::Error;
use std::time::Instant;

use hip::{Device, DeviceBuffer};

fn main() -> Result<(), Box<dyn Error>> {
    const STEPS: usize = 50;
    let device = Device::open_default()?;
    let stream = device.stream()?;
    let saxpy = common::module(&device)?.function("saxpy")?;
    let n = 1000;
    let x = DeviceBuffer::from_slice(&stream, &vec![1.0_f32; n])?;
    let mut y = DeviceBuffer::<f32>::uninit(&device, n)?;

    let mut steps = |stream: &hip::Stream| -> hip::Result<()> {
        y.fill(stream, 0.0)?;
        for _ in 0..STEPS {
            let launch = saxpy.launch(stream).elements(n, 256).arg(n as u32).arg(0.5_f32).arg(&x).arg(&mut y);
            // SAFETY: `saxpy` reads x[0..n], and reads and writes y[0..n].
            unsafe { launch.enqueue()? };
        }
        Ok(())
    };
    let start = Instant::now();
    steps(&stream)?;
    println!("one by one: {:?} of the host's time", start.elapsed());
    stream.synchronize()?;

    // The same calls again, on a stream that only records them.
    let graph = device.capture(&mut steps)?;
    let exec = graph.instantiate()?;
    let start = Instant::now();
    exec.launch(&stream)?;
    println!("as a graph of {} nodes: {:?}", graph.len(), start.elapsed());
    assert_eq!(y.to_vec(&stream)?, vec![0.5 * STEPS as f32; n]);
    Ok(())
}
