//! The shapes of addresses: how the lanes of a register differ from its first lane.
//!
//! Shapes change less often than addresses, which loops add numbers to. So a wave's native code keeps the
//! shapes of some registers on the stack, in *records*. The first access with an address of unknown shape
//! makes the record; what writes the register removes it, unless it only adds the same to all lanes. All this
//! is for code of waves with all lanes enabled; in others, writes remove records and accesses ignore them.
//! Addresses that are used once before their shape changes have none.

use std::collections::BTreeMap;

use iced_x86::Code::*;
use iced_x86::Register;
use vgpu_exec::native::{Input, Kind, Source, Step};
use vgpu_isa::Op;

use crate::asm::{Arg, FILE, Label, When, at, xmm};
use crate::compile::{Compiler, Version};
use crate::emit;
use crate::host::{SCRATCH_MASKS, V};
use crate::marks::Marks;
use crate::memory::{self, OFFSETS, TEMPS};

/// Records of a unit; addresses beyond them have none.
const RECORDS: usize = 16;
/// Vector registers, with those for sums of matrices.
const REGISTERS: u16 = 512;
/// Bytes of a record.
const SIZE: i32 = 64;

/// In a record: whether it is known, a dword.
pub(crate) const KNOWN: i32 = 0;
/// In a record: how many bytes from one lane to the next, if that is the same within each group of lanes that
/// fills a register of the host, otherwise [`NO_STEP`].
pub(crate) const STEP: i32 = 4;
/// In a record: the smallest and the largest difference from the first lane, as signed numbers.
pub(crate) const LOW: i32 = 8;
pub(crate) const HIGH: i32 = 12;
/// In a record: the differences of the first lanes of groups, each in half as many bytes as a group has
/// lanes.
pub(crate) const FIRSTS: i32 = 16;
/// No access has such a step.
const NO_STEP: i32 = -1;

/// What each step means for shapes.
#[derive(Clone, Copy, Default, Debug)]
struct About {
    /// The record of the shape of its address, if all lanes are enabled.
    address: Option<u8>,
    /// Whether it leaves the shape of what it writes, if all lanes are enabled.
    keeps: bool,
}

/// The records of a unit.
#[derive(Default, Debug)]
pub(crate) struct Shapes {
    /// The register of each record.
    records: Vec<u16>,
    steps: Vec<About>,
    /// Subroutines that make records: the record, from the lanes of a register.
    makers: Vec<(u8, u16, Label)>,
}

impl Shapes {
    /// Looks at the blocks of a unit, which begin at `starts`.
    pub(crate) fn new(input: &Input<'_>, starts: impl Iterator<Item = u32>) -> Shapes {
        let mut starts = starts.peekable();
        // Registers that differ from others by the same in all lanes.
        let mut roots: BTreeMap<u16, u16> = BTreeMap::new();
        let mut block = 0;
        let mut steps = vec![About::default(); input.steps.len()];
        // Accesses: the step, the block, and the register whose shape the address has.
        let mut accesses: Vec<(usize, usize, u16)> = Vec::new();
        // The steps that change a register's shape.
        let mut changes: BTreeMap<u16, Vec<usize>> = BTreeMap::new();
        for (i, step) in input.steps.iter().enumerate() {
            if starts.next_if(|start| *start as usize == i).is_some() {
                roots.clear();
                block = i;
            }
            let root = |register| roots.get(&register).copied().unwrap_or(register);
            let op = if let Kind::Operation(op) = step.kind { Some(op) } else { None };
            if let (Some(op), Source::Vector(register)) = (op, step.src[0])
                && memory::is_native(op, step)
            {
                accesses.push((i, block, root(register)));
            }
            let moved = op.and_then(|op| moved(op, step)).map(|(to, from)| (to, root(from)));
            if moved.is_some_and(|(to, root)| to == root) {
                steps[i].keeps = true;
                continue;
            }
            let [start, end] = step.written;
            (start..end.min(REGISTERS)).for_each(|register| changes.entry(register).or_default().push(i));
            forget(&mut roots, step);
            if let Some((to, root)) = moved {
                roots.insert(to, root);
            }
        }
        let loops = loops(input.steps);
        let mut together: BTreeMap<(usize, u16), usize> = BTreeMap::new();
        accesses.iter().for_each(|&(_, block, root)| *together.entry((block, root)).or_default() += 1);
        // Those whose record is used again: by another access of the block, or in a loop that keeps it.
        let used_again = |&(i, block, root): &(usize, usize, u16)| {
            let is_kept = loops[i].is_some_and(|(start, end)| {
                let changes = changes.get(&root).map_or(&[][..], Vec::as_slice);
                let next = changes.partition_point(|change| *change < start);
                changes.get(next).is_none_or(|change| *change > end)
            });
            is_kept || together[&(block, root)] > 1
        };
        accesses.retain(used_again);
        let mut uses: BTreeMap<u16, usize> = BTreeMap::new();
        accesses.iter().for_each(|(.., root)| *uses.entry(*root).or_default() += 1);
        let mut records: Vec<u16> = uses.keys().copied().collect();
        records.sort_by_key(|register| std::cmp::Reverse(uses[register]));
        records.truncate(RECORDS);
        for (i, _, root) in accesses {
            steps[i].address = records.iter().position(|other| *other == root).map(|record| record as u8);
        }
        Shapes { records, steps, makers: Vec::new() }
    }

    /// Bytes of all records.
    pub(crate) fn size(&self) -> i32 {
        SIZE * self.records.len() as i32
    }
}

/// The first and the last step of the innermost loop that each step is in: a backward jump and its target.
fn loops(steps: &[Step]) -> Vec<Option<(usize, usize)>> {
    // The last jump to each target; those before it belong to the same loop.
    let mut ends: BTreeMap<usize, usize> = BTreeMap::new();
    for (i, step) in steps.iter().enumerate() {
        if let Kind::Jump(_, to) = step.kind
            && to as usize <= i
        {
            ends.insert(to as usize, i);
        }
    }
    let mut open: Vec<(usize, usize)> = Vec::new();
    (0..steps.len())
        .map(|i| {
            open.extend(ends.get(&i).map(|end| (i, *end)));
            while open.last().is_some_and(|(_, end)| *end < i) {
                open.pop();
            }
            open.last().copied()
        })
        .collect()
}

/// No register that a step writes is the sum of another and a number any more, nor another that of it.
fn forget(roots: &mut BTreeMap<u16, u16>, step: &Step) {
    let [start, end] = step.written;
    let is_written = |register: &u16| (start..end).contains(register);
    roots.retain(|register, root| !is_written(register) && !is_written(root));
}

/// The destination and the source of an operation that adds the same to all lanes.
fn moved(op: Op, step: &Step) -> Option<(u16, u16)> {
    let mods = &step.mods;
    if mods.clamp || mods.neg != 0 || mods.abs != 0 || mods.omod != 0 || mods.op_sel != 0 {
        return None;
    }
    let [a, b, c, _] = step.src;
    let is_uniform = |source| matches!(source, Source::Scalar(_) | Source::Constant(_));
    let from = match op {
        Op::VMovB32 => a,
        Op::VAddNcU32 | Op::VAddNcI32 | Op::VAddCoU32 if is_uniform(a) => b,
        Op::VAddNcU32 | Op::VAddNcI32 | Op::VAddCoU32 if is_uniform(b) => a,
        Op::VSubNcU32 | Op::VSubNcI32 | Op::VSubCoU32 if is_uniform(b) => a,
        Op::VSubrevNcU32 | Op::VSubrevCoU32 if is_uniform(a) => b,
        Op::VAdd3U32 | Op::VLshlAddU32 if is_uniform(a) && is_uniform(b) => c,
        _ => return None,
    };
    match (step.dst, from) {
        (Some(to), Source::Vector(from)) => Some((to, from)),
        _ => None,
    }
}

/// The place of a record on the stack.
fn place(record: u8) -> i32 {
    emit::STACK + SIZE * i32::from(record)
}

impl Compiler<'_> {
    /// At the start: no shape is known.
    pub(crate) fn clear_records(&mut self) {
        for record in 0..self.shapes.records.len() {
            let known = at(Register::RSP, place(record as u8) + KNOWN);
            self.asm.memory_imm(Mov_rm32_imm32, known, 0);
        }
    }

    /// The current step is about to write registers: removes their records.
    pub(crate) fn remove_records(&mut self, step: &Step) {
        let keeps = self.version == Version::Full && self.shapes.steps[self.at as usize].keeps;
        let [start, end] = step.written;
        for record in 0..self.shapes.records.len() {
            if !keeps && (start..end).contains(&self.shapes.records[record]) {
                let known = at(Register::RSP, place(record as u8) + KNOWN);
                self.asm.memory_imm(Mov_rm32_imm32, known, 0);
            }
        }
    }

    /// Makes the record of the address of the current step if it is not known: the address is in a register.
    /// Returns its place.
    pub(crate) fn record(&mut self, register: u16) -> Option<i32> {
        if self.version == Version::Masked {
            return None;
        }
        let record = self.shapes.steps[self.at as usize].address?;
        let known_maker = self.shapes.makers.iter().find(|maker| (maker.0, maker.1) == (record, register));
        let maker = match known_maker {
            Some((.., label)) => *label,
            None => {
                let label = self.asm.label();
                self.shapes.makers.push((record, register, label));
                label
            }
        };
        let is_known = self.asm.label();
        let place = place(record);
        self.asm.memory_imm(Cmp_rm32_imm8, at(Register::RSP, place + KNOWN), 0);
        self.asm.jump_if(When::NotEqual, is_known);
        self.asm.call(maker);
        self.asm.place(is_known);
        Some(place)
    }

    /// Emits the subroutines that make records.
    pub(crate) fn record_makers(&mut self) {
        for (record, register, label) in std::mem::take(&mut self.shapes.makers) {
            self.asm.place(label);
            self.make_record(record, register);
            self.asm.bare(Retnq);
        }
    }

    fn make_record(&mut self, record: u8, register: u16) {
        // The return address is on the stack.
        let field = |offset: i32| at(Register::RSP, place(record) + 8 + offset);
        let [first, step, expected, low, high, ..] = TEMPS;
        let all = Marks { vector: TEMPS[5], mask: SCRATCH_MASKS[0] };
        let equal = Marks { vector: expected, mask: SCRATCH_MASKS[1] };
        let half = self.asm.host.lanes() as i32 / 2;
        let lane = at(FILE, self.register_place(register, 0));
        self.asm.spread(first, lane);
        for chunk in 0..self.chunks() {
            let lanes = at(FILE, self.register_place(register, chunk));
            let asm = &mut self.asm;
            asm.fetch(OFFSETS, lanes);
            asm.op(V::Sub, OFFSETS, OFFSETS, Arg::Register(first));
            asm.write(VEX_Vmovd_rm32_xmm, field(FIRSTS + half * i32::from(chunk)), xmm(OFFSETS));
            if chunk == 0 {
                asm.two_imm(VEX_Vpextrd_rm32_xmm_imm8, Register::ECX, xmm(OFFSETS), 1);
                asm.write(Mov_rm32_r32, field(STEP), Register::ECX);
                asm.spread(step, field(STEP));
                let numbers = asm.literal_lanes(std::array::from_fn(|lane| lane as u32));
                asm.op(V::Mul, step, step, Arg::Memory(numbers));
                asm.copy(low, OFFSETS);
                asm.copy(high, OFFSETS);
            } else {
                asm.op(V::MinSigned, low, low, Arg::Register(OFFSETS));
                asm.op(V::MaxSigned, high, high, Arg::Register(OFFSETS));
            }
            asm.spread_first(expected, OFFSETS);
            asm.op(V::Add, expected, expected, Arg::Register(step));
            asm.mark(V::Equal, if chunk == 0 { all } else { equal }, expected, Arg::Register(OFFSETS));
            if chunk > 0 {
                asm.combine(V::BothMasks, all, equal);
            }
        }
        let asm = &mut self.asm;
        let [irregular, regular] = [0; 2].map(|_| asm.label());
        asm.jump_unless_all(all, irregular);
        asm.jump(regular);
        asm.place(irregular);
        asm.memory_imm(Mov_rm32_imm32, field(STEP), NO_STEP);
        asm.place(regular);
        asm.reduce(low, VEX_Vpminsd_xmm_xmm_xmmm128);
        asm.write(VEX_Vmovd_rm32_xmm, field(LOW), xmm(low));
        asm.reduce(high, VEX_Vpmaxsd_xmm_xmm_xmmm128);
        asm.write(VEX_Vmovd_rm32_xmm, field(HIGH), xmm(high));
        asm.memory_imm(Mov_rm32_imm32, field(KNOWN), 1);
    }
}
