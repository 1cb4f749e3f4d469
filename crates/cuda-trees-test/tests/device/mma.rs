//! `mma.h`: compares products of fragments with matrix products.

use cuda_trees_test::headers;
use half::{bf16, f16};
use hip::{DeviceCopy, Module};

use crate::common::{Gpu, bits, gpu, launch, noise};

/// A kernel of `mma.cu`, and the layout of its matrices.
struct Tile {
    name: &'static str,
    shape: [usize; 3],
    /// By rows; else by columns.
    rows: [bool; 3],
}

const fn tile(name: &'static str, shape: [usize; 3], rows: [bool; 3]) -> Tile {
    Tile { name, shape, rows }
}

/// Conversions to a sum's type and from it.
type Accumulator<A> = (fn(f64) -> A, fn(A) -> f64);

/// Two matrices of whole numbers from `low` to `high`, by rows.
fn matrices(elements: usize, low: f64, high: f64, seed: u32) -> Vec<f64> {
    let number = |x: f32| (low + (high - low) * (f64::from(x) + 1.0) / 2.0).round();
    noise(2 * elements, seed).into_iter().map(number).collect()
}

/// The same in memory order.
fn stored(values: &[f64], height: usize, width: usize, by_rows: bool) -> Vec<f64> {
    let one = |matrix: &[f64]| -> Vec<f64> {
        if by_rows {
            return matrix.to_vec();
        }
        (0..height * width).map(|i| matrix[i % height * width + i / height]).collect()
    };
    values.chunks(height * width).flat_map(one).collect()
}

fn check<T: DeviceCopy, A: DeviceCopy>(
    gpu: &Gpu,
    module: &Module,
    tile: &Tile,
    range: (f64, f64),
    of: fn(f64) -> T,
    accumulator: Accumulator<A>,
) {
    let ([m, n, k], [a_rows, b_rows, c_rows]) = (tile.shape, tile.rows);
    let (a, b) = (matrices(m * k, range.0, range.1, 90), matrices(k * n, range.0, range.1, 91));
    let c = matrices(m * n, -50.0, 50.0, 92);
    let upload = |values: Vec<f64>| gpu.upload(&values.into_iter().map(of).collect::<Vec<T>>());
    let (a_at, b_at) = (upload(stored(&a, m, k, a_rows)), upload(stored(&b, k, n, b_rows)));
    let c_at = gpu.upload(&stored(&c, m, n, c_rows).into_iter().map(accumulator.0).collect::<Vec<A>>());
    let mut d_at = gpu.zeroed::<A>(2 * m * n);
    launch!(gpu, module, tile.name, 1, 64; &a_at, &b_at, &c_at, &mut d_at);
    let mut expected = Vec::new();
    for ((a, b), c) in a.chunks(m * k).zip(b.chunks(k * n)).zip(c.chunks(m * n)) {
        for (i, start) in c.iter().enumerate() {
            let (row, column) = (i / n, i % n);
            let product: f64 = (0..k).map(|i| a[row * k + i] * b[i * n + column]).sum();
            expected.push(2.0 * (product + start));
        }
    }
    let found: Vec<f64> = gpu.download(&d_at).into_iter().map(accumulator.1).collect();
    for (i, (found, expected)) in found.iter().zip(stored(&expected, m, n, c_rows)).enumerate() {
        // Everything is exact, except that gfx11's instructions truncate sums.
        assert!((found - expected).abs() < 1e-2, "{}, {i}: {found}, not {expected}", tile.name);
    }
}

#[test]
fn fragments_of_every_shape_and_type() {
    let Some(gpu) = gpu() else { return };
    let module = gpu.module(&headers::MMA);
    let single: Accumulator<f32> = (|x| x as f32, f64::from);
    let whole: Accumulator<i32> = (|x| x as i32, f64::from);
    let small = (-8.0, 8.0);
    check(
        &gpu,
        &module,
        &tile("f16_16_16_16", [16, 16, 16], [true, false, true]),
        small,
        f16::from_f64,
        single,
    );
    check(
        &gpu,
        &module,
        &tile("f16_32_8_16", [32, 8, 16], [false, true, false]),
        small,
        f16::from_f64,
        single,
    );
    let half: Accumulator<f16> = (f16::from_f64, f16::to_f64);
    // Twice the sums must fit into the half's eleven bits.
    check(&gpu, &module, &tile("f16_8_32_16", [8, 32, 16], [true; 3]), (-6.0, 6.0), f16::from_f64, half);
    check(&gpu, &module, &tile("bf16_16_16_16", [16, 16, 16], [false; 3]), small, bf16::from_f64, single);
    check(
        &gpu,
        &module,
        &tile("bf16_32_8_16", [32, 8, 16], [true, false, true]),
        small,
        bf16::from_f64,
        single,
    );
    check(
        &gpu,
        &module,
        &tile("s8_16_16_16", [16, 16, 16], [true, false, true]),
        (-128.0, 127.0),
        |x| x as i8,
        whole,
    );
    check(
        &gpu,
        &module,
        &tile("u8_8_32_16", [8, 32, 16], [false, true, false]),
        (0.0, 255.0),
        |x| x as u8,
        whole,
    );
    check(
        &gpu,
        &module,
        &tile("tf32_16_16_8", [16, 16, 8], [true, false, true]),
        small,
        |x| x as f32,
        single,
    );
    let double: Accumulator<f64> = (|x| x, |x| x);
    check(&gpu, &module, &tile("f64_8_8_4", [8, 8, 4], [true, false, true]), (-1e6, 1e6), |x| x, double);
}

#[test]
fn fragments_of_less_than_eight_bits() {
    let Some(gpu) = gpu() else { return };
    let module = gpu.module(&headers::MMA);
    let row = |words: &[u32], line: usize, width: usize| words[line * width..][..4].to_vec();
    let dot = |a: &[u32], b: &[u32], signed: bool| -> i64 {
        let nibble = |word: u32, i: u32| match signed {
            true => i64::from(((word << (28 - 4 * i)) as i32) >> 28),
            false => i64::from(word >> (4 * i) & 15),
        };
        let of = |(a, b): (&u32, &u32)| (0..8).map(|i| nibble(*a, i) * nibble(*b, i)).sum::<i64>();
        a.iter().zip(b).map(of).sum()
    };
    // Lines of A are 64 elements apart.
    let (a, b) = (bits(8 * 8, 93), bits(8 * 4, 94));
    let (a_at, b_at) = (gpu.upload(&a), gpu.upload(&b));
    for (name, signed) in [("packed_s4", true), ("packed_u4", false)] {
        let mut c: Vec<i32> = bits(64, 95).into_iter().map(|word| (word as i32) >> 8).collect();
        if signed {
            // Clamped sums at both ends.
            c[..16].fill(i32::MAX - 3);
            c[16..32].fill(i32::MIN + 3);
        }
        let (c_at, mut d_at) = (gpu.upload(&c), gpu.zeroed::<i32>(64));
        launch!(gpu, module, name, 1, 32; &a_at, &b_at, &c_at, &mut d_at);
        for (place, found) in gpu.download(&d_at).into_iter().enumerate() {
            let (m, n) = (place % 8, place / 8);
            let sum = dot(&row(&a, m, 8), &row(&b, n, 4), signed) + i64::from(c[m * 8 + n]);
            let expected = sum.clamp(i64::from(i32::MIN), i64::from(i32::MAX));
            assert_eq!(i64::from(found), expected, "{name} {m} {n}");
        }
    }
    let mut d_at = gpu.zeroed::<i32>(128);
    launch!(gpu, module, "packed_b1", 1, 32; &a_at, &b_at, &mut d_at);
    let found = gpu.download(&d_at);
    for (m, n) in (0..64).map(|place| (place / 8, place % 8)) {
        let count = |of: fn(u32, u32) -> u32| -> u32 {
            row(&a, m, 8).iter().zip(&row(&b, n, 4)).map(|(a, b)| of(*a, *b).count_ones()).sum()
        };
        let expected = [3 + count(|a, b| a ^ b), count(|a, b| a & b)].map(|count| count as i32);
        assert_eq!([found[m * 8 + n], found[64 + m * 8 + n]], expected, "{m} {n}");
    }
}
