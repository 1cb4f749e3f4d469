//! Uninitialised bits where lanes read other lanes: permutes, DPP, matrices. The instruction itself moves the
//! bits: it runs on the masks of unknown bits instead of the data.

use super::transfer::Bits;
use super::twin::Twin;
use super::values::{State, Values, lanes, register_value, vector};
use crate::exec::{self, Wave};
use crate::isa::{Elem, Format, Inst, Modifiers, Op, Operand};

/// Registers of a twin.
const RESULT: u8 = 160;
const OPERANDS: [u8; 4] = [0, 40, 80, 120];

/// Source 0 after DPP.
pub(super) struct Moved {
    value: [[u32; 64]; 2],
    unknown: [[u32; 64]; 2],
    from: [[u32; 64]; 2],
    /// The lanes whose result is written.
    pub(super) written: u64,
}

impl Moved {
    pub(super) fn lane(&self, lane: usize) -> Bits {
        let wide = |of: &[[u32; 64]; 2]| u64::from(of[0][lane]) | u64::from(of[1][lane]) << 32;
        Bits { value: wide(&self.value), unknown: wide(&self.unknown) }
    }

    /// The origin of a lane's unknown bits.
    pub(super) fn from(&self, lane: usize) -> u32 {
        self.from[usize::from(self.unknown[0][lane] == 0)][lane]
    }
}

/// A register's unknown bits, lane by lane.
fn unknown_row(state: &State, register: usize) -> impl Iterator<Item = u32> + '_ {
    (0..state.lanes).map(move |lane| state.vector(register, lane))
}

/// Their origins.
fn from_row(state: &State, register: usize) -> impl Iterator<Item = u32> + '_ {
    (0..state.lanes).map(move |lane| state.from(register, lane))
}

fn value_row(wave: &Wave, register: usize) -> impl Iterator<Item = u32> + '_ {
    (0..usize::from(wave.lanes)).map(move |lane| register_value(wave, register, lane))
}

fn fill(row: &mut [u32], values: impl Iterator<Item = u32>) {
    row.iter_mut().zip(values).for_each(|(place, value)| *place = value);
}

/// One or more elements of a matrix in one or two registers.
#[derive(Clone, Copy)]
struct Element {
    bits: u32,
    /// A positive number, repeated to fill a register; of a 64-bit number, its upper half.
    one: u32,
}

impl Element {
    /// An element of A and B.
    fn source(op: Op) -> Element {
        let bits = exec::matrix::source_bits(op).unwrap_or(32);
        let one = match bits {
            4 => 0x1111_1111,
            8 => 0x3838_3838,
            16 => 0x3c00_3c00,
            32 => 0x3f80_0000,
            _ => 0x3ff0_0000,
        };
        Element { bits, one }
    }

    /// An element of C and D.
    fn result(op: Op) -> Element {
        match op.signature().dst.elem {
            Elem::F64 => Element { bits: 64, one: 0x3ff0_0000 },
            Elem::F16 | Elem::Bf16 => Element { bits: 16, one: 0x3c00_3c00 },
            _ => Element { bits: 32, one: 0x3f80_0000 },
        }
    }

    /// Ones in a register for the elements that have any of these bits set; `other` is the other register of
    /// a pair.
    fn marked(self, bits: u32, other: u32, is_high: bool) -> u32 {
        match self.bits {
            64 => {
                if is_high && bits | other != 0 {
                    self.one
                } else {
                    0
                }
            }
            _ => self.spread(bits) & self.one,
        }
    }

    /// All bits of the elements that have any of these bits set.
    fn spread(self, bits: u32) -> u32 {
        let element = if self.bits >= 32 { u32::MAX } else { (1 << self.bits) - 1 };
        let all = (0..32).step_by(self.bits.min(32) as usize).map(|shift| element << shift);
        all.filter(|element| bits & element != 0).fold(0, |all, element| all | element)
    }
}

impl Values {
    /// Source 0 of an instruction with DPP.
    pub(super) fn through_dpp(&self, index: usize, wave: &Wave, inst: &Inst) -> Moved {
        let state = &self.waves[index];
        let none = [[0; 64]; 2];
        let mut moved = Moved { value: none, unknown: none, from: none, written: wave.active() };
        let Some(register) = vector(inst.src[0]) else { return moved };
        let mov = Inst {
            op: Op::VMovB32,
            format: Format::Vop1,
            dst: Operand::Vgpr(RESULT),
            sdst: Operand::None,
            src: [Operand::Vgpr(OPERANDS[0]), Operand::None, Operand::None, Operand::None],
            mods: Modifiers::default(),
            dual: None,
            ..*inst
        };
        let mut twin = Twin::new(self.isa);
        let ready = twin.ready(&mov, state.lanes);
        let mut run = |row: &mut dyn Iterator<Item = u32>, before: u32| {
            twin.copy(wave);
            fill(twin.row(usize::from(OPERANDS[0])), row);
            twin.row(usize::from(RESULT)).fill(before);
            twin.run(&ready).then(|| twin.lanes(usize::from(RESULT)))
        };
        // Lanes that are not written keep their value.
        let kept = run(&mut std::iter::repeat(0), u32::MAX).unwrap_or([0; 64]);
        moved.written &=
            lanes(u64::MAX).filter(|lane| kept[*lane] == 0).fold(0, |mask, lane| mask | 1 << lane);
        let halves = if inst.op.signature().src[0].bits() == 64 { 2 } else { 1 };
        for half in 0..halves {
            moved.value[half] = run(&mut value_row(wave, register + half), 0).unwrap_or([0; 64]);
            moved.unknown[half] = run(&mut unknown_row(state, register + half), 0).unwrap_or([0; 64]);
            moved.from[half] = run(&mut from_row(state, register + half), 0).unwrap_or([0; 64]);
        }
        moved
    }

    /// Permutes and swizzles: one operand is data, the others select the source lanes.
    pub(super) fn exchange(&mut self, index: usize, wave: &Wave, inst: &Inst) {
        let Some(register) = vector(inst.dst) else { return };
        let per_lane = matches!(inst.op, Op::DsBpermuteB32 | Op::DsBpermuteFiB32);
        let data = usize::from(per_lane || inst.op == Op::DsPermuteB32);
        let state = &self.waves[index];
        let mut apart = Inst { dst: Operand::Vgpr(RESULT), ..*inst };
        let mut twin = Twin::new(self.isa);
        twin.copy(wave);
        fill(twin.row(usize::from(RESULT)), unknown_row(state, register));
        // The source of each lane's data, and the origin of the selecting operand if that is unknown.
        let mut sources: [u32; 64] = std::array::from_fn(|lane| state.from(register, lane % state.lanes));
        let before = sources;
        let (mut lost, mut chooser) = (0u64, [None; 64]);
        for (i, operand) in inst.src.iter().enumerate() {
            let row = OPERANDS[i];
            match (vector(*operand), *operand) {
                (Some(source), _) if i == data => {
                    fill(twin.row(usize::from(row)), unknown_row(state, source));
                    fill(&mut sources, from_row(state, source));
                }
                (Some(source), _) => {
                    fill(twin.row(usize::from(row)), value_row(wave, source));
                    let unknown = lanes(wave.active()).filter(|lane| state.vector(source, *lane) != 0);
                    let unknown = unknown.fold(0u64, |mask, lane| mask | 1 << lane);
                    if unknown != 0 {
                        lost |= if per_lane { unknown } else { u64::MAX };
                        chooser = std::array::from_fn(|lane| {
                            let known = !per_lane || state.vector(source, lane % state.lanes) == 0;
                            let own = (!known).then(|| state.from(source, lane % state.lanes));
                            own.or_else(|| (!per_lane).then(|| state.first_from(source)))
                        });
                    }
                }
                (None, Operand::Sgpr(slot)) => {
                    let slot = usize::from(slot);
                    let unknown = state.scalar.get(slot).copied().unwrap_or(0);
                    if i != data {
                        if unknown != 0 {
                            lost = u64::MAX;
                            chooser = [Some(state.scalar_from[slot]); 64];
                        }
                        continue;
                    }
                    twin.row(usize::from(row)).fill(unknown);
                    if unknown != 0 {
                        sources = [state.scalar_from[slot]; 64];
                    }
                }
                _ if i == data => twin.row(usize::from(row)).fill(0),
                _ => continue,
            }
            apart.src[i] = Operand::Vgpr(row);
        }
        let ready = twin.ready(&apart, state.lanes);
        let found = twin.run(&ready).then(|| twin.lanes(usize::from(RESULT)));
        // The same again with the origins.
        fill(twin.row(usize::from(RESULT)), before.into_iter());
        fill(twin.row(usize::from(OPERANDS[data])), sources.into_iter());
        let from = if twin.run(&ready) { twin.lanes(usize::from(RESULT)) } else { sources };
        let state = &mut self.waves[index];
        for lane in lanes(wave.active()) {
            let unknown = if lost >> lane & 1 != 0 { u32::MAX } else { found.map_or(0, |found| found[lane]) };
            state.set_vector(register, lane, unknown, chooser[lane].unwrap_or(from[lane]));
        }
        state.settle(register);
    }

    /// `v_swap_b16` exchanges halves of two registers.
    pub(super) fn swap_halves(&mut self, index: usize, wave: &Wave, inst: &Inst) {
        let (Some(a), Some(b)) = (vector(inst.dst), vector(inst.src[0])) else { return };
        let state = &self.waves[index];
        // Halves of the same register are exchanged in place.
        let rows = [OPERANDS[0], if a == b { OPERANDS[0] } else { OPERANDS[1] }];
        let mut twin = Twin::new(self.isa);
        twin.copy(wave);
        fill(twin.row(usize::from(rows[0])), unknown_row(state, a));
        fill(twin.row(usize::from(rows[1])), unknown_row(state, b));
        let mut apart = Inst { dst: Operand::Vgpr(rows[0]), ..*inst };
        apart.src[0] = Operand::Vgpr(rows[1]);
        let ready = twin.ready(&apart, state.lanes);
        if !twin.run(&ready) {
            return;
        }
        let found = rows.map(|row| twin.lanes(usize::from(row)));
        let state = &mut self.waves[index];
        for lane in lanes(wave.active()) {
            let from = [state.from(b, lane), state.from(a, lane)];
            state.set_vector(a, lane, found[0][lane], from[0]);
            state.set_vector(b, lane, found[1][lane], from[1]);
        }
        for register in [a, b] {
            state.settle(register);
        }
    }

    /// Matrix instructions: an element of the result is unknown if any element that contributes to it is.
    /// Unknown elements are set to one and all others to zero, and they are multiplied by ones. Then every
    /// nonzero element of the result is unknown.
    pub(super) fn matrix(&mut self, index: usize, wave: &Wave, inst: &Inst) {
        let Some(register) = vector(inst.dst) else { return };
        let state = &self.waves[index];
        let (op, width) = (inst.op, state.lanes as u8);
        let sparse = inst.src[3] != Operand::None;
        let accumulator = if sparse { 3 } else { 2 };
        let (source, result) = (Element::source(op), Element::result(op));
        let count = usize::from(inst.result_registers(width));
        let registers = |i: usize| {
            let first = vector(inst.src[i]);
            first.map_or(0..0, |first| first..first + usize::from(inst.source_registers(i, width)))
        };
        let is_unknown =
            |i: usize| registers(i).find(|register| unknown_row(state, *register).any(|bits| bits != 0));
        let mut mods = Modifiers { neg: 0, neg_hi: 0, abs: 0, clamp: false, ..inst.mods };
        if source.bits == 64 {
            mods.blgp = 0;
        }
        let mut apart = Inst { dst: Operand::Vgpr(RESULT), mods, ..*inst };
        for (i, (source, own)) in apart.src.iter_mut().zip(OPERANDS).enumerate() {
            if vector(*source).is_some() {
                *source = Operand::Vgpr(if sparse && i == accumulator { RESULT } else { own });
            } else if i == accumulator {
                *source = Operand::Int(0);
            }
        }
        let mut twin = Twin::new(self.isa);
        let ready = twin.ready(&apart, state.lanes);
        let mut unknown = vec![[0u32; 64]; count];
        let mut from = state.first_from(register);
        for (i, element) in [(0, source), (1, source), (accumulator, result)] {
            let Some(first) = is_unknown(i) else { continue };
            from = state.first_from(first);
            twin.copy(wave);
            // The accumulator may be the result.
            for row in 0..count {
                twin.row(usize::from(RESULT) + row).fill(0);
            }
            for operand in 0..4 {
                let Operand::Vgpr(row) = apart.src[operand] else { continue };
                let all = registers(operand);
                for (k, register) in all.clone().enumerate() {
                    let other = (all.start + (k ^ 1)).min(all.end - 1);
                    let values: Vec<u32> = (0..state.lanes)
                        .map(|lane| {
                            let bits = |register| state.vector(register, lane);
                            match operand {
                                _ if operand == i => element.marked(bits(register), bits(other), k % 2 != 0),
                                _ if operand == accumulator || i == accumulator && operand < 2 => 0,
                                2 => register_value(wave, register, lane),
                                _ => element.marked(u32::MAX, u32::MAX, k % 2 != 0),
                            }
                        })
                        .collect();
                    fill(twin.row(usize::from(row) + k), values.into_iter());
                }
            }
            let ran = twin.run(&ready);
            for (k, row) in unknown.iter_mut().enumerate() {
                let found = twin.lanes(usize::from(RESULT) + k);
                let other = twin.lanes(usize::from(RESULT) + (k ^ 1).min(count - 1));
                for lane in 0..state.lanes {
                    row[lane] |= match result.bits {
                        _ if !ran => u32::MAX,
                        64 if found[lane] | other[lane] != 0 => u32::MAX,
                        64 => 0,
                        _ => result.spread(found[lane]),
                    };
                }
            }
        }
        if sparse && let Some(first) = is_unknown(2) {
            from = state.first_from(first);
            unknown.fill([u32::MAX; 64]);
        }
        let state = &mut self.waves[index];
        for (k, row) in unknown.iter().enumerate() {
            for (lane, unknown) in row.iter().enumerate().take(state.lanes) {
                state.set_vector(register + k, lane, *unknown, from);
            }
            state.settle(register + k);
        }
    }
}
