//! Instructions that move values between lanes.

use iced_x86::Code::*;
use iced_x86::{MemoryOperand, Register};
use vgpu_exec::native::{Source, Step};
use vgpu_isa::{Op, scalar};

use crate::asm::{FILE, WAVE, at};
use crate::compile::{Compiler, Version};
use crate::host::{SCRATCH_MASKS, V};
use crate::marks::Marks;
use crate::memory::{DATA, OFFSETS, TEMPS};

/// Whether an operation has a native form with these operands, at least in waves with all lanes enabled.
pub(crate) fn is_native(op: Op, step: &Step) -> bool {
    match op {
        Op::VReadfirstlaneB32 => matches!(step.src[0], Source::Vector(_)) && step.scalar < scalar::M0,
        Op::VReadlaneB32 => {
            matches!(step.src, [Source::Vector(_), Source::Constant(_), ..]) && step.scalar < scalar::M0
        }
        Op::DsBpermuteB32 => {
            matches!(step.src, [Source::Vector(_), Source::Vector(_), ..]) && step.dst.is_some()
        }
        _ => false,
    }
}

/// Emits an operation; returns false if it has no native form here.
pub(crate) fn emit(compiler: &mut Compiler<'_>, op: Op, step: &Step) -> bool {
    let all = compiler.version == Version::Full;
    if !is_native(op, step) {
        return false;
    }
    match (op, step.src) {
        (Op::VReadfirstlaneB32, [Source::Vector(register), ..]) if all => read(compiler, step, register, 0),
        (Op::VReadfirstlaneB32, [Source::Vector(register), ..]) => read_first(compiler, step, register),
        (Op::VReadlaneB32, [Source::Vector(register), Source::Constant(lane), ..]) => {
            let lane = lane as usize % compiler.input.lanes;
            read(compiler, step, register, lane as i32);
        }
        // Of 64 lanes, each half may be on its own.
        (Op::DsBpermuteB32, [Source::Vector(from), Source::Vector(data), ..])
            if all && compiler.input.lanes == 32 =>
        {
            backward_permute(compiler, step, from, data);
        }
        _ => return false,
    }
    true
}

/// A lane of a vector register goes to a scalar register.
fn read(compiler: &mut Compiler<'_>, step: &Step, register: u16, lane: i32) {
    let from = at(FILE, compiler.register_place(register, 0) + 4 * lane);
    let to = at(WAVE, compiler.slot(step.scalar));
    compiler.asm.load(Mov_r32_rm32, Register::EAX, from);
    compiler.asm.write(Mov_rm32_r32, to, Register::EAX);
}

/// The first enabled lane of a vector register goes to a scalar register: the first lane of all if none is
/// enabled.
fn read_first(compiler: &mut Compiler<'_>, step: &Step, register: u16) {
    let exec = at(WAVE, compiler.slot(scalar::EXEC));
    let place = compiler.register_place(register, 0);
    let to = at(WAVE, compiler.slot(step.scalar));
    let asm = &mut compiler.asm;
    asm.two(Xor_r32_rm32, Register::EAX, Register::EAX);
    if compiler.input.lanes == 64 {
        asm.load(Bsf_r64_rm64, Register::RCX, exec);
        asm.two(Cmove_r64_rm64, Register::RCX, Register::RAX);
    } else {
        asm.load(Bsf_r32_rm32, Register::ECX, exec);
        asm.two(Cmove_r32_rm32, Register::ECX, Register::EAX);
    }
    let sized = u32::from(place != 0);
    let from = MemoryOperand::new(FILE, Register::RCX, 4, place.into(), sized, false, Register::None);
    asm.load(Mov_r32_rm32, Register::EAX, from);
    asm.write(Mov_rm32_r32, to, Register::EAX);
}

/// Every lane reads from the lane that it selects, of 32.
fn backward_permute(compiler: &mut Compiler<'_>, step: &Step, from: u16, data: u16) {
    let Some(to) = step.dst else { return };
    let chunks = compiler.chunks();
    let place = compiler.register_place(data, 0);
    // Everything is read before anything is written.
    for (chunk, &value) in (0..chunks).zip(&DATA) {
        let from = at(FILE, compiler.register_place(from, chunk));
        let asm = &mut compiler.asm;
        asm.fetch(OFFSETS, from);
        if step.offset & 0xffff != 0 {
            asm.with(V::Add, OFFSETS, OFFSETS, (step.offset & 0xffff) as u32);
        }
        asm.with(V::And, OFFSETS, OFFSETS, 4 * 31);
        let marks = Marks { vector: TEMPS[0], mask: SCRATCH_MASKS[0] };
        asm.mark_all(marks);
        asm.gather(value, FILE, OFFSETS, place.into(), marks);
    }
    for (chunk, &value) in (0..chunks).zip(&DATA) {
        let to = at(FILE, compiler.register_place(to, chunk));
        compiler.asm.store(to, value);
    }
}
