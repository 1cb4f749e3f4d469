//! AMD GPU machine code: decodes every generation into [`Inst`]s over one set of [`Op`]s, and prints them as
//! LLVM does.
//!
//! It also has the list of [targets](TARGETS) that ferrocm's virtual GPU can be. This crate is a part of
//! [`vgpu`](https://docs.rs/ferrocm-vgpu), where it is the module `isa`; its API changes with that crate.
//!
//! | file | holds |
//! |---|---|
//! | `op` | [`Op`]: the operations of all generations, each with its operand types |
//! | `inst` | [`Inst`]: a decoded instruction |
//! | `listing` | all instructions of a code object |
//! | `target` | [`Target`]: the processors whose instructions are decoded |
//! | `tables` | per generation: opcode → operation and printed mnemonic |
//! | `decode` | bits → [`Inst`], one file per encoding family |
//! | `facts` | [`Fact`] and [`Footprint`]: what the table says of an operation |
//! | `class` | questions about operations |
//! | `wait` | the counters of requests to memory, and waits for them |
//! | `registers` | the registers that an instruction reads and writes |
//! | `format` | formats of typed buffers |
//! | `image` | the fields of image instructions |
//! | `print` | [`Inst`] → the text that LLVM prints |
#![warn(missing_docs)]

mod class;
mod decode;
mod facts;
mod format;
mod image;
mod inst;
mod listing;
mod op;
mod print;
mod registers;
mod tables;
mod target;
mod types;
mod wait;

use code_object::Processor;

pub use decode::{DecodeError, DecodeErrorKind, decode, decode_wave64};
pub use facts::{Fact, Footprint};
pub use format::{BufferFormat, NumberFormat};
pub use gpu_report::{AccessKind, Class};
pub use image::{
    Clamp, ImageCoordinates, ImageError, ImageKind, ImageOp, ImageResource, ImageSampler, ImageShape,
};
pub use inst::{Dpp, Format, Graphics, Inst, Memory, Modifiers, Operand, Sdwa, Special, scalar};
pub use listing::{Listed, ListingError, listing};
pub use op::Op;
pub use print::Text;
pub use registers::{Register, Registers, Span};
pub use target::{Generation, TARGETS, Target};
pub use types::{Elem, Signature, Type};
pub use wait::{Counter, waits};

// NEW-TARGET: a variant, for a processor whose instructions no other one has.
/// An instruction set: what each opcode means. Processors may share one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Isa {
    /// CDNA 2.
    Gfx90a,
    /// CDNA 3.
    Gfx942,
    /// CDNA 4.
    Gfx950,
    /// RDNA 2.
    Gfx1030,
    /// RDNA 3.
    Gfx1100,
    /// RDNA 3.5.
    Gfx1151,
    /// RDNA 4.
    Gfx1201,
}

impl Isa {
    /// Every instruction set that can be decoded.
    pub const ALL: &[Isa] =
        &[Isa::Gfx90a, Isa::Gfx942, Isa::Gfx950, Isa::Gfx1030, Isa::Gfx1100, Isa::Gfx1151, Isa::Gfx1201];

    /// The processor that it is named after, `gfx1100`.
    pub const fn name(self) -> &'static str {
        match self {
            Isa::Gfx90a => "gfx90a",
            Isa::Gfx942 => "gfx942",
            Isa::Gfx950 => "gfx950",
            Isa::Gfx1030 => "gfx1030",
            Isa::Gfx1100 => "gfx1100",
            Isa::Gfx1151 => "gfx1151",
            Isa::Gfx1201 => "gfx1201",
        }
    }

    /// The layout of its encodings.
    pub const fn generation(self) -> Generation {
        match self {
            Isa::Gfx90a => Generation::Gfx9,
            Isa::Gfx942 | Isa::Gfx950 => Generation::Gfx940,
            Isa::Gfx1030 => Generation::Gfx10,
            Isa::Gfx1100 | Isa::Gfx1151 => Generation::Gfx11,
            Isa::Gfx1201 => Generation::Gfx12,
        }
    }

    /// The instruction set of a processor (`gfx1100`; no feature suffixes).
    pub fn by_name(name: &str) -> Option<Isa> {
        Self::of(Processor::by_name(name)?)
    }

    /// The instruction set that a processor's row names.
    fn of(processor: &Processor) -> Option<Isa> {
        let name = processor.instructions?;
        Self::ALL.iter().copied().find(|isa| isa.name() == name)
    }

    /// gfx9: instruction encodings of GCN, waves of 64 only.
    pub const fn is_gfx9(self) -> bool {
        self.generation().is_cdna()
    }
}
