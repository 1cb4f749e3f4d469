//! `conv.cu` against the definitions in f64, where candle's kernels differ: integers, dilation, batches,
//! indices out of range.

use crate::common::Bench;
use crate::record::{assert_exact, exact};
use crate::rows::launch;

/// Numbers from 0 to 4, so that all sums here are exact in each type except bytes, where they wrap.
fn small(count: usize, seed: usize) -> Vec<u32> {
    (0..count).map(|i| ((i * 7 + seed) * 2_654_435_761 / 128) as u32 % 5).collect()
}

/// Launches a kernel for several element types and compares with `expected`, which is in u32.
macro_rules! for_types {
    ($check:ident: $($type:ident => $from:expr),* $(,)?) => {{
        let bench = Bench::open();
        $($check::<$type>(&bench, stringify!($type), &$from);)*
    }};
}
macro_rules! exact_types {
    ($check:ident) => {
        for_types!($check:
            f32 => |x: u32| x as f32,
            f64 => f64::from,
            f16 => |x: u32| f16::from_f32(x as f32),
            bf16 => |x: u32| bf16::from_f32(x as f32),
            u8 => |x: u32| x as u8,
            u32 => |x: u32| x)
    };
}
use half::{bf16, f16};
use hip::DeviceCopy;

fn convolutions_1d<T: DeviceCopy + PartialEq + std::fmt::Debug>(
    bench: &Bench,
    name: &str,
    of: &dyn Fn(u32) -> T,
) {
    let (b, c_in, l_in, c_out, k) = (2_usize, 3_usize, 13_usize, 2_usize, 3_usize);
    let (x, w) = (small(b * c_in * l_in, 1), small(c_out * c_in * k, 2));
    let upload = |values: &[u32]| bench.upload(&values.iter().map(|&x| of(x)).collect::<Vec<T>>());
    for (stride, padding, dilation) in [(1_usize, 0_usize, 1_usize), (2, 1, 2), (3, 4, 3), (1, 6, 5)] {
        let l_out = (l_in + 2 * padding - dilation * (k - 1) - 1) / stride + 1;
        let mut expected = vec![0_u32; b * c_out * l_out];
        for (i, sum) in expected.iter_mut().enumerate() {
            let (n, o, l) = (i / l_out / c_out, i / l_out % c_out, i % l_out);
            for (c, j) in (0..c_in).flat_map(|c| (0..k).map(move |j| (c, j))) {
                let at = l * stride + j * dilation;
                if at >= padding && at - padding < l_in {
                    *sum += x[(n * c_in + c) * l_in + at - padding] * w[(o * c_in + c) * k + j];
                }
            }
        }
        let info = bench.upload(&[b, c_in, l_in, c_in * l_in, l_in, 1, c_out, c_in, k, c_in * k, k, 1]);
        let mut out = bench.upload(&vec![of(9); expected.len()]);
        launch!(bench, CONV, &format!("conv1d_{name}"), 1, 64;
            x.len(), l_out, stride, padding, dilation, &info, &upload(&x), &upload(&w), &mut out);
        let expected: Vec<T> = expected.iter().map(|&x| of(x)).collect();
        assert_exact!(bench.download(&out), expected, "conv1d_{name} {stride} {padding} {dilation}");

        // transposed: the weights are (in, out, k)
        let l_out = (l_in - 1) * stride + dilation * (k - 1) + 1 - 2 * padding.min(2);
        let padding = padding.min(2);
        let mut expected = vec![0_u32; b * c_out * l_out];
        for (n, c, l) in (0..b * c_in * l_in).map(|i| (i / l_in / c_in, i / l_in % c_in, i % l_in)) {
            for (o, j) in (0..c_out).flat_map(|o| (0..k).map(move |j| (o, j))) {
                let at = l * stride + j * dilation;
                if at >= padding && at - padding < l_out {
                    expected[(n * c_out + o) * l_out + at - padding] +=
                        x[(n * c_in + c) * l_in + l] * w[(c * c_out + o) * k + j];
                }
            }
        }
        let info = bench.upload(&[b, c_in, l_in, c_in * l_in, l_in, 1, c_in, c_out, k, c_out * k, k, 1]);
        let mut out = bench.upload(&vec![of(9); expected.len()]);
        launch!(bench, CONV, &format!("conv_transpose1d_{name}"), 2, 32;
            x.len(), l_out, stride, padding, 0_usize, dilation, &info, &upload(&x), &upload(&w), &mut out);
        let expected: Vec<T> = expected.iter().map(|&x| of(x)).collect();
        assert_exact!(
            bench.download(&out),
            expected,
            "conv_transpose1d_{name} {stride} {padding} {dilation}"
        );

        // sums of the results of a matrix product: columns (b, l_in, c_out, k)
        let l_out = (l_in - 1) * stride + k;
        let columns = small(b * l_in * c_out * k, 3);
        let mut expected = vec![0_u32; b * c_out * l_out];
        for (i, &column) in columns.iter().enumerate() {
            let (n, l, o, j) = (i / k / c_out / l_in, i / k / c_out % l_in, i / k % c_out, i % k);
            expected[(n * c_out + o) * l_out + l * stride + j] += column;
        }
        let mut out = bench.upload(&vec![of(9); expected.len()]);
        launch!(bench, CONV, &format!("col2im1d_{name}"), 1, 64;
            expected.len(), l_out, l_in, c_out, k, stride, &upload(&columns), &mut out);
        let expected: Vec<T> = expected.iter().map(|&x| of(x)).collect();
        assert_exact!(bench.download(&out), expected, "col2im1d_{name} {stride}");
    }
}

#[test]
fn one_dimension() {
    exact_types!(convolutions_1d);
}

fn convolutions_2d<T: DeviceCopy + PartialEq + std::fmt::Debug>(
    bench: &Bench,
    name: &str,
    of: &dyn Fn(u32) -> T,
) {
    let (b, c_in, h, w, c_out, u, v) = (2_usize, 2_usize, 7_usize, 9_usize, 3_usize, 2_usize, 3_usize);
    let (x, weights) = (small(b * c_in * h * w, 4), small(c_out * c_in * u * v, 5));
    let upload = |values: &[u32]| bench.upload(&values.iter().map(|&x| of(x)).collect::<Vec<T>>());
    for (stride, padding, dilation) in [(1_usize, 0_usize, 1_usize), (2, 1, 2), (3, 2, 1)] {
        let out_size = |n: usize, k: usize| (n + 2 * padding - dilation * (k - 1) - 1) / stride + 1;
        let (h_out, w_out) = (out_size(h, u), out_size(w, v));
        let mut sums = vec![0_u32; b * c_out * h_out * w_out];
        let mut columns = vec![0_u32; b * h_out * w_out * c_in * u * v];
        for (n, y, z) in (0..b * h_out * w_out).map(|i| (i / w_out / h_out, i / w_out % h_out, i % w_out)) {
            for (c, j, k) in (0..c_in * u * v).map(|i| (i / v / u, i / v % u, i % v)) {
                let (row, column) = (y * stride + j * dilation, z * stride + k * dilation);
                if row < padding || row - padding >= h || column < padding || column - padding >= w {
                    continue;
                }
                let element = x[((n * c_in + c) * h + row - padding) * w + column - padding];
                columns[((((n * h_out + y) * w_out + z) * c_in + c) * u + j) * v + k] = element;
                for o in 0..c_out {
                    sums[((n * c_out + o) * h_out + y) * w_out + z] +=
                        element * weights[((o * c_in + c) * u + j) * v + k];
                }
            }
        }
        let info = [b, c_in, h, w, c_in * h * w, h * w, w, 1, c_out, c_in, u, v, c_in * u * v, u * v, v, 1];
        let info = bench.upload(&info);
        let mut out = bench.upload(&vec![of(9); sums.len()]);
        launch!(bench, CONV, &format!("conv2d_{name}"), 2, 64;
            x.len(), w_out, h_out, stride, padding, dilation, &info, &upload(&x), &upload(&weights), &mut out);
        let sums: Vec<T> = sums.iter().map(|&x| of(x)).collect();
        assert_exact!(bench.download(&out), sums, "conv2d_{name} {stride} {padding} {dilation}");
        let mut out = bench.upload(&vec![of(9); columns.len()]);
        launch!(bench, CONV, &format!("im2col_{name}"), 2, 64;
            columns.len(), h_out, w_out, u, v, stride, padding, dilation, &info, &upload(&x), &mut out);
        let columns: Vec<T> = columns.iter().map(|&x| of(x)).collect();
        assert_exact!(bench.download(&out), columns, "im2col_{name} {stride} {padding} {dilation}");

        // transposed: the weights are (in, out, u, v)
        let out_size = |n: usize, k: usize| (n - 1) * stride + dilation * (k - 1) + 1 - 2 * padding.min(1);
        let (h_out, w_out, padding) = (out_size(h, u), out_size(w, v), padding.min(1));
        let mut sums = vec![0_u32; b * c_out * h_out * w_out];
        for (i, &element) in x.iter().enumerate() {
            let (n, c, y, z) = (i / w / h / c_in, i / w / h % c_in, i / w % h, i % w);
            for (o, j, k) in (0..c_out * u * v).map(|i| (i / v / u, i / v % u, i % v)) {
                let (row, column) = (y * stride + j * dilation, z * stride + k * dilation);
                if row >= padding && row - padding < h_out && column >= padding && column - padding < w_out {
                    sums[((n * c_out + o) * h_out + row - padding) * w_out + column - padding] +=
                        element * weights[((c * c_out + o) * u + j) * v + k];
                }
            }
        }
        let info = [b, c_in, h, w, c_in * h * w, h * w, w, 1, c_in, c_out, u, v, c_out * u * v, u * v, v, 1];
        let mut out = bench.upload(&vec![of(9); sums.len()]);
        launch!(bench, CONV, &format!("conv_transpose2d_{name}"), 2, 64;
            x.len(), w_out, h_out, stride, padding, 0_usize, dilation, &bench.upload(&info), &upload(&x),
            &upload(&weights), &mut out);
        let sums: Vec<T> = sums.iter().map(|&x| of(x)).collect();
        assert_exact!(bench.download(&out), sums, "conv_transpose2d_{name} {stride} {padding} {dilation}");
    }
}

#[test]
fn two_dimensions() {
    exact_types!(convolutions_2d);
}

fn pools<T: DeviceCopy + PartialEq + std::fmt::Debug>(bench: &Bench, name: &str, of: &dyn Fn(u32) -> T) {
    // averages of bytes whose sums exceed a byte; all quotients are whole
    let (h, w) = (6_usize, 8_usize);
    let x: Vec<u32> = small(2 * h * w, 6).iter().map(|x| x * 60 / 4 * 4).collect();
    let info = bench.upload(&[1, 2, h, w, 2 * h * w, h * w, w, 1]);
    let device_x = bench.upload(&x.iter().map(|&x| of(x)).collect::<Vec<T>>());
    let pooled = |f: &dyn Fn(&[u32]) -> u32| -> Vec<T> {
        (0..2 * 3 * 4)
            .map(|i| {
                let (c, y, z) = (i / 12, i / 4 % 3, i % 4);
                let at = |u: usize, v: usize| x[(c * h + y * 2 + u) * w + z * 2 + v];
                of(f(&[at(0, 0), at(0, 1), at(1, 0), at(1, 1)]))
            })
            .collect()
    };
    let mut out = bench.upload(&[of(9); 24]);
    launch!(bench, CONV, &format!("avg_pool2d_{name}"), 1, 32; x.len(), 2_usize, 2_usize, 2_usize, 2_usize, &info, &device_x, &mut out);
    assert_exact!(bench.download(&out), pooled(&|x| x.iter().sum::<u32>() / 4), "{name}");
    launch!(bench, CONV, &format!("max_pool2d_{name}"), 1, 32; x.len(), 2_usize, 2_usize, 2_usize, 2_usize, &info, &device_x, &mut out);
    assert_exact!(bench.download(&out), pooled(&|x| *x.iter().max().unwrap()), "{name}");
    // twice as high and wide, and half
    for (h_out, w_out) in [(12_usize, 16_usize), (3, 4)] {
        let expected: Vec<T> = (0..2 * h_out * w_out)
            .map(|i| {
                let (c, y, z) = (i / w_out / h_out, i / w_out % h_out, i % w_out);
                of(x[(c * h + y * h / h_out) * w + z * w / w_out])
            })
            .collect();
        let mut out = bench.upload(&vec![of(9); expected.len()]);
        launch!(bench, CONV, &format!("upsample_nearest2d_{name}"), 2, 32;
            h_out, w_out, h as f64 / h_out as f64, w as f64 / w_out as f64, &info, &device_x, &mut out);
        assert_exact!(bench.download(&out), expected, "{name}");
    }
    // the middle of each four, where outputs lie in between
    let mut out = bench.upload(&[of(9); 24]);
    launch!(bench, CONV, &format!("upsample_bilinear2d_{name}"), 2, 32;
        4_usize, 3_usize, false, false, 0.0_f64, false, 0.0_f64, &info, &device_x, &mut out);
    assert_exact!(bench.download(&out), pooled(&|x| x.iter().sum::<u32>() / 4), "{name}");
}

#[test]
fn pools_and_resizing() {
    exact_types!(pools);
}

/// As candle's CPU backend: a NaN is the largest only if it is the first.
#[test]
fn pools_of_nan() {
    let bench = Bench::open();
    let x = [f32::NAN, 1.0, 2.0, 3.0, 1.0, f32::NAN, 2.0, 0.5];
    let info = bench.upload(&[2_usize, 1, 2, 2, 4, 4, 2, 1]);
    let (device_x, mut out) = (bench.upload(&x), bench.zeroed::<f32>(2));
    launch!(bench, CONV, "max_pool2d_f32", 1, 32; 8_usize, 2_usize, 2_usize, 2_usize, 2_usize, &info, &device_x, &mut out);
    let found = bench.download(&out);
    assert!(exact(found[0].is_nan() && found[1] == 2.0), "{found:?}");
    launch!(bench, CONV, "avg_pool2d_f32", 1, 32; 8_usize, 2_usize, 2_usize, 2_usize, 2_usize, &info, &device_x, &mut out);
    assert!(exact(bench.download(&out).iter().all(|x| x.is_nan())));
}
