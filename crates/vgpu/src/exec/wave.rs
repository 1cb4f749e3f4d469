//! The state of one wave and the lowered form of an instruction.

use crate::isa::scalar;

/// What the run loop does after an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Flow {
    /// Go on with the next instruction.
    Next,
    /// `wave.next` was set to another instruction.
    Jump,
    /// The wave waits at a workgroup barrier.
    Barrier,
    /// The wave gives other waves a chance (`s_sleep`, a long loop).
    Yield,
    /// The wave is done.
    End,
    /// The wave stops with the fault in `wave.fault`.
    Fault,
}

/// Executes one instruction on a wave.
///
/// # Safety
/// The CPU must have the vector extensions the handler was compiled for, and `Code` must have been lowered for this
/// wave's size and register counts: handlers index the register file unchecked.
pub(crate) type Handler = unsafe fn(&mut Wave, &Code) -> Flow;

/// A source operand, resolved.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Src {
    /// A vector register: its first lane's index in the register file.
    Vector(u32),
    /// A scalar register slot (64-bit operands: this and the next).
    Scalar(u8),
    /// A constant, already converted to the operand's type and width.
    Const(u64),
}

/// One lowered instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Code {
    /// What executes it.
    pub run: Handler,
    /// Sources.
    pub src: [Src; 4],
    /// Destination: first lane's index in the vector register file, or a scalar slot.
    pub dst: u32,
    /// Second, scalar destination slot.
    pub sdst: u8,
    /// Free for the handler: modifier bits, offsets, jump targets.
    pub imm: i64,
    /// Index of the decoded instruction, for faults, traces and rare handlers that need its modifiers.
    pub inst: u32,
}

/// The architectural state of one wave.
#[repr(C, align(64))]
pub(crate) struct Wave {
    /// Scalar slots, see [`scalar`]: SGPRs, VCC, M0 and EXEC. Slot NULL always holds zero.
    pub sgpr: [u32; scalar::COUNT],
    /// The vector register file: register `r`, lane `l` at `r * lanes + l`. 64-byte aligned, ACC registers after `v255`.
    pub vgpr: *mut u32,
    /// Scalar condition code.
    pub scc: bool,
    /// 32 or 64.
    pub lanes: u8,
}
