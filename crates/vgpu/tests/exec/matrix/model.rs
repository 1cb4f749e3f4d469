//! Where elements are, by the formulas of AMD's documents: from the element to the register, where `layout` goes from the
//! register to the element.

use vgpu::exec::matrix::table::{Family, Instruction, Sum};

/// A place in a tuple of registers: register, lane, first bit.
pub(super) type Place = (usize, usize, usize);

fn in_register(element: usize, bits: usize) -> (usize, usize) {
    (element * bits / 32, element * bits % 32)
}

/// Where an element of row `i` of a dense A, or column `i` of B, is, and all its copies.
pub(super) fn input(
    row: &Instruction,
    lanes: usize,
    is_a: bool,
    block: usize,
    i: usize,
    k: usize,
) -> Vec<Place> {
    let bits = if is_a { row.a.bits() } else { row.b.bits() };
    match row.family {
        Family::Mfma => {
            let per_lane = row.k / (64 / (row.n * row.blocks));
            let lane = block * row.n + k / per_lane * row.n * row.blocks + i;
            let (register, bit) = in_register(k % per_lane, bits);
            vec![(register, lane, bit)]
        }
        Family::Gfx11 => {
            let (register, bit) = in_register(k, bits);
            (0..lanes / 16).map(|copy| (register, 16 * copy + i, bit)).collect()
        }
        Family::Gfx12 => {
            let (register, lane) = match (row.sparse, lanes, bits) {
                (true, 32, 16) => (4 * (k / 16) + k / 2 % 4, 16 * (k / 8 % 2)),
                (true, 32, 8) => (k / 4 % 4, 16 * (k / 16)),
                (true, 32, _) if row.k == 32 => (k / 8 % 2, 16 * (k / 16)),
                (true, 32, _) => (k / 8 % 4, 16 * (k / 32)),
                (true, _, 16) => (k / 2 % 4, 16 * (k / 8)),
                (true, _, 8) => (k / 4 % 2, 32 * (k / 8 % 2) + 16 * (k / 16)),
                (true, _, _) if row.k == 32 => (0, 32 * (k / 8 % 2) + 16 * (k / 16)),
                (true, _, _) => (k / 8 % 2, 32 * (k / 16 % 2) + 16 * (k / 32)),
                (false, 32, 16) => (2 * (k / 8) + k / 2 % 2, 16 * (k / 4 % 2)),
                (false, 32, 8) => (k / 4 % 2, 16 * (k / 8)),
                (false, 32, _) if row.k == 16 => (0, 16 * (k / 8)),
                (false, 32, _) => (k / 8 % 2, 16 * (k / 16)),
                (false, _, 16) => (k / 2 % 2, 32 * (k / 8 % 2) + 16 * (k / 4 % 2)),
                (false, _, 8) => (0, 32 * (k / 4 % 2) + 16 * (k / 8 % 2)),
                (false, _, _) if row.k == 16 => (0, 16 * (k / 8)),
                (false, _, _) => (0, 32 * (k / 8 % 2) + 16 * (k / 16 % 2)),
            };
            vec![(register, lane + i, bits * (k % (32 / bits)))]
        }
    }
}

/// Where element `which` (0 or 1) of the two that a sparse A has of columns `4 * four..` is, and where its index is.
pub(super) fn sparse_input(
    row: &Instruction,
    lanes: usize,
    i: usize,
    four: usize,
    which: usize,
    set: usize,
) -> (Place, Place) {
    let bits = row.a.bits();
    let k = 4 * four;
    if row.family == Family::Mfma {
        let per_lane = row.k / 2 / (64 / row.n);
        let stored = 2 * four + which;
        let lane = stored / per_lane * row.n + i;
        let local = stored % per_lane;
        let (register, bit) = in_register(local, bits);
        // Two bits for each element of a lane.
        let index = 2 * per_lane * set;
        return ((register, lane, bit), (0, lane, index + local / 2 * 4 + 2 * which));
    }
    let (register, lane, first) = match (lanes, bits) {
        (32, 16) => (2 * (k / 16) + k / 4 % 2, 16 * (k / 8 % 2), 8 * (k / 16) + 4 * (k / 4 % 2)),
        (32, 8) => (k / 8 % 2, 16 * (k / 16), 4 * (k / 4 % 4)),
        (32, _) if row.k == 32 => (0, 16 * (k / 16), 4 * (k / 4 % 4)),
        (32, _) => (k / 16 % 2, 16 * (k / 32), 4 * (k / 4 % 8)),
        (_, 16) => (k / 4 % 2, 16 * (k / 8), 4 * (k / 4 % 2)),
        (_, 8) => (0, 32 * (k / 8 % 2) + 16 * (k / 16), 4 * (k / 4 % 2)),
        (_, _) if row.k == 32 => (0, 16 * (k / 16), 4 * (k / 4 % 4)),
        (_, _) => (0, 32 * (k / 16 % 2) + 16 * (k / 32), 4 * (k / 4 % 4)),
    };
    let sets = index_sets(row, lanes);
    let bit = if bits == 16 { 16 * which } else { 2 * bits * (k / 4 % (16 / bits)) + bits * which };
    ((register, lane + i, bit), (0, lane + i, 32 / sets * set + first + 2 * which))
}

/// How many sets of indices the index register has.
pub(super) fn index_sets(row: &Instruction, lanes: usize) -> usize {
    match (row.family, lanes, row.a.bits()) {
        (Family::Mfma, _, _) => 32 / (2 * row.k / 2 / (64 / row.n)),
        (_, 32, 4) if row.k == 64 => 1,
        (_, 32, _) => 2,
        (_, _, 4) => 2,
        _ => 4,
    }
}

/// Where an element of C and D is; `half` is the one that gfx11 uses of registers for 16 bits.
pub(super) fn output(
    row: &Instruction,
    lanes: usize,
    half: usize,
    block: usize,
    i: usize,
    j: usize,
) -> Place {
    let wide = !matches!(row.sum, Sum::F16 | Sum::Bf16);
    match (row.family, lanes) {
        (Family::Mfma, _) => {
            let height = if row.sum == Sum::F64 { 1 } else { 4 };
            let groups_per_register = 64 / row.n;
            let blocks_per_register = 64usize.div_ceil(row.n * row.n / height);
            let register =
                block * (row.n * row.n / 64) + i / (height * groups_per_register) * height + i % height;
            let group = i / height % groups_per_register;
            let lane = block % blocks_per_register * row.n + group * blocks_per_register * row.n + j;
            (register, lane, 0)
        }
        (Family::Gfx11, _) => {
            (i / (lanes / 16), 16 * (i % (lanes / 16)) + j, if wide { 0 } else { 16 * half })
        }
        (_, 32) if wide => (i % 8, 16 * (i / 8) + j, 0),
        (_, 32) => (i / 2 % 4, 16 * (i / 8) + j, 16 * (i % 2)),
        (_, _) if wide => (i % 4, 32 * (i / 4 % 2) + 16 * (i / 8) + j, 0),
        (_, _) => (i / 2 % 2, 32 * (i / 4 % 2) + 16 * (i / 8) + j, 16 * (i % 2)),
    }
}
