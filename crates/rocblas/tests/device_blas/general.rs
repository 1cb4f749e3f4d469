//! General and band matrices with vectors.

use half::{bf16, f16};
use rocblas::{
    Band, BandLayout, Complex, GemvInput, Matrix, MatrixMut, One, Order, Scalar, Vector, VectorLayout,
    VectorMut,
};

use crate::common::{
    Bench, C, Dense, ORDERS, Places as _, Random, Turn, Value, amds, assert_close, cublas_lacks, for_complex,
    for_scalars, has_form, matrix,
};

const SIZES: [(usize, usize); 7] = [(1, 1), (0, 3), (3, 0), (17, 5), (64, 65), (300, 3), (5, 130)];

/// A vector in memory, with an increment.
fn vector<T: Value>(
    bench: &Bench,
    random: &mut Random,
    item: &Dense,
    increments: &[isize],
) -> (hip::DeviceBuffer<T>, VectorLayout) {
    let layout = VectorLayout::new(item.rows).with_increment(random.choose(increments));
    (bench.upload(&layout.memory::<T>(std::slice::from_ref(item))), layout)
}

/// The increments of vectors.
const INCREMENTS: &[isize] = &[1, 2, -1, -3];

fn check<T, Y>(
    bench: &Bench,
    random: &mut Random,
    (m, n): (usize, usize),
    (order, turn): (Order, Turn),
    increments: &[isize],
) where
    T: GemvInput<Y> + Value,
    T::Scale: One + Value,
    Y: Value,
{
    let (a, x, y) = (random.dense::<T>(m, n), random.dense::<T>(n, 1), random.dense::<Y>(m, 1));
    let stored = turn.stored(&a);
    let layout = matrix(order, stored.rows, stored.cols, 2);
    let in_a = bench.upload(&layout.memory::<T>(&[stored]));
    let (in_x, x_layout) = vector::<T>(bench, random, &x, increments);
    let (mut in_y, y_layout) = vector::<Y>(bench, random, &y, increments);
    let (alpha, beta) = (random.value::<T::Scale>(), random.choose(&[C::default(), C::new(0.5, 0.0)]));
    let view = turn.view(&Matrix::new(&in_a, layout).unwrap());
    let view_x = Vector::new(&in_x, x_layout).unwrap();
    let mut view_y = VectorMut::new(&mut in_y, y_layout).unwrap();
    let update = bench.blas.gemv(&view, &view_x, &mut view_y);
    let ran = update.alpha(T::Scale::of(alpha)).beta(T::Scale::of(beta)).run();
    let what = format!("{m} x {n}, {order:?}, {turn:?}, {x_layout:?}, {y_layout:?}");
    if !has_form(T::IS_COMPLEX, order, turn, false) {
        assert!(matches!(ran, Err(rocblas::Error::Conjugation { .. })), "{what}: {ran:?}");
        return;
    }
    ran.unwrap();
    let got = y_layout.elements(&bench.download(&in_y)).remove(0);
    let product = a.times(&x).scaled(alpha);
    let expected = match (n, beta == C::default()) {
        // BLAS leaves the vector unchanged, whatever beta is.
        (0, _) => y,
        (_, true) => product,
        (_, false) => product.plus(&y.scaled(beta)),
    };
    let terms = if T::EPSILON > 1e-4 && Y::EPSILON > 1e-4 { 8 } else { n };
    match amds() {
        // Products with transposed matrices are added in the type of the matrix.
        Some(release) if release == "6.4" && T::EPSILON > Y::EPSILON => {
            assert_close::<T>(&got, &expected, terms, 3.0, &what);
        }
        _ => assert_close::<Y>(&got, &expected, terms, 3.0, &what),
    }
}

fn gemv<T: Scalar + Value>(bench: &Bench) {
    let mut random = Random::new(31);
    for size in SIZES {
        for order in ORDERS {
            for turn in Turn::ALL {
                check::<T, T>(bench, &mut random, size, (order, turn), INCREMENTS);
            }
        }
    }
}

#[test]
fn matrices_times_vectors() {
    for_scalars!(gemv);
}

#[test]
fn matrices_of_16_bits_times_vectors() {
    let bench = Bench::open();
    let mut random = Random::new(32);
    let increments = match cublas_lacks("gemv of 16-bit floats with negative increments") {
        true => &INCREMENTS[..2],
        false => INCREMENTS,
    };
    for order in ORDERS {
        for turn in [Turn::Not, Turn::T] {
            check::<f16, f16>(&bench, &mut random, (17, 35), (order, turn), increments);
            check::<f16, f32>(&bench, &mut random, (40, 9), (order, turn), increments);
            check::<bf16, bf16>(&bench, &mut random, (17, 35), (order, turn), increments);
            check::<bf16, f32>(&bench, &mut random, (3, 65), (order, turn), increments);
        }
    }
}

fn gbmv<T: Scalar + Value>(bench: &Bench) {
    let mut random = Random::new(33);
    for (m, n, lower, upper) in [(1, 1, 0, 0), (7, 9, 2, 1), (40, 33, 0, 5), (65, 66, 9, 0), (5, 4, 6, 7)] {
        for order in ORDERS {
            for turned in [false, true] {
                let layout = BandLayout::new(m, n, lower, upper, order).with_ld(lower + upper + 3);
                let inside = |i: usize, j: usize| j + lower >= i && i + upper >= j;
                let whole = random.dense::<T>(m, n);
                let stored = Dense::of(m, n, |i, j| if inside(i, j) { whole.at(i, j) } else { C::default() });
                let in_a = bench.upload(&layout.memory::<T>(std::slice::from_ref(&stored)));
                let a = if turned { stored.t() } else { stored };
                let x = random.dense::<T>(a.cols, 1);
                let (in_x, x_layout) = vector::<T>(bench, &mut random, &x, INCREMENTS);
                let y = random.dense::<T>(a.rows, 1);
                let (mut in_y, y_layout) = vector::<T>(bench, &mut random, &y, INCREMENTS);
                let view = Band::new(&in_a, layout).unwrap();
                let view = if turned { view.t() } else { view };
                let view_x = Vector::new(&in_x, x_layout).unwrap();
                let mut view_y = VectorMut::new(&mut in_y, y_layout).unwrap();
                bench.blas.gbmv(&view, &view_x, &mut view_y).beta(T::of(C::new(2.0, 0.0))).run().unwrap();
                let got = y_layout.elements(&bench.download(&in_y)).remove(0);
                let expected = a.times(&x).plus(&y.scaled(C::new(2.0, 0.0)));
                assert_close::<T>(&got, &expected, n, 4.0, &format!("{layout:?} {turned}"));
            }
        }
    }
}

#[test]
fn band_matrices_times_vectors() {
    for_scalars!(gbmv);
}

fn ger<T: Scalar + Value>(bench: &Bench) {
    let mut random = Random::new(34);
    for (m, n) in SIZES {
        for order in ORDERS {
            let (x, y) = (random.dense::<T>(m, 1), random.dense::<T>(n, 1));
            let a = random.dense::<T>(m, n);
            let layout = matrix(order, m, n, 1);
            let mut in_a = bench.upload(&layout.memory::<T>(std::slice::from_ref(&a)));
            let (in_x, x_layout) = vector::<T>(bench, &mut random, &x, INCREMENTS);
            let (in_y, y_layout) = vector::<T>(bench, &mut random, &y, INCREMENTS);
            let alpha = random.value::<T>();
            let (view_x, view_y) =
                (Vector::new(&in_x, x_layout).unwrap(), Vector::new(&in_y, y_layout).unwrap());
            let mut view = MatrixMut::new(&mut in_a, layout).unwrap();
            bench.blas.ger(&view_x, &view_y, &mut view).alpha(T::of(alpha)).run().unwrap();
            let got = layout.elements(&bench.download(&in_a)).remove(0);
            let expected = x.times(&y.t()).scaled(alpha).plus(&a);
            assert_close::<T>(&got, &expected, 2, 3.0, &format!("{m} x {n}, {order:?}"));
        }
    }
}

#[test]
fn products_of_vectors_are_added_to_matrices() {
    for_scalars!(ger);
}

fn gerc<T: Complex + Value>(bench: &Bench) {
    let mut random = Random::new(35);
    for order in ORDERS {
        let (x, y) = (random.dense::<T>(33, 1), random.dense::<T>(20, 1));
        let a = random.dense::<T>(33, 20);
        let layout = matrix(order, 33, 20, 1);
        let mut in_a = bench.upload(&layout.memory::<T>(std::slice::from_ref(&a)));
        let (in_x, x_layout) = vector::<T>(bench, &mut random, &x, INCREMENTS);
        let (in_y, y_layout) = vector::<T>(bench, &mut random, &y, INCREMENTS);
        let (view_x, view_y) = (Vector::new(&in_x, x_layout).unwrap(), Vector::new(&in_y, y_layout).unwrap());
        let mut view = MatrixMut::new(&mut in_a, layout).unwrap();
        let ran = bench.blas.gerc(&view_x, &view_y, &mut view).run();
        if order == Order::RowMajor {
            assert!(matches!(ran, Err(rocblas::Error::Conjugation { operation: "gerc", .. })), "{ran:?}");
            continue;
        }
        ran.unwrap();
        let got = layout.elements(&bench.download(&in_a)).remove(0);
        assert_close::<T>(&got, &x.times(&y.h()).plus(&a), 2, 3.0, "gerc");
    }
}

#[test]
fn products_with_conjugated_vectors_need_columns() {
    for_complex!(gerc);
}
