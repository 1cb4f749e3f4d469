//! The positions of elements, from an external table: `layouts.txt`.

use std::collections::HashSet;
use std::sync::OnceLock;

use vgpu::exec::matrix::table::{INSTRUCTIONS, Instruction, Sum};
use vgpu::isa::{Fact, Op};

/// A place in a tuple of registers: register, lane, first bit.
pub(super) type Place = (usize, usize, usize);

/// The meaning of a bit of an element's number, or of a lane's number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Bit {
    /// A bit of a coordinate: of the row, the column, the position in the sum or the block.
    Of(usize, u32),
    /// Both values of the bit hold copies.
    Copied,
    /// The half of the register that the instruction selects.
    Half,
    /// Nothing is stored where it is set.
    Empty,
}

/// The coordinates of an element, as letters of the table.
const COORDINATES: &str = "ijkb";

/// The positions of an operand's elements: the bits of the element's number within its lane, and those of the
/// lane's number.
#[derive(Debug)]
struct Layout {
    element: Vec<Bit>,
    lane: Vec<Bit>,
}

impl Layout {
    fn parse(text: &str) -> Layout {
        let bits = |text: &str| -> Vec<Bit> {
            let bit = |word: &str| match word {
                "*" => Bit::Copied,
                "h" => Bit::Half,
                "-" => Bit::Empty,
                _ => {
                    let coordinate = COORDINATES.find(&word[..1]).unwrap_or_else(|| panic!("{word}: {text}"));
                    Bit::Of(coordinate, word[1..].parse().unwrap_or_else(|_| panic!("{word}: {text}")))
                }
            };
            text.split_whitespace().filter(|word| *word != "0").map(bit).collect()
        };
        let (element, lane) = text.split_once('/').unwrap_or_else(|| panic!("no lanes: {text}"));
        Layout { element: bits(element), lane: bits(lane) }
    }

    /// The element's number in its lane, and the lanes.
    fn find(&self, at: [usize; 4], half: usize) -> (usize, Vec<usize>) {
        let value = |bits: &[Bit]| {
            bits.iter().enumerate().fold(0, |value, (place, bit)| {
                let set = match bit {
                    Bit::Of(coordinate, bit) => at[*coordinate] >> bit & 1,
                    Bit::Half => half,
                    Bit::Copied | Bit::Empty => 0,
                };
                value | set << place
            })
        };
        let mut lanes = vec![value(&self.lane)];
        for (place, _) in self.lane.iter().enumerate().filter(|(_, bit)| **bit == Bit::Copied) {
            lanes.extend(lanes.iter().map(|lane| lane | 1 << place).collect::<Vec<_>>());
        }
        (value(&self.element), lanes)
    }
}

/// A row of the table.
struct Row {
    a: Layout,
    b: Layout,
    d: Layout,
    /// The index of a sparse A, or the scales of A and B.
    others: Vec<Layout>,
    /// The positions of all elements of A, B and D, computed once from the layouts; for D, separately for
    /// each half of registers.
    places: [OnceLock<Vec<Vec<Place>>>; 3],
}

/// An instruction, the number of lanes, and the width of an element if the instruction selects it, otherwise 0.
type Key = (Op, usize, usize);

/// The number of a row in the table.
fn number((op, lanes, width): Key) -> usize {
    (op as usize * 2 + lanes / 64) * 4 + width.saturating_sub(2) / 2
}

fn table() -> &'static [Option<(Key, Row)>] {
    static TABLE: OnceLock<Vec<Option<(Key, Row)>>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let (mut table, mut target) = (Vec::new(), "");
        table.resize_with(Op::ALL.len() * 8, || None);
        for line in
            include_str!("layouts.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
        {
            if let Some(name) = line.strip_prefix('[') {
                target = name.trim_end_matches(']');
                continue;
            }
            let mut columns = line.split(" | ");
            let (name, lanes) = columns.next().and_then(|first| first.split_once(' ')).expect(line);
            let (name, width) = name.split_once(':').unwrap_or((name, "0"));
            // A name with another meaning in a different generation has the generation as a suffix.
            let suffix = if target == "gfx1201" { "_gfx12".to_owned() } else { format!("_{target}") };
            let of_target = Op::ALL.iter().find(|op| op.name().strip_suffix(&*suffix) == Some(name));
            let op = of_target.or_else(|| Op::ALL.iter().find(|op| op.name() == name));
            let op = *op.unwrap_or_else(|| panic!("no instruction {name}"));
            let mut layouts = columns.map(Layout::parse);
            let mut next = || layouts.next().unwrap_or_else(|| panic!("too few operands: {line}"));
            let row = Row {
                a: next(),
                b: next(),
                d: next(),
                others: layouts.collect(),
                places: Default::default(),
            };
            let key = (op, lanes.parse().expect(line), width.parse().expect(line));
            assert!(table[number(key)].replace((key, row)).is_none(), "twice: {line}");
        }
        table
    })
}

/// The row of the table for an instruction's A, or otherwise for B and D.
fn row_of(row: &Instruction, lanes: usize, is_a: bool) -> &'static Row {
    let bits = if is_a { row.a.bits() } else { row.b.bits() };
    let width = if row.op.has(Fact::FORMATS) { bits } else { 0 };
    let found = table()[number((row.op, lanes, width))].as_ref();
    &found.unwrap_or_else(|| panic!("no row for {:?} in waves of {lanes}", row.op)).1
}

/// The position of a lane's element in a register; for 64-bit elements, in a pair of registers.
fn place(element: usize, lane: usize, bits: usize) -> Place {
    if bits == 64 { (element, lane, 0) } else { (element * bits / 32, lane, element * bits % 32) }
}

/// The position of an element in row `i` of a dense A, or in column `i` of B, and those of its copies.
pub(super) fn input(
    row: &Instruction,
    lanes: usize,
    is_a: bool,
    block: usize,
    i: usize,
    k: usize,
) -> &'static [Place] {
    let found = row_of(row, lanes, is_a);
    let places = found.places[usize::from(!is_a)].get_or_init(|| {
        let (layout, bits) = if is_a { (&found.a, row.a.bits()) } else { (&found.b, row.b.bits()) };
        let places = |at: usize| {
            let (block, i, k) = (at / row.k / row.n, at / row.k % row.n, at % row.k);
            let (element, copies) = layout.find([i, i, k, block], 0);
            copies.into_iter().map(|lane| place(element, lane, bits)).collect()
        };
        (0..row.blocks * row.n * row.k).map(places).collect()
    });
    &places[(block * row.n + i) * row.k + k]
}

/// The position of element `which` (0 or 1) of the two that a sparse A has in columns `4 * four..`, and that
/// of its index.
pub(super) fn sparse_input(
    row: &Instruction,
    lanes: usize,
    i: usize,
    four: usize,
    which: usize,
    set: usize,
) -> (Place, Place) {
    let found = row_of(row, lanes, true);
    let at = [i, 0, 4 * four + 2 * which, 0];
    let (element, lane) = found.a.find(at, 0);
    let (field, index_lane) = found.others[0].find(at, 0);
    let first = 32 / index_sets(row, lanes) * set;
    (place(element, lane[0], row.a.bits()), (0, index_lane[0], first + 2 * field))
}

/// The number of index sets in the index register: as many as fit.
pub(super) fn index_sets(row: &Instruction, lanes: usize) -> usize {
    16 >> row_of(row, lanes, true).others[0].element.len()
}

/// The lane with the scale of an element in row `i` of A, or in column `i` of B.
pub(super) fn scale_lane(row: &Instruction, is_a: bool, i: usize, k: usize) -> usize {
    let scales = &row_of(row, 64, is_a).others[usize::from(!is_a)];
    scales.find([i, i, k, 0], 0).1[0]
}

/// The position of an element of C and D; `half` is the half of each register that gfx11 uses for 16-bit
/// elements.
pub(super) fn output(
    row: &Instruction,
    lanes: usize,
    half: usize,
    block: usize,
    i: usize,
    j: usize,
) -> Place {
    let found = row_of(row, lanes, false);
    let places = found.places[2].get_or_init(|| {
        let bits = match row.sum {
            Sum::F64 => 64,
            Sum::F32 | Sum::I32 => 32,
            Sum::F16 | Sum::Bf16 => 16,
        };
        let places = |at: usize| {
            let (block, i, j) = (at / row.n / row.n, at / row.n % row.n, at % row.n);
            let place_in = |half| {
                let (element, lane) = found.d.find([i, j, 0, block], half);
                place(element, lane[0], bits)
            };
            vec![place_in(0), place_in(1)]
        };
        (0..row.blocks * row.n * row.n).map(places).collect()
    });
    places[(block * row.n + i) * row.n + j][half]
}

#[test]
fn the_table_has_every_instruction_and_nothing_else() {
    let mut keys: Vec<Key> = table().iter().flatten().map(|(key, _)| *key).collect();
    for row in INSTRUCTIONS {
        for &lanes in super::wave_sizes(row) {
            for is_a in [true, false] {
                row_of(row, lanes, is_a);
                let width = if is_a { row.a.bits() } else { row.b.bits() };
                keys.retain(|key| *key != (row.op, lanes, if row.op.has(Fact::FORMATS) { width } else { 0 }));
            }
        }
    }
    assert!(keys.is_empty(), "{keys:?}");
}

#[test]
fn every_element_has_a_place_of_its_own() {
    for row in INSTRUCTIONS {
        for &lanes in super::wave_sizes(row) {
            let mut places = HashSet::new();
            for at in 0..row.blocks * row.n * row.k {
                let (block, i, k) = (at / row.k / row.n, at / row.k % row.n, at % row.k);
                for place in input(row, lanes, false, block, i, k) {
                    assert!(place.1 < lanes && places.insert(*place), "{:?} B {place:?}", row.op);
                }
            }
            let mut places = HashSet::new();
            for at in 0..row.blocks * row.n * row.n {
                let place = output(row, lanes, 0, at / row.n / row.n, at / row.n % row.n, at % row.n);
                assert!(place.1 < lanes && places.insert(place), "{:?} D {place:?}", row.op);
            }
        }
    }
}
