//! Loads and stores of every size at every place.

use super::*;

/// The registers after a load of `bytes` from `data` by an operation with this name. If registers have ECC,
/// as on CDNA, half a register is not loaded separately.
pub(super) fn loaded(name: &str, generation: Generation, old: u32, data: &[u8]) -> Vec<u32> {
    let old = if generation.is_cdna() { 0 } else { old };
    let half = |value: u16| match name {
        _ if name.contains("d16_hi") => old & 0xffff | u32::from(value) << 16,
        _ => old & 0xffff_0000 | u32::from(value),
    };
    let d16 = name.contains("d16");
    let word = || u16::from_le_bytes([data[0], data[1]]);
    if name.contains("u8") {
        vec![if d16 { half(u16::from(data[0])) } else { u32::from(data[0]) }]
    } else if name.contains("i8") {
        let value = i16::from(data[0] as i8);
        vec![if d16 { half(value as u16) } else { i32::from(value) as u32 }]
    } else if d16 {
        vec![half(word())]
    } else if name.contains("u16") {
        vec![u32::from(word())]
    } else if name.contains("i16") {
        vec![i32::from(word() as i16) as u32]
    } else {
        data.chunks(4).map(|chunk| u32::from_le_bytes([chunk[0], chunk[1], chunk[2], chunk[3]])).collect()
    }
}

/// The bytes that a store of registers writes.
fn stored(name: &str, registers: &[u32], bytes: usize) -> Vec<u8> {
    let mut data: Vec<u8> = registers.iter().flat_map(|register| register.to_le_bytes()).collect();
    if name.contains("d16_hi") {
        data.drain(..2);
    }
    data.truncate(bytes);
    data
}

fn size_of_name(name: &str) -> usize {
    let size = |text: &str| name.contains(text);
    if size("b128") {
        16
    } else if size("b96") {
        12
    } else if size("b64") {
        8
    } else if size("b32") {
        4
    } else if size("u8") || size("i8") || name.contains("b8") {
        1
    } else {
        2
    }
}

const FLAT_LOADS: &[&str] = &[
    "u8",
    "i8",
    "u16",
    "i16",
    "b32",
    "b64",
    "b96",
    "b128",
    "d16_u8",
    "d16_hi_u8",
    "d16_i8",
    "d16_hi_i8",
    "d16_b16",
    "d16_hi_b16",
];
const FLAT_STORES: &[&str] = &["b8", "b16", "b32", "b64", "b96", "b128", "d16_hi_b8", "d16_hi_b16"];
const DS_LOADS: &[&str] = &[
    "u8",
    "i8",
    "u16",
    "i16",
    "b32",
    "b64",
    "b96",
    "b128",
    "u8_d16",
    "u8_d16_hi",
    "i8_d16",
    "i8_d16_hi",
    "u16_d16",
    "u16_d16_hi",
];
const DS_STORES: &[&str] = &["b8", "b16", "b32", "b64", "b96", "b128", "b8_d16_hi", "b16_d16_hi"];

fn each_case(mut check: impl FnMut(&mut Bench, Place, u64, &[u32], u64, Level, usize), bytes: usize) {
    for lanes in [32, 64] {
        let mut bench = Bench::new(lanes);
        let base = bench.memory.allocate(4096, 1, MemoryKind::Coarse, None).unwrap();
        for &place in PLACES {
            for mut offsets in shapes(lanes, bytes) {
                if place.is_private() {
                    offsets.iter_mut().for_each(|offset| *offset %= (SCRATCH - 20) as u32);
                }
                for mask in masks(lanes) {
                    for &level in Level::available() {
                        check(&mut bench, place, base, &offsets, mask, level, lanes);
                    }
                }
            }
        }
    }
}

#[test]
fn loads_move_what_memory_holds() {
    for (index, plain) in FLAT_LOADS.iter().enumerate() {
        let bytes = size_of_name(plain);
        each_case(
            |bench, place, base, offsets, mask, level, lanes| {
                let suffix = if place == Place::Lds { DS_LOADS[index] } else { plain };
                let name = format!("{}_load_{suffix}", place.prefix());
                let mut random = Random(bytes as u64);
                for lane in 0..lanes {
                    let size = if place.is_private() { SCRATCH } else { 2100 };
                    for offset in 0..size {
                        // SAFETY: all places hold at least that many bytes.
                        unsafe { byte(bench, place, base, lane, offset).write(random.next() as u8) };
                    }
                    if !place.is_private() {
                        break;
                    }
                }
                let [address, scalar] = aim(bench, place, base, offsets);
                // The destination overlaps the address.
                let old: Vec<Vec<u32>> =
                    (0..4).map(|r| (0..lanes).map(|l| bench.get(2 + r, l)).collect()).collect();
                let mut inst =
                    inst(op(&name), Operand::Vgpr(2), [address, Operand::None, scalar, Operand::Int(0)], 4);
                inst.mem.offen = true;
                bench.exec(mask);
                for generation in [Generation::Gfx11, Generation::Gfx940] {
                    for (register, values) in old.iter().enumerate() {
                        values
                            .iter()
                            .enumerate()
                            .for_each(|(lane, &value)| bench.set(2 + register, lane, value));
                    }
                    assert_eq!(bench.run_on(generation, &inst, level), Flow::Next, "{name} {place:?}");
                    for lane in 0..lanes {
                        let data: Vec<u8> = (0..bytes)
                            // SAFETY: as above.
                            .map(|i| unsafe {
                                byte(bench, place, base, lane, offsets[lane] as usize + 4 + i).read()
                            })
                            .collect();
                        let mut expected: Vec<u32> = old.iter().map(|register| register[lane]).collect();
                        if mask >> lane & 1 != 0 {
                            let values = loaded(&name, generation, old[0][lane], &data);
                            expected[..values.len()].copy_from_slice(&values);
                        }
                        let found: Vec<u32> = (0..4).map(|r| bench.get(2 + r, lane)).collect();
                        assert_eq!(
                            found, expected,
                            "{name} {place:?} {generation:?} lane {lane} mask {mask:#x} {level:?} {offsets:?}"
                        );
                    }
                    // Only halves differ.
                    if !name.contains("d16") {
                        break;
                    }
                }
            },
            bytes,
        );
    }
}

#[test]
fn stores_write_enabled_lanes_only() {
    for (index, plain) in FLAT_STORES.iter().enumerate() {
        let bytes = size_of_name(plain);
        each_case(
            |bench, place, base, offsets, mask, level, lanes| {
                let suffix = if place == Place::Lds { DS_STORES[index] } else { plain };
                let name = format!("{}_store_{suffix}", place.prefix());
                let places = if place.is_private() { lanes } else { 1 };
                let size = if place.is_private() { SCRATCH } else { 2100 };
                let mut model = vec![vec![0x5au8; size]; places];
                for (lane, model) in model.iter().enumerate() {
                    for (offset, value) in model.iter().enumerate() {
                        // SAFETY: all places hold at least that many bytes.
                        unsafe { byte(bench, place, base, lane, offset).write(*value) };
                    }
                }
                for lane in 0..lanes {
                    for register in 0..4 {
                        bench.set(
                            8 + register,
                            lane,
                            (lane as u32 * 0x0101_0205) ^ (register as u32) << 9 ^ 0x8000_8000,
                        );
                    }
                }
                let [address, scalar] = aim(bench, place, base, offsets);
                let mut inst =
                    inst(op(&name), Operand::None, [address, Operand::Vgpr(8), scalar, Operand::Int(0)], 4);
                inst.mem.offen = true;
                bench.exec(mask);
                assert_eq!(bench.run(&inst, level), Flow::Next, "{name} {place:?}");
                for lane in (0..lanes).filter(|lane| mask >> lane & 1 != 0) {
                    let registers: Vec<u32> = (0..4).map(|register| bench.get(8 + register, lane)).collect();
                    let at = offsets[lane] as usize + 4;
                    let data = stored(&name, &registers, bytes);
                    model[if place.is_private() { lane } else { 0 }][at..at + bytes].copy_from_slice(&data);
                }
                for (lane, model) in model.iter().enumerate() {
                    for (offset, value) in model.iter().enumerate() {
                        // SAFETY: as above.
                        let found = unsafe { byte(bench, place, base, lane, offset).read() };
                        assert_eq!(
                            found, *value,
                            "{name} {place:?} byte {offset} mask {mask:#x} {level:?} {offsets:?}"
                        );
                    }
                }
            },
            bytes,
        );
    }
}

/// Aims consecutive lanes at global memory, LDS and scratch in turn, 16 bytes apart; returns the location of
/// each lane's bytes.
fn aim_at_all(bench: &mut Bench, base: u64, lanes: usize) -> Vec<*mut u8> {
    const MEMORIES: [(Place, u64); 3] = [
        (Place::FlatGlobal, 0),
        (Place::FlatShared, SHARED_APERTURE),
        (Place::FlatPrivate, PRIVATE_APERTURE),
    ];
    let mut places = Vec::new();
    for lane in 0..lanes {
        let (place, aperture) = MEMORIES[lane % 3];
        let offset = if place.is_private() { 16 } else { 16 * lane };
        let high = if place == Place::FlatGlobal { base } else { aperture };
        let address = high + offset as u64;
        bench.set(2, lane, address as u32);
        bench.set(3, lane, (address >> 32) as u32);
        places.push(byte(bench, place, base, lane, offset));
    }
    places
}

#[test]
fn lanes_of_flat_are_each_in_a_memory_of_their_own() {
    for lanes in [32, 64] {
        let mut bench = Bench::new(lanes);
        let base = bench.memory.allocate(4096, 1, MemoryKind::Coarse, None).unwrap();
        let places = aim_at_all(&mut bench, base, lanes);
        for mask in masks(lanes) {
            bench.exec(mask);
            let on = |lane: usize| mask >> lane & 1 != 0;
            for (lane, place) in places.iter().enumerate() {
                // SAFETY: all places hold at least that many bytes.
                unsafe { place.cast::<u32>().write(100 + lane as u32) };
                bench.set(8, lane, 0);
                bench.set(9, lane, 7 * lane as u32);
            }
            let address = Operand::Vgpr(2);
            let run = |bench: &mut Bench, name: &str, dst, data| {
                let inst = inst(op(name), dst, [address, data, Operand::None, Operand::None], 0);
                assert_eq!(bench.run(&inst, Level::Baseline), Flow::Next, "{name} {mask:#x}");
            };
            run(&mut bench, "flat_load_b32", Operand::Vgpr(8), Operand::None);
            run(&mut bench, "flat_atomic_add_u32", Operand::None, Operand::Vgpr(9));
            for (lane, place) in places.iter().enumerate() {
                let expected = if on(lane) {
                    [100 + lane as u32, 100 + 8 * lane as u32]
                } else {
                    [0, 100 + lane as u32]
                };
                // SAFETY: as above.
                let found = [bench.get(8, lane), unsafe { place.cast::<u32>().read() }];
                assert_eq!(found, expected, "lane {lane} of {lanes}, mask {mask:#x}");
            }
            run(&mut bench, "flat_store_b8", Operand::None, Operand::Vgpr(9));
            for (lane, place) in places.iter().enumerate() {
                let before = 100 + if on(lane) { 8 * lane as u32 } else { lane as u32 };
                let expected = if on(lane) { before & !0xff | 7 * lane as u32 & 0xff } else { before };
                // SAFETY: as above.
                let found = unsafe { place.cast::<u32>().read() };
                assert_eq!(found, expected, "lane {lane} of {lanes}, mask {mask:#x}");
            }
        }
    }
}
