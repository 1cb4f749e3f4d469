//! Fill, affine maps, functions of one and two tensors, and casts.

use hip::{DeviceAddress, DeviceCopy, DeviceSlice, DeviceSliceMut, Launch, LaunchConfig, Stream};

use crate::error::{Result, check_length};
use crate::library::{Kernels, Names, names};
use crate::{Element, modules};

/// Work-items per workgroup of element-wise kernels.
const BLOCK: u32 = 256;
/// The most workgroups that are launched; each work-item goes on by the grid's size while there are elements.
const MAX_BLOCKS: usize = 1 << 20;
/// The `info` argument of a contiguous tensor.
const CONTIGUOUS: DeviceAddress = DeviceAddress(0);

fn grid(elements: usize) -> LaunchConfig {
    LaunchConfig::for_elements(elements.min(MAX_BLOCKS * BLOCK as usize), BLOCK)
}

/// A function of one number.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "the names are the functions' names")]
pub enum UnaryOp {
    Copy,
    Neg,
    Recip,
    Exp,
    Log,
    Sin,
    Cos,
    Tanh,
    Erf,
    Ceil,
    Floor,
    /// To nearest, halves away from zero.
    Round,
    /// The cumulative distribution function of the normal distribution.
    NormCdf,
    Abs,
    Sqr,
    Sqrt,
    /// Gaussian error linear unit, tanh approximation.
    Gelu,
    /// Gaussian error linear unit, exact.
    GeluErf,
    Relu,
    /// `x` where positive, else `alpha * (exp(x) - 1)`.
    Elu(f32),
    Silu,
    /// `x` to the power of the parameter.
    Powf(f32),
    Sign,
    Sigmoid,
}

impl UnaryOp {
    fn names(self) -> &'static Names {
        match self {
            Self::Copy => &names!("ucopy"),
            Self::Neg => &names!("uneg"),
            Self::Recip => &names!("urecip"),
            Self::Exp => &names!("uexp"),
            Self::Log => &names!("ulog"),
            Self::Sin => &names!("usin"),
            Self::Cos => &names!("ucos"),
            Self::Tanh => &names!("utanh"),
            Self::Erf => &names!("uerf"),
            Self::Ceil => &names!("uceil"),
            Self::Floor => &names!("ufloor"),
            Self::Round => &names!("uround"),
            Self::NormCdf => &names!("unormcdf"),
            Self::Abs => &names!("uabs"),
            Self::Sqr => &names!("usqr"),
            Self::Sqrt => &names!("usqrt"),
            Self::Gelu => &names!("ugelu"),
            Self::GeluErf => &names!("ugelu_erf"),
            Self::Relu => &names!("urelu"),
            Self::Elu(_) => &names!("uelu"),
            Self::Silu => &names!("usilu"),
            Self::Powf(_) => &names!("upowf"),
            Self::Sign => &names!("usign"),
            Self::Sigmoid => &names!("usigmoid"),
        }
    }

    /// The operation's parameter, where it has one.
    fn parameter(self) -> Option<f32> {
        match self {
            Self::Elu(parameter) | Self::Powf(parameter) => Some(parameter),
            _ => None,
        }
    }
}

/// A function of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the functions' names")]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    /// NaN where either is.
    Maximum,
    /// NaN where either is.
    Minimum,
}

impl BinaryOp {
    fn names(self) -> &'static Names {
        match self {
            Self::Add => &names!("badd"),
            Self::Sub => &names!("bsub"),
            Self::Mul => &names!("bmul"),
            Self::Div => &names!("bdiv"),
            Self::Maximum => &names!("bmaximum"),
            Self::Minimum => &names!("bminimum"),
        }
    }
}

/// A comparison of two numbers; NaN is unequal to everything and ordered with nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the comparisons' names")]
pub enum CompareOp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl CompareOp {
    fn names(self) -> &'static Names {
        match self {
            Self::Eq => &names!("eq"),
            Self::Ne => &names!("ne"),
            Self::Lt => &names!("lt"),
            Self::Le => &names!("le"),
            Self::Gt => &names!("gt"),
            Self::Ge => &names!("ge"),
        }
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A type that [`Kernels::cast`] converts from and to.
pub trait CastElement: DeviceCopy + sealed::Sealed {
    /// Kernels that convert from this type, in the order of [`CastElement::INDEX`].
    #[doc(hidden)]
    const CASTS: [&'static str; 6];
    /// Position among the types: f32, f16, bf16, u8, u32, i64.
    #[doc(hidden)]
    const INDEX: usize;
}

macro_rules! cast_element {
    ($($index:literal $type:ty, $name:literal;)*) => {$(
        impl sealed::Sealed for $type {}
        impl CastElement for $type {
            const CASTS: [&'static str; 6] = [
                concat!("cast_", $name, "_f32"),
                concat!("cast_", $name, "_f16"),
                concat!("cast_", $name, "_bf16"),
                concat!("cast_", $name, "_u8"),
                concat!("cast_", $name, "_u32"),
                concat!("cast_", $name, "_i64"),
            ];
            const INDEX: usize = $index;
        }
    )*};
}
cast_element! {
    0 f32, "f32";
    1 half::f16, "f16";
    2 half::bf16, "bf16";
    3 u8, "u8";
    4 u32, "u32";
    5 i64, "i64";
}

impl Kernels {
    /// `y = a * x + y`, computed in f32.
    ///
    /// # Errors
    /// [`Error::Length`](crate::Error::Length) if `x` and `y` differ in length; [`Error::Hip`](crate::Error::Hip).
    #[doc(alias = "saxpy")]
    pub fn axpy<'a, T: Element>(
        &'a self,
        stream: &'a Stream,
        a: f32,
        x: impl Into<DeviceSlice<'a, T>>,
        y: impl Into<DeviceSliceMut<'a, T>>,
    ) -> Result<()> {
        let (x, y) = (x.into(), y.into());
        check_length("axpy", "y", y.len(), x.len())?;
        let elements = x.len();
        let kernel = self.of::<T>(&modules::AFFINE, &names!("axpy"))?;
        // SAFETY: axpy reads x[0..numel], and reads and writes y[0..numel]; both have that many elements.
        unsafe { run(elements, kernel.launch(stream).arg(elements as u64).arg(a).arg(x).arg(y)) }
    }

    /// `y = x * mul + add`, computed in f32.
    ///
    /// # Errors
    /// [`Error::Length`](crate::Error::Length) if `x` and `y` differ in length; [`Error::Hip`](crate::Error::Hip).
    pub fn affine<'a, T: Element>(
        &'a self,
        stream: &'a Stream,
        x: impl Into<DeviceSlice<'a, T>>,
        y: impl Into<DeviceSliceMut<'a, T>>,
        mul: T,
        add: T,
    ) -> Result<()> {
        let (x, y) = (x.into(), y.into());
        check_length("affine", "y", y.len(), x.len())?;
        let elements = x.len();
        let kernel = self.of::<T>(&modules::AFFINE, &names!("affine"))?;
        // SAFETY: affine reads x[0..numel] and writes y[0..numel]; both have that many elements.
        unsafe { run(elements, tensor(kernel.launch(stream), elements).arg(x).arg(y).arg(mul).arg(add)) }
    }

    /// Writes `value` to every element.
    ///
    /// # Errors
    /// [`Error::Hip`](crate::Error::Hip).
    pub fn fill<'a, T: Element>(
        &'a self,
        stream: &'a Stream,
        value: T,
        out: impl Into<DeviceSliceMut<'a, T>>,
    ) -> Result<()> {
        let out = out.into();
        let elements = out.len();
        let kernel = self.of::<T>(&modules::FILL, &names!("fill"))?;
        // SAFETY: fill writes out[0..numel], which has that many elements.
        unsafe { run(elements, kernel.launch(stream).arg(out).arg(value).arg(elements as u64)) }
    }

    /// `y = op(x)`, computed in f32.
    ///
    /// # Errors
    /// [`Error::Length`](crate::Error::Length) if `x` and `y` differ in length; [`Error::Hip`](crate::Error::Hip).
    pub fn unary<'a, T: Element>(
        &'a self,
        stream: &'a Stream,
        op: UnaryOp,
        x: impl Into<DeviceSlice<'a, T>>,
        y: impl Into<DeviceSliceMut<'a, T>>,
    ) -> Result<()> {
        let (x, y) = (x.into(), y.into());
        check_length("unary", "y", y.len(), x.len())?;
        let elements = x.len();
        let kernel = self.of::<T>(&modules::UNARY, op.names())?;
        let mut launch = tensor(kernel.launch(stream), elements);
        if let Some(parameter) = op.parameter() {
            launch = launch.arg(T::from_f64(f64::from(parameter)));
        }
        // SAFETY: the unary kernels read x[0..numel] and write y[0..numel]; both have that many elements.
        unsafe { run(elements, launch.arg(x).arg(y)) }
    }

    /// `out = op(left, right)`, computed in f32.
    ///
    /// # Errors
    /// [`Error::Length`](crate::Error::Length) if the lengths differ; [`Error::Hip`](crate::Error::Hip).
    pub fn binary<'a, T: Element>(
        &'a self,
        stream: &'a Stream,
        op: BinaryOp,
        left: impl Into<DeviceSlice<'a, T>>,
        right: impl Into<DeviceSlice<'a, T>>,
        out: impl Into<DeviceSliceMut<'a, T>>,
    ) -> Result<()> {
        self.two_tensors("binary", op.names(), stream, left.into(), right.into(), out.into())
    }

    /// `out = op(left, right)` as 0 or 1.
    ///
    /// # Errors
    /// [`Error::Length`](crate::Error::Length) if the lengths differ; [`Error::Hip`](crate::Error::Hip).
    pub fn compare<'a, T: Element>(
        &'a self,
        stream: &'a Stream,
        op: CompareOp,
        left: impl Into<DeviceSlice<'a, T>>,
        right: impl Into<DeviceSlice<'a, T>>,
        out: impl Into<DeviceSliceMut<'a, u8>>,
    ) -> Result<()> {
        self.two_tensors("compare", op.names(), stream, left.into(), right.into(), out.into())
    }

    /// `out`'s element type must be what the named kernels write.
    fn two_tensors<'a, T: Element, Out: DeviceCopy>(
        &'a self,
        operation: &'static str,
        names: &Names,
        stream: &'a Stream,
        left: DeviceSlice<'a, T>,
        right: DeviceSlice<'a, T>,
        out: DeviceSliceMut<'a, Out>,
    ) -> Result<()> {
        let elements = left.len();
        check_length(operation, "right", right.len(), elements)?;
        check_length(operation, "out", out.len(), elements)?;
        let kernel = self.of::<T>(&modules::BINARY, names)?;
        // SAFETY: the binary kernels read left[0..numel] and right[0..numel], and write out[0..numel]; all have that many
        // elements.
        unsafe { run(elements, tensor(kernel.launch(stream), elements).arg(left).arg(right).arg(out)) }
    }

    /// Converts every element: to floats by rounding to nearest even, to integers by truncation. What the integer type
    /// cannot hold becomes an unspecified number.
    ///
    /// # Errors
    /// [`Error::Length`](crate::Error::Length) if `x` and `y` differ in length; [`Error::Hip`](crate::Error::Hip).
    pub fn cast<'a, From: CastElement, To: CastElement>(
        &'a self,
        stream: &'a Stream,
        x: impl Into<DeviceSlice<'a, From>>,
        y: impl Into<DeviceSliceMut<'a, To>>,
    ) -> Result<()> {
        let (x, y) = (x.into(), y.into());
        check_length("cast", "y", y.len(), x.len())?;
        let elements = x.len();
        let kernel = self.function(&modules::CAST, From::CASTS[To::INDEX])?;
        // SAFETY: the cast kernels read x[0..numel] and write y[0..numel]; both have that many elements.
        unsafe { run(elements, tensor(kernel.launch(stream), elements).arg(x).arg(y)) }
    }
}

/// The leading arguments of a kernel over a contiguous tensor: element count, rank, layout.
fn tensor<'a>(launch: Launch<'a>, elements: usize) -> Launch<'a> {
    launch.arg(elements as u64).arg(1_u64).arg(CONTIGUOUS)
}

/// Enqueues an element-wise launch, unless there are no elements.
///
/// # Safety
/// As for [`Launch::enqueue`].
unsafe fn run(elements: usize, launch: Launch<'_>) -> Result<()> {
    if elements == 0 {
        return Ok(());
    }
    // SAFETY: the caller's promise.
    unsafe { launch.config(grid(elements)).enqueue()? };
    Ok(())
}
