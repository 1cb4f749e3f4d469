//! Triangular matrices with vectors.

use crate::blas::Blas;
use crate::element::Scalar;
use crate::error::Result;
use crate::functions as f;
use crate::operation::{Session, reads, writes};
use crate::plan::{Diag, Fill, Look as _, same, size, square, triangle};
use crate::view::{Band, Matrix, Packed, VectorMut};

/// An operation with a triangular matrix, in place of a vector.
macro_rules! triangular {
    ($method:ident, $trait:ident, $alias:literal, $alias_cuda:literal, $doc:literal) => {
        impl Blas {
            #[doc = $doc]
            ///
            /// # Errors
            /// As [`Scaled::run`](crate::Scaled::run).
            #[doc(alias = $alias)]
            #[doc(alias = $alias_cuda)]
            pub fn $method<T: Scalar>(
                &self,
                fill: Fill,
                diag: Diag,
                a: &Matrix<'_, T>,
                x: &mut VectorMut<'_, T>,
            ) -> Result<()> {
                const OPERATION: &str = stringify!($method);
                let parts = [reads("a", a.layout()), writes("x", x.layout())];
                let mut session = Session::new(self, OPERATION, &parts)?;
                let n = square(OPERATION, "a", a.layout())?;
                same(OPERATION, ("x", "elements"), x.len(), n)?;
                let seen = a.layout().seen("a", T::IS_COMPLEX);
                let (uplo, trans) = (fill.raw(seen.transposed), seen.operation(OPERATION)?);
                let (n, diag) = (size(n), diag.raw());
                let (a, x) = (session.read(a)?, session.write(x)?);
                session.plain(&[n], |call| {
                    // SAFETY: the operands are registered on the stream, and are a matrix and a vector of
                    // `n`.
                    unsafe { <T as f::$trait>::$method(call, uplo, trans, diag, n, &a, &x) }
                })
            }
        }
    };
}

triangular!(
    trmv,
    Trmv,
    "rocblas_strmv",
    "cublasStrmv",
    "`x = A x`, `A` triangular; does not wait (`rocblas_strmv` and the like)."
);
triangular!(
    trsv,
    Trsv,
    "rocblas_strsv",
    "cublasStrsv",
    "Solves `A x = b`, `A` triangular: `x` holds `b` before; does not wait (`rocblas_strsv` and the like)."
);

/// The same with a band matrix.
macro_rules! triangular_band {
    ($method:ident, $trait:ident, $alias:literal, $alias_cuda:literal, $doc:literal) => {
        impl Blas {
            #[doc = $doc]
            ///
            /// # Errors
            /// As [`Scaled::run`](crate::Scaled::run); [`Error::Triangle`](crate::Error::Triangle) if there
            /// are diagonals on both sides.
            #[doc(alias = $alias)]
            #[doc(alias = $alias_cuda)]
            pub fn $method<T: Scalar>(
                &self,
                diag: Diag,
                a: &Band<'_, T>,
                x: &mut VectorMut<'_, T>,
            ) -> Result<()> {
                const OPERATION: &str = stringify!($method);
                let parts = [reads("a", a.layout()), writes("x", x.layout())];
                let mut session = Session::new(self, OPERATION, &parts)?;
                let (uplo, diagonals) = triangle(OPERATION, "a", a.layout())?;
                let n = a.layout().rows();
                same(OPERATION, ("x", "elements"), x.len(), n)?;
                let trans = a.layout().seen("a", T::IS_COMPLEX).operation(OPERATION)?;
                let (n, k, diag) = (size(n), size(diagonals), diag.raw());
                let (a, x) = (session.read(a)?, session.write(x)?);
                session.plain(&[n, k], |call| {
                    // SAFETY: the operands are registered on the stream, and are a matrix of `k` diagonals
                    // and a vector of `n`.
                    unsafe { <T as f::$trait>::$method(call, uplo, trans, diag, n, k, &a, &x) }
                })
            }
        }
    };
}

triangular_band!(
    tbmv,
    Tbmv,
    "rocblas_stbmv",
    "cublasStbmv",
    "`x = A x`, `A` a triangular band matrix; does not wait (`rocblas_stbmv` and the like)."
);
triangular_band!(
    tbsv,
    Tbsv,
    "rocblas_stbsv",
    "cublasStbsv",
    "Solves `A x = b`, `A` a triangular band matrix: `x` holds `b` before; does not wait (`rocblas_stbsv` and the like)."
);

/// The same with a packed triangle.
macro_rules! triangular_packed {
    ($method:ident, $trait:ident, $alias:literal, $alias_cuda:literal, $doc:literal) => {
        impl Blas {
            #[doc = $doc]
            ///
            /// # Errors
            /// As [`Scaled::run`](crate::Scaled::run).
            #[doc(alias = $alias)]
            #[doc(alias = $alias_cuda)]
            pub fn $method<T: Scalar>(
                &self,
                fill: Fill,
                diag: Diag,
                a: &Packed<'_, T>,
                x: &mut VectorMut<'_, T>,
            ) -> Result<()> {
                const OPERATION: &str = stringify!($method);
                let parts = [reads("a", a.layout()), writes("x", x.layout())];
                let mut session = Session::new(self, OPERATION, &parts)?;
                let n = a.layout().size();
                same(OPERATION, ("x", "elements"), x.len(), n)?;
                let seen = a.layout().seen("a", T::IS_COMPLEX);
                let (uplo, trans) = (fill.raw(seen.transposed), seen.operation(OPERATION)?);
                let (n, diag) = (size(n), diag.raw());
                let (a, x) = (session.read(a)?, session.write(x)?);
                session.plain(&[n], |call| {
                    // SAFETY: the operands are registered on the stream, and are a matrix and a vector of
                    // `n`.
                    unsafe { <T as f::$trait>::$method(call, uplo, trans, diag, n, &a, &x) }
                })
            }
        }
    };
}

triangular_packed!(
    tpmv,
    Tpmv,
    "rocblas_stpmv",
    "cublasStpmv",
    "`x = A x`, `A` a packed triangle; does not wait (`rocblas_stpmv` and the like)."
);
triangular_packed!(
    tpsv,
    Tpsv,
    "rocblas_stpsv",
    "cublasStpsv",
    "Solves `A x = b`, `A` a packed triangle: `x` holds `b` before; does not wait (`rocblas_stpsv` and the like)."
);
