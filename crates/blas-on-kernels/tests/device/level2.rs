//! Matrices with vectors.

use half::{bf16, f16};
use rocblas_sys::{rocblas_diagonal, rocblas_fill, rocblas_operation};

use crate::common::{
    BETWEEN, Blas, C, Form, LOWER, N, NAN, NON_UNIT, Random, SUCCESS, T, UNIT, UPPER, call, form, op,
};
use crate::model::{Element, Matrix, ONE, Sum, Vector, Z, ZERO, is_close};

const SIZES: [usize; 9] = [0, 1, 2, 3, 33, 63, 64, 65, 90];
const STEPS: [i64; 4] = [1, 2, -1, -3];

fn compare<E: Element>(
    before: &Vector<E>,
    got: &[E],
    epsilon: f64,
    what: &dyn std::fmt::Debug,
    want: impl Fn(usize) -> Sum,
) {
    let places: Vec<usize> = (0..before.n).map(|i| before.place(i)).collect();
    for (i, place) in places.iter().enumerate() {
        let want = want(i);
        assert!(is_close(got[*place], want, epsilon), "{what:?} at {i}: {:?}, not {want:?}", got[*place]);
    }
    for (place, x) in got.iter().enumerate() {
        assert!(places.contains(&place) || *x == E::of(BETWEEN), "{what:?}: between elements");
    }
}

/// Where elements of a matrix are in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Storage {
    Dense,
    /// With this many diagonals below and above the main one.
    Band(usize, usize),
    Packed(rocblas_fill),
}

impl Storage {
    /// The matrix in memory; `there` says which elements exist. All others are NaN, and must not be read.
    fn store<E: Element>(
        self,
        full: &Matrix<E>,
        there: impl Fn(usize, usize) -> bool,
        extra: usize,
    ) -> Matrix<E> {
        let (m, n) = (full.rows, full.columns);
        let mut stored = match self {
            Self::Dense => Matrix::new(m, n, m.max(1) + extra, NAN),
            Self::Band(below, above) => Matrix::new(below + above + 1, n, below + above + 1 + extra, NAN),
            Self::Packed(_) => Matrix::new(n * (n + 1) / 2, 1, (n * (n + 1) / 2).max(1), NAN),
        };
        for j in 0..n {
            for i in (0..m).filter(|&i| there(i, j)) {
                let (row, column) = match self {
                    Self::Dense => (i, j),
                    Self::Band(_, above) => (above + i - j, j),
                    Self::Packed(UPPER) => (i + j * (j + 1) / 2, 0),
                    Self::Packed(_) => (i + j * (2 * n - j - 1) / 2, 0),
                };
                stored.set(row, column, full.at(i, j));
            }
        }
        stored
    }
}

fn in_band(below: usize, above: usize) -> impl Fn(usize, usize) -> bool {
    move |i, j| i <= j + below && j <= i + above
}

fn in_triangle(uplo: rocblas_fill) -> impl Fn(usize, usize) -> bool {
    move |i, j| if uplo == UPPER { i <= j } else { i >= j }
}

/// The common parts of all kinds of products.
struct Product {
    form: Form,
    on_device: bool,
    alpha: Z,
    beta: Z,
    steps: [i64; 2],
}

impl Product {
    fn new(random: &mut Random, number: usize) -> Self {
        let (form, on_device) = form(number);
        let steps = [random.one_of(&STEPS), random.one_of(&STEPS)];
        Self { form, on_device, alpha: random.factor(), beta: random.factor(), steps }
    }
}

/// Tries a product of stored matrices; `element` gives the model's elements.
#[expect(clippy::too_many_arguments, reason = "the differences between all kinds of products")]
fn multiply<A: Element, S: Element, Y: Element>(
    blas: &Blas,
    random: &mut Random,
    product: &Product,
    size: [usize; 2],
    stored: &[Matrix<A>],
    what: &dyn std::fmt::Debug,
    element: impl Fn(usize, usize, usize) -> Z,
    call: impl FnOnce(
        &crate::common::Scalar<S>,
        &crate::common::Operand<A>,
        &crate::common::Operand<A>,
        &crate::common::Scalar<S>,
        &crate::common::Operand<Y>,
    ) -> rocblas_sys::rocblas_status,
) {
    let Product { form, on_device, alpha, beta, steps } = *product;
    let [rows, columns] = size;
    blas.on_device(on_device);
    let (alpha, beta) = (S::of(alpha).z(), S::of(beta).z());
    let x = random.vectors::<A>(form.batch(), columns, steps[0]);
    let mut y = random.vectors::<Y>(form.batch(), rows, steps[1]);
    if beta == ZERO {
        // Then y is not read.
        y.iter_mut().for_each(|y| (0..rows).for_each(|i| y.set(i, NAN)));
    }
    let [on_alpha, on_beta] = [alpha, beta].map(|value| blas.scalar::<S>(value, on_device));
    let (on_a, on_x, on_y) = (blas.matrices(form, stored), blas.vectors(form, &x), blas.vectors(form, &y));
    assert_eq!(call(&on_alpha, &on_a, &on_x, &on_beta, &on_y), SUCCESS, "{what:?}");
    let nothing = rows == 0 || columns == 0;
    for (index, got) in on_y.read(blas).iter().enumerate() {
        let y = &y[index];
        compare(y, got, S::ROUNDING, &(what, form, on_device, alpha, beta, steps), |i| {
            if nothing {
                return Sum::NONE.plus(ONE, y.at(i));
            }
            let mut want = if alpha == ZERO {
                Sum::NONE
            } else {
                Sum::of((0..columns).map(|j| (element(index, i, j), x[index].at(j)))).times(alpha)
            };
            if beta != ZERO {
                want = want.plus(beta, y.at(i));
            }
            want
        });
    }
}

macro_rules! general_products {
    ($($test:ident: $type:ty, $cases:literal, gemv [$($gemv:ident)+] gbmv [$($gbmv:ident)+];)+) => {$(
        #[test]
        fn $test() {
            let blas = Blas::new();
            let mut random = Random::new(10);
            for number in 0..$cases {
                let product = Product::new(&mut random, number);
                let (form, steps, batch) = (product.form, product.steps, product.form.batch());
                let [m, n] = [random.one_of(&SIZES), if number == 3 { 700 } else { random.one_of(&SIZES) }];
                let trans = random.one_of(&[N, T, C]);
                let size = if trans == N { [m, n] } else { [n, m] };
                let full = random.matrices::<$type>(batch, m, n);
                let what = ("gemv", trans, m, n);
                multiply::<$type, $type, $type>(&blas, &mut random, &product, size, &full, &what, |b, i, j| op(&full[b], trans, i, j),
                    |alpha, a, x, beta, y| call!(blas, form, [$($gemv)+]; v trans, s m, s n, p alpha, o a, full[0].leading,
                        o x, steps[0], p beta, o y, steps[1], b batch,));

                let [kl, ku] = [random.one_of(&[0, 1, 4, 80]), random.one_of(&[0, 2, 5])];
                let stored: Vec<_> = full.iter().map(|full| Storage::Band(kl, ku).store(full, in_band(kl, ku), number % 3)).collect();
                let what = ("gbmv", trans, m, n, kl, ku);
                let there = in_band(kl, ku);
                let element = |b: usize, i, j| {
                    let (row, column) = if trans == N { (i, j) } else { (j, i) };
                    if there(row, column) { op(&full[b], trans, i, j) } else { ZERO }
                };
                multiply::<$type, $type, $type>(&blas, &mut random, &product, size, &stored, &what, element,
                    |alpha, a, x, beta, y| call!(blas, form, [$($gbmv)+]; v trans, s m, s n, s kl, s ku, p alpha, o a, stored[0].leading,
                        o x, steps[0], p beta, o y, steps[1], b batch,));
            }
        }
    )+};
}
general_products! {
    products_of_f32_are_right: f32, 24,
        gemv [rocblas_sgemv rocblas_sgemv_64 rocblas_sgemv_batched rocblas_sgemv_batched_64 rocblas_sgemv_strided_batched rocblas_sgemv_strided_batched_64]
        gbmv [rocblas_sgbmv rocblas_sgbmv_64 rocblas_sgbmv_batched rocblas_sgbmv_batched_64 rocblas_sgbmv_strided_batched rocblas_sgbmv_strided_batched_64];
    products_of_f64_are_right: f64, 16,
        gemv [rocblas_dgemv rocblas_dgemv_64 rocblas_dgemv_batched rocblas_dgemv_batched_64 rocblas_dgemv_strided_batched rocblas_dgemv_strided_batched_64]
        gbmv [rocblas_dgbmv rocblas_dgbmv_64 rocblas_dgbmv_batched rocblas_dgbmv_batched_64 rocblas_dgbmv_strided_batched rocblas_dgbmv_strided_batched_64];
    products_of_complex_f32_are_right: [f32; 2], 24,
        gemv [rocblas_cgemv rocblas_cgemv_64 rocblas_cgemv_batched rocblas_cgemv_batched_64 rocblas_cgemv_strided_batched rocblas_cgemv_strided_batched_64]
        gbmv [rocblas_cgbmv rocblas_cgbmv_64 rocblas_cgbmv_batched rocblas_cgbmv_batched_64 rocblas_cgbmv_strided_batched rocblas_cgbmv_strided_batched_64];
    products_of_complex_f64_are_right: [f64; 2], 16,
        gemv [rocblas_zgemv rocblas_zgemv_64 rocblas_zgemv_batched rocblas_zgemv_batched_64 rocblas_zgemv_strided_batched rocblas_zgemv_strided_batched_64]
        gbmv [rocblas_zgbmv rocblas_zgbmv_64 rocblas_zgbmv_batched rocblas_zgbmv_batched_64 rocblas_zgbmv_strided_batched rocblas_zgbmv_strided_batched_64];
}

/// Matrices and vectors of 16-bit floats; the factors are f32.
#[test]
fn products_of_16_bit_floats_are_right() {
    macro_rules! narrow {
        ($($type:ty => $to:ty: [$($name:ident)+];)+) => {$(
            let blas = Blas::new();
            let mut random = Random::new(11);
            for number in [1, 3, 5, 7] {
                let product = Product::new(&mut random, number);
                let (form, steps, batch) = (product.form, product.steps, product.form.batch());
                let [m, n] = [random.one_of(&SIZES), random.one_of(&SIZES)];
                let trans = random.one_of(&[N, T]);
                let size = if trans == N { [m, n] } else { [n, m] };
                let full = random.matrices::<$type>(batch, m, n);
                multiply::<$type, f32, $to>(&blas, &mut random, &product, size, &full, &(trans, m, n), |b, i, j| op(&full[b], trans, i, j),
                    |alpha, a, x, beta, y| call!(blas, form, [$($name)+]; v trans, s m, s n, p alpha, o a, full[0].leading,
                        o x, steps[0], p beta, o y, steps[1], b batch,));
            }
        )+};
    }
    narrow! {
        f16 => f16: [rocblas_hshgemv_batched rocblas_hshgemv_batched_64 rocblas_hshgemv_strided_batched rocblas_hshgemv_strided_batched_64];
        f16 => f32: [rocblas_hssgemv_batched rocblas_hssgemv_batched_64 rocblas_hssgemv_strided_batched rocblas_hssgemv_strided_batched_64];
        bf16 => bf16: [rocblas_tstgemv_batched rocblas_tstgemv_batched_64 rocblas_tstgemv_strided_batched rocblas_tstgemv_strided_batched_64];
        bf16 => f32: [rocblas_tssgemv_batched rocblas_tssgemv_batched_64 rocblas_tssgemv_strided_batched rocblas_tssgemv_strided_batched_64];
    }
}

/// Element of a matrix that is stored as one triangle.
fn mirrored<E: Element>(full: &Matrix<E>, uplo: rocblas_fill, hermitian: bool, i: usize, j: usize) -> Z {
    let x = if in_triangle(uplo)(i, j) {
        full.at(i, j)
    } else if hermitian {
        full.at(j, i).conj()
    } else {
        full.at(j, i)
    };
    if hermitian && i == j { x.real() } else { x }
}

macro_rules! symmetric_products {
    ($($test:ident: $type:ty, $hermitian:literal, $cases:literal, dense [$($dense:ident)+] band [$($band:ident)+] packed [$($packed:ident)+];)+) => {$(
        #[test]
        fn $test() {
            let blas = Blas::new();
            let mut random = Random::new(12);
            for number in 0..$cases {
                let product = Product::new(&mut random, number);
                let (form, steps, batch) = (product.form, product.steps, product.form.batch());
                let (n, k, uplo) = (random.one_of(&SIZES), random.one_of(&[0, 1, 7, 70]), random.one_of(&[UPPER, LOWER]));
                let full = random.matrices::<$type>(batch, n, n);
                let store = |storage: Storage, there: &dyn Fn(usize, usize) -> bool| -> Vec<Matrix<$type>> {
                    full.iter().map(|full| storage.store(full, |i, j| in_triangle(uplo)(i, j) && there(i, j), number % 3)).collect()
                };
                let element = |b: usize, i, j| mirrored(&full[b], uplo, $hermitian, i, j);
                let what = (uplo, n, k, $hermitian);

                let stored = store(Storage::Dense, &|_, _| true);
                multiply::<$type, $type, $type>(&blas, &mut random, &product, [n, n], &stored, &("dense", what), element,
                    |alpha, a, x, beta, y| call!(blas, form, [$($dense)+]; v uplo, s n, p alpha, o a, stored[0].leading,
                        o x, steps[0], p beta, o y, steps[1], b batch,));

                let (below, above) = if uplo == UPPER { (0, k) } else { (k, 0) };
                let stored = store(Storage::Band(below, above), &in_band(k, k));
                let within = |b: usize, i: usize, j: usize| if i.abs_diff(j) <= k { element(b, i, j) } else { ZERO };
                if !stringify!($($band)+).contains("none") {
                    multiply::<$type, $type, $type>(&blas, &mut random, &product, [n, n], &stored, &("band", what), within,
                        |alpha, a, x, beta, y| call!(blas, form, [$($band)+]; v uplo, s n, s k, p alpha, o a, stored[0].leading,
                            o x, steps[0], p beta, o y, steps[1], b batch,));
                }

                let stored = store(Storage::Packed(uplo), &|_, _| true);
                multiply::<$type, $type, $type>(&blas, &mut random, &product, [n, n], &stored, &("packed", what), element,
                    |alpha, a, x, beta, y| call!(blas, form, [$($packed)+]; v uplo, s n, p alpha, a a,
                        o x, steps[0], p beta, o y, steps[1], b batch,));
            }
        }
    )+};
}
symmetric_products! {
    symmetric_products_of_f32_are_right: f32, false, 16,
        dense [rocblas_ssymv rocblas_ssymv_64 rocblas_ssymv_batched rocblas_ssymv_batched_64 rocblas_ssymv_strided_batched rocblas_ssymv_strided_batched_64]
        band [rocblas_ssbmv rocblas_ssbmv_64 rocblas_ssbmv_batched rocblas_ssbmv_batched_64 rocblas_ssbmv_strided_batched rocblas_ssbmv_strided_batched_64]
        packed [rocblas_sspmv rocblas_sspmv_64 rocblas_sspmv_batched rocblas_sspmv_batched_64 rocblas_sspmv_strided_batched rocblas_sspmv_strided_batched_64];
    symmetric_products_of_f64_are_right: f64, false, 12,
        dense [rocblas_dsymv rocblas_dsymv_64 rocblas_dsymv_batched rocblas_dsymv_batched_64 rocblas_dsymv_strided_batched rocblas_dsymv_strided_batched_64]
        band [rocblas_dsbmv rocblas_dsbmv_64 rocblas_dsbmv_batched rocblas_dsbmv_batched_64 rocblas_dsbmv_strided_batched rocblas_dsbmv_strided_batched_64]
        packed [rocblas_dspmv rocblas_dspmv_64 rocblas_dspmv_batched rocblas_dspmv_batched_64 rocblas_dspmv_strided_batched rocblas_dspmv_strided_batched_64];
    hermitian_products_of_complex_f32_are_right: [f32; 2], true, 16,
        dense [rocblas_chemv rocblas_chemv_64 rocblas_chemv_batched rocblas_chemv_batched_64 rocblas_chemv_strided_batched rocblas_chemv_strided_batched_64]
        band [rocblas_chbmv rocblas_chbmv_64 rocblas_chbmv_batched rocblas_chbmv_batched_64 rocblas_chbmv_strided_batched rocblas_chbmv_strided_batched_64]
        packed [rocblas_chpmv rocblas_chpmv_64 rocblas_chpmv_batched rocblas_chpmv_batched_64 rocblas_chpmv_strided_batched rocblas_chpmv_strided_batched_64];
    hermitian_products_of_complex_f64_are_right: [f64; 2], true, 12,
        dense [rocblas_zhemv rocblas_zhemv_64 rocblas_zhemv_batched rocblas_zhemv_batched_64 rocblas_zhemv_strided_batched rocblas_zhemv_strided_batched_64]
        band [rocblas_zhbmv rocblas_zhbmv_64 rocblas_zhbmv_batched rocblas_zhbmv_batched_64 rocblas_zhbmv_strided_batched rocblas_zhbmv_strided_batched_64]
        packed [rocblas_zhpmv rocblas_zhpmv_64 rocblas_zhpmv_batched rocblas_zhpmv_batched_64 rocblas_zhpmv_strided_batched rocblas_zhpmv_strided_batched_64];
}

macro_rules! symmetric_products_of_complex_numbers {
    ($($test:ident: $type:ty, [$($name:ident)+];)+) => {$(
        #[test]
        fn $test() {
            let blas = Blas::new();
            let mut random = Random::new(15);
            for number in 0..8 {
                let product = Product::new(&mut random, number);
                let (form, steps, batch) = (product.form, product.steps, product.form.batch());
                let (n, uplo) = (random.one_of(&SIZES), random.one_of(&[UPPER, LOWER]));
                let full = random.matrices::<$type>(batch, n, n);
                let stored: Vec<_> = full.iter().map(|full| Storage::Dense.store(full, in_triangle(uplo), number % 3)).collect();
                let element = |b: usize, i, j| mirrored(&full[b], uplo, false, i, j);
                multiply::<$type, $type, $type>(&blas, &mut random, &product, [n, n], &stored, &(uplo, n), element,
                    |alpha, a, x, beta, y| call!(blas, form, [$($name)+]; v uplo, s n, p alpha, o a, stored[0].leading,
                        o x, steps[0], p beta, o y, steps[1], b batch,));
            }
        }
    )+};
}
symmetric_products_of_complex_numbers! {
    symmetric_products_of_complex_f32_are_right: [f32; 2], [rocblas_csymv rocblas_csymv_64 rocblas_csymv_batched rocblas_csymv_batched_64 rocblas_csymv_strided_batched rocblas_csymv_strided_batched_64];
    symmetric_products_of_complex_f64_are_right: [f64; 2], [rocblas_zsymv rocblas_zsymv_64 rocblas_zsymv_batched rocblas_zsymv_batched_64 rocblas_zsymv_strided_batched rocblas_zsymv_strided_batched_64];
}

/// Calls a function with a matrix, the distance between its columns, and a vector.
type TriangleCall<'a, E> =
    &'a dyn Fn(&crate::common::Operand<E>, usize, &crate::common::Operand<E>) -> rocblas_sys::rocblas_status;

/// Tries x = A x and A x = b with a triangular matrix.
#[expect(clippy::too_many_arguments, reason = "the differences between the operations")]
fn triangle<E: Element>(
    blas: &Blas,
    random: &mut Random,
    form: Form,
    storage: Storage,
    n: usize,
    (uplo, trans, diag): (rocblas_fill, rocblas_operation, rocblas_diagonal),
    step: i64,
    calls: [TriangleCall<'_, E>; 2],
) {
    let batch = form.batch();
    let mut full = random.matrices::<E>(batch, n, n);
    let there = |i: usize, j: usize| {
        in_triangle(uplo)(i, j)
            && !(diag == UNIT && i == j)
            && match storage {
                Storage::Band(below, above) => in_band(below, above)(i, j),
                _ => true,
            }
    };
    // Elements that shrink with the size, so that solutions do not grow, and a diagonal that they do not
    // exceed.
    for full in &mut full {
        for j in 0..n {
            for i in 0..n {
                let x = full.at(i, j);
                let scale = if i == j { 1.0 } else { 1.0 / n as f64 };
                let x = Z { re: x.re * scale, im: x.im * scale };
                full.set(i, j, if i == j { x + Z { re: 2.0, im: 0.0 } } else { x });
            }
        }
    }
    let stored: Vec<_> = full.iter().map(|full| storage.store(full, there, 2)).collect();
    let element = |b: usize, i: usize, j: usize| {
        let (row, column) = if trans == N { (i, j) } else { (j, i) };
        if i == j && diag == UNIT {
            ONE
        } else if there(row, column) {
            op(&full[b], trans, i, j)
        } else {
            ZERO
        }
    };
    let x = random.vectors::<E>(batch, n, step);
    for (is_solution, call) in calls.into_iter().enumerate() {
        let (on_a, on_x) = (blas.matrices(form, &stored), blas.vectors(form, &x));
        let what = (storage, is_solution, form, n, uplo, trans, diag, step);
        assert_eq!(call(&on_a, stored[0].leading, &on_x), SUCCESS, "{what:?}");
        for (b, got) in on_x.read(blas).into_iter().enumerate() {
            let (before, after) = (&x[b], x[b].like(got.clone()));
            if is_solution == 0 {
                compare(before, &got, E::ROUNDING, &what, |i| {
                    Sum::of((0..n).map(|j| (element(b, i, j), before.at(j))))
                });
                continue;
            }
            // The matrix times the solution gives the right side.
            for i in 0..n {
                let sum = Sum::of((0..n).map(|j| (element(b, i, j), after.at(j))));
                let bound = E::ROUNDING * (sum.size + before.at(i).size()) * (8 + 4 * n) as f64;
                assert!(
                    (sum.value - before.at(i)).size() <= bound,
                    "{what:?} at {i}: {sum:?}, not {:?}",
                    before.at(i)
                );
            }
            compare(before, &got, E::ROUNDING, &what, |i| Sum::NONE.plus(ONE, after.at(i)));
        }
    }
}

macro_rules! triangles {
    ($($test:ident: $type:ty, $cases:literal, dense [$($trmv:ident)+] [$($trsv:ident)+] band [$($tbmv:ident)+] [$($tbsv:ident)+] packed [$($tpmv:ident)+] [$($tpsv:ident)+];)+) => {$(
        #[test]
        fn $test() {
            let blas = Blas::new();
            let mut random = Random::new(13);
            for number in 0..$cases {
                let (form, _) = form(number);
                let batch = form.batch();
                let (n, k) = (random.one_of(&[0, 1, 2, 33, 64, 65, 90, 150]), random.one_of(&[0, 1, 7, 70]));
                let how = (random.one_of(&[UPPER, LOWER]), random.one_of(&[N, T, C]), random.one_of(&[UNIT, NON_UNIT]));
                let ((uplo, trans, diag), step) = (how, random.one_of(&STEPS));
                triangle::<$type>(&blas, &mut random, form, Storage::Dense, n, how, step, [
                    &|a, leading, x| call!(blas, form, [$($trmv)+]; v uplo, v trans, v diag, s n, o a, leading, o x, step, b batch,),
                    &|a, leading, x| call!(blas, form, [$($trsv)+]; v uplo, v trans, v diag, s n, o a, leading, o x, step, b batch,),
                ]);
                let band = if uplo == UPPER { Storage::Band(0, k) } else { Storage::Band(k, 0) };
                triangle::<$type>(&blas, &mut random, form, band, n, how, step, [
                    &|a, leading, x| call!(blas, form, [$($tbmv)+]; v uplo, v trans, v diag, s n, s k, o a, leading, o x, step, b batch,),
                    &|a, leading, x| call!(blas, form, [$($tbsv)+]; v uplo, v trans, v diag, s n, s k, o a, leading, o x, step, b batch,),
                ]);
                triangle::<$type>(&blas, &mut random, form, Storage::Packed(uplo), n, how, step, [
                    &|a, _, x| call!(blas, form, [$($tpmv)+]; v uplo, v trans, v diag, s n, a a, o x, step, b batch,),
                    &|a, _, x| call!(blas, form, [$($tpsv)+]; v uplo, v trans, v diag, s n, a a, o x, step, b batch,),
                ]);
            }
        }
    )+};
}
triangles! {
    triangular_matrices_of_f32_are_applied_and_solved: f32, 12,
        dense [rocblas_strmv rocblas_strmv_64 rocblas_strmv_batched rocblas_strmv_batched_64 rocblas_strmv_strided_batched rocblas_strmv_strided_batched_64]
            [rocblas_strsv rocblas_strsv_64 rocblas_strsv_batched rocblas_strsv_batched_64 rocblas_strsv_strided_batched rocblas_strsv_strided_batched_64]
        band [rocblas_stbmv rocblas_stbmv_64 rocblas_stbmv_batched rocblas_stbmv_batched_64 rocblas_stbmv_strided_batched rocblas_stbmv_strided_batched_64]
            [rocblas_stbsv rocblas_stbsv_64 rocblas_stbsv_batched rocblas_stbsv_batched_64 rocblas_stbsv_strided_batched rocblas_stbsv_strided_batched_64]
        packed [rocblas_stpmv rocblas_stpmv_64 rocblas_stpmv_batched rocblas_stpmv_batched_64 rocblas_stpmv_strided_batched rocblas_stpmv_strided_batched_64]
            [rocblas_stpsv rocblas_stpsv_64 rocblas_stpsv_batched rocblas_stpsv_batched_64 rocblas_stpsv_strided_batched rocblas_stpsv_strided_batched_64];
    triangular_matrices_of_complex_f32_are_applied_and_solved: [f32; 2], 12,
        dense [rocblas_ctrmv rocblas_ctrmv_64 rocblas_ctrmv_batched rocblas_ctrmv_batched_64 rocblas_ctrmv_strided_batched rocblas_ctrmv_strided_batched_64]
            [rocblas_ctrsv rocblas_ctrsv_64 rocblas_ctrsv_batched rocblas_ctrsv_batched_64 rocblas_ctrsv_strided_batched rocblas_ctrsv_strided_batched_64]
        band [rocblas_ctbmv rocblas_ctbmv_64 rocblas_ctbmv_batched rocblas_ctbmv_batched_64 rocblas_ctbmv_strided_batched rocblas_ctbmv_strided_batched_64]
            [rocblas_ctbsv rocblas_ctbsv_64 rocblas_ctbsv_batched rocblas_ctbsv_batched_64 rocblas_ctbsv_strided_batched rocblas_ctbsv_strided_batched_64]
        packed [rocblas_ctpmv rocblas_ctpmv_64 rocblas_ctpmv_batched rocblas_ctpmv_batched_64 rocblas_ctpmv_strided_batched rocblas_ctpmv_strided_batched_64]
            [rocblas_ctpsv rocblas_ctpsv_64 rocblas_ctpsv_batched rocblas_ctpsv_batched_64 rocblas_ctpsv_strided_batched rocblas_ctpsv_strided_batched_64];
    triangular_matrices_of_f64_are_applied_and_solved: f64, 8,
        dense [rocblas_dtrmv rocblas_dtrmv_64 rocblas_dtrmv_batched rocblas_dtrmv_batched_64 rocblas_dtrmv_strided_batched rocblas_dtrmv_strided_batched_64]
            [rocblas_dtrsv rocblas_dtrsv_64 rocblas_dtrsv_batched rocblas_dtrsv_batched_64 rocblas_dtrsv_strided_batched rocblas_dtrsv_strided_batched_64]
        band [rocblas_dtbmv rocblas_dtbmv_64 rocblas_dtbmv_batched rocblas_dtbmv_batched_64 rocblas_dtbmv_strided_batched rocblas_dtbmv_strided_batched_64]
            [rocblas_dtbsv rocblas_dtbsv_64 rocblas_dtbsv_batched rocblas_dtbsv_batched_64 rocblas_dtbsv_strided_batched rocblas_dtbsv_strided_batched_64]
        packed [rocblas_dtpmv rocblas_dtpmv_64 rocblas_dtpmv_batched rocblas_dtpmv_batched_64 rocblas_dtpmv_strided_batched rocblas_dtpmv_strided_batched_64]
            [rocblas_dtpsv rocblas_dtpsv_64 rocblas_dtpsv_batched rocblas_dtpsv_batched_64 rocblas_dtpsv_strided_batched rocblas_dtpsv_strided_batched_64];
    triangular_matrices_of_complex_f64_are_applied_and_solved: [f64; 2], 8,
        dense [rocblas_ztrmv rocblas_ztrmv_64 rocblas_ztrmv_batched rocblas_ztrmv_batched_64 rocblas_ztrmv_strided_batched rocblas_ztrmv_strided_batched_64]
            [rocblas_ztrsv rocblas_ztrsv_64 rocblas_ztrsv_batched rocblas_ztrsv_batched_64 rocblas_ztrsv_strided_batched rocblas_ztrsv_strided_batched_64]
        band [rocblas_ztbmv rocblas_ztbmv_64 rocblas_ztbmv_batched rocblas_ztbmv_batched_64 rocblas_ztbmv_strided_batched rocblas_ztbmv_strided_batched_64]
            [rocblas_ztbsv rocblas_ztbsv_64 rocblas_ztbsv_batched rocblas_ztbsv_batched_64 rocblas_ztbsv_strided_batched rocblas_ztbsv_strided_batched_64]
        packed [rocblas_ztpmv rocblas_ztpmv_64 rocblas_ztpmv_batched rocblas_ztpmv_batched_64 rocblas_ztpmv_strided_batched rocblas_ztpmv_strided_batched_64]
            [rocblas_ztpsv rocblas_ztpsv_64 rocblas_ztpsv_batched rocblas_ztpsv_batched_64 rocblas_ztpsv_strided_batched rocblas_ztpsv_strided_batched_64];
}

/// Tries A += alpha x yᵀ of one kind or another.
#[expect(clippy::too_many_arguments, reason = "the differences between all kinds of updates")]
fn update<E: Element>(
    blas: &Blas,
    random: &mut Random,
    number: usize,
    size: [usize; 2],
    half: Option<(rocblas_fill, bool)>,
    packed: bool,
    what: &dyn std::fmt::Debug,
    added: impl Fn(Z, &Vector<E>, &Vector<E>, usize, usize) -> Sum,
    call: impl FnOnce(
        Form,
        &crate::common::Scalar<E>,
        [(&crate::common::Operand<E>, i64); 2],
        &crate::common::Operand<E>,
        usize,
    ) -> rocblas_sys::rocblas_status,
) {
    let (form, on_device) = form(number);
    blas.on_device(on_device);
    let [m, n] = size;
    let steps = [random.one_of(&STEPS), random.one_of(&STEPS)];
    // The factor of `her` is real.
    let alpha =
        E::of(if matches!(half, Some((_, true))) { random.factor().real() } else { random.factor() }).z();
    let full = random.matrices::<E>(form.batch(), m, n);
    let there = |i, j| half.is_none_or(|(uplo, _)| in_triangle(uplo)(i, j));
    let storage = match half {
        Some((uplo, _)) if packed => Storage::Packed(uplo),
        _ => Storage::Dense,
    };
    let stored: Vec<_> = full.iter().map(|full| storage.store(full, there, 1)).collect();
    let (x, y) =
        (random.vectors::<E>(form.batch(), m, steps[0]), random.vectors::<E>(form.batch(), n, steps[1]));
    let (on_x, on_y) = (blas.vectors(form, &x), blas.vectors(form, &y));
    let (on_alpha, on_a) = (blas.scalar::<E>(alpha, on_device), blas.matrices(form, &stored));
    let status = call(form, &on_alpha, [(&on_x, steps[0]), (&on_y, steps[1])], &on_a, stored[0].leading);
    assert_eq!(status, SUCCESS, "{what:?}");
    for (b, got) in on_a.read(blas).into_iter().enumerate() {
        let mut want = full[b].clone();
        let mut sizes = vec![Sum::NONE; m * n];
        for j in 0..n {
            for i in 0..m {
                let mut sum = Sum::NONE.plus(ONE, full[b].at(i, j));
                if alpha != ZERO {
                    let added = added(alpha, &x[b], &y[b], i, j);
                    sum = Sum { value: sum.value + added.value, size: sum.size + added.size, terms: 4 };
                    if i == j && matches!(half, Some((_, true))) {
                        sum = sum.real();
                    }
                }
                want.set(i, j, sum.value);
                sizes[i + j * m] = sum;
            }
        }
        // Both have the same layout in memory: elements that do not exist are still NaN.
        let want = storage.store(&want, there, 1);
        let size = sizes.iter().map(|sum| sum.size).fold(1.0, f64::max);
        for (place, (got, want)) in got.iter().zip(&want.data).enumerate() {
            let sum = Sum { value: want.z(), size, terms: 4 };
            assert!(
                is_close(*got, sum, E::ROUNDING),
                "{what:?} {form:?} {alpha:?} at {place}: {got:?}, not {want:?}"
            );
        }
    }
}

macro_rules! symmetric_updates_of_complex_numbers {
    ($($test:ident: $type:ty, ger [$($ger:ident)+] one [$($one:ident)+] two [$($two:ident)+] packed [$($packed:ident)+];)+) => {$(
        #[test]
        fn $test() {
            let blas = Blas::new();
            let mut random = Random::new(16);
            let one = |alpha: Z, x: &Vector<$type>, _: &Vector<$type>, i, j| Sum::NONE.plus(x.at(i), x.at(j)).times(alpha);
            for number in 0..8 {
                let [m, n] = [random.one_of(&SIZES), random.one_of(&SIZES)];
                update::<$type>(&blas, &mut random, number, [m, n], None, false, &("geru", m, n),
                    |alpha, x, y, i, j| Sum::NONE.plus(x.at(i), y.at(j)).times(alpha),
                    |form, alpha, [(x, step_x), (y, step_y)], a, leading| call!(blas, form, [$($ger)+]; s m, s n, p alpha,
                        o x, step_x, o y, step_y, o a, leading, b form.batch(),));
                let uplo = random.one_of(&[UPPER, LOWER]);
                let half = Some((uplo, false));
                update::<$type>(&blas, &mut random, number, [n, n], half, false, &("syr", uplo, n), one,
                    |form, alpha, [(x, step_x), _], a, leading| call!(blas, form, [$($one)+]; v uplo, s n, p alpha, o x, step_x,
                        o a, leading, b form.batch(),));
                update::<$type>(&blas, &mut random, number, [n, n], half, true, &("spr", uplo, n), one,
                    |form, alpha, [(x, step_x), _], a, _| call!(blas, form, [$($packed)+]; v uplo, s n, p alpha, o x, step_x,
                        a a, b form.batch(),));
                update::<$type>(&blas, &mut random, number, [n, n], half, false, &("syr2", uplo, n),
                    |alpha, x, y, i, j| Sum::NONE.plus(x.at(i), y.at(j)).plus(y.at(i), x.at(j)).times(alpha),
                    |form, alpha, [(x, step_x), (y, step_y)], a, leading| call!(blas, form, [$($two)+]; v uplo, s n, p alpha,
                        o x, step_x, o y, step_y, o a, leading, b form.batch(),));
            }
        }
    )+};
}
symmetric_updates_of_complex_numbers! {
    symmetric_updates_of_complex_f32_are_right: [f32; 2],
        ger [rocblas_cgeru rocblas_cgeru_64 rocblas_cgeru_batched rocblas_cgeru_batched_64 rocblas_cgeru_strided_batched rocblas_cgeru_strided_batched_64]
        one [rocblas_csyr rocblas_csyr_64 rocblas_csyr_batched rocblas_csyr_batched_64 rocblas_csyr_strided_batched rocblas_csyr_strided_batched_64]
        two [rocblas_csyr2 rocblas_csyr2_64 rocblas_csyr2_batched rocblas_csyr2_batched_64 rocblas_csyr2_strided_batched rocblas_csyr2_strided_batched_64]
        packed [rocblas_cspr rocblas_cspr_64 rocblas_cspr_batched rocblas_cspr_batched_64 rocblas_cspr_strided_batched rocblas_cspr_strided_batched_64];
    symmetric_updates_of_complex_f64_are_right: [f64; 2],
        ger [rocblas_zgeru rocblas_zgeru_64 rocblas_zgeru_batched rocblas_zgeru_batched_64 rocblas_zgeru_strided_batched rocblas_zgeru_strided_batched_64]
        one [rocblas_zsyr rocblas_zsyr_64 rocblas_zsyr_batched rocblas_zsyr_batched_64 rocblas_zsyr_strided_batched rocblas_zsyr_strided_batched_64]
        two [rocblas_zsyr2 rocblas_zsyr2_64 rocblas_zsyr2_batched rocblas_zsyr2_batched_64 rocblas_zsyr2_strided_batched rocblas_zsyr2_strided_batched_64]
        packed [rocblas_zspr rocblas_zspr_64 rocblas_zspr_batched rocblas_zspr_batched_64 rocblas_zspr_strided_batched rocblas_zspr_strided_batched_64];
}

macro_rules! updates {
    ($($test:ident: $type:ty, $hermitian:literal, $cases:literal, ger [$($ger:ident)+] one [$($one:ident)+] two [$($two:ident)+] packed [$($packed_one:ident)+] [$($packed_two:ident)+];)+) => {$(
        #[test]
        fn $test() {
            let blas = Blas::new();
            let mut random = Random::new(14);
            let across = |z: Z| if $hermitian { z.conj() } else { z };
            for number in 0..$cases {
                let [m, n] = [random.one_of(&SIZES), random.one_of(&SIZES)];
                update::<$type>(&blas, &mut random, number, [m, n], None, false, &("ger", m, n),
                    |alpha, x, y, i, j| Sum::NONE.plus(x.at(i), across(y.at(j))).times(alpha),
                    |form, alpha, [(x, step_x), (y, step_y)], a, leading| call!(blas, form, [$($ger)+]; s m, s n, p alpha,
                        o x, step_x, o y, step_y, o a, leading, b form.batch(),));
                let uplo = random.one_of(&[UPPER, LOWER]);
                let half = Some((uplo, $hermitian));
                for packed in [false, true] {
                    update::<$type>(&blas, &mut random, number, [n, n], half, packed, &("one", packed, uplo, n),
                        |alpha, x, _, i, j| Sum::NONE.plus(x.at(i), across(x.at(j))).times(alpha),
                        |form, alpha, [(x, step_x), _], a, leading| if packed {
                            call!(blas, form, [$($packed_one)+]; v uplo, s n, p alpha, o x, step_x, a a, b form.batch(),)
                        } else {
                            call!(blas, form, [$($one)+]; v uplo, s n, p alpha, o x, step_x, o a, leading, b form.batch(),)
                        });
                    update::<$type>(&blas, &mut random, number, [n, n], half, packed, &("two", packed, uplo, n),
                        |alpha, x, y, i, j| {
                            let other = Sum::NONE.plus(y.at(i), across(x.at(j))).times(across(alpha));
                            let sum = Sum::NONE.plus(x.at(i), across(y.at(j))).times(alpha);
                            Sum { value: sum.value + other.value, size: sum.size + other.size, terms: 4 }
                        },
                        |form, alpha, [(x, step_x), (y, step_y)], a, leading| if packed {
                            call!(blas, form, [$($packed_two)+]; v uplo, s n, p alpha, o x, step_x, o y, step_y, a a, b form.batch(),)
                        } else {
                            call!(blas, form, [$($two)+]; v uplo, s n, p alpha, o x, step_x, o y, step_y, o a, leading, b form.batch(),)
                        });
                }
            }
        }
    )+};
}
updates! {
    updates_of_f32_are_right: f32, false, 12,
        ger [rocblas_sger rocblas_sger_64 rocblas_sger_batched rocblas_sger_batched_64 rocblas_sger_strided_batched rocblas_sger_strided_batched_64]
        one [rocblas_ssyr rocblas_ssyr_64 rocblas_ssyr_batched rocblas_ssyr_batched_64 rocblas_ssyr_strided_batched rocblas_ssyr_strided_batched_64]
        two [rocblas_ssyr2 rocblas_ssyr2_64 rocblas_ssyr2_batched rocblas_ssyr2_batched_64 rocblas_ssyr2_strided_batched rocblas_ssyr2_strided_batched_64]
        packed [rocblas_sspr rocblas_sspr_64 rocblas_sspr_batched rocblas_sspr_batched_64 rocblas_sspr_strided_batched rocblas_sspr_strided_batched_64]
            [rocblas_sspr2 rocblas_sspr2_64 rocblas_sspr2_batched rocblas_sspr2_batched_64 rocblas_sspr2_strided_batched rocblas_sspr2_strided_batched_64];
    updates_of_f64_are_right: f64, false, 8,
        ger [rocblas_dger rocblas_dger_64 rocblas_dger_batched rocblas_dger_batched_64 rocblas_dger_strided_batched rocblas_dger_strided_batched_64]
        one [rocblas_dsyr rocblas_dsyr_64 rocblas_dsyr_batched rocblas_dsyr_batched_64 rocblas_dsyr_strided_batched rocblas_dsyr_strided_batched_64]
        two [rocblas_dsyr2 rocblas_dsyr2_64 rocblas_dsyr2_batched rocblas_dsyr2_batched_64 rocblas_dsyr2_strided_batched rocblas_dsyr2_strided_batched_64]
        packed [rocblas_dspr rocblas_dspr_64 rocblas_dspr_batched rocblas_dspr_batched_64 rocblas_dspr_strided_batched rocblas_dspr_strided_batched_64]
            [rocblas_dspr2 rocblas_dspr2_64 rocblas_dspr2_batched rocblas_dspr2_batched_64 rocblas_dspr2_strided_batched rocblas_dspr2_strided_batched_64];
    hermitian_updates_of_complex_f32_are_right: [f32; 2], true, 12,
        ger [rocblas_cgerc rocblas_cgerc_64 rocblas_cgerc_batched rocblas_cgerc_batched_64 rocblas_cgerc_strided_batched rocblas_cgerc_strided_batched_64]
        one [rocblas_cher rocblas_cher_64 rocblas_cher_batched rocblas_cher_batched_64 rocblas_cher_strided_batched rocblas_cher_strided_batched_64]
        two [rocblas_cher2 rocblas_cher2_64 rocblas_cher2_batched rocblas_cher2_batched_64 rocblas_cher2_strided_batched rocblas_cher2_strided_batched_64]
        packed [rocblas_chpr rocblas_chpr_64 rocblas_chpr_batched rocblas_chpr_batched_64 rocblas_chpr_strided_batched rocblas_chpr_strided_batched_64]
            [rocblas_chpr2 rocblas_chpr2_64 rocblas_chpr2_batched rocblas_chpr2_batched_64 rocblas_chpr2_strided_batched rocblas_chpr2_strided_batched_64];
    hermitian_updates_of_complex_f64_are_right: [f64; 2], true, 8,
        ger [rocblas_zgerc rocblas_zgerc_64 rocblas_zgerc_batched rocblas_zgerc_batched_64 rocblas_zgerc_strided_batched rocblas_zgerc_strided_batched_64]
        one [rocblas_zher rocblas_zher_64 rocblas_zher_batched rocblas_zher_batched_64 rocblas_zher_strided_batched rocblas_zher_strided_batched_64]
        two [rocblas_zher2 rocblas_zher2_64 rocblas_zher2_batched rocblas_zher2_batched_64 rocblas_zher2_strided_batched rocblas_zher2_strided_batched_64]
        packed [rocblas_zhpr rocblas_zhpr_64 rocblas_zhpr_batched rocblas_zhpr_batched_64 rocblas_zhpr_strided_batched rocblas_zhpr_strided_batched_64]
            [rocblas_zhpr2 rocblas_zhpr2_64 rocblas_zhpr2_batched rocblas_zhpr2_batched_64 rocblas_zhpr2_strided_batched rocblas_zhpr2_strided_batched_64];
}
