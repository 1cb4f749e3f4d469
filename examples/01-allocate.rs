//! Memory on a GPU: how to make a buffer, what it holds, and when its memory is free again.
//!
//! `cargo run --bin 01-allocate`

use hip::{Device, DeviceBuffer};

fn main() -> hip::Result<()> {
    // The device that FERROCM_DEVICE names; else an AMD GPU; else a virtual one in this process.
    let device = Device::open_default()?;
    println!("device: {device}");

    // All work goes to a stream, including the copies and fills that initialise a new buffer.
    let stream = device.stream()?;
    let numbers = DeviceBuffer::from_slice(&stream, &[1.0_f32, 2.0, 3.0])?;
    let zeros = DeviceBuffer::<f32>::zeroed(&stream, 1000)?;
    println!("{} numbers and {} zeros", numbers.len(), zeros.len());
    assert_eq!(numbers.to_vec(&stream)?, [1.0, 2.0, 3.0]);
    assert_eq!(zeros.to_vec(&stream)?, [0.0; 1000]);

    // An uninitialised buffer is the cheapest. Write to it before you read it.
    let mut sevens = DeviceBuffer::<u32>::uninit(&device, 1 << 20)?;
    sevens.fill(&stream, 7)?;
    println!("{} sevens take {} MiB", sevens.len(), sevens.as_bytes().len() >> 20);
    assert!(sevens.to_vec(&stream)?.iter().all(|seven| *seven == 7));

    // A dropped buffer releases its memory once the work that uses it has finished.
    drop(sevens);

    // A buffer that does not fit is an error, not a panic or an abort.
    match DeviceBuffer::<u8>::uninit(&device, 1 << 50) {
        Ok(_) => println!("this device has a pebibyte of memory"),
        Err(error) => println!("refused: {error}"),
    }
    Ok(())
}
