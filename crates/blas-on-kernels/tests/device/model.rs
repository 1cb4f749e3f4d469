//! Numbers, vectors and matrices of the models.

use std::ops::{Add, Mul, Sub};

use float8::Format;
use hip::DeviceCopy;

/// A complex number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Z {
    pub(crate) re: f64,
    pub(crate) im: f64,
}

pub(crate) const ZERO: Z = z(0.0);
pub(crate) const ONE: Z = z(1.0);

pub(crate) const fn z(re: f64) -> Z {
    Z { re, im: 0.0 }
}

impl Z {
    pub(crate) fn conj(self) -> Self {
        Self { im: -self.im, ..self }
    }

    pub(crate) fn real(self) -> Self {
        z(self.re)
    }

    pub(crate) fn size(self) -> f64 {
        self.re.hypot(self.im)
    }

    pub(crate) fn is_nan(self) -> bool {
        self.re.is_nan() || self.im.is_nan()
    }
}

impl Add for Z {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { re: self.re + other.re, im: self.im + other.im }
    }
}

impl Sub for Z {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self { re: self.re - other.re, im: self.im - other.im }
    }
}

impl Mul for Z {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Self { re: self.re * other.re - self.im * other.im, im: self.re * other.im + self.im * other.re }
    }
}

/// A sum of products, and the sum of their magnitudes, which bounds the error for every order of adding.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sum {
    pub(crate) value: Z,
    pub(crate) size: f64,
    pub(crate) terms: usize,
}

impl Sum {
    pub(crate) const NONE: Self = Self { value: ZERO, size: 0.0, terms: 0 };

    pub(crate) fn add(&mut self, a: Z, b: Z) {
        self.value = self.value + a * b;
        self.size += a.size() * b.size();
        self.terms += 1;
    }

    pub(crate) fn of(terms: impl Iterator<Item = (Z, Z)>) -> Self {
        let mut sum = Self::NONE;
        terms.for_each(|(a, b)| sum.add(a, b));
        sum
    }

    pub(crate) fn times(self, factor: Z) -> Self {
        Self { value: factor * self.value, size: factor.size() * self.size, terms: self.terms + 1 }
    }

    pub(crate) fn plus(self, a: Z, b: Z) -> Self {
        let mut sum = self;
        sum.add(a, b);
        sum
    }

    pub(crate) fn real(self) -> Self {
        Self { value: self.value.real(), ..self }
    }
}

/// An element type of the functions.
pub(crate) trait Element: DeviceCopy + PartialEq + std::fmt::Debug {
    /// The largest relative error of a rounding.
    const ROUNDING: f64;
    fn of(z: Z) -> Self;
    fn z(self) -> Z;
}

macro_rules! elements {
    ($($type:ty, $epsilon:expr, $of:expr, $z:expr;)+) => {$(
        impl Element for $type {
            const ROUNDING: f64 = $epsilon;
            fn of(z: Z) -> Self {
                $of(z)
            }
            fn z(self) -> Z {
                $z(self)
            }
        }
    )+};
}
elements! {
    f32, 6e-8, |z: Z| z.re as f32, |x: f32| z(x.into());
    f64, 1.2e-16, |z: Z| z.re, z;
    [f32; 2], 6e-8, |z: Z| [z.re as f32, z.im as f32], |[re, im]: [f32; 2]| Z { re: re.into(), im: im.into() };
    [f64; 2], 1.2e-16, |z: Z| [z.re, z.im], |[re, im]: [f64; 2]| Z { re, im };
    half::f16, 4.9e-4, |z: Z| half::f16::from_f64(z.re), |x: half::f16| z(x.into());
    half::bf16, 4e-3, |z: Z| half::bf16::from_f64(z.re), |x: half::bf16| z(x.into());
    i8, 0.0, |z: Z| z.re as i8, |x: i8| z(x.into());
    i32, 0.0, |z: Z| z.re as i32, |x: i32| z(x.into());
    F8, 0.0625, |z: Z| F8(encoded(Format::E4M3_FNUZ, z.re)), |x: F8| z(Format::E4M3_FNUZ.decode(x.0));
    Bf8, 0.125, |z: Z| Bf8(encoded(Format::E5M2_FNUZ, z.re)), |x: Bf8| z(Format::E5M2_FNUZ.decode(x.0));
}

/// rocBLAS 6's 8-bit floats.
#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
#[repr(transparent)]
pub(crate) struct F8(pub(crate) u8);
#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
#[repr(transparent)]
pub(crate) struct Bf8(pub(crate) u8);

/// rocBLAS converts infinities to NaN.
fn encoded(format: Format, x: f64) -> u8 {
    if x.is_infinite() { format.nan() } else { format.encode(x) }
}

/// Whether a result equals the model's, within the error of its sums in a type with this largest rounding
/// error.
pub(crate) fn is_close<T: Element>(got: T, want: Sum, epsilon: f64) -> bool {
    let (got, value) = (got.z(), want.value);
    if value.is_nan() {
        return got.is_nan();
    }
    // A product of complex numbers has two real products for each part.
    let bound = epsilon * want.size * (4 + 2 * want.terms) as f64 + 2.0 * T::ROUNDING * value.size();
    (got - value).size() <= bound
}

#[track_caller]
pub(crate) fn check<T: Element>(got: T, want: Sum, what: &dyn std::fmt::Debug) {
    assert!(is_close(got, want, T::ROUNDING), "{what:?}: {got:?}, not {want:?}");
}

/// A matrix by columns, or one row or column of it; between columns is a number that occurs nowhere else.
#[derive(Clone, Debug)]
pub(crate) struct Matrix<T> {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) leading: usize,
    pub(crate) data: Vec<T>,
}

impl<T: Element> Matrix<T> {
    /// With `fill` everywhere.
    pub(crate) fn new(rows: usize, columns: usize, leading: usize, fill: Z) -> Self {
        Self { rows, columns, leading, data: vec![T::of(fill); leading * columns] }
    }

    pub(crate) fn at(&self, i: usize, j: usize) -> Z {
        self.data[i + j * self.leading].z()
    }

    pub(crate) fn set(&mut self, i: usize, j: usize, value: Z) {
        self.data[i + j * self.leading] = T::of(value);
    }
}

/// A vector with an increment; between elements is a number that occurs nowhere else.
#[derive(Clone, Debug)]
pub(crate) struct Vector<T> {
    pub(crate) n: usize,
    pub(crate) step: i64,
    pub(crate) data: Vec<T>,
}

impl<T: Element> Vector<T> {
    pub(crate) fn new(n: usize, step: i64, fill: Z) -> Self {
        let apart = step.unsigned_abs() as usize;
        Self { n, step, data: vec![T::of(fill); n.saturating_sub(1) * apart + 1] }
    }

    pub(crate) fn place(&self, i: usize) -> usize {
        let apart = self.step.unsigned_abs() as usize;
        if self.step < 0 { (self.n - 1 - i) * apart } else { i * apart }
    }

    pub(crate) fn at(&self, i: usize) -> Z {
        self.data[self.place(i)].z()
    }

    pub(crate) fn set(&mut self, i: usize, value: Z) {
        let place = self.place(i);
        self.data[place] = T::of(value);
    }

    /// The elements of another run of memory, with this vector's shape.
    pub(crate) fn like(&self, data: Vec<T>) -> Self {
        Self { data, ..self.clone() }
    }
}
