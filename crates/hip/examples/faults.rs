//! A kernel that leaves its memory: on a virtual GPU an error that says where, and nothing else is harmed.

mod common;

use std::error::Error;

use hip::{Device, DeviceBuffer};

fn main() -> Result<(), Box<dyn Error>> {
    // On a real GPU such a kernel may end the process, or go unnoticed.
    let device = Device::open("vgpu:gfx1100")?;
    let module = common::module(&device)?;
    let beyond = module.function("beyond")?;
    let stream = device.stream()?;
    let mut data = DeviceBuffer::<u32>::zeroed(&stream, 1000)?;
    let launch = beyond.launch(&stream).grid(4).block(256).arg(&mut data);
    // SAFETY: none: this writes 24 elements too many, which the virtual GPU catches.
    unsafe { launch.enqueue()? };

    let error = stream.synchronize().unwrap_err();
    println!("{error}");
    let fault = error.fault().and_then(|report| report.details()).ok_or("no details")?;
    println!("as data: {fault:?}");

    // That stream is finished; another one works, and what is written anew is good.
    let next = device.stream()?;
    data.fill(&next, 3)?;
    assert_eq!(data.to_vec(&next)?, [3; 1000]);
    Ok(())
}
