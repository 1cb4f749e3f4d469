//! The largest elements of rows, against a stable sort.

use kernels::{Error, Float};

use crate::common::{Bench, for_every_type, random, special};
use crate::record::assert_exact;

/// Columns and values in descending order, NaN before all others.
fn sorted(row: &[f64], k: usize) -> (Vec<u32>, Vec<f64>) {
    let mut order: Vec<usize> = (0..row.len()).collect();
    let key = |i: usize| if row[i].is_nan() { f64::INFINITY } else { row[i] };
    order.sort_by(|&a, &b| {
        let nan = row[b].is_nan().cmp(&row[a].is_nan());
        nan.then(key(b).partial_cmp(&key(a)).unwrap())
    });
    order.truncate(k);
    (order.iter().map(|&i| i as u32).collect(), order.iter().map(|&i| row[i]).collect())
}

fn check<T: Float<Compute = f32>>(bench: &Bench, what: &str, x: &[T], columns: usize, k: usize) {
    let rows = x.len() / columns;
    let device_x = bench.upload(x);
    let (mut values, mut indices) = (bench.zeroed::<T>(rows * k), bench.zeroed::<u32>(rows * k));
    bench.kernels.top_k(&bench.stream, &device_x, columns, k, &mut values, &mut indices).unwrap();
    let numbers: Vec<f64> = x.iter().map(|x| x.to_f64()).collect();
    let expected: Vec<_> = numbers.chunks(columns).map(|row| sorted(row, k)).collect();
    let what = format!("{what}: {k} of {columns}, {}", T::NAME);
    assert_exact!(
        bench.download(&indices),
        expected.iter().flat_map(|e| e.0.clone()).collect::<Vec<_>>(),
        "{what}"
    );
    let found: Vec<f64> = bench.download(&values).iter().map(|x| x.to_f64()).collect();
    let expected: Vec<f64> = expected.iter().flat_map(|e| e.1.clone()).collect();
    assert_exact!(format!("{found:?}"), format!("{expected:?}"), "{what}");
}

fn rows_of_every_kind<T: Float<Compute = f32>>(bench: &Bench) {
    for (rows, columns, k) in
        [(3, 1, 1), (2, 40, 40), (2, 300, 1), (2, 1000, 256), (1, 5000, 50), (2, 777, 33)]
    {
        check(bench, "noise", &random::<T>(rows * columns, 91, 5.0), columns, k);
    }
    // many equal elements; bf16 noise has them, too
    let few: Vec<T> = (0..1500).map(|i| T::from_f64(f64::from(i * i % 7))).collect();
    check(bench, "few", &few, 500, 100);
    check(bench, "all equal", &[T::from_f64(-2.0); 900], 300, 256);
    let mut special = special::<T>();
    special.extend(special.clone());
    let count = special.len();
    for k in [1, 5, count] {
        check(bench, "special", &special, count, k);
    }
}

#[test]
fn rows() {
    for_every_type!(rows_of_every_kind);
}

#[test]
fn a_vocabulary() {
    let bench = Bench::open();
    check(&bench, "vocabulary", &random::<f32>(151_936, 92, 10.0), 151_936, 64);
}

#[test]
fn bad_shapes_are_refused() {
    let bench = Bench::open();
    let x = bench.zeroed::<f32>(600);
    let (mut values, mut indices) = (bench.zeroed::<f32>(4), bench.zeroed::<u32>(4));
    let mut top_k = |columns, k| {
        bench.kernels.top_k(&bench.stream, &x, columns, k, &mut values, &mut indices).unwrap_err()
    };
    for k in [0, 301, 257] {
        let error = top_k(300, k);
        assert!(matches!(error, Error::Size { parameter: "k", .. }), "{error}");
    }
    for columns in [0, 7] {
        let error = top_k(columns, 1);
        assert!(matches!(error, Error::Size { parameter: "columns", .. }), "{error}");
    }
    let error = top_k(300, 3);
    assert!(matches!(error, Error::Length { buffer: "values", expected: 6, got: 4, .. }), "{error}");
}
