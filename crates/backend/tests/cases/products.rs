//! Products of matrices and vectors.

use backend::{DType, Error, QuantType};

use crate::common::{Bench, FLOATS, random};

/// `x wᵀ`, and the sums of the magnitudes of what is added.
pub(crate) fn exact(x: &[f64], w: &[f64], k: usize) -> (Vec<f64>, Vec<f64>) {
    let of = |f: &dyn Fn(f64) -> f64| -> Vec<f64> {
        x.chunks(k)
            .flat_map(|x| w.chunks(k).map(move |w| x.iter().zip(w).map(|(x, w)| f(x * w)).sum::<f64>()))
            .collect()
    };
    (of(&|x| x), of(&f64::abs))
}

#[test]
fn products_are_sums_of_products() {
    let bench = Bench::open();
    for (dtype, _) in FLOATS {
        for (m, n, k) in [(1, 70, 96), (3, 33, 64), (20, 65, 130), (70, 130, 72)] {
            let (x, a) = bench.random(dtype, &[m, k], 21, 1.0);
            let (w, b) = bench.random(dtype, &[n, k], 22, 1.0);
            let out = bench.empty(dtype, &[m, n]);
            bench.backend.matmul(&x, &w, &out).unwrap();
            let (expected, size) = exact(&a, &b, k);
            bench.is_near(&out, &expected, |i| 2e-6 * size[i], &format!("{m}×{k} by {n}×{k}"));
        }
    }
}

#[test]
fn a_vector_is_multiplied_in_a_new_tensor() {
    let bench = Bench::open();
    let (x, a) = bench.random(DType::F32, &[96], 23, 1.0);
    let (w, b) = bench.random(DType::F32, &[40, 96], 24, 1.0);
    let out = bench.backend.matmul_vec(&w, &x).unwrap();
    let (expected, size) = exact(&a, &b, 96);
    assert_eq!(out.shape(), [40]);
    bench.is_near(&out, &expected, |i| 1e-6 * size[i], "matmul_vec");
    let (bias, biases) = bench.random(DType::F32, &[40], 25, 1.0);
    let (x, out) = (x.reshape(&[1, 96]).unwrap(), bench.empty(DType::F32, &[1, 40]));
    bench.backend.linear(&x, &w, Some(&bias), &out).unwrap();
    let expected: Vec<f64> = expected.iter().zip(&biases).map(|(x, y)| x + y).collect();
    bench.is_near(&out, &expected, |i| 1e-6 * size[i], "linear");
}

/// Blocks of a type: from numbers if there is a way, else bytes whose scales are small halves.
pub(crate) fn blocks(quant: QuantType, elements: usize, seed: u64) -> Vec<u8> {
    if quant.block_values() == 32 && !matches!(quant, QuantType::Iq4Nl | QuantType::Mxfp4) {
        return quant.quantize(&random(elements, seed, 1.0)).unwrap();
    }
    let count = elements / quant.block_values();
    let noise = random(count * quant.block_bytes(), seed, 128.0);
    let mut blocks: Vec<u8> = noise.iter().map(|x| (x + 128.0) as u8).collect();
    let halves: &[usize] = match quant {
        QuantType::Q2K => &[80, 82],
        QuantType::Q3K => &[108],
        QuantType::Q4K | QuantType::Q5K => &[0, 2],
        QuantType::Q6K => &[208],
        _ => &[0],
    };
    for block in blocks.chunks_mut(quant.block_bytes()) {
        if quant == QuantType::Mxfp4 {
            block[0] = 120 + block[0] % 8;
            continue;
        }
        for &at in halves {
            let small = 0.002 + f32::from(block[at]) / 65536.0;
            block[at..at + 2].copy_from_slice(&half::f16::from_f32(small).to_le_bytes());
        }
    }
    blocks
}

#[test]
fn quantised_matrices_multiply_one_vector_and_many() {
    let bench = Bench::open();
    for quant in QuantType::ALL {
        let (n, k) = (67, 512);
        let bytes = blocks(quant, n * k, 26);
        let w = bench.backend.tensor_of_bytes(DType::Quant(quant), &[n, k], &bytes).unwrap();
        let numbers: Vec<f64> = quant.dequantize(&bytes).iter().map(|x| f64::from(*x)).collect();
        for (dtype, m) in [(DType::F32, 1), (DType::F16, 1), (DType::F32, 5), (DType::BF16, 20)] {
            let (x, a) = bench.random(dtype, &[m, k], 27, 1.0);
            let out = bench.empty(dtype, &[m, n]);
            bench.backend.matmul(&x, &w, &out).unwrap();
            let (expected, size) = exact(&a, &numbers, k);
            // The vector is rounded, too, except for many on the CPU: each number is off by half a step of
            // 1/127 of the largest of 32 at most, in any direction.
            let step = |i: usize| {
                let (x, w) = (&a[i / n * k..][..k], &numbers[i % n * k..][..k]);
                let blocks = x.chunks(32).zip(w.chunks(32));
                let largest = |x: &[f64]| x.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
                let squares =
                    blocks.map(|(x, w)| (largest(x) / 254.0).powi(2) * w.iter().map(|w| w * w).sum::<f64>());
                4.0 * squares.sum::<f64>().sqrt() + 2e-3 * size[i] / 16.0
            };
            let what = format!("{} with {m}", quant.name());
            bench.is_near(&out, &expected, |i| 3e-6 * size[i] + step(i), &what);
        }
        let dense = bench.empty(DType::F32, &[n, k]);
        bench.backend.cast(&w, &dense).unwrap();
        bench.is_near(&dense, &numbers, |i| 1e-6 * numbers[i].abs().max(1.0), quant.name());
    }
}

#[test]
fn several_matrices_share_a_vector() {
    let bench = Bench::open();
    let (x, a) = bench.random(DType::F32, &[2, 64], 28, 1.0);
    let (w, b) = bench.random(DType::F32, &[9, 64], 29, 1.0);
    let bytes = blocks(QuantType::Q8_0, 5 * 64, 30);
    let quantised = bench.backend.tensor_of_bytes(DType::Quant(QuantType::Q8_0), &[5, 64], &bytes).unwrap();
    let (first, second) = (bench.empty(DType::F32, &[2, 9]), bench.empty(DType::F32, &[2, 5]));
    bench.backend.matmul_many(&x, &[(&w, &first), (&quantised, &second)]).unwrap();
    let (expected, size) = exact(&a, &b, 64);
    bench.is_near(&first, &expected, |i| 1e-6 * size[i], "dense");
    let numbers: Vec<f64> = QuantType::Q8_0.dequantize(&bytes).iter().map(|x| f64::from(*x)).collect();
    let (expected, size) = exact(&a, &numbers, 64);
    bench.is_near(&second, &expected, |i| 1e-2 * size[i], "quantised");
}

#[test]
fn scores_and_weighted_sums_are_by_heads() {
    let bench = Bench::open();
    let (heads, kv_heads, len, dim) = (6, 2, 19, 32);
    for (dtype, _) in FLOATS {
        let (q, queries) = bench.random(dtype, &[heads, dim], 31, 1.0);
        let (k, keys) = bench.random(dtype, &[len, kv_heads, dim], 32, 1.0);
        let scores = bench.empty(dtype, &[heads, len]);
        bench.backend.compute_attention_scores(&q, &k, 0.25, &scores).unwrap();
        let key = |position: usize, head: usize| &keys[(position * kv_heads + head / 3) * dim..][..dim];
        let mut expected = Vec::new();
        for head in 0..heads {
            for position in 0..len {
                let products = queries[head * dim..][..dim].iter().zip(key(position, head));
                expected.push(0.25 * products.map(|(q, k)| q * k).sum::<f64>());
            }
        }
        bench.is_near(&scores, &expected, |_| 1e-5, "scores");
        let (weights, shares) = bench.random(dtype, &[heads, len], 33, 1.0);
        let out = bench.empty(dtype, &[heads, dim]);
        bench.backend.weighted_sum_rows(&weights, &k, &out).unwrap();
        let mut expected = vec![0.0; heads * dim];
        for head in 0..heads {
            for position in 0..len {
                let sum = &mut expected[head * dim..][..dim];
                sum.iter_mut()
                    .zip(key(position, head))
                    .for_each(|(s, v)| *s += shares[head * len + position] * v);
            }
        }
        bench.is_near(&out, &expected, |_| 1e-5, "sums");
    }
}

#[test]
fn types_and_shapes_without_a_kernel_are_refused() {
    let bench = Bench::open();
    let x = bench.empty(DType::F32, &[2, 64]);
    let out = bench.empty(DType::F32, &[2, 8]);
    let error = bench.backend.matmul(&x, &bench.empty(DType::F16, &[8, 64]), &out).unwrap_err();
    assert!(matches!(error, Error::Unsupported { operation: "matmul", .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("f16 [8, 64]") && text.contains("f32 [2, 64]"), "{text}");
    let error = bench.backend.matmul(&x, &bench.empty(DType::F32, &[8, 32]), &out).unwrap_err();
    assert_eq!(error.to_string(), "matmul: `w` is f32 [8, 32], but must be [n, 64]");
    let error = bench.backend.matmul(&x, &bench.empty(DType::F32, &[9, 64]), &out).unwrap_err();
    assert!(matches!(error, Error::Shape { tensor: "out", .. }), "{error}");
    let error = bench.backend.silu(&bench.empty(DType::U32, &[2, 8]), &bench.empty(DType::U32, &[2, 8]));
    assert!(matches!(error, Err(Error::Unsupported { .. })), "{error:?}");
    let other = backend::CpuBackend::with_threads(1).unwrap();
    let foreign = backend::KernelBackend::zeros(&other, DType::F32, &[8, 64]).unwrap();
    let error = bench.backend.matmul(&x, &foreign, &out).unwrap_err();
    assert!(matches!(error, Error::OtherBackend { operation: "matmul", .. }), "{error}");
}
