//! Operand types: what an operand holds, and how many registers it takes.

/// What one element of an operand is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names are the vendor's names of the types")]
#[repr(u8)]
pub enum Elem {
    /// The operand does not exist.
    None,
    /// One bit per lane: one scalar register in a wave of 32, two in a wave of 64.
    Mask,
    B16,
    I16,
    U16,
    F16,
    Bf16,
    B32,
    I32,
    U32,
    F32,
    B64,
    I64,
    U64,
    F64,
    B128,
}

impl Elem {
    /// Bits of one element; a mask counts 64.
    pub const fn bits(self) -> u32 {
        match self {
            Elem::None => 0,
            Elem::B16 | Elem::I16 | Elem::U16 | Elem::F16 | Elem::Bf16 => 16,
            Elem::B32 | Elem::I32 | Elem::U32 | Elem::F32 => 32,
            Elem::Mask | Elem::B64 | Elem::I64 | Elem::U64 | Elem::F64 => 64,
            Elem::B128 => 128,
        }
    }
}

/// The type of an operand: elements of a kind, packed into consecutive registers. Two 16-bit elements share a
/// register; a single 16-bit element is the lower or upper half of one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Type {
    /// What an element is.
    pub elem: Elem,
    /// How many there are.
    pub count: u8,
}

impl Type {
    /// No operand.
    pub const NONE: Type = Type::new(Elem::None, 0);

    pub(super) const fn new(elem: Elem, count: u8) -> Type {
        Type { elem, count }
    }

    /// Whether the operation has this operand.
    pub const fn exists(self) -> bool {
        !matches!(self.elem, Elem::None)
    }

    /// Total width in bits; a mask counts 64.
    pub const fn bits(self) -> u32 {
        self.elem.bits() * self.count as u32
    }

    /// How many consecutive registers it takes; a mask counts two (in a wave of 32 lanes only the first is
    /// used).
    pub const fn dwords(self) -> u32 {
        self.bits().div_ceil(32)
    }

    /// Whether it is half a register.
    pub const fn is_half(self) -> bool {
        self.bits() == 16
    }
}

/// The operand types of an operation, in the order that [`Inst`](super::Inst) documents, implicit operands
/// included.
///
/// If the encoding decides a width, the signature has the widest: `src[0]` of `flat`, `global` is 64 bits,
/// but 32 when `src[2]` (the scalar base) is present; `src[0]` of `buffer` is 64 bits when both `idxen` and
/// `offen` are set. Matrix operands (`v_wmma`, `v_swmmac`) are those of a wave of 32; in a wave of 64 the
/// accumulators take half as many registers (gfx12: the other operands too).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Signature {
    /// The first result.
    pub dst: Type,
    /// The second, scalar result.
    pub sdst: Type,
    /// The sources.
    pub src: [Type; 4],
}

impl Signature {
    /// Whether there are any operands.
    pub fn has_operands(&self) -> bool {
        [self.dst, self.sdst].iter().chain(&self.src).any(|operand| operand.exists())
    }

    pub(super) const fn new(dst: &[Type], src: &[Type]) -> Signature {
        const fn at(types: &[Type], index: usize) -> Type {
            if index < types.len() && types[index].exists() { types[index] } else { Type::NONE }
        }
        Signature { dst: at(dst, 0), sdst: at(dst, 1), src: [at(src, 0), at(src, 1), at(src, 2), at(src, 3)] }
    }
}
