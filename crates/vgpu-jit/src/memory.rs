//! Loads and stores in global memory and LDS, for groups of lanes that access the same place or consecutive
//! ones. Everything else, and accesses that are not known to be allowed, are for the handlers.

use iced_x86::Code::*;
use iced_x86::{MemoryOperand, Register};
use vgpu_isa::{Op, scalar};

use crate::asm::{Arg, FILE, Label, WAVE, When, at, xmm};
use crate::compile::{Compiler, Version};
use crate::host::{Host, SCRATCH_MASKS, V};
use crate::marks::Marks;
use crate::narrow::Narrow;
use crate::shapes::{FIRSTS, HIGH as HIGHEST, LOW as LOWEST, STEP};
use vgpu_exec::native::{Kind, Source, Step};

/// An operation: the dwords of each lane.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) dwords: u8,
    pub(crate) store: bool,
    pub(crate) place: Place,
    /// Elements that are smaller than a register.
    pub(crate) narrow: Option<Narrow>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// LDS, once.
    Lds,
    /// LDS, at two offsets.
    LdsTwice,
    /// Global memory.
    Global,
}

/// Whether an operation has a native form with these operands.
pub(crate) fn is_native(op: Op, step: &Step) -> bool {
    find(op).is_some_and(|entry| accepts(&entry, step))
}

fn accepts(entry: &Entry, step: &Step) -> bool {
    let address = matches!(step.src[0], Source::Vector(_));
    let data = match (entry.store, entry.place) {
        (false, _) => step.dst.is_some(),
        (true, Place::LdsTwice) => {
            matches!((step.src[1], step.src[3]), (Source::Vector(_), Source::Vector(_)))
        }
        (true, _) => matches!(step.src[1], Source::Vector(_)),
    };
    let base = match (entry.place, step.src[2]) {
        (Place::Global, Source::Scalar(slot)) => slot < scalar::M0,
        (Place::Global, Source::Constant(_)) | (Place::Lds | Place::LdsTwice, _) => true,
        (Place::Global, _) => false,
    };
    address && data && base
}

/// Emits an operation; returns false if it has no native form.
pub(crate) fn emit(compiler: &mut Compiler<'_>, op: Op, step: &Step) -> bool {
    let Some(entry) = find(op).filter(|entry| accepts(entry, step)) else { return false };
    let slow = compiler.asm.label();
    let mut access = Access { compiler, step, entry, slow, from: BASE, looped: false };
    if entry.store {
        access.stores()
    } else {
        access.loads()
    }
    compiler.slow(slow);
    true
}

/// LDS, or the part of all lanes' addresses that is the same.
pub(crate) const BASE: Register = Register::RSI;
/// The address of a group's first lane, relative to [`Access::from`].
pub(crate) const FIRST: Register = Register::RAX;
/// The address of the wave's first lane, relative to it, of accesses by shape.
const LANE: Register = Register::R10;
/// The first group of lanes, in loops over sixteen lanes at a time: an eighth of its place in a vector
/// register, and its place in the differences of first lanes of a record.
const GROUPS: Register = Register::R11;
/// Registers of the host: the lanes' addresses, their differences to the first one, the high half of the
/// wave's first address, data, and intermediate results.
pub(crate) const OFFSETS: u8 = 0;
pub(crate) const DIFFERENCES: u8 = 1;
const HIGH: u8 = 2;
pub(crate) const DATA: [u8; 4] = [3, 4, 5, 6];
pub(crate) const TEMPS: [u8; 8] = [7, 8, 9, 10, 11, 12, 13, 14];

/// An access of a wave.
pub(crate) struct Access<'c, 'a> {
    pub(crate) compiler: &'c mut Compiler<'a>,
    pub(crate) step: &'c Step,
    pub(crate) entry: Entry,
    /// Where the handler is called.
    pub(crate) slow: Label,
    /// What [`FIRST`] is relative to.
    pub(crate) from: Register,
    /// Whether groups of lanes are those at [`GROUPS`] and after it.
    looped: bool,
}

/// Loads with other shapes than those that are expected: the code for them is at the end.
pub(crate) struct Other {
    at: u32,
    label: Label,
    /// Where code continues.
    back: Label,
    /// Where the handler is called.
    slow: Label,
}

/// Emits the code of such loads.
pub(crate) fn others(compiler: &mut Compiler<'_>) {
    for Other { at, label, back, slow } in std::mem::take(&mut compiler.others) {
        let step = compiler.input.steps[at as usize];
        let Kind::Operation(op) = step.kind else { continue };
        let Some(entry) = find(op) else { continue };
        (compiler.at, compiler.version) = (at, Version::Full);
        compiler.asm.place(label);
        Access { compiler, step: &step, entry, slow, from: BASE, looped: false }.group_loads();
        compiler.asm.jump(back);
    }
}

impl Access<'_, '_> {
    pub(crate) fn lanes(&self) -> u32 {
        self.compiler.asm.host.lanes() as u32
    }

    pub(crate) fn bytes(&self) -> u32 {
        self.entry.narrow.map_or(4 * u32::from(self.entry.dwords), |narrow| narrow.bytes.into())
    }

    /// The offsets of the accesses of a lane.
    pub(crate) fn shifts(&self) -> Vec<u32> {
        match self.entry.place {
            Place::LdsTwice => self.step.offsets.to_vec(),
            Place::Lds => vec![self.step.offset as u32],
            Place::Global => vec![0],
        }
    }

    /// The first register of the data of each access.
    pub(crate) fn registers(&self) -> Vec<u16> {
        let vector = |i: usize| if let Source::Vector(register) = self.step.src[i] { register } else { 0 };
        match (self.entry.store, self.entry.place) {
            (false, Place::LdsTwice) => {
                let first = self.step.dst.unwrap_or(0);
                vec![first, first + u16::from(self.entry.dwords)]
            }
            (false, _) => vec![self.step.dst.unwrap_or(0)],
            (true, Place::LdsTwice) => vec![vector(1), vector(3)],
            (true, _) => vec![vector(1)],
        }
    }

    /// The groups of sixteen lanes with the offset and the first register of each access, in the order of the
    /// handlers.
    fn sixteen(&self) -> Vec<(u8, u32, u16)> {
        let groups = (16 / self.lanes()) as u8;
        let accesses = self.shifts().into_iter().zip(self.registers());
        accesses.flat_map(|(shift, first)| (0..groups).map(move |chunk| (chunk, shift, first))).collect()
    }

    /// All groups, in the same order: all accesses of sixteen lanes, then those of the next ones.
    pub(crate) fn order(&self) -> Vec<(u8, u32, u16)> {
        let starts = (0..self.compiler.chunks()).step_by((16 / self.lanes()) as usize);
        let of = |start: u8| self.sixteen().into_iter().map(move |(chunk, s, r)| (start + chunk, s, r));
        starts.flat_map(of).collect()
    }

    /// The smallest of the offsets, which is added to the lanes' addresses, and the bytes from there on.
    pub(crate) fn extent(&self) -> (u32, u32) {
        let shifts = self.shifts();
        let least = shifts.iter().copied().min().unwrap_or(0);
        let most = shifts.iter().copied().max().unwrap_or(0);
        (least, most - least)
    }

    /// A vector register's lanes in the register file.
    pub(crate) fn file(&self, register: u16, chunk: u8) -> MemoryOperand {
        let place = self.compiler.register_place(register, chunk);
        if self.looped {
            let sized = u32::from(place != 0);
            return MemoryOperand::new(FILE, GROUPS, 8, place.into(), sized, false, Register::None);
        }
        at(FILE, place)
    }

    /// Jumps unless two registers are equal in all lanes.
    pub(crate) fn unless_equal(&mut self, a: u8, b: Arg, to: Label) {
        let marks = Marks { vector: self.compiler.asm.host.scratch()[1], mask: SCRATCH_MASKS[0] };
        self.compiler.asm.mark(V::Equal, marks, a, b);
        self.compiler.asm.jump_unless_all(marks, to);
    }

    /// Jumps unless all lanes of a vector register are `first`, in all lanes.
    fn unless_same(&mut self, register: u16, first: u8, to: Label) {
        for chunk in 0..self.compiler.chunks() {
            let found = Arg::Memory(self.file(register, chunk));
            self.unless_equal(first, found, to);
        }
    }

    /// Reads the addresses of a group's lanes: that of the first one, with the smallest offset, goes to
    /// [`FIRST`].
    pub(crate) fn addresses(&mut self, chunk: u8) {
        let Source::Vector(register) = self.step.src[0] else { return };
        let from = self.file(register, chunk);
        let (least, _) = self.extent();
        let asm = &mut self.compiler.asm;
        asm.fetch(OFFSETS, from);
        asm.two(VEX_Vmovd_rm32_xmm, Register::EAX, xmm(OFFSETS));
        asm.spread_first(DIFFERENCES, OFFSETS);
        asm.op(V::Sub, DIFFERENCES, OFFSETS, Arg::Register(DIFFERENCES));
        if least != 0 {
            // A sum of 32 bits.
            asm.imm(Add_rm32_imm32, Register::EAX, least as i32);
        }
    }

    /// The addresses of consecutive lanes, less the first.
    pub(crate) fn steps(&mut self) -> Arg {
        let bytes = self.bytes();
        Arg::Memory(self.compiler.asm.literal_lanes(std::array::from_fn(|lane| lane as u32 * bytes)))
    }

    /// Sets [`BASE`] before the first group.
    fn base(&mut self) {
        let layout = self.compiler.input.layout;
        if self.entry.place != Place::Global {
            self.compiler.asm.load(Mov_r64_rm64, BASE, at(WAVE, layout.lds));
            return;
        }
        match self.step.src[2] {
            Source::Scalar(slot) => {
                let (low, high) = (self.compiler.slot(slot), self.compiler.slot(slot + 1));
                let asm = &mut self.compiler.asm;
                asm.load(Mov_r32_rm32, Register::ESI, at(WAVE, low));
                asm.load(Mov_r32_rm32, Register::EDX, at(WAVE, high));
            }
            _ => {
                // The high halves must be the same in all lanes.
                let Source::Vector(register) = self.step.src[0] else { return };
                let from = self.file(register + 1, 0);
                self.compiler.asm.fetch(OFFSETS, from);
                self.compiler.asm.two(VEX_Vmovd_rm32_xmm, Register::EDX, xmm(OFFSETS));
                self.compiler.asm.spread_first(HIGH, OFFSETS);
                self.unless_same(register + 1, HIGH, self.slow);
                self.compiler.asm.two(Xor_r32_rm32, Register::ESI, Register::ESI);
            }
        }
        let asm = &mut self.compiler.asm;
        asm.imm(Shl_rm64_imm8, Register::RDX, 32);
        asm.two(Or_r64_rm64, Register::RSI, Register::RDX);
        if self.step.offset != 0 {
            asm.imm(Add_rm64_imm32, Register::RSI, self.step.offset);
        }
    }

    /// Jumps to the handler unless so many bytes at [`FIRST`] may be accessed.
    pub(crate) fn check(&mut self, bytes: u32) {
        let slow = self.slow;
        let layout = self.compiler.input.layout;
        if self.entry.place != Place::Global {
            // The sum has no carry, because `FIRST` has 32 bits.
            let asm = &mut self.compiler.asm;
            asm.load(Mov_r32_rm32, Register::ECX, at(WAVE, layout.lds_size));
            asm.imm(Sub_rm64_imm32, Register::RCX, bytes as i32);
            asm.jump_if(When::Below, slow);
            asm.two(Cmp_r64_rm64, FIRST, Register::RCX);
            asm.jump_if(When::Above, slow);
            return;
        }
        let check = self.compiler.check(self.entry.store);
        let asm = &mut self.compiler.asm;
        // The addresses of consecutive lanes must not wrap around.
        asm.two(Mov_r32_rm32, Register::ECX, Register::EAX);
        asm.imm(Add_rm32_imm32, Register::ECX, bytes as i32);
        asm.jump_if(When::Below, slow);
        asm.lea(Register::RCX, BASE, FIRST, 0);
        asm.lea(Register::RDX, BASE, FIRST, bytes as i32);
        asm.call(check);
        asm.jump_if(When::Above, slow);
    }

    /// Memory at [`FIRST`] plus some bytes.
    fn memory(&self, shift: u32) -> MemoryOperand {
        let shift = i64::from(shift);
        MemoryOperand::new(self.from, FIRST, 1, shift, u32::from(shift != 0), false, Register::None)
    }

    /// Accesses by the shape of the addresses, if that is known to the compiler: jumps to a label if the
    /// lanes of a group are not consecutive. The step is in ECX then, and the address of the wave's first
    /// lane in [`LANE`]; all places may be accessed.
    fn by_shape(&mut self, other: Label, each: impl Fn(&mut Self, u32, u16, u8)) -> Option<i32> {
        let Source::Vector(register) = self.step.src[0] else { return None };
        let record = self.compiler.record(register)?;
        let field = |offset: i32| at(Register::RSP, record + offset);
        let (slow, bytes) = (self.slow, self.bytes() as i32);
        let (least, span) = self.extent();
        let end = (least + span) as i32 + bytes;
        let lane = self.file(register, 0);
        let asm = &mut self.compiler.asm;
        asm.load(Mov_r32_rm32, Register::R10D, lane);
        // Addresses that wrap around are for the handler.
        asm.load(Movsxd_r64_rm32, Register::RCX, field(LOWEST));
        asm.two(Add_r64_rm64, Register::RCX, LANE);
        asm.jump_if(When::Negative, slow);
        asm.load(Movsxd_r64_rm32, Register::RDX, field(HIGHEST));
        asm.two(Add_r64_rm64, Register::RDX, LANE);
        if self.entry.place == Place::Global {
            asm.two(Mov_r64_rm64, Register::R9, Register::RDX);
            asm.imm(Shr_rm64_imm8, Register::R9, 32);
            asm.jump_if(When::NotEqual, slow);
            asm.two(Add_r64_rm64, Register::RCX, BASE);
            asm.lea(Register::RDX, BASE, Register::RDX, end);
            let check = self.compiler.check(self.entry.store);
            self.compiler.asm.call(check);
        } else {
            asm.imm(Add_rm64_imm32, Register::RDX, end);
            let size = at(WAVE, self.compiler.input.layout.lds_size);
            let asm = &mut self.compiler.asm;
            asm.load(Mov_r32_rm32, Register::R9D, size);
            asm.two(Cmp_r64_rm64, Register::RDX, Register::R9);
        }
        let asm = &mut self.compiler.asm;
        asm.jump_if(When::Above, slow);
        asm.load(Mov_r32_rm32, Register::ECX, field(STEP));
        asm.imm(Cmp_rm32_imm32, Register::ECX, bytes);
        asm.jump_if(When::NotEqual, other);
        self.each_sixteen(|access| {
            let mut last = None;
            for (chunk, shift, first) in access.sixteen() {
                if last.replace(chunk) != Some(chunk) {
                    access.first_of(record, chunk);
                }
                each(access, shift, first, chunk);
            }
        });
        Some(record)
    }

    /// A loop over sixteen lanes at a time, which are the first ones from [`GROUPS`] on.
    fn each_sixteen(&mut self, body: impl FnOnce(&mut Self)) {
        let start = self.compiler.asm.label();
        self.compiler.asm.two(Xor_r32_rm32, Register::R11D, Register::R11D);
        self.compiler.asm.place(start);
        self.looped = true;
        body(self);
        self.looped = false;
        self.compiler.asm.imm(Add_rm32_imm8, Register::R11D, 8);
        self.compiler.asm.imm(Cmp_rm32_imm8, Register::R11D, self.compiler.input.lanes as i32 / 2);
        self.compiler.asm.jump_if(When::NotEqual, start);
    }

    /// Sets [`FIRST`] to the address of a group's first lane.
    fn first_of(&mut self, record: i32, chunk: u8) {
        let place = record + FIRSTS + self.lanes() as i32 / 2 * i32::from(chunk);
        let difference = MemoryOperand::new(Register::RSP, GROUPS, 1, place.into(), 1, false, Register::None);
        self.compiler.asm.load(Movsxd_r64_rm32, FIRST, difference);
        self.compiler.asm.two(Add_r64_rm64, FIRST, LANE);
    }

    fn loads(&mut self) {
        self.base();
        let dwords = usize::from(self.entry.dwords);
        let [end, same] = [0; 2].map(|_| self.compiler.asm.label());
        let load = |access: &mut Self, shift: u32, first: u16, chunk: u8| {
            access.load_consecutive(shift, &DATA[..dwords]);
            access.put(first, chunk, &DATA[..dwords]);
        };
        let record = self.by_shape(same, load);
        if let Some(record) = record {
            self.compiler.asm.jump(end);
            self.compiler.asm.place(same);
            let label = self.compiler.asm.label();
            self.same_loads(record, label);
            self.compiler.others.push(Other { at: self.compiler.at, label, back: end, slow: self.slow });
        } else if let Some(label) = self.whole(load) {
            self.compiler.others.push(Other { at: self.compiler.at, label, back: end, slow: self.slow });
        } else {
            self.group_loads();
        }
        self.compiler.asm.place(end);
    }

    /// Accesses of the whole wave to consecutive places, if all lanes are enabled. If the places are others,
    /// code continues at the returned label.
    fn whole(&mut self, each: impl Fn(&mut Self, u32, u16, u8)) -> Option<Label> {
        let Source::Vector(register) = self.step.src[0] else { return None };
        if self.compiler.version == Version::Masked {
            return None;
        }
        let other = self.compiler.asm.label();
        let (least, span) = self.extent();
        let (lanes, bytes) = (self.lanes(), self.bytes());
        let expected = TEMPS[0];
        let all = Marks { vector: TEMPS[1], mask: SCRATCH_MASKS[0] };
        let equal = Marks { vector: expected, mask: SCRATCH_MASKS[1] };
        let from = self.file(register, 0);
        let asm = &mut self.compiler.asm;
        asm.spread(DIFFERENCES, from);
        asm.load(Mov_r32_rm32, Register::EAX, from);
        for chunk in 0..self.compiler.chunks() {
            let found = Arg::Memory(self.file(register, chunk));
            let start = u32::from(chunk) * lanes;
            let asm = &mut self.compiler.asm;
            let steps = asm.literal_lanes(std::array::from_fn(|lane| (start + lane as u32) * bytes));
            asm.op(V::Add, expected, DIFFERENCES, Arg::Memory(steps));
            asm.mark(V::Equal, if chunk == 0 { all } else { equal }, expected, found);
            if chunk > 0 {
                asm.combine(V::BothMasks, all, equal);
            }
        }
        let asm = &mut self.compiler.asm;
        asm.jump_unless_all(all, other);
        if least != 0 {
            // A sum of 32 bits.
            asm.imm(Add_rm32_imm32, Register::EAX, least as i32);
        }
        self.check(span + self.compiler.input.lanes as u32 * bytes);
        for (chunk, shift, first) in self.order() {
            each(self, shift - least + u32::from(chunk) * lanes * bytes, first, chunk);
        }
        Some(other)
    }

    /// Loads of groups of which all lanes have the same address, after [`Access::by_shape`]. Jumps to a label
    /// if that is not so.
    fn same_loads(&mut self, record: i32, other: Label) {
        let dwords = usize::from(self.entry.dwords);
        let accesses: Vec<(u32, u16)> = self.shifts().into_iter().zip(self.registers()).collect();
        let [each, end] = [0; 2].map(|_| self.compiler.asm.label());
        let asm = &mut self.compiler.asm;
        asm.two(Test_rm32_r32, Register::ECX, Register::ECX);
        asm.jump_if(When::NotEqual, other);
        asm.load(Mov_r32_rm32, Register::ECX, at(Register::RSP, record + LOWEST));
        asm.load(Cmp_r32_rm32, Register::ECX, at(Register::RSP, record + HIGHEST));
        asm.jump_if(When::NotEqual, each);
        // All lanes of the wave.
        asm.two(Mov_r64_rm64, FIRST, LANE);
        for ((shift, _), values) in accesses.iter().zip(DATA.chunks(dwords)) {
            self.load_same(*shift, values);
        }
        self.each_sixteen(|access| {
            for ((_, first), values) in accesses.iter().zip(DATA.chunks(dwords)) {
                for chunk in 0..16 / access.lanes() as u8 {
                    access.put(*first, chunk, values);
                }
            }
        });
        self.compiler.asm.jump(end);
        self.compiler.asm.place(each);
        self.each_sixteen(|access| {
            for (chunk, shift, first) in access.sixteen() {
                access.first_of(record, chunk);
                access.load_same(shift, &DATA[..dwords]);
                access.put(first, chunk, &DATA[..dwords]);
            }
        });
        self.compiler.asm.place(end);
    }

    /// Writes what was loaded to registers.
    fn put(&mut self, first: u16, chunk: u8, values: &[u8]) {
        for (i, &value) in (0..).zip(values) {
            let to = self.file(first + i, chunk);
            let value = match self.entry.narrow {
                Some(narrow) => self.in_part(narrow, value, to),
                None => value,
            };
            self.compiler.asm.store(to, value);
        }
    }

    /// One place for all lanes, in one access, so that they see the same value.
    pub(crate) fn load_same(&mut self, shift: u32, values: &[u8]) {
        let from = self.memory(shift);
        if let Some(narrow) = self.entry.narrow {
            return self.load_same_narrow(narrow, from, values[0]);
        }
        let asm = &mut self.compiler.asm;
        let (wide, all, shuffle) = match asm.host {
            Host::Avx512 => (
                EVEX_Vpbroadcastq_zmm_k1z_xmmm64,
                EVEX_Vbroadcasti32x4_zmm_k1z_m128,
                EVEX_Vpshufd_zmm_k1z_zmmm512b32_imm8,
            ),
            Host::Avx2 => {
                (VEX_Vpbroadcastq_ymm_xmmm64, VEX_Vbroadcasti128_ymm_m128, VEX_Vpshufd_ymm_ymmm256_imm8)
            }
        };
        if let [one] = *values {
            asm.spread(one, from);
            return;
        }
        let last = values[values.len() - 1];
        asm.vector2(if values.len() == 2 { wide } else { all }, last, Arg::Memory(from));
        for (i, value) in values.iter().enumerate() {
            asm.vector2i(shuffle, *value, Arg::Register(last), 0x55 * i as u8);
        }
    }

    /// Consecutive lanes. Memory is read once, because it may change.
    pub(crate) fn load_consecutive(&mut self, shift: u32, values: &[u8]) {
        let size = 4 * self.lanes();
        if let [one] = *values {
            let from = self.memory(shift);
            if let Some(narrow) = self.entry.narrow {
                return self.load_consecutive_narrow(narrow, from, one);
            }
            self.compiler.asm.fetch(one, from);
            return;
        }
        for (i, &to) in (0..).zip(&TEMPS[..values.len()]) {
            let from = self.memory(shift + size * i);
            self.compiler.asm.fetch(to, from);
        }
        match (self.compiler.asm.host, values) {
            (Host::Avx512, &[low, high]) => {
                self.interleave(low, TEMPS[0], TEMPS[1], EVEN);
                self.interleave(high, TEMPS[0], TEMPS[1], ODD);
            }
            (Host::Avx512, &[first, second, third, fourth]) => {
                let [a, b, c, d, ..] = TEMPS;
                let [even, odd, more_even, more_odd] = [TEMPS[4], TEMPS[5], TEMPS[6], TEMPS[7]];
                // Even and odd dwords of each half: the results' even and odd lanes follow.
                self.interleave(even, a, b, EVEN);
                self.interleave(odd, a, b, ODD);
                self.interleave(more_even, c, d, EVEN);
                self.interleave(more_odd, c, d, ODD);
                self.interleave(first, even, more_even, EVEN);
                self.interleave(second, odd, more_odd, EVEN);
                self.interleave(third, even, more_even, ODD);
                self.interleave(fourth, odd, more_odd, ODD);
            }
            (Host::Avx2, &[low, high]) => {
                for (to, which) in [(low, 0x88), (high, 0xdd)] {
                    let asm = &mut self.compiler.asm;
                    asm.vector3i(
                        VEX_Vshufps_ymm_ymm_ymmm256_imm8,
                        to,
                        TEMPS[0],
                        Arg::Register(TEMPS[1]),
                        which,
                    );
                    asm.vector2i(VEX_Vpermq_ymm_ymmm256_imm8, to, Arg::Register(to), 0xd8);
                }
            }
            (Host::Avx2, &[x, y, z, w]) => {
                let [a, b, c, d, e, f, g, h] = TEMPS;
                // Each is two lanes; then lanes 0 and 4, 1 and 5, 2 and 6, 3 and 7.
                for (to, from, with, part) in
                    [(e, a, c, 0x20), (f, a, c, 0x31), (g, b, d, 0x20), (h, b, d, 0x31)]
                {
                    let asm = &mut self.compiler.asm;
                    asm.vector3i(VEX_Vperm2i128_ymm_ymm_ymmm256_imm8, to, from, Arg::Register(with), part);
                }
                self.unpack(a, e, f, VEX_Vunpcklps_ymm_ymm_ymmm256);
                self.unpack(b, e, f, VEX_Vunpckhps_ymm_ymm_ymmm256);
                self.unpack(c, g, h, VEX_Vunpcklps_ymm_ymm_ymmm256);
                self.unpack(d, g, h, VEX_Vunpckhps_ymm_ymm_ymmm256);
                self.unpack(x, a, c, VEX_Vunpcklpd_ymm_ymm_ymmm256);
                self.unpack(y, a, c, VEX_Vunpckhpd_ymm_ymm_ymmm256);
                self.unpack(z, b, d, VEX_Vunpcklpd_ymm_ymm_ymmm256);
                self.unpack(w, b, d, VEX_Vunpckhpd_ymm_ymm_ymmm256);
            }
            _ => {}
        }
    }

    fn unpack(&mut self, to: u8, a: u8, b: u8, code: iced_x86::Code) {
        self.compiler.asm.vector3(code, to, a, Arg::Register(b));
    }

    /// Dwords of two registers in the order of indices. AVX-512 only.
    fn interleave(&mut self, to: u8, a: u8, b: u8, index: [u32; 16]) {
        let asm = &mut self.compiler.asm;
        let index = asm.literal_lanes(index);
        asm.fetch(to, index);
        asm.vector3(EVEX_Vpermi2d_zmm_k1z_zmm_zmmm512b32, to, a, Arg::Register(b));
    }

    fn stores(&mut self) {
        self.base();
        // Others are for the handler.
        if self.by_shape(self.slow, Self::store_consecutive).is_none() {
            let end = self.compiler.asm.label();
            if let Some(groups) = self.whole(Self::store_consecutive) {
                self.compiler.asm.jump(end);
                self.compiler.asm.place(groups);
            }
            self.group_stores();
            self.compiler.asm.place(end);
        }
        if self.entry.place == Place::Global {
            let stored = at(WAVE, self.compiler.input.layout.stored);
            self.compiler.asm.memory_imm(Mov_rm8_imm8, stored, 1);
        }
    }

    pub(crate) fn store_consecutive(&mut self, shift: u32, first: u16, chunk: u8) {
        let dwords = usize::from(self.entry.dwords);
        let size = 4 * self.lanes();
        for (i, &to) in (0..).zip(&DATA[..dwords]) {
            let from = self.file(first + i, chunk);
            self.compiler.asm.fetch(to, from);
        }
        if let Some(narrow) = self.entry.narrow {
            let to = self.memory(shift);
            return self.store_consecutive_narrow(narrow, to);
        }
        let [x, y, z, w] = DATA;
        let [a, b, c, d, e, f, g, h] = TEMPS;
        let pieces: &[u8] = match (self.compiler.asm.host, dwords) {
            (_, 1) => &[x],
            (Host::Avx512, 2) => {
                self.interleave(a, x, y, FIRST_HALF);
                self.interleave(b, x, y, SECOND_HALF);
                &[a, b]
            }
            (Host::Avx512, _) => {
                // Lanes' pairs of even and of odd dwords, then all four.
                self.interleave(e, x, z, FIRST_HALF);
                self.interleave(f, y, w, FIRST_HALF);
                self.interleave(g, x, z, SECOND_HALF);
                self.interleave(h, y, w, SECOND_HALF);
                self.interleave(a, e, f, FIRST_HALF);
                self.interleave(b, e, f, SECOND_HALF);
                self.interleave(c, g, h, FIRST_HALF);
                self.interleave(d, g, h, SECOND_HALF);
                &[a, b, c, d]
            }
            (Host::Avx2, 2) => {
                self.unpack(c, x, y, VEX_Vunpcklps_ymm_ymm_ymmm256);
                self.unpack(d, x, y, VEX_Vunpckhps_ymm_ymm_ymmm256);
                self.halves(a, c, d, 0x20);
                self.halves(b, c, d, 0x31);
                &[a, b]
            }
            (Host::Avx2, _) => {
                self.unpack(a, x, y, VEX_Vunpcklps_ymm_ymm_ymmm256);
                self.unpack(b, x, y, VEX_Vunpckhps_ymm_ymm_ymmm256);
                self.unpack(c, z, w, VEX_Vunpcklps_ymm_ymm_ymmm256);
                self.unpack(d, z, w, VEX_Vunpckhps_ymm_ymm_ymmm256);
                // Lanes 0 and 4, 1 and 5, 2 and 6, 3 and 7.
                self.unpack(e, a, c, VEX_Vunpcklpd_ymm_ymm_ymmm256);
                self.unpack(f, a, c, VEX_Vunpckhpd_ymm_ymm_ymmm256);
                self.unpack(g, b, d, VEX_Vunpcklpd_ymm_ymm_ymmm256);
                self.unpack(h, b, d, VEX_Vunpckhpd_ymm_ymm_ymmm256);
                self.halves(a, e, f, 0x20);
                self.halves(b, g, h, 0x20);
                self.halves(c, e, f, 0x31);
                self.halves(d, g, h, 0x31);
                &[a, b, c, d]
            }
        };
        for (i, &piece) in (0..).zip(pieces) {
            let to = self.memory(shift + size * i);
            self.compiler.asm.store(to, piece);
        }
    }

    /// Halves of two registers. AVX2 only.
    fn halves(&mut self, to: u8, a: u8, b: u8, which: u8) {
        self.compiler.asm.vector3i(VEX_Vperm2i128_ymm_ymm_ymmm256_imm8, to, a, Arg::Register(b), which);
    }
}

/// Orders of the dwords of two registers.
const EVEN: [u32; 16] = [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30];
const ODD: [u32; 16] = [1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31];
const FIRST_HALF: [u32; 16] = [0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23];
const SECOND_HALF: [u32; 16] = [8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31];

/// Emits the subroutines that check ranges of memory: RCX is the first address, RDX that after the last. They
/// return with flags of "above" if no range permits the access.
pub(crate) fn subroutines(compiler: &mut Compiler<'_>) {
    let ranges = compiler.input.layout.ranges;
    for (store, label) in compiler.checks.into_iter().enumerate() {
        let Some(label) = label else { continue };
        let asm = &mut compiler.asm;
        asm.place(label);
        let refused = asm.label();
        // Around the end of the address space.
        asm.two(Cmp_r64_rm64, Register::RDX, Register::RCX);
        asm.jump_if(When::BelowOrEqual, refused);
        for number in 0..ranges.count {
            let range = ranges.first + number * ranges.size;
            let next = asm.label();
            asm.load(Cmp_r64_rm64, Register::RCX, at(WAVE, range + ranges.start));
            asm.jump_if(When::Below, next);
            if store == 1 {
                asm.memory_imm(Cmp_rm8_imm8, at(WAVE, range + ranges.writable), 0);
                asm.jump_if(When::Equal, next);
            }
            asm.load(Cmp_r64_rm64, Register::RDX, at(WAVE, range + ranges.end));
            asm.jump_if(When::Above, next);
            asm.bare(Retnq);
            asm.place(next);
        }
        asm.place(refused);
        // Not equal and without carry: above.
        asm.imm(Mov_r32_imm32, Register::ECX, 1);
        asm.imm(Cmp_rm32_imm32, Register::ECX, 0);
        asm.bare(Retnq);
    }
}

/// Rows: operations and their entries.
macro_rules! table {
    ($($($op:ident)|+ => $dwords:literal, $store:literal, $place:ident;)*) => {
        fn find(op: Op) -> Option<Entry> {
            Some(match op {
                $($(Op::$op)|+ => Entry {
                    dwords: $dwords,
                    store: $store,
                    place: Place::$place,
                    narrow: Narrow::of(op),
                },)*
                _ => return None,
            })
        }
    };
}

table! {
    GlobalLoadU8 | GlobalLoadI8 | GlobalLoadU16 | GlobalLoadI16 | GlobalLoadD16U8 | GlobalLoadD16HiU8
        | GlobalLoadD16I8 | GlobalLoadD16HiI8 | GlobalLoadD16B16 | GlobalLoadD16HiB16 => 1, false, Global;
    GlobalStoreB8 | GlobalStoreB16 | GlobalStoreD16HiB8 | GlobalStoreD16HiB16 => 1, true, Global;
    DsLoadU8 | DsLoadI8 | DsLoadU16 | DsLoadI16 | DsLoadU8D16 | DsLoadU8D16Hi | DsLoadI8D16 | DsLoadI8D16Hi
        | DsLoadU16D16 | DsLoadU16D16Hi => 1, false, Lds;
    DsStoreB8 | DsStoreB16 | DsStoreB8D16Hi | DsStoreB16D16Hi => 1, true, Lds;
    GlobalLoadB32 => 1, false, Global;
    GlobalLoadB64 => 2, false, Global;
    GlobalLoadB128 => 4, false, Global;
    GlobalStoreB32 => 1, true, Global;
    GlobalStoreB64 => 2, true, Global;
    GlobalStoreB128 => 4, true, Global;
    DsLoadB32 => 1, false, Lds;
    DsLoadB64 => 2, false, Lds;
    DsLoadB128 => 4, false, Lds;
    DsStoreB32 => 1, true, Lds;
    DsStoreB64 => 2, true, Lds;
    DsStoreB128 => 4, true, Lds;
    DsLoad2addrB32 | DsLoad2addrStride64B32 => 1, false, LdsTwice;
    DsLoad2addrB64 | DsLoad2addrStride64B64 => 2, false, LdsTwice;
    DsStore2addrB32 | DsStore2addrStride64B32 => 1, true, LdsTwice;
    DsStore2addrB64 | DsStore2addrStride64B64 => 2, true, LdsTwice;
}
