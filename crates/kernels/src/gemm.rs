//! Matrix multiplication.

use code_object::embedded;
use half::{bf16, f16};
use hip::{Device, DeviceCopy, DeviceSlice, DeviceSliceMut, KernelArg, Stream};

use crate::error::{Error, Result, check_counted};
use crate::library::Kernels;
use crate::tilings::{SHARED, Tile, Tiling};
use crate::{F8E4M3, modules, nvidia};

const OPERATION: &str = "gemm";
/// Work-items of a workgroup: `THREADS` of `kernels/gemm.cuh`, and `THREADS` of `kernels/gemv.cu`.
pub(crate) const THREADS: u32 = 256;
/// The maximum number of workgroups in the second and third dimension of a grid. If there are more blocks,
/// workgroups go on by the grid's size.
pub(crate) const MOST_BLOCKS: usize = 4096;
/// The same for the first dimension.
pub(crate) const MOST_COLUMN_BLOCKS: usize = 1 << 23;

/// The kernel that computes a product: the first row whose conditions hold. Products with 4-bit matrices only
/// use blocks of 64.
///
/// The conditions apply to a [`Problem`]; a row without conditions always holds.
const CHOICE: &[(Condition, Choice)] = &[
    // A few vectors: the matrix is read only once, so blocks would gain nothing.
    (|p| p.n <= MOST_VECTORS || p.m <= MOST_VECTORS, Choice::Vectors),
    // Large blocks read each operand less often, if there are enough of them for all compute units, and if
    // they do not lie beyond C for the most part.
    (|p| p.blocks(128) >= p.compute_units && 4 * p.area(128) <= 5 * p.area(64), Choice::Blocks { side: 128 }),
    (|_| true, Choice::Blocks { side: 64 }),
];

/// The maximum number of vectors: `MOST_VECTORS` of `kernels/gemv.cu`.
pub(crate) const MOST_VECTORS: usize = 4;

type Condition = fn(&Problem) -> bool;

/// What the choice of a kernel depends on.
struct Problem {
    m: usize,
    n: usize,
    batch: usize,
    compute_units: usize,
}

impl Problem {
    fn blocks(&self, side: usize) -> usize {
        self.m.div_ceil(side).saturating_mul(self.n.div_ceil(side)).saturating_mul(self.batch)
    }

    /// The elements that blocks compute, those beyond C included.
    fn area(&self, side: usize) -> u128 {
        self.blocks(side) as u128 * (side * side) as u128
    }

    fn choice(&self) -> Choice {
        // The last condition always holds.
        CHOICE.iter().find(|(condition, _)| condition(self)).map_or(Choice::Blocks { side: 64 }, |row| row.1)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    /// `kernels/gemv.cu`.
    Vectors,
    /// `kernels/gemm.cu`, a workgroup for each `side` by `side` elements of C.
    Blocks { side: usize },
}

mod sealed {
    use super::{KernelArg, Result, Tile};

    pub trait Product {
        type Scalar: Copy + for<'a> KernelArg<'a>;
        const GEMM_64: &'static str;
        const GEMM_128: &'static str;
        const GEMV: &'static str;
        /// Of `kernels/gemv_stream.cuh`, on NVIDIA's GPUs.
        const GEMV_STREAM: &'static str;
        const GEMM_EXPERTS: &'static str;
        /// The kernels for `wgmma` on NVIDIA's GPUs.
        const TILES: &'static [(Tile, &'static str)];
        /// The one of them for products with the matrices of experts.
        const EXPERT_TILES: Option<&'static str>;
        fn scalar(operation: &'static str, parameter: &'static str, value: f32) -> Result<Self::Scalar>;
    }
}

/// A type whose matrices [`Kernels::gemm`] and [`Kernels::gemm_experts`] multiply: f32, f16, bf16, [`F8E4M3`]
/// and i8.
pub trait GemmElement: DeviceCopy + sealed::Product {
    /// The type of C: `Self`, f32 for [`F8E4M3`], or i32 for i8.
    type Product: DeviceCopy;
}

macro_rules! gemm_element {
    ($type:ident, $name:literal, $product:ident, $scalar:ident, [$($tile:literal),*], $experts:expr, $convert:expr) => {
        impl GemmElement for $type {
            type Product = $product;
        }
        impl sealed::Product for $type {
            type Scalar = $scalar;
            const GEMM_64: &'static str = concat!("gemm_", $name, "_64");
            const GEMM_128: &'static str = concat!("gemm_", $name, "_128");
            const GEMV: &'static str = concat!("gemv_", $name);
            const GEMV_STREAM: &'static str = concat!("gemv_stream_", $name);
            const GEMM_EXPERTS: &'static str = concat!("gemm_experts_", $name);
            const TILES: &'static [(Tile, &'static str)] =
                &[$((Tile::named($tile), concat!("gemm_", $name, "_", $tile))),*];
            const EXPERT_TILES: Option<&'static str> = $experts;
            fn scalar(operation: &'static str, parameter: &'static str, value: f32) -> Result<$scalar> {
                $convert(operation, parameter, value)
            }
        }
    };
}
macro_rules! tiled_element {
    ($type:ident, $name:literal) => {
        gemm_element!(
            $type,
            $name,
            $type,
            f32,
            ["128x256", "128x256_by_2", "128x128", "128x128_by_2", "64x128", "64x128_by_2", "64x128_by_4"],
            Some(concat!("gemm_experts_", $name, "_128x256")),
            |_, _, value| Ok(value)
        );
    };
}
gemm_element!(f32, "f32", f32, f32, [], None, |_, _, value| Ok(value));
tiled_element!(f16, "f16");
tiled_element!(bf16, "bf16");
gemm_element!(F8E4M3, "f8_e4m3", f32, f32, ["128x256", "128x128", "64x128"], None, |_, _, value| Ok(value));
gemm_element!(i8, "i8", i32, i32, [], None, whole_number);

/// The kernels of a type for `wgmma`.
#[cfg(test)]
pub(crate) fn tiles<T: GemmElement>() -> &'static [(Tile, &'static str)] {
    T::TILES
}

fn whole_number(operation: &'static str, parameter: &'static str, value: f32) -> Result<i32> {
    // Beyond 2²⁴, an f32 cannot represent every whole number.
    if value.fract() == 0.0 && value.abs() <= 16_777_216.0 {
        Ok(value as i32)
    } else {
        let problem = "must be a whole number of at most 2^24 for products of integers";
        Err(Error::Value { operation, parameter, got: value.into(), problem })
    }
}

/// `C = alpha * op(A) * op(B) + beta * C` on matrices stored by rows: op(A) is m×k, op(B) is k×n, C is m×n.
///
/// ```
/// let product = kernels::Gemm::new(512, 512, 512);
/// let transformed = kernels::Gemm { alpha: 0.5, beta: 1.0, ..product };
/// assert_eq!(transformed.lda, 512);
/// // a linear layer: 8 rows of 4096 features times the transpose of 1024 rows of weights
/// let linear = kernels::Gemm::new(8, 1024, 4096).transpose_b();
/// assert_eq!(linear.ldb, 4096);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gemm {
    /// Rows of op(A) and C.
    pub m: usize,
    /// Columns of op(B) and C.
    pub n: usize,
    /// Columns of op(A), rows of op(B).
    pub k: usize,
    /// Factor of the product. For products of i8, a whole number.
    pub alpha: f32,
    /// Factor of the old C; if it is zero, the old C is not read. For products of i8, a whole number.
    pub beta: f32,
    /// Elements from one row of A to the next: at least `k`, or `m` if A is transposed.
    pub lda: usize,
    /// Elements from one row of B to the next: at least `n`, or `k` if B is transposed.
    pub ldb: usize,
    /// Elements from one row of C to the next, at least `n`.
    pub ldc: usize,
    /// A is stored as k×m.
    pub transposed_a: bool,
    /// B is stored as n×k.
    pub transposed_b: bool,
    /// The number of products.
    pub batch: usize,
    /// Elements from one A to the next; 0 if all products share one.
    pub stride_a: usize,
    /// Elements from one B to the next; 0 if all products share one.
    pub stride_b: usize,
    /// Elements from one C to the next. Matrices may be interleaved by rows, but not overlap.
    pub stride_c: usize,
    /// Whether work that may still run when this product begins leaves B alone, or A if that is the matrix of
    /// the two with more rows. It is true of weights, once they are there. On NVIDIA's GPUs of sm_90 and
    /// later, a product with one vector then begins to read that matrix while the kernel in front ends. If it
    /// is not true, the product may be one of old numbers.
    pub settled: bool,
}

impl Gemm {
    /// `C = A * B` on densely stored matrices.
    #[must_use]
    pub fn new(m: usize, n: usize, k: usize) -> Self {
        Self {
            m,
            n,
            k,
            alpha: 1.0,
            beta: 0.0,
            lda: k,
            ldb: n,
            ldc: n,
            transposed_a: false,
            transposed_b: false,
            batch: 1,
            stride_a: 0,
            stride_b: 0,
            stride_c: 0,
            settled: false,
        }
    }

    /// A is stored densely as k×m.
    #[must_use]
    pub fn transpose_a(self) -> Self {
        Self { transposed_a: true, lda: self.m, ..self }
    }

    /// B is stored densely as n×k.
    #[must_use]
    pub fn transpose_b(self) -> Self {
        Self { transposed_b: true, ldb: self.k, ..self }
    }

    /// `batch` products of matrices that lie densely one after the other.
    #[must_use]
    pub fn batched(self, batch: usize) -> Self {
        Self {
            batch,
            stride_a: self.m.saturating_mul(self.k),
            stride_b: self.k.saturating_mul(self.n),
            stride_c: self.m.saturating_mul(self.n),
            ..self
        }
    }

    /// Checks the shape against the buffers' lengths.
    fn check(&self, a: usize, b: usize, c: usize) -> Result<()> {
        let &Self { m, n, k, lda, ldb, ldc, batch, stride_a, stride_b, stride_c, .. } = self;
        let (a_rows, a_columns) = if self.transposed_a { (k, m) } else { (m, k) };
        let (b_rows, b_columns) = if self.transposed_b { (n, k) } else { (k, n) };
        check_matrices(OPERATION, "a", ("lda", lda), (a_rows, a_columns), (batch, stride_a), a)?;
        check_matrices(OPERATION, "b", ("ldb", ldb), (b_rows, b_columns), (batch, stride_b), b)?;
        check_matrices(OPERATION, "c", ("ldc", ldc), (m, n), (batch, stride_c), c)?;
        for (parameter, size) in [("m", m), ("n", n), ("k", k), ("batch", batch)] {
            check_counted(OPERATION, parameter, size)?;
        }
        let apart = stride_c >= (m.saturating_sub(1)).saturating_mul(ldc).saturating_add(n);
        let interleaved = stride_c >= n && stride_c.saturating_mul(batch) <= ldc;
        if batch > 1 && m > 0 && n > 0 && !apart && !interleaved {
            let problem = "which makes matrices of the batch overlap";
            return Err(Error::Size { operation: OPERATION, parameter: "stride_c", got: stride_c, problem });
        }
        Ok(())
    }
}

/// Checks a batch of `rows` × `columns` matrices against their buffer.
pub(crate) fn check_matrices(
    operation: &'static str,
    buffer: &'static str,
    (parameter, leading): (&'static str, usize),
    (rows, columns): (usize, usize),
    (batch, stride): (usize, usize),
    got: usize,
) -> Result<()> {
    if leading < columns {
        let problem = "less than the elements of a row";
        return Err(Error::Size { operation, parameter, got: leading, problem });
    }
    let expected = match (rows.checked_sub(1), batch.checked_sub(1)) {
        (Some(above), Some(before)) if columns > 0 => above
            .saturating_mul(leading)
            .saturating_add(before.saturating_mul(stride))
            .saturating_add(columns),
        _ => 0,
    };
    if got < expected {
        return Err(Error::Length { operation, buffer, expected, got });
    }
    Ok(())
}

/// `Shape` of `kernels/gemm.cu`.
#[repr(C)]
#[derive(Clone, Copy, Debug, hip::DeviceCopy)]
pub struct BlocksShape {
    pub(crate) sizes: [u32; 4],
    pub(crate) leading: [u64; 3],
    pub(crate) strides: [u64; 3],
    pub(crate) transposed: [u32; 2],
}

/// `Shape` of `kernels/gemv.cu`.
#[repr(C)]
#[derive(Clone, Copy, Debug, hip::DeviceCopy)]
pub struct VectorsShape {
    pub(crate) rows: u32,
    pub(crate) depth: u32,
    pub(crate) vectors: u32,
    pub(crate) batches: u32,
    pub(crate) w_stride: u64,
    pub(crate) x_step: u64,
    pub(crate) x_stride: u64,
    pub(crate) y_step: u64,
    pub(crate) y_stride: u64,
    pub(crate) batch_strides: [u64; 3],
    pub(crate) by_columns: u32,
    pub(crate) settled: u32,
}

/// The first argument of the kernel that computes a product.
#[derive(Clone, Copy, Debug)]
pub enum GemmShape {
    /// Of `kernels/gemm.cu`.
    Blocks(BlocksShape),
    /// Of `kernels/gemv.cu`.
    Vectors(VectorsShape),
}

/// How a [`Gemm`] is computed. Use it to launch the kernel on addresses instead of slices; [`Kernels::gemm`]
/// launches it the same way.
///
/// The kernel's arguments are the shape, alpha, both matrices, beta and C. alpha and beta are f32, or i32 for
/// products of i8.
#[derive(Clone, Copy, Debug)]
pub struct GemmLaunch {
    /// The module with the kernel.
    pub module: &'static embedded::Module,
    /// The kernel.
    pub kernel: &'static str,
    /// Workgroups in each dimension.
    pub grid: [u32; 3],
    /// Work-items of a workgroup.
    pub block: u32,
    /// Bytes of LDS besides what the kernel declares.
    pub dynamic_lds: u32,
    /// The first argument.
    pub shape: GemmShape,
    /// B comes before A.
    pub swapped: bool,
}

impl Gemm {
    /// How this product is computed on a device; nothing if it has no elements.
    ///
    /// Nothing is checked. The sizes are below 2³² − 1024.
    #[must_use]
    pub fn launch_on<T: GemmElement>(&self, device: &Device) -> Option<GemmLaunch> {
        let compute_units = device.properties().compute_units as usize;
        let launch = self.launch::<T>(compute_units)?;
        if let GemmShape::Vectors(shape) = &launch.shape {
            if let Some(workgroups) = streamed::<T>(shape, device) {
                let (grid, block) = ([workgroups, 1, 1], nvidia::STREAM_THREADS);
                let (kernel, dynamic_lds) = (T::GEMV_STREAM, nvidia::STREAM_SHARED);
                return Some(GemmLaunch { kernel, grid, block, dynamic_lds, ..launch });
            }
            let [x, y, z] = launch.grid;
            let x = if nvidia::is_nvidia(device) {
                nvidia::vector_workgroups(shape.rows, compute_units as u32)
            } else {
                x
            };
            return Some(GemmLaunch { grid: [x, y, z], ..launch });
        }
        if !nvidia::has_wgmma(device) {
            return Some(launch);
        }
        let tilings =
            || crate::tilings::all().iter().filter_map(|tiling| self.with_tiling::<T>(tiling, compute_units));
        Some(tilings().min_by_key(|(time, _)| *time).map_or(launch, |(_, launch)| launch))
    }

    /// How this product is computed in tiles on a GPU of NVIDIA's with so many multiprocessors, and how many
    /// nanoseconds that takes by the table's figures. `None` if there are no such tiles for the type.
    pub(crate) fn with_tiling<T: GemmElement>(
        &self,
        tiling: &Tiling,
        multiprocessors: usize,
    ) -> Option<(u64, GemmLaunch)> {
        let kernel = T::TILES.iter().find(|(tile, _)| *tile == tiling.tile)?.1;
        let tiles = tiling.tile.count(self.m, self.n, self.batch);
        let grid = tiling.tile.grid(tiles, multiprocessors);
        let launch =
            GemmLaunch { kernel, grid: [grid, 1, 1], dynamic_lds: SHARED, ..self.by_blocks::<T>(128) };
        Some((tiling.time(tiles, self.k, multiprocessors), launch))
    }

    /// How this product is computed on an AMD GPU with so many compute units; nothing if it has no elements.
    ///
    /// This checks nothing. The sizes must be below 2³² − 1024.
    #[must_use]
    pub fn launch<T: GemmElement>(&self, compute_units: usize) -> Option<GemmLaunch> {
        let &Gemm { m, n, batch, .. } = self;
        if m == 0 || n == 0 || batch == 0 {
            return None;
        }
        Some(match (Problem { m, n, batch, compute_units }).choice() {
            Choice::Vectors => self.by_vectors::<T>(),
            Choice::Blocks { side } => self.by_blocks::<T>(side),
        })
    }

    fn by_blocks<T: GemmElement>(&self, side: usize) -> GemmLaunch {
        let shape = BlocksShape {
            sizes: [self.m, self.n, self.k, self.batch].map(|size| size as u32),
            leading: [self.lda, self.ldb, self.ldc].map(|stride| stride as u64),
            strides: [self.stride_a, self.stride_b, self.stride_c].map(|stride| stride as u64),
            transposed: [self.transposed_a, self.transposed_b].map(u32::from),
        };
        let blocks = |size: usize, most: usize| size.div_ceil(side).min(most) as u32;
        GemmLaunch {
            module: &modules::GEMM,
            kernel: if side == 128 { T::GEMM_128 } else { T::GEMM_64 },
            grid: [
                blocks(self.n, MOST_COLUMN_BLOCKS),
                blocks(self.m, MOST_BLOCKS),
                self.batch.min(MOST_BLOCKS) as u32,
            ],
            block: THREADS,
            dynamic_lds: 0,
            shape: GemmShape::Blocks(shape),
            swapped: false,
        }
    }

    fn by_vectors<T: GemmElement>(&self) -> GemmLaunch {
        let step = |transposed: bool, leading: usize| if transposed { (leading, 1) } else { (1, leading) };
        // Of the two matrices, the one with more rows (columns) is W, the other one is the vectors.
        let ((rows, w_stride, w_batch, by_columns), (vectors, x, x_batch), y) = if self.n <= self.m {
            let x = step(!self.transposed_b, self.ldb);
            ((self.m, self.lda, self.stride_a, self.transposed_a), (self.n, x, self.stride_b), (self.ldc, 1))
        } else {
            let x = step(self.transposed_a, self.lda);
            ((self.n, self.ldb, self.stride_b, !self.transposed_b), (self.m, x, self.stride_a), (1, self.ldc))
        };
        let shape = VectorsShape {
            rows: rows as u32,
            depth: self.k as u32,
            vectors: vectors as u32,
            batches: self.batch as u32,
            w_stride: w_stride as u64,
            x_step: x.0 as u64,
            x_stride: x.1 as u64,
            y_step: y.0 as u64,
            y_stride: y.1 as u64,
            batch_strides: [w_batch, x_batch, self.stride_c].map(|stride| stride as u64),
            by_columns: by_columns.into(),
            settled: self.settled.into(),
        };
        GemmLaunch {
            module: &modules::GEMV,
            kernel: T::GEMV,
            grid: [
                rows.div_ceil(ROWS_OF_VECTORS).min(MOST_BLOCKS) as u32,
                self.batch.min(MOST_BLOCKS) as u32,
                1,
            ],
            block: THREADS,
            dynamic_lds: 0,
            shape: GemmShape::Vectors(shape),
            swapped: self.n > self.m,
        }
    }
}

/// How the rows of a product are streamed on NVIDIA's GPUs, if they can be.
fn streamed<T: GemmElement>(shape: &VectorsShape, device: &Device) -> Option<u32> {
    let &VectorsShape { rows, depth, vectors, batches, w_stride, x_step, by_columns, .. } = shape;
    let is_alone = vectors == 1 && batches == 1 && x_step == 1;
    if !is_alone || by_columns != 0 || w_stride != u64::from(depth) || !nvidia::has_bulk_copies(device) {
        return None;
    }
    let multiprocessors = device.properties().compute_units;
    let element = size_of::<T>() as u32;
    nvidia::StreamedProduct { rows, depth, element, multiprocessors }.workgroups()
}

impl Kernels {
    /// Matrix multiplication. Products of floats are summed in f32, those of i8 in i32, which wraps around.
    /// Buffers may be longer than their matrices.
    ///
    /// # Errors
    /// [`Error::Length`] if a buffer is shorter than its matrices; [`Error::Size`] if a leading dimension is
    /// less than a row, if matrices of C overlap or sizes are beyond 2³² − 1025; [`Error::Value`] for a
    /// fractional factor of integers; [`Error::Hip`].
    #[doc(alias = "sgemm")]
    #[doc(alias = "matmul")]
    #[doc(alias = "rocblas_gemm_strided_batched_ex")]
    pub fn gemm<'a, T: GemmElement>(
        &'a self,
        stream: &'a Stream,
        gemm: &Gemm,
        a: impl Into<DeviceSlice<'a, T>>,
        b: impl Into<DeviceSlice<'a, T>>,
        c: impl Into<DeviceSliceMut<'a, T::Product>>,
    ) -> Result<()> {
        let (a, b, c) = (a.into(), b.into(), c.into());
        gemm.check(a.len(), b.len(), c.len())?;
        let (alpha, beta) =
            (T::scalar(OPERATION, "alpha", gemm.alpha)?, T::scalar(OPERATION, "beta", gemm.beta)?);
        let Some(how) = gemm.launch_on::<T>(self.device()) else { return Ok(()) };
        let function = self.function(how.module, how.kernel)?;
        let [x, y, z] = how.grid;
        let launch = function.launch(stream).grid((x, y, z)).block(how.block).dynamic_lds(how.dynamic_lds);
        let (first, second) = if how.swapped { (b, a) } else { (a, b) };
        let launch = match how.shape {
            GemmShape::Blocks(shape) => launch.arg(shape),
            GemmShape::Vectors(shape) => launch.arg(shape),
        };
        let launch = launch.arg(alpha).arg(first).arg(second).arg(beta).arg(c);
        // SAFETY: the kernel reads A's m×k and B's k×n elements, and reads and writes C's m×n elements, of
        // each product. `check` has compared the last element of each with the buffer, and has made sure that
        // no element of C belongs to two products.
        unsafe { launch.enqueue()? };
        Ok(())
    }
}

/// The minimum number of rows that a workgroup of `kernels/gemv.cu` computes.
pub(crate) const ROWS_OF_VECTORS: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrices_are_checked_against_their_buffers() {
        let one = (1, 0);
        check_matrices(OPERATION, "a", ("lda", 10), (3, 4), one, 24).unwrap();
        let short = check_matrices(OPERATION, "a", ("lda", 10), (3, 4), one, 23).unwrap_err();
        assert_eq!(short.to_string(), "gemm: `a` has 23 elements, but needs 24");
        let narrow = check_matrices(OPERATION, "b", ("ldb", 3), (3, 4), one, 100).unwrap_err();
        assert_eq!(narrow.to_string(), "gemm: `ldb` is 3, less than the elements of a row");
        assert!(
            check_matrices(OPERATION, "c", ("ldc", usize::MAX), (usize::MAX, 1), one, 5).is_err(),
            "no overflow"
        );
        assert!(
            check_matrices(OPERATION, "c", ("ldc", 1), (1, 1), (3, usize::MAX), 5).is_err(),
            "no overflow"
        );
        check_matrices(OPERATION, "a", ("lda", 0), (3, 0), one, 0).unwrap();
        check_matrices(OPERATION, "a", ("lda", 4), (3, 4), (0, 100), 0).unwrap();
        check_matrices(OPERATION, "a", ("lda", 4), (3, 4), (3, 20), 52).unwrap();
        check_matrices(OPERATION, "a", ("lda", 4), (3, 4), (3, 20), 51).unwrap_err();
    }

    #[test]
    fn overlapping_results_are_refused() {
        let gemm = Gemm::new(4, 8, 2).batched(3);
        gemm.check(24, 48, 96).unwrap();
        let interleaved = Gemm { ldc: 24, stride_c: 8, ..gemm };
        interleaved.check(24, 48, 96).unwrap();
        for overlapping in [Gemm { stride_c: 31, ..gemm }, Gemm { ldc: 23, ..interleaved }] {
            let error = overlapping.check(24, 48, 96).unwrap_err();
            assert!(matches!(error, Error::Size { parameter: "stride_c", .. }), "{error}");
        }
        Gemm { stride_c: 0, batch: 1, ..gemm }.check(24, 48, 96).unwrap();
    }

    #[test]
    fn factors_of_integers_are_whole() {
        assert_eq!(whole_number(OPERATION, "alpha", -3.0).unwrap(), -3);
        for wrong in [0.5, f32::NAN, f32::INFINITY, 3e9] {
            assert!(matches!(
                whole_number(OPERATION, "beta", wrong),
                Err(Error::Value { parameter: "beta", .. })
            ));
        }
    }

    #[test]
    fn the_table_chooses_by_size_and_device() {
        let choice = |m, n, batch, compute_units| Problem { m, n, batch, compute_units }.choice();
        assert_eq!(choice(1, 4096, 1, 100), Choice::Vectors);
        assert_eq!(choice(4096, 4, 1, 100), Choice::Vectors);
        assert_eq!(choice(512, 512, 1, 100), Choice::Blocks { side: 64 });
        assert_eq!(choice(512, 512, 1, 8), Choice::Blocks { side: 128 });
        // Half of each large block would lie below C.
        assert_eq!(choice(64, 2048, 1, 8), Choice::Blocks { side: 64 });
        assert_eq!(choice(192, 1920, 1, 8), Choice::Blocks { side: 64 });
        assert_eq!(choice(250, 1000, 1, 8), Choice::Blocks { side: 128 });
        assert_eq!(choice(4096, 4096, 1, 100), Choice::Blocks { side: 128 });
        assert_eq!(choice(128, 128, 100, 100), Choice::Blocks { side: 128 });
    }
}
