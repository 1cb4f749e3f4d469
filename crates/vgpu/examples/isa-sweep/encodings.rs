//! Encodings to compare: every opcode of every family, its fields swept one at a time and then all at random.

use vgpu::isa::Isa;

/// What a field holds, which decides the values it is given.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A source of 8 or 9 bits: registers, inline constants, literals, specials.
    Source,
    /// The same where no literal can follow, for which llvm-mc has crashes instead of errors.
    Inline,
    /// A scalar register of 5 to 8 bits.
    Scalar,
    /// A vector register.
    Vector,
    /// An offset or another wide immediate.
    Wide,
    /// Few bits, each value with a meaning.
    Bits,
    /// A selector of SDWA, 0 to 6; llvm-mc crashes on 7.
    Select,
    /// Bits without a meaning.
    Reserved,
}

/// Bits of an encoding, counted from the first bit of the first word.
#[derive(Clone, Copy)]
pub(crate) struct Field {
    low: u32,
    width: u32,
    kind: Kind,
    /// What it holds while others are swept.
    typical: u32,
}

/// An encoding family of one or more generations.
pub(crate) struct Family {
    pub(crate) name: &'static str,
    words: usize,
    fixed: [u32; 3],
    opcode: (u32, u32),
    fields: Vec<Field>,
}

/// One encoding: the words that the family has, and further ones that may be literals.
#[derive(Clone, Debug)]
pub(crate) struct Encoding {
    pub(crate) bytes: Vec<u8>,
    /// How many of them belong to the family's encoding.
    pub(crate) size: usize,
    /// The first bit of the only field that is not typical.
    pub(crate) swept: Option<u32>,
}

const fn field(low: u32, width: u32, kind: Kind, typical: u32) -> Field {
    Field { low, width, kind, typical }
}

const fn source(low: u32, typical: u32) -> Field {
    field(low, 9, Kind::Source, typical)
}

const fn vector(low: u32, typical: u32) -> Field {
    field(low, 8, Kind::Vector, typical)
}

const fn scalar(low: u32, typical: u32) -> Field {
    field(low, 7, Kind::Scalar, typical)
}

const fn flag(low: u32) -> Field {
    field(low, 1, Kind::Bits, 0)
}

const fn bits(low: u32, width: u32) -> Field {
    field(low, width, Kind::Bits, 0)
}

const fn wide(low: u32, width: u32) -> Field {
    field(low, width, Kind::Wide, 0)
}

const fn reserved(low: u32, width: u32) -> Field {
    field(low, width, Kind::Reserved, 0)
}

/// The word of DPP16 that follows an instruction of `at` bits.
fn dpp16(at: u32, modifiers: bool) -> Vec<Field> {
    let mut fields = vec![
        vector(at, 10),
        field(at + 8, 9, Kind::Bits, 0xe4),
        reserved(at + 17, 1),
        flag(at + 18),
        flag(at + 19),
        field(at + 24, 4, Kind::Bits, 15),
        field(at + 28, 4, Kind::Bits, 15),
    ];
    fields.extend(if modifiers { vec![bits(at + 20, 4)] } else { vec![reserved(at + 20, 4)] });
    fields
}

fn dpp8(at: u32) -> Vec<Field> {
    vec![vector(at, 10), field(at + 8, 24, Kind::Wide, 0x00fa_c688)]
}

fn sdwa(compare: bool) -> Vec<Field> {
    let mut fields = vec![
        vector(32, 10),
        field(48, 3, Kind::Select, 6),
        flag(51),
        flag(52),
        flag(53),
        reserved(54, 1),
        flag(55),
        field(56, 3, Kind::Select, 6),
        flag(59),
        flag(60),
        flag(61),
        reserved(62, 1),
        flag(63),
    ];
    if compare {
        fields.extend([scalar(40, 0), flag(47)]);
    } else {
        fields.extend([field(40, 3, Kind::Select, 6), bits(43, 2), flag(45), bits(46, 2)]);
    }
    fields
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

fn joined(first: &[Field], second: Vec<Field>) -> Vec<Field> {
    first.iter().copied().chain(second).collect()
}

/// The encoding families of a target.
pub(crate) fn families(isa: Isa) -> Vec<Family> {
    let gfx9 = matches!(isa, Isa::Gfx90a | Isa::Gfx942);
    let gfx11 = isa >= Isa::Gfx1100;
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
    all.extend(short_vector(isa));
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
    all.extend(memory(isa));
    all.extend(graphics(isa));
    all
}

fn scalar_memory(isa: Isa) -> Vec<Family> {
    let base = field(0, 6, Kind::Scalar, 8);
    let data = scalar(6, 32);
    let family_of = |fixed, opcode, fields: &[Field]| {
        family("SMEM", 2, [fixed, 0, 0], opcode, joined(&[base, data], fields.to_vec()))
    };
    match isa {
        Isa::Gfx90a | Isa::Gfx942 => {
            let flags = [reserved(13, 1), flag(14), flag(15), flag(16), field(17, 1, Kind::Bits, 1)];
            let offsets = vec![field(32, 21, Kind::Wide, 0x123), reserved(53, 4), scalar(57, 0)];
            vec![family_of(0xc000_0000, (18, 8), &joined(&flags, offsets))]
        }
        Isa::Gfx1030 | Isa::Gfx1100 => {
            let null = if isa == Isa::Gfx1030 { 125 } else { 124 };
            vec![family_of(
                0xf400_0000,
                (18, 8),
                &[bits(13, 5), field(32, 21, Kind::Wide, 0x120), reserved(53, 4), scalar(57, null)],
            )]
        }
        Isa::Gfx1201 => vec![family_of(
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
        if isa <= Isa::Gfx1030 {
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

fn memory(isa: Isa) -> Vec<Family> {
    let four = [vector(32, 10), vector(40, 12), vector(48, 14), vector(56, 8)];
    let mut all = Vec::new();
    let gfx9 = matches!(isa, Isa::Gfx90a | Isa::Gfx942);
    let ds = if gfx9 { [flag(16), flag(25)] } else { [reserved(16, 1), flag(17)] };
    let opcode = if gfx9 { (17, 8) } else { (18, 8) };
    all.push(family("DS", 2, [0xd800_0000, 0, 0], opcode, joined(&ds, joined(&four, vec![wide(0, 16)]))));
    let global = [0xd800_0000 | 1 << if gfx9 { 16 } else { 17 }, 0, 0];
    all.push(family("DS of all", 2, global, opcode, joined(&four, vec![wide(0, 16)])));
    if isa == Isa::Gfx1201 {
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
        let (shift, null) = match isa {
            Isa::Gfx1100 => (16, 124),
            Isa::Gfx1030 => (14, 125),
            _ => (14, 127),
        };
        let mut fields = vec![vector(32, 10), vector(40, 12), vector(56, 8), field(55, 1, Kind::Bits, 0)];
        if segment == 0 && gfx9 {
            fields.push(reserved(48, 7));
        } else {
            fields.push(field(48, 7, Kind::Scalar, null));
        }
        match isa {
            Isa::Gfx1100 => fields.extend([wide(0, 13), bits(13, 3), reserved(25, 1)]),
            Isa::Gfx1030 => fields.extend([wide(0, 12), bits(12, 2), bits(16, 2), reserved(25, 1)]),
            _ => fields.extend([wide(0, 13), flag(13), bits(16, 2), flag(25)]),
        }
        all.push(family("FLAT", 2, [0xdc00_0000 | segment << shift, 0, 0], (18, 7), fields));
    }
    let resource = field(48, 5, Kind::Scalar, 4);
    let common = [vector(32, 10), vector(40, 8), resource, field(56, 8, Kind::Inline, 128), wide(0, 12)];
    let (untyped, typed, format): (Vec<Field>, Vec<Field>, u32) = match isa {
        Isa::Gfx1100 => (
            vec![bits(12, 3), bits(15, 3), bits(53, 3)],
            vec![bits(12, 3), field(19, 7, Kind::Bits, 1), bits(53, 3)],
            15,
        ),
        Isa::Gfx1030 => (
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

/// Images, exports, interpolation.
fn graphics(isa: Isa) -> Vec<Family> {
    let mut all = Vec::new();
    let resource = field(48, 5, Kind::Scalar, 4);
    let sampler = field(53, 5, Kind::Scalar, 8);
    let mask = field(8, 4, Kind::Bits, 15);
    let two = [vector(32, 16), vector(40, 64), resource, sampler];
    match isa {
        Isa::Gfx90a | Isa::Gfx942 => {
            let flags = [flag(7), mask, flag(12), flag(13), flag(14), flag(15), flag(16), flag(17)];
            let flags = joined(&flags, vec![flag(25), reserved(58, 5), flag(63), reserved(0, 7)]);
            all.push(family("MIMG", 2, [0xf000_0000, 0, 0], (18, 7), joined(&two, flags)));
            all.push(family(
                "EXP",
                2,
                [0xc400_0000, 0, 0],
                (4, 6),
                [
                    bits(0, 4),
                    flag(10),
                    flag(11),
                    flag(12),
                    vector(32, 1),
                    vector(40, 2),
                    vector(48, 3),
                    vector(56, 4),
                ],
            ));
            all.push(family(
                "VINTRP",
                1,
                [0xd400_0000, 0, 0],
                (16, 2),
                [vector(0, 1), bits(8, 2), bits(10, 6), vector(18, 8)],
            ));
        }
        Isa::Gfx1030 => {
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
            all.push(family(
                "EXP",
                2,
                [0xf800_0000, 0, 0],
                (4, 6),
                [
                    bits(0, 4),
                    flag(10),
                    flag(11),
                    flag(12),
                    vector(32, 1),
                    vector(40, 2),
                    vector(48, 3),
                    vector(56, 4),
                ],
            ));
            all.push(family(
                "VINTRP",
                1,
                [0xc800_0000, 0, 0],
                (16, 2),
                [vector(0, 1), bits(8, 2), bits(10, 6), vector(18, 8)],
            ));
        }
        Isa::Gfx1100 => {
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
        Isa::Gfx1201 => {
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
    all
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

/// xorshift: the same numbers in every run of a seed.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        (0..8).for_each(|_| _ = random.next());
        random
    }

    fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 20) as u32
    }

    fn below(&mut self, limit: u32) -> u32 {
        self.next() % limit
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u32) as usize]
    }
}

/// Literals: what could be an inline constant of some type, and what could not.
const LITERALS: &[u32] = &[
    0,
    1,
    64,
    65,
    0xffff_ffff,
    0xffff_fff0,
    0xffff_ffef,
    0x8000_0000,
    0x7fff_ffff,
    0x3f00_0000,
    0xbf00_0000,
    0x3f80_0000,
    0xbf80_0000,
    0x4000_0000,
    0xc080_0000,
    0x3e22_f983,
    0x3e23,
    0x3f80,
    0xbf00,
    0x3800,
    0x3c00,
    0xbc00,
    0x3118,
    0xfff0,
    0xffff,
    0xffef,
    0x1_0000,
    0x3c00_3c00,
    0x3c00_0000,
    0x1234_3c00,
    0xffff_0001,
    0x3fe0_0000,
    0x3ff0_0000,
    0xc010_0000,
    0x3fc4_5f30,
    0x1234_5678,
    0xabcd,
];

/// Second words of DPP and SDWA that are valid, for sources that turn out to be those.
const FOLLOWERS: &[u32] =
    &[0xff00_e40a, 0x0600_060a, 0x0606_060a, 0xff09_110a, 0x0405_150b, 0x00fa_c688 << 8 | 5];

fn values(kind: Kind, width: u32) -> Vec<u32> {
    let mask = ((1u64 << width) - 1) as u32;
    match kind {
        Kind::Source | Kind::Inline => {
            let mut codes: Vec<u32> = vec![0, 1, 2, 3, 4, 97, 98, 99, 100];
            codes.extend(101..=113);
            codes.extend([119, 120, 121, 122]);
            codes.extend(123..=130);
            codes.extend([191, 192, 193, 207, 208, 209, 210, 224, 228, 229]);
            codes.extend(230..=259);
            codes.extend([383, 384, 385, 496, 504, 507, 508, 509, 510, 511]);
            codes.retain(|code| *code <= mask && (kind == Kind::Source || *code != 255));
            codes
        }
        Kind::Scalar if width == 7 => (0..128).filter(|code| *code < 5 || *code > 94).collect(),
        Kind::Scalar if width < 7 => (0..=mask).collect(),
        Kind::Scalar => {
            (0..16).chain(88..=mask.min(135)).chain([255, 256, 260, 511]).filter(|c| *c <= mask).collect()
        }
        Kind::Vector => {
            let mut codes = vec![0, 1, 2, 3, 5, 64, 126, 127, 128, 129, 200, 224, 225, 240, 241, 248, 249];
            codes.extend(250..=255);
            codes.retain(|code| *code <= mask);
            codes
        }
        Kind::Wide => {
            let mut codes: Vec<u32> = (0..20).collect();
            for bit in 0..width {
                let power = 1 << bit;
                codes.extend([power, power - 1, mask ^ power, mask & !(power - 1), power | 1]);
            }
            codes.extend([mask, mask - 1, 0x55_5555 & mask, 0xaa_aaaa & mask]);
            codes.sort_unstable();
            codes.dedup();
            codes
        }
        Kind::Select => (0..7).collect(),
        Kind::Bits | Kind::Reserved if width <= 9 => (0..=mask).collect(),
        Kind::Bits | Kind::Reserved => (0..width).map(|bit| 1 << bit).collect(),
    }
}

fn random_value(random: &mut Random, field: &Field) -> u32 {
    let mask = ((1u64 << field.width) - 1) as u32;
    match field.kind {
        Kind::Source if field.width == 9 && random.below(2) == 0 => 256 + random.below(256),
        Kind::Inline if field.width == 9 && random.below(2) == 0 => 256 + random.below(256),
        Kind::Inline => {
            [random.below(108), 128 + random.below(81), 240 + random.below(9)][random.below(3) as usize]
        }
        Kind::Source => match random.below(6) {
            0..3 => random.below(108),
            3 => 128 + random.below(81),
            4 => 240 + random.below(9),
            _ => random.next() & mask,
        },
        Kind::Scalar if random.below(2) == 0 => random.below(108) & mask & !3,
        Kind::Select => random.below(7),
        Kind::Scalar | Kind::Bits => random.next() & mask,
        Kind::Vector if random.below(3) > 0 => random.next() & mask & !1,
        Kind::Vector => random.next() & mask,
        Kind::Wide => match random.below(4) {
            0 => field.typical,
            1 => random.below(256) & mask,
            _ => random.next() & mask,
        },
        Kind::Reserved => 0,
    }
}

impl Family {
    /// How many opcodes the family's field can hold.
    pub(crate) fn opcodes(&self) -> u32 {
        1 << self.opcode.1
    }

    pub(crate) fn build(&self, opcode: u32, set: &[u32], random: &mut Random) -> Encoding {
        let mut words = [0u32; 5];
        words[..3].copy_from_slice(&self.fixed);
        let mut put = |low: u32, width: u32, value: u32| {
            let (word, shift) = ((low / 32) as usize, low % 32);
            words[word] |= value << shift;
            // Fields of gfx12 may cross words.
            if shift + width > 32 {
                words[word + 1] |= value >> (32 - shift);
            }
        };
        put(self.opcode.0, self.opcode.1, opcode);
        for (field, &value) in self.fields.iter().zip(set) {
            put(field.low, field.width, value);
        }
        for word in &mut words[self.words..] {
            *word = match random.below(5) {
                0 => random.next(),
                1 => random.pick(FOLLOWERS),
                _ => random.pick(LITERALS),
            };
        }
        let bytes = words[..(self.words + 2).min(5)].iter().flat_map(|word| word.to_le_bytes()).collect();
        Encoding { bytes, size: self.words * 4, swept: None }
    }

    /// Field contents that an instruction may be expected to have: the typical ones, and those with zeros in fields of
    /// registers that it may lack. Those with the fewest zeros come first.
    pub(crate) fn candidates(&self) -> Vec<Vec<u32>> {
        let may_lack =
            |field: &&Field| matches!(field.kind, Kind::Vector | Kind::Scalar | Kind::Source | Kind::Inline);
        let count = self.fields.iter().filter(may_lack).count().min(6);
        let mut masks: Vec<u32> = (0..1 << count).collect();
        masks.sort_by_key(|mask| mask.count_ones());
        let of_mask = |mask: u32| {
            let mut index = 0;
            let content = self.fields.iter().map(|field| {
                let zero = may_lack(&field) && {
                    index += 1;
                    mask >> (index - 1) & 1 != 0
                };
                if zero { 0 } else { field.typical }
            });
            content.collect()
        };
        let mut all: Vec<Vec<u32>> = masks.into_iter().map(of_mask).collect();
        all.push(vec![0; self.fields.len()]);
        all
    }

    /// Encodings of an opcode: typical, all zeros, each field swept, several or all fields at random.
    pub(crate) fn sweep(
        &self,
        opcode: u32,
        typical: &[u32],
        count: usize,
        random: &mut Random,
    ) -> Vec<Encoding> {
        let mut all = vec![
            self.build(opcode, typical, random),
            self.build(opcode, &vec![0; self.fields.len()], random),
        ];
        for (index, field) in self.fields.iter().enumerate() {
            for value in values(field.kind, field.width) {
                let mut set = typical.to_vec();
                set[index] = value;
                all.push(Encoding { swept: Some(field.low), ..self.build(opcode, &set, random) });
            }
        }
        for round in 0..count {
            // The more fields change, the less often LLVM takes the encoding for an instruction.
            let probability = [2, 4, 8, 10][round % 4];
            let mut set = typical.to_vec();
            for (value, field) in set.iter_mut().zip(&self.fields) {
                // What is zero in a typical encoding is likely not there.
                let absent = *value == 0 && field.typical != 0 && random.below(8) > 0;
                if !absent && random.below(10) < probability {
                    *value = random_value(random, field);
                }
            }
            all.push(self.build(opcode, &set, random));
        }
        all
    }

    /// Encodings of an opcode with all values of its first wide field.
    pub(crate) fn exhaust(&self, opcode: u32, typical: &[u32], random: &mut Random) -> Vec<Encoding> {
        let Some(index) = self.fields.iter().position(|field| field.kind == Kind::Wide) else {
            return Vec::new();
        };
        let all = (0..1 << self.fields[index].width.min(16)).map(|value| {
            let mut set = typical.to_vec();
            set[index] = value;
            self.build(opcode, &set, random)
        });
        all.collect()
    }
}
