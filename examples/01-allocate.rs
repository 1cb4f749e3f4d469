//! Memory on a GPU: how a buffer is made, what it holds, and when its memory is free again.
//!
//! `cargo run --bin 01-allocate`

use hip::{Device, DeviceBuffer};

fn main() -> hip::Result<()> {
    // The device that FERROCM_DEVICE names; else an AMD GPU; else a virtual one in this process.
    let device = Device::open_default()?;
    println!("device: {device}");

    // Work goes to a stream, and so do the copies and fills that give a new buffer its contents.
    let stream = device.stream()?;
    let numbers = DeviceBuffer::from_slice(&stream, &[1.0_f32, 2.0, 3.0])?;
    let zeros = DeviceBuffer::<f32>::zeroed(&stream, 1000)?;
    println!("{} numbers and {} zeros", numbers.len(), zeros.len());
    assert_eq!(numbers.to_vec(&stream)?, [1.0, 2.0, 3.0]);
    assert_eq!(zeros.to_vec(&stream)?, [0.0; 1000]);

    // A buffer without contents is the cheapest. Write to it before you read it.
    let mut sevens = DeviceBuffer::<u32>::uninit(&device, 1 << 20)?;
    sevens.fill(&stream, 7)?;
    println!("{} sevens take {} MiB", sevens.len(), sevens.as_bytes().len() >> 20);
    assert!(sevens.to_vec(&stream)?.iter().all(|seven| *seven == 7));

    // A buffer that is dropped gives its memory back once the work that uses it has finished.
    drop(sevens);

    // Nothing panics, and nothing aborts: a buffer that does not fit is an error.
    match DeviceBuffer::<u8>::uninit(&device, 1 << 50) {
        Ok(_) => println!("this device has a pebibyte of memory"),
        Err(error) => println!("refused: {error}"),
    }
    Ok(())
}
