//! What every opcode of every generation is: one row per instruction, one file per generation.

mod gfx10;
mod gfx11;
mod gfx12;
mod gfx9;

use std::collections::HashMap;
use std::sync::LazyLock;

use super::{Format, Isa, Op};

/// One instruction of a generation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// Its number within the format. VOPD: operations of the first half; those of the second half are at 0x20 and up.
    pub(in crate::isa) opcode: u16,
    /// What it does.
    pub(in crate::isa) op: Op,
    /// The mnemonic that LLVM prints, `_e32` or `_e64` included.
    pub(in crate::isa) name: &'static str,
    /// Whether its 16-bit operands name the halves of registers (`v1.l`, `v1.h`).
    pub(in crate::isa) true16: bool,
    /// Whether its VOP3 encoding has `op_sel`.
    pub(in crate::isa) op_sel: bool,
}

/// The instructions of a format.
pub(super) struct Set {
    format: Format,
    rows: &'static [Row],
}

const fn row(opcode: u16, op: Op, name: &'static str) -> Row {
    Row { opcode, op, name, true16: false, op_sel: false }
}

const fn op_sel(opcode: u16, op: Op, name: &'static str) -> Row {
    Row { opcode, op, name, true16: false, op_sel: true }
}

const fn true16(opcode: u16, op: Op, name: &'static str) -> Row {
    Row { opcode, op, name, true16: true, op_sel: true }
}

/// The rows of one instruction set, indexed both ways.
pub(super) struct Table {
    by_opcode: [Vec<Option<&'static Row>>; FORMATS],
    by_op: HashMap<(Format, Op), &'static Row>,
}

const FORMATS: usize = Format::Interp as usize + 1;

/// VOP3 instructions with and without a scalar destination share one numbering.
fn shared(format: Format) -> Format {
    if format == Format::Vop3Sd { Format::Vop3 } else { format }
}

impl Table {
    fn new(parts: &[&'static [Set]]) -> Table {
        let mut by_opcode = [const { Vec::new() }; FORMATS];
        let mut by_op = HashMap::new();
        for set in parts.iter().copied().flatten() {
            let index: &mut Vec<Option<&'static Row>> = &mut by_opcode[set.format as usize];
            for row in set.rows {
                let opcode = usize::from(row.opcode);
                if index.len() <= opcode {
                    index.resize(opcode + 1, None);
                }
                index[opcode] = Some(row);
                by_op.entry((set.format, row.op)).or_insert(row);
            }
        }
        Table { by_opcode, by_op }
    }

    /// The table of an instruction set.
    pub(in crate::isa) fn of(isa: Isa) -> &'static Table {
        static GFX90A: LazyLock<Table> = LazyLock::new(|| Table::new(&[gfx9::COMMON, gfx9::GFX90A]));
        static GFX942: LazyLock<Table> = LazyLock::new(|| Table::new(&[gfx9::COMMON, gfx9::GFX942]));
        static GFX1030: LazyLock<Table> = LazyLock::new(|| Table::new(&[gfx10::GFX1030]));
        static GFX1100: LazyLock<Table> = LazyLock::new(|| Table::new(&[gfx11::GFX1100]));
        static GFX1201: LazyLock<Table> = LazyLock::new(|| Table::new(&[gfx12::GFX1201]));
        match isa {
            Isa::Gfx90a => &GFX90A,
            Isa::Gfx942 => &GFX942,
            Isa::Gfx1030 => &GFX1030,
            Isa::Gfx1100 => &GFX1100,
            Isa::Gfx1201 => &GFX1201,
        }
    }

    /// The instruction with that number.
    pub(in crate::isa) fn row(&self, format: Format, opcode: u32) -> Option<&'static Row> {
        *self.by_opcode[shared(format) as usize].get(opcode as usize)?
    }

    /// How an operation is encoded in a format.
    pub(in crate::isa) fn find(&self, format: Format, op: Op) -> Option<&'static Row> {
        self.by_op.get(&(shared(format), op)).copied()
    }

    /// An operation as the second half of a VOPD pair.
    pub(in crate::isa) fn find_second(&self, op: Op) -> Option<&'static Row> {
        let rows = &self.by_opcode[Format::Vopd as usize];
        rows.iter().skip(0x20).flatten().copied().find(|row| row.op == op)
    }
}
