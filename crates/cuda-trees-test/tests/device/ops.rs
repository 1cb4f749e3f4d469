//! The tree of kernels only.

use std::collections::BTreeMap;

use cuda_trees_test::ops as tree;
use half::{bf16, f16};
use hip::{DeviceCopy, Module};

use crate::common::{Gpu, assert_close, bits, gpu, launch, noise};
use crate::narrow::{E4M3, E5M2};

/// Sizes and strides of three dimensions: `Strides<3>`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Strides {
    sizes: [u32; 3],
    steps: [u32; 3],
}
// SAFETY: numbers without padding.
unsafe impl DeviceCopy for Strides {}

/// The normal distribution's integral, from the series of the error function.
fn normal_cdf(x: f64) -> f64 {
    let t = x / std::f64::consts::SQRT_2;
    let (mut term, mut sum) = (t, t);
    for n in 1..200 {
        let n = f64::from(n);
        term *= -t * t / n;
        sum += term / (2.0 * n + 1.0);
    }
    0.5 + sum / std::f64::consts::PI.sqrt()
}

fn unary<T: DeviceCopy>(
    gpu: &Gpu,
    module: &Module,
    name: &str,
    of: fn(f64) -> T,
    get: fn(T) -> f64,
    epsilon: f64,
) {
    let shape = Strides { sizes: [3, 5, 7], steps: [1, 3, 15] };
    let n = 3 * 5 * 7;
    let values: Vec<T> = noise(n, 30).into_iter().map(|x| of(4.0 * f64::from(x))).collect();
    let input = gpu.upload(&values);
    let softplus = |x: f64| x.max(0.0) + (-x.abs()).exp().ln_1p();
    let functions: [(&str, &dyn Fn(f64) -> f64); 3] = [
        ("silu", &|x| x / (1.0 + (-x).exp())),
        ("gelu", &|x| x * normal_cdf(x)),
        // Never negative, so the second function of the chain changes nothing.
        ("soft", &softplus),
    ];
    for (function, model) in functions {
        let mut output = gpu.zeroed::<T>(n);
        let whole = format!("{function}_{name}");
        launch!(gpu, module, &whole, 2, 32; n as u32, &input, &mut output, shape);
        let place = |i: usize| i % 7 * 15 + i / 7 % 5 * 3 + i / 35;
        let expected: Vec<f64> = (0..n).map(|i| model(get(values[place(i)]))).collect();
        let found: Vec<f64> = gpu.download(&output).into_iter().map(get).collect();
        assert_close(&found, &expected, epsilon, &whole);
    }
    // A device lambda over compile-time tables, and numeric limits.
    let mut output = gpu.zeroed::<f32>(19);
    launch!(gpu, module, &format!("limits_{name}"), 1, 32; &mut output);
    let output = gpu.download(&output);
    for (i, found) in output[..16].iter().enumerate() {
        assert_eq!(*found, [2.0, 0.0, 3.0, 1.0][i % 4] * 0.5_f32.powi(i as i32), "{i}");
    }
    let double = name == "f64";
    assert_eq!(output[16], if double { f64::EPSILON as f32 } else { f32::EPSILON });
    assert_eq!(output[17], if double { 2.0 } else { 1.0 });
    assert_eq!(output[18], 100.0 + size_of::<T>() as f32, "__CUDA_ARCH__ is 890");
}

#[test]
fn functions_of_strided_tensors_of_every_type() {
    let Some(gpu) = gpu() else { return };
    let module = gpu.module(&tree::UNITY);
    unary::<f32>(&gpu, &module, "f32", |x| x as f32, f64::from, 4e-6);
    unary::<f64>(&gpu, &module, "f64", |x| x, |x| x, 1e-13);
    unary::<f16>(&gpu, &module, "f16", f16::from_f64, f16::to_f64, 1.0 / 2048.0);
    unary::<bf16>(&gpu, &module, "bf16", bf16::from_f64, bf16::to_f64, 1.0 / 256.0);
}

#[test]
fn pairs_of_narrow_numbers() {
    let Some(gpu) = gpu() else { return };
    let module = gpu.module(&tree::UNITY);
    let pairs = 64;
    let values: Vec<f32> = noise(2 * pairs, 31).into_iter().map(|x| 500.0 * x * x * x).collect();
    let input = gpu.upload(&values);
    let (mut halves, mut bfloats) = (gpu.zeroed::<f16>(2 * pairs), gpu.zeroed::<bf16>(2 * pairs));
    let (mut e4m3, mut e5m2) = (gpu.zeroed::<u16>(pairs), gpu.zeroed::<u8>(2 * pairs));
    launch!(gpu, module, "convert_pairs", 2, 32; &input, &mut halves, &mut bfloats, &mut e4m3, &mut e5m2, pairs as u32);
    let (h, b) = (gpu.download(&halves), gpu.download(&bfloats));
    let small: Vec<u8> = gpu.download(&e4m3).into_iter().flat_map(u16::to_le_bytes).collect();
    let wide = gpu.download(&e5m2);
    for (i, x) in values.iter().enumerate() {
        assert_eq!(h[i].to_bits(), f16::from_f32(*x).to_bits(), "half, {x}");
        assert_eq!(b[i].to_bits(), bf16::from_f32(*x).to_bits(), "bf16, {x}");
        assert_eq!(small[i], E4M3.nearest(f64::from(*x)), "e4m3, {x}");
        assert_eq!(wide[i], E5M2.nearest(f64::from(*x)), "e5m2, {x}");
    }
    let mut output = gpu.zeroed::<f32>(8 * pairs);
    launch!(gpu, module, "scale_pairs", 1, 64; &halves, &bfloats, &e4m3, &mut output, pairs as u32);
    for (i, found) in gpu.download(&output).chunks(8).enumerate() {
        for part in 0..2 {
            let at = 2 * i + part;
            let narrow = f16::from_f64(E4M3.value(small[at]));
            assert_eq!(
                found[part],
                f16::from_f64(h[at].to_f64() * 2.0 + 1.0).to_f32(),
                "fma of halves, {at}"
            );
            assert_eq!(
                found[2 + part],
                bf16::from_f64(b[at].to_f64() * 0.5).to_f32(),
                "product of bf16, {at}"
            );
            assert_eq!(found[4 + part], narrow.to_f32(), "half of e4m3, {at}");
            assert_eq!(found[6 + part], f32::from(narrow.to_bits()), "bits of that, {at}");
        }
    }
}

#[test]
fn atomic_operations_of_every_width() {
    let Some(gpu) = gpu() else { return };
    let module = gpu.module(&tree::UNITY);
    let (n, count) = (1000_usize, 8_usize);
    let bins: Vec<i32> = bits(n, 32).into_iter().map(|x| (x >> 7) as i32 & 7).collect();
    // Multiples of a sixteenth: their sums are exact in any order.
    let values: Vec<f32> = noise(n, 33).into_iter().map(|x| (x * 256.0).round() / 16.0 - 20.0).collect();
    let (bins_at, values_at) = (gpu.upload(&bins), gpu.upload(&values));
    let (mut f32_sum, mut f64_sum) = (gpu.zeroed::<f32>(count), gpu.zeroed::<f64>(count));
    let (mut f16_sum, mut f16x2_sum) = (gpu.zeroed::<f16>(count), gpu.zeroed::<f16>(2 * count));
    let (mut bf16_sum, mut bf16x2_sum) = (gpu.zeroed::<bf16>(count), gpu.zeroed::<bf16>(2 * count));
    let (mut f32_max, mut f64_max) =
        (gpu.upload(&[f32::NEG_INFINITY; 8]), gpu.upload(&[f64::NEG_INFINITY; 8]));
    let (mut cas_sum, mut u64_sum) = (gpu.zeroed::<f16>(count), gpu.zeroed::<u64>(count));
    let (mut wrapped, mut bytes) = (gpu.zeroed::<u32>(count), gpu.zeroed::<u8>(count));
    launch!(gpu, module, "atomics_all", 4, 64; &bins_at, &values_at, n as u32, &mut f32_sum, &mut f64_sum, &mut f16_sum,
            &mut f16x2_sum, &mut bf16_sum, &mut bf16x2_sum, &mut f32_max, &mut f64_max, &mut cas_sum, &mut u64_sum,
            &mut wrapped, &mut bytes);
    let (f32_sum, f64_sum) = (gpu.download(&f32_sum), gpu.download(&f64_sum));
    let (f16_sum, f16x2_sum) = (gpu.download(&f16_sum), gpu.download(&f16x2_sum));
    let (bf16_sum, bf16x2_sum) = (gpu.download(&bf16_sum), gpu.download(&bf16x2_sum));
    let (f32_max, f64_max, cas_sum) =
        (gpu.download(&f32_max), gpu.download(&f64_max), gpu.download(&cas_sum));
    let (u64_sum, wrapped, bytes) = (gpu.download(&u64_sum), gpu.download(&wrapped), gpu.download(&bytes));
    for bin in 0..count {
        let own: Vec<f32> = (0..n).filter(|i| bins[*i] as usize == bin).map(|i| values[i]).collect();
        let (number, sum) = (own.len(), own.iter().map(|x| f64::from(*x)).sum::<f64>());
        let largest = own.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        assert!((100..250).contains(&number) && largest < 0.0 + 20.0);
        assert_eq!((f64::from(f32_sum[bin]), f64_sum[bin]), (sum, sum), "{bin}");
        assert_eq!((f32_max[bin], f64_max[bin]), (largest, f64::from(largest)), "{bin}");
        let half = f16::from_f64(number as f64);
        assert_eq!((f16_sum[bin], cas_sum[bin], f16x2_sum[2 * bin]), (half, half, half), "{bin}");
        assert_eq!(f16x2_sum[2 * bin + 1], f16::from_f64(2.0 * number as f64), "{bin}");
        // bf16 counts exactly to 256 by ones, and to 512 by twos.
        let single = bf16::from_f64(number as f64);
        assert_eq!((bf16_sum[bin], bf16x2_sum[2 * bin + 1]), (single, single), "{bin}");
        assert_eq!(bf16x2_sum[2 * bin], bf16::from_f64(2.0 * number as f64), "{bin}");
        assert_eq!(u64_sum[bin], (number as u64) << 33, "{bin}");
        assert_eq!(wrapped[bin], number as u32 % 5, "{bin}");
        assert_eq!(bytes[bin], number as u8, "{bin}");
    }
}

#[test]
fn a_warp_appends_together() {
    let Some(gpu) = gpu() else { return };
    let module = gpu.module(&tree::REDUCE_WARP);
    let values: Vec<i32> = bits(1000, 34).into_iter().map(|x| x as i32 >> 8).collect();
    let input = gpu.upload(&values);
    let (mut output, mut count) = (gpu.zeroed::<i32>(1000), gpu.zeroed::<u32>(1));
    launch!(gpu, module, "append_positive", 3, 128; &input, 1000_u32, &mut output, &mut count);
    let mut expected: Vec<i32> = values.into_iter().filter(|x| *x > 0).collect();
    let count = gpu.download(&count)[0] as usize;
    let mut found = gpu.download(&output)[..count].to_vec();
    expected.sort_unstable();
    found.sort_unstable();
    assert_eq!(found, expected);
}

#[test]
fn equal_keys_of_a_warp_are_one_sum() {
    let Some(gpu) = gpu() else { return };
    let module = gpu.module(&tree::REDUCE_WARP);
    let keys: Vec<i32> = bits(256, 35).into_iter().map(|x| (x >> 9) as i32 % 11).map(i32::abs).collect();
    let values: Vec<f32> = noise(256, 36).into_iter().map(|x| (x * 64.0).round()).collect();
    let (keys_at, values_at) = (gpu.upload(&keys), gpu.upload(&values));
    let (mut sums, mut sizes) = (gpu.zeroed::<f32>(11), gpu.zeroed::<i32>(11));
    launch!(gpu, module, "sum_equal_keys", 2, 128; &keys_at, &values_at, &mut sums, &mut sizes);
    let mut expected: BTreeMap<i32, (f32, i32)> = (0..11).map(|key| (key, (0.0, 0))).collect();
    for (key, value) in keys.iter().zip(&values) {
        let (sum, size) = expected.get_mut(key).unwrap();
        (*sum, *size) = (*sum + value, *size + 1);
    }
    let found: Vec<(f32, i32)> = gpu.download(&sums).into_iter().zip(gpu.download(&sizes)).collect();
    assert_eq!(found, expected.into_values().collect::<Vec<_>>());
}

#[test]
fn reductions_within_a_warp() {
    let Some(gpu) = gpu() else { return };
    let module = gpu.module(&tree::REDUCE_WARP);
    let mut values: Vec<i32> = bits(128, 37).into_iter().map(|x| (x % 2000) as i32 - 900).collect();
    // One warp has the value that another looks for, and one value is equal in its upper bits.
    values[70] = 77;
    for value in &mut values[96..] {
        *value &= 1023;
    }
    let input = gpu.upload(&values);
    let mut output = gpu.zeroed::<i32>(128 * 12);
    launch!(gpu, module, "reductions", 1, 128; &input, &mut output);
    for (i, found) in gpu.download(&output).chunks(12).enumerate() {
        let (warp, lane) = (&values[i / 32 * 32..][..32], i % 32);
        let v = warp[lane];
        let part = |width: usize| &warp[lane / width * width..][..width];
        let mask = |of: &dyn Fn(i32) -> bool| (0..32).map(|l| u32::from(of(warp[l])) << l).sum::<u32>();
        let same = warp.iter().all(|x| x >> 10 == warp[0] >> 10);
        let unsigned = v as u32;
        let expected = [
            warp.iter().sum(),
            *warp.iter().max().unwrap(),
            warp.iter().fold(0_u32, |or, x| or | 1 << (x & 31)) as i32,
            part(8).iter().sum(),
            *part(16).iter().max().unwrap(),
            part(4).iter().map(|x| x % 8).sum::<i32>() * 10 + 4,
            mask(&|x| x & 1 == 1) as i32,
            i32::from(warp.contains(&77)) * 2 + i32::from(warp.iter().all(|x| *x < 1000)),
            // A mask of all lanes, which is -1, and three times the predicate.
            if same { 2 } else { 0 },
            warp[..=lane].iter().sum(),
            if lane + 7 < 32 { warp[lane + 7] } else { v },
            (unsigned.count_ones()
                + unsigned.leading_zeros()
                + if v == 0 { 0 } else { unsigned.trailing_zeros() + 1 }
                + ((!unsigned << 5 | unsigned >> 27) & 15)
                + 1) as i32,
        ];
        assert_eq!(found, expected, "thread {i}");
    }
}

#[test]
fn a_block_sorts_by_votes() {
    let Some(gpu) = gpu() else { return };
    let module = gpu.module(&tree::REDUCE_WARP);
    let values = bits(512, 38);
    let mut data = gpu.upload(&values);
    launch!(gpu, module, "sort_blocks", 2, 256; &mut data);
    let mut expected = values;
    expected.chunks_mut(256).for_each(<[u32]>::sort_unstable);
    assert_eq!(gpu.download(&data), expected);
}

#[test]
fn a_thread_sorts_searches_and_sums() {
    let Some(gpu) = gpu() else { return };
    let module = gpu.module(&tree::REDUCE_THRUST_SCAN);
    let (rows, width) = (5, 9);
    let values: Vec<f32> = noise(rows * width, 39).into_iter().map(|x| (x * 8.0).round() + 0.0).collect();
    let mut data = gpu.upload(&values);
    let mut indices = gpu.upload(&(0..rows * width).map(|i| (i % width) as i32).collect::<Vec<_>>());
    let mut output = gpu.zeroed::<f32>(rows * 6);
    launch!(gpu, module, "sort_rows", 1, rows as u32; &mut data, &mut indices, width as i32, &mut output);
    let (data, indices) = (gpu.download(&data), gpu.download(&indices));
    for (row, found) in gpu.download(&output).chunks(6).enumerate() {
        let own = &values[row * width..][..width];
        let mut order: Vec<usize> = (0..width).collect();
        order.sort_by(|a, b| own[*b].total_cmp(&own[*a]));
        let sorted: Vec<f32> = order.iter().map(|i| own[*i]).collect();
        assert_eq!(data[row * width..][..width], sorted, "row {row}");
        let places: Vec<i32> = order.iter().map(|i| *i as i32).collect();
        assert_eq!(indices[row * width..][..width], places, "row {row}");
        let sum: f32 = own.iter().sum();
        let below = sorted.iter().filter(|x| **x > sum / width as f32).count();
        let where_ = order[0] + 1000 * order[width - 1];
        let expected = [sum, sorted[width - 1], sorted[0], where_ as f32, (below + 6000 + 30000) as f32, 4.0];
        assert_eq!(found, expected, "row {row}");
    }
}

fn gemm<T: DeviceCopy>(gpu: &Gpu, module: &Module, name: &str, of: fn(f32) -> T) {
    let (m, n, k) = (45_usize, 37_usize, 40_usize);
    // Whole numbers up to 4: all sums are exact.
    let numbers =
        |count, seed| noise(count, seed).into_iter().map(|x| (x * 4.0).round()).collect::<Vec<f32>>();
    let (a, b, c) = (numbers(m * k, 40), numbers(n * k, 41), numbers(m * n, 42));
    let narrow = |values: &[f32]| gpu.upload(&values.iter().map(|x| of(*x)).collect::<Vec<T>>());
    let (a_at, b_at, mut c_at) = (narrow(&a), narrow(&b), gpu.upload(&c));
    let (alpha, beta) = (0.5_f32, 2.0_f32);
    launch!(gpu, module, name, (2, 2, 1), 128; &a_at, &b_at, &mut c_at, m as i32, n as i32, k as i32, alpha, beta);
    let mut expected = Vec::new();
    for row in 0..m {
        for column in 0..n {
            let product =
                (0..k).map(|i| f64::from(a[row * k + i]) * f64::from(b[column * k + i])).sum::<f64>();
            expected.push(0.5 * product + 2.0 * f64::from(c[row * n + column]));
        }
    }
    let found: Vec<f64> = gpu.download(&c_at).into_iter().map(f64::from).collect();
    // gfx11's matrix instructions truncate sums.
    assert_close(&found, &expected, 1e-5, name);
}

#[test]
fn products_of_matrices_on_fragments() {
    let Some(gpu) = gpu() else { return };
    let module = gpu.module(&tree::MATMUL_WMMA_GEMM);
    gemm::<f16>(&gpu, &module, "gemm_f16", f16::from_f32);
    gemm::<bf16>(&gpu, &module, "gemm_bf16", bf16::from_f32);
}

#[test]
fn weights_of_four_bits() {
    let Some(gpu) = gpu() else { return };
    let module = gpu.module(&tree::QUANT_NIBBLES);
    let words = bits(100, 43);
    let input = gpu.upload(&words);
    let mut halves = gpu.zeroed::<f16>(100 * 8);
    launch!(gpu, module, "unpack_nibbles", 2, 32; &input, &mut halves, 100_u32);
    for (word, found) in words.iter().zip(gpu.download(&halves).chunks(8)) {
        let expected = [0, 4, 1, 5, 2, 6, 3, 7].map(|i| f16::from_f32((word >> (4 * i) & 15) as f32 - 8.0));
        assert_eq!(found, expected, "{word:#x}");
    }
    let mut codes = gpu.zeroed::<u32>(100 * 2);
    launch!(gpu, module, "look_up_codes", 2, 32; &input, &mut codes, 100_u32);
    let table = [0xcb98_8371_u32, 0xfcf3_e8dd, 0x3526_1a0d, 0x7159_4535].map(u32::to_le_bytes).concat();
    for (word, found) in words.iter().zip(gpu.download(&codes).chunks(2)) {
        let expected: Vec<u8> = (0..8).map(|i| table[(word >> (4 * i) & 15) as usize]).collect();
        assert_eq!([found[0], found[1]].map(u32::to_le_bytes).concat(), expected, "{word:#x}");
    }
    let other = bits(100, 44);
    let second = gpu.upload(&other);
    let mut pairs = gpu.zeroed::<u32>(200);
    launch!(gpu, module, "interleave", 2, 32; &input, &second, &mut pairs, 100_u32);
    for ((a, b), found) in words.iter().zip(&other).zip(gpu.download(&pairs).chunks(2)) {
        let ([a0, a1, a2, a3], [b0, b1, b2, b3]) = (a.to_le_bytes(), b.to_le_bytes());
        // The instruction's digits from the right: 5140 is bytes 0, 4, 1, 5; 7362 is 2, 6, 3, 7.
        let expected = [u32::from_le_bytes([a0, b0, a1, b1]), u32::from_le_bytes([a2, b2, a3, b3])];
        assert_eq!(found, expected, "{a:#x} {b:#x}");
    }
}

#[test]
fn sums_of_products_of_bytes() {
    let Some(gpu) = gpu() else { return };
    let module = gpu.module(&tree::QUANT_NIBBLES);
    let (rows, words) = (4, 70);
    let (a, b) = (bits(rows * words, 45), bits(words, 46));
    let (a_at, b_at) = (gpu.upload(&a), gpu.upload(&b));
    let mut output = gpu.zeroed::<i32>(rows);
    launch!(gpu, module, "dot_bytes", rows as u32, 32; &a_at, &b_at, &mut output, words as u32);
    let bytes = |x: &u32| x.to_le_bytes().map(|byte| i32::from(byte as i8));
    let dot = |row: &[u32]| -> i32 {
        let products = row.iter().zip(&b).flat_map(|(x, y)| std::iter::zip(bytes(x), bytes(y)));
        products.map(|(x, y)| x * y).sum()
    };
    assert_eq!(gpu.download(&output), a.chunks(words).map(dot).collect::<Vec<_>>());
}
