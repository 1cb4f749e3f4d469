//! Code for regions: a loop over groups of lanes, each from the start of the region to its end.

use iced_x86::Code::*;
use iced_x86::{MemoryOperand, Register};
use vgpu_isa::scalar;

use crate::Error;
use crate::allocate::{Inst, Place, allocate};
use crate::asm::{Arg, FILE, Label, WAVE, When, at, broadcast, mask, xmm};
use crate::compile::{Compiler, Version};
use crate::functions;
use crate::host::{Host, SCRATCH_MASKS, V};
use crate::marks::Marks;
use crate::region::{MASKS, Node, Region};

/// The registers of the host in which masks are collected: 64 and 32 bits.
const COLLECTED: [(Register, Register); MASKS] =
    [(Register::R15, Register::R15D), (Register::R13, Register::R13D), (Register::RBP, Register::EBP)];

/// The place of the current group of lanes in a vector register, in bytes.
const GROUP: Register = Register::R11;
/// The place of its bits in a lane mask, in bytes.
const BITS: Register = Register::R10;

/// A region in which a group's results may be NaNs.
pub(crate) struct Redone {
    label: Label,
    /// Where the group's code ends.
    back: Label,
    steps: Vec<u32>,
    slots: Vec<u8>,
}

/// The bytes of a register of the host on the stack.
const PLACE: i32 = 64;
/// The number of such places in the frame.
const PLACES: u16 = 40;
/// The bytes of these places.
pub(crate) const STACK: i32 = PLACE * PLACES as i32;

/// Emits a region.
///
/// # Errors
/// If it needs too many registers.
pub(crate) fn emit(compiler: &mut Compiler<'_>, region: &Region) -> Result<(), Error> {
    let plan = allocate(region)?;
    if plan.places > PLACES {
        return Err(Error::Registers);
    }
    let (start, back) = (compiler.asm.label(), compiler.asm.label());
    let size = 4 * compiler.asm.host.lanes() as i32;
    compiler.asm.two(Xor_r32_rm32, Register::R11D, Register::R11D);
    compiler.asm.place(start);
    let reads_masks = region.nodes.iter().any(|node| matches!(node, Node::Lanes(_)));
    if reads_masks || compiler.version == Version::Masked {
        compiler.asm.two(Mov_r32_rm32, Register::R10D, Register::R11D);
        compiler.asm.imm(Shr_rm32_imm8, Register::R10D, 5);
    }
    let mut lanes = Lanes { compiler, has_checked: false };
    plan.body.iter().for_each(|inst| lanes.inst(inst));
    if plan.checks {
        let label = lanes.compiler.asm.label();
        lanes.leave_if_nan(label);
        let (steps, slots) = (region.steps.clone(), region.masks.iter().map(|mask| mask.slot).collect());
        lanes.compiler.redone.push(Redone { label, back, steps, slots });
    }
    if !plan.results.is_empty() {
        lanes.results(&plan.results);
    }
    for (number, (mask, (before, from))) in region.masks.iter().zip(&plan.masks).enumerate() {
        before.iter().for_each(|inst| lanes.inst(inst));
        lanes.collect(number, *from, mask.inverted);
    }
    compiler.asm.place(back);
    compiler.asm.imm(Add_rm32_imm8, Register::R11D, size);
    compiler.asm.imm(Cmp_rm32_imm32, Register::R11D, 4 * compiler.input.lanes as i32);
    compiler.asm.jump_if(When::NotEqual, start);
    for (mask, (wide, narrow)) in region.masks.iter().zip(COLLECTED) {
        let to = at(WAVE, compiler.slot(mask.slot));
        if compiler.input.lanes == 64 {
            compiler.asm.write(Mov_rm64_r64, to, wide);
        } else {
            compiler.asm.write(Mov_rm32_r32, to, narrow);
        }
        compiler.exec_changed |= mask.slot == scalar::EXEC;
    }
    Ok(())
}

impl Compiler<'_> {
    /// The bits of a lane mask in scalar registers that belong to a group of lanes.
    pub(crate) fn lane_bits(&self, slot: u8, chunk: u8) -> MemoryOperand {
        let bytes = self.asm.host.lanes() as i32 / 8;
        at(WAVE, self.slot(slot) + bytes * i32::from(chunk))
    }
}

/// A group of lanes that fills a register of the host: the one at [`GROUP`].
struct Lanes<'c, 'a> {
    compiler: &'c mut Compiler<'a>,
    has_checked: bool,
}

impl Lanes<'_, '_> {
    fn host(&self) -> Host {
        self.compiler.asm.host
    }

    /// Memory of a leaf, for an instruction that reads it.
    fn memory(&mut self, node: Node) -> Arg {
        match node {
            Node::Register(register) => Arg::Memory(self.file(register)),
            Node::Literal(value) => self.compiler.asm.literal(value),
            Node::Scalar(slot) => Arg::Memory(broadcast(WAVE, self.compiler.slot(slot))),
            _ => Arg::Register(0),
        }
    }

    fn arg(&mut self, place: Place) -> Arg {
        match place {
            Place::Register(register) => Arg::Register(register),
            Place::Leaf(node) => self.memory(node),
        }
    }

    /// The bits of a lane mask in scalar registers that belong to these lanes.
    fn bits(&self, slot: u8) -> MemoryOperand {
        indexed(WAVE, BITS, self.compiler.slot(slot))
    }

    /// These lanes of a vector register.
    fn file(&self, register: u16) -> MemoryOperand {
        indexed(FILE, GROUP, self.compiler.register_place(register, 0))
    }

    fn load(&mut self, to: u8, node: Node) {
        match node {
            Node::Literal(0) => {
                self.compiler.asm.zero(to);
            }
            Node::Literal(value) => {
                let from = self.compiler.asm.dword(value);
                self.compiler.asm.spread(to, from);
            }
            Node::Scalar(slot) => {
                let from = at(WAVE, self.compiler.slot(slot));
                self.compiler.asm.spread(to, from);
            }
            Node::OddLanes => {
                let lanes = std::array::from_fn(|lane| if lane % 2 == 1 { u32::MAX } else { 0 });
                let from = self.compiler.asm.literal_lanes(lanes);
                self.compiler.asm.fetch(to, from);
            }
            Node::LaneNumbers => {
                let numbers = std::array::from_fn(|lane| lane as u32);
                let asm = &mut self.compiler.asm;
                let numbers = asm.literal_lanes(numbers);
                asm.two(VEX_Vmovd_xmm_rm32, xmm(to), Register::R11D);
                asm.spread_first(to, to);
                asm.shift(V::ShrImm, to, to, 2);
                asm.op(V::Add, to, to, Arg::Memory(numbers));
            }
            Node::Register(register) => {
                let from = self.file(register);
                self.compiler.asm.fetch(to, from);
            }
            Node::Lanes(slot) => {
                let from = self.bits(slot);
                self.compiler.asm.mark_bits(Marks { vector: to, mask: to }, from);
            }
            Node::Op(..) | Node::Check(..) => {}
        }
    }

    fn place(place: u16) -> MemoryOperand {
        at(Register::RSP, PLACE * i32::from(place))
    }

    fn inst(&mut self, inst: &Inst) {
        match *inst {
            Inst::Load(to, node) => self.load(to, node),
            Inst::Copy(to, from) => self.compiler.asm.copy(to, from),
            Inst::Spill(place, from, true) => {
                self.compiler.asm.write(VEX_Kmovw_m16_kr, Self::place(place), mask(from));
            }
            Inst::Spill(place, from, false) => self.compiler.asm.store(Self::place(place), from),
            Inst::Reload(to, place, true) => {
                self.compiler.asm.load(VEX_Kmovw_kr_km16, mask(to), Self::place(place));
            }
            Inst::Reload(to, place, false) => self.compiler.asm.fetch(to, Self::place(place)),
            Inst::Op(v, to, a, b, last, immediate) => self.operation(v, to, [a, b], last, immediate),
            Inst::FmaOver(to, factor, addend) => {
                let code = self
                    .compiler
                    .asm
                    .pick(VEX_Vfmadd213ps_ymm_ymm_ymmm256, EVEX_Vfmadd213ps_zmm_k1z_zmm_zmmm512b32_er);
                let addend = self.arg(addend);
                self.compiler.asm.vector3(code, to, factor, addend);
            }
            Inst::Check(a, b) => self.check(a, b),
        }
    }

    fn operation(&mut self, v: V, to: u8, [a, b]: [u8; 2], last: Place, immediate: u8) {
        let row = v.row();
        let host = self.host();
        let code = host.code(v);
        let scratch = host.scratch()[0];
        let last = self.arg(last);
        let register = if let Arg::Register(register) = last { register } else { 0 };
        if functions::body(v).is_some() {
            self.compiler.asm.copy(scratch, register);
            self.compiler.call_function(v);
            self.compiler.asm.copy(to, scratch);
            return;
        }
        let asm = &mut self.compiler.asm;
        match (v, host) {
            (V::GreaterUnsigned, _) => asm.compare(code, to, a, last, 6),
            (V::CompareF32, Host::Avx512) => asm.compare(code, to, a, last, immediate),
            (V::Equal | V::GreaterSigned, Host::Avx512) => asm.test(code, to, a, last),
            (V::EitherMask | V::BothMasks, Host::Avx512) => {
                asm.three(code, mask(to), mask(a), mask(register))
            }
            (V::NotMask, Host::Avx512) => asm.two(code, mask(to), mask(register)),
            (V::NotMask, Host::Avx2) => {
                asm.vector3(VEX_Vpcmpeqd_ymm_ymm_ymmm256, scratch, scratch, Arg::Register(scratch));
                asm.vector3(code, to, register, Arg::Register(scratch));
            }
            // Masked lanes are those of the last source.
            (V::Select, Host::Avx512) => asm.vector3k(code, to, register, Arg::Register(b), a),
            (V::Select, Host::Avx2) => asm.vector4(code, to, register, Arg::Register(b), a),
            (V::Ternary, _) => asm.vector3i(code, to, b, last, immediate),
            (V::F32OfF16, _) => asm.widen_halves(to, register),
            (V::F16OfF32, _) => asm.narrow_halves(to, register),
            _ => match (row.sources, row.immediate) {
                (1, true) => asm.vector2i(code, to, last, immediate),
                (1, false) => asm.vector2(code, to, last),
                (_, true) => asm.vector3i(code, to, a, last, immediate),
                (_, false) => asm.vector3(code, to, a, last),
            },
        }
    }

    /// Adds to the lanes in which a value is a NaN.
    fn check(&mut self, a: u8, b: Place) {
        let b = self.arg(b);
        let first = !std::mem::replace(&mut self.has_checked, true);
        let asm = &mut self.compiler.asm;
        let [one, all] = asm.host.scratch();
        let one = Marks { vector: one, mask: SCRATCH_MASKS[1] };
        let all = Marks { vector: all, mask: SCRATCH_MASKS[0] };
        asm.mark_unordered(if first { all } else { one }, a, b);
        if !first {
            asm.combine(V::EitherMask, all, one);
        }
    }

    /// Jumps if a NaN was found in an enabled lane.
    fn leave_if_nan(&mut self, label: Label) {
        let exec = self.bits(scalar::EXEC);
        let is_masked = self.compiler.version == Version::Masked;
        let asm = &mut self.compiler.asm;
        match asm.host {
            Host::Avx512 => {
                let [all, enabled, _] = SCRATCH_MASKS;
                if is_masked {
                    asm.load(VEX_Kmovw_kr_km16, mask(enabled), exec);
                    asm.two(VEX_Ktestw_kr_kr, mask(all), mask(enabled));
                } else {
                    asm.two(VEX_Kortestw_kr_kr, mask(all), mask(all));
                }
            }
            Host::Avx2 => {
                let [_, all] = asm.host.scratch();
                if is_masked {
                    asm.two(VEX_Vmovmskps_r32_ymm, Register::EAX, Register::YMM0 + u32::from(all));
                    asm.write(Test_rm8_r8, exec, Register::AL);
                } else {
                    let all = Register::YMM0 + u32::from(all);
                    asm.two(VEX_Vptest_ymm_ymmm256, all, all);
                }
            }
        }
        asm.jump_if(When::NotEqual, label);
    }

    /// Writes vector registers, in the enabled lanes.
    fn results(&mut self, results: &[(u16, Vec<Inst>, u8)]) {
        let is_masked = self.compiler.version == Version::Masked;
        let [old, enabled] = self.host().scratch();
        if is_masked {
            let exec = self.bits(scalar::EXEC);
            self.compiler.asm.mark_bits(Marks { vector: enabled, mask: SCRATCH_MASKS[2] }, exec);
        }
        for (register, before, from) in results {
            before.iter().for_each(|inst| self.inst(inst));
            let to = self.file(*register);
            let asm = &mut self.compiler.asm;
            match (is_masked, asm.host) {
                (false, _) => asm.store(to, *from),
                (true, Host::Avx512) => asm.store_masked(to, *from, SCRATCH_MASKS[2]),
                (true, Host::Avx2) => {
                    asm.fetch(old, to);
                    let new = Arg::Register(*from);
                    asm.vector4(VEX_Vblendvps_ymm_ymm_ymmm256_ymm, old, old, new, enabled);
                    asm.store(to, old);
                }
            }
        }
    }

    /// Adds the bits of a mask to those of the lanes before.
    fn collect(&mut self, number: usize, from: u8, inverted: bool) {
        let exec = self.bits(scalar::EXEC);
        let lanes = self.host().lanes() as i32;
        let is_masked = self.compiler.version == Version::Masked;
        let asm = &mut self.compiler.asm;
        let bits = Register::EAX;
        match asm.host {
            Host::Avx512 => asm.two(VEX_Kmovw_r32_kr, bits, mask(from)),
            Host::Avx2 => asm.two(VEX_Vmovmskps_r32_ymm, bits, Register::YMM0 + u32::from(from)),
        }
        if inverted {
            asm.imm(Xor_rm32_imm32, bits, (1 << lanes) - 1);
        }
        if is_masked {
            let code = if lanes == 16 { Movzx_r32_rm16 } else { Movzx_r32_rm8 };
            asm.load(code, Register::ECX, exec);
            asm.two(And_r32_rm32, bits, Register::ECX);
        }
        self.compiler.collect(number);
    }
}

impl Compiler<'_> {
    /// Adds the bits of a group of lanes, in RAX, to those of the lanes before, which move down. So they are
    /// in their places after the last group.
    fn collect(&mut self, number: usize) {
        let lanes = self.asm.host.lanes() as i32;
        let (wide, narrow) = COLLECTED[number];
        if self.input.lanes == 64 {
            self.asm.imm(Shr_rm64_imm8, wide, lanes);
            self.asm.imm(Shl_rm64_imm8, Register::RAX, 64 - lanes);
            self.asm.two(Or_r64_rm64, wide, Register::RAX);
        } else {
            self.asm.imm(Shr_rm32_imm8, narrow, lanes);
            self.asm.imm(Shl_rm32_imm8, Register::EAX, 32 - lanes);
            self.asm.two(Or_r32_rm32, narrow, Register::EAX);
        }
    }
}

/// Memory at a register plus another and an offset.
fn indexed(base: Register, index: Register, offset: i32) -> MemoryOperand {
    MemoryOperand::new(base, index, 1, offset.into(), u32::from(offset != 0), false, Register::None)
}

/// Bytes on the stack of what follows, with which calls find it aligned.
const SAVED: i32 = 8 * (MASKS as i32 + 3);
const EXEC_AT: i32 = 0;
const GROUP_AT: i32 = 8;
const SLOTS_AT: i32 = 16;

/// Emits code that executes a region with the handlers of its steps, in the lanes of a group only.
pub(crate) fn redo(compiler: &mut Compiler<'_>, redone: &Redone) {
    let lanes = compiler.asm.host.lanes() as i32;
    let wide = compiler.input.lanes == 64;
    let (load, write, rax, rdx) = if wide {
        (Mov_r64_rm64, Mov_rm64_r64, Register::RAX, Register::RDX)
    } else {
        (Mov_r32_rm32, Mov_rm32_r32, Register::EAX, Register::EDX)
    };
    let exec = at(WAVE, compiler.slot(scalar::EXEC));
    let stack = |offset: i32| at(Register::RSP, offset);
    compiler.asm.place(redone.label);
    compiler.asm.imm(Sub_rm64_imm32, Register::RSP, SAVED);
    for (i, &slot) in redone.slots.iter().enumerate() {
        let from = at(WAVE, compiler.slot(slot));
        compiler.asm.load(load, rax, from);
        compiler.asm.write(write, stack(SLOTS_AT + 8 * i as i32), rax);
    }
    compiler.asm.write(Mov_rm64_r64, stack(GROUP_AT), GROUP);
    compiler.asm.load(load, rax, exec);
    compiler.asm.write(write, stack(EXEC_AT), rax);
    // The number of its first lane, and its bits.
    compiler.asm.two(Mov_r32_rm32, Register::ECX, Register::R11D);
    compiler.asm.imm(Shr_rm32_imm8, Register::ECX, 2);
    compiler.asm.imm(Mov_r32_imm32, Register::EDX, (1 << lanes) - 1);
    compiler.asm.two(Shl_rm64_CL, Register::RDX, Register::CL);
    compiler.asm.two(if wide { And_r64_rm64 } else { And_r32_rm32 }, rax, rdx);
    compiler.asm.write(write, exec, rax);
    for &step in &redone.steps {
        compiler.call_handler(step);
    }
    compiler.asm.load(Mov_r64_rm64, GROUP, stack(GROUP_AT));
    compiler.asm.two(Mov_r32_rm32, Register::ECX, Register::R11D);
    compiler.asm.imm(Shr_rm32_imm8, Register::ECX, 2);
    for (i, &slot) in redone.slots.iter().enumerate() {
        let at_slot = at(WAVE, compiler.slot(slot));
        compiler.asm.load(load, rax, at_slot);
        // What the handler wrote for other lanes is zero, or was there before.
        compiler.asm.two(Shr_rm64_CL, Register::RAX, Register::CL);
        compiler.asm.imm(And_rm32_imm32, Register::EAX, (1 << lanes) - 1);
        compiler.collect(i);
        compiler.asm.load(load, rax, stack(SLOTS_AT + 8 * i as i32));
        compiler.asm.write(write, at_slot, rax);
    }
    compiler.asm.load(load, rax, stack(EXEC_AT));
    compiler.asm.write(write, exec, rax);
    compiler.asm.imm(Add_rm64_imm32, Register::RSP, SAVED);
    compiler.asm.jump(redone.back);
}
