//! Symmetric and Hermitian matrices with vectors.

use rocblas::{
    Band, BandLayout, Choice, Complex, Fill, Matrix, MatrixMut, Order, Packed, PackedLayout, PackedMut, Real,
    Scalar, Vector, VectorLayout, VectorMut,
};

use crate::common::{
    Bench, C, Dense, FILLS, ORDERS, Places as _, Random, Triangle, Value, assert_close, choice, cublas_lacks,
    for_complex, for_reals, for_scalars, matrix,
};

const SIZES: [usize; 6] = [0, 1, 3, 33, 64, 130];
const TWO: C = C::new(2.0, 0.0);

/// Vectors to multiply with and to add to.
struct Vectors<T: Value> {
    x: Dense,
    y: Dense,
    in_x: hip::DeviceBuffer<T>,
    in_y: hip::DeviceBuffer<T>,
    x_layout: VectorLayout,
    y_layout: VectorLayout,
}

impl<T: Value> Vectors<T> {
    fn new(bench: &Bench, random: &mut Random, n: usize) -> Self {
        let (x, y) = (random.dense::<T>(n, 1), random.dense::<T>(n, 1));
        let x_layout = VectorLayout::new(n).with_increment(random.choose(&[1, 2, -2]));
        let y_layout = VectorLayout::new(n).with_increment(random.choose(&[1, 3, -1]));
        let in_x = bench.upload(&x_layout.memory::<T>(std::slice::from_ref(&x)));
        let in_y = bench.upload(&y_layout.memory::<T>(std::slice::from_ref(&y)));
        Self { x, y, in_x, in_y, x_layout, y_layout }
    }

    fn views(&mut self) -> (Vector<'_, T>, VectorMut<'_, T>) {
        let x = Vector::new(&self.in_x, self.x_layout).unwrap();
        (x, VectorMut::new(&mut self.in_y, self.y_layout).unwrap())
    }

    /// Both, for reading.
    fn read(&self) -> (Vector<'_, T>, Vector<'_, T>) {
        (Vector::new(&self.in_x, self.x_layout).unwrap(), Vector::new(&self.in_y, self.y_layout).unwrap())
    }

    /// `y` is `alpha A x + 2 y`.
    fn assert_product(&self, bench: &Bench, a: &Dense, alpha: C, what: &str) {
        let got = self.y_layout.elements(&bench.download(&self.in_y)).remove(0);
        let expected = a.times(&self.x).scaled(alpha).plus(&self.y.scaled(TWO));
        assert_close::<T>(&got, &expected, a.cols, 3.0, what);
    }
}

/// Whether a call ran. It must be refused exactly if BLAS has no form for it.
fn ran(result: rocblas::Result<()>, form: bool, what: &str) -> bool {
    match result {
        Ok(()) => assert!(form, "{what}"),
        Err(error) => {
            assert!(!form && matches!(error, rocblas::Error::Conjugation { .. }), "{what}: {error}")
        }
    }
    form
}

/// All combinations of size, triangle and order.
fn cases() -> impl Iterator<Item = (usize, Fill, Order)> {
    SIZES
        .into_iter()
        .flat_map(|n| FILLS.into_iter().flat_map(move |fill| ORDERS.map(|order| (n, fill, order))))
}

fn symv<T: Scalar + Value>(bench: &Bench) {
    let mut random = Random::new(41);
    for (n, fill, order) in cases() {
        let a = random.dense::<T>(n, n);
        let layout = matrix(order, n, n, 1);
        let in_a = bench.upload(&layout.memory::<T>(std::slice::from_ref(&a)));
        let alpha = random.value::<T>();
        let mut vectors = Vectors::<T>::new(bench, &mut random, n);
        let view = Matrix::new(&in_a, layout).unwrap();
        let (x, mut y) = vectors.views();
        bench.blas.symv(fill, &view, &x, &mut y).alpha(T::of(alpha)).beta(T::of(TWO)).run().unwrap();
        vectors.assert_product(bench, &a.mirrored(fill, false), alpha, &format!("{n} {fill:?} {order:?}"));
        // The other triangle of the transposed view is the same one.
        let other = if fill == Fill::Upper { Fill::Lower } else { Fill::Upper };
        let mut vectors = Vectors::<T>::new(bench, &mut random, n);
        let (x, mut y) = vectors.views();
        bench.blas.symv(other, &view.t(), &x, &mut y).beta(T::of(TWO)).run().unwrap();
        vectors.assert_product(bench, &a.mirrored(fill, false), C::new(1.0, 0.0), "the transposed view");
    }
}

#[test]
fn symmetric_matrices_times_vectors() {
    for_scalars!(symv);
}

fn hemv<T: Complex + Value>(bench: &Bench) {
    let mut random = Random::new(42);
    for (n, fill, order) in cases() {
        let a = random.dense::<T>(n, n);
        let layout = matrix(order, n, n, 1);
        let in_a = bench.upload(&layout.memory::<T>(std::slice::from_ref(&a)));
        let alpha = random.value::<T>();
        let mut vectors = Vectors::<T>::new(bench, &mut random, n);
        let view = Matrix::new(&in_a, layout).unwrap();
        let (x, mut y) = vectors.views();
        let what = format!("{n} {fill:?} {order:?}");
        let update = bench.blas.hemv(fill, &view, &x, &mut y).alpha(T::of(alpha)).beta(T::of(TWO));
        if ran(update.run(), order == Order::ColumnMajor, &what) {
            vectors.assert_product(bench, &a.mirrored(fill, true), alpha, &what);
        }
        // The conjugate of a row-major Hermitian matrix is the column-major matrix.
        let mut vectors = Vectors::<T>::new(bench, &mut random, n);
        let (x, mut y) = vectors.views();
        let update = bench.blas.hemv(fill, &view.conj(), &x, &mut y).beta(T::of(TWO));
        if ran(update.run(), order == Order::RowMajor, &what) {
            vectors.assert_product(bench, &a.mirrored(fill, true).conj(), C::new(1.0, 0.0), &what);
        }
    }
}

#[test]
fn hermitian_matrices_times_vectors() {
    for_complex!(hemv);
}

/// A band of one triangle.
fn band<T: Value>(random: &mut Random, n: usize, fill: Fill, order: Order) -> (BandLayout, Dense) {
    let k = random.below(4).min(n.saturating_sub(1));
    let layout = match fill {
        Fill::Upper => BandLayout::upper_triangle(n, k, order),
        Fill::Lower => BandLayout::lower_triangle(n, k, order),
    };
    let whole = random.dense::<T>(n, n);
    let stored = Dense::of(n, n, |i, j| match layout.place(i, j) {
        Some(_) => whole.at(i, j),
        None => C::default(),
    });
    (layout.with_ld(k + 2), stored)
}

fn sbmv<T: Real + Value>(bench: &Bench) {
    let mut random = Random::new(43);
    for (n, fill, order) in cases() {
        let (layout, a) = band::<T>(&mut random, n, fill, order);
        let in_a = bench.upload(&layout.memory::<T>(std::slice::from_ref(&a)));
        let mut vectors = Vectors::<T>::new(bench, &mut random, n);
        let (x, mut y) = vectors.views();
        let view = Band::new(&in_a, layout).unwrap();
        bench.blas.sbmv(&view, &x, &mut y).beta(T::of(TWO)).run().unwrap();
        let what = format!("{layout:?}");
        vectors.assert_product(bench, &a.mirrored(fill, false), C::new(1.0, 0.0), &what);
    }
}

#[test]
fn symmetric_bands_times_vectors() {
    for_reals!(sbmv);
}

fn hbmv<T: Complex + Value>(bench: &Bench) {
    let mut random = Random::new(44);
    for (n, fill, order) in cases() {
        let (layout, a) = band::<T>(&mut random, n, fill, order);
        let in_a = bench.upload(&layout.memory::<T>(std::slice::from_ref(&a)));
        let mut vectors = Vectors::<T>::new(bench, &mut random, n);
        let (x, mut y) = vectors.views();
        let view = Band::new(&in_a, layout).unwrap();
        let update = bench.blas.hbmv(&view, &x, &mut y).beta(T::of(TWO));
        let what = format!("{layout:?}");
        if ran(update.run(), order == Order::ColumnMajor, &what) {
            vectors.assert_product(bench, &a.mirrored(fill, true), C::new(1.0, 0.0), &what);
        }
    }
}

#[test]
fn hermitian_bands_times_vectors() {
    for_complex!(hbmv);
}

fn spmv<T: Real + Value>(bench: &Bench) {
    let mut random = Random::new(45);
    for (n, fill, order) in cases() {
        let a = random.dense::<T>(n, n);
        let triangle = Triangle(PackedLayout::new(n, order), fill);
        let in_a = bench.upload(&triangle.memory::<T>(&a));
        let mut vectors = Vectors::<T>::new(bench, &mut random, n);
        let (x, mut y) = vectors.views();
        let view = Packed::new(&in_a, triangle.0).unwrap();
        bench.blas.spmv(fill, &view, &x, &mut y).beta(T::of(TWO)).run().unwrap();
        let what = format!("{n} {fill:?} {order:?}");
        vectors.assert_product(bench, &a.mirrored(fill, false), C::new(1.0, 0.0), &what);
    }
}

#[test]
fn symmetric_packed_matrices_times_vectors() {
    for_reals!(spmv);
}

fn hpmv<T: Complex + Value>(bench: &Bench) {
    let mut random = Random::new(46);
    for (n, fill, order) in cases() {
        let a = random.dense::<T>(n, n);
        let triangle = Triangle(PackedLayout::new(n, order), fill);
        let in_a = bench.upload(&triangle.memory::<T>(&a));
        let mut vectors = Vectors::<T>::new(bench, &mut random, n);
        let (x, mut y) = vectors.views();
        let view = Packed::new(&in_a, triangle.0).unwrap();
        let update = bench.blas.hpmv(fill, &view, &x, &mut y).beta(T::of(TWO));
        let what = format!("{n} {fill:?} {order:?}");
        if ran(update.run(), order == Order::ColumnMajor, &what) {
            vectors.assert_product(bench, &a.mirrored(fill, true), C::new(1.0, 0.0), &what);
        }
    }
}

#[test]
fn hermitian_packed_matrices_times_vectors() {
    for_complex!(hpmv);
}

/// One triangle has the expected values, and the other is unchanged.
fn assert_triangle<T: Value>(
    got: &Dense,
    old: &Dense,
    expected: &Dense,
    fill: Fill,
    hermitian: bool,
    what: &str,
) {
    let n = old.rows;
    let expected = Dense::of(n, n, |i, j| match crate::common::in_triangle(fill, i, j) {
        true if hermitian && i == j => C::new(expected.at(i, i).re, 0.0),
        true => expected.at(i, j),
        false => old.at(i, j),
    });
    assert_close::<T>(got, &expected, 4, 6.0, what);
}

/// The matrix that rank-one and rank-two updates add.
fn added(x: &Dense, y: Option<&Dense>, alpha: C, hermitian: bool) -> Dense {
    let t = |item: &Dense| if hermitian { item.h() } else { item.t() };
    let conj = if hermitian { alpha.conj() } else { alpha };
    match y {
        None => x.times(&t(x)).scaled(alpha),
        Some(y) => x.times(&t(y)).scaled(alpha).plus(&y.times(&t(x)).scaled(conj)),
    }
}

fn full_updates<T: Scalar + Value>(bench: &Bench) {
    let mut random = Random::new(47);
    for (n, fill, order) in cases() {
        let a = random.dense::<T>(n, n);
        let layout = matrix(order, n, n, 1);
        let memory = layout.memory::<T>(std::slice::from_ref(&a));
        let vectors = Vectors::<T>::new(bench, &mut random, n);
        let (x, y) = vectors.read();
        let alpha = random.value::<T>();
        let what = format!("{n} {fill:?} {order:?}");
        for two in [false, true] {
            let mut in_a = bench.upload(&memory);
            let mut view = MatrixMut::new(&mut in_a, layout).unwrap();
            match two {
                false => bench.blas.syr(fill, &x, &mut view).alpha(T::of(alpha)).run().unwrap(),
                true => bench.blas.syr2(fill, &x, &y, &mut view).alpha(T::of(alpha)).run().unwrap(),
            }
            let got = layout.elements(&bench.download(&in_a)).remove(0);
            let expected = added(&vectors.x, two.then_some(&vectors.y), alpha, false).plus(&a);
            assert_triangle::<T>(&got, &a, &expected, fill, false, &what);
        }
        if T::IS_COMPLEX && choice() == Choice::Cublas {
            continue;
        }
        let triangle = Triangle(PackedLayout::new(n, order), fill);
        let mut in_a = bench.upload(&triangle.memory::<T>(&a));
        let mut view = PackedMut::new(&mut in_a, triangle.0).unwrap();
        bench.blas.spr(fill, &x, &mut view).alpha(T::of(alpha)).run().unwrap();
        let got = triangle.elements(&bench.download(&in_a));
        let expected = added(&vectors.x, None, alpha, false).plus(&a);
        assert_triangle::<T>(&got, &Dense::of(n, n, |_, _| C::default()), &expected, fill, false, &what);
    }
}

#[test]
fn symmetric_updates() {
    // The others run.
    cublas_lacks("updates of packed symmetric matrices of complex numbers");
    for_scalars!(full_updates);
}

fn packed_updates<T: Real + Value>(bench: &Bench) {
    let mut random = Random::new(48);
    for (n, fill, order) in cases() {
        let a = random.dense::<T>(n, n);
        let vectors = Vectors::<T>::new(bench, &mut random, n);
        let (x, y) = vectors.read();
        let triangle = Triangle(PackedLayout::new(n, order), fill);
        let mut in_a = bench.upload(&triangle.memory::<T>(&a));
        let mut view = PackedMut::new(&mut in_a, triangle.0).unwrap();
        bench.blas.spr2(fill, &x, &y, &mut view).run().unwrap();
        let got = triangle.elements(&bench.download(&in_a));
        let expected = added(&vectors.x, Some(&vectors.y), C::new(1.0, 0.0), false).plus(&a);
        let none = Dense::of(n, n, |_, _| C::default());
        assert_triangle::<T>(&got, &none, &expected, fill, false, &format!("{n} {fill:?} {order:?}"));
    }
}

#[test]
fn symmetric_packed_updates_of_two_vectors() {
    for_reals!(packed_updates);
}

fn hermitian_updates<T: Complex + Value>(bench: &Bench)
where
    T::Real: Value,
{
    let mut random = Random::new(49);
    for (n, fill, order) in cases() {
        // The diagonal is real, as in every Hermitian matrix.
        let a = random.dense::<T>(n, n).mirrored(fill, true);
        let layout = matrix(order, n, n, 1);
        let vectors = Vectors::<T>::new(bench, &mut random, n);
        let (x, y) = vectors.read();
        let (alpha, real) = (random.value::<T>(), random.value::<T::Real>());
        let (form, what) = (order == Order::ColumnMajor, format!("{n} {fill:?} {order:?}"));
        for two in [false, true] {
            let expected = match two {
                false => added(&vectors.x, None, real, true),
                true => added(&vectors.x, Some(&vectors.y), alpha, true),
            };
            let expected = expected.plus(&a);
            let mut in_a = bench.upload(&layout.memory::<T>(std::slice::from_ref(&a)));
            let mut view = MatrixMut::new(&mut in_a, layout).unwrap();
            let result = match two {
                false => bench.blas.her(fill, &x, &mut view).alpha(T::Real::of(real)).run(),
                true => bench.blas.her2(fill, &x, &y, &mut view).alpha(T::of(alpha)).run(),
            };
            if ran(result, form, &what) {
                let got = layout.elements(&bench.download(&in_a)).remove(0);
                assert_triangle::<T>(&got, &a, &expected, fill, true, &what);
            }
            let triangle = Triangle(PackedLayout::new(n, order), fill);
            let mut in_a = bench.upload(&triangle.memory::<T>(&a));
            let mut view = PackedMut::new(&mut in_a, triangle.0).unwrap();
            let result = match two {
                false => bench.blas.hpr(fill, &x, &mut view).alpha(T::Real::of(real)).run(),
                true => bench.blas.hpr2(fill, &x, &y, &mut view).alpha(T::of(alpha)).run(),
            };
            if ran(result, form, &what) {
                let got = triangle.elements(&bench.download(&in_a));
                let none = Dense::of(n, n, |_, _| C::default());
                assert_triangle::<T>(&got, &none, &expected, fill, true, &what);
            }
        }
    }
}

#[test]
fn hermitian_updates_need_columns() {
    for_complex!(hermitian_updates);
}
