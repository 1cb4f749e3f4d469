use hip::{Device, DeviceBuffer};

const SOURCE: &str = r#"
extern "C" __global__ void saxpy(unsigned n, float a, const float* x, float* y) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
"#;

fn main() -> hip::Result<()> {
    let device = Device::open_default()?;
    let stream = device.stream()?;
    let saxpy = device.compile(SOURCE)?.function("saxpy")?;

    let n = 1000;
    let x = DeviceBuffer::from_slice(&stream, &vec![1.0_f32; n])?;
    let mut y = DeviceBuffer::from_slice(&stream, &vec![3.0_f32; n])?;
    let launch = saxpy.launch(&stream).elements(n, 256).arg(n as u32).arg(2.0_f32).arg(&x).arg(&mut y);
    // SAFETY: `saxpy` reads x[0..n], and reads and writes y[0..n].
    unsafe { launch.enqueue()? };

    let y = y.to_vec(&stream)?;
    println!("{device}: {:?} …", &y[..4]);
    assert_eq!(y, vec![5.0; n]);
    Ok(())
}
