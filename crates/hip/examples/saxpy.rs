use hip::{Device, DeviceBuffer, Module};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // What was compiled from: __global__ void saxpy(unsigned n, float a, const float* x, float* y)
    let device = Device::open_default()?;
    let code = kernel_build::Builder::new(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/kernels"))
        .targets([&device.target().processor])
        .build()?;
    let module = Module::load(&device, &code.modules[0].objects[0].bytes)?;
    let saxpy = module.function("saxpy")?;

    let n = 1000;
    let stream = device.stream()?;
    let x = DeviceBuffer::from_slice(&stream, &vec![1.0_f32; n])?;
    let mut y = DeviceBuffer::from_slice(&stream, &vec![3.0_f32; n])?;
    let launch = saxpy.launch(&stream).elements(n, 256).arg(n as u32).arg(2.0_f32).arg(&x).arg(&mut y);
    // SAFETY: `saxpy` reads x[0..n], and reads and writes y[0..n].
    unsafe { launch.enqueue()? };

    println!("{device}: {:?} …", &y.to_vec(&stream)?[..4]);
    Ok(())
}
