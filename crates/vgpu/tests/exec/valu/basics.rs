//! The forms of instructions, each on a few operations.

use super::*;
use vgpu::isa::Dpp;

fn float(model: impl Fn(f32, f32, f32) -> f32) -> impl Fn(u32, u32, u32) -> u32 {
    move |a, b, c| model(f32::from_bits(a), f32::from_bits(b), f32::from_bits(c)).to_bits()
}

#[test]
fn integer_operations_match_their_models() {
    check(Op::VMovB32, 1, false, |a, _, _| a);
    check(Op::VNotB32, 1, false, |a, _, _| !a);
    check(Op::VBfrevB32, 1, false, |a, _, _| a.reverse_bits());
    check(Op::VAddNcU32, 2, false, |a, b, _| a.wrapping_add(b));
    check(Op::VSubNcU32, 2, false, |a, b, _| a.wrapping_sub(b));
    check(Op::VSubrevNcU32, 2, false, |a, b, _| b.wrapping_sub(a));
    check(Op::VMulLoU32, 2, false, |a, b, _| a.wrapping_mul(b));
    check(Op::VMulHiU32, 2, false, |a, b, _| (u64::from(a) * u64::from(b) >> 32) as u32);
    check(Op::VMulHiI32, 2, false, |a, b, _| (i64::from(a as i32) * i64::from(b as i32) >> 32) as u32);
    check(Op::VMulU32U24, 2, false, |a, b, _| (a % (1 << 24)).wrapping_mul(b % (1 << 24)));
    check(Op::VLshlrevB32, 2, false, |a, b, _| b.wrapping_shl(a));
    check(Op::VLshrrevB32, 2, false, |a, b, _| b.wrapping_shr(a));
    check(Op::VAshrrevI32, 2, false, |a, b, _| (b as i32).wrapping_shr(a) as u32);
    check(Op::VMinI32, 2, false, |a, b, _| (a as i32).min(b as i32) as u32);
    check(Op::VMaxU32, 2, false, |a, b, _| a.max(b));
    check(Op::VAdd3U32, 3, false, |a, b, c| a.wrapping_add(b).wrapping_add(c));
    check(Op::VAndOrB32, 3, false, |a, b, c| (a & b) | c);
    check(Op::VXor3B32, 3, false, |a, b, c| a ^ b ^ c);
    check(Op::VBfiB32, 3, false, |a, b, c| (a & b) | (!a & c));
    check(Op::VLshlAddU32, 3, false, |a, b, c| a.wrapping_shl(b).wrapping_add(c));
    check(Op::VMed3I32, 3, false, |a, b, c| {
        let mut sorted = [a as i32, b as i32, c as i32];
        sorted.sort_unstable();
        sorted[1] as u32
    });
    check(Op::VAlignbitB32, 3, false, |a, b, c| {
        let (low, high, n) = (u64::from(b), u64::from(a), c % 32);
        (low + (high << 32) >> n) as u32
    });
    check(Op::VBfeU32, 3, false, |a, b, c| {
        (0..c % 32).filter(|i| b % 32 + i < 32 && a >> (b % 32 + i) & 1 != 0).map(|i| 1 << i).sum()
    });
    check(Op::VBfeI32, 3, false, |a, b, c| {
        let width = c % 32;
        let bit = |i: u32| u32::from((a as i32 >> (b % 32 + i).min(31)) & 1 != 0);
        (0..32).filter(|_| width > 0).map(|i| bit(i.min(width - 1)) << i).sum()
    });
    check(Op::VClzI32U32, 1, false, |a, _, _| (0..32).find(|i| a >> (31 - i) & 1 != 0).unwrap_or(u32::MAX));
    check(Op::VCtzI32B32, 1, false, |a, _, _| (0..32).find(|i| a >> i & 1 != 0).unwrap_or(u32::MAX));
    check(Op::VPermB32, 3, false, |a, b, c| {
        let bytes: Vec<u8> = b.to_le_bytes().into_iter().chain(a.to_le_bytes()).collect();
        let pick = |selector: u8| match selector {
            0..=7 => bytes[usize::from(selector)],
            8..=11 => {
                if bytes[usize::from(selector - 8) * 2 + 1] >= 0x80 {
                    0xff
                } else {
                    0
                }
            }
            12 => 0,
            _ => 0xff,
        };
        u32::from_le_bytes(c.to_le_bytes().map(pick))
    });
}

#[test]
fn float_operations_match_their_models() {
    check(Op::VAddF32, 2, true, float(|a, b, _| a + b));
    check(Op::VSubrevF32, 2, true, float(|a, b, _| b - a));
    check(Op::VMulF32, 2, true, float(|a, b, _| a * b));
    check(Op::VFmaF32, 3, true, float(|a, b, c| a.mul_add(b, c)));
    check(Op::VFloorF32, 1, true, float(|a, _, _| a.floor()));
    check(Op::VCeilF32, 1, true, float(|a, _, _| a.ceil()));
    check(Op::VTruncF32, 1, true, float(|a, _, _| a.trunc()));
    check(Op::VRndneF32, 1, true, float(|a, _, _| a.round_ties_even()));
    // These flush subnormal numbers, whatever MODE is.
    let flush = |a: f32| if a.is_subnormal() { 0f32.copysign(a) } else { a };
    check(Op::VSqrtF32, 1, true, float(|a, _, _| flush(a).sqrt()));
    check(Op::VRcpF32, 1, true, float(|a, _, _| flush(1.0 / flush(a))));
    check(
        Op::VMinF32,
        2,
        true,
        float(|a, b, _| if a == b { if a.is_sign_negative() { a } else { b } } else { a.min(b) }),
    );
    check(
        Op::VMaxF32,
        2,
        true,
        float(|a, b, _| if a == b { if a.is_sign_negative() { b } else { a } } else { a.max(b) }),
    );
    check(Op::VCvtI32F32, 1, false, |a, _, _| f32::from_bits(a) as i32 as u32);
    check(Op::VCvtU32F32, 1, false, |a, _, _| f32::from_bits(a) as u32);
    check(Op::VCvtF32I32, 1, true, |a, _, _| (a as i32 as f32).to_bits());
    check(Op::VCvtF32U32, 1, true, |a, _, _| (a as f32).to_bits());
    check(Op::VCvtF32Ubyte2, 1, true, |a, _, _| f32::from(a.to_le_bytes()[2]).to_bits());
    check(Op::VLdexpF32, 2, true, |a, b, _| {
        let n = (b as i32).clamp(-400, 400);
        ((f64::from(f32::from_bits(a)) * 2f64.powi(n)) as f32).to_bits()
    });
}

#[test]
fn compares_write_masks_of_enabled_lanes() {
    for lanes in [32, 64] {
        for mask in masks(lanes) {
            for &level in Level::available() {
                let mut bench = plain(lanes);
                let mut random = Random(99);
                for lane in 0..lanes {
                    bench.set(1, lane, random.next());
                    bench.set(2, lane, if lane % 3 == 0 { bench.get(1, lane) } else { random.next() });
                }
                bench.exec(mask);
                let expected = |predicate: &dyn Fn(u32, u32) -> bool| {
                    let lane =
                        |lane: usize| u64::from(predicate(bench.get(1, lane), bench.get(2, lane))) << lane;
                    (0..lanes).map(lane).sum::<u64>() & mask
                };
                let f = f32::from_bits;
                let cases = [
                    (Op::VCmpLtU32, expected(&|a, b| a < b)),
                    (Op::VCmpGeI32, expected(&|a, b| a as i32 >= b as i32)),
                    (Op::VCmpEqF32, expected(&|a, b| f(a) == f(b))),
                    (Op::VCmpNgtF32, expected(&|a, b| !f(a).gt(&f(b)))),
                    (Op::VCmpUF32, expected(&|a, b| f(a).is_nan() || f(b).is_nan())),
                ];
                for (op, expected) in cases {
                    // Lanes that are not written must keep their value.
                    bench.wave.set_scalar64(20, u64::MAX);
                    let sources = [Operand::Vgpr(1), Operand::Vgpr(2)];
                    assert_eq!(
                        bench.run(&inst(op, Format::Vop3, Operand::Sgpr(20), &sources), level),
                        Flow::Next
                    );
                    assert_eq!(bench.wave.sgpr[20], expected as u32, "{op:?}");
                    assert_eq!(
                        bench.wave.sgpr[21],
                        if lanes == 64 { (expected >> 32) as u32 } else { u32::MAX }
                    );
                }
            }
        }
    }
}

#[test]
fn carries_propagate() {
    for lanes in [32, 64] {
        for &level in Level::available() {
            let mut bench = plain(lanes);
            for lane in 0..lanes {
                bench.set(1, lane, if lane % 2 == 0 { u32::MAX } else { 5 });
                bench.set(2, lane, lane as u32);
            }
            bench.exec(u64::MAX);
            bench.wave.set_scalar64(30, 0b1001);
            let mut add = inst(
                Op::VAddCoCiU32,
                Format::Vop3Sd,
                Operand::Vgpr(0),
                &[Operand::Vgpr(1), Operand::Vgpr(2), Operand::Sgpr(30)],
            );
            add.sdst = Operand::Sgpr(32);
            assert_eq!(bench.run(&add, level), Flow::Next);
            assert_eq!([0, 1, 2, 3].map(|lane| bench.get(0, lane)), [0, 6, 1, 9]);
            assert_eq!(bench.wave.sgpr[32] & 0xf, 0b0101);
        }
    }
}

#[test]
fn modifiers_apply_to_sources_and_results() {
    for &level in Level::available() {
        let mut bench = plain(32);
        bench.exec(u64::MAX);
        for lane in 0..32 {
            bench.set(1, lane, (lane as f32 - 16.0).to_bits());
            bench.set(2, lane, 2.0f32.to_bits());
        }
        // The output multiplier flushes subnormal numbers; if MODE keeps them, it does nothing.
        bench.wave.mode = 0x1d0;
        let mut multiply =
            inst(Op::VMulF32, Format::Vop3, Operand::Vgpr(0), &[Operand::Vgpr(1), Operand::Vgpr(2)]);
        multiply.mods = Modifiers { neg: 0b01, abs: 0b01, omod: 3, ..Modifiers::default() };
        assert_eq!(bench.run(&multiply, level), Flow::Next);
        for lane in 0..32 {
            assert_eq!(f32::from_bits(bench.get(0, lane)), -(lane as f32 - 16.0).abs());
        }
        multiply.mods = Modifiers { clamp: true, omod: 2, ..Modifiers::default() };
        assert_eq!(bench.run(&multiply, level), Flow::Next);
        for lane in 0..32 {
            assert_eq!(f32::from_bits(bench.get(0, lane)), if lane > 16 { 1.0 } else { 0.0 });
        }
        multiply.mods = Modifiers { omod: 2, ..Modifiers::default() };
        for (mode, factor) in [(0x1f0, 2.0), (0x3d0, 2.0), (0x1d0, 8.0)] {
            bench.wave.mode = mode;
            assert_eq!(bench.run(&multiply, level), Flow::Next);
            assert_eq!(f32::from_bits(bench.get(0, 19)), 3.0 * factor, "{mode:#x}");
        }
    }
}

#[test]
fn dpp_reads_other_lanes_and_disables_writes_without_a_source() {
    for &level in Level::available() {
        let mut bench = plain(32);
        bench.exec(u64::MAX);
        for lane in 0..32 {
            bench.set(0, lane, 1000);
            bench.set(1, lane, lane as u32);
        }
        let mut shift = inst(Op::VMovB32, Format::Vop1, Operand::Vgpr(0), &[Operand::Vgpr(1)]);
        let row = |ctrl, bound_ctrl| {
            Some(Dpp::Row { ctrl, row_mask: 15, bank_mask: 15, bound_ctrl, fetch_inactive: false })
        };
        shift.dpp = row(0x111, false); // row_shr:1
        assert_eq!(bench.run(&shift, level), Flow::Next);
        assert_eq!([0, 1, 15, 16, 17].map(|lane| bench.get(0, lane)), [1000, 0, 14, 1000, 16]);
        shift.dpp = row(0x111, true);
        assert_eq!(bench.run(&shift, level), Flow::Next);
        assert_eq!([0, 16].map(|lane| bench.get(0, lane)), [0, 0]);
        shift.dpp = row(0b00_01_10_11, false); // quad_perm:[3,2,1,0]
        assert_eq!(bench.run(&shift, level), Flow::Next);
        assert_eq!([0, 1, 2, 3, 4].map(|lane| bench.get(0, lane)), [3, 2, 1, 0, 7]);
        assert_eq!(bench.wave.exec::<32>(), u64::from(u32::MAX), "EXEC is as it was");
    }
}

#[test]
fn lanes_are_read_and_written() {
    for lanes in [32, 64] {
        let mut bench = plain(lanes);
        for lane in 0..lanes {
            bench.set(1, lane, 100 + lane as u32);
        }
        bench.exec(0b1000);
        let level = Level::detect();
        assert_eq!(
            bench.run(
                &inst(Op::VReadfirstlaneB32, Format::Vop1, Operand::Sgpr(4), &[Operand::Vgpr(1)]),
                level
            ),
            Flow::Next
        );
        let read = [Operand::Vgpr(1), Operand::Int(17)];
        assert_eq!(
            bench.run(&inst(Op::VReadlaneB32, Format::Vop3, Operand::Sgpr(5), &read), level),
            Flow::Next
        );
        let write = [Operand::Sgpr(5), Operand::Int(9)];
        assert_eq!(
            bench.run(&inst(Op::VWritelaneB32, Format::Vop3, Operand::Vgpr(1), &write), level),
            Flow::Next
        );
        assert_eq!((bench.wave.sgpr[4], bench.wave.sgpr[5], bench.get(1, 9)), (103, 117, 117));
        let count = [Operand::Int(-1), Operand::Int(0)];
        bench.exec(u64::MAX);
        assert_eq!(
            bench.run(&inst(Op::VMbcntLoU32B32, Format::Vop3, Operand::Vgpr(2), &count), level),
            Flow::Next
        );
        assert_eq!((bench.get(2, 7), bench.get(2, lanes - 1)), (7, if lanes == 64 { 32 } else { 31 }));
    }
}

#[test]
fn both_halves_of_a_pair_read_before_either_writes() {
    for &level in Level::available() {
        let mut bench = plain(32);
        bench.exec(u64::MAX);
        for lane in 0..32 {
            bench.set(1, lane, 1);
            bench.set(2, lane, 2);
        }
        let mut swap = inst(Op::VMovB32, Format::Vopd, Operand::Vgpr(1), &[Operand::Vgpr(2)]);
        swap.dual = Some((Op::VMovB32, Operand::Vgpr(2), [Operand::Vgpr(1), Operand::None, Operand::None]));
        assert_eq!(bench.run(&swap, level), Flow::Next);
        assert_eq!((bench.get(1, 31), bench.get(2, 31)), (2, 1));
    }
}
