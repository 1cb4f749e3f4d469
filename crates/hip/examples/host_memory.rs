//! Host memory that the device uses: borrowed in a scope, mapped, and managed.

#[path = "common/kernels.rs"]
mod common;

use std::error::Error;

use hip::{Device, DeviceBuffer, HostOptions, ManagedBuffer, MappedBuffer};

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, hip::DeviceCopy)]
struct Particle {
    position: [f32; 3],
    mass: f32,
}

fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::open_default()?;
    let stream = device.stream()?;

    // Ordinary memory, borrowed until the scope ends. The copies run in the background.
    let particles = vec![Particle { position: [1.0, 2.0, 3.0], mass: 4.0 }; 1000];
    let mut back = vec![Particle { position: [0.0; 3], mass: 0.0 }; 1000];
    let mut buffer = DeviceBuffer::<Particle>::uninit(&device, particles.len())?;
    stream.scope(|scope| {
        scope.copy_from_host(&mut buffer, &particles)?;
        scope.copy_to_host(&buffer, &mut back)
    })?;
    assert_eq!(back, particles);
    println!("{} particles went there and back: {:?}", back.len(), back[0]);

    // Pinned host memory that a kernel reads in place, and managed memory that it writes. The host can access
    // both once no stream uses them.
    let n = 1000;
    let saxpy = common::module(&device)?.function("saxpy")?;
    let mut x = MappedBuffer::<f32>::zeroed(&device, n, HostOptions::default())?;
    x.host_mut()?.fill(2.0);
    let mut y = ManagedBuffer::from_slice(&device, &vec![1.0_f32; n])?;
    let launch = saxpy.launch(&stream).elements(n, 256).arg(n as u32).arg(3.0_f32);
    // SAFETY: `saxpy` reads x[0..n], and reads and writes y[0..n].
    unsafe { launch.arg(&x).arg(&mut y).enqueue()? };
    assert!(y.host()?.iter().all(|value| *value == 7.0));
    println!("{} elements of managed memory, all {}", y.len(), y.host()?[0]);
    Ok(())
}
