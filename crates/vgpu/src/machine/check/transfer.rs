//! Determines which bits of a result depend on uninitialised bits, for each operation.
//!
//! Moves, bitwise logic, shifts and field extraction are exact, so padding and parts that a program masks
//! away are harmless. A bit of a sum or product depends on the bits below it, because compilers add 64 bits
//! when they need 32. Results that known bits determine are handled here; other dependences of vector
//! instructions are found by running them (`depend`). For all other scalar instructions, every result bit
//! depends on every source bit.

use crate::isa::Op;

/// A value and which of its bits are unknown.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Bits {
    /// The value; meaningful only in its known bits.
    pub value: u64,
    /// Ones mark bits that depend on something uninitialised.
    pub unknown: u64,
}

impl Bits {
    /// Nothing is known.
    pub(super) const UNKNOWN: Bits = Bits { value: 0, unknown: u64::MAX };

    fn not(self) -> Bits {
        Bits { value: !self.value, ..self }
    }

    fn and(self, other: Bits) -> Bits {
        // A known zero determines the result.
        let zero = !self.value & !self.unknown | !other.value & !other.unknown;
        Bits { value: self.value & other.value, unknown: (self.unknown | other.unknown) & !zero }
    }

    fn or(self, other: Bits) -> Bits {
        self.not().and(other.not()).not()
    }

    fn xor(self, other: Bits) -> Bits {
        Bits { value: self.value ^ other.value, unknown: self.unknown | other.unknown }
    }

    /// Changes both parts alike.
    fn map(self, change: impl Fn(u64) -> u64) -> Bits {
        Bits { value: change(self.value), unknown: change(self.unknown) }
    }

    fn shifted(self, amount: Bits, width: u32, shift: impl Fn(u64, u32) -> u64) -> Bits {
        let mask = u64::from(width - 1);
        if amount.unknown & mask != 0 {
            return if self.is_zero() { self } else { Bits::UNKNOWN };
        }
        self.map(|bits| shift(bits, (amount.value & mask) as u32))
    }

    fn is_zero(self) -> bool {
        self.value == 0 && self.unknown == 0
    }

    /// Whether it is unknown if the value is zero.
    pub(super) fn unknown_if_zero(self) -> bool {
        self.unknown != 0 && self.value & !self.unknown == 0
    }
}

fn sign_extend(bits: u64, width: u32) -> u64 {
    if width == 0 || width >= 64 { bits } else { ((bits << (64 - width)) as i64 >> (64 - width)) as u64 }
}

fn low(bits: u64, width: u32) -> u64 {
    if width >= 64 { bits } else { bits & ((1 << width) - 1) }
}

/// An unknown result from the lowest of these bits upwards.
fn upward(unknown: u64) -> Bits {
    Bits { value: 0, unknown: if unknown == 0 { 0 } else { u64::MAX << unknown.trailing_zeros() } }
}

/// The result of an operation, if its dependences are exact. Bits above the width of the result are
/// meaningless.
pub(super) fn exact(op: Op, s: [Bits; 4]) -> Option<Bits> {
    let [a, b, c, _] = s;
    let left = |bits: u64, amount: u32| bits << amount;
    let right = |bits: u64, amount: u32| bits >> amount;
    let arithmetic =
        |width: u32| move |bits: u64, amount: u32| (sign_extend(bits, width) as i64 >> amount) as u64;
    let field = |signed: bool, offset: u32, width: u32| {
        a.map(|bits| {
            let part = low(bits >> offset.min(63), width);
            if signed { sign_extend(part, width) } else { part }
        })
    };
    Some(match op {
        Op::VMovB16
        | Op::VMovB32
        | Op::VMovB64
        | Op::SMovB32
        | Op::SMovB64
        | Op::SMovkI32
        | Op::VAccvgprReadB32
        | Op::VAccvgprWriteB32
        | Op::VAccvgprMovB32 => a,
        Op::VNotB16 | Op::VNotB32 | Op::SNotB32 | Op::SNotB64 => a.not(),
        Op::VBfrevB32 | Op::SBrevB32 => a.map(|bits| u64::from((bits as u32).reverse_bits())),
        Op::SBrevB64 => a.map(u64::reverse_bits),
        Op::VAndB16 | Op::VAndB32 | Op::SAndB32 | Op::SAndB64 => a.and(b),
        Op::VOrB16 | Op::VOrB32 | Op::SOrB32 | Op::SOrB64 => a.or(b),
        Op::VXorB16 | Op::VXorB32 | Op::SXorB32 | Op::SXorB64 => a.xor(b),
        Op::VXnorB32 | Op::SXnorB32 | Op::SXnorB64 => a.xor(b).not(),
        Op::SNandB32 | Op::SNandB64 => a.and(b).not(),
        Op::SNorB32 | Op::SNorB64 => a.or(b).not(),
        Op::SAndNot1B32 | Op::SAndNot1B64 => a.and(b.not()),
        Op::SOrNot1B32 | Op::SOrNot1B64 => a.or(b.not()),
        Op::VAndOrB32 => a.and(b).or(c),
        Op::VOr3B32 => a.or(b).or(c),
        Op::VXor3B32 => a.xor(b).xor(c),
        Op::VBfiB32 => a.and(b).or(a.not().and(c)),
        Op::VLshlOrB32 => a.shifted(b, 32, left).or(c),
        Op::VLshlrevB16 => b.shifted(a, 16, left),
        Op::VLshlrevB32 => b.shifted(a, 32, left),
        Op::VLshlrevB64 => b.shifted(a, 64, left),
        Op::VLshrrevB16 => b.map(|bits| low(bits, 16)).shifted(a, 16, right),
        Op::VLshrrevB32 => b.shifted(a, 32, right),
        Op::VLshrrevB64 => b.shifted(a, 64, right),
        Op::VAshrrevI16 => b.shifted(a, 16, arithmetic(16)),
        Op::VAshrrevI32 => b.shifted(a, 32, arithmetic(32)),
        Op::VAshrrevI64 => b.shifted(a, 64, arithmetic(64)),
        Op::SLshlB32 => a.shifted(b, 32, left),
        Op::SLshlB64 => a.shifted(b, 64, left),
        Op::SLshrB32 => a.shifted(b, 32, right),
        Op::SLshrB64 => a.shifted(b, 64, right),
        Op::SAshrI32 => a.shifted(b, 32, arithmetic(32)),
        Op::SAshrI64 => a.shifted(b, 64, arithmetic(64)),
        Op::VBfeU32 | Op::VBfeI32 if (b.unknown | c.unknown) & 31 == 0 => {
            field(op == Op::VBfeI32, (b.value & 31) as u32, (c.value & 31) as u32)
        }
        Op::SBfeU32 | Op::SBfeI32 if b.unknown == 0 => {
            field(op == Op::SBfeI32, (b.value & 31) as u32, (b.value >> 16 & 127).min(32) as u32)
        }
        Op::SBfeU64 | Op::SBfeI64 if b.unknown == 0 => {
            field(op == Op::SBfeI64, (b.value & 63) as u32, (b.value >> 16 & 127).min(64) as u32)
        }
        Op::SSextI32I8 => a.map(|bits| sign_extend(low(bits, 8), 8)),
        Op::SSextI32I16 => a.map(|bits| sign_extend(low(bits, 16), 16)),
        Op::SPackLlB32B16 => a.map(|bits| low(bits, 16)).or(b.map(|bits| bits << 16)),
        Op::SPackLhB32B16 => a.map(|bits| low(bits, 16)).or(b.map(|bits| bits & 0xffff_0000)),
        Op::SPackHhB32B16 => a.map(|bits| bits >> 16 & 0xffff).or(b.map(|bits| bits & 0xffff_0000)),
        // Sources are halves already.
        Op::VPackB32F16 => a.map(|bits| low(bits, 16)).or(b.map(|bits| low(bits, 16) << 16)),
        Op::VAlignbitB32 | Op::VAlignbyteB32 if c.unknown & 31 == 0 => {
            let amount = if op == Op::VAlignbitB32 { c.value & 31 } else { (c.value & 3) * 8 };
            let joined = |high: u64, low: u64| (high << 32 | low) >> amount;
            let (high, low) = (a.map(|bits| low(bits, 32)), b.map(|bits| low(bits, 32)));
            Bits { value: joined(high.value, low.value), unknown: joined(high.unknown, low.unknown) }
        }
        Op::VPermB32 if c.unknown == 0 => {
            let part = |high: u64, low: u64, fill: u64| {
                let bytes = (high << 32 | self::low(low, 32)).to_le_bytes();
                (0..4).fold(0, |all, i| {
                    let byte = match c.value >> (8 * i) & 0xff {
                        select @ 0..=7 => u64::from(bytes[select as usize]),
                        select @ 8..=11 => {
                            // The sign of a half.
                            if bytes[2 * (select as usize - 8) + 1] & 0x80 != 0 { 0xff } else { 0 }
                        }
                        12 => 0,
                        _ => fill,
                    };
                    all | byte << (8 * i)
                })
            };
            Bits { value: part(a.value, b.value, 0xff), unknown: part(a.unknown, b.unknown, 0) }
        }
        // Carries only propagate upwards.
        Op::VAddNcU16
        | Op::VAddNcI16
        | Op::VAddNcU32
        | Op::VAddNcI32
        | Op::VAddCoU32
        | Op::VAddCoCiU32
        | Op::VSubNcU16
        | Op::VSubNcI16
        | Op::VSubNcU32
        | Op::VSubNcI32
        | Op::VSubCoU32
        | Op::VSubCoCiU32
        | Op::VSubrevNcU16
        | Op::VSubrevNcU32
        | Op::VSubrevCoU32
        | Op::VSubrevCoCiU32
        | Op::VAdd3U32
        | Op::VMulLoU16
        | Op::VMulLoU32
        | Op::VMadU16
        | Op::VMadU64U32
        | Op::VMadI64I32
        | Op::SAddI32
        | Op::SAddU32
        | Op::SAddcU32
        | Op::SAddkI32
        | Op::SAddNcU64
        | Op::SSubI32
        | Op::SSubU32
        | Op::SSubbU32
        | Op::SSubNcU64
        | Op::SMulI32
        | Op::SMulkI32
        | Op::SMulU64 => upward(a.unknown | b.unknown | c.unknown),
        Op::VLshlAddU32 | Op::VLshlAddU64 if b.unknown == 0 => {
            upward(a.unknown << (b.value & 63) | c.unknown)
        }
        Op::VAddLshlU32 if c.unknown == 0 => upward(upward(a.unknown | b.unknown).unknown << (c.value & 31)),
        Op::SLshl1AddU32 => upward(a.unknown << 1 | b.unknown),
        Op::SLshl2AddU32 => upward(a.unknown << 2 | b.unknown),
        Op::SLshl3AddU32 => upward(a.unknown << 3 | b.unknown),
        Op::SLshl4AddU32 => upward(a.unknown << 4 | b.unknown),
        Op::VCndmaskB32 | Op::VCndmaskB16 if c.unknown & 1 == 0 => {
            if c.value & 1 != 0 {
                b
            } else {
                a
            }
        }
        _ => return None,
    })
}

/// The result of an operation; for a mask, bit 0 is the lane's bit.
pub(super) fn transfer(op: Op, s: [Bits; 4]) -> Bits {
    exact(op, s).unwrap_or_else(|| {
        if s.iter().any(|source| source.unknown != 0) { Bits::UNKNOWN } else { Bits::default() }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(value: u64, unknown: u64) -> Bits {
        Bits { value, unknown }
    }

    fn known(value: u64) -> Bits {
        bits(value, 0)
    }

    /// The unknown bits of a 32-bit result.
    fn unknown(op: Op, s: &[Bits]) -> u32 {
        let mut sources = [Bits::default(); 4];
        sources[..s.len()].copy_from_slice(s);
        transfer(op, sources).unknown as u32
    }

    #[test]
    fn known_bits_decide_where_they_can() {
        let x = bits(0x1234_0000, 0xffff);
        assert_eq!(unknown(Op::VMovB32, &[x]), 0xffff);
        assert_eq!(unknown(Op::VAndB32, &[x, known(0xff)]), 0xff);
        assert_eq!(unknown(Op::VAndB32, &[known(0xffff_0000), x]), 0);
        assert_eq!(unknown(Op::SOrB32, &[x, known(0xff)]), 0xff00);
        assert_eq!(unknown(Op::VXorB32, &[x, known(0xff)]), 0xffff);
        assert_eq!(unknown(Op::SAndNot1B32, &[x, known(0xff)]), 0xff00);
        assert_eq!(unknown(Op::VBfiB32, &[known(0xff), x, known(0)]), 0xff);
        assert_eq!(unknown(Op::VBfiB32, &[known(0xff), known(0), x]), 0xff00);
        assert_eq!(unknown(Op::VLshlrevB32, &[known(8), x]), 0xff_ff00);
        assert_eq!(unknown(Op::VLshrrevB32, &[known(16), x]), 0);
        assert_eq!(unknown(Op::VAshrrevI32, &[known(4), bits(0, 0x8000_0000)]), 0xf800_0000);
        assert_eq!(unknown(Op::VLshlrevB32, &[bits(0, 1), known(5)]), u32::MAX);
        assert_eq!(unknown(Op::VLshlrevB32, &[bits(0, 1), known(0)]), 0);
        assert_eq!(unknown(Op::VBfeU32, &[x, known(16), known(8)]), 0);
        assert_eq!(unknown(Op::VBfeU32, &[x, known(12), known(8)]), 0xf);
        assert_eq!(unknown(Op::VBfeI32, &[x, known(8), known(8)]), u32::MAX);
        assert_eq!(unknown(Op::SBfeU32, &[x, known(8 << 16 | 4)]), 0xff);
        assert_eq!(unknown(Op::VPermB32, &[x, known(0), known(0x0c0c_0607)]), 0);
        assert_eq!(unknown(Op::VPermB32, &[x, known(0), known(0x0d04_0c05)]), 0x00ff_00ff);
        assert_eq!(unknown(Op::VAlignbitB32, &[x, known(0), known(16)]), 0xffff_0000);
        assert_eq!(unknown(Op::VCndmaskB32, &[x, known(1), known(1)]), 0);
        assert_eq!(unknown(Op::VCndmaskB32, &[x, known(1), known(0)]), 0xffff);
        assert_eq!(unknown(Op::VCndmaskB32, &[known(0), known(1), bits(0, 1)]), u32::MAX);
        assert_eq!(unknown(Op::VAddNcU32, &[bits(0, 0xff00), known(0)]), 0xffff_ff00);
        assert_eq!(unknown(Op::VMulLoU32, &[known(3), bits(0, 1 << 31)]), 1 << 31);
        assert_eq!(unknown(Op::VMadU64U32, &[known(3), known(4), bits(0, !0 << 32)]), 0);
        assert_eq!(unknown(Op::VLshlAddU32, &[bits(0, 1), known(4), known(0)]), 0xffff_fff0);
        assert_eq!(unknown(Op::VAddF32, &[x, known(0)]), u32::MAX);
        assert_eq!(unknown(Op::VAddNcU32, &[known(7), known(0)]), 0);
    }

    /// Compares bitwise logic with all values that the unknown bits could have.
    #[test]
    fn logic_is_what_all_values_say() {
        type Logic = fn(u64, u64) -> u64;
        let table: [(Op, Logic); 8] = [
            (Op::SAndB64, |a, b| a & b),
            (Op::SOrB64, |a, b| a | b),
            (Op::SXorB64, |a, b| a ^ b),
            (Op::SXnorB64, |a, b| !(a ^ b)),
            (Op::SNandB64, |a, b| !(a & b)),
            (Op::SNorB64, |a, b| !(a | b)),
            (Op::SAndNot1B64, |a, b| a & !b),
            (Op::SOrNot1B64, |a, b| a | !b),
        ];
        for (op, logic) in table {
            for case in 0..81u64 {
                // Two bits of each source: 0, 1 or unknown.
                let digit = |i: u32| case / 3u64.pow(i) % 3;
                let source = |i| {
                    let (low, high) = (digit(i), digit(i + 1));
                    bits(low & 1 | (high & 1) << 1, u64::from(low == 2) | u64::from(high == 2) << 1)
                };
                let (a, b) = (source(0), source(2));
                let fill = |s: Bits, with: u64| s.value & !s.unknown | with & s.unknown;
                let mut varies = 0;
                for with in 0..16u64 {
                    varies |= logic(fill(a, with & 3), fill(b, with >> 2)) ^ logic(fill(a, 0), fill(b, 0));
                }
                let found = transfer(op, [a, b, Bits::default(), Bits::default()]);
                assert_eq!(found.unknown & 3, varies & 3, "{op:?} {a:?} {b:?}");
            }
        }
    }
}
