//! The tree of host code: its launchers on buffers and a stream of `hip`.

use std::ffi::{CStr, c_int, c_void};

use cuda_trees_test::trainer as tree;
use half::{bf16, f16};
use hip::DeviceCopy;

use crate::common::{Gpu, assert_close, bits, gpu, noise};

const INVALID_VALUE: c_int = 1;

/// A number of one of the tree's types.
trait Number: DeviceCopy {
    const KIND: c_int;
    /// The relative rounding error.
    const EPSILON: f64;
    fn of(x: f32) -> Self;
    fn get(self) -> f64;
}
impl Number for f32 {
    const KIND: c_int = 0;
    const EPSILON: f64 = 2e-6;
    fn of(x: f32) -> Self {
        x
    }
    fn get(self) -> f64 {
        f64::from(self)
    }
}
impl Number for bf16 {
    const KIND: c_int = 1;
    const EPSILON: f64 = 1.0 / 256.0;
    fn of(x: f32) -> Self {
        Self::from_f32(x)
    }
    fn get(self) -> f64 {
        self.to_f64()
    }
}
impl Number for f16 {
    const KIND: c_int = 2;
    const EPSILON: f64 = 1.0 / 2048.0;
    fn of(x: f32) -> Self {
        Self::from_f32(x)
    }
    fn get(self) -> f64 {
        self.to_f64()
    }
}

fn layer_norm<T: Number>(gpu: &Gpu) {
    let (rows, width) = (7, 160);
    let numbers = |count, seed| noise(count, seed).into_iter().map(T::of).collect::<Vec<T>>();
    let (input, weight, bias) = (numbers(rows * width, 1), numbers(width, 2), numbers(width, 3));
    let mut buffers = [gpu.upload(&input), gpu.upload(&weight), gpu.upload(&bias)];
    let mut out = gpu.zeroed::<T>(rows * width);
    let (mut mean, mut scale) = (gpu.zeroed::<f32>(rows), gpu.zeroed::<f32>(rows));
    let [input_at, weight_at, bias_at] =
        buffers.each_mut().map(|buffer| gpu.pointer(buffer).cast::<c_void>());
    let (out_at, mean_at, scale_at) =
        (gpu.pointer(&mut out).cast(), gpu.pointer(&mut mean), gpu.pointer(&mut scale));
    // SAFETY: the buffers have as many elements as the launcher is told.
    let status = unsafe {
        tree::trainer_layernorm(
            T::KIND,
            out_at,
            mean_at,
            scale_at,
            input_at,
            weight_at,
            bias_at,
            rows as c_int,
            width as c_int,
            gpu.stream.as_raw(),
        )
    };
    assert_eq!(status, 0);
    let (mut expected, mut means, mut scales) = (Vec::new(), Vec::new(), Vec::new());
    for row in input.chunks(width) {
        let row: Vec<f64> = row.iter().map(|x| x.get()).collect();
        let mean = row.iter().sum::<f64>() / width as f64;
        let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / width as f64;
        let scale = 1.0 / (variance + 1e-5).sqrt();
        let normal = |(i, x): (usize, &f64)| (x - mean) * scale * weight[i].get() + bias[i].get();
        expected.extend(row.iter().enumerate().map(normal));
        means.push(mean);
        scales.push(scale);
    }
    let wide = |found: Vec<f32>| found.into_iter().map(f64::from).collect::<Vec<_>>();
    let found: Vec<f64> = gpu.download(&out).into_iter().map(T::get).collect();
    assert_close(&found, &expected, T::EPSILON, "layer norm");
    assert_close(&wide(gpu.download(&mean)), &means, 1e-6, "means");
    assert_close(&wide(gpu.download(&scale)), &scales, 1e-5, "scales");
}

#[test]
fn layer_norm_by_packs_of_sixteen_bytes() {
    let Some(gpu) = gpu() else { return };
    layer_norm::<f32>(&gpu);
    layer_norm::<bf16>(&gpu);
    layer_norm::<f16>(&gpu);
}

#[test]
fn a_checked_call_that_fails_names_its_place() {
    let Some(gpu) = gpu() else { return };
    let null = std::ptr::null_mut::<c_void>();
    // SAFETY: nothing is launched for a type that does not exist.
    let status = unsafe {
        tree::trainer_layernorm(
            9,
            null,
            null.cast(),
            null.cast(),
            null,
            null,
            null,
            1,
            32,
            gpu.stream.as_raw(),
        )
    };
    assert_eq!(status, INVALID_VALUE);
    let mut data = gpu.zeroed::<f32>(32);
    let at = gpu.pointer(&mut data);
    // SAFETY: the launch is impossible.
    assert_ne!(unsafe { tree::trainer_too_much(at, gpu.stream.as_raw()) }, 0);
    // SAFETY: the text is the library's own, and no call changes it meanwhile.
    let text = unsafe { CStr::from_ptr(tree::trainer_failure()) }.to_str().unwrap().to_owned();
    assert!(text.starts_with("layernorm.cu:") && text.contains("GetLastError()"), "{text}");
    assert!(text.contains("hipError"), "{text}");
    layer_norm::<f32>(&gpu);
}

#[test]
fn classifier_losses_gradients_and_their_sum() {
    let Some(gpu) = gpu() else { return };
    let (rows, valid, padded, heat) = (5, 300, 320, 0.7_f32);
    let weights = [1.0, 0.5, 0.25, 2.0];
    let logits: Vec<f32> = noise(rows * padded, 4).into_iter().map(|x| 4.0 * x).collect();
    let targets: Vec<i32> = (0..rows as i32).map(|row| (row * 67 + 3) % valid as i32).collect();
    let (mut losses, mut gradients) = (Vec::new(), Vec::new());
    for (row, &target) in logits.chunks(padded).zip(&targets) {
        let scaled: Vec<f64> = row[..valid].iter().map(|x| f64::from(*x) / f64::from(heat)).collect();
        let sum: f64 = scaled.iter().map(|x| x.exp()).sum();
        let weight = weights[target as usize % 4];
        let probabilities = scaled.iter().map(|x| x.exp() / sum);
        losses.push(-weight * (scaled[target as usize].exp() / sum).ln());
        let gradient = |(i, p): (usize, f64)| {
            (p - if i == target as usize { 1.0 } else { 0.0 }) * weight / f64::from(heat)
        };
        gradients.extend(probabilities.enumerate().map(gradient));
        gradients.extend(vec![0.0; padded - valid]);
    }
    let mut targets = gpu.upload(&targets);
    for with_gradients in [false, true] {
        let mut data = gpu.upload(&logits);
        let mut found = gpu.zeroed::<f32>(rows);
        let (data_at, found_at, targets_at) =
            (gpu.pointer(&mut data), gpu.pointer(&mut found), gpu.pointer(&mut targets));
        let (mut total, mut done) = (0.0, 0);
        // SAFETY: the buffers have as many elements as the launchers are told; the last one waits before it
        // returns.
        unsafe {
            let stream = gpu.stream.as_raw();
            let (rows, valid, padded) = (rows as c_int, valid as c_int, padded as c_int);
            let status = tree::trainer_classifier(
                data_at,
                found_at,
                targets_at,
                rows,
                valid,
                padded,
                heat,
                with_gradients,
                stream,
            );
            assert_eq!(status, 0);
            assert_eq!(tree::trainer_total(found_at, rows, &raw mut total, &raw mut done, stream), 0);
        }
        let wide = |found: Vec<f32>| found.into_iter().map(f64::from).collect::<Vec<_>>();
        assert_close(&wide(gpu.download(&found)), &losses, 1e-5, "losses");
        assert_close(&[total], &[losses.iter().sum()], 1e-5, "total");
        assert_eq!(done, rows as u32);
        let expected = if with_gradients { gradients.clone() } else { wide(logits.clone()) };
        assert_close(&wide(gpu.download(&data)), &expected, 1e-5, "gradients");
    }
}

/// The chance of `round_by_chance`.
fn scatter(position: u32, seed: u32) -> u32 {
    let mut bits = position.wrapping_add(0x9e37_79b9_u32.wrapping_mul(seed)) ^ 0x5bf0_3635;
    for round in 0..3 {
        bits = (bits ^ bits >> 15).wrapping_mul(0x2c1b_3c6d + 2 * round);
    }
    bits ^ bits >> 13
}

#[test]
fn a_step_of_the_optimiser_rounds_by_chance() {
    let Some(gpu) = gpu() else { return };
    let (n, stride, slices) = (600_usize, 640_usize, 2_usize);
    let all = stride * slices;
    let options = tree::Options {
        rate: 0.01,
        beta1: 0.9,
        beta2: 0.99,
        correction1: 0.1,
        correction2: 0.01,
        eps: 1e-8,
        decay: 0.1,
        seed: 7,
    };
    let narrow = |values: Vec<f32>| values.into_iter().map(bf16::from_f32).collect::<Vec<_>>();
    let (params, grads, master) = (narrow(noise(all, 5)), narrow(noise(all, 6)), noise(all, 7));
    let (first, second) = (noise(all, 8), noise(all, 9).into_iter().map(f32::abs).collect::<Vec<_>>());
    for with_master in [false, true] {
        let (mut p, mut g, mut w) = (gpu.upload(&params), gpu.upload(&grads), gpu.upload(&master));
        let (mut m, mut v) = (gpu.upload(&first), gpu.upload(&second));
        let master_at = if with_master { gpu.pointer(&mut w) } else { std::ptr::null_mut() };
        let (p_at, g_at, m_at, v_at) = (
            gpu.pointer(&mut p).cast(),
            gpu.pointer(&mut g).cast(),
            gpu.pointer(&mut m),
            gpu.pointer(&mut v),
        );
        let stream = gpu.stream.as_raw();
        // SAFETY: two slices of 600 elements lie 640 apart in buffers of 1280.
        let status = unsafe {
            let slices = slices as c_int;
            tree::trainer_adamw(
                p_at,
                master_at,
                g_at,
                m_at,
                v_at,
                n,
                stride as isize,
                slices,
                &raw const options,
                stream,
            )
        };
        assert_eq!(status, 0);
        let (p, w, m) = (gpu.download(&p), gpu.download(&w), gpu.download(&m));
        let mut rounded_up = 0;
        for at in 0..all {
            let i = at % stride;
            if i >= n {
                assert_eq!(
                    (p[at], w[at], m[at]),
                    (params[at], master[at], first[at]),
                    "{at} is not of a slice"
                );
                continue;
            }
            let grad = grads[at].to_f64();
            let (m1, v1) = (
                0.9 * f64::from(first[at]) + (1.0 - f64::from(options.beta1)) * grad,
                f64::from(options.beta2) * f64::from(second[at])
                    + (1.0 - f64::from(options.beta2)) * grad * grad,
            );
            let old = if with_master { f64::from(master[at]) } else { params[at].to_f64() };
            let updated = old - 0.01 * (m1 / 0.1 / ((v1 / 0.01).sqrt() + 1e-8) + 0.1 * old);
            assert!((f64::from(m[at]) - m1).abs() < 1e-6, "first moment, {at}");
            if with_master {
                assert!((f64::from(w[at]) - updated).abs() < 1e-6, "{at}: {}, not {updated}", w[at]);
                // From here on every bit is known: the parameter is the stochastically rounded master.
                let bits = w[at].to_bits();
                let up = bits & 0xffff > scatter(i as u32, 7) & 0xffff;
                assert_eq!(u32::from(p[at].to_bits()), (bits >> 16) + u32::from(up), "{at}");
                rounded_up += usize::from(up);
            } else {
                assert!((p[at].to_f64() - updated).abs() < updated.abs() / 128.0 + 1e-6, "{at}");
            }
        }
        if with_master {
            assert!((400..800).contains(&rounded_up), "about half of 1200: {rounded_up}");
        }
    }
}

#[test]
fn sums_of_squares_on_a_stream_of_their_own() {
    let Some(gpu) = gpu() else { return };
    let (count, stride) = (700, 800);
    let grads: Vec<bf16> = noise(3 * stride, 10).into_iter().map(bf16::from_f32).collect();
    let mut data = gpu.upload(&grads);
    let mut out = gpu.upload(&[9.0_f32; 3]);
    let (data_at, out_at) = (gpu.pointer(&mut data).cast(), gpu.pointer(&mut out));
    // SAFETY: three slices of 700 lie 800 apart.
    let status =
        unsafe { tree::trainer_squares(out_at, data_at, count, stride as isize, 3, gpu.stream.as_raw()) };
    assert_eq!(status, 0);
    let sum = |slice: &[bf16]| slice[..count].iter().map(|x| x.to_f64().powi(2)).sum();
    let expected: Vec<f64> = grads.chunks(stride).map(sum).collect();
    let found: Vec<f64> = gpu.download(&out).into_iter().map(f64::from).collect();
    assert_close(&found, &expected, 1e-5, "sums");
}

#[test]
fn attention_over_tiles_that_come_asynchronously() {
    let Some(gpu) = gpu() else { return };
    // The last tile is not full; one length has a single tile.
    for (heads, length, dim) in [(2, 150, 64), (1, 40, 128), (3, 64, 32)] {
        let halves = |count, seed| noise(count, seed).into_iter().map(f16::from_f32).collect::<Vec<_>>();
        let (q, k, v) =
            (halves(heads * dim, 11), halves(heads * length * dim, 12), halves(heads * length * dim, 13));
        let mut buffers = [gpu.upload(&q), gpu.upload(&k), gpu.upload(&v)];
        let mut out = gpu.zeroed::<f16>(heads * dim);
        let [q_at, k_at, v_at] = buffers.each_mut().map(|buffer| gpu.pointer(buffer).cast::<c_void>());
        let out_at = gpu.pointer(&mut out).cast();
        // SAFETY: the buffers have as many elements as the launcher is told.
        let status = unsafe {
            let (heads, length, dim) = (heads as c_int, length as c_int, dim as c_int);
            tree::trainer_attention(out_at, q_at, k_at, v_at, heads, length, dim, gpu.stream.as_raw())
        };
        assert_eq!(status, 0);
        let mut expected = Vec::new();
        for head in 0..heads {
            let query = &q[head * dim..][..dim];
            let row = |of: &[f16], i: usize| of[(head * length + i) * dim..][..dim].to_vec();
            let score = |i| {
                let products =
                    row(&k, i).iter().zip(query).map(|(a, b)| a.to_f64() * b.to_f64()).sum::<f64>();
                (products / (dim as f64).sqrt()).exp()
            };
            let scores: Vec<f64> = (0..length).map(score).collect();
            let sum: f64 = scores.iter().sum();
            for c in 0..dim {
                expected.push((0..length).map(|i| scores[i] / sum * row(&v, i)[c].to_f64()).sum());
            }
        }
        let found: Vec<f64> = gpu.download(&out).into_iter().map(f16::to_f64).collect();
        assert_close(&found, &expected, 1.0 / 1024.0, "attention");
    }
    // SAFETY: nothing is launched for an unsupported dimension.
    let status = unsafe {
        let null = std::ptr::null_mut();
        tree::trainer_attention(null, null, null, null, 1, 1, 48, gpu.stream.as_raw())
    };
    assert_eq!(status, INVALID_VALUE);
}

#[test]
fn the_most_likely_tokens_in_order() {
    let Some(gpu) = gpu() else { return };
    let (rows, n) = (3, 500);
    let mut probabilities = Vec::new();
    for row in 0..rows {
        // Powers of two, so that every sum is exact; some are 0, and many are equal.
        let raw: Vec<f32> = bits(n, row as u32 + 20)
            .into_iter()
            .map(|x| [0.0, 1.0, 4.0, 2.0][x as usize >> 8 & 3] / 4096.0)
            .collect();
        probabilities.extend(raw);
    }
    let mut input = gpu.upload(&probabilities);
    let (mut count, mut order) = (gpu.zeroed::<i32>(rows), gpu.zeroed::<i32>(rows * n));
    let (input_at, count_at, order_at) =
        (gpu.pointer(&mut input), gpu.pointer(&mut count), gpu.pointer(&mut order));
    // SAFETY: the buffers have as many elements as the launcher is told.
    let status = unsafe {
        tree::trainer_top_p(
            count_at,
            order_at,
            input_at,
            rows as c_int,
            n as c_int,
            0.125,
            gpu.stream.as_raw(),
        )
    };
    assert_eq!(status, 0);
    let (count, order) = (gpu.download(&count), gpu.download(&order));
    for (row, values) in probabilities.chunks(n).enumerate() {
        let mut tokens: Vec<usize> = (0..n).collect();
        // Stable: equal ones keep their order.
        tokens.sort_by(|a, b| values[*b].total_cmp(&values[*a]));
        let mut before = 0.0;
        let mut expected = vec![-1; n];
        let mut kept = 0_i32;
        for (at, &token) in tokens.iter().enumerate() {
            if before < 0.125 && values[token] > 0.0 {
                expected[at] = token as i32;
                kept += 1;
            }
            before += values[token];
        }
        assert!((50..250).contains(&kept), "{kept} is neither nothing nor all");
        assert_eq!(count[row], kept, "row {row}");
        assert_eq!(order[row * n..][..n], expected, "row {row}");
    }
}

#[test]
fn thrust_ranks_from_host_code() {
    let Some(gpu) = gpu() else { return };
    // More than fit into one block, some of them equal, but only one zero.
    let keys: Vec<f32> = noise(700, 25).into_iter().map(|x| (x * 64.0).round() + 0.0).collect();
    let bounds = [-100.0_f32, -3.0, 0.0, 17.0, 100.0];
    let (mut keys_at, mut bounds_at) = (gpu.upload(&keys), gpu.upload(&bounds));
    let (mut places, mut above) = (gpu.zeroed::<i32>(700), gpu.zeroed::<i32>(5));
    let (mut sum, mut largest) = (0.0, 0.0);
    let (k, p) = (gpu.pointer(&mut keys_at), gpu.pointer(&mut places));
    let (b, a) = (gpu.pointer(&mut bounds_at), gpu.pointer(&mut above));
    // SAFETY: there are 700 keys and places, and five bounds; it waits before it returns.
    let status = unsafe {
        tree::trainer_rank(k, p, 700, b, a, 5, &raw mut sum, &raw mut largest, gpu.stream.as_raw())
    };
    assert_eq!(status, 0);
    let mut order: Vec<usize> = (0..700).collect();
    order.sort_by(|a, b| keys[*b].total_cmp(&keys[*a]));
    assert_eq!(gpu.download(&keys_at), order.iter().map(|i| keys[*i]).collect::<Vec<_>>());
    let wide: Vec<i32> = order.iter().map(|i| *i as i32).collect();
    assert_eq!(gpu.download(&places), wide, "a stable sort");
    // Whole numbers: the sum is exact.
    assert_eq!(sum, keys.iter().map(|x| x * x).sum::<f32>());
    assert_eq!(largest, keys.iter().map(|x| x * x).fold(0.0, f32::max));
    let not_below = |bound: &f32| keys.iter().filter(|key| *key >= bound).count() as i32;
    assert_eq!(gpu.download(&above), bounds.iter().map(not_below).collect::<Vec<_>>());
}

#[test]
fn cub_and_thrust_count_tokens_on_the_whole_device() {
    let Some(gpu) = gpu() else { return };
    // More than fit into one block; negative ones too, and many of them equal.
    let n = 3000;
    let tokens: Vec<i32> = bits(n, 26).into_iter().map(|x| (x >> 9) as i32 % 500 - 100).collect();
    let mut tokens_at = gpu.upload(&tokens);
    let mut out: Vec<_> = (0..6).map(|_| gpu.zeroed::<i32>(n)).collect();
    let (mut largest, mut counts) = (gpu.zeroed::<i32>(2), gpu.zeroed::<i32>(3));
    let t = gpu.pointer(&mut tokens_at);
    let [sorted, places, sums, odd, runs, lengths]: [*mut i32; 6] =
        std::array::from_fn(|i| gpu.pointer(&mut out[i]));
    let (l, c) = (gpu.pointer(&mut largest), gpu.pointer(&mut counts));
    let (stream, mut sum) = (gpu.stream.as_raw(), 0.0);
    // SAFETY: there are n tokens and room for as many results; both wait before they return.
    let status = unsafe {
        tree::trainer_tokens(t, n as i32, sorted, places, sums, l, odd, runs, lengths, c, stream)
            + tree::trainer_distinct(t, n as i32, &raw mut sum)
    };
    assert_eq!(status, 0);
    let found: Vec<Vec<i32>> = out.iter().map(|buffer| gpu.download(buffer)).collect();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by_key(|i| tokens[*i]);
    let mut expected: Vec<i32> = order.iter().map(|i| tokens[*i]).collect();
    assert_eq!(found[0], expected, "sorted");
    assert_eq!(found[1], order.iter().map(|i| *i as i32).collect::<Vec<_>>(), "a stable sort");
    let before = |i: usize| tokens[..i].iter().sum::<i32>();
    assert_eq!(found[2], (0..n).map(before).collect::<Vec<_>>(), "sums");
    let most = *tokens.iter().max().unwrap();
    let place = tokens.iter().position(|x| *x == most).unwrap() as i32;
    assert_eq!(gpu.download(&largest), [place, most], "the largest");
    let odd: Vec<i32> = tokens.iter().copied().filter(|x| x & 1 != 0).collect();
    assert_eq!(found[3][..odd.len()], odd, "odd ones");
    let runs = expected.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as i32));
    let (items, lengths): (Vec<i32>, Vec<i32>) = runs.unzip();
    assert_eq!(found[4][..items.len()], items, "runs");
    assert_eq!(found[5][..items.len()], lengths, "lengths of runs");
    assert_eq!(gpu.download(&counts), [odd.len() as i32, items.len() as i32, most]);
    expected.dedup();
    expected.retain(|x| x % 3 != 0);
    assert_eq!(sum, expected.iter().enumerate().map(|(i, x)| i as f64 * f64::from(*x)).sum::<f64>());
}
