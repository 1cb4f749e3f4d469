//! Every instruction, at every level and wave size.

use super::*;

/// Calls a test for each instruction and wave size.
fn each(mut test: impl FnMut(&'static Instruction, usize, &mut Random)) {
    for (number, row) in INSTRUCTIONS.iter().enumerate() {
        for &lanes in wave_sizes(row) {
            test(row, lanes, &mut Random(number as u64 * 64 + lanes as u64));
        }
    }
}

#[test]
fn every_matrix_operation_is_in_the_table() {
    for op in Op::ALL.iter().filter(|op| op.has(Fact::MFMA) || op.has(Fact::WMMA)) {
        let rows = INSTRUCTIONS.iter().filter(|row| row.op == *op).count();
        let expected = match op {
            // Those of the same instruction without scales.
            Op::VMfmaScaleF32_16x16x128F8f6f4 | Op::VMfmaScaleF32_32x32x64F8f6f4 => 0,
            _ if op.has(Fact::FORMATS) => 25,
            _ => 1,
        };
        assert_eq!(rows, expected, "{op:?}");
    }
}

#[test]
fn register_counts_are_those_of_the_signatures() {
    for (index, row) in INSTRUCTIONS.iter().enumerate() {
        let signature = row.op.signature();
        // Signatures are those of waves of 32, if the instruction has them.
        let lanes = wave_sizes(row)[0];
        let plan = vgpu::exec::matrix::layout::plan(index, lanes);
        let words = if row.sum == Sum::F64 { 2 } else { 1 };
        let counts = [plan.a_count, plan.b_count, plan.d_count].map(|count| u32::from(count) * words);
        let inst = inst(row, Modifiers::default(), false);
        let source = |i: usize| match row.op.has(Fact::FORMATS) {
            true => u32::from(inst.source_registers(i, 64)),
            false => signature.src[i].dwords(),
        };
        let expected = [source(0), source(1), signature.dst.dwords()];
        assert_eq!(counts, expected, "{:?}", row.op);
    }
}

#[test]
fn panels_are_large_enough() {
    for row in INSTRUCTIONS {
        let width = row.n * row.blocks;
        let limits = if row.sum == Sum::F64 { [64, 64, 256] } else { [2048, 2048, 2048] };
        let depth = if row.sparse { row.k / 2 } else { row.k };
        assert!(depth * width <= limits[0] && row.k * width <= limits[1] && row.n * width <= limits[2]);
        assert!(width % 16 == 0);
        // Dot products of RDNA have panels of their own.
        if row.family != Family::Mfma && !row.sparse && matches!(row.a, Format::F16 | Format::Bf16) {
            assert!(row.k * width <= 256, "{:?}", row.op);
        }
    }
}

#[test]
fn products_of_small_integers_are_exact() {
    each(|row, lanes, random| {
        for round in 0..4u64 {
            let signed = [round & 1 != 0, round & 2 != 0];
            let matrices = Matrices::random(row, signed, random);
            let expected = matrices.product(row);
            let acc = row.op.has(Fact::MFMA) && round & 1 != 0;
            let integers = matches!(row.a, Format::Iu8 | Format::Iu4);
            let neg = if integers { u8::from(signed[0]) | u8::from(signed[1]) << 1 } else { 0 };
            for &level in Level::available() {
                for rules in [GFX90A, LATER] {
                    let mut bench = Bench::new(lanes, round);
                    matrices.load(row, &mut bench, 0);
                    matrices.load_sum(row, &mut bench, acc, 0);
                    let before = bench.file.clone();
                    let mods = Modifiers { neg, ..Modifiers::default() };
                    bench.run(&inst(row, mods, acc), rules, level);
                    let what = format!("{level:?} {rules:?} round {round}");
                    check(row, &bench, &expected, acc, 0, &what);
                    only_the_result_changed(row, &mut bench, &before, acc, &what);
                }
            }
        }
    });
}

/// Restores the old values in D's registers, and compares everything.
fn only_the_result_changed(row: &Instruction, bench: &mut Bench, before: &[u32], acc: bool, what: &str) {
    let offset = (bench.wave.vgpr as usize - bench.file.as_ptr() as usize) / 4;
    let first = out(row, acc);
    for register in 0..result_registers(row, bench.lanes) {
        for lane in 0..bench.lanes {
            let old = before[offset + (first + register) * bench.lanes + lane];
            if sum_bits(row.sum) == 16 && row.family == Family::Gfx11 {
                // The other half is unchanged.
                assert_eq!(bench.word(first + register, lane) >> 16, old >> 16, "{:?}, {what}", row.op);
            }
            bench.set_word(first + register, lane, old);
        }
    }
    assert!(bench.file == before, "{:?}, {what}: wrote what it must not", row.op);
}

fn result_registers(row: &Instruction, lanes: usize) -> usize {
    let bits = if row.family == Family::Gfx11 { 32 } else { sum_bits(row.sum) };
    row.blocks * row.n * row.n * bits / 32 / lanes
}

#[test]
fn constants_stand_for_every_element_of_c() {
    each(|row, lanes, random| {
        if row.sparse {
            return;
        }
        for (operand, value) in [(Operand::Int(0), 0), (Operand::Float(245), -2), (Operand::Int(-3), -3)] {
            let integer = row.sum == Sum::I32;
            if value != 0 && integer != matches!(operand, Operand::Int(_)) {
                // Bits that belong to the other kind of number.
                continue;
            }
            let mut matrices = Matrices::random(row, [false; 2], random);
            matrices.c.fill(value);
            let mut bench = Bench::new(lanes, 1);
            matrices.load(row, &mut bench, 0);
            let inst = Inst {
                src: [Operand::Vgpr(A as u8), Operand::Vgpr(B as u8), operand, Operand::None],
                ..inst(row, Modifiers::default(), false)
            };
            bench.run(&inst, LATER, Level::detect());
            check(row, &bench, &matrices.product(row), false, 0, "a constant C");
        }
    });
}

#[test]
fn operands_may_overlap_the_result() {
    each(|row, lanes, random| {
        let matrices = Matrices::random(row, [false; 2], random);
        let mut bench = Bench::new(lanes, 2);
        matrices.load(row, &mut bench, 0);
        matrices.load_sum(row, &mut bench, false, 0);
        // A and B overlap D, with A at its end.
        let (a, b) = (out(row, false), out(row, false) + 8);
        for (from, to) in [(A, a), (B, b)] {
            for register in 0..8 {
                for lane in 0..lanes {
                    let value = bench.word(from + register, lane);
                    if !row.sparse {
                        bench.set_word(to + register, lane, value);
                    }
                }
            }
        }
        let mut inst = inst(row, Modifiers::default(), false);
        if !row.sparse {
            inst.src[0] = Operand::Vgpr(a as u8);
            inst.src[1] = Operand::Vgpr(b as u8);
        }
        bench.run(&inst, LATER, Level::detect());
        check(row, &bench, &matrices.product(row), false, 0, "overlapping operands");
    });
}

#[test]
fn c_may_be_the_result_or_overlap_it() {
    each(|row, lanes, random| {
        for shift in if row.sparse { 0..0 } else { 0..5 } {
            let matrices = Matrices::random(row, [false; 2], random);
            let mut bench = Bench::new(lanes, 6);
            matrices.load(row, &mut bench, 0);
            matrices.load_sum(row, &mut bench, false, 0);
            let mut inst = inst(row, Modifiers::default(), false);
            // D starts at C, or some registers after it.
            inst.dst = Operand::Vgpr((C + shift) as u8);
            bench.run(&inst, LATER, Level::detect());
            for register in 0..32 {
                for lane in 0..lanes {
                    let value = bench.word(C + shift + register, lane);
                    bench.set_word(OUT + register, lane, value);
                }
            }
            check(row, &bench, &matrices.product(row), false, 0, &format!("D {shift} after C"));
        }
    });
}

#[test]
fn sets_of_indices_are_chosen() {
    each(|row, lanes, random| {
        for set in 0..if row.sparse { model::index_sets(row, lanes) } else { 0 } {
            let matrices = Matrices::random(row, [false; 2], random);
            let mut bench = Bench::new(lanes, 3);
            matrices.load(row, &mut bench, set);
            matrices.load_sum(row, &mut bench, false, 0);
            let key = set as u8;
            let mods = if row.family == Family::Mfma {
                Modifiers { abid: key, ..Modifiers::default() }
            } else {
                Modifiers { op_sel: key, ..Modifiers::default() }
            };
            bench.run(&inst(row, mods, false), LATER, Level::detect());
            check(row, &bench, &matrices.product(row), false, 0, &format!("set {set}"));
            if row.family == Family::Mfma && set == 0 {
                // With `cbsz`, the first set is used, whatever `abid` is.
                matrices.load_sum(row, &mut bench, false, 0);
                let mods = Modifiers { abid: 1, cbsz: 1, ..Modifiers::default() };
                bench.run(&inst(row, mods, false), LATER, Level::detect());
                check(row, &bench, &matrices.product(row), false, 0, "cbsz");
            }
        }
    });
}

#[test]
fn blocks_of_a_are_broadcast() {
    each(|row, lanes, random| {
        for cbsz in 1..=row.blocks.ilog2() as u8 {
            for abid in 0..1u8 << cbsz {
                let original = Matrices::random(row, [false; 2], random);
                let mut bench = Bench::new(lanes, 4);
                original.load(row, &mut bench, 0);
                original.load_sum(row, &mut bench, false, 0);
                let mut matrices = original.clone();
                let size = row.n * row.k;
                for block in 0..row.blocks {
                    let source = (block >> cbsz << cbsz) + usize::from(abid);
                    matrices.a[block * size..][..size].copy_from_slice(&original.a[source * size..][..size]);
                }
                let expected = matrices.product(row);
                // f64 instructions do not have this field.
                let expected = if row.sum == Sum::F64 { original.product(row) } else { expected };
                let mods = Modifiers { cbsz, abid, ..Modifiers::default() };
                bench.run(&inst(row, mods, false), GFX90A, Level::detect());
                check(row, &bench, &expected, false, 0, &format!("cbsz {cbsz} abid {abid}"));
            }
        }
    });
}

#[test]
fn lanes_of_b_are_permuted() {
    let from = |blgp: u8, lane: usize| match blgp {
        1 => lane % 32,
        2 => lane % 32 + 32,
        3 => (lane + 16) % 64,
        4..=7 => lane % 16 + 16 * (usize::from(blgp) - 4),
        _ => lane,
    };
    each(|row, lanes, random| {
        if row.family != Family::Mfma || row.sparse || row.sum == Sum::F64 || row.op.has(Fact::FORMATS) {
            return;
        }
        for blgp in 1..8 {
            let matrices = Matrices::random(row, [false; 2], random);
            // Permuting the registers without the field gives the same result as the field with the original
            // registers.
            let results = [false, true].map(|field| {
                let mut bench = Bench::new(lanes, 5);
                matrices.load(row, &mut bench, 0);
                matrices.load_sum(row, &mut bench, false, 0);
                if !field {
                    for register in B..B + 8 {
                        let old: Vec<u32> = (0..64).map(|lane| bench.word(register, lane)).collect();
                        for lane in 0..64 {
                            bench.set_word(register, lane, old[from(blgp, lane)]);
                        }
                    }
                }
                let mods = Modifiers { blgp: if field { blgp } else { 0 }, ..Modifiers::default() };
                bench.run(&inst(row, mods, false), LATER, Level::detect());
                bench.words(OUT, 32)
            });
            assert!(results[0] == results[1], "{:?} blgp {blgp}", row.op);
        }
    });
}

/// Scales are powers of two, so products of small integers stay exact.
#[test]
fn each_32_elements_have_a_scale() {
    for row in INSTRUCTIONS.iter().filter(|row| row.op.has(Fact::FORMATS)) {
        for byte in 0..4u8 {
            let mut random = Random(u64::from(byte));
            let matrices = Matrices::random(row, [true; 2], &mut random);
            let mut bench = Bench::new(64, byte.into());
            matrices.load(row, &mut bench, 0);
            matrices.load_sum(row, &mut bench, false, 0);
            let scales = [INDEX, INDEX + 1];
            let mut exponent = |register: usize, lane: usize| {
                let exponent = random.below(3) as u32;
                let (old, shift) = (bench.word(register, lane), 8 * u32::from(byte));
                bench.set_word(register, lane, old & !(0xff << shift) | (127 + exponent) << shift);
                1i64 << exponent
            };
            let factors =
                scales.map(|register| (0..64).map(|lane| exponent(register, lane)).collect::<Vec<_>>());
            let scaled = |values: &[i64], is_a: bool| -> Vec<i64> {
                let lane = |at: usize| model::scale_lane(row, is_a, at / row.k, at % row.k);
                let factor = |at: usize| factors[usize::from(!is_a)][lane(at)];
                values.iter().enumerate().map(|(at, value)| value * factor(at)).collect()
            };
            let expected =
                Matrices { a: scaled(&matrices.a, true), b: scaled(&matrices.b, false), ..matrices.clone() };
            let mut inst = inst(row, Modifiers::default(), false);
            inst.op = match row.n {
                16 => Op::VMfmaScaleF32_16x16x128F8f6f4,
                _ => Op::VMfmaScaleF32_32x32x64F8f6f4,
            };
            (inst.mods.op_sel, inst.mods.op_sel_hi) = ((byte & 1) * 3, (byte >> 1) * 3);
            let [a, b] = scales.map(|register| Operand::Vgpr(register as u8));
            inst.dual = Some((Op::VMfmaLdScaleB32, Operand::None, [a, b, Operand::None]));
            for &level in Level::available() {
                bench.run(&inst, LATER, level);
                check(row, &bench, &expected.product(row), false, 0, &format!("scaled by byte {byte}"));
            }
        }
    }
}

#[test]
fn registers_beyond_the_file_are_refused() {
    for row in INSTRUCTIONS {
        let context = Context { generation: Generation::Gfx9, level: Level::Baseline, lanes: 64 };
        let mut beyond = inst(row, Modifiers::default(), false);
        assert!(lower_with(&beyond, 0, &context, LATER, &mut Vec::new()).is_some());
        beyond.dst = Operand::Vgpr(255);
        assert!(lower_with(&beyond, 0, &context, LATER, &mut Vec::new()).is_none(), "{:?}", row.op);
        beyond.dst = Operand::Sgpr(0);
        assert!(lower_with(&beyond, 0, &context, LATER, &mut Vec::new()).is_none());
        if row.op.has(Fact::MFMA) {
            let context = Context { lanes: 32, ..context };
            assert!(
                lower_with(&inst(row, Modifiers::default(), false), 0, &context, LATER, &mut Vec::new())
                    .is_none()
            );
        }
    }
}
