//! Kernels that are compiled with the program and embedded in it: `build.rs` is two lines, the kernel is in
//! `07-build-workflow/vectors.cu`.
//!
//! `cargo run --bin 07-build-workflow`

use hip::{Device, DeviceBuffer, LazyModule};

#[allow(unreachable_pub, reason = "the module is written for libraries, too")]
mod kernels {
    include!(concat!(env!("OUT_DIR"), "/kernels.rs"));
}

// Loaded once for each device, when it is first used.
static VECTORS: LazyModule = LazyModule::new(&kernels::VECTORS);

fn main() -> hip::Result<()> {
    let device = Device::open_default()?;
    let stream = device.stream()?;
    let saxpy = VECTORS.function(&device, "saxpy")?;

    let n = 10_000;
    let x = DeviceBuffer::from_slice(&stream, &vec![1.0_f32; n])?;
    let mut y = DeviceBuffer::from_slice(&stream, &vec![0.5_f32; n])?;
    let launch = saxpy.launch(&stream).elements(n, 256).arg(n as u32).arg(2.0_f32).arg(&x).arg(&mut y);
    // SAFETY: `saxpy` reads x[0..n], and reads and writes y[0..n].
    unsafe { launch.enqueue()? };

    let y = y.to_vec(&stream)?;
    println!("{:?} …", &y[..4]);
    assert_eq!(y, vec![2.5; n]);
    Ok(())
}
