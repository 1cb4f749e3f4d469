//! Gated delta nets against f64.

use kernels::reference::Expected;
use kernels::{CausalConv, Element, Error, Float, GatedDelta, Heads};

use crate::common::{Bench, for_every_type, random};
use crate::record::compare;

const U32: f64 = f32::UNIT_ROUNDOFF;

fn convolution<T: Float<Compute = f32>>(bench: &Bench) {
    let (sequences, channels) = (2, 77);
    for (width, tokens) in [(2, 1), (3, 5), (4, 1), (4, 9)] {
        let conv = CausalConv { sequences, tokens, channels, width, row_stride: channels + 3 };
        let (before, rows) = (width - 1, sequences * tokens);
        let x = random::<T>(rows * conv.row_stride, 111, 1.0);
        let weight = random::<T>(channels * width, 112, 1.0);
        let states = random::<f32>(3 * channels * before, 113, 1.0);
        let (mut wanted, mut kept) =
            (vec![Expected { value: 0.0, slack: 0.0 }; rows * channels], states.clone());
        // The second sequence has no state.
        for (sequence, slot) in [Some(2), None].into_iter().enumerate() {
            for c in 0..channels {
                let mut all: Vec<f32> = match slot {
                    Some(slot) => states[(slot * channels + c) * before..][..before].to_vec(),
                    None => vec![0.0; before],
                };
                let row = |t: usize| (sequence * tokens + t) * conv.row_stride + c;
                all.extend((0..tokens).map(|t| x[row(t)].to_f64() as f32));
                for t in 0..tokens {
                    let terms = || {
                        let weights = weight[c * width..].iter().map(|w| w.to_f64());
                        all[t..t + width].iter().zip(weights).map(|(x, w)| f64::from(*x) * w)
                    };
                    let slack = 4.0 * U32 * terms().map(f64::abs).sum::<f64>();
                    wanted[(sequence * tokens + t) * channels + c] = Expected { value: terms().sum(), slack };
                }
                if let Some(slot) = slot {
                    kept[(slot * channels + c) * before..][..before].copy_from_slice(&all[tokens..]);
                }
            }
        }
        let (device_x, device_weight) = (bench.upload(&x), bench.upload(&weight));
        let (mut device_states, slots) = (bench.upload(&states), bench.upload(&[2_u32, u32::MAX]));
        let mut out = bench.zeroed::<T>(rows * channels);
        let (kernels, stream) = (&bench.kernels, &bench.stream);
        kernels
            .causal_conv(stream, &conv, &device_x, &device_weight, &mut device_states, &slots, &mut out)
            .unwrap();
        let result = compare(&bench.download(&out), wanted);
        assert!(result.passed(), "{conv:?} {}: {result:?}", T::NAME);
        assert_eq!(bench.download(&device_states), kept, "{conv:?}");
    }
}

#[test]
fn causal_convolutions() {
    for_every_type!(convolution);
}

fn rule<T: Float<Compute = f32>>(bench: &Bench) {
    for (key_heads, heads, key, value, tokens) in [(1, 1, 8, 5, 1), (2, 4, 16, 70, 6), (1, 3, 33, 300, 2)] {
        let sequences = 2;
        let (q, k) = (Heads::contiguous(key_heads, key), Heads::contiguous(key_heads, key));
        let v = Heads { token_stride: heads * value + 7, ..Heads::contiguous(heads, value) };
        let delta = GatedDelta { sequences, tokens, q, k, v, scale: 0.5 };
        let all = sequences * tokens;
        let (queries, keys) =
            (random::<T>(all * key_heads * key, 114, 0.4), random::<T>(all * key_heads * key, 115, 0.4));
        let values = random::<T>(all * v.token_stride, 116, 1.0);
        let (gates, betas) = (random::<f32>(all * heads, 117, 1.0), random::<f32>(all * heads, 118, 1.0));
        let states = random::<f32>(2 * heads * key * value, 119, 0.5);
        let mut wanted = vec![Expected { value: 0.0, slack: 0.0 }; all * heads * value];
        let mut kept: Vec<f64> = states.iter().map(|x| f64::from(*x)).collect();
        // The second sequence has no state, and results of 0.
        for head in 0..heads {
            let state = &mut kept[(heads + head) * key * value..][..key * value];
            for t in 0..tokens {
                let of_key = (t * key_heads + head / (heads / key_heads)) * key;
                let gate = f64::from(gates[t * heads + head]).exp();
                for j in 0..value {
                    let k = |i: usize| keys[of_key + i].to_f64();
                    let known: f64 = (0..key).map(|i| state[i * value + j] * gate * k(i)).sum();
                    let new = values[t * v.token_stride + head * value + j].to_f64();
                    let change = (new - known) * f64::from(betas[t * heads + head]);
                    let (mut sum, mut size) = (0.0, 0.0);
                    for i in 0..key {
                        let s = &mut state[i * value + j];
                        *s = *s * gate + k(i) * change;
                        sum += *s * queries[of_key + i].to_f64();
                        size += (*s * queries[of_key + i].to_f64()).abs();
                    }
                    let slack = U32 * (key + 40) as f64 * (size + 1.0);
                    wanted[(t * heads + head) * value + j] = Expected { value: 0.5 * sum, slack };
                }
            }
        }
        let (queries, keys, values) = (bench.upload(&queries), bench.upload(&keys), bench.upload(&values));
        let (gates, betas) = (bench.upload(&gates), bench.upload(&betas));
        let (mut device_states, slots) = (bench.upload(&states), bench.upload(&[1_u32, 2]));
        let mut out = bench.zeroed::<T>(all * heads * value);
        let (kernels, stream, states) = (&bench.kernels, &bench.stream, &mut device_states);
        kernels
            .gated_delta(stream, &delta, &queries, &keys, &values, &gates, &betas, states, &slots, &mut out)
            .unwrap();
        let result = compare(&bench.download(&out), wanted);
        assert!(result.passed(), "{delta:?} {}: {result:?}", T::NAME);
        for (got, expected) in bench.download(&device_states).iter().zip(&kept) {
            assert!((f64::from(*got) - expected).abs() <= 1e-5 * (1.0 + expected.abs()), "{got} {expected}");
        }
    }
}

#[test]
fn delta_rules() {
    for_every_type!(rule);
}

#[test]
fn bad_shapes_are_refused() {
    let bench = Bench::open();
    let (kernels, stream) = (&bench.kernels, &bench.stream);
    let (x, slots) = (bench.zeroed::<f32>(60), bench.zeroed::<u32>(2));
    let (mut states, mut out) = (bench.zeroed::<f32>(60), bench.zeroed::<f32>(20));
    let good = CausalConv { sequences: 2, tokens: 1, channels: 10, width: 4, row_stride: 10 };
    let weight = bench.zeroed::<f32>(40);
    for (conv, parameter) in
        [(CausalConv { width: 5, ..good }, "width"), (CausalConv { row_stride: 9, ..good }, "row_stride")]
    {
        let error =
            kernels.causal_conv(stream, &conv, &x, &weight, &mut states, &slots, &mut out).unwrap_err();
        assert!(matches!(error, Error::Size { parameter: got, .. } if got == parameter), "{error}");
    }
    let far = CausalConv { row_stride: 51, ..good };
    let error = kernels.causal_conv(stream, &far, &x, &weight, &mut states, &slots, &mut out).unwrap_err();
    assert!(matches!(error, Error::Length { buffer: "x", expected: 61, got: 60, .. }), "{error}");
    let heads = |heads, size| Heads::contiguous(heads, size);
    let delta = |q, k, v| GatedDelta { sequences: 2, tokens: 1, q, k, v, scale: 1.0 };
    for (delta, parameter) in [
        (delta(heads(2, 5), heads(2, 5), heads(3, 5)), "heads of k"),
        (delta(heads(2, 4), heads(2, 5), heads(2, 5)), "heads of q"),
    ] {
        let numbers = bench.zeroed::<f32>(4);
        let error = kernels
            .gated_delta(stream, &delta, &x, &x, &x, &numbers, &numbers, &mut states, &slots, &mut out)
            .unwrap_err();
        assert!(matches!(error, Error::Size { parameter: got, .. } if got == parameter), "{error}");
    }
}
