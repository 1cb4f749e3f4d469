//! Classes of instructions.

/// Which part of a compute unit executes an instruction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Class {
    /// Scalar arithmetic, moves and comparisons.
    Salu,
    /// Vector arithmetic, moves and comparisons.
    Valu,
    /// Vector reciprocals, roots, exponentials, logarithms, sines and cosines.
    Transcendental,
    /// MFMA, SMFMAC, WMMA, SWMMAC.
    Matrix,
    /// Scalar memory instructions.
    Smem,
    /// Loads from global memory: GLOBAL, MUBUF and MTBUF.
    VmemLoad,
    /// Stores to global memory.
    VmemStore,
    /// Read-modify-writes of global memory.
    VmemAtomic,
    /// FLAT instructions, whose addresses say which memory they access.
    Flat,
    /// SCRATCH instructions.
    Scratch,
    /// DS instructions, exchange between lanes included.
    Lds,
    /// Branches, calls, the end of a wave.
    Branch,
    /// Barriers.
    Barrier,
    /// Messages to the host.
    Message,
    /// Waits, hints and cache control.
    Hint,
    /// Images; exports and interpolation, which no compute device executes.
    Graphics,
}

impl Class {
    /// Every class, in order.
    pub const ALL: &[Class] = &[
        Class::Salu,
        Class::Valu,
        Class::Transcendental,
        Class::Matrix,
        Class::Smem,
        Class::VmemLoad,
        Class::VmemStore,
        Class::VmemAtomic,
        Class::Flat,
        Class::Scratch,
        Class::Lds,
        Class::Branch,
        Class::Barrier,
        Class::Message,
        Class::Hint,
        Class::Graphics,
    ];

    /// A short name, as in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Class::Salu => "salu",
            Class::Valu => "valu",
            Class::Transcendental => "transcendental",
            Class::Matrix => "matrix",
            Class::Smem => "smem",
            Class::VmemLoad => "vmem_load",
            Class::VmemStore => "vmem_store",
            Class::VmemAtomic => "vmem_atomic",
            Class::Flat => "flat",
            Class::Scratch => "scratch",
            Class::Lds => "lds",
            Class::Branch => "branch",
            Class::Barrier => "barrier",
            Class::Message => "message",
            Class::Hint => "hint",
            Class::Graphics => "graphics",
        }
    }
}
