//! The element types of vectors and matrices, and the routines that exist for them.

use half::{bf16, f16};
use hip::DeviceCopy;
use num_complex::{Complex32, Complex64};
use rocblas_sys::rocblas_datatype;

use crate::functions as f;

mod sealed {
    pub trait Sealed: Copy {
        /// The complex conjugate.
        #[cfg(feature = "ndarray")]
        fn conjugate(self) -> Self {
            self
        }
    }
}

/// An element type of operands. This trait is sealed.
///
/// Routines have narrower bounds: [`Scalar`] for most, [`Real`] and [`Complex`] for those that exist only for
/// one kind.
pub trait Element: DeviceCopy + std::fmt::Debug + PartialEq + sealed::Sealed {
    /// rocBLAS's name for the type.
    const DATATYPE: rocblas_datatype;
    /// Whether values have an imaginary part.
    const IS_COMPLEX: bool;
}

macro_rules! elements {
    ($($type:ty: $datatype:ident, $complex:literal $(, $conjugate:path)?;)*) => {$(
        impl sealed::Sealed for $type {
            $(#[cfg(feature = "ndarray")]
            fn conjugate(self) -> Self {
                $conjugate(&self)
            })?
        }

        impl Element for $type {
            const DATATYPE: rocblas_datatype = rocblas_datatype::$datatype;
            const IS_COMPLEX: bool = $complex;
        }
    )*};
}

elements! {
    f64: rocblas_datatype_f64_r, false;
    f32: rocblas_datatype_f32_r, false;
    f16: rocblas_datatype_f16_r, false;
    bf16: rocblas_datatype_bf16_r, false;
    Complex32: rocblas_datatype_f32_c, true, num_complex::Complex::conj;
    Complex64: rocblas_datatype_f64_c, true, num_complex::Complex::conj;
    i8: rocblas_datatype_i8_r, false;
    i32: rocblas_datatype_i32_r, false;
    F8: rocblas_datatype_f8_r, false;
    Bf8: rocblas_datatype_bf8_r, false;
}

/// The types that all routines of levels 1 to 3 support: `f32`, `f64`, [`Complex32`], [`Complex64`].
pub trait Scalar:
    Element
    + f::Axpy
    + f::Scal
    + f::Copy
    + f::Swap
    + f::Dot
    + f::Nrm2
    + f::Asum
    + f::Iamax
    + f::Iamin
    + f::Rot
    + f::Rotg
    + f::Gbmv
    + f::Ger
    + f::Symv
    + f::Syr
    + f::Syr2
    + f::Spr
    + f::Trmv
    + f::Trsv
    + f::Tbmv
    + f::Tbsv
    + f::Tpmv
    + f::Tpsv
    + f::Gemmt
    + f::Symm
    + f::Syrk
    + f::Syr2k
    + f::Syrkx
    + f::Trmm
    + f::Trsm
    + f::Trtri
    + f::Geam
    + f::Dgmm
    + One
    + GemmInput<Self, Scale = Self>
    + GemvInput<Self, Scale = Self>
{
    /// The type of absolute values: `f32` or `f64`.
    type Real: Real;
}

/// `f32` and `f64`.
pub trait Real: Scalar<Real = Self> + f::Rotm + f::Rotmg + f::Sbmv + f::Spmv + f::Spr2 {}

/// [`Complex32`] and [`Complex64`].
pub trait Complex:
    Scalar
    + f::ScalReal
    + f::Dotc
    + f::RotReal
    + f::Gerc
    + f::Hemv
    + f::Hbmv
    + f::Hpmv
    + f::Her
    + f::Her2
    + f::Hpr
    + f::Hpr2
    + f::Hemm
    + f::Herk
    + f::Her2k
    + f::Herkx
{
}

/// The types that [`axpy`](crate::Blas::axpy) supports: those of [`Scalar`], and `f16`.
pub trait AxpyScalar: Element + f::Axpy + One {}
impl<T: Element + f::Axpy + One> AxpyScalar for T {}

/// The types that [`dot`](crate::Blas::dot) supports: those of [`Scalar`], `f16` and `bf16`.
pub trait DotScalar: Element + f::Dot {}
impl<T: Element + f::Dot> DotScalar for T {}

impl Scalar for f32 {
    type Real = f32;
}
impl Scalar for f64 {
    type Real = f64;
}
impl Scalar for Complex32 {
    type Real = f32;
}
impl Scalar for Complex64 {
    type Real = f64;
}
impl Real for f32 {}
impl Real for f64 {}
impl Complex for Complex32 {}
impl Complex for Complex64 {}

/// The default values of scalars. This trait is sealed.
pub trait One: Element {
    /// One.
    const ONE: Self;
    /// Zero.
    const ZERO: Self;
}

macro_rules! one {
    ($($type:ty: $zero:expr, $one:expr;)*) => {$(
        impl One for $type {
            const ONE: Self = $one;
            const ZERO: Self = $zero;
        }
    )*};
}

one! {
    f64: 0.0, 1.0;
    f32: 0.0, 1.0;
    f16: f16::ZERO, f16::ONE;
    bf16: bf16::ZERO, bf16::ONE;
    Complex32: Complex32::new(0.0, 0.0), Complex32::new(1.0, 0.0);
    Complex64: Complex64::new(0.0, 0.0), Complex64::new(1.0, 0.0);
    i32: 0, 1;
}

/// The type that a matrix product is computed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Compute {
    /// `f16`, only for matrices of `f16`.
    F16,
    /// `f32`, or complex numbers of two `f32`.
    F32,
    /// `f64`, or complex numbers of two `f64`.
    F64,
    /// `i32`, for matrices of `i8`.
    I32,
}

impl Compute {
    /// rocBLAS's name for it.
    pub(crate) fn datatype(self, complex: bool) -> rocblas_datatype {
        match (self, complex) {
            (Self::F16, _) => rocblas_datatype::rocblas_datatype_f16_r,
            (Self::F32, false) => rocblas_datatype::rocblas_datatype_f32_r,
            (Self::F32, true) => rocblas_datatype::rocblas_datatype_f32_c,
            (Self::F64, false) => rocblas_datatype::rocblas_datatype_f64_r,
            (Self::F64, true) => rocblas_datatype::rocblas_datatype_f64_c,
            (Self::I32, _) => rocblas_datatype::rocblas_datatype_i32_r,
        }
    }
}

/// Element types that [`gemm`](crate::Blas::gemm) multiplies into matrices of `C`. This trait is sealed.
///
/// | A and B | C | scalars | computed in |
/// |---|---|---|---|
/// | `f32`, `f64`, [`Complex32`], [`Complex64`] | the same | the same | the same |
/// | `f16` | `f16` | `f32` | `f32`, or `f16` on request |
/// | `bf16` | `bf16` | `f32` | `f32` |
/// | `f16`, `bf16` | `f32` | `f32` | `f32` |
/// | `i8` | `i32` | `i32` | `i32` |
pub trait GemmInput<C: Element>: Element + f::GemmInto<C> {
    /// The type of `alpha` and `beta`.
    type Scale: One;
    /// The types that the product can be computed in, the default first.
    const COMPUTE: &'static [Compute];
    /// A description of the types.
    #[doc(hidden)]
    const TYPES: &'static str;
    /// Converts a scalar to the type of the computation, if that differs.
    #[doc(hidden)]
    fn narrow(scale: Self::Scale, compute: Compute) -> Option<f16>;
}

macro_rules! gemm_input {
    ($($input:ty => $output:ty, $scale:ty: $($compute:ident)+;)*) => {$(
        impl GemmInput<$output> for $input {
            type Scale = $scale;
            const COMPUTE: &'static [Compute] = &[$(Compute::$compute),+];
            const TYPES: &'static str =
                concat!("matrices of ", stringify!($input), " into ", stringify!($output));
            fn narrow(scale: $scale, compute: Compute) -> Option<f16> {
                (compute == Compute::F16).then(|| Narrow::narrow(scale))
            }
        }
    )*};
}

gemm_input! {
    f32 => f32, f32: F32;
    f64 => f64, f64: F64;
    Complex32 => Complex32, Complex32: F32;
    Complex64 => Complex64, Complex64: F64;
    f16 => f16, f32: F32 F16;
    f16 => f32, f32: F32;
    bf16 => bf16, f32: F32;
    bf16 => f32, f32: F32;
    i8 => i32, i32: I32;
}

/// Scalars as `f16`.
trait Narrow {
    fn narrow(self) -> f16;
}

macro_rules! narrow {
    ($($type:ty: $scale:ident => $real:expr;)*) => {$(
        impl Narrow for $type {
            fn narrow(self) -> f16 {
                let $scale = self;
                f16::from_f64(f64::from($real))
            }
        }
    )*};
}

narrow! {
    f32: scale => scale;
    f64: scale => scale;
    i32: scale => scale;
    Complex32: scale => scale.re;
    Complex64: scale => scale.re;
}

/// Element types that [`gemv`](crate::Blas::gemv) multiplies into vectors of `Y`: those of [`Scalar`] into
/// the same, and `f16` and `bf16` into the same or into `f32`, with scalars of `f32`. This trait is sealed.
pub trait GemvInput<Y: Element>: Element + f::GemvInto<Y> {
    /// The type of `alpha` and `beta`.
    type Scale: One;
}

macro_rules! gemv_input {
    ($($input:ident => $output:ident, $scale:ident;)*) => {$(
        impl GemvInput<$output> for $input {
            type Scale = $scale;
        }
    )*};
}

gemv_input! {
    f32 => f32, f32;
    f64 => f64, f64;
    Complex32 => Complex32, Complex32;
    Complex64 => Complex64, Complex64;
    f16 => f16, f32;
    f16 => f32, f32;
    bf16 => bf16, f32;
    bf16 => f32, f32;
}

/// An 8-bit float with 4 bits of exponent and 3 of mantissa, for [`gemm_f8`](crate::Blas::gemm_f8). It is the
/// format of gfx942, with finite values up to 240 and one NaN, `0x80` (E4M3FNUZ). This crate does not
/// interpret its bits.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, DeviceCopy)]
pub struct F8(pub u8);

/// The same with 5 bits of exponent and 2 of mantissa, and finite values up to 57344 (E5M2FNUZ).
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, DeviceCopy)]
pub struct Bf8(pub u8);

/// [`F8`] and [`Bf8`].
pub trait Float8: Float8Input + Float8Output {}
impl Float8 for F8 {}
impl Float8 for Bf8 {}

/// Element types that [`gemm_f8`](crate::Blas::gemm_f8) multiplies: [`F8`] and [`Bf8`] directly, `f16` and
/// `f32` rounded to them. This trait is sealed.
pub trait Float8Input: Element {}
impl Float8Input for F8 {}
impl Float8Input for Bf8 {}
impl Float8Input for f16 {}
impl Float8Input for f32 {}

/// Element types of the results: [`F8`], [`Bf8`], `f16` and `f32`. This trait is sealed.
pub trait Float8Output: Element {}
impl Float8Output for F8 {}
impl Float8Output for Bf8 {}
impl Float8Output for f16 {}
impl Float8Output for f32 {}

/// The types in which [`gemm_f8`](crate::Blas::gemm_f8) multiplies operands. Products are added in `f32`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Float8Compute {
    /// Their own types: [`F8`] or [`Bf8`].
    #[default]
    F32,
    /// `A` and `B` are rounded to [`F8`].
    F8F8,
    /// `A` is rounded to [`F8`], `B` to [`Bf8`].
    F8Bf8,
    /// `A` is rounded to [`Bf8`], `B` to [`F8`].
    Bf8F8,
    /// `A` and `B` are rounded to [`Bf8`].
    Bf8Bf8,
}
