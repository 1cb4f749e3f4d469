//! Products of matrices in every type that rocBLAS multiplies.

use float8::Format;
use half::{bf16, f16};
use hip::{DeviceBuffer, DeviceCopy};
use rocblas::{Blas, F8, GemmInput, Matrix, MatrixLayout, MatrixMut};

use crate::check::Check;
use crate::context::{Case, Clock, Context};
use crate::error::Result;
use crate::options::Size;
use crate::random::{Random, sample};

const GROUP: &str = "gemm";
/// The maximum number of checked elements of a product: each is a separate sum in f64.
const CHECKED: usize = 4096;

/// Rows, columns and inner sizes.
fn shapes(size: Size) -> &'static [[usize; 3]] {
    match size {
        Size::Tiny => &[[64, 48, 32]],
        Size::Small => &[[1024, 1024, 1024], [2048, 2048, 2048]],
        Size::Full => &[[4096, 4096, 4096], [8192, 8192, 8192]],
    }
}

/// A type of elements: how numbers become elements and what elements are.
trait Operand: DeviceCopy + PartialEq {
    const NAME: &'static str;
    /// A number between about -1 and 1 as an element.
    fn of(number: f64) -> Self;
    fn value(self) -> f64;
}

macro_rules! operands {
    ($($type:ty, $name:literal, |$number:ident| $of:expr, |$element:ident| $value:expr;)*) => {$(
        impl Operand for $type {
            const NAME: &'static str = $name;
            fn of($number: f64) -> Self {
                $of
            }
            fn value(self) -> f64 {
                let $element = self;
                $value
            }
        }
    )*};
}
operands! {
    f64, "f64", |x| x, |x| x;
    f32, "f32", |x| x as f32, |x| f64::from(x);
    f16, "f16", |x| f16::from_f64(x), |x| x.to_f64();
    bf16, "bf16", |x| bf16::from_f64(x), |x| x.to_f64();
    i8, "i8", |x| (x * 100.0) as i8, |x| f64::from(x);
    F8, "f8", |x| F8(Format::E4M3_FNUZ.encode(x)), |x| Format::E4M3_FNUZ.decode(x.0);
}

/// The error of a product's sum: half a unit of the type of the sum for each of `inner` terms, independently,
/// plus the rounding to the result's type.
#[derive(Clone, Copy)]
struct Precision {
    sums: f64,
    result: f64,
}

const HALF_F32: f64 = f32::EPSILON as f64 / 2.0;

/// Every type at every shape.
pub(crate) fn measure(context: &mut Context<'_>) -> Result<()> {
    for shape in shapes(context.size) {
        let double = Precision { sums: f64::EPSILON / 2.0, result: f64::EPSILON / 2.0 };
        product::<f64, f64>(context, *shape, double, |x| x)?;
        product::<f32, f32>(context, *shape, Precision { sums: HALF_F32, result: HALF_F32 }, f64::from)?;
        product::<f16, f16>(
            context,
            *shape,
            Precision { sums: HALF_F32, result: 2.0_f64.powi(-11) },
            f16::to_f64,
        )?;
        product::<bf16, bf16>(
            context,
            *shape,
            Precision { sums: HALF_F32, result: 2.0_f64.powi(-8) },
            bf16::to_f64,
        )?;
        product::<i8, i32>(context, *shape, Precision { sums: 0.0, result: 0.0 }, f64::from)?;
        product_f8(context, *shape)?;
    }
    Ok(())
}

/// The operands of a product, on the host and on the device.
struct Operands<T: DeviceCopy, C: DeviceCopy> {
    a: Vec<T>,
    b: Vec<T>,
    device_a: DeviceBuffer<T>,
    device_b: DeviceBuffer<T>,
    c: DeviceBuffer<C>,
}

impl<T: Operand, C: DeviceCopy> Operands<T, C> {
    fn new(context: &Context<'_>, [m, n, k]: [usize; 3]) -> Result<Self> {
        let make = |count: usize, seed: u64| -> Vec<T> {
            let mut random = Random::new(seed);
            (0..count).map(|_| T::of(random.number(1.0))).collect()
        };
        let (a, b) = (make(m * k, 4), make(k * n, 5));
        let device_a = DeviceBuffer::from_slice(&context.stream, &a)?;
        let device_b = DeviceBuffer::from_slice(&context.stream, &b)?;
        let c = DeviceBuffer::zeroed(&context.stream, m * n)?;
        Ok(Self { a, b, device_a, device_b, c })
    }

    /// The views of a product of row-major matrices.
    fn views(&mut self, [m, n, k]: [usize; 3]) -> Result<(Matrix<'_, T>, Matrix<'_, T>, MatrixMut<'_, C>)>
    where
        T: rocblas::Element,
        C: rocblas::Element,
    {
        Ok((
            Matrix::new(&self.device_a, MatrixLayout::row_major(m, k))?,
            Matrix::new(&self.device_b, MatrixLayout::row_major(k, n))?,
            MatrixMut::new(&mut self.c, MatrixLayout::row_major(m, n))?,
        ))
    }

    /// Compares a sample of the product's elements (all if it is small) with sums in f64.
    fn check(
        &self,
        context: &Context<'_>,
        [m, n, k]: [usize; 3],
        precision: Precision,
        value: fn(C) -> f64,
    ) -> Result<Check> {
        let c = self.c.to_vec(&context.stream)?;
        let places = sample(m * n, CHECKED, 6);
        let got = places.iter().map(|place| value(c[*place]));
        let expected = places.iter().map(|place| {
            let (row, column) = (place / n, place % n);
            let terms = || (0..k).map(|i| self.a[row * k + i].value() * self.b[i * n + column].value());
            let (sum, magnitude): (f64, f64) = (terms().sum(), terms().map(f64::abs).sum());
            let lost = 4.0 * (k as f64).sqrt() * precision.sums * magnitude;
            (sum, lost + precision.result * (sum.abs() + lost))
        });
        // For f64, the reference has the same error as the result.
        Ok(Check::elements(got, expected))
    }
}

fn case(name: &str, [m, n, k]: [usize; 3], operand: usize, result: usize) -> Case {
    Case {
        group: GROUP,
        name: format!("{m}x{n}x{k} {name}"),
        flops: Some(2.0 * (m * n * k) as f64),
        bytes: Some(((m * k + k * n) * operand + m * n * result) as f64),
        ..Case::default()
    }
}

/// Measures a product that `run` computes.
fn measured<T: Operand + rocblas::Element, C: rocblas::Element>(
    context: &mut Context<'_>,
    shape: [usize; 3],
    precision: Precision,
    value: fn(C) -> f64,
    run: impl Fn(&Blas, &Matrix<'_, T>, &Matrix<'_, T>, &mut MatrixMut<'_, C>) -> rocblas::Result<()>,
) -> Result<()> {
    let case = case(T::NAME, shape, size_of::<T>(), size_of::<C>());
    context.attempt(&format!("{GROUP} {}", case.name), |context| {
        let mut operands = Operands::<T, C>::new(context, shape)?;
        context.measure(
            case,
            Clock::Device,
            &mut operands,
            |context, operands| {
                let (a, b, mut c) = operands.views(shape)?;
                Ok(run(&context.blas, &a, &b, &mut c)?)
            },
            |context, operands| operands.check(context, shape, precision, value),
        )
    })
}

fn product<T: Operand + GemmInput<C>, C: rocblas::Element>(
    context: &mut Context<'_>,
    shape: [usize; 3],
    precision: Precision,
    value: fn(C) -> f64,
) -> Result<()> {
    measured(context, shape, precision, value, |blas, a: &Matrix<'_, T>, b, c| blas.gemm(a, b, c).run())
}

/// Converts 8-bit numbers to f16, with a separate function.
fn product_f8(context: &mut Context<'_>, shape: [usize; 3]) -> Result<()> {
    let precision = Precision { sums: HALF_F32, result: 2.0_f64.powi(-11) };
    let run = |blas: &Blas, a: &Matrix<'_, F8>, b: &Matrix<'_, F8>, c: &mut MatrixMut<'_, f16>| {
        blas.gemm_f8(a, b, c).run()
    };
    measured(context, shape, precision, f16::to_f64, run)
}
