//! Norms against f64.

use kernels::reference::Expected;
use kernels::{Element, Error, Float, GroupNorm};

use crate::common::{Bench, for_every_type, random};
use crate::record::{assert_exact, compare};

const U32: f64 = f32::UNIT_ROUNDOFF;
/// Rows shorter than a wave, of packs of 16 bytes and not, and longer than a workgroup.
const ROWS: [(usize, usize); 6] = [(3, 1), (2, 7), (4, 64), (3, 100), (2, 257), (2, 1032)];

/// A quotient of f32 sums of `columns` terms: a few roundings, and those of the sum.
fn near(value: f64, columns: usize) -> Expected {
    Expected { value, slack: value.abs() * U32 * (12.0 + (columns as f64).sqrt()) }
}

fn values<T: Float<Compute = f32>>(x: &[T]) -> Vec<f64> {
    x.iter().map(|x| x.to_f64()).collect()
}

fn rms(row: &[f64], eps: f32) -> f64 {
    (row.iter().map(|x| x * x).sum::<f64>() / row.len() as f64 + f64::from(eps)).sqrt()
}

fn root_mean_squares<T: Float<Compute = f32>>(bench: &Bench) {
    for (rows, columns) in ROWS {
        let (x, alpha) = (random::<T>(rows * columns, 41, 3.0), random::<T>(columns, 42, 2.0));
        let (device_x, device_alpha) = (bench.upload(&x), bench.upload(&alpha));
        for with_alpha in [true, false] {
            let mut y = bench.zeroed::<T>(x.len());
            let weight = with_alpha.then(|| device_alpha.as_slice());
            bench.kernels.rms_norm(&bench.stream, &device_x, columns, weight, 1e-5, &mut y).unwrap();
            let numbers = values(&x);
            let expected = numbers.chunks(columns).flat_map(|row| {
                let scale = rms(row, 1e-5);
                let weight = |i: usize| if with_alpha { alpha[i].to_f64() } else { 1.0 };
                row.iter().enumerate().map(|(i, x)| near(x / scale * weight(i), columns)).collect::<Vec<_>>()
            });
            let result = compare(&bench.download(&y), expected);
            assert!(result.passed(), "{rows} × {columns} {}: {result:?}", T::NAME);
        }
    }
}

#[test]
fn rms_norm() {
    for_every_type!(root_mean_squares);
}

fn sums_and_norms<T: Float<Compute = f32>>(bench: &Bench) {
    for (rows, columns) in ROWS {
        let (x, residual) = (random::<T>(rows * columns, 43, 3.0), random::<T>(rows * columns, 44, 3.0));
        let alpha = random::<T>(columns, 45, 2.0);
        let (device_x, device_alpha) = (bench.upload(&x), bench.upload(&alpha));
        let (mut sum, mut y) = (bench.upload(&residual), bench.zeroed::<T>(x.len()));
        let weight = Some(device_alpha.as_slice());
        bench
            .kernels
            .add_rms_norm(&bench.stream, &device_x, &mut sum, columns, weight, 1e-6, &mut y)
            .unwrap();
        // the sum of two numbers of a type is exact in f64, and so rounded once
        let sums: Vec<T> =
            x.iter().zip(&residual).map(|(x, y)| T::from_f64(x.to_f64() + y.to_f64())).collect();
        assert_exact!(values(&bench.download(&sum)), values(&sums), "{rows} × {columns} {}", T::NAME);
        let numbers = values(&sums);
        let expected = numbers.chunks(columns).flat_map(|row| {
            let scale = rms(row, 1e-6);
            row.iter().zip(&alpha).map(|(x, a)| near(x / scale * a.to_f64(), columns)).collect::<Vec<_>>()
        });
        let result = compare(&bench.download(&y), expected);
        assert!(result.passed(), "{rows} × {columns} {}: {result:?}", T::NAME);
    }
}

#[test]
fn add_rms_norm() {
    for_every_type!(sums_and_norms);
}

fn lengths<T: Float<Compute = f32>>(bench: &Bench) {
    for (rows, columns) in ROWS {
        let mut x = random::<T>(rows * columns, 46, 3.0);
        // the last row is zero: it stays zero
        x[(rows - 1) * columns..].fill(T::default());
        let device_x = bench.upload(&x);
        let mut y = bench.zeroed::<T>(x.len());
        bench.kernels.l2_norm(&bench.stream, &device_x, columns, 1e-12, &mut y).unwrap();
        let numbers = values(&x);
        let expected = numbers.chunks(columns).flat_map(|row| {
            let length = row.iter().map(|x| x * x).sum::<f64>().sqrt().max(1e-12);
            row.iter().map(|x| near(x / length, columns)).collect::<Vec<_>>()
        });
        let result = compare(&bench.download(&y), expected);
        assert!(result.passed(), "{rows} × {columns} {}: {result:?}", T::NAME);
    }
}

#[test]
fn l2_norm() {
    for_every_type!(lengths);
}

fn groups<T: Float<Compute = f32>>(bench: &Bench) {
    for (batch, channels, groups, spatial) in [(2, 6, 3, 35), (1, 4, 4, 64), (3, 8, 1, 1), (2, 6, 2, 500)] {
        let x = random::<T>(batch * channels * spatial, 47, 3.0);
        let (alpha, beta) = (random::<T>(channels, 48, 2.0), random::<T>(channels, 49, 2.0));
        let (device_x, a, b) = (bench.upload(&x), bench.upload(&alpha), bench.upload(&beta));
        let mut y = bench.zeroed::<T>(x.len());
        let shape = GroupNorm { channels, groups, spatial, eps: 1e-5 };
        bench
            .kernels
            .group_norm(&bench.stream, &shape, &device_x, Some(a.as_slice()), Some(b.as_slice()), &mut y)
            .unwrap();
        let each = channels / groups * spatial;
        let numbers = values(&x);
        let expected = numbers.chunks(each).enumerate().flat_map(|(group, row)| {
            let mean = row.iter().sum::<f64>() / each as f64;
            let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / each as f64;
            let of = |i: usize| group % groups * (channels / groups) + i / spatial;
            let (alpha, beta) = (&alpha, &beta);
            row.iter()
                .enumerate()
                .map(|(i, x)| {
                    let scaled = (x - mean) / (variance + 1e-5_f32 as f64).sqrt() * alpha[of(i)].to_f64();
                    let shift = beta[of(i)].to_f64();
                    // the mean is rounded, and the sum cancels
                    let slack = U32 * (20.0 + (each as f64).sqrt()) * (scaled.abs() + shift.abs() + 2.0);
                    Expected { value: scaled + shift, slack }
                })
                .collect::<Vec<_>>()
        });
        let result = compare(&bench.download(&y), expected);
        assert!(result.passed(), "{shape:?} {}: {result:?}", T::NAME);
        // without weights: a mean of zero, a variance of one
        let mut y = bench.zeroed::<T>(x.len());
        bench.kernels.group_norm(&bench.stream, &shape, &device_x, None, None, &mut y).unwrap();
        for row in values(&bench.download(&y)).chunks(each).filter(|row| row.len() > 1) {
            let square = row.iter().map(|x| x * x).sum::<f64>() / each as f64;
            assert!((square - 1.0).abs() < 0.02, "{square}");
        }
    }
}

#[test]
fn group_norm() {
    for_every_type!(groups);
}

#[test]
fn bad_shapes_are_refused() {
    let bench = Bench::open();
    let (kernels, stream) = (&bench.kernels, &bench.stream);
    let x = bench.zeroed::<f32>(12);
    let (three, mut y) = (bench.zeroed::<f32>(3), bench.zeroed::<f32>(12));
    let error = kernels.rms_norm(stream, &x, 4, Some(three.as_slice()), 1e-5, &mut y).unwrap_err();
    assert_eq!(error.to_string(), "rms_norm: `alpha` has 3 elements, but needs 4");
    let error = kernels.layer_norm(stream, &x, 4, None, Some(three.as_slice()), 1e-5, &mut y).unwrap_err();
    assert!(matches!(error, Error::Length { buffer: "beta", expected: 4, got: 3, .. }));
    for columns in [0, 5] {
        let error = kernels.l2_norm(stream, &x, columns, 1e-5, &mut y).unwrap_err();
        assert!(matches!(error, Error::Size { parameter: "columns", .. }), "{error}");
    }
    let mut short = bench.zeroed::<f32>(8);
    let error = kernels.add_rms_norm(stream, &x, &mut short, 4, None, 1e-5, &mut y).unwrap_err();
    assert!(matches!(error, Error::Length { buffer: "residual", expected: 12, got: 8, .. }));
    let shape = GroupNorm { channels: 4, groups: 3, spatial: 3, eps: 1e-5 };
    let error = kernels.group_norm(stream, &shape, &x, None, None, &mut y).unwrap_err();
    assert!(matches!(error, Error::Size { parameter: "groups", got: 3, .. }));
    for spatial in [0, 2, usize::MAX] {
        let shape = GroupNorm { groups: 2, spatial, ..shape };
        let error = kernels.group_norm(stream, &shape, &x, None, None, &mut y).unwrap_err();
        assert!(matches!(error, Error::Size { parameter: "spatial", .. }), "{spatial}: {error}");
    }
    let (empty, mut none) = (bench.zeroed::<f32>(0), bench.zeroed::<f32>(0));
    kernels.rms_norm(stream, &empty, 4, None, 1e-5, &mut none).unwrap();
}
