//! Inline PTX, compared with PTX's manual.

use cuda_trees_test::headers;
use half::f16;

use crate::common::{assert_close, bits, gpu, launch, noise};
use crate::narrow::{E4M3, E5M2};

#[test]
fn carries_go_from_word_to_word() {
    let Some(gpu) = gpu() else { return };
    let module = gpu.module(&headers::PTX);
    let mut words = bits(64 * 16, 120);
    // Long runs of ones and zeros, so that carries propagate all the way.
    words[..16].copy_from_slice(&[[u32::MAX; 8], [1, 0, 0, 0, 0, 0, 0, 0]].concat());
    words[16..32].copy_from_slice(&[[0; 8], [1, 0, 0, 0, 0, 0, 0, 0]].concat());
    let input = gpu.upload(&words);
    let mut output = gpu.zeroed::<u32>(64 * 32);
    launch!(gpu, module, "long_numbers", 1, 64; &input, &mut output);
    let mut overflows = 0;
    for (numbers, found) in words.chunks(16).zip(gpu.download(&output).chunks(32)) {
        let (a, b) = numbers.split_at(8);
        let (mut carry, mut borrow) = (false, false);
        let (mut sum, mut difference) = (Vec::new(), Vec::new());
        for (x, y) in a.iter().zip(b) {
            let wide = u64::from(*x) + u64::from(*y) + u64::from(carry);
            (carry, _) = (wide >> 32 != 0, sum.push(wide as u32));
            let wide = i64::from(*x) - i64::from(*y) - i64::from(borrow);
            (borrow, _) = (wide < 0, difference.push(wide as u32));
        }
        assert_eq!(found[..8], sum, "{numbers:x?}");
        assert_eq!(found[8..16], difference, "{numbers:x?}");
        let wide = u64::from(a[1]) << 32 | u64::from(a[0]);
        let product = u128::from(wide) * u128::from(b[0]) + u128::from(a[0]) * u128::from(b[1]);
        assert_eq!(
            found[16..19],
            [product as u32, (product >> 32) as u32, (product >> 64) as u32],
            "{numbers:x?}"
        );
        let (low, carry) = wide.overflowing_add((!wide).wrapping_add(u64::from(b[2])));
        assert_eq!(found[19..21], [low as u32, u32::from(carry)], "{numbers:x?}");
        overflows += u32::from(carry);
    }
    assert!(overflows > 10);
}

#[test]
fn pairs_of_eight_bits() {
    let Some(gpu) = gpu() else { return };
    let module = gpu.module(&headers::PTX);
    let mut values = vec![f32::INFINITY, 1e30, 464.0, 465.0, 61440.0, 0.0, f32::NAN];
    for format in [&E4M3, &E5M2] {
        for code in 0..0x7b {
            let (low, high) = (format.value(code), format.value(code + 1));
            values.extend([low, low.midpoint(high), low.midpoint(high) * (1.0 + 1e-6)].map(|x| x as f32));
        }
    }
    values.extend(values.clone().into_iter().map(|x| -x));
    values.resize(values.len().next_multiple_of(128), 1.0);
    let pairs = values.len() / 2;
    let input = gpu.upload(&values);
    let (mut output, mut back) = (gpu.zeroed::<u16>(pairs * 4), gpu.zeroed::<u32>(512));
    launch!(gpu, module, "narrow", (pairs / 64) as u32, 64; &input, &mut output, &mut back);
    for (pair, found) in values.chunks(2).zip(gpu.download(&output).chunks(4)) {
        for (x, found) in
            pair.iter().zip([0, 1].map(|part| [0, 1, 2, 3].map(|i| found[i].to_le_bytes()[part])))
        {
            let (f, h) = (f64::from(*x), f16::from_f32(*x).to_f64());
            if f.is_nan() {
                assert!(found.iter().all(|code| code & 0x7f == 0x7f), "{found:x?}");
                continue;
            }
            assert_eq!(found, [E4M3.nearest(f), E5M2.nearest(f), E4M3.nearest(h), E5M2.nearest(h)], "{x:e}");
        }
    }
    for (code, found) in gpu.download(&back).chunks(2).enumerate() {
        let half = |word: u32, part: u32| f16::from_bits((word >> (16 * part)) as u16).to_f64();
        let (code, other) = (code as u8, 255 - code as u8);
        let found = [half(found[0], 0), half(found[0], 1), half(found[1], 0), half(found[1], 1)];
        let expected = [E4M3.value(code), E4M3.value(other), E5M2.value(code), E5M2.value(other)];
        assert_close(&found, &expected, 0.0, &format!("{code:#x}"));
    }
}

#[test]
fn products_of_narrow_fragments() {
    let Some(gpu) = gpu() else { return };
    let module = gpu.module(&headers::PTX);
    let (a, b) = (bits(32 * 4, 121), bits(32 * 2, 122));
    let (a_at, b_at) = (gpu.upload(&a), gpu.upload(&b));
    let (mut whole, mut floats) = (gpu.zeroed::<i32>(32 * 12), gpu.zeroed::<f32>(32 * 4));
    launch!(gpu, module, "products", 1, 32; &a_at, &b_at, &mut whole, &mut floats);
    let (whole, floats) = (gpu.download(&whole), gpu.download(&floats));
    // Four words of K for each row and column; a word has eight elements of four bits or four of eight.
    let row_words =
        |row: usize| (0..8).map(move |word| (row % 8 * 4 + word % 4) * 4 + row / 8 + word / 4 * 2);
    let column_words = |column: usize| (0..8).map(move |word| (column * 4 + word % 4) * 2 + word / 4);
    let dot = |row: usize, column: usize, of: &dyn Fn(u32, u32) -> f64| -> f64 {
        std::iter::zip(row_words(row), column_words(column)).map(|(i, j)| of(a[i], b[j])).sum()
    };
    let bytes = |of: &'static dyn Fn(u8, u8) -> f64| {
        move |x: u32, y: u32| {
            std::iter::zip(x.to_le_bytes(), y.to_le_bytes()).map(|(x, y)| of(x, y)).sum::<f64>()
        }
    };
    let nibbles = |x: u32, y: u32| {
        let part = |i: u32| f64::from((x << (28 - 4 * i)) as i32 >> 28) * f64::from(y >> (4 * i) & 15);
        (0..8).map(part).sum::<f64>()
    };
    for lane in 0..32 {
        for i in 0..4 {
            let (row, column) = (lane / 4 + i / 2 * 8, lane % 4 * 2 + i % 2);
            let expected = [
                dot(row, column, &bytes(&|x, y| f64::from(x) * f64::from(y as i8))),
                dot(row, column, &bytes(&|x, y| f64::from(x as i8) * f64::from(y as i8))),
                dot(row, column, &nibbles),
            ];
            let found = [0, 4, 8].map(|of| f64::from(whole[lane * 12 + of + i]));
            assert_eq!(found, expected, "lane {lane}, {i}");
            let product = bytes(&|x, y| E4M3.value(x & 0xbf) * E5M2.value(y & 0xbf));
            let expected = dot(row, column, &product);
            assert_close(&[f64::from(floats[lane * 4 + i])], &[expected], 1e-5, &format!("lane {lane}, {i}"));
        }
    }
}

#[test]
fn matrices_go_to_shared_memory() {
    let Some(gpu) = gpu() else { return };
    let module = gpu.module(&headers::PTX);
    let words = bits(128, 123);
    let input = gpu.upload(&words);
    let mut output = gpu.zeroed::<u32>(256);
    launch!(gpu, module, "matrices", 1, 32; &input, &mut output);
    let half = |matrix: usize, row: usize, column: usize| {
        words[(column * 4 + row / 2) * 4 + matrix] >> (row % 2 * 16) & 0xffff
    };
    for (lane, found) in gpu.download(&output).chunks(8).enumerate() {
        let stored =
            [0, 1, 2, 3].map(|j| half(lane / 8, lane % 8, 2 * j) | half(lane / 8, lane % 8, 2 * j + 1) << 16);
        let loaded = [0, 1, 2, 3].map(|matrix| words[(matrix * 8 + lane / 4) * 4 + lane % 4]);
        assert_eq!((&found[..4], &found[4..]), (&stored[..], &loaded[..]), "lane {lane}");
    }
}

#[test]
fn comparisons_choices_and_atomic_operations() {
    let Some(gpu) = gpu() else { return };
    let module = gpu.module(&headers::PTX);
    let values: Vec<i32> = noise(64, 124).into_iter().map(|x| (x * 6.0) as i32).collect();
    for all_positive in [false, true] {
        let values: Vec<i32> = values.iter().map(|x| if all_positive { x.abs() } else { *x }).collect();
        let input = gpu.upload(&values);
        let mut output = gpu.zeroed::<u32>(32 * 20);
        let (mut counter, mut sums) = (gpu.upload(&[3_u32]), gpu.zeroed::<f32>(2));
        launch!(gpu, module, "others", 1, 32; &input, &mut output, &mut counter, &mut sums);
        for (lane, (pair, found)) in values.chunks(2).zip(gpu.download(&output).chunks(20)).enumerate() {
            let [a, b] = *pair else { unreachable!("of two") };
            let (f, g) = (a as f32 * 0.25, b as f32 * 0.5);
            let halves = |of: &dyn Fn(i16, i16) -> i16| {
                let half =
                    |at: u32| u32::from(of((a as u32 >> at) as i16, (b as u32 >> at) as i16) as u16) << at;
                half(0) | half(16)
            };
            let expected = [
                u32::from(a < b),
                u32::from(a >= b),
                u32::from(a < b && a > 0),
                u32::from((f < g) != (a > 0)),
                if f > g { u32::MAX } else { 0 },
                if a <= b { 7 } else { 0 },
                0x0000_ffff,
                if a >= 0 { 11 } else { 22 },
                3_f32.copysign(f).to_bits(),
                u32::from(a != 0),
                halves(&i16::min),
                halves(&i16::wrapping_add),
                0x4400_4000,
                1_f32.to_bits(),
                1_f32.next_up().to_bits(),
                if all_positive { u32::MAX } else { 5 },
                u32::from(lane == 4),
                32 % 10,
                1 + 2 * 32,
                1,
            ];
            assert_eq!(found, expected, "lane {lane}: {a} {b}");
        }
        let counted = (0..32).fold(3, |count, _| if count == 0 { 6 } else { count - 1 });
        assert_eq!(gpu.download(&counter), [counted]);
        let sum = |of: usize| values.chunks(2).map(|pair| pair[of] as f32).sum::<f32>();
        assert_eq!(gpu.download(&sums), [sum(0) * 0.25, sum(1) * 0.5]);
    }
}

#[test]
fn the_compiler_chooses_a_macros_definition() {
    let Some(gpu) = gpu() else { return };
    let module = gpu.module(&headers::PTX);
    let values: Vec<i32> = noise(32, 125).into_iter().map(|x| (x * 100.0) as i32).collect();
    let input = gpu.upload(&values);
    let mut output = gpu.zeroed::<i32>(32 * 6);
    let function = module.function("chosen").unwrap();
    let launch = function.launch(&gpu.stream).grid(1).block(32).dynamic_lds(640);
    // SAFETY: the buffers are as large as the kernel's source says for so many threads.
    unsafe { launch.arg(&input).arg(&mut output).enqueue() }.unwrap();
    for (lane, found) in gpu.download(&output).chunks(6).enumerate() {
        let x = values[lane];
        let expected = [x + values[lane ^ 1], x.max(values[lane ^ 2]), !x, 111, 640, 640 + 16];
        assert_eq!(found, expected, "lane {lane}");
    }
}
