//! Copies between layouts, byte by byte.

use kernels::{Element, Error, Layout, View, ViewMut};

use crate::common::{Bench, places};
use crate::record::{assert_exact, exact};

fn numbers<T: Element>(count: usize) -> Vec<T> {
    (0..count).map(|i| T::from_f64((i * 37 % 113) as f64)).collect()
}

/// Copies and compares all of the memory: everything between the elements must be unchanged.
fn check<T: Element>(bench: &Bench, from: Layout, to: Layout) {
    let x = numbers::<T>(from.end());
    let before = vec![T::from_f64(7.0); to.end() + 3];
    let device_x = bench.upload(&x);
    let mut device_y = bench.upload(&before);
    let y = ViewMut::new(&mut device_y, to).unwrap();
    bench.kernels.copy_strided(&bench.stream, View::new(&device_x, from).unwrap(), y).unwrap();
    let mut expected = before;
    for (from, to) in places(&from).into_iter().zip(places(&to)) {
        expected[to] = x[from];
    }
    assert!(exact(bench.download(&device_y) == expected), "{from:?} to {to:?}, {}", T::NAME);
}

fn layouts<T: Element>(bench: &Bench) {
    let contiguous = |shape: &[usize]| Layout::contiguous(shape).unwrap();
    for (rows, columns) in [(32, 32), (33, 47), (100, 16), (5, 70)] {
        check::<T>(
            bench,
            contiguous(&[rows, columns]),
            contiguous(&[columns, rows]).transpose(0, 1).unwrap(),
        );
        check::<T>(
            bench,
            contiguous(&[columns, rows]).transpose(0, 1).unwrap(),
            contiguous(&[rows, columns]),
        );
        // parts of larger ones
        let wide = Layout::with_strides(&[rows, columns], &[columns + 9, 1], 5).unwrap();
        let tall = Layout::with_strides(&[rows, columns], &[1, rows + 3], 2).unwrap();
        check::<T>(bench, wide, tall);
        check::<T>(bench, wide, Layout::with_strides(&[rows, columns], &[columns + 1, 1], 1).unwrap());
    }
    // heads between tokens and vice versa, each with and without a batch of matrices
    check::<T>(bench, contiguous(&[3, 20, 40]).transpose(1, 2).unwrap(), contiguous(&[3, 40, 20]));
    check::<T>(bench, contiguous(&[4, 6, 10]).transpose(0, 1).unwrap(), contiguous(&[6, 4, 10]));
    check::<T>(bench, contiguous(&[2, 3, 4, 5]).permute(&[3, 1, 0, 2]).unwrap(), contiguous(&[5, 3, 2, 4]));
    check::<T>(bench, contiguous(&[1, 5]).broadcast(&[4, 5]).unwrap(), contiguous(&[4, 5]));
    check::<T>(bench, contiguous(&[17, 0]), contiguous(&[17, 0]));
}

#[test]
fn every_size_of_elements() {
    let bench = Bench::open();
    layouts::<u8>(&bench);
    layouts::<half::f16>(&bench);
    layouts::<f32>(&bench);
    layouts::<i64>(&bench);
}

fn between_pitches<T: Element>(bench: &Bench) {
    // Pitches, rows and beginnings that are multiples of 16 bytes or not; rows that overlap or coincide; one
    // row, one column.
    for (shape, x_pitch, y_pitch, start) in [
        ([11, 32], 48, 64, 0),
        ([11, 32], 48, 64, 3),
        ([11, 30], 33, 41, 0),
        ([11, 32], 7, 32, 0),
        ([11, 32], 0, 48, 16),
        ([11, 1], 5, 3, 0),
        ([1, 33], 1 << 40, 1 << 40, 1),
        ([0, 33], 40, 40, 1),
        ([11, 0], 40, 40, 1),
    ] {
        let [rows, columns] = shape;
        let x = numbers::<T>(1000);
        let mut expected = vec![T::from_f64(7.0); 1000];
        let (device_x, mut device_y) = (bench.upload(&x), bench.upload(&expected));
        let from = device_x.slice(start..).unwrap();
        let to = device_y.slice_mut(start..).unwrap();
        bench.kernels.copy2d(&bench.stream, shape, from, x_pitch, to, y_pitch).unwrap();
        for row in 0..rows {
            expected[start + row * y_pitch..][..columns]
                .copy_from_slice(&x[start + row * x_pitch..][..columns]);
        }
        assert!(bench.download(&device_y) == expected, "{shape:?} {x_pitch} {y_pitch} {start} {}", T::NAME);
    }
}

#[test]
fn matrices_between_pitches() {
    let bench = Bench::open();
    between_pitches::<u8>(&bench);
    between_pitches::<i16>(&bench);
    between_pitches::<half::bf16>(&bench);
    between_pitches::<i32>(&bench);
    between_pitches::<f64>(&bench);
}

#[test]
fn matrices_that_do_not_fit_are_refused() {
    let bench = Bench::open();
    let (x, mut y) = (bench.zeroed::<f32>(12), bench.upload(&[9.0_f32; 12]));
    let mut copy = |shape, x_pitch, y_pitch| {
        bench.kernels.copy2d(&bench.stream, shape, &x, x_pitch, &mut y, y_pitch).unwrap_err()
    };
    let error = copy([3, 4], 5, 4);
    assert_eq!(error.to_string(), "the last element is number 13, but the memory has 12");
    let error = copy([3, 4], 4, 5);
    assert_eq!(error.to_string(), "the last element is number 13, but the memory has 12");
    let error = copy([3, 4], 4, 3);
    assert!(matches!(error, Error::Layout(kernels::LayoutError::Overlap { .. })), "{error}");
    let error = copy([3, 4], usize::MAX / 2, 4);
    assert!(matches!(error, Error::Layout(kernels::LayoutError::TooLarge(_))), "{error}");
    let error = copy([usize::MAX, 2], 0, 0);
    assert!(matches!(error, Error::Layout(kernels::LayoutError::TooLarge(_))), "{error}");
    assert_exact!(bench.download(&y), [9.0; 12]);
}

#[test]
fn parts_are_joined() {
    let bench = Bench::open();
    for (axis, shapes) in [(0, [[2, 5], [3, 5], [1, 5]]), (1, [[4, 1], [4, 30], [4, 7]])] {
        let layouts = shapes.map(|shape| Layout::contiguous(&shape).unwrap());
        let values: Vec<Vec<f32>> = layouts.iter().map(|layout| numbers(layout.elements())).collect();
        let buffers: Vec<_> = values.iter().map(|values| bench.upload(values)).collect();
        let parts: Vec<View<'_, f32>> =
            buffers.iter().zip(layouts).map(|(buffer, layout)| View::new(buffer, layout).unwrap()).collect();
        let mut shape = shapes[0];
        shape[axis] = shapes.iter().map(|shape| shape[axis]).sum();
        let layout = Layout::contiguous(&shape).unwrap();
        let mut out = bench.zeroed::<f32>(layout.elements());
        bench.kernels.concat(&bench.stream, axis, &parts, ViewMut::new(&mut out, layout).unwrap()).unwrap();
        let expected: Vec<f32> = if axis == 0 {
            values.concat()
        } else {
            (0..4)
                .flat_map(|row| {
                    let columns = |i: usize| values[i][row * shapes[i][1]..][..shapes[i][1]].to_vec();
                    [columns(0), columns(1), columns(2)].concat()
                })
                .collect()
        };
        assert_exact!(bench.download(&out), expected, "along {axis}");
    }
}

#[test]
fn bad_shapes_are_refused() {
    let bench = Bench::open();
    let (kernels, stream) = (&bench.kernels, &bench.stream);
    let (x, mut y) = (bench.zeroed::<f32>(12), bench.zeroed::<f32>(12));
    let layout = |shape: &[usize]| Layout::contiguous(shape).unwrap();
    let view = |shape: &[usize]| View::new(&x, layout(shape)).unwrap();
    let out = ViewMut::new(&mut y, layout(&[4, 3])).unwrap();
    let error = kernels.copy_strided(stream, view(&[3, 4]), out).unwrap_err();
    assert!(matches!(error, Error::Shape { .. }), "{error}");
    let mut concat = |axis, parts: &[View<'_, f32>], shape: &[usize]| {
        kernels.concat(stream, axis, parts, ViewMut::new(&mut y, layout(shape)).unwrap())
    };
    concat(0, &[view(&[1, 3]), view(&[2, 3])], &[3, 3]).unwrap();
    let error = concat(0, &[view(&[1, 3]), view(&[2, 4])], &[3, 3]).unwrap_err();
    assert!(matches!(error, Error::Shape { buffer: "parts", .. }), "{error}");
    let error = concat(0, &[view(&[1, 3]), view(&[1, 3])], &[3, 3]).unwrap_err();
    assert_eq!(error.to_string(), "concat: `out` has the shape [3, 3], but needs [2, 3]");
    let error = concat(0, &[view(&[4, 3])], &[3, 3]).unwrap_err();
    assert!(matches!(error, Error::Layout(_)), "{error}");
    let error = concat(2, &[view(&[3, 3])], &[3, 3]).unwrap_err();
    assert!(matches!(error, Error::Layout(_)), "{error}");
    let error = concat(1, &[], &[3, 3]).unwrap_err();
    assert!(matches!(error, Error::Shape { buffer: "out", .. }), "{error}");
}
