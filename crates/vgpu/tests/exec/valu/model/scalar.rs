//! Scalar operations on values.

use crate::coverage;
use vgpu::exec::lower::{self, Context};
use vgpu::exec::program::Pool;
use vgpu::exec::{Flow, Level, Wave};
use vgpu::isa::{Format, Inst, Op, Operand, scalar};
use vgpu::machine::Generation;

use std::sync::Arc;

use vgpu::machine::{Access, Memory};

/// The inputs of a scalar operation: sources, the old destination, SCC and EXEC.
struct In {
    s: [u64; 2],
    old: u64,
    scc: bool,
    exec: u64,
}

/// The outputs.
#[derive(Default)]
struct Out {
    value: Option<u64>,
    scc: Option<bool>,
    exec: Option<u64>,
}

fn value(value: u64) -> Out {
    Out { value: Some(value), ..Out::default() }
}

/// A value, with SCC set if it is not zero.
fn nonzero(value: u64) -> Out {
    Out { value: Some(value), scc: Some(value != 0), exec: None }
}

fn both(value: u64, scc: bool) -> Out {
    Out { value: Some(value), scc: Some(scc), exec: None }
}

fn test(scc: bool) -> Out {
    Out { scc: Some(scc), ..Out::default() }
}

impl In {
    fn n(&self, k: usize) -> i128 {
        i128::from(self.s[k])
    }

    fn z(&self, k: usize) -> i128 {
        i128::from(self.s[k] as i32)
    }

    /// The destination gets EXEC, and EXEC the value.
    fn save(&self, value: u64) -> Out {
        Out { value: Some(self.exec), scc: Some(value != 0), exec: Some(value) }
    }

    /// The destination and EXEC get the value.
    fn write(&self, value: u64) -> Out {
        Out { value: Some(value), scc: Some(value != 0), exec: Some(value) }
    }
}

type Model = fn(&In) -> Out;

fn word(value: i128) -> u64 {
    u64::from(value as u32)
}

fn first(mut bits: impl Iterator<Item = u64>, wanted: u64) -> u64 {
    bits.position(|bit| bit == wanted).map_or(u64::from(u32::MAX), |at| at as u64)
}

fn up(value: u64, count: u32) -> impl Iterator<Item = u64> {
    (0..count).map(move |k| value >> k & 1)
}

fn down(value: u64, count: u32) -> impl Iterator<Item = u64> {
    (0..count).rev().map(move |k| value >> k & 1)
}

fn quads(value: u64, whole: bool) -> u64 {
    (0..16)
        .filter(|k| value >> (4 * k) & 15 != 0)
        .fold(0, |all, k| all | if whole { 15 << (4 * k) } else { 1 << k })
}

/// A field of a number with this many bits; the control has its offset in the low bits and its width in
/// 16..=22.
fn field(data: u64, control: u64, bits: u32, signed: bool) -> u64 {
    let offset = (control & u64::from(bits - 1)) as u32;
    let width = ((control >> 16 & 0x7f) as u32).min(bits);
    let wide = if !signed {
        i128::from(data)
    } else if bits == 32 {
        i128::from(data as i32)
    } else {
        i128::from(data as i64)
    };
    let cut = (wide >> offset) & ((1i128 << width) - 1);
    let negative = signed && width > 0 && cut >> (width - 1) & 1 != 0;
    (if negative { cut - (1i128 << width) } else { cut }) as u64 & (u64::MAX >> (64 - bits))
}

fn shifted_sum(i: &In, shift: u32) -> Out {
    let sum = (i.n(0) << shift) + i.n(1);
    both(word(sum), sum >> 32 != 0)
}

fn overflows(sum: i128) -> bool {
    i32::try_from(sum).is_err()
}

fn immediate(i: &In) -> u64 {
    i.s[1] & 0xffff
}

/// The bitwise operation in a name such as `s_and_not1_saveexec_b64`.
fn bitwise(name: &str, a: u64, b: u64) -> Option<u64> {
    Some(match name {
        "and" => a & b,
        "or" => a | b,
        "xor" => a ^ b,
        "nand" => !(a & b),
        "nor" => !(a | b),
        "xnor" => !(a ^ b),
        "and_not0" => !a & b,
        "and_not1" => a & !b,
        "or_not0" => !a | b,
        "or_not1" => a | !b,
        _ => return None,
    })
}

/// Bitwise operations, fully described by their names.
fn bits_model(op: Op, i: &In) -> Option<Out> {
    let (name, width) = op.name().strip_prefix("s_")?.rsplit_once("_b")?;
    let mask = if width == "64" { u64::MAX } else { u64::from(u32::MAX) };
    if let Some(name) = name.strip_suffix("_saveexec") {
        return Some(i.save(bitwise(name, i.s[0], i.exec & mask)? & mask));
    }
    if let Some(name) = name.strip_suffix("_wrexec") {
        return Some(i.write(bitwise(name, i.s[0], i.exec & mask)? & mask));
    }
    Some(nonzero(bitwise(name, i.s[0], i.s[1])? & mask))
}

fn model(op: Op) -> Option<Model> {
    Some(match op {
        Op::SMovB32 | Op::SMovB64 | Op::SMovkI32 => |i: &In| value(i.s[0]),
        Op::SCmovB32 | Op::SCmovB64 | Op::SCmovkI32 => |i: &In| value(if i.scc { i.s[0] } else { i.old }),
        Op::SCselectB32 | Op::SCselectB64 => |i: &In| value(if i.scc { i.s[0] } else { i.s[1] }),
        Op::SNotB32 => |i: &In| nonzero(u64::from(!(i.s[0] as u32))),
        Op::SNotB64 => |i: &In| nonzero(!i.s[0]),
        Op::SWqmB32 | Op::SWqmB64 => |i: &In| nonzero(quads(i.s[0], true)),
        Op::SQuadmaskB32 | Op::SQuadmaskB64 => |i: &In| nonzero(quads(i.s[0], false)),
        Op::SBrevB32 => |i: &In| value(down(i.s[0], 32).enumerate().fold(0, |all, (k, bit)| all | bit << k)),
        Op::SBrevB64 => |i: &In| value(down(i.s[0], 64).enumerate().fold(0, |all, (k, bit)| all | bit << k)),
        Op::SBcnt0I32B32 => |i: &In| nonzero(up(i.s[0], 32).filter(|bit| *bit == 0).count() as u64),
        Op::SBcnt0I32B64 => |i: &In| nonzero(up(i.s[0], 64).filter(|bit| *bit == 0).count() as u64),
        Op::SBcnt1I32B32 | Op::SBcnt1I32B64 => |i: &In| nonzero(up(i.s[0], 64).sum()),
        Op::SFf0I32B32 => |i: &In| value(first(up(i.s[0], 32), 0)),
        Op::SFf0I32B64 => |i: &In| value(first(up(i.s[0], 64), 0)),
        Op::SCtzI32B32 => |i: &In| value(first(up(i.s[0], 32), 1)),
        Op::SCtzI32B64 => |i: &In| value(first(up(i.s[0], 64), 1)),
        Op::SClzI32U32 => |i: &In| value(first(down(i.s[0], 32), 1)),
        Op::SClzI32U64 => |i: &In| value(first(down(i.s[0], 64), 1)),
        Op::SClsI32 => |i: &In| value(first(down(i.s[0], 32), 1 ^ i.s[0] >> 31 & 1)),
        Op::SClsI32I64 => |i: &In| value(first(down(i.s[0], 64), 1 ^ i.s[0] >> 63)),
        Op::SSextI32I8 => |i: &In| value(word(i128::from(i.s[0] as i8))),
        Op::SSextI32I16 => |i: &In| value(word(i128::from(i.s[0] as i16))),
        Op::SBitset0B32 => |i: &In| value(i.old & !(1 << (i.s[0] & 31))),
        Op::SBitset1B32 => |i: &In| value(i.old | 1 << (i.s[0] & 31)),
        Op::SBitset0B64 => |i: &In| value(i.old & !(1 << (i.s[0] & 63))),
        Op::SBitset1B64 => |i: &In| value(i.old | 1 << (i.s[0] & 63)),
        Op::SBitreplicateB64B32 => {
            |i: &In| value((0..64).fold(0, |all, k| all | (i.s[0] >> (k / 2) & 1) << k))
        }
        Op::SAbsI32 => |i: &In| nonzero(word(i.z(0).abs())),
        Op::SAddU32 => |i: &In| both(word(i.n(0) + i.n(1)), i.n(0) + i.n(1) >> 32 != 0),
        Op::SSubU32 => |i: &In| both(word(i.n(0) - i.n(1)), i.n(1) > i.n(0)),
        Op::SAddI32 => |i: &In| both(word(i.z(0) + i.z(1)), overflows(i.z(0) + i.z(1))),
        Op::SSubI32 => |i: &In| both(word(i.z(0) - i.z(1)), overflows(i.z(0) - i.z(1))),
        Op::SAddkI32 => |i: &In| {
            let sum = i.z(0) + i128::from(i.s[1] as i16);
            both(word(sum), overflows(sum))
        },
        Op::SMulkI32 => |i: &In| value(word(i.z(0) * i128::from(i.s[1] as i16))),
        Op::SAddcU32 => |i: &In| {
            let sum = i.n(0) + i.n(1) + i128::from(i.scc);
            both(word(sum), sum >> 32 != 0)
        },
        Op::SSubbU32 => |i: &In| {
            let rest = i.n(0) - i.n(1) - i128::from(i.scc);
            both(word(rest), rest < 0)
        },
        Op::SAddNcU64 => |i: &In| value((i.n(0) + i.n(1)) as u64),
        Op::SSubNcU64 => |i: &In| value((i.n(0) - i.n(1)) as u64),
        Op::SMinI32 => |i: &In| both(word(i.z(0).min(i.z(1))), i.z(0) < i.z(1)),
        Op::SMinU32 => |i: &In| both(i.s[0].min(i.s[1]), i.s[0] < i.s[1]),
        Op::SMaxI32 => |i: &In| both(word(i.z(0).max(i.z(1))), i.z(0) >= i.z(1)),
        Op::SMaxU32 => |i: &In| both(i.s[0].max(i.s[1]), i.s[0] >= i.s[1]),
        Op::SLshlB32 => |i: &In| nonzero(word(i.n(0) << (i.s[1] & 31))),
        Op::SLshlB64 => |i: &In| nonzero(i.s[0] << (i.s[1] & 63)),
        Op::SLshrB32 => |i: &In| nonzero(i.s[0] >> (i.s[1] & 31)),
        Op::SLshrB64 => |i: &In| nonzero(i.s[0] >> (i.s[1] & 63)),
        Op::SAshrI32 => |i: &In| nonzero(word(i.z(0) >> (i.s[1] & 31))),
        Op::SAshrI64 => |i: &In| nonzero((i.s[0] as i64 >> (i.s[1] & 63)) as u64),
        Op::SBfmB32 => |i: &In| value(word(((1i128 << (i.s[0] & 31)) - 1) << (i.s[1] & 31))),
        Op::SBfmB64 => |i: &In| value((((1i128 << (i.s[0] & 63)) - 1) << (i.s[1] & 63)) as u64),
        Op::SMulI32 => |i: &In| value(word(i.z(0) * i.z(1))),
        Op::SMulU64 => |i: &In| value(i.s[0].wrapping_mul(i.s[1])),
        Op::SMulHiU32 => |i: &In| value(word(i.n(0) * i.n(1) >> 32)),
        Op::SMulHiI32 => |i: &In| value(word(i.z(0) * i.z(1) >> 32)),
        Op::SBfeU32 => |i: &In| nonzero(field(i.s[0], i.s[1], 32, false)),
        Op::SBfeI32 => |i: &In| nonzero(field(i.s[0], i.s[1], 32, true)),
        Op::SBfeU64 => |i: &In| nonzero(field(i.s[0], i.s[1], 64, false)),
        Op::SBfeI64 => |i: &In| nonzero(field(i.s[0], i.s[1], 64, true)),
        Op::SAbsdiffI32 => {
            |i: &In| nonzero(word(i128::from((i.s[0] as i32).wrapping_sub(i.s[1] as i32)).abs()))
        }
        Op::SLshl1AddU32 => |i: &In| shifted_sum(i, 1),
        Op::SLshl2AddU32 => |i: &In| shifted_sum(i, 2),
        Op::SLshl3AddU32 => |i: &In| shifted_sum(i, 3),
        Op::SLshl4AddU32 => |i: &In| shifted_sum(i, 4),
        Op::SPackLlB32B16 => |i: &In| value(i.s[0] & 0xffff | (i.s[1] & 0xffff) << 16),
        Op::SPackLhB32B16 => |i: &In| value(i.s[0] & 0xffff | i.s[1] >> 16 << 16),
        Op::SPackHhB32B16 => |i: &In| value(i.s[0] >> 16 | i.s[1] >> 16 << 16),
        Op::SPackHlB32B16 => |i: &In| value(i.s[0] >> 16 | (i.s[1] & 0xffff) << 16),
        Op::SCmpEqI32 | Op::SCmpEqU32 | Op::SCmpEqU64 => |i: &In| test(i.s[0] == i.s[1]),
        Op::SCmpLgI32 | Op::SCmpLgU32 | Op::SCmpLgU64 => |i: &In| test(i.s[0] != i.s[1]),
        Op::SCmpGtI32 => |i: &In| test(i.z(0) > i.z(1)),
        Op::SCmpGeI32 => |i: &In| test(i.z(0) >= i.z(1)),
        Op::SCmpLtI32 => |i: &In| test(i.z(0) < i.z(1)),
        Op::SCmpLeI32 => |i: &In| test(i.z(0) <= i.z(1)),
        Op::SCmpGtU32 => |i: &In| test(i.s[0] > i.s[1]),
        Op::SCmpGeU32 => |i: &In| test(i.s[0] >= i.s[1]),
        Op::SCmpLtU32 => |i: &In| test(i.s[0] < i.s[1]),
        Op::SCmpLeU32 => |i: &In| test(i.s[0] <= i.s[1]),
        Op::SCmpkEqI32 => |i: &In| test(i.z(0) == i128::from(i.s[1] as i16)),
        Op::SCmpkLgI32 => |i: &In| test(i.z(0) != i128::from(i.s[1] as i16)),
        Op::SCmpkGtI32 => |i: &In| test(i.z(0) > i128::from(i.s[1] as i16)),
        Op::SCmpkGeI32 => |i: &In| test(i.z(0) >= i128::from(i.s[1] as i16)),
        Op::SCmpkLtI32 => |i: &In| test(i.z(0) < i128::from(i.s[1] as i16)),
        Op::SCmpkLeI32 => |i: &In| test(i.z(0) <= i128::from(i.s[1] as i16)),
        Op::SCmpkEqU32 => |i: &In| test(i.s[0] == immediate(i)),
        Op::SCmpkLgU32 => |i: &In| test(i.s[0] != immediate(i)),
        Op::SCmpkGtU32 => |i: &In| test(i.s[0] > immediate(i)),
        Op::SCmpkGeU32 => |i: &In| test(i.s[0] >= immediate(i)),
        Op::SCmpkLtU32 => |i: &In| test(i.s[0] < immediate(i)),
        Op::SCmpkLeU32 => |i: &In| test(i.s[0] <= immediate(i)),
        Op::SBitcmp0B32 => |i: &In| test(i.s[0] >> (i.s[1] & 31) & 1 == 0),
        Op::SBitcmp1B32 => |i: &In| test(i.s[0] >> (i.s[1] & 31) & 1 != 0),
        Op::SBitcmp0B64 => |i: &In| test(i.s[0] >> (i.s[1] & 63) & 1 == 0),
        Op::SBitcmp1B64 => |i: &In| test(i.s[0] >> (i.s[1] & 63) & 1 != 0),
        _ => return None,
    })
}

fn apply(op: Op, i: &In) -> Option<Out> {
    model(op).map(|model| model(i)).or_else(|| bits_model(op, i))
}

fn is_scalar(inst: &Inst) -> bool {
    matches!(inst.format, Format::Sop1 | Format::Sop2 | Format::Sopc | Format::Sopk | Format::Sopp)
}

/// Whether an operation changes control flow or registers that are not operands, does nothing here, or is a
/// floating-point operation; those are tested with the vector operations.
fn is_elsewhere(op: Op) -> bool {
    let name = op.name();
    let prefixes = [
        "s_barrier",
        "s_branch",
        "s_call",
        "s_cbranch",
        "s_clause",
        "s_code_end",
        "s_decperflevel",
        "s_delay",
        "s_denorm_mode",
        "s_endpgm",
        "s_get_barrier",
        "s_getpc",
        "s_getreg",
        "s_icache",
        "s_incperflevel",
        "s_movrel",
        "s_nop",
        "s_rfe",
        "s_round_mode",
        "s_sendmsg",
        "s_set",
        "s_sleep",
        "s_subvector",
        "s_swappc",
        "s_trap",
        "s_ttracedata",
        "s_version",
        "s_wait",
        "s_wakeup",
        "s_alloc_vgpr",
    ];
    vgpu::exec::valu::is_uniform(op) || prefixes.iter().any(|prefix| name.starts_with(prefix))
}

/// Numbers, many of them special: few bits set, or all but a few.
fn numbers(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        match state >> 61 {
            0 => [0, 1, u64::MAX, 1 << 31, (1 << 31) - 1, 1 << 63, u64::from(u32::MAX), 0xffff_8000]
                [state as usize % 8],
            1 => 1 << (state & 63),
            2 => state & 0x7f_003f,
            _ => state,
        }
    }
}

/// One instruction on `s[10:11]` and `s[12:13]` to `s[14:15]`, encoded as given except for the registers.
fn check(generation: Generation, sample: &Inst, seed: u64) -> Option<String> {
    let mut inst = *sample;
    let op = inst.op;
    let signature = op.signature();
    let mut random = numbers(seed);
    let mut s = [random(), random()];
    let (old, exec, scc) = (random(), random(), random() & 1 != 0);
    for (k, value) in s.iter_mut().enumerate() {
        let ty = signature.src[k];
        if matches!(inst.src[k], Operand::Imm(_)) {
            // Immediates are 16 bits, sign-extended unless they are unsigned.
            let unsigned = op.name().ends_with("_u32");
            let immediate = if unsigned { (*value & 0xffff) as i32 } else { i32::from(*value as i16) };
            inst.src[k] = Operand::Imm(immediate);
            *value = u64::from(immediate as u32);
        } else if ty.exists() {
            inst.src[k] = Operand::Sgpr(10 + 2 * k as u8);
            *value &= u64::MAX >> (64 - ty.bits());
        } else {
            *value = 0;
        }
    }
    let wide = signature.dst.bits() == 64;
    let old = if wide { old } else { old & u64::from(u32::MAX) };
    if inst.dst != Operand::None {
        inst.dst = Operand::Sgpr(14);
    }
    let lanes = if generation.is_cdna() { 64 } else { 32 };
    let context = Context { generation, level: Level::Baseline, lanes };
    // SAFETY: what it is pointed at lives as long as it.
    let mut wave = unsafe { Wave::new(Access::new(Arc::new(Memory::new()))) };
    wave.lanes = lanes as u8;
    wave.set_scalar64(10, s[0]);
    wave.set_scalar64(12, s[1]);
    wave.set_scalar64(14, old);
    wave.set_scalar64(scalar::EXEC, exec);
    wave.scc = scc;
    let (mut pool, mut codes) = (Pool::new(), Vec::new());
    lower::try_lower(&inst, 0, 0, &context, &mut pool, &mut codes)?;
    wave.set_bases(&pool);
    for code in &codes {
        // SAFETY: scalar operands are always in range.
        assert_eq!(unsafe { (code.run)(&mut wave, code) }, Flow::Next);
    }
    let exec_seen = if op.name().ends_with("_b64") { exec } else { exec & u64::from(u32::MAX) };
    let expected = apply(op, &In { s, old, scc, exec: exec_seen })?;
    let cut = |value: u64| if wide { value } else { value & u64::from(u32::MAX) };
    let got = cut(wave.scalar64(14));
    let wanted = cut(expected.value.unwrap_or(old));
    let new_exec = match expected.exec {
        Some(value) if op.name().ends_with("_b64") => value,
        Some(value) => value | exec & !u64::from(u32::MAX),
        None => exec,
    };
    let scc_wanted = expected.scc.unwrap_or(scc);
    let same = got == wanted && wave.scc == scc_wanted && wave.scalar64(scalar::EXEC) == new_exec;
    (!same).then(|| {
        format!(
            "{} {generation:?} of {s:x?} old {old:#x} scc {scc} exec {exec:#x}: {got:#x} {} {:#x}, not {wanted:#x} {scc_wanted} \
             {new_exec:#x}",
            op.name(),
            wave.scc,
            wave.scalar64(scalar::EXEC)
        )
    })
}

#[test]
fn scalar_operations_match_their_models() {
    let mut failures = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for sample in coverage::corpus().iter().filter(|sample| is_scalar(&sample.inst)) {
        let op = sample.inst.op;
        if is_elsewhere(op) || !seen.insert((op, sample.generation)) {
            continue;
        }
        failures.extend((0..400).find_map(|seed| check(sample.generation, &sample.inst, seed)));
    }
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), seen.len(), failures.join("\n"));
    assert!(seen.len() > 500, "only {} operations were tried", seen.len());
}

#[test]
fn no_scalar_operation_is_without_a_model() {
    let missing: std::collections::BTreeSet<&str> = coverage::corpus()
        .iter()
        .filter(|sample| is_scalar(&sample.inst) && !is_elsewhere(sample.inst.op))
        .filter(|sample| apply(sample.inst.op, &In { s: [1, 2], old: 3, scc: false, exec: 4 }).is_none())
        .map(|sample| sample.inst.op.name())
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
