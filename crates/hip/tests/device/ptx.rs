//! Inline PTX and code behind guards, compared with PTX's manual: the tests compute the result of each
//! instruction themselves.

use half::{bf16, f16};
use hip::DeviceBuffer;

use crate::common;
use crate::cuda::both_ways;

const LANES: usize = 32;

fn numbers(count: usize) -> Vec<u32> {
    let mut state = 0x1234_5678_u32;
    let next = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.rotate_left(13) ^ state
    };
    (0..count).map(next).collect()
}

#[test]
fn scalar_instructions_give_what_the_manual_says() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let mut values = numbers(LANES + 1);
    // Some small numbers, of either sign.
    values[3] = 17;
    values[4] = (-2000_i32) as u32;
    for module in both_ways(&device, "cuda", "ptx.cu") {
        let input = DeviceBuffer::from_slice(&stream, &values).unwrap();
        let mut output = DeviceBuffer::<u32>::zeroed(&stream, LANES * 16).unwrap();
        let kernel = module.function("scalars").unwrap();
        // SAFETY: each of 32 threads reads two of 33 values and writes 15 of 16.
        unsafe {
            kernel.launch(&stream).grid(1).block(32).arg(&input).arg(&mut output).enqueue().unwrap();
        }
        let output = output.to_vec(&stream).unwrap();
        for lane in 0..LANES {
            let x = values[lane];
            let signed = x as i32;
            let bytes = [x.to_le_bytes(), (!x).to_le_bytes()].concat();
            // 0x9140: byte 0, byte 4, byte 1, and the sign of byte 1.
            let permuted = [bytes[0], bytes[4], bytes[1], if bytes[1] & 0x80 != 0 { 0xff } else { 0 }];
            let (a, b, c) = (x, x >> 3, x << 5);
            let half = f16::from_f32(signed as f32);
            let expected = [
                lane as u32,
                u32::from_le_bytes(permuted),
                (a & b) | (b & c) | (a & c),
                ((u64::from(x) * 0x9e37_79b9) >> 32) as u32,
                if signed > 0 { 107 } else { 9 },
                (((signed as i64) << (64 - 14)) >> (64 - 9)) as u32,
                (!x) << 11 | x >> (32 - 11),
                (!0xfff00_u32) | (x & 0xfff) << 8,
                x,
                lane as u32,
                u32::from(half.to_bits()),
                (signed as f32 * -0.37_f32) as i32 as u32,
                u32::from(bf16::from_f32(1.5).to_bits()) << 16
                    | u32::from(bf16::from_f32(lane as f32).to_bits()),
                values[(lane & 30) + 1],
                0,
            ];
            assert_eq!(output[lane * 16..lane * 16 + 15], expected, "lane {lane}, {x:#x}");
        }
    }
}

#[test]
fn matrices_of_shared_memory_are_laid_out_as_ptx_has_them() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let values: Vec<u16> = (0..256).map(|i| i * 3 + 1).collect();
    for module in both_ways(&device, "cuda", "ptx.cu") {
        let input = DeviceBuffer::from_slice(&stream, &values).unwrap();
        let mut output = DeviceBuffer::<u32>::zeroed(&stream, LANES * 9).unwrap();
        let kernel = module.function("matrices").unwrap();
        // SAFETY: each of 32 threads reads eight of 256 values and writes nine.
        unsafe {
            kernel.launch(&stream).grid(1).block(32).arg(&input).arg(&mut output).enqueue().unwrap();
        }
        let output = output.to_vec(&stream).unwrap();
        let at =
            |matrix: usize, row: usize, column: usize| u32::from(values[(matrix * 8 + row) * 8 + column]);
        for lane in 0..LANES {
            let (row, pair) = (lane / 4, lane % 4 * 2);
            let mut expected = [0; 9];
            for matrix in 0..4 {
                expected[matrix] = at(matrix, row, pair) | at(matrix, row, pair + 1) << 16;
                expected[4 + matrix] = at(matrix, pair, row) | at(matrix, pair + 1, row) << 16;
            }
            expected[8] = expected[4];
            assert_eq!(output[lane * 9..lane * 9 + 9], expected, "lane {lane}");
        }
    }
}

#[test]
fn products_of_fragments_are_those_of_the_matrices() {
    let device = common::device();
    let stream = device.stream().unwrap();
    // Halves whose products are whole numbers; as bytes they are anything.
    let halves = |seed: usize, count: usize| -> Vec<f16> {
        (0..count).map(|i| f16::from_f32(((i * 7 + seed) % 23) as f32 - 11.0)).collect()
    };
    let (a, b) = (halves(3, 16 * 16), halves(5, 16 * 8));
    // Registers of a lane: rows `lane / 4` and that + 8, columns `lane % 4 * 2` and that + 8.
    let word = |low: f16, high: f16| u32::from(low.to_bits()) | u32::from(high.to_bits()) << 16;
    let (mut fragments_a, mut fragments_b) = (vec![0_u32; LANES * 4], vec![0_u32; LANES * 2]);
    for lane in 0..LANES {
        for register in 0..4 {
            let (row, column) = (lane / 4 + register % 2 * 8, lane % 4 * 2 + register / 2 * 8);
            fragments_a[lane * 4 + register] = word(a[row * 16 + column], a[row * 16 + column + 1]);
        }
        for register in 0..2 {
            let (row, column) = (lane % 4 * 2 + register * 8, lane / 4);
            fragments_b[lane * 2 + register] = word(b[row * 8 + column], b[(row + 1) * 8 + column]);
        }
    }
    for module in both_ways(&device, "cuda", "ptx.cu") {
        let (left, right) = (
            DeviceBuffer::from_slice(&stream, &fragments_a).unwrap(),
            DeviceBuffer::from_slice(&stream, &fragments_b).unwrap(),
        );
        let mut floats = DeviceBuffer::<f32>::zeroed(&stream, LANES * 4).unwrap();
        let mut integers = DeviceBuffer::<i32>::zeroed(&stream, LANES * 4).unwrap();
        let kernel = module.function("products").unwrap();
        // SAFETY: each of 32 threads reads four and two words, and writes four and four.
        unsafe {
            let launch = kernel.launch(&stream).grid(1).block(32);
            launch.arg(&left).arg(&right).arg(&mut floats).arg(&mut integers).enqueue().unwrap();
        }
        let (floats, integers) = (floats.to_vec(&stream).unwrap(), integers.to_vec(&stream).unwrap());
        // The same words as rows of 32 bytes.
        let byte_a = |row: usize, k: usize| {
            let register = row / 8 + k / 16 * 2;
            fragments_a[(row % 8 * 4 + k % 16 / 4) * 4 + register].to_le_bytes()[k % 4] as i8
        };
        let byte_b = |k: usize, column: usize| {
            fragments_b[(column * 4 + k % 16 / 4) * 2 + k / 16].to_le_bytes()[k % 4] as i8
        };
        for lane in 0..LANES {
            for i in 0..4 {
                let (row, column) = (lane / 4 + i / 2 * 8, lane % 4 * 2 + i % 2);
                let product: f32 =
                    (0..16).map(|k| a[row * 16 + k].to_f32() * b[k * 8 + column].to_f32()).sum();
                // RDNA 3's dot products round their sums to a grid.
                let (found, expected) = (floats[lane * 4 + i], product + (i + 1) as f32);
                assert!((found - expected).abs() < 1e-3, "lane {lane}, {i}: {found}, not {expected}");
                let product: i32 =
                    (0..32).map(|k| i32::from(byte_a(row, k)) * i32::from(byte_b(k, column))).sum();
                assert_eq!(integers[lane * 4 + i], product - (i + 1) as i32, "lane {lane}, {i}");
            }
        }
    }
}

#[test]
fn atomic_operations_and_exchanges() {
    let device = common::device();
    let stream = device.stream().unwrap();
    for module in both_ways(&device, "cuda", "ptx.cu") {
        let mut counters = DeviceBuffer::<u32>::zeroed(&stream, 2).unwrap();
        let mut output = DeviceBuffer::<u32>::zeroed(&stream, LANES * 4).unwrap();
        let kernel = module.function("exchanges").unwrap();
        // SAFETY: 32 threads add to two counters and write four words each.
        unsafe {
            kernel.launch(&stream).grid(1).block(32).arg(&mut counters).arg(&mut output).enqueue().unwrap();
        }
        assert_eq!(counters.to_vec(&stream).unwrap(), [(0..32).sum(), 32]);
        for (lane, found) in output.to_vec(&stream).unwrap().chunks(4).enumerate() {
            let lane = lane as u32;
            let inside = lane + 3 < 32;
            let expected = [(lane ^ 5) * 3, 0x1ff, if inside { lane + 3 } else { lane }, u32::from(inside)];
            assert_eq!(found, expected, "lane {lane}");
        }
    }
}

/// OCP's E4M3: the exponent's bias is 7, there is no infinity, and only all ones is NaN.
fn e4m3(byte: u8) -> f32 {
    let (exponent, mantissa) = (i32::from(byte >> 3 & 15), f32::from(byte & 7));
    let size = match (exponent, byte & 7) {
        (15, 7) => f32::NAN,
        (0, _) => mantissa / 8.0 * 2_f32.powi(-6),
        _ => (1.0 + mantissa / 8.0) * 2_f32.powi(exponent - 7),
    };
    if byte & 0x80 == 0 { size } else { -size }
}

#[test]
fn guards_keep_kernels_for_bf16_and_fp8() {
    let device = common::device();
    let stream = device.stream().unwrap();
    for module in both_ways(&device, "cuda", "guards.cu") {
        // Four warps, as the instruction behind the guard wants on the GPU that has it.
        const N: usize = 4 * LANES;
        let values: Vec<bf16> =
            (1..N).map(|i| bf16::from_f32(i as f32 / 16.0 - 1.0)).chain([bf16::NAN]).collect();
        let input = DeviceBuffer::from_slice(&stream, &values).unwrap();
        let mut output = DeviceBuffer::<bf16>::zeroed(&stream, N).unwrap();
        let kernel = module.function("largest").unwrap();
        // SAFETY: each thread reads a value and writes one.
        unsafe {
            kernel.launch(&stream).grid(1).block(N as u32).arg(&input).arg(&mut output).enqueue().unwrap();
        }
        let output = output.to_vec(&stream).unwrap();
        for (value, found) in values.iter().zip(&output).take(N - 1) {
            assert_eq!(found.to_f32(), value.to_f32().max(0.5));
        }
        assert!(output[N - 1].is_nan());

        let bytes: Vec<u8> = (0..=255).collect();
        let input = DeviceBuffer::from_slice(&stream, &bytes).unwrap();
        let mut output = DeviceBuffer::<f32>::zeroed(&stream, 256).unwrap();
        let kernel = module.function("from_fp8").unwrap();
        // SAFETY: each of 256 threads reads a byte and writes a number.
        unsafe {
            kernel.launch(&stream).grid(1).block(256).arg(&input).arg(&mut output).enqueue().unwrap();
        }
        for (byte, found) in output.to_vec(&stream).unwrap().into_iter().enumerate() {
            let expected = e4m3(byte as u8);
            assert!(
                found == expected || found.is_nan() && expected.is_nan(),
                "{byte:#x}: {found}, not {expected}"
            );
        }

        let mut halves = DeviceBuffer::from_slice(&stream, &[f16::ZERO, f16::from_f32(7.0)]).unwrap();
        let mut others = DeviceBuffer::from_slice(&stream, &[bf16::from_f32(3.0), bf16::ZERO]).unwrap();
        let kernel = module.function("sums").unwrap();
        // SAFETY: all threads add to the first half and to the second bf16 number.
        unsafe {
            kernel.launch(&stream).grid(2).block(64).arg(&mut halves).arg(&mut others).enqueue().unwrap();
        }
        assert_eq!(halves.to_vec(&stream).unwrap(), [f16::from_f32(128.0), f16::from_f32(7.0)]);
        assert_eq!(others.to_vec(&stream).unwrap(), [bf16::from_f32(3.0), bf16::from_f32(64.0)]);
    }
}

#[test]
fn parts_of_words_are_computed_apart() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let mut values = numbers(64 * 2);
    values[..4].copy_from_slice(&[0x7f80_ff01, 0x807f_01ff, 0xffff_ffff, 0x0101_0101]);
    for module in both_ways(&device, "cuda", "guards.cu") {
        let input = DeviceBuffer::from_slice(&stream, &values).unwrap();
        let mut output = DeviceBuffer::<u32>::zeroed(&stream, 64 * 12).unwrap();
        let kernel = module.function("parts").unwrap();
        // SAFETY: each of 64 threads reads two words and writes twelve.
        unsafe {
            kernel.launch(&stream).grid(1).block(64).arg(&input).arg(&mut output).enqueue().unwrap();
        }
        let output = output.to_vec(&stream).unwrap();
        for (pair, found) in values.chunks(2).zip(output.chunks(12)) {
            let (a, b) = (pair[0].to_le_bytes(), pair[1].to_le_bytes());
            let bytes =
                |of: &dyn Fn(u8, u8) -> u8| u32::from_le_bytes(std::array::from_fn(|i| of(a[i], b[i])));
            let halves = |of: &dyn Fn(u16, u16) -> u16| {
                let half = |x: u32, i: u32| (x >> (16 * i)) as u16;
                (0..2).map(|i| u32::from(of(half(pair[0], i), half(pair[1], i))) << (16 * i)).sum::<u32>()
            };
            let dot = |from: &dyn Fn(u8) -> i64| (0..4).map(|i| from(a[i]) * from(b[i])).sum::<i64>();
            let low =
                (pair[0] as i16 as i32) * (b[0] as i8 as i32) + (pair[0] as i32 >> 16) * (b[1] as i8 as i32);
            let expected = [
                bytes(&|a, b| (a as i8).saturating_sub(b as i8) as u8),
                bytes(&|a, b| a.saturating_add(b)),
                bytes(&|a, b| if a == b { 0 } else { 0xff }),
                bytes(&|a, b| a.wrapping_sub(b)),
                bytes(&|a, b| (a as i8).abs_diff(b as i8)),
                (0..4).map(|i| u32::from((a[i] as i8).abs_diff(b[i] as i8))).sum(),
                halves(&|a, b| (a as i16).max(b as i16) as u16),
                halves(&|a, b| (a as i16).saturating_add(b as i16) as u16),
                halves(&|a, b| ((u32::from(a) + u32::from(b) + 1) >> 1) as u16),
                (dot(&|x| i64::from(x as i8)) + 5) as u32,
                (dot(&i64::from) + 5) as u32,
                (low + 5) as u32,
            ];
            assert_eq!(found, expected, "{pair:x?}");
        }
    }
}
