//! The register and the lane of each element.
//!
//! A panel holds an operand as rows of K. Each row holds one column of A, or one row of B, for all blocks in
//! turn. Results are stored as rows of D, each for all blocks. In all layouts, a chunk of sixteen lanes of a
//! register, aligned to sixteen, holds sixteen neighbours in such a row, and elements that share a register
//! are consecutive in K.
//!
//! The layouts come from AMD's instruction set documents and its matrix instruction calculator; those of
//! gfx950 from AMD's measurements. `crates/vgpu/tests/exec/matrix/layouts.txt` lists them with their sources.

use super::table::{Family, INSTRUCTIONS, Instruction, Sum};
use crate::simd::LANES;

/// Registers (pairs of registers for f64) of the largest operand, times four chunks.
const INPUTS: usize = 8 * 4;
/// Registers of the largest result, times four chunks.
pub(super) const RESULTS: usize = 32 * 4;

/// A chunk that is not read.
pub const NOWHERE: u16 = u16::MAX;

/// The positions of operands. Indices are `register * 4 + chunk`; for f64, they count pairs of registers.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The number of elements in a row, over all blocks.
    pub width: usize,
    /// The number of rows of panel A: the columns of A that are present.
    pub depth: usize,
    /// The number of elements of A in a lane.
    pub per_lane: usize,
    /// The position of the chunk's first element in the panel, or `NOWHERE`.
    pub a: [u16; INPUTS],
    pub b: [u16; INPUTS],
    /// The source of each chunk in the result.
    pub d: [u16; RESULTS],
    /// The reverse: for each sixteen columns of each row, the index of the first lane, counted from the first
    /// register.
    pub lanes: [u16; RESULTS],
    pub a_count: u8,
    pub b_count: u8,
    pub d_count: u8,
}

/// The plan of an instruction, given its number, for waves of 32 or 64.
#[inline(always)]
pub fn plan(index: usize, lanes: usize) -> &'static Plan {
    static PLANS: [[Plan; 2]; INSTRUCTIONS.len()] = plans();
    &PLANS[index][lanes / 64]
}

const fn plans() -> [[Plan; 2]; INSTRUCTIONS.len()] {
    let mut plans = [[Plan::new(&INSTRUCTIONS[0], 64); 2]; INSTRUCTIONS.len()];
    let mut i = 0;
    while i < INSTRUCTIONS.len() {
        let row = &INSTRUCTIONS[i];
        if !matches!(row.family, Family::Mfma) {
            plans[i][0] = Plan::new(row, 32);
        }
        plans[i][1] = Plan::new(row, 64);
        i += 1;
    }
    plans
}

/// How the elements of A or B are distributed over lanes.
struct Spread {
    /// Elements in a lane.
    per_lane: usize,
    /// Groups of lanes with different K.
    groups: usize,
    /// The number of elements that are consecutive in K before those of the next group follow.
    run: usize,
    /// The number of lanes in a group.
    lanes: usize,
    /// Lane bit 5 is less significant than lane bit 4.
    swapped: bool,
}

impl Spread {
    const fn new(row: &Instruction, lanes: usize, is_a: bool) -> Spread {
        let (bits, k) = if is_a { (row.a.bits(), depth(row)) } else { (row.b.bits(), row.k) };
        match row.family {
            Family::Mfma => {
                let width = row.n * row.blocks;
                let groups = 64 / width;
                let per_lane = k / groups;
                // Eight registers of elements of 8 or more bits form two sets of four, each with all groups
                // of lanes: B of gfx950's sparse instructions with twice the K of gfx942's, and operands with
                // 32 numbers of eight bits.
                let run = if per_lane * bits == 256 { per_lane / 2 } else { per_lane };
                Spread { per_lane, groups, run, lanes: width, swapped: false }
            }
            Family::Gfx11 => Spread { per_lane: k, groups: 1, run: k, lanes: LANES, swapped: false },
            Family::Gfx12 => {
                // A lane holds at least a whole register, so some lanes may hold nothing.
                let even = k / (lanes / LANES);
                let per_lane = if even * bits < 32 { 32 / bits } else { even };
                let groups = k / per_lane;
                let run = match bits {
                    16 if row.sparse && !is_a => 8,
                    16 => 4,
                    _ => per_lane,
                };
                Spread { per_lane, groups, run, lanes: LANES, swapped: groups == 4 && bits != 16 }
            }
        }
    }

    /// The number of registers, or of pairs of registers.
    const fn count(&self, bits: usize) -> usize {
        if bits >= 32 { self.per_lane } else { self.per_lane * bits / 32 }
    }

    /// The position of a chunk's first element.
    const fn place(&self, bits: usize, width: usize, register: usize, chunk: usize) -> u16 {
        let group = chunk * LANES / self.lanes;
        if group >= self.groups {
            return NOWHERE;
        }
        let group = if self.swapped { group >> 1 | (group & 1) << 1 } else { group };
        let element = if bits >= 32 { register } else { register * 32 / bits };
        let k = element / self.run * self.run * self.groups + group * self.run + element % self.run;
        (k * width + chunk * LANES % self.lanes) as u16
    }

    const fn places(&self, bits: usize, width: usize, lanes: usize) -> [u16; INPUTS] {
        let mut places = [NOWHERE; INPUTS];
        let mut i = 0;
        while i < 4 * self.count(bits) {
            if i % 4 < lanes / LANES {
                places[i] = self.place(bits, width, i / 4, i % 4);
            }
            i += 1;
        }
        places
    }
}

/// The number of columns of A that are present.
const fn depth(row: &Instruction) -> usize {
    if row.sparse { row.k / 2 } else { row.k }
}

/// The number of rows of D in a register; two are held in its halves.
const fn packed(row: &Instruction) -> usize {
    match (row.family, row.sum) {
        (Family::Gfx12, Sum::F16 | Sum::Bf16) => 2,
        _ => 1,
    }
}

/// The position of a chunk of D. If registers hold two rows, it is that of the low halves.
const fn result(row: &Instruction, lanes: usize, register: usize, chunk: usize) -> u16 {
    let n = row.n;
    let width = n * row.blocks;
    let at = match row.family {
        Family::Mfma => {
            // A block is divided into groups of four rows (one for f64), with a register per row. Groups fill
            // the lanes first.
            let height = if matches!(row.sum, Sum::F64) { 1 } else { 4 };
            let lane = chunk * LANES;
            if n * n / height < 64 {
                // Several blocks side by side, followed by the next group of rows.
                let group = lane / width;
                (group * height + register) * width + lane % width
            } else {
                let per_block = n * n / 64;
                let (block, register) = (register / per_block, register % per_block);
                let groups = 64 / n;
                let i = register / height * height * groups + lane / n * height + register % height;
                i * width + block * n + lane % n
            }
        }
        Family::Gfx11 => (register * (lanes / LANES) + chunk) * n,
        Family::Gfx12 => {
            let first = if lanes == 64 { (chunk & 1) * 8 + (chunk >> 1) * 4 } else { chunk * 8 };
            (first + register * packed(row)) * n
        }
    };
    at as u16
}

impl Plan {
    const fn new(row: &Instruction, lanes: usize) -> Plan {
        let width = row.n * row.blocks;
        let a = Spread::new(row, lanes, true);
        let b = Spread::new(row, lanes, false);
        let d_count = row.n * width / lanes / packed(row);
        let (mut d, mut places) = ([0; RESULTS], [0; RESULTS]);
        let mut i = 0;
        while i < 4 * d_count {
            if i % 4 < lanes / LANES {
                d[i] = result(row, lanes, i / 4, i % 4);
                places[d[i] as usize / LANES] = (i / 4 * lanes + i % 4 * LANES) as u16;
            }
            i += 1;
        }
        Plan {
            width,
            depth: depth(row),
            per_lane: a.per_lane,
            a: a.places(row.a.bits(), width, lanes),
            b: b.places(row.b.bits(), width, lanes),
            d,
            lanes: places,
            a_count: a.count(row.a.bits()) as u8,
            b_count: b.count(row.b.bits()) as u8,
            d_count: d_count as u8,
        }
    }
}
