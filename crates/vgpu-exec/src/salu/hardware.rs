//! Hardware registers, which `s_getreg` reads and `s_setreg` writes, for each generation.

use gpu_report::FaultKind;
use vgpu_isa::{Generation, Inst, Op, Operand, scalar};

use super::read32;
use super::registers::{cycles, set_mode};
use crate::SH_MEM_BASES;
use crate::{Code, Flow, Handler, Wave};

/// Registers of a wave that instructions use only through `s_getreg` and `s_setreg`. Kernels read what they
/// were allotted, and can read back what they wrote.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Hardware {
    /// Vector registers allotted to the wave, including ACC registers.
    pub vgprs: u32,
    /// Scalar registers allotted to it.
    pub sgprs: u32,
    /// Bytes of LDS allotted to its workgroup.
    pub lds: u32,
    /// Its number in the workgroup, and the workgroup's number of waves.
    pub index: u32,
    /// See `index`.
    pub waves: u32,
    /// The number of its compute unit.
    pub unit: u32,
    /// The address of its scratch memory. Kernels of gfx1030 write it; scratch instructions do not use it.
    pub scratch: u64,
    /// TRAPSTS, on gfx12 EXCP_FLAG_USER: exceptions that have occurred. Arithmetic adds none.
    pub traps: u32,
    /// gfx12: TRAP_CTRL, which exceptions trap. No handler is installed.
    pub trap_control: u32,
    /// gfx12: SCHED_MODE, how much waiting the hardware leaves to the program. Here, nothing ever has to
    /// wait.
    pub schedule: u32,
}

/// The hardware registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Register {
    Mode,
    Status,
    StatePriv,
    Traps,
    TrapControl,
    Schedule,
    GprAlloc,
    LdsAlloc,
    ScratchLow,
    ScratchHigh,
    HwId,
    HwId1,
    HwId2,
    MemBases,
    IbStatus2,
    Cycles,
    CyclesLow,
    CyclesHigh,
    /// Registers that read as zero: counters of outstanding operations (there are none), the trap handler's
    /// addresses and flags (there is none), the XCC (there is one), profiler samples, registers on demand,
    /// the pixel packer.
    Zero,
}

impl Register {
    /// The register with this number.
    fn of(generation: Generation, id: u32) -> Option<Register> {
        use Generation::{Gfx10, Gfx11, Gfx12, Gfx940};
        let cdna = generation.is_cdna();
        Some(match (id, generation) {
            (1, _) => Register::Mode,
            (2, _) => Register::Status,
            (4, Gfx12) => Register::StatePriv,
            (4, _) if cdna => Register::HwId,
            (5, _) => Register::GprAlloc,
            (6, _) => Register::LdsAlloc,
            (7, _) => Register::Zero,
            (10..=12 | 15..=17 | 31 | 32, Gfx12) => Register::Zero,
            (18, Gfx12) => Register::Traps,
            (19, Gfx12) => Register::TrapControl,
            (26, Gfx12) => Register::Schedule,
            (29, Gfx12) => Register::CyclesLow,
            (30, Gfx12) => Register::CyclesHigh,
            (3, _) if generation != Gfx12 => Register::Traps,
            (15, _) => Register::MemBases,
            (20, Gfx940) => Register::Zero,
            (21..=24, Gfx940) => Register::Zero,
            (16..=19, Gfx10) => Register::Zero,
            (16..=19, _) if cdna => Register::Zero,
            (18 | 19 | 27, Gfx11) => Register::Zero,
            (20, Gfx10 | Gfx11 | Gfx12) => Register::ScratchLow,
            (21, Gfx10 | Gfx11 | Gfx12) => Register::ScratchHigh,
            (23, Gfx10 | Gfx11 | Gfx12) => Register::HwId1,
            (24, Gfx10 | Gfx11 | Gfx12) => Register::HwId2,
            (25, Gfx10) => Register::Zero,
            (28, Gfx10 | Gfx11) => Register::IbStatus2,
            (29, Gfx10 | Gfx11) => Register::Cycles,
            _ => return None,
        })
    }
}

/// The DX10_CLAMP and IEEE bits of MODE, which gfx12 does not have.
const CLAMP_AND_IEEE: u32 = 0x300;

/// The value of a hardware register.
fn read(wave: &mut Wave, generation: Generation, register: Register) -> u32 {
    let gfx12 = generation == Generation::Gfx12;
    let wave64 = u32::from(wave.lanes == 64);
    let hardware = wave.hardware;
    match register {
        Register::Mode if gfx12 => wave.mode & !CLAMP_AND_IEEE,
        Register::Mode => wave.mode,
        Register::Status => {
            let zero = |slot: u8| u32::from(wave.lane_mask(slot) == 0);
            // The wave is valid, and it is in a group if the group has more than one wave.
            let common = zero(scalar::EXEC) << 9
                | zero(scalar::VCC) << 10
                | u32::from(hardware.waves > 1) << 11
                | 1 << 16;
            common | if gfx12 { wave64 << 29 } else { u32::from(wave.scc) }
        }
        Register::StatePriv => {
            let passed = wave.passed;
            let complete = wave.barrier_mut().is_some_and(|barrier| barrier.completed() > passed);
            u32::from(complete) << 2 | u32::from(wave.scc) << 9
        }
        Register::Traps => hardware.traps,
        Register::TrapControl => hardware.trap_control,
        Register::Schedule => hardware.schedule,
        Register::GprAlloc => {
            let size = |registers: u32, granule: u32| (registers / granule).saturating_sub(1);
            match generation {
                Generation::Gfx9 | Generation::Gfx940 => {
                    size(hardware.vgprs, 8) << 8 | size(hardware.sgprs, 16) << 24
                }
                Generation::Gfx10 => size(hardware.vgprs, 4) << 8,
                Generation::Gfx11 | Generation::Gfx12 => size(hardware.vgprs, 4) << 12,
            }
        }
        Register::LdsAlloc => hardware.lds.div_ceil(if gfx12 { 512 } else { 256 }) << 12,
        Register::ScratchLow => hardware.scratch as u32,
        Register::ScratchHigh => (hardware.scratch >> 32) as u32,
        // Waves are distributed over the SIMDs of their unit. Units that do not fit into one array are
        // assigned to further engines and arrays, as far as there are bits. Compute queues belong to
        // microengine 1.
        Register::HwId => {
            let (simd, slot) = (hardware.index & 3, hardware.index >> 2 & 15);
            slot | simd << 4 | (hardware.unit & 0xff) << 8 | 1 << 30
        }
        // Two units form a workgroup processor, with two SIMDs from each.
        Register::HwId1 => {
            let (simd, slot) = (hardware.index & 3 ^ (hardware.unit & 1) << 1, hardware.index >> 2 & 31);
            let (processor, engine) = (hardware.unit >> 1 & 15, hardware.unit >> 5);
            slot | simd << 8 | processor << 10 | (engine & 1) << 16 | (engine >> 1 & 7) << 18
        }
        Register::HwId2 => 1 << 8,
        Register::MemBases => SH_MEM_BASES,
        Register::IbStatus2 => wave64 << 11,
        // A free-running 20-bit counter.
        Register::Cycles => cycles() as u32 & 0xf_ffff,
        Register::CyclesLow => cycles() as u32,
        Register::CyclesHigh => (cycles() >> 32) as u32,
        Register::Zero => 0,
    }
}

/// The generation and the register, and the first bit and the width of the field.
fn field(wave: &mut Wave, code: &Code) -> Result<(Generation, Register, u32, u32), Flow> {
    let generation = code.generation;
    let field = code.imm as u32;
    let offset = field >> 6 & 31;
    let width = ((field >> 11 & 31) + 1).min(32 - offset);
    match Register::of(generation, field & 63) {
        Some(register) => Ok((generation, register, offset, width)),
        None => {
            let what = format!("hardware register {}, which the target lacks", field & 63);
            Err(wave.fail(FaultKind::Unsupported { what }))
        }
    }
}

unsafe fn getreg(wave: &mut Wave, code: &Code) -> Flow {
    let (generation, register, offset, width) = match field(wave, code) {
        Ok(field) => field,
        Err(flow) => return flow,
    };
    let value = read(wave, generation, register) >> offset & (u32::MAX >> (32 - width));
    wave.set_scalar(code.dst as u8, value);
    Flow::Next
}

unsafe fn setreg(wave: &mut Wave, code: &Code) -> Flow {
    let (generation, register, offset, width) = match field(wave, code) {
        Ok(field) => field,
        Err(flow) => return flow,
    };
    let mask = (u32::MAX >> (32 - width)) << offset;
    let bits = read32(wave, code.src[0]) << offset & mask;
    let set = |old: &mut u32, mask: u32| *old = *old & !mask | bits & mask;
    let hardware = &mut wave.hardware;
    match register {
        Register::Mode => {
            let mut mode = wave.mode;
            set(&mut mode, if generation == Generation::Gfx12 { mask & !CLAMP_AND_IEEE } else { mask });
            return set_mode(wave, code, mode);
        }
        Register::Traps => set(&mut hardware.traps, mask),
        Register::TrapControl => set(&mut hardware.trap_control, mask),
        Register::Schedule => set(&mut hardware.schedule, mask & 3),
        // Since gfx11, only trap handlers may write them.
        Register::ScratchLow if generation == Generation::Gfx10 => {
            hardware.scratch = hardware.scratch & !u64::from(mask) | u64::from(bits);
        }
        Register::ScratchHigh if generation == Generation::Gfx10 => {
            hardware.scratch = hardware.scratch & !(u64::from(mask) << 32) | u64::from(bits) << 32;
        }
        // Hardware ignores writes to registers that are read-only, or that only trap handlers may write.
        _ => {}
    }
    Flow::Next
}

/// The handler of a hardware-register instruction, and its `imm`.
pub(super) fn handler(inst: &Inst) -> Option<(Handler, i64)> {
    let (run, place): (Handler, usize) = match inst.op {
        Op::SGetregB32 => (getreg, 0),
        Op::SSetregB32 | Op::SSetregImm32B32 => (setreg, 1),
        _ => return None,
    };
    let Operand::Imm(field) = inst.src[place] else { return None };
    Some((run, i64::from(field as u16)))
}
