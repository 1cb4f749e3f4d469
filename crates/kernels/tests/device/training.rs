//! Gradients, the loss and the optimiser against f64. The gradients' formulas are compared with finite
//! differences.

use kernels::reference::Expected;
use kernels::{AdamW, AdamWState, Element, Error, Float};

use crate::common::{Bench, for_every_type, random};
use crate::record::{assert_exact, compare};

const U32: f64 = f32::UNIT_ROUNDOFF;
/// Rows shorter than a wave, around it, and longer than a workgroup.
const ROWS: [(usize, usize); 6] = [(3, 1), (2, 7), (4, 64), (9, 33), (2, 257), (2, 1032)];
const EPS: f32 = 1e-3;

fn values<T: Element>(x: &[T]) -> Vec<f64> {
    x.iter().map(|x| x.to_f64()).collect()
}

/// What a sum of this many terms in f32 loses of their magnitudes, plus a few roundings.
fn roundings(terms: usize) -> f64 {
    U32 * (16.0 + 2.0 * (terms as f64).sqrt())
}

/// Compares a gradient with central differences of a function.
#[track_caller]
fn agrees(gradient: &[f64], x: &[f64], function: impl Fn(&[f64]) -> f64) {
    const STEP: f64 = 1e-5;
    let mut x = x.to_vec();
    for at in (0..x.len()).step_by(x.len() / 7 + 1) {
        let kept = x[at];
        x[at] = kept + STEP;
        let above = function(&x);
        x[at] = kept - STEP;
        let below = function(&x);
        x[at] = kept;
        let expected = (above - below) / (2.0 * STEP);
        let error = (gradient[at] - expected).abs();
        assert!(error < 1e-6 * (1.0 + expected.abs()), "{at}: {} and {expected}", gradient[at]);
    }
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// `1 / √(mean(x²) + eps)`.
fn scale(row: &[f64]) -> f64 {
    1.0 / (dot(row, row) / row.len() as f64 + f64::from(EPS)).sqrt()
}

/// The gradient of a row's norm, with what f32 loses.
fn norm_back(x: &[f64], weighted: &[f64]) -> Vec<Expected> {
    let (s, n) = (scale(x), x.len() as f64);
    let along = dot(x, weighted) * s * s / n;
    let magnitude = x.iter().zip(weighted).map(|(x, w)| (x * w).abs()).sum::<f64>() * s * s / n;
    let lost = roundings(x.len());
    let of = |(x, w): (&f64, &f64)| Expected {
        value: s * (w - x * along),
        slack: lost * s * (w.abs() + x.abs() * magnitude),
    };
    x.iter().zip(weighted).map(of).collect()
}

fn norms<T: Float<Compute = f32>>(bench: &Bench) {
    for (rows, columns) in ROWS {
        let (x, grad) = (random::<T>(rows * columns, 71, 2.0), random::<T>(rows * columns, 72, 2.0));
        let (alpha, past) = (random::<T>(columns, 73, 2.0), random::<T>(rows * columns, 74, 2.0));
        let (device_x, device_grad) = (bench.upload(&x), bench.upload(&grad));
        let (device_alpha, device_past) = (bench.upload(&alpha), bench.upload(&past));
        for everything in [true, false] {
            let mut out = bench.zeroed::<T>(x.len());
            let mut scales = bench.zeroed::<f32>(rows);
            let weights = everything.then(|| device_alpha.as_slice());
            let add = everything.then(|| device_past.as_slice());
            let kept = everything.then(|| scales.as_mut_slice());
            let stream = &bench.stream;
            bench
                .kernels
                .rms_norm_backward(
                    stream,
                    &device_x,
                    columns,
                    weights,
                    EPS,
                    &device_grad,
                    add,
                    &mut out,
                    kept,
                )
                .unwrap();
            let mut expected = Vec::new();
            let rows_of = values(&x).chunks(columns).map(<[f64]>::to_vec).collect::<Vec<_>>();
            for (row, grad) in rows_of.iter().zip(values(&grad).chunks(columns)) {
                let weight = |i: usize| if everything { alpha[i].to_f64() } else { 1.0 };
                let weighted: Vec<f64> = grad.iter().enumerate().map(|(i, g)| g * weight(i)).collect();
                let gradient = norm_back(row, &weighted);
                let numbers: Vec<f64> = gradient.iter().map(|expected| expected.value).collect();
                agrees(&numbers, row, |row| dot(row, &weighted) * scale(row));
                expected.extend(gradient);
            }
            if everything {
                for (expected, past) in expected.iter_mut().zip(&past) {
                    expected.value += past.to_f64();
                    expected.slack += U32 * expected.value.abs();
                }
            }
            let result = compare(&bench.download(&out), expected);
            assert!(result.passed(), "{rows} × {columns} {}: {result:?}", T::NAME);
            if !everything {
                continue;
            }
            let found = bench.download(&scales);
            let expected = rows_of.iter().map(|row| {
                let value = scale(row);
                Expected { value, slack: roundings(columns) * value }
            });
            let result = compare(&found, expected);
            assert!(result.passed(), "scales of {rows} × {columns} {}: {result:?}", T::NAME);
            let mut out = bench.zeroed::<T>(columns);
            bench
                .kernels
                .rms_norm_weight_backward(stream, &device_x, columns, &scales, &device_grad, &mut out)
                .unwrap();
            let expected = (0..columns).map(|column| {
                let term = |row: usize| {
                    let at = row * columns + column;
                    grad[at].to_f64() * x[at].to_f64() * f64::from(found[row])
                };
                let magnitude = (0..rows).map(|row| term(row).abs()).sum::<f64>();
                Expected { value: (0..rows).map(term).sum(), slack: roundings(rows) * magnitude }
            });
            let result = compare(&bench.download(&out), expected);
            assert!(result.passed(), "weights of {rows} × {columns} {}: {result:?}", T::NAME);
        }
    }
}

#[test]
fn rms_norm_backward() {
    for_every_type!(norms);
}

fn gates<T: Float<Compute = f32>>(bench: &Bench) {
    let silu = |x: f64| x / (1.0 + (-x).exp());
    let derivative = |x: f64| {
        let sigmoid = 1.0 / (1.0 + (-x).exp());
        sigmoid * (1.0 + x * (1.0 - sigmoid))
    };
    let points: Vec<f64> = (-20..20).map(|i| f64::from(i) * 0.4).collect();
    let slopes: Vec<f64> = points.iter().map(|x| derivative(*x)).collect();
    agrees(&slopes, &points, |x| x.iter().map(|x| silu(*x)).sum());
    for elements in [1, 63, 1000] {
        let (gate, up) = (random::<T>(elements, 75, 6.0), random::<T>(elements, 76, 3.0));
        let grad = random::<T>(elements, 77, 2.0);
        let (mut gate_grad, mut up_grad) = (bench.zeroed::<T>(elements), bench.zeroed::<T>(elements));
        let (device_gate, device_up, device_grad) =
            (bench.upload(&gate), bench.upload(&up), bench.upload(&grad));
        bench
            .kernels
            .silu_gated_backward(
                &bench.stream,
                &device_gate,
                &device_up,
                &device_grad,
                &mut gate_grad,
                &mut up_grad,
            )
            .unwrap();
        let of_gate = (0..elements).map(|i| {
            let (x, y, g) = (gate[i].to_f64(), up[i].to_f64(), grad[i].to_f64());
            let sigmoid = 1.0 / (1.0 + (-x).exp());
            // The sum cancels around -1.3.
            let magnitude = (g * y).abs() * sigmoid * (1.0 + x.abs() * (1.0 - sigmoid));
            Expected { value: g * y * derivative(x), slack: 16.0 * U32 * magnitude }
        });
        let result = compare(&bench.download(&gate_grad), of_gate);
        assert!(result.passed(), "{elements} {}: {result:?}", T::NAME);
        let of_up = gate.iter().zip(&grad).map(|(x, g)| {
            let value = g.to_f64() * silu(x.to_f64());
            Expected { value, slack: 8.0 * U32 * value.abs() }
        });
        let result = compare(&bench.download(&up_grad), of_up);
        assert!(result.passed(), "up {elements} {}: {result:?}", T::NAME);
    }
}

#[test]
fn silu_gated_backward() {
    for_every_type!(gates);
}

/// `softmax(scale · x)`.
fn softmax(x: &[f64], scale: f64) -> Vec<f64> {
    let largest = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let exponentials: Vec<f64> = x.iter().map(|x| (scale * (x - largest)).exp()).collect();
    let sum: f64 = exponentials.iter().sum();
    exponentials.iter().map(|x| x / sum).collect()
}

fn weights_of_attention<T: Float<Compute = f32>>(bench: &Bench) {
    const SCALE: f32 = 0.3;
    for (heads, queries, columns) in [(3, 1, 1), (2, 5, 5), (2, 3, 70), (1, 4, 257), (1, 2, 1032)] {
        let rows = heads * queries;
        let x = random::<T>(rows * columns, 78, 8.0);
        let mut y = bench.upload(&vec![T::from_f64(55.0); x.len()]);
        let device_x = bench.upload(&x);
        bench.kernels.causal_softmax(&bench.stream, &device_x, queries, columns, SCALE, &mut y).unwrap();
        let numbers = values(&x);
        let mut expected = Vec::new();
        for (row, x) in numbers.chunks(columns).enumerate() {
            let seen = columns - queries + row % queries + 1;
            let largest = x.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
            let relative = roundings(columns) + 4.0 * U32 * f64::from(SCALE) * largest;
            let of = |value: f64| Expected { value, slack: relative * value };
            expected.extend(softmax(&x[..seen], f64::from(SCALE)).into_iter().map(of));
            expected.extend(vec![Expected { value: 0.0, slack: 0.0 }; columns - seen]);
        }
        let result = compare(&bench.download(&y), expected);
        assert!(result.passed(), "{heads} {queries} {columns} {}: {result:?}", T::NAME);
    }
}

#[test]
fn causal_softmax() {
    for_every_type!(weights_of_attention);
}

fn softmax_gradients<T: Float<Compute = f32>>(bench: &Bench) {
    const SCALE: f64 = 0.25;
    for (rows, columns) in ROWS {
        let scores = random::<f64>(rows * columns, 79, 6.0);
        let grad = random::<T>(rows * columns, 80, 2.0);
        let weights = |x: &[f64]| softmax(x, SCALE);
        let p: Vec<T> = scores.chunks(columns).flat_map(weights).map(T::from_f64).collect();
        let mut out = bench.zeroed::<T>(p.len());
        let (device_p, device_grad) = (bench.upload(&p), bench.upload(&grad));
        bench
            .kernels
            .softmax_backward(&bench.stream, &device_p, &device_grad, columns, SCALE as f32, &mut out)
            .unwrap();
        let back = |p: &[f64], grad: &[f64]| -> Vec<Expected> {
            let sum = dot(p, grad);
            let magnitude: f64 = p.iter().zip(grad).map(|(p, g)| (p * g).abs()).sum();
            let of = |(p, g): (&f64, &f64)| Expected {
                value: SCALE * p * (g - sum),
                slack: roundings(columns) * SCALE * p * (g.abs() + magnitude),
            };
            p.iter().zip(grad).map(of).collect()
        };
        let grads = values(&grad);
        for (x, grad) in scores.chunks(columns).zip(grads.chunks(columns)) {
            let gradient: Vec<f64> = back(&weights(x), grad).iter().map(|expected| expected.value).collect();
            agrees(&gradient, x, |x| dot(&weights(x), grad));
        }
        let numbers = values(&p);
        let expected = numbers.chunks(columns).zip(grads.chunks(columns)).flat_map(|(p, grad)| back(p, grad));
        let result = compare(&bench.download(&out), expected);
        assert!(result.passed(), "{rows} × {columns} {}: {result:?}", T::NAME);
    }
}

#[test]
fn softmax_backward() {
    for_every_type!(softmax_gradients);
}

fn losses<T: Float<Compute = f32>>(bench: &Bench) {
    const FACTOR: f32 = 0.125;
    for (rows, columns) in ROWS {
        let logits = random::<T>(rows * columns, 81, 9.0);
        // The last row has no target.
        let target = |row: usize| if row + 1 == rows { columns } else { (row * 5 + 3) % columns };
        let targets: Vec<u32> = (0..rows).map(|row| target(row) as u32).collect();
        let signed: Vec<i64> =
            (0..rows).map(|row| if row + 1 == rows { -1 } else { target(row) as i64 }).collect();
        let device_logits = bench.upload(&logits);
        let (mut loss, mut grad) = (bench.zeroed::<f32>(rows), bench.zeroed::<T>(logits.len()));
        let into = Some(grad.as_mut_slice());
        let stream = &bench.stream;
        let device_targets = bench.upload(&targets);
        bench
            .kernels
            .cross_entropy(stream, &device_logits, columns, &device_targets, &mut loss, FACTOR, into)
            .unwrap();
        let numbers = values(&logits);
        let of = |x: &[f64], target: usize| {
            let largest = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            x.iter().map(|x| (x - largest).exp()).sum::<f64>().ln() + largest - x[target]
        };
        let (mut expected_losses, mut expected_grads) = (Vec::new(), Vec::new());
        for (row, x) in numbers.chunks(columns).enumerate() {
            let target = target(row);
            if target == columns {
                expected_losses.push(Expected { value: 0.0, slack: 0.0 });
                expected_grads.extend(vec![Expected { value: 0.0, slack: 0.0 }; columns]);
                continue;
            }
            let largest = x.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
            let value = of(x, target);
            let slack = roundings(columns) * (1.0 + value.abs()) + 4.0 * U32 * largest;
            expected_losses.push(Expected { value, slack });
            let p = softmax(x, 1.0);
            let hit = |i: usize| f64::from(u8::from(i == target));
            let gradient: Vec<f64> = p.iter().enumerate().map(|(i, p)| p - hit(i)).collect();
            agrees(&gradient, x, |x| of(x, target));
            let relative = roundings(columns) + 4.0 * U32 * largest;
            expected_grads.extend(p.iter().zip(&gradient).enumerate().map(|(i, (p, value))| Expected {
                value: f64::from(FACTOR) * value,
                slack: f64::from(FACTOR) * (relative * p + 2.0 * U32 * hit(i)),
            }));
        }
        let found = bench.download(&loss);
        let result = compare(&found, expected_losses);
        assert!(result.passed(), "losses of {rows} × {columns} {}: {result:?}", T::NAME);
        let grads = bench.download(&grad);
        let result = compare(&grads, expected_grads);
        assert!(result.passed(), "{rows} × {columns} {}: {result:?}", T::NAME);
        // With 64-bit targets, where negative ones mean none, and without gradients.
        let mut again = bench.upload(&vec![7.0_f32; rows]);
        let signed = bench.upload(&signed);
        bench
            .kernels
            .cross_entropy(stream, &device_logits, columns, &signed, &mut again, FACTOR, None)
            .unwrap();
        assert_exact!(bench.download(&again), found, "{rows} × {columns} {}", T::NAME);
    }
}

#[test]
fn cross_entropy() {
    for_every_type!(losses);
}

fn tables<T: Float<Compute = f32>>(bench: &Bench) {
    for (rows, width, tokens) in [(5, 3, 17), (40, 64, 33), (3, 300, 300), (7, 1, 1)] {
        let grad = random::<T>(tokens * width, 82, 2.0);
        let before = random::<T>(rows * width, 83, 2.0);
        // Some are beyond the table.
        let ids: Vec<u32> = (0..tokens).map(|token| (token * token % (rows + 1)) as u32).collect();
        let mut sums: Vec<f32> = before.iter().map(|x| x.to_f64() as f32).collect();
        for (grad, id) in grad.chunks(width).zip(&ids) {
            let row = sums.get_mut(*id as usize * width..(*id as usize + 1) * width).unwrap_or_default();
            row.iter_mut().zip(grad).for_each(|(sum, grad)| *sum += grad.to_f64() as f32);
        }
        let expected: Vec<T> = sums.iter().map(|sum| T::from_f64(f64::from(*sum))).collect();
        let device_grad = bench.upload(&grad);
        let mut table = bench.upload(&before);
        bench
            .kernels
            .embedding_backward(&bench.stream, &device_grad, width, &bench.upload(&ids), &mut table)
            .unwrap();
        assert_exact!(
            values(&bench.download(&table)),
            values(&expected),
            "{rows} {width} {tokens} {}",
            T::NAME
        );
        let signed: Vec<i64> =
            ids.iter().map(|id| if *id as usize == rows { -1 } else { i64::from(*id) }).collect();
        let mut table = bench.upload(&before);
        bench
            .kernels
            .embedding_backward(&bench.stream, &device_grad, width, &bench.upload(&signed), &mut table)
            .unwrap();
        assert_exact!(
            values(&bench.download(&table)),
            values(&expected),
            "{rows} {width} {tokens} {}",
            T::NAME
        );
    }
}

#[test]
fn embedding_backward() {
    for_every_type!(tables);
}

fn steps<T: Float<Compute = f32>>(bench: &Bench) {
    let adam = AdamW { rate: 0.01, decay: 0.1, grad_factor: 0.5, ..AdamW::default() };
    for (elements, exact) in [(1, false), (1000, true), (70, false)] {
        let start = random::<T>(elements, 84, 1.0);
        let mut params = bench.upload(&start);
        let mut master = bench.upload(&start.iter().map(|x| x.to_f64() as f32).collect::<Vec<f32>>());
        let (mut mean, mut square) = (bench.zeroed::<f32>(elements), bench.zeroed::<f32>(elements));
        for step in 1..=3_usize {
            let before: Vec<f64> =
                if exact { values(&bench.download(&master)) } else { values(&bench.download(&params)) };
            let moments = (values(&bench.download(&mean)), values(&bench.download(&square)));
            let grad = random::<T>(elements, 84 + step as u64, 1.0);
            let device_grad = bench.upload(&grad);
            let state = AdamWState {
                master: exact.then(|| master.as_mut_slice()),
                mean: mean.as_mut_slice(),
                square: square.as_mut_slice(),
            };
            bench.kernels.adamw(&bench.stream, &adam, step, &mut params, &device_grad, state).unwrap();
            let (mut means, mut squares, mut weights) = (Vec::new(), Vec::new(), Vec::new());
            // The kernel's constants.
            let of = |number: f64| f64::from(number as f32);
            let (beta1, beta2, rate, decay, eps) =
                (of(adam.beta1), of(adam.beta2), of(adam.rate), of(adam.decay), of(adam.eps));
            for i in 0..elements {
                let g = adam.grad_factor * grad[i].to_f64();
                let mean = beta1 * moments.0[i] + (1.0 - beta1) * g;
                let square = beta2 * moments.1[i] + (1.0 - beta2) * g * g;
                let lost = 4.0 * U32 * (beta1 * moments.0[i].abs() + (1.0 - beta1) * g.abs());
                means.push(Expected { value: mean, slack: lost });
                squares.push(Expected { value: square, slack: 4.0 * U32 * square });
                let (first, second) = (1.0 - beta1.powi(step as i32), 1.0 - beta2.powi(step as i32));
                let divisor = (square / second).sqrt() + eps;
                let change = mean / first / divisor;
                let value = before[i] - rate * decay * before[i] - rate * change;
                let slack =
                    4.0 * U32 * before[i].abs() + rate * (16.0 * U32 * change.abs() + lost / first / divisor);
                weights.push(Expected { value, slack });
            }
            for (found, expected, what) in [(&mean, means, "mean"), (&square, squares, "square")] {
                let result = compare(&bench.download(found), expected);
                assert!(result.passed(), "{what} {elements} step {step} {}: {result:?}", T::NAME);
            }
            if exact {
                let result = compare(&bench.download(&master), weights);
                assert!(result.passed(), "master {elements} step {step} {}: {result:?}", T::NAME);
                let rounded: Vec<T> =
                    bench.download(&master).iter().map(|x| T::from_f64(f64::from(*x))).collect();
                assert_exact!(values(&bench.download(&params)), values(&rounded));
            } else {
                let result = compare(&bench.download(&params), weights);
                assert!(result.passed(), "{elements} step {step} {}: {result:?}", T::NAME);
            }
        }
    }
}

#[test]
fn adamw() {
    for_every_type!(steps);
}

#[test]
fn bad_arguments_are_refused() {
    let bench = Bench::open();
    let (kernels, stream) = (&bench.kernels, &bench.stream);
    let (x, three) = (bench.zeroed::<f32>(12), bench.zeroed::<f32>(3));
    let (mut y, mut short) = (bench.zeroed::<f32>(12), bench.zeroed::<f32>(8));
    let norm = |columns, grad, add, scales| {
        kernels.rms_norm_backward(
            stream,
            &x,
            columns,
            None,
            EPS,
            grad,
            add,
            &mut bench.zeroed::<f32>(12),
            scales,
        )
    };
    assert!(matches!(norm(5, &x, None, None), Err(Error::Size { parameter: "columns", .. })));
    assert!(matches!(norm(4, &three, None, None), Err(Error::Length { buffer: "grad", got: 3, .. })));
    let add = Some(three.as_slice());
    assert!(matches!(norm(4, &x, add, None), Err(Error::Length { buffer: "add", .. })));
    let scales = Some(short.as_mut_slice());
    assert!(matches!(norm(4, &x, None, scales), Err(Error::Length { buffer: "scales", expected: 3, .. })));
    let error = kernels.rms_norm_weight_backward(stream, &x, 4, &three, &x, &mut y).unwrap_err();
    assert!(matches!(error, Error::Length { buffer: "alpha_grad", expected: 4, got: 12, .. }), "{error}");
    let error = kernels.silu_gated_backward(stream, &x, &x, &x, &mut y, &mut short).unwrap_err();
    assert!(matches!(error, Error::Length { buffer: "up_grad", .. }), "{error}");
    for queries in [0, 2, 5] {
        let error = kernels.causal_softmax(stream, &x, queries, 4, 1.0, &mut y).unwrap_err();
        assert!(matches!(error, Error::Size { parameter: "queries", .. }), "{queries}: {error}");
    }
    let error = kernels.softmax_backward(stream, &x, &three, 4, 1.0, &mut y).unwrap_err();
    assert!(matches!(error, Error::Length { buffer: "grad", .. }), "{error}");
    let (targets, mut losses) = (bench.zeroed::<u32>(3), bench.zeroed::<f32>(2));
    let error = kernels.cross_entropy(stream, &x, 4, &targets, &mut losses, 1.0, None).unwrap_err();
    assert!(matches!(error, Error::Length { buffer: "losses", expected: 3, got: 2, .. }), "{error}");
    let error = kernels.embedding_backward(stream, &x, 5, &targets, &mut y).unwrap_err();
    assert!(matches!(error, Error::Size { parameter: "width", .. }), "{error}");
    let error = kernels.embedding_backward(stream, &three, 4, &targets, &mut y).unwrap_err();
    assert!(matches!(error, Error::Length { buffer: "grad", expected: 12, .. }), "{error}");
    let (mut mean, mut square) = (bench.zeroed::<f32>(12), bench.zeroed::<f32>(12));
    let state = AdamWState { master: None, mean: mean.as_mut_slice(), square: square.as_mut_slice() };
    let error = kernels.adamw(stream, &AdamW::default(), 0, &mut y, &x, state).unwrap_err();
    assert!(matches!(error, Error::Size { parameter: "step", .. }), "{error}");
    let master = Some(short.as_mut_slice());
    let state = AdamWState { master, mean: mean.as_mut_slice(), square: square.as_mut_slice() };
    let error = kernels.adamw(stream, &AdamW::default(), 1, &mut y, &x, state).unwrap_err();
    assert!(matches!(error, Error::Length { buffer: "master", .. }), "{error}");
    let none = bench.zeroed::<f32>(0);
    kernels.softmax_backward(stream, &none, &none, 4, 1.0, &mut bench.zeroed::<f32>(0)).unwrap();
}
