//! Properties of all operations: every level gives the same bits.

use super::*;
use vgpu::isa::Elem;

/// The formats that a vector operation can have.
fn format(op: Op) -> Format {
    let name = op.name();
    let packed = name.starts_with("v_pk_") && op != Op::VPkFmacF16
        || name.starts_with("v_fma_mix")
        || name.starts_with("v_dot") && !name.contains("acc") && !name.contains("c_");
    if packed { Format::Vop3p } else { Format::Vop3 }
}

fn is_vector(op: Op) -> bool {
    op.name().starts_with("v_")
}

fn random_modifiers(op: Op, random: &mut Random) -> Modifiers {
    let bits = random.next();
    let float = |elem| matches!(elem, Elem::F16 | Elem::F32 | Elem::F64 | Elem::Bf16);
    let signature = op.signature();
    if format(op) == Format::Vop3p {
        let [op_sel, op_sel_hi, neg, neg_hi] = bits.to_le_bytes().map(|byte| byte & 7);
        return Modifiers { op_sel, op_sel_hi, neg, neg_hi, clamp: bits >> 31 != 0, ..Modifiers::default() };
    }
    if float(signature.src[0].elem) && float(signature.dst.elem) {
        let [neg, abs, op_sel, rest] = bits.to_le_bytes();
        let op_sel = if signature.dst.is_half() { op_sel & 15 } else { 0 };
        let (neg, abs) = (neg & 7, abs & 7);
        return Modifiers { neg, abs, op_sel, omod: rest & 3, clamp: rest & 4 != 0, ..Modifiers::default() };
    }
    Modifiers::default()
}

#[test]
fn all_levels_give_the_same_bits() {
    let mut executed = 0;
    for &op in Op::ALL.iter().filter(|op| is_vector(**op)) {
        let mut random = Random(op as u64 + 7);
        for round in 0..6u64 {
            let mut case = Case::new(op, format(op));
            if round % 2 == 1 {
                case = case.mods(random_modifiers(op, &mut random));
            }
            if case.lower(Level::Baseline, 64, &mut Pool::new()).is_none() {
                continue;
            }
            // Lanes and registers that sources select stay within the small file.
            if matches!(
                op,
                Op::VMovrelsB32 | Op::VMovreldB32 | Op::VMovrelsdB32 | Op::VMovrelsd2B32 | Op::VSwaprelB32
            ) {
                continue;
            }
            executed += 1;
            let lanes = if round < 3 { 32 } else { 64 };
            let fill = |register: usize, lane: usize| match round % 3 {
                0 => numbers(round + op as u64)(register, lane),
                1 => halves(round + op as u64)(register, lane),
                _ => doubles(round + op as u64)(register, lane),
            };
            let mask = masks(lanes)[if round % 2 == 0 { 0 } else { 3 }];
            for mode in [0x3f0, 0x1f0, 0x3c0, 0x30a] {
                let run = |level| case.run(level, lanes, mask, mode, fill);
                let reference = run(Level::Baseline);
                for &level in Level::available() {
                    let bench = run(level);
                    assert_eq!(bench.wave.sgpr, reference.wave.sgpr, "{:?} {level:?} {mode:#x}", case.inst);
                    for register in 0..REGISTERS {
                        for lane in 0..lanes {
                            let sources = [4, 5, 6, 7, 8, 9].map(|r| fill(r, lane));
                            assert_eq!(
                                bench.get(register, lane),
                                reference.get(register, lane),
                                "{:?} {level:?} mode {mode:#x} v{register} lane {lane} of {sources:x?}",
                                case.inst
                            );
                        }
                    }
                }
            }
        }
    }
    assert!(executed > 2000, "{executed}");
}
