//! Operations with separate types for the computation.

use half::f16;
use rocblas::{
    Bf8, Compute, Distance, Error, F8, Float8Compute, Float8Input, Float8Output, Matrix, MatrixMut, One,
    Vector, VectorLayout,
};

use crate::common::{
    Bench, C, Dense, ORDERS, Places as _, Random, Turn, Value, amds, assert_close, cublas_lacks, matrix,
};

/// Computes products in all orders and compares them with the model. `rounded` is the type in which operands
/// are multiplied.
fn products_of_8_bits<A: Float8Input + Value, B: Float8Input + Value, D: Float8Output + Value>(
    bench: &Bench,
    compute: Float8Compute,
    [round_a, round_b]: [fn(C) -> C; 2],
) {
    let mut random = Random::new(80);
    let turns = [Turn::Not, Turn::T];
    let all =
        ORDERS.into_iter().flat_map(|a| ORDERS.map(|b| (a, b))).flat_map(|(a, b)| ORDERS.map(|c| (a, b, c)));
    for (number, orders) in all.enumerate() {
        let (m, n, k) = [(17, 9, 33), (1, 65, 7), (64, 32, 40), (5, 3, 0)][number % 4];
        let (a, b) = (random.dense::<A>(m, k), random.dense::<B>(k, n));
        let (c, addend) = (random.dense::<D>(m, n), random.dense::<D>(m, n));
        let (turn_a, turn_b) = (random.choose(&turns), random.choose(&turns));
        let [item_a, item_b] = [turn_a.stored(&a), turn_b.stored(&b)];
        let a_layout = matrix(orders.0, item_a.rows, item_a.cols, number % 3);
        let b_layout = matrix(orders.1, item_b.rows, item_b.cols, number % 2);
        let c_layout = matrix(orders.2, m, n, 2);
        let in_a = bench.upload(&a_layout.memory::<A>(&[item_a]));
        let in_b = bench.upload(&b_layout.memory::<B>(&[item_b]));
        let mut in_c = bench.upload(&c_layout.memory::<D>(std::slice::from_ref(&c)));
        let in_addend = bench.upload(&c_layout.memory::<D>(std::slice::from_ref(&addend)));
        let view_a = turn_a.view(&Matrix::new(&in_a, a_layout).unwrap());
        let view_b = turn_b.view(&Matrix::new(&in_b, b_layout).unwrap());
        let mut view_c = MatrixMut::new(&mut in_c, c_layout).unwrap();
        let mut gemm =
            bench.blas.gemm_f8(&view_a, &view_b, &mut view_c).alpha(0.5).beta(-1.0).compute(compute);
        let view_addend = Matrix::new(&in_addend, c_layout).unwrap();
        if number % 2 == 1 {
            gemm = gemm.add(&view_addend);
        }
        gemm.run().unwrap();
        let got = c_layout.elements(&bench.download(&in_c)).remove(0);
        let added = if number % 2 == 1 { &addend } else { &c };
        let product = a.map(round_a).times(&b.map(round_b));
        let expected = product.scaled(C::new(0.5, 0.0)).plus(&added.scaled(C::new(-1.0, 0.0)));
        let what = format!("{m} x {n} x {k}, {orders:?}, {turn_a:?}, {turn_b:?}, {compute:?}");
        // The sums are in f32, whose error is negligible compared with the last rounding.
        let scale = expected.values.iter().map(|value| value.norm()).fold(1.0, f64::max) / 4.0;
        assert_close::<D>(&got, &expected, if D::EPSILON < 1e-6 { k } else { 0 }, scale, &what);
    }
}

fn f8(value: C) -> C {
    F8::of(value).get()
}

fn bf8(value: C) -> C {
    Bf8::of(value).get()
}

#[test]
fn products_of_numbers_of_8_bits() {
    let bench = Bench::open();
    if cublas_lacks("8-bit floats of AMD's formats (FNUZ)") {
        return;
    }
    if amds().is_some() {
        // AMD's libraries have them for gfx942, but no longer in ROCm 7.
        let (a, layout) = (bench.upload(&[F8(0x40)]), matrix(ORDERS[0], 1, 1, 0));
        let mut c = bench.upload(&[0.0_f32]);
        let (a, mut c) = (Matrix::new(&a, layout).unwrap(), MatrixMut::new(&mut c, layout).unwrap());
        let result = bench.blas.gemm_f8(&a, &a, &mut c).run();
        assert!(matches!(result, Err(Error::Missing { .. } | Error::Status { .. })), "{result:?}");
        return;
    }
    let same: fn(C) -> C = |value| value;
    products_of_8_bits::<F8, F8, F8>(&bench, Float8Compute::F32, [same, same]);
    products_of_8_bits::<F8, Bf8, f32>(&bench, Float8Compute::F32, [same, same]);
    products_of_8_bits::<Bf8, F8, Bf8>(&bench, Float8Compute::F32, [same, same]);
    products_of_8_bits::<Bf8, Bf8, f16>(&bench, Float8Compute::F32, [same, same]);
    products_of_8_bits::<f16, f16, f16>(&bench, Float8Compute::F8F8, [f8, f8]);
    products_of_8_bits::<f32, Bf8, f32>(&bench, Float8Compute::F8Bf8, [f8, bf8]);
    products_of_8_bits::<f32, f16, Bf8>(&bench, Float8Compute::Bf8F8, [bf8, f8]);
    products_of_8_bits::<f32, f32, F8>(&bench, Float8Compute::Bf8Bf8, [bf8, bf8]);
    // f32 cannot be multiplied as f32 here.
    let (a, layout) = (bench.upload(&[1.0_f32]), matrix(ORDERS[0], 1, 1, 0));
    let mut c = bench.upload(&[F8(0)]);
    let (a, mut c) = (Matrix::new(&a, layout).unwrap(), MatrixMut::new(&mut c, layout).unwrap());
    let error = bench.blas.gemm_f8(&a, &a, &mut c).run().unwrap_err();
    assert!(matches!(error, Error::Status { .. }), "{error}");
}

fn distances<T: One + Value>(bench: &Bench) {
    let mut random = Random::new(81);
    let factors = [(1.0, 1.0), (-0.5, 2.0), (0.0, 1.0), (1.0, 0.0)];
    for (number, distance) in [Distance::MinPlus, Distance::PlusMin].into_iter().cycle().take(32).enumerate()
    {
        let (m, n, k) = [(17, 9, 33), (1, 65, 7), (64, 32, 40)][number % 3];
        let (alpha, beta) = factors[number / 2 % 4];
        let (a, b, c) = (random.dense::<T>(m, k), random.dense::<T>(k, n), random.dense::<T>(m, n));
        let (order, turn) = (random.choose(&ORDERS), random.choose(&[Turn::Not, Turn::T]));
        let (a_order, b_order) = (random.choose(&ORDERS), random.choose(&ORDERS));
        let item_a = turn.stored(&a);
        let (a_layout, b_layout) = (matrix(a_order, item_a.rows, item_a.cols, 1), matrix(b_order, k, n, 0));
        let layout = matrix(order, m, n, 2);
        let in_a = bench.upload(&a_layout.memory::<T>(&[item_a]));
        let in_b = bench.upload(&b_layout.memory::<T>(std::slice::from_ref(&b)));
        let in_c = bench.upload(&layout.memory::<T>(std::slice::from_ref(&c)));
        let mut in_d = bench.upload(&layout.memory::<T>(&[Dense::of(m, n, |_, _| C::default())]));
        let view_a = turn.view(&Matrix::new(&in_a, a_layout).unwrap());
        let view_b = Matrix::new(&in_b, b_layout).unwrap();
        let view_c = Matrix::new(&in_c, layout).unwrap();
        let mut view_d = MatrixMut::new(&mut in_d, layout).unwrap();
        let of = |factor| T::of(C::new(factor, 0.0));
        let distances = bench.blas.geam_ex(distance, &view_a, &view_b, &view_c, &mut view_d);
        distances.alpha(of(alpha)).beta(of(beta)).run().unwrap();
        let expected = Dense::of(m, n, |i, j| {
            let pairs = (0..k).map(|l| (alpha * a.at(i, l).re, alpha * b.at(l, j).re));
            let old = beta * c.at(i, j).re;
            C::new(
                match distance {
                    Distance::MinPlus => pairs.fold(old, |least, (a, b)| least.min(a + b)),
                    _ => pairs.fold(old, |sum, (a, b)| sum + a.min(b)),
                },
                0.0,
            )
        });
        let got = layout.elements(&bench.download(&in_d)).remove(0);
        let what = format!("{distance:?} {m} x {n} x {k}, {order:?} {a_order:?} {b_order:?} {alpha} {beta}");
        if amds().is_some() && T::EPSILON < f64::from(f32::EPSILON) {
            // AMD's library compares f64 through f32.
            assert_close::<f32>(&got, &expected, k, 1.0, &what);
        } else {
            assert_close::<T>(&got, &expected, k, 1.0, &what);
        }
    }
}

#[test]
fn distances_over_what_lies_between() {
    let bench = Bench::open();
    if cublas_lacks("function like geam_ex") {
        return;
    }
    distances::<f32>(&bench);
    distances::<f64>(&bench);
    distances::<f16>(&bench);
}

/// Values that f32 cannot hold: products of f32 are added in f64.
#[test]
fn dot_products_of_f32_in_f64() {
    let bench = Bench::open();
    if cublas_lacks("products of f32 that are added in f64") {
        return;
    }
    let values = [1e7_f32, 1.0, -1e7, 0.1];
    let (x, y) = (bench.upload(&values), bench.upload(&[1e7_f32, 3.0, 1e7, 0.1]));
    let layout = VectorLayout::new(4);
    let (x, y) = (Vector::new(&x, layout).unwrap(), Vector::new(&y, layout).unwrap());
    let tenth = f64::from(0.1_f32);
    let expected = 3.0 + tenth * tenth;
    let got: f64 = bench.blas.dot_ex(&x, &y, Compute::F64).run().unwrap();
    assert!((got - expected).abs() < 0.05, "{got}");
    let got: f64 = bench.blas.dotc_ex(&x, &y, Compute::F64).run().unwrap();
    assert!((got - expected).abs() < 0.05, "{got}");
}
