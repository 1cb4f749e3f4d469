//! The encoding families of every target.

mod graphics;
mod memory;
mod vector;

use vgpu_isa::{Generation, Isa};

use crate::field::{Field, Kind, bits, field, flag, joined, reserved, scalar, wide};

/// An encoding family of one or more generations.
pub(crate) struct Family {
    pub(crate) name: &'static str,
    pub(crate) words: usize,
    pub(crate) fixed: [u32; 3],
    pub(crate) opcode: (u32, u32),
    pub(crate) fields: Vec<Field>,
}

fn family(
    name: &'static str,
    words: usize,
    fixed: [u32; 3],
    opcode: (u32, u32),
    fields: impl IntoIterator<Item = Field>,
) -> Family {
    Family { name, words, fixed, opcode, fields: fields.into_iter().collect() }
}

/// The encoding families of a target.
pub(crate) fn families(isa: Isa) -> Vec<Family> {
    let mut all = vec![
        family(
            "SOP2",
            1,
            [0x8000_0000, 0, 0],
            (23, 7),
            [field(0, 8, Kind::Source, 8), field(8, 8, Kind::Source, 16), scalar(16, 32)],
        ),
        family("SOPK", 1, [0xb000_0000, 0, 0], (23, 5), [field(0, 16, Kind::Wide, 0x804), scalar(16, 32)]),
        family("SOP1", 1, [0xbe80_0000, 0, 0], (8, 8), [field(0, 8, Kind::Source, 8), scalar(16, 32)]),
        family(
            "SOPC",
            1,
            [0xbf00_0000, 0, 0],
            (16, 7),
            [field(0, 8, Kind::Source, 8), field(8, 8, Kind::Source, 16)],
        ),
        family("SOPP", 1, [0xbf80_0000, 0, 0], (16, 7), [wide(0, 16)]),
    ];
    all.extend(scalar_memory(isa));
    all.extend(vector::families(isa));
    all.extend(memory::families(isa));
    all.extend(graphics::families(isa));
    all
}

fn scalar_memory(isa: Isa) -> Vec<Family> {
    let base = field(0, 6, Kind::Scalar, 8);
    let data = scalar(6, 32);
    let family_of = |fixed, opcode, fields: &[Field]| {
        family("SMEM", 2, [fixed, 0, 0], opcode, joined(&[base, data], fields.to_vec()))
    };
    match isa.generation() {
        Generation::Gfx9 | Generation::Gfx940 => {
            let flags = [reserved(13, 1), flag(15), flag(16), field(17, 1, Kind::Bits, 1)];
            let offsets = vec![field(32, 21, Kind::Wide, 0x123), reserved(53, 4), scalar(57, 0)];
            // Without and with a register beside the immediate offset.
            let register = |typical| vec![field(14, 1, Kind::Bits, typical)];
            let fields = |typical| joined(&joined(&flags, offsets.clone()), register(typical));
            [0, 1].map(|typical| family_of(0xc000_0000, (18, 8), &fields(typical))).into()
        }
        Generation::Gfx10 | Generation::Gfx11 => {
            let null = if isa.generation() == Generation::Gfx10 { 125 } else { 124 };
            vec![family_of(
                0xf400_0000,
                (18, 8),
                &[bits(13, 5), field(32, 21, Kind::Wide, 0x120), reserved(53, 4), scalar(57, null)],
            )]
        }
        Generation::Gfx12 => vec![family_of(
            0xf400_0000,
            (13, 6),
            &[
                reserved(19, 2),
                bits(21, 2),
                bits(23, 2),
                reserved(25, 1),
                field(32, 24, Kind::Wide, 0x120),
                reserved(56, 1),
                scalar(57, 124),
            ],
        )],
    }
}
