//! Element-wise operations against f64 on the CPU.

use kernels::reference::Expected;
use kernels::{BinaryOp, CompareOp, Element, Real, UnaryOp};

use crate::common::{Bench, for_every_real, random, special};
use crate::record::{assert_exact, compare, exact};

/// Sizes around waves and workgroups, and one that needs several.
const SIZES: [usize; 7] = [1, 31, 64, 65, 256, 257, 5000];

/// Half a unit in the last place of the type that a type computes in.
fn unit<T: Real>() -> f64 {
    T::Compute::UNIT_ROUNDOFF
}

/// A value that the type's arithmetic may miss by `ulps` units in the last place.
fn within<T: Real>(value: f64, ulps: f64) -> Expected {
    // f32 itself overflows where f64 does not
    let largest = T::Compute::from_f64(value).to_f64();
    let value = if largest.is_infinite() { largest } else { value };
    let least = T::Compute::UNDERFLOW.max(f64::from_bits(1));
    let slack =
        if value.is_finite() { 2.0 * ulps * unit::<T>() * value.abs() + least * 2.0 * ulps } else { 0.0 };
    Expected { value, slack }
}

/// The same, with numbers beyond the element type's range as it stores them: infinity, or the largest number.
fn in_range<T: Real>(expected: Expected) -> Expected {
    let rounded = T::from_f64(expected.value).to_f64();
    let largest = T::from_f64(f64::INFINITY).to_f64();
    if rounded.abs() == largest { Expected { value: rounded, slack: 0.0 } } else { expected }
}

fn check<T: Real>(what: &str, inputs: &[T], got: &[T], expected: impl Fn(f64) -> Expected) {
    let result = compare(got, inputs.iter().map(|x| in_range::<T>(expected(x.to_f64()))));
    assert!(
        result.passed(),
        "{what} {}: f({:?}) gave {:?}, expected {:?}",
        T::NAME,
        inputs[result.at],
        got[result.at],
        expected(inputs[result.at].to_f64())
    );
}

fn fill_writes_every_element<T: Real>(bench: &Bench) {
    for size in SIZES {
        let mut out = bench.zeroed::<T>(size + 1);
        let value = T::from_f64(1.5);
        let target = out.slice_mut(..size).unwrap();
        bench.kernels.fill(&bench.stream, value, target).unwrap();
        let got = bench.download(&out);
        assert!(exact(got[..size].iter().all(|x| x.to_f64() == 1.5)), "{size} {}", T::NAME);
        assert_eq!(got[size].to_f64(), 0.0, "one element too many");
    }
}

#[test]
fn fill() {
    for_every_real!(fill_writes_every_element);
}

fn axpy_and_affine_are_exact_within_rounding<T: Real>(bench: &Bench) {
    for size in SIZES {
        let (x, y) = (random::<T>(size, 1, 4.0), random::<T>(size, 2, 4.0));
        let (device_x, mut device_y) = (bench.upload(&x), bench.upload(&y));
        bench.kernels.axpy(&bench.stream, T::Compute::from_f64(2.5), &device_x, &mut device_y).unwrap();
        let expected = x.iter().zip(&y).map(|(x, y)| {
            let (product, sum) = (2.5 * x.to_f64(), 2.5 * x.to_f64() + y.to_f64());
            Expected { value: sum, slack: unit::<T>() * (product.abs() + sum.abs()) }
        });
        let result = compare(&bench.download(&device_y), expected);
        assert!(result.passed(), "axpy of {size} {}: {result:?}", T::NAME);

        let (mul, add) = (T::from_f64(-0.75), T::from_f64(3.0));
        bench.kernels.affine(&bench.stream, &device_x, &mut device_y, mul, add).unwrap();
        check("affine", &x, &bench.download(&device_y), |x| Expected {
            value: x * -0.75 + 3.0,
            slack: unit::<T>() * (x.abs() * 0.75 + (x * -0.75 + 3.0).abs()),
        });
    }
}

#[test]
fn axpy_and_affine() {
    for_every_real!(axpy_and_affine_are_exact_within_rounding);
}

fn unary_functions_are_accurate<T: Real>(bench: &Bench) {
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
    unary(UnaryOp::Sqr, &|x| within::<T>(x * x, 0.5));
    unary(UnaryOp::Sqrt, &|x| within::<T>(x.sqrt(), 1.0));
    unary(UnaryOp::Recip, &|x| within::<T>(1.0 / x, 1.0));
    unary(UnaryOp::Exp, &|x| within::<T>(x.exp(), 2.0));
    unary(UnaryOp::Log, &|x| within::<T>(x.ln(), 2.0));
    unary(UnaryOp::Sin, &|x| within::<T>(x.sin(), 4.0));
    unary(UnaryOp::Cos, &|x| within::<T>(x.cos(), 4.0));
    unary(UnaryOp::Tanh, &|x| within::<T>(x.tanh(), 5.0));
    unary(UnaryOp::Erf, &|x| within::<T>(libm::erf(x), 8.0));
    unary(UnaryOp::NormCdf, &|x| {
        absolute(normcdf(x), 16.0 * unit::<T>() * normcdf(x) * (1.0 + x * x).min(1e4))
    });
    unary(UnaryOp::Sigmoid, &|x| within::<T>(sigmoid(x), 4.0));
    unary(UnaryOp::Softplus, &|x| within::<T>(x.max(0.0) + (-x.abs()).exp().ln_1p(), 4.0));
    // Values that approach zero reach it, and do not become NaN. A subnormal factor has lost digits.
    let gated = |x: f64, p: f64, ulps: f64| {
        let Expected { value, slack } = within::<T>(x * p, ulps);
        let lost = 2.0 * ulps * T::Compute::UNDERFLOW.max(f64::from_bits(1)) * x.abs();
        if p == 0.0 {
            exact(-0.0)
        } else {
            Expected { value, slack: if value.is_finite() { slack + lost } else { slack } }
        }
    };
    unary(UnaryOp::Silu, &|x| gated(x, sigmoid(x), 5.0));
    unary(UnaryOp::Gelu, &|x| {
        let exponent = 2.0 * (2.0 / std::f64::consts::PI).sqrt() * x * (1.0 + 0.044715 * x * x);
        // the rounding of the exponent becomes an error of the exponential
        gated(x, sigmoid(exponent), 8.0 + 3.0 * exponent.abs().min(1e4))
    });
    unary(UnaryOp::GeluErf, &|x| gated(x, normcdf(x), 16.0 * (1.0 + x * x).min(1e4)));
    unary(UnaryOp::Elu(0.5), &|x| {
        if x > 0.0 { exact(x) } else { within::<T>(T::from_f64(0.5).to_f64() * x.exp_m1(), 3.0) }
    });
}

#[test]
fn unary() {
    for_every_real!(unary_functions_are_accurate);
}

fn powers_are_accurate<T: Real>(bench: &Bench) {
    let inputs: Vec<T> =
        random::<T>(500, 9, 4.0).iter().map(|x| T::from_f64(x.to_f64().abs() + 0.01)).collect();
    let mut device_y = bench.zeroed::<T>(inputs.len());
    bench.kernels.unary(&bench.stream, UnaryOp::Powf(1.75), &bench.upload(&inputs), &mut device_y).unwrap();
    check("powf", &inputs, &bench.download(&device_y), |x| within::<T>(x.powf(1.75), 8.0));
}

#[test]
fn powers() {
    for_every_real!(powers_are_accurate);
}

fn binary_operations_match<T: Real>(bench: &Bench) {
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
        let expected = pairs.iter().map(|(a, b)| in_range::<T>(within::<T>(f(a.to_f64(), b.to_f64()), ulps)));
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
            assert_exact!(got, u8::from(f(&a.to_f64(), &b.to_f64())), "{a:?} {op:?} {b:?}");
        }
    }
}

#[test]
fn binary() {
    for_every_real!(binary_operations_match);
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
