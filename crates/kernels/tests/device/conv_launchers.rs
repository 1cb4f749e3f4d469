//! Launchers of convolutions, pools and resizing, against their definitions: sums that are exact in every
//! type, interpolation in f64.

use half::{bf16, f16};
use kernels::reference::Expected;
use kernels::{
    Conv, Conv1d, Conv2d, ConvElement, Element, Error, Layout, LayoutError, PixelGrid, Pool2d, Resize2d,
    View, ViewMut,
};

use crate::common::{Bench, channels_last, laid_out, random};
use crate::record::{assert_exact, compare, exact};

/// Numbers from 0 to 3, so that all sums here are exact in each type.
pub(crate) fn small(count: usize, seed: usize) -> Vec<usize> {
    (0..count).map(|i| ((i * 7 + seed) * 2_654_435_761 / 128) % 4).collect()
}

pub(crate) fn of<T: Element>(values: &[usize]) -> Vec<T> {
    values.iter().map(|&x| T::from_f64(x as f64)).collect()
}

/// Runs a generic check for every type.
macro_rules! for_conv_elements {
    ($check:ident) => {{
        let bench = $crate::common::Bench::open();
        $check::<f32>(&bench);
        $check::<half::f16>(&bench);
        $check::<half::bf16>(&bench);
        $check::<f64>(&bench);
        $check::<u8>(&bench);
        $check::<u32>(&bench);
    }};
}

pub(crate) use for_conv_elements;

/// One dimension: the extents of input, kernel and output.
struct Extents {
    extent: usize,
    kernel: usize,
    output: usize,
}

impl Extents {
    fn of<const D: usize>(conv: &Conv<D>, output: &[usize; D]) -> Vec<Self> {
        let dims = (0..D).map(|d| Self { extent: conv.input[d], kernel: conv.kernel[d], output: output[d] });
        // One dimension is one row.
        let one = Self { extent: 1, kernel: 1, output: 1 };
        std::iter::once(one).chain(dims).skip(D - 1).collect()
    }

    /// All triples of an input, an element of the kernel and the output that they belong to.
    fn triples<const D: usize>(&self, conv: &Conv<D>) -> Vec<(usize, usize, usize)> {
        if (self.extent, self.kernel, self.output) == (1, 1, 1) && D == 1 {
            return vec![(0, 0, 0)];
        }
        let mut all = Vec::new();
        for (i, k, o) in (0..self.extent)
            .flat_map(|i| (0..self.kernel).flat_map(move |k| (0..self.output).map(move |o| (i, k, o))))
        {
            let (far, near) = if conv.transposed.is_some() { (o, i) } else { (i, o) };
            if far + conv.padding == near * conv.stride + k * conv.dilation {
                all.push((i, k, o));
            }
        }
        all
    }
}

pub(crate) fn convolved<const D: usize>(
    conv: &Conv<D>,
    x: &[usize],
    w: &[usize],
    output: &[usize; D],
) -> Vec<usize> {
    let rows = Extents::of(conv, output);
    let (high, wide) = (&rows[0], &rows[1]);
    let mut out = vec![0; conv.batch * conv.out_channels * high.output * wide.output];
    for (i, u, y) in high.triples(conv) {
        for (j, v, z) in wide.triples(conv) {
            for (n, c) in (0..conv.batch).flat_map(|n| (0..conv.in_channels).map(move |c| (n, c))) {
                let element = x[((n * conv.in_channels + c) * high.extent + i) * wide.extent + j];
                for o in 0..conv.out_channels {
                    let pair = match conv.transposed {
                        None => o * conv.in_channels + c,
                        Some(_) => c * conv.out_channels + o,
                    };
                    out[((n * conv.out_channels + o) * high.output + y) * wide.output + z] +=
                        element * w[(pair * high.kernel + u) * wide.kernel + v];
                }
            }
        }
    }
    out
}

/// Launches a convolution whose output has these extents.
macro_rules! check_conv {
    ($type:ident, $bench:expr, $conv:expr, $output:expr) => {{
        let (bench, conv, output) = ($bench, $conv, $output);
        assert_eq!(conv.output().unwrap(), output, "{conv:?}");
        let product = |extents: &[usize]| extents.iter().product::<usize>();
        let x = small(conv.batch * conv.in_channels * product(&conv.input), 1);
        let w = small(conv.in_channels * conv.out_channels * product(&conv.kernel), 2);
        let expected = convolved(&conv, &x, &w, &output);
        assert!(*expected.iter().max().unwrap() < 256);
        let expected = of::<$type>(&expected);
        let mut out = bench.upload(&vec![$type::from_f64(9.0); expected.len()]);
        let (x, w) = (of::<$type>(&x), of::<$type>(&w));
        bench.kernels.conv(&bench.stream, &conv, &bench.upload(&x), &bench.upload(&w), &mut out).unwrap();
        assert_exact!(bench.download(&out), expected, "{} {conv:?}", $type::NAME);

        // Strides of both inputs, and an output within larger memory.
        let pairs = match conv.transposed {
            None => [conv.out_channels, conv.in_channels],
            Some(_) => [conv.in_channels, conv.out_channels],
        };
        let x_layout = channels_last(&[&[conv.batch, conv.in_channels], &conv.input[..]].concat());
        let w_layout = channels_last(&[&pairs, &conv.kernel[..]].concat());
        let x = bench.upload(&laid_out(&x, &x_layout));
        let w = bench.upload(&laid_out(&w, &w_layout));
        let (x, w) = (View::new(&x, x_layout).unwrap(), View::new(&w, w_layout).unwrap());
        let out_shape = [&[conv.batch, conv.out_channels], &output[..]].concat();
        let inner = Layout::contiguous(&out_shape).unwrap();
        let inner = Layout::with_strides(&out_shape, inner.strides(), 3).unwrap();
        let mut out = bench.upload(&vec![$type::from_f64(9.0); expected.len() + 5]);
        let view = ViewMut::new(&mut out, inner).unwrap();
        bench.kernels.conv(&bench.stream, &conv, x, w, view).unwrap();
        let nine = $type::from_f64(9.0);
        let expected = [&[nine; 3], &expected[..], &[nine; 2]].concat();
        assert_exact!(bench.download(&out), expected, "{} {conv:?} with strides", $type::NAME);
    }};
}

fn of_one_dimension<T: ConvElement>(bench: &Bench) {
    let conv = Conv1d::new(2, 3, 5, [13], [3]);
    check_conv!(T, bench, conv, [11]);
    check_conv!(T, bench, conv.padding(2), [15]);
    check_conv!(T, bench, conv.stride(2).padding(1).dilation(2), [6]);
    check_conv!(T, bench, conv.stride(3).padding(4).dilation(3), [5]);
    check_conv!(T, bench, Conv1d::new(1, 2, 1, [1], [1]).padding(2).stride(4), [2]);
    check_conv!(T, bench, conv.transposed(0), [15]);
    check_conv!(T, bench, conv.transposed(1).stride(2).padding(1), [26]);
    check_conv!(T, bench, conv.transposed(2).stride(2).padding(3).dilation(3), [27]);
    check_conv!(T, bench, Conv1d::new(3, 1, 2, [4], [2]).transposed(2).stride(3), [13]);
}

#[test]
fn convolutions_of_one_dimension() {
    for_conv_elements!(of_one_dimension);
}

fn of_two_dimensions<T: ConvElement>(bench: &Bench) {
    let conv = Conv2d::new(2, 2, 3, [7, 5], [2, 3]);
    check_conv!(T, bench, conv, [6, 3]);
    check_conv!(T, bench, conv.stride(2).padding(1).dilation(2), [4, 2]);
    check_conv!(T, bench, Conv2d { batch: 1, ..conv }.stride(3).padding(3), [4, 3]);
    let conv = Conv2d::new(2, 2, 3, [4, 3], [2, 3]);
    check_conv!(T, bench, conv.transposed(0), [5, 5]);
    check_conv!(T, bench, conv.transposed(1).stride(2).padding(1), [7, 6]);
    check_conv!(T, bench, Conv2d { batch: 1, ..conv }.transposed(1).stride(1).padding(2).dilation(2), [3, 4]);
}

#[test]
fn convolutions_of_two_dimensions() {
    for_conv_elements!(of_two_dimensions);
}

/// Sums of rounded products: of 16-bit floats in f32, of other types in the type itself.
fn rounded<T: ConvElement>(bench: &Bench) {
    let (c_in, l_in) = (64, 9);
    let (x, w) = (random::<T>(c_in * l_in, 3, 2.0), random::<T>(c_in * 3, 4, 2.0));
    let mut out = bench.zeroed::<T>(7);
    let conv = Conv1d::new(1, c_in, 1, [l_in], [3]);
    let (device_x, device_w) = (bench.upload(&x), bench.upload(&w));
    bench.kernels.conv(&bench.stream, &conv, &device_x, &device_w, &mut out).unwrap();
    let unit = T::UNIT_ROUNDOFF.min(f32::UNIT_ROUNDOFF);
    let expected = (0..7).map(|l| {
        let products = (0..c_in * 3).map(|i| x[i / 3 * l_in + l + i % 3].to_f64() * w[i].to_f64());
        // A product and a sum for each; all sums are at most the sum of the magnitudes. f64 has an error
        // here, too.
        let magnitude: f64 = products.clone().map(f64::abs).sum();
        Expected { value: products.sum(), slack: 3.0 * (c_in * 3) as f64 * unit * magnitude }
    });
    let result = compare(&bench.download(&out), expected);
    assert!(result.passed(), "{}: {result:?}", T::NAME);
}

#[test]
fn sums_are_rounded_once() {
    let bench = Bench::open();
    rounded::<f32>(&bench);
    rounded::<f16>(&bench);
    rounded::<bf16>(&bench);
    rounded::<f64>(&bench);
}

fn pools<T: ConvElement>(bench: &Bench) {
    let (h, w) = (7, 6);
    // Integers round fractional averages towards zero; sums of bytes exceed a byte.
    let x: Vec<usize> = small(6 * h * w, 5).iter().map(|x| x * 85).collect();
    let device_x = bench.upload(&of::<T>(&x));
    let layout = channels_last(&[2, 3, h, w]);
    let strided = bench.upload(&laid_out(&of::<T>(&x), &layout));
    let strided = View::new(&strided, layout).unwrap();
    let pool = Pool2d::new(2, 3, [h, w], [2, 4]);
    for (pool, output) in [
        (pool, [3, 1]),
        (pool.stride([1, 2]), [6, 2]),
        (Pool2d { window: [3, 1], ..pool }.stride([4, 5]), [2, 2]),
        (Pool2d { window: [7, 6], ..pool }, [1, 1]),
    ] {
        assert_eq!(pool.output().unwrap(), output, "{pool:?}");
        let [h_out, w_out] = output;
        let windows: Vec<Vec<usize>> = (0..6 * h_out * w_out)
            .map(|i| {
                let (c, y, z) = (i / w_out / h_out, i / w_out % h_out * pool.stride[0], i % w_out);
                let at = |u: usize, v: usize| x[(c * h + y + u) * w + z * pool.stride[1] + v];
                (0..pool.window[0])
                    .flat_map(|u| (0..pool.window[1]).map(move |v| (u, v)))
                    .map(|(u, v)| at(u, v))
                    .collect()
            })
            .collect();
        let largest: Vec<usize> = windows.iter().map(|window| *window.iter().max().unwrap()).collect();
        let averages = windows.iter().map(|window| {
            let (sum, count) = (window.iter().sum::<usize>(), window.len());
            let is_integer = T::UNIT_ROUNDOFF == 0.0;
            let value = if is_integer { (sum / count) as f64 } else { sum as f64 / count as f64 };
            let unit = T::UNIT_ROUNDOFF.min(f32::UNIT_ROUNDOFF);
            Expected { value, slack: 2.0 * unit * value }
        });
        for x in [View::from(&device_x), strided] {
            let mut out = bench.upload(&vec![T::from_f64(9.0); windows.len()]);
            bench.kernels.max_pool2d(&bench.stream, &pool, x, &mut out).unwrap();
            assert_exact!(bench.download(&out), of::<T>(&largest), "{} {pool:?} {:?}", T::NAME, x.layout());
            bench.kernels.avg_pool2d(&bench.stream, &pool, x, &mut out).unwrap();
            let result = compare(&bench.download(&out), averages.clone());
            assert!(result.passed(), "{} {pool:?} {:?}: {result:?}", T::NAME, x.layout());
        }
    }
}

#[test]
fn pools_of_windows() {
    for_conv_elements!(pools);
}

#[test]
fn the_largest_of_a_window_is_nan_only_if_the_first_is() {
    let bench = Bench::open();
    let x = bench.upload(&[f32::NAN, 1.0, 2.0, 3.0, 1.0, f32::NAN, 2.0, 0.5]);
    let mut out = bench.zeroed::<f32>(2);
    let pool = Pool2d::new(2, 1, [2, 2], [2, 2]);
    bench.kernels.max_pool2d(&bench.stream, &pool, &x, &mut out).unwrap();
    let found = bench.download(&out);
    assert!(exact(found[0].is_nan() && found[1] == 2.0), "{found:?}");
    bench.kernels.avg_pool2d(&bench.stream, &pool, &x, &mut out).unwrap();
    assert!(exact(bench.download(&out).iter().all(|x| x.is_nan())));
}

fn nearest<T: ConvElement>(bench: &Bench) {
    // The quotients 2/98 and 1/49 are rounded down: in f64, 49 · (2/98) is less than 1.
    for (input, output) in [([3, 4], [7, 4]), ([5, 7], [2, 3]), ([2, 1], [98, 2]), ([1, 3], [1, 9])] {
        let resize = Resize2d::new(2, 1, input, output);
        let x = small(2 * input[0] * input[1], 6);
        let expected: Vec<usize> = (0..2 * output[0] * output[1])
            .map(|i| {
                let (n, y, z) = (i / output[1] / output[0], i / output[1] % output[0], i % output[1]);
                x[(n * input[0] + y * input[0] / output[0]) * input[1] + z * input[1] / output[1]]
            })
            .collect();
        let layout = channels_last(&[2, 1, input[0], input[1]]);
        let strided = bench.upload(&laid_out(&of::<T>(&x), &layout));
        let x = bench.upload(&of::<T>(&x));
        for x in [View::from(&x), View::new(&strided, layout).unwrap()] {
            let mut out = bench.upload(&vec![T::from_f64(9.0); expected.len()]);
            bench.kernels.upsample_nearest2d(&bench.stream, &resize, x, &mut out).unwrap();
            assert_exact!(bench.download(&out), of::<T>(&expected), "{} {resize:?}", T::NAME);
        }
    }
}

#[test]
fn resizing_by_the_nearest_input() {
    for_conv_elements!(nearest);
}

/// The inputs before and after an output, and how near it is to the second.
fn between(o: usize, input: usize, output: usize, grid: PixelGrid, axis: usize) -> (usize, usize, f64) {
    let step = match grid {
        PixelGrid::Areas | PixelGrid::Corners => input as f64 / output as f64,
        PixelGrid::Scaled(factors) => 1.0 / factors[axis],
    };
    let at = match grid {
        PixelGrid::Corners if output == 1 => 0.0,
        PixelGrid::Corners => o as f64 * (input - 1) as f64 / (output - 1) as f64,
        PixelGrid::Areas | PixelGrid::Scaled(_) => (o as f64 + 0.5) * step - 0.5,
    };
    let at = at.clamp(0.0, (input - 1) as f64);
    let first = at.floor();
    (first as usize, at.ceil() as usize, at - first)
}

fn bilinear<T: ConvElement>(bench: &Bench) {
    for (input, output) in [([3, 4], [7, 4]), ([5, 7], [2, 3]), ([1, 2], [3, 1])] {
        let resize = Resize2d::new(1, 2, input, output);
        let x = random::<T>(2 * input[0] * input[1], 7, 100.0);
        let layout = channels_last(&[1, 2, input[0], input[1]]);
        let (device_x, strided) = (bench.upload(&x), bench.upload(&laid_out(&x, &layout)));
        let views = [View::from(&device_x), View::new(&strided, layout).unwrap()];
        let grids = [PixelGrid::Areas, PixelGrid::Corners, PixelGrid::Scaled([2.5, 0.75])];
        for (grid, view) in grids.into_iter().flat_map(|grid| views.map(|view| (grid, view))) {
            let mut out = bench.upload(&vec![T::from_f64(9.0); 2 * output[0] * output[1]]);
            bench.kernels.upsample_bilinear2d(&bench.stream, &resize, grid, view, &mut out).unwrap();
            let expected = (0..2 * output[0] * output[1]).map(|i| {
                let (c, y, z) = (i / output[1] / output[0], i / output[1] % output[0], i % output[1]);
                let (above, below, down) = between(y, input[0], output[0], grid, 0);
                let (left, right, over) = between(z, input[1], output[1], grid, 1);
                let at = |row: usize, column: usize| x[(c * input[0] + row) * input[1] + column].to_f64();
                let row = |row: usize| at(row, left) * (1.0 - over) + at(row, right) * over;
                let value = row(above) * (1.0 - down) + row(below) * down;
                // Places and sums of less than 200 are rounded in f64 several times.
                Expected { value, slack: 1e-12 }
            });
            let result = compare(&bench.download(&out), expected);
            assert!(result.passed(), "{} {resize:?} {grid:?}: {result:?}", T::NAME);
        }
    }
}

#[test]
fn resizing_between_inputs() {
    let bench = Bench::open();
    bilinear::<f32>(&bench);
    bilinear::<f16>(&bench);
    bilinear::<bf16>(&bench);
    bilinear::<f64>(&bench);
}

fn bilinear_integers<T: ConvElement>(bench: &Bench) {
    let x = bench.upload(&of::<T>(&[10, 21, 31, 43]));
    let mut out = bench.zeroed::<T>(6);
    let resize = Resize2d::new(1, 1, [2, 2], [2, 3]);
    bench.kernels.upsample_bilinear2d(&bench.stream, &resize, PixelGrid::Corners, &x, &mut out).unwrap();
    // 15½ is the middle of the first row
    assert_exact!(bench.download(&out), of::<T>(&[10, 15, 21, 31, 37, 43]), "{}", T::NAME);
}

#[test]
fn integers_between_inputs_are_rounded_towards_zero() {
    let bench = Bench::open();
    bilinear_integers::<u8>(&bench);
    bilinear_integers::<u32>(&bench);
}

#[test]
fn no_elements_and_no_channels() {
    let bench = Bench::open();
    let (kernels, stream) = (&bench.kernels, &bench.stream);
    let (none, weights) = (bench.zeroed::<f32>(0), bench.zeroed::<f32>(6));
    let mut no_out = bench.zeroed::<f32>(0);
    kernels.conv(stream, &Conv1d::new(0, 2, 1, [5], [3]), &none, &weights, &mut no_out).unwrap();
    kernels.conv(stream, &Conv2d::new(2, 0, 0, [5, 5], [3, 3]), &none, &none, &mut no_out).unwrap();
    kernels.max_pool2d(stream, &Pool2d::new(0, 2, [5, 5], [3, 3]), &none, &mut no_out).unwrap();
    kernels.avg_pool2d(stream, &Pool2d::new(2, 0, [5, 5], [3, 3]), &none, &mut no_out).unwrap();
    let resize = Resize2d::new(0, 2, [3, 3], [9, 9]);
    kernels.upsample_nearest2d(stream, &resize, &none, &mut no_out).unwrap();
    kernels.upsample_bilinear2d(stream, &resize, PixelGrid::Areas, &none, &mut no_out).unwrap();
    let x = bench.zeroed::<f32>(9);
    kernels.upsample_nearest2d(stream, &Resize2d::new(1, 1, [3, 3], [0, 9]), &x, &mut no_out).unwrap();
    // Empty sums are zero, and so are sums of padding only.
    let mut out = bench.upload(&[9.0_f32; 8]);
    kernels.conv(stream, &Conv1d::new(2, 0, 2, [2], [1]), &none, &none, &mut out).unwrap();
    assert_exact!(bench.download(&out), [0.0; 8]);
    let mut out = bench.upload(&[9.0_f32; 4]);
    let conv = Conv1d::new(1, 2, 1, [0], [3]).padding(3);
    kernels.conv(stream, &conv, &none, &weights, &mut out).unwrap();
    assert_exact!(bench.download(&out), [0.0; 4]);
}

#[track_caller]
fn says<T: std::fmt::Debug>(result: Result<T, Error>, text: &str) {
    let error = result.unwrap_err().to_string();
    assert!(error.contains(text), "{error:?} does not contain {text:?}");
}

#[test]
fn sizes_of_convolutions_that_cannot_be() {
    let conv = Conv1d::new(1, 1, 1, [5], [3]);
    says(conv.stride(0).output(), "conv1d: `stride` is 0, must be at least 1");
    says(conv.dilation(0).output(), "conv1d: `dilation` is 0, must be at least 1");
    says(Conv1d { kernel: [0], ..conv }.output(), "conv1d: `kernel` is 0, must be at least 1");
    says(conv.dilation(3).output(), "conv1d: `kernel` is 3, more than the padded input has");
    assert_eq!(conv.dilation(2).output().unwrap(), [1]);
    says(conv.dilation(usize::MAX).output(), "conv1d: `kernel` is 3, more");
    says(conv.padding(usize::MAX / 2).output(), "conv1d: `padding` is 9223372036854775807, so large");
    let conv = Conv2d::new(1, 1, 1, [5, 2], [3, 3]);
    says(conv.output(), "conv2d: `kernel` is 3, more than the padded input has");
    says(conv.stride(0).output(), "conv2d: `stride` is 0");

    let transposed = Conv1d::new(1, 1, 1, [5], [3]).transposed(0);
    says(transposed.stride(0).output(), "conv_transpose1d: `stride` is 0, must be at least 1");
    says(transposed.transposed(1).output(), "conv_transpose1d: `out_padding` is 1, must be less than");
    assert_eq!(transposed.transposed(1).dilation(2).output().unwrap(), [10]);
    says(
        transposed.padding(4).output(),
        "conv_transpose1d: `padding` is 4, so large that there is no output",
    );
    assert_eq!(transposed.padding(3).output().unwrap(), [1]);
    says(transposed.padding(usize::MAX).output(), "`padding` is 18446744073709551615, so large");
    says(
        transposed.stride(usize::MAX / 2).output(),
        "conv_transpose1d: `input` is 5, so large that sizes overflow",
    );
    says(transposed.dilation(usize::MAX / 2).output(), "`input` is 5, so large that sizes overflow");
    says(Conv2d::new(1, 1, 1, [0, 5], [1, 1]).transposed(0).output(), "conv_transpose2d: `input` is 0");
}

#[test]
fn tensors_that_do_not_fit_are_refused() {
    let bench = Bench::open();
    let (kernels, stream) = (&bench.kernels, &bench.stream);
    let (x, weights) = (bench.zeroed::<f32>(10), bench.zeroed::<f32>(12));
    let mut out = bench.upload(&[9.0_f32; 6]);
    let conv = Conv1d::new(1, 2, 2, [5], [3]);
    says(
        kernels.conv(stream, &conv, &weights, &weights, &mut out),
        "conv1d: `x` has 12 elements, but needs 10",
    );
    says(kernels.conv(stream, &conv, &x, &x, &mut out), "conv1d: `weights` has 10 elements, but needs 12");
    let wide = conv.padding(1);
    says(kernels.conv(stream, &wide, &x, &weights, &mut out), "conv1d: `out` has 6 elements, but needs 10");
    says(kernels.conv(stream, &conv.dilation(3), &x, &weights, &mut out), "conv1d: `kernel` is 3");
    let transposed = conv.transposed(0);
    says(
        kernels.conv(stream, &transposed, &x, &weights, &mut out),
        "conv_transpose1d: `out` has 6 elements, but needs 14",
    );
    let huge = Conv1d { batch: usize::MAX, ..conv };
    let error = kernels.conv(stream, &huge, &x, &weights, &mut out).unwrap_err();
    assert!(matches!(error, Error::Layout(LayoutError::TooLarge(_))), "{error}");
    let huge = Conv1d { batch: 3, ..conv }.transposed(0).stride(usize::MAX / 8);
    let error = kernels.conv(stream, &huge, &x, &weights, &mut out).unwrap_err();
    assert!(matches!(error, Error::Layout(LayoutError::TooLarge(_))), "{error}");

    let pool = Pool2d::new(1, 1, [5, 2], [2, 1]);
    says(
        kernels.max_pool2d(stream, &pool, &weights, &mut out),
        "max_pool2d: `x` has 12 elements, but needs 10",
    );
    says(kernels.avg_pool2d(stream, &pool, &x, &mut out), "avg_pool2d: `out` has 6 elements, but needs 4");
    says(pool.stride([1, 0]).output(), "pool2d: `stride` is 0, must be at least 1");
    for (window, got) in [([2, 3], 3), ([0, 1], 0)] {
        let result = kernels.max_pool2d(stream, &Pool2d { window, ..pool }, &x, &mut out);
        says(result, &format!("max_pool2d: `window` is {got}, must be at least 1, and at most the input"));
    }
    let huge = Pool2d { channels: usize::MAX, ..pool };
    let error = kernels.avg_pool2d(stream, &huge, &x, &mut out).unwrap_err();
    assert!(matches!(error, Error::Layout(LayoutError::TooLarge(_))), "{error}");

    let resize = Resize2d::new(1, 1, [5, 2], [3, 2]);
    let mut bilinear =
        |resize: &Resize2d, grid, x| kernels.upsample_bilinear2d(stream, resize, grid, x, &mut out);
    says(
        bilinear(&resize, PixelGrid::Areas, &weights),
        "upsample_bilinear2d: `x` has 12 elements, but needs 10",
    );
    for factor in [0.0, -1.0, f64::NAN, f64::INFINITY, f64::MIN_POSITIVE, 1e-16] {
        for factors in [[factor, 1.0], [1.0, factor]] {
            let error = bilinear(&resize, PixelGrid::Scaled(factors), &x).unwrap_err();
            assert!(matches!(error, Error::Value { parameter: "factor", .. }), "{error}");
        }
    }
    says(
        bilinear(&Resize2d { output: [3, 3], ..resize }, PixelGrid::Areas, &x),
        "`out` has 6 elements, but needs 9",
    );
    let nothing = Resize2d { input: [5, 0], ..resize };
    says(bilinear(&nothing, PixelGrid::Areas, &x), "upsample_bilinear2d: `input` is 0, must be at least 1");
    says(kernels.upsample_nearest2d(stream, &nothing, &x, &mut out), "upsample_nearest2d: `input` is 0");
    says(
        kernels.upsample_nearest2d(stream, &resize, &weights, &mut out),
        "upsample_nearest2d: `x` has 12 elements",
    );
    let huge = Resize2d { output: [usize::MAX, 2], ..resize };
    let error = kernels.upsample_nearest2d(stream, &huge, &x, &mut out).unwrap_err();
    assert!(matches!(error, Error::Layout(LayoutError::TooLarge(_))), "{error}");
    // Nothing was written.
    assert_exact!(bench.download(&out), [9.0; 6]);
}

#[test]
fn shapes_and_strides_that_do_not_fit_are_refused() {
    let bench = Bench::open();
    let (kernels, stream) = (&bench.kernels, &bench.stream);
    let (x, mut out) = (bench.zeroed::<f32>(24), bench.upload(&[9.0_f32; 24]));
    let layout = |shape: &[usize]| Layout::contiguous(shape).unwrap();
    let view = |shape: &[usize]| View::new(&x, layout(shape)).unwrap();
    let turned = layout(&[1, 4, 3, 2]).transpose(1, 2).unwrap();
    let gaps = "`out` of shape [1, 3, 4, 2] has the strides [24, 2, 6, 1], and must be contiguous";
    let conv = Conv2d::new(1, 3, 3, [4, 2], [1, 1]);
    let weights = view(&[3, 3, 1, 1]);
    let result = kernels.conv(stream, &conv, view(&[1, 4, 3, 2]), weights, &mut out);
    says(result, "conv2d: `x` has the shape [1, 4, 3, 2], but needs [1, 3, 4, 2]");
    let result = kernels.conv(stream, &conv, view(&[1, 3, 4, 2]), view(&[3, 3]), &mut out);
    says(result, "conv2d: `weights` has the shape [3, 3], but needs [3, 3, 1, 1]");
    let flat = ViewMut::new(&mut out, layout(&[24])).unwrap();
    let result = kernels.conv(stream, &conv, view(&[1, 3, 4, 2]), weights, flat);
    says(result, "conv2d: `out` has the shape [24], but needs [1, 3, 4, 2]");
    let strided = ViewMut::new(&mut out, turned).unwrap();
    says(kernels.conv(stream, &conv, view(&[1, 3, 4, 2]), weights, strided), gaps);

    let pool = Pool2d::new(1, 3, [4, 2], [1, 1]);
    let strided = ViewMut::new(&mut out, turned).unwrap();
    says(kernels.max_pool2d(stream, &pool, &x, strided), gaps);
    let result = kernels.avg_pool2d(stream, &pool, view(&[3, 4, 2]), &mut out);
    says(result, "avg_pool2d: `x` has the shape [3, 4, 2], but needs [1, 3, 4, 2]");
    let resize = Resize2d::new(1, 3, [4, 2], [4, 2]);
    let strided = ViewMut::new(&mut out, turned).unwrap();
    says(kernels.upsample_nearest2d(stream, &resize, &x, strided), gaps);
    let strided = ViewMut::new(&mut out, turned).unwrap();
    says(kernels.upsample_bilinear2d(stream, &resize, PixelGrid::Areas, &x, strided), gaps);
    let result = kernels.upsample_nearest2d(stream, &resize, view(&[3, 4, 2]), &mut out);
    says(result, "upsample_nearest2d: `x` has the shape [3, 4, 2], but needs [1, 3, 4, 2]");
    // Nothing was written.
    assert_exact!(bench.download(&out), [9.0; 24]);
}

#[test]
fn repeated_inputs() {
    let bench = Bench::open();
    // One row of one channel, repeated for a batch of two with three channels.
    let row = bench.upload(&[1.0_f32, 2.0, 4.0, 8.0]);
    let repeated = Layout::contiguous(&[4]).unwrap().broadcast(&[2, 3, 4]).unwrap();
    let ones = bench.upload(&[1.0_f32]);
    let ones = View::new(&ones, Layout::contiguous(&[1]).unwrap().broadcast(&[1, 3, 2]).unwrap()).unwrap();
    let mut out = bench.zeroed::<f32>(6);
    let conv = Conv1d::new(2, 3, 1, [4], [2]);
    bench.kernels.conv(&bench.stream, &conv, View::new(&row, repeated).unwrap(), ones, &mut out).unwrap();
    assert_exact!(bench.download(&out), [9.0, 18.0, 36.0, 9.0, 18.0, 36.0]);
}
