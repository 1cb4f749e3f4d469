//! Triangular matrices: with vectors, with matrices, and their inverses.

use rocblas::{
    Band, BandLayout, Choice, Diag, Fill, Matrix, MatrixMut, Order, Packed, PackedLayout, Scalar, Side,
    VectorLayout, VectorMut,
};

use crate::common::{
    Bench, C, Dense, FILLS, ORDERS, Places as _, Random, Triangle, Turn, Value, assert_close, choice,
    cublas_lacks, for_scalars, has_form, matrix,
};

const DIAGS: [Diag; 2] = [Diag::NonUnit, Diag::Unit];

/// A matrix with well-conditioned triangular systems: small elements off the diagonal.
fn easy<T: Value>(random: &mut Random, n: usize) -> Dense {
    let item = random.dense::<T>(n, n);
    Dense::of(n, n, |i, j| {
        let value = if i == j { item.at(i, i) + 2.0 } else { item.at(i, j) / (2 * n) as f64 };
        T::of(value).get()
    })
}

/// The triangle of the view that a stored triangle corresponds to.
fn other(fill: Fill, turned: bool) -> Fill {
    match (fill, turned) {
        (fill, false) => fill,
        (Fill::Upper, true) => Fill::Lower,
        (Fill::Lower, true) => Fill::Upper,
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

/// Multiplies, or solves and multiplies in the model.
fn assert_vector<T: Value>(
    bench: &Bench,
    memory: &hip::DeviceBuffer<T>,
    layout: VectorLayout,
    a: &Dense,
    x: &Dense,
    solved: bool,
    what: &str,
) {
    let got = layout.elements(&bench.download(memory)).remove(0);
    let n = a.rows;
    match solved {
        false => assert_close::<T>(&got, &a.times(x), n, 3.0, what),
        true => assert_close::<T>(&a.times(&got), x, n, 4.0, what),
    }
}

fn with_vectors<T: Scalar + Value>(bench: &Bench) {
    let mut random = Random::new(51);
    for n in [0_usize, 1, 5, 33, 64, 130] {
        for (fill, order, turn) in FILLS.into_iter().flat_map(|fill| {
            ORDERS.into_iter().flat_map(move |order| Turn::ALL.map(|turn| (fill, order, turn)))
        }) {
            let diag = random.choose(&DIAGS);
            let stored = easy::<T>(&mut random, n);
            let layout = matrix(order, n, n, 1);
            let in_a = bench.upload(&layout.memory::<T>(std::slice::from_ref(&stored)));
            let view = turn.view(&Matrix::new(&in_a, layout).unwrap());
            // The view shows `stored` turned, and turning twice gives the original.
            let a = turn.stored(&stored).triangle(fill, diag == Diag::Unit);
            let x_layout = VectorLayout::new(n).with_increment(random.choose(&[1, 2, -1]));
            let x = random.dense::<T>(n, 1);
            let form = has_form(T::IS_COMPLEX, order, turn, false);
            for solve in [false, true] {
                let what = format!("{n} {fill:?} {order:?} {turn:?} {diag:?} {solve}");
                let mut in_x = bench.upload(&x_layout.memory::<T>(std::slice::from_ref(&x)));
                let mut view_x = VectorMut::new(&mut in_x, x_layout).unwrap();
                let result = match solve {
                    false => bench.blas.trmv(fill, diag, &view, &mut view_x),
                    true => bench.blas.trsv(fill, diag, &view, &mut view_x),
                };
                if ran(result, form, &what) {
                    assert_vector(bench, &in_x, x_layout, &a, &x, solve, &what);
                }
                // The same triangle, packed.
                let triangle = Triangle(PackedLayout::new(n, order), other(fill, turn != Turn::Not));
                let packed = bench.upload(&triangle.memory::<T>(&stored));
                let packed = Packed::new(&packed, triangle.0).unwrap();
                let packed = match turn {
                    Turn::Not => packed,
                    Turn::T => packed.t(),
                    Turn::H => packed.h(),
                };
                let mut in_x = bench.upload(&x_layout.memory::<T>(std::slice::from_ref(&x)));
                let mut view_x = VectorMut::new(&mut in_x, x_layout).unwrap();
                let result = match solve {
                    false => bench.blas.tpmv(fill, diag, &packed, &mut view_x),
                    true => bench.blas.tpsv(fill, diag, &packed, &mut view_x),
                };
                if ran(result, form, &what) {
                    assert_vector(bench, &in_x, x_layout, &a, &x, solve, &what);
                }
                // And some of its diagonals.
                let k = random.below(4).min(n.saturating_sub(1));
                let band = match triangle.1 {
                    Fill::Upper => BandLayout::upper_triangle(n, k, order).with_ld(k + 3),
                    Fill::Lower => BandLayout::lower_triangle(n, k, order).with_ld(k + 3),
                };
                let inside = Dense::of(n, n, |i, j| match band.place(i, j) {
                    Some(_) => stored.at(i, j),
                    None => C::default(),
                });
                let in_band = bench.upload(&band.memory::<T>(std::slice::from_ref(&inside)));
                let view = Band::new(&in_band, band).unwrap();
                let view = match turn {
                    Turn::Not => view,
                    Turn::T => view.t(),
                    Turn::H => view.h(),
                };
                let mut in_x = bench.upload(&x_layout.memory::<T>(std::slice::from_ref(&x)));
                let mut view_x = VectorMut::new(&mut in_x, x_layout).unwrap();
                let result = match solve {
                    false => bench.blas.tbmv(diag, &view, &mut view_x),
                    true => bench.blas.tbsv(diag, &view, &mut view_x),
                };
                if ran(result, form, &what) {
                    let a = turn.stored(&inside).triangle(fill, diag == Diag::Unit);
                    assert_vector(bench, &in_x, x_layout, &a, &x, solve, &format!("band of {k}, {what}"));
                }
            }
        }
    }
}

#[test]
fn triangular_matrices_with_vectors() {
    for_scalars!(with_vectors);
}

fn with_matrices<T: Scalar + Value>(bench: &Bench) {
    let mut random = Random::new(52);
    for (m, n) in [(0, 3), (1, 1), (5, 7), (33, 9), (20, 66), (130, 3)] {
        for (side, order_b) in
            [Side::Left, Side::Right].into_iter().flat_map(|side| ORDERS.map(|order| (side, order)))
        {
            for (fill, order, turn) in FILLS.into_iter().flat_map(|fill| {
                ORDERS.into_iter().flat_map(move |order| Turn::ALL.map(|turn| (fill, order, turn)))
            }) {
                // Each combination with some sizes.
                if random.below(3) != 0 && (m, n) != (5, 7) {
                    continue;
                }
                let diag = random.choose(&DIAGS);
                let size = if side == Side::Left { m } else { n };
                let stored = easy::<T>(&mut random, size);
                let layout = matrix(order, size, size, 1);
                let in_a = bench.upload(&layout.memory::<T>(std::slice::from_ref(&stored)));
                let view = turn.view(&Matrix::new(&in_a, layout).unwrap());
                let a = turn.stored(&stored).triangle(fill, diag == Diag::Unit);
                let b = random.dense::<T>(m, n);
                let b_layout = matrix(order_b, m, n, 2);
                let memory = b_layout.memory::<T>(std::slice::from_ref(&b));
                let alpha = random.value::<T>();
                let form = has_form(T::IS_COMPLEX, order, turn, order_b == Order::RowMajor);
                let what = format!("{m} x {n} {side:?} {order_b:?} {fill:?} {order:?} {turn:?} {diag:?}");
                let product = |x: &Dense| if side == Side::Left { a.times(x) } else { x.times(&a) };
                // The product in another matrix.
                let in_b = bench.upload(&memory);
                let mut in_c = bench.upload(&b_layout.memory::<T>(std::slice::from_ref(&b)));
                let view_b = Matrix::new(&in_b, b_layout).unwrap();
                let mut view_c = MatrixMut::new(&mut in_c, b_layout).unwrap();
                let trmm = bench.blas.trmm(side, fill, diag, &view, &view_b, &mut view_c).alpha(T::of(alpha));
                if ran(trmm.run(), form, &what) {
                    let got = b_layout.elements(&bench.download(&in_c)).remove(0);
                    assert_close::<T>(&got, &product(&b).scaled(alpha), size, 3.0, &what);
                }
                // In place.
                let mut in_b = bench.upload(&memory);
                let mut view_b = MatrixMut::new(&mut in_b, b_layout).unwrap();
                let trmm = bench.blas.trmm_in_place(side, fill, diag, &view, &mut view_b).alpha(T::of(alpha));
                if ran(trmm.run(), form, &what) {
                    let got = b_layout.elements(&bench.download(&in_b)).remove(0);
                    assert_close::<T>(&got, &product(&b).scaled(alpha), size, 3.0, &what);
                }
                // The solution.
                let mut in_b = bench.upload(&memory);
                let mut view_b = MatrixMut::new(&mut in_b, b_layout).unwrap();
                let trsm = bench.blas.trsm(side, fill, diag, &view, &mut view_b).alpha(T::of(alpha));
                if ran(trsm.run(), form, &what) {
                    let got = b_layout.elements(&bench.download(&in_b)).remove(0);
                    assert_close::<T>(&product(&got), &b.scaled(alpha), size, 6.0, &what);
                }
            }
        }
    }
}

#[test]
fn triangular_matrices_with_matrices() {
    for_scalars!(with_matrices);
}

fn inverses<T: Scalar + Value>(bench: &Bench) {
    let mut random = Random::new(53);
    for n in [0_usize, 1, 7, 33, 97] {
        for (fill, order) in FILLS.into_iter().flat_map(|fill| ORDERS.map(|order| (fill, order))) {
            let diag = random.choose(&DIAGS);
            let stored = easy::<T>(&mut random, n);
            let layout = matrix(order, n, n, 1);
            let in_a = bench.upload(&layout.memory::<T>(std::slice::from_ref(&stored)));
            let mut out = bench.upload(&layout.memory::<T>(&[Dense::of(n, n, |_, _| C::default())]));
            let view = Matrix::new(&in_a, layout).unwrap();
            let mut inverse = MatrixMut::new(&mut out, layout).unwrap();
            bench.blas.trtri(fill, diag, &view, &mut inverse).unwrap();
            let unit = diag == Diag::Unit;
            let got = layout.elements(&bench.download(&out)).remove(0).triangle(fill, unit);
            let one = Dense::of(n, n, |i, j| C::new(f64::from(i == j), 0.0));
            let what = format!("{n} {fill:?} {order:?} {diag:?}");
            assert_close::<T>(&stored.triangle(fill, unit).times(&got), &one, n, 4.0, &what);
        }
    }
}

#[test]
fn triangular_matrices_are_inverted() {
    if cublas_lacks("inverses of triangular matrices") {
        return;
    }
    for_scalars!(inverses);
}

#[test]
fn systems_are_solved_with_inverted_blocks() {
    let bench = Bench::open();
    let mut random = Random::new(54);
    let (m, n) = (150, 5);
    let stored = easy::<f32>(&mut random, m);
    let layout = matrix(Order::ColumnMajor, m, m, 0);
    let in_a = bench.upload(&layout.memory::<f32>(std::slice::from_ref(&stored)));
    let view = Matrix::new(&in_a, layout).unwrap();
    // Blocks of 128 rows, inverted one by one.
    let mut blocks = bench.upload(&vec![0.0_f32; 256 * 128]);
    for (start, end) in [(0, 128), (128, m)] {
        let block = view.block(start..end, start..end).unwrap();
        let place = matrix(Order::ColumnMajor, end - start, end - start, 128 - (end - start));
        let out = blocks.slice_mut(start * 128..start * 128 + 128 * 128).unwrap();
        let mut out = MatrixMut::new(out, place).unwrap();
        // cuBLAS has no inverses and reads none.
        if choice() != Choice::Cublas {
            bench.blas.trtri(Fill::Lower, Diag::NonUnit, &block, &mut out).unwrap();
        }
    }
    let b = random.dense::<f32>(m, n);
    let b_layout = matrix(Order::ColumnMajor, m, n, 1);
    let mut in_b = bench.upload(&b_layout.memory::<f32>(std::slice::from_ref(&b)));
    let mut view_b = MatrixMut::new(&mut in_b, b_layout).unwrap();
    let inverses = rocblas::Vector::of(&blocks).unwrap();
    let (side, fill, diag) = (Side::Left, Fill::Lower, Diag::NonUnit);
    bench.blas.trsm_ex(side, fill, diag, &view, &inverses, &mut view_b).alpha(2.0).run().unwrap();
    let got = b_layout.elements(&bench.download(&in_b)).remove(0);
    let a = stored.triangle(Fill::Lower, false);
    assert_close::<f32>(&a.times(&got), &b.scaled(C::new(2.0, 0.0)), m, 6.0, "trsm_ex");
}
