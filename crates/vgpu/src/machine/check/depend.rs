//! Determines which bits of a vector instruction's result depend on which bits of its sources, by running the
//! instruction. One bit of one source is flipped in each lane; the result bits that change depend on it.
//!
//! So an instruction that uses one byte, a half, or 24 bits of a register depends only on these bits. Results
//! made of several parts depend only on the sources of each part.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::twin::Twin;
use crate::isa::{Elem, Fact, Inst, Operand};

/// The registers of the sources and of the result, and those of lane masks.
const SOURCES: [u8; 4] = [8, 12, 16, 20];
const RESULT: u8 = 24;
const MASKS: [u8; 4] = [8, 10, 12, 14];
const MASK_RESULT: u8 = 20;
const SECOND_RESULT: u8 = 22;
/// How many sets of values are tried.
const ROUNDS: usize = 18;

/// What depends on one bit.
#[derive(Clone, Copy, Default, Debug)]
struct Reach {
    /// Bits of the result.
    result: u64,
    /// Whether the second result, a lane mask, does.
    second: bool,
}

/// The dependents of each bit of each source.
#[derive(Debug)]
pub struct Dependence {
    reach: Box<[[Reach; 64]; 4]>,
    /// Bits of the destination that keep their value.
    pub kept: u64,
}

impl Dependence {
    /// The unknown bits of the results, given the unknown bits of the sources.
    pub fn of(&self, unknown: [u64; 4]) -> (u64, bool) {
        let mut all = Reach::default();
        for (reach, unknown) in self.reach.iter().zip(unknown) {
            for bit in super::values::lanes(unknown) {
                all.result |= reach[bit].result;
                all.second |= reach[bit].second;
            }
        }
        (all.result, all.second)
    }
}

/// The dependences found so far, by instruction address and half of a pair.
#[derive(Default, Debug)]
pub(super) struct Dependences(Mutex<HashMap<Key, Option<Arc<Dependence>>>>);

/// The address of an instruction, and whether it is the second of a pair.
type Key = (u64, bool);

impl Dependences {
    /// Those of an instruction; none if it cannot run outside its wave.
    ///
    /// # Safety
    /// As for [`learn`].
    pub(super) unsafe fn find(
        &self,
        key: Key,
        inst: &Inst,
        mode: u32,
        twin: impl FnOnce() -> Twin,
    ) -> Option<Arc<Dependence>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the caller's promise.
        let learn = || unsafe { learn(inst, mode, &mut twin()) };
        all.entry(key).or_insert_with(|| learn().map(Arc::new)).clone()
    }
}

fn random(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    (*seed ^ *seed >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// An instruction that runs on its own registers.
struct Apart {
    inst: Inst,
    /// The position of each source that is a register.
    sources: [Option<Place>; 4],
    has_mask_result: bool,
}

#[derive(Clone, Copy)]
enum Place {
    Vector(u8),
    Mask(u8),
}

fn apart(inst: &Inst) -> Apart {
    let signature = inst.op.signature();
    let mut found = Apart { inst: *inst, sources: [None; 4], has_mask_result: false };
    found.inst.dpp = None;
    found.has_mask_result = signature.dst.elem == Elem::Mask;
    found.inst.dst = if found.has_mask_result && !inst.op.is_compare_exec() {
        Operand::Sgpr(MASK_RESULT)
    } else if found.has_mask_result {
        inst.dst
    } else {
        Operand::Vgpr(RESULT)
    };
    if inst.sdst != Operand::None {
        found.inst.sdst = Operand::Sgpr(SECOND_RESULT);
    }
    for i in 0..4 {
        let register = matches!(inst.src[i], Operand::Vgpr(_) | Operand::Agpr(_) | Operand::Sgpr(_));
        if !register || !signature.src[i].exists() {
            continue;
        }
        let place = match signature.src[i].elem {
            Elem::Mask => Place::Mask(MASKS[i]),
            _ if inst.op.has(Fact::ACCUMULATES) && i == 2 => Place::Vector(RESULT),
            _ => Place::Vector(SOURCES[i]),
        };
        found.inst.src[i] = match place {
            Place::Vector(register) => Operand::Vgpr(register),
            Place::Mask(slot) => Operand::Sgpr(slot),
        };
        found.sources[i] = Some(place);
    }
    found
}

/// The results in each lane.
type Results = ([u64; 64], u64);

fn results(apart: &Apart, twin: &mut Twin) -> Results {
    let (low, high) = (twin.lanes(usize::from(RESULT)), twin.lanes(usize::from(RESULT) + 1));
    let mask = twin.scalar64(match apart.inst.dst {
        Operand::Sgpr(slot) if apart.has_mask_result => slot,
        _ => MASK_RESULT,
    });
    let first = std::array::from_fn(|lane| match apart.has_mask_result {
        true => mask >> lane & 1,
        false => u64::from(low[lane]) | u64::from(high[lane]) << 32,
    });
    (first, twin.scalar64(SECOND_RESULT))
}

/// Determines the dependences of an instruction under a MODE; none if it does not run.
///
/// # Safety
/// `inst` was returned by the decoder, and its registers exist.
pub unsafe fn learn(inst: &Inst, mode: u32, twin: &mut Twin) -> Option<Dependence> {
    let apart = apart(inst);
    let ready = twin.ready(&apart.inst, 64);
    let mut found = Dependence { reach: Box::new([[Reach::default(); 64]; 4]), kept: 0 };
    let accumulates = apart.sources.iter().flatten().any(|place| matches!(place, Place::Vector(RESULT)));
    let mut seed = 11;
    for round in 0..ROUNDS {
        let equal = random(&mut seed);
        let values: [u64; 4] = std::array::from_fn(|i| match round {
            // All combinations of zeros and ones: these propagate carries far.
            0..=7 => {
                if round >> i & 1 != 0 {
                    u64::MAX
                } else {
                    0
                }
            }
            8..=10 => equal,
            // Numbers near one, as f32 and as f16.
            11 | 12 => 0x3f80_3c00_3f80_3c00 ^ random(&mut seed) & 0x00ff_03ff_00ff_03ff,
            _ => random(&mut seed),
        });
        let mut run = |turned: Option<usize>, before: u64| -> Option<Results> {
            twin.begin(mode);
            for high in 0..2 {
                twin.row(usize::from(RESULT) + high).fill((before >> (32 * high)) as u32);
            }
            for (i, place) in apart.sources.iter().enumerate() {
                match *place {
                    Some(Place::Vector(register)) => {
                        for high in 0..2 {
                            let row = twin.row(usize::from(register) + high);
                            for (lane, value) in row.iter_mut().enumerate() {
                                let bit = if turned == Some(i) { 1u64 << lane } else { 0 };
                                *value = ((values[i] ^ bit) >> (32 * high)) as u32;
                            }
                        }
                    }
                    Some(Place::Mask(slot)) => {
                        let bits = if values[i] & 1 != 0 { u64::MAX } else { 0 };
                        twin.set_scalar64(slot, if turned == Some(i) { !bits } else { bits });
                    }
                    None => {}
                }
            }
            twin.run(&ready).then(|| results(&apart, twin))
        };
        let plain = run(None, 0)?;
        if !accumulates {
            let other = run(None, u64::MAX)?;
            let result = if inst.op.signature().dst.bits() > 32 { u64::MAX } else { u64::from(u32::MAX) };
            found.kept = (plain.0[0] ^ other.0[0]) & result;
        }
        for (i, place) in apart.sources.iter().enumerate() {
            let Some(place) = place else { continue };
            let turned = run(Some(i), 0)?;
            let bits = if matches!(place, Place::Mask(_)) { 1 } else { 64 };
            for (bit, reach) in found.reach[i].iter_mut().enumerate().take(bits) {
                reach.result |= turned.0[bit] ^ plain.0[bit];
                reach.second |= (turned.1 ^ plain.1) >> bit & 1 != 0;
            }
        }
    }
    Some(found)
}
