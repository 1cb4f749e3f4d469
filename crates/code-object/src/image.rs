use std::ops::Range;

/// A part of the file that a loader maps (`PT_LOAD`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Address relative to the load base.
    pub vaddr: u64,
    /// Bytes in memory; those beyond the file range are zero.
    pub mem_size: u64,
    /// The bytes in the file, always within it and never more than `mem_size`.
    pub file_range: Range<usize>,
    /// Required alignment, a power of two.
    pub align: u64,
    /// Holds machine code.
    pub executable: bool,
    /// May be written by kernels.
    pub writable: bool,
}

impl Segment {
    /// First address after the segment. Cannot overflow in a parsed code object.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.vaddr.saturating_add(self.mem_size)
    }

    /// Whether `len` bytes at `vaddr` lie within the segment's memory.
    #[must_use]
    pub fn contains(&self, vaddr: u64, len: u64) -> bool {
        vaddr >= self.vaddr && vaddr.checked_add(len).is_some_and(|end| end <= self.end())
    }

    /// Where in the file the `len` bytes at `vaddr` are, if all of them come from the file.
    #[must_use]
    pub fn file_range_of(&self, vaddr: u64, len: u64) -> Option<Range<usize>> {
        let skip = usize::try_from(vaddr.checked_sub(self.vaddr)?).ok()?;
        let start = self.file_range.start.checked_add(skip)?;
        let end = start.checked_add(usize::try_from(len).ok()?)?;
        (end <= self.file_range.end).then_some(start..end)
    }
}

/// An entry of the dynamic symbol table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Name as in the file (mangled for C++).
    pub name: String,
    /// Address relative to the load base, unless `absolute`.
    pub value: u64,
    /// Size in bytes, 0 if unknown.
    pub size: u64,
    /// What the symbol stands for.
    pub kind: SymbolKind,
    /// How the linker resolves the name.
    pub binding: Binding,
    /// The symbol is defined elsewhere and must be supplied to the loader.
    pub undefined: bool,
    /// `value` is a plain number that does not move with the load base.
    pub absolute: bool,
}

/// What a [`Symbol`] stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SymbolKind {
    /// A kernel descriptor (`name.kd`).
    KernelDescriptor,
    /// Machine code.
    Function,
    /// A variable.
    Object,
    /// Anything else.
    Other,
}

/// Linkage of a [`Symbol`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binding {
    /// Visible in its file only.
    Local,
    /// Visible everywhere.
    Global,
    /// As global, but another definition wins, and a missing one is 0.
    Weak,
}

/// A value that the loader writes when it knows the load base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relocation {
    /// Where to write, relative to the load base; all its bytes lie within a segment.
    pub offset: u64,
    /// What to write.
    pub kind: RelocationKind,
    /// Position in [`CodeObject::symbols`](crate::CodeObject::symbols), if a symbol takes part.
    pub symbol: Option<usize>,
    /// The addend, `A`.
    pub addend: i64,
}

/// How a [`Relocation`]'s value is computed: `S` symbol, `A` addend, `P` place, `B` load base.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RelocationKind {
    /// `R_AMDGPU_NONE`: nothing.
    None,
    /// `R_AMDGPU_ABS32_LO`: low half of `S + A`.
    Abs32Lo,
    /// `R_AMDGPU_ABS32_HI`: high half of `S + A`.
    Abs32Hi,
    /// `R_AMDGPU_ABS64`: `S + A`, 64 bits.
    Abs64,
    /// `R_AMDGPU_REL32`: `S + A - P`, 32 bits.
    Rel32,
    /// `R_AMDGPU_REL64`: `S + A - P`, 64 bits.
    Rel64,
    /// `R_AMDGPU_ABS32`: `S + A`, 32 bits.
    Abs32,
    /// `R_AMDGPU_REL32_LO`: low half of `S + A - P`.
    Rel32Lo,
    /// `R_AMDGPU_REL32_HI`: high half of `S + A - P`.
    Rel32Hi,
    /// `R_AMDGPU_RELATIVE64`: `B + A`, 64 bits.
    Relative64,
    /// Another type, by its number; a loader should refuse it.
    Other(u32),
}

impl RelocationKind {
    pub(crate) fn from_raw(raw: u32) -> Self {
        match raw {
            0 => Self::None,
            1 => Self::Abs32Lo,
            2 => Self::Abs32Hi,
            3 => Self::Abs64,
            4 => Self::Rel32,
            5 => Self::Rel64,
            6 => Self::Abs32,
            10 => Self::Rel32Lo,
            11 => Self::Rel32Hi,
            13 => Self::Relative64,
            other => Self::Other(other),
        }
    }

    /// Bytes that the relocation writes; 0 for [`None`](Self::None) and [`Other`](Self::Other).
    #[must_use]
    pub fn width(self) -> u64 {
        match self {
            Self::Abs64 | Self::Rel64 | Self::Relative64 => 8,
            Self::None | Self::Other(_) => 0,
            _ => 4,
        }
    }
}
