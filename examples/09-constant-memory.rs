//! Variables of a module: `__constant__` memory that the host writes and kernels read.
//!
//! `cargo run --bin 09-constant-memory`

use hip::{Device, DeviceBuffer};

const SOURCE: &str = r#"
__constant__ float factors[2];

extern "C" __global__ void line(unsigned n, const float* x, float* y) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = factors[0] * x[i] + factors[1];
}
"#;

fn main() -> hip::Result<()> {
    let device = Device::open_default()?;
    let stream = device.stream()?;
    let module = device.compile(SOURCE)?;
    let line = module.function("line")?;

    let x = DeviceBuffer::from_slice(&stream, &[0.0_f32, 1.0, 2.0, 3.0])?;
    let mut y = DeviceBuffer::<f32>::zeroed(&stream, x.len())?;
    for factors in [[2.0_f32, 1.0], [10.0, 0.0]] {
        // It is borrowed exclusively until it is dropped, and ordered like a buffer: the launch waits for the
        // copy.
        module.global_mut::<f32>("factors")?.copy_from_host(&stream, &factors)?;
        let launch = line.launch(&stream).elements(x.len(), 64).arg(x.len() as u32).arg(&x).arg(&mut y);
        // SAFETY: `line` reads x[0..n] and writes y[0..n].
        unsafe { launch.enqueue()? };
        println!("{factors:?}: {:?}", y.to_vec(&stream)?);
    }
    assert_eq!(y.to_vec(&stream)?, [0.0, 10.0, 20.0, 30.0]);

    // An unknown name is an error, and so is a type of the wrong size.
    if let Err(error) = module.global::<f32>("offsets") {
        println!("refused: {error}");
    }
    Ok(())
}
