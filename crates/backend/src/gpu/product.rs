//! Products of matrices and vectors.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use hip::{Backend, DeviceBuffer, DeviceSlice, DeviceSliceMut};
use kernels::{Float, Gemm, GemmElement, Q8_1, QuantMatrix, QuantType, QuantVectors};
use rocblas::{Blas, GemmInput, Matrix, MatrixLayout, MatrixMut};

use super::graph::Captured;
use super::numbers::Room;
use super::work::{Work, for_float, unsupported};
use super::{GpuBackend, lock};
use crate::error::Result;
use crate::ops::Factor;
use crate::{DType, Tensor, check};

/// Who multiplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Multiplier {
    /// The kernels of `kernels`.
    Own,
    /// The library behind `rocblas`: AMD's rocBLAS or NVIDIA's cuBLAS.
    Library,
}

/// What the choice depends on, for matrices that are not quantised.
#[derive(Clone, Copy, Debug)]
struct Product {
    /// Rows of the activations.
    rows: usize,
    /// Part of a graph.
    captured: bool,
    /// The library is a vendor's.
    vendor: bool,
}

/// The rows of activations from which a vendor's library multiplies. Below, reading the matrix once is what
/// counts, which is what our kernels for few vectors do.
const LIBRARY_FROM: usize = 16;

/// What the choice depends on, for quantised matrices.
#[derive(Clone, Copy, Debug)]
struct QuantProduct {
    /// Rows of the activations.
    rows: usize,
    /// They have 16 bits each.
    narrow: bool,
    /// Values and bytes of a block of the matrix.
    block: (usize, usize),
    gpu: Gpu,
    /// A vendor's library can multiply: there is one, and the product is no part of a graph.
    vendor: bool,
    /// The matrix's numbers are there, or there is room to keep them.
    kept: bool,
}

/// What the choice depends on of a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gpu {
    /// One of NVIDIA's that reads blocks once for eight rows (`Kernels::streams_quant_matrices`).
    Streaming,
    /// Another of NVIDIA's.
    Nvidia,
    Other,
}

impl QuantProduct {
    /// The rows of activations from which a matrix's numbers are multiplied with: those that are kept, or
    /// those that are computed each time. Below, reading the blocks alone is quicker.
    fn numbers_from(self) -> usize {
        /// Bytes of a number.
        const NUMBER: usize = 2;
        /// Rows for which a streaming GPU reads the blocks once, and those for which it does so.
        const ROWS: usize = 8;
        const MOST: usize = 64;
        match (self.gpu, self.kept) {
            // While no more bytes of blocks are read than of numbers. Those that are computed are also
            // written, and their blocks read.
            (Gpu::Streaming, kept) => {
                let (values, bytes) = self.block;
                let numbers = NUMBER * values;
                let times = if kept { numbers / bytes } else { 2 * numbers / bytes + 1 };
                (times * ROWS).min(MOST) + 1
            }
            // On an H200 with the kernels of such GPUs, 6 rows took as long by blocks as by computed numbers.
            (Gpu::Nvidia, true) => 2,
            (Gpu::Nvidia, false) => 7,
            // Nobody has measured it.
            (Gpu::Other, _) => 16,
        }
    }
}

type Condition<P> = fn(P) -> bool;

/// Who computes a product with a quantised matrix: the first row whose condition holds. `None` multiplies
/// blocks.
const QUANT_TABLE: [(Condition<QuantProduct>, Option<Multiplier>); 5] = [
    (|product| !product.narrow, None),
    (|product| product.rows < product.numbers_from(), None),
    (|product| product.vendor, Some(Multiplier::Library)),
    (|product| product.kept || product.gpu != Gpu::Other, Some(Multiplier::Own)),
    (|_| true, None),
];

fn quant_multiplier(product: QuantProduct) -> Option<Multiplier> {
    // The last condition always holds.
    QUANT_TABLE.iter().find(|(condition, _)| condition(product)).and_then(|row| row.1)
}

/// Bytes of the numbers of a quantised matrix that are there at once. Parts that fit into the L2 cache are
/// slower on an H200: their products leave multiprocessors idle.
const NUMBERS: usize = 128 << 20;

/// Who computes a product of unquantised matrices: the first row whose condition holds.
const TABLE: [(Condition<Product>, Multiplier); 4] = [
    // Our kernels, through one more layer.
    (|product| !product.vendor, Multiplier::Own),
    // A library's workspace belongs to its stream, not to the graph.
    (|product| product.captured, Multiplier::Own),
    (|product| product.rows < LIBRARY_FROM, Multiplier::Own),
    (|_| true, Multiplier::Library),
];

fn multiplier(product: Product) -> Multiplier {
    let row = TABLE.iter().find(|(condition, _)| condition(product));
    // The last condition always holds.
    row.map_or(Multiplier::Own, |row| row.1)
}

/// What products need besides their operands.
#[derive(Default)]
pub(super) struct Products {
    /// Activations in blocks, by their number and length: the same memory for each product of this shape.
    quantised: HashMap<(usize, usize), Arc<Mutex<QuantVectors>>>,
    /// Made with the first product that needs it; `None` if the library is no vendor's.
    blas: Option<Option<Blas>>,
    /// The numbers of a part of a quantised matrix.
    numbers: Option<DeviceBuffer<u8>>,
    /// For the numbers of whole matrices.
    pub(super) room: Arc<Room>,
}

/// Shapes of activations in blocks that are kept.
const SHAPES: usize = 64;

impl Products {
    /// Memory for activations in blocks.
    pub(super) fn quantised(
        &mut self,
        work: &Work<'_>,
        vectors: usize,
        columns: usize,
    ) -> Result<Arc<Mutex<QuantVectors>>> {
        if let Some(known) = self.quantised.get(&(vectors, columns)) {
            return Ok(known.clone());
        }
        if self.quantised.len() >= SHAPES {
            self.quantised.clear();
        }
        let made = Arc::new(Mutex::new(QuantVectors::uninit(&work.stream, vectors, columns)?));
        self.quantised.insert((vectors, columns), made.clone());
        Ok(made)
    }

    /// The vendor's library, if there is one.
    fn vendor(&mut self, work: &Work<'_>) -> Result<Option<&Blas>> {
        if work.stream.is_captured() {
            return Ok(None);
        }
        if self.blas.is_none() {
            let blas = Blas::new(&work.stream)?;
            self.blas = Some(blas.library().is_shared().then_some(blas));
        }
        Ok(self.blas.as_ref().and_then(Option::as_ref))
    }

    /// Who multiplies so many rows with a quantised matrix, whose numbers may be `kept`; `None` for blocks.
    fn quant_multiplier(
        &mut self,
        work: &Work<'_>,
        (rows, kept): (usize, bool),
        quant: QuantType,
        narrow: bool,
    ) -> Result<Option<Multiplier>> {
        let vendor = narrow && rows >= LIBRARY_FROM && self.vendor(work)?.is_some();
        let gpu = match work.kernels.device().backend() {
            Backend::Cuda if work.kernels.streams_quant_matrices() => Gpu::Streaming,
            Backend::Cuda => Gpu::Nvidia,
            _ => Gpu::Other,
        };
        let block = (quant.block_values(), quant.block_bytes());
        Ok(quant_multiplier(QuantProduct { rows, narrow, block, gpu, vendor, kept }))
    }

    /// Multiplies by the numbers of a quantised matrix in the type of the activations, if that is quicker: by
    /// those that are kept, else some rows of it at a time.
    fn by_numbers<T>(
        &mut self,
        (work, captured): (&Work<'_>, &Captured),
        (m, k, n): (usize, usize, usize),
        (operation, w, dtype): (&'static str, &Tensor, DType),
        (x, mut out): (DeviceSlice<'_, T>, DeviceSliceMut<'_, T>),
    ) -> Result<bool>
    where
        T: Float<Compute = f32> + GemmElement<Product = T> + GemmInput<T>,
    {
        let (row, DType::Quant(quant)) = (k * size_of::<T>(), w.dtype()) else { return Ok(false) };
        if n == 0 || k == 0 || row > NUMBERS {
            return Ok(false);
        }
        let (memory, at) = work.place(operation, w)?;
        let kept = memory.numbers.find(&at, dtype);
        // What a graph computes is there after its launch, and not now.
        let is_captured = work.stream.is_captured();
        let can_keep = kept.is_some() || (!is_captured && memory.is_known() && self.room.has(n * row));
        let narrow = size_of::<T>() == 2;
        let by = self.quant_multiplier(work, (m, can_keep), quant, narrow)?;
        let Some(by) = by else { return Ok(false) };
        let blocks = work.dense::<u8>(operation, "w", w)?;
        let kept = match kept {
            None if can_keep => {
                let room = (&work.stream, &self.room);
                memory.numbers.keep(room, (at, dtype), n * row, |buffer| {
                    let matrix = QuantMatrix::new(quant, n, k, blocks)?;
                    Ok(work.kernels.dequantize(
                        &work.stream,
                        matrix,
                        buffer.slice_mut(..)?.cast_mut::<T>()?,
                    )?)
                })?
            }
            kept => kept,
        };
        if let Some(kept) = kept {
            if is_captured {
                captured.reads(&kept);
            }
            self.times(work, by, (m, k, n, n), (x, kept.numbers()?, out))?;
            return Ok(true);
        }
        let mut numbers = match self.numbers.take() {
            Some(numbers) => numbers,
            None => DeviceBuffer::uninit_on(&work.stream, NUMBERS)?,
        };
        let (block, at_once) = (k / quant.block_values() * quant.block_bytes(), NUMBERS / row);
        for first in (0..n).step_by(at_once) {
            let rows = at_once.min(n - first);
            let part = blocks.slice(first * block..(first + rows) * block)?;
            let mut these = numbers.slice_mut(..rows * row)?.cast_mut::<T>()?;
            let matrix = QuantMatrix::new(quant, rows, k, part)?;
            work.kernels.dequantize(&work.stream, matrix, these.reborrow())?;
            self.times(work, by, (m, k, rows, n), (x, these.as_slice(), out.slice_mut(first..)?))?;
        }
        self.numbers = Some(numbers);
        Ok(true)
    }

    /// Multiplies `m` rows with `n` rows of numbers, of `k` each. The rows of the result are `ldc` apart.
    fn times<T>(
        &self,
        work: &Work<'_>,
        by: Multiplier,
        (m, k, n, ldc): (usize, usize, usize, usize),
        (x, numbers, out): (DeviceSlice<'_, T>, DeviceSlice<'_, T>, DeviceSliceMut<'_, T>),
    ) -> Result<()>
    where
        T: Float<Compute = f32> + GemmElement<Product = T> + GemmInput<T>,
    {
        match (by, &self.blas) {
            (Multiplier::Library, Some(Some(blas))) => {
                let a = Matrix::new(x, MatrixLayout::row_major(m, k))?;
                let b = Matrix::new(numbers, MatrixLayout::row_major(n, k))?;
                let mut c = MatrixMut::new(out, MatrixLayout::row_major(m, n).with_ld(ldc))?;
                blas.gemm(&a, &b.t(), &mut c).run()?;
            }
            _ => {
                let gemm = Gemm { ldc, ..Gemm::new(m, n, k).transpose_b() };
                work.kernels.gemm(&work.stream, &gemm, x, numbers, out)?;
            }
        }
        Ok(())
    }
}

/// Quantises activations, if there are any.
pub(super) fn quantise(
    work: &Work<'_>,
    products: &mut Products,
    operation: &'static str,
    x: &Tensor,
) -> Result<Arc<Mutex<QuantVectors>>> {
    let vectors = products.quantised(work, x.rows(), x.columns())?;
    for_float!(operation, x, [x], T => {
        let from = work.dense::<T>(operation, "x", x)?;
        Ok(work.kernels.quantize(&work.stream, from, &mut lock(&vectors))?)
    })?;
    Ok(vectors)
}

/// The blocks of a factor.
pub(super) fn blocks(factor: &Factor) -> Option<&Mutex<QuantVectors>> {
    factor.blocks().and_then(|blocks| blocks.downcast_ref())
}

/// Numbers that become a factor, with memory for their blocks if products read these.
pub(super) fn factor(backend: &GpuBackend, numbers: Tensor, quantised: bool) -> Result<Factor> {
    let (rows, columns) = (numbers.rows(), numbers.columns());
    if !quantised || numbers.elements() == 0 || !columns.is_multiple_of(Q8_1::VALUES) {
        return Ok(Factor::of(numbers));
    }
    let work = backend.work()?;
    let is_narrow = numbers.dtype().block_bytes() == 2;
    // The matrices' types are not known yet.
    let by = lock(&backend.products).quant_multiplier(&work, (rows, false), QuantType::Q4K, is_narrow)?;
    if by.is_some() {
        return Ok(Factor::of(numbers));
    }
    let blocks = Mutex::new(QuantVectors::uninit(&work.stream, rows, columns)?);
    Ok(Factor::with_blocks(numbers, Arc::new(blocks)))
}

/// `given` are the blocks of `x`, if they are there.
pub(super) fn matmul_many(
    backend: &GpuBackend,
    x: &Tensor,
    given: Option<&Mutex<QuantVectors>>,
    products: &[(&Tensor, &Tensor)],
) -> Result<()> {
    let operation = "matmul";
    let work = backend.work()?;
    let mut own = lock(&backend.products);
    let mut quantised: Option<Arc<Mutex<QuantVectors>>> = None;
    for &(w, out) in products {
        let (m, k, n) = check::product(operation, x, w, out)?;
        if out.dtype() != x.dtype() {
            return Err(unsupported(operation, &[x, w, out]));
        }
        if let DType::Quant(quant) = w.dtype() {
            let done = for_float!(operation, x, [x, w, out], T => {
                let operands = (work.dense::<T>(operation, "x", x)?, work.dense_mut::<T>(operation, "out", out)?);
                own.by_numbers((&work, &backend.captured), (m, k, n), (operation, w, x.dtype()), operands)
            })?;
            if done {
                continue;
            }
            let matrix = work.quantised(operation, quant, w)?;
            let vectors = match (given, &quantised) {
                (Some(vectors), _) => vectors,
                (None, Some(vectors)) => &**vectors,
                (None, None) => &**quantised.insert(quantise(&work, &mut own, operation, x)?),
            };
            for_float!(operation, x, [x, w, out], T => {
                let to = work.dense_mut::<T>(operation, "out", out)?;
                Ok(work.kernels.quant_matmul(&work.stream, matrix, &lock(vectors), to)?)
            })?;
            continue;
        }
        if w.dtype() != x.dtype() {
            return Err(unsupported(operation, &[x, w, out]));
        }
        let captured = work.stream.is_captured();
        let vendor = m >= LIBRARY_FROM && own.vendor(&work)?.is_some();
        let by = multiplier(Product { rows: m, captured, vendor });
        let settled = work.is_settled(operation, w)?;
        for_float!(operation, x, [x, w, out], T => {
            let (a, b) = (work.dense::<T>(operation, "x", x)?, work.dense::<T>(operation, "w", w)?);
            let to = work.dense_mut::<T>(operation, "out", out)?;
            match (by, own.vendor(&work)?) {
                (Multiplier::Library, Some(blas)) if m > 0 && n > 0 && k > 0 => {
                    let a = Matrix::new(a, MatrixLayout::row_major(m, k))?;
                    let b = Matrix::new(b, MatrixLayout::row_major(n, k))?;
                    let mut c = MatrixMut::new(to, MatrixLayout::row_major(m, n))?;
                    blas.gemm(&a, &b.t(), &mut c).run()?;
                }
                _ => {
                    let gemm = Gemm { settled, ..Gemm::new(m, n, k).transpose_b() };
                    work.kernels.gemm(&work.stream, &gemm, a, b, to)?;
                }
            }
            Ok(())
        })?;
    }
    Ok(())
}

pub(super) fn matmul_batched(
    work: &Work<'_>,
    x: &Tensor,
    y: &Tensor,
    transposed: bool,
    alpha: f32,
    out: &Tensor,
) -> Result<()> {
    let operation = "matmul_batched";
    let (batch, m, k, n) = check::batched(operation, x, y, transposed, out)?;
    if y.dtype() != x.dtype() || out.dtype() != x.dtype() {
        return Err(unsupported(operation, &[x, y, out]));
    }
    let gemm = Gemm {
        alpha,
        lda: leading(x),
        ldb: leading(y),
        ldc: leading(out),
        transposed_b: transposed,
        batch,
        stride_a: x.strides()[0],
        stride_b: y.strides()[0],
        stride_c: out.strides()[0],
        ..Gemm::new(m, n, k)
    };
    for_float!(operation, x, [x, y, out], T => {
        let (a, b) = (work.read::<T>(operation, x)?, work.read::<T>(operation, y)?);
        Ok(work.kernels.gemm(&work.stream, &gemm, a, b, work.write::<T>(operation, out)?)?)
    })
}

/// From a row to the next. A single row has no next one, and its stride may be anything.
fn leading(tensor: &Tensor) -> usize {
    if tensor.size(1) <= 1 { tensor.size(2) } else { tensor.strides()[1] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_rows_are_multiplied_by_the_numbers_of_a_quantised_matrix() {
        let block = (256, 144);
        let large =
            QuantProduct { rows: 512, narrow: true, block, gpu: Gpu::Nvidia, vendor: true, kept: false };
        assert_eq!(quant_multiplier(large), Some(Multiplier::Library));
        let in_a_graph = QuantProduct { vendor: false, ..large };
        assert_eq!(quant_multiplier(in_a_graph), Some(Multiplier::Own));
        assert_eq!(quant_multiplier(QuantProduct { gpu: Gpu::Other, ..in_a_graph }), None);
        assert_eq!(quant_multiplier(QuantProduct { narrow: false, ..large }), None);
        assert_eq!(quant_multiplier(QuantProduct { rows: 6, ..large }), None);
        let kept = QuantProduct { kept: true, ..in_a_graph };
        assert_eq!(quant_multiplier(QuantProduct { rows: 2, ..kept }), Some(Multiplier::Own));
        assert_eq!(quant_multiplier(QuantProduct { rows: 1, ..kept }), None);
        let elsewhere = QuantProduct { gpu: Gpu::Other, ..kept };
        assert_eq!(quant_multiplier(elsewhere), Some(Multiplier::Own));
        assert_eq!(quant_multiplier(QuantProduct { rows: 2, ..elsewhere }), None);
    }

    #[test]
    fn a_streaming_gpu_multiplies_by_numbers_where_blocks_have_more_bytes() {
        // Q2_K, Q4_K, Q6_K and Q8_0.
        for (block, kept_from, computed_from) in
            [((256, 84), 49, 65), ((256, 144), 25, 65), ((256, 210), 17, 41), ((32, 34), 9, 33)]
        {
            for (kept, from) in [(true, kept_from), (false, computed_from)] {
                let (gpu, vendor) = (Gpu::Streaming, false);
                let by =
                    |rows| quant_multiplier(QuantProduct { rows, narrow: true, block, gpu, vendor, kept });
                assert_eq!((by(from - 1), by(from)), (None, Some(Multiplier::Own)), "{block:?} {kept}");
            }
        }
    }

    #[test]
    fn a_vendors_library_computes_large_products_outside_graphs() {
        let large = Product { rows: 512, captured: false, vendor: true };
        assert_eq!(multiplier(large), Multiplier::Library);
        assert_eq!(multiplier(Product { rows: 1, ..large }), Multiplier::Own);
        assert_eq!(multiplier(Product { captured: true, ..large }), Multiplier::Own);
        assert_eq!(multiplier(Product { vendor: false, ..large }), Multiplier::Own);
    }
}
