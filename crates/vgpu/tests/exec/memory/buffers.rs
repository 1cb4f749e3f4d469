//! Bounds and swizzling of buffers.

use super::*;

#[test]
fn buffers_read_zero_and_drop_stores_out_of_bounds() {
    let mut bench = Bench::new(32);
    let base = bench.memory.allocate(4096, 1, MemoryKind::Coarse, None).unwrap();
    for i in 0..1024u64 {
        // SAFETY: the allocation holds 1024 dwords.
        unsafe { ((base + 4 * i) as *mut u32).write(i as u32 + 1) };
    }
    let offsets: Vec<u32> = (0..32).map(|lane| lane * 4).collect();
    let [address, scalar] = aim(&mut bench, Place::Buffer, base, &offsets);
    bench.wave.sgpr[6] = 40;
    bench.exec(u64::from(u32::MAX));
    let sources = [address, Operand::Vgpr(8), scalar, Operand::Int(0)];
    let mut load = inst(Op::BufferLoadB32, Operand::Vgpr(8), sources, 0);
    load.mem.offen = true;
    assert_eq!(bench.run(&load, Level::Baseline), Flow::Next);
    for lane in 0..32 {
        assert_eq!(bench.get(8, lane), if lane < 10 { lane as u32 + 1 } else { 0 });
    }
    for lane in 0..32 {
        bench.set(8, lane, 7000);
    }
    let mut store = inst(Op::BufferStoreB32, Operand::None, sources, 0);
    store.mem.offen = true;
    assert_eq!(bench.run(&store, Level::Baseline), Flow::Next);
    for i in 0..32u64 {
        // SAFETY: as above.
        let found = unsafe { ((base + 4 * i) as *const u32).read() };
        assert_eq!(found, if i < 10 { 7000 } else { i as u32 + 1 });
    }
    // Structures of 12 bytes, four of them.
    bench.wave.sgpr[5] |= 12 << 16;
    bench.wave.sgpr[6] = 4;
    bench.wave.sgpr[7] = 0;
    for lane in 0..32 {
        bench.set(2, lane, lane as u32);
    }
    let mut load = inst(Op::BufferLoadB32, Operand::Vgpr(8), sources, 8);
    load.mem.idxen = true;
    assert_eq!(bench.run(&load, Level::Baseline), Flow::Next);
    assert_eq!((bench.get(8, 0), bench.get(8, 3), bench.get(8, 4)), (7000, 12, 0));
}

#[test]
fn scratch_buffers_are_swizzled_by_lane() {
    for lanes in [32usize, 64] {
        let mut bench = Bench::new(lanes);
        bench.exec(u64::MAX);
        let base = bench.wave.access.scratch as u64;
        bench.wave.sgpr[4] = base as u32;
        bench.wave.sgpr[5] = (base >> 32) as u32 | 1 << 31;
        bench.wave.sgpr[6] = u32::MAX;
        bench.wave.sgpr[7] = 1 << 23 | if lanes == 64 { 3 } else { 2 } << 21 | 1 << 19;
        // The scalar offset is a stack pointer: it counts bytes of the whole wave.
        bench.wave.sgpr[32] = 16 * lanes as u32;
        for lane in 0..lanes {
            bench.set(8, lane, 300 + lane as u32);
        }
        let sources = [Operand::None, Operand::Vgpr(8), Operand::Sgpr(4), Operand::Sgpr(32)];
        let store = inst(Op::BufferStoreB32, Operand::None, sources, 8);
        let generation = if lanes == 64 { Generation::Gfx9 } else { Generation::Gfx10 };
        assert_eq!(bench.run_on(generation, &store, Level::Baseline), Flow::Next);
        assert!((0..lanes).all(|lane| bench.scratch[6 * lanes + lane] == 300 + lane as u32));
        let sources = [Operand::Vgpr(2), Operand::Vgpr(8), Operand::Sgpr(4), Operand::Int(0)];
        for lane in 0..lanes {
            bench.set(2, lane, 24);
        }
        let mut load = inst(Op::BufferLoadU8, Operand::Vgpr(9), sources, 0);
        load.mem.offen = true;
        assert_eq!(bench.run_on(generation, &load, Level::Baseline), Flow::Next);
        assert!((0..lanes).all(|lane| bench.get(9, lane) == (300 + lane as u32) & 0xff));
    }
}

/// A descriptor and an instruction's part of the address, as plain numbers.
#[derive(Clone, Copy, Debug)]
struct Buffer {
    base: u64,
    stride: u64,
    records: u64,
    /// As encoded in the descriptor: one bit up to gfx10, two from gfx11 on.
    swizzle: u32,
    index_stride: u64,
    add_lane: bool,
    oob_select: u32,
    scalar_offset: u64,
    immediate: u64,
    idxen: bool,
    offen: bool,
}

impl Buffer {
    fn random(random: &mut Random, generation: Generation, base: u64) -> Buffer {
        let mut pick = |choices: &[u64]| choices[random.next() as usize % choices.len()];
        let swizzles: &[u64] = if generation >= Generation::Gfx11 { &[0, 0, 1, 2, 3] } else { &[0, 1] };
        Buffer {
            base,
            stride: pick(&[0, 4, 12, 16, 32, 48]),
            records: pick(&[0, 3, 17, 40, 64, 100, 254, 1000, 4000]),
            swizzle: pick(swizzles) as u32,
            index_stride: pick(&[8, 16, 32, 64]),
            add_lane: pick(&[0, 0, 1]) != 0,
            oob_select: pick(&[0, 1, 2, 3, 3]) as u32,
            scalar_offset: pick(&[0, 0, 4, 40]),
            immediate: pick(&[0, 4, 8, 20]),
            idxen: pick(&[0, 1]) != 0,
            offen: pick(&[0, 1]) != 0,
        }
    }

    fn words(&self, generation: Generation) -> [u32; 4] {
        let swizzle = self.swizzle << if generation >= Generation::Gfx11 { 30 } else { 31 };
        [
            self.base as u32,
            (self.base >> 32) as u32 & 0xffff | (self.stride as u32) << 16 | swizzle,
            self.records as u32,
            self.oob_select << 28 | u32::from(self.add_lane) << 23 | (self.index_stride.ilog2() - 3) << 21,
        ]
    }

    /// The address of `size` bytes, `further` bytes into an access; none if out of bounds. This follows AMD's
    /// documents of CDNA 4, RDNA 3 and RDNA 4, and hardware behaviour as found by AMD's emulator rocjitsu.
    /// Each dword is checked separately. An index register replaces the lane's number. The scalar offset is
    /// not swizzled, and it counts where bytes are counted.
    fn address(
        &self,
        generation: Generation,
        (index, offset): (u32, u32),
        lane: usize,
        (further, size): (u64, u64),
    ) -> Option<u64> {
        let (cdna, rdna2) = (generation.is_cdna(), generation == Generation::Gfx10);
        let has_index = self.idxen || self.add_lane;
        let element = match (self.swizzle, generation >= Generation::Gfx11) {
            (1.., _) if cdna && !self.add_lane => None,
            (size @ 1.., true) if has_index => Some([4, 8, 16][size as usize - 1]),
            (1.., false) => Some(4),
            _ => None,
        };
        let lane = match (self.add_lane, self.idxen) {
            (true, false) => lane as u64,
            (true, true) if rdna2 || cdna && element.is_some() => lane as u64,
            _ => 0,
        };
        let index = lane + if self.idxen { u64::from(index) } else { 0 };
        let start = (self.immediate + if self.offen { u64::from(offset) } else { 0 }) % (1 << 32);
        let offset = start + further;
        let buffer_offset = match element {
            None => index * self.stride + offset,
            Some(element) => {
                let (index_msb, index_lsb) = (index / self.index_stride, index % self.index_stride);
                let (offset_msb, offset_lsb) = (offset / element, offset % element);
                (index_msb * self.stride + offset_msb * element) * self.index_stride
                    + index_lsb * element
                    + offset_lsb
            }
        };
        let bytes = offset + size + self.scalar_offset > self.records;
        let structured = index >= self.records || offset + size > self.stride;
        let outside = match (cdna, self.oob_select) {
            (true, _) if self.add_lane && !self.idxen => false,
            (true, _) if self.idxen && self.stride != 0 => index >= self.records,
            (true, _) => bytes,
            (_, 0) => structured,
            (_, 1) => index >= self.records,
            (_, 2) => self.records == 0,
            _ if element.is_some() && self.stride != 0 => structured,
            _ => bytes,
        };
        (!outside).then_some(self.base + self.scalar_offset + buffer_offset)
    }
}

/// Bytes around the buffer's base; every address is among them.
const ARENA: usize = 1 << 18;

#[test]
fn buffers_are_addressed_and_bounded_as_each_generation_does_it() {
    let mut random = Random(23);
    for &(generation, lanes) in MACHINES {
        let mut bench = Bench::new(lanes);
        let arena = bench.memory.allocate(ARENA as u64, 1, MemoryKind::Coarse, None).unwrap();
        for round in 0..150 {
            let buffer = Buffer::random(&mut random, generation, arena + 16);
            let (operation, bytes) = [
                ("buffer_load_u8", 1),
                ("buffer_load_d16_hi_i8", 1),
                ("buffer_load_i16", 2),
                ("buffer_load_b32", 4),
                ("buffer_load_b64", 8),
                ("buffer_load_b96", 12),
                ("buffer_load_b128", 16),
                ("buffer_store_b8", 1),
                ("buffer_store_b16", 2),
                ("buffer_store_b32", 4),
                ("buffer_store_b96", 12),
                ("buffer_store_b128", 16),
                ("buffer_atomic_add_u32", 4),
            ][round % 13];
            let level = Level::available()[round % Level::available().len()];
            // SAFETY: the allocation has that many bytes, and only this test uses it.
            let memory = unsafe { std::slice::from_raw_parts_mut(arena as *mut u8, ARENA) };
            for (i, byte) in memory.iter_mut().enumerate() {
                *byte = (i * 7 + i / 256) as u8;
            }
            let mut model = memory.to_vec();
            let own: Vec<(u32, u32)> =
                (0..lanes).map(|_| (random.next() % 70, random.next() % 16 * 4)).collect();
            for (lane, &(index, offset)) in own.iter().enumerate() {
                let [first, second] = if buffer.idxen { [index, offset] } else { [offset, 0] };
                bench.set(2, lane, first);
                bench.set(3, lane, second);
                for register in 0..4 {
                    bench.set(8 + register, lane, random.next() << 12 ^ random.next());
                }
            }
            for (i, word) in buffer.words(generation).into_iter().enumerate() {
                bench.wave.sgpr[4 + i] = word;
            }
            bench.wave.sgpr[9] = buffer.scalar_offset as u32;
            let mask = u64::MAX >> (64 - lanes) & !(u64::from(random.next()) << 9);
            bench.exec(mask);
            let atomic = operation.contains("atomic");
            let load = operation.contains("load");
            let dst = if load || atomic { Operand::Vgpr(8) } else { Operand::None };
            let sources = [Operand::Vgpr(2), Operand::Vgpr(8), Operand::Sgpr(4), Operand::Sgpr(9)];
            let mut inst = inst(op(operation), dst, sources, buffer.immediate as i32);
            (inst.mem.idxen, inst.mem.offen) = (buffer.idxen, buffer.offen);
            let old: Vec<[u32; 4]> =
                (0..lanes).map(|lane| std::array::from_fn(|r| bench.get(8 + r, lane))).collect();
            let text = format!("{operation} {generation:?} {buffer:?}");
            assert_eq!(bench.run_on(generation, &inst, level), Flow::Next, "{text} {:?}", bench.wave.fault);
            for lane in 0..lanes {
                let mut expected = old[lane];
                if mask >> lane & 1 != 0 {
                    // Dwords of wide accesses are placed and checked separately.
                    let size = if bytes > 4 { 4 } else { bytes };
                    let mut data = vec![0u8; bytes as usize];
                    for at in (0..bytes).step_by(size as usize) {
                        let part = at as usize..(at + size) as usize;
                        let place = buffer.address(generation, own[lane], lane, (at, size));
                        let Some(place) = place.map(|address| (address - arena) as usize) else { continue };
                        let place = place..place + size as usize;
                        if load || atomic {
                            data[part.clone()].copy_from_slice(&model[place.clone()]);
                        }
                        if atomic {
                            let word = u32::from_le_bytes(data[part].try_into().unwrap());
                            model[place].copy_from_slice(&word.wrapping_add(old[lane][0]).to_le_bytes());
                        } else if !load {
                            let bytes: Vec<u8> =
                                old[lane].iter().flat_map(|word| word.to_le_bytes()).collect();
                            model[place].copy_from_slice(&bytes[part]);
                        }
                    }
                    if load || atomic {
                        let name = operation.trim_start_matches("buffer_");
                        let values = moves::loaded(name, generation, old[lane][0], &data);
                        expected[..values.len()].copy_from_slice(&values);
                    }
                }
                let found: [u32; 4] = std::array::from_fn(|r| bench.get(8 + r, lane));
                assert_eq!(found, expected, "{text} lane {lane} {:?}", own[lane]);
            }
            assert!(memory == model.as_slice(), "{text}");
        }
    }
}

#[test]
fn a_null_descriptor_has_no_records() {
    let mut bench = Bench::new(32);
    bench.exec(0xff);
    bench.set(8, 3, 5);
    let sources = [Operand::None, Operand::Vgpr(8), Operand::Sgpr(scalar::NULL), Operand::Int(0)];
    for (operation, dst) in [(Op::BufferLoadB32, Operand::Vgpr(8)), (Op::BufferStoreB32, Operand::None)] {
        assert_eq!(bench.run(&inst(operation, dst, sources, 0), Level::Baseline), Flow::Next);
    }
    assert_eq!(bench.get(8, 3), 0);
}

#[test]
fn fault_status_follows_the_data() {
    let mut bench = Bench::new(32);
    bench.exec(0xf);
    for lane in 0..8 {
        (0..4).for_each(|register| bench.set(8 + register, lane, 99));
    }
    let sources = [Operand::None, Operand::None, Operand::Sgpr(scalar::NULL), Operand::Int(0)];
    let mut load = inst(Op::BufferLoadB64, Operand::Vgpr(8), sources, 0);
    load.mem.tfe = true;
    assert_eq!(bench.run(&load, Level::Baseline), Flow::Next);
    let row = |lane| std::array::from_fn::<u32, 4, _>(|register| bench.get(8 + register, lane));
    assert_eq!((row(3), row(4)), ([0, 0, 0, 99], [99; 4]));
}
