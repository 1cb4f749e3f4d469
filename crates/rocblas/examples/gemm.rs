//! A product of two matrices.

use hip::{Device, DeviceBuffer};
use rocblas::{Blas, Matrix, MatrixLayout, MatrixMut};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::open("auto")?;
    let stream = device.stream()?;
    let blas = Blas::new(&stream)?;

    let a = DeviceBuffer::from_slice(&stream, &[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    let b = DeviceBuffer::from_slice(&stream, &[1.0_f32, 0.0, 0.0, 1.0, 1.0, 1.0])?;
    let mut c = DeviceBuffer::zeroed(&stream, 4)?;

    let a = Matrix::new(&a, MatrixLayout::row_major(2, 3))?;
    let b = Matrix::new(&b, MatrixLayout::row_major(3, 2))?;
    let mut product = MatrixMut::new(&mut c, MatrixLayout::row_major(2, 2))?;
    blas.gemm(&a, &b, &mut product).alpha(2.0).run()?;

    assert_eq!(c.to_vec(&stream)?, [8.0, 10.0, 20.0, 22.0]);
    println!("{} on {}", blas.library(), device);
    Ok(())
}
