//! DS, FLAT and buffers.

use vgpu_isa::{Generation, Isa};

use super::{Family, family};
use crate::field::*;

pub(super) fn families(isa: Isa) -> Vec<Family> {
    let four = [vector(32, 10), vector(40, 12), vector(48, 14), vector(56, 8)];
    let mut all = Vec::new();
    let gfx9 = matches!(isa.generation(), Generation::Gfx9 | Generation::Gfx940);
    let ds = if gfx9 { [flag(16), flag(25)] } else { [reserved(16, 1), flag(17)] };
    let opcode = if gfx9 { (17, 8) } else { (18, 8) };
    all.push(family("DS", 2, [0xd800_0000, 0, 0], opcode, joined(&ds, joined(&four, vec![wide(0, 16)]))));
    let global = [0xd800_0000 | 1 << if gfx9 { 16 } else { 17 }, 0, 0];
    all.push(family("DS of all", 2, global, opcode, joined(&four, vec![wide(0, 16)])));
    if isa.generation() == Generation::Gfx12 {
        for segment in 0..4 {
            all.push(family(
                "VFLAT",
                3,
                [0xec00_0000 | segment << 24, 0, 0],
                (14, 8),
                [
                    field(0, 7, Kind::Scalar, 124),
                    reserved(7, 7),
                    reserved(22, 2),
                    vector(32, 8),
                    reserved(40, 8),
                    flag(48),
                    field(49, 1, Kind::Bits, u32::from(segment == 1)),
                    bits(50, 2),
                    bits(52, 3),
                    vector(55, 12),
                    reserved(63, 1),
                    vector(64, 10),
                    wide(72, 24),
                ],
            ));
        }
        all.push(family(
            "VBUFFER",
            3,
            [0xc400_0000, 0, 0],
            (14, 8),
            [
                field(0, 7, Kind::Scalar, 124),
                reserved(7, 7),
                flag(22),
                reserved(23, 3),
                vector(32, 8),
                reserved(40, 1),
                field(41, 9, Kind::Scalar, 16),
                bits(50, 2),
                bits(52, 3),
                field(55, 7, Kind::Bits, 1),
                field(62, 2, Kind::Bits, 1),
                vector(64, 10),
                wide(72, 24),
            ],
        ));
        return all;
    }
    for segment in 0..4 {
        let (shift, null) = match isa.generation() {
            Generation::Gfx11 => (16, 124),
            Generation::Gfx10 => (14, 125),
            _ => (14, 127),
        };
        let mut fields = vec![vector(32, 10), vector(40, 12), vector(56, 8), field(55, 1, Kind::Bits, 0)];
        if segment == 0 && gfx9 {
            fields.push(reserved(48, 7));
        } else {
            fields.push(field(48, 7, Kind::Scalar, null));
        }
        match isa.generation() {
            Generation::Gfx11 => fields.extend([wide(0, 13), bits(13, 3), reserved(25, 1)]),
            Generation::Gfx10 => fields.extend([wide(0, 12), bits(12, 2), bits(16, 2), reserved(25, 1)]),
            _ => fields.extend([wide(0, 13), flag(13), bits(16, 2), flag(25)]),
        }
        all.push(family("FLAT", 2, [0xdc00_0000 | segment << shift, 0, 0], (18, 7), fields));
    }
    let resource = field(48, 5, Kind::Scalar, 4);
    let common = [vector(32, 10), vector(40, 8), resource, field(56, 8, Kind::Inline, 128), wide(0, 12)];
    let (untyped, typed, format): (Vec<Field>, Vec<Field>, u32) = match isa.generation() {
        Generation::Gfx11 => (
            vec![bits(12, 3), bits(15, 3), bits(53, 3)],
            vec![bits(12, 3), field(19, 7, Kind::Bits, 1), bits(53, 3)],
            15,
        ),
        Generation::Gfx10 => (
            vec![bits(12, 4), bits(16, 2), bits(53, 3)],
            vec![bits(12, 4), field(19, 7, Kind::Bits, 1), bits(53, 3)],
            16,
        ),
        _ => (
            vec![bits(12, 3), flag(15), bits(16, 2), bits(53, 3)],
            vec![bits(12, 3), field(19, 7, Kind::Bits, 1), bits(53, 3)],
            15,
        ),
    };
    let opcodes = if gfx9 { (18, 7) } else { (18, 8) };
    all.push(family("MUBUF", 2, [0xe000_0000, 0, 0], opcodes, joined(&common, untyped)));
    let width = if format == 16 { 3 } else { 4 };
    all.push(family("MTBUF", 2, [0xe800_0000, 0, 0], (format, width), joined(&common, typed.clone())));
    if format == 16 {
        // The highest bit of the opcode is in the second word.
        let high = [0xe800_0000, 1 << 21, 0];
        all.push(family("MTBUF", 2, high, (format, width), joined(&common, typed)));
    }
    all
}
