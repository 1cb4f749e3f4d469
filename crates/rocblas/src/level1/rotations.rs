//! Plane rotations.

use hip::DeviceSlice;
use rocblas_sys::rocblas_pointer_mode;

use super::same_len;
use crate::blas::Blas;
use crate::element::{Complex, Element, One, Real, Scalar};
use crate::error::{Error, Result};
use crate::functions::{self as f, Address, Operand};
use crate::layout::{Batch, Layout as _, VectorLayout};
use crate::operation::{Scale, Session, reads, writes};
use crate::plan::size;
use crate::view::{Vector, VectorMut};

/// A rotation that makes the second of two numbers zero: `r = c a + s b` and `0 = c b - conj(s) a`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rotation<T, R> {
    /// The first number after the rotation.
    pub r: T,
    /// For real numbers, a value from which `c` and `s` can be recovered; else the old `b`.
    pub z: T,
    /// The cosine.
    pub c: R,
    /// The sine.
    pub s: T,
}

/// A modified rotation: the flag and the four elements of the matrix, `[flag, h11, h21, h12, h22]`.
///
/// | flag | the matrix |
/// |---|---|
/// | -1 | all four elements |
/// | 0 | ones on the diagonal |
/// | 1 | `h12 = 1`, `h21 = -1` |
/// | -2 | the identity |
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModifiedRotation<T> {
    /// The flag and the matrix.
    pub parameters: [T; 5],
    /// The first factor after the rotation.
    pub d1: T,
    /// The second factor after the rotation.
    pub d2: T,
    /// The first number after the rotation.
    pub x1: T,
}

/// A scalar as an operand.
fn on_host<T: Element>(value: &mut T) -> Operand {
    Operand { address: Address::host(value), ld: 1, stride: 0, datatype: T::DATATYPE }
}

impl Blas {
    /// Rotates the points `(x[i], y[i])`: `x = c x + s y` and `y = c y - conj(s) x`; does not wait
    /// (`rocblas_srot` and the like).
    ///
    /// # Errors
    /// As [`Scaled::run`](crate::Scaled::run).
    #[doc(alias = "rocblas_srot")]
    #[doc(alias = "cublasSrot")]
    pub fn rot<T: Scalar>(
        &self,
        x: &mut VectorMut<'_, T>,
        y: &mut VectorMut<'_, T>,
        c: T::Real,
        s: T,
    ) -> Result<()> {
        // SAFETY: `rotated` gives operands of `n` elements, and the scalars are where the mode says.
        self.rotated("rot", x, y, (&Scale::Value(c), &Scale::Value(s)), |call, n, x, y, c, s| unsafe {
            <T as f::Rot>::rot(call, n, x, y, c, s)
        })
    }

    /// [`rot`](Self::rot) with the cosine and the sine from device memory, one element each.
    ///
    /// # Errors
    /// As there.
    pub fn rot_from<T: Scalar>(
        &self,
        x: &mut VectorMut<'_, T>,
        y: &mut VectorMut<'_, T>,
        c: DeviceSlice<'_, T::Real>,
        s: DeviceSlice<'_, T>,
    ) -> Result<()> {
        // SAFETY: as for `rot`.
        self.rotated("rot", x, y, (&Scale::Device(c), &Scale::Device(s)), |call, n, x, y, c, s| unsafe {
            <T as f::Rot>::rot(call, n, x, y, c, s)
        })
    }

    /// [`rot`](Self::rot) with a real sine (`rocblas_csrot`, `rocblas_zdrot`).
    ///
    /// # Errors
    /// As there.
    #[doc(alias = "rocblas_csrot")]
    #[doc(alias = "cublasCsrot")]
    pub fn rot_real<T: Complex>(
        &self,
        x: &mut VectorMut<'_, T>,
        y: &mut VectorMut<'_, T>,
        c: T::Real,
        s: T::Real,
    ) -> Result<()> {
        // SAFETY: as for `rot`.
        self.rotated("rot_real", x, y, (&Scale::Value(c), &Scale::Value(s)), |call, n, x, y, c, s| unsafe {
            <T as f::RotReal>::rot_real(call, n, x, y, c, s)
        })
    }

    /// Rotates two vectors with the given scalars.
    pub(crate) fn rotated<X: Element, Y: Element, C: Element, S: Element>(
        &self,
        operation: &'static str,
        x: &mut VectorMut<'_, X>,
        y: &mut VectorMut<'_, Y>,
        (c, s): (&Scale<'_, C>, &Scale<'_, S>),
        enqueue: impl FnOnce(&f::Call<'_>, i64, &Operand, &Operand, Address, Address) -> Result<()>,
    ) -> Result<()> {
        let parts = [writes("x", x.layout()), writes("y", y.layout())];
        let mut session = Session::new(self, operation, &parts)?;
        same_len(operation, x.layout(), y.layout())?;
        let n = size(x.len());
        let (x, y) = (session.write(x)?, session.write(y)?);
        session.update(c, s, &[n], |call, (c, s)| enqueue(call, n, &x, &y, c, s))
    }

    /// The rotation that makes `b` zero, computed by the library on the host (`rocblas_srotg` and the like).
    ///
    /// # Errors
    /// As [`Scaled::run`](crate::Scaled::run).
    #[doc(alias = "rocblas_srotg")]
    #[doc(alias = "cublasSrotg")]
    pub fn rotg<T: Scalar>(&self, a: T, b: T) -> Result<Rotation<T, T::Real>> {
        let (mut a, mut b, mut c, mut s) = (a, b, <T::Real as One>::ZERO, T::ZERO);
        let session = Session::new(self, "rotg", &[])?;
        let operands = (on_host(&mut a), on_host(&mut b), on_host(&mut c), on_host(&mut s));
        // SAFETY: in the host's pointer mode, the function reads and writes the four numbers before it
        // returns.
        session.plain(&[], |call| unsafe {
            <T as f::Rotg>::rotg(call, &operands.0, &operands.1, &operands.2, &operands.3)
        })?;
        Ok(Rotation { r: a, z: b, c, s })
    }

    /// [`rotg`](Self::rotg) in device memory: `a` becomes `r` and `b` becomes `z`; does not wait. The
    /// operands are vectors of one element, or batches of such vectors.
    ///
    /// # Errors
    /// As there.
    pub fn rotg_in<T: Scalar>(
        &self,
        a: &mut VectorMut<'_, T>,
        b: &mut VectorMut<'_, T>,
        c: &mut VectorMut<'_, T::Real>,
        s: &mut VectorMut<'_, T>,
    ) -> Result<()> {
        let parts = [
            writes("a", a.layout()),
            writes("b", b.layout()),
            writes("c", c.layout()),
            writes("s", s.layout()),
        ];
        let mut session = Session::new(self, "rotg", &parts)?;
        for (name, layout) in [("a", a.layout()), ("b", b.layout()), ("c", c.layout()), ("s", s.layout())] {
            side_by_side("rotg", name, layout, 1)?;
        }
        let operands = (session.write(a)?, session.write(b)?, session.write(c)?, session.write(s)?);
        // SAFETY: the operands are registered on the stream and hold an element for each operation of the
        // batch.
        session.enqueue(rocblas_pointer_mode::rocblas_pointer_mode_device, &[], |call| unsafe {
            <T as f::Rotg>::rotg(call, &operands.0, &operands.1, &operands.2, &operands.3)
        })
    }

    /// Applies a modified rotation to the points `(x[i], y[i])`; does not wait (`rocblas_srotm`,
    /// `rocblas_drotm`).
    ///
    /// # Errors
    /// As [`Scaled::run`](crate::Scaled::run); [`Error::BatchCount`] for batches; use
    /// [`rotm_from`](Self::rotm_from) for those.
    #[doc(alias = "rocblas_srotm")]
    #[doc(alias = "cublasSrotm")]
    pub fn rotm<T: Real>(
        &self,
        x: &mut VectorMut<'_, T>,
        y: &mut VectorMut<'_, T>,
        parameters: [T; 5],
    ) -> Result<()> {
        let parts = [writes("x", x.layout()), writes("y", y.layout())];
        let mut session = Session::new(self, "rotm", &parts)?;
        same_len("rotm", x.layout(), y.layout())?;
        if x.layout().batch() != Batch::One {
            let got = session.count;
            return Err(Error::BatchCount { operation: "rotm", operand: "x", expected: 1, got });
        }
        let n = size(x.len());
        let (x, y) = (session.write(x)?, session.write(y)?);
        let [mut flag, ..] = parameters;
        let address = Address::host(parameters.as_ptr());
        let parameters = Operand { address, ..on_host(&mut flag) };
        // SAFETY: the operands are registered on the stream and hold `n` elements at these increments; in the
        // host's pointer mode, the function reads the five parameters before it returns.
        session.plain(&[n], |call| unsafe { <T as f::Rotm>::rotm(call, n, &x, &y, &parameters) })
    }

    /// [`rotm`](Self::rotm) with five contiguous parameters in device memory for each operation of the batch.
    ///
    /// # Errors
    /// As [`Scaled::run`](crate::Scaled::run).
    pub fn rotm_from<T: Real>(
        &self,
        x: &mut VectorMut<'_, T>,
        y: &mut VectorMut<'_, T>,
        parameters: &Vector<'_, T>,
    ) -> Result<()> {
        let parts =
            [writes("x", x.layout()), writes("y", y.layout()), reads("parameters", parameters.layout())];
        let mut session = Session::new(self, "rotm", &parts)?;
        same_len("rotm", x.layout(), y.layout())?;
        side_by_side("rotm", "parameters", parameters.layout(), 5)?;
        let n = size(x.len());
        let (x, y) = (session.write(x)?, session.write(y)?);
        let parameters = session.read(parameters)?;
        // SAFETY: the operands are registered on the stream and hold `n` elements at these increments, and
        // five parameters.
        session.enqueue(rocblas_pointer_mode::rocblas_pointer_mode_device, &[n], |call| unsafe {
            <T as f::Rotm>::rotm(call, n, &x, &y, &parameters)
        })
    }

    /// The modified rotation that makes `sqrt(d2) y1` zero, computed by the library on the host
    /// (`rocblas_srotmg`, `rocblas_drotmg`).
    ///
    /// # Errors
    /// As [`Scaled::run`](crate::Scaled::run).
    #[doc(alias = "rocblas_srotmg")]
    #[doc(alias = "cublasSrotmg")]
    pub fn rotmg<T: Real>(&self, d1: T, d2: T, x1: T, y1: T) -> Result<ModifiedRotation<T>> {
        let (mut d1, mut d2, mut x1, mut y1) = (d1, d2, x1, y1);
        let mut parameters = [T::ZERO; 5];
        let mut flag = T::ZERO;
        let session = Session::new(self, "rotmg", &[])?;
        let address = Address::host(parameters.as_mut_ptr());
        let written = Operand { address, ..on_host(&mut flag) };
        let operands = (on_host(&mut d1), on_host(&mut d2), on_host(&mut x1), on_host(&mut y1));
        // SAFETY: in the host's pointer mode, the function reads and writes the numbers before it returns.
        session.plain(&[], |call| unsafe {
            <T as f::Rotmg>::rotmg(call, &operands.0, &operands.1, &operands.2, &operands.3, &written)
        })?;
        Ok(ModifiedRotation { parameters, d1, d2, x1 })
    }

    /// [`rotmg`](Self::rotmg) in device memory: `d1`, `d2` and `x1` change, and the five parameters are
    /// written; does not wait. The operands are vectors of one and of five elements, or batches of such
    /// vectors.
    ///
    /// # Errors
    /// As there.
    pub fn rotmg_in<T: Real>(
        &self,
        d1: &mut VectorMut<'_, T>,
        d2: &mut VectorMut<'_, T>,
        x1: &mut VectorMut<'_, T>,
        y1: &Vector<'_, T>,
        parameters: &mut VectorMut<'_, T>,
    ) -> Result<()> {
        let parts = [
            writes("d1", d1.layout()),
            writes("d2", d2.layout()),
            writes("x1", x1.layout()),
            reads("y1", y1.layout()),
            writes("parameters", parameters.layout()),
        ];
        let mut session = Session::new(self, "rotmg", &parts)?;
        let ones = [("d1", d1.layout()), ("d2", d2.layout()), ("x1", x1.layout()), ("y1", y1.layout())];
        for (name, layout) in ones {
            side_by_side("rotmg", name, layout, 1)?;
        }
        side_by_side("rotmg", "parameters", parameters.layout(), 5)?;
        let (d1, d2, x1) = (session.write(d1)?, session.write(d2)?, session.write(x1)?);
        let (y1, parameters) = (session.read(y1)?, session.write(parameters)?);
        // SAFETY: the operands are registered on the stream and hold enough elements for each operation of
        // the batch.
        session.enqueue(rocblas_pointer_mode::rocblas_pointer_mode_device, &[], |call| unsafe {
            <T as f::Rotmg>::rotmg(call, &d1, &d2, &x1, &y1, &parameters)
        })
    }
}

/// An error unless a vector has this many elements without gaps.
fn side_by_side(
    operation: &'static str,
    operand: &'static str,
    layout: &VectorLayout,
    expected: usize,
) -> Result<()> {
    crate::plan::same(operation, (operand, "elements"), layout.len(), expected)?;
    if expected > 1 && layout.increment() != 1 {
        return Err(Error::Increment { operation, operand, got: layout.increment() });
    }
    Ok(())
}
