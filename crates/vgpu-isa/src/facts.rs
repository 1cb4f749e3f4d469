//! What a row of [`Op`](super::Op)'s table can say about an operation besides its name and its operands.

use gpu_report::AccessKind;

/// What an operation accesses in memory, in each lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Footprint {
    /// Nothing.
    None,
    /// That many consecutive bytes.
    One(AccessKind, u32),
    /// Two elements of that many bytes each; the offsets count in that many bytes.
    Two(AccessKind, u32, u32),
    /// A dword for each lane, one after the other, at an address that all lanes share.
    ByLane(AccessKind),
    /// One dword of LDS for all lanes (`ds_append`, `ds_consume`).
    Counter,
    /// An element of LDS. M0 has its address and its type.
    Direct,
    /// An element of a typed buffer, with that many channels.
    Typed(AccessKind, u8),
    /// Those of 32 dwords whose bits are set in M0.
    Block(AccessKind),
    /// A part of a matrix that the load transposes. Its elements have that many bits.
    Tile(u8),
    /// What the virtual GPU does not execute.
    Unknown,
}

/// Yes-or-no facts about an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fact(pub(crate) u64);

/// Declares the facts, a bit each.
macro_rules! facts {
    ($($(#[doc = $doc:literal])+ $name:ident)*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms, reason = "only counts the facts")]
        enum Number { $($name),* }

        impl Fact {
            $($(#[doc = $doc])+ pub const $name: Fact = Fact(1 << Number::$name as u32);)*
        }
    };
}

facts! {
    /// `src[0]` is a branch offset.
    BRANCH
    /// Branches to an address in registers.
    JUMP
    /// Depends on the scalar condition code.
    READS_SCC
    /// Sets the scalar condition code.
    WRITES_SCC
    /// Depends on VCC, without naming it.
    READS_VCC
    /// A scalar operation that depends on EXEC, without naming it.
    READS_EXEC
    /// Writes EXEC, without naming it.
    WRITES_EXEC
    /// Combines its source with EXEC in EXEC (`s_and_saveexec_b64`, `s_andn1_wrexec_b64`), as wide as its
    /// operands are.
    MASKS_EXEC
    /// EXEC's old value is lost: the result is the new one (`s_andn1_wrexec_b64`).
    RETURNS_EXEC
    /// Depends on M0, without naming it.
    READS_M0
    /// Writes M0, without naming it.
    WRITES_M0
    /// Accesses more or other registers, which M0 or MODE select.
    RELATIVE
    /// Reads the destination: it keeps its value if a condition is false, or keeps a part of it.
    READS_RESULT
    /// Writes its first source, too.
    EXCHANGES
    /// The destination is also an addend that the encoding does not name: `v_fmac`, `v_mac`, `v_dot2acc`….
    ACCUMULATES
    /// `v_cmp` and `v_cmpx`.
    COMPARE
    /// A vector operation on one scalar: `v_s_rcp_f32`….
    PSEUDO_SCALAR
    /// A vector instruction with a scalar destination that is not a lane mask: `v_readlane`,
    /// `v_readfirstlane`, `v_s_rcp_f32`….
    SCALAR_RESULT
    /// Moves values between lanes.
    PERMUTES
    /// A dot product of bytes or nibbles.
    BYTES
    /// A dot product of floats of eight bits.
    FLOAT8
    /// A matrix instruction of gfx9, whose operands may be accumulation registers.
    MFMA
    /// A matrix instruction whose `cbsz` and `blgp` are the formats of the first two matrices. The formats
    /// decide how many registers these take.
    FORMATS
    /// Applies a truth table to each bit of its sources. The table takes the place of modifiers.
    TRUTH_TABLE
    /// A matrix instruction of gfx11 and gfx12.
    WMMA
    /// A matrix instruction whose first matrix is sparse.
    SPARSE
    /// A matrix instruction in gfx11's layout: A and B take as many registers in a wave of 64 as in a wave of
    /// 32.
    GFX11_LAYOUT
    /// Finds its address through a buffer descriptor.
    BUFFER
    /// A scalar access to scratch memory. Its offset counts within each lane's memory.
    SCRATCH
    /// Loads to LDS, whatever its modifiers.
    TO_LDS
    /// Moves 16 bits to or from a half of a register; the other half stays.
    D16
    /// That half is the upper one.
    HIGH
    /// Sign-extends what it loads.
    SIGNED
    /// An atomic operation that stores its data unchanged: exchange, compare and exchange.
    SWAPS
    /// Global wave sync.
    GWS
    /// The stack of a walk through a tree of bounding volumes.
    BVH_STACK
    /// A scalar prefetch.
    PREFETCH
}
