//! Products of general matrices.

use half::{bf16, f16};
use rocblas::{Compute, GemmInput, Matrix, MatrixMut, One, Order, Scalar};

use crate::common::{
    Bench, C, Dense, ORDERS, Places as _, Random, Turn, Value, assert_close, cublas_lacks, for_scalars,
    has_form, matrix,
};

/// Scalars of a type.
trait Factor: One + Value {}
impl<T: One + Value> Factor for T {}

struct Case {
    sizes: (usize, usize, usize),
    orders: (Order, Order, Order),
    turns: (Turn, Turn),
    factors: (C, C),
    gap: usize,
}

/// Computes a case and compares it with the model.
fn check<T, D>(bench: &Bench, random: &mut Random, case: &Case, compute: Option<Compute>)
where
    T: GemmInput<D> + Value,
    T::Scale: Factor,
    D: Value,
{
    let (m, n, k) = case.sizes;
    let (a, b) = (random.dense::<T>(m, k), random.dense::<T>(k, n));
    let c = random.dense::<D>(m, n);
    let stored = |item: &Dense, order, turn: Turn| {
        let item = turn.stored(item);
        let layout = matrix(order, item.rows, item.cols, case.gap);
        (bench.upload(&layout.memory::<T>(&[item])), layout)
    };
    let (in_a, a_layout) = stored(&a, case.orders.0, case.turns.0);
    let (in_b, b_layout) = stored(&b, case.orders.1, case.turns.1);
    let c_layout = matrix(case.orders.2, m, n, case.gap);
    let mut in_c = bench.upload(&c_layout.memory::<D>(std::slice::from_ref(&c)));
    let (alpha, beta) = (T::Scale::of(case.factors.0), T::Scale::of(case.factors.1));
    let view_a = case.turns.0.view(&Matrix::new(&in_a, a_layout).unwrap());
    let view_b = case.turns.1.view(&Matrix::new(&in_b, b_layout).unwrap());
    let mut view_c = MatrixMut::new(&mut in_c, c_layout).unwrap();
    let mut gemm = bench.blas.gemm(&view_a, &view_b, &mut view_c).alpha(alpha).beta(beta);
    if let Some(compute) = compute {
        gemm = gemm.compute(compute);
    }
    let what = format!(
        "{m} x {n} x {k}, {:?}, {:?}, {}, {}",
        case.orders, case.turns, case.factors.0, case.factors.1
    );
    let flip = case.orders.2 == Order::RowMajor;
    let form = has_form(T::IS_COMPLEX, case.orders.0, case.turns.0, flip)
        && has_form(T::IS_COMPLEX, case.orders.1, case.turns.1, flip);
    match gemm.run() {
        Ok(()) => assert!(form, "{what}"),
        Err(error) => {
            assert!(!form && matches!(error, rocblas::Error::Conjugation { .. }), "{what}: {error}");
            return;
        }
    }
    let got = c_layout.elements(&bench.download(&in_c)).remove(0);
    // Without depth, or with a factor of zero, the product is zero.
    let product = match k == 0 || alpha.get() == C::default() {
        true => Dense::of(m, n, |_, _| C::default()),
        false => a.times(&b).scaled(alpha.get()),
    };
    let expected = if beta.get() == C::default() { product } else { product.plus(&c.scaled(beta.get())) };
    // With f16 as the computing type, the precision is that of f16.
    let terms = if D::EPSILON > 1e-4 && T::EPSILON > 1e-4 && compute != Some(Compute::F16) { 1 } else { k };
    let scale = alpha.get().norm() + beta.get().norm();
    assert_close::<D>(&got, &expected, terms, scale * 2.0, &what);
}

fn all_orders_and_turns<T: Scalar + Value>(bench: &Bench) {
    let mut random = Random::new(1);
    let factors = [C::new(1.0, 0.0), C::new(0.0, 0.0), C::new(-1.5, 0.5), C::new(0.25, -2.0)];
    for a in ORDERS {
        for b in ORDERS {
            for c in ORDERS {
                for turn_a in Turn::ALL {
                    for turn_b in Turn::ALL {
                        let size = |random: &mut Random| random.below(20);
                        let sizes = (size(&mut random), size(&mut random), size(&mut random));
                        let factors = (random.choose(&factors), random.choose(&factors));
                        let gap = random.below(4);
                        let case = Case { sizes, orders: (a, b, c), turns: (turn_a, turn_b), factors, gap };
                        check::<T, T>(bench, &mut random, &case, None);
                    }
                }
            }
        }
    }
}

#[test]
fn every_order_and_transposition() {
    for_scalars!(all_orders_and_turns);
}

fn sizes_across_tiles<T: Scalar + Value>(bench: &Bench) {
    let mut random = Random::new(2);
    let (one, turns) = (C::new(1.0, 0.0), (Turn::Not, Turn::T));
    for sizes in [
        (1, 1, 1),
        (0, 5, 5),
        (5, 0, 5),
        (5, 5, 0),
        (15, 16, 17),
        (31, 33, 32),
        (65, 63, 64),
        (1, 130, 7),
        (129, 1, 9),
        (2, 3, 300),
    ] {
        let orders = (random.choose(&ORDERS), random.choose(&ORDERS), random.choose(&ORDERS));
        let case = Case { sizes, orders, turns, factors: (one, C::new(0.5, 0.0)), gap: 1 };
        check::<T, T>(bench, &mut random, &case, None);
    }
}

#[test]
fn sizes_around_tiles_and_none() {
    for_scalars!(sizes_across_tiles);
}

/// Sizes from 0 to 300 that the model can compute in reasonable time, odd strides, special factors.
fn generated_sizes<T: Scalar + Value>(bench: &Bench) {
    const MOST: usize = 1 << 18;
    let mut random = Random::new(5);
    let factors = [0.0, 1.0, -1.0, f64::NAN, 0.375].map(|factor| C::new(factor, 0.0));
    for _ in 0..12 {
        let mut sizes = [0; 3];
        let mut room = MOST;
        let first = random.below(3);
        for place in [first, (first + 1) % 3, (first + 2) % 3] {
            sizes[place] = random.below(room.min(300) + 1);
            room /= sizes[place].max(1);
        }
        let orders = (random.choose(&ORDERS), random.choose(&ORDERS), random.choose(&ORDERS));
        let turns = (random.choose(&Turn::ALL), random.choose(&Turn::ALL));
        let (factors, gap) = ((random.choose(&factors), random.choose(&factors)), 1 + 2 * random.below(20));
        let case = Case { sizes: sizes.into(), orders, turns, factors, gap };
        check::<T, T>(bench, &mut random, &case, None);
    }
}

#[test]
fn generated_sizes_strides_and_factors() {
    for_scalars!(generated_sizes);
}

#[test]
fn without_a_factor_nothing_is_read() {
    let bench = Bench::open();
    let layout = matrix(Order::RowMajor, 70, 70, 0);
    let nan = bench.upload(&vec![f64::NAN; 4900]);
    let nan = Matrix::new(&nan, layout).unwrap();
    let mut c = bench.upload(&vec![3.0_f64; 4900]);
    let mut view = MatrixMut::new(&mut c, layout).unwrap();
    bench.blas.gemm(&nan, &nan, &mut view).alpha(0.0).beta(2.0).run().unwrap();
    assert_eq!(bench.download(&c), vec![6.0; 4900]);
}

#[test]
fn without_a_factor_in_device_memory_nothing_is_read() {
    let bench = Bench::open();
    let layout = matrix(Order::RowMajor, 70, 70, 0);
    let nan = bench.upload(&vec![f64::NAN; 4900]);
    let nan = Matrix::new(&nan, layout).unwrap();
    let (zero, two) = (bench.upload(&[0.0_f64]), bench.upload(&[2.0_f64]));
    let mut c = bench.upload(&vec![3.0_f64; 4900]);
    let mut view = MatrixMut::new(&mut c, layout).unwrap();
    bench.blas.gemm(&nan, &nan, &mut view).factors_from(&zero, &two).run().unwrap();
    assert_eq!(bench.download(&c), vec![6.0; 4900]);
}

#[test]
fn large_sizes() {
    let bench = Bench::open();
    let mut random = Random::new(3);
    let orders = (Order::RowMajor, Order::ColumnMajor, Order::RowMajor);
    for sizes in [(300, 17, 40), (33, 299, 65), (128, 128, 128)] {
        let turns = (Turn::Not, Turn::Not);
        let case = Case { sizes, orders, turns, factors: (C::new(1.0, 0.0), C::default()), gap: 3 };
        check::<f32, f32>(&bench, &mut random, &case, None);
    }
}

#[test]
fn other_types() {
    let bench = Bench::open();
    let mut random = Random::new(4);
    for orders in [
        (Order::RowMajor, Order::RowMajor, Order::RowMajor),
        (Order::ColumnMajor, Order::RowMajor, Order::ColumnMajor),
        (Order::ColumnMajor, Order::ColumnMajor, Order::RowMajor),
    ] {
        for (sizes, turns) in [((9, 35, 17), (Turn::Not, Turn::Not)), ((33, 12, 40), (Turn::T, Turn::Not))] {
            let factors = (C::new(1.0, 0.0), C::new(2.0, 0.0));
            let case = Case { sizes, orders, turns, factors, gap: 1 };
            check::<f16, f16>(&bench, &mut random, &case, None);
            check::<f16, f16>(&bench, &mut random, &case, Some(Compute::F16));
            check::<f16, f32>(&bench, &mut random, &case, None);
            check::<bf16, bf16>(&bench, &mut random, &case, Some(Compute::F32));
            check::<bf16, f32>(&bench, &mut random, &case, None);
        }
    }
}

#[test]
fn integers_of_8_bits() {
    let bench = Bench::open();
    let mut random = Random::new(6);
    let orders = [
        (Order::RowMajor, Order::RowMajor, Order::RowMajor),
        (Order::ColumnMajor, Order::RowMajor, Order::ColumnMajor),
        (Order::ColumnMajor, Order::ColumnMajor, Order::RowMajor),
    ];
    let turns = (Turn::Not, Turn::Not);
    let factors = (C::new(1.0, 0.0), C::new(2.0, 0.0));
    // The leading dimensions are divisible by 4 and one matrix is not transposed, as cuBLAS wants.
    for orders in &orders[..2] {
        let case = Case { sizes: (16, 36, 20), orders: *orders, turns, factors, gap: 0 };
        check::<i8, i32>(&bench, &mut random, &case, None);
    }
    if cublas_lacks(
        "products of two transposed matrices of 8-bit integers, or with leading dimensions that 4 does not divide",
    ) {
        return;
    }
    for orders in orders {
        for (sizes, turns) in [((9, 35, 17), turns), ((33, 12, 40), (Turn::T, Turn::Not))] {
            for gap in [0, 1] {
                let case = Case { sizes, orders, turns, factors, gap };
                check::<i8, i32>(&bench, &mut random, &case, None);
            }
        }
    }
}

/// Of so many kernels for products, a plain run executes one. It divides no number of tiles or parts, so all
/// types, orders and tiles have some.
const SHARE: usize = 7;

/// Products by one kernel: whole blocks and tiles, parts of them, and a depth that several workgroups share.
fn by_one_kernel<T, D>(bench: &Bench, orders: (Order, Order, Order), parts: u16)
where
    T: GemmInput<D> + Value,
    T::Scale: Factor,
    D: Value,
{
    let mut random = Random::new(7);
    let (plain, others) = ((C::new(1.0, 0.0), C::default()), (C::new(2.0, 0.0), C::new(3.0, 0.0)));
    let cases: &[_] = match parts {
        1 => &[((64, 128, 32), plain, 0), ((129, 66, 37), plain, 1), ((129, 65, 36), others, 0)],
        _ => &[((64, 64, 264), plain, 0), ((70, 66, 260), others, 1)],
    };
    for &(sizes, factors, gap) in cases {
        let case = Case { sizes, orders, turns: (Turn::Not, Turn::Not), factors, gap };
        check::<T, D>(bench, &mut random, &case, None);
    }
}

#[test]
fn every_kernel_for_products_has_the_same_results() {
    use blas_on_kernels::tune::{families, force};

    let bench = Bench::open();
    let families = families(&bench.stream.device().target().processor);
    if families.is_empty() {
        return test_skip::skip(test_skip::Lack::Device, "there is no choice of kernels");
    }
    let kernels = families.iter().flat_map(|family| {
        family.tiles.iter().flat_map(move |tile| [1, 3].map(|parts| (family, tile, parts)))
    });
    for (family, tile, parts) in test_skip::cases(kernels, SHARE) {
        // D lies by columns, so A lies along the depth by rows, and B by columns.
        let order = |across, [along, apart]: [Order; 2]| if across { apart } else { along };
        let [row, column] = [Order::RowMajor, Order::ColumnMajor];
        let orders = (order(family.across[0], [row, column]), order(family.across[1], [column, row]), column);
        assert!(force(Some((tile, parts))), "{tile}");
        match family.kind {
            "f64" => by_one_kernel::<f64, f64>(&bench, orders, parts),
            "f32" => by_one_kernel::<f32, f32>(&bench, orders, parts),
            "f16" => {
                by_one_kernel::<f16, f16>(&bench, orders, parts);
                by_one_kernel::<f16, f32>(&bench, orders, parts);
                by_one_kernel::<bf16, bf16>(&bench, orders, parts);
            }
            "i8" => by_one_kernel::<i8, i32>(&bench, orders, parts),
            other => panic!("{other}"),
        }
    }
    force(None);
}

#[test]
fn zero_beta_forgets_what_was_there_and_others_do_not() {
    let bench = Bench::open();
    let layout = matrix(Order::RowMajor, 3, 3, 0);
    let one = bench.upload(&[1.0_f32; 9]);
    let one = Matrix::new(&one, layout).unwrap();
    for beta in [0.0_f32, 1.0] {
        let mut c = bench.upload(&[f32::NAN; 9]);
        bench.blas.gemm(&one, &one, &mut MatrixMut::new(&mut c, layout).unwrap()).beta(beta).run().unwrap();
        let got = bench.download(&c);
        assert!(got.iter().all(|value| if beta == 0.0 { *value == 3.0 } else { value.is_nan() }), "{got:?}");
    }
    // With depth 0, only the old contents are scaled.
    let mut c = bench.upload(&[2.0_f32; 9]);
    let none = bench.upload(&[f32::NAN; 0]);
    let (a, b) = (matrix(Order::RowMajor, 3, 0, 0), matrix(Order::RowMajor, 0, 3, 0));
    let (a, b) = (Matrix::new(&none, a).unwrap(), Matrix::new(&none, b).unwrap());
    bench.blas.gemm(&a, &b, &mut MatrixMut::new(&mut c, layout).unwrap()).beta(4.0).run().unwrap();
    assert_eq!(bench.download(&c), [8.0; 9]);
}

#[test]
fn what_is_not_a_number_stays_so() {
    let bench = Bench::open();
    let layout = matrix(Order::ColumnMajor, 17, 17, 0);
    let mut values = vec![1.0_f64; 17 * 17];
    values[3 * 17 + 5] = f64::NAN;
    values[9 * 17 + 16] = f64::INFINITY;
    let a = bench.upload(&values);
    let b = bench.upload(&vec![1.0_f64; 17 * 17]);
    let mut c = bench.upload(&vec![0.0_f64; 17 * 17]);
    let (a, b) = (Matrix::new(&a, layout).unwrap(), Matrix::new(&b, layout).unwrap());
    bench.blas.gemm(&a, &b, &mut MatrixMut::new(&mut c, layout).unwrap()).run().unwrap();
    let got = layout.elements(&bench.download(&c)).remove(0);
    for i in 0..17 {
        for j in 0..17 {
            let got = got.at(i, j).re;
            match i {
                5 => assert!(got.is_nan(), "{i} {j}: {got}"),
                16 => assert!(got == f64::INFINITY, "{i} {j}: {got}"),
                _ => assert!(got == 17.0, "{i} {j}: {got}"),
            }
        }
    }
}

#[test]
fn factors_come_from_device_memory() {
    let bench = Bench::open();
    let layout = matrix(Order::RowMajor, 2, 2, 0);
    let a = bench.upload(&[1.0_f32, 2.0, 3.0, 4.0]);
    let one = bench.upload(&[1.0_f32, 0.0, 0.0, 1.0]);
    let mut c = bench.upload(&[1.0_f32; 4]);
    let (alpha, beta) = (bench.upload(&[2.0_f32]), bench.upload(&[10.0_f32]));
    let (a, one) = (Matrix::new(&a, layout).unwrap(), Matrix::new(&one, layout).unwrap());
    let mut view = MatrixMut::new(&mut c, layout).unwrap();
    bench.blas.gemm(&a, &one, &mut view).factors_from(&alpha, &beta).run().unwrap();
    // Each call sets the pointer mode.
    bench.blas.gemm(&a, &one, &mut view).alpha(1.0).beta(1.0).run().unwrap();
    assert_eq!(bench.download(&c), [13.0, 16.0, 19.0, 22.0]);
}

#[test]
fn another_matrix_is_added() {
    let bench = Bench::open();
    let layout = matrix(Order::RowMajor, 2, 2, 0);
    let a = bench.upload(&[1.0_f32, 2.0, 3.0, 4.0]);
    let one = bench.upload(&[1.0_f32, 0.0, 0.0, 1.0]);
    let mut c = bench.upload(&[f32::NAN; 4]);
    let (a, one) = (Matrix::new(&a, layout).unwrap(), Matrix::new(&one, layout).unwrap());
    let mut view = MatrixMut::new(&mut c, layout).unwrap();
    bench.blas.gemm(&a, &one, &mut view).add(&a).beta(3.0).run().unwrap();
    assert_eq!(bench.download(&c), [4.0, 8.0, 12.0, 16.0]);
    let other = a.t();
    let mut view = MatrixMut::new(&mut c, layout).unwrap();
    let error = bench.blas.gemm(&a, &one, &mut view).add(&other).run().unwrap_err();
    assert!(matches!(error, rocblas::Error::Order { operand: "addend", .. }), "{error}");
}
