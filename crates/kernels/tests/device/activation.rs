//! Gated activations against f64.

use kernels::reference::Expected;
use kernels::{Activation, Element, Error, Float};

use crate::common::{Bench, for_every_type, random, special};
use crate::record::{compare, difference};

const U32: f64 = f32::UNIT_ROUNDOFF;

fn exact(f: Activation, x: f64) -> f64 {
    match f {
        Activation::Silu => x / (1.0 + (-x).exp()),
        Activation::Gelu => {
            let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x * x * x);
            0.5 * x * (1.0 + inner.tanh())
        }
        Activation::GeluErf => 0.5 * x * libm::erfc(-x / std::f64::consts::SQRT_2),
        Activation::Relu2 => {
            if x < 0.0 {
                0.0
            } else {
                x * x
            }
        }
    }
}

/// What f32 arithmetic may lose. In gelu, 1 + tanh cancels, so the error is that of the sum's terms.
fn expected(f: Activation, x: f64, up: f64) -> Expected {
    let value = exact(f, x);
    let slack = match f {
        Activation::Gelu => 16.0 * U32 * x.abs(),
        Activation::GeluErf => 64.0 * U32 * value.abs(),
        Activation::Silu | Activation::Relu2 => 6.0 * U32 * value.abs(),
    };
    Expected { value: value * up, slack: slack * up.abs() + U32 * (value * up).abs() }
}

const ALL: [Activation; 4] = [Activation::Silu, Activation::Gelu, Activation::GeluErf, Activation::Relu2];

fn gates<T: Float<Compute = f32>>(bench: &Bench) {
    // whole packs and not
    for (rows, columns) in [(1, 1), (3, 17), (5, 64), (2, 1000)] {
        let packed = random::<T>(rows * columns * 2, 51, 4.0);
        let part = |first: usize| -> Vec<T> {
            packed.chunks(2 * columns).flat_map(|row| row[first..first + columns].to_vec()).collect()
        };
        let (gate, up) = (part(0), part(columns));
        let (device_packed, device_gate, device_up) =
            (bench.upload(&packed), bench.upload(&gate), bench.upload(&up));
        for f in ALL {
            let want = || gate.iter().zip(&up).map(|(x, up)| expected(f, x.to_f64(), up.to_f64()));
            let mut out = bench.zeroed::<T>(gate.len());
            bench.kernels.gated(&bench.stream, f, &device_gate, &device_up, &mut out).unwrap();
            let result = compare(&bench.download(&out), want());
            assert!(result.passed(), "{f:?} {rows} × {columns} {}: {result:?}", T::NAME);
            let mut out = bench.zeroed::<T>(gate.len());
            bench.kernels.gated_packed(&bench.stream, f, &device_packed, columns, &mut out).unwrap();
            let result = compare(&bench.download(&out), want());
            assert!(result.passed(), "packed {f:?} {rows} × {columns} {}: {result:?}", T::NAME);
            let mut out = bench.zeroed::<T>(gate.len());
            bench.kernels.activate(&bench.stream, f, &device_gate, &mut out).unwrap();
            let result = compare(&bench.download(&out), gate.iter().map(|x| expected(f, x.to_f64(), 1.0)));
            assert!(result.passed(), "alone {f:?} {rows} × {columns} {}: {result:?}", T::NAME);
        }
    }
}

#[test]
fn gated() {
    for_every_type!(gates);
}

fn other_functions<T: Float<Compute = f32>>(bench: &Bench) {
    for (rows, columns) in [(1, 1), (3, 17), (5, 64), (2, 1000)] {
        let (a, b) = (random::<T>(rows * columns, 53, 4.0), random::<T>(rows * columns, 54, 4.0));
        let bias = &b[..columns];
        let (x, up, device_bias) = (bench.upload(&a), bench.upload(&b), bench.upload(bias));
        let mut out = bench.zeroed::<T>(a.len());
        let same = |got: Vec<T>, want: &dyn Fn(usize) -> Expected, name: &str| {
            let result = compare(&got, (0..a.len()).map(want));
            assert!(result.passed(), "{name} {rows} × {columns} {}: {result:?}", T::NAME);
        };
        let (kernels, stream) = (&bench.kernels, &bench.stream);
        kernels.swiglu_oai(stream, (1.702, 2.0), &x, &up, &mut out).unwrap();
        let gate = |i: usize| {
            let (x, up) = (a[i].to_f64().min(2.0), b[i].to_f64().clamp(-2.0, 2.0));
            let value = x / (1.0 + (-f64::from(1.702_f32) * x).exp()) * (up + 1.0);
            Expected { value, slack: 12.0 * U32 * value.abs() }
        };
        same(bench.download(&out), &gate, "swiglu_oai");
        kernels.softcap(stream, 2.5, &x, &mut out).unwrap();
        let capped = |i: usize| {
            let value = 2.5 * (a[i].to_f64() / 2.5).tanh();
            Expected { value, slack: 8.0 * U32 * value.abs() }
        };
        same(bench.download(&out), &capped, "softcap");
        kernels.add_rows(stream, &x, &device_bias, &mut out).unwrap();
        let sum = |i: usize| Expected { value: a[i].to_f64() + bias[i % columns].to_f64(), slack: U32 * 8.0 };
        same(bench.download(&out), &sum, "add_rows");
        kernels.mul_rows(stream, &x, &device_bias, &mut out).unwrap();
        let product =
            |i: usize| Expected { value: a[i].to_f64() * bias[i % columns].to_f64(), slack: U32 * 16.0 };
        same(bench.download(&out), &product, "mul_rows");
    }
}

#[test]
fn rows_and_gates_of_other_kinds() {
    for_every_type!(other_functions);
}

/// Not aligned to 16 bytes: a slice that begins at the second element.
fn gates_from_anywhere<T: Float<Compute = f32>>(bench: &Bench) {
    let x = random::<T>(65, 52, 4.0);
    let device_x = bench.upload(&x);
    let mut out = bench.zeroed::<T>(64);
    bench.kernels.activate(&bench.stream, Activation::Silu, device_x.slice(1..).unwrap(), &mut out).unwrap();
    let want = x[1..].iter().map(|x| expected(Activation::Silu, x.to_f64(), 1.0));
    let result = compare(&bench.download(&out), want);
    assert!(result.passed(), "{}: {result:?}", T::NAME);
}

#[test]
fn from_anywhere() {
    for_every_type!(gates_from_anywhere);
}

fn special_numbers<T: Float<Compute = f32>>(bench: &Bench) {
    let x = special::<T>();
    let device_x = bench.upload(&x);
    for f in ALL {
        let mut out = bench.zeroed::<T>(x.len());
        bench.kernels.activate(&bench.stream, f, &device_x, &mut out).unwrap();
        for (x, out) in x.iter().zip(bench.download(&out)) {
            let (x, out) = (x.to_f64(), out.to_f64());
            // minus infinity times zero is NaN for all except relu²
            let want = if x == f64::NEG_INFINITY && f != Activation::Relu2 { f64::NAN } else { exact(f, x) };
            if want.is_nan() || x.is_infinite() || x == 0.0 {
                difference(out, want);
                assert!(out == want || out.is_nan() && want.is_nan(), "{f:?} {x}: {out}, not {want}");
            }
        }
    }
}

#[test]
fn special_values() {
    for_every_type!(special_numbers);
}

#[test]
fn bad_shapes_are_refused() {
    let bench = Bench::open();
    let (kernels, stream) = (&bench.kernels, &bench.stream);
    let (x, short, mut out) = (bench.zeroed::<f32>(12), bench.zeroed::<f32>(11), bench.zeroed::<f32>(6));
    let error = kernels.gated(stream, Activation::Silu, &x, &short, &mut out).unwrap_err();
    assert_eq!(error.to_string(), "gated: `up` has 11 elements, but needs 12");
    for columns in [0, 5, usize::MAX] {
        let error = kernels.gated_packed(stream, Activation::Silu, &x, columns, &mut out).unwrap_err();
        assert!(matches!(error, Error::Size { parameter: "columns", .. }), "{error}");
    }
    let mut long = bench.zeroed::<f32>(7);
    let error = kernels.gated_packed(stream, Activation::Silu, &x, 3, &mut long).unwrap_err();
    assert!(matches!(error, Error::Length { buffer: "out", expected: 6, got: 7, .. }));
    let error = kernels.activate(stream, Activation::Silu, &x, &mut out).unwrap_err();
    assert!(matches!(error, Error::Length { operation: "activate", .. }));
    let error = kernels.swiglu_oai(stream, (1.0, 1.0), &x, &short, &mut out).unwrap_err();
    assert!(matches!(error, Error::Length { operation: "swiglu_oai", .. }));
    let error = kernels.softcap(stream, 1.0, &x, &mut out).unwrap_err();
    assert!(matches!(error, Error::Length { operation: "softcap", .. }));
    let mut long = bench.zeroed::<f32>(12);
    let error = kernels.add_rows(stream, &x, &short, &mut long).unwrap_err();
    assert!(matches!(error, Error::Size { operation: "add_rows", got: 11, .. }), "{error}");
}
