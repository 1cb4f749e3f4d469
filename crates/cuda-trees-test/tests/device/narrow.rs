//! `cuda_fp8.h`, `cuda_fp16.h`, `cuda_bf16.h`, and floats with other rounding modes.

use cuda_trees_test::headers;
use half::{bf16, f16};

use crate::common::{Gpu, assert_close, bits, gpu, launch, noise};

/// An eight-bit format of the Open Compute Project.
pub(crate) struct Fp8 {
    mantissa: u32,
    bias: i32,
    /// The code of the largest finite number.
    largest: u8,
}
pub(crate) const E4M3: Fp8 = Fp8 { mantissa: 3, bias: 7, largest: 0x7e };
pub(crate) const E5M2: Fp8 = Fp8 { mantissa: 2, bias: 15, largest: 0x7b };

impl Fp8 {
    /// The magnitude of a code, ignoring infinity and NaN.
    fn size(&self, code: u8) -> f64 {
        let (exponent, mantissa) =
            (i32::from(code >> self.mantissa), f64::from(code & ((1 << self.mantissa) - 1)));
        let fraction = mantissa / f64::from(1 << self.mantissa);
        if exponent == 0 {
            fraction * 2_f64.powi(1 - self.bias)
        } else {
            (1.0 + fraction) * 2_f64.powi(exponent - self.bias)
        }
    }

    pub(crate) fn value(&self, code: u8) -> f64 {
        let size = match code & 0x7f {
            code if code <= self.largest => self.size(code),
            0x7c if self.mantissa == 2 => f64::INFINITY,
            _ => f64::NAN,
        };
        if code & 0x80 == 0 { size } else { -size }
    }

    /// The nearest number, ties to even; too large numbers become the largest.
    pub(crate) fn nearest(&self, x: f64) -> u8 {
        self.rounded(x).min(self.largest) | if x.is_sign_negative() { 0x80 } else { 0 }
    }

    /// The code of the magnitude, above the largest if the number is too large.
    fn rounded(&self, x: f64) -> u8 {
        let x = x.abs();
        let above = (0..=self.largest + 1).find(|code| self.size(*code) >= x).unwrap_or(self.largest + 1);
        if above == 0 {
            return 0;
        }
        let (low, high) = (x - self.size(above - 1), self.size(above) - x);
        if low < high || low == high && above % 2 == 1 { above - 1 } else { above }
    }

    /// Too large numbers become NaN in E4M3 and infinity in E5M2.
    fn unsaturated(&self, x: f64) -> u8 {
        let code = self.rounded(x);
        let code = if code > self.largest { if self.mantissa == 3 { 0x7f } else { 0x7c } } else { code };
        code | if x.is_sign_negative() { 0x80 } else { 0 }
    }
}

#[test]
fn numbers_become_the_nearest_of_eight_bits() {
    let Some(gpu) = gpu() else { return };
    let module = gpu.module(&headers::NARROW);
    // Every number of both formats, the midpoints, and their neighbours.
    let mut values = vec![f64::INFINITY, 1e30, 464.0, 465.0, 480.0, 61440.0, 61439.0, 1e-30, 0.0];
    for format in [&E4M3, &E5M2] {
        for code in 0..format.largest {
            let (low, high) = (format.size(code), format.size(code + 1));
            let middle = low.midpoint(high);
            values.extend([low, middle, middle * (1.0 - 1e-6), middle * (1.0 + 1e-6)]);
        }
    }
    values.extend(values.clone().into_iter().map(|x| -x));
    values.push(f64::NAN);
    while values.len() % 64 != 0 {
        values.push(1.0);
    }
    let input = gpu.upload(&values);
    let mut output = gpu.zeroed::<u8>(values.len() * 15);
    launch!(gpu, module, "to_fp8", (values.len() / 64) as u32, 64; &input, &mut output);
    for (x, found) in values.iter().zip(gpu.download(&output).chunks(15)) {
        let single = *x as f32;
        let (f, h, b) = (f64::from(single), f16::from_f32(single).to_f64(), bf16::from_f32(single).to_f64());
        if x.is_nan() {
            let formats = [&E4M3, &E5M2, &E4M3, &E5M2, &E4M3, &E5M2, &E4M3, &E5M2, &E4M3, &E4M3, &E5M2];
            for (column, format) in formats.into_iter().enumerate() {
                assert!(format.value(found[column]).is_nan(), "{column}: {:#x}", found[column]);
            }
            continue;
        }
        let expected = [
            E4M3.nearest(*x),
            E5M2.nearest(*x),
            E4M3.nearest(f),
            E5M2.nearest(f),
            E4M3.unsaturated(f),
            E5M2.unsaturated(f),
            E4M3.nearest(h),
            E5M2.nearest(h),
            E4M3.nearest(b),
            E4M3.nearest(f),
            E5M2.nearest(f),
            E4M3.nearest(h),
            E5M2.unsaturated(h),
            E4M3.unsaturated(b),
            E4M3.unsaturated(*x),
        ];
        assert_eq!(found, expected, "{x:e}");
    }
}

#[test]
fn every_number_of_eight_bits_is_read() {
    let Some(gpu) = gpu() else { return };
    let module = gpu.module(&headers::NARROW);
    let mut output = gpu.zeroed::<f32>(256 * 8);
    launch!(gpu, module, "from_fp8", 1, 256; &mut output);
    for (code, found) in gpu.download(&output).chunks(8).enumerate() {
        let (small, wide) = (E4M3.value(code as u8), E5M2.value(code as u8));
        let found: Vec<f64> = found.iter().map(|x| f64::from(*x)).collect();
        assert_close(
            &found,
            &[small, wide, small, small, wide, small, 0.0, wide],
            0.0,
            &format!("{code:#x}"),
        );
    }
}

#[test]
fn numbers_of_four_bits_and_scales() {
    let Some(gpu) = gpu() else { return };
    let module = gpu.module(&headers::NARROW);
    let sizes = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];
    let value =
        |code: u8| if code & 8 == 0 { sizes[usize::from(code & 7)] } else { -sizes[usize::from(code & 7)] };
    let mut values: Vec<f32> = noise(512, 66).into_iter().map(|x| 8.0 * x).collect();
    // Numbers, midpoints, and too large numbers.
    let exact = sizes.iter().zip(&sizes[1..]).flat_map(|(low, high)| [*low, f64::midpoint(*low, *high)]);
    for (i, x) in exact.chain([6.0, 1e9, f64::INFINITY]).enumerate() {
        (values[2 * i], values[2 * i + 1]) = (x as f32, -x as f32);
    }
    let input = gpu.upload(&values);
    let (mut output, mut back) = (gpu.zeroed::<u8>(256), gpu.zeroed::<f32>(256 * 6));
    launch!(gpu, module, "four_bits", 1, 256; &input, &mut output, &mut back);
    let nearest = |x: f32| {
        let off = |code: &u8| (sizes[usize::from(*code)] - f64::from(x.abs()).min(6.0)).abs();
        let best = (0..8_u8).map(|code| off(&code)).fold(f64::INFINITY, f64::min);
        let code = (0..8_u8).filter(|code| off(code) == best).min_by_key(|code| code % 2).unwrap();
        code | if x.is_sign_negative() { 8 } else { 0 }
    };
    let (output, back) = (gpu.download(&output), gpu.download(&back));
    for (i, pair) in values.chunks(2).enumerate() {
        let codes = [nearest(pair[0]), nearest(pair[1])];
        assert_eq!(output[i], codes[0] | codes[1] << 4, "{pair:?}");
        let scale = if i == 255 { f64::NAN } else { 2_f64.powi(i as i32 - 127) };
        let expected =
            [value(codes[1]), -value(codes[0]), value(i as u8 & 15), value(i as u8 >> 4), scale, scale];
        let found: Vec<f64> = back[i * 6..][..6].iter().map(|x| f64::from(*x)).collect();
        for (found, expected) in found.iter().zip(expected) {
            assert!(
                *found == expected || found.is_nan() && expected.is_nan(),
                "{i}: {found:e}, not {expected:e}"
            );
        }
    }
}

#[test]
fn scales_are_powers_of_two_around_a_number() {
    let Some(gpu) = gpu() else { return };
    let module = gpu.module(&headers::NARROW);
    // Every exponent, those below the smallest scale too: the power of two, and the numbers beside it.
    let powers = (-149..128).map(|power| 2_f64.powi(power) as f32);
    let mut values: Vec<f32> = powers
        .flat_map(|x| [x, -x, f32::from_bits(x.to_bits() - 1), f32::from_bits(x.to_bits() + 1)])
        .collect();
    values.extend([0.0, -0.0, f32::MAX, f32::INFINITY, f32::NEG_INFINITY, f32::NAN]);
    values.resize(values.len().next_multiple_of(2), 3.0);
    let half = values.len() / 2;
    assert!(half <= 1024);
    for part in 0..2 {
        let (from, mut to) = (gpu.upload(&values[part * half..][..half]), gpu.zeroed::<u8>(half * 5));
        launch!(gpu, module, "scales", 1, half as u32; &from, &mut to);
        let found = gpu.download(&to);
        for (x, found) in values[part * half..].iter().zip(found.chunks(5)) {
            let size = f64::from(x.abs());
            // The scales that are not above the number, and those below it.
            let scale = |code: i32| 2_f64.powi(code - 127);
            let below = (0..255).rev().find(|code| scale(*code) <= size).unwrap_or(0);
            let above = (0..256).find(|code| scale(*code) >= size).unwrap_or(255);
            let expected = match size.is_nan() {
                true => [255; 5],
                false => {
                    [below, above.min(254), above, above.min(254), above.min(254)].map(|code| code as u8)
                }
            };
            assert_eq!(found, expected, "{x:e}");
        }
    }
}

/// Numbers that include equal ones, opposite ones, infinities and NaN.
fn triples(count: usize, seed: u32) -> Vec<f32> {
    let special = [f32::NAN, 1.0, 1.0, -1.0, 0.0, -0.0, f32::INFINITY, 0.5];
    let choice = bits(3 * count, seed);
    let number =
        |(x, choice): (f32, u32)| if choice & 3 == 0 { special[choice as usize >> 2 & 7] } else { x };
    noise(3 * count, seed + 1).into_iter().zip(choice).map(number).collect()
}

/// `round` rounds to the type; `ulp` is its unit in the last place at 1.
fn sixteen(gpu: &Gpu, kernel: &str, round: fn(f64) -> f64, ulp: f64) {
    let module = gpu.module(&headers::NARROW);
    let input = triples(128, 60);
    let numbers = gpu.upload(&input);
    let mut output = gpu.zeroed::<f32>(128 * 24);
    launch!(gpu, module, kernel, 1, 128; &numbers, &mut output);
    let unit = |x: f64| if x.is_nan() { 0.0 } else { x.clamp(0.0, 1.0) };
    let relu = |x: f64| if x < 0.0 { 0.0 } else { x };
    let nan_of =
        |a: f64, b: f64, of: fn(f64, f64) -> f64| if a.is_nan() || b.is_nan() { f64::NAN } else { of(a, b) };
    for (triple, found) in input.chunks(3).zip(gpu.download(&output).chunks(24)) {
        let [a, b, c] = [0, 1, 2].map(|i| round(f64::from(triple[i])));
        // The pairs are (a, b) and (b, c).
        let holds = |of: &dyn Fn(f64, f64) -> bool| {
            f64::from(u8::from(of(a, b))) + 2.0 * f64::from(u8::from(of(b, c)))
        };
        let ordered = |a: f64, b: f64| !a.is_nan() && !b.is_nan();
        let fma = |a: f64, b: f64, c: f64| round(a * b + c);
        let expected = [
            holds(&|a, b| a == b),
            holds(&|a, b| ordered(a, b) && a != b),
            holds(&|a, b| a <= b),
            holds(&|a, b| a >= b),
            holds(&|a, b| a < b),
            holds(&|a, b| a > b),
            holds(&|a, b| !ordered(a, b) || a == b),
            holds(&|a, b| a != b),
            holds(&|a, b| !ordered(a, b) || a <= b),
            holds(&|a, b| !ordered(a, b) || a >= b),
            holds(&|a, b| !ordered(a, b) || a < b),
            holds(&|a, b| !ordered(a, b) || a > b),
            a.tanh(),
            b.tanh(),
            relu(fma(a, b, c)),
            relu(fma(b, c, a)),
            fma(-b, c, fma(a, b, c)),
            fma(b, b, fma(a, c, a)),
            unit(round(a + b)),
            unit(round(b * c)),
            unit(fma(a, b, c)),
            holds(&|a, b| !ordered(a, b) || a <= b),
            nan_of(a, b, f64::max),
            nan_of(a, b, f64::min),
        ];
        let found: Vec<f64> = found.iter().map(|x| f64::from(*x)).collect();
        assert_close(&found[..12], &expected[..12], 0.0, &format!("{kernel} {triple:?}"));
        assert_close(&found[12..], &expected[12..], ulp, &format!("{kernel} {triple:?}, from column 12 on"));
    }
}

#[test]
fn halves_have_what_cuda_has() {
    let Some(gpu) = gpu() else { return };
    sixteen(&gpu, "halves", |x| f16::from_f64(x).to_f64(), 1.0 / 1024.0);
}

#[test]
fn bfloats_have_what_cuda_has() {
    let Some(gpu) = gpu() else { return };
    sixteen(&gpu, "bfloats", |x| bf16::from_f64(x).to_f64(), 1.0 / 128.0);
}

/// The bits of the bf16 number nearest to an integer, ties to even; truncated if not `nearest`.
fn whole_to_bf16(x: i128, nearest: bool) -> i64 {
    let size = x.unsigned_abs();
    let sign = if x < 0 { 0x8000 } else { 0 };
    if size == 0 {
        return 0;
    }
    let top = 127 - size.leading_zeros();
    let (mut kept, mut exponent) = if top > 7 { (size >> (top - 7), top) } else { (size << (7 - top), top) };
    if top > 7 && nearest {
        let rest = size & ((1 << (top - 7)) - 1);
        let half = 1_u128 << (top - 8);
        kept += u128::from(rest > half || rest == half && kept & 1 == 1);
        if kept == 256 {
            (kept, exponent) = (128, exponent + 1);
        }
    }
    sign | i64::from(exponent + 127) << 7 | (kept as i64 & 127)
}

#[test]
fn bfloats_and_integers() {
    let Some(gpu) = gpu() else { return };
    let module = gpu.module(&headers::NARROW);
    let mut floats: Vec<f32> = noise(128, 62).into_iter().map(|x| 100.0 * x).collect();
    floats[..10].copy_from_slice(&[
        f32::NAN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        3e9,
        -3e9,
        1e20,
        2.5,
        3.5,
        -2.5,
        70000.0,
    ]);
    let mut numbers: Vec<i64> = bits(256, 63)
        .chunks(2)
        .enumerate()
        .map(|(i, x)| ((i64::from(x[0]) << 32) | i64::from(x[1])) >> (i % 60))
        .collect();
    // The midpoint of two bf16 numbers, and a number above it that a float cannot hold.
    numbers[..6].copy_from_slice(&[
        0x0101_0000_0000_0000,
        0x0101_0000_0000_0001,
        -0x0181_0000_0000_0000,
        i64::MIN,
        i64::MAX,
        0,
    ]);
    let (float_at, number_at) = (gpu.upload(&floats), gpu.upload(&numbers));
    let mut output = gpu.zeroed::<i64>(128 * 16);
    launch!(gpu, module, "whole_bfloats", 1, 128; &float_at, &number_at, &mut output);
    for (i, found) in gpu.download(&output).chunks(16).enumerate() {
        let a = bf16::from_f32(floats[i]).to_f64();
        let n = i128::from(numbers[i]);
        let next = |up: bool| {
            let x = f64::from(floats[i]);
            let near = bf16::from_f32(floats[i]);
            // One step away from zero, or towards it, changes the bits by one.
            let step = |away: bool| near.to_bits().wrapping_add(if away { 1 } else { u16::MAX });
            let off = near.to_f64() - x;
            let bits = if off == 0.0 || off.is_nan() || (off > 0.0) == up {
                near.to_bits()
            } else {
                step((x > 0.0) == up)
            };
            i64::from(bits)
        };
        let mut expected = [
            // `as` saturates and converts NaN to 0, like CUDA for at most 32 bits.
            i64::from(a.round_ties_even() as i32),
            i64::from(a.floor() as i32),
            i64::from(a.ceil() as i32),
            i64::from(a.trunc() as u32),
            i64::from(a.round_ties_even() as i16),
            a.trunc() as i64,
            a.round_ties_even() as u64 as i64,
            i64::from(a.trunc() as u8),
            whole_to_bf16(n, true),
            whole_to_bf16(i128::from(numbers[i] as u64), true),
            whole_to_bf16(i128::from(numbers[i] as i32), true),
            whole_to_bf16(i128::from(numbers[i] as i32), false),
            whole_to_bf16(i128::from(numbers[i] as u32), true),
            whole_to_bf16(i128::from(numbers[i] as i16), true),
            next(true),
            next(false),
        ];
        if floats[i].is_nan() {
            // In 64 bits, it is the highest one.
            [expected[5], expected[6]] = [i64::MIN; 2];
            // The NaN's bits are unspecified.
            for column in [14, 15] {
                assert!(bf16::from_bits(found[column] as u16).is_nan());
                expected[column] = found[column];
            }
        }
        assert_eq!(found, expected, "{} {}", floats[i], numbers[i]);
    }
}

/// A number in units of 2^-80; it must be a multiple and not too large.
fn fixed(x: f64) -> i128 {
    let scaled = x * 2_f64.powi(40);
    let (high, low) = (scaled.trunc(), scaled.fract());
    ((high as i128) << 40) + (low * 2_f64.powi(40)) as i128
}

#[test]
fn floats_are_rounded_down_up_and_to_zero() {
    let Some(gpu) = gpu() else { return };
    let module = gpu.module(&headers::NARROW);
    let threads = 256;
    // Exponents from -12 to 11; some sums and quotients are exact.
    let scale = bits(3 * threads, 64);
    let number = |(x, bits): (f32, u32)| {
        let x = if bits & 7 == 0 { (x * 8.0).round() } else { x };
        if x == 0.0 { 1.5 } else { x * 2_f32.powi((bits >> 8) as i32 % 24 - 12) }
    };
    let input: Vec<f32> = noise(3 * threads, 65).into_iter().zip(scale).map(number).collect();
    let triples = gpu.upload(&input);
    let mut output = gpu.zeroed::<f32>(21 * threads);
    launch!(gpu, module, "rounded", 1, 256; &triples, &mut output);
    let mut inexact = 0;
    for (triple, found) in input.chunks(3).zip(gpu.download(&output).chunks(21)) {
        let [a, b, c] = [0, 1, 2].map(|i| f64::from(triple[i]));
        // Compares the exact result with a float: with integers, or with products that a double holds
        // exactly.
        let compare = |operation: usize, r: f32| {
            let r = f64::from(r);
            let with = |product: f64, of: f64, divisor: f64| {
                let ordering = of.total_cmp(&product);
                if divisor < 0.0 { ordering.reverse() } else { ordering }
            };
            match operation {
                0 => (fixed(a) + fixed(b)).cmp(&fixed(r)),
                1 => (fixed(a) - fixed(b)).cmp(&fixed(r)),
                2 => fixed(a * b).cmp(&fixed(r)),
                3 => (fixed(a * b) + fixed(c)).cmp(&fixed(r)),
                4 => with(r * b, a, b),
                5 => with(r * a, 1.0, a),
                _ => a.total_cmp(&(r * r)),
            }
        };
        for (column, r) in found.iter().enumerate() {
            let (direction, operation) = (column / 7, column % 7);
            if operation == 6 && a < 0.0 {
                assert!(r.is_nan());
                continue;
            }
            let down = direction == 0 || direction == 2 && *r > 0.0;
            // Down: not above the exact result, but the next number is. Up: the other way round.
            let (order, beyond) = (compare(operation, *r), if down { r.next_up() } else { r.next_down() });
            let wanted = if down { std::cmp::Ordering::Greater } else { std::cmp::Ordering::Less };
            let fits = order.is_eq() || order == wanted && compare(operation, beyond) == wanted.reverse();
            assert!(fits, "{triple:?}, operation {operation}, direction {direction}: {r:e}");
            inexact += usize::from(order.is_ne());
        }
    }
    assert!(inexact > 2000, "most results are rounded: {inexact}");
}
