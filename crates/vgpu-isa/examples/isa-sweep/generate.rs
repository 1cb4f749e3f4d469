//! Encodings to compare: every opcode of every family, its fields swept one at a time and then all at random.

use crate::families::Family;
use crate::field::{Field, Kind};

/// One encoding: the words that the family has, and further ones that may be literals.
#[derive(Clone, Debug)]
pub(crate) struct Encoding {
    pub(crate) bytes: Vec<u8>,
    /// How many of them belong to the family's encoding.
    pub(crate) size: usize,
    /// The first bit of the only field that is not typical.
    pub(crate) swept: Option<u32>,
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
            let mut codes = vec![
                0, 1, 2, 3, 5, 64, 106, 107, 124, 125, 126, 127, 128, 129, 200, 224, 225, 240, 241, 248, 249,
            ];
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
        Kind::Below(limit) => (0..limit).collect(),
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
        Kind::Below(limit) => random.below(limit),
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

    /// Field contents that an instruction may be expected to have: the typical ones, and those with zeros in
    /// fields of registers that it may lack. Those with the fewest zeros come first.
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
                let encoding = Encoding { swept: Some(field.low), ..self.build(opcode, &set, random) };
                if field.kind == Kind::Source && value == 255 && self.words < 4 {
                    for literal in LITERALS {
                        let mut encoding = encoding.clone();
                        encoding.bytes[encoding.size..][..4].copy_from_slice(&literal.to_le_bytes());
                        all.push(encoding);
                    }
                }
                all.push(encoding);
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
