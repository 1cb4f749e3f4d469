//! Operations on both halves of registers or on two registers, and operations with whole or half sources.

use super::exact::{F16, F32, FLUSH, LOUD};
use super::float::flushed;
use super::{
    GENERATIONS, In, Setting, contents, expect, float_of, flushes, flushes_results, halves, loud, mask_of,
    model, modified, singles,
};
use crate::valu::{Case, masks};
use vgpu::exec::Level;
use vgpu::isa::{Elem, Format, Modifiers, Op};

/// Operations on both halves or registers, and the corresponding single operation.
const PACKED: &[(Op, Op)] = &[
    (Op::VPkAddF16, Op::VAddF16),
    (Op::VPkMulF16, Op::VMulF16),
    (Op::VPkFmaF16, Op::VFmaF16),
    (Op::VPkFmacF16, Op::VFmacF16),
    (Op::VPkMinF16, Op::VMinF16),
    (Op::VPkMaxF16, Op::VMaxF16),
    (Op::VPkMinimumF16, Op::VMinimumF16),
    (Op::VPkMaximumF16, Op::VMaximumF16),
    (Op::VPkAddU16, Op::VAddNcU16),
    (Op::VPkSubU16, Op::VSubNcU16),
    (Op::VPkAddI16, Op::VAddNcI16),
    (Op::VPkSubI16, Op::VSubNcI16),
    (Op::VPkMulLoU16, Op::VMulLoU16),
    (Op::VPkMadU16, Op::VMadU16),
    (Op::VPkMadI16, Op::VMadI16),
    (Op::VPkMinU16, Op::VMinU16),
    (Op::VPkMaxU16, Op::VMaxU16),
    (Op::VPkMinI16, Op::VMinI16),
    (Op::VPkMaxI16, Op::VMaxI16),
    (Op::VPkLshlrevB16, Op::VLshlrevB16),
    (Op::VPkLshrrevB16, Op::VLshrrevB16),
    (Op::VPkAshrrevI16, Op::VAshrrevI16),
    (Op::VPkAddF32, Op::VAddF32),
    (Op::VPkMulF32, Op::VMulF32),
    (Op::VPkFmaF32, Op::VFmaF32),
];

#[test]
fn packed_operations_are_two() {
    for &(op, base) in PACKED {
        let one = model(base).unwrap_or_else(|| panic!("{base:?} has no model"));
        let signature = base.signature();
        let singles_packed = signature.dst.elem == Elem::F32;
        let width = if singles_packed { 32 } else { 16 };
        let float = float_of(signature.dst);
        for &generation in GENERATIONS.get(&op).into_iter().flatten() {
            for (number, mode) in [0x1f0u32, 0x100, 0x1fa, 0x3f0].into_iter().enumerate() {
                for (op_sel, op_sel_hi, neg, neg_hi) in [(0u8, 7u8, 0u8, 0u8), (1, 6, 5, 2), (6, 1, 2, 7)] {
                    // The accumulating form has no such modifiers.
                    let plain = op == Op::VPkFmacF16;
                    let (op_sel, op_sel_hi) = if plain { (0, 7) } else { (op_sel, op_sel_hi) };
                    let (neg, neg_hi) = if float.is_some() && !plain { (neg, neg_hi) } else { (0, 0) };
                    let clamp = number == 1 && !plain;
                    let mods = Modifiers { op_sel, op_sel_hi, neg, neg_hi, clamp, ..Modifiers::default() };
                    let fill = contents(base, op as u64 * 16 + number as u64);
                    let mut case = Case::new(op, Format::Vop3p).mods(mods);
                    case.generation = generation;
                    let setting = Setting { generation, mods, mode, seed: 0 };
                    let lanes = 64;
                    let half = |lane: usize, high: bool| {
                        let (select, signs) = if high { (op_sel_hi, neg_hi) } else { (op_sel, neg) };
                        let s = std::array::from_fn(|k| {
                            if k > 2 || !signature.src[k].exists() {
                                return 0;
                            }
                            let register = 4 + 2 * k + usize::from(singles_packed && select >> k & 1 != 0);
                            let value = u64::from(fill(register, lane));
                            let shift = if singles_packed { 0 } else { 16 * (select >> k & 1) };
                            let mut value = value >> shift & mask_of(width);
                            if let Some(float) = float {
                                if signs >> k & 1 != 0 {
                                    value ^= float.sign();
                                }
                                if flushes(float, mode)[0] && float.is_subnormal(value) {
                                    value &= float.sign();
                                }
                            }
                            value
                        });
                        let format = float.unwrap_or(F32);
                        let i = In {
                            op: base,
                            s,
                            bits: [width; 4],
                            mask: false,
                            old: 0,
                            lane: lane as u32,
                            mode,
                            generation,
                            format,
                            clamp,
                            neg: signs,
                            flush_out: flushes_results(base, &setting),
                        };
                        expect(base, &setting, one, &i, true).bits & mask_of(width)
                    };
                    for &level in Level::available() {
                        let bench = case.run(level, lanes, u64::MAX, mode, &fill);
                        for lane in 0..lanes {
                            let low = u64::from(bench.get(0, lane));
                            let got =
                                if singles_packed { low | u64::from(bench.get(1, lane)) << 32 } else { low };
                            let wanted = half(lane, false) | half(lane, true) << width;
                            assert_eq!(
                                got,
                                wanted,
                                "{} {generation:?} {level:?} {mode:#x} lane {lane} {mods:?}",
                                op.name()
                            );
                        }
                    }
                }
            }
        }
    }
}

/// A lane's source of `v_fma_mix`, as f32; `loud` is [`LOUD`] or 0.
fn mixed(word: u32, mods: &Modifiers, k: usize, mode: u32, loud: u32) -> u64 {
    let set = |bits: u8| bits >> k & 1 != 0;
    let (format, bits) = if set(mods.op_sel_hi) {
        (F16, u64::from(word >> if set(mods.op_sel) { 16 } else { 0 } & 0xffff))
    } else {
        (F32, u64::from(word))
    };
    let bits = if set(mods.neg_hi) { bits & !format.sign() } else { bits };
    let bits = if set(mods.neg) { bits ^ format.sign() } else { bits };
    // The f32 settings of MODE apply to f16 sources, too.
    let bits = if flushes(F32, mode)[0] { flushed(format, bits) } else { bits };
    if set(mods.op_sel_hi) { format.convert(bits, F32, loud) } else { bits }
}

#[test]
fn sources_of_mixed_sums_are_f32_or_f16() {
    for op in [Op::VFmaMixF32, Op::VFmaMixloF16, Op::VFmaMixhiF16] {
        for &generation in GENERATIONS.get(&op).into_iter().flatten() {
            let sizes: &[usize] = if generation.is_cdna() { &[64] } else { &[32, 64] };
            for round in 0..24u8 {
                let mods = Modifiers {
                    op_sel: round.wrapping_mul(5) & 7,
                    op_sel_hi: round & 7,
                    neg: round.wrapping_mul(3) >> 1 & 7,
                    neg_hi: round.wrapping_mul(11) >> 2 & 7,
                    clamp: round % 4 == 3,
                    ..Modifiers::default()
                };
                let mode = [0x1f0u32, 0x1fa, 0x0f0, 0x1c0, 0x1d5, 0x1ff, 0x3f0][usize::from(round) % 7];
                let (whole, parts) = (singles(round.into()), halves(u64::from(round) + 100));
                let fill = |register: usize, lane: usize| {
                    let half = register >= 4 && mods.op_sel_hi >> ((register - 4) / 2) & 1 != 0;
                    if half { parts(register, lane) } else { whole(register, lane) }
                };
                let mut case = Case::new(op, Format::Vop3p).mods(mods);
                case.generation = generation;
                let setting = Setting { generation, mods, mode, seed: 0 };
                for &lanes in sizes {
                    for exec in [masks(lanes)[0], masks(lanes)[3]] {
                        for &level in Level::available() {
                            let bench = case.run(level, lanes, exec, mode, fill);
                            for lane in 0..lanes {
                                let loud = if loud(generation, mode) { LOUD } else { 0 };
                                let [a, b, c] =
                                    [4, 6, 8].map(|r| mixed(fill(r, lane), &mods, (r - 4) / 2, mode, loud));
                                let sum = |to, round: u32| {
                                    let flush = if flushes(to, mode)[1] { FLUSH } else { 0 };
                                    let bits = F32.fma_to(to, [a, b, c], 0, round & 3 | flush | loud);
                                    modified(op, &setting, to, bits)
                                };
                                let old = u64::from(fill(0, lane));
                                let wanted = match op {
                                    _ if exec >> lane & 1 == 0 => old,
                                    Op::VFmaMixF32 => sum(F32, mode),
                                    Op::VFmaMixloF16 => old & 0xffff_0000 | sum(F16, mode >> 2),
                                    _ => old & 0xffff | sum(F16, mode >> 2) << 16,
                                };
                                let got = u64::from(bench.get(0, lane));
                                assert_eq!(
                                    got,
                                    wanted,
                                    "{} {generation:?} {level:?} wave{lanes} {mode:#x} lane {lane} {mods:?}: \
                                     {a:#x} {b:#x} {c:#x} gave {got:#x}, not {wanted:#x}",
                                    op.name()
                                );
                            }
                        }
                    }
                }
            }
        }
    }
}
