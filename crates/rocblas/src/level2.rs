//! Matrices with vectors.

mod symmetric;
mod triangular;

use crate::blas::Blas;
use crate::element::{Complex, Element, GemvInput, Scalar};
use crate::error::Result;
use crate::functions as f;
use crate::layout::MatrixLayout;
use crate::operation::{Scale, Scaled, Session, Update, reads, writes};
use crate::plan::{Look as _, Seen, same, size, written};
use crate::view::{Band, Matrix, MatrixMut, Vector, VectorMut};

/// The rows and columns of a matrix for rocBLAS's functions, which treat its memory as column-major.
fn stored(transposed: bool, (rows, cols): (usize, usize)) -> (i64, i64) {
    if transposed { (size(cols), size(rows)) } else { (size(rows), size(cols)) }
}

impl Blas {
    /// `y = alpha A x + beta y` (`rocblas_sgemv` and the like; for `f16` and `bf16`,
    /// `rocblas_hshgemv_strided_batched` and the like).
    ///
    /// `A` may be [transposed](Matrix::t) or [conjugated and transposed](Matrix::h).
    #[doc(alias = "rocblas_sgemv")]
    #[doc(alias = "cublasSgemv")]
    pub fn gemv<'b, T: GemvInput<Y>, Y: Element>(
        &'b self,
        a: &Matrix<'b, T>,
        x: &Vector<'b, T>,
        y: &'b mut VectorMut<'_, Y>,
    ) -> Update<
        'b,
        T::Scale,
        T::Scale,
        impl FnOnce(Scale<'b, T::Scale>, Scale<'b, T::Scale>) -> Result<()> + use<'b, T, Y>,
    > {
        let (a, x, mut y) = (a.clone(), x.clone(), y.reborrow());
        Update::new(move |alpha, beta| {
            let parts = [reads("a", a.layout()), reads("x", x.layout()), writes("y", y.layout())];
            let mut session = Session::new(self, "gemv", &parts)?;
            same("gemv", ("x", "elements"), x.len(), a.cols())?;
            same("gemv", ("y", "elements"), y.len(), a.rows())?;
            let seen = a.layout().seen("a", T::IS_COMPLEX);
            let trans = seen.operation("gemv")?;
            let (m, n) = stored(seen.transposed, (a.rows(), a.cols()));
            let (a, x, y) = (session.read(&a)?, session.read(&x)?, session.write(&mut y)?);
            session.update(&alpha, &beta, &[m, n], |call, scalars| {
                // SAFETY: the operands are registered on the stream and are a matrix of `m` by `n` and
                // vectors that fit it.
                unsafe { <T as f::GemvInto<Y>>::gemv_into(call, trans, (m, n), scalars, (&a, &x, &y)) }
            })
        })
    }

    /// `y = alpha A x + beta y`, `A` a band matrix (`rocblas_sgbmv` and the like).
    #[doc(alias = "rocblas_sgbmv")]
    #[doc(alias = "cublasSgbmv")]
    pub fn gbmv<'b, T: Scalar>(
        &'b self,
        a: &Band<'b, T>,
        x: &Vector<'b, T>,
        y: &'b mut VectorMut<'_, T>,
    ) -> Update<'b, T, T, impl FnOnce(Scale<'b, T>, Scale<'b, T>) -> Result<()> + use<'b, T>> {
        let (a, x, mut y) = (a.clone(), x.clone(), y.reborrow());
        Update::new(move |alpha, beta| {
            let parts = [reads("a", a.layout()), reads("x", x.layout()), writes("y", y.layout())];
            let mut session = Session::new(self, "gbmv", &parts)?;
            let layout = *a.layout();
            same("gbmv", ("x", "elements"), x.len(), layout.cols())?;
            same("gbmv", ("y", "elements"), y.len(), layout.rows())?;
            let seen = layout.seen("a", T::IS_COMPLEX);
            let trans = seen.operation("gbmv")?;
            let (m, n) = stored(seen.transposed, (layout.rows(), layout.cols()));
            let (kl, ku) = stored(seen.transposed, (layout.lower(), layout.upper()));
            let (a, x, y) = (session.read(&a)?, session.read(&x)?, session.write(&mut y)?);
            session.update(&alpha, &beta, &[m, n, kl, ku], |call, (alpha, beta)| {
                // SAFETY: the operands are registered on the stream and are a band matrix of `m` by `n` and
                // vectors that fit it.
                unsafe { <T as f::Gbmv>::gbmv(call, trans, m, n, kl, ku, alpha, &a, &x, beta, &y) }
            })
        })
    }

    /// `A = alpha x yᵀ + A` (`rocblas_sger` and the like; for complex numbers, `rocblas_cgeru`).
    #[doc(alias = "rocblas_sger")]
    #[doc(alias = "rocblas_cgeru")]
    #[doc(alias = "cublasSger")]
    pub fn ger<'b, T: Scalar>(
        &'b self,
        x: &Vector<'b, T>,
        y: &Vector<'b, T>,
        a: &'b mut MatrixMut<'_, T>,
    ) -> Scaled<'b, T, impl FnOnce(Scale<'b, T>) -> Result<()> + use<'b, T>> {
        let (x, y, mut a) = (x.clone(), y.clone(), a.reborrow());
        Scaled::new(move |alpha| {
            let parts = [reads("x", x.layout()), reads("y", y.layout()), writes("a", a.layout())];
            let mut session = Session::new(self, "ger", &parts)?;
            let seen = outer("ger", &x, &y, a.layout(), T::IS_COMPLEX)?;
            // For a row-major matrix, the equation is transposed, so the vectors change places.
            let flip = written("ger", seen)?;
            let (m, n) = stored(flip, (a.rows(), a.cols()));
            let (x, y, a) = (session.read(&x)?, session.read(&y)?, session.write(&mut a)?);
            let (x, y) = if flip { (y, x) } else { (x, y) };
            session.scaled(&alpha, &[m, n], |call, alpha| {
                // SAFETY: the operands are registered on the stream and are a matrix of `m` by `n` and
                // vectors that fit it.
                unsafe { <T as f::Ger>::ger(call, m, n, alpha, &x, &y, &a) }
            })
        })
    }

    /// `A = alpha x yᴴ + A`, `A` must be column-major, because BLAS has no other form (`rocblas_cgerc`,
    /// `rocblas_zgerc`).
    #[doc(alias = "rocblas_cgerc")]
    #[doc(alias = "cublasCgerc")]
    pub fn gerc<'b, T: Complex>(
        &'b self,
        x: &Vector<'b, T>,
        y: &Vector<'b, T>,
        a: &'b mut MatrixMut<'_, T>,
    ) -> Scaled<'b, T, impl FnOnce(Scale<'b, T>) -> Result<()> + use<'b, T>> {
        let (x, y, mut a) = (x.clone(), y.clone(), a.reborrow());
        Scaled::new(move |alpha| {
            let parts = [reads("x", x.layout()), reads("y", y.layout()), writes("a", a.layout())];
            let mut session = Session::new(self, "gerc", &parts)?;
            let seen = outer("gerc", &x, &y, a.layout(), true)?;
            // The transposed equation would conjugate the wrong vector.
            seen.conjugated(seen.transposed).plain("gerc")?;
            let (m, n) = (size(a.rows()), size(a.cols()));
            let (x, y, a) = (session.read(&x)?, session.read(&y)?, session.write(&mut a)?);
            session.scaled(&alpha, &[m, n], |call, alpha| {
                // SAFETY: as for `ger`.
                unsafe { <T as f::Gerc>::gerc(call, m, n, alpha, &x, &y, &a) }
            })
        })
    }
}

/// Checks that two vectors match the matrix that their product is added to.
fn outer<T: Element>(
    operation: &'static str,
    x: &Vector<'_, T>,
    y: &Vector<'_, T>,
    a: &MatrixLayout,
    complex: bool,
) -> Result<Seen> {
    same(operation, ("x", "elements"), x.len(), a.rows())?;
    same(operation, ("y", "elements"), y.len(), a.cols())?;
    Ok(a.seen("a", complex))
}
