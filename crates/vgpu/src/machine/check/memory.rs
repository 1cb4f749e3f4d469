//! Tracks uninitialised bits through loads, stores and atomic instructions, and checks that addresses do not
//! depend on them.

use super::values::{COMPUTED, Load, Values, lanes, vector};
use crate::exec::{TILE_ELEMENTS, TILE_LANES, Wave, transposed, transposed_from_lds};
use crate::isa::{Fact, Format, Op, Operand, Register, scalar};
use crate::machine::observe::{LaneAccess, Moved, Step, Verdict};
use gpu_report::{AccessKind, Space, Use};

impl Values {
    /// Checks that addresses do not depend on unknown bits.
    pub(super) fn check_addresses(&self, index: usize, step: &Step<'_>, wave: &Wave) -> Verdict {
        let inst = step.resolved;
        let state = &self.waves[index];
        let width = |i: usize| usize::from(inst.source_registers(i, wave.lanes));
        let is_ds = inst.format == Format::Ds;
        let m0 = Register::Scalar(scalar::M0);
        if state.scalar[usize::from(scalar::M0)] != 0
            && step.registers.read.iter().any(|span| span.first == m0)
        {
            return self.fault(Use::Address, state.scalar_from[usize::from(scalar::M0)], None);
        }
        let image = inst.image();
        let first = vector(inst.src[0]).map_or(0..0, |register| register..register + width(0));
        // Descriptors say how many registers an image's address takes where the instruction does not.
        let of_image = image.and_then(|image| Some((image, image.address_count(image.coordinates?))));
        let of_image = of_image
            .into_iter()
            .flat_map(|(image, count)| (0..count).map(move |part| usize::from(image.address(part))));
        let registers: Vec<usize> = first.chain(of_image).collect();
        if !registers.is_empty() {
            let exec = step
                .accesses
                .iter()
                .filter(|access| !access.scalar)
                .fold(0, |mask, access| mask | access.mask);
            for register in registers {
                let bad = lanes(exec).find(|lane| state.vector(register, *lane) != 0);
                if let Some(lane) = bad {
                    return self.fault(Use::Address, state.from(register, lane), Some(lane));
                }
            }
        }
        let scalars = [2, 3].map(|i| match inst.src[i] {
            Operand::Sgpr(slot) if !is_ds => Some((slot, width(i).max(1))),
            _ => None,
        });
        let resource = image.map(|image| (image.resource, 8));
        let sampler = image.and_then(|image| Some((image.sampler?, 4)));
        for (slot, count) in scalars.into_iter().chain([resource, sampler]).flatten() {
            if slot != scalar::NULL {
                let slots = usize::from(slot)..usize::from(slot) + count;
                if let Some(slot) =
                    slots.into_iter().find(|slot| state.scalar.get(*slot).is_some_and(|bits| *bits != 0))
                {
                    return self.fault(Use::Address, state.scalar_from[slot], None);
                }
            }
        }
        Ok(())
    }

    /// Tracks a load, a store or an atomic instruction.
    pub(super) fn accesses(&mut self, index: usize, step: &Step<'_>) -> Verdict {
        for (number, access) in step.accesses.iter().enumerate() {
            match access.moved {
                Moved::Transposed(bits) if access.space == Space::Lds => {
                    self.transposed_from_lds(index, step, access, usize::from(bits));
                }
                Moved::Transposed(bits) => self.transposed(index, step, access, usize::from(bits) / 8),
                _ => self.access(index, step, number, access)?,
            }
        }
        Ok(())
    }

    fn access(&mut self, index: usize, step: &Step<'_>, number: usize, access: &LaneAccess) -> Verdict {
        let op = step.resolved.op;
        let bytes = access.bytes as usize;
        let (swaps, high_half) = (op.has(Fact::SWAPS), op.has(Fact::HIGH));
        let converted = access.moved == Moved::Converted;
        let any = |bits: &[u8]| if bits.iter().any(|bits| *bits != 0) { 0xff } else { 0 };
        for (lane, address) in access.lanes() {
            let mut unknown = None;
            let mut from = 0;
            if access.kind != AccessKind::Write {
                let mut bits = self.read(index, access.space, lane, address, bytes);
                if any(&bits) != 0 {
                    from = self.note_load(step, access, lane, address);
                }
                if converted {
                    // A filter's result depends on every element that it weights.
                    let state = &self.waves[index];
                    let earlier = step.accesses[..number].iter().any(|earlier| earlier.mask >> lane & 1 != 0);
                    let first = access.loaded.filter(|_| earlier && step.resolved.format == Format::Mimg);
                    let before = first.map_or(0, |first| state.vector(first.into(), lane));
                    let all = any(&bits) | if before == 0 { 0 } else { 0xff };
                    if all != 0 && any(&bits) == 0 {
                        from = state.from(first.map_or(0, usize::from), lane);
                    }
                    bits = vec![all; 4 * self.loaded_registers(step)];
                }
                unknown = Some(bits);
            }
            let stored = (access.kind != AccessKind::Read).then(|| {
                let data = match access.moved {
                    Moved::Copied(source) => self.copied(index, step, usize::from(source), lane),
                    Moved::Converted => vec![any(&self.converted(index, step, access, lane)); bytes],
                    _ => self.data(index, access, lane, bytes, high_half),
                };
                match &unknown {
                    // The result of an operation on both.
                    Some(old) if !swaps => vec![any(old) | any(&data); data.len()],
                    _ => data,
                }
            });
            if let Some(stored) = stored {
                if access.space == Space::Global && self.checks.outputs && any(&stored) != 0 {
                    let old = unknown.is_some().then_some(from);
                    self.check_output(index, access, lane, &stored, old)?;
                }
                self.store(index, access.space, lane, address, &stored);
            }
            if let (Some(unknown), Some(first)) = (unknown, access.loaded) {
                self.load(index, access, usize::from(first), lane, &unknown, op, from);
            }
        }
        if let Some(first) = access.loaded.filter(|_| !access.scalar) {
            let registers = if converted { self.loaded_registers(step) } else { bytes.div_ceil(4) };
            let state = &mut self.waves[index];
            (0..registers).for_each(|i| state.settle(usize::from(first) + i));
        }
        Ok(())
    }

    /// Checks that a lane does not store values from uninitialised global memory to global memory. Padding is
    /// allowed: bytes that were only moved, if the lane stores other bytes beside them. `old` is the origin
    /// of unknown bits at the destination, which an atomic operation reads.
    fn check_output(
        &self,
        index: usize,
        access: &LaneAccess,
        lane: usize,
        stored: &[u8],
        old: Option<u32>,
    ) -> Verdict {
        let state = &self.waves[index];
        let padding = stored.contains(&0);
        let first = access.stored.map_or(0, usize::from);
        let registers = if access.stored.is_some() { stored.len().div_ceil(4) } else { 0 };
        let of_register = |i: usize| match access.scalar {
            true => state.scalar.get(first + i).copied().unwrap_or(0) != 0,
            false => state.vector(first + i, lane) != 0,
        };
        let sources = (0..registers).filter(|i| of_register(*i)).map(|i| match access.scalar {
            true => state.scalar_from[(first + i) % scalar::COUNT],
            false => state.from(first + i, lane),
        });
        let spoils = |from: &u32| (from & COMPUTED != 0 || !padding) && self.comes_from_memory(*from, lane);
        match sources.chain(old).find(spoils) {
            Some(from) => self.fault(Use::Output, from, (!access.scalar).then_some(lane)),
            None => Ok(()),
        }
    }

    /// Registers that an instruction loads.
    fn loaded_registers(&self, step: &Step<'_>) -> usize {
        match step.resolved.image() {
            Some(image) => usize::from(image.data_count) - usize::from(image.status),
            None => step.resolved.op.signature().dst.dwords() as usize,
        }
    }

    /// Unknown bits of the dword that a lane copies to LDS from the memory that another access of the
    /// instruction reads.
    fn copied(&mut self, index: usize, step: &Step<'_>, source: usize, lane: usize) -> Vec<u8> {
        let found = step.accesses.get(source).filter(|access| access.kind == AccessKind::Read);
        let Some(access) = found.filter(|access| access.mask >> lane & 1 != 0) else { return vec![0; 4] };
        let mut bits = self.read(index, access.space, lane, access.address[lane], access.bytes as usize);
        let signed = step.resolved.op.has(Fact::SIGNED);
        let sign = bits.last().is_some_and(|last| signed && last >> 7 != 0);
        let width = bits.len().max(4);
        bits.resize(width, if sign { 0xff } else { 0 });
        bits
    }

    /// Unknown bits of the registers that a lane stores as one element.
    fn converted(&self, index: usize, step: &Step<'_>, access: &LaneAccess, lane: usize) -> Vec<u8> {
        let data = match step.resolved.image() {
            Some(image) => 4 * usize::from(image.data_count),
            None => step.resolved.op.signature().src[1].bits() as usize / 8,
        };
        self.data(index, access, lane, data, step.resolved.op.has(Fact::HIGH))
    }

    /// A matrix of 16 by 16 elements that is transposed by the load.
    fn transposed(&mut self, index: usize, step: &Step<'_>, access: &LaneAccess, element: usize) {
        let Some(first) = access.loaded.map(usize::from) else { return };
        let mut tile = [[0u16; TILE_ELEMENTS]; TILE_LANES];
        let mut from = [0; TILE_LANES];
        for (lane, address) in access.lanes() {
            let bits = self.read(index, access.space, lane, address, access.bytes as usize);
            if bits.iter().any(|bits| *bits != 0) {
                from[lane] = self.note_load(step, access, lane, address);
            }
            for (value, bits) in tile[lane].iter_mut().zip(bits.chunks(element)) {
                *value = bits.iter().rev().fold(0, |all, byte| all << 8 | u16::from(*byte));
            }
        }
        let state = &mut self.waves[index];
        let count = TILE_LANES * TILE_ELEMENTS / state.lanes;
        let registers = count * element / 4;
        for lane in 0..state.lanes {
            let (mut received, mut source) = (0u128, 0);
            for i in 0..count {
                let (reader, place) = transposed(element, lane, i);
                received |= u128::from(tile[reader][place]) << (8 * element * i);
                source = if tile[reader][place] != 0 { from[reader] } else { source };
            }
            for i in 0..registers {
                state.set_vector(first + i, lane, (received >> (32 * i)) as u32, source);
            }
        }
        (0..registers).for_each(|i| state.settle(first + i));
    }

    /// What lanes receive from a tile of LDS.
    fn transposed_from_lds(&mut self, index: usize, step: &Step<'_>, access: &LaneAccess, bits: usize) {
        let Some(first) = access.loaded.map(usize::from) else { return };
        let (mut tile, mut from) = ([0u128; 64], [0; 64]);
        for (lane, address) in access.lanes() {
            let unknown = self.read(index, access.space, lane, address, access.bytes as usize);
            if unknown.iter().any(|bits| *bits != 0) {
                from[lane] = self.note_load(step, access, lane, address);
            }
            tile[lane] = unknown.iter().rev().fold(0, |all, byte| all << 8 | u128::from(*byte));
        }
        let state = &mut self.waves[index];
        let (count, registers) = (8 * access.bytes as usize / bits, access.bytes as usize / 4);
        for lane in 0..state.lanes {
            let (mut received, mut source) = (0u128, 0);
            for i in 0..count {
                let (reader, place) = transposed_from_lds(count, lane, i);
                let element = tile[reader] >> (bits * place) & ((1 << bits) - 1);
                received |= element << (bits * i);
                source = if element != 0 { from[reader] } else { source };
            }
            for i in 0..registers {
                state.set_vector(first + i, lane, (received >> (32 * i)) as u32, source);
            }
        }
        (0..registers).for_each(|i| state.settle(first + i));
    }

    /// Records a lane's load of unknown bits and returns its number.
    fn note_load(&mut self, step: &Step<'_>, access: &LaneAccess, lane: usize, address: u64) -> u32 {
        let bytes = address as usize..(address as usize).saturating_add(access.bytes as usize);
        let written = self.lds_written.get(bytes).is_some_and(|bytes| bytes.iter().all(|written| *written));
        self.note(Load {
            address: step.address,
            wave: step.wave,
            lane: (!access.scalar).then_some(lane as u8),
            space: access.space,
            from: address,
            bytes: access.bytes,
            passed_on: access.space == Space::Lds && written,
        })
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
                        self.lds_written[address as usize] = true;
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

    /// Unknown bits of the data that a lane stores.
    fn data(&self, index: usize, access: &LaneAccess, lane: usize, bytes: usize, high_half: bool) -> Vec<u8> {
        let state = &self.waves[index];
        let Some(first) = access.stored.map(usize::from) else { return vec![0; bytes] };
        (0..bytes)
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

    /// Puts a lane's loaded value into its registers.
    #[allow(clippy::too_many_arguments, reason = "what is loaded, from where, to where")]
    fn load(
        &mut self,
        index: usize,
        access: &LaneAccess,
        first: usize,
        lane: usize,
        unknown: &[u8],
        op: Op,
        from: u32,
    ) {
        let clears = self.isa.generation().has_register_ecc();
        let state = &mut self.waves[index];
        for (i, part) in unknown.chunks(4).enumerate() {
            let mut bits = part.iter().rev().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte));
            let width = 8 * part.len() as u32;
            if width < 32 && op.has(Fact::SIGNED) && bits >> (width - 1) & 1 != 0 {
                bits |= u32::MAX << width;
            }
            if access.scalar {
                state.set_scalar(first + i, bits, from);
                continue;
            }
            let old = if clears { 0 } else { state.vector(first + i, lane) };
            let bits = if access.moved == Moved::Converted && op.has(Fact::D16) && bits != 0 {
                u32::MAX
            } else if op.has(Fact::HIGH) {
                bits << 16 | old & 0xffff
            } else if op.has(Fact::D16) {
                bits & 0xffff | old & 0xffff_0000
            } else {
                bits
            };
            // Bits that are not written keep their origin.
            let from = if part.iter().any(|bits| *bits != 0) { from } else { state.from(first + i, lane) };
            state.set_vector(first + i, lane, bits, from);
        }
    }
}
