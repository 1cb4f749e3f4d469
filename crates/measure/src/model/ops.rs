//! The operations of transformers: products by rocBLAS, everything else by this project's kernels.

use hip::{DeviceBuffer, DeviceSlice, DeviceSliceMut, Stream};
use kernels::Kernels;
use rocblas::{Blas, GemmInput, Matrix, MatrixLayout, MatrixMut};

use crate::context::Context;
use crate::error::Result;
use crate::model::Shape;

/// A type of transformers: f32, f16, bf16.
pub(crate) trait Number: kernels::Float<Compute = f32> + GemmInput<Self, Scale = f32> {}
impl<T: kernels::Float<Compute = f32> + GemmInput<Self, Scale = f32>> Number for T {}

/// The libraries that compute.
#[derive(Clone, Copy)]
pub(crate) struct Tools<'c> {
    pub(crate) kernels: &'c Kernels,
    pub(crate) blas: &'c Blas,
    pub(crate) stream: &'c Stream,
}

impl Context<'_> {
    pub(crate) fn tools(&self) -> Tools<'_> {
        Tools { kernels: &self.kernels, blas: &self.blas, stream: &self.stream }
    }
}

/// A row-major matrix to be multiplied, or a batch of them.
#[derive(Clone, Copy)]
pub(crate) struct Operand<'a, T> {
    data: DeviceSlice<'a, T>,
    layout: MatrixLayout,
}

impl<'a, T: Number> Operand<'a, T> {
    pub(crate) fn new(data: impl Into<DeviceSlice<'a, T>>, rows: usize, columns: usize) -> Self {
        Self { data: data.into(), layout: MatrixLayout::row_major(rows, columns) }
    }

    /// `count` matrices, one after the other.
    pub(crate) fn batch(
        data: impl Into<DeviceSlice<'a, T>>,
        count: usize,
        rows: usize,
        columns: usize,
    ) -> Self {
        Self {
            data: data.into(),
            layout: MatrixLayout::row_major(rows, columns).with_batch(count, rows * columns),
        }
    }

    /// The transposed matrix.
    pub(crate) fn t(self) -> Self {
        Self { layout: self.layout.t(), ..self }
    }
}

/// What the product is added to.
pub(crate) enum Add<'a, T> {
    Nothing,
    /// The output's old content.
    Old,
    Other(DeviceSlice<'a, T>),
}

impl Tools<'_> {
    /// `out = a b + …`, row-major, for each matrix of a batch.
    pub(crate) fn multiply<T: Number>(
        &self,
        a: Operand<'_, T>,
        b: Operand<'_, T>,
        out: &mut DeviceBuffer<T>,
        add: Add<'_, T>,
    ) -> Result<()> {
        self.multiply_into(a, b, out.as_mut_slice(), add)
    }

    /// The same into a part of a buffer.
    pub(crate) fn multiply_into<T: Number>(
        &self,
        a: Operand<'_, T>,
        b: Operand<'_, T>,
        out: DeviceSliceMut<'_, T>,
        add: Add<'_, T>,
    ) -> Result<()> {
        use rocblas::Layout as _;
        let (rows, columns) = (a.layout.rows(), b.layout.cols());
        let count = a.layout.batch().count().max(b.layout.batch().count());
        let layout = MatrixLayout::row_major(rows, columns);
        let layout = if count > 1 { layout.with_batch(count, rows * columns) } else { layout };
        let (a, b) = (Matrix::new(a.data, a.layout)?, Matrix::new(b.data, b.layout)?);
        let mut out = MatrixMut::new(out, layout)?;
        match add {
            Add::Nothing => self.blas.gemm(&a, &b, &mut out).run()?,
            Add::Old => self.blas.gemm(&a, &b, &mut out).beta(1.0).run()?,
            Add::Other(other) => {
                let other = Matrix::new(other, layout)?;
                self.blas.gemm(&a, &b, &mut out).add(&other).beta(1.0).run()?;
            }
        }
        Ok(())
    }

    /// The cosines and sines of this many positions.
    pub(crate) fn rope_table(
        &self,
        shape: &Shape,
        positions: usize,
    ) -> Result<(DeviceBuffer<f32>, DeviceBuffer<f32>)> {
        let frequencies = self.kernels.rope_frequencies(self.stream, &shape.rope())?;
        let len = positions * shape.head_dim / 2;
        let numbers: Vec<u32> = (0..positions as u32).collect();
        let (mut cos, mut sin) = (self.zeroed(len)?, self.zeroed(len)?);
        self.kernels.rope_table(self.stream, &frequencies, &self.upload(&numbers)?, &mut cos, &mut sin)?;
        Ok((cos, sin))
    }

    pub(crate) fn upload<T: hip::DeviceCopy>(&self, values: &[T]) -> Result<DeviceBuffer<T>> {
        Ok(DeviceBuffer::from_slice(self.stream, values)?)
    }

    pub(crate) fn zeroed<T: hip::DeviceCopy>(&self, len: usize) -> Result<DeviceBuffer<T>> {
        Ok(DeviceBuffer::zeroed(self.stream, len)?)
    }
}
