//! `ferrocm_simd.h`: functions on the parts of a word.

use cuda_trees_test::headers;

use crate::common::{bits, gpu, launch};

/// Words whose parts are often at the limits of their type.
fn words(count: usize, seed: u32) -> Vec<u32> {
    let special = [0x8000_7fff_u32, 0x807f_ff00, 0x0001_ffff, 0x7f80_01fe, 0xffff_ffff, 0];
    let word = |(i, bits): (usize, u32)| if bits & 7 < 3 { special[i % special.len()] } else { bits };
    bits(count, seed).into_iter().enumerate().map(word).collect()
}

/// The columns of `parts` for parts of so many bits.
fn family(a: u32, b: u32, width: u32) -> Vec<u32> {
    let count = 32 / width;
    let mask = u32::MAX >> (32 - width);
    let unsigned = |x: u32, i: u32| i64::from(x >> (i * width) & mask);
    let signed = |x: u32, i: u32| {
        let part = unsigned(x, i);
        if part >> (width - 1) == 1 { part - (1 << width) } else { part }
    };
    let (least, most) = (-(1_i64 << (width - 1)), (1_i64 << (width - 1)) - 1);
    let together =
        |of: &dyn Fn(u32) -> i64| (0..count).fold(0, |word, i| word | (of(i) as u32 & mask) << (i * width));
    let s = |of: &dyn Fn(i64, i64) -> i64| together(&|i| of(signed(a, i), signed(b, i)));
    let u = |of: &dyn Fn(i64, i64) -> i64| together(&|i| of(unsigned(a, i), unsigned(b, i)));
    let cut = |x: i64| x.clamp(least, most);
    let cut_unsigned = |x: i64| x.clamp(0, i64::from(mask));
    let all = |holds: bool| if holds { -1 } else { 0 };
    vec![
        u(&|a, b| a + b),
        u(&|a, b| a - b),
        s(&|a, b| cut(a + b)),
        u(&|a, b| cut_unsigned(a + b)),
        s(&|a, b| cut(a - b)),
        u(&|a, b| cut_unsigned(a - b)),
        // Rounded away from zero.
        s(&|a, b| if a + b >= 0 { (a + b + 1) / 2 } else { (a + b - 1) / 2 }),
        u(&|a, b| (a + b + 1) / 2),
        u(&|a, b| (a + b) / 2),
        s(&i64::max),
        u(&i64::max),
        s(&i64::min),
        u(&i64::min),
        s(&|a, b| (a - b).abs()),
        u(&|a, b| (a - b).abs()),
        u(&|a, b| all(a == b)),
        u(&|a, b| all(a != b)),
        s(&|a, b| all(a >= b)),
        u(&|a, b| all(a >= b)),
        s(&|a, b| all(a > b)),
        u(&|a, b| all(a > b)),
        s(&|a, b| all(a <= b)),
        u(&|a, b| all(a <= b)),
        s(&|a, b| all(a < b)),
        u(&|a, b| all(a < b)),
        u(&|a, b| i64::from(a == b)),
        u(&|a, b| i64::from(a != b)),
        s(&|a, b| i64::from(a >= b)),
        u(&|a, b| i64::from(a >= b)),
        s(&|a, b| i64::from(a > b)),
        u(&|a, b| i64::from(a > b)),
        s(&|a, b| i64::from(a <= b)),
        u(&|a, b| i64::from(a <= b)),
        s(&|a, b| i64::from(a < b)),
        u(&|a, b| i64::from(a < b)),
        (0..count).map(|i| (signed(a, i) - signed(b, i)).unsigned_abs() as u32).sum(),
        (0..count).map(|i| (unsigned(a, i) - unsigned(b, i)).unsigned_abs() as u32).sum(),
        s(&|a, _| a.abs()),
        s(&|a, _| cut(a.abs())),
        s(&|a, _| -a),
        s(&|a, _| cut(-a)),
    ]
}

#[test]
fn parts_are_computed_apart() {
    let Some(gpu) = gpu() else { return };
    let module = gpu.module(&headers::SIMD);
    let threads = 256;
    let input = words(2 * threads, 50);
    let pairs = gpu.upload(&input);
    let mut output = gpu.zeroed::<u32>(82 * threads);
    launch!(gpu, module, "parts", 2, 128; &pairs, &mut output);
    for (pair, found) in input.chunks(2).zip(gpu.download(&output).chunks(82)) {
        let (a, b) = (pair[0], pair[1]);
        for (width, found) in [(8, &found[..41]), (16, &found[41..])] {
            for (column, expected) in family(a, b, width).into_iter().enumerate() {
                let found = found[column];
                assert_eq!(
                    found, expected,
                    "column {column} of {width} bits, {a:#x} {b:#x}: {found:#x}, {expected:#x}"
                );
            }
        }
    }
}

#[test]
fn extremes_of_sums() {
    let Some(gpu) = gpu() else { return };
    let module = gpu.module(&headers::SIMD);
    let mut input: Vec<i32> = words(3 * 128, 51).into_iter().map(|x| x as i32).collect();
    // Predicates are true for equal halves.
    input[1] = input[0] ^ 1;
    let triples = gpu.upload(&input);
    let mut output = gpu.zeroed::<i32>(21 * 128);
    launch!(gpu, module, "extremes", 1, 128; &triples, &mut output);
    for (triple, found) in input.chunks(3).zip(gpu.download(&output).chunks(21)) {
        let [a, b, c] = *triple else { unreachable!("of three") };
        let (ua, ub, uc) = (a as u32, b as u32, c as u32);
        let halves = |of: &dyn Fn(i16, i16, i16) -> i16| {
            let half = |i: u32| u32::from(of((ua >> i) as i16, (ub >> i) as i16, (uc >> i) as i16) as u16);
            (half(0) | half(16) << 16) as i32
        };
        let expected = [
            a.max(b).max(c),
            a.min(b).min(c),
            ua.max(ub).max(uc) as i32,
            ua.min(ub).min(uc) as i32,
            a.wrapping_add(b).max(c),
            ua.wrapping_add(ub).min(uc) as i32,
            a.wrapping_add(b).max(c).max(0),
            a.min(b).min(c).max(0),
            a.max(b),
            ua.min(ub) as i32,
            i32::from(a >= b) * 2 + i32::from(ua <= ub),
            halves(&|a, b, c| a.max(b).max(c)),
            halves(&|a, b, c| (a as u16).min(b as u16).min(c as u16) as i16),
            halves(&|a, b, c| a.wrapping_add(b).max(c)),
            halves(&|a, b, c| a.wrapping_add(b).min(c).max(0)),
            halves(&|a, b, _| a.max(b).max(0)),
            halves(&|a, b, _| a.max(b)),
            halves(&|a, b, _| a.min(b)),
            halves(&|a, b, _| (a as u16).max(b as u16) as i16),
            halves(&|a, b, _| (a as u16).min(b as u16) as i16),
            [16, 0].map(|i| ((ua >> i) as i16, (ub >> i) as i16)).iter().fold(0, |bits, (a, b)| {
                let orders = [a >= b, a <= b, *a as u16 >= *b as u16, *a as u16 <= *b as u16];
                bits * 2 + orders.iter().fold(0, |bits, order| bits * 4 + i32::from(*order))
            }),
        ];
        assert_eq!(found, expected, "{triple:x?}");
    }
}

#[test]
fn sums_of_products_and_differences() {
    let Some(gpu) = gpu() else { return };
    let module = gpu.module(&headers::SIMD);
    let input: Vec<i32> = words(3 * 128, 52).into_iter().map(|x| x as i32).collect();
    let triples = gpu.upload(&input);
    let mut output = gpu.zeroed::<i32>(8 * 128);
    launch!(gpu, module, "dots", 1, 128; &triples, &mut output);
    for (triple, found) in input.chunks(3).zip(gpu.download(&output).chunks(8)) {
        let [a, b, c] = *triple else { unreachable!("of three") };
        let (ua, ub) = (a as u32, b as u32);
        let bytes = |x: u32, signed: bool| {
            x.to_le_bytes().map(|byte| if signed { i64::from(byte as i8) } else { i64::from(byte) })
        };
        let halves = |x: u32, signed: bool| {
            [x as u16, (x >> 16) as u16]
                .map(|half| if signed { i64::from(half as i16) } else { i64::from(half) })
        };
        let four =
            |signed| std::iter::zip(bytes(ua, signed), bytes(ub, signed)).map(|(x, y)| x * y).sum::<i64>();
        let two = |signed, at: usize| {
            let b = bytes(ub, signed);
            std::iter::zip(halves(ua, signed), [b[at], b[at + 1]]).map(|(x, y)| x * y).sum::<i64>()
        };
        let expected = [
            four(true),
            four(false),
            two(true, 0),
            two(false, 0),
            two(true, 2),
            two(false, 2),
            i64::from(a.abs_diff(b)),
            i64::from(ua.abs_diff(ub)),
        ];
        let expected = expected.map(|sum| (sum as i32).wrapping_add(c));
        assert_eq!(found, expected, "{triple:x?}");
    }
}

/// The position of the third set bit from `base` on, or none.
fn third_bit(word: u32, base: u32) -> u32 {
    (base..32).filter(|i| word >> i & 1 == 1).nth(2).unwrap_or(u32::MAX)
}

#[test]
fn functions_on_whole_numbers() {
    let Some(gpu) = gpu() else { return };
    let module = gpu.module(&headers::SIMD);
    let input: Vec<i32> = words(3 * 128, 53).into_iter().map(|x| x as i32).collect();
    let triples = gpu.upload(&input);
    let mut output = gpu.zeroed::<i64>(32 * 128);
    launch!(gpu, module, "integers", 1, 128; &triples, &mut output);
    for (triple, found) in input.chunks(3).zip(gpu.download(&output).chunks(32)) {
        let [a, b, c] = *triple else { unreachable!("of three") };
        let (ua, ub, uc) = (a as u32, b as u32, c as u32);
        let (la, lb) = (i64::from(a) << 32 | i64::from(ub), i64::from(b) << 32 | i64::from(uc));
        let (ula, ulb) = (la as u64, lb as u64);
        let (wide_a, wide_b, sum, unsigned_sum) =
            (i64::from(a), i64::from(b), i64::from(a) + i64::from(b), u64::from(ua) + u64::from(ub));
        let low = |x: i32| x << 8 >> 8;
        let first = |x: u64| if x == 0 { 0 } else { i64::from(x.trailing_zeros()) + 1 };
        let both = u64::from(ub) << 32 | u64::from(ua);
        let bytes = [ua.to_le_bytes(), ub.to_le_bytes()].concat();
        let chosen = [0, 4, 8, 12].map(|at| bytes[(uc >> at & 7) as usize]);
        let expected = [
            sum >> 1,
            (sum + 1) >> 1,
            (unsigned_sum >> 1) as i64,
            ((unsigned_sum + 1) >> 1) as i64,
            i64::from(low(a).wrapping_mul(low(b))),
            i64::from((ua & 0xff_ffff).wrapping_mul(ub & 0xff_ffff)),
            (wide_a * wide_b) >> 32,
            ((u64::from(ua) * u64::from(ub)) >> 32) as i64,
            ((i128::from(la) * i128::from(lb)) >> 64) as i64,
            ((u128::from(ula) * u128::from(ulb)) >> 64) as i64,
            i64::from(ua.reverse_bits()),
            ula.reverse_bits() as i64,
            i64::from(ua.leading_zeros()),
            i64::from(ula.leading_zeros()),
            first(u64::from(ua)),
            first(ula),
            first(wide_a as u64),
            i64::from(ua.count_ones()),
            i64::from(ula.count_ones()),
            (both << (uc & 31) >> 32) as i64,
            i64::from((both >> (uc & 31)) as u32),
            (both << (uc & 63).min(32) >> 32) as i64,
            i64::from((both >> (uc & 63).min(32)) as u32),
            i64::from(u32::from_le_bytes(chosen)),
            i64::from(third_bit(ua, uc & 31) as i32),
            i64::from(ua.max(ub)),
            i64::from(ua.min(ub)),
            la.max(lb),
            ula.min(ulb) as i64,
            i64::from(a & 0x3fff_ffff),
            i64::from(a & 0x3fff_ffff) << 32 | i64::from(ub),
            i64::from((b >> 1).abs()),
        ];
        for (column, expected) in expected.into_iter().enumerate() {
            assert_eq!(found[column], expected, "column {column} of {triple:x?}");
        }
    }
}
