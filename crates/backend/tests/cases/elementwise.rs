//! Operations element by element.

use backend::{Activation, DType, Gate};

use crate::common::{Bench, FLOATS, rounded};

fn silu(x: f64) -> f64 {
    x / (1.0 + (-x).exp())
}

fn gelu(x: f64) -> f64 {
    0.5 * x * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x * x * x)).tanh())
}

fn gelu_erf(x: f64) -> f64 {
    0.5 * x * libm::erfc(-x / std::f64::consts::SQRT_2)
}

fn relu2(x: f64) -> f64 {
    if x < 0.0 { 0.0 } else { x * x }
}

fn oai(x: f64, up: f64) -> f64 {
    let (x, up) = (x.min(1.5), up.clamp(-1.5, 1.5));
    x / (1.0 + (-1.702 * x).exp()) * (up + 1.0)
}

/// A gate of a number, and the factor that it opens for.
type ExactGate = fn(f64, f64) -> f64;

/// Every gate, in f64.
pub(crate) fn gates() -> [(Gate, ExactGate); 5] {
    [
        (Gate::Silu, |x, up| silu(x) * up),
        (Gate::Gelu, |x, up| gelu(x) * up),
        (Gate::GeluErf, |x, up| gelu_erf(x) * up),
        (Gate::Relu2, |x, up| relu2(x) * up),
        (Gate::SwigluOai { alpha: 1.702, limit: 1.5 }, oai),
    ]
}

#[test]
fn numbers_are_scaled_and_added() {
    let bench = Bench::open();
    let b = &*bench.backend;
    for (dtype, roundoff) in FLOATS {
        let (x, numbers) = bench.random(dtype, &[3, 70], 1, 4.0);
        let (y, others) = bench.random(dtype, &[3, 70], 2, 4.0);
        let (bias, biases) = bench.random(dtype, &[70], 3, 4.0);
        let out = bench.empty(dtype, &[3, 70]);
        b.affine(&x, 0.5, -1.5, &out).unwrap();
        // The product may be rounded to the type before the addition.
        let expected: Vec<f64> = numbers.iter().map(|x| 0.5 * x - 1.5).collect();
        bench.is_near(&out, &expected, |i| roundoff * numbers[i].abs(), "affine");
        b.add(&x, &y, &out).unwrap();
        let expected: Vec<f64> = numbers.iter().zip(&others).map(|(x, y)| x + y).collect();
        bench.is_near(&out, &expected, |_| 1e-6, "add");
        b.mul(&x, &y, &out).unwrap();
        let expected: Vec<f64> = numbers.iter().zip(&others).map(|(x, y)| x * y).collect();
        bench.is_near(&out, &expected, |_| 1e-6, "mul");
        b.add(&x, &bias, &out).unwrap();
        let expected: Vec<f64> = numbers.iter().enumerate().map(|(i, x)| x + biases[i % 70]).collect();
        bench.is_near(&out, &expected, |_| 1e-6, "a bias");
        b.mul(&x, &bias, &x).unwrap();
        let expected: Vec<f64> = numbers.iter().enumerate().map(|(i, x)| x * biases[i % 70]).collect();
        bench.is_near(&x, &expected, |_| 1e-6, "a factor for each column, in place");
    }
}

#[test]
fn functions_are_those_of_their_names() {
    let bench = Bench::open();
    type Function = fn(f64) -> f64;
    let functions: [(Activation, Function); 8] = [
        (Activation::Silu, silu),
        (Activation::Gelu, gelu),
        (Activation::GeluErf, gelu_erf),
        (Activation::Relu2, relu2),
        (Activation::Sigmoid, |x| 1.0 / (1.0 + (-x).exp())),
        (Activation::Tanh, f64::tanh),
        (Activation::Exp, f64::exp),
        (Activation::Softplus, |x| x.max(0.0) + (-x.abs()).exp().ln_1p()),
    ];
    for (dtype, _) in FLOATS {
        let (x, numbers) = bench.random(dtype, &[2, 77], 4, 5.0);
        let out = bench.empty(dtype, &[2, 77]);
        for (f, exact) in functions {
            bench.backend.activate(f, &x, &out).unwrap();
            let expected: Vec<f64> = numbers.iter().map(|x| exact(*x)).collect();
            bench.is_near(&out, &expected, |i| 4e-6 * (1.0 + expected[i].abs()), &format!("{f:?}"));
        }
        bench.backend.softcap(&x, 2.5, &out).unwrap();
        let expected: Vec<f64> = numbers.iter().map(|x| 2.5 * (x / 2.5).tanh()).collect();
        bench.is_near(&out, &expected, |_| 4e-6, "softcap");
        bench.backend.silu(&x, &x).unwrap();
        let expected: Vec<f64> = numbers.iter().map(|x| silu(*x)).collect();
        bench.is_near(&x, &expected, |_| 4e-6, "in place");
    }
}

#[test]
fn gates_multiply() {
    let bench = Bench::open();
    for (dtype, _) in FLOATS {
        let (x, numbers) = bench.random(dtype, &[2, 77], 5, 3.0);
        let (up, factors) = bench.random(dtype, &[2, 77], 6, 3.0);
        let out = bench.empty(dtype, &[2, 77]);
        for (gate, exact) in gates() {
            bench.backend.gated(gate, &x, &up, &out).unwrap();
            let expected: Vec<f64> = numbers.iter().zip(&factors).map(|(x, up)| exact(*x, *up)).collect();
            bench.is_near(&out, &expected, |i| 8e-6 * (1.0 + expected[i].abs()), &format!("{gate:?}"));
        }
        bench.backend.gated(Gate::Silu, &x, &up, &x).unwrap();
        let expected: Vec<f64> = numbers.iter().zip(&factors).map(|(x, up)| silu(*x) * up).collect();
        bench.is_near(&x, &expected, |_| 4e-5, "in place");
    }
}

#[test]
fn types_are_converted_with_one_rounding() {
    let bench = Bench::open();
    for (from, _) in FLOATS {
        let (x, numbers) = bench.random(from, &[5, 33], 7, 30.0);
        let narrow: Vec<f32> = numbers.iter().map(|x| *x as f32).collect();
        for (to, _) in FLOATS {
            let out = bench.empty(to, &[5, 33]);
            bench.backend.cast(&x, &out).unwrap();
            let expected: Vec<f32> = rounded(to, &narrow).iter().map(|x| *x as f32).collect();
            assert_eq!(bench.backend.to_f32(&out).unwrap(), expected, "{from} to {to}");
        }
        let f8 = bench.empty(DType::F8, &[5, 33]);
        bench.backend.cast(&x, &f8).unwrap();
        for (got, x) in bench.backend.to_f32(&f8).unwrap().iter().zip(&narrow) {
            assert!((got - x).abs() <= x.abs() / 16.0 + 1e-3, "{got} {x}");
        }
    }
}

#[test]
fn elements_are_copied_between_any_strides() {
    let bench = Bench::open();
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        let (x, numbers) = bench.random(dtype, &[4, 6, 5], 8, 4.0);
        let out = bench.empty(dtype, &[6, 4, 3]);
        bench.backend.copy(&x.transpose(0, 1).unwrap().narrow(2, 1, 3).unwrap(), &out).unwrap();
        let at = |i: usize| numbers[(i / 3 % 4 * 6 + i / 12) * 5 + i % 3 + 1];
        let expected: Vec<f64> = (0..72).map(at).collect();
        bench.is_near(&out, &expected, |_| 0.0, "from a transposed part");
        let whole = bench.backend.zeros(dtype, &[6, 4, 5]).unwrap();
        bench.backend.copy(&out, &whole.narrow(2, 2, 3).unwrap()).unwrap();
        let back: Vec<f64> =
            (0..120).map(|i| if i % 5 < 2 { 0.0 } else { expected[i / 5 * 3 + i % 5 - 2] }).collect();
        bench.is_near(&whole, &back, |_| 0.0, "to a part");
    }
    let ids = bench.u32(&[2, 3], &[1, 2, 3, 4, 5, 6]);
    let out = bench.empty(DType::U32, &[3, 2]);
    bench.backend.copy(&ids.transpose(0, 1).unwrap(), &out).unwrap();
    assert_eq!(bench.backend.to_u32(&out).unwrap(), [1, 4, 2, 5, 3, 6]);
}
