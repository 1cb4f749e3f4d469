//! Operations with separate types for storage, scalars and computation.

use hip::DeviceSliceMut;
use rocblas_sys::rocblas_geam_ex_operation;

use crate::blas::Blas;
use crate::element::{Compute, Element, One, Scalar};
use crate::error::{Error, Result};
use crate::functions as f;
use crate::level1::same_len;
use crate::level3::{GemmFlags, product};
use crate::operation::{Reduction, Scale, Scaled, Session, Update, reads, writes};
use crate::plan::{
    Diag, Fill, Look as _, Side, multiplication, same, same_order, same_shape, size, square, written,
};
use crate::view::{Matrix, MatrixMut, Vector, VectorMut};

/// How [`Blas::geam_ex`] combines pairs of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Distance {
    /// The least of the sums of the pairs.
    MinPlus,
    /// The sum of the lesser elements of the pairs.
    PlusMin,
}

impl Blas {
    /// `y = alpha x + y`, computed in a separate type (`rocblas_axpy_ex`). The library decides which types
    /// can be combined; for others, [`Error::Status`] has `rocblas_status_not_implemented`.
    #[doc(alias = "rocblas_axpy_ex")]
    #[doc(alias = "cublasAxpyEx")]
    pub fn axpy_ex<'b, S: One, X: Element, Y: Element>(
        &'b self,
        x: &Vector<'b, X>,
        y: &'b mut VectorMut<'_, Y>,
        compute: Compute,
    ) -> Scaled<'b, S, impl FnOnce(Scale<'b, S>) -> Result<()> + use<'b, S, X, Y>> {
        let (x, mut y) = (x.clone(), y.reborrow());
        Scaled::new(move |alpha| {
            let parts = [reads("x", x.layout()), writes("y", y.layout())];
            let mut session = Session::new(self, "axpy_ex", &parts)?;
            same_len("axpy_ex", x.layout(), y.layout())?;
            let n = size(x.len());
            let (x, y) = (session.read(&x)?, session.write(&mut y)?);
            let compute = compute.datatype(Y::IS_COMPLEX);
            session.scaled(&alpha, &[n], |call, alpha| {
                // SAFETY: the operands are registered on the stream and hold `n` elements at these
                // increments.
                unsafe { f::axpy_ex(call, n, (alpha, S::DATATYPE), &x, &y, compute) }
            })
        })
    }

    /// `x = alpha x`, computed in a separate type (`rocblas_scal_ex`). The library decides which types can be
    /// combined.
    #[doc(alias = "rocblas_scal_ex")]
    #[doc(alias = "cublasScalEx")]
    pub fn scal_ex<'b, S: One, X: Element>(
        &'b self,
        x: &'b mut VectorMut<'_, X>,
        compute: Compute,
    ) -> Scaled<'b, S, impl FnOnce(Scale<'b, S>) -> Result<()> + use<'b, S, X>> {
        let mut x = x.reborrow();
        Scaled::new(move |alpha| {
            let mut session = Session::new(self, "scal_ex", &[writes("x", x.layout())])?;
            let (n, ld) = (size(x.len()), x.layout().forward().increment() as i64);
            let x = f::Operand { ld, ..session.write(&mut x)? };
            let compute = compute.datatype(X::IS_COMPLEX);
            session.scaled(&alpha, &[n], |call, alpha| {
                // SAFETY: the operand is registered on the stream and holds `n` elements at this increment.
                unsafe { f::scal_ex(call, n, (alpha, S::DATATYPE), &x, compute) }
            })
        })
    }

    /// The sum of `x[i] y[i]`, computed in a separate type (`rocblas_dot_ex`). The library decides which
    /// types can be combined.
    #[doc(alias = "rocblas_dot_ex")]
    #[doc(alias = "cublasDotEx")]
    pub fn dot_ex<'b, R: Element, X: Element, Y: Element>(
        &'b self,
        x: &Vector<'b, X>,
        y: &Vector<'b, Y>,
        compute: Compute,
    ) -> Reduction<'b, R, impl FnOnce(&mut DeviceSliceMut<'_, R>) -> Result<()> + use<'b, R, X, Y>> {
        let (x, y) = (x.clone(), y.clone());
        let parts = [reads("x", x.layout()), reads("y", y.layout())];
        Reduction::new(self, "dot_ex", &parts, move |results| {
            let mut session = Session::new(self, "dot_ex", &parts)?;
            same_len("dot_ex", x.layout(), y.layout())?;
            let n = size(x.len());
            let (x, y) = (session.read(&x)?, session.read(&y)?);
            let compute = compute.datatype(X::IS_COMPLEX);
            session.results(results, &[n], |call, result| {
                // SAFETY: the operands are registered on the stream and hold `n` elements at these
                // increments, and there is a place for each result.
                unsafe { f::dot_ex(call, n, &x, &y, (result, R::DATATYPE), compute) }
            })
        })
    }

    /// The sum of `conj(x[i]) y[i]`, computed in a separate type (`rocblas_dotc_ex`). The library decides
    /// which types can be combined.
    #[doc(alias = "rocblas_dotc_ex")]
    #[doc(alias = "cublasDotcEx")]
    pub fn dotc_ex<'b, R: Element, X: Element, Y: Element>(
        &'b self,
        x: &Vector<'b, X>,
        y: &Vector<'b, Y>,
        compute: Compute,
    ) -> Reduction<'b, R, impl FnOnce(&mut DeviceSliceMut<'_, R>) -> Result<()> + use<'b, R, X, Y>> {
        let (x, y) = (x.clone(), y.clone());
        let parts = [reads("x", x.layout()), reads("y", y.layout())];
        Reduction::new(self, "dotc_ex", &parts, move |results| {
            let mut session = Session::new(self, "dotc_ex", &parts)?;
            same_len("dotc_ex", x.layout(), y.layout())?;
            let n = size(x.len());
            let (x, y) = (session.read(&x)?, session.read(&y)?);
            let compute = compute.datatype(X::IS_COMPLEX);
            session.results(results, &[n], |call, result| {
                // SAFETY: as for `dot_ex`.
                unsafe { f::dotc_ex(call, n, &x, &y, (result, R::DATATYPE), compute) }
            })
        })
    }

    /// The Euclidean norm, computed in a separate type (`rocblas_nrm2_ex`). The library decides which types
    /// can be combined.
    #[doc(alias = "rocblas_nrm2_ex")]
    #[doc(alias = "cublasNrm2Ex")]
    pub fn nrm2_ex<'b, R: Element, X: Element>(
        &'b self,
        x: &Vector<'b, X>,
        compute: Compute,
    ) -> Reduction<'b, R, impl FnOnce(&mut DeviceSliceMut<'_, R>) -> Result<()> + use<'b, R, X>> {
        let x = x.clone();
        let parts = [reads("x", x.layout())];
        Reduction::new(self, "nrm2_ex", &parts, move |results| {
            let mut session = Session::new(self, "nrm2_ex", &parts)?;
            let (n, ld) = (size(x.len()), x.layout().forward().increment() as i64);
            let x = f::Operand { ld, ..session.read(&x)? };
            let compute = compute.datatype(false);
            session.results(results, &[n], |call, result| {
                // SAFETY: the operand is registered on the stream and holds `n` elements at this increment,
                // and there is a place for each result.
                unsafe { f::nrm2_ex(call, n, &x, (result, R::DATATYPE), compute) }
            })
        })
    }

    /// Rotates the points `(x[i], y[i])`, computed in a separate type; does not wait (`rocblas_rot_ex`).
    /// The library decides which types can be combined.
    ///
    /// # Errors
    /// As [`Scaled::run`].
    #[doc(alias = "rocblas_rot_ex")]
    #[doc(alias = "cublasRotEx")]
    pub fn rot_ex<X: Element, Y: Element, S: Element>(
        &self,
        x: &mut VectorMut<'_, X>,
        y: &mut VectorMut<'_, Y>,
        (c, s): (S, S),
        compute: Compute,
    ) -> Result<()> {
        let compute = compute.datatype(X::IS_COMPLEX);
        let scalars = (&Scale::Value(c), &Scale::Value(s));
        self.rotated("rot_ex", x, y, scalars, |call, n, x, y, c, s| {
            // SAFETY: `rotated` gives operands of `n` elements, and the scalars are where the mode says.
            unsafe { f::rot_ex(call, n, x, y, (c, s, S::DATATYPE), compute) }
        })
    }

    /// One triangle of `C = alpha A Aᵀ + beta C`, computed in a separate type (`rocblas_syrk_ex`, from ROCm 7
    /// on). The library decides which types can be combined.
    #[doc(alias = "rocblas_syrk_ex")]
    #[doc(alias = "cublasCsyrkEx")]
    pub fn syrk_ex<'b, S: One, T: Element, C: Element>(
        &'b self,
        fill: Fill,
        a: &Matrix<'b, T>,
        c: &'b mut MatrixMut<'_, C>,
        compute: Compute,
    ) -> Update<'b, S, S, impl FnOnce(Scale<'b, S>, Scale<'b, S>) -> Result<()> + use<'b, S, T, C>> {
        let (a, mut c) = (a.clone(), c.reborrow());
        Update::new(move |alpha, beta| {
            let parts = [reads("a", a.layout()), writes("c", c.layout())];
            let mut session = Session::new(self, "syrk_ex", &parts)?;
            let n = square("syrk_ex", "c", c.layout())?;
            same("syrk_ex", ("a", "rows"), a.rows(), n)?;
            let flip = written("syrk_ex", c.layout().seen("c", C::IS_COMPLEX))?;
            let seen = a.layout().seen("a", T::IS_COMPLEX);
            seen.plain("syrk_ex")?;
            let shape = (fill.raw(flip), seen.operation("syrk_ex")?);
            let (n, k) = (size(n), size(a.cols()));
            let (a, c) = (session.read(&a)?, session.write(&mut c)?);
            let compute = compute.datatype(C::IS_COMPLEX);
            session.update(&alpha, &beta, &[n, k], |call, (alpha, beta)| {
                // SAFETY: the operands are registered on the stream, and are matrices that fit each other.
                unsafe { f::syrk_ex(call, shape, (n, k), alpha, &a, beta, &c, compute) }
            })
        })
    }

    /// Shortest distances: `D[i, j]` is the least of all `alpha (A[i, k] + B[k, j])` and of `beta C[i, j]`.
    /// With [`Distance::PlusMin`], it is the sum over all `k` of the lesser of `alpha A[i, k]` and
    /// `alpha B[k, j]`, plus `beta C[i, j]` (`rocblas_geam_ex`). The library supports `f16`, `f32` and `f64`.
    ///
    /// By default `beta` is zero, and that zero takes part: the least of zero and positive sums is zero.
    #[doc(alias = "rocblas_geam_ex")]
    pub fn geam_ex<'b, T: One>(
        &'b self,
        distance: Distance,
        a: &Matrix<'b, T>,
        b: &Matrix<'b, T>,
        c: &Matrix<'b, T>,
        d: &'b mut MatrixMut<'_, T>,
    ) -> Update<'b, T, T, impl FnOnce(Scale<'b, T>, Scale<'b, T>) -> Result<()> + use<'b, T>> {
        let (a, b, c, mut d) = (a.clone(), b.clone(), c.clone(), d.reborrow());
        Update::new(move |alpha, beta| {
            let parts = [
                reads("a", a.layout()),
                reads("b", b.layout()),
                reads("c", c.layout()),
                writes("d", d.layout()),
            ];
            let mut session = Session::new(self, "geam_ex", &parts)?;
            let plan = multiplication("geam_ex", T::IS_COMPLEX, a.layout(), b.layout(), d.layout())?;
            same_shape("geam_ex", "c", c.layout(), (d.rows(), d.cols()))?;
            let seen = c.layout().seen("c", T::IS_COMPLEX);
            same_order("geam_ex", seen, d.layout().seen("d", T::IS_COMPLEX))?;
            let operation = match distance {
                Distance::MinPlus => rocblas_geam_ex_operation::rocblas_geam_ex_operation_min_plus,
                Distance::PlusMin => rocblas_geam_ex_operation::rocblas_geam_ex_operation_plus_min,
            };
            let operands = (session.read(&a)?, session.read(&b)?, session.read(&c)?, session.write(&mut d)?);
            session.update(&alpha, &beta, &[plan.m, plan.n, plan.k], |call, scalars| {
                let product = product(&plan, operands, scalars, None, GemmFlags::default());
                // SAFETY: the operands are registered on the stream, and are matrices that fit each other.
                unsafe { f::geam_ex(call, &product, T::DATATYPE, operation) }
            })
        })
    }

    /// [`trsm`](Self::trsm) with the inverses of the 128 by 128 blocks on the diagonal of `A`, side by side,
    /// as [`trtri`](Self::trtri) computes them (`rocblas_trsm_ex`). All matrices must be column-major.
    #[doc(alias = "rocblas_trsm_ex")]
    #[allow(clippy::too_many_arguments, reason = "BLAS defines the arguments")]
    pub fn trsm_ex<'b, T: Scalar>(
        &'b self,
        side: Side,
        fill: Fill,
        diag: Diag,
        a: &Matrix<'b, T>,
        inverses: &Vector<'b, T>,
        b: &'b mut MatrixMut<'_, T>,
    ) -> Scaled<'b, T, impl FnOnce(Scale<'b, T>) -> Result<()> + use<'b, T>> {
        let (a, inverses, mut b) = (a.clone(), inverses.clone(), b.reborrow());
        Scaled::new(move |alpha| {
            let parts =
                [reads("a", a.layout()), reads("inverses", inverses.layout()), writes("b", b.layout())];
            let mut session = Session::new(self, "trsm_ex", &parts)?;
            let got = square("trsm_ex", "a", a.layout())?;
            let expected = if side == Side::Left { b.rows() } else { b.cols() };
            same("trsm_ex", ("a", "rows"), got, expected)?;
            let needed = got.next_multiple_of(INVERTED).saturating_mul(INVERTED);
            same("trsm_ex", ("inverses", "elements"), inverses.len(), needed)?;
            if inverses.layout().increment() != 1 {
                let got = inverses.layout().increment();
                return Err(Error::Increment { operation: "trsm_ex", operand: "inverses", got });
            }
            for seen in [a.layout().seen("a", T::IS_COMPLEX), b.layout().seen("b", T::IS_COMPLEX)] {
                // The inverses are column-major, whatever the order of the matrix.
                if seen.transposed || seen.conjugated {
                    return Err(Error::Transposition { operation: "trsm_ex", operand: seen.name });
                }
            }
            let trans = a.layout().seen("a", T::IS_COMPLEX).operation("trsm_ex")?;
            let how = (side.raw(false), fill.raw(false), trans, diag.raw());
            let (m, n) = (size(b.rows()), size(b.cols()));
            let (a, inverses) =
                (session.read(&a)?, f::Operand { ld: size(needed), ..session.read(&inverses)? });
            let b = session.write(&mut b)?;
            session.scaled(&alpha, &[m, n, size(needed)], |call, alpha| {
                // SAFETY: the operands are registered on the stream, and are matrices that fit each other.
                unsafe { f::trsm_ex(call, how, (m, n), alpha, &a, &b, &inverses, T::DATATYPE) }
            })
        })
    }
}

/// Rows of an inverted block of a triangular matrix for [`Blas::trsm_ex`].
const INVERTED: usize = 128;
