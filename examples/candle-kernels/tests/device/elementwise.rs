//! `affine`, `unary`, `binary`, `cast`, `ternary` and `fill`.

use candle_core::{DType, Result, Tensor};
use half::{bf16, f16};

use crate::common::*;

/// What has a contiguous layout, one with strides, a broadcast one, and one that starts behind the beginning.
/// Sizes are no multiples of blocks or of vectors.
fn layouts(whole: &Tensor) -> Vec<(&'static str, Tensor)> {
    // of 5 × 37 × 13
    vec![
        ("contiguous", whole.clone()),
        ("transposed", whole.transpose(0, 2).unwrap()),
        ("narrow", whole.narrow(1, 3, 30).unwrap()),
        ("from an offset", whole.narrow(0, 2, 3).unwrap()),
        ("broadcast", whole.narrow(1, 4, 1).unwrap().expand((5, 37, 13)).unwrap()),
    ]
}

const SHAPE: (usize, usize, usize) = (5, 37, 13);

fn unary_kernel<T: Element>(gpu: &Gpu, root: &str, input: &Tensor) -> Vec<T> {
    let count = input.elem_count();
    let (grid, block) = for_elements(count);
    let (info, source, mut out) = (gpu.layout(input), gpu.tensor::<T>(input), gpu.zeroed::<T>(count));
    let name = format!("{root}_{}", T::name());
    launch!(gpu, UNARY, &name, grid, block; count, input.rank(), info.as_ref(), &source, &mut out);
    gpu.download(&out)
}

type Unary = (&'static str, fn(&Tensor) -> Result<Tensor>, f32, f32);

const UNARIES: [Unary; 22] = [
    ("ucopy", |x| x.copy(), -3.0, 3.0),
    ("uneg", |x| x.neg(), -3.0, 3.0),
    ("urecip", |x| x.recip(), 0.25, 3.0),
    ("uexp", |x| x.exp(), -4.0, 4.0),
    ("ulog", |x| x.log(), 1.5, 100.0),
    ("usin", |x| x.sin(), -3.0, 3.0),
    ("ucos", |x| x.cos(), -3.0, 3.0),
    ("utanh", |x| x.tanh(), -3.0, 3.0),
    ("uerf", |x| x.erf(), -2.0, 2.0),
    ("uceil", |x| x.ceil(), -9.0, 9.0),
    ("ufloor", |x| x.floor(), -9.0, 9.0),
    ("uround", |x| x.round(), -9.0, 9.0),
    ("uabs", |x| x.abs(), -3.0, 3.0),
    ("usqr", |x| x.sqr(), -3.0, 3.0),
    ("usqrt", |x| x.sqrt(), 0.0, 9.0),
    ("ugelu", |x| x.gelu(), -3.0, 3.0),
    ("ugelu_erf", |x| x.gelu_erf(), -3.0, 3.0),
    ("urelu", |x| x.relu(), -3.0, 3.0),
    ("usilu", |x| x.silu(), -6.0, 6.0),
    ("usign", |x| x.sign(), -3.0, 3.0),
    ("usigmoid", candle_nn::ops::sigmoid, -6.0, 6.0),
    ("unormcdf", |x| ((x / std::f64::consts::SQRT_2)?.erf()? + 1.0)? / 2.0, -3.0, 3.0),
];

fn unaries<T: Element>() {
    const COPIES: [&str; 8] = ["ucopy", "uneg", "uceil", "ufloor", "uround", "uabs", "urelu", "usign"];
    let gpu = gpu();
    for (root, on_cpu, low, high) in UNARIES {
        let whole = random::<T>(SHAPE, low, high, 1);
        let tolerance = if COPIES.contains(&root) { EXACT } else { T::STEPS };
        for (layout, input) in layouts(&whole) {
            let what = format!("{root}_{} {layout}", T::name());
            compare(&what, &unary_kernel::<T>(&gpu, root, &input), &on_cpu(&input).unwrap(), tolerance);
        }
    }
}

#[test]
fn unary_f32() {
    unaries::<f32>();
}

#[test]
fn unary_f64() {
    unaries::<f64>();
}

#[test]
fn unary_f16() {
    unaries::<f16>();
}

#[test]
fn unary_bf16() {
    unaries::<bf16>();
}

#[test]
fn unary_of_the_edges_of_numbers() {
    let gpu = gpu();
    let infinity = f32::INFINITY;
    let edges =
        vec![0.0, -0.0, infinity, -infinity, f32::NAN, 1e-40, -1e-40, f32::MAX, f32::MIN, 100.0, -110.0];
    let input = Tensor::new(edges, &CPU).unwrap();
    for (root, on_cpu, ..) in UNARIES {
        // The CPU backend has other formulas for these, which give NaN for infinity.
        if ["ugelu", "ugelu_erf", "usilu", "usign", "urelu", "unormcdf"].contains(&root) {
            continue;
        }
        // Both reduce great angles; neither is asked for the last digit.
        let tolerance = if ["usin", "ucos"].contains(&root) { within(1e-4, 1e-6) } else { f32::STEPS };
        compare(root, &unary_kernel::<f32>(&gpu, root, &input), &on_cpu(&input).unwrap(), tolerance);
    }
}

#[test]
fn unary_copies_of_integers() {
    fn copies<T: Element>(gpu: &Gpu) {
        for (layout, input) in layouts(&random::<T>(SHAPE, 0.0, 200.0, 2)) {
            let what = format!("ucopy_{} {layout}", T::name());
            compare(&what, &unary_kernel::<T>(gpu, "ucopy", &input), &input, EXACT);
        }
    }
    let gpu = gpu();
    copies::<u8>(&gpu);
    copies::<u32>(&gpu);
    copies::<i64>(&gpu);
}

#[test]
fn unary_with_a_parameter() {
    fn with<T: Element>(gpu: &Gpu) {
        for (layout, input) in layouts(&random::<T>(SHAPE, 0.1, 3.0, 3)) {
            for (root, parameter, expected) in
                [("uelu", 0.75, input.affine(1.0, -1.5).unwrap()), ("upowf", 2.5, input.powf(2.5).unwrap())]
            {
                let (input, expected) = match root {
                    "uelu" => (expected.clone(), expected.elu(parameter).unwrap()),
                    _ => (input.clone(), expected),
                };
                let count = input.elem_count();
                let (grid, block) = for_elements(count);
                let (info, source, mut out) =
                    (gpu.layout(&input), gpu.tensor::<T>(&input), gpu.zeroed::<T>(count));
                let name = format!("{root}_{}", T::name());
                launch!(gpu, UNARY, &name, grid, block;
                    count, input.rank(), info.as_ref(), T::from_f64(parameter), &source, &mut out);
                compare(&format!("{name} {layout}"), &gpu.download(&out), &expected, T::STEPS);
            }
        }
    }
    let gpu = gpu();
    with::<f32>(&gpu);
    with::<f64>(&gpu);
    with::<f16>(&gpu);
    with::<bf16>(&gpu);
}

#[test]
fn affine() {
    fn of<T: Element>(gpu: &Gpu, factor: f64, summand: f64) {
        for (layout, input) in layouts(&random::<T>(SHAPE, 0.0, 20.0, 4)) {
            let count = input.elem_count();
            let (grid, block) = for_elements(count);
            let (info, source, mut out) =
                (gpu.layout(&input), gpu.tensor::<T>(&input), gpu.zeroed::<T>(count));
            let name = format!("affine_{}", T::name());
            launch!(gpu, AFFINE, &name, grid, block;
                count, input.rank(), info.as_ref(), &source, &mut out,
                T::from_f64(factor), T::from_f64(summand));
            let expected = input.affine(factor, summand).unwrap();
            compare(&format!("{name} {layout}"), &gpu.download(&out), &expected, T::STEPS);
        }
    }
    let gpu = gpu();
    of::<f32>(&gpu, 1.75, -3.5);
    of::<f64>(&gpu, 1.75, -3.5);
    of::<f16>(&gpu, 1.75, -3.5);
    of::<bf16>(&gpu, 1.75, -3.5);
    of::<u8>(&gpu, 3.0, 5.0);
    of::<u32>(&gpu, 3.0, 5.0);
    of::<i16>(&gpu, -3.0, 5.0);
    of::<i32>(&gpu, -3.0, 5.0);
    of::<i64>(&gpu, -3.0, 5.0);
}

/// Both sides in all pairs of layouts that candle may pass.
fn pairs(left: &Tensor, right: &Tensor) -> Vec<(&'static str, Tensor, Tensor)> {
    let strided = |t: &Tensor| t.transpose(0, 2).unwrap().contiguous().unwrap().transpose(0, 2).unwrap();
    let row = right.narrow(1, 4, 1).unwrap().expand((5, 37, 13)).unwrap();
    vec![
        ("contiguous", left.clone(), right.clone()),
        ("left strided", strided(left), right.clone()),
        ("right strided", left.clone(), strided(right)),
        ("both strided", strided(left), strided(right)),
        ("right broadcast", left.clone(), row),
        ("not aligned", left.narrow(0, 1, 4).unwrap(), right.narrow(0, 1, 4).unwrap()),
    ]
}

fn binary_kernel<T: Element, O: Element>(gpu: &Gpu, root: &str, left: &Tensor, right: &Tensor) -> Vec<O> {
    let count = left.elem_count();
    let (grid, block) = for_elements(count);
    let contiguous = left.is_contiguous() && right.is_contiguous();
    let info = (!contiguous).then(|| gpu.upload(&[left.dims(), left.stride(), right.stride()].concat()));
    let (x, y, mut out) = (gpu.tensor::<T>(left), gpu.tensor::<T>(right), gpu.zeroed::<O>(count));
    let name = format!("{root}_{}", T::name());
    launch!(gpu, BINARY, &name, grid, block; count, left.rank(), info.as_ref(), &x, &y, &mut out);
    gpu.download(&out)
}

type Binary = (&'static str, fn(&Tensor, &Tensor) -> Result<Tensor>);

fn binaries<T: Element>() {
    const OPERATIONS: [Binary; 6] = [
        ("badd", |x, y| x + y),
        ("bsub", |x, y| x - y),
        ("bmul", |x, y| x * y),
        ("bdiv", |x, y| x / y),
        ("bmaximum", |x, y| x.maximum(y)),
        ("bminimum", |x, y| x.minimum(y)),
    ];
    const COMPARISONS: [Binary; 6] = [
        ("eq", |x, y| x.eq(y)),
        ("ne", |x, y| x.ne(y)),
        ("lt", |x, y| x.lt(y)),
        ("le", |x, y| x.le(y)),
        ("gt", |x, y| x.gt(y)),
        ("ge", |x, y| x.ge(y)),
    ];
    let gpu = gpu();
    // Whole numbers, many of them equal on both sides, and none that overflows.
    let left = random::<f32>(SHAPE, 9.0, 15.99, 5).floor().unwrap().to_dtype(T::DTYPE).unwrap();
    let right = random::<f32>(SHAPE, 3.0, 15.99, 6).floor().unwrap().to_dtype(T::DTYPE).unwrap();
    // One rounding, the same on both sides: of a quotient it is one of a float's, and then one of a half's.
    let tolerance = |root: &str| if root == "bdiv" { T::STEPS } else { EXACT };
    for (layout, x, y) in pairs(&left, &right) {
        for (root, on_cpu) in OPERATIONS {
            let what = format!("{root}_{} {layout}", T::name());
            // A difference below zero overflows on the CPU.
            let x = if root == "bsub" && T::DTYPE.is_int() { (&x + 7.0).unwrap() } else { x.clone() };
            let found = binary_kernel::<T, T>(&gpu, root, &x, &y);
            compare(&what, &found, &on_cpu(&x, &y).unwrap(), tolerance(root));
        }
        for (root, on_cpu) in COMPARISONS {
            let what = format!("{root}_{} {layout}", T::name());
            let expected = on_cpu(&x, &y).unwrap();
            let sum = expected.to_dtype(DType::F32).unwrap().sum_all().unwrap().to_scalar::<f32>().unwrap();
            assert!(sum > 0.0 && (sum as usize) < x.elem_count(), "{what}: both answers occur");
            compare(&what, &binary_kernel::<T, u8>(&gpu, root, &x, &y), &expected, EXACT);
        }
    }
}

#[test]
fn binary_f32() {
    binaries::<f32>();
}

#[test]
fn binary_f64() {
    binaries::<f64>();
}

#[test]
fn binary_f16() {
    binaries::<f16>();
}

#[test]
fn binary_bf16() {
    binaries::<bf16>();
}

#[test]
fn binary_integers() {
    binaries::<u8>();
    binaries::<u32>();
    binaries::<i64>();
}

#[test]
fn casts() {
    fn cast<S: Element, T: Element>(gpu: &Gpu, low: f32, high: f32) {
        let tolerance = if low.fract() == 0.0 { EXACT } else { T::STEPS };
        for (layout, input) in layouts(&random::<S>(SHAPE, low, high, 7)) {
            let count = input.elem_count();
            let (grid, block) = for_elements(count);
            let (info, source, mut out) =
                (gpu.layout(&input), gpu.tensor::<S>(&input), gpu.zeroed::<T>(count));
            let name = format!("cast_{}_{}", S::name(), T::name());
            launch!(gpu, CAST, &name, grid, block; count, input.rank(), info.as_ref(), &source, &mut out);
            let expected = input.to_dtype(T::DTYPE).unwrap();
            compare(&format!("{name} {layout}"), &gpu.download(&out), &expected, tolerance);
        }
    }
    let gpu = gpu();
    macro_rules! casts {
        ($($from:ty => $($to:ty),*;)*) => { $($(cast::<$from, $to>(&gpu, 0.0, 250.0);)*)* };
    }
    casts! {
        f32 => f32, f64, f16, bf16, u8, u32, i64;
        f64 => f32, f64, f16, bf16, u8, u32, i64;
        f16 => f32, f64, f16, bf16, u8, u32;
        bf16 => f32, f64, f16, bf16, u8, u32;
        u8 => f32, f64, f16, bf16, u8, u32, i64;
        u32 => f32, f64, f16, bf16, u8, u32, i64;
        i64 => f32, f64, u8, u32, i64;
    }
    // Numbers of either sign, and such as halves round, also to zero.
    cast::<f32, f16>(&gpu, -1e-6, 1e-6);
    cast::<f32, f16>(&gpu, -70000.0, 70000.0);
    cast::<f32, bf16>(&gpu, -1e30, 1e30);
    cast::<f64, f32>(&gpu, -1e30, 1e30);
    cast::<f32, i64>(&gpu, -1e9, 1e9);
}

#[test]
fn casts_of_fp8() {
    let gpu = gpu();
    let input = random::<f32>(1000, -460.0, 460.0, 8);
    let small = random::<f32>(1000, -0.06, 0.06, 9);
    let input = Tensor::cat(&[input, small], 0).unwrap();
    let count = input.elem_count();
    let (grid, block) = for_elements(count);
    let expected = input.to_dtype(DType::F8E4M3).unwrap();

    let (source, mut out) = (gpu.tensor::<f32>(&input), gpu.zeroed::<u8>(count));
    launch!(gpu, CAST, "cast_f32_f8_e4m3", grid, block; count, 1_usize, CONTIGUOUS, &source, &mut out);
    compare_slices("cast_f32_f8_e4m3", &gpu.download(&out), &fp8_bytes(&expected), EXACT);

    let source = gpu.upload(&fp8_bytes(&expected));
    let mut back = gpu.zeroed::<f32>(count);
    launch!(gpu, CAST, "cast_f8_e4m3_f32", grid, block; count, 1_usize, CONTIGUOUS, &source, &mut back);
    compare("cast_f8_e4m3_f32", &gpu.download(&back), &expected.to_dtype(DType::F32).unwrap(), EXACT);

    let mut back = gpu.zeroed::<bf16>(count);
    launch!(gpu, CAST, "cast_f8_e4m3_bf16", grid, block; count, 1_usize, CONTIGUOUS, &source, &mut back);
    compare("cast_f8_e4m3_bf16", &gpu.download(&back), &expected.to_dtype(DType::BF16).unwrap(), EXACT);
}

#[test]
fn where_conditions_hold() {
    fn chosen<I: Element, T: Element>(gpu: &Gpu) {
        let condition = random::<f32>(SHAPE, 0.0, 1.99, 10).floor().unwrap().to_dtype(I::DTYPE).unwrap();
        let (yes, no) = (random::<T>(SHAPE, 0.0, 100.0, 11), random::<T>(SHAPE, 100.0, 200.0, 12));
        let mut cases: Vec<(&str, Tensor, Tensor, Tensor)> =
            vec![("contiguous", condition.clone(), yes.clone(), no.clone())];
        for (layout, yes, no) in pairs(&yes, &no).into_iter().take(5) {
            cases.push((layout, condition.clone(), yes, no));
        }
        let swap = |t: &Tensor| t.transpose(0, 2).unwrap();
        cases.push(("all transposed", swap(&condition), swap(&yes), swap(&no)));
        for (layout, condition, yes, no) in cases {
            let count = condition.elem_count();
            let (grid, block) = for_elements(count);
            let info =
                gpu.upload(&[condition.dims(), condition.stride(), yes.stride(), no.stride()].concat());
            let (ids, t, f) = (gpu.tensor::<I>(&condition), gpu.tensor::<T>(&yes), gpu.tensor::<T>(&no));
            let mut out = gpu.zeroed::<T>(count);
            let name = format!("where_{}_{}", I::name(), T::name());
            launch!(gpu, TERNARY, &name, grid, block;
                count, condition.rank(), &info, &ids, &t, &f, &mut out);
            let expected = condition.where_cond(&yes, &no).unwrap();
            compare(&format!("{name} {layout}"), &gpu.download(&out), &expected, EXACT);
        }
    }
    let gpu = gpu();
    macro_rules! chosen {
        ($($ids:ty => $($type:ty),*;)*) => { $($(chosen::<$ids, $type>(&gpu);)*)* };
    }
    chosen! {
        u8 => f32, f64, f16, bf16, u8, u32, i64;
        u32 => f32, f64, f16, bf16, u8, u32, i64;
        i64 => f32, f64, f16, bf16, u8, u32, i64;
    }
}

#[test]
fn fills_and_copies() {
    fn all<T: Element>(gpu: &Gpu) {
        let value = T::from_f64(7.0);
        let name = format!("fill_{}", T::name());
        let (grid, block) = for_elements(1500);
        let mut filled = gpu.zeroed::<T>(1501);
        launch!(gpu, FILL, &name, grid, block; &mut filled, value, 1500_usize);
        let mut expected = vec![value; 1500];
        expected.push(T::from_f64(0.0));
        compare_slices(&name, &gpu.download(&filled), &expected, EXACT);

        // Columns 3 to 20 of rows of 31, to the beginning of rows of 40.
        let (rows, columns, from, to) = (50_u32, 18_u32, 31_u32, 40_u32);
        let source = random::<T>((50, 31), 0.0, 200.0, 13);
        let name = format!("copy2d_{}", T::name());
        let (grid, block) = for_elements((rows * columns) as usize);
        let (part, mut out) = (source.narrow(1, 3, 18).unwrap(), gpu.zeroed::<T>(50 * 40));
        let window = gpu.tensor::<T>(&part);
        launch!(gpu, FILL, &name, grid, block; &window, &mut out, rows, columns, from, to);
        let expected = part.pad_with_zeros(1, 0, 22).unwrap();
        compare(&name, &gpu.download(&out), &expected, EXACT);

        // A window of a tensor.
        let name = format!("const_set_{}", T::name());
        let target = random::<T>((50, 31), 0.0, 200.0, 14);
        let window = target.narrow(1, 3, 18).unwrap();
        let mut out = gpu.tensor::<T>(&target);
        let count = window.elem_count();
        let (grid, block) = for_elements(count);
        let info = gpu.layout(&window);
        assert!(info.is_some());
        let mut whole = out.as_mut_slice();
        let start = whole.slice_mut(3..).unwrap();
        launch!(gpu, FILL, &name, grid, block; count, window.rank(), info.as_ref(), value, start);
        let seven = Tensor::full(value, (50, 18), &CPU).unwrap();
        let (left, right) = (target.narrow(1, 0, 3).unwrap(), target.narrow(1, 21, 10).unwrap());
        let expected = Tensor::cat(&[left, seven, right], 1).unwrap();
        compare(&name, &gpu.download(&out), &expected, EXACT);
    }
    let gpu = gpu();
    all::<f32>(&gpu);
    all::<f64>(&gpu);
    all::<f16>(&gpu);
    all::<bf16>(&gpu);
    all::<u8>(&gpu);
    all::<u32>(&gpu);
    all::<i64>(&gpu);
}
