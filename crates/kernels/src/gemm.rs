//! Matrix multiplication.

use hip::{DeviceSlice, DeviceSliceMut, Stream};

use crate::error::{Error, Result, check_counted, check_u32};
use crate::library::{Kernels, names};
use crate::{Float, modules};

/// Rows and columns of C that one workgroup computes: `TILE` of `kernels/gemm.cu`.
const TILE: u32 = 64;
/// Work-items of a workgroup: `THREADS` of `kernels/gemm.cu`.
const THREADS: u32 = 256;

/// `C = alpha * A * B + beta * C` on row-major matrices: A is m×k, B is k×n, C is m×n.
///
/// ```
/// let product = kernels::Gemm::new(512, 512, 512);
/// let transformed = kernels::Gemm { alpha: 0.5, beta: 1.0, ..product };
/// assert_eq!(transformed.lda, 512);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gemm {
    /// Rows of A and C.
    pub m: usize,
    /// Columns of B and C.
    pub n: usize,
    /// Columns of A, rows of B.
    pub k: usize,
    /// Factor of the product.
    pub alpha: f32,
    /// Factor of the old C; where it is zero, the old C is not read.
    pub beta: f32,
    /// Elements from one row of A to the next, at least `k`.
    pub lda: usize,
    /// Elements from one row of B to the next, at least `n`.
    pub ldb: usize,
    /// Elements from one row of C to the next, at least `n`.
    pub ldc: usize,
}

impl Gemm {
    /// `C = A * B` on densely stored matrices.
    #[must_use]
    pub fn new(m: usize, n: usize, k: usize) -> Self {
        Self { m, n, k, alpha: 1.0, beta: 0.0, lda: k, ldb: n, ldc: n }
    }
}

/// Checks a matrix of `rows` rows of `columns` elements against its buffer, and returns its leading dimension.
fn check_matrix(
    buffer: &'static str,
    leading: (&'static str, usize),
    rows: usize,
    columns: usize,
    got: usize,
) -> Result<u32> {
    let operation = "gemm";
    let (parameter, leading) = leading;
    if leading < columns {
        let problem = "less than a row's elements";
        return Err(Error::Size { operation, parameter, got: leading, problem });
    }
    let expected = match rows.checked_sub(1) {
        Some(above) if columns > 0 => above.saturating_mul(leading).saturating_add(columns),
        _ => 0,
    };
    if got < expected {
        return Err(Error::Length { operation, buffer, expected, got });
    }
    check_u32(operation, parameter, leading)
}

impl Kernels {
    /// Matrix multiplication; products are summed in f32. Buffers may be longer than their matrices.
    ///
    /// # Errors
    /// [`Error::Length`] if a buffer is shorter than its matrix, [`Error::Size`] if a leading dimension is less than a
    /// row; [`Error::Hip`].
    #[doc(alias = "sgemm")]
    #[doc(alias = "matmul")]
    pub fn gemm<'a, T: Float<Compute = f32>>(
        &'a self,
        stream: &'a Stream,
        gemm: &Gemm,
        a: impl Into<DeviceSlice<'a, T>>,
        b: impl Into<DeviceSlice<'a, T>>,
        c: impl Into<DeviceSliceMut<'a, T>>,
    ) -> Result<()> {
        let (a, b, c) = (a.into(), b.into(), c.into());
        let &Gemm { m, n, k, alpha, beta, lda, ldb, ldc } = gemm;
        let lda = check_matrix("a", ("lda", lda), m, k, a.len())?;
        let ldb = check_matrix("b", ("ldb", ldb), k, n, b.len())?;
        let ldc = check_matrix("c", ("ldc", ldc), m, n, c.len())?;
        let size = |parameter, got| check_counted("gemm", parameter, got);
        let (m, n, k) = (size("m", m)?, size("n", n)?, size("k", k)?);
        if m == 0 || n == 0 {
            return Ok(());
        }
        let launch = self
            .of::<T>(&modules::GEMM, &names!("gemm"))?
            .launch(stream)
            .grid((n.div_ceil(TILE), m.div_ceil(TILE)))
            .block(THREADS)
            .arg(m)
            .arg(n)
            .arg(k)
            .arg(alpha)
            .arg(a)
            .arg(lda)
            .arg(b)
            .arg(ldb)
            .arg(beta)
            .arg(c)
            .arg(ldc);
        // SAFETY: the kernel reads A's m×k and B's k×n elements, and reads and writes C's m×n elements; each buffer reaches
        // to its matrix's last element.
        unsafe { launch.enqueue()? };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrices_are_checked_against_their_buffers() {
        assert_eq!(check_matrix("a", ("lda", 10), 3, 4, 24).unwrap(), 10);
        let short = check_matrix("a", ("lda", 10), 3, 4, 23).unwrap_err();
        assert_eq!(short.to_string(), "gemm: `a` has 23 elements, 24 are needed");
        let narrow = check_matrix("b", ("ldb", 3), 3, 4, 100).unwrap_err();
        assert_eq!(narrow.to_string(), "gemm: `ldb` is 3, less than a row's elements");
        assert!(check_matrix("c", ("ldc", usize::MAX), usize::MAX, 1, 5).is_err(), "no overflow");
        assert_eq!(check_matrix("a", ("lda", 0), 3, 0, 0).unwrap(), 0, "an empty matrix needs nothing");
    }
}
