//! What a compiler of native code is told about lowered code, and what it makes of it.

use vgpu_isa::{Modifiers, Op};

/// A source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// A vector register; from 256 on, ACC registers.
    Vector(u16),
    /// A scalar register.
    Scalar(u8),
    /// A constant.
    Constant(u64),
    /// Something that only handlers read.
    Other,
}

/// What a step does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A vector or scalar operation with all operands in [`Step`].
    Operation(Op),
    /// A jump to another step.
    Jump(Condition, u32),
    /// Marks in the wave that it did something to LDS.
    Note(u8),
    /// The wave lets the others of its workgroup catch up, if it did any of this to LDS.
    Stop(u8),
    /// Only its handler executes it.
    Handler,
    /// Only its handler executes it, and the reference engine continues after it: it may change MODE.
    Leaves,
}

/// When a jump is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names are those of the instructions")]
pub enum Condition {
    Always,
    Scc0,
    Scc1,
    VccZero,
    VccNonzero,
    ExecZero,
    ExecNonzero,
}

/// A lowered instruction, or a part of one.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// What it does.
    pub kind: Kind,
    /// Sources.
    pub src: [Source; 4],
    /// The destination: a vector register, if the operation writes one.
    pub dst: Option<u16>,
    /// The destination of scalar operations, and of lane masks of comparisons.
    pub scalar: u8,
    /// The second destination.
    pub second: u8,
    /// Modifiers.
    pub mods: Modifiers,
    /// Whether a comparison returns the opposite.
    pub inverted: bool,
    /// The offset of a memory operation, in bytes.
    pub offset: i32,
    /// The offsets of a memory operation with two accesses.
    pub offsets: [u32; 2],
    /// Whether its handler changes neither EXEC nor MODE, and the wave always continues after it.
    pub quiet: bool,
    /// The first vector register that it may write, and the one after the last.
    pub written: [u16; 2],
    /// What the handler gets, besides the wave.
    pub code: *const u8,
}

/// Where the wave has what native code accesses: offsets in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Scalar registers.
    pub scalars: i32,
    /// The pointer to the vector registers.
    pub file: i32,
    /// The scalar condition code, a byte.
    pub scc: i32,
    /// The number of backward jumps that are left in the time slice, a dword.
    pub budget: i32,
    /// What it has done to LDS, a byte.
    pub since: i32,
    /// The bit of `since` that a wave must have to stop, and which is left when it stops.
    pub together: u8,
    /// What native code returns when the wave stops.
    pub settle: u8,
    /// Whether it stored to memory, a byte.
    pub stored: i32,
    /// The pointer to LDS.
    pub lds: i32,
    /// The size of LDS in bytes, a dword.
    pub lds_size: i32,
    /// The ranges of memory that the wave may access.
    pub ranges: Ranges,
    /// Calls the handler of a step; returns 0 to continue.
    pub call: extern "C" fn(wave: *mut u8, code: *const u8) -> u8,
}

/// Ranges of memory in the wave.
#[derive(Clone, Copy, Debug)]
pub struct Ranges {
    /// The first range.
    pub first: i32,
    /// The size of a range.
    pub size: i32,
    /// How many there are.
    pub count: i32,
    /// In a range: its start, a qword.
    pub start: i32,
    /// In a range: its end, a qword.
    pub end: i32,
    /// In a range: whether it may be written, a byte.
    pub writable: i32,
}

/// What to compile.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The steps of a unit.
    pub steps: &'a [Step],
    /// Steps at which waves may enter, besides targets of jumps.
    pub entries: &'a [u32],
    /// Lanes of the wave, 32 or 64.
    pub lanes: usize,
    /// MODE.
    pub mode: u32,
    /// Whether loads into halves of registers clear the others, because a code protects registers.
    pub register_ecc: bool,
    /// The wave.
    pub layout: Layout,
}

/// How native code was left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Exit {
    /// The step at which it was left.
    pub at: u32,
    /// Why.
    pub why: Why,
}

/// Why native code was left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// The handler of the step returned this.
    Handler(u8),
    /// The reference engine is to execute the step.
    Resume,
    /// The time slice ended at a jump to the step.
    Slice,
}

/// Makes native code of units.
pub trait Compile: std::fmt::Debug + Send + Sync {
    /// Compiles a unit; none if that is not possible, so that the reference engine runs it.
    fn compile(&self, input: &Input<'_>) -> Option<Box<dyn Native>>;
}

/// Native code of a unit.
///
/// # Safety
/// It does to waves what the handlers of the unit's steps do.
pub unsafe trait Native: std::fmt::Debug + Send + Sync {
    /// Whether waves with this MODE can enter it at a step.
    fn enters(&self, step: usize, mode: u32) -> bool;

    /// Bytes of code.
    fn size(&self) -> usize;

    /// Runs a wave from a step on.
    ///
    /// # Safety
    /// The wave is as the [`Layout`] says, has the registers that the steps use, and nothing else accesses
    /// it. The codes of the steps still exist. [`Native::enters`] allows it.
    unsafe fn run(&self, wave: *mut u8, step: usize) -> Exit;
}
