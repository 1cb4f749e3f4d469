//! Products of matrices and vectors.

use half::{bf16, f16};
use kernels::QuantType;
use rayon::prelude::*;

use super::{CpuBackend, Session, dequantise, integer, simd, unsupported};
use crate::error::Result;
use crate::{DType, Tensor, check};

/// Vectors up to which a row of the matrix is multiplied with each, while it is in the cache.
const FEW: usize = 8;
/// Columns that are converted to f32 at a time.
const PART: usize = 1024;
/// Rows of a matrix that a thread converts to f32 for a product with many vectors.
const PANEL: usize = 64;
/// Multiplications from which all threads are used.
const PARALLEL: usize = 64 * 1024;

/// The rows of a matrix.
#[derive(Clone, Copy)]
pub(super) enum Matrix<'a> {
    F32(&'a [f32]),
    F16(&'a [f16]),
    BF16(&'a [bf16]),
    Quant(QuantType, &'a [u8]),
}

impl<'a> Matrix<'a> {
    /// The elements of a dense matrix.
    pub(super) fn of(session: &'a Session<'_>, operation: &'static str, w: &'a Tensor) -> Result<Self> {
        check::dense(operation, "w", w)?;
        let range = w.offset()..w.offset() + w.elements();
        Ok(match w.dtype() {
            DType::F32 => Self::F32(&session.all(operation, w)?[range]),
            DType::F16 => Self::F16(&session.all(operation, w)?[range]),
            DType::BF16 => Self::BF16(&session.all(operation, w)?[range]),
            DType::Quant(quant) => Self::Quant(quant, session.bytes(operation, w)?),
            _ => return Err(unsupported(operation, &[w])),
        })
    }

    /// Elements from `first` on, a multiple of a block's values, as f32.
    fn read(&self, first: usize, out: &mut [f32]) {
        match *self {
            Self::F32(all) => out.copy_from_slice(&all[first..first + out.len()]),
            Self::F16(all) => simd::from_halves(&all[first..first + out.len()], out),
            Self::BF16(all) => simd::from_bf16(&all[first..first + out.len()], out),
            Self::Quant(quant, bytes) => {
                let block = |element: usize| element / quant.block_values() * quant.block_bytes();
                dequantise(quant, &bytes[block(first)..block(first + out.len())], out);
            }
        }
    }

    /// The product of a row of `k` elements with each of some vectors.
    fn row_times(&self, row: usize, k: usize, x: &[f32], out: &mut [f32]) {
        if let Self::F32(all) = *self {
            let row = &all[row * k..][..k];
            out.iter_mut().zip(x.chunks_exact(k)).for_each(|(out, x)| *out = simd::dot(row, x));
            return;
        }
        out.fill(0.0);
        let mut part = [0.0; PART];
        for first in (0..k).step_by(PART) {
            let part = &mut part[..PART.min(k - first)];
            self.read(row * k + first, part);
            for i in 0..out.len() {
                out[i] += simd::dot(part, &x[i * k + first..][..part.len()]);
            }
        }
    }
}

/// `c = alpha · a b` of row-major matrices of `(rows, columns)` m×k, k×n and m×n, with strides of rows and
/// columns.
fn sgemm(
    (m, k, n): (usize, usize, usize),
    alpha: f32,
    (a, a_row, a_column): (&[f32], usize, usize),
    (b, b_row, b_column): (&[f32], usize, usize),
    c: &mut [f32],
) {
    if m == 0 || n == 0 {
        return;
    }
    let last = |rows: usize, columns: usize, row: usize, column: usize| {
        if rows == 0 || columns == 0 { 0 } else { (rows - 1) * row + (columns - 1) * column + 1 }
    };
    assert!(
        last(m, k, a_row, a_column) <= a.len() && last(k, n, b_row, b_column) <= b.len() && m * n <= c.len()
    );
    // SAFETY: the last element that the product accesses of each matrix exists, by the assertion.
    unsafe {
        matrixmultiply::sgemm(
            m,
            k,
            n,
            alpha,
            a.as_ptr(),
            a_row as isize,
            a_column as isize,
            b.as_ptr(),
            b_row as isize,
            b_column as isize,
            0.0,
            c.as_mut_ptr(),
            n as isize,
            1,
        );
    }
}

impl CpuBackend {
    /// `x wᵀ`, row by row: x is m×k, w is n×k.
    pub(super) fn product(&self, x: &[f32], w: Matrix<'_>, (m, n, k): (usize, usize, usize)) -> Vec<f32> {
        let mut out = vec![0.0; m * n];
        if out.is_empty() || k == 0 {
            return out;
        }
        let serial = m.saturating_mul(n).saturating_mul(k) < PARALLEL || self.info.compute_units == 1;
        if m <= FEW {
            // Transposed, so that threads write neighbouring results.
            let mut by_rows = vec![0.0; n * m];
            // Quantised rows are multiplied as integers where the processor can.
            let pieces = match w {
                Matrix::Quant(quant, _) if integer::can_multiply(quant) && k.is_multiple_of(32) => {
                    Some((quant, integer::round(x)))
                }
                _ => None,
            };
            let each = (n / (self.info.compute_units * 8)).clamp(8, 256) * m;
            let rows = |first: usize, out: &mut [f32]| {
                for (i, out) in out.chunks_exact_mut(m).enumerate() {
                    match (&pieces, w) {
                        (Some((quant, pieces)), Matrix::Quant(_, bytes)) => {
                            let row = k / quant.block_values() * quant.block_bytes();
                            integer::row_times(*quant, &bytes[(first + i) * row..][..row], pieces, out);
                        }
                        _ => w.row_times(first + i, k, x, out),
                    }
                }
            };
            if serial {
                rows(0, &mut by_rows);
            } else {
                let chunks = by_rows.par_chunks_mut(each).enumerate();
                self.pool.install(|| chunks.for_each(|(i, out)| rows(i * each / m, out)));
            }
            if m == 1 {
                return by_rows;
            }
            for (row, results) in by_rows.chunks_exact(m).enumerate() {
                results.iter().enumerate().for_each(|(i, result)| out[i * n + row] = *result);
            }
            return out;
        }
        let panel = |first: usize| {
            let rows = PANEL.min(n - first);
            let mut product = vec![0.0; m * rows];
            let mut converted = Vec::new();
            let b = match w {
                Matrix::F32(all) => &all[first * k..][..rows * k],
                _ => {
                    converted.resize(rows * k, 0.0);
                    w.read(first * k, &mut converted);
                    &converted
                }
            };
            sgemm((m, k, rows), 1.0, (x, k, 1), (b, 1, k), &mut product);
            (first, rows, product)
        };
        let firsts: Vec<usize> = (0..n).step_by(PANEL).collect();
        let panels: Vec<_> = if serial {
            firsts.into_iter().map(panel).collect()
        } else {
            self.pool.install(|| firsts.into_par_iter().map(panel).collect())
        };
        for (first, rows, product) in panels {
            for (i, results) in product.chunks_exact(rows).enumerate() {
                out[i * n + first..][..rows].copy_from_slice(results);
            }
        }
        out
    }
}

/// Refuses types of a product that the GPU has no kernel for, either: what works here works there.
pub(super) fn check_types(operation: &'static str, x: &Tensor, w: &Tensor, out: &Tensor) -> Result<()> {
    let fits = x.dtype().is_float() && out.dtype() == x.dtype();
    if fits && (w.dtype() == x.dtype() || w.dtype().is_quantised()) {
        return Ok(());
    }
    Err(unsupported(operation, &[x, w, out]))
}

pub(super) fn matmul_many(backend: &CpuBackend, x: &Tensor, products: &[(&Tensor, &Tensor)]) -> Result<()> {
    let operation = "matmul";
    let mut session = backend.session();
    let mut results = Vec::with_capacity(products.len());
    {
        let vectors = session.floats(operation, x)?;
        for &(w, out) in products {
            let (m, k, n) = check::product(operation, x, w, out)?;
            check_types(operation, x, w, out)?;
            let w = Matrix::of(&session, operation, w)?;
            results.push(backend.product(&vectors, w, (m, n, k)));
        }
    }
    products.iter().zip(results).try_for_each(|(&(_, out), result)| session.write(operation, out, &result))
}

pub(super) fn matmul_batched(
    backend: &CpuBackend,
    x: &Tensor,
    y: &Tensor,
    transposed: bool,
    alpha: f32,
    out: &Tensor,
) -> Result<()> {
    let operation = "matmul_batched";
    let (batch, m, k, n) = check::batched(operation, x, y, transposed, out)?;
    if !x.dtype().is_float() || y.dtype() != x.dtype() || out.dtype() != x.dtype() {
        return Err(unsupported(operation, &[x, y, out]));
    }
    let mut session = backend.session();
    let mut results = vec![0.0; batch * m * n];
    {
        let (x, y) = (session.floats(operation, x)?, session.floats(operation, y)?);
        backend.for_rows(&mut results, m * n, |i, out| {
            let b = if transposed { (&y[i * k * n..], 1, k) } else { (&y[i * k * n..], n, 1) };
            sgemm((m, k, n), alpha, (&x[i * m * k..], k, 1), b, out);
        });
    }
    session.write(operation, out, &results)
}
