//! A kernel in CUDA: compiled, launched, and checked before it reaches the device.
//!
//! `cargo run --bin 03-launch-kernel`

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
    // Compiled now, for this device. Example 07 compiles when the program is built.
    let saxpy = device.compile(SOURCE)?.function("saxpy")?;

    let n = 1000;
    let x = DeviceBuffer::from_slice(&stream, &vec![1.0_f32; n])?;
    let mut y = DeviceBuffer::from_slice(&stream, &vec![3.0_f32; n])?;
    // Blocks of 256 work-items, as many as cover all elements.
    let launch = saxpy.launch(&stream).elements(n, 256).arg(n as u32).arg(2.0_f32).arg(&x).arg(&mut y);
    // SAFETY: `saxpy` reads x[0..n], and reads and writes y[0..n].
    unsafe { launch.enqueue()? };
    println!("{:?} …", &y.to_vec(&stream)?[..4]);
    assert_eq!(y.to_vec(&stream)?, vec![5.0; n]);

    // The launch is checked against the code object: the number, sizes and types of the arguments.
    let launch = saxpy.launch(&stream).elements(n, 256).arg(n as u32).arg(2.0_f64).arg(&x).arg(&mut y);
    // SAFETY: as above, and this launch is refused.
    if let Err(error) = unsafe { launch.enqueue() } {
        println!("refused: {error}");
    }
    Ok(())
}
