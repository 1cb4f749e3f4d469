//! Products with a bias and an activation, for which rocBLAS has no function.

use std::ffi::c_void;

use rocblas_sys::{rocblas_datatype, rocblas_handle, rocblas_operation, rocblas_status};

use crate::args::{Args, Form, Operand, Scalar, Type};
use crate::call::{INVALID_VALUE, NOT_IMPLEMENTED, entry, with};
use crate::gemm::{Activation, Epilogue, fused_gemm_ex};

/// A matrix in device memory, by columns; for a batch, the first one.
#[derive(Clone, Copy, Debug)]
pub struct FusedMatrix {
    /// Its first element.
    pub at: *const c_void,
    /// The type of its elements.
    pub kind: rocblas_datatype,
    /// Elements from one column to the next.
    pub leading: i64,
    /// Elements from one matrix of the batch to the next.
    pub stride: i64,
}

/// `D = activation(alpha * op(A) * op(B) + beta * C + bias)`: `rocblas_gemm_strided_batched_ex` and the
/// following steps of a linear layer, in one kernel.
///
/// A and B share one type of f32, f16 and bf16, and so do C and D. The computation is in f32. The bias is a
/// vector with as many elements as D has rows; it is added to each column (with matrices by rows, as in most
/// engines, to each row).
#[derive(Clone, Copy, Debug)]
pub struct FusedGemm {
    /// The operation op on A.
    pub trans_a: rocblas_operation,
    /// The operation op on B.
    pub trans_b: rocblas_operation,
    /// Rows of D.
    pub m: i64,
    /// Columns of D.
    pub n: i64,
    /// Columns of op(A), rows of op(B).
    pub k: i64,
    /// An f32 on the host or the device, depending on the handle's pointer mode.
    pub alpha: *const f32,
    /// The left operand.
    pub a: FusedMatrix,
    /// The right operand.
    pub b: FusedMatrix,
    /// As `alpha`; if it is zero, C is not read.
    pub beta: *const f32,
    /// The addend; it may be D.
    pub c: FusedMatrix,
    /// The result, which is written.
    pub d: FusedMatrix,
    /// The bias in device memory, or null for none. All products of the batch share it.
    pub bias: *const c_void,
    /// The type of the bias: f32, f16 or bf16.
    pub bias_kind: rocblas_datatype,
    /// The function applied last.
    pub activation: Activation,
    /// The number of products.
    pub batch: i64,
}

impl FusedGemm {
    /// Enqueues the product on the handle's stream.
    ///
    /// Returns the status of `rocblas_gemm_strided_batched_ex`, or `rocblas_status_not_implemented` for types
    /// other than those above or for operands whose columns are at least 2²² elements apart.
    ///
    /// # Safety
    /// The pointers must be valid for the given sizes until the stream has finished the work.
    pub unsafe fn enqueue(&self, handle: rocblas_handle) -> rocblas_status {
        let operand = |matrix: &FusedMatrix| {
            Operand::new(matrix.at, matrix.leading, matrix.stride, Type::from(matrix.kind))
        };
        let compute = Some(Type::F32);
        let args = Args {
            trans_a: self.trans_a,
            trans_b: self.trans_b,
            m: self.m,
            n: self.n,
            k: self.k,
            alpha: Scalar::new(self.alpha.cast(), compute),
            a: operand(&self.a),
            b: operand(&self.b),
            beta: Scalar::new(self.beta.cast(), compute),
            c: operand(&self.c),
            d: operand(&self.d),
            batch: self.batch,
            ..Args::new(compute, Form::Strided)
        };
        entry(|| {
            with(handle, |call| {
                let kind = match Type::from(self.bias_kind) {
                    Some(kind @ (Type::F32 | Type::F16 | Type::BF16)) => kind,
                    _ if self.bias.is_null() => Type::F32,
                    Some(_) => return Err(NOT_IMPLEMENTED),
                    None => return Err(INVALID_VALUE),
                };
                let epilogue = Epilogue { bias: self.bias, kind, activation: self.activation };
                call.finish(|call| fused_gemm_ex(call, &args, &epilogue))
            })
        })
    }
}
