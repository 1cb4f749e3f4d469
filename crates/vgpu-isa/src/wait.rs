//! The counters of requests to memory, and the instructions that wait for them.
//!
//! | counter | gfx9 | gfx10, gfx11 | gfx12 |
//! |---|---|---|---|
//! | [`Counter::Loads`] | `vmcnt`, which also counts stores | `vmcnt` | `loadcnt` |
//! | [`Counter::Stores`] | | `vscnt` | `storecnt` |
//! | [`Counter::Scalars`] | `lgkmcnt`, which also counts LDS | the same | `kmcnt` |
//! | [`Counter::Lds`] | | | `dscnt` |

use gpu_report::Class;

use super::{Generation, Inst, Op, Operand};

/// Counts requests of a wave that are on the way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counter {
    /// Vector loads, and atomic operations that return a value.
    Loads,
    /// Vector stores, and atomic operations that return nothing.
    Stores,
    /// Scalar loads and messages.
    Scalars,
    /// LDS.
    Lds,
}

impl Counter {
    /// All of them, in order.
    pub const ALL: [Counter; 4] = [Counter::Loads, Counter::Stores, Counter::Scalars, Counter::Lds];

    /// The counters that an instruction increments; FLAT instructions have two, because they may access LDS.
    pub fn of(inst: &Inst, generation: Generation) -> &'static [Counter] {
        let (one_for_vectors, own_for_lds) = (generation.is_cdna(), generation == Generation::Gfx12);
        let stores = inst.dst == Operand::None && !inst.mem.lds;
        match (inst.op.class(), stores && !one_for_vectors, own_for_lds) {
            (Class::VmemLoad, ..) => &[Counter::Loads],
            (Class::VmemStore | Class::VmemAtomic | Class::Scratch, true, _) => &[Counter::Stores],
            (Class::VmemStore | Class::VmemAtomic | Class::Scratch, false, _) => &[Counter::Loads],
            (Class::Flat, true, false) => &[Counter::Stores, Counter::Scalars],
            (Class::Flat, true, true) => &[Counter::Stores, Counter::Lds],
            (Class::Flat, false, false) => &[Counter::Loads, Counter::Scalars],
            (Class::Flat, false, true) => &[Counter::Loads, Counter::Lds],
            (Class::Smem, ..) | (Class::Lds, _, false) => &[Counter::Scalars],
            (Class::Lds, _, true) => &[Counter::Lds],
            _ => &[],
        }
    }
}

/// A bit field: its value, and the largest one, which means that nothing is waited for.
pub(super) type Field = (u16, u16);

/// The fields of `s_waitcnt`: of `vmcnt`, `expcnt` and `lgkmcnt`.
pub(super) fn wait_fields(value: u16, generation: Generation) -> [Field; 3] {
    let field = |low: u16, width: u16| (value >> low & ((1 << width) - 1), (1 << width) - 1);
    let split = || (field(0, 4).0 | field(14, 2).0 << 4, 63);
    match generation {
        Generation::Gfx9 | Generation::Gfx940 => [split(), field(4, 3), field(8, 4)],
        Generation::Gfx10 => [split(), field(4, 3), field(8, 6)],
        Generation::Gfx11 | Generation::Gfx12 => [field(10, 6), field(0, 3), field(4, 6)],
    }
}

/// What an instruction waits for: how many requests of each [`Counter`], in the order of [`Counter::ALL`],
/// may still be on the way after it. None where any number may be.
pub fn waits(inst: &Inst, generation: Generation) -> [Option<u16>; 4] {
    let value = inst.src.iter().find_map(|operand| match operand {
        Operand::Imm(value) => Some(*value as u16),
        _ => None,
    });
    let Some(value) = value else { return if inst.op == Op::SWaitIdle { [Some(0); 4] } else { [None; 4] } };
    let low = Some(value & 63);
    match inst.op {
        Op::SWaitcnt => {
            let [loads, _, scalars] =
                wait_fields(value, generation).map(|(count, most)| Some(count).filter(|_| count != most));
            [loads, None, scalars, None]
        }
        Op::SWaitcntVmcnt | Op::SWaitLoadcnt => [low, None, None, None],
        Op::SWaitcntVscnt | Op::SWaitStorecnt => [None, low, None, None],
        Op::SWaitcntLgkmcnt | Op::SWaitKmcnt => [None, None, low, None],
        Op::SWaitDscnt => [None, None, None, low],
        Op::SWaitLoadcntDscnt => [Some(value >> 8 & 63), None, None, low],
        Op::SWaitStorecntDscnt => [None, Some(value >> 8 & 63), None, low],
        _ => [None; 4],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Isa, decode};

    fn waits_of(isa: Isa, bytes: &[u8]) -> [Option<u16>; 4] {
        waits(&decode(isa, bytes).expect("an instruction"), isa.generation())
    }

    #[test]
    fn each_generation_waits_in_its_own_fields() {
        // s_waitcnt vmcnt(17) lgkmcnt(0)
        let [loads, stores, scalars, lds] = waits_of(Isa::Gfx90a, &[0x71, 0x40, 0x8c, 0xbf]);
        assert_eq!([loads, stores, scalars, lds], [Some(17), None, Some(0), None]);
        // s_waitcnt vmcnt(3)
        assert_eq!(waits_of(Isa::Gfx1100, &[0xf7, 0x0f, 0x89, 0xbf]), [Some(3), None, None, None]);
        // s_wait_loadcnt 0x2, s_wait_kmcnt 0x0, s_wait_loadcnt_dscnt 0x103
        assert_eq!(waits_of(Isa::Gfx1201, &[2, 0, 0xc0, 0xbf]), [Some(2), None, None, None]);
        assert_eq!(waits_of(Isa::Gfx1201, &[0, 0, 0xc7, 0xbf]), [None, None, Some(0), None]);
        assert_eq!(waits_of(Isa::Gfx1201, &[3, 1, 0xc8, 0xbf]), [Some(1), None, None, Some(3)]);
        // s_nop 0
        assert_eq!(waits_of(Isa::Gfx1100, &[0, 0, 0x80, 0xbf]), [None; 4]);
    }
}
