//! Fields of encodings: where they are and what they hold.

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
    /// A field of which only smaller values have a meaning; llvm-mc crashes on others, or prints what happens
    /// to be in its memory.
    Below(u32),
    /// Bits without a meaning.
    Reserved,
}

/// Bits of an encoding, counted from the first bit of the first word.
#[derive(Clone, Copy)]
pub(crate) struct Field {
    pub(crate) low: u32,
    pub(crate) width: u32,
    pub(crate) kind: Kind,
    /// What it holds while others are swept.
    pub(crate) typical: u32,
}

pub(crate) const fn field(low: u32, width: u32, kind: Kind, typical: u32) -> Field {
    Field { low, width, kind, typical }
}

pub(crate) const fn source(low: u32, typical: u32) -> Field {
    field(low, 9, Kind::Source, typical)
}

pub(crate) const fn vector(low: u32, typical: u32) -> Field {
    field(low, 8, Kind::Vector, typical)
}

pub(crate) const fn scalar(low: u32, typical: u32) -> Field {
    field(low, 7, Kind::Scalar, typical)
}

pub(crate) const fn flag(low: u32) -> Field {
    field(low, 1, Kind::Bits, 0)
}

pub(crate) const fn bits(low: u32, width: u32) -> Field {
    field(low, width, Kind::Bits, 0)
}

pub(crate) const fn wide(low: u32, width: u32) -> Field {
    field(low, width, Kind::Wide, 0)
}

pub(crate) const fn reserved(low: u32, width: u32) -> Field {
    field(low, width, Kind::Reserved, 0)
}

/// The word of DPP16 that follows an instruction of `at` bits.
pub(crate) fn dpp16(at: u32, modifiers: bool) -> Vec<Field> {
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

pub(crate) fn dpp8(at: u32) -> Vec<Field> {
    vec![vector(at, 10), field(at + 8, 24, Kind::Wide, 0x00fa_c688)]
}

pub(crate) fn sdwa(compare: bool) -> Vec<Field> {
    let mut fields = vec![
        vector(32, 10),
        field(48, 3, Kind::Below(7), 6),
        flag(51),
        flag(52),
        flag(53),
        reserved(54, 1),
        flag(55),
        field(56, 3, Kind::Below(7), 6),
        flag(59),
        flag(60),
        flag(61),
        reserved(62, 1),
        flag(63),
    ];
    if compare {
        fields.extend([scalar(40, 0), flag(47)]);
    } else {
        fields.extend([
            field(40, 3, Kind::Below(7), 6),
            field(43, 2, Kind::Below(3), 0),
            flag(45),
            bits(46, 2),
        ]);
    }
    fields
}

pub(crate) fn joined(first: &[Field], second: Vec<Field>) -> Vec<Field> {
    first.iter().copied().chain(second).collect()
}
