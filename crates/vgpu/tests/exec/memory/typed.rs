//! Typed buffers: every format, through memory and back.

use super::*;
use vgpu::isa::{BufferFormat, Isa, NumberFormat};

/// Runs one typed instruction on lane 0 of a buffer at `base`, with the format in the descriptor or in the
/// instruction.
struct Typed {
    bench: Bench,
    base: u64,
    generation: Generation,
}

impl Typed {
    fn new(generation: Generation) -> Typed {
        let mut bench = Bench::new(64);
        let base = bench.memory.allocate(64, 1, MemoryKind::Coarse, None).unwrap();
        bench.exec(1);
        Typed { bench, base, generation }
    }

    fn memory(&mut self) -> &mut [u8; 64] {
        // SAFETY: the allocation has 64 bytes.
        unsafe { &mut *(self.base as *mut [u8; 64]) }
    }

    /// A format for the descriptor, when instructions have their own.
    fn some_format(&self) -> u32 {
        if self.generation.is_cdna() { 1 << 15 } else { 1 << 12 }
    }

    /// `word` is the descriptor's last word, and `code` is the instruction's format. If `word` is zero, some
    /// format is used.
    fn run(&mut self, name: &str, word: u32, code: Option<u8>) {
        let own = if code.is_some() && word == 0 { self.some_format() } else { 0 };
        let sgpr = &mut self.bench.wave.sgpr;
        (sgpr[4], sgpr[5]) = (self.base as u32, (self.base >> 32) as u32);
        (sgpr[6], sgpr[7]) = (64, word | own | 3 << 28);
        let load = name.contains("load");
        let (dst, data) =
            if load { (Operand::Vgpr(8), Operand::None) } else { (Operand::None, Operand::Vgpr(8)) };
        let mut inst = inst(op(name), dst, [Operand::None, data, Operand::Sgpr(4), Operand::Int(0)], 4);
        if let Some(code) = code {
            inst.mem.format = code;
        }
        let flow = self.bench.run_on(self.generation, &inst, Level::Baseline);
        assert_eq!(flow, Flow::Next, "{name} {:?}", self.bench.wave.fault);
    }

    fn load(&mut self, name: &str, bytes: &[u8], word: u32, code: Option<u8>) -> [u32; 4] {
        self.memory()[4..4 + bytes.len()].copy_from_slice(bytes);
        (0..4).for_each(|register| self.bench.set(8 + register, 0, 0x5555_aaaa));
        self.run(name, word, code);
        std::array::from_fn(|register| self.bench.get(8 + register, 0))
    }

    fn store(&mut self, name: &str, registers: &[u32], word: u32, code: Option<u8>) -> [u8; 16] {
        *self.memory() = [0xee; 64];
        for (i, &value) in registers.iter().enumerate() {
            self.bench.set(8 + i, 0, value);
        }
        self.run(name, word, code);
        std::array::from_fn(|i| self.memory()[4 + i])
    }
}

const ONE: u32 = 0x3f80_0000;

fn bits(value: f32) -> u32 {
    value.to_bits()
}

/// The descriptor's last word that selects channels x, y, z, w.
const IDENTITY: u32 = 4 | 5 << 3 | 6 << 6 | 7 << 9;

/// The values that each format gives for the bytes 80 ff 7f 81: its code on gfx10, the data and number format
/// on gfx9, and the results of a load of four channels. Channels are counted from the lowest bits; missing
/// ones are 0.
fn expected() -> Vec<(u8, [u8; 2], [u32; 4])> {
    let signed = |value: i32| value as u32;
    vec![
        // 8, 8_8, 8_8_8_8: unsigned and signed fractions, floats of integers, integers.
        (1, [1, 0], [bits(128.0 / 255.0), 0, 0, 0]),
        (15, [3, 1], [bits(-1.0), bits(-1.0 / 127.0), 0, 0]),
        (56, [10, 0], [bits(128.0 / 255.0), ONE, bits(127.0 / 255.0), bits(129.0 / 255.0)]),
        (57, [10, 1], [bits(-1.0), bits(-1.0 / 127.0), ONE, bits(-1.0)]),
        (58, [10, 2], [bits(128.0), bits(255.0), bits(127.0), bits(129.0)]),
        (59, [10, 3], [bits(-128.0), bits(-1.0), bits(127.0), bits(-127.0)]),
        (60, [10, 4], [128, 255, 127, 129]),
        (61, [10, 5], [signed(-128), signed(-1), 127, signed(-127)]),
        // 16_16.
        (23, [5, 0], [bits(65408.0 / 65535.0), bits(33151.0 / 65535.0), 0, 0]),
        (24, [5, 1], [bits(-128.0 / 32767.0), bits(-32385.0 / 32767.0), 0, 0]),
        (27, [5, 4], [0xff80, 0x817f, 0, 0]),
        (28, [5, 5], [signed(-128), signed(-32385), 0, 0]),
        // 32.
        (20, [4, 4], [0x817f_ff80, 0, 0, 0]),
        (22, [4, 7], [0x817f_ff80, 0, 0, 0]),
        // Names count from the highest bits: 2_10_10_10, 10_10_10_2, 10_11_11, 11_11_10.
        (54, [9, 4], [0x380, 0x3ff, 0x17, 2]),
        (55, [9, 5], [signed(-128), signed(-1), 0x17, signed(-2)]),
        (48, [8, 4], [0, 0x3e0, 0x3ff, 0x205]),
        (34, [6, 4], [0x780, 0x7ff, 0x205, 0]),
        (41, [7, 4], [0x380, 0x7ff, 0x40b, 0]),
        (0, [0, 0], [0; 4]),
    ]
}

#[test]
fn loads_convert_channels_of_every_kind() {
    let bytes = [0x80, 0xff, 0x7f, 0x81];
    for (code, [data, number], values) in expected() {
        let cases = [
            (Generation::Gfx10, code, u32::from(code) << 12),
            (Generation::Gfx9, data | number << 4, u32::from(data) << 15 | u32::from(number) << 12),
        ];
        for (generation, code, word) in cases {
            let mut typed = Typed::new(generation);
            let found = typed.load("tbuffer_load_format_xyzw", &bytes, 0, Some(code));
            assert_eq!(found, values, "{generation:?} {code}");
            let found = typed.load("buffer_load_format_xyzw", &bytes, word | IDENTITY, None);
            assert_eq!(found, values, "{generation:?} {code} of the descriptor");
            let found = typed.load("tbuffer_load_format_x", &bytes, 0, Some(code));
            assert_eq!(found, [values[0], 0x5555_aaaa, 0x5555_aaaa, 0x5555_aaaa]);
        }
    }
}

#[test]
fn descriptors_of_no_format_bind_no_buffer() {
    // 8_8_8_8 uint. In gfx9's descriptors, the data format decides, not the number format.
    for (generation, code, format) in [
        (Generation::Gfx9, 10 | 4 << 4, 15 << 15),
        (Generation::Gfx940, 10 | 4 << 4, 15 << 15),
        (Generation::Gfx10, 60, 0x7f << 12),
        (Generation::Gfx11, 46, 0x3f << 12),
        (Generation::Gfx12, 46, 0x3f << 12),
    ] {
        let mut typed = Typed::new(generation);
        let rest = (0xf_ffff & !format | IDENTITY) & !(1 << 19);
        let found = typed.load("tbuffer_load_format_xyzw", &[1, 2, 3, 4], rest, Some(code));
        assert_eq!(found, [0; 4], "{generation:?}");
        let stored = typed.store("tbuffer_store_format_xyzw", &[1, 2, 3, 4], rest, Some(code));
        assert_eq!(stored, [0xee; 16], "{generation:?}");
        for bit in (0..32).map(|bit| 1 << bit).filter(|bit| format & bit != 0) {
            let found = typed.load("tbuffer_load_format_xyzw", &[1, 2, 3, 4], rest | bit, Some(code));
            assert_eq!(found, [1, 2, 3, 4], "{generation:?} {bit:#x}");
        }
    }
}

#[test]
fn small_floats_have_no_sign() {
    // 10_11_11: 1, infinity, 1.5 in the ten bits; then the smallest number, the largest, NaN.
    for (element, values) in [
        (0x3c0 | 0x7c0 << 11 | 0x1f0 << 22, [1.0, f32::INFINITY, 1.5]),
        (1 | 0x7bf << 11 | 0x3e1 << 22, [2f32.powi(-20), 65024.0, f32::NAN]),
    ] {
        let mut typed = Typed::new(Generation::Gfx11);
        let element: u32 = element;
        let found = typed.load("tbuffer_load_format_xyz", &element.to_le_bytes(), 0, Some(30));
        for (found, value) in found.into_iter().zip(values) {
            let found = f32::from_bits(found);
            assert!(found == value || found.is_nan() && value.is_nan(), "{found} {value}");
        }
        let stored = typed.store("tbuffer_store_format_xyz", &values.map(bits), 0, Some(30));
        let stored = u32::from_le_bytes([stored[0], stored[1], stored[2], stored[3]]);
        // NaN has no fixed fraction.
        let mask = if values[2].is_nan() { 0xf83f_ffff } else { u32::MAX };
        assert_eq!(stored & mask, element & mask);
    }
    let mut typed = Typed::new(Generation::Gfx11);
    let values = [-1.0, 1e9, 2f32.powi(-22)].map(bits);
    let stored = typed.store("tbuffer_store_format_xyz", &values, 0, Some(30));
    assert_eq!(
        stored[..4],
        (0x7c0u32 << 11).to_le_bytes(),
        "negative numbers, too large ones, too small ones"
    );
}

#[test]
fn the_descriptor_selects_channels_and_constants() {
    let mut typed = Typed::new(Generation::Gfx12);
    // w, 0, 1, x of 8_8_8_8 uint, code 46 from gfx11 on.
    let word = 46 << 12 | 7 | 1 << 6 | 4 << 9;
    assert_eq!(typed.load("buffer_load_format_xyzw", &[1, 2, 3, 4], word, None), [4, 0, 1, 1]);
    // Out of bounds: constants are kept. A raw buffer of 64 bytes, 16 bytes at 60.
    typed.bench.wave.sgpr[9] = 0;
    let sources = [Operand::None, Operand::None, Operand::Sgpr(4), Operand::Int(0)];
    let load = inst(op("buffer_load_format_xyzw"), Operand::Vgpr(8), sources, 61);
    assert_eq!(typed.bench.run_on(Generation::Gfx12, &load, Level::Baseline), Flow::Next);
    let found: [u32; 4] = std::array::from_fn(|register| typed.bench.get(8 + register, 0));
    assert_eq!(found, [0, 0, 1, 0]);
}

#[test]
fn halves_hold_channels_of_d16() {
    let mut typed = Typed::new(Generation::Gfx11);
    let half = |value: f64| u32::from(half::f16::from_f64(value).to_bits());
    // 8_8_8_8 unorm is code 42, uint 46, sint 47; 16_16_16_16 float 57; 32 float 22.
    let bytes = [51, 255, 0, 128];
    let found = typed.load("tbuffer_load_d16_format_xyzw", &bytes, 0, Some(42));
    assert_eq!(found[..2], [half(0.2) | half(1.0) << 16, half(128.0 / 255.0) << 16]);
    let found = typed.load("tbuffer_load_d16_format_xyz", &bytes, 0, Some(46));
    assert_eq!(found[..3], [51 | 255 << 16, 0x5555_0000, 0x5555_aaaa]);
    let found = typed.load("tbuffer_load_d16_format_x", &1.000_976_6f32.to_le_bytes(), 0, Some(22));
    assert_eq!(found[0], 0x5555_3c01);
    // f32 is truncated, other numbers are rounded.
    let almost = 0x3f80_1fffu32.to_le_bytes();
    let found = typed.load("tbuffer_load_d16_format_x", &almost, 0, Some(22));
    assert_eq!(found[0], 0x5555_3c00);
    let found = typed.load("buffer_load_d16_hi_format_x", &bytes, 46 << 12 | IDENTITY, None);
    assert_eq!(found[0], 51 << 16 | 0xaaaa);
    let stored = typed.store("tbuffer_store_d16_format_xyzw", &[0x3c00_3800, 0xbc00_0000], 0, Some(42));
    assert_eq!(stored[..5], [128, 255, 0, 0, 0xee]);
    // -129 and 291 do not fit.
    let stored = typed.store("tbuffer_store_d16_format_xy", &[0xff7f_0123], 0, Some(47));
    assert_eq!(stored[..5], [0x7f, 0x80, 0, 0, 0xee]);
    let stored = typed.store("buffer_store_d16_hi_format_x", &[0x4200_0000], 22 << 12 | IDENTITY, None);
    assert_eq!(stored[..5], [0, 0, 0x40, 0x40, 0xee]);
}

#[test]
fn registers_with_ecc_are_loaded_whole() {
    let mut typed = Typed::new(Generation::Gfx940);
    // 8_8_8_8 uint.
    let found = typed.load("tbuffer_load_d16_format_xyz", &[51, 255, 7, 128], 0, Some(10 | 4 << 4));
    assert_eq!(found, [51 | 255 << 16, 7, 0x5555_aaaa, 0x5555_aaaa]);
    let word = 10 << 15 | 4 << 12 | IDENTITY;
    let found = typed.load("buffer_load_d16_hi_format_x", &[51, 255, 7, 128], word, None);
    assert_eq!(found[0], 51 << 16);
}

#[test]
fn stores_put_channels_where_loads_find_them() {
    let mut typed = Typed::new(Generation::Gfx11);
    // 8_8_8_8 uint; loads read 0, 1, the third and the first byte.
    let word = 46 << 12 | 1 << 3 | 6 << 6 | 4 << 9;
    assert_eq!(typed.store("buffer_store_format_xyzw", &[1, 2, 3, 4], word, None)[..5], [4, 0, 3, 0, 0xee]);
    assert_eq!(typed.load("buffer_load_format_xyzw", &[4, 9, 3, 9], word, None), [0, 1, 3, 4]);
    // 8 unorm as a buffer of alpha.
    let word = 1 << 12 | 4 << 9;
    let stored = typed.store("buffer_store_format_xyzw", &[0, 0, 0, bits(1.0)], word, None);
    assert_eq!(stored[..2], [255, 0xee]);
}

#[test]
fn stores_round_and_clamp() {
    let mut typed = Typed::new(Generation::Gfx10);
    let mut check = |name: &str, code: u8, registers: &[u32], bytes: &[u8]| {
        let stored = typed.store(name, registers, 0, Some(code));
        assert_eq!(&stored[..bytes.len()], bytes, "{name} {code}");
        assert!(stored[bytes.len()..].iter().all(|&byte| byte == 0xee), "{name} {code}");
    };
    let xyzw = "tbuffer_store_format_xyzw";
    check(xyzw, 56, &[0.5, 2.0, -1.0, f32::NAN].map(bits), &[128, 255, 0, 0]);
    check(xyzw, 57, &[0.5, 2.0, -2.0, f32::NAN].map(bits), &[64, 127, 0x81, 0]);
    check(xyzw, 58, &[2.5, 300.0, -1.0, 3.5].map(bits), &[2, 255, 0, 4]);
    check(xyzw, 59, &[-2.5, 300.0, -300.0, -1.0].map(bits), &[0xfe, 127, 0x80, 0xff]);
    check(xyzw, 60, &[7, 255, 256, u32::MAX], &[7, 255, 255, 255]);
    check(xyzw, 61, &[7, 200, -200i32 as u32, u32::MAX], &[7, 127, 0x80, 0xff]);
    // Elements are written whole: with zeros, or with the first channel from gfx12 on.
    check("tbuffer_store_format_x", 60, &[7], &[7, 0, 0, 0]);
    check("tbuffer_store_format_xy", 27, &[0x1234, 0x5678], &[0x34, 0x12, 0x78, 0x56]);
    check("tbuffer_store_format_x", 54, &[0x155], &[0x55, 1, 0, 0]);
    check("tbuffer_store_format_xyzw", 54, &[0x155, 0x2aa, 0x3ff, 5], &0xfffa_a955u32.to_le_bytes());
    check("tbuffer_store_format_xy", 29, &[1.5, -65520.0].map(bits), &[0, 0x3e, 0, 0xfc]);
    check("tbuffer_store_format_xyz", 74, &[1, 2, 0x7fa0_0000], &[1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0xa0, 0x7f]);
    let mut typed = Typed::new(Generation::Gfx12);
    assert_eq!(typed.store("tbuffer_store_format_xy", &[12, 34], 0, Some(46))[..5], [12, 34, 12, 12, 0xee]);
}

#[test]
fn what_a_load_reads_a_store_writes_back() {
    let mut random = Random(5);
    for (generation, isa, codes) in [
        (Generation::Gfx9, Isa::Gfx90a, 128),
        (Generation::Gfx10, Isa::Gfx1030, 78),
        (Generation::Gfx12, Isa::Gfx1201, 64),
    ] {
        let mut typed = Typed::new(generation);
        for code in 0..codes {
            let Some(format) = BufferFormat::by_code(isa.generation(), code) else { continue };
            for _ in 0..20 {
                let bytes: Vec<u8> = (0..format.bytes()).map(|_| random.next() as u8).collect();
                let values = typed.load("tbuffer_load_format_xyzw", &bytes, 0, Some(code));
                // NaNs lose their payload.
                if format.number == NumberFormat::Float
                    && values.iter().any(|&value| f32::from_bits(value).is_nan())
                {
                    continue;
                }
                let stored = typed.store("tbuffer_store_format_xyzw", &values, 0, Some(code));
                let text = format!("{generation:?} {code} {format:?} {values:x?}");
                // The two smallest signed fractions are the same number.
                if format.number != NumberFormat::Snorm {
                    assert_eq!(stored[..bytes.len()], bytes[..], "{text}");
                }
                let again = typed.load("tbuffer_load_format_xyzw", &stored[..bytes.len()], 0, Some(code));
                assert_eq!(again, values, "{text}");
            }
        }
    }
}
