//! Conversions from and to arrays of the crate `ndarray`, compared with its own slices and products.

use ndarray::{Array1, Array2, Array3, ArrayView2, Axis, ShapeBuilder, s};
use rocblas::{
    Batch, Complex32, DeviceMatrix, DeviceVector, Layout, Matrix, MatrixLayout, MatrixMut, Order, Vector,
    VectorLayout, VectorMut,
};

use crate::common::Bench;

fn numbers(rows: usize, cols: usize) -> Array2<f64> {
    Array2::from_shape_fn((rows, cols), |(i, j)| (i * 100 + j) as f64)
}

#[test]
fn matrices_come_back_in_their_order() {
    let bench = Bench::open();
    let whole = numbers(9, 14);
    let by_columns = Array2::from_shape_fn((9, 14).f(), |(i, j)| whole[(i, j)]);
    let views: [(ArrayView2<'_, f64>, Order); 12] = [
        (whole.view(), Order::RowMajor),
        (whole.t(), Order::ColumnMajor),
        (by_columns.view(), Order::ColumnMajor),
        (by_columns.t(), Order::RowMajor),
        (whole.slice(s![2..7, 3..5]), Order::RowMajor),
        (whole.slice(s![..;2, ..;3]), Order::RowMajor),
        (whole.slice(s![..;-1, ..;-2]), Order::RowMajor),
        (by_columns.slice(s![1..;3, 1..9]), Order::ColumnMajor),
        (whole.slice(s![3..4, ..]), Order::RowMajor),
        (whole.slice(s![.., 3..4]), Order::RowMajor),
        (whole.slice(s![4..4, ..]), Order::RowMajor),
        (whole.slice(s![.., 5..5]), Order::RowMajor),
    ];
    for (view, order) in views {
        let device = DeviceMatrix::from_array(&bench.stream, view).unwrap();
        let layout = *device.layout();
        assert_eq!((layout.rows(), layout.cols()), view.dim(), "{view:?}");
        assert_eq!((layout.order(), layout.batch()), (order, Batch::One), "{view:?}");
        assert_eq!(layout.needed().unwrap(), view.len(), "no gaps: {view:?}");
        let back = device.view().to_array(&bench.stream).unwrap();
        assert_eq!(back, view);
        assert!(view.is_empty() || back.t().is_standard_layout() || order == Order::RowMajor);
        assert_eq!(device.view().t().to_array(&bench.stream).unwrap(), view.t());
    }
    // One row, repeated.
    let row = Array1::from_vec(vec![1.0, 2.0, 3.0]);
    let repeated = row.broadcast((4, 3)).unwrap();
    let device = DeviceMatrix::from_array(&bench.stream, repeated).unwrap();
    assert_eq!(device.view().to_array(&bench.stream).unwrap(), repeated);
}

#[test]
fn views_with_gaps_come_back_without() {
    let bench = Bench::open();
    let memory: Vec<f64> = (0..200).map(f64::from).collect();
    let buffer = bench.upload(&memory);
    for (order, strides) in [(Order::RowMajor, (13, 1)), (Order::ColumnMajor, (1, 13))] {
        let layout = match order {
            Order::RowMajor => MatrixLayout::row_major(7, 5),
            Order::ColumnMajor => MatrixLayout::column_major(7, 5),
        };
        let matrix = Matrix::new(&buffer, layout.with_ld(13)).unwrap();
        let array = ArrayView2::from_shape((7, 5).strides(strides), &memory).unwrap();
        assert_eq!(matrix.to_array(&bench.stream).unwrap(), array);
        let block = matrix.block(2..6, 1..4).unwrap();
        assert_eq!(block.to_array(&bench.stream).unwrap(), array.slice(s![2..6, 1..4]));
        assert_eq!(matrix.col(3).unwrap().to_array(&bench.stream).unwrap(), array.column(3));
        assert_eq!(matrix.diagonal().unwrap().to_array(&bench.stream).unwrap(), array.diag());
    }
    let backwards = Vector::new(&buffer, VectorLayout::new(6).with_increment(-3)).unwrap();
    let expected: Array1<f64> = memory[..16].iter().rev().step_by(3).copied().collect();
    assert_eq!(backwards.to_array(&bench.stream).unwrap(), expected);
    let device = DeviceVector::from_array(&bench.stream, expected.slice(s![..;-2])).unwrap();
    assert_eq!(device.view().to_array(&bench.stream).unwrap(), expected.slice(s![..;-2]));
}

#[test]
fn conjugated_views_come_back_conjugated() {
    let bench = Bench::open();
    let array = Array2::from_shape_fn((3, 5), |(i, j)| Complex32::new(i as f32, 1.0 + j as f32));
    let mut device = DeviceMatrix::from_array(&bench.stream, array.view()).unwrap();
    let conjugated = array.mapv(|value| value.conj());
    assert_eq!(device.view().conj().to_array(&bench.stream).unwrap(), conjugated);
    assert_eq!(device.view().h().to_array(&bench.stream).unwrap(), conjugated.t());
    device.view_mut().t_mut().assign(&bench.stream, conjugated.t()).unwrap();
    assert_eq!(device.view().to_array(&bench.stream).unwrap(), conjugated);
    let (mut buffer, layout) = device.into_parts();
    let mut turned = MatrixMut::new(&mut buffer, layout.conj()).unwrap();
    turned.assign(&bench.stream, conjugated.view()).unwrap();
    let plain = Matrix::new(&buffer, layout).unwrap();
    assert_eq!(plain.to_array(&bench.stream).unwrap(), array);
}

#[test]
fn batches_are_arrays_of_three_dimensions() {
    let bench = Bench::open();
    let array = Array3::from_shape_fn((4, 3, 5), |(b, i, j)| (b * 100 + i * 10 + j) as f32);
    for view in [array.view(), array.view().permuted_axes([0, 2, 1]), array.slice(s![..;-2, 1.., ..;2])] {
        let device = DeviceMatrix::from_batch(&bench.stream, view).unwrap();
        assert_eq!(device.layout().batch().count(), view.len_of(Axis(0)));
        assert_eq!(device.view().to_batch(&bench.stream).unwrap(), view);
        let error = device.view().to_array(&bench.stream).unwrap_err();
        assert!(matches!(error, rocblas::Error::BatchCount { expected: 1, .. }), "{error}");
    }
    let parts: Vec<_> =
        array.outer_iter().map(|item| bench.upload(&item.iter().copied().collect::<Vec<_>>())).collect();
    let layout = MatrixLayout::row_major(3, 5);
    let batch = Matrix::from_slices(parts.iter().map(|part| part.as_slice()), layout).unwrap();
    assert_eq!(batch.to_batch(&bench.stream).unwrap(), array);
    let empty = Matrix::<f32>::from_slices([], layout).unwrap().to_batch(&bench.stream).unwrap();
    assert_eq!(empty, Array3::<f32>::zeros((0, 3, 5)));
}

#[test]
fn arrays_are_assigned_and_gaps_stay() {
    let bench = Bench::open();
    let array = numbers(4, 6);
    for (layout, strides) in
        [(MatrixLayout::row_major(4, 6), (9, 1)), (MatrixLayout::column_major(4, 6), (1, 9))]
    {
        for view in [array.view(), array.clone().reversed_axes().t()] {
            let mut buffer = bench.upload(&[-1.0_f64; 60]);
            let mut matrix = MatrixMut::new(&mut buffer, layout.with_ld(9)).unwrap();
            matrix.assign(&bench.stream, view).unwrap();
            let mut expected = vec![-1.0; 60];
            let places = ndarray::ArrayViewMut2::from_shape((4, 6).strides(strides), &mut expected);
            places.unwrap().assign(&array);
            assert_eq!(bench.download(&buffer), expected);
        }
    }
    let mut buffer = bench.upload(&[-1.0_f64; 20]);
    let mut vector = VectorMut::new(&mut buffer, VectorLayout::new(4).with_increment(-5)).unwrap();
    vector.assign(&bench.stream, array.column(1)).unwrap();
    let got = bench.download(&buffer);
    assert_eq!([got[15], got[10], got[5], got[0]], [1.0, 101.0, 201.0, 301.0]);
    assert_eq!(got.iter().filter(|value| **value == -1.0).count(), 16);

    let mut buffer = bench.upload(&[0.0_f64; 24]);
    let mut matrix = MatrixMut::new(&mut buffer, MatrixLayout::row_major(6, 4)).unwrap();
    let error = matrix.assign(&bench.stream, array.view()).unwrap_err();
    let expected = "assign: `array` has 4 rows, 6 are needed";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn products_are_those_of_ndarray() {
    let bench = Bench::open();
    let a = numbers(17, 35);
    let b = Array2::from_shape_fn((35, 9).f(), |(i, j)| (i as f64 - 3.0 * j as f64) / 7.0);
    for (a, b) in [(a.view(), b.view()), (a.slice(s![..;-2, ..]), b.slice(s![.., 1..;2]))] {
        let expected = a.dot(&b);
        let device_a = DeviceMatrix::from_array(&bench.stream, a).unwrap();
        let device_b = DeviceMatrix::from_array(&bench.stream, b).unwrap();
        for start in [Array2::zeros(expected.dim()), Array2::zeros(expected.dim().f())] {
            let mut c = DeviceMatrix::from_array(&bench.stream, start.view()).unwrap();
            bench.blas.gemm(&device_a.view(), &device_b.view(), &mut c.view_mut()).run().unwrap();
            let got = c.view().to_array(&bench.stream).unwrap();
            let worst = (&got - &expected).fold(0.0_f64, |worst, difference| worst.max(difference.abs()));
            assert!(worst < 1e-8, "{worst:e}");
        }
    }
}
