//! The state of one wave and the lowered form of an instruction.

use std::sync::Arc;

use gpu_report::FaultKind;
use vgpu_isa::{Generation, Modifiers, scalar};

use super::Barrier;
use super::program::{Pool, Unit};
use super::salu::Hardware;
use super::settle::Since;
use super::stillness::{FIRST, Stillness};
use crate::{Access, WaveFault};

/// What the run loop does after an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Flow {
    /// Continue with the next instruction.
    Next,
    /// Continue after the instruction and the following [`Code::more`] ones of the same kind: all are done.
    Run,
    /// Continue at `wave.next`, another instruction of the same unit.
    Jump,
    /// Continue at the address `wave.target`, which may be anywhere.
    Leave,
    /// The wave waits at a workgroup barrier.
    Barrier,
    /// The wave yields to other waves (`s_sleep`, a long loop).
    Yield,
    /// The wave is about to overwrite LDS that it has read since a barrier, and lets the others catch up.
    Settle,
    /// The wave yields to other waves and then executes the instruction again.
    Retry,
    /// The wave is done.
    End,
    /// The wave stops with the fault in `wave.fault`.
    Fault,
}

/// Executes one instruction on a wave.
///
/// # Safety
/// The CPU must have the vector extensions that the handler was compiled for, and `Code` must have been
/// lowered for this wave's size and register counts: handlers index the register file unchecked.
pub type Handler = unsafe fn(&mut Wave, &Code) -> Flow;

/// A source operand, resolved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Src {
    /// A vector register: its first lane's index in the register file.
    Vector(u32),
    /// A scalar register slot (64-bit operands: this and the next).
    Scalar(u8),
    /// A constant, already converted to the operand's type and width.
    Const(u64),
    /// A row of `wave.temp`, written by an earlier code of the same instruction (DPP, SDWA).
    Temp(u8),
}

/// The location of the lanes of any vector operand: a register, a row of `wave.temp` or of the unit's
/// constants, or a scalar.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Row {
    /// Byte offset of the first lane from `wave.bases[base]`.
    pub offset: u32,
    /// The distance from the low to the high half of a 64-bit operand, in bytes.
    pub high: u16,
    /// The number of the base. With [`Row::SCALAR`], one dword there serves all lanes.
    pub base: u8,
    /// The distance between chunks of sixteen lanes, in bytes; 0 if one chunk serves all.
    pub stride: u8,
}

impl Row {
    /// No operand: it points to the first constant.
    pub const NONE: Row = Row { offset: 0, high: 0, base: 2, stride: 0 };
    /// The base of scalars: the scalar slots.
    pub const SCALAR: u8 = 3;
}

/// One lowered instruction. Everything that vector instructions need is in its first cache line.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Code {
    /// The handler.
    pub run: Handler,
    /// Free for the handler: offsets, jump targets, immediates.
    pub imm: i64,
    /// Destination: first lane's index in the vector register file, or a scalar slot.
    pub dst: u32,
    /// Index of the decoded instruction, for faults, traces and rare handlers.
    pub inst: u32,
    /// The lanes of the sources of vector instructions. The fourth source is a lane mask, which has no row.
    pub rows: [Row; 3],
    /// Input and output modifiers.
    pub mods: Modifiers,
    /// The second, scalar destination slot; `Code::ASIDE` in codes that belong to no instruction.
    pub sdst: u8,
    /// The number of following codes with the same handler, all or none of them [`Code::plain`]. The handler
    /// may execute them in the same call and then returns [`Flow::Run`].
    pub more: u8,
    /// Whether all sources of a vector instruction are vector registers, apart from lane masks.
    pub plain: bool,
    /// The generation that it was lowered for.
    pub generation: Generation,
    /// The sources. Missing operands are `Const(0)`.
    pub src: [Src; 4],
}

const _: () = assert!(std::mem::offset_of!(Code, src) <= 64);

impl Code {
    /// The [`Code::sdst`] of codes between instructions, which observers do not see.
    pub(crate) const ASIDE: u8 = u8::MAX;
}

/// The number of rows of [`Wave::temp`]: two per source operand.
pub(crate) const TEMPS: usize = 8;

/// The architectural state of one wave.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Wave {
    /// Scalar slots, see [`scalar`]: SGPRs, VCC, M0 and EXEC. The slot of NULL always holds zero.
    pub sgpr: [u32; scalar::COUNT],
    /// Rows that belong to no register: permuted or extracted sources, broadcast scalars.
    pub temp: [[u32; 64]; TEMPS],
    /// The vector register file: register `r`, lane `l` at `r * lanes + l`. 64-byte aligned, ACC registers
    /// after `v255`.
    pub vgpr: *mut u32,
    /// The bases of rows: the register file, `temp`, the unit's constants, the scalar slots. The run loop
    /// sets them.
    pub bases: [*const u8; 4],
    /// Scalar condition code.
    pub scc: bool,
    /// Whether it stored to global memory since it last waited for stores: the host may not have made them
    /// visible to others yet.
    pub stored: bool,
    /// 32 or 64.
    pub lanes: u8,
    /// The MODE register: rounding (bits 0..=3), denormals (4..=7), DX10_CLAMP (8), IEEE (9), FP16_OVFL (23);
    /// on gfx9 also whether vector registers are relative to M0 (27) and vector instructions are skipped
    /// (28). [`Form`](super::Form) follows these two.
    pub mode: u32,
    /// The target address of [`Flow::Leave`].
    pub target: u64,
    /// The first lane that a vector instruction has not done yet.
    pub done: u8,
    /// EXEC before a DPP instruction narrowed it.
    pub saved_exec: u64,
    /// The index of the next instruction in `unit`; after a fault, of the instruction that failed.
    pub next: u32,
    /// Whether it runs code in which every instruction has a code of its own, for observers.
    pub watched: bool,
    /// The unit of lowered code that the wave is in.
    pub unit: Option<Arc<Unit>>,
    /// The workgroup's barrier, which outlives the wave's time slices; null if the wave is in no workgroup.
    pub barrier: *mut Barrier,
    /// How often the barrier had been complete when the wave last passed it.
    pub passed: u64,
    /// What it has done since it was last together with the others of its workgroup, which decides whether it
    /// stops for them ([`Flow::Settle`]).
    pub since: Since,
    /// The round of global wave sync that the wave waits for; 0 if none.
    pub round: u64,
    /// The number of backward jumps after which its next time slice ends.
    pub slice: u32,
    /// The number of backward jumps that are left in the current time slice.
    pub budget: u32,
    /// Its state at the end of its last time slice, which shows whether it waits for others; none in the
    /// first slice.
    pub stillness: Option<Stillness>,
    /// Memory, LDS and scratch memory.
    pub access: Access,
    /// Registers that only `s_getreg` and `s_setreg` access.
    pub hardware: Hardware,
    /// The reason why the wave stopped.
    pub fault: Option<Box<WaveFault>>,
}

impl Wave {
    /// A wave without registers; they are set for each workgroup.
    ///
    /// # Safety
    /// Some pointers are set later: [`Wave::vgpr`], [`Wave::barrier`] and those of [`Wave::access`]. Whenever
    /// a function of the wave is called, they must be as documented, or null.
    pub unsafe fn new(access: Access) -> Self {
        Wave {
            sgpr: [0; scalar::COUNT],
            temp: [[0; 64]; TEMPS],
            vgpr: std::ptr::null_mut(),
            bases: [std::ptr::null(); 4],
            scc: false,
            stored: false,
            lanes: 32,
            mode: 0,
            target: 0,
            done: 0,
            saved_exec: 0,
            next: 0,
            watched: false,
            unit: None,
            barrier: std::ptr::null_mut(),
            passed: 0,
            since: Since::default(),
            round: 0,
            slice: FIRST,
            budget: FIRST,
            stillness: None,
            access,
            hardware: Hardware::default(),
            fault: None,
        }
    }

    /// Sets the bases of rows to the register file, `temp`, the constants of the unit that runs next, and the
    /// scalar slots. The wave must not move until then.
    #[inline]
    pub fn set_bases(&mut self, pool: &Pool) {
        self.bases = [self.vgpr.cast(), self.temp.as_ptr().cast(), pool.start(), self.sgpr.as_ptr().cast()];
    }

    /// Stops the wave.
    #[cold]
    #[inline(never)]
    pub fn fail(&mut self, kind: FaultKind) -> Flow {
        self.fault = Some(Box::new(kind.into()));
        Flow::Fault
    }

    /// Passes the workgroup's barrier if it was complete since the last time.
    pub fn pass_barrier(&mut self) -> bool {
        let (completed, members) =
            self.barrier_mut().map_or((0, 0), |barrier| (barrier.completed(), barrier.members()));
        let passes = completed > self.passed;
        self.passed = completed;
        if passes {
            self.since.barrier(members > 1);
        }
        passes
    }

    /// Tells the others that the wave has ended.
    pub fn leave_barrier(&mut self) {
        if let Some(barrier) = self.barrier_mut() {
            barrier.leave();
        }
    }

    /// The workgroup's barrier.
    pub fn barrier_mut(&mut self) -> Option<&mut Barrier> {
        // SAFETY: null, or the barrier of the workgroup. A single thread runs the workgroup, and nothing else
        // accesses the barrier while a wave runs.
        unsafe { self.barrier.as_mut() }
    }

    /// A pair of scalar slots.
    #[inline(always)]
    pub fn scalar64(&self, slot: u8) -> u64 {
        let (low, high) = pair(slot);
        let (low, high) = (&raw const self.sgpr[low], &raw const self.sgpr[high]);
        // A single read of both would wait until separate writes of the halves have reached the cache.
        // Volatile reads stay separate. SAFETY: both are slots.
        unsafe { u64::from(low.read_volatile()) | u64::from(high.read_volatile()) << 32 }
    }

    /// Writes a pair of scalar slots. NULL stays zero.
    #[inline(always)]
    pub fn set_scalar64(&mut self, slot: u8, value: u64) {
        let (low, high) = pair(slot);
        self.sgpr[low] = value as u32;
        self.sgpr[high] = (value >> 32) as u32;
        self.sgpr[usize::from(scalar::NULL)] = 0;
    }

    /// Writes a scalar slot. NULL stays zero.
    #[inline(always)]
    pub fn set_scalar(&mut self, slot: u8, value: u32) {
        self.sgpr[usize::from(slot & 127)] = value;
        self.sgpr[usize::from(scalar::NULL)] = 0;
    }

    /// A lane mask in scalar slots: one slot in a wave of 32, two in a wave of 64.
    #[inline(always)]
    pub fn mask<const W: usize>(&self, slot: u8) -> u64 {
        if W == 64 { self.scalar64(slot) } else { u64::from(self.sgpr[usize::from(slot & 127)]) }
    }

    /// Writes a lane mask.
    #[inline(always)]
    pub fn set_mask<const W: usize>(&mut self, slot: u8, value: u64) {
        if W == 64 {
            self.set_scalar64(slot, value);
        } else {
            self.set_scalar(slot, value as u32);
        }
    }

    /// The lanes that EXEC enables.
    #[inline(always)]
    pub fn exec<const W: usize>(&self) -> u64 {
        self.mask::<W>(scalar::EXEC)
    }

    /// The lanes that EXEC enables, in a wave of any size.
    #[inline(always)]
    pub fn active(&self) -> u64 {
        self.lane_mask(scalar::EXEC)
    }

    /// Whether EXEC enables all lanes.
    #[inline(always)]
    pub fn is_full(&self) -> bool {
        let slot = usize::from(scalar::EXEC);
        self.sgpr[slot] == u32::MAX && (self.lanes == 32 || self.sgpr[slot + 1] == u32::MAX)
    }

    /// A lane mask, in a wave of any size.
    #[inline(always)]
    pub fn lane_mask(&self, slot: u8) -> u64 {
        self.scalar64(slot) & (u64::MAX >> (64 - self.lanes))
    }

    /// Writes a lane mask, in a wave of any size.
    #[inline(always)]
    pub fn set_lane_mask(&mut self, slot: u8, value: u64) {
        if self.lanes == 64 {
            self.set_scalar64(slot, value);
        } else {
            self.set_scalar(slot, value as u32);
        }
    }

    /// The lanes of a vector register, with zeros beyond the wave's size; from 256 on, they are ACC
    /// registers.
    ///
    /// # Safety
    /// The wave must be set up for a program, and an instruction of the program must use the register, or one
    /// shortly before it.
    pub unsafe fn vector(&self, register: u16) -> [u32; 64] {
        let lanes = usize::from(self.lanes);
        let mut values = [0; 64];
        // SAFETY: the wave's file holds every register that the decoder accepts, and slack after the last
        // one.
        unsafe {
            let from = self.vgpr.add(usize::from(register) * lanes);
            std::ptr::copy_nonoverlapping(from, values.as_mut_ptr(), lanes);
        }
        values
    }

    /// The decoded instruction behind a lowered one.
    pub fn inst(&self, code: &Code) -> Option<vgpu_isa::Inst> {
        self.unit.as_ref().and_then(|unit| unit.insts.get(code.inst as usize)).copied()
    }
}

/// The slots of a pair. Both halves of NULL are NULL, because the slot after it is EXEC.
#[inline(always)]
fn pair(slot: u8) -> (usize, usize) {
    let low = usize::from(slot & 127);
    (low, if low == usize::from(scalar::NULL) { low } else { (low + 1) & 127 })
}

/// All lanes of a wave of `W` lanes.
#[inline(always)]
pub(crate) const fn all<const W: usize>() -> u64 {
    if W == 64 { u64::MAX } else { (1 << W) - 1 }
}
