//! DPP, SDWA, permutations, comparisons and classes.

use super::*;
use vgpu::isa::{Dpp, Sdwa, scalar};

/// The lane that a DPP control selects, following the vendor's tables.
fn partner(ctrl: u16, lane: usize, lanes: usize) -> Option<usize> {
    let (row, at) = (lane / 16 * 16, lane % 16);
    let n = usize::from(ctrl & 15);
    match ctrl >> 4 {
        0x00..=0x0f => Some(lane / 4 * 4 + usize::from(ctrl >> (2 * (lane % 4)) & 3)),
        0x10 => Some(lane + n).filter(|_| at + n < 16),
        0x11 => lane.checked_sub(n).filter(|_| at >= n),
        0x12 => Some(row + (at + 16 - n) % 16),
        0x13 => match n {
            0 => Some(lane + 1).filter(|l| *l < lanes),
            4 => Some((lane + 1) % lanes),
            8 => lane.checked_sub(1),
            _ => Some((lane + lanes - 1) % lanes),
        },
        0x14 => match n {
            0 => Some(row + 15 - at),
            1 => Some(lane / 8 * 8 + 7 - lane % 8),
            2 => row.checked_sub(1),
            _ => Some(31).filter(|_| lane >= 32),
        },
        0x15 => Some(row + n),
        _ => Some(row + (at ^ n)),
    }
}

#[test]
fn every_dpp_pattern_reads_its_lanes() {
    let patterns: Vec<u16> =
        [0x00, 0x1b, 0xb1, 0x101, 0x10f, 0x111, 0x118, 0x121, 0x12f, 0x130, 0x134, 0x138, 0x13c]
            .into_iter()
            .chain(0x140..=0x143)
            .chain([0x150, 0x15a, 0x161, 0x16f])
            .collect();
    for op in [Op::VMovB32, Op::VAddNcU32, Op::VAddF32] {
        for &ctrl in &patterns {
            for (row_mask, bank_mask, bound_ctrl, fetch_inactive) in
                [(15, 15, false, false), (15, 15, true, false), (10, 5, false, false), (15, 15, false, true)]
            {
                for lanes in [32, 64] {
                    for mask in masks(lanes) {
                        let mut case = Case::new(op, Format::Vop2);
                        case.inst.dpp =
                            Some(Dpp::Row { ctrl, row_mask, bank_mask, bound_ctrl, fetch_inactive });
                        // From gfx10 on, nothing crosses a row.
                        let beyond = matches!(ctrl, 0x130..=0x13c | 0x142 | 0x143);
                        if beyond {
                            assert!(
                                case.lower(Level::Baseline, lanes, &mut Pool::new()).is_none(),
                                "{ctrl:#x}"
                            );
                            case.generation = Generation::Gfx940;
                        }
                        let fill = |register: usize, lane: usize| (register * 1000 + lane) as u32;
                        for &level in Level::available() {
                            let bench = case.run(level, lanes, mask, PLAIN, fill);
                            for lane in 0..lanes {
                                let from = partner(ctrl, lane, lanes)
                                    .filter(|from| fetch_inactive || mask >> from & 1 != 0);
                                let masked =
                                    row_mask >> (lane / 16) & 1 != 0 && bank_mask >> (lane / 4 % 4) & 1 != 0;
                                let written =
                                    mask >> lane & 1 != 0 && masked && (from.is_some() || bound_ctrl);
                                let source = from.map_or(0, |from| fill(4, from));
                                let result = match op {
                                    Op::VMovB32 => source,
                                    Op::VAddNcU32 => source + fill(6, lane),
                                    _ => (f32::from_bits(source) + f32::from_bits(fill(6, lane))).to_bits(),
                                };
                                let expected = if written { result } else { fill(0, lane) };
                                assert_eq!(
                                    bench.get(0, lane),
                                    expected,
                                    "{op:?} {level:?} wave{lanes} {ctrl:#x} lane {lane} of {mask:#x}"
                                );
                            }
                            assert_eq!(bench.wave.active(), mask, "EXEC is as it was");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn eight_lanes_are_shuffled_by_selectors() {
    let mut case = Case::new(Op::VMovB32, Format::Vop1);
    case.inst.dpp = Some(Dpp::Eight { selectors: 0o01234567, fetch_inactive: false });
    case.inst.dpp.iter_mut().for_each(|_| {});
    let fill = |register: usize, lane: usize| (register * 100 + lane) as u32;
    for &level in Level::available() {
        let bench = case.run(level, 64, u64::MAX, PLAIN, fill);
        for lane in 0..64 {
            assert_eq!(bench.get(0, lane), fill(4, lane / 8 * 8 + 7 - lane % 8));
        }
    }
}

#[test]
fn parts_of_registers_are_read_and_written() {
    let part = |select: u8| match select {
        0..=3 => (8 * u32::from(select), 8),
        4 => (0, 16),
        5 => (16, 16),
        _ => (0, 32),
    };
    for dst_sel in 0..=6u8 {
        for dst_unused in 0..3u8 {
            for (a, b, sext) in [(0, 5, true), (3, 4, false), (6, 1, true), (5, 6, false)] {
                let mut case = Case::new(Op::VAddNcU32, Format::Vop2);
                case.generation = Generation::Gfx9;
                case.inst.sdwa = Some(Sdwa { dst_sel, dst_unused, src_sel: [a, b], src_sext: [sext, !sext] });
                let extract = |value: u64, select: u8, sext: bool| {
                    let (shift, bits) = part(select);
                    let top = (value as u32) << (32 - bits - shift);
                    if sext { (top as i32 >> (32 - bits)) as u32 } else { top >> (32 - bits) }
                };
                case.check(PLAIN, numbers(u64::from(dst_sel)), |[x, y, _], old| {
                    let sum = extract(x, a, sext).wrapping_add(extract(y, b, !sext));
                    let (shift, bits) = part(dst_sel);
                    let field = if bits == 32 { u32::MAX } else { ((1 << bits) - 1) << shift };
                    let placed = sum << shift & field;
                    let sign = if bits < 32 && sum >> (bits - 1) & 1 != 0 { u32::MAX } else { 0 };
                    let above = if shift + bits >= 32 { 0 } else { u32::MAX << (shift + bits) };
                    u64::from(match dst_unused {
                        0 => placed,
                        1 => placed | sign & above,
                        _ => placed | old as u32 & !field,
                    })
                });
            }
        }
    }
}

#[test]
fn rows_are_permuted_by_selectors() {
    for (op, other) in [(Op::VPermlane16B32, 0), (Op::VPermlanex16B32, 16)] {
        for op_sel in 0..4u8 {
            for lanes in [32, 64] {
                for mask in masks(lanes) {
                    let mut case = Case::new(op, Format::Vop3);
                    case.inst.src[1] = Operand::Literal(0x7654_3210);
                    case.inst.src[2] = Operand::Literal(0x0123_89ab);
                    case.inst.mods.op_sel = op_sel;
                    let fill = |register: usize, lane: usize| (register * 100 + lane) as u32;
                    let bench = case.run(Level::detect(), lanes, mask, PLAIN, fill);
                    for lane in 0..lanes {
                        let selectors = 0x0123_89ab_7654_3210u64;
                        let from = ((lane ^ other) & !15) + (selectors >> (4 * (lane % 16)) & 15) as usize;
                        let value = if mask >> from & 1 != 0 || op_sel & 1 != 0 {
                            fill(4, from)
                        } else if op_sel & 2 != 0 {
                            0
                        } else {
                            fill(0, lane)
                        };
                        let expected = if mask >> lane & 1 != 0 { value } else { fill(0, lane) };
                        assert_eq!(bench.get(0, lane), expected);
                    }
                }
            }
        }
    }
}

#[test]
fn registers_are_named_at_run_time() {
    for lanes in [32, 64] {
        let mut bench = plain(lanes);
        bench.exec(u64::MAX);
        for register in 0..8 {
            for lane in 0..lanes {
                bench.set(register, lane, register as u32);
            }
        }
        bench.wave.set_scalar(scalar::M0, 3);
        let level = Level::detect();
        assert_eq!(
            bench.run(&inst(Op::VMovrelsB32, Format::Vop1, Operand::Vgpr(0), &[Operand::Vgpr(2)]), level),
            Flow::Next
        );
        assert_eq!(
            bench.run(&inst(Op::VMovreldB32, Format::Vop1, Operand::Vgpr(1), &[Operand::Vgpr(7)]), level),
            Flow::Next
        );
        assert_eq!((bench.get(0, 5), bench.get(4, 5)), (5, 7));
        bench.wave.set_scalar(scalar::M0, 1000);
        let context = Context { generation: Generation::Gfx11, level, lanes };
        let (mut codes, mut pool) = (Vec::new(), Pool::new());
        let beyond = inst(Op::VMovrelsB32, Format::Vop1, Operand::Vgpr(0), &[Operand::Vgpr(2)]);
        assert!(try_lower(&beyond, 0, 0, &context, &mut pool, &mut codes).is_some());
        // SAFETY: lowered for this wave and this CPU.
        assert_eq!(unsafe { (codes[0].run)(&mut bench.wave, &codes[0]) }, Flow::Fault);
    }
}

#[test]
fn classes_are_told_apart() {
    let classes = [
        (0x7f80_0001u32, 0x7c01u32, 0x7ff0_0000_0000_0001u64),
        (0x7fc0_0000, 0x7e00, 0x7ff8_0000_0000_0000),
        (0xff80_0000, 0xfc00, 0xfff0_0000_0000_0000),
        (0xbf80_0000, 0xbc00, 0xbff0_0000_0000_0000),
        (0x8000_0001, 0x8001, 0x8000_0000_0000_0001),
        (0x8000_0000, 0x8000, 0x8000_0000_0000_0000),
        (0, 0, 0),
        (1, 1, 1),
        (0x3f80_0000, 0x3c00, 0x3ff0_0000_0000_0000),
        (0x7f80_0000, 0x7c00, 0x7ff0_0000_0000_0000),
    ];
    for (number, (single, half, double)) in classes.into_iter().enumerate() {
        let fill = |register: usize, lane: usize| match register {
            6 => 1 << (lane % 10),
            _ => register as u32,
        };
        for (op, low, high) in [
            (Op::VCmpClassF32, single, 0),
            (Op::VCmpClassF16, half, 0),
            (Op::VCmpClassF64, double as u32, (double >> 32) as u32),
        ] {
            for &level in Level::available() {
                let bench = Case::new(op, Format::Vop3).run(level, 64, u64::MAX, PLAIN, |register, lane| {
                    match register {
                        4 => low,
                        5 => high,
                        _ => fill(register, lane),
                    }
                });
                for lane in 0..64 {
                    let got = bench.wave.scalar64(20) >> lane & 1 != 0;
                    assert_eq!(got, lane % 10 == number, "{op:?} {level:?} class {number}");
                }
            }
        }
    }
}

#[test]
fn every_predicate_is_what_its_name_says() {
    use std::cmp::Ordering;
    let named = |name: &str, order: Option<Ordering>| {
        let base = |name: &str| match name {
            "f" => false,
            "lt" => order == Some(Ordering::Less),
            "eq" => order == Some(Ordering::Equal),
            "le" => matches!(order, Some(Ordering::Less | Ordering::Equal)),
            "gt" => order == Some(Ordering::Greater),
            "lg" => matches!(order, Some(Ordering::Less | Ordering::Greater)),
            "ne" => order != Some(Ordering::Equal),
            "ge" => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
            "o" => order.is_some(),
            "u" => order.is_none(),
            "t" => true,
            _ => unreachable!("{name}"),
        };
        match name.strip_prefix('n') {
            Some(positive) if name != "ne" => !base(positive),
            _ => base(name),
        }
    };
    let mut seen = 0;
    for &op in Op::ALL {
        let Some(name) = op.name().strip_prefix("v_cmp_") else { continue };
        let Some((predicate, ty)) = name.split_once('_').filter(|(predicate, _)| *predicate != "class")
        else {
            continue;
        };
        seen += 1;
        let fill = |register: usize, lane: usize| {
            let random = match ty {
                "f16" => halves(op as u64)(register, lane),
                "f64" => doubles(op as u64)(register, lane),
                _ => numbers(op as u64)(register, lane),
            };
            if (6..8).contains(&register) && lane.is_multiple_of(3) {
                return match ty {
                    "f16" => halves(op as u64)(register - 2, lane),
                    "f64" => doubles(op as u64)(register - 2, lane),
                    _ => numbers(op as u64)(register - 2, lane),
                };
            }
            random
        };
        for &level in Level::available() {
            let bench = Case::new(op, Format::Vop3).run(level, 64, 0xffff_0fff_ffff_fff0, PLAIN, fill);
            for lane in 0..64 {
                let [a, b] = [4, 6].map(|r| u64::from(fill(r, lane)) | u64::from(fill(r + 1, lane)) << 32);
                let order = match ty {
                    "f16" => half::f16::from_bits(a as u16).partial_cmp(&half::f16::from_bits(b as u16)),
                    "f32" => f32::from_bits(a as u32).partial_cmp(&f32::from_bits(b as u32)),
                    "f64" => f64::from_bits(a).partial_cmp(&f64::from_bits(b)),
                    "i16" => Some((a as i16).cmp(&(b as i16))),
                    "u16" => Some((a as u16).cmp(&(b as u16))),
                    "i32" => Some((a as i32).cmp(&(b as i32))),
                    "u32" => Some((a as u32).cmp(&(b as u32))),
                    "i64" => Some((a as i64).cmp(&(b as i64))),
                    "u64" => Some(a.cmp(&b)),
                    _ => unreachable!("{ty}"),
                };
                let enabled = 0xffff_0fff_ffff_fff0u64 >> lane & 1 != 0;
                let got = bench.wave.scalar64(20) >> lane & 1 != 0;
                assert_eq!(got, enabled && named(predicate, order), "{op:?} {level:?} {a:#x} {b:#x}");
            }
        }
    }
    assert_eq!(seen, 16 * 3 + 8 * 6);
}
