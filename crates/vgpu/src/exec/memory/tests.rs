//! Every handler against a lane-by-lane model, for all shapes of addresses.

use std::sync::Arc;

use super::{Lowered, lower};
use crate::exec::{Code, Flow, Level, Src, Wave};
use crate::isa::{Format, Inst, Memory as Control, Modifiers, Op, Operand, scalar};
use crate::machine::{
    Access, AccessKind, FaultKind, Generation, Memory, MemoryKind, PRIVATE_APERTURE, Reader, SHARED_APERTURE,
    Space,
};

const REGISTERS: usize = 64;
const SCRATCH: usize = 256;
const LDS: usize = 4096;

/// A wave with its memories.
struct Bench {
    memory: Arc<Memory>,
    reader: Arc<Reader>,
    lanes: usize,
    wave: Wave,
    registers: Vec<u32>,
    lds: Vec<u64>,
    scratch: Vec<u32>,
}

impl Bench {
    fn new(lanes: usize) -> Bench {
        let memory = Arc::new(Memory::new());
        let mut wave = Wave::new(Access::new(Arc::clone(&memory)));
        let mut registers = vec![0u32; (REGISTERS + 1) * 64];
        let offset = registers.as_ptr().align_offset(64);
        wave.vgpr = registers[offset..].as_mut_ptr();
        wave.lanes = lanes as u8;
        let mut lds = vec![0u64; LDS / 8];
        let mut scratch = vec![0u32; SCRATCH / 4 * lanes];
        wave.access.lds = lds.as_mut_ptr().cast();
        wave.access.lds_size = LDS as u32;
        wave.access.scratch = scratch.as_mut_ptr().cast();
        wave.access.scratch_size = SCRATCH as u32;
        Bench { reader: memory.reader(), memory, lanes, wave, registers, lds, scratch }
    }

    fn set(&mut self, register: usize, lane: usize, value: u32) {
        // SAFETY: the file has `REGISTERS` registers.
        unsafe { self.wave.vgpr.add(register * self.lanes + lane).write(value) };
    }

    fn get(&self, register: usize, lane: usize) -> u32 {
        // SAFETY: as above.
        unsafe { self.wave.vgpr.add(register * self.lanes + lane).read() }
    }

    fn exec(&mut self, mask: u64) {
        self.wave.sgpr[usize::from(scalar::EXEC)] = mask as u32;
        self.wave.sgpr[usize::from(scalar::EXEC) + 1] = (mask >> 32) as u32;
    }

    fn run(&mut self, inst: &Inst, level: Level) -> Flow {
        let Lowered { run, imm } = lower(inst, self.lanes, level, Generation::Gfx11).expect("supported");
        let source = |operand| match operand {
            Operand::Vgpr(register) => Src::Vector(u32::from(register) * self.lanes as u32),
            Operand::Sgpr(slot) => Src::Scalar(slot),
            Operand::Int(value) => Src::Const(value as u64),
            _ => Src::Const(0),
        };
        let dst = match inst.dst {
            Operand::Vgpr(register) => u32::from(register) * self.lanes as u32,
            Operand::Sgpr(slot) => u32::from(slot),
            _ => 0,
        };
        let code = Code {
            run,
            src: inst.src.map(source),
            dst,
            sdst: 0,
            imm,
            inst: 0,
            mods: Modifiers::default(),
            rows: [crate::exec::wave::Row::NONE; 3],
        };
        // SAFETY: `level` is one the CPU has, and all operands lie in the file.
        unsafe { run(&mut self.wave, &code) }
    }

    fn fault(&mut self) -> (FaultKind, Option<u8>) {
        let fault = self.wave.fault.take().expect("a fault");
        (fault.kind, fault.lane)
    }
}

fn op(name: &str) -> Op {
    *Op::ALL.iter().find(|op| op.name() == name).unwrap_or_else(|| panic!("no operation {name}"))
}

fn inst(op: Op, dst: Operand, src: [Operand; 4], offset: i32) -> Inst {
    Inst {
        op,
        format: Format::Global,
        size: 8,
        dst,
        sdst: Operand::None,
        src,
        mods: Modifiers::default(),
        dpp: None,
        sdwa: None,
        mem: Control { offset, ..Control::default() },
        graphics: None,
        dual: None,
    }
}

/// A small generator of numbers that look random.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as u32
    }
}

/// Sets of byte offsets of the lanes, for elements of `bytes`, within 2048 bytes.
fn shapes(lanes: usize, bytes: usize) -> Vec<Vec<u32>> {
    let mut random = Random(7);
    let count = (2048 / bytes) as u32;
    vec![
        (0..lanes).map(|lane| (lane * bytes) as u32).collect(),
        vec![(5 * bytes) as u32; lanes],
        (0..lanes).map(|lane| ((lanes - 1 - lane) * bytes) as u32).collect(),
        (0..lanes).map(|lane| (lane * 32 % 2048) as u32).collect(),
        // Sixteen lanes read one place, or consecutive ones, and the next sixteen others.
        (0..lanes).map(|lane| (lane / 16 * 7 * bytes) as u32).collect(),
        (0..lanes).map(|lane| ((lane % 16 + 3 * (lane / 32)) * bytes) as u32).collect(),
        (0..lanes).map(|_| random.next() % count * bytes as u32).collect(),
        (0..lanes).map(|_| random.next() % 2000).collect(),
    ]
}

fn masks(lanes: usize) -> Vec<u64> {
    let all = if lanes == 64 { u64::MAX } else { u64::from(u32::MAX) };
    vec![all, 1, all & 0xffff, all & !0xff, all & 0x5555_aaaa_1234_ff0f, 1 << (lanes - 1), 0]
}

/// The registers after a load of `bytes` from `data` by an operation with that name.
fn loaded(name: &str, old: u32, data: &[u8]) -> Vec<u32> {
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

#[derive(Clone, Copy, PartialEq, Debug)]
enum Place {
    Global,
    GlobalScalar,
    FlatGlobal,
    FlatShared,
    FlatPrivate,
    Lds,
    Scratch,
    Buffer,
}

const PLACES: &[Place] = &[
    Place::Global,
    Place::GlobalScalar,
    Place::FlatGlobal,
    Place::FlatShared,
    Place::FlatPrivate,
    Place::Lds,
    Place::Scratch,
    Place::Buffer,
];

impl Place {
    fn prefix(self) -> &'static str {
        match self {
            Place::Global | Place::GlobalScalar => "global",
            Place::FlatGlobal | Place::FlatShared | Place::FlatPrivate => "flat",
            Place::Lds => "ds",
            Place::Scratch => "scratch",
            Place::Buffer => "buffer",
        }
    }

    fn is_private(self) -> bool {
        matches!(self, Place::FlatPrivate | Place::Scratch)
    }
}

/// Where byte `offset` of `lane` is.
fn byte(bench: &Bench, place: Place, base: u64, lane: usize, offset: usize) -> *mut u8 {
    if place.is_private() {
        let at = (offset / 4 * bench.lanes + lane) * 4 + offset % 4;
        return bench.wave.access.scratch.wrapping_add(at);
    }
    match place {
        Place::Lds | Place::FlatShared => bench.wave.access.lds.wrapping_add(offset),
        _ => (base as *mut u8).wrapping_add(offset),
    }
}

/// The operands that make lanes access `offsets` in a place; the address goes to v2, v3.
fn aim(bench: &mut Bench, place: Place, base: u64, offsets: &[u32]) -> [Operand; 2] {
    let high = match place {
        Place::FlatShared => SHARED_APERTURE,
        Place::FlatPrivate => PRIVATE_APERTURE,
        _ => base,
    };
    let wide = matches!(place, Place::Global | Place::FlatGlobal | Place::FlatShared | Place::FlatPrivate);
    for (lane, &offset) in offsets.iter().enumerate() {
        let address = if wide { high + u64::from(offset) } else { u64::from(offset) };
        bench.set(2, lane, address as u32);
        bench.set(3, lane, (address >> 32) as u32);
    }
    let sgpr = &mut bench.wave.sgpr;
    (sgpr[4], sgpr[5]) = (base as u32, (base >> 32) as u32);
    (sgpr[6], sgpr[7]) = (4096, 3 << 28);
    let scalar = match place {
        Place::GlobalScalar | Place::Buffer => Operand::Sgpr(4),
        _ => Operand::None,
    };
    [Operand::Vgpr(2), scalar]
}

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
        assert!(
            bench.registers.len() > REGISTERS * lanes && !bench.lds.is_empty() && !bench.scratch.is_empty()
        );
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
                // The destination covers the address.
                let old: Vec<Vec<u32>> =
                    (0..4).map(|r| (0..lanes).map(|l| bench.get(2 + r, l)).collect()).collect();
                let mut inst =
                    inst(op(&name), Operand::Vgpr(2), [address, Operand::None, scalar, Operand::Int(0)], 4);
                inst.mem.offen = true;
                bench.exec(mask);
                assert_eq!(bench.run(&inst, level), Flow::Next, "{name} {place:?}");
                for lane in 0..lanes {
                    let data: Vec<u8> = (0..bytes)
                        // SAFETY: as above.
                        .map(|i| unsafe {
                            byte(bench, place, base, lane, offsets[lane] as usize + 4 + i).read()
                        })
                        .collect();
                    let mut expected: Vec<u32> = old.iter().map(|register| register[lane]).collect();
                    if mask >> lane & 1 != 0 {
                        for (register, value) in loaded(&name, old[0][lane], &data).into_iter().enumerate() {
                            expected[register] = value;
                        }
                    }
                    let found: Vec<u32> = (0..4).map(|r| bench.get(2 + r, lane)).collect();
                    assert_eq!(
                        found, expected,
                        "{name} {place:?} lane {lane} mask {mask:#x} {level:?} {offsets:?}"
                    );
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

/// What some read-modify-write operations on 32 bits must do.
type Model32 = fn(u32, u32, u32) -> u32;

#[test]
fn atomics_return_the_value_before() {
    let models: &[(&str, Model32)] = &[
        ("swap_b32", |_, data, _| data),
        ("cmpswap_b32", |old, data, compare| if old == compare { data } else { old }),
        ("add_u32", |old, data, _| old.wrapping_add(data)),
        ("sub_u32", |old, data, _| old.wrapping_sub(data)),
        ("min_i32", |old, data, _| (old as i32).min(data as i32) as u32),
        ("max_i32", |old, data, _| (old as i32).max(data as i32) as u32),
        ("min_u32", |old, data, _| old.min(data)),
        ("max_u32", |old, data, _| old.max(data)),
        ("and_b32", |old, data, _| old & data),
        ("or_b32", |old, data, _| old | data),
        ("xor_b32", |old, data, _| old ^ data),
        ("inc_u32", |old, data, _| if old >= data { 0 } else { old + 1 }),
        ("dec_u32", |old, data, _| if old == 0 || old > data { data } else { old - 1 }),
        ("add_f32", |old, data, _| (f32::from_bits(old) + f32::from_bits(data)).to_bits()),
    ];
    for (name, model) in models {
        for place in
            [Place::Global, Place::GlobalScalar, Place::FlatShared, Place::FlatPrivate, Place::Buffer]
        {
            if name.contains("f32") && place == Place::FlatPrivate {
                continue;
            }
            for lanes in [32usize, 64] {
                for same in [false, true] {
                    let mut bench = Bench::new(lanes);
                    let base = bench.memory.allocate(4096, 1, MemoryKind::Coarse, None).unwrap();
                    let offsets: Vec<u32> =
                        (0..lanes as u32).map(|lane| if same { 8 } else { lane * 4 % 200 }).collect();
                    let private = place.is_private();
                    let mut memory = vec![[0u32; 64]; if private { lanes } else { 1 }];
                    for (lane, words) in memory.iter_mut().enumerate() {
                        for (i, word) in words.iter_mut().enumerate() {
                            *word = (i as u32 * 3) ^ if i % 3 == 0 { 0x8000_0000 } else { 7 };
                            if name.contains("f32") {
                                *word = (i as f32 * 0.37).to_bits();
                            }
                            // SAFETY: all places hold 256 bytes per lane, and offsets that are multiples of 4 are aligned.
                            unsafe { byte(&bench, place, base, lane, 4 * i).cast::<u32>().write(*word) };
                        }
                    }
                    let mask = masks(lanes)[4] | 3;
                    bench.exec(mask);
                    let [address, scalar] = aim(&mut bench, place, base, &offsets);
                    for lane in 0..lanes {
                        let data = if name.contains("f32") {
                            (lane as f32 - 7.5).to_bits()
                        } else {
                            lane as u32 * 5 + 1
                        };
                        bench.set(8, lane, data);
                        bench.set(9, lane, memory[0][offsets[lane] as usize / 4]);
                        bench.set(10, lane, 77);
                    }
                    let full = format!("{}_atomic_{name}", place.prefix());
                    let mut inst = inst(
                        op(&full),
                        Operand::Vgpr(10),
                        [address, Operand::Vgpr(8), scalar, Operand::None],
                        0,
                    );
                    inst.mem.offen = true;
                    assert_eq!(bench.run(&inst, Level::Baseline), Flow::Next, "{full}");
                    for lane in 0..lanes {
                        if mask >> lane & 1 == 0 {
                            assert_eq!(bench.get(10, lane), 77);
                            continue;
                        }
                        let word = &mut memory[if private { lane } else { 0 }][offsets[lane] as usize / 4];
                        assert_eq!(bench.get(10, lane), *word, "{full} lane {lane}");
                        *word = model(*word, bench.get(8, lane), bench.get(9, lane));
                    }
                    for (lane, words) in memory.iter().enumerate() {
                        for (i, word) in words.iter().enumerate() {
                            // SAFETY: as above.
                            let found =
                                unsafe { byte(&bench, place, base, lane, 4 * i).cast::<u32>().read() };
                            assert_eq!(found, *word, "{full} word {i}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn compare_and_swap_of_lds_takes_its_operands_in_either_order() {
    for (name, data, compare) in [("ds_cmpst_rtn_b64", 6, 4), ("ds_cmpstore_rtn_b64", 4, 6)] {
        let mut bench = Bench::new(32);
        bench.exec(1);
        bench.lds[1] = 0x1122_3344_5566_7788;
        bench.set(2, 0, 8);
        bench.set(data, 0, 1);
        bench.set(data + 1, 0, 2);
        bench.set(compare, 0, 0x5566_7788);
        bench.set(compare + 1, 0, 0x1122_3344);
        let sources = [Operand::Vgpr(2), Operand::Vgpr(4), Operand::None, Operand::Vgpr(6)];
        let inst = inst(op(name), Operand::Vgpr(10), sources, 0);
        assert_eq!(bench.run(&inst, Level::Baseline), Flow::Next);
        assert_eq!(
            (bench.lds[1], bench.get(10, 0), bench.get(11, 0)),
            (0x2_0000_0001, 0x5566_7788, 0x1122_3344)
        );
    }
}

#[test]
fn two_address_forms_count_elements() {
    let mut bench = Bench::new(64);
    bench.exec(u64::MAX);
    for (i, word) in bench.lds.iter_mut().enumerate() {
        *word = i as u64 * 3;
    }
    for lane in 0..64 {
        bench.set(2, lane, 8 * (lane as u32 % 16));
    }
    // The destination v1..=v4 covers the address v2.
    let read = inst(
        Op::DsLoad2addrStride64B64,
        Operand::Vgpr(1),
        [Operand::Vgpr(2), Operand::None, Operand::None, Operand::None],
        1 | 2 << 8,
    );
    assert_eq!(bench.run(&read, Level::detect()), Flow::Next);
    for lane in 0..64 {
        let index = lane as u32 % 16;
        let found: Vec<u32> = (1..5).map(|r| bench.get(r, lane)).collect();
        assert_eq!(found, [(index + 64) * 3, 0, (index + 128) * 3, 0]);
    }
    for lane in 0..64 {
        bench.set(2, lane, 4 * lane as u32);
        bench.set(8, lane, 100 + lane as u32);
        bench.set(9, lane, 900 + lane as u32);
    }
    let write = inst(
        Op::DsStore2addrB32,
        Operand::None,
        [Operand::Vgpr(2), Operand::Vgpr(8), Operand::None, Operand::Vgpr(9)],
        64 << 8,
    );
    assert_eq!(bench.run(&write, Level::detect()), Flow::Next);
    let words: &[u32] = dwords(&bench.lds);
    assert!((0..64).all(|i| words[i] == 100 + i as u32 && words[64 + i] == 900 + i as u32));
}

fn dwords(words: &[u64]) -> &[u32] {
    // SAFETY: dwords are less aligned than quadwords and any bits are one.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), words.len() * 2) }
}

#[test]
fn lanes_exchange_data_and_read_zero_from_disabled_ones() {
    for lanes in [32usize, 64] {
        let mut bench = Bench::new(lanes);
        let mask = masks(lanes)[4];
        bench.exec(mask);
        for lane in 0..lanes {
            bench.set(2, lane, 4 * ((lane as u32 * 7 + 3) % 32) + 1024);
            bench.set(3, lane, 1000 + lane as u32);
            bench.set(4, lane, 5);
        }
        let sources = [Operand::Vgpr(2), Operand::Vgpr(3), Operand::None, Operand::None];
        let permute = inst(Op::DsBpermuteB32, Operand::Vgpr(4), sources, 8);
        assert_eq!(bench.run(&permute, Level::detect()), Flow::Next);
        for lane in 0..lanes {
            let source = (lane * 7 + 5) % 32 + lane / 32 * 32;
            let on = |lane: usize| mask >> lane & 1 != 0;
            let expected = if !on(lane) {
                5
            } else if on(source) {
                1000 + source as u32
            } else {
                0
            };
            assert_eq!(bench.get(4, lane), expected);
        }
    }
    let mut bench = Bench::new(32);
    bench.exec(0xffff_fff0);
    for lane in 0..32 {
        bench.set(2, lane, 4 * (31 - lane as u32));
        bench.set(3, lane, lane as u32);
        bench.set(4, lane, 99);
    }
    let sources = [Operand::Vgpr(2), Operand::Vgpr(3), Operand::None, Operand::None];
    assert_eq!(bench.run(&inst(Op::DsPermuteB32, Operand::Vgpr(4), sources, 0), Level::Baseline), Flow::Next);
    for lane in 0..32u32 {
        let expected = match lane {
            0..4 => 99,
            28.. => 0,
            _ => 31 - lane,
        };
        assert_eq!(bench.get(4, lane as usize), expected, "lane {lane}");
    }
    bench.exec(u64::from(u32::MAX));
    for (pattern, source) in [
        (0x041f, (|lane| lane ^ 1) as fn(u32) -> u32),
        (0x0000, |_| 0),
        (0x801b, |lane| lane & !3 | (3 - (lane & 3))),
        (0xc000 | 1 << 5, |lane| (lane + 1) & 31),
        (0xe01f, |lane| lane),
        (0xe000, |lane| lane.reverse_bits() >> 27),
    ] {
        let sources = [Operand::Vgpr(3), Operand::None, Operand::None, Operand::None];
        assert_eq!(
            bench.run(&inst(Op::DsSwizzleB32, Operand::Vgpr(4), sources, pattern), Level::Baseline),
            Flow::Next
        );
        for lane in 0..32 {
            assert_eq!(bench.get(4, lane as usize), source(lane), "pattern {pattern:#x} lane {lane}");
        }
    }
}

#[test]
fn append_counts_enabled_lanes() {
    let mut bench = Bench::new(64);
    bench.exec(0xff0f);
    bench.wave.sgpr[usize::from(scalar::M0)] = 16;
    bench.lds[3] = 100;
    let append = inst(Op::DsAppend, Operand::Vgpr(1), [Operand::None; 4], 8);
    assert_eq!(bench.run(&append, Level::Baseline), Flow::Next);
    assert_eq!((bench.lds[3], bench.get(1, 0), bench.get(1, 4)), (112, 100, 0));
    let consume = inst(Op::DsConsume, Operand::Vgpr(1), [Operand::None; 4], 8);
    assert_eq!(bench.run(&consume, Level::Baseline), Flow::Next);
    assert_eq!((bench.lds[3], bench.get(1, 0)), (100, 112));
}

#[test]
fn faults_name_lane_and_address() {
    for &level in Level::available() {
        let mut bench = Bench::new(64);
        let base = bench.memory.allocate(1000, 1, MemoryKind::Coarse, None).unwrap();
        let offsets: Vec<u32> = (0..64).map(|lane| lane * 16).collect();
        let [address, _] = aim(&mut bench, Place::Global, base, &offsets);
        bench.exec(u64::MAX);
        let sources = [address, Operand::Vgpr(8), Operand::None, Operand::None];
        let load = inst(Op::GlobalLoadB128, Operand::Vgpr(8), sources, 0);
        assert_eq!(bench.run(&load, level), Flow::Fault);
        let (kind, lane) = bench.fault();
        assert_eq!(lane, Some(62));
        let FaultKind::OutOfBounds { access: AccessKind::Read, address, size: 16, nearest: Some(near) } =
            kind
        else {
            panic!("{kind:?}")
        };
        assert_eq!((address, near.start, near.size), (base + 62 * 16, base, 1000));
        // The lane beyond the end is off: nothing to complain about.
        bench.exec(u64::MAX >> 2);
        assert_eq!(bench.run(&load, level), Flow::Next);

        let freed = bench.memory.allocate(64, 1, MemoryKind::Coarse, None).unwrap();
        bench.memory.free(freed).unwrap();
        aim(&mut bench, Place::Global, freed, &[0; 64]);
        bench.wave.access.begin_slice(&bench.reader);
        bench.exec(1 << 9);
        let sources = [Operand::Vgpr(2), Operand::Vgpr(8), Operand::None, Operand::None];
        let store = inst(Op::GlobalStoreB8, Operand::None, sources, 3);
        assert_eq!(bench.run(&store, level), Flow::Fault);
        let (kind, lane) = bench.fault();
        assert!(
            matches!(kind, FaultKind::UseAfterFree { access: AccessKind::Write, size: 1, .. }),
            "{kind:?}"
        );
        assert_eq!(lane, Some(9));

        aim(&mut bench, Place::Global, base, &[2; 64]);
        let atomic = inst(Op::GlobalAtomicAddU32, Operand::None, sources, 0);
        assert_eq!(bench.run(&atomic, level), Flow::Fault);
        let (kind, _) = bench.fault();
        assert!(matches!(kind, FaultKind::Misaligned { space: Space::Global, required: 4, .. }), "{kind:?}");

        for lane in 0..64 {
            bench.set(2, lane, LDS as u32 - 4 * lane as u32);
        }
        bench.exec(u64::MAX);
        let lds = inst(Op::DsLoadB32, Operand::Vgpr(8), sources, 4);
        assert_eq!(bench.run(&lds, level), Flow::Fault);
        let (kind, lane) = bench.fault();
        assert_eq!(lane, Some(0));
        assert!(
            matches!(kind, FaultKind::BeyondLimit { space: Space::Lds, address: 4100, limit: 4096, .. }),
            "{kind:?}"
        );
        let scratch = inst(Op::ScratchStoreB32, Operand::None, sources, 0);
        assert_eq!(bench.run(&scratch, level), Flow::Fault);
        assert!(matches!(bench.fault().0, FaultKind::BeyondLimit { space: Space::Scratch, .. }));
    }
}

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
        // The scalar offset is that of a stack pointer: bytes of the whole wave.
        bench.wave.sgpr[32] = 16 * lanes as u32;
        for lane in 0..lanes {
            bench.set(8, lane, 300 + lane as u32);
        }
        let sources = [Operand::None, Operand::Vgpr(8), Operand::Sgpr(4), Operand::Sgpr(32)];
        let store = inst(Op::BufferStoreB32, Operand::None, sources, 8);
        assert_eq!(bench.run(&store, Level::Baseline), Flow::Next);
        assert!((0..lanes).all(|lane| bench.scratch[6 * lanes + lane] == 300 + lane as u32));
        let sources = [Operand::Vgpr(2), Operand::Vgpr(8), Operand::Sgpr(4), Operand::Int(0)];
        for lane in 0..lanes {
            bench.set(2, lane, 24);
        }
        let mut load = inst(Op::BufferLoadU8, Operand::Vgpr(9), sources, 0);
        load.mem.offen = true;
        assert_eq!(bench.run(&load, Level::Baseline), Flow::Next);
        assert!((0..lanes).all(|lane| bench.get(9, lane) == (300 + lane as u32) & 0xff));
    }
}

#[test]
fn scalar_loads_fill_slots() {
    let mut bench = Bench::new(32);
    let base = bench.memory.allocate(64, 1, MemoryKind::Kernarg, None).unwrap();
    for i in 0..16u64 {
        // SAFETY: the allocation holds 16 dwords.
        unsafe { ((base + 4 * i) as *mut u32).write(10 + i as u32) };
    }
    (bench.wave.sgpr[0], bench.wave.sgpr[1]) = (base as u32, (base >> 32) as u32);
    bench.wave.sgpr[2] = 8;
    let sources = |offset| [Operand::None, Operand::None, Operand::Sgpr(0), offset];
    let load = inst(Op::SLoadB128, Operand::Sgpr(8), sources(Operand::Sgpr(2)), 4);
    assert_eq!(bench.run(&load, Level::Baseline), Flow::Next);
    assert_eq!(bench.wave.sgpr[8..12], [13, 14, 15, 16]);
    let null = inst(Op::SLoadB64, Operand::Sgpr(scalar::NULL), sources(Operand::None), 0);
    assert_eq!(bench.run(&null, Level::Baseline), Flow::Next);
    assert_eq!(bench.wave.sgpr[usize::from(scalar::NULL)], 0);
    let beyond = inst(Op::SLoadB512, Operand::Sgpr(16), sources(Operand::None), 4);
    assert_eq!(bench.run(&beyond, Level::Baseline), Flow::Fault);
    let (kind, lane) = bench.fault();
    assert!(matches!(kind, FaultKind::OutOfBounds { size: 64, .. }) && lane.is_none(), "{kind:?}");
    // A buffer of 20 bytes: what is beyond reads zero.
    (bench.wave.sgpr[4], bench.wave.sgpr[5]) = (base as u32, (base >> 32) as u32);
    bench.wave.sgpr[6] = 20;
    let buffer = inst(
        Op::SBufferLoadB128,
        Operand::Sgpr(8),
        [Operand::None, Operand::None, Operand::Sgpr(4), Operand::None],
        12,
    );
    assert_eq!(bench.run(&buffer, Level::Baseline), Flow::Next);
    assert_eq!(bench.wave.sgpr[8..12], [13, 14, 0, 0]);
    // A tuple that would run over NULL is refused.
    assert!(
        lower(
            &inst(Op::SLoadB512, Operand::Sgpr(112), sources(Operand::None), 0),
            32,
            Level::Baseline,
            Generation::Gfx11
        )
        .is_none()
    );
}
