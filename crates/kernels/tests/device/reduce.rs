//! Reductions and softmax against f64 on the CPU.

use kernels::reference::{self, Expected, compare};
use kernels::{Element, Error, Float, ReduceOp};

use crate::common::{Bench, for_every_type, random};

fn reductions_match<T: Float<Compute = f32>>(bench: &Bench) {
    for (elements, group) in
        [(1, 1), (64, 64), (1000, 10), (1000, 300), (5000, 5000), (4096, 1024), (7, 100), (300, usize::MAX)]
    {
        let x = random::<T>(elements, 11, 2.0);
        let device_x = bench.upload(&x);
        let groups = || x.chunks(group).map(|group| group.iter().map(|x| x.to_f64()));
        let mut out = bench.zeroed::<T>(elements.div_ceil(group));
        for op in [ReduceOp::Sum, ReduceOp::Max, ReduceOp::Min] {
            bench.kernels.reduce(&bench.stream, op, &device_x, group, &mut out).unwrap();
            let expected: Vec<Expected> = match op {
                ReduceOp::Sum => groups()
                    .map(|group| {
                        // each element is part of at most this many partial sums
                        let depth = (elements as f64 / 256.0).ceil() + 8.0;
                        let magnitude: f64 = group.clone().map(f64::abs).sum();
                        Expected { value: group.sum(), slack: depth * f32::UNIT_ROUNDOFF * magnitude }
                    })
                    .collect(),
                ReduceOp::Max => groups()
                    .map(|group| Expected { value: group.fold(f64::NEG_INFINITY, f64::max), slack: 0.0 })
                    .collect(),
                ReduceOp::Min => groups()
                    .map(|group| Expected { value: group.fold(f64::INFINITY, f64::min), slack: 0.0 })
                    .collect(),
            };
            let result = compare(&bench.download(&out), expected);
            assert!(result.passed(), "{op:?} of {elements} by {group}, {}: {result:?}", T::NAME);
        }
    }
}

#[test]
fn reductions() {
    for_every_type!(reductions_match);
}

fn max_of_nan_is_nan<T: Float<Compute = f32>>(bench: &Bench) {
    let mut x = random::<T>(300, 12, 2.0);
    x[177] = T::from_f64(f64::NAN);
    let device_x = bench.upload(&x);
    let mut out = bench.zeroed::<T>(3);
    for op in [ReduceOp::Max, ReduceOp::Min] {
        bench.kernels.reduce(&bench.stream, op, &device_x, 100, &mut out).unwrap();
        let nan: Vec<bool> = bench.download(&out).iter().map(|x| x.to_f64().is_nan()).collect();
        assert_eq!(nan, [false, true, false], "{op:?} {}", T::NAME);
    }
}

#[test]
fn nan_wins_maximum_and_minimum() {
    for_every_type!(max_of_nan_is_nan);
}

fn softmax_matches<T: Float<Compute = f32>>(bench: &Bench) {
    for (rows, columns) in [(1, 1), (3, 64), (5, 100), (2, 1000), (16, 257)] {
        let x = random::<T>(rows * columns, 13, 8.0);
        let device_x = bench.upload(&x);
        let mut y = bench.zeroed::<T>(x.len());
        bench.kernels.softmax(&bench.stream, &device_x, columns, &mut y).unwrap();
        let result = compare(&bench.download(&y), reference::softmax(&x, columns));
        assert!(result.passed(), "softmax {rows}x{columns} {}: {result:?}", T::NAME);
    }
}

#[test]
fn softmax() {
    for_every_type!(softmax_matches);
}

#[test]
fn sizes_that_do_not_fit_are_refused() {
    let bench = Bench::open();
    let a = bench.zeroed::<f32>(15);
    let mut y = bench.zeroed::<f32>(15);
    let error = bench.kernels.softmax(&bench.stream, &a, 4, &mut y).unwrap_err();
    assert!(matches!(error, Error::Size { parameter: "columns", got: 4, .. }));
    let error = bench.kernels.reduce(&bench.stream, ReduceOp::Sum, &a, 0, &mut y).unwrap_err();
    assert!(matches!(error, Error::Size { parameter: "group", got: 0, .. }));
}
