//! Symmetric and Hermitian matrices with vectors.
//!
//! A symmetric matrix is its own transpose, so a row-major one is a column-major one with the other triangle
//! stored. A row-major Hermitian matrix would be the conjugate of the column-major one. It is refused,
//! because BLAS has no form for it.

use crate::blas::Blas;
use crate::element::{Complex, Real, Scalar};
use crate::error::Result;
use crate::functions as f;
use crate::operation::{Scale, Scaled, Session, Update, reads, writes};
use crate::plan::{Fill, Look as _, same, size, square, triangle};
use crate::view::{Band, Matrix, MatrixMut, Packed, PackedMut, Vector, VectorMut};

/// `y = alpha A x + beta y`, with a triangle of `A`.
macro_rules! multiply {
    ($method:ident, $trait:ident, $bound:ident, $view:ident, $extent:ident, $hermitian:literal, $alias:literal, $alias_cuda:literal, $doc:literal) => {
        impl Blas {
            #[doc = $doc]
            #[doc(alias = $alias)]
            #[doc(alias = $alias_cuda)]
            pub fn $method<'b, T: $bound>(
                &'b self,
                fill: Fill,
                a: &$view<'b, T>,
                x: &Vector<'b, T>,
                y: &'b mut VectorMut<'_, T>,
            ) -> Update<'b, T, T, impl FnOnce(Scale<'b, T>, Scale<'b, T>) -> Result<()> + use<'b, T>> {
                let (a, x, mut y) = (a.clone(), x.clone(), y.reborrow());
                Update::new(move |alpha, beta| {
                    const OPERATION: &str = stringify!($method);
                    let parts = [reads("a", a.layout()), reads("x", x.layout()), writes("y", y.layout())];
                    let mut session = Session::new(self, OPERATION, &parts)?;
                    let n = $extent(OPERATION, "a", a.layout())?;
                    same(OPERATION, ("x", "elements"), x.len(), n)?;
                    same(OPERATION, ("y", "elements"), y.len(), n)?;
                    let seen = a.layout().seen("a", T::IS_COMPLEX);
                    seen.own_transpose(OPERATION, $hermitian)?;
                    let uplo = fill.raw(seen.transposed);
                    let n = size(n);
                    let (a, x, y) = (session.read(&a)?, session.read(&x)?, session.write(&mut y)?);
                    session.update(&alpha, &beta, &[n], |call, (alpha, beta)| {
                        // SAFETY: the operands are registered on the stream, and are a matrix and vectors of
                        // `n`.
                        unsafe { <T as f::$trait>::$method(call, uplo, n, alpha, &a, &x, beta, &y) }
                    })
                })
            }
        }
    };
}

/// The size of a packed matrix.
fn packed(_: &'static str, _: &'static str, layout: &crate::PackedLayout) -> Result<usize> {
    Ok(layout.size())
}

multiply!(
    symv,
    Symv,
    Scalar,
    Matrix,
    square,
    false,
    "rocblas_ssymv",
    "cublasSsymv",
    "`y = alpha A x + beta y`, `A` symmetric: only one triangle of it is read (`rocblas_ssymv` and the like)."
);
multiply!(
    hemv,
    Hemv,
    Complex,
    Matrix,
    square,
    true,
    "rocblas_chemv",
    "cublasChemv",
    "`y = alpha A x + beta y`, `A` Hermitian and column-major: only one triangle of it is read (`rocblas_chemv`, `rocblas_zhemv`)."
);
multiply!(
    spmv,
    Spmv,
    Real,
    Packed,
    packed,
    false,
    "rocblas_sspmv",
    "cublasSspmv",
    "`y = alpha A x + beta y`, `A` symmetric and a packed triangle (`rocblas_sspmv`, `rocblas_dspmv`)."
);
multiply!(
    hpmv,
    Hpmv,
    Complex,
    Packed,
    packed,
    true,
    "rocblas_chpmv",
    "cublasChpmv",
    "`y = alpha A x + beta y`, `A` Hermitian, column-major and a packed triangle (`rocblas_chpmv`, `rocblas_zhpmv`)."
);

/// `y = alpha A x + beta y`, with a triangle of a band matrix `A`.
macro_rules! multiply_band {
    ($method:ident, $trait:ident, $bound:ident, $hermitian:literal, $alias:literal, $alias_cuda:literal, $doc:literal) => {
        impl Blas {
            #[doc = $doc]
            #[doc(alias = $alias)]
            #[doc(alias = $alias_cuda)]
            pub fn $method<'b, T: $bound>(
                &'b self,
                a: &Band<'b, T>,
                x: &Vector<'b, T>,
                y: &'b mut VectorMut<'_, T>,
            ) -> Update<'b, T, T, impl FnOnce(Scale<'b, T>, Scale<'b, T>) -> Result<()> + use<'b, T>> {
                let (a, x, mut y) = (a.clone(), x.clone(), y.reborrow());
                Update::new(move |alpha, beta| {
                    const OPERATION: &str = stringify!($method);
                    let parts = [reads("a", a.layout()), reads("x", x.layout()), writes("y", y.layout())];
                    let mut session = Session::new(self, OPERATION, &parts)?;
                    let (uplo, diagonals) = triangle(OPERATION, "a", a.layout())?;
                    let n = a.layout().rows();
                    same(OPERATION, ("x", "elements"), x.len(), n)?;
                    same(OPERATION, ("y", "elements"), y.len(), n)?;
                    a.layout().seen("a", T::IS_COMPLEX).own_transpose(OPERATION, $hermitian)?;
                    let (n, k) = (size(n), size(diagonals));
                    let (a, x, y) = (session.read(&a)?, session.read(&x)?, session.write(&mut y)?);
                    session.update(&alpha, &beta, &[n, k], |call, (alpha, beta)| {
                        // SAFETY: the operands are registered on the stream, and are a matrix of `k`
                        // diagonals and vectors of `n`.
                        unsafe { <T as f::$trait>::$method(call, uplo, n, k, alpha, &a, &x, beta, &y) }
                    })
                })
            }
        }
    };
}

multiply_band!(
    sbmv,
    Sbmv,
    Real,
    false,
    "rocblas_ssbmv",
    "cublasSsbmv",
    "`y = alpha A x + beta y`, `A` symmetric: the diagonals on one side of a band matrix (`rocblas_ssbmv`, `rocblas_dsbmv`)."
);
multiply_band!(
    hbmv,
    Hbmv,
    Complex,
    true,
    "rocblas_chbmv",
    "cublasChbmv",
    "`y = alpha A x + beta y`, `A` Hermitian and column-major: the diagonals on one side of a band matrix (`rocblas_chbmv`, `rocblas_zhbmv`)."
);

/// `A = alpha x xᵀ + A` or the like, with a triangle of `A`.
macro_rules! rank_one {
    ($method:ident, $trait:ident, $bound:ident, $scale:ty, $view:ident, $extent:ident, $hermitian:literal, $alias:literal, $alias_cuda:literal, $doc:literal) => {
        impl Blas {
            #[doc = $doc]
            #[doc(alias = $alias)]
            #[doc(alias = $alias_cuda)]
            pub fn $method<'b, T: $bound>(
                &'b self,
                fill: Fill,
                x: &Vector<'b, T>,
                a: &'b mut $view<'_, T>,
            ) -> Scaled<'b, $scale, impl FnOnce(Scale<'b, $scale>) -> Result<()> + use<'b, T>> {
                let (x, mut a) = (x.clone(), a.reborrow());
                Scaled::new(move |alpha| {
                    const OPERATION: &str = stringify!($method);
                    let parts = [reads("x", x.layout()), writes("a", a.layout())];
                    let mut session = Session::new(self, OPERATION, &parts)?;
                    let n = $extent(OPERATION, "a", a.layout())?;
                    same(OPERATION, ("x", "elements"), x.len(), n)?;
                    let seen = a.layout().seen("a", T::IS_COMPLEX);
                    seen.own_transpose(OPERATION, $hermitian)?;
                    let uplo = fill.raw(seen.transposed);
                    let n = size(n);
                    let (x, a) = (session.read(&x)?, session.write(&mut a)?);
                    session.scaled(&alpha, &[n], |call, alpha| {
                        // SAFETY: the operands are registered on the stream, and are a matrix and a vector of
                        // `n`.
                        unsafe { <T as f::$trait>::$method(call, uplo, n, alpha, &x, &a) }
                    })
                })
            }
        }
    };
}

rank_one!(
    syr,
    Syr,
    Scalar,
    T,
    MatrixMut,
    square,
    false,
    "rocblas_ssyr",
    "cublasSsyr",
    "`A = alpha x xᵀ + A`, one triangle of a symmetric `A` (`rocblas_ssyr` and the like)."
);
rank_one!(
    her,
    Her,
    Complex,
    T::Real,
    MatrixMut,
    square,
    true,
    "rocblas_cher",
    "cublasCher",
    "`A = alpha x xᴴ + A`, one triangle of a Hermitian, column-major `A` (`rocblas_cher`, `rocblas_zher`)."
);
rank_one!(
    spr,
    Spr,
    Scalar,
    T,
    PackedMut,
    packed,
    false,
    "rocblas_sspr",
    "cublasSspr",
    "`A = alpha x xᵀ + A`, a packed triangle of a symmetric `A` (`rocblas_sspr` and the like)."
);
rank_one!(
    hpr,
    Hpr,
    Complex,
    T::Real,
    PackedMut,
    packed,
    true,
    "rocblas_chpr",
    "cublasChpr",
    "`A = alpha x xᴴ + A`, a packed triangle of a Hermitian, column-major `A` (`rocblas_chpr`, `rocblas_zhpr`)."
);

/// `A = alpha x yᵀ + alpha y xᵀ + A` or the like, with a triangle of `A`.
macro_rules! rank_two {
    ($method:ident, $trait:ident, $bound:ident, $view:ident, $extent:ident, $hermitian:literal, $alias:literal, $alias_cuda:literal, $doc:literal) => {
        impl Blas {
            #[doc = $doc]
            #[doc(alias = $alias)]
            #[doc(alias = $alias_cuda)]
            pub fn $method<'b, T: $bound>(
                &'b self,
                fill: Fill,
                x: &Vector<'b, T>,
                y: &Vector<'b, T>,
                a: &'b mut $view<'_, T>,
            ) -> Scaled<'b, T, impl FnOnce(Scale<'b, T>) -> Result<()> + use<'b, T>> {
                let (x, y, mut a) = (x.clone(), y.clone(), a.reborrow());
                Scaled::new(move |alpha| {
                    const OPERATION: &str = stringify!($method);
                    let parts = [reads("x", x.layout()), reads("y", y.layout()), writes("a", a.layout())];
                    let mut session = Session::new(self, OPERATION, &parts)?;
                    let n = $extent(OPERATION, "a", a.layout())?;
                    same(OPERATION, ("x", "elements"), x.len(), n)?;
                    same(OPERATION, ("y", "elements"), y.len(), n)?;
                    let seen = a.layout().seen("a", T::IS_COMPLEX);
                    seen.own_transpose(OPERATION, $hermitian)?;
                    let uplo = fill.raw(seen.transposed);
                    let n = size(n);
                    let (x, y, a) = (session.read(&x)?, session.read(&y)?, session.write(&mut a)?);
                    session.scaled(&alpha, &[n], |call, alpha| {
                        // SAFETY: the operands are registered on the stream, and are a matrix and vectors of
                        // `n`.
                        unsafe { <T as f::$trait>::$method(call, uplo, n, alpha, &x, &y, &a) }
                    })
                })
            }
        }
    };
}

rank_two!(
    syr2,
    Syr2,
    Scalar,
    MatrixMut,
    square,
    false,
    "rocblas_ssyr2",
    "cublasSsyr2",
    "`A = alpha x yᵀ + alpha y xᵀ + A`, one triangle of a symmetric `A` (`rocblas_ssyr2` and the like)."
);
rank_two!(
    her2,
    Her2,
    Complex,
    MatrixMut,
    square,
    true,
    "rocblas_cher2",
    "cublasCher2",
    "`A = alpha x yᴴ + conj(alpha) y xᴴ + A`, one triangle of a Hermitian, column-major `A` (`rocblas_cher2`, `rocblas_zher2`)."
);
rank_two!(
    spr2,
    Spr2,
    Real,
    PackedMut,
    packed,
    false,
    "rocblas_sspr2",
    "cublasSspr2",
    "`A = alpha x yᵀ + alpha y xᵀ + A`, a packed triangle of a symmetric `A` (`rocblas_sspr2`, `rocblas_dspr2`)."
);
rank_two!(
    hpr2,
    Hpr2,
    Complex,
    PackedMut,
    packed,
    true,
    "rocblas_chpr2",
    "cublasChpr2",
    "`A = alpha x yᴴ + conj(alpha) y xᴴ + A`, a packed triangle of a Hermitian, column-major `A` (`rocblas_chpr2`, `rocblas_zhpr2`)."
);
