//! Tracks uninitialised bits through vector instructions, lane by lane.

use super::exchange::Moved;
use super::transfer::{Bits, exact};
use super::twin::Twin;
use super::values::{COMPUTED, Found, Values, lanes, vector};
use crate::exec::Wave;
use crate::isa::{Elem, Fact, Format, Inst, Op, Operand, Type, scalar};
use crate::machine::Generation;
use crate::machine::observe::{Step, Verdict};
use gpu_report::Use;

/// The effect of an instruction on its sources in one lane.
#[derive(Clone, Copy)]
struct Outcome {
    /// Unknown bits of the result.
    unknown: u64,
    /// Bits of the destination that keep their value, if `unknown` covers the whole destination; none if it
    /// covers only the written part.
    kept: Option<u64>,
    /// Whether the second result, a lane mask, is unknown.
    second: bool,
    /// The origin of unknown bits.
    from: u32,
}

/// The bits of a part that sub-dword addressing selects.
fn selected(bits: Bits, select: u8) -> Bits {
    let part = |value: u64| match select {
        0..=3 => value >> (8 * select) & 0xff,
        4 => value & 0xffff,
        5 => value >> 16 & 0xffff,
        _ => value,
    };
    Bits { value: part(bits.value), unknown: part(bits.unknown) }
}

/// The part of a register that a source uses.
fn part(inst: &Inst, (number, ty): (usize, Type), bits: Bits) -> Bits {
    match inst.sdwa {
        Some(sdwa) if number < 2 => {
            let bits = selected(bits, sdwa.src_sel[number]);
            if ty.is_half() { selected(bits, 4) } else { bits }
        }
        _ if ty.is_half() => selected(bits, if inst.mods.op_sel >> number & 1 != 0 { 5 } else { 4 }),
        _ => bits,
    }
}

impl Values {
    /// The outcome in a lane of one half of a pair, or of a single instruction.
    fn outcome(
        &self,
        (index, step, wave): (usize, &Step<'_>, &Wave),
        inst: &Inst,
        is_second: bool,
        moved: Option<&Moved>,
        lane: usize,
    ) -> Outcome {
        let signature = inst.op.signature();
        let (mut sources, mut parts) = ([Bits::default(); 4], [Bits::default(); 4]);
        let mut from = None;
        for (i, operand) in inst.src.iter().enumerate() {
            let ty = signature.src[i];
            let mut found = self.source(index, wave, (*operand, ty), lane);
            if let (0, Some(moved)) = (i, moved) {
                found = (moved.lane(lane), moved.from(lane));
            }
            if found.0.unknown != 0 {
                from = from.or(Some(found.1));
            }
            sources[i] = found.0;
            parts[i] = part(inst, (i, ty), found.0);
        }
        // Where everything is known, this is not called.
        let moves = matches!(
            inst.op,
            Op::VMovB32
                | Op::VMovB64
                | Op::VCndmaskB32
                | Op::VAccvgprReadB32
                | Op::VAccvgprWriteB32
                | Op::VAccvgprMovB32
                | Op::VPkMovB32
                | Op::VMovB16
        );
        let from = from.unwrap_or(0) | if moves { 0 } else { COMPUTED };
        if parts.iter().all(|part| part.unknown == 0) {
            return Outcome { unknown: 0, kept: None, second: false, from };
        }
        // Modifiers change values, but not which bits are known.
        if let Some(bits) = exact(inst.op, parts) {
            return Outcome { unknown: bits.unknown, kept: None, second: bits.unknown != 0, from };
        }
        // Few values reveal what a comparison depends on: for equality with a constant, only this constant
        // does.
        if signature.dst.elem == Elem::Mask {
            return Outcome { unknown: u64::MAX, kept: None, second: true, from };
        }
        let key = (step.address, is_second);
        let twin = || Twin::new(self.isa);
        // SAFETY: a wave only runs decoded instructions.
        match unsafe { self.dependences.find(key, inst, wave.mode, twin) } {
            Some(dependence) => {
                let (unknown, second) = dependence.of(sources.map(|source| source.unknown));
                Outcome { unknown, kept: Some(dependence.kept), second, from }
            }
            None => Outcome { unknown: u64::MAX, kept: None, second: true, from },
        }
    }

    /// A vector instruction with unknown bits in some of its registers.
    pub(super) fn vector(&mut self, index: usize, step: &Step<'_>, wave: &Wave) -> Verdict {
        let inst = step.resolved;
        let op = inst.op;
        match op {
            Op::VReadfirstlaneB32 | Op::VReadlaneB32 => {
                self.read_lane(index, wave, inst);
                return Ok(());
            }
            Op::VWritelaneB32 => {
                self.write_lane(index, wave, inst);
                return Ok(());
            }
            Op::VSwapB32 => {
                if let (Some(a), Some(b)) = (vector(inst.dst), vector(inst.src[0])) {
                    self.swap(index, wave.active(), a, b);
                }
                return Ok(());
            }
            Op::VSwapB16 => {
                self.swap_halves(index, wave, inst);
                return Ok(());
            }
            _ if op.has(Fact::MFMA) || op.has(Fact::WMMA) => {
                self.matrix(index, wave, inst);
                return Ok(());
            }
            _ if op.has(Fact::PERMUTES) => {
                self.exchange(index, wave, inst);
                return Ok(());
            }
            _ => {}
        }
        let moved = inst.dpp.map(|_| self.through_dpp(index, wave, inst));
        let exec = moved.as_ref().map_or(wave.active(), |moved| moved.written);
        let halves = match inst.dual {
            None => [Some((*inst, inst.dst)), None],
            Some((op, dst, src)) => {
                let first = Inst { format: Format::Vop3, dual: None, ..*inst };
                let src = [src[0], src[1], src[2], Operand::None];
                [Some((first, inst.dst)), Some((Inst { op, dst, src, ..first }, dst))]
            }
        };
        // Both halves read before either writes.
        let outcomes = halves.map(|half| {
            let (half_inst, dst) = half?;
            let is_second = half_inst.op != inst.op || dst != inst.dst;
            let at = (index, step, wave);
            let of = |lane| (lane, self.outcome(at, &half_inst, is_second, moved.as_ref(), lane));
            Some((half_inst, dst, lanes(exec).map(of).collect::<Vec<_>>()))
        });
        for (half, dst, results) in outcomes.into_iter().flatten() {
            if op.is_compare_exec()
                && let Some((lane, outcome)) = results.iter().find(|(_, outcome)| outcome.unknown != 0)
            {
                self.fault(Use::ControlFlow, outcome.from, Some(*lane))?;
            }
            match dst {
                Operand::Sgpr(slot) => {
                    let lanes = results.iter().map(|(l, o)| (*l, o.unknown != 0, o.from));
                    self.write_mask(index, step.address, slot, lanes);
                }
                _ => self.write(index, &half, dst, &results),
            }
            if let Operand::Sgpr(slot) = half.sdst {
                let lanes = results.iter().map(|(l, o)| (*l, o.second, o.from));
                self.write_mask(index, step.address, slot, lanes);
            }
        }
        Ok(())
    }

    /// Writes a lane mask; lanes that are not listed are known to be zero.
    fn write_mask(
        &mut self,
        index: usize,
        address: u64,
        slot: u8,
        results: impl Iterator<Item = (usize, bool, u32)>,
    ) {
        if slot == scalar::EXEC {
            return;
        }
        let (mut mask, mut sources) = (0u64, [None; 64]);
        for (lane, _, from) in results.filter(|(_, unknown, _)| *unknown) {
            mask |= 1 << lane;
            sources[lane] = Some(from);
        }
        let source = if mask == 0 { 0 } else { self.note_mask(address, index, sources) };
        let state = &mut self.waves[index];
        state.set_scalar(usize::from(slot), mask as u32, source);
        if state.lanes == 64 {
            state.set_scalar(usize::from(slot) + 1, (mask >> 32) as u32, source);
        }
    }

    /// Writes the lanes' results to a vector register.
    fn write(&mut self, index: usize, inst: &Inst, dst: Operand, results: &[(usize, Outcome)]) {
        let Some(register) = vector(dst) else { return };
        let ty = inst.op.signature().dst;
        // For these two, the operation determines the half of the result.
        let (mix_low, mix_high) = (inst.op == Op::VFmaMixloF16, inst.op == Op::VFmaMixhiF16);
        let clears_high = self.isa.generation() <= Generation::Gfx940 && !mix_low;
        let state = &mut self.waves[index];
        for (lane, outcome) in results {
            let lane = *lane;
            let old = state.vector(register, lane);
            let low = outcome.unknown as u32;
            let new = match (outcome.kept, inst.sdwa) {
                (Some(kept), _) => old & kept as u32 | low,
                (None, Some(sdwa)) => {
                    let (shift, mask) = match sdwa.dst_sel {
                        select @ 0..=3 => (8 * u32::from(select), 0xff),
                        4 => (0, 0xffff),
                        5 => (16, 0xffff),
                        _ => (0, u32::MAX),
                    };
                    let rest = if sdwa.dst_unused == 2 { old & !(mask << shift) } else { 0 };
                    (low & mask) << shift | rest
                }
                (None, None) if ty.is_half() && (mix_high || inst.mods.op_sel & 8 != 0) => {
                    low << 16 | old & 0xffff
                }
                (None, None) if ty.is_half() => {
                    low & 0xffff | if clears_high { 0 } else { old & 0xffff_0000 }
                }
                (None, None) => low,
            };
            // Bits that are not written keep their origin.
            let from = if outcome.unknown == 0 { state.from(register, lane) } else { outcome.from };
            state.set_vector(register, lane, new, from);
            if ty.bits() == 64 {
                state.set_vector(register + 1, lane, (outcome.unknown >> 32) as u32, outcome.from);
            }
        }
        state.settle(register);
        if ty.bits() == 64 {
            state.settle(register + 1);
        }
    }

    /// The lane that a scalar operand selects.
    fn lane_of(wave: &Wave, operand: Operand) -> usize {
        let lanes = usize::from(wave.lanes);
        match operand {
            Operand::Sgpr(slot) => wave.sgpr[usize::from(slot)] as usize % lanes,
            Operand::Int(value) => value as usize % lanes,
            _ => 0,
        }
    }

    /// The unknown bits of an operand in a lane, and their origin.
    fn unknown(&self, index: usize, operand: Operand, lane: usize) -> (u32, u32) {
        let state = &self.waves[index];
        match (vector(operand), operand) {
            (Some(register), _) => (state.vector(register, lane), state.from(register, lane)),
            (_, Operand::Sgpr(slot)) => {
                (state.scalar[usize::from(slot)], state.scalar_from[usize::from(slot)])
            }
            _ => (0, 0),
        }
    }

    /// Unknown bits of the operand that selects a lane: then any lane may be selected.
    fn unknown_lane(&self, index: usize, operand: Operand) -> Option<Found> {
        let (unknown, from) = self.unknown(index, operand, 0);
        (matches!(operand, Operand::Sgpr(_)) && unknown != 0).then_some((Bits::UNKNOWN, from))
    }

    /// `v_readfirstlane_b32`, `v_readlane_b32`.
    fn read_lane(&mut self, index: usize, wave: &Wave, inst: &Inst) {
        let lane = match inst.op {
            Op::VReadfirstlaneB32 => wave.active().trailing_zeros() as usize % usize::from(wave.lanes),
            _ => Values::lane_of(wave, inst.src[1]),
        };
        let (mut unknown, mut from) = self.unknown(index, inst.src[0], lane);
        if let Some((bits, source)) = self.unknown_lane(index, inst.src[1]) {
            (unknown, from) = (bits.unknown as u32, source);
        }
        if let Operand::Sgpr(slot) = inst.dst {
            self.waves[index].set_scalar(usize::from(slot), unknown, from);
        }
    }

    pub(super) fn write_lane(&mut self, index: usize, wave: &Wave, inst: &Inst) {
        let lane = Values::lane_of(wave, inst.src[1]);
        let (unknown, from) = self.unknown(index, inst.src[0], 0);
        let any = self.unknown_lane(index, inst.src[1]);
        let Some(register) = vector(inst.dst) else { return };
        let state = &mut self.waves[index];
        match any {
            Some((bits, source)) => {
                (0..state.lanes)
                    .for_each(|lane| state.set_vector(register, lane, bits.unknown as u32, source));
            }
            None => state.set_vector(register, lane, unknown, from),
        }
        state.settle(register);
    }

    fn swap(&mut self, index: usize, exec: u64, a: usize, b: usize) {
        let state = &mut self.waves[index];
        for lane in lanes(exec) {
            let (from_a, from_b) = (state.from(a, lane), state.from(b, lane));
            let (of_a, of_b) = (state.vector(a, lane), state.vector(b, lane));
            state.set_vector(a, lane, of_b, from_b);
            state.set_vector(b, lane, of_a, from_a);
        }
        state.settle(a);
        state.settle(b);
    }
}
