//! Products of rows with the unquantised matrices of their experts (mixture of experts).

use hip::{DeviceSlice, DeviceSliceMut, Stream};

use crate::error::{Error, Result, check_counted};
use crate::gemm::{GemmElement, MOST_BLOCKS, MOST_COLUMN_BLOCKS, THREADS, check_matrices};
use crate::tilings::{SHARED, Tile};
use crate::{Kernels, modules, nvidia};

const OPERATION: &str = "gemm_experts";
/// Rows and columns of a block, `SIDE` of `kernels/gemm_experts.cu`.
const SIDE: usize = 64;

/// Pairs of a token and an expert, sorted by expert: the result of [`Kernels::moe_sort`].
#[derive(Clone, Copy, Debug)]
pub struct SortedPairs<'a> {
    offsets: DeviceSlice<'a, u32>,
    permutation: DeviceSlice<'a, u32>,
}

impl<'a> SortedPairs<'a> {
    /// Where each expert's pairs begin, where the last ones end, and which pairs those are.
    ///
    /// # Errors
    /// [`Error::Length`] if `offsets` is empty: it has one element more than there are experts.
    pub fn new(
        offsets: impl Into<DeviceSlice<'a, u32>>,
        permutation: impl Into<DeviceSlice<'a, u32>>,
    ) -> Result<Self> {
        let (offsets, permutation) = (offsets.into(), permutation.into());
        if offsets.is_empty() {
            return Err(Error::Length { operation: OPERATION, buffer: "offsets", expected: 1, got: 0 });
        }
        Ok(Self { offsets, permutation })
    }

    /// Pairs, including those without an expert.
    #[must_use]
    pub fn pairs(&self) -> usize {
        self.permutation.len()
    }

    /// Experts.
    #[must_use]
    pub fn experts(&self) -> usize {
        self.offsets.len() - 1
    }
}

/// `C = alpha * A * Wᵀ`, where each row of C belongs to a pair of a token and an expert, and W is the matrix
/// of that expert. All matrices are dense and stored by rows: A has `k` columns, C has `n`, and each W is
/// n×k.
///
/// ```
/// // 8 tokens, each for 2 experts: first from the tokens to rows in the order of the experts, then from these back to the pairs' order
/// let up = kernels::ExpertGemm::new(8, 4096, 1024).gathered();
/// let down = kernels::ExpertGemm::new(16, 1024, 4096).scattered();
/// assert_eq!((up.rows, down.rows), (8, 16));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExpertGemm {
    /// Rows of A.
    pub rows: usize,
    /// Rows of each expert's matrix, columns of C.
    pub n: usize,
    /// Columns of A and of each expert's matrix.
    pub k: usize,
    /// Factor of the product. For products of i8 a whole number.
    pub alpha: f32,
    /// The rows of A are in the order of the pairs; neighbouring pairs may share one: pair p has row `p /
    /// (pairs / rows)`. Otherwise A has a row for each pair, in the order of the experts.
    pub gathered: bool,
    /// Rows of C are written in the order of the pairs, otherwise in the order of the experts.
    pub scattered: bool,
}

impl ExpertGemm {
    /// Both A and C have their rows in the order of the experts.
    #[must_use]
    pub fn new(rows: usize, n: usize, k: usize) -> Self {
        Self { rows, n, k, alpha: 1.0, gathered: false, scattered: false }
    }

    /// A has its rows in the order of the pairs: [`ExpertGemm::gathered`].
    #[must_use]
    pub fn gathered(self) -> Self {
        Self { gathered: true, ..self }
    }

    /// C gets its rows in the order of the pairs: [`ExpertGemm::scattered`].
    #[must_use]
    pub fn scattered(self) -> Self {
        Self { scattered: true, ..self }
    }

    /// Checks the shape against the pairs and the buffers' lengths, and returns how many pairs share a row of
    /// A.
    fn check(&self, (pairs, experts): (usize, usize), a: usize, b: usize, c: usize) -> Result<usize> {
        let &Self { rows, n, k, .. } = self;
        let wrong = |parameter, got, problem| Error::Size { operation: OPERATION, parameter, got, problem };
        for (parameter, size) in [("rows", rows), ("n", n), ("k", k), ("pairs", pairs)] {
            check_counted(OPERATION, parameter, size)?;
        }
        check_counted(OPERATION, "experts", experts.saturating_add(pairs / SIDE))?;
        if n.div_ceil(SIDE) > MOST_COLUMN_BLOCKS {
            return Err(wrong("n", n, "more than 536870912"));
        }
        let pairs_per_row = match rows {
            0 => 0,
            _ if self.gathered => pairs / rows,
            _ => 1,
        };
        if pairs_per_row * rows != pairs {
            let problem =
                if self.gathered { "must divide the number of pairs" } else { "must be the number of pairs" };
            return Err(wrong("rows", rows, problem));
        }
        check_matrices(OPERATION, "a", ("k", k), (rows, k), (1, 0), a)?;
        check_matrices(OPERATION, "b", ("k", k), (n, k), (experts, n.saturating_mul(k)), b)?;
        check_matrices(OPERATION, "c", ("n", n), (pairs, n), (1, 0), c)?;
        Ok(pairs_per_row)
    }
}

/// `Shape` of `kernels/gemm_experts.cu`.
#[repr(C)]
#[derive(Clone, Copy, hip::DeviceCopy)]
struct ExpertsShape {
    experts: u32,
    n: u32,
    k: u32,
    pairs: u32,
    rows: u32,
    pairs_per_row: u32,
    gathered: u32,
    scattered: u32,
}

impl Kernels {
    /// Products of rows of `a` with the matrices of their experts, which follow each other in `b`. Products
    /// of floats are summed in f32, those of i8 in i32, which wraps around. Rows of `c` for pairs without an
    /// expert are not written. Buffers may be longer than their matrices. Nothing is read back: the device
    /// finds the rows of each expert.
    ///
    /// Offsets and pairs must come from a [`Kernels::moe_sort`] of as many ids. Where others lead out of a
    /// buffer, the kernel ends with a trap, which the stream reports as a fault.
    ///
    /// # Errors
    /// [`Error::Length`] if a buffer is shorter than its matrices; [`Error::Size`] if the number of rows of A
    /// is not the number of pairs (if A is gathered: not a divisor of it), if sizes are beyond 2³² − 1025, or
    /// `n` beyond 2²⁹; [`Error::Value`] for a fractional factor of integers; [`Error::Hip`].
    #[doc(alias = "moe")]
    #[doc(alias = "grouped_gemm")]
    pub fn gemm_experts<'a, T: GemmElement>(
        &'a self,
        stream: &'a Stream,
        gemm: &ExpertGemm,
        pairs: SortedPairs<'a>,
        a: impl Into<DeviceSlice<'a, T>>,
        b: impl Into<DeviceSlice<'a, T>>,
        c: impl Into<DeviceSliceMut<'a, T::Product>>,
    ) -> Result<()> {
        let (a, b, c) = (a.into(), b.into(), c.into());
        let (count, experts) = (pairs.pairs(), pairs.experts());
        let pairs_per_row = gemm.check((count, experts), a.len(), b.len(), c.len())?;
        let alpha = T::scalar(OPERATION, "alpha", gemm.alpha)?;
        if count == 0 || experts == 0 || gemm.n == 0 {
            return Ok(());
        }
        let shape = ExpertsShape {
            experts: experts as u32,
            n: gemm.n as u32,
            k: gemm.k as u32,
            pairs: count as u32,
            rows: gemm.rows as u32,
            pairs_per_row: pairs_per_row as u32,
            gathered: gemm.gathered.into(),
            scattered: gemm.scattered.into(),
        };
        let device = self.device();
        let (kernel, grid, shared) = match T::EXPERT_TILES {
            Some(kernel) if nvidia::has_wgmma(device) => {
                let multiprocessors = device.properties().compute_units as usize;
                let tiles = Tile::EXPERTS.of_experts(count, experts, gemm.n);
                (kernel, (Tile::EXPERTS.grid(tiles, multiprocessors), 1), SHARED)
            }
            _ => {
                // Each expert's last block may have fewer rows.
                let blocks = (count / SIDE + experts).min(MOST_BLOCKS) as u32;
                (T::GEMM_EXPERTS, (gemm.n.div_ceil(SIDE) as u32, blocks), 0)
            }
        };
        let function = self.function(&modules::GEMM_EXPERTS, kernel)?;
        let launch = function.launch(stream).grid(grid).block(THREADS).dynamic_lds(shared);
        let launch =
            launch.arg(shape).arg(alpha).arg(a).arg(b).arg(pairs.offsets).arg(pairs.permutation).arg(c);
        // SAFETY: the kernel reads A's rows×k elements, the experts' n×k, one offset more than there are
        // experts and as many numbers as pairs, and writes C's pairs×n elements; `check` has compared the
        // buffers with them, and the kernel checks the offsets and pairs that it reads against the sizes.
        unsafe { launch.enqueue()? };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_those_of_the_pairs() {
        let gemm = ExpertGemm::new(6, 2, 4);
        assert_eq!(gemm.check((6, 3), 24, 24, 12).unwrap(), 1);
        assert_eq!(ExpertGemm { rows: 2, ..gemm }.gathered().check((6, 3), 8, 24, 12).unwrap(), 3);
        for (gemm, pairs) in [(gemm, 12), (gemm, 5), (gemm.gathered(), 5), (gemm.gathered(), 13)] {
            let error = gemm.check((pairs, 3), 24, 24, 100).unwrap_err();
            assert!(matches!(error, Error::Size { parameter: "rows", .. }), "{error}");
        }
        assert!(ExpertGemm { rows: 0, ..gemm }.gathered().check((6, 3), 24, 24, 12).is_err());
        ExpertGemm { rows: 0, ..gemm }.gathered().check((0, 3), 0, 24, 0).unwrap();
    }

    #[test]
    fn buffers_have_all_matrices() {
        let gemm = ExpertGemm::new(6, 2, 4);
        for (a, b, c, buffer) in [(23, 24, 12, "a"), (24, 23, 12, "b"), (24, 24, 11, "c")] {
            let error = gemm.check((6, 3), a, b, c).unwrap_err();
            assert!(matches!(error, Error::Length { buffer: found, .. } if found == buffer), "{error}");
        }
        let wide = ExpertGemm { n: (1 << 29) + 1, ..gemm };
        let error = wide.check((6, 3), usize::MAX, usize::MAX, usize::MAX).unwrap_err();
        assert!(matches!(error, Error::Size { parameter: "n", .. }), "{error}");
        let error = gemm.check((6, u32::MAX as usize), 24, usize::MAX, 12).unwrap_err();
        assert!(matches!(error, Error::Size { parameter: "experts", .. }), "{error}");
    }
}
