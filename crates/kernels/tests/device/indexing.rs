//! Selecting, gathering, scattering and adding by index, against the same in Rust.

use half::{bf16, f16};
use hip::DeviceBuffer;
use kernels::{Element, F8E4M3, Index, Layout, Number, View, ViewMut};

use crate::common::{Bench, indices, places, random};
use crate::record::{assert_exact, exact};

const SHAPE: [usize; 3] = [3, 7, 8];

/// Indices below `limit`, many of them equal, and some that mean "no index".
fn ids<I: Index>(count: usize, limit: usize, seed: u64) -> (Vec<I>, Vec<Option<usize>>) {
    let numbers = random::<f64>(count, seed, limit as f64 * 1.2);
    let positions: Vec<Option<usize>> =
        numbers.iter().map(|x| Some(x.abs() as usize).filter(|id| *id < limit)).collect();
    // Numbers too large become the largest of the type.
    let ids = positions.iter().map(|id| I::from_f64(id.map_or(f64::INFINITY, |id| id as f64))).collect();
    (ids, positions)
}

/// Small whole numbers, whose sums are all exact.
fn numbers<T: Element>(count: usize, seed: u64) -> Vec<T> {
    random::<f64>(count, seed, 3.9).into_iter().map(|x| T::from_f64(x.abs().floor())).collect()
}

fn with_axis(shape: [usize; 3], axis: usize, extent: usize) -> [usize; 3] {
    let mut shape = shape;
    shape[axis] = extent;
    shape
}

fn place(shape: &[usize; 3], index: &[usize]) -> usize {
    (index[0] * shape[1] + index[1]) * shape[2] + index[2]
}

fn tensor<'a, T: Element>(buffer: &'a DeviceBuffer<T>, shape: &[usize]) -> View<'a, T> {
    View::new(buffer, Layout::contiguous(shape).unwrap()).unwrap()
}

fn tensor_mut<'a, T: Element>(buffer: &'a mut DeviceBuffer<T>, shape: &[usize]) -> ViewMut<'a, T> {
    ViewMut::new(buffer, Layout::contiguous(shape).unwrap()).unwrap()
}

fn reads<T: Element, I: Index>(bench: &Bench) {
    let memory = numbers::<T>(SHAPE.iter().product(), 1);
    let x = bench.upload(&memory);
    for (axis, limit) in SHAPE.into_iter().enumerate() {
        let what = format!("{} by {} along {axis}", T::NAME, I::NAME);
        let (some, positions) = ids::<I>(11, limit, 2 + axis as u64);
        let shape = with_axis(SHAPE, axis, 11);
        let find = |index: &[usize], id: Option<usize>| {
            let mut index = index.to_vec();
            id.map_or(T::default(), |id| {
                index[axis] = id;
                memory[place(&SHAPE, &index)]
            })
        };
        let mut out = bench.zeroed::<T>(shape.iter().product());
        bench
            .kernels
            .index_select(&bench.stream, tensor(&x, &SHAPE), axis, &bench.upload(&some), &mut out)
            .unwrap();
        let expected: Vec<T> =
            indices(&shape).iter().map(|index| find(index, positions[index[axis]])).collect();
        assert_exact!(bench.download(&out), expected, "index_select of {what}");

        let (each, positions) = ids::<I>(shape.iter().product(), limit, 5 + axis as u64);
        let each = bench.upload(&each);
        bench
            .kernels
            .gather(&bench.stream, tensor(&x, &SHAPE), axis, tensor(&each, &shape), &mut out)
            .unwrap();
        let expected: Vec<T> =
            indices(&shape).iter().map(|index| find(index, positions[place(&shape, index)])).collect();
        assert_exact!(bench.download(&out), expected, "gather of {what}");

        let target = numbers::<T>(shape.iter().product(), 8);
        let (each, positions) = ids::<I>(SHAPE.iter().product(), 11, 9 + axis as u64);
        let mut out = bench.upload(&target);
        let each = bench.upload(&each);
        bench
            .kernels
            .scatter(&bench.stream, &x, axis, tensor(&each, &SHAPE), tensor_mut(&mut out, &shape))
            .unwrap_err();
        bench
            .kernels
            .scatter(&bench.stream, tensor(&x, &SHAPE), axis, &each, tensor_mut(&mut out, &shape))
            .unwrap();
        let mut expected = target;
        for index in indices(&SHAPE) {
            if let Some(id) = positions[place(&SHAPE, &index)] {
                let mut to = index.clone();
                to[axis] = id;
                expected[place(&shape, &to)] = memory[place(&SHAPE, &index)];
            }
        }
        assert_exact!(bench.download(&out), expected, "scatter of {what}");
    }
}

macro_rules! for_indices {
    ($check:ident: $($type:ty),*) => {$(
        let bench = Bench::open();
        $check::<$type, u8>(&bench);
        $check::<$type, u32>(&bench);
        $check::<$type, i64>(&bench);
    )*};
}

#[test]
fn selecting_gathering_and_scattering() {
    for_indices!(reads: f64, f32, f16, bf16, F8E4M3, u8, u32, i16, i32, i64);
}

fn additions<T: Number, I: Index>(bench: &Bench) {
    let memory = numbers::<T>(SHAPE.iter().product(), 11);
    let x = bench.upload(&memory);
    for (axis, extent) in SHAPE.into_iter().enumerate() {
        let what = format!("{} by {} along {axis}", T::NAME, I::NAME);
        let shape = with_axis(SHAPE, axis, 4);
        let target = numbers::<T>(shape.iter().product(), 12);
        let sums = |position: &dyn Fn(&[usize]) -> Option<usize>| {
            let mut expected = target.clone();
            for index in indices(&SHAPE) {
                if let Some(id) = position(&index) {
                    let mut to = index.clone();
                    to[axis] = id;
                    let sum = &mut expected[place(&shape, &to)];
                    *sum = T::from_f64(sum.to_f64() + memory[place(&SHAPE, &index)].to_f64());
                }
            }
            expected
        };
        let (some, positions) = ids::<I>(extent, 4, 13);
        let mut out = bench.upload(&target);
        bench
            .kernels
            .index_add(
                &bench.stream,
                tensor(&x, &SHAPE),
                axis,
                &bench.upload(&some),
                tensor_mut(&mut out, &shape),
            )
            .unwrap();
        assert_exact!(bench.download(&out), sums(&|index| positions[index[axis]]), "index_add of {what}");

        let (each, positions) = ids::<I>(SHAPE.iter().product(), 4, 14);
        let each = bench.upload(&each);
        let mut out = bench.upload(&target);
        bench
            .kernels
            .scatter_add(&bench.stream, tensor(&x, &SHAPE), axis, &each, tensor_mut(&mut out, &shape))
            .unwrap();
        assert_exact!(
            bench.download(&out),
            sums(&|index| positions[place(&SHAPE, index)]),
            "scatter_add of {what}"
        );
    }
}

#[test]
fn adding() {
    for_indices!(additions: f64, f32, f16, bf16, F8E4M3, u8, u32, i64);
}

#[test]
fn sums_are_in_order_and_integers_wrap() {
    let bench = Bench::open();
    // In this order nothing is left of the ones in f16: 2048 + 1 is 2048.
    let x = bench.upload(&[2048.0, 1.0, 1.0, -2048.0].map(f16::from_f32));
    let zeros = bench.upload(&[0_u32; 4]);
    let mut sum = bench.zeroed::<f16>(1);
    bench.kernels.index_add(&bench.stream, &x, 0, &zeros, &mut sum).unwrap();
    assert_exact!(bench.download(&sum), [f16::ZERO]);
    let mut sum = bench.upload(&[i64::MAX]);
    bench
        .kernels
        .scatter_add(&bench.stream, &bench.upload(&[1_i64, 1]), 0, &bench.upload(&[0_u32; 2]), &mut sum)
        .unwrap();
    assert_exact!(bench.download(&sum), [i64::MIN + 1]);
}

#[test]
fn strided_indices_and_many_rows() {
    let bench = Bench::open();
    // 70,000 rows of three bytes; and of 16, which are copied in one.
    for width in [3, 16] {
        let rows = 70_000;
        let memory: Vec<u8> = (0..rows * width).map(|i| (i % 251) as u8).collect();
        let x = bench.upload(&memory);
        let all: Vec<u32> = (0..2 * rows as u32).map(|i| (rows as u32 - 1) - i / 2).collect();
        let ids = bench.upload(&all);
        let every_second = View::new(&ids, Layout::with_strides(&[rows], &[2], 1).unwrap()).unwrap();
        let mut out = bench.zeroed::<u8>(rows * width);
        bench
            .kernels
            .index_select(&bench.stream, tensor(&x, &[rows, width]), 0, every_second, &mut out)
            .unwrap();
        let expected: Vec<u8> = memory.chunks(width).rev().flatten().copied().collect();
        assert!(exact(bench.download(&out) == expected), "{width}");
    }
}

#[test]
fn an_index_outside_is_a_fault() {
    type Work<'a> = &'a dyn Fn(&Bench, &DeviceBuffer<f32>, &DeviceBuffer<i64>, &mut DeviceBuffer<f32>);
    let run = |id: i64, work: Work<'_>| {
        let bench = Bench::open();
        let x = bench.upload(&[1.0_f32, 2.0, 3.0]);
        let ids = bench.upload(&[0, id, 2]);
        let mut out = bench.zeroed::<f32>(3);
        work(&bench, &x, &ids, &mut out);
        bench.stream.synchronize()
    };
    let works: [Work<'_>; 5] = [
        &|bench, x, ids, out| bench.kernels.index_select(&bench.stream, x, 0, ids, out).unwrap(),
        &|bench, x, ids, out| bench.kernels.gather(&bench.stream, x, 0, ids, out).unwrap(),
        &|bench, x, ids, out| bench.kernels.scatter(&bench.stream, x, 0, ids, out).unwrap(),
        &|bench, x, ids, out| bench.kernels.scatter_add(&bench.stream, x, 0, ids, out).unwrap(),
        &|bench, x, ids, out| bench.kernels.index_add(&bench.stream, x, 0, ids, out).unwrap(),
    ];
    for work in works {
        assert!(run(1, work).is_ok());
        assert!(run(i64::MAX, work).is_ok(), "no index");
    }
    for work in works {
        for outside in [3, -1, 1 << 32, i64::MIN] {
            let error = run(outside, work).unwrap_err();
            assert!(matches!(error, hip::Error::Fault(_)), "{outside}: {error}");
            if error.is_sticky() {
                // The process has lost its GPU.
                return;
            }
        }
    }
}

#[test]
fn nothing_to_do() {
    let bench = Bench::open();
    let (none, some) = (bench.zeroed::<f32>(0), bench.upload(&[1.0_f32, 2.0]));
    let (no_ids, ids) = (bench.zeroed::<u32>(0), bench.upload(&[0_u32, 0]));
    let (mut empty, mut out) = (bench.zeroed::<f32>(0), bench.upload(&[5.0_f32]));
    bench.kernels.index_select(&bench.stream, &some, 0, &no_ids, &mut empty).unwrap();
    bench.kernels.gather(&bench.stream, &some, 0, &no_ids, &mut empty).unwrap();
    bench.kernels.scatter(&bench.stream, &none, 0, &no_ids, &mut out).unwrap();
    bench.kernels.scatter_add(&bench.stream, &none, 0, &no_ids, &mut out).unwrap();
    bench.kernels.index_add(&bench.stream, &none, 0, &no_ids, &mut out).unwrap();
    assert_exact!(bench.download(&out), [5.0]);
    // Nothing in another dimension.
    let empty_rows = Layout::contiguous(&[2, 0]).unwrap();
    let x = View::new(&none, empty_rows).unwrap();
    bench.kernels.index_select(&bench.stream, x, 0, &ids, &mut empty).unwrap();
    bench
        .kernels
        .index_add(&bench.stream, x, 0, &ids, ViewMut::new(&mut empty, empty_rows).unwrap())
        .unwrap();
    bench.stream.synchronize().unwrap();
    assert_eq!(places(&empty_rows), Vec::<usize>::new());
}
