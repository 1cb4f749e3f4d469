//! Convolutions by matrix products: the windows, their products, and sums of what they spread.

use half::{bf16, f16};
use kernels::{Conv1d, Conv2d, ConvElement, Error, Gemm, GemmElement, Layout, LayoutError, View, ViewMut};

use crate::common::{Bench, channels_last, laid_out};
use crate::conv_launchers::{convolved, for_conv_elements, of, small};
use crate::record::{assert_exact, exact};

/// The windows by their definition, of two dimensions: batch × (rows × columns) × (channels × rows × columns
/// of the kernel).
fn windows_of(conv: &Conv2d, x: &[usize]) -> Vec<usize> {
    let ([high, wide], [u, v]) = (conv.input, conv.kernel);
    let reach = |extent: usize, kernel: usize| {
        (extent + 2 * conv.padding - conv.dilation * (kernel - 1) - 1) / conv.stride + 1
    };
    let (rows, columns) = (reach(high, u), reach(wide, v));
    let mut all = Vec::new();
    for n in 0..conv.batch {
        for (y, z) in (0..rows).flat_map(|y| (0..columns).map(move |z| (y, z))) {
            for c in 0..conv.in_channels {
                for (i, j) in (0..u).flat_map(|i| (0..v).map(move |j| (i, j))) {
                    let row = (y * conv.stride + i * conv.dilation).checked_sub(conv.padding);
                    let column = (z * conv.stride + j * conv.dilation).checked_sub(conv.padding);
                    let at = row.filter(|row| *row < high).zip(column.filter(|column| *column < wide));
                    all.push(at.map_or(0, |(row, column)| {
                        x[((n * conv.in_channels + c) * high + row) * wide + column]
                    }));
                }
            }
        }
    }
    all
}

/// As two dimensions, with one row. The padding must be part of the input, because that dimension has none.
fn as_rows(conv: &Conv1d) -> Conv2d {
    let [input, kernel] = [conv.input, conv.kernel].map(|[extent]| [1, extent]);
    let rows = Conv2d::new(conv.batch, conv.in_channels, conv.out_channels, input, kernel);
    rows.stride(conv.stride).dilation(conv.dilation)
}

macro_rules! check_windows {
    ($type:ident, $bench:expr, $conv:expr, $expected:expr) => {{
        let (bench, conv) = ($bench, $conv);
        let shape = [&[conv.batch, conv.in_channels], &conv.input[..]].concat();
        let x = small(shape.iter().product(), 3);
        let expected: Vec<usize> = $expected(&conv, &x);
        let windows = conv.windows().unwrap();
        assert_eq!(windows.iter().product::<usize>(), expected.len(), "{conv:?}");
        let layout = channels_last(&shape);
        let x = of::<$type>(&x);
        let strided = bench.upload(&laid_out(&x, &layout));
        let x = bench.upload(&x);
        for x in [View::from(&x), View::new(&strided, layout).unwrap()] {
            let mut columns = bench.upload(&vec![$type::from_f64(9.0); expected.len()]);
            let to = ViewMut::new(&mut columns, Layout::contiguous(&windows).unwrap()).unwrap();
            bench.kernels.im2col(&bench.stream, &conv, x, to).unwrap();
            assert!(exact(bench.download(&columns) == of::<$type>(&expected)), "{} {conv:?}", $type::NAME);
        }
    }};
}

fn of_windows<T: ConvElement>(bench: &Bench) {
    let conv = Conv2d::new(2, 2, 1, [7, 5], [2, 3]);
    for conv in [conv, conv.stride(2).padding(1).dilation(2), conv.stride(3).padding(3)] {
        check_windows!(T, bench, conv, windows_of);
    }
    let conv = Conv1d::new(2, 3, 1, [13], [3]);
    for conv in [conv, conv.stride(2).dilation(2), conv.stride(3).padding(4).dilation(3), conv.padding(2)] {
        let padded = |conv: &Conv1d, x: &[usize]| {
            let zeros = vec![0; conv.padding];
            let x: Vec<usize> =
                x.chunks(conv.input[0]).flat_map(|row| [&zeros[..], row, &zeros].concat()).collect();
            let whole = Conv1d { padding: 0, input: [conv.input[0] + 2 * conv.padding], ..*conv };
            windows_of(&as_rows(&whole), &x)
        };
        check_windows!(T, bench, conv, padded);
    }
}

#[test]
fn windows_are_copied() {
    for_conv_elements!(of_windows);
}

/// Exact, so both ways must equal the definition.
macro_rules! check_products {
    ($type:ident, $bench:expr, $conv:expr) => {{
        let (bench, conv) = ($bench, $conv);
        let output = conv.output().unwrap();
        let product = |extents: &[usize]| extents.iter().product::<usize>();
        let x = small(conv.batch * conv.in_channels * product(&conv.input), 1);
        let w = small(conv.in_channels * conv.out_channels * product(&conv.kernel), 2);
        let expected = of::<$type>(&convolved(&conv, &x, &w, &output));
        let [batch, outputs, window] = conv.windows().unwrap();
        let (x, w) = (bench.upload(&of::<$type>(&x)), bench.upload(&of::<$type>(&w)));
        let mut columns = bench.zeroed::<$type>(batch * outputs * window);
        bench.kernels.im2col(&bench.stream, &conv, &x, &mut columns).unwrap();
        let mut out = bench.zeroed::<$type>(expected.len());
        let product = Gemm::new(conv.out_channels, outputs, window).transpose_b().batched(batch);
        let product = Gemm { stride_a: 0, ..product };
        bench.kernels.gemm(&bench.stream, &product, &w, &columns, &mut out).unwrap();
        assert!(exact(bench.download(&out) == expected), "products: {} {conv:?}", $type::NAME);
        let mut out = bench.zeroed::<$type>(expected.len());
        bench.kernels.conv(&bench.stream, &conv, &x, &w, &mut out).unwrap();
        assert!(exact(bench.download(&out) == expected), "directly: {} {conv:?}", $type::NAME);
    }};
}

fn convolutions_are_products<T: ConvElement + GemmElement<Product = T>>(bench: &Bench) {
    check_products!(T, bench, Conv1d::new(2, 3, 5, [17], [3]).stride(2).padding(1));
    check_products!(T, bench, Conv2d::new(2, 3, 8, [9, 7], [3, 3]).padding(1));
    check_products!(T, bench, Conv2d::new(1, 4, 6, [9, 8], [3, 2]).stride(2).dilation(2));
}

#[test]
fn a_product_of_windows_is_the_convolution() {
    let bench = Bench::open();
    convolutions_are_products::<f32>(&bench);
    convolutions_are_products::<f16>(&bench);
    convolutions_are_products::<bf16>(&bench);
}

/// Spread from columns of arbitrary numbers, and from those of a product.
fn spread<T: ConvElement>(bench: &Bench) {
    for (conv, length) in [
        (Conv1d::new(2, 1, 3, [13], [3]).transposed(0), 15),
        (Conv1d::new(2, 1, 3, [13], [3]).stride(2).transposed(1), 28),
        (Conv1d::new(1, 1, 2, [5], [2]).stride(3).transposed(2), 16),
        (Conv1d::new(1, 1, 2, [4], [9]).stride(2).transposed(0), 15),
    ] {
        let ([inputs], [kernel], channels) = (conv.input, conv.kernel, conv.out_channels);
        let columns = small(conv.batch * inputs * channels * kernel, 3);
        let mut expected = vec![0; conv.batch * channels * length];
        for (i, column) in columns.iter().enumerate() {
            let (n, l, c, j) = (
                i / kernel / channels / inputs,
                i / kernel / channels % inputs,
                i / kernel % channels,
                i % kernel,
            );
            expected[(n * channels + c) * length + l * conv.stride + j] += column;
        }
        let columns = bench.upload(&of::<T>(&columns));
        let shape = Layout::contiguous(&[conv.batch, inputs, channels * kernel]).unwrap();
        let mut out = bench.upload(&vec![T::from_f64(9.0); expected.len()]);
        let columns = View::new(&columns, shape).unwrap();
        bench.kernels.col2im1d(&bench.stream, &conv, columns, &mut out).unwrap();
        assert!(exact(bench.download(&out) == of::<T>(&expected)), "{} {conv:?}", T::NAME);
    }
}

#[test]
fn columns_are_spread() {
    for_conv_elements!(spread);
}

#[test]
fn a_transposed_convolution_is_a_product_that_is_spread() {
    let bench = Bench::open();
    let conv = Conv1d::new(2, 3, 4, [11], [5]).stride(2).transposed(1);
    let [length] = conv.output().unwrap();
    let (x, w) = (small(2 * 3 * 11, 1), small(3 * 4 * 5, 2));
    let expected = of::<f32>(&convolved(&conv, &x, &w, &[length]));
    let (x, w) = (bench.upload(&of::<f32>(&x)), bench.upload(&of::<f32>(&w)));
    let mut columns = bench.zeroed::<f32>(2 * 11 * 20);
    let product = Gemm { stride_b: 0, ..Gemm::new(11, 20, 3).transpose_a().batched(2) };
    bench.kernels.gemm(&bench.stream, &product, &x, &w, &mut columns).unwrap();
    let mut out = bench.zeroed::<f32>(expected.len());
    bench.kernels.col2im1d(&bench.stream, &conv, &columns, &mut out).unwrap();
    assert_exact!(bench.download(&out), expected);
}

#[test]
fn sums_of_halves_are_rounded_once() {
    let bench = Bench::open();
    // Three columns meet in the middle: 2048 + 1 is 2048 in f16, and all of them are 2050.
    let columns = [[0.0, 0.0, 1.0], [0.0, 2048.0, 0.0], [1.0, 0.0, 0.0]].concat();
    let columns: Vec<f16> = columns.into_iter().map(f16::from_f32).collect();
    let conv = Conv1d::new(1, 1, 1, [3], [3]).transposed(0);
    let mut out = bench.zeroed::<f16>(5);
    bench.kernels.col2im1d(&bench.stream, &conv, &bench.upload(&columns), &mut out).unwrap();
    assert_exact!(bench.download(&out), [0.0, 0.0, 2050.0, 0.0, 0.0].map(f16::from_f32));
}

#[track_caller]
fn says<T: std::fmt::Debug>(result: Result<T, Error>, text: &str) {
    let error = result.unwrap_err().to_string();
    assert!(error.contains(text), "{error:?} does not contain {text:?}");
}

#[test]
fn what_does_not_fit_is_refused() {
    let bench = Bench::open();
    let (kernels, stream) = (&bench.kernels, &bench.stream);
    let (x, mut out) = (bench.zeroed::<f32>(24), bench.upload(&[9.0_f32; 24]));
    let conv = Conv1d::new(2, 3, 1, [4], [2]);
    assert_eq!(conv.windows().unwrap(), [2, 3, 6]);
    says(kernels.im2col(stream, &conv, &x, &mut out), "im2col1d: `columns` has 24 elements, but needs 36");
    says(kernels.im2col(stream, &conv.transposed(0), &x, &mut out), "im2col1d: `transposed` is 1, must be 0");
    says(Conv2d::new(1, 1, 1, [3, 3], [1, 1]).transposed(0).windows(), "im2col: `transposed` is 1");
    says(kernels.im2col(stream, &conv.stride(0), &x, &mut out), "`stride` is 0");
    says(
        kernels.im2col(stream, &conv.dilation(5), &x, &mut out),
        "`kernel` is 2, more than the padded input",
    );
    let short = Conv1d { batch: 1, ..conv };
    says(kernels.im2col(stream, &short, &x, &mut out), "im2col1d: `x` has 24 elements, but needs 12");
    let fits = Conv1d { kernel: [1], ..conv };
    let layout = |shape: &[usize]| Layout::contiguous(shape).unwrap();
    let view = |shape: &[usize]| View::new(&x, layout(shape)).unwrap();
    let result = kernels.im2col(stream, &fits, view(&[3, 2, 4]), &mut out);
    says(result, "im2col1d: `x` has the shape [3, 2, 4], but needs [2, 3, 4]");
    let to = ViewMut::new(&mut out, layout(&[2, 12])).unwrap();
    says(
        kernels.im2col(stream, &fits, &x, to),
        "im2col1d: `columns` has the shape [2, 12], but needs [2, 4, 3]",
    );
    let to = ViewMut::new(&mut out, layout(&[2, 3, 4]).transpose(1, 2).unwrap()).unwrap();
    says(kernels.im2col(stream, &fits, &x, to), "has the strides [12, 1, 4], and must be contiguous");
    let huge = Conv2d::new(1 << 40, 1, 1, [1 << 10, 1 << 10], [1 << 5, 1 << 5]);
    let error = kernels.im2col(stream, &huge, &x, &mut out).unwrap_err();
    assert!(matches!(error, Error::Layout(LayoutError::TooLarge(_))), "{error}");

    let conv = Conv1d::new(2, 1, 3, [4], [1]).transposed(0);
    let untransposed = Conv1d { transposed: None, ..conv };
    says(kernels.col2im1d(stream, &untransposed, &x, &mut out), "col2im1d: `transposed` is 0, must be 1");
    says(kernels.col2im1d(stream, &conv.padding(1), &x, &mut out), "col2im1d: `padding` is 1, must be 0");
    says(kernels.col2im1d(stream, &conv.dilation(2), &x, &mut out), "col2im1d: `dilation` is 2, must be 1");
    says(kernels.col2im1d(stream, &conv.transposed(1), &x, &mut out), "`out_padding` is 1, must be less");
    let wide = Conv1d { kernel: [2], ..conv };
    says(kernels.col2im1d(stream, &wide, &x, &mut out), "col2im1d: `columns` has 24 elements, but needs 48");
    let longer = conv.stride(2);
    says(kernels.col2im1d(stream, &longer, &x, &mut out), "col2im1d: `out` has 24 elements, but needs 42");
    let columns = view(&[2, 3, 4]).map(|layout| layout.transpose(1, 2)).unwrap();
    says(kernels.col2im1d(stream, &conv, columns, &mut out), "`columns` of shape [2, 4, 3] has the strides");
    let to = ViewMut::new(&mut out, layout(&[2, 4, 3]).transpose(1, 2).unwrap()).unwrap();
    says(kernels.col2im1d(stream, &conv, &x, to), "`out` of shape [2, 3, 4] has the strides");
    let huge = Conv1d { batch: usize::MAX, ..conv };
    let error = kernels.col2im1d(stream, &huge, &x, &mut out).unwrap_err();
    assert!(matches!(error, Error::Layout(LayoutError::TooLarge(_))), "{error}");
    // Nothing was written.
    assert_exact!(bench.download(&out), [9.0; 24]);

    // Without elements there is no work.
    let (none, mut nothing) = (bench.zeroed::<f32>(0), bench.zeroed::<f32>(0));
    kernels.im2col(stream, &Conv1d::new(0, 3, 1, [4], [2]), &none, &mut nothing).unwrap();
    kernels.im2col(stream, &Conv1d::new(2, 0, 1, [4], [2]), &none, &mut nothing).unwrap();
    kernels.col2im1d(stream, &Conv1d::new(0, 1, 3, [4], [1]).transposed(0), &none, &mut nothing).unwrap();
}
