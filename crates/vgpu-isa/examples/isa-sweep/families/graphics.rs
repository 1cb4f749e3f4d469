//! Images, exports, interpolation.

use vgpu_isa::{Generation, Isa};

use super::{Family, family};
use crate::field::*;

pub(super) fn families(isa: Isa) -> Vec<Family> {
    let mut all = Vec::new();
    let resource = field(48, 5, Kind::Scalar, 4);
    let sampler = field(53, 5, Kind::Scalar, 8);
    let mask = field(8, 4, Kind::Bits, 15);
    let two = [vector(32, 16), vector(40, 64), resource, sampler];
    match isa.generation() {
        Generation::Gfx9 | Generation::Gfx940 => {
            let flags = [flag(7), mask, flag(12), flag(13), flag(14), flag(15), flag(16), flag(17)];
            let flags = joined(&flags, vec![flag(25), reserved(58, 5), flag(63), reserved(0, 7)]);
            all.push(family("MIMG", 2, [0xf000_0000, 0, 0], (18, 7), joined(&two, flags)));
            all.push(export_gfx9(0xc400_0000));
            all.push(interpolation_gfx9(0xd400_0000));
        }
        Generation::Gfx10 => {
            for nsa in 0..4u32 {
                let flags = [flag(0), field(3, 3, Kind::Bits, 1), flag(6), flag(7), mask, bits(12, 2)];
                let more = vec![flag(14), flag(15), flag(16), flag(17), flag(62), flag(63), reserved(58, 4)];
                let mut fields = joined(&two, joined(&flags, more));
                if nsa > 0 {
                    fields.extend([vector(64, 20), vector(72, 30), vector(80, 40), vector(88, 50)]);
                }
                let words = if nsa > 0 { 3 } else { 2 };
                // Further words of addresses are literals to the generator.
                all.push(family("MIMG", words, [0xf000_0000 | nsa << 1, 0, 0], (18, 7), fields));
            }
            all.push(export_gfx9(0xf800_0000));
            all.push(interpolation_gfx9(0xc800_0000));
        }
        Generation::Gfx11 => {
            for nsa in 0..2u32 {
                let flags =
                    [bits(1, 1), field(2, 3, Kind::Bits, 1), bits(5, 3), mask, flag(12), flag(13), flag(14)];
                let more = vec![flag(15), flag(16), flag(17), flag(53), flag(54), flag(55), reserved(56, 2)];
                let two = [
                    vector(32, 16),
                    vector(40, 64),
                    resource,
                    field(58, 5, Kind::Scalar, 8),
                    reserved(63, 1),
                ];
                let mut fields = joined(&two, joined(&flags, more));
                if nsa > 0 {
                    fields.extend([vector(64, 20), vector(72, 30), vector(80, 40), vector(88, 50)]);
                }
                all.push(family("MIMG", 2 + nsa as usize, [0xf000_0000 | nsa, 0, 0], (18, 8), fields));
            }
            all.push(export_gfx11());
            all.push(interpolation());
        }
        Generation::Gfx12 => {
            let first =
                [field(0, 3, Kind::Bits, 1), bits(3, 4), reserved(7, 7), field(22, 4, Kind::Bits, 15)];
            let image = [
                vector(32, 64),
                flag(40),
                field(41, 9, Kind::Scalar, 16),
                bits(50, 2),
                bits(52, 3),
                flag(55),
                vector(56, 40),
                vector(64, 10),
                vector(72, 20),
                vector(80, 30),
                vector(88, 40),
            ];
            all.push(family("VIMAGE", 3, [0xd000_0000, 0, 0], (14, 8), joined(&first, image.to_vec())));
            let sample = [
                vector(32, 64),
                flag(40),
                field(41, 9, Kind::Scalar, 16),
                bits(50, 2),
                bits(52, 3),
                field(55, 9, Kind::Scalar, 32),
                vector(64, 10),
                vector(72, 20),
                vector(80, 30),
                vector(88, 40),
            ];
            all.push(family("VSAMPLE", 3, [0xe400_0000, 0, 0], (14, 8), joined(&first, sample.to_vec())));
            all.push(export_gfx11());
            all.push(interpolation());
        }
    }
    all.extend(rays(isa));
    all
}

/// Intersections of rays with bounding volume hierarchies: images most of whose fields are fixed.
fn rays(isa: Isa) -> Vec<Family> {
    let mut all = Vec::new();
    let resource = field(48, 5, Kind::Scalar, 4);
    let list = [vector(64, 20), vector(72, 30), vector(80, 40), vector(88, 50)];
    match isa.generation() {
        Generation::Gfx9 | Generation::Gfx940 => {}
        Generation::Gfx10 => {
            for (nsa, a16) in [(0, 0), (0, 1), (2, 1), (3, 0)] {
                let word = 0xf000_9f01 | nsa << 1;
                let mut fields = vec![vector(32, 16), vector(40, 64), resource];
                fields.extend([
                    reserved(3, 4),
                    reserved(7, 1),
                    reserved(13, 2),
                    reserved(16, 2),
                    reserved(25, 1),
                ]);
                fields.extend([reserved(53, 9), field(62, 1, Kind::Bits, a16), reserved(63, 1)]);
                if nsa > 0 {
                    fields.extend(list);
                }
                all.push(family("BVH", if nsa > 0 { 3 } else { 2 }, [word, 0, 0], (18, 7), fields));
            }
        }
        Generation::Gfx11 => {
            for nsa in 0..2 {
                let mut fields = vec![vector(32, 16), vector(40, 64), resource, flag(16)];
                fields.extend([reserved(1, 4), reserved(5, 2), reserved(12, 3), reserved(17, 1)]);
                fields.extend([reserved(53, 3), reserved(56, 2), reserved(58, 6)]);
                if nsa > 0 {
                    fields.extend(list);
                }
                all.push(family("BVH", 2 + nsa as usize, [0xf000_8f80 | nsa, 0, 0], (18, 8), fields));
            }
        }
        Generation::Gfx12 => {
            let fields = [
                flag(6),
                reserved(0, 4),
                reserved(5, 1),
                reserved(7, 7),
                vector(32, 64),
                flag(40),
                field(41, 9, Kind::Scalar, 16),
                reserved(50, 6),
                vector(56, 60),
            ];
            all.push(family("BVH", 3, [0xd3c0_0010, 0, 0], (14, 8), joined(&fields, list.to_vec())));
        }
    }
    all
}

/// Exports up to gfx10, whose generations have different first words.
fn export_gfx9(word: u32) -> Family {
    let flags = [bits(0, 4), flag(10), flag(11), flag(12)];
    let data = vec![vector(32, 1), vector(40, 2), vector(48, 3), vector(56, 4)];
    family("EXP", 2, [word, 0, 0], (4, 6), joined(&flags, data))
}

/// Interpolation up to gfx10.
fn interpolation_gfx9(word: u32) -> Family {
    family("VINTRP", 1, [word, 0, 0], (16, 2), [vector(0, 1), bits(8, 2), bits(10, 6), vector(18, 8)])
}

fn export_gfx11() -> Family {
    family(
        "EXP",
        2,
        [0xf800_0000, 0, 0],
        (4, 6),
        [
            bits(0, 4),
            reserved(10, 1),
            flag(11),
            flag(13),
            reserved(12, 1),
            vector(32, 1),
            vector(40, 2),
            vector(48, 3),
            vector(56, 4),
        ],
    )
}

/// VINTERP of gfx11 and later.
fn interpolation() -> Family {
    family(
        "VINTERP",
        2,
        [0xcd00_0000, 0, 0],
        (16, 5),
        [
            vector(0, 8),
            bits(8, 3),
            bits(11, 4),
            flag(15),
            reserved(21, 3),
            source(32, 256 + 10),
            source(41, 256 + 12),
            source(50, 256 + 14),
            bits(61, 3),
            reserved(59, 2),
        ],
    )
}
