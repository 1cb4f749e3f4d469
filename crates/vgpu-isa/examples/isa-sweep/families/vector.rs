//! VOP1, VOP2, VOPC, VOP3, VOP3P, VOPD and LDSDIR.

use vgpu_isa::{Generation, Isa};

use super::{Family, family};
use crate::field::*;

pub(super) fn families(isa: Isa) -> Vec<Family> {
    let gfx9 = matches!(isa.generation(), Generation::Gfx9 | Generation::Gfx940);
    let gfx11 = isa.generation() >= Generation::Gfx11;
    let mut all = short_vector(isa);
    let vop3 = if gfx9 { 0xd000_0000 } else { 0xd400_0000 };
    let vop3p = if gfx9 { 0xd380_0000 } else { 0xcc00_0000 };
    let kind = if gfx9 { Kind::Inline } else { Kind::Source };
    let three = [field(32, 9, kind, 256 + 10), field(41, 9, kind, 256 + 12), field(50, 9, kind, 256 + 14)];
    let long = [vector(0, 8), bits(8, 3), bits(11, 4), flag(15), bits(59, 2), bits(61, 3)];
    let with_mask = [vector(0, 8), scalar(8, 106), flag(15), bits(59, 2), bits(61, 3)];
    let packed = [vector(0, 8), bits(8, 3), bits(11, 3), field(14, 1, Kind::Bits, 1), flag(15)];
    let packed = joined(&packed, vec![field(59, 2, Kind::Bits, 3), bits(61, 3)]);
    all.push(family("VOP3", 2, [vop3, 0, 0], (16, 10), joined(&long, three.to_vec())));
    all.push(family("VOP3 with a mask", 2, [vop3, 0, 0], (16, 10), joined(&with_mask, three.to_vec())));
    all.push(family("VOP3P", 2, [vop3p, 0, 0], (16, 7), joined(&packed, three.to_vec())));
    if gfx9 {
        let plain = [vector(0, 8), bits(8, 3), bits(11, 4), flag(15), bits(59, 2), bits(61, 3)];
        all.push(family("MFMA", 2, [vop3p, 0, 0], (16, 7), joined(&plain, three.to_vec())));
        if isa == Isa::Gfx950 {
            // The load of scales comes before.
            let scales =
                [bits(8, 3), bits(11, 4), flag(15), field(32, 9, kind, 256 + 2), field(41, 9, kind, 256 + 4)];
            let scales = joined(&scales, vec![field(59, 2, Kind::Bits, 3), bits(61, 3)]);
            let matrix = [
                vector(64, 8),
                bits(72, 3),
                field(75, 4, Kind::Bits, 1),
                flag(79),
                bits(123, 2),
                bits(125, 3),
            ];
            let three = [field(96, 9, kind, 266), field(105, 9, kind, 276), field(114, 9, kind, 284)];
            let fields = joined(&joined(&scales, matrix.to_vec()), three.to_vec());
            all.push(family("scaled MFMA", 4, [vop3p | 0x2c << 16, 0, vop3p], (80, 7), fields));
        }
    }
    if gfx11 {
        for (name, code) in [("VOP3 DPP16", 250), ("VOP3 DPP8", 233), ("VOP3 DPP8 fi", 234)] {
            let word = if code == 250 { dpp16(64, false) } else { dpp8(64) };
            let two = joined(&three[1..], word);
            all.push(family(name, 3, [vop3, code, 0], (16, 10), joined(&long, two.clone())));
            all.push(family(name, 3, [vop3, code, 0], (16, 10), joined(&with_mask, two.clone())));
            all.push(family(name, 3, [vop3p, code, 0], (16, 7), joined(&packed, two)));
        }
        for opcode in 0..16 {
            all.push(family(
                "VOPD",
                2,
                [0xc800_0000 | opcode << 22, 0, 0],
                (17, 5),
                [
                    source(0, 256 + 4),
                    vector(9, 9),
                    source(32, 256 + 7),
                    vector(41, 14),
                    field(49, 7, Kind::Vector, 5),
                    vector(56, 8),
                ],
            ));
        }
        all.push(family(
            "LDSDIR",
            1,
            [0xce00_0000, 0, 0],
            (20, 2),
            [vector(0, 8), bits(8, 8), bits(16, 4), bits(22, 2)],
        ));
    }
    all
}

/// VOP1, VOP2 and VOPC, with what may follow.
fn short_vector(isa: Isa) -> Vec<Family> {
    let mut all = Vec::new();
    let families = [
        ("VOP1", 0x7e00_0000, (9, 8), vec![vector(17, 8)]),
        ("VOP2", 0, (25, 6), vec![vector(9, 12), vector(17, 8)]),
        ("VOPC", 0x7c00_0000, (17, 8), vec![vector(9, 12)]),
    ];
    for (name, fixed, opcode, fields) in families {
        let fields: &[Field] = &fields;
        all.push(family(name, 1, [fixed, 0, 0], opcode, joined(fields, vec![source(0, 256 + 10)])));
        let dpp = joined(fields, dpp16(32, true));
        all.push(family("DPP16", 2, [fixed | 250, 0, 0], opcode, dpp));
        if isa.generation() <= Generation::Gfx10 {
            let fields = joined(fields, sdwa(name == "VOPC"));
            all.push(family("SDWA", 2, [fixed | 249, 0, 0], opcode, fields));
        }
        for code in [233, 234] {
            let fields = joined(fields, dpp8(32));
            all.push(family("DPP8", 2, [fixed | code, 0, 0], opcode, fields));
        }
    }
    all
}
