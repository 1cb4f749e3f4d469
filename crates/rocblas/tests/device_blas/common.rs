//! Shared by the tests: the device, numbers in f64, and dense matrices to compare with.

use float8::Format;
use hip::{Device, DeviceBuffer, Stream};
use num_complex::Complex64;
use rocblas::{
    BandLayout, Bf8, Blas, Choice, Complex32, Element, F8, Fill, Layout, MatrixLayout, Order, PackedLayout,
    VectorLayout,
};
use test_skip::{Lack, skip};

pub(crate) type C = Complex64;

/// The device under test: `FERROCM_DEVICE`, else a virtual gfx1100.
pub(crate) struct Bench {
    pub(crate) blas: Blas,
    pub(crate) stream: Stream,
}

/// The tested implementation: this project's own, or cuBLAS on NVIDIA's GPUs, unless `FERROCM_ROCBLAS` is
/// `amd` or `cublas`.
pub(crate) fn choice() -> Choice {
    match std::env::var("FERROCM_ROCBLAS") {
        Ok(value) if value == "amd" => Choice::Amd,
        Ok(value) if value == "cublas" => Choice::Cublas,
        _ if std::env::var("FERROCM_DEVICE").is_ok_and(|uri| uri.starts_with("cuda")) => Choice::Cublas,
        _ => Choice::Kernels,
    }
}

/// The release of ROCm whose rocBLAS is tested, for its deviations from BLAS, which docs/use/rocblas.md
/// lists.
pub(crate) fn amds() -> Option<String> {
    let release = || std::env::var("FERROCM_ROCM_RELEASE").unwrap_or_default();
    (choice() == Choice::Amd).then(release)
}

/// Whether cuBLAS is tested, which lacks something. The output says so, and the test ends or leaves it out.
pub(crate) fn cublas_lacks(what: &str) -> bool {
    let lacks = choice() == Choice::Cublas;
    if lacks {
        skip(Lack::Device, format_args!("cuBLAS has no {what}"));
    }
    lacks
}

impl Bench {
    pub(crate) fn open() -> Self {
        let uri = std::env::var("FERROCM_DEVICE").unwrap_or_else(|_| "vgpu:gfx1100".to_owned());
        let device = Device::open(&uri).unwrap();
        let stream = device.stream().unwrap();
        Self { blas: Blas::with(&stream, choice()).unwrap(), stream }
    }

    pub(crate) fn upload<T: Element>(&self, values: &[T]) -> DeviceBuffer<T> {
        DeviceBuffer::from_slice(&self.stream, values).unwrap()
    }

    pub(crate) fn download<T: Element>(&self, buffer: &DeviceBuffer<T>) -> Vec<T> {
        buffer.to_vec(&self.stream).unwrap()
    }
}

/// A type of numbers, converted through complex numbers of f64.
pub(crate) trait Value: Element {
    /// The distance of one to the next number.
    const EPSILON: f64;
    fn of(value: C) -> Self;
    fn get(self) -> C;
}

macro_rules! values {
    ($($type:ty, $epsilon:expr, $value:ident => $of:expr, $get:expr;)*) => {$(
        impl Value for $type {
            const EPSILON: f64 = $epsilon;
            fn of($value: C) -> Self {
                $of
            }
            fn get(self) -> C {
                let $value = self;
                $get
            }
        }
    )*};
}

values! {
    f32, f32::EPSILON as f64, value => value.re as f32, C::new(f64::from(value), 0.0);
    f64, f64::EPSILON, value => value.re, C::new(value, 0.0);
    Complex32, f32::EPSILON as f64, value => Complex32::new(value.re as f32, value.im as f32),
        C::new(f64::from(value.re), f64::from(value.im));
    Complex64, f64::EPSILON, value => value, value;
    half::f16, 9.8e-4, value => half::f16::from_f64(value.re), C::new(value.to_f64(), 0.0);
    half::bf16, 7.9e-3, value => half::bf16::from_f64(value.re), C::new(value.to_f64(), 0.0);
    i8, 0.0, value => value.re as i8, C::new(f64::from(value), 0.0);
    i32, 0.0, value => value.re as i32, C::new(f64::from(value), 0.0);
    F8, 0.125, value => F8(Format::E4M3_FNUZ.encode(value.re)), C::new(Format::E4M3_FNUZ.decode(value.0), 0.0);
    Bf8, 0.25, value => Bf8(Format::E5M2_FNUZ.encode(value.re)), C::new(Format::E5M2_FNUZ.decode(value.0), 0.0);
}

/// Pseudo-random numbers.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// One of `0..end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() * end as f64) as usize
    }

    /// A number with the precision of a type.
    pub(crate) fn value<T: Value>(&mut self) -> C {
        // Large enough not to be subnormal as f16, because gfx90a's matrix instructions treat those as 0.
        let mut part = || match self.next() * 2.0 - 1.0 {
            part if part.abs() < 1e-3 => 1e-3,
            part => part,
        };
        let value = C::new(part(), part());
        // Integers are small ones.
        let value = if T::EPSILON == 0.0 { value * 12.0 } else { value };
        T::of(value).get()
    }

    pub(crate) fn dense<T: Value>(&mut self, rows: usize, cols: usize) -> Dense {
        Dense { rows, cols, values: (0..rows * cols).map(|_| self.value::<T>()).collect() }
    }

    pub(crate) fn choose<V: Copy>(&mut self, of: &[V]) -> V {
        of[self.below(of.len())]
    }
}

/// A matrix of numbers, or a vector of one column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Dense {
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    /// Row by row.
    pub(crate) values: Vec<C>,
}

impl Dense {
    pub(crate) fn of(rows: usize, cols: usize, value: impl Fn(usize, usize) -> C) -> Self {
        let value = &value;
        let values = (0..rows).flat_map(|i| (0..cols).map(move |j| value(i, j))).collect();
        Self { rows, cols, values }
    }

    pub(crate) fn at(&self, i: usize, j: usize) -> C {
        self.values[i * self.cols + j]
    }

    pub(crate) fn t(&self) -> Self {
        Self::of(self.cols, self.rows, |i, j| self.at(j, i))
    }

    pub(crate) fn conj(&self) -> Self {
        self.map(|value| value.conj())
    }

    pub(crate) fn h(&self) -> Self {
        self.t().conj()
    }

    pub(crate) fn map(&self, f: impl Fn(C) -> C) -> Self {
        Self { values: self.values.iter().map(|value| f(*value)).collect(), ..*self }
    }

    pub(crate) fn times(&self, other: &Self) -> Self {
        assert_eq!(self.cols, other.rows);
        Self::of(self.rows, other.cols, |i, j| (0..self.cols).map(|l| self.at(i, l) * other.at(l, j)).sum())
    }

    pub(crate) fn scaled(&self, factor: C) -> Self {
        self.map(|value| value * factor)
    }

    pub(crate) fn plus(&self, other: &Self) -> Self {
        assert_eq!((self.rows, self.cols), (other.rows, other.cols));
        Self::of(self.rows, self.cols, |i, j| self.at(i, j) + other.at(i, j))
    }

    /// The symmetric or Hermitian matrix with this triangle. The other triangle, and the imaginary parts of a
    /// Hermitian diagonal, are ignored.
    pub(crate) fn mirrored(&self, fill: Fill, hermitian: bool) -> Self {
        Self::of(self.rows, self.cols, |i, j| {
            let there = in_triangle(fill, i, j);
            match (there, hermitian) {
                (true, true) if i == j => C::new(self.at(i, i).re, 0.0),
                (true, _) => self.at(i, j),
                (false, true) => self.at(j, i).conj(),
                (false, false) => self.at(j, i),
            }
        })
    }

    /// The triangular matrix in this one.
    pub(crate) fn triangle(&self, fill: Fill, unit: bool) -> Self {
        Self::of(self.rows, self.cols, |i, j| match in_triangle(fill, i, j) {
            _ if unit && i == j => C::new(1.0, 0.0),
            true => self.at(i, j),
            false => C::default(),
        })
    }
}

pub(crate) fn in_triangle(fill: Fill, i: usize, j: usize) -> bool {
    match fill {
        Fill::Upper => i <= j,
        Fill::Lower => i >= j,
    }
}

/// The value of memory where a layout has no element.
fn gap<T: Value>() -> T {
    if T::EPSILON == 0.0 { T::of(C::new(99.0, 0.0)) } else { T::of(C::new(f64::NAN, f64::NAN)) }
}

/// The index of element `(i, j)` of member `of` of a batch; `None` for elements that a layout does not store.
pub(crate) trait Places: Layout {
    fn shape(&self) -> (usize, usize);
    fn place(&self, i: usize, j: usize) -> Option<usize>;

    fn stride(&self) -> (usize, usize) {
        match self.batch() {
            rocblas::Batch::Strided { count, stride } => (count, stride),
            _ => (1, 0),
        }
    }

    /// Memory with these elements, and gaps that no result may contain.
    fn memory<T: Value>(&self, items: &[Dense]) -> Vec<T> {
        let mut memory = vec![gap(); self.needed().unwrap()];
        let (count, stride) = self.stride();
        assert_eq!(items.len(), count);
        for (of, item) in items.iter().enumerate() {
            assert_eq!((item.rows, item.cols), self.shape());
            for i in 0..item.rows {
                for j in 0..item.cols {
                    if let Some(place) = self.place(i, j) {
                        memory[of * stride + place] = T::of(item.at(i, j));
                    }
                }
            }
        }
        memory
    }

    /// The elements in memory, with zero for those that are not stored. Checks that the gaps are unchanged.
    fn elements<T: Value>(&self, memory: &[T]) -> Vec<Dense> {
        let (count, stride) = self.stride();
        let (rows, cols) = self.shape();
        let mut free = vec![true; memory.len()];
        let items = (0..count)
            .map(|of| {
                let mut item = Dense::of(rows, cols, |_, _| C::default());
                for (i, j) in (0..rows).flat_map(|i| (0..cols).map(move |j| (i, j))) {
                    if let Some(place) = self.place(i, j) {
                        free[of * stride + place] = false;
                        item.values[i * cols + j] = memory[of * stride + place].get();
                    }
                }
                item
            })
            .collect();
        for (place, _) in free.iter().enumerate().filter(|(_, free)| **free) {
            let (got, was) = (memory[place].get(), gap::<T>().get());
            assert!(
                got == was || got.re.is_nan() && was.re.is_nan(),
                "the gap at {place} was written: {got}"
            );
        }
        items
    }
}

impl Places for MatrixLayout {
    fn shape(&self) -> (usize, usize) {
        (self.rows(), self.cols())
    }

    fn place(&self, i: usize, j: usize) -> Option<usize> {
        Some(match self.order() {
            Order::ColumnMajor => j * self.ld() + i,
            Order::RowMajor => i * self.ld() + j,
        })
    }
}

impl Places for VectorLayout {
    fn shape(&self) -> (usize, usize) {
        (self.len(), 1)
    }

    fn place(&self, i: usize, _: usize) -> Option<usize> {
        let step = self.increment().unsigned_abs();
        Some(if self.increment() < 0 { (self.len() - 1 - i) * step } else { i * step })
    }
}

impl Places for BandLayout {
    fn shape(&self) -> (usize, usize) {
        (self.rows(), self.cols())
    }

    fn place(&self, i: usize, j: usize) -> Option<usize> {
        let inside = j + self.lower() >= i && i + self.upper() >= j;
        inside.then(|| match self.order() {
            Order::ColumnMajor => j * self.ld() + self.upper() + i - j,
            Order::RowMajor => i * self.ld() + self.lower() + j - i,
        })
    }
}

/// A packed triangle, with the side, which the layout does not know.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Triangle(pub(crate) PackedLayout, pub(crate) Fill);

impl Triangle {
    pub(crate) fn place(&self, i: usize, j: usize) -> Option<usize> {
        let n = self.0.size();
        in_triangle(self.1, i, j).then(|| match (self.0.order(), self.1) {
            (Order::ColumnMajor, Fill::Upper) => j * (j + 1) / 2 + i,
            (Order::ColumnMajor, Fill::Lower) => j * (2 * n - j + 1) / 2 + i - j,
            (Order::RowMajor, Fill::Lower) => i * (i + 1) / 2 + j,
            (Order::RowMajor, Fill::Upper) => i * (2 * n - i + 1) / 2 + j - i,
        })
    }

    pub(crate) fn memory<T: Value>(&self, item: &Dense) -> Vec<T> {
        let mut memory = vec![gap(); self.0.needed().unwrap()];
        for (i, j) in (0..item.rows).flat_map(|i| (0..item.cols).map(move |j| (i, j))) {
            if let Some(place) = self.place(i, j) {
                memory[place] = T::of(item.at(i, j));
            }
        }
        memory
    }

    pub(crate) fn elements<T: Value>(&self, memory: &[T]) -> Dense {
        let n = self.0.size();
        Dense::of(n, n, |i, j| self.place(i, j).map_or(C::default(), |place| memory[place].get()))
    }
}

/// Compares numbers. The allowed error is the spacing of numbers of the type times the number of terms;
/// `scale` is the size of the terms.
pub(crate) fn assert_close<T: Value>(got: &Dense, expected: &Dense, terms: usize, scale: f64, what: &str) {
    assert_eq!((got.rows, got.cols), (expected.rows, expected.cols), "{what}");
    let allowed = T::EPSILON * (4 + 2 * terms) as f64 * scale.max(1.0);
    for i in 0..got.rows {
        for j in 0..got.cols {
            let (got, expected) = (got.at(i, j), expected.at(i, j));
            let same = got == expected
                || (got.re.is_nan() || got.im.is_nan()) && (expected.re.is_nan() || expected.im.is_nan());
            assert!(
                same || (got - expected).norm() <= allowed,
                "{what}: ({i}, {j}) is {got}, {expected} expected within {allowed:e}"
            );
        }
    }
}

pub(crate) const ORDERS: [Order; 2] = [Order::ColumnMajor, Order::RowMajor];
pub(crate) const FILLS: [Fill; 2] = [Fill::Upper, Fill::Lower];

/// A layout of an order with gaps.
pub(crate) fn matrix(order: Order, rows: usize, cols: usize, gap: usize) -> MatrixLayout {
    match order {
        Order::ColumnMajor => MatrixLayout::column_major(rows, cols).with_ld(rows.max(1) + gap),
        Order::RowMajor => MatrixLayout::row_major(rows, cols).with_ld(cols.max(1) + gap),
    }
}

/// How a matrix is passed: its memory holds the matrix, its transpose, or its conjugate transpose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Turn {
    Not,
    T,
    H,
}

impl Turn {
    pub(crate) const ALL: [Self; 3] = [Self::Not, Self::T, Self::H];

    /// The contents of memory for which the view equals `item`.
    pub(crate) fn stored(self, item: &Dense) -> Dense {
        match self {
            Self::Not => item.clone(),
            Self::T => item.t(),
            Self::H => item.h(),
        }
    }

    /// The turned view of the memory.
    pub(crate) fn view<'a, T: Element>(self, view: &rocblas::Matrix<'a, T>) -> rocblas::Matrix<'a, T> {
        match self {
            Self::Not => view.clone(),
            Self::T => view.t(),
            Self::H => view.h(),
        }
    }
}

/// Whether BLAS has a form for a turned operand in this order, in an equation that may be transposed. It has
/// none if the operand would have to be conjugated without being transposed.
pub(crate) fn has_form(complex: bool, order: Order, turn: Turn, flip: bool) -> bool {
    let transposed = (order == Order::RowMajor) != (turn != Turn::Not);
    !(complex && turn == Turn::H && transposed == flip)
}

/// Runs a generic check for the four types of BLAS.
macro_rules! for_scalars {
    ($check:ident) => {{
        let bench = $crate::common::Bench::open();
        $check::<f32>(&bench);
        $check::<f64>(&bench);
        $check::<rocblas::Complex32>(&bench);
        $check::<rocblas::Complex64>(&bench);
    }};
}
pub(crate) use for_scalars;

/// Runs a generic check for complex numbers.
macro_rules! for_complex {
    ($check:ident) => {{
        let bench = $crate::common::Bench::open();
        $check::<rocblas::Complex32>(&bench);
        $check::<rocblas::Complex64>(&bench);
    }};
}
pub(crate) use for_complex;

/// Runs a generic check for real numbers.
macro_rules! for_reals {
    ($check:ident) => {{
        let bench = $crate::common::Bench::open();
        $check::<f32>(&bench);
        $check::<f64>(&bench);
    }};
}
pub(crate) use for_reals;
