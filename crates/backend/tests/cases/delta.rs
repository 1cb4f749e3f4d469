//! Gated delta nets.

use backend::{DType, GatedDelta};

use crate::common::{Bench, FLOATS};

#[test]
fn convolutions_continue_from_a_state() {
    let bench = Bench::open();
    let (sequences, channels) = (2, 70);
    for (dtype, _) in FLOATS {
        for width in [2, 4] {
            let before = width - 1;
            let (weight, weights) = bench.random(dtype, &[channels, width], 91, 1.0);
            let (states, mut kept) = bench.random(DType::F32, &[3, channels, before], 92, 1.0);
            let slots = bench.u32(&[sequences], &[2, 0]);
            for tokens in [1, 5] {
                // The middle of three packed parts.
                let (packed, numbers) = bench.random(dtype, &[sequences, tokens, 3 * channels], 93, 1.0);
                let x = packed.narrow(2, channels, channels).unwrap();
                let out = bench.empty(dtype, &[sequences, tokens, channels]);
                bench.backend.causal_conv(&x, &weight, &states, &slots, &out).unwrap();
                let mut expected = vec![0.0; sequences * tokens * channels];
                for (sequence, slot) in [2, 0].into_iter().enumerate() {
                    for c in 0..channels {
                        let state = &mut kept[(slot * channels + c) * before..][..before];
                        let mut all = state.to_vec();
                        let row = |t: usize| (sequence * tokens + t) * 3 * channels + channels + c;
                        all.extend((0..tokens).map(|t| numbers[row(t)]));
                        for t in 0..tokens {
                            let window = all[t..t + width].iter().zip(&weights[c * width..]);
                            expected[(sequence * tokens + t) * channels + c] =
                                window.map(|(x, w)| x * w).sum();
                        }
                        state.copy_from_slice(&all[tokens..]);
                    }
                }
                bench.is_near(&out, &expected, |_| 2e-6, &format!("width {width}, {tokens} tokens"));
                bench.is_near(&states, &kept, |_| 1e-7, "the states");
            }
            let none = bench.u32(&[1], &[9]);
            let x = bench.tensor(dtype, &[1, 1, channels], &vec![1.0; channels]);
            let out = bench.empty(dtype, &[1, 1, channels]);
            bench.backend.causal_conv(&x, &weight, &states, &none, &out).unwrap();
            let expected: Vec<f64> = weights.chunks(width).map(|w| w[before]).collect();
            bench.is_near(&out, &expected, |_| 0.0, "without a state");
            bench.is_near(&states, &kept, |_| 1e-7, "which stay");
        }
    }
}

#[test]
fn states_follow_the_gated_delta_rule() {
    let bench = Bench::open();
    let (sequences, key_heads, heads, key, value) = (2, 2, 4, 16, 24);
    for (dtype, _) in FLOATS {
        let (states, mut kept) = bench.random(DType::F32, &[3, heads, key, value], 94, 0.5);
        let slots = bench.u32(&[sequences], &[2, 1]);
        for tokens in [1, 6] {
            // Queries, keys and values from one product.
            let parts = [key_heads * key, key_heads * key, heads * value];
            let row: usize = parts.iter().sum();
            let (packed, numbers) = bench.random(dtype, &[sequences, tokens, row], 95, 0.5);
            let part = |start, len, size| packed.narrow(2, start, len).unwrap().split(2, size).unwrap();
            let (q, k) = (part(0, parts[0], key), part(parts[0], parts[1], key));
            let v = part(parts[0] + parts[1], parts[2], value);
            let shape = [sequences, tokens, heads];
            let (gates, of_gates) = bench.random(DType::F32, &shape, 96, 1.0);
            let (betas, of_betas) = bench.random(DType::F32, &shape, 97, 1.0);
            let out = bench.empty(dtype, &[sequences, tokens, heads, value]);
            let (states_of, gates, betas) = (&states, &gates, &betas);
            let delta = GatedDelta {
                q: &q,
                k: &k,
                v: &v,
                gates,
                betas,
                states: states_of,
                slots: &slots,
                scale: 0.25,
            };
            bench.backend.gated_delta(&delta, &out).unwrap();
            let mut expected = vec![0.0; sequences * tokens * heads * value];
            for (sequence, slot) in [2, 1].into_iter().enumerate() {
                for head in 0..heads {
                    let state = &mut kept[(slot * heads + head) * key * value..][..key * value];
                    for t in 0..tokens {
                        let token = sequence * tokens + t;
                        let of_row = |start: usize, len: usize| &numbers[token * row + start..][..len];
                        let (q, k) = (of_row(head / 2 * key, key), of_row(parts[0] + head / 2 * key, key));
                        let v = of_row(parts[0] + parts[1] + head * value, value);
                        let (gate, beta) =
                            (of_gates[token * heads + head].exp(), of_betas[token * heads + head]);
                        for j in 0..value {
                            let known: f64 = (0..key).map(|i| state[i * value + j] * gate * k[i]).sum();
                            let change = (v[j] - known) * beta;
                            let mut sum = 0.0;
                            for i in 0..key {
                                let s = &mut state[i * value + j];
                                *s = *s * gate + k[i] * change;
                                sum += *s * q[i];
                            }
                            expected[(token * heads + head) * value + j] = 0.25 * sum;
                        }
                    }
                }
            }
            bench.is_near(&out, &expected, |_| 3e-5, &format!("{tokens} tokens"));
            bench.is_near(&states, &kept, |i| 1e-5 * (1.0 + kept[i].abs()), "the states");
        }
    }
}
