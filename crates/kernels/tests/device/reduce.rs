//! Reductions and softmax against f64 on the CPU.

use half::{bf16, f16};
use kernels::reference::{self, Expected};
use kernels::{Element, Error, Float, ReduceElement, ReduceOp};

use crate::common::{Bench, for_every_type, random};
use crate::record::{assert_exact, compare};

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
        assert_exact!(nan, [false, true, false], "{op:?} {}", T::NAME);
    }
}

#[test]
fn nan_wins_maximum_and_minimum() {
    for_every_type!(max_of_nan_is_nan);
}

/// Runs a generic check for every type whose extremes are searched.
macro_rules! for_reduce_elements {
    ($check:ident) => {{
        let bench = Bench::open();
        $check::<f32>(&bench);
        $check::<f16>(&bench);
        $check::<bf16>(&bench);
        $check::<f64>(&bench);
        $check::<u8>(&bench);
        $check::<u32>(&bench);
        $check::<i64>(&bench);
    }};
}

/// Where a search from the first element ends: the first element that none is `better` than.
fn first<T: Copy>(group: &[T], better: impl Fn(T, T) -> bool) -> u32 {
    (1..group.len()).fold(0, |best, i| if better(group[i], group[best]) { i } else { best }) as u32
}

fn searches_match<T: ReduceElement>(bench: &Bench) {
    for (elements, group) in [(1, 1), (130, 64), (700, 7), (1001, 300), (300, usize::MAX)] {
        // few different numbers, so that several are equal
        let x: Vec<T> =
            random::<f64>(elements, 14, 4.0).into_iter().map(|x| T::from_f64(x.round())).collect();
        check_searches(bench, &x, group);
    }
    // All equal, and equal to what a search may start from.
    for value in [0.0, f64::INFINITY, f64::NEG_INFINITY] {
        check_searches(bench, &[T::from_f64(value); 100], 70);
    }
    let zeros = [T::from_f64(-0.0), T::from_f64(0.0)];
    check_searches(bench, &[zeros[0], zeros[1], zeros[1], zeros[0]], 2);
}

fn check_searches<T: ReduceElement>(bench: &Bench, x: &[T], group: usize) {
    let groups: Vec<&[T]> = x.chunks(group).collect();
    let device_x = bench.upload(x);
    let mut out = bench.upload(&vec![99_u32; groups.len()]);
    bench.kernels.argmax(&bench.stream, &device_x, group, &mut out).unwrap();
    let expected: Vec<u32> = groups.iter().map(|group| first(group, |a, b| a > b)).collect();
    assert_exact!(bench.download(&out), expected, "argmax of {} by {group}, {}", x.len(), T::NAME);
    bench.kernels.argmin(&bench.stream, &device_x, group, &mut out).unwrap();
    let expected: Vec<u32> = groups.iter().map(|group| first(group, |a, b| a < b)).collect();
    assert_exact!(bench.download(&out), expected, "argmin of {} by {group}, {}", x.len(), T::NAME);
}

#[test]
fn searches_find_the_first_of_equal_elements() {
    for_reduce_elements!(searches_match);
}

fn nan_is_found_only_first<T: Float + ReduceElement>(bench: &Bench) {
    let of = |x: &[f64]| -> Vec<T> { x.iter().map(|&x| T::from_f64(x)).collect() };
    let x = bench.upload(&of(&[f64::NAN, 5.0, 1.0, 3.0, f64::NAN, 7.0]));
    let mut out = bench.zeroed::<u32>(2);
    bench.kernels.argmax(&bench.stream, &x, 3, &mut out).unwrap();
    assert_exact!(bench.download(&out), [0, 2], "{}", T::NAME);
    bench.kernels.argmin(&bench.stream, &x, 3, &mut out).unwrap();
    assert_exact!(bench.download(&out), [0, 0], "{}", T::NAME);
}

#[test]
fn searches_pass_over_nan_behind_the_first_element() {
    let bench = Bench::open();
    nan_is_found_only_first::<f32>(&bench);
    nan_is_found_only_first::<f16>(&bench);
    nan_is_found_only_first::<bf16>(&bench);
    nan_is_found_only_first::<f64>(&bench);
}

#[test]
fn searches_refuse_what_does_not_fit() {
    let bench = Bench::open();
    let (x, none) = (bench.zeroed::<i64>(15), bench.zeroed::<i64>(0));
    let mut out = bench.zeroed::<u32>(4);
    let error = bench.kernels.argmax(&bench.stream, &x, 0, &mut out).unwrap_err();
    assert_eq!(error.to_string(), "argmax: `group` is 0, must be at least 1");
    let error = bench.kernels.argmin(&bench.stream, &x, 5, &mut out).unwrap_err();
    assert_eq!(error.to_string(), "argmin: `out` has 4 elements, but needs 3");
    bench.kernels.argmin(&bench.stream, &x, 4, &mut out).unwrap();
    bench.kernels.argmax(&bench.stream, &none, 4, &mut bench.zeroed::<u32>(0)).unwrap();
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
