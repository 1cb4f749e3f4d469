//! Loads into scalar registers.

use iced_x86::Code::*;
use iced_x86::{MemoryOperand, Register};
use vgpu_exec::native::{Source, Step};
use vgpu_isa::{Op, scalar};

use crate::asm::{WAVE, When, at};
use crate::compile::Compiler;

/// How many dwords an operation loads, if it has a native form.
fn dwords(op: Op) -> Option<u8> {
    Some(match op {
        Op::SLoadB32 => 1,
        Op::SLoadB64 => 2,
        Op::SLoadB96 => 3,
        Op::SLoadB128 => 4,
        Op::SLoadB256 => 8,
        Op::SLoadB512 => 16,
        _ => return None,
    })
}

/// Whether an operation has a native form with these operands.
pub(crate) fn is_native(op: Op, step: &Step) -> bool {
    let Some(dwords) = dwords(op) else { return false };
    let base = matches!(step.src[2], Source::Scalar(slot) if slot < scalar::M0);
    let extra = match step.src[3] {
        Source::Constant(value) => value == 0,
        Source::Scalar(slot) => slot <= scalar::NULL,
        _ => false,
    };
    base && extra && step.scalar + dwords <= scalar::M0
}

/// Emits an operation; returns false if it has no native form.
pub(crate) fn emit(compiler: &mut Compiler<'_>, op: Op, step: &Step) -> bool {
    let (Some(dwords), Source::Scalar(base)) = (dwords(op), step.src[2]) else { return false };
    if !is_native(op, step) {
        return false;
    }
    let slow = compiler.asm.label();
    let (low, high) = (at(WAVE, compiler.slot(base)), at(WAVE, compiler.slot(base + 1)));
    let first = compiler.slot(step.scalar);
    // Each part of the address is a multiple of four.
    let asm = &mut compiler.asm;
    asm.load(Mov_r32_rm32, Register::ESI, low);
    asm.load(Mov_r32_rm32, Register::EDX, high);
    asm.imm(Shl_rm64_imm8, Register::RDX, 32);
    asm.two(Or_r64_rm64, Register::RSI, Register::RDX);
    asm.imm(And_rm64_imm8, Register::RSI, -4);
    if step.offset & !3 != 0 {
        asm.imm(Add_rm64_imm32, Register::RSI, step.offset & !3);
    }
    if let Source::Scalar(extra) = step.src[3]
        && extra != scalar::NULL
    {
        let extra = at(WAVE, compiler.slot(extra));
        let asm = &mut compiler.asm;
        asm.load(Mov_r32_rm32, Register::EAX, extra);
        asm.imm(And_rm32_imm8, Register::EAX, -4);
        asm.two(Add_r64_rm64, Register::RSI, Register::RAX);
    }
    let bytes = 4 * i32::from(dwords);
    let check = compiler.check(false);
    let asm = &mut compiler.asm;
    asm.two(Mov_r64_rm64, Register::RCX, Register::RSI);
    asm.lea(Register::RDX, Register::RSI, Register::None, bytes);
    asm.call(check);
    asm.jump_if(When::Above, slow);
    let from = |offset: i32| -> MemoryOperand { at(Register::RSI, offset) };
    // Everything is read before anything is written.
    let registers = [Register::XMM0, Register::XMM1, Register::XMM2, Register::XMM3];
    let whole = usize::from(dwords / 4);
    for (i, register) in (0..).zip(&registers[..whole]) {
        asm.load(VEX_Vmovdqu_xmm_xmmm128, *register, from(16 * i));
    }
    for (i, register) in (0..).zip(&registers[..whole]) {
        asm.write(VEX_Vmovdqu_xmmm128_xmm, at(WAVE, first + 16 * i), *register);
    }
    match dwords {
        1 => {
            asm.load(Mov_r32_rm32, Register::EAX, from(0));
            asm.write(Mov_rm32_r32, at(WAVE, first), Register::EAX);
        }
        2 | 3 => {
            asm.load(Mov_r64_rm64, Register::RAX, from(0));
            if dwords == 3 {
                asm.load(Mov_r32_rm32, Register::ECX, from(8));
                asm.write(Mov_rm32_r32, at(WAVE, first + 8), Register::ECX);
            }
            asm.write(Mov_rm64_r64, at(WAVE, first), Register::RAX);
        }
        _ => {}
    }
    compiler.slow(slow);
    true
}
