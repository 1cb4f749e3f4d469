//! Matrices with matrices.

/// Common methods of products: their factors, of this type, and the matrix to add.
macro_rules! factors {
    ($scale:ty) => {
        /// Sets the factor of the product.
        pub fn alpha(mut self, alpha: $scale) -> Self {
            self.alpha = Scale::Value(alpha);
            self
        }

        /// Sets the factor of the old contents of `C`, or of the matrix that is [added](Self::add) instead.
        pub fn beta(mut self, beta: $scale) -> Self {
            self.beta = Scale::Value(beta);
            self
        }

        /// Reads both factors from device memory when the operation runs.
        pub fn factors_from(
            mut self,
            alpha: impl Into<DeviceSlice<'b, $scale>>,
            beta: impl Into<DeviceSlice<'b, $scale>>,
        ) -> Self {
            self.alpha = Scale::Device(alpha.into());
            self.beta = Scale::Device(beta.into());
            self
        }

        /// `C = alpha A B + beta D` with another matrix `D`, in the same order as `C`, instead of `C`'s old
        /// contents.
        pub fn add(mut self, addend: &Matrix<'b, C>) -> Self {
            self.addend = Some(addend.clone());
            self
        }
    };
}

mod gemm;
mod gemm_f8;
mod symmetric;
mod triangular;

pub(crate) use gemm::product;
pub use gemm::{Gemm, GemmFlags};
pub use gemm_f8::GemmF8;

use crate::blas::Blas;
use crate::element::Scalar;
use crate::error::Result;
use crate::functions as f;
use crate::operation::{Scale, Session, Update, reads, writes};
use crate::plan::{
    Fill, Look as _, Side, multiplication, same, same_order, same_shape, size, square, written,
};
use crate::view::{Matrix, MatrixMut, Vector};

impl Blas {
    /// One triangle of a square `C = alpha A B + beta C` (`rocblas_sgemmt` and the like).
    #[doc(alias = "rocblas_sgemmt")]
    pub fn gemmt<'b, T: Scalar>(
        &'b self,
        fill: Fill,
        a: &Matrix<'b, T>,
        b: &Matrix<'b, T>,
        c: &'b mut MatrixMut<'_, T>,
    ) -> Update<'b, T, T, impl FnOnce(Scale<'b, T>, Scale<'b, T>) -> Result<()> + use<'b, T>> {
        let (a, b, mut c) = (a.clone(), b.clone(), c.reborrow());
        Update::new(move |alpha, beta| {
            let parts = [reads("a", a.layout()), reads("b", b.layout()), writes("c", c.layout())];
            let mut session = Session::new(self, "gemmt", &parts)?;
            square("gemmt", "c", c.layout())?;
            let plan = multiplication("gemmt", T::IS_COMPLEX, a.layout(), b.layout(), c.layout())?;
            let uplo = fill.raw(plan.flip);
            let (a, b, c) = (session.read(&a)?, session.read(&b)?, session.write(&mut c)?);
            let (a, b) = if plan.flip { (b, a) } else { (a, b) };
            session.update(&alpha, &beta, &[plan.n, plan.k], |call, (alpha, beta)| {
                let (first, second) = (plan.first, plan.second);
                // SAFETY: the operands are registered on the stream, and are matrices that fit each other.
                unsafe {
                    <T as f::Gemmt>::gemmt(call, uplo, first, second, plan.n, plan.k, alpha, &a, &b, beta, &c)
                }
            })
        })
    }

    /// `C = alpha A + beta B` (`rocblas_sgeam` and the like). Each may be transposed, so this also copies and
    /// transposes matrices.
    #[doc(alias = "rocblas_sgeam")]
    #[doc(alias = "cublasSgeam")]
    pub fn geam<'b, T: Scalar>(
        &'b self,
        a: &Matrix<'b, T>,
        b: &Matrix<'b, T>,
        c: &'b mut MatrixMut<'_, T>,
    ) -> Update<'b, T, T, impl FnOnce(Scale<'b, T>, Scale<'b, T>) -> Result<()> + use<'b, T>> {
        let (a, b, mut c) = (a.clone(), b.clone(), c.reborrow());
        Update::new(move |alpha, beta| {
            let parts = [reads("a", a.layout()), reads("b", b.layout()), writes("c", c.layout())];
            let mut session = Session::new(self, "geam", &parts)?;
            let shape = (c.rows(), c.cols());
            same_shape("geam", "a", a.layout(), shape)?;
            same_shape("geam", "b", b.layout(), shape)?;
            let flip = written("geam", c.layout().seen("c", T::IS_COMPLEX))?;
            let trans_a = a.layout().seen("a", T::IS_COMPLEX).flipped(flip).operation("geam")?;
            let trans_b = b.layout().seen("b", T::IS_COMPLEX).flipped(flip).operation("geam")?;
            let (m, n) = if flip { (shape.1, shape.0) } else { shape };
            let (m, n) = (size(m), size(n));
            // Empty matrices share one address, and AMD's library would refuse a C that is A or B transposed.
            if m == 0 || n == 0 {
                return Ok(());
            }
            let (a, b, c) = (session.read(&a)?, session.read(&b)?, session.write(&mut c)?);
            session.update(&alpha, &beta, &[m, n], |call, (alpha, beta)| {
                // SAFETY: the operands are registered on the stream, and are matrices of one shape.
                unsafe { <T as f::Geam>::geam(call, trans_a, trans_b, m, n, alpha, &a, beta, &b, &c) }
            })
        })
    }

    /// Scales the rows or the columns of a matrix: `C = diag(x) A` on the left, `C = A diag(x)` on the right;
    /// does not wait (`rocblas_sdgmm` and the like). `A` and `C` must be in the same order.
    ///
    /// # Errors
    /// As [`Scaled::run`](crate::Scaled::run).
    #[doc(alias = "rocblas_sdgmm")]
    #[doc(alias = "cublasSdgmm")]
    pub fn dgmm<T: Scalar>(
        &self,
        side: Side,
        a: &Matrix<'_, T>,
        x: &Vector<'_, T>,
        c: &mut MatrixMut<'_, T>,
    ) -> Result<()> {
        let parts = [reads("a", a.layout()), reads("x", x.layout()), writes("c", c.layout())];
        let mut session = Session::new(self, "dgmm", &parts)?;
        let shape = (c.rows(), c.cols());
        same_shape("dgmm", "a", a.layout(), shape)?;
        let expected = if side == Side::Left { shape.0 } else { shape.1 };
        same("dgmm", ("x", "elements"), x.len(), expected)?;
        let seen_c = c.layout().seen("c", T::IS_COMPLEX);
        let seen_a = a.layout().seen("a", T::IS_COMPLEX);
        let flip = written("dgmm", seen_c)?;
        same_order("dgmm", seen_a, seen_c)?;
        seen_a.plain("dgmm")?;
        let (m, n) = if flip { (shape.1, shape.0) } else { shape };
        let (side, m, n) = (side.raw(flip), size(m), size(n));
        let (a, x, c) = (session.read(a)?, session.read(x)?, session.write(c)?);
        session.plain(&[m, n], |call| {
            // SAFETY: the operands are registered on the stream, and are matrices of one shape and a vector
            // that fits them.
            unsafe { <T as f::Dgmm>::dgmm(call, side, m, n, &a, &x, &c) }
        })
    }
}
