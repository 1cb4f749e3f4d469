//! Images, exports and interpolation: recognised, measured and printed, but not supported by a compute device.

use super::{DecodeErrorKind, Decoder, Result, bits};
use crate::isa::{Format, Graphics, Inst, Isa, Op};

impl Decoder<'_> {
    /// MIMG, and VIMAGE of gfx12.
    pub(super) fn image(&mut self, word: u32) -> Result<Inst> {
        let second = self.word()?;
        let (opcode, more) = match self.isa {
            Isa::Gfx90a | Isa::Gfx942 => (bits(word, 18, 7), 0),
            Isa::Gfx1030 => (bits(word, 18, 7) | bits(word, 0, 1) << 7, bits(word, 1, 2)),
            Isa::Gfx1100 => (bits(word, 18, 8), bits(word, 0, 1)),
            Isa::Gfx1201 => (bits(word, 14, 8), 1),
        };
        let mut words = [word, second, 0, 0, 0];
        for index in 0..more as usize {
            words[2 + index] = self.word()?;
        }
        self.graphics(Format::Mimg, opcode, words)
    }

    /// VSAMPLE of gfx12. Its opcodes do not overlap with those of VIMAGE.
    pub(super) fn sample(&mut self, word: u32) -> Result<Inst> {
        let words = [word, self.word()?, self.word()?, 0, 0];
        self.graphics(Format::Mimg, SAMPLE | bits(word, 14, 8), words)
    }

    pub(super) fn export(&mut self, word: u32) -> Result<Inst> {
        let second = self.word()?;
        self.graphics(Format::Export, 0, [word, second, 0, 0, 0])
    }

    /// VINTRP up to gfx10.
    pub(super) fn interpolate(&mut self, word: u32) -> Result<Inst> {
        self.graphics(Format::Interp, bits(word, 16, 2), [word, 0, 0, 0, 0])
    }

    /// VINTERP from gfx11 on, and the VOP3 form up to gfx10.
    pub(super) fn interpolate_long(&mut self, word: u32, opcode: u32) -> Result<Inst> {
        let second = self.word()?;
        self.graphics(Format::Interp, opcode, [word, second, 0, 0, 0])
    }

    fn graphics(&self, format: Format, opcode: u32, words: [u32; 5]) -> Result<Inst> {
        let row = self.row(format, opcode)?;
        if !matches!(row.op, Op::Image | Op::Export | Op::Interpolate) {
            return Err(DecodeErrorKind::UnknownEncoding);
        }
        let mut inst = self.start(format, row.op);
        inst.graphics = Some(Graphics { opcode: opcode as u16, words });
        Ok(inst)
    }
}

/// Added to the opcodes of VSAMPLE.
const SAMPLE: u32 = 0x100;
