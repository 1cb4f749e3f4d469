//! A vector or matrix does not outlive its buffer, and an operation does not outlive its operands.
use hip::{DeviceBuffer, Stream};
use rocblas::{Blas, DeviceMatrix, Matrix, MatrixLayout, MatrixMut, Result, VectorMut};

fn outlive(stream: &Stream) -> Matrix<'static, f32> {
    let buffer = DeviceBuffer::<f32>::zeroed(stream, 4).unwrap();
    Matrix::new(&buffer, MatrixLayout::row_major(2, 2)).unwrap()
}

fn free_before_the_call(blas: &Blas, a: DeviceBuffer<f32>, c: &mut MatrixMut<'_, f32>) -> Result<()> {
    let view = Matrix::new(&a, MatrixLayout::row_major(2, 2))?;
    let product = blas.gemm(&view, &view, c);
    drop(a);
    product.run()
}

fn read_while_written(blas: &Blas, stream: &Stream, mut x: DeviceBuffer<f32>) -> Result<Vec<f32>> {
    let mut view = VectorMut::of(&mut x)?;
    let scaled = blas.scal(&mut view).alpha(2.0);
    let before = x.to_vec(stream)?;
    scaled.run()?;
    Ok(before)
}

fn part_of_an_array(array: DeviceMatrix<f32>) -> DeviceBuffer<f32> {
    let view = array.view();
    let (buffer, _) = array.into_parts();
    drop(view);
    buffer
}

fn outlive_blas(stream: &Stream, x: &mut VectorMut<'_, f32>) -> Result<()> {
    let scaled = Blas::new(stream)?.scal(x);
    scaled.run()
}

fn main() {}
