//! Products with matrices of 4-bit numbers.

use half::{bf16, f16};
use hip::{DeviceSlice, DeviceSliceMut, Stream};

use crate::error::{Error, Result, check_counted};
use crate::gemm::{
    BlocksShape, MOST_BLOCKS, MOST_COLUMN_BLOCKS, MOST_VECTORS, ROWS_OF_VECTORS, THREADS, VectorsShape,
    check_matrices,
};
use crate::library::Kernels;
use crate::{Element, modules, nvidia};

const OPERATION: &str = "gemm_int4";
/// Rows and columns of C that a workgroup computes, and those of large products on NVIDIA's GPUs.
const SIDE: usize = 64;
const LARGE_SIDE: usize = 128;
/// The minimum number of neighbours that share a scale.
const LEAST_GROUP: usize = 32;

mod sealed {
    pub trait Int4 {
        const GEMM: &'static str;
        const LARGE_GEMM: &'static str;
        const GEMV: &'static str;
    }
}

/// A type that [`Kernels::gemm_int4`] multiplies matrices of 4-bit numbers with: f16 and bf16.
pub trait Int4Element: Element + sealed::Int4 {}

macro_rules! int4_element {
    ($type:ident, $gemm:literal, $large:literal, $gemv:literal) => {
        impl Int4Element for $type {}
        impl sealed::Int4 for $type {
            const GEMM: &'static str = $gemm;
            const LARGE_GEMM: &'static str = $large;
            const GEMV: &'static str = $gemv;
        }
    };
}
int4_element!(f16, "gemm_int4_f16", "gemm_int4_f16_128", "gemv_int4_f16");
int4_element!(bf16, "gemm_int4_bf16", "gemm_int4_bf16_128", "gemv_int4_bf16");

/// `C = alpha * A * Wᵀ + beta * C`: A is m×k, C is m×n, both stored by rows, and W is n×k numbers of 4 bits.
///
/// A row of W is k/2 bytes, with the first of two numbers in the low half. Each `group` neighbours of a row
/// share a scale and, if there are zero points, a zero point: an element is `scale * (number - zero)`.
/// Without zero points, `zero` is 8.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Int4Gemm {
    /// Rows of A and C.
    pub m: usize,
    /// Rows of W, columns of C.
    pub n: usize,
    /// Columns of A and W: a multiple of `group`.
    pub k: usize,
    /// The number of neighbours that share a scale: a power of two, at least 32.
    pub group: usize,
    /// Factor of the product.
    pub alpha: f32,
    /// Factor of the old C; if it is zero, the old C is not read.
    pub beta: f32,
    /// Elements from one row of A to the next, at least `k`.
    pub lda: usize,
    /// Elements from one row of C to the next, at least `n`.
    pub ldc: usize,
}

/// The matrix W of an [`Int4Gemm`].
#[derive(Debug)]
pub struct Int4Weights<'a, T> {
    numbers: DeviceSlice<'a, u8>,
    scales: DeviceSlice<'a, T>,
    zeros: Option<DeviceSlice<'a, T>>,
}

impl<'a, T: Int4Element> Int4Weights<'a, T> {
    /// `n * k / 2` bytes, and `n * k / group` scales, row by row.
    pub fn new(numbers: impl Into<DeviceSlice<'a, u8>>, scales: impl Into<DeviceSlice<'a, T>>) -> Self {
        Self { numbers: numbers.into(), scales: scales.into(), zeros: None }
    }

    /// As many zero points as scales.
    #[must_use]
    pub fn zeros(self, zeros: impl Into<DeviceSlice<'a, T>>) -> Self {
        Self { zeros: Some(zeros.into()), ..self }
    }
}

impl Int4Gemm {
    /// `C = A * Wᵀ` on densely stored matrices.
    #[must_use]
    pub fn new(m: usize, n: usize, k: usize, group: usize) -> Self {
        Self { m, n, k, group, alpha: 1.0, beta: 0.0, lda: k, ldc: n }
    }

    fn check(&self, a: usize, numbers: usize, scales: usize, zeros: Option<usize>, c: usize) -> Result<()> {
        let operation = OPERATION;
        let &Self { m, n, k, group, lda, ldc, .. } = self;
        if !group.is_power_of_two() || group < LEAST_GROUP {
            let problem = "must be a power of two of at least 32";
            return Err(Error::Size { operation, parameter: "group", got: group, problem });
        }
        if !k.is_multiple_of(group) {
            return Err(Error::Size {
                operation,
                parameter: "k",
                got: k,
                problem: "must be a multiple of `group`",
            });
        }
        check_matrices(operation, "a", ("lda", lda), (m, k), (1, 0), a)?;
        check_matrices(operation, "c", ("ldc", ldc), (m, n), (1, 0), c)?;
        let groups = n.saturating_mul(k / group);
        let pairs = n.saturating_mul(k / 2);
        let zeros = zeros.unwrap_or(groups);
        for (buffer, expected, got) in
            [("numbers", pairs, numbers), ("scales", groups, scales), ("zeros", groups, zeros)]
        {
            if got < expected {
                return Err(Error::Length { operation, buffer, expected, got });
            }
        }
        for (parameter, size) in [("m", m), ("n", n), ("k", k)] {
            check_counted(operation, parameter, size)?;
        }
        Ok(())
    }
}

impl Kernels {
    /// A product with a matrix of 4-bit numbers. With more than 4 rows of A, its elements are rounded to T;
    /// products are summed in f32.
    ///
    /// # Errors
    /// [`Error::Length`] if a buffer is too short, [`Error::Size`] for invalid sizes; [`Error::Hip`].
    pub fn gemm_int4<'a, T: Int4Element>(
        &'a self,
        stream: &'a Stream,
        gemm: &Int4Gemm,
        a: impl Into<DeviceSlice<'a, T>>,
        weights: Int4Weights<'a, T>,
        c: impl Into<DeviceSliceMut<'a, T>>,
    ) -> Result<()> {
        let (a, c) = (a.into(), c.into());
        let Int4Weights { numbers, scales, zeros } = weights;
        gemm.check(a.len(), numbers.len(), scales.len(), zeros.as_ref().map(DeviceSlice::len), c.len())?;
        let &Int4Gemm { m, n, k, group, alpha, beta, lda, ldc } = gemm;
        if m == 0 || n == 0 {
            return Ok(());
        }
        let group_shift = group.trailing_zeros();
        if m <= MOST_VECTORS {
            let shape = VectorsShape {
                rows: n as u32,
                depth: k as u32,
                vectors: m as u32,
                batches: 1,
                w_stride: 0,
                x_step: 1,
                x_stride: lda as u64,
                y_step: 1,
                y_stride: ldc as u64,
                batch_strides: [0; 3],
                by_columns: 0,
                settled: 0,
            };
            let grid = n.div_ceil(ROWS_OF_VECTORS).min(MOST_BLOCKS) as u32;
            let function = self.function(&modules::GEMV, T::GEMV)?;
            let launch =
                function.launch(stream).grid(grid).block(THREADS).arg(shape).arg(group_shift).arg(alpha);
            let launch = launch.arg(numbers).arg(scales).arg(zeros).arg(a).arg(beta).arg(c);
            // SAFETY: the kernel reads n×k numbers, their scales and zero points, and A's m×k elements, and
            // reads and writes C's m×n elements; `check` has compared all of them with their buffers.
            unsafe { launch.enqueue()? };
        } else {
            let shape = BlocksShape {
                sizes: [m as u32, n as u32, k as u32, 1],
                leading: [lda as u64, 0, ldc as u64],
                strides: [0; 3],
                transposed: [0, 1],
            };
            let large = nvidia::has_mma(self.device())
                && fills(m, n, self.device().properties().compute_units as usize);
            let (kernel, side) = if large { (T::LARGE_GEMM, LARGE_SIDE) } else { (T::GEMM, SIDE) };
            let grid =
                (n.div_ceil(side).min(MOST_COLUMN_BLOCKS) as u32, m.div_ceil(side).min(MOST_BLOCKS) as u32);
            let function = self.function(&modules::GEMM, kernel)?;
            let launch =
                function.launch(stream).grid(grid).block(THREADS).arg(shape).arg(group_shift).arg(alpha);
            let launch = launch.arg(a).arg(numbers).arg(scales).arg(zeros).arg(beta).arg(c);
            // SAFETY: as above.
            unsafe { launch.enqueue()? };
        }
        Ok(())
    }
}

/// Whether large blocks are enough for nine tenths of the multiprocessors.
fn fills(m: usize, n: usize, multiprocessors: usize) -> bool {
    m.div_ceil(LARGE_SIDE).saturating_mul(n.div_ceil(LARGE_SIDE)).saturating_mul(10)
        >= multiprocessors.saturating_mul(9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_large_where_there_are_enough() {
        assert!(fills(4096, 4096, 132) && fills(512, 4096, 132));
        assert!(!fills(64, 14336, 132) && !fills(256, 4096, 132));
        assert!(fills(usize::MAX, usize::MAX, 132));
    }
}
