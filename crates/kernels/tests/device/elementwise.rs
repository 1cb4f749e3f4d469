//! Element-wise operations against f64 on the CPU.

use half::{bf16, f16};
use kernels::reference::{self, Expected, compare};
use kernels::{BinaryOp, CompareOp, Element, Error, Float, UnaryOp};

use crate::common::{Bench, for_every_type, random, special};

/// Sizes around waves and workgroups, and one that needs several.
const SIZES: [usize; 7] = [1, 31, 64, 65, 256, 257, 5000];

/// Half a unit in the last place of f32.
const U32: f64 = f32::UNIT_ROUNDOFF;

/// A value that f32 arithmetic may miss by `ulps` units in the last place of f32.
fn within(value: f64, ulps: f64) -> Expected {
    // f32 itself overflows where f64 does not
    let value = if value.abs() > f64::from(f32::MAX) { f64::from(value as f32) } else { value };
    let slack =
        if value.is_finite() { 2.0 * ulps * U32 * value.abs() + f32::UNDERFLOW * 2.0 * ulps } else { 0.0 };
    Expected { value, slack }
}

fn check<T: Float<Compute = f32>>(what: &str, inputs: &[T], got: &[T], expected: impl Fn(f64) -> Expected) {
    // the element type may overflow where f32 does not
    let rounded = inputs.iter().map(|x| {
        let exact = expected(x.to_f64());
        let rounded = T::from_f64(exact.value).to_f64();
        if rounded.is_infinite() { Expected { value: rounded, slack: 0.0 } } else { exact }
    });
    let result = compare(got, rounded);
    assert!(
        result.passed(),
        "{what} {}: f({:?}) gave {:?}, expected {:?}",
        T::NAME,
        inputs[result.at],
        got[result.at],
        expected(inputs[result.at].to_f64())
    );
}

fn fill_writes_every_element<T: Float<Compute = f32>>(bench: &Bench) {
    for size in SIZES {
        let mut out = bench.zeroed::<T>(size + 1);
        let value = T::from_f64(1.5);
        let target = out.slice_mut(..size).unwrap();
        bench.kernels.fill(&bench.stream, value, target).unwrap();
        let got = bench.download(&out);
        assert!(got[..size].iter().all(|x| x.to_f64() == 1.5), "{size} {}", T::NAME);
        assert_eq!(got[size].to_f64(), 0.0, "one element too many");
    }
}

#[test]
fn fill() {
    for_every_type!(fill_writes_every_element);
}

fn axpy_and_affine_are_exact_within_rounding<T: Float<Compute = f32>>(bench: &Bench) {
    for size in SIZES {
        let (x, y) = (random::<T>(size, 1, 4.0), random::<T>(size, 2, 4.0));
        let (device_x, mut device_y) = (bench.upload(&x), bench.upload(&y));
        bench.kernels.axpy(&bench.stream, 2.5, &device_x, &mut device_y).unwrap();
        let result = compare(&bench.download(&device_y), reference::axpy(2.5, &x, &y));
        assert!(result.passed(), "axpy of {size} {}: {result:?}", T::NAME);

        let (mul, add) = (T::from_f64(-0.75), T::from_f64(3.0));
        bench.kernels.affine(&bench.stream, &device_x, &mut device_y, mul, add).unwrap();
        check("affine", &x, &bench.download(&device_y), |x| Expected {
            value: x * -0.75 + 3.0,
            slack: U32 * (x.abs() * 0.75 + (x * -0.75 + 3.0).abs()),
        });
    }
}

#[test]
fn axpy_and_affine() {
    for_every_type!(axpy_and_affine_are_exact_within_rounding);
}

fn unary_functions_are_accurate<T: Float<Compute = f32>>(bench: &Bench) {
    let inputs: Vec<T> =
        special::<T>().into_iter().chain(random(300, 7, 8.0)).chain(random(60, 8, 100.0)).collect();
    let device_x = bench.upload(&inputs);
    let mut device_y = bench.zeroed::<T>(inputs.len());
    let mut unary = |op: UnaryOp, expected: &dyn Fn(f64) -> Expected| {
        bench.kernels.unary(&bench.stream, op, &device_x, &mut device_y).unwrap();
        check(&format!("{op:?}"), &inputs, &bench.download(&device_y), expected);
    };
    let exact = |value: f64| Expected { value, slack: 0.0 };
    // f32 rounding of an intermediate value between -range and range, after which only a subtraction follows
    let absolute = |value: f64, error: f64| Expected { value, slack: error };
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    let normcdf = |x: f64| 0.5 * libm::erfc(-x / std::f64::consts::SQRT_2);

    unary(UnaryOp::Copy, &exact);
    unary(UnaryOp::Neg, &|x| exact(-x));
    unary(UnaryOp::Abs, &|x| exact(x.abs()));
    unary(UnaryOp::Ceil, &|x| exact(x.ceil()));
    unary(UnaryOp::Floor, &|x| exact(x.floor()));
    unary(UnaryOp::Round, &|x| exact(x.round()));
    unary(UnaryOp::Relu, &|x| exact(if x < 0.0 { 0.0 } else { x }));
    unary(UnaryOp::Sign, &|x| {
        exact(if x > 0.0 {
            1.0
        } else if x < 0.0 {
            -1.0
        } else {
            x + 0.0
        })
    });
    unary(UnaryOp::Sqr, &|x| within(x * x, 0.5));
    unary(UnaryOp::Sqrt, &|x| within(x.sqrt(), 1.0));
    unary(UnaryOp::Recip, &|x| within(1.0 / x, 1.0));
    unary(UnaryOp::Exp, &|x| within(x.exp(), 2.0));
    unary(UnaryOp::Log, &|x| within(x.ln(), 2.0));
    unary(UnaryOp::Sin, &|x| within(x.sin(), 4.0));
    unary(UnaryOp::Cos, &|x| within(x.cos(), 4.0));
    unary(UnaryOp::Tanh, &|x| within(x.tanh(), 5.0));
    unary(UnaryOp::Erf, &|x| within(libm::erf(x), 8.0));
    unary(UnaryOp::NormCdf, &|x| absolute(normcdf(x), 16.0 * U32 * normcdf(x) * (1.0 + x * x).min(1e4)));
    // exp(-x) overflows f32 where the result is less than its smallest normal number
    unary(UnaryOp::Sigmoid, &|x| {
        let Expected { value, slack } = within(sigmoid(x), 4.0);
        Expected { value, slack: slack + f64::from(f32::MIN_POSITIVE) }
    });
    unary(UnaryOp::Elu(0.5), &|x| {
        if x > 0.0 { exact(x) } else { within(T::from_f64(0.5).to_f64() * x.exp_m1(), 3.0) }
    });
}

#[test]
fn unary() {
    for_every_type!(unary_functions_are_accurate);
}

/// Functions whose intermediate values cancel or overflow are tried where they do not.
fn composite_functions_are_accurate<T: Float<Compute = f32>>(bench: &Bench) {
    let inputs: Vec<T> = random::<T>(500, 9, 4.0);
    let positive: Vec<T> = inputs.iter().map(|x| T::from_f64(x.to_f64().abs() + 0.01)).collect();
    let mut device_y = bench.zeroed::<T>(inputs.len());
    let mut unary = |op: UnaryOp, inputs: &[T], expected: &dyn Fn(f64) -> Expected| {
        let device_x = bench.upload(inputs);
        bench.kernels.unary(&bench.stream, op, &device_x, &mut device_y).unwrap();
        check(&format!("{op:?}"), inputs, &bench.download(&device_y), expected);
    };
    let gelu =
        |x: f64| 0.5 * x * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x * x * x)).tanh());
    let gelu_erf = |x: f64| 0.5 * x * libm::erfc(-x / std::f64::consts::SQRT_2);
    // 1 + tanh cancels for negative x: the error is one of the sum's terms
    unary(UnaryOp::Gelu, &inputs, &|x| Expected { value: gelu(x), slack: 16.0 * U32 * x.abs() });
    unary(UnaryOp::GeluErf, &inputs, &|x| Expected {
        value: gelu_erf(x),
        slack: 64.0 * U32 * gelu_erf(x).abs(),
    });
    unary(UnaryOp::Silu, &inputs, &|x| within(x / (1.0 + (-x).exp()), 5.0));
    let exponent = T::from_f64(1.75).to_f64();
    unary(UnaryOp::Powf(1.75), &positive, &|x| within(x.powf(exponent), 8.0));
}

#[test]
fn composite_unary() {
    for_every_type!(composite_functions_are_accurate);
}

fn binary_operations_match<T: Float<Compute = f32>>(bench: &Bench) {
    let special = special::<T>();
    // every special number with every other, then random ones
    let pairs: Vec<(T, T)> = special
        .iter()
        .flat_map(|&a| special.iter().map(move |&b| (a, b)))
        .chain(random::<T>(500, 3, 10.0).into_iter().zip(random::<T>(500, 4, 10.0)))
        .collect();
    let (left, right): (Vec<T>, Vec<T>) = pairs.iter().copied().unzip();
    let (device_left, device_right) = (bench.upload(&left), bench.upload(&right));

    let nan_or = |a: f64, b: f64, value: f64| if a.is_nan() || b.is_nan() { f64::NAN } else { value };
    type Case<'a> = (BinaryOp, f64, &'a dyn Fn(f64, f64) -> f64);
    let cases: [Case<'_>; 6] = [
        (BinaryOp::Add, 0.5, &|a, b| a + b),
        (BinaryOp::Sub, 0.5, &|a, b| a - b),
        (BinaryOp::Mul, 0.5, &|a, b| a * b),
        (BinaryOp::Div, 1.0, &|a, b| a / b),
        (BinaryOp::Maximum, 0.0, &|a, b| nan_or(a, b, a.max(b))),
        (BinaryOp::Minimum, 0.0, &|a, b| nan_or(a, b, a.min(b))),
    ];
    let mut out = bench.zeroed::<T>(left.len());
    for (op, ulps, f) in cases {
        bench.kernels.binary(&bench.stream, op, &device_left, &device_right, &mut out).unwrap();
        let got = bench.download(&out);
        let expected = pairs.iter().map(|(a, b)| {
            let exact = within(f(a.to_f64(), b.to_f64()), ulps);
            let rounded = T::from_f64(exact.value).to_f64();
            if rounded.is_infinite() { Expected { value: rounded, slack: 0.0 } } else { exact }
        });
        let result = compare(&got, expected);
        assert!(result.passed(), "{op:?} {}: {:?} gave {:?}", T::NAME, pairs[result.at], got[result.at]);
    }

    let mut out = bench.zeroed::<u8>(left.len());
    type Predicate = fn(&f64, &f64) -> bool;
    let comparisons: [(CompareOp, Predicate); 6] = [
        (CompareOp::Eq, f64::eq),
        (CompareOp::Ne, f64::ne),
        (CompareOp::Lt, f64::lt),
        (CompareOp::Le, f64::le),
        (CompareOp::Gt, f64::gt),
        (CompareOp::Ge, f64::ge),
    ];
    for (op, f) in comparisons {
        bench.kernels.compare(&bench.stream, op, &device_left, &device_right, &mut out).unwrap();
        for ((a, b), got) in pairs.iter().zip(bench.download(&out)) {
            assert_eq!(got, u8::from(f(&a.to_f64(), &b.to_f64())), "{a:?} {op:?} {b:?}");
        }
    }
}

#[test]
fn binary() {
    for_every_type!(binary_operations_match);
}

fn cast<From: Element, To: Element>(bench: &Bench, values: &[From], expected: impl Fn(From) -> To) {
    let x = bench.upload(values);
    let mut y = bench.zeroed::<To>(values.len());
    bench.kernels.cast(&bench.stream, &x, &mut y).unwrap();
    let expected: Vec<To> = values.iter().map(|&x| expected(x)).collect();
    assert_eq!(bench.download(&y), expected);
}

#[test]
fn casts_round_and_truncate() {
    let bench = Bench::open();
    let floats = [
        0.0_f32,
        -0.0,
        0.1,
        1.0,
        1.999,
        2.5,
        100.75,
        255.0,
        65504.0,
        65519.9,
        65520.0,
        1e-8,
        3e38,
        f32::INFINITY,
    ];
    cast(&bench, &floats, |x| x);
    cast(&bench, &floats, f16::from_f32);
    cast(&bench, &floats, bf16::from_f32);
    let small = [0.0_f32, 0.9, 1.0, 1.999, 100.75, 255.0];
    cast(&bench, &small, |x| x as u8);
    cast(&bench, &[0.5_f32, 4_294_967_040.0, 3e9, 16_777_217.0], |x| x as u32);
    cast(&bench, &[0.5_f32, -1.5, -9.2e18, 9.2e18, 4.3e9, -4.3e9], |x| x as i64);
    let halves: Vec<f16> = (0..=u16::MAX).step_by(37).map(f16::from_bits).filter(|x| !x.is_nan()).collect();
    cast(&bench, &halves, f16::to_f32);
    cast(&bench, &halves, |x| bf16::from_f32(x.to_f32()));
    let brains: Vec<bf16> = (0..=u16::MAX).step_by(41).map(bf16::from_bits).filter(|x| !x.is_nan()).collect();
    cast(&bench, &brains, bf16::to_f32);
    cast(&bench, &brains, |x| f16::from_f32(x.to_f32()));
    let bytes: Vec<u8> = (0..=255).collect();
    cast(&bench, &bytes, f32::from);
    cast(&bench, &bytes, |x| f16::from_f32(f32::from(x)));
    cast(&bench, &bytes, u32::from);
    cast(&bench, &bytes, i64::from);
    let words = [0_u32, 1, 255, 256, 16_777_217, u32::MAX];
    cast(&bench, &words, |x| x as f32);
    cast(&bench, &words, |x| x as u8);
    cast(&bench, &words, i64::from);
    let longs = [0_i64, 1, -1, 255, -256, 1 << 40, (1 << 40) + 1, i64::MAX, i64::MIN];
    cast(&bench, &longs, |x| x as f32);
    cast(&bench, &longs, |x| x as u32);
    cast(&bench, &longs, |x| x);
}

#[test]
fn lengths_that_differ_are_refused() {
    let bench = Bench::open();
    let x = bench.zeroed::<f32>(4);
    let mut y = bench.zeroed::<f32>(3);
    let error = bench.kernels.axpy(&bench.stream, 1.0, &x, &mut y).unwrap_err();
    assert_eq!(error.to_string(), "axpy: `y` has 3 elements, 4 are needed");
    let error = bench.kernels.unary(&bench.stream, UnaryOp::Exp, &x, &mut y).unwrap_err();
    assert!(matches!(error, Error::Length { operation: "unary", .. }));
}

#[test]
fn no_elements_are_no_work() {
    let bench = Bench::open();
    let x = bench.zeroed::<f32>(0);
    let mut y = bench.zeroed::<f32>(0);
    bench.kernels.axpy(&bench.stream, 1.0, &x, &mut y).unwrap();
    bench.kernels.unary(&bench.stream, UnaryOp::Exp, &x, &mut y).unwrap();
    bench.stream.synchronize().unwrap();
}
