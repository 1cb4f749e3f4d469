//! A BLAS operation does not write to memory that it reads as another operand.
use hip::DeviceBuffer;
use rocblas::{Blas, Matrix, MatrixLayout, MatrixMut, Result, Vector, VectorMut};

fn in_place(blas: &Blas, a: &Matrix<'_, f32>, mut c: DeviceBuffer<f32>, layout: MatrixLayout) -> Result<()> {
    let b = Matrix::new(&c, layout)?;
    let mut c = MatrixMut::new(&mut c, layout)?;
    blas.gemm(a, &b, &mut c).run()
}

fn of_one_view(blas: &Blas, x: &mut VectorMut<'_, f32>) -> Result<()> {
    blas.axpy(&x.view(), x).run()
}

fn overlapping_blocks(blas: &Blas, matrix: &mut MatrixMut<'_, f64>) -> Result<()> {
    let mut left = matrix.block_mut(0..4, 0..3)?;
    let mut right = matrix.block_mut(0..4, 2..5)?;
    blas.swap(&mut left.row_mut(0)?, &mut right.row_mut(0)?)
}

fn factor_and_result(blas: &Blas, mut number: DeviceBuffer<f32>) -> Result<()> {
    let mut x = VectorMut::of(&mut number)?;
    blas.scal(&mut x).alpha_from(&number).run()
}

fn result_that_is_read(blas: &Blas, mut x: DeviceBuffer<f32>) -> Result<()> {
    let view = Vector::of(&x)?;
    blas.asum(&view).run_into(&mut x)
}

fn main() {}
