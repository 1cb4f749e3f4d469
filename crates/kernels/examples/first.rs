use hip::{Device, DeviceBuffer};
use kernels::Kernels;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // the device in FERROCM_DEVICE, else an AMD GPU, an NVIDIA GPU, a virtual one
    let device = Device::open_default()?;
    let stream = device.stream()?;
    let x = DeviceBuffer::from_slice(&stream, &[1.0_f32, 2.0, 3.0])?;
    let mut y = DeviceBuffer::from_slice(&stream, &[10.0_f32, 20.0, 30.0])?;
    Kernels::new(&device).axpy(&stream, 2.0, &x, &mut y)?; // y = 2 x + y
    println!("{device}: {:?}", y.to_vec(&stream)?);
    assert_eq!(y.to_vec(&stream)?, [12.0, 24.0, 36.0]);
    Ok(())
}
