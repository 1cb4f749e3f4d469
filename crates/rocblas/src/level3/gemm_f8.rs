//! Products of general matrices of 8-bit floats.

use hip::DeviceSlice;
use rocblas_sys::rocblas_computetype;

use super::gemm::{GemmFlags, product};
use crate::blas::Blas;
use crate::element::{Float8Compute, Float8Input, Float8Output};
use crate::error::Result;
use crate::functions as f;
use crate::operation::{Scale, Session, reads, writes};
use crate::plan::{Look as _, multiplication, same_order, same_shape};
use crate::view::{Matrix, MatrixMut};

/// A product of matrices of 8-bit floats that is not enqueued yet: see [`Blas::gemm_f8`].
#[must_use = "an operation does nothing before `run`"]
pub struct GemmF8<'b, A: Float8Input, B: Float8Input, C: Float8Output> {
    blas: &'b Blas,
    a: Matrix<'b, A>,
    b: Matrix<'b, B>,
    c: MatrixMut<'b, C>,
    addend: Option<Matrix<'b, C>>,
    alpha: Scale<'b, f32>,
    beta: Scale<'b, f32>,
    compute: Float8Compute,
}

impl Blas {
    /// `C = alpha A B + beta C` for 8-bit floats, added in `f32` (`rocblas_gemm_ex3`). Of AMD's libraries,
    /// only those of ROCm 6 have it, for gfx942. This project's own kernels compute it on every GPU.
    ///
    /// If [`compute`](GemmF8::compute) names a type, matrices of `f16` and `f32` are first rounded to it.
    /// AMD's library does not support all combinations; for others, [`Error::Status`](crate::Error::Status)
    /// has `rocblas_status_not_implemented`.
    #[doc(alias = "rocblas_gemm_ex3")]
    #[doc(alias = "rocblas_gemm_batched_ex3")]
    #[doc(alias = "rocblas_gemm_strided_batched_ex3")]
    pub fn gemm_f8<'b, A: Float8Input, B: Float8Input, C: Float8Output>(
        &'b self,
        a: &Matrix<'b, A>,
        b: &Matrix<'b, B>,
        c: &'b mut MatrixMut<'_, C>,
    ) -> GemmF8<'b, A, B, C> {
        GemmF8 {
            blas: self,
            a: a.clone(),
            b: b.clone(),
            c: c.reborrow(),
            addend: None,
            alpha: Scale::Value(1.0),
            beta: Scale::Value(0.0),
            compute: Float8Compute::F32,
        }
    }
}

impl<'b, A: Float8Input, B: Float8Input, C: Float8Output> GemmF8<'b, A, B, C> {
    factors!(f32);

    /// Sets the types in which the operands are multiplied.
    pub fn compute(mut self, compute: Float8Compute) -> Self {
        self.compute = compute;
        self
    }

    /// Enqueues the product; does not wait.
    ///
    /// # Errors
    /// As [`Gemm::run`](super::Gemm::run).
    pub fn run(self) -> Result<()> {
        let Self { blas, a, b, mut c, addend, alpha, beta, compute } = self;
        let mut parts = vec![reads("a", a.layout()), reads("b", b.layout()), writes("c", c.layout())];
        parts.extend(addend.as_ref().map(|addend| reads("addend", addend.layout())));
        let mut session = Session::new(blas, "gemm_f8", &parts)?;
        let plan = multiplication("gemm_f8", false, a.layout(), b.layout(), c.layout())?;
        if let Some(addend) = &addend {
            same_shape("gemm_f8", "addend", addend.layout(), (c.rows(), c.cols()))?;
            let seen = addend.layout().seen("addend", false);
            same_order("gemm_f8", seen, c.layout().seen("c", false))?;
        }
        let (a, b) = (session.read(&a)?, session.read(&b)?);
        let addend = addend.as_ref().map(|addend| session.read(addend)).transpose()?;
        let d = session.write(&mut c)?;
        let operands = (a, b, addend.unwrap_or(d), d);
        let compute = compute.raw(plan.flip);
        session.update(&alpha, &beta, &[plan.m, plan.n, plan.k], |call, scalars| {
            let product = product(&plan, operands, scalars, None, GemmFlags::default());
            // SAFETY: the operands are registered on the stream, and are matrices that fit each other.
            unsafe { f::gemm_ex3(call, &product, compute) }
        })
    }
}

impl Float8Compute {
    /// rocBLAS's name for it, for a product whose operands may have changed places.
    fn raw(self, flip: bool) -> rocblas_computetype {
        match (self, flip) {
            (Self::F32, _) => rocblas_computetype::rocblas_compute_type_f32,
            (Self::F8F8, _) => rocblas_computetype::rocblas_compute_type_f8_f8_f32,
            (Self::F8Bf8, false) | (Self::Bf8F8, true) => {
                rocblas_computetype::rocblas_compute_type_f8_bf8_f32
            }
            (Self::Bf8F8, false) | (Self::F8Bf8, true) => {
                rocblas_computetype::rocblas_compute_type_bf8_f8_f32
            }
            (Self::Bf8Bf8, _) => rocblas_computetype::rocblas_compute_type_bf8_bf8_f32,
        }
    }
}

impl<A: Float8Input, B: Float8Input, C: Float8Output> std::fmt::Debug for GemmF8<'_, A, B, C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut gemm = f.debug_struct("GemmF8");
        gemm.field("a", &self.a).field("b", &self.b).field("c", &self.c).finish_non_exhaustive()
    }
}
