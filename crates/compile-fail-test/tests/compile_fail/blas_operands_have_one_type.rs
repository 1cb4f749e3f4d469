//! All operands have the same type, one for which the routine exists.
use rocblas::{Blas, Matrix, MatrixMut, Result, Vector, VectorMut};

fn different(blas: &Blas, a: &Matrix<'_, f32>, b: &Matrix<'_, f64>, c: &mut MatrixMut<'_, f32>) -> Result<()> {
    blas.gemm(a, b, c).run()
}

fn no_routine(blas: &Blas, x: &mut VectorMut<'_, i32>) -> Result<()> {
    blas.scal(x).run()
}

fn real_numbers(blas: &Blas, x: &Vector<'_, f32>, y: &Vector<'_, f32>) -> Result<f32> {
    blas.dotc(x, y).run()
}

fn read_only(blas: &Blas, x: &Vector<'_, f32>) -> Result<()> {
    blas.scal(x).run()
}

fn main() {}
