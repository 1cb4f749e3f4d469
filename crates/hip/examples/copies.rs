//! Copies in the background: each copy owns a pinned buffer and returns it.

#[path = "common/kernels.rs"]
mod common;

use std::error::Error;

use hip::{Device, DeviceBuffer, HostBuffer, Pending};

fn main() -> Result<(), Box<dyn Error>> {
    const CHUNK: usize = 1 << 16;
    const CHUNKS: usize = 8;
    let device = Device::open_default()?;
    let saxpy = common::module(&device)?.function("saxpy")?;

    // Two lanes, each with a stream, device memory, and a pinned buffer that uploads data and downloads
    // results.
    let mut lanes = Vec::new();
    for _ in 0..2 {
        let stream = device.stream()?;
        let ones = DeviceBuffer::from_slice(&stream, &[1.0_f32; CHUNK])?;
        let data = DeviceBuffer::<f32>::uninit(&device, CHUNK)?;
        let pending: Option<Pending<HostBuffer<f32>>> = None;
        lanes.push((stream, ones, data, pending, Some(HostBuffer::<f32>::zeroed(&device, CHUNK)?)));
    }
    let mut total = 0.0_f64;
    for chunk in 0..CHUNKS + lanes.len() {
        let index = chunk % lanes.len();
        let (stream, ones, data, pending, free) = &mut lanes[index];
        if let Some(download) = pending.take() {
            let result = download.wait()?;
            total += result.iter().map(|value| f64::from(*value)).sum::<f64>();
            *free = Some(result);
        }
        if chunk >= CHUNKS {
            continue;
        }
        let mut host = free.take().ok_or("a lane without its buffer")?;
        host.fill(chunk as f32);
        let host = data.upload(stream, host)?;
        let launch = saxpy.launch(stream).elements(CHUNK, 256).arg(CHUNK as u32).arg(0.5_f32);
        // SAFETY: `saxpy` reads ones[0..CHUNK], and reads and writes data[0..CHUNK].
        unsafe { launch.arg(&*ones).arg(&mut *data).enqueue()? };
        // The buffer is free when the upload is done, but the download needs one at once.
        let host = host.wait()?;
        *pending = Some(data.download(stream, host)?);
    }
    let expected: f64 = (0..CHUNKS).map(|chunk| (chunk as f64 + 0.5) * CHUNK as f64).sum();
    assert_eq!(total, expected);
    println!("{CHUNKS} chunks of {CHUNK} elements, sum {total}");
    Ok(())
}
