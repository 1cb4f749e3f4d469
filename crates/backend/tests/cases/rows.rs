//! Operations row by row.

use backend::{DType, QuantType, Rope, RopeScaling, RopeStyle, rope_frequencies};

use crate::common::{Bench, FLOATS};

fn norm(row: &[f64], eps: f64) -> f64 {
    (row.iter().map(|x| x * x).sum::<f64>() / row.len() as f64 + eps).sqrt()
}

#[test]
fn rows_are_normalised() {
    let bench = Bench::open();
    let b = &*bench.backend;
    for (dtype, _) in FLOATS {
        for columns in [64, 200] {
            let shape = [3, columns];
            let (x, numbers) = bench.random(dtype, &shape, 11, 3.0);
            let (weight, weights) = bench.random(dtype, &[columns], 12, 2.0);
            let (bias, biases) = bench.random(dtype, &[columns], 13, 2.0);
            let out = bench.empty(dtype, &shape);
            let rows = || numbers.chunks(columns);
            let each = |f: &dyn Fn(&[f64], usize) -> f64| -> Vec<f64> {
                rows().flat_map(|row| (0..columns).map(move |i| f(row, i))).collect()
            };
            b.rmsnorm(&x, Some(&weight), 1e-5, &out).unwrap();
            bench.is_near(&out, &each(&|row, i| row[i] / norm(row, 1e-5) * weights[i]), |_| 1e-5, "rmsnorm");
            b.rmsnorm(&x, None, 1e-5, &out).unwrap();
            bench.is_near(&out, &each(&|row, i| row[i] / norm(row, 1e-5)), |_| 1e-5, "without weight");
            b.layer_norm(&x, Some(&weight), Some(&bias), 1e-5, &out).unwrap();
            let expected = each(&|row, i| {
                let mean = row.iter().sum::<f64>() / row.len() as f64;
                let centred: Vec<f64> = row.iter().map(|x| x - mean).collect();
                centred[i] / norm(&centred, 1e-5) * weights[i] + biases[i]
            });
            bench.is_near(&out, &expected, |_| 1e-5, "layer_norm");
            b.l2norm(&x, 1e-6, &out).unwrap();
            let expected = each(&|row, i| row[i] / row.iter().map(|x| x * x).sum::<f64>().sqrt());
            bench.is_near(&out, &expected, |_| 1e-6, "l2norm");
            b.softmax(&x, &out).unwrap();
            let expected = each(&|row, i| row[i].exp() / row.iter().map(|x| x.exp()).sum::<f64>());
            bench.is_near(&out, &expected, |_| 1e-6, "softmax");
            b.rmsnorm(&x, Some(&weight), 1e-5, &x).unwrap();
            bench.is_near(&x, &each(&|row, i| row[i] / norm(row, 1e-5) * weights[i]), |_| 1e-5, "in place");
        }
    }
}

#[test]
fn the_residual_is_added_before_the_norm() {
    let bench = Bench::open();
    for (dtype, roundoff) in FLOATS {
        let (x, numbers) = bench.random(dtype, &[2, 96], 14, 3.0);
        let (residual, before) = bench.random(dtype, &[2, 96], 15, 3.0);
        let (weight, weights) = bench.random(dtype, &[96], 16, 2.0);
        let out = bench.empty(dtype, &[2, 96]);
        bench.backend.add_rmsnorm(&x, &residual, Some(&weight), 1e-6, &out).unwrap();
        let sums: Vec<f64> = numbers.iter().zip(&before).map(|(a, b)| a + b).collect();
        bench.is_near(&residual, &sums, |_| 1e-6, "the sum");
        let expected: Vec<f64> = sums
            .chunks(96)
            .flat_map(|row| row.iter().zip(&weights).map(move |(x, w)| x / norm(row, 1e-6) * w))
            .collect();
        // The norm is that of the rounded sum.
        bench.is_near(&out, &expected, |i| 2.0 * roundoff * expected[i].abs() + 1e-5, "the norm");
    }
}

#[test]
fn softmax_of_a_view_leaves_the_rest_alone() {
    let bench = Bench::open();
    for (dtype, _) in FLOATS {
        let (x, numbers) = bench.random(dtype, &[2, 3, 40], 17, 3.0);
        bench.backend.softmax_view(&x.narrow(2, 0, 25).unwrap()).unwrap();
        let expected: Vec<f64> = numbers
            .chunks(40)
            .flat_map(|row| {
                let sum: f64 = row[..25].iter().map(|x| x.exp()).sum();
                (0..40).map(move |i| if i < 25 { row[i].exp() / sum } else { row[i] })
            })
            .collect();
        bench.is_near(&x, &expected, |_| 1e-6, "softmax_view");
    }
}

#[test]
fn rows_of_tables_are_looked_up() {
    let bench = Bench::open();
    let ids = bench.u32(&[4], &[6, 0, 3, 6]);
    for (dtype, _) in FLOATS {
        let (table, numbers) = bench.random(dtype, &[7, 64], 18, 3.0);
        let out = bench.empty(dtype, &[4, 64]);
        bench.backend.embedding(&table, &ids, &out).unwrap();
        let expected: Vec<f64> =
            [6, 0, 3, 6].iter().flat_map(|row| numbers[row * 64..][..64].to_vec()).collect();
        bench.is_near(&out, &expected, |_| 0.0, "embedding");
        let blocks = QuantType::Q4_1.quantize(&crate::common::random(7 * 64, 19, 1.0)).unwrap();
        let table = bench.backend.tensor_of_bytes(DType::Quant(QuantType::Q4_1), &[7, 64], &blocks).unwrap();
        bench.backend.embedding(&table, &ids, &out).unwrap();
        let numbers = QuantType::Q4_1.dequantize(&blocks);
        let row = |row: &usize| numbers[row * 64..][..64].iter().map(|x| f64::from(*x)).collect::<Vec<_>>();
        let expected: Vec<f64> = [6, 0, 3, 6].iter().flat_map(row).collect();
        bench.is_near(&out, &expected, |_| 1e-6, "quantised");
    }
}

#[test]
fn heads_are_rotated() {
    let bench = Bench::open();
    let scaling = RopeScaling::Llama3 {
        factor: 8.0,
        original_context: 64.0,
        low_frequency_factor: 1.0,
        high_frequency_factor: 4.0,
    };
    let rope = Rope { base: 10_000.0, scaling, ..Rope::new(24) };
    let factors: Vec<f32> = (0..12).map(|i| 1.0 + i as f32 / 4.0).collect();
    let frequencies = rope_frequencies(&rope, Some(&factors)).unwrap();
    let positions = [0_u32, 1, 1000];
    let (tokens, heads, dim, half) = (3, 2, 32, 12);
    let table = bench.backend.rope_frequencies(&frequencies, 1.25).unwrap();
    let places = bench.u32(&[tokens], &positions);
    let (cos, sin) = (bench.empty(DType::F32, &[tokens, half]), bench.empty(DType::F32, &[tokens, half]));
    bench.backend.rope_table(&table, &places, &cos, &sin).unwrap();
    for (dtype, _) in FLOATS {
        for style in [RopeStyle::HalfSplit, RopeStyle::Interleaved] {
            // The middle of three packed parts, as of one product for queries, keys and values.
            let (packed, numbers) = bench.random(dtype, &[tokens, 3 * heads * dim], 20, 2.0);
            let x = packed.narrow(1, heads * dim, heads * dim).unwrap().split(1, dim).unwrap();
            let mut expected = numbers.clone();
            for (token, position) in positions.iter().enumerate() {
                for head in 0..heads {
                    let at = token * 3 * heads * dim + (heads + head) * dim;
                    for (i, frequency) in frequencies.iter().enumerate() {
                        let (a, b) = match style {
                            RopeStyle::HalfSplit => (at + i, at + i + half),
                            RopeStyle::Interleaved => (at + 2 * i, at + 2 * i + 1),
                        };
                        let (s, c) = (f64::from(*position) * frequency).sin_cos();
                        let (x, y) = (numbers[a], numbers[b]);
                        expected[a] = 1.25 * (x * c - y * s);
                        expected[b] = 1.25 * (x * s + y * c);
                    }
                }
            }
            let out = bench.empty(dtype, &[tokens, heads, dim]);
            bench.backend.apply_rope(style, (&cos, &sin), &x, &out).unwrap();
            let part: Vec<f64> = expected
                .chunks(3 * heads * dim)
                .flat_map(|row| row[heads * dim..][..heads * dim].to_vec())
                .collect();
            bench.is_near(&out, &part, |_| 2e-6, "to another tensor");
            bench.backend.apply_rope(style, (&cos, &sin), &x, &x).unwrap();
            bench.is_near(&packed, &expected, |_| 2e-6, "in place");
        }
    }
}
