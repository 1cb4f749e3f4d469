//! Copies between the host and a GPU: whole buffers, parts of them, and copies that run while the host goes
//! on.
//!
//! `cargo run --bin 02-copy`

use hip::{Device, DeviceBuffer, HostBuffer};

fn main() -> hip::Result<()> {
    let device = Device::open_default()?;
    let stream = device.stream()?;

    // Copies from and to slices block until they are done.
    let mut buffer = DeviceBuffer::<u32>::zeroed(&stream, 8)?;
    buffer.copy_from_host(&stream, &[0, 1, 2, 3, 4, 5, 6, 7])?;
    let mut host = [0; 8];
    buffer.copy_to_host(&stream, &mut host)?;
    assert_eq!(host, [0, 1, 2, 3, 4, 5, 6, 7]);

    // A view is a part of a buffer, as a slice is a part of a `Vec`.
    buffer.slice_mut(2..4)?.copy_from_host(&stream, &[20, 30])?;
    assert_eq!(buffer.slice(1..5)?.to_vec(&stream)?, [1, 20, 30, 4]);

    // A copy within the device's memory. The borrow checker ensures that the two views do not overlap.
    let (mut low, high) = buffer.split_at_mut(4)?;
    low.copy_from(&stream, &high)?;
    println!("{:?}", buffer.to_vec(&stream)?);
    assert_eq!(buffer.to_vec(&stream)?, [4, 5, 6, 7, 4, 5, 6, 7]);

    // An asynchronous copy takes a pinned buffer, and returns it when it is done.
    let mut pinned = HostBuffer::<u32>::zeroed(&device, 8)?;
    pinned.fill(9);
    let upload = buffer.upload(&stream, pinned)?;
    println!("the host goes on while the copy runs");
    let pinned = upload.wait()?;
    let pinned = buffer.download(&stream, pinned)?.wait()?;
    println!("{:?}", &pinned[..]);
    assert_eq!(pinned[..], [9; 8]);

    // A range outside of the buffer is an error that names both.
    if let Err(error) = buffer.slice(5..9) {
        println!("refused: {error}");
    }
    Ok(())
}
