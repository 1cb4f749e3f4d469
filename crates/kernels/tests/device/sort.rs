//! Orders of rows, against stable sorts in Rust.

use std::cmp::Ordering;

use half::{bf16, f16};
use kernels::{F8E4M3, Layout, Number, Order, View};

use crate::common::{Bench, random, special};
use crate::record::exact;

fn expected<T: Number>(row: &[T], order: Order) -> Vec<u32> {
    // NaN is above all numbers, and zeros are equal.
    let compare = |a: &T, b: &T| match (a.to_f64().is_nan(), b.to_f64().is_nan()) {
        (false, false) => a.partial_cmp(b).unwrap(),
        (a, b) => a.cmp(&b),
    };
    let mut indices: Vec<u32> = (0..row.len() as u32).collect();
    indices.sort_by(|&i, &j| {
        let ascending: Ordering = compare(&row[i as usize], &row[j as usize]);
        if order == Order::Ascending { ascending } else { ascending.reverse() }
    });
    indices
}

fn sorts<T: Number>(bench: &Bench, values: &[T], columns: usize) {
    let x = bench.upload(values);
    let mut out = bench.zeroed::<u32>(values.len());
    let shape = Layout::contiguous(&[values.len() / columns, columns]).unwrap();
    for order in [Order::Ascending, Order::Descending] {
        bench.kernels.argsort(&bench.stream, View::new(&x, shape).unwrap(), order, &mut out).unwrap();
        for (row, got) in values.chunks(columns).zip(bench.download(&out).chunks(columns)) {
            assert!(exact(got == expected(row, order)), "{columns} {order:?} of {}", T::NAME);
        }
    }
}

fn rows_of_all_lengths<T: Number>(bench: &Bench) {
    for columns in [1, 2, 3, 31, 64, 65, 257, 1000, 2047, 2048, 2049, 4097, 6200] {
        sorts(bench, &random::<T>(2 * columns, columns as u64, 90.0), columns);
    }
}

#[test]
fn long_and_short_rows() {
    rows_of_all_lengths::<f32>(&Bench::open());
    rows_of_all_lengths::<u8>(&Bench::open());
}

fn numbers_of_every_type<T: Number>(bench: &Bench) {
    let mut values = special::<T>();
    values.extend(random::<T>(300 - values.len(), 3, 100.0));
    sorts(bench, &values, 100);
    sorts(bench, &values, 300);
    let mut long = special::<T>();
    long.extend(random::<T>(4500 - long.len(), 4, 200.0));
    sorts(bench, &long, 4500);
}

#[test]
fn every_type() {
    let bench = Bench::open();
    numbers_of_every_type::<f64>(&bench);
    numbers_of_every_type::<f32>(&bench);
    numbers_of_every_type::<f16>(&bench);
    numbers_of_every_type::<bf16>(&bench);
    numbers_of_every_type::<F8E4M3>(&bench);
    numbers_of_every_type::<u8>(&bench);
    numbers_of_every_type::<u32>(&bench);
    numbers_of_every_type::<i64>(&bench);
}

#[test]
fn the_ends_of_integers() {
    let bench = Bench::open();
    sorts(&bench, &[i64::MIN, i64::MAX, 0, -1, 1, i64::MIN + 1, i64::MAX - 1, 1 << 53, (1 << 53) + 1], 9);
    sorts(&bench, &[u32::MAX, 0, 1 << 31, (1 << 31) - 1, u32::MAX - 1], 5);
}

#[test]
fn many_rows() {
    let bench = Bench::open();
    sorts(&bench, &random::<f32>(70_001 * 2, 5, 4.0), 2);
}

#[test]
fn no_elements() {
    let bench = Bench::open();
    let x = bench.zeroed::<f32>(0);
    let mut out = bench.zeroed::<u32>(0);
    for shape in [[0, 5], [5, 0]] {
        let x = View::new(&x, Layout::contiguous(&shape).unwrap()).unwrap();
        bench.kernels.argsort(&bench.stream, x, Order::Ascending, &mut out).unwrap();
    }
    bench.stream.synchronize().unwrap();
}
