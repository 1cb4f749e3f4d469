//! Loads and stores in global memory and LDS whose lanes access the same place or consecutive ones.
//! Everything else, and accesses that are not known to be allowed, are for the handlers.

use iced_x86::Code::*;
use iced_x86::Register;
use vgpu_isa::{Op, scalar};

use crate::asm::{Arg, WAVE, When, at, mask, xmm};
use crate::compile::{Compiler, SlowLabel, Version};
use crate::values::Key;
use vgpu_exec::native::{Source, Step};

/// An operation: the dwords of each lane.
#[derive(Clone, Copy)]
struct Entry {
    dwords: u8,
    store: bool,
    place: Place,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// LDS, once.
    Lds,
    /// LDS, at two offsets.
    LdsTwice,
    /// Global memory.
    Global,
}

const LANES: u32 = 16;
const K: u8 = 5;

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

/// Emits an operation; returns false if it has no native form, or none in code for waves with disabled lanes.
pub(crate) fn emit(compiler: &mut Compiler<'_>, op: Op, step: &Step) -> bool {
    let Some(entry) = find(op).filter(|entry| accepts(entry, step)) else { return false };
    if compiler.version == Version::Masked {
        return false;
    }
    let accesses = if entry.place == Place::LdsTwice { 2 } else { 1 };
    let chunks = usize::from(compiler.chunks());
    // Data, addresses, and intermediate results.
    let needed = chunks * (usize::from(entry.dwords) * accesses + 2) + 7;
    compiler.values.freeze(&mut compiler.asm, needed);
    let slow = compiler.slow_label();
    let mut access = Access { compiler, step, entry, slow: &slow };
    if entry.store {
        access.stores()
    } else {
        access.loads()
    }
    compiler.values.thaw();
    compiler.slow(slow);
    true
}

/// The registers of the addresses of a chunk's first lane: LDS, or all of memory.
const BASE: Register = Register::RSI;
/// The address of a chunk's first lane, relative to [`BASE`].
const FIRST: Register = Register::RAX;

struct Access<'c, 'a> {
    compiler: &'c mut Compiler<'a>,
    step: &'c Step,
    entry: Entry,
    slow: &'c SlowLabel,
}

impl Access<'_, '_> {
    fn bytes(&self) -> u32 {
        u32::from(self.entry.dwords) * 4
    }

    /// The offsets of the accesses of a lane.
    fn shifts(&self) -> Vec<u32> {
        match self.entry.place {
            Place::LdsTwice => self.step.offsets.to_vec(),
            Place::Lds => vec![self.step.offset as u32],
            Place::Global => vec![0],
        }
    }

    /// The first register of the data of each access.
    fn registers(&self) -> Vec<u16> {
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

    /// The lanes' 32-bit addresses, in a register of the host.
    fn offsets(&mut self, chunk: u8) -> u8 {
        let Source::Vector(register) = self.step.src[0] else { return 0 };
        self.compiler.values.register(&mut self.compiler.asm, Key::Vector { register, chunk })
    }

    /// The differences of the lanes' addresses to that of the first lane, which goes to [`FIRST`].
    fn differences(&mut self, offsets: u8) -> u8 {
        let to = self.compiler.values.temp(&mut self.compiler.asm);
        let asm = &mut self.compiler.asm;
        asm.two(EVEX_Vmovd_rm32_xmm, Register::EAX, xmm(offsets));
        asm.vector2_from_xmm(EVEX_Vpbroadcastd_zmm_k1z_xmmm32, to, offsets);
        asm.vector3(EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32, to, offsets, Arg::Zmm(to), 0);
        to
    }

    /// Sets [`BASE`] before the first chunk.
    fn base(&mut self) {
        let layout = self.compiler.input.layout;
        if self.entry.place != Place::Global {
            self.compiler.asm.load(Mov_r64_rm64, BASE, at(WAVE, layout.lds));
            return;
        }
        let slow = self.slow.label;
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
                let register = register + 1;
                let mut first = None;
                for chunk in 0..self.compiler.chunks() {
                    let key = Key::Vector { register, chunk };
                    let high = self.compiler.values.register(&mut self.compiler.asm, key);
                    let first = *first.get_or_insert_with(|| {
                        let to = self.compiler.values.temp(&mut self.compiler.asm);
                        let asm = &mut self.compiler.asm;
                        asm.two(EVEX_Vmovd_rm32_xmm, Register::EDX, xmm(high));
                        asm.vector2_from_xmm(EVEX_Vpbroadcastd_zmm_k1z_xmmm32, to, high);
                        to
                    });
                    let asm = &mut self.compiler.asm;
                    asm.test(EVEX_Vpcmpeqd_kr_k1_zmm_zmmm512b32, K, high, Arg::Zmm(first), 0);
                    asm.two(VEX_Kortestw_kr_kr, mask(K), mask(K));
                    asm.jump_if(When::AboveOrEqual, slow);
                }
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
    fn check(&mut self, bytes: u32) {
        let slow = self.slow.label;
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
        let store = self.entry.store;
        let check =
            *self.compiler.checks[usize::from(store)].get_or_insert_with(|| self.compiler.asm.label());
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

    /// The places of a chunk's data in consecutive lanes: memory of an access, and the dwords after it.
    fn memory(&self, shift: u32, part: u32) -> iced_x86::MemoryOperand {
        let displacement = i64::from(shift) + i64::from(part);
        iced_x86::MemoryOperand::new(
            BASE,
            FIRST,
            1,
            displacement,
            u32::from(displacement != 0),
            false,
            Register::None,
        )
    }

    /// The smallest of the offsets, which is added to the lanes' addresses, and the bytes from there on.
    fn extent(&self) -> (u32, u32) {
        let shifts = self.shifts();
        let least = shifts.iter().copied().min().unwrap_or(0);
        let most = shifts.iter().copied().max().unwrap_or(0);
        (least, most - least)
    }

    /// The address of the first lane with the smallest offset, as the sum of 32 bits that it is.
    fn add_shift(&mut self, least: u32) {
        if least != 0 {
            self.compiler.asm.imm(Add_rm32_imm32, Register::EAX, least as i32);
        }
    }

    fn loads(&mut self) {
        self.base();
        let (least, span) = self.extent();
        let (dwords, bytes) = (self.entry.dwords, self.bytes());
        let slow = self.slow.label;
        let accesses: Vec<(u32, u16)> = self.shifts().into_iter().zip(self.registers()).collect();
        let mut results: Vec<(u16, u8, u8)> = Vec::new();
        for chunk in 0..self.compiler.chunks() {
            let offsets = self.offsets(chunk);
            let differences = self.differences(offsets);
            self.add_shift(least);
            let values: Vec<(u32, u16, Vec<u8>)> = accesses
                .iter()
                .map(|(shift, first)| {
                    let values = (0..dwords).map(|_| self.compiler.values.temp(&mut self.compiler.asm));
                    (shift - least, *first, values.collect())
                })
                .collect();
            let (same, done) = (self.compiler.asm.label(), self.compiler.asm.label());
            self.is_consecutive(differences);
            self.compiler.asm.jump_if(When::AboveOrEqual, same);
            self.check(span + LANES * bytes);
            for (shift, _, values) in &values {
                self.load_consecutive(*shift, values);
            }
            self.compiler.asm.jump(done);
            self.compiler.asm.place(same);
            let asm = &mut self.compiler.asm;
            asm.test(EVEX_Vptestmd_kr_k1_zmm_zmmm512b32, K, differences, Arg::Zmm(differences), 0);
            asm.two(VEX_Kortestw_kr_kr, mask(K), mask(K));
            asm.jump_if(When::NotEqual, slow);
            self.check(span + bytes);
            for (shift, _, values) in &values {
                // In one access, so that all lanes see the same value.
                let from = self.memory(*shift, 0);
                let asm = &mut self.compiler.asm;
                match values.as_slice() {
                    [one] => {
                        asm.vector2(EVEX_Vpbroadcastd_zmm_k1z_xmmm32, *one, Arg::Memory(from), 0);
                    }
                    [low, high] => {
                        asm.vector2(EVEX_Vpbroadcastq_zmm_k1z_xmmm64, *low, Arg::Memory(from), 0);
                        asm.vector2i(EVEX_Vpshufd_zmm_k1z_zmmm512b32_imm8, *high, Arg::Zmm(*low), 0x55, 0);
                        asm.vector2i(EVEX_Vpshufd_zmm_k1z_zmmm512b32_imm8, *low, Arg::Zmm(*low), 0, 0);
                    }
                    all => {
                        let last = all[all.len() - 1];
                        asm.vector2(EVEX_Vbroadcasti32x4_zmm_k1z_m128, last, Arg::Memory(from), 0);
                        for (i, value) in all.iter().enumerate() {
                            let pick = 0x55 * i as u8;
                            asm.vector2i(
                                EVEX_Vpshufd_zmm_k1z_zmmm512b32_imm8,
                                *value,
                                Arg::Zmm(last),
                                pick,
                                0,
                            );
                        }
                    }
                }
            }
            self.compiler.asm.place(done);
            for (_, first, values) in values {
                results.extend(values.iter().enumerate().map(|(i, value)| (first + i as u16, chunk, *value)));
            }
            let held: Vec<u8> = results.iter().map(|(.., value)| *value).collect();
            self.compiler.values.unpin_except(&held, &[]);
        }
        if self.entry.place == Place::Global {
            // Most often the next wave needs what follows.
            let lines = self.compiler.input.lanes as u32 * bytes / 64;
            for line in 0..lines.min(4) {
                let from = self.memory(0, LANES * bytes + 64 * line);
                self.compiler.asm.prefetch(from);
            }
        }
        for (register, chunk, value) in results {
            self.compiler.values.set(register, chunk, value);
        }
    }

    /// Whether the lanes' addresses are consecutive; the host's carry flag says so.
    fn is_consecutive(&mut self, differences: u8) {
        let bytes = self.bytes();
        let asm = &mut self.compiler.asm;
        let steps = asm.literal_lanes(std::array::from_fn(|lane| lane as u32 * bytes));
        asm.test(EVEX_Vpcmpeqd_kr_k1_zmm_zmmm512b32, K, differences, steps, 0);
        asm.two(VEX_Kortestw_kr_kr, mask(K), mask(K));
    }

    fn load_consecutive(&mut self, shift: u32, values: &[u8]) {
        let loads: Vec<Arg> =
            (0..values.len() as u32).map(|i| Arg::Memory(self.memory(shift, 64 * i))).collect();
        let move_ = EVEX_Vmovdqu32_zmm_k1z_zmmm512;
        let interleaved = EVEX_Vpermi2d_zmm_k1z_zmm_zmmm512b32;
        let even: [u32; 16] = std::array::from_fn(|i| 2 * i as u32);
        let odd = even.map(|i| i + 1);
        match *values {
            [one] => self.compiler.asm.vector2(move_, one, loads[0], 0),
            [low, high] => {
                let [a, b] = [0, 1].map(|_| self.compiler.values.temp(&mut self.compiler.asm));
                let asm = &mut self.compiler.asm;
                // Memory is read once: it may change.
                asm.vector2(move_, a, loads[0], 0);
                asm.vector2(move_, b, loads[1], 0);
                // The index registers become the results.
                for (to, index) in [(low, even), (high, odd)] {
                    let index = asm.literal_lanes(index);
                    asm.vector2(move_, to, index, 0);
                    asm.vector3(interleaved, to, a, Arg::Zmm(b), 0);
                }
            }
            [first, second, third, fourth] => {
                let [a, b, c, d] = [0, 1, 2, 3].map(|_| self.compiler.values.temp(&mut self.compiler.asm));
                let asm = &mut self.compiler.asm;
                let (even_index, odd_index) = (asm.literal_lanes(even), asm.literal_lanes(odd));
                for (to, from) in [a, b, c, d].into_iter().zip(loads) {
                    asm.vector2(move_, to, from, 0);
                }
                // Even and odd dwords of each half: the results' even and odd lanes follow.
                for (to, from, rest, index) in [
                    (first, a, b, even_index),
                    (second, a, b, odd_index),
                    (third, c, d, even_index),
                    (fourth, c, d, odd_index),
                ] {
                    asm.vector2(move_, to, index, 0);
                    asm.vector3(interleaved, to, from, Arg::Zmm(rest), 0);
                }
                for (low, high) in [(first, third), (second, fourth)] {
                    // `a` and `c` are the indices.
                    asm.vector2(move_, a, even_index, 0);
                    asm.vector2(move_, c, odd_index, 0);
                    asm.vector3(interleaved, a, low, Arg::Zmm(high), 0);
                    asm.vector3(interleaved, c, low, Arg::Zmm(high), 0);
                    asm.vector2(EVEX_Vmovdqa32_zmm_k1z_zmmm512, low, Arg::Zmm(a), 0);
                    asm.vector2(EVEX_Vmovdqa32_zmm_k1z_zmmm512, high, Arg::Zmm(c), 0);
                }
            }
            _ => {}
        }
    }

    fn stores(&mut self) {
        self.base();
        let (least, span) = self.extent();
        let bytes = self.bytes();
        let slow = self.slow.label;
        let chunks = self.compiler.chunks();
        // Nothing is written before all of it is known to be allowed.
        let mut firsts = Vec::new();
        for chunk in 0..chunks {
            let offsets = self.offsets(chunk);
            let differences = self.differences(offsets);
            self.add_shift(least);
            self.is_consecutive(differences);
            self.compiler.asm.jump_if(When::AboveOrEqual, slow);
            self.check(span + LANES * bytes);
            let held = [Register::R8, Register::R9, Register::R10, Register::R11][usize::from(chunk)];
            self.compiler.asm.two(Mov_r64_rm64, held, FIRST);
            firsts.push(held);
            self.compiler.values.unpin_except(&[], &[]);
        }
        let accesses: Vec<(u32, u16)> = self.shifts().into_iter().zip(self.registers()).collect();
        for (chunk, held) in firsts.into_iter().enumerate() {
            self.compiler.asm.two(Mov_r64_rm64, FIRST, held);
            for &(shift, first) in &accesses {
                self.store_consecutive(shift - least, first, chunk as u8);
                self.compiler.values.unpin_except(&[], &[]);
            }
        }
        if self.entry.place == Place::Global {
            let stored = at(WAVE, self.compiler.input.layout.stored);
            self.compiler.asm.memory_imm(Mov_rm8_imm8, stored, 1);
        }
    }

    fn store_consecutive(&mut self, shift: u32, first: u16, chunk: u8) {
        let dwords = self.entry.dwords;
        let sources: Vec<u8> = (0..u16::from(dwords))
            .map(|i| {
                let key = Key::Vector { register: first + i, chunk };
                self.compiler.values.register(&mut self.compiler.asm, key)
            })
            .collect();
        let interleaved = |low: bool| -> [u32; 16] {
            let start = if low { 0 } else { 8 };
            std::array::from_fn(|i| (i as u32 / 2 + start) + if i % 2 == 0 { 0 } else { 16 })
        };
        let mut pieces = Vec::new();
        match *sources.as_slice() {
            [one] => pieces.push(one),
            [low, high] => {
                for half in [true, false] {
                    pieces.push(self.interleave(low, high, interleaved(half)));
                }
            }
            [a, b, c, d] => {
                // Lanes' pairs of even and of odd dwords, then all four.
                for half in [true, false] {
                    let even = self.interleave(a, c, interleaved(half));
                    let odd = self.interleave(b, d, interleaved(half));
                    for part in [true, false] {
                        pieces.push(self.interleave(even, odd, interleaved(part)));
                    }
                }
            }
            _ => {}
        }
        for (i, piece) in pieces.into_iter().enumerate() {
            let to = self.memory(shift, 64 * i as u32);
            self.compiler.asm.store(to, piece, 0);
        }
    }

    /// Dwords of two registers in the order of indices.
    fn interleave(&mut self, a: u8, b: u8, index: [u32; 16]) -> u8 {
        let to = self.compiler.values.temp(&mut self.compiler.asm);
        let asm = &mut self.compiler.asm;
        let index = asm.literal_lanes(index);
        asm.vector2(EVEX_Vmovdqu32_zmm_k1z_zmmm512, to, index, 0);
        asm.vector3(EVEX_Vpermi2d_zmm_k1z_zmm_zmmm512b32, to, a, Arg::Zmm(b), 0);
        to
    }
}

/// Emits the subroutines that check ranges of memory: RCX is the first address, RDX that after the last. They
/// return with flags of "above" if no range permits the access.
pub(crate) fn subroutines(compiler: &mut Compiler<'_>) {
    let ranges = compiler.input.layout.ranges;
    for (store, label) in compiler.checks.into_iter().enumerate() {
        let Some(label) = label else { continue };
        let asm = &mut compiler.asm;
        asm.place(label);
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
                $($(Op::$op)|+ => Entry { dwords: $dwords, store: $store, place: Place::$place },)*
                _ => return None,
            })
        }
    };
}

table! {
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
