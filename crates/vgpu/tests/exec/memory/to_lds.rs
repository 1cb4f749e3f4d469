//! Loads from memory directly to LDS.

use super::*;

#[test]
fn lanes_go_to_consecutive_dwords_of_lds() {
    for (name, bytes, extend) in [
        ("u8", 1, (|word| word & 0xff) as fn(u32) -> u32),
        ("i8", 1, |word| i32::from(word as i8) as u32),
        ("u16", 2, |word| word & 0xffff),
        ("i16", 2, |word| i32::from(word as i16) as u32),
        ("b32", 4, |word| word),
    ] {
        for place in [Place::Global, Place::GlobalScalar, Place::Scratch, Place::Buffer] {
            for (generation, lanes) in
                [(Generation::Gfx10, 32), (Generation::Gfx10, 64), (Generation::Gfx940, 64)]
            {
                // gfx942 has separate instructions besides the bit of MUBUF.
                let own = generation == Generation::Gfx940 && place != Place::Buffer;
                let name = format!("{}_load_{}{name}", place.prefix(), if own { "lds_" } else { "" });
                let mut random = Random(3);
                let mut bench = Bench::new(lanes);
                let base = bench.memory.allocate(4096, 1, MemoryKind::Coarse, None).unwrap();
                let offsets: Vec<u32> = (0..lanes).map(|_| random.next() % 50 * 4).collect();
                let [address, scalar] = aim(&mut bench, place, base, &offsets);
                let mut words = vec![0u32; lanes];
                for lane in 0..lanes {
                    for at in 0..SCRATCH {
                        // The same for all lanes, so shared memory works as well as private memory.
                        let value = (at * 73 + at / 5 * 11) as u8 ^ 0x80;
                        // SAFETY: all places hold that many bytes.
                        unsafe { byte(&bench, place, base, lane, at).write(value) };
                    }
                    // SAFETY: as above.
                    let get =
                        |i| unsafe { byte(&bench, place, base, lane, offsets[lane] as usize + 8 + i).read() };
                    let data: [u8; 4] = std::array::from_fn(|i| if i < bytes { get(i) } else { 0xdd });
                    words[lane] = extend(u32::from_le_bytes(data));
                }
                bench.lds.fill(0x1111_1111_1111_1111);
                bench.wave.sgpr[usize::from(scalar::M0)] = 0xabc0_0100;
                let mask = u64::MAX >> (64 - lanes) & !0xf0f0;
                bench.exec(mask);
                bench.set(0, 5, 42);
                let scalar_offset = if place == Place::Buffer { Operand::Int(0) } else { Operand::None };
                let mut inst =
                    inst(op(&name), Operand::None, [address, Operand::None, scalar, scalar_offset], 8);
                (inst.mem.offen, inst.mem.lds) = (true, !own);
                let flow = bench.run_on(generation, &inst, Level::Baseline);
                assert_eq!(flow, Flow::Next, "{name} {place:?} {:?}", bench.wave.fault);
                // The instruction's offset applies to both memories.
                let first = (0x100 + 8) / 4;
                for (i, &word) in dwords(&bench.lds).iter().enumerate() {
                    let lane = i.wrapping_sub(first);
                    let written = lane < lanes && mask >> lane & 1 != 0;
                    let expected = if written { words[lane] } else { 0x1111_1111 };
                    assert_eq!(word, expected, "{name} {place:?} dword {i}");
                }
                assert_eq!(bench.get(0, 5), 42);
            }
        }
    }
}

#[test]
fn a_place_beyond_the_end_of_lds_is_a_fault() {
    let mut bench = Bench::new(64);
    let base = bench.memory.allocate(4096, 1, MemoryKind::Coarse, None).unwrap();
    let [address, scalar] = aim(&mut bench, Place::GlobalScalar, base, &[0; 64]);
    bench.wave.sgpr[usize::from(scalar::M0)] = LDS as u32 - 4 * 10;
    let load =
        inst(op("global_load_lds_b32"), Operand::None, [address, Operand::None, scalar, Operand::None], 0);
    bench.exec(0x3ff);
    assert_eq!(bench.run_on(Generation::Gfx940, &load, Level::Baseline), Flow::Next);
    bench.exec(0x7ff);
    assert_eq!(bench.run_on(Generation::Gfx940, &load, Level::Baseline), Flow::Fault);
    let (kind, lane) = bench.fault();
    assert!(
        matches!(kind, FaultKind::BeyondLimit { space: Space::Lds, access: AccessKind::Write, .. }),
        "{kind:?}"
    );
    assert_eq!(lane, Some(10));
}

#[test]
fn typed_buffers_convert_on_the_way_to_lds() {
    let mut bench = Bench::new(64);
    let base = bench.memory.allocate(64, 1, MemoryKind::Coarse, None).unwrap();
    // SAFETY: the allocation has 64 bytes.
    unsafe { (base as *mut u8).add(3).write(255) };
    aim(&mut bench, Place::Buffer, base, &[3; 64]);
    // 8 unorm, as x.
    bench.wave.sgpr[7] = 1 << 15 | 4;
    bench.exec(2);
    bench.wave.sgpr[usize::from(scalar::M0)] = 0;
    let sources = [Operand::Vgpr(2), Operand::None, Operand::Sgpr(4), Operand::Int(0)];
    let mut load = inst(op("buffer_load_format_x"), Operand::None, sources, 0);
    (load.mem.offen, load.mem.lds) = (true, true);
    assert_eq!(bench.run_on(Generation::Gfx9, &load, Level::Baseline), Flow::Next);
    assert_eq!(dwords(&bench.lds)[..3], [0, 0x3f80_0000, 0]);
}

/// gfx90a: the other direction. If lane numbers are added to the index, consecutive dwords go to consecutive
/// elements of the buffer.
#[test]
fn consecutive_dwords_of_lds_go_to_a_buffer() {
    let mut bench = Bench::new(64);
    let base = bench.memory.allocate(4096, 1, MemoryKind::Coarse, None).unwrap();
    // SAFETY: the allocation holds 1024 dwords, and nothing else uses it.
    let memory = unsafe { std::slice::from_raw_parts_mut(base as *mut u32, 1024) };
    memory.fill(7);
    for (i, word) in bench.lds.iter_mut().enumerate() {
        *word = (2 * i as u64 + 1) << 32 | 2 * i as u64;
    }
    let (stride, add_lanes) = (12, 1 << 23);
    let descriptor = [base as u32, (base >> 32) as u32 | stride << 16, 4096, add_lanes];
    bench.wave.sgpr[8..12].copy_from_slice(&descriptor);
    bench.wave.sgpr[usize::from(scalar::M0)] = 0x100;
    let mask = 0x00ff_ffff_ffff_fff0;
    bench.exec(mask);
    let sources = [Operand::None, Operand::None, Operand::Sgpr(8), Operand::Int(0)];
    let mut store = inst(op("buffer_store_lds_b32"), Operand::None, sources, 8);
    store.mem.lds = true;
    assert_eq!(bench.run_on(Generation::Gfx9, &store, Level::Baseline), Flow::Next);
    for (i, &word) in memory.iter().enumerate() {
        // The instruction's offset applies to both memories.
        let lane = (i >= 2 && (i - 2) % 3 == 0).then(|| (i - 2) / 3).filter(|&lane| lane < 64);
        let stored = lane.filter(|lane| mask >> lane & 1 != 0);
        let expected = stored.map_or(7, |lane| (0x100 + 8) / 4 + lane as u32);
        assert_eq!(word, expected, "dword {i}");
    }
}
