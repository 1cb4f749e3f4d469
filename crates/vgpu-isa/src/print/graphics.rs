//! Images, exports and interpolation.

use std::fmt;

use super::immediate::Access;
use super::{Printer, registers, special_name};
use crate::image::{Image, is_sample};
use crate::{Format, Generation, Graphics, Special, scalar};

const DIMENSIONS: [&str; 8] = ["1D", "2D", "3D", "CUBE", "1D_ARRAY", "2D_ARRAY", "2D_MSAA", "2D_MSAA_ARRAY"];
const CHANNELS: [&str; 4] = ["x", "y", "z", "w"];

impl Printer<'_, '_> {
    pub(super) fn graphics(&mut self) -> fmt::Result {
        let Some(graphics) = self.inst.graphics else {
            return Ok(());
        };
        self.f.write_str(self.row.name)?;
        match self.inst.format {
            Format::Mimg => self.image(&graphics),
            Format::Export => self.export(&graphics),
            _ if self.generation >= Generation::Gfx11 => self.parameters(&graphics),
            _ => self.attribute(&graphics),
        }
    }

    fn image(&mut self, graphics: &Graphics) -> fmt::Result {
        let Some(image) = Image::new(self.generation, self.row.name, graphics) else {
            return Ok(());
        };
        self.separate()?;
        registers(self.f, if image.accumulators { "a" } else { "v" }, image.data.0, image.data.1)?;
        self.separate()?;
        self.f.write_str(if image.list { "[" } else { "" })?;
        for (index, &(first, count)) in image.addresses.iter().enumerate() {
            self.f.write_str(if index == 0 { "" } else { ", " })?;
            registers(self.f, "v", first, count)?;
        }
        self.f.write_str(if image.list { "]" } else { "" })?;
        self.separate()?;
        self.resource(image.resource, if image.ray { 4 } else { 8 })?;
        if image.ray {
            return self.flag(image.a16, " a16");
        }
        if image.samples {
            self.separate()?;
            self.resource(image.sampler, 4)?;
        }
        if image.mask != 0 {
            write!(self.f, " dmask:{:#x}", image.mask)?;
        }
        if let Some(dim) = image.dim {
            write!(self.f, " dim:SQ_RSRC_IMG_{}", DIMENSIONS[dim])?;
        }
        self.image_flags(graphics.words)
    }

    /// Scalar registers, by the code of the first one.
    fn resource(&mut self, code: u32, dwords: u32) -> fmt::Result {
        let null = if self.generation >= Generation::Gfx11 { 124 } else { 125 };
        let slot = if code == null { scalar::NULL } else { code as u8 & 0x7c };
        self.scalar_register(slot, dwords)
    }

    fn image_flags(&mut self, words: [u32; 5]) -> fmt::Result {
        let bit = |word: usize, index: u32| words[word] >> index & 1 != 0;
        let flags: &[(usize, u32, &str)] = match self.generation {
            Generation::Gfx9 | Generation::Gfx940 => &[
                (0, 12, " unorm"),
                (0, 13, " glc"),
                (0, 25, " slc"),
                (0, 7, " scc"),
                (0, 15, " a16"),
                (0, 17, " lwe"),
                (0, 14, " da"),
                (1, 31, " d16"),
            ],
            Generation::Gfx10 => &[
                (0, 12, " unorm"),
                (0, 13, " glc"),
                (0, 25, " slc"),
                (0, 7, " dlc"),
                (0, 15, " r128"),
                (1, 30, " a16"),
                (0, 16, " tfe"),
                (0, 17, " lwe"),
                (1, 31, " d16"),
            ],
            Generation::Gfx11 => &[
                (0, 7, " unorm"),
                (0, 14, " glc"),
                (0, 12, " slc"),
                (0, 13, " dlc"),
                (0, 15, " r128"),
                (0, 16, " a16"),
                (1, 21, " tfe"),
                (1, 22, " lwe"),
                (0, 17, " d16"),
            ],
            Generation::Gfx12 if is_sample(words[0]) => &[(0, 13, " unorm")],
            Generation::Gfx12 => &[],
        };
        for &(word, index, text) in flags {
            self.flag(bit(word, index), text)?;
        }
        if self.generation == Generation::Gfx12 {
            let sample = is_sample(words[0]);
            let kind = match self.row.name {
                name if name.contains("_atomic_") => Access::Atomic,
                name if name.contains("_store") => Access::Store,
                _ => Access::Load,
            };
            self.scope_and_hint_of(kind, (words[1] >> 20 & 7) as u8, (words[1] >> 18 & 3) as u8)?;
            self.flag(bit(0, 7), " nv")?;
            self.flag(bit(0, 4), " r128")?;
            self.flag(bit(0, 6), " a16")?;
            self.flag(if sample { bit(0, 3) } else { bit(1, 23) }, " tfe")?;
            self.flag(sample && bit(1, 8), " lwe")?;
            self.flag(bit(0, 5), " d16")?;
        }
        Ok(())
    }

    fn export(&mut self, graphics: &Graphics) -> fmt::Result {
        let [word, registers, ..] = graphics.words;
        let target = word >> 4 & 63;
        let last_position = if self.generation.is_cdna() { 15 } else { 16 };
        let modern = self.generation >= Generation::Gfx11;
        match target {
            0..=7 => write!(self.f, " mrt{target}")?,
            8 => self.f.write_str(" mrtz")?,
            9 if !modern => self.f.write_str(" null")?,
            12.. if target <= last_position => write!(self.f, " pos{}", target - 12)?,
            20 if !self.generation.is_cdna() => self.f.write_str(" prim")?,
            21 | 22 if modern => write!(self.f, " dual_src_blend{}", target - 21)?,
            32.. if !modern => write!(self.f, " param{}", target - 32)?,
            _ => write!(self.f, " invalid_target_{target}")?,
        }
        let compressed = !modern && word >> 10 & 1 != 0;
        for index in 0..4 {
            let separator = if index == 0 { " " } else { ", " };
            let source = if compressed { index / 2 } else { index };
            if word >> index & 1 != 0 {
                write!(self.f, "{separator}v{}", registers >> (8 * source) & 0xff)?;
            } else {
                write!(self.f, "{separator}off")?;
            }
        }
        self.flag(word >> 11 & 1 != 0, " done")?;
        self.flag(compressed, " compr")?;
        self.flag(!modern && word >> 12 & 1 != 0, " vm")?;
        self.flag(modern && word >> 13 & 1 != 0, " row_en")
    }

    /// VINTRP and its VOP3 form.
    fn attribute(&mut self, graphics: &Graphics) -> fmt::Result {
        let [word, second, ..] = graphics.words;
        let long = graphics.opcode > 3;
        let moves = self.row.name.starts_with("v_interp_mov");
        let half = self.row.name.ends_with("_f16");
        let (dst, source, attribute) = if long {
            (word & 0xff, second >> 9 & 511, second & 0xff)
        } else {
            (word >> 18 & 0xff, 256 + (word & 0xff), word >> 8 & 0xff)
        };
        write!(self.f, " v{dst}, ")?;
        if moves {
            match source & if long { 511 } else { 255 } {
                parameter @ 0..=2 => self.f.write_str(["p10", "p20", "p0"][parameter as usize])?,
                parameter => write!(self.f, "invalid_param_{parameter}")?,
            }
        } else {
            if long {
                self.long_source(word, second, 1)?;
            } else {
                write!(self.f, "v{}", source & 255)?;
            }
        }
        let (number, channel) = if long {
            (attribute & 63, CHANNELS[(attribute >> 6) as usize & 3])
        } else {
            (attribute >> 2, CHANNELS[attribute as usize & 3])
        };
        write!(self.f, ", attr{number}.{channel}")?;
        if !long {
            return Ok(());
        }
        if half && !self.row.name.contains("_p1ll") {
            self.f.write_str(", ")?;
            self.long_source(word, second, 2)?;
        }
        self.flag(half && second >> 8 & 1 != 0, " high")?;
        self.flag(word >> 15 & 1 != 0, " clamp")?;
        self.f.write_str(["", " mul:2", " mul:4", " div:2"][(second >> 27 & 3) as usize])
    }

    /// A source of the long encoding with its modifiers.
    fn long_source(&mut self, word: u32, second: u32, index: u32) -> fmt::Result {
        let (negative, absolute) = (second >> (29 + index) & 1 != 0, word >> (8 + index) & 1 != 0);
        self.flag(negative, "-")?;
        self.flag(absolute, "|")?;
        self.graphics_source(second, index)?;
        self.flag(absolute, "|")
    }

    /// A vector register, or a value that can stand in its place.
    fn graphics_source(&mut self, second: u32, index: u32) -> fmt::Result {
        match second >> (9 * index) & 511 {
            code @ 256.. => write!(self.f, "v{}", code - 256),
            code => self.f.write_str(Special::of_code(code).map_or("null", special_name)),
        }
    }

    /// VINTERP.
    fn parameters(&mut self, graphics: &Graphics) -> fmt::Result {
        let [word, second, ..] = graphics.words;
        let name = self.row.name;
        let true16 = self.generation == Generation::Gfx11;
        let select = word >> 11 & 15;
        // Bit `i`: source `i` has 16 bits. Bit 3: the destination has 16 bits.
        let halves = match () {
            () if !true16 || !name.contains("f16") => 0,
            () if name.contains("_p10_") => 0b0101,
            () => 0b1001,
        };
        let part = |index: u32| match (halves >> index & 1, select >> index & 1) {
            (0, _) => "",
            (_, 0) => ".l",
            _ => ".h",
        };
        write!(self.f, " v{}{}", word & 0xff, part(3))?;
        for index in 0..3 {
            let negative = second >> (29 + index) & 1 != 0;
            write!(self.f, ", {}", if negative { "-" } else { "" })?;
            match part(index) {
                "" => self.graphics_source(second, index)?,
                half => write!(self.f, "v{}{half}", second >> (9 * index) & 255)?,
            }
        }
        self.flag(word >> 15 & 1 != 0, " clamp")?;
        if select != 0 && name.contains("f16") {
            self.bits("op_sel", select as u8, 4)?;
        }
        write!(self.f, " wait_exp:{}", word >> 8 & 7)
    }
}
