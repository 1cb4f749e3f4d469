//! Rounding, special values and modifiers: bits compared with a scalar model of the order of operations.

use super::*;
use crate::dots::{Dot, Factors};
use vgpu::isa::Special;
use vgpu::machine::{PRIVATE_APERTURE, SHARED_APERTURE};

/// Every number of an 8-bit format, multiplied by one.
#[test]
fn eight_bit_formats_are_what_their_definitions_say() {
    for row in floats().filter(|row| row.a.bits() == 8 && row.a == row.b) {
        for (&level, first) in
            Level::available().iter().flat_map(|l| (0..256).step_by(row.n).map(move |f| (l, f)))
        {
            let mut bench = Bench::new(64, 3);
            for register in (A..B + 16).chain(C..C + 32) {
                for lane in 0..64 {
                    bench.set_word(register, lane, 0);
                }
            }
            for i in 0..row.n {
                bench.put(A, model::input(row, 64, true, 0, i, 0)[0], 8, (first + i) as u64);
                bench.put(B, model::input(row, 64, false, 0, i, 0)[0], 8, encode(row.b, 1));
            }
            bench.run(&inst(row, Modifiers::default(), false), LATER, level);
            for at in 0..row.n * row.n {
                let (i, j) = (at / row.n, at % row.n);
                let found = bench.get(OUT, model::output(row, 64, 0, 0, i, j), 32);
                let (found, expected) = (f32::from_bits(found as u32), eight_bits(row.a, (first + i) as u8));
                let equal = f64::from(found) == expected || found.is_nan() && expected.is_nan();
                assert!(equal, "{:?} {level:?} {:#x}: {found}, not {expected}", row.op, first + i);
            }
        }
    }
}

/// The bits of a result.
fn result(sum: Sum, value: f32) -> u64 {
    match sum {
        Sum::F16 if value.is_nan() => 0x7e00,
        Sum::Bf16 if value.is_nan() => 0x7fc0,
        Sum::F16 => u64::from(half::f16::from_f32(value).to_bits()),
        Sum::Bf16 => u64::from(half::bf16::from_f32(value).to_bits()),
        _ if value.is_nan() => 0x7fc0_0000,
        _ => u64::from(value.to_bits()),
    }
}

fn flushed(value: f32) -> f32 {
    if value.is_subnormal() { 0.0f32.copysign(value) } else { value }
}

/// The sum that gfx90a computes from products of 16-bit numbers.
fn paired(a: &[f32], b: &[f32], c: f32, group: usize) -> f32 {
    let zero = |value: f32| if value.is_subnormal() { 0.0 } else { value };
    let mut sum = zero(c);
    for first in (0..a.len()).step_by(group) {
        let product = |k: usize| flushed(a[first + k] * b[first + k]);
        let mut part = flushed(product(0) + product(1));
        if group == 4 {
            part = flushed(part + flushed(product(2) + product(3)));
        }
        sum = flushed(sum + part);
    }
    sum
}

/// Random operands, limited by `shape`, compared with a model of one element given the row of A, the column
/// of B, and C.
fn compare(
    row: &Instruction,
    lanes: usize,
    rules: Rules,
    mods: Modifiers,
    shape: impl Fn(u32) -> u32,
    model: impl Fn(&[f32], &[f32], f32) -> u64,
) {
    compare_in(F32_SUBNORMALS, row, lanes, rules, mods, shape, model);
}

/// The same, in a given arithmetic mode.
fn compare_in(
    mode: u32,
    row: &Instruction,
    lanes: usize,
    rules: Rules,
    mods: Modifiers,
    shape: impl Fn(u32) -> u32,
    model: impl Fn(&[f32], &[f32], f32) -> u64,
) {
    let half = usize::from(mods.op_sel >> 2 & 1);
    for &level in Level::available() {
        let mut random = Random(row.op as u64);
        let mut bench = Bench::new(lanes, 9);
        bench.wave.mode = bench.wave.mode & !F32_SUBNORMALS | mode;
        for register in (A..B + 16).chain(C..C + 32) {
            for lane in 0..lanes {
                bench.set_word(register, lane, shape(random.next()));
            }
        }
        // Copies must be equal.
        if row.family == Family::Gfx11 {
            for register in A..B + 16 {
                for lane in 16..lanes {
                    let value = bench.word(register, lane % 16);
                    bench.set_word(register, lane, value);
                }
            }
        }
        let read = |is_a: bool, block: usize, i: usize, k: usize| {
            let (first, format) = if is_a { (A, row.a) } else { (B, row.b) };
            let place = model::input(row, lanes, is_a, block, i, k)[0];
            let value = number(format, bench.get(first, place, format.bits()));
            let flips = if place.2 == 0 { mods.neg } else { mods.neg_hi };
            let value = if flips >> u8::from(!is_a) & 1 != 0 { -value } else { value };
            let flush = rules.pairwise && row.op.has(Fact::MFMA) && format.bits() == 16;
            let tiny = if format == Format::F16 { 6.103_515_6e-5 } else { f32::MIN_POSITIVE };
            let value = if flush && value.abs() < tiny { 0.0 } else { value };
            let single = format == Format::F32 && mode & F32_SUBNORMALS == 0;
            if single { flushed(value) } else { value }
        };
        let mut expected = Vec::new();
        for at in 0..row.blocks * row.n * row.n {
            let (block, i, j) = (at / row.n / row.n, at / row.n % row.n, at % row.n);
            let a: Vec<f32> = (0..row.k).map(|k| read(true, block, i, k)).collect();
            let b: Vec<f32> = (0..row.k).map(|k| read(false, block, j, k)).collect();
            let place = model::output(row, lanes, half, block, i, j);
            let c = sum_number(row.sum, bench.get(C, place, sum_bits(row.sum)));
            let c = if mods.neg_hi & 4 != 0 { c.abs() } else { c };
            let c = if mods.neg & 4 != 0 { -c } else { c };
            expected.push((place, a.clone(), b.clone(), c, model(&a, &b, c)));
        }
        bench.run(&inst(row, mods, false), rules, level);
        for (place, a, b, c, expected) in expected {
            let found = bench.get(OUT, place, sum_bits(row.sum));
            assert_eq!(
                found, expected,
                "{:?} {level:?} {mods:?} {place:?}: {a:?} times {b:?} plus {c:?} gave {found:#x}, not {expected:#x}",
                row.op
            );
        }
    }
}

fn chain(a: &[f32], b: &[f32], c: f32) -> f32 {
    a.iter().zip(b).fold(c, |sum, (a, b)| a.mul_add(*b, sum))
}

/// The result of one element, for instructions that do not add pairwise.
fn element(row: &Instruction) -> impl Fn(&[f32], &[f32], f32) -> u64 {
    let sum = row.sum;
    let factors = if row.a == Format::Bf16 { Factors::Bf16 } else { Factors::F16 };
    let fourth = row.family == Family::Gfx12;
    let dot = Dot { factors, short: sum_bits(sum) == 16, fourth, saturate: false };
    let dots = row.op.has(Fact::WMMA) && row.a.bits() == 16;
    move |a, b, c| {
        if !dots {
            return result(sum, chain(a, b, c));
        }
        let group = if fourth { 4 } else { 2 };
        let mut bits = (0, c);
        for (a, b) in a.chunks(group).zip(b.chunks(group)) {
            let next = dot.of(a, b, bits.1);
            bits = (next, sum_number(sum, next));
        }
        bits.0
    }
}

/// Dense instructions on floats, except f64.
fn floats() -> impl Iterator<Item = &'static Instruction> {
    INSTRUCTIONS.iter().filter(|row| !row.sparse && !matches!(row.sum, Sum::I32 | Sum::F64))
}

/// Numbers of any size and sign, including NaN and infinity.
fn any(bits: u32) -> u32 {
    bits
}

/// Numbers near 1 in f32, f16 and bf16.
fn tame(bits: u32) -> u32 {
    bits & 0xb1ff_b1ff | 0x3800_3800
}

/// Very small numbers in f32 and bf16; as f16, they are subnormal.
fn tiny(bits: u32) -> u32 {
    bits & 0x87ff_83ff | 0x1800_0000
}

#[test]
fn sums_are_chains_of_fused_multiply_adds_or_of_dot_products() {
    for row in floats() {
        for &lanes in wave_sizes(row) {
            for shape in [any as fn(u32) -> u32, tame, tiny] {
                compare(row, lanes, LATER, Modifiers::default(), shape, element(row));
            }
        }
    }
}

#[test]
fn gfx90a_adds_products_of_sixteen_bits_pairwise() {
    for row in floats().filter(|row| row.op.has(Fact::MFMA)) {
        let per_lane = row.k * row.n * row.blocks / 64;
        if row.a.bits() == 16 && per_lane > 4 {
            // Only gfx950 has it.
            continue;
        }
        for shape in [any as fn(u32) -> u32, tame, tiny] {
            if row.a.bits() == 16 {
                let model = |a: &[f32], b: &[f32], c: f32| result(row.sum, paired(a, b, c, per_lane));
                compare(row, 64, GFX90A, Modifiers::default(), shape, model);
            } else {
                compare(row, 64, GFX90A, Modifiers::default(), shape, element(row));
            }
        }
    }
}

#[test]
fn f32_operands_of_mfma_have_subnormal_numbers_if_mode_has() {
    for row in floats().filter(|row| row.op.has(Fact::MFMA)) {
        for rules in [GFX90A, LATER] {
            if rules.pairwise && row.a.bits() == 16 {
                continue;
            }
            for shape in [any as fn(u32) -> u32, tiny, |bits| bits & 0x80ff_ffff] {
                compare_in(0, row, 64, rules, Modifiers::default(), shape, element(row));
            }
        }
    }
}

#[test]
fn f16_sums_saturate_if_mode_says_so() {
    for row in INSTRUCTIONS.iter().filter(|row| row.sum == Sum::F16) {
        for &lanes in wave_sizes(row) {
            for (saturate, level) in
                [false, true].into_iter().flat_map(|s| Level::available().iter().map(move |l| (s, *l)))
            {
                let mut matrices = Matrices::random(row, [true; 2], &mut Random(21));
                matrices.a.fill(1);
                matrices.b.fill(281);
                // With 16 products: 70000, and an addend that is already infinite.
                for (at, c) in matrices.c.iter_mut().enumerate() {
                    *c = if at % 3 == 0 { 1 << 20 } else { 65504 };
                }
                let mut bench = Bench::new(lanes, 22);
                bench.wave.mode |= if saturate { FP16_OVFL } else { 0 };
                matrices.load(row, &mut bench, 0);
                matrices.load_sum(row, &mut bench, false, 0);
                bench.run(&inst(row, Modifiers::default(), false), LATER, level);
                for at in 0..row.n * row.n {
                    let place = model::output(row, lanes, 0, 0, at / row.n, at % row.n);
                    let found = bench.get(out(row, false), place, 16);
                    let expected = if saturate && at % 3 != 0 { 0x7bff } else { 0x7c00 };
                    assert_eq!(found, expected, "{:?} {level:?} {saturate} {place:?}: {found:#x}", row.op);
                }
            }
        }
    }
}

#[test]
fn signs_of_wmma_operands_are_modified() {
    for row in floats().filter(|row| row.op.has(Fact::WMMA) && row.a.bits() == 16) {
        for bits in 0..64u8 {
            let mods = Modifiers { neg: bits & 7, neg_hi: bits >> 3, ..Modifiers::default() };
            compare(row, 32, LATER, mods, tame, element(row));
        }
    }
    for row in floats().filter(|row| row.op.has(Fact::WMMA) && row.a.bits() == 8) {
        compare(row, 32, LATER, Modifiers { neg: 4, ..Modifiers::default() }, tame, element(row));
        compare(row, 32, LATER, Modifiers { neg_hi: 4, ..Modifiers::default() }, tame, element(row));
    }
}

#[test]
fn halves_of_gfx11_accumulators_are_chosen() {
    for op in [Op::VWmmaF16_16x16x16F16, Op::VWmmaBf16_16x16x16Bf16] {
        let row = instruction(op);
        for lanes in [32, 64] {
            compare(row, lanes, LATER, Modifiers { op_sel: 4, ..Modifiers::default() }, tame, element(row));
            let mut bench = Bench::new(lanes, 11);
            let before = bench.words(OUT, 8);
            bench.run(
                &inst(row, Modifiers { op_sel: 4, ..Modifiers::default() }, false),
                LATER,
                Level::detect(),
            );
            let after = bench.words(OUT, 256 / lanes);
            assert!(before.iter().zip(after).all(|(before, after)| before & 0xffff == after & 0xffff));
        }
    }
}

#[test]
fn f64_is_a_chain_with_signs_from_blgp() {
    for op in [Op::VMfmaF64_16x16x4F64, Op::VMfmaF64_4x4x4_4bF64] {
        let row = instruction(op);
        for (rules, negates) in [(GFX90A, false), (LATER, true)] {
            for blgp in 0..8u8 {
                for &level in Level::available() {
                    let mut bench = Bench::new(64, u64::from(blgp));
                    let sign = |i: u8| if negates && blgp >> i & 1 != 0 { -1.0 } else { 1.0 };
                    let read = |first: usize, place: Place, i: u8| {
                        sign(i) * f64::from_bits(bench.get(first, place, 64))
                    };
                    let mut expected = Vec::new();
                    for at in 0..row.blocks * row.n * row.n {
                        let (block, i, j) = (at / row.n / row.n, at / row.n % row.n, at % row.n);
                        let place = model::output(row, 64, 0, block, i, j);
                        let sum = (0..4).fold(read(C, place, 2), |sum, k| {
                            let a = read(A, model::input(row, 64, true, block, i, k)[0], 0);
                            let b = read(B, model::input(row, 64, false, block, j, k)[0], 1);
                            a.mul_add(b, sum)
                        });
                        expected.push((place, if sum.is_nan() { f64::NAN.to_bits() } else { sum.to_bits() }));
                    }
                    let mods = Modifiers { blgp, ..Modifiers::default() };
                    bench.run(&inst(row, mods, false), rules, level);
                    for (place, expected) in expected {
                        let found = bench.get(OUT, place, 64);
                        assert_eq!(
                            found, expected,
                            "{op:?} {level:?} blgp {blgp} {place:?}: {found:#x}, not {expected:#x}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn integers_saturate_or_wrap() {
    for row in INSTRUCTIONS.iter().filter(|row| row.sum == Sum::I32) {
        for &lanes in wave_sizes(row) {
            for &level in Level::available() {
                for (clamp, start) in [(false, i32::MAX), (true, i32::MAX), (true, i32::MIN)] {
                    if clamp && row.op.has(Fact::MFMA) {
                        // This field does not exist.
                        continue;
                    }
                    let signed = [true; 2];
                    let mut matrices = Matrices::random(row, signed, &mut Random(7));
                    matrices.c.fill(i64::from(start));
                    let expected: Vec<i64> = matrices
                        .product(row)
                        .iter()
                        .map(|&sum| {
                            let clamped = sum.clamp(i64::from(i32::MIN), i64::from(i32::MAX));
                            if clamp { clamped } else { i64::from(sum as i32) }
                        })
                        .collect();
                    let mut bench = Bench::new(lanes, 12);
                    matrices.load(row, &mut bench, 0);
                    matrices.load_sum(row, &mut bench, false, 0);
                    let mods = Modifiers { clamp, neg: 3, ..Modifiers::default() };
                    bench.run(&inst(row, mods, false), LATER, level);
                    check(row, &bench, &expected, false, 0, &format!("{level:?} clamp {clamp}"));
                }
            }
        }
    }
}

#[test]
fn a_sparse_operand_skips_what_it_leaves_out() {
    // Omitted columns are not multiplied by infinity.
    let row = instruction(Op::VSmfmacF32_16x16x32F16);
    let mut matrices = Matrices::random(row, [false; 2], &mut Random(13));
    matrices.columns = [0, 2].repeat(row.n * row.k / 4);
    matrices.a = (0..row.n * row.k).map(|at| if at % 2 == 0 { 1 } else { 0 }).collect();
    let expected = matrices.product(row);
    let mut bench = Bench::new(64, 14);
    matrices.load(row, &mut bench, 0);
    matrices.load_sum(row, &mut bench, false, 0);
    for j in 0..row.n {
        for k in (1..row.k).step_by(2) {
            bench.put(B, model::input(row, 64, false, 0, j, k)[0], 16, 0x7c00);
        }
    }
    bench.run(&inst(row, Modifiers::default(), false), LATER, Level::detect());
    check(row, &bench, &expected, false, 0, "infinities that are left out");
}

/// Measures speed: `cargo test --release -p ferrocm-vgpu matrix::tests::special::speed -- --ignored
/// --nocapture`.
#[test]
#[ignore = "a measurement"]
fn speed() {
    let level = Level::detect();
    for row in INSTRUCTIONS {
        let lanes = wave_sizes(row)[0];
        let mut bench = Bench::new(lanes, 15);
        for register in 0..400 {
            for lane in 0..lanes {
                let value = tame(bench.word(register, lane));
                bench.set_word(register, lane, value);
            }
        }
        let context = Context { generation: Generation::Gfx9, level, lanes };
        let rules = if row.family == Family::Mfma && !row.sparse { GFX90A } else { LATER };
        let code =
            lower_with(&inst(row, Modifiers::default(), false), 0, &context, rules, &mut Vec::new()).unwrap();
        let count = 100_000;
        let start = std::time::Instant::now();
        for _ in 0..count {
            // SAFETY: `level` is one the CPU has, and all operands lie in the file.
            unsafe { (code.run)(&mut bench.wave, &code) };
        }
        let seconds = start.elapsed().as_secs_f64();
        let depth = if row.sparse { row.k / 2 } else { row.k };
        let operations = 2.0 * (row.n * row.n * depth * row.blocks * count) as f64;
        let each = seconds / f64::from(count as u32) * 1e9;
        println!("{:45} {each:8.1} ns {:8.1} Gop/s", row.op.name(), operations / seconds / 1e9);
    }
}

/// If C is not in registers, it is the same for all elements. A and B are zero, so D is C.
#[test]
fn literals_and_special_values_stand_for_all_of_c() {
    let high = |aperture: u64| (aperture >> 32) as u32;
    for (operand, bits) in [
        (Operand::Literal(0x1234_4567), 0x1234_4567),
        (Operand::Special(Special::SharedBase), high(SHARED_APERTURE)),
        (Operand::Special(Special::SharedLimit), high(SHARED_APERTURE)),
        (Operand::Special(Special::PrivateLimit), high(PRIVATE_APERTURE)),
        (Operand::Special(Special::Scc), 1),
        (Operand::Special(Special::VccZ), 0),
        (Operand::Special(Special::ExecZ), 1),
    ] {
        for row in INSTRUCTIONS.iter().filter(|row| !row.sparse && row.sum != Sum::F64) {
            for &level in Level::available() {
                let mut bench = Bench::new(64, 5);
                for register in (A..B + 16).chain(OUT..OUT + 32) {
                    for lane in 0..64 {
                        bench.set_word(register, lane, 0);
                    }
                }
                bench.wave.scc = true;
                bench.wave.set_scalar64(scalar::VCC, 1 << 40);
                bench.wave.set_scalar64(scalar::EXEC, 0);
                let mut inst = inst(row, Modifiers::default(), false);
                inst.src[2] = operand;
                bench.run(&inst, LATER, level);
                let size = sum_bits(row.sum);
                let found = bench.get(OUT, model::output(row, 64, 0, row.blocks - 1, 1, 2), size);
                let expected = u64::from(bits) & (u64::MAX >> (64 - size));
                // RDNA 3 flushes subnormal numbers, the others keep them. These values are not NaN in any
                // format.
                let dots = row.op.has(Fact::WMMA) && row.a.bits() == 16 && row.family == Family::Gfx11;
                let tiny = sum_number(row.sum, expected).abs() < f32::MIN_POSITIVE;
                let expected = if dots && row.sum != Sum::I32 && tiny { 0 } else { expected };
                assert_eq!(found, expected, "{:?} {level:?} {operand:?}: {found:#x}", row.op);
            }
        }
    }
}
