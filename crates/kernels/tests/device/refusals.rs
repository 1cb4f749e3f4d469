//! Errors that launchers report before they enqueue anything.

use hip::{Device, DeviceBuffer};
use kernels::{
    BinaryOp, CompareOp, Conv1d, Error, Layout, Order, PixelGrid, Pool2d, Resize2d, UnaryOp, View, ViewMut,
};

use crate::common::Bench;

/// Six floats, as 2 × 3 and as its transpose.
struct Six {
    buffer: DeviceBuffer<f32>,
    rows: Layout,
    columns: Layout,
}

impl Six {
    fn new(bench: &Bench) -> Self {
        let rows = Layout::contiguous(&[2, 3]).unwrap();
        let columns = Layout::contiguous(&[3, 2]).unwrap().transpose(0, 1).unwrap();
        Self { buffer: bench.upload(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), rows, columns }
    }

    fn view(&self, layout: Layout) -> View<'_, f32> {
        View::new(&self.buffer, layout).unwrap()
    }

    fn view_mut(&mut self, layout: Layout) -> ViewMut<'_, f32> {
        ViewMut::new(&mut self.buffer, layout).unwrap()
    }
}

#[track_caller]
fn says(result: Result<(), Error>, text: &str) {
    let error = result.unwrap_err().to_string();
    assert!(error.contains(text), "{error:?} does not contain {text:?}");
}

#[test]
fn lengths_and_shapes_that_differ() {
    let bench = Bench::open();
    let (kernels, stream) = (&bench.kernels, &bench.stream);
    let x = bench.zeroed::<f32>(4);
    let mut y = bench.zeroed::<f32>(3);
    let mut bytes = bench.zeroed::<u8>(3);
    says(kernels.axpy(stream, 1.0, &x, &mut y), "axpy: `y` has 3 elements, but needs 4");
    let error = kernels.unary(stream, UnaryOp::Exp, &x, &mut y).unwrap_err();
    assert!(matches!(error, Error::Length { operation: "unary", .. }));
    says(kernels.affine(stream, &x, &mut y, 1.0, 0.0), "affine: `y` has 3 elements, but needs 4");
    says(kernels.copy(stream, &x, &mut y), "copy: `y` has 3 elements");
    says(kernels.cast(stream, &x, &mut bytes), "cast: `y` has 3 elements");
    says(
        kernels.binary(stream, BinaryOp::Add, &x, &y.try_clone(stream).unwrap(), &mut y),
        "binary: `right` has 3 elements",
    );
    says(kernels.binary(stream, BinaryOp::Add, &x, &x, &mut y), "binary: `out` has 3 elements");
    says(kernels.compare(stream, CompareOp::Eq, &x, &x, &mut bytes), "compare: `out` has 3 elements");
    let condition = bench.zeroed::<u8>(4);
    says(kernels.select(stream, &condition, &x, &x, &mut y), "select: `out` has 3 elements");
    says(
        kernels.select(stream, &condition, &x, &y, &mut bench.zeroed::<f32>(4)),
        "select: `no` has 3 elements",
    );
    says(
        kernels.argsort(stream, &x, Order::Ascending, &mut bench.zeroed::<u32>(3)),
        "argsort: `out` has 3 elements",
    );

    let (six, mut other) = (Six::new(&bench), Six::new(&bench));
    let turned = Layout::contiguous(&[3, 2]).unwrap();
    let result = kernels.unary(stream, UnaryOp::Exp, six.view(six.rows), other.view_mut(turned));
    says(result, "unary: `y` has the shape [3, 2], but needs [2, 3]");
    let result =
        kernels.binary(stream, BinaryOp::Add, six.view(six.rows), six.view(turned), &mut other.buffer);
    says(result, "binary: `right` has the shape [3, 2], but needs [2, 3]");
}

#[test]
fn results_with_gaps() {
    let bench = Bench::open();
    let (kernels, stream) = (&bench.kernels, &bench.stream);
    let (six, mut out) = (Six::new(&bench), Six::new(&bench));
    let (rows, columns) = (six.rows, six.columns);
    let x = six.view(rows);
    let gaps = "has the strides [1, 2], and must be contiguous";
    says(kernels.unary(stream, UnaryOp::Exp, x, out.view_mut(columns)), gaps);
    says(kernels.affine(stream, x, out.view_mut(columns), 1.0, 1.0), gaps);
    says(kernels.copy(stream, x, out.view_mut(columns)), gaps);
    says(kernels.cast::<f32, f32>(stream, x, out.view_mut(columns)), gaps);
    says(kernels.binary(stream, BinaryOp::Add, x, x, out.view_mut(columns)), gaps);
    says(kernels.axpy(stream, 1.0, x, out.view_mut(columns)), gaps);
    says(kernels.axpy(stream, 1.0, six.view(columns), out.view_mut(rows)), gaps);
    let condition = bench.zeroed::<u8>(6);
    says(kernels.select(stream, &condition, x, x, out.view_mut(columns)), gaps);
    let mut flags = bench.zeroed::<u8>(6);
    let flags_by_columns = ViewMut::new(&mut flags, columns).unwrap();
    says(kernels.compare(stream, CompareOp::Eq, x, x, flags_by_columns), gaps);
    let mut order = bench.zeroed::<u32>(6);
    says(kernels.argsort(stream, six.view(columns), Order::Ascending, &mut order), gaps);
    let order = ViewMut::new(&mut order, columns).unwrap();
    says(kernels.argsort(stream, x, Order::Ascending, order), gaps);
    // Nothing was written.
    assert_eq!(bench.download(&out.buffer), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
}

#[test]
fn tensors_of_other_shapes_than_indices_need() {
    let bench = Bench::open();
    let (kernels, stream) = (&bench.kernels, &bench.stream);
    let (six, mut out) = (Six::new(&bench), Six::new(&bench));
    let (rows, columns) = (six.rows, six.columns);
    let x = six.view(rows);
    let (two, six_ids) = (bench.zeroed::<u32>(2), bench.zeroed::<u32>(6));
    let ids = View::new(&six_ids, rows).unwrap();
    let ids_by_columns = View::new(&six_ids, columns).unwrap();
    let axis = "`axis` is 2, must be less than the number of dimensions";
    says(kernels.index_select(stream, x, 2, &two, &mut out.buffer), axis);
    says(kernels.gather(stream, x, 2, ids, &mut out.buffer), axis);
    says(kernels.scatter(stream, x, 2, ids, out.view_mut(rows)), axis);
    says(kernels.scatter_add(stream, x, 2, ids, out.view_mut(rows)), axis);
    says(kernels.index_add(stream, x, 2, &two, out.view_mut(rows)), axis);

    says(
        kernels.index_select(stream, x, 0, ids, &mut out.buffer),
        "index_select: `ids` has the shape [2, 3], but needs [6]",
    );
    says(
        kernels.index_select(stream, x, 1, &two, &mut out.buffer),
        "index_select: `out` has 6 elements, but needs 4",
    );
    says(kernels.index_select(stream, six.view(columns), 0, &two, &mut out.buffer), "`x` of shape [2, 3]");
    says(kernels.index_select(stream, x, 0, &two, out.view_mut(columns)), "`out` of shape [2, 3]");

    let wrong = Layout::contiguous(&[3, 2]).unwrap();
    says(
        kernels.gather(stream, x, 1, View::new(&six_ids, wrong).unwrap(), &mut out.buffer),
        "`ids` has the shape [3, 2], but needs [2, 2]",
    );
    says(
        kernels.gather(stream, x, 1, ids, out.view_mut(wrong)),
        "`out` has the shape [3, 2], but needs [2, 3]",
    );
    says(kernels.gather(stream, six.view(columns), 1, ids, &mut out.buffer), "`x` of shape [2, 3]");
    says(kernels.gather(stream, x, 1, ids_by_columns, &mut out.buffer), "`ids` of shape [2, 3]");
    says(kernels.gather(stream, x, 1, ids, out.view_mut(columns)), "`out` of shape [2, 3]");

    type Scatter = fn(&Bench, View<'_, f32>, View<'_, u32>, ViewMut<'_, f32>) -> Result<(), Error>;
    let scatters: [Scatter; 2] = [
        |bench, x, ids, out| bench.kernels.scatter(&bench.stream, x, 0, ids, out),
        |bench, x, ids, out| bench.kernels.scatter_add(&bench.stream, x, 0, ids, out),
    ];
    for scatter in scatters {
        says(scatter(&bench, x, ids, out.view_mut(wrong)), "`x` has the shape [2, 3], but needs [2, 2]");
        says(scatter(&bench, x, (&two).into(), out.view_mut(rows)), "`ids` has 2 elements, but needs 6");
        says(scatter(&bench, six.view(columns), ids, out.view_mut(rows)), "`x` of shape [2, 3]");
        says(scatter(&bench, x, ids_by_columns, out.view_mut(rows)), "`ids` of shape [2, 3]");
        says(scatter(&bench, x, ids, out.view_mut(columns)), "`out` of shape [2, 3]");
    }
    says(
        kernels.index_add(stream, x, 0, ids, out.view_mut(rows)),
        "index_add: `ids` has the shape [2, 3], but needs [6]",
    );
    says(
        kernels.index_add(stream, x, 1, &two, out.view_mut(rows)),
        "index_add: `x` has the shape [2, 3], but needs [2, 2]",
    );
    says(kernels.index_add(stream, six.view(columns), 0, &two, out.view_mut(rows)), "`x` of shape [2, 3]");
    says(kernels.index_add(stream, x, 0, &two, out.view_mut(columns)), "`out` of shape [2, 3]");
    let every_third = View::new(&six_ids, Layout::with_strides(&[2], &[3], 0).unwrap()).unwrap();
    says(kernels.index_add(stream, x, 0, every_third, out.view_mut(rows)), "`ids` of shape [2]");
    assert_eq!(bench.download(&out.buffer), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
}

#[test]
fn rows_without_a_dimension() {
    let bench = Bench::open();
    let (x, mut out) = (bench.zeroed::<f32>(1), bench.zeroed::<u32>(1));
    let x = View::new(&x, Layout::contiguous(&[]).unwrap()).unwrap();
    says(bench.kernels.argsort(&bench.stream, x, Order::Ascending, &mut out), "argsort: `rank` is 0");
}

#[test]
fn views_that_do_not_fit_their_memory() {
    let bench = Bench::open();
    let mut six = Six::new(&bench);
    let beyond = Layout::with_strides(&[2, 3], &[3, 1], 1).unwrap();
    let error = View::new(&six.buffer, beyond).unwrap_err();
    assert_eq!(error.to_string(), "the last element is number 6, but the memory has 6");
    assert!(ViewMut::new(&mut six.buffer, beyond).is_err());
    let repeated = Layout::contiguous(&[1, 3]).unwrap().broadcast(&[2, 3]).unwrap();
    assert!(View::new(&six.buffer, repeated).is_ok());
    let error = ViewMut::new(&mut six.buffer, repeated).unwrap_err();
    assert!(error.to_string().contains("may have two elements in one place"), "{error}");
    let view = six.view(six.rows);
    assert!(view.map(|layout| layout.narrow(0, 0, 3)).is_err());
    // A layout error converts into an error of this crate.
    let error = Error::from(view.map(|layout| layout.transpose(0, 2)).unwrap_err());
    assert_eq!(error.to_string(), "axis 2 of 2 dimensions does not exist or occurs twice");
}

#[test]
fn memory_and_streams_of_other_devices() {
    let bench = Bench::open();
    // A virtual device, of which there can be any number.
    let others = ["vgpu:gfx1100", "vgpu:gfx90a"].map(|uri| Device::open(uri).unwrap());
    let other = others.iter().find(|other| *other != bench.kernels.device()).unwrap();
    let (kernels, stream) = (&bench.kernels, &bench.stream);
    let foreign = other.stream().unwrap();
    let far = DeviceBuffer::from_slice(&foreign, &[1.0_f32, 2.0]).unwrap();
    let mut far_out = DeviceBuffer::<f32>::zeroed(&foreign, 2).unwrap();
    let (near, ids) = (bench.upload(&[1.0_f32, 2.0]), bench.upload(&[0_u32, 1]));
    let (mut out, mut flags, mut order) =
        (bench.zeroed::<f32>(2), bench.zeroed::<u8>(2), bench.zeroed::<u32>(2));
    let belongs = "belongs to";
    says(kernels.fill(stream, 1.0, &mut far_out), belongs);
    says(kernels.unary(stream, UnaryOp::Exp, &far, &mut out), belongs);
    says(kernels.unary(stream, UnaryOp::Exp, &near, &mut far_out), belongs);
    says(kernels.unary(&foreign, UnaryOp::Exp, &far, &mut far_out), "the kernel belongs to");
    says(kernels.copy(stream, &far, &mut out), belongs);
    says(kernels.affine(stream, &far, &mut out, 1.0, 1.0), belongs);
    says(kernels.axpy(stream, 1.0, &far, &mut out), belongs);
    says(kernels.cast(stream, &far, &mut flags), belongs);
    says(kernels.binary(stream, BinaryOp::Add, &near, &far, &mut out), belongs);
    says(kernels.compare(stream, CompareOp::Eq, &far, &near, &mut flags), belongs);
    says(kernels.select(stream, &ids, &near, &far, &mut out), belongs);
    says(kernels.index_select(stream, &far, 0, &ids, &mut out), belongs);
    says(kernels.gather(stream, &far, 0, &ids, &mut out), belongs);
    says(kernels.scatter(stream, &far, 0, &ids, &mut out), belongs);
    says(kernels.scatter_add(stream, &far, 0, &ids, &mut out), belongs);
    says(kernels.index_add(stream, &far, 0, &ids, &mut out), belongs);
    says(kernels.argsort(stream, &far, Order::Ascending, &mut order), belongs);
    let conv = Conv1d::new(1, 1, 1, [2], [2]).padding(1).dilation(2);
    says(kernels.conv(stream, &conv, &far, &near, &mut out), belongs);
    says(kernels.conv(stream, &conv, &near, &far, &mut out), belongs);
    says(kernels.conv(stream, &conv, &near, &near, &mut far_out), belongs);
    says(kernels.conv(&foreign, &conv, &far, &far, &mut far_out), "the kernel belongs to");
    says(kernels.im2col(stream, &Conv1d::new(1, 1, 1, [2], [1]), &far, &mut out), belongs);
    says(kernels.im2col(stream, &Conv1d::new(1, 1, 1, [2], [1]), &near, &mut far_out), belongs);
    let spread = Conv1d::new(1, 1, 1, [2], [1]).transposed(0);
    says(kernels.col2im1d(stream, &spread, &far, &mut out), belongs);
    says(kernels.col2im1d(stream, &spread, &near, &mut far_out), belongs);
    says(kernels.copy2d(stream, [1, 2], &far, 2, &mut out, 2), belongs);
    says(kernels.copy2d(stream, [1, 2], &near, 2, &mut far_out, 2), belongs);
    let pool = Pool2d::new(1, 1, [1, 2], [1, 1]);
    says(kernels.max_pool2d(stream, &pool, &far, &mut out), belongs);
    says(kernels.avg_pool2d(stream, &pool, &near, &mut far_out), belongs);
    let resize = Resize2d::new(1, 1, [1, 2], [1, 2]);
    says(kernels.upsample_nearest2d(stream, &resize, &far, &mut out), belongs);
    says(kernels.upsample_bilinear2d(stream, &resize, PixelGrid::Areas, &far, &mut out), belongs);
    says(kernels.argmax(stream, &far, 1, &mut order), belongs);
    assert_eq!(bench.download(&out), [0.0, 0.0]);
}
