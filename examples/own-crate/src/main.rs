use hip::{Device, DeviceBuffer, LazyModule};

mod kernels {
    include!(concat!(env!("OUT_DIR"), "/kernels.rs"));
}

// of kernels/vectors.cu
static VECTORS: LazyModule = LazyModule::new(&kernels::VECTORS);

fn main() -> hip::Result<()> {
    // the device in FERROCM_DEVICE, else an AMD GPU, else a virtual one
    let device = Device::open_default()?;
    let stream = device.stream()?;

    let n = 10_000;
    let x = DeviceBuffer::from_slice(&stream, &vec![1.0_f32; n])?;
    let mut y = DeviceBuffer::from_slice(&stream, &vec![0.5_f32; n])?;
    let saxpy = VECTORS.function(&device, "saxpy")?;
    let launch = saxpy.launch(&stream).elements(n, 256).arg(n as u32).arg(2.0_f32).arg(&x).arg(&mut y);
    // SAFETY: `saxpy` reads x[0..n], and reads and writes y[0..n]; both have n elements.
    unsafe { launch.enqueue()? };

    let mut total = DeviceBuffer::<f32>::zeroed(&stream, 1)?;
    let sum = VECTORS.function(&device, "sum")?;
    let launch = sum.launch(&stream).elements(n, 256).arg(n as u32).arg(&y).arg(&mut total);
    // SAFETY: `sum` reads y[0..n] and adds to one element.
    unsafe { launch.enqueue()? };

    let total = total.to_vec(&stream)?[0];
    assert_eq!(total, 25_000.0);
    println!("{device}: {total}");
    Ok(())
}
