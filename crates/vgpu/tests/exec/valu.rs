//! Handlers compared with scalar models, for every CPU level, wave size, kind of source and EXEC mask.

mod basics;
mod bits;
mod floats;
mod lanes;
mod levels;
mod model;
mod modes;
mod uniform;
mod wide_add;

use crate::bench::Bench;
use vgpu::exec::lower::{Context, try_lower};
use vgpu::exec::program::Pool;
use vgpu::exec::{Flow, Level};
use vgpu::isa::{Format, Inst, Memory as Control, Modifiers, Op, Operand};
use vgpu::machine::Generation;

/// Registers that tests fill.
const REGISTERS: usize = 16;

/// A wave in the mode of [`PLAIN`].
fn plain(lanes: usize) -> Bench {
    let mut bench = Bench::new(lanes);
    bench.wave.mode = PLAIN;
    bench
}

fn inst(op: Op, format: Format, dst: Operand, src: &[Operand]) -> Inst {
    let mut sources = [Operand::None; 4];
    sources[..src.len()].copy_from_slice(src);
    Inst {
        op,
        format,
        size: 8,
        dst,
        sdst: Operand::None,
        src: sources,
        mods: Modifiers::default(),
        dpp: None,
        sdwa: None,
        mem: Control::default(),
        graphics: None,
        dual: None,
    }
}

/// A small pseudo-random number generator that also returns special values.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        const SPECIAL: [u32; 14] = [
            0,
            1,
            0xffff_ffff,
            0x8000_0000,
            0x7fff_ffff,
            0x3f80_0000,
            0xbf80_0000,
            0x7f80_0000,
            0xff80_0000,
            0x7fc0_0000,
            0x0080_0000,
            0x007f_ffff,
            0x4f00_0000,
            0x3e00_0000,
        ];
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let value = (self.0 >> 32) as u32;
        if self.0 >> 28 & 7 == 0 { SPECIAL[value as usize % SPECIAL.len()] } else { value }
    }
}

fn masks(lanes: usize) -> [u64; 4] {
    let all = if lanes == 64 { u64::MAX } else { u64::from(u32::MAX) };
    [all, 0, 1 << (lanes - 1), all & 0x5a5a_1234_f00f_8421]
}

/// Equal, or both NaN: IEEE leaves the payload of a NaN open.
fn same(a: u32, b: u32, is_float: bool) -> bool {
    a == b || (is_float && f32::from_bits(a).is_nan() && f32::from_bits(b).is_nan())
}

/// Tests a 32-bit operation of up to three sources on all combinations.
fn check(op: Op, sources: usize, is_float: bool, model: impl Fn(u32, u32, u32) -> u32) {
    let mut random = Random(op as u64);
    for lanes in [32, 64] {
        for mask in masks(lanes) {
            for kind in 0..3 {
                let mut bench = plain(lanes);
                let mut src = [Operand::Vgpr(1), Operand::Vgpr(2), Operand::Vgpr(3)];
                match kind {
                    1 => src[0] = Operand::Sgpr(7),
                    2 => src[sources - 1] = Operand::Literal(0x4049_0fdb),
                    _ => {}
                }
                let scalar = random.next();
                bench.wave.set_scalar(7, scalar);
                for lane in 0..lanes {
                    for register in 0..4 {
                        bench.set(register, lane, random.next());
                    }
                }
                bench.exec(mask);
                let expected: Vec<u32> = (0..lanes)
                    .map(|lane| {
                        let value = |operand| match operand {
                            Operand::Vgpr(register) => bench.get(usize::from(register), lane),
                            Operand::Sgpr(_) => scalar,
                            Operand::Literal(value) => value,
                            _ => 0,
                        };
                        let result = model(value(src[0]), value(src[1]), value(src[2]));
                        if mask >> lane & 1 != 0 { result } else { bench.get(0, lane) }
                    })
                    .collect();
                let before: Vec<u32> = (0..lanes).map(|lane| bench.get(0, lane)).collect();
                for &level in Level::available() {
                    for (lane, value) in before.iter().enumerate() {
                        bench.set(0, lane, *value);
                    }
                    assert_eq!(
                        bench.run(&inst(op, Format::Vop3, Operand::Vgpr(0), &src[..sources]), level),
                        Flow::Next
                    );
                    for (lane, expected) in expected.iter().enumerate() {
                        let got = bench.get(0, lane);
                        assert!(
                            same(got, *expected, is_float),
                            "{op:?} {level:?} wave{lanes} lane {lane} of {mask:#x}: {got:#x}, not {expected:#x}"
                        );
                    }
                }
            }
        }
    }
}

/// An instruction on operands of any width. Source `i` is in registers `4 + 2 * i` and the next, the result
/// in `v0` and `v1`, and lane masks of results in slot 20.
struct Case {
    inst: Inst,
    /// Registers of the result and of the sources.
    words: [usize; 4],
    generation: Generation,
}

impl Case {
    fn new(op: Op, format: Format) -> Case {
        let signature = op.signature();
        let words = |ty: vgpu::isa::Type| ty.dwords() as usize;
        let is_mask = |ty: vgpu::isa::Type| ty.elem == vgpu::isa::Elem::Mask;
        let mut src = [Operand::None; 4];
        for (i, operand) in src.iter_mut().enumerate().take(4) {
            let ty = signature.src[i];
            if is_mask(ty) {
                *operand = Operand::Sgpr(22);
            } else if ty.exists() {
                *operand = Operand::Vgpr(4 + 2 * i as u8);
            }
        }
        let dst = if is_mask(signature.dst) { Operand::Sgpr(20) } else { Operand::Vgpr(0) };
        let mut inst = inst(op, format, dst, &src);
        if signature.sdst.exists() {
            inst.sdst = Operand::Sgpr(20);
        }
        let words = [
            if is_mask(signature.dst) { 0 } else { words(signature.dst) },
            words(signature.src[0]),
            words(signature.src[1]),
            words(signature.src[2]),
        ];
        Case { inst, words, generation: Generation::Gfx11 }
    }

    fn mods(mut self, mods: Modifiers) -> Case {
        self.inst.mods = mods;
        self
    }

    fn lower(&self, level: Level, lanes: usize, pool: &mut Pool) -> Option<Vec<vgpu::exec::Code>> {
        let context = Context { generation: self.generation, level, lanes };
        let mut codes = Vec::new();
        try_lower(&self.inst, 0, 0, &context, pool, &mut codes).map(|()| codes)
    }

    /// Runs it on a wave of random numbers and returns the wave.
    fn run(
        &self,
        level: Level,
        lanes: usize,
        mask: u64,
        mode: u32,
        fill: impl Fn(usize, usize) -> u32,
    ) -> Bench {
        let mut bench = plain(lanes);
        for register in 0..REGISTERS {
            for lane in 0..lanes {
                bench.set(register, lane, fill(register, lane));
            }
        }
        bench.exec(mask);
        bench.wave.mode = mode;
        bench.wave.set_scalar64(20, u64::MAX);
        bench.wave.set_scalar64(22, 0x0f1e_2d3c_4b5a_6978);
        let mut pool = Pool::new();
        let codes = self
            .lower(level, lanes, &mut pool)
            .unwrap_or_else(|| panic!("{:?} is not executed", self.inst.op));
        bench.wave.set_bases(&pool);
        for code in &codes {
            // SAFETY: `level` is one the CPU has, and all operands lie in the file.
            assert_eq!(unsafe { (code.run)(&mut bench.wave, code) }, Flow::Next);
        }
        bench
    }

    /// Compares every lane with a model, given the sources and the old destination.
    fn check(&self, mode: u32, fill: impl Fn(usize, usize) -> u32, model: impl Fn([u64; 3], u64) -> u64) {
        for lanes in [32, 64] {
            for mask in masks(lanes) {
                for &level in Level::available() {
                    let bench = self.run(level, lanes, mask, mode, &fill);
                    for lane in 0..lanes {
                        let wide = |register: usize, words: usize| {
                            let low = u64::from(fill(register, lane));
                            if words == 2 { low | u64::from(fill(register + 1, lane)) << 32 } else { low }
                        };
                        let old = wide(0, self.words[0]);
                        let sources = std::array::from_fn(|i| wide(4 + 2 * i, self.words[i + 1]));
                        let expected = if mask >> lane & 1 != 0 { model(sources, old) } else { old };
                        let low = u64::from(bench.get(0, lane));
                        let got =
                            if self.words[0] == 2 { low | u64::from(bench.get(1, lane)) << 32 } else { low };
                        assert_eq!(
                            got, expected,
                            "{:?} {level:?} wave{lanes} lane {lane}: {sources:x?} gave {got:#x}, not {expected:#x}",
                            self.inst
                        );
                    }
                }
            }
        }
    }
}

/// Random numbers for registers and lanes, the same on every call.
fn numbers(seed: u64) -> impl Fn(usize, usize) -> u32 {
    move |register, lane| {
        let mut random =
            Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ ((register * 64 + lane) as u64) << 20);
        random.next();
        random.next();
        random.next()
    }
}

/// f16 numbers in both halves, including special ones.
fn halves(seed: u64) -> impl Fn(usize, usize) -> u32 {
    const SPECIAL: [u16; 12] =
        [0, 0x8000, 1, 0x83ff, 0x0400, 0x3c00, 0xbc00, 0x7bff, 0x7c00, 0xfc00, 0x7e01, 0x3555];
    let numbers = numbers(seed);
    move |register, lane| {
        let random = numbers(register, lane);
        let half = |bits: u32, selector: u32| {
            if selector & 3 == 0 { u32::from(SPECIAL[bits as usize % SPECIAL.len()]) } else { bits & 0xffff }
        };
        half(random, random >> 5) | half(random >> 16, random >> 9) << 16
    }
}

/// f64 numbers in register pairs; the high register is sometimes special.
fn doubles(seed: u64) -> impl Fn(usize, usize) -> u32 {
    const SPECIAL: [u32; 10] = [
        0,
        0x8000_0000,
        0x3ff0_0000,
        0xbff0_0000,
        0x7ff0_0000,
        0xfff0_0000,
        0x7ff8_0000,
        0x000f_ffff,
        0x7fef_ffff,
        0x0010_0000,
    ];
    let numbers = numbers(seed);
    move |register, lane| {
        let random = numbers(register, lane);
        if register % 2 == 0 {
            return if random & 0x300 == 0 { 0 } else { random };
        }
        match random >> 28 {
            0..4 => SPECIAL[random as usize % SPECIAL.len()],
            4..11 => (random & 0x83ff_ffff) + 0x3e00_0000,
            _ => random,
        }
    }
}

/// The initial mode of kernels, without IEEE's rules for signalling NaNs.
const PLAIN: u32 = 0x1f0;
