//! Every handler, for all address patterns, compared with lane-by-lane models of the vendor's documentation.

mod atomics;
mod buffers;
mod faults;
mod lds;
mod moves;
mod scalars;
mod tiles;
mod to_lds;
mod typed;

use crate::bench::{Bench, LDS, SCRATCH};
use vgpu::exec::{Flow, Level};
use vgpu::isa::{Format, Inst, Memory as Control, Modifiers, Op, Operand, scalar};
use vgpu::machine::{
    AccessKind, FaultKind, Generation, MemoryKind, PRIVATE_APERTURE, SHARED_APERTURE, Space,
};

impl Bench {
    fn fault(&mut self) -> (FaultKind, Option<u8>) {
        let fault = self.wave.fault.take().expect("a fault");
        (fault.kind, fault.lane)
    }
}

fn op(name: &str) -> Op {
    *Op::ALL.iter().find(|op| op.name() == name).unwrap_or_else(|| panic!("no operation {name}"))
}

fn inst(op: Op, dst: Operand, src: [Operand; 4], offset: i32) -> Inst {
    let format = match op.name() {
        name if name.starts_with("s_") => Format::Smem,
        name if name.starts_with("ds_") => Format::Ds,
        name if name.starts_with("lds_") => Format::LdsDir,
        name if name.starts_with("flat_") => Format::Flat,
        name if name.starts_with("scratch_") => Format::Scratch,
        name if name.starts_with("buffer_") => Format::Mubuf,
        name if name.starts_with("tbuffer_") => Format::Mtbuf,
        name if name.starts_with("v_") => Format::Vop2,
        _ => Format::Global,
    };
    Inst {
        op,
        format,
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

/// A small pseudo-random number generator.
struct Random(u64);

/// Bit patterns that are special for some type.
const SPECIAL: &[u32] = &[
    0,
    1,
    2,
    5,
    0x7fff_ffff,
    0x8000_0000,
    0x8000_0001,
    0xffff_ffff,
    0xffff_0000,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0001,
    0x7fa0_0000,
    0xffb0_1234,
    0x0000_1234,
    0x0010_0001,
    0x8040_0000,
    0x8012_3456,
    0x3f80_0000,
    0xbf80_0000,
    0x7c00_fc00,
    0x7e01_3c00,
    0x7d00_0001,
    0x7ff0_0000,
    0xfff0_0000,
    0x7ff8_0000,
    0x7ff4_0000,
    0x3ff0_0000,
    0x4f00_0000,
];

impl Random {
    /// Arbitrary bits, often special ones.
    fn bits(&mut self) -> u32 {
        match self.next() % 2 {
            0 => SPECIAL[self.next() as usize % SPECIAL.len()],
            _ => self.next() << 16 ^ self.next(),
        }
    }

    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as u32
    }
}

/// Patterns of byte offsets of the lanes, for elements of `bytes`, within 2048 bytes.
fn shapes(lanes: usize, bytes: usize) -> Vec<Vec<u32>> {
    let mut random = Random(7);
    let count = (2048 / bytes) as u32;
    vec![
        (0..lanes).map(|lane| (lane * bytes) as u32).collect(),
        vec![(5 * bytes) as u32; lanes],
        (0..lanes).map(|lane| ((lanes - 1 - lane) * bytes) as u32).collect(),
        (0..lanes).map(|lane| (lane * 32 % 2048) as u32).collect(),
        // Sixteen lanes read one place, or consecutive ones, and the next sixteen read different ones.
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

/// Every generation with each of its wave sizes.
const MACHINES: &[(Generation, usize)] = &[
    (Generation::Gfx9, 64),
    (Generation::Gfx940, 64),
    (Generation::Gfx10, 32),
    (Generation::Gfx10, 64),
    (Generation::Gfx11, 32),
    (Generation::Gfx11, 64),
    (Generation::Gfx12, 32),
    (Generation::Gfx12, 64),
];

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

/// The position of byte `offset` of `lane`.
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

/// Operands that make lanes access `offsets` in a memory; the address goes to v2, v3.
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

fn dwords(words: &[u64]) -> &[u32] {
    // SAFETY: dwords are less aligned than quadwords and any bits are one.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), words.len() * 2) }
}
