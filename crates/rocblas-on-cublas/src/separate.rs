//! Products into a matrix of their own: `D = alpha op(A) op(B) + beta C`.
//!
//! cuBLAS writes where it reads. cuBLASLt takes both matrices, with the same handle.

use std::ffi::c_void;
use std::sync::OnceLock;

use cuda_sys::CUstream;
use cuda_sys::cublas::lt::{
    Table as Lt, cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t, cublasLtMatrixLayout_t,
    cublasLtMatrixLayoutAttribute_t,
};
use cuda_sys::cublas::{Table, cublasHandle_t, cublasOperation_t, cublasStatus_t};
use rocblas_sys::{rocblas_datatype, rocblas_operation, rocblas_status, rocblas_stride};

use crate::convert::To;
use crate::device::{self, Columns};
use crate::library::{Scalar, pointer_mode, size_of_element, stream};

const NOT_IMPLEMENTED: rocblas_status = rocblas_status::rocblas_status_not_implemented;

/// A matrix, or the first of a strided batch.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Operand {
    address: *const c_void,
    datatype: rocblas_datatype,
    ld: i64,
    stride: rocblas_stride,
}

impl Operand {
    pub(crate) fn new(
        address: *const c_void,
        datatype: rocblas_datatype,
        ld: impl Into<i64>,
        stride: rocblas_stride,
    ) -> Self {
        Self { address, datatype, ld: ld.into(), stride }
    }
}

/// How many products there are.
#[derive(Clone, Copy)]
pub(crate) enum Batch {
    One,
    Strided(i64),
}

impl Batch {
    pub(crate) fn strided(count: impl Into<i64>) -> Self {
        Self::Strided(count.into())
    }
}

/// Whether cuBLAS can compute a product that reads `c` and writes `d`: they are the same, or nothing of `c`
/// counts.
///
/// # Safety
/// The scalar is where the pointer mode says, and has that type.
unsafe fn are_together(
    (cublas, handle): (&Table, cublasHandle_t),
    beta: *const c_void,
    compute: rocblas_datatype,
    c: Operand,
    d: Operand,
) -> bool {
    // SAFETY: the caller's promise.
    c == d || unsafe { Scalar::new(cublas, handle, beta, compute).is_zero(cublas, handle) }
}

/// Lets cuBLAS compute a product if it can; else it is not implemented.
///
/// # Safety
/// As [`are_together`].
pub(crate) unsafe fn together(
    cublas: &Table,
    handle: cublasHandle_t,
    beta: *const c_void,
    compute: rocblas_datatype,
    c: Operand,
    d: Operand,
) -> Result<Option<cublasStatus_t>, rocblas_status> {
    // SAFETY: the caller's promise.
    if unsafe { are_together((cublas, handle), beta, compute, c, d) } {
        Ok(None)
    } else {
        Err(NOT_IMPLEMENTED)
    }
}

/// Lets cuBLAS compute a product if it can; else cuBLASLt does.
///
/// # Safety
/// The arguments are those of rocBLAS's function.
#[expect(clippy::too_many_arguments, reason = "rocBLAS's function has them all")]
pub(crate) unsafe fn separate<I: Into<i64>>(
    cublas: &Table,
    handle: cublasHandle_t,
    [trans_a, trans_b]: [rocblas_operation; 2],
    (m, n, k): (I, I, I),
    [alpha, beta]: [*const c_void; 2],
    compute: rocblas_datatype,
    [a, b, c]: [Operand; 3],
    d: Operand,
    batch: Batch,
) -> Result<Option<cublasStatus_t>, rocblas_status> {
    let (m, n, k) = (m.into(), n.into(), k.into());
    // SAFETY: the caller's promise.
    unsafe {
        if are_together((cublas, handle), beta, compute, c, d) {
            return Ok(None);
        }
        let alpha = Scalar::new(cublas, handle, alpha, compute);
        let beta = Scalar::new(cublas, handle, beta, compute);
        let stream = || stream(cublas, handle).ok_or(rocblas_status::rocblas_status_internal_error);
        // Without a product, cuBLAS makes `beta D` of `D`. cuBLASLt has no such sizes.
        if k == 0 || alpha.is_zero(cublas, handle) {
            return copy(stream()?, [c, d], (m, n), batch).map(|()| None);
        }
        let lt = lt().ok_or(NOT_IMPLEMENTED)?;
        let (operation_a, operation_b): (cublasOperation_t, cublasOperation_t) =
            (trans_a.to()?, trans_b.to()?);
        let product = Product::new(lt, compute)?;
        let mode = pointer_mode(cublas, handle).ok_or(rocblas_status::rocblas_status_internal_error)?;
        product.set(cublasLtMatmulDescAttributes_t::CUBLASLT_MATMUL_DESC_POINTER_MODE, mode.0)?;
        product.set(cublasLtMatmulDescAttributes_t::CUBLASLT_MATMUL_DESC_TRANSA, operation_a.0)?;
        product.set(cublasLtMatmulDescAttributes_t::CUBLASLT_MATMUL_DESC_TRANSB, operation_b.0)?;
        let turned = |trans, rows, columns| {
            if trans == rocblas_operation::rocblas_operation_none { (rows, columns) } else { (columns, rows) }
        };
        let in_a = Layout::new(lt, a, turned(trans_a, m, k), batch)?;
        let in_b = Layout::new(lt, b, turned(trans_b, k, n), batch)?;
        let (in_c, in_d) = (Layout::new(lt, c, (m, n), batch)?, Layout::new(lt, d, (m, n), batch)?);
        Ok(Some((lt.cublasLtMatmul)(
            handle.cast(),
            product.description,
            alpha.address::<c_void>(),
            a.address,
            in_a.layout,
            b.address,
            in_b.layout,
            beta.address::<c_void>(),
            c.address,
            in_c.layout,
            d.address.cast_mut(),
            in_d.layout,
            // It chooses the algorithm, and has no workspace.
            std::ptr::null(),
            std::ptr::null_mut(),
            0,
            stream()?.cast(),
        )))
    }
}

/// Copies matrices, before something else reads them.
///
/// # Safety
/// They are in device memory, have that size, and do not overlap.
unsafe fn copy(
    stream: CUstream,
    [from, to]: [Operand; 2],
    (m, n): (i64, i64),
    batch: Batch,
) -> Result<(), rocblas_status> {
    if from.datatype != to.datatype {
        return Err(NOT_IMPLEMENTED);
    }
    let element = size_of_element(from.datatype).ok_or(NOT_IMPLEMENTED)?;
    let bytes = |elements: i64| -> Result<usize, rocblas_status> {
        let elements = usize::try_from(elements).map_err(|_| rocblas_status::rocblas_status_invalid_size)?;
        elements.checked_mul(element).ok_or(rocblas_status::rocblas_status_invalid_size)
    };
    let columns = usize::try_from(n).map_err(|_| rocblas_status::rocblas_status_invalid_size)?;
    if m == 0 || n == 0 {
        return Ok(());
    }
    let count = match batch {
        Batch::One => 1,
        Batch::Strided(count) => count,
    };
    for member in 0..count {
        let place = |operand: Operand| -> Result<Columns, rocblas_status> {
            let offset = operand.stride.wrapping_mul(member).wrapping_mul(element as i64);
            let address = operand.address.wrapping_byte_offset(offset as isize);
            Ok(Columns { address, pitch: bytes(operand.ld)? })
        };
        // SAFETY: the caller's promise.
        if !unsafe { device::copy(stream, [place(from)?, place(to)?], (bytes(m)?, columns)) } {
            return Err(rocblas_status::rocblas_status_internal_error);
        }
    }
    Ok(())
}

/// An error of a preparation.
fn done(status: cublasStatus_t) -> Result<(), rocblas_status> {
    match status.to()? {
        rocblas_status::rocblas_status_success => Ok(()),
        status => Err(status),
    }
}

/// cuBLASLt's description of a product.
struct Product {
    lt: &'static Lt,
    description: cublasLtMatmulDesc_t,
}

impl Product {
    fn new(lt: &'static Lt, compute: rocblas_datatype) -> Result<Self, rocblas_status> {
        let mut description = std::ptr::null_mut();
        // SAFETY: the description is a place to write to.
        done(unsafe { (lt.cublasLtMatmulDescCreate)(&raw mut description, compute.to()?, compute.to()?) })?;
        Ok(Self { lt, description })
    }

    /// Sets an attribute of 32 bits.
    fn set<T: Copy>(&self, which: cublasLtMatmulDescAttributes_t, value: T) -> Result<(), rocblas_status> {
        // SAFETY: the description is alive, and the attribute has this size.
        done(unsafe {
            (self.lt.cublasLtMatmulDescSetAttribute)(
                self.description,
                which,
                (&raw const value).cast(),
                size_of::<T>(),
            )
        })
    }
}

impl Drop for Product {
    fn drop(&mut self) {
        // SAFETY: nothing uses it any more. It cannot fail.
        let _ = unsafe { (self.lt.cublasLtMatmulDescDestroy)(self.description) };
    }
}

/// cuBLASLt's description of a matrix.
struct Layout {
    lt: &'static Lt,
    layout: cublasLtMatrixLayout_t,
}

impl Layout {
    fn new(
        lt: &'static Lt,
        operand: Operand,
        (rows, columns): (i64, i64),
        batch: Batch,
    ) -> Result<Self, rocblas_status> {
        let size = |size: i64| u64::try_from(size).map_err(|_| rocblas_status::rocblas_status_invalid_size);
        let mut layout = std::ptr::null_mut();
        // SAFETY: the layout is a place to write to.
        done(unsafe {
            (lt.cublasLtMatrixLayoutCreate)(
                &raw mut layout,
                operand.datatype.to()?,
                size(rows)?,
                size(columns)?,
                operand.ld,
            )
        })?;
        let made = Self { lt, layout };
        if let Batch::Strided(count) = batch {
            let count = i32::try_from(count).map_err(|_| rocblas_status::rocblas_status_not_implemented)?;
            made.set(cublasLtMatrixLayoutAttribute_t::CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, count)?;
            let stride: i64 = operand.stride;
            made.set(cublasLtMatrixLayoutAttribute_t::CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride)?;
        }
        Ok(made)
    }

    fn set<T: Copy>(&self, which: cublasLtMatrixLayoutAttribute_t, value: T) -> Result<(), rocblas_status> {
        // SAFETY: the layout is alive, and the attribute has this size.
        done(unsafe {
            (self.lt.cublasLtMatrixLayoutSetAttribute)(
                self.layout,
                which,
                (&raw const value).cast(),
                size_of::<T>(),
            )
        })
    }
}

impl Drop for Layout {
    fn drop(&mut self) {
        // SAFETY: nothing uses it any more. It cannot fail.
        let _ = unsafe { (self.lt.cublasLtMatrixLayoutDestroy)(self.layout) };
    }
}

/// cuBLASLt: the one that the cuBLAS of the process uses.
fn lt() -> Option<&'static Lt> {
    static LT: OnceLock<Option<&'static Lt>> = OnceLock::new();
    *LT.get_or_init(|| Lt::load().ok())
}
