//! Products with a bias and an activation, for which rocBLAS has no function.

use std::ffi::c_void;

use rocblas_sys::{rocblas_datatype, rocblas_handle, rocblas_operation, rocblas_status};

use crate::args::{Args, Form, Operand, Scalar, Type};
use crate::call::{INVALID_VALUE, NOT_IMPLEMENTED, entry, with};
use crate::gemm::{Activation, Epilogue, fused_gemm_ex};

/// A matrix in device memory, by columns; of a batch, the first one.
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

/// `D = activation(alpha * op(A) * op(B) + beta * C + bias)`: `rocblas_gemm_strided_batched_ex` and what a linear layer does after it, by
/// one kernel.
///
/// A and B have f32, f16 or bf16, both the same; C and D have one of these, both the same; what is computed in is f32. The bias is a vector
/// of as many elements as D has rows, which is added to each column: with matrices by rows, as most engines have them, to each row.
#[derive(Clone, Copy, Debug)]
pub struct FusedGemm {
    /// What op(A) is.
    pub trans_a: rocblas_operation,
    /// What op(B) is.
    pub trans_b: rocblas_operation,
    /// Rows of D.
    pub m: i64,
    /// Columns of D.
    pub n: i64,
    /// Columns of op(A), rows of op(B).
    pub k: i64,
    /// An f32 on the host or the device, as the handle's pointer mode says.
    pub alpha: *const f32,
    /// The left operand.
    pub a: FusedMatrix,
    /// The right operand.
    pub b: FusedMatrix,
    /// As `alpha`; where it is zero, C is not read.
    pub beta: *const f32,
    /// What is added; it may be D.
    pub c: FusedMatrix,
    /// The result. It is written.
    pub d: FusedMatrix,
    /// Elements in device memory, or null for none. All products of the batch have the same.
    pub bias: *const c_void,
    /// The type of the bias: f32, f16 or bf16.
    pub bias_kind: rocblas_datatype,
    /// What is applied last.
    pub activation: Activation,
    /// How many products there are.
    pub batch: i64,
}

impl FusedGemm {
    /// Enqueues the product on the handle's stream.
    ///
    /// The status is that of `rocblas_gemm_strided_batched_ex`, and `rocblas_status_not_implemented` for other types than those above, or for
    /// operands whose columns are 2²² elements apart or more.
    ///
    /// # Safety
    /// The pointers are valid for what the sizes say until the stream has got there.
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
