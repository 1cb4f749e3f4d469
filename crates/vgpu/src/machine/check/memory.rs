//! What loads, stores and atomic instructions do with bits that nobody wrote, and what their addresses may not depend on.

use super::values::{Load, Values, lanes, vector};
use crate::exec::Wave;
use crate::isa::{Format, Operand, Register};
use crate::machine::fault::{AccessKind, Origin, Space, Use};
use crate::machine::observe::{LaneAccess, Step, Verdict};

impl Values {
    /// Addresses may not depend on unknown bits.
    pub(super) fn check_addresses(&self, index: usize, step: &Step<'_>, wave: &Wave) -> Verdict {
        let inst = step.inst;
        let state = &self.waves[index];
        let width = |i: usize| -> usize {
            let given = step.registers.read.iter().find(|span| match (span.first, inst.src[i]) {
                (Register::Vector(first), operand) => vector(operand) == Some(usize::from(first)),
                (Register::Scalar(first), Operand::Sgpr(slot)) => first == slot,
                _ => false,
            });
            given.map_or(0, |span| usize::from(span.count))
        };
        let is_ds = inst.format == Format::Ds;
        if let Some(register) = vector(inst.src[0]) {
            let exec = step.accesses.iter().fold(0, |mask, access| mask | access.mask) & wave.active();
            for register in register..register + width(0) {
                let bad = lanes(exec).find(|lane| state.vector(register, *lane) != 0);
                if let Some(lane) = bad {
                    return self.fault(Use::Address, state.vector_from[register], Some(lane));
                }
            }
        }
        for i in [2, 3] {
            if let Operand::Sgpr(slot) = inst.src[i]
                && !is_ds
            {
                let slots = usize::from(slot)..usize::from(slot) + width(i).max(1);
                if let Some(slot) =
                    slots.into_iter().find(|slot| state.scalar.get(*slot).is_some_and(|bits| *bits != 0))
                {
                    return self.fault(Use::Address, state.scalar_from[slot], None);
                }
            }
        }
        Ok(())
    }

    /// What a load, a store or an atomic instruction does.
    pub(super) fn access(&mut self, index: usize, step: &Step<'_>, access: &LaneAccess) -> Verdict {
        let name = step.inst.op.name();
        let bytes = access.bytes as usize;
        let swaps = name.contains("swap") || name.contains("xchg") || name.contains("cmpst");
        let high_half = name.contains("d16_hi");
        for (lane, address) in access.lanes() {
            let unknown = if access.kind == AccessKind::Write {
                None
            } else {
                Some(self.read(index, access.space, lane, address, bytes))
            };
            let mut from = 0;
            if let Some(unknown) = &unknown
                && unknown.iter().any(|bits| *bits != 0)
            {
                from = self.note(step, access, lane, address);
            }
            let stored = (access.kind != AccessKind::Read).then(|| {
                let data = self.data(index, access, lane, high_half);
                match &unknown {
                    Some(old) if !swaps => {
                        // The result of an operation on both.
                        let any = old.iter().chain(&data).any(|bits| *bits != 0);
                        data.iter().map(|_| if any { 0xff } else { 0 }).collect()
                    }
                    _ => data,
                }
            });
            if let Some(stored) = stored {
                self.store(index, access.space, lane, address, &stored);
            }
            if let (Some(unknown), Some(first)) = (unknown, access.loaded) {
                self.load(index, access, usize::from(first), lane, &unknown, name, from);
            }
        }
        if let Some(first) = access.loaded.filter(|_| !access.scalar) {
            let state = &mut self.waves[index];
            (0..bytes.div_ceil(4)).for_each(|i| state.settle(usize::from(first) + i));
        }
        Ok(())
    }

    /// Remembers a load of unknown bits and returns its number.
    fn note(&mut self, step: &Step<'_>, access: &LaneAccess, lane: usize, address: u64) -> u32 {
        let next = self.loads.len() as u32;
        let number = *self.numbers.entry(step.address).or_insert(next);
        let allocation = match access.space {
            Space::Global => {
                self.shadows.find(address, &mut self.last).map(|shadow| shadow.allocation.clone())
            }
            _ => None,
        };
        let load = Load {
            address: step.address,
            wave: step.wave,
            lane: (!access.scalar).then_some(lane as u8),
            origin: Origin::Memory {
                space: access.space,
                address,
                size: u64::from(access.bytes),
                allocation,
            },
        };
        match self.loads.get_mut(number as usize) {
            Some(old) => *old = load,
            None => self.loads.push(load),
        }
        number
    }

    /// Unknown bits of memory, byte by byte.
    fn read(&mut self, index: usize, space: Space, lane: usize, address: u64, bytes: usize) -> Vec<u8> {
        (0..bytes as u64)
            .map(|i| {
                let address = address.wrapping_add(i);
                !match space {
                    Space::Lds => self.lds.get(address as usize).copied().unwrap_or(0xff),
                    Space::Scratch if address < self.scratch_size as u64 => {
                        self.waves[index].scratch[lane * self.scratch_size + address as usize]
                    }
                    Space::Scratch => 0xff,
                    Space::Global => self
                        .shadows
                        .find(address, &mut self.last)
                        .map_or(0xff, |shadow| shadow.known(address)),
                }
            })
            .collect()
    }

    fn store(&mut self, index: usize, space: Space, lane: usize, address: u64, unknown: &[u8]) {
        for (i, bits) in unknown.iter().enumerate() {
            let address = address.wrapping_add(i as u64);
            match space {
                Space::Lds => {
                    if let Some(place) = self.lds.get_mut(address as usize) {
                        *place = !bits;
                    }
                }
                Space::Scratch if address < self.scratch_size as u64 => {
                    self.waves[index].scratch[lane * self.scratch_size + address as usize] = !bits;
                }
                Space::Scratch => {}
                Space::Global => {
                    if let Some(shadow) = self.shadows.find(address, &mut self.last) {
                        shadow.set(address, !bits);
                    }
                }
            }
        }
    }

    /// Unknown bits of what a lane stores.
    fn data(&self, index: usize, access: &LaneAccess, lane: usize, high_half: bool) -> Vec<u8> {
        let state = &self.waves[index];
        let Some(first) = access.stored.map(usize::from) else { return vec![0; access.bytes as usize] };
        (0..access.bytes as usize)
            .map(|i| {
                let register = first + i / 4;
                let bits = if access.scalar {
                    state.scalar.get(register).copied().unwrap_or(0)
                } else {
                    state.vector(register, lane)
                };
                (bits >> (8 * (i % 4) + if high_half { 16 } else { 0 })) as u8
            })
            .collect()
    }

    /// Puts what a lane loaded into its registers.
    #[allow(clippy::too_many_arguments, reason = "what is loaded, from where, to where")]
    fn load(
        &mut self,
        index: usize,
        access: &LaneAccess,
        first: usize,
        lane: usize,
        unknown: &[u8],
        name: &str,
        from: u32,
    ) {
        let state = &mut self.waves[index];
        for (i, part) in unknown.chunks(4).enumerate() {
            let mut bits = part.iter().rev().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte));
            let width = 8 * part.len() as u32;
            if width < 32 && (name.contains("_i8") || name.contains("_i16")) && bits >> (width - 1) & 1 != 0 {
                bits |= u32::MAX << width;
            }
            if access.scalar {
                state.set_scalar(first + i, bits, from);
                continue;
            }
            let old = state.vector(first + i, lane);
            let bits = if name.contains("d16_hi") {
                bits << 16 | old & 0xffff
            } else if name.contains("d16") {
                bits & 0xffff | old & 0xffff_0000
            } else {
                bits
            };
            state.set_vector(first + i, lane, bits, from);
        }
    }
}
