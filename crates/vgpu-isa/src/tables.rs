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
    /// Its number within the format. VOPD: operations of the first half; those of the second half are at 0x20
    /// and up. VOP3P: matrix instructions that come after the load of their scales are at 0x80 and up.
    pub(crate) opcode: u16,
    /// What it does.
    pub(crate) op: Op,
    /// The mnemonic that LLVM prints, without the suffix of an encoding (`_e32`, `_e64`).
    pub(crate) name: &'static str,
    /// Whether its 16-bit operands name the halves of registers (`v1.l`, `v1.h`). For gfx12 LLVM does so only
    /// with `real-true16`; its usual code has whole registers, and the bit for the upper half is zero.
    pub(crate) true16: bool,
    /// Which modifiers a vector encoding has.
    pub(crate) form: Form,
    /// Whether a buffer load wider than a register can write LDS.
    pub(crate) to_lds: bool,
}

/// The modifiers and further forms of a vector instruction. Bits of modifiers that it lacks must be zero.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form {
    /// The sources that have negation and absolute value; VOP3P: negation of the low and of the high half.
    pub(crate) sources: u8,
    /// Only the low halves of sources can be negated.
    pub(crate) low_only: bool,
    /// Whether it has `clamp`.
    pub(crate) clamp: bool,
    /// Whether it has an output multiplier. Of the short encodings, only SDWA has one.
    pub(crate) omod: bool,
    /// The bits of `op_sel` that it has. Without any, VOP3 ignores them.
    pub(crate) op_sel: Option<u8>,
    /// Whether `op_sel_hi` must be all ones.
    pub(crate) high: bool,
    /// Whether it has a form with DPP.
    pub(crate) dpp: bool,
    /// Whether the form with DPP ignores the bits of `op_sel` that it lacks.
    pub(crate) dpp_any_op_sel: bool,
    /// Whether it has a form with SDWA.
    pub(crate) sdwa: bool,
    /// Whether halves must be named. Other instructions with halves also have a form that names whole
    /// registers.
    pub(crate) halves_only: bool,
    /// gfx12: whether `op_sel` has a meaning only where halves are named, and bits that it lacks have none.
    pub(crate) optional_halves: bool,
}

impl Form {
    const NONE: Form = Form {
        sources: 0,
        low_only: false,
        clamp: false,
        omod: false,
        op_sel: None,
        high: false,
        dpp: false,
        dpp_any_op_sel: false,
        sdwa: false,
        halves_only: false,
        optional_halves: false,
    };

    /// Reads the last column of the tables. Source modifiers: `1`, `2`, `3` sources, `a` only source 2 (an
    /// addend), `i` the low halves of two sources. `c`: clamp. `o`: output multiplier. `=`: `op_sel_hi` is
    /// all ones. `/`: of `op_sel` it has only the bits that follow, `d` for the destination. `+`: DPP. `~`:
    /// DPP that ignores the other bits of `op_sel`. `s`: SDWA. `!`: halves of registers only. `?`: halves or
    /// whole registers, with bits of `op_sel` that are ignored.
    const fn new(text: &str) -> Form {
        let mut form = Form::NONE;
        let mut index = 0;
        while index < text.len() {
            match (text.as_bytes()[index], form.op_sel) {
                (b'/', None) => form.op_sel = Some(0),
                (b'0', Some(bits)) => form.op_sel = Some(bits | 1),
                (b'1', Some(bits)) => form.op_sel = Some(bits | 2),
                (b'2', Some(bits)) => form.op_sel = Some(bits | 4),
                (b'd', Some(bits)) => form.op_sel = Some(bits | 8),
                (b'1', _) => form.sources = 1,
                (b'2', _) => form.sources = 3,
                (b'3', _) => form.sources = 7,
                (b'a', _) => form.sources = 4,
                (b'i', _) => {
                    form.sources = 3;
                    form.low_only = true;
                }
                (b'c', _) => form.clamp = true,
                (b'o', _) => form.omod = true,
                (b'=', _) => form.high = true,
                (b'+', _) => form.dpp = true,
                (b'~', _) => {
                    form.dpp = true;
                    form.dpp_any_op_sel = true;
                }
                (b's', _) => form.sdwa = true,
                (b'!', _) => form.halves_only = true,
                (b'?', _) => form.optional_halves = true,
                _ => panic!("the tables use no other letters"),
            }
            index += 1;
        }
        form
    }
}

/// The instructions of a format.
pub(super) struct Set {
    format: Format,
    rows: &'static [Row],
}

const fn row(opcode: u16, op: Op) -> Row {
    Row { opcode, op, name: op.name(), true16: false, form: Form::NONE, to_lds: false }
}

/// A buffer load that can write more than a register's bytes to LDS.
const fn to_lds(opcode: u16, op: Op) -> Row {
    Row { to_lds: true, ..row(opcode, op) }
}

/// VOP1, VOP2, VOPC, VOP3 and VOP3P; [`Form::new`] says what the last column means.
const fn vector(opcode: u16, op: Op, form: &str) -> Row {
    Row { form: Form::new(form), ..row(opcode, op) }
}

/// The same with operands that are halves of registers.
const fn true16(opcode: u16, op: Op, form: &str) -> Row {
    Row { true16: true, ..vector(opcode, op, form) }
}

impl Row {
    /// Gives the row another mnemonic than [`Op`]'s, if the generation spells the operation differently.
    const fn named(self, name: &'static str) -> Row {
        Row { name, ..self }
    }
}

/// The rows of one instruction set, indexed both ways.
pub(super) struct Table {
    by_opcode: [Vec<Option<&'static Row>>; FORMATS],
    by_op: HashMap<(Format, Op), &'static Row>,
    /// By operation: whether it has a short vector encoding and a long one.
    short_and_long: Vec<bool>,
}

const FORMATS: usize = Format::Interp as usize + 1;

/// VOP3 instructions with and without a scalar destination share one numbering.
fn shared(format: Format) -> Format {
    if format == Format::Vop3Sd { Format::Vop3 } else { format }
}

impl Table {
    /// The instructions of all parts; later parts replace what earlier ones have at an opcode.
    fn new(parts: &[&'static [Set]]) -> Table {
        let mut by_opcode = [const { Vec::new() }; FORMATS];
        let mut by_op = HashMap::<_, &'static Row>::new();
        for set in parts.iter().copied().flatten() {
            let index: &mut Vec<Option<&'static Row>> = &mut by_opcode[set.format as usize];
            for row in set.rows {
                let opcode = usize::from(row.opcode);
                if index.len() <= opcode {
                    index.resize(opcode + 1, None);
                }
                let replaced = index[opcode].replace(row);
                let known = by_op.entry((set.format, row.op)).or_insert(row);
                if replaced.is_some_and(|replaced| std::ptr::eq(replaced, *known)) {
                    *known = row;
                }
            }
        }
        let has = |op, format: &Format| by_op.contains_key(&(*format, op));
        let short_and_long = Op::ALL.iter().map(|&op| {
            [Format::Vop1, Format::Vop2, Format::Vopc].iter().any(|short| has(op, short))
                && has(op, &Format::Vop3)
        });
        Table { short_and_long: short_and_long.collect(), by_opcode, by_op }
    }

    // NEW-TARGET: what its instruction set is made of.
    /// The table of an instruction set.
    pub(crate) fn of(isa: Isa) -> &'static Table {
        static GFX90A: LazyLock<Table> = LazyLock::new(|| Table::new(&[gfx9::COMMON, gfx9::GFX90A]));
        static GFX942: LazyLock<Table> =
            LazyLock::new(|| Table::new(&[gfx9::COMMON, gfx9::GFX940, gfx9::GFX942]));
        static GFX950: LazyLock<Table> =
            LazyLock::new(|| Table::new(&[gfx9::COMMON, gfx9::GFX940, gfx9::GFX950]));
        static GFX1030: LazyLock<Table> = LazyLock::new(|| Table::new(&[gfx10::GFX1030]));
        static GFX1100: LazyLock<Table> = LazyLock::new(|| Table::new(&[gfx11::GFX1100]));
        static GFX1201: LazyLock<Table> = LazyLock::new(|| Table::new(&[gfx12::GFX1201]));
        static GFX1151: LazyLock<Table> = LazyLock::new(|| Table::new(&[gfx11::GFX1100, gfx11::GFX1151]));
        match isa {
            Isa::Gfx90a => &GFX90A,
            Isa::Gfx942 => &GFX942,
            Isa::Gfx950 => &GFX950,
            Isa::Gfx1030 => &GFX1030,
            Isa::Gfx1100 => &GFX1100,
            Isa::Gfx1151 => &GFX1151,
            Isa::Gfx1201 => &GFX1201,
        }
    }

    /// The instruction with that number.
    pub(crate) fn row(&self, format: Format, opcode: u32) -> Option<&'static Row> {
        *self.by_opcode[shared(format) as usize].get(opcode as usize)?
    }

    /// Whether an operation has a short vector encoding (VOP1, VOP2, VOPC) and a long one (VOP3), which LLVM
    /// tells apart by a suffix.
    pub(crate) fn is_short_and_long(&self, op: Op) -> bool {
        self.short_and_long[op as usize]
    }

    /// How an operation is encoded in a format.
    pub(crate) fn find(&self, format: Format, op: Op) -> Option<&'static Row> {
        self.by_op.get(&(shared(format), op)).copied()
    }

    /// An operation as the second half of a VOPD pair.
    pub(crate) fn find_second(&self, op: Op) -> Option<&'static Row> {
        let rows = &self.by_opcode[Format::Vopd as usize];
        rows.iter().skip(0x20).flatten().copied().find(|row| row.op == op)
    }
}
