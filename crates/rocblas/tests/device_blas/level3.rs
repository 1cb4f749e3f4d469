//! Symmetric products, sums and scaled matrices.

use rocblas::{Complex, Diag, Fill, Matrix, MatrixMut, Order, Scalar, Side, Vector};

use crate::common::{
    Bench, C, Dense, FILLS, ORDERS, Places as _, Random, Turn, Value, assert_close, for_complex, for_scalars,
    has_form, in_triangle, matrix,
};

const TWO: C = C::new(2.0, 0.0);

/// Whether a call ran. It must run exactly if BLAS has a form for it.
fn ran(result: rocblas::Result<()>, form: bool, what: &str) -> bool {
    match result {
        Ok(()) => assert!(form, "{what}"),
        Err(error) => {
            let known = matches!(
                error,
                rocblas::Error::Conjugation { .. }
                    | rocblas::Error::Transposition { .. }
                    | rocblas::Error::Order { .. }
            );
            assert!(!form && known, "{what}: {error}");
        }
    }
    form
}

fn multiply<T: Scalar + Value>(bench: &Bench) {
    let mut random = Random::new(61);
    for (m, n) in [(0, 2), (1, 1), (6, 5), (33, 20), (3, 66)] {
        for (side, fill) in
            [Side::Left, Side::Right].into_iter().flat_map(|side| FILLS.map(|fill| (side, fill)))
        {
            for (order_a, order) in ORDERS.into_iter().flat_map(|a| ORDERS.map(|c| (a, c))) {
                let size = if side == Side::Left { m } else { n };
                let a = random.dense::<T>(size, size);
                let (b, c) = (random.dense::<T>(m, n), random.dense::<T>(m, n));
                let (a_layout, layout) = (matrix(order_a, size, size, 1), matrix(order, m, n, 2));
                let in_a = bench.upload(&a_layout.memory::<T>(std::slice::from_ref(&a)));
                let in_b = bench.upload(&layout.memory::<T>(std::slice::from_ref(&b)));
                let mut in_c = bench.upload(&layout.memory::<T>(std::slice::from_ref(&c)));
                let (view_a, view_b) =
                    (Matrix::new(&in_a, a_layout).unwrap(), Matrix::new(&in_b, layout).unwrap());
                let mut view_c = MatrixMut::new(&mut in_c, layout).unwrap();
                let alpha = random.value::<T>();
                let symm = bench.blas.symm(side, fill, &view_a, &view_b, &mut view_c);
                symm.alpha(T::of(alpha)).beta(T::of(TWO)).run().unwrap();
                let got = layout.elements(&bench.download(&in_c)).remove(0);
                let a = a.mirrored(fill, false);
                let product = if side == Side::Left { a.times(&b) } else { b.times(&a) };
                let expected = product.scaled(alpha).plus(&c.scaled(TWO));
                let what = format!("{m} x {n} {side:?} {fill:?} {order_a:?} {order:?}");
                assert_close::<T>(&got, &expected, size, 4.0, &what);
            }
        }
    }
}

#[test]
fn symmetric_matrices_times_matrices() {
    for_scalars!(multiply);
}

fn multiply_hermitian<T: Complex + Value>(bench: &Bench) {
    let mut random = Random::new(62);
    for (m, n) in [(1, 1), (6, 5), (33, 20)] {
        for (side, fill) in
            [Side::Left, Side::Right].into_iter().flat_map(|side| FILLS.map(|fill| (side, fill)))
        {
            for (order_a, order) in ORDERS.into_iter().flat_map(|a| ORDERS.map(|c| (a, c))) {
                let size = if side == Side::Left { m } else { n };
                let a = random.dense::<T>(size, size);
                let b = random.dense::<T>(m, n);
                let (a_layout, layout) = (matrix(order_a, size, size, 1), matrix(order, m, n, 2));
                let in_a = bench.upload(&a_layout.memory::<T>(std::slice::from_ref(&a)));
                let in_b = bench.upload(&layout.memory::<T>(std::slice::from_ref(&b)));
                let mut in_c = bench.upload(&layout.memory::<T>(std::slice::from_ref(&b)));
                let (view_a, view_b) =
                    (Matrix::new(&in_a, a_layout).unwrap(), Matrix::new(&in_b, layout).unwrap());
                let mut view_c = MatrixMut::new(&mut in_c, layout).unwrap();
                let what = format!("{m} x {n} {side:?} {fill:?} {order_a:?} {order:?}");
                let result = bench.blas.hemm(side, fill, &view_a, &view_b, &mut view_c).run();
                if ran(result, order_a == order, &what) {
                    let got = layout.elements(&bench.download(&in_c)).remove(0);
                    let a = a.mirrored(fill, true);
                    let expected = if side == Side::Left { a.times(&b) } else { b.times(&a) };
                    assert_close::<T>(&got, &expected, size, 4.0, &what);
                }
            }
        }
    }
}

#[test]
fn hermitian_matrices_times_matrices() {
    for_complex!(multiply_hermitian);
}

/// A matrix in memory, turned.
fn stored<T: Value>(
    bench: &Bench,
    item: &Dense,
    order: Order,
    turn: Turn,
) -> (hip::DeviceBuffer<T>, rocblas::MatrixLayout) {
    let item = turn.stored(item);
    let layout = matrix(order, item.rows, item.cols, 1);
    (bench.upload(&layout.memory::<T>(&[item])), layout)
}

/// One triangle has the expected values, and the other is unchanged.
fn assert_triangle<T: Value>(got: &Dense, old: &Dense, new: &Dense, fill: Fill, terms: usize, what: &str) {
    let n = old.rows;
    let expected = Dense::of(n, n, |i, j| if in_triangle(fill, i, j) { new.at(i, j) } else { old.at(i, j) });
    assert_close::<T>(got, &expected, terms, 6.0, what);
}

fn symmetric_updates<T: Scalar + Value>(bench: &Bench) {
    let mut random = Random::new(63);
    for (n, k) in [(0, 3), (1, 1), (7, 0), (20, 33), (65, 9)] {
        for (fill, order) in FILLS.into_iter().flat_map(|fill| ORDERS.map(|order| (fill, order))) {
            for (order_a, turn) in ORDERS.into_iter().flat_map(|a| Turn::ALL.map(|turn| (a, turn))) {
                let (a, b, c) = (random.dense::<T>(n, k), random.dense::<T>(n, k), random.dense::<T>(n, n));
                let (in_a, a_layout) = stored::<T>(bench, &a, order_a, turn);
                let (in_b, b_layout) = stored::<T>(bench, &b, order_a, turn);
                let view_a = turn.view(&Matrix::new(&in_a, a_layout).unwrap());
                let view_b = turn.view(&Matrix::new(&in_b, b_layout).unwrap());
                let layout = matrix(order, n, n, 1);
                let (alpha, beta) = (random.value::<T>(), random.choose(&[C::default(), TWO]));
                let (scalar_alpha, scalar_beta) = (T::of(alpha), T::of(beta));
                // For complex numbers, only the transpose has a form.
                let form = !T::IS_COMPLEX || turn != Turn::H;
                let products = [a.times(&a.t()), a.times(&b.t()).plus(&b.times(&a.t())), a.times(&a.t())];
                for (which, product) in products.iter().enumerate() {
                    let what = format!("{which}: {n} {k} {fill:?} {order:?} {order_a:?} {turn:?}");
                    let mut in_c = bench.upload(&layout.memory::<T>(std::slice::from_ref(&c)));
                    let mut view = MatrixMut::new(&mut in_c, layout).unwrap();
                    let blas = &bench.blas;
                    let result = match which {
                        0 => blas.syrk(fill, &view_a, &mut view).alpha(scalar_alpha).beta(scalar_beta).run(),
                        1 => {
                            let update = blas.syr2k(fill, &view_a, &view_b, &mut view);
                            update.alpha(scalar_alpha).beta(scalar_beta).run()
                        }
                        _ => {
                            let update = blas.syrkx(fill, &view_a, &view_a, &mut view);
                            update.alpha(scalar_alpha).beta(scalar_beta).run()
                        }
                    };
                    if ran(result, form, &what) {
                        let got = layout.elements(&bench.download(&in_c)).remove(0);
                        let new = product.scaled(alpha).plus(&c.scaled(beta));
                        assert_triangle::<T>(&got, &c, &new, fill, k, &what);
                    }
                }
            }
        }
    }
}

#[test]
fn symmetric_products() {
    for_scalars!(symmetric_updates);
}

fn hermitian_updates<T: Complex + Value>(bench: &Bench)
where
    T::Real: Value,
{
    let mut random = Random::new(64);
    for (n, k) in [(1, 1), (7, 0), (20, 33), (65, 9)] {
        for (fill, order) in FILLS.into_iter().flat_map(|fill| ORDERS.map(|order| (fill, order))) {
            for (order_a, turn) in ORDERS.into_iter().flat_map(|a| Turn::ALL.map(|turn| (a, turn))) {
                let (a, b) = (random.dense::<T>(n, k), random.dense::<T>(n, k));
                let c = random.dense::<T>(n, n).mirrored(fill, true);
                let (in_a, a_layout) = stored::<T>(bench, &a, order_a, turn);
                let (in_b, b_layout) = stored::<T>(bench, &b, order_a, turn);
                let view_a = turn.view(&Matrix::new(&in_a, a_layout).unwrap());
                let view_b = turn.view(&Matrix::new(&in_b, b_layout).unwrap());
                let layout = matrix(order, n, n, 1);
                let (alpha, real) = (random.value::<T>(), random.value::<T::Real>());
                let beta = random.choose(&[C::default(), TWO]);
                // The matrix as the transposed equation needs it: not turned, or turned and conjugated.
                let form = match turn {
                    Turn::Not | Turn::H => order_a == order,
                    // The transpose of a row-major matrix is a column-major matrix that is not turned.
                    Turn::T => order_a != order,
                };
                for which in 0..3 {
                    let what = format!("{which}: {n} {k} {fill:?} {order:?} {order_a:?} {turn:?}");
                    let mut in_c = bench.upload(&layout.memory::<T>(std::slice::from_ref(&c)));
                    let mut view = MatrixMut::new(&mut in_c, layout).unwrap();
                    let (blas, beta_real) = (&bench.blas, T::Real::of(beta));
                    let (result, product) = match which {
                        0 => {
                            let update = blas.herk(fill, &view_a, &mut view).alpha(T::Real::of(real));
                            (update.beta(beta_real).run(), a.times(&a.h()).scaled(real))
                        }
                        1 => {
                            let update = blas.her2k(fill, &view_a, &view_b, &mut view).alpha(T::of(alpha));
                            let first = a.times(&b.h()).scaled(alpha);
                            (update.beta(beta_real).run(), first.plus(&first.h()))
                        }
                        _ => {
                            let update = blas.herkx(fill, &view_a, &view_a, &mut view).alpha(T::of(real));
                            (update.beta(beta_real).run(), a.times(&a.h()).scaled(real))
                        }
                    };
                    if ran(result, form, &what) {
                        let got = layout.elements(&bench.download(&in_c)).remove(0);
                        let new = product.plus(&c.scaled(beta)).mirrored(fill, true);
                        assert_triangle::<T>(&got, &c, &new, fill, k, &what);
                    }
                }
            }
        }
    }
}

#[test]
fn hermitian_products() {
    for_complex!(hermitian_updates);
}

fn triangles<T: Scalar + Value>(bench: &Bench) {
    let mut random = Random::new(65);
    for (n, k) in [(0, 3), (5, 4), (33, 20)] {
        for (fill, order) in FILLS.into_iter().flat_map(|fill| ORDERS.map(|order| (fill, order))) {
            for (order_a, order_b) in ORDERS.into_iter().flat_map(|a| ORDERS.map(|b| (a, b))) {
                let turn = random.choose(&Turn::ALL);
                let (a, b, c) = (random.dense::<T>(n, k), random.dense::<T>(k, n), random.dense::<T>(n, n));
                let (in_a, a_layout) = stored::<T>(bench, &a, order_a, turn);
                let (in_b, b_layout) = stored::<T>(bench, &b, order_b, Turn::T);
                let view_a = turn.view(&Matrix::new(&in_a, a_layout).unwrap());
                let view_b = Turn::T.view(&Matrix::new(&in_b, b_layout).unwrap());
                let layout = matrix(order, n, n, 1);
                let mut in_c = bench.upload(&layout.memory::<T>(std::slice::from_ref(&c)));
                let mut view = MatrixMut::new(&mut in_c, layout).unwrap();
                let form = has_form(T::IS_COMPLEX, order_a, turn, order == Order::RowMajor);
                let what = format!("{n} {k} {fill:?} {order:?} {order_a:?} {order_b:?} {turn:?}");
                let result = bench.blas.gemmt(fill, &view_a, &view_b, &mut view).beta(T::of(TWO)).run();
                if ran(result, form, &what) {
                    let got = layout.elements(&bench.download(&in_c)).remove(0);
                    let new = a.times(&b).plus(&c.scaled(TWO));
                    assert_triangle::<T>(&got, &c, &new, fill, k, &what);
                }
            }
        }
    }
}

#[test]
fn triangles_of_products() {
    for_scalars!(triangles);
}

fn sums<T: Scalar + Value>(bench: &Bench) {
    let mut random = Random::new(66);
    for (m, n) in [(0, 3), (1, 1), (5, 70), (65, 33)] {
        for order in ORDERS {
            for (order_a, turn_a) in ORDERS.into_iter().flat_map(|a| Turn::ALL.map(|turn| (a, turn))) {
                let (order_b, turn_b) = (random.choose(&ORDERS), random.choose(&Turn::ALL));
                let (a, b) = (random.dense::<T>(m, n), random.dense::<T>(m, n));
                let (in_a, a_layout) = stored::<T>(bench, &a, order_a, turn_a);
                let (in_b, b_layout) = stored::<T>(bench, &b, order_b, turn_b);
                let view_a = turn_a.view(&Matrix::new(&in_a, a_layout).unwrap());
                let view_b = turn_b.view(&Matrix::new(&in_b, b_layout).unwrap());
                let layout = matrix(order, m, n, 3);
                let mut in_c = bench.upload(&layout.memory::<T>(&[Dense::of(m, n, |_, _| C::default())]));
                let mut view = MatrixMut::new(&mut in_c, layout).unwrap();
                let (alpha, beta) = (random.value::<T>(), random.value::<T>());
                let flip = order == Order::RowMajor;
                let form = has_form(T::IS_COMPLEX, order_a, turn_a, flip)
                    && has_form(T::IS_COMPLEX, order_b, turn_b, flip);
                let what = format!("{m} x {n} {order:?} {order_a:?} {turn_a:?} {order_b:?} {turn_b:?}");
                let geam = bench.blas.geam(&view_a, &view_b, &mut view);
                if ran(geam.alpha(T::of(alpha)).beta(T::of(beta)).run(), form, &what) {
                    let got = layout.elements(&bench.download(&in_c)).remove(0);
                    assert_close::<T>(&got, &a.scaled(alpha).plus(&b.scaled(beta)), 2, 2.0, &what);
                }
            }
        }
    }
}

#[test]
fn sums_of_matrices() {
    for_scalars!(sums);
}

fn diagonals<T: Scalar + Value>(bench: &Bench) {
    let mut random = Random::new(67);
    for (m, n) in [(0, 3), (1, 1), (5, 70), (65, 33)] {
        for (side, order) in
            [Side::Left, Side::Right].into_iter().flat_map(|side| ORDERS.map(|order| (side, order)))
        {
            let a = random.dense::<T>(m, n);
            let x = random.dense::<T>(if side == Side::Left { m } else { n }, 1);
            let layout = matrix(order, m, n, 1);
            let in_a = bench.upload(&layout.memory::<T>(std::slice::from_ref(&a)));
            let in_x = bench.upload(&x.values.iter().map(|value| T::of(*value)).collect::<Vec<_>>());
            let mut in_c = bench.upload(&layout.memory::<T>(std::slice::from_ref(&a)));
            let (view_a, view_x) = (Matrix::new(&in_a, layout).unwrap(), Vector::of(&in_x).unwrap());
            let mut view = MatrixMut::new(&mut in_c, layout).unwrap();
            bench.blas.dgmm(side, &view_a, &view_x, &mut view).unwrap();
            let got = layout.elements(&bench.download(&in_c)).remove(0);
            let factor = |i, j| x.at(if side == Side::Left { i } else { j }, 0);
            let expected = Dense::of(m, n, |i, j| a.at(i, j) * factor(i, j));
            assert_close::<T>(&got, &expected, 1, 1.0, &format!("{m} x {n} {side:?} {order:?}"));
            if m != n {
                let error = bench.blas.dgmm(
                    side,
                    &view_a.t(),
                    &view_x,
                    &mut MatrixMut::new(&mut in_c, layout).unwrap(),
                );
                assert!(matches!(error, Err(rocblas::Error::Shape { .. })), "{error:?}");
            }
        }
    }
}

#[test]
fn rows_and_columns_are_scaled() {
    for_scalars!(diagonals);
}

/// The old contents times `beta`, whatever the matrices contain.
fn without_factors<T: Scalar + Value>(bench: &Bench) {
    let layout = matrix(Order::ColumnMajor, 20, 20, 1);
    let whole = |value| Dense::of(20, 20, |_, _| C::new(value, 0.0));
    let nan = bench.upload(&layout.memory::<T>(&[whole(f64::NAN)]));
    let nan = Matrix::new(&nan, layout).unwrap();
    let (zero, two) = (T::of(C::default()), T::of(TWO));
    let (side, fill, diag, blas) = (Side::Left, Fill::Lower, Diag::NonUnit, &bench.blas);
    for what in ["symm", "syrk", "syr2k", "trmm", "trsm"] {
        let mut memory = bench.upload(&layout.memory::<T>(&[whole(3.0)]));
        let mut c = MatrixMut::new(&mut memory, layout).unwrap();
        let ran = match what {
            "symm" => blas.symm(side, fill, &nan, &nan, &mut c).alpha(zero).beta(two).run(),
            "syrk" => blas.syrk(fill, &nan, &mut c).alpha(zero).beta(two).run(),
            "syr2k" => blas.syr2k(fill, &nan, &nan, &mut c).alpha(zero).beta(two).run(),
            "trmm" => blas.trmm(side, fill, diag, &nan, &nan, &mut c).alpha(zero).run(),
            _ => blas.trsm(side, fill, diag, &nan, &mut c).alpha(zero).run(),
        };
        ran.unwrap();
        let expected = if what.starts_with('s') { 6.0 } else { 0.0 };
        let got = layout.elements(&bench.download(&memory)).remove(0).triangle(fill, false);
        assert_close::<T>(&got, &whole(expected).triangle(fill, false), 1, 1.0, what);
    }
}

#[test]
fn without_a_factor_nothing_is_read() {
    for_scalars!(without_factors);
}
