use hip::{Device, DeviceBuffer};
use kernels::{Kernels, UnaryOp};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // the device in FERROCM_DEVICE, else an AMD GPU, else a virtual one
    let device = Device::open_default()?;
    let stream = device.stream()?;
    let kernels = Kernels::new(&device);

    let x = DeviceBuffer::from_slice(&stream, &[1.0_f32, 2.0, 3.0])?;
    let mut y = DeviceBuffer::from_slice(&stream, &[10.0_f32, 20.0, 30.0])?;
    kernels.axpy(&stream, 2.0, &x, &mut y)?; // y = 2 x + y
    assert_eq!(y.to_vec(&stream)?, [12.0, 24.0, 36.0]);

    let mut root = DeviceBuffer::zeroed(&stream, 3)?;
    kernels.unary(&stream, UnaryOp::Sqrt, &y, &mut root)?;
    let root = root.to_vec(&stream)?;
    println!("{device}: {root:?}");
    assert!(root.iter().zip([12.0_f32, 24.0, 36.0]).all(|(root, y)| (root * root - y).abs() < 1e-5));
    Ok(())
}
