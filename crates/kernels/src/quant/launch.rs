//! Kernels on quantised matrices.

use hip::{DeviceSlice, DeviceSliceMut, Stream};

use super::{Q8_1, QuantMatrix, QuantVectors};
use crate::elementwise::info::accesses;
use crate::error::{Error, Result, check_counted, check_length};
use crate::library::{Names, names};
use crate::{Float, Kernels, modules, nvidia};

/// Kernels that multiply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Product {
    /// The vector in LDS, rows by warps: reads the matrix and little else.
    One,
    /// Each workgroup computes two rows and reads them once.
    Few,
    /// Up to eight vectors at a time in shared memory, through which tiles of 16 rows pass.
    Streamed,
    /// Tiles of 64 rows by 64 vectors in LDS.
    Many,
}

/// The kernel that multiplies up to this many vectors, for any type.
const PRODUCTS: [(usize, Product); 3] = [(1, Product::One), (8, Product::Few), (usize::MAX, Product::Many)];

/// Side of the tiles of `quant_gemm`.
pub(super) const TILE: u32 = 64;
/// Of `quant_gemv`: warps of a workgroup, and rows that a thread computes.
pub(super) const WARPS: u32 = 8;
const ROWS: u32 = 2;
/// Vectors that one launch quantises: the maximum size of a grid's second dimension.
const VECTORS: usize = 65_535;

/// The same where the matrix can be streamed, on NVIDIA's GPUs. On an H200, 64 vectors, eight at a time, took
/// 0.4 to 0.8 of the time of tiles, and 128 vectors 0.8 to 1.3.
const STREAMED: [(usize, Product); 3] =
    [(1, Product::One), (64, Product::Streamed), (usize::MAX, Product::Many)];

fn product(vectors: usize, can_stream: bool) -> Product {
    let table = if can_stream { &STREAMED } else { &PRODUCTS };
    let (_, product) = table.iter().find(|(most, _)| vectors <= *most).expect("the last row has no limit");
    *product
}

/// Threads of a warp that share a row of `quant_gemv`: as many as the row has parts; a part is half a block
/// of 256 values, or a block of 32.
pub(super) fn lanes(columns: u32, block_values: usize) -> u32 {
    let part = if block_values == 32 { 32 } else { 128 };
    (columns / part).next_power_of_two().min(32)
}

/// Workgroups of `quant_gemv` for this many rows.
pub(super) fn workgroups(rows: u32, lanes: u32) -> u32 {
    rows.div_ceil(WARPS * ROWS * (32 / lanes))
}

/// Workgroups of 256 threads for the quads of a row.
fn groups(columns: u32) -> u32 {
    columns.div_ceil(4 * 256).clamp(1, 65_535)
}

/// Workgroups that share all numbers of a matrix. With one for each part of it, and no loop, an H200 was
/// quickest.
fn groups_of_all(values: usize) -> u32 {
    /// What a workgroup takes at a time.
    const VALUES: usize = 8 * 256 * 2;
    const MOST: u32 = i32::MAX as u32;
    u32::try_from(values.div_ceil(VALUES)).map_or(MOST, |groups| groups.clamp(1, MOST))
}

impl Kernels {
    /// The numbers that a matrix represents, row by row.
    ///
    /// # Errors
    /// [`Error::Length`] unless `out` has the matrix's size; [`Error::Hip`].
    pub fn dequantize<'a, T: Float<Compute = f32>>(
        &'a self,
        stream: &'a Stream,
        matrix: QuantMatrix<'a>,
        out: impl Into<DeviceSliceMut<'a, T>>,
    ) -> Result<()> {
        self.rows_of("dequantize", stream, matrix, None, matrix.rows(), out.into())
    }

    /// Rows of a matrix by their numbers, such as the embeddings of tokens. A row that does not exist is NaN.
    ///
    /// # Errors
    /// [`Error::Length`] unless `out` has a row for each number; [`Error::Size`] for too many of them;
    /// [`Error::Hip`].
    #[doc(alias = "embedding")]
    pub fn quant_rows<'a, T: Float<Compute = f32>>(
        &'a self,
        stream: &'a Stream,
        matrix: QuantMatrix<'a>,
        rows: impl Into<DeviceSlice<'a, u32>>,
        out: impl Into<DeviceSliceMut<'a, T>>,
    ) -> Result<()> {
        let rows = rows.into();
        self.rows_of("quant_rows", stream, matrix, Some(rows), rows.len(), out.into())
    }

    fn rows_of<'a, T: Float<Compute = f32>>(
        &'a self,
        operation: &'static str,
        stream: &'a Stream,
        matrix: QuantMatrix<'a>,
        numbers: Option<DeviceSlice<'a, u32>>,
        count: usize,
        out: DeviceSliceMut<'a, T>,
    ) -> Result<()> {
        let (rows, columns) = matrix.sizes();
        check_length(operation, "out", out.len(), count.saturating_mul(matrix.columns()))?;
        let count = check_counted(operation, "rows", count)?;
        if out.is_empty() {
            return Ok(());
        }
        let grid = match numbers {
            Some(_) => (count, groups(columns)),
            None => (groups_of_all(out.len()), 1),
        };
        let launch = self
            .function(&modules::QUANT, "quant_rows")?
            .launch(stream)
            .grid(grid)
            .block(256)
            .arg(matrix.quant().gguf())
            .arg(matrix.blocks())
            .arg(numbers)
            .arg(out)
            .arg(T::INDEX as u32)
            .arg(rows)
            .arg(columns);
        // SAFETY: the matrix has that many rows and columns, and the kernel reads only rows that exist; `out`
        // has a row for each workgroup, or all rows.
        unsafe { launch.enqueue()? };
        Ok(())
    }

    /// Quantises vectors of activations, one after the other in `x`. A NaN or infinity makes the scale of its
    /// 32 numbers NaN or infinite.
    ///
    /// # Errors
    /// [`Error::Length`] unless `x` has the vectors' elements; [`Error::Hip`].
    pub fn quantize<'a, T: Float<Compute = f32>>(
        &'a self,
        stream: &'a Stream,
        x: impl Into<DeviceSlice<'a, T>>,
        out: &'a mut QuantVectors,
    ) -> Result<()> {
        const NAMES: Names = names!("mmvq_gguf_quantize_q8_1");
        let x = x.into();
        let (vectors, columns) = (out.vectors(), out.sizes().1);
        check_length("quantize", "x", x.len(), vectors.saturating_mul(columns as usize))?;
        if x.is_empty() {
            return Ok(());
        }
        let function = self.of::<T>(&modules::MMVQ_GGUF, &NAMES)?;
        let (elements, bytes) = (columns as usize, columns as usize / Q8_1::VALUES * Q8_1::BYTES);
        let packs = accesses(elements, size_of::<T>()) as u32;
        for first in (0..vectors).step_by(VECTORS) {
            let end = vectors.min(first + VECTORS);
            let launch = function
                .launch(stream)
                .grid((packs.div_ceil(256), (end - first) as u32))
                .block(256)
                .arg(x.slice(first * elements..end * elements)?)
                .arg(out.blocks.as_mut_slice().into_slice_mut(first * bytes..end * bytes)?)
                .arg(columns)
                .arg(columns);
            // SAFETY: `x` and the blocks have as many vectors as the grid has rows.
            unsafe { launch.enqueue()? };
        }
        Ok(())
    }

    /// Products of a quantised matrix with vectors: `out` has the elements of the first product, then those
    /// of the next. Sums are in f32.
    ///
    /// # Errors
    /// [`Error::Size`] unless the vectors have as many elements as the matrix has columns, [`Error::Length`]
    /// unless `out` has the size of the products; [`Error::Hip`].
    #[doc(alias = "gemv")]
    #[doc(alias = "matmul")]
    pub fn quant_matmul<'a, T: Float<Compute = f32>>(
        &'a self,
        stream: &'a Stream,
        matrix: QuantMatrix<'a>,
        vectors: &'a QuantVectors,
        out: impl Into<DeviceSliceMut<'a, T>>,
    ) -> Result<()> {
        const OPERATION: &str = "quant_matmul";
        let out = out.into();
        let ((rows, columns), (count, of_vectors)) = (matrix.sizes(), vectors.sizes());
        if of_vectors != columns {
            let problem = "must be the columns of the matrix";
            let got = of_vectors as usize;
            return Err(Error::Size {
                operation: OPERATION,
                parameter: "columns of the vectors",
                got,
                problem,
            });
        }
        check_length(OPERATION, "out", out.len(), matrix.rows().saturating_mul(vectors.vectors()))?;
        if out.is_empty() {
            return Ok(());
        }
        let few = self.few_vectors(matrix);
        let kind = product(vectors.vectors(), few.is_some());
        let format = matrix.quant().format();
        let name = match (kind, few) {
            (Product::Streamed, Some(few)) => return self.stream(stream, matrix, vectors, out, few),
            (Product::One, _) => format.gemv,
            (Product::Few, _) => format.vec,
            (Product::Many | Product::Streamed, _) => format.gemm,
        };
        let launch = self.function(&modules::QUANT, name)?.launch(stream);
        let launch = launch.arg(matrix.blocks()).arg(&vectors.blocks);
        // No experts: no numbers, tiles or order, one matrix, and a result for each vector.
        let none = None::<DeviceSlice<'a, u32>>;
        let launch = match kind {
            Product::One => {
                let lanes = lanes(columns, matrix.quant().block_values());
                let workgroups = if nvidia::is_nvidia(self.device()) {
                    let quant = matrix.quant();
                    let block = (quant.block_values(), quant.block_bytes());
                    let can_stream = nvidia::has_bulk_copies(self.device());
                    let is_quick = quant.is_quick();
                    let product = nvidia::QuantProduct { rows, columns, block, can_stream, is_quick };
                    product.workgroups(self.device().properties().compute_units)
                } else {
                    workgroups(rows, lanes)
                };
                let launch = launch.grid(workgroups).block((32, WARPS)).arg(none);
                launch.arg(out).arg(T::INDEX as u32).arg(columns).arg(rows).arg(lanes).arg(1_u32).arg(1_u32)
            }
            Product::Few => {
                let warps = if count <= 4 { 4 } else { 2 };
                let launch = launch.grid(rows.div_ceil(2)).block((32, warps));
                launch.arg(out).arg(T::INDEX as u32).arg(columns).arg(rows).arg(count)
            }
            Product::Many | Product::Streamed => {
                let launch = launch.grid((rows.div_ceil(TILE), count.div_ceil(TILE))).block((32, 4));
                let launch = launch.arg(none).arg(none).arg(out).arg(T::INDEX as u32);
                launch.arg(columns).arg(rows).arg(count).arg(1_u32).arg(1_u32)
            }
        };
        // SAFETY: the matrix has that many rows and columns, the vectors as many columns, and `out` an
        // element for each pair of both.
        unsafe { launch.enqueue()? };
        Ok(())
    }

    /// Whether the GPU streams quantised matrices: it reads one once for up to eight vectors, and up to 64
    /// vectors are multiplied so. NVIDIA's GPUs do from sm_90 on.
    #[must_use]
    pub fn streams_quant_matrices(&self) -> bool {
        nvidia::has_bulk_copies(self.device())
    }

    /// How few vectors are multiplied with a matrix that can be streamed: one with columns, of which 16 bytes
    /// can be copied at a time.
    fn few_vectors(&self, matrix: QuantMatrix<'_>) -> Option<nvidia::FewVectors> {
        let (rows, columns) = matrix.sizes();
        let in_chunks = || matrix.blocks().cast::<u128>().is_ok();
        if !self.streams_quant_matrices() || columns == 0 || !in_chunks() {
            return None;
        }
        let shared_memory = nvidia::shared_memory(self.device());
        let few = nvidia::FewVectors { rows, columns, shared_memory };
        few.most().map(|_| few)
    }

    /// Products with a matrix that is streamed for some vectors after the other.
    fn stream<'a, T: Float<Compute = f32>>(
        &'a self,
        stream: &'a Stream,
        matrix: QuantMatrix<'a>,
        vectors: &'a QuantVectors,
        mut out: DeviceSliceMut<'a, T>,
        few: nvidia::FewVectors,
    ) -> Result<()> {
        let function = self.function(&modules::QUANT, matrix.quant().format().few)?;
        let ((rows, columns), count) = (matrix.sizes(), vectors.vectors());
        let block_bytes = columns as usize / Q8_1::VALUES * Q8_1::BYTES;
        let at_once = few.at_once(count);
        for first in (0..count).step_by(at_once) {
            let end = count.min(first + at_once);
            let launch = function
                .launch(stream)
                .grid(few.workgroups(self.device().properties().compute_units))
                .block((32, nvidia::FewVectors::WARPS))
                .dynamic_lds(few.shared(end - first))
                .arg(matrix.blocks())
                .arg(vectors.blocks.slice(first * block_bytes..end * block_bytes)?)
                .arg(out.slice_mut(first * rows as usize..end * rows as usize)?)
                .arg(T::INDEX as u32)
                .arg(columns)
                .arg(rows)
                .arg((end - first) as u32);
            // SAFETY: the matrix has that many rows and columns, it begins at a multiple of 16 bytes and has
            // such a number of them; the vectors have as many columns, and `out` an element for each pair of
            // both. The shared memory has room for the vectors and for some steps of rows.
            unsafe { launch.enqueue()? };
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_of_vectors_has_a_kernel() {
        let kinds = |can_stream| [1, 2, 8, 9, 64, 65, usize::MAX].map(|count| product(count, can_stream));
        let (one, few, streamed, many) = (Product::One, Product::Few, Product::Streamed, Product::Many);
        assert_eq!(kinds(false), [one, few, few, many, many, many, many]);
        assert_eq!(kinds(true), [one, streamed, streamed, streamed, streamed, many, many]);
    }

    #[test]
    fn workgroups_share_all_numbers_of_a_matrix() {
        assert_eq!([32, 4096, 4097, 1 << 24].map(groups_of_all), [1, 1, 2, 4096]);
        assert_eq!(groups_of_all(usize::MAX), i32::MAX as u32);
    }

    #[test]
    fn rows_of_few_parts_share_a_warp() {
        assert_eq!([32, 64, 96, 4096].map(|columns| lanes(columns, 32)), [1, 2, 4, 32]);
        assert_eq!([256, 768, 4096, 4096 * 3].map(|columns| lanes(columns, 256)), [2, 8, 32, 32]);
        assert_eq!(lanes(0, 32), 1, "no columns");
    }
}
