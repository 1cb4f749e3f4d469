//! Vector instructions: each operation's native form for sixteen lanes.

use iced_x86::Code::*;
use iced_x86::{Code, Register};
use vgpu_isa::{Op, scalar};

use crate::asm::{Arg, WAVE, When, at, mask};
use crate::compile::{Compiler, Version};
use crate::values::Key;
use vgpu_exec::native::{Source, Step};

/// Masks of the host for intermediate results. Masks 1 to 4 are EXEC.
const K: u8 = 5;
const L: u8 = 6;
const M: u8 = 7;

/// The native form of an operation for sixteen lanes. Results are in registers of [`Lane::temp`].
#[derive(Clone, Copy)]
enum Form {
    /// One register.
    One(fn(&mut Lane<'_, '_>) -> u8),
    /// Two registers.
    Two(fn(&mut Lane<'_, '_>) -> [u8; 2]),
    /// One register, and the mask [`K`] that goes to the second destination.
    Carry(fn(&mut Lane<'_, '_>) -> u8),
    /// Two registers and a mask.
    WideCarry(fn(&mut Lane<'_, '_>) -> [u8; 2]),
    /// The mask [`K`].
    Mask(fn(&mut Lane<'_, '_>)),
}

/// What an operation's sources are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operands {
    /// Integers; modifiers of signs have no effect.
    Integers,
    /// f32; a NaN as result is for the reference engine.
    Floats,
    /// f32, of which only bits matter, or which are compared.
    Bits,
}

#[derive(Clone, Copy)]
struct Entry {
    form: Form,
    operands: Operands,
    /// How many of the sources are 32-bit values. Others are pairs or masks.
    sources: u8,
    /// The source that is a lane mask.
    mask: Option<u8>,
}

/// Whether an operation has a native form with these operands.
pub(crate) fn is_native(op: Op, step: &Step) -> bool {
    find(op).is_some_and(|entry| accepts(&entry, step))
}

/// Whether an operation with a native form writes EXEC.
pub(crate) fn writes_exec(op: Op, step: &Step) -> bool {
    let Some(entry) = find(op) else { return false };
    let is_exec = |slot: u8| slot >= scalar::EXEC;
    match entry.form {
        Form::Mask(_) => is_exec(step.scalar) || is_exec(step.second),
        Form::Carry(_) | Form::WideCarry(_) => is_exec(step.second),
        Form::One(_) | Form::Two(_) => false,
    }
}

fn accepts(entry: &Entry, step: &Step) -> bool {
    let mods = &step.mods;
    if mods.omod != 0 || mods.clamp || mods.op_sel & 7 != 0 {
        return false;
    }
    let reads = |i: usize| match step.src[i] {
        Source::Other => false,
        Source::Scalar(slot) if entry.mask == Some(i as u8) => is_mask(slot),
        _ => entry.mask != Some(i as u8),
    };
    let count = usize::from(entry.sources) + usize::from(entry.mask.is_some());
    (0..count).all(reads)
        && match entry.form {
            Form::One(_) | Form::Two(_) => step.dst.is_some(),
            Form::Carry(_) | Form::WideCarry(_) => step.dst.is_some() && is_mask(step.second),
            Form::Mask(_) => is_mask(step.scalar) && is_mask(step.second),
        }
}

/// Whether a lane mask of any size can be in these scalar registers.
fn is_mask(slot: u8) -> bool {
    slot < scalar::M0 || slot == scalar::NULL || slot == scalar::EXEC
}

/// Emits an operation; returns false if it has no native form.
pub(crate) fn emit(compiler: &mut Compiler<'_>, op: Op, step: &Step) -> bool {
    let Some(entry) = find(op).filter(|entry| accepts(entry, step)) else { return false };
    let chunks = compiler.chunks();
    let (mut low, mut high) = (Vec::with_capacity(4), Vec::with_capacity(4));
    let mut masks = false;
    for chunk in 0..chunks {
        let mut lane = Lane { compiler, step, chunk };
        match entry.form {
            Form::One(form) => low.push(form(&mut lane)),
            Form::Carry(form) => {
                low.push(form(&mut lane));
                lane.collect();
                masks = true;
            }
            Form::Two(form) | Form::WideCarry(form) => {
                let [a, b] = form(&mut lane);
                low.push(a);
                high.push(b);
                if matches!(entry.form, Form::WideCarry(_)) {
                    lane.collect();
                    masks = true;
                }
            }
            Form::Mask(form) => {
                form(&mut lane);
                lane.collect();
                masks = true;
            }
        }
        compiler.values.unpin_except(&low, &high);
    }
    if entry.operands == Operands::Floats {
        check(compiler, &low);
        if !high.is_empty() {
            check(compiler, &high);
        }
    }
    if let Some(register) = step.dst {
        put(compiler, register, &low);
        if !high.is_empty() {
            put(compiler, register + 1, &high);
        }
    }
    if masks {
        put_mask(compiler, step, matches!(entry.form, Form::Mask(_)));
    }
    true
}

/// Leaves for the reference engine if there is a NaN in an enabled lane.
fn check(compiler: &mut Compiler<'_>, results: &[u8]) {
    let leave = compiler.leave();
    let asm = &mut compiler.asm;
    const UNORDERED: u8 = 3;
    let compare = EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae;
    if compiler.version == Version::Full {
        for (i, pair) in results.chunks(2).enumerate() {
            let (a, b) = (pair[0], pair[pair.len() - 1]);
            asm.compare(compare, K + i as u8, a, Arg::Zmm(b), UNORDERED, 0);
        }
        let other = if results.len() > 2 { L } else { K };
        asm.two(VEX_Kortestw_kr_kr, mask(K), mask(other));
        asm.jump_if(When::NotEqual, leave);
        return;
    }
    for (i, &result) in results.iter().enumerate() {
        let to = if i == 0 { K } else { L };
        asm.compare(compare, to, result, Arg::Zmm(result), UNORDERED, crate::compile::EXEC_MASKS + i as u8);
        if i > 0 {
            asm.three(VEX_Korw_kr_kr_kr, mask(K), mask(K), mask(L));
        }
    }
    asm.two(VEX_Kortestw_kr_kr, mask(K), mask(K));
    asm.jump_if(When::NotEqual, leave);
}

/// Makes results the contents of a vector register, in the enabled lanes.
fn put(compiler: &mut Compiler<'_>, register: u16, results: &[u8]) {
    for (chunk, &result) in results.iter().enumerate() {
        let chunk = chunk as u8;
        let exec = compiler.exec(chunk);
        if exec == 0 {
            compiler.values.set(register, chunk, result);
        } else {
            let old = compiler.values.register(&mut compiler.asm, Key::Vector { register, chunk });
            compiler.asm.vector2(EVEX_Vmovdqa32_zmm_k1z_zmmm512, old, Arg::Zmm(result), exec);
            compiler.values.changed(old);
        }
    }
}

/// Writes the collected mask.
fn put_mask(compiler: &mut Compiler<'_>, step: &Step, first: bool) {
    let wide = compiler.input.lanes == 64;
    let (register, xor, store) = if wide {
        (Register::R15, Xor_r64_rm64, Mov_rm64_r64)
    } else {
        (Register::R15D, Xor_r32_rm32, Mov_rm32_r32)
    };
    if first && step.inverted {
        let exec = at(WAVE, compiler.slot(scalar::EXEC));
        compiler.asm.load(xor, register, exec);
    }
    let targets = if first { [step.scalar, step.second] } else { [step.second, scalar::NULL] };
    for slot in targets {
        if slot == scalar::NULL {
            continue;
        }
        let to = at(WAVE, compiler.slot(slot));
        compiler.asm.write(store, to, register);
        compiler.values.forget_scalars(|scalar| scalar == slot || wide && scalar == slot + 1);
        compiler.exec_changed |= slot == scalar::EXEC;
    }
}

/// Sixteen lanes of an instruction.
struct Lane<'c, 'a> {
    compiler: &'c mut Compiler<'a>,
    step: &'c Step,
    chunk: u8,
}

impl Lane<'_, '_> {
    fn key(&self, i: usize) -> Key {
        self.key_of(i, false)
    }

    /// The value of a source, or the second half of a pair.
    fn key_of(&self, i: usize, high: bool) -> Key {
        match self.step.src[i] {
            Source::Vector(register) => {
                Key::Vector { register: register + u16::from(high), chunk: self.chunk }
            }
            Source::Scalar(slot) if high && slot == scalar::NULL => Key::Literal(0),
            Source::Scalar(scalar::NULL) => Key::Literal(0),
            Source::Scalar(slot) => Key::Scalar(slot + u8::from(high)),
            Source::Constant(value) => Key::Literal(if high { (value >> 32) as u32 } else { value as u32 }),
            Source::Other => Key::Literal(0),
        }
    }

    /// A source in a register.
    fn reg(&mut self, i: usize) -> u8 {
        let key = self.key(i);
        self.compiler.values.register(&mut self.compiler.asm, key)
    }

    /// A source in a register or in memory.
    fn arg(&mut self, i: usize) -> Arg {
        let key = self.key(i);
        self.compiler.values.arg(&mut self.compiler.asm, key)
    }

    /// The halves of a pair, in registers.
    fn wide(&mut self, i: usize) -> [u8; 2] {
        [false, true].map(|high| {
            let key = self.key_of(i, high);
            self.compiler.values.register(&mut self.compiler.asm, key)
        })
    }

    /// A register for a result.
    fn temp(&mut self) -> u8 {
        self.compiler.values.temp(&mut self.compiler.asm)
    }

    /// A constant in all lanes.
    fn literal(&mut self, value: u32) -> Arg {
        self.compiler.values.arg(&mut self.compiler.asm, Key::Literal(value))
    }

    /// A constant in all lanes, in a register.
    fn literal_reg(&mut self, value: u32) -> u8 {
        self.compiler.values.register(&mut self.compiler.asm, Key::Literal(value))
    }

    /// A new register with the result of an instruction.
    fn op3(&mut self, code: Code, a: u8, b: Arg) -> u8 {
        let to = self.temp();
        self.compiler.asm.vector3(code, to, a, b, 0);
        to
    }

    fn op2(&mut self, code: Code, a: Arg) -> u8 {
        let to = self.temp();
        self.compiler.asm.vector2(code, to, a, 0);
        to
    }

    fn op2i(&mut self, code: Code, a: Arg, imm: u8) -> u8 {
        let to = self.temp();
        self.compiler.asm.vector2i(code, to, a, imm, 0);
        to
    }

    /// A copy that may be changed.
    fn copy(&mut self, from: Arg) -> u8 {
        let to = self.temp();
        match from {
            Arg::Memory(memory) if memory.is_broadcast => {
                let memory = iced_x86::MemoryOperand { is_broadcast: false, ..memory };
                self.compiler.asm.vector2(EVEX_Vpbroadcastd_zmm_k1z_xmmm32, to, Arg::Memory(memory), 0);
            }
            from => self.compiler.asm.vector2(EVEX_Vmovdqa32_zmm_k1z_zmmm512, to, from, 0),
        }
        to
    }

    /// The sign modifiers of a source, as masks to AND and XOR.
    fn signs(&self, i: usize) -> (bool, bool) {
        (self.step.mods.abs >> i & 1 != 0, self.step.mods.neg >> i & 1 != 0)
    }

    /// A source with its sign modifiers, in a register or in memory.
    fn float(&mut self, i: usize) -> Arg {
        const SIGN: u32 = 1 << 31;
        let (abs, neg) = self.signs(i);
        if !abs && !neg {
            return self.arg(i);
        }
        if let Key::Literal(value) = self.key(i) {
            let value = if abs { value & !SIGN } else { value };
            return self.literal(if neg { value ^ SIGN } else { value });
        }
        let from = self.reg(i);
        let (code, value) = match (abs, neg) {
            (true, false) => (EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32, !SIGN),
            (true, true) => (EVEX_Vpord_zmm_k1z_zmm_zmmm512b32, SIGN),
            _ => (EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32, SIGN),
        };
        let value = self.literal(value);
        Arg::Zmm(self.op3(code, from, value))
    }

    /// The same, in a register.
    fn float_reg(&mut self, i: usize) -> u8 {
        match self.float(i) {
            Arg::Zmm(register) => register,
            memory => self.copy(memory),
        }
    }

    /// The low five bits of a source, for shifts.
    fn count(&mut self, i: usize) -> Arg {
        if let Key::Literal(value) = self.key(i) {
            return self.literal(value & 31);
        }
        let from = self.reg(i);
        let limit = self.literal(31);
        Arg::Zmm(self.op3(EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32, from, limit))
    }

    /// Loads the lane mask that is source `i`.
    fn mask(&mut self, i: usize, to: u8) {
        let Source::Scalar(slot) = self.step.src[i] else { return };
        let from = at(WAVE, self.compiler.slot(slot) + 2 * i32::from(self.chunk));
        self.compiler.asm.load(VEX_Kmovw_kr_km16, mask(to), from);
    }

    /// A comparison into [`K`], among enabled lanes.
    fn compare(&mut self, code: Code, a: u8, b: Arg, predicate: u8) {
        let exec = self.compiler.exec(self.chunk);
        self.compiler.asm.compare(code, K, a, b, predicate, exec);
    }

    /// Appends [`K`] to the lane mask in R15.
    fn collect(&mut self) {
        let asm = &mut self.compiler.asm;
        if self.chunk == 0 {
            asm.two(VEX_Kmovw_r32_kr, Register::R15D, mask(K));
            return;
        }
        asm.two(VEX_Kmovw_r32_kr, Register::EAX, mask(K));
        asm.imm(Shl_rm64_imm8, Register::RAX, 16 * i32::from(self.chunk));
        asm.two(Or_r64_rm64, Register::R15, Register::RAX);
    }

    /// Both sources through an instruction that takes them in this order.
    fn binary(&mut self, code: Code) -> u8 {
        let (a, b) = (self.reg(0), self.arg(1));
        self.op3(code, a, b)
    }

    /// In the opposite order.
    fn reversed(&mut self, code: Code) -> u8 {
        let (b, a) = (self.reg(1), self.arg(0));
        self.op3(code, b, a)
    }

    fn shift(&mut self, code: Code) -> u8 {
        let (value, by) = (self.reg(1), self.count(0));
        self.op3(code, value, by)
    }

    fn float_binary(&mut self, code: Code) -> u8 {
        let (a, b) = (self.float_reg(0), self.float(1));
        self.op3(code, a, b)
    }

    fn float_reversed(&mut self, code: Code) -> u8 {
        let (b, a) = (self.float_reg(1), self.float(0));
        self.op3(code, b, a)
    }

    fn float_fma(&mut self) -> u8 {
        let (a, b) = (self.float_reg(0), self.float(1));
        let c = self.float(2);
        let to = self.copy(c);
        self.compiler.asm.vector3(EVEX_Vfmadd231ps_zmm_k1z_zmm_zmmm512b32_er, to, a, b, 0);
        to
    }

    fn round(&mut self, imm: u8) -> u8 {
        let a = self.float(0);
        self.op2i(EVEX_Vrndscaleps_zmm_k1z_zmmm512b32_imm8_sae, a, imm)
    }

    fn bitwise(&mut self, table: u8) -> u8 {
        let a = self.arg(0);
        let to = self.copy(a);
        let (b, c) = (self.reg(1), self.arg(2));
        self.compiler.asm.vector3i(EVEX_Vpternlogd_zmm_k1z_zmm_zmmm512b32_imm8, to, b, c, table, 0);
        to
    }

    /// A first operation on sources 0 and 1, and a second one with source 2.
    fn chain(&mut self, first: Code, second: Code) -> u8 {
        let a = self.binary(first);
        let c = self.arg(2);
        self.compiler.asm.vector3(second, a, a, c, 0);
        a
    }

    fn minmax(&mut self, code: Code, zeros: Code) -> u8 {
        let (a, b) = (self.float_reg(0), self.float(1));
        // NaNs are for the reference engine; the check looks at the result, so they must reach it.
        let result = self.op3(code, a, b);
        let b = match b {
            Arg::Zmm(b) => b,
            memory => self.copy(memory),
        };
        let asm = &mut self.compiler.asm;
        asm.compare(EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae, K, a, Arg::Zmm(b), 0, 0);
        asm.vector3(zeros, result, a, Arg::Zmm(b), K);
        asm.compare(EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae, K, a, Arg::Zmm(b), 3, 0);
        asm.vector3(EVEX_Vaddps_zmm_k1z_zmm_zmmm512b32_er, result, a, Arg::Zmm(b), K);
        result
    }

    fn sign24(&mut self, i: usize) -> u8 {
        let a = self.arg(i);
        let up = self.op2i(EVEX_Vpslld_zmm_k1z_zmmm512b32_imm8, a, 8);
        self.op2i(EVEX_Vpsrad_zmm_k1z_zmmm512b32_imm8, Arg::Zmm(up), 8)
    }

    fn unsigned24(&mut self, i: usize) -> u8 {
        let a = self.reg(i);
        let limit = self.literal(0xff_ffff);
        self.op3(EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32, a, limit)
    }

    /// The high halves of products.
    fn mul_high(&mut self, a: u8, b: u8, code: Code) -> u8 {
        let even = self.op3(code, a, Arg::Zmm(b));
        let even = self.op2i(EVEX_Vpsrlq_zmm_k1z_zmmm512b64_imm8, Arg::Zmm(even), 32);
        let odd_a = self.op2i(EVEX_Vpsrlq_zmm_k1z_zmmm512b64_imm8, Arg::Zmm(a), 32);
        let odd_b = self.op2i(EVEX_Vpsrlq_zmm_k1z_zmmm512b64_imm8, Arg::Zmm(b), 32);
        let odd = self.op3(code, odd_a, Arg::Zmm(odd_b));
        let asm = &mut self.compiler.asm;
        asm.imm(Mov_r32_imm32, Register::EAX, 0xaaaa);
        asm.two(VEX_Kmovw_kr_r32, mask(M), Register::EAX);
        asm.vector2(EVEX_Vmovdqa32_zmm_k1z_zmmm512, even, Arg::Zmm(odd), M);
        even
    }

    /// Bits that moved from one half of a 64-bit shift to the other: `value`, moved the other way by 32 minus
    /// the count, which may be 0.
    fn across(&mut self, value: u8, by: Arg, one: Code, other: Code) -> u8 {
        let moved = self.op2i(one, Arg::Zmm(value), 1);
        let by = match by {
            Arg::Zmm(by) => by,
            memory => self.copy(memory),
        };
        let limit = self.literal(31);
        let rest = self.op3(EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32, by, limit);
        self.op3(other, moved, Arg::Zmm(rest))
    }

    /// Whether a 64-bit shift is by 32 or more, into [`K`].
    fn is_far(&mut self, i: usize) {
        let by = self.reg(i);
        let bit = self.literal(32);
        self.compiler.asm.test(EVEX_Vptestmd_kr_k1_zmm_zmmm512b32, K, by, bit, 0);
    }

    fn shift_left(&mut self) -> [u8; 2] {
        let [low, high] = self.wide(1);
        let by = self.count(0);
        let up = self.op3(EVEX_Vpsllvd_zmm_k1z_zmm_zmmm512b32, low, by);
        let high = self.op3(EVEX_Vpsllvd_zmm_k1z_zmm_zmmm512b32, high, by);
        let across =
            self.across(low, by, EVEX_Vpsrld_zmm_k1z_zmmm512b32_imm8, EVEX_Vpsrlvd_zmm_k1z_zmm_zmmm512b32);
        self.is_far(0);
        let asm = &mut self.compiler.asm;
        asm.vector3(EVEX_Vpord_zmm_k1z_zmm_zmmm512b32, high, high, Arg::Zmm(across), 0);
        asm.vector2(EVEX_Vmovdqa32_zmm_k1z_zmmm512, high, Arg::Zmm(up), K);
        asm.vector3(EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32, up, up, Arg::Zmm(up), K);
        [up, high]
    }

    fn shift_right(&mut self, signed: bool) -> [u8; 2] {
        let [low, high] = self.wide(1);
        let by = self.count(0);
        let shift =
            if signed { EVEX_Vpsravd_zmm_k1z_zmm_zmmm512b32 } else { EVEX_Vpsrlvd_zmm_k1z_zmm_zmmm512b32 };
        let down = self.op3(shift, high, by);
        let low = self.op3(EVEX_Vpsrlvd_zmm_k1z_zmm_zmmm512b32, low, by);
        let across =
            self.across(high, by, EVEX_Vpslld_zmm_k1z_zmmm512b32_imm8, EVEX_Vpsllvd_zmm_k1z_zmm_zmmm512b32);
        let far = if signed {
            self.op2i(EVEX_Vpsrad_zmm_k1z_zmmm512b32_imm8, Arg::Zmm(high), 31)
        } else {
            self.literal_reg(0)
        };
        self.is_far(0);
        let asm = &mut self.compiler.asm;
        asm.vector3(EVEX_Vpord_zmm_k1z_zmm_zmmm512b32, low, low, Arg::Zmm(across), 0);
        asm.vector2(EVEX_Vmovdqa32_zmm_k1z_zmmm512, low, Arg::Zmm(down), K);
        asm.vector2(EVEX_Vmovdqa32_zmm_k1z_zmmm512, down, Arg::Zmm(far), K);
        [low, down]
    }

    /// The carry of `sum`, which is `a` plus something, into a mask, among enabled lanes.
    fn below(&mut self, to: u8, a: u8, b: u8) {
        const LESS: u8 = 1;
        let exec = self.compiler.exec(self.chunk);
        self.compiler.asm.compare(EVEX_Vpcmpud_kr_k1_zmm_zmmm512b32_imm8, to, a, Arg::Zmm(b), LESS, exec);
    }

    fn add_carry(&mut self) -> u8 {
        let (a, b) = (self.reg(0), self.arg(1));
        let sum = self.op3(ADD, a, b);
        self.below(K, sum, a);
        sum
    }

    fn sub_borrow(&mut self, first: usize, second: usize) -> u8 {
        let (a, b) = (self.reg(first), self.reg(second));
        let difference = self.op3(SUB, a, Arg::Zmm(b));
        self.below(K, a, b);
        difference
    }

    fn add_with_carry(&mut self) -> u8 {
        let (a, b) = (self.reg(0), self.arg(1));
        let first = self.op3(ADD, a, b);
        self.below(K, first, a);
        self.mask(2, L);
        let sum = self.copy(Arg::Zmm(first));
        let minus = self.literal(u32::MAX);
        self.compiler.asm.vector3(SUB, sum, sum, minus, L);
        self.below(L, sum, first);
        self.compiler.asm.three(VEX_Korw_kr_kr_kr, mask(K), mask(K), mask(L));
        sum
    }

    fn sub_with_borrow(&mut self, first: usize, second: usize) -> u8 {
        let (a, b) = (self.reg(first), self.reg(second));
        let difference = self.op3(SUB, a, Arg::Zmm(b));
        self.below(K, a, b);
        self.mask(2, L);
        let result = self.copy(Arg::Zmm(difference));
        let minus = self.literal(u32::MAX);
        self.compiler.asm.vector3(ADD, result, result, minus, L);
        // Borrowed again: the difference was 0.
        self.below(L, difference, result);
        self.compiler.asm.three(VEX_Korw_kr_kr_kr, mask(K), mask(K), mask(L));
        result
    }

    fn mad_wide(&mut self) -> [u8; 2] {
        let (a, b) = (self.reg(0), self.reg(1));
        let low = self.op3(EVEX_Vpmulld_zmm_k1z_zmm_zmmm512b32, a, Arg::Zmm(b));
        let high = self.mul_high(a, b, EVEX_Vpmuludq_zmm_k1z_zmm_zmmm512b64);
        let [c, d] = self.wide(2);
        self.compiler.asm.vector3(ADD, low, low, Arg::Zmm(c), 0);
        // The carry into the high half.
        self.compiler.asm.compare(EVEX_Vpcmpud_kr_k1_zmm_zmmm512b32_imm8, L, low, Arg::Zmm(c), 1, 0);
        let first = self.op3(ADD, high, Arg::Zmm(d));
        self.below(K, first, d);
        let sum = self.copy(Arg::Zmm(first));
        let minus = self.literal(u32::MAX);
        self.compiler.asm.vector3(SUB, sum, sum, minus, L);
        self.below(L, sum, first);
        self.compiler.asm.three(VEX_Korw_kr_kr_kr, mask(K), mask(K), mask(L));
        [low, sum]
    }

    fn integer_of_float(&mut self) -> u8 {
        let a = self.float_reg(0);
        let asm = &mut self.compiler.asm;
        asm.compare(EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae, K, a, Arg::Zmm(a), 7, 0);
        let limit = self.literal(0x4f00_0000);
        // GE_OQ.
        self.compiler.asm.compare(EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae, L, a, limit, 0x1d, 0);
        let to = self.literal_reg(0);
        let to = self.copy(Arg::Zmm(to));
        self.compiler.asm.vector2(EVEX_Vcvttps2dq_zmm_k1z_zmmm512b32_sae, to, Arg::Zmm(a), K);
        let most = self.literal_reg(0x7fff_ffff);
        self.compiler.asm.vector2(EVEX_Vmovdqa32_zmm_k1z_zmmm512, to, Arg::Zmm(most), L);
        to
    }

    fn unsigned_of_float(&mut self) -> u8 {
        let a = self.float_reg(0);
        let zero = self.literal_reg(0);
        let positive = self.op3(EVEX_Vmaxps_zmm_k1z_zmm_zmmm512b32_sae, a, Arg::Zmm(zero));
        self.op2(EVEX_Vcvttps2udq_zmm_k1z_zmmm512b32_sae, Arg::Zmm(positive))
    }

    fn bfe(&mut self, signed: bool) -> u8 {
        let (value, offset) = (self.reg(0), self.count(1));
        let shift =
            if signed { EVEX_Vpsravd_zmm_k1z_zmm_zmmm512b32 } else { EVEX_Vpsrlvd_zmm_k1z_zmm_zmmm512b32 };
        let field = self.op3(shift, value, offset);
        let width = self.count(2);
        let one = self.literal_reg(1);
        let ones = self.op3(EVEX_Vpsllvd_zmm_k1z_zmm_zmmm512b32, one, width);
        let minus = self.literal(u32::MAX);
        self.compiler.asm.vector3(ADD, ones, ones, minus, 0);
        self.compiler.asm.vector3(AND, field, field, Arg::Zmm(ones), 0);
        if signed {
            // The sign bit is half of the field's size; it is 0 if the width is 0.
            self.compiler.asm.vector3(SUB, ones, ones, minus, 0);
            let half = self.op2i(EVEX_Vpsrld_zmm_k1z_zmmm512b32_imm8, Arg::Zmm(ones), 1);
            self.compiler.asm.vector3(EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32, field, field, Arg::Zmm(half), 0);
            self.compiler.asm.vector3(SUB, field, field, Arg::Zmm(half), 0);
        }
        field
    }

    fn align_bit(&mut self) -> u8 {
        let low = self.reg(1);
        let by = self.count(2);
        let high = self.reg(0);
        let low = self.op3(EVEX_Vpsrlvd_zmm_k1z_zmm_zmmm512b32, low, by);
        let across =
            self.across(high, by, EVEX_Vpslld_zmm_k1z_zmmm512b32_imm8, EVEX_Vpsllvd_zmm_k1z_zmm_zmmm512b32);
        self.compiler.asm.vector3(EVEX_Vpord_zmm_k1z_zmm_zmmm512b32, low, low, Arg::Zmm(across), 0);
        low
    }

    fn select(&mut self) -> u8 {
        let a = self.float(0);
        let to = self.copy(a);
        let b = self.float_reg(1);
        self.mask(2, K);
        self.compiler.asm.vector2(EVEX_Vmovdqa32_zmm_k1z_zmmm512, to, Arg::Zmm(b), K);
        to
    }

    fn compare_floats(&mut self, predicate: u8) {
        let (a, b) = (self.float_reg(0), self.float(1));
        self.compare(EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae, a, b, predicate);
    }

    fn compare_signed(&mut self, predicate: u8) {
        let (a, b) = (self.reg(0), self.arg(1));
        self.compare(EVEX_Vpcmpd_kr_k1_zmm_zmmm512b32_imm8, a, b, predicate);
    }

    fn compare_unsigned(&mut self, predicate: u8) {
        let (a, b) = (self.reg(0), self.arg(1));
        self.compare(EVEX_Vpcmpud_kr_k1_zmm_zmmm512b32_imm8, a, b, predicate);
    }

    fn median(&mut self, min: Code, max: Code) -> u8 {
        let (a, b) = (self.reg(0), self.reg(1));
        let c = self.arg(2);
        let low = self.op3(min, a, Arg::Zmm(b));
        let high = self.op3(max, a, Arg::Zmm(b));
        self.compiler.asm.vector3(min, high, high, c, 0);
        self.compiler.asm.vector3(max, low, low, Arg::Zmm(high), 0);
        low
    }

    /// A byte of a source, as a float.
    fn float_of_byte(&mut self, number: u8) -> u8 {
        let a = self.reg(0);
        let a = if number == 0 {
            a
        } else {
            self.op2i(EVEX_Vpsrld_zmm_k1z_zmmm512b32_imm8, Arg::Zmm(a), 8 * number)
        };
        let limit = self.literal(0xff);
        let byte = self.op3(AND, a, limit);
        self.op2(EVEX_Vcvtdq2ps_zmm_k1z_zmmm512b32_er, Arg::Zmm(byte))
    }
}

const ADD: Code = EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32;
const SUB: Code = EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32;
const AND: Code = EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32;
const OR: Code = EVEX_Vpord_zmm_k1z_zmm_zmmm512b32;
const XOR: Code = EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32;
const SHL: Code = EVEX_Vpsllvd_zmm_k1z_zmm_zmmm512b32;
const SHR: Code = EVEX_Vpsrlvd_zmm_k1z_zmm_zmmm512b32;
const SAR: Code = EVEX_Vpsravd_zmm_k1z_zmm_zmmm512b32;
const MUL: Code = EVEX_Vpmulld_zmm_k1z_zmm_zmmm512b32;
const MIN_I: Code = EVEX_Vpminsd_zmm_k1z_zmm_zmmm512b32;
const MAX_I: Code = EVEX_Vpmaxsd_zmm_k1z_zmm_zmmm512b32;
const MIN_U: Code = EVEX_Vpminud_zmm_k1z_zmm_zmmm512b32;
const MAX_U: Code = EVEX_Vpmaxud_zmm_k1z_zmm_zmmm512b32;
const FADD: Code = EVEX_Vaddps_zmm_k1z_zmm_zmmm512b32_er;
const FSUB: Code = EVEX_Vsubps_zmm_k1z_zmm_zmmm512b32_er;
const FMUL: Code = EVEX_Vmulps_zmm_k1z_zmm_zmmm512b32_er;

/// Rows: operations, form, operands, number of 32-bit sources, and the source that is a mask.
macro_rules! table {
    ($($($op:ident)|+ => $form:ident |$lane:ident| $body:expr, $operands:ident, $sources:literal $(, mask $mask:literal)?;)*) => {
        fn find(op: Op) -> Option<Entry> {
            Some(match op {
                $($(Op::$op)|+ => Entry {
                    form: Form::$form(|$lane| $body),
                    operands: Operands::$operands,
                    sources: $sources,
                    mask: { let mask: Option<u8> = None; $(let mask = { let _ = mask; Some($mask) };)? mask },
                },)*
                _ => return None,
            })
        }
    };
}

#[rustfmt::skip]
table! {
    VMovB32 | VAccvgprReadB32 | VAccvgprWriteB32 | VAccvgprMovB32 => One |l| { let a = l.float(0); l.copy(a) }, Bits, 1;
    VCndmaskB32 => One |l| l.select(), Bits, 2, mask 2;
    VNotB32 => One |l| { let (a, ones) = (l.reg(0), l.literal(u32::MAX)); l.op3(XOR, a, ones) }, Integers, 1;
    VAndB32 => One |l| l.binary(AND), Integers, 2;
    VOrB32 => One |l| l.binary(OR), Integers, 2;
    VXorB32 => One |l| l.binary(XOR), Integers, 2;
    VXnorB32 => One |l| { let a = l.binary(XOR); let ones = l.literal(u32::MAX); l.op3(XOR, a, ones) }, Integers, 2;
    VLshlrevB32 => One |l| l.shift(SHL), Integers, 2;
    VLshrrevB32 => One |l| l.shift(SHR), Integers, 2;
    VAshrrevI32 => One |l| l.shift(SAR), Integers, 2;
    VLshlrevB64 => Two |l| l.shift_left(), Integers, 2;
    VLshrrevB64 => Two |l| l.shift_right(false), Integers, 2;
    VAshrrevI64 => Two |l| l.shift_right(true), Integers, 2;
    VAddNcU32 | VAddNcI32 => One |l| l.binary(ADD), Integers, 2;
    VSubNcU32 | VSubNcI32 => One |l| l.binary(SUB), Integers, 2;
    VSubrevNcU32 => One |l| l.reversed(SUB), Integers, 2;
    VAddCoU32 => Carry |l| l.add_carry(), Integers, 2;
    VSubCoU32 => Carry |l| l.sub_borrow(0, 1), Integers, 2;
    VSubrevCoU32 => Carry |l| l.sub_borrow(1, 0), Integers, 2;
    VAddCoCiU32 => Carry |l| l.add_with_carry(), Integers, 2, mask 2;
    VSubCoCiU32 => Carry |l| l.sub_with_borrow(0, 1), Integers, 2, mask 2;
    VSubrevCoCiU32 => Carry |l| l.sub_with_borrow(1, 0), Integers, 2, mask 2;
    VMinU32 => One |l| l.binary(MIN_U), Integers, 2;
    VMaxU32 => One |l| l.binary(MAX_U), Integers, 2;
    VMinI32 => One |l| l.binary(MIN_I), Integers, 2;
    VMaxI32 => One |l| l.binary(MAX_I), Integers, 2;
    VMin3U32 => One |l| l.chain(MIN_U, MIN_U), Integers, 3;
    VMax3U32 => One |l| l.chain(MAX_U, MAX_U), Integers, 3;
    VMin3I32 => One |l| l.chain(MIN_I, MIN_I), Integers, 3;
    VMax3I32 => One |l| l.chain(MAX_I, MAX_I), Integers, 3;
    VMed3U32 => One |l| l.median(MIN_U, MAX_U), Integers, 3;
    VMed3I32 => One |l| l.median(MIN_I, MAX_I), Integers, 3;
    VMulLoU32 => One |l| l.binary(MUL), Integers, 2;
    VMulHiU32 => One |l| { let (a, b) = (l.reg(0), l.reg(1)); l.mul_high(a, b, EVEX_Vpmuludq_zmm_k1z_zmm_zmmm512b64) }, Integers, 2;
    VMulHiI32 => One |l| { let (a, b) = (l.reg(0), l.reg(1)); l.mul_high(a, b, EVEX_Vpmuldq_zmm_k1z_zmm_zmmm512b64) }, Integers, 2;
    VMulU32U24 => One |l| { let (a, b) = (l.unsigned24(0), l.unsigned24(1)); l.op3(MUL, a, Arg::Zmm(b)) }, Integers, 2;
    VMulI32I24 => One |l| { let (a, b) = (l.sign24(0), l.sign24(1)); l.op3(MUL, a, Arg::Zmm(b)) }, Integers, 2;
    VMadU32U24 => One |l| {
        let (a, b) = (l.unsigned24(0), l.unsigned24(1));
        let (product, c) = (l.op3(MUL, a, Arg::Zmm(b)), l.arg(2));
        l.op3(ADD, product, c)
    }, Integers, 3;
    VMadI32I24 => One |l| {
        let (a, b) = (l.sign24(0), l.sign24(1));
        let (product, c) = (l.op3(MUL, a, Arg::Zmm(b)), l.arg(2));
        l.op3(ADD, product, c)
    }, Integers, 3;
    VMadU64U32 => WideCarry |l| l.mad_wide(), Integers, 3;
    VAdd3U32 => One |l| l.chain(ADD, ADD), Integers, 3;
    VAddLshlU32 => One |l| { let (a, by) = (l.binary(ADD), l.count(2)); l.op3(SHL, a, by) }, Integers, 3;
    VLshlAddU32 => One |l| { let (a, by) = (l.reg(0), l.count(1)); let a = l.op3(SHL, a, by); let c = l.arg(2); l.op3(ADD, a, c) }, Integers, 3;
    VLshlOrB32 => One |l| { let (a, by) = (l.reg(0), l.count(1)); let a = l.op3(SHL, a, by); let c = l.arg(2); l.op3(OR, a, c) }, Integers, 3;
    VAndOrB32 => One |l| l.chain(AND, OR), Integers, 3;
    VOr3B32 => One |l| l.bitwise(0xfe), Integers, 3;
    VXor3B32 => One |l| l.bitwise(0x96), Integers, 3;
    VBfiB32 => One |l| l.bitwise(0xca), Integers, 3;
    VXadU32 => One |l| l.chain(XOR, ADD), Integers, 3;
    VBfeU32 => One |l| l.bfe(false), Integers, 3;
    VBfeI32 => One |l| l.bfe(true), Integers, 3;
    VAlignbitB32 => One |l| l.align_bit(), Integers, 3;
    VAddF32 => One |l| l.float_binary(FADD), Floats, 2;
    VSubF32 => One |l| l.float_binary(FSUB), Floats, 2;
    VSubrevF32 => One |l| l.float_reversed(FSUB), Floats, 2;
    VMulF32 => One |l| l.float_binary(FMUL), Floats, 2;
    VFmaF32 | VFmacF32 | VFmamkF32 | VFmaakF32 => One |l| l.float_fma(), Floats, 3;
    VMinF32 => One |l| l.minmax(EVEX_Vminps_zmm_k1z_zmm_zmmm512b32_sae, OR), Floats, 2;
    VMaxF32 => One |l| l.minmax(EVEX_Vmaxps_zmm_k1z_zmm_zmmm512b32_sae, AND), Floats, 2;
    VFloorF32 => One |l| l.round(9), Floats, 1;
    VCeilF32 => One |l| l.round(10), Floats, 1;
    VTruncF32 => One |l| l.round(11), Floats, 1;
    VRndneF32 => One |l| l.round(8), Floats, 1;
    VCvtF32I32 => One |l| { let a = l.arg(0); l.op2(EVEX_Vcvtdq2ps_zmm_k1z_zmmm512b32_er, a) }, Integers, 1;
    VCvtF32U32 => One |l| { let a = l.arg(0); l.op2(EVEX_Vcvtudq2ps_zmm_k1z_zmmm512b32_er, a) }, Integers, 1;
    VCvtF32Ubyte0 => One |l| l.float_of_byte(0), Integers, 1;
    VCvtF32Ubyte1 => One |l| l.float_of_byte(1), Integers, 1;
    VCvtF32Ubyte2 => One |l| l.float_of_byte(2), Integers, 1;
    VCvtF32Ubyte3 => One |l| l.float_of_byte(3), Integers, 1;
    VCvtI32F32 => One |l| l.integer_of_float(), Bits, 1;
    VCvtU32F32 => One |l| l.unsigned_of_float(), Bits, 1;
    VCmpLtF32 | VCmpxLtF32 | VCmpNltF32 | VCmpxNltF32 => Mask |l| l.compare_floats(0x11), Bits, 2;
    VCmpEqF32 | VCmpxEqF32 | VCmpNeqF32 | VCmpxNeqF32 => Mask |l| l.compare_floats(0x00), Bits, 2;
    VCmpLeF32 | VCmpxLeF32 | VCmpNleF32 | VCmpxNleF32 => Mask |l| l.compare_floats(0x12), Bits, 2;
    VCmpGtF32 | VCmpxGtF32 | VCmpNgtF32 | VCmpxNgtF32 => Mask |l| l.compare_floats(0x1e), Bits, 2;
    VCmpLgF32 | VCmpxLgF32 | VCmpNlgF32 | VCmpxNlgF32 => Mask |l| l.compare_floats(0x0c), Bits, 2;
    VCmpGeF32 | VCmpxGeF32 | VCmpNgeF32 | VCmpxNgeF32 => Mask |l| l.compare_floats(0x1d), Bits, 2;
    VCmpUF32 | VCmpxUF32 | VCmpOF32 | VCmpxOF32 => Mask |l| l.compare_floats(0x03), Bits, 2;
    VCmpLtI32 | VCmpxLtI32 | VCmpGeI32 | VCmpxGeI32 => Mask |l| l.compare_signed(1), Integers, 2;
    VCmpGtI32 | VCmpxGtI32 | VCmpLeI32 | VCmpxLeI32 => Mask |l| l.compare_signed(6), Integers, 2;
    VCmpLtU32 | VCmpxLtU32 | VCmpGeU32 | VCmpxGeU32 => Mask |l| l.compare_unsigned(1), Integers, 2;
    VCmpGtU32 | VCmpxGtU32 | VCmpLeU32 | VCmpxLeU32 => Mask |l| l.compare_unsigned(6), Integers, 2;
    VCmpEqI32 | VCmpxEqI32 | VCmpEqU32 | VCmpxEqU32 | VCmpNeI32 | VCmpxNeI32 | VCmpNeU32 | VCmpxNeU32
        => Mask |l| l.compare_unsigned(0), Integers, 2;
}
