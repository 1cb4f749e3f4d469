//! The kernels of `reduce.cu` that candle names, launched as candle does and beyond: searches, sums over
//! dimensions, norms, rotations.

use half::{bf16, f16};
use hip::{DeviceAddress, DeviceCopy};
use kernels::reference::Expected;
use kernels::{Float, modules};

use crate::common::{Bench, random};
use crate::record::{assert_exact, compare, difference, exact};

/// Launches a kernel of a module: `launch!(bench, MODULE, name, grid, block; argument, …)`.
macro_rules! launch {
    ($bench:expr, $module:ident, $name:expr, $grid:expr, $block:expr; $($argument:expr),* $(,)?) => {{
        let function = $bench.kernels.function(&kernels::modules::$module, $name).unwrap();
        // SAFETY: the arguments are those of the kernel, and the buffers contain all that it accesses.
        unsafe { function.launch(&$bench.stream).grid($grid).block($block)$(.arg($argument))*.enqueue() }.unwrap();
    }};
}
pub(crate) use launch;

/// Element types of the kernels here, with the part of their names.
trait Named: DeviceCopy + PartialOrd + std::fmt::Debug {
    const NAME: &'static str;
    /// A value that is neither less than, greater than nor equal to anything.
    const NAN: Option<Self>;
    const LOWEST: Self;
    const HIGHEST: Self;
    fn from_i64(value: i64) -> Self;
}
macro_rules! named {
    ($($type:ident: $nan:expr, $lowest:expr, $highest:expr, $from:expr;)*) => { $(impl Named for $type {
        const NAME: &'static str = stringify!($type);
        const NAN: Option<Self> = $nan;
        const LOWEST: Self = $lowest;
        const HIGHEST: Self = $highest;
        fn from_i64(value: i64) -> Self { $from(value) }
    })* };
}
named! {
    f32: Some(f32::NAN), f32::NEG_INFINITY, f32::INFINITY, |value| value as f32;
    f64: Some(f64::NAN), f64::NEG_INFINITY, f64::INFINITY, |value| value as f64;
    f16: Some(f16::NAN), f16::NEG_INFINITY, f16::INFINITY, |value| f16::from_f64(value as f64);
    bf16: Some(bf16::NAN), bf16::NEG_INFINITY, bf16::INFINITY, |value| bf16::from_f64(value as f64);
    u8: None, u8::MIN, u8::MAX, |value: i64| value.rem_euclid(256) as u8;
    u32: None, u32::MIN, u32::MAX, |value: i64| value.rem_euclid(1 << 32) as u32;
    i64: None, i64::MIN, i64::MAX, |value| value;
}
macro_rules! for_all_named {
    ($check:ident) => {{
        let bench = Bench::open();
        $check::<f32>(&bench);
        $check::<f64>(&bench);
        $check::<f16>(&bench);
        $check::<bf16>(&bench);
        $check::<u8>(&bench);
        $check::<u32>(&bench);
        $check::<i64>(&bench);
    }};
}

/// The search of candle's CPU backend: it starts at the first element and moves to every better one.
fn search<T: Copy>(group: &[T], better: impl Fn(T, T) -> bool) -> (T, u32) {
    let mut found = (group[0], 0);
    for (i, &x) in group.iter().enumerate() {
        if better(x, found.0) {
            found = (x, i as u32);
        }
    }
    found
}

fn bits<T: Named>(values: &[T]) -> Vec<String> {
    // as text, NaNs are equal
    values.iter().map(|x| format!("{x:?}")).collect()
}

fn searches_find_the_first<T: Named>(bench: &Bench) {
    let columns = 150;
    let row = |f: &dyn Fn(usize) -> T| (0..columns).map(f).collect::<Vec<T>>();
    let mixed = |i: usize| T::from_i64((i as i64 * 7919 + 13) % 101 - 50);
    let mut rows = vec![
        row(&mixed),
        row(&|_| T::from_i64(3)),
        row(&|_| T::LOWEST),
        row(&|_| T::HIGHEST),
        row(&|i| T::from_i64(i as i64 % 5)),
        row(&|i| T::from_i64(columns as i64 - i as i64)),
        row(&|i| if i == 149 { T::HIGHEST } else { T::LOWEST }),
        row(&|i| if i == 149 { T::LOWEST } else { T::HIGHEST }),
    ];
    if let Some(nan) = T::NAN {
        rows.push(row(&|_| nan));
        rows.push(row(&|i| if i == 0 { nan } else { mixed(i) }));
        rows.push(row(&|i| if i % 3 == 1 { nan } else { mixed(i) }));
        rows.push(row(&|i| if i == 0 { T::LOWEST } else { nan }));
    }
    let x = bench.upload(&rows.concat());
    let count = rows.len();
    for block in [1_u32, 5, 32, 40, 64, 96, 256, 1024] {
        let info = bench.upload(&[count, columns, columns, 1]);
        for (name, better) in [("max", T::gt as fn(&T, &T) -> bool), ("min", T::lt)] {
            let expected: Vec<(T, u32)> = rows.iter().map(|row| search(row, |a, b| better(&a, &b))).collect();
            let mut values = bench.upload(&vec![T::from_i64(1); count]);
            let mut indices = bench.upload(&vec![7_u32; count]);
            // fewer workgroups than groups, too
            for grid in [count as u32, 3] {
                launch!(bench, REDUCE, &format!("fast_{name}_{}", T::NAME), grid, block;
                    count * columns, columns, 2_usize, &info, &x, &mut values);
                launch!(bench, REDUCE, &format!("fast_arg{name}_{}", T::NAME), grid, block;
                    count * columns, columns, 2_usize, &info, &x, &mut indices);
                let what = format!("{name} {} in blocks of {block}, {grid} workgroups", T::NAME);
                let found: Vec<T> = bench.download(&values);
                assert_exact!(
                    bits(&found),
                    bits(&expected.iter().map(|e| e.0).collect::<Vec<T>>()),
                    "{what}"
                );
                let expected: Vec<u32> = expected.iter().map(|e| e.1).collect();
                assert_exact!(bench.download(&indices), expected, "arg{what}");
            }
        }
    }
}

#[test]
fn searches() {
    for_all_named!(searches_find_the_first);
}

fn empty_groups_are_neutral<T: Named>(bench: &Bench) {
    let info = bench.upload(&[3_usize, 0, 1, 1]);
    let x = bench.zeroed::<T>(1);
    for (name, neutral) in [("max", T::LOWEST), ("min", T::HIGHEST), ("sum", T::from_i64(0))] {
        let mut values = bench.upload(&[T::from_i64(1); 3]);
        launch!(bench, REDUCE, &format!("fast_{name}_{}", T::NAME), 3, 32;
            0_usize, 0_usize, 2_usize, &info, &x, &mut values);
        assert_exact!(bits(&bench.download(&values)), bits(&[neutral; 3]), "{name}");
    }
    let mut values = bench.upload(&[T::from_i64(1); 3]);
    launch!(bench, REDUCE, &format!("fast_sum_small_{}", T::NAME), 1, 256;
        3_usize, 0_usize, 2_usize, &info, &x, &mut values);
    assert_exact!(bits(&bench.download(&values)), bits(&[T::from_i64(0); 3]));
    let mut indices = bench.zeroed::<u32>(3);
    launch!(bench, REDUCE, &format!("fast_argmax_{}", T::NAME), 3, 1;
        0_usize, 0_usize, 2_usize, &info, &x, &mut indices);
    assert_exact!(bench.download(&indices), [u32::MAX; 3]);
}

#[test]
fn empty_groups() {
    for_all_named!(empty_groups_are_neutral);
}

/// Sums that are exact in the type; those of bytes wrap.
fn sums_are_exact<T: Named>(bench: &Bench) {
    let values = |i: usize| (i as i64 * 31) % 7 - 2;
    for (groups, each, offset, block) in
        [(3, 77, 0, 64_u32), (2, 500, 1, 32), (5, 64, 3, 17), (1, 2048, 0, 1024)]
    {
        let all: Vec<i64> = (0..groups * each + offset).map(values).collect();
        let x = bench.upload(&all.iter().map(|&x| T::from_i64(x)).collect::<Vec<T>>());
        let expected: Vec<T> =
            all[offset..].chunks(each).map(|group| T::from_i64(group.iter().sum())).collect();
        let mut out = bench.upload(&vec![T::from_i64(1); groups]);
        let name = format!("fast_sum_{}", T::NAME);
        launch!(bench, REDUCE, &name, groups as u32, block;
            groups * each, each, 1_usize, DeviceAddress(0), x.slice(offset..).unwrap(), &mut out);
        assert_exact!(bits(&bench.download(&out)), bits(&expected), "{name} {groups} × {each} from {offset}");
    }
}

#[test]
fn sums() {
    for_all_named!(sums_are_exact);
}

/// More workgroups than a dimension of CUDA's grid allows, and more elements than one launch has threads.
#[test]
fn seventy_thousand_rows() {
    let bench = Bench::open();
    let rows = 70_001;
    let x: Vec<f32> = (0..rows * 2).map(|i| (i % 1000) as f32).collect();
    let (device_x, mut sums, mut soft) =
        (bench.upload(&x), bench.zeroed::<f32>(rows), bench.zeroed::<f32>(rows * 2));
    launch!(bench, REDUCE, "fast_sum_f32", rows as u32, 2;
        rows * 2, 2_usize, 1_usize, DeviceAddress(0), &device_x, &mut sums);
    let expected: Vec<f32> = x.chunks(2).map(|row| row[0] + row[1]).collect();
    assert!(exact(bench.download(&sums) == expected));
    launch!(bench, REDUCE, "softmax_f32", rows as u32, (1, 32); &device_x, &mut soft, 2_u32);
    let result = compare(&bench.download(&soft), kernels::reference::softmax(&x, 2));
    assert!(result.passed(), "{result:?}");
}

/// `sum_*` adds to the output, over any dimensions of strided tensors, in f32 for 16-bit floats.
#[test]
fn sums_over_dimensions() {
    let bench = Bench::open();
    let dims = [3_usize, 4, 5, 6];
    // transposed in memory: the last dimension is the outermost
    for strides in [[120_usize, 30, 6, 1], [20, 5, 1, 60]] {
        let values: Vec<u32> = (0..360).map(|i| i * i % 97).collect();
        for over in [vec![3], vec![0], vec![1, 3], vec![0, 2], vec![0, 1, 2, 3], vec![]] {
            let distance = |d: usize| dims[d + 1..].iter().product::<usize>();
            let info: Vec<usize> = [
                dims.to_vec(),
                strides.to_vec(),
                over.iter().map(|&d| dims[d]).collect(),
                over.iter().map(|&d| distance(d)).collect(),
            ]
            .concat();
            let outputs: usize = (0..4).filter(|d| !over.contains(d)).map(|d| dims[d]).product();
            let mut expected = vec![1000_u32; outputs];
            for i in 0..360 {
                let index: Vec<usize> = (0..4).map(|d| i / distance(d) % dims[d]).collect();
                let at: usize = index.iter().zip(strides).map(|(i, s)| i * s).sum();
                let out = (0..4).filter(|d| !over.contains(d)).fold(0, |out, d| out * dims[d] + index[d]);
                expected[out] += values[at];
            }
            let info = bench.upload(&info);
            let x = bench.upload(&values);
            for (grid, block) in [(1_u32, 1024_u32), (3, 40)] {
                let mut out = bench.upload(&vec![1000_u32; outputs]);
                launch!(bench, REDUCE, "sum_u32", grid, block; 360_usize, 4_usize, over.len(), &info, &x, &mut out);
                assert_exact!(bench.download(&out), expected, "over {over:?}, strides {strides:?}");
            }
            // whole numbers up to 40,000: f16 holds them to within 16, and f32 exactly
            let half_x = bench.upload(&values.iter().map(|&x| bf16::from_f32(x as f32)).collect::<Vec<_>>());
            let mut out = bench.upload(&vec![bf16::from_f32(1000.0); outputs]);
            launch!(bench, REDUCE, "sum_bf16", 2, 64; 360_usize, 4_usize, over.len(), &info, &half_x, &mut out);
            let rounded: Vec<bf16> = expected.iter().map(|&x| bf16::from_f32(x as f32)).collect();
            assert_exact!(bench.download(&out), rounded, "over {over:?}, strides {strides:?}");
        }
    }
}

/// Mean and variance of rows far from zero, whose squares cancel.
#[test]
fn layer_norm_of_large_numbers() {
    let bench = Bench::open();
    let columns = 300;
    let x: Vec<f32> = random::<f32>(columns * 2, 31, 1.0).iter().map(|x| 10_000.0 + x).collect();
    let (alpha, beta) = (random::<f32>(columns, 32, 1.0), random::<f32>(columns, 33, 1.0));
    let (device_x, a, b) = (bench.upload(&x), bench.upload(&alpha), bench.upload(&beta));
    for (with_alpha, with_beta) in [(true, true), (false, true), (true, false), (false, false)] {
        let mut out = bench.zeroed::<f32>(columns * 2);
        let address = |buffer: &hip::DeviceBuffer<f32>, with: bool| {
            if with { buffer.address() } else { DeviceAddress(0) }
        };
        launch!(bench, REDUCE, "layernorm_f32", 2, 96;
            &device_x, &mut out, address(&a, with_alpha), address(&b, with_beta), columns as u32, 96_i32, 1e-5_f32);
        let expected = x.chunks(columns).flat_map(|row| {
            let mean = row.iter().map(|&x| f64::from(x)).sum::<f64>() / columns as f64;
            let variance = row.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>() / columns as f64;
            let (alpha, beta) = (&alpha, &beta);
            row.iter().enumerate().map(move |(i, &x)| {
                let scaled = (f64::from(x) - mean) / (variance + f64::from(1e-5_f32)).sqrt();
                let value = if with_alpha { scaled * f64::from(alpha[i]) } else { scaled };
                let value = if with_beta { value + f64::from(beta[i]) } else { value };
                // the mean is rounded to f32: 2⁻¹¹ of its last place, of which sums lose a few
                Expected { value, slack: 1e-2 }
            })
        });
        let result = compare(&bench.download(&out), expected);
        assert!(result.passed(), "{with_alpha} {with_beta}: {result:?}");
    }
}

/// In f64: candle's kernels compute norms of doubles in f32.
#[test]
fn rows_of_doubles() {
    let bench = Bench::open();
    let columns = 333;
    let x: Vec<f64> = (0..columns).map(|i| (i as f64 * 0.37).sin() * 3.0).collect();
    let device_x = bench.upload(&x);
    let near = |name: &str, found: Vec<f64>, expected: &dyn Fn(f64) -> f64| {
        for (x, found) in x.iter().zip(found) {
            let expected = expected(*x);
            difference(found, expected);
            assert!((found - expected).abs() <= 1e-13 * expected.abs().max(1.0), "{name} {found} {expected}");
        }
    };
    let eps = f64::from(1e-5_f32);
    let mut out = bench.zeroed::<f64>(columns);
    launch!(bench, REDUCE, "rmsnorm_f64", 1, 64; &device_x, &mut out, DeviceAddress(0), columns as u32, 64_i32, 1e-5_f32);
    let mean_square = x.iter().map(|x| x * x).sum::<f64>() / columns as f64;
    near("rmsnorm", bench.download(&out), &|x| x / (mean_square + eps).sqrt());
    launch!(bench, REDUCE, "layernorm_f64", 1, 64;
        &device_x, &mut out, DeviceAddress(0), DeviceAddress(0), columns as u32, 64_i32, 1e-5_f32);
    let mean = x.iter().sum::<f64>() / columns as f64;
    let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / columns as f64;
    near("layernorm", bench.download(&out), &|x| (x - mean) / (variance + eps).sqrt());
    launch!(bench, REDUCE, "softmax_f64", 1, (1, 32); &device_x, &mut out, columns as u32);
    let sum: f64 = x.iter().map(|x| x.exp()).sum();
    near("softmax", bench.download(&out), &|x| x.exp() / sum);
}

fn special_rows<T: Float<Compute = f32>>(bench: &Bench) {
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    let rows = [[1.0, nan, 2.0, 3.0], [-inf, -inf, -inf, -inf], [-inf, 0.0, 0.0, -inf], [inf, 0.0, 1.0, 2.0]];
    let x: Vec<T> = rows.iter().flatten().map(|&x| T::from_f64(x)).collect();
    let (device_x, mut out) = (bench.upload(&x), bench.zeroed::<T>(16));
    bench.kernels.softmax(&bench.stream, &device_x, 4, &mut out).unwrap();
    let found: Vec<f64> = bench.download(&out).iter().map(|x| x.to_f64()).collect();
    let expected = [[nan; 4], [nan; 4], [0.0, 0.5, 0.5, 0.0], [nan; 4]];
    assert_exact!(format!("{found:?}"), format!("{:?}", expected.concat()), "{}", T::NAME);
}

#[test]
fn softmax_of_infinities_and_nan() {
    crate::common::for_every_type!(special_rows);
}

#[test]
fn names_of_candle_are_there() {
    let bench = Bench::open();
    for name in ["rope", "rope_i", "rope_thd", "softmax", "rmsnorm", "layernorm", "sum", "fast_sum_small"] {
        for of in ["f32", "f64", "f16", "bf16"] {
            bench.kernels.function(&modules::REDUCE, &format!("{name}_{of}")).unwrap();
        }
    }
}
