//! Vectors with vectors.

mod rotations;

pub use rotations::{ModifiedRotation, Rotation};

use crate::blas::Blas;
use crate::element::{AxpyScalar, Complex, DotScalar, Scalar};
use crate::error::{Error, Result};
use crate::functions as f;
use crate::layout::VectorLayout;
use crate::operation::{Indices, Reduction, Scale, Scaled, Search, Session, reads, writes};
use crate::plan::{same, size};
use crate::view::{Vector, VectorMut};

/// An error unless `y` has as many elements as `x`.
pub(crate) fn same_len(operation: &'static str, x: &VectorLayout, y: &VectorLayout) -> Result<()> {
    same(operation, ("y", "elements"), y.len(), x.len())
}

/// The size and increment of a vector for functions that ignore order and do nothing for a negative
/// increment.
fn forward<T: crate::Element>(view: &Vector<'_, T>) -> (i64, i64) {
    let layout = view.layout().forward();
    (size(layout.len()), layout.increment() as i64)
}

impl Blas {
    /// `y = alpha x + y` (`rocblas_saxpy` and the like).
    ///
    /// ```no_run
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let stream = hip::Device::open("auto")?.stream()?;
    /// use rocblas::{Blas, Vector, VectorMut};
    ///
    /// let blas = Blas::new(&stream)?;
    /// let x = hip::DeviceBuffer::from_slice(&stream, &[1.0_f32, 2.0])?;
    /// let mut y = hip::DeviceBuffer::from_slice(&stream, &[10.0_f32, 20.0])?;
    /// blas.axpy(&Vector::of(&x)?, &mut VectorMut::of(&mut y)?).alpha(3.0).run()?;
    /// assert_eq!(y.to_vec(&stream)?, [13.0, 26.0]);
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "rocblas_saxpy")]
    #[doc(alias = "cublasSaxpy")]
    pub fn axpy<'b, T: AxpyScalar>(
        &'b self,
        x: &Vector<'b, T>,
        y: &'b mut VectorMut<'_, T>,
    ) -> Scaled<'b, T, impl FnOnce(Scale<'b, T>) -> Result<()> + use<'b, T>> {
        let (x, mut y) = (x.clone(), y.reborrow());
        Scaled::new(move |alpha| {
            let mut session = Session::new(self, "axpy", &[reads("x", x.layout()), writes("y", y.layout())])?;
            same_len("axpy", x.layout(), y.layout())?;
            let n = size(x.len());
            let (x, y) = (session.read(&x)?, session.write(&mut y)?);
            session.scaled(&alpha, &[n], |call, alpha| {
                // SAFETY: the operands are registered on the stream and hold `n` elements at these
                // increments.
                unsafe { <T as f::Axpy>::axpy(call, n, alpha, &x, &y) }
            })
        })
    }

    /// `x = alpha x` (`rocblas_sscal` and the like).
    #[doc(alias = "rocblas_sscal")]
    #[doc(alias = "cublasSscal")]
    pub fn scal<'b, T: Scalar>(
        &'b self,
        x: &'b mut VectorMut<'_, T>,
    ) -> Scaled<'b, T, impl FnOnce(Scale<'b, T>) -> Result<()> + use<'b, T>> {
        let mut x = x.reborrow();
        Scaled::new(move |alpha| {
            let mut session = Session::new(self, "scal", &[writes("x", x.layout())])?;
            let (n, increment) = forward(&x.view());
            let x = f::Operand { ld: increment, ..session.write(&mut x)? };
            session.scaled(&alpha, &[n], |call, alpha| {
                // SAFETY: the operand is registered on the stream and holds `n` elements at this increment.
                unsafe { <T as f::Scal>::scal(call, n, alpha, &x) }
            })
        })
    }

    /// `x = alpha x` with a real factor (`rocblas_csscal`, `rocblas_zdscal`).
    #[doc(alias = "rocblas_csscal")]
    #[doc(alias = "cublasCsscal")]
    pub fn scal_real<'b, T: Complex>(
        &'b self,
        x: &'b mut VectorMut<'_, T>,
    ) -> Scaled<'b, T::Real, impl FnOnce(Scale<'b, T::Real>) -> Result<()> + use<'b, T>> {
        let mut x = x.reborrow();
        Scaled::new(move |alpha| {
            let mut session = Session::new(self, "scal_real", &[writes("x", x.layout())])?;
            let (n, increment) = forward(&x.view());
            let x = f::Operand { ld: increment, ..session.write(&mut x)? };
            session.scaled(&alpha, &[n], |call, alpha| {
                // SAFETY: as for `scal`.
                unsafe { <T as f::ScalReal>::scal_real(call, n, alpha, &x) }
            })
        })
    }

    /// `y = x`; does not wait (`rocblas_scopy` and the like).
    ///
    /// # Errors
    /// As [`Scaled::run`].
    #[doc(alias = "rocblas_scopy")]
    #[doc(alias = "cublasScopy")]
    pub fn copy<T: Scalar>(&self, x: &Vector<'_, T>, y: &mut VectorMut<'_, T>) -> Result<()> {
        let mut session = Session::new(self, "copy", &[reads("x", x.layout()), writes("y", y.layout())])?;
        same_len("copy", x.layout(), y.layout())?;
        let n = size(x.len());
        let (x, y) = (session.read(x)?, session.write(y)?);
        // SAFETY: the operands are registered on the stream and hold `n` elements at these increments.
        session.plain(&[n], |call| unsafe { <T as f::Copy>::copy(call, n, &x, &y) })
    }

    /// Exchanges `x` and `y`; does not wait (`rocblas_sswap` and the like).
    ///
    /// # Errors
    /// As [`Scaled::run`].
    #[doc(alias = "rocblas_sswap")]
    #[doc(alias = "cublasSswap")]
    pub fn swap<T: Scalar>(&self, x: &mut VectorMut<'_, T>, y: &mut VectorMut<'_, T>) -> Result<()> {
        let mut session = Session::new(self, "swap", &[writes("x", x.layout()), writes("y", y.layout())])?;
        same_len("swap", x.layout(), y.layout())?;
        let n = size(x.len());
        let (x, y) = (session.write(x)?, session.write(y)?);
        // SAFETY: the operands are registered on the stream and hold `n` elements at these increments.
        session.plain(&[n], |call| unsafe { <T as f::Swap>::swap(call, n, &x, &y) })
    }

    /// The sum of `x[i] y[i]` (`rocblas_sdot` and the like; for complex numbers, `rocblas_cdotu`).
    ///
    /// ```no_run
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let stream = hip::Device::open("auto")?.stream()?;
    /// # use rocblas::{Blas, Vector};
    /// # let blas = Blas::new(&stream)?;
    /// let x = hip::DeviceBuffer::from_slice(&stream, &[1.0_f64, 2.0, 3.0])?;
    /// let x = Vector::of(&x)?;
    /// assert_eq!(blas.dot(&x, &x).run()?, 14.0);
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "rocblas_sdot")]
    #[doc(alias = "cublasSdot")]
    pub fn dot<'b, T: DotScalar>(
        &'b self,
        x: &Vector<'b, T>,
        y: &Vector<'b, T>,
    ) -> Reduction<'b, T, impl FnOnce(&mut hip::DeviceSliceMut<'_, T>) -> Result<()> + use<'b, T>> {
        let (x, y) = (x.clone(), y.clone());
        let parts = [reads("x", x.layout()), reads("y", y.layout())];
        Reduction::new(self, "dot", &parts, move |results| {
            let mut session = Session::new(self, "dot", &parts)?;
            same_len("dot", x.layout(), y.layout())?;
            let n = size(x.len());
            let (x, y) = (session.read(&x)?, session.read(&y)?);
            session.results(results, &[n], |call, result| {
                // SAFETY: the operands are registered on the stream and hold `n` elements at these
                // increments, and there is a place for each result.
                unsafe { <T as f::Dot>::dot(call, n, &x, &y, result) }
            })
        })
    }

    /// The sum of `conj(x[i]) y[i]` (`rocblas_cdotc`, `rocblas_zdotc`).
    #[doc(alias = "rocblas_cdotc")]
    #[doc(alias = "cublasCdotc")]
    pub fn dotc<'b, T: Complex>(
        &'b self,
        x: &Vector<'b, T>,
        y: &Vector<'b, T>,
    ) -> Reduction<'b, T, impl FnOnce(&mut hip::DeviceSliceMut<'_, T>) -> Result<()> + use<'b, T>> {
        let (x, y) = (x.clone(), y.clone());
        let parts = [reads("x", x.layout()), reads("y", y.layout())];
        Reduction::new(self, "dotc", &parts, move |results| {
            let mut session = Session::new(self, "dotc", &parts)?;
            same_len("dotc", x.layout(), y.layout())?;
            let n = size(x.len());
            let (x, y) = (session.read(&x)?, session.read(&y)?);
            session.results(results, &[n], |call, result| {
                // SAFETY: as for `dot`.
                unsafe { <T as f::Dotc>::dotc(call, n, &x, &y, result) }
            })
        })
    }
}

/// A norm of a vector.
macro_rules! norm {
    ($method:ident, $trait:ident, $alias:literal, $alias_cuda:literal, $doc:literal) => {
        impl Blas {
            #[doc = $doc]
            #[doc(alias = $alias)]
            #[doc(alias = $alias_cuda)]
            pub fn $method<'b, T: Scalar>(
                &'b self,
                x: &Vector<'b, T>,
            ) -> Reduction<
                'b,
                T::Real,
                impl FnOnce(&mut hip::DeviceSliceMut<'_, T::Real>) -> Result<()> + use<'b, T>,
            > {
                let x = x.clone();
                let parts = [reads("x", x.layout())];
                Reduction::new(self, stringify!($method), &parts, move |results| {
                    let mut session = Session::new(self, stringify!($method), &parts)?;
                    let (n, increment) = forward(&x);
                    let x = f::Operand { ld: increment, ..session.read(&x)? };
                    session.results(results, &[n], |call, result| {
                        // SAFETY: the operand is registered on the stream and holds `n` elements at this
                        // increment, and there is a place for each result.
                        unsafe { <T as f::$trait>::$method(call, n, &x, result) }
                    })
                })
            }
        }
    };
}

norm!(
    nrm2,
    Nrm2,
    "rocblas_snrm2",
    "cublasSnrm2",
    "The Euclidean norm of `x` (`rocblas_snrm2` and the like), without intermediate overflow."
);
norm!(
    asum,
    Asum,
    "rocblas_sasum",
    "cublasSasum",
    "The sum of the absolute values of the elements of `x`; for complex elements, of both parts (`rocblas_sasum` and the like)."
);

/// A search for an element.
macro_rules! search {
    ($method:ident, $trait:ident, $alias:literal, $alias_cuda:literal, $doc:literal) => {
        impl Blas {
            #[doc = $doc]
            #[doc(alias = $alias)]
            #[doc(alias = $alias_cuda)]
            pub fn $method<'b, T: Scalar>(
                &'b self,
                x: &Vector<'b, T>,
            ) -> Search<'b, impl FnOnce(Indices<'_, '_>) -> Result<()> + use<'b, T>> {
                let x = x.clone();
                let parts = [reads("x", x.layout())];
                let increment = x.layout().increment();
                let sizes = [size(x.len()), increment as i64];
                Search::new(self, stringify!($method), &parts, &sizes, move |indices| {
                    let mut session = Session::new(self, stringify!($method), &parts)?;
                    if increment < 0 {
                        let operation = stringify!($method);
                        return Err(Error::Increment { operation, operand: "x", got: increment });
                    }
                    let n = size(x.len());
                    let x = session.read(&x)?;
                    // SAFETY: the operand is registered on the stream and holds `n` elements at this
                    // increment, and there is a place for each result.
                    let call = |call: &f::Call<'_>, result| unsafe {
                        <T as f::$trait>::$method(call, n, &x, result)
                    };
                    match indices {
                        Indices::Narrow(results) => session.results(results, &[n], call),
                        Indices::Wide(results) => {
                            session.widen();
                            session.results(results, &[n], call)
                        }
                    }
                })
            }
        }
    };
}

search!(
    iamax,
    Iamax,
    "rocblas_isamax",
    "cublasIsamax",
    "The index of the element of `x` with the largest absolute value; for complex elements, the largest sum of those of both parts; the first of \
     several (`rocblas_isamax` and the like). The increment of `x` must be positive."
);
search!(
    iamin,
    Iamin,
    "rocblas_isamin",
    "cublasIsamin",
    "The index of the element of `x` with the smallest absolute value: as [`iamax`](Self::iamax) (`rocblas_isamin` and the like)."
);
