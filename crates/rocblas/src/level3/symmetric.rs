//! Symmetric and Hermitian matrices with matrices.

use rocblas_sys::rocblas_operation;

use crate::blas::Blas;
use crate::element::{Complex, Scalar};
use crate::error::{Error, Result};
use crate::functions as f;
use crate::operation::{Scale, Session, Update, reads, writes};
use crate::plan::{Fill, Look as _, Seen, Side, same, same_order, same_shape, size, square, written};
use crate::view::{Matrix, MatrixMut};

/// `C = alpha A B + beta C` or `C = alpha B A + beta C`, with a triangle of `A`.
macro_rules! multiply {
    ($method:ident, $trait:ident, $bound:ident, $hermitian:literal, $alias:literal, $alias_cuda:literal, $doc:literal) => {
        impl Blas {
            #[doc = $doc]
            #[doc(alias = $alias)]
            #[doc(alias = $alias_cuda)]
            #[allow(clippy::too_many_arguments, reason = "BLAS defines the arguments")]
            pub fn $method<'b, T: $bound>(
                &'b self,
                side: Side,
                fill: Fill,
                a: &Matrix<'b, T>,
                b: &Matrix<'b, T>,
                c: &'b mut MatrixMut<'_, T>,
            ) -> Update<'b, T, T, impl FnOnce(Scale<'b, T>, Scale<'b, T>) -> Result<()> + use<'b, T>> {
                let (a, b, mut c) = (a.clone(), b.clone(), c.reborrow());
                Update::new(move |alpha, beta| {
                    const OPERATION: &str = stringify!($method);
                    let parts = [reads("a", a.layout()), reads("b", b.layout()), writes("c", c.layout())];
                    let mut session = Session::new(self, OPERATION, &parts)?;
                    let shape = (c.rows(), c.cols());
                    same_shape(OPERATION, "b", b.layout(), shape)?;
                    let expected = if side == Side::Left { shape.0 } else { shape.1 };
                    same(OPERATION, ("a", "rows"), square(OPERATION, "a", a.layout())?, expected)?;
                    let seen_b = b.layout().seen("b", T::IS_COMPLEX);
                    let seen_c = c.layout().seen("c", T::IS_COMPLEX);
                    let flip = written(OPERATION, seen_c)?;
                    same_order(OPERATION, seen_b, seen_c)?;
                    seen_b.plain(OPERATION)?;
                    let seen = a.layout().seen("a", T::IS_COMPLEX);
                    seen.flipped(flip).own_transpose(OPERATION, $hermitian)?;
                    let (side, uplo) = (side.raw(flip), fill.raw(seen.transposed));
                    let (m, n) = if flip { (shape.1, shape.0) } else { shape };
                    let (m, n) = (size(m), size(n));
                    let (a, b, c) = (session.read(&a)?, session.read(&b)?, session.write(&mut c)?);
                    session.update(&alpha, &beta, &[m, n], |call, (alpha, beta)| {
                        // SAFETY: the operands are registered on the stream, and are matrices that fit each
                        // other.
                        unsafe { <T as f::$trait>::$method(call, side, uplo, m, n, alpha, &a, &b, beta, &c) }
                    })
                })
            }
        }
    };
}

multiply!(
    symm,
    Symm,
    Scalar,
    false,
    "rocblas_ssymm",
    "cublasSsymm",
    "`C = alpha A B + beta C` with `A` on the left, or `C = alpha B A + beta C`, `A` symmetric: only one triangle of it is read \
     (`rocblas_ssymm` and the like). `B` and `C` must be in the same order."
);
multiply!(
    hemm,
    Hemm,
    Complex,
    true,
    "rocblas_chemm",
    "cublasChemm",
    "`C = alpha A B + beta C` with `A` on the left, or `C = alpha B A + beta C`, `A` Hermitian: only one triangle of it is read \
     (`rocblas_chemm`, `rocblas_zhemm`). All three must be in the same order."
);

/// For a product of a matrix with its own transpose, in a triangle: the transposition argument.
fn own_product(operation: &'static str, a: Seen, hermitian: bool, flip: bool) -> Result<rocblas_operation> {
    // The transpose of a symmetric product is the product itself; that of a Hermitian one is its conjugate.
    let a = a.conjugated(hermitian && flip);
    match (a.transposed, a.conjugated, hermitian) {
        (false, false, _) | (true, false, false) | (true, true, true) => a.operation(operation),
        (true, ..) => Err(Error::Transposition { operation, operand: a.name }),
        (false, true, _) => a.operation(operation),
    }
}

/// `C = alpha A Aᵀ + beta C` or the like.
macro_rules! update_one {
    ($method:ident, $trait:ident, $bound:ident, $scale:ty, $hermitian:literal, $alias:literal, $alias_cuda:literal, $doc:literal) => {
        impl Blas {
            #[doc = $doc]
            #[doc(alias = $alias)]
            #[doc(alias = $alias_cuda)]
            pub fn $method<'b, T: $bound>(
                &'b self,
                fill: Fill,
                a: &Matrix<'b, T>,
                c: &'b mut MatrixMut<'_, T>,
            ) -> Update<
                'b,
                $scale,
                $scale,
                impl FnOnce(Scale<'b, $scale>, Scale<'b, $scale>) -> Result<()> + use<'b, T>,
            > {
                let (a, mut c) = (a.clone(), c.reborrow());
                Update::new(move |alpha, beta| {
                    const OPERATION: &str = stringify!($method);
                    let parts = [reads("a", a.layout()), writes("c", c.layout())];
                    let mut session = Session::new(self, OPERATION, &parts)?;
                    let n = square(OPERATION, "c", c.layout())?;
                    same(OPERATION, ("a", "rows"), a.rows(), n)?;
                    let flip = written(OPERATION, c.layout().seen("c", T::IS_COMPLEX))?;
                    let seen = a.layout().seen("a", T::IS_COMPLEX);
                    let trans = own_product(OPERATION, seen, $hermitian, flip)?;
                    let (uplo, n, k) = (fill.raw(flip), size(n), size(a.cols()));
                    let (a, c) = (session.read(&a)?, session.write(&mut c)?);
                    session.update(&alpha, &beta, &[n, k], |call, (alpha, beta)| {
                        // SAFETY: the operands are registered on the stream, and are matrices that fit each
                        // other.
                        unsafe { <T as f::$trait>::$method(call, uplo, trans, n, k, alpha, &a, beta, &c) }
                    })
                })
            }
        }
    };
}

update_one!(
    syrk,
    Syrk,
    Scalar,
    T,
    false,
    "rocblas_ssyrk",
    "cublasSsyrk",
    "One triangle of `C = alpha A Aᵀ + beta C` (`rocblas_ssyrk` and the like); with `a.t()` it is `alpha Aᵀ A`."
);
update_one!(
    herk,
    Herk,
    Complex,
    T::Real,
    true,
    "rocblas_cherk",
    "cublasCherk",
    "One triangle of `C = alpha A Aᴴ + beta C` (`rocblas_cherk`, `rocblas_zherk`); with `a.h()` it is `alpha Aᴴ A`. `A` and `C` must be in \
     the same order, or `a.h()` and `C`."
);

/// `C = alpha A Bᵀ + beta C` or the like.
macro_rules! update_two {
    ($method:ident, $trait:ident, $bound:ident, $beta:ty, $hermitian:literal, $alias:literal, $alias_cuda:literal, $doc:literal) => {
        impl Blas {
            #[doc = $doc]
            #[doc(alias = $alias)]
            #[doc(alias = $alias_cuda)]
            pub fn $method<'b, T: $bound>(
                &'b self,
                fill: Fill,
                a: &Matrix<'b, T>,
                b: &Matrix<'b, T>,
                c: &'b mut MatrixMut<'_, T>,
            ) -> Update<'b, T, $beta, impl FnOnce(Scale<'b, T>, Scale<'b, $beta>) -> Result<()> + use<'b, T>>
            {
                let (a, b, mut c) = (a.clone(), b.clone(), c.reborrow());
                Update::new(move |alpha, beta| {
                    const OPERATION: &str = stringify!($method);
                    let parts = [reads("a", a.layout()), reads("b", b.layout()), writes("c", c.layout())];
                    let mut session = Session::new(self, OPERATION, &parts)?;
                    let n = square(OPERATION, "c", c.layout())?;
                    same(OPERATION, ("a", "rows"), a.rows(), n)?;
                    same_shape(OPERATION, "b", b.layout(), (n, a.cols()))?;
                    let flip = written(OPERATION, c.layout().seen("c", T::IS_COMPLEX))?;
                    let seen_a = a.layout().seen("a", T::IS_COMPLEX);
                    let seen_b = b.layout().seen("b", T::IS_COMPLEX);
                    let trans = own_product(OPERATION, seen_a, $hermitian, flip)?;
                    same_order(OPERATION, seen_b, seen_a)?;
                    own_product(OPERATION, seen_b, $hermitian, flip)?;
                    let (uplo, n, k) = (fill.raw(flip), size(n), size(a.cols()));
                    let (a, b, c) = (session.read(&a)?, session.read(&b)?, session.write(&mut c)?);
                    // In the transposed equation, the matrices change places.
                    let (a, b) = if flip { (b, a) } else { (a, b) };
                    session.update(&alpha, &beta, &[n, k], |call, (alpha, beta)| {
                        // SAFETY: the operands are registered on the stream, and are matrices that fit each
                        // other.
                        unsafe { <T as f::$trait>::$method(call, uplo, trans, n, k, alpha, &a, &b, beta, &c) }
                    })
                })
            }
        }
    };
}

update_two!(
    syr2k,
    Syr2k,
    Scalar,
    T,
    false,
    "rocblas_ssyr2k",
    "cublasSsyr2k",
    "One triangle of `C = alpha (A Bᵀ + B Aᵀ) + beta C` (`rocblas_ssyr2k` and the like). `A` and `B` must be in the same order."
);
update_two!(
    her2k,
    Her2k,
    Complex,
    T::Real,
    true,
    "rocblas_cher2k",
    "cublasCher2k",
    "One triangle of `C = alpha A Bᴴ + conj(alpha) B Aᴴ + beta C` (`rocblas_cher2k`, `rocblas_zher2k`). All must be in the same order, or `C` and \
     the conjugate transposes of both."
);
update_two!(
    syrkx,
    Syrkx,
    Scalar,
    T,
    false,
    "rocblas_ssyrkx",
    "cublasSsyrkx",
    "One triangle of `C = alpha A Bᵀ + beta C`, if that is symmetric (`rocblas_ssyrkx` and the like). `A` and `B` must be in the same order."
);
update_two!(
    herkx,
    Herkx,
    Complex,
    T::Real,
    true,
    "rocblas_cherkx",
    "cublasCherkx",
    "One triangle of `C = alpha A Bᴴ + beta C`, if that is Hermitian (`rocblas_cherkx`, `rocblas_zherkx`). All must be in the same order, or \
     `C` and the conjugate transposes of both."
);
