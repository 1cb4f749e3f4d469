//! Loads and stores of groups of lanes with patterns of their own.

use iced_x86::Code::*;
use iced_x86::{MemoryOperand, Register};
use vgpu_exec::native::Source;
use vgpu_isa::scalar;

use crate::asm::{Arg, Label, WAVE, When, at, xmm};
use crate::compile::Version;
use crate::emit;
use crate::host::{Host, SCRATCH_MASKS, V};
use crate::marks::Marks;
use crate::memory::{Access, BASE, DATA, DIFFERENCES, FIRST, OFFSETS, Place, TEMPS};

/// The first place that enabled lanes access.
pub(crate) const NEAR: Register = Register::R8;
/// Marks of enabled lanes.
const ENABLED: Marks = Marks { vector: TEMPS[7], mask: SCRATCH_MASKS[0] };
/// Where the stack has the distances of lanes from [`NEAR`].
pub(crate) const DISTANCES: i32 = emit::STACK - 64;
/// The smallest address in all lanes.
const LEAST: u8 = 2;

impl Access<'_, '_> {
    /// In code for waves with disabled lanes: jumps if no lane of a group is enabled, and if only some are.
    fn enabled(&mut self, chunk: u8, none: Label, some: Label) {
        if self.compiler.version == Version::Full {
            return;
        }
        let lanes = self.lanes();
        let exec = self.compiler.lane_bits(scalar::EXEC, chunk);
        let load = if lanes == 16 { Movzx_r32_rm16 } else { Movzx_r32_rm8 };
        let asm = &mut self.compiler.asm;
        asm.load(load, Register::ECX, exec);
        asm.two(Test_rm32_r32, Register::ECX, Register::ECX);
        asm.jump_if(When::Equal, none);
        asm.imm(Cmp_rm32_imm32, Register::ECX, (1 << lanes) - 1);
        asm.jump_if(When::NotEqual, some);
    }

    /// The smallest and the largest address of the enabled lanes, in EAX and EDX.
    fn extremes(&mut self, register: u16) {
        let is_masked = self.compiler.version == Version::Masked;
        let [least, most, lanes, other, ..] = TEMPS;
        for chunk in 0..self.compiler.chunks() {
            let from = self.file(register, chunk);
            if chunk == 0 && is_masked {
                let asm = &mut self.compiler.asm;
                let ones = asm.dword(u32::MAX);
                asm.spread(least, ones);
                asm.zero(most);
            }
            match (is_masked, chunk) {
                (false, 0) => {
                    self.compiler.asm.fetch(least, from);
                    self.compiler.asm.copy(most, least);
                }
                (false, _) => {
                    self.compiler.asm.op(V::MinUnsigned, least, least, Arg::Memory(from));
                    self.compiler.asm.op(V::MaxUnsigned, most, most, Arg::Memory(from));
                }
                (true, _) => {
                    self.mark_enabled(chunk);
                    // Disabled lanes are what does not matter.
                    let asm = &mut self.compiler.asm;
                    asm.fetch(lanes, from);
                    asm.select(other, ENABLED, Arg::Register(lanes), least);
                    asm.op(V::MinUnsigned, least, least, Arg::Register(other));
                    asm.select(other, ENABLED, Arg::Register(lanes), most);
                    asm.op(V::MaxUnsigned, most, most, Arg::Register(other));
                }
            }
        }
        let asm = &mut self.compiler.asm;
        asm.reduce(least, VEX_Vpminud_xmm_xmm_xmmm128);
        asm.two(VEX_Vmovd_rm32_xmm, Register::EAX, xmm(least));
        asm.reduce(most, VEX_Vpmaxud_xmm_xmm_xmmm128);
        asm.two(VEX_Vmovd_rm32_xmm, Register::EDX, xmm(most));
    }

    /// Marks the enabled lanes of a group.
    fn mark_enabled(&mut self, chunk: u8) {
        let exec = self.compiler.lane_bits(scalar::EXEC, chunk);
        self.compiler.asm.mark_bits(ENABLED, exec);
    }

    /// Jumps to the handler unless everything from the smallest to the largest address of enabled lanes may
    /// be accessed. Then [`NEAR`] is the first of these places, and the lanes of [`LEAST`] its address.
    fn check_extent(&mut self) {
        let Source::Vector(register) = self.step.src[0] else { return };
        let (least, span) = self.extent();
        let end = least + span + self.bytes();
        self.extremes(register);
        let slow = self.slow;
        let asm = &mut self.compiler.asm;
        // Distances must be positive as numbers of 32 bits.
        asm.two(Mov_r32_rm32, Register::ECX, Register::EDX);
        asm.two(Sub_r32_rm32, Register::ECX, Register::EAX);
        asm.jump_if(When::Negative, slow);
        asm.two(VEX_Vmovd_xmm_rm32, xmm(LEAST), Register::EAX);
        asm.lea(NEAR, BASE, Register::RAX, 0);
        if self.entry.place == Place::Global {
            let check = self.compiler.check(self.entry.store);
            let asm = &mut self.compiler.asm;
            asm.two(Mov_r64_rm64, Register::RCX, NEAR);
            asm.lea(Register::RDX, BASE, Register::RDX, end as i32);
            asm.call(check);
            asm.jump_if(When::Above, slow);
        } else {
            let size = at(WAVE, self.compiler.input.layout.lds_size);
            let asm = &mut self.compiler.asm;
            asm.imm(Add_rm64_imm32, Register::RDX, end as i32);
            asm.load(Mov_r32_rm32, Register::ECX, size);
            asm.two(Cmp_r64_rm64, Register::RDX, Register::RCX);
            asm.jump_if(When::Above, slow);
        }
        self.compiler.asm.spread_first(LEAST, LEAST);
    }

    /// Loads of groups with patterns of their own.
    pub(crate) fn group_loads(&mut self) {
        let Source::Vector(address) = self.step.src[0] else { return };
        let accesses: Vec<(u32, u16)> = self.shifts().into_iter().zip(self.registers()).collect();
        let dwords = usize::from(self.entry.dwords);
        let is_masked = self.compiler.version == Version::Masked;
        let end = self.compiler.asm.label();
        if is_masked {
            let exec = at(WAVE, self.compiler.slot(scalar::EXEC));
            let code = if self.compiler.input.lanes == 64 { Cmp_rm64_imm8 } else { Cmp_rm32_imm8 };
            self.compiler.asm.memory_imm(code, exec, 0);
            self.compiler.asm.jump_if(When::Equal, end);
        }
        self.check_extent();
        self.from = NEAR;
        // The data's registers, and where they wait.
        let mut waiting: Vec<(u16, u8, i32)> = Vec::new();
        // Handlers need the addresses.
        let overwrites = dwords > 1 && self.overwrites_addresses();
        for chunk in 0..self.compiler.chunks() {
            let [same, any, some, done, none] = [0; 5].map(|_| self.compiler.asm.label());
            self.enabled(chunk, none, some);
            let from = self.file(address, chunk);
            self.near_address(from);
            let steps = self.steps();
            self.unless_equal(DIFFERENCES, steps, same);
            for ((shift, _), values) in accesses.iter().zip(DATA.chunks(dwords)) {
                self.load_consecutive(*shift, values);
            }
            self.compiler.asm.jump(done);
            self.compiler.asm.place(same);
            let zero = self.compiler.asm.literal(0);
            self.unless_equal(DIFFERENCES, zero, any);
            for ((shift, _), values) in accesses.iter().zip(DATA.chunks(dwords)) {
                self.load_same(*shift, values);
            }
            self.compiler.asm.jump(done);
            self.compiler.asm.place(some);
            if is_masked {
                let from = self.file(address, chunk);
                self.near_address(from);
            }
            self.compiler.asm.place(any);
            if let Some(narrow) = self.entry.narrow {
                self.places(chunk);
                for ((shift, _), to) in accesses.iter().zip(DATA) {
                    self.gather_narrow(narrow, *shift, to);
                }
            } else if dwords == 1 {
                for ((shift, first), to) in accesses.iter().zip(DATA) {
                    if is_masked {
                        let old = self.file(*first, chunk);
                        self.compiler.asm.fetch(to, old);
                    }
                    self.gather(to, *shift, chunk);
                }
            } else {
                self.places(chunk);
                for ((shift, first), values) in accesses.iter().zip(DATA.chunks(dwords)) {
                    self.gather_wide(*shift, values);
                    if is_masked {
                        self.keep_disabled(*first, values, chunk);
                    }
                }
            }
            self.compiler.asm.place(done);
            let mut puts = Vec::new();
            for ((_, first), values) in accesses.iter().zip(DATA.chunks(dwords)) {
                for (i, &value) in values.iter().enumerate() {
                    let register = first + i as u16;
                    let to = if overwrites {
                        let place = 64 * waiting.len() as i32;
                        waiting.push((register, chunk, place));
                        at(Register::RSP, place)
                    } else {
                        self.file(register, chunk)
                    };
                    let value = match self.entry.narrow {
                        Some(narrow) => {
                            let value = self.in_part(narrow, value, to);
                            if is_masked {
                                self.keep_disabled(register, &[value], chunk);
                            }
                            value
                        }
                        None => value,
                    };
                    self.compiler.asm.store(to, value);
                    puts.push((register, to));
                }
            }
            if overwrites && is_masked {
                let next = self.compiler.asm.label();
                self.compiler.asm.jump(next);
                self.compiler.asm.place(none);
                for (register, to) in puts {
                    let from = self.file(register, chunk);
                    self.compiler.asm.fetch(DATA[0], from);
                    self.compiler.asm.store(to, DATA[0]);
                }
                self.compiler.asm.place(next);
            } else {
                self.compiler.asm.place(none);
            }
        }
        for (register, chunk, place) in waiting {
            let to = self.file(register, chunk);
            self.compiler.asm.fetch(DATA[0], at(Register::RSP, place));
            self.compiler.asm.store(to, DATA[0]);
        }
        self.compiler.asm.place(end);
    }

    /// The distances of a group's lanes from [`NEAR`], that of the first one, which goes to RAX, and the
    /// differences from it.
    fn near_address(&mut self, from: MemoryOperand) {
        let asm = &mut self.compiler.asm;
        asm.fetch(OFFSETS, from);
        asm.op(V::Sub, OFFSETS, OFFSETS, Arg::Register(LEAST));
        asm.two(VEX_Vmovd_rm32_xmm, Register::EAX, xmm(OFFSETS));
        asm.spread_first(DIFFERENCES, OFFSETS);
        asm.op(V::Sub, DIFFERENCES, OFFSETS, Arg::Register(DIFFERENCES));
    }

    /// A dword for each enabled lane of a group.
    fn gather(&mut self, to: u8, shift: u32, chunk: u8) {
        match self.compiler.version {
            Version::Masked => self.mark_enabled(chunk),
            Version::Full => self.compiler.asm.mark_all(ENABLED),
        }
        self.compiler.asm.gather(to, NEAR, OFFSETS, shift.into(), ENABLED);
    }

    /// Writes the lanes' distances from [`NEAR`] to the stack: zero for disabled lanes, which is a place that
    /// may be accessed.
    fn places(&mut self, chunk: u8) {
        if self.compiler.version == Version::Masked {
            self.mark_enabled(chunk);
            let (zero, asm) = (TEMPS[0], &mut self.compiler.asm);
            asm.zero(zero);
            asm.select(OFFSETS, ENABLED, Arg::Register(OFFSETS), zero);
        }
        self.compiler.asm.store(at(Register::RSP, DISTANCES), OFFSETS);
    }

    /// Two or four dwords for each lane of a group, at [`Access::places`]. A lane's are read at once.
    fn gather_wide(&mut self, shift: u32, values: &[u8]) {
        let lanes = self.lanes() as u8;
        let wide = values.len() == 4;
        // Each register has every fourth lane; then lanes' first, second, third and fourth dwords.
        let (parts, other) = (&TEMPS[..4], TEMPS[4]);
        for lane in 0..lanes {
            let asm = &mut self.compiler.asm;
            let (part, place) = (parts[usize::from(lane % 4)], u32::from(lane / 4));
            asm.load(Mov_r32_rm32, Register::ECX, at(Register::RSP, DISTANCES + 4 * i32::from(lane)));
            let from = MemoryOperand::new(
                NEAR,
                Register::RCX,
                1,
                shift.into(),
                u32::from(shift != 0),
                false,
                Register::None,
            );
            let to = if place == 0 { part } else { other };
            asm.load(if wide { VEX_Vmovdqu_xmm_xmmm128 } else { VEX_Vmovq_xmm_xmmm64 }, xmm(to), from);
            if place > 0 {
                asm.insert(part, other, place);
            }
        }
        let (low, high, low_pair, high_pair) = match self.compiler.asm.host {
            Host::Avx2 => (
                VEX_Vunpcklps_ymm_ymm_ymmm256,
                VEX_Vunpckhps_ymm_ymm_ymmm256,
                VEX_Vunpcklpd_ymm_ymm_ymmm256,
                VEX_Vunpckhpd_ymm_ymm_ymmm256,
            ),
            Host::Avx512 => (
                EVEX_Vunpcklps_zmm_k1z_zmm_zmmm512b32,
                EVEX_Vunpckhps_zmm_k1z_zmm_zmmm512b32,
                EVEX_Vunpcklpd_zmm_k1z_zmm_zmmm512b64,
                EVEX_Vunpckhpd_zmm_k1z_zmm_zmmm512b64,
            ),
        };
        let [a, b, c, d, e, f, g, h] = TEMPS;
        let asm = &mut self.compiler.asm;
        asm.vector3(low, e, a, Arg::Register(b));
        asm.vector3(low, f, c, Arg::Register(d));
        asm.vector3(low_pair, values[0], e, Arg::Register(f));
        asm.vector3(high_pair, values[1], e, Arg::Register(f));
        if let [_, _, third, fourth] = *values {
            asm.vector3(high, g, a, Arg::Register(b));
            asm.vector3(high, h, c, Arg::Register(d));
            asm.vector3(low_pair, third, g, Arg::Register(h));
            asm.vector3(high_pair, fourth, g, Arg::Register(h));
        }
    }

    /// Lanes that are disabled keep what their registers hold.
    fn keep_disabled(&mut self, first: u16, values: &[u8], chunk: u8) {
        let old = TEMPS[0];
        self.mark_enabled(chunk);
        for (register, &value) in (first..).zip(values) {
            let from = self.file(register, chunk);
            self.compiler.asm.fetch(old, from);
            self.compiler.asm.select(value, ENABLED, Arg::Register(value), old);
        }
    }

    /// Whether the data's registers are also the addresses'.
    fn overwrites_addresses(&self) -> bool {
        let Source::Vector(address) = self.step.src[0] else { return false };
        let wide = self.entry.place == Place::Global && !matches!(self.step.src[2], Source::Scalar(_));
        let addresses = address..address + 1 + u16::from(wide);
        self.registers().into_iter().any(|first| {
            let end = first + u16::from(self.entry.dwords);
            first < addresses.end && addresses.start < end
        })
    }

    /// Stores of groups with patterns of their own.
    pub(crate) fn group_stores(&mut self) {
        let (least, span) = self.extent();
        let bytes = self.bytes();
        // Nothing is written before all of it is known to be allowed.
        for chunk in 0..self.compiler.chunks() {
            let (next, none) = (self.compiler.asm.label(), self.compiler.asm.label());
            let first = at(Register::RSP, 8 * i32::from(chunk));
            self.enabled(chunk, none, self.slow);
            self.addresses(chunk);
            let steps = self.steps();
            self.unless_equal(DIFFERENCES, steps, self.slow);
            self.check(span + self.lanes() * bytes);
            self.compiler.asm.write(Mov_rm64_r64, first, FIRST);
            if self.compiler.version == Version::Masked {
                self.compiler.asm.jump(next);
                self.compiler.asm.place(none);
                self.compiler.asm.memory_imm(Mov_rm64_imm32, first, -1);
            }
            self.compiler.asm.place(next);
        }
        for (chunk, shift, register) in self.order() {
            let next = self.compiler.asm.label();
            self.compiler.asm.load(Mov_r64_rm64, FIRST, at(Register::RSP, 8 * i32::from(chunk)));
            if self.compiler.version == Version::Masked {
                self.compiler.asm.two(Test_rm64_r64, FIRST, FIRST);
                self.compiler.asm.jump_if(When::Negative, next);
            }
            self.store_consecutive(shift - least, register, chunk);
            self.compiler.asm.place(next);
        }
    }
}
