//! Two processes that use the same device memory: this program starts itself as the second one.

use std::error::Error;
use std::process::Command;

use hip::{Device, DeviceBuffer, IpcMemory};

fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::open_default()?;
    match std::env::args().nth(1) {
        None => share(&device),
        Some(handle) => add_ten(&device, &handle),
    }
}

/// Shares a buffer with another process, and checks what that process wrote.
fn share(device: &Device) -> Result<(), Box<dyn Error>> {
    let stream = device.stream()?;
    let buffer = DeviceBuffer::from_slice(&stream, &[1_u32, 2, 3, 4])?;
    // A handle, also of a view, is plain bytes. They can go through a pipe, a socket or a file.
    let handle = buffer.slice(1..3)?.ipc_handle()?.to_bytes();
    let text: String = handle.iter().map(|byte| format!("{byte:02x}")).collect();
    let status = Command::new(std::env::current_exe()?).arg(text).status()?;
    assert!(status.success());
    assert_eq!(buffer.to_vec(&stream)?, [1, 12, 13, 4]);
    Ok(())
}

/// The work of the other process.
fn add_ten(device: &Device, handle: &str) -> Result<(), Box<dyn Error>> {
    let digits = (0..handle.len()).step_by(2).map(|at| handle.get(at..at + 2).unwrap_or_default());
    let bytes: Vec<u8> = digits.map(|pair| u8::from_str_radix(pair, 16)).collect::<Result<_, _>>()?;
    let handle = IpcMemory::from_bytes(&bytes)?;
    println!("{} elements of {} from another process", handle.len(), handle.element());

    let stream = device.stream()?;
    // SAFETY: the first process keeps the buffer, and does not use it until this one has ended.
    let mut shared = unsafe { handle.open::<u32>(device)? };
    let more: Vec<u32> = shared.to_vec(&stream)?.iter().map(|value| value + 10).collect();
    shared.copy_from_host(&stream, &more)?;
    Ok(())
}
