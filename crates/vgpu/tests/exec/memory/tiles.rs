//! Blocks of registers, transposed matrices, and addresses derived from lane numbers.

use super::*;

fn ramp(base: u64, words: usize) {
    for i in 0..words {
        // SAFETY: the callers allocate that many words.
        unsafe { (base as *mut u32).add(i).write(0x1000 + i as u32) };
    }
}

#[test]
fn blocks_leave_holes_where_m0_has_zeros() {
    for lanes in [32usize, 64] {
        for place in [Place::Global, Place::GlobalScalar, Place::Scratch] {
            let mut bench = Bench::new(lanes);
            let base = bench.memory.allocate(1 << 16, 1, MemoryKind::Coarse, None).unwrap();
            let private = place.is_private();
            let offsets: Vec<u32> =
                (0..lanes as u32).map(|lane| if private { 8 } else { lane * 136 }).collect();
            let [address, scalar] = aim(&mut bench, place, base, &offsets);
            for (lane, &offset) in offsets.iter().enumerate() {
                for i in 0..32 {
                    let value = (lane * 100 + i) as u32;
                    // SAFETY: all places hold that many bytes.
                    unsafe {
                        let at = offset as usize + 4 + 4 * i;
                        byte(&bench, place, base, lane, at).cast::<u32>().write_unaligned(value);
                    }
                    bench.set(8 + i, lane, 7);
                }
            }
            let mask = 0x0f00_8421u64 | 1 << (lanes - 1);
            bench.exec(mask);
            let selected = 0x8000_1235u32;
            bench.wave.sgpr[usize::from(scalar::M0)] = selected;
            let load = format!("{}_load_block", place.prefix());
            let load = inst(op(&load), Operand::Vgpr(8), [address, Operand::None, scalar, Operand::None], 4);
            let flow = bench.run_on(Generation::Gfx12, &load, Level::Baseline);
            assert_eq!(flow, Flow::Next, "{:?}", bench.wave.fault);
            for lane in 0..lanes {
                for i in 0..32 {
                    let taken = mask >> lane & 1 != 0 && selected >> i & 1 != 0;
                    let expected = if taken { (lane * 100 + i) as u32 } else { 7 };
                    assert_eq!(bench.get(8 + i, lane), expected, "{place:?} lane {lane} register {i}");
                }
            }
            // The reverse, one dword further.
            let store = format!("{}_store_block", place.prefix());
            let sources = [address, Operand::Vgpr(8), scalar, Operand::None];
            let store = inst(op(&store), Operand::None, sources, 8);
            assert_eq!(bench.run_on(Generation::Gfx12, &store, Level::Baseline), Flow::Next);
            for (lane, &offset) in offsets.iter().enumerate() {
                // The value stored at dword i + 1 of the block is the one loaded from dword i.
                for i in 0..31 {
                    let at = offset as usize + 8 + 4 * i;
                    // SAFETY: as above.
                    let found = unsafe { byte(&bench, place, base, lane, at).cast::<u32>().read_unaligned() };
                    let taken = mask >> lane & 1 != 0 && selected >> i & 1 != 0;
                    let expected = lane * 100 + if taken { i } else { i + 1 };
                    assert_eq!(found as usize, expected, "{place:?} lane {lane} dword {i}");
                }
            }
        }
    }
}

/// The element of memory that a lane receives as its element `i`, where lane `l` addresses elements from `8 *
/// l` on, as measured on gfx1201 in waves of 32. For waves of 64, it follows from the element layout of
/// matrix instructions.
fn received(element: usize, lane: usize, i: usize) -> usize {
    let (lane, i) = (lane % 32, i + lane / 32 * 4);
    match element {
        1 => lane % 8 + lane / 8 % 2 * 32 + lane / 16 * 128 + i % 4 * 8 + i / 4 * 64,
        _ => 16 * (lane / 8 * 4 + i / 2) + lane % 8 + 8 * (i % 2),
    }
}

#[test]
fn transposing_loads_exchange_squares() {
    for lanes in [32usize, 64] {
        for (name, element) in [("global_load_tr_b64", 1usize), ("global_load_tr_b128", 2)] {
            let mut bench = Bench::new(lanes);
            let base = bench.memory.allocate(4096, 1, MemoryKind::Coarse, None).unwrap();
            for i in 0..256usize {
                for j in 0..element {
                    // SAFETY: the allocation holds the matrix.
                    unsafe { (base as *mut u8).add(i * element + j).write(i as u8) };
                }
            }
            // Only the first 32 lanes provide addresses.
            let offsets: Vec<u32> = (0..lanes)
                .map(|lane| if lane < 32 { (8 * lane * element) as u32 } else { 1 << 30 })
                .collect();
            let [address, scalar] = aim(&mut bench, Place::GlobalScalar, base, &offsets);
            let sources = [address, Operand::None, scalar, Operand::None];
            let load = inst(op(name), Operand::Vgpr(8), sources, 0);
            (0..lanes).for_each(|lane| bench.set(8, lane, 0x5555));
            bench.exec(0);
            assert_eq!(bench.run_on(Generation::Gfx12, &load, Level::Baseline), Flow::Next);
            assert!((0..lanes).all(|lane| bench.get(8, lane) == 0x5555), "{name} with no lane enabled");
            bench.exec(u64::MAX);
            assert_eq!(bench.run_on(Generation::Gfx12, &load, Level::Baseline), Flow::Next);
            for lane in 0..lanes {
                let registers = 256 / lanes * element / 4;
                let bytes: Vec<u8> =
                    (0..registers).flat_map(|i| bench.get(8 + i, lane).to_le_bytes()).collect();
                for (i, value) in bytes.chunks(element).enumerate() {
                    let expected = received(element, lane, i);
                    assert!(
                        value.iter().all(|&byte| usize::from(byte) == expected),
                        "{name} lane {lane} element {i}: {value:?}, not {expected}"
                    );
                }
            }
        }
    }
}

/// A matrix in memory, row after row, is loaded in the column layout of matrix instructions if lanes address
/// the rows as programs for gfx1201 do.
#[test]
fn transposing_loads_give_columns() {
    // 8-bit elements: the row and the first column of the lane. The lanes then have 8 rows of their column.
    let mut bench = Bench::new(32);
    let base = bench.memory.allocate(4096, 1, MemoryKind::Coarse, None).unwrap();
    // SAFETY: the allocation holds the matrix.
    (0..256usize).for_each(|i| unsafe { (base as *mut u8).add(i).write(i as u8) });
    let offsets: Vec<u32> = (0..32).map(|lane| (lane / 8 * 4 + lane % 4) * 16 + (lane & 4) * 2).collect();
    let [address, scalar] = aim(&mut bench, Place::GlobalScalar, base, &offsets);
    bench.exec(u64::MAX);
    let sources = [address, Operand::None, scalar, Operand::None];
    let load = inst(op("global_load_tr_b64"), Operand::Vgpr(8), sources, 0);
    assert_eq!(bench.run_on(Generation::Gfx12, &load, Level::Baseline), Flow::Next);
    for lane in 0..32 {
        let column: Vec<u8> = [8, 9].iter().flat_map(|&i| bench.get(i, lane).to_le_bytes()).collect();
        let expected: Vec<u8> = (0..8).map(|k| (16 * (8 * (lane / 16) + k) + lane % 16) as u8).collect();
        assert_eq!(column, expected, "lane {lane}");
    }
}

#[test]
fn addtid_counts_lanes() {
    for lanes in [32usize, 64] {
        let mut bench = Bench::new(lanes);
        let base = bench.memory.allocate(4096, 1, MemoryKind::Coarse, None).unwrap();
        ramp(base, 1024);
        aim(&mut bench, Place::GlobalScalar, base, &[]);
        bench.exec(0xffff_0ff0);
        let load = inst(
            op("global_load_addtid_b32"),
            Operand::Vgpr(8),
            [Operand::None, Operand::None, Operand::Sgpr(4), Operand::None],
            20,
        );
        for &level in Level::available() {
            (0..lanes).for_each(|lane| bench.set(8, lane, 1));
            assert_eq!(bench.run(&load, level), Flow::Next);
            for lane in 0..lanes {
                let on = 0xffff_0ff0u64 >> lane & 1 != 0;
                assert_eq!(bench.get(8, lane), if on { 0x1005 + lane as u32 } else { 1 });
            }
        }
        let sources = [Operand::None, Operand::Vgpr(8), Operand::Sgpr(4), Operand::None];
        let store = inst(op("global_store_addtid_b32"), Operand::None, sources, 2048);
        assert_eq!(bench.run(&store, Level::Baseline), Flow::Next);
        // SAFETY: the allocation holds 1024 words.
        let word = |i: usize| unsafe { (base as *const u32).add(i).read() };
        assert_eq!([word(512 + 3), word(512 + 4), word(512 + 31)], [0x1203, 0x1009, 0x1024]);
    }
}
