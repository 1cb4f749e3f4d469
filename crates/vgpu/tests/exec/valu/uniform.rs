//! Operations on floats in scalar registers.

use super::{inst, plain};
use vgpu::exec::{Flow, Level};
use vgpu::isa::{Format, Op, Operand};

const NAN: u32 = 0x7fc0_1234;
const SIGNALLING: u32 = 0x7f80_0001;

fn f(value: f32) -> u32 {
    value.to_bits()
}

/// The result in `s4`, and SCC, of an operation on `s6`, `s7` and `s4`, with no lane enabled.
fn apply(op: Op, sources: [u32; 3]) -> [(u32, bool); 3] {
    let mut results = [(0, false); 3];
    for (result, &level) in results.iter_mut().zip(Level::available().iter().cycle()) {
        let mut bench = plain(32);
        bench.exec(0);
        bench.wave.mode = 0x1f0;
        for (slot, source) in [6, 7, 4].into_iter().zip(sources) {
            bench.wave.set_scalar(slot, source);
        }
        let signature = op.signature();
        let slots = [6, 7, 4].map(Operand::Sgpr);
        let count = signature.src.iter().filter(|ty| ty.exists()).count();
        let dst = if signature.dst.exists() { Operand::Sgpr(4) } else { Operand::None };
        assert_eq!(bench.run(&inst(op, Format::Sop2, dst, &slots[..count]), level), Flow::Next);
        *result = (bench.wave.sgpr[4], bench.wave.scc);
    }
    results
}

fn check(op: Op, sources: [u32; 3], expected: u32) {
    for (result, _) in apply(op, sources) {
        assert_eq!(result, expected, "{op:?} of {sources:x?}: {result:#x}, not {expected:#x}");
    }
}

#[test]
fn arithmetic_whatever_exec_is() {
    check(Op::SAddF32, [f(1.5), f(2.25), 0], f(3.75));
    check(Op::SSubF32, [f(1.5), f(2.25), 0], f(-0.75));
    check(Op::SMulF32, [f(1.5), f(-2.0), 0], f(-3.0));
    check(Op::SFmacF32, [f(3.0), f(4.0), f(0.5)], f(12.5));
    check(Op::SCeilF32, [f(1.25), 0, 0], f(2.0));
    check(Op::SRndneF32, [f(2.5), 0, 0], f(2.0));
    check(Op::SCvtI32F32, [f(-2.75), 0, 0], -2i32 as u32);
    check(Op::SCvtF32U32, [7, 0, 0], f(7.0));
    check(Op::VSRcpF32, [f(4.0), 0, 0], f(0.25));
}

#[test]
fn halves_come_with_zeros_above() {
    check(Op::SAddF16, [0xffff_3c00, 0x1234_4000, 0], 0x4200);
    check(Op::SCvtF16F32, [f(1.0), 0, 0], 0x3c00);
    check(Op::SCvtHiF32F16, [0x4000_3c00, 0, 0], f(2.0));
    check(Op::SCvtPkRtzF16F32, [f(1.0), f(2.0), 0], 0x4000_3c00);
}

#[test]
fn numbers_win_and_nans_win() {
    check(Op::SMinNumF32, [NAN, f(1.0), 0], f(1.0));
    check(Op::SMaxNumF32, [f(1.0), NAN, 0], f(1.0));
    check(Op::SMinimumF32, [f(1.0), NAN, 0], NAN);
    check(Op::SMaximumF32, [NAN, SIGNALLING, 0], NAN);
    check(Op::SMaximumF32, [SIGNALLING, NAN, 0], SIGNALLING | 0x40_0000);
    check(Op::SMinimumF32, [f(0.0), f(-0.0), 0], f(-0.0));
    check(Op::SMaximumF16, [0x3c00, 0x7e01, 0], 0x7e01);
    check(Op::SMinimumF16, [0x3c00, 0x4000, 0], 0x3c00);
}

#[test]
fn comparisons_set_scc() {
    for (op, sources, expected) in [
        (Op::SCmpLtF32, [f(1.0), f(2.0), 0], true),
        (Op::SCmpLtF32, [f(2.0), f(1.0), 0], false),
        (Op::SCmpNltF32, [NAN, f(1.0), 0], true),
        (Op::SCmpOF32, [f(1.0), f(2.0), 0], true),
        (Op::SCmpUF32, [f(1.0), NAN, 0], true),
        (Op::SCmpGeF16, [0x4000, 0x3c00, 0], true),
    ] {
        for (_, scc) in apply(op, sources) {
            assert_eq!(scc, expected, "{op:?} of {sources:x?}");
        }
    }
}
