//! Products of matrices.

mod distance;
mod float8;
mod matmul;
pub(crate) mod tuning;

use rocblas_sys::{rocblas_gemm_algo, rocblas_operation};

pub(crate) use self::distance::geam_ex;
pub(crate) use self::float8::gemm_ex3;
pub use self::matmul::Activation;
pub(crate) use self::matmul::{Epilogue, TYPES, Tile, Way};
use crate::args::{Args, Operand, Scalar, Type};
use crate::call::{Call, DeviceOperand, Factor, INVALID_POINTER, INVALID_VALUE, NOT_IMPLEMENTED, Result};
use crate::checks::{are_there, operation, sizes, stored};
use crate::modules;
use crate::vector::{self, MOST, THREADS, batches, kernel};

/// `Matrix` of `kernels/blas/gemm.cu`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matrix {
    pub(crate) operand: DeviceOperand,
    /// From one row to the next, and from one column to the next.
    pub(crate) steps: [i64; 2],
    pub(crate) conjugate: u32,
    pub(crate) structure: Structure,
    pub(crate) upper: u32,
    pub(crate) unit: u32,
}

/// `Structure` of `kernels/blas/gemm.cu`.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Structure {
    General,
    Symmetric,
    Hermitian,
    Triangular,
}

impl Matrix {
    pub(crate) const NONE: Self = Self::stored(DeviceOperand::NONE, 0);

    /// A matrix by columns.
    pub(crate) const fn stored(operand: DeviceOperand, leading: i64) -> Self {
        Self { operand, steps: [1, leading], conjugate: 0, structure: Structure::General, upper: 0, unit: 0 }
    }

    pub(crate) fn transposed(self) -> Self {
        let [row, column] = self.steps;
        Self { steps: [column, row], upper: 1 - self.upper, ..self }
    }

    pub(crate) fn conjugated(self) -> Self {
        Self { conjugate: 1 - self.conjugate, ..self }
    }

    /// The part of it that begins at this row and column.
    pub(crate) fn from(self, row: i64, column: i64) -> Self {
        let first = self.operand.first + row * self.steps[0] + column * self.steps[1];
        Self { operand: DeviceOperand { first, ..self.operand }, ..self }
    }

    pub(crate) fn op(self, operation: rocblas_operation) -> Self {
        match operation {
            rocblas_operation::rocblas_operation_none => self,
            rocblas_operation::rocblas_operation_transpose => self.transposed(),
            _ => self.transposed().conjugated(),
        }
    }
}

/// `Shape` of `kernels/blas/gemm.cu`: a product, before the choice of how to compute it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Product {
    pub(crate) m: i64,
    pub(crate) n: i64,
    pub(crate) k: i64,
    pub(crate) a: Matrix,
    pub(crate) b: Matrix,
    pub(crate) c: Matrix,
    pub(crate) d: Matrix,
    pub(crate) alpha: Factor,
    pub(crate) beta: Factor,
    partial: *const std::ffi::c_void,
    part: i64,
    parts: u32,
    pub(crate) batches: u32,
    /// The part of D to compute: 0 all, 1 the upper triangle, 2 the lower one.
    pub(crate) triangle: u32,
    pub(crate) hermitian: u32,
}

impl Product {
    pub(crate) fn new(
        [m, n, k]: [i64; 3],
        alpha: Factor,
        [a, b]: [Matrix; 2],
        beta: Factor,
        c: Matrix,
        batches: u32,
    ) -> Self {
        Self {
            m,
            n,
            k,
            a,
            b,
            c,
            d: c,
            alpha,
            beta,
            partial: std::ptr::null(),
            part: k,
            parts: 1,
            batches,
            triangle: 0,
            hermitian: 0,
        }
    }
}

/// Rows and columns of a workgroup's part of D: `SIDE` of `kernels/blas/gemm.cu`.
const SIDE: i64 = 64;
/// The minimum depth of a workgroup before others help it.
const LEAST_DEPTH: i64 = 256;
/// The maximum number of workgroups that share the depth, and the maximum memory for their sums.
const MOST_PARTS: i64 = 64;
const MOST_PARTIAL: usize = 64 << 20;

/// The kernels of a product, and the kernel that adds its parts.
fn kernels(compute: Type, product: &Product) -> Result<[&'static str; 2]> {
    let operands = [product.a, product.b, product.c, product.d].map(|matrix| matrix.operand.kind);
    match compute {
        Type::I32 => Ok(["blas_gemm_i32", "blas_gemm_add_i32"]),
        Type::F64 if operands.contains(&(Type::F32 as u32)) => {
            Ok(["blas_gemm_f64_of_f32", "blas_gemm_add_f64_of_f32"])
        }
        _ => Ok([kernel!("gemm", compute)?, kernel!("gemm_add", compute)?]),
    }
}

impl Call<'_> {
    /// Enqueues a product that is computed in this type.
    pub(crate) fn product(&mut self, compute: Type, product: &Product) -> Result {
        self.fused_product(compute, product, &Epilogue::NONE)
    }

    /// Enqueues a product and the operations on its elements.
    ///
    /// # Errors
    /// `rocblas_status_not_implemented` if there are such operations and only kernels without an epilogue
    /// compute the product.
    fn fused_product(&mut self, compute: Type, product: &Product, epilogue: &Epilogue) -> Result {
        if let Some(matmul) = matmul::Matmul::of(product, epilogue, self.gpu.instructions) {
            return matmul.enqueue(self);
        }
        if !epilogue.is_none() {
            return Err(NOT_IMPLEMENTED);
        }
        self.tiles(kernels(compute, product)?, compute, product)
    }

    /// Enqueues the kernel of `kernels/blas/gemm.cu` for all matrices, and the one that adds its parts.
    fn tiles(&mut self, [kernel, add]: [&'static str; 2], compute: Type, product: &Product) -> Result {
        let tiles = ((product.m - 1) / SIDE + 1).saturating_mul((product.n - 1) / SIDE + 1);
        let parts = self.parts(compute, product, tiles);
        let mut product = *product;
        let taken = self.taken;
        if let Some((parts, bytes)) = parts {
            let [partial] = self.workspace([bytes])?;
            product.partial = partial;
            // A multiple of the depth that a workgroup reads at once.
            product.part = ((product.k - 1) / parts / 16 + 1) * 16;
            product.parts = ((product.k - 1) / product.part + 1) as u32;
        }
        let all = i64::from(product.batches) * i64::from(product.parts);
        let grid = [tiles.clamp(1, MOST[0]) as u32, all.clamp(1, MOST[1]) as u32, 1];
        self.launch(&modules::BLAS_GEMM, kernel, grid, THREADS, &product)?;
        if product.partial.is_null() {
            return Ok(());
        }
        let workgroups = (product.m * product.n - 1) / i64::from(THREADS) + 1;
        self.launch(&modules::BLAS_GEMM, add, vector::grid(workgroups, product.batches), THREADS, &product)?;
        // Work enqueued from now on may use the same memory.
        self.taken = taken;
        Ok(())
    }

    /// The number of workgroups that share the depth of a product with few tiles, and the memory needed for
    /// that.
    fn parts(&self, compute: Type, product: &Product, tiles: i64) -> Option<(i64, usize)> {
        let workgroups = tiles.saturating_mul(product.batches.into());
        let wanted = 2 * i64::from(self.gpu.compute_units) / workgroups.max(1);
        let parts = wanted.min(product.k / LEAST_DEPTH).min(MOST_PARTS);
        if parts < 2 {
            return None;
        }
        let elements = (product.m as usize).checked_mul(product.n as usize)?;
        let bytes =
            elements.checked_mul(product.batches as usize * parts as usize)?.checked_mul(compute.size())?;
        let workspace = &self.state.workspace;
        let fits = !workspace.foreign || workspace.bytes().saturating_sub(self.taken) >= bytes;
        (bytes <= MOST_PARTIAL && fits).then_some((parts, bytes))
    }
}

/// Whether there is a kernel for products of these types that is computed in this type.
fn types(args: &Args) -> Result<Type> {
    let kind = |operand: &Operand| operand.kind.ok_or(INVALID_VALUE);
    let [a, b, c, d] = [kind(&args.a)?, kind(&args.b)?, kind(&args.c)?, kind(&args.d)?];
    let wanted = args.compute.ok_or(INVALID_VALUE)?;
    let compute = wanted.compute();
    let all_of = |kind: Type| [a, b, c, d].iter().all(|other| *other == kind);
    let known = match wanted {
        Type::F16 => all_of(Type::F16),
        Type::F32 => a == b && c == d && [a, c].iter().all(|kind| kind.compute() == Type::F32),
        Type::I32 => a == Type::I8 && b == Type::I8 && c == Type::I32 && d == Type::I32,
        Type::F8 | Type::BF8 => false,
        other => all_of(other),
    };
    if known { Ok(compute) } else { Err(NOT_IMPLEMENTED) }
}

pub(crate) fn gemm(call: &mut Call<'_>, args: &Args) -> Result {
    multiply(call, &Args { d: args.c, ..*args }, &Epilogue::NONE)
}

/// The only solution that can be requested by number; 0 leaves the choice to the library.
const SOLUTION: i32 = 1;

pub(crate) fn gemm_ex(call: &mut Call<'_>, args: &Args) -> Result {
    fused_gemm_ex(call, args, &Epilogue::NONE)
}

/// `gemm_ex`, and the operations on the elements of D.
pub(crate) fn fused_gemm_ex(call: &mut Call<'_>, args: &Args, epilogue: &Epilogue) -> Result {
    if let Some((algo, solution)) = args.solution
        && algo == rocblas_gemm_algo::rocblas_gemm_algo_solution_index
        && ![0, SOLUTION].contains(&solution)
    {
        return Err(INVALID_VALUE);
    }
    // The factors have the compute type.
    let factor = |scalar: Scalar| Scalar::new(scalar.at, args.compute);
    multiply(call, &Args { alpha: factor(args.alpha), beta: factor(args.beta), ..*args }, epilogue)
}

fn multiply(call: &mut Call<'_>, args: &Args, epilogue: &Epilogue) -> Result {
    match checked(call, args, types, epilogue)? {
        Some(Checked { compute, product }) => call.fused_product(compute, &product, epilogue),
        None => Ok(()),
    }
}

/// A product with checked arguments.
struct Checked {
    compute: Type,
    product: Product,
}

/// Checks a product, whose compute type `types` gives. `None` if there is nothing to do.
fn checked(
    call: &mut Call<'_>,
    args: &Args,
    types: impl FnOnce(&Args) -> Result<Type>,
    epilogue: &Epilogue,
) -> Result<Option<Checked>> {
    let &Args { m, n, k, c, d, .. } = args;
    shapes(args)?;
    let compute = types(args)?;
    if m == 0 || n == 0 || args.batch == 0 {
        return Ok(None);
    }
    let beta = call.factor(args.beta)?;
    let alpha = if k == 0 { Factor::of(0.0) } else { call.factor(args.alpha)? };
    same_place(&c, &d)?;
    if c.at == d.at && beta.is(1.0) && alpha.is(0.0) && epilogue.is_none() {
        return Ok(None);
    }
    call.operands([alpha, beta], |factors| all_there(factors, [&args.a, &args.b, &c, &d]))?;
    Ok(Some(Checked { compute, product: product(args, [alpha, beta])? }))
}

/// Checks operations and sizes.
fn shapes(args: &Args) -> Result {
    let &Args { m, n, k, trans_a, trans_b, a, b, c, d, .. } = args;
    operation(trans_a)?;
    operation(trans_b)?;
    sizes(m >= 0 && n >= 0 && k >= 0 && args.batch >= 0)?;
    sizes(a.step >= stored(trans_a, m, k)[0] && b.step >= stored(trans_b, k, n)[0])?;
    sizes(c.step >= m && d.step >= m)
}

/// If D replaces C, it has the shape of C.
fn same_place(c: &Operand, d: &Operand) -> Result {
    let same = c.at == d.at;
    sizes(!same || c.step == d.step)?;
    if same && c.stride != d.stride { Err(INVALID_VALUE) } else { Ok(()) }
}

/// The product of the checked arguments.
fn product(args: &Args, [alpha, beta]: [Factor; 2]) -> Result<Product> {
    let matrix = |operand: &Operand, operation| {
        Ok(Matrix::stored(DeviceOperand::new(operand, args.form)?, operand.step).op(operation))
    };
    let none = rocblas_operation::rocblas_operation_none;
    let operands = [matrix(&args.a, args.trans_a)?, matrix(&args.b, args.trans_b)?];
    let size = [args.m, args.n, args.k];
    let product = Product::new(size, alpha, operands, beta, matrix(&args.c, none)?, batches(args)?);
    Ok(Product { d: matrix(&args.d, none)?, ..product })
}

/// Whether the operands of D = alpha * A * B + beta * C exist as far as they are used.
fn all_there(factors: [Factor; 2], [a, b, c, d]: [&Operand; 4]) -> bool {
    let is_there = |operand: &Operand| !operand.at.is_null();
    let [alpha, beta] = factors;
    let product = alpha.is(0.0) || is_there(a) && is_there(b);
    if c.at == d.at {
        are_there(factors, is_there(a) && is_there(b), is_there(d))
    } else {
        product && is_there(d) && (beta.is(0.0) || is_there(c))
    }
}

/// Products of matrices whose elements have steps in both directions.
pub(crate) fn gemm_ext2(call: &mut Call<'_>, args: &Args, steps: [[i64; 2]; 4]) -> Result {
    let &Args { m, n, k, .. } = args;
    sizes(m >= 0 && n >= 0 && k >= 0)?;
    let compute = types(args)?;
    if m == 0 || n == 0 {
        return Ok(());
    }
    let factor = |call: &Call<'_>, scalar: Scalar| call.factor(Scalar::new(scalar.at, args.compute));
    let beta = factor(call, args.beta)?;
    let alpha = if k == 0 { Factor::of(0.0) } else { factor(call, args.alpha)? };
    let [a, b, c, d] = [args.a, args.b, args.c, args.d];
    call.operands([alpha, beta], |factors| all_there(factors, [&a, &b, &c, &d]))?;
    let matrix = |operand: &Operand, steps| {
        Ok(Matrix { steps, ..Matrix::stored(DeviceOperand::new(operand, args.form)?, 0) })
    };
    let operands = [matrix(&a, steps[0])?, matrix(&b, steps[1])?];
    let mut product = Product::new([m, n, k], alpha, operands, beta, matrix(&c, steps[2])?, 1);
    product.d = matrix(&d, steps[3])?;
    call.product(compute, &product)
}

/// The solutions of a problem: their number if there is no list, otherwise as many as fit into it.
///
/// # Safety
/// `size` must be valid, and `list` must be null or have room for as many numbers as it says.
pub(crate) unsafe fn solutions(list: *mut i32, size: *mut i32) -> Result {
    if size.is_null() {
        return Err(INVALID_POINTER);
    }
    // SAFETY: as this function's contract.
    unsafe {
        if list.is_null() {
            size.write(1);
        } else if size.read() > 0 {
            list.write(SOLUTION);
        }
    }
    Ok(())
}

/// Whether products of these types are supported at all.
pub(crate) fn is_known(from: Option<Type>, to: Option<Type>, compute: Option<Type>) -> Result {
    let operand = |kind| Operand::new(std::ptr::null(), 0, 0, kind);
    let (a, c) = (operand(from), operand(to));
    types(&Args { a, b: a, c, d: c, compute, ..Args::new(None, crate::args::Form::Plain) }).map(drop)
}
