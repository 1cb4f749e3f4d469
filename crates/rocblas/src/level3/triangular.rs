//! Triangular matrices with matrices.

use crate::blas::Blas;
use crate::element::Scalar;
use crate::error::Result;
use crate::functions as f;
use crate::layout::MatrixLayout;
use crate::operation::{Scale, Scaled, Session, reads, writes};
use crate::plan::{Diag, Fill, Look as _, Side, same, same_order, same_shape, size, square, written};
use crate::view::{Matrix, MatrixMut};

/// An error unless the triangular matrix matches the side of another one.
fn fits(operation: &'static str, side: Side, a: &MatrixLayout, b: &MatrixLayout) -> Result<()> {
    let got = square(operation, "a", a)?;
    let expected = if side == Side::Left { b.rows() } else { b.cols() };
    same(operation, ("a", "rows"), got, expected)
}

impl Blas {
    /// `C = alpha A B` with `A` on the left, or `C = alpha B A`, `A` triangular (`rocblas_strmm` and the
    /// like; in libraries before ROCm 6, `rocblas_strmm_outofplace`). `B` and `C` must be in the same order.
    #[doc(alias = "rocblas_strmm")]
    #[doc(alias = "cublasStrmm")]
    #[allow(clippy::too_many_arguments, reason = "BLAS defines the arguments")]
    pub fn trmm<'b, T: Scalar>(
        &'b self,
        side: Side,
        fill: Fill,
        diag: Diag,
        a: &Matrix<'b, T>,
        b: &Matrix<'b, T>,
        c: &'b mut MatrixMut<'_, T>,
    ) -> Scaled<'b, T, impl FnOnce(Scale<'b, T>) -> Result<()> + use<'b, T>> {
        let (a, b, mut c) = (a.clone(), b.clone(), c.reborrow());
        Scaled::new(move |alpha| {
            let parts = [reads("a", a.layout()), reads("b", b.layout()), writes("c", c.layout())];
            let mut session = Session::new(self, "trmm", &parts)?;
            fits("trmm", side, a.layout(), b.layout())?;
            let shape = (b.rows(), b.cols());
            same_shape("trmm", "c", c.layout(), shape)?;
            let (seen_b, seen_c) = (b.layout().seen("b", T::IS_COMPLEX), c.layout().seen("c", T::IS_COMPLEX));
            let flip = written("trmm", seen_c)?;
            same_order("trmm", seen_b, seen_c)?;
            seen_b.plain("trmm")?;
            let seen = a.layout().seen("a", T::IS_COMPLEX);
            let trans = seen.flipped(flip).operation("trmm")?;
            let (side, uplo, diag) = (side.raw(flip), fill.raw(seen.transposed), diag.raw());
            let (m, n) = if flip { (shape.1, shape.0) } else { shape };
            let (m, n) = (size(m), size(n));
            let (a, b, c) = (session.read(&a)?, session.read(&b)?, session.write(&mut c)?);
            session.scaled(&alpha, &[m, n], |call, alpha| {
                // SAFETY: the operands are registered on the stream, and are matrices that fit each other.
                unsafe { <T as f::Trmm>::trmm(call, side, uplo, trans, diag, m, n, alpha, &a, &b, &c) }
            })
        })
    }

    /// [`trmm`](Self::trmm) in place of `B`.
    #[allow(clippy::too_many_arguments, reason = "BLAS defines the arguments")]
    pub fn trmm_in_place<'b, T: Scalar>(
        &'b self,
        side: Side,
        fill: Fill,
        diag: Diag,
        a: &Matrix<'b, T>,
        b: &'b mut MatrixMut<'_, T>,
    ) -> Scaled<'b, T, impl FnOnce(Scale<'b, T>) -> Result<()> + use<'b, T>> {
        let (a, mut b) = (a.clone(), b.reborrow());
        Scaled::new(move |alpha| {
            let mut session = Session::new(self, "trmm", &[reads("a", a.layout()), writes("b", b.layout())])?;
            fits("trmm", side, a.layout(), b.layout())?;
            let shape = (b.rows(), b.cols());
            let flip = written("trmm", b.layout().seen("b", T::IS_COMPLEX))?;
            let seen = a.layout().seen("a", T::IS_COMPLEX);
            let trans = seen.flipped(flip).operation("trmm")?;
            let (side, uplo, diag) = (side.raw(flip), fill.raw(seen.transposed), diag.raw());
            let (m, n) = if flip { (shape.1, shape.0) } else { shape };
            let (m, n) = (size(m), size(n));
            let (a, b) = (session.read(&a)?, session.write(&mut b)?);
            session.scaled(&alpha, &[m, n], |call, alpha| {
                // SAFETY: as for `trmm`; the function allows the result in place of `B`.
                unsafe { <T as f::Trmm>::trmm(call, side, uplo, trans, diag, m, n, alpha, &a, &b, &b) }
            })
        })
    }

    /// Solves `A X = alpha B` with `A` on the left, or `X A = alpha B`, `A` triangular; `X` replaces `B`
    /// (`rocblas_strsm` and
    /// the like).
    #[doc(alias = "rocblas_strsm")]
    #[doc(alias = "cublasStrsm")]
    #[allow(clippy::too_many_arguments, reason = "BLAS defines the arguments")]
    pub fn trsm<'b, T: Scalar>(
        &'b self,
        side: Side,
        fill: Fill,
        diag: Diag,
        a: &Matrix<'b, T>,
        b: &'b mut MatrixMut<'_, T>,
    ) -> Scaled<'b, T, impl FnOnce(Scale<'b, T>) -> Result<()> + use<'b, T>> {
        let (a, mut b) = (a.clone(), b.reborrow());
        Scaled::new(move |alpha| {
            let mut session = Session::new(self, "trsm", &[reads("a", a.layout()), writes("b", b.layout())])?;
            fits("trsm", side, a.layout(), b.layout())?;
            let shape = (b.rows(), b.cols());
            let flip = written("trsm", b.layout().seen("b", T::IS_COMPLEX))?;
            let seen = a.layout().seen("a", T::IS_COMPLEX);
            let trans = seen.flipped(flip).operation("trsm")?;
            let (side, uplo, diag) = (side.raw(flip), fill.raw(seen.transposed), diag.raw());
            let (m, n) = if flip { (shape.1, shape.0) } else { shape };
            let (m, n) = (size(m), size(n));
            let (a, b) = (session.read(&a)?, session.write(&mut b)?);
            session.scaled(&alpha, &[m, n], |call, alpha| {
                // SAFETY: the operands are registered on the stream, and are matrices that fit each other.
                unsafe { <T as f::Trsm>::trsm(call, side, uplo, trans, diag, m, n, alpha, &a, &b) }
            })
        })
    }

    /// The inverse of a triangular matrix; does not wait (`rocblas_strtri` and the like). The matrix and its
    /// inverse must be in the same order.
    ///
    /// # Errors
    /// As [`Scaled::run`].
    #[doc(alias = "rocblas_strtri")]
    pub fn trtri<T: Scalar>(
        &self,
        fill: Fill,
        diag: Diag,
        a: &Matrix<'_, T>,
        inverse: &mut MatrixMut<'_, T>,
    ) -> Result<()> {
        let parts = [reads("a", a.layout()), writes("inverse", inverse.layout())];
        let mut session = Session::new(self, "trtri", &parts)?;
        let n = square("trtri", "a", a.layout())?;
        same_shape("trtri", "inverse", inverse.layout(), (n, n))?;
        let seen = a.layout().seen("a", T::IS_COMPLEX);
        let seen_inverse = inverse.layout().seen("inverse", T::IS_COMPLEX);
        let flip = written("trtri", seen_inverse)?;
        same_order("trtri", seen_inverse, seen)?;
        seen.plain("trtri")?;
        let (uplo, diag, n) = (fill.raw(flip), diag.raw(), size(n));
        let (a, inverse) = (session.read(a)?, session.write(inverse)?);
        session.plain(&[n], |call| {
            // SAFETY: the operands are registered on the stream, and are matrices of `n` by `n`.
            unsafe { <T as f::Trtri>::trtri(call, uplo, diag, n, &a, &inverse) }
        })
    }
}
