//! Lowering: from decoded instructions to handlers. It resolves operands, splits modifiers and chooses a
//! handler.

use gpu_report::FaultKind;
use vgpu_isa::{
    Elem, Fact, Format, Generation, Inst, Isa, Memory, Modifiers, Op, Operand, Special, Type,
    decode as decode_bits, decode_wave64, scalar,
};

use super::program::Pool;
use super::wave::Row;
use super::{Code, Flow, Handler, Level, Src, Wave, matrix, memory, salu, valu};
use crate::{PRIVATE_APERTURE, SHARED_APERTURE};

/// The context that an instruction is lowered in.
#[derive(Clone, Copy, Debug)]
pub struct Context {
    pub generation: Generation,
    pub level: Level,
    /// 32 or 64.
    pub lanes: usize,
}

/// Decodes the instruction at the start of `bytes`. Instructions that only waves of 64 lanes have are
/// rejected later, when they are lowered for other waves.
pub(super) fn decode(isa: Isa, bytes: &[u8]) -> Option<Inst> {
    let inst = decode_bits(isa, bytes).or_else(|_| decode_wave64(isa, bytes)).ok()?;
    (inst.op != Op::VIllegal).then_some(inst)
}

/// The text of an instruction, for reports.
pub fn text(inst: &Inst, isa: Isa, lanes: u8) -> String {
    if inst.op == Op::SCodeEnd {
        return String::new();
    }
    let text = inst.text(isa);
    if lanes == 64 { text.wave64().to_string() } else { text.to_string() }
}

/// A placeholder for bytes that are not an instruction.
pub fn no_inst() -> Inst {
    Inst {
        op: Op::SCodeEnd,
        format: Format::Sopp,
        size: 4,
        dst: Operand::None,
        sdst: Operand::None,
        src: [Operand::None; 4],
        mods: Modifiers::default(),
        dpp: None,
        sdwa: None,
        mem: Memory::default(),
        graphics: None,
        dual: None,
    }
}

/// A code without operands.
pub(super) fn bare(run: Handler, imm: i64, inst: u32) -> Code {
    Code {
        run,
        src: [Src::Const(0); 4],
        dst: 0,
        inst,
        imm,
        mods: Modifiers::default(),
        sdst: 0,
        more: 0,
        plain: false,
        // `try_lower` sets it for handlers that need it.
        generation: Generation::Gfx9,
        rows: [Row::NONE; 3],
    }
}

/// Continues elsewhere in the unit.
pub(super) fn goto(inst: u32) -> Code {
    unsafe fn run(wave: &mut Wave, code: &Code) -> Flow {
        wave.next = code.imm as u32;
        Flow::Jump
    }
    bare(run, 0, inst)
}

/// Continues at an address.
pub(super) fn leave(pc: u64, inst: u32) -> Code {
    unsafe fn run(wave: &mut Wave, code: &Code) -> Flow {
        wave.target = code.imm as u64;
        Flow::Leave
    }
    bare(run, pc as i64, inst)
}

/// Bytes that are not an instruction.
pub(super) fn illegal(bytes: &[u8], inst: u32) -> Code {
    unsafe fn run(wave: &mut Wave, code: &Code) -> Flow {
        let bytes = code.imm.to_le_bytes()[..usize::from(code.sdst)].to_vec();
        wave.fail(FaultKind::IllegalInstruction { bytes })
    }
    let mut head = [0; 8];
    let count = bytes.len().min(8);
    head[..count].copy_from_slice(&bytes[..count]);
    Code { sdst: count as u8, ..bare(run, i64::from_le_bytes(head), inst) }
}

/// An address without code.
pub(super) fn outside(pc: u64, inst: u32) -> Code {
    unsafe fn run(wave: &mut Wave, code: &Code) -> Flow {
        wave.fail(FaultKind::BadJump { target: code.imm as u64 })
    }
    bare(run, pc as i64, inst)
}

/// A hint or wait that an observer sees. Without observers, hints and waits lower to nothing.
pub(super) fn hint(inst: u32) -> Code {
    unsafe fn run(_: &mut Wave, _: &Code) -> Flow {
        Flow::Next
    }
    bare(run, 0, inst)
}

/// An instruction that is not executed; it faults when a wave reaches it.
unsafe fn unsupported(wave: &mut Wave, code: &Code) -> Flow {
    let what = wave.inst(code).map_or_else(String::new, |inst| {
        let form = match (&inst.dpp, &inst.sdwa) {
            (Some(_), _) => " with DPP",
            (_, Some(_)) => " with SDWA",
            _ => "",
        };
        format!("{}{form}", inst.op.name())
    });
    wave.fail(FaultKind::Unsupported { what })
}

/// Lowers one instruction to any number of codes. Hints and waits lower to none. Returns whether it can be
/// executed; otherwise it faults when a wave reaches it.
pub fn lower(
    inst: &Inst,
    pc: u64,
    number: u32,
    context: &Context,
    pool: &mut Pool,
    codes: &mut Vec<Code>,
) -> bool {
    let start = codes.len();
    let executed = try_lower(inst, pc, number, context, pool, codes).is_some();
    if !executed {
        codes.truncate(start);
        codes.push(bare(unsupported, 0, number));
    }
    executed
}

/// A vector instruction of gfx9 whose registers are relative to M0. The registers are determined when it is
/// executed.
pub(super) fn indexed(context: &Context, inst: u32) -> Code {
    Code { generation: context.generation, ..bare(run_indexed, 0, inst) }
}

/// The instruction with the registers that M0 selects; none if these registers do not exist.
fn shifted(inst: &Inst, m0: u32) -> Option<Inst> {
    let mut inst = *inst;
    let shift = |operand: &mut Operand, place: u32, width: u8| {
        if let Operand::Vgpr(register) = operand
            && m0 >> (12 + place) & 1 != 0
        {
            // The last register of a wide operand must exist too.
            let first = u32::from(*register) + (m0 & 0xff);
            u8::try_from(first + u32::from(width.max(1)) - 1).ok()?;
            *register = first as u8;
        }
        Some(())
    };
    for place in 0..3 {
        // Only gfx9 has this, and its waves have 64 lanes.
        let width = inst.source_registers(place as usize, 64);
        shift(&mut inst.src[place as usize], place, width)?;
    }
    let width = inst.result_registers(64);
    shift(&mut inst.dst, 3, width)?;
    if inst.op.has(Fact::ACCUMULATES) {
        inst.src[2] = inst.dst;
    }
    Some(inst)
}

/// Resolves an instruction whose registers M0 selects: to a move between these registers, or to the same
/// instruction on other registers. None if these registers do not exist, or if MODE selects them.
pub fn resolved(inst: &Inst, wave: &Wave) -> Option<Inst> {
    let m0 = wave.sgpr[usize::from(scalar::M0)];
    let (op, from, to) = match inst.op {
        Op::VMovrelsB32 => (Op::VMovB32, m0, 0),
        Op::VMovreldB32 => (Op::VMovB32, 0, m0),
        Op::VMovrelsdB32 => (Op::VMovB32, m0, m0),
        Op::VMovrelsd2B32 => (Op::VMovB32, m0 & 0x3ff, m0 >> 16 & 0x3ff),
        Op::VSwaprelB32 => (Op::VSwapB32, m0 & 0x3ff, m0 >> 16 & 0x3ff),
        Op::SMovrelsB32 => (Op::SMovB32, m0, 0),
        Op::SMovrelsB64 => (Op::SMovB64, m0, 0),
        Op::SMovreldB32 => (Op::SMovB32, 0, m0),
        Op::SMovreldB64 => (Op::SMovB64, 0, m0),
        Op::SMovrelsd2B32 => (Op::SMovB32, m0 & 0x3ff, m0 >> 16 & 0x3ff),
        Op::SCbranchGFork | Op::SCbranchIFork | Op::SCbranchJoin => return None,
        _ if inst.format.is_vector_arithmetic() => return shifted(inst, m0),
        _ => return Some(*inst),
    };
    let relative = |operand: Operand, offset: u32| {
        let number = |register: u8, end: u32| {
            u8::try_from(u32::from(register).checked_add(offset).filter(|number| *number < end)?).ok()
        };
        Some(match operand {
            Operand::Vgpr(register) => Operand::Vgpr(number(register, 256)?),
            Operand::Sgpr(slot) => Operand::Sgpr(number(slot, u32::from(scalar::VCC))?),
            other => other,
        })
    };
    let mut inst = Inst { op, dst: relative(inst.dst, to)?, ..*inst };
    inst.src[0] = relative(inst.src[0], from)?;
    Some(inst)
}

/// Executes a vector instruction with the low byte of M0 added to register numbers: those of sources 0, 1 and
/// 2 and of the destination, if bits 12, 13, 14 and 15 of M0 are set.
unsafe fn run_indexed(wave: &mut Wave, code: &Code) -> Flow {
    let Some(inst) = wave.inst(code) else { return Flow::Next };
    let m0 = wave.sgpr[usize::from(scalar::M0)];
    let Some(inst) = shifted(&inst, m0) else {
        return wave.fail(FaultKind::Unsupported {
            what: format!("vector register at offset {}, which does not exist", m0 & 0xff),
        });
    };
    let context =
        Context { generation: code.generation, level: Level::detect(), lanes: usize::from(wave.lanes) };
    let (mut pool, mut codes) = (Pool::new(), Vec::new());
    if try_lower(&inst, 0, code.inst, &context, &mut pool, &mut codes).is_none() {
        // SAFETY: the same promise.
        return unsafe { unsupported(wave, code) };
    }
    let bases = wave.bases;
    wave.set_bases(&pool);
    let mut flow = Flow::Next;
    for code in &codes {
        // SAFETY: lowered for this CPU, the wave's size and its registers.
        flow = unsafe { (code.run)(wave, code) };
        if flow != Flow::Next {
            break;
        }
    }
    wave.bases = bases;
    flow
}

/// Lowers one instruction, if it can be executed.
pub fn try_lower(
    inst: &Inst,
    pc: u64,
    number: u32,
    context: &Context,
    pool: &mut Pool,
    codes: &mut Vec<Code>,
) -> Option<()> {
    let start = codes.len();
    lower_parts(inst, pc, number, context, pool, codes)?;
    codes[start..].iter_mut().for_each(|code| code.generation = context.generation);
    Some(())
}

fn lower_parts(
    inst: &Inst,
    pc: u64,
    number: u32,
    context: &Context,
    pool: &mut Pool,
    codes: &mut Vec<Code>,
) -> Option<()> {
    match inst.format {
        _ if valu::is_uniform(inst.op) => valu::lower(inst, number, context, pool, codes),
        Format::Sop1 | Format::Sop2 | Format::Sopc | Format::Sopk | Format::Sopp => {
            salu::lower(inst, pc, number, context, codes)
        }
        Format::Vop3p if matrix::is_matrix(inst) => matrix::lower(inst, number, context, codes),
        format if format.is_vector_arithmetic() => valu::lower(inst, number, context, pool, codes),
        _ => {
            let code = operands(inst, number, context, codes)?;
            let lowered = memory::lower(inst, context.lanes, context.level, context.generation)?;
            codes.push(Code { run: lowered.run, imm: lowered.imm, ..code });
            if let Some(registers) = lowered.status {
                let dst = code.dst + registers * context.lanes as u32;
                codes.push(Code { run: memory::clear_status(context.lanes), dst, ..code });
            }
            Some(())
        }
    }
}

/// The code of an instruction with all operands resolved and no handler yet. Special sources get an extra
/// code that reads them.
pub(super) fn operands(inst: &Inst, number: u32, context: &Context, codes: &mut Vec<Code>) -> Option<Code> {
    let signature = inst.op.signature();
    let mut code = bare(unsupported, 0, number);
    code.mods = inst.mods;
    for (i, operand) in inst.src.iter().enumerate() {
        let operand = if signature.src[i].elem == Elem::Mask { pair(*operand, context) } else { *operand };
        code.src[i] = source(operand, signature.src[i], i, context, codes, number)?;
    }
    let dst = if signature.dst.elem == Elem::Mask { pair(inst.dst, context) } else { inst.dst };
    code.dst = destination(dst, context)?;
    code.sdst = match pair(inst.sdst, context) {
        Operand::Sgpr(slot) => slot,
        Operand::None => vgpu_isa::scalar::NULL,
        _ => return None,
    };
    Some(code)
}

/// The register of a lane mask. In waves of 64 lanes it is a pair, and the low bit of its number is ignored.
fn pair(operand: Operand, context: &Context) -> Operand {
    match operand {
        Operand::Sgpr(slot) if context.lanes == 64 && slot < vgpu_isa::scalar::M0 => Operand::Sgpr(slot & !1),
        operand => operand,
    }
}

/// The position of a result: an index into the register file, or a scalar slot.
pub(super) fn destination(operand: Operand, context: &Context) -> Option<u32> {
    let lanes = context.lanes as u32;
    match operand {
        Operand::Vgpr(register) => Some(u32::from(register) * lanes),
        Operand::Agpr(register) => Some((256 + u32::from(register)) * lanes),
        Operand::Sgpr(slot) => Some(u32::from(slot)),
        Operand::None => Some(u32::from(vgpu_isa::scalar::NULL)),
        _ => None,
    }
}

/// Resolves a source of the given type. `place` is its number, which selects the temporary row for a special
/// value.
pub(super) fn source(
    operand: Operand,
    ty: Type,
    place: usize,
    context: &Context,
    codes: &mut Vec<Code>,
    number: u32,
) -> Option<Src> {
    let lanes = context.lanes as u32;
    Some(match operand {
        Operand::None => Src::Const(0),
        Operand::Vgpr(register) => Src::Vector(u32::from(register) * lanes),
        Operand::Agpr(register) => Src::Vector((256 + u32::from(register)) * lanes),
        Operand::Sgpr(slot) => Src::Scalar(slot),
        Operand::Special(special) => {
            let wide = ty.bits() == 64;
            let aperture = |base: u64, limit: bool| {
                let value = base | if limit { 0xffff_ffff } else { 0 };
                Src::Const(if wide { value } else { value >> 32 })
            };
            match special {
                Special::SharedBase => aperture(SHARED_APERTURE, false),
                Special::SharedLimit => aperture(SHARED_APERTURE, true),
                Special::PrivateBase => aperture(PRIVATE_APERTURE, false),
                Special::PrivateLimit => aperture(PRIVATE_APERTURE, true),
                Special::PopsExitingWaveId => Src::Const(0),
                Special::Scc | Special::VccZ | Special::ExecZ => {
                    codes.push(salu::read_special(special, place, number, context.lanes));
                    Src::Temp(2 * place as u8)
                }
                Special::LdsDirect => {
                    let row = 2 * place as u8;
                    codes.push(Code { sdst: row, ..bare(memory::direct_source, 0, number) });
                    Src::Temp(row)
                }
            }
        }
        Operand::Int(value) => {
            let value = i64::from(value);
            Src::Const(match ty.bits() {
                64 if ty.count == 1 => value as u64,
                _ => u64::from(value as u32),
            })
        }
        Operand::Float(code) => Src::Const(inline_float(code, ty)?),
        Operand::Literal(value) => Src::Const(match ty.elem {
            Elem::F64 => u64::from(value) << 32,
            Elem::I64 => i64::from(value as i32) as u64,
            _ => u64::from(value),
        }),
        Operand::Imm(value) => Src::Const(i64::from(value) as u64),
    })
}

/// The bits of a floating-point inline constant, source code 240..=248. A pair of 16-bit integers reads an
/// f32; a pair of halves reads one f16 with zeros above it.
pub(super) fn inline_float(code: u8, ty: Type) -> Option<u64> {
    const VALUES: [f64; 8] = [0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0];
    let elem = match ty.elem {
        Elem::I16 | Elem::U16 if ty.count > 1 => Elem::F32,
        elem => elem,
    };
    if code == 248 {
        return Some(match elem {
            Elem::B16 | Elem::I16 | Elem::U16 | Elem::F16 => 0x3118,
            Elem::Bf16 => 0x3e22,
            Elem::B64 | Elem::I64 | Elem::U64 | Elem::F64 => 0x3fc4_5f30_6dc9_c882,
            _ => 0x3e22_f983,
        });
    }
    let value = VALUES.get(usize::from(code.checked_sub(240)?))?;
    Some(match elem {
        Elem::B16 | Elem::I16 | Elem::U16 | Elem::F16 => u64::from(half::f16::from_f64(*value).to_bits()),
        Elem::Bf16 => u64::from((*value as f32).to_bits() >> 16),
        Elem::B64 | Elem::I64 | Elem::U64 | Elem::F64 => value.to_bits(),
        _ => u64::from((*value as f32).to_bits()),
    })
}
