//! Images, exports and interpolation. All are decoded and printed; a compute device only has images.

use super::{DecodeErrorKind, Decoder, Result, bits, unused};
use crate::image::{Image, ImageOp};
use crate::{Elem, Format, Generation, Graphics, Inst, Op, Special, Type};

impl Decoder<'_> {
    /// MIMG, and VIMAGE of gfx12.
    pub(super) fn image(&mut self, word: u32) -> Result<Inst> {
        let second = self.word()?;
        let (opcode, more) = match self.generation {
            Generation::Gfx9 | Generation::Gfx940 => (bits(word, 18, 7), 0),
            Generation::Gfx10 => (bits(word, 18, 7) | bits(word, 0, 1) << 7, bits(word, 1, 2)),
            Generation::Gfx11 => (bits(word, 18, 8), bits(word, 0, 1)),
            Generation::Gfx12 => (bits(word, 14, 8), 1),
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
        let mut graphics = Graphics { opcode: opcode as u16, words, image: None };
        match format {
            Format::Mimg => {
                self.check_image(row.name, &graphics)?;
                graphics.image = ImageOp::new(self.generation, row.name, &graphics);
            }
            Format::Interp if words[1] != 0 || opcode > 3 || self.generation >= Generation::Gfx11 => {
                self.check_interpolation(row.name, words)?;
            }
            _ => {}
        }
        inst.graphics = Some(graphics);
        Ok(inst)
    }

    fn check_image(&self, name: &str, graphics: &Graphics) -> Result<()> {
        let image = Image::new(self.generation, name, graphics).ok_or(DecodeErrorKind::ReservedBits)?;
        let check = |code: u32, dwords: u8| match code {
            0..=127 => self.scalar(code, Type::new(Elem::B32, dwords)).map(|_| ()),
            _ => Err(DecodeErrorKind::BadOperand { code: code as u16 }),
        };
        check(image.resource, if image.ray { 4 } else { 8 })?;
        if image.samples { check(image.sampler, 4) } else { Ok(()) }
    }

    /// The encodings of interpolation with modifiers: VINTERP, and VOP3 up to gfx10.
    fn check_interpolation(&self, name: &str, [word, second, ..]: [u32; 5]) -> Result<()> {
        let modern = self.generation >= Generation::Gfx11;
        let half = name.ends_with("_f16");
        let two = half && !name.contains("_p1ll");
        let sources: &[u32] = match () {
            () if modern => &[0, 1, 2],
            () if name.starts_with("v_interp_mov") => &[],
            () if two => &[1, 2],
            () => &[1],
        };
        for &index in sources {
            let code = bits(second, 9 * index, 9);
            let null = code == if modern { 124 } else { 125 };
            let special = Special::of_code(code).is_some_and(|special| special != Special::LdsDirect);
            // The field can only name halves of vector registers.
            let only_vector = self.generation == Generation::Gfx11 && has_half(name, index);
            if code < 256 && !null && !special && !only_vector {
                return Err(DecodeErrorKind::BadOperand { code: code as u16 });
            }
        }
        if modern {
            return Ok(());
        }
        let mask = sources.iter().fold(0, |mask, index| mask | 1 << index);
        unused((bits(word, 8, 3) | bits(second, 29, 3)) & !mask, 0, 3)?;
        unused(second, 8, u32::from(!half))?;
        unused(second, 27, if name.starts_with("v_interp_p2_f16") { 2 } else { 0 })
    }
}

/// Whether a source of VINTERP has 16 bits.
pub(crate) fn has_half(name: &str, index: u32) -> bool {
    name.contains("f16") && (index == 0 || index == 2 && name.contains("_p10_"))
}

/// Added to the opcodes of VSAMPLE.
const SAMPLE: u32 = 0x100;
