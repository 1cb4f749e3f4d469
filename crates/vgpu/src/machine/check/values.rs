//! Uninitialised values: registers, LDS, scratch and device memory.
//!
//! Each bit of a register or of memory is known or unknown. Loads, stores, moves and arithmetic only
//! propagate this, so copying padding is harmless. Control flow (EXEC, conditional branches, jumps) and
//! addresses must not depend on an unknown bit.

use std::collections::HashMap;
use std::sync::Arc;

use super::depend::Dependences;
use super::shadow::{Shadow, Shadows};
use super::transfer::{Bits, transfer};
use crate::exec::Wave;
use crate::isa::{Class, Fact, Format, Isa, Op, Operand, Register, Special, Type, scalar};
use crate::machine::launch::Launch;
use crate::machine::observe::{Step, Verdict};
use gpu_report::{Checks, FaultKind, Origin, Space, Use};
use vgpu_exec::{Elsewhere, WaveFault};

/// Registers of a wave, including ACC registers, plus slack as in its register file.
const REGISTERS: usize = 512 + 32;
/// The initial content of a register has the register itself as its origin: its number with this bit set.
const INITIAL: u32 = 1 << 31;
/// Set beside [`INITIAL`] where the register is a scalar one.
const SCALAR: u32 = 1 << 30;
/// Set in the number of a lane mask, whose bits have their own origins.
const MASK: u32 = 1 << 29;
/// Set in the number of a load if the value was computed with, not only moved, since.
pub(super) const COMPUTED: u32 = 1 << 28;
/// Beyond this many loads of unknown bits, loads are no longer distinguished by their memory address.
const LOADS: usize = 1 << 18;

/// One wave.
pub(super) struct State {
    pub(super) lanes: usize,
    /// Unknown bits, register by register, lane by lane.
    vector: Vec<u32>,
    /// Their origins, likewise.
    vector_from: Vec<u32>,
    /// Whether a register has any unknown bits.
    touched: Vec<bool>,
    pub(super) scalar: [u32; scalar::COUNT],
    pub(super) scalar_from: [u32; scalar::COUNT],
    scc: bool,
    scc_from: u32,
    /// Known bits of scratch memory, lane by lane.
    pub(super) scratch: Vec<u8>,
}

/// Where a lane's load found unknown bits.
#[derive(Clone, Copy)]
pub(super) struct Load {
    /// The address of the instruction.
    pub(super) address: u64,
    pub(super) wave: u32,
    pub(super) lane: Option<u8>,
    pub(super) space: Space,
    /// The address that it loaded from.
    pub(super) from: u64,
    pub(super) bytes: u32,
    /// Whether a wave had written there, so that the uninitialised value came from elsewhere.
    pub(super) passed_on: bool,
}

/// A workgroup.
pub(super) struct Values {
    pub(super) isa: Isa,
    pub(super) checks: Checks,
    pub(super) waves: Vec<State>,
    /// Known bits of LDS.
    pub(super) lds: Vec<u8>,
    /// Which bytes of LDS were written, with any value.
    pub(super) lds_written: Vec<bool>,
    pub(super) scratch_size: usize,
    pub(super) shadows: Arc<Shadows>,
    pub(super) dependences: Arc<Dependences>,
    pub(super) last: Option<Arc<Shadow>>,
    /// Loads of unknown bits; registers refer to them by number.
    loads: Vec<Load>,
    /// By instruction, wave, lane and loaded address.
    numbers: HashMap<(u64, u32, Option<u8>, u64), u32>,
    /// The origins of the bits of lane masks: the latest mask of each instruction of each wave.
    masks: Vec<[Option<u32>; 64]>,
    mask_numbers: HashMap<(u64, usize), u32>,
}

/// Unknown bits of an operand in one lane, and the origin of the first of them.
pub(super) type Found = (Bits, u32);

impl State {
    fn new(launch: &Launch) -> State {
        let lanes = launch.lanes;
        let mut state = State {
            lanes,
            vector: vec![u32::MAX; REGISTERS * lanes],
            vector_from: (0..REGISTERS * lanes).map(|at| INITIAL | (at / lanes) as u32).collect(),
            touched: vec![true; REGISTERS],
            scalar: [u32::MAX; scalar::COUNT],
            scalar_from: std::array::from_fn(|slot| INITIAL | SCALAR | slot as u32),
            scc: true,
            scc_from: INITIAL | SCALAR | scalar::COUNT as u32,
            scratch: vec![0; launch.scratch as usize * lanes],
        };
        state.vector[..launch.initial_vgprs() * lanes].fill(0);
        state.touched[..launch.initial_vgprs()].fill(false);
        state.scalar[..launch.initial_sgprs()].fill(0);
        // Trap registers hold ids on some generations. The slots before VCC hold flat_scratch and similar
        // values where they are not SGPRs.
        let set = [102..usize::from(scalar::VCC), usize::from(scalar::TTMP0)..usize::from(scalar::M0)];
        set.into_iter().for_each(|slots| state.scalar[slots].fill(0));
        state.scalar[usize::from(scalar::NULL)..].fill(0);
        state
    }

    pub(super) fn vector(&self, register: usize, lane: usize) -> u32 {
        self.vector.get(register * self.lanes + lane).copied().unwrap_or(0)
    }

    pub(super) fn set_vector(&mut self, register: usize, lane: usize, unknown: u32, from: u32) {
        let at = register * self.lanes + lane;
        if let Some(place) = self.vector.get_mut(at) {
            *place = unknown;
            if unknown != 0 {
                self.touched[register] = true;
                self.vector_from[at] = from;
            }
        }
    }

    /// The origin of a lane's unknown bits of a register, or of the last ones that it had.
    pub(super) fn from(&self, register: usize, lane: usize) -> u32 {
        self.vector_from.get(register * self.lanes + lane).copied().unwrap_or(0)
    }

    /// The same for the first lane with unknown bits.
    pub(super) fn first_from(&self, register: usize) -> u32 {
        let lane = (0..self.lanes).find(|lane| self.vector(register, *lane) != 0);
        self.from(register, lane.unwrap_or(0))
    }

    pub(super) fn set_scalar(&mut self, slot: usize, unknown: u32, from: u32) {
        if slot < scalar::COUNT && slot != usize::from(scalar::NULL) {
            self.scalar[slot] = unknown;
            if unknown != 0 {
                self.scalar_from[slot] = from;
            }
        }
    }

    fn scalar64(&self, slot: usize) -> (u64, u32) {
        let at = |slot: usize| self.scalar.get(slot).copied().unwrap_or(0);
        let (low, high) = (at(slot), at(slot + 1));
        let from = self.scalar_from[if low != 0 { slot } else { (slot + 1) % scalar::COUNT }];
        (u64::from(low) | u64::from(high) << 32, from)
    }

    /// Whether a register has unknown bits in any lane.
    fn is_unknown(&self, register: Register) -> bool {
        match register {
            Register::Vector(register) => self.touched.get(usize::from(register)).copied().unwrap_or(false),
            Register::Scalar(slot) => self.scalar[usize::from(slot) & 127] != 0,
            Register::Scc => self.scc,
        }
    }

    /// Updates, after writes to a register, whether it still has unknown bits.
    pub(super) fn settle(&mut self, register: usize) {
        let lanes = register * self.lanes..(register + 1) * self.lanes;
        if let Some(bits) = self.vector.get(lanes) {
            self.touched[register] = bits.iter().any(|bits| *bits != 0);
        }
    }

    /// Marks registers as known in the enabled lanes.
    fn clear(&mut self, register: Register, exec: u64) {
        match register {
            Register::Vector(register) => {
                let register = usize::from(register);
                if self.touched.get(register) == Some(&true) {
                    lanes(exec).for_each(|lane| self.set_vector(register, lane, 0, 0));
                    self.settle(register);
                }
            }
            Register::Scalar(slot) => self.set_scalar(usize::from(slot), 0, 0),
            Register::Scc => self.scc = false,
        }
    }
}

/// The lanes of a mask in ascending order.
pub(super) fn lanes(mask: u64) -> impl Iterator<Item = usize> {
    (0..64).filter(move |lane| mask >> lane & 1 != 0)
}

/// The number of a vector register; ACC registers come after the others.
pub(super) fn vector(operand: Operand) -> Option<usize> {
    match operand {
        Operand::Vgpr(register) => Some(usize::from(register)),
        Operand::Agpr(register) => Some(256 + usize::from(register)),
        _ => None,
    }
}

pub(super) fn register_value(wave: &Wave, register: usize, lane: usize) -> u32 {
    // SAFETY: instructions of the wave's program name only registers of its file.
    unsafe { wave.vgpr.add(register * usize::from(wave.lanes) + lane).read() }
}

impl Values {
    pub(super) fn new(
        launch: &Launch,
        waves: usize,
        checks: Checks,
        shadows: Arc<Shadows>,
        dependences: Arc<Dependences>,
    ) -> Values {
        Values {
            isa: launch.isa,
            checks,
            waves: (0..waves).map(|_| State::new(launch)).collect(),
            lds: vec![0; launch.lds_limit as usize],
            lds_written: vec![false; launch.lds_limit as usize],
            scratch_size: launch.scratch as usize,
            shadows,
            dependences,
            last: None,
            loads: Vec::new(),
            numbers: HashMap::new(),
            masks: Vec::new(),
            mask_numbers: HashMap::new(),
        }
    }

    /// Records a load of unknown bits and returns its number.
    pub(super) fn note(&mut self, load: Load) -> u32 {
        // After very many loads, only the latest of each instruction and lane is kept.
        let place = if self.loads.len() < LOADS { load.from } else { u64::MAX };
        let next = self.loads.len() as u32;
        let number = *self.numbers.entry((load.address, load.wave, load.lane, place)).or_insert(next);
        match self.loads.get_mut(number as usize) {
            Some(old) => *old = load,
            None => self.loads.push(load),
        }
        number
    }

    /// Records the origins of the bits of a lane mask that a wave's instruction produces.
    pub(super) fn note_mask(&mut self, address: u64, index: usize, sources: [Option<u32>; 64]) -> u32 {
        let next = self.masks.len() as u32;
        let number = *self.mask_numbers.entry((address, index)).or_insert(next);
        match self.masks.get_mut(number as usize) {
            Some(old) => *old = sources,
            None => self.masks.push(sources),
        }
        MASK | number
    }

    /// The origin that a number stands for in a lane.
    fn resolved(&self, from: u32, lane: Option<usize>) -> u32 {
        let mut found = from;
        // A mask may be derived from a value that another mask selected, and in a loop from itself.
        for _ in 0..16 {
            if found & INITIAL != 0 || found & MASK == 0 {
                break;
            }
            let Some(sources) = self.masks.get((found & !(MASK | COMPUTED)) as usize) else { break };
            let of_lane = lane.and_then(|lane| sources[lane % 64]);
            found = of_lane.or_else(|| sources.iter().find_map(|source| *source)).unwrap_or(found);
        }
        found
    }

    /// The load that a lane's unknown bits come from, unless they come from a register.
    fn load_of(&self, from: u32, lane: Option<usize>) -> Option<&Load> {
        let from = self.resolved(from, lane);
        if from & INITIAL != 0 { None } else { self.loads.get((from & !COMPUTED) as usize) }
    }

    /// Whether unknown bits of a lane come from global memory, directly or through LDS.
    pub(super) fn comes_from_memory(&self, from: u32, lane: usize) -> bool {
        let load = self.load_of(from, Some(lane));
        load.is_some_and(|load| load.space == Space::Global || load.passed_on)
    }

    /// The origin of a load's unknown bits, for reports.
    fn origin(&self, load: &Load) -> Origin {
        let allocation = match load.space {
            Space::Global => self.shadows.find(load.from, &mut None).map(|shadow| shadow.allocation.clone()),
            _ => None,
        };
        Origin::Memory { space: load.space, address: load.from, size: load.bytes.into(), allocation }
    }

    /// The fault of an instruction that depends on unknown bits.
    #[cold]
    pub(super) fn fault(&self, used: Use, from: u32, lane: Option<usize>) -> Verdict {
        if !self.checks.uninitialised && used != Use::Output {
            return Ok(());
        }
        let from = self.resolved(from, lane);
        let (origin, other) = if from & INITIAL != 0 {
            let number = from & !(INITIAL | SCALAR | COMPUTED);
            let name = match (from & SCALAR != 0, number) {
                (false, number @ 256..) => format!("a{}", number - 256),
                (false, number) => format!("v{number}"),
                (true, 106) => "vcc_lo".to_owned(),
                (true, 107) => "vcc_hi".to_owned(),
                (true, 124) => "m0".to_owned(),
                (true, 128) => "scc".to_owned(),
                (true, number) => format!("s{number}"),
            };
            (Origin::Register { name }, None)
        } else {
            match self.load_of(from, lane) {
                Some(load) => {
                    let other = Elsewhere {
                        what: "the value was loaded here",
                        address: load.address,
                        wave: load.wave,
                        lane: load.lane,
                    };
                    (self.origin(load), Some(other))
                }
                None => (Origin::Register { name: "a register".to_owned() }, None),
            }
        };
        let kind = FaultKind::Uninitialised { used, origin };
        Err(Box::new(WaveFault { kind, lane: lane.map(|lane| lane as u8), other }))
    }

    /// A wave reaches an instruction.
    pub(super) fn step(&mut self, step: &Step<'_>, wave: &Wave) -> Verdict {
        let index = step.wave as usize;
        if index >= self.waves.len() {
            return Ok(());
        }
        let inst = step.resolved;
        let is_vector = inst.format.is_vector_arithmetic();
        let written = || step.registers.written.iter().flat_map(|span| span.registers());
        if !step.accesses.is_empty() && !is_vector {
            self.check_addresses(index, step, wave)?;
            let state = &mut self.waves[index];
            let has_status = inst.image().is_some_and(|image| image.status);
            if inst.mem.tfe || has_status {
                // The status register.
                written().last().into_iter().for_each(|register| state.clear(register, wave.active()));
            }
            if matches!(inst.format, Format::Mubuf | Format::Mtbuf | Format::Mimg) && !inst.op.is_atomic() {
                // Lanes outside the bounds of the buffer or the image get constants.
                let inside = step.accesses.iter().fold(0, |mask, access| mask | access.mask);
                written().for_each(|register| state.clear(register, wave.active() & !inside));
            }
            return self.accesses(index, step);
        }
        let m0 = usize::from(scalar::M0);
        if step.resolved != step.inst && self.waves[index].scalar[m0] != 0 {
            // This value selects the registers.
            self.fault(Use::Address, self.waves[index].scalar_from[m0], None)?;
        }
        let state = &mut self.waves[index];
        let is_matrix = inst.op.has(Fact::MFMA) || inst.op.has(Fact::WMMA);
        let mut reads = step.registers.read.iter().flat_map(|span| span.registers());
        if !reads.any(|register| state.is_unknown(register)) {
            // Some registers are written only in part, or only in some lanes.
            let partly = inst.op.signature().dst.is_half() || inst.sdwa.is_some() || inst.dpp.is_some();
            if !(partly && written().any(|register| state.is_unknown(register))) {
                let all = match inst.op {
                    Op::VWritelaneB32 => 0,
                    _ if is_matrix => u64::MAX,
                    _ => wave.active(),
                };
                written().for_each(|register| state.clear(register, all));
                if inst.op == Op::VWritelaneB32 {
                    self.write_lane(index, wave, inst);
                }
                return Ok(());
            }
        }
        match inst.format {
            Format::Sop1 | Format::Sop2 | Format::Sopc | Format::Sopk | Format::Sopp => {
                self.scalar(index, step, wave)
            }
            _ if is_vector => self.vector(index, step, wave),
            _ if inst.op.class() == Class::Lds && inst.dst != Operand::None => {
                self.exchange(index, wave, inst);
                Ok(())
            }
            // Cache control, clocks and the like; out-of-bounds loads.
            _ => {
                let exec = wave.active();
                written().for_each(|register| state.clear(register, exec));
                Ok(())
            }
        }
    }

    /// The value of an operand in one lane: whole registers.
    pub(super) fn source(
        &self,
        index: usize,
        wave: &Wave,
        (operand, ty): (Operand, Type),
        lane: usize,
    ) -> Found {
        let state = &self.waves[index];
        let wide = ty.elem != crate::isa::Elem::Mask && ty.bits() == 64;
        match operand {
            _ if !ty.exists() => (Bits::default(), 0),
            Operand::Vgpr(_) | Operand::Agpr(_) => {
                let register = vector(operand).unwrap_or(0);
                let at = |register| Bits {
                    value: u64::from(register_value(wave, register, lane)),
                    unknown: u64::from(state.vector(register, lane)),
                };
                let mut bits = at(register);
                let mut from = register;
                if wide {
                    let high = at(register + 1);
                    from += usize::from(bits.unknown == 0);
                    bits = Bits {
                        value: bits.value | high.value << 32,
                        unknown: bits.unknown | high.unknown << 32,
                    };
                }
                (bits, state.from(from, lane))
            }
            Operand::Sgpr(slot) => {
                let slot = usize::from(slot);
                let (unknown, from) = state.scalar64(slot);
                let bits = Bits { value: wave.scalar64(slot as u8), unknown };
                if ty.elem == crate::isa::Elem::Mask {
                    let bit = |value: u64| value >> lane & 1;
                    (Bits { value: bit(bits.value), unknown: bit(bits.unknown) }, from)
                } else if wide {
                    (bits, from)
                } else {
                    let low = |value: u64| value & 0xffff_ffff;
                    (Bits { value: low(bits.value), unknown: low(bits.unknown) }, state.scalar_from[slot])
                }
            }
            Operand::Special(Special::Scc) => {
                let unknown = if state.scc { u64::MAX } else { 0 };
                (Bits { value: u64::from(wave.scc), unknown }, state.scc_from)
            }
            Operand::Int(value) => (Bits { value: i64::from(value) as u64, unknown: 0 }, 0),
            Operand::Imm(value) => (Bits { value: i64::from(value) as u64, unknown: 0 }, 0),
            Operand::Literal(value) => (Bits { value: u64::from(value), unknown: 0 }, 0),
            _ => (Bits::default(), 0),
        }
    }

    fn scalar(&mut self, index: usize, step: &Step<'_>, wave: &Wave) -> Verdict {
        let inst = step.resolved;
        let op = inst.op;
        let signature = op.signature();
        let found: [Found; 4] = std::array::from_fn(|i| {
            let ty = plain(signature.src[i], self.waves[index].lanes);
            self.source(index, wave, (inst.src[i], ty), 0)
        });
        let from = found.iter().find(|(bits, _)| bits.unknown != 0).map_or(0, |(_, from)| *from);
        let state = &mut self.waves[index];
        match op {
            Op::SCbranchScc0 | Op::SCbranchScc1 if state.scc => {
                let from = state.scc_from;
                return self.fault(Use::ControlFlow, from, None);
            }
            Op::SCbranchVccz | Op::SCbranchVccnz => {
                let (unknown, from) = state.scalar64(usize::from(scalar::VCC));
                let all = u64::MAX >> (64 - state.lanes);
                let vcc = Bits { value: wave.scalar64(scalar::VCC) & all, unknown: unknown & all };
                return if vcc.unknown_if_zero() { self.fault(Use::ControlFlow, from, None) } else { Ok(()) };
            }
            Op::SSetpcB64 | Op::SSwappcB64 if found[0].0.unknown != 0 => {
                return self.fault(Use::ControlFlow, from, None);
            }
            _ => {}
        }
        let reads_scc = step.registers.read.iter().any(|span| span.first == Register::Scc);
        let scc = if reads_scc && state.scc { Some(state.scc_from) } else { None };
        let sources = found.map(|(bits, _)| bits);
        let masks_exec = op.has(Fact::MASKS_EXEC);
        let mut result = match op {
            _ if masks_exec => {
                let exec = Bits { value: wave.scalar64(scalar::EXEC), unknown: 0 };
                combined_with_exec(op, sources[0], exec)
            }
            Op::SCselectB32 | Op::SCselectB64 if scc.is_none() => sources[usize::from(!wave.scc)],
            Op::SCmovB32 | Op::SCmovB64 | Op::SCmovkI32 if scc.is_none() => {
                let old = match inst.dst {
                    Operand::Sgpr(slot) => {
                        Bits { value: wave.scalar64(slot), unknown: state.scalar64(usize::from(slot)).0 }
                    }
                    _ => Bits::default(),
                };
                if wave.scc { sources[0] } else { old }
            }
            _ => transfer(op, sources),
        };
        if scc.is_some() {
            result = Bits::UNKNOWN;
        }
        let moves = matches!(
            op,
            Op::SMovB32 | Op::SMovB64 | Op::SCmovB32 | Op::SCmovB64 | Op::SCselectB32 | Op::SCselectB64
        );
        let from = scc.unwrap_or(from) | if moves { 0 } else { COMPUTED };
        let wide =
            signature.dst.bits() == 64 && (signature.dst.elem != crate::isa::Elem::Mask || state.lanes == 64);
        let width = if wide { u64::MAX } else { 0xffff_ffff };
        let result = Bits { value: result.value & width, unknown: result.unknown & width };
        let exec = |slot: u8| slot == scalar::EXEC || slot == scalar::EXEC + 1;
        let into_exec = masks_exec || matches!(inst.dst, Operand::Sgpr(slot) if exec(slot));
        let all = u64::MAX >> (64 - state.lanes);
        for span in &step.registers.written {
            for register in span.registers() {
                match register {
                    Register::Scc => {
                        state.scc = result.unknown != 0
                            && (matches!(signature.dst.elem, crate::isa::Elem::None)
                                || result.unknown_if_zero());
                        state.scc_from = from;
                    }
                    Register::Scalar(slot) if exec(slot) => {}
                    Register::Scalar(slot) => {
                        // The old EXEC, or the result.
                        let old_exec = masks_exec && !op.has(Fact::RETURNS_EXEC);
                        let bits = if old_exec { 0 } else { result.unknown };
                        let high = matches!(inst.dst, Operand::Sgpr(first) if first != slot);
                        let bits = if high { (bits >> 32) as u32 } else { bits as u32 };
                        state.set_scalar(usize::from(slot), bits, from);
                    }
                    Register::Vector(_) => {}
                }
            }
        }
        if into_exec && result.unknown & all != 0 {
            let lane = (result.unknown & all).trailing_zeros() as usize;
            return self.fault(Use::ControlFlow, from, Some(lane));
        }
        Ok(())
    }
}

/// The mask operands of scalar instructions are plain registers.
fn plain(ty: Type, lanes: usize) -> Type {
    match ty.elem {
        crate::isa::Elem::Mask => {
            Type { elem: if lanes == 64 { crate::isa::Elem::B64 } else { crate::isa::Elem::B32 }, count: 1 }
        }
        _ => ty,
    }
}

/// How `s_…_saveexec` and `s_…_wrexec` combine a mask and EXEC.
fn combined_with_exec(op: Op, mask: Bits, exec: Bits) -> Bits {
    let not = |bits: Bits| Bits { value: !bits.value, ..bits };
    let (function, mask, exec) = match op {
        Op::SAndSaveexecB32 | Op::SAndSaveexecB64 => (Op::SAndB64, mask, exec),
        Op::SNandSaveexecB32 | Op::SNandSaveexecB64 => (Op::SNandB64, mask, exec),
        Op::SOrSaveexecB32 | Op::SOrSaveexecB64 => (Op::SOrB64, mask, exec),
        Op::SNorSaveexecB32 | Op::SNorSaveexecB64 => (Op::SNorB64, mask, exec),
        Op::SXorSaveexecB32 | Op::SXorSaveexecB64 => (Op::SXorB64, mask, exec),
        Op::SXnorSaveexecB32 | Op::SXnorSaveexecB64 => (Op::SXorB64, not(mask), exec),
        Op::SAndNot0SaveexecB32 | Op::SAndNot0SaveexecB64 | Op::SAndNot0WrexecB32 | Op::SAndNot0WrexecB64 => {
            (Op::SAndB64, not(mask), exec)
        }
        Op::SOrNot0SaveexecB32 | Op::SOrNot0SaveexecB64 => (Op::SOrB64, not(mask), exec),
        Op::SAndNot1SaveexecB32 | Op::SAndNot1SaveexecB64 | Op::SAndNot1WrexecB32 | Op::SAndNot1WrexecB64 => {
            (Op::SAndB64, mask, not(exec))
        }
        Op::SOrNot1SaveexecB32 | Op::SOrNot1SaveexecB64 => (Op::SOrB64, mask, not(exec)),
        _ => return Bits::UNKNOWN,
    };
    transfer(function, [mask, exec, Bits::default(), Bits::default()])
}
