//! Which bits of a vector instruction's result depend on which bits of its sources, found out by running it: one bit of one
//! source is turned over in each lane, and what changes depends on it.
//!
//! So an instruction that uses a byte of a register, a half, or 24 bits, depends on these and no others, and results that are
//! made of parts depend on their own parts only.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::twin::Twin;
use crate::isa::{Elem, Inst, Operand};

/// Registers of the sources, the result, and where those that are lane masks are.
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

/// What depends on each bit of each source.
#[derive(Debug)]
pub(super) struct Dependence {
    reach: Box<[[Reach; 64]; 4]>,
    /// Bits of the destination that stay as they were.
    pub(super) kept: u64,
}

impl Dependence {
    /// What is unknown of the results if these bits of the sources are.
    pub(super) fn of(&self, unknown: [u64; 4]) -> (u64, bool) {
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

/// What was found out, by the address of the instruction and which half of a pair it is.
#[derive(Default, Debug)]
pub(super) struct Dependences(Mutex<HashMap<Key, Option<Arc<Dependence>>>>);

/// The address of an instruction, and whether it is the second of a pair.
type Key = (u64, bool);

impl Dependences {
    /// Of an instruction; none if it cannot be run apart from its wave.
    pub(super) fn find(
        &self,
        key: Key,
        inst: &Inst,
        mode: u32,
        twin: impl FnOnce() -> Twin,
    ) -> Option<Arc<Dependence>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(key).or_insert_with(|| learn(inst, mode, &mut twin()).map(Arc::new)).clone()
    }
}

fn random(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    (*seed ^ *seed >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// An instruction on registers of its own.
struct Apart {
    inst: Inst,
    /// Where each source is, if it is a register.
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
            _ if inst.op.accumulates() && i == 2 => Place::Vector(RESULT),
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

fn learn(inst: &Inst, mode: u32, twin: &mut Twin) -> Option<Dependence> {
    let apart = apart(inst);
    let ready = twin.ready(&apart.inst, 64);
    let mut found = Dependence { reach: Box::new([[Reach::default(); 64]; 4]), kept: 0 };
    let accumulates = apart.sources.iter().flatten().any(|place| matches!(place, Place::Vector(RESULT)));
    let mut seed = 11;
    for round in 0..ROUNDS {
        let equal = random(&mut seed);
        let values: [u64; 4] = std::array::from_fn(|i| match round {
            // Zeros and ones in all combinations: there carries go far.
            0..=7 => {
                if round >> i & 1 != 0 {
                    u64::MAX
                } else {
                    0
                }
            }
            8..=10 => equal,
            // Numbers near one, as f32 and f16 have them.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::{Isa, decode};
    use crate::machine::Generation;

    fn dependence(isa: Isa, generation: Generation, words: &[u32]) -> Dependence {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let inst = decode(isa, &bytes).expect("an instruction");
        learn(&inst, 0x3f0, &mut Twin::new(generation)).expect("that runs")
    }

    #[test]
    fn parts_of_sources_reach_parts_of_results() {
        let gfx11 = |words: &[u32]| dependence(Isa::Gfx1100, Generation::Gfx11, words);
        // v_cvt_f32_ubyte1 v0, v1
        let byte = gfx11(&[0x7e00_2501]);
        assert_eq!(byte.of([0xffff_00ff, 0, 0, 0]).0, 0);
        assert_ne!(byte.of([0x100, 0, 0, 0]).0, 0);
        // v_pk_add_u16 v0, v1, v2
        let packed = gfx11(&[0xcc0a_4000, 0x1802_0501]);
        assert_eq!(packed.of([0xffff, 0, 0, 0]).0, 0xffff);
        assert_eq!(packed.of([0, 1 << 16, 0, 0]).0, 0xffff_0000);
        // v_mul_u32_u24 v0, v1, v2
        let short = gfx11(&[0x1600_0501]);
        assert_eq!(short.of([0xff00_0000, 0xff00_0000, 0, 0]).0, 0);
        assert_eq!(short.of([1, 0, 0, 0]).0 & 0xffff, 0xffff);
        // v_add_f16 v0.l, v1.l, v2.l
        let half = gfx11(&[0x6400_0501]);
        assert_eq!((half.kept, half.of([0xffff_0000, 0, 0, 0]).0), (0xffff_0000, 0));
        // v_cmp_lt_u32 vcc, v1, v2
        let compare = gfx11(&[0x7c92_0501]);
        assert_eq!(compare.of([1, 0, 0, 0]).0, 1);
        assert_eq!(compare.of([0, 1 << 31, 0, 0]).0, 1);
        // v_perm_b32 v0, v1, v2, 0x07060100 of gfx10: the high half of v1, the low half of v2.
        let bytes = dependence(Isa::Gfx1030, Generation::Gfx10, &[0xd744_0000, 0x03fe_0501, 0x0706_0100]);
        assert_eq!(bytes.of([0xffff, 0xffff_0000, 0, 0]).0, 0);
        assert_eq!(bytes.of([0xff00_0000, 0xff, 0, 0]).0, 0xff00_00ff);
    }
}
