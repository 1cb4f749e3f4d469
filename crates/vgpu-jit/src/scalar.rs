//! Scalar instructions: each operation's native form. Scalar registers stay in the wave.

use iced_x86::Code::*;
use iced_x86::{Code, Register};
use vgpu_isa::{Op, scalar};

use crate::asm::{WAVE, When, at};
use crate::compile::Compiler;
use vgpu_exec::native::{Source, Step};

/// What becomes of SCC.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scc {
    /// Nothing.
    Keep,
    /// Whether the result is not zero.
    Nonzero,
    /// A condition of the host's last arithmetic instruction.
    If(When),
}

/// What an operation does.
#[derive(Clone, Copy)]
enum Form {
    /// Copies.
    Move,
    /// `a op b`.
    Binary(Code, Code),
    /// `a op !b`.
    BinaryNot(Code, Code),
    /// `!(a op b)`.
    NotBinary(Code, Code),
    /// Adds or subtracts with carry.
    Carry(Code),
    /// Inverts.
    Not,
    /// Shifts by the low bits of source 1.
    Shift(Code, Code),
    /// Multiplies.
    Multiply,
    /// The high half of a product, of signed numbers or others.
    MultiplyHigh(bool),
    /// Shifts source 0 left by so many bits and adds source 1.
    ShiftAdd(u8),
    /// Selects by SCC.
    Select,
    /// Compares.
    Compare(When),
    /// Waits for stores.
    Wait,
    /// Saves EXEC and makes it `a op EXEC`.
    Save(Code, Code, Invert),
}

/// What is inverted before an operation on EXEC.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Invert {
    Nothing,
    Source,
    Exec,
}

#[derive(Clone, Copy)]
struct Entry {
    form: Form,
    /// Whether values have 64 bits.
    wide: bool,
    scc: Scc,
}

/// Whether an operation has a native form with these operands.
pub(crate) fn is_native(op: Op, step: &Step) -> bool {
    find(op).is_some_and(|entry| accepts(&entry, step))
}

/// Whether an operation with a native form writes EXEC.
pub(crate) fn writes_exec(op: Op, step: &Step) -> bool {
    let Some(entry) = find(op) else { return false };
    match entry.form {
        Form::Save(..) => true,
        Form::Compare(_) | Form::Wait => false,
        _ => step.scalar >= scalar::EXEC,
    }
}

fn accepts(entry: &Entry, step: &Step) -> bool {
    if matches!(entry.form, Form::Wait) {
        return true;
    }
    let fits = |slot: u8, wide: bool| {
        if wide { slot < scalar::M0 || slot == scalar::EXEC || slot == scalar::NULL } else { slot < 128 }
    };
    let count = if matches!(entry.form, Form::Move | Form::Not | Form::Save(..)) { 1 } else { 2 };
    let readable = step.src[..count].iter().enumerate().all(|(i, source)| match source {
        Source::Scalar(slot) => fits(*slot, entry.wide && !(i == 1 && matches!(entry.form, Form::Shift(..)))),
        Source::Constant(_) => true,
        Source::Vector(_) | Source::Other => false,
    });
    readable && (matches!(entry.form, Form::Compare(_)) || fits(step.scalar, entry.wide))
}

/// Emits an operation; returns false if it has no native form.
pub(crate) fn emit(compiler: &mut Compiler<'_>, op: Op, step: &Step) -> bool {
    let Some(entry) = find(op).filter(|entry| accepts(entry, step)) else { return false };
    let wide = entry.wide;
    let (a, b) = (Register::RAX, Register::RCX);
    let pick = |narrow: Code, broad: Code| if wide { broad } else { narrow };
    let register = |full: Register, half: Register| if wide { full } else { half };
    let (ra, rb) = (register(a, Register::EAX), register(b, Register::ECX));
    let scc = at(WAVE, compiler.input.layout.scc);
    match entry.form {
        Form::Move => read(compiler, a, step.src[0], wide),
        Form::Binary(narrow, broad) | Form::NotBinary(narrow, broad) => {
            read(compiler, a, step.src[0], wide);
            read(compiler, b, step.src[1], wide);
            compiler.asm.two(pick(narrow, broad), ra, rb);
            if matches!(entry.form, Form::NotBinary(..)) {
                compiler.asm.one(pick(Not_rm32, Not_rm64), ra);
            }
        }
        Form::BinaryNot(narrow, broad) => {
            read(compiler, a, step.src[0], wide);
            read(compiler, b, step.src[1], wide);
            compiler.asm.one(pick(Not_rm32, Not_rm64), rb);
            compiler.asm.two(pick(narrow, broad), ra, rb);
        }
        Form::Carry(code) => {
            read(compiler, a, step.src[0], false);
            read(compiler, b, step.src[1], false);
            // The host's carry becomes SCC.
            compiler.asm.load(Movzx_r32_rm8, Register::EDX, scc);
            compiler.asm.imm(Add_rm32_imm32, Register::EDX, -1);
            compiler.asm.two(code, ra, rb);
        }
        Form::Not => {
            read(compiler, a, step.src[0], wide);
            compiler.asm.one(pick(Not_rm32, Not_rm64), ra);
        }
        Form::Shift(narrow, broad) => {
            read(compiler, a, step.src[0], wide);
            read(compiler, b, step.src[1], false);
            // The host ignores the same bits of the count.
            compiler.asm.two(pick(narrow, broad), ra, Register::CL);
        }
        Form::Multiply => {
            read(compiler, a, step.src[0], wide);
            read(compiler, b, step.src[1], wide);
            compiler.asm.two(pick(Imul_r32_rm32, Imul_r64_rm64), ra, rb);
        }
        Form::MultiplyHigh(signed) => {
            for (i, register) in [a, b].into_iter().enumerate() {
                read(compiler, register, step.src[i], false);
                if signed {
                    compiler.asm.two(Movsxd_r64_rm32, register, half(register));
                }
            }
            compiler.asm.two(Imul_r64_rm64, Register::RAX, Register::RCX);
            compiler.asm.imm(Shr_rm64_imm8, Register::RAX, 32);
        }
        Form::ShiftAdd(by) => {
            read(compiler, a, step.src[0], false);
            read(compiler, b, step.src[1], false);
            compiler.asm.imm(Shl_rm64_imm8, Register::RAX, i32::from(by));
            compiler.asm.two(Add_r64_rm64, Register::RAX, Register::RCX);
            compiler.asm.two(Mov_r64_rm64, Register::RDX, Register::RAX);
            compiler.asm.imm(Shr_rm64_imm8, Register::RDX, 32);
        }
        Form::Select => {
            read(compiler, a, step.src[0], wide);
            read(compiler, b, step.src[1], wide);
            compiler.asm.memory_imm(Cmp_rm8_imm8, scc, 0);
            compiler.asm.two(pick(Cmove_r32_rm32, Cmove_r64_rm64), ra, rb);
        }
        Form::Compare(when) => {
            read(compiler, a, step.src[0], wide);
            read(compiler, b, step.src[1], wide);
            compiler.asm.two(pick(Cmp_r32_rm32, Cmp_r64_rm64), ra, rb);
            compiler.asm.set_if(when, scc);
            return true;
        }
        Form::Wait => {
            let stored = at(WAVE, compiler.input.layout.stored);
            let done = compiler.asm.label();
            compiler.asm.memory_imm(Cmp_rm8_imm8, stored, 0);
            compiler.asm.jump_if(When::Equal, done);
            compiler.asm.memory_imm(Mov_rm8_imm8, stored, 0);
            compiler.asm.bare(Mfence);
            compiler.asm.place(done);
            return true;
        }
        Form::Save(narrow, broad, invert) => {
            read(compiler, a, step.src[0], wide);
            read(compiler, b, Source::Scalar(scalar::EXEC), wide);
            write(compiler, step.scalar, b, wide);
            match invert {
                Invert::Nothing => {}
                Invert::Source => compiler.asm.one(pick(Not_rm32, Not_rm64), ra),
                Invert::Exec => compiler.asm.one(pick(Not_rm32, Not_rm64), rb),
            }
            compiler.asm.two(pick(narrow, broad), ra, rb);
        }
    }
    match entry.scc {
        Scc::Keep => {}
        Scc::If(when) => compiler.asm.set_if(when, scc),
        Scc::Nonzero => {
            compiler.asm.two(pick(Test_rm32_r32, Test_rm64_r64), ra, ra);
            compiler.asm.set_if(When::NotEqual, scc);
        }
    }
    let target = if matches!(entry.form, Form::Save(..)) { scalar::EXEC } else { step.scalar };
    write(compiler, target, a, wide);
    true
}

/// The low half of a host register.
fn half(register: Register) -> Register {
    match register {
        Register::RAX => Register::EAX,
        Register::RCX => Register::ECX,
        _ => Register::EDX,
    }
}

/// Loads a source.
fn read(compiler: &mut Compiler<'_>, to: Register, source: Source, wide: bool) {
    let narrow = half(to);
    match source {
        Source::Constant(value) if wide => compiler.asm.constant(to, value),
        Source::Constant(value) => compiler.asm.imm(Mov_r32_imm32, narrow, value as u32 as i32),
        Source::Scalar(slot) => {
            let low = at(WAVE, compiler.slot(slot));
            compiler.asm.load(Mov_r32_rm32, narrow, low);
            if wide && slot != scalar::NULL {
                // One read of both halves would wait for separate writes of them.
                let high = at(WAVE, compiler.slot(slot + 1));
                compiler.asm.load(Mov_r32_rm32, Register::EDX, high);
                compiler.asm.imm(Shl_rm64_imm8, Register::RDX, 32);
                compiler.asm.two(Or_r64_rm64, to, Register::RDX);
            }
        }
        Source::Vector(_) | Source::Other => {}
    }
}

/// Writes a scalar register. Flags of the host stay.
fn write(compiler: &mut Compiler<'_>, slot: u8, from: Register, wide: bool) {
    if slot == scalar::NULL {
        return;
    }
    let to = at(WAVE, compiler.slot(slot));
    if wide {
        compiler.asm.write(Mov_rm64_r64, to, from);
    } else {
        compiler.asm.write(Mov_rm32_r32, to, half(from));
    }
    compiler.exec_changed |= slot >= scalar::EXEC;
}

/// Rows: operations, form, whether they are wide, and SCC.
macro_rules! table {
    ($($($op:ident)|+ => $form:expr, $wide:literal, $scc:expr;)*) => {
        fn find(op: Op) -> Option<Entry> {
            use Form::*;
            use Scc::*;
            use When::*;
            Some(match op {
                $($(Op::$op)|+ => Entry { form: $form, wide: $wide, scc: $scc },)*
                _ => return None,
            })
        }
    };
}

#[rustfmt::skip]
table! {
    // A step is there only for those that wait until no store is outstanding.
    SWaitcnt | SWaitcntVscnt | SWaitStorecnt | SWaitStorecntDscnt => Wait, false, Keep;
    SMovB32 | SMovkI32 => Move, false, Keep;
    SMovB64 => Move, true, Keep;
    SNotB32 => Not, false, Nonzero;
    SNotB64 => Not, true, Nonzero;
    SAddU32 => Binary(Add_r32_rm32, Add_r64_rm64), false, If(Below);
    SSubU32 => Binary(Sub_r32_rm32, Sub_r64_rm64), false, If(Below);
    SAddI32 | SAddkI32 => Binary(Add_r32_rm32, Add_r64_rm64), false, If(Overflow);
    SSubI32 => Binary(Sub_r32_rm32, Sub_r64_rm64), false, If(Overflow);
    SAddcU32 => Carry(Adc_r32_rm32), false, If(Below);
    SSubbU32 => Carry(Sbb_r32_rm32), false, If(Below);
    SAddNcU64 => Binary(Add_r32_rm32, Add_r64_rm64), true, Keep;
    SSubNcU64 => Binary(Sub_r32_rm32, Sub_r64_rm64), true, Keep;
    SMulI32 | SMulkI32 => Multiply, false, Keep;
    SMulU64 => Multiply, true, Keep;
    SMulHiU32 => MultiplyHigh(false), false, Keep;
    SMulHiI32 => MultiplyHigh(true), false, Keep;
    SAndB32 => Binary(And_r32_rm32, And_r64_rm64), false, Nonzero;
    SAndB64 => Binary(And_r32_rm32, And_r64_rm64), true, Nonzero;
    SOrB32 => Binary(Or_r32_rm32, Or_r64_rm64), false, Nonzero;
    SOrB64 => Binary(Or_r32_rm32, Or_r64_rm64), true, Nonzero;
    SXorB32 => Binary(Xor_r32_rm32, Xor_r64_rm64), false, Nonzero;
    SXorB64 => Binary(Xor_r32_rm32, Xor_r64_rm64), true, Nonzero;
    SAndNot1B32 => BinaryNot(And_r32_rm32, And_r64_rm64), false, Nonzero;
    SAndNot1B64 => BinaryNot(And_r32_rm32, And_r64_rm64), true, Nonzero;
    SOrNot1B32 => BinaryNot(Or_r32_rm32, Or_r64_rm64), false, Nonzero;
    SOrNot1B64 => BinaryNot(Or_r32_rm32, Or_r64_rm64), true, Nonzero;
    SNandB32 => NotBinary(And_r32_rm32, And_r64_rm64), false, Nonzero;
    SNandB64 => NotBinary(And_r32_rm32, And_r64_rm64), true, Nonzero;
    SNorB32 => NotBinary(Or_r32_rm32, Or_r64_rm64), false, Nonzero;
    SNorB64 => NotBinary(Or_r32_rm32, Or_r64_rm64), true, Nonzero;
    SXnorB32 => NotBinary(Xor_r32_rm32, Xor_r64_rm64), false, Nonzero;
    SXnorB64 => NotBinary(Xor_r32_rm32, Xor_r64_rm64), true, Nonzero;
    SLshlB32 => Shift(Shl_rm32_CL, Shl_rm64_CL), false, Nonzero;
    SLshlB64 => Shift(Shl_rm32_CL, Shl_rm64_CL), true, Nonzero;
    SLshrB32 => Shift(Shr_rm32_CL, Shr_rm64_CL), false, Nonzero;
    SLshrB64 => Shift(Shr_rm32_CL, Shr_rm64_CL), true, Nonzero;
    SAshrI32 => Shift(Sar_rm32_CL, Sar_rm64_CL), false, Nonzero;
    SAshrI64 => Shift(Sar_rm32_CL, Sar_rm64_CL), true, Nonzero;
    SLshl1AddU32 => ShiftAdd(1), false, If(NotEqual);
    SLshl2AddU32 => ShiftAdd(2), false, If(NotEqual);
    SLshl3AddU32 => ShiftAdd(3), false, If(NotEqual);
    SLshl4AddU32 => ShiftAdd(4), false, If(NotEqual);
    SCselectB32 => Select, false, Keep;
    SCselectB64 => Select, true, Keep;
    SCmpEqI32 | SCmpEqU32 | SCmpkEqI32 => Compare(Equal), false, Keep;
    SCmpLgI32 | SCmpLgU32 | SCmpkLgI32 => Compare(NotEqual), false, Keep;
    SCmpGtI32 | SCmpkGtI32 => Compare(Greater), false, Keep;
    SCmpGeI32 | SCmpkGeI32 => Compare(GreaterOrEqual), false, Keep;
    SCmpLtI32 | SCmpkLtI32 => Compare(Less), false, Keep;
    SCmpLeI32 | SCmpkLeI32 => Compare(LessOrEqual), false, Keep;
    SCmpGtU32 => Compare(Above), false, Keep;
    SCmpGeU32 => Compare(AboveOrEqual), false, Keep;
    SCmpLtU32 => Compare(Below), false, Keep;
    SCmpLeU32 => Compare(BelowOrEqual), false, Keep;
    SCmpEqU64 => Compare(Equal), true, Keep;
    SCmpLgU64 => Compare(NotEqual), true, Keep;
    SAndSaveexecB32 => Save(And_r32_rm32, And_r64_rm64, Invert::Nothing), false, Nonzero;
    SAndSaveexecB64 => Save(And_r32_rm32, And_r64_rm64, Invert::Nothing), true, Nonzero;
    SOrSaveexecB32 => Save(Or_r32_rm32, Or_r64_rm64, Invert::Nothing), false, Nonzero;
    SOrSaveexecB64 => Save(Or_r32_rm32, Or_r64_rm64, Invert::Nothing), true, Nonzero;
    SXorSaveexecB32 => Save(Xor_r32_rm32, Xor_r64_rm64, Invert::Nothing), false, Nonzero;
    SXorSaveexecB64 => Save(Xor_r32_rm32, Xor_r64_rm64, Invert::Nothing), true, Nonzero;
    SAndNot0SaveexecB32 => Save(And_r32_rm32, And_r64_rm64, Invert::Source), false, Nonzero;
    SAndNot0SaveexecB64 => Save(And_r32_rm32, And_r64_rm64, Invert::Source), true, Nonzero;
    SOrNot0SaveexecB32 => Save(Or_r32_rm32, Or_r64_rm64, Invert::Source), false, Nonzero;
    SOrNot0SaveexecB64 => Save(Or_r32_rm32, Or_r64_rm64, Invert::Source), true, Nonzero;
    SAndNot1SaveexecB32 => Save(And_r32_rm32, And_r64_rm64, Invert::Exec), false, Nonzero;
    SAndNot1SaveexecB64 => Save(And_r32_rm32, And_r64_rm64, Invert::Exec), true, Nonzero;
    SOrNot1SaveexecB32 => Save(Or_r32_rm32, Or_r64_rm64, Invert::Exec), false, Nonzero;
    SOrNot1SaveexecB64 => Save(Or_r32_rm32, Or_r64_rm64, Invert::Exec), true, Nonzero;
}
